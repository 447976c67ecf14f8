//! The tags of targets: pieces of their names by which the Trend Analyzer filters.

use crate::text::interner::Interner;

/// What a tag is. The order is that of the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Category {
    /// `Module`, `Cell` or `parameters`.
    Default,
    /// An API that is in no module.
    Function,
    /// What the tensor is to its module: the last two parts of the name.
    Index,
    /// A numbered part, such as `layers.3`.
    Layer,
    /// Parts between numbers.
    Module,
}

impl Category {
    const ALL: [Category; 5] =
        [Category::Default, Category::Function, Category::Index, Category::Layer, Category::Module];

    /// Its name in the database.
    pub(super) fn name(self) -> &'static str {
        match self {
            Category::Default => "default",
            Category::Function => "function",
            Category::Index => "index",
            Category::Layer => "layer",
            Category::Module => "module",
        }
    }
}

/// Tags of many targets.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// By category, so that the same text can be a tag of several.
    names: [Interner; Category::ALL.len()],
    targets: [Vec<Vec<i64>>; Category::ALL.len()],
}

impl Tags {
    /// Adds the tags of a target.
    pub(super) fn add(&mut self, target: i64, name: &str) {
        tags_of(name, |category, tag| self.add_tag(target, category, tag));
    }

    fn add_tag(&mut self, target: i64, category: Category, tag: &str) {
        let at = category as usize;
        let (Some(names), Some(targets)) = (self.names.get_mut(at), self.targets.get_mut(at)) else { return };
        let number = names.intern(tag) as usize;
        if number == targets.len() {
            targets.push(Vec::new());
        }
        // A target that has a tag twice has it just now.
        if let Some(list) = targets.get_mut(number)
            && list.last() != Some(&target)
        {
            list.push(target);
        }
    }

    /// All tags, sorted by name and category, with their targets in order.
    pub(super) fn sorted(&mut self) -> Vec<(&str, Category, &[i64])> {
        // Most are sorted: targets come in the order in which they got their numbers.
        self.targets.iter_mut().flatten().for_each(|list| list.sort());
        let mut all = Vec::new();
        for ((category, names), targets) in Category::ALL.into_iter().zip(&self.names).zip(&self.targets) {
            all.extend(names.iter().zip(targets).map(|(name, list)| (name, category, list.as_slice())));
        }
        all.sort_unstable_by_key(|tag| (tag.0, tag.1));
        all
    }
}

/// Calls `tag` with each tag of a target of this name, some of them perhaps twice.
fn tags_of(name: &str, mut tag: impl FnMut(Category, &str)) {
    // The last two parts say what the tensor is; `split` is the dot in front of them.
    let Some(split) = name.rfind('.').and_then(|last| name.get(..last)?.rfind('.')) else { return };
    let (front, last_two) =
        (name.get(..split).unwrap_or_default(), name.get(split + 1..).unwrap_or_default());
    let is_mark = |part: &str| matches!(part, "Module" | "Cell");
    let mut in_module = false;
    let mut parameters = last_two.split('.').any(|part| part == "parameters");
    for part in front.split('.') {
        in_module |= is_mark(part);
        parameters |= part == "parameters";
    }
    // In nearly all names the only mark is the first part, and then the body is a piece of the name.
    let rest = front.split_once('.').filter(|(first, rest)| is_mark(first) && !rest.split('.').any(is_mark));
    let joined;
    let body = match rest {
        Some((_, rest)) => rest,
        None if !in_module => front,
        None => {
            let parts: Vec<&str> = front.split('.').filter(|part| !is_mark(part)).collect();
            if parts.is_empty() {
                return;
            }
            joined = parts.join(".");
            joined.as_str()
        }
    };
    tag(Category::Index, last_two);
    if parameters {
        tag(Category::Default, "parameters");
    }
    if !in_module {
        tag(Category::Function, body);
        return;
    }
    front.split('.').filter(|part| is_mark(part)).for_each(|mark| tag(Category::Default, mark));
    layers_of(body, tag);
}

/// The tags of the name of a module: numbered parts, and what lies between them.
fn layers_of(body: &str, mut tag: impl FnMut(Category, &str)) {
    // Where the stretch begins that no number has ended yet, and where the part before begins.
    let (mut from, mut before, mut at) = (0, None::<usize>, 0);
    for part in body.split('.') {
        let end = at + part.len();
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            if let Some(before) = before {
                tag(Category::Layer, body.get(before..end).unwrap_or_default());
                let stretch = body.get(from..before.saturating_sub(1).max(from)).unwrap_or_default();
                if !stretch.is_empty() {
                    tag(Category::Module, stretch);
                }
            }
            (from, before) = (end + 1, None);
        } else {
            before = Some(at);
        }
        at = end + 1;
    }
    let rest = body.get(from..).unwrap_or_default();
    if !rest.is_empty() {
        tag(Category::Module, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(name: &str) -> Vec<(String, &'static str)> {
        let mut tags = Tags::default();
        tags.add(1, name);
        tags.sorted().into_iter().map(|(name, category, _)| (name.to_owned(), category.name())).collect()
    }

    fn of(tags: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        tags.iter().map(|(name, category)| ((*name).to_owned(), *category)).collect()
    }

    #[test]
    fn names_fall_apart_into_tags() {
        assert_eq!(tags("a.b"), of(&[]));
        assert_eq!(tags("Module.input.0"), of(&[]));
        assert_eq!(tags("Torch.mul.input.0"), of(&[("Torch.mul", "function"), ("input.0", "index")]));
        assert_eq!(
            tags("Module.decoder.layers.3.mlp.Linear.parameters.weight"),
            of(&[
                ("Module", "default"),
                ("decoder", "module"),
                ("layers.3", "layer"),
                ("mlp.Linear", "module"),
                ("parameters", "default"),
                ("parameters.weight", "index"),
            ])
        );
        // A number behind a number is part of nothing; so is one at the beginning.
        assert_eq!(
            tags("Module.0.layers.1.2.x.input.0"),
            of(&[("Module", "default"), ("input.0", "index"), ("layers.1", "layer"), ("x", "module")])
        );
    }
}
