//! One entry of a dump: the tensors of one call, and which of them the reference takes.

use super::pattern::{Ahead, Pattern};
use super::section::{Section, Skip};
use super::statistic::{statistic, truth};
use super::target::Marker;
use super::tensor::{Field, Object, Tensor, plain};
use crate::text::json::cursor::{Cursor, Stop, decode};

/// What of a tensor is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// Every tensor, not only those that the reference takes.
    pub(super) all: bool,
    /// The statistics.
    pub(super) statistics: bool,
}

/// The tensors of one entry.
#[derive(Debug)]
pub(super) struct Entry<'a, 'p> {
    tensors: Vec<Tensor<'a>>,
    labels: String,
    pattern: &'p mut Pattern,
    /// Whether the entry says that it is a recomputed forward pass.
    pub(super) recompute: bool,
    /// A member that is not what its name promises, and what was expected.
    pub(super) fault: Option<(&'static str, &'static str)>,
}

/// Deeper than this, lists and objects are not looked into: no collector nests values so deeply, and
/// the way down is recursive.
const MAX_DEPTH: usize = 100;

impl<'a, 'p> Entry<'a, 'p> {
    /// Passes the value of an entry, which is an object; `marker` is that of its key.
    pub(super) fn read(
        c: &mut Cursor<'a>,
        marker: Marker,
        detail: Detail,
        pattern: &'p mut Pattern,
    ) -> Result<Self, Stop> {
        let mut entry = Entry {
            tensors: Vec::with_capacity(8),
            labels: String::with_capacity(64),
            pattern,
            recompute: false,
            fault: None,
        };
        c.object(|c, key| {
            if marker == Marker::ParametersGrad {
                return entry.named_value(c, key, Section::Grad, detail);
            }
            let member = Member::of(key);
            match (marker, member) {
                (Marker::Forward, Member::IsRecompute) => entry.recompute = truth(c)?,
                (Marker::Forward, Member::InputArgs) => {
                    entry.list(c, "input_args", Section::Input, detail)?
                }
                (Marker::Backward, Member::Input) => entry.list(c, "input", Section::Input, detail)?,
                (Marker::Forward | Marker::Backward, Member::Output) => {
                    entry.list(c, "output", Section::Output, detail)?;
                }
                (Marker::Forward, Member::Parameters) => entry.parameters(c, detail)?,
                (Marker::Forward, Member::InputKwargs) if detail.all => {
                    entry.whole(c, "", Section::Kwargs, Skip::Kwargs, detail)?;
                }
                _ if detail.all => {
                    let (section, label) = match member {
                        Member::InputArgs | Member::Input => (Section::Input, None),
                        Member::InputKwargs => (Section::Kwargs, None),
                        Member::Output => (Section::Output, None),
                        Member::Parameters => (Section::Parameters, None),
                        Member::IsRecompute | Member::Unknown => (Section::Other, Some(decode(c, key)?.0)),
                    };
                    entry.whole(c, label.as_deref().unwrap_or(""), section, Skip::Member, detail)?;
                }
                _ => c.skip()?,
            }
            Ok(())
        })?;
        Ok(entry)
    }

    /// The tensors, in the order of their rows. Without [`Detail::all`] those that the reference takes.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (&Tensor<'a>, &str)> {
        let sections = self.tensors.iter().fold(0u8, |set, t| set | 1 << t.section as u8);
        Section::ALL.into_iter().filter(move |s| sections & (1 << *s as u8) != 0).flat_map(move |section| {
            let of_section = self.tensors.iter().filter(move |t| t.section == section && t.found);
            of_section.map(|t| (t, self.label(t.label)))
        })
    }

    #[inline]
    fn label(&self, (start, end): (u32, u32)) -> &str {
        self.labels.get(start as usize..end as usize).unwrap_or_default()
    }

    /// A list of arguments or results: its direct elements are what the reference reads.
    fn list(
        &mut self,
        c: &mut Cursor<'a>,
        name: &'static str,
        section: Section,
        detail: Detail,
    ) -> Result<(), Stop> {
        self.forget(section);
        self.fault = self.fault.filter(|(member, _)| *member != name);
        match c.token()? {
            b'[' => c.array(|c, index| {
                if c.token()? == b'{' {
                    let label = self.push_index(index);
                    return self.direct(c, label, section, detail);
                }
                if detail.all {
                    let label = self.push_index(index);
                    return self.tree(c, label, section, Skip::Nested, detail, 0);
                }
                c.skip()
            }),
            b'{' if detail.all => self.whole(c, "", section, Skip::Nested, detail),
            // The reference walks over the keys or letters, of which none is a tensor.
            b'{' | b'"' => c.skip(),
            _ => {
                self.fault = self.fault.or(Some((name, "a list")));
                c.skip()
            }
        }
    }

    /// The parameters of a module, by name.
    fn parameters(&mut self, c: &mut Cursor<'a>, detail: Detail) -> Result<(), Stop> {
        self.forget(Section::Parameters);
        self.fault = self.fault.filter(|(member, _)| *member != "parameters");
        if c.token()? == b'{' {
            return c.object(|c, key| self.named_value(c, key, Section::Parameters, detail));
        }
        self.fault = self.fault.or(Some(("parameters", "an object")));
        c.skip()
    }

    /// A parameter or gradient: a tensor, or a list whose first element is one.
    fn named_value(
        &mut self,
        c: &mut Cursor<'a>,
        key: &[u8],
        section: Section,
        detail: Detail,
    ) -> Result<(), Stop> {
        let start = self.labels.len() as u32;
        let (name, odd) = decode(c, key)?;
        if odd.lone_surrogate {
            self.fault = self.fault.or(Some((section.name(), "names without half of a surrogate pair")));
        }
        self.labels.push_str(&name);
        let label = (start, self.labels.len() as u32);
        // A repeated name keeps its first place and takes the last value.
        let slot = self.tensors.iter().position(|t| t.section == section && self.label(t.label) == name);
        let before = self.tensors.len();
        match c.token()? {
            b'{' => self.direct(c, label, section, detail)?,
            b'[' => c.array(|c, index| {
                if index == 0 && c.token()? == b'{' {
                    return self.direct(c, label, section, detail);
                }
                if detail.all {
                    let label = self.push_nested(label, index);
                    return self.tree(c, label, section, Skip::Nested, detail, 0);
                }
                c.skip()
            })?,
            _ => c.skip()?,
        }
        let own = self.tensors.iter().skip(before).position(|t| t.label == label).map(|at| before + at);
        match (slot, own) {
            (None, Some(_)) => {}
            (None, None) => self.tensors.insert(before, Tensor::none(section, label)),
            (Some(slot), own) => {
                let new = own.map_or_else(|| Tensor::none(section, label), |own| self.tensors.remove(own));
                if let Some(old) = self.tensors.get_mut(slot) {
                    *old = new;
                }
            }
        }
        Ok(())
    }

    /// An object at a place that the reference looks at.
    fn direct(
        &mut self,
        c: &mut Cursor<'a>,
        label: (u32, u32),
        section: Section,
        detail: Detail,
    ) -> Result<(), Stop> {
        let mark = self.tensors.len();
        let object = self.object(c, label, section, Skip::Nested, detail, 0)?;
        let skip = object.skip();
        if skip.is_none() || (detail.all && object.looks_like_a_tensor) {
            self.tensors.truncate(mark);
            self.tensors.push(object.tensor(section, label, skip));
        }
        Ok(())
    }

    /// A value in which every tensor is wanted, and none is taken by the reference.
    fn whole(
        &mut self,
        c: &mut Cursor<'a>,
        label: &str,
        section: Section,
        skip: Skip,
        detail: Detail,
    ) -> Result<(), Stop> {
        self.forget_label(section, label);
        let start = self.labels.len() as u32;
        self.labels.push_str(label);
        self.tree(c, (start, self.labels.len() as u32), section, skip, detail, 0)
    }

    /// As [`Entry::whole`], one level down.
    fn tree(
        &mut self,
        c: &mut Cursor<'a>,
        label: (u32, u32),
        section: Section,
        skip: Skip,
        detail: Detail,
        depth: usize,
    ) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            self.fault = self.fault.or(Some((section.name(), "values that are nested less deeply")));
            return c.skip();
        }
        match c.token()? {
            b'{' => {
                let mark = self.tensors.len();
                let object = self.object(c, label, section, skip, detail, depth)?;
                if object.looks_like_a_tensor {
                    self.tensors.truncate(mark);
                    self.tensors.push(object.tensor(section, label, Some(skip)));
                }
                Ok(())
            }
            b'[' => c.array(|c, index| {
                if matches!(c.token()?, b'{' | b'[') {
                    let label = self.push_nested(label, index);
                    return self.tree(c, label, section, skip, detail, depth + 1);
                }
                c.skip()
            }),
            _ => c.skip(),
        }
    }

    /// Passes an object that may be a tensor; tensors inside of it are added when all are wanted.
    #[inline]
    fn object(
        &mut self,
        c: &mut Cursor<'a>,
        label: (u32, u32),
        section: Section,
        skip: Skip,
        detail: Detail,
        depth: usize,
    ) -> Result<Object<'a>, Stop> {
        let mut object = Object::default();
        let mut described = (false, false);
        c.expect(b'{', "an object")?;
        let mut place = Pattern::START;
        let mut first = true;
        loop {
            let start = c.at();
            let mut other = None;
            let field = match self.pattern.find(place, |text| c.passes(text)) {
                Some(Ahead::End) => break,
                Some(Ahead::Value(field, next)) => {
                    place = next;
                    field
                }
                None => {
                    let Some(key) = c.next_key(first)? else {
                        self.pattern.learn(place, c.since(start), None);
                        break;
                    };
                    c.token()?;
                    let field = Field::of(key);
                    if field == Field::Other {
                        other = Some(key);
                    } else {
                        place = self.pattern.learn(place, c.since(start), Some(field));
                    }
                    field
                }
            };
            first = false;
            match field {
                Field::Type | Field::Dtype => {
                    let value = if c.token()? == b'"' { Some(c.string()?) } else { None };
                    if value.is_none() {
                        c.skip()?;
                    }
                    if field == Field::Type {
                        object.kind = value;
                        described.0 = value.is_some();
                    } else {
                        object.dtype = value;
                        described.1 = value.is_some();
                    }
                }
                Field::Shape => {
                    let list = c.token()? == b'[';
                    let start = c.at();
                    if !list || !self.pattern.find_shape(|text| c.passes(text)) {
                        c.skip()?;
                        if list {
                            self.pattern.learn_shape(c.since(start));
                        }
                    }
                    object.shape = Some(c.since(start));
                }
                Field::Statistic(which) => {
                    let scalar = !matches!(c.token()?, b'{' | b'[');
                    object.looks_like_a_tensor |= scalar;
                    if !scalar && detail.all {
                        let label = self.push_named(c, label, field.key())?;
                        self.tree(c, label, section, skip, detail, depth + 1)?;
                    } else if detail.statistics {
                        let value = statistic(c)?;
                        if let Some(slot) = object.statistics.get_mut(which) {
                            *slot = value;
                        }
                    } else {
                        c.skip()?;
                    }
                }
                Field::RequiresGrad | Field::Other => {
                    if detail.all && matches!(c.token()?, b'{' | b'[') {
                        let label = self.push_named(c, label, other.unwrap_or(field.key()))?;
                        self.tree(c, label, section, skip, detail, depth + 1)?;
                    } else {
                        c.skip()?;
                    }
                }
            }
        }
        object.looks_like_a_tensor |= described == (true, true);
        Ok(object)
    }

    fn push_index(&mut self, index: usize) -> (u32, u32) {
        let start = self.labels.len() as u32;
        push_number(&mut self.labels, index);
        (start, self.labels.len() as u32)
    }

    fn push_nested(&mut self, outer: (u32, u32), index: usize) -> (u32, u32) {
        let start = self.push_outer(outer);
        push_number(&mut self.labels, index);
        (start, self.labels.len() as u32)
    }

    fn push_named(&mut self, c: &Cursor<'_>, outer: (u32, u32), key: &[u8]) -> Result<(u32, u32), Stop> {
        let name = decode(c, key)?.0;
        let start = self.push_outer(outer);
        self.labels.push_str(&name);
        Ok((start, self.labels.len() as u32))
    }

    /// Begins a label with that of what is around it.
    fn push_outer(&mut self, outer: (u32, u32)) -> u32 {
        let start = self.labels.len();
        if outer.0 < outer.1 {
            self.labels.extend_from_within(outer.0 as usize..outer.1 as usize);
            self.labels.push('.');
        }
        start as u32
    }

    /// A member that is repeated counts with its last value only.
    fn forget(&mut self, section: Section) {
        if !self.tensors.is_empty() {
            self.tensors.retain(|t| t.section != section);
        }
    }

    fn forget_label(&mut self, section: Section, label: &str) {
        if section != Section::Other {
            self.forget(section);
        } else if !self.tensors.is_empty() {
            let labels = &self.labels;
            self.tensors.retain(|t| {
                let text = labels.get(t.label.0 as usize..t.label.1 as usize).unwrap_or_default();
                let inside =
                    text.strip_prefix(label).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
                t.section != section || !inside
            });
        }
    }
}

/// A member of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    InputArgs,
    InputKwargs,
    Input,
    Output,
    Parameters,
    IsRecompute,
    Unknown,
}

impl Member {
    fn of(key: &[u8]) -> Self {
        match key {
            b"input_args" => Member::InputArgs,
            b"input_kwargs" => Member::InputKwargs,
            b"input" => Member::Input,
            b"output" => Member::Output,
            b"parameters" => Member::Parameters,
            b"is_recompute" => Member::IsRecompute,
            _ => plain(key).map_or(Member::Unknown, |text| Member::of(text.as_bytes())),
        }
    }
}

/// Appends a small number, without the machinery of formatting.
fn push_number(out: &mut String, mut number: usize) {
    let mut digits = [0u8; 20];
    let mut length = 0;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + (number % 10) as u8;
        number /= 10;
        length += 1;
        if number == 0 {
            break;
        }
    }
    out.extend(digits.iter().skip(digits.len() - length).map(|d| char::from(*d)));
}
