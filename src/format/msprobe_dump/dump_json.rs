//! `dump.json`: the entries of its object `data`, one after the other.
//!
//! A file may be larger than memory, so entries are handed out as they come. One thing stands
//! against that: in JSON as Python reads it a repeated key counts with its last value, at its first
//! place. No collector writes that, but a file that was mended by hand may hold it. [`Census`] finds
//! such keys in a pass of its own, and [`DumpFile`] reads with it what would have been read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use crate::source::Host;

use super::feed::{Feed, FeedError};
use crate::text::json::cursor::{Cursor, Stop, decode};

/// What has to be known about a file in which keys are repeated.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// Which of several members `data` counts: the last one.
    data: usize,
    /// For an entry whose key is repeated, where its last value stands.
    moved: HashMap<u64, u64>,
    /// The entries that repeat a key.
    repeats: HashSet<u64>,
}

impl Census {
    /// Looks through a file.
    pub(super) fn take(path: &Path, host: &dyn Host) -> Result<Self, FeedError> {
        let mut file = DumpFile::open(path, host, None)?;
        file.every_data = true;
        let mut census = Census::default();
        let mut first_of: HashMap<u64, u64> = HashMap::new();
        loop {
            let data = file.data_members;
            let next = file.next_entry(host, |c, raw, number| {
                let hash = xxh3_64(decode(c, raw)?.0.as_bytes());
                c.token()?;
                let at = c.at() as u64;
                c.skip()?;
                Ok((hash, at, number))
            });
            let next = match next {
                // A file that is cut off is read up to the cut.
                Err(FeedError::Broken { .. } | FeedError::TooLarge(_)) => break,
                next => next?,
            };
            if file.data_members != data {
                census.data = file.data_members.saturating_sub(1);
                census.moved.clear();
                census.repeats.clear();
                first_of.clear();
            }
            let Some((hash, at, number)) = next else { break };
            match first_of.get(&hash) {
                Some(first) => {
                    census.repeats.insert(number);
                    census.moved.insert(*first, file.entry_offset + at);
                }
                None => {
                    first_of.insert(hash, number);
                }
            }
        }
        Ok(census)
    }
}

/// How far the reading came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was read.
    Start,
    /// Between the members of the file; true in front of the first one.
    Top(bool),
    /// Between the entries of `data`; true in front of the first one.
    Data(bool),
    /// At the end.
    Done,
}

/// What the file has under `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataMember {
    /// There is no such member.
    Missing,
    /// It is no object.
    NotAnObject,
    /// An object.
    Object,
}

/// An open dump file.
#[derive(Debug)]
pub(super) struct DumpFile {
    feed: Feed,
    /// A second place in the same file, for values that stand behind their key.
    aside: Option<Feed>,
    path: PathBuf,
    census: Option<Arc<Census>>,
    state: State,
    /// How many members `data` were met.
    data_members: usize,
    /// Hand out the entries of all of them.
    every_data: bool,
    data: DataMember,
    /// Number of the next entry in `data`, counted from 0, repeated keys included.
    number: u64,
    /// Where in the file the step began that read the latest entry.
    entry_offset: u64,
    /// Whether it begins with a byte-order mark.
    marked: bool,
}

/// What one step of the reading found.
enum Step<T> {
    Entry(T),
    /// An entry whose value stands elsewhere.
    Moved(Vec<u8>),
    Passed,
    OpenData,
    ClosedData,
    Closed,
}

impl DumpFile {
    /// Opens a file. Without a census, repeated keys are entries of their own.
    ///
    /// # Errors
    /// As [`Feed::open`].
    pub(super) fn open(path: &Path, host: &dyn Host, census: Option<Arc<Census>>) -> Result<Self, FeedError> {
        Ok(Self {
            feed: Feed::open(path, host)?,
            aside: None,
            path: path.to_owned(),
            census,
            state: State::Start,
            data_members: 0,
            every_data: false,
            data: DataMember::Missing,
            number: 0,
            entry_offset: 0,
            marked: false,
        })
    }

    /// Size of the file, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.feed.len()
    }

    /// What stands under `data`, so far.
    pub(super) fn data(&self) -> DataMember {
        self.data
    }

    /// How many members `data` were met.
    pub(super) fn data_members(&self) -> usize {
        self.data_members
    }

    /// Whether a byte-order mark was met.
    pub(super) fn marked(&self) -> bool {
        self.marked
    }

    /// Calls `read` in front of the value of the next entry, with the bytes of its key and its number;
    /// `read` must pass the value. It is called again when the value was not in memory as a whole.
    /// Nothing is returned at the end of the file, which must be well-formed up to there.
    pub(super) fn next_entry<T>(
        &mut self,
        host: &dyn Host,
        mut read: impl FnMut(&mut Cursor<'_>, &[u8], u64) -> Result<T, Stop>,
    ) -> Result<Option<T>, FeedError> {
        loop {
            let (state, number) = (self.state, self.number);
            match state {
                State::Start => {
                    self.marked = self.feed.byte_order_mark(host)?;
                    self.feed.step(host, |c| c.expect(b'{', "an object with the member `data`"))?;
                    self.state = State::Top(true);
                }
                State::Top(first) => match self.feed.step(host, |c| top_member::<T>(c, first))? {
                    Step::Closed => {
                        if !self.feed.step(host, |c| c.at_end())? {
                            return Err(FeedError::Broken {
                                at: self.feed.offset(),
                                expected: "the end of the file",
                            });
                        }
                        self.state = State::Done;
                    }
                    Step::OpenData => {
                        self.data_members += 1;
                        self.data = DataMember::Object;
                        self.number = 0;
                        self.state = State::Data(true);
                    }
                    Step::ClosedData => {
                        self.data_members += 1;
                        self.data = DataMember::NotAnObject;
                        self.state = State::Top(false);
                    }
                    _ => self.state = State::Top(false),
                },
                State::Data(first) => {
                    let census = self.census.as_deref();
                    self.entry_offset = self.feed.offset();
                    let skipped = !self.every_data && census.is_some_and(|c| c.data + 1 != self.data_members);
                    let step = self.feed.step(host, |c| {
                        let Some(key) = c.next_key(first)? else { return Ok(Step::ClosedData) };
                        if skipped || census.is_some_and(|c| c.repeats.contains(&number)) {
                            c.skip()?;
                            return Ok(Step::Passed);
                        }
                        if census.is_some_and(|c| c.moved.contains_key(&number)) {
                            c.skip()?;
                            return Ok(Step::Moved(key.to_vec()));
                        }
                        read(c, key, number).map(Step::Entry)
                    })?;
                    self.number += 1;
                    self.state = State::Data(false);
                    match step {
                        Step::Entry(entry) => return Ok(Some(entry)),
                        Step::Moved(key) => return self.moved(host, &key, number, read).map(Some),
                        Step::ClosedData => self.state = State::Top(false),
                        _ => {}
                    }
                }
                State::Done => return Ok(None),
            }
        }
    }

    /// Reads the value of an entry where it was written last.
    fn moved<T>(
        &mut self,
        host: &dyn Host,
        key: &[u8],
        number: u64,
        mut read: impl FnMut(&mut Cursor<'_>, &[u8], u64) -> Result<T, Stop>,
    ) -> Result<T, FeedError> {
        let at = self.census.as_ref().and_then(|c| c.moved.get(&number)).copied().unwrap_or_default();
        let mut feed = match self.aside.take() {
            Some(feed) => feed,
            None => Feed::open(&self.path, host)?,
        };
        feed.seek(at);
        let value = feed.step(host, |c| read(c, key, number));
        self.aside = Some(feed);
        value
    }
}

fn top_member<T>(c: &mut Cursor<'_>, first: bool) -> Result<Step<T>, Stop> {
    let Some(key) = c.next_key(first)? else { return Ok(Step::Closed) };
    if decode(c, key)?.0 != "data" {
        c.skip()?;
        return Ok(Step::Passed);
    }
    if c.token()? == b'{' {
        c.advance(1);
        return Ok(Step::OpenData);
    }
    c.skip()?;
    Ok(Step::ClosedData)
}
