use serde_json::json;

use super::*;
use crate::model::Outcome;
use eval_match::RegexFlags;

fn grade(grader: &CodeGrader, value: &OutputValue) -> Grade {
    let check = grader.as_method().check().unwrap();
    check.grade(value, &PatternCache::default())
}

fn told(grader: &CodeGrader, value: OutputValue) -> String {
    let g = grade(grader, &value);
    assert_eq!(g.score.is_none(), g.outcome == Outcome::Errored);
    assert_eq!(g.outcome == Outcome::Passed, g.score == Some(1.0));
    let details = if g.details.is_empty() {
        String::new()
    } else {
        format!(" {}", Value::Object(g.details))
    };
    format!(
        "{} {} {}{details}",
        g.outcome,
        g.cause.map_or("-", Cause::name),
        g.reason
    )
    .trim_end()
    .to_owned()
}

fn text_of(text: &str) -> OutputValue {
    OutputValue::Text(text.into())
}

fn exact_of(any_of: &[Value]) -> CodeGrader {
    CodeGrader::ExactMatch(ExactMatch {
        any_of: any_of.to_vec(),
        case_sensitive: true,
        trim_whitespace: true,
        normalize_newlines: true,
    })
}

#[test]
fn exact_match_compares_texts_as_texts_and_json_by_value() {
    let lines = [
        told(&exact_of(&[json!("a\nb")]), text_of(" a\r\nb\n")),
        told(&exact_of(&[json!("Paris")]), text_of("paris")),
        told(&exact_of(&[json!("x"), json!("y")]), text_of("y")),
        told(&exact_of(&[json!("x"), json!("y")]), text_of("z")),
        told(&exact_of(&[json!(42)]), text_of("42")),
        told(&exact_of(&[json!(42)]), text_of("42.0")),
        told(&exact_of(&[json!(42)]), OutputValue::Json(json!(42.0))),
        told(
            &exact_of(&[json!({"a": [1, 2]})]),
            text_of("{ \"a\": [1, 2.0] }"),
        ),
        told(
            &exact_of(&[json!({"a": [1, 2]})]),
            OutputValue::Json(json!({"a": [1, 3], "b": 1})),
        ),
        told(&exact_of(&[json!(true)]), OutputValue::Json(json!(1))),
        told(&exact_of(&[json!("42")]), OutputValue::Json(json!(42))),
        told(&exact_of(&[json!("t")]), OutputValue::Json(json!("t"))),
        told(&exact_of(&[]), text_of("")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    passed -
    failed wrong_answer expected "Paris", got "paris" (only case differs)
    passed -
    failed wrong_answer none of 2 alternatives matches; the first: expected "x", got "z"
    passed -
    failed wrong_answer expected "42", got "42.0"
    passed -
    passed -
    failed wrong_answer a[1]: expected 2, got 3; and 1 difference more
    failed wrong_answer (root): expected boolean true, got 1
    passed -
    passed -
    errored harness exact_match has no expected value
    "#);
}

#[test]
fn contains_names_what_is_missing_and_what_must_not_be() {
    let grader = CodeGrader::Contains(ContainsMatch {
        must_include: vec!["alpha".into(), "Beta".into()],
        must_not_include: vec!["secret".into()],
        case_sensitive: false,
    });
    let lines = [
        told(&grader, text_of("ALPHA beta")),
        told(&grader, text_of("alpha SECRET")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    passed -
    failed wrong_answer missing "Beta"; contains "secret", which it must not {"forbidden":["secret"],"missing":["Beta"]}
    "##);
}

#[test]
fn regex_scores_follow_the_verdict() {
    let regex = |patterns: &[&str], must_match: bool, groups: &[&str]| {
        CodeGrader::Regex(RegexMatch {
            patterns: patterns.iter().map(|p| (*p).to_owned()).collect(),
            flags: RegexFlags::default(),
            must_match,
            capture_groups: groups.iter().map(|g| (*g).to_owned()).collect(),
        })
    };
    let lines = [
        told(
            &regex(&[r"(?P<y>\d{4})-(\d\d)"], true, &["y", "2"]),
            text_of("on 2024-05"),
        ),
        told(&regex(&["a", "b"], true, &[]), text_of("b")),
        told(&regex(&["a"], true, &[]), text_of("b")),
        told(&regex(&["a", "c"], true, &[]), text_of("b")),
        told(&regex(&["TODO"], false, &[]), text_of("done")),
        told(&regex(&["TODO"], false, &[]), text_of("a TODO b")),
        told(&regex(&["("], true, &[]), text_of("x")),
        told(&regex(&[], true, &[]), text_of("x")),
        told(&regex(&["^done$"], true, &[]), text_of("done\n")),
        told(&regex(&[r"^(?=(a+))\1b"], true, &[]), text_of("aab")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    passed -  {"groups":{"2":"05","y":"2024"}}
    passed -
    failed wrong_answer `a` does not match
    failed wrong_answer none of 2 patterns matches
    passed -
    failed wrong_answer `TODO` matches "TODO", but must not match
    errored harness the pattern `(` does not compile: unclosed group
    errored harness regex has no pattern
    passed -
    passed -
    "##);
}

#[test]
fn a_pattern_that_backtracks_for_ever_is_errored() {
    let grader = CodeGrader::Regex(RegexMatch {
        patterns: vec![r"^(?=x*)(\w+\w+)+\1$".into()],
        flags: RegexFlags::default(),
        must_match: false,
        capture_groups: vec![],
    });
    let g = grade(&grader, &text_of(&format!("{}!", "a".repeat(60))));
    assert_eq!(
        (g.outcome, g.cause),
        (Outcome::Errored, Some(Cause::Harness))
    );
}

#[test]
fn numbers_within_tolerance() {
    let grader = |any_of: Vec<Value>, absolute| {
        CodeGrader::Numeric(NumericMatch {
            any_of,
            absolute,
            relative: None,
            min: None,
            max: Some(10.0),
        })
    };
    let lines = [
        told(&grader(vec![json!(2.72)], Some(0.01)), text_of("2.725")),
        told(
            &grader(vec![json!(2.72)], Some(0.01)),
            text_of("it is 2.72"),
        ),
        told(&grader(vec![json!(30)], None), OutputValue::Json(json!(30))),
        told(&grader(vec![json!("x")], None), text_of("1")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    passed -
    failed wrong_answer the output is more than a number: "it is 2.72" (`extract` can select the 2.72)
    failed wrong_answer expected at most 10, got 30
    errored harness the expected value is not a number: no number in "x"
    "##);
}

#[test]
fn json_values_and_schemas() {
    let grader = |any_of: &[Value], schema: Option<Value>| {
        CodeGrader::Json(JsonMatch {
            any_of: any_of.to_vec(),
            schema,
        })
    };
    let schema = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "n": {"maximum": 3}}});
    let lines = [
        told(&grader(&[], None), text_of("{\"a\": 1}")),
        told(&grader(&[], None), text_of("{\"a\": }")),
        told(&grader(&[json!({"a": 1})], None), text_of("{\"a\": 1.0}")),
        told(
            &grader(&[json!({"a": 1, "b": 2, "c": {"d": 1}})], None),
            text_of("{\"a\": true, \"c\": {}}"),
        ),
        told(&grader(&[json!(1), json!(2)], None), text_of("3")),
        told(&grader(&[], Some(schema.clone())), text_of("{\"id\": 1}")),
        told(
            &grader(&[], Some(schema)),
            text_of("{\"id\": \"x\", \"n\": 5}"),
        ),
        told(
            &grader(&[], Some(json!({"type": "nonsense"}))),
            text_of("1"),
        ),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    passed -
    failed wrong_answer the output is not JSON: expected value at line 1 column 7
    passed -
    failed wrong_answer a: expected number 1, got true; and 2 differences more
    failed wrong_answer none of 2 alternatives matches; the first: (root): expected 1, got 3
    passed -
    failed wrong_answer does not match the schema: /id: "x" is not of type "integer"; and 1 more {"schema_errors":["/id: \"x\" is not of type \"integer\"","/n: 5 is greater than the maximum of 3"]}
    errored harness the JSON Schema is not valid: "nonsense" is not valid under any of the schemas listed in the 'anyOf' keyword
    "##);
}

#[test]
fn structures_name_the_paths_that_differ() {
    let rule = CodeGrader::StructuralMatch(StructuralOptions::as_it_stands(
        json!({"id": "{{any_uuid}}", "n": 1, "list": [1, 2]}),
    ));
    let lines = [
        told(
            &rule,
            text_of(r#"{"id": "123e4567-e89b-42d3-a456-426614174000", "n": 1.0, "list": [1, 2]}"#),
        ),
        told(&rule, text_of(r#"{"id": "x", "n": 2, "list": [1, 2]}"#)),
        told(&rule, text_of("no")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    passed -
    failed wrong_answer id: expected a UUID ({{any_uuid}}), got "x"; and 1 difference more {"difference_count":2,"differences":[{"actual":"\"x\"","expected":"a UUID ({{any_uuid}})","kind":"matcher","path":"id"},{"actual":"2","expected":"1","kind":"value","path":"n"}]}
    failed wrong_answer the output is not JSON: expected ident at line 1 column 2
    "##);
}
