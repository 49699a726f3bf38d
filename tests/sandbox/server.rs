//! Warm interpreters: what a job may see of the one before, what becomes of jobs when a server
//! dies, and where an interpreter is started for each job instead.

use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramEnding, ProgramLimits, ProgramResult, Sandbox,
    SandboxConfig, SandboxError, ScriptJob, Tier,
};
use serde_json::{Value, json};

fn config() -> SandboxConfig {
    SandboxConfig::new(env!("CARGO_BIN_EXE_eval-harness").into())
}

async fn open(config: SandboxConfig) -> Option<Sandbox> {
    match Sandbox::open(config).await {
        Ok(sandbox) if sandbox.servers().given_up.is_none() => Some(sandbox),
        Ok(sandbox) => {
            println!(
                "SKIPPED: no warm interpreter: {:?}",
                sandbox.servers().given_up
            );
            None
        }
        Err(reason) => {
            println!("SKIPPED: {reason}");
            None
        }
    }
}

macro_rules! open_or_skip {
    ($config:expr) => {
        match open($config).await {
            Some(sandbox) => sandbox,
            None => return,
        }
    };
}

fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    }
}

async fn script(sandbox: &Sandbox, code: &str) -> ProgramResult {
    let script = ScriptJob {
        code: code.to_owned(),
        limits: wide(),
        ..ScriptJob::default()
    };
    sandbox.run_script(script).await.unwrap()
}

async fn said(sandbox: &Sandbox, code: &str) -> String {
    let result = script(sandbox, code).await;
    format!(
        "{}{}",
        text(&result.streams.stdout),
        text(&result.streams.stderr)
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn function(code: &str, args: Vec<Value>) -> FunctionJob {
    FunctionJob {
        code: code.to_owned(),
        entry_point: "f".to_owned(),
        calls: args
            .into_iter()
            .map(|a| FunctionCall {
                args: vec![a],
                kwargs: Vec::new(),
            })
            .collect(),
        per_call: None,
        limits: wide(),
        ..FunctionJob::default()
    }
}

async fn values(sandbox: &Sandbox, job: FunctionJob) -> Vec<Value> {
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    report
        .calls
        .into_iter()
        .map(|call| match call.outcome {
            CallOutcome::Value(value) => value,
            other => json!(format!("{other:?}")),
        })
        .collect()
}

/// Processes of this test that run the given words, by `/proc`.
fn descendants_with(words: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut waiting = vec![std::process::id()];
    while let Some(pid) = waiting.pop() {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if text(&line).contains(words) {
            found.push(pid);
        }
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let children =
                std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|p| p.parse::<u32>().ok()),
            );
        }
    }
    found
}

fn server() -> u32 {
    let all = descendants_with("SETTINGS");
    // What it has forked shows the same words; the server is the first.
    *all.iter().min().expect("a server")
}

fn kill(pid: u32) {
    assert!(
        std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn one_server_serves_jobs_of_every_kind_and_keeps_nothing_open() {
    let sandbox = open_or_skip!(config());
    assert_eq!(said(&sandbox, "print(1)").await, "1\n");
    let open_now =
        |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let (before, ours) = (open_now(server()), open_now(std::process::id()));
    for i in 0..20 {
        let got = values(
            &sandbox,
            function("def f(x):\n    return x + 1", vec![json!(i)]),
        )
        .await;
        assert_eq!(got, [json!(i + 1)]);
        assert_eq!(
            script(&sandbox, &format!("import sys; sys.exit({i})"))
                .await
                .ending,
            ProgramEnding::Exited(i)
        );
    }
    let report = sandbox.servers();
    assert_eq!(
        (report.started, report.jobs, report.given_up),
        (1, 41, None)
    );
    assert_eq!(open_now(server()), before);
    // Opening may still be closing files and what looks after memory opens some once or for a
    // moment; a file kept by each job would be forty more.
    let now = (0..50)
        .map(|_| open_now(std::process::id()))
        .min()
        .unwrap_or(0);
    assert!(
        now < ours + 10,
        "{ours} descriptors became {now} in forty jobs"
    );
}

/// Everything that a program can change of its interpreter and its process, and what the next one
/// finds.
#[tokio::test]
async fn nothing_of_one_job_is_visible_to_the_next() {
    const LOOK: &str = r#"
import builtins, gc, locale, os, random, resource, signal, sys, threading, time
print(sorted(m for m in sys.modules), sorted(vars(builtins)), sorted(globals()))
print(sorted(os.environ.items()), os.getcwd(), sorted(os.listdir('.')), sorted(os.listdir('/tmp')), sys.path, sys.argv)
print([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE)])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getitimer(signal.ITIMER_REAL))
print(sorted(os.listdir('/proc/self/fd')), [os.readlink('/proc/self/fd/0')], os.umask(0o22), os.nice(0))
print([resource.getrlimit(r) for r in range(16)], sys.getrecursionlimit(), gc.isenabled(), gc.get_threshold())
print(threading.active_count(), sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__, locale.setlocale(locale.LC_ALL))
print(os.getpid(), os.getsid(0), os.getpgrp(), random.random() == 0.5714025946899135)
print(len([o for o in gc.get_objects() if type(o).__name__ == 'Marked']), hash('x'), time.tzname, os.uname().nodename)
import fcntl
print([fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in (0, 1, 2)])
"#;
    const SPOIL: &str = r#"
import builtins, collections, fcntl, gc, json, locale, math, os, random, resource, signal, sys, time
class Marked: pass
builtins.secret = sys.secret = math.pi2 = collections.mine = Marked()
json.loads = None
sys.modules['planted'] = sys
sys.modules['os'].sep = '!'
os.environ['SECRET'] = 'x'
os.putenv('LANG', 'x')
sys.path.insert(0, '/planted'); sys.argv.append('x')
sys.setrecursionlimit(50000); gc.disable(); gc.set_threshold(1)
random.seed(10)
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD): signal.signal(s, signal.SIG_IGN)
signal.signal(signal.SIGALRM, lambda *a: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
for fd in (0, 1, 2): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)
os.nice(5)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
os.mkdir('/tmp/left'); os.chdir('/tmp/left'); open('file', 'w').write('x')
os.open('/tmp', 0)
os.umask(0o777)
sys.excepthook = lambda *a: None
builtins.len = lambda x: 7
os.setpriority(os.PRIO_PROCESS, 0, 19)
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
os._exit(0)
"#;
    let sandbox = open_or_skip!(config());
    let fresh = said(&sandbox, LOOK).await;
    assert!(
        fresh.contains("['main.py']") && fresh.lines().count() == 10,
        "{fresh}"
    );
    assert_eq!(
        script(&sandbox, SPOIL).await.ending,
        ProgramEnding::Exited(0)
    );
    assert_eq!(said(&sandbox, LOOK).await, fresh);
    assert_eq!(sandbox.servers().started, 1);
}

#[tokio::test]
async fn random_numbers_differ_from_job_to_job() {
    let sandbox = open_or_skip!(config());
    let code = "import random, uuid, os\nprint(random.random(), uuid.uuid4(), os.urandom(8))";
    assert_ne!(said(&sandbox, code).await, said(&sandbox, code).await);
}

#[tokio::test]
async fn a_server_that_died_between_jobs_is_replaced_unnoticed() {
    let sandbox = open_or_skip!(config());
    for started in 1..=3 {
        assert_eq!(said(&sandbox, "print(1)").await, "1\n");
        assert_eq!(sandbox.servers().started, started);
        kill(server());
    }
    assert_eq!(sandbox.servers().given_up, None);
}

#[tokio::test]
async fn a_server_that_dies_during_a_job_gives_no_verdict() {
    let sandbox = open_or_skip!(config());
    assert_eq!(said(&sandbox, "print(1)").await, "1\n");
    let pid = server();
    let other = sandbox.clone();
    let job = tokio::spawn(async move {
        let script = ScriptJob {
            code: "import time\ntime.sleep(1000)".into(),
            limits: wide(),
            ..ScriptJob::default()
        };
        other.run_script(script).await
    });
    while sandbox.servers().jobs < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    kill(pid);
    let error = job.await.unwrap().unwrap_err();
    assert!(matches!(&error, SandboxError::Lost(_)), "{error}");
    assert_eq!(said(&sandbox, "print(2)").await, "2\n");
    assert_eq!(sandbox.servers().started, 2);
}

#[tokio::test]
async fn a_dropped_job_leaves_the_server_as_it_was() {
    let sandbox = open_or_skip!(config());
    assert_eq!(said(&sandbox, "print(1)").await, "1\n");
    let sleeper = ScriptJob {
        code: "while True: pass".into(),
        limits: wide(),
        ..ScriptJob::default()
    };
    let dropped =
        tokio::time::timeout(Duration::from_millis(200), sandbox.run_script(sleeper)).await;
    assert!(dropped.is_err());
    assert_eq!(said(&sandbox, "print(2)").await, "2\n");
    assert_eq!(sandbox.servers().started, 1);
}

#[tokio::test]
async fn servers_are_replaced_after_so_many_jobs() {
    let sandbox = open_or_skip!(SandboxConfig {
        jobs_per_server: 3,
        ..config()
    });
    for i in 0..7 {
        assert_eq!(
            said(&sandbox, &format!("print({i})")).await,
            format!("{i}\n")
        );
    }
    assert_eq!(sandbox.servers().started, 3);
    assert_eq!(descendants_with("SETTINGS").len(), 1);
}

#[tokio::test]
async fn a_script_behaves_as_the_main_program() {
    let sandbox = open_or_skip!(config());
    let code = r#"
import atexit, pickle, sys, threading, time
class Last:
    def __del__(self): print('deleted')
class Plain: pass
last = Last()
atexit.register(print, 'at exit')
def late():
    time.sleep(0.05)
    print('joined')
threading.Thread(target=late).start()
assert type(pickle.loads(pickle.dumps(Plain()))) is Plain
if __name__ == '__main__':
    print(sys.argv, __file__, sys.modules['__main__'].last is last, sys.path[0])
"#;
    let result = script(&sandbox, code).await;
    assert_eq!(
        text(&result.streams.stdout),
        "['main.py'] main.py True /tmp\njoined\nat exit\ndeleted\n"
    );
    assert_eq!(
        (result.ending, text(&result.streams.stderr)),
        (ProgramEnding::Exited(0), String::new())
    );
    let endings = [
        (
            "import sys\nsys.exit('why')",
            ProgramEnding::Exited(1),
            "why\n",
        ),
        ("raise SystemExit(300)", ProgramEnding::Exited(44), ""),
        ("raise SystemExit", ProgramEnding::Exited(0), ""),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
            ProgramEnding::Signaled(15),
            "",
        ),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            ProgramEnding::Signaled(9),
            "",
        ),
        (
            "import signal\nsignal.alarm(1)\nwhile True: pass",
            ProgramEnding::Signaled(14),
            "",
        ),
        ("import os\nos.abort()", ProgramEnding::Signaled(6), ""),
        (
            "import sys\nsys.excepthook = lambda *a: print('mine')\n1/0",
            ProgramEnding::Exited(1),
            "",
        ),
    ];
    for (code, ending, stderr) in endings {
        let result = script(&sandbox, code).await;
        assert_eq!(
            (result.ending, text(&result.streams.stderr).as_str()),
            (ending, stderr),
            "{code}"
        );
    }
    let failed = script(&sandbox, "def f(x):\n    return 1 / x\nf(0)").await;
    let stderr = text(&failed.streams.stderr);
    let starts =
        "Traceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    f(0)\n";
    assert!(
        stderr.starts_with(starts) && stderr.ends_with("ZeroDivisionError: division by zero\n"),
        "{stderr}"
    );
    let stderr = text(&script(&sandbox, "x = (").await.streams.stderr);
    assert!(
        stderr.starts_with("  File \"main.py\", line 1\n") && stderr.contains("\nSyntaxError: "),
        "{stderr}"
    );
}

#[tokio::test]
async fn many_calls_and_long_ones_are_answered_in_order() {
    let sandbox = open_or_skip!(config());
    let many: Vec<Value> = (0..500).map(|i| json!(i)).collect();
    assert_eq!(
        values(&sandbox, function("def f(x):\n    return x", many.clone())).await,
        many
    );
    // Arguments and answers together are far more than a socket holds.
    let long: Vec<Value> = (0..40)
        .map(|i| json!(format!("{i}").repeat(30_000)))
        .collect();
    assert_eq!(
        values(&sandbox, function("def f(x):\n    return x", long.clone())).await,
        long
    );
}

#[tokio::test]
async fn a_stuck_call_amid_many_costs_only_itself() {
    let sandbox = open_or_skip!(config());
    let code = "import time\ndef f(x):\n    if x == 7: time.sleep(1000)\n    return x";
    let mut job = function(code, (0..100).map(|i| json!(i)).collect());
    job.per_call = Some(Duration::from_secs(2));
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    for (i, call) in report.calls.iter().enumerate() {
        let timed_out = format!("{:?}", call.outcome) == "Failed(Ended(TimedOut))";
        assert_eq!(timed_out, i == 7, "{i}: {:?}", call.outcome);
    }
    assert_eq!(report.processes, 2);
}

/// An interpreter of this version, wherever versions are kept beside each other or by name in PATH.
fn python_of(version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")))?;
    let kept = std::fs::read_dir(home.join("versions"))
        .into_iter()
        .flatten()
        .flatten();
    let kept = kept.filter(|e| {
        e.file_name()
            .to_string_lossy()
            .starts_with(&format!("{version}."))
    });
    let in_path = Path::new("/usr/bin").join(format!("python{version}"));
    kept.map(|e| e.path().join("bin/python3"))
        .chain([in_path])
        .find(|p| p.exists())
}

#[tokio::test]
async fn every_python_from_3_6_on_works_and_old_ones_start_for_each_job() {
    for version in ["3.6", "3.7", "3.8", "3.9", "3.10", "3.12", "3.13"] {
        let Some(python) = python_of(version) else {
            println!("SKIPPED: no Python {version}");
            continue;
        };
        let sandbox = match Sandbox::open(SandboxConfig {
            python: Some(python),
            ..config()
        })
        .await
        {
            Ok(sandbox) => sandbox,
            Err(reason) => return println!("SKIPPED: {reason}"),
        };
        let code = "def f(x):\n    return {'a': (x, 1.5), 'é': {x}}";
        let got = values(&sandbox, function(code, vec![json!(1), json!(1u64 << 40)])).await;
        let pair = |x: u64| json!({"$dict": [["a", {"$tuple": [x, 1.5]}], ["é", {"$set": [x]}]]});
        assert_eq!(got, [pair(1), pair(1u64 << 40)], "{version}");
        let result = script(
            &sandbox,
            "import sys\nprint(sys.version_info[:2])\nsys.exit(3)",
        )
        .await;
        assert_eq!(result.ending, ProgramEnding::Exited(3), "{version}");
        assert_eq!(
            text(&result.streams.stdout),
            format!("({})\n", version.replace('.', ", "))
        );
        let report = sandbox.servers();
        let old = ["3.6", "3.7", "3.8"].contains(&version);
        assert_eq!(report.given_up.is_some(), old, "{version}: {report:?}");
        assert_eq!(
            report.jobs,
            if old { 0 } else { 2 },
            "{version}: {report:?}"
        );
    }
}

/// A virtual environment with a module of its own.
fn venv_in(folder: &Path) -> Option<PathBuf> {
    let venv = folder.join("a b/venv");
    let mut command = std::process::Command::new("python3");
    let made = command
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("SKIPPED: python3 can't make a virtual environment");
        return None;
    }
    let lib = std::fs::read_dir(venv.join("lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(
        lib.join("site-packages/of_the_venv.py"),
        "VALUE = 'from the venv'\n",
    )
    .unwrap();
    Some(venv.join("bin/python"))
}

#[tokio::test]
async fn packages_of_a_virtual_environment_are_there() {
    // A job has a folder of its own in the place of /tmp, which must not hide what lies there.
    for place in ["/var/tmp", "/tmp"] {
        let folder = tempfile::tempdir_in(place).unwrap();
        let Some(python) = venv_in(folder.path()) else {
            return;
        };
        let readable = vec![folder.path().to_owned(), folder.path().join("a b")];
        let sandbox = open_or_skip!(SandboxConfig {
            python: Some(python),
            readable,
            ..config()
        });
        let code = "import of_the_venv\ntry:\n    open(of_the_venv.__file__, 'a')\nexcept OSError as e:\n    print(of_the_venv.VALUE, e.errno in (13, 30))";
        assert_eq!(
            said(&sandbox, code).await,
            "from the venv True\n",
            "{place}"
        );
        let code = "import of_the_venv\ndef f(x):\n    return of_the_venv.VALUE";
        assert_eq!(
            values(&sandbox, function(code, vec![json!(0)])).await,
            [json!("from the venv")]
        );
        // With arguments it is a process with a start of its own.
        let (code, args) = (
            "import of_the_venv\nprint(of_the_venv.VALUE)".to_owned(),
            vec!["x".to_owned()],
        );
        let cold = ScriptJob {
            code,
            args,
            limits: wide(),
            ..ScriptJob::default()
        };
        let cold = sandbox.run_script(cold).await.unwrap();
        assert_eq!(
            text(&cold.streams.stdout),
            "from the venv\n",
            "{place}: {cold:?}"
        );
        let report = sandbox.servers();
        assert_eq!((report.started, report.given_up), (1, None), "{place}");
    }
}

#[tokio::test]
async fn servers_that_were_replaced_count_as_no_processes_of_later_jobs() {
    let sandbox = open_or_skip!(SandboxConfig {
        jobs_per_server: 1,
        ..config()
    });
    for i in 0..40 {
        assert_eq!(
            said(&sandbox, &format!("print({i})")).await,
            format!("{i}\n")
        );
    }
    let code = "import os\nfor _ in range(8):\n    pid = os.fork()\n    if pid == 0: os._exit(0)\n    os.waitpid(pid, 0)\nprint('well')";
    assert_eq!(said(&sandbox, code).await, "well\n");
    assert_eq!(sandbox.servers().given_up, None);
}

#[tokio::test]
async fn the_tier_none_has_no_server() {
    let sandbox = Sandbox::open(SandboxConfig {
        tiers: vec![Tier::None],
        ..config()
    })
    .await
    .unwrap();
    assert_eq!(said(&sandbox, "print(1)").await, "1\n");
    assert_eq!(sandbox.servers().jobs, 0);
}
