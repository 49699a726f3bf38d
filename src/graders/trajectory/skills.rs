//! Which skills an agent used: by a tool for skills, or by reading the skill's `SKILL.md`.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::calls::{CallCount, NameMatcher};
use super::commands::RunCommands;
use super::rules::{RuleFinding, SeenTrajectory, listed};
use eval_agents::trajectory::{PerformedCall, ToolCall};
use eval_base::text::plural;

/// Arguments of the tool `Skill` that name the skill.
const NAME_KEYS: &[&str] = &["skill", "command", "name", "skill_name"];

/// Parts of names of tools that change files: who writes a skill does not use it.
const WRITING_TOOLS: &[&str] = &[
    "write",
    "edit",
    "create",
    "replace",
    "patch",
    "delete",
    "file_change",
];

/// Arguments that hold the folder in which a command runs.
const FOLDER_KEYS: &[&str] = &[
    "cwd",
    "workdir",
    "working_directory",
    "directory",
    "dir_path",
];

/// Programs that show what is in a file.
const READERS: &[&str] = &[
    "Get-Content",
    "awk",
    "bat",
    "batcat",
    "cat",
    "egrep",
    "grep",
    "head",
    "less",
    "more",
    "nl",
    "node",
    "perl",
    "python",
    "python3",
    "rg",
    "sed",
    "tac",
    "tail",
    "type",
    "vim",
];

/// Programs that name a file without showing what is in it, and those whose inner command is read by
/// itself. `SKILL.md` is the last part of a text that a shell gets as one word.
const NO_READERS: &[&str] = &[
    "SKILL.md",
    "bash",
    "dash",
    "env",
    "sh",
    "sudo",
    "timeout",
    "xargs",
    "zsh",
    "[",
    "chmod",
    "chown",
    "cp",
    "du",
    "echo",
    "file",
    "find",
    "git",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mv",
    "printf",
    "realpath",
    "rm",
    "rmdir",
    "sha256sum",
    "stat",
    "tee",
    "test",
    "touch",
    "tree",
    "wc",
];

static INPUT_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"<[ \t]*["']?([^<>|&;\s"']*SKILL\.md)"#).ok());

static SKILL_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"skills?[/\\]+([^/\\\s'"]+)[/\\]+SKILL\.md"#).ok());

/// A use of a skill, also one that failed.
struct SkillUse {
    name: String,
    step: String,
    failed: bool,
    /// The agent alone reports it.
    unsupported: bool,
}

fn skill_uses(seen: &SeenTrajectory<'_>) -> Vec<SkillUse> {
    let uses = seen.calls.iter().flat_map(|made: &PerformedCall<'_>| {
        let mut names = skills_of(made.call);
        // What only one record has is no use, but an attempt.
        let other = made.call.other_record().map(|other| skills_of(&other));
        names.unclear.extend(
            other
                .into_iter()
                .flat_map(|other| other.clear)
                .filter(|name| !names.clear.contains(name)),
        );
        let failed = made.is_error() == Some(true);
        let used = |name: String, unclear: bool| SkillUse {
            name,
            step: seen.step_of(made),
            failed: failed || unclear,
            unsupported: made.call.is_unsupported(),
        };
        let unclear = names.unclear.into_iter().map(move |name| (name, true));
        let clear = names.clear.into_iter().map(|name| (name, false));
        let all: Vec<SkillUse> = clear
            .chain(unclear)
            .map(|(name, unclear)| used(name, unclear))
            .collect();
        all
    });
    uses.collect()
}

/// Skills whose files a call reads.
#[derive(Default)]
struct ReadSkills {
    clear: Vec<String>,
    /// By a program that may not read them: no use, but an attempt.
    unclear: Vec<String>,
}

fn skills_of(call: &ToolCall) -> ReadSkills {
    let tool = call.function_name.to_lowercase();
    let given = |key: &&str| call.arguments.get(*key).and_then(Value::as_str);
    if ["skill", "activate_skill", "use_skill", "load_skill"].contains(&tool.as_str())
        && let Some(name) = NAME_KEYS.iter().find_map(given)
    {
        // Arguments may follow the name, as in `/name argument`.
        let name = name.trim().trim_start_matches('/');
        let name = name.split_whitespace().next().unwrap_or_default();
        return ReadSkills {
            clear: vec![name.to_owned()],
            unclear: Vec::new(),
        };
    }
    let mut names = ReadSkills::default();
    // Some tools that edit files show them, too.
    let views = call.arguments.get("command").and_then(Value::as_str) == Some("view");
    if views || !WRITING_TOOLS.iter().any(|part| tool.contains(part)) {
        let run = RunCommands::of(call);
        if views || run.texts.iter().all(|text| !text.contains(' ')) {
            find_in_object(&call.arguments, &mut names.clear);
            if let Some(raw) = call.raw_arguments() {
                find_in(raw, &mut names.clear);
            }
        } else {
            find_in_commands(call, &run, &mut names);
        }
    }
    names
}

/// Commands that read a `SKILL.md`, from wherever they run.
fn find_in_commands(call: &ToolCall, run: &RunCommands, names: &mut ReadSkills) {
    let given = |key: &&str| call.arguments.get(*key).and_then(Value::as_str);
    let mut dir = FOLDER_KEYS
        .iter()
        .find_map(given)
        .unwrap_or_default()
        .to_owned();
    for command in &run.commands {
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        if matches!(program, "cd" | "pushd") {
            if let Some(into) = words.find(|word| !word.starts_with('-')) {
                dir = joined(&dir, into);
            }
        } else if !NO_READERS.contains(&program) && !program.starts_with('-') {
            let into = match READERS.contains(&program) {
                true => &mut names.clear,
                false => &mut names.unclear,
            };
            for word in words.filter(|word| word.ends_with("SKILL.md")) {
                find_in(&Value::from(joined(&dir, word)), into);
            }
            find_in(&Value::from(command.as_str()), into);
        }
    }
    // `cat <FILE`: redirections are not among the words.
    for text in &run.texts {
        for read in INPUT_FILE
            .iter()
            .flat_map(|pattern| pattern.captures_iter(text))
        {
            let file = read.get(1).map_or("", |file| file.as_str());
            find_in(&Value::from(joined(&dir, file)), &mut names.clear);
        }
    }
    let ReadSkills { clear, unclear } = names;
    unclear.retain(|name| !clear.contains(name));
}

fn joined(dir: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match dir.is_empty() || path.starts_with(['/', '~']) {
        true => path.to_owned(),
        false => format!("{}/{path}", dir.trim_end_matches('/')),
    }
}

fn find_in_object(object: &Map<String, Value>, names: &mut Vec<String>) {
    object.values().for_each(|value| find_in(value, names));
}

fn find_in(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for found in SKILL_FILE
                .iter()
                .flat_map(|pattern| pattern.captures_iter(text))
            {
                let name = found.get(1).map_or("", |name| name.as_str());
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find_in(item, names)),
        Value::Object(object) => find_in_object(object, names),
        _ => {}
    }
}

pub(super) fn findings(
    used: &[CallCount],
    not_used: &[String],
    seen: &SeenTrajectory<'_>,
) -> Vec<RuleFinding> {
    if used.is_empty() && not_used.is_empty() {
        return Vec::new();
    }
    let uses = skill_uses(seen);
    let of = |name: &str| {
        let matcher = NameMatcher::new(name);
        uses.iter().filter(move |one| matcher.fits(&one.name))
    };
    let mut findings = Vec::new();
    for count in used {
        let successful: Vec<&SkillUse> = of(&count.name).filter(|one| !one.failed).collect();
        let most = successful.len();
        let supported = successful.iter().filter(|one| !one.unsupported);
        let steps = supported.map(|one| one.step.clone()).collect::<Vec<_>>();
        let failed = of(&count.name).filter(|one| one.failed).count();
        let mut finding = count.finding("skill_used", "used", (steps, most), seen);
        if failed > 0 {
            finding.actual = format!(
                "{}, and {} failed",
                finding.actual,
                plural(failed, "attempt")
            );
        } else if finding.steps.is_empty() {
            let names = uses.iter().map(|one| one.name.clone()).collect();
            finding.actual = format!("{}; skills: {}", finding.actual, listed(names));
        }
        findings.push(finding);
    }
    for name in not_used {
        let found: Vec<&SkillUse> = of(name).collect();
        let names = found.iter().map(|one| one.name.clone()).collect();
        findings.push(RuleFinding {
            rule: "skill_not_used",
            expected: format!("`{name}` not used"),
            actual: match found.len() {
                0 => "no use".to_owned(),
                n => format!("{}: {}", plural(n, "attempt"), listed(names)),
            },
            state: seen.at_most(found.is_empty()),
            steps: found.iter().map(|one| one.step.clone()).collect(),
        });
    }
    findings
}
