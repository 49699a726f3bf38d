//! Honest programs of each language that is on this machine run in every tier, as root and as an
//! ordinary user, and nothing that they call is refused and named: the list of allowed system calls
//! covers what their runtimes need.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use eval_sandbox::{
    ProgramEnding, ProgramJob, ProgramLimits, ProgramResult, Sandbox, SandboxConfig,
    SyscallObservation, Tier,
};

/// Set for the run of this test as another user.
const HELPER: &str = "SANDBOX_TEST_HELPER";
const PYTHON: &str = "SANDBOX_TEST_PYTHON";
/// A Rust program, compiled outside: its compiler is rarely where a job can see it.
const RUST: &str = "SANDBOX_TEST_RUST";
const NOBODY: u32 = 65534;

const PYTHON_LIBRARY: &str = include_str!("honest/library.py");
const NODE_LIBRARY: &str = include_str!("honest/library.js");
const C_THREADS: &str = include_str!("honest/threads.c");
const CPP_THREADS: &str = include_str!("honest/threads.cpp");
const COREUTILS: &str = include_str!("honest/coreutils.sh");
const JAVA_LIBRARY: &str = include_str!("honest/Library.java");
const PERL_LIBRARY: &str = include_str!("honest/library.pl");
const RUST_LIBRARY: &str = include_str!("honest/library.rs");

fn config(tier: Tier) -> SandboxConfig {
    let helper = std::env::var_os(HELPER)
        .map_or_else(|| env!("CARGO_BIN_EXE_eval-harness").into(), PathBuf::from);
    let python = std::env::var_os(PYTHON).map(PathBuf::from);
    SandboxConfig {
        tiers: vec![tier],
        python,
        ..SandboxConfig::new(helper)
    }
}

async fn open(config: SandboxConfig) -> Option<Sandbox> {
    let tier = config.tiers[0];
    match Sandbox::open(config).await {
        Ok(sandbox) => Some(sandbox),
        Err(reason) => {
            println!("SKIPPED: tier {tier}: {reason}");
            None
        }
    }
}

/// Room for compilers and virtual machines.
fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_secs(120),
        memory_mb: 2048,
        processes: 128,
        open_files: 512,
        ..ProgramLimits::default()
    }
}

fn program(argv: &[&str], file: &str, text: &[u8]) -> ProgramJob {
    ProgramJob {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        files: vec![(file.to_owned(), text.to_vec())],
        limits: wide(),
        ..ProgramJob::default()
    }
}

fn is_there(name: &str) -> bool {
    let found = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|dir| Path::new(dir).join(name).exists());
    if !found {
        println!("SKIPPED: {name} is not on this machine");
    }
    found
}

fn assert_well(what: &str, result: &ProgramResult) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&result.streams.stdout), text(&result.streams.stderr));
    assert_eq!(
        result.ending,
        ProgramEnding::Exited(0),
        "{what}: {stdout}{stderr}"
    );
    assert!(stdout.ends_with("well\n"), "{what}: {stdout}{stderr}");
    assert_unnamed(what, result);
}

/// Java tries at its start whether there is a network, with the call of a program that wants one.
fn assert_unnamed(what: &str, result: &ProgramResult) {
    let refused = result.streams.refused_call;
    assert!(
        refused.is_none() || what == "Java" && refused == Some("socket"),
        "{what}: {refused:?}"
    );
}

async fn run(sandbox: &Sandbox, what: &str, program: ProgramJob) {
    assert_well(what, &sandbox.run_program(program).await.unwrap());
}

/// Compiles in the sandbox, then runs what was made.
async fn build_and_run(sandbox: &Sandbox, what: &str, compile: ProgramJob, argv: &[&str]) {
    let built = sandbox.build(compile).await.unwrap();
    let stderr = String::from_utf8_lossy(&built.result.streams.stderr);
    assert_eq!(
        built.result.ending,
        ProgramEnding::Exited(0),
        "{what}: {stderr}"
    );
    assert_unnamed(what, &built.result);
    let made = ProgramJob {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        files: built.files,
        executables: built.executables,
        limits: wide(),
        ..ProgramJob::default()
    };
    run(sandbox, what, made).await;
}

async fn python_runs(tier: Tier) {
    let Some(sandbox) = open(config(tier)).await else {
        return;
    };
    let path = sandbox
        .python()
        .unwrap()
        .path
        .to_string_lossy()
        .into_owned();
    run(
        &sandbox,
        "python",
        program(&[&path, "main.py"], "main.py", PYTHON_LIBRARY.as_bytes()),
    )
    .await;
}

async fn node_runs(tier: Tier) {
    let Some(sandbox) = open(config(tier)).await else {
        return;
    };
    if is_there("node") {
        run(
            &sandbox,
            "node",
            program(&["node", "main.js"], "main.js", NODE_LIBRARY.as_bytes()),
        )
        .await;
    }
}

async fn compiled_programs_run(tier: Tier) {
    let Some(sandbox) = open(config(tier)).await else {
        return;
    };
    if is_there("gcc") {
        let compile = program(
            &["gcc", "-O1", "-pthread", "-o", "prog", "main.c"],
            "main.c",
            C_THREADS.as_bytes(),
        );
        build_and_run(&sandbox, "C", compile, &["./prog"]).await;
    }
    if is_there("g++") {
        let words = ["g++", "-std=c++17", "-pthread", "-o", "prog", "main.cpp"];
        build_and_run(
            &sandbox,
            "C++",
            program(&words, "main.cpp", CPP_THREADS.as_bytes()),
            &["./prog"],
        )
        .await;
    }
    if let Some(rust) = std::env::var_os(RUST).and_then(|path| std::fs::read(path).ok()) {
        let run_it = ProgramJob {
            executables: vec!["prog".into()],
            ..program(&["./prog"], "prog", &rust)
        };
        run(&sandbox, "Rust", run_it).await;
    } else if let Some(rust) = compiled_rust() {
        let run_it = ProgramJob {
            executables: vec!["prog".into()],
            ..program(&["./prog"], "prog", &rust)
        };
        run(&sandbox, "Rust", run_it).await;
    }
}

/// A program of the compiler that compiled this test, where it can be found.
fn compiled_rust() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.rs"), RUST_LIBRARY).unwrap();
    let made = Command::new("rustc")
        .args(["main.rs", "-o", "prog"])
        .current_dir(folder.path())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        println!("SKIPPED: no rustc");
        return None;
    }
    std::fs::read(folder.path().join("prog")).ok()
}

async fn shell_programs_run(tier: Tier) {
    let Some(sandbox) = open(config(tier)).await else {
        return;
    };
    run(
        &sandbox,
        "bash",
        program(&["bash", "main.sh"], "main.sh", COREUTILS.as_bytes()),
    )
    .await;
    if is_there("perl") {
        run(
            &sandbox,
            "perl",
            program(&["perl", "main.pl"], "main.pl", PERL_LIBRARY.as_bytes()),
        )
        .await;
    }
}

async fn java_runs(tier: Tier) {
    // Debian keeps what the virtual machine reads first below /etc.
    let folders = std::fs::read_dir("/etc").unwrap().flatten();
    let readable = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with("java-"));
    let readable = readable.map(|entry| entry.path()).collect();
    let Some(sandbox) = open(SandboxConfig {
        readable,
        ..config(tier)
    })
    .await
    else {
        return;
    };
    if is_there("java") && is_there("javac") {
        let compile = program(
            &["javac", "Library.java"],
            "Library.java",
            JAVA_LIBRARY.as_bytes(),
        );
        build_and_run(&sandbox, "Java", compile, &["java", "-Xmx128m", "Library"]).await;
    }
}

/// What `doctor --observe` shows. SQLite makes about ten calls of `fcntl` for each statement that
/// writes, and releases every lock again.
async fn sqlite_inserts_run(tier: Tier) {
    let Some(sandbox) = open(config(tier)).await else {
        return;
    };
    let path = sandbox
        .python()
        .unwrap()
        .path
        .to_string_lossy()
        .into_owned();
    let code = "import sqlite3\nc = sqlite3.connect('own.db', isolation_level=None)\n\
                c.execute('pragma journal_mode=memory')\nc.execute('create table t(a)')\n\
                for i in range(25000): c.execute('insert into t values(?)', (i,))\n\
                assert c.execute('select count(*) from t').fetchone() == (25000,)\nprint('well')";
    run(
        &sandbox,
        "SQLite",
        program(&[&path, "main.py"], "main.py", code.as_bytes()),
    )
    .await;
}

async fn calls_are_observed(tier: Tier) {
    let Some(sandbox) = open(SandboxConfig {
        observed: true,
        ..config(tier)
    })
    .await
    else {
        return;
    };
    let path = sandbox
        .python()
        .unwrap()
        .path
        .to_string_lossy()
        .into_owned();
    let code = "import ctypes, os, threading\nl = ctypes.CDLL(None, use_errno=True)\n\
                for _ in range(3): assert l.inotify_init1(0) == -1 and ctypes.get_errno() == 38\n\
                t = threading.Thread(target=os.getppid); t.start(); t.join()\n\
                assert l.ptrace(0, 0, 0, 0) == -1\nos.chmod('main.py', 0o700)\nprint('well')";
    let job = program(&[&path, "-S", "main.py"], "main.py", code.as_bytes());
    let SyscallObservation { result, calls } = sandbox.observe(job).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        result.ending,
        ProgramEnding::Exited(0),
        "{}",
        text(&result.streams.stderr)
    );
    assert_eq!(text(&result.streams.stdout), "well\n");
    let of = |name: &str| {
        calls
            .iter()
            .find(|call| call.name == name)
            .unwrap_or_else(|| panic!("{name}: {calls:?}"))
    };
    let inotify = of("inotify_init1");
    assert_eq!(
        (inotify.count, inotify.refused, inotify.ends_program),
        (3, 3, false)
    );
    let ptrace = of("ptrace");
    assert_eq!(
        (ptrace.count, ptrace.refused, ptrace.ends_program),
        (1, 1, true)
    );
    assert_eq!(of("getppid").refused, 0);
    assert!(of("read").count > 1 && of("read").refused == 0);
    assert!(
        calls
            .iter()
            .all(|call| call.name != "capset" && call.count > 0),
        "calls of the sandbox count"
    );
    assert!(calls.is_sorted_by_key(|call| std::cmp::Reverse(call.count)));
    // A program that is not there is an error in words, and the next one runs.
    let missing = sandbox
        .observe(program(&["./missing"], "a", b""))
        .await
        .unwrap_err();
    assert!(missing.to_string().contains("./missing"), "{missing}");
    let again = sandbox.observe(program(&["true"], "a", b"")).await.unwrap();
    assert_eq!(again.result.ending, ProgramEnding::Exited(0));
}

macro_rules! honest {
    ($($tier:ident = $value:expr),*) => {
        $(mod $tier {
            use eval_sandbox::Tier;
            honest!(in $value => python_runs node_runs compiled_programs_run shell_programs_run java_runs sqlite_inserts_run calls_are_observed);
        })*
    };
    (in $value:expr => $($name:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            super::$name($value).await;
        })*
    };
}

honest!(
    userns = Tier::Userns,
    rootns = Tier::Rootns,
    landlock = Tier::Landlock
);

/// The same as `nobody`, from copies that `nobody` can reach.
#[test]
fn ordinary_user_runs_the_same() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return println!("SKIPPED: the other tests already run as an ordinary user");
    }
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|p| Path::new(p).exists());
    let Some(python) = python else {
        return println!("SKIPPED: no Python that an ordinary user can reach");
    };
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let open_to_all = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open_to_all(folder.path(), 0o755);
    let copy = |name: &str| folder.path().join(name);
    std::fs::copy(std::env::current_exe().unwrap(), copy("test")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_eval-harness"), copy("helper")).unwrap();
    std::fs::create_dir(copy("tmp")).unwrap();
    open_to_all(&copy("tmp"), 0o777);
    if let Some(rust) = compiled_rust() {
        std::fs::write(copy("rust"), rust).unwrap();
    }
    for tier in ["userns::", "landlock::"] {
        let output = Command::new(copy("test"))
            .args([
                &crate::support::full_name(module_path!(), tier),
                "--nocapture",
                "--test-threads=2",
            ])
            .env(HELPER, copy("helper"))
            .env(PYTHON, python)
            .env(RUST, copy("rust"))
            .env("TMPDIR", copy("tmp"))
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        println!("{said}");
        assert!(output.status.success(), "{said}");
    }
}
