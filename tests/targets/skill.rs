//! The skill for coding agents: it keeps the standard's rules, `init --skill` installs it, and what
//! it tells is played as it stands there: files are written, commands are run, and they end as it
//! says.
//!
//! In SKILL.md a `yaml` or `python` block whose first line is `# PATH` is that file; each line of
//! an `sh` block is a command, which ends with 0 unless it says `# exit N`.

use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::CommandCargoExt as _;

const SKILL: &str = include_str!("../../skill/SKILL.md");

fn harness(dir: &Path, args: &[&str]) -> (i32, String) {
    let output = Command::cargo_bin("eval-harness")
        .unwrap()
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// The kinds and texts of the fenced blocks.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut lines = page.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((kind, text.join("\n") + "\n"));
        }
    }
    found
}

fn shell(dir: &Path, command: &str) -> (i32, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_eval-harness"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(dir)
        .stdin(Stdio::null())
        .env("PATH", path);
    for name in ["CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
        shell.env_remove(name);
    }
    let output = shell.output().expect("bash starts");
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn it_keeps_the_rules_of_the_standard() {
    let head = SKILL
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .expect("front matter")
        .0;
    let field = |name: &str| {
        let prefix = format!("{name}: ");
        head.lines()
            .find_map(|line| line.strip_prefix(&prefix))
            .map(str::to_owned)
    };
    assert_eq!(field("name").as_deref(), Some("eval-harness"));
    let description = field("description").unwrap();
    assert!(
        (100..=1024).contains(&description.chars().count()) && description.contains("Use when")
    );
    assert!(field("compatibility").unwrap().chars().count() <= 500);
    // What an agent loads is to stay small.
    assert!(
        SKILL.lines().count() < 500 && SKILL.len() < 20_000,
        "{}",
        SKILL.len()
    );
}

#[test]
fn what_it_tells_is_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let git = "git init -q . && git -c user.name=Ada -c user.email=ada@example.com commit -q --allow-empty -m start";
    assert_eq!(shell(dir, git).0, 0);
    let (mut commands, mut files) = (0, 0);
    for (kind, text) in blocks(SKILL) {
        if kind == "sh" {
            for command in text.lines() {
                let says = command
                    .split_once("# exit ")
                    .map_or("0", |(_, code)| &code[..1]);
                let (code, said) = shell(dir, command);
                assert_eq!(code.to_string(), says, "{command}\n{said}");
                commands += 1;
            }
        } else {
            let path = text
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("# "))
                .expect("a path");
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            files += 1;
        }
    }
    assert!(
        commands >= 12 && files >= 7,
        "{commands} commands, {files} files"
    );
    let report = std::fs::read_to_string(dir.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    for field in [
        "gate",
        "failures",
        "recommendations",
        "summary",
        "metrics",
        "estimates",
    ] {
        assert!(report["eval_report"].get(field).is_some(), "{field}");
    }
    assert!(
        dir.join("results/phases/phase-slugs.md").is_file()
            && dir.join("results/phases/phase-slugs.json").is_file()
    );
}

#[test]
fn every_cause_that_it_explains_is_one() {
    let (_, help) = harness(Path::new(env!("CARGO_MANIFEST_DIR")), &["--help"]);
    for code in ["0", "1", "2", "3", "4", "130"] {
        assert!(
            help.contains(&format!("  {code} ")) && SKILL.contains(&format!("| {code} |")),
            "{code}"
        );
    }
    let causes = SKILL
        .split("| cause | it means |")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next())
        .unwrap();
    let cells = causes
        .lines()
        .skip(2)
        .map(|row| row.split('|').nth(1).unwrap());
    let words: Vec<&str> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(words.len() > 12, "{words:?}");
    for word in words {
        let cause = serde_json::from_value::<eval_harness::internals::Cause>(word.into());
        assert!(cause.is_ok(), "{word}");
    }
}

#[test]
fn init_installs_it_where_agents_look() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert_eq!(harness(dir, &["init", "--skill"]).0, 0);
    let installed =
        |folder: &str| std::fs::read_to_string(dir.join(folder).join("eval-harness/SKILL.md")).ok();
    assert_eq!(installed(".agents/skills").as_deref(), Some(SKILL));
    assert!(!dir.join("evals").exists());
    std::fs::create_dir(dir.join(".claude")).unwrap();
    assert_eq!(harness(dir, &["init", "--skill"]).0, 0);
    assert_eq!(installed(".claude/skills").as_deref(), Some(SKILL));
    assert_eq!(harness(dir, &["init", "--skill=skills"]).0, 0);
    assert_eq!(installed("skills").as_deref(), Some(SKILL));
    // An identical file does not count as existing; a changed one is kept.
    assert_eq!(harness(dir, &["init", "--skill=skills"]).0, 0);
    std::fs::write(dir.join("skills/eval-harness/SKILL.md"), "mine").unwrap();
    let (code, said) = harness(dir, &["init", "--skill=skills"]);
    assert!(
        code == 2 && said.contains("already exists: ./skills/eval-harness/SKILL.md"),
        "{said}"
    );
    assert_eq!(harness(dir, &["init", "--skill=skills", "--force"]).0, 0);
    assert_eq!(installed("skills").as_deref(), Some(SKILL));
}
