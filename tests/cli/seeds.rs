//! Every shape of the seed documents loads, into the same model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eval_harness::internals::{
    CaseInput, CheckRequest, CodeGrader, GraderKind, HumanOptions, LoadOverrides, LoadRequest,
    LoadedPlan, PlanPurpose, check_files, human, load,
};

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seeds")
}

fn request() -> LoadRequest {
    LoadRequest {
        suite: "evals/eval-suite.yaml".into(),
        purpose: PlanPurpose::Validate,
        overrides: LoadOverrides::default(),
        env: BTreeMap::new(),
        cwd: seeds(),
        cpus: 2,
        ..LoadRequest::default()
    }
}

fn shown(loaded: &LoadedPlan) -> String {
    human(
        &loaded.problems,
        &loaded.sources,
        HumanOptions {
            limit: 100,
            ..HumanOptions::default()
        },
    )
}

#[test]
fn the_suite_of_the_seeds_becomes_a_plan() {
    let loaded = load(&request());
    insta::assert_snapshot!(shown(&loaded), @r#"
    warning[EH0423]: `notify_on_failure` has no channel: only the terminal bell will ring
      --> evals/eval-suite.yaml:29:5
       |
    28 |     include_details: true
    29 |     notify_on_failure: true
       |     ^^^^^^^^^^^^^^^^^
       |
       = help: add `notify:` to the suite, such as `notify: [{type: webhook, url_env: SLACK_WEBHOOK_URL}]`

    warning[EH0415]: no command for skills is set
      --> evals/regression/regressions.yaml:76:7
       |
    75 |     execution:
    76 |       type: "skill"
       |       ^^^^^^^^^^^^^
       |
       = help: add to the suite: `skill: {command: ["agent", "-p", "/{{ skill_name }} {{ parameters | tojson }}"]}`

    2 warnings
    "#);
    let plan = loaded.plan.expect("a plan");
    let mut lines = Vec::new();
    for eval in &plan.evals {
        let info = &eval.info;
        lines.push(format!(
            "{} ({:?}) weight {} {:?}",
            info.id, info.kind, info.weight, info.criticality
        ));
        for case in eval.cases.all().expect("cases") {
            let graders: Vec<String> = case
                .grading
                .graders
                .iter()
                .map(|g| {
                    format!(
                        "{}{}",
                        g.kind.method(),
                        if g.inferred { " (inferred)" } else { "" }
                    )
                })
                .collect();
            let target = case.target.as_ref().map_or("-", |t| t.kind());
            let origin = Path::new(&case.origin)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            lines.push(format!(
                "  {} | {} | {:?} | retries {:?} | {target} | {origin}",
                case.id,
                graders.join(", "),
                case.timeout,
                case.retries
            ));
        }
    }
    lines.push(format!(
        "k {:?}, retry {}",
        plan.settings.ks, plan.settings.retry_failed
    ));
    for t in &plan.gate.thresholds {
        lines.push(format!("{} {:?} {}", t.metric, t.bound, t.value));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    cap-codegen-001 (Capability) weight 1 None
      cap-codegen-001 | function_output (inferred) | 30s | retries None | - | code-generation.yaml:2:3
    cap-semantic-001 (Capability) weight 1.5 None
      cap-semantic-001 | model | 60s | retries None | - | code-generation.yaml:41:3
    cap-string-001 (Capability) weight 1 None
      tc-001 | exact_match | 30s | retries Some(1) | - | string-processing.yaml:21:5
      tc-002 | exact_match | 30s | retries Some(1) | - | string-processing.yaml:35:5
      tc-003 | exact_match | 30s | retries Some(1) | - | string-processing.yaml:48:5
      tc-004 | exact_match | 30s | retries Some(1) | - | string-processing.yaml:61:5
    cap-wrapped-001 (Capability) weight 2 None
      cap-wrapped-001 | exact_match | 10s | retries Some(2) | - | wrapped.yaml:2:3
    reg-api-001 (Regression) weight 1 Some(Critical)
      reg-api-001 | structural_match (inferred) | 60s | retries None | http | regressions.yaml:2:3
    reg-quality-001 (Regression) weight 1 Some(High)
      reg-quality-001 | structural_match (inferred) | 60s | retries None | skill | regressions.yaml:51:3
    reg-api-users-001 (Regression) weight 1 Some(Critical)
      reg-api-users-001 | structural_match | 60s | retries None | - | users-endpoint.json:1:1
    k [1, 3], retry 2
    pass_at_1 Min 0.85
    pass_hat_3 Min 0.7
    "#);
}

#[test]
fn a_numeric_comparison_keeps_the_numbers_that_its_tolerances_name() {
    let plan = load(&request()).plan.expect("a plan");
    let case = plan
        .evals
        .iter()
        .find(|e| e.info.id == "reg-quality-001")
        .expect("the eval")
        .cases
        .get(0)
        .expect("a case")
        .expect("whole");
    let GraderKind::Code(CodeGrader::StructuralMatch(structural)) = &case.grading.graders[0].kind
    else {
        panic!("another grader");
    };
    insta::assert_snapshot!(serde_json::to_string(structural).expect("JSON"), @r#"{"expected":{"quality_scores":{"actionability":4.5,"correctness":4.8,"specificity":4.2,"tone":4.6}},"allow_additional_fields":true,"allow_field_reordering":false,"ignore_fields":[],"ignore_values":[],"require_keys":[],"tolerance":{"quality_scores":{"absolute":null,"relative":null,"min_delta":-0.3,"max_delta":null}}}"#);
    let other = plan
        .evals
        .iter()
        .find(|e| e.info.id == "reg-api-001")
        .expect("the eval")
        .cases
        .get(0)
        .expect("a case")
        .expect("whole");
    let CaseInput::ApiCall {
        method,
        endpoint,
        headers,
        ..
    } = &other.input
    else {
        panic!("another input")
    };
    assert_eq!(
        (method.as_str(), endpoint.as_str()),
        ("GET", "/api/v1/users")
    );
    assert_eq!(headers["Authorization"], "Bearer abc");
}

/// The blocks that describe a structure by type names, and the regex example that names a group its
/// pattern lacks.
#[test]
fn two_kinds_of_seed_blocks_rightly_do_not_load() {
    let dir = tempfile::tempdir().expect("a folder");
    let structure = "capability_eval:\n  id: string\n  name: string\n  input:\n    type: string\n    content: any\n  \
        expected_output:\n    type: string\n    value: any\n  grader:\n    type: string\n    config: object\n  \
        metadata:\n    difficulty: string\n    tags: list\n    weight: number\n";
    let regex = "- id: a\n  input: x\n  grader:\n    type: code\n    config:\n      method: regex\n      \
        pattern: '^function\\s+\\w+'\n      capture_groups: [function_name]\n";
    std::fs::write(dir.path().join("structure.yaml"), structure).expect("written");
    std::fs::write(dir.path().join("regex.yaml"), regex).expect("written");
    let cwd = dir.path().canonicalize().expect("a path");
    let checked = check_files(&CheckRequest {
        paths: vec!["regex.yaml".into(), "structure.yaml".into()],
        cwd,
        ..CheckRequest::default()
    });
    let lines: Vec<String> = checked
        .problems
        .sorted()
        .iter()
        .map(|p| {
            format!(
                "{} {} {}",
                checked.sources.place(p.span.expect("a place")),
                p.code.slug(),
                p.message
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    regex.yaml:8:23 bad-capture-group the pattern has no group `function_name`
    structure.yaml:5:11 unknown-value `string` is not a valid value of `type`: expected one of `prompt`, `file`, `api_call`, `messages`
    structure.yaml:8:11 unknown-value `string` is not a valid value of `type`: expected one of `exact`, `contains`, `pattern`, `semantic`, `functional`, `numeric`, `json`, `structural`
    structure.yaml:11:11 unknown-value `string` is not a valid value of `type`: expected one of `code`, `model`, `human`
    structure.yaml:14:17 unknown-value `string` is not a valid value of `difficulty`: expected one of `easy`, `medium`, `hard`
    structure.yaml:15:11 wrong-type `tags`: expected a list of texts, found the text `list`
    structure.yaml:16:13 wrong-type `weight`: expected a number, found the text `number`
    "#);
}

#[test]
fn every_seed_file_is_valid_alone() {
    let checked = check_files(&CheckRequest {
        paths: vec![".".into()],
        cwd: seeds(),
        ..CheckRequest::default()
    });
    assert_eq!(checked.problems.error_count(), 0);
    assert_eq!(
        checked.problems.warning_count(),
        5,
        "how skills are run, the suites of the phase and the trigger, that nobody is told, and weights of one of four criteria"
    );
    assert_eq!(checked.files, 10);
}
