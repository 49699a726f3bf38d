//! Metrics of the authors' own: the names that graders measure, and what a suite computes of them
//! and of the built-in ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::problem::{Code, Problem, Problems};
use super::source::Span;
use super::thresholds::{ThresholdDemand, unknown_metric};
use super::tree::Node;
use crate::model::{Bound, Component, Composite, Eval, Metric, NumberKind, name_fault};
use crate::spec::{ComponentSpec, MetricSpec};

/// What is known of each metric that graders measure, by name.
pub(super) type DeclaredMetrics = BTreeMap<String, NumberKind>;

/// The metrics that the graders of these evals measure. A name that means a score here and some
/// number there is an error.
pub(super) fn declared(evals: &[Arc<Eval>], problems: &mut Problems) -> DeclaredMetrics {
    let mut declared = DeclaredMetrics::new();
    let mut conflicts: BTreeSet<String> = BTreeSet::new();
    let graders = evals
        .iter()
        .flat_map(|eval| eval.cases.profiles())
        .flat_map(|profile| &profile.graders);
    for (name, kind) in graders.flat_map(|grader| &grader.measures) {
        match declared.get(name) {
            None => drop(declared.insert(name.clone(), *kind)),
            Some(known) if known != kind => drop(conflicts.insert(name.clone())),
            Some(_) => {}
        }
    }
    for name in conflicts {
        let message = format!(
            "`{name}` is measured in two ways: a score, an edit rate and a number from `metrics:` can't share a name"
        );
        let hint = "give one of them another name with `metric: NAME`";
        problems.push(Problem::general(Code::GraderConflict, message).hint(hint));
    }
    declared
}

/// The suite's composites. `complete`: false when faults may have hidden a part of what graders
/// measure.
pub(super) fn composites(
    specs: &BTreeMap<String, MetricSpec>,
    node: Option<&Node>,
    declared: &DeclaredMetrics,
    complete: bool,
    problems: &mut Problems,
) -> Vec<Composite> {
    let mut composites = Vec::new();
    for (name, spec) in specs {
        let at = node.and_then(|node| node.key_place(name));
        let fault = name_fault(name).or_else(|| {
            declared
                .contains_key(name)
                .then(|| "is measured by a grader, so it can't also be computed".to_owned())
        });
        if let Some(fault) = fault {
            problems.push(Problem::error(
                Code::BadFormat,
                at,
                format!("`{name}` {fault}"),
            ));
            continue;
        }
        let parts = node
            .and_then(|node| node.get(name))
            .map_or(&[][..], |node| node.seq("composite"));
        let mut components: Vec<Component> = Vec::new();
        for (index, part) in spec.composite.iter().enumerate() {
            let place = ComponentPlace {
                node: parts.get(index),
                at,
            };
            match component(part, specs, declared, complete, &place) {
                Ok(part) if components.iter().any(|known| known.metric == part.metric) => {
                    let message = format!("`{}` is part of `{name}` twice", part.metric);
                    problems.push(Problem::error(
                        Code::SuspiciousValue,
                        place.of("metric"),
                        message,
                    ));
                }
                Ok(part) => components.push(part),
                Err(problem) => problems.extend(problem.map(|problem| *problem)),
            }
        }
        if components.len() == spec.composite.len()
            && components.iter().all(|part| part.weight == 0.0)
        {
            problems.push(Problem::error(
                Code::OutOfRange,
                at,
                format!("the weights of all parts of `{name}` are 0"),
            ));
        }
        composites.push(Composite {
            name: name.clone(),
            components,
        });
    }
    composites
}

/// Where a component is written.
struct ComponentPlace<'a> {
    node: Option<&'a Node>,
    at: Option<Span>,
}

impl ComponentPlace<'_> {
    fn of(&self, key: &str) -> Option<Span> {
        self.node
            .map(|node| node.locate(&format!("/{key}")))
            .or(self.at)
    }
}

/// One part, or what is wrong with it; `Err(None)` when that may only seem wrong.
fn component(
    spec: &ComponentSpec,
    all: &BTreeMap<String, MetricSpec>,
    declared: &DeclaredMetrics,
    complete: bool,
    place: &ComponentPlace,
) -> Result<Component, Option<Box<Problem>>> {
    let refuse =
        |code, key, message: String| Some(Box::new(Problem::error(code, place.of(key), message)));
    let name = &spec.metric;
    let known: Vec<&str> = declared.keys().map(String::as_str).collect();
    let unknown = || Some(Box::new(unknown_metric(name, place.of("metric"), &known)));
    let metric: Metric = name.parse().map_err(|_| unknown())?;
    let kind = match &metric {
        Metric::Named(name) if all.contains_key(name) => {
            let message = format!(
                "`{name}` is itself a composite; a composite may only use measured metrics"
            );
            return Err(refuse(Code::UnknownMetric, "metric", message));
        }
        Metric::Named(name) => match declared.get(name) {
            Some(kind) => *kind,
            None => return Err(complete.then(unknown).flatten()),
        },
        share if share.is_share() && share.bound() == Bound::Min => NumberKind::Score,
        share if share.is_share() => NumberKind::Rate,
        _ => NumberKind::Number,
    };
    let falls = match &metric {
        Metric::Named(_) => (kind == NumberKind::Rate).then_some(true),
        built_in => Some(built_in.bound() == Bound::Max),
    };
    // A composite in which a worse metric made a better whole could not be bounded by its worst and
    // best case either.
    match falls {
        Some(true) if !spec.invert => {
            let message = format!(
                "`{name}` is better when it is lower, but here a higher value would be better"
            );
            let problem = refuse(Code::SuspiciousValue, "metric", message);
            return Err(problem.map(|problem| Box::new(problem.hint("add `invert: true`"))));
        }
        Some(false) if spec.invert => {
            let message = format!(
                "`{name}` is better when it is higher, but `invert` would make a lower value better"
            );
            return Err(refuse(Code::SuspiciousValue, "invert", message));
        }
        _ => {}
    }
    let range = match spec.range {
        Some([low, high]) if !(low.is_finite() && high.is_finite() && low < high) => {
            let message =
                format!("the range [{low}, {high}] is empty: the lower number must come first");
            return Err(refuse(Code::OutOfRange, "range", message));
        }
        Some(range) => range,
        None if kind == NumberKind::Number => {
            let message = format!(
                "`{name}` is not a share, so it needs a `range`: the values that score 0 and 1"
            );
            let problem = refuse(Code::MissingKey, "metric", message);
            return Err(
                problem.map(|problem| Box::new(problem.hint("for example `range: [0, 2000]`")))
            );
        }
        None => [0.0, 1.0],
    };
    Ok(Component {
        metric: metric.to_string(),
        weight: spec.weight.unwrap_or(1.0),
        invert: spec.invert,
        range,
    })
}

/// Demands on metrics that no selected eval measures: an error, since the gate could not decide.
/// `again`: the cases are those that did not pass in an earlier run, which nobody chose by what
/// they measure; then it is a warning.
pub(super) fn check_selected(
    demands: &[ThresholdDemand],
    composites: &[Composite],
    evals: &[Arc<Eval>],
    again: bool,
    problems: &mut Problems,
) {
    for demand in demands {
        let Some(name) = demand.author_name() else {
            continue;
        };
        let composite = composites.iter().find(|composite| composite.name == name);
        let needed: Vec<&str> = match composite {
            Some(composite) => {
                let parts = composite.components.iter();
                parts.map(|part| part.metric.as_str()).collect()
            }
            None => vec![name],
        };
        let evals = demand.evals(evals);
        if evals.is_empty() {
            continue;
        }
        let measured = declared(&evals, &mut Problems::new());
        let is_named = |name: &str| matches!(name.parse(), Ok(Metric::Named(_)));
        for missing in needed
            .into_iter()
            .filter(|name| is_named(name) && !measured.contains_key(*name))
        {
            let metric = &demand.threshold.metric;
            let message = format!(
                "the threshold on `{metric}` needs `{missing}`, which no selected eval measures"
            );
            let problem = Problem::error(Code::UnknownMetric, demand.at, message);
            problems.push(
                problem
                    .hint("select an eval that measures it, or remove the threshold; otherwise the gate can't pass")
                    .maybe_warning(again),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::load::{LoadOverrides, LoadRequest, PlanPurpose, load};
    use crate::model::Plan;

    fn loaded(head: &str, graders: &str, overrides: LoadOverrides) -> (Option<Plan>, Vec<String>) {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: echo}}\n{head}  evals:\n    - {{id: a, input: x, expected: y, graders: [{graders}]}}\n    - {{id: b, input: x, expected: y}}\n"
        );
        fs::write(cwd.join("s.yaml"), text).expect("written");
        let request = LoadRequest {
            suite: "s.yaml".into(),
            purpose: PlanPurpose::Run,
            overrides,
            env: Default::default(),
            cwd,
            cpus: 1,
            ..LoadRequest::default()
        };
        let loaded = load(&request);
        let said = loaded.problems.iter().map(|p| {
            let at = p.span.map_or("-".to_owned(), |span| {
                let at = loaded.sources.position(span);
                format!("{}:{}", at.line, at.column)
            });
            let hint = p
                .hint
                .as_ref()
                .map(|hint| format!(" | {hint}"))
                .unwrap_or_default();
            format!("{at} {}: {}{hint}", p.code.slug(), p.message)
        });
        let said = said.collect();
        (loaded.plan, said)
    }

    const RATE: &str = "{type: code, config: {method: similarity, metric: edit_rate}}";
    const LIKE: &str = "{type: code, config: {method: similarity}}";
    const TRUE: &str = "{type: code, metric: build_pass, config: {command: [/bin/true]}}";
    const JSON: &str =
        "{type: code, config: {command: [/bin/true], verdict: json, metrics: [lint_warnings]}}";

    fn all() -> String {
        [RATE, LIKE, TRUE, JSON].join(", ")
    }

    fn thresholds(head: &str, overrides: &[&str]) -> String {
        let overrides = LoadOverrides {
            thresholds: overrides.iter().map(|t| (*t).to_owned()).collect(),
            ..LoadOverrides::default()
        };
        let (plan, said) = loaded(head, &all(), overrides);
        let Some(plan) = plan else {
            return said.join("\n");
        };
        let demands = plan
            .gate
            .thresholds
            .iter()
            .map(|t| format!("{} {:?} {}", t.metric, t.bound, t.value));
        demands.chain(said).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_graders_measure_takes_thresholds_in_its_own_direction() {
        let said = [
            thresholds(
                "  thresholds: {build_pass: 0.9, levenshtein: 0.8, edit_rate: 0.3, lint_warnings: {max: 3}}\n",
                &[],
            ),
            thresholds(
                "  thresholds: {edit_rate: {max: 0.3}, require: thresholds}\n",
                &["edit_rate=0.2", "lint_warnings<=5"],
            ),
            thresholds("  thresholds: {lint_warnings: 3}\n", &[]),
            thresholds("  thresholds: {build_pass: 90}\n", &[]),
            thresholds("  thresholds: {edit_rat: 0.3}\n", &["bild_pass=1"]),
            thresholds("  presets: {p: {edit_rates: 0.3}}\n", &[]),
        ];
        insta::assert_snapshot!(said.join("\n"), @r##"
        build_pass Min 0.9, edit_rate Max 0.3, levenshtein Min 0.8, lint_warnings Max 3
        edit_rate Max 0.2, lint_warnings Max 5
        4:16 missing-key: it is not known whether `lint_warnings` is better when it is higher or lower | write `{min: 3}` or `{max: 3}`; for `--threshold`, `lint_warnings>=3` or `lint_warnings<=3`
        4:16 out-of-range: a threshold on `build_pass` must be between 0 and 1, not 90 | write 0.9 for 90 %
        4:16 unknown-metric: `edit_rat` is not a metric | did you mean `edit_rate`?
        - unknown-metric: `--threshold`: `bild_pass` is not a metric | did you mean `build_pass`?
        4:17 unknown-metric: `edit_rates` is not a metric | did you mean `edit_rate`?
        "##);
    }

    fn composite(parts: &str) -> String {
        let head = format!("  metrics:\n    quality: {{composite: [{parts}]}}\n");
        let (plan, said) = loaded(&head, &all(), LoadOverrides::default());
        let parts = plan.map(|plan| {
            let parts = plan.composites[0].components.iter();
            parts
                .map(|p| format!("{} {} {} {:?}", p.metric, p.weight, p.invert, p.range))
                .collect::<Vec<_>>()
        });
        parts
            .unwrap_or_default()
            .into_iter()
            .chain(said)
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn composites_are_of_what_is_measured_and_point_one_way() {
        let said = [
            composite(
                "{metric: pass@1, weight: 0.35}, {metric: edit_rate, invert: true}, {metric: latency_p50_ms, range: [0, 2000], invert: true}",
            ),
            composite("{metric: lint_warnings, range: [0, 20], invert: true}"),
            composite("{metric: lint_warnings, invert: true}"),
            composite("{metric: cost_usd, invert: true}"),
            composite("{metric: cost_usd, range: [0, 1]}"),
            composite("{metric: edit_rate}"),
            composite("{metric: pass_at_1, invert: true}"),
            composite("{metric: quality}"),
            composite("{metric: levenstein}"),
            composite("{metric: build_pass, range: [1, 0]}"),
            composite("{metric: build_pass}, {metric: build_pass}"),
            composite("{metric: build_pass, weight: 0}"),
        ];
        insta::assert_snapshot!(said.join("\n"), @r##"
        pass_at_1 0.35 false [0.0, 1.0], edit_rate 1 true [0.0, 1.0], latency_p50_ms 1 true [0.0, 2000.0]
        lint_warnings 1 true [0.0, 20.0]
        5:36 missing-key: `lint_warnings` is not a share, so it needs a `range`: the values that score 0 and 1 | for example `range: [0, 2000]`
        5:36 missing-key: `cost_usd` is not a share, so it needs a `range`: the values that score 0 and 1 | for example `range: [0, 2000]`
        5:36 suspicious-value: `cost_usd` is better when it is lower, but here a higher value would be better | add `invert: true`
        5:36 suspicious-value: `edit_rate` is better when it is lower, but here a higher value would be better | add `invert: true`
        5:55 suspicious-value: `pass_at_1` is better when it is higher, but `invert` would make a lower value better
        5:36 unknown-metric: `quality` is itself a composite; a composite may only use measured metrics
        5:36 unknown-metric: `levenstein` is not a metric | did you mean `levenshtein`?
        5:55 out-of-range: the range [1, 0] is empty: the lower number must come first
        5:58 suspicious-value: `build_pass` is part of `quality` twice
        5:5 out-of-range: the weights of all parts of `quality` are 0
        "##);
    }

    #[test]
    fn names_are_checked_where_they_are_written() {
        let graders = |text: &str| loaded("", text, LoadOverrides::default()).1.join(", ");
        let said = [
            graders("{type: code, metric: pass_rate, config: {command: [/bin/true]}}"),
            graders("{type: code, metric: Build-Pass, config: {command: [/bin/true]}}"),
            graders(&format!("{LIKE}, {LIKE}")),
            graders("{type: code, informative: true, config: {method: similarity}}"),
            graders("{type: code, config: {command: [/bin/true], metrics: [x]}}"),
            graders("{type: code, config: {method: similarity, threshold: 80}}"),
            graders("{type: code, config: {method: similarity, threshold: 0}}"),
            graders("{type: code, config: {method: similarity, metric: rouge_l, unit: lines}}"),
            loaded(
                "  metrics: {edit_rate: {composite: [{metric: score}]}}\n",
                RATE,
                LoadOverrides::default(),
            )
            .1
            .join(", "),
            loaded(
                "  metrics: {score: {composite: [{metric: pass_rate}]}}\n",
                RATE,
                LoadOverrides::default(),
            )
            .1
            .join(", "),
        ];
        insta::assert_snapshot!(said.join("\n"), @"
        5:69 bad-format: `pass_rate` is the name of a built-in metric
        5:69 bad-format: `Build-Pass` is not a metric name: use lower-case letters, digits and `_`, beginning with a letter
        5:113 grader-conflict: two graders of this case measure `levenshtein` | give one of them another name: `metric: NAME` next to its `type`
        5:61 grader-incomplete: every grader of this case is `informative`, so none decides | at least one grader must decide the verdict
        5:92 grader-conflict: `metrics` require a JSON verdict, but this grader's verdict is its exit code | add `verdict: json`; to measure 1 or 0, set `metric: NAME` next to the grader's type
        5:101 out-of-range: a similarity is between 0 and 1, so none reaches 80 | write 0.8 for 80 %
        5:101 suspicious-value: `threshold: 0` passes every output | set a threshold above 0; for a grader that only measures, set `informative: true` next to its type
        5:107 grader-conflict: `unit` sets what `edit_rate` counts; `rouge_l` ignores it
        4:13 bad-format: `edit_rate` is measured by a grader, so it can't also be computed
        4:13 bad-format: `score` is the name of a built-in metric
        ");
    }

    #[test]
    fn what_a_shard_or_a_rerun_does_not_measure_is_no_error() {
        let head = "  thresholds: {edit_rate: 0.5, require: thresholds}\n";
        let only = [("b".to_owned(), "b".to_owned())].into();
        let rerun = LoadOverrides {
            filters: crate::load::CaseFilters {
                only: Some(only),
                ..Default::default()
            },
            ..LoadOverrides::default()
        };
        let (plan, said) = loaded(head, &all(), rerun);
        let demands: Vec<String> = plan
            .unwrap()
            .gate
            .thresholds
            .into_iter()
            .map(|t| t.metric)
            .collect();
        assert_eq!(demands, ["edit_rate"], "it is left undecided, not dropped");
        assert_eq!(
            said,
            [
                "4:16 unknown-metric: the threshold on `edit_rate` needs `edit_rate`, which no selected eval measures | select an eval that measures it, or remove the threshold; otherwise the gate can't pass"
            ]
        );
        let shards = (1..=2).map(|index| {
            let shard = Some(crate::model::Shard { index, of: 3 });
            loaded(
                head,
                &all(),
                LoadOverrides {
                    shard,
                    ..LoadOverrides::default()
                },
            )
        });
        let mut cases = 0;
        for (plan, said) in shards {
            assert_eq!(said, Vec::<String>::new());
            cases += plan
                .unwrap()
                .evals
                .iter()
                .map(|eval| eval.cases.len())
                .sum::<usize>();
        }
        assert_eq!(cases, 2);
    }

    #[test]
    fn a_filter_that_leaves_nothing_to_measure_is_an_error() {
        let filters = |eval: &str| LoadOverrides {
            filters: crate::load::CaseFilters {
                eval: vec![eval.to_owned()],
                ..Default::default()
            },
            ..LoadOverrides::default()
        };
        let head = "  thresholds: {q: 0.5, edit_rate: 0.5, require: thresholds}\n  metrics: {q: {composite: [{metric: levenshtein}]}}\n";
        assert_eq!(loaded(head, &all(), filters("a")).1, Vec::<String>::new());
        let said = loaded(head, &all(), filters("b")).1;
        assert_eq!(
            said,
            [
                "4:24 unknown-metric: the threshold on `edit_rate` needs `edit_rate`, which no selected eval measures | select an eval that measures it, or remove the threshold; otherwise the gate can't pass",
                "4:16 unknown-metric: the threshold on `q` needs `levenshtein`, which no selected eval measures | select an eval that measures it, or remove the threshold; otherwise the gate can't pass",
            ]
        );
    }
}
