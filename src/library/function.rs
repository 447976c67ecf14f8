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
    /// What it takes, where the header says so.
    values: Option<Values>,
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
            parameters.push(Parameter { name: name.to_owned(), default, values: None });
        }
        let values =
            source.lines().zip(1..).filter_map(|(line, at)| Some((line.strip_prefix("-- Values:")?, at)));
        for (line, at) in values {
            let (name, text) = line.split_once("=>").unwrap_or((line, ""));
            let Some(parameter) = parameters.iter_mut().find(|p| p.name == name.trim()) else {
                return plan_err!("{origin}, line {at}: values of {}, which is no parameter", name.trim());
            };
            match Values::parse(text) {
                Ok(values) => parameter.values = Some(values),
                Err(e) => return plan_err!("{origin}, line {at}: {}", e.strip_backtrace()),
            }
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
        self.parameters.iter().try_for_each(|p| match self.default(p)? {
            // NULL stands for an argument that was not given.
            Some(default) if default.to_string() != "NULL" => {
                self.values(p)?.check(&self.name, &p.name, default).map(drop)
            }
            _ => Ok(()),
        })
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

    /// What a parameter takes.
    fn values(&self, parameter: &Parameter) -> Result<Values> {
        match &parameter.values {
            Some(values) => Ok(values.clone()),
            None => Ok(Values::of(&parameter.name, self.default(parameter)?.as_ref())),
        }
    }

    /// The texts that a parameter can be chosen from; empty when it takes something else.
    pub fn choices(&self, parameter: &str) -> Vec<String> {
        let found = self.parameters.iter().find(|p| p.name == parameter);
        let values = found.and_then(|parameter| self.values(parameter).ok());
        values.map(|values| values.texts().to_vec()).unwrap_or_default()
    }

    /// The query with the arguments of a call in the place of its parameters.
    ///
    /// # Errors
    /// When an argument is missing, unknown or given twice, and as [`Self::check`].
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
            let value = self.values(parameter)?.check(&self.name, &name, value)?;
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

fn first_words(text: &str) -> String {
    text.chars().take(40).collect()
}
