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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/questions.md")).unwrap();
    let queries: Vec<&str> =
        page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(queries.len() >= 10, "found only {} queries", queries.len());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let context = rl_insight_sql::session::context(rl_insight_sql::session::config()).unwrap();
    for query in queries {
        let here = query.replace("examples/data", &root.join("examples/data").display().to_string());
        let rows = runtime.block_on(async { context.sql(&here).await?.collect().await });
        let rows = rows.unwrap_or_else(|e| panic!("{query}\n{e}"));
        assert!(rows.iter().map(|b| b.num_rows()).sum::<usize>() > 0, "no rows: {query}");
    }
}
