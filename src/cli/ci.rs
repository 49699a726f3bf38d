//! Where GitHub's users look: annotations of files, the summary of a step, and its outputs.
//!
//! Annotations go to stderr, which the runner reads as it reads stdout: what stdout carries stays
//! whole. Nothing that goes wrong here changes an exit code.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::CliFailure;
use super::args::CiMode;
use super::console::Console;
use crate::model::{PhaseReport, ReportFormat, StepResult, StepStatus, Summary};
use crate::phase;
use crate::report;
use crate::report::annotations::{self, Annotation, AnnotationLevel};
use crate::report::page::cut;
use crate::report::page::escape::code_whole;
use crate::spec::FailureAction;

/// What GitHub takes as the summary of one step; a larger one is not shown at all.
const MAX_SUMMARY: u64 = 1 << 20;

/// A step of a workflow.
#[derive(Debug, Clone, Default)]
pub struct GithubStep {
    summary: Option<PathBuf>,
    output: Option<PathBuf>,
}

/// What is told of a run or a phase.
struct GithubReport<'a> {
    annotations: Vec<Annotation>,
    markdown: &'a str,
    /// Name and value, for later steps.
    outputs: Vec<(&'a str, String)>,
    report: Option<&'a str>,
}

impl GithubStep {
    /// The step that this process is part of, if it is and somebody wants to see it there.
    pub fn of(mode: CiMode) -> Option<GithubStep> {
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
        };
        let within = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        match mode {
            CiMode::None => None,
            CiMode::Auto if !within => None,
            CiMode::Auto | CiMode::Github => Some(GithubStep {
                summary: path("GITHUB_STEP_SUMMARY"),
                output: path("GITHUB_OUTPUT"),
            }),
        }
    }

    /// Of a run; `report` is where its report lies, `code` the exit code.
    pub fn tell_run(&self, console: &Console, summary: &Summary, report: Option<&str>, code: u8) {
        let mut page = Vec::new();
        if let Err(error) = report::render(ReportFormat::Markdown, summary, &mut page) {
            console.warn(&format!("the summary for GitHub can't be written: {error}"));
        }
        self.tell(
            console,
            GithubReport {
                annotations: annotations::of_run(summary),
                markdown: &String::from_utf8_lossy(&page),
                outputs: vec![
                    ("decision", summary.gate.decision.name().to_owned()),
                    ("exit_code", code.to_string()),
                    ("run_id", summary.metadata.run_id.clone()),
                ],
                report,
            },
        );
    }

    /// Of a phase; `path` is where its report lies, `code` the exit code.
    pub fn tell_phase(
        &self,
        console: &Console,
        report: &PhaseReport,
        path: Option<&str>,
        code: u8,
    ) {
        let mut page = Vec::new();
        if let Err(error) = phase::report::markdown(report, &mut page) {
            console.warn(&format!("the summary for GitHub can't be written: {error}"));
        }
        self.tell(
            console,
            GithubReport {
                annotations: of_phase(report),
                markdown: &String::from_utf8_lossy(&page),
                outputs: vec![
                    ("decision", report.gate.decision.name().to_owned()),
                    ("exit_code", code.to_string()),
                    ("phase_id", report.metadata.phase_id.clone()),
                ],
                report: path,
            },
        );
    }

    fn tell(&self, console: &Console, mut told: GithubReport) {
        console.commands(&annotations::as_commands(&told.annotations));
        if let Some(file) = &self.summary {
            let rest = match told.report {
                Some(path) => format!("The complete report is {}.", code_whole(path)),
                None => "The journal contains everything.".to_owned(),
            };
            if let Err(error) = append_summary(file, told.markdown, &rest) {
                console.warn(&format!(
                    "the summary of this step cannot be written: {error}"
                ));
            }
        }
        told.outputs
            .extend(told.report.map(|path| ("report", path.to_owned())));
        let lines: String = told
            .outputs
            .iter()
            .filter(|(_, value)| !value.contains(['\n', '\r']))
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        if let Some(file) = &self.output
            && let Err(error) = begins_line(file)
                .and_then(|begins| append(file, &if begins { lines } else { format!("\n{lines}") }))
        {
            console.warn(&format!(
                "the outputs of this step cannot be written: {error}"
            ));
        }
    }
}

/// Whether this is a machine on which nobody sits.
pub fn is_ci() -> bool {
    let value = std::env::var("CI").unwrap_or_default();
    value == "1" || value.eq_ignore_ascii_case("true")
}

/// Refuses a verb that accepts results where no one looks at them; `what` it writes.
pub fn refuse(verb: &str, what: &str) -> Result<(), CliFailure> {
    if !is_ci() {
        return Ok(());
    }
    let value = std::env::var("CI").unwrap_or_default();
    let message = format!("`{verb}` writes {what}, which is not allowed in CI (CI={value})");
    Err(CliFailure::wrong(message)
        .hint("run it on a machine where you can review the result and commit it"))
}

/// A page for stdout in a step's log.
pub fn for_log(github: Option<&GithubStep>, page: Vec<u8>) -> Vec<u8> {
    match (github, String::from_utf8(page)) {
        (Some(_), Ok(page)) => annotations::without_commands(&page).into_bytes(),
        (None, Ok(page)) => page.into_bytes(),
        (_, Err(bytes)) => bytes.into_bytes(),
    }
}

fn append_summary(file: &Path, markdown: &str, rest: &str) -> std::io::Result<()> {
    let used = file.metadata().map_or(0, |meta| meta.len());
    let room = usize::try_from(MAX_SUMMARY.saturating_sub(used)).unwrap_or_default();
    let text = cut(markdown, room.saturating_sub(2), rest);
    if text.len() + 2 > room {
        return Err(std::io::Error::other(
            "earlier commands of this step used up the 1 MiB that GitHub accepts",
        ));
    }
    // What stands before need not end with its line.
    append(
        file,
        &if used > 0 {
            format!("\n\n{text}")
        } else {
            text
        },
    )
}

/// True where nothing stands before on the line: a value that somebody wrote without its line end
/// would swallow our first name.
fn begins_line(file: &Path) -> std::io::Result<bool> {
    let mut file = match std::fs::File::open(file) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn append(file: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)?
        .write_all(text.as_bytes())
}

/// What the steps of a phase are to be looked at for. Of a step that does not block everything is a
/// warning.
fn of_phase(report: &PhaseReport) -> Vec<Annotation> {
    let mut all = Vec::new();
    for step in &report.steps {
        let level = match (step.status, step.action) {
            (StepStatus::Passed | StepStatus::NotChecked | StepStatus::NotReached, _) => continue,
            (StepStatus::Failed, FailureAction::Block) => AnnotationLevel::Error,
            _ => AnnotationLevel::Warning,
        };
        let title = format!(
            "{}: {} {}",
            report.metadata.name,
            step.name,
            step.status.name()
        );
        all.push(Annotation::new(level, None, &title, &step.reason));
        all.extend(of_step(step, level));
    }
    all
}

fn of_step(step: &StepResult, level: AnnotationLevel) -> Vec<Annotation> {
    let tests = step
        .tests
        .iter()
        .flat_map(|tests| &tests.failures)
        .map(|test| {
            let name = format!("{} {}", test.suite, test.name);
            Annotation::new(
                level,
                None,
                &format!("test failed: {}", name.trim()),
                &test.message,
            )
        });
    let evals = step
        .eval
        .iter()
        .flat_map(|eval| annotations::of_run(&eval.eval_report))
        .map(|found| Annotation {
            level: if level == AnnotationLevel::Error {
                found.level
            } else {
                AnnotationLevel::Warning
            },
            ..found
        });
    tests.chain(evals).collect()
}
