use super::*;

fn shell(script: &str, timeout_ms: u64) -> TreeCommand {
    TreeCommand {
        argv: vec!["sh".into(), "-c".into(), script.into()],
        dir: std::env::temp_dir(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        stdin: Vec::new(),
        timeout: Duration::from_millis(timeout_ms),
        keep_stdout: 1 << 20,
        stdout_file: None,
        keep_stderr: 4096,
    }
}

fn python(program: &str, timeout_ms: u64) -> TreeCommand {
    TreeCommand {
        argv: vec!["python3".into(), "-c".into(), program.into()],
        ..shell("", timeout_ms)
    }
}

/// False when the process does not exist or is only waiting to be reaped.
fn alive(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with('Z'),
        Err(_) => false,
    }
}

/// A process that detached itself as daemons do: double fork, own session, no streams of its
/// parent.
const DAEMON: &str = r#"
import os, sys, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(w, str(os.getpid()).encode())
        for fd in range(16):
            try: os.close(fd)
            except OSError: pass
        os.environ.clear()
        while True: time.sleep(1)
    os._exit(0)
os.wait()
print(os.read(r, 100).decode(), flush=True)
"#;

#[tokio::test]
async fn stdin_reaches_the_program_and_its_ending_is_told() {
    let mut command = shell("cat; echo oops >&2; exit 3", 20_000);
    command.stdin = b"hello".to_vec();
    let out = run(&command).await.unwrap();
    assert_eq!(out.end, TreeEnd::Exited(3));
    assert_eq!(out.stdout, b"hello");
    assert_eq!(out.stderr_tail, b"oops\n");
    assert!(!out.stdout_truncated);
}

#[tokio::test]
async fn a_signal_is_told_from_an_exit_code() {
    let out = run(&shell("kill -SEGV $$", 20_000)).await.unwrap();
    assert_eq!(out.end, TreeEnd::Signaled(libc::SIGSEGV));
    assert_eq!(signal_name(libc::SIGSEGV), "SIGSEGV");
}

#[tokio::test]
async fn a_program_that_ignores_a_large_input_is_no_error() {
    let mut command = shell("exec <&-; echo done", 20_000);
    command.stdin = vec![b'x'; 4 << 20];
    let out = run(&command).await.unwrap();
    assert_eq!(
        (out.end, out.stdout),
        (TreeEnd::Exited(0), b"done\n".to_vec())
    );
}

#[tokio::test]
async fn a_flood_is_drained_and_only_its_head_kept() {
    let mut command = python(
        "import sys; sys.stdout.write('a' * 3000000); sys.stderr.write('b' * 100000 + 'end')",
        20_000,
    );
    command.keep_stdout = 1000;
    command.keep_stderr = 10;
    let out = run(&command).await.unwrap();
    assert_eq!(out.end, TreeEnd::Exited(0));
    assert_eq!(out.stdout, vec![b'a'; 1000]);
    assert!(out.stdout_truncated);
    assert_eq!(out.stderr_tail, b"bbbbbbbend");
}

#[tokio::test]
async fn a_daemon_is_gone_when_the_call_times_out() {
    let out = run(&python(&format!("{DAEMON}\ntime.sleep(600)"), 1500))
        .await
        .unwrap();
    assert_eq!(out.end, TreeEnd::TimedOut);
    let pid = String::from_utf8(out.stdout).unwrap().trim().to_owned();
    assert!(!pid.is_empty(), "the daemon did not start in time");
    assert!(!alive(&pid), "{pid} outlived its call");
}

#[tokio::test]
async fn a_daemon_is_gone_when_the_program_ends_by_itself() {
    let out = run(&python(DAEMON, 20_000)).await.unwrap();
    assert_eq!(out.end, TreeEnd::Exited(0));
    let pid = String::from_utf8(out.stdout).unwrap().trim().to_owned();
    assert!(!pid.is_empty());
    assert!(!alive(&pid), "{pid} outlived its call");
}

#[tokio::test]
async fn a_background_child_that_holds_stdout_does_not_hold_the_call() {
    let out = run(&shell("echo answer; sleep 600 & echo $! >&2", 60_000))
        .await
        .unwrap();
    assert_eq!(
        (out.end, out.stdout),
        (TreeEnd::Exited(0), b"answer\n".to_vec())
    );
    let pid = printable(&out.stderr_tail);
    assert!(!alive(&pid), "{pid} outlived its call");
}

#[tokio::test]
async fn dropping_the_call_ends_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let mut command = shell("echo $$ > pid.part; mv pid.part pid; sleep 600", 60_000);
    command.dir = dir.path().to_owned();
    let call = tokio::spawn(async move { run(&command).await });
    let pid = loop {
        if let Ok(pid) = std::fs::read_to_string(&file) {
            break pid.trim().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    call.abort();
    for _ in 0..2000 {
        if !alive(&pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{pid} outlived its dropped call");
}

#[tokio::test]
async fn many_calls_at_once_each_get_their_own_streams() {
    let calls: Vec<_> = (0..16)
        .map(|n| {
            tokio::spawn(async move {
                let mut command = shell("cat", 30_000);
                command.stdin = format!("{n}").into_bytes();
                run(&command).await.unwrap()
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let out = call.await.unwrap();
        assert_eq!(
            (out.end, out.stdout),
            (TreeEnd::Exited(0), n.to_string().into_bytes())
        );
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    put("plain.sh", "#!/bin/sh\n", 0o644);
    put("bad.sh", "#!/no/such/interpreter -x\n", 0o755);
    put("data", "no program\n", 0o755);
    let mut told = String::new();
    for argv0 in [
        "no-such-program",
        "./missing",
        "./plain.sh",
        "./bad.sh",
        "./data",
    ] {
        let command = TreeCommand {
            argv: vec![argv0.into()],
            dir: dir.path().to_owned(),
            ..shell("", 1000)
        };
        let reason = run(&command).await.unwrap_err().reason;
        told.push_str(&reason.replace(&dir.path().display().to_string(), "DIR"));
        told.push('\n');
    }
    let gone = TreeCommand {
        argv: vec!["sh".into()],
        dir: dir.path().join("gone"),
        ..shell("", 1000)
    };
    told.push_str(
        &run(&gone)
            .await
            .unwrap_err()
            .reason
            .replace(&dir.path().display().to_string(), "DIR"),
    );
    told.push('\n');
    told.push_str(
        &run(&TreeCommand {
            argv: vec![],
            ..shell("", 1000)
        })
        .await
        .unwrap_err()
        .reason,
    );
    insta::assert_snapshot!(told, @r"
    `no-such-program` was not found in PATH; for a file of the suite write `./no-such-program`
    `./missing` does not exist (looked for DIR/./missing)
    cannot run `./plain.sh`: it is not executable (`chmod +x ./plain.sh`)
    cannot run `./bad.sh`: the interpreter in its first line `#!/no/such/interpreter -x` was not found
    cannot run `./data`: it is not a program and has no `#!` line
    cannot run `sh`: its folder DIR/gone does not exist
    the command is empty
    ");
}

#[test]
fn what_is_shown_has_no_control_characters() {
    assert_eq!(
        printable(b"\x1b[31mred\x1b[0m\x07 a\r\n\xff"),
        "red a\n\u{fffd}"
    );
}
