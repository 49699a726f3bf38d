//! `eval-harness list`, and what `run --dry-run` shows.

mod judges;

use std::io::{self, BufWriter, Write};

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::args::{ListArgs, ListFormat};
use super::baseline::relative;
use super::console::Console;
use super::{CliResult, estimate, suite};
use crate::baseline::capture::takes_a_baseline;
use crate::gate::ExitCode;
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::{
    BaselineOrigin, BaselinePlace, Bound, CaseProfile, Eval, EvalType, GraderOutline, Judge, Plan,
    Target,
};
use crate::run::PreparedRun;
use eval_base::text::{one_line, plural, truncate_width, width};

pub fn list(console: &Console, args: &ListArgs) -> CliResult {
    let loaded = suite::load(&args.suite, PlanPurpose::List, LoadOverrides::default())?.loaded;
    let total = loaded.total;
    let plan = suite::plan_or_problems(console, loaded)?;
    let mut page = BufWriter::with_capacity(64 * 1024, ListPage { console });
    match args.format {
        ListFormat::Json => {
            eval_base::json::to_writer_pretty(&mut page, &PlanListing(&plan))
                .map_err(io::Error::from)?;
            writeln!(page)?;
        }
        ListFormat::Human => {
            table(&mut page, &plan, args.verbose)?;
            let cases: usize = plan.evals.iter().map(|eval| eval.cases.len()).sum();
            write!(
                page,
                "\n{}, {}",
                plural(plan.evals.len(), "eval"),
                plural(cases, "case")
            )?;
            if (plan.evals.len(), cases) != (total.evals, total.cases) {
                write!(page, " of {} and {}", total.evals, total.cases)?;
            }
            writeln!(page)?;
        }
    }
    page.flush()?;
    Ok(ExitCode::Pass)
}

/// The command's result, piece by piece: of a million cases nobody should hold the whole page.
struct ListPage<'a> {
    console: &'a Console,
}

impl Write for ListPage<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.console.result(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The plan of a run that does not take place.
pub fn dry_run(console: &Console, prepared: &PreparedRun, compared: Option<&str>) -> CliResult {
    let plan = &prepared.plan;
    let mut page = Vec::new();
    table(&mut page, plan, false)?;
    let samples = prepared.total_samples();
    let target = plan.target.as_ref().map_or("none", |target| target.kind());
    writeln!(page, "\nsuite      {}", one_line(&plan.suite.name))?;
    writeln!(
        page,
        "target     {} ({target})",
        one_line(&plan.target_name)
    )?;
    let calls = match estimate::calls(prepared) {
        (0, _) => "no calls of the target".to_owned(),
        (1, _) => "1 call of the target".to_owned(),
        (calls, most) => format!("{calls} calls of the target, at most {most} at once"),
    };
    writeln!(page, "samples    {samples} ({calls})")?;
    for (label, words) in estimate::lines(prepared)? {
        writeln!(page, "{label:9}  {words}")?;
    }
    writeln!(page, "results    {}", plan.reporting.output_dir.display())?;
    for threshold in &plan.gate.thresholds {
        let sign = match threshold.bound {
            Bound::Min => "at least",
            Bound::Max => "at most",
        };
        writeln!(
            page,
            "threshold  {} {sign} {}",
            threshold.metric, threshold.value
        )?;
    }
    if plan.gate.require_all_evals {
        writeln!(page, "threshold  all evals pass")?;
    }
    if let Some(compared) = compared {
        writeln!(page, "compared   with {compared}")?;
    }
    writeln!(page, "dry run: nothing was run")?;
    console.result(&page)?;
    Ok(ExitCode::Pass)
}

fn type_name(kind: EvalType) -> &'static str {
    match kind {
        EvalType::Capability => "capability",
        EvalType::Regression => "regression",
    }
}

/// The model that is asked for a case's outputs.
fn model_of(plan: &Plan, profile: &CaseProfile) -> Option<String> {
    match profile.target.as_ref().or(plan.target.as_ref()) {
        Some(Target::Model(model)) => Some(one_line(&model.endpoint.name())),
        _ => None,
    }
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

fn baseline_words(origin: Option<&BaselineOrigin>) -> String {
    match origin.map(|origin| &origin.place) {
        None => "none; `eval-harness baseline capture` captures one".to_owned(),
        Some(BaselinePlace::Inline) => "beside the eval".to_owned(),
        Some(BaselinePlace::Store {
            path,
            overrides_inline,
        }) => {
            let note = if *overrides_inline {
                " (overrides the inline one)"
            } else {
                ""
            };
            format!("{}{note}", relative(path))
        }
    }
}

fn table(page: &mut impl Write, plan: &Plan, verbose: bool) -> io::Result<()> {
    let ids: Vec<String> = plan
        .evals
        .iter()
        .map(|eval| truncate_width(&one_line(&eval.info.id), 32).into_owned())
        .collect();
    let column = ids.iter().map(|id| width(id)).max().unwrap_or(4).max(4);
    writeln!(
        page,
        "{:column$}  {:10}  {:>5}  GRADERS",
        "EVAL", "TYPE", "CASES"
    )?;
    for (eval, id) in plan.evals.iter().zip(&ids) {
        let pad = " ".repeat(column - width(id));
        let kind = type_name(eval.info.kind);
        writeln!(
            page,
            "{id}{pad}  {kind:10}  {:>5}  {}",
            eval.cases.len(),
            eval_methods(eval)
        )?;
        if let Some(origin) = baseline_of(eval)? {
            writeln!(page, "  baseline: {}", baseline_words(origin.as_ref()))?;
        }
        if verbose {
            for (outline, case) in eval.cases.outlines().zip(eval.cases.stream(|_| true)) {
                let samples = outline
                    .samples
                    .map(|n| format!(", {}", plural(n as usize, "sample")))
                    .unwrap_or_default();
                let graders = methods(outline.profile, true).join(", ");
                let case = case.case.map_err(io::Error::other)?;
                let asks = model_of(plan, outline.profile)
                    .map(|name| format!("  asks {name}"))
                    .unwrap_or_default();
                writeln!(
                    page,
                    "  {}  {graders}{samples}  {}{asks}",
                    one_line(outline.id),
                    one_line(&case.origin)
                )?;
                for judge in case
                    .grading
                    .graders
                    .iter()
                    .filter_map(|grader| grader.kind.judge())
                {
                    writeln!(page, "    judged by {}", judges::words(judge))?;
                }
            }
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
