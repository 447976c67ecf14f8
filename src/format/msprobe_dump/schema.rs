//! The columns of `dump_trend`.
//!
//! First what a trend database of the reference holds, then where a row comes from and what else the
//! file says about the tensor. One description serves the Arrow schema, DESCRIBE and the reference
//! page.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::source::{KeyColumn, KeyType};

/// Units of a table with micro-steps: the global step is not the same in all rows of a unit.
pub const MICRO_STEP_KEYS: [KeyColumn; 3] = [
    KeyColumn { name: "role", kind: KeyType::Text },
    KeyColumn { name: "source_step", kind: KeyType::Int },
    KeyColumn { name: "rank", kind: KeyType::Int },
];

/// Units of a table without micro-steps: `step` and `source_step` are the same number.
pub const WHOLE_STEP_KEYS: [KeyColumn; 4] = [
    KeyColumn { name: "role", kind: KeyType::Text },
    KeyColumn { name: "source_step", kind: KeyType::Int },
    KeyColumn { name: "step", kind: KeyType::Int },
    KeyColumn { name: "rank", kind: KeyType::Int },
];

macro_rules! columns {
    ($($variant:ident $name:literal $kind:ident $nullable:literal $comment:literal,)*) => {
        /// Columns of `dump_trend`; the discriminant is the position in the schema.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Trend {
            $(#[doc = $comment] $variant,)*
        }

        impl Trend {
            /// All columns, in schema order.
            pub const ALL: &'static [Trend] = &[$(Trend::$variant,)*];

            /// Position in the schema.
            pub fn index(self) -> usize {
                self as usize
            }

            /// Name in the schema.
            pub fn name(self) -> &'static str {
                match self {
                    $(Trend::$variant => $name,)*
                }
            }
        }

        /// Name, type, whether NULL occurs, and meaning of each column.
        const COLUMNS: &[(&str, DataType, bool, &str)] = &[$(($name, DataType::$kind, $nullable, $comment),)*];
    };
}

columns! {
    Rank "rank" Int64 false "rank: number of the rank directory; proc directories are numbered behind the ranks of their step",
    Step "step" Int64 false "global step: micro-steps counted through all steps; with micro_step => false the number of the step directory",
    MetricName "metric_name" Utf8View true "forward, backward, recompute or parameters_grad; NULL when the key names none",
    TargetName "target_name" Utf8View false "module or API and the tensor of it, for example Module.layer.Linear.output.0",
    VppStage "vpp_stage" Int64 false "always 0, as in msprobe data2db",
    TargetMicroStep "target_micro_step" Int64 false "call index of the target inside its micro-step",
    Norm "norm" Float64 true "L2 norm as written: NaN and infinities are themselves, NULL when there is none",
    Max "max" Float64 true "largest element, as written",
    Min "min" Float64 true "smallest element, as written",
    Mean "mean" Float64 true "mean, as written",
    Role "role" Utf8View true "stage or run that the dump belongs to; NULL for a single plain dump",
    SourceStep "source_step" Int64 false "number of the step directory",
    LocalMicroStep "local_micro_step" Int64 true "micro-step inside the step, counted from 0; NULL when the key is in no module",
    EntryNo "entry_no" Int64 false "number of the entry in the file, counted from 1: the order of execution",
    TensorNo "tensor_no" Int64 false "number of the row in its entry, counted from 1",
    ModuleKey "module_key" Utf8View false "key of the entry as it stands in the file",
    IoKind "io_kind" Utf8View false "input, output, parameters, grad, kwargs or other",
    TensorType "tensor_type" Utf8View true "type of the tensor as written, for example torch.Tensor",
    Dtype "dtype" Utf8View true "type of its elements as written, for example torch.bfloat16",
    Shape "shape" Utf8View true "its shape, for example [2, 4096]",
    ReferenceSkip "reference_skip" Utf8View true "why msprobe data2db leaves the row out; NULL when it does not",
    SourcePath "source_path" Utf8View false "dump file that the row comes from",
}

/// The schema of `dump_trend`.
pub fn trend_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let field = |(name, kind, nullable, comment): &(&str, DataType, bool, &str)| {
            Field::new(*name, kind.clone(), *nullable)
                .with_metadata([("comment".to_owned(), (*comment).to_owned())].into())
        };
        Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()))
    });
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

    /// Whether this column is asked for.
    #[inline]
    pub fn has(self, column: Trend) -> bool {
        self.0 & (1 << column.index()) != 0
    }

    /// Whether any statistic is asked for.
    pub fn statistics(self) -> bool {
        [Trend::Norm, Trend::Max, Trend::Min, Trend::Mean].into_iter().any(|c| self.has(c))
    }
}
