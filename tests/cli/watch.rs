//! `run --watch`: driven by real files, and by keys in a terminal. What is waited for is always a
//! line of the program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::Project;

/// Answers with the last word of its input, and notes the input of each call beside the suite.
const SOLVE: &str = r#"input=$(cat)
echo "$input" >> calls
echo "${input##* }"
"#;

const SUITE: &str = r#"
eval_suite:
  name: Watched
  config: {max_workers: 1}
  evals: [{$ref: "cases/*.yaml"}]
  target: {type: command, command: [sh, solve.sh]}
"#;

const CASES: &str = r"
metadata: {id: words, name: Words}
test_cases:
  - {id: a, input: say one, expected: one}
  - {id: b, input: say two, expected: wrong}
";

fn project() -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("cases/words.yaml", CASES),
        ("solve.sh", SOLVE),
    ])
}

fn edit(project: &Project, file: &str, from: &str, to: &str) {
    let path = project.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    // As editors do: a new file takes the place of the old one.
    let beside = path.with_extension("new");
    std::fs::write(&beside, text.replace(from, to)).unwrap();
    std::fs::rename(beside, path).unwrap();
}

struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    /// stdout and stderr come in the order in which they are written.
    fn start(project: &Project, at_a_terminal: bool) -> Watching {
        let program = project.command(&[]);
        let mut command = Command::new("sh");
        let call = "exec \"$@\" run --suite suite.yaml --watch --progress none 2>&1";
        command.args(["-c", call, "sh"]);
        if at_a_terminal {
            let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
            command.args(["python3", "-c", spawn]);
        }
        command
            .arg(program.get_program())
            .current_dir(project.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Watching { child, lines }
    }

    /// What is shown until it waits.
    fn shown(&self) -> String {
        let mut shown = Vec::new();
        loop {
            // The limit only keeps a broken program from blocking the tests.
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|error| panic!("{error} after {shown:#?}"));
            if line.contains("watching ") {
                return shown.join("\n");
            }
            shown.push(line.trim_end().to_owned());
        }
    }

    fn press(&mut self, key: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(key.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    fn interrupt(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

fn runs(project: &Project) -> usize {
    let journals = std::fs::read_dir(project.path().join("results/latest")).unwrap();
    journals
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".journal.jsonl")
        })
        .count()
}

fn calls(project: &Project) -> usize {
    let text = std::fs::read_to_string(project.path().join("calls")).unwrap();
    text.lines().count()
}

#[test]
fn changed_files_run_what_they_touch_and_show_what_flipped() {
    let project = project();
    let watching = Watching::start(&project, false);
    let first = watching.shown();
    assert!(first.contains("GATE FAIL"), "{first}");
    assert_eq!((runs(&project), calls(&project)), (1, 2));

    edit(
        &project,
        "cases/words.yaml",
        "expected: wrong",
        "expected: two",
    );
    insta::assert_snapshot!(named(&watching.shown()), @"
    words.yaml changed
    warning: 2 reused outputs came from a command that may read more files than it names; to have their changes noticed, list them under `depends_on` of the target
      - words/b: failed, now passed
      2 of 2 cases passed; 1 sample reused from RUN, 1 graded
      again, 0 run

    GATE PASS
    ");
    assert_eq!(calls(&project), 2, "only graded again");

    edit(&project, "solve.sh", "echo \"${input##* }\"", "echo one");
    insta::assert_snapshot!(named(&watching.shown()), @r#"
    solve.sh changed
      - words/b: passed, now failed: expected "two", got "one"
      1 of 2 cases passed

    GATE FAIL: 1 eval (words) failed
    "#);
    assert_eq!(calls(&project), 4);

    edit(
        &project,
        "cases/words.yaml",
        "expected: two",
        "expectde: two",
    );
    let invalid = watching.shown();
    assert!(invalid.contains("did you mean `expected`?"), "{invalid}");
    edit(
        &project,
        "cases/words.yaml",
        "expectde: two",
        "expected: one",
    );
    insta::assert_snapshot!(named(&watching.shown()), @"
    words.yaml changed
    warning: 2 reused outputs came from a command that may read more files than it names; to have their changes noticed, list them under `depends_on` of the target
      - words/b: failed, now passed
      2 of 2 cases passed; 1 sample reused from RUN, 1 graded
      again, 0 run

    GATE PASS
    ");

    let more = CASES
        .replace("id: words", "id: more")
        .replace("wrong", "one");
    project.write("cases/more.yaml", &more);
    insta::assert_snapshot!(named(&watching.shown()), @"
    more.yaml changed
    warning: 2 reused outputs came from a command that may read more files than it names; to have their changes noticed, list them under `depends_on` of the target
      4 of 4 cases passed; 2 samples reused from RUN, 0 graded
      again, 2 run

    GATE PASS
    ");
    assert_eq!((runs(&project), calls(&project)), (5, 6));
    assert_eq!(watching.interrupt(), Some(130));
}

/// Without the names of runs, which differ.
fn named(shown: &str) -> String {
    let words = shown
        .split(' ')
        .map(|word| match word.strip_prefix("eval-2") {
            Some(rest) if rest.ends_with(',') => "RUN,",
            Some(_) => "RUN",
            None => word,
        });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn keys_at_a_terminal_run_all_or_what_failed_and_quit() {
    let project = project();
    let mut watching = Watching::start(&project, true);
    watching.shown();
    assert_eq!(calls(&project), 2);
    watching.press("a");
    watching.shown();
    assert_eq!(calls(&project), 4);
    watching.press("f");
    let failed = watching.shown();
    assert!(failed.contains("0 of 1 case passed"), "{failed}");
    assert_eq!(calls(&project), 5);
    watching.press("r");
    let changed = watching.shown();
    assert!(changed.contains("2 samples reused from"), "{changed}");
    assert_eq!(calls(&project), 5);
    watching.press("q");
    assert_eq!(watching.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_file_that_every_run_changes_does_not_run_forever() {
    let project = Project::with(&[
        (
            "suite.yaml",
            &SUITE.replace("solve.sh]", "solve.sh], depends_on: [calls]"),
        ),
        ("cases/words.yaml", CASES),
        ("solve.sh", SOLVE),
        ("calls", ""),
    ]);
    let watching = Watching::start(&project, false);
    let shown = watching.shown();
    assert!(
        shown.contains("calls changed during two runs in a row"),
        "{shown}"
    );
    assert_eq!((runs(&project), calls(&project)), (2, 4));
    assert_eq!(watching.interrupt(), Some(130));
}

#[test]
fn a_suite_with_several_prompts_needs_one_selected() {
    let prompts = "  prompts: {a: \"{{ input }}\", b: \"say {{ input }}\"}\n  target:";
    let project = Project::with(&[
        ("suite.yaml", &SUITE.replace("  target:", prompts)),
        ("cases/words.yaml", CASES),
        ("solve.sh", SOLVE),
    ]);
    let refused = project
        .call(&["run", "--suite", "suite.yaml", "--watch"])
        .expect(2);
    assert!(
        refused.stderr.contains("select one with `--prompt NAME`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let project = project();
    for flags in [
        &["--resume", "latest"][..],
        &["--dry-run"],
        &["--failed-in", "latest"],
        &["--shard", "1/2"],
        &["--events"],
        &["--ci", "github"],
        &["--target", "a", "--target", "b"],
    ] {
        let args = [&["run", "--suite", "suite.yaml", "--watch"], flags].concat();
        let refused = project.call(&args).expect(2);
        assert!(refused.stderr.contains("--watch"), "{}", refused.stderr);
    }
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--watch"]);
    let refused = crate::support::Call::of(command.env("CI", "true").output().unwrap());
    assert!(refused.expect(2).stderr.contains("in CI"));
    let missing = project
        .call(&["run", "--suite", "gone.yaml", "--watch"])
        .expect(2);
    assert!(missing.stderr.contains("gone.yaml"), "{}", missing.stderr);
}
