//! `validate`: problems as JSON with fixes that mend them, and files checked in their suite.

use serde_json::Value;

use crate::support::Project;

fn problems(project: &Project, args: &[&str], code: i32) -> Value {
    let call = project
        .call(&[&["validate", "--format", "json"], args].concat())
        .expect(code);
    serde_json::from_str(&call.stdout).expect("JSON")
}

/// The text with the fixes of its problems, applied from its end on; and how many there were.
fn mended(text: &str, problems: &Value) -> (String, usize) {
    let place = |line: &Value, column: &Value| {
        let (line, column) = (line.as_u64().unwrap(), column.as_u64().unwrap());
        let before: usize = text
            .split_inclusive('\n')
            .take(line as usize - 1)
            .map(str::len)
            .sum();
        let rest = &text[before..];
        before
            + rest
                .char_indices()
                .nth(column as usize - 1)
                .map_or(rest.len(), |(at, _)| at)
    };
    let fixes = problems["problems"].as_array().unwrap().iter();
    let mut fixes: Vec<(usize, usize, &str)> = fixes
        .filter_map(|problem| {
            let range = &problem["fix"].get("range")?;
            Some((
                place(&range["line"], &range["column"]),
                place(&range["end_line"], &range["end_column"]),
                problem["fix"]["replacement"].as_str()?,
            ))
        })
        .collect();
    fixes.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, replacement) in fixes.iter().rev() {
        text.replace_range(*start..*end, replacement);
    }
    (text, fixes.len())
}

#[test]
fn fixes_of_problems_mend_the_file() {
    let suite = "eval_suite:
  name: Fixes
  version: 1.0
  target: {type: echo}
  descripton: All of them are certain.
  vars: {who: you}
  config: {samples: \"2\", parallel_execution: yes}
  evals:
    - id: é\u{1F600}
      'inptu': {{ vars.who }}   # a template
      expected: {type: exakt, value: you}
      metadata: {dificulty: \"esy\"}
";
    let project = Project::with(&[("suite.yaml", suite)]);
    // The template hides what is behind it: the second round finds the rest.
    let mut text = suite.to_owned();
    let mut fixed = 0;
    for _ in 0..3 {
        project.write("suite.yaml", &text);
        let call = project.call(&["validate", "--format", "json", "suite.yaml"]);
        let found: Value = serde_json::from_str(&call.stdout).expect("JSON");
        let (next, fixes) = mended(&text, &found);
        (text, fixed) = (next, fixed + fixes);
    }
    insta::assert_snapshot!(text, @r#"
    eval_suite:
      name: Fixes
      version: "1.0"
      target: {type: echo}
      description: All of them are certain.
      vars: {who: you}
      config: {samples: 2, parallel_execution: true}
      evals:
        - id: é😀
          'input': "{{ vars.who }}"   # a template
          expected: {type: exact, value: you}
          metadata: {difficulty: "easy"}
    "#);
    assert_eq!(fixed, 9);
    let found = problems(&project, &["suite.yaml"], 0);
    assert_eq!(
        (&found["errors"], &found["warnings"]),
        (&0.into(), &0.into())
    );
}

#[test]
fn problems_as_json_fit_their_schema() {
    let project = Project::with(&[(
        "a.yaml",
        "- id: a\n  inptu: x\n  expected: y\n- id: a\n  input: x\n  expected: y\n- {id: b, input: x, expected: y, grader: nobody}\n",
    )]);
    let found = problems(&project, &["a.yaml", "gone.yaml"], 2);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/problems.schema.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&found)
        .map(|e| e.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap(), @r#"
    {
      "errors": 2,
      "format_version": 1,
      "problems": [
        {
          "code": "EH0101",
          "file": "gone.yaml",
          "fix": null,
          "help": null,
          "message": "cannot read `gone.yaml`: there is no such file",
          "range": null,
          "related": [],
          "severity": "error",
          "slug": "unreadable"
        },
        {
          "code": "EH0201",
          "file": "a.yaml",
          "fix": {
            "range": {
              "column": 3,
              "end_column": 8,
              "end_line": 2,
              "line": 2
            },
            "replacement": "input"
          },
          "help": "did you mean `input`?",
          "message": "unknown key `inptu`",
          "range": {
            "column": 3,
            "end_column": 8,
            "end_line": 2,
            "line": 2
          },
          "related": [],
          "severity": "error",
          "slug": "unknown-key"
        },
        {
          "code": "EH0409",
          "file": "a.yaml",
          "fix": null,
          "help": "define it under `graders:` in the suite",
          "message": "unknown grader `nobody`",
          "range": {
            "column": 42,
            "end_column": 48,
            "end_line": 7,
            "line": 7
          },
          "related": [],
          "severity": "warning",
          "slug": "unknown-grader"
        }
      ],
      "warnings": 1
    }
    "#);
}

#[test]
fn uncertain_fixes_are_left_out() {
    let files = [
        // Two names are near, the rest of the line belongs to the value, a text is no number.
        "thresholds: {pass_at_1: 0.5, tokens_outptu: 1, flakey_sample: 0, judge_repair_rat: 1}\n",
        "- id: a\n  input: {{ vars.x }} and more\n  expected: y\n",
        "- id: a\n  input: {q: {{ row[\"q\"] }}}\n  expected: y\n",
        "- id: a\n  input: x\n  expected: y\n  config: {samples: two, retries: '1.5'}\n",
    ];
    for (at, text) in files.iter().enumerate() {
        let project = Project::with(&[("f.yaml", text)]);
        let call = project.call(&["validate", "--format", "json", "f.yaml"]);
        let found: Value = serde_json::from_str(&call.stdout).expect("JSON");
        let fixes = found["problems"].as_array().unwrap().iter();
        let fixes: Vec<&Value> = fixes
            .map(|problem| &problem["fix"])
            .filter(|fix| !fix.is_null())
            .collect();
        let certain = if at == 0 { fixes.len() } else { 0 };
        assert_eq!(fixes.len(), certain, "{found:#}");
    }
}

#[test]
fn unknown_metric_is_reported_with_other_problems() {
    let suite = "eval_suite:\n  name: s\n  target: {type: echo}\n  thresholds: {nonsense: 0.5, pass@1: 90}\n  evals:\n    \
                 - {id: a, prompt: x, expected: x}\n    - {id: a, prompt: x, expected: x}\n";
    let project = Project::with(&[("eval-suite.yaml", suite)]);
    let call = project.call(&["validate", "--format", "json"]).expect(2);
    let found: Value = serde_json::from_str(&call.stdout).expect("JSON");
    let problems = found["problems"].as_array().expect("a list");
    let messages: Vec<&str> = problems
        .iter()
        .filter_map(|problem| problem["message"].as_str())
        .collect();
    let named = |words: &str| messages.iter().any(|message| message.contains(words));
    assert!(
        named("`nonsense` is not a metric")
            && named("a threshold on `pass@1` must be between 0 and 1, not 90")
            && named("`a`"),
        "{messages:#?}"
    );
}

#[test]
fn secrets_of_an_address_are_masked() {
    let suite = "eval_suite:\n  name: s\n  target: {type: http, base_url: \"htp://me:hunter2@h/v1?api_key=sk-SECRET\"}\n  \
                 evals: [{id: a, prompt: x, expected: x}]\n";
    let project = Project::with(&[("eval-suite.yaml", suite)]);
    let call = project.call(&["validate"]).expect(2);
    let shown = call.stdout + &call.stderr;
    assert!(
        shown.contains("EH0427") && shown.contains("htp://**********@h/v1?api_key=*********"),
        "{shown}"
    );
    assert!(!shown.contains("hunter2") && !shown.contains("SECRET"), "{shown}");
}

/// A suite above its evals, with variables and graders that they use.
fn tree() -> Project {
    Project::with(&[
        (
            "evals/eval-suite.yaml",
            "eval_suite:\n  name: Tree\n  target: {type: echo}\n  vars: {who: you}\n  graders: {$ref: config/graders.yaml}\n  evals: [{$ref: 'cases/*.yaml'}]\n",
        ),
        (
            "evals/config/graders.yaml",
            "graders: {same: {type: code, config: {method: exact_match}}}\n",
        ),
        (
            "evals/cases/a.yaml",
            "- {id: a, input: '{{ vars.who }}', expected: you, grader: same}\n",
        ),
        (
            "evals/cases/deep/b.yaml",
            "- {id: b, input: '{{ vars.who }}', expected: you, grader: same}\n",
        ),
    ])
}

#[test]
fn files_are_checked_in_the_suite_that_refers_to_them() {
    let project = tree();
    for files in [
        &["evals/cases/a.yaml"][..],
        &["evals/config/graders.yaml"],
        &[
            "evals/cases/a.yaml",
            "evals/config/graders.yaml",
            "evals/eval-suite.yaml",
        ],
        &["evals/cases/*.yaml"],
    ] {
        let found = problems(&project, files, 0);
        assert_eq!(found["problems"], Value::Array(vec![]), "{files:?}");
    }
    // Nothing refers to this one.
    let found = problems(&project, &["evals/cases/deep/b.yaml"], 0);
    assert_eq!(found["warnings"], 2, "{found:#}");
    // Problems of other files of the suite are not those of this one.
    project.write("evals/cases/c.yaml", "- {id: c, inptu: x, expected: y}\n");
    let found = problems(&project, &["evals/cases/a.yaml"], 0);
    assert_eq!(found["errors"], 0, "{found:#}");
    let found = problems(&project, &["evals"], 2);
    let codes: Vec<&str> = found["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["slug"].as_str().unwrap())
        .collect();
    assert_eq!(
        codes,
        ["unknown-key", "undefined-variable", "unknown-grader"],
        "{found:#}"
    );
    // An id that both files have is a problem of both.
    project.write(
        "evals/cases/c.yaml",
        "- {id: a, input: '{{ vars.who }}', expected: you}\n",
    );
    for file in ["evals/cases/a.yaml", "evals/cases/c.yaml"] {
        let found = problems(&project, &[file], 2);
        assert_eq!(found["problems"][0]["slug"], "duplicate-id", "{found:#}");
    }
    // A suite that can't be read refers to nothing.
    project.write("evals/eval-suite.yaml", "eval_suite: [\n");
    let found = problems(&project, &["evals/cases/a.yaml"], 0);
    assert_eq!(found["warnings"], 2, "{found:#}");
}

#[test]
fn bundled_tree_is_checked_without_a_word() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/evals");
    let project = Project::new();
    let found = problems(&project, &[root], 0);
    assert_eq!(found["problems"], Value::Array(vec![]), "{found:#}");
    let files: Vec<std::path::PathBuf> = ["capability", "regression", "config", "phases"]
        .iter()
        .flat_map(|folder| std::path::Path::new(root).join(folder).read_dir().unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    for file in files {
        let found = problems(&project, &[&file.to_string_lossy()], 0);
        assert_eq!(
            found["problems"],
            Value::Array(vec![]),
            "{}",
            file.display()
        );
    }
}
