//! The files that are written, in folders that only look like groups, and real groups where this
//! machine has them.

use std::process::{Command, Stdio};

use super::*;

/// A folder with the files of a group; the kernel would make them itself.
fn group_folder(version: CgroupVersion) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let files: &[(&str, &str)] = match version {
        CgroupVersion::V1 => &[
            ("memory.usage_in_bytes", "4096\n"),
            ("memory.failcnt", "3\n"),
            (
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            ),
            ("memory.memsw.limit_in_bytes", ""),
        ],
        CgroupVersion::V2 => &[
            ("memory.current", "8192\n"),
            (
                "memory.events",
                "low 0\nhigh 0\nmax 9\noom 4\noom_kill 1\noom_group_kill 0\n",
            ),
        ],
    };
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn group(version: CgroupVersion, dir: &Path) -> CellGroup {
    let place = CgroupPlace {
        version,
        folder: dir.into(),
        controllers: CgroupController::ALL.to_vec(),
    };
    CellGroup {
        parts: vec![CellGroupPart {
            place,
            folder: dir.into(),
        }],
        memory: Some(MemoryMeter::open(version, dir).unwrap()),
        held: None,
    }
}

fn file(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|e| e.kind().to_string())
}

#[test]
fn the_bounds_of_version_2() {
    let dir = group_folder(CgroupVersion::V2);
    let mut group = group(CgroupVersion::V2, dir.path());
    fs::write(dir.path().join("memory.swap.max"), "max").unwrap();
    group
        .hold(&ProgramLimits {
            memory_mb: 100,
            processes: 5,
            ..ProgramLimits::default()
        })
        .unwrap();
    assert_eq!(
        file(dir.path(), "memory.max"),
        ((100 + HEADROOM_MB) << 20).to_string()
    );
    assert_eq!(file(dir.path(), "memory.swap.max"), "0");
    assert_eq!(
        file(dir.path(), "pids.max"),
        (5 + HEADROOM_PROCESSES).to_string()
    );
    assert_eq!(group.kills(), MemoryKills { limit: 4, kills: 1 });
    assert_eq!(group.held_kib(), Some(8));
    group.add(77).unwrap();
    assert_eq!(file(dir.path(), "cgroup.procs"), "77");
}

#[test]
fn the_bounds_of_version_1() {
    let dir = group_folder(CgroupVersion::V1);
    let mut group = group(CgroupVersion::V1, dir.path());
    group
        .hold(&ProgramLimits {
            memory_mb: u64::MAX,
            processes: u64::MAX,
            ..ProgramLimits::default()
        })
        .unwrap();
    assert_eq!(
        file(dir.path(), "memory.limit_in_bytes"),
        i64::MAX.to_string()
    );
    group
        .hold(&ProgramLimits {
            memory_mb: 1,
            ..ProgramLimits::default()
        })
        .unwrap();
    assert_eq!(
        file(dir.path(), "memory.limit_in_bytes"),
        ((1 + HEADROOM_MB) << 20).to_string()
    );
    assert_eq!(
        file(dir.path(), "memory.memsw.limit_in_bytes"),
        (((1 + HEADROOM_MB) << 20) + SWAP_MARGIN).to_string()
    );
    assert_eq!(group.kills(), MemoryKills { limit: 3, kills: 2 });
    assert_eq!(group.held_kib(), Some(4));
}

#[test]
fn bounds_are_written_only_when_they_change() {
    let dir = group_folder(CgroupVersion::V2);
    let mut group = group(CgroupVersion::V2, dir.path());
    group.hold(&ProgramLimits::default()).unwrap();
    fs::write(dir.path().join("memory.max"), "untouched").unwrap();
    group.hold(&ProgramLimits::default()).unwrap();
    assert_eq!(file(dir.path(), "memory.max"), "untouched");
    group
        .hold(&ProgramLimits {
            memory_mb: 300,
            ..ProgramLimits::default()
        })
        .unwrap();
    assert_ne!(file(dir.path(), "memory.max"), "untouched");
}

#[test]
fn a_kill_proves_the_limit_only_when_the_limit_was_met() {
    let before = MemoryKills { limit: 3, kills: 2 };
    assert!(MemoryKills { limit: 4, kills: 3 }.of_limit_since(before));
    assert!(
        !MemoryKills { limit: 9, kills: 2 }.of_limit_since(before),
        "met, but made room"
    );
    let machine = MemoryKills { limit: 3, kills: 3 };
    assert!(!machine.of_limit_since(before) && machine.of_machine_since(before));
    assert!(!before.of_limit_since(before) && !before.of_machine_since(before));
}

#[test]
fn a_folder_is_ours_as_long_as_it_is_locked() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("another")).unwrap();
    fs::create_dir_all(dir.path().join(format!("{PREFIX}1-0/cell-0"))).unwrap();
    let ours = new_folder(dir.path()).unwrap();
    sweep(dir.path());
    assert!(ours.path.is_dir(), "a living harness keeps its folder");
    assert!(
        !dir.path().join(format!("{PREFIX}1-0")).exists(),
        "a dead one's is swept"
    );
    assert!(dir.path().join("another").is_dir());
    let path = ours.path.clone();
    drop(ours);
    sweep(dir.path());
    assert!(!path.exists());
}

#[test]
fn each_reason_has_its_remedy() {
    let shown = |layout: &CgroupLayout| {
        let NoCgroup { reason, remedy } = CellGroups::below(layout, None).unwrap_err();
        format!("{reason}\n-> {remedy}")
    };
    let missing = |why: fn() -> layout::MissingController| CgroupLayout {
        places: Vec::new(),
        missing: CgroupController::ALL.map(|c| (c, why())).to_vec(),
    };
    insta::assert_snapshot!(shown(&missing(|| layout::MissingController::NotMounted)), @r"
    memory: no control group with it is mounted; pids: no control group with it is mounted
    -> mount a control group file system with the memory controller
    ");
    insta::assert_snapshot!(shown(&missing(|| layout::MissingController::ReadOnly("/sys/fs/cgroup".into()))), @r"
    memory: /sys/fs/cgroup is mounted read-only; pids: /sys/fs/cgroup is mounted read-only
    -> in a container, mount /sys/fs/cgroup writable (for Docker: `--privileged`; for Podman: `--cgroupns=private --security-opt unmask=/sys/fs/cgroup`)
    ");
    insta::assert_snapshot!(no_cgroup("/sys/fs/cgroup/user.slice is not ours to write".into()).remedy, @"`systemd-run --user --scope -p Delegate=yes eval-harness ...` gives the harness a group of its own");
}

#[test]
fn version_2_is_asked_for_its_controllers_and_a_shared_group_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let place = CgroupPlace {
        version: CgroupVersion::V2,
        folder: dir.path().into(),
        controllers: CgroupController::ALL.to_vec(),
    };
    // No process stands in the way.
    assert!(delegate(&place).unwrap().is_none());
    assert_eq!(file(dir.path(), "cgroup.subtree_control"), "+memory +pids");
    fs::write(
        dir.path().join("cgroup.subtree_control"),
        "cpu memory pids\n",
    )
    .unwrap();
    assert!(delegate(&place).unwrap().is_none());
    assert_eq!(
        file(dir.path(), "cgroup.subtree_control"),
        "cpu memory pids\n",
        "nothing to do"
    );
    assert!(removal::descends(std::process::id(), std::process::id()));
    assert!(!removal::descends(1, std::process::id()));
}

/// Real groups, or the reason why this machine has none for us.
fn real() -> Option<Arc<CellGroups>> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let offered =
        |folder: &Path| fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
    CellGroups::below(&layout::find(&own, &mountinfo, &offered), None)
        .inspect_err(|why| println!("SKIPPED: {}", why.reason))
        .ok()
}

#[test]
fn a_process_that_outgrows_its_group_is_killed_and_it_is_proved() {
    let Some(groups) = real() else { return };
    let mut group = groups.group().unwrap();
    group
        .hold(&ProgramLimits {
            memory_mb: 1,
            ..ProgramLimits::default()
        })
        .unwrap();
    let before = group.kills();
    let eat = "import sys; sys.stdin.read(1); d=[bytearray(1<<20) for _ in range(2000)]; [x.__setitem__(slice(None), b'x'*(1<<20)) for x in d]";
    let Ok(mut child) = Command::new("python3")
        .args(["-c", eat])
        .stdin(Stdio::piped())
        .spawn()
    else {
        println!("SKIPPED: python3");
        return;
    };
    group.add(child.id()).unwrap();
    drop(child.stdin.take());
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(libc::SIGKILL)
    );
    assert!(
        group.kills().of_limit_since(before),
        "{before:?} {:?}",
        group.kills()
    );
}

#[test]
fn a_dropped_group_ends_what_is_in_it_and_leaves_no_folder() {
    let Some(groups) = real() else { return };
    let group = groups.group().unwrap();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    group.add(child.id()).unwrap();
    let folders: Vec<PathBuf> = group.parts.iter().map(|p| p.folder.clone()).collect();
    // A killed child stays in its group until it is waited for.
    let waiting = std::thread::spawn(move || child.wait());
    drop(group);
    assert!(waiting.join().unwrap().is_ok());
    assert!(folders.iter().all(|f| !f.exists()));
    let bases: Vec<PathBuf> = groups.bases.iter().map(|b| b.folder.path.clone()).collect();
    drop(groups);
    assert!(!bases.is_empty() && bases.iter().all(|f| !f.exists()));
}
