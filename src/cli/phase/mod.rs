//! `eval-harness phase`.

mod outline;
mod teller;

use std::path::{Path, PathBuf};

use self::teller::PhaseProgress;
use super::args::{PhaseArgs, PhaseFormat};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::{CliFailure, CliResult, notify, run, signals, suite};
use crate::gate::ExitCode;
use crate::load::{self, LoadOverrides, LoadedPhase, PhaseFileName, PhaseRequest, render};
use crate::model::{Decision, PhaseReport, StepStatus};
use crate::notify::NotifyMessage;
use crate::phase::{self, FinishedPhase, NotReady, PhaseRun, ReadyPhase};
use crate::report::ReportError;
use crate::run::CancelSwitch;
use crate::spec::words::CacheMode;
use eval_base::clock::SystemClock;
use eval_base::text::{plural, sanitize};
use eval_base::whole_file::WholeFile;

pub fn phase(console: &Console, args: &PhaseArgs) -> CliResult {
    let loaded = load::phase(&request(args)?);
    if !loaded.problems.is_empty() {
        let shown = render::human(
            &loaded.problems,
            &loaded.sources,
            suite::human_options(console),
        );
        console.note(shown.trim_end());
    }
    let LoadedPhase {
        phase,
        suites,
        results,
        waits_for,
        problems,
        ..
    } = loaded;
    if let Some(moment) = waits_for {
        let now = args.when.as_deref().unwrap_or_default();
        console.note(&format!(
            "nothing to do: the trigger applies to `{moment}`, but the moment is `{now}`"
        ));
        return Ok(ExitCode::Pass);
    }
    let errors = problems.error_count();
    let Some(phase) = phase.filter(|_| errors == 0) else {
        let problems = plural(errors.max(1), "problem");
        return Err(CliFailure::wrong(format!(
            "{problems} in the phase and its suites; nothing ran"
        )));
    };
    let mut ready = phase::ready(phase, suites, results).map_err(not_ready)?;
    ready.comment.clone_from(&args.comment);
    ready
        .warnings
        .iter()
        .for_each(|warning| console.warn(warning));
    if args.dry_run {
        return outline::dry_run(console, &ready);
    }
    ready.try_places().map_err(not_ready)?;
    let mut worked = drive(console, args, ready)?;
    conclude(console, args, &mut worked)
}

/// Writes the comment that was asked for; returns why it could not be written.
fn comment(args: &PhaseArgs, report: &PhaseReport) -> Option<String> {
    let file = args.comment.as_ref()?;
    let written = WholeFile::create(file)
        .map_err(ReportError::from)
        .and_then(|mut out| {
            phase::report::comment(report, &mut out)?;
            Ok(out.keep()?)
        });
    written
        .err()
        .map(|error| format!("{}: {error}", file.display()))
}

fn request(args: &PhaseArgs) -> Result<PhaseRequest, CliFailure> {
    let file = match (&args.plan, &args.trigger) {
        (Some(path), _) => PhaseFileName::Plan(path.clone()),
        (None, Some(path)) => PhaseFileName::Trigger(path.clone()),
        (None, None) => return Err(CliFailure::wrong("pass a file with --plan or --trigger")),
    };
    Ok(PhaseRequest {
        file,
        phase_id: args.phase_id.clone(),
        when: args.when.clone(),
        junit: args.junit.clone(),
        base: args.base.clone(),
        report_path: args.output.clone(),
        overrides: LoadOverrides {
            target: args.target.clone(),
            outputs: args.outputs.clone(),
            vars: args.vars.clone(),
            jobs: args.jobs,
            output_dir: args.output_dir.clone(),
            allow_unsandboxed: args.allow_unsandboxed,
            models: args.models.overrides(),
            ..LoadOverrides::default()
        },
        env: suite::environment(),
        cwd: suite::cwd()?,
        cpus: suite::cpus(),
    })
}

fn not_ready(error: NotReady) -> CliFailure {
    match error {
        NotReady::Run(error) => run::failure(error),
        error => {
            let failure = CliFailure::wrong(&error);
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
    }
}

/// Works the phase off with everything that it needs of this process.
fn drive(
    console: &Console,
    args: &PhaseArgs,
    ready: ReadyPhase,
) -> Result<FinishedPhase, CliFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliFailure::wrong(format!("cannot start: {error}")))?;
    let helper = std::env::current_exe().map_err(|error| {
        CliFailure::wrong(format!(
            "cannot find the executable of eval-harness: {error}"
        ))
    })?;
    let cache = load::cache_folder(&suite::environment());
    let cache = cache.filter(|_| args.models.overrides().cache != Some(CacheMode::Off));
    runtime.block_on(async {
        let cancel = CancelSwitch::default();
        let mut teller = PhaseProgress::new(console, args);
        signals::listen(cancel.clone(), teller.speaker())
            .map_err(|error| CliFailure::wrong(format!("cannot listen for signals: {error}")))?;
        let watcher = &mut teller;
        Ok(phase::drive(PhaseRun {
            ready,
            helper,
            cache,
            clock: &SystemClock,
            cancel,
            watcher,
        })
        .await)
    })
}

/// Keeps the report, then everything that follows from it; the exit code is that of the gate.
fn conclude(console: &Console, args: &PhaseArgs, worked: &mut FinishedPhase) -> CliResult {
    worked
        .report
        .notes
        .iter()
        .for_each(|note| console.warn(note));
    let github = GithubStep::of(args.ci.mode);
    let mut untold: Vec<String> = Vec::new();
    let written = worked
        .files
        .write(&worked.report)
        .map_err(|error| untold.push(error.to_string()))
        .is_ok();
    // What is told from here on has to agree with the exit code.
    untold
        .iter()
        .for_each(|message| phase::not_kept(&mut worked.report.gate, message));
    if let Some(message) = comment(args, &worked.report) {
        phase::not_kept(&mut worked.report.gate, &message);
        untold.push(message);
        if written {
            untold.extend(
                worked
                    .files
                    .write(&worked.report)
                    .err()
                    .map(|error| error.to_string()),
            );
        }
    }
    let before = worked.report.notes.len();
    if written {
        keep(console, worked);
    }
    let path = written.then(|| seen_from(&worked.phase.root, &worked.files.markdown));
    let told = tell(console, worked, path.as_deref());
    worked.report.notes.extend(told);
    if worked.report.notes.len() > before && written {
        untold.extend(
            worked
                .files
                .write_notes(&worked.report)
                .err()
                .map(|error| error.to_string()),
        );
    }
    let shown = show(console, args, github.as_ref(), worked, written);
    untold.extend(shown.err().map(|failure| failure.message));
    let mut code = exit_code(&worked.report);
    if !untold.is_empty() {
        untold
            .iter()
            .for_each(|message| console.error(message, None));
        // A failed gate stays failed; what nobody could read has not passed.
        if matches!(code, ExitCode::Pass | ExitCode::Pending) {
            code = ExitCode::Incomplete;
        }
    }
    if let Some(github) = &github {
        github.tell_phase(console, &worked.report, path.as_deref(), code.code());
    }
    if worked.report.gate.interrupted {
        console.note("the journals are complete; run the same command to start the phase again");
    }
    Ok(code)
}

/// Archives what passed. That nobody could is told, and leaves the gate as it is.
fn keep(console: &Console, worked: &mut FinishedPhase) {
    if !worked.phase.archive || !worked.passed_whole() {
        return;
    }
    if let Err(error) = phase::archive::archive(worked) {
        console.warn(&error.to_string());
        worked.report.notes.push(error.to_string());
    }
}

/// Tells the channels; returns what went wrong.
fn tell(console: &Console, worked: &FinishedPhase, path: Option<&str>) -> Vec<String> {
    if !worked.phase.notification {
        return Vec::new();
    }
    let mut message = NotifyMessage::of_phase(&worked.report, path);
    // `on_failure` of a trigger speaks of its gate, also where the work may go on.
    if worked.phase.when.is_some()
        && let Some(status) = worked.report.steps.last().map(|step| step.status)
    {
        message.decision = match status {
            StepStatus::Failed => Decision::Fail,
            StepStatus::Incomplete => Decision::Incomplete,
            StepStatus::Pending => Decision::Pending,
            StepStatus::Passed | StepStatus::NotChecked | StepStatus::NotReached => {
                message.decision
            }
        };
    }
    notify::tell(console, &worked.channels, &message)
}

fn exit_code(report: &PhaseReport) -> ExitCode {
    let all = [
        ExitCode::Pass,
        ExitCode::Fail,
        ExitCode::Wrong,
        ExitCode::Incomplete,
        ExitCode::Pending,
        ExitCode::Interrupted,
    ];
    all.into_iter()
        .find(|code| code.code() == report.gate.exit_code)
        .unwrap_or(ExitCode::Incomplete)
}

fn show(
    console: &Console,
    args: &PhaseArgs,
    github: Option<&GithubStep>,
    worked: &FinishedPhase,
    written: bool,
) -> Result<(), CliFailure> {
    let report = &worked.report;
    let mut page = Vec::new();
    match args.format {
        PhaseFormat::Json => {
            phase::report::json(report, &mut page).map_err(CliFailure::incomplete)?
        }
        PhaseFormat::Html => {
            phase::report::html(report, &|_| None, &mut page).map_err(CliFailure::incomplete)?
        }
        PhaseFormat::Markdown => {
            phase::report::markdown(report, &mut page).map_err(CliFailure::incomplete)?
        }
        PhaseFormat::Terminal if args.quiet => {
            let reasons: String = report
                .gate
                .reasons
                .iter()
                .map(|reason| format!("  {reason}\n"))
                .collect();
            let text = format!("{}\n{reasons}", report.gate.decision.name());
            page.extend(sanitize(&text).as_bytes());
        }
        PhaseFormat::Terminal => {
            let cwd = suite::cwd()?;
            let files = written_files(worked, written);
            let shown: Vec<String> = files.iter().map(|path| console.path(&cwd, path)).collect();
            phase::report::terminal(
                report,
                &console.terminal_options(args.verbose),
                &shown,
                &mut page,
            )
            .map_err(CliFailure::incomplete)?;
        }
    }
    // What people read; other formats stay whole.
    let page = match args.format {
        PhaseFormat::Json | PhaseFormat::Html => page,
        PhaseFormat::Markdown | PhaseFormat::Terminal => ci::for_log(github, page),
    };
    Ok(console.result(&page)?)
}

fn written_files(worked: &FinishedPhase, written: bool) -> Vec<&PathBuf> {
    let runs = worked.runs.iter().flat_map(|run| &run.reports);
    let own = worked.files.all().into_iter().filter(|_| written);
    runs.chain(own).collect()
}

fn seen_from(cwd: &Path, path: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}
