//! The walk-through of docs/regressions.md and the how-to pages, replayed: files are written,
//! commands are typed, and what a page shows of their output is what they print.
//!
//! In the page `<!-- file: PATH -->` before a block names the file that the block is, and
//! `<!-- exit: N -->` the exit code of the block's last command. In a `console` block a line
//! `$ COMMAND` is typed, and the lines below it are its output: `...` alone stands for any lines,
//! `[..]` for any characters of one.

use std::path::Path;
use std::process::{Command, Output, Stdio};

struct Block {
    kind: String,
    file: Option<String>,
    exit: i32,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let (mut file, mut exit) = (None, 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let remark = |name: &str| {
            line.strip_prefix(&format!("<!-- {name}: "))
                .and_then(|rest| rest.strip_suffix(" -->"))
        };
        if let Some(path) = remark("file") {
            file = Some(path.to_owned());
        } else if let Some(code) = remark("exit") {
            exit = code.parse().expect("an exit code");
        } else if let Some(kind) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let text = text.join("\n") + "\n";
            found.push(Block {
                kind: kind.to_owned(),
                file: file.take(),
                exit,
                text,
            });
            exit = 0;
        }
    }
    found
}

/// A command and the lines that the page shows below it.
fn commands(block: &str) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => all.push((command.to_owned(), Vec::new())),
            None => all
                .last_mut()
                .expect("a command comes first")
                .1
                .push(line.trim_end().to_owned()),
        }
    }
    all
}

fn typed(dir: &Path, command: &str) -> Output {
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
    for (name, value) in [
        ("HOME", dir.to_str().unwrap()),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.com"),
        ("GIT_COMMITTER_NAME", "Ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.com"),
        ("GIT_PAGER", "cat"),
        ("NO_COLOR", "1"),
        ("LC_ALL", "C.UTF-8"),
    ] {
        shell.env(name, value);
    }
    shell
        .env_remove("CI")
        .env_remove("GITHUB_ACTIONS")
        .output()
        .expect("bash starts")
}

fn line_fits(shown: &str, printed: &str) -> bool {
    let mut rest = printed;
    let parts: Vec<&str> = shown.split("[..]").collect();
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        match () {
            () if at == 0 && last => return rest == *part,
            () if at == 0 => match rest.strip_prefix(part) {
                Some(after) => rest = after,
                None => return false,
            },
            () if last => return rest.ends_with(part),
            () => match rest.find(part) {
                Some(found) => rest = &rest[found + part.len()..],
                None => return false,
            },
        }
    }
    true
}

/// Whether the shown lines are the printed ones, with `...` for any number of them.
fn lines_fit(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((dots, rest)) if dots.trim() == "..." => {
            (0..=printed.len()).any(|skipped| lines_fit(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, after)| line_fits(line, first) && lines_fit(rest, after)),
    }
}

/// Types the commands of a page in a folder of its own, and returns how many there were.
fn replay(page: &str) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(page);
    let page = std::fs::read_to_string(page).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut played = 0;
    for block in blocks(&page) {
        if let Some(file) = &block.file {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &block.text).unwrap();
        }
        if block.kind != "console" {
            continue;
        }
        let all = commands(&block.text);
        let last = all.len() - 1;
        for (at, (command, shown)) in all.into_iter().enumerate() {
            let output = typed(dir.path(), &command);
            let printed = String::from_utf8(output.stdout).unwrap();
            let exit = if at == last { block.exit } else { 0 };
            assert_eq!(output.status.code(), Some(exit), "$ {command}\n{printed}");
            let lines: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
            assert!(
                lines_fit(&shown, &lines),
                "$ {command}\nprinted:\n{printed}\nshown:\n{}",
                shown.join("\n")
            );
            played += 1;
        }
    }
    played
}

#[test]
fn regressions_page_replayed_prints_what_it_shows() {
    assert!(replay("regressions.md") > 15);
}

#[test]
fn howto_pages_replayed_print_what_they_show() {
    let pages = [
        ("howto-test-code.md", 4),
        ("howto-gate-an-agent.md", 3),
        ("howto-add-a-judge.md", 3),
        ("howto-change-a-prompt.md", 7),
        ("howto-gate-a-phase.md", 4),
        ("howto-keep-a-baseline.md", 13),
    ];
    for (page, commands) in pages {
        assert_eq!(replay(page), commands, "{page}");
    }
}

#[test]
fn what_is_shown_is_held_against_what_is_printed() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let printed = ["a 12 b", "x", "y", "end"];
    assert!(lines_fit(&lines("a [..] b\n...\nend"), &printed));
    assert!(lines_fit(&lines("...\nx\ny\n..."), &printed));
    assert!(!lines_fit(&lines("...\ny\nx\n..."), &printed));
    assert!(!lines_fit(&lines("a [..] c\n..."), &printed));
    assert!(!lines_fit(&lines("a 12 b"), &printed));
    assert!(!lines_fit(&[], &printed));
}
