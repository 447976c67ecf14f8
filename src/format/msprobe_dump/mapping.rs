//! The mapping file: texts of keys that are replaced by others before the keys are understood, so
//! that runs whose modules have different names can be compared.

use std::collections::HashMap;
use std::path::Path;

use crate::source::{Finding, Host, Kind, Place, ReadError};

use super::feed::{Feed, FeedError};
use crate::text::json::cursor::decode;

/// The longest key that replacements may make, in bytes.
pub(super) const LONGEST: usize = 1 << 20;

/// Replacements in the order in which they are done, each on the result of the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    pairs: Vec<(String, String)>,
}

impl Mapping {
    /// Reads a file: a JSON object whose values are texts.
    ///
    /// # Errors
    /// When the host stops the reading. What is wrong with the file is a finding.
    pub(super) fn read(path: &Path, host: &dyn Host) -> Result<Result<Self, Finding>, ReadError> {
        let mut feed = match Feed::open(path, host) {
            Ok(feed) => feed,
            Err(FeedError::Host(e)) => return Err(e),
            Err(FeedError::Io(e)) => {
                let message = format!("the mapping cannot be read: {e}");
                return Ok(Err(Finding::problem(Kind::Unreadable, path, message)));
            }
            Err(e) => return Ok(Err(e.into_finding(path)?)),
        };
        match Self::fill(&mut feed, host) {
            Ok(Ok(mapping)) => Ok(Ok(mapping)),
            Ok(Err(key)) => {
                // Python puts the replacement between all letters then, which nobody can want.
                let message = match key.is_empty() {
                    true => "an empty text stands everywhere, expected a text that is to be replaced",
                    false => "expected a text that replaces the key",
                };
                Ok(Err(Finding::problem(Kind::BadValue, path, message).at(Place::Key(key))))
            }
            Err(e) => Ok(Err(e.into_finding(path)?)),
        }
    }

    fn fill(feed: &mut Feed, host: &dyn Host) -> Result<Result<Self, String>, FeedError> {
        feed.byte_order_mark(host)?;
        feed.step(host, |c| c.expect(b'{', "an object of texts and their replacements"))?;
        let mut mapping = Mapping::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut first = true;
        loop {
            let member = feed.step(host, |c| {
                let Some(raw) = c.next_key(first)? else { return Ok(None) };
                let key = decode(c, raw)?.0.into_owned();
                if c.token()? != b'"' {
                    c.skip()?;
                    return Ok(Some((key, None)));
                }
                let value = c.string()?;
                let value = decode(c, value)?.0.into_owned();
                Ok(Some((key, Some(value))))
            })?;
            first = false;
            match member {
                None => break,
                Some((key, value)) if key.is_empty() || value.is_none() => return Ok(Err(key)),
                Some((_, None)) => {}
                Some((key, Some(value))) => {
                    let at = *places.entry(key.clone()).or_insert(mapping.pairs.len());
                    match mapping.pairs.get_mut(at) {
                        Some(pair) => pair.1 = value,
                        None => mapping.pairs.push((key, value)),
                    }
                }
            }
        }
        if !feed.step(host, |c| c.at_end())? {
            return Err(FeedError::Broken { at: feed.offset(), expected: "the end of the file" });
        }
        Ok(Ok(mapping))
    }

    /// Does all replacements on a key; false when it would become longer than [`LONGEST`]: a few
    /// replacements that double a key make one that no memory could hold.
    pub(super) fn apply(&self, key: &mut String) -> bool {
        for (from, to) in &self.pairs {
            if key.contains(from.as_str()) {
                let times = key.matches(from.as_str()).count();
                let longer = to.len().saturating_sub(from.len()).saturating_mul(times);
                if key.len().saturating_add(longer) > LONGEST.max(key.len()) {
                    return false;
                }
                *key = key.replace(from.as_str(), to);
            }
        }
        true
    }
}
