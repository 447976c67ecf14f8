//! One entry of a dump: the tensors of one call, and which of them the reference takes.

use hashbrown::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::pattern::{Ahead, Pattern};
use super::repeated::Values;
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
    /// Two tensors may have the same name.
    ambiguous: bool,
    /// Whether the entry says that it is a recomputed forward pass.
    pub(super) recompute: bool,
    /// A member that is not what its name promises, and what was expected.
    pub(super) fault: Option<(&'static str, &'static str)>,
}

/// Deeper than this, lists and objects are not looked into: no collector nests values so deeply, and
/// the way down is recursive.
const MAX_DEPTH: usize = 100;

/// All names of an entry take no more bytes than this. Each is that of its surroundings and its own, so
/// a long one above many nested values comes to a multiple of what stands in the file.
const MAX_NAMES: usize = 64 << 20;

/// No name is longer than this, in bytes: it is written anew for every value below it.
const MAX_NAME: u32 = 64 << 10;

impl<'a, 'p> Entry<'a, 'p> {
    /// Passes the value of an entry, which is an object. `marker` is the one that the reference finds in
    /// its key: by it the reference looks for tensors. `own` is what the key means.
    pub(super) fn read(
        c: &mut Cursor<'a>,
        marker: Marker,
        own: Marker,
        detail: Detail,
        pattern: &'p mut Pattern,
    ) -> Result<Self, Stop> {
        let mut entry = Entry {
            tensors: Vec::with_capacity(8),
            labels: String::with_capacity(64),
            pattern,
            ambiguous: false,
            recompute: false,
            fault: None,
        };
        let mut members = Values::default();
        c.object(|c, key| {
            let before = entry.tensors.len();
            if marker == Marker::ParametersGrad {
                entry.named_value(c, key, Section::Grad, detail)?;
                members.settle(key, before, entry.tensors.len());
                return Ok(());
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
                _ if detail.all && own == Marker::ParametersGrad => {
                    // Gradients that the reference does not look for, because a module is named like
                    // another marker.
                    entry.named_value(c, key, Section::Grad, detail)?;
                    entry.tensors.iter_mut().skip(before).for_each(|t| t.skip = Some(Skip::Member));
                }
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
            members.settle(key, before, entry.tensors.len());
            Ok(())
        })?;
        members.finish(&mut entry.tensors);
        if entry.ambiguous {
            entry.tell_apart();
        }
        Ok(entry)
    }

    /// Gives every tensor a name of its own. Those that the reference takes keep theirs; of others with
    /// the same name the second gets `#2` behind it, and so on.
    fn tell_apart(&mut self) {
        let mut taken = HashSet::with_capacity(self.tensors.len());
        // The number that is next behind a name which others have, too.
        let mut next: HashMap<u64, usize> = HashMap::new();
        let mut name = String::new();
        let order = |skipped: bool| Section::ALL.into_iter().map(move |section| (skipped, section));
        for (skipped, section) in order(false).chain(order(true)) {
            for at in 0..self.tensors.len() {
                let Some(label) = self
                    .tensors
                    .get(at)
                    .filter(|t| t.section == section && t.skip.is_some() == skipped)
                    .map(|t| t.label)
                else {
                    continue;
                };
                name.clear();
                name.push_str(section.infix());
                name.push('.');
                name.push_str(self.label(label));
                let (plain, own) = (name.len(), xxh3_64(name.as_bytes()));
                let mut hash = own;
                while !taken.insert(hash) && skipped {
                    let number = next.entry(own).and_modify(|number| *number += 1).or_insert(2);
                    name.truncate(plain);
                    name.push('#');
                    push_number(&mut name, *number);
                    hash = xxh3_64(name.as_bytes());
                }
                if name.len() > plain {
                    let start = self.labels.len() as u32;
                    self.labels.push_str(name.get(section.infix().len() + 1..).unwrap_or_default());
                    let label = (start, self.labels.len() as u32);
                    self.tensors.iter_mut().skip(at).take(1).for_each(|t| t.label = label);
                }
            }
        }
    }

    /// The tensors, in the order of their rows. Without [`Detail::all`] those that the reference takes.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (&Tensor<'a>, &str)> {
        let sections = self.tensors.iter().fold(0u8, |set, t| set | 1 << t.section as u8);
        Section::ALL.into_iter().filter(move |s| sections & (1 << *s as u8) != 0).flat_map(move |section| {
            let of_section = self.tensors.iter().filter(move |t| t.section == section);
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
        self.fault = self.fault.filter(|(member, _)| *member != "parameters");
        if c.token()? == b'{' {
            let mut named = Values::default();
            c.object(|c, key| {
                let before = self.tensors.len();
                self.named_value(c, key, Section::Parameters, detail)?;
                named.settle(key, before, self.tensors.len());
                Ok(())
            })?;
            named.finish(&mut self.tensors);
            return Ok(());
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
        match c.token()? {
            b'{' => self.direct(c, label, section, detail),
            b'[' => c.array(|c, index| {
                if index == 0 && c.token()? == b'{' {
                    return self.direct(c, label, section, detail);
                }
                if detail.all {
                    let label = self.push_nested(label, index);
                    return self.tree(c, label, section, Skip::Nested, detail, 0);
                }
                c.skip()
            }),
            _ => c.skip(),
        }
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
        let start = self.labels.len() as u32;
        self.labels.push_str(label);
        let before = self.tensors.len();
        self.tree(c, (start, self.labels.len() as u32), section, skip, detail, 0)?;
        self.ambiguous |= self.tensors.len() > before;
        Ok(())
    }

    /// As [`Entry::whole`], one level down. The label is the last that was written; it goes away where
    /// no tensor has come of it.
    fn tree(
        &mut self,
        c: &mut Cursor<'a>,
        label: (u32, u32),
        section: Section,
        skip: Skip,
        detail: Detail,
        depth: usize,
    ) -> Result<(), Stop> {
        let before = self.tensors.len();
        self.look_into(c, label, section, skip, detail, depth)?;
        if self.tensors.len() == before {
            self.labels.truncate(label.0 as usize);
        }
        Ok(())
    }

    fn look_into(
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
        if label.1 - label.0 > MAX_NAME {
            self.fault = self.fault.or(Some((section.name(), "names of less than 64 KB")));
            return c.skip();
        }
        if self.labels.len() > MAX_NAMES {
            self.fault = self.fault.or(Some((section.name(), "names of less than 64 MB in all")));
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
        // Which statistics are there and may be numbers, as bits.
        let mut scalars = 0u8;
        let mut values = Values::default();
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
            let before = self.tensors.len();
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
                    scalars = scalars & !(1 << which) | u8::from(scalar) << which;
                    let value = if scalar && detail.statistics {
                        statistic(c)?
                    } else if scalar || !detail.all {
                        c.skip()?;
                        None
                    } else {
                        let label = self.push_named(c, label, field.key())?;
                        self.tree(c, label, section, skip, detail, depth + 1)?;
                        None
                    };
                    if let Some(slot) = object.statistics.get_mut(which) {
                        *slot = value;
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
            if self.tensors.len() != before || !values.is_empty() {
                values.settle(other.unwrap_or(field.key()), before, self.tensors.len());
            }
        }
        values.finish(&mut self.tensors);
        object.looks_like_a_tensor = scalars != 0 || described == (true, true);
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
        self.ambiguous = true;
        let start = self.labels.len();
        if outer.0 < outer.1 {
            self.labels.extend_from_within(outer.0 as usize..outer.1 as usize);
            self.labels.push('.');
        }
        start as u32
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
