//! The attribute text of a row: `{key:value,key:value}`.
//!
//! Values are raw text that may hold commas, brackets and spaces (`shape:torch.Size([32, 10])`), so a
//! value ends where a comma is followed by something that looks like a key, `[A-Za-z_ ]+:`.

use memchr::memchr;

macro_rules! keys {
    ($($variant:ident $name:literal $($alias:literal)?,)*) => {
        /// A key that some column is made from.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Key {
            $($variant,)*
        }

        impl Key {
            /// How many there are.
            pub(super) const COUNT: usize = [$(Key::$variant,)*].len();

            #[inline]
            fn of(name: &[u8]) -> Option<Self> {
                Some(match name {
                    $($name $(| $alias)? => Key::$variant,)*
                    _ => return None,
                })
            }
        }
    };
}

// The second name is that of the documents, or of an older version.
keys! {
    AllocationId b"allocation_id",
    Size b"size",
    Total b"total" b"total_mem",
    Used b"used",
    ProcessUsed b"process_used",
    DeviceUsed b"device_used",
    Owner b"owner",
    Inefficient b"inefficient_type" b"inefficient",
    Shadow b"shadow",
    Pinned b"pinned",
    PageType b"page_type",
    AllocType b"alloc_type",
    Module b"MID",
    Type b"type",
    Dtype b"dtype",
    Shape b"shape",
    Format b"format",
    Path b"path",
    WorkspacePtr b"workspace_ptr" b"workspace ptr",
    WorkspaceSize b"workspace_size" b"workspace size",
    Stream b"streamId",
    Task b"taskId",
    Reserved b"reserved",
    MaxReserved b"max_reserved" b"peak_reserved",
    Allocated b"allocated",
    MaxAllocated b"max_allocated" b"peak_allocated",
    Free b"free" b"free_mem",
    DeviceRate b"device_rate" b"device_utilization",
    ReservedRate b"reserved_rate" b"pt_utilization",
    Func b"func",
    Request b"req_size",
    Flag b"flag",
    Return b"ret",
    Pool b"pool",
    Ptr b"ptr",
    Timestamp b"timestamp",
}

/// A set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Keys(u64);

impl Keys {
    /// The set of these.
    pub(super) const fn of(keys: &[Key]) -> Self {
        let (mut set, mut rest) = (0, keys);
        while let [key, tail @ ..] = rest {
            set |= 1 << *key as u8;
            rest = tail;
        }
        Self(set)
    }

    /// All of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is none.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The values of one row, found by key. Of a key that occurs twice the first value counts.
#[derive(Debug, Clone)]
pub(super) struct Attributes<'a> {
    found: u64,
    values: [&'a [u8]; Key::COUNT],
}

impl<'a> Attributes<'a> {
    /// Finds the wanted keys in an attribute text, which may lack its braces.
    #[inline]
    pub(super) fn parse(text: &'a [u8], wanted: Keys) -> Self {
        let mut new = Self { found: 0, values: [b""; Key::COUNT] };
        if wanted.is_empty() {
            return new;
        }
        let text = text.trim_ascii();
        let inner = text.strip_prefix(b"{").and_then(|t| t.strip_suffix(b"}")).unwrap_or(text);
        let Some((mut name, mut rest)) = key_at(inner) else { return new };
        loop {
            let (value, next) = value_of(rest);
            if let Some(key) = Key::of(name) {
                let bit = 1 << key as u8;
                if wanted.0 & bit != 0 && new.found & bit == 0 {
                    new.found |= bit;
                    if let Some(place) = new.values.get_mut(key as usize) {
                        *place = value.trim_ascii();
                    }
                    if new.found == wanted.0 {
                        return new;
                    }
                }
            }
            match next {
                Some(next) => (name, rest) = next,
                None => return new,
            }
        }
    }

    /// The value of a key; `None` when the row does not have it.
    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&'a [u8]> {
        if self.found & (1 << key as u8) == 0 { None } else { self.values.get(key as usize).copied() }
    }

    /// The value of a key, unless it is empty.
    #[inline]
    pub(super) fn text(&self, key: Key) -> Option<&'a [u8]> {
        self.get(key).filter(|v| !v.is_empty())
    }

    /// Whether the value of a key is `true`.
    #[inline]
    pub(super) fn is_true(&self, key: Key) -> bool {
        self.get(key) == Some(b"true")
    }
}

/// A key with its colon at the start of the text: its name, and what follows.
#[inline]
fn key_at(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|b| !(b.is_ascii_alphabetic() || matches!(b, b'_' | b' ')))?;
    let (name, rest) = text.split_at_checked(end)?;
    let rest = rest.strip_prefix(b":")?;
    if name.is_empty() { None } else { Some((name.trim_ascii(), rest)) }
}

type NextKey<'a> = Option<(&'a [u8], &'a [u8])>;

/// A value at the start of the text, and the key that follows it with what follows that.
#[inline]
fn value_of(text: &[u8]) -> (&[u8], NextKey<'_>) {
    let mut from = 0;
    while let Some(at) = memchr(b',', text.get(from..).unwrap_or_default()) {
        let comma = from + at;
        if let Some(next) = key_at(text.get(comma + 1..).unwrap_or_default()) {
            return (text.get(..comma).unwrap_or_default(), Some(next));
        }
        from = comma + 1;
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, key: Key) -> Option<&str> {
        let all = Keys(u64::MAX >> (64 - Key::COUNT));
        Attributes::parse(text.as_bytes(), all).get(key).map(|v| std::str::from_utf8(v).unwrap())
    }

    #[test]
    fn values_may_hold_commas_and_brackets() {
        let text = "{allocation_id:13,addr:0x1,size:512,type:ATB,format:ND,shape:[32,10,]}";
        assert_eq!(value(text, Key::Shape), Some("[32,10,]"));
        assert_eq!(value(text, Key::AllocationId), Some("13"));
        let text = "{type:PTA,dtype:torch.float32,shape:torch.Size([32, 10])}";
        assert_eq!(value(text, Key::Shape), Some("torch.Size([32, 10])"));
        let text = "{owner:PTA@a, b@c,inefficient_type:early_allocation,late_deallocation}";
        assert_eq!(value(text, Key::Owner), Some("PTA@a, b@c"));
        assert_eq!(value(text, Key::Inefficient), Some("early_allocation,late_deallocation"));
    }

    #[test]
    fn both_spellings_are_known_and_the_first_value_counts() {
        assert_eq!(value("{workspace ptr:0x5,workspace size:7}", Key::WorkspaceSize), Some("7"));
        assert_eq!(value("{peak_reserved: 5 ,max_reserved:6}", Key::MaxReserved), Some("5"));
        assert_eq!(value("{owner:}", Key::Owner), Some(""));
        assert_eq!(value("{}", Key::Owner), None);
        assert_eq!(value("", Key::Owner), None);
        assert_eq!(value("size:3", Key::Size), Some("3"));
    }
}
