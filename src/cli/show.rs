//! `eval-harness show`: the cases of a run in full.

use super::args::{CiMode, ListFormat, ShowArgs};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::journal;
use crate::model::{CaseResult, Outcome, private_cases, private_unpassed};
use crate::report::show::{self as page, ShownCase};
use crate::run::{self, SelectedCases};
use eval_base::globs::IdGlobs;
use eval_base::shell;
use eval_base::text::{group_digits, plural};

pub fn show(console: &Console, args: &ShowArgs) -> CliResult {
    let globs = IdGlobs::new(&args.cases).map_err(|error| {
        CliFailure::wrong(format!("`{}` is not a glob: {error}", error.pattern))
    })?;
    let dir = results_dir(
        args.place.suite.as_deref(),
        args.place.output_dir.as_deref(),
    )?;
    let paths = journal::find_run(&dir, &args.run)?;
    let takes = |eval: &str, case: &str| {
        globs.is_empty()
            || globs.fit(eval)
            || globs.fit(case)
            || globs.fit(&format!("{eval}/{case}"))
    };
    let selected = run::cases_of(&paths, takes).map_err(CliFailure::unreadable)?;
    let all = selected.evals.iter().flat_map(|eval| {
        let cases = eval.cases.iter();
        cases.map(move |case| ShownCase { eval, case })
    });
    let cases: Vec<ShownCase<'_>> = all.filter(|shown| is_wanted(args, shown.case)).collect();
    let private = selected.evals.iter().filter(|eval| eval.private);
    let private: usize = private.map(|eval| eval.counts.total).sum();
    if private > 0 {
        let message = match private_failures(&selected) {
            // Without a pattern, cases that passed would not be shown either.
            failures if failures > 0 && args.cases.is_empty() => private_unpassed(failures),
            _ => format!("{} not shown", private_cases(private)),
        };
        if cases.is_empty() && !args.cases.is_empty() {
            return Err(CliFailure::wrong(message)
                .hint("`dataset.private` of the eval keeps its cases out of reports"));
        }
        console.note(&message);
    }
    if cases.is_empty() {
        nothing(console, args, &selected)?;
        if args.run == "latest" {
            for failed in suite::failed_siblings(&dir, &paths)? {
                console.note(&format!(
                    "{failed}: `eval-harness show --run {}`",
                    failed.run_id
                ));
            }
        }
        return Ok(ExitCode::Pass);
    }
    let sample = match args.sample {
        Some(number) => Some(sample_at(&cases, number)?),
        None => None,
    };
    let mut out = Vec::new();
    match args.format {
        ListFormat::Json => {
            page::write_json(&cases, sample, &mut out)?;
            console.result(&out)?;
        }
        ListFormat::Human => {
            let source = source(args);
            let source: Vec<&str> = source.iter().map(String::as_str).collect();
            page::render(
                &cases,
                sample,
                &source,
                &console.terminal_options(args.verbose),
                &mut out,
            )?;
            let out = ci::for_log(GithubStep::of(CiMode::Auto).as_ref(), out);
            console.paged(&out, args.no_pager)?;
        }
    }
    warn_of_omitted(console, args, &selected);
    Ok(ExitCode::Pass)
}

/// The arguments that name the run, its suite and its results folder.
fn source(args: &ShowArgs) -> Vec<String> {
    let mut source = Vec::new();
    if args.run != "latest" {
        source.extend(["--run".to_owned(), args.run.clone()]);
    }
    let paths = [
        ("--suite", args.place.suite.as_ref()),
        ("--output-dir", args.place.output_dir.as_ref()),
    ];
    for (option, path) in paths {
        let path = path.map(|path| path.display().to_string());
        source.extend(path.into_iter().flat_map(|path| [option.to_owned(), path]));
    }
    source
}

/// The command that lists every case of the run.
fn report_command(args: &ShowArgs) -> String {
    let words = ["eval-harness", "report", "--verbose"];
    let source = source(args);
    let words = words.into_iter().chain(source.iter().map(String::as_str));
    let words: Vec<&str> = words.collect();
    shell::line(&words).unwrap_or_else(|| "eval-harness report --verbose".to_owned())
}

/// What was selected and is not shown, because it is too much.
fn warn_of_omitted(console: &Console, args: &ShowArgs, selected: &SelectedCases) {
    let by_outcome = !args.outcomes.is_empty();
    let omitted = match (args.cases.is_empty() || by_outcome, selected.omitted) {
        // Only passed cases are omitted, which nobody asked for.
        (true, omitted) if omitted.unpassed_samples == 0 => return,
        (true, omitted) => plural(omitted.unpassed_samples, "sample"),
        (false, omitted) if omitted.cases > 0 => plural(omitted.cases, "case"),
        (false, omitted) if omitted.samples > 0 => plural(omitted.samples, "sample"),
        _ => return,
    };
    console.warn(&format!(
        "{omitted} not shown: too many or too large; select fewer cases"
    ));
}

/// Whether a case is to be shown: of the outcomes that are given, or else, without a pattern, what
/// did not pass.
fn is_wanted(args: &ShowArgs, case: &CaseResult) -> bool {
    if !args.outcomes.is_empty() {
        return args.outcomes.fit(case);
    }
    !args.cases.is_empty() || case.outcome != Outcome::Passed
}

/// The sample, counted from 0; at least one of the cases must have it.
fn sample_at(cases: &[ShownCase<'_>], number: usize) -> Result<u32, CliFailure> {
    let samples = cases.iter().flat_map(|shown| &shown.case.samples);
    let listed = samples.map(|sample| sample.index as usize + 1);
    let graded = cases.iter().map(|shown| shown.case.first_graded as usize);
    let last = listed.chain(graded).max();
    match (u32::try_from(number - 1), last) {
        (Ok(at), Some(last)) if number <= last => Ok(at),
        (_, last) => {
            let samples = plural(last.unwrap_or(0), "sample");
            Err(
                CliFailure::wrong(format!("there is no sample {}", group_digits(number)))
                    .hint(format!("these cases have {samples}, counted from 1")),
            )
        }
    }
}

/// No case fits: an error where a pattern matches nothing, good news where nothing failed.
fn nothing(console: &Console, args: &ShowArgs, selected: &SelectedCases) -> CliResult {
    let run = &selected.run_id;
    if selected.omitted.cases > 0 && !args.cases.is_empty() {
        let cases = plural(selected.omitted.cases, "matching case");
        return Err(
            CliFailure::wrong(format!("{cases} of run {run}: too many to show"))
                .hint("select fewer, such as one eval or `EVAL/CASE`"),
        );
    }
    if selected.evals.is_empty() && args.cases.is_empty() && selected.omitted.cases == 0 {
        return Err(CliFailure::wrong(format!("run {run} contains no cases")));
    }
    if selected.evals.is_empty() && !args.cases.is_empty() {
        let patterns = args.cases.join("`, `");
        return Err(
            CliFailure::wrong(format!("no case of run {run} matches `{patterns}`"))
                .hint(format!("`{}` lists its cases", report_command(args))),
        );
    }
    if args.format == ListFormat::Json {
        console.result(b"[]\n")?;
    }
    let other = if private_failures(selected) > 0 {
        "other "
    } else {
        ""
    };
    console.note(&match args.outcomes.is_empty() {
        true => format!("every {other}case of run {run} passed; name evals or cases to see them"),
        false => args.outcomes.none_of(other, run),
    });
    Ok(ExitCode::Pass)
}

/// Cases of private datasets that failed or errored.
fn private_failures(selected: &SelectedCases) -> usize {
    let private = selected.evals.iter().filter(|eval| eval.private);
    private
        .map(|eval| eval.counts.failed + eval.counts.errored)
        .sum()
}
