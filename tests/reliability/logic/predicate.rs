//! Random predicates over the columns of a table, with values that are there and values that are odd.

use super::rows::{Column, Kind, NULL, Table};
use crate::random::Random;

const COMPARISONS: [&str; 8] = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];
const ODD_INTEGERS: [&str; 6] = ["0", "-1", "9223372036854775807", "-9223372036854775807", "NULL", "1"];
const ODD_FLOATS: [&str; 8] = [
    "'NaN'::double",
    "'Infinity'::double",
    "'-Infinity'::double",
    "0.0",
    "-0.0",
    "1e308",
    "NULL",
    "(0.1 + 0.2)",
];
const ODD_TEXTS: [&str; 7] = ["''", "NULL", "'%'", "'ä'", "' '", "'zzz'", "'NaN'"];

/// A predicate that is this deep at most.
pub(super) fn predicate(random: &mut Random, table: &Table, depth: usize) -> String {
    if depth > 0 && random.once_in(2) {
        let left = predicate(random, table, depth - 1);
        return match random.below(5) {
            0 => format!("NOT ({left})"),
            1 => format!("({left}) IS {} TRUE", if random.once_in(2) { "NOT" } else { "" }),
            2 => format!("({left}) OR ({})", predicate(random, table, depth - 1)),
            _ => format!("({left}) AND ({})", predicate(random, table, depth - 1)),
        };
    }
    let at = random.below(table.columns.len());
    let column = &table.columns[at];
    let name = &column.name;
    match random.below(12) {
        0 => format!("{name} IS NULL"),
        1 => format!("{name} IS NOT NULL"),
        2 => {
            let other = *random.pick(&same_kind(table, column.kind));
            format!("{name} {} {}", random.pick(&COMPARISONS), table.columns[other].name)
        }
        3 => {
            let count = 1 + random.below(5);
            let values: Vec<String> = (0..count).map(|_| value(random, table, at)).collect();
            let not = if random.once_in(2) { "NOT " } else { "" };
            format!("{name} {not}IN ({})", values.join(", "))
        }
        4 if column.kind != Kind::Boolean => {
            format!("{name} BETWEEN {} AND {}", value(random, table, at), value(random, table, at))
        }
        5 => format!(
            "CASE WHEN {name} IS NULL THEN {} ELSE {name} = {} END",
            random.pick(&["TRUE", "FALSE", "NULL"]),
            value(random, table, at)
        ),
        6 => format!("coalesce({name}, {}) = {}", value(random, table, at), value(random, table, at)),
        _ => of_kind(random, table, at, column),
    }
}

/// What only columns of this kind can be asked.
fn of_kind(random: &mut Random, table: &Table, at: usize, column: &Column) -> String {
    let name = &column.name;
    let comparison = random.pick(&COMPARISONS);
    match column.kind {
        Kind::Boolean => match random.below(3) {
            0 => name.clone(),
            1 => format!("NOT {name}"),
            _ => format!("{name} {comparison} {}", random.pick(&["TRUE", "FALSE", "NULL"])),
        },
        Kind::Text => match random.below(6) {
            0 => format!("length({name}) {comparison} {}", random.below(30)),
            1 => format!("{name} LIKE {}", pattern(random, table, at)),
            2 => format!("{name} NOT ILIKE {}", pattern(random, table, at)),
            3 => format!("starts_with({name}, {})", value(random, table, at)),
            4 => format!("lower({name}) {comparison} {}", value(random, table, at)),
            _ => format!("{name} {comparison} {}", value(random, table, at)),
        },
        Kind::Integer => match random.below(4) {
            0 => format!("{name} % {} = {}", 2 + random.below(5), random.below(3)),
            1 => format!("-({name} / 3) {comparison} {}", value(random, table, at)),
            _ => format!("{name} {comparison} {}", value(random, table, at)),
        },
        Kind::Float => match random.below(4) {
            0 => format!("isnan({name})"),
            1 => format!("abs({name}) {comparison} {}", value(random, table, at)),
            2 => format!("{name} * 2 {comparison} {}", value(random, table, at)),
            _ => format!("{name} {comparison} {}", value(random, table, at)),
        },
    }
}

fn same_kind(table: &Table, kind: Kind) -> Vec<usize> {
    (0..table.columns.len()).filter(|at| table.columns[*at].kind == kind).collect()
}

/// A literal: mostly a value that the column has.
fn value(random: &mut Random, table: &Table, at: usize) -> String {
    let kind = table.columns[at].kind;
    let odd = random.once_in(4);
    let there = &random.pick(&table.rows)[at];
    match kind {
        Kind::Boolean => (*random.pick(&["TRUE", "FALSE", "NULL"])).to_owned(),
        Kind::Integer if odd => (*random.pick(&ODD_INTEGERS)).to_owned(),
        Kind::Float if odd => (*random.pick(&ODD_FLOATS)).to_owned(),
        Kind::Text if odd => (*random.pick(&ODD_TEXTS)).to_owned(),
        _ if there == NULL => "NULL".to_owned(),
        Kind::Integer => there.clone(),
        Kind::Float => match there.as_str() {
            "inf" => "'Infinity'::double".to_owned(),
            "-inf" => "'-Infinity'::double".to_owned(),
            number => format!("'{number}'::double"),
        },
        Kind::Text => quoted(there),
    }
}

/// A pattern that some value of the column matches, or not.
fn pattern(random: &mut Random, table: &Table, at: usize) -> String {
    let there = &random.pick(&table.rows)[at];
    let chars: Vec<char> = there.chars().filter(|c| *c != '\0' && *c != '\\').take(40).collect();
    let from = random.below(chars.len() + 1);
    let to = from + random.below(chars.len() + 1 - from);
    let part: String = chars[from..to].iter().collect();
    quoted(&match random.below(4) {
        0 => format!("{part}%"),
        1 => format!("%{part}"),
        2 => format!("%{part}_%"),
        _ => format!("%{part}%"),
    })
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
