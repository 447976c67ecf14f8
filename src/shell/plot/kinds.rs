//! What pictures there are, and what can be given for each: for running, for the help and for
//! completion.

/// The data that a picture is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Allocations of profiler trees.
    Memory,
    /// Statistics of dumps.
    Trend,
    /// Events of msMemScope.
    Memscope,
}

impl Source {
    /// The table function that reads it.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Source::Memory => "memory_events",
            Source::Trend => "dump_trend",
            Source::Memscope => "memscope_events",
        }
    }

    /// The options that choose a part of it.
    fn filters(self) -> &'static [&'static str] {
        match self {
            Source::Memory => &["role", "rank"],
            Source::Trend => &["role", "rank", "metric"],
            Source::Memscope => &["pid", "device", "pool"],
        }
    }
}

/// One picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Its kind.
    pub(crate) kind: &'static str,
    /// What of the data it shows; for one kind of picture these are told apart by a word.
    pub(crate) what: &'static str,
    /// The data.
    pub(crate) source: Source,
    /// Options besides those that choose a part of the data and those of all pictures.
    pub(crate) options: &'static [&'static str],
    /// The one of them that must be given; giving it is also enough to choose this subject.
    pub(crate) required: Option<&'static str>,
    /// What it shows, in one line.
    pub(crate) purpose: &'static str,
}

impl Subject {
    /// Whether an option can be given for it.
    pub(crate) fn takes(&self, option: &str) -> bool {
        COMMON.contains(&option) || self.source.filters().contains(&option) || self.options.contains(&option)
    }

    /// All options that can be given for it.
    pub(crate) fn all_options(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().chain(self.source.filters()).chain(COMMON).copied()
    }
}

/// Options of all pictures.
const COMMON: &[&str] = &["path", "on_error", "limit"];

/// All pictures. Of one kind the first one is drawn that there is data for, unless a word says which.
pub(crate) const SUBJECTS: &[Subject] = &[
    subject("flame", "at_peak", Source::Memory, &["match"], None, "who holds memory when most is allocated"),
    subject(
        "flame",
        "owners",
        Source::Memscope,
        &[],
        None,
        "which owners hold a pool when most of it is in use",
    ),
    subject(
        "flame",
        "not_released",
        Source::Memory,
        &["match"],
        None,
        "what was not released inside the recording, by verdict",
    ),
    subject("flame", "at", Source::Memory, &["at", "match"], Some("at"), "who holds memory at one moment"),
    subject(
        "flame",
        "window",
        Source::Memory,
        &["window", "match"],
        Some("window"),
        "what was allocated between two moments",
    ),
    subject(
        "flame",
        "allocated",
        Source::Memory,
        &["match"],
        None,
        "everything that was allocated, by call stack",
    ),
    subject(
        "flame",
        "diff",
        Source::Memory,
        &["base", "match"],
        Some("base"),
        "what allocates more, or less, than in another recording",
    ),
    subject(
        "flame",
        "leaks",
        Source::Memscope,
        &["mark"],
        Some("mark"),
        "driver blocks that leak between three marks",
    ),
    subject(
        "timeline",
        "memory",
        Source::Memory,
        &["buckets"],
        None,
        "allocated, active and reserved memory over time, per rank",
    ),
    subject(
        "timeline",
        "pools",
        Source::Memscope,
        &["buckets"],
        None,
        "used and reserved bytes of each pool over time",
    ),
    subject(
        "heatmap",
        "peak",
        Source::Memory,
        &["every", "factor"],
        None,
        "the highest level of each rank and step, outliers marked",
    ),
    subject(
        "heatmap",
        "trend",
        Source::Trend,
        &["target", "stat", "factor"],
        Some("target"),
        "one statistic of one tensor by rank and step",
    ),
    subject(
        "trend",
        "target",
        Source::Trend,
        &["target", "stat", "factor"],
        Some("target"),
        "one statistic of one tensor over steps, with its usual band",
    ),
    subject(
        "lifetimes",
        "memory",
        Source::Memory,
        &["blocks", "match"],
        None,
        "the largest allocations of a rank from start to release",
    ),
    subject(
        "lifetimes",
        "blocks",
        Source::Memscope,
        &["blocks"],
        None,
        "the largest blocks of a pool from allocation to release",
    ),
];

const fn subject(
    kind: &'static str,
    what: &'static str,
    source: Source,
    options: &'static [&'static str],
    required: Option<&'static str>,
    purpose: &'static str,
) -> Subject {
    Subject { kind, what, source, options, required, purpose }
}

/// All options, with what they take.
pub(crate) const OPTIONS: &[(&str, &str)] = &[
    ("role", "ROLE"),
    ("rank", "3 | 0,4 | 0..7"),
    ("pid", "PID"),
    ("device", "DEVICE"),
    ("pool", "POOL"),
    ("metric", "forward | backward | ..."),
    ("at", "MS since the epoch, as start_time_ms, with as many digits as you like"),
    ("window", "MS..MS"),
    ("base", "PATH of the earlier recording"),
    ("mark", "text of the marks"),
    ("buckets", "how many per series"),
    ("every", "step | auto | MS"),
    ("target", "target_name as in dump_trend"),
    ("stat", "norm | max | min | mean"),
    ("factor", "how far from usual is marked"),
    ("blocks", "how many"),
    ("match", "nearest | inside"),
    ("path", "PATH instead of what is open"),
    ("on_error", "strict | skip"),
    ("limit", "size of the file at most, 5m"),
];

/// The names of the kinds, each once.
pub(crate) fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&str> = SUBJECTS.iter().map(|s| s.kind).collect();
    kinds.dedup();
    kinds
}

/// All pictures and options, for people.
pub(crate) fn help() -> String {
    let mut text =
        String::from("Pictures (of one kind, the first that there is data for unless a word says which):\n");
    for Subject { kind, what, source, required, purpose, .. } in SUBJECTS {
        let call = match required {
            Some(option) if option == what => format!("{kind} {option}=..."),
            Some(option) => format!("{kind} {what} {option}=..."),
            None => format!("{kind} {what}"),
        };
        text.push_str(&format!("  {call:<26}{purpose} ({})\n", source.function()));
    }
    text.push_str("\nOptions:\n");
    for (name, takes) in OPTIONS {
        text.push_str(&format!("  {:<26}{takes}\n", format!("{name}=")));
    }
    text.push_str(
        "\nValues with spaces are quoted: target='Module.a b.output.0'. A path that looks like a word or an option is \
         written ./at_peak.",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_described_and_used() {
        for subject in SUBJECTS {
            for option in subject.all_options() {
                assert!(OPTIONS.iter().any(|(name, _)| *name == option), "{option}");
            }
            assert!(subject.required.is_none_or(|option| subject.takes(option)));
        }
        for (option, _) in OPTIONS {
            assert!(SUBJECTS.iter().any(|s| s.takes(option)), "{option} is of no use");
        }
    }

    #[test]
    fn words_and_options_cannot_be_mixed_up() {
        for subject in SUBJECTS {
            assert!(
                !subject.what.contains('=') && !kinds().contains(&subject.what) || subject.what == "trend"
            );
            let same = SUBJECTS.iter().filter(|s| (s.kind, s.what) == (subject.kind, subject.what));
            assert_eq!(same.count(), 1);
        }
    }
}
