//! `eval-harness accept`: an output becomes what its case expects.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{AcceptCaseArgs, CaptureArgs, FromRunArgs, OfSuiteArgs, ProgressMode};
use super::baseline::{self, CaseAnswers, block_on, looking_graders, of_run, relative, text_lines};
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult, ci, resume, suite};
use crate::baseline::capture::{takes_a_baseline, trial};
use crate::gate::ExitCode;
use crate::grade::{RunGraders, SampleAttempt};
use crate::journal::RunPaths;
use crate::load::{
    self, LiteralEdit, LoadOverrides, LoadRequest, PlanPurpose, Severity, WrittenEval,
    accepted_literal,
};
use crate::model::{Case, Eval, GraderType, Outcome, Output, OutputValue, Plan};
use crate::report::limits;
use crate::report::page::{Page, PageBlock, bold, dim, outside, own, place, text};
use eval_base::globs::IdGlobs;
use eval_base::nearest::did_you_mean;
use eval_base::text::{listed, plural};
use eval_base::whole_file::WholeFile;

/// What accepting an output would do.
pub struct AcceptPlan {
    /// What would change.
    pub page: Page,
    /// Does it; the file that was written.
    pub write: Box<dyn FnOnce() -> Result<String, CliFailure>>,
}

pub fn accept(console: &Console, args: &AcceptCaseArgs) -> CliResult {
    if !args.dry_run {
        ci::refuse("accept", "expectations")?;
    }
    let chosen = ChosenCase::of(console, &args.case, &args.from)?;
    let case = &chosen.case;
    let plan = if takes_a_baseline(&case.grading, case.baseline.is_some()) {
        baseline::accept_output(console, &chosen.as_capture(args), args.from.sample())?
    } else {
        chosen.literal_plan(console, args)?
    };
    let Some(AcceptPlan { page, write }) = plan else {
        console.note("the output is what the case expects already; nothing to change");
        return Ok(ExitCode::Pass);
    };
    console.page(&page)?;
    if args.dry_run {
        console.note("nothing was written");
        return Ok(ExitCode::Pass);
    }
    if !args.yes && !confirmed(console)? {
        console.note("nothing was written");
        return Ok(ExitCode::Pass);
    }
    let file = write()?;
    console.result(format!("wrote {file}\n").as_bytes())?;
    console.note("`eval-harness regrade` grades the stored outputs with it; commit it with git");
    Ok(ExitCode::Pass)
}

/// Asks at the terminal; without one, the answer must be an argument.
fn confirmed(console: &Console) -> Result<bool, CliFailure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(CliFailure::wrong(
            "nothing was written: there is no terminal for the question",
        )
        .hint("pass --yes to write it"));
    }
    console.result(b"write it? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

impl FromRunArgs {
    /// Counted from 0.
    pub fn sample(&self) -> Option<u32> {
        self.sample
            .map(|number| u32::try_from(number - 1).unwrap_or(u32::MAX))
    }
}

/// A case of the suite as it is now, and a run of it.
pub struct ChosenCase {
    pub plan: Plan,
    pub request: LoadRequest,
    pub eval: Arc<Eval>,
    pub case: Arc<Case>,
    pub paths: RunPaths,
}

/// The answer of one sample.
pub struct ChosenAnswer {
    /// As its graders see it.
    pub value: OutputValue,
    /// From 1.
    pub sample: u32,
    /// In the run.
    pub outcome: Outcome,
    /// Samples of the case without an output, of all that were considered.
    pub missing: usize,
    pub samples: usize,
}

impl ChosenAnswer {
    /// How many samples have no output, if there are any.
    pub fn missing_samples(&self) -> Option<String> {
        let verb = match self.missing {
            0 => return None,
            1 => "has",
            _ => "have",
        };
        let (missing, samples) = (self.missing, plural(self.samples, "sample"));
        Some(format!("{missing} of {samples} {verb} no output"))
    }
}

/// What graders see of the samples of a case.
#[derive(Default)]
struct SeenAnswers {
    answers: Vec<ChosenAnswer>,
    /// The first sample of which they see nothing, from 1, with the reason.
    missing: Option<(u32, String)>,
    /// How many samples these are.
    missing_count: usize,
}

impl ChosenCase {
    /// Finds the case in the suite of a run, with the variables of the run.
    pub fn of(
        console: &Console,
        pattern: &str,
        from: &FromRunArgs,
    ) -> Result<ChosenCase, CliFailure> {
        let dir = results_dir(from.of.suite.as_deref(), from.output_dir.as_deref())?;
        let mut words = Vec::new();
        if let Some(path) = &from.of.suite {
            words.extend(["--suite".to_owned(), path.display().to_string()]);
        }
        for (name, value) in &from.of.vars {
            words.extend(["--var".to_owned(), format!("{name}={value}")]);
        }
        let again = resume::again(&dir, &from.run, words)?;
        resume::secrets_are_given(&again.args)?;
        let of = OfSuiteArgs {
            suite: again.args.suite.suite,
            vars: again.args.suite.vars,
        };
        let more = LoadOverrides {
            gateless: true,
            ..LoadOverrides::default()
        };
        let selected = suite::load(&of.whole(), PlanPurpose::List, more)?;
        let plan = suite::plan_or_problems(console, selected.loaded)?;
        let (eval, case) = find(&plan, pattern)?;
        Ok(ChosenCase {
            plan,
            request: selected.request,
            eval,
            case,
            paths: again.run.paths,
        })
    }

    /// `EVAL/CASE`, or the id of both.
    fn name(&self) -> String {
        name_of(&self.eval.info.id, &self.case.id)
    }

    /// Capturing the output of this regression from the run.
    fn as_capture(&self, args: &AcceptCaseArgs) -> CaptureArgs {
        CaptureArgs {
            evals: vec![self.eval.info.id.clone()],
            of: OfSuiteArgs {
                suite: Some(self.request.suite.clone()),
                vars: self.request.overrides.vars.clone(),
            },
            target: None,
            prompt: None,
            outputs: None,
            samples: None,
            run: Some(self.paths.journal().display().to_string()),
            scores: false,
            baseline_version: None,
            force: false,
            jobs: None,
            timeout: None,
            allow_unsandboxed: false,
            output_dir: args.from.output_dir.clone(),
            progress: ProgressMode::None,
            models: Default::default(),
            filters: Default::default(),
        }
    }

    /// The answer that is meant, if the case is still what the run was of. Of samples with equal
    /// outputs it is the first that did not pass, if there is one.
    pub fn answer(
        &self,
        console: &Console,
        graders: &RunGraders,
        sample: Option<u32>,
    ) -> Result<ChosenAnswer, CliFailure> {
        let (eval, case) = (&self.eval.info.id, &self.case.id);
        let is_it = |e: &str, c: &str| e == eval && c == case;
        let source = of_run(console, &self.plan, &self.paths, &is_it)?;
        let run = &source.run_id;
        let name = self.name();
        let Some(answers) = source.of(eval, case) else {
            return Err(CliFailure::wrong(format!(
                "{run} has no sample of `{name}`"
            )));
        };
        let changed = |hash: &Option<String>, now: String| hash.as_ref().is_some_and(|h| *h != now);
        if changed(&answers.input_hash, self.case.input_hash.to_string()) {
            let message = format!("the input of `{name}` has changed since {run}");
            return Err(CliFailure::wrong(message).hint("run the case again, and accept that"));
        }
        if changed(&answers.grading_hash, self.case.grading_hash.to_string()) {
            let message =
                format!("the expectation or the graders of `{name}` have changed since {run}");
            return Err(CliFailure::wrong(message).hint(
                "`eval-harness regrade` grades the stored outputs again; then accept from `latest`",
            ));
        }
        let SeenAnswers {
            answers: mut seen,
            missing,
            missing_count,
        } = self.seen(graders, answers, sample)?;
        let mut different: Vec<&OutputValue> = Vec::new();
        for answer in &seen {
            if !different.contains(&&answer.value) {
                different.push(&answer.value);
            }
        }
        if different.len() > 1 {
            let message = format!(
                "the samples of `{name}` disagree: {}",
                plural(different.len(), "different output")
            );
            return Err(CliFailure::wrong(message)
                .hint("`eval-harness show` prints them; select one with --sample N"));
        }
        let why = match (missing, sample) {
            (Some((number, why)), _) => {
                format!("sample {number} of `{name}` has no output that can be accepted: {why}")
            }
            (None, Some(sample)) => {
                format!(
                    "`{name}` has no sample {} in {run}",
                    sample.saturating_add(1)
                )
            }
            (None, None) => format!("{run} has no sample of `{name}`"),
        };
        if seen.is_empty() {
            return Err(CliFailure::wrong(why));
        }
        let samples = seen.len() + missing_count;
        let first = seen.iter().position(|one| one.outcome != Outcome::Passed);
        let answer = seen.swap_remove(first.unwrap_or(0));
        Ok(ChosenAnswer {
            missing: missing_count,
            samples,
            ..answer
        })
    }

    /// What the graders see of one sample, or of all.
    fn seen(
        &self,
        graders: &RunGraders,
        answers: &CaseAnswers,
        sample: Option<u32>,
    ) -> Result<SeenAnswers, CliFailure> {
        let mut seen = SeenAnswers::default();
        let chosen = |number: &u32| sample.is_none_or(|sample| sample == *number);
        for (number, answer) in answers.samples.iter().filter(|(number, _)| chosen(number)) {
            let value = match answer {
                Ok(answer) if answer.redacted => {
                    Err("a secret was redacted in the output".to_owned())
                }
                Ok(answer) => {
                    let output = Output {
                        value: answer.output.clone(),
                        ..Output::text("")
                    };
                    let value = block_on(graders.extracted(&self.case, &output))?;
                    value.map(|value| (value, answer.outcome))
                }
                Err(why) => Err(why.clone()),
            };
            match value {
                Ok((value, outcome)) => seen.answers.push(ChosenAnswer {
                    value,
                    sample: number + 1,
                    outcome,
                    missing: 0,
                    samples: 1,
                }),
                Err(why) => {
                    seen.missing_count += 1;
                    seen.missing = seen.missing.or(Some((number + 1, why)));
                }
            }
        }
        Ok(seen)
    }

    /// The edit that makes the output the expectation, tried as a later run would.
    fn literal_plan(
        &self,
        console: &Console,
        args: &AcceptCaseArgs,
    ) -> Result<Option<AcceptPlan>, CliFailure> {
        let graders = looking_graders(&self.plan)?;
        let name = self.name();
        let answer = self.answer(console, &graders, args.from.sample())?;
        if let (Outcome::Passed, _) = self.tried(&graders, &self.case, &answer.value)? {
            return Ok(None);
        }
        let source = self.eval.info.source.as_ref().ok_or_else(|| {
            CliFailure::wrong(format!("the file that defines `{name}` is not known"))
        })?;
        let path = self.plan.suite.root.join(&source.file);
        let display = relative(&path);
        let eval = WrittenEval {
            id: &self.eval.info.id,
            path: &path,
            display: &display,
            line: source.line,
        };
        let edit = accepted_literal(eval, &self.case, &answer.value)
            .map_err(|refusal| CliFailure::wrong(refusal.message).hint(refusal.hint))?;
        let Some(edit) = edit else {
            return Err(CliFailure::wrong(format!(
                "`{name}` expects this output already; something else made it fail"
            ))
            .hint("`eval-harness show` prints what its graders reported"));
        };
        self.prove(&graders, &path, &edit, &answer.value)?;
        let page = self.page(&edit, &answer);
        Ok(Some(AcceptPlan {
            page,
            write: Box::new(move || {
                write_in_place(&path, &edit)?;
                Ok(display)
            }),
        }))
    }

    /// How an output is graded by what only looks at it.
    pub fn tried(
        &self,
        graders: &RunGraders,
        case: &Case,
        value: &OutputValue,
    ) -> Result<(Outcome, String), CliFailure> {
        let Some(grading) = trial(&case.grading) else {
            let types: Vec<&str> = case
                .grading
                .graders
                .iter()
                .map(|g| g.kind.method())
                .collect();
            let message = format!(
                "{}: `{}` is graded by `{}`, and no grader compares the output with `expected`",
                case.origin,
                self.name(),
                types.join("`, `")
            );
            return Err(CliFailure::wrong(message).hint("change the grader by hand"));
        };
        let case = Case {
            grading,
            extract: Vec::new(),
            ..case.clone()
        };
        let output = Output {
            value: value.clone(),
            ..Output::text("")
        };
        let graded = block_on(graders.grade(&case, &output, SampleAttempt::default(), None))?;
        Ok((graded.verdict.outcome, graded.verdict.reason))
    }

    /// Loads the suite with the edit: the output must pass, and every other case must be the same.
    fn prove(
        &self,
        graders: &RunGraders,
        path: &Path,
        edit: &LiteralEdit,
        value: &OutputValue,
    ) -> Result<(), CliFailure> {
        let refuse = |why: &str| {
            CliFailure::wrong(format!("{}: {why}; nothing was written", edit.place))
                .hint("change `expected` by hand")
        };
        let mut request = self.request.clone();
        let texts = [(path.to_owned(), edit.after.clone())];
        request.overrides.texts = Arc::new(texts.into());
        let loaded = load::load(&request);
        let problem = loaded
            .problems
            .iter()
            .find(|p| p.severity == Severity::Error);
        let Some(plan) = loaded.plan.filter(|_| problem.is_none()) else {
            let why = problem.map_or("", |problem| problem.message.as_str());
            return Err(refuse(&format!(
                "the suite cannot be loaded with it: {why}"
            )));
        };
        let hashes = |plan: &Plan| -> Vec<(String, String)> {
            let cases = plan.evals.iter().flat_map(|eval| {
                let id = &eval.info.id;
                eval.cases.outlines().map(move |case| {
                    let own = *id == self.eval.info.id && case.id == self.case.id;
                    let grading = if own {
                        String::new()
                    } else {
                        case.grading_hash.to_string()
                    };
                    let hash = format!("{} {grading}", case.input_hash);
                    (name_of(id, case.id), hash)
                })
            });
            cases.collect()
        };
        if hashes(&self.plan) != hashes(&plan) {
            return Err(refuse("other cases would change as well"));
        }
        let case = plan
            .evals
            .iter()
            .find(|eval| eval.info.id == self.eval.info.id);
        let case = case.and_then(|eval| {
            let at = eval
                .cases
                .outlines()
                .position(|case| case.id == self.case.id)?;
            eval.cases.get(at)?.ok()
        });
        let Some(case) = case else {
            return Err(refuse("the case would be gone"));
        };
        match self.tried(graders, &case, value)? {
            (Outcome::Passed, _) => Ok(()),
            (_, reason) => Err(refuse(&format!(
                "the output would still not pass: {reason}"
            ))),
        }
    }

    fn page(&self, edit: &LiteralEdit, answer: &ChosenAnswer) -> Page {
        let plain = |text: &str| text.replace("\r\n", "\n");
        let (before, after) = (plain(&edit.before), plain(&edit.after));
        let (lines, more) = text_lines(&before, &after, limits::terminal::BASELINE_REVIEW);
        let more = more.map(|more| dim(own(format!("... and {more}"))));
        let run = format!("sample {} of {}", answer.sample, self.paths.run_id);
        let mut page = Page::default();
        page.lead(text![
            bold(place(&self.eval.info.id, &self.case.id)),
            "  ",
            dim(own(run))
        ]);
        page.words(outside(&edit.place));
        page.push(PageBlock::Diff(lines.into_iter().chain(more).collect()));
        if let Some(missing) = answer.missing_samples() {
            page.words(dim(own(format!("{missing}."))));
        }
        let judged = self.case.grading.graders.iter();
        if judged
            .clone()
            .any(|grader| grader.kind.grader_type() == GraderType::Model)
        {
            page.words(dim(own(
                "A judge also grades this case; its verdict may differ.",
            )));
        }
        page
    }
}

fn name_of(eval: &str, case: &str) -> String {
    if eval == case {
        eval.to_owned()
    } else {
        format!("{eval}/{case}")
    }
}

/// The one case that a pattern selects.
fn find(plan: &Plan, pattern: &str) -> Result<(Arc<Eval>, Arc<Case>), CliFailure> {
    const LISTED: usize = 5;
    let globs = IdGlobs::new(&[pattern])
        .map_err(|error| CliFailure::wrong(format!("`{pattern}` is not a glob: {error}")))?;
    let mut found = Vec::new();
    let mut names = Vec::new();
    // Nothing of a private dataset is written elsewhere.
    for eval in plan.evals.iter().filter(|eval| !eval.info.is_private()) {
        let id = &eval.info.id;
        for (at, case) in eval.cases.outlines().enumerate() {
            let whole = format!("{id}/{}", case.id);
            if globs.fit(id) || globs.fit(case.id) || globs.fit(&whole) {
                found.push((eval, at, name_of(id, case.id)));
            } else if found.is_empty() {
                names.push(name_of(id, case.id));
            }
        }
    }
    match found.as_slice() {
        [(eval, at, _)] => match eval.cases.get(*at) {
            Some(case) => Ok((Arc::clone(eval), case.map_err(CliFailure::wrong)?)),
            None => Err(CliFailure::wrong(format!("`{pattern}` cannot be read"))),
        },
        [] => {
            let failure = CliFailure::wrong(format!("no case of the suite matches `{pattern}`"));
            Err(
                match did_you_mean(pattern, names.iter().map(String::as_str)) {
                    Some(near) => failure.hint(format!("did you mean {near}?")),
                    None => failure.hint("`eval-harness list --verbose` lists the cases"),
                },
            )
        }
        several => {
            let names = several.iter().map(|(.., name)| name);
            let message = format!(
                "`{pattern}` matches {}: {}",
                plural(several.len(), "case"),
                listed(names, LISTED, several.len(), ", ")
            );
            Err(CliFailure::wrong(message).hint("name one of them"))
        }
    }
}

/// Writes an edited file in the place of the old one, or changes nothing.
pub fn write_in_place(path: &Path, edit: &LiteralEdit) -> Result<(), CliFailure> {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let shown = relative(path);
    let failed =
        |error: io::Error| CliFailure::incomplete(format!("cannot write {shown}: {error}"));
    // The file itself, not a link to it.
    let real: PathBuf = path.canonicalize().map_err(failed)?;
    let permissions = real.metadata().map_err(failed)?.permissions();
    if permissions.readonly() {
        return Err(CliFailure::wrong(format!("{shown} is read-only"))
            .hint("nothing was written; make it writable, and accept again"));
    }
    let now = std::fs::read(&real).map_err(failed)?;
    let (mark, text) = match now.strip_prefix(BOM) {
        Some(text) => (BOM, text),
        None => (&[][..], now.as_slice()),
    };
    if text != edit.before.as_bytes() {
        return Err(CliFailure::wrong(format!(
            "{shown} has changed since the difference was shown"
        ))
        .hint("nothing was written; accept again"));
    }
    let mut file = WholeFile::create(&real).map_err(failed)?;
    file.write_all(mark)
        .and_then(|()| file.write_all(edit.after.as_bytes()))
        .and_then(|()| file.set_permissions(permissions))
        .and_then(|()| file.keep_durably())
        .map_err(failed)
}
