//! What graders measure and what is computed of it, through the built program.

use crate::support::Project;

fn project(head: &str, case: &str, outputs: &str) -> Project {
    let suite = format!(
        "eval_suite:\n  name: Measures\n  target: {{type: recorded, path: outputs.jsonl}}\n{head}  evals:\n    - {{id: a, input: x, {case}}}\n"
    );
    Project::with(&[("suite.yaml", &suite), ("outputs.jsonl", outputs)])
}

const RUN: [&str; 3] = ["run", "--suite", "suite.yaml"];

#[test]
fn a_program_measures_and_a_grader_that_only_measures_fails_nothing() {
    let case = r#"expected: ok, graders: [
        {type: code, config: {method: exact_match}},
        {type: code, informative: true, metric: lint_pass, config: {command: ["false"]}},
        {type: code, metric: check_score, config: {command: [sh, -c, 'cat >/dev/null; echo "{\"passed\": true, \"score\": 0.5, \"metrics\": {\"coverage\": 0.83}}"'], verdict: json, metrics: [coverage]}}]"#;
    let project = project("", case, "{\"case\": \"a\", \"output\": \"ok\"}\n");
    project.call(&RUN).expect(0);
    let report = project.report();
    let grades = &report["evals"][0]["cases"][0]["samples"][0]["grades"];
    assert_eq!(grades[1]["informative"], true);
    assert_eq!(grades[1]["outcome"], "failed");
    assert_eq!(grades[1]["metrics"]["lint_pass"].as_f64(), Some(0.0));
    assert_eq!(grades[2]["metrics"]["coverage"].as_f64(), Some(0.83));
    assert_eq!(grades[2]["metrics"]["check_score"].as_f64(), Some(0.5));
    let listed = project
        .call(&["list", "--suite", "suite.yaml", "--verbose"])
        .expect(0)
        .stdout;
    assert!(
        listed.contains("command (inferred) (measures lint_pass) (informative)"),
        "{listed}"
    );
    assert!(
        listed.contains("(measures check_score, coverage)"),
        "{listed}"
    );
}

#[test]
fn a_likeness_below_its_threshold_fails_with_its_number() {
    let case = "expected: {type: exact, value: kitten, alternatives: [sitten]}, grader: {type: code, config: {method: similarity}}";
    let project = project("", case, "{\"case\": \"a\", \"output\": \"sitting\"}\n");
    project.call(&RUN).expect(1);
    let failure = &project.report()["failures"][0];
    assert_eq!(failure["cause"], "threshold");
    assert_eq!(
        failure["reason"],
        "levenshtein is 0.7143 (the best of 2 references), which is below 0.8"
    );
    assert_eq!(failure["expected"], "sitten");
}

#[test]
fn composites_of_built_in_metrics_are_gated() {
    let head = "  metrics:\n    quality: {composite: [{metric: pass_at_1, weight: 3}, {metric: failed_samples, range: [0, 4], invert: true}]}\n  thresholds: {quality: 0.9}\n";
    let right = project(
        head,
        "expected: ok",
        "{\"case\": \"a\", \"output\": \"ok\"}\n",
    );
    right.call(&RUN).expect(0);
    assert_eq!(right.report()["metrics"]["quality"].as_f64(), Some(1.0));
    let half = "{\"case\": \"a\", \"output\": \"ok\"}\n{\"case\": \"a\", \"output\": \"no\"}\n";
    let half = project(head, "expected: ok", half);
    half.call(&RUN).expect(1);
    // (3 x 0.5 + 1 x 0.75) / 4
    assert_eq!(half.report()["metrics"]["quality"].as_f64(), Some(0.5625));
    assert_eq!(half.report()["estimates"]["quality"]["method"], "none");
    let none = project(head, "expected: ok", "");
    none.call(&RUN).expect(3);
    assert!(none.report()["metrics"]["quality"].is_null());
    let short = project(
        "  metrics: {q: {composite: [{metric: pass_at_3}]}}\n  thresholds: {q: 0.9}\n",
        "expected: ok",
        "{\"case\": \"a\", \"output\": \"ok\"}\n",
    );
    let said = short.call(&RUN).expect(2).stderr;
    assert!(
        said.contains("the threshold on pass_at_3 needs 3 samples of every case"),
        "{said}"
    );
}

#[test]
fn a_name_that_nothing_measures_is_a_definition_error() {
    let project = project("  thresholds: {edit_rate: 0.3}\n", "expected: ok", "");
    let said = project.call(&RUN).expect(2).stderr;
    assert!(said.contains("`edit_rate` is not a metric"), "{said}");
}

#[test]
fn an_answer_that_is_right_and_late_fails() {
    let late = |limit: &str| {
        let suite = format!(
            "eval_suite:\n  name: Late\n  target: {{type: command, command: [sh, -c, 'sleep 0.2; echo ok']}}\n  evals:\n    - {{id: a, input: x, expected: ok, max_latency_ms: {limit}}}\n"
        );
        Project::with(&[("suite.yaml", &suite)])
    };
    late("60000").call(&RUN).expect(0);
    let project = late("100");
    project.call(&RUN).expect(1);
    let failure = &project.report()["failures"][0];
    assert_eq!(failure["cause"], "threshold");
    assert!(
        failure["reason"]
            .as_str()
            .is_some_and(|why| why.ends_with("ms, 100 ms are allowed")),
        "{failure}"
    );
}

#[test]
fn weights_make_the_score_of_combined_graders_and_of_the_suite() {
    let suite = r#"
eval_suite:
  name: Weights
  target: {type: echo}
  thresholds: {weighted_score: 0.3}
  evals:
    - id: half
      input: abc
      metadata: {weight: 3}
      graders:
        - {type: code, weight: 1, config: {method: contains, must_include: abc}}
        - {type: code, weight: 3, config: {method: contains, must_include: xyz}}
      combine: {weighted: {pass_threshold: 0.25}}
    - {id: right, input: abc, expected: abc, metadata: {weight: 1}}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    project.call(&RUN).expect(0);
    let report = project.report();
    assert_eq!(report["evals"][0]["outcome"], "passed");
    assert_eq!(report["evals"][0]["score"].as_f64(), Some(0.25));
    // (3 x 0.25 + 1 x 1) / 4
    assert_eq!(report["summary"]["weighted_score"].as_f64(), Some(0.4375));
}

/// The composite of seed 003: two cases of which one measures nothing, and three answers to the
/// other.
#[test]
fn measured_metrics_and_their_composite_are_gated() {
    let suite = r#"
eval_suite:
  name: Quality
  target: {type: recorded, path: outputs.jsonl}
  metrics:
    code_quality:
      composite:
        - {metric: pass_at_1, weight: 0.5}
        - {metric: edit_rate, weight: 0.25, invert: true}
        - {metric: build_pass, weight: 0.25}
  thresholds: {code_quality: 0.75, edit_rate: 0.5, build_pass: {min: 0.6}}
  evals:
    - {id: plain, input: x, expected: ok}
    - id: code
      input: x
      expected: abcd
      graders:
        - {type: code, config: {method: similarity, metric: edit_rate, threshold: 0.5}}
        - {type: code, informative: true, metric: build_pass, config: {command: [grep, -q, a]}}
"#;
    let lines = |answers: &[&str]| {
        let line = |case: &str, output: &str| {
            format!("{{\"case\": \"{case}\", \"output\": \"{output}\"}}\n")
        };
        let answers: String = answers.iter().map(|answer| line("code", answer)).collect();
        line("plain", "ok") + &answers
    };
    let run = |answers: &[&str], code: i32| {
        let project = Project::with(&[("suite.yaml", suite), ("outputs.jsonl", &lines(answers))]);
        project.call(&RUN).expect(code);
        project.report()
    };
    let report = run(&["abcd", "abXd", "XXXd"], 0);
    // Rates 0, 1/4, 3/4; builds 1, 1, 0; 2 of 3 answers and the plain case pass.
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap_or(f64::NAN);
    assert!(
        (metric("edit_rate") - 1.0 / 3.0).abs() < 1e-12,
        "{}",
        metric("edit_rate")
    );
    assert!(
        (metric("build_pass") - 2.0 / 3.0).abs() < 1e-12,
        "{}",
        metric("build_pass")
    );
    let quality = 0.5 * (1.0 + 2.0 / 3.0) / 2.0 + 0.25 * (2.0 / 3.0) + 0.25 * (2.0 / 3.0);
    assert!(
        (metric("code_quality") - quality).abs() < 1e-12,
        "{}",
        metric("code_quality")
    );
    let report = run(&["XXXX", "abXd", "XXXd"], 1);
    assert_eq!(
        report["gate"]["thresholds"].as_array().map(Vec::len),
        Some(3)
    );
    // Without an answer nothing is known of it, in neither direction.
    let report = run(&[], 3);
    assert!(report["metrics"]["code_quality"].is_null(), "{report}");
}

#[test]
fn equal_counts_have_no_interval_and_equal_scores_have() {
    let counting = |id: &str, grader: &str| {
        format!(
            "    - {{id: {id}, input: x, graders: [{{type: code, config: {{method: contains, must_include: x}}}}, {grader}]}}\n"
        )
    };
    let count = r#"{type: code, informative: true, config: {method: command, verdict: json, metrics: [warnings], command: [sh, -c, "echo '{\"passed\": true, \"metrics\": {\"warnings\": 1}}'"]}}"#;
    let score = r#"{type: code, metric: builds, config: {method: command, command: ["true"]}}"#;
    let mut suite = "eval_suite:\n  name: Counts\n  target: {type: echo}\n  thresholds: {warnings: {max: 1, on: ci_upper}}\n  evals:\n".to_owned();
    for n in 0..3 {
        suite.push_str(&counting(&format!("count-{n}"), count));
        suite.push_str(&counting(&format!("score-{n}"), score));
    }
    let project = Project::with(&[("suite.yaml", &suite)]);
    // That nothing was counted above 1 in three cases is no upper bound.
    project.call(&["run", "--suite", "suite.yaml"]).expect(3);
    let report = project.report();
    assert_eq!(report["estimates"]["warnings"]["value"].as_f64(), Some(1.0));
    assert!(report["estimates"]["warnings"]["ci"].is_null());
    assert_eq!(
        report["estimates"]["builds"]["method"],
        "empirical_likelihood"
    );
}

/// Numbers without bounds: what their interval lacks is computed from it, for an upper end, too.
#[test]
fn a_number_whose_interval_is_too_wide_names_the_cases_that_it_lacks() {
    let grader = "graders: [{type: code, metric: ok, config: {command: [sh, -c, 'read n; echo \"{\\\"passed\\\": true, \\\"metrics\\\": {\\\"size\\\": $n}}\"'], verdict: json, metrics: [size]}}]";
    let evals: String = (0..12)
        .map(|at| format!("    - {{id: e{at}, input: x, {grader}}}\n"))
        .collect();
    let outputs: String = (0..12)
        .map(|at| {
            format!(
                "{{\"case\": \"e{at}\", \"output\": \"{}\"}}\n",
                100 + 10 * (at % 4)
            )
        })
        .collect();
    // A mean of 115 with a standard deviation of about 12.
    let suite = format!(
        "eval_suite:\n  name: Sizes\n  target: {{type: recorded, path: outputs.jsonl}}\n  thresholds: {{size: {{max: 118, bound: upper}}}}\n  evals:\n{evals}"
    );
    let project = Project::with(&[("suite.yaml", &suite), ("outputs.jsonl", &outputs)]);
    let gate = project.call(&RUN).expect(1).stdout;
    let words = gate.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks = "the value itself, 115, meets it, but there is too little data: about 44 more cases like these would have met it";
    assert!(words.contains(lacks), "{words}");
}
