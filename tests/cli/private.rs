//! `dataset.private`: nothing of a case leaves the journal, whatever prints or writes, and every
//! figure is that of the same suite without it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Call, Project, eventually};
use serde_json::Value;

/// In every id, name, input, output, expected value and error of the private cases, and nowhere
/// else.
const MARKER: &str = "qzx";

/// Answers, fails or hangs as the input says; `later` passes at the second attempt.
const SOLVE: &str = r#"input=$(cat)
word=$(echo "$input" | grep -o 'qzxw[0-9]*')
case "$input" in
*right*) echo "qzxe-$word" ;;
*wrong*) echo "qzxout-$word instead"; echo "qzxerr-$word" >&2 ;;
*broken*) echo "qzxerr-$word: no answer to $input" >&2; exit 3 ;;
*hangs*) echo "qzxout-$word"; sleep 20 ;;
*later*) if [ -e "tried-$TRIED" ]; then echo "qzxe-$word"; rm "tried-$TRIED"; else touch "tried-$TRIED"; echo "qzxout-$word"; fi ;;
*) echo open ;;
esac
"#;

const KINDS: [&str; 8] = [
    "right", "right", "wrong", "right", "broken", "hangs", "later", "wrong",
];

/// The same without waiting for a time limit.
const QUICK: [&str; 8] = [
    "right", "right", "wrong", "right", "broken", "broken", "later", "wrong",
];

fn rows(kinds: &[&str]) -> String {
    let row = |(at, kind): (usize, &&str)| {
        let slice = ["even", "odd"][at % 2];
        format!(
            "{{\"id\": \"qzxid{at}\", \"name\": \"qzxname{at}\", \"ask\": \"{kind} qzxw{at} please\", \
             \"more\": \"qzxmore{at}\", \"want\": \"qzxe-qzxw{at}\", \"slice\": \"{slice}\"}}\n"
        )
    };
    kinds.iter().enumerate().map(row).collect()
}

fn held(private: bool) -> String {
    format!(
        r#"
metadata: {{id: held, name: Held back, category: secret, tags: [kept]}}
config: {{timeout_seconds: 2, retries: 1}}
dataset:
  path: rows.jsonl
  format: jsonl
  private: {private}
  case:
    id: "{{{{ row.id }}}}"
    name: "{{{{ row.name }}}}"
    input: {{type: prompt, content: "{{{{ row.ask }}}}", context: {{more: "{{{{ row.more }}}}"}}}}
    expected: {{type: exact, value: "{{{{ row.want }}}}"}}
    tags: ["{{{{ row.slice }}}}"]
"#
    )
}

const SUITE: &str = r#"
eval_suite:
  name: Mixed
  target: {type: command, command: [sh, solve.sh], env: [TRIED]}
  config: {max_workers: 4}
  thresholds: {case_pass_rate: 0.4}
  reporting: {format: [json, markdown, html, junit, comment, badge]}
  evals:
    - {$ref: held.yaml}
    - {$ref: open.yaml}
"#;

const OPEN: &str = r#"
metadata: {id: open, name: Open}
test_cases:
  - {id: shown, input: say it, expected: open}
  - {id: missed, input: say it, expected: closed}
"#;

const PHASE: &str = r#"
phase:
  name: "Ship"
  steps:
    - {type: "eval", description: "Run evals", config: {suite: "./suite.yaml", required_pass_rate: 0.1, blocking: true}}
"#;

/// The suite with two targets and a channel that is told of it.
fn sides() -> String {
    let target = "target: {type: command, command: [sh, solve.sh], env: [TRIED]}";
    let one = "{type: command, command: [sh, solve.sh], env: [TRIED]}";
    let two = "{type: command, command: [sh, -c, \"TRIED=y; . ./solve.sh | sed s/open/closed/\"]}";
    let notify = "notify:\n    - {type: command, command: [sh, -c, \"cat >> told.json\"]}\n  ";
    let suite = SUITE.replace(
        target,
        &format!("{notify}targets: {{one: {one}, two: {two}}}"),
    );
    let suite = suite.replace("case_pass_rate: 0.4", "case_pass_rate: 0.99");
    suite.replace("reporting: {", "reporting: {notify_on_failure: true, ")
}

fn project(private: bool) -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("held.yaml", &held(private)),
        ("open.yaml", OPEN),
        ("rows.jsonl", &rows(&KINDS)),
        ("solve.sh", SOLVE),
        ("phase.yaml", PHASE),
        ("sides.yaml", &sides()),
    ])
}

fn told(what: &str, text: &str) {
    let leak = text.lines().find(|line| line.contains(MARKER));
    assert!(leak.is_none(), "{what} leaks: {}", leak.unwrap_or_default());
}

/// A call that must print nothing of a private case, and end with one of these codes.
fn call(project: &Project, codes: &[i32], args: &[&str]) -> Call {
    call_with(project, codes, args, &[])
}

fn call_with(project: &Project, codes: &[i32], args: &[&str], env: &[(&str, &str)]) -> Call {
    let mut command = project.command(args);
    command.env("TRIED", "x").envs(env.iter().copied());
    let call = Call::of(command.output().expect("the program starts"));
    let what = args.join(" ");
    told(&what, &call.stdout);
    told(&what, &call.stderr);
    let code = call.code.unwrap_or(-1);
    assert!(
        codes.contains(&code),
        "{what}: {code}\n{}\n{}",
        call.stdout,
        call.stderr
    );
    call
}

/// Every file that a run or a command wrote, apart from the owner's own records.
fn no_file_leaks(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let is_own = ["rows.jsonl", "other.jsonl", "solve.sh", "answers", ".git"].contains(&&*name)
            || name.ends_with(".journal.jsonl")
            || name.ends_with(".outputs");
        if is_own || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            no_file_leaks(&path);
        } else {
            let bytes = fs::read(&path).expect("a file");
            told(
                &path.display().to_string(),
                &String::from_utf8_lossy(&bytes),
            );
        }
    }
}

fn json(call: &Call) -> Value {
    serde_json::from_str(&call.stdout).expect("JSON")
}

fn run(project: &Project, more: &[&str]) -> Call {
    let args = ["run", "--suite", "suite.yaml", "--verbose"];
    call(project, &[0, 1, 3], &[&args[..], more].concat())
}

/// The figures of a report, without those that differ from run to run.
fn figures(report: &Value) -> Value {
    fn steady(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| !name.contains("latency") && !name.contains("duration"));
            fields.values_mut().for_each(steady);
        }
    }
    let report = &report["eval_report"];
    let names = ["summary", "metrics", "estimates", "gate", "models"];
    let mut figures: Value = names.map(|name| report[name].clone()).to_vec().into();
    figures
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .for_each(steady);
    let evals = report["evals"].as_array().expect("evals").iter();
    let evals: Vec<Value> = evals
        .map(|eval| serde_json::json!([eval["id"], eval["outcome"], eval["score"], eval["counts"]]))
        .collect();
    serde_json::json!([figures, evals])
}

#[test]
fn figures_of_a_private_dataset_are_those_of_an_open_one() {
    let reports = [true, false].map(|private| {
        let project = project(private);
        let args = ["run", "--suite", "suite.yaml", "--quiet"];
        let mut command = project.command(&args);
        Call::of(command.env("TRIED", "x").output().expect("a run")).expect(0);
        let report = project.call(&["report", "--format", "json"]);
        (
            project,
            serde_json::from_str::<Value>(&report.stdout).expect("JSON"),
        )
    });
    let [(closed, private), (_, open)] = &reports;
    let counts = &private["eval_report"]["evals"][0]["counts"];
    assert_eq!(
        ["total", "passed", "failed", "errored"].map(|name| counts[name].as_u64()),
        [Some(8), Some(4), Some(2), Some(2)]
    );
    assert_eq!(figures(private), figures(open));
    assert_eq!(private["eval_report"]["evals"][0]["private"], true);
    assert_eq!(
        private["eval_report"]["evals"][0]["cases"],
        serde_json::json!([])
    );
    assert_eq!(
        open["eval_report"]["evals"][0]["cases"]
            .as_array()
            .map(Vec::len),
        Some(8)
    );
    // What the marker is to be found by: the run did meet all of it.
    let journal = fs::read_to_string(closed.result(".journal.jsonl")).expect("the journal");
    for kind in [
        "qzxid", "qzxname", "please", "qzxmore", "qzxe-", "qzxout", "qzxerr",
    ] {
        assert!(journal.contains(kind), "{kind}");
    }
}

#[test]
fn no_command_shows_a_case_of_a_private_dataset() {
    let project = project(true);
    let suite = ["--suite", "suite.yaml"];
    let of_suite = |args: &[&str]| call(&project, &[0, 1, 3], &[args, &suite[..]].concat());

    // Before any run.
    of_suite(&["validate"]);
    for args in [&["list", "--verbose"][..], &["list", "--format", "json"]] {
        of_suite(args);
    }
    of_suite(&["run", "--dry-run"]);
    of_suite(&["power"]);
    for format in ["human", "json", "markdown"] {
        of_suite(&[
            "check",
            "--verbose",
            "--require-references",
            "--format",
            format,
        ]);
    }

    // Runs: first one in which everything is wrong, then the usual one.
    project.write("rows.jsonl", &rows(&["wrong"; 8]));
    run(&project, &[]);
    project.write("rows.jsonl", &rows(&KINDS));
    let said = run(&project, &["--compare-to", "previous", "--allow-changed"]);
    assert!(
        said.stdout
            .contains("8 cases of a private dataset are not listed"),
        "{}",
        said.stdout
    );
    project.write("rows.jsonl", &rows(&QUICK));
    run(
        &project,
        &["--compare-to", "previous", "--fail-on", "any", "--events"],
    );
    run(&project, &["--changed"]);
    run(&project, &["--failed-in", "latest"]);
    run(&project, &["--case", "*4"]);
    run(&project, &["--shard", "1/2"]);
    run(&project, &["--progress", "bar"]);
    call(
        &project,
        &[0, 1, 3],
        &["report", "--eval", "held", "--verbose"],
    );
    call(
        &project,
        &[0, 1, 2, 3],
        &["report", "--case", "*id5", "--format", "json"],
    );
    run(&project, &["--samples", "2", "--eval", "held"]);
    call(
        &project,
        &[0, 1, 2, 3],
        &["run", "--suite", "suite.yaml", "--case", "id5"],
    );
    call(
        &project,
        &[0, 1, 3, 130],
        &["run", "--resume", "latest", "--progress", "plain"],
    );
    of_suite(&["run", "--changed", "--dry-run"]);
    of_suite(&["regrade", "--run", "latest", "--verbose"]);
    run(&project, &[]);

    // Reports of them.
    for format in [
        "terminal", "json", "markdown", "html", "junit", "comment", "badge",
    ] {
        call(
            &project,
            &[0, 1, 3],
            &["report", "--verbose", "--format", format],
        );
        call(
            &project,
            &[0, 1, 3],
            &["report", "--failed", "--format", format],
        );
    }
    let junit = call(&project, &[0, 1, 3], &["report", "--format", "junit"]).stdout;
    assert!(
        junit.contains("4 passed of 8 cases of a private dataset"),
        "{junit}"
    );
    call(&project, &[2], &["show", "held/*"]);
    let shown = call(&project, &[0, 1], &["show"]);
    let unpassed = "4 cases of a private dataset did not pass and are not shown";
    assert!(shown.stderr.contains(unpassed), "{}", shown.stderr);
    assert!(!shown.stderr.contains("every case"), "{}", shown.stderr);
    let report = call(&project, &[0, 1, 3], &["report", "--verbose"]).stdout;
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        report.contains(unpassed) && !report.contains("more cases"),
        "{report}"
    );
    for args in [
        &["show"][..],
        &["show", "--format", "json"],
        &["show", "--verbose", "*"],
    ] {
        call(&project, &[0, 1], args);
    }
    for args in [
        &["history"][..],
        &["history", "--verbose", "--eval", "held"],
        &["history", "--eval", "*", "--format", "json"],
        &["runs"],
        &["runs", "--format", "json"],
        &["power", "--suite", "suite.yaml", "--run", "latest"],
        &["cache", "stats"],
    ] {
        call(&project, &[0], args);
    }
    for format in ["human", "json", "markdown", "html", "comment"] {
        let args = [
            "compare",
            "previous",
            "latest",
            "--verbose",
            "--allow-changed",
        ];
        call(
            &project,
            &[0, 1, 3],
            &[&args[..], &["--format", format]].concat(),
        );
    }
    call(&project, &[0], &["export"]);
    call(&project, &[0], &["export", "--format", "completions"]);
    call(&project, &[2], &["export", "--eval", "held"]);

    // What writes into the project.
    let from = ["--suite", "suite.yaml"];
    for args in [
        &["accept", "held/*", "--yes"][..],
        &["accept", "id2", "--yes"],
        &["new", "regression", "made", "--from", "held/*"],
    ] {
        call(&project, &[2], &[args, &from].concat());
    }
    call(
        &project,
        &[0, 1, 3],
        &["phase", "--plan", "phase.yaml", "--verbose"],
    );
    let github = ["summary.md", "output.txt"].map(|name| project.path().join(name));
    let github = github.each_ref().map(|path| path.display().to_string());
    let env = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_STEP_SUMMARY", &*github[0]),
        ("GITHUB_OUTPUT", &*github[1]),
    ];
    let said = call_with(
        &project,
        &[0, 1, 3],
        &["run", "--suite", "suite.yaml"],
        &env,
    );
    assert!(said.stderr.contains("::warning "), "{}", said.stderr);
    call_with(
        &project,
        &[0, 1, 2, 3],
        &["ci", "--suite", "suite.yaml"],
        &env,
    );
    for (index, shard) in ["1/2", "2/2"].into_iter().enumerate() {
        let args = ["--shard", shard, "--output-dir", &format!("shards{index}")];
        run(&project, &args);
    }
    call(
        &project,
        &[0, 1, 3],
        &[
            "run",
            "--suite",
            "sides.yaml",
            "--target",
            "one",
            "--target",
            "two",
            "--verbose",
        ],
    );
    assert!(
        project.path().join("told.json").is_file(),
        "a channel was told"
    );
    no_file_leaks(project.path());
}

#[test]
fn score_baselines_hold_no_case_of_a_private_dataset() {
    let project = project(true);
    let all = |args: &[&str]| {
        let args = [args, &["--suite", "suite.yaml"]].concat();
        call(&project, &[0, 1], &args)
    };
    project.write("rows.jsonl", &rows(&["right", "wrong", "right", "right"]));
    run(&project, &[]);
    all(&["baseline", "capture", "--scores"]);
    all(&["baseline", "accept", "--scores"]);
    project.write(
        "rows.jsonl",
        &rows(&["right", "right", "wrong", "right", "right"]),
    );
    let said = run(&project, &["--baseline", "--allow-changed"]).stdout;
    assert!(
        said.contains("6 cases compared: 1 broken, 1 fixed"),
        "{said}"
    );
    all(&["baseline", "capture", "--scores"]);
    for format in ["human", "json", "markdown"] {
        let said = all(&["baseline", "diff", "--scores", "--format", format]).stdout;
        assert!(said.contains("private"), "{said}");
    }
    all(&["baseline", "list"]);
    for format in ["human", "json", "markdown", "html", "comment"] {
        call(
            &project,
            &[0, 1],
            &["compare", "accepted", "latest", "--format", format],
        );
    }
    all(&["power", "--run", "latest"]);
    all(&["baseline", "reject", "--scores"]);
    no_file_leaks(project.path());
}

/// Runs of before are as open as they were; what is made with them now is not.
#[test]
fn a_dataset_that_became_private_is_not_shown_with_older_runs() {
    let project = project(false);
    let args = ["run", "--suite", "suite.yaml", "--quiet"];
    let before = Call::of(
        project
            .command(&args)
            .env("TRIED", "x")
            .output()
            .expect("a run"),
    );
    before.expect(0);
    fs::remove_dir_all(project.path().join("results/.index")).ok();
    project.write("held.yaml", &held(true));
    let open = project.result(".journal.jsonl");
    let stem = open.to_string_lossy().replace(".journal.jsonl", "");
    for entry in fs::read_dir(open.parent().expect("a day")).expect("a day") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().starts_with(&stem) && path != open {
            fs::remove_file(path).expect("a report of the open run");
        }
    }
    let said = run(&project, &["--compare-to", "previous", "--events"]).stdout;
    assert!(said.contains("\"sample_finished\""), "{said}");
    let said = call(&project, &[0, 1], &["compare", "previous", "latest"]).stdout;
    assert!(
        said.contains("8 cases compared") || said.contains("10 cases compared"),
        "{said}"
    );
    call(&project, &[0], &["history", "--eval", "held", "--verbose"]);
    call(
        &project,
        &[0],
        &["history", "--eval", "held", "--format", "json"],
    );
    call(
        &project,
        &[0, 1, 3],
        &["run", "--suite", "suite.yaml", "--changed", "--verbose"],
    );
    no_file_leaks(project.path());
}

#[test]
fn messages_of_broken_files_do_not_quote_a_private_dataset() {
    let project = project(true);
    let suite = ["--suite", "suite.yaml"];
    let wrong = |args: &[&str], text: &str| {
        let args = [args, &suite[..]].concat();
        let said = call(&project, &[0, 1, 2, 3], &args);
        let all = said.stdout + &said.stderr;
        assert!(all.contains(text), "{all}");
    };
    // Rows.
    let row = |fields: &str| format!("{{{fields}}}\n");
    let whole =
        r#""id": "qzxid9", "name": "n", "ask": "qzxa", "more": "m", "want": "w", "slice": "s""#;
    for (rows, text) in [
        (
            row(&whole.replace("\"qzxid9\"", "{\"qzx\": 1}")),
            "rows.jsonl:1: no valid case",
        ),
        (
            row(&whole.replace("\"slice\"", "\"qzxslice\"")),
            "rows.jsonl:1: no valid case",
        ),
        (
            row(whole) + &row(whole),
            "rows.jsonl:2: its id is already used on line 1",
        ),
        (row(whole) + "{\"qzxid8\": qzx}\n", "rows.jsonl"),
        ("\"qzx\"\n".to_owned(), "rows.jsonl:1: no valid case"),
    ] {
        project.write("rows.jsonl", &rows);
        for args in [
            &["validate"][..],
            &["validate", "--format", "json"],
            &["run"],
            &["list"],
        ] {
            wrong(args, text);
        }
    }
    project.write("rows.jsonl", &rows(&QUICK));
    // Patterns that are near an id.
    wrong(&["run", "--case", "zxid0"], "matches nothing");
    // A recording with records of other ids, of the same sample, and of no case.
    let record =
        |case: &str| format!("{{\"case\": \"{case}\", \"sample\": 0, \"output\": \"qzxo\"}}\n");
    project.write("other.jsonl", &(record("qzxid0") + &record("qzxid77")));
    wrong(
        &["run", "--outputs", "other.jsonl"],
        "for no case of this suite",
    );
    project.write("other.jsonl", &record("qzxid0").repeat(2));
    wrong(&["run", "--outputs", "other.jsonl"], "already recorded");
    project.write("other.jsonl", "{\"case\": \"qzxid0\", \"output\": qzx}\n{\"case\": \"qzxid1\", \"output\": 1, \"sample\": \"qzx\"}\n");
    wrong(&["run", "--outputs", "other.jsonl"], "other.jsonl");
    // Cases that are gone when a run goes on.
    run(&project, &[]);
    project.write("rows.jsonl", &rows(&QUICK[..5]));
    call(&project, &[0, 1, 2, 3], &["run", "--resume", "latest"]);
    call(&project, &[0, 1, 2, 3], &["regrade", "--run", "latest"]);
    no_file_leaks(project.path());
}

/// The pages and events of `view`, and those of a run that goes on.
#[test]
fn view_shows_no_case_of_a_private_dataset() {
    let project = project(true);
    run(&project, &[]);
    run(&project, &[]);
    // A run whose process is gone before its end.
    let journal = fs::read_to_string(project.result(".journal.jsonl")).expect("the journal");
    let lines: Vec<&str> = journal.lines().collect();
    let going = lines[..lines.len() - 1].join("\n") + "\n";
    let day = project.result(".journal.jsonl");
    let day = day.parent().expect("a day");
    fs::write(day.join("run-235959.journal.jsonl"), going).expect("a journal");

    let mut command = project.command(&["view", "--no-open"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let mut url = String::new();
    let stdout = child.stdout.as_mut().expect("stdout");
    BufReader::new(stdout).read_line(&mut url).expect("a line");
    let url = url.trim_end();
    let host = url.split('/').nth(2).expect("a host");
    let port = host.rsplit(':').next().expect("a port");
    let token = url.rsplit("token=").next().expect("a token");
    let get = |address: &str| {
        let mut stream = TcpStream::connect(host).expect("a connection");
        let timeout = std::time::Duration::from_secs(2);
        stream
            .set_read_timeout(Some(timeout))
            .expect("a time limit");
        write!(
            stream,
            "GET {address} HTTP/1.1\r\nHost: {host}\r\nCookie: eval-harness-{port}={token}\r\nConnection: close\r\n\r\n"
        )
        .expect("sent");
        // Events have no end.
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response).into_owned();
        told(address, &response);
        response
    };
    eventually("every run is read", || {
        !get("/").contains("still to be read")
    });
    let runs = call(&project, &[0], &["runs", "--format", "json"]);
    let runs = json(&runs);
    let ids = runs.as_array().expect("runs").iter();
    let ids: Vec<&str> = ids
        .map(|run| run["run_id"].as_str().expect("an id"))
        .collect();
    assert!(ids.len() >= 3, "{ids:?}");
    for id in &ids {
        let mut pages = vec![
            format!("/runs/{id}"),
            format!("/runs/{id}/report"),
            format!("/runs/{id}/cases"),
            format!("/runs/{id}/cases?eval=held"),
            format!("/runs/{id}/cases?q=zx"),
            format!("/runs/{id}/events"),
        ];
        pages.extend((1..=10).map(|at| format!("/runs/{id}/cases/{at}")));
        pages.iter().for_each(|page| _ = get(page));
    }
    let cases = get(&format!("/runs/{}/cases", ids[1]));
    assert!(cases.contains("missed"), "{cases}");
    let one = get(&format!("/runs/{}/cases/1", ids[1]));
    assert!(
        one.contains("Cases of a private dataset are not shown."),
        "{one}"
    );
    get("/search?q=id0");
    get("/events");
    get(&format!("/compare?run={}&run={}", ids[1], ids[2]));
    get(&format!(
        "/compare?reference={}&candidate={}",
        ids[2], ids[1]
    ));
    child.kill().expect("it ends");
    child.wait().expect("it ends");
    no_file_leaks(project.path());
}

/// Flips between the runs of `--watch`.
#[test]
fn watch_names_no_case_of_a_private_dataset() {
    let project = project(true);
    project.write("rows.jsonl", &rows(&["right", "wrong"]));
    let program = project.command(&[]);
    let mut command = Command::new("sh");
    let call = "exec \"$@\" run --suite suite.yaml --watch --progress none 2>&1";
    command.args(["-c", call, "sh"]).arg(program.get_program());
    command.current_dir(project.path()).stdin(Stdio::piped());
    command.stdout(Stdio::piped());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut shown = || {
        let lines = lines.by_ref().map(|line| line.expect("a line"));
        let lines: Vec<String> = lines
            .take_while(|line| !line.contains("watching "))
            .collect();
        let shown = lines.join("\n");
        told("run --watch", &shown);
        shown
    };
    shown();
    project.write("rows.jsonl", &rows(&["right", "right"]));
    let shown = shown();
    assert!(
        shown.contains("1 case of a private dataset with another outcome than before"),
        "{shown}"
    );
    child.kill().expect("it ends");
    child.wait().expect("it ends");
}

/// Accepted scores from before the dataset became private have the ids of its cases.
#[test]
fn accepted_scores_of_a_dataset_that_became_private_are_paired_and_not_shown() {
    let project = project(false);
    project.write("rows.jsonl", &rows(&["right", "wrong"]));
    let scores = |verb: &'static str| ["baseline", verb, "--suite", "suite.yaml", "--scores"];
    let again = ["run", "--suite", "suite.yaml", "--progress", "none"];
    project.call(&again);
    project.call(&scores("capture")).expect(0);
    project.call(&scores("accept")).expect(0);
    project.write("held.yaml", &held(true));
    call(&project, &[0, 1], &again);
    call(&project, &[0], &scores("capture"));
    let diff = call(&project, &[0], &scores("diff"));
    assert!(!diff.stdout.contains("private dataset"), "{}", diff.stdout);
    let run = [
        "run",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--baseline",
        "--events",
    ];
    let events = call(&project, &[0, 1], &run).stdout;
    assert!(events.contains("\"run_started\""), "{events}");
    assert!(events.contains("\"score_baseline\""), "{events}");
}
