//! From arguments to a loaded suite: what all verbs on suites share.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::args::SuiteArgs;
use super::console::Console;
use super::{CliFailure, defaults, report};
use crate::gate::ExitCode;
use crate::journal::{self, RunPaths};
use crate::load::{self, CaseFilters, LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, render};
use crate::model::{Plan, private_case_id};
use crate::run;
use eval_base::text::{one_line, plural};

/// Looked for in this order when `--suite` is not given.
const DEFAULT_SUITES: [&str; 4] = [
    "evals/eval-suite.yaml",
    "eval-suite.yaml",
    "evals/eval-suite.yml",
    "eval-suite.yml",
];

pub fn suite_path(given: Option<&Path>) -> Result<PathBuf, CliFailure> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let cwd = cwd()?;
    let of_file = || defaults::suite_from(&cwd);
    let nearest = || Some(way(&cwd, &default_suite(&cwd)?));
    of_file().or_else(nearest).ok_or_else(|| {
        CliFailure::wrong("there is no evals/eval-suite.yaml and no eval-suite.yaml here or in a folder above, up to the project root")
            .hint("pass the suite with --suite, or create one with `eval-harness init`")
    })
}

/// The suite that is meant in a folder when none is named: the nearest one, there or above it up to
/// the root of the repository. Outside of a repository only the folder itself counts.
pub fn default_suite(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|dir| dir.join(".git").exists());
    let root = root.unwrap_or(folder);
    let folders = folder.ancestors().take_while(|dir| dir.starts_with(root));
    folders
        .flat_map(|dir| DEFAULT_SUITES.map(|path| dir.join(path)))
        .find(|path| path.is_file())
}

/// The suite that is used when none is named, where it is not in the working folder or not one of
/// the usual files there: what a command line would have to name.
pub fn unusual_suite() -> Option<PathBuf> {
    let path = suite_path(None).ok()?;
    let is_usual = DEFAULT_SUITES.iter().any(|usual| Path::new(usual) == path);
    (!is_usual).then_some(path)
}

/// The way from a folder to a file, both absolute.
pub fn way(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

/// A suite as far as it can be read, for verbs that need its folders only.
pub fn listed(suite: PathBuf) -> Result<Option<Plan>, CliFailure> {
    let request = LoadRequest {
        suite,
        purpose: PlanPurpose::List,
        env: environment(),
        cwd: cwd()?,
        cpus: cpus(),
        ..LoadRequest::default()
    };
    Ok(load::load(&request).plan)
}

pub fn cwd() -> Result<PathBuf, CliFailure> {
    std::env::current_dir()
        .map_err(|error| CliFailure::wrong(format!("cannot find the current folder: {error}")))
}

/// The process environment; names or values that are no UTF-8 can't be asked for.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A loaded suite, and its filters in words.
pub struct SelectedSuite {
    pub loaded: LoadedPlan,
    pub filters: Vec<String>,
    /// The id of the run that `--failed-in` names.
    pub failed_in: Option<String>,
    /// What was loaded, so that it can be loaded again with something changed.
    pub request: LoadRequest,
}

/// Loads what the arguments name. `more` are the overrides that only some verbs have.
pub fn load(
    args: &SuiteArgs,
    purpose: PlanPurpose,
    more: LoadOverrides,
) -> Result<SelectedSuite, CliFailure> {
    let suite = suite_path(args.suite.as_deref())?;
    let mut request = LoadRequest {
        suite,
        purpose,
        overrides: LoadOverrides {
            target: only_one(&args.target, "targets")?,
            prompt: only_one(&args.prompt, "prompts")?,
            outputs: args.outputs.clone(),
            vars: args.vars.clone(),
            against: args.against.clone(),
            samples: args.samples,
            grader_type: args.grader_type,
            filters: filters(args),
            shard: args.shard,
            ..more
        },
        env: environment(),
        cwd: cwd()?,
        cpus: cpus(),
        ..LoadRequest::default()
    };
    let mut failed_in = None;
    let mut earlier = None;
    if let Some(run) = &args.filters.failed_in {
        let dir = report::results_dir(
            Some(&request.suite),
            request.overrides.output_dir.as_deref(),
        )?;
        let paths = journal::find_run(&dir, run)?;
        if run == "latest" {
            refuse_one_of_several(&dir, &paths)?;
        }
        let cases = run::cases(&paths.journal(), false).map_err(super::run::failure)?;
        request.overrides.filters.only = Some(cases);
        failed_in = Some(if run == "latest" {
            paths.run_id.clone()
        } else {
            run.clone()
        });
        earlier = Some(paths);
    }
    let mut words = request.overrides.filters.describe();
    if let Some(run) = &failed_in {
        words.retain(|word| !word.ends_with("named cases"));
        words.push(format!("not passed in {run}"));
    }
    let mut loaded = load::load(&request);
    let plan = loaded.plan.iter();
    let mut evals = plan.flat_map(|plan| plan.evals.iter().chain(&plan.whole));
    if evals.any(|eval| eval.info.is_private()) {
        // A pattern may be the id of a case. Other patterns are other filters.
        for word in words.iter_mut().filter(|word| word.starts_with("case ")) {
            *word = format!("named cases (#{})", private_case_id("", word));
        }
    }
    if let Some(earlier) = earlier.filter(|_| loaded.plan.is_none() && loaded.selected.cases == 0)
        && let Some(broken) = nothing_selected(&earlier, &request)?
    {
        loaded = broken;
    }
    Ok(SelectedSuite {
        loaded,
        filters: words,
        failed_in,
        request,
    })
}

/// Earlier runs of the same command that have cases that did not pass, or whose gate did not pass.
/// Runs that were removed are not listed.
pub fn failed_siblings(dir: &Path, paths: &RunPaths) -> Result<Vec<FailedSibling>, CliFailure> {
    let mut failed = Vec::new();
    for run_id in journal::started(&paths.journal())?.siblings {
        let Ok(sibling) = journal::find_run(dir, &run_id) else {
            continue;
        };
        let summary = run::reread(&sibling.journal())
            .map_err(CliFailure::unreadable)?
            .summary;
        let counts = &summary.summary.cases;
        let cases = counts.total - counts.passed;
        if cases > 0 || super::run::exit_code(&summary) != ExitCode::Pass {
            failed.push(FailedSibling {
                target: summary.metadata.environment.target.clone(),
                run_id,
                cases,
            });
        }
    }
    Ok(failed)
}

/// A run beside another that did not pass.
pub struct FailedSibling {
    pub run_id: String,
    pub target: String,
    /// Its cases that did not pass; 0 when only its gate did not.
    pub cases: usize,
}

impl std::fmt::Display for FailedSibling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.cases {
            0 => "the gate".to_owned(),
            cases => plural(cases, "case"),
        };
        let target = one_line(&self.target);
        write!(
            f,
            "{what} of {} (target {target}) did not pass",
            self.run_id
        )
    }
}

/// Refuses `latest` where the command of the latest run made others that failed: its own cases may
/// all have passed.
fn refuse_one_of_several(dir: &Path, latest: &RunPaths) -> Result<(), CliFailure> {
    let failed = failed_siblings(dir, latest)?;
    let Some(first) = failed.first() else {
        return Ok(());
    };
    let failed: Vec<String> = failed.iter().map(FailedSibling::to_string).collect();
    let message = format!(
        "`latest` is one of several runs of one command: {}",
        failed.join("; ")
    );
    Err(CliFailure::wrong(message)
        .hint(format!("name one, such as `--failed-in {}`", first.run_id)))
}

/// The target or the prompt that is named, where there can be only one.
fn only_one(named: &[String], what: &str) -> Result<Option<String>, CliFailure> {
    match named {
        [] => Ok(None),
        [name] => Ok(Some(name.clone())),
        _ => Err(CliFailure::wrong(format!(
            "only `run` accepts several {what}; pass one"
        ))),
    }
}

fn filters(args: &SuiteArgs) -> CaseFilters {
    let filters = &args.filters;
    CaseFilters {
        category: filters.category.clone(),
        tag: filters.tag.clone(),
        eval: filters.eval.clone(),
        case: filters.case.clone(),
        difficulty: filters.difficulty.clone(),
        criticality: filters.criticality.clone(),
        only: None,
    }
}

/// Ends the verb where `--failed-in` selects no case because all of them passed in the earlier run.
/// Errors of the suite and of the other filters come first: they are returned.
fn nothing_selected(
    earlier: &RunPaths,
    request: &LoadRequest,
) -> Result<Option<LoadedPlan>, CliFailure> {
    let mut wider = request.clone();
    let only = wider.overrides.filters.only.take();
    let all_passed = only.is_none_or(|cases| cases.is_empty());
    let is_filtered = !wider.overrides.filters.is_empty();
    // Nothing runs, so no threshold is checked.
    wider.overrides.gateless = true;
    let loaded = load::load(&wider);
    let Some(plan) = &loaded.plan else {
        return Ok(Some(loaded));
    };
    let summary = run::reread(&earlier.journal())
        .map_err(CliFailure::unreadable)?
        .summary;
    let id = &earlier.run_id;
    if summary.metadata.suite_name != plan.suite.name {
        let message = format!(
            "{id} belongs to suite `{}`, not `{}`",
            summary.metadata.suite_name, plan.suite.name
        );
        return Err(CliFailure::wrong(message).hint("pass a run of this suite to `--failed-in`"));
    }
    if all_passed && super::run::exit_code(&summary) != ExitCode::Pass {
        // A gate may depend on more than single cases.
        return Err(CliFailure::wrong(format!(
            "every case of {id} passed, so nothing is selected, but its gate did not pass"
        ))
        .hint(format!(
            "`eval-harness report --run {id}` shows why; run the suite without `--failed-in`"
        )));
    }
    if !is_filtered {
        return match all_passed {
            true => Err(CliFailure::nothing_to_do(format!(
                "every case of {id} passed: there is nothing to run again"
            ))),
            false => Ok(None),
        };
    }
    let passed = run::cases(&earlier.journal(), true).map_err(super::run::failure)?;
    let selected = plan.evals.iter().flat_map(|eval| {
        let id = eval.info.id.as_str();
        eval.cases.outlines().map(move |case| (id, case.id))
    });
    let mut selected = selected.peekable();
    // A shard may have no case at all.
    let has_some = selected.peek().is_some() || request.overrides.shard.is_some();
    let has_passed =
        |(eval, case): (&str, &str)| passed.contains(&(eval.to_owned(), case.to_owned()));
    if has_some && selected.all(has_passed) {
        return Err(CliFailure::nothing_to_do(format!(
            "every selected case passed in {id}: there is nothing to run again"
        )));
    }
    if all_passed {
        let message = format!(
            "every case of {id} passed, but the filters select cases that it does not have"
        );
        return Err(CliFailure::wrong(message).hint("run them without `--failed-in`"));
    }
    Ok(None)
}

/// The plan, or every problem on stderr and exit code 2. Warnings are shown either way.
pub fn plan_or_problems(console: &Console, loaded: LoadedPlan) -> Result<Plan, CliFailure> {
    if !loaded.problems.is_empty() {
        console.note(
            render::human(&loaded.problems, &loaded.sources, human_options(console)).trim_end(),
        );
    }
    let errors = loaded.problems.error_count();
    match loaded.plan {
        Some(plan) if errors == 0 => Ok(plan),
        _ => Err(CliFailure::wrong(format!(
            "{} in the suite; nothing ran",
            plural(errors.max(1), "problem")
        ))),
    }
}

pub fn human_options(console: &Console) -> render::HumanOptions {
    render::HumanOptions {
        width: console.stderr_width(),
        wrap: console.stderr_is_terminal(),
        colour: console.stderr_color(),
        limit: 200,
    }
}
