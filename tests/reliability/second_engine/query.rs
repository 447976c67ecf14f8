//! Random queries whose answers have one order and that two engines read alike.

use crate::random::Random;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Integer,
    Text,
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A call of ours that is a table of SQLite, and its rows, of which constants are taken. In queries it is
/// written as the name of the table in braces.
pub(super) struct Relation {
    pub(super) call: String,
    pub(super) table: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A query, and what it gives.
pub(super) struct Query {
    pub(super) sql: String,
    columns: Vec<Column>,
}

/// The columns that an expression may name, as they are written, and constants to compare them with.
struct Scope {
    columns: Vec<(Column, Vec<String>)>,
}

impl Scope {
    fn of_kind(&self, kind: Kind) -> Vec<&(Column, Vec<String>)> {
        self.columns.iter().filter(|(column, _)| column.kind == kind).collect()
    }
}

/// The end of a query, which is ordered by all that it gives.
pub(super) fn limit(random: &mut Random) -> String {
    let offset = if random.once_in(2) { format!(" OFFSET {}", random.below(10)) } else { String::new() };
    format!(" LIMIT {}{offset}", random.below(40))
}

/// A query in which queries are nested this deep at most, ordered by all that it gives.
pub(super) fn query(random: &mut Random, relations: &[Relation], depth: usize) -> Query {
    let mut query = select(random, relations, depth);
    if random.once_in(5) {
        let kinds: Vec<Kind> = query.columns.iter().map(|column| column.kind).collect();
        let other = select_of(random, relations, 0, Some(&kinds));
        let operation = *random.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
        query.sql = format!("{} {operation} {}", query.sql, other.sql);
    }
    let order: Vec<String> = (query.columns.iter())
        .map(|column| {
            let (order, nulls) = *random.pick(&[("ASC", "FIRST"), ("ASC", "LAST"), ("DESC", "LAST")]);
            format!("{} {order} NULLS {nulls}", column.name)
        })
        .collect();
    query.sql = format!("SELECT * FROM ({}) AS q ORDER BY {}", query.sql, order.join(", "));
    query
}

fn select(random: &mut Random, relations: &[Relation], depth: usize) -> Query {
    select_of(random, relations, depth, None)
}

/// A SELECT that gives columns of these kinds, or of any.
fn select_of(random: &mut Random, relations: &[Relation], depth: usize, kinds: Option<&[Kind]>) -> Query {
    let (mut from, mut scope) = source(random, relations, depth, "a");
    if random.once_in(2) {
        let (other, more) = source(random, relations, depth.min(1), "b");
        if let Some((left, right)) = alike(random, &scope, &more) {
            let join = *random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            from = format!("{from} {join} {other} ON {left} = {right}");
            if let Some((left, right)) = alike(random, &scope, &more)
                && random.once_in(2)
            {
                from = format!("{from} AND {left} = {right}");
            }
            scope.columns.extend(more.columns);
        }
    }
    let mut clauses = String::new();
    if !random.once_in(3) {
        clauses = format!(" WHERE {}", predicate(random, relations, &scope, 2));
    }
    let count = kinds.map_or_else(|| 1 + random.below(4), <[Kind]>::len);
    let any = |random: &mut Random| *random.pick(&[Kind::Integer, Kind::Text]);
    let kinds: Vec<Kind> =
        (0..count).map(|at| kinds.map_or_else(|| any(random), |kinds| kinds[at])).collect();
    let columns: Vec<Column> =
        kinds.iter().enumerate().map(|(at, kind)| Column { name: format!("c{at}"), kind: *kind }).collect();
    let named = |expressions: &[String]| {
        let named =
            expressions.iter().zip(&columns).map(|(text, column)| format!("{text} AS {}", column.name));
        named.collect::<Vec<_>>().join(", ")
    };
    let sql = match random.below(3) {
        0 => {
            let distinct = if random.once_in(2) { "DISTINCT " } else { "" };
            let given: Vec<String> = kinds.iter().map(|kind| expression(random, &scope, *kind)).collect();
            format!("SELECT {distinct}{} FROM {from}{clauses}", named(&given))
        }
        1 => {
            let mut keys: Vec<String> = vec![];
            let given: Vec<String> = (kinds.iter())
                .map(|kind| {
                    if random.once_in(2) {
                        let key = expression(random, &scope, *kind);
                        keys.push(key.clone());
                        key
                    } else {
                        aggregate(random, &scope, *kind)
                    }
                })
                .collect();
            if random.once_in(2) {
                let kind = any(random);
                keys.push(expression(random, &scope, kind));
            }
            // Without a key an answer of no rows has one row in both engines.
            let grouped =
                if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
            let having = if keys.is_empty() || !random.once_in(3) {
                String::new()
            } else {
                format!(" HAVING count(*) > {}", random.below(3))
            };
            format!("SELECT {} FROM {from}{clauses}{grouped}{having}", named(&given))
        }
        _ => {
            let given: Vec<String> = (kinds.iter())
                .map(|kind| {
                    if random.once_in(2) {
                        window(random, &scope, *kind)
                    } else {
                        expression(random, &scope, *kind)
                    }
                })
                .collect();
            format!("SELECT {} FROM {from}{clauses}", named(&given))
        }
    };
    Query { sql, columns }
}

/// What stands behind FROM, under an alias.
fn source(random: &mut Random, relations: &[Relation], depth: usize, alias: &str) -> (String, Scope) {
    if depth > 0 && random.once_in(2) {
        // Few rows, so that joins of joins stay small.
        let mut inner = query(random, relations, depth - 1);
        inner.sql += &limit(random);
        let columns = inner.columns.iter().map(|column| {
            let name = format!("{alias}.{}", column.name);
            (Column { name, kind: column.kind }, vec![])
        });
        return (format!("({}) AS {alias}", inner.sql), Scope { columns: columns.collect() });
    }
    let relation = random.pick(relations);
    let columns = relation.columns.iter().enumerate().map(|(at, column)| {
        let values = (0..8).map(|n| &relation.rows[n * relation.rows.len() / 8][at]);
        let values = values.filter(|value| *value != "\u{0}").map(|value| match column.kind {
            Kind::Integer => value.clone(),
            Kind::Text => format!("'{}'", value.replace('\'', "''")),
        });
        let name = format!("{alias}.\"{}\"", column.name);
        (Column { name, kind: column.kind }, values.collect())
    });
    (format!("{{{}}} AS {alias}", relation.table), Scope { columns: columns.collect() })
}

/// A column of each side, of one kind and preferably of one name.
fn alike(random: &mut Random, left: &Scope, right: &Scope) -> Option<(String, String)> {
    let last = |name: &str| name.split_once('.').map_or(String::new(), |(_, name)| name.to_owned());
    let mut pairs = vec![];
    for (a, _) in &left.columns {
        for (b, _) in &right.columns {
            if a.kind == b.kind {
                let weight = if last(&a.name) == last(&b.name) { 8 } else { 1 };
                pairs.extend(vec![(a.name.clone(), b.name.clone()); weight]);
            }
        }
    }
    if pairs.is_empty() { None } else { Some(random.pick(&pairs).clone()) }
}

/// An expression; a constant where the scope has no column of the kind.
fn expression(random: &mut Random, scope: &Scope, kind: Kind) -> String {
    let of_kind = scope.of_kind(kind);
    if of_kind.is_empty() {
        // A bare number behind GROUP BY would be the place of a column.
        return format!("CASE WHEN 1 = 1 THEN {} END", constant(random, kind, &[]));
    }
    let (column, values) = *random.pick(&of_kind);
    let name = &column.name;
    match (kind, random.below(8)) {
        (Kind::Integer, 0) => format!("({name} % 7)"),
        (Kind::Integer, 1) => format!("coalesce({name}, {})", constant(random, kind, values)),
        (Kind::Integer, 2) => match scope.of_kind(Kind::Text).first() {
            Some((text, _)) => format!("length({})", text.name),
            None => name.clone(),
        },
        (Kind::Text, 0) => format!("substr({name}, 1, 3)"),
        (Kind::Text, 1) => format!("coalesce({name}, '-')"),
        (_, 3) => {
            let (other, _) = *random.pick(&of_kind);
            let test = simple(random, scope);
            format!("CASE WHEN {test} THEN {name} ELSE {} END", other.name)
        }
        _ => name.clone(),
    }
}

fn aggregate(random: &mut Random, scope: &Scope, kind: Kind) -> String {
    let of_kind = expression(random, scope, kind);
    match (kind, random.below(6)) {
        (Kind::Integer, 0) => "count(*)".to_owned(),
        (Kind::Integer, 1) => format!("count({of_kind})"),
        (Kind::Integer, 2) => format!("sum({of_kind} % 1000)"),
        (Kind::Integer, 3) => {
            let other = expression(random, scope, Kind::Text);
            format!("count(DISTINCT {other})")
        }
        (_, 4) => format!("min({of_kind})"),
        _ => format!("max({of_kind})"),
    }
}

fn window(random: &mut Random, scope: &Scope, kind: Kind) -> String {
    let key = |random: &mut Random| {
        let kind = *random.pick(&[Kind::Integer, Kind::Text]);
        let of_kind = scope.of_kind(kind);
        if of_kind.is_empty() { None } else { Some(random.pick(&of_kind).0.name.clone()) }
    };
    let Some(by) = key(random).or_else(|| key(random)) else { return expression(random, scope, kind) };
    let of_kind = expression(random, scope, kind);
    match (kind, random.below(4)) {
        (Kind::Integer, 0) => format!("count(*) OVER (PARTITION BY {by})"),
        (Kind::Integer, 1) => match key(random) {
            Some(order) => format!("rank() OVER (PARTITION BY {by} ORDER BY {order} NULLS LAST)"),
            None => format!("count({by}) OVER ()"),
        },
        (_, 2) => format!("min({of_kind}) OVER (PARTITION BY {by})"),
        _ => format!("max({of_kind}) OVER (PARTITION BY {by})"),
    }
}

fn constant(random: &mut Random, kind: Kind, values: &[String]) -> String {
    if !values.is_empty() && !random.once_in(4) {
        return random.pick(values).clone();
    }
    let odd = match kind {
        Kind::Integer => ["0", "-1", "1", "9223372036854775807", "7"],
        Kind::Text => ["''", "'%'", "'ä'", "'zzz'", "'aten::empty'"],
    };
    (*random.pick(&odd)).to_owned()
}

/// A predicate without subqueries.
fn simple(random: &mut Random, scope: &Scope) -> String {
    let (column, values) = random.pick(&scope.columns);
    let name = &column.name;
    let value = |random: &mut Random| constant(random, column.kind, values);
    let comparison = *random.pick(&["=", "<>", "<", "<=", ">", ">="]);
    match random.below(9) {
        0 => format!("{name} IS NULL"),
        1 => format!("{name} IS NOT NULL"),
        2 => {
            let (other, _) = *random.pick(&scope.of_kind(column.kind));
            format!("{name} {comparison} {}", other.name)
        }
        3 => {
            let (other, _) = *random.pick(&scope.of_kind(column.kind));
            format!("(({name}) IS NULL) <> (({}) IS NULL)", other.name)
        }
        4 => {
            let not = if random.once_in(2) { "NOT " } else { "" };
            format!("{name} {not}IN ({}, {})", value(random), value(random))
        }
        5 => format!("{name} BETWEEN {} AND {}", value(random), value(random)),
        6 => {
            let (other, _) = *random.pick(&scope.of_kind(column.kind));
            format!("(({name}) IS DISTINCT FROM ({}))", other.name)
        }
        _ => format!("{name} {comparison} {}", value(random)),
    }
}

fn predicate(random: &mut Random, relations: &[Relation], scope: &Scope, depth: usize) -> String {
    if depth > 0 && random.once_in(2) {
        let left = predicate(random, relations, scope, depth - 1);
        let right = predicate(random, relations, scope, depth - 1);
        return match random.below(5) {
            0 => format!("NOT ({left})"),
            1 | 2 => format!("(({left}) OR ({right}))"),
            _ => format!("(({left}) AND ({right}))"),
        };
    }
    if random.once_in(6)
        && let Some(condition) = subquery(random, relations, scope)
    {
        return condition;
    }
    simple(random, scope)
}

/// A condition with a subquery, which may look at the row outside.
fn subquery(random: &mut Random, relations: &[Relation], scope: &Scope) -> Option<String> {
    // Inside, a relation may have the name of one outside.
    let others: Vec<_> = scope.columns.iter().filter(|(column, _)| column.name.starts_with("b.")).collect();
    let hides = !others.is_empty() && random.once_in(3);
    let seen = Scope { columns: others.into_iter().cloned().collect() };
    let (alias, scope) = if hides { ("a", &seen) } else { ("z", scope) };
    let (inner, more) = source(random, relations, 0, alias);
    let (outer, within) = alike(random, scope, &more)?;
    let not = if random.once_in(2) { "NOT " } else { "" };
    let mut of_rows = format!("WHERE {}", simple(random, &more));
    if random.once_in(2)
        && let Some((outer, within)) = alike(random, scope, &more)
    {
        of_rows += &format!(" AND {within} {} {outer}", random.pick(&["=", "=", "<", "<>"]));
    }
    let of_all = random.pick(&["max", "min"]);
    Some(match random.below(6) {
        0..3 => format!("{outer} {not}IN (SELECT {within} FROM {inner} {of_rows})"),
        3 => format!("{outer} {not}IN (SELECT {of_all}({within}) FROM {inner} {of_rows})"),
        4 => format!("{not}EXISTS (SELECT 1 FROM {inner} {of_rows} AND {within} = {outer})"),
        _ => format!("{not}({outer} >= (SELECT {of_all}({within}) FROM {inner} {of_rows}))"),
    })
}
