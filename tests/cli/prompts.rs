//! A suite with several prompts: a run with each, and what compares them.

use crate::support::{Call, Project};
use serde_json::Value;

/// It answers with the last line of its prompt, in upper case when it is told to shout.
const MODEL: &str = "
import sys
prompt = sys.stdin.read()
word = prompt.splitlines()[-1]
print(word.upper() if 'Shout' in prompt else word)
";

const SUITE: &str = r#"
eval_suite:
  name: Words
  target: {type: command, command: [python3, model.py]}
  vars: {how: Shout}
  prompts:
    loud: "{{ vars.how }} the word.\n{{ input }}"
    plain: {file: prompts/plain.md}
  evals:
    - metadata: {id: words, name: Words}
      test_cases:
        - {id: a, input: ONE, expected: ONE}
        - {id: b, input: two, expected: TWO}
        - {id: c, input: three, expected: THREE}
        - {id: d, input: "{{ '{{ x }}' }}", expected: "{% raw %}{{ X }}{% endraw %}"}
"#;

fn project() -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("model.py", MODEL),
        ("prompts/plain.md", "Say the word.\n{{ input }}"),
    ])
}

fn run(project: &Project, more: &[&str]) -> Call {
    let mut args = vec!["run", "--suite", "suite.yaml", "--progress", "none"];
    args.extend(more);
    project.call(&args)
}

fn report(project: &Project, name: &str) -> Value {
    let path = project.result(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_prompt_is_a_run_and_each_pair_is_compared() {
    let project = project();
    let call = run(&project, &[]).expect(1);
    assert!(
        call.stderr.contains("run on command [plain]"),
        "{}",
        call.stderr
    );
    let sides = report(&project, "side-by-side.json");
    let sides = &sides["side_by_side"];
    assert_eq!(sides["runs"][0]["cases"]["passed"], 4);
    assert_eq!(sides["runs"][1]["cases"]["passed"], 1);
    let pair = &sides["pairs"][0];
    assert_eq!(pair["first"], "loud");
    assert_eq!(pair["metric"], "pass_at_1");
    assert_eq!(pair["difference"], -0.75);
    assert_eq!(pair["only_first_passed"], 3);
    assert_eq!(pair["only_second_passed"], 0);
    // Three cases of four can't tell more than chance: the two-sided mid-p is 2 * (1/2)^4.
    assert!((pair["p"].as_f64().unwrap() - 0.125).abs() < 1e-9, "{pair}");
    assert_eq!(pair["verdict"], "no_evidence");
}

#[test]
fn one_prompt_is_a_run_whose_report_tells_it() {
    let project = project();
    run(&project, &["--prompt", "loud"]).expect(0);
    let run = report(&project, "json");
    let environment = &run["eval_report"]["metadata"]["environment"];
    assert_eq!(environment["target"], "command [loud]");
    assert_eq!(environment["prompt"]["name"], "loud");
    assert_eq!(
        environment["prompt"]["template"],
        "{{ vars.how }} the word.\n{{ input }}"
    );
}

/// The input of a case is data: braces in it are not filled, and cases of two prompts are the same.
#[test]
fn runs_of_two_prompts_are_comparable() {
    let project = project();
    let id = |prompt: &str, code| {
        run(&project, &["--prompt", prompt]).expect(code);
        let run = report(&project, "json");
        let id = &run["eval_report"]["metadata"]["run_id"];
        id.as_str().unwrap().to_owned()
    };
    let (loud, plain) = (id("loud", 0), id("plain", 1));
    let suite = ["--suite", "suite.yaml", "--format", "json"];
    let compared = project
        .call(&[&["compare", &loud, &plain], &suite[..]].concat())
        .expect(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(compared["candidates"][0]["cases"]["compared"], 4);
    assert_eq!(compared["candidates"][0]["cases"]["broken"]["count"], 3);
}

#[test]
fn a_changed_template_is_another_target() {
    let project = project();
    // The first failure ends it, so that samples are left.
    run(
        &project,
        &["--prompt", "plain", "--max-fail", "1", "--jobs", "1"],
    );
    project.write("prompts/plain.md", "Do say the word.\n{{ input }}");
    let again = run(&project, &["--resume", "latest"]).expect(2);
    assert!(again.stderr.contains("target"), "{}", again.stderr);
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let project = project();
    let unknown = run(&project, &["--prompt", "lout"]).expect(2);
    insta::assert_snapshot!(unknown.stderr, @"
    error[EH0441]: the suite has no prompt `lout`
     |
     = help: did you mean `loud`?

    1 error
    error: 1 problem in the suite; nothing ran
    ");
    let recorded = run(&project, &["--prompt", "loud", "--outputs", "model.py"]).expect(2);
    assert!(
        recorded
            .stderr
            .contains("the prompt `loud` has no effect on recorded outputs"),
        "{}",
        recorded.stderr
    );
    project.write("prompts/plain.md", "Say {{ vars.haw }} {{ input }}");
    let undefined = run(&project, &[]).expect(2);
    insta::assert_snapshot!(undefined.stderr, @"
    error[EH0404]: `vars.haw` is not defined
     --> prompts/plain.md:1:8
      |
    1 | Say {{ vars.haw }} {{ input }}
      |        ^^^^^^^^
      |
      = help: did you mean `vars.how`?

    1 error
    error: 1 problem in the suite; nothing ran
    ");
    project.write("prompts/plain.md", " \n");
    let empty = run(&project, &[]).expect(2);
    insta::assert_snapshot!(empty.stderr, @r#"
    error[EH0104]: `prompts/plain.md` is empty
     --> suite.yaml:8:19
      |
    7 |     loud: "{{ vars.how }} the word.\n{{ input }}"
    8 |     plain: {file: prompts/plain.md}
      |                   ^^^^^^^^^^^^^^^^

    1 error
    error: 1 problem in the suite; nothing ran
    "#);
    std::fs::remove_file(project.path().join("prompts/plain.md")).unwrap();
    let missing = run(&project, &[]).expect(2);
    insta::assert_snapshot!(missing.stderr, @r#"
    error[EH0302]: the file `prompts/plain.md` does not exist
     --> suite.yaml:8:19
      |
    7 |     loud: "{{ vars.how }} the word.\n{{ input }}"
    8 |     plain: {file: prompts/plain.md}
      |                   ^^^^^^^^^^^^^^^^
      |
      = help: paths are relative to the file that contains them

    1 error
    error: 1 problem in the suite; nothing ran
    "#);
}

#[test]
fn an_eval_replaces_prompts_and_other_inputs_stay_as_they_are() {
    let suite = r#"
eval_suite:
  name: Own
  target: {type: command, command: [cat]}
  prompts: {short: "Suite: {{ input }}"}
  evals:
    - {id: of-suite, input: x, expected: "Suite: x"}
    - id: bare
      input: {type: prompt, content: x, context: ""}
      expected: "Suite: x"
    - {id: own, prompts: {short: "Own {{ context.k }}: {{ input }}"}, input: {type: prompt, content: x, context: {k: 1}}, expected: "Own 1: x"}
    - id: talk
      input: {type: messages, messages: [{role: user, content: hi}]}
      grader: {type: code, config: {method: contains, must_not_include: Suite}}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    // One prompt alone needs no choice.
    run(&project, &[]).expect(0);
}

/// An eval outside the selection has no say in which prompts run, and a prompt that is not used may
/// lack its variables.
#[test]
fn what_is_not_used_asks_for_nothing() {
    let suite = r#"
eval_suite:
  name: Unused
  target: {type: command, command: [cat]}
  env: [NO_SUCH_TONE]
  evals:
    - {id: bare, input: x, expected: x}
    - {id: own, prompts: {a: "A {{ input }}", b: "{{ env.NO_SUCH_TONE }} {{ input }}"}, input: x, expected: "A x"}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    let call = run(&project, &["--eval", "bare"]).expect(0);
    assert!(!call.stdout.contains("side by side"), "{}", call.stdout);
    run(&project, &["--prompt", "a"]).expect(0);
    let lacking = run(&project, &["--prompt", "b"]).expect(2);
    assert!(
        lacking.stderr.contains("NO_SUCH_TONE"),
        "{}",
        lacking.stderr
    );
}

/// Two targets with two prompts are four runs and six pairs.
#[test]
fn prompts_are_crossed_with_targets() {
    let suite = r#"
eval_suite:
  name: Grid
  targets:
    cat: {type: command, command: [cat]}
    upper: {type: command, command: [tr, a-z, A-Z]}
  prompts: {plain: "{{ input }}", said: "say {{ input }}"}
  evals: [{id: e, input: x, expected: x}]
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    run(&project, &["--target", "cat", "--target", "upper"]).expect(1);
    let sides = report(&project, "side-by-side.json");
    let sides = &sides["side_by_side"];
    let labels = sides["runs"].as_array().unwrap().iter();
    let labels: Vec<&str> = labels.map(|run| run["label"].as_str().unwrap()).collect();
    assert_eq!(
        labels,
        ["cat [plain]", "cat [said]", "upper [plain]", "upper [said]"]
    );
    assert_eq!(sides["pairs"].as_array().unwrap().len(), 6);
}

/// A target of its own for every eval needs none in the suite; the prompt still tells runs apart.
#[test]
fn prompts_of_a_suite_without_a_target_tell_runs_apart() {
    let suite = r#"
eval_suite:
  name: Own targets
  prompts: {a: "A {{ input }}", b: "B {{ input }}"}
  evals:
    - id: reg-own
      baseline: {output: {value: "A x"}}
      current: {input: x, execution: {type: command, command: [cat]}}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    let call = run(&project, &["--prompt", "a"]);
    let environment = &report(&project, "json")["eval_report"]["metadata"]["environment"];
    assert_eq!(environment["target"], "[a]", "{}", call.stderr);
    project.write("suite.yaml", &suite.replace("A {{", "Other {{"));
    let again = run(&project, &["--resume", "latest", "--samples", "2"]).expect(2);
    assert!(again.stderr.contains("target"), "{}", again.stderr);
}

#[test]
fn a_dry_run_counts_what_a_prompt_adds() {
    let suite = r#"
eval_suite:
  name: Estimate
  target: {type: model, model: "openai:gpt-4o-mini", base_url: "http://127.0.0.1:9/v1"}
  prompts: {long: "PADDING {{ input }}", short: "{{ input }}"}
  evals: [{id: a, input: x, expected: x}]
"#;
    let long = suite.replace("PADDING", &"word ".repeat(2_000));
    let project = Project::with(&[("suite.yaml", &long)]);
    let tokens = |prompt: &str| {
        let call = run(&project, &["--prompt", prompt, "--dry-run"]).expect(0);
        let line = call.stdout.lines().find(|line| line.contains("tokens"));
        line.unwrap_or_default().to_owned()
    };
    assert_ne!(tokens("long"), tokens("short"));
}

#[test]
fn prompts_keep_their_order_and_show_prints_what_was_sent() {
    let project = project();
    let suite = SUITE.replace("    loud:", "    zero: \"Zero {{ input }}\"\n    loud:");
    project.write("suite.yaml", &suite);
    run(&project, &["--case", "a"]).expect(1);
    let sides = report(&project, "side-by-side.json");
    let runs = sides["side_by_side"]["runs"].as_array().unwrap();
    let names: Vec<&str> = runs
        .iter()
        .map(|run| run["label"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["zero", "loud", "plain"]);
    let id = runs[1]["run_id"].as_str().unwrap();
    let shown = project
        .call(&["show", "words/a", "--suite", "suite.yaml", "--run", id])
        .expect(0);
    assert!(shown.stdout.contains("Shout the word."), "{}", shown.stdout);
}
