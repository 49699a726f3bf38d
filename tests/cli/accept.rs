//! `accept`: the output of a run becomes what its case expects, in the file where it is written.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Call, Project};
use insta::assert_snapshot;
use serde_json::{Value, json};

const SUITE: &str = "\
eval_suite:
  name: Accepting
  target: {type: recorded, path: outputs.jsonl}
  vars: {city: Paris}
  evals:
    - $ref: words.yaml   # the words
    - $ref: lists.yaml
    - $ref: rows.yaml
    - id: cap-inline
      input: say hello
      expected: 'hello'  # politely
";

const WORDS: &str = "\
# What the assistant knows.
schema_version: \"1.0\"
eval_type: capability
metadata: {id: cap-words, name: Words}
test_cases:
  - {id: flow, input: one, expected: {type: exact, value: one}}   # in braces
  - id: block
    input: two
    expected:
      type: exact
      value: two   # in lines
    tags: [x]
  - id: template
    input: three
    expected: {type: exact, value: \"{{ city }}\"}
  - id: several
    input: four
    expected: {type: exact, value: four, alternatives: [vier]}
  - id: contains
    input: five
    expected: {type: contains, value: five}
  - id: shaky
    input: six
    expected: {type: exact, value: six}
  - id: braces
    input: seven
    expected: {type: exact, value: seven}
  - id: silent
    input: eight
    expected: {type: exact, value: eight}
";

const LISTS: &str = "\
- id: cap-number
  input: a number
  expected: {type: numeric, value: 41}
- id: cap-order
  input: an order
  expected:
    type: json
    value:
      total: 3      # euros
      items: [tea]
- id: cap-shared
  input: shared
  expected: &shared {type: exact, value: old}
- id: cap-alias
  input: alias
  expected: *shared
- id: cap-anchor
  input: anchor
  expected: {type: exact, value: &word old}
- id: cap-word
  input: word
  expected: {type: exact, value: *word}
- id: reg-users
  current: {input: users}
  baseline: {output: {users: 1}}
";

const ROWS: &str = "\
schema_version: \"1.0\"
eval_type: capability
metadata: {id: cap-rows, name: Rows}
dataset:
  path: rows.jsonl
  format: jsonl
  case:
    id: \"{{ row.id }}\"
    input: \"{{ row.q }}\"
    expected: {type: exact, value: \"{{ row.a }}\"}
";

fn outputs() -> String {
    let line = |case: &str, output: Value| json!({"case": case, "output": output}).to_string();
    let mut lines = vec![
        line("flow", json!("two\nlines")),
        line("block", json!("two\n\n  lines: #1\n")),
        line("template", json!("Rome")),
        line("several", json!("quatre")),
        line("contains", json!("cinq")),
        line("shaky", json!("6")),
        line("shaky", json!("VI")),
        line("braces", json!("{{ x }} {% if %}")),
        line("cap-number", json!("The answer is 42")),
        line("cap-order", json!("{\"items\": [\"tea\"], \"total\": 4}")),
        line("row-1", json!("x")),
        line("cap-inline", json!("goodbye: \"you\"")),
        line("reg-users", json!({"users": 2})),
    ];
    for case in ["cap-shared", "cap-alias", "cap-anchor", "cap-word"] {
        lines.push(line(case, json!("new")));
    }
    lines.join("\n")
}

fn project() -> Project {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        ("evals/words.yaml", WORDS),
        ("evals/lists.yaml", LISTS),
        ("evals/rows.yaml", ROWS),
        (
            "evals/rows.jsonl",
            "{\"id\": \"row-1\", \"q\": \"?\", \"a\": \"y\"}\n",
        ),
        ("evals/outputs.jsonl", &outputs()),
    ]);
    project.call(&["run", "--progress", "none"]).expect(1);
    project
}

fn accept(project: &Project, args: &[&str]) -> Call {
    project.call(&[&["accept"], args].concat())
}

fn read(project: &Project, path: &str) -> String {
    std::fs::read_to_string(project.path().join(path)).expect("a file")
}

fn scrubbed(text: &str) -> String {
    let run = regex::Regex::new(r"eval-\d{8}-\d{6}(-\d+)?").expect("a pattern");
    run.replace_all(text, "RUN").into_owned()
}

#[test]
fn a_literal_is_replaced_where_it_is_written() {
    let project = project();
    let shown = accept(&project, &["block", "--dry-run"]).expect(0);
    assert_snapshot!(scrubbed(&shown.stdout), @"
    cap-words › block  sample 1 of RUN
      evals/words.yaml:11:14
            input: two
            expected:
              type: exact
      -       value: two   # in lines
      +       value: |-   # in lines
      +         two
      + 
      +           lines: #1
            tags: [x]
          - id: template
            input: three
    ");
    assert_eq!(read(&project, "evals/words.yaml"), WORDS);
    let asked = accept(&project, &["cap-words/block"]).expect(2);
    assert_snapshot!(asked.stderr, @"
    error: nothing was written: there is no terminal for the question
    hint: pass --yes to write it
    ");
    assert_eq!(read(&project, "evals/words.yaml"), WORDS);

    for case in ["block", "flow", "cap-inline", "cap-order", "braces"] {
        accept(&project, &[case, "--yes"]).expect(0);
    }
    let words = read(&project, "evals/words.yaml");
    assert_snapshot!(words.lines().take(20).collect::<Vec<_>>().join("\n"), @r#"
    # What the assistant knows.
    schema_version: "1.0"
    eval_type: capability
    metadata: {id: cap-words, name: Words}
    test_cases:
      - {id: flow, input: one, expected: {type: exact, value: "two\nlines"}}   # in braces
      - id: block
        input: two
        expected:
          type: exact
          value: |-   # in lines
            two

              lines: #1
        tags: [x]
      - id: template
        input: three
        expected: {type: exact, value: "{{ city }}"}
      - id: several
        input: four
    "#);
    assert!(
        words.contains("value: \"{% raw %}{{ x }} {% if %}{% endraw %}\"}"),
        "{words}"
    );
    assert_snapshot!(read(&project, "evals/lists.yaml").lines().take(9).collect::<Vec<_>>().join("\n"), @"
    - id: cap-number
      input: a number
      expected: {type: numeric, value: 41}
    - id: cap-order
      input: an order
      expected:
        type: json
        value:
          total: 4      # euros
    ");
    assert!(
        read(&project, "evals/eval-suite.yaml")
            .ends_with("      expected: 'goodbye: \"you\"'  # politely\n")
    );

    let outcome = |case: &str| {
        let shown = project.call(&["show", case, "--format", "json"]).expect(0);
        let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        shown[0]["outcome"].as_str().expect("a text").to_owned()
    };
    project.call(&["run", "--progress", "none"]).expect(1);
    for case in ["block", "flow", "cap-inline", "cap-order", "braces"] {
        assert_eq!(outcome(case), "passed", "{case}");
    }
    let again = accept(&project, &["block", "--yes"]).expect(0);
    assert!(
        again.stderr.contains("nothing to change"),
        "{}",
        again.stderr
    );
}

#[test]
fn what_cannot_be_accepted_is_refused_with_its_place() {
    let project = project();
    let refused = [
        "template",
        "several",
        "contains",
        "shaky",
        "silent",
        "row-1",
        "cap-number",
        "cap-shared",
        "cap-alias",
        "cap-anchor",
        "cap-word",
        "cap-words",
        "nothing",
        "[",
    ];
    let said: Vec<String> = refused
        .iter()
        .map(|case| accept(&project, &[case, "--yes"]).expect(2).stderr)
        .collect();
    assert_snapshot!(scrubbed(&said.concat()), @r#"
    error: evals/words.yaml:15:36: the expected value is a template or contains a matcher
    hint: edit it by hand: the output does not say which part of it is variable
    error: evals/words.yaml:18:15: the case has several expectations
    hint: add the output to `alternatives` by hand, or remove them
    error: evals/words.yaml:21:15: `expected` is not a literal value
    hint: only `expected` of type exact, json, numeric or structural with a `value` can be accepted; change it by hand
    error: the samples of `cap-words/shaky` disagree: 2 different outputs
    hint: `eval-harness show` prints them; select one with --sample N
    error: sample 1 of `cap-words/silent` has no output that can be accepted: missing_output: outputs.jsonl has no output for this case
    error: case `row-1` is not written in evals/rows.yaml: it comes from rows.jsonl:1:1
    hint: change the expected value in the data there
    error: evals/lists.yaml:3:36: the output is more than a number: "The answer is 42" (`extract` can select the 42)
    hint: change `expected` by hand
    error: evals/lists.yaml:13:42: other parts of the file would change as well (an anchor, an alias or a merge key)
    hint: write the value out where the case is defined, and accept again
    error: evals/lists.yaml:13:42: other parts of the file would change as well (an anchor, an alias or a merge key)
    hint: write the value out where the case is defined, and accept again
    error: evals/lists.yaml:19:40: other parts of the file would change as well (an anchor, an alias or a merge key)
    hint: write the value out where the case is defined, and accept again
    error: evals/lists.yaml:22:34: the expected value is an alias
    hint: write the value out there, and accept again
    error: `cap-words` matches 8 cases: cap-words/flow, cap-words/block, cap-words/template, cap-words/several, cap-words/contains and 3 more
    hint: name one of them
    error: no case of the suite matches `nothing`
    hint: `eval-harness list --verbose` lists the cases
    error: `[` is not a glob: unclosed character class; missing ']'
    "#);
    for (path, text) in [("words", WORDS), ("lists", LISTS), ("rows", ROWS)] {
        assert_eq!(read(&project, &format!("evals/{path}.yaml")), text);
    }
    let none = accept(&project, &["shaky", "--sample", "7", "--yes"]).expect(2);
    assert!(none.stderr.contains("no sample 7"), "{}", none.stderr);
    let chosen = accept(&project, &["shaky", "--sample", "2", "--yes"]).expect(0);
    assert!(
        read(&project, "evals/words.yaml").contains("value: VI}"),
        "{}",
        chosen.stdout
    );
}

#[test]
fn an_expectation_that_changed_after_the_run_is_refused() {
    let project = project();
    let words = WORDS.replace("value: two ", "value: zwei ");
    project.write("evals/words.yaml", &words);
    let refused = accept(&project, &["block", "--yes"]).expect(2);
    assert!(
        refused.stderr.contains("have changed since"),
        "{}",
        refused.stderr
    );
    // A file that moved around the case is still the same place.
    project.write("evals/words.yaml", &format!("# One more line\n\n{WORDS}"));
    accept(&project, &["block", "--yes"]).expect(0);
    let moved = read(&project, "evals/words.yaml");
    assert!(moved.starts_with("# One more line\n\n# What"), "{moved}");
    assert!(
        moved.contains("      value: |-   # in lines\n        two\n\n          lines: #1\n"),
        "{moved}"
    );
    project.write(
        "evals/words.yaml",
        &WORDS.replace("input: one", "input: another"),
    );
    let refused = accept(&project, &["flow", "--yes"]).expect(2);
    assert!(
        refused
            .stderr
            .contains("the input of `cap-words/flow` has changed"),
        "{}",
        refused.stderr
    );
}

#[test]
fn line_ends_marks_links_and_permissions_are_kept() {
    let project = project();
    let crlf = format!("\u{feff}{}", WORDS.replace('\n', "\r\n"));
    let real = project.write("evals/kept/words-real.yaml", &crlf);
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).expect("permissions");
    let link = project.path().join("evals/words.yaml");
    std::fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink("kept/words-real.yaml", &link).expect("a link");
    accept(&project, &["block", "--yes"]).expect(0);
    assert!(link.is_symlink());
    let after = std::fs::read_to_string(&real).expect("a file");
    let block = "value: |-   # in lines\r\n        two\r\n\r\n          lines: #1\r\n    tags";
    assert!(
        after.starts_with("\u{feff}# What") && after.contains(block),
        "{after:?}"
    );
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    let mode = |path: &Path| path.metadata().expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o640);

    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o440)).expect("permissions");
    let refused = accept(&project, &["flow", "--yes"]).expect(2);
    assert!(
        refused.stderr.contains("is read-only"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(&real).expect("a file"), after);
}

#[test]
fn a_regression_gets_its_baseline() {
    let project = project();
    let shown = accept(&project, &["reg-users", "--dry-run"]).expect(0);
    assert_snapshot!(shown.stdout, @"
    users
    - 1
    + 2
    ");
    assert!(!project.path().join("baselines").exists());
    let accepted = accept(&project, &["reg-users", "--yes"]).expect(0);
    assert_eq!(
        accepted.stdout.lines().last(),
        Some("wrote baselines/reg-users.yaml")
    );
    let names: Vec<_> = std::fs::read_dir(project.path().join("baselines"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, ["reg-users.yaml"]);
    project
        .call(&["run", "--eval", "reg-users", "--progress", "none"])
        .expect(0);
    let again = accept(&project, &["reg-users", "--yes"]).expect(0);
    assert!(
        again.stderr.contains("nothing to change"),
        "{}",
        again.stderr
    );
}

#[test]
fn nothing_is_accepted_in_ci() {
    let project = project();
    let mut command = project.command(&["accept", "block", "--yes"]);
    let refused = Call::of(command.env("CI", "true").output().expect("it starts")).expect(2);
    assert_snapshot!(refused.stderr, @"
    error: `accept` writes expectations, which is not allowed in CI (CI=true)
    hint: run it on a machine where you can review the result and commit it
    ");
    assert_eq!(read(&project, "evals/words.yaml"), WORDS);
}

#[test]
fn show_names_the_command_beside_a_failed_literal() {
    let project = project();
    let shown = project.call(&["show", "block", "contains"]);
    let commands: Vec<&str> = shown
        .stdout
        .lines()
        .filter(|line| line.contains("accept"))
        .collect();
    assert_eq!(
        commands,
        ["    If the output is right: eval-harness accept cap-words/block"]
    );
}

#[test]
fn a_case_that_works_becomes_a_regression() {
    let project = project();
    let failed = project
        .call(&["new", "regression", "--from", "block"])
        .expect(2);
    assert!(
        failed.stderr.contains("known to be good"),
        "{}",
        failed.stderr
    );
    accept(&project, &["block", "--yes"]).expect(0);
    project.call(&["regrade", "--progress", "none"]).expect(1);
    let made = project
        .call(&["new", "regression", "--from", "block"])
        .expect(0);
    assert_snapshot!(made.stdout, @"
    wrote evals/regression/reg-words-block.yaml
    added to evals/eval-suite.yaml: - $ref: regression/reg-words-block.yaml
    ");
    let file = read(&project, "evals/regression/reg-words-block.yaml");
    assert_snapshot!(scrubbed(&file), @"
    # yaml-language-server: $schema=../../schemas/eval.schema.json

    - id: reg-words-block
      name: Words
      description: Output of `block` in RUN.
      baseline:
        output: |
          two

            lines: #1
      current:
        input: two
      comparison:
        type: exact
      metadata:
        tags:
          - x
    ");
    assert_snapshot!(read(&project, "evals/eval-suite.yaml"), @"
    eval_suite:
      name: Accepting
      target: {type: recorded, path: outputs.jsonl}
      vars: {city: Paris}
      evals:
        - $ref: words.yaml   # the words
        - $ref: lists.yaml
        - $ref: rows.yaml
        - id: cap-inline
          input: say hello
          expected: 'hello'  # politely
        - $ref: regression/reg-words-block.yaml
    ");
    let again = project
        .call(&["new", "regression", "--from", "block"])
        .expect(2);
    assert!(
        again.stderr.contains("an eval `reg-words-block` already"),
        "{}",
        again.stderr
    );
    project.call(&["validate"]).expect(0);
    let outputs = format!(
        "{}\n{}",
        outputs(),
        json!({"case": "reg-words-block", "output": "two\n\n  lines: #1"})
    );
    project.write("evals/outputs.jsonl", &outputs);
    project
        .call(&["run", "--eval", "reg-*", "--progress", "none"])
        .expect(1);
    let shown = project
        .call(&["show", "reg-words-block", "--format", "json"])
        .expect(0);
    assert!(
        shown.stdout.contains("\"outcome\": \"passed\""),
        "{}",
        shown.stdout
    );
    let lone = project
        .call(&["new", "capability", "x", "--run", "latest"])
        .expect(2);
    assert!(lone.stderr.contains("--from"), "{}", lone.stderr);
}

#[test]
fn regression_in_another_folder_names_the_same_recordings() {
    let suite = |replay: &str| {
        format!(
            "eval_suite:
  name: Judged
  vars: {{folder: rec}}
  target: {{type: recorded, path: outputs.jsonl}}
  evals:
    - id: cap-a
      input: x
      graders:
        - {{type: code, config: {{method: contains, must_include: [one]}}}}
        - {{type: model, config: {{models: [{{model: \"openai:judge\", replay: {replay}}}], rubric: Good?}}}}
      combine: any
"
        )
    };
    let project = Project::with(&[
        ("evals/eval-suite.yaml", &suite("rec")),
        (
            "evals/outputs.jsonl",
            r#"{"case": "cap-a", "output": "one"}"#,
        ),
        ("evals/rec/empty.jsonl", ""),
    ]);
    project.call(&["run", "--progress", "none"]).expect(0);
    let new = |file: &str| {
        project.call(&[
            "new",
            "regression",
            "--from",
            "cap-a",
            "--force",
            "--output",
            file,
        ])
    };
    let replay = |file: &str| {
        let text = read(&project, file);
        let line = text.lines().find(|line| line.contains("replay:"));
        line.expect("the grader is copied").trim().to_owned()
    };
    new("evals/regression/deep/a.yaml").expect(0);
    assert_eq!(replay("evals/regression/deep/a.yaml"), "replay: ../../rec");
    project.write("evals/eval-suite.yaml", &suite("'{{ folder }}'"));
    let refused = new("evals/regression/a.yaml").expect(2);
    assert_snapshot!(refused.stderr, @"
    error: `replay: {{ folder }}` of the grader is a template
    hint: write the regression into the folder of the eval, with --output
    ");
    new("evals/a.yaml").expect(0);
    assert_eq!(replay("evals/a.yaml"), r#"replay: "{{ folder }}""#);
}

/// A suite of short forms with recorded outputs, that was run.
fn short_forms(evals: &str, outputs: &[(&str, Value)]) -> Project {
    let suite = format!(
        "eval_suite:\n  name: Short\n  target: {{type: recorded, path: outputs.jsonl}}\n  evals:\n{evals}"
    );
    let lines: Vec<String> = outputs
        .iter()
        .map(|(case, output)| json!({"case": case, "output": output}).to_string())
        .collect();
    let project = Project::with(&[
        ("evals/eval-suite.yaml", &suite),
        ("evals/outputs.jsonl", &lines.join("\n")),
    ]);
    project.call(&["run", "--progress", "none"]).expect(1);
    project
}

#[test]
fn short_lists_and_maps_are_replaced() {
    let evals = "    - {id: cap-list, input: x, expected: [1, 2]}\n    - {id: cap-map, input: x, expected: {name: Ann, id: 7}}\n    - {id: cap-mark, input: x, expected: {name: Ann}}\n";
    let outputs = [
        ("cap-list", json!([1, 3])),
        ("cap-map", json!({"name": "Bo", "id": 7})),
        ("cap-mark", json!({"type": "user"})),
    ];
    let project = short_forms(evals, &outputs);
    for case in ["cap-list", "cap-map", "cap-mark"] {
        accept(&project, &[case, "--yes"]).expect(0);
    }
    project.call(&["run", "--progress", "none"]).expect(0);
    let suite = read(&project, "evals/eval-suite.yaml");
    assert!(suite.contains("type: exact"), "{suite}");
}

#[test]
fn another_pending_baseline_is_not_overwritten() {
    let project = project();
    project
        .call(&["baseline", "capture", "reg-users", "--run", "latest"])
        .expect(0);
    let path = "baselines/reg-users.pending.yaml";
    let pending = read(&project, path);
    for (old, new) in [
        ("suite: Accepting", "suite: Other"),
        ("users: 2", "users: 3"),
    ] {
        let changed = pending.replace(old, new);
        assert_ne!(changed, pending);
        project.write(path, &changed);
        accept(&project, &["reg-users", "--yes"]).expect(2);
        assert_eq!(read(&project, path), changed);
    }
}

/// What a grader ignores does not become part of the expectation, and the order of keys stays.
#[test]
fn ignored_fields_stay_as_they_are() {
    let project = Project::with(&[
        (
            "suite.yaml",
            "\
eval_suite:
  name: Ignoring
  target: {type: command, command: [cat, answer.json]}
  evals:
    - id: user
      input: a user
      expected: {type: structural, value: {name: Ann, id: 7, age: 30, seen: [{at: 1, by: x}]}}
      grader: {type: code, config: {ignore_fields: [made_at, id, 'seen.*.at']}}
",
        ),
        (
            "answer.json",
            r#"{"age": 31, "id": 8, "made_at": 1.5, "name": "Ann", "seen": [{"at": 2, "by": "z"}]}"#,
        ),
    ]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    project
        .call(&["accept", "user", "--suite", "suite.yaml", "--yes"])
        .expect(0);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let wanted = "{name: Ann, id: 7, age: 31, seen: [{at: 1, by: z}]}";
    assert!(suite.contains(wanted), "{suite}");
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
}
