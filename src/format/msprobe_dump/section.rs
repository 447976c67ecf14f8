//! Where in an entry a tensor stands, and why the reference may not take it.

/// Where in an entry a tensor stands. The order is that of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    /// `input_args` or `input`.
    Input,
    /// `input_kwargs`.
    Kwargs,
    /// `output`.
    Output,
    /// `parameters` of a forward entry.
    Parameters,
    /// A member of a `parameters_grad` entry.
    Grad,
    /// Any other member.
    Other,
}

impl Section {
    /// All of them, in order.
    pub(super) const ALL: [Section; 6] = [
        Section::Input,
        Section::Kwargs,
        Section::Output,
        Section::Parameters,
        Section::Grad,
        Section::Other,
    ];

    /// Its name in the column `io_kind`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Section::Input => "input",
            Section::Kwargs => "kwargs",
            Section::Output => "output",
            Section::Parameters => "parameters",
            Section::Grad => "grad",
            Section::Other => "other",
        }
    }

    /// What stands between the name of the module and the dot before that of the tensor in the name
    /// of a target.
    pub(super) fn infix(self) -> &'static str {
        match self {
            Section::Input => ".input",
            Section::Kwargs => ".kwargs",
            Section::Output => ".output",
            Section::Parameters => ".parameters",
            Section::Grad | Section::Other => "",
        }
    }
}

/// Why the reference passes over a tensor without a word; the column `reference_skip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// `construct.json` does not list the key of the entry.
    NotInConstruct,
    /// The key is in no module, so it has no micro-step.
    OutsideModules,
    /// The key has no marker of a metric.
    NoMetric,
    /// A keyword argument.
    Kwargs,
    /// It stands in a list or object that is itself an argument or a result.
    Nested,
    /// A member of the entry that is not read for its metric.
    Member,
    /// A type of tensor that is not in the list, such as DTensor.
    Type,
    /// An element type that is not in the list, such as float64 or an integer.
    Dtype,
}

impl Skip {
    /// All of them, in order.
    pub(super) const ALL: [Skip; 8] = [
        Skip::NotInConstruct,
        Skip::OutsideModules,
        Skip::NoMetric,
        Skip::Kwargs,
        Skip::Nested,
        Skip::Member,
        Skip::Type,
        Skip::Dtype,
    ];

    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Skip::NotInConstruct => "not_in_construct",
            Skip::OutsideModules => "outside_modules",
            Skip::NoMetric => "no_metric",
            Skip::Kwargs => "kwargs",
            Skip::Nested => "nested",
            Skip::Member => "member",
            Skip::Type => "type",
            Skip::Dtype => "dtype",
        }
    }
}
