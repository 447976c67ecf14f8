//! STRING_IDS: the table that all names, frames and components are looked up in.

use std::collections::HashMap;

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row};

use crate::source::{Finding, Kind, Place};
use crate::text::interner::Interner;

use super::table::{Found, find};
use super::{Access, Budget, Fault};

/// The id that stands for "no string".
const NO_STRING: i64 = 0xFFFF_FFFF;

/// The strings that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct Strings {
    texts: Interner,
    /// Per id: number in `texts`, or `None` when STRING_IDS does not have it.
    numbers: HashMap<i64, Option<u32>>,
    way: Way,
    budget: Budget,
}

/// How a string is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Way {
    /// Not known yet.
    #[default]
    Unknown,
    /// One at a time, by the primary key.
    ByKey,
    /// There is no key, so that a look-up would read the whole table: all were loaded.
    Loaded,
    /// There is no such table; that was reported.
    Missing,
}

impl Strings {
    /// Makes ready; false when there is no usable table, which has been reported as a problem then.
    pub(super) fn prepare(&mut self, db: &Access<'_>) -> Result<bool, Fault> {
        if self.way != Way::Unknown {
            return Ok(self.way != Way::Missing);
        }
        self.way = Way::Missing;
        let (kind, message) = match find(db.conn, "STRING_IDS")? {
            Found::Missing => {
                (Kind::Missing, "there is no table STRING_IDS: names cannot be told".to_owned())
            }
            Found::Other(kind) => (
                Kind::BadStructure,
                format!("STRING_IDS is a {kind}, expected a table: names cannot be told"),
            ),
            Found::Table(shape) if !(shape.has("id") && shape.has("value")) => (
                Kind::Columns,
                "STRING_IDS does not have the columns id and value: names cannot be told".to_owned(),
            ),
            Found::Table(shape) if shape.is_key("id") => {
                self.way = Way::ByKey;
                return Ok(true);
            }
            Found::Table(_) => {
                self.load(db)?;
                self.way = Way::Loaded;
                return Ok(true);
            }
        };
        db.host.report(Finding::problem(kind, db.path, message).at(Place::Key("STRING_IDS".into())))?;
        Ok(false)
    }

    /// The number of the string with this id, for [`Strings::text`]; `None` when there is none.
    ///
    /// No id, and the id for "no string", are the empty text. So is every id when there is no table:
    /// that has been reported once, and is not a fault of each row.
    pub(super) fn number(&mut self, db: &Access<'_>, id: Option<i64>) -> Result<Option<u32>, Fault> {
        let Some(id) = id.filter(|id| *id != NO_STRING && self.way != Way::Missing) else {
            return Ok(Some(self.texts.intern("")));
        };
        if let Some(number) = self.numbers.get(&id) {
            return Ok(*number);
        }
        if self.way != Way::ByKey {
            return Ok(None);
        }
        let mut stmt = db.conn.prepare_cached("SELECT id, value FROM main.STRING_IDS WHERE id = ?1")?;
        let mut rows = stmt.query([id])?;
        let found = match rows.next()? {
            Some(row) => Some(self.keep(db, id, row)?),
            None => None,
        };
        self.numbers.insert(id, found);
        self.cover(db)?;
        Ok(found)
    }

    /// The text with this number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number).unwrap_or_default()
    }

    /// Loads the whole table. When an id occurs again, with another text, the first one counts.
    fn load(&mut self, db: &Access<'_>) -> Result<(), Fault> {
        let mut stmt = db.conn.prepare("SELECT id, value FROM main.STRING_IDS NOT INDEXED")?;
        let mut rows = stmt.query([])?;
        let mut row_no = 0;
        while let Some(row) = rows.next()? {
            row_no += 1;
            db.poll(row_no)?;
            let ValueRef::Integer(id) = row.get_ref(0)? else { continue };
            let number = self.keep(db, id, row)?;
            let first = *self.numbers.entry(id).or_insert(Some(number));
            if first != Some(number) {
                let message = format!("STRING_IDS has two texts for the id {id}, expected one");
                db.host.report(Finding::problem(Kind::BadValue, db.path, message).at(place(id)))?;
            }
            self.cover(db)?;
        }
        Ok(())
    }

    /// Stores the text in the second column of a row.
    fn keep(&mut self, db: &Access<'_>, id: i64, row: &Row<'_>) -> Result<u32, Fault> {
        Ok(match row.get_ref(1)? {
            ValueRef::Null => self.texts.intern(""),
            ValueRef::Integer(i) => self.texts.intern(&i.to_string()),
            ValueRef::Real(x) => self.texts.intern(&x.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                if matches!(text, std::borrow::Cow::Owned(_)) {
                    let message = "STRING_IDS has a text that is not UTF-8: the wrong bytes were replaced";
                    db.host.report(Finding::note(Kind::Encoding, db.path, message).at(place(id)))?;
                }
                self.texts.intern(&text)
            }
        })
    }

    fn cover(&mut self, db: &Access<'_>) -> Result<(), Fault> {
        let used = self.texts.allocated() + self.numbers.capacity() * size_of::<(i64, Option<u32>)>();
        Ok(self.budget.cover(used, db.host)?)
    }
}

fn place(id: i64) -> Place {
    Place::Key(format!("STRING_IDS id {id}"))
}

/// The text of a cell of META_DATA, if there is one.
pub(super) fn meta_data(conn: &rusqlite::Connection, name: &str) -> Option<String> {
    let Ok(Found::Table(shape)) = find(conn, "META_DATA") else { return None };
    if !(shape.has("name") && shape.has("value")) {
        return None;
    }
    let sql = "SELECT CAST(value AS TEXT) FROM main.META_DATA NOT INDEXED WHERE name = ?1";
    conn.query_row(sql, [name], |row| row.get(0)).optional().ok().flatten()
}
