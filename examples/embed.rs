//! Uses the table functions from a Rust program: register them on a session, query, take the rows.
//!
//! ```text
//! cargo run --example embed [DIRECTORY]
//! ```

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::datatypes::Float64Type;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};

#[tokio::main]
async fn main() -> Result<()> {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/run");
    let path = std::env::args().nth(1).unwrap_or_else(|| sample.to_owned());

    // A session that the program may have anyway, with tables, functions and settings of its own.
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    rl_insight_sql::session::register(&context)?;

    // A quote in the path would end the text in SQL; doubled it is a part of it.
    let path = path.replace('\'', "''");
    let blocks = context.sql(&format!("SELECT * FROM memory_events('{path}')")).await?;
    context.register_table("blocks", blocks.into_view())?;

    // What was never released, by the place in the program that asked for it.
    let unreleased = context
        .sql(
            "SELECT role, rank_id, call_stack_top, count(*) AS blocks, sum(size_kb) / 1024 AS mb
             FROM blocks
             WHERE NOT released
             GROUP BY role, rank_id, call_stack_top
             ORDER BY role, rank_id, mb DESC, call_stack_top",
        )
        .await?
        .collect()
        .await?;
    println!("{}", pretty_format_batches(&unreleased)?);

    // Rows arrive as Arrow record batches, with types that never depend on the data.
    let mut total = 0.0;
    for batch in &unreleased {
        if let Some(mb) = batch.column_by_name("mb").and_then(|c| c.as_primitive_opt::<Float64Type>()) {
            total += mb.iter().flatten().sum::<f64>();
        }
    }
    println!("{total:.1} MB in all");
    Ok(())
}
