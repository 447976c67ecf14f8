//! Conditions on rows that a reader can decide before it makes the row.

use std::fmt;

/// A condition on one column. Rows for which it is false or NULL are not wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Index into [`super::Format::schema`].
    pub column: usize,
    /// What must hold for its value.
    pub test: Test,
}

/// What must hold for the value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It is NULL.
    Null,
    /// It is not NULL.
    NotNull,
    /// An integer from the first to the second, both included.
    Between(i64, i64),
    /// An integer that is in the list, or, when `listed` is false, not in it.
    Number {
        /// Whether the value must be in the list.
        listed: bool,
        /// The list.
        values: Vec<i64>,
    },
    /// A text that is in the list, or, when `listed` is false, not in it.
    Text {
        /// Whether the value must be in the list.
        listed: bool,
        /// The list. None of them holds U+FFFD, so that bytes can be compared that are not UTF-8.
        values: Vec<String>,
    },
}

impl Condition {
    /// Whether it holds for an integer; a test of texts holds for none.
    #[inline]
    pub fn holds_for_number(&self, value: Option<i64>) -> bool {
        match (&self.test, value) {
            (Test::Null, value) => value.is_none(),
            (Test::NotNull, value) => value.is_some(),
            (Test::Between(low, high), Some(n)) => (*low..=*high).contains(&n),
            (Test::Number { listed, values }, Some(n)) => values.contains(&n) == *listed,
            _ => false,
        }
    }

    /// Whether it holds for a text as it stands in a file; a test of integers holds for none.
    #[inline]
    pub fn holds_for_text(&self, value: Option<&[u8]>) -> bool {
        match (&self.test, value) {
            (Test::Null, value) => value.is_none(),
            (Test::NotNull, value) => value.is_some(),
            (Test::Text { listed, values }, Some(text)) => {
                values.iter().any(|v| v.as_bytes() == text) == *listed
            }
            _ => false,
        }
    }

    /// It with the name of its column, as EXPLAIN shows it.
    pub fn describe<'a>(&'a self, column: &'a str) -> impl fmt::Display + 'a {
        Described { column, test: &self.test }
    }
}

struct Described<'a> {
    column: &'a str,
    test: &'a Test,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.column;
        match self.test {
            Test::Null => write!(f, "{column} IS NULL"),
            Test::NotNull => write!(f, "{column} IS NOT NULL"),
            Test::Between(low, i64::MAX) => write!(f, "{column} >= {low}"),
            Test::Between(i64::MIN, high) => write!(f, "{column} <= {high}"),
            Test::Between(low, high) => write!(f, "{column} BETWEEN {low} AND {high}"),
            Test::Number { listed, values } => list(f, column, *listed, values),
            Test::Text { listed, values } => list(f, column, *listed, values),
        }
    }
}

fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    column: &str,
    listed: bool,
    values: &[T],
) -> fmt::Result {
    match (listed, values) {
        (true, [value]) => write!(f, "{column} = {value}"),
        (false, [value]) => write!(f, "{column} != {value}"),
        _ => {
            let values: Vec<String> = values.iter().map(T::to_string).collect();
            write!(f, "{column} {}IN ({})", if listed { "" } else { "NOT " }, values.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_fulfils_only_is_null() {
        let tests = [
            Test::NotNull,
            Test::Between(i64::MIN, i64::MAX),
            Test::Number { listed: false, values: vec![1] },
            Test::Text { listed: false, values: vec!["a".into()] },
        ];
        for test in tests {
            let condition = Condition { column: 0, test };
            assert!(!condition.holds_for_number(None) && !condition.holds_for_text(None), "{condition:?}");
        }
        let null = Condition { column: 0, test: Test::Null };
        assert!(null.holds_for_number(None) && null.holds_for_text(None));
        assert!(!null.holds_for_number(Some(0)) && !null.holds_for_text(Some(b"")));
    }

    #[test]
    fn bounds_are_included() {
        let condition = Condition { column: 0, test: Test::Between(2, 3) };
        let holds: Vec<i64> = (0..6).filter(|n| condition.holds_for_number(Some(*n))).collect();
        assert_eq!(holds, [2, 3]);
    }

    #[test]
    fn bytes_that_are_not_utf8_differ_from_every_text() {
        let of = |listed| Condition { column: 0, test: Test::Text { listed, values: vec!["é".into()] } };
        assert!(!of(true).holds_for_text(Some(b"\xE9")));
        assert!(of(false).holds_for_text(Some(b"\xE9")));
        assert!(of(true).holds_for_text(Some("é".as_bytes())));
    }
}
