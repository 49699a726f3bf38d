//! `eval-harness validate`.

use super::args::{ProblemFormat, ValidateArgs};
use super::console::Console;
use super::{CliResult, suite};
use crate::gate::ExitCode;
use crate::load::{
    self, CheckRequest, LoadOverrides, LoadRequest, PlanPurpose, Problems, SourceFiles, render,
};
use crate::run;
use eval_base::text::plural;

pub fn validate(console: &Console, args: &ValidateArgs) -> CliResult {
    let (problems, sources, what) = if args.files.is_empty() {
        let request = LoadRequest {
            suite: suite::suite_path(args.suite.as_deref())?,
            purpose: PlanPurpose::Validate,
            overrides: LoadOverrides {
                vars: args.vars.clone(),
                ..LoadOverrides::default()
            },
            env: suite::environment(),
            cwd: suite::cwd()?,
            cpus: suite::cpus(),
            ..LoadRequest::default()
        };
        let loaded = load::load(&request);
        let what = format!(
            "{} with {}",
            plural(loaded.total.evals, "eval"),
            plural(loaded.total.cases, "case")
        );
        // They are no mistakes in a file: more cases may be on their way.
        loaded
            .plan
            .iter()
            .flat_map(run::too_few)
            .for_each(|warning| console.warn(&warning));
        (loaded.problems, loaded.sources, what)
    } else {
        let checked = load::check_files(&CheckRequest {
            paths: args.files.clone(),
            vars: args.vars.clone(),
            env: suite::environment(),
            cwd: suite::cwd()?,
        });
        (
            checked.problems,
            checked.sources,
            plural(checked.files, "file"),
        )
    };
    show(console, args, &problems, &sources, &what)?;
    let bad = problems.has_errors() || (args.strict && !problems.is_empty());
    Ok(if bad { ExitCode::Wrong } else { ExitCode::Pass })
}

fn show(
    console: &Console,
    args: &ValidateArgs,
    problems: &Problems,
    sources: &SourceFiles,
    what: &str,
) -> std::io::Result<()> {
    match args.format {
        ProblemFormat::Json => return console.result(render::json(problems, sources).as_bytes()),
        ProblemFormat::Github => {
            return console.result(render::github(problems, sources).as_bytes());
        }
        ProblemFormat::Human => {}
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        console.result(render::github(problems, sources).as_bytes())?;
    }
    if !problems.is_empty() {
        console.note(render::human(problems, sources, suite::human_options(console)).trim_end());
    }
    // The problems were counted where they were shown.
    let verdict = match (problems.error_count(), problems.warning_count()) {
        (0, 0) => format!("{what}: valid\n"),
        (0, _) => format!("{what}: valid, with warnings\n"),
        _ => "invalid\n".to_owned(),
    };
    console.result(verdict.as_bytes())
}
