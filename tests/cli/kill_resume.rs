//! Runs that are killed at random moments and resumed end as if nothing had happened.
//!
//! `scripts/soak/kill-resume N` runs this with N kills; without a number there are 25. The moments
//! are drawn from a seed that is printed: whatever the moment, what is promised must hold, so that
//! nothing here depends on the speed of the machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Call, Project};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;

const JOBS: usize = 4;

/// What is run: files, and how often the target is asked for each prompt when nothing goes wrong.
struct Kind {
    name: &'static str,
    project: fn() -> Project,
    /// Asks of each prompt in a whole run; `None` where nobody counts.
    asks: Option<usize>,
    /// What a whole run ends with.
    code: i32,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "recorded",
        project: recorded,
        asks: None,
        code: 1,
    },
    Kind {
        name: "command",
        project: command,
        asks: Some(2),
        code: 1,
    },
    Kind {
        name: "sandboxed",
        project: sandboxed,
        asks: None,
        code: 1,
    },
];

fn suite(target: &str) -> String {
    format!(
        "eval_suite:\n  name: Soak\n  config: {{max_workers: {JOBS}, k: [1]}}\n  target: {target}\n  evals:\n    - $ref: eval.yaml\n  \
         reporting: {{format: [json]}}\n"
    )
}

/// Two samples of each of 1,000 rows; every seventh output is wrong, every 50th is missing.
fn recorded() -> Project {
    let (mut rows, mut outputs) = (String::new(), String::new());
    for n in 0..1000 {
        let _ = writeln!(rows, r#"{{"id": "c{n}", "q": "{n}", "a": "{}"}}"#, n + 1);
        for sample in 0..2 {
            let answer = if n % 7 == 0 { n } else { n + 1 };
            if n % 50 != 3 || sample == 0 {
                let _ = writeln!(
                    outputs,
                    r#"{{"case": "c{n}", "sample": {sample}, "output": "{answer}"}}"#
                );
            }
        }
    }
    let eval = "metadata: {id: soak}\nconfig: {samples: 2}\ndataset:\n  path: rows.jsonl\n  format: jsonl\n  case: {id: \"{{ row.id }}\", \
                input: \"{{ row.q }}\", expected: {type: exact, value: \"{{ row.a }}\"}}\n";
    Project::with(&[
        (
            "suite.yaml",
            &suite("{type: recorded, path: outputs.jsonl}"),
        ),
        ("eval.yaml", eval),
        ("rows.jsonl", &rows),
        ("outputs.jsonl", &outputs),
    ])
}

/// Thirty cases of two samples; every fifth answer is wrong. The command notes each time that it is
/// asked.
fn command() -> Project {
    // A harness that is killed before it has written the prompt asks nothing.
    let script = "#!/bin/sh\nread -r line\n[ -n \"$line\" ] || exit 1\necho \"$line\" >> asked.log\ncase $line in *0 | *5) echo wrong ;; *) echo \"$line\" ;; esac\n";
    let mut eval = "metadata: {id: soak}\nconfig: {samples: 2}\ntest_cases:\n".to_owned();
    for n in 0..30 {
        let _ = writeln!(
            eval,
            "  - {{id: c{n}, input: \"say {n}\", expected: {{type: exact, value: \"say {n}\"}}}}"
        );
    }
    let project = Project::with(&[
        (
            "suite.yaml",
            &suite("{type: command, command: [\"sh\", \"answer.sh\"]}"),
        ),
        ("eval.yaml", &eval),
        ("answer.sh", script),
    ]);
    project.write("asked.log", "");
    project
}

/// A dozen programs; one raises and one prints something else.
fn sandboxed() -> Project {
    let mut eval = "metadata: {id: soak}\ntest_cases:\n".to_owned();
    let mut outputs = String::new();
    for n in 0..12 {
        let _ = writeln!(
            eval,
            "  - {{id: c{n}, input: x, grader: {{type: code, config: {{method: code_execution, stdio: [{{stdin: \"\", stdout: \"{n}\"}}]}}}}}}"
        );
        let program = match n {
            3 => "raise ValueError(1)".to_owned(),
            4 => "print('no')".to_owned(),
            n => format!("print({n})"),
        };
        let _ = writeln!(outputs, r#"{{"case": "c{n}", "output": "{program}"}}"#);
    }
    Project::with(&[
        (
            "suite.yaml",
            &suite("{type: recorded, path: outputs.jsonl}"),
        ),
        ("eval.yaml", &eval),
        ("outputs.jsonl", &outputs),
    ])
}

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];
const RESUME: [&str; 5] = ["run", "--resume", "latest", "--progress", "none"];

/// Everything of a report but times and ids.
fn timeless(mut report: Value) -> Value {
    const TIMES: [&str; 10] = [
        "slowest_ms",
        "ms",
        "run_id",
        "timestamp",
        "duration_seconds",
        "duration_ms",
        "latency_ms",
        "latency_mean_ms",
        "latency_p50_ms",
        "latency_p95_ms",
    ];
    match &mut report {
        Value::Object(fields) => {
            fields.retain(|name, _| !TIMES.contains(&name.as_str()));
            fields
                .iter_mut()
                .for_each(|(_, value)| *value = timeless(value.take()));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    report
}

/// Lines by how often they stand in the file.
fn asked(project: &Project) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(project.path().join("asked.log")).unwrap_or_default();
    let mut counts = BTreeMap::new();
    text.lines()
        .for_each(|line| *counts.entry(line.to_owned()).or_default() += 1);
    counts
}

fn start(project: &Project, args: &[&str]) -> Child {
    project
        .command(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// True when there is a run to resume: one with at least a whole first line.
fn can_resume(project: &Project) -> bool {
    let call = project.call(&["report", "--run", "latest", "--format", "json"]);
    call.code != Some(2)
}

/// Kills a run of this kind up to `kills` times, lets it come to its end, and checks what is
/// promised; returns how many of the kills hit a run that was alive.
fn disturb(
    kind: &Kind,
    reference: &Value,
    whole: Duration,
    kills: usize,
    rng: &mut ChaCha8Rng,
) -> usize {
    let project = (kind.project)();
    let mut hits = 0;
    for _ in 0..kills {
        let mut child = start(&project, if can_resume(&project) { &RESUME } else { &RUN });
        let share = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        std::thread::sleep(whole.mul_f64(1.1 * share));
        child.kill().expect("a child of ours");
        hits += usize::from(child.wait().expect("a child of ours").code().is_none());
    }
    let call = project.call(if can_resume(&project) { &RESUME } else { &RUN });
    let call = Call { ..call }.expect(kind.code);
    let report = timeless(project.report());
    assert!(
        report == *reference,
        "{}: {}\n{}",
        kind.name,
        difference(&report, reference, ""),
        call.stderr
    );
    if let Some(each) = kind.asks {
        let counts = asked(&project);
        assert_eq!(counts.len(), 30, "every case was asked: {counts:?}");
        assert!(counts.values().all(|n| *n >= each), "{counts:?}");
        let twice: usize = counts.values().map(|n| n - each).sum();
        assert!(
            twice <= hits * JOBS,
            "{twice} samples were asked again after {hits} kills with {JOBS} in flight"
        );
    }
    assert!(
        journal_is_whole(&project.result(".journal.jsonl")),
        "a journal line is torn"
    );
    hits
}

fn journal_is_whole(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).expect("a journal");
    text.ends_with('\n')
        && text
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
}

/// Where two values first differ.
fn difference(a: &Value, b: &Value, at: &str) -> String {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => x
            .keys()
            .chain(y.keys())
            .find(|key| x.get(*key) != y.get(*key))
            .map_or_else(String::new, |key| {
                difference(
                    x.get(key).unwrap_or(&Value::Null),
                    y.get(key).unwrap_or(&Value::Null),
                    &format!("{at}/{key}"),
                )
            }),
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => x
            .iter()
            .zip(y)
            .position(|(x, y)| x != y)
            .map_or_else(String::new, |i| {
                difference(&x[i], &y[i], &format!("{at}/{i}"))
            }),
        _ => format!("{at}: {a} is not {b}"),
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_is_resumed_to_the_same_end() {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .map_or(default, |text| text.parse().expect("a number"))
    };
    let wanted = number("EVAL_HARNESS_SOAK_KILLS", 25) as usize;
    let seed = number("EVAL_HARNESS_SOAK_SEED", 20_261_122);
    println!("{wanted} kills, seed {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let references: Vec<(Value, Duration)> = KINDS
        .iter()
        .map(|kind| {
            let project = (kind.project)();
            let started = Instant::now();
            project.call(&RUN).expect(kind.code);
            (timeless(project.report()), started.elapsed())
        })
        .collect();
    let (mut kills, mut hits) = (0, 0);
    while kills < wanted {
        let which = kills % KINDS.len();
        let now = 1 + (rng.next_u32() % 3) as usize;
        let (reference, whole) = &references[which];
        hits += disturb(&KINDS[which], reference, *whole, now, &mut rng);
        kills += now;
        println!("{kills} kills, {hits} of them before the end");
    }
    assert!(hits > 0, "no kill hit a run that was alive");
}
