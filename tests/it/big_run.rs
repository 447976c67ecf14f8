//! A run directory with many ranks.

use std::fs;
use std::path::Path;

const SAMPLE: &str = "examples/data/run/actor_update/node0_20480_20260526085215123_ascend_pt";

/// Three roles with 128 ranks together; two profiles lack their table, all traces are garbage.
pub(crate) fn big_run(root: &Path, text: &str) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE).join("ASCEND_PROFILER_OUTPUT");
    for rank in 0..128 {
        let role = ["actor_update", "rollout_generate", "compute_ref"][rank % 3];
        let profile = root.join(role).join(format!("node{}_{rank}_20260526085215123_ascend_pt", rank / 8));
        let output = profile.join("ASCEND_PROFILER_OUTPUT");
        fs::create_dir_all(&output).unwrap();
        fs::write(profile.join(format!("profiler_info_{rank}.json")), "{}").unwrap();
        fs::write(profile.join("profiler_metadata.json"), format!("{{\"role\": \"{role}\"}}")).unwrap();
        if text.is_empty() {
            fs::copy(sample.join("trace_view.json"), output.join("trace_view.json")).unwrap();
        } else {
            fs::write(output.join("trace_view.json"), text).unwrap();
        }
        for table in ["operator_memory.csv", "memory_record.csv"] {
            if rank != 5 && rank != 77 {
                fs::copy(sample.join(table), output.join(table)).unwrap();
            }
        }
    }
}
