//! PYTORCH_API: the ops and task-queue slices that call stacks are matched with.

use std::collections::HashMap;

use crate::format::ascend_profile::ops::{Detail, NO_STACK, Op, OpLog, QueueSlice};
use crate::source::{Counter, Degree, Finding, Kind, file_name};

use super::chains::Chains;
use super::strings::Strings;
use super::table::{At, Cell, Column, Found, Table, find, optional, required};
use super::{Access, Budget, Fault};

const COLUMNS: [Column; 7] = [
    required("name"),
    required("startNs"),
    required("endNs"),
    optional("type"),
    optional("callchainId"),
    optional("globalTid"),
    optional("connectionId"),
];

/// The id that stands for "none" in columns of unsigned 32-bit ids.
const NONE: i64 = 0xFFFF_FFFF;

/// Collects what [`super::ProfilerDb::op_log`] returns. After a fault `log` holds what came before it.
pub(super) fn collect(db: &Access<'_>, detail: Detail, log: &mut OpLog) -> Result<(), Fault> {
    let why = "ops and call stacks cannot be told";
    let Some(table) = Table::open(db, "PYTORCH_API", &COLUMNS, Degree::Problem, why)? else {
        return Ok(());
    };
    let mut strings = Strings::default();
    if !strings.prepare(db)? {
        return Ok(());
    }
    let chains = Chains::load(db, &mut strings, &mut log.stacks)?;
    let [_, _, _, typed, chained, ..] = *table.present();
    let chains = chains.filter(|_| chained);
    if chains.is_some() || detail == Detail::Owners {
        let types = if typed { Some(ApiTypes::read(db)?) } else { None };
        let mut reader = Reader {
            detail,
            types,
            chains,
            strings,
            log,
            queue: Vec::new(),
            threads: HashMap::new(),
            budget: Budget::default(),
        };
        let mut events = 0;
        let outcome = table.scan(db, &mut |table, at, cells| {
            events += 1;
            reader.row(db, table, at, cells)
        });
        db.host.count(Counter::EventsRead, events);
        outcome?;
        reader.join_queue(db)?;
    }
    if !log.ops.iter().any(|op| op.stack != NO_STACK) {
        let message =
            format!("no cpu_op with a call stack in {}: record with with_stack=True", file_name(db.path));
        db.host.report(Finding::note(Kind::Empty, db.path, message))?;
    }
    Ok(())
}

/// Which numbers in the column `type` mean what.
#[derive(Debug, Clone, Copy)]
struct ApiTypes {
    op: i64,
    queue: i64,
}

impl ApiTypes {
    /// From ENUM_API_TYPE, or as they have been since that table exists.
    fn read(db: &Access<'_>) -> Result<Self, Fault> {
        let mut types = Self { op: 50001, queue: 50002 };
        if let Found::Table(shape) = find(db.conn, "ENUM_API_TYPE")?
            && shape.has("id")
            && shape.has("name")
        {
            let sql = "SELECT id, CAST(name AS TEXT) FROM main.ENUM_API_TYPE NOT INDEXED WHERE typeof(id) = 'integer'";
            let mut stmt = db.conn.prepare(sql)?;
            let mut rows = stmt.query([])?;
            while let Some(row) = rows.next()? {
                match row.get_ref(1)?.as_str() {
                    Ok("op") => types.op = row.get(0)?,
                    Ok("queue") => types.queue = row.get(0)?,
                    _ => {}
                }
            }
        }
        Ok(types)
    }
}

/// Which side of the task queue a slice is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Enqueue,
    Dequeue,
}

impl Side {
    /// From the name of the slice, such as `Enqueue@aten::mm`.
    fn of(name: &str) -> Option<Self> {
        let starts = |with: &str| name.get(..with.len()).is_some_and(|s| s.eq_ignore_ascii_case(with));
        if starts("Enqueue") {
            Some(Side::Enqueue)
        } else if starts("Dequeue") {
            Some(Side::Dequeue)
        } else {
            None
        }
    }
}

/// What joins an enqueue with its dequeue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Join {
    /// A connection of CONNECTION_IDS.
    Connection(i64),
    /// The id itself, where that table does not know it.
    Id(i64),
}

/// A slice whose connections are not known yet.
#[derive(Debug, Clone, Copy)]
struct Queued {
    side: Side,
    /// The process, which counts its own ids.
    process: Option<i64>,
    id: i64,
    /// Its `correlation` is to be set.
    slice: QueueSlice,
}

struct Reader<'a> {
    detail: Detail,
    types: Option<ApiTypes>,
    chains: Option<Chains>,
    strings: Strings,
    log: &'a mut OpLog,
    queue: Vec<Queued>,
    threads: HashMap<Option<i64>, u32>,
    budget: Budget,
}

impl Reader<'_> {
    fn row(&mut self, db: &Access<'_>, table: &Table<7>, at: At, cells: [Cell; 7]) -> Result<(), Fault> {
        let [.., kind, _, _, _] = &cells;
        // Rows of other types are not looked at, so nothing in them can be wrong.
        let (op, queue) = match self.types {
            Some(types) => (*kind == Cell::Int(types.op), *kind == Cell::Int(types.queue)),
            None => (true, true),
        };
        if !(op || (queue && self.detail == Detail::Owners)) {
            return Ok(());
        }
        if let Err(message) = self.event(db, cells, op, queue)? {
            db.host.report(Finding::problem(Kind::BadEvent, db.path, message).at(table.place(at)))?;
        }
        Ok(())
    }

    /// Takes an op or a slice; the inner error says why it is left out.
    fn event(
        &mut self,
        db: &Access<'_>,
        cells: [Cell; 7],
        op: bool,
        queue: bool,
    ) -> Result<Result<(), String>, Fault> {
        let fields = match Fields::read(&cells) {
            Ok(fields) => fields,
            // An op without a call stack is of no interest here, whatever is wrong with it.
            Err(_) if self.detail == Detail::Stacks && cells.get(4) == Some(&Cell::Null) => {
                return Ok(Ok(()));
            }
            Err(message) => return Ok(Err(message)),
        };
        let stack = match (fields.chain, &self.chains) {
            (Some(chain), Some(chains)) => chains.stack(chain),
            _ => Some(NO_STACK),
        };
        let dangling = stack.is_none().then(|| {
            let chain = fields.chain.unwrap_or_default();
            format!(
                "callchainId is {chain}, expected an id of PYTORCH_CALLCHAINS; the call stack is left out"
            )
        });
        let stack = stack.unwrap_or(NO_STACK);
        if self.detail == Detail::Stacks && stack == NO_STACK {
            return Ok(dangling.map_or(Ok(()), Err));
        }
        let Some(name) = self.strings.number(db, fields.name)? else {
            let id = fields.name.unwrap_or_default();
            return Ok(Err(format!("name is {id}, expected an id of STRING_IDS")));
        };
        let name = self.strings.text(name);
        // A database without types holds both; the names tell them apart.
        let side = Side::of(name).filter(|_| queue);
        let (start_ns, end_ns) = (fields.start_ns, fields.end_ns);
        if op && (side.is_none() || self.types.is_some()) {
            let name = self.log.names.intern(name);
            let thread = self.thread(fields.thread);
            self.log.ops.push(Op { start_ns, end_ns, name, stack, thread });
        } else if let (Some(side), Some(id), Detail::Owners) = (side, fields.connection, self.detail) {
            let thread = self.thread(fields.thread);
            let process = fields.thread.map(|global| global >> 32);
            let slice = QueueSlice { start_ns, end_ns, thread, correlation: 0 };
            self.queue.push(Queued { side, process, id, slice });
        }
        self.cover(db)?;
        Ok(dangling.filter(|_| op).map_or(Ok(()), Err))
    }

    fn thread(&mut self, global: Option<i64>) -> u32 {
        let next = self.threads.len() as u32;
        *self.threads.entry(global).or_insert(next)
    }

    /// Gives the slices their correlations, in the order of the table.
    fn join_queue(&mut self, db: &Access<'_>) -> Result<(), Fault> {
        if self.queue.is_empty() {
            return Ok(());
        }
        let connections = self.connections(db)?;
        let mut correlations: HashMap<(Option<i64>, Join), u32> = HashMap::new();
        let mut polled = 0;
        for Queued { side, process, id, slice } in std::mem::take(&mut self.queue) {
            let alone = [Join::Id(id)];
            for join in connections.get(&id).filter(|c| !c.is_empty()).map_or(alone.as_slice(), Vec::as_slice)
            {
                polled += 1;
                db.poll(polled)?;
                let next = correlations.len() as u32;
                let correlation = *correlations.entry((process, *join)).or_insert(next);
                let slices = match side {
                    Side::Enqueue => &mut self.log.enqueues,
                    Side::Dequeue => &mut self.log.dequeues,
                };
                slices.push(QueueSlice { correlation, ..slice });
                let joins = correlations.capacity() * size_of::<((Option<i64>, Join), u32)>();
                self.budget.cover(self.used() + joins, db.host)?;
            }
        }
        Ok(())
    }

    /// The connections of the ids that slices have. Ids of other events are not kept.
    fn connections(&mut self, db: &Access<'_>) -> Result<HashMap<i64, Vec<Join>>, Fault> {
        const CONNECTIONS: [Column; 2] = [required("id"), required("connectionId")];
        let mut found: HashMap<i64, Vec<Join>> =
            self.queue.iter().map(|queued| (queued.id, Vec::new())).collect();
        let mut used = found.capacity() * size_of::<(i64, Vec<Join>)>();
        if !matches!(find(db.conn, "CONNECTION_IDS")?, Found::Table(_)) {
            return Ok(found);
        }
        let why = "task-queue slices are joined by their own ids";
        let Some(table) = Table::open(db, "CONNECTION_IDS", &CONNECTIONS, Degree::Note, why)? else {
            return Ok(found);
        };
        let base = self.used();
        table.scan(db, &mut |table, at, [id, connection]| {
            let Ok(Some(id)) = id.int("id") else { return Ok(()) };
            let Some(list) = found.get_mut(&id) else { return Ok(()) };
            match connection.int("connectionId") {
                Ok(Some(connection)) => {
                    list.push(Join::Connection(connection));
                    used += 2 * size_of::<Join>();
                    self.budget.cover(base + used, db.host)?;
                }
                Ok(None) => {}
                Err(message) => {
                    db.host.report(Finding::problem(Kind::BadValue, db.path, message).at(table.place(at)))?;
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn used(&self) -> usize {
        self.log.ops.capacity() * size_of::<Op>()
            + (self.log.enqueues.capacity() + self.log.dequeues.capacity()) * size_of::<QueueSlice>()
            + self.queue.capacity() * size_of::<Queued>()
            + self.threads.capacity() * size_of::<(Option<i64>, u32)>()
            + self.log.names.allocated()
    }

    fn cover(&mut self, db: &Access<'_>) -> Result<(), Fault> {
        let used = self.used();
        Ok(self.budget.cover(used, db.host)?)
    }
}

/// The cells of a row, checked.
struct Fields {
    name: Option<i64>,
    start_ns: i64,
    end_ns: i64,
    chain: Option<i64>,
    thread: Option<i64>,
    connection: Option<i64>,
}

impl Fields {
    fn read([name, start, end, _, chain, thread, connection]: &[Cell; 7]) -> Result<Self, String> {
        let id = |cell: &Cell, column| cell.int(column).map(|v| v.filter(|id| *id >= 0 && *id != NONE));
        let time = |cell: &Cell, column: &str| {
            cell.int(column)?.ok_or_else(|| format!("{column} is NULL, expected nanoseconds"))
        };
        let (start_ns, end_ns) = (time(start, "startNs")?, time(end, "endNs")?);
        if end_ns < start_ns {
            return Err(format!("endNs {end_ns} is before startNs {start_ns}"));
        }
        Ok(Self {
            name: name.int("name")?,
            start_ns,
            end_ns,
            chain: id(chain, "callchainId")?,
            thread: thread.int("globalTid")?,
            connection: id(connection, "connectionId")?,
        })
    }
}
