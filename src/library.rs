//! SQL files that are table functions with named parameters.
//!
//! Each file in `sql/` starts with its call and says what it answers:
//!
//! ```sql
//! -- memory_at_peak(path, match => 'nearest', on_error => 'strict')
//! -- Who holds memory when most of it is allocated? One row per ...
//! ```
//!
//! followed by one query in which the parameters stand as `$path`, `$match`, ... A call is replaced
//! by that query while it is planned, so predicates and limits reach the scan as if the query had
//! been written out.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use datafusion::common::{DataFusionError, Result, internal_err, plan_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, Statement, TableAlias, TableFactor, Value,
    VisitMut, VisitorMut, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use include_dir::{Dir, include_dir};

/// The folder `sql/`: what is in it when the program is built.
static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/sql");

/// The folder of statements that are run as they are, with `-f`.
const SCRIPTS: &str = "scripts";

/// A table function that is a query.
#[derive(Debug, Clone)]
pub struct LibraryFunction {
    name: String,
    signature: String,
    purpose: String,
    parameters: Vec<(String, Option<Expr>)>,
    body: Box<Query>,
    source: &'static str,
}

impl LibraryFunction {
    /// Reads one file: the call in the first comment line, the purpose in the following ones, then
    /// one query.
    ///
    /// # Errors
    /// When the file does not have this form, or the SQL is wrong.
    pub fn parse(text: &'static str) -> Result<Self> {
        let mut comments = text.lines().map_while(|l| l.strip_prefix("--")).map(str::trim);
        let signature = comments.next().unwrap_or_default();
        let parts = signature.split_once('(').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
        let Some((name, inner)) = parts else {
            return internal_err!("a library file starts with '-- name(parameters)', got '{signature}'");
        };
        let mut parameters = Vec::new();
        for parameter in inner.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            parameters.push(match parameter.split_once("=>") {
                None => (parameter.to_owned(), None),
                Some((name, default)) => {
                    let mut parser =
                        Parser::new(&GenericDialect {}).try_with_sql(default).map_err(sql_error)?;
                    (name.trim().to_owned(), Some(parser.parse_expr().map_err(sql_error)?))
                }
            });
        }
        let mut statements = Parser::parse_sql(&GenericDialect {}, text).map_err(sql_error)?;
        let (Some(Statement::Query(body)), true) = (statements.pop(), statements.is_empty()) else {
            return internal_err!("library function {name}: expected one query");
        };
        let purpose = comments.take_while(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
        Ok(Self {
            name: name.to_owned(),
            signature: signature.to_owned(),
            purpose,
            parameters,
            body,
            source: text,
        })
    }

    /// The name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How to call it, with the defaults of its parameters.
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// The question that it answers.
    pub fn purpose(&self) -> &str {
        &self.purpose
    }

    /// The file: header and query.
    pub fn source(&self) -> &str {
        self.source
    }

    /// The query with the arguments of a call in the place of its parameters.
    fn bind(&self, args: Vec<FunctionArg>, context: &dyn RelationPlannerContext) -> Result<Box<Query>> {
        let mut given: BTreeMap<&str, Expr> = BTreeMap::new();
        for (at, arg) in args.into_iter().enumerate() {
            let (name, value) = match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => match self.parameters.get(at) {
                    Some((name, _)) => (name.clone(), value),
                    None => {
                        return plan_err!("{}: too many arguments, expected {}", self.name, self.signature);
                    }
                },
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    (context.normalize_ident(name), value)
                }
                other => return plan_err!("{}: cannot take {other}, expected {}", self.name, self.signature),
            };
            let Some((name, _)) = self.parameters.iter().find(|(known, _)| *known == name) else {
                return plan_err!("{}: unknown argument {name}, expected {}", self.name, self.signature);
            };
            if given.insert(name, value).is_some() {
                return plan_err!("{}: {name} is given twice", self.name);
            }
        }
        for (name, default) in &self.parameters {
            match default {
                Some(default) => drop(given.entry(name).or_insert_with(|| default.clone())),
                None if given.contains_key(name.as_str()) => {}
                None => return plan_err!("{}: {name} is missing, expected {}", self.name, self.signature),
            }
        }
        let mut body = self.body.clone();
        let _ = visit_expressions_mut(&mut body, |expression: &mut Expr| {
            if let Expr::Value(value) = expression
                && let Value::Placeholder(name) = &value.value
                && let Some(value) = given.get(name.trim_start_matches('$'))
            {
                *expression = value.clone();
            }
            ControlFlow::<()>::Continue(())
        });
        let _ = body.visit(&mut OwnNames { function: &self.name, names: vec![] });
        Ok(body)
    }
}

/// Gives the WITH queries of a function names that no query around a call has: DataFusion takes two of
/// the same name for one that is defined twice, also where one is inside of the other.
struct OwnNames<'a> {
    function: &'a str,
    names: Vec<String>,
}

impl OwnNames<'_> {
    fn own(&self, name: &str) -> Ident {
        Ident::new(format!("{}__{name}", self.function))
    }
}

impl VisitorMut for OwnNames<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let own = self.own(&cte.alias.name.value);
            self.names.push(std::mem::replace(&mut cte.alias.name, own).value);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, alias, .. } = table
            && let [part] = name.0.as_slice()
            && let Some(old) = part.as_ident().filter(|i| self.names.contains(&i.value)).cloned()
        {
            *name = ObjectName::from(vec![self.own(&old.value)]);
            alias.get_or_insert(TableAlias { explicit: false, name: old, columns: vec![], at: None });
        }
        ControlFlow::Continue(())
    }
}

fn sql_error(error: ParserError) -> DataFusionError {
    DataFusionError::SQL(Box::new(error), None)
}

/// All functions of the library, in order of their names.
///
/// # Errors
/// When a shipped file is malformed, which a test rules out.
pub fn functions() -> Result<Vec<LibraryFunction>> {
    let mut functions = Vec::new();
    for (path, text) in files() {
        if !path.starts_with(SCRIPTS) {
            let function = LibraryFunction::parse(text)?;
            if path.file_stem().is_none_or(|stem| stem != function.name()) {
                return internal_err!("library file {} holds {}", path.display(), function.name());
            }
            functions.push(function);
        }
    }
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(functions)
}

/// Paths below `sql/` and contents of all SQL files.
fn files() -> Vec<(&'static Path, &'static str)> {
    fn visit(dir: &'static Dir<'static>, found: &mut Vec<(&'static Path, &'static str)>) {
        let sql = dir.files().filter(|f| f.path().extension().is_some_and(|e| e == "sql"));
        found.extend(sql.filter_map(|f| Some((f.path(), f.contents_utf8()?))));
        dir.dirs().for_each(|d| visit(d, found));
    }
    let mut found = Vec::new();
    visit(&FILES, &mut found);
    found
}

/// Plans calls of library functions.
#[derive(Debug)]
pub struct LibraryPlanner {
    functions: Vec<LibraryFunction>,
}

impl LibraryPlanner {
    /// Plans calls of these functions.
    pub fn new(functions: Vec<LibraryFunction>) -> Self {
        Self { functions }
    }
}

impl RelationPlanner for LibraryPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Table { name, args: Some(args), alias, .. } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let called = context.object_name_to_table_reference(name.clone())?;
        let Some(function) = self.functions.iter().find(|f| f.name.eq_ignore_ascii_case(called.table()))
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let subquery = function.bind(args.args.clone(), context)?;
        let alias = alias.clone().unwrap_or_else(|| TableAlias {
            explicit: false,
            name: Ident::new(&function.name),
            columns: vec![],
            at: None,
        });
        let plan =
            context.plan(TableFactor::Derived { lateral: false, subquery, alias: None, sample: None })?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, Some(alias)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_says_what_it_answers() {
        let functions = functions().unwrap();
        assert!(functions.len() > 4);
        for function in functions {
            assert!(!function.purpose().is_empty(), "{} does not say what it answers", function.name());
        }
    }
}
