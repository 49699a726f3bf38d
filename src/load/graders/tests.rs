use std::collections::BTreeMap;
use std::fs;

use crate::load::{LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, load};
use crate::model::{CaseGrading, CodeGrader, Combine, GraderKind, GraderType};

fn loaded(text: &str, overrides: LoadOverrides) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::write(cwd.join("suite.yaml"), text).expect("written");
    load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose: PlanPurpose::Run,
        overrides,
        env: BTreeMap::from([("TOKEN_X".to_owned(), "secret-value".to_owned())]),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

fn grading(case: &str) -> CaseGrading {
    let text = format!(
        "eval_suite:\n  name: s\n  target: {{type: command, command: [cat]}}\n  evals:\n    - {{id: a, input: x, {case}}}\n"
    );
    let loaded = loaded(&text, LoadOverrides::default());
    let words: Vec<_> = loaded.problems.iter().map(|p| p.message.clone()).collect();
    let plan = loaded.plan.unwrap_or_else(|| panic!("{case}: {words:?}"));
    plan.evals[0].cases.get(0).unwrap().unwrap().grading.clone()
}

#[test]
fn the_method_is_inferred_from_the_expectation_and_the_settings() {
    let table = [
        ("expected: y", "exact_match"),
        ("expected: {type: contains, value: y}", "contains"),
        ("expected: {type: pattern, value: y}", "regex"),
        ("expected: {type: numeric, value: 1}", "numeric"),
        ("expected: {type: json, value: {a: 1}}", "json"),
        (
            "expected: {type: structural, value: {a: 1}}",
            "structural_match",
        ),
        (
            "expected: {type: functional, value: {function_name: f, test_cases: [{input: [1], output: 1}]}}",
            "function_output",
        ),
        ("expected: y, grader: {type: code}", "exact_match"),
        (
            "expected: y, grader: {type: code, config: {case_sensitive: false}}",
            "exact_match",
        ),
        (
            "expected: y, grader: {type: code, config: {pattern: y}}",
            "regex",
        ),
        (
            "grader: {type: code, config: {asserts: ['assert f() == 1']}}",
            "code_execution",
        ),
        (
            "grader: {type: code, config: {command: [sh, -c, 'true']}}",
            "command",
        ),
        (
            "workspace: {}, grader: {type: code, config: {must_touch: a}}",
            "diff",
        ),
        (
            "workspace: {}, grader: {type: code, config: {command: [sh, t.sh], results: tap}}",
            "workspace_tests",
        ),
        (
            "grader: {type: code, config: {must_include: a}}",
            "contains",
        ),
        ("grader: {type: code, config: {min: 3}}", "numeric"),
        (
            "expected: {type: functional, value: {test_cases: [{args: [1], expected: 1}]}}, grader: {type: code, config: {function_name: f}}",
            "function_output",
        ),
    ];
    for (case, method) in table {
        let grading = grading(case);
        assert_eq!(grading.graders[0].kind.method(), method, "{case}");
        assert!(grading.graders[0].inferred, "{case}");
    }
    assert!(
        !grading("expected: y, grader: {type: code, config: {method: exact_match}}").graders[0]
            .inferred
    );
}

#[test]
fn alternatives_of_contains_are_graders_of_which_any_will_do() {
    let any = grading("expected: {type: contains, value: [a, b], alternatives: [c]}");
    assert_eq!((any.graders.len(), any.combine), (2, Combine::Any));
    let none = grading(
        "expected: {type: contains, value: a, alternatives: [c]}, grader: {type: code, negate: true}",
    );
    assert_eq!((none.graders.len(), none.combine), (2, Combine::All));
}

#[test]
fn the_wall_time_of_function_calls_follows_from_their_number() {
    let calls = ["{args: [1], expected: 1}"; 4].join(", ");
    let GraderKind::Code(CodeGrader::FunctionOutput(f)) = grading(&format!(
        "grader: {{type: code, config: {{function_name: f, test_cases: [{calls}]}}}}"
    ))
    .graders[0]
        .kind
        .clone()
    else {
        panic!("another grader")
    };
    assert_eq!(
        (f.timeout_per_case.as_secs(), f.limits.wall.as_secs()),
        (5, 20)
    );
}

const NAMED: &str = "eval_suite:\n  name: s\n  target: {type: echo}\n  env: [TOKEN_X]\n  graders:\n    graders:\n      \
    judge: {type: model, config: {model: m, base_url: 'http://127.0.0.1:9/v1', rubric: clarity}}\n    defaults: {model: judge}\n    \
    rubrics: {clarity: Is it clear?}\n  evals:\n    - {id: a, input: 'say {{ env.TOKEN_X }}', expected: y}\n    \
    - {id: b, input: x, grader: judge}\n";

#[test]
fn a_grader_type_takes_the_default_where_a_case_has_none_of_it() {
    let plan = loaded(
        NAMED,
        LoadOverrides {
            grader_type: Some(GraderType::Model),
            ..LoadOverrides::default()
        },
    );
    let plan = plan.plan.expect("a plan");
    for eval in &plan.evals {
        let case = eval.cases.get(0).unwrap().unwrap();
        let grader = &case.grading.graders[0];
        assert_eq!(grader.name.as_deref(), Some("judge"));
        assert!(matches!(&grader.kind, GraderKind::Model(judge) if judge.rubric == "Is it clear?"));
    }
    assert_eq!(plan.secrets, ["secret-value"]);
}

#[test]
fn built_in_presets_speak_of_the_largest_k_of_the_suite() {
    let text = NAMED.replace("  env:", "  config: {k: [1, 5]}\n  env:");
    let overrides = LoadOverrides {
        preset: Some("production".into()),
        thresholds: vec!["pass@1=0.5".into(), "latency_p95_ms=900".into()],
        ..LoadOverrides::default()
    };
    let plan = loaded(&text, overrides).plan.expect("a plan");
    let lines: Vec<String> = plan
        .gate
        .thresholds
        .iter()
        .map(|t| format!("{} {:?} {}", t.metric, t.bound, t.value))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    pass_at_5 Min 0.99
    pass_hat_5 Min 0.8
    pass_at_1 Min 0.5
    latency_p95_ms Max 900
    ");
    assert_eq!(plan.settings.ks, [1, 5]);
}

#[test]
fn what_changes_the_grading_changes_its_hash_alone() {
    let hashes = |case: &str| {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: command, command: [cat]}}\n  evals:\n    - {{id: a, input: x, {case}}}\n"
        );
        let plan = loaded(&text, LoadOverrides::default())
            .plan
            .expect("a plan");
        let case = plan.evals[0].cases.get(0).unwrap().unwrap();
        (case.input_hash, case.grading_hash)
    };
    let (input, grading) = hashes("expected: y");
    assert_eq!(
        hashes("name: other, expected: {type: exact, value: y}"),
        (input, grading)
    );
    let (same, other) = hashes("expected: z");
    assert_eq!(same, input);
    assert_ne!(other, grading);
}

fn complaints(executors: &str, config: &str) -> String {
    let text = format!(
        "eval_suite:\n  name: s\n  target: {{type: echo}}\n  executors: {executors}\n  evals:\n    - {{id: a, input: x, grader: {{type: code, config: {config}}}}}\n"
    );
    let loaded = loaded(&text, LoadOverrides::default());
    let told: Vec<String> = loaded
        .problems
        .iter()
        .map(|p| {
            let hint = p
                .hint
                .as_ref()
                .map(|hint| format!(" | {hint}"))
                .unwrap_or_default();
            let at = p
                .span
                .and_then(|span| text.get(span.start as usize..span.end as usize))
                .unwrap_or_default();
            format!("{} at `{at}`: {}{hint}", p.code.slug(), p.message)
        })
        .collect();
    told.join("; ")
}

#[test]
fn return_limit_is_serialised_only_where_it_is_set() {
    let serialised = |more: &str| {
        let config =
            format!("{{function_name: f, test_cases: [{{args: [1], expected: 1}}]{more}}}");
        let grading = grading(&format!("grader: {{type: code, config: {config}}}"));
        serde_json::to_string(&grading).unwrap()
    };
    // The hash of a grading that no key changed is that of earlier versions.
    assert!(!serialised("").contains("return_mb"), "{}", serialised(""));
    assert!(serialised(", max_return_mb: 16").contains("\"return_mb\":16"));
}

#[test]
fn a_tokenizer_that_a_measure_lacks_is_an_error() {
    let of = |metric: &str, tokenizer: &str| {
        let config =
            format!("{{method: similarity, value: a b, metric: {metric}, tokenizer: {tokenizer}}}");
        complaints("{}", &config)
    };
    for (metric, tokenizers) in [
        ("token_f1", &["words", "mixed", "characters", "icu"][..]),
        ("rouge_l", &["words", "mixed", "characters", "icu"]),
        (
            "bleu",
            &["words", "13a", "mixed", "characters", "icu", "zh"],
        ),
    ] {
        for tokenizer in tokenizers {
            assert_eq!(of(metric, tokenizer), "", "{metric} {tokenizer}");
        }
    }
    insta::assert_snapshot!([
        of("levenshtein", "words"),
        of("edit_rate", "icu"),
        of("token_f1", "zh"),
        of("rouge_l", "13a"),
        of("bleu", "character"),
        of("bleu", "char"),
        of("rouge_l", "jieba"),
    ].join("\n"), @"
    grader-conflict at `tokenizer`: `tokenizer` sets how texts are split into words, but `levenshtein` does not compare words | remove it, or use `metric: token_f1`, `rouge_l` or `bleu`
    grader-conflict at `tokenizer`: `tokenizer` sets how texts are split into words, but `edit_rate` does not compare words | remove it, or use `metric: token_f1`, `rouge_l` or `bleu`
    grader-conflict at `tokenizer`: the tokenizer `zh` belongs to `bleu`, and `token_f1` does not support it | `token_f1` supports words, mixed, characters, icu
    grader-conflict at `tokenizer`: the tokenizer `13a` belongs to `bleu`, and `rouge_l` does not support it | `rouge_l` supports words, mixed, characters, icu
    unknown-value at `character`: `character` is not a valid value of `tokenizer`: expected one of `words`, `13a`, `mixed`, `characters`, `icu`, `zh` | did you mean `characters`?
    unknown-value at `char`: `char` is not a valid value of `tokenizer`: expected one of `words`, `13a`, `mixed`, `characters`, `icu`, `zh`
    unknown-value at `jieba`: `jieba` is not a valid value of `tokenizer`: expected one of `words`, `13a`, `mixed`, `characters`, `icu`, `zh`
    ");
}

const C: &str = "{c: {file: main.c, compile: [gcc, main.c], run: [./a.out], timeout_seconds: 3}}";

#[test]
fn executors_are_names_that_someone_defines() {
    let ok = |config: &str| assert_eq!(complaints(C, config), "", "{config}");
    ok("{executor: c, stdio: [{input: '1', output: '2'}]}");
    ok("{executor: js, asserts: ['assert(f() === 1)'], tests: asserts}");
    ok("{executor: sqlite, rows: [[1, x, null]], ordered: true, tests: rows}");
    ok("{executor: sh, test: '[ 1 = 1 ]'}");
    ok("{executor: node, function_name: $f, test_cases: [{args: [1], expected: 1}]}");
    ok(
        "{stdio: [{stdin: a, expected: b, args: [-v], exit_code: 2}], compare: tokens, tolerance: 0.1, tests: stdin}",
    );
    let lines = [
        complaints(C, "{executor: javscript, stdio: [{output: x}]}"),
        complaints(C, "{executor: cobol, stdio: [{output: x}]}"),
        complaints(C, "{executor: c, asserts: ['assert 1']}"),
        complaints(C, "{executor: sql, stdio: [{output: x}]}"),
        complaints(C, "{rows: [[1]]}"),
        complaints(C, "{executor: sql, rows: [[1, 2], [3]]}"),
        complaints(C, "{executor: sql, rows: [[[1]]]}"),
        complaints(C, "{executor: js, asserts: ['f()']}"),
        complaints(C, "{tests: stdin, asserts: ['assert f()']}"),
        complaints(C, "{stdio: [{output: x}], tolerance: 0.1}"),
        complaints(
            C,
            "{executor: bash, function_name: f, test_cases: [{args: [1], expected: 1}]}",
        ),
        complaints(
            C,
            "{executor: js, function_name: f, test_cases: [{kwargs: {a: 1}, expected: 1}]}",
        ),
        complaints("{python: {file: a, run: [x]}}", "{stdio: [{output: x}]}"),
        complaints(
            "{d: {file: a/b, run: ['']}}",
            "{executor: d, stdio: [{output: x}]}",
        ),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    unknown-executor at `javscript`: unknown executor `javscript` | did you mean `javascript`?
    unknown-executor at `cobol`: unknown executor `cobol` | the built-in executors are python, javascript, typescript, bash, sql, c, cpp, csharp, go, haskell, java, kotlin, lua, perl, php, r, ruby, rust; define others under `executors:` in the suite
    grader-conflict at `asserts`: programs of `executor: c` can't be tested by `asserts` | test them with `test:` or `stdio:`
    grader-conflict at `stdio`: programs of `executor: sql` can't be tested by `stdio` | test them with `rows:` or `reference:`
    grader-conflict at `rows`: programs of `executor: python` can't be tested by `rows` | test them with `test:`, `asserts:` or `stdio:`
    bad-shape at `[3]`: this row has 1 cells where 2 are expected
    bad-shape at `[[1]]`: [1] is not an SQLite value | write null, a number, a text, true or false for 1 and 0, or {"$bytes": "00ff"}
    grader-incomplete at `'f()'`: "f()" asserts nothing, so it would always pass | write `assert(...)` or `assert.strictEqual(..., ...)`; put code that prepares the tests under `setup:`
    grader-conflict at `tests`: `tests: stdin` does not fit `asserts`, which is a different kind of tests
    grader-conflict at `tolerance`: `tolerance` applies only with `compare: tokens` and rows
    grader-conflict at `bash`: `function_output` calls functions of Python, JavaScript and TypeScript, not of bash | `method: code_execution` with `stdio:` runs whole programs
    grader-conflict at `{kwargs: {a: 1}, expected: 1}`: call 1 has `kwargs`, which JavaScript does not support | pass an object as the last of `args`
    bad-format at `python`: `python` is a name of the built-in executor `python` | choose another name
    bad-path at `a/b`: `file` must be a name without a folder: each program gets a separate folder | for example `main.c`; bad-command at `['']`: `run` has no program; unknown-executor at `d`: unknown executor `d` | the built-in executors are python, javascript, typescript, bash, sql, c, cpp, csharp, go, haskell, java, kotlin, lua, perl, php, r, ruby, rust; define others under `executors:` in the suite
    "#);
}

#[test]
fn an_executor_is_part_of_what_tells_gradings_apart() {
    let hash = |executors: &str| {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: echo}}\n  executors: {executors}\n  evals:\n    - {{id: a, input: x, grader: {{type: code, config: {{executor: c, stdio: [{{output: x}}]}}}}}}\n"
        );
        let plan = loaded(&text, LoadOverrides::default())
            .plan
            .expect("a plan");
        plan.evals[0].cases.get(0).unwrap().unwrap().grading_hash
    };
    assert_eq!(hash(C), hash(C));
    assert_ne!(hash(C), hash(&C.replace("gcc, main.c", "gcc, -O2, main.c")));
    assert_ne!(
        hash(C),
        hash(&C.replace("timeout_seconds: 3", "timeout_seconds: 4"))
    );
    // How to get it, and where it lies, are no part of it.
    assert_eq!(
        hash(C),
        hash(&C.replace(
            "timeout_seconds: 3",
            "timeout_seconds: 3, hint: apt, readable: [/opt/c]"
        ))
    );
}

#[test]
fn settings_of_workspace_graders_are_checked_where_they_are_written() {
    let table = [
        (
            "",
            "method: diff, max_files: 1",
            "`diff` needs a workspace, but the case has none",
            "{method: diff, max_files: 1}",
        ),
        (
            "",
            "method: files, files: {a: {exists: true}}",
            "`files` needs a workspace, but the case has none",
            "{method: files, files: {a: {exists: true}}}",
        ),
        (
            "",
            "method: workspace_tests, command: [sh]",
            "`workspace_tests` needs a workspace, but the case has none",
            "{method: workspace_tests, command: [sh]}",
        ),
        (
            "workspace: {}, ",
            "method: diff",
            "`diff` has no rule, so every change would pass",
            "{method: diff}",
        ),
        (
            "workspace: {}, ",
            "must_touch: [a, 'b[']",
            "`b[` is not a glob",
            "'b['",
        ),
        (
            "workspace: {}, ",
            "must_touch: /etc",
            "`/etc` is not a glob: paths of a workspace are relative",
            "/etc",
        ),
        (
            "workspace: {}, ",
            "max_files: 1, tests: [a]",
            "`tests` has no effect without `no_weakened_tests: true`",
            "tests",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {a: {}}",
            "`a` has no condition",
            "{}",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {../a: {exists: true}}",
            "`../a` has an empty part, `.` or `..`",
            "{exists: true}",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {a: {exists: true, absent: true}}",
            "`exists` and `absent` of `a` contradict each other",
            "absent",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {a: {absent: true, contains: x}}",
            "`a` must not exist, so it can't meet the other conditions",
            "{absent: true, contains: x}",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {a: {matches: '('}}",
            "not a regular expression",
            "'('",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {a: {json_schema: {type: 3}}}",
            "not a valid JSON Schema",
            "{type: 3}",
        ),
        (
            "workspace: {}, ",
            "method: files, files: {a: {structural: '{{any_thing}}'}}",
            "any_thing",
            "'{{any_thing}}'",
        ),
        (
            "workspace: {}, ",
            "command: [sh, t.sh], fail_to_pass: [a]",
            "`fail_to_pass` needs results of single tests, but the exit code is all there is",
            "fail_to_pass",
        ),
        (
            "workspace: {}, ",
            "command: [make], results: pytest",
            "`results: pytest` needs a command that starts this runner itself",
            "results",
        ),
        (
            "workspace: {}, ",
            "command: [pytest], results_path: a.xml",
            "`results_path` applies only to `results: junit` and `results: tap`",
            "results_path",
        ),
        (
            "workspace: {}, ",
            "command: [make], results: junit, results_path: ../a",
            "`results_path` must be a glob of files below",
            "results_path",
        ),
        (
            "workspace: {}, ",
            "command: [java, '{{ junit }}', A], results_path: a.xml",
            "`results_path` has no effect with `{{ junit }}`",
            "results_path",
        ),
        (
            "workspace: {}, ",
            "command: [java, '{{ junit }}', A], results: tap",
            "`{{ junit }}` is the runner of `results: junit`",
            "[java, '{{ junit }}', A]",
        ),
        (
            "workspace: {}, ",
            "command: [pytest], fail_to_pass: [a], pass_to_pass: [b, a]",
            "`a` is in `fail_to_pass` and in `pass_to_pass`",
            "pass_to_pass",
        ),
        (
            "workspace: {}, ",
            "method: workspace_tests, command: [sh], pass_threshold: 0.5",
            "`pass_threshold` is used only by `score: share`",
            "pass_threshold",
        ),
        (
            "workspace: {}, ",
            "method: workspace_tests, command: [sh], all_pass: false",
            "no test has to pass",
            "all_pass",
        ),
        (
            "workspace: {}, ",
            "method: workspace_tests, command: [sh], files: {/a: x}",
            "`/a` is absolute",
            "x",
        ),
        (
            "workspace: {}, ",
            "method: workspace_tests, command: [sh], files: {dir: nowhere}",
            "nowhere",
            "nowhere",
        ),
        (
            "workspace: {}, ",
            "method: workspace_tests, command: ['']",
            "the command has no program",
            "['']",
        ),
        (
            "",
            "command: [sh], workspace: true",
            "`workspace: true` needs a workspace, but the case has none",
            "workspace",
        ),
        (
            "workspace: {}, ",
            "command: [sh], workspace: true, sandbox: true",
            "`sandbox: true` and `workspace: true` contradict each other",
            "sandbox",
        ),
        (
            "workspace: {}, ",
            "command: [sh], files: {a: x}",
            "`files` are written to the workspace, but this grader does not run in it",
            "files",
        ),
        (
            "workspace: {}, ",
            "command: [sh], verdict: json_file",
            "`verdict: json_file` is only for graders that run in the workspace",
            "verdict",
        ),
        (
            "workspace: {}, ",
            "command: [sh], workspace: true, files: {/a: x}",
            "`/a` is absolute",
            "x",
        ),
        (
            "workspace: {}, ",
            "command: [sh], workspace: true, metrics: [a]",
            "`metrics` require a JSON verdict",
            "metrics",
        ),
        (
            "workspace: {}, ",
            "command: [./none.sh], workspace: true",
            "the program `./none.sh` cannot be found",
            "[./none.sh]",
        ),
    ];
    let mut wrong = Vec::new();
    for (workspace, config, message, underlined) in table {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: command, command: [cat]}}\n  evals:\n    - {{id: a, input: x, {workspace}grader: {{type: code, \
             config: {{{config}}}}}}}\n"
        );
        let loaded = loaded(&text, LoadOverrides::default());
        let problems: Vec<(String, String)> = loaded
            .problems
            .iter()
            .map(|problem| {
                let at = problem.span.map(|span| loaded.sources.slice(span));
                (problem.message.clone(), at.unwrap_or_default().to_owned())
            })
            .collect();
        let fits = |(said, at): &(String, String)| said.contains(message) && at == underlined;
        if problems.len() != 1 || !problems.iter().all(fits) {
            wrong.push(format!("{config}: {problems:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_of_tests_are_part_of_the_grading_by_their_content() {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    let config = "method: workspace_tests, command: [sh, deep/a.sh], files: {dir: hidden}";
    let suite = format!(
        "eval_suite:\n  name: s\n  target: {{type: command, command: [cat]}}\n  workspace: {{}}\n  evals:\n    - {{id: a, input: x, grader: {{type: code, \
         config: {{{config}}}}}}}\n"
    );
    fs::write(cwd.join("suite.yaml"), suite).expect("written");
    fs::create_dir_all(cwd.join("hidden/deep")).expect("a folder");
    let mut hashes = Vec::new();
    for content in ["one", "two", "one"] {
        fs::write(cwd.join("hidden/deep/a.sh"), content).expect("written");
        let loaded = load(&LoadRequest {
            suite: "suite.yaml".into(),
            purpose: PlanPurpose::Run,
            cwd: cwd.clone(),
            cpus: 1,
            ..LoadRequest::default()
        });
        let plan = loaded.plan.expect("a plan");
        let case = plan.evals[0].cases.get(0).unwrap().unwrap().clone();
        let GraderKind::Code(CodeGrader::WorkspaceTests(tests)) = &case.grading.graders[0].kind
        else {
            panic!("another grader")
        };
        assert_eq!(tests.files[0].path, "deep/a.sh");
        assert_eq!(tests.files[0].content.as_slice(), content.as_bytes());
        hashes.push(case.grading_hash);
    }
    assert_eq!(hashes[0], hashes[2]);
    assert_ne!(hashes[0], hashes[1]);
}
