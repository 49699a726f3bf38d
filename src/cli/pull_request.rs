//! `eval-harness ci`: a run as a pull request needs it. It sets options of `run`, and runs.

use super::args::{CiRunArgs, RunArgs};
use super::console::Console;
use super::run::{ReadyRun, conclude, load, overrides};
use super::{CliFailure, CliResult, list, resume, scores, suite};
use crate::baseline::{ScoreStore, ScoresOf};
use crate::gate::ExitCode;
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::ReportFormat;
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
    if !run.compared.name_a_side() {
        let base = BaseBranch::of(typed, |name| std::env::var(name).ok());
        match accepted_at(console, &run, &base)? {
            Some(rev) => {
                words.extend(["--compare-to".to_owned(), rev.clone()]);
                run.compared.compare_to = Some(rev);
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

/// The base branch, if it has accepted scores of the suite and target. Without them it says how to
/// begin.
///
/// # Errors
/// When the base branch is named and not there, or when its scores can't be read: a run that was
/// not compared would pass for one that is no worse.
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
    if *base == BaseBranch::Default && git::commit_of(&plan.suite.dir, rev).is_err() {
        console.warn("not compared: no base branch was found");
        console.hint(Some(
            "name it with `--against REV`, such as `--against origin/main`",
        ));
        return Ok(None);
    }
    let of = ScoresOf {
        suite: &plan.suite.name,
        target: &plan.target_name,
    };
    let store = ScoreStore::new(&plan.baselines.dir);
    if store.at(of, rev).map_err(scores::failure)?.is_some() {
        return Ok(Some(rev.to_owned()));
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
}
