//! Names of WITH queries, inside of a function.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, Query, TableAlias, TableFactor, VisitMut, VisitorMut,
};

/// Gives the WITH queries of a function names that no query around a call has: DataFusion takes two of
/// the same name for one that is defined twice, also where one is inside of the other.
pub(super) fn give_own_names(body: &mut Query, function: &str) {
    let _ = body.visit(&mut OwnNames { function, names: vec![] });
}

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
