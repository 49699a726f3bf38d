//! Plans and triggers from their texts, with every problem at its place.

use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;

use super::*;
use crate::load::{self, CheckRequest};
use crate::model::{Bound, StepPlacement, StepWork};
use crate::spec::{FailureAction, StepType};

const SUITE: &str = r#"
eval_suite:
  name: "auth"
  target: {type: echo}
  evals:
    - {id: "cap-1", name: "n", description: "d", category: "auth", metadata: {tags: ["critical"]},
       input: {type: prompt, content: "a"}, expected: {type: exact, value: "a"}}
"#;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".git")).expect("a folder");
    for (path, text) in [("evals/auth.yaml", SUITE)].iter().chain(files) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn request(dir: &Path, file: PhaseFileName) -> PhaseRequest {
    PhaseRequest {
        file,
        phase_id: None,
        when: None,
        junit: Vec::new(),
        base: None,
        report_path: None,
        overrides: LoadOverrides::default(),
        env: BTreeMap::new(),
        cwd: dir.canonicalize().expect("a folder"),
        cpus: 2,
    }
}

fn told(problems: &Problems, sources: &SourceFiles) -> String {
    let lines = problems.iter().map(|problem| {
        let place = problem
            .span
            .map_or(String::new(), |span| format!("{} ", sources.place(span)));
        let word = if problem.severity == load::Severity::Warning {
            "warning: "
        } else {
            ""
        };
        let hint = problem
            .hint
            .as_ref()
            .map_or(String::new(), |hint| format!(" | {hint}"));
        format!(
            "{place}{word}{} {}{hint}",
            problem.code.slug(),
            problem.message
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What is said of a plan; of one that loads, its id.
fn plan(text: &str) -> String {
    plan_with(text, |_| ())
}

fn plan_with(text: &str, change: impl FnOnce(&mut PhaseRequest)) -> String {
    file_with(
        "plan.yaml",
        text,
        |name| PhaseFileName::Plan(name.into()),
        change,
    )
}

fn trigger_with(text: &str, change: impl FnOnce(&mut PhaseRequest)) -> String {
    file_with(
        "trigger.yaml",
        text,
        |name| PhaseFileName::Trigger(name.into()),
        change,
    )
}

fn file_with(
    name: &str,
    text: &str,
    file: impl FnOnce(&str) -> PhaseFileName,
    change: impl FnOnce(&mut PhaseRequest),
) -> String {
    let folder = project(&[(name, text)]);
    let mut request = request(folder.path(), file(name));
    change(&mut request);
    let loaded = load::phase(&request);
    let mut said = told(&loaded.problems, &loaded.sources);
    assert_eq!(
        loaded.phase.is_none(),
        loaded.problems.has_errors() || loaded.waits_for.is_some()
    );
    if let Some(phase) = loaded.phase {
        said.push_str(&format!("[{}]", phase.id));
    }
    if let Some(moment) = loaded.waits_for {
        said.push_str(&format!("waits for {moment}"));
    }
    said
}

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/seeds");

fn seed(name: &str, suite: &str) -> tempfile::TempDir {
    let text = std::fs::read_to_string(Path::new(SEEDS).join(name)).expect("a seed");
    let tagged = SUITE.replace("[\"critical\"]", "[\"critical\", \"feature-x\"]");
    project(&[(name, &text), (suite, &tagged)])
}

#[test]
fn the_plan_of_the_seeds_loads_word_for_word() {
    let folder = seed("phase.yaml", "evals/auth-capability.yaml");
    let loaded = load::phase(&request(
        folder.path(),
        PhaseFileName::Plan("phase.yaml".into()),
    ));
    assert_eq!(told(&loaded.problems, &loaded.sources), "");
    let phase = loaded.phase.expect("a phase");
    assert_eq!(
        (phase.id.as_str(), phase.name.as_str()),
        (
            "implement-user-authentication",
            "Implement user authentication"
        )
    );
    let steps: Vec<(StepType, &str, FailureAction)> = phase
        .steps
        .iter()
        .map(|step| (step.kind, step.name.as_str(), step.action))
        .collect();
    let block = FailureAction::Block;
    assert_eq!(
        steps,
        [
            (StepType::Implement, "Build authentication logic", block),
            (StepType::Test, "Run unit tests", block),
            (StepType::Eval, "Run capability evals", block),
        ]
    );
    assert_eq!(
        (&phase.steps[0].work, &phase.steps[1].work),
        (&StepWork::Unchecked, &StepWork::Unchecked)
    );
    let StepWork::Eval(eval) = &phase.steps[2].work else {
        panic!("{:?}", phase.steps[2].work)
    };
    assert_eq!(eval.metrics, ["pass_at_1", "pass_hat_3"]);
    let demands: Vec<(&str, Bound, f64)> = eval
        .demands
        .iter()
        .map(|d| {
            (
                d.threshold.metric.as_str(),
                d.threshold.bound,
                d.threshold.value,
            )
        })
        .collect();
    assert_eq!(demands, [("pass_rate", Bound::Min, 0.9)]);
    let [suite] = loaded.suites.as_slice() else {
        panic!("{} suites", loaded.suites.len())
    };
    assert_eq!(suite.plan.gate.thresholds.len(), 1);
    // pass^3 needs three samples.
    assert_eq!(suite.plan.settings.ks, [1, 3]);
    assert_eq!(loaded.results, phase.root.join("results"));
}

#[test]
fn the_trigger_of_the_seeds_loads_word_for_word() {
    let folder = seed("trigger.yaml", "evals/feature-x.yaml");
    let mut asked = request(folder.path(), PhaseFileName::Trigger("trigger.yaml".into()));
    asked.phase_id = Some("2/a".to_owned());
    asked.junit = vec!["out/*.xml".to_owned()];
    let loaded = load::phase(&asked);
    assert_snapshot!(told(&loaded.problems, &loaded.sources), @r#"trigger.yaml:16:19 warning: suspicious-value `notification` has no effect: the suite `auth` has no notification channel | add `notify:` to the suite, such as `notify: [{type: webhook, url_env: SLACK_WEBHOOK_URL}]`"#);
    let phase = loaded.phase.expect("a phase");
    assert_eq!(
        phase.report_path,
        Some(phase.root.join("eval-results/phase-2%2Fa.md"))
    );
    assert_eq!((phase.notification, phase.archive), (true, true));
    assert_eq!(phase.when.as_deref(), Some(AFTER_TESTS_PASS));
    let works: Vec<&StepWork> = phase.steps.iter().map(|step| &step.work).collect();
    let [StepWork::Junit(globs), StepWork::Eval(eval)] = works.as_slice() else {
        panic!("{works:?}")
    };
    assert_eq!(globs, &[format!("{}/out/*.xml", asked.cwd.display())]);
    assert_eq!(
        (eval.filters.categories.len(), eval.filters.tags.len()),
        (1, 2)
    );
    let demands: Vec<&str> = eval
        .demands
        .iter()
        .map(|d| d.threshold.metric.as_str())
        .collect();
    assert_eq!(demands, ["pass_at_1", "pass_hat_3"]);
    let filters = &loaded.suites[0].request.overrides.filters;
    assert_eq!(
        filters.describe(),
        ["category capability", "tag critical or feature-x"]
    );
}

#[test]
fn a_plan_may_be_json() {
    let text = r#"{"phase": {"id": "J", "name": "n", "steps": [{"type": "review", "command": ["true"], "timeout_seconds": 2.5}]}}"#;
    let folder = project(&[("plan.json", text)]);
    let loaded = load::phase(&request(
        folder.path(),
        PhaseFileName::Plan("plan.json".into()),
    ));
    assert_eq!(told(&loaded.problems, &loaded.sources), "");
    let phase = loaded.phase.expect("a phase");
    let StepWork::Command(command) = &phase.steps[0].work else {
        panic!("{:?}", phase.steps)
    };
    assert_eq!(
        (command.timeout, &command.place),
        (
            Duration::from_millis(2500),
            &StepPlacement::InPlace(phase.root.clone())
        )
    );
    assert_eq!(phase.steps[0].name, "code-review");
}

#[test]
fn what_does_not_fit_the_type_of_its_step_is_told() {
    assert_snapshot!(plan(r#"
phase:
  name: "P"
  steps:
    - type: test
      command: ["true"]
      config: {suite: "./evals/auth.yaml", required_pass_rate: 0.9}
    - type: eval
      command: ["true"]
      timeout_seconds: 3
      config: {suite: "./evals/auth.yaml", junit: "*.xml"}
    - type: eval
    - type: implement
      dir: "src"
      timeout_seconds: 4
      config: {junit: "x.xml"}
    - type: check
      command: [" "]
"#), @r"
    plan.yaml:7:16 phase-setting `suite` is for steps of type `eval`, but this step has the type `test`
    plan.yaml:7:44 phase-setting `required_pass_rate` is for steps of type `eval`, but this step has the type `test`
    plan.yaml:9:7 phase-setting a step of type `eval` has no `command` | an eval step runs its suite; put a command into a separate step before it
    plan.yaml:10:7 phase-setting a step of type `eval` has no `timeout_seconds` | an eval step runs its suite; put a command into a separate step before it
    plan.yaml:11:44 phase-setting a step of type `eval` has no `junit`
    plan.yaml:12:7 missing-key a step of type `eval` needs `config.suite` | add `config: {suite: ./evals/eval-suite.yaml}`; the path is relative to this file
    plan.yaml:16:16 phase-setting `junit` is for steps of type `test`, but this step has the type `implement`
    plan.yaml:15:7 phase-setting `timeout_seconds` has no effect without a `command`
    plan.yaml:14:12 warning: bad-path the folder `src` does not exist yet | it is relative to this file; an earlier step may create it
    plan.yaml:18:17 bad-command the name of the program is empty
    ");
}

#[test]
fn unknown_fields_and_types_are_told_by_the_schema() {
    assert_snapshot!(plan(r#"
phase:
  name: "P"
  steps:
    - type: evals
      descripton: "x"
      config: {suite: s, required_pass_rate: 90, metrics: []}
"#), @r#"
    plan.yaml:7:46 out-of-range `required_pass_rate` must be at most 1.0, found `90`
    plan.yaml:5:13 unknown-value `evals` is not a valid value of `type`: expected one of `implement`, `test`, `code-review`, `eval`, `check` | did you mean `eval`?
    plan.yaml:6:7 unknown-key unknown key `descripton` | did you mean `description`?
    "#);
}

#[test]
fn every_suite_is_loaded_and_what_it_lacks_stands_where_it_is_asked_for() {
    assert_snapshot!(plan(r#"
phase:
  name: "P"
  report_path: "{phaseid}.md"
  steps:
    - type: eval
      config:
        suite: "./evals/auth.yaml"
        preset: prodction
        target: live
        metrics: ["pass@1", "pas@1", "pass_at_1", "helpfulness"]
        thresholds: {pass_rate: 0.8, passrate: 1, pass_at_1: 1.5}
        required_pass_rate: 0.9
    - type: eval
      config: {suite: "./evals/auth.yaml", filters: {tags: ["crtical"]}}
    - type: eval
      config: {suite: "./evals/aut.yaml"}
"#), @"
plan.yaml:12:62 out-of-range a threshold on `pass@1` must be between 0 and 1, not 1.5 | write 0.015 for 1.5 %
plan.yaml:13:29 both-spellings `required_pass_rate` requires 0.9, but the threshold on `pass_rate` requires at least 0.8 | both limit the same rate: keep one of them
plan.yaml:11:29 unknown-metric `pas@1` is not a metric | valid metrics: pass@K, pass^K, pass_rate, capability_pass_rate, regression_pass_rate, case_pass_rate, score, weighted_score, latency_mean_ms, latency_p50_ms, latency_p95_ms, tokens_input, tokens_output, tokens, cost_usd, failed_samples, errored_samples, flaky_samples, judge_errored_rate, judge_parse_failure_rate, judge_repair_rate, judge_disagreement_rate, judge_consistency, corrected_pass_rate, corrected_case_pass_rate, corrected_pass_at_1, judge_sensitivity, judge_specificity
plan.yaml:11:38 warning: suspicious-value `pass_at_1` is listed twice
plan.yaml:17:23 missing-ref the file `./evals/aut.yaml` does not exist | did you mean `./evals/auth.yaml`?
plan.yaml:4:16 bad-template unknown placeholder `{phaseid}` in a report path | write `{phase_id}` for the id of the phase
plan.yaml:9:17 unknown-preset unknown preset `prodction` | did you mean `production`?
plan.yaml:10:17 unknown-target the suite has no target `live` | the suite's targets are echo
plan.yaml:12:21 unknown-metric `passrate` is not a metric | did you mean `pass_rate`?
plan.yaml:11:51 unknown-metric `helpfulness` is not a metric | valid metrics: pass@K, pass^K, pass_rate, capability_pass_rate, regression_pass_rate, case_pass_rate, score, weighted_score, latency_mean_ms, latency_p50_ms, latency_p95_ms, tokens_input, tokens_output, tokens, cost_usd, failed_samples, errored_samples, flaky_samples, judge_errored_rate, judge_parse_failure_rate, judge_repair_rate, judge_disagreement_rate, judge_consistency, corrected_pass_rate, corrected_case_pass_rate, corrected_pass_at_1, judge_sensitivity, judge_specificity
plan.yaml:15:61 empty-cases `tags`: `crtical` matches nothing in this suite | did you mean `critical`?
");
}

#[test]
fn a_phase_is_chosen_by_its_id() {
    let several = r#"
phases:
  - {name: "Log in!", steps: [{type: check, command: ["true"]}]}
  - {id: "2", name: "Tokens", steps: [{type: check, command: ["true"]}]}
"#;
    let with = |id: &str| plan_with(several, |request| request.phase_id = Some(id.to_owned()));
    assert_eq!(
        (with("2"), with("log-in")),
        ("[2]".to_owned(), "[log-in]".to_owned())
    );
    assert_snapshot!(with("login"), @"plan.yaml:2:1 unknown-phase no phase has the id `login` | did you mean `log-in`?");
    assert_snapshot!(with("seven"), @"plan.yaml:2:1 unknown-phase no phase has the id `seven` | the phases of this plan are `log-in`, `2`");
    assert_snapshot!(plan(several), @"plan.yaml:2:1 unknown-phase the plan has several phases, but `--phase-id` is not set | select one with `--phase-id`: `log-in`, `2`");
    assert_snapshot!(plan(r#"
phase: {name: "A", steps: [{type: check, command: ["true"]}]}
phases:
  - {id: "a", name: "B", steps: [{type: check, command: ["true"]}]}
  - {id: "", name: "!", steps: [{type: implement}]}
"#), @r#"
    plan.yaml:3:1 both-spellings use `phase` or `phases`, not both | put all of them under `phases:`
    plan.yaml:4:10 duplicate-id two phases have the id `a` | give one of them another `id:`
    plan.yaml:5:10 wrong-length the id of the phase is empty | write an `id:`, or a name with letters or digits
    plan.yaml:5:25 empty-cases no step of the phase runs anything, so it would pass without a check | give a step a `command:`, or add a step of type `eval`
    plan.yaml:3:1 unknown-phase the plan has several phases, but `--phase-id` is not set | select one with `--phase-id`: `a`, ``
    "#);
    assert_snapshot!(plan("phases: []"), @r#"plan.yaml:1:1 empty-cases the plan has no phase"#);
}

#[test]
fn a_file_of_the_other_kind_is_told() {
    let trigger = "eval_trigger: {when: now, suite: ./evals/auth.yaml}";
    assert_snapshot!(plan(trigger), @"plan.yaml:1:1 unknown-shape this is a file of kind `trigger`, not a phase plan | pass it with `--trigger`");
    assert_snapshot!(trigger_with("phase: {name: p, steps: [{type: implement}]}", |_| ()), @"trigger.yaml:1:1 unknown-shape this is a file of kind `phase`, not a trigger | pass it with `--plan`");
    assert_snapshot!(plan(SUITE), @"plan.yaml:2:1 unknown-shape this is a file of kind `suite`, not a phase plan | a plan begins with `phase:` or `phases:`");
    assert_snapshot!(plan("a: 1"), @"plan.yaml:1:1 unknown-shape this is not a phase plan | a plan begins with `phase:` or `phases:`");
}

#[test]
fn a_trigger_does_nothing_at_another_moment_and_a_slip_is_no_moment() {
    let trigger = "eval_trigger: {when: after_tests_pass, suite: ./evals/auth.yaml}";
    let at = |moment: &str| trigger_with(trigger, |request| request.when = Some(moment.to_owned()));
    assert_eq!(
        (at("before_merge"), at("After-tests-pass")),
        (
            "waits for after_tests_pass".to_owned(),
            "[trigger]".to_owned()
        )
    );
    assert_snapshot!(at("after_test_pass"), @"trigger.yaml:1:22 suspicious-value `--when after_test_pass` looks like a typing error for this trigger's `after_tests_pass` | did you mean `--when after_tests_pass`?");
    assert_snapshot!(at(" "), @"suspicious-value `--when` is empty | the trigger's moment is `after_tests_pass`; without `--when`, the trigger always runs");
    let slip = "eval_trigger: {when: after_test_pass, suite: ./evals/auth.yaml}";
    assert_snapshot!(trigger_with(slip, |_| ()), @"trigger.yaml:1:22 warning: suspicious-value unknown moment `after_test_pass` | did you mean `after_tests_pass`?[trigger]");
}

#[test]
fn a_trigger_that_writes_its_id_needs_one() {
    let trigger = "eval_trigger: {when: now, suite: ./evals/auth.yaml, on_failure: {report_path: 'r/{phase_id}.md'}}";
    assert_snapshot!(trigger_with(trigger, |_| ()), @"trigger.yaml:1:79 unknown-phase the report path contains `{phase_id}`, but no phase id is set | pass `--phase-id ID`");
    assert_eq!(
        trigger_with(trigger, |request| request.phase_id = Some("7".to_owned())),
        "[7]"
    );
    let said = trigger_with(trigger, |request| {
        request.phase_id = Some("7".to_owned());
        request.junit = vec!["a/[".to_owned(), String::new()];
    });
    assert_snapshot!(said, @r#"
    bad-glob `--junit a/[` is not a glob: unclosed character class; missing ']'
    bad-glob `--junit` is empty
    "#);
}

#[test]
fn the_command_line_comes_before_the_steps() {
    let text = r#"
phase:
  name: "P"
  base: "main"
  report_path: "r.md"
  steps:
    - type: eval
      config: {suite: "./evals/auth.yaml", samples: 4, vars: {n: 1, m: "x"}, thresholds: {max_regressions: 2}}
"#;
    let folder = project(&[("plan.yaml", text)]);
    let mut asked = request(folder.path(), PhaseFileName::Plan("plan.yaml".into()));
    asked.base = Some("v1".to_owned());
    asked.report_path = Some("elsewhere/x.md".into());
    asked.overrides.vars = vec![("n".to_owned(), "2".to_owned())];
    asked.overrides.output_dir = Some("out".into());
    let loaded = load::phase(&asked);
    let phase = loaded.phase.expect("a phase");
    assert_eq!(phase.base.as_deref(), Some("v1"));
    assert_eq!(phase.report_path, Some(phase.root.join("elsewhere/x.md")));
    assert_eq!(loaded.results, phase.root.join("out"));
    let overrides = &loaded.suites[0].request.overrides;
    let vars: Vec<String> = overrides
        .vars
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(vars.join(" "), "m=x n=1 n=2");
    assert_eq!(
        (overrides.samples, overrides.max_regressions),
        (Some(4), Some(2))
    );
}

#[test]
fn phases_are_checked_with_other_files_and_a_missing_suite_of_a_folder_only_warns() {
    let plan = r#"
phases:
  - {name: "A", steps: [{type: eval, config: {suite: "./evals/auth.yaml", metrics: ["nobody"]}}]}
  - {name: "B", steps: [{type: eval, config: {suite: "./none.yaml"}}]}
"#;
    let folder = project(&[("plan.yaml", plan)]);
    let check = |path: &str| {
        let cwd = folder.path().canonicalize().expect("a folder");
        let checked = load::check_files(&CheckRequest {
            paths: vec![path.into()],
            cwd,
            ..CheckRequest::default()
        });
        told(&checked.problems, &checked.sources)
    };
    assert_snapshot!(check("plan.yaml"), @r#"
    plan.yaml:4:54 missing-ref the file `./none.yaml` does not exist | paths are relative to the file that contains them
    plan.yaml:3:85 unknown-metric `nobody` is not a metric | valid metrics: pass@K, pass^K, pass_rate, capability_pass_rate, regression_pass_rate, case_pass_rate, score, weighted_score, latency_mean_ms, latency_p50_ms, latency_p95_ms, tokens_input, tokens_output, tokens, cost_usd, failed_samples, errored_samples, flaky_samples, judge_errored_rate, judge_parse_failure_rate, judge_repair_rate, judge_disagreement_rate, judge_consistency, corrected_pass_rate, corrected_case_pass_rate, corrected_pass_at_1, judge_sensitivity, judge_specificity
    "#);
    assert_snapshot!(check("."), @r#"
    plan.yaml:4:54 warning: missing-ref the file `./none.yaml` does not exist | paths are relative to the file that contains them
    plan.yaml:3:85 unknown-metric `nobody` is not a metric | valid metrics: pass@K, pass^K, pass_rate, capability_pass_rate, regression_pass_rate, case_pass_rate, score, weighted_score, latency_mean_ms, latency_p50_ms, latency_p95_ms, tokens_input, tokens_output, tokens, cost_usd, failed_samples, errored_samples, flaky_samples, judge_errored_rate, judge_parse_failure_rate, judge_repair_rate, judge_disagreement_rate, judge_consistency, corrected_pass_rate, corrected_case_pass_rate, corrected_pass_at_1, judge_sensitivity, judge_specificity
    "#);
}
