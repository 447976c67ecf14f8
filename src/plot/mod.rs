//! Pictures of answers: each one file that opens in a browser without a network, or a few lines for a
//! terminal.
//!
//! A picture is made of numbers that a query gave, and its caption holds that query: whoever sees a
//! picture can ask for the same numbers. Nothing is calculated here that SQL could say; what is left is
//! to arrange, to leave out what does not fit, and to draw.
//!
//! | module | what it is |
//! |---|---|
//! | [`page`](Page) | the file: caption, data, the script that draws, and the limit of its size |
//! | [`flame`](Flame), [`timeline`](Timeline), [`heatmap`](Heatmap), [`trend`](Trend), [`lifetimes`](Lifetimes) | the kinds of pictures |
//! | [`terminal`](Screen) | bars and lines made of characters |
//! | [`embed`](Number) | values as JSON that is harmless inside of a page |
//! | `amount` | sizes for people |
//!
//! Pure functions on values, without Arrow and without DataFusion. The same values give the same bytes.

mod amount;
mod embed;
mod flame;
mod heatmap;
mod lifetimes;
mod page;
mod terminal;
mod timeline;
mod trend;

pub use amount::{Unit, amount};
pub use embed::Number;
pub use flame::{Flame, Level, Weight};
pub use heatmap::{Cell, Heatmap};
pub use lifetimes::{Block, Lifetimes};
pub use page::{Caption, Data, PAGE_LIMIT, Page, Picture, TooBig};
pub use terminal::Screen;
pub use timeline::{Measure, Series, Timeline};
pub use trend::{Line, Point, Trend};
