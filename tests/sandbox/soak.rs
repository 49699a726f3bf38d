//! Many small jobs of every kind: neither descriptors nor memory grow, and the last jobs are as
//! fast as the first.
//!
//! `scripts/soak/sandbox-jobs` runs this with 50,000 jobs and looks at the speed too; without a
//! number there are 300 and only what does not depend on the speed of the machine is looked at.

use std::time::{Duration, Instant};

use crate::processes::field;
use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramEnding, ProgramJob, ProgramLimits, Sandbox,
    SandboxConfig, ScriptJob, TestJob, TestMode, TestVerdict,
};
use serde_json::json;

const JOBS: &str = "EVAL_HARNESS_SOAK_JOBS";
const WORKERS: usize = 2;

/// What is held at a moment.
#[derive(Clone, Copy, Debug)]
struct Held {
    jobs: usize,
    seconds: f64,
    /// Of the jobs.
    cpu_seconds: f64,
    descriptors: usize,
    kib: u64,
    /// Processes below this one, their memory and their descriptors.
    processes: usize,
    their_kib: u64,
    their_descriptors: usize,
}

fn held(jobs: usize, start: Instant, cpu: Duration) -> Held {
    let kib = |pid: &str| {
        field(pid, "VmRSS:")
            .trim_end_matches(" kB")
            .parse::<u64>()
            .unwrap_or(0)
    };
    let descriptors =
        |pid: &str| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let below: Vec<String> = crate::processes::below(std::process::id())
        .iter()
        .map(u32::to_string)
        .collect();
    Held {
        jobs,
        seconds: start.elapsed().as_secs_f64(),
        cpu_seconds: cpu.as_secs_f64(),
        descriptors: descriptors("self"),
        kib: kib("self"),
        processes: below.len(),
        their_kib: below.iter().map(|pid| kib(pid)).sum(),
        their_descriptors: below.iter().map(|pid| descriptors(pid)).sum(),
    }
}

/// Job number `n`, of the kind that its number says; one in eight fails in a way of its own.
/// Returns its CPU time.
async fn job(sandbox: &Sandbox, n: usize) -> Duration {
    let limits = ProgramLimits {
        wall: Duration::from_secs(60),
        ..ProgramLimits::default()
    };
    let good = n % 8 != 7;
    let body = if good {
        "return a + b"
    } else {
        "raise SystemExit(0)"
    };
    let code =
        format!("import os\nopen('left', 'w').write('x' * {n})\ndef solve(a, b):\n    {body}\n");
    let tests = |mode, tests: &str| TestJob {
        code: code.clone(),
        tests: vec![tests.into()],
        entry_point: Some("solve".into()),
        mode,
        limits: limits.clone(),
        ..TestJob::default()
    };
    match n % 5 {
        0 => {
            let code = format!("print({n})\nassert {}", if good { "True" } else { "False" });
            let script = ScriptJob {
                code,
                limits: limits.clone(),
                ..ScriptJob::default()
            };
            let result = sandbox.run_script(script).await.unwrap();
            assert_eq!(result.ending, ProgramEnding::Exited(i32::from(!good)));
            assert_eq!(result.streams.stdout, format!("{n}\n").into_bytes());
            result.cpu
        }
        1 => {
            let argv = ["sh", "-c", if good { "echo x > left" } else { "exit 3" }];
            let argv = argv.iter().map(|w| (*w).to_owned()).collect();
            let program = ProgramJob {
                argv,
                limits: limits.clone(),
                ..ProgramJob::default()
            };
            let result = sandbox.run_program(program).await.unwrap();
            assert_eq!(
                result.ending,
                ProgramEnding::Exited(if good { 0 } else { 3 })
            );
            result.cpu
        }
        2 => {
            let calls = vec![
                FunctionCall {
                    args: vec![json!(n), json!(1)],
                    kwargs: Vec::new()
                };
                3
            ];
            let entry_point = "solve".into();
            let job = FunctionJob {
                code,
                entry_point,
                calls,
                per_call: None,
                limits: limits.clone(),
                ..FunctionJob::default()
            };
            let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
            let value = CallOutcome::Value(json!(n + 1));
            assert!(
                report
                    .calls
                    .iter()
                    .all(|call| (call.outcome == value) == good),
                "{report:?}"
            );
            report.cpu
        }
        3 => {
            let text = format!("for k in range(3):\n    assert solve({n}, k) - k == {n}");
            let report = sandbox
                .run_tests(tests(Some(TestMode::Split), &text))
                .await
                .unwrap();
            assert_eq!(report.verdict == TestVerdict::Passed, good, "{report:?}");
            report.cpu
        }
        _ => {
            let text = format!("assert solve({n}, 1) == {}", n + 1);
            let report = sandbox.run_tests(tests(None, &text)).await.unwrap();
            assert_eq!(report.verdict == TestVerdict::Passed, good, "{report:?}");
            report.cpu
        }
    }
}

#[test]
fn nothing_grows_with_the_number_of_jobs() {
    let asked = std::env::var(JOBS)
        .ok()
        .map(|n| n.parse::<usize>().expect("a number"));
    let jobs = asked.unwrap_or(300);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let helper = env!("CARGO_BIN_EXE_eval-harness").into();
    let config = SandboxConfig {
        workers: WORKERS,
        ..SandboxConfig::new(helper)
    };
    let sandbox = match runtime.block_on(Sandbox::open(config)) {
        Ok(sandbox) => sandbox,
        Err(reason) => return println!("SKIPPED: {reason}"),
    };
    let batch = (jobs / 10).max(2);
    let start = Instant::now();
    let mut cpu = Duration::ZERO;
    let mut moments = vec![held(0, start, cpu)];
    for first in (0..jobs).step_by(batch) {
        let last = (first + batch).min(jobs);
        cpu += runtime.block_on(async {
            let tasks: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    let sandbox = sandbox.clone();
                    tokio::spawn(async move {
                        let mut cpu = Duration::ZERO;
                        for n in (first + worker..last).step_by(WORKERS) {
                            cpu += job(&sandbox, n).await;
                        }
                        cpu
                    })
                })
                .collect();
            let mut cpu = Duration::ZERO;
            for task in tasks {
                cpu += task.await.unwrap();
            }
            cpu
        });
        moments.push(held(last, start, cpu));
    }
    println!(
        "| jobs | ms a job | CPU ms a job | descriptors | MiB | processes | their descriptors | their MiB |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for pair in moments.windows(2) {
        let (before, now) = (pair[0], pair[1]);
        let each = |seconds: f64| seconds * 1000.0 / (now.jobs - before.jobs) as f64;
        let (wall, cpu) = (
            each(now.seconds - before.seconds),
            each(now.cpu_seconds - before.cpu_seconds),
        );
        println!(
            "| {} | {wall:.2} | {cpu:.2} | {} | {:.1} | {} | {} | {:.1} |",
            now.jobs,
            now.descriptors,
            now.kib as f64 / 1024.0,
            now.processes,
            now.their_descriptors,
            now.their_kib as f64 / 1024.0,
        );
    }
    // The first tenth warms everything up.
    let (early, late) = (moments[1], moments[moments.len() - 1]);
    let flat = |what: &str, early: u64, late: u64, slack: u64| {
        assert!(
            late <= early + early / 4 + slack,
            "{what} grew from {early} to {late}"
        );
    };
    flat(
        "descriptors",
        early.descriptors as u64,
        late.descriptors as u64,
        4,
    );
    flat("memory in KiB", early.kib, late.kib, 16 << 10);
    flat(
        "processes",
        early.processes as u64,
        late.processes as u64,
        2 * WORKERS as u64,
    );
    flat(
        "descriptors below",
        early.their_descriptors as u64,
        late.their_descriptors as u64,
        40,
    );
    flat(
        "memory below in KiB",
        early.their_kib,
        late.their_kib,
        64 << 10,
    );
    if asked.is_some() {
        let speed = |from: Held, to: Held| {
            (to.cpu_seconds - from.cpu_seconds) / (to.jobs - from.jobs) as f64
        };
        let (first, last) = (
            speed(moments[1], moments[2]),
            speed(moments[moments.len() - 2], late),
        );
        println!("CPU a job, last over first: {:.2}", last / first);
        assert!(
            last < 1.25 * first,
            "the last jobs took {:.2} times the CPU of the first",
            last / first
        );
    }
}
