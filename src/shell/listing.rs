//! Lists of functions and columns, made from the descriptions that also make the documentation.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::logical_expr::Documentation;
use datafusion::prelude::SessionContext;
use rl_insight_sql::reference::{columns_of, sql_type};
use rl_insight_sql::session;
use rl_insight_sql::table::{STEP_PAIRS, STEP_PAIRS_PURPOSE, STEP_PAIRS_SIGNATURE, all_table_functions};

/// One function.
#[derive(Debug, Clone)]
pub(crate) struct FunctionLine {
    /// Its name.
    pub(crate) name: String,
    /// What it is: `table`, `question` (a table function that is a query), `engine table`, `scalar`,
    /// `aggregate` or `window`.
    pub(crate) kind: &'static str,
    /// How to call it.
    pub(crate) signature: String,
    /// What it is for, in one line.
    pub(crate) purpose: String,
}

/// All functions of a session: ours first, then those of the engine, each kind by name.
///
/// # Errors
/// When a shipped SQL file is malformed, which a test rules out.
pub(crate) fn functions(context: &SessionContext) -> Result<Vec<FunctionLine>> {
    let mut lines = Vec::new();
    for function in all_table_functions() {
        lines.push(FunctionLine {
            name: function.name.to_owned(),
            kind: "table",
            signature: function.signature(),
            purpose: function.purpose.to_owned(),
        });
    }
    lines.push(FunctionLine {
        name: STEP_PAIRS.to_owned(),
        kind: "table",
        signature: STEP_PAIRS_SIGNATURE.to_owned(),
        purpose: STEP_PAIRS_PURPOSE.to_owned(),
    });
    for function in session::library(context)?.functions() {
        lines.push(FunctionLine {
            name: function.name().to_owned(),
            kind: "question",
            signature: function.signature().to_owned(),
            purpose: function.purpose().to_owned(),
        });
    }
    for name in session::table_function_names(context)? {
        if !lines.iter().any(|line| line.name == name) {
            let signature = format!("{name}(...)");
            lines.push(FunctionLine { name, kind: "engine table", signature, purpose: String::new() });
        }
    }
    let state = context.state();
    let mut engine = Vec::new();
    for (name, f) in state.scalar_functions() {
        engine.push(documented(name, "scalar", f.documentation()));
    }
    for (name, f) in state.aggregate_functions() {
        engine.push(documented(name, "aggregate", f.documentation()));
    }
    for (name, f) in state.window_functions() {
        engine.push(documented(name, "window", f.documentation()));
    }
    engine.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    lines.extend(engine);
    Ok(lines)
}

fn documented(name: &str, kind: &'static str, documentation: Option<&Documentation>) -> FunctionLine {
    let first = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    FunctionLine {
        name: name.to_owned(),
        kind,
        signature: documentation.map_or_else(|| format!("{name}(...)"), |d| first(&d.syntax_example)),
        purpose: documentation.map(|d| first(&d.description)).unwrap_or_default(),
    }
}

/// The functions as rows, those whose name is wanted.
///
/// # Errors
/// As [`functions`].
pub(crate) fn function_rows(context: &SessionContext, wanted: impl Fn(&str) -> bool) -> Result<RecordBatch> {
    let lines = functions(context)?.into_iter();
    let rows = lines
        .filter(|line| wanted(&line.name))
        .map(|line| [line.name, line.kind.to_owned(), line.signature, line.purpose]);
    Ok(texts(["function_name", "kind", "signature", "purpose"], rows)?)
}

/// The columns of a table, a view, or the rows of a table function, each with its comment. `None` when
/// there is nothing of that name.
///
/// # Errors
/// When the table cannot be looked at.
pub(crate) async fn columns(
    context: &SessionContext,
    table: impl Into<TableReference>,
) -> Result<Option<RecordBatch>> {
    let table: TableReference = table.into();
    let provider = context.table_provider(table.clone()).await.ok();
    let schema = match provider {
        Some(provider) => Some(provider.schema()),
        None => function_schema(context, table.table()).await?,
    };
    let rows = schema.map(|schema| {
        let fields = schema.fields().iter().cloned().collect::<Vec<_>>();
        texts(
            ["column_name", "data_type", "is_nullable", "comment"],
            fields.iter().map(|field| {
                let null = if field.is_nullable() { "YES" } else { "NO" };
                let comment = field.metadata().get("comment").cloned().unwrap_or_default();
                [field.name().clone(), sql_type(field.data_type()), null.to_owned(), comment]
            }),
        )
    });
    Ok(rows.transpose()?)
}

/// The schema of the rows of a table function; `None` when there is no such function of ours.
///
/// # Errors
/// When a call of it cannot be planned.
pub(crate) async fn function_schema(context: &SessionContext, name: &str) -> Result<Option<Arc<Schema>>> {
    columns_of(&session::library(context)?, name).await
}

/// Names of tables and views, without those of the information schema.
pub(crate) fn table_names(context: &SessionContext) -> Vec<String> {
    let state = context.state();
    let catalogs = state.catalog_list();
    let mut names = Vec::new();
    for catalog in catalogs.catalog_names().iter().filter_map(|name| catalogs.catalog(name)) {
        let schemas = catalog.schema_names();
        let schemas = schemas.iter().filter(|name| *name != "information_schema");
        for schema in schemas.filter_map(|name| catalog.schema(name)) {
            names.extend(schema.table_names());
        }
    }
    names.sort();
    names
}

/// Whether a name fits what somebody typed behind a command: a plain word may stand anywhere in the name, a
/// pattern (`*`, `?` or `%`) is for all of it.
pub(crate) fn named(typed: &str, name: &str) -> bool {
    if typed.contains(['*', '?', '%']) {
        return matches(typed, name);
    }
    name.to_lowercase().contains(&typed.to_lowercase())
}

/// What is said when no name fits.
pub(crate) fn no_name(typed: &str) -> String {
    let word = typed.trim_matches(['*', '?', '%']);
    let anywhere = format!("*{word}*");
    if word == typed || word.is_empty() || anywhere == typed {
        return format!("no name matches {typed}");
    }
    format!("no name matches {typed}; try {anywhere}")
}

/// Whether a name fits a pattern of `LIKE` or of a file name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern = pattern.replace('%', "*");
    let pattern = if pattern.contains(['*', '?']) { pattern } else { pattern.replace('_', "?") };
    glob::Pattern::new(&pattern.to_lowercase()).is_ok_and(|p| p.matches(&name.to_lowercase()))
}

/// Rows of texts.
///
/// # Errors
/// When arrow does not take them, which does not happen.
pub(crate) fn texts<const N: usize>(
    names: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Result<RecordBatch, ArrowError> {
    let mut columns: [Vec<String>; N] = std::array::from_fn(|_| Vec::new());
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    let fields = names.map(|name| Field::new(name, DataType::Utf8, false));
    let columns: Vec<ArrayRef> =
        columns.into_iter().map(|c| Arc::new(StringArray::from(c)) as ArrayRef).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns)
}
