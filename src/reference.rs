//! What functions and their columns are, from the descriptions that make listings and the reference page.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::Documentation;

use crate::function::{all_aggregate_functions, all_scalar_functions, all_window_functions};
use crate::library::{Library, LibraryPlanner};
use crate::session;
use crate::table::all_table_functions;

/// The text of `docs/tables.md`; a test keeps the file equal to it.
///
/// # Errors
/// When a shipped SQL file is malformed, which a test rules out.
pub async fn reference_page() -> Result<String> {
    let mut page = String::from(
        "# Tables\n\n\
         The first argument is a path: a directory (searched to any depth), a file, a glob such as `'runs/*/actor'`, \
         or a list `['run_a', 'run_b']`. Further arguments are named. Names of arguments and columns are in lower case.\n",
    );
    for function in all_table_functions() {
        let _ = write!(
            page,
            "\n## {}\n\n{}.\n\n```text\n{}\n```\n",
            function.name,
            sentence(function.purpose),
            function.signature()
        );
        for argument in function.arguments {
            let default = argument.takes.default_value().map(|d| format!(" (default `{d}`)"));
            let default = default.unwrap_or_default();
            let _ = write!(page, "\n- `{}`{default}: {}.", argument.name, argument.purpose);
        }
        page.push_str(if function.arguments.is_empty() { "" } else { "\n" });
        page.push_str("\n| column | type | NULL | meaning |\n|---|---|---|---|\n");
        for field in function.schema().fields() {
            let null = if field.is_nullable() { "yes" } else { "" };
            let _ = writeln!(
                page,
                "| `{}` | {} | {null} | {} |",
                field.name(),
                sql_type(field.data_type()),
                comment(field)
            );
        }
    }
    page.push_str("\n# Functions that are queries\n\nTheir files are in `sql/`; `\\sf NAME` shows one.\n");
    let library = Arc::new(Library::shipped()?);
    for function in library.functions() {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n```text\n{}\n```\n\n| column | type | meaning |\n|---|---|---|\n",
            function.name(),
            function.purpose(),
            function.signature()
        );
        let schema = columns_of(&library, function.name()).await?;
        for field in schema.iter().flat_map(|schema| schema.fields()) {
            let kind = sql_type(field.data_type());
            let _ = writeln!(page, "| `{}` | {kind} | {} |", field.name(), comment(field));
        }
    }
    page.push_str("\n# Functions of one value, of groups, and of windows\n\nThe rest of DataFusion's functions is there, too: `\\df` lists all.\n");
    for function in all_scalar_functions() {
        page.push_str(&documented(function.name(), function.documentation()));
    }
    for function in all_aggregate_functions() {
        page.push_str(&documented(function.name(), function.documentation()));
    }
    for function in all_window_functions() {
        page.push_str(&documented(function.name(), function.documentation()));
    }
    Ok(page)
}

/// The columns of the rows of a table function of ours, each with a `comment`; `None` when there is none of that
/// name.
///
/// # Errors
/// When a call of it cannot be planned.
pub async fn columns_of(library: &Arc<Library>, name: &str) -> Result<Option<SchemaRef>> {
    if let Some(function) = all_table_functions().iter().find(|f| f.name == name) {
        return Ok(Some(function.schema()));
    }
    let Some(function) = library.get(name) else { return Ok(None) };
    // In a session of its own: in one of the user, paths may be confined to a directory.
    let context = session::context(session::config())?;
    context.register_relation_planner(Arc::new(LibraryPlanner::new(Arc::clone(library))))?;
    let frame = context.sql(&format!("SELECT * FROM {}", function.any_call())).await?;
    let described = function.columns();
    let fields = frame.schema().fields().iter().map(|field| match described.meaning(field.name()) {
        // A column that was taken over has the comment of its table, which says less.
        Some(meaning) => {
            let comment = [("comment".to_owned(), meaning.to_owned())].into();
            Arc::new(field.as_ref().clone().with_metadata(comment))
        }
        None => Arc::clone(field),
    });
    Ok(Some(Arc::new(Schema::new(fields.collect::<Vec<_>>()))))
}

fn documented(name: &str, documentation: Option<&Documentation>) -> String {
    let Some(documentation) = documentation else { return format!("\n## {name}\n") };
    let mut text = format!(
        "\n## {name}\n\n{}\n\n```text\n{}\n```\n",
        documentation.description.trim(),
        documentation.syntax_example.trim()
    );
    for (at, (argument, meaning)) in documentation.arguments.iter().flatten().enumerate() {
        text.push_str(if at == 0 { "\n" } else { "" });
        let _ = writeln!(text, "- `{argument}`: {meaning}");
    }
    text
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn comment(field: &Field) -> String {
    // A backslash and a bar mean something else in a Markdown table.
    field.metadata().get("comment").map(|c| c.replace('\\', "\\\\").replace('|', "\\|")).unwrap_or_default()
}

/// The name of a type in SQL, or that of the engine.
pub fn sql_type(data_type: &DataType) -> String {
    match data_type {
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => "VARCHAR".to_owned(),
        DataType::Dictionary(_, value) => sql_type(value),
        other => other.to_string(),
    }
}
