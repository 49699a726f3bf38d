//! Limits that are kept exactly and judged fairly: control groups that leave nothing behind,
//! time-outs of starved programs.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{PROGRAM, Project};
use eval_sandbox::{
    ProgramEnding, ProgramJob, ProgramLimits, Sandbox, SandboxConfig, ScriptJob, Tier,
};

/// Time enough for the busiest machine.
const LONG: Duration = Duration::from_secs(60);

/// `None`, said by name, where no tier works.
async fn sandbox() -> Option<Sandbox> {
    let config = SandboxConfig {
        workers: 2,
        ..SandboxConfig::new(PROGRAM.into())
    };
    Sandbox::open(config)
        .await
        .inspect_err(|reason| println!("SKIPPED: {reason}"))
        .ok()
}

fn script(code: &str, limits: ProgramLimits) -> ScriptJob {
    ScriptJob {
        code: code.into(),
        limits,
        ..ScriptJob::default()
    }
}

fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: LONG,
        ..ProgramLimits::default()
    }
}

/// The control groups of this process, where they can be reached.
fn own_groups() -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    own.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let mount = match controllers {
                "" => "/sys/fs/cgroup".to_owned(),
                name @ ("memory" | "pids") => format!("/sys/fs/cgroup/{name}"),
                _ => return None,
            };
            Some(PathBuf::from(format!("{mount}{path}")))
        })
        .filter(|path| path.is_dir())
        .collect()
}

/// Folders that the process `pid` has made for its cells.
fn folders_of(pid: u32) -> Vec<PathBuf> {
    let ours = |path: &PathBuf| {
        let prefix = format!("eval-harness-{pid}-");
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    let entries = own_groups()
        .into_iter()
        .filter_map(|group| std::fs::read_dir(group).ok())
        .flatten();
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(ours)
        .collect()
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn cells_have_groups_while_they_live_and_none_afterwards() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let Some(told) = sandbox.state().cgroup.clone() else {
        println!("SKIPPED: {:?}", sandbox.state().notes);
        assert!(
            sandbox
                .state()
                .notes
                .iter()
                .any(|note| note.contains("control group"))
        );
        return;
    };
    assert!(told.contains("memory"), "{told}");
    let folders = folders_of(std::process::id());
    assert!(!folders.is_empty());
    sandbox
        .run_script(script("print(1)", wide()))
        .await
        .unwrap();
    // A job that runs is in the group of its cell.
    let cell = folders.iter().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join("cell-1/cgroup.procs")).ok()?;
        Some(text.lines().count())
    });
    assert!(cell.is_some_and(|processes| processes > 0), "{folders:?}");
    drop(sandbox);
    assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
}

#[tokio::test]
async fn a_tree_that_holds_too_much_together_is_out_of_memory() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    // Each child stays below the limit of one process.
    let code = "import os\nfor i in range(12):\n  if os.fork() == 0:\n    d = bytearray(b'x') * (90 << 20)\n    \
                while True: pass\nfor i in range(12):\n  os.wait()";
    let limits = ProgramLimits {
        memory_mb: 128,
        ..wide()
    };
    let result = sandbox.run_script(script(code, limits)).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::MemoryLimit);
    let next = sandbox
        .run_script(script("print('fine')", wide()))
        .await
        .unwrap();
    assert_eq!(next.streams.stdout, b"fine\n");
}

#[tokio::test]
async fn who_ends_itself_by_sigkill_is_not_out_of_memory() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let code = "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\nos.kill(os.getpid(), 9)";
    let result = sandbox.run_script(script(code, wide())).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::Signaled(9));
}

/// A harness in the middle of a run, as a process of its own.
struct Harness(Child);

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SUITE: &str = r#"
eval_suite:
  name: Sleeper
  evals:
    - id: sleep
      input: Sleep
      grader:
        type: code
        config: {function_name: sleep, test_cases: [{args: [], expected: 4}], timeout_seconds: 1000}
  target: {type: recorded, path: outputs.jsonl}
"#;
const OUTPUTS: &str =
    "{\"case\": \"sleep\", \"output\": \"import time\\ndef sleep():\\n    time.sleep(1000)\\n\"}\n";

fn start(project: &Project) -> Harness {
    let child = Command::new(PROGRAM)
        .args(["run", "--suite", "suite.yaml"])
        .current_dir(project.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Harness(child)
}

/// The processes in the folder's cells.
fn inhabitants(folder: &PathBuf) -> Vec<u32> {
    let cells = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts =
        cells.filter_map(|cell| std::fs::read_to_string(cell.path().join("cgroup.procs")).ok());
    texts
        .flat_map(|text| {
            text.lines()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[test]
fn a_killed_harness_leaves_neither_folders_nor_processes() {
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", OUTPUTS)]);
    let mut harness = start(&project);
    let pid = harness.0.id();
    let works = || {
        folders_of(pid)
            .iter()
            .any(|folder| inhabitants(folder).len() >= 3)
    };
    let start = Instant::now();
    while !works() {
        if start.elapsed() > LONG || harness.0.try_wait().unwrap().is_some() {
            println!("SKIPPED: no control groups here");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let folders = folders_of(pid);
    let processes: Vec<u32> = folders.iter().flat_map(inhabitants).collect();
    harness.0.kill().unwrap();
    harness.0.wait().unwrap();
    eventually("the folders are removed", || {
        folders.iter().all(|folder| !folder.exists())
    });
    eventually("the processes are gone", || {
        processes.iter().all(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            !name.contains("eval-harness-")
        })
    });
}

#[tokio::test]
async fn folders_of_dead_harnesses_are_swept_and_those_of_living_ones_are_not() {
    let Some(living) = sandbox().await.filter(|s| s.state().cgroup.is_some()) else {
        return;
    };
    let kept = folders_of(std::process::id());
    let Some(group) = own_groups()
        .into_iter()
        .find(|group| kept.iter().any(|k| k.starts_with(group)))
    else {
        println!("SKIPPED: groups lie elsewhere");
        return;
    };
    // As a harness leaves it that was killed together with its janitor.
    let stale = group.join(format!("eval-harness-1-{}", std::process::id()));
    std::fs::create_dir_all(stale.join("cell-0")).unwrap();
    let mut left = Command::new("sleep").arg("1000").spawn().unwrap();
    std::fs::write(stale.join("cell-0/cgroup.procs"), left.id().to_string()).unwrap();
    let waiting = std::thread::spawn(move || left.wait());
    let other = sandbox().await.unwrap();
    // Another test's sandbox may be at it.
    eventually("the stale folder is swept", || !stale.exists());
    assert!(
        !waiting.join().unwrap().unwrap().success(),
        "what it held was ended"
    );
    assert!(kept.iter().all(|folder| folder.exists()));
    living.run_script(script("print(1)", wide())).await.unwrap();
    drop(other);
}

/// Programs that want every processor, until dropped. Each has a session of its own: kernels that
/// share the processors among sessions would give a job as much as all of them together.
struct Busy(Vec<std::process::Child>);

impl Busy {
    fn machine() -> Busy {
        let processors = std::thread::available_parallelism().map_or(2, |n| n.get());
        let spin = || {
            Command::new("setsid")
                .args(["sh", "-c", "while :; do :; done"])
                .spawn()
                .unwrap()
        };
        Busy((0..processors * 4).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[tokio::test]
async fn a_starved_program_is_tried_once_more() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let busy = Busy::machine();
    let limits = ProgramLimits {
        wall: Duration::from_millis(400),
        ..ProgramLimits::default()
    };
    let result = sandbox
        .run_script(script("while True: pass", limits))
        .await
        .unwrap();
    let spin = ["sh", "-c", "while :; do :; done"]
        .map(str::to_owned)
        .to_vec();
    let limits = ProgramLimits {
        wall: Duration::from_millis(200),
        ..ProgramLimits::default()
    };
    let once = ProgramJob {
        argv: spin,
        once: true,
        limits,
        ..ProgramJob::default()
    };
    let of_author = sandbox.run_program(once).await.unwrap();
    drop(busy);
    assert_eq!(result.ending, ProgramEnding::TimedOut);
    assert!(result.adjudicated, "{result:?}");
    assert_eq!(
        (of_author.ending, of_author.adjudicated),
        (ProgramEnding::TimedOut, false)
    );
}

#[tokio::test]
async fn who_used_up_its_processor_time_is_out_of_time_and_has_no_second_try() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let limits = ProgramLimits {
        cpu: Some(Duration::from_millis(300)),
        ..wide()
    };
    // One process, and children that end one after the other.
    for code in [
        "while True: pass",
        "import os,time\nwhile True:\n  if os.fork() == 0:\n    while time.process_time() < .1: pass\n    os._exit(0)\n  os.wait()",
    ] {
        let result = sandbox
            .run_script(script(code, limits.clone()))
            .await
            .unwrap();
        assert_eq!(
            (result.ending, result.adjudicated),
            (ProgramEnding::TimedOut, false),
            "{code}"
        );
        assert!(
            result.cpu >= Duration::from_millis(290) && result.wall < LONG,
            "{:?}",
            result.cpu
        );
    }
    let sleeps = script("import time; time.sleep(.5); print('awake')", limits);
    assert_eq!(
        sandbox.run_script(sleeps).await.unwrap().streams.stdout,
        b"awake\n"
    );
}

#[tokio::test]
async fn limits_may_be_fractions_and_centuries() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let sleep = |limits| ProgramJob {
        argv: vec!["sleep".into(), "1000".into()],
        limits,
        ..ProgramJob::default()
    };
    let tenth = Duration::from_millis(100);
    let result = sandbox
        .run_program(sleep(ProgramLimits {
            wall: tenth,
            ..ProgramLimits::default()
        }))
        .await
        .unwrap();
    assert_eq!(result.ending, ProgramEnding::TimedOut);
    assert!(result.wall >= tenth);
    let endless = ProgramLimits {
        wall: Duration::MAX,
        cpu: Some(Duration::MAX),
        memory_mb: u64::MAX,
        processes: u64::MAX,
        ..ProgramLimits::default()
    };
    let result = sandbox
        .run_script(script("print('fine')", endless))
        .await
        .unwrap();
    assert_eq!(
        (result.ending, result.streams.stdout.as_slice()),
        (ProgramEnding::Exited(0), &b"fine\n"[..])
    );
}

#[tokio::test]
async fn without_isolation_the_groups_bound_as_well() {
    let config = SandboxConfig::new(PROGRAM.into());
    let Ok(sandbox) = Sandbox::unsandboxed(config).await else {
        return;
    };
    assert_eq!(sandbox.state().tier, Tier::None);
    let result = sandbox
        .run_script(script("print('fine')", wide()))
        .await
        .unwrap();
    assert_eq!(result.streams.stdout, b"fine\n");
}

#[test]
fn doctor_explains_and_tells_machines_the_same() {
    let project = Project::new();
    let output = project.command(&["doctor"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "Isolation",
        "userns",
        "cgroup",
        "landlock abi",
        "Limits",
        "processes",
        "Languages",
        "python",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json = project
        .command(&["doctor", "--format", "json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), json.status.code());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        json["sandbox"]["tier"].is_null(),
        output.status.code() == Some(1),
        "{json:#}"
    );
    assert!(json["isolation"]["cgroup"]["value"].is_string(), "{json:#}");
}
