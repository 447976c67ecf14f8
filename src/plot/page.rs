//! The file of a picture: one page that needs nothing else.

use std::fmt;

use super::embed::markup;
use super::terminal::Screen;

/// How large a page may be unless something else is asked for, in bytes.
pub const PAGE_LIMIT: usize = 5 << 20;

const STYLE: &str = include_str!("page/style.css");
const COMMON: &str = include_str!("page/common.js");

/// Something that can be drawn.
pub trait Picture {
    /// The script that draws it from its data.
    fn script(&self) -> &'static str;

    /// Its data. At level 0 all of it, at each further level about half as much as before; `None` when
    /// nothing more can be left out.
    fn data(&self, level: u32) -> Option<Data>;

    /// The picture as lines for a terminal.
    fn text(&self, screen: &Screen) -> String;
}

/// What a page embeds.
#[derive(Debug, Clone)]
pub struct Data {
    /// JSON without characters that mean something to HTML.
    pub json: String,
    /// What is not in it, for the caption.
    pub cut: Option<String>,
}

/// What is said about a picture: enough to get the same numbers again.
#[derive(Debug, Clone, Default)]
pub struct Caption {
    /// What is to be seen, in a few words.
    pub title: String,
    /// Names and values: the data, ranks, totals.
    pub facts: Vec<(String, String)>,
    /// How to read it, and by which rules marks were set.
    pub notes: Vec<String>,
    /// The SQL that gave the numbers.
    pub queries: Vec<String>,
}

/// A page that cannot be made as small as it has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooBig {
    /// The smallest that it could be, in bytes.
    pub least: usize,
    /// How large it was allowed to be, in bytes.
    pub limit: usize,
}

impl fmt::Display for TooBig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the picture takes at least {} bytes, and {} are allowed", self.least, self.limit)
    }
}

impl std::error::Error for TooBig {}

/// A picture with its caption.
pub struct Page<'a> {
    /// What is drawn.
    pub picture: &'a dyn Picture,
    /// What is said about it.
    pub caption: &'a Caption,
}

impl Page<'_> {
    /// The page, in at most so many bytes: as much is left out of the picture as must be, and the caption
    /// says what.
    ///
    /// # Errors
    /// When even the least that the picture can show is too much.
    pub fn html(&self, limit: usize) -> Result<String, TooBig> {
        let mut least = usize::MAX;
        for level in 0.. {
            let Some(data) = self.picture.data(level) else { break };
            let html = self.write(&data);
            least = least.min(html.len());
            if html.len() <= limit {
                return Ok(html);
            }
        }
        Err(TooBig { least, limit })
    }

    /// The picture for a terminal, with its title above and its queries below.
    pub fn text(&self, screen: &Screen) -> String {
        let mut out = screen.line(&self.caption.title);
        for (name, value) in &self.caption.facts {
            out.push_str(&screen.line(&format!("{name}: {value}")));
        }
        out.push('\n');
        out.push_str(&self.picture.text(screen));
        out.push('\n');
        for query in &self.caption.queries {
            // Whole, so that it can be copied.
            out.push_str(&format!("{query}\n"));
        }
        out
    }

    fn write(&self, data: &Data) -> String {
        let Caption { title, facts, notes, queries } = self.caption;
        let mut out = String::with_capacity(data.json.len() + (32 << 10));
        out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        // The browser itself is told that nothing may be fetched or sent.
        out.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n",
        );
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        out.push_str(&format!(
            "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
            markup(title)
        ));
        out.push_str(&format!("<header>\n<h1>{}</h1>\n<dl>\n", markup(title)));
        for (name, value) in facts {
            out.push_str(&format!("<div><dt>{}</dt><dd>{}</dd></div>\n", markup(name), markup(value)));
        }
        out.push_str("</dl>\n");
        if let Some(cut) = &data.cut {
            out.push_str(&format!("<p class=\"cut\">{}</p>\n", markup(cut)));
        }
        out.push_str(
            "</header>\n<main id=\"picture\">\n<noscript>The picture is drawn by a script in this page, ",
        );
        out.push_str(
            "and scripts are switched off. The SQL below gives its numbers.</noscript>\n</main>\n<footer>\n",
        );
        for note in notes {
            out.push_str(&format!("<p>{}</p>\n", markup(note)));
        }
        let several = if queries.len() == 1 { "The query" } else { "The queries" };
        out.push_str(&format!("<h2>{several} behind it</h2>\n"));
        for query in queries {
            out.push_str(&format!("<pre>{}</pre>\n", markup(query)));
        }
        out.push_str("</footer>\n<script type=\"application/json\" id=\"data\">");
        out.push_str(&data.json);
        out.push_str("</script>\n<script>\n'use strict';\n");
        out.push_str(COMMON);
        out.push_str(self.picture.script());
        out.push_str("</script>\n</body>\n</html>\n");
        out
    }
}
