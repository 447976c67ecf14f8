//! Real traces and the cases of the study, where they are at hand, against a parser of its own.

use super::hostile::reference;
use super::*;

#[test]
fn real_traces_read_as_a_json_library_reads_them() {
    let mut read = 0;
    for pattern in ["/work/shared/real/memory/**/trace_view*.json", "/work/shared/cases/**/trace_view.json"] {
        for path in glob::glob(pattern).expect("a pattern").flatten() {
            let bytes = fs::read(&path).expect("readable");
            let one = seen(&path, Detail::Stacks, 1, Sizes::default());
            let text = std::str::from_utf8(&bytes).ok();
            if let Some(expected) = text.and_then(|t| reference(t.trim_start_matches('\u{FEFF}'))) {
                read += 1;
                assert_eq!(one.ops, expected.ops, "{}", path.display());
                assert_eq!(one.problem_count(), expected.problems, "{}: {:?}", path.display(), one.findings);
            }
            for (threads, buffer, chunk) in [(1, 999, 1), (2, 4096, 20_000)] {
                assert_eq!(
                    seen(&path, Detail::Stacks, threads, small(buffer, chunk)),
                    one,
                    "{}",
                    path.display()
                );
            }
            let owners = seen(&path, Detail::Owners, 1, Sizes::default());
            assert_eq!(seen(&path, Detail::Owners, 2, small(4096, 20_000)), owners, "{}", path.display());
            let with_stack = owners.ops.iter().filter(|o| o.stack.is_some()).count();
            assert_eq!(with_stack, one.ops.len(), "{}", path.display());
        }
    }
    if read == 0 {
        eprintln!("no real traces at hand: nothing was compared");
    }
}
