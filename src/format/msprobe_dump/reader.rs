//! Reads one dump file: from its entries to batches of rows.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use hashbrown::HashSet;

use crate::source::{Counter, Finding, FindingLog, Host, Kind, Place, ReadError, ReadRequest, Unit};

use super::audit::Audit;
use super::construct_json::Construct;
use super::dump_json::{Census, DataMember, DumpFile};
use super::dump_trend::{Scope, TrendOptions};
use super::entries::{Entries, Outcome};
use super::feed::FeedError;
use super::layout::{CONSTRUCT_PART, DUMP_PART};
use super::mapping::Mapping;
use super::micro_step::MicroSteps;
use super::rows::{UnitValues, shift_steps};
use super::schema::{Trend, Wanted, trend_schema};
use super::series::Series;

/// The rows of a file up to this size are held until it is read to its end, because only then it is
/// known that no key is repeated. Larger files are looked through first.
const HOLD_BYTES: u64 = 64 << 20;

/// Reads one unit.
pub(super) struct DumpReader {
    dump: Option<PathBuf>,
    construct: Option<PathBuf>,
    micro_step: bool,
    unit: UnitValues,
    series: Option<Arc<Series>>,
    host: Arc<dyn Host>,
    projection: Vec<usize>,
    schema: SchemaRef,
    wanted: Wanted,
    batch_rows: usize,
    entries: Entries,
    phase: Phase,
    /// Memory that was reserved for the batch that is being made, and for what is kept, in bytes.
    reserved: [usize; 2],
    /// Entries with something wrong in them, of what is not handed out yet.
    faults: FindingLog,
    /// Added to every step, once it is known.
    offset: Option<i64>,
    audit: Option<Audit>,
}

/// How far the reading came.
enum Phase {
    Start,
    /// The file is open; batches are handed out at once.
    Streaming(Box<DumpFile>),
    Done,
}

/// How reading all entries of a file ended.
enum End {
    /// At the end of the file, or where it is broken.
    Complete,
    /// A key or the member `data` is there twice: the file has to be read with a census.
    Repeated,
}

impl DumpReader {
    /// A reader that has opened nothing yet.
    ///
    /// # Errors
    /// [`ReadError::Arrow`] when the projection does not fit the schema.
    pub(super) fn new(
        unit: &Unit,
        request: &ReadRequest,
        options: &TrendOptions,
        mapping: Arc<Mapping>,
        series: Option<Arc<Series>>,
        host: Arc<dyn Host>,
    ) -> Result<Self, ReadError> {
        let wanted = Wanted::new(&request.projection);
        let file = |part: &str| unit.file(part).map(|f| f.path.clone());
        let values = UnitValues::new(unit);
        let source_step = values.source_step();
        Ok(Self {
            dump: file(DUMP_PART),
            construct: file(CONSTRUCT_PART),
            micro_step: options.micro_step,
            series,
            host,
            schema: Arc::new(trend_schema().project(&request.projection)?),
            projection: request.projection.clone(),
            wanted,
            batch_rows: request.batch_rows.max(1),
            entries: Entries::new(wanted, options.scope == Scope::All || options.audit, mapping),
            audit: options.audit.then(Audit::default),
            phase: Phase::Start,
            reserved: [0; 2],
            faults: FindingLog::default(),
            // Without micro-steps the step is that of the directory.
            offset: (!options.micro_step).then_some(source_step),
            unit: values,
        })
    }

    /// Reads on and adds at least one batch to `ready`; false when there is nothing left.
    ///
    /// # Errors
    /// What the host says.
    pub(super) fn read(&mut self, ready: &mut VecDeque<RecordBatch>) -> Result<bool, ReadError> {
        let host = Arc::clone(&self.host);
        loop {
            match std::mem::replace(&mut self.phase, Phase::Done) {
                Phase::Done => return Ok(false),
                Phase::Start => {
                    let Some(path) = self.dump.clone() else { return Ok(false) };
                    if self.micro_step && !self.place_keys(host.as_ref())? {
                        return Ok(false);
                    }
                    let file = match DumpFile::open(&path, host.as_ref(), None) {
                        Ok(file) => file,
                        Err(e) => {
                            self.report(e)?;
                            return Ok(false);
                        }
                    };
                    if file.len() <= HOLD_BYTES {
                        return self.read_held(file, ready);
                    }
                    drop(file);
                    self.phase = self.with_census(&path)?;
                }
                Phase::Streaming(mut file) => {
                    let mut batches = VecDeque::new();
                    let more = self.read_some(&mut file, None, &mut batches)?;
                    self.report_faults()?;
                    self.hand_out(batches, ready)?;
                    if more.is_none() {
                        self.phase = Phase::Streaming(file);
                    } else {
                        self.conclude(&file)?;
                    }
                    if !ready.is_empty() {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Reads a whole file before anything of it is handed out.
    fn read_held(
        &mut self,
        mut file: DumpFile,
        ready: &mut VecDeque<RecordBatch>,
    ) -> Result<bool, ReadError> {
        let mut seen = HashSet::new();
        let mut held = VecDeque::new();
        let end = loop {
            if let Some(end) = self.read_some(&mut file, Some(&mut seen), &mut held)? {
                break end;
            }
        };
        if matches!(end, End::Repeated) {
            // What was said about values that others replace does not count.
            held.clear();
            self.faults = FindingLog::default();
            self.entries.forget();
            let path = self.dump.clone().unwrap_or_default();
            let Phase::Streaming(again) = self.with_census(&path)? else { return Ok(false) };
            file = *again;
            while self.read_some(&mut file, None, &mut held)?.is_none() {}
        }
        self.report_faults()?;
        self.hand_out(held, ready)?;
        self.conclude(&file)?;
        Ok(!ready.is_empty())
    }

    fn with_census(&mut self, path: &std::path::Path) -> Result<Phase, ReadError> {
        let host = Arc::clone(&self.host);
        let census = match Census::take(path, host.as_ref()) {
            Ok(census) => census,
            Err(e) => {
                self.report(e)?;
                return Ok(Phase::Done);
            }
        };
        match DumpFile::open(path, host.as_ref(), Some(Arc::new(census))) {
            Ok(file) => Ok(Phase::Streaming(Box::new(file))),
            Err(e) => {
                self.report(e)?;
                Ok(Phase::Done)
            }
        }
    }

    /// Reads `construct.json`; false when this makes the unit unusable.
    fn place_keys(&mut self, host: &dyn Host) -> Result<bool, ReadError> {
        let Some(path) = self.construct.clone() else { return Ok(false) };
        let construct = match Construct::read(&path, host)? {
            Ok(construct) => construct,
            Err(finding) => {
                host.report(finding)?;
                return Ok(false);
            }
        };
        let (steps, faults) = MicroSteps::new(construct, &path);
        if faults.is_empty()
            && let Some(series) = &self.series
        {
            series.publish(self.unit.source_step(), &path, steps.count());
        }
        faults.into_iter().try_for_each(|f| host.report(f))?;
        self.entries.place(steps);
        Ok(true)
    }

    /// Reads entries until there is a batch of rows; something when the file has ended.
    fn read_some(
        &mut self,
        file: &mut DumpFile,
        mut seen: Option<&mut HashSet<u64>>,
        out: &mut VecDeque<RecordBatch>,
    ) -> Result<Option<End>, ReadError> {
        let host = Arc::clone(&self.host);
        let mut end = None;
        while end.is_none() && self.entries.rows() < self.batch_rows {
            let entries = &mut self.entries;
            match file.next_entry(host.as_ref(), |c, key, _| entries.read(c, key)) {
                Ok(Some(outcome)) => {
                    if let Some(seen) = seen.as_deref_mut()
                        && (!seen.insert(outcome.key_hash) || file.data_members() > 1)
                    {
                        return Ok(Some(End::Repeated));
                    }
                    self.account(outcome);
                }
                Ok(None) if seen.is_some() && file.data_members() > 1 => return Ok(Some(End::Repeated)),
                Ok(None) => end = Some(End::Complete),
                Err(e) => {
                    self.report(e)?;
                    end = Some(End::Complete);
                }
            }
        }
        if self.entries.rows() > 0 {
            self.reserve(seen.is_some() || !out.is_empty())?;
            out.push_back(self.entries.finish(&self.schema, &self.projection, &self.unit)?);
        }
        Ok(end)
    }

    /// Reserves the memory of a batch. Where none is `held` it takes the place of the one before.
    fn reserve(&mut self, held: bool) -> Result<(), ReadError> {
        let now = [self.entries.allocated(), self.entries.kept()];
        if held {
            self.reserved[0] = 0;
        }
        for (reserved, now) in self.reserved.iter_mut().zip(now) {
            self.host.reserve(now.saturating_sub(*reserved))?;
            *reserved = now.max(*reserved);
        }
        Ok(())
    }

    fn account(&mut self, outcome: Outcome) {
        self.host.count(Counter::EventsRead, 1);
        self.host.count(Counter::RowsRead, outcome.rows as u64);
        if let Some((key, message)) = outcome.fault {
            let path = self.dump.clone().unwrap_or_default();
            self.faults.push(Finding::problem(Kind::BadValue, path, message).at(Place::Key(key)));
        }
    }

    /// Tells what is wrong with the entries that are about to be handed out.
    fn report_faults(&mut self) -> Result<(), ReadError> {
        std::mem::take(&mut self.faults).into_findings().into_iter().try_for_each(|f| self.host.report(f))
    }

    /// Tells what was seen in the whole file.
    fn conclude(&mut self, file: &DumpFile) -> Result<(), ReadError> {
        let path = self.dump.clone().unwrap_or_default();
        if file.marked() {
            self.host.report(Finding::note(Kind::Encoding, &path, "begins with a byte-order mark"))?;
        }
        let data = match file.data() {
            DataMember::Object => None,
            DataMember::Missing => Some("there is no member `data`, so the file has no rows"),
            DataMember::NotAnObject => Some("`data` is no object, so the file has no rows"),
        };
        if let Some(message) = data {
            // Without micro-steps the reference takes such a file for one without entries.
            self.host.report(if self.micro_step {
                Finding::problem(Kind::Empty, &path, message)
            } else {
                Finding::note(Kind::Empty, &path, message)
            })?;
        }
        let audit = self.audit.as_ref().map(|audit| audit.notes(&path)).unwrap_or_default();
        self.entries.notes(&path).into_iter().chain(audit).try_for_each(|note| self.host.report(note))
    }

    /// Hands batches out, with the global step in them.
    fn hand_out(
        &mut self,
        batches: VecDeque<RecordBatch>,
        ready: &mut VecDeque<RecordBatch>,
    ) -> Result<(), ReadError> {
        if batches.is_empty() {
            return Ok(());
        }
        let offset = match self.offset {
            Some(offset) => offset,
            None if self.wanted.has(Trend::Step) => {
                let offset = self.find_offset()?;
                *self.offset.insert(offset)
            }
            None => 0,
        };
        for mut batch in batches {
            if let Some(audit) = &mut self.audit {
                batch = audit.see(&batch)?;
            }
            ready.push_back(shift_steps(batch, &self.projection, offset)?);
        }
        Ok(())
    }

    fn find_offset(&self) -> Result<i64, ReadError> {
        let Some(series) = &self.series else { return Ok(0) };
        let offset = series.offset(self.unit.source_step(), self.host.as_ref())?;
        if let Some(mut finding) = offset.doubt {
            finding.message.push_str("; the global steps behind it take it for one micro-step");
            self.host.report(finding)?;
        }
        Ok(offset.steps)
    }

    fn report(&self, error: FeedError) -> Result<(), ReadError> {
        let path = self.dump.clone().unwrap_or_default();
        let mut finding = error.into_finding(&path)?;
        finding.message.push_str("; the entries before it are complete");
        self.host.report(finding)
    }
}
