//! Hostile and honest programs against every tier that works here. The programs are the files of
//! `tests/sandbox/attacks`; the head of each says how it is run and which labels are right. After
//! each, an honest program must find an empty folder and nothing outside may have changed
//! (`after.rs`).
//!
//! Each tier is tried in processes of their own (this very test started again), so that what is
//! found below such a process is the sandbox's and nobody else's.

mod after;
mod labels;
mod processes;
mod programs;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use eval_sandbox::{ProgramLimits, Sandbox, SandboxConfig, ScriptJob, Tier};

use after::Outside;
use programs::{Attack, FOLDER, Language, attacks};

/// Set for a run of a part of the programs: its number.
const PART: &str = "SANDBOX_TEST_PART";
/// The program that becomes a cell, where it is not the built one.
const HELPER: &str = "SANDBOX_TEST_HELPER";
const PYTHON: &str = "SANDBOX_TEST_PYTHON";
/// The folder that holds the bait.
const SCRATCH: &str = "SANDBOX_TEST_SCRATCH";
/// Programs that never end wait for their time; so several sandboxes take turns on the list.
const PARTS: usize = 4;
const NOBODY: u32 = 65534;

/// A user without rights for a part of the programs. Landlock counts processes by user, so that
/// another part's fork bomb would make an honest `fork` fail (docs/sandbox.md).
fn ordinary_user(tier: Tier, part: usize) -> u32 {
    NOBODY - (tier as usize * PARTS + part) as u32
}

#[test]
fn userns_holds() {
    hold("userns_holds", Tier::Userns, false);
}

#[test]
fn rootns_holds() {
    hold("rootns_holds", Tier::Rootns, false);
}

#[test]
fn landlock_holds() {
    hold("landlock_holds", Tier::Landlock, false);
}

#[test]
fn userns_holds_for_an_ordinary_user() {
    hold("userns_holds_for_an_ordinary_user", Tier::Userns, true);
}

#[test]
fn landlock_holds_for_an_ordinary_user() {
    hold("landlock_holds_for_an_ordinary_user", Tier::Landlock, true);
}

/// Runs every program in a tier. `test`: the name of the calling test, which is what the parts are
/// started as.
fn hold(test: &str, tier: Tier, as_nobody: bool) {
    if let Some(part) = std::env::var_os(PART) {
        let part = part
            .to_str()
            .and_then(|p| p.parse().ok())
            .expect("a number");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(attack_part(tier, part));
    }
    if as_nobody && !is_root() {
        return println!(
            "SKIPPED: tier {tier} as an ordinary user: the other tests already run as one"
        );
    }
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|p| Path::new(p).exists());
    if as_nobody && python.is_none() {
        return println!("SKIPPED: tier {tier} as an ordinary user: no Python that one can reach");
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copies = as_nobody.then(|| copies(folder.path()));
    let parts: Vec<_> = (0..PARTS)
        .map(|part| {
            let scratch = folder.path().join(part.to_string());
            let user = if as_nobody {
                ordinary_user(tier, part)
            } else {
                NOBODY
            };
            after::lay_bait(&scratch, is_root().then_some(user));
            let temporary = folder.path().join(format!("{part}.tmp"));
            std::fs::create_dir(&temporary).unwrap();
            std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o777)).unwrap();
            let own = std::env::current_exe().unwrap();
            let mut command = Command::new(copies.as_ref().map_or(own, |c| c.join("test")));
            command
                .args([test, "--exact", "--nocapture"])
                .env(PART, part.to_string())
                .env(SCRATCH, &scratch)
                .env("TMPDIR", &temporary)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            if let (Some(copies), Some(python)) = (&copies, python) {
                command
                    .env(HELPER, copies.join("helper"))
                    .env(FOLDER, copies.join("attacks"))
                    .env(PYTHON, python)
                    .current_dir("/")
                    .uid(user)
                    .gid(user);
            }
            command.spawn().unwrap()
        })
        .collect();
    let mut said = String::new();
    let mut whole = true;
    for part in parts {
        let output = part.wait_with_output().unwrap();
        whole &= output.status.success();
        said += &String::from_utf8_lossy(&output.stdout);
        said += &String::from_utf8_lossy(&output.stderr);
    }
    let wrong: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("WRONG "))
        .collect();
    assert!(
        whole && wrong.is_empty(),
        "tier {tier}:\n{}\n{}",
        wrong.join("\n"),
        if whole { "" } else { &said }
    );
    // A tier that can't start is skipped by its name, in every part alike; else every program has
    // had its turn.
    let count = |what: &str| said.lines().filter(|line| line.starts_with(what)).count();
    let skipped = said.matches("SKIPPED: tier").count();
    assert!(
        skipped == PARTS || skipped == 0 && count("TRIED ") == attacks().len(),
        "{said}"
    );
    let reason = said.lines().find(|line| line.starts_with("SKIPPED: tier"));
    println!(
        "{}",
        reason.map_or_else(
            || format!("tier {tier}: {} attacks held off", count("TRIED ")),
            str::to_owned
        )
    );
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// Copies of the test, the program and the attacks that any user can reach.
fn copies(folder: &Path) -> PathBuf {
    std::fs::copy(std::env::current_exe().unwrap(), folder.join("test")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_eval-harness"), folder.join("helper")).unwrap();
    let attacks = folder.join("attacks");
    std::fs::create_dir(&attacks).unwrap();
    for entry in std::fs::read_dir(programs::folder()).unwrap() {
        let entry = entry.unwrap();
        let copy = attacks.join(entry.file_name());
        std::fs::copy(entry.path(), &copy).unwrap();
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    folder.to_owned()
}

fn helper() -> PathBuf {
    std::env::var_os(HELPER)
        .map_or_else(|| env!("CARGO_BIN_EXE_eval-harness").into(), PathBuf::from)
}

/// Every `PARTS`-th attack from `part` on. Prints a line for each, and one that starts with `WRONG`
/// for what must not be.
async fn attack_part(tier: Tier, part: usize) {
    processes::adopt_orphans();
    let config = SandboxConfig {
        tiers: vec![tier],
        python: std::env::var_os(PYTHON).map(PathBuf::from),
        ..SandboxConfig::new(helper())
    };
    let sandbox = match Sandbox::open(config).await {
        Ok(sandbox) => sandbox,
        Err(reason) => return println!("SKIPPED: tier {tier}: {reason}"),
    };
    for mode in ["script", "fn", "split", "compared", "check"] {
        honest(&sandbox, mode)
            .await
            .unwrap_or_else(|why| println!("WRONG before any attack: {why}"));
    }
    let outside = Outside::look(Path::new(&std::env::var_os(SCRATCH).expect("a folder")));
    for attack in attacks().into_iter().skip(part).step_by(PARTS) {
        if attack.language == Language::JavaScript && !Path::new("/usr/bin/node").exists() {
            println!("TRIED {}: SKIPPED, there is no node", attack.name);
            continue;
        }
        for wrong in attack_once(&sandbox, tier, &outside, &attack).await {
            println!("WRONG {}: {wrong} ({})", attack.name, attack.about);
        }
    }
}

async fn attack_once(
    sandbox: &Sandbox,
    tier: Tier,
    outside: &Outside,
    attack: &Attack,
) -> Vec<String> {
    let (before, start) = (outside.begin(), std::time::Instant::now());
    let mut wrong = Vec::new();
    let source = attack.with_bait(&outside.bait);
    let label = labels::label(
        sandbox,
        attack.language,
        &attack.mode,
        source,
        &attack.limits,
    )
    .await;
    let label = label.unwrap_or_else(|e| format!("harness: {e}"));
    let expected = attack.expected(tier);
    if !expected.contains(&label.as_str()) {
        wrong.push(format!("{label}, expected {}", expected.join(" or ")));
    }
    wrong.extend(honest(sandbox, "script").await.err());
    // Whatever serves more than one program of a mode must still tell right from wrong.
    if attack.mode != "script" {
        wrong.extend(honest(sandbox, &attack.mode).await.err());
    }
    wrong.extend(outside.changes(before, attack.growth));
    println!(
        "TRIED {}: {label} ({} ms)",
        attack.name,
        start.elapsed().as_millis()
    );
    wrong
}

/// An honest program passes, finds an empty folder, and where there are tests a wrong one fails.
/// `Err` says what was otherwise.
async fn honest(sandbox: &Sandbox, mode: &str) -> Result<(), String> {
    let limits = ProgramLimits {
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    };
    if mode == "script" {
        let said = canary(sandbox, limits).await;
        return if said == "Exited(0) well\n" {
            Ok(())
        } else {
            Err(format!("an honest program got {said}"))
        };
    }
    let programs = [
        (
            "import os\nassert not os.listdir('.'), os.listdir('.')\ndef solve(a, b): return a + b",
            "passed",
        ),
        ("def solve(a, b): return a - b", "wrong_answer"),
    ];
    for (source, expected) in programs {
        let label = labels::label(sandbox, Language::Python, mode, source.into(), &limits).await;
        let label = label.unwrap_or_else(|e| e.to_string());
        if label != expected && !(mode == "inproc" && label == "passed") {
            return Err(format!(
                "mode {mode}: {source:?} got {label}, expected {expected}"
            ));
        }
    }
    Ok(())
}

async fn canary(sandbox: &Sandbox, limits: ProgramLimits) -> String {
    let code = "import os\nassert os.listdir('.') == [\"main.py\"], os.listdir('.')\nassert sum(range(10)) == 45\nprint('well')";
    match sandbox
        .run_script(ScriptJob {
            code: code.into(),
            limits,
            ..ScriptJob::default()
        })
        .await
    {
        Ok(result) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!(
                "{:?} {}{}",
                result.ending,
                text(&result.streams.stdout),
                text(&result.streams.stderr)
            )
        }
        Err(e) => e.to_string(),
    }
}

/// A machine where no tier works at all would make every other test here pass without testing
/// anything.
#[tokio::test]
async fn root_always_has_a_tier() {
    if is_root() {
        let sandbox = Sandbox::open(SandboxConfig::new(helper())).await.unwrap();
        assert!(sandbox.state().enforced);
        honest(&sandbox, "script").await.unwrap();
    } else {
        println!("SKIPPED: not root");
    }
}

/// Labels in the table are compared as text; this keeps them the product's.
#[test]
fn every_attack_expects_labels_that_exist() {
    use eval_harness::internals::Cause;
    let attacks = attacks();
    assert!(attacks.len() > 176, "{} attacks", attacks.len());
    for attack in attacks {
        for tier in [Tier::Userns, Tier::Rootns, Tier::Landlock] {
            for label in attack.expected(tier) {
                let name = label.split('(').next().unwrap_or_default();
                let known = name == "passed" || Cause::ALL.iter().any(|c| c.name() == name);
                assert!(known, "{}: {label}", attack.name);
            }
        }
    }
}
