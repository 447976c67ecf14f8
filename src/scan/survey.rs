//! What a strict query says when something is wrong: all problems of the selected units together,
//! as far as finding them is cheap, so that nobody mends them one by one.

use std::path::Path;
use std::sync::Arc;

use crate::source::{DataError, Finding, Host, KeyColumn, KeyValue, ReadRequest, Unit};

use super::collector::Collector;
use super::exec::ScanSpec;

/// Units of so many bytes in all are read again to find their problems; more would not be cheap.
const SURVEY_BYTES: u64 = 64 << 20;

/// Collects the problems of all selected units. `met` is what made the query fail; it is in the
/// result even when its unit is too large to be read again.
pub(super) fn survey(spec: &ScanSpec, met: &[Finding]) -> DataError {
    let mut problems: Vec<Finding> =
        spec.layout_findings.iter().filter(|f| f.is_problem()).cloned().collect();
    let (mut budget, mut unchecked) = (SURVEY_BYTES, 0usize);
    for unit in spec.runs.iter().flatten() {
        let mut of_unit = spec.format.known_problems(unit, &spec.projection);
        if unit.bytes() <= budget {
            budget -= unit.bytes();
            of_unit.extend(read_problems(spec, unit));
        } else {
            let own = |f: &&Finding| f.is_problem() && unit.files.iter().any(|file| file.path == f.file);
            of_unit.extend(met.iter().filter(own).cloned());
            unchecked += 1;
        }
        let name = unit_name(spec, unit);
        problems.extend(of_unit.into_iter().map(|mut f| {
            f.message = format!("{} [{name}]", f.message);
            f
        }));
    }
    let listed = |f: &Finding| problems.iter().any(|p| (&p.file, &p.place) == (&f.file, &f.place));
    let rest: Vec<Finding> = met.iter().filter(|f| f.is_problem() && !listed(f)).cloned().collect();
    problems.extend(rest);
    let mut hint = format!(
        "mend the input, or leave the bad pieces out with {}(..., on_error => 'skip'); diagnostics(path) lists them all",
        spec.format.name()
    );
    if unchecked > 0 {
        hint.push_str(&format!(" ({unchecked} larger units were not looked through)"));
    }
    DataError::new(spec.format.name(), problems, hint)
}

/// How a unit is called in messages: by its keys, `role actor, rank_id 3`.
pub(super) fn unit_name(spec: &ScanSpec, unit: &Unit) -> String {
    let named = |(column, value): (&KeyColumn, &KeyValue)| match value {
        KeyValue::Text(text) => Some(format!("{} {text}", column.name)),
        KeyValue::Int(n) => Some(format!("{} {n}", column.name)),
        KeyValue::Null => None,
    };
    let names: Vec<String> = spec.format.key_columns().iter().zip(&unit.keys).filter_map(named).collect();
    if names.is_empty() {
        return Path::new(&unit.source_path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    }
    names.join(", ")
}

fn read_problems(spec: &ScanSpec, unit: &Unit) -> Vec<Finding> {
    let host = Arc::new(Collector::new(unit, None));
    let request = ReadRequest::new(spec.projection.clone());
    if let Ok(mut reader) = spec.format.open(unit, &request, Arc::clone(&host) as Arc<dyn Host>) {
        while let Ok(Some(_)) = reader.next_batch() {}
    }
    host.take().into_iter().filter(Finding::is_problem).collect()
}
