//! Runs every canonical solution of HumanEval and MBPP, and five hostile stand-ins for HumanEval's,
//! through the sandbox and prints how many passed and how the others ended.
//!
//! `cargo run --example sandbox_benchmarks -- HELPER DATA [TIER]`: HELPER is the built
//! `eval-harness`, DATA a folder with `humaneval/HumanEval.jsonl`, `mbpp/mbpp.jsonl` and
//! `mbpp/sanitized-mbpp.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use eval_sandbox::{
    ProgramLimits, Sandbox, SandboxConfig, ScriptJob, TestJob, TestMode, TestReport, TestVerdict,
    Tier,
};
use serde_json::Value;

type Error = Box<dyn std::error::Error>;

fn text(record: &Value, key: &str) -> String {
    record[key].as_str().unwrap_or_default().to_owned()
}

fn texts(record: &Value, key: &str) -> Vec<String> {
    let list = record[key]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    list.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn lines(path: PathBuf) -> Result<Vec<Value>, Error> {
    let text = std::fs::read_to_string(path)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn human_eval(record: &Value, code: String) -> (String, TestJob) {
    let job = TestJob {
        code,
        tests: vec![text(record, "test")],
        entry_point: Some(text(record, "entry_point")),
        check: Some("check".to_owned()),
        limits: ProgramLimits {
            wall: Duration::from_secs(20),
            ..ProgramLimits::default()
        },
        ..TestJob::default()
    };
    (text(record, "task_id"), job)
}

fn mbpp(record: &Value) -> (String, TestJob) {
    let mut setup = texts(record, "test_imports").join("\n");
    setup.push_str(&text(record, "test_setup_code"));
    let job = TestJob {
        code: text(record, "code"),
        setup,
        tests: texts(record, "test_list"),
        ..TestJob::default()
    };
    (record["task_id"].to_string(), job)
}

fn label(verdict: &TestVerdict) -> String {
    let whole = format!("{verdict:?}");
    whole
        .split([' ', '{'])
        .next()
        .unwrap_or_default()
        .chars()
        .take(70)
        .collect()
}

async fn run(name: &str, sandbox: &Sandbox, jobs: Vec<(String, TestJob)>, expect_pass: bool) {
    let start = Instant::now();
    let tasks: Vec<_> = jobs
        .into_iter()
        .map(|(id, job)| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { (id, sandbox.run_tests(job).await) })
        })
        .collect();
    let (mut passed, mut in_process, mut total) = (0, Vec::new(), 0);
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for task in tasks {
        total += 1;
        match task.await {
            Ok((
                id,
                Ok(TestReport {
                    verdict,
                    mode,
                    mode_reason,
                    ..
                }),
            )) => {
                *labels.entry(label(&verdict)).or_default() += 1;
                passed += usize::from(verdict == TestVerdict::Passed);
                if mode == TestMode::InProcess {
                    in_process.push(format!("{id} ({mode_reason})"));
                }
                if (verdict == TestVerdict::Passed) != expect_pass {
                    println!("  {id}: {verdict:?}");
                }
            }
            other => println!("  broken: {other:?}"),
        }
    }
    println!(
        "{name}: {passed} of {total} passed in {:?}; {labels:?}",
        start.elapsed()
    );
    if !in_process.is_empty() && expect_pass {
        println!("  in process: {}", in_process.join("; "));
    }
}

/// The median of 60 starts, in milliseconds: the bare interpreter with the same program, and the
/// sandbox.
async fn overhead(sandbox: &Sandbox) -> Result<(), Error> {
    let python = sandbox.python()?.path.clone();
    let program = "print(sum(range(10)))";
    let (mut plain, mut inside, mut isolated) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..60 {
        let start = Instant::now();
        std::process::Command::new(&python)
            .args(["-c", program])
            .output()?;
        plain.push(start.elapsed());
        let start = Instant::now();
        std::process::Command::new(&python)
            .args(["-I", "-S", "-c", program])
            .output()?;
        isolated.push(start.elapsed());
        let start = Instant::now();
        sandbox
            .run_script(ScriptJob {
                code: program.to_owned(),
                ..ScriptJob::default()
            })
            .await?;
        inside.push(start.elapsed());
    }
    for (name, mut times) in [
        ("plain", plain),
        ("plain -I -S", isolated),
        ("sandbox", inside),
    ] {
        times.sort();
        println!(
            "start of an interpreter, {name}: {:.1} ms",
            times[30].as_secs_f64() * 1e3
        );
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [helper, data, rest @ ..] = args.as_slice() else {
        return Err("HELPER DATA [TIER]".into());
    };
    let data = PathBuf::from(data);
    let mut config = SandboxConfig {
        workers: 2,
        ..SandboxConfig::new(PathBuf::from(helper))
    };
    if let Some(tier) = rest.first() {
        config.tiers = vec![if tier == "rootns" {
            Tier::Rootns
        } else {
            Tier::Userns
        }];
    }
    let sandbox = Sandbox::open(config).await?;
    println!("{:?} {:?}", sandbox.state(), sandbox.python()?);
    overhead(&sandbox).await?;
    let problems = lines(data.join("humaneval/HumanEval.jsonl"))?;
    let canonical = problems
        .iter()
        .map(|r| human_eval(r, text(r, "prompt") + &text(r, "canonical_solution")))
        .collect();
    run("HumanEval canonical", &sandbox, canonical, true).await;
    let equal = "class E:\n  def __eq__(s, o): return True\n  def __ne__(s, o): return False\n  def __lt__(s, o): return True\n  def __abs__(s): return s\n  def __sub__(s, o): return s\n";
    let hostile: [(&str, &str, &str); 6] = [
        ("return None", "", "return None"),
        ("sys.exit(0)", "import sys; sys.exit(0)\n", "pass"),
        ("os._exit(0)", "import os; os._exit(0)\n", "pass"),
        ("raise SystemExit", "raise SystemExit\n", "pass"),
        ("always equal", equal, "return E()"),
        (
            "always equal int",
            "class E(int):\n  def __eq__(s, o): return True\n  __hash__ = int.__hash__\n",
            "return E()",
        ),
    ];
    for (name, before, body) in hostile {
        let jobs = problems
            .iter()
            .map(|r| human_eval(r, format!("{before}{}\n    {body}\n", text(r, "prompt"))))
            .collect();
        run(name, &sandbox, jobs, false).await;
    }
    let all = lines(data.join("mbpp/mbpp.jsonl"))?;
    run(
        "MBPP canonical",
        &sandbox,
        all.iter().map(mbpp).collect(),
        true,
    )
    .await;
    let sanitized: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(
        data.join("mbpp/sanitized-mbpp.json"),
    )?)?;
    run(
        "MBPP sanitized canonical",
        &sandbox,
        sanitized.iter().map(mbpp).collect(),
        true,
    )
    .await;
    Ok(())
}
