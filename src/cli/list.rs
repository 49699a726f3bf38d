//! `eval-harness list`, and what `run --dry-run` shows.

use std::fmt::Write as _;

use serde_json::json;

use super::args::{ListArgs, ListFormat};
use super::console::Console;
use super::{Exit, suite};
use crate::base::text::{one_line, plural, truncate_width, width};
use crate::gate::ExitCode;
use crate::load::{Overrides, Purpose};
use crate::model::{Bound, Case, Eval, EvalType, Plan};
use crate::run::Prepared;

pub fn list(console: &Console, args: &ListArgs) -> Exit {
    let loaded = suite::load(&args.suite, Purpose::List, Overrides::default())?.loaded;
    let total = loaded.total;
    let plan = suite::plan_or_problems(console, loaded)?;
    let page = match args.format {
        ListFormat::Json => format!("{:#}\n", as_json(&plan)),
        ListFormat::Human => {
            let mut page = table(&plan, args.verbose);
            let cases: usize = plan.evals.iter().map(|eval| eval.cases.len()).sum();
            let _ = write!(page, "\n{}, {}", plural(plan.evals.len(), "eval"), plural(cases, "case"));
            if (plan.evals.len(), cases) != (total.evals, total.cases) {
                let _ = write!(page, " of {} and {}", total.evals, total.cases);
            }
            page.push('\n');
            page
        }
    };
    console.result(page.as_bytes())?;
    Ok(ExitCode::Pass)
}

/// The plan of a run that does not take place.
pub fn dry_run(console: &Console, prepared: &Prepared) -> Exit {
    let plan = &prepared.plan;
    let mut page = table(plan, false);
    let samples = prepared.total_samples();
    let target = plan.target.as_ref().map_or("none", |target| target.kind());
    let calls = if target == "recorded" { 0 } else { samples };
    let _ = writeln!(page, "\nsuite      {}", one_line(&plan.suite.name));
    let _ = writeln!(page, "target     {} ({target})", one_line(&plan.target_name));
    let _ = writeln!(
        page,
        "samples    {samples} ({calls} calls of the target at most {} at once)",
        plan.settings.max_workers
    );
    let _ = writeln!(page, "cost       none that is known: no model is asked");
    let _ = writeln!(page, "results    {}", plan.reporting.output_dir.display());
    for threshold in &plan.gate.thresholds {
        let sign = match threshold.bound {
            Bound::Min => "at least",
            Bound::Max => "at most",
        };
        let _ = writeln!(page, "threshold  {} {sign} {}", threshold.metric, threshold.value);
    }
    page.push_str("dry run: nothing was run\n");
    console.result(page.as_bytes())?;
    Ok(ExitCode::Pass)
}

fn type_name(kind: EvalType) -> &'static str {
    match kind {
        EvalType::Capability => "capability",
        EvalType::Regression => "regression",
    }
}

/// The methods of a case, each once, in order; inferred ones with a mark.
fn methods(case: &Case, mark: bool) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for grader in &case.grading.graders {
        let inferred = if mark && grader.inferred { " (inferred)" } else { "" };
        let not = if grader.negate { "not " } else { "" };
        let names: Vec<&str> = grader.measures().into_iter().map(|(name, _)| name).collect();
        let measures = if mark && !names.is_empty() {
            format!(" (measures {})", names.join(", "))
        } else {
            String::new()
        };
        let shown = if mark && grader.informative { " (informative)" } else { "" };
        let method = format!("{not}{}{inferred}{measures}{shown}", grader.kind.method());
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods
}

fn eval_methods(eval: &Eval) -> String {
    let mut all: Vec<String> = Vec::new();
    for method in eval.cases.iter().flat_map(|case| methods(case, false)) {
        if !all.contains(&method) {
            all.push(method);
        }
    }
    all.join(", ")
}

fn table(plan: &Plan, verbose: bool) -> String {
    let ids: Vec<String> =
        plan.evals.iter().map(|eval| truncate_width(&one_line(&eval.info.id), 32).into_owned()).collect();
    let column = ids.iter().map(|id| width(id)).max().unwrap_or(4).max(4);
    let mut page = format!("{:column$}  {:10}  {:>5}  GRADERS\n", "EVAL", "TYPE", "CASES");
    for (eval, id) in plan.evals.iter().zip(&ids) {
        let pad = " ".repeat(column - width(id));
        let kind = type_name(eval.info.kind);
        let _ = writeln!(page, "{id}{pad}  {kind:10}  {:>5}  {}", eval.cases.len(), eval_methods(eval));
        if verbose {
            for case in &eval.cases {
                let samples =
                    case.samples.map(|n| format!(", {}", plural(n as usize, "sample"))).unwrap_or_default();
                let graders = methods(case, true).join(", ");
                let _ = writeln!(
                    page,
                    "  {}  {graders}{samples}  {}",
                    one_line(&case.id),
                    one_line(&case.origin)
                );
            }
        }
    }
    page
}

fn as_json(plan: &Plan) -> serde_json::Value {
    let evals: Vec<serde_json::Value> = plan
        .evals
        .iter()
        .map(|eval| {
            let cases: Vec<serde_json::Value> = eval
                .cases
                .iter()
                .map(|case| {
                    let graders: Vec<serde_json::Value> = case
                        .grading
                        .graders
                        .iter()
                        .map(|grader| {
                            let names: Vec<&str> =
                                grader.measures().into_iter().map(|(name, _)| name).collect();
                            json!({
                                "type": grader.kind.grader_type().name(),
                                "method": grader.kind.method(),
                                "inferred": grader.inferred,
                                "negate": grader.negate,
                                "informative": grader.informative,
                                "metrics": names,
                            })
                        })
                        .collect();
                    json!({
                        "id": case.id, "name": case.name, "samples": case.samples, "graders": graders,
                        "origin": case.origin,
                    })
                })
                .collect();
            json!({
                "id": eval.info.id, "name": eval.info.name, "type": type_name(eval.info.kind),
                "category": eval.info.category, "tags": eval.info.tags, "cases": cases,
            })
        })
        .collect();
    json!({ "suite": plan.suite.name, "target": plan.target_name, "evals": evals })
}
