//! Hostile and honest programs against every tier that works here. The programs are the files of `tests/sandbox/attacks`;
//! the head of each says how it is run and which labels are right. After each, an honest program must find an empty folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_harness::sandbox::{
    Call, CallOutcome, Ending, FunctionJob, Limits, Raised, RunFailure, Sandbox, SandboxConfig, SandboxError,
    Script, TestJob, TestMode, TestVerdict, Tier, signal_name,
};
use serde_json::json;

/// Set for the run of this very test as another user.
const HELPER: &str = "SANDBOX_TEST_HELPER";
const PYTHON: &str = "SANDBOX_TEST_PYTHON";

struct Attack {
    name: String,
    mode: String,
    expected: Vec<String>,
    limits: Limits,
    source: String,
}

fn attacks() -> Vec<Attack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/attacks");
    // The run as another user can't reach the project and brings its own copy.
    let folder = std::env::var_os("SANDBOX_TEST_ATTACKS").map_or(folder, PathBuf::from);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read_attack(path)).collect()
}

fn read_attack(path: &Path) -> Attack {
    let source = std::fs::read_to_string(path).unwrap();
    let head = |key: &str| {
        let prefix = format!("# {key}: ");
        source.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::trim)
    };
    // Programs that end by themselves get time enough for the busiest machine.
    let wall = head("wall").map_or(30, |w| w.parse().unwrap());
    Attack {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        mode: head("mode").expect("a mode").to_owned(),
        expected: head("expect").expect("an expectation").split('|').map(str::to_owned).collect(),
        limits: Limits { wall: Duration::from_secs(wall), ..Limits::default() },
        source,
    }
}

fn label_of_ending(ending: &Ending) -> String {
    match ending {
        Ending::Exited(_) => "exited".into(),
        Ending::Signaled(signal) => format!("crashed({})", signal_name(*signal)),
        Ending::TimedOut => "timeout".into(),
        Ending::MemoryLimit => "memory_limit".into(),
        Ending::OutputLimit => "output_limit".into(),
        Ending::Violation(_) => "sandbox_violation".into(),
    }
}

fn label_of_exception(raised: &Raised) -> String {
    if raised.is("AssertionError") { "wrong_answer".into() } else { "exception".into() }
}

fn label_of_failure(failure: &RunFailure) -> String {
    match failure {
        RunFailure::SyntaxError { .. } => "syntax_error".into(),
        RunFailure::LoadRaised(raised) => label_of_exception(raised),
        RunFailure::Exited { .. } => "exited".into(),
        RunFailure::Ended(ending) => label_of_ending(ending),
        RunFailure::Forged { .. } => "forged".into(),
    }
}

async fn run_script(sandbox: &Sandbox, attack: &Attack) -> Result<String, SandboxError> {
    let script = Script { code: attack.source.clone(), limits: attack.limits.clone(), ..Script::default() };
    let result = sandbox.run_script(script).await?;
    let stderr = String::from_utf8_lossy(&result.streams.stderr).into_owned();
    let last = stderr.trim_end().lines().last().unwrap_or_default();
    Ok(match result.ending {
        Ending::Exited(0) => "passed".into(),
        Ending::Exited(_) if last.starts_with("AssertionError") => {
            println!("{}: {last}", attack.name);
            "wrong_answer".into()
        }
        Ending::Exited(_) if last.starts_with("SyntaxError") => "syntax_error".into(),
        Ending::Exited(_) => "exception".into(),
        other => label_of_ending(&other),
    })
}

async fn run_functions(sandbox: &Sandbox, attack: &Attack) -> Result<String, SandboxError> {
    let arguments = [[1, 2], [10, -3], [0, 0]];
    let expected = [json!(3), json!(7), json!(0)];
    let call = |args: &[i32; 2]| Call { args: args.iter().map(|a| json!(a)).collect(), kwargs: Vec::new() };
    let job = FunctionJob {
        code: attack.source.clone(),
        entry_point: "solve".into(),
        calls: arguments.iter().map(call).collect(),
        per_call: Some(attack.limits.wall),
        limits: attack.limits.clone(),
    };
    let report = sandbox.call_functions(job).await?;
    assert_eq!(report.calls.len(), 3);
    for (call, want) in report.calls.iter().zip(expected) {
        match &call.outcome {
            CallOutcome::Value(value) if *value == want => {}
            CallOutcome::Value(_) => return Ok("wrong_answer".into()),
            CallOutcome::Raised(raised) => return Ok(label_of_exception(raised)),
            CallOutcome::Failed(failure) => return Ok(label_of_failure(failure)),
            CallOutcome::NotRun => return Ok("not_run".into()),
        }
    }
    Ok("passed".into())
}

async fn run_tests(sandbox: &Sandbox, attack: &Attack, mode: TestMode) -> Result<String, SandboxError> {
    let (tests, check) = match mode {
        TestMode::InProcess => ("assert 1 + 1 == 2", None),
        TestMode::Compared | TestMode::Split => (
            "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(10, -3) == 7\n    assert candidate(0, 0) == 0\n",
            Some("check".to_owned()),
        ),
    };
    let job = TestJob {
        code: attack.source.clone(),
        tests: vec![tests.into()],
        entry_point: Some("solve".into()),
        check,
        mode: Some(mode),
        limits: attack.limits.clone(),
        ..TestJob::default()
    };
    let report = sandbox.run_tests(job).await?;
    assert_eq!(report.mode, mode);
    Ok(match &report.verdict {
        TestVerdict::Passed => "passed".into(),
        TestVerdict::AssertionFailed { .. } | TestVerdict::Opaque { .. } => "wrong_answer".into(),
        TestVerdict::CandidateRaised(_) | TestVerdict::TestRaised(_) => "exception".into(),
        TestVerdict::Failed(failure) => label_of_failure(failure),
        other => format!("{other:?}"),
    })
}

async fn canary(sandbox: &Sandbox) -> Result<String, SandboxError> {
    let code = "import os\nassert os.listdir('.') == [\"main.py\"], os.listdir('.')\nassert sum(range(10)) == 45\nprint('well')";
    let script = Script { code: code.into(), limits: wide(), ..Script::default() };
    let result = sandbox.run_script(script).await?;
    let said = String::from_utf8_lossy(&result.streams.stdout).into_owned();
    Ok(format!("{:?} {said}{}", result.ending, String::from_utf8_lossy(&result.streams.stderr)))
}

fn wide() -> Limits {
    Limits { wall: Duration::from_secs(30), ..Limits::default() }
}

fn helper() -> PathBuf {
    std::env::var_os(HELPER).map_or_else(|| env!("CARGO_BIN_EXE_eval-harness").into(), PathBuf::from)
}

/// Programs that never end wait for their time; so several sandboxes take turns on the list.
const AT_ONCE: usize = 3;

async fn attack_everything(tier: Tier) {
    let parts = (0..AT_ONCE).map(|part| tokio::spawn(attack_part(tier, part)));
    let mut wrong = Vec::new();
    for part in parts.collect::<Vec<_>>() {
        wrong.extend(part.await.unwrap());
    }
    assert!(wrong.is_empty(), "tier {tier}:\n{}", wrong.join("\n"));
}

/// Every `AT_ONCE`-th attack from `part` on; returns what went wrong.
async fn attack_part(tier: Tier, part: usize) -> Vec<String> {
    let config = SandboxConfig {
        tiers: vec![tier],
        python: std::env::var_os(PYTHON).map(PathBuf::from),
        ..SandboxConfig::new(helper())
    };
    let sandbox = match Sandbox::open(config).await {
        Ok(sandbox) => sandbox,
        Err(reason) => {
            println!("SKIPPED: tier {tier}: {reason}");
            return Vec::new();
        }
    };
    let mut wrong = Vec::new();
    for attack in attacks().into_iter().skip(part).step_by(AT_ONCE) {
        let label = match attack.mode.as_str() {
            "script" => run_script(&sandbox, &attack).await,
            "fn" => run_functions(&sandbox, &attack).await,
            "split" => run_tests(&sandbox, &attack, TestMode::Split).await,
            "inproc" => run_tests(&sandbox, &attack, TestMode::InProcess).await,
            other => panic!("{}: unknown mode {other}", attack.name),
        };
        let label = label.unwrap_or_else(|e| format!("harness: {e}"));
        if !attack.expected.contains(&label) {
            wrong.push(format!("{}: {label}, expected {}", attack.name, attack.expected.join(" or ")));
        }
        let after = canary(&sandbox).await.unwrap_or_else(|e| e.to_string());
        if after != "Exited(0) well\n" {
            wrong.push(format!("{}: afterwards an honest program got {after}", attack.name));
        }
    }
    wrong
}

#[tokio::test]
async fn userns_holds() {
    attack_everything(Tier::Userns).await;
}

#[tokio::test]
async fn rootns_holds() {
    attack_everything(Tier::Rootns).await;
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// A machine where no tier works at all would make every other test here pass without testing anything.
#[tokio::test]
async fn root_always_has_a_tier() {
    if is_root() {
        let sandbox = Sandbox::open(SandboxConfig::new(helper())).await.unwrap();
        assert!(sandbox.state().enforced);
        assert_eq!(canary(&sandbox).await.unwrap(), "Exited(0) well\n");
    } else {
        println!("SKIPPED: not root");
    }
}

/// Runs the test above once more as `nobody`, from copies that `nobody` can reach.
#[test]
fn userns_holds_for_an_ordinary_user() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    if !is_root() {
        println!("SKIPPED: the other tests already run as an ordinary user");
        return;
    }
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|p| Path::new(p).exists());
    let Some(python) = python else {
        println!("SKIPPED: no Python that an ordinary user can reach");
        return;
    };
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (test, cell) = (folder.path().join("test"), folder.path().join("helper"));
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_eval-harness"), &cell).unwrap();
    let copies = folder.path().join("attacks");
    std::fs::create_dir(&copies).unwrap();
    for entry in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/attacks")).unwrap()
    {
        let entry = entry.unwrap();
        let copy = copies.join(entry.file_name());
        std::fs::copy(entry.path(), &copy).unwrap();
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let output = std::process::Command::new(&test)
        .args(["userns_holds", "--exact", "--nocapture"])
        .env(HELPER, &cell)
        .env(PYTHON, python)
        .env("SANDBOX_TEST_ATTACKS", &copies)
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed") && !said.contains("SKIPPED"), "{said}");
}

/// Labels in the table are compared as text; this keeps them the product's.
#[test]
fn every_attack_expects_labels_that_exist() {
    use eval_harness::model::Cause;
    let attacks = attacks();
    assert!(attacks.len() > 90, "{} attacks", attacks.len());
    for attack in attacks {
        for label in &attack.expected {
            let name = label.split('(').next().unwrap_or_default();
            let known = name == "passed" || Cause::ALL.iter().any(|c| c.name() == name);
            assert!(known, "{}: {label}", attack.name);
        }
    }
}
