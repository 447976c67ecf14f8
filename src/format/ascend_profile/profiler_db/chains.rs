//! PYTORCH_CALLCHAINS: call stacks, stored frame by frame.

use std::collections::HashMap;

use crate::format::ascend_profile::ops::NO_STACK;
use crate::source::{Degree, Finding, Kind, Place};
use crate::text::interner::Interner;

use super::strings::Strings;
use super::table::{Cell, Column, Table, optional, required};
use super::{Access, Budget, Fault};

/// What joins the frames of a stack in the text export, and so here.
const JOINT: &str = ";\r\n";

const COLUMNS: [Column; 3] = [required("id"), required("stack"), optional("stackDepth")];

/// One frame of a chain: its depth and the id of its text, `None` for a row that cannot be used.
type Frame = Option<(i64, Option<i64>)>;

/// The call stack of each chain. A chain belongs to one op, but few stacks are distinct.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// Per chain id: number of its stack, [`NO_STACK`] when a frame of it is bad.
    stacks: HashMap<i64, u32>,
    /// Per sequence of frame ids: number of the stack, so that each text is built only once.
    sequences: HashMap<Box<[Option<i64>]>, u32>,
    sequence_bytes: usize,
    budget: Budget,
}

impl Chains {
    /// Reads all chains, putting their texts into `texts`. `None` without a table, which was noted.
    pub(super) fn load(
        db: &Access<'_>,
        strings: &mut Strings,
        texts: &mut Interner,
    ) -> Result<Option<Self>, Fault> {
        let why = "read without call stacks; they are recorded with with_stack=True";
        let Some(table) = Table::open(db, "PYTORCH_CALLCHAINS", &COLUMNS, Degree::Note, why)? else {
            return Ok(None);
        };
        let mut chains = Self::default();
        let mut frames = Frames { rows: Vec::new(), told: 0, budget: Budget::default() };
        if !chains.read_runs(db, &table, &mut frames, strings, texts)? {
            chains = Self::default();
            *texts = Interner::new();
            chains.read_sorted(db, &table, &mut frames, strings, texts)?;
        }
        Ok(Some(chains))
    }

    /// The number of a chain's stack, [`NO_STACK`] when it was left out; `None` for no such chain.
    pub(super) fn stack(&self, chain: i64) -> Option<u32> {
        self.stacks.get(&chain).copied()
    }

    /// Reads a table in which the rows of each chain stand together, as profilers write it; false as
    /// soon as that turns out to be wrong.
    fn read_runs(
        &mut self,
        db: &Access<'_>,
        table: &Table<3>,
        frames: &mut Frames,
        strings: &mut Strings,
        texts: &mut Interner,
    ) -> Result<bool, Fault> {
        let mut current = None;
        let mut run = Vec::new();
        let mut scattered = false;
        table.scan(db, &mut |table, at, cells| {
            if scattered {
                return Ok(());
            }
            let Some((id, frame)) = frames.read(db, table, at, &cells)? else { return Ok(()) };
            if current != Some(id) {
                if let Some(done) = current.replace(id) {
                    self.finish(db, done, &mut run, strings, texts)?;
                }
                scattered = self.stacks.contains_key(&id);
            }
            run.push(frame);
            frames.budget.cover(run.capacity() * size_of::<Frame>(), db.host)?;
            Ok(())
        })?;
        if let (Some(id), false) = (current, scattered) {
            self.finish(db, id, &mut run, strings, texts)?;
        }
        Ok(!scattered)
    }

    /// Reads a table in any order, which takes memory for all of its rows.
    fn read_sorted(
        &mut self,
        db: &Access<'_>,
        table: &Table<3>,
        frames: &mut Frames,
        strings: &mut Strings,
        texts: &mut Interner,
    ) -> Result<(), Fault> {
        table.scan(db, &mut |table, at, cells| {
            if let Some(row) = frames.read(db, table, at, &cells)? {
                frames.rows.push(row);
                frames.budget.cover(frames.rows.capacity() * size_of::<(i64, Frame)>(), db.host)?;
            }
            Ok(())
        })?;
        frames.rows.sort_by_key(|(id, _)| *id);
        let mut run = Vec::new();
        for rows in frames.rows.chunk_by(|a, b| a.0 == b.0) {
            run.extend(rows.iter().map(|(_, frame)| *frame));
            if let Some((id, _)) = rows.first() {
                self.finish(db, *id, &mut run, strings, texts)?;
            }
        }
        Ok(())
    }

    /// Turns the frames of one chain into a stack, and empties `run`.
    fn finish(
        &mut self,
        db: &Access<'_>,
        id: i64,
        run: &mut Vec<Frame>,
        strings: &mut Strings,
        texts: &mut Interner,
    ) -> Result<(), Fault> {
        db.poll(self.stacks.len() as i64)?;
        // A stack with a frame missing would be a wrong one.
        let whole: Option<Vec<(i64, Option<i64>)>> = run.drain(..).collect();
        let stack = match whole {
            None => NO_STACK,
            Some(mut frames) => {
                // Stable: frames of equal depth stay in the order of the table.
                frames.sort_by_key(|(depth, _)| *depth);
                let sequence: Vec<Option<i64>> = frames.into_iter().map(|(_, text)| text).collect();
                match self.sequences.get(sequence.as_slice()) {
                    Some(known) => *known,
                    None => self.build(db, id, sequence, strings, texts)?,
                }
            }
        };
        self.stacks.insert(id, stack);
        let used = self.stacks.capacity() * size_of::<(i64, u32)>() + self.sequence_bytes + texts.allocated();
        Ok(self.budget.cover(used, db.host)?)
    }

    fn build(
        &mut self,
        db: &Access<'_>,
        id: i64,
        sequence: Vec<Option<i64>>,
        strings: &mut Strings,
        texts: &mut Interner,
    ) -> Result<u32, Fault> {
        let mut numbers = Vec::with_capacity(sequence.len());
        let mut bytes = 0;
        for frame in &sequence {
            let Some(number) = strings.number(db, *frame)? else {
                let message = format!(
                    "stack is {}, expected an id of STRING_IDS; the call stack is left out",
                    frame.unwrap_or_default()
                );
                let place = Place::Key(format!("PYTORCH_CALLCHAINS id {id}"));
                db.host.report(Finding::problem(Kind::BadValue, db.path, message).at(place))?;
                return Ok(NO_STACK);
            };
            bytes += strings.text(number).len() + JOINT.len();
            numbers.push(number);
        }
        // Ahead of building it: a few rows can name a long text many times.
        self.sequence_bytes += size_of_val(sequence.as_slice()) + size_of::<(Box<[Option<i64>]>, u32)>();
        self.budget.cover(self.sequence_bytes + texts.allocated() + bytes, db.host)?;
        let mut text = String::with_capacity(bytes);
        for (i, number) in numbers.into_iter().enumerate() {
            if i > 0 {
                text.push_str(JOINT);
            }
            text.push_str(strings.text(number));
        }
        let stack = texts.intern(&text);
        self.sequences.insert(sequence.into(), stack);
        Ok(stack)
    }
}

/// Rows of the table on their way to becoming stacks.
struct Frames {
    rows: Vec<(i64, Frame)>,
    /// The last row that was reported: a second pass does not report it again.
    told: i64,
    budget: Budget,
}

impl Frames {
    /// The chain and frame of a row; `None` when not even the chain can be told.
    fn read(
        &mut self,
        db: &Access<'_>,
        table: &Table<3>,
        at: super::table::At,
        [id, stack, depth]: &[Cell; 3],
    ) -> Result<Option<(i64, Frame)>, Fault> {
        let chain = id.int("id").and_then(|v| v.ok_or_else(|| "id is NULL, expected an integer".into()));
        let [_, _, has_depth] = *table.present();
        let frame = stack.int("stack").and_then(|text| {
            let depth = match depth.int("stackDepth")? {
                None if has_depth => return Err("stackDepth is NULL, expected an integer".into()),
                depth => depth.unwrap_or(at.row_no),
            };
            Ok((depth, text))
        });
        let complaint = chain.as_ref().err().or(frame.as_ref().err());
        if let Some(message) = complaint.filter(|_| at.row_no > self.told) {
            self.told = at.row_no;
            let message = format!("{message}; the call stack is left out");
            db.host.report(Finding::problem(Kind::BadValue, db.path, message).at(table.place(at)))?;
        }
        Ok(chain.ok().map(|id| (id, frame.ok())))
    }
}
