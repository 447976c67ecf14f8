//! `check`: runs a file of assertions on somebody's data.
//!
//! The file is in the format of sqllogictest: a `query` with the rows it must give, or a `statement`
//! that must succeed or fail. The views of the data and `$run` are there as at the prompt. Nothing may
//! be written, and no other program is started.

mod engine;
mod report;

use std::io::Write;
use std::path::Path;

use sqllogictest::{
    Record, RecordOutput, Runner, TestError, TestErrorKind, default_normalizer, default_validator,
};

use engine::{Data, EngineFailure, Kind};
use report::{Case, Outcome, Report};

use super::confine::Root;
use super::engine::{context, watched};
use super::failure::Failure;
use super::flags::CheckFlags;
use super::guard::Guard;
use super::invocation::{Engine, read_file, to_file};
use super::output::StagedResults;
use super::run_dir;
use super::signals::Signals;

/// Runs the suite and writes the outcome.
///
/// # Errors
/// [`Failure::Check`] when an assertion does not hold; what kept one from being looked at otherwise.
pub(crate) async fn run(flags: CheckFlags) -> Result<(), Failure> {
    let engine = Engine::read(flags.engine, false)?;
    let voice = engine.voice.clone();
    let name = flags.suite.display().to_string();
    let output = to_file(flags.output);
    if flags.suite.is_dir() {
        let text = format!("{name}: a directory, expected a file of assertions");
        return Err(Failure::Usage(text).hinted("the suite comes first: check SUITE PATH"));
    }
    // A file that cannot be read is reported as any other script; the parser would panic on some.
    let text = read_file(&flags.suite)?;
    let records = parse(&flags.suite, &text)?;
    let root = flags.root.map(Root::new).transpose()?;
    let guard = Guard { root, ..Guard::default() };
    flags.paths.iter().try_for_each(|path| guard.inside(path))?;
    let overview = run_dir::checked(run_dir::survey(&flags.paths).await?, &flags.paths)?;
    for line in run_dir::lines(&overview, &flags.paths) {
        voice.remark(line);
    }
    if let Some(path) = &output {
        guard.inputs.add_files(overview.found.iter().flat_map(|f| f.files.iter().cloned()));
        guard.target(&path.display().to_string(), true, "")?;
    }
    let session = watched(context(&engine)?, guard.root.as_ref(), &guard.inputs);
    overview.register(&session, engine.on_error.name()).await?;
    let data = Data::new(session, &engine, &flags.paths);
    let mut runner = Runner::new(move || {
        let data = data.clone();
        async move { Ok::<_, EngineFailure>(data) }
    });
    runner.with_normalizer(default_normalizer);
    runner.with_validator(default_validator);
    let suite = async {
        let mut report = Report::new(&name);
        let mut title = None;
        for record in records {
            match record {
                Record::Comment(lines) => title = lines.last().map(|l| l.trim().to_owned()),
                Record::Halt { .. } => break,
                record => {
                    if let Some(case) = one(&mut runner, record, &mut title).await {
                        report.push(case);
                    }
                }
            }
        }
        report
    };
    let mut signals = Signals::listen(false);
    let report = tokio::select! {
        report = suite => report,
        asked = signals.asked_to_end() => return Err(asked),
    };
    if report.cases().next().is_none() {
        let text = format!("{name}: no assertion was looked at");
        return Err(Failure::Usage(text).hinted("onlyif, skipif and halt leave assertions out"));
    }
    let written = report.write(flags.format);
    match &output {
        None => {
            let mut stdout = std::io::stdout().lock();
            let done = stdout.write_all(written.as_bytes()).and_then(|()| stdout.flush());
            done.map_err(|e| Failure::writing(&e))?;
        }
        // A report is made anew every night: it takes the place of the one before.
        Some(path) => {
            let file = StagedResults::create(path)?;
            super::output::Destination::File(file.clone()).write(written.as_bytes())?;
            file.publish()?;
        }
    }
    verdict(&report)
}

fn verdict(report: &Report) -> Result<(), Failure> {
    let count = |outcome: fn(&Outcome) -> bool| report.cases().filter(|c| outcome(&c.outcome)).count();
    let summary = report.summary();
    if count(|o| matches!(o, Outcome::Failed(_))) > 0 {
        return Err(Failure::Check(summary));
    }
    let text = format!("{summary}; the report says why");
    if count(|o| matches!(o, Outcome::Unreadable(_))) > 0 {
        return Err(Failure::Data(text));
    }
    if count(|o| matches!(o, Outcome::Error(_))) > 0 {
        return Err(Failure::Query(text));
    }
    Ok(())
}

fn parse(path: &Path, text: &str) -> Result<Vec<Record<Kind>>, Failure> {
    let records = sqllogictest::parse_with_name::<Kind>(text, path.display().to_string())
        .map_err(|e| Failure::Usage(e.to_string()))?;
    for record in &records {
        let (loc, what) = match record {
            Record::System { loc, .. } => (loc, "system"),
            Record::Include { loc, .. } => (loc, "include"),
            _ => continue,
        };
        return Err(Failure::Usage(format!("{loc}: {what} is not allowed here: a suite only asks for data")));
    }
    if !records.iter().any(|r| matches!(r, Record::Query { .. } | Record::Statement { .. })) {
        return Err(Failure::Usage(format!(
            "{}: holds no assertion\nhint: write for example\n  # the peak stays below 60 GB\n  query I\n  SELECT \
             count(*) FROM memory_record WHERE total_allocated_mb > 60000\n  ----\n  0",
            path.display()
        )));
    }
    Ok(records)
}

/// Runs one record; `None` when it asserts nothing.
async fn one<M>(
    runner: &mut Runner<Data, M>,
    record: Record<Kind>,
    title: &mut Option<String>,
) -> Option<Case>
where
    M: sqllogictest::MakeConnection<Conn = Data>,
{
    let (line, sql) = match &record {
        Record::Query { loc, sql, .. } | Record::Statement { loc, sql, .. } => (loc.line(), sql.clone()),
        _ => {
            // Controls cannot fail; what they say matters to the records after them.
            let _ = runner.run_async(record).await;
            return None;
        }
    };
    let begun = std::time::Instant::now();
    let done = runner.run_async(record).await;
    let fallback = || sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = title.take().filter(|t| !t.is_empty()).unwrap_or_else(fallback);
    let outcome = match done {
        // For another engine, by its onlyif or skipif.
        Ok(RecordOutput::Nothing) => return None,
        Ok(_) => Outcome::Passed,
        Err(error) => outcome(&error),
    };
    Some(Case { line, name, sql, outcome, time: begun.elapsed() })
}

fn outcome(error: &TestError) -> Outcome {
    match error.kind() {
        TestErrorKind::Fail { err, .. } => {
            let failure = err.downcast_ref::<EngineFailure>();
            let text = failure.map_or_else(|| err.to_string(), ToString::to_string);
            if failure.is_some_and(EngineFailure::is_data) {
                Outcome::Unreadable(text)
            } else {
                Outcome::Error(text)
            }
        }
        other => Outcome::Failed(other.to_string()),
    }
}
