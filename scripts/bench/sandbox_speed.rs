//! What a Python job costs, in CPU time, beside a bare fork of a warm interpreter.
//!
//! `cargo run --release --example sandbox_speed -- HELPER [JOBS]`: HELPER is the built
//! `eval-harness`. Of each kind of job the mean is printed of what the process itself used, what
//! its fork server used for it, what we used, and the wall time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use eval_sandbox::{FunctionCall, FunctionJob, ProgramLimits, Sandbox, SandboxConfig, ScriptJob};
use serde_json::json;

type Error = Box<dyn std::error::Error>;

/// Bare forks of an interpreter that is as warm: the bound. Prints the mean CPU time in ms of
/// parent and child together.
const BARE: &str = "
import gc, os, resource, sys, typing, math, re, itertools, functools, heapq, dataclasses, datetime, traceback
code = 'def f(x):\\n    return x + 1\\n'
exec(compile(code, 's', 'exec'), {})
gc.collect(); gc.freeze()
calls, n = int(sys.argv[1]), int(sys.argv[2])
def used():
    return sum(sum(resource.getrusage(w)[:2]) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
before = used()
for _ in range(n):
    pid = os.fork()
    if pid == 0:
        g = {}
        exec(compile(code, 's', 'exec'), g)
        for i in range(calls): g['f'](i)
        os._exit(0)
    os.waitpid(pid, 0)
print(round((used() - before) * 1000 / n, 3))
";

/// User and system time in ms, from a `stat` file of proc.
fn cpu_ms(path: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let after = text.rsplit(") ").next().unwrap_or_default();
    let ticks = |i: usize| {
        after
            .split(' ')
            .nth(i)
            .and_then(|t| t.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) * 10.0
}

/// The first process below this one that runs the fork server.
fn server() -> Option<u32> {
    let mut waiting = vec![std::process::id()];
    while let Some(pid) = waiting.pop() {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains("SETTINGS") {
            return Some(pid);
        }
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))
            .ok()?
            .flatten()
        {
            let children =
                std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|p| p.parse::<u32>().ok()),
            );
        }
    }
    None
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let helper = PathBuf::from(arguments.next().ok_or("which helper?")?);
    let jobs: u32 = arguments.next().map_or(Ok(300), |n| n.parse())?;
    let config = SandboxConfig {
        jobs_per_server: u32::MAX,
        ..SandboxConfig::new(helper)
    };
    let sandbox = Sandbox::open(config).await?;
    let python = sandbox.python()?.path.clone();
    let limits = ProgramLimits {
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    };
    for _ in 0..2 {
        for calls in [1usize, 7, 100] {
            let bare = std::process::Command::new(&python)
                .args([
                    "-s",
                    "-S",
                    "-c",
                    BARE,
                    &calls.to_string(),
                    &jobs.to_string(),
                ])
                .output()?;
            let bare = String::from_utf8_lossy(&bare.stdout).trim().to_owned();
            let call = |i: usize| FunctionCall {
                args: vec![json!(i)],
                kwargs: Vec::new(),
            };
            let job = FunctionJob {
                code: "def f(x):\n    return x + 1\n".into(),
                entry_point: "f".into(),
                calls: (0..calls).map(call).collect(),
                per_call: Some(Duration::from_secs(5)),
                limits: limits.clone(),
                ..FunctionJob::default()
            };
            sandbox
                .call_functions(job.clone(), |_, value| value)
                .await?;
            let stat = server()
                .map(|pid| format!("/proc/{pid}/stat"))
                .unwrap_or_default();
            let (start, server, ours) = (Instant::now(), cpu_ms(&stat), cpu_ms("/proc/self/stat"));
            let mut inside = Duration::ZERO;
            for _ in 0..jobs {
                inside += sandbox
                    .call_functions(job.clone(), |_, value| value)
                    .await?
                    .cpu;
            }
            let each = |ms: f64| ms / f64::from(jobs);
            println!(
                "{calls:3} calls: bare fork {bare} ms; job {:.3} + server {:.3} + harness {:.3} ms, wall {:.3} ms",
                each(inside.as_secs_f64() * 1e3),
                each(cpu_ms(&stat) - server),
                each(cpu_ms("/proc/self/stat") - ours),
                each(start.elapsed().as_secs_f64() * 1e3),
            );
        }
    }
    let script = ScriptJob {
        code: "print(1)".into(),
        limits,
        ..ScriptJob::default()
    };
    let (start, mut inside) = (Instant::now(), Duration::ZERO);
    for _ in 0..jobs {
        inside += sandbox.run_script(script.clone()).await?.cpu;
    }
    println!(
        "script: job {:?}, wall {:?}",
        inside / jobs,
        start.elapsed() / jobs
    );
    Ok(())
}
