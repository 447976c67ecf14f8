//! Traces made of other traces: cut at any place and read by any number of threads they give the same, and
//! what a JSON library reads is read as it reads it.

#[path = "../../../../../tests/reliability/fuzz/driver.rs"]
mod driver;
#[path = "../../../../../tests/reliability/fuzz/mutate.rs"]
mod mutate;

use driver::{Target, fuzz, hash};

use super::*;

const WORDS: [&str; 14] = [
    "\"cat\": \"cpu_op\"",
    "\"cat\": \"enqueue\"",
    "\"cat\": \"dequeue\"",
    "\"args\": {",
    "\"Call stack\": \"a.py(1): f\"",
    "\"ts\": \"12.5\"",
    "\"dur\": 1.5",
    "{\"traceEvents\": [",
    "]}",
    "\"correlation_id\": 7",
    "\"tid\": 2",
    "\"name\": \"a\"",
    "\"ph\": \"X\"",
    "\\u0043all stack",
];

#[test]
fn traces() {
    let sample = Sample::new();
    let check = |input: &[u8]| {
        let path = sample.write(input);
        let mut outcome = vec![];
        for detail in [Detail::Stacks, Detail::Owners] {
            let one = seen(&path, detail, 1, Sizes::default());
            for (threads, sizes) in [(1, small(7, 64)), (2, small(333, 97)), (3, small(64, 20))] {
                assert!(seen(&path, detail, threads, sizes) == one, "{threads} threads, {sizes:?}");
            }
            let told: Vec<_> = one.findings.iter().map(|f| (f.kind, f.message.len() / 8)).collect();
            outcome.push(hash((one.ops.len().min(5), one.enqueues.len(), told)));
        }
        hash(outcome)
    };
    let slice = r#"{"ph": "X", "name": "Enqueue@a", "pid": 1, "tid": 2, "ts": 3, "dur": 1, "cat": "enqueue", "args": {"correlation_id": 7}}"#;
    let seeds = vec![
        format!("[{}, {}, {}]", op("a", "1.5"), slice, op("b", "2.5")).into_bytes(),
        format!("{{\"x\": [1], \"traceEvents\": [{}, {}], \"y\": {{}}}}", op("a", "1.5"), op("b", "9"))
            .into_bytes(),
        format!("[{},{}", slice.replace("enqueue", "dequeue"), op("\u{6808}", "1e3")).into_bytes(),
    ];
    fuzz(&Target { name: "traces", seeds, words: &WORDS, most: 4000, check: &check });
}
