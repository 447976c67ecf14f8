//! The operators or kernels of one run, with what they did to memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::source::{Host, ReadError, Unit};
use crate::text::encoding::replace_invalid;

use super::attributes::{Attributes, Key, Keys};
use super::database::Needs;
use super::faults::Varieties;
use super::number;
use super::record::Record;
use super::rows::{Collect, Piece, UnitRows};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Operators.
    #[default]
    Op,
    /// Kernels.
    Kernel,
}

impl Level {
    /// Both by the name they have in SQL.
    pub const ALL: [(&'static str, Level); 2] = [("op", Level::Op), ("kernel", Level::Kernel)];

    /// The event of such launches.
    pub(super) fn event(self) -> &'static str {
        match self {
            Level::Op => "OP_LAUNCH",
            Level::Kernel => "KERNEL_LAUNCH",
        }
    }
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) name: u32,
    pub(super) id: i64,
    /// The tool's figure: size of the next event of the caching pool, in bytes.
    pub(super) following: i64,
    /// Bytes that it allocated and freed itself; `None` for kernels.
    pub(super) own: Option<(i64, i64)>,
}

/// Launches by device, in the order of time.
pub(super) type Launches = BTreeMap<(i64, String), Vec<Launch>>;

/// Names that both runs share.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    texts: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(replace_invalid(name).into_owned());
        self.numbers.insert(name.to_vec(), number);
        number
    }

    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }
}

/// What an event is to a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Start,
    /// An operator that ended, or a kernel.
    Launch,
    Malloc,
    Free,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    ts: i64,
    id: i64,
    thread: (i64, i64),
    device: u32,
    what: What,
    /// Of a launch or start.
    name: u32,
    size: i64,
    /// Whether the tool would take it for an event of the framework's pool, and of which.
    framework: Option<Framework>,
    /// Whether it is one of the program in a caching pool.
    own: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framework {
    Pta,
    MindSpore,
}

/// Texts and events of one piece.
#[derive(Debug, Default)]
struct Part {
    names: Names,
    devices: Names,
    events: Vec<Event>,
}

#[derive(Debug)]
struct LaunchCollect {
    level: Level,
}

impl Collect for LaunchCollect {
    type Part = Part;
    type Output = Part;

    fn needs(&self) -> Needs {
        Needs { attributes: true, stacks: false }
    }

    fn begin(&self) -> Part {
        Part::default()
    }

    fn record(&self, part: &mut Part, record: &Record<'_>, _: u64) {
        let op = self.level == Level::Op;
        let what = match (record.event, record.event_type) {
            (b"OP_LAUNCH", b"ATEN_START" | b"ATB_START") if op => What::Start,
            (b"OP_LAUNCH", b"ATEN_END" | b"ATB_END") if op => What::Launch,
            (b"KERNEL_LAUNCH", b"KERNEL_LAUNCH") if !op => What::Launch,
            (b"MALLOC", b"PTA" | b"MINDSPORE" | b"ATB") => What::Malloc,
            (b"FREE", b"PTA" | b"MINDSPORE" | b"ATB") => What::Free,
            _ => return,
        };
        // The tool compares nothing that belongs to no card.
        let Some(device) = record.device_name().filter(|d| *d != b"cpu") else { return };
        let memory = matches!(what, What::Malloc | What::Free);
        let keys =
            if memory { const { Keys::of(&[Key::Size, Key::Shadow, Key::Owner]) } } else { Keys::default() };
        let attributes = Attributes::parse(record.attributes, keys);
        let size = attributes.get(Key::Size).and_then(number::integer).map_or(0, i64::saturating_abs);
        let workspace = attributes.get(Key::Owner).is_some_and(|o| o.starts_with(b"PTA_WORKSPACE"));
        part.events.push(Event {
            ts: record.time_ns(),
            id: record.id,
            thread: (record.pid.unwrap_or(-1), record.tid.unwrap_or(-1)),
            device: part.devices.number(device),
            what,
            name: if memory { 0 } else { part.names.number(record.name) },
            size,
            framework: match record.event_type {
                b"PTA" if memory => Some(Framework::Pta),
                b"MINDSPORE" if memory => Some(Framework::MindSpore),
                _ => None,
            },
            own: memory && !workspace && !attributes.is_true(Key::Shadow),
        });
    }

    fn finish(&self, part: Part, _: &mut Varieties) -> Result<Part, ReadError> {
        Ok(part)
    }
}

/// Reads the launches of one run.
///
/// # Errors
/// What the host says.
pub(super) fn read(
    unit: &Unit,
    level: Level,
    threads: usize,
    names: &mut Names,
    host: &dyn Host,
) -> Result<Launches, ReadError> {
    let (mut rows, collect) = (UnitRows::new(unit), Arc::new(LaunchCollect { level }));
    let mut devices = Names::default();
    let mut events: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    while let Some(Piece { output: part, .. }) = rows.next_piece(&collect, threads, host)? {
        host.reserve(part.events.len() * size_of::<Event>())?;
        let global = |local: &Names, all: &mut Names| -> Vec<u32> {
            local.texts.iter().map(|t| all.number(t.as_bytes())).collect()
        };
        let (name, device) = (global(&part.names, names), global(&part.devices, &mut devices));
        for mut event in part.events {
            event.name = name.get(event.name as usize).copied().unwrap_or(0);
            event.device = device.get(event.device as usize).copied().unwrap_or(0);
            events.entry(event.device).or_default().push(event);
        }
    }
    let mut out = Launches::new();
    for (device, mut events) in events {
        let own = (level == Level::Op).then(|| own_bytes(&mut events));
        events.sort_by_key(|e| (e.ts, e.id));
        let text = devices.text(device).to_owned();
        let key = (text.parse().unwrap_or(i64::MAX), text);
        out.insert(key, with_figures(&events, own.as_ref()));
    }
    Ok(out)
}

/// What operators did, by process and id of their end: bytes allocated and freed.
type OwnBytes = HashMap<(i64, i64), (i64, i64)>;

/// An operator that has started: its name, bytes allocated and freed so far.
type Started = (u32, i64, i64);

/// What each operator allocated and freed between its start and its end, by the id of its end. What
/// happens inside of nested operators counts for the innermost one.
fn own_bytes(events: &mut [Event]) -> OwnBytes {
    events.sort_by_key(|e| e.id);
    let mut open: HashMap<(i64, i64), Vec<Started>> = HashMap::new();
    let mut out = OwnBytes::new();
    for event in events {
        let stack = open.entry(event.thread).or_default();
        match event.what {
            What::Start => stack.push((event.name, 0, 0)),
            What::Launch => {
                // An operator whose start was not recorded ends nothing.
                let at = stack.iter().rposition(|(name, ..)| *name == event.name);
                let (_, allocated, freed) = match at {
                    Some(at) => {
                        let found = stack.get(at).copied().unwrap_or_default();
                        stack.truncate(at);
                        found
                    }
                    None => (0, 0, 0),
                };
                out.insert((event.thread.0, event.id), (allocated, freed));
            }
            What::Malloc | What::Free if event.own => {
                if let Some((_, allocated, freed)) = stack.last_mut() {
                    let sum = if event.what == What::Malloc { allocated } else { freed };
                    *sum = sum.saturating_add(event.size);
                }
            }
            What::Malloc | What::Free => {}
        }
    }
    out
}

/// The launches among events in the order of time, each with the tool's figure.
fn with_figures(events: &[Event], own: Option<&OwnBytes>) -> Vec<Launch> {
    let framework = events.iter().find_map(|e| e.framework);
    let mut following = 0;
    let mut out = vec![];
    for event in events.iter().rev() {
        if event.framework.is_some() && event.framework == framework {
            following = event.size;
        } else if event.what == What::Launch {
            let own = own.map(|own| own.get(&(event.thread.0, event.id)).copied().unwrap_or_default());
            out.push(Launch { name: event.name, id: event.id, following, own });
        }
    }
    out.reverse();
    out
}
