//! `eval-harness run`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::args::{ProgressMode, RunArgs};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::progress::RunProgress;
use super::report::results_dir;
use super::resume::ResumedRun;
use super::suite::SelectedSuite;
use super::{
    CliFailure, CliResult, changed, compared, list, notify, resume, sides, signals, suite, watch,
};
use crate::gate::ExitCode;
use crate::journal::{PrivateCases, RunPaths};
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::{Event, NotifyChannel, Plan, ReportFormat, Summary};
use crate::notify::NotifyMessage;
use crate::report::{self, write_reports};
use crate::run::{
    self, CancelSwitch, ChangeSource, CheckStamp, FinishedRun, PreparedRun, RunError,
    RunInvocation, RunObserver, RunRequest,
};
use eval_base::clock::SystemClock;
use eval_base::json;
use eval_base::shell;

pub fn run(console: &Console, args: &RunArgs) -> CliResult {
    let words = resume::typed("run", "--resume");
    since_has_a_use(args)?;
    if args.watch {
        return watch::watch(console, args, words);
    }
    let Some(run) = &args.resume else {
        if args.suite.target.len() > 1 || args.suite.prompt.len() > 1 {
            return sides::run(console, args, &words);
        }
        let loaded = load(console, args)?;
        return match loaded.plan.open_prompts().is_empty() {
            true => start(
                console,
                args,
                ReadyRun::of(console, args, words, None, loaded)?,
            ),
            false => sides::run(console, args, &words),
        };
    };
    if args.suite.target.len() > 1 || args.suite.prompt.len() > 1 {
        return Err(CliFailure::wrong(
            "a run has one target and one prompt: resume each run by its id",
        ));
    }
    let dir = results_dir(
        args.suite.suite.as_deref(),
        args.session.output_dir.as_deref(),
    )?;
    let again = resume::again(&dir, run, words)?;
    resume::secrets_are_given(&again.args)?;
    let loaded = load(console, &again.args)?;
    let ready = ReadyRun::of(console, &again.args, again.words, Some(again.run), loaded)?;
    start(console, &again.args, ready)
}

/// Refuses a run to reuse where none is reused.
pub fn since_has_a_use(args: &RunArgs) -> Result<(), CliFailure> {
    if args.since.is_some() && !(args.changed || args.watch) {
        return Err(CliFailure::wrong(
            "`--since` needs `--changed` or `--watch`",
        ));
    }
    Ok(())
}

/// A suite that can run, and what was selected of it.
#[derive(Clone)]
pub struct LoadedSuite {
    pub plan: Plan,
    filters: Vec<String>,
    failed_in: Option<String>,
}

/// Loads what the arguments name.
///
/// # Errors
/// When a definition or a setting is wrong.
pub fn load(console: &Console, args: &RunArgs) -> Result<LoadedSuite, CliFailure> {
    let selected = suite::load(&args.suite, PlanPurpose::Run, overrides(args))?;
    LoadedSuite::of(console, selected)
}

impl LoadedSuite {
    /// # Errors
    /// When a definition or a setting is wrong.
    pub fn of(console: &Console, selected: SelectedSuite) -> Result<LoadedSuite, CliFailure> {
        Ok(LoadedSuite {
            plan: suite::plan_or_problems(console, selected.loaded)?,
            filters: selected.filters,
            failed_in: selected.failed_in,
        })
    }
}

/// What the arguments say in place of the files.
pub fn overrides(args: &RunArgs) -> LoadOverrides {
    LoadOverrides {
        jobs: args.session.jobs,
        timeout: args.timeout,
        max_fail: args.max_fail,
        budget: args.budget,
        thresholds: args.session.thresholds.clone(),
        preset: args.session.preset.clone(),
        output_dir: args.session.output_dir.clone(),
        formats: (!args.session.format.is_empty()).then(|| args.session.format.clone()),
        allow_unsandboxed: args.session.allow_unsandboxed,
        models: args.models.overrides(),
        asks_nobody: args.dry_run,
        ..LoadOverrides::default()
    }
}

/// The check that `--checked` demands of this plan.
fn demanded_check(
    console: &Console,
    args: &RunArgs,
    plan: &Plan,
) -> Result<CheckStamp, CliFailure> {
    let suite = plan.suite.path.display().to_string();
    let suite = shell::line(&[&suite]).unwrap_or(suite);
    let refused = |refusal| failure(RunError::Refused(refusal));
    let stamp = run::demand_check(plan, &suite).map_err(refused)?;
    if args.require_references {
        stamp.verify_references().map_err(refused)?;
    }
    console.note(&format!(
        "checked at {}: {}",
        stamp.checked_at,
        stamp.proved()
    ));
    Ok(stamp)
}

/// Begins a run, or goes on with one.
fn start(console: &Console, args: &RunArgs, ready: ReadyRun) -> CliResult {
    if args.dry_run {
        return list::dry_run(console, &ready);
    }
    let (finished, after) = ready.drive(console, args, None)?;
    conclude(console, args, &finished, &after)
}

/// A run that has only to begin, or to go on.
pub struct ReadyRun {
    pub prepared: PreparedRun,
    /// What the run is compared with, in words.
    pub compared: Option<String>,
    /// The run whose samples are reused.
    pub changed: Option<Arc<ChangeSource>>,
    said: RunInvocation,
    after: AfterRun,
    resume: Option<RunPaths>,
}

impl ReadyRun {
    /// `words` are the arguments of the run.
    ///
    /// # Errors
    /// When a setting is wrong: then nothing runs.
    pub fn of(
        console: &Console,
        args: &RunArgs,
        words: Vec<String>,
        resume: Option<ResumedRun>,
        loaded: LoadedSuite,
    ) -> Result<ReadyRun, CliFailure> {
        let LoadedSuite {
            plan,
            filters,
            failed_in,
        } = loaded;
        let comparison =
            compared::requested_comparison(console, args, &plan, &filters, resume.as_ref())?;
        let checked = match args.checked {
            true => Some(demanded_check(console, args, &plan)?),
            false => None,
        };
        let prepared = run::prepare(plan).map_err(failure)?;
        prepared
            .warnings
            .iter()
            .for_each(|warning| console.warn(warning));
        let compared = compared::described(&comparison);
        let changed = match args.changed && resume.is_none() {
            true => changed::source(console, args, &prepared.plan, &filters)?,
            false => None,
        };
        let said = RunInvocation {
            capture: false,
            comparison,
            filters,
            arguments: resume::recorded(words, failed_in.as_deref()),
            cwd: suite::cwd().ok(),
            siblings: Vec::new(),
            checked,
        };
        let after = AfterRun::of(&prepared.plan);
        Ok(ReadyRun {
            prepared,
            compared,
            changed,
            said,
            after,
            resume: resume.map(|run| run.paths),
        })
    }

    /// The same, after other runs of the same command.
    pub fn after(mut self, finished: &[FinishedRun]) -> ReadyRun {
        let ids = finished.iter().map(|run| run.paths.run_id.clone());
        self.said.siblings = ids.collect();
        self
    }

    /// `target`: its name, in a command that runs several.
    pub fn drive(
        self,
        console: &Console,
        args: &RunArgs,
        target: Option<&str>,
    ) -> Result<(FinishedRun, AfterRun), CliFailure> {
        let ReadyRun {
            prepared,
            compared: _,
            changed,
            said,
            after,
            resume,
        } = self;
        let finished = drive(console, args, target, async |helper, cancel, observers| {
            let git = run::git_state(&prepared.plan.suite.dir);
            let request = RunRequest {
                prepared,
                helper,
                clock: &SystemClock,
                git,
                said,
                cancel,
                observers,
                resume,
                changed,
            };
            run::run(request).await
        })?;
        if !finished.ran {
            console.note(&format!(
                "run {} is complete: nothing was left to run",
                finished.paths.run_id
            ));
        }
        Ok((finished, after))
    }
}

/// Writes and shows the reports of a run that has ended; the exit code is the gate's.
pub fn conclude(
    console: &Console,
    args: &RunArgs,
    finished: &FinishedRun,
    after: &AfterRun,
) -> CliResult {
    conclude_with(console, args, finished, after, true)
}

/// As [`conclude`]; the run's own page is only shown when asked for.
pub fn conclude_with(
    console: &Console,
    args: &RunArgs,
    finished: &FinishedRun,
    after: &AfterRun,
    shows: bool,
) -> CliResult {
    let github = GithubStep::of(args.session.ci.mode);
    let (written, mut untold) = write_reports(&finished.paths, &finished.summary, &after.formats);
    let shown = match shows {
        true => show(console, args, github.as_ref(), &finished.summary, &written),
        false => Ok(()),
    };
    untold.extend(shown.err().map(|failure| failure.message));
    if shows && after.only_usual_formats() && !args.session.quiet && !args.session.events {
        console.note("HTML report: `eval-harness report --format html --output report.html`");
    }
    let mut code = exit_code(&finished.summary);
    if !untold.is_empty() {
        untold
            .iter()
            .for_each(|message| console.error(message, None));
        console.note(&format!(
            "the journal is complete: {}",
            finished.paths.journal().display()
        ));
        // A failed gate stays failed; what nobody could read has not passed.
        if matches!(code, ExitCode::Pass | ExitCode::Pending) {
            code = ExitCode::Incomplete;
        }
    }
    say_how_to_go_on(console, &finished.summary);
    let report = report_of(after, finished, &written);
    if let Some(github) = &github {
        github.tell_run(console, &finished.summary, Some(&report), code.code());
    }
    if after.notify {
        tell_of(console, after, finished, &report, code);
    }
    Ok(code)
}

/// The report that people are pointed to, as seen from the project root: Markdown before the
/// others, else the journal.
fn report_of(after: &AfterRun, finished: &FinishedRun, written: &[PathBuf]) -> String {
    let markdown = written
        .iter()
        .find(|path| path.extension().is_some_and(|e| e == "md"));
    let report = markdown
        .or(written.first())
        .map_or_else(|| finished.paths.journal(), PathBuf::clone);
    report
        .strip_prefix(&after.root)
        .unwrap_or(&report)
        .display()
        .to_string()
}

/// Rings the bell and tells the channels.
fn tell_of(
    console: &Console,
    after: &AfterRun,
    finished: &FinishedRun,
    report: &str,
    code: ExitCode,
) {
    if code != ExitCode::Pass && console.stderr_is_terminal() {
        let _ = write!(io::stderr(), "\x07");
    }
    // What ran before was told when it ran.
    if finished.ran {
        let mut message = NotifyMessage::of_run(&finished.summary, Some(report));
        message.exit_code = code.code();
        notify::tell(console, &after.channels, &message);
    }
}

/// Of a run that was ended early or cut off: what continues it.
pub fn say_how_to_go_on(console: &Console, summary: &Summary) {
    if let Some(command) = report::resume_command(summary) {
        let verb = match summary.metadata.regrade_of {
            None => "continues",
            Some(_) => "restarts",
        };
        console.note(&format!("`{command}` {verb} it"));
    }
}

/// What the plan says of the time after the run.
pub struct AfterRun {
    formats: Vec<ReportFormat>,
    notify: bool,
    channels: Vec<NotifyChannel>,
    root: PathBuf,
}

impl AfterRun {
    pub fn without_notifications(self) -> AfterRun {
        AfterRun {
            notify: false,
            ..self
        }
    }

    pub fn formats(&self) -> &[ReportFormat] {
        &self.formats
    }

    /// True for the formats of a suite that sets none.
    fn only_usual_formats(&self) -> bool {
        self.formats == [ReportFormat::Json, ReportFormat::Markdown]
    }

    pub fn of(plan: &Plan) -> AfterRun {
        AfterRun {
            formats: plan.reporting.formats.clone(),
            notify: plan.reporting.notify_on_failure,
            channels: plan.reporting.channels.clone(),
            root: plan.suite.root.clone(),
        }
    }
}

/// Runs `work` with everything that it needs of this process: the program that builds cells, a
/// switch that signals turn, and those who watch.
pub fn drive<W>(
    console: &Console,
    args: &RunArgs,
    target: Option<&str>,
    work: W,
) -> Result<FinishedRun, CliFailure>
where
    W: AsyncFnOnce(
        PathBuf,
        CancelSwitch,
        Vec<&mut dyn RunObserver>,
    ) -> Result<FinishedRun, RunError>,
{
    let mode = if args.session.quiet {
        ProgressMode::None
    } else {
        args.session.progress
    };
    let progress = RunProgress::with_cases(mode, console, args.session.verbose, target);
    attend(progress, args.session.events, work)?.map_err(failure)
}

/// Runs `work` as [`drive`] does, whatever it results in.
pub fn attend<T, W>(mut progress: RunProgress, events: bool, work: W) -> Result<T, CliFailure>
where
    W: AsyncFnOnce(PathBuf, CancelSwitch, Vec<&mut dyn RunObserver>) -> T,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliFailure::incomplete(format!("cannot start: {error}")))?;
    let helper = std::env::current_exe().map_err(|error| {
        CliFailure::incomplete(format!(
            "cannot find the executable of eval-harness: {error}"
        ))
    })?;
    runtime.block_on(async {
        let cancel = CancelSwitch::default();
        signals::listen(cancel.clone(), progress.speaker()).map_err(|error| {
            CliFailure::incomplete(format!("cannot listen for signals: {error}"))
        })?;
        let mut lines = EventLines::default();
        let mut observers: Vec<&mut dyn RunObserver> = vec![&mut progress];
        if events {
            observers.push(&mut lines);
        }
        let finished = work(helper, cancel, observers).await;
        progress.finish();
        Ok(finished)
    })
}

/// The events as they were recorded, one JSON object a line, without cases of private datasets.
#[derive(Default)]
struct EventLines(PrivateCases);

impl RunObserver for EventLines {
    fn event(&mut self, event: &Event) {
        let Some(event) = self.0.hidden(event) else {
            return;
        };
        let mut line = Vec::new();
        if json::to_writer(&mut line, &*event).is_ok() {
            line.push(b'\n');
            // A reader that went away does not end the run.
            let _ = io::stdout().lock().write_all(&line);
        }
    }
}

pub fn failure(error: RunError) -> CliFailure {
    let failure = if error.is_definition() {
        CliFailure::wrong(&error)
    } else {
        CliFailure::incomplete(&error)
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The code that the gate decided on.
pub fn exit_code(summary: &Summary) -> ExitCode {
    ExitCode::of(summary.gate.decision, summary.metadata.interrupted)
}

fn show(
    console: &Console,
    args: &RunArgs,
    github: Option<&GithubStep>,
    summary: &Summary,
    written: &[PathBuf],
) -> Result<(), CliFailure> {
    if args.session.events {
        return Ok(());
    }
    if args.session.quiet {
        let reasons: String = summary
            .gate
            .reasons
            .iter()
            .map(|reason| format!("  {reason}\n"))
            .collect();
        let text = format!("{}\n{reasons}", summary.gate.decision.name());
        let page = ci::for_log(
            github,
            eval_base::text::sanitize(&text).into_owned().into_bytes(),
        );
        return Ok(console.result(&page)?);
    }
    let cwd = suite::cwd()?;
    let paths: Vec<String> = written
        .iter()
        .map(|path| console.path(&cwd, path))
        .collect();
    let mut page = Vec::new();
    report::terminal(
        summary,
        &console.terminal_options(args.session.verbose),
        &paths,
        &mut page,
    )?;
    Ok(console.result(&ci::for_log(github, page))?)
}
