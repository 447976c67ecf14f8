//! The outcome of a suite, as people and programs read it.

use std::fmt::Write;
use std::time::Duration;

use crate::shell::amount::counted;
use crate::shell::flags::ReportFormat;
use crate::shell::output::escaped;

/// The outcome of one assertion.
pub(super) struct Case {
    /// Its line in the suite.
    pub(super) line: u32,
    /// The comment in front of it, or the SQL.
    pub(super) name: String,
    /// The SQL.
    pub(super) sql: String,
    /// What came out.
    pub(super) outcome: Outcome,
    /// How long it took.
    pub(super) time: Duration,
}

/// What came out of an assertion.
pub(super) enum Outcome {
    /// It holds.
    Passed,
    /// It does not; this is the difference.
    Failed(String),
    /// It could not be looked at: the SQL is wrong, or running it failed.
    Error(String),
    /// It could not be looked at: the data cannot be read.
    Unreadable(String),
}

impl Outcome {
    /// What it is called, and what is to be said about it. `None` when it holds.
    fn trouble(&self) -> Option<(&'static str, &str)> {
        match self {
            Outcome::Passed => None,
            Outcome::Failed(text) => Some(("failed", text)),
            Outcome::Error(text) => Some(("error", text)),
            Outcome::Unreadable(text) => Some(("unreadable data", text)),
        }
    }
}

/// The outcomes of all assertions of a suite.
pub(super) struct Report {
    suite: String,
    cases: Vec<Case>,
}

impl Report {
    /// Nothing was run yet.
    pub(super) fn new(suite: &str) -> Self {
        Self { suite: suite.to_owned(), cases: vec![] }
    }

    /// Adds an outcome.
    pub(super) fn push(&mut self, case: Case) {
        self.cases.push(case);
    }

    /// The outcomes, in the order of the suite.
    pub(super) fn cases(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter()
    }

    /// How many assertions there are, and how many of them came out in each way.
    pub(super) fn summary(&self) -> String {
        let count = |is: fn(&Outcome) -> bool| self.cases.iter().filter(|c| is(&c.outcome)).count();
        let mut text = counted(self.cases.len() as u64, "assertion");
        text.push_str(&format!(", {} ok", count(|o| matches!(o, Outcome::Passed))));
        for (number, word) in [
            (count(|o| matches!(o, Outcome::Failed(_))), "failed"),
            (count(|o| matches!(o, Outcome::Error(_))), "with wrong SQL"),
            (count(|o| matches!(o, Outcome::Unreadable(_))), "with unreadable data"),
        ] {
            if number > 0 {
                text.push_str(&format!(", {number} {word}"));
            }
        }
        text
    }

    /// The text of the report.
    pub(super) fn write(&self, format: ReportFormat) -> String {
        let mut out = String::new();
        // Writing to memory does not fail.
        let _ = match format {
            ReportFormat::Text => self.text(&mut out),
            ReportFormat::Tap => self.tap(&mut out),
            ReportFormat::Junit => self.junit(&mut out),
        };
        out
    }

    fn text(&self, out: &mut String) -> std::fmt::Result {
        for case in &self.cases {
            match case.outcome.trouble() {
                None => writeln!(out, "ok      {}", case.name)?,
                Some((word, text)) => {
                    writeln!(out, "{:<7} {}", word.to_uppercase(), case.name)?;
                    writeln!(out, "  {}:{}", self.suite, case.line)?;
                    for line in text.trim_end().lines() {
                        writeln!(out, "  {line}")?;
                    }
                }
            }
        }
        writeln!(out, "{}", self.summary())
    }

    fn tap(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "TAP version 14\n1..{}", self.cases.len())?;
        for (number, case) in (1..).zip(&self.cases) {
            let name = case.name.replace('\\', "\\\\").replace('#', "\\#");
            match case.outcome.trouble() {
                None => writeln!(out, "ok {number} - {name}")?,
                Some((word, text)) => {
                    writeln!(out, "not ok {number} - {name}\n  ---\n  severity: {word}")?;
                    writeln!(out, "  at: '{}:{}'\n  message: |", self.suite.replace('\'', "''"), case.line)?;
                    for line in text.trim_end().lines() {
                        writeln!(out, "    {line}")?;
                    }
                    writeln!(out, "  ...")?;
                }
            }
        }
        Ok(())
    }

    fn junit(&self, out: &mut String) -> std::fmt::Result {
        let failed = self.cases.iter().filter(|c| matches!(c.outcome, Outcome::Failed(_))).count();
        let bad = self.cases.iter().filter(|c| c.outcome.trouble().is_some()).count();
        let seconds: f64 = self.cases.iter().map(|c| c.time.as_secs_f64()).sum();
        let suite = escaped(&self.suite);
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>")?;
        writeln!(
            out,
            "<testsuite name=\"{suite}\" tests=\"{}\" failures=\"{failed}\" errors=\"{}\" time=\"{seconds:.3}\">",
            self.cases.len(),
            bad - failed
        )?;
        for case in &self.cases {
            write!(
                out,
                "<testcase classname=\"{suite}\" name=\"{}\" file=\"{suite}\" line=\"{}\" time=\"{:.3}\"",
                escaped(&case.name),
                case.line,
                case.time.as_secs_f64()
            )?;
            match case.outcome.trouble() {
                None => writeln!(out, "/>")?,
                Some((word, text)) => {
                    let element = if word == "failed" { "failure" } else { "error" };
                    let first = escaped(text.lines().next().unwrap_or_default());
                    writeln!(
                        out,
                        ">\n<{element} type=\"{word}\" message=\"{first}\">{}</{element}>",
                        escaped(text)
                    )?;
                    writeln!(out, "<system-out>{}</system-out>\n</testcase>", escaped(&case.sql))?;
                }
            }
        }
        writeln!(out, "</testsuite>\n</testsuites>")
    }
}
