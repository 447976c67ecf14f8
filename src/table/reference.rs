//! The reference page of all tables, made from their descriptions.

use std::fmt::Write;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;

use crate::library::Library;

use super::all_table_functions;

/// The text of `docs/tables.md`; a test keeps the file equal to it.
///
/// # Errors
/// When a shipped SQL file is malformed, which a test rules out.
pub fn reference_page() -> Result<String> {
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
            let _ =
                writeln!(page, "| `{}` | {} | {null} | {} |", field.name(), sql_type(field), comment(field));
        }
    }
    page.push_str("\n# Functions that are queries\n\nTheir files are in `sql/`; each one lists its columns and units.\n");
    for function in Library::shipped()?.functions() {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n```text\n{}\n```\n",
            function.name(),
            function.purpose(),
            function.signature()
        );
    }
    Ok(page)
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

fn sql_type(field: &Field) -> &'static str {
    match field.data_type() {
        DataType::Int64 => "BIGINT",
        DataType::Float64 => "DOUBLE",
        DataType::Boolean => "BOOLEAN",
        _ => "VARCHAR",
    }
}
