//! Completion scripts in the shells that they are for.
//!
//! Where a shell is missing a test says so by name; where `CI` or `EVAL_HARNESS_DEMAND_SHELLS` is
//! set it fails instead.

use std::path::Path;
use std::process::Command;

use crate::support::{PROGRAM, Project};

/// A project with a suite, two runs, and the program under its own name in `bin/`.
fn project() -> Project {
    let project = Project::with(&[
        (
            "eval-suite.yaml",
            "eval_suite:\n  name: Words\n  vars: {greeting: hi}\n  targets: {default: {type: echo}, other: {type: echo}}\n  \
             presets: {nightly: {pass_at_1: 0.5}}\n  evals: [{$ref: a.yaml}, {id: inline-one, input: x, expected: x}]\n",
        ),
        (
            "a.yaml",
            "metadata: {id: filed, name: F, category: parsing, tags: [quick]}\ntest_cases:\n  - {id: case-a, input: x, expected: x}\n  \
             - {id: case-b, tags: [slow], input: x, expected: x}\n  - {id: \"space:deep-one\", input: x, expected: x}\n",
        ),
        (
            "other.yaml",
            "eval_suite:\n  name: Other\n  target: {type: echo}\n  evals: [{id: elsewhere, input: x, expected: x}]\n",
        ),
        ("broken.yaml", "eval_suite: [\n"),
    ]);
    std::fs::create_dir(project.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(PROGRAM, project.path().join("bin/eval-harness")).unwrap();
    project.call(&["run", "-q"]).expect(0);
    for shell in ["bash", "zsh", "fish"] {
        let script = project.call(&["completions", shell]).expect(0).stdout;
        project.write(&format!("complete.{shell}"), &script);
    }
    project
}

/// The shell's standard output; `None` where there is no such shell.
fn shell(project: &Project, shell: &str, script: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("timeout");
    command.args([
        "120",
        shell,
        if shell == "fish" { "--no-config" } else { "-f" },
    ]);
    if shell == "bash" {
        command = Command::new("timeout");
        command.args(["120", shell, "--norc", "--noprofile"]);
    }
    let output = command
        .args(["-c", script])
        .current_dir(project.path())
        .env(
            "PATH",
            format!("{}:{path}", project.path().join("bin").display()),
        )
        .env("HOME", project.path())
        .output()
        .expect("timeout of coreutils");
    let found = path
        .split(':')
        .any(|folder| Path::new(folder).join(shell).is_file());
    if !found {
        let demanded = ["CI", "EVAL_HARNESS_DEMAND_SHELLS"]
            .iter()
            .any(|name| std::env::var_os(name).is_some());
        assert!(!demanded, "{shell} is missing: `scripts/test` installs it");
        eprintln!("passed over: {shell} is missing");
        return None;
    }
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// What bash offers for a line, by its own programmable completion.
fn in_bash(project: &Project, line: &str) -> Option<Vec<String>> {
    let script = format!(
        "source complete.bash; line='{line}'; read -ra COMP_WORDS <<< \"$line\"; [[ $line == *' ' ]] && COMP_WORDS+=(''); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE=$line; COMP_POINT=${{#line}}; COMP_TYPE=9; \
         spec=$(complete -p eval-harness); function=${{spec#*-F }}; ${{function%% *}} eval-harness \"${{COMP_WORDS[COMP_CWORD]}}\" ''; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    // Outside of a line editor there is nothing to set options of.
    let script = format!("compopt() {{ return 0; }}; {script}");
    Some(
        shell(project, "bash", &script)?
            .lines()
            .map(|word| word.trim_end().to_owned())
            .collect(),
    )
}

fn in_fish(project: &Project, line: &str) -> Option<Vec<String>> {
    let script = format!("source complete.fish; complete -C '{line}'");
    let said = shell(project, "fish", &script)?;
    Some(
        said.lines()
            .map(|word| word.split('\t').next().unwrap_or_default().to_owned())
            .collect(),
    )
}

/// Lines, and what must be offered for them and nothing beside it.
fn table(run: &str) -> Vec<(&'static str, Vec<String>)> {
    let all = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    vec![
        ("eval-harness run --failed-i", all(&["--failed-in"])),
        ("eval-harness run --failed-in ", all(&["latest", run])),
        ("eval-harness run --resume l", all(&["latest"])),
        ("eval-harness regrade --run ev", all(&[run])),
        ("eval-harness run --eval ", all(&["filed", "inline-one"])),
        (
            "eval-harness run --suite other.yaml --eval ",
            all(&["elsewhere"]),
        ),
        ("eval-harness run --case case", all(&["case-a", "case-b"])),
        ("eval-harness run --tag ", all(&["quick", "slow"])),
        ("eval-harness run --category par", all(&["parsing"])),
        ("eval-harness run --target ", all(&["default", "other"])),
        ("eval-harness run --preset n", all(&["nightly"])),
        ("eval-harness run --preset st", all(&["staging"])),
        ("eval-harness report --format j", all(&["json", "junit"])),
        ("eval-harness run --criticality h", all(&["high"])),
        ("eval-harness baseline rej", all(&["reject"])),
        ("eval-harness run --suite broken.yaml --eval ", vec![]),
        ("eval-harness run --suite missing.yaml --tag ", vec![]),
    ]
}

fn latest(project: &Project) -> String {
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(journal).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    first["run_started"]["run"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn holds(project: &Project, name: &str, offered: impl Fn(&Project, &str) -> Option<Vec<String>>) {
    for (line, mut wanted) in table(&latest(project)) {
        let Some(mut found) = offered(project, line) else {
            return;
        };
        found.retain(|word| !word.is_empty());
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{name}: {line}");
    }
}

#[test]
fn bash_completes_options_verbs_and_names() {
    holds(&project(), "bash", in_bash);
}

/// Types each line into an interactive bash on a terminal of its own, presses Tab, and prints the
/// line as it is then. No step waits longer than the alarm, which ends all of it.
const TAB: &str = r#"
import os, pty, select, signal, sys
signal.alarm(40)
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "--noprofile", "--rcfile", "tab.bash", "-i"])
os.set_blocking(terminal, False)
seen = b""
def read_until(mark):
    global seen
    while mark not in seen:
        if not select.select([terminal], [], [], 20)[0]:
            sys.exit("no %r in %r" % (mark, seen))
        try:
            data = os.read(terminal, 65536)
        except BlockingIOError:
            continue
        if not data:
            sys.exit("bash ended after %r" % seen)
        seen += data
    before, seen = seen.split(mark, 1)
    return before
read_until(b"ready>")
for line in sys.argv[1:]:
    os.write(terminal, line.encode() + b"\t\x14")
    read_until(b"<<")
    print(read_until(b">>").decode(), flush=True)
os.kill(pid, signal.SIGKILL)
"#;

/// Ctrl-T prints the line and begins a new one.
const TAB_RC: &str = r#"
source ./complete.bash
PS1='ready>'
bind 'set bell-style none'
bind -x '"\C-t": printf "<<%s>>" "$READLINE_LINE"; READLINE_LINE='
"#;

#[test]
fn bash_completes_the_words_that_it_breaks_at_the_press_of_tab() {
    let project = project();
    project.write("tab.py", TAB);
    project.write("tab.bash", TAB_RC);
    let run = latest(&project);
    let begun = run.trim_end_matches(|c| c != '-');
    let to_run = format!("eval-harness run --failed-in {run} ");
    let table = [
        (
            "run --suite=eval-s",
            "eval-harness run --suite=eval-suite.yaml ",
        ),
        ("run --eval in", "eval-harness run --eval inline-one "),
        ("run --eval=in", "eval-harness run --eval=inline-one "),
        (
            "run --suite=other.yaml --eval=",
            "eval-harness run --suite=other.yaml --eval=elsewhere ",
        ),
        (
            "run --case space:d",
            "eval-harness run --case space:deep-one ",
        ),
        (
            "run --case=space:d",
            "eval-harness run --case=space:deep-one ",
        ),
        ("run --case sp", "eval-harness run --case space:deep-one "),
        ("run --var=gr", "eval-harness run --var=greeting="),
        (&format!("run --failed-in {begun}"), &to_run),
    ];
    let lines: String = table
        .iter()
        .map(|(typed, _)| format!(" 'eval-harness {typed}'"))
        .collect();
    let script = format!("INPUTRC=/dev/null TERM=dumb python3 tab.py{lines}");
    let Some(said) = shell(&project, "bash", &script) else {
        return;
    };
    let wanted: Vec<&str> = table.iter().map(|(_, line)| *line).collect();
    assert_eq!(said.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn fish_completes_options_verbs_and_names() {
    holds(&project(), "fish", in_fish);
}

/// An interactive zsh on a terminal of its own, in which Tab is pressed.
#[test]
fn zsh_completes_options_and_names() {
    let project = project();
    for (typed, wanted) in [
        ("eval-harness run --failed-i", "--failed-in"),
        ("eval-harness run --eval in", "inline-one"),
        ("eval-harness regrade --run lat", "latest"),
        ("eval-harness baseline rej", "reject"),
    ] {
        let script = format!(
            "zmodload zsh/zpty; zpty z zsh -f -i; \
             zpty -w z 'PS1=; unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit; compinit -u -D; source ./complete.zsh; echo READ''Y'; \
             zpty -r z said '*READY*'; zpty -w -n z $'{typed}\\t'; zpty -r z said '*{wanted}*' && print -r -- found; zpty -d z"
        );
        let Some(said) = shell(&project, "zsh", &script) else {
            return;
        };
        assert!(said.contains("found"), "zsh: {typed}: {said}");
    }
}

/// The variable in the environment of a job must not turn a gate green.
#[test]
fn completion_variable_without_a_script_runs_the_command() {
    let project = project();
    project.write(
        "eval-suite.yaml",
        "eval_suite:\n  name: Fails\n  target: {type: echo}\n  evals: [{id: a, input: x, expected: y}]\n",
    );
    for value in ["1", "bash", "0"] {
        let output = project
            .command(&["run"])
            .env("EVAL_HARNESS_COMPLETE", value)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(1),
            "{value}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}

#[test]
fn an_unreadable_suite_is_silent_and_nothing_of_it_runs() {
    let project = project();
    project.write(
        "eval-suite.yaml",
        "eval_suite:\n  name: Runs\n  target: {type: command, command: [touch, ran]}\n  evals: [{$ref: gone.yaml}, {$ref: gen.yaml}]\n",
    );
    project.write(
        "gen.yaml",
        "metadata: {id: rows, name: R}\ndataset: {path: no-such.jsonl, format: jsonl, case: {id: \"{{ row.id }}\", input: x, expected: x}}\n",
    );
    if let Some(found) = in_bash(&project, "eval-harness run --eval ") {
        assert_eq!(found, ["rows"]);
    }
    assert!(!project.path().join("ran").exists());
}
