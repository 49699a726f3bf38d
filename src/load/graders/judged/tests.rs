use std::collections::BTreeMap;
use std::fs;

use crate::load::{
    CheckRequest, LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, Problem, Severity,
    check_files, load,
};
use crate::model::{Case, GraderKind, Judge, JudgeScoring, PanelRule};

fn loaded_with(
    text: &str,
    files: &[(&str, &str)],
    overrides: LoadOverrides,
    purpose: PlanPurpose,
) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::create_dir_all(cwd.join("config/kept")).expect("made");
    fs::write(cwd.join("suite.yaml"), text).expect("written");
    for (name, text) in files {
        fs::write(cwd.join(name), text).expect("written");
    }
    let env = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "sk-open-123456".to_owned())]);
    load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose,
        overrides,
        env,
        cwd,
        cpus: 4,
        ..LoadRequest::default()
    })
}

fn loaded(text: &str, files: &[(&str, &str)]) -> LoadedPlan {
    loaded_with(text, files, LoadOverrides::default(), PlanPurpose::Run)
}

fn tell(loaded: &LoadedPlan) -> String {
    let one = |p: &Problem| {
        let at = p.span.map(|span| {
            let at = loaded.sources.position(span);
            format!("{}:{} ", at.line, at.column)
        });
        let hint = p
            .hint
            .as_ref()
            .map(|hint| format!(" | {hint}"))
            .unwrap_or_default();
        let warns = if p.severity == Severity::Warning {
            "warning "
        } else {
            ""
        };
        format!(
            "{}{warns}{}: {}{hint}",
            at.unwrap_or_default(),
            p.code.slug(),
            p.message
        )
    };
    loaded
        .problems
        .sorted()
        .into_iter()
        .map(one)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A suite whose only case has a judge of these settings, and whatever else stands in the case and
/// at the suite's top.
fn suite(config: &str, case: &str, more: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n  target: {{type: echo}}\n{more}  evals:\n    - id: a\n      input: x\n{case}      grader:\n        type: model\n        config: {{{config}}}\n"
    )
}

fn case_of(loaded: LoadedPlan) -> std::sync::Arc<Case> {
    let words = tell(&loaded);
    let plan = loaded.plan.unwrap_or_else(|| panic!("{words}"));
    assert!(!loaded.problems.has_errors(), "{words}");
    plan.evals[0].cases.get(0).unwrap().unwrap()
}

fn judge_of(loaded: LoadedPlan) -> Judge {
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
        format!(
            "{} {} {:?} {:?} {:?}",
            c.name, c.weight, c.scale, c.description, c.levels
        )
    };
    judge
        .criteria
        .iter()
        .map(one)
        .collect::<Vec<_>>()
        .join("\n")
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
    assert!(
        judge
            .rubric
            .starts_with("Evaluate (1-5 scale):\n\n1. **Correctness**"),
        "{}",
        judge.rubric
    );
    insta::assert_snapshot!(criteria(&judge), @r#"
    Correctness 0.6 Some([1.0, 5.0]) "" {"1": "None", "5": "All"}
    Best Practices 0.4 Some([1.0, 5.0]) "- Does it?" {}
    "#);
    let model = &judge.models[0];
    assert_eq!(
        (model.endpoint.name().as_str(), model.sampling.temperature),
        ("openai:gpt-4o", Some(0.0))
    );
    assert_eq!(model.sampling.max_tokens, Some(1000));
    // Relative to the file that says it.
    assert!(
        model
            .endpoint
            .replay
            .as_ref()
            .unwrap()
            .ends_with("config/kept")
    );
    assert_eq!(
        (judge.votes, judge.panel, judge.repairs),
        (1, PanelRule::Median, 2)
    );
    assert_eq!(judge.scoring, JudgeScoring::Numeric { range: [1.0, 5.0] });
    assert!((judge.pass_threshold - 0.7).abs() < 1e-12);
    assert_eq!(judge.examples[0].justification.as_deref(), Some("brief"));
}

#[test]
fn must_include_is_what_an_output_has_to_say() {
    let semantic = "      expected: {type: semantic, value: {must_include: [PostgreSQL 14+, /api], must_not_include: legacy}}\n";
    let rubric = format!(
        "{M}, rubric: \"Score:\\n1. Completeness: Did it? (0-5)\\n2. Accuracy: Are they? (0-5)\""
    );
    let with_rubric = judge(&rubric, semantic);
    assert_eq!(with_rubric.must_include, ["PostgreSQL 14+", "/api"]);
    assert_eq!(
        (
            with_rubric.must_not_include.as_slice(),
            with_rubric.reference
        ),
        (["legacy".to_owned()].as_slice(), None)
    );
    assert_eq!(with_rubric.criteria.len(), 2);
    // The rubric's own scale counts, also for its criteria, and there is nothing to warn of.
    assert_eq!(
        with_rubric.scoring,
        JudgeScoring::Numeric { range: [0.0, 5.0] }
    );
    assert!(
        with_rubric
            .criteria
            .iter()
            .all(|criterion| criterion.scale == Some([0.0, 5.0]))
    );
    assert_eq!(said(&rubric, semantic), "");
    let range = format!("{rubric}, scoring: {{type: numeric, range: [1, 5]}}");
    insta::assert_snapshot!(said(&range, semantic), @"10:41 warning suspicious-value: the rubric uses a different scale (`(0-5)`), but the judge scores from 1 to 5 | if that is intended, set `scoring: {type: numeric, range: [0, 5]}`");
    let without = judge(M, semantic);
    assert_eq!(
        (&without.scoring, without.criteria.len(), without.panel),
        (&JudgeScoring::Boolean, 0, PanelRule::Majority)
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
    let said = |value: &str| {
        said(
            M,
            &format!("      expected: {{type: semantic, value: {{{value}}}}}\n"),
        )
    };
    let all = [
        "must_include: a, must_not_inclde: b",
        "must_include: a, other: b",
        "must_include: []",
        "must_include: [a, '', 3]",
        "must_include: [a], must_not_include: [a]",
    ];
    insta::assert_snapshot!(all.map(said).join("\n"), @"
    7:59 unknown-key: unknown key `must_not_inclde` | did you mean `must_not_include`?
    7:59 unknown-key: unknown key `other` | valid keys: `must_include`, `must_not_include`
    7:56 grader-incomplete: the expected value requires nothing and forbids nothing, so every output would pass | write at least one text under `must_include` or `must_not_include`
    7:64 wrong-type: element 3 of `must_include`: expected a text, found the number `3` | put quotes around it
    7:79 grader-conflict: `a` is in both `must_include` and `must_not_include`
    ");
}

#[test]
fn what_a_judge_sees_of_a_workspace_is_checked() {
    let config = "model: openai:m, rubric: Good?, show: [{files: [b, a, b]}, diff]";
    let at_work = |text: String| text.replace("{type: echo}", "{type: command, command: [sh]}");
    let suite = at_work(suite(config, "      workspace: {}\n", ""));
    let judge = judge_of(loaded(&suite, &[]));
    let files: Vec<String> = judge.shown.files.iter().map(ToString::to_string).collect();
    assert_eq!((judge.shown.diff, files.join(" ").as_str()), (true, "b a"));
    let wrong = [
        ("show: [diff]", ""),
        ("show: [{files: [../a]}]", "      workspace: {}\n"),
        ("show: [changes]", "      workspace: {}\n"),
        ("show: [{file: a}]", "      workspace: {}\n"),
    ];
    let all =
        wrong.map(|(show, case)| said(&format!("model: openai:m, rubric: Good?, {show}"), case));
    insta::assert_snapshot!(all.join("\n"), @"
    9:50 grader-incomplete: `show` needs a workspace, but the case has none | add `workspace:` to the suite, the eval or the case
    10:66 bad-path: `../a` has an empty part, `.` or `..` | paths are relative to the top of the workspace
    10:57 unknown-value: `changes` is not a valid value of element 1 of `show`: expected one of `diff`, `trajectory`
    10:58 unknown-key: unknown key `file` | did you mean `files`?
    ");
}

#[test]
fn a_judge_is_asked_where_and_how_its_settings_say() {
    let config = "model: 'openai:{{ m }}', base_url: 'http://127.0.0.1:9/v1', system: 'Be {{ vars.how }}.', api_key_env: OPENAI_API_KEY, top_p: 0.5, seed: 7, \
                  options: {user: '{{ m }}'}, headers: {X-A: b}, max_concurrency: 3, requests_per_minute: 60, timeout_seconds: 9, retries: 1, max_chars: 500, repairs: 1, \
                  structured: false, votes: 3, panel: mean, rubric: 'Is it {{ vars.how }}? {\"a\": {\"b\": 1}}', prompt: 'Grade {{ output }} by {{ rubric }} {{ format }}'";
    let judge = judge_of(loaded(
        &suite(config, "", "  vars: {m: gpt-x, how: strict}\n"),
        &[],
    ));
    let model = &judge.models[0];
    let endpoint = &model.endpoint;
    assert_eq!(
        (endpoint.name().as_str(), endpoint.base_url.as_str()),
        ("openai:gpt-x", "http://127.0.0.1:9/v1")
    );
    assert_eq!(model.system.as_deref(), Some("Be strict."));
    assert_eq!(
        endpoint.key.as_ref().map(|key| key.source.to_string()),
        Some("the variable OPENAI_API_KEY".to_owned())
    );
    assert_eq!(
        (
            model.sampling.top_p,
            model.sampling.seed,
            model.sampling.temperature
        ),
        (Some(0.5), Some(7), None)
    );
    assert_eq!(
        (
            model.sampling.options["user"].to_string().as_str(),
            endpoint.headers["X-A"].as_str()
        ),
        ("\"gpt-x\"", "b")
    );
    assert_eq!(
        (
            endpoint.limits.max_concurrency,
            endpoint.limits.requests_per_minute
        ),
        (3, Some(60))
    );
    assert_eq!((endpoint.patience.retries, judge.timeout.as_secs()), (1, 9));
    assert_eq!(
        (
            judge.max_chars,
            judge.repairs,
            judge.structured,
            judge.votes,
            judge.panel
        ),
        (500, 1, false, 3, PanelRule::Mean)
    );
    assert_eq!(judge.rubric, "Is it strict? {\"a\": {\"b\": 1}}");
    assert_eq!(
        judge.prompt.as_deref(),
        Some("Grade {{ output }} by {{ rubric }} {{ format }}")
    );
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
            let key = model
                .endpoint
                .key
                .as_ref()
                .map(|key| key.source.to_string());
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
    openai:gpt-a None Some(5) ["j"] Some("s") Some("the variable OPENAI_API_KEY") Some(1.0)
    openai:gpt-b Some(1.0) Some(9) ["j"] Some("s") Some("the variable OPENAI_API_KEY") Some(2.0)
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
    9:17 missing-key: the judge has no `model` | add `model: "openai:gpt-4o-mini"`, or list several under `models:`
    9:32 grader-conflict: use `model` or `models`, not both | put all of them under `models:`
    9:34 grader-conflict: `openai:gpt-a` is listed twice | set `votes: 2` to call each model twice
    9:47 grader-conflict: one API key would be sent to several servers | set the keys under the suite's `providers:`, or set `api_key_env`, `api_key_file` or `api_key_command` for each of `models`
    9:76 grader-conflict: the header `Authorization` would be sent to several servers | set the keys under the suite's `providers:`, or set `api_key_env`, `api_key_file` or `api_key_command` for each of `models`
    9:49 unknown-key: unknown key `temprature` | did you mean `temperature`?
    9:42 unknown-provider: the model `nobody` has no provider | write `PROVIDER:nobody` with `openai`, `anthropic` or a name under the suite's `providers:`, or set a `base_url`
    9:57 missing-ref: the folder `gone` of recorded exchanges does not exist | the path is relative to the file that contains it; `--record DIR` writes such a folder
    9:42 warning suspicious-value: 3 votes at `temperature: 0` are no better than one: the model repeats its answer | remove `temperature`, or list several `models`
    9:32 warning suspicious-value: `panel` combines several votes, but there is only one | set more `votes`, or list several `models`
    9:44 undefined-variable: `nobody` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    9:50 undefined-variable: `nobody` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    9:32 unknown-key: unknown key `json_schema` | valid keys: `api_key_command`, `api_key_env`, `api_key_file`, `base_url`, `criteria`, `examples`, `headers`, `max_chars`, `max_concurrency`, `max_tokens`, `model`, `models`, `options`, `panel`, `pass_threshold`, `price`, `prompt`, `repairs`, `replay`, `request`, `requests_per_minute`, `retries`, `rubric`, `scoring`, `seed`, `show`, `structured`, `system`, `temperature`, `timeout_seconds`, `tokens_per_minute`, `top_p`, `votes`
    "#);
}

#[test]
fn a_scoring_fits_its_kind() {
    let rubric = format!("{M}, rubric: Is it good?");
    let of = |more: &str| {
        let judge = judge(&format!("{rubric}, {more}"), "");
        format!(
            "{:?} {} {:?} | {}",
            judge.panel,
            judge.pass_threshold,
            judge.scoring,
            criteria(&judge)
        )
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
    Majority 0.7 Categorical { categories: [ScoreCategory { name: "good", score: 1.0, description: "" }, ScoreCategory { name: "bad", score: 0.0, description: "not good" }] } | overall 1 None "" {}
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
    9:86 grader-conflict: [5, 1] is not a scale: its first number must be lower
    9:79 grader-conflict: `range` does not fit `type: boolean` | write `type: numeric`, or remove it
    9:79 grader-conflict: `categories` does not fit `type: numeric` | write `type: categorical`, or remove it
    9:96 grader-conflict: `pass_threshold` does not apply: a boolean verdict on the whole rubric has no score | remove it, or list `criteria:`; it is then the share of them that must be met
    9:70 suspicious-value: with `pass_threshold: 0`, every output passes | write a threshold above 0
    9:63 grader-incomplete: categorical scoring needs at least two categories | for example `categories: [{name: good, score: 1}, {name: bad, score: 0}]`
    9:127 duplicate-id: two categories are named `Good` | names must differ in more than case, spaces, `_`, `-` and `*`
    9:95 grader-conflict: every category's score reaches the threshold, so every output passes | a category passes when its score is at least `pass_threshold`, which is 0.7
    9:95 grader-conflict: no category's score reaches the threshold, so no output can pass | a category passes when its score is at least `pass_threshold`, which is 0.7
    9:116 out-of-range: `score` must be at most 1.0, found `2`
    9:96 wrong-type: element 1 of `categories`: expected a map, found the text `good`
    9:102 wrong-type: element 2 of `categories`: expected a map, found the text `bad`
    9:70 unknown-value: `percent` is not a valid value of `type`: expected one of `numeric`, `categorical`, `boolean`
    9:83 duplicate-id: two criteria are named `A*` | names must differ in more than case, spaces, `_`, `-` and `*`
    9:72 bad-format: `**` is not a valid criterion name | names must differ in more than case, spaces, `_`, `-` and `*`
    9:64 grader-conflict: some criteria have a weight and others have none | give every criterion a weight, or none
    9:64 grader-conflict: the weights of all criteria are 0 | set a weight above 0 for at least one criterion
    9:64 warning suspicious-value: the weights sum to 0.9, not to 1, so they are scaled | make them sum to 1, or to 100%
    9:82 grader-conflict: [3, 3] is not a scale: its first number must be lower
    9:110 out-of-range: the level 6 is outside the scale from 1 to 5 | set `scale`, or `range` under `scoring`
    9:116 bad-format: `good` is not a point on the scale from 1 to 5
    9:75 grader-conflict: `scale` requires numeric scoring | remove it
    9:99 unknown-value: `sure` is neither `true` nor `false`
    9:84 unknown-value: `goud` is not a category | did you mean `good`?
    9:66 unknown-key: unknown key `nam` | did you mean `name`?
    ");
}

#[test]
fn weights_and_scales_in_a_text_are_looked_at() {
    let of = |rubric: &str, more: &str| {
        said(
            &format!(
                "{M}, rubric: {}{more}",
                serde_json::to_string(rubric).unwrap()
            ),
            "",
        )
    };
    let two = |a: &str, b: &str| format!("Judge:\n1. **A** {a}\n2. **B** {b}\n");
    let boolean = ", scoring: {type: boolean}";
    let all = [
        of("", ""),
        of(" ", ""),
        of("cleer", ""),
        of(&two("(weight: 0.4)", "(weight: 0.5)"), ""),
        of(&two("(40%)", "(60%)"), ""),
        of(&two("(weight: 0.4)", ""), ""),
        of("1. **A** (weight: 1)\n2. **a** (weight: 1)", ""),
        of("1. **A** (weight: 1)\n2. Read it twice, and say why.", ""),
        of(&two("(weight: 0.4)", "(weight: 0.6)"), boolean),
        of("Score from 0 to 10.", ""),
        of("Score from 0 to 10.", boolean),
        of(
            "Score from 0 to 10.",
            ", scoring: {type: numeric, range: [0, 10]}",
        ),
        of(
            "Is it clear? Out of kindness, give it a rating out of 10.",
            "",
        ),
        of("1. **A** (weight: 1)\n   - 6: great\n   - 1: bad", ""),
        of(&"word ".repeat(20_001), ""),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    9:41 grader-incomplete: the rubric is empty, but a judge needs criteria
    9:41 grader-incomplete: the rubric is empty, but a judge needs criteria
    9:41 unknown-rubric: unknown rubric `cleer` | define it under `graders: {rubrics: ...}` in the suite, or write the criteria here
    9:41 warning suspicious-value: the weights sum to 0.9, not to 1, so they are scaled | make them sum to 1, or to 100%

    9:41 grader-conflict: some criteria have a weight and others have none | give every criterion a weight, or none
    9:41 duplicate-id: two criteria are named `a` | names must differ in more than case, spaces, `_`, `-` and `*`
    9:41 warning suspicious-value: the weights sum to 2, not to 1, so they are scaled | make them sum to 1, or to 100%
    9:41 warning suspicious-value: the weights in the rubric are ignored: not every item of it is a criterion | write each item as `1. **Name** (weight: 0.4)`, or list the criteria under `criteria:`
    9:41 warning suspicious-value: the weights in the rubric are ignored: the rubric is judged as a whole | list `criteria:` to have each of them judged, or remove `scoring`

    9:41 warning suspicious-value: the rubric uses a different scale (`Score from 0 to 10`), but the judge gives no numbers | if that is intended, set `scoring: {type: numeric, range: [0, 10]}`

    9:41 warning suspicious-value: the rubric uses a different scale (`rating out of 10`), but the judge scores from 1 to 5 | if that is intended, set `scoring: {type: numeric, range: [1, 10]}`
    9:41 warning suspicious-value: the rubric has a level 6, but the judge scores from 1 to 5 | if that is intended, set `scoring: {type: numeric, range: [1, 6]}`
    9:41 warning suspicious-value: the rubric has 100005 characters: it may not fit into the judge's context | keep what decides the verdict, and remove the rest
    ");
    let categorical =
        "scoring: {type: categorical, categories: [{name: Good, score: 1}, {name: Bad, score: 0}]}";
    let rubric = "1. **A**\\n   - good: yes\\n   - Bad: no\\n2. **B**";
    insta::assert_snapshot!(criteria(&judge(&format!("{M}, rubric: \"{rubric}\", {categorical}"), "")), @r#"
    A 0.5 None "" {"Bad": "no", "good": "yes"}
    B 0.5 None "" {}
    "#);
}

#[test]
fn examples_have_scores_of_the_scale() {
    let of = |settings: &str, score: &str| {
        said(
            &format!(
                "{M}, {settings}, examples: [{{output: o, score: 1, justification: j}}, {{output: o, score: {score}}}]"
            ),
            "",
        )
    };
    let numeric = "rubric: Is it good?";
    let boolean = "rubric: Is it good?, scoring: {type: boolean}";
    let categorical = "rubric: Is it good?, scoring: {type: categorical, categories: [{name: good, score: 1}, {name: bad, score: 0}]}";
    let two = "criteria: [{name: Depth, scale: [1, 9]}, {name: Tone}]";
    let all = [
        of(numeric, "6"),
        of(numeric, "'4'"),
        of(numeric, "true"),
        of(boolean, "true"),
        of(categorical, "goood"),
        of(two, "5"),
        of(two, "{depth: 9, Tone: 2}"),
        of(two, "{Depth: 10, Tone: 2}"),
        of(two, "{Depth: 3, Tonne: 2}"),
        of(two, "{Depth: 3}"),
    ];
    insta::assert_snapshot!(all.join("\n--\n"), @r#"
    9:125 out-of-range: 6 is outside the scale from 1 to 5
    --
    9:125 wrong-type: "4" is not a number
    --
    9:125 wrong-type: true is not a number
    --
    9:110 wrong-type: 1 is neither true nor false
    --
    9:175 wrong-type: 1 is not a category
    9:216 unknown-value: `goood` is not a category | did you mean `good`?
    --

    --

    --
    9:168 out-of-range: 10 is outside the scale from 1 to 9
    --
    9:171 unknown-key: unknown criterion `Tonne` | did you mean `Tone`?
    --
    9:160 missing-key: the example has no score for `Tone` | an example needs a score for every criterion
    "#);
    let kept = judge(
        &format!(
            "{M}, {boolean}, examples: [{{output: {{a: 1}}, input: i, expected: e, score: false}}]"
        ),
        "",
    );
    insta::assert_snapshot!(serde_json::to_string(&kept.examples).unwrap(), @r#"[{"input":"i","output":{"a":1},"expected":"e","score":false}]"#);
}

#[test]
fn a_prompt_shows_the_output_and_names_what_there_is() {
    let of = |prompt: &str| {
        said(
            &format!(
                "{M}, rubric: Is it good?, prompt: {}",
                serde_json::to_string(prompt).unwrap()
            ),
            "",
        )
    };
    let all = [
        "Grade {{ output }} by {{ rubric }}.",
        "Grade {output} by {rubric}: {\"a\": {}}",
        "{% if expected %}{{ expected }}{% endif %}{{ output }} {{ criteria | upper }} {{ range(3) }}",
        "{{ output | upper }} {{ criteria }}",
        "Grade by {rubric}.",
        "Grade {{ rubric }}.",
        "Grade {output}.",
        "Grade {output} by {rubrik}.",
        "Grade {{ output }} by {{ rubrics }} and {{ nothing }}.",
        "Grade {{ output }} {{ rubric }} {% if %}",
        "Grade {{ output | shout }} {{ rubric }}",
        "",
        "grade",
    ];
    insta::assert_snapshot!(all.map(of).join("\n"), @"
    9:62 grader-incomplete: the prompt does not show the output unchanged | write `{{ output }}` without a filter; it is quoted and placed between markers
    9:62 grader-incomplete: the prompt does not show the output to judge | write `{output}` where it belongs
    9:62 grader-incomplete: the prompt does not show the output to judge | write `{{ output }}` where it belongs
    9:62 warning suspicious-value: the prompt shows neither the rubric nor the criteria | write `{rubric}` where they belong
    9:62 warning suspicious-value: the prompt shows neither the rubric nor the criteria | write `{rubric}` where they belong
    9:81 warning suspicious-value: `{rubrik}` is not a name that a prompt can use, so it is not replaced | did you mean `{rubric}`?
    9:88 undefined-variable: `rubrics` is not available in a judge's prompt | did you mean `rubric`?
    9:106 undefined-variable: `nothing` is not available in a judge's prompt | a judge's prompt can use input, output, expected, rubric, criteria, examples, context, format; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    9:101 bad-template: the template cannot be rendered: syntax error: unexpected end of block | write `{% raw %}...{% endraw %}` around braces that are not a template
    9:81 bad-template: the template cannot be rendered: unknown filter: filter shout is unknown
    9:62 grader-incomplete: the prompt does not show the output to judge | write `{output}` where it belongs
    9:62 unknown-rubric: unknown prompt `grade` | define it under `graders: {prompts: ...}` in the suite, or write the prompt here
    ");
    let named = |name: &str| {
        let more = "  graders: {prompts: {short: 'Grade {output} by {rubric}.', blind: 'Grade {rubric}.'}}\n";
        loaded(
            &suite(
                &format!("{M}, rubric: Is it good?, prompt: {name}"),
                "",
                more,
            ),
            &[],
        )
    };
    assert_eq!(
        judge_of(named("short")).prompt.as_deref(),
        Some("Grade {output} by {rubric}.")
    );
    insta::assert_snapshot!(["shrt", "other", "blind"].map(|name| tell(&named(name))).join("\n"), @"
    10:62 unknown-rubric: unknown prompt `shrt` | did you mean `short`?
    10:62 unknown-rubric: unknown prompt `other` | define it under `graders: {prompts: ...}` in the suite, or write the prompt here
    10:62 grader-incomplete: the prompt does not show the output to judge | write `{output}` where it belongs
    ");
}

#[test]
fn what_is_expected_reaches_the_judge() {
    let expected = "      expected: {type: semantic, value: y}\n";
    let blind = "prompt: 'Grade {output} by {rubric}.'";
    let seeing = "prompt: 'Grade {{ output }} as {{ expected }} by {{ rubric }}.'";
    let all = [
        said(&format!("{M}, {seeing}"), expected),
        said(&format!("{M}, {blind}"), expected),
        said(&format!("{M}, {blind}, rubric: Is it good?"), expected),
        said(&format!("{M}, {blind}, rubric: Is it good?"), ""),
        said(M, "      expected: {type: semantic, value: ' '}\n"),
        said(
            &format!("{M}, rubric: Is it good?"),
            "      expected: {type: semantic, value: {must_include: null}}\n",
        ),
        said(
            &format!("{M}, rubric: Is it good?"),
            "      expected: {type: semantic, value: ''}\n",
        ),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    
    10:41 grader-incomplete: the prompt does not show `expected`, so the judge has nothing to judge by | write `{{ expected }}` (or `{expected}`) where it belongs
    10:41 warning suspicious-value: the prompt does not show `expected` | write `{{ expected }}` (or `{expected}`) where it belongs

    10:17 grader-incomplete: the expected value is empty and there is neither `rubric` nor `criteria`, so every output would pass | write an expected value, or describe a good output under `rubric:`
    7:17 grader-incomplete: the expected value is empty: it requires nothing and forbids nothing | write at least one text under `must_include` or `must_not_include`, or a reference

    ");
    let more = "  graders: {rubrics: {tone: Is it kind?}}\n";
    // As `rubric: |` has it.
    assert_eq!(
        judge_of(loaded(
            &suite(&format!("{M}, rubric: \"tone\\n\""), "", more),
            &[]
        ))
        .rubric,
        "Is it kind?"
    );
}

#[test]
fn a_semantic_expectation_finds_the_suites_default_judge() {
    let text = |graders: &str| {
        format!(
            "eval_suite:\n  name: s\n  target: {{type: echo}}\n{graders}  evals:\n    - {{id: a, input: x, expected: {{type: semantic, value: y}}}}\n"
        )
    };
    let shelf =
        "  graders: {graders: {j: {type: model, config: {model: gpt-4o}}}, defaults: {model: j}}\n";
    let case = case_of(loaded(&text(shelf), &[]));
    let grader = &case.grading.graders[0];
    assert_eq!((grader.name.as_deref(), grader.inferred), (Some("j"), true));
    let judge = grader.kind.judge().unwrap();
    assert_eq!(
        (
            judge.reference.as_ref().unwrap().as_str(),
            judge.criteria[0].name.as_str()
        ),
        (Some("y"), "overall")
    );
    assert!(
        judge
            .rubric
            .starts_with("Does the output say what the reference says?")
    );
    insta::assert_snapshot!(tell(&loaded(&text(""), &[])), @"5:35 cannot-infer-grader: no grader is set, and code cannot judge an expectation of type `semantic` | add `grader: {type: model, config: {model: ...}}`, or set a default judge in the suite: `graders: {defaults: {model: NAME}}`");
    // A reference is not all that a judge can be held to, but without one nothing would be judged.
    insta::assert_snapshot!(said(M, ""), @"9:17 grader-incomplete: the judge has nothing to judge by: there is no `rubric`, no `criteria` and no expected value | describe a good output under `rubric:`, or add `expected: {type: semantic, value: ...}`");
}

#[test]
fn a_regressions_judge_compares_with_the_baseline() {
    let of = |more: &str| {
        let shelf = "  graders: {graders: {j: {type: model, config: {model: gpt-4o}}, c: {type: code, config: {method: contains, must_include: [a]}}}}\n";
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: echo}}\n{shelf}  evals:\n    - {{id: a, current: {{input: x}}, {more}}}\n"
        );
        let case = case_of(loaded(&text, &[]));
        let one = |grader: &crate::model::Grader| match grader.kind.judge() {
            Some(judge) => {
                let rubric = judge.rubric.get(..20).unwrap_or(&judge.rubric);
                let reference = judge.reference.as_ref().map(ToString::to_string);
                format!(
                    "{} {rubric:?} {reference:?}",
                    if grader.negate { "not" } else { "is" }
                )
            }
            None => grader.kind.method().to_owned(),
        };
        case.grading
            .graders
            .iter()
            .map(one)
            .collect::<Vec<_>>()
            .join("; ")
    };
    let own = "grader: {type: model, config: {model: gpt-4o}}";
    let all = [
        format!("baseline: {{output: 'a b'}}, comparison: {{type: semantic}}, {own}"),
        "baseline: {output: 'a b'}, comparison: {type: semantic}, grader: j".to_owned(),
        format!("baseline: {{output: {{a: two words, id: 1}}}}, comparison: {{type: semantic, ignore_values: [id]}}, {own}"),
        // One that decides nothing does not stand for the comparison.
        "baseline: {output: 'a b'}, comparison: {type: semantic}, graders: [c, {type: model, informative: true, config: {model: gpt-4o}}]".to_owned(),
        format!("baseline: {{output: {{id: '{{{{any_uuid}}}}', t: '{{{{literal(\"x\")}}}}'}}}}, {own}"),
        format!("baseline: {{output: {{a: 1, b: two words}}}}, comparison: {{type: structural}}, {own}"),
        "baseline: {output: a}, grader: {type: model, negate: true, config: {model: gpt-4o, rubric: Is it worse?}}".to_owned(),
        own.to_owned(),
        "grader: {type: model, config: {model: gpt-4o, rubric: Is it good?}}".to_owned(),
    ];
    insta::assert_snapshot!(all.map(|more| of(&more)).join("\n"), @r#"
    is "Does the output say " Some("\"a b\"")
    is "Does the output say " Some("\"a b\"")
    is "Does the output say " Some("{\"a\":\"two words\",\"id\":1}"); structural_match
    contains; is "Does the output say " Some("\"a b\""); similarity
    is "Does the output say " Some("{\"id\":\"{{any_uuid}}\",\"t\":\"x\"}")
    is "Does the output say " Some("{\"a\":1,\"b\":\"two words\"}"); structural_match
    not "Is it worse?" Some("\"a\"")
    no_baseline
    is "Is it good?" None
    "#);
}

#[test]
fn judges_count_where_models_are_asked() {
    let settings = "model: gpt-4o, max_concurrency: 50, rubric: Is it good?";
    let text = suite(settings, "", "  config: {max_workers: 2}\n");
    let try_with = |text: &str, overrides: LoadOverrides, env: &[(&str, &str)]| {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        fs::write(cwd.join("suite.yaml"), text).expect("written");
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        load(&LoadRequest {
            suite: "suite.yaml".into(),
            purpose: PlanPurpose::Run,
            overrides,
            env,
            cwd,
            cpus: 4,
            ..LoadRequest::default()
        })
    };
    let key = [("OPENAI_API_KEY", "sk-open-123456")];
    let plan = try_with(&text, LoadOverrides::default(), &key)
        .plan
        .unwrap();
    assert_eq!(
        (plan.settings.max_workers, plan.settings.in_flight),
        (2, 54)
    );
    let judges: Vec<String> = plan
        .judge_models()
        .iter()
        .map(|model| model.endpoint.name())
        .collect();
    assert_eq!(judges, ["openai:gpt-4o"]);
    assert!(plan.secrets.contains(&"sk-open-123456".to_owned()));
    let regrade = || LoadOverrides {
        asks_only_judges: true,
        ..LoadOverrides::default()
    };
    insta::assert_snapshot!(tell(&try_with(&text, LoadOverrides::default(), &[])), @"10:25 no-api-key: openai:gpt-4o needs a key, and the environment variable `OPENAI_API_KEY` is not set | set `OPENAI_API_KEY`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache");
    insta::assert_snapshot!(tell(&try_with(&text, regrade(), &[])), @"10:25 no-api-key: openai:gpt-4o needs a key, and the environment variable `OPENAI_API_KEY` is not set | set `OPENAI_API_KEY`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache");
    assert_eq!(
        tell(&try_with(
            &text,
            LoadOverrides {
                asks_nobody: true,
                ..LoadOverrides::default()
            },
            &[]
        )),
        ""
    );
    // Of a regrading the target's key is nobody's need, and what it costs nobody's question.
    let both = text
        .replace("{type: echo}", "{type: model, model: claude-x}")
        .replace("max_workers: 2", "budget: {usd: 1}");
    insta::assert_snapshot!(tell(&try_with(&both, regrade(), &key)), @"unknown-price: the budget is in dollars, but `openai:gpt-4o` has no price | add it under `prices:` in dollars per million tokens (0 for a model that you host), or set a budget in `tokens`");
    insta::assert_snapshot!(tell(&try_with(&both, LoadOverrides::default(), &key)), @"
    unknown-price: the budget is in dollars, but `anthropic:claude-x`, `openai:gpt-4o` has no price | add it under `prices:` in dollars per million tokens (0 for a model that you host), or set a budget in `tokens`
    3:32 no-api-key: anthropic:claude-x needs a key, and the environment variable `ANTHROPIC_API_KEY` is not set | set `ANTHROPIC_API_KEY`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache
    ");
}

#[test]
fn a_dataset_gives_its_judge_references_and_leaves_its_prompt_alone() {
    let text = "eval_suite:\n  name: s\n  target: {type: echo}\n  evals: [{$ref: e.yaml}]\n";
    let rows = "{\"q\": \"a\", \"a\": \"one\"}\n{\"q\": \"b\", \"a\": \"two\"}\n{\"q\": \"c\", \"a\": \"three\"}\n";
    let eval = |expected: &str, prompt: &str| {
        format!(
            "metadata: {{id: e, name: e}}\ndataset:\n  format: jsonl\n  path: rows.jsonl\n  case:\n    id: '{{{{ row.q }}}}'\n    input: '{{{{ row.q }}}}'\n    expected: {expected}\n    \
             grader: {{type: model, config: {{model: gpt-4o, rubric: Is it right?, prompt: '{prompt}', examples: [{{output: '{{{{ x }}}}', score: 5}}]}}}}\n"
        )
    };
    let of = |expected: &str, prompt: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        for (name, text) in [
            ("suite.yaml", text),
            ("rows.jsonl", rows),
            ("e.yaml", &eval(expected, prompt)),
        ] {
            fs::write(cwd.join(name), text).expect("written");
        }
        let env = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "sk-open-123456".to_owned())]);
        let overrides = LoadOverrides::default();
        let loaded = load(&LoadRequest {
            suite: "suite.yaml".into(),
            purpose: PlanPurpose::Run,
            overrides,
            env,
            cwd,
            cpus: 4,
            ..LoadRequest::default()
        });
        let words = tell(&loaded);
        let plan = loaded.plan.unwrap_or_else(|| panic!("{words}"));
        let cases: Vec<String> = (0..3)
            .map(|at| {
                let case = plan.evals[0].cases.get(at).unwrap().unwrap();
                let judge = case.grading.graders[0].kind.judge().unwrap();
                let prompt = judge.prompt.as_deref().unwrap_or_default();
                format!(
                    "{:?} {:?} {prompt} {}",
                    judge.reference, judge.must_include, judge.examples[0].output
                )
            })
            .collect();
        format!("{words}\n{}", cases.join("\n"))
    };
    let whole = "{{ output }} {{ rubric }}";
    insta::assert_snapshot!(of("{type: exact, value: '{{ row.a }}'}", whole), @r#"
    Some(String("one")) [] {{ output }} {{ rubric }} "{{ x }}"
    Some(String("two")) [] {{ output }} {{ rubric }} "{{ x }}"
    Some(String("three")) [] {{ output }} {{ rubric }} "{{ x }}"
    "#);
    insta::assert_snapshot!(of("{type: semantic, value: {must_include: ['{{ row.a }}']}}", whole), @r#"
    None ["one"] {{ output }} {{ rubric }} "{{ x }}"
    None ["two"] {{ output }} {{ rubric }} "{{ x }}"
    None ["three"] {{ output }} {{ rubric }} "{{ x }}"
    "#);
    // What is doubtful is told once, and not for each row.
    insta::assert_snapshot!(of("{type: exact, value: '{{ row.a }}'}", "{output} by {rubrik}"), @r#"
    9:81 warning suspicious-value: the prompt shows neither the rubric nor the criteria | write `{rubric}` where they belong
    9:94 warning suspicious-value: `{rubrik}` is not a name that a prompt can use, so it is not replaced | did you mean `{rubric}`?
    Some(String("one")) [] {output} by {rubrik} "{{ x }}"
    Some(String("two")) [] {output} by {rubrik} "{{ x }}"
    Some(String("three")) [] {output} by {rubrik} "{{ x }}"
    "#);
}

#[test]
fn rows_whose_suite_is_not_known_are_told_of_once() {
    let of = |grader: &str, expected: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        let eval = format!(
            "metadata: {{id: e, name: e}}\n{grader}dataset:\n  format: jsonl\n  path: rows.jsonl\n  case:\n    id: '{{{{ row.q }}}}'\n    input: '{{{{ row.q }}}}'\n    expected: {expected}\n"
        );
        fs::write(cwd.join("e.yaml"), eval).expect("written");
        fs::write(cwd.join("rows.jsonl"), "{\"q\": \"a\"}\n{\"q\": \"b\"}\n").expect("written");
        let checked = check_files(&CheckRequest {
            paths: vec!["e.yaml".into()],
            cwd,
            ..CheckRequest::default()
        });
        let one = |p: &&Problem| {
            format!(
                "{} {}: {}",
                if p.severity == Severity::Error {
                    "error"
                } else {
                    "warning"
                },
                p.code.slug(),
                p.message
            )
        };
        checked
            .problems
            .sorted()
            .iter()
            .map(one)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let all = [
        of("grader: judge\n", "{type: exact, value: '{{ row.q }}'}"),
        of("", "{type: semantic, value: '{{ row.q }}'}"),
        of(
            "grader: {type: model, config: {model: o1}}\n",
            "{type: semantic, value: '{{ row.q }}'}",
        ),
        of(
            "grader: {type: model, config: {model: o1, rubric: 'Score from 0 to 10.'}}\n",
            "'{{ row.q }}'",
        ),
    ];
    insta::assert_snapshot!(all.join("\n--\n"), @"
    warning unknown-grader: unknown grader `judge`
    --
    warning cannot-infer-grader: no grader is set, and code cannot judge an expectation of type `semantic`
    --

    --
    ");
}
