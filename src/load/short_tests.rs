//! Short forms load as their long ones, and what is wrong with them is said in their words.

use std::fs;

use crate::load::{LoadRequest, LoadedPlan, PlanPurpose, Severity, load};
use crate::model::{Case, GraderKind};

fn loaded(suite: &str, files: &[(&str, &str)]) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    loaded_in(&dir, suite, files)
}

fn loaded_in(dir: &tempfile::TempDir, suite: &str, files: &[(&str, &str)]) -> LoadedPlan {
    let cwd = dir.path().canonicalize().expect("a path");
    fs::write(cwd.join("suite.yaml"), suite).expect("written");
    for (name, text) in files {
        fs::write(cwd.join(name), text).expect("written");
    }
    load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose: PlanPurpose::Validate,
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

/// `line:column slug message | hint` of each problem.
fn told(loaded: &LoadedPlan) -> Vec<String> {
    let all = loaded.problems.sorted().into_iter();
    all.map(|problem| {
        let at = problem.span.map(|span| loaded.sources.position(span));
        let at = at.map_or_else(String::new, |at| format!("{}:{} ", at.line, at.column));
        let warns = if problem.severity == Severity::Warning {
            "warning "
        } else {
            ""
        };
        let hint = problem.hint.as_deref().map(|hint| format!(" | {hint}"));
        let slug = problem.code.slug();
        format!(
            "{at}{warns}{slug} {}{}",
            problem.message,
            hint.unwrap_or_default()
        )
    })
    .collect()
}

fn suite(evals: &str) -> String {
    format!("eval_suite:\n  name: s\n  target: {{type: echo}}\n  evals:\n{evals}")
}

/// The cases of a suite, without their places, below the kind and the id of their eval.
fn cases(text: &str, files: &[(&str, &str)]) -> Vec<(String, Case)> {
    // Rows are read again when their cases are wanted.
    let dir = tempfile::tempdir().expect("a folder");
    let loaded = loaded_in(&dir, text, files);
    let plan = loaded.plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{text}\n{:#?}", told(&loaded)));
    let mut all = Vec::new();
    for eval in &plan.evals {
        for case in eval.cases.all().expect("cases") {
            let eval = format!("{:?} {}", eval.info.kind, eval.info.id);
            let origin = String::new();
            let case = Case {
                origin,
                ..(*case).clone()
            };
            all.push((eval, case));
        }
    }
    all
}

#[test]
fn short_forms_load_as_their_long_forms() {
    let table = [
        (
            "prompt: x, expected: y",
            "input: {type: prompt, content: x}, expected: {type: exact, value: y}",
        ),
        (
            "prompt: {content: 'x {{ context.k }}', context: {k: 1}}, expected: y",
            "input: {type: prompt, content: 'x {{ context.k }}', context: {k: 1}}, expected: y",
        ),
        (
            "input: x, expected: 42",
            "input: x, expected: {type: exact, value: 42}",
        ),
        (
            "input: x, expected: 4.20",
            "input: x, expected: {type: exact, value: 4.20}",
        ),
        (
            "input: x, expected: true",
            "input: x, expected: {type: exact, value: true}",
        ),
        (
            "input: x, expected: [a, null, {type: b}]",
            "input: x, expected: {type: exact, value: [a, null, {type: b}]}",
        ),
        (
            "input: x, expected: []",
            "input: x, expected: {type: exact, value: []}",
        ),
        (
            "input: x, expected: {name: Ann, id: 7}",
            "input: x, expected: {type: exact, value: {name: Ann, id: 7}}",
        ),
        (
            "input: x, expected_output: 7",
            "input: x, expected: {type: exact, value: 7}",
        ),
        (
            "input: x, asserts: [assert f() == 1, assert g() == 2]",
            "input: x, grader: {type: code, config: {method: code_execution, asserts: [assert f() == 1, assert g() == 2]}}",
        ),
        (
            "input: x, asserts: 'assert f() == 1'",
            "input: x, grader: {type: code, config: {method: code_execution, executor: python, asserts: ['assert f() == 1']}}",
        ),
        (
            "input: x, grader: {type: code, config: {method: code_execution, language: javascript, asserts: 'assert(f())'}}",
            "input: x, grader: {type: code, config: {method: code_execution, executor: javascript, asserts: ['assert(f())']}}",
        ),
        (
            "input: x, grader: {judge: gpt-4o, rubric: Good?, votes: 3, temperature: 1, negate: true, metric: m, weight: 2, informative: false}",
            "input: x, grader: {type: model, config: {model: gpt-4o, rubric: Good?, votes: 3, temperature: 1}, negate: true, metric: m, weight: 2}",
        ),
        (
            "input: x, graders: [{judge: [gpt-4o, 'openai:b'], rubric: Good?}, {type: model, judge: gpt-4o, rubric: Bad?}]",
            "input: x, graders: [{type: model, config: {models: [gpt-4o, 'openai:b'], rubric: Good?}}, {type: model, config: {model: gpt-4o, rubric: Bad?}}]",
        ),
        (
            "prompt: x, baseline: Hello!",
            "current: {input: {type: prompt, content: x}}, baseline: {output: Hello!}",
        ),
        (
            "input: x, baseline: 4.5",
            "current: {input: x}, baseline: {output: 4.5}",
        ),
        (
            "input: {a: 1}, baseline: [1, {b: 2}]",
            "current: {input: {a: 1}}, baseline: {output: [1, {b: 2}]}",
        ),
        (
            "current: {prompt: x, execution: {type: echo}}, baseline: false",
            "test_case: {input: x, execution: {type: echo}}, baseline: {response: false}",
        ),
        (
            "input: {method: GET, endpoint: /x}, comparison: {type: exact}, baseline: {output: {a: 1}}",
            "current: {input: {method: GET, endpoint: /x}}, comparison: {type: exact}, baseline: {output: {a: 1}}",
        ),
    ];
    for (short, long) in table {
        let of = |keys: &str| cases(&suite(&format!("    - {{id: a, {keys}}}\n")), &[]);
        assert_eq!(of(short), of(long), "{short}");
    }
}

#[test]
fn short_forms_are_read_in_every_shape_of_an_eval() {
    let judged = "{judge: gpt-4o, rubric: Good?}";
    let files = [
        (
            "list.yaml",
            "- {id: a, prompt: x, expected: 1}\n- {id: b, prompt: x, baseline: 1}\n",
        ),
        (
            "capability.yaml",
            "capability_eval: {id: c, prompt: x, asserts: assert f()}\n",
        ),
        (
            "regression.yaml",
            "regression_eval: {id: d, prompt: x, baseline: y}\n",
        ),
        (
            "document.yaml",
            "metadata: {id: e}\ninput: x\nbaseline: y\n",
        ),
        (
            "file.yaml",
            "metadata: {id: f}\ngrader: {judge: gpt-4o, rubric: Good?}\ntest_cases:\n  - {id: g, prompt: x}\n  - {id: h, prompt: x, expected: [1]}\n  - {id: i, prompt: x, asserts: assert f()}\n",
        ),
        (
            "rows.yaml",
            "metadata: {id: j}\ndataset: {path: rows.jsonl, case: {id: '{{ row.id }}', prompt: 'say {{ row.q }}', expected: '{{ row.a }}'}}\n",
        ),
        (
            "code.yaml",
            "metadata: {id: k}\ndataset: {path: code.csv, case: {id: '{{ row.id }}', prompt: '{{ row.q }}', asserts: '{{ row.asserts }}'}}\n",
        ),
        (
            "rows.jsonl",
            "{\"id\": \"l\", \"q\": 1, \"a\": \"text\"}\n{\"id\": \"m\", \"q\": 2, \"a\": [1, 2]}\n{\"id\": \"n\", \"q\": 3, \"a\": 7}\n",
        ),
        ("code.csv", "id,q,asserts\no,q,assert f()\n"),
    ];
    let text = format!(
        "eval_suite:\n  name: s\n  target: {{type: echo}}\n  graders: {{graders: {{g: {judged}}}, defaults: {{model: g}}}}\n  evals:\n    - $ref: '*.yaml'\n    - {{id: p, prompt: x, expected: {{type: semantic, value: y}}}}\n"
    );
    // The suite is one of the files of the glob, which passes it over.
    let found = cases(&text, &files);
    let graded: Vec<String> = found
        .iter()
        .map(|(eval, case)| {
            let graders = case
                .grading
                .graders
                .iter()
                .map(|grader| match &grader.kind {
                    GraderKind::Code(code) => code.method(),
                    GraderKind::Model(_) => "judge",
                    GraderKind::Human { .. } => "human",
                });
            let graders: Vec<&str> = graders.collect();
            let expected = case.expected.as_ref();
            let expected = expected.map_or("-".to_owned(), ToString::to_string);
            format!("{eval} {}: {} {expected}", case.id, graders.join(" "))
        })
        .collect();
    insta::assert_snapshot!(graded.join("\n"), @r#"
    Capability c c: code_execution -
    Capability k o: code_execution -
    Regression e e: structural_match "y"
    Capability f g: judge -
    Capability f h: judge [1]
    Capability f i: code_execution -
    Capability a a: exact_match 1
    Regression b b: structural_match 1
    Regression d d: structural_match "y"
    Capability j l: exact_match "text"
    Capability j m: exact_match [1,2]
    Capability j n: exact_match 7
    Capability p p: judge "y"
    "#);
}

#[test]
fn errors_of_short_forms_say_what_to_write() {
    let table = [
        "prompt: x, input: x, expected: 1",
        "prompt: {type: file, content: x}, expected: 1",
        "prompt: [x], expected: 1",
        "prompt: x, expected: {}",
        "prompt: x, expected: {contains: x}",
        "prompt: x, expected: {type: user, name: Ann}",
        "prompt: x, asserts: [assert f()], expected: 1",
        "prompt: x, asserts: [assert f()], grader: {judge: gpt-4o, rubric: x}",
        "prompt: x, asserts: [assert f(1, 2) == 3]",
        "prompt: x, asserts: []",
        "prompt: x, asserts: 5",
        "prompt: x, grader: {judge: gpt-4o, config: {rubric: x}}",
        "prompt: x, grader: {judge: gpt-4o, model: gpt-4o, rubric: x}",
        "prompt: x, grader: {type: code, judge: gpt-4o}",
        "prompt: x, grader: {judge: [], rubric: x}",
        "prompt: x, current: {input: x}, baseline: y",
        "input: x, test_case: {execution: {type: echo}}, baseline: y",
        "prompt: x, baseline: {name: Ann}",
    ];
    let mut all = String::new();
    for keys in table {
        let loaded = loaded(&suite(&format!("    - {{id: a, {keys}}}\n")), &[]);
        all.push_str(&format!("{keys}\n"));
        told(&loaded)
            .iter()
            .for_each(|one| all.push_str(&format!("  {one}\n")));
    }
    insta::assert_snapshot!(all, @r#"
    prompt: x, input: x, expected: 1
      5:15 both-spellings use `prompt` or `input`, not both
    prompt: {type: file, content: x}, expected: 1
      5:24 unknown-key `prompt` has no `type`: it is always a prompt | for any other type, write `input: {type: ...}`
    prompt: [x], expected: 1
      5:15 wrong-type `prompt`: expected a text, found a list
    prompt: x, expected: {}
      5:26 missing-key `expected` lacks the key `type` | add `type`: one of `exact`, `contains`, `pattern`, `semantic`, `functional`, `numeric`, `json`, `structural`; a literal map is `{type: exact, value: {...}}`
    prompt: x, expected: {contains: x}
      5:26 missing-key `expected` lacks the key `type` | write `{type: contains, ...}`
    prompt: x, expected: {type: user, name: Ann}
      5:43 unknown-value `user` is not a valid value of `type`: expected one of `exact`, `contains`, `pattern`, `semantic`, `functional`, `numeric`, `json`, `structural` | a literal map is `{type: exact, value: {...}}`
    prompt: x, asserts: [assert f()], expected: 1
      5:26 both-spellings use `asserts` or `expected`, not both | `asserts` run the output's code, and `expected` is compared with its text; keep one, or write the asserts as `{type: code, config: {asserts: [...]}}` under `graders:`
    prompt: x, asserts: [assert f()], grader: {judge: gpt-4o, rubric: x}
      5:26 both-spellings use `asserts` or `grader`, not both | write the asserts as `{type: code, config: {asserts: [...]}}` under `graders:`, beside the other graders
      5:81 unknown-rubric unknown rubric `x` | define it under `graders: {rubrics: ...}` in the suite, or write the criteria here
    prompt: x, asserts: [assert f(1, 2) == 3]
      5:48 grader-incomplete "2) == 3" asserts nothing, so it would always pass | in `[...]`, a comma ends an element: put quotes around each assert
    prompt: x, asserts: []
      5:26 grader-incomplete `code_execution` has no tests, so it would test nothing | add `test:`, `asserts:` or `stdio:`
    prompt: x, asserts: 5
      5:35 wrong-type `asserts`: expected a text, found the number `5` | put quotes around it
    prompt: x, grader: {judge: gpt-4o, config: {rubric: x}}
      5:50 unknown-key unknown key `config` | beside `judge`, settings are written without `config:`
    prompt: x, grader: {judge: gpt-4o, model: gpt-4o, rubric: x}
      5:50 unknown-key unknown key `model` | the model is `judge:`
    prompt: x, grader: {type: code, judge: gpt-4o}
      5:41 unknown-value `type` must be `model`, not `code`
    prompt: x, grader: {judge: [], rubric: x}
      5:34 missing-key the judge has no `model` | add `model: "openai:gpt-4o-mini"`, or list several under `models:`
      5:54 unknown-rubric unknown rubric `x` | define it under `graders: {rubrics: ...}` in the suite, or write the criteria here
    prompt: x, current: {input: x}, baseline: y
      5:15 both-spellings use `prompt` or `current`, not both | put the input under `current:`, which may also have an `execution`
    input: x, test_case: {execution: {type: echo}}, baseline: y
      5:15 both-spellings use `input` or `test_case`, not both | put the input under `current:`, which may also have an `execution`
    prompt: x, baseline: {name: Ann}
      5:37 unknown-key unknown key `name` | a known-good map is written as `baseline: {output: {...}}`
    "#);
}

/// The guesses of somebody who knows other tools, and of somebody who is one level off.
#[test]
fn errors_of_misplaced_keys_say_where_they_belong() {
    let evals = [
        "{name: capital, prompt: x, expected: Paris}",
        "{name: capital, metadata: {id: a}, prompt: x, expected: Paris}",
        "{id: a, input: x, grader: {type: model, model: gpt-4o, rubric: Good?}}",
        "{id: a, input: x, grader: {type: code, asserts: [assert f()]}}",
        "{id: a, input: x, grader: {type: code, config: {method: code_execution, lang: python, asserts: [assert f()]}}}",
        "{id: a, input: x, tests: [assert f()]}",
        "{id: a, input: x, value: {test: x}}",
        "{id: a, input: x, rubric: Good?, model: gpt-4o}",
        "{id: a, input: x, answer: y}",
        "{id: a, question: x, expected: y}",
        "{id: a, vars: {q: x}, expected: y}",
        "{id: a, input: x, expected: y, tags: [a], samples: 3, target: x}",
        "{id: a, input: x, expected: {type: contains, must_include: [a]}}",
        "{id: a, input: x, baseline: y, expected: y}",
        "{id: a, input: x, baseline: y, execution: {type: echo}}",
        "{id: a, baseline: y}",
        "{id: a, expected: y}",
        "{id: a, name: n, test_cases: [{id: b, input: x, expected: y}]}",
        "{metadata: {id: a}, test_cases: [{id: b, input: x, expected: y, weight: 2}]}",
        "{id: a, input: x, expected: {type: functional, value: assert f()}}",
        "{id: a, input: x, expected: {type: functional, value: {test: assert f()}}}",
        "{id: a, current: Say hello, baseline: y}",
        "{metadata: {id: a}, dataset: {path: rows.jsonl}}",
        "{metadata: {id: a}, dataset: {path: rows.txt, case: {id: b, input: x, expected: y}}}",
        "{}",
    ];
    let suites = [
        "eval_suite:\n  name: s\n  model: gpt-4o\n  samples: 3\n  evals: [{id: a, input: x, expected: y}]\n",
        "eval_suite:\n  name: s\n  target: {type: echo}\n  regressions: []\n  tests: []\n  evals: [{id: a, input: x, expected: y}]\n",
        "name: s\nevals: [{id: a, input: x, expected: y}]\ngraders: {}\n",
        "prompts: [x]\nproviders: [openai:gpt-4o]\ntests: [{vars: {q: x}}]\n",
        "eval_report: {metadata: {}}\n",
        "something: else\n",
    ];
    let mut all = String::new();
    let whole = evals.map(|eval| (eval.to_owned(), suite(&format!("    - {eval}\n"))));
    let own = suites.map(|text| (text.to_owned(), text.to_owned()));
    for (shown, text) in whole.into_iter().chain(own) {
        all.push_str(&format!("{}\n", shown.trim_end()));
        let problems = told(&loaded(&text, &[]));
        problems
            .iter()
            .for_each(|one| all.push_str(&format!("  {one}\n")));
    }
    insta::assert_snapshot!(all, @r#"
    {name: capital, prompt: x, expected: Paris}
      5:8 missing-key element 1 of `evals` lacks the key `id` | add `id`: a text
    {name: capital, metadata: {id: a}, prompt: x, expected: Paris}
      5:8 missing-key element 1 of `evals` lacks the key `id` | add `id`: a text
      5:34 unknown-key unknown key `id` | `id` belongs outside of `metadata:`, beside it
    {id: a, input: x, grader: {type: model, model: gpt-4o, rubric: Good?}}
      5:47 unknown-key unknown key `model` | it belongs under `config:`; or write `grader: {judge: MODEL, rubric: TEXT}`
      5:62 unknown-key unknown key `rubric` | it belongs under `config:`; or write `grader: {judge: MODEL, rubric: TEXT}`
    {id: a, input: x, grader: {type: code, asserts: [assert f()]}}
      5:46 unknown-key unknown key `asserts` | `asserts` belongs under `config:`
    {id: a, input: x, grader: {type: code, config: {method: code_execution, lang: python, asserts: [assert f()]}}}
      5:79 unknown-key unknown key `lang` | valid keys: `asserts`, `check`, `columns`, `compare`, `entry_point`, `executor`, `max_return_mb`, `memory_mb`, `method`, `ordered`, `output_kb`, `prefix`, `reference`, `reference_solution`, `rows`, `sandbox`, `setup`, `stdio`, `suffix`, `test`, `tests`, `timeout_factor`, `timeout_seconds`, `tolerance`, `trust`
    {id: a, input: x, tests: [assert f()]}
      5:25 unknown-key unknown key `tests` | to test code, write `asserts: ["assert add(1, 2) == 3"]` beside the input; for a literal output, `expected: VALUE`; for a judge, `grader: {judge: MODEL, rubric: TEXT}`
    {id: a, input: x, value: {test: x}}
      5:25 unknown-key unknown key `value` | to test code, write `asserts: ["assert add(1, 2) == 3"]` beside the input; for a literal output, `expected: VALUE`; for a judge, `grader: {judge: MODEL, rubric: TEXT}`
    {id: a, input: x, rubric: Good?, model: gpt-4o}
      5:25 unknown-key unknown key `rubric` | a judge is a grader: `grader: {judge: MODEL, rubric: TEXT}`
      5:40 unknown-key unknown key `model` | a judge is a grader: `grader: {judge: MODEL, rubric: TEXT}`
    {id: a, input: x, answer: y}
      5:25 unknown-key unknown key `answer` | the expected output is `expected:`
    {id: a, question: x, expected: y}
      5:15 unknown-key unknown key `question` | the input is `prompt: TEXT` (or `input: ...`); `vars:` belongs beside `evals:` in the suite
    {id: a, vars: {q: x}, expected: y}
      5:15 unknown-key unknown key `vars` | the input is `prompt: TEXT` (or `input: ...`); `vars:` belongs beside `evals:` in the suite
    {id: a, input: x, expected: y, tags: [a], samples: 3, target: x}
      5:38 unknown-key unknown key `tags` | `tags` belongs under `metadata:`
      5:49 unknown-key unknown key `samples` | `samples` belongs under `config:`
      5:61 unknown-key unknown key `target` | `target` belongs outside of `evals:`, beside it
    {id: a, input: x, expected: {type: contains, must_include: [a]}}
      5:52 unknown-key unknown key `must_include` | `must_include` belongs under `value:`
    {id: a, input: x, baseline: y, expected: y}
      5:38 unknown-key unknown key `expected` | the known-good output of a regression is `baseline:`; without `baseline` and `current`, the eval is a capability with `expected:`
    {id: a, input: x, baseline: y, execution: {type: echo}}
      5:38 unknown-key unknown key `execution` | `execution` belongs under `current:`
    {id: a, baseline: y}
      5:8 missing-key element 1 of `evals` lacks the key `current` | add `current`, or its short form `input` or `prompt`
    {id: a, expected: y}
      5:8 missing-key element 1 of `evals` lacks the key `input` | add `input`, or its short form `prompt`
    {id: a, name: n, test_cases: [{id: b, input: x, expected: y}]}
      5:24 unknown-key unknown key `test_cases` | an eval of several cases has its `id` and `name` under `metadata:`, beside `test_cases:` or `dataset:`
    {metadata: {id: a}, test_cases: [{id: b, input: x, expected: y, weight: 2}]}
      5:71 unknown-key unknown key `weight` | `weight` belongs under `grader:`, or under `metadata:`, which is beside `test_cases:`
    {id: a, input: x, expected: {type: functional, value: assert f()}}
      5:61 wrong-type `value`: expected a map, found the text `assert f()` | to test code with assert statements, write `asserts: ["assert add(1, 2) == 3"]` beside the input, instead of `expected`
    {id: a, input: x, expected: {type: functional, value: {test: assert f()}}}
      5:62 unknown-key unknown key `test` | to test code with assert statements, write `asserts: ["assert add(1, 2) == 3"]` beside the input, instead of `expected`
    {id: a, current: Say hello, baseline: y}
      5:24 wrong-type `current`: expected a map, found the text `Say hello` | write `current: {input: ...}`, or its short form `input: ...`
    {metadata: {id: a}, dataset: {path: rows.jsonl}}
      5:27 missing-key `dataset` lacks the key `case` | add `case: {input: ..., expected: ...}` with templates over `row.*`; for a benchmark, add its `format`, such as `humaneval`
    {metadata: {id: a}, dataset: {path: rows.txt, case: {id: b, input: x, expected: y}}}
      5:27 missing-key `dataset` lacks the key `format` | add `format`: one of `jsonl`, `json`, `csv`, `humaneval`, `mbpp`, `bigcodebench`, `livecodebench`, `multipl_e`, `humaneval_pack`, `ds1000`, `code_contests`, `apps`, `gsm8k`, `mmlu`, `evalplus`, `ifeval`
    {}
      5:7 missing-key element 1 of `evals` lacks the key `id` | add `id`: a text
      5:7 missing-key element 1 of `evals` lacks the key `input` | add `input`, or its short form `prompt`
    eval_suite:
      name: s
      model: gpt-4o
      samples: 3
      evals: [{id: a, input: x, expected: y}]
      3:3 unknown-key unknown key `model` | the model under test is the target: `target: {type: model, model: "openai:gpt-4o-mini"}`
      4:3 unknown-key unknown key `samples` | `samples` belongs under `config:`
    eval_suite:
      name: s
      target: {type: echo}
      regressions: []
      tests: []
      evals: [{id: a, input: x, expected: y}]
      4:3 unknown-key unknown key `regressions` | evals of every kind are elements of `evals:`; one with a `baseline` is a regression
      5:3 unknown-key unknown key `tests` | evals of every kind are elements of `evals:`; one with a `baseline` is a regression
    name: s
    evals: [{id: a, input: x, expected: y}]
    graders: {}
      1:1 unknown-shape this looks like a suite without `eval_suite:` | begin the file with `eval_suite:`, and indent the rest of the file below it
    prompts: [x]
    providers: [openai:gpt-4o]
    tests: [{vars: {q: x}}]
      1:1 unknown-shape this looks like the configuration of another tool | a suite begins with `eval_suite:`; in it, `target:` is the model under test, and each element of `evals:` has an `id`, a `prompt` and one of `expected`, `asserts` and `grader`
    eval_report: {metadata: {}}
      1:1 unknown-shape this is a report of a run, which eval-harness writes and does not read | `eval-harness report --run RUN` prints a report again, from the run's journal
    something: else
      1:1 unknown-shape eval-harness does not know this kind of file | a suite begins with `eval_suite:`; other files have one of these top-level keys: eval_suite, eval_trigger, phase, phases, eval_id, graders, rubrics, defaults, executors, prices, presets, thresholds, capability_eval, regression_eval, metadata, test_cases, dataset, baseline, test_case, current, input
    "#);
}

#[test]
fn literal_with_a_misspelt_key_of_an_expectation_is_a_warning() {
    let of = |keys: &str| told(&loaded(&suite(&format!("    - {{id: a, {keys}}}\n")), &[]));
    assert_eq!(
        of("prompt: x, expected: {must_includ: [x]}"),
        [
            "5:37 warning suspicious-value `must_includ` makes this map a literal; did you mean `must_include`? | for a literal write `{type: exact, value: {...}}`"
        ]
    );
    for keys in [
        "prompt: x, expected: {tax: 3, names: [a], id: 7}",
        "prompt: x, expected: {type: exact, value: {must_includ: [x]}}",
    ] {
        assert_eq!(of(keys), [""; 0], "{keys}");
    }
}

#[test]
fn null_beside_a_short_form_is_as_if_it_were_absent() {
    for keys in [
        "input: null, prompt: x, expected: y",
        "prompt: x, asserts: [assert f()], grader: null",
    ] {
        let loaded = loaded(&suite(&format!("    - {{id: a, {keys}}}\n")), &[]);
        assert_eq!(told(&loaded), [""; 0], "{keys}");
    }
}

#[test]
fn number_that_is_not_finite_is_not_a_literal() {
    let loaded = loaded(&suite("    - {id: a, prompt: x, expected: .nan}\n"), &[]);
    assert!(loaded.problems.has_errors());
}
