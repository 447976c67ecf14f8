//! What a session answers, as text.

use std::fmt;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Rows {
        types: Vec<String>,
        rows: Vec<String>,
    },
    Error(String),
    /// A fault of the engine, which must not end the tests.
    Panic,
}

pub(super) async fn answer(context: &SessionContext, sql: &str) -> Answer {
    let (context, sql) = (context.clone(), sql.to_owned());
    let run = async move {
        let frame = context.sql(&sql).await?;
        let types =
            frame.schema().fields().iter().map(|f| format!("{}: {}", f.name(), f.data_type())).collect();
        let batches = frame.collect().await?;
        let options = FormatOptions::default().with_null("NULL").with_display_error(true);
        let mut rows = Vec::new();
        for batch in &batches {
            let columns = batch
                .columns()
                .iter()
                .map(|c| ArrayFormatter::try_new(c.as_ref(), &options))
                .collect::<Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let text = |c: &ArrayFormatter<'_>| match c.value(row).to_string() {
                    text if text.is_empty() => "(empty)".to_owned(),
                    text => text,
                };
                rows.push(columns.iter().map(text).collect::<Vec<_>>().join(" "));
            }
        }
        Ok::<_, datafusion::error::DataFusionError>(Answer::Rows { types, rows })
    };
    match tokio::spawn(run).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(e)) => Answer::Error(e.strip_backtrace()),
        Err(_) => Answer::Panic,
    }
}

impl Answer {
    /// Without the name of the directory that this session has for itself.
    pub(super) fn regular(self, directory: &str) -> Self {
        let regular =
            |text: String| text.replace(directory, "").replace(directory.trim_start_matches('/'), "");
        match self {
            Answer::Rows { types, rows } => {
                Answer::Rows { types, rows: rows.into_iter().map(regular).collect() }
            }
            Answer::Error(text) => Answer::Error(regular(text)),
            Answer::Panic => Answer::Panic,
        }
    }

    /// The same rows; in the same order where the statement asks for one.
    pub(super) fn same(&self, other: &Self, sql: &str) -> bool {
        match (self, other) {
            (Answer::Rows { types: t, rows: a }, Answer::Rows { types: u, rows: b }) => {
                let sorted = |rows: &[String]| {
                    let mut rows = rows.to_vec();
                    rows.sort();
                    rows
                };
                let ordered = sql.to_ascii_lowercase().contains("order by");
                t == u && (a == b || !ordered && sorted(a) == sorted(b))
            }
            _ => self == other,
        }
    }

    /// Whether these are the rows of the file; blanks and their number do not count.
    pub(super) fn is(&self, expected: &[String]) -> bool {
        let words = |rows: &[String]| {
            let mut rows: Vec<String> =
                rows.iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            rows.sort();
            rows
        };
        matches!(self, Answer::Rows { rows, .. } if words(rows) == words(expected))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Rows { types, rows } => {
                write!(f, "{} rows ({})", rows.len(), types.join(", "))?;
                rows.iter().take(8).try_for_each(|row| write!(f, "\n  {row}"))
            }
            Answer::Error(text) => f.write_str(text),
            Answer::Panic => f.write_str("a panic"),
        }
    }
}
