//! The columns of the msMemScope tables.
//!
//! First what the tool writes, then what is derived from it, then where a row comes from. One
//! description serves the Arrow schema, DESCRIBE and the reference page.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::source::{KeyColumn, KeyType};

/// All tables have one process directory per unit, and are sorted by it.
pub const KEY_COLUMNS: [KeyColumn; 2] =
    [KeyColumn { name: "run_dir", kind: KeyType::Text }, KeyColumn { name: "run_pid", kind: KeyType::Int }];

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
    fn data_type(self) -> DataType {
        match self {
            ColumnKind::Text => DataType::Utf8View,
            ColumnKind::Int => DataType::Int64,
            ColumnKind::Float => DataType::Float64,
            ColumnKind::Bool => DataType::Boolean,
        }
    }
}

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

macro_rules! columns {
    ($(#[$doc:meta])* $enum:ident: $($variant:ident $name:literal $kind:ident $nullable:literal $comment:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum $enum {
            $(#[doc = $comment] $variant,)*
        }

        impl $enum {
            /// All columns, in schema order.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// Descriptions of the columns, in schema order.
            pub const SPECS: &'static [ColumnSpec] =
                &[$(ColumnSpec { name: $name, kind: ColumnKind::$kind, nullable: $nullable, comment: $comment },)*];

            /// Position in the schema.
            pub fn index(self) -> usize {
                self as usize
            }

            /// The schema of the table.
            pub fn schema() -> SchemaRef {
                static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| schema($enum::SPECS));
                Arc::clone(&SCHEMA)
            }
        }
    };
}

columns! {
    /// Columns of `memscope_events`; the discriminant is the position in the schema.
    Event:
    Id "id" Int false "number of the event in its process, from 0: the order in which things happened (rows are not in this order)",
    Event "event" Text false "MALLOC, FREE, ACCESS, OP_LAUNCH, KERNEL_LAUNCH, MSTX, SYSTEM, SNAPSHOT, OOM_DETAIL",
    EventType "event_type" Text false "what kind of it, for example HAL, PTA, READ, ATEN_START, Mark",
    Name "name" Text true "operator, kernel, text of the mark, number of the step or name of the snapshot, without quotes around it",
    TsNs "ts_ns" Int false "time in ns; microseconds of msLeaks 8.x are multiplied by 1000",
    Pid "pid" Int true "process id",
    Tid "tid" Int true "thread id",
    Device "device" Text true "number of the card as text, or cpu (once called host); NULL for events without a device",
    DeviceId "device_id" Int true "number of the card",
    Ptr "ptr" Int true "address",
    Attr "attr" Text true "attributes as written in a csv, {key:value,...}",
    PyStack "py_stack" Text true "Python call stack, one frame per line, innermost first",
    CStack "c_stack" Text true "C call stack, one frame per line, innermost first",
    Pool "pool" Text true "HAL, HOST_PINNED, PTA, PTA_WORKSPACE, ATB, MINDSPORE ...; of a FREE that of its MALLOC; of an ACCESS the type of the block",
    AllocationId "allocation_id" Int true "number of the block in its process; NULL in files of msLeaks",
    Size "size" Int true "size in bytes, never negative",
    PoolTotal "pool_total" Int true "bytes that the pool has reserved after this MALLOC or FREE",
    PoolUsed "pool_used" Int true "bytes in use in the pool after this MALLOC or FREE; of HOST_PINNED the resident size of the process in older files",
    ProcessUsed "process_used" Int true "bytes of the card that the process holds; of HOST_PINNED its resident size",
    DeviceUsed "device_used" Int true "bytes of the whole card in use; NULL where the tool could not tell",
    Owner "owner" Text true "what the block is for, for example PTA@fsdp2@activation; on MALLOC only",
    Role "role" Text true "rollout when the owner names vLLM, train when it names FSDP; NULL when it names neither",
    InefficientType "inefficient_type" Text true "what the tool found inefficient about the block, separated by commas",
    Shadow "shadow" Bool false "made up by the tool (at exit, or outside of the recording): no release by the program",
    Pinned "pinned" Bool true "pinned host memory",
    PageType "page_type" Text true "normal, huge or giant",
    AllocType "alloc_type" Text true "alloc or create; create means expandable segments",
    ModuleId "module_id" Int true "number of the driver module, in files of msLeaks",
    Dtype "dtype" Text true "type of the elements of the tensor that was accessed",
    Shape "shape" Text true "its shape",
    Format "format" Text true "its format",
    OpPath "op_path" Text true "path of an ATB operator or kernel",
    WorkspacePtr "workspace_ptr" Text true "address of its workspace",
    WorkspaceSize "workspace_size" Int true "size of its workspace in bytes",
    StreamId "stream_id" Int true "stream of a kernel",
    TaskId "task_id" Int true "task of a kernel",
    Reserved "reserved" Int true "SNAPSHOT: bytes that the pool has reserved",
    MaxReserved "max_reserved" Int true "SNAPSHOT: most that it had reserved, in bytes",
    Allocated "allocated" Int true "SNAPSHOT: bytes that are allocated in the pool",
    MaxAllocated "max_allocated" Int true "SNAPSHOT: most that was allocated, in bytes",
    DeviceTotal "device_total" Int true "SNAPSHOT and START_TRACE: bytes of the card",
    DeviceFree "device_free" Int true "SNAPSHOT and START_TRACE: free bytes of the card",
    DeviceRate "device_rate" Float true "SNAPSHOT: share of the card in use, in percent",
    ReservedRate "reserved_rate" Float true "SNAPSHOT: share of the reserved bytes that is allocated, in percent",
    OomFunc "oom_func" Text true "OOM_TRIGGER: driver function that failed",
    OomRequest "oom_request" Int true "OOM_TRIGGER: bytes that were asked for",
    OomFlag "oom_flag" Int true "OOM_TRIGGER: flags of the call",
    OomRet "oom_ret" Int true "OOM_TRIGGER: what it returned",
    OomPool "oom_pool" Text true "OOM lists: pool of the block",
    OomPtr "oom_ptr" Int true "OOM lists: address of the block",
    OomAllocTs "oom_alloc_ts" Int true "OOM lists: time of its allocation in ns",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name: a filter on it skips whole directories unread",
    File "file" Text false "file of the row, below source_path",
    RowNo "row_no" Int false "number of the record in its file, counted from 1",
    SourcePath "source_path" Text false "process directory or file that the row comes from; (source_path, pid, id) tells events apart",
}

columns! {
    /// Columns of `memscope_blocks`; the discriminant is the position in the schema.
    Block:
    Pid "pid" Int true "process id",
    AllocationId "allocation_id" Int true "number of the block in its process; NULL in files of msLeaks",
    Device "device" Text true "number of the card as text, or cpu",
    DeviceId "device_id" Int true "number of the card",
    Pool "pool" Text true "HAL, HOST_PINNED, PTA, PTA_WORKSPACE, ATB, MINDSPORE ...: HAL and the other pools are two views of the same memory, never add them up",
    Ptr "ptr" Int true "address",
    Size "size" Int true "size in bytes",
    MallocId "malloc_id" Int true "id of the MALLOC; NULL when the block is older than the recording",
    MallocTs "malloc_ts" Int true "its time in ns",
    FreeId "free_id" Int true "id of the FREE by the program; NULL when there is none",
    FreeTs "free_ts" Int true "its time in ns",
    FreedBy "freed_by" Text false "program, tool (a FREE that the tool made up: the program never released the block) or none",
    Owner "owner" Text true "what the block is for, for example PTA@fsdp2@activation",
    Role "role" Text true "rollout when the owner names vLLM, train when it names FSDP; NULL when it names neither",
    OnlineInefficient "online_inefficient" Text true "what the tool found inefficient while it recorded",
    Accesses "accesses" Int false "number of recorded accesses",
    FirstAccessTs "first_access_ts" Int true "time of the first access in ns",
    LastAccessTs "last_access_ts" Int true "time of the last access in ns",
    PyStack "py_stack" Text true "Python call stack of the MALLOC, one frame per line, innermost first",
    PyStackTop "py_stack_top" Text true "its first frame",
    PyStackId "py_stack_id" Int true "stable 64-bit number of its text",
    CStack "c_stack" Text true "C call stack of the MALLOC",
    Tid "tid" Int true "thread that allocated",
    PoolTotal "pool_total" Int true "bytes that the pool has reserved after the MALLOC",
    PoolUsed "pool_used" Int true "bytes in use in the pool after the MALLOC",
    FreePoolTotal "free_pool_total" Int true "bytes that the pool has reserved after the FREE",
    FreePoolUsed "free_pool_used" Int true "bytes in use in the pool after the FREE",
    PageType "page_type" Text true "normal, huge or giant",
    AllocType "alloc_type" Text true "alloc or create; create means expandable segments",
    ToolFreeId "tool_free_id" Int true "id of the FREE that the tool made up",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name: a filter on it skips whole directories unread",
    File "file" Text false "file of the block's first row, below source_path",
    SourcePath "source_path" Text false "process directory or file that the block comes from; (source_path, pid, allocation_id) tells blocks apart",
}

columns! {
    /// Columns of `memscope_block_calls`; the discriminant is the position in the schema.
    BlockCalls:
    Pid "pid" Int true "process id",
    AllocationId "allocation_id" Int false "number of the block in its process",
    MallocCall "malloc_call" Int true "API call that allocated it, counted from 1 per process and framework (PTA or ATB); NULL when the file does not begin the block with its MALLOC",
    UseCall "use_call" Int true "first call that accessed it, other than malloc_call",
    ReleaseBeforeUse "release_before_use" Int true "latest call that released anything, seen from the end of use_call",
    IdleBeforeUse "idle_before_use" Int true "how many calls after the access before it use_call comes; NULL when there is none before",
    LongestIdle "longest_idle" Int true "the most calls from one access to the next",
    LastUseCall "last_use_call" Int true "last call that accessed it",
    AllocBeforeFree "alloc_before_free" Int true "latest call that allocated anything, seen from the end of free_call",
    FreeCall "free_call" Int true "call that released it",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name: a filter on it skips whole directories unread",
    SourcePath "source_path" Text false "process directory or file that the block comes from; (source_path, pid, allocation_id) tells blocks apart",
}

columns! {
    /// Columns of `memscope_steps`; the discriminant is the position in the schema.
    Step:
    Pid "pid" Int true "process id",
    Device "device" Text true "device that the boundary was recorded for; NULL when it counts for all devices of the process",
    Id "id" Int false "id of the event",
    TsNs "ts_ns" Int false "its time in ns",
    Src "src" Text false "mstx (ranges named `step start`) or py (msmemscope.step()): whichever came first in the process",
    Kind "kind" Text false "open: a step begins; check: the tool looks for leaks",
    Step "step" Int false "number of the step that is opened or checked",
    StepEnd "step_end" Bool false "check: whether the step itself ends; false for the end of a range inside of it, where the tool checks too",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name",
    File "file" Text false "file of the event, below source_path",
    SourcePath "source_path" Text false "process directory or file that the row comes from",
}

columns! {
    /// Columns of `memscope_watch`; the discriminant is the position in the schema.
    Watch:
    Info "info" Text false "what the tool wrote about the check: device, thread, operator, call, tensor, output, moment",
    Device "device" Text true "number of the card as text",
    Tid "tid" Int true "thread id",
    Op "op" Text true "operator",
    CallNo "call_no" Int true "which call of that operator, counted from 1",
    Tensor "tensor" Text true "name of the watched tensor",
    OutIndex "out_index" Int true "number of the output; always 0 for tensors watched from Python",
    Moment "moment" Text true "before or after the operator",
    CheckSum "check_sum" Text true "check sum of the tensor's memory, 16 hexadecimal digits",
    Bytes "bytes" Int true "size of the memory image; NULL when only the check sum was written",
    WrittenNs "written_ns" Int true "when a memory image was last written, in ns since the epoch: their order",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name",
    RowNo "row_no" Int false "number of the line; of memory images their number in order of their names",
    SourcePath "source_path" Text false "csv file, or directory of memory images",
}

columns! {
    /// Columns of `memscope_python_trace`; the discriminant is the position in the schema.
    Trace:
    Func "func" Text false "function; `start: ` and `stop: ` mark frames that were open at the start or the end",
    StartNs "start_ns" Int true "time of the call in ns",
    EndNs "end_ns" Int true "time of the return in ns",
    Tid "tid" Int true "thread id",
    Pid "pid" Int true "process id",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name",
    RowNo "row_no" Int false "number of the row in its file or table, counted from 1",
    TraceTable "trace_table" Text true "table of the database; NULL for a csv",
    SourcePath "source_path" Text false "file that the row comes from",
}

columns! {
    /// Columns of `memscope_config`; the discriminant is the position in the schema.
    Config:
    Key "key" Text false "name of the setting; parts of nested settings are joined by dots",
    Value "value" Text true "its value as text",
    Meaning "meaning" Text true "what the number stands for; NULL when it speaks for itself",
    RunDir "run_dir" Text false "name of the process directory",
    RunPid "run_pid" Int true "process id in that name",
    SourcePath "source_path" Text false "file that the row comes from",
}

columns! {
    /// Columns of `memscope_files`; the discriminant is the position in the schema.
    Files:
    Kind "kind" Text false "dump, python_trace, watch, watch_image, compare, config or log",
    Format "format" Text false "csv, db, bin, json or log",
    Device "device" Text true "device in the name of the directory, which need not be that of the rows",
    Bytes "bytes" Int false "size of the file",
    RowsEstimate "rows_estimate" Int true "about how many rows it holds, from the length of the first ones",
    Version "version" Text true "version of the tool, guessed from the beginning and the end of the file",
    StartedAt "started_at" Text true "time stamp in the name of the process directory, YYYYmmddHHMMSS",
    Readable "readable" Bool false "whether it can be opened",
    Remark "remark" Text true "what is odd about it",
    RunDir "run_dir" Text false "name of the process directory; of other files the name of the directory they are in",
    RunPid "run_pid" Int true "process id in that name",
    SourcePath "source_path" Text false "the file",
}

columns! {
    /// Columns of `memscope_compare`; the discriminant is the position in the schema.
    Compare:
    Device "device" Text false "number of the card as text",
    PairNo "pair_no" Int false "number of the row in the alignment of that device, counted from 1",
    Event "event" Text false "OP_LAUNCH or KERNEL_LAUNCH",
    Name "name" Text false "operator or kernel",
    BaseBytes "base_bytes" Int true "the tool's figure for the base run: size of the pool event that follows the launch; NULL when it has no such launch",
    TargetBytes "target_bytes" Int true "the same for the target run",
    DiffBytes "diff_bytes" Int false "target_bytes less base_bytes, a missing launch counts 0",
    BaseAlloc "base_alloc" Int true "bytes that the operator itself allocated in the base run, between its start and its end",
    TargetAlloc "target_alloc" Int true "the same for the target run",
    DiffAlloc "diff_alloc" Int true "target_alloc less base_alloc, a missing launch counts 0; NULL for kernels, which have no start and end",
    BaseFreed "base_freed" Int true "bytes that were freed between start and end of the operator in the base run",
    TargetFreed "target_freed" Int true "the same for the target run",
    BaseId "base_id" Int true "id of the launch in the base run",
    TargetId "target_id" Int true "id of the launch in the target run",
    BasePath "base_path" Text false "what the base run was read from",
    SourcePath "source_path" Text false "what the target run was read from",
}

fn schema(columns: &[ColumnSpec]) -> SchemaRef {
    let field = |c: &ColumnSpec| {
        Field::new(c.name, c.kind.data_type(), c.nullable)
            .with_metadata([("comment".to_owned(), c.comment.to_owned())].into())
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The set of columns that a query asks for, by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted(u64);

impl Wanted {
    /// The columns at these positions.
    pub fn new(projection: &[usize]) -> Self {
        Self(projection.iter().filter(|i| **i < 64).fold(0, |set, i| set | 1 << i))
    }

    /// Whether the column at this position is asked for.
    #[inline]
    pub fn has(self, column: usize) -> bool {
        column < 64 && self.0 & (1 << column) != 0
    }

    /// Whether any of these is asked for.
    pub fn any(self, columns: impl IntoIterator<Item = usize>) -> bool {
        columns.into_iter().any(|c| self.has(c))
    }
}
