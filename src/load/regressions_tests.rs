use std::collections::BTreeMap;
use std::fs;

use super::{LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, load};
use crate::model::{CodeGrader, ExactMatch, Grader, GraderKind};

fn loaded(eval: &str) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    let text = format!(
        "eval_suite:\n  name: s\n  target: {{type: echo}}\n  evals:\n    - {{id: r, {eval}}}\n"
    );
    fs::write(cwd.join("suite.yaml"), text).expect("written");
    load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose: PlanPurpose::Run,
        overrides: LoadOverrides::default(),
        env: BTreeMap::new(),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

fn graders(eval: &str) -> Vec<Grader> {
    let loaded = loaded(eval);
    let words: Vec<_> = loaded.problems.iter().map(|p| p.message.clone()).collect();
    let plan = loaded.plan.unwrap_or_else(|| panic!("{eval}: {words:?}"));
    plan.evals[0]
        .cases
        .get(0)
        .unwrap()
        .unwrap()
        .grading
        .graders
        .clone()
}

fn code(eval: &str) -> CodeGrader {
    match graders(eval).remove(0).kind {
        GraderKind::Code(code) => code,
        other => panic!("another grader: {other:?}"),
    }
}

/// Messages and hints of what is wrong.
fn said(eval: &str) -> String {
    let loaded = loaded(eval);
    let tell = |p: &super::Problem| match &p.hint {
        Some(hint) => format!("{}: {} | {hint}", p.code.slug(), p.message),
        None => format!("{}: {}", p.code.slug(), p.message),
    };
    loaded
        .problems
        .sorted()
        .into_iter()
        .map(tell)
        .collect::<Vec<_>>()
        .join("\n")
}

fn numeric(output: &str, tolerance: &str) -> String {
    format!(
        "baseline: {{output: {output}}}, current: {{input: x}}, comparison: {{type: numeric, tolerance: {tolerance}}}"
    )
}

fn semantic(output: &str, more: &str) -> String {
    format!(
        "baseline: {{output: {output}}}, current: {{input: x}}, comparison: {{type: semantic{more}}}"
    )
}

#[test]
fn a_regression_without_a_baseline_is_no_definition_error() {
    let table = [
        ("current: {input: x}", "no_baseline"),
        (
            "current: {input: x}, comparison: {type: numeric}",
            "no_baseline",
        ),
        // The seeds' JSON document.
        (
            "current: {input: x}, grader: {type: code, config: {method: structural_match, strict: false}}",
            "no_baseline",
        ),
        (
            "current: {input: x}, grader: {type: code, config: {method: similarity}}",
            "no_baseline",
        ),
        (
            "current: {input: x}, grader: {type: code, config: {method: json}}",
            "no_baseline",
        ),
        (
            "current: {input: x}, grader: {type: code, config: {method: numeric}, negate: true}",
            "no_baseline",
        ),
        (
            "current: {input: x}, graders: [{type: code, config: {method: regex, pattern: a}}, {type: code, config: {method: exact_match}}]",
            "regex no_baseline",
        ),
        // These need none.
        (
            "current: {input: x}, grader: {type: code, config: {method: regex, pattern: a}}",
            "regex",
        ),
        (
            "current: {input: x}, grader: {type: code, config: {command: ['true']}}",
            "command",
        ),
        (
            "current: {input: x}, grader: {type: code, config: {method: numeric, min: 1}}",
            "numeric",
        ),
        (
            "current: {input: x}, grader: {type: code, config: {method: json, schema: {}}}",
            "json",
        ),
    ];
    for (eval, methods) in table {
        let graders = graders(eval);
        let got: Vec<&str> = graders.iter().map(|grader| grader.kind.method()).collect();
        assert_eq!(got.join(" "), methods, "{eval}");
        assert!(graders.iter().all(|grader| !grader.negate), "{eval}");
    }
}

#[test]
fn numeric_comparisons_lead_to_numbers() {
    let scores =
        "{quality_scores: {tone: 4.6, note: ok}, comments: [a], users: [{age: 3, name: b}]}";
    insta::assert_snapshot!(said(&numeric(scores, "{quality_score: {min_delta: -0.3}}")), @"grader-conflict: the tolerance of `quality_score` matches nothing in the baseline | did you mean `quality_scores`?");
    insta::assert_snapshot!(said(&numeric(scores, "{zzz: 1}")), @"grader-conflict: the tolerance of `zzz` matches nothing in the baseline | its numbers are under `quality_scores`, `quality_scores.tone`, `users`, `users.*`, `users.*.age`");
    insta::assert_snapshot!(said(&numeric(scores, "{quality_scores.note: 1}")), @"grader-conflict: the tolerance of `quality_scores.note` is for numbers, but the baseline has a text there");
    insta::assert_snapshot!(said(&numeric(scores, "{comments: 1}")), @"grader-conflict: the tolerance of `comments` covers no number of the baseline");
    insta::assert_snapshot!(said(&numeric("{a: '4.5'}", "{a: 1}")), @"grader-conflict: the tolerance of `a` is for numbers, but the baseline has a text there | write the number without quotes");
    insta::assert_snapshot!(said(&numeric("{a: b}", "{}")), @"grader-incomplete: `comparison: numeric` compares numbers, but the baseline has none to compare");
    insta::assert_snapshot!(said(&numeric("{a: 1}", "{metric: token_f1}")), @"grader-conflict: `tolerance.metric` selects a similarity measure, which only `type: semantic` uses | use `type: semantic`, or remove it");
    insta::assert_snapshot!(said("baseline: {output: {a: 1}}, current: {input: x}, grader: {type: code, config: {method: structural_match, tolerance: {b: 1}}}"), @"grader-conflict: the tolerance of `b` matches nothing in the baseline | its numbers are under `a`");
    for (paths, kept) in [
        (
            "{users.*.age: 1}",
            r#"{"users":[{"age":3}]} ["users.*.age"]"#,
        ),
        (
            "{quality_scores: 1}",
            r#"{"quality_scores":{"tone":4.6}} ["quality_scores"]"#,
        ),
        (
            "{}",
            r#"{"quality_scores":{"tone":4.6},"users":[{"age":3}]} []"#,
        ),
    ] {
        let CodeGrader::StructuralMatch(s) = code(&numeric(scores, paths)) else {
            panic!("{paths}")
        };
        assert_eq!(
            format!(
                "{} {:?}",
                s.expected,
                s.tolerance.keys().collect::<Vec<_>>()
            ),
            kept
        );
    }
    // In a response paths begin in the body, and stay right when the status is left out.
    let response = "{status: 200, body: {score: 4.5, n: 1}}";
    let CodeGrader::StructuralMatch(s) = code(&numeric(response, "{score: 0.3}")) else {
        panic!()
    };
    assert_eq!(
        (
            s.expected.to_string().as_str(),
            s.tolerance.contains_key("body.score")
        ),
        (r#"{"body":{"score":4.5}}"#, true)
    );
}

#[test]
fn semantic_comparisons_are_by_likeness() {
    let CodeGrader::Similarity(s) = code(&semantic("The cat sat.", "")) else {
        panic!()
    };
    assert_eq!(
        (s.measure.name(), s.threshold, s.case_sensitive),
        ("token_f1", 0.8, false)
    );
    let CodeGrader::Similarity(s) = code(&semantic(
        "a b",
        ", tolerance: {similarity: 0.5, metric: levenshtein}",
    )) else {
        panic!()
    };
    assert_eq!(
        (s.measure.name(), s.threshold, s.case_sensitive),
        ("levenshtein", 0.5, true)
    );
    let CodeGrader::StructuralMatch(s) = code(&semantic(
        "{a: The cat sat}",
        ", tolerance: {threshold: 0.6}",
    )) else {
        panic!()
    };
    assert_eq!(
        (s.likeness.unwrap().threshold, s.allow_additional_fields),
        (0.6, false)
    );
    let hint = "`tolerance: {similarity: 0.8, metric: token_f1}`";
    for (output, more, message) in [
        ("'!!!'", "", "grader-incomplete: `comparison: semantic` compares words, but the baseline has none | use `type: exact` or `type: structural`, which compare any output".to_owned()),
        ("{a: 1, b: '{{any_uuid}}'}", "", "grader-incomplete: `comparison: semantic` compares words, but the baseline has none | use `type: exact` or `type: structural`, which compare any output".to_owned()),
        ("a", ", tolerance: {similarity: 0}", "grader-conflict: with `similarity: 0`, every output passes | write a similarity above 0, at most 1".to_owned()),
        ("a", ", tolerance: {similarity: 80}", "grader-conflict: a similarity is between 0 and 1, so none reaches 80 | 1 means equal texts".to_owned()),
        ("a", ", tolerance: {metric: edit_rate}", "grader-conflict: `edit_rate` measures how different texts are, but `semantic` needs a similarity measure | use token_f1, rouge_l, levenshtein or bleu".to_owned()),
        ("a", ", tolerance: {similarity: 0.5, threshold: 0.5}", format!("grader-conflict: `similarity` and `threshold` are the same setting | {hint}")),
        ("a", ", tolerance: {scores: 0.5}", format!("grader-conflict: `semantic` compares texts, but `tolerance.scores` is for numbers | {hint}")),
        ("a", ", tolerance: {similarity: {relative: 0.5}}", format!("grader-conflict: the lowest similarity must be one number | {hint}")),
    ] {
        assert_eq!(said(&semantic(output, more)), message, "{output} {more}");
    }
    // A judge beside it judges.
    let judge = ", grader: {type: model, config: {model: m, base_url: 'http://127.0.0.1:9/v1', rubric: be good}}";
    assert_eq!(
        graders(&format!("{}{judge}", semantic("a b", "")))[0]
            .kind
            .method(),
        "model"
    );
}

#[test]
fn a_comparison_beside_graders_is_not_lost() {
    let of = |comparison: &str, graders: &str| {
        format!(
            "baseline: {{output: {{a: 1, b: two words}}}}, current: {{input: x}}, comparison: {{{comparison}}}, {graders}"
        )
    };
    let judge = "grader: {type: model, config: {model: m, base_url: 'http://127.0.0.1:9/v1', rubric: be good}}";
    let human = "grader: {type: human, config: {time_limit_minutes: 5}}";
    for (comparison, written, methods) in [
        (
            "type: structural, ignore_fields: [b]",
            judge,
            "model structural_match",
        ),
        ("type: numeric", judge, "model structural_match"),
        ("type: exact", human, "human structural_match"),
        ("type: semantic", judge, "model"),
        (
            "type: structural",
            "grader: {type: code, config: {method: structural_match}}",
            "structural_match",
        ),
        (
            "type: exact",
            "grader: {type: code, config: {method: exact_match}}",
            "exact_match",
        ),
        (
            "type: semantic",
            "grader: {type: code, config: {method: similarity}}",
            "similarity",
        ),
    ] {
        let got = graders(&of(comparison, written));
        let got: Vec<&str> = got.iter().map(|grader| grader.kind.method()).collect();
        assert_eq!(got.join(" "), methods, "{comparison} {written}");
    }
    let two_ways = "grader-conflict: `comparison` and `grader` define two different ways to compare | keep one of them";
    for (comparison, method) in [
        (
            "type: semantic, tolerance: {similarity: 0.99}",
            "similarity",
        ),
        ("type: numeric, require_keys: [z]", "numeric"),
        ("type: exact, ignore_fields: [a]", "exact_match"),
    ] {
        let grader = format!("grader: {{type: code, config: {{method: {method}}}}}");
        assert_eq!(said(&of(comparison, &grader)), two_ways, "{comparison}");
    }
    let any = format!("graders: [{}, {}], combine: any", &judge[8..], &human[8..]);
    insta::assert_snapshot!(said(&of("type: structural", &any)), @"grader-conflict: with `combine`, it is not defined how `comparison` counts | write the comparison as one of the `graders:`");
}

#[test]
fn comparisons_that_nearly_nothing_can_fail_are_told() {
    let of = |output: &str, comparison: &str| {
        said(&format!(
            "baseline: {{output: {output}}}, current: {{input: x}}, comparison: {{{comparison}}}"
        ))
    };
    let ignored = "suspicious-value: `ignore_fields` leaves no value of the baseline to compare, so nearly any output passes \
                   | list only fields that may differ; `ignore_values` and `require_keys` require that a field exists";
    let empty = "suspicious-value: the baseline contains no value, and additional fields are allowed, so nearly any output \
                 passes | `options: {strict: true}` forbids additional fields; `require_keys` requires some";
    for (output, comparison, told) in [
        (
            "{a: 1, b: [2]}",
            "type: structural, ignore_fields: ['*']",
            ignored,
        ),
        (
            "{a: 1, b: [2]}",
            "type: exact, ignore_fields: ['$']",
            ignored,
        ),
        (
            "{a: 1, b: [2]}",
            "type: structural, ignore_fields: [a, 'b.*']",
            ignored,
        ),
        (
            "{a: 1, b: []}",
            "type: exact, ignore_fields: ['*']",
            ignored,
        ),
        (
            "{status: 200, body: {x: {y: 1}}}",
            "type: structural, ignore_fields: [status, '*.y']",
            ignored,
        ),
        ("{a: 1, b: x}", "type: numeric, ignore_fields: [a]", ignored),
        ("{}", "type: structural", empty),
        ("{a: {}}", "type: structural", empty),
        ("{}", "type: exact", ""),
        ("[]", "type: structural", ""),
        ("{a: 1, b: [2]}", "type: structural, ignore_fields: [a]", ""),
        (
            "{a: 1}",
            "type: structural, ignore_fields: [a], require_keys: [a]",
            "",
        ),
        ("{a: 1}", "type: structural, ignore_values: [a]", ""),
        ("['{{any_string}}']", "type: structural", ""),
    ] {
        assert_eq!(of(output, comparison), told, "{output} {comparison}");
    }
}

#[test]
fn matchers_and_literals_of_a_text_baseline() {
    let exact = |output: &str| {
        code(&format!(
            "baseline: {{output: {output}}}, current: {{input: x}}, comparison: {{type: exact}}"
        ))
    };
    assert!(
        matches!(exact("'{{any_uuid}}'"), CodeGrader::StructuralMatch(s) if s.expected == "{{any_uuid}}")
    );
    assert!(
        matches!(exact(r#"'{{literal("{{any_uuid}}")}}'"#), CodeGrader::StructuralMatch(s) if s.expected == r#"{{literal("{{any_uuid}}")}}"#)
    );
    assert!(
        matches!(exact("{a: '{{any_uuid}}'}"), CodeGrader::StructuralMatch(s) if !s.allow_additional_fields)
    );
    let by = |method: &str| {
        code(&format!(
            "baseline: {{output: '{{{{literal(\"{{{{any_uuid}}}}\")}}}}'}}, current: {{input: x}}, grader: {{type: code, config: {{method: {method}}}}}"
        ))
    };
    assert!(
        matches!(by("exact_match"), CodeGrader::ExactMatch(ExactMatch { any_of, .. }) if any_of == ["{{any_uuid}}"])
    );
    assert!(
        matches!(by("similarity"), CodeGrader::Similarity(s) if s.references == ["{{any_uuid}}"])
    );
    insta::assert_snapshot!(said("baseline: {output: '{{any_uuid}}'}, current: {input: x}, grader: {type: code, config: {method: exact_match, case_sensitive: false}}"), @"grader-conflict: the baseline contains matchers, so settings for comparing texts do not apply | remove `case_sensitive`, `trim_whitespace` and `normalize_newlines`");
    insta::assert_snapshot!(said("baseline: {output: {a: '{{literal(x)}}', b: ' {{any_uuid}}', c: 'see {{any_uuid}}'}}, current: {input: x}"), @r#"
    bad-matcher: literal needs one JSON string: literal("the text"), with \" and \\ for a quote and a backslash
    bad-matcher: a matcher must be the whole text | remove the whitespace around it; for a text with a variable part use `{{any_regex("...")}}`
    bad-matcher: a matcher must be the whole text | use `{{any_regex("...")}}` for a text with a variable part, and `{{literal("...")}}` for exactly this text
    "#);
}
