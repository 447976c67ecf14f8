//! Which field it is that makes a record unreadable: asked only once a record could not be read.

use super::number;

/// A field that must have a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// `Timestamp(ns)`
    Time,
    /// `Process Id`
    Process,
    /// `Thread Id`
    Thread,
    /// `Ptr`
    Pointer,
}

impl Field {
    /// What is wrong, given what the field holds.
    pub(super) fn message(self, found: &[u8]) -> String {
        let (name, expected) = match self {
            Field::Time => ("Timestamp(ns)", "nanoseconds: a number of at most 20 digits"),
            Field::Process => ("Process Id", "a number or N/A"),
            Field::Thread => ("Thread Id", "a number or N/A"),
            Field::Pointer => ("Ptr", "an address or N/A"),
        };
        let found = String::from_utf8_lossy(found.get(..SHOWN).unwrap_or(found));
        format!("`{name}` is '{found}', expected {expected}; the record is left out")
    }

    fn fits(self, text: &[u8]) -> bool {
        let is_number = number::leading(text).is_some_and(|(_, rest)| rest.is_empty());
        match self {
            Field::Time => is_number && text.len() <= 20,
            Field::Process | Field::Thread => is_number || text == b"N/A",
            Field::Pointer => {
                matches!(text, b"N/A" | b"") || text.first() != Some(&b'-') && number::integer(text).is_some()
            }
        }
    }
}

/// How much of a field a message shows, in bytes.
const SHOWN: usize = 40;

/// The first field without its form, and what it holds. `None` where it cannot be told: in a record
/// that is cut off, or whose name may end at several commas.
pub(super) fn find(record: &[u8]) -> Option<(Field, &[u8])> {
    let line = record.split(|b| *b == b'\n').next()?;
    let mut cells = line.splitn(4, |b| *b == b',');
    let behind_type = cells.nth(3)?;
    let name_end = match behind_type.strip_prefix(b"\"") {
        Some(quoted) => 2 + quoted.windows(2).position(|two| two == b"\",")?,
        None => behind_type.iter().position(|b| *b == b',')?,
    };
    let mut cells = behind_type.get(name_end + 1..)?.splitn(6, |b| *b == b',');
    let [time, process, thread, _device, pointer, attributes] = std::array::from_fn(|_| cells.next());
    // Else the name reaches further, or fields are missing.
    matches!(attributes?, [b'{' | b',', ..] | [b'"', b'{', ..]).then_some(())?;
    let fields = [
        (Field::Time, time?),
        (Field::Process, process?),
        (Field::Thread, thread?),
        (Field::Pointer, pointer?),
    ];
    fields.into_iter().find(|(field, text)| !field.fits(text))
}

#[cfg(test)]
mod tests {
    use super::super::record::{self, Found};
    use super::*;

    #[test]
    fn the_field_is_named_where_it_can_be_told() {
        for (record, told) in [
            ("1,MALLOC,HAL,N/A,1e9,1,1,0,1,{},,", "`Timestamp(ns)` is '1e9', expected nanoseconds"),
            ("1,MSTX,Mark,\"a, b\",-10,1,1,0,N/A,,,", "`Timestamp(ns)` is '-10'"),
            ("1,MALLOC,HAL,N/A,1790000000,x,1,0,1,\"{a:1}\",,", "`Process Id` is 'x', expected a number"),
            ("1,MALLOC,HAL,N/A,1790000000,1,,0,1,{},,", "`Thread Id` is '', expected a number"),
            ("1,MALLOC,HAL,N/A,1790000000,1,1,0,-5,{},,", "`Ptr` is '-5', expected an address"),
            // Half of a decimal comma is no time; nor is a record that is cut off, or a name that may reach further.
            ("1,MALLOC,HAL,N/A,1,5,1,1,0,0x1f,{},,", ""),
            ("1,MALLOC,HAL,N/A,10,1,1", ""),
            ("1,MSTX,Mark,a, b,1e9,1,1,0,N/A,,,", ""),
        ] {
            assert!(matches!(record::read(record.as_bytes()).0, Found::Broken(_)), "{record}");
            let message = find(record.as_bytes()).map(|(field, found)| field.message(found));
            let message = message.unwrap_or_default();
            assert!(
                message.starts_with(told) && message.is_empty() == told.is_empty(),
                "{record}: {message}"
            );
        }
    }

    #[test]
    fn a_record_that_is_read_has_no_such_field() {
        for record in ["1,MALLOC,HAL,N/A,179000000,1,N/A,N/A,0x1f,{},,", "1,MSTX,Mark,m,17,1,1,0,N/A,,,"] {
            assert!(matches!(record::read(record.as_bytes()).0, Found::Record(_, None)), "{record}");
            assert_eq!(find(record.as_bytes()), None, "{record}");
        }
    }
}
