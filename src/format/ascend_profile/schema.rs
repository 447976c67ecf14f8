//! The columns of `memory_events` and `memory_records`.
//!
//! First the columns of the reference (RL-Insight's Memory Parser 0.3.0) in its order and with its
//! units, then ours. One description serves the Arrow schema, DESCRIBE and the reference page.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::source::{KeyColumn, KeyType};

/// Both tables have one role and one rank per unit, and are sorted by them.
pub const KEY_COLUMNS: [KeyColumn; 2] =
    [KeyColumn { name: "role", kind: KeyType::Text }, KeyColumn { name: "rank_id", kind: KeyType::Int }];

/// One column: its name, type, whether it can be NULL, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSpec {
    /// Name in SQL.
    pub name: &'static str,
    /// Arrow type.
    pub kind: ColumnKind,
    /// Whether NULL occurs.
    pub nullable: bool,
    /// Meaning and unit, in one line.
    pub comment: &'static str,
}

/// The Arrow types in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// `Utf8View`
    Text,
    /// `Int64`
    Int,
    /// `Float64`
    Float,
    /// `Boolean`
    Bool,
}

impl ColumnKind {
    /// The Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            ColumnKind::Text => DataType::Utf8View,
            ColumnKind::Int => DataType::Int64,
            ColumnKind::Float => DataType::Float64,
            ColumnKind::Bool => DataType::Boolean,
        }
    }
}

macro_rules! columns {
    ($(#[$doc:meta])* $enum:ident, $table:ident: $($variant:ident $name:literal $kind:ident $nullable:literal $comment:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum $enum {
            $(#[doc = $comment] $variant,)*
        }

        impl $enum {
            /// All columns, in schema order.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// Position in the schema.
            pub fn index(self) -> usize {
                self as usize
            }
        }

        /// Descriptions of the columns, in schema order.
        pub const $table: &[ColumnSpec] =
            &[$(ColumnSpec { name: $name, kind: ColumnKind::$kind, nullable: $nullable, comment: $comment },)*];
    };
}

columns! {
    /// Columns of `memory_events`; the discriminant is the position in the schema.
    Event, EVENT_COLUMNS:
    Name "name" Text false "operator that allocated; empty when the profiler found none",
    Role "role" Text false "RL role: `role` of profiler_metadata.json, else the name of the parent directory",
    RankId "rank_id" Int false "rank; -1 for a single-process profile that does not name one",
    CallStack "call_stack" Text false "call stack of the matched op, innermost frame first, frames joined by ;\\r\\n; empty without a match",
    CallStackTop "call_stack_top" Text false "first frame of call_stack",
    SizeKb "size_kb" Float false "size of the allocation in KB (1024 bytes); negative for a release-only row",
    StartTimeMs "start_time_ms" Float true "time of the allocation in ms since the epoch; NULL for a release-only row",
    DurationMs "duration_ms" Float false "time until the release in ms; 0 when not released (see released)",
    TotalAllocatedMb "total_allocated_mb" Float true "allocated in all after this allocation, in MB",
    TotalReservedMb "total_reserved_mb" Float true "reserved in all after this allocation, in MB",
    TotalActiveMb "total_active_mb" Float true "active in all after this allocation, in MB",
    DeviceType "device_type" Text false "device as written, for example NPU:0",
    StartTimeNs "start_time_ns" Int true "exact time of the allocation in ns since the epoch",
    ReleaseTimeNs "release_time_ns" Int true "exact time of the release in ns; NULL when not released",
    ActiveReleaseTimeNs "active_release_time_ns" Int true "exact time in ns at which the block was no longer active",
    Released "released" Bool false "whether the block was released inside the recording",
    ActiveDurationMs "active_duration_ms" Float true "time until the block was no longer active, in ms",
    ReleaseTotalAllocatedMb "release_total_allocated_mb" Float true "allocated in all after the release, in MB",
    ReleaseTotalReservedMb "release_total_reserved_mb" Float true "reserved in all after the release, in MB",
    ReleaseTotalActiveMb "release_total_active_mb" Float true "active in all after the release, in MB",
    StreamPtr "stream_ptr" Int true "address of the stream",
    MatchKind "match_kind" Text false "how far to trust call_stack: inside, queue, after or none",
    MatchLagUs "match_lag_us" Float true "distance from the start of the matched op to the allocation, in us",
    CallStackId "call_stack_id" Int false "stable 64-bit number of the text of call_stack; 0 for the empty text",
    SourcePath "source_path" Text false "profile directory that the row comes from",
    RowNo "row_no" Int false "number of the row in its file, counted from 1",
}

columns! {
    /// Columns of `memory_records`; the discriminant is the position in the schema.
    Record, RECORD_COLUMNS:
    Component "component" Text false "who holds the memory: APP, PTA, GE, PTA+GE, WORKSPACE, ...",
    TimestampMs "timestamp_ms" Float false "time of the record in ms since the epoch",
    TotalAllocatedMb "total_allocated_mb" Float true "allocated in all, in MB",
    TotalReservedMb "total_reserved_mb" Float true "reserved in all, in MB",
    TotalActiveMb "total_active_mb" Float true "active in all, in MB",
    Role "role" Text false "RL role: `role` of profiler_metadata.json, else the name of the parent directory",
    RankId "rank_id" Int false "rank; -1 for a single-process profile that does not name one",
    DeviceType "device_type" Text false "device as written, for example NPU:0",
    TimestampNs "timestamp_ns" Int false "exact time of the record in ns since the epoch",
    StreamPtr "stream_ptr" Int true "address of the stream",
    SourcePath "source_path" Text false "profile directory that the row comes from",
    RowNo "row_no" Int false "number of the row in its file, counted from 1",
}

fn schema(columns: &[ColumnSpec]) -> SchemaRef {
    let field = |c: &ColumnSpec| {
        Field::new(c.name, c.kind.data_type(), c.nullable)
            .with_metadata([("comment".to_owned(), c.comment.to_owned())].into())
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The schema of `memory_events`.
pub fn event_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| schema(EVENT_COLUMNS));
    Arc::clone(&SCHEMA)
}

/// The schema of `memory_records`.
pub fn record_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| schema(RECORD_COLUMNS));
    Arc::clone(&SCHEMA)
}

/// The set of columns that a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted(u64);

impl Wanted {
    /// The columns at these positions.
    pub fn new(projection: &[usize]) -> Self {
        Self(projection.iter().filter(|i| **i < 64).fold(0, |set, i| set | 1 << i))
    }

    /// Whether a column of `memory_events` is asked for.
    pub fn event(self, column: Event) -> bool {
        self.0 & (1 << column.index()) != 0
    }

    /// Whether a column of `memory_records` is asked for.
    pub fn record(self, column: Record) -> bool {
        self.0 & (1 << column.index()) != 0
    }

    /// Whether a column of `memory_events` needs the text of call stacks or their number.
    pub fn stacks(self) -> bool {
        self.event(Event::CallStack) || self.event(Event::CallStackTop) || self.event(Event::CallStackId)
    }

    /// Whether any column of `memory_events` needs the ops of the trace.
    pub fn ops(self) -> bool {
        self.stacks() || self.event(Event::MatchKind) || self.event(Event::MatchLagUs)
    }
}
