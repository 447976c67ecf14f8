//! The documentation says what the program does.

use std::path::Path;
use std::sync::Arc;

use rl_insight_sql::library::Library;
use rl_insight_sql::reference::columns_of;

/// `UPDATE_DOCS=1 cargo test --test it docs` writes the page anew.
#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tables.md");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let page = runtime.block_on(rl_insight_sql::reference::reference_page()).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/tables.md is out of date: run UPDATE_DOCS=1 cargo test --test it docs");
}

/// The header of each shipped file names the columns of its rows, all of them and in their order.
#[test]
fn the_headers_name_the_columns() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let library = Arc::new(Library::shipped().unwrap());
    let names = |function: &str| -> Vec<String> {
        let schema = runtime.block_on(columns_of(&library, function)).unwrap().unwrap();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    let mut wrong = vec![];
    for function in library.functions() {
        let said = function.columns();
        let mut expected = said.those_of.as_deref().map(names).unwrap_or_default();
        expected.extend(said.own.into_iter().map(|column| column.name));
        let found = names(function.name());
        if expected != found {
            wrong.push(format!("{}: says {expected:?}, gives {found:?}", function.origin()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The README in Chinese has the same headings, in number and depth, and the same commands and queries.
#[test]
fn the_chinese_readme_is_the_same_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |page: &str| std::fs::read_to_string(root.join(page)).unwrap();
    let (english, chinese) = (read("README.md"), read("docs/README.zh.md"));
    let blocks = |page: &str| -> Vec<String> {
        let inside = page.split("```").enumerate().filter(|(at, _)| at % 2 == 1);
        // What a comment says is translated.
        let code = |line: &str| line.split_once(" # ").map_or(line, |(code, _)| code).trim_end().to_owned();
        inside.map(|(_, block)| block.lines().map(code).collect::<Vec<_>>().join("\n")).collect()
    };
    let depths = |page: &str| -> Vec<usize> {
        let outside = page.split("```").step_by(2).flat_map(str::lines);
        outside.filter(|l| l.starts_with('#')).map(|l| l.chars().take_while(|c| *c == '#').count()).collect()
    };
    assert_eq!(depths(&english), depths(&chinese));
    assert_eq!(blocks(&english), blocks(&chinese));
    assert!(blocks(&english).len() > 8);
}

/// A table under a query is what the program answers to it; `UPDATE_DOCS=1` writes it anew.
#[test]
fn the_answers_on_the_pages_are_those_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = vec![];
    for name in ["README.md", "docs/README.zh.md", "docs/questions.md", "docs/trend.md", "docs/memscope.md"] {
        let page = std::fs::read_to_string(root.join(name)).unwrap();
        // Every second part is inside of a block.
        let mut parts: Vec<String> = page.split("```").map(str::to_owned).collect();
        assert!(parts.len() % 2 == 1, "{name}: a block does not end");
        let pairs: Vec<(String, usize)> = (1..parts.len().saturating_sub(2))
            .step_by(2)
            .filter(|at| parts[at + 2].starts_with("text\n+--"))
            // A comment for tools may stand between a query and its answer.
            .filter(|at| parts[at + 1].lines().all(|line| line.is_empty() || line.starts_with("<!--")))
            .filter_map(|at| Some((parts[at].strip_prefix("sql\n")?.to_owned(), at + 2)))
            .collect();
        assert!(pairs.len() > 1, "{name}");
        let mut args = vec!["-q", "--format", "table", "--max-rows", "0"];
        args.extend(pairs.iter().flat_map(|(sql, _)| ["-c", sql]));
        let done = crate::support::run(&args);
        assert_eq!(done.code, Some(0), "{name}: {done:?}");
        // A table has three lines of this kind, the last one at its end.
        let mut tables = vec![String::new()];
        let mut borders = 0;
        for line in done.stdout.lines() {
            if borders == 3 {
                tables.push(String::new());
                borders = 0;
            }
            borders += usize::from(line.starts_with("+--"));
            tables.last_mut().unwrap().push_str(&format!("{line}\n"));
        }
        assert_eq!(tables.len(), pairs.len(), "{name}: a query with another number of results than one");
        for ((sql, at), table) in pairs.iter().zip(tables) {
            let answer = format!("text\n{table}");
            if parts[*at] != answer {
                wrong.push(format!("{name}: {sql}{table}"));
                parts[*at] = answer;
            }
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(root.join(name), parts.join("```")).unwrap();
            wrong.clear();
        }
    }
    assert!(wrong.is_empty(), "UPDATE_DOCS=1 writes these:\n{}", wrong.join("\n"));
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

/// The assertions in `docs/shell.md` run, and the outcome that it shows is theirs.
#[test]
fn the_assertions_of_the_shell_page_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/shell.md")).unwrap();
    let blocks: Vec<&str> = page.split("```text\n").skip(1).filter_map(|b| b.split("```").next()).collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nightly.slt");
    for (begins, data, code) in [
        ("# both ranks", "examples/data/run", 6),
        ("# no NaN", "tests/data/trend/96_nonfinite_roles/input", 6),
        ("# the mark", "tests/data/memscope/train_leak", 0),
    ] {
        let suite = blocks.iter().find(|block| block.starts_with(begins)).unwrap();
        std::fs::write(&file, suite).unwrap();
        let data = root.join(data).display().to_string();
        let base = format!("base={data}");
        let done = crate::support::run(&["check", file.to_str().unwrap(), &data, "-q", "--param", &base]);
        assert_eq!(done.code, Some(code), "{begins}: {done:?}");
        assert!(!done.stdout.contains("ERROR"), "{done:?}");
        if begins == "# both ranks" {
            // Where the file lies is another matter.
            let said = done.stdout.replace(&format!("{}/", dir.path().display()), "") + &done.stderr;
            let shown =
                blocks.iter().find(|block| block.starts_with("$ rl-insight-sql check nightly.slt examples"));
            assert_eq!(shown.unwrap().split_once('\n').unwrap().1, said);
        }
    }
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
