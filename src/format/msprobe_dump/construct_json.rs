//! `construct.json`: which call is inside which module.

use std::path::Path;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use xxhash_rust::xxh3::xxh3_64;

use crate::source::{Finding, Host, Kind, Place, ReadError};
use crate::text::json::escape::Oddities;
use crate::text::json::pull;

use super::feed::{Feed, FeedError};
use crate::text::json::cursor::{Cursor, Stop, decode};

/// The key that Megatron runs add; its value is the number of micro-steps, which is not used.
const MEGATRON: &str = "megatron_micro_step_number";

/// A key and its parent take about so many bytes, or more.
const BYTES_PER_KEY: u64 = 100;

/// What stands behind a key of `construct.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// `null`: the key is in no module.
    None,
    /// The module that it is in.
    Key(Text),
    /// A number (or boolean, which counts as 0 or 1): it is taken as a micro-step.
    Number(i64),
    /// A value that is no parent and no fault either, such as a fraction.
    Other,
    /// A list or an object; a fault as soon as somebody follows it.
    Container,
}

/// A piece of text in [`Construct::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Text {
    start: u32,
    end: u32,
}

/// The content of a `construct.json`: keys in order of their first appearance, each with the parent
/// that was written last for it.
#[derive(Debug, Default)]
pub(super) struct Construct {
    text: String,
    members: Vec<(Text, Parent)>,
    /// The parent that was read last: many calls in a row are in the same module.
    last_parent: Text,
    table: HashTable<(u64, u32)>,
    /// Whether the file begins with a byte-order mark.
    marked: bool,
}

impl Construct {
    /// Reads a file from its beginning. What makes it unusable is a finding.
    ///
    /// # Errors
    /// When the host stops the reading.
    pub(super) fn read(
        feed: &mut Feed,
        path: &Path,
        host: &dyn Host,
    ) -> Result<Result<Self, Finding>, ReadError> {
        let mut out = Construct::default();
        // About as many keys as the file has room for, so that the table need not grow.
        out.table.reserve((feed.len() / BYTES_PER_KEY).min(1 << 20) as usize, |(h, _)| *h);
        match out.fill(feed, host) {
            Ok(None) => {}
            Ok(Some((key, message))) => {
                return Ok(Err(Finding::problem(Kind::BadValue, path, message).at(Place::Key(key))));
            }
            Err(e) => return Ok(Err(e.into_finding(path)?)),
        }
        if out.marked {
            host.report(Finding::note(Kind::Encoding, path, "begins with a byte-order mark"))?;
        }
        Ok(Ok(out))
    }

    /// Reads all members; returns the key and the fault when one has no meaning.
    fn fill(&mut self, feed: &mut Feed, host: &dyn Host) -> Result<Option<(String, String)>, FeedError> {
        self.marked = feed.byte_order_mark(host)?;
        feed.step(host, |c| c.expect(b'{', "an object of keys and parents"))?;
        let mut megatron = false;
        let mut fault = None;
        let mut first = true;
        // A list `[parent, micro-step]` means the parent, but only in Megatron's form, and whether the
        // file is in this form may be known only at its end: the lists are kept aside.
        let mut lists: Vec<(u32, Listed)> = Vec::new();
        loop {
            let (lists, fault, megatron) = (&mut lists, &mut fault, &mut megatron);
            let more = feed.step(host, |c| {
                let Some(raw) = c.next_key(first)? else { return Ok(false) };
                let (key, odd) = decode(c, raw)?;
                if key == MEGATRON {
                    *megatron = true;
                    c.skip()?;
                    return Ok(true);
                }
                if odd.lone_surrogate {
                    *fault = fault.take().or_else(|| Some((key.to_string(), lone_surrogate())));
                }
                let (value, listed) = self.value(c, fault, &key)?;
                let number = self.set(&key, value);
                lists.extend(listed.map(|l| (number, l)));
                Ok(true)
            })?;
            if !more {
                break;
            }
            first = false;
        }
        if !feed.step(host, |c| c.at_end())? {
            return Err(FeedError::Broken { at: feed.offset(), expected: "the end of the file" });
        }
        if megatron {
            fault = fault.or(self.resolve(lists));
        }
        Ok(fault)
    }

    /// Makes lists parents, as they are in Megatron's form; returns the first that cannot be one.
    fn resolve(&mut self, mut lists: Vec<(u32, Listed)>) -> Option<(String, String)> {
        // Of a repeated key the last value counts.
        lists.reverse();
        lists.sort_by_key(|(number, _)| *number);
        lists.dedup_by_key(|(number, _)| *number);
        let mut bad = None;
        for (number, listed) in lists {
            let Some(member) = self.members.get_mut(number as usize) else { continue };
            // A later value of the same key that is no list may have replaced it.
            if member.1 != Parent::Container {
                continue;
            }
            match listed {
                Listed::Pair(parent) => member.1 = parent,
                Listed::NoPair => bad = bad.or(Some(member.0)),
                Listed::Object => {}
            }
        }
        let message = "the list holds no pair, expected [parent, micro-step]";
        bad.map(|key| (self.text_of(key).to_owned(), message.to_owned()))
    }

    /// Passes a value. A container comes with what it stands for in Megatron's form.
    fn value(
        &mut self,
        c: &mut Cursor<'_>,
        fault: &mut Option<(String, String)>,
        key: &str,
    ) -> Result<(Parent, Option<Listed>), Stop> {
        match c.token()? {
            b'[' => {
                let mut listed = (0usize, Parent::Other);
                c.array(|c, index| {
                    if index > 0 {
                        listed.0 = index;
                        return c.skip();
                    }
                    listed.1 = if matches!(c.token()?, b'[' | b'{') {
                        c.skip()?;
                        Parent::Container
                    } else {
                        self.scalar(c, fault, key)?
                    };
                    Ok(())
                })?;
                let listed = if listed.0 == 1 { Listed::Pair(listed.1) } else { Listed::NoPair };
                Ok((Parent::Container, Some(listed)))
            }
            b'{' => {
                c.skip()?;
                Ok((Parent::Container, Some(Listed::Object)))
            }
            _ => Ok((self.scalar(c, fault, key)?, None)),
        }
    }

    fn scalar(
        &mut self,
        c: &mut Cursor<'_>,
        fault: &mut Option<(String, String)>,
        key: &str,
    ) -> Result<Parent, Stop> {
        if c.token()? == b'"' {
            let raw = c.string()?;
            // Without escapes the bytes are the text.
            if self.text_of(self.last_parent).as_bytes() != raw || raw.contains(&b'\\') {
                let (text, _): (_, Oddities) = decode(c, raw)?;
                self.last_parent = self.push_text(&text);
            }
            return Ok(Parent::Key(self.last_parent));
        }
        let (kind, raw) = c.word()?;
        Ok(match (kind, raw) {
            (pull::Kind::Null, _) => Parent::None,
            (pull::Kind::Bool, _) => Parent::Number(i64::from(raw == b"true")),
            (pull::Kind::Number, _) if raw.iter().all(|b| b.is_ascii_digit() || *b == b'-') => {
                let number = std::str::from_utf8(raw).ok().and_then(|text| text.parse().ok());
                if number.is_none() {
                    let message = "the parent is a number that is too large for a micro-step".to_owned();
                    *fault = fault.take().or_else(|| Some((key.to_owned(), message)));
                }
                number.map_or(Parent::Other, Parent::Number)
            }
            _ => Parent::Other,
        })
    }

    fn push_text(&mut self, text: &str) -> Text {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        Text { start, end: self.text.len() as u32 }
    }

    /// Sets the parent of a key, at its first position when it has been there before.
    fn set(&mut self, key: &str, parent: Parent) -> u32 {
        let hash = xxh3_64(key.as_bytes());
        let (members, text) = (&self.members, &self.text);
        let same = |&(h, n): &(u64, u32)| {
            let known = members.get(n as usize).and_then(|(t, _)| text.get(t.start as usize..t.end as usize));
            h == hash && known == Some(key)
        };
        let number = match self.table.entry(hash, same, |(h, _)| *h) {
            Entry::Occupied(entry) => entry.get().1,
            Entry::Vacant(entry) => {
                let number = self.members.len() as u32;
                entry.insert((hash, number));
                let text = self.push_text(key);
                self.members.push((text, parent));
                return number;
            }
        };
        if let Some(member) = self.members.get_mut(number as usize) {
            member.1 = parent;
        }
        number
    }

    /// The number of a key.
    #[inline]
    pub(super) fn find(&self, key: &str) -> Option<u32> {
        self.find_hashed(key, xxh3_64(key.as_bytes()))
    }

    /// The number of a key, given its XXH3 hash.
    #[inline]
    pub(super) fn find_hashed(&self, key: &str, hash: u64) -> Option<u32> {
        let found = self.table.find(hash, |&(h, n)| h == hash && self.key(n) == key);
        found.map(|&(_, number)| number)
    }

    /// The key with this number.
    #[inline]
    pub(super) fn key(&self, number: u32) -> &str {
        self.members.get(number as usize).map_or("", |(key, _)| self.text_of(*key))
    }

    /// A piece of text.
    #[inline]
    pub(super) fn text_of(&self, text: Text) -> &str {
        self.text.get(text.start as usize..text.end as usize).unwrap_or_default()
    }

    /// The parents, in order of the numbers of their keys.
    pub(super) fn parents(&self) -> impl Iterator<Item = Parent> + '_ {
        self.members.iter().map(|(_, parent)| *parent)
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the file begins with a byte-order mark.
    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }

    /// Memory in use, in bytes.
    pub(super) fn allocated(&self) -> usize {
        self.text.capacity()
            + self.members.capacity() * size_of::<(Text, Parent)>()
            + self.table.capacity() * 16
    }
}

/// What a container stands for in Megatron's form.
enum Listed {
    /// The first of two elements.
    Pair(Parent),
    /// A list of another length.
    NoPair,
    /// An object.
    Object,
}

fn lone_surrogate() -> String {
    "the key holds half of a surrogate pair, which is no text".to_owned()
}
