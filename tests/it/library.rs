//! The library of SQL functions: what it says about arguments that cannot be right.

use rl_insight_sql::library::Library;
use rl_insight_sql::session;

/// A list of integers is right for no parameter of any function, so each of them must say what it wants. One that
/// does not lacks a default that tells, and a line `-- Values:` in the header of its file.
#[test]
fn a_wrong_argument_is_told_with_function_and_parameter() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let context = session::context(session::config()).unwrap();
    let error = |sql: &str| runtime.block_on(context.sql(sql)).unwrap_err().to_string();
    let mut parameters = 0;
    for function in Library::shipped().unwrap().functions() {
        let name = function.name();
        let inner = function.signature().split_once('(').unwrap().1.trim_end_matches(')');
        for parameter in inner.split(", ").map(|p| p.split(" =>").next().unwrap()) {
            parameters += 1;
            let said = error(&format!("SELECT * FROM {name}({parameter} => [1, 2])"));
            assert!(
                said.contains(&format!("{name}: {parameter} is [1, 2], expected ")),
                "{name}, {parameter}: {said}"
            );
        }
        let said = error(&format!("SELECT * FROM {name}(nonsense => 1)"));
        assert!(said.contains(&format!("{name}: unknown argument nonsense, expected {name}(")), "{said}");
        let said = error(&format!("SELECT * FROM {name}()"));
        assert!(said.contains(&format!("{name}: ")) && said.contains(" is missing, expected "), "{said}");
    }
    assert!(parameters > 100, "{parameters}");
}
