//! Runs statements: from a script to results in their destination.
//!
//! Queries run on worker threads of their own. The thread that waits for Ctrl-C does nothing else,
//! so a query that keeps all workers busy can still be cancelled.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;
use rl_insight_sql::overview::{Found, Overview};

use super::agent::Answer;
use super::commands::{self, Step};
use super::engine;
use super::failure::{Failure, join_text};
use super::guard::Guard;
use super::inputs::Inputs;
use super::invocation::{Invocation, named_for_results};
use super::output::{Destination, Format, Look, StagedResults};
use super::parameters::Parameters;
use super::run_dir;
use super::screen;
use super::script::{Piece, Script};
use super::settings::Settings;
use super::signals::Signals;
use super::statement::{Kept, Session};
use super::voice::Voice;
use super::watch::{TICK, Watch};
use super::workers::Workers;

/// Runs scripts, one at a time, in one session.
pub(crate) struct Runner {
    session: Session,
    workers: Workers,
    /// Where the next result goes, when that is not where the others go.
    once: Option<StagedResults>,
    timeout: Option<Duration>,
    on_error: &'static str,
    threads: NonZeroUsize,
    keep_going: bool,
    /// Whether statements come from the prompt.
    pub(crate) at_prompt: bool,
    verbose: bool,
    /// Whether the time of each statement is told.
    pub(crate) timer: bool,
    /// What was opened at the start, and later with `.open`.
    pub(crate) paths: Vec<String>,
    /// What was found there.
    pub(crate) opened: Overview,
    /// The last statement that was asked for.
    pub(crate) last: Option<Script>,
    first_failure: Option<u8>,
    settings: Settings,
    /// Who listens for signals; nobody before the first statement.
    signals: Option<Signals>,
    /// How many scripts run within each other.
    depth: usize,
}

/// More scripts within each other than anybody means.
const MOST_SCRIPTS: usize = 16;

impl Runner {
    /// A fresh session as the command line wants it.
    ///
    /// # Errors
    /// When the session cannot be set up, there are no threads to be had, or the file of `-o` cannot be
    /// written.
    pub(crate) fn new(invocation: &Invocation, settings: Settings) -> Result<Self, Failure> {
        let engine = &invocation.engine;
        let guard = Guard {
            read_only: invocation.read_only,
            force: invocation.force,
            inputs: Inputs::default(),
            root: invocation.root.clone(),
        };
        let destination = match &invocation.output {
            None => Destination::Stdout,
            Some(path) => {
                guard
                    .target(&path.display().to_string(), invocation.force, "give --force to replace it")
                    .map_err(|f| Failure::Usage(f.text().unwrap_or_default().to_owned()))?;
                Destination::File(StagedResults::create(path)?)
            }
        };
        let context = engine::watched(engine::context(engine)?, invocation.root.as_ref(), &guard.inputs);
        let session = Session {
            context,
            look: invocation.look.clone(),
            voice: engine.voice.clone(),
            guard,
            destination,
            answer: invocation.agent.map(|caps| Answer::new(caps, invocation.look.json)),
            kept: None,
            watch: Watch::new(invocation.progress, engine.voice.clone()),
            parameters: Arc::new(engine.parameters.clone()),
            paths: Arc::default(),
            left_out: Arc::default(),
            stopped: Arc::default(),
        };
        let mut runner = Self {
            session,
            workers: Workers::start(engine.threads).map_err(|e| no_threads(&e))?,
            once: None,
            timeout: engine.timeout,
            on_error: engine.on_error.name(),
            threads: engine.threads,
            keep_going: invocation.keep_going,
            at_prompt: false,
            verbose: engine.verbose,
            timer: invocation.timer,
            paths: vec![],
            opened: Overview::default(),
            last: None,
            first_failure: None,
            settings,
            signals: None,
            depth: 0,
        };
        let now = runner.settings_now();
        runner.settings.begin(now, &runner.session.context);
        Ok(runner)
    }

    /// The settings that the session has made its own, or that commands change, as they are now.
    fn settings_now(&self) -> BTreeMap<&'static str, String> {
        let look = &self.session.look;
        let format = look.format.name();
        BTreeMap::from([
            ("format", format),
            ("max_rows", look.max_rows.unwrap_or(0).to_string()),
            ("no_headers", (!look.headers).to_string()),
            ("null_value", look.null.clone().unwrap_or_default()),
            ("no_pager", (!look.pager).to_string()),
            ("group_digits", look.group_digits.to_string()),
            ("timer", self.timer.to_string()),
            ("read_only", self.session.guard.read_only.to_string()),
            ("threads", self.threads.to_string()),
        ])
    }

    /// What is set, and by whom: the settings whose name fits a pattern.
    ///
    /// # Errors
    /// When the rows cannot be made, which does not happen.
    pub(crate) fn settings(&self, pattern: &str) -> Result<RecordBatch, Failure> {
        Ok(self.settings.rows(pattern, &self.settings_now(), &self.session.context)?)
    }

    /// Surveys paths, says what they hold, and makes views of it.
    ///
    /// # Errors
    /// When a path does not exist, all of them hold nothing, or a view cannot be made.
    pub(crate) async fn open(&mut self, paths: &[String]) -> Result<(), Failure> {
        if paths.is_empty() {
            return Ok(());
        }
        paths.iter().try_for_each(|path| self.session.guard.inside(path))?;
        let overview = run_dir::checked(run_dir::survey(paths).await?, paths)?;
        overview.register(&self.session.context, self.on_error).await?;
        // What was open before is not any more: nobody should ask one directory and get the other.
        let gone = self.opened.found.iter().map(|f| f.view);
        for view in gone.filter(|view| overview.found.iter().all(|found| found.view != *view)) {
            self.session.context.deregister_table(view)?;
        }
        let mut parameters = Parameters::clone(&self.session.parameters);
        parameters.open(paths, !self.paths.is_empty());
        self.session.parameters = Arc::new(parameters);
        self.session.paths = paths.into();
        let files = overview.found.iter().flat_map(|f| f.files.iter().cloned());
        self.session.guard.inputs.add_files(files);
        self.paths = paths.to_vec();
        for line in run_dir::lines(&overview, paths) {
            self.session.voice.remark(line);
        }
        for path in &overview.empty {
            self.session.voice.tell(format_args!("note: {path}: nothing found that can be read"));
        }
        self.opened = overview;
        Ok(())
    }

    /// What was found below the paths that are open, one entry per view.
    pub(crate) fn opened(&self) -> &[Found] {
        &self.opened.found
    }

    /// What table functions are to do with problems in the data: `strict` or `skip`.
    pub(crate) fn on_error(&self) -> &'static str {
        self.on_error
    }

    /// The rows of a query, for something other than a result.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) async fn rows(&mut self, sql: &str) -> Result<Vec<RecordBatch>, Failure> {
        let options = self.session.context.copied_config().options().sql_parser.clone();
        let pieces = Script::new(None, sql).pieces(&options)?;
        let kept = Kept::default();
        self.session.kept = Some(Arc::clone(&kept));
        // A file that waits for the next result goes on waiting.
        let once = self.once.take();
        let mut done = Ok(());
        for piece in pieces {
            if done.is_ok() {
                done = self.piece(piece, sql.into()).await;
            }
        }
        self.once = once;
        self.session.kept = None;
        done?;
        Ok(kept.lock().map(|mut rows| std::mem::take(&mut *rows)).unwrap_or_default())
    }

    /// The session that statements run in.
    pub(crate) fn context(&self) -> &SessionContext {
        &self.session.context
    }

    /// What statements and commands may do.
    pub(crate) fn guard(&self) -> &Guard {
        &self.session.guard
    }

    /// Who says things.
    pub(crate) fn voice(&self) -> &Voice {
        &self.session.voice
    }

    /// How results look.
    pub(crate) fn look(&self) -> &Look {
        &self.session.look
    }

    /// How results are to look from now on.
    pub(crate) fn look_mut(&mut self) -> &mut Look {
        &mut self.session.look
    }

    /// The one object that is answered, if it is to be one.
    pub(crate) fn answer(&self) -> Option<&Answer> {
        self.session.answer.as_ref()
    }

    /// How many problems were left out of results.
    pub(crate) fn left_out(&self) -> u64 {
        self.session.left_out.load(Ordering::Relaxed)
    }

    /// The exit code of the first failure that did not end everything.
    pub(crate) fn first_failure(&self) -> Option<u8> {
        self.first_failure
    }

    /// Sends results to a file from now on, or only the next one; `None` to stdout.
    ///
    /// # Errors
    /// When the file is there already and may not be replaced, or cannot be written.
    pub(crate) fn send_to(&mut self, target: Option<&Path>, once: bool, force: bool) -> Result<(), Failure> {
        let staged = match target {
            None => None,
            Some(path) => {
                let name = path.display();
                if self.session.guard.read_only {
                    return Err(Failure::Refused(format!(
                        "read-only: the file {name} is refused, nothing may be written\n\
                         hint: leave out --read-only, or redirect what the program prints"
                    )));
                }
                if self.session.answer.is_some() {
                    return Err(Failure::Refused(format!(
                        "{name}: with --agent all results are in one object on stdout\n\
                         hint: COPY (SELECT ...) TO 'FILE' writes a file"
                    )));
                }
                let allowed = force || self.session.guard.force;
                let hint = "put --force in front of its name to replace it";
                named_for_results(path)
                    .map_err(|f| Failure::Query(f.text().unwrap_or_default().to_owned()))?;
                self.session.guard.target(&path.display().to_string(), allowed, hint)?;
                Some(StagedResults::create(path)?.by_name())
            }
        };
        if once {
            self.once = staged;
            return Ok(());
        }
        self.publish()?;
        self.session.destination = staged.map_or(Destination::Stdout, Destination::File);
        Ok(())
    }

    /// Completes the file that results went to, if there is one.
    ///
    /// # Errors
    /// When it cannot be completed; then it is as it was before.
    pub(crate) fn publish(&mut self) -> Result<(), Failure> {
        match std::mem::take(&mut self.session.destination) {
            Destination::File(file) => {
                file.publish()?;
                self.tell_written(&file);
                Ok(())
            }
            other => {
                self.session.destination = other;
                Ok(())
            }
        }
    }

    /// Nothing on the screen shows that a file is there now.
    fn tell_written(&self, file: &StagedResults) {
        if self.at_prompt {
            self.session.voice.remark(format_args!("{}: written", file.name()));
        }
    }

    /// After a failure at the prompt results go to the screen again: the file that they went to was
    /// given up.
    ///
    /// # Errors
    /// Says so.
    pub(crate) fn after_failure(&mut self) -> Result<(), Failure> {
        match std::mem::take(&mut self.session.destination) {
            Destination::File(file) => Err(Failure::Output(format!(
                "{} was not written, because of that; results go to the screen again",
                file.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Runs the statements and commands of a script one after the other, up to the first failure, or
    /// to the end when that was asked for.
    ///
    /// After Ctrl-C it returns at once. An operator that is deep in a calculation goes on until it
    /// looks up, but whatever it finds is not written any more.
    ///
    /// # Errors
    /// What made a statement fail, naming the statement; or Ctrl-C.
    pub(crate) async fn run(&mut self, script: Script) -> Result<Step, Failure> {
        self.each(script, true).await
    }

    /// Runs a script that a command stands for: the last statement is still the one before.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) async fn run_for_command(&mut self, script: Script) -> Result<Step, Failure> {
        self.each(script, false).await
    }

    async fn each(&mut self, script: Script, asked: bool) -> Result<Step, Failure> {
        if self.depth == MOST_SCRIPTS {
            return Err(Failure::Query(format!(
                "scripts run scripts, {MOST_SCRIPTS} within each other\nhint: does one of them run itself?"
            )));
        }
        self.depth += 1;
        let done = self.one_after_the_other(script, asked).await;
        self.depth -= 1;
        done
    }

    async fn one_after_the_other(&mut self, script: Script, asked: bool) -> Result<Step, Failure> {
        let options = self.session.context.copied_config().options().sql_parser.clone();
        let pieces = script.pieces(&options)?;
        let count = pieces.len();
        let text: Arc<str> = script.text().into();
        for (piece, number) in pieces.into_iter().zip(1..) {
            let line = piece.line;
            let done = match piece.command().map(str::to_owned) {
                Some(command) => Box::pin(commands::run(self, &command)).await,
                None => {
                    if asked {
                        self.last = Some(Script::new(None, piece.cut(&text)));
                    }
                    self.piece(piece, Arc::clone(&text)).await.map(|()| Step::Stay)
                }
            };
            match done {
                Ok(Step::Stay) => {}
                Ok(Step::Leave) => return Ok(Step::Leave),
                Err(failure) => {
                    let failure = failure.at(&script.place(number, count, line));
                    if !self.keep_going || failure.is_final() {
                        return Err(failure);
                    }
                    self.session.voice.failure(&failure);
                    self.first_failure.get_or_insert(failure.code());
                }
            }
        }
        Ok(Step::Stay)
    }

    /// Prints rows that are not the result of a statement.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn print(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let once = self.once.take();
        let held = self.prepared(&once).print(batch)?;
        self.show(held, once)
    }

    /// Writes text that is no result of a statement, to where results go.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write_text(&self, text: &str) -> Result<(), Failure> {
        match &self.session.answer {
            Some(_) => self.session.voice.tell(text.trim_end()),
            None => self.session.destination.write(text.as_bytes())?,
        }
        Ok(())
    }

    /// Whether the next result is for people: a table, or lines, on stdout.
    pub(crate) fn is_for_people(&self) -> bool {
        let on_stdout = self.once.is_none() && matches!(self.session.destination, Destination::Stdout);
        let format = self.session.look.format;
        on_stdout && self.session.answer.is_none() && matches!(format, Format::Table | Format::Line)
    }

    /// Whether the next result is a table on stdout.
    pub(crate) fn shows_tables(&self) -> bool {
        self.is_for_people() && self.session.look.format == Format::Table
    }

    /// The session for one statement.
    fn prepared(&self, once: &Option<StagedResults>) -> Session {
        let mut session = self.session.clone();
        session.stopped = Arc::default();
        if let Some(file) = once {
            session.destination = Destination::File(file.clone());
        }
        if let Destination::File(file) = &session.destination
            && let Some(format) = file.format()
        {
            session.look.format = format;
        }
        let on_screen = matches!(session.destination, Destination::Stdout) && io::stdout().is_terminal();
        if on_screen && session.look.width.is_none() {
            session.look.width = Some(screen::of_stdout().0);
        }
        session.look.pager &= on_screen;
        session
    }

    async fn piece(&mut self, piece: Piece, text: Arc<str>) -> Result<(), Failure> {
        let once = self.once.take();
        let session = self.prepared(&once);
        let (stopped, watch) = (Arc::clone(&session.stopped), session.watch.clone());
        if self.verbose {
            session.voice.remark(format_args!("running the statement in line {}", piece.line));
        }
        // It listens before anything is begun, or the system would end the program in the middle of it, with a
        // half-written file left. And it goes on listening between statements, or a signal then would be lost;
        // but at the prompt what came before was meant for what ran before.
        let before = self.signals.take().filter(|_| !self.at_prompt);
        let mut signals = before.unwrap_or_else(|| Signals::listen(self.at_prompt));
        let mut asked = Box::pin(signals.asked_to_end());
        if let Poll::Ready(asked) = futures::poll!(&mut asked) {
            return Err(asked);
        }
        watch.begin();
        let Some(mut job) = self.workers.spawn(async move { session.piece(piece, &text).await }) else {
            return Err(Failure::Query("the worker threads have ended".into()));
        };
        let mut ticks = tokio::time::interval(TICK);
        let limit = self.timeout;
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        let done = loop {
            tokio::select! {
                done = &mut job => break done.unwrap_or_else(|e| Err(Failure::Query(join_text(&e)))),
                asked = &mut asked => break Err(asked),
                () = &mut late => {
                    let seconds = limit.unwrap_or_default().as_secs_f64();
                    break Err(Failure::Budget(format!(
                        "the statement took more than {seconds} s\nhint: --timeout sets how long it may take"
                    )));
                }
                _ = ticks.tick() => watch.tick(),
            }
        };
        drop(asked);
        self.signals = Some(signals);
        let mut renewed = Ok(());
        if !job.is_finished() {
            stopped.store(true, Ordering::Relaxed);
            job.abort();
            renewed = self.workers.renew().map_err(|e| no_threads(&e));
        }
        let usage = watch.end();
        match done.and_then(|held| renewed.map(|()| held)) {
            Ok(held) => {
                self.show(held, once)?;
                if self.timer {
                    self.session.voice.tell(format_args!("time: {usage}"));
                }
                Ok(())
            }
            Err(failure) => {
                if let Some(file) = once {
                    file.discard();
                }
                if let Destination::File(file) = &self.session.destination {
                    file.discard();
                }
                Err(failure)
            }
        }
    }

    /// Shows what was held back for the pager, and completes the file of `.once`.
    fn show(&self, held: Option<Vec<u8>>, once: Option<StagedResults>) -> Result<(), Failure> {
        if let Some(text) = held {
            super::pager::show(&text)?;
        }
        if let Some(file) = once {
            file.publish()?;
            self.tell_written(&file);
        }
        Ok(())
    }
}

fn no_threads(error: &io::Error) -> Failure {
    Failure::Query(format!("threads cannot be started: {error}"))
}
