//! Short forms load as their long ones, and what is wrong with them is said in their words.

use std::fs;

use crate::load::{LoadRequest, LoadedPlan, PlanPurpose, Severity, load};
use crate::model::{Case, GraderKind};

fn loaded(suite: &str, files: &[(&str, &str)]) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
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
    let loaded = loaded(text, files);
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
            "input: x, grader: {type: code, config: {language: javascript, asserts: 'assert(f())'}}",
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
            format!(
                "{eval} {}: {} {:?}",
                case.id,
                graders.join(" "),
                case.expected
            )
        })
        .collect();
    insta::assert_snapshot!(graded.join("\n"), @"");
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
    insta::assert_snapshot!(all, @"");
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
    insta::assert_snapshot!(all, @"");
}
