//! A harness that is killed with SIGKILL while jobs of every kind run leaves no process, no mount
//! and no folder.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Project, eventually};
use eval_sandbox::{
    FunctionCall, FunctionJob, ProgramJob, ProgramLimits, Sandbox, SandboxConfig, ScriptJob,
    TestJob, TestMode, Tier,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::json;

/// Set for the process that is to be killed: the tier of its sandbox.
const VICTIM: &str = "SANDBOX_TEST_VICTIM";
const KILLS: u64 = 4;

/// Runs jobs of every kind for ever. Says so once the first is done.
async fn live_for_ever(tier: Tier) {
    let helper = env!("CARGO_BIN_EXE_eval-harness").into();
    let config = SandboxConfig {
        tiers: vec![tier],
        workers: 6,
        ..SandboxConfig::new(helper)
    };
    let sandbox = match Sandbox::open(config).await {
        Ok(sandbox) => sandbox,
        Err(reason) => return println!("SKIPPED: tier {tier}: {reason}"),
    };
    println!("ALIVE");
    let limits = ProgramLimits {
        wall: Duration::from_secs(600),
        ..ProgramLimits::default()
    };
    // One in three ends soon, so that processes also come and go at the moment of the kill.
    let slow = "import os, time\nif os.fork() == 0: os.setsid()\nopen('left-behind', 'w').write('x')\ntime.sleep(1000)\n";
    let in_fn = "import time\ndef solve(a):\n    open('left-behind', 'w').write('x')\n    time.sleep(a)\n    return a\n";
    let job = |mode, code: &str| TestJob {
        code: code.into(),
        tests: vec!["assert solve(1000) == 3".into()],
        entry_point: Some("solve".into()),
        mode,
        limits: limits.clone(),
        ..TestJob::default()
    };
    let call = |n: u32| FunctionCall {
        args: vec![json!(n)],
        kwargs: Vec::new(),
    };
    let function = FunctionJob {
        code: in_fn.into(),
        entry_point: "solve".into(),
        calls: vec![call(0), call(1000)],
        per_call: None,
        limits: limits.clone(),
        ..FunctionJob::default()
    };
    let quick = async {
        loop {
            let script = ScriptJob {
                code: "print(1)".into(),
                limits: limits.clone(),
                ..ScriptJob::default()
            };
            let _ = sandbox.run_script(script).await;
        }
    };
    let shell = "(setsid sleep 1000 &) ; echo x > left-behind; sleep 1000";
    let argv = ["sh", "-c", shell]
        .iter()
        .map(|w| (*w).to_owned())
        .collect();
    let _ = tokio::join!(
        sandbox.run_script(ScriptJob {
            code: slow.into(),
            limits: limits.clone(),
            ..ScriptJob::default()
        }),
        sandbox.run_program(ProgramJob {
            argv,
            limits: limits.clone(),
            ..ProgramJob::default()
        }),
        sandbox.call_functions(function, |_, value| value),
        sandbox.run_tests(job(Some(TestMode::Split), in_fn)),
        sandbox.run_tests(job(Some(TestMode::InProcess), in_fn)),
        async { quick.await as () },
    );
}

/// What a killed harness could leave: processes below us, mounts, files of its temporary folder,
/// groups of processes.
fn left(temporary: &Path, mounts: &str) -> Option<String> {
    let pids = crate::processes::below(std::process::id());
    // Ended children of the killed harness that came to us.
    let running: Vec<u32> = pids
        .into_iter()
        .filter(|pid| !crate::processes::field(&pid.to_string(), "State:").starts_with('Z'))
        .collect();
    if !running.is_empty() {
        return Some(crate::processes::told(&running));
    }
    let files: Vec<PathBuf> = std::fs::read_dir(temporary)
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .collect();
    if !files.is_empty() {
        return Some(format!("{files:?}"));
    }
    let groups = groups(&PathBuf::from("/sys/fs/cgroup"), 3);
    if !groups.is_empty() {
        return Some(format!("{groups:?}"));
    }
    let now = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    (now != mounts).then(|| format!("mounts: {now}"))
}

/// Control groups of the victims: a group says in its name whose it is.
fn groups(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !path.is_symlink())
    {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let victims = VICTIMS
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if name.starts_with("eval-harness")
            && victims.iter().any(|pid| name.contains(&format!("-{pid}-")))
        {
            found.push(path);
        } else if depth > 0 {
            drop(victims);
            found.extend(groups(&path, depth - 1));
        }
    }
    found
}

static VICTIMS: std::sync::Mutex<Vec<u32>> = std::sync::Mutex::new(Vec::new());

/// One harness at a time: what is found below this process is its own.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Kills a harness `KILLS` times at random moments of its life and looks at what is left.
fn kill(name: &str, seed: u64, start: impl Fn(&Path) -> Option<Child>) {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    crate::processes::adopt_orphans();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..KILLS {
        let temporary = tempfile::tempdir().unwrap();
        std::fs::set_permissions(temporary.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let Some(mut victim) = start(temporary.path()) else {
            return println!("SKIPPED: {name}");
        };
        std::thread::sleep(Duration::from_millis(random.next_u64() % 700));
        VICTIMS
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(victim.id());
        victim.kill().unwrap();
        victim.wait().unwrap();
        let mut last = None;
        for _ in 0..400 {
            last = left(temporary.path(), &mounts);
            if last.is_none() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(last, None, "{name}: something was left");
    }
}

fn victim_of(tier: Tier, test: &str) -> impl Fn(&Path) -> Option<Child> {
    move |temporary: &Path| {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                &crate::support::full_name(module_path!(), test),
                "--exact",
                "--nocapture",
            ])
            .env(VICTIM, tier.name())
            .env("TMPDIR", temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        use std::io::BufRead;
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if line == "ALIVE" {
                return Some(child);
            }
            if line.starts_with("SKIPPED") {
                println!("{line}");
                child.wait().unwrap();
                return None;
            }
        }
        let status = child.wait().unwrap();
        panic!("the harness of tier {tier} ended by itself: {status}");
    }
}

fn of_tier(tier: Tier, test: &str) {
    if std::env::var_os(VICTIM).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(live_for_ever(tier));
    }
    kill(tier.name(), 17, victim_of(tier, test));
}

#[test]
fn nothing_is_left_of_userns() {
    of_tier(Tier::Userns, "nothing_is_left_of_userns");
}

#[test]
fn nothing_is_left_of_rootns() {
    of_tier(Tier::Rootns, "nothing_is_left_of_rootns");
}

#[test]
fn nothing_is_left_of_landlock() {
    of_tier(Tier::Landlock, "nothing_is_left_of_landlock");
}

/// The real program with a suite of programs that run for long.
#[test]
fn nothing_is_left_of_a_run() {
    let mut eval = "metadata: {id: long}\ntest_cases:\n".to_owned();
    let mut outputs = String::new();
    for n in 0..8 {
        let config = match n % 2 {
            0 => "{method: code_execution, stdio: [{stdin: '', stdout: x}], timeout_seconds: 600}",
            _ => "{function_name: f, test_cases: [{args: [1], expected: 1}], timeout_seconds: 600}",
        };
        eval += &format!("  - {{id: c{n}, input: x, grader: {{type: code, config: {config}}}}}\n");
        let code = r"import time\ndef f(x): time.sleep(1000)\nif __name__ == '__main__': f(1)";
        outputs += &format!("{{\"case\": \"c{n}\", \"output\": \"{code}\"}}\n");
    }
    let suite = "eval_suite:\n  name: Long\n  config: {max_workers: 4}\n  target: {type: recorded, path: outputs.jsonl}\n  evals:\n    - $ref: eval.yaml\n";
    let project = Project::with(&[
        ("suite.yaml", suite),
        ("eval.yaml", &eval),
        ("outputs.jsonl", &outputs),
    ]);
    kill("run", 23, |temporary| {
        let mut command = project.command(&[
            "run",
            "--suite",
            "suite.yaml",
            "--jobs",
            "4",
            "--progress",
            "none",
        ]);
        let child = command
            .env("TMPDIR", temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A cell and what runs in it.
        eventually("jobs run", || crate::processes::below(child.id()).len() > 3);
        Some(child)
    });
}
