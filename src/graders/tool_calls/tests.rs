use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::matching::maximum_matching;
use super::*;
use crate::graders::trajectory::tests::{grade_of, resolved};
use crate::model::Outcome;
use eval_agents::trajectory::Trajectory;

fn judged(config: &str, output: OutputValue, trajectory: Option<Trajectory>) -> Grade {
    let grader = resolved(config).unwrap_or_else(|why| panic!("{config}: {why}"));
    let view = SampleView {
        output,
        trajectory,
        seconds: None,
    };
    grade_of(&grader, &view)
}

fn line(config: &str, output: &Value) -> String {
    let grade = judged(config, OutputValue::Json(output.clone()), None);
    let f1 = grade
        .metrics
        .get(F1)
        .map_or("-".to_owned(), |f1| format!("{f1:.4}"));
    format!("{} {f1} {}", grade.outcome, grade.reason)
        .trim_end()
        .to_owned()
}

fn names(output: &OutputValue) -> Vec<String> {
    calls_in(output).into_iter().map(|call| call.name).collect()
}

fn call(name: &str, arguments: &str) -> Value {
    json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn calls_of_every_api_are_read() {
    let outputs = [
        json!({"text": "", "tool_calls": [call("f", "{\"a\": 1}")]}),
        json!([call("f", "{\"a\": 1}")]),
        json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [call("f", "{\"a\": 1}")]}}]}),
        json!({"type": "function_call", "name": "f", "arguments": "{\"a\": 1}", "call_id": "c"}),
        json!({"output": [{"type": "reasoning", "summary": []}, {"type": "function_call", "name": "f", "arguments": "{\"a\": 1}"}]}),
        json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "so"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]}),
        json!({"text": "", "tool_calls": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]}),
        json!({"functionCall": {"name": "f", "args": {"a": 1}}}),
        json!([{"text": "so"}, {"functionCall": {"name": "f", "args": {"a": 1}}}]),
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]}}]}),
        json!({"toolCall": {"functionCalls": [{"name": "f", "args": {"a": 1}}]}}),
        json!([{"name": "f", "arguments": {"a": 1}}]),
        json!({"tool_calls": [{"name": "f", "args": {"a": 1}}]}),
        json!({"text": "", "tool_calls": [{"function_call": {"name": "f", "arguments": "{\"a\": 1}"}}]}),
    ];
    let wanted = OutputCall {
        name: "f".to_owned(),
        arguments: Ok(Map::from_iter([("a".to_owned(), json!(1))])),
    };
    for output in outputs {
        assert_eq!(
            calls_in(&OutputValue::Json(output.clone())),
            std::slice::from_ref(&wanted),
            "{output}"
        );
        assert_eq!(
            calls_in(&OutputValue::Text(output.to_string())),
            std::slice::from_ref(&wanted),
            "{output}"
        );
    }
    for text in [
        "",
        "f()",
        "{\"name\": 1}",
        "{\"name\": \"f\"}",
        "[{\"name\": \"f\", \"input\": \"some text\"}]",
        "{\"content\": [{\"type\": \"text\", \"name\": \"f\"}]}",
    ] {
        assert_eq!(
            names(&OutputValue::Text(text.to_owned())),
            Vec::<String>::new(),
            "{text}"
        );
    }
    let raw = calls_in(&OutputValue::Json(
        json!({"tool_calls": [call("f", "{\"a\": 1"), call("f", "")]}),
    ));
    assert_eq!(raw[0].arguments, Err(json!("{\"a\": 1")));
    assert_eq!(raw[1].arguments, Ok(Map::new()));
}

const TOOLS: &str = "tools: [{type: function, function: {name: add, parameters: {type: object, properties: {a: {type: integer}}, \
                     required: [a], additionalProperties: false}}}, {name: look, input_schema: {type: object}}, \
                     {functionDeclarations: [{name: say, parameters: {type: OBJECT, properties: {text: {type: STRING}}}}, {name: stop}]}]";

#[test]
fn calls_match_the_schema_of_their_tool() {
    let output = |calls: Value| json!({"text": "", "tool_calls": calls});
    let mut lines = Vec::new();
    for calls in [
        json!([
            call("add", "{\"a\": 1}"),
            call("look", "{}"),
            call("say", "{\"text\": \"x\"}"),
            call("stop", "")
        ]),
        json!([call("add", "{\"a\": \"1\"}")]),
        json!([call("add", "{}"), call("add", "{\"a\": 1, \"b\": 2}")]),
        json!([call("say", "{\"text\": 1}")]),
        json!([call("stop", "{\"now\": true}")]),
        json!([call("add", "{\"a\": 1")]),
        json!([call("add", "[1]")]),
        json!([call("sub", "{\"a\": 1}")]),
        json!([]),
    ] {
        lines.push(line(
            &format!("method: tool_calls, {TOOLS}"),
            &output(calls),
        ));
    }
    let by_name = "method: tool_calls, tools: {add: {required: [a]}}";
    lines.push(line(by_name, &output(json!([call("add", "{}")]))));
    lines.push(line(by_name, &json!("no calls")));
    lines.push(line(
        "tools: {add: {}}, expected: add",
        &output(json!([call("add", "{}"), call("sub", "{}")])),
    ));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn f1_over_names_equals_the_formula_of_promptfoo() {
    let grade = |expected: &str, calls: &[&str]| {
        let calls: Vec<Value> = calls.iter().map(|name| call(name, "{}")).collect();
        let config = format!("method: tool_calls, expected: {expected}, threshold: 0.6");
        judged(
            &config,
            OutputValue::Json(json!({"text": "", "tool_calls": calls})),
            None,
        )
    };
    for (expected, calls, precision, recall, f1) in [
        ("[a, b]", &["a", "b"][..], 1.0, 1.0, 1.0),
        ("[a, b]", &["b", "a", "a"], 1.0, 1.0, 1.0),
        ("[a, b, b]", &["a"], 1.0, 0.5, 2.0 / 3.0),
        ("[a]", &["a", "b", "c"], 1.0 / 3.0, 1.0, 0.5),
        ("[a, b, c]", &["a", "d"], 0.5, 1.0 / 3.0, 0.4),
        ("[a]", &["b"], 0.0, 0.0, 0.0),
        ("[a]", &[], 0.0, 0.0, 0.0),
    ] {
        let grade = grade(expected, calls);
        for (name, value) in [(PRECISION, precision), (RECALL, recall), (F1, f1)] {
            let got = grade.metrics[name];
            assert!(
                (got - value).abs() < 1e-12,
                "{expected} {calls:?} {name}: {got}"
            );
        }
        assert_eq!(grade.score, Some(grade.metrics[F1]));
        assert_eq!(
            grade.outcome == Outcome::Passed,
            f1 >= 0.6,
            "{expected} {calls:?}"
        );
    }
}

#[test]
fn arguments_are_matched_one_to_one() {
    let output = |calls: &[(&str, &str)]| {
        let calls: Vec<Value> = calls
            .iter()
            .map(|(name, arguments)| call(name, arguments))
            .collect();
        json!({"text": "", "tool_calls": calls})
    };
    let config = "method: tool_calls, expected: [{name: f, args: {a: '{{any_number}}'}}, {name: f, args: {a: 1}}, g]";
    let lines = [
        // The second expected call can only be the first of the calls.
        line(
            config,
            &output(&[("f", "{\"a\": 1}"), ("f", "{\"a\": 2}"), ("g", "{}")]),
        ),
        line(
            config,
            &output(&[
                ("g", "{}"),
                ("f", "{\"a\": 2, \"b\": 0}"),
                ("f", "{\"a\": 1.0}"),
            ]),
        ),
        line(config, &output(&[("f", "{\"a\": 1}"), ("g", "{}")])),
        line(
            config,
            &output(&[
                ("f", "{\"a\": 3}"),
                ("f", "{\"a\": 2}"),
                ("g", "{}"),
                ("g", "{}"),
            ]),
        ),
        line(
            "method: tool_calls, expected: {name: f, args: {a: 1}, mode: exact}",
            &output(&[("f", "{\"a\": 1, \"b\": 2}")]),
        ),
        line(
            "method: tool_calls, expected: {name: f, args: {}, mode: exact}",
            &output(&[("f", "")]),
        ),
        line(
            "method: tool_calls, expected: [f, f], match: arguments",
            &output(&[("f", "{}")]),
        ),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn calls_of_an_agent_are_in_its_trajectory() {
    let mut trajectory = Trajectory::from_value(json!({
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "c", "function_name": "f", "arguments": {"a": 1}}]}],
    }))
    .unwrap();
    let config = "method: tool_calls, expected: {name: f, args: {a: 1}}";
    let text = || OutputValue::Text("done".to_owned());
    assert_eq!(
        judged(config, text(), Some(trajectory.clone())).outcome,
        Outcome::Passed
    );
    assert_eq!(judged(config, text(), None).outcome, Outcome::Failed);
    // An answer that looks like a call was not called.
    let said = || OutputValue::Text(json!({"name": "g", "arguments": {}}).to_string());
    let says = |name: &str, output| {
        let config = format!("method: tool_calls, expected: {name}");
        judged(&config, output, Some(trajectory.clone())).outcome
    };
    assert_eq!(says("g", said()), Outcome::Failed);
    assert_eq!(says("f", said()), Outcome::Passed);
    trajectory.extra = json!({"incomplete": ["it was cut"]}).as_object().cloned();
    let cut = judged(config, text(), Some(trajectory.clone()));
    assert_eq!(
        (cut.outcome, cut.cause),
        (Outcome::Errored, Some(Cause::MissingOutput))
    );
    // One call that is not valid is enough.
    let invalid = judged(
        "method: tool_calls, tools: {g: {}}",
        text(),
        Some(trajectory),
    );
    assert_eq!(invalid.outcome, Outcome::Failed);
}

#[test]
fn settings_that_compare_nothing_are_refused() {
    let mut lines = Vec::new();
    for config in [
        "method: tool_calls",
        "method: tool_calls, expected: []",
        "tools: []",
        "tools: {}",
        "tools: 3",
        "tools: [{description: x}]",
        "tools: {a: {type: 3}}",
        "tools: [{name: a}, {name: a}]",
        "tools: {a: {}}, threshold: 0.5",
        "tools: {a: {}}, expected: b",
        "method: tool_calls, expected: a, threshold: 0",
        "method: tool_calls, expected: a, threshold: 1.5",
        "method: tool_calls, expected: ''",
        "method: tool_calls, expected: {name: a, args: {}}",
        "method: tool_calls, expected: {name: a, args: {b: 1}}, match: names",
    ] {
        let why = resolved(config).expect_err(config);
        lines.push(format!("{config} => {why}"));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// The greatest number of wishes that can be fulfilled, by trying everything.
fn most_fulfilled(fits: &[Vec<usize>], used: u32) -> usize {
    let Some((first, rest)) = fits.split_first() else {
        return 0;
    };
    let without = most_fulfilled(rest, used);
    let with = first.iter().filter(|&&thing| used & (1 << thing) == 0);
    with.map(|&thing| 1 + most_fulfilled(rest, used | (1 << thing)))
        .max()
        .unwrap_or(0)
        .max(without)
}

proptest! {
    #[test]
    fn matching_is_as_large_as_any(fits in prop::collection::vec(prop::collection::vec(0..6usize, 0..5), 0..7)) {
        let taken = maximum_matching(&fits, 6);
        let mut wishes: Vec<usize> = taken.iter().flatten().copied().collect();
        prop_assert_eq!(wishes.len(), most_fulfilled(&fits, 0));
        for (thing, wish) in taken.iter().enumerate() {
            if let Some(wish) = wish {
                prop_assert!(fits[*wish].contains(&thing));
            }
        }
        wishes.sort_unstable();
        wishes.dedup();
        prop_assert_eq!(wishes.len(), taken.iter().flatten().count());
    }
}
