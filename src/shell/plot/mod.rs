//! `.plot` and `rl-insight-sql plot`: from a few words to queries, from their rows to a picture, and to a
//! file or the terminal.
//!
//! | module | what it is |
//! |---|---|
//! | [`kinds`] | what can be drawn, and what can be given for it |
//! | [`request`] | what was asked for |
//! | [`call`] | paths and conditions as SQL |
//! | [`flame`], [`timeline`], [`heatmap`], [`trend`], [`lifetimes`] | queries of each kind, and rows to pictures |
//! | [`rows`] | rows by columns |
//! | [`subcommand`] | `rl-insight-sql plot` |
//!
//! How pictures look is in [`rl_insight_sql::plot`].

mod call;
mod flame;
mod heatmap;
mod kinds;
mod lifetimes;
mod request;
mod rows;
mod subcommand;
mod timeline;
mod trend;

use std::path::Path;

use rl_insight_sql::plot::{Caption, PAGE_LIMIT, Page, Picture, Screen};

use call::Call;
use kinds::{OPTIONS, SUBJECTS, Subject};
use request::Request;
use rows::Rows;

use super::amount::{parse_size, size};
use super::failure::Failure;
use super::guard::Guard;
use super::output::{Destination, StagedResults};
use super::run::Runner;
use super::run_dir::survey;
use super::screen;

pub(crate) use kinds::help;
pub(crate) use subcommand::draw;

/// A picture and what is said about it.
pub(crate) struct Drawn {
    picture: Box<dyn Picture>,
    caption: Caption,
}

/// Runs `.plot` with what stands behind it.
///
/// # Errors
/// When it cannot be understood, there is nothing to draw, or the file may not be written.
pub(crate) async fn run(runner: &mut Runner, argument: &str) -> Result<(), Failure> {
    if argument.is_empty() {
        runner.voice().tell(help());
        return Ok(());
    }
    let request = Request::read(argument).map_err(Failure::Query)?;
    let hint = "put --force in front of its name to replace it";
    let target = match &request.target {
        None => Target::Screen,
        Some((path, force)) => Target::File { path, force: *force, hint },
    };
    picture(runner, &request, target).await
}

/// Where a picture goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// As text to where results go.
    Screen,
    /// As a page to stdout.
    Stdout,
    /// To a file.
    File {
        /// Its name.
        path: &'a Path,
        /// Whether it may be replaced.
        force: bool,
        /// How it can be replaced.
        hint: &'static str,
    },
}

/// Draws what was asked for to its file, or to where results go.
///
/// # Errors
/// As [`run`].
pub(crate) async fn picture(
    runner: &mut Runner,
    request: &Request,
    target: Target<'_>,
) -> Result<(), Failure> {
    let named = |name: &str| request.option(name).map(str::to_owned);
    let others: Vec<String> = ["path", "base"].into_iter().filter_map(named).collect();
    others.iter().try_for_each(|path| runner.guard().inside(path))?;
    let limit = match request.option("limit") {
        None => PAGE_LIMIT,
        Some(text) => parse_size(text).map_err(|e| Failure::Query(format!("limit={text}: {e}")))?,
    };
    let file = match target {
        Target::Screen | Target::Stdout => None,
        Target::File { path, force, hint } => {
            Some((path, allowed(runner.guard(), path, force, hint, &others).await?))
        }
    };
    let has = |subject: &Subject| opened(runner, subject).is_some();
    let subject = request.subject(has).map_err(Failure::Query)?;
    let (paths, units) = match (named("path"), opened(runner, subject)) {
        (Some(path), _) => (vec![path], 1),
        (None, Some(found)) => found,
        (None, None) => return Err(nothing_open(runner, subject)),
    };
    let on_error = request.choice("on_error", &["strict", "skip"]).map_err(Failure::Query)?;
    let on_error = on_error.unwrap_or(runner.on_error());
    let call = Call { request, subject, paths: &paths, units, on_error };
    let before = runner.left_out();
    let mut drawn = made(runner, &call).await?;
    let left_out = runner.left_out() - before;
    if left_out > 0 {
        drawn.caption.notes.push(format!(
            "The data is not complete: problems were left out {left_out} times (on_error => 'skip'); SELECT * FROM \
             diagnostics(path) lists them."
        ));
    }
    let page = Page { picture: drawn.picture.as_ref(), caption: &drawn.caption };
    let whole = |name: &str| {
        page.html(limit).map_err(|e| {
            Failure::Query(format!("{name}: {e}\nhint: limit=20m allows more, rank= and role= need less"))
        })
    };
    let Some((path, html)) = file else {
        return match target {
            Target::Stdout => runner.write_text(&whole("the page")?),
            _ => runner.write_text(&page.text(&terminal(runner))),
        };
    };
    let text = if html {
        whole(&path.display().to_string())?
    } else {
        page.text(&Screen { width: 100, lines: 60, ascii: false })
    };
    let staged = StagedResults::create(path)?;
    Destination::File(staged.clone()).write(text.as_bytes())?;
    staged.publish()?;
    let how = if html { "; any browser opens it, without a network" } else { "" };
    runner.voice().remark(format_args!("{}: {}{how}", path.display(), size(text.len() as u64)));
    Ok(())
}

/// Runs the queries of a picture and makes it of their rows.
async fn made(runner: &mut Runner, call: &Call<'_>) -> Result<Drawn, Failure> {
    let queries = match call.subject.kind {
        "flame" => flame::queries(call),
        "timeline" => timeline::queries(call),
        "heatmap" => heatmap::queries(call),
        "trend" => trend::queries(call),
        _ => lifetimes::queries(call),
    };
    let queries = queries.map_err(Failure::Query)?;
    let mut rows = Vec::with_capacity(queries.len());
    for query in &queries {
        rows.push(Rows::new(&runner.rows(query).await?)?);
    }
    if let (Some(query), true) = (queries.first(), rows.first().is_none_or(Rows::is_empty)) {
        return Err(Failure::Query(call.nothing(query)));
    }
    let mut drawn = match call.subject.kind {
        "flame" => flame::drawn(call, &rows),
        "timeline" => timeline::drawn(call, &rows),
        "heatmap" => heatmap::drawn(call, &rows),
        "trend" => trend::drawn(call, &rows),
        _ => lifetimes::drawn(call, &rows),
    }?;
    drawn.caption.queries = queries.into_iter().map(|query| format!("{query};")).collect();
    Ok(drawn)
}

/// Paths with data for a picture among what is open, and how many pieces these hold.
fn opened(runner: &Runner, subject: &Subject) -> Option<(Vec<String>, usize)> {
    let found = runner.opened.found.iter().find(|f| f.function() == subject.source.function())?;
    Some((found.paths.clone(), found.units))
}

fn nothing_open(runner: &Runner, subject: &Subject) -> Failure {
    let Subject { kind, what, source, .. } = subject;
    let found: Vec<&str> = runner.opened.found.iter().map(|f| f.function()).collect();
    let open =
        if found.is_empty() { "no data is open".to_owned() } else { format!("open is {}", found.join(", ")) };
    let function = source.function();
    Failure::Query(format!(
        "{kind} {what} needs data of {function}, and {open}\nhint: .open PATH first, or give path=PATH"
    ))
}

/// Whether the file of a picture may be written, and whether it is a page (else text).
async fn allowed(
    guard: &Guard,
    path: &Path,
    force: bool,
    hint: &str,
    others: &[String],
) -> Result<bool, Failure> {
    let name = path.display().to_string();
    if guard.read_only {
        return Err(Failure::Refused(format!(
            "read-only: the picture {name} is refused, nothing may be written\nhint: without > FILE it is drawn here"
        )));
    }
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let html = match ending.as_str() {
        "html" | "htm" => true,
        "txt" => false,
        _ => {
            return Err(Failure::Refused(format!(
                "{name}: a picture is a page, .html, or text, .txt\nhint: name it {}",
                path.with_extension("html").display()
            )));
        }
    };
    // Files of data that is named here are input as those of what is open are.
    if !others.is_empty() {
        guard.inputs.add_files(survey(others).await?.found.into_iter().flat_map(|f| f.files));
    }
    guard.target(&name, force || guard.force, hint)?;
    Ok(html)
}

/// How much of the terminal a picture takes.
fn terminal(runner: &Runner) -> Screen {
    let (width, _) = screen::of_stdout();
    let look = runner.look();
    // A terminal that is called dumb may not know more than ASCII.
    let ascii = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Screen { width: look.width.unwrap_or(width).max(40), lines: look.max_rows.unwrap_or(usize::MAX), ascii }
}

/// Words that can stand behind `front`, for completion; `None` where a path is expected.
pub(crate) fn words_for(front: &str, word: &str) -> Option<Vec<String>> {
    if front.contains('>') {
        return None;
    }
    let mut before = front.split_whitespace();
    let Some(kind) = before.next() else {
        return Some(kinds::kinds().into_iter().map(str::to_owned).collect());
    };
    let subjects: Vec<&Subject> = SUBJECTS.iter().filter(|s| s.kind == kind).collect();
    let given: Vec<&str> = before.collect();
    let chosen: Vec<&Subject> = subjects.iter().copied().filter(|s| given.contains(&s.what)).collect();
    let fitting = if chosen.is_empty() { &subjects } else { &chosen };
    if let Some((name, _)) = word.split_once('=') {
        let values: &[&str] = match name {
            "stat" => &["norm", "max", "min", "mean"],
            "match" => &["nearest", "inside"],
            "on_error" => &["strict", "skip"],
            "every" => &["step", "auto"],
            _ => &[],
        };
        return Some(values.iter().map(|value| format!("{name}={value}")).collect());
    }
    let whats = subjects.iter().filter(|_| chosen.is_empty()).map(|s| s.what.to_owned());
    let takes = |name: &str| fitting.iter().any(|s| s.takes(name));
    let options = OPTIONS.iter().filter(|(name, _)| takes(name)).map(|(name, _)| format!("{name}="));
    Some(whats.chain(options).chain(std::iter::once("> ".to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::words_for;

    #[test]
    fn completion_knows_kinds_words_options_and_values() {
        assert_eq!(words_for("", "fl").unwrap()[0], "flame");
        let words = words_for("flame ", "").unwrap();
        assert!(words.contains(&"at_peak".to_owned()) && words.contains(&"rank=".to_owned()));
        assert!(!words_for("flame owners ", "").unwrap().contains(&"rank=".to_owned()));
        assert_eq!(words_for("trend ", "stat=").unwrap().len(), 4);
        assert!(words_for("flame at_peak > ", "pe").is_none());
    }
}
