//! What the header of a file says about the columns of its rows:
//!
//! ```sql
//! -- Columns: role, low_mb and high_mb (levels, MB), then of the first of them step (where it begins).
//! ```
//!
//! A meaning stands in parentheses behind its column, or behind several joined by `and`. Words in front of a
//! column are for readers. `those of NAME` are the columns of that table function. The list ends with a full stop.

/// A column of the rows of a function, as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedColumn {
    /// Its name.
    pub name: String,
    /// What it is, with its unit; empty when the name says it.
    pub meaning: String,
}

/// The columns that a header names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DescribedColumns {
    /// The table function all of whose columns come first.
    pub those_of: Option<String>,
    /// Further columns, in their order.
    pub own: Vec<DescribedColumn>,
}

impl DescribedColumns {
    /// Reads the line `-- Columns:` of a file, and the indented ones that go on with it.
    pub(super) fn read(source: &str) -> Self {
        let mut found = Self::default();
        let text = super::function::header_line(source, "Columns:");
        for item in items(&text) {
            let (names, meaning) = match item.strip_suffix(')').and_then(|inner| last_group(inner)) {
                Some((names, meaning)) => (names, meaning),
                None => (item.as_str(), ""),
            };
            if let Some(table) = names.trim().strip_prefix("those of ") {
                found.those_of = Some(table.to_owned());
                continue;
            }
            let names = names.split(" and ").filter_map(|words| words.split_whitespace().last());
            let described =
                |name: &str| DescribedColumn { name: name.to_owned(), meaning: meaning.to_owned() };
            found.own.extend(names.map(described));
        }
        found
    }

    /// What a column is, when the header says it.
    pub fn meaning(&self, column: &str) -> Option<&str> {
        let found = self.own.iter().find(|known| known.name == column);
        found.map(|known| known.meaning.as_str()).filter(|meaning| !meaning.is_empty())
    }
}

/// What stands between commas outside of parentheses, up to the first full stop there.
fn items(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => break,
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Splits `names (meaning`, whose last parenthesis was taken away, where that one opens.
fn last_group(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.split_at_checked(at).map(|(names, rest)| (names, rest.trim_start_matches('(')));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_meanings_are_told_apart_from_the_words_around_them() {
        let header = "-- f(path)\n-- What?\n--\n-- Values: path path\n-- Columns: role, low and high (levels,\n--   of max(a, b), MB), \
                      then counts (of all): nan, last (ends). Not, columns.\n-- More, text.\n\nSELECT 1";
        let read = DescribedColumns::read(header);
        let own: Vec<(&str, &str)> = read.own.iter().map(|c| (c.name.as_str(), c.meaning.as_str())).collect();
        let levels = "levels, of max(a, b), MB";
        assert_eq!(own, [("role", ""), ("low", levels), ("high", levels), ("nan", ""), ("last", "ends")]);
        assert_eq!(
            (read.meaning("high"), read.meaning("role"), read.meaning("more")),
            (Some(levels), None, None)
        );
        let read = DescribedColumns::read("-- f(path)\n-- Columns: those of g, category (its use).\n");
        assert_eq!((read.those_of.as_deref(), read.meaning("category")), (Some("g"), Some("its use")));
        assert_eq!(DescribedColumns::read("-- f(path)\n-- What?\nSELECT 1"), DescribedColumns::default());
    }
}
