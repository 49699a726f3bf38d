//! One record of two: what an agent prints, and its conversation with the model as a proxy saw it.
//! Any process of the sample can add to the agent's output; the conversation can't be forged.
//!
//! Calls that both have are paired. The arguments of a pair are those of the conversation, and the
//! printed ones are kept where they differ. What only the conversation has is added at the end. What
//! only the agent prints is marked, and makes the trajectory incomplete.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde_json::{Value, json};

use crate::build::StepBuilder;
use crate::commands::{innermost_text, script_of};
use crate::messages::REPEATED;
use crate::streams::{SUBMIT_WORD, StreamFormat, exit_code_in, written_command};
use crate::trajectory::{
    ObservationResult, PerformedCall, StepSource, ToolCall, Trajectory, TrajectoryStep,
};

/// Completes a conversation by what the agent program writes into it: exit codes, and commands that
/// the model calls in its text.
pub fn read_agent_texts(made: &mut Trajectory, format: StreamFormat) {
    for step in &mut made.steps {
        let text = step.message.text().into_owned();
        if step.source == StepSource::Agent
            && step.tool_calls.is_empty()
            && let Some(command) = written_command(format, &text)
        {
            step.call(None, "bash", &json!({ "command": command }));
        }
        let names: BTreeMap<String, String> = step
            .tool_calls
            .iter()
            .map(|call| (call.tool_call_id.clone(), call.function_name.clone()))
            .collect();
        for result in step.observation.iter_mut().flat_map(|all| &mut all.results) {
            let name = result.source_call_id.as_ref().and_then(|id| names.get(id));
            let code = name.and_then(|name| exit_code_in(format, name, &result.text()));
            if let Some(code) = code {
                set(result, "exit_code", json!(code));
            }
        }
    }
    for other in &mut made.subagent_trajectories {
        read_agent_texts(other, format);
    }
}

/// Whether the model's last call is the one that ends a session of mini-swe-agent. It succeeded, if
/// the session ended so: no later request has its result.
pub fn submit(made: &mut Trajectory) -> bool {
    let mut steps = made.steps.iter_mut().rev();
    let Some(step) = steps.find(|step| step.source == StepSource::Agent) else {
        return false;
    };
    let is_submission = |call: &&ToolCall| {
        let command = call.arguments.get("command").and_then(Value::as_str);
        command.is_some_and(|command| command.contains(SUBMIT_WORD))
    };
    let Some(id) = step.tool_calls.iter().find(is_submission) else {
        return false;
    };
    let id = id.tool_call_id.clone();
    if step.results_of(&id).next().is_none() {
        let mut result = ObservationResult {
            source_call_id: Some(id),
            ..ObservationResult::default()
        };
        set(&mut result, "exit_code", json!(0));
        step.observation
            .get_or_insert_default()
            .results
            .push(result);
    }
    true
}

/// Whether the model's last answer calls a tool whose result it never got: how that call ended is known
/// from what the agent prints alone.
pub fn has_open_call(made: &Trajectory) -> bool {
    let mut steps = made.steps.iter().rev();
    let last = steps.find(|step| step.source == StepSource::Agent);
    last.is_some_and(|step| {
        let mut calls = step.tool_calls.iter();
        calls.any(|call| step.results_of(&call.tool_call_id).next().is_none())
    })
}

/// Answers of the model in a conversation. `has_side_answers`: the agent is known to make calls for
/// itself (titles, summaries), which are conversations of one answer without a tool call.
pub fn answers_in(made: &Trajectory, has_side_answers: bool) -> usize {
    let answers = |one: &Trajectory| one.agent_steps().map(TrajectoryStep::model_calls).sum();
    let others = made.subagent_trajectories.iter().filter(|one| {
        !has_side_answers || answers(one) != 1 || one.steps.iter().any(|s| !s.tool_calls.is_empty())
    });
    others
        .map(answers)
        .fold(answers(made), usize::saturating_add)
}

/// Joins what the agent prints with its conversation. Returned is why the result may lack calls.
pub fn join(printed: &mut Trajectory, made: &Trajectory, format: StreamFormat) -> Vec<String> {
    let calls = made.tool_calls();
    let mut keys = Vec::new();
    each_call(printed, &mut |step, at| {
        keys.extend(step.tool_calls.get(at).map(|call| call_keys(call, format)));
    });
    let pairs = pairs(&keys, &calls, format);
    let mut pair = pairs.iter();
    let mut reasons = Vec::new();
    each_call(printed, &mut |step, at| match pair
        .next()
        .copied()
        .flatten()
        .and_then(|made| calls.get(made))
    {
        Some(made) => adopt(step, at, made, format),
        None => {
            if let Some(call) = step.tool_calls.get_mut(at) {
                call.mark_unsupported();
                reasons.push(format!(
                        "the agent printed a call of `{}` (`{}`) that is not in its conversation with the model",
                        call.function_name, call.tool_call_id
                    ));
            }
        }
    });
    reasons.truncate(1);
    let paired: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
    let mut steps = StepBuilder {
        steps: std::mem::take(&mut printed.steps),
    };
    let requests = requests(made, &calls);
    let same_of = |at: usize, made: &PerformedCall<'_>| {
        let arguments = Value::Object(made.call.arguments.clone()).to_string();
        let request = requests.get(at).copied();
        (request, made.call.function_name.clone(), arguments)
    };
    // The steps of paired calls that are the same: the first, and whether there is another.
    let mut known: HashMap<_, (*const TrajectoryStep, bool)> = HashMap::new();
    for (at, made) in calls
        .iter()
        .enumerate()
        .filter(|(at, _)| paired.contains(at))
    {
        let step: *const TrajectoryStep = made.step;
        let (first, has_other) = known.entry(same_of(at, made)).or_insert((step, false));
        *has_other |= *first != step;
    }
    for (at, made) in calls.iter().enumerate() {
        let is_repeated = || {
            let known = known.get(&same_of(at, made));
            known.is_some_and(|(step, has_other)| *has_other || !std::ptr::eq(*step, made.step))
        };
        if !paired.contains(&at) && !is_repeated() {
            let step = steps.begin(StepSource::Agent, made.step.timestamp.clone());
            step.model_name.clone_from(&made.step.model_name);
            step.llm_call_count = Some(0);
            step.tool_calls = vec![made.call.clone()];
            step.observation.get_or_insert_default().results =
                made.results.iter().copied().cloned().collect();
            step.mark_unprinted();
        }
    }
    printed.steps = steps.steps;
    reasons
}

/// Runs over the calls of the agent and then of its subagents.
fn each_call(trajectory: &mut Trajectory, act: &mut dyn FnMut(&mut TrajectoryStep, usize)) {
    for step in trajectory.steps.iter_mut().filter(|step| !step.is_copied()) {
        for at in 0..step.tool_calls.len() {
            act(step, at);
        }
    }
    for subagent in &mut trajectory.subagent_trajectories {
        each_call(subagent, act);
    }
}

/// What a call is recognised by, from what says most to what says least.
fn call_keys(call: &ToolCall, format: StreamFormat) -> [Option<String>; 2] {
    let ToolCall {
        tool_call_id: id,
        function_name: name,
        ..
    } = call;
    let arguments = || match call.raw_arguments() {
        Some(raw) => raw.to_string(),
        None => Value::Object(call.arguments.clone()).to_string(),
    };
    match format {
        StreamFormat::ClaudeCode | StreamFormat::Opencode | StreamFormat::MiniSweAgent => [
            Some(format!("{id}\n{name}\n{}", arguments())),
            Some(format!("{id}\n{name}")),
        ],
        // It names kinds of calls as it likes, and has ids of its own.
        StreamFormat::Codex => {
            let command = command_of(call).map(|text| innermost_text(&text));
            let patches = name == "file_change"
                || name.contains("apply_patch")
                || command
                    .as_ref()
                    .is_some_and(|text| text.contains("apply_patch"));
            let own = match &command {
                Some(text) => format!("run\n{text}"),
                None => format!("call\n{name}"),
            };
            [Some(own), patches.then(|| "patch".to_owned())]
        }
        StreamFormat::GeminiCli | StreamFormat::Aider | StreamFormat::Text => {
            [Some(format!("{name}\n{}", arguments())), Some(name.clone())]
        }
    }
}

fn command_of(call: &ToolCall) -> Option<String> {
    let mut given = ["command", "cmd"].iter();
    match given.find_map(|key| call.arguments.get(*key))? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            let words: Vec<String> = words.collect::<Option<_>>()?;
            let script = script_of(&words).map(str::to_owned);
            Some(script.unwrap_or_else(|| words.join(" ")))
        }
        _ => None,
    }
}

/// For each printed call the one of the conversation that it is.
fn pairs(
    keys: &[[Option<String>; 2]],
    calls: &[PerformedCall<'_>],
    format: StreamFormat,
) -> Vec<Option<usize>> {
    let made: Vec<_> = calls
        .iter()
        .map(|made| call_keys(made.call, format))
        .collect();
    let mut pairs = vec![None; keys.len()];
    let mut free: BTreeSet<usize> = (0..calls.len()).collect();
    for level in 0..2 {
        let mut known: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for at in &free {
            if let Some(key) = made.get(*at).and_then(|keys| keys.get(level)?.as_deref()) {
                known.entry(key).or_default().push_back(*at);
            }
        }
        for (pair, keys) in pairs.iter_mut().zip(keys) {
            let key = keys.get(level).and_then(Option::as_deref);
            if pair.is_none()
                && let Some(at) = key.and_then(|key| known.get_mut(key)?.pop_front())
            {
                free.remove(&at);
                *pair = Some(at);
            }
        }
    }
    pairs
}

/// Takes over what the conversation has of a call that is printed.
fn adopt(step: &mut TrajectoryStep, at: usize, made: &PerformedCall<'_>, format: StreamFormat) {
    let Some(call) = step.tool_calls.get_mut(at) else {
        return;
    };
    let id = call.tool_call_id.clone();
    let differs = call.function_name != made.call.function_name
        || call.arguments != made.call.arguments
        || call.raw_arguments() != made.call.raw_arguments();
    if differs && format == StreamFormat::Codex {
        call.set_other_record(made.call.clone());
    } else if differs {
        let mut own = made.call.clone();
        own.tool_call_id.clone_from(&id);
        let other = std::mem::replace(call, own);
        call.set_other_record(other);
    }
    let results: Vec<&ObservationResult> = step.results_of(&id).collect();
    let is_error = results.iter().find_map(|result| result.is_error());
    let made_error = made.is_error();
    if made_error.is_none() || is_error == Some(true) || is_error == made_error {
        return;
    }
    let code = made.results.iter().find_map(|result| result.exit_code());
    let all = &mut step.observation.get_or_insert_default().results;
    let own = all
        .iter_mut()
        .find(|result| result.source_call_id.as_ref() == Some(&id));
    match own {
        Some(own) => {
            if made_error == Some(true) || is_error.is_none() {
                set(own, "is_error", json!(made_error));
            }
            if let Some(code) = code {
                set(own, "exit_code", json!(code));
            }
        }
        None => all.extend(made.results.iter().map(|result| ObservationResult {
            source_call_id: Some(id.clone()),
            ..(*result).clone()
        })),
    }
}

fn set(result: &mut ObservationResult, name: &str, value: Value) {
    result
        .extra
        .get_or_insert_default()
        .insert(name.to_owned(), value);
}

/// The request of each call: an answer that was requested again has the number of the one before.
fn requests(made: &Trajectory, calls: &[PerformedCall<'_>]) -> Vec<usize> {
    let mut numbers: BTreeMap<(Option<&str>, u64), usize> = BTreeMap::new();
    let mut number = 0;
    for one in std::iter::once(made).chain(&made.subagent_trajectories) {
        for step in one.agent_steps() {
            let extra = step.extra.as_ref();
            let is_repeated = extra.is_some_and(|extra| extra.contains_key(REPEATED));
            number += usize::from(!is_repeated);
            numbers.insert((one.trajectory_id.as_deref(), step.step_id), number);
        }
        number += 1;
    }
    let of = |made: &PerformedCall<'_>| {
        let step = (made.trajectory_id, made.step.step_id);
        numbers.get(&step).copied().unwrap_or(0)
    };
    calls.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{ApiExchange, ConversationReader, MessageApi};
    use crate::streams::read_stream;

    type Call<'c> = (&'c str, &'c str, Value);

    /// A conversation of these answers, each with calls.
    fn conversation(answers: &[&[Call<'_>]]) -> Trajectory {
        let mut reader = ConversationReader::new("a", "1");
        let mut messages = vec![json!({"role": "user", "content": "p"})];
        for calls in answers {
            let content: Vec<Value> = calls
                .iter()
                .map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}))
                .collect();
            reader.add(&ApiExchange {
                api: MessageApi::AnthropicMessages,
                at: None,
                conversation: 0,
                model: None,
                request: &json!({ "messages": messages }),
                answer: &json!({ "content": content }),
                cost_usd: None,
            });
            messages.push(json!({"role": "assistant", "content": content}));
            let results: Vec<Value> = calls
                .iter()
                .map(|(id, ..)| json!({"type": "tool_result", "tool_use_id": id, "content": "x"}))
                .collect();
            messages.push(json!({"role": "user", "content": results}));
        }
        reader.finish().unwrap()
    }

    fn claude(calls: &[Call<'_>]) -> Trajectory {
        let mut text = String::new();
        for (at, (id, name, input)) in calls.iter().enumerate() {
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
            let message = json!({"id": format!("m{at}"), "content": [block]});
            text += &format!("{}\n", json!({"type": "assistant", "message": message}));
        }
        text += r#"{"type":"result","subtype":"success","result":"done"}"#;
        read_stream(StreamFormat::ClaudeCode, text.as_bytes()).trajectory
    }

    fn codex(items: &[Value]) -> Trajectory {
        let lines = items
            .iter()
            .map(|item| json!({"type": "item.completed", "item": item}).to_string() + "\n");
        let text: String = lines.collect();
        read_stream(StreamFormat::Codex, text.as_bytes()).trajectory
    }

    /// Calls with a mark: `-` is not in the conversation, `+` not printed, `~` printed otherwise.
    fn joined(mut printed: Trajectory, made: &Trajectory, format: StreamFormat) -> Vec<String> {
        let reasons = join(&mut printed, made, format);
        let calls = printed.tool_calls();
        let mut shown: Vec<String> = calls
            .iter()
            .map(|made| {
                let mark = match (made.call.is_unsupported(), made.step.is_unprinted()) {
                    (true, _) => "-",
                    (_, true) => "+",
                    _ if made.call.other_record().is_some() => "~",
                    _ => "",
                };
                let arguments = Value::Object(made.call.arguments.clone());
                format!("{mark}{} {arguments}", made.call.function_name)
            })
            .collect();
        shown.extend(reasons);
        shown
    }

    fn bash<'c>(id: &'c str, command: &str) -> Call<'c> {
        (id, "Bash", json!({ "command": command }))
    }

    #[test]
    fn arguments_of_a_pair_are_those_of_the_conversation() {
        let made = conversation(&[&[bash("t1", "rm -rf x")]]);
        let shown = joined(claude(&[bash("t1", "ls")]), &made, StreamFormat::ClaudeCode);
        assert_eq!(shown, [r#"~Bash {"command":"rm -rf x"}"#]);
        let same = joined(
            claude(&[bash("t1", "rm -rf x")]),
            &made,
            StreamFormat::ClaudeCode,
        );
        assert_eq!(same, [r#"Bash {"command":"rm -rf x"}"#]);
    }

    #[test]
    fn call_that_is_not_printed_is_added_also_with_the_id_of_another() {
        let made = conversation(&[&[bash("t1", "ls")], &[bash("t1", "rm -rf x")]]);
        let shown = joined(claude(&[bash("t1", "ls")]), &made, StreamFormat::ClaudeCode);
        assert_eq!(
            shown,
            [
                r#"Bash {"command":"ls"}"#,
                r#"+Bash {"command":"rm -rf x"}"#
            ]
        );
    }

    #[test]
    fn call_that_the_model_did_not_make_is_marked_and_a_reason() {
        let made = conversation(&[&[bash("t1", "ls")]]);
        let printed = [bash("t1", "ls"), bash("t2", "pytest")];
        let shown = joined(claude(&printed), &made, StreamFormat::ClaudeCode);
        assert_eq!(
            shown,
            [
                r#"Bash {"command":"ls"}"#,
                r#"-Bash {"command":"pytest"}"#,
                "the agent printed a call of `Bash` (`t2`) that is not in its conversation with the model"
            ]
        );
    }

    #[test]
    fn codex_runs_what_the_model_called_by_another_name() {
        let run = |command: &str| json!({"id": "i1", "type": "command_execution", "command": command, "exit_code": 0});
        let printed = || codex(&[run(r#"/bin/sh -lc "echo 'a' > f""#)]);
        for (name, input) in [
            ("exec_command", json!({"cmd": "echo 'a' > f"})),
            ("shell", json!({"command": ["bash", "-lc", "echo 'a' > f"]})),
        ] {
            let made = conversation(&[&[("c1", name, input)]]);
            let shown = joined(printed(), &made, StreamFormat::Codex);
            assert_eq!(shown.len(), 1, "{shown:?}");
            assert!(shown[0].starts_with("~command_execution"), "{shown:?}");
        }
        let search = codex(&[json!({"id": "i1", "type": "web_search", "query": "a"})]);
        let made = conversation(&[&[("c1", "shell", json!({"command": "rm -rf x"}))]]);
        let shown = joined(search, &made, StreamFormat::Codex);
        assert_eq!(
            shown,
            [
                r#"-web_search {"query":"a"}"#,
                r#"+shell {"command":"rm -rf x"}"#,
                "the agent printed a call of `web_search` (`i1`) that is not in its conversation with the model"
            ]
        );
        let change = codex(&[json!({"id": "i1", "type": "file_change", "changes": []})]);
        let patch = json!({"cmd": "apply_patch <<'EOF'\n*** Begin Patch\nEOF"});
        let made = conversation(&[&[("c1", "exec_command", patch)]]);
        let shown = joined(change, &made, StreamFormat::Codex);
        assert_eq!(shown, [r#"~file_change {"changes":[]}"#]);
    }

    #[test]
    fn answer_that_was_requested_again_has_its_calls_once() {
        let mut reader = ConversationReader::new("a", "1");
        let request = json!({"messages": [{"role": "user", "content": "p"}]});
        for id in ["t1", "t2"] {
            let block =
                json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
            reader.add(&ApiExchange {
                api: MessageApi::AnthropicMessages,
                at: None,
                conversation: 0,
                model: None,
                request: &request,
                answer: &json!({ "content": [block] }),
                cost_usd: None,
            });
        }
        let made = reader.finish().unwrap();
        let shown = joined(claude(&[bash("t2", "ls")]), &made, StreamFormat::ClaudeCode);
        assert_eq!(shown, [r#"Bash {"command":"ls"}"#]);
        // Another call is a call.
        let shown = joined(claude(&[]), &made, StreamFormat::ClaudeCode);
        assert_eq!(shown.len(), 2);
    }

    /// Of each pair of steps one call is printed: pairing and adding the others takes time in
    /// proportion to their number.
    #[test]
    fn long_sessions_are_joined_call_by_call() {
        const CALLS: usize = 20_000;
        let made = |is_kept: fn(usize) -> bool| {
            let mut one = Trajectory::new(crate::trajectory::TrajectoryAgent::default());
            let mut steps = StepBuilder::default();
            for number in (0..CALLS).filter(|number| is_kept(*number)) {
                let step = steps.begin(StepSource::Agent, None);
                let id = format!("t{number}");
                step.call(Some(&id), "Bash", &json!({ "command": id }));
            }
            one.steps = steps.steps;
            one
        };
        let mut printed = made(|number| number % 2 == 0);
        let reasons = join(&mut printed, &made(|_| true), StreamFormat::ClaudeCode);
        assert_eq!(reasons, [""; 0]);
        let calls = printed.tool_calls();
        let unprinted = calls.iter().filter(|made| made.step.is_unprinted());
        assert_eq!((calls.len(), unprinted.count()), (CALLS, CALLS / 2));
    }

    #[test]
    fn failure_in_either_record_is_one() {
        let made = |is_error: bool| {
            let mut made = conversation(&[&[bash("t1", "ls")], &[]]);
            for result in made.steps.iter_mut().flat_map(|step| &mut step.observation) {
                set(&mut result.results[0], "is_error", json!(is_error));
            }
            made
        };
        let printed = |is_error: Option<bool>| {
            let mut printed = claude(&[bash("t1", "ls")]);
            let result = crate::build::ToolResult {
                is_error,
                ..crate::build::ToolResult::default()
            };
            let mut steps = StepBuilder {
                steps: std::mem::take(&mut printed.steps),
            };
            steps.result(Some("t1"), result, None);
            printed.steps = steps.steps;
            printed
        };
        for (of_agent, of_model, expected) in [
            (Some(false), true, true),
            (Some(true), false, true),
            (None, true, true),
            (None, false, false),
            (Some(false), false, false),
        ] {
            let mut one = printed(of_agent);
            join(&mut one, &made(of_model), StreamFormat::ClaudeCode);
            assert_eq!(
                one.tool_calls()[0].is_error(),
                Some(expected),
                "{of_agent:?} {of_model}"
            );
        }
    }

    #[test]
    fn answers_are_counted_with_those_that_an_agent_makes_for_itself() {
        let mut made = conversation(&[&[bash("t1", "ls")], &[]]);
        made.subagent_trajectories = vec![conversation(&[&[]]), conversation(&[&[], &[]])];
        assert_eq!(answers_in(&made, true), 4);
        assert_eq!(answers_in(&made, false), 5);
    }

    #[test]
    fn calls_without_a_result_are_open_in_the_last_answer() {
        let calls = [bash("t1", "ls"), bash("t2", "ls")];
        assert!(has_open_call(&conversation(&[&calls])));
        assert!(has_open_call(&conversation(&[&calls, &calls[..1]])));
        assert!(!has_open_call(&conversation(&[&calls, &[]])));
    }

    #[test]
    fn session_is_submitted_by_the_models_last_call() {
        let end = format!("echo {SUBMIT_WORD}");
        let mut made = conversation(&[&[bash("t1", "ls")], &[bash("t2", &end)]]);
        assert!(submit(&mut made));
        assert_eq!(made.tool_calls()[1].is_error(), Some(false));
        let mut made = conversation(&[&[bash("t1", &end)], &[bash("t2", "ls")]]);
        assert!(!submit(&mut made));
    }
}
