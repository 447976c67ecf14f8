//! One record of a dump file.
//!
//! The tool quotes by hand and escapes nothing, so its files are no CSV: names hold bare commas and
//! quotes, stacks hold line breaks, and a mark may be quoted several times. What can be relied on:
//! a record starts at a line `digits,EVENT,`; between its name and its attributes stand five fields
//! of known form; the last three fields end at a quote that is followed by a comma or a line break.

use memchr::{memchr, memchr2};

use super::number;

/// The fields of one record, as slices of the file. Quotes around them are gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    /// `ID`
    pub(super) id: i64,
    /// `Event`
    pub(super) event: &'a [u8],
    /// `Event Type`
    pub(super) event_type: &'a [u8],
    /// `Name`; `N/A` stands for none
    pub(super) name: &'a [u8],
    /// `Timestamp(ns)` as written
    pub(super) time: i64,
    /// `Process Id`
    pub(super) pid: Option<i64>,
    /// `Thread Id`
    pub(super) tid: Option<i64>,
    /// `Device Id`; `N/A` stands for none
    pub(super) device: &'a [u8],
    /// `Ptr`; `N/A` stands for none
    pub(super) pointer: &'a [u8],
    /// `Attr` with its braces; may be empty
    pub(super) attributes: &'a [u8],
    /// `Call Stack(Python)`
    pub(super) py_stack: &'a [u8],
    /// `Call Stack(C)`
    pub(super) c_stack: &'a [u8],
}

impl<'a> Record<'a> {
    /// Time in nanoseconds: msLeaks 8.x wrote microseconds under the same header.
    #[inline]
    pub(super) fn time_ns(&self) -> i64 {
        if self.in_microseconds() { self.time.saturating_mul(1000) } else { self.time }
    }

    /// Whether the time is written in microseconds: since the epoch they have 16 digits, and nanoseconds 19. Less
    /// than either is a clock that began elsewhere, in nanoseconds as the header says.
    #[inline]
    pub(super) fn in_microseconds(&self) -> bool {
        (1_000_000_000_000_000..100_000_000_000_000_000).contains(&self.time)
    }

    /// The device, under one name for host memory; `None` when the event has none.
    #[inline]
    pub(super) fn device_name(&self) -> Option<&'a [u8]> {
        match self.device {
            b"N/A" | b"" => None,
            b"host" => Some(b"cpu"),
            device => Some(device),
        }
    }
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// A field between the event type and the attributes does not hold what it must.
    Fields,
    /// The attributes do not end.
    Attributes,
    /// The record ends after its attributes: one or both stacks are missing.
    Short,
    /// A stack does not end.
    Stack,
    /// Lines behind the record that belong to no record.
    Stray,
}

impl Flaw {
    /// What was found and what was expected.
    pub(super) fn message(self) -> &'static str {
        match self {
            Flaw::Fields => {
                "the record is broken or cut off: expected id, event, type, name, time, process, thread, \
                 device, address and attributes; it is left out"
            }
            Flaw::Attributes => {
                "the record is cut off inside its attributes, expected {key:value,...}; it is left out"
            }
            Flaw::Short => {
                "the record ends before its call stacks, expected 12 fields; the rest of it is kept"
            }
            Flaw::Stack => "the record is cut off inside a call stack; what there is of it is kept",
            Flaw::Stray => "lines that belong to no record: expected a line to start with `id,EVENT,`",
        }
    }
}

/// What stands at the start of a piece of text.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// A record, perhaps with a flaw that leaves it usable.
    Record(Record<'a>, Option<Flaw>),
    /// A record that cannot be used.
    Broken(Flaw),
}

/// The longest id and the longest name of an event that are taken for such, in bytes.
const LONGEST: (usize, usize) = (20, 64);

/// How many bytes tell at the most whether a record starts.
pub(super) const START_BYTES: usize = LONGEST.0 + LONGEST.1 + 2;

/// Whether a record starts here: `digits,EVENT,`.
#[inline]
pub(super) fn starts(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > LONGEST.0 {
        return false;
    }
    let Some(rest) = text.get(digits..).and_then(|t| t.strip_prefix(b",")) else { return false };
    let letters = rest.iter().take(LONGEST.1 + 1);
    let letters = letters.take_while(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'/')).count();
    (1..=LONGEST.1).contains(&letters) && rest.get(letters) == Some(&b',')
}

/// Where the record that starts at the start of the text ends: at the next line that starts one.
pub(super) fn end_of(text: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = memchr(b'\n', text.get(from..).unwrap_or_default()) {
        from += at + 1;
        if starts(text.get(from..).unwrap_or_default()) {
            return from;
        }
    }
    text.len()
}

/// Reads the record at the start of the text, which must be one; gives where the next one starts.
#[inline]
pub(super) fn read(text: &[u8]) -> (Found<'_>, usize) {
    match fields(text) {
        Ok((record, rest)) => finish(text, record, rest),
        Err(flaw) => (Found::Broken(flaw), end_of(text)),
    }
}

/// Checks that nothing but line breaks stands between the record and the next one.
#[inline]
fn finish<'a>(
    text: &'a [u8],
    (record, flaw): (Record<'a>, Option<Flaw>),
    rest: &'a [u8],
) -> (Found<'a>, usize) {
    if rest.is_empty() || starts(rest) {
        return (Found::Record(record, flaw), text.len() - rest.len());
    }
    let end = end_of(rest);
    let stray = !rest.get(..end).unwrap_or_default().trim_ascii().is_empty();
    (Found::Record(record, flaw.or(stray.then_some(Flaw::Stray))), text.len() - rest.len() + end)
}

type Fields<'a> = ((Record<'a>, Option<Flaw>), &'a [u8]);

#[inline]
fn fields(text: &[u8]) -> Result<Fields<'_>, Flaw> {
    let (id, rest) = number::leading(text).ok_or(Flaw::Fields)?;
    let rest = rest.strip_prefix(b",").ok_or(Flaw::Fields)?;
    let (event, rest) = cell(rest).ok_or(Flaw::Fields)?;
    let (event_type, rest) = cell(rest).ok_or(Flaw::Fields)?;
    let (name, middle, rest) = name(rest).ok_or(Flaw::Fields)?;
    let mut record = Record {
        id: id.cast_signed(),
        event,
        event_type,
        name: unquoted(name),
        time: middle.time,
        pid: middle.pid,
        tid: middle.tid,
        device: middle.device,
        pointer: middle.pointer,
        attributes: b"",
        py_stack: b"",
        c_stack: b"",
    };
    let (attributes, rest) = attributes(rest)?;
    record.attributes = attributes;
    let Some(rest) = rest.strip_prefix(b",") else {
        // Without attributes it cannot be told whether they are lost.
        let flaw = if attributes.is_empty() { Err(Flaw::Fields) } else { Ok(Some(Flaw::Short)) }?;
        return Ok(((record, flaw), after_line_end(rest)));
    };
    let (py_stack, rest) = stack(rest, Last::No);
    record.py_stack = match py_stack {
        Ok(text) => text,
        Err(text) => {
            record.py_stack = text;
            return Ok(((record, Some(Flaw::Stack)), rest));
        }
    };
    let Some(rest) = rest.strip_prefix(b",") else {
        return Ok(((record, Some(Flaw::Short)), after_line_end(rest)));
    };
    let (c_stack, rest) = stack(rest, Last::Yes);
    let flaw = c_stack.is_err().then_some(Flaw::Stack);
    record.c_stack = c_stack.unwrap_or_else(|text| text);
    Ok(((record, flaw), after_line_end(rest)))
}

/// A field without quotes or line breaks, and what follows the comma behind it.
#[inline]
fn cell(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|b| matches!(b, b',' | b'\n'))?;
    let (cell, rest) = text.split_at_checked(end)?;
    Some((cell, rest.strip_prefix(b",")?))
}

/// The fields between name and attributes.
struct Middle<'a> {
    time: i64,
    pid: Option<i64>,
    tid: Option<i64>,
    device: &'a [u8],
    pointer: &'a [u8],
}

/// What the five fields must be like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As the tool writes them: a time of many digits, which a number in a name has not, and no empty address.
    Exact,
    /// Short times too, of a clock that began elsewhere, and empty addresses.
    Loose,
}

/// The name ends at the first comma behind which five fields have their form. Where there is no such place, a name
/// without a comma may be followed by fields of the loose form: a number in a name is not taken for a time.
#[inline]
fn name(text: &[u8]) -> Option<(&[u8], Middle<'_>, &[u8])> {
    exact_name(text).or_else(|| plain_name(text))
}

#[inline]
fn exact_name(text: &[u8]) -> Option<(&[u8], Middle<'_>, &[u8])> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b',', b'\n', text.get(from..)?)?;
        let rest = text.get(at + 1..)?;
        if text.get(at) == Some(&b'\n') {
            // The text of a mark may hold line breaks.
            if starts(rest) {
                return None;
            }
        } else if let Some((middle, rest)) = middle(rest, Form::Exact) {
            return Some((text.get(..at)?, middle, rest));
        }
        from = at + 1;
    }
}

#[cold]
fn plain_name(text: &[u8]) -> Option<(&[u8], Middle<'_>, &[u8])> {
    let at = match text.strip_prefix(b"\"") {
        Some(quoted) => 1 + memchr2(b'"', b'\n', quoted)? + 1,
        None => memchr2(b',', b'\n', text)?,
    };
    let rest = text.get(at..)?.strip_prefix(b",")?;
    let (middle, rest) = middle(rest, Form::Loose)?;
    let attributes = matches!(rest, [b'{' | b',', ..] | [b'"', b'{', ..]);
    Some((text.get(..at)?, middle, rest)).filter(|_| attributes)
}

#[inline]
fn middle(text: &[u8], form: Form) -> Option<(Middle<'_>, &[u8])> {
    let (time, rest) = number::leading(text)?;
    let shortest = if form == Form::Exact { 9 } else { 1 };
    if !(shortest..=20).contains(&(text.len() - rest.len())) {
        return None;
    }
    let (pid, rest) = number_or_none(rest.strip_prefix(b",")?)?;
    let (tid, rest) = number_or_none(rest.strip_prefix(b",")?)?;
    let (device, rest) = cell(rest.strip_prefix(b",")?)?;
    let (pointer, rest) = cell(rest)?;
    let none = pointer == b"N/A" || (form == Form::Loose && pointer.is_empty());
    if !none && (pointer.first() == Some(&b'-') || number::integer(pointer).is_none()) {
        return None;
    }
    // A number beyond 63 bits is none that a clock or a system gives.
    Some((Middle { time: i64::try_from(time).ok()?, pid, tid, device, pointer }, rest))
}

#[inline]
fn number_or_none(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    match number::leading(text) {
        Some((value, rest)) => Some((Some(i64::try_from(value).ok()?), rest)),
        None => Some((None, text.strip_prefix(b"N/A")?)),
    }
}

/// The attributes, and what follows them: a comma, or the end of the record.
#[inline]
fn attributes(text: &[u8]) -> Result<(&[u8], &[u8]), Flaw> {
    let (quoted, inner) = match text {
        [b'"', inner @ ..] => (true, inner),
        _ => (false, text),
    };
    if inner.first() != Some(&b'{') {
        let (cell, rest) = if quoted {
            inner.strip_prefix(b"\"").map(|rest| (&b""[..], rest)).ok_or(Flaw::Attributes)?
        } else {
            let end = text.iter().position(|b| matches!(b, b',' | b'\r' | b'\n')).unwrap_or(text.len());
            text.split_at_checked(end).ok_or(Flaw::Attributes)?
        };
        return if cell.is_empty() { Ok((cell, rest)) } else { Err(Flaw::Attributes) };
    }
    let mut from = 0;
    loop {
        let rest = inner.get(from..).unwrap_or_default();
        let at = from + memchr2(b'}', b'\n', rest).ok_or(Flaw::Attributes)?;
        let behind = inner.get(at + 1..).unwrap_or_default();
        if inner.get(at) == Some(&b'\n') {
            if starts(behind) {
                return Err(Flaw::Attributes);
            }
        } else {
            let rest = if quoted { behind.strip_prefix(b"\"") } else { Some(behind) };
            if let Some(rest) = rest.filter(|r| matches!(r.first(), None | Some(b',' | b'\r' | b'\n'))) {
                return Ok((inner.get(..=at).unwrap_or_default(), rest));
            }
        }
        from = at + 1;
    }
}

/// Whether a stack is the last field of its record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    No,
    Yes,
}

/// A stack without its quotes, and what follows it; the part that there is when it does not end.
#[inline]
fn stack(text: &[u8], last: Last) -> (Result<&[u8], &[u8]>, &[u8]) {
    let Some(inner) = text.strip_prefix(b"\"") else {
        let ends = |b: &u8| matches!(b, b'\r' | b'\n') || (last == Last::No && *b == b',');
        let end = text.iter().position(ends).unwrap_or(text.len());
        let (cell, rest) = text.split_at_checked(end).unwrap_or((text, b""));
        return (Ok(cell), rest);
    };
    let mut from = 0;
    while let Some(at) = memchr2(b'"', b'\n', inner.get(from..).unwrap_or_default()) {
        let at = from + at;
        let rest = inner.get(at + 1..).unwrap_or_default();
        if inner.get(at) == Some(&b'\n') {
            if starts(rest) {
                return (Err(without_line_end(inner.get(..at).unwrap_or_default())), rest);
            }
        } else {
            let closes = match (last, rest.first()) {
                (_, None | Some(b',')) => true,
                (Last::No, _) => false,
                (Last::Yes, _) => {
                    let next = after_line_end(rest);
                    // The tool ends a stack with a line break; else what follows decides.
                    let own_line = at > 0 && inner.get(at - 1) == Some(&b'\n');
                    next.len() < rest.len()
                        && (own_line
                            || starts(next)
                            || starts(next.trim_ascii_start())
                            || next.trim_ascii_start().is_empty())
                }
            };
            if closes {
                let end = text.len() - rest.len();
                return (Ok(unquoted(text.get(..end).unwrap_or_default())), rest);
            }
        }
        from = at + 1;
    }
    (Err(without_line_end(inner)), b"")
}

/// Without the line break at its end, so that it does not matter whether more lines follow.
fn without_line_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// Behind one line break, if the text starts with one.
#[inline]
fn after_line_end(text: &[u8]) -> &[u8] {
    match text {
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => rest,
        _ => text,
    }
}

/// Without the quotes around it, however many there are.
#[inline]
pub(super) fn unquoted(mut text: &[u8]) -> &[u8] {
    while let [b'"', inner @ .., b'"'] = text {
        text = inner;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, Option<Flaw>)> {
        let (mut rest, mut out) = (text.as_bytes(), vec![]);
        while !rest.is_empty() {
            let (found, next) = read(rest);
            out.push(match found {
                Found::Record(r, flaw) => {
                    let text = |t| String::from_utf8_lossy(t).into_owned();
                    let all = [
                        r.event,
                        r.event_type,
                        r.name,
                        r.device,
                        r.pointer,
                        r.attributes,
                        r.py_stack,
                        r.c_stack,
                    ];
                    (format!("{} {} {}", r.id, r.time, all.map(text).join("|")), flaw)
                }
                Found::Broken(flaw) => (String::new(), Some(flaw)),
            });
            assert!(next > 0);
            rest = &rest[next..];
        }
        out
    }

    #[test]
    fn what_breaks_a_csv_reader_is_read() {
        for (record, fields) in [
            ("1,MSTX,Mark,\"say \"hi\", you\",179000000,1,1,0,N/A,,,", "MSTX|Mark|say \"hi\", you|0|N/A|||"),
            ("1,MSTX,Mark,\"\"m\"\",179000000,1,1,N/A,N/A,,,", "MSTX|Mark|m|N/A|N/A|||"),
            ("1,MSTX,Mark,,179000000,1,1,N/A,N/A,,,", "MSTX|Mark||N/A|N/A|||"),
            ("1,MSTX,Mark,\"a\nb\",179000000,1,1,0,N/A,,,", "MSTX|Mark|a\nb|0|N/A|||"),
            (
                "1,KERNEL_LAUNCH,KERNEL_LAUNCH,void k<float, 4>(int),179000000,1,1,0,N/A,\"{streamId:2}\",,",
                "KERNEL_LAUNCH|KERNEL_LAUNCH|void k<float, 4>(int)|0|N/A|{streamId:2}||",
            ),
            (
                "1,MALLOC,PTA,N/A,179000000,N/A,N/A,0,0x1F,\"{size:5,owner:a \"b\", c}\",\"f(1): a\nb\n\",\"x\n\"",
                "MALLOC|PTA|N/A|0|0x1F|{size:5,owner:a \"b\", c}|f(1): a\nb\n|x\n",
            ),
            ("1,FREE,PTA,N/A,179000000,1,1,0,77,{size:5},NA,", "FREE|PTA|N/A|0|77|{size:5}|NA|"),
        ] {
            for (end, line) in [("", "\n"), ("\n", "\n"), ("\r\n", "\r\n"), ("\n\n", "\n")] {
                let text = format!("{record}{end}").replace('\n', line).replace("\r\r", "\r");
                let want = fields.replace('\n', line);
                assert_eq!(all(&text), [(format!("1 179000000 {want}"), None)], "{text:?}");
                let two = format!("{record}\n2,FREE,PTA,N/A,179000001,1,1,0,77,,,{end}");
                let got = all(&two);
                assert_eq!(got.len(), 2, "{two:?}");
                assert_eq!(got[0], (format!("1 179000000 {fields}"), None), "{two:?}");
            }
        }
    }

    #[test]
    fn a_broken_record_does_not_take_the_next_one_with_it() {
        let next = "\n2,FREE,PTA,N/A,179000001,1,1,0,77,,,\n";
        let whole = "1,MALLOC,PTA,N/A,179000000,1,1,0,0x1,\"{size:5}\",\"f\ng\n\",\"h\n\"";
        for cut in 7..=whole.len() {
            let Some(head) = whole.get(..cut) else { continue };
            let got = all(&format!("{head}{next}"));
            if !starts(head.as_bytes()) {
                continue;
            }
            assert_eq!(got.len(), 2, "{head:?}: {got:?}");
            // Behind the comma an empty field is as good as a missing one.
            let complete = cut == whole.len() || head.ends_with("\n\",");
            assert_eq!(got[0].1.is_none(), complete, "{head:?}: {got:?}");
            assert!(got[1].0.starts_with("2 179000001 FREE"), "{head:?}");
        }
        let got = all(&format!("{whole}\nnonsense{next}"));
        assert_eq!((got.len(), got[0].1), (2, Some(Flaw::Stray)));
    }
}
