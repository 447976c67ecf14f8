//! Commands about how results look.

use super::super::failure::Failure;
use super::super::output::{Format, Look};
use super::super::run::Runner;
use super::Step;
use super::argument::{number, switch, unquoted};
use super::list::Action;

/// `.mode`: chooses the format, or says which one it is.
///
/// # Errors
/// When there is no such format.
pub(super) fn format(runner: &mut Runner, name: &str) -> Result<(), Failure> {
    let names = || Format::names().join(", ");
    if name.is_empty() {
        let now = runner.look().format.name();
        runner.voice().tell(format_args!("{now} (one of {})", names()));
        return Ok(());
    }
    runner.look_mut().format = format_named(name)?;
    Ok(())
}

fn format_named(name: &str) -> Result<Format, Failure> {
    Format::named(name).ok_or_else(|| {
        let names = Format::names().join(", ");
        Failure::Query(format!("the format {name} is unknown; expected one of {names}"))
    })
}

/// `.last`: runs the last statement again.
///
/// # Errors
/// When there was none, there is no such format, or it fails.
pub(super) async fn last(runner: &mut Runner, format: &str) -> Result<Step, Failure> {
    let Some(script) = runner.last.clone() else {
        return Err(Failure::Query("no statement was run yet".into()));
    };
    let before = runner.look().format;
    if !format.is_empty() {
        runner.look_mut().format = format_named(format)?;
    }
    let done = runner.run_for_command(script).await;
    runner.look_mut().format = before;
    done
}

/// The commands that set one property of results.
///
/// # Errors
/// When the argument is not of the right kind.
pub(super) fn change(look: &mut Look, action: Action, argument: &str) -> Result<(), Failure> {
    match action {
        Action::MaxRows => look.max_rows = Some(number(argument, 40)?).filter(|n| *n > 0),
        Action::Width => look.width = Some(number(argument, 0)?).filter(|n| *n > 0),
        Action::Digits => look.group_digits = switch(argument)?,
        Action::Headers => look.headers = switch(argument)?,
        Action::NullValue => look.null = Some(unquoted(argument).to_owned()).filter(|n| !n.is_empty()),
        Action::Pager => look.pager = switch(argument)?,
        _ => {}
    }
    Ok(())
}
