//! What each tier promises, one test a cell of the table in docs/sandbox.md: `TIER::PROPERTY`. The
//! last test reads that table and demands that every cell names a test which is here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_sandbox::{ProgramEnding, ProgramLimits, Sandbox, SandboxConfig, ScriptJob, Tier};

/// Set for the run of this very test as another user.
const HELPER: &str = "SANDBOX_TEST_HELPER";
const PYTHON: &str = "SANDBOX_TEST_PYTHON";

fn config(tier: Tier) -> SandboxConfig {
    let helper = std::env::var_os(HELPER)
        .map_or_else(|| env!("CARGO_BIN_EXE_eval-harness").into(), PathBuf::from);
    SandboxConfig {
        tiers: vec![tier],
        python: std::env::var_os(PYTHON).map(PathBuf::from),
        ..SandboxConfig::new(helper)
    }
}

/// `None`, said by name, where the tier does not work.
async fn open(tier: Tier) -> Option<Sandbox> {
    match Sandbox::open(config(tier)).await {
        Ok(sandbox) => Some(sandbox),
        Err(reason) => {
            println!("SKIPPED: tier {tier}: {reason}");
            None
        }
    }
}

/// Time enough for the busiest machine.
fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    }
}

/// What a program prints; it must end well.
async fn says(sandbox: &Sandbox, code: &str) -> String {
    let script = ScriptJob {
        code: code.to_owned(),
        limits: wide(),
        ..ScriptJob::default()
    };
    let result = sandbox.run_script(script).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert_eq!(
        result.ending,
        ProgramEnding::Exited(0),
        "{code}\n{}",
        text(&result.streams.stderr)
    );
    text(&result.streams.stdout)
}

/// Python that tells for each path whether it can be read, is there without being readable, or is
/// not there.
const LOOK: &str = "
import os, sys
def look(path):
    try:
        with open(path, 'rb') as f:
            f.read(1)
        return 'read'
    except FileNotFoundError:
        return 'absent'
    except IsADirectoryError:
        try:
            os.listdir(path)
            return 'listed'
        except OSError:
            return 'there'
    except OSError:
        return 'there' if os.path.lexists(path) else 'absent'
";

/// A file of the caller's that any process of his may read.
fn secret() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.txt");
    std::fs::write(&path, "the harness' own").unwrap();
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

async fn host_files_are_unreadable(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let (_folder, path) = secret();
    let project = env!("CARGO_MANIFEST_DIR");
    let code = format!("{LOOK}\nprint(*[look(p) for p in ({path:?}, '/etc/shadow', {project:?})])");
    let said = says(&sandbox, &code).await;
    let mut seen = said.split_whitespace();
    assert!(seen.all(|s| s == "absent" || s == "there"), "{said}");
}

async fn host_paths_are_invisible(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let (_folder, path) = secret();
    let said = says(
        &sandbox,
        &format!("{LOOK}\nprint(*[look(p) for p in ({path:?}, '/etc/shadow', '/var', '/sys')])"),
    )
    .await;
    assert_eq!(said, "absent absent absent absent");
}

async fn nothing_of_the_host_can_be_written(tier: Tier) {
    use std::os::unix::fs::PermissionsExt;
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let (folder, path) = secret();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let inside = folder.path().to_string_lossy().into_owned();
    let usr = std::fs::metadata("/usr").unwrap().permissions().mode();
    let code = format!(
        "
import os
done = []
def attempt(name, f, *a):
    try:
        f(*a)
        done.append(name)
    except OSError:
        pass
attempt('write', lambda: open({path:?}, 'a').write('x'))
attempt('create', lambda: open({inside:?} + '/new', 'w'))
attempt('remove', os.unlink, {path:?})
attempt('rename', os.rename, {path:?}, {path:?} + '2')
attempt('chmod file', os.chmod, {path:?}, 0o600)
attempt('chmod /usr', os.chmod, '/usr', 0o777)
attempt('utime', os.utime, {path:?}, (1, 1))
attempt('utime /usr', os.utime, '/usr', (1, 1))
attempt('link', os.link, {path:?}, '/tmp/link')
attempt('mkdir /usr', os.mkdir, '/usr/new')
attempt('truncate', os.truncate, {path:?}, 0)
print(done)"
    );
    assert_eq!(says(&sandbox, &code).await, "[]");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the harness' own");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o666
    );
    assert_eq!(std::fs::metadata("/usr").unwrap().permissions().mode(), usr);
}

async fn there_is_no_network(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let code = format!(
        "
import socket
reached = []
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, getattr(socket, 'AF_NETLINK', 16), 17):
    try:
        s = socket.socket(family, socket.SOCK_STREAM if family != 17 else socket.SOCK_RAW)
        reached.append(family)
        s.settimeout(2)
        s.connect(('127.0.0.1', {port}))
        reached.append('connected')
    except OSError:
        pass
print(reached)"
    );
    assert_eq!(says(&sandbox, &code).await, "[]");
    assert!(listener.accept().is_err(), "somebody connected");
}

/// The processes of this machine whose environment or command line holds `mark`.
fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !pid.bytes().all(|b| b.is_ascii_digit()) || pid == std::process::id().to_string() {
            continue;
        }
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(mark) {
            found.push(pid);
        }
    }
    found
}

async fn what_a_job_starts_ends_with_it(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let mark = format!("left-behind-{}-{tier}", std::process::id());
    let program = eval_sandbox::ProgramJob {
        argv: vec![
            "bash".into(),
            "-c".into(),
            // In a session of its own, its parent gone, deaf to what can be ignored.
            format!(
                "(setsid bash -c 'trap \"\" TERM HUP INT; exec -a {mark} sleep 600' >/dev/null 2>&1 </dev/null &) ; sleep 0.3"
            ),
        ],
        limits: wide(),
        ..Default::default()
    };
    let result = sandbox.run_program(program).await.unwrap();
    assert_eq!(
        result.ending,
        ProgramEnding::Exited(0),
        "{}",
        String::from_utf8_lossy(&result.streams.stderr)
    );
    assert_eq!(marked(&mark), Vec::<String>::new());
}

async fn other_processes_are_invisible(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let me = std::process::id();
    // A namespace has numbers of its own: what can be seen there are the job's own few processes.
    let code = format!(
        "
import os
try:
    seen = [p for p in os.listdir('/proc') if p.isdigit()]
except OSError:
    seen = []
def there(pid):
    try:
        os.kill(pid, 0)
        return True
    except PermissionError:
        return True
    except OSError:
        return False
print(len(seen) <= 3, os.getpid() < 10, there({me}) and {me} > 100)"
    );
    assert_eq!(says(&sandbox, &code).await, "True True False");
}

async fn others_can_not_be_signalled(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let mut sleeper = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let (me, other) = (std::process::id(), sleeper.id());
    let code = format!(
        "
import os, signal
for target in ({other}, {me}, os.getppid(), -1, -{other}):
    for number in (signal.SIGTERM, signal.SIGKILL):
        if target in (0, os.getpid(), -os.getpgrp(), 1):
            continue
        try:
            os.kill(target, number)
        except OSError:
            pass
print('on')"
    );
    let script = ScriptJob {
        code,
        limits: wide(),
        ..ScriptJob::default()
    };
    let result = sandbox.run_script(script).await.unwrap();
    // It may have ended itself by `kill(-1)`, which is its right.
    assert!(
        matches!(
            result.ending,
            ProgramEnding::Exited(0) | ProgramEnding::Signaled(_)
        ),
        "{:?}",
        result.ending
    );
    assert!(
        sleeper.try_wait().unwrap().is_none(),
        "the sleeper was ended"
    );
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(
        says(&sandbox, "print('well')").await,
        "well",
        "the worker still works"
    );
}

async fn the_folder_is_empty_and_private(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let leave = "
import os
for name in ('a', '.hidden', 'main2.py'):
    open(name, 'w').write('left')
os.makedirs('deep/er/still')
os.symlink('/usr', 'link')
for resist in (lambda: os.chmod('deep', 0), lambda: open('/dev/shm/left', 'w').write('left')):
    try:
        resist()
    except OSError:
        pass
print('left')";
    assert_eq!(says(&sandbox, leave).await, "left");
    let look = "
import os
print(sorted(os.listdir('.')), os.path.exists('/dev/shm/left'))";
    let said = says(&sandbox, look).await;
    assert!(said == "[] False" || said == "['main.py'] False", "{said}");
}

async fn the_disk_is_bounded(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
wrote = 0
for n in range(40):
    with open('f%d' % n, 'wb', buffering=0) as f:
        for _ in range(8):
            wrote += f.write(b'x' * (1 << 20))
# Where the disk is only looked at, what is over at once is not seen.
import time
time.sleep(5)
print('wrote it all', wrote)";
    let script = ScriptJob {
        code: code.to_owned(),
        limits: wide(),
        ..ScriptJob::default()
    };
    let result = sandbox.run_script(script).await.unwrap();
    // Where the disk is only looked at, a quick writer is ended a moment after it went too far.
    assert_ne!(
        result.ending,
        ProgramEnding::Exited(0),
        "{}",
        String::from_utf8_lossy(&result.streams.stdout)
    );
}

async fn there_are_no_privileges(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import os
status = dict(line.rstrip('\\n').split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)
print(int(status['CapPrm'], 16), int(status['CapEff'], 16), int(status['CapAmb'], 16), status['NoNewPrivs'], status['Seccomp'])";
    let said = says(&sandbox, code).await;
    // An interpreter that only root can reach is read by right of CAP_DAC_READ_SEARCH (4), within
    // what Landlock shows.
    let reads = tier == Tier::Landlock && said == "4 4 4 1 2";
    let told = sandbox
        .state()
        .notes
        .iter()
        .any(|note| note.contains("only root"));
    assert!(
        said == "0 0 0 1 2" || reads && told,
        "{said} {:?}",
        sandbox.state().notes
    );
}

async fn the_user_is_not_root(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let said = says(
        &sandbox,
        "import os\nprint(os.getuid() != 0 and os.geteuid() != 0 and os.getgid() != 0)",
    )
    .await;
    assert_eq!(said, "True");
}

async fn memory_is_bounded(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let limits = ProgramLimits {
        memory_mb: 64,
        ..wide()
    };
    let one = "x = bytearray(1 << 20)\nkeep = []\nwhile True:\n    keep.append(bytes(x))\n";
    let script = ScriptJob {
        code: one.to_owned(),
        limits: limits.clone(),
        ..ScriptJob::default()
    };
    assert_eq!(
        sandbox.run_script(script).await.unwrap().ending,
        ProgramEnding::MemoryLimit
    );
}

/// Page tables of pages that are nobody's, which no limit of the kernel's on one process counts.
async fn page_tables_are_bounded(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import ctypes, os, time
l = ctypes.CDLL(None)
l.mmap.restype = ctypes.c_void_p
l.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
failed = ctypes.c_void_p(-1).value
assert l.mmap(None, 1 << 40, 1, 0x4022, -1, 0) == failed, 'the address space has an end'
for _ in range(3):
    if os.fork() == 0: break
p = l.mmap(None, 60 << 30, 1, 0x4022, -1, 0)
l.madvise(ctypes.c_void_p(p), ctypes.c_size_t(60 << 30), 15)
for i in range(30 << 10): ctypes.c_char.from_address(p + (i << 21)).value
time.sleep(600)";
    let limits = ProgramLimits {
        memory_mb: 64,
        ..wide()
    };
    let result = sandbox
        .run_script(ScriptJob {
            code: code.to_owned(),
            limits,
            ..ScriptJob::default()
        })
        .await
        .unwrap();
    let stderr = String::from_utf8_lossy(&result.streams.stderr);
    assert_eq!(result.ending, ProgramEnding::MemoryLimit, "{stderr}");
}

/// Runs a program and looks at the host until it has ended.
async fn while_running(sandbox: &Sandbox, code: &str, mut look: impl FnMut()) -> String {
    let run = says(sandbox, code);
    tokio::pin!(run);
    loop {
        tokio::select! {
            said = &mut run => return said,
            () = tokio::time::sleep(Duration::from_millis(20)) => look(),
        }
    }
}

/// Asynchronous I/O is counted for the machine, inotify by user.
async fn host_limits_are_untouched(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import ctypes, os, time
l = ctypes.CDLL(None, use_errno=True)
taken = 0
if os.uname().machine == 'x86_64':
    for n in (60000, 5000, 500, 30, 1):
        taken += l.syscall(206, n, ctypes.byref(ctypes.c_ulong(0))) == 0
for _ in range(40):
    if os.fork() == 0:
        for _ in range(100): l.inotify_init()
        time.sleep(1)
        os._exit(0)
    if _ > 20: break
time.sleep(1)
print(taken)";
    let in_use = || {
        let text = std::fs::read_to_string("/proc/sys/fs/aio-nr").unwrap_or_default();
        text.trim().parse::<u64>().unwrap_or(0)
    };
    let before = in_use();
    let said = while_running(&sandbox, code, || {
        assert!(in_use() < before + 10_000, "{} were {before}", in_use());
        let watch = "import ctypes; raise SystemExit(ctypes.CDLL(None).inotify_init() < 0)";
        if let Ok(status) = std::process::Command::new("/usr/bin/python3")
            .args(["-c", watch])
            .status()
        {
            assert!(
                status.success(),
                "no instance of inotify is left for the host"
            );
        }
    });
    assert_eq!(said.await, "0");
}

/// A lock of a job on a file of the host would keep the host's programs waiting.
async fn host_files_are_not_locked(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import fcntl, os, struct, time
held = []
for path in ('/usr/bin/env', '/bin/sh'):
    fd = os.open(path, os.O_RDONLY)
    read = struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0)
    for lock in (lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
                 lambda: fcntl.fcntl(fd, fcntl.F_SETLK, read), lambda: fcntl.fcntl(fd, 37, read)):
        try:
            lock()
            held.append(path)
        except OSError:
            pass
time.sleep(0.5)
print(held)";
    let mut looks = 0;
    let said = while_running(&sandbox, code, || {
        let file = std::fs::File::open("/usr/bin/env").unwrap();
        file.try_lock().expect("nothing of a job holds it");
        looks += 1;
    });
    assert_eq!(said.await, "[]");
    assert!(looks > 0);
}

async fn own_programs_run(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import os, subprocess
with open('tool', 'w') as f: f.write('#!/bin/sh\\necho made')
os.chmod('tool', 0o755)
print(subprocess.run(['./tool'], capture_output=True, text=True).stdout.strip())";
    assert_eq!(says(&sandbox, code).await, "made");
}

async fn time_is_bounded(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let limits = ProgramLimits {
        wall: Duration::from_millis(300),
        ..ProgramLimits::default()
    };
    for code in ["while True: pass", "import time\ntime.sleep(600)"] {
        let script = ScriptJob {
            code: code.to_owned(),
            limits: limits.clone(),
            ..ScriptJob::default()
        };
        assert_eq!(
            sandbox.run_script(script).await.unwrap().ending,
            ProgramEnding::TimedOut,
            "{code}"
        );
    }
}

async fn output_is_bounded(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "import os\nwhile True: os.write(1, b'x' * 65536)";
    let script = ScriptJob {
        code: code.to_owned(),
        limits: wide(),
        ..ScriptJob::default()
    };
    let result = sandbox.run_script(script).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::OutputLimit);
    assert!(
        result.streams.stdout.len() <= 1 << 20,
        "{}",
        result.streams.stdout.len()
    );
}

async fn the_environment_is_clean(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import os
print(sorted(n for n in os.environ if n not in ('PATH', 'LANG', 'LC_ALL', 'LC_CTYPE', 'HOME', 'TMPDIR', 'TZ')
    and not n.startswith(('PYTHON', 'OPENBLAS'))))";
    assert_eq!(says(&sandbox, code).await, "[]");
}

async fn no_descriptor_is_inherited(tier: Tier) {
    let Some(sandbox) = open(tier).await else {
        return;
    };
    let code = "
import os
open_ones = []
for fd in range(3, 1024):
    try:
        os.fstat(fd)
        open_ones.append(fd)
    except OSError:
        pass
print(open_ones)";
    assert_eq!(says(&sandbox, code).await, "[]");
}

macro_rules! properties {
    ($tier:expr => $($name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                super::$name($tier).await;
            }
        )*
    };
}

mod userns {
    use eval_sandbox::Tier;
    properties!(Tier::Userns => host_files_are_unreadable host_paths_are_invisible nothing_of_the_host_can_be_written
        there_is_no_network what_a_job_starts_ends_with_it other_processes_are_invisible others_can_not_be_signalled
        the_folder_is_empty_and_private the_disk_is_bounded there_are_no_privileges the_user_is_not_root memory_is_bounded
        page_tables_are_bounded host_limits_are_untouched host_files_are_not_locked own_programs_run
        time_is_bounded output_is_bounded the_environment_is_clean no_descriptor_is_inherited);
}

mod rootns {
    use eval_sandbox::Tier;
    properties!(Tier::Rootns => host_files_are_unreadable host_paths_are_invisible nothing_of_the_host_can_be_written
        there_is_no_network what_a_job_starts_ends_with_it other_processes_are_invisible others_can_not_be_signalled
        the_folder_is_empty_and_private the_disk_is_bounded there_are_no_privileges the_user_is_not_root memory_is_bounded
        page_tables_are_bounded host_limits_are_untouched host_files_are_not_locked own_programs_run
        time_is_bounded output_is_bounded the_environment_is_clean no_descriptor_is_inherited);
}

mod landlock {
    use eval_sandbox::Tier;
    properties!(Tier::Landlock => host_files_are_unreadable nothing_of_the_host_can_be_written there_is_no_network
        what_a_job_starts_ends_with_it others_can_not_be_signalled the_folder_is_empty_and_private the_disk_is_bounded
        there_are_no_privileges memory_is_bounded page_tables_are_bounded host_limits_are_untouched
        host_files_are_not_locked own_programs_run time_is_bounded output_is_bounded the_environment_is_clean
        no_descriptor_is_inherited);
}

/// What is kept without isolation.
mod none {
    use eval_sandbox::Tier;
    properties!(Tier::None => time_is_bounded output_is_bounded memory_is_bounded page_tables_are_bounded
        own_programs_run the_environment_is_clean
        no_descriptor_is_inherited what_a_job_starts_ends_with_it);
}

/// Every tier that an ordinary user can have, as `nobody`, from copies that `nobody` can reach.
#[test]
fn an_ordinary_user_gets_the_same() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    if std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() != 0) {
        println!("SKIPPED: the other tests already run as an ordinary user");
        return;
    }
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|p| Path::new(p).exists());
    let Some(python) = python else {
        println!("SKIPPED: no Python that an ordinary user can reach");
        return;
    };
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (test, cell) = (folder.path().join("test"), folder.path().join("helper"));
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_eval-harness"), &cell).unwrap();
    for tier in ["userns::", "landlock::"] {
        let output = std::process::Command::new(&test)
            .args([
                &crate::support::full_name(module_path!(), tier),
                "--nocapture",
                "--test-threads=2",
            ])
            .env(HELPER, &cell)
            .env(PYTHON, python)
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

/// The table of the documentation claims nothing that is not tested here.
#[test]
fn every_cell_of_the_documented_table_is_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/sandbox.md")).unwrap();
    let source = std::fs::read_to_string(root.join("tests/sandbox/properties.rs")).unwrap();
    let module = |tier: &str| {
        let start = source
            .find(&format!("\nmod {tier} {{"))
            .unwrap_or_else(|| panic!("no tests of tier {tier}"));
        let rest = &source[start..];
        &rest[..rest.find(");\n}").unwrap()]
    };
    let mut cells = 0;
    for line in page
        .lines()
        .filter(|line| line.starts_with("| ") && line.ends_with("` |"))
    {
        let columns: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (name, tiers) = (
            columns[columns.len() - 1].trim_matches('`'),
            &columns[1..columns.len() - 1],
        );
        for (tier, cell) in ["userns", "rootns", "landlock", "none"]
            .into_iter()
            .zip(tiers)
        {
            let tested = module(tier)
                .split_whitespace()
                .any(|word| word.trim_end_matches([')', ';']) == name);
            // A cell in bold promises nothing.
            assert_eq!(
                tested,
                !cell.starts_with("**"),
                "tier {tier}, {name}: {cell}"
            );
            cells += 1;
        }
    }
    assert!(cells >= 60, "{cells} cells: the table was not found");
}
