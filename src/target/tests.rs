use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::model::*;

fn case(id: &str, input: CaseInput) -> Case {
    Case {
        input,
        timeout: Duration::from_secs(30),
        ..testing::case(id)
    }
}

fn prompt(text: &str) -> CaseInput {
    CaseInput::Prompt {
        text: text.into(),
        context: None,
    }
}

fn plan(target: Option<Target>, evals: &[(&str, &[&str])]) -> Plan {
    let evals = evals
        .iter()
        .map(|(id, cases)| {
            let info = EvalInfo {
                id: (*id).into(),
                name: (*id).into(),
                description: None,
                kind: EvalType::Capability,
                category: None,
                tags: vec![],
                weight: 1.0,
                difficulty: None,
                criticality: None,
                pass_rate_threshold: 1.0,
                score_threshold: None,
                source: None,
                dependencies: None,
                dataset: None,
            };
            let cases = cases
                .iter()
                .map(|c| Arc::new(case(c, prompt("p"))))
                .collect();
            Arc::new(Eval {
                info,
                parallel: true,
                prompts: Default::default(),
                cases,
            })
        })
        .collect();
    Plan {
        suite: SuiteInfo {
            name: "s".into(),
            version: None,
            description: None,
            path: "s.yaml".into(),
            dir: "/".into(),
            root: "/".into(),
        },
        target_name: "t".into(),
        target,
        target_hash: String::new(),
        dependencies: Default::default(),
        excuses: Vec::new(),
        unread_vars: Default::default(),
        whole_hash: String::new(),
        prompt: None,
        evals,
        whole: Vec::new(),
        shard: None,
        baselines: Default::default(),
        against: None,
        settings: PlanSettings {
            max_workers: 1,
            in_flight: 1,
            ks: vec![1],
            interval_scope: crate::model::IntervalScope::default(),
            seed: 0,
            timeout_global: None,
            grade_timeout: PlanSettings::GRADE_TIMEOUT,
            retry_failed: 0,
            max_fail: None,
            allow_unsandboxed: false,
            sandbox: SandboxDemand::default(),
            models: Default::default(),
        },
        composites: Vec::new(),
        score_metrics: Vec::new(),
        again: false,
        gate: GateSpec::default(),
        reporting: ReportSettings {
            formats: vec![],
            output_dir: "/".into(),
            include_details: true,
            notify_on_failure: false,
            channels: Vec::new(),
        },
        readable: vec![],
        secrets: vec![],
    }
}

struct Recordings {
    dir: tempfile::TempDir,
}

impl Recordings {
    fn new() -> Self {
        Recordings {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn open(
        &self,
        content: impl AsRef<[u8]>,
        evals: &[(&str, &[&str])],
    ) -> Result<RunTargets, String> {
        let path = self.dir.path().join("samples.jsonl");
        std::fs::write(&path, content).unwrap();
        RunTargets::open(&plan(
            Some(Target::Recorded {
                path,
                separate_thoughts: false,
            }),
            evals,
        ))
        .map_err(|e| {
            e.to_string()
                .replace(&format!("{}/", self.dir.path().display()), "")
        })
    }
}

async fn said(targets: &RunTargets, eval: &str, id: &str, sample: u32) -> String {
    match targets
        .ask(eval, &case(id, prompt("p")), (sample, 0), None)
        .await
        .result
    {
        Ok(output) => format!("{:?}", output.value),
        Err(failure) => format!("{}: {}", failure.cause, failure.reason),
    }
}

#[tokio::test]
async fn recorded_outputs_come_back_as_they_were_written() {
    let files = Recordings::new();
    let content = "\u{feff}{\"case\": \"a\", \"output\": \"one\", \"usage\": {\"input_tokens\": 3}, \"model\": \"m\", \"x\": 1}\r\n\r\n\
        {\"case\": \"a\", \"output\": {\"n\": 1.0}}\r\n\
        {\"task_id\": 11, \"completion\": \"    return 1\\n\"}\n\
        {\"task_id\": \"H/0\", \"solution\": \"def f(): pass\"}\n\
        {\"eval\": \"e\", \"case\": \"b\", \"sample\": 1, \"response\": \"r\"}\n\
        {\"case\": \"c\", \"output\": null}";
    let targets = files
        .open(content, &[("e", &["a", "11", "H/0", "b", "c", "d"])])
        .unwrap();
    assert_eq!(targets.warnings(), &[] as &[String]);
    let mut lines = Vec::new();
    for (id, sample) in [
        ("a", 0),
        ("a", 1),
        ("a", 2),
        ("11", 0),
        ("H/0", 0),
        ("b", 0),
        ("b", 1),
        ("c", 0),
        ("d", 0),
    ] {
        lines.push(format!(
            "{id} {sample} {}",
            said(&targets, "e", id, sample).await
        ));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    a 0 Text("one")
    a 1 Json(Object {"n": Number(1.0)})
    a 2 missing_output: samples.jsonl has 2 of this case's samples, but not sample 2 (counted from 0)
    11 0 Text("    return 1\n")
    H/0 0 Program("def f(): pass")
    b 0 missing_output: samples.jsonl has 1 of this case's samples, but not sample 0 (counted from 0)
    b 1 Text("r")
    c 0 missing_output: samples.jsonl:7 records no output (null)
    d 0 missing_output: samples.jsonl has no output for this case
    "#);
    let a = targets
        .ask("e", &case("a", prompt("p")), (0, 0), None)
        .await;
    assert_eq!(a.latency, None);
    let output = a.result.unwrap();
    assert_eq!(
        output.usage.map(|u| (u.input_tokens, u.output_tokens)),
        Some((3, 0))
    );
    assert_eq!(output.model.as_deref(), Some("m"));
    let counts: Vec<_> = ["a", "b", "d"]
        .iter()
        .map(|id| targets.recorded_samples("e", id, None))
        .collect();
    assert_eq!(counts, [Some(2), Some(2), Some(0)]);
}

#[tokio::test]
async fn a_json_array_is_read_too_and_digits_are_kept() {
    let files = Recordings::new();
    let targets = files
        .open(
            r#" [{"case": "a", "output": 265252859812191058636308480000000}]"#,
            &[("e", &["a"])],
        )
        .unwrap();
    assert_eq!(
        said(&targets, "e", "a", 0).await,
        "Json(Number(265252859812191058636308480000000))"
    );
}

#[tokio::test]
async fn the_same_case_id_in_two_evals_is_told_apart_by_eval() {
    let files = Recordings::new();
    let evals: &[(&str, &[&str])] = &[("e1", &["a"]), ("e2", &["a"])];
    let targets = files
        .open("{\"eval\":\"e2\",\"case\":\"a\",\"output\":\"2\"}\n{\"eval\":\"e1\",\"case\":\"a\",\"output\":\"1\"}\n", evals)
        .unwrap();
    assert_eq!(said(&targets, "e1", "a", 0).await, "Text(\"1\")");
    assert_eq!(said(&targets, "e2", "a", 0).await, "Text(\"2\")");
}

#[test]
fn every_fault_of_a_recording_is_told_with_its_place() {
    let files = Recordings::new();
    let deep = format!(
        "{{\"case\":\"a\",\"output\":{}1{}}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let faults: &[&str] = &[
        "{\"case\": \"a\", \"output\": }",
        "{\"case\": \"a\", \"output\": \"x\"} trailing",
        "{\n\"case\": \"a\",\n\"output\": \"x\"}",
        "not json",
        "7",
        "[1]",
        "[[\"a\", null, null, null, \"x\"]]",
        "[{\"case\":\"a\"}]",
        "{}",
        "{\"output\": \"x\"}",
        "{\"case\": [], \"output\": \"x\"}",
        "{\"case\": \"a\", \"task_id\": \"b\", \"output\": \"x\"}",
        "{\"case\": \"a\"}",
        "{\"case\": \"a\", \"case\": \"a\", \"output\": \"x\"}",
        "{\"case\": \"a\", \"output\": \"x\", \"completion\": \"x\"}",
        "{\"case\": \"a\", \"completion\": 1}",
        "{\"case\": \"a\", \"solution\": {}}",
        "{\"case\": \"a\", \"output\": \"x\", \"sample\": -1}",
        "{\"case\": \"a\", \"output\": \"x\", \"sample\": 1000000}",
        "{\"case\": \"a\", \"output\": \"x\", \"sample\": \"0\"}",
        "{\"case\": \"a\", \"output\": \"x\", \"usage\": {\"input_tokens\": -3}}",
        "{\"case\": \"a\", \"output\": \"x\", \"model\": 1}",
        "{\"case\": \"a\", \"output\": \"x\", \"eval\": 1}",
        "{\"case\": \"a\", \"output\": \"1\", \"sample\": 0}\n\n{\"case\": \"a\", \"output\": \"2\", \"sample\": 0}",
        "{\"case\": \"a\", \"output\": \"1\", \"sample\": 0}\n{\"case\": \"a\", \"output\": \"2\"}",
        "{\"case\": \"a\", \"output\": \"1\"}\n{\"case\": \"a\", \"output\": \"2\", \"sample\": 1}",
        "{\"case\": \"twice\", \"output\": \"1\"}",
        &deep,
    ];
    let mut told = String::new();
    for fault in faults {
        let evals: &[(&str, &[&str])] = &[("e1", &["a", "twice"]), ("e2", &["twice"])];
        told.push_str(&files.open(fault, evals).unwrap_err());
        told.push('\n');
    }
    told.push_str(
        &files
            .open(b"\n{\"\xff\": 1}", &[("e", &["a"])])
            .unwrap_err(),
    );
    insta::assert_snapshot!(told, @r##"
    samples.jsonl:1:25: not JSON: expected value
    samples.jsonl:1:30: not JSON: trailing characters
    samples.jsonl:1:1: not JSON: EOF while parsing an object; each line must contain one complete JSON object
    samples.jsonl:2:6: invalid type: string "case", expected a JSON object
    samples.jsonl:3:8: invalid type: string "output", expected a JSON object
    samples.jsonl:1:2: not JSON: expected ident
    samples.jsonl:1:1: invalid type: integer `7`, expected a JSON object
    samples.jsonl:1:2: invalid type: integer `1`, expected a JSON object
    samples.jsonl:1:1: invalid type: sequence, expected a JSON object
    samples.jsonl: record 1: has no output: `output`, `completion` or `solution` is missing (or, of an agent, `patch`, `workspace` or `trajectory`)
    samples.jsonl:1: has no case: `case` (or `task_id`) is missing
    samples.jsonl:1: has no case: `case` (or `task_id`) is missing
    samples.jsonl:1: `case` must be a text or a number
    samples.jsonl:1: `case` is `a`, but `task_id` is `b`
    samples.jsonl:1: has no output: `output`, `completion` or `solution` is missing (or, of an agent, `patch`, `workspace` or `trajectory`)
    samples.jsonl:1:20: duplicate field `case`
    samples.jsonl:1: has both `output` and `completion`
    samples.jsonl:1: `completion` must be a text
    samples.jsonl:1: `solution` must be a text
    samples.jsonl:1: `sample` must be an index from 0 to 999999, not -1
    samples.jsonl:1: `sample` must be an index from 0 to 999999, not 1000000
    samples.jsonl:1: `sample` must be an index from 0 to 999999, not "0"
    samples.jsonl:1: `usage` must contain input_tokens, output_tokens, cost_usd: invalid number
    samples.jsonl:1: `model` must be a text
    samples.jsonl:1: `eval` must be a text
    samples.jsonl:3: sample 0 of case `a` was already recorded at line 1
    samples.jsonl:2: line 1 of case `a` has a `sample`, but this one does not: give all of them an index, or none
    samples.jsonl:2: line 1 of case `a` has no `sample`, but this one does: give all of them an index, or none
    samples.jsonl:1: case `twice` is in the evals `e1` and `e2`: select one with `eval`
    samples.jsonl:1:148: not JSON: recursion limit exceeded
    samples.jsonl:2:3: the file is not UTF-8 here
    "##);
}

#[test]
fn many_faults_are_listed_up_to_a_limit() {
    let files = Recordings::new();
    let told = files.open("{}\n".repeat(25), &[("e", &["a"])]).unwrap_err();
    assert_eq!(told.lines().count(), 21);
    assert!(
        told.starts_with("samples.jsonl:1: has no case: `case` (or `task_id`) is missing"),
        "{told}"
    );
    assert!(
        told.ends_with(
            "
and 5 more problems"
        ),
        "{told}"
    );
}

#[test]
fn unknown_cases_are_one_warning() {
    let files = Recordings::new();
    let content: String = ["case-one", "case-tow", "zzz", "yyy", "xxx"]
        .iter()
        .map(|id| format!("{{\"case\":\"{id}\",\"output\":\"x\"}}\n"))
        .collect();
    let targets = files
        .open(content, &[("e", &["case-one", "case-two"])])
        .unwrap();
    insta::assert_snapshot!(targets.warnings().join("\n"), @r##"
    samples.jsonl: 4 records are for no case of this suite: `case-tow` (line 2, did you mean `case-two`?), `zzz` (line 3), `yyy` (line 4) and 1 more
    "##);
}

#[test]
fn recording_a_run_that_calls_no_model_is_a_warning() {
    let mut plan = plan(Some(Target::Echo), &[("e", &["a"])]);
    assert!(RunTargets::open(&plan).unwrap().warnings().is_empty());
    plan.settings.models.record = Some("recorded".into());
    let targets = RunTargets::open(&plan).unwrap();
    insta::assert_snapshot!(targets.warnings().join("\n"), @"`--record` writes nothing: the run calls no model, neither for a target or an agent nor as a judge");
}

#[test]
fn what_a_line_means_does_not_depend_on_what_was_selected() {
    let files = Recordings::new();
    let path = files.dir.path().join("samples.jsonl");
    let told = |content: &str, selected: &[(&str, &[&str])], whole: &[(&str, &[&str])]| {
        std::fs::write(&path, content).unwrap();
        let target = Some(Target::Recorded {
            path: path.clone(),
            separate_thoughts: false,
        });
        let evals = plan(None, whole).evals;
        let opened = RunTargets::open(&Plan {
            whole: evals,
            ..plan(target, selected)
        });
        let dir = format!("{}/", files.dir.path().display());
        opened
            .map(|targets| targets.warnings().join(";"))
            .map_err(|e| e.to_string().replace(&dir, ""))
    };
    let whole: &[(&str, &[&str])] = &[("e", &["a", "b"]), ("f", &["a", "c"])];
    let line = "{\"case\":\"a\",\"output\":\"x\"}\n{\"case\":\"c\",\"output\":\"x\"}\n";
    let several =
        "samples.jsonl:1: case `a` is in the evals `e` and `f`: select one with `eval`".to_owned();
    assert_eq!(told(line, whole, &[]), Err(several.clone()));
    assert_eq!(told(line, &[("e", &["a"])], whole), Err(several.clone()));
    assert_eq!(
        told(line, &[("e", &["a", "b"]), ("f", &[])], whole),
        Err(several)
    );
    let said = line.replace("{\"case\":\"a\"", "{\"eval\":\"f\",\"case\":\"a\"");
    assert_eq!(told(&said, &[("e", &["a"])], whole), Ok(String::new()));
}

#[test]
fn a_suite_without_a_target_and_a_file_that_is_not_there_are_errors() {
    assert_eq!(
        RunTargets::open(&plan(None, &[("e", &["a"])]))
            .unwrap_err()
            .to_string(),
        "the suite has no target; add `target:`, or pass --target or --outputs"
    );
    let gone = Target::Recorded {
        path: "/no/such/file.jsonl".into(),
        separate_thoughts: false,
    };
    assert_eq!(
        RunTargets::open(&plan(Some(gone), &[("e", &["a"])]))
            .unwrap_err()
            .to_string(),
        "cannot read the recorded outputs /no/such/file.jsonl: No such file or directory (os error 2)"
    );
}

fn command(argv: &[&str], dir: &Path) -> CommandTarget {
    CommandTarget {
        separate_thoughts: false,
        argv: argv.iter().map(|w| (*w).to_owned()).collect(),
        dir: dir.to_owned(),
        env: vec![],
        env_file: Default::default(),
        timeout: None,
        on_error: OnError::Error,
        output: OutputFormat::Text,
        sandbox: false,
        isolation: None,
        depends_on: None,
    }
}

async fn run(target: CommandTarget, input: CaseInput) -> Result<Output, TargetFailure> {
    let targets = RunTargets::open(&plan(Some(Target::Command(target)), &[])).unwrap();
    let answer = targets.ask("e", &case("a", input), (0, 0), None).await;
    answer.result
}

fn shell(script: &str) -> CommandTarget {
    command(&["sh", "-c", script], &std::env::temp_dir())
}

#[tokio::test]
async fn a_command_sees_the_prompt_its_folder_and_no_more_of_the_environment_than_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("solve.sh");
    std::fs::write(
        &script,
        "#!/bin/sh\ncat; echo; pwd; env | cut -d= -f1 | sort | tr '\\n' ' '\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut target = command(&["./solve.sh"], dir.path());
    target.env = vec!["HOME".into(), "EVAL_HARNESS_UNSET_NAME".into()];
    let output = run(target, prompt("the prompt")).await.unwrap();
    let OutputValue::Text(text) = output.value else {
        panic!()
    };
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("the prompt"));
    assert_eq!(
        lines.next().map(|l| std::fs::canonicalize(l).unwrap()),
        dir.path().canonicalize().ok()
    );
    let names: Vec<&str> = lines
        .next()
        .unwrap()
        .split(' ')
        .filter(|n| !["PWD", "_", "SHLVL", "OLDPWD", ""].contains(n))
        .collect();
    assert_eq!(names, ["HOME", "PATH"]);
}

#[tokio::test]
async fn the_whole_input_lies_in_input_json() {
    let target = shell("cat \"$0\"; echo; stat -c %a \"$(dirname \"$0\")\"; echo \"$0\" >&2");
    let mut target = CommandTarget { ..target };
    target.argv.push("{{ input_file }}".into());
    let input = CaseInput::Prompt {
        text: "p".into(),
        context: Some(json!({"k": [1]})),
    };
    let output = run(target.clone(), input).await.unwrap();
    assert_eq!(
        output.value,
        OutputValue::Text(
            "{\"content\":\"p\",\"context\":{\"k\":[1]},\"type\":\"prompt\"}\n700\n".into()
        )
    );
    target.argv[2] = "echo \"$0\"".into();
    let OutputValue::Text(path) = run(target, prompt("p")).await.unwrap().value else {
        panic!()
    };
    assert!(path.trim().ends_with("/input.json"), "{path}");
    assert!(
        !Path::new(path.trim()).exists(),
        "the private folder was left behind"
    );
}

#[tokio::test]
async fn every_input_reaches_stdin() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.txt");
    std::fs::write(&path, "from a file").unwrap();
    let inputs = [
        CaseInput::File {
            path: path.clone(),
            context: None,
        },
        CaseInput::Messages {
            messages: vec![Message {
                role: "user".into(),
                content: "hi".into(),
            }],
            context: None,
        },
        CaseInput::ApiCall {
            method: "GET".into(),
            endpoint: "/x".into(),
            headers: BTreeMap::new(),
            body: Some(json!({"a": 1}).into()),
        },
        CaseInput::Data {
            value: json!({"free": ["form"]}),
        },
    ];
    let mut told = String::new();
    for input in inputs {
        let OutputValue::Text(text) = run(shell("cat"), input).await.unwrap().value else {
            panic!()
        };
        told.push_str(&text);
        told.push('\n');
    }
    insta::assert_snapshot!(told, @r##"
    from a file
    {"messages":[{"content":"hi","role":"user"}],"type":"messages"}
    {"body":{"a":1},"endpoint":"/x","headers":{},"method":"GET","type":"api_call"}
    {"free":["form"]}
    "##);
    let gone = run(
        shell("cat"),
        CaseInput::File {
            path: dir.path().join("gone"),
            context: None,
        },
    )
    .await
    .unwrap_err();
    assert_eq!(gone.cause, Cause::Harness);
}

#[tokio::test]
async fn every_ending_of_a_command_has_its_cause() {
    let fail = |script: &str| CommandTarget {
        on_error: OnError::Fail,
        ..shell(script)
    };
    let as_json = |script: &str| CommandTarget {
        output: OutputFormat::Json,
        ..shell(script)
    };
    let hurried = CommandTarget {
        timeout: Some(Duration::from_millis(300)),
        ..shell("echo part; sleep 600")
    };
    let runs = [
        shell("exit 3"),
        shell("echo partial; printf 'bad \\033[31mthing\\n' >&2; exit 1"),
        shell("kill -KILL $$"),
        fail("echo trace >&2; exit 1"),
        fail("kill -SEGV $$"),
        shell("true"),
        shell("printf 'a\\377b'"),
        as_json("echo '{\"a\": 1}'"),
        as_json("echo '{\"a\": 1'"),
        as_json("true"),
        command(&["./no-such-target"], Path::new("/")),
        command(&["no-such-target"], Path::new("/")),
        hurried,
    ];
    let mut told = String::new();
    for target in runs {
        match run(target, prompt("p")).await {
            Ok(output) => told.push_str(&format!("ok {:?}\n", output.value)),
            Err(f) => told.push_str(&format!(
                "{} ({}{}): {}\n",
                f.cause,
                if f.retryable { "retryable" } else { "final" },
                if f.output.is_some() {
                    ", partial output"
                } else {
                    ""
                },
                f.reason
            )),
        }
    }
    insta::assert_snapshot!(told, @r##"
    target_failed (retryable): sh exited with code 3, and printed nothing to stderr
    target_failed (retryable, partial output): sh exited with code 1: bad thing
    target_failed (retryable): sh was ended by SIGKILL, and printed nothing to stderr
    exception (final): sh exited with code 1: trace
    crashed (final): sh was ended by SIGSEGV, and printed nothing to stderr
    ok Text("")
    target_failed (final, partial output): the output of sh is not UTF-8 (byte 1)
    ok Json(Object {"a": Number(1)})
    target_failed (final, partial output): the output of sh is not JSON: EOF while parsing an object at line 2 column 0
    target_failed (final): the output of sh is not JSON: EOF while parsing a value at line 1 column 0
    target_unreachable (final): `./no-such-target` does not exist (looked for /./no-such-target)
    target_unreachable (final): `no-such-target` was not found in PATH; for a file of the suite write `./no-such-target`
    target_timeout (retryable, partial output): sh did not end within 0.3 s; it and all processes that it started were stopped
    "##);
}

#[tokio::test]
async fn a_flood_is_cut_at_a_character_and_says_so() {
    let output = run(
        shell("head -c 1048575 /dev/zero | tr '\\0' a; printf 'éé'"),
        prompt("p"),
    )
    .await
    .unwrap();
    assert!(output.truncated);
    let OutputValue::Text(text) = output.value else {
        panic!()
    };
    assert_eq!(text.len(), 1_048_575);
}

#[tokio::test]
async fn an_echo_answers_with_its_input() {
    let targets = RunTargets::open(&plan(Some(Target::Echo), &[])).unwrap();
    let ask = |input| async { targets.ask("e", &case("a", input), (0, 0), None).await };
    let text = ask(prompt("hello")).await;
    assert_eq!(
        text.result.unwrap().value,
        OutputValue::Text("hello".into())
    );
    assert!(text.latency.is_some());
    let data = ask(CaseInput::Data {
        value: json!([1, 2]),
    })
    .await;
    assert_eq!(data.result.unwrap().value, OutputValue::Json(json!([1, 2])));
    let data = ask(CaseInput::Data {
        value: Value::String("t".into()),
    })
    .await;
    assert_eq!(data.result.unwrap().value, OutputValue::Text("t".into()));
}

#[tokio::test]
async fn a_cases_own_target_overrides_the_suites() {
    let targets = RunTargets::open(&plan(Some(Target::Echo), &[])).unwrap();
    let own = Some(Target::Recorded {
        path: "/none".into(),
        separate_thoughts: false,
    });
    let answer = targets
        .ask(
            "e",
            &Case {
                target: own,
                ..case("a", prompt("own"))
            },
            (0, 0),
            None,
        )
        .await;
    assert_eq!(answer.result.unwrap_err().cause, Cause::MissingOutput);
}
