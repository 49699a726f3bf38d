//! What thresholds may say: selectors, bounds, `max_regressions`, and everything that contradicts
//! itself.

use std::fs;

use crate::load::{CaseFilters, LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, load};
use crate::model::{AskedThreshold, Bound, Figure, GateRequirement, GateSpec, Shard, Threshold};

const EVALS: &str = "  evals:
    - {id: cap-auth, category: auth, metadata: {tags: [critical]}, input: x, expected: y}
    - {metadata: {id: cap-math, category: math, tags: [slow]}, test_cases: [{id: m, input: x, expected: y, samples: 4}]}
    - {metadata: {id: cap-mixed}, test_cases: [{id: a, input: x, expected: y, tags: [edge]}, {id: b, input: x, expected: y}]}
    - {id: reg-login, category: auth, baseline: {output: y}, current: {input: x}}
";

fn load_with(head: &str, evals: &str, overrides: LoadOverrides) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    let text = format!("eval_suite:\n  name: s\n  target: {{type: echo}}\n{head}{evals}");
    fs::write(cwd.join("s.yaml"), text).expect("written");
    load(&LoadRequest {
        suite: "s.yaml".into(),
        purpose: PlanPurpose::Run,
        overrides,
        env: Default::default(),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

fn line(spec: &GateSpec) -> String {
    let figure = |on| match on {
        Figure::Value => "",
        Figure::CiLower => " lower",
        Figure::CiUpper => " upper",
    };
    let sign = |bound| if bound == Bound::Min { ">=" } else { "<=" };
    let mut all: Vec<String> = spec
        .thresholds
        .iter()
        .map(|t| format!("{}{} {} {}", t.metric, figure(t.on), sign(t.bound), t.value))
        .collect();
    all.extend(spec.max_regressions.map(|n| format!("max_regressions {n}")));
    all.extend(
        spec.require_all_evals
            .then(|| "require all_evals".to_owned()),
    );
    all.join("\n")
}

/// The demands of the plan, or the problems; warnings follow the demands.
fn said(head: &str, overrides: LoadOverrides) -> String {
    of_evals(head, EVALS, overrides)
}

/// The same of other evals.
fn of_evals(head: &str, evals: &str, overrides: LoadOverrides) -> String {
    let loaded = load_with(head, evals, overrides);
    let problems = loaded.problems.iter().map(|p| {
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
    let problems: Vec<String> = problems.collect();
    let plan = loaded.plan.filter(|_| !loaded.problems.has_errors());
    let demands = plan.map(|plan| line(&plan.gate));
    demands
        .into_iter()
        .chain(problems)
        .collect::<Vec<_>>()
        .join("\n")
}

fn typed(thresholds: &[&str]) -> LoadOverrides {
    LoadOverrides {
        thresholds: thresholds.iter().map(|t| (*t).to_owned()).collect(),
        ..LoadOverrides::default()
    }
}

fn alone(head: &str) -> String {
    said(head, LoadOverrides::default())
}

#[test]
fn parts_are_written_below_the_metric_and_take_over_its_bound() {
    insta::assert_snapshot!(alone("  thresholds:
    pass_rate: {min: 0.9, bound: lower, by_type: {regression: 1.0}, by_tag: {critical: {min: 0.95}, edge: {min: 0.5, bound: point}}}
    pass@1: {by_category: {auth: 0.8}, by_eval: {\"cap-*\": {min: 0.7, max: 0.9}}}
    latency_mean_ms: {by_tag: {slow: 300}}
    max_regressions: 2
"), @"
    latency_mean_ms[tag=slow] <= 300
    pass_at_1[category=auth] >= 0.8
    pass_at_1[eval=cap-*] >= 0.7
    pass_at_1[eval=cap-*] <= 0.9
    pass_rate lower >= 0.9
    pass_rate[type=regression] lower >= 1
    pass_rate[tag=critical] lower >= 0.95
    pass_rate[tag=edge] >= 0.5
    max_regressions 2
    ");
}

#[test]
fn a_whole_name_says_the_same_in_files_and_on_the_command_line() {
    let typed = typed(&[
        "pass@1[tag=critical]=0.9",
        "pass_rate[eval=cap-*]<=0.99",
        " pass_rate[eval=cap-*] >= 0.5",
        "max_regressions=1",
        "case_pass_rate=0.7",
    ]);
    insta::assert_snapshot!(said("  max_regressions: 5
  thresholds: {\"pass_at_1[tag=critical]\": 0.5, \"pass_rate[type=regression]\": {min: 0.5, on: ci_lower}}
", typed), @"
    pass_rate[type=regression] lower >= 0.5
    pass_at_1[tag=critical] >= 0.9
    pass_rate[eval=cap-*] <= 0.99
    pass_rate[eval=cap-*] >= 0.5
    case_pass_rate >= 0.7
    max_regressions 1
    ");
}

#[test]
fn max_regressions_of_a_set_comes_before_the_suites_and_goes_with_its_preset() {
    let head = "  max_regressions: 5\n  thresholds: {max_regressions: 3}\n  presets: {lax: {max_regressions: {max: 9}}, bare: {pass_rate: 0.5}}\n";
    let preset = |name: &str| LoadOverrides {
        preset: Some(name.into()),
        ..LoadOverrides::default()
    };
    assert_eq!(alone(head), "max_regressions 3");
    assert_eq!(said(head, preset("lax")), "max_regressions 9");
    assert_eq!(
        said(head, preset("bare")),
        "pass_rate >= 0.5\nmax_regressions 5"
    );
    assert_eq!(
        said(
            head,
            LoadOverrides {
                max_regressions: Some(1),
                ..preset("lax")
            }
        ),
        "max_regressions 1"
    );
    insta::assert_snapshot!(alone("  thresholds: {max_regressions: 1.5}\n"), @"4:33 out-of-range: `max_regressions` must be a whole number: how many failed regressions the gate allows | for example `max_regressions: 2`");
    insta::assert_snapshot!(said("", typed(&["max_regressions>=1", "max_regressions=-1"])), @"
    - unknown-metric: `--threshold max_regressions>=1`: `max_regressions` must be a whole number: how many failed regressions the gate allows
    - unknown-metric: `--threshold max_regressions=-1`: `max_regressions` must be a whole number: how many failed regressions the gate allows
    ");
}

#[test]
fn the_command_line_can_ask_for_an_end_of_the_interval() {
    insta::assert_snapshot!(said("", typed(&["pass_rate>=0.9@lower", "score=0.8@upper"])), @"
    pass_rate lower >= 0.9
    score upper >= 0.8
    ");
    insta::assert_snapshot!(said("", typed(&["pass_at_1=0.5@mean"])), @"- unknown-metric: `--threshold pass_at_1=0.5@mean`: `0.5@mean` is not a number");
}

#[test]
fn what_selects_nothing_is_an_error_with_what_was_meant() {
    insta::assert_snapshot!(alone("  thresholds:
    pass_rate: {min: 0.9, by_tag: {critcal: 1, none: 1}, by_category: {aut: 1, regression: 1}, by_eval: {\"cap-auht\": 1, \"x*\": 1}}
    score: {by_tag: {critcal: 1}}
"), @"
    5:72 empty-cases: `pass_rate[category=aut]` covers nothing: no eval of this suite has the category `aut` | did you mean `auth`?
    5:80 empty-cases: `pass_rate[category=regression]` covers nothing: no eval of this suite has the category `regression` | did you mean `type=regression`?
    5:36 empty-cases: `pass_rate[tag=critcal]` covers nothing: no eval or case of this suite has the tag `critcal` | did you mean `critical`?
    5:48 empty-cases: `pass_rate[tag=none]` covers nothing: no eval or case of this suite has the tag `none` | available: critical, edge, slow
    5:106 empty-cases: `pass_rate[eval=cap-auht]` covers nothing: no eval of this suite has an id that matches `cap-auht` | did you mean `cap-auth`?
    5:121 empty-cases: `pass_rate[eval=x*]` covers nothing: no eval of this suite has an id that matches `x*` | available: cap-auth, cap-math, cap-mixed, reg-login
    ");
}

#[test]
fn names_that_are_no_parts_are_told_where_they_stand() {
    insta::assert_snapshot!(alone("  thresholds:
    pass_rate: {by_type: {regresion: 1}, by_tag: {\"a\\nb\": 1, \"\": 1}, by_eval: {\"[\": 1}}
    capability_pass_rate: {min: 0.5, by_type: {regression: 1}}
    \"score[tag=critical]\": {min: 0.5, by_type: {capability: 1}}
    \"score[label=a]\": 1
    \"scroe[tag=critical]\": 1
"), @"
6:48 bad-format: `capability_pass_rate` is already limited to evals of one type, so `type=regression` is not allowed | write `pass_rate[type=regression]`
5:27 bad-format: types are `capability` and `regression`, not `regresion` | did you mean `regression`?
5:62 bad-format: `tag` has no value
5:51 bad-format: the value of `tag` contains a line break or another control character
5:80 bad-glob: `[` is not a glob: unclosed character class; missing ']'
8:5 bad-format: `score[label=a]` selects no part of a run: parts are selected by `type`, `category`, `tag`, `eval`, `released`, not by `label` | for example `pass_rate[tag=critical]`
7:39 bad-format: `score[tag=critical]` is already limited to a part of the run, so `by_type` is not allowed
9:5 unknown-metric: `scroe` is not a metric | did you mean `score`?
");
    insta::assert_snapshot!(said("", typed(&["pass_rate[tag=critical=1", "pass_rate[tag]=1", "regression_pass_rate[type=regression]=1", "lint[tag=critical]=1", "pass_rate[tag=criticl]=1", "pass_rate"])), @"
    - unknown-metric: `--threshold pass_rate[tag=critical=1` is not METRIC=VALUE | for example `pass@1=0.9` or `pass_rate[tag=critical]=1`
    - bad-format: `--threshold`: `pass_rate[tag]` selects no part of a run: write KIND=VALUE in the brackets, such as `[tag=critical]` | for example `pass_rate[tag=critical]`
    - bad-format: `--threshold`: `regression_pass_rate` is already limited to evals of one type, so `type=regression` is not allowed | write `pass_rate[type=regression]`
    - unknown-metric: `--threshold pass_rate` is not METRIC=VALUE | for example `pass@1=0.9` or `pass_rate[tag=critical]=1`
    ");
}

#[test]
fn contradictions_are_errors_at_their_places() {
    insta::assert_snapshot!(alone("  thresholds:
    pass_rate: {min: 0.9, max: 0.5}
    score: {min: 0.9, on: ci_lower, bound: upper}
    case_pass_rate: {min: 0.9, by_tag: {critical: {min: 0.9, max: 0.1}}}
    \"case_pass_rate[tag=critical]\": 1
    pass@1: 0.5
    pass_at_1: 0.5
    latency_mean_ms: {max: 100, bound: lower}
    weighted_score: {by_tag: {}}
"), @"
    7:51 out-of-range: no value is between 0.9 and 0.1
    8:5 both-spellings: `case_pass_rate: by_tag: critical` and `case_pass_rate[tag=critical]` are two names of the same metric
    11:22 unknown-metric: `latency_mean_ms` has no interval, so `bound` is not allowed
    10:5 both-spellings: `pass@1` and `pass_at_1` are two names of the same metric
    5:16 out-of-range: no value is between 0.9 and 0.5
    6:12 both-spellings: `bound` and `on` are two spellings of the same setting, but their values differ | keep `bound`
    12:21 missing-key: the threshold on `weighted_score` has neither `min` nor `max`
    ");
    insta::assert_snapshot!(said("  thresholds: {score: 0.5}\n", typed(&["pass_rate>=0.9", "pass_rate<=0.5"])), @"- out-of-range: `--threshold`: no value of `pass_rate` is at least 0.9 and at most 0.5 | both thresholds apply: one is a minimum, the other a maximum");
    insta::assert_snapshot!(said("  thresholds: {pass_rate: {max: 0.5}}\n", typed(&["pass_rate>=0.9"])), @"- out-of-range: `--threshold`: no value of `pass_rate` is at least 0.9 and at most 0.5 | both thresholds apply: one is a minimum, the other a maximum");
    insta::assert_snapshot!(alone("  metrics: {q: {composite: [{metric: score}]}}\n  thresholds: {q: {min: 0.5, bound: lower}}\n"), @"5:16 unknown-metric: `q` is computed from other metrics and has no interval, so `bound` is not allowed");
}

#[test]
fn a_k_is_asked_of_the_cases_of_the_part_alone() {
    assert_eq!(
        alone("  thresholds: {pass_hat_3: {by_tag: {slow: 0.5}}}\n"),
        "pass_hat_3[tag=slow] >= 0.5"
    );
    insta::assert_snapshot!(alone("  thresholds: {pass_hat_5: {by_tag: {slow: 0.5}}, regression_pass_rate: {by_tag: {slow: 1}}}\n"), @"
    4:38 k-above-samples: `pass^5` needs at least 5 samples per case, but `cap-math` has 4 | raise `samples` to 5, or remove it: the thresholds then determine it
    4:83 unknown-metric: this part of the suite cannot produce `regression_pass_rate`: it has no regression eval
    ");
}

/// Whether the gate is warned of.
fn is_warned(thresholds: &str) -> bool {
    said(
        &format!("  thresholds: {thresholds}\n"),
        LoadOverrides::default(),
    )
    .contains("unguarded-gate")
}

#[test]
fn thresholds_that_failing_evals_meet_are_warned_of() {
    // Of 4 evals one is a regression, with 1 of 5 cases; the capability evals have 7 samples.
    for thresholds in [
        "{errored_samples: 0}",
        "{flaky_samples: 3, errored_samples: 0}",
        "{pass_rate: 0.25}",
        "{pass@1: 0.2}",
        "{case_pass_rate: {max: 0.5}}",
        "{regression_pass_rate: 1}",
        "{failed_samples: 7}",
        "{\"score[type=regression]\": 1}",
    ] {
        assert!(is_warned(thresholds), "{thresholds}");
    }
    for thresholds in [
        "{pass_rate: 0.26}",
        "{pass@1: 0.21, errored_samples: 0}",
        "{pass_hat_1: {min: 0.3, bound: lower}}",
        "{capability_pass_rate: 0.01}",
        "{weighted_score: 0.3}",
        "{failed_samples: 6}",
        "{\"pass_rate[tag=slow]\": 0.5}",
        "{errored_samples: 0, require: all_evals}",
        "{errored_samples: 0, require: thresholds}",
        "{max_regressions: 1}",
        "{}",
    ] {
        assert!(!is_warned(thresholds), "{thresholds}");
    }
    // A composite is seen as far as its components are: 0.75 is left of this one.
    let head = |least: &str| {
        format!(
            "  metrics: {{q: {{composite: [{{metric: errored_samples, weight: 11, range: [0, 4], invert: true}}, {{metric: pass_at_1, weight: 5}}]}}}}\n  \
             thresholds: {{q: {least}}}\n"
        )
    };
    assert!(alone(&head("0.75")).contains("unguarded-gate"));
    assert!(!alone(&head("0.76")).contains("unguarded-gate"));
    for preset in ["development", "staging", "production", "critical"] {
        assert!(
            !alone(&format!("  config: {{k: [1]}}\n  preset: {preset}\n")).contains("unguarded"),
            "{preset}"
        );
    }
    // Every grader that decides measures something that a threshold is on, or one does not.
    let of = |graders: &str| {
        let evals =
            format!("  evals:\n    - {{id: a, input: x, expected: y, graders: [{graders}]}}\n");
        of_evals(
            "  thresholds: {exact: 0.5}\n",
            &evals,
            LoadOverrides::default(),
        )
    };
    let measured = "{type: code, metric: exact}";
    assert_eq!(of(measured), "exact >= 0.5");
    for graders in [
        format!("{measured}, {{type: code, config: {{method: contains, must_include: [y]}}}}"),
        "{type: code}, {type: code, metric: exact, informative: true}".to_owned(),
    ] {
        assert!(of(&graders).contains("unguarded-gate"), "{}", of(&graders));
    }
}

#[test]
fn the_warning_names_thresholds_and_what_to_write() {
    insta::assert_snapshot!([
        alone("  thresholds: {errored_samples: 0}\n"),
        alone("  thresholds: {errored_samples: 0, flaky_samples: 0, latency_p95_ms: 5, latency_mean_ms: 1, regression_pass_rate: 1}\n"),
        said("", typed(&["errored_samples=0"])),
    ].join("\n"), @"
    errored_samples <= 0
    4:16 unguarded-gate: the gate can pass although all 3 capability evals fail: the thresholds decide, and `errored_samples` does not depend on evals that pass | add `require: all_evals` to the thresholds, or a threshold such as `pass_rate: 0.9`; if this is intended, add `require: thresholds`
    errored_samples <= 0
    flaky_samples <= 0
    latency_mean_ms <= 1
    latency_p95_ms <= 5
    regression_pass_rate >= 1
    4:16 unguarded-gate: the gate can pass although all 3 capability evals fail: the thresholds decide, and `errored_samples`, `flaky_samples`, `latency_mean_ms` and 2 more do not depend on evals that pass | add `require: all_evals` to the thresholds, or a threshold such as `pass_rate: 0.9`; if this is intended, add `require: thresholds`
    errored_samples <= 0
    - unguarded-gate: `--threshold`: the gate can pass although all 3 capability evals fail: the thresholds decide, and `errored_samples` does not depend on evals that pass | add `require: all_evals` to the thresholds, or a threshold such as `pass_rate: 0.9`; if this is intended, add `require: thresholds`
    ");
}

#[test]
fn all_evals_are_required_where_a_set_the_command_line_or_a_phase_says_so() {
    let head = "  thresholds: {errored_samples: 0, require: all_evals}\n";
    let phase = |require| LoadOverrides {
        require: Some(require),
        ..LoadOverrides::default()
    };
    insta::assert_snapshot!([
        alone(head),
        said("", typed(&["require=all_evals"])),
        said(head, typed(&["require=thresholds"])),
        said(head, phase(GateRequirement::Thresholds)),
        said("  thresholds: {errored_samples: 0}\n", phase(GateRequirement::AllEvals)),
        // A set goes with its preset, whole.
        alone("  thresholds: {require: all_evals}\n  presets: {p: {score: 0.5}}\n  preset: p\n"),
        alone("  presets: {p: {score: 0.5, require: all_evals}}\n  preset: p\n"),
    ].join("\n--\n"), @"
    errored_samples <= 0
    require all_evals
    --
    require all_evals
    --
    errored_samples <= 0
    --
    errored_samples <= 0
    --
    errored_samples <= 0
    require all_evals
    --
    score >= 0.5
    --
    score >= 0.5
    require all_evals
    ");
    insta::assert_snapshot!([
        alone("  thresholds: {require: all_eval}\n"),
        alone("  thresholds: {require: 1}\n"),
        alone("  thresholds: {requires: 1}\n"),
        alone("  thresholds: {require: all_evals, max_regressions: 1}\n"),
        alone("  max_regressions: 2\n  thresholds: {require: all_evals}\n"),
        alone("  thresholds: {require: all_evals, max_regressions: 0}\n"),
        said("", typed(&["require=all"])),
        said("", typed(&["require>=all_evals"])),
    ].join("\n"), @"
    4:25 unknown-value: `all_eval` is not a valid value of `require`: expected one of `all_evals`, `thresholds` | did you mean `all_evals`?
    4:25 wrong-type: `require`: expected one of `all_evals`, `thresholds`, found the number `1`
    4:16 unknown-metric: `requires` is not a metric | did you mean `require`?
    - out-of-range: `require: all_evals` and `max_regressions: 1` contradict each other: one requires that all evals pass, the other allows failures | keep one of them
    - out-of-range: `require: all_evals` and `max_regressions: 2` contradict each other: one requires that all evals pass, the other allows failures | keep one of them
    max_regressions 0
    require all_evals
    - unknown-metric: `--threshold require=all`: `require` must be `all_evals` or `thresholds`
    - unknown-metric: `--threshold require>=all_evals`: `require` must be `all_evals` or `thresholds`
    ");
}

#[test]
fn a_k_of_the_suite_is_held_against_the_samples_that_cases_have() {
    let evals = |first: &str| {
        format!(
            "  evals:
    - {{metadata: {{id: a}}, test_cases: [{{id: x, input: x, expected: x{first}}}, {{id: y, input: x, expected: x, samples: 4}}]}}
    - {{metadata: {{id: b}}, test_cases: [{{id: z, input: x, expected: x, samples: 3}}]}}
"
        )
    };
    let of = |config: &str, first: &str| {
        of_evals(
            &format!("  config: {config}\n"),
            &evals(first),
            LoadOverrides::default(),
        )
    };
    // Every case has its own samples, so that the suite's count for none.
    assert_eq!(of("{samples: 1, k: [1, 3]}", ", samples: 3"), "");
    assert_eq!(of("{k: [1, 3]}", ""), "");
    insta::assert_snapshot!([
        of("{samples: 1, k: [1, 3]}", ""),
        of("{samples: 3, k: [1, 3]}", ", samples: 2"),
        of("{samples: 2, k: [1, 4]}", ""),
        said("  config: {samples: 2, k: [1, 4]}\n", LoadOverrides::default()),
        said("  config: {k: [1, 4]}\n", LoadOverrides { samples: Some(1), ..LoadOverrides::default() }),
        said("  config: {samples: 1}\n  thresholds: {pass@2: 0.5}\n", LoadOverrides::default()),
    ].join("\n"), @"
    4:27 k-above-samples: pass@3 needs 3 samples per case, but `x` of `a` has 1 | raise `samples` to 3, or lower `k`

    4:27 k-above-samples: pass@3 has no value: it needs 3 samples per case, but `x` of `a` has 2 | raise `samples` to 3, or lower `k`
    4:27 k-above-samples: pass@4 needs 4 samples per case, but 2 of 3 cases have fewer: `x` of `a` has 2 | raise `samples` to 4, or lower `k`
    4:27 k-above-samples: pass@4 needs 4 samples per case, but 4 of 5 cases have fewer: `cap-auth` has 2 | raise `samples` to 4, or lower `k`
    4:15 k-above-samples: pass@4 needs 4 samples per case, but 5 of 5 cases have fewer: `cap-auth` has 1 | raise `samples` to 4, or lower `k`
    5:16 k-above-samples: `pass@2` needs at least 2 samples per case, but 4 of 5 cases have fewer: `cap-auth` has 1 | raise `samples` to 2, or remove it: the thresholds then determine it
    ");
}

#[test]
fn filters_that_leave_nothing_of_a_part_are_an_error_but_not_in_shards_and_reruns() {
    let head = "  thresholds: {pass_rate: {by_type: {regression: 1}, by_tag: {edge: 1}}}\n";
    let filters = |eval: &str| CaseFilters {
        eval: vec![eval.to_owned()],
        ..CaseFilters::default()
    };
    insta::assert_snapshot!(said(head, LoadOverrides { filters: filters("cap-*"), ..LoadOverrides::default() }), @"4:38 empty-cases: `pass_rate[type=regression]` covers nothing: no eval that is selected has the type `regression` | select one, or remove the threshold; otherwise the gate can't pass");
    let only = [("cap-auth".to_owned(), "cap-auth".to_owned())].into();
    let again = LoadOverrides {
        filters: CaseFilters {
            only: Some(only),
            ..CaseFilters::default()
        },
        ..LoadOverrides::default()
    };
    insta::assert_snapshot!(said(head, again), @"
    pass_rate[type=regression] >= 1
    pass_rate[tag=edge] >= 1
    4:38 empty-cases: `pass_rate[type=regression]` covers nothing: no eval that is selected has the type `regression` | select one, or remove the threshold; otherwise the gate can't pass
    4:63 empty-cases: `pass_rate[tag=edge]` covers nothing: no eval or case that is selected has the tag `edge` | select one, or remove the threshold; otherwise the gate can't pass
    ");
    for index in 1..=7 {
        let shard = Some(Shard { index, of: 7 });
        assert_eq!(
            said(
                head,
                LoadOverrides {
                    shard,
                    ..LoadOverrides::default()
                }
            ),
            "pass_rate[type=regression] >= 1\npass_rate[tag=edge] >= 1"
        );
    }
}

#[test]
fn what_a_phase_asks_for_comes_before_the_suite_and_after_the_command_line() {
    let ask = |metric: &str, value: f64, bare: bool| AskedThreshold {
        name: metric.parse().unwrap(),
        threshold: Threshold {
            metric: metric.into(),
            bound: Bound::Min,
            value,
            on: Figure::Value,
        },
        bare,
    };
    let asked = vec![
        ask("pass_rate", 0.9, false),
        ask("score[tag=critical]", 0.8, true),
    ];
    let overrides = LoadOverrides {
        asked,
        ..typed(&["pass_rate=0.5"])
    };
    assert_eq!(
        said("  thresholds: {pass_rate: 0.1}\n", overrides),
        "score[tag=critical] >= 0.8\npass_rate >= 0.5"
    );
    let asked = vec![
        ask("pass_rate[tag=criticl]", 0.9, false),
        ask("lint_pass", 0.8, true),
    ];
    insta::assert_snapshot!(said("", LoadOverrides { asked, ..LoadOverrides::default() }), @"
    - unknown-metric: the thresholds of the phase: `lint_pass` is not a metric | valid metrics: pass@K, pass^K, pass_rate, capability_pass_rate, regression_pass_rate, case_pass_rate, score, weighted_score, latency_mean_ms, latency_p50_ms, latency_p95_ms, tokens_input, tokens_output, tokens, cost_usd, failed_samples, errored_samples, flaky_samples, judge_errored_rate, judge_parse_failure_rate, judge_repair_rate, judge_disagreement_rate, judge_consistency, corrected_pass_rate, corrected_case_pass_rate, corrected_pass_at_1, judge_sensitivity, judge_specificity
    - empty-cases: the thresholds of the phase: `pass_rate[tag=criticl]` covers nothing: no eval or case of this suite has the tag `criticl` | did you mean `critical`?
    ");
}

/// Every value of the seeds' table "Common Thresholds", at the k that the suite asks for.
#[test]
fn the_presets_are_those_of_the_table() {
    for (name, one, at_k, hat_k) in [
        ("development", 0.70, 0.90, 0.50),
        ("staging", 0.80, 0.95, 0.65),
        ("production", 0.90, 0.99, 0.80),
        ("critical", 0.95, 0.999, 0.90),
    ] {
        for (config, k) in [
            ("", 3),
            ("  config: {k: [1, 5]}\n", 5),
            ("  config: {k: 1}\n", 3),
        ] {
            let expected =
                format!("pass_at_1 >= {one}\npass_at_{k} >= {at_k}\npass_hat_{k} >= {hat_k}");
            let preset = LoadOverrides {
                preset: Some(name.into()),
                ..LoadOverrides::default()
            };
            // One eval has 4 samples, as its author says.
            let fits = k <= 4;
            let of_line = said(config, preset.clone());
            let of_suite = said(
                &format!("{config}  preset: {name}\n"),
                LoadOverrides::default(),
            );
            if fits {
                assert_eq!(of_line, expected, "{name} {config}");
                assert_eq!(of_suite, expected, "{name} {config}");
            } else {
                assert!(
                    of_line.contains("`pass@5` needs at least 5 samples per case"),
                    "{of_line}"
                );
            }
            let mixed = LoadOverrides {
                thresholds: vec!["pass@1=0.5".into()],
                ..preset
            };
            if fits {
                let expected =
                    format!("pass_at_{k} >= {at_k}\npass_hat_{k} >= {hat_k}\npass_at_1 >= 0.5");
                assert_eq!(said(config, mixed), expected);
            }
        }
    }
}
