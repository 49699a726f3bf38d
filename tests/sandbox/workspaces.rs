//! Programs in workspaces, in every tier that works here, as root and as an ordinary user.
#![cfg(target_os = "linux")]

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eval_sandbox::{
    CellPorts, MountAbility, ProgramEnding, ReadOnlyBind, Sandbox, SandboxConfig, SandboxError,
    Tier, WORKSPACE_USER, WorkspaceJob, WorkspaceMount, WorkspaceNetwork, WorkspaceResult,
    WorkspaceRoot, WorkspaceSettings,
};

use crate::support::eventually;

mod tools;
use tools::tools_work;

/// Set for the run of these tests as another user.
const HELPER: &str = "SANDBOX_TEST_HELPER";
/// Set for the process that is to be killed: its tier and its folder.
const VICTIM: &str = "WORKSPACE_TEST_VICTIM";
/// Contents that no program may read.
const SECRET: &str = "what-no-program-may-read";

fn helper() -> PathBuf {
    std::env::var_os(HELPER)
        .map_or_else(|| env!("CARGO_BIN_EXE_eval-harness").into(), PathBuf::from)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Gives a folder of the store to whom programs run as.
fn give(path: &Path) {
    if !is_root() {
        return;
    }
    chown(path, Some(WORKSPACE_USER), Some(WORKSPACE_USER)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            if entry.file_type().unwrap().is_symlink() {
                continue;
            }
            give(&entry.path());
        }
    }
}

/// A store with a sandbox for it.
struct Bench {
    sandbox: Sandbox,
    place: tempfile::TempDir,
}

impl Bench {
    /// `None`, said by name, where the tier does not work.
    async fn open(tier: Tier) -> Option<Bench> {
        Bench::open_with(tier, |_| {}).await
    }

    async fn open_with(tier: Tier, change: impl FnOnce(&mut SandboxConfig)) -> Option<Bench> {
        let place = tempfile::tempdir().unwrap();
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["store", "suite"] {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        std::fs::write(place.path().join("suite/answers"), SECRET).unwrap();
        give(&place.path().join("store"));
        let mut config = SandboxConfig {
            tiers: vec![tier],
            workspaces: Some(WorkspaceSettings {
                store: place.path().join("store"),
                sources: vec![place.path().join("suite")],
                ..WorkspaceSettings::default()
            }),
            ..SandboxConfig::new(helper())
        };
        change(&mut config);
        match Sandbox::open(config).await {
            Ok(sandbox) => Some(Bench { sandbox, place }),
            Err(reason) => {
                println!("SKIPPED: tier {tier}: {reason}");
                None
            }
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// A folder of the store with files.
    fn layer(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.at("store").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (path, text) in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        give(&folder);
        folder
    }

    fn mount(&self, lowers: &[&Path], name: &str) -> WorkspaceMount {
        WorkspaceMount {
            lowers: lowers.iter().map(|path| (*path).to_owned()).collect(),
            upper: self.layer(&format!("{name}-upper"), &[]),
            work: self.layer(&format!("{name}-work"), &[]),
        }
    }

    /// A workspace over the layers: an overlay, or a copy where there is none.
    async fn root(&self, lowers: &[&Path], name: &str) -> WorkspaceRoot {
        if let MountAbility::Overlay { .. } = self.sandbox.mount_ability().await.unwrap() {
            return WorkspaceRoot::Overlay(self.mount(lowers, name));
        }
        let folder = self.layer(name, &[]);
        for lower in lowers.iter().rev() {
            let copied = Command::new("cp")
                .arg("-a")
                .arg(format!("{}/.", lower.display()))
                .arg(&folder)
                .status();
            assert!(copied.unwrap().success());
        }
        give(&folder);
        WorkspaceRoot::Folder(folder)
    }

    async fn run(&self, root: WorkspaceRoot, script: &str) -> WorkspaceResult {
        self.sandbox
            .run_in_workspace(shell(root, script))
            .await
            .unwrap()
    }
}

fn shell(root: WorkspaceRoot, script: &str) -> WorkspaceJob {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let mut job = WorkspaceJob::new(argv, root);
    job.limits.wall = Duration::from_secs(60);
    job
}

fn stdout(result: &WorkspaceResult) -> String {
    String::from_utf8_lossy(&result.result.streams.stdout).into_owned()
}

fn succeeded(result: &WorkspaceResult) -> String {
    let streams = &result.result.streams;
    let stderr = String::from_utf8_lossy(&streams.stderr);
    let ending = &result.result.ending;
    assert_eq!(
        *ending,
        ProgramEnding::Exited(0),
        "{}{stderr}",
        stdout(result)
    );
    stdout(result)
}

/// Every path below, with its kind, mode and text.
fn listing(folder: &Path) -> Vec<(String, u32, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder_now) = open.pop() {
        for entry in std::fs::read_dir(folder_now).unwrap().flatten() {
            let meta = entry.path().symlink_metadata().unwrap();
            let name = entry.path().strip_prefix(folder).unwrap().to_owned();
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            found.push((name.to_str().unwrap().to_owned(), meta.mode(), text));
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

macro_rules! bench {
    ($tier:expr) => {
        match Bench::open($tier).await {
            Some(bench) => bench,
            None => return,
        }
    };
}

/// The same where an overlay can be had.
macro_rules! overlay_bench {
    ($tier:expr) => {{
        let bench = bench!($tier);
        match bench.sandbox.mount_ability().await.unwrap() {
            MountAbility::Overlay { .. } => bench,
            MountAbility::Copy { why } => return println!("SKIPPED: tier {}: {why}", $tier),
        }
    }};
}

async fn changes_leave_the_layers_as_they_were(tier: Tier) {
    let bench = overlay_bench!(tier);
    let files = [
        ("a/kept", "1"),
        ("a/deleted", "2"),
        ("moved", "3"),
        ("mode", "4"),
        ("b/x", "5"),
    ];
    let (top, base) = (
        bench.layer("top", &[("a/kept", "top")]),
        bench.layer("base", &files),
    );
    let before = (listing(&top), listing(&base));
    let mount = bench.mount(&[&top, &base], "ws");
    let script = "cat a/kept; echo >> a/kept; rm a/deleted; mv moved moved-2; chmod 755 mode; rm -r b; mkdir b; echo n > b/new; \
                  ln -s /etc/passwd link; mv a a-2 2>&1 || true; ls b";
    let result = bench
        .run(WorkspaceRoot::Overlay(mount.clone()), script)
        .await;
    let said = succeeded(&result);
    assert!(said.starts_with("top") && said.ends_with("new\n"), "{said}");
    assert_eq!((listing(&top), listing(&base)), before);
    let upper = |name: &str| mount.upper.join(name);
    assert_eq!(std::fs::read_to_string(upper("moved-2")).unwrap(), "3");
    assert_eq!(std::fs::read_to_string(upper("b/new")).unwrap(), "n\n");
    assert_eq!(upper("mode").metadata().unwrap().mode() & 0o777, 0o755);
    assert_eq!(upper("link").read_link().unwrap(), Path::new("/etc/passwd"));
    // The folder was moved, or copied and deleted.
    assert_eq!(std::fs::read_to_string(upper("a-2/kept")).unwrap(), "top\n");
}

async fn the_store_and_the_host_are_out_of_reach(tier: Tier) {
    let bench = overlay_bench!(tier);
    let base = bench.layer("base", &[("file", "text")]);
    bench.layer("other", &[("marker-of-the-store", SECRET)]);
    let host = bench.at("marker-of-the-host");
    std::fs::write(&host, SECRET).unwrap();
    let other = bench.at("store/other/marker-of-the-store");
    symlink(&other, base.join("link")).unwrap();
    let root = bench.root(&[&base], "ws").await;
    let (other, host, suite) = (other.display(), host.display(), bench.at("suite"));
    let script = format!(
        "cat {other} {host} {suite}/answers link 2>/dev/null
        for place in /.sources /.sources/0 /proc/self/cwd/.. /proc/self/cwd/../.. /proc/1/cwd /proc/1/root /proc/1/root/.sources \
            /proc/self/root/.sources /.p /.p/proc /proc/1/fd; do ls -a $place 2>/dev/null | sed \"s|^|$place |\"; done
        cat /proc/1/environ /proc/1/maps 2>/dev/null | head -c 100
        for fd in /proc/self/fd/*; do [ $fd = /proc/self/fd/3 ] || [ -e $fd ] && readlink $fd; done
        find / -path /usr -prune -o -path /proc -prune -o -name 'marker-of*' -print 2>/dev/null
        cat /proc/self/mountinfo; grep -c . /proc/self/mountinfo >&2; mount -t overlay o /tmp 2>/dev/null && echo mounted
        umount /workspace 2>/dev/null && echo unmounted; unshare -Um true 2>/dev/null && echo unshared",
        suite = suite.display()
    );
    let result = bench.run(root, &script).await;
    let said = stdout(&result);
    for seen in [
        SECRET,
        "marker-of",
        "/.sources 0",
        "mounted",
        "unshared",
        "/proc/1/",
    ] {
        assert!(!said.contains(seen), "{seen}: {said}");
    }
    assert!(said.contains(" /workspace "), "{said}");
    assert!(!said.contains(" /.sources"), "{said}");
}

async fn a_frozen_upper_is_a_layer_of_the_next_job(tier: Tier) {
    let bench = overlay_bench!(tier);
    let base = bench.layer("base", &[("kept", "1"), ("deleted", "2"), ("d/x", "3")]);
    let first = bench.mount(&[&base], "first");
    let script = "rm deleted; echo 1b > kept; rm -r d; mkdir d; echo y > d/y";
    // Two jobs in the same workspace, as a setup step and an agent are.
    succeeded(
        &bench
            .run(WorkspaceRoot::Overlay(first.clone()), script)
            .await,
    );
    let more = bench
        .run(
            WorkspaceRoot::Overlay(first.clone()),
            "cat kept; echo z > d/z",
        )
        .await;
    assert_eq!(succeeded(&more), "1b\n");
    let frozen = listing(&first.upper);
    let hidden = bench.layer("hidden", &[("d/hidden", "h")]);
    let second = bench.mount(&[&hidden, &first.upper, &base], "second");
    let result = bench
        .run(
            WorkspaceRoot::Overlay(second),
            "find . -type f | sort; echo 2 > kept; rm d/y; echo 1 > deleted",
        )
        .await;
    assert_eq!(succeeded(&result), "./d/hidden\n./d/y\n./d/z\n./kept\n");
    assert_eq!(listing(&first.upper), frozen);
}

async fn folders_of_layers_can_be_renamed_for_root(tier: Tier) {
    let with_renames = |config: &mut SandboxConfig| {
        config.workspaces.as_mut().unwrap().renames = true;
    };
    let Some(bench) = Bench::open_with(tier, with_renames).await else {
        return;
    };
    let ability = bench.sandbox.mount_ability().await.unwrap();
    assert!(is_root() || ability != MountAbility::Overlay { renames: true });
    if ability != (MountAbility::Overlay { renames: true }) {
        return println!("SKIPPED: tier {tier}: {ability:?}");
    }
    let base = bench.layer("base", &[("a/b/x", "1"), ("c/y", "2"), ("z", "3")]);
    let before = listing(&base);
    let first = bench.mount(&[&base], "first");
    let code = "import os; os.rename('a', 'a2'); os.rename('c/y', 'c/w'); os.remove('z'); os.mkdir('z')\n\
        for path in ['/.sources/0', '/proc/1/fd', '/proc/1/cwd']:\n\
        \x20   try: print(os.listdir(path))\n    except OSError: pass\n\
        print(sorted(os.listdir('/proc/self/fd')), os.stat('a2').st_uid == os.getuid())\n\
        try: os.setxattr('a2', 'trusted.overlay.redirect', b'/z')\n\
        except OSError as e: print(e.errno)\n";
    let argv = ["/usr/bin/python3", "-c", code].map(str::to_owned).to_vec();
    let mut job = WorkspaceJob::new(argv, WorkspaceRoot::Overlay(first.clone()));
    job.limits.wall = Duration::from_secs(30);
    let result = bench.sandbox.run_in_workspace(job).await.unwrap();
    assert_eq!(succeeded(&result), "['0', '1', '2', '3'] True\n1\n");
    assert_eq!(listing(&base), before);
    let second = bench.mount(&[&first.upper, &base], "second");
    let root = WorkspaceRoot::Overlay(second);
    let found = bench
        .run(root.clone(), "find . | sort; chmod -R u+w .")
        .await;
    assert_eq!(
        succeeded(&found),
        ".\n./a2\n./a2/b\n./a2/b/x\n./c\n./c/w\n./z\n"
    );
    succeeded(&bench.run(root, "mv a2 a3 && cat a3/b/x").await);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(
        !mounts.contains("overlay.redirect") && !mounts.contains(" /workspace "),
        "{mounts}"
    );
}

async fn read_only_binds_can_be_read_and_nothing_beside_them(tier: Tier) {
    let bench = overlay_bench!(tier);
    let base = bench.layer("base", &[("tests/test", "visible")]);
    symlink("/etc", base.join("link")).unwrap();
    let hidden = bench.layer("hidden", &[("test", "hidden")]);
    let agent = bench.at("suite/agent.sh");
    std::fs::write(
        &agent,
        "#!/bin/sh\ncat tests/test new/x/test; ls -a $(dirname $0)",
    )
    .unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bind = |from: &Path, at: &str| ReadOnlyBind {
        from: from.to_owned(),
        at: at.into(),
    };
    let mount = bench.mount(&[&base], "ws");
    let mut job = WorkspaceJob::new(
        vec![agent.to_str().unwrap().to_owned()],
        WorkspaceRoot::Overlay(mount.clone()),
    );
    job.read_only = vec![
        bind(&hidden.join("test"), "/workspace/tests/test"),
        bind(&hidden, "/workspace/new/x"),
        bind(&agent, agent.to_str().unwrap()),
    ];
    let result = bench.sandbox.run_in_workspace(job.clone()).await.unwrap();
    assert_eq!(succeeded(&result), "hiddenhidden.\n..\nagent.sh\n");
    job.argv = ["sh", "-c", "for f in tests/test new/x/test new/x/more $0; do echo x > $f || echo no; done; rm tests/test new/x/test || rm -r tests || echo no"]
        .map(str::to_owned)
        .to_vec();
    job.argv.push(agent.to_str().unwrap().to_owned());
    let result = bench.sandbox.run_in_workspace(job.clone()).await.unwrap();
    assert_eq!(succeeded(&result), "no\n".repeat(5));
    assert_eq!(listing(&hidden)[0].2, "hidden");
    job.read_only = vec![bind(&hidden, "/workspace/link/x")];
    let refused = bench.sandbox.run_in_workspace(job).await.unwrap_err();
    assert!(
        matches!(&refused, SandboxError::CannotStart { reason, .. } if reason.starts_with("/workspace/link/x: ")),
        "{refused}"
    );
}

async fn home_and_tmp_are_fresh_and_results_are_collected(tier: Tier) {
    let bench = bench!(tier);
    let base = bench.layer("base", &[("sub/x", "")]);
    let root = bench.root(&[&base], "ws").await;
    let script = "pwd; echo $HOME; find \"$HOME\" /tmp/ -type f 2>/dev/null | grep -c fresh; echo > $HOME/fresh; \
                  echo > $TMPDIR/fresh-2; mkdir $RESULTS/d; echo r > $RESULTS/d/x.xml; ln -s /etc/passwd $RESULTS/link; exit 3";
    let mut job = shell(root, script);
    job.cwd = "sub".into();
    job.env = vec![("RESULTS".into(), "/results".into())];
    for _ in 0..2 {
        let result = bench.sandbox.run_in_workspace(job.clone()).await.unwrap();
        assert_eq!(result.result.ending, ProgramEnding::Exited(3), "{result:?}");
        assert_eq!(result.results, [("d/x.xml".to_owned(), b"r\n".to_vec())]);
        let said = stdout(&result);
        if !matches!(tier, Tier::Landlock | Tier::None) {
            assert_eq!(said, "/workspace/sub\n/home/agent\n0\n");
        }
    }
}

async fn each_limit_ends_the_program(tier: Tier) {
    let bench = bench!(tier);
    let base = bench.layer("base", &[]);
    let run = async |script: &str, change: fn(&mut WorkspaceJob)| {
        let mut job = shell(bench.root(&[&base], "ws").await, script);
        change(&mut job);
        let ending = bench
            .sandbox
            .run_in_workspace(job)
            .await
            .unwrap()
            .result
            .ending;
        // What a program wrote counts for the next one.
        for name in ["ws", "ws-upper", "ws-work"] {
            let _ = Command::new("rm")
                .arg("-rf")
                .arg(bench.at("store").join(name))
                .status();
        }
        ending
    };
    let small = |job: &mut WorkspaceJob| job.disk_mb = 48;
    let late = run("sleep 100 & sleep 100", |job| {
        job.limits.wall = Duration::from_secs(1)
    })
    .await;
    assert_eq!(late, ProgramEnding::TimedOut);
    assert_eq!(run("yes", |_| {}).await, ProgramEnding::OutputLimit);
    let written = "for i in 1 2 3 4 5 6 7 8; do head -c 30000000 /dev/urandom > f$i; sleep 0.2; done; sleep 50";
    assert_eq!(run(written, small).await, ProgramEnding::DiskLimit);
    let unlinked = "exec 3> a; rm a; head -c 200000000 /dev/urandom >&3; sleep 50";
    assert_eq!(run(unlinked, small).await, ProgramEnding::DiskLimit);
    let many = "i=0; while :; do i=$((i+1)); : > f$i; done";
    assert_eq!(
        run(many, |job| job.disk_mb = 8).await,
        ProgramEnding::DiskLimit
    );
    let shut = "mkdir d; for i in 1 2 3 4; do head -c 30000000 /dev/urandom > d/f$i; done; chmod 0 d; sleep 50";
    assert_eq!(run(shut, small).await, ProgramEnding::DiskLimit);
    let sparse = run("truncate -s 500M f; cat f | wc -c", small).await;
    assert_eq!(sparse, ProgramEnding::Exited(0));
    let hogs = "for i in 1 2 3 4; do (head -c 100000000 /dev/zero; sleep 100) | tail -c 200000000 > out$i & done; wait";
    let memory = run(hogs, |job| job.limits.memory_mb = 160).await;
    assert_eq!(memory, ProgramEnding::MemoryLimit);
    let few = |job: &mut WorkspaceJob| {
        job.limits.processes = 20;
        job.limits.wall = Duration::from_secs(10);
    };
    let forks = run("for i in $(seq 100); do sleep 100 & done; wait", few).await;
    assert!(
        !matches!(forks, ProgramEnding::Exited(0) | ProgramEnding::TimedOut),
        "{forks:?}"
    );
}

async fn privileged_files_give_no_privilege(tier: Tier) {
    let bench = bench!(tier);
    let base = bench.layer("base", &[]);
    std::fs::copy("/usr/bin/id", base.join("id")).unwrap();
    // Still root's when this is root.
    std::fs::set_permissions(base.join("id"), std::fs::Permissions::from_mode(0o6755)).unwrap();
    let root = bench.root(&[&base], "ws").await;
    let script = "./id -u; cp /usr/bin/id own; chmod 6755 own 2>/dev/null; ./own -u; id -u; while read line; do case $line in NoNewPrivs*|CapEff*|CapPrm*) echo \"$line\";; esac; done < /proc/self/status";
    let said = succeeded(&bench.run(root, script).await);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines[0], lines[1]), (lines[2], lines[2]), "{said}");
    assert_ne!(lines[2], "0");
    let none = "\t0000000000000000";
    // Only root may look into the interpreter's folder.
    let reads = (tier == Tier::Landlock).then_some("\t0000000000000004");
    for line in &lines[3..] {
        let ending = |wanted: &str| line.ends_with(wanted);
        assert!(
            ending("\t1") || ending(none) || reads.is_some_and(ending),
            "{said}"
        );
    }
}

async fn servers_on_the_loopback_device_work(tier: Tier) {
    let bench = bench!(tier);
    if !Path::new("/usr/bin/python3").exists() {
        return println!("SKIPPED: no /usr/bin/python3");
    }
    let base = bench.layer("base", &[]);
    let code = "import ctypes, os, socket, sys, threading\n\
        server = socket.create_server(('127.0.0.1', 0))\n\
        threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()\n\
        print(socket.create_connection(server.getsockname()).recv(9))\n\
        local = socket.socket(socket.AF_UNIX)\nlocal.bind('sock'); local.listen()\n\
        socket.socket(socket.AF_UNIX).connect('sock')\n\
        for family, kind in [(socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_NETLINK, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)]:\n\
        \x20   try: socket.socket(family, kind); print('made')\n\
        \x20   except OSError: pass\n\
        try: socket.create_connection(('192.0.2.1', 80), 3); print('connected')\n\
        except OSError as e: print(e.errno)\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        for name in ['unshare', 'ptrace', 'setns', 'mount']: print(libc[name](0x10000000, 0, 0, 0), ctypes.get_errno())\n";
    let mut job = WorkspaceJob::new(
        ["/usr/bin/python3", "-c", code].map(str::to_owned).to_vec(),
        bench.root(&[&base], "ws").await,
    );
    job.limits.wall = Duration::from_secs(30);
    let result = bench.sandbox.run_in_workspace(job).await.unwrap();
    // Each of the last four returns EPERM.
    let refused = "-1 1\n".repeat(4);
    assert_eq!(succeeded(&result), format!("b'hello'\n101\n{refused}"));
}

/// The harness accepts what a program connects to in its own network; nothing else is there, and
/// the next job has the port for itself.
async fn a_port_of_the_cell_is_the_harness(tier: Tier) {
    const PORT: u16 = 41_000;
    let bench = bench!(tier);
    let base = bench.layer("base", &[]);
    let code = "import socket, sys\n\
        with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as s:\n\
        \x20   s.sendall(b'asked'); print(s.recv(9))\n\
        try: socket.create_connection(('127.0.0.1', int(sys.argv[2])))\n\
        except OSError as e: print(e.errno)\n";
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = host.local_addr().unwrap().port().to_string();
    for turn in ["first", "second"] {
        let argv = ["/usr/bin/python3", "-c", code, &PORT.to_string(), &closed];
        let argv = argv.map(str::to_owned).to_vec();
        let mut job = WorkspaceJob::new(argv, bench.root(&[&base], turn).await);
        job.limits.wall = Duration::from_secs(30);
        let (ports, listener) = CellPorts::listening(PORT);
        let served = async {
            let listener = listener.await.unwrap();
            tokio::task::spawn_blocking(move || {
                let (mut stream, from) = listener.accept().unwrap();
                assert!(from.ip().is_loopback());
                let mut asked = [0; 5];
                std::io::Read::read_exact(&mut stream, &mut asked).unwrap();
                std::io::Write::write_all(&mut stream, turn.as_bytes()).unwrap();
            })
            .await
            .unwrap();
        };
        let ports = Some(Arc::new(ports));
        let ran = bench
            .sandbox
            .serve_in_workspace(std::future::pending(), job, ports);
        let (result, ()) = tokio::join!(ran, served);
        assert_eq!(succeeded(&result.unwrap()), format!("b'{turn}'\n111\n"));
    }
}

async fn the_network_of_the_host_works_where_it_is_allowed(tier: Tier) {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            std::io::Write::write_all(&mut stream.unwrap(), b"host").unwrap();
        }
    });
    let code = "import socket, sys\n\
        try: print(socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(9))\n\
        except OSError as e: print(e.errno)\n\
        try: socket.socket(socket.AF_UNIX); print('local')\n\
        except OSError as e: pass\n\
        print(open('/etc/resolv.conf').read() if sys.argv[2] == 'All' else '')\n";
    for network in [WorkspaceNetwork::All, WorkspaceNetwork::None] {
        let with_network = |config: &mut SandboxConfig| {
            config.workspaces.as_mut().unwrap().network = network;
        };
        let Some(bench) = Bench::open_with(tier, with_network).await else {
            return;
        };
        let base = bench.layer("base", &[]);
        let (port, name) = (port.to_string(), format!("{network:?}"));
        let argv = ["/usr/bin/python3", "-c", code, &port, &name];
        let argv = argv.map(str::to_owned).to_vec();
        let job = WorkspaceJob::new(argv, bench.root(&[&base], "ws").await);
        let result = bench.sandbox.run_in_workspace(job).await.unwrap();
        let servers = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let want = match network {
            WorkspaceNetwork::All => format!("b'host'\n{servers}\n"),
            WorkspaceNetwork::None => "111\nlocal\n\n".to_owned(),
        };
        assert_eq!(succeeded(&result), want);
    }
}

async fn many_workspaces_at_once_and_one_after_the_other(tier: Tier) {
    let Some(bench) = Bench::open_with(tier, |config| config.workers = 8).await else {
        return;
    };
    let base = bench.layer("base", &[("x", "1"), ("gone", "1")]);
    if !matches!(
        bench.sandbox.mount_ability().await.unwrap(),
        MountAbility::Overlay { .. }
    ) {
        return println!("SKIPPED: tier {tier}: no overlay");
    }
    let mut times = Vec::new();
    for i in 0..200 {
        let job = shell(
            WorkspaceRoot::Overlay(bench.mount(&[&base], &format!("one-{i}"))),
            "rm gone; echo >> x",
        );
        let start = Instant::now();
        succeeded(&bench.sandbox.run_in_workspace(job).await.unwrap());
        times.push(start.elapsed());
    }
    times.sort();
    println!(
        "tier {tier}: median {:?}, worst {:?}",
        times[100], times[199]
    );
    let mut running = tokio::task::JoinSet::new();
    for i in 0..40 {
        let mount = bench.mount(&[&base], &format!("many-{i}"));
        let (sandbox, upper) = (bench.sandbox.clone(), mount.upper.clone());
        let job = shell(
            WorkspaceRoot::Overlay(mount),
            &format!("echo {i} > own; sleep 0.05; ls"),
        );
        running.spawn(async move {
            let said = succeeded(&sandbox.run_in_workspace(job).await.unwrap());
            assert_eq!(said, "gone\nown\nx\n");
            assert_eq!(
                std::fs::read_to_string(upper.join("own")).unwrap(),
                format!("{i}\n")
            );
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("/workspace"), "{mounts}");
}

async fn a_dropped_job_ends_and_its_workspace_can_be_used_again(tier: Tier) {
    let bench = bench!(tier);
    let base = bench.layer("base", &[]);
    let root = bench.root(&[&base], "ws").await;
    let job = shell(
        root.clone(),
        "echo > started; (setsid sleep 1000 &); sleep 1000",
    );
    let dropped = tokio::time::timeout(Duration::from_secs(3), bench.sandbox.run_in_workspace(job));
    assert!(dropped.await.is_err());
    assert_eq!(succeeded(&bench.run(root, "ls").await), "started\n");
}

async fn what_can_not_start_says_why(tier: Tier) {
    let bench = bench!(tier);
    let base = bench.layer("base", &[]);
    let root = bench.root(&[&base], "ws").await;
    let missing = WorkspaceJob::new(vec!["no-such-program".into()], root.clone());
    let said = bench
        .sandbox
        .run_in_workspace(missing)
        .await
        .unwrap_err()
        .to_string();
    let want = "no-such-program could not be started in the sandbox: it is not in /usr/local/bin:/usr/bin:/bin";
    assert_eq!(said, want);
    let mut nowhere = shell(root, "true");
    nowhere.cwd = "no/such".into();
    let said = bench
        .sandbox
        .run_in_workspace(nowhere)
        .await
        .unwrap_err()
        .to_string();
    assert!(said.contains("no/such: No such file"), "{said}");
    let base = bench.layer("full", &[]);
    let root = bench.root(&[&base], "full-ws").await;
    let mut full = shell(root, "echo it ran");
    full.stdout_file = Some((PathBuf::from("/dev/full"), 100));
    let said = bench.sandbox.run_in_workspace(full).await;
    let said = said.unwrap_err().to_string();
    let want = "the output of the program cannot be written: No space left on device (os error 28)";
    assert_eq!(said, want);
    let outside = WorkspaceRoot::Folder(bench.at("suite"));
    let refused = bench.sandbox.run_in_workspace(shell(outside, "true")).await;
    assert!(
        matches!(refused, Err(SandboxError::BadRequest(_))),
        "{refused:?}"
    );
}

/// Runs jobs in workspaces until it is killed.
async fn live_for_ever(tier: Tier) {
    let Some(bench) = Bench::open_with(tier, |config| config.workers = 3).await else {
        return;
    };
    let base = bench.layer("base", &[("x", "1")]);
    let script = "(setsid sleep 1000 &); echo > y; rm x; sleep 1000";
    let (one, two) = (
        bench.root(&[&base], "one").await,
        bench.root(&[&base], "two").await,
    );
    let quick = async {
        let root = bench.root(&[&base], "three").await;
        loop {
            let _ = bench.run(root.clone(), "echo > z").await;
            println!("ALIVE");
        }
    };
    let slow = |root| async {
        let mut job = shell(root, script);
        job.limits.wall = Duration::from_secs(600);
        let _ = bench.sandbox.run_in_workspace(job).await;
    };
    tokio::join!(slow(one), slow(two), async { quick.await as () });
}

async fn a_killed_harness_leaves_no_mount_and_no_process(tier: Tier) {
    if std::env::var_os(VICTIM).is_some() {
        return live_for_ever(tier).await;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let name = format!(
        "{}::a_killed_harness_leaves_no_mount_and_no_process",
        tier.name()
    );
    for wait in [300, 900] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                &crate::support::full_name(module_path!(), &name),
                "--exact",
                "--nocapture",
            ])
            .env(VICTIM, "1")
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("ALIVE") {
            if line.contains("SKIPPED") {
                child.wait().unwrap();
                return println!("{line}");
            }
            line.clear();
            let read = std::io::BufRead::read_line(&mut said, &mut line).unwrap();
            assert!(read > 0, "the victim ended");
        }
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let place = folder.path().to_str().unwrap().to_owned();
        eventually("nothing is left", || {
            let used = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
                let link = |name: &str| std::fs::read_link(entry.path().join(name));
                let mountinfo = std::fs::read_to_string(entry.path().join("mountinfo"));
                link("cwd").is_ok_and(|cwd| cwd.to_string_lossy().contains(&place))
                    || mountinfo.is_ok_and(|text| {
                        text.contains("/workspace ") && text.contains(&place[1..])
                    })
            });
            !used && mounts() == before
        });
    }
}

macro_rules! workspaces {
    ($tier:expr => $($name:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            super::$name($tier).await;
        }
    )*};
}

mod userns {
    use eval_sandbox::Tier;
    workspaces!(Tier::Userns => the_network_of_the_host_works_where_it_is_allowed folders_of_layers_can_be_renamed_for_root changes_leave_the_layers_as_they_were the_store_and_the_host_are_out_of_reach
        a_frozen_upper_is_a_layer_of_the_next_job read_only_binds_can_be_read_and_nothing_beside_them
        home_and_tmp_are_fresh_and_results_are_collected each_limit_ends_the_program privileged_files_give_no_privilege
        servers_on_the_loopback_device_work a_port_of_the_cell_is_the_harness many_workspaces_at_once_and_one_after_the_other
        a_dropped_job_ends_and_its_workspace_can_be_used_again what_can_not_start_says_why
        a_killed_harness_leaves_no_mount_and_no_process tools_work);
}

mod rootns {
    use eval_sandbox::Tier;
    workspaces!(Tier::Rootns => the_network_of_the_host_works_where_it_is_allowed folders_of_layers_can_be_renamed_for_root changes_leave_the_layers_as_they_were the_store_and_the_host_are_out_of_reach
        a_frozen_upper_is_a_layer_of_the_next_job read_only_binds_can_be_read_and_nothing_beside_them
        home_and_tmp_are_fresh_and_results_are_collected each_limit_ends_the_program privileged_files_give_no_privilege
        servers_on_the_loopback_device_work a_port_of_the_cell_is_the_harness many_workspaces_at_once_and_one_after_the_other
        a_dropped_job_ends_and_its_workspace_can_be_used_again what_can_not_start_says_why
        a_killed_harness_leaves_no_mount_and_no_process tools_work);
}

/// Without mounts a workspace is a folder, and without a network namespace there are no servers.
mod landlock {
    use eval_sandbox::Tier;
    workspaces!(Tier::Landlock => home_and_tmp_are_fresh_and_results_are_collected each_limit_ends_the_program
        privileged_files_give_no_privilege a_dropped_job_ends_and_its_workspace_can_be_used_again what_can_not_start_says_why
        a_killed_harness_leaves_no_mount_and_no_process);
}

/// The tiers that an ordinary user can have, as `nobody`, from copies that `nobody` can reach.
#[test]
fn an_ordinary_user_gets_the_same() {
    if !is_root() {
        return println!("SKIPPED: the other tests already run as an ordinary user");
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (test, cell) = (folder.path().join("test"), folder.path().join("helper"));
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_eval-harness"), &cell).unwrap();
    for tier in ["userns::", "landlock::"] {
        let output = Command::new(&test)
            .args([
                &crate::support::full_name(module_path!(), tier),
                "--nocapture",
                "--test-threads=2",
            ])
            .env(HELPER, &cell)
            .env("TMPDIR", folder.path())
            .current_dir("/")
            .uid(WORKSPACE_USER)
            .gid(WORKSPACE_USER)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        println!("{said}");
        assert!(output.status.success(), "{said}");
    }
}
