//! From records to blocks, within one piece of a file.

use hashbrown::HashMap;

use crate::source::{Condition, ReadError};
use crate::text::encoding::replace_invalid;
use crate::text::interner::Interner;

use super::attributes::{Attributes, Key, Keys};
use super::block::{BlockRow, Moment, NONE};
use super::columns::NO_TEXT;
use super::database::Needs;
use super::event_columns::{WORKSPACE, device_id, is_workspace, owner, stack};
use super::faults::Varieties;
use super::number;
use super::record::Record;
use super::rows::Collect;
use super::schema::{Block, Wanted};

/// Gathers the rows of each block.
#[derive(Debug)]
pub(super) struct BlockCollect {
    malloc_keys: Keys,
    free_keys: Keys,
    access_keys: Keys,
    py_stack: bool,
    c_stack: bool,
    /// Whether the blocks of [`POOLS`] are left out.
    no_pools: bool,
}

/// The pools above the driver, which most rows are of. Whatever a row of a block is printed as, it is one of
/// these for all of them or for none.
const POOLS: [&[u8]; 4] = [b"PTA", WORKSPACE.as_bytes(), b"ATB", b"MINDSPORE"];

impl BlockCollect {
    /// For these columns of `memscope_blocks`, of blocks for which these conditions hold.
    pub(super) fn new(wanted: Wanted, conditions: &[Condition]) -> Self {
        let if_wanted = |columns: &[Block], key: Key| {
            if wanted.any(columns.iter().map(|c| c.index())) { Keys::of(&[key]) } else { Keys::default() }
        };
        let base = Keys::of(&[Key::AllocationId]);
        let size = if_wanted(&[Block::Size], Key::Size);
        let malloc_keys = [
            size,
            if_wanted(&[Block::PoolTotal], Key::Total),
            if_wanted(&[Block::PoolUsed], Key::Used),
            if_wanted(&[Block::Owner, Block::Role, Block::Pool], Key::Owner),
            if_wanted(&[Block::OnlineInefficient], Key::Inefficient),
            if_wanted(&[Block::PageType], Key::PageType),
            if_wanted(&[Block::AllocType], Key::AllocType),
        ];
        let free_keys = [
            Keys::of(&[Key::Shadow]),
            size,
            if_wanted(&[Block::FreePoolTotal], Key::Total),
            if_wanted(&[Block::FreePoolUsed], Key::Used),
        ];
        let access_keys = [size, if_wanted(&[Block::Pool], Key::Type)];
        let wants = |pool: &[u8]| {
            let mut of_pool = conditions.iter().filter(|c| c.column == Block::Pool.index());
            of_pool.all(|c| c.holds_for_text(Some(pool)))
        };
        Self {
            // Without numbers of blocks they are matched by pool, which takes the owner.
            malloc_keys: malloc_keys.into_iter().fold(base, Keys::and),
            free_keys: free_keys.into_iter().fold(base, Keys::and),
            access_keys: access_keys.into_iter().fold(base, Keys::and),
            py_stack: wanted.any([Block::PyStack, Block::PyStackTop, Block::PyStackId].map(Block::index)),
            c_stack: wanted.has(Block::CStack.index()),
            no_pools: POOLS.iter().all(|pool| !wants(pool)),
        }
    }

    /// Whether a record may tell something about a block that is wanted.
    #[inline]
    fn concerns(&self, record: &Record<'_>) -> bool {
        if !self.no_pools {
            return true;
        }
        if record.event != b"ACCESS" {
            return !POOLS.contains(&record.event_type);
        }
        let attributes = Attributes::parse(record.attributes, const { Keys::of(&[Key::Type]) });
        attributes.text(Key::Type).is_none_or(|pool| !POOLS.contains(&pool))
    }
}

/// The blocks of one piece.
#[derive(Debug, Default)]
pub(super) struct BlockPart {
    /// In order of first appearance.
    pub(super) blocks: Vec<BlockRow>,
    /// Single events of blocks without a number, as msLeaks wrote them.
    pub(super) loose: Vec<BlockRow>,
    /// All texts of both.
    pub(super) texts: Interner,
    places: HashMap<(i64, i64), u32>,
    last: (i64, i64, u32),
    recent: [u32; 8],
    replaced: u64,
    not_numbers: u64,
}

/// Which text it is, to compare with the previous one of its kind.
#[derive(Clone, Copy)]
enum Text {
    Device,
    Pool,
    Owner,
    Inefficient,
    PageType,
    AllocType,
    PyStack,
    CStack,
}

impl BlockPart {
    #[inline]
    fn text(&mut self, kind: Text, text: Option<&[u8]>) -> u32 {
        let Some(text) = text else { return NO_TEXT };
        let recent = self.recent.get(kind as usize).copied().unwrap_or(NO_TEXT);
        // Neighbours are often equal.
        if self.texts.get(recent).is_some_and(|t| t.as_bytes() == text) {
            return recent;
        }
        let number = match std::str::from_utf8(text) {
            Ok(text) => self.texts.intern(text),
            Err(_) => {
                self.replaced += 1;
                self.texts.intern(&replace_invalid(text))
            }
        };
        if let Some(place) = self.recent.get_mut(kind as usize) {
            *place = number;
        }
        number
    }

    #[inline]
    fn number(&mut self, text: Option<&[u8]>) -> i64 {
        let Some(text) = text else { return NONE };
        let value = number::integer(text);
        self.not_numbers += u64::from(value.is_none() && !number::is_absent(text));
        value.unwrap_or(NONE)
    }

    /// The place of a block; rows of one block stand together.
    #[inline]
    fn place(&mut self, pid: i64, allocation: i64) -> usize {
        let (last_pid, last_allocation, place) = self.last;
        if (last_pid, last_allocation) == (pid, allocation) && (place as usize) < self.blocks.len() {
            return place as usize;
        }
        let next = self.blocks.len() as u32;
        let place = *self.places.entry((pid, allocation)).or_insert(next);
        if place == next {
            self.blocks.push(BlockRow::new(pid, allocation));
        }
        self.last = (pid, allocation, place);
        place as usize
    }
}

impl Collect for BlockCollect {
    type Part = BlockPart;
    type Output = BlockPart;

    fn needs(&self) -> Needs {
        Needs { attributes: true, stacks: self.py_stack || self.c_stack }
    }

    fn begin(&self) -> BlockPart {
        BlockPart::default()
    }

    #[inline]
    fn record(&self, part: &mut BlockPart, record: &Record<'_>, _: u64) {
        let keys = match record.event {
            b"MALLOC" => self.malloc_keys,
            b"FREE" => self.free_keys,
            b"ACCESS" => self.access_keys,
            _ => return,
        };
        if !self.concerns(record) {
            return;
        }
        let attributes = Attributes::parse(record.attributes, keys);
        let mut row = self.row(part, record, &attributes);
        let allocation = part.number(attributes.get(Key::AllocationId));
        if allocation == NONE {
            row.order = record.id.cast_unsigned();
            part.loose.push(row);
            return;
        }
        row.allocation = allocation;
        let place = part.place(row.pid, allocation);
        if let Some(block) = part.blocks.get_mut(place) {
            block.merge(&row);
        }
    }

    fn finish(&self, mut part: BlockPart, varieties: &mut Varieties) -> Result<BlockPart, ReadError> {
        varieties.replaced += part.replaced;
        varieties.not_numbers += part.not_numbers;
        part.places = HashMap::new();
        Ok(part)
    }
}

impl BlockCollect {
    /// What one record tells about its block.
    #[inline]
    fn row(&self, part: &mut BlockPart, record: &Record<'_>, attributes: &Attributes<'_>) -> BlockRow {
        let mut row = BlockRow::new(record.pid.unwrap_or(NONE), NONE);
        row.device = part.text(Text::Device, record.device_name());
        row.device_id = device_id(record).unwrap_or(NONE);
        row.ptr = number::integer(record.pointer).unwrap_or(NONE);
        let size = part.number(attributes.get(Key::Size));
        row.size = if size == NONE { NONE } else { size.saturating_abs() };
        let (id, ts) = (record.id, record.time_ns());
        match record.event {
            b"ACCESS" => {
                row.pool = part.text(Text::Pool, attributes.text(Key::Type));
                row.access(ts);
            }
            b"FREE" => {
                row.pool = part.text(Text::Pool, Some(record.event_type));
                if attributes.is_true(Key::Shadow) {
                    row.tool_free = id;
                } else {
                    let total = part.number(attributes.get(Key::Total));
                    let used = part.number(attributes.get(Key::Used));
                    row.free = Moment { id, ts, total, used };
                }
            }
            _ => {
                let workspace = is_workspace(record, attributes);
                let pool = if workspace { WORKSPACE.as_bytes() } else { record.event_type };
                row.pool = part.text(Text::Pool, Some(pool));
                let total = part.number(attributes.get(Key::Total));
                let used = part.number(attributes.get(Key::Used));
                row.malloc = Moment { id, ts, total, used };
                row.tid = record.tid.unwrap_or(NONE);
                row.owner = part.text(Text::Owner, owner(attributes));
                row.inefficient = part.text(Text::Inefficient, attributes.text(Key::Inefficient));
                row.page_type = part.text(Text::PageType, attributes.get(Key::PageType));
                row.alloc_type = part.text(Text::AllocType, attributes.get(Key::AllocType));
                if self.py_stack {
                    row.py_stack = part.text(Text::PyStack, stack(record.py_stack).as_deref());
                }
                if self.c_stack {
                    row.c_stack = part.text(Text::CStack, stack(record.c_stack).as_deref());
                }
            }
        }
        row
    }
}
