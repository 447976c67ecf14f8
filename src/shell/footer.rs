//! The line below a table: how many rows there are, and what of them is not shown.

use std::num::NonZeroUsize;

use super::amount::counted;
use super::output::{Format, Look, Written};
use super::voice::Voice;

/// Says how much of a result there is. Gives back a held text, with the line below it. That rows are missing is
/// said even when remarks are not wanted.
///
/// At the prompt the line names its commands, elsewhere the flags.
pub(crate) fn tell(voice: &Voice, look: &Look, written: Written) -> Option<Vec<u8>> {
    let format = look.format;
    let (all_columns, all_rows) =
        if look.at_prompt { (".mode line", ".maxrows 0") } else { ("--format line", "--max-rows 0") };
    let Written { rows, left_out, columns_left_out, held } = written;
    let columns = match NonZeroUsize::new(columns_left_out) {
        None => String::new(),
        Some(n) => format!("; {} left out, {all_columns} shows all", counted(n.get() as u64, "column")),
    };
    let line = if left_out > 0 {
        let shown = rows - left_out;
        format!("({}, {shown} shown; {all_rows} shows all{columns})", counted(rows, "row"))
    } else {
        format!("({}{columns})", counted(rows, "row"))
    };
    if format != Format::Table {
        return held;
    }
    if let Some(mut text) = held {
        // The line belongs below the table, also in the pager.
        if !voice.is_quiet() || left_out > 0 || columns_left_out > 0 {
            text.extend_from_slice(voice.words(&line).as_bytes());
            text.push(b'\n');
        }
        return Some(text);
    }
    if left_out > 0 || columns_left_out > 0 {
        voice.tell(line);
    } else {
        voice.remark(line);
    }
    None
}
