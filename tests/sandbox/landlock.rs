//! What is particular to the landlock tier: jobs stand on the host's file system and among its
//! processes, so what is kept from them, and that nothing of them stays, is looked at from outside.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use eval_sandbox::{
    ProgramEnding, ProgramJob, ProgramLimits, ProgramResult, Sandbox, SandboxConfig, ScriptJob,
    Tier,
};

/// Set when this test runs once more as another user, from copies.
const HELPER: &str = "SANDBOX_TEST_HELPER";
/// A Python that everybody can reach.
const PYTHON: &str = "/usr/bin/python3";

fn helper() -> PathBuf {
    std::env::var_os(HELPER)
        .map_or_else(|| env!("CARGO_BIN_EXE_eval-harness").into(), PathBuf::from)
}

fn config() -> SandboxConfig {
    let python = Path::new(PYTHON).exists().then(|| PYTHON.into());
    SandboxConfig {
        tiers: vec![Tier::Landlock],
        python,
        ..SandboxConfig::new(helper())
    }
}

/// `None`, said by name, where the tier does not work.
async fn open(config: SandboxConfig) -> Option<Sandbox> {
    match Sandbox::open(config).await {
        Ok(sandbox) => Some(sandbox),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            None
        }
    }
}

macro_rules! sandbox_or_skip {
    () => {
        match open(config()).await {
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

async fn shell(sandbox: &Sandbox, script: &str) -> (ProgramResult, String) {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let result = sandbox
        .run_program(ProgramJob {
            argv,
            limits: wide(),
            ..ProgramJob::default()
        })
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&result.streams.stdout).into_owned()
        + &String::from_utf8_lossy(&result.streams.stderr);
    (result, said)
}

async fn python(sandbox: &Sandbox, code: &str) -> String {
    let script = ScriptJob {
        code: code.to_owned(),
        limits: wide(),
        ..ScriptJob::default()
    };
    let result = sandbox.run_script(script).await.unwrap();
    let said = String::from_utf8_lossy(&result.streams.stdout).into_owned();
    assert_eq!(
        result.ending,
        ProgramEnding::Exited(0),
        "{said}{}",
        String::from_utf8_lossy(&result.streams.stderr)
    );
    said
}

#[tokio::test]
async fn programs_run_as_they_would_elsewhere() {
    let sandbox = sandbox_or_skip!();
    let state = sandbox.state();
    assert_eq!((state.tier, state.enforced), (Tier::Landlock, true));
    assert!(state.landlock_abi.is_some_and(|abi| abi >= 3));
    assert!(
        state
            .notes
            .iter()
            .any(|n| n.contains("which paths and processes exist")),
        "{:?}",
        state.notes
    );
    let (result, said) = shell(
        &sandbox,
        "mkdir d && echo one > d/f && touch d/g && ls d && cat <d/f | tr o 0; yes | head -1; exit 3",
    )
    .await;
    assert_eq!(
        (result.ending, said.as_str()),
        (ProgramEnding::Exited(3), "f\ng\n0ne\ny\n")
    );
    assert_eq!(python(&sandbox, "import os, tempfile\nassert os.getcwd() == os.environ['HOME']\nprint(tempfile.mkdtemp().startswith(os.getcwd() + '/'))").await, "True\n");
    let lines = "import subprocess, threading\nt = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n\
                 print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout, end='')";
    assert_eq!(python(&sandbox, lines).await, "thread\nchild\n");
}

/// Files outside that the host's user may read or write; a job may do neither.
#[tokio::test]
async fn the_hosts_files_can_neither_be_read_nor_written_nor_changed() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let sandbox = sandbox_or_skip!();
    let outside = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outside.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let file = outside.path().join("file");
    std::fs::write(&file, "secret").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let look = |path: &Path| {
        let meta = std::fs::metadata(path).unwrap();
        (
            meta.mode(),
            meta.uid(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.len(),
        )
    };
    let watched = [
        outside.path().to_owned(),
        file.clone(),
        "/usr".into(),
        "/usr/bin".into(),
        "/etc".into(),
    ];
    let before: Vec<_> = watched.iter().map(|p| look(p)).collect();
    let code = format!(
        "import os, ctypes\nd, f = {:?}, {:?}\nlibc = ctypes.CDLL(None, use_errno=True)\n{}",
        outside.path(),
        file,
        r#"
def refused(what, *args, **kw):
    try: what(*args, **kw)
    except OSError: return
    assert False, (what, args)
home = os.path.expanduser('~root')
for p in (f, '/etc/shadow', '/etc/passwd', '/etc/hostname', '/proc/version', '/proc/mounts', '/proc/net/tcp', '/proc/1/cmdline', '/proc/1/environ',
          '/proc/%d/environ' % os.getppid(), '/proc/%d/cmdline' % os.getppid(), '/proc/%d/maps' % os.getppid(), '/dev/tty', '/dev/mem'):
    refused(open, p, 'rb')
for p in (d, '/', '/etc', '/root', '/home', '/tmp', '/proc', '/proc/1/fd', '/dev/shm', '/dev', '/var', '/sys', os.path.dirname(os.getcwd())):
    refused(os.listdir, p)
for p in (f, d + '/new', '/tmp/new', '/usr/new', '/dev/shm/new', os.path.dirname(os.getcwd()) + '/new'):
    refused(open, p, 'wb')
refused(os.truncate, f, 0)
refused(os.unlink, f)
refused(os.rename, f, 'mine')
refused(os.link, f, 'mine')
refused(os.link, '/usr/bin/env', 'mine')
refused(os.mkdir, d + '/dir')
refused(os.symlink, '/', d + '/link')
for p in (d, f, '/usr', '/usr/bin'):
    refused(os.chmod, p, 0o700)
    refused(os.chown, p, os.getuid(), -1)
    refused(os.utime, p, (1, 1))
    refused(os.setxattr, p, 'user.x', b'1')
u = os.open('/usr/bin', os.O_RDONLY)
for call in (lambda: os.fchmod(u, 0o700), lambda: os.fchown(u, os.getuid(), -1), lambda: os.utime(u, (1, 1))):
    refused(call)
os.symlink(f, 'link')
refused(open, 'link', 'rb')
refused(open, 'link', 'wb')
import socket
refused(socket.socket)
refused(socket.socket, socket.AF_UNIX)
assert libc.inotify_add_watch(libc.inotify_init(), b'/tmp', 0xfff) < 0
print('held')
"#
    );
    assert_eq!(python(&sandbox, &code).await, "held\n");
    assert_eq!(before, watched.iter().map(|p| look(p)).collect::<Vec<_>>());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "secret");
}

#[tokio::test]
async fn nobody_outside_can_be_signalled_or_slowed() {
    let sandbox = sandbox_or_skip!();
    let me = std::process::id();
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    let code = format!(
        "import os, signal, fcntl, resource\nothers = [{me}, {}, 1, os.getppid()]\n{}",
        other.id(),
        r#"
def refused(what, *args):
    try: what(*args)
    except OSError: return
    assert False, (what, args)
for pid in others:
    for s in (0, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM): refused(os.kill, pid, s)
    refused(os.setpriority, os.PRIO_PROCESS, pid, 19)
    refused(os.sched_setaffinity, pid, {0})
    refused(resource.prlimit, pid, resource.RLIMIT_NOFILE, (3, 3))
refused(os.setpriority, os.PRIO_USER, 0, 19)
r, w = os.pipe()
for pid in others: refused(fcntl.fcntl, r, fcntl.F_SETOWN, pid)
refused(fcntl.fcntl, r, fcntl.F_SETSIG, 9)
try: os.kill(-1, signal.SIGKILL)
except OSError: pass
os.nice(1)
# Its own may be signalled.
pid = os.fork()
if pid == 0: signal.pause()
os.kill(pid, signal.SIGKILL)
assert os.waitpid(pid, 0)[1] == signal.SIGKILL
print('held')
"#
    );
    let said = python(&sandbox, &code).await;
    let alive = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!((said.as_str(), alive), ("held\n", true));
}

/// Processes with this word in their command line.
fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if line.windows(mark.len()).any(|w| w == mark.as_bytes()) {
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}

/// Something to wait for on a busy machine.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Leaves a process behind that left its session and its parent, and files that are hard to remove.
const LITTER: &str = "mkdir -p a/b; echo x > a/b/f; ln -s / a/root; python3 -c 'import os; os.mkdir(\"a/shut\", 0); os.mkdir(\"a/blind\", 0o300)'; \
                      (setsid sh -c 'while :; do setsid sleep 7MARK & sleep 7MARK; done' &) >/dev/null 2>&1 </dev/null; echo $HOME";

#[tokio::test]
async fn a_job_sees_nothing_of_the_one_before_and_leaves_nothing() {
    let sandbox = sandbox_or_skip!();
    let mark = format!("{:05}", std::process::id());
    let (result, home) = shell(&sandbox, &LITTER.replace("MARK", &mark)).await;
    assert_eq!(result.ending, ProgramEnding::Exited(0), "{home}");
    let home = PathBuf::from(home.trim());
    // The answer to this one comes after all that is gone.
    let (_, listed) = shell(&sandbox, "ls -A; pwd").await;
    assert_ne!(listed.trim(), home.to_string_lossy());
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(!home.exists());
    assert_eq!(marked(&format!("7{mark}")), Vec::<String>::new());
    // The same when the job is killed.
    let endless = format!("{}; sleep 1000", LITTER.replace("MARK", &mark));
    let argv = ["sh", "-c", &endless].map(str::to_owned).to_vec();
    let limits = ProgramLimits {
        wall: Duration::from_secs(2),
        ..ProgramLimits::default()
    };
    let result = sandbox
        .run_program(ProgramJob {
            argv,
            limits,
            ..ProgramJob::default()
        })
        .await
        .unwrap();
    assert_eq!(result.ending, ProgramEnding::TimedOut);
    let home = PathBuf::from(String::from_utf8_lossy(&result.streams.stdout).trim());
    let (_, listed) = shell(&sandbox, "ls -A").await;
    assert_eq!(listed, "");
    assert!(!home.exists());
    assert_eq!(marked(&format!("7{mark}")), Vec::<String>::new());
    let scratch = home.parent().unwrap().to_owned();
    assert!(scratch.exists());
    drop(sandbox);
    assert!(!scratch.exists());
}

#[tokio::test]
async fn a_program_that_forks_for_ever_is_ended_whole() {
    let sandbox = sandbox_or_skip!();
    let mark = format!("{:05}", std::process::id());
    let bomb = format!(
        "import os, sys\nsys.argv[0] = 'x'\nos.execv('/bin/sh', ['sh', '-c', 'f() {{ f 8{mark} & f 8{mark} & }}; f; sleep 1'])"
    );
    let script = ScriptJob {
        code: bomb,
        limits: ProgramLimits {
            wall: Duration::from_secs(2),
            ..wide()
        },
        ..ScriptJob::default()
    };
    sandbox.run_script(script).await.unwrap();
    let (_, said) = shell(&sandbox, "echo well").await;
    assert_eq!(said, "well\n");
    assert_eq!(marked(&format!("8{mark}")), Vec::<String>::new());
}

/// True: the test has run once more as a user who is not root, from copies, and this is not that
/// run.
fn ran_as_nobody(test: &str) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return false;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (copy, helper) = (folder.path().join("test"), folder.path().join("helper"));
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_eval-harness"), &helper).unwrap();
    let mut command = Command::new(copy);
    let test = crate::support::full_name(module_path!(), test);
    command
        .args([&test, "--exact", "--nocapture"])
        .env(HELPER, helper)
        .env("TMPDIR", folder.path());
    let output = command
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
    true
}

/// For an ordinary user the kernel counts the processes of all jobs, and of everything else,
/// together.
#[tokio::test]
async fn a_job_that_starts_too_many_processes_is_ended() {
    if ran_as_nobody("a_job_that_starts_too_many_processes_is_ended") {
        return;
    }
    let sandbox = sandbox_or_skip!();
    let forks = "import os, time\nfor _ in range(60):\n    if os.fork() == 0: time.sleep(1000)\ntime.sleep(1000)";
    let threads = "import threading, time\nthreading.stack_size(1 << 16)\nfor _ in range(60): threading.Thread(target=time.sleep, args=(1000,)).start()";
    for code in [forks, threads] {
        let script = ScriptJob {
            code: code.to_owned(),
            limits: wide(),
            ..ScriptJob::default()
        };
        let bomb = sandbox.run_script(script).await.unwrap();
        let ended = ProgramEnding::Violation("more processes than a job may have".to_owned());
        assert_eq!(
            bomb.ending,
            ended,
            "{}",
            String::from_utf8_lossy(&bomb.streams.stderr)
        );
    }
    let within = "import os, time\npids = [os.fork() for _ in range(4)]\ntime.sleep(0.3)\nif all(pids): print('well')";
    assert_eq!(python(&sandbox, within).await, "well\n");
}

#[tokio::test]
async fn a_folder_that_grows_too_large_ends_its_job() {
    let sandbox = sandbox_or_skip!();
    let fill = "i=0; while :; do head -c 10000000 /dev/zero > f$i; i=$((i+1)); done";
    let (result, _) = shell(&sandbox, fill).await;
    assert_eq!(result.ending, ProgramEnding::OutputLimit);
    let (_, listed) = shell(&sandbox, "ls -A").await;
    assert_eq!(listed, "");
}

/// What only root may enter is shown to jobs all the same, by a capability that reaches nothing
/// else.
#[tokio::test]
async fn what_is_shown_below_a_private_folder_can_be_read_and_its_neighbours_not() {
    use std::os::unix::fs::PermissionsExt;
    let private = tempfile::tempdir().unwrap();
    let shown = private.path().join("shown");
    std::fs::create_dir(&shown).unwrap();
    std::fs::write(shown.join("file"), "shown").unwrap();
    std::fs::write(private.path().join("secret"), "secret").unwrap();
    std::fs::set_permissions(private.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let Some(sandbox) = open(SandboxConfig {
        readable: vec![shown.clone()],
        ..config()
    })
    .await
    else {
        return;
    };
    let script = format!(
        "cat {0}/file && cat {0}/../secret; echo x > {0}/new; ls {0}",
        shown.display()
    );
    let (_, said) = shell(&sandbox, &script).await;
    assert!(said.starts_with("shownfile\n"), "{said}");
    assert_eq!(said.matches("Permission denied").count(), 2, "{said}");
}

/// Set when a test runs again with another TMPDIR.
const OTHER_TMPDIR: &str = "SANDBOX_TEST_OTHER_TMPDIR";

/// The listener compares the folder with real paths.
#[tokio::test]
async fn linked_or_relative_tmpdir_keeps_locks_and_modes() {
    let name = "linked_or_relative_tmpdir_keeps_locks_and_modes";
    if ran_as_nobody(name) {
        return;
    }
    if std::env::var_os(OTHER_TMPDIR).is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
        for tmpdir in [folder.path().join("link"), PathBuf::from("real")] {
            let mut again = Command::new(std::env::current_exe().unwrap());
            let name = crate::support::full_name(module_path!(), name);
            again
                .args([&name, "--exact", "--nocapture"])
                .env(OTHER_TMPDIR, "1")
                .env("TMPDIR", &tmpdir);
            let output = again.current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            println!("{said}");
            assert!(
                output.status.success() && said.contains("1 passed"),
                "{}: {said}",
                tmpdir.display()
            );
        }
        return;
    }
    let sandbox = sandbox_or_skip!();
    if sandbox
        .state()
        .notes
        .iter()
        .any(|note| note.contains("nothing can listen"))
    {
        return println!("SKIPPED: nothing can listen to system calls");
    }
    let code = "import fcntl, os\nf = open('own', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nfcntl.lockf(f, fcntl.LOCK_EX)\n\
                os.fchmod(f.fileno(), 0o640)\nos.chmod('own', 0o600)\nos.chmod(os.path.abspath('own'), 0o604)\n\
                print(oct(os.stat('own').st_mode & 0o777))";
    assert_eq!(python(&sandbox, code).await, "0o604\n");
}

/// Not a test of its own: a harness that has started a job, for the test below to kill.
#[tokio::test]
async fn a_harness_to_kill() {
    let Ok(mark) = std::env::var("SANDBOX_TEST_LITTER") else {
        return;
    };
    let sandbox = open(config()).await.expect("the tier works");
    let endless = format!("{}; sleep 1000", LITTER.replace("MARK", &mark));
    let (_, said) = shell(&sandbox, &endless).await;
    panic!("it was to be killed: {said}");
}

#[tokio::test]
async fn killing_the_harness_leaves_no_process_and_no_folder() {
    let _ = sandbox_or_skip!();
    let temp = tempfile::tempdir().unwrap();
    // Jobs of another user have to come through.
    std::fs::set_permissions(
        temp.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mark = format!("{:05}", std::process::id() ^ 0x5555);
    let mut harness = Command::new(std::env::current_exe().unwrap())
        .args([
            &crate::support::full_name(module_path!(), "a_harness_to_kill"),
            "--exact",
        ])
        .env("SANDBOX_TEST_LITTER", &mark)
        .env("TMPDIR", temp.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let sleeping = format!("7{mark}");
    let started = eventually(|| marked(&sleeping).len() > 2);
    harness.kill().unwrap();
    harness.wait().unwrap();
    assert!(started);
    assert!(
        eventually(|| marked(&sleeping).is_empty()),
        "{:?}",
        marked(&sleeping)
    );
    let left = || {
        std::fs::read_dir(temp.path())
            .unwrap()
            .flatten()
            .map(|e| e.path())
            .collect::<Vec<_>>()
    };
    assert!(eventually(|| left().is_empty()), "{:?}", left());
}
