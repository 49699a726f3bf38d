use std::collections::BTreeMap;
use std::fs;

use crate::load::{LoadRequest, Loaded, Overrides, Problem, Purpose, Severity, load};
use crate::model::{Case, GraderKind, Judge, PanelRule, Scoring};

fn loaded_with(text: &str, files: &[(&str, &str)], overrides: Overrides, purpose: Purpose) -> Loaded {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::create_dir_all(cwd.join("config/kept")).expect("made");
    fs::write(cwd.join("suite.yaml"), text).expect("written");
    for (name, text) in files {
        fs::write(cwd.join(name), text).expect("written");
    }
    let env = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "sk-open-123456".to_owned())]);
    load(&LoadRequest { suite: "suite.yaml".into(), purpose, overrides, env, cwd, cpus: 4 })
}

fn loaded(text: &str, files: &[(&str, &str)]) -> Loaded {
    loaded_with(text, files, Overrides::default(), Purpose::Run)
}

fn tell(loaded: &Loaded) -> String {
    let one = |p: &Problem| {
        let at = p.span.map(|span| {
            let at = loaded.sources.position(span);
            format!("{}:{} ", at.line, at.column)
        });
        let hint = p.hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default();
        let warns = if p.severity == Severity::Warning { "warning " } else { "" };
        format!("{}{warns}{}: {}{hint}", at.unwrap_or_default(), p.code.slug(), p.message)
    };
    loaded.problems.sorted().into_iter().map(one).collect::<Vec<_>>().join("\n")
}

/// A suite whose only case has a judge of these settings, and whatever else stands in the case and at the suite's top.
fn suite(config: &str, case: &str, more: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n  target: {{type: echo}}\n{more}  evals:\n    - id: a\n      input: x\n{case}      grader:\n        type: model\n        config: {{{config}}}\n"
    )
}

fn case_of(loaded: Loaded) -> std::sync::Arc<Case> {
    let words = tell(&loaded);
    let plan = loaded.plan.unwrap_or_else(|| panic!("{words}"));
    assert!(!loaded.problems.has_errors(), "{words}");
    plan.evals[0].cases.get(0).unwrap().unwrap()
}

fn judge_of(loaded: Loaded) -> Judge {
    let case = case_of(loaded);
    match &case.grading.graders[0].kind {
        GraderKind::Model(judge) => (**judge).clone(),
        other => panic!("no judge: {other:?}"),
    }
}

fn judge(config: &str, case: &str) -> Judge {
    judge_of(loaded(&suite(config, case, ""), &[]))
}

/// What is said of a judge's settings.
fn said(config: &str, case: &str) -> String {
    tell(&loaded(&suite(config, case, ""), &[]))
}

fn criteria(judge: &Judge) -> String {
    let one = |c: &crate::model::Criterion| {
        format!("{} {} {:?} {:?} {:?}", c.name, c.weight, c.scale, c.description, c.levels)
    };
    judge.criteria.iter().map(one).collect::<Vec<_>>().join("\n")
}

const M: &str = "model: gpt-4o";

#[test]
fn the_seeds_block_is_a_whole_judge() {
    let text = "eval_suite:\n  name: s\n  target: {type: echo}\n  graders: {$ref: config/graders.yaml}\n  evals:\n    - {id: a, input: x, grader: judge}\n";
    let graders = "graders:\n  judge:\n    type: model\n    config:\n      model: gpt-4o\n      temperature: 0.0\n      max_tokens: 1000\n      replay: kept\n      \
                   rubric: quality\n      scoring: {type: numeric, range: [1, 5], categories: []}\n      \
                   examples: [{input: i, output: o, score: 2, justification: brief}]\n\
                   rubrics:\n  quality: |\n    Evaluate (1-5 scale):\n\n    1. **Correctness** (weight: 0.6)\n       - 5: All\n       - 1: None\n\n    2. **Best Practices** (weight: 0.4)\n       - Does it?\n";
    let judge = judge_of(loaded(text, &[("config/graders.yaml", graders)]));
    assert_eq!(judge.rubric, "Evaluate (1-5 scale):");
    insta::assert_snapshot!(criteria(&judge), @r#"
    Correctness 0.6 Some([1.0, 5.0]) "" {"1": "None", "5": "All"}
    Best Practices 0.4 Some([1.0, 5.0]) "- Does it?" {}
    "#);
    let model = &judge.models[0];
    assert_eq!((model.endpoint.name().as_str(), model.sampling.temperature), ("openai:gpt-4o", Some(0.0)));
    assert_eq!(model.sampling.max_tokens, Some(1000));
    // Relative to the file that says it.
    assert!(model.endpoint.replay.as_ref().unwrap().ends_with("config/kept"));
    assert_eq!((judge.votes, judge.panel, judge.repairs), (1, PanelRule::Median, 2));
    assert_eq!(judge.scoring, Scoring::Numeric { range: [1.0, 5.0] });
    assert!((judge.pass_threshold - 0.7).abs() < 1e-12);
    assert_eq!(judge.examples[0].justification.as_deref(), Some("brief"));
}

#[test]
fn must_include_is_what_an_output_has_to_say() {
    let semantic = "      expected: {type: semantic, value: {must_include: [PostgreSQL 14+, /api], must_not_include: legacy}}\n";
    let rubric =
        format!("{M}, rubric: \"Score:\\n1. Completeness: Did it? (0-5)\\n2. Accuracy: Are they? (0-5)\"");
    let with_rubric = judge(&rubric, semantic);
    assert_eq!(with_rubric.must_include, ["PostgreSQL 14+", "/api"]);
    assert_eq!(
        (with_rubric.must_not_include.as_slice(), with_rubric.reference),
        (["legacy".to_owned()].as_slice(), None)
    );
    assert_eq!(with_rubric.criteria.len(), 2);
    insta::assert_snapshot!(said(&rubric, semantic), @"10:41 warning suspicious-value: the rubric names another scale (`(0-5)`): the judge scores from 1 to 5 | set `scoring: {type: numeric, range: [0, 5]}` if that is meant");
    let without = judge(M, semantic);
    assert_eq!(
        (&without.scoring, without.criteria.len(), without.panel),
        (&Scoring::Boolean, 0, PanelRule::Majority)
    );
    insta::assert_snapshot!(without.rubric, @"Does the output say everything that it must say, in whatever words, and nothing that it must not say?");
    let of = |value: &str| {
        let judge = judge(M, &format!("      expected: {value}\n"));
        let say = |value: &serde_json::Value| value.to_string();
        let reference = judge.reference.as_ref().map(say).unwrap_or_default();
        format!(
            "{reference} {:?} {:?}",
            judge.alternatives.iter().map(say).collect::<Vec<_>>(),
            judge.scoring
        )
    };
    let all = [
        "y",
        "{type: semantic, value: [a, b], alternatives: [c]}",
        "{type: semantic, value: {say: a}}",
        "{type: contains, value: a, alternatives: [[b, c]]}",
        "{type: numeric, min: 3}",
        "{type: json, schema: {type: object}}",
        "{type: structural, value: {id: '{{any_uuid}}'}}",
    ];
    insta::assert_snapshot!(all.map(of).join("\n"), @r#"
    "y" [] Numeric { range: [1.0, 5.0] }
    ["a","b"] ["\"c\""] Numeric { range: [1.0, 5.0] }
    {"say":"a"} [] Numeric { range: [1.0, 5.0] }
    {"must_include":["a"],"must_not_include":[]} ["{\"must_include\":[\"b\",\"c\"],\"must_not_include\":[]}"] Numeric { range: [1.0, 5.0] }
    {"min":3.0} [] Numeric { range: [1.0, 5.0] }
    {"schema":{"type":"object"}} [] Numeric { range: [1.0, 5.0] }
    {"id":"{{any_uuid}}"} [] Numeric { range: [1.0, 5.0] }
    "#);
    let said = |value: &str| said(M, &format!("      expected: {{type: semantic, value: {{{value}}}}}\n"));
    let all = [
        "must_include: a, must_not_inclde: b",
        "must_include: a, other: b",
        "must_include: []",
        "must_include: [a, '', 3]",
        "must_include: [a], must_not_include: [a]",
    ];
    insta::assert_snapshot!(all.map(said).join("\n"), @"
    7:59 unknown-key: the key `must_not_inclde` is not known here: what must be said has `must_include` and `must_not_include` | did you mean `must_not_include`?
    7:59 unknown-key: the key `other` is not known here: what must be said has `must_include` and `must_not_include` | beside them stand no others: a reference goes without them
    7:56 grader-incomplete: nothing must be said and nothing must not be: any output would pass | write at least one text under `must_include` or `must_not_include`
    7:60 grader-incomplete: an empty text is said by every output
    7:64 wrong-type: what must be said is a text, not 3
    7:79 grader-conflict: `a` must be said and must not be said
    ");
}

#[test]
fn a_judge_is_asked_where_and_how_its_settings_say() {
    let config = "model: 'openai:{{ m }}', base_url: 'http://127.0.0.1:9/v1', system: 'Be {{ vars.how }}.', api_key_env: OPENAI_API_KEY, top_p: 0.5, seed: 7, \
                  options: {user: '{{ m }}'}, headers: {X-A: b}, max_concurrency: 3, requests_per_minute: 60, timeout_seconds: 9, retries: 1, max_chars: 500, repairs: 1, \
                  structured: false, votes: 3, panel: mean, rubric: 'Is it {{ vars.how }}? {\"a\": {\"b\": 1}}', prompt: 'Grade {{ output }} by {{ rubric }} {{ format }}'";
    let judge = judge_of(loaded(&suite(config, "", "  vars: {m: gpt-x, how: strict}\n"), &[]));
    let model = &judge.models[0];
    let endpoint = &model.endpoint;
    assert_eq!(
        (endpoint.name().as_str(), endpoint.base_url.as_str()),
        ("openai:gpt-x", "http://127.0.0.1:9/v1")
    );
    assert_eq!(model.system.as_deref(), Some("Be strict."));
    assert_eq!(endpoint.key.as_ref().map(|key| key.env.as_str()), Some("OPENAI_API_KEY"));
    assert_eq!(
        (model.sampling.top_p, model.sampling.seed, model.sampling.temperature),
        (Some(0.5), Some(7), None)
    );
    assert_eq!(
        (model.sampling.options["user"].to_string().as_str(), endpoint.headers["X-A"].as_str()),
        ("\"gpt-x\"", "b")
    );
    assert_eq!((endpoint.limits.max_concurrency, endpoint.limits.requests_per_minute), (3, Some(60)));
    assert_eq!((endpoint.patience.retries, judge.timeout.as_secs()), (1, 9));
    assert_eq!(
        (judge.max_chars, judge.repairs, judge.structured, judge.votes, judge.panel),
        (500, 1, false, 3, PanelRule::Mean)
    );
    assert_eq!(judge.rubric, "Is it strict? {\"a\": {\"b\": 1}}");
    assert_eq!(judge.prompt.as_deref(), Some("Grade {{ output }} by {{ rubric }} {{ format }}"));
    assert_eq!(judge.criteria[0].name, "overall");
}

#[test]
fn several_models_judge_each_with_what_is_its_own() {
    let config = "models: [gpt-a, {model: gpt-b, temperature: 1, max_tokens: 9, price: {input_per_million: 2, output_per_million: 3}}, \
                  {model: local, base_url: 'http://127.0.0.1:9/v1', options: {k: 1}}], max_tokens: 5, options: {j: 2}, system: s, api_key_env: OPENAI_API_KEY, \
                  price: {input_per_million: 1, output_per_million: 1}, rubric: Is it good?";
    let judge = judge(config, "");
    let told: Vec<String> = judge
        .models
        .iter()
        .map(|model| {
            let sampling = &model.sampling;
            let key = model.endpoint.key.as_ref().map(|key| key.env.as_str());
            let price = model.endpoint.price.map(|price| price.input);
            let options: Vec<&String> = sampling.options.keys().collect();
            format!(
                "{} {:?} {:?} {options:?} {:?} {key:?} {price:?}",
                model.endpoint.name(),
                sampling.temperature,
                sampling.max_tokens,
                model.system
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    openai:gpt-a None Some(5) ["j"] Some("s") Some("OPENAI_API_KEY") Some(1.0)
    openai:gpt-b Some(1.0) Some(9) ["j"] Some("s") Some("OPENAI_API_KEY") Some(2.0)
    openai:local None Some(5) ["j", "k"] Some("s") None Some(1.0)
    "#);
    assert_eq!(judge.all_votes(), 3);
    let all = [
        "rubric: Is it good?",
        "model: gpt-a, models: [gpt-b], rubric: Is it good?",
        "models: [gpt-a, 'openai:gpt-a'], rubric: Is it good?",
        "models: [gpt-a, 'claude-x'], api_key_env: OPENAI_API_KEY, headers: {Authorization: 'Bearer abcdef'}, rubric: Is it good?",
        "models: [gpt-a, {model: gpt-b, temprature: 1}], rubric: Is it good?",
        "models: [gpt-a, {model: nobody}], rubric: Is it good?",
        "models: [gpt-a, {model: gpt-b, replay: gone}], rubric: Is it good?",
        "model: gpt-a, votes: 3, temperature: 0, rubric: Is it good?",
        "model: gpt-a, panel: mean, rubric: Is it good?",
        "model: gpt-a, system: '{{ nobody }}', rubric: Is it good?",
        "model: gpt-a, rubric: 'Is it {{ nobody }}?'",
        "model: gpt-a, json_schema: {}, rubric: Is it good?",
    ];
    insta::assert_snapshot!(all.map(|config| said(config, "")).join("\n"), @r#"
    9:17 missing-key: nothing says which model judges | add `model: "openai:gpt-4o-mini"`, or several under `models:`
    9:32 grader-conflict: `model` and `models` stand side by side | put all of them under `models:`
    9:34 grader-conflict: `openai:gpt-a` is asked twice | `votes: 2` asks each model twice
    9:47 grader-conflict: one key would be sent to several places | name the keys under the suite's `providers:`, or `api_key_env` with each of `models`
    9:76 grader-conflict: the header `Authorization` would be sent to several places | name the keys under the suite's `providers:`, or `api_key_env` with each of `models`
    9:49 unknown-key: the key `temprature` is not known here | did you mean `temperature`?
    9:42 unknown-provider: nothing says whose model `nobody` is | write `PROVIDER:nobody` with `openai`, `anthropic` or a name under the suite's `providers:`, or give a `base_url`
    9:57 missing-ref: there is no folder `gone` of recorded exchanges | the path is relative to the file that names it; `--record DIR` writes such a folder
    9:42 warning suspicious-value: 3 votes at `temperature: 0` are as good as one: the model says the same again | leave `temperature` out, or ask several `models`
    9:32 warning suspicious-value: `panel` says how several votes become one verdict, and there is one | ask for more `votes`, or several `models`
    9:44 undefined-variable: nothing defines `nobody` | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    9:50 undefined-variable: nothing defines `nobody` | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    9:32 unknown-key: the key `json_schema` is not known here | known here: `api_key_env`, `base_url`, `criteria`, `examples`, `headers`, `max_chars`, `max_concurrency`, `max_tokens`, `model`, `models`, `options`, `panel`, and 18 more
    "#);
}

#[test]
fn a_scoring_fits_its_kind() {
    let rubric = format!("{M}, rubric: Is it good?");
    let of = |more: &str| {
        let judge = judge(&format!("{rubric}, {more}"), "");
        format!("{:?} {} {:?} | {}", judge.panel, judge.pass_threshold, judge.scoring, criteria(&judge))
    };
    let all = [
        "scoring: {type: numeric}",
        "scoring: {type: numeric, range: [0, 10]}, pass_threshold: 0.5",
        "scoring: {type: boolean}",
        "scoring: {type: boolean}, criteria: [{name: a}, {name: b, levels: {'true': yes it is}}]",
        "scoring: {type: categorical, categories: [{name: good, score: 1}, {name: bad, score: 0, description: not good}]}",
        "criteria: [{name: a, weight: 2, scale: [0, 1], levels: {0: no, 1: yes}}, {name: b, weight: 1, description: d}]",
    ];
    insta::assert_snapshot!(all.map(of).join("\n"), @r#"
    Median 0.7 Numeric { range: [1.0, 5.0] } | overall 1 Some([1.0, 5.0]) "" {}
    Median 0.5 Numeric { range: [0.0, 10.0] } | overall 1 Some([0.0, 10.0]) "" {}
    Majority 1 Boolean | 
    Majority 1 Boolean | a 0.5 None "" {}
    b 0.5 None "" {"true": "yes it is"}
    Majority 0.7 Categorical { categories: [Category { name: "good", score: 1.0, description: "" }, Category { name: "bad", score: 0.0, description: "not good" }] } | overall 1 None "" {}
    Median 0.7 Numeric { range: [1.0, 5.0] } | a 0.6666666666666666 Some([0.0, 1.0]) "" {"0": "no", "1": "yes"}
    b 0.3333333333333333 Some([1.0, 5.0]) "d" {}
    "#);
    let all = [
        "scoring: {type: numeric, range: [5, 1]}",
        "scoring: {type: boolean, range: [1, 5]}",
        "scoring: {type: numeric, categories: [{name: a, score: 1}]}",
        "scoring: {type: boolean}, pass_threshold: 0.5",
        "pass_threshold: 0",
        "scoring: {type: categorical}",
        "scoring: {type: categorical, categories: [{name: good, score: 1}, {name: Good, score: 0}]}",
        "scoring: {type: categorical, categories: [{name: good, score: 1}, {name: fair, score: 0.7}]}",
        "scoring: {type: categorical, categories: [{name: poor, score: 0.2}, {name: bad, score: 0}]}",
        "scoring: {type: categorical, categories: [{name: good, score: 2}, {name: bad, score: 0}]}",
        "scoring: {type: categorical, categories: [good, bad]}",
        "scoring: {type: percent}",
        "criteria: [{name: a}, {name: 'A*'}]",
        "criteria: [{name: '**'}]",
        "criteria: [{name: a, weight: 1}, {name: b}]",
        "criteria: [{name: a, weight: 0}, {name: b, weight: 0}]",
        "criteria: [{name: a, weight: 0.5}, {name: b, weight: 0.4}]",
        "criteria: [{name: a, scale: [3, 3]}, {name: b, levels: {6: x, good: y}}]",
        "criteria: [{name: a, scale: [0, 1], levels: {sure: x}}], scoring: {type: boolean}",
        "criteria: [{name: a, levels: {goud: x}}], scoring: {type: categorical, categories: [{name: good, score: 1}, {name: bad, score: 0}]}",
        "criteria: [{nam: a}]",
    ];
    insta::assert_snapshot!(all.map(|more| said(&format!("{rubric}, {more}"), "")).join("\n"), @"
    9:86 grader-conflict: [5, 1] is no scale: its first number must be the lower
    9:79 grader-conflict: `range` does not fit `type: boolean` | write `type: numeric`, or leave it out
    9:79 grader-conflict: `categories` does not fit `type: numeric` | write `type: categorical`, or leave it out
    9:96 grader-conflict: `pass_threshold` has nothing to be held against: a boolean verdict over the whole rubric has no score | leave it out, or write `criteria:` of which a share must be met
    9:70 suspicious-value: `pass_threshold: 0` passes whatever the judge says | a threshold above 0
    9:63 grader-incomplete: categorical scoring needs at least two categories | such as `categories: [{name: good, score: 1}, {name: bad, score: 0}]`
    9:127 duplicate-id: two categories are named `Good` | case, spaces, `_`, `-` and `*` don't tell names apart
    9:95 grader-conflict: every category's score reaches the threshold: the grade always passes | a category passes when its score is at least `pass_threshold`, which is 0.7
    9:95 grader-conflict: no category's score reaches the threshold: the grade never passes | a category passes when its score is at least `pass_threshold`, which is 0.7
    9:116 out-of-range: `score` must be at most 1.0, found `2`
    9:96 wrong-type: element 1 of `categories`: expected a map, found the text `good`
    9:102 wrong-type: element 2 of `categories`: expected a map, found the text `bad`
    9:70 unknown-value: `percent` is not a value of `type`: it takes `numeric`, `categorical`, `boolean`
    9:83 duplicate-id: two criteria are named `A*` | case, spaces, `_`, `-` and `*` don't tell criteria apart in a judge's answer
    9:72 bad-format: `**` is no name of a criterion | case, spaces, `_`, `-` and `*` don't tell criteria apart in a judge's answer
    9:64 grader-conflict: some criteria have a weight and others have none | give each of them one, or none
    9:64 grader-conflict: the weights of all criteria are 0 | a weight above 0 for what counts
    9:64 warning suspicious-value: the weights sum to 0.9, not to 1: each counts in proportion | make them sum to 1, or to 100%
    9:82 grader-conflict: [3, 3] is no scale: its first number must be the lower
    9:110 out-of-range: the level 6 is outside of the scale from 1 to 5 | set `scale`, or `range` under `scoring`
    9:116 bad-format: `good` is no point of the scale from 1 to 5
    9:75 grader-conflict: `scale` belongs to numeric scoring | leave it out
    9:99 unknown-value: `sure` is neither `true` nor `false`
    9:84 unknown-value: `goud` is no category | did you mean `good`?
    9:66 unknown-key: the key `nam` is not known here | did you mean `name`?
    ");
}
