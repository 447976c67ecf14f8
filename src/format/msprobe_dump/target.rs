//! From the key of a dump to the name of a target: which metric it belongs to, what is left of the
//! key without the marker of the metric, and its call index.

use std::borrow::Cow;
use std::ops::Range;

/// What a value tells about a tensor's life; the `metric_name` of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// The forward pass.
    Forward,
    /// The backward pass.
    Backward,
    /// A forward pass that was done again for activation checkpointing.
    Recompute,
    /// The gradient of a parameter.
    ParametersGrad,
}

impl Metric {
    /// All of them, in the order of their numbers in a trend database, which start at 1.
    pub const ALL: [Metric; 4] =
        [Metric::Forward, Metric::Backward, Metric::Recompute, Metric::ParametersGrad];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Forward => "forward",
            Metric::Backward => "backward",
            Metric::Recompute => "recompute",
            Metric::ParametersGrad => "parameters_grad",
        }
    }

    /// Its position in [`Metric::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The metric with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// The marker in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// `.forward`: [`Metric::Forward`] or, if the entry says so, [`Metric::Recompute`].
    Forward,
    /// `.backward`
    Backward,
    /// `parameters_grad`
    ParametersGrad,
    /// There is none: the reference has no metric for such a key.
    None,
}

impl Marker {
    /// The metric of an entry with this marker.
    pub(super) fn metric(self, recompute: bool) -> Option<Metric> {
        match self {
            Marker::Forward if recompute => Some(Metric::Recompute),
            Marker::Forward => Some(Metric::Forward),
            Marker::Backward => Some(Metric::Backward),
            Marker::ParametersGrad => Some(Metric::ParametersGrad),
            Marker::None => None,
        }
    }
}

/// Where a text that begins with a dot and holds no other stands in a key for the first time. Keys have
/// few dots, so this is quicker than a search for any text.
#[inline]
fn find_part(key: &str, dotted: &str) -> Option<usize> {
    memchr::memchr_iter(b'.', key.as_bytes())
        .find(|at| key.as_bytes().get(*at..).is_some_and(|rest| rest.starts_with(dotted.as_bytes())))
}

/// A key as it is looked up among the parents of `construct.json`: what belongs to a backward pass or is
/// a gradient hangs below the forward call.
pub(super) fn as_forward(key: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for dot in memchr::memchr_iter(b'.', key.as_bytes()) {
        let rest = key.get(dot..).unwrap_or_default();
        let marker = [BACKWARD, GRADIENT].into_iter().find(|m| rest.starts_with(m));
        if let Some(marker) = marker {
            out.push_str(key.get(copied..dot).unwrap_or_default());
            out.push_str(FORWARD);
            copied = dot + marker.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(key);
    }
    out.push_str(key.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

const GRADIENT: &str = ".parameters_grad";
const FORWARD: &str = ".forward";
const BACKWARD: &str = ".backward";

/// Finds the marker of a key and writes the key without it to `out`.
///
/// The rules are the reference's: the text of a marker is removed wherever it stands, also from the
/// name of a module that begins with it.
pub(super) fn classify(key: &str, out: &mut String) -> Marker {
    out.clear();
    for (dotted, bare, marker) in
        [(".forward.", FORWARD, Marker::Forward), (".backward.", BACKWARD, Marker::Backward)]
    {
        // Where the marker stands for the first time, and whether that is all there is of it.
        let Some(at) = find_part(key, bare) else { continue };
        let after = key.get(at + bare.len()..).unwrap_or_default();
        let again = find_part(after, bare).is_some();
        if !again && (after.is_empty() || after.starts_with('.')) {
            out.push_str(key.get(..at).unwrap_or_default());
            out.push_str(after);
            return marker;
        }
        if again && (key.ends_with(bare) || key.contains(dotted)) {
            out.push_str(&key.replace(dotted, ".").replace(bare, ""));
            return marker;
        }
    }
    if key.ends_with("parameters_grad") {
        // The part need not be all of the last one, but only with its dot it is removed.
        out.push_str(&key.replace(".parameters_grad", ""));
        return Marker::ParametersGrad;
    }
    if let Some((rest, last)) = key.rsplit_once('.')
        && let Some((name, "parameters_grad")) = rest.rsplit_once('.')
    {
        out.push_str(name);
        if is_number(last) {
            out.push('.');
            out.push_str(last);
        }
        return Marker::ParametersGrad;
    }
    out.push_str(key);
    Marker::None
}

/// As [`classify`], but only a whole part of the key at its end, or in front of a last part, is a
/// marker. Where there is none the reference's rules hold.
pub(super) fn classify_whole_parts(key: &str, out: &mut String) -> Marker {
    let mut from = key.len();
    for _ in 0..2 {
        let start = key.get(..from).and_then(|k| k.rfind('.'));
        let Some(start) = start else { break };
        let marker = match key.get(start + 1..from) {
            Some("forward") => Marker::Forward,
            Some("backward") => Marker::Backward,
            Some("parameters_grad") => Marker::ParametersGrad,
            _ => {
                from = start;
                continue;
            }
        };
        let rest = key.get(from..).unwrap_or_default();
        out.clear();
        out.push_str(key.get(..start).unwrap_or_default());
        let index = rest.strip_prefix('.').is_none_or(is_number);
        if marker != Marker::ParametersGrad || index {
            out.push_str(rest);
        }
        return marker;
    }
    classify(key, out)
}

/// Takes the call index off a name: its last part, when that is a number; else it is 0.
///
/// `None` when the index does not fit into 64 bits.
pub(super) fn take_index(name: &mut String) -> Option<i64> {
    let start = name.rfind('.').map_or(0, |dot| dot + 1);
    let last = name.get(start..).unwrap_or_default();
    if !is_number(last) {
        return Some(0);
    }
    let index = last.parse().ok()?;
    name.truncate(start.saturating_sub(1));
    Some(index)
}

/// Where the call index stands in a key: its last part, or else the one before it.
pub(super) fn index_position(key: &str) -> Option<Range<usize>> {
    let last = key.rfind('.').map_or(0, |dot| dot + 1);
    if is_number(key.get(last..)?) {
        return Some(last..key.len());
    }
    let end = last.checked_sub(1)?;
    let start = key.get(..end)?.rfind('.').map_or(0, |dot| dot + 1);
    is_number(key.get(start..end)?).then_some(start..end)
}

/// Whether a part of a name is a number: one or more digits.
#[inline]
pub(super) fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_calls_and_gradients_hang_below_the_forward_call() {
        for key in [
            "Module.a.A.forward.0",
            "Module.a.A.backward.0",
            "Module.backward_x.parameters_grad.1",
            ".backward",
            "a.parameters_gradient.b",
            "a.backward.backward",
            "a..backward",
            "",
            "parameters_grad",
        ] {
            let expected = key.replace(".backward", ".forward").replace(".parameters_grad", ".forward");
            assert_eq!(as_forward(key), expected, "{key}");
        }
    }

    fn both(key: &str) -> (Marker, String, Marker, String) {
        let (mut a, mut b) = (String::new(), String::new());
        let (first, second) = (classify(key, &mut a), classify_whole_parts(key, &mut b));
        (first, a, second, b)
    }

    #[test]
    fn markers_are_found_and_removed() {
        for (key, marker, name) in [
            ("Module.a.A.forward.0", Marker::Forward, "Module.a.A.0"),
            ("Torch.mul.3.forward", Marker::Forward, "Torch.mul.3"),
            ("Module.a.A.backward.12", Marker::Backward, "Module.a.A.12"),
            ("Module.a.A.parameters_grad", Marker::ParametersGrad, "Module.a.A"),
            ("Module.a.A.parameters_grad.1", Marker::ParametersGrad, "Module.a.A.1"),
            ("Module.a.A.parameters_grad.w", Marker::ParametersGrad, "Module.a.A"),
            ("Module.a.A", Marker::None, "Module.a.A"),
        ] {
            assert_eq!(both(key), (marker, name.into(), marker, name.into()), "{key}");
        }
        assert_eq!(classify("xparameters_grad", &mut String::new()), Marker::ParametersGrad);
        assert_eq!(classify("parameters_grad.0", &mut String::new()), Marker::None);
    }

    #[test]
    fn the_reference_cuts_markers_out_of_module_names() {
        let (_, cut, _, whole) = both("Module.net.forward_img.Linear.forward.0");
        assert_eq!(
            (cut.as_str(), whole.as_str()),
            ("Module.net_img.Linear.0", "Module.net.forward_img.Linear.0")
        );
        let (first, _, second, whole) = both("Module.forward.x.A.backward.0");
        assert_eq!(
            (first, second, whole.as_str()),
            (Marker::Forward, Marker::Backward, "Module.forward.x.A.0")
        );
    }

    #[test]
    fn indices_are_taken_off() {
        for (name, rest, index) in
            [("a.b.3", "a.b", Some(3)), ("a.b", "a.b", Some(0)), ("a.007", "a", Some(7)), ("5", "", Some(5))]
        {
            let mut text = name.to_owned();
            assert_eq!((take_index(&mut text), text.as_str()), (index, rest), "{name}");
        }
        assert_eq!(take_index(&mut "a.99999999999999999999".to_owned()), None);
        assert_eq!(index_position("a.b.12"), Some(4..6));
        assert_eq!(index_position("a.12.forward"), Some(2..4));
        assert_eq!(index_position("a.1.2.x"), Some(4..5));
        assert_eq!(index_position("a.b"), None);
    }
}
