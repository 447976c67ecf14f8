//! Random input made to mislead, against a JSON library that builds whole documents.

use serde_json::Value;

use super::*;
use crate::text::decimal::micros_to_nanos;

/// What a document holds, by the rules and by a parser that knows nothing of streams.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) ops: Vec<SeenOp>,
    pub(super) problems: u64,
}

/// `None` when the text is no JSON, or no trace.
pub(super) fn reference(text: &str) -> Option<Expected> {
    let document: Value = serde_json::from_str(text).ok()?;
    let events = document.get("traceEvents").unwrap_or(&document).as_array()?;
    let mut expected = Expected::default();
    for event in events {
        if !event.is_object() {
            expected.problems += 1;
        } else if event.get("cat").and_then(Value::as_str) == Some("cpu_op")
            && let Some(stack) =
                event.get("args").and_then(Value::as_object).and_then(|a| a.get("Call stack"))
            && !stack.is_null()
        {
            expected.add(event, stack.as_str());
        }
    }
    Some(expected)
}

impl Expected {
    fn add(&mut self, event: &Value, stack: Option<&str>) {
        let time = |value: Option<&Value>| match value {
            Some(Value::String(s)) => micros_to_nanos(s.as_bytes()),
            Some(Value::Number(n)) => micros_to_nanos(n.to_string().as_bytes()),
            _ => None,
        };
        let name = event.get("name").map_or(Some(""), Value::as_str);
        let start = time(event.get("ts"));
        let (Some(stack), Some(name), Some(start_ns)) = (stack, name, start) else {
            self.problems += 1;
            return;
        };
        let duration = match event.get("dur") {
            None | Some(Value::Null) => 0,
            bad_or_good => time(bad_or_good).filter(|d| *d >= 0).unwrap_or_else(|| {
                self.problems += 1;
                0
            }),
        };
        let (name, stack) = (name.to_owned(), Some(stack.to_owned()));
        self.ops.push(SeenOp { name, start_ns, end_ns: start_ns.saturating_add(duration), stack, thread: 0 });
    }
}

/// A small generator of random numbers, so that failures can be repeated.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Writes documents: valid JSON with everything in it that could mislead a scanner.
struct Writer {
    random: Random,
}

impl Writer {
    fn space(&mut self) -> &'static str {
        self.random.pick(&["", "", "", " ", "\n", "\r\n\t ", "  "])
    }

    /// The inside of a string.
    fn text(&mut self) -> String {
        const BITS: &[&str] = &[
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\\\"",
            "\\\\",
            "\\\\\\\"",
            "\\n",
            "\\r\\n",
            "a",
            "C",
            "Call stack",
            "\\\"Call stack\\\": ",
            "}, {\\\"ph\\\": \\\"X\\\", \\\"name\\\": \\\"x\\\"",
            "cpu_op",
            "é",
            "栈",
            "\\u0041",
            "\\u6808",
            "\\ud83d\\ude00",
            " ",
            "\\/",
            "}]",
            "name",
            "\\u0022",
            "\\t",
            "enqueue",
        ];
        let mut text: String = (0..self.random.below(14)).map(|_| self.random.pick(BITS)).collect();
        if self.random.one_in(30) {
            text += &"\\\\".repeat(self.random.below(200));
        }
        if self.random.one_in(40) {
            text += &", {".repeat(self.random.below(300));
        }
        text
    }

    fn string(&mut self) -> String {
        format!("\"{}\"", self.text())
    }

    fn value(&mut self, depth: usize) -> String {
        match self.random.below(if depth > 4 { 5 } else { 8 }) {
            0 => self.string(),
            1 => self.random.below(1 << 40).to_string(),
            2 => self.random.pick(&["-1.5e3", "0.25", "-0", "1E+2"]).to_owned(),
            3 => "null".to_owned(),
            4 => "true".to_owned(),
            5 => {
                let items: Vec<String> = (0..self.random.below(4)).map(|_| self.value(depth + 1)).collect();
                format!("[{}]", self.join(items))
            }
            6 => {
                let members: Vec<String> =
                    (0..self.random.below(4)).map(|_| self.any_member(depth)).collect();
                format!("{{{}}}", self.join(members))
            }
            _ => self.event(depth + 1),
        }
    }

    fn any_member(&mut self, depth: usize) -> String {
        format!("{}:{}{}", self.string(), self.space(), self.value(depth + 1))
    }

    fn join(&mut self, parts: Vec<String>) -> String {
        let mut out = self.space().to_owned();
        for (k, part) in parts.iter().enumerate() {
            if k > 0 {
                out += self.space();
                out.push(',');
                out += self.space();
            }
            out += part;
        }
        out + self.space()
    }

    /// A member whose key is sometimes spelled with an escape.
    fn member(&mut self, key: &str, value: &str) -> String {
        let mut spelled = key.to_owned();
        if self.random.one_in(12) {
            let at = self.random.below(key.len());
            spelled.replace_range(at..=at, &format!("\\u{:04x}", key.as_bytes()[at]));
        }
        format!("\"{spelled}\"{}:{}{value}", self.space(), self.space())
    }

    fn time(&mut self) -> String {
        let (us, ns) = (self.random.below(1 << 40), self.random.below(1000));
        let number = format!("{us}.{ns:03}");
        match self.random.below(20) {
            0..=9 => format!("\"{number}\""),
            10..=16 => number,
            17 => us.to_string(),
            18 => self.random.pick(&["null", "\"N/A\"", "true", "[]", "-5"]).to_owned(),
            _ => format!("\"{number}\\t\""),
        }
    }

    fn args(&mut self, depth: usize) -> String {
        let mut members: Vec<String> =
            (0..self.random.below(4)).map(|_| self.any_member(depth + 1)).collect();
        for _ in 0..self.random.pick(&[0, 1, 1, 1, 2]) {
            let stack = if self.random.one_in(10) { self.value(depth + 2) } else { self.string() };
            let at = self.random.below(members.len() + 1);
            let member = self.member("Call stack", &stack);
            members.insert(at, member);
        }
        format!("{{{}}}", self.join(members))
    }

    fn event(&mut self, depth: usize) -> String {
        let name = if self.random.one_in(20) { self.value(9) } else { self.string() };
        let mut members = vec![self.member("name", &name), self.member("ph", "\"X\"")];
        if !self.random.one_in(30) {
            let ts = self.time();
            members.push(self.member("ts", &ts));
        }
        if !self.random.one_in(4) {
            let dur = self.time();
            members.push(self.member("dur", &dur));
        }
        let category = match self.random.below(7) {
            0 => self.string(),
            1 => "\"cpu\\u005fop\"".to_owned(),
            2 => "\"enqueue\"".to_owned(),
            _ => "\"cpu_op\"".to_owned(),
        };
        members.push(self.member("cat", &category));
        for _ in 0..self.random.pick(&[0, 1, 1, 1, 1, 2]) {
            let args = if self.random.one_in(10) { self.value(depth + 2) } else { self.args(depth) };
            members.push(self.member("args", &args));
        }
        if self.random.one_in(3) {
            members.push(self.any_member(depth));
        }
        for k in 1..members.len() {
            let other = self.random.below(k + 1);
            members.swap(k, other);
        }
        format!("{{{}}}", self.join(members))
    }

    fn document(&mut self) -> String {
        let count = self.random.below(60);
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(if self.random.one_in(10) { self.value(0) } else { self.event(0) });
        }
        let array = format!("[{}]", self.join(elements));
        if self.random.one_in(4) {
            let (before, after) = (self.any_member(2), self.any_member(2));
            let members = vec![before, format!("\"traceEvents\":{array}"), after];
            return format!("{{{}}}", self.join(members));
        }
        format!("{}{array}{}", self.space(), self.space())
    }
}

/// Sizes and threads that cut a document in many ways.
fn ways(random: &mut Random) -> [(usize, Sizes); 4] {
    let mut one = |threads, buffer, chunk: usize| {
        (threads, small(1 + random.below(buffer), 16 + random.below(chunk) as u64))
    };
    [one(1, 64, 1), one(1, 5000, 1), one(2, 300, 400), one(4, 5000, 5000)]
}

#[test]
fn hostile_documents_read_as_a_json_library_reads_them() {
    let (mut ops, mut problems) = (0, 0);
    let sample = Sample::new();
    for seed in 0..150 {
        let mut writer = Writer { random: Random(seed) };
        let text = writer.document();
        let path = sample.write(text.as_bytes());
        let expected = reference(&text).expect("valid");
        let one = seen(&path, Detail::Stacks, 1, Sizes::default());
        assert_eq!(one.ops, expected.ops, "seed {seed}");
        assert_eq!(one.problem_count(), expected.problems, "seed {seed}: {:?}", one.findings);
        for (threads, sizes) in ways(&mut writer.random) {
            assert_eq!(
                seen(&path, Detail::Stacks, threads, sizes),
                one,
                "seed {seed}, {threads} threads, {sizes:?}"
            );
        }
        let owners = seen(&path, Detail::Owners, 1, Sizes::default());
        for (threads, sizes) in ways(&mut writer.random) {
            assert_eq!(
                seen(&path, Detail::Owners, threads, sizes),
                owners,
                "seed {seed}, {threads}, {sizes:?}"
            );
        }
        ops += one.ops.len();
        problems += expected.problems;
    }
    assert!(ops > 1000 && problems > 100, "{ops} ops, {problems} problems: too tame");
}

#[test]
fn broken_documents_read_the_same_in_every_way() {
    let sample = Sample::new();
    for seed in 0..150 {
        let mut writer = Writer { random: Random(1_000_000 + seed) };
        let mut bytes = writer.document().into_bytes();
        let random = &mut writer.random;
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.pick(b"{}[]\",:\\ \0\xFF\n\t09u"),
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.insert(at, random.pick(b"{}[]\",:\\")),
                _ if random.one_in(4) => bytes.truncate(at.max(1)),
                _ => bytes[at] = random.next().to_le_bytes()[0],
            }
            if bytes.is_empty() {
                bytes.push(b'[');
            }
        }
        let path = sample.write(&bytes);
        for detail in [Detail::Stacks, Detail::Owners] {
            let one = seen(&path, detail, 1, Sizes::default());
            for (threads, sizes) in ways(random) {
                assert_eq!(
                    seen(&path, detail, threads, sizes),
                    one,
                    "seed {seed}, {threads} threads, {sizes:?}"
                );
            }
        }
    }
}
