//! `eval-harness list`, and what `run --dry-run` shows.

mod judges;

use std::io::{self, BufWriter, Write};

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::args::{ListArgs, ListFormat};
use super::baseline::relative;
use super::console::Console;
use super::estimate::{self, PlannedWork};
use super::run::ReadyRun;
use super::{CliResult, changed, suite};
use crate::baseline::capture::takes_a_baseline;
use crate::gate::ExitCode;
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::{
    BaselineOrigin, BaselinePlace, CaseProfile, Eval, EvalType, GraderOutline, Judge, Plan, Target,
    private_cases,
};
use crate::report::figures;
use crate::report::page::{
    DOT, ListItem, Page, PageBlock, PageTable, StyledText, TableColumn, TextTone, code, dim,
    outside, own, span, text,
};
use crate::run::{ChangeOutline, ChangeSource, PreparedRun};
use eval_base::text::{group_digits, plural};

/// Cases of a page, of which nobody holds a million at once.
const BATCH: usize = 500;

pub fn list(console: &Console, args: &ListArgs) -> CliResult {
    let loaded = suite::load(&args.suite, PlanPurpose::List, LoadOverrides::default())?.loaded;
    let total = loaded.total;
    let plan = suite::plan_or_problems(console, loaded)?;
    match args.format {
        ListFormat::Json => {
            let mut out = BufWriter::with_capacity(64 * 1024, Stdout { console });
            eval_base::json::to_writer_pretty(&mut out, &PlanListing(&plan))
                .map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
        }
        ListFormat::Human => {
            let mut page = evals(&plan)?;
            if args.verbose {
                plan.evals
                    .iter()
                    .try_for_each(|eval| cases(console, &mut page, &plan, eval))?;
            }
            let cases: usize = plan.evals.iter().map(|eval| eval.cases.len()).sum();
            let of = match (plan.evals.len(), cases) == (total.evals, total.cases) {
                true => String::new(),
                false => format!(", of {} and {}", total.evals, total.cases),
            };
            let (evals, cases) = (plural(plan.evals.len(), "eval"), plural(cases, "case"));
            page.push(PageBlock::Gap);
            page.lead(own(format!("{evals}, {cases}{of}")));
            console.page(&page)?;
        }
    }
    Ok(ExitCode::Pass)
}

/// The command's result, piece by piece: of a million cases nobody should hold the whole page.
struct Stdout<'a> {
    console: &'a Console,
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.console.result(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The plan of a run that does not take place.
pub fn dry_run(console: &Console, ready: &ReadyRun) -> CliResult {
    let mut page = planned(
        &ready.prepared,
        ready.compared.as_deref(),
        ready.changed.as_deref(),
    )?;
    page.push(PageBlock::Gap);
    page.lead(NOTHING_RUN);
    console.page(&page)?;
    Ok(ExitCode::Pass)
}

/// The last line of a dry run.
pub const NOTHING_RUN: &str = "Dry run: nothing was run.";

/// What a run would do; `changed` is the run whose samples it reuses.
pub fn planned(
    prepared: &PreparedRun,
    compared: Option<&str>,
    changed: Option<&ChangeSource>,
) -> io::Result<Page> {
    let plan = &prepared.plan;
    let mut page = evals(plan)?;
    let changed = changed.map(|source| ChangeOutline::of(prepared, source));
    let work = PlannedWork::of(prepared, changed.as_ref());
    let target = plan.target.as_ref().map_or("none", |target| target.kind());
    let calls = match estimate::calls(&work) {
        (0, _) => "no calls of the target".to_owned(),
        (1, _) => "1 call of the target".to_owned(),
        (calls, most) => format!("{calls} calls of the target, at most {most} at once"),
    };
    let samples = prepared.total_samples();
    let mut facts = vec![
        ("suite", outside(&plan.suite.name)),
        (
            "target",
            text![&plan.target_name, own(format!(" ({target})"))],
        ),
        ("samples", own(format!("{samples} ({calls})"))),
    ];
    facts.extend(changed.iter().flat_map(changed::facts));
    let asked = estimate::lines(&work)?.into_iter();
    facts.extend(asked.map(|(label, words)| (label, outside(&words))));
    let dir = plan.reporting.output_dir.display().to_string();
    facts.push(("results", outside(&dir)));
    let thresholds = plan.gate.thresholds.iter().map(|threshold| {
        let row = figures::threshold_row(&threshold.undecided());
        text![row.metric, " ", own(row.needs)]
    });
    let all = (plan.gate.require_all_evals).then(|| StyledText::from("all evals pass"));
    let labels = std::iter::once("needs").chain(std::iter::repeat(""));
    facts.extend(labels.zip(thresholds.chain(all)));
    facts.extend(compared.map(|compared| ("compared", text!["with ", outside(compared)])));
    page.push(PageBlock::Gap);
    page.facts(facts.into_iter().map(|(label, text)| (label.into(), text)));
    Ok(page)
}

fn type_name(kind: EvalType) -> &'static str {
    match kind {
        EvalType::Capability => "capability",
        EvalType::Regression => "regression",
    }
}

/// The model that is asked for a case's outputs.
fn model_of(plan: &Plan, profile: &CaseProfile) -> Option<String> {
    let target = profile.target.as_ref().or(plan.target.as_ref());
    target
        .and_then(Target::endpoint)
        .map(|endpoint| endpoint.name())
}

/// The methods of a case, each once, in order; inferred ones with a mark.
fn methods(profile: &CaseProfile, mark: bool) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for grader in &profile.graders {
        let inferred = if mark && grader.inferred {
            " (inferred)"
        } else {
            ""
        };
        let not = if grader.negate { "not " } else { "" };
        let names: Vec<&str> = grader
            .measures
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let measures = if mark && !names.is_empty() {
            format!(" (measures {})", names.join(", "))
        } else {
            String::new()
        };
        let shown = if mark && grader.informative {
            " (informative)"
        } else {
            ""
        };
        let method = format!("{not}{}{inferred}{measures}{shown}", grader.method);
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods
}

fn eval_methods(eval: &Eval) -> String {
    let mut all: Vec<String> = Vec::new();
    for method in eval
        .cases
        .profiles()
        .into_iter()
        .flat_map(|profile| methods(profile, false))
    {
        if !all.contains(&method) {
            all.push(method);
        }
    }
    all.join(", ")
}

/// Where the known-good output of a regression comes from: `Some(None)` when it has none yet,
/// `None` of an eval that needs none.
fn baseline_of(eval: &Eval) -> io::Result<Option<Option<BaselineOrigin>>> {
    if eval.info.kind != EvalType::Regression || eval.cases.len() != 1 {
        return Ok(None);
    }
    let Some(case) = eval.cases.get(0) else {
        return Ok(None);
    };
    let case = case.map_err(io::Error::other)?;
    let origin = case.baseline.as_deref();
    Ok(takes_a_baseline(&case.grading, origin.is_some()).then(|| origin.cloned()))
}

/// As `baseline list` has it.
fn baseline_word(origin: Option<BaselineOrigin>) -> StyledText {
    match origin.map(|origin| origin.place) {
        None => span(TextTone::Warn, "none").into(),
        Some(BaselinePlace::Inline) => "inline".into(),
        Some(BaselinePlace::Store {
            overrides_inline, ..
        }) if overrides_inline => "stored over inline".into(),
        Some(BaselinePlace::Store { .. }) => "stored".into(),
    }
}

/// Where the file of a stored baseline is.
fn baseline_file(origin: &BaselineOrigin) -> Option<StyledText> {
    let BaselinePlace::Store {
        path,
        overrides_inline,
    } = &origin.place
    else {
        return None;
    };
    let note = if *overrides_inline {
        " (overrides inline)"
    } else {
        ""
    };
    Some(text!["baseline ", relative(path), note])
}

/// The evals of a plan, a row each.
fn evals(plan: &Plan) -> io::Result<Page> {
    let mut table = PageTable::new([
        TableColumn::left("Eval").least(20),
        TableColumn::left("Type").optional(),
        TableColumn::right("Cases"),
        TableColumn::left("Graders").least(12),
        TableColumn::left("Baseline"),
    ]);
    let mut lacking = false;
    for eval in &plan.evals {
        let baseline = baseline_of(eval)?;
        lacking |= matches!(baseline, Some(None));
        table.row([
            outside(&eval.info.id),
            own(type_name(eval.info.kind)),
            own(group_digits(eval.cases.len())),
            own(eval_methods(eval)),
            baseline.map(baseline_word).unwrap_or_default(),
        ]);
    }
    let mut page = Page::default();
    page.table(table);
    if lacking {
        page.words(dim(
            "Baseline none: `eval-harness baseline capture` captures one.",
        ));
    }
    Ok(page)
}

/// `tags a, b`; `None` where there are none.
fn tags(tags: &[String]) -> Option<StyledText> {
    let names = tags.join(", ");
    (!tags.is_empty()).then(|| text!["tags ", outside(&names)])
}

/// The cases of an eval behind what `page` holds, which is written as soon as it is long.
fn cases(console: &Console, page: &mut Page, plan: &Plan, eval: &Eval) -> io::Result<()> {
    page.section(outside(&eval.info.id));
    let category = eval.info.category.as_deref();
    let category = category.map(|category| text!["category ", outside(category)]);
    let facts = category.into_iter().chain(tags(&eval.info.tags));
    page.words(dim(StyledText::joined(facts, DOT)));
    if eval.info.is_private() {
        let cases = private_cases(eval.cases.len());
        page.words(dim(own(format!("{cases} not listed"))));
        return Ok(());
    }
    for (outline, streamed) in eval.cases.outlines().zip(eval.cases.stream(|_| true)) {
        let case = streamed.case.map_err(io::Error::other)?;
        let samples = outline.samples.map(|n| own(plural(n as usize, "sample")));
        let asked = model_of(plan, outline.profile).map(|name| text!["asks ", code(&name)]);
        let graders = own(methods(outline.profile, true).join(", "));
        let baseline = case.baseline.as_deref().and_then(baseline_file);
        let id = (outline.id != eval.info.id).then(|| outside(outline.id));
        let facts = [id, Some(graders), samples].into_iter().chain([
            tags(&outline.profile.tags),
            Some(outside(&case.origin)),
            asked,
            baseline,
        ]);
        let mut item = ListItem::dash(StyledText::joined(facts.flatten(), DOT));
        let graders = case.grading.graders.iter();
        let judges = graders.filter_map(|grader| grader.kind.judge());
        let judges = judges.map(|judge| text!["judged by ", outside(&judges::words(judge))]);
        item.below.extend(judges.map(PageBlock::Words));
        page.list([item]);
        if page.blocks.len() >= BATCH {
            console.page(&std::mem::take(page))?;
        }
    }
    Ok(())
}

/// A plan as JSON, written as it is read. The fields are in the order of their names, as they have
/// always been.
struct PlanListing<'a>(&'a Plan);

#[derive(Serialize)]
struct ListedEval<'a> {
    /// Only of regressions that compare with one; `null` when there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Option<ListedBaseline>>,
    cases: ListedCases<'a>,
    category: Option<&'a str>,
    id: &'a str,
    name: &'a str,
    /// Number of cases that are not listed, of a private dataset.
    #[serde(skip_serializing_if = "Option::is_none")]
    private_cases: Option<usize>,
    tags: &'a [String],
    r#type: &'static str,
}

#[derive(Serialize)]
struct ListedBaseline {
    captured_at: Option<String>,
    /// `inline` or `store`.
    from: &'static str,
    overrides_inline: bool,
    path: Option<String>,
}

struct ListedCases<'a>(&'a Eval);

#[derive(Serialize)]
struct ListedCase<'a> {
    graders: Vec<ListedGrader<'a>>,
    id: &'a str,
    name: Option<&'a str>,
    origin: &'a str,
    samples: Option<u32>,
}

#[derive(Serialize)]
struct ListedGrader<'a> {
    inferred: bool,
    informative: bool,
    /// Only where models judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<judges::ListedJudge<'a>>,
    method: &'static str,
    metrics: Vec<&'a str>,
    negate: bool,
    r#type: &'static str,
}

impl Serialize for PlanListing<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let evals: Vec<ListedEval> = self
            .0
            .evals
            .iter()
            .map(|eval| {
                Ok(ListedEval {
                    baseline: baseline_of(eval)
                        .map_err(S::Error::custom)?
                        .map(|origin| origin.map(listed_baseline)),
                    cases: ListedCases(eval),
                    category: eval.info.category.as_deref(),
                    id: &eval.info.id,
                    name: &eval.info.name,
                    private_cases: eval.info.is_private().then(|| eval.cases.len()),
                    tags: &eval.info.tags,
                    r#type: type_name(eval.info.kind),
                })
            })
            .collect::<Result<_, S::Error>>()?;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("evals", &evals)?;
        map.serialize_entry("suite", &self.0.suite.name)?;
        map.serialize_entry("target", &self.0.target_name)?;
        map.end()
    }
}

impl Serialize for ListedCases<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cases = &self.0.cases;
        if self.0.info.is_private() {
            return serializer.serialize_seq(Some(0))?.end();
        }
        let mut list = serializer.serialize_seq(Some(cases.len()))?;
        for (outline, streamed) in cases.outlines().zip(cases.stream(|_| true)) {
            let case = streamed.case.map_err(S::Error::custom)?;
            list.serialize_element(&ListedCase {
                graders: (outline.profile.graders.iter().zip(&case.grading.graders))
                    .map(|(grader, whole)| listed_grader(grader, whole.kind.judge()))
                    .collect(),
                id: outline.id,
                name: outline.name,
                origin: &case.origin,
                samples: outline.samples,
            })?;
        }
        list.end()
    }
}

fn listed_baseline(origin: BaselineOrigin) -> ListedBaseline {
    let (from, path, overrides_inline) = match &origin.place {
        BaselinePlace::Inline => ("inline", None, false),
        BaselinePlace::Store {
            path,
            overrides_inline,
        } => ("store", Some(relative(path)), *overrides_inline),
    };
    ListedBaseline {
        captured_at: origin.captured_at,
        from,
        overrides_inline,
        path,
    }
}

fn listed_grader<'a>(grader: &'a GraderOutline, judge: Option<&'a Judge>) -> ListedGrader<'a> {
    ListedGrader {
        inferred: grader.inferred,
        informative: grader.informative,
        judge: judge.map(judges::listed),
        method: grader.method,
        metrics: grader
            .measures
            .iter()
            .map(|(name, _)| name.as_str())
            .collect(),
        negate: grader.negate,
        r#type: grader.grader_type.name(),
    }
}
