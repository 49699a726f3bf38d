//! `eval-harness ci`: a run as a pull request needs it. It sets options of `run`, and runs.

use std::path::Path;

use super::args::{CiRunArgs, RunArgs};
use super::ci::is_ci;
use super::console::Console;
use super::run::{self, ReadyRun, conclude, load, overrides};
use super::{CliFailure, CliResult, list, resume, scores, suite};
use crate::baseline::{ScoreStore, ScoresOf};
use crate::gate::ExitCode;
use crate::journal;
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::{BaselineStage, Plan, ReportFormat};
use crate::report::write_report;
use eval_base::git;

/// Variables in which CI servers name the target branch of a pull request.
const BASE_VARIABLES: [&str; 6] = [
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "CHANGE_TARGET",
    "SYSTEM_PULLREQUEST_TARGETBRANCH",
];

/// In which GitLab names the project that a merge request goes to, and the one whose pipeline this
/// is.
const GITLAB_PROJECTS: [&str; 2] = ["CI_MERGE_REQUEST_PROJECT_ID", "CI_PROJECT_ID"];

/// What is written when `--format` does not say it.
const FORMATS: [(ReportFormat, &str); 6] = [
    (ReportFormat::Json, "json"),
    (ReportFormat::Markdown, "markdown"),
    (ReportFormat::Html, "html"),
    (ReportFormat::Junit, "junit"),
    (ReportFormat::Comment, "comment"),
    (ReportFormat::Badge, "badge"),
];

/// The branch that a pull request is compared with.
#[derive(Debug, PartialEq)]
enum BaseBranch {
    /// Named on the command line or by the CI server: it must be there.
    Named(String),
    /// The default branch of the remote, where nothing else names one.
    Default,
}

impl BaseBranch {
    fn of(typed: Option<String>, variable: impl Fn(&str) -> Option<String>) -> BaseBranch {
        let by_server = || {
            let mut named = BASE_VARIABLES.iter().filter_map(|name| variable(name));
            let branch = named.find(|branch| !branch.trim().is_empty())?;
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
            Some(format!("origin/{branch}"))
        };
        typed
            .or_else(by_server)
            .map_or(BaseBranch::Default, BaseBranch::Named)
    }

    fn rev(&self) -> &str {
        match self {
            BaseBranch::Named(rev) => rev,
            BaseBranch::Default => "origin/HEAD",
        }
    }
}

/// True in the pipeline of a fork, where `origin` is the fork: its branches are written by whoever
/// asks for the merge.
fn is_gitlab_fork(variable: impl Fn(&str) -> Option<String>) -> bool {
    let [target, own] = GITLAB_PROJECTS.map(|name| variable(name).filter(|id| !id.is_empty()));
    target.is_some() && own.is_some() && target != own
}

pub fn ci(console: &Console, args: CiRunArgs) -> CliResult {
    let CiRunArgs {
        mut run,
        comment,
        badge,
    } = args;
    if run.resume.is_some() {
        return Err(CliFailure::wrong("`ci` starts a new run")
            .hint("`eval-harness run --resume RUN` continues one"));
    }
    if run.watch {
        return Err(CliFailure::wrong("`ci` runs once, without `--watch`")
            .hint("`eval-harness run --watch` runs again whenever a file changes"));
    }
    run::since_has_a_use(&run)?;
    if run.suite.target.len() > 1 {
        return Err(CliFailure::wrong("`ci` runs one target")
            .hint("select it with --target, or call `ci` once for each target"));
    }
    let own = ["--against", "--comment", "--badge"];
    let typed = resume::typed("ci", "--resume");
    let mut words = own
        .iter()
        .fold(typed, |words, name| resume::without(words, name));
    let typed = run.suite.against.take();
    if run.compared.name_a_side() {
        if typed.is_some() {
            return Err(CliFailure::wrong(
                "`--against` names what `ci` compares with; use it, or `--compare-to`/`--baseline`, not both",
            ));
        }
    } else {
        let variable = |name: &str| std::env::var(name).ok();
        if typed.is_none() && is_gitlab_fork(variable) {
            let message =
                "the merge request comes from a fork, whose `origin` does not have the base branch";
            return Err(CliFailure::wrong(message).hint(
                "`git fetch` the branch from the target project ($CI_MERGE_REQUEST_PROJECT_URL), and pass it with \
                 `--against REV`",
            ));
        }
        let base = BaseBranch::of(typed, variable);
        match accepted_at(console, &run, &base)? {
            Some(word) => {
                words.extend(["--compare-to".to_owned(), word.clone()]);
                run.compared.compare_to = Some(word);
            }
            // Nothing to compare with: what a difference would cost does not matter.
            None => {
                words = resume::without(words, "--fail-on");
                words.retain(|word| word != "--allow-changed");
                run.compared.fail_on = None;
                run.compared.allow_changed = false;
            }
        }
    }
    if run.session.format.is_empty() {
        let names = FORMATS.map(|(_, name)| name).join(",");
        words.extend(["--format".to_owned(), names]);
        run.session.format = FORMATS.map(|(format, _)| format).to_vec();
    }
    let loaded = load(console, &run)?;
    let ready = ReadyRun::of(console, &run, words, None, loaded)?;
    if run.dry_run {
        return list::dry_run(console, &ready);
    }
    let (finished, after) = ready.drive(console, &run, None)?;
    let mut code = conclude(console, &run, &finished, &after)?;
    let files = [
        (comment, ReportFormat::Comment),
        (badge, ReportFormat::Badge),
    ];
    for (file, format) in files {
        let Some(file) = file else { continue };
        if let Err(error) = write_report(&file, format, &finished.summary) {
            console.error(&format!("cannot write {}: {error}", file.display()), None);
            if matches!(code, ExitCode::Pass | ExitCode::Pending) {
                code = ExitCode::Incomplete;
            }
        }
    }
    Ok(code)
}

/// The word for the base branch, if it has accepted scores of the suite and target. Without them it
/// says how to begin.
///
/// # Errors
/// When the base branch is named and not there, when none is found for scores that were accepted,
/// or when its scores can't be read: a run that was not compared would pass for one that is no
/// worse.
fn accepted_at(
    console: &Console,
    run: &RunArgs,
    base: &BaseBranch,
) -> Result<Option<String>, CliFailure> {
    let more = LoadOverrides {
        gateless: true,
        ..overrides(run)
    };
    // What is wrong with the suite is reported when it is loaded for the run.
    let Some(plan) = suite::load(&run.suite, PlanPurpose::List, more)?
        .loaded
        .plan
    else {
        return Ok(None);
    };
    let rev = base.rev();
    let of = ScoresOf {
        suite: &plan.suite.name,
        target: &plan.target_name,
    };
    let store = ScoreStore::new(&plan.baselines.dir);
    if *base == BaseBranch::Default && git::commit_of(&plan.suite.dir, rev).is_err() {
        let hint = "name it with `--against REV`, such as `--against origin/main`";
        let must_compare = run.compared.fail_on.is_some() || is_ci();
        // Scores that can't be read were accepted, too.
        if must_compare && !matches!(store.read(of, BaselineStage::Accepted), Ok(None)) {
            let message = format!(
                "no base branch was found, so the run can't be compared with the accepted scores of suite `{}` against target `{}`",
                of.suite, of.target
            );
            return Err(CliFailure::wrong(message).hint(hint));
        }
        console.warn("not compared: no base branch was found");
        console.hint(Some(hint));
        return Ok(None);
    }
    if store.at(of, rev).map_err(scores::failure)?.is_some() {
        return word_for(console, &plan, rev).map(Some);
    }
    console.warn(&format!(
        "not compared: `{rev}` has no accepted scores of suite `{}` against target `{}`",
        of.suite, of.target
    ));
    console.hint(Some(
        "to begin, accept the scores of a good run there and commit them: `eval-harness run`, `eval-harness \
         baseline capture --scores`, `eval-harness baseline accept --scores`",
    ));
    Ok(None)
}

/// By which a comparison finds the scores of a revision: its name, or the id of its commit where the
/// name means a file or a run, too. A comparison reads these first, and a pull request may add them.
///
/// # Errors
/// When the id of the commit means something else, too.
fn word_for(console: &Console, plan: &Plan, rev: &str) -> Result<String, CliFailure> {
    let runs = journal::list_runs(&plan.reporting.output_dir);
    let means_more = |word: &str| {
        // `+` joins the journals of shards.
        word.contains('+')
            || matches!(word, "latest" | "previous" | "accepted")
            || Path::new(word).exists()
            || runs.iter().any(|run| run.run_id == word)
    };
    if !means_more(rev) {
        return Ok(rev.to_owned());
    }
    let commit = git::commit_of(&plan.suite.dir, rev).map_err(|error| {
        let failure = CliFailure::wrong(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    if means_more(&commit) {
        let message = format!("`{rev}` and its commit {commit} are also names of files or runs");
        return Err(CliFailure::wrong(message).hint("rename the files"));
    }
    console.note(&format!("`{rev}` is read as commit {commit}"));
    Ok(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_branch_is_named_by_the_user_or_the_server() {
        let base = |typed: Option<&str>, set: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            BaseBranch::of(typed.map(str::to_owned), variable)
                .rev()
                .to_owned()
        };
        assert_eq!(base(None, &[]), "origin/HEAD");
        assert_eq!(base(None, &[("GITHUB_BASE_REF", "")]), "origin/HEAD");
        assert_eq!(base(None, &[("GITHUB_BASE_REF", "main")]), "origin/main");
        let gitlab = ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "release/1");
        assert_eq!(base(None, &[gitlab]), "origin/release/1");
        assert_eq!(base(Some("v1"), &[gitlab]), "v1");
        let azure = ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main");
        assert_eq!(base(None, &[azure]), "origin/main");
    }

    #[test]
    fn a_merge_request_of_another_project_comes_from_a_fork() {
        let fork = |target: Option<&str>, own: Option<&str>| {
            is_gitlab_fork(|name| {
                let id = if name == "CI_PROJECT_ID" { own } else { target };
                id.map(str::to_owned)
            })
        };
        assert!(fork(Some("7"), Some("8")));
        assert!(!fork(Some("7"), Some("7")));
        assert!(!fork(None, Some("8")));
        assert!(!fork(Some(""), Some("8")));
        assert!(!fork(Some("7"), None));
    }
}
