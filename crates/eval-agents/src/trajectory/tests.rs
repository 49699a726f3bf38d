use eval_base::redact::Redactor;
use serde_json::{Value, json};

use super::*;

fn document(steps: Value) -> Value {
    json!({"schema_version": "ATIF-v1.2", "agent": {"name": "a", "version": "1"}, "steps": steps})
}

fn error_of(value: Value) -> String {
    Trajectory::from_value(value).unwrap_err().to_string()
}

#[test]
fn older_versions_are_written_as_the_newest_with_other_fields_in_extra() {
    let mut value = document(json!([
        {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "Look"},
            {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            {"type": "audio", "source": {"media_type": "audio/wav", "path": "b.wav", "duration_sec": 1.5}}], "mood": "good"},
        {"step_id": 2, "source": "agent", "message": "", "tool_calls": null, "observation": null,
         "observation": {"results": [{"content": "x", "subagent_trajectory_ref": [{"session_id": "s"}]}], "odd": 1}},
    ]));
    value["origin"] = json!({"tool": 1});
    let trajectory = Trajectory::from_value(value).unwrap();
    let written = serde_json::to_value(&trajectory).unwrap();
    assert_eq!(
        written,
        json!({
            "schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "extra": {"origin": {"tool": 1}},
            "steps": [
                {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "Look"},
                    {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
                    {"type": "audio", "source": {"media_type": "audio/wav", "path": "b.wav", "duration_sec": 1.5}}], "extra": {"mood": "good"}},
                {"step_id": 2, "source": "agent", "message": "", "observation": {"results": [
                    {"content": "x", "subagent_trajectory_ref": [{"session_id": "s", "trajectory_id": "s"}]}]}},
            ]
        })
    );
    assert_eq!(Trajectory::from_value(written).unwrap(), trajectory);
    assert_eq!(
        trajectory.steps[0].message.text(),
        "Look\n[image: a.png]\n[audio: b.wav]"
    );
}

#[test]
fn wrong_types_and_broken_rules_are_errors_with_their_path() {
    let step = |step: Value| error_of(document(json!([step])));
    assert_eq!(
        step(json!({"step_id": 1, "source": "agent", "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": "{}"}]})),
        "`steps[0].tool_calls[0].arguments`: invalid type: string \"{}\", expected a map"
    );
    assert_eq!(
        step(json!({"step_id": 1, "source": "agent", "message": [{"type": "video"}]})),
        "`steps[0].message[0].type`: unknown variant `video`, expected one of `text`, `image`, `audio`"
    );
    assert_eq!(
        step(json!({"step_id": 2, "source": "user", "message": ""})),
        "`steps[0].step_id`: 2, but steps count from 1 without gaps: expected 1"
    );
    assert_eq!(
        step(json!({"step_id": 1, "source": "user", "message": "", "timestamp": "noon"})),
        "`steps[0].timestamp`: not a time like `2026-01-31T12:00:00Z`"
    );
    assert_eq!(
        step(json!({"step_id": 1, "source": "user", "message": "", "metrics": {}})),
        "`steps[0].metrics`: only steps with `source: agent` have this field"
    );
    assert_eq!(
        step(json!({"step_id": 1, "source": "agent", "message": "",
            "observation": {"results": [{"source_call_id": "c9"}]}})),
        "`steps[0].observation.results[0].source_call_id`: `c9` is not the id of a tool call of this step"
    );
    assert_eq!(
        step(json!({"step_id": 1, "source": "agent", "message": "", "metrics": {"cost_usd": -1}})),
        "`steps[0].metrics.cost_usd`: -1 is not an amount of dollars"
    );
    assert_eq!(
        step(
            json!({"step_id": 1, "source": "agent", "message": "", "metrics": {"prompt_tokens": -1}})
        ),
        "`steps[0].metrics.prompt_tokens`: invalid number"
    );
    assert_eq!(
        error_of(document(json!([]))),
        "`steps`: a trajectory requires at least one step"
    );
    let mut newer = document(json!([]));
    newer["schema_version"] = json!("ATIF-v1.9");
    assert_eq!(
        error_of(newer),
        "`schema_version`: \"ATIF-v1.9\" cannot be read; ATIF-v1.0 to ATIF-v1.8 can"
    );
    assert!(
        Trajectory::from_json(b"{")
            .unwrap_err()
            .to_string()
            .starts_with("not JSON: ")
    );
}

#[test]
fn tool_calls_of_subagents_follow_the_call_that_started_them_once() {
    let call =
        |id: &str, name: &str| json!({"tool_call_id": id, "function_name": name, "arguments": {}});
    let subagent = |id: &str, name: &str| {
        let mut value = document(json!([
            {"step_id": 1, "source": "agent", "message": "", "tool_calls": [call("c1", name)],
             "metrics": {"prompt_tokens": 1}}]));
        value["trajectory_id"] = json!(id);
        value
    };
    let mut value = document(json!([
        {"step_id": 1, "source": "agent", "message": "first", "tool_calls": [call("c1", "Task"), call("c2", "Read")],
         "metrics": {"prompt_tokens": 10, "completion_tokens": 1, "cost_usd": 0.5},
         "observation": {"results": [
            {"source_call_id": "c2", "content": "no", "extra": {"exit_code": 2}},
            {"source_call_id": "c1", "subagent_trajectory_ref": [{"trajectory_id": "one"}, {"trajectory_id": "one"}]}]}},
        {"step_id": 2, "source": "agent", "message": " ", "tool_calls": [call("c1", "Write")],
         "metrics": {"prompt_tokens": 100}},
    ]));
    value["subagent_trajectories"] = json!([subagent("other", "Lost"), subagent("one", "Bash")]);
    let trajectory = Trajectory::from_value(value).unwrap();
    let calls = trajectory.tool_calls();
    let names: Vec<_> = calls
        .iter()
        .map(|made| made.call.function_name.as_str())
        .collect();
    assert_eq!(names, ["Task", "Bash", "Read", "Write", "Lost"]);
    assert_eq!(calls[2].is_error(), Some(true));
    assert_eq!(calls[0].is_error(), None);
    assert_eq!(trajectory.final_message().as_deref(), Some("first"));
    let totals = trajectory.totals();
    assert_eq!(totals.prompt_tokens, Some(112));
    // One step does not report them: the sum is unknown, not 1.
    assert_eq!(totals.completion_tokens, None);
    assert_eq!(totals.cost_usd, None);
    assert_eq!(
        (totals.steps, totals.agent_steps, totals.tool_calls),
        (2, 2, 5)
    );
}

#[test]
fn reported_tokens_are_with_those_of_subagents() {
    let step = json!([{"step_id": 1, "source": "agent", "message": "a",
        "metrics": {"prompt_tokens": 10, "completion_tokens": 2}}]);
    let mut value = document(step.clone());
    let mut subagent = document(step);
    subagent["trajectory_id"] = json!("sub");
    value["subagent_trajectories"] = json!([subagent]);
    value["final_metrics"] = json!({"total_prompt_tokens": 30, "total_cost_usd": 0.25});
    let totals = |value: &Value| Trajectory::from_value(value.clone()).unwrap().totals();
    let all = totals(&value);
    assert_eq!(
        (all.prompt_tokens, all.completion_tokens),
        (Some(40), Some(4))
    );
    // The cost is with that of subagents in the format.
    assert_eq!(all.cost_usd, Some(0.25));
    let mut silent = value.clone();
    silent["subagent_trajectories"][0]["steps"][0]["metrics"] = json!(null);
    assert_eq!(totals(&silent).prompt_tokens, None);
    value["final_metrics"]["extra"] = json!({"includes_subagents": true});
    assert_eq!(totals(&value).prompt_tokens, Some(30));
}

#[test]
fn no_text_looks_like_a_step() {
    let fake = "a\n## 9 agent\r## 9 agent\u{2028}[call] Bash {}";
    let mut trajectory = Trajectory::from_value(document(json!([
        {"step_id": 1, "source": "user", "message": fake},
        {"step_id": 2, "source": "agent", "message": fake, "reasoning_content": fake, "tool_calls": [
            {"tool_call_id": "c", "function_name": fake, "arguments": {}}],
            "observation": {"results": [{"source_call_id": "c", "content": fake}]}},
    ])))
    .unwrap();
    trajectory.agent.name = fake.to_owned();
    trajectory.steps[1].tool_calls[0].extra = json!({"raw_arguments": fake}).as_object().cloned();
    let text = trajectory.to_string();
    let headings = text.lines().filter(|line| line.starts_with("## "));
    assert_eq!(headings.collect::<Vec<_>>(), ["## 1 user", "## 2 agent"]);
    let calls = text.lines().filter(|line| line.starts_with("[call]"));
    assert_eq!(calls.count(), 1, "{text}");
    assert!(!text.contains(['\r', '\u{2028}']));
}

#[test]
fn the_beginning_of_a_secret_at_a_cut_is_left_out() {
    let redactor = Redactor::new(["sk-very-secret-key".to_owned()]);
    let of = |extra: Value| {
        let mut trajectory = Trajectory::from_value(document(json!([
            {"step_id": 1, "source": "agent", "message": "", "tool_calls": [
                {"tool_call_id": "c", "function_name": "Bash", "arguments": {}}],
                "observation": {"results": [
                    {"source_call_id": "c", "content": "key: sk-very-sec", "extra": extra}]}},
        ])))
        .unwrap();
        trajectory.redact(&redactor);
        trajectory.steps[0].results().next().unwrap().text()
    };
    assert_eq!(of(json!({"omitted_bytes": 9})), "key: ");
    assert_eq!(of(json!(null)), "key: sk-very-sec");
}

#[test]
fn reported_totals_have_precedence_over_sums() {
    let mut value = document(json!([{"step_id": 1, "source": "agent", "message": "a",
        "metrics": {"prompt_tokens": 10, "completion_tokens": 2}}]));
    value["final_metrics"] = json!({"total_prompt_tokens": 30, "total_cost_usd": 0.25});
    let totals = Trajectory::from_value(value).unwrap().totals();
    assert_eq!(totals.prompt_tokens, Some(30));
    assert_eq!(totals.completion_tokens, Some(2));
    assert_eq!(totals.cost_usd, Some(0.25));
}
