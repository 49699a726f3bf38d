use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::trajectory::{ObservationResult, StepSource, TrajectoryStep};

/// Printed by the real programs, which called a scripted model.
const SAMPLES: &[(StreamFormat, &[u8])] = &[
    (
        StreamFormat::ClaudeCode,
        include_bytes!("samples/claude-code.jsonl"),
    ),
    (StreamFormat::Codex, include_bytes!("samples/codex.jsonl")),
    (
        StreamFormat::GeminiCli,
        include_bytes!("samples/gemini-cli.jsonl"),
    ),
    (
        StreamFormat::Opencode,
        include_bytes!("samples/opencode.jsonl"),
    ),
    (
        StreamFormat::MiniSweAgent,
        include_bytes!("samples/mini-swe-agent.json"),
    ),
    (StreamFormat::Aider, include_bytes!("samples/aider.txt")),
];

/// A line for each step, call and result.
fn outline(reading: &AgentReading) -> String {
    let mut out = String::new();
    let trajectory = &reading.trajectory;
    let agent = &trajectory.agent;
    let _ = writeln!(
        out,
        "{} {} {:?}",
        agent.name, agent.version, agent.model_name
    );
    let mut all = vec![trajectory];
    all.extend(&trajectory.subagent_trajectories);
    for one in all {
        if let Some(id) = &one.trajectory_id {
            let _ = writeln!(out, "subagent {id}");
        }
        for step in &one.steps {
            let message = step.message.text();
            let message = message.chars().take(60).collect::<String>();
            let _ = writeln!(
                out,
                "{} {:?} {message:?} {:?}",
                step.step_id, step.source, step.timestamp
            );
            if let Some(thought) = &step.reasoning_content {
                let _ = writeln!(out, "  reasoning {thought:?}");
            }
            for call in &step.tool_calls {
                let arguments = serde_json::Value::Object(call.arguments.clone());
                let _ = writeln!(
                    out,
                    "  call {} {} {arguments} {:?}",
                    call.tool_call_id, call.function_name, call.extra
                );
            }
            for result in step.results() {
                let _ = writeln!(
                    out,
                    "  result {:?} {:?} error {:?}",
                    result.source_call_id,
                    result.text(),
                    result.is_error()
                );
            }
            if let Some(metrics) = &step.metrics {
                let _ = writeln!(out, "  {}", serde_json::to_string(metrics).unwrap());
            }
        }
    }
    let _ = writeln!(
        out,
        "total {}",
        serde_json::to_string(&trajectory.final_metrics).unwrap()
    );
    let totals = trajectory.totals();
    let _ = writeln!(
        out,
        "sums {:?} {:?} {:?} {:?}",
        totals.prompt_tokens, totals.completion_tokens, totals.cached_tokens, totals.cost_usd
    );
    let _ = writeln!(
        out,
        "text {:?}",
        reading
            .text
            .as_deref()
            .map(|text| text.chars().take(40).collect::<String>())
    );
    let _ = writeln!(out, "error {:?}", reading.error);
    let _ = writeln!(out, "notes {:?}", trajectory.notes);
    let _ = writeln!(out, "incomplete {:?}", trajectory.incomplete());
    out
}

#[test]
fn streams_of_real_agents_become_steps() {
    let all: Vec<_> = SAMPLES
        .iter()
        .map(|(format, bytes)| outline(&read_stream(*format, bytes)))
        .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn events_of_subagents_errors_and_odd_arguments_are_read() {
    let claude = r#"
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"p"}}]}}
{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m2","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t3","name":"Read","input":"not an object"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"done"},{"type":"tool_result","tool_use_id":"lost","content":"?"}]}}
{"type":"stream_event","event":{}}
not an event
{"type":"result","subtype":"error_max_turns","is_error":false,"usage":{"input_tokens":5,"cache_read_input_tokens":1,"output_tokens":3}}
"#;
    let codex = r#"
{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i0","type":"reasoning","text":"think"}}
{"type":"item.started","item":{"id":"i1","type":"mcp_tool_call","server":"db","tool":"query","arguments":{"q":1},"result":null,"error":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"i1","type":"mcp_tool_call","server":"db","tool":"query","arguments":{"q":1},"result":null,"error":{"message":"down"},"status":"failed"}}
{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}
{"type":"item.started","item":{"id":"i3","type":"web_search","query":""}}
{"type":"item.completed","item":{"id":"i3","type":"web_search","query":"rust"}}
{"type":"item.completed","item":{"id":"i4","type":"command_execution","command":"false","aggregated_output":"x","exit_code":1,"status":"failed"}}
{"type":"error","message":"Reconnecting"}
{"type":"turn.failed","error":{"message":"over"}}
"#;
    let gemini = r#"
{"type":"message","role":"assistant","content":"Let me ","delta":true}
{"type":"message","role":"assistant","content":"look.","delta":true}
{"type":"tool_use","tool_name":"read_file","tool_id":"a","parameters":{}}
{"type":"tool_use","tool_name":"read_file","tool_id":"b","parameters":{}}
{"type":"tool_result","tool_id":"b","status":"error","error":{"type":"x","message":"missing"}}
{"type":"tool_result","tool_id":"a","status":"success","output":"ok"}
{"type":"error","severity":"warning","message":"loop"}
{"type":"result","status":"error","error":{"type":"FatalError","message":"stopped"},"stats":{"total_tokens":12,"input_tokens":5,"output_tokens":3,"cached":0}}
"#;
    let opencode = r#"
{"type":"step_start","sessionID":"s","part":{"messageID":"m"}}
{"type":"reasoning","sessionID":"s","part":{"messageID":"m","text":"hm"}}
{"type":"tool_use","sessionID":"s","part":{"messageID":"m","tool":"edit","callID":"c","state":{"status":"error","input":{"f":1},"error":"no match"}}}
{"type":"step_finish","sessionID":"s","part":{"messageID":"m","reason":"tool-calls","tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"cost":0.5}}
{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"overloaded"}}}
"#;
    let all = [
        (StreamFormat::ClaudeCode, claude),
        (StreamFormat::Codex, codex),
        (StreamFormat::GeminiCli, gemini),
        (StreamFormat::Opencode, opencode),
    ];
    let all: Vec<_> = all
        .iter()
        .map(|(format, text)| outline(&read_stream(*format, text.as_bytes())))
        .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn blocks_of_one_event_are_one_step() {
    for id in [r#""id":"m1","#, ""] {
        let text = format!(
            r#"
{{"type":"assistant","message":{{{id}"content":[{{"type":"text","text":"I look."}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"ls"}}}},{{"type":"tool_use","id":"t2","name":"Bash","input":{{"command":"pwd"}}}}],"usage":{{"input_tokens":7,"output_tokens":2}}}}}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"a"}},{{"type":"tool_result","tool_use_id":"t2","content":"/"}}]}}}}
{{"type":"assistant","message":{{"content":[{{"type":"thinking","thinking":"hm"}},{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":9,"output_tokens":1}}}}}}
{{"type":"result","subtype":"success","result":"Done."}}
"#
        );
        let trajectory = read_stream(StreamFormat::ClaudeCode, text.as_bytes()).trajectory;
        let prompts = trajectory.steps.iter().map(|step| {
            let metrics = step.metrics.as_ref();
            (
                step.tool_calls.len(),
                metrics.and_then(|all| all.prompt_tokens),
            )
        });
        let prompts: Vec<_> = prompts.collect();
        assert_eq!(prompts, [(2, Some(7)), (0, Some(9))]);
    }
}

#[test]
fn what_is_read_is_a_valid_trajectory_once_it_has_a_prompt() {
    for (format, bytes) in SAMPLES {
        let mut trajectory = read_stream(*format, bytes).trajectory;
        trajectory.add_prompt("Write hello.txt");
        let again = Trajectory::from_value(serde_json::to_value(&trajectory).unwrap()).unwrap();
        assert_eq!(again, trajectory);
        assert!(
            again
                .steps
                .iter()
                .any(|step| step.source == StepSource::User)
        );
    }
}

/// Whether `cut` is what is known of `full` at an earlier time.
fn is_earlier(cut: &TrajectoryStep, full: &TrajectoryStep) -> bool {
    let content = |step: &TrajectoryStep| step.message.text().into_owned();
    let thoughts = |step: &TrajectoryStep| step.reasoning_content.clone().unwrap_or_default();
    let results =
        |step: &TrajectoryStep| -> Vec<ObservationResult> { step.results().cloned().collect() };
    cut.step_id == full.step_id
        && cut.source == full.source
        && cut.timestamp == full.timestamp
        && content(full).starts_with(&content(cut))
        && thoughts(full).starts_with(&thoughts(cut))
        && full.tool_calls.starts_with(&cut.tool_calls)
        && results(full)
            .iter()
            .map(ObservationResult::text)
            .collect::<Vec<_>>()
            .starts_with(
                &results(cut)
                    .iter()
                    .map(ObservationResult::text)
                    .collect::<Vec<_>>(),
            )
        && (cut.metrics.is_none() || cut.metrics == full.metrics)
}

#[test]
fn a_stream_that_is_cut_anywhere_has_the_first_steps() {
    for (format, bytes) in SAMPLES {
        let full = read_stream(*format, bytes).trajectory;
        for end in 0..bytes.len() {
            // Bytes of a whole file give nothing until it is whole; text is cut within characters.
            if *format == StreamFormat::Aider && !bytes[..end].is_ascii() {
                continue;
            }
            let cut = read_stream(*format, &bytes[..end]).trajectory;
            assert!(cut.steps.len() <= full.steps.len(), "{format:?} {end}");
            for (cut, full) in cut.steps.iter().zip(&full.steps) {
                assert!(is_earlier(cut, full), "{format:?} {end}: {cut:?} {full:?}");
            }
            let whole = bytes[end..].trim_ascii().is_empty();
            assert!(whole || !cut.incomplete().is_empty(), "{format:?} {end}");
        }
    }
}

#[test]
fn file_without_an_exit_status_is_cut() {
    let sample = include_bytes!("samples/mini-swe-agent.json");
    let mut file: Value = serde_json::from_slice(sample).unwrap();
    let whole = read_stream(StreamFormat::MiniSweAgent, file.to_string().as_bytes());
    assert!(!whole.is_cut());
    file["info"].as_object_mut().unwrap().remove("exit_status");
    let cut = read_stream(StreamFormat::MiniSweAgent, file.to_string().as_bytes());
    assert!(cut.is_cut());
    assert_eq!(cut.trajectory.incomplete(), [NO_STATUS]);
    // However many other reasons there are.
    let lines = "{\n".repeat(100);
    assert!(read_stream(StreamFormat::ClaudeCode, lines.as_bytes()).is_cut());
}

#[test]
fn hostile_lines_are_left_out_with_a_reason() {
    let mut bytes =
        br#"{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"a"}}"#
            .to_vec();
    bytes.extend(b"\n{\"a\":\"");
    bytes.extend(vec![b'x'; 100 << 20]);
    bytes.extend(b"\"}\n");
    bytes.extend(b"{\"a\":".repeat(100_000));
    bytes.extend(b"\n{\"broken\n\xff\xfe{}\n");
    bytes.extend(br#"{"type":"turn.completed"}"#);
    let mut reader = StreamReader::new(StreamFormat::Codex);
    for piece in bytes.chunks(1 << 20) {
        reader.push(piece);
        assert!(reader.buffer.capacity() <= 2 * LINE_BYTES);
    }
    let reading = reader.finish();
    assert_eq!(reading.trajectory.steps.len(), 1);
    insta::assert_snapshot!(outline(&reading));
}

#[test]
fn a_million_events_take_bounded_memory_and_say_so() {
    let line = br#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","exit_code":0}}"#;
    let mut reader = StreamReader::new(StreamFormat::Codex);
    for _ in 0..1_000_000 {
        reader.push(line);
        reader.push(b"\n");
    }
    let reading = reader.finish();
    let trajectory = &reading.trajectory;
    let results: usize = trajectory
        .steps
        .iter()
        .map(|step| step.results().count())
        .sum();
    assert!((10_000..100_000).contains(&results), "{results}");
    let expected = format!(
        "{} later events are left out: the trajectory is limited to 67108864 bytes",
        1_000_000 - results
    );
    assert_eq!(trajectory.incomplete(), [expected.as_str(), NO_END]);
}

#[test]
fn long_results_are_cut_with_their_number_of_bytes() {
    let output = "é".repeat(200 << 10);
    let line =
        json!({"type": "tool_result", "tool_id": "a", "status": "success", "output": output})
            .to_string();
    let reading = read_stream(
        StreamFormat::GeminiCli,
        format!("{{\"type\":\"tool_use\",\"tool_name\":\"t\",\"tool_id\":\"a\"}}\n{line}")
            .as_bytes(),
    );
    let result = reading.trajectory.steps[0].results().next().unwrap();
    assert_eq!(result.text().len(), 256 << 10);
    assert_eq!(
        result.extra.as_ref().unwrap()["omitted_bytes"],
        json!((400 - 256) << 10)
    );
}

/// The reasons why these lines and the end of a run are not a whole trajectory.
fn reasons(format: StreamFormat, lines: &str) -> Vec<String> {
    let end = match format {
        StreamFormat::ClaudeCode => r#"{"type":"result","subtype":"success","result":"ok"}"#,
        StreamFormat::Codex => r#"{"type":"turn.completed"}"#,
        StreamFormat::GeminiCli => r#"{"type":"result","status":"success"}"#,
        _ => r#"{"type":"step_finish","part":{"messageID":"end","reason":"stop"}}"#,
    };
    let reading = read_stream(format, format!("{lines}\n{end}\n").as_bytes());
    let incomplete = reading.trajectory.incomplete();
    incomplete.into_iter().map(str::to_owned).collect()
}

#[test]
fn what_is_not_read_makes_a_trajectory_incomplete() {
    use StreamFormat::{ClaudeCode, Codex, GeminiCli, Opencode};
    let bash = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}"#;
    let none: [&str; 0] = [];
    for format in [ClaudeCode, Codex, GeminiCli, Opencode] {
        assert_eq!(reasons(format, "Warning: a [note] {x}"), none);
        assert_eq!(
            reasons(format, &format!("Warning: {bash}")),
            ["line 1 has text before an event"]
        );
        assert_eq!(
            reasons(format, r#"{"type":"brand_new"}"#),
            ["not read: 1 × event `brand_new`"]
        );
    }
    for (format, line, reason) in [
        (
            ClaudeCode,
            r#"{"type":"system","subtype":"new"}"#,
            "not read: 1 × event `system/new`",
        ),
        (
            ClaudeCode,
            r#"{"type":"assistant","message":{"content":[{"type":"new"}]}}"#,
            "not read: 1 × event `assistant/new`",
        ),
        (
            ClaudeCode,
            r#"{"type":"user","message":{"content":[{"type":"new"}]}}"#,
            "not read: 1 × event `user/new`",
        ),
        (
            ClaudeCode,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Agent","input":{}}]}}"#,
            NO_SUBAGENT,
        ),
        (
            ClaudeCode,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Task","input":{}}]}}"#,
            NO_SUBAGENT,
        ),
        (
            GeminiCli,
            r#"{"type":"tool_use","tool_name":"delegate_to_agent","tool_id":"a","parameters":{}}"#,
            NO_SUBAGENT,
        ),
        (
            Opencode,
            r#"{"type":"tool_use","part":{"messageID":"m","tool":"task","callID":"c","state":{"status":"completed","input":{}}}}"#,
            NO_SUBAGENT,
        ),
        (
            Codex,
            r#"{"type":"item.completed","item":{"id":"i","type":"collab_tool_call","tool":"spawn_agent","status":"completed"}}"#,
            NO_SUBAGENT,
        ),
    ] {
        assert_eq!(reasons(format, line), [reason], "{line}");
    }
    for (format, line) in [
        (ClaudeCode, r#"{"type":"system","subtype":"hook_started"}"#),
        (ClaudeCode, r#"{"type":"rate_limit_event"}"#),
        (
            Codex,
            r#"{"type":"item.completed","item":{"id":"i","type":"todo_list","items":[]}}"#,
        ),
    ] {
        assert_eq!(reasons(format, line), none, "{line}");
        let reading = read_stream(format, line.as_bytes());
        assert!(reading.trajectory.steps.is_empty(), "{line}");
    }
    let shown = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Task","input":{}}]}}
{"type":"assistant","parent_tool_use_id":"a","message":{"content":[{"type":"text","text":"hi"}]}}"#;
    assert_eq!(reasons(ClaudeCode, shown), none);
}

#[test]
fn streams_of_real_agents_are_complete() {
    for (format, bytes) in SAMPLES {
        let reading = read_stream(*format, bytes);
        let whole = *format != StreamFormat::Aider;
        assert_eq!(
            reading.trajectory.incomplete().is_empty(),
            whole,
            "{format:?}"
        );
    }
}

#[test]
fn results_of_anthropic_are_errors_only_if_they_say_so() {
    let stream = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}},{"type":"server_tool_use","id":"b","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"b","content":{"type":"web_search_tool_result_error","error_code":"x"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}}"#;
    let reading = read_stream(StreamFormat::ClaudeCode, stream.as_bytes());
    let errors: Vec<_> = reading
        .trajectory
        .tool_calls()
        .iter()
        .map(|made| (made.call.function_name.clone(), made.is_error()))
        .collect();
    let wanted = [("Bash", Some(false)), ("web_search", Some(true))];
    assert_eq!(errors, wanted.map(|(name, error)| (name.to_owned(), error)));
}

fn any_format() -> impl Strategy<Value = StreamFormat> {
    prop_oneof![
        Just(StreamFormat::ClaudeCode),
        Just(StreamFormat::Codex),
        Just(StreamFormat::GeminiCli),
        Just(StreamFormat::Opencode),
        Just(StreamFormat::MiniSweAgent),
        Just(StreamFormat::Aider),
        Just(StreamFormat::Text),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_a_trajectory_that_can_be_read_back(
        format in any_format(),
        sample in 0..SAMPLES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        piece in 1..300usize,
    ) {
        let mut bytes = SAMPLES[sample].1.to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.extend(noise);
        let mut reader = StreamReader::new(format);
        for piece in bytes.chunks(piece) {
            reader.push(piece);
        }
        let mut reading = reader.finish();
        prop_assert_eq!(&reading, &read_stream(format, &bytes));
        reading.trajectory.add_prompt("p");
        let json = serde_json::to_vec(&reading.trajectory).unwrap();
        prop_assert_eq!(Trajectory::from_json(&json).unwrap(), reading.trajectory);
    }
}

#[test]
fn final_event_after_one_that_reports_an_error_does_not_undo_it() {
    let claude = [
        r#"{"type":"result","subtype":"success","is_error":true,"result":"lost"}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#,
    ];
    let gemini = [
        r#"{"type":"result","status":"error","error":{"message":"lost"}}"#,
        r#"{"type":"result","status":"success"}"#,
    ];
    let codex = [
        r#"{"type":"turn.failed","error":{"message":"lost"}}"#,
        r#"{"type":"turn.completed"}"#,
    ];
    for (format, [failure, success]) in [
        (StreamFormat::ClaudeCode, claude),
        (StreamFormat::GeminiCli, gemini),
        (StreamFormat::Codex, codex),
    ] {
        let read = |events: [&str; 2]| read_stream(format, events.join("\n").as_bytes()).error;
        assert_eq!(
            read([failure, success]).as_deref(),
            Some("lost"),
            "{format:?}"
        );
        assert_eq!(
            read([success, failure]).as_deref(),
            Some("lost"),
            "{format:?}"
        );
        assert_eq!(read([success, success]), None);
    }
}

#[test]
fn subagents_beyond_a_number_are_left_out() {
    let event = |n: usize| {
        let call = json!({"type": "tool_use", "id": format!("c{n}"), "name": "Bash", "input": {}});
        json!({"type": "assistant", "parent_tool_use_id": format!("t{n}"), "message": {"id": "m", "content": [call]}})
    };
    let lines: Vec<String> = (0..300).map(|n| event(n).to_string()).collect();
    let trajectory = read_stream(StreamFormat::ClaudeCode, lines.join("\n").as_bytes()).trajectory;
    assert_eq!(trajectory.subagent_trajectories.len(), 256);
    let reason = "only the first 256 subagents are read";
    assert!(trajectory.incomplete().contains(&reason));
}
