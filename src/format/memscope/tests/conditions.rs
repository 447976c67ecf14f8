//! A reader with conditions gives the rows that a filter above it would keep.

use std::collections::BTreeSet;

use crate::source::{Condition, Test};

use super::*;

/// All rows of a unit, as text and as what they are, under some conditions.
fn rows(format: &dyn Format, unit: &Unit, conditions: Vec<Condition>, chunk: u64) -> Vec<String> {
    let mut request = ReadRequest::new(projection(format, &[]));
    request.conditions = conditions;
    let host: Arc<dyn Host> = Arc::new(Notes::default());
    let mut reader: Box<dyn UnitReader> = if format.name() == "memscope_events" {
        let rows = UnitRows::new(unit).with_chunk_bytes(chunk);
        Box::new(EventReader::new(unit, &request, rows, host).unwrap())
    } else {
        let rows = UnitRows::new(unit).with_chunk_bytes(chunk);
        Box::new(BlockReader::new(unit, &request, rows, host).unwrap())
    };
    drain(reader.as_mut(), request.batch_rows)
}

/// Conditions on a column that tell some of its values from others.
fn conditions(column: usize, values: &BTreeSet<String>) -> Vec<Condition> {
    let numbers: Option<Vec<i64>> = values.iter().filter(|v| *v != "-").map(|v| v.parse().ok()).collect();
    let mut tests = vec![Test::Null, Test::NotNull];
    for listed in [true, false] {
        let texts: Vec<String> = values.iter().step_by(2).take(3).cloned().collect();
        tests.push(Test::Text { listed, values: texts });
        if let Some(numbers) = &numbers {
            tests.push(Test::Number { listed, values: numbers.iter().step_by(2).copied().collect() });
        }
    }
    if let Some(numbers) = numbers.filter(|n| !n.is_empty()) {
        tests.push(Test::Between(numbers[numbers.len() / 3], numbers[numbers.len() / 2]));
        tests.push(Test::Between(i64::MIN, numbers[0]));
    }
    tests.into_iter().map(|test| Condition { column, test }).collect()
}

fn holds(condition: &Condition, number: bool, cell: &str) -> bool {
    let value = (cell != "-").then_some(cell);
    if number {
        condition.holds_for_number(value.map(|v| v.parse().unwrap()))
    } else {
        condition.holds_for_text(value.map(str::as_bytes))
    }
}

#[test]
fn rows_are_those_that_a_filter_keeps() {
    let paths = [
        case("train_leak/memscopeDumpResults/msmemscope_41001_20261001080000_ascend"),
        case("train_leak_db"),
        case("edge/killed_before_exit.csv"),
    ];
    let (mut tried, mut kept_some) = (0, 0);
    for path in &paths {
        for format in [&MemscopeEvents as &dyn Format, &MemscopeBlocks] {
            let unit = &units(format, &[path])[0];
            let all = rows(format, unit, vec![], 1 << 20);
            let cells: Vec<Vec<&str>> = all.iter().map(|row| row.split('|').collect()).collect();
            for column in format.condition_columns() {
                let number = *format.schema().field(*column).data_type() == DataType::Int64;
                let values = cells.iter().map(|row| row[*column].to_owned()).collect();
                for condition in conditions(*column, &values) {
                    let want: Vec<&String> = all
                        .iter()
                        .zip(&cells)
                        .filter_map(|(row, cells)| holds(&condition, number, cells[*column]).then_some(row))
                        .collect();
                    for chunk in [700, 1 << 20] {
                        let mut got = rows(format, unit, vec![condition.clone()], chunk);
                        let mut want: Vec<String> = want.iter().map(|row| (*row).clone()).collect();
                        // When a block leaves the reader depends on where chunks are cut.
                        got.sort();
                        want.sort();
                        assert_eq!(got, want, "{} {condition:?} {chunk}", format.name());
                    }
                    tried += 1;
                    kept_some += u32::from(!want.is_empty() && want.len() < all.len());
                }
            }
        }
    }
    assert!(tried > 300 && kept_some > 100, "{kept_some} of {tried}");
}

/// What is left out still tells which event is a copy, and which pool a block belongs to.
#[test]
fn events_that_are_left_out_keep_their_meaning() {
    let dir = tempfile::tempdir().unwrap();
    let run = "out/msmemscope_7_20261001080000_ascend";
    let mark = |name: &str| format!("1,MSTX,Mark,\"{name}\",1790000000000000001,7,7,N/A,N/A,,,\n");
    let block = |id: u32, event: &str, rest: &str| {
        format!(
            "{id},{event},PTA,N/A,179000000000000000{id},7,7,0,0x10,\"{{allocation_id:1,size:8{rest}}}\",,\n"
        )
    };
    let first = [
        mark("first"),
        block(2, "MALLOC", ",owner:PTA_WORKSPACE@x"),
        block(3, "FREE", ""),
        block(4, "FREE", ""),
    ];
    write(&dir, &format!("{run}/device_0/dump/memscope_dump_5.csv"), format!("{HEADER}{}", first.concat()));
    // The copy is odd on purpose: another name, so that a condition on it could tell them apart.
    write(
        &dir,
        &format!("{run}/device_1/dump/memscope_dump_5.csv"),
        format!("{HEADER}{}", mark("second").replace("Mark", "Range")),
    );
    let unit = &units(&MemscopeEvents, &[dir.path()])[0];
    let schema = MemscopeEvents.schema();
    let is = |column: &str, value: &str| Condition {
        column: schema.index_of(column).unwrap(),
        test: Test::Text { listed: true, values: vec![value.to_owned()] },
    };
    assert_eq!(rows(&MemscopeEvents, unit, vec![is("event_type", "Range")], 1 << 20), Vec::<String>::new());
    for chunk in [1, 1 << 20] {
        let frees = rows(&MemscopeEvents, unit, vec![is("event", "FREE")], chunk);
        let pools: Vec<&str> =
            frees.iter().map(|r| r.split('|').nth(schema.index_of("pool").unwrap()).unwrap()).collect();
        assert_eq!(pools, ["PTA_WORKSPACE", "PTA"]);
    }
}
