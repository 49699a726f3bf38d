//! Skills: the suite says once how they are run, evals name theirs, and a real program runs.

use crate::support::Project;
use serde_json::Value;

/// Shows what it is called with: each argument on a line, then stdin.
const AGENT: &str = "#!/bin/sh\nprintf '[%s]\\n' \"$@\"\ncat\n";

/// Answers as the reviewer of the seeds' second example.
const REVIEWER: &str = r#"#!/bin/sh
[ "$1" = "code-review" ] || { echo "another skill: $1" >&2; exit 3; }
case "$2" in *'"depth":'*'"thorough"'*) ;; *) echo "parameters: $2" >&2; exit 4 ;; esac
[ "$3" = "path/to/test-diff.patch" ] || exit 5
grep -q '"React component refactoring"' "$4" || exit 6
cat <<'END'
{"quality_scores": {"specificity": 4.0, "actionability": 4.9, "correctness": 4.8, "tone": 4.6},
 "sample_comments": ["Consider a guard clause"]}
END
"#;

fn project(suite: &str, agent: &str) -> Project {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::with(&[("suite.yaml", suite)]);
    let path = project.write("agent.sh", agent);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    project
}

/// The output of the only sample.
fn output(project: &Project, more: &[&str], code: i32) -> Value {
    let args = ["run", "--suite", "suite.yaml", "--progress", "none"];
    project.call(&[&args, more].concat()).expect(code);
    let report = project.report();
    report["evals"][0]["cases"][0]["samples"][0]["output"].clone()
}

/// The seeds' example, with the suite's way to run skills.
const SEED: &str = r#"
eval_suite:
  name: s
  skill: {command: [./agent.sh, "{{ skill_name }}", "{{ parameters | tojson }}", "{{ input.code_diff }}", "{{ input_file }}"], output: json}
  target: {type: echo}
  evals:
    - id: "reg-quality-001"
      name: "Code review comment quality"
      baseline_version: "v1.0.0"
      baseline:
        output:
          quality_scores: {specificity: 4.2, actionability: 4.5, correctness: 4.8, tone: 4.6}
          sample_comments: ["Consider using `const`"]
      current:
        input:
          code_diff: "path/to/test-diff.patch"
          context: "React component refactoring"
        execution:
          type: "skill"
          skill_name: "code-review"
          parameters:
            depth: "thorough"
      comparison:
        type: "numeric"
        tolerance:
          quality_scores:
            min_delta: -0.3
            max_delta: null
      metadata: {criticality: "high"}
"#;

#[test]
fn the_second_example_of_the_seeds_runs() {
    let passes = project(SEED, REVIEWER);
    assert_eq!(
        output(&passes, &[], 0)["quality_scores"]["actionability"].to_string(),
        "4.9"
    );
    let fails = project(SEED, &REVIEWER.replace("4.0", "3.8"));
    assert_eq!(
        output(&fails, &[], 1)["quality_scores"]["specificity"].to_string(),
        "3.8"
    );
    let report = fails.report();
    assert_eq!(report["failures"][0]["cause"], "wrong_answer");
}

fn regression(skill: &str, input: &str, execution: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n  vars: {{n: 7}}\n  target: {{type: echo}}\n  skill: {skill}\n  evals:\n    - id: e\n      \
         baseline: {{output: x}}\n      current:\n        input: {input}\n        execution: {execution}\n      \
         comparison: {{type: exact}}\n"
    )
}

#[test]
fn every_part_stays_one_argument_and_the_input_is_only_data() {
    let suite = regression(
        "{command: [./agent.sh, '/{{ skill_name }} {{ parameters | tojson }}', 'n={{ vars.n }}', '{{ vars.braces }}', '{{ prompt }}', \
         '{{ input.context.who }}: {{ parameters.depth }}', '{{ input_file }}'], parameters: {depth: 1, kept: 'a b'}}",
        "{type: prompt, content: \"{% raw %}$(id) {{ input_file }} 'x'\\n{{ 7*7 }}{% endraw %}\", context: {who: \"me; you\"}}",
        "{type: skill, skill_name: look, parameters: {depth: deep}}",
    );
    let project = project(&suite, AGENT);
    let text = output(&project, &["--var", "braces={{ 7*7 }} {{ vars.n }}"], 1);
    let text = text.as_str().unwrap();
    let (said, file) = text
        .split_once("[/tmp")
        .map_or((text, ""), |(said, rest)| (said, rest));
    insta::assert_snapshot!(said, @r##"
    [/look {"depth": "deep", "kept": "a b"}]
    [n=7]
    [{{ 7*7 }} {{ vars.n }}]
    [$(id) {{ input_file }} 'x'
    {{ 7*7 }}]
    [me; you: deep]
    "##);
    assert!(file.contains("/input.json]"), "{text}");
}

#[test]
fn an_eval_says_what_differs_and_takes_the_rest_from_the_suite() {
    let own = regression(
        "{command: [./missing.sh], output: json, env: [HOME]}",
        "p",
        "{type: skill, skill_name: own, command: [./agent.sh, '{{ skill_name }}'], output: text}",
    );
    assert_eq!(output(&project(&own, AGENT), &[], 1), "[own]\np");
    // The suite's target serves as the way to run skills, and for cases without an execution of
    // their own.
    let suite = "eval_suite:\n  name: s\n  target: {type: skill, skill_name: usual, command: [./agent.sh, '{{ skill_name }}', \
                 '{{ prompt }}']}\n  evals:\n    - {id: e, input: hello, expected: x}\n";
    assert_eq!(
        output(&project(suite, AGENT), &[], 1),
        "[usual]\n[hello]\nhello"
    );
}

#[test]
fn an_exit_code_and_a_time_out_are_what_they_are_of_commands() {
    let skill = "{command: [./agent.sh], timeout_seconds: 0.3}";
    let execution = "{type: skill, skill_name: x}";
    let mut told = String::new();
    for (agent, skill) in [
        ("#!/bin/sh\necho no >&2; exit 7\n", skill.to_owned()),
        (
            "#!/bin/sh\necho no >&2; exit 7\n",
            skill.replace('}', ", on_error: fail}"),
        ),
        ("#!/bin/sh\nsleep 60\n", skill.to_owned()),
        (
            "#!/bin/sh\necho text\n",
            skill.replace('}', ", output: json}"),
        ),
    ] {
        let project = project(&regression(&skill, "p", execution), agent);
        project.call(&["run", "--suite", "suite.yaml", "--progress", "none"]);
        let report = project.report();
        let sample = &report["evals"][0]["cases"][0]["samples"][0];
        told.push_str(&format!(
            "{} {}: {}\n",
            sample["outcome"], sample["cause"], sample["reason"]
        ));
    }
    insta::assert_snapshot!(told, @r##"
    "errored" "target_failed": "./agent.sh exited with code 7: no"
    "failed" "exception": "./agent.sh exited with code 7: no"
    "errored" "target_timeout": "./agent.sh did not end within 0.3 s; it and all processes that it started were stopped"
    "errored" "target_failed": "the output of ./agent.sh is not JSON: expected ident at line 1 column 2"
    "##);
}

#[test]
fn what_is_wrong_with_a_skill_is_said_before_anything_runs() {
    let mut told = String::new();
    for (skill, execution) in [
        (
            "{command: [./agent.sh, '{{ skil_name }}']}",
            "{type: skill, skill_name: x}",
        ),
        (
            "{command: [./agent.sh, '{{ parameters.deph }}']}",
            "{type: skill, skill_name: x, parameters: {depth: 1}}",
        ),
        (
            "{command: [./agent.sh, '{{ prompt }} {{ vars.n }}']}",
            "{type: skill, skill_name: x}",
        ),
        (
            "{command: ['{{ prompt }}']}",
            "{type: skill, skill_name: x}",
        ),
        ("{command: [./gone.sh]}", "{type: skill, skill_name: x}"),
        (
            "{command: [./agent.sh, '{{ skill_name']}",
            "{type: skill, skill_name: x}",
        ),
        ("{command: [./agent.sh]}", "{type: skill}"),
        ("{}", "{type: skill, skill_name: x}"),
    ] {
        let project = project(&regression(skill, "p", execution), AGENT);
        let call = project
            .call(&["run", "--suite", "suite.yaml", "--progress", "none"])
            .expect(2);
        told.push_str(&format!("== {skill} {execution}\n{}", call.stderr));
    }
    insta::assert_snapshot!(told, @r#"
    == {command: [./agent.sh, '{{ skil_name }}']} {type: skill, skill_name: x}
    error[EH0404]: `skil_name` is not defined
     --> suite.yaml:5:37
      |
    4 |   target: {type: echo}
    5 |   skill: {command: [./agent.sh, '{{ skil_name }}']}
      |                                     ^^^^^^^^^
      |
      = help: define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces

    1 error
    error: 1 problem in the suite; nothing ran
    == {command: [./agent.sh, '{{ parameters.deph }}']} {type: skill, skill_name: x, parameters: {depth: 1}}
    error[EH0404]: `parameters.deph` is not defined
     --> suite.yaml:5:37
      |
    4 |   target: {type: echo}
    5 |   skill: {command: [./agent.sh, '{{ parameters.deph }}']}
      |                                     ^^^^^^^^^^^^^^^
      |
      = help: did you mean `parameters.depth`?

    1 error
    error: 1 problem in the suite; nothing ran
    == {command: [./agent.sh, '{{ prompt }} {{ vars.n }}']} {type: skill, skill_name: x}
    error[EH0415]: a part that uses the input can't also use `vars`
     --> suite.yaml:5:33
      |
    4 |   target: {type: echo}
    5 |   skill: {command: [./agent.sh, '{{ prompt }} {{ vars.n }}']}
      |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: put it into a separate part, or pass it on under `parameters:`

    1 error
    error: 1 problem in the suite; nothing ran
    == {command: ['{{ prompt }}']} {type: skill, skill_name: x}
    error[EH0415]: the program can't be taken from the input
     --> suite.yaml:5:21
      |
    4 |   target: {type: echo}
    5 |   skill: {command: ['{{ prompt }}']}
      |                     ^^^^^^^^^^^^^^
      |
      = help: write the name of the program

    1 error
    error: 1 problem in the suite; nothing ran
    == {command: [./gone.sh]} {type: skill, skill_name: x}
    error[EH0415]: the program `./gone.sh` cannot be found
     --> suite.yaml:5:20
      |
    4 |   target: {type: echo}
    5 |   skill: {command: [./gone.sh]}
      |                    ^^^^^^^^^^^
      |
      = help: a path with a slash is relative to the suite's folder

    1 error
    error: 1 problem in the suite; nothing ran
    == {command: [./agent.sh, '{{ skill_name']} {type: skill, skill_name: x}
    error[EH0403]: the template cannot be rendered: syntax error: unexpected end of input, expected end of variable block
     --> suite.yaml:5:37
      |
    4 |   target: {type: echo}
    5 |   skill: {command: [./agent.sh, '{{ skill_name']}
      |                                     ^^^^^^^^^^
      |
      = help: write `{% raw %}...{% endraw %}` around braces that are not a template

    1 error
    error: 1 problem in the suite; nothing ran
    == {command: [./agent.sh]} {type: skill}
    error[EH0415]: no skill is set
      --> suite.yaml:11:20
       |
    10 |         input: p
    11 |         execution: {type: skill}
       |                    ^^^^^^^^^^^^^
       |
       = help: add `skill_name` to the suite's target, or to the eval's `execution`

    1 error
    error: 1 problem in the suite; nothing ran
    == {} {type: skill, skill_name: x}
    error[EH0415]: no command for skills is set
      --> suite.yaml:11:20
       |
    10 |         input: p
    11 |         execution: {type: skill, skill_name: x}
       |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: add to the suite: `skill: {command: ["agent", "-p", "/{{ skill_name }} {{ parameters | tojson }}"]}`

    1 error
    error: 1 problem in the suite; nothing ran
    "#);
}
