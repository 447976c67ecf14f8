//! The documentation says what the program does.

use std::path::Path;

/// `UPDATE_DOCS=1 cargo test --test it docs` writes the page anew.
#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tables.md");
    let page = rl_insight_sql::table::reference_page().unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/tables.md is out of date: run UPDATE_DOCS=1 cargo test --test it docs");
}

/// Every query in `docs/questions.md` runs on the sample data and gives rows.
#[test]
fn the_queries_of_the_questions_page_give_rows() {
    give_rows("docs/questions.md");
}

/// Every query in `docs/memscope.md` runs on the data of the tests and gives rows.
#[test]
fn the_queries_of_the_msmemscope_page_give_rows() {
    give_rows("docs/memscope.md");
}

fn give_rows(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join(page)).unwrap();
    let queries: Vec<&str> =
        page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(queries.len() >= 10, "found only {} queries", queries.len());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let context = rl_insight_sql::session::context(rl_insight_sql::session::config()).unwrap();
    for query in queries {
        let data = |query: &str, dir: &str| query.replace(dir, &root.join(dir).display().to_string());
        let here = data(&data(query, "examples/data"), "tests/data");
        // Several statements are those before the query that they are for.
        let rows = runtime.block_on(async {
            let mut rows = vec![];
            for statement in here.split(";\n").filter(|s| !s.trim().is_empty()) {
                rows = context.sql(statement).await?.collect().await?;
            }
            Ok::<_, datafusion::error::DataFusionError>(rows)
        });
        let rows = rows.unwrap_or_else(|e| panic!("{query}\n{e}"));
        assert!(rows.iter().map(|b| b.num_rows()).sum::<usize>() > 0, "no rows: {query}");
    }
}
