//! `eval-harness report`.

use std::path::{Path, PathBuf};

use super::args::{CiMode, ReportArgs};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::run::{exit_code, say_how_to_go_on};
use super::{CliFailure, CliResult, review, sides, suite};
use crate::gate::ExitCode;
use crate::journal::{self, RunPaths};
use crate::model::{CaseResult, ReportFormat, Summary};
use crate::report::sides::RunSides;
use crate::report::{self, write_report};
use crate::run;
use eval_base::globs::IdGlobs;
use eval_base::whole_file::write_whole;

pub fn report(console: &Console, args: &ReportArgs) -> CliResult {
    let filters = ListFilters::of(args)?;
    let dir = results_dir(
        args.place.suite.as_deref(),
        args.place.output_dir.as_deref(),
    )?;
    let (mut journals, mut seen) = (Vec::new(), Vec::new());
    for run in &args.run {
        let journal = journal::find_run(&dir, run)?.journal();
        // A glob finds a journal under its day, and under `latest`.
        let real = journal.canonicalize().unwrap_or_else(|_| journal.clone());
        if journals.contains(&journal) || !seen.contains(&real) {
            journals.push(journal);
            seen.push(real);
        }
    }
    let mut summary = match journals.as_slice() {
        [journal] => {
            run::reread(journal)
                .map_err(CliFailure::unreadable)?
                .summary
        }
        several if !run::any_shard(several).map_err(CliFailure::unreadable)? => {
            if filters.is_some() {
                return Err(CliFailure::wrong(
                    "`--failed`, `--errored`, `--flaky`, `--eval` and `--case` filter the cases of one run",
                )
                .hint("pass a single `--run`, or all shards of one run"));
            }
            let mut runs = Vec::with_capacity(several.len());
            for journal in several {
                runs.push(
                    run::reread(journal)
                        .map_err(CliFailure::unreadable)?
                        .summary,
                );
            }
            return side_by_side(console, args, &runs, several);
        }
        several => run::join(several).map_err(CliFailure::unreadable)?,
    };
    if let Some(filters) = filters {
        filters.apply(console, args, &journals, &mut summary)?;
    }
    if journals.len() == 1 {
        say_how_to_go_on(console, &summary);
    }
    if let ([journal], true) = (journals.as_slice(), summary.people.is_some()) {
        review::say_newer(console, args.place.suite.as_deref(), journal)?;
    }
    if let Some(file) = &args.output {
        write_report(file, args.format, &summary).map_err(|error| {
            CliFailure::incomplete(format!("cannot write {}: {error}", file.display()))
        })?;
        return Ok(exit_code(&summary));
    }
    let mut page = Vec::new();
    if args.format == ReportFormat::Terminal {
        report::terminal(
            &summary,
            &console.terminal_options(args.verbose),
            &[],
            &mut page,
        )?;
    } else {
        report::render(args.format, &summary, &mut page).map_err(CliFailure::wrong)?;
    }
    // What people read; a machine's formats stay whole.
    if matches!(
        args.format,
        ReportFormat::Terminal | ReportFormat::Markdown | ReportFormat::Comment
    ) {
        page = ci::for_log(GithubStep::of(CiMode::Auto).as_ref(), page);
    }
    console.result(&page)?;
    Ok(exit_code(&summary))
}

/// The cases that the lists of a report are to show.
struct ListFilters {
    eval: IdGlobs,
    case: IdGlobs,
    /// The filters as they were typed.
    words: Vec<String>,
}

impl ListFilters {
    /// `None` when nothing is filtered.
    fn of(args: &ReportArgs) -> Result<Option<ListFilters>, CliFailure> {
        let globs = |flag: &str, patterns: &[String]| {
            IdGlobs::new(patterns).map_err(|error| {
                CliFailure::wrong(format!(
                    "`{flag} {}` is not a glob: {}",
                    error.pattern, error.reason
                ))
            })
        };
        let outcomes = [
            ("--failed", args.outcomes.failed),
            ("--errored", args.outcomes.errored),
            ("--flaky", args.outcomes.flaky),
        ];
        let outcomes = outcomes.into_iter().filter(|(_, given)| *given);
        let mut words: Vec<String> = outcomes.map(|(flag, _)| flag.to_owned()).collect();
        for (flag, patterns) in [("--eval", &args.eval), ("--case", &args.case)] {
            words.extend(patterns.iter().map(|pattern| format!("{flag} {pattern}")));
        }
        let filters = ListFilters {
            eval: globs("--eval", &args.eval)?,
            case: globs("--case", &args.case)?,
            words,
        };
        Ok((!filters.words.is_empty()).then_some(filters))
    }

    fn apply(
        self,
        console: &Console,
        args: &ReportArgs,
        journals: &[PathBuf],
        summary: &mut Summary,
    ) -> Result<(), CliFailure> {
        let ListFilters { eval, case, words } = self;
        let takes = |of: &str, id: &str| eval.fit_or_empty(of) && case.fit_or_empty(id);
        let fit = |case: &CaseResult| args.outcomes.fit(case);
        let keeps: Option<&dyn Fn(&CaseResult) -> bool> = match args.outcomes.is_empty() {
            true => None,
            false => Some(&fit),
        };
        let any =
            run::list_only(summary, journals, takes, keeps).map_err(CliFailure::unreadable)?;
        let id = &summary.metadata.run_id;
        if !any {
            let words = words.join(" ");
            return Err(
                CliFailure::wrong(format!("no case of run {id} matches `{words}`"))
                    .hint("`eval-harness report --verbose` lists evals"),
            );
        }
        if summary.evals.is_empty() {
            console.note(&match summary.truncated {
                true => format!("the lists of run {id} are incomplete and contain no such case"),
                false => args.outcomes.none_of("", id),
            });
        }
        summary.list_filters = words;
        Ok(())
    }
}

/// Runs that are no shards, beside each other.
fn side_by_side(
    console: &Console,
    args: &ReportArgs,
    runs: &[Summary],
    journals: &[PathBuf],
) -> CliResult {
    let hint = "pass runs of one suite, each once; or every shard of one suite";
    let mut sides = RunSides::of(runs).map_err(|error| CliFailure::wrong(error).hint(hint))?;
    sides::compare_pairs(console, &mut sides, journals);
    let codes: Vec<_> = runs.iter().map(exit_code).collect();
    let worst = ExitCode::gravest(&codes);
    if let Some(file) = &args.output {
        let pages = journals.iter().map(|journal| page_of(journal));
        let sides = sides.linked(file.parent().unwrap_or(file), pages);
        let written = write_whole(file, |out| sides.write(args.format, out));
        written.map_err(|error| {
            CliFailure::incomplete(format!("cannot write {}: {error}", file.display()))
        })?;
        return Ok(worst);
    }
    let mut page = Vec::new();
    match args.format {
        ReportFormat::Terminal => {
            sides.render(&console.terminal_options(args.verbose), &mut page)?
        }
        format => sides.write(format, &mut page).map_err(CliFailure::wrong)?,
    }
    if matches!(args.format, ReportFormat::Terminal | ReportFormat::Markdown) {
        page = ci::for_log(GithubStep::of(CiMode::Auto).as_ref(), page);
    }
    console.result(&page)?;
    Ok(worst)
}

/// Where the HTML report of the run of a journal is, if there is one.
pub fn page_of(journal: &Path) -> PathBuf {
    RunPaths::of_journal(journal).map_or_else(PathBuf::new, |run| run.report("html"))
}

/// The folder of results: as given, as the suite says, or `results/` in the project root.
pub fn results_dir(suite: Option<&Path>, output_dir: Option<&Path>) -> Result<PathBuf, CliFailure> {
    if let Some(dir) = output_dir {
        return Ok(dir.to_owned());
    }
    let cwd = suite::cwd()?;
    let suite = match suite {
        Some(suite) => Some(suite.to_owned()),
        None => suite::suite_path(None).ok(),
    };
    if let Some(suite) = suite
        && let Some(plan) = suite::listed(suite)?
    {
        return Ok(plan.reporting.output_dir);
    }
    let root = cwd
        .ancestors()
        .find(|dir| dir.join(".git").exists())
        .unwrap_or(&cwd);
    Ok(root.join("results"))
}
