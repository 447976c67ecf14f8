//! One SQL file that is a table function.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Query, Statement, Value, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::columns::DescribedColumns;
use super::own_names::give_own_names;
use super::values::Values;

/// A table function that is a query.
#[derive(Debug, Clone)]
pub struct LibraryFunction {
    name: String,
    signature: String,
    purpose: String,
    parameters: Vec<Parameter>,
    /// Where the file is, for messages.
    origin: String,
    source: Cow<'static, str>,
    /// Made when it is needed: parsing all files would be most of the time that the program takes to start.
    query: OnceLock<Result<Box<Query>, String>>,
}

#[derive(Debug, Clone)]
struct Parameter {
    name: String,
    /// Its default as SQL.
    default: Option<String>,
    /// What it can be.
    values: Values,
}

impl LibraryFunction {
    /// Reads the header of a file: the call in the first comment line, the purpose in the following ones.
    /// `origin` is what messages call the file.
    ///
    /// # Errors
    /// When the first line is no call; the message says where and what was expected.
    pub(super) fn new(source: Cow<'static, str>, origin: String) -> Result<Self> {
        let mut comments = source.lines().map_while(|l| l.strip_prefix("--")).map(str::trim);
        let signature = comments.next().unwrap_or_default().to_owned();
        let purpose = comments.take_while(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
        let call = signature.split_once('(').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
        let mut lines = values_line(&source);
        let plain = |name: &&str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let Some((name, inner)) = call.filter(|(name, _)| plain(name)) else {
            let first: String = source.lines().next().unwrap_or_default().chars().take(80).collect();
            return plan_err!(
                "{origin}, line 1: expected the call as a comment, such as '-- name(path, n => 10)' with a name of \
                 small letters, digits and _, found '{}'",
                first.escape_debug()
            );
        };
        let mut parameters: Vec<Parameter> = vec![];
        for text in inner.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (name, default) = match text.split_once("=>") {
                None => (text, None),
                Some((name, default)) => (name.trim(), Some(default.trim().to_owned())),
            };
            if !plain(&name) || parameters.iter().any(|p| p.name == name) {
                return plan_err!(
                    "{origin}, line 1: '{name}' cannot be the name of a parameter: expected small letters, digits \
                     and _, each name once"
                );
            }
            let line = lines.iter().position(|(known, _)| known == name).map(|at| lines.swap_remove(at).1);
            let values = match Values::new(name, line.as_deref(), default.as_deref()) {
                Ok(values) => values,
                Err(e) => return plan_err!("{origin}: '-- Values:' of {name}: {e}"),
            };
            parameters.push(Parameter { name: name.to_owned(), default, values });
        }
        if let Some((name, _)) = lines.first() {
            return plan_err!("{origin}: '-- Values:' names {name}, which is no parameter of {signature}");
        }
        let name = name.to_owned();
        Ok(Self { name, signature, purpose, parameters, origin, source, query: OnceLock::new() })
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
        &self.source
    }

    /// Where the file is: a path, or one below `sql/` for a file of the product.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Checks the query and the defaults, which are else only looked at by the first call.
    ///
    /// # Errors
    /// When the file holds anything but one query, or a default is no expression.
    pub fn check(&self) -> Result<()> {
        self.query()?;
        self.parameters.iter().try_for_each(|p| self.default(p).map(drop))
    }

    fn query(&self) -> Result<&Query> {
        let parsed = self.query.get_or_init(|| {
            let mut statements =
                Parser::parse_sql(&GenericDialect {}, &self.source).map_err(|e| e.to_string())?;
            match (statements.pop(), statements.is_empty()) {
                (Some(Statement::Query(query)), true) => Ok(query),
                (Some(other), true) => {
                    Err(format!("expected a query, found {}", first_words(&other.to_string())))
                }
                (None, _) => Err("expected a query behind the comment, found nothing".to_owned()),
                (_, false) => Err(format!("expected one query, found {} statements", statements.len() + 1)),
            }
        });
        match parsed {
            Ok(query) => Ok(query),
            Err(error) => plan_err!("{} ({}): {error}", self.name, self.origin),
        }
    }

    fn default(&self, parameter: &Parameter) -> Result<Option<Expr>> {
        let Some(text) = &parameter.default else { return Ok(None) };
        let parsed = Parser::new(&GenericDialect {}).try_with_sql(text).and_then(|mut p| p.parse_expr());
        match parsed {
            Ok(default) => Ok(Some(default)),
            Err(e) => {
                plan_err!("{} ({}, line 1): default of {}: {e}", self.name, self.origin, parameter.name)
            }
        }
    }

    /// The texts that a parameter can be chosen from; empty when it takes something else.
    pub fn choices(&self, parameter: &str) -> Vec<String> {
        let found = self.parameters.iter().find(|p| p.name == parameter);
        found.map(|parameter| parameter.values.texts()).unwrap_or_default()
    }

    /// What the header says about the columns of its rows.
    pub fn columns(&self) -> DescribedColumns {
        DescribedColumns::read(&self.source)
    }

    /// A call that can be planned, to learn the types of the columns: planning reads nothing.
    pub fn any_call(&self) -> String {
        let required = self.parameters.iter().filter(|p| p.default.is_none());
        let arguments: Vec<String> = required.map(|p| p.values.sample()).collect();
        format!("{}({})", self.name, arguments.join(", "))
    }

    /// The query with the arguments of a call in the place of its parameters.
    ///
    /// # Errors
    /// When an argument is missing, unknown, given twice or not what its parameter can be, and as
    /// [`Self::check`].
    pub(super) fn bind(
        &self,
        args: Vec<FunctionArg>,
        context: &dyn RelationPlannerContext,
    ) -> Result<Box<Query>> {
        let mut given: BTreeMap<&str, Expr> = BTreeMap::new();
        for (at, arg) in args.into_iter().enumerate() {
            let (name, value) = match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => match self.parameters.get(at) {
                    Some(parameter) => (parameter.name.clone(), value),
                    None => {
                        return plan_err!("{}: too many arguments, expected {}", self.name, self.signature);
                    }
                },
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    (context.normalize_ident(name), value)
                }
                other => return plan_err!("{}: cannot take {other}, expected {}", self.name, self.signature),
            };
            let Some(parameter) = self.parameters.iter().find(|known| known.name == name) else {
                return plan_err!("{}: unknown argument {name}, expected {}", self.name, self.signature);
            };
            if let Some(refused) = parameter.values.refuse(&value) {
                return plan_err!("{}: {name} {refused}", self.name);
            }
            if given.insert(&parameter.name, value).is_some() {
                return plan_err!("{}: {name} is given twice", self.name);
            }
        }
        for parameter in &self.parameters {
            let name = parameter.name.as_str();
            if given.contains_key(name) {
                continue;
            }
            match self.default(parameter)? {
                Some(default) => given.insert(name, default),
                None => return plan_err!("{}: {name} is missing, expected {}", self.name, self.signature),
            };
        }
        let mut body = Box::new(self.query()?.clone());
        let _ = visit_expressions_mut(&mut body, |expression: &mut Expr| {
            if let Expr::Value(value) = expression
                && let Value::Placeholder(name) = &value.value
                && let Some(value) = given.get(name.trim_start_matches('$'))
            {
                *expression = value.clone();
            }
            ControlFlow::<()>::Continue(())
        });
        give_own_names(&mut body, &self.name);
        Ok(body)
    }
}

/// What the header says about the values of parameters, by name: `-- Values: name values; ...`.
fn values_line(source: &str) -> Vec<(String, String)> {
    let text = header_line(source, "Values:");
    let pairs = text.split(';').filter_map(|one| one.trim().split_once(' '));
    pairs.map(|(name, values)| (name.to_owned(), values.to_owned())).collect()
}

/// What follows a word in the header, in its line and in those below that are indented, with single spaces.
pub(super) fn header_line(source: &str, word: &str) -> String {
    let comments = source.lines().map_while(|l| l.strip_prefix("--"));
    let mut lines = comments.map(|l| l.strip_prefix(' ').unwrap_or(l)).skip_while(|l| !l.starts_with(word));
    let Some(first) = lines.next() else { return String::new() };
    let mut text = first.trim_start_matches(word).to_owned();
    lines.take_while(|l| l.starts_with(' ')).for_each(|l| text.push_str(l));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_words(text: &str) -> String {
    text.chars().take(40).collect()
}
