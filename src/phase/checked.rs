//! Steps that a command or test results decide: what is run and read, and by which rules the step
//! has passed.
//!
//! A command's step passes when it ends with exit code 0. A test step passes only if, besides,
//! nothing that its command wrote (JUnit files, the summary of a runner) tells of a failure, and,
//! where numbers are known, at least one test ran.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::command::{self, FinishedCommand};
use super::results::files::{self, EarlierFiles};
use super::results::{RunnerResults, SummaryReader, TestTally, say_each};
use crate::load::absolute_glob;
use crate::model::{CaseWorkspace, PhaseStep, StepCommand, StepResult, StepStatus, TestResults};
use crate::run::{CancelLevel, CancelSwitch};
use crate::spec::StepType;
use crate::workspace::{RunWorkspaces, WorkspaceFault, WrittenFiles};
use eval_base::redact::Redactor;
use eval_base::text::{plural, sanitize};
use eval_sandbox::process_tree::WatchedEnd;

/// Runs the command of a step in `dir`, in place, and reads what its tests came to.
///
/// `heard` gets the command's output as it comes, both streams. Paths in the result are relative to
/// `root`. When `cancel` is turned, the command is ended and the step is incomplete.
pub async fn command_step(
    step: &PhaseStep,
    (command, dir): (&StepCommand, &Path),
    cancel: &CancelSwitch,
    heard: &mut dyn FnMut(&[u8]),
    root: &Path,
) -> StepResult {
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let before = EarlierFiles::look(&command.junit, SystemTime::now());
    let mut summaries = (step.kind == StepType::Test).then(SummaryReader::default);
    let mut listen = |bytes: &[u8]| {
        if let Some(summaries) = &mut summaries {
            summaries.hear(bytes);
        }
        heard(bytes);
    };
    let ran = match command::run(command, dir, &env, cancel, &mut listen).await {
        Err(error) => {
            return StepResult {
                reason: error.reason,
                ..StepResult::plain(step, StepStatus::Incomplete)
            };
        }
        Ok(ran) => ran,
    };
    let read =
        (!command.junit.is_empty()).then(|| files::read(&command.junit, root, Some(&before)));
    let evidence = TestEvidence::of(read, summaries.and_then(SummaryReader::finish));
    let mut done = concluded(step, command, &ran, evidence);
    redact(&mut done, &Redactor::of_environment(&env));
    done
}

/// Runs the command of a step in a fresh copy of its workspace, which goes afterwards, and reads what
/// its tests came to. Otherwise as [`command_step`]; `heard` gets the output when the command has
/// ended, and paths in the result are relative to the workspace.
pub async fn copy_step(
    step: &PhaseStep,
    (command, definition): (&StepCommand, &Arc<CaseWorkspace>),
    workspaces: &RunWorkspaces,
    cancel: &CancelSwitch,
    heard: &mut dyn FnMut(&[u8]),
) -> StepResult {
    let started = Instant::now();
    let incomplete = |reason: String| StepResult {
        reason,
        ..StepResult::plain(step, StepStatus::Incomplete)
    };
    let work = in_copy(step, (command, definition), workspaces, heard);
    let mut done = tokio::select! {
        done = work => done.unwrap_or_else(|fault| incomplete(fault.reason)),
        () = cancel.reached(CancelLevel::Finish) => incomplete(
            "interrupted; it was stopped with all processes it had started".to_owned(),
        ),
    };
    done.duration_seconds = started.elapsed().as_secs_f64();
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    redact(&mut done, &Redactor::of_environment(&env));
    done
}

async fn in_copy(
    step: &PhaseStep,
    (command, definition): (&StepCommand, &Arc<CaseWorkspace>),
    workspaces: &RunWorkspaces,
    heard: &mut dyn FnMut(&[u8]),
) -> Result<StepResult, WorkspaceFault> {
    // Steps before may have changed the files that it is a copy of.
    workspaces.forget_templates();
    let workspace = workspaces.sample(definition, false).await?;
    let mut summaries = (step.kind == StepType::Test).then(SummaryReader::default);
    let mut listen = |bytes: &[u8]| {
        if let Some(summaries) = &mut summaries {
            summaries.hear(bytes);
        }
        heard(bytes);
    };
    let ran = command::run_in(&workspace, command, &mut listen).await;
    let read = match (&ran, command.junit.is_empty()) {
        (Ok(_), false) => Some(workspace.copy_written(command.junit.clone()).await),
        _ => None,
    };
    let torn_down = workspace.tear_down().await;
    let ran = ran?;
    let read = read.transpose()?.map(|WrittenFiles { folder, unread }| {
        let globs: Vec<String> = command
            .junit
            .iter()
            .map(|glob| absolute_glob(&folder, glob))
            .collect();
        let mut read = files::read(&globs, &folder, None);
        say_each(&mut read.tally.doubts, unread);
        read
    });
    let evidence = TestEvidence::of(read, summaries.and_then(SummaryReader::finish));
    let mut done = concluded(step, command, &ran, evidence);
    if let Err(fault) = torn_down {
        if done.status == StepStatus::Passed {
            done.status = StepStatus::Incomplete;
        }
        let between = if done.reason.is_empty() { "" } else { "; " };
        done.reason = format!("{}{between}{}", done.reason, fault.reason);
    }
    Ok(done)
}

/// The result of a step whose command has ended.
fn concluded(
    step: &PhaseStep,
    command: &StepCommand,
    ran: &FinishedCommand,
    evidence: Option<TestEvidence>,
) -> StepResult {
    let (status, reason) = verdict(ran, command.timeout, evidence.as_ref());
    let output_tail = if status == StepStatus::Passed {
        String::new()
    } else {
        tail(ran)
    };
    StepResult {
        reason,
        duration_seconds: ran.elapsed.as_secs_f64(),
        exit_code: if let WatchedEnd::Exited(code) = ran.end {
            Some(code)
        } else {
            None
        },
        output_tail,
        tests: evidence.map(TestEvidence::results),
        ..StepResult::plain(step, status)
    }
}

/// Reads test results that others wrote.
pub fn junit_step(step: &PhaseStep, globs: &[String], root: &Path) -> StepResult {
    let started = Instant::now();
    let evidence = TestEvidence::of(Some(files::read(globs, root, None)), None);
    let (status, reason) = match &evidence {
        Some(evidence) => by_tests(&evidence.tally).unwrap_or((StepStatus::Passed, String::new())),
        None => (StepStatus::Incomplete, "no test ran".to_owned()),
    };
    StepResult {
        reason,
        duration_seconds: started.elapsed().as_secs_f64(),
        tests: evidence.map(TestEvidence::results),
        ..StepResult::plain(step, status)
    }
}

/// What is known of the tests of a step.
#[derive(Debug, PartialEq)]
struct TestEvidence {
    tally: TestTally,
    source: String,
    files: Vec<String>,
    no_tests_codes: Vec<i32>,
}

impl TestEvidence {
    /// Numbers are those of the JUnit files, where such were asked for; what a summary says against
    /// a pass holds beside them.
    fn of(read: Option<files::FileTally>, said: Option<RunnerResults>) -> Option<TestEvidence> {
        let Some(files::FileTally { mut tally, files }) = read else {
            let RunnerResults {
                source,
                tally,
                no_tests_codes,
            } = said?;
            return Some(TestEvidence {
                tally,
                source,
                files: Vec::new(),
                no_tests_codes,
            });
        };
        let mut no_tests_codes = Vec::new();
        if let Some(said) = said {
            let RunnerResults {
                source,
                tally: reported,
                no_tests_codes: codes,
            } = said;
            no_tests_codes = codes;
            if reported.is_failing() && !tally.is_failing() {
                let sentences = failing(&reported).join(", ");
                tally.broken.push(format!(
                    "{source} reports: {sentences}; the JUnit files report no failure"
                ));
            } else if reported.ran() != tally.ran() && !reported.of_packages {
                let (reported, read) = (plural(reported.ran(), "test"), tally.ran());
                tally.notes.push(format!(
                    "{source} reports that {reported} ran, the JUnit files contain {read}"
                ));
            }
            tally.doubts.extend(reported.doubts);
        }
        Some(TestEvidence {
            tally,
            source: "junit".to_owned(),
            files,
            no_tests_codes,
        })
    }

    fn results(self) -> TestResults {
        self.tally.into_results(&self.source, self.files)
    }
}

/// What a command and its tests came to.
fn verdict(
    ran: &FinishedCommand,
    timeout: Duration,
    tests: Option<&TestEvidence>,
) -> (StepStatus, String) {
    let trouble = ran.trouble(timeout);
    match ran.end {
        WatchedEnd::Cancelled => return (StepStatus::Incomplete, trouble.unwrap_or_default()),
        WatchedEnd::TimedOut => return (StepStatus::Failed, trouble.unwrap_or_default()),
        WatchedEnd::Exited(_) | WatchedEnd::Signaled(_) => {}
    }
    let by_tests = tests.and_then(|evidence| by_tests(&evidence.tally));
    let Some(trouble) = trouble else {
        return match by_tests {
            Some((StepStatus::Failed, reason)) => (
                StepStatus::Failed,
                format!("{reason}, though the command ended with exit code 0"),
            ),
            Some(other) => other,
            None => (StepStatus::Passed, String::new()),
        };
    };
    match (by_tests, tests, ran.end) {
        (Some((StepStatus::Failed, reason)), _, WatchedEnd::Exited(_)) => {
            (StepStatus::Failed, reason)
        }
        (Some((StepStatus::Failed, reason)), _, _) => {
            (StepStatus::Failed, format!("{trouble}; {reason}"))
        }
        (Some((status, reason)), Some(evidence), WatchedEnd::Exited(code))
            if evidence.tally.ran() == 0 && evidence.no_tests_codes.contains(&code) =>
        {
            (status, format!("{reason} (exit code {code})"))
        }
        (Some((_, reason)), _, _) => (StepStatus::Failed, format!("{trouble}; {reason}")),
        (None, Some(_), _) => (
            StepStatus::Failed,
            format!("{trouble}, though no test failed"),
        ),
        (None, None, _) => (StepStatus::Failed, trouble),
    }
}

/// Why tests are no pass; `None` when they are.
fn by_tests(tally: &TestTally) -> Option<(StepStatus, String)> {
    if tally.is_failing() {
        return Some((StepStatus::Failed, failing(tally).join("; ")));
    }
    if !tally.doubts.is_empty() {
        return Some((StepStatus::Incomplete, tally.doubts.join("; ")));
    }
    if tally.ran() > 0 {
        return None;
    }
    let skipped = match tally.skipped {
        0 => String::new(),
        1 => ": the only one was skipped".to_owned(),
        n => format!(": all {n} were skipped"),
    };
    Some((StepStatus::Incomplete, format!("no test ran{skipped}")))
}

fn failing(tally: &TestTally) -> Vec<String> {
    let unit = if tally.of_packages { "package" } else { "test" };
    let of = |failed: usize| format!("{failed} of {} failed", plural(tally.total(), unit));
    (tally.failed > 0)
        .then(|| of(tally.failed))
        .into_iter()
        .chain(tally.broken.iter().cloned())
        .collect()
}

/// The end of what a command wrote, whole lines, safe to show.
fn tail(ran: &FinishedCommand) -> String {
    let text = String::from_utf8_lossy(&ran.tail);
    let text = match text.split_once('\n') {
        Some((_, whole)) if ran.cut => whole,
        _ => &text,
    };
    sanitize(text).trim_end().to_owned()
}

/// Takes out of a result what nobody may read. What runs came to was cleaned where it was
/// journalled.
pub(super) fn redact(result: &mut StepResult, redactor: &Redactor) {
    for text in result.texts_mut() {
        if let Some(clean) = redactor.redact(text) {
            *text = clean;
        }
    }
}

#[cfg(test)]
mod tests;
