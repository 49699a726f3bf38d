//! `eval-harness calibrate`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::args::{CalibrateArgs, CheckFormat};
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult, suite};
use crate::calibration::{
    self, CalibrationStore, JudgeIdentity, JudgedOutputs, LabelsFile, MeasureOptions,
};
use crate::gate::ExitCode;
use crate::journal;
use crate::model::{CalibrationReport, Fingerprint, Plan};
use crate::ratings::{RatingStore, store_dir};
use crate::report::calibration as pages;
use crate::report::page::{PageView, markdown, terminal};
use crate::spec::{CALIBRATION_VERSION, LabelOrigin};
use eval_base::clock::{Clock, SystemClock, rfc3339};
use eval_base::nearest::did_you_mean;
use eval_base::text::one_line;

pub fn calibrate(console: &Console, args: &CalibrateArgs) -> CliResult {
    let file = match &args.labels {
        Some(path) => Some(
            calibration::read_labels(path, args.pass_from).map_err(|error| {
                let failure = CliFailure::wrong(&error);
                match error.hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            })?,
        ),
        None => None,
    };
    let plan = plan(args)?;
    let mut source = match &args.run {
        Some(run) => of_run(args, run, file.as_ref(), plan.as_ref())?,
        None => of_file(args, file.unwrap_or_default(), plan.as_ref())?,
    };
    if let Some(name) = &args.judge {
        only(name, &mut source.judges)?;
    }
    let now = rfc3339(SystemClock.now());
    let origin = LabelOrigin {
        run: source.run.clone(),
        file: args.labels.as_ref().map(|path| path.display().to_string()),
        ..LabelOrigin::default()
    };
    let options = MeasureOptions {
        seed: args.seed.unwrap_or(source.seed),
        is_random: args.random,
        width: args.width,
        next: args.next,
    };
    let mut report = CalibrationReport {
        format_version: CALIBRATION_VERSION,
        run: source.run,
        file: origin.file.clone(),
        seed: options.seed,
        judges: Vec::new(),
        notes: source.notes,
    };
    let mut files = Vec::new();
    for judged in &source.judges {
        let (judge, file, notes) = calibration::calibrate(judged, &origin, &now, &options);
        report.judges.push(judge);
        report.notes.extend(notes);
        files.extend(file);
    }
    show(console, args, &report)?;
    if args.dry_run {
        return Ok(ExitCode::Pass);
    }
    let cwd = suite::cwd()?;
    let store = CalibrationStore::of_project(&root(plan.as_ref(), &cwd));
    for file in &files {
        let path = store.write(file).map_err(|error| {
            let path = store.path(&file.judge);
            CliFailure::incomplete(format!("cannot write {}: {error}", path.display()))
        })?;
        console.note(&format!("wrote {}", console.path(&cwd, &path)));
    }
    if files.is_empty() {
        console.note("no calibration was written: the labels belong to no judge of a run or suite");
    }
    Ok(ExitCode::Pass)
}

/// Verdicts and labels, and where they are from.
struct CalibrationSource {
    run: Option<String>,
    seed: u64,
    judges: Vec<JudgedOutputs>,
    notes: Vec<String>,
}

fn of_run(
    args: &CalibrateArgs,
    run: &str,
    file: Option<&LabelsFile>,
    plan: Option<&Plan>,
) -> Result<CalibrationSource, CliFailure> {
    let dir = results_dir(args.suite.as_deref(), args.output_dir.as_deref())?;
    let paths = journal::find_run(&dir, run)?;
    let started = journal::started(&paths.journal())?;
    let (mut judges, private) = calibration::judged_outputs(&paths)?;
    let mut notes: Vec<String> = private
        .iter()
        .map(|eval| {
            format!(
                "eval `{}` is left out: its dataset is private",
                one_line(eval)
            )
        })
        .collect();
    if judges.is_empty() {
        return Err(CliFailure::wrong(format!(
            "no judge gave a verdict in run {}",
            paths.run_id
        )));
    }
    let store = RatingStore::read(&store_dir(
        &root(plan, &suite::cwd()?),
        &started.run.suite_name,
    ))
    .map_err(CliFailure::wrong)?;
    for problem in store.problems() {
        notes.push(problem.to_string());
    }
    calibration::add_ratings(&mut judges, &store);
    if let Some(file) = file {
        let mut file = file.clone();
        rename(&mut file.judges, args.judge.as_deref());
        notes.extend(file.notes.iter().cloned());
        if !file.labels_only {
            notes.push("verdicts of the file are not used: those of the run count".to_owned());
        }
        notes.extend(calibration::join(&mut judges, &file));
    }
    Ok(CalibrationSource {
        run: Some(paths.run_id),
        // As that of `review`.
        seed: 0,
        judges,
        notes,
    })
}

fn of_file(
    args: &CalibrateArgs,
    file: LabelsFile,
    plan: Option<&Plan>,
) -> Result<CalibrationSource, CliFailure> {
    if file.labels_only {
        let message = "the labels come without verdicts of a judge";
        return Err(CliFailure::wrong(message).hint(
            "add a column `verdict` or `score`, or name the run with --run; labels that are scores need --pass-from",
        ));
    }
    let LabelsFile {
        mut judges, notes, ..
    } = file;
    rename(&mut judges, args.judge.as_deref());
    if let Some(plan) = plan {
        let known = judges_of(plan, &judges);
        for judge in &mut judges {
            judge.identity = known.get(&judge.judge).cloned();
        }
    }
    Ok(CalibrationSource {
        run: None,
        seed: 0,
        judges,
        notes,
    })
}

/// Labels that name no judge belong to the one that is asked for.
fn rename(judges: &mut [JudgedOutputs], name: Option<&str>) {
    if let (Some(name), [only]) = (name, judges)
        && only.judge == calibration::UNNAMED_JUDGE
    {
        only.judge = name.to_owned();
    }
}

fn only(name: &str, judges: &mut Vec<JudgedOutputs>) -> Result<(), CliFailure> {
    let names: Vec<String> = judges.iter().map(|judge| judge.judge.clone()).collect();
    judges.retain(|judge| judge.judge == name);
    if !judges.is_empty() {
        return Ok(());
    }
    let failure = CliFailure::wrong(format!("there is no judge `{}`", one_line(name)));
    let near = did_you_mean(name, names.iter().map(String::as_str));
    Err(failure.hint(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("available: {}", one_line(&names.join(", "))),
    }))
}

/// The suite whose judges are meant, as far as it can be read.
fn plan(args: &CalibrateArgs) -> Result<Option<Plan>, CliFailure> {
    let path = match &args.suite {
        Some(path) => path.clone(),
        None => match suite::suite_path(None) {
            Ok(path) => path,
            Err(_) => return Ok(None),
        },
    };
    let plan = suite::listed(path)?;
    match (&args.suite, plan) {
        (Some(path), None) => Err(CliFailure::wrong(format!("{} has errors", path.display()))
            .hint("`eval-harness validate` shows them")),
        (_, plan) => Ok(plan),
    }
}

/// The judges of a suite that labels name: by the names of their graders, or the ids of their evals.
/// Of a name that several different judges have none is meant.
fn judges_of(plan: &Plan, named: &[JudgedOutputs]) -> BTreeMap<String, JudgeIdentity> {
    let wanted: BTreeSet<&str> = named.iter().map(|judge| judge.judge.as_str()).collect();
    let mut found: BTreeMap<String, (Fingerprint, Option<JudgeIdentity>)> = BTreeMap::new();
    for eval in &plan.evals {
        // A case that can't be read is reported where the suite is run.
        for case in eval
            .cases
            .stream(|_| true)
            .filter_map(|case| case.case.ok())
        {
            for grader in &case.grading.graders {
                let name = grader.name.as_ref().unwrap_or(&eval.info.id);
                let Some(judge) = grader
                    .kind
                    .judge()
                    .filter(|_| wanted.contains(name.as_str()))
                else {
                    continue;
                };
                let fingerprint = judge.fingerprint();
                let models = judge.models.iter();
                let identity = JudgeIdentity {
                    fingerprint: fingerprint.to_string(),
                    models: models.map(|model| model.endpoint.name()).collect(),
                    votes: judge.votes,
                };
                let entry = found
                    .entry(name.clone())
                    .or_insert((fingerprint, Some(identity)));
                if entry.0 != fingerprint {
                    entry.1 = None;
                }
            }
        }
    }
    let known = found.into_iter();
    known
        .filter_map(|(name, (_, identity))| Some((name, identity?)))
        .collect()
}

fn root(plan: Option<&Plan>, cwd: &Path) -> PathBuf {
    let of_suite = plan.map(|plan| plan.suite.root.clone());
    of_suite.unwrap_or_else(|| {
        let mut above = cwd.ancestors();
        let root = above.find(|dir| dir.join(".git").exists());
        root.unwrap_or(cwd).to_owned()
    })
}

fn show(
    console: &Console,
    args: &CalibrateArgs,
    report: &CalibrationReport,
) -> Result<(), CliFailure> {
    let mut out = Vec::new();
    match args.format {
        CheckFormat::Json => pages::json(report, &mut out)?,
        CheckFormat::Markdown => {
            let view = PageView {
                verbose: args.verbose,
                ..PageView::markdown()
            };
            let page = pages::page(report, &view);
            out.extend(markdown::write(&page, markdown::MarkdownOptions::default()).bytes());
        }
        CheckFormat::Human => {
            let options = console.terminal_options(args.verbose);
            let page = pages::page(report, &PageView::terminal(&options));
            terminal::write(&page, &options, &mut out)?;
        }
    }
    Ok(console.result(&out)?)
}
