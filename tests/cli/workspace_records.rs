//! Work in workspaces that is made again from what was recorded: by a run for `regrade`, and in
//! recorded outputs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Call, Project};

/// A target that runs its input in the workspace, and a grader that runs `check`.
struct Work {
    id: &'static str,
    script: &'static str,
    /// Succeeds where `script` did its work.
    check: &'static str,
}

const fn work(id: &'static str, script: &'static str, check: &'static str) -> Work {
    Work { id, script, check }
}

const WORKSPACE: &str = "{from: {dir: app}, hidden: ['secret/**'], protected: ['tests/**'], setup: [[git, init, -q], [ln, -s, /usr/bin/env, tool]]}";

/// Each work has a case that passes, and one whose check is negated: it fails. A wrong workspace turns
/// one of them over.
fn project(workspace: &str, works: &[Work]) -> Project {
    let case = |id: String, script: &str, check: String| {
        let argv = json!(["sh", "-ec", check]);
        format!(
            "  - id: {id}\n    input: {script:?}\n    grader: {{type: code, config: {{method: workspace_tests, command: {argv}, \
             results: exit_code}}}}\n"
        )
    };
    let cases: String = works
        .iter()
        .flat_map(|work| {
            let negated = format!("! ( {} )", work.check);
            [
                case(work.id.to_owned(), work.script, work.check.to_owned()),
                case(format!("not-{}", work.id), work.script, negated),
            ]
        })
        .collect();
    let suite = format!(
        "eval_suite:\n  name: Work\n  evals: [{{$ref: cases.yaml}}]\n  target: {{type: command, command: [sh, agent.sh]}}\n  \
         workspace: {workspace}\n"
    );
    let project = Project::with(&[
        ("suite.yaml", &suite),
        (
            "cases.yaml",
            &format!("metadata: {{id: work, name: Work}}\ntest_cases:\n{cases}"),
        ),
        ("agent.sh", "sh -eu -c \"$(cat)\"\n"),
        ("app/add.py", "def add(a, b):\n    return a - b\n"),
        ("app/README", "an app"),
        ("app/d/e/f", "deep\n"),
        ("app/tests/test_add.py", "from add import add\n"),
        ("app/secret/answer", "42\n"),
    ]);
    fs::create_dir(project.path().join("app/hollow")).unwrap();
    project
}

fn run(project: &Project, args: &[&str]) -> Call {
    project.call(&[&["run", "--suite", "suite.yaml", "--quiet"], args].concat())
}

fn regrade(project: &Project) -> Call {
    project.call(&[
        "regrade",
        "--run",
        "latest",
        "--suite",
        "suite.yaml",
        "--quiet",
    ])
}

/// Samples of the latest run: id, and the sample.
fn samples(project: &Project) -> Vec<(String, Value)> {
    let report = project.report();
    let evals = report["evals"].as_array().unwrap().iter();
    let cases = evals.flat_map(|eval| eval["cases"].as_array().unwrap());
    let sample = |case: &Value| {
        let id = case["id"].as_str().unwrap().to_owned();
        (id, case["samples"][0].clone())
    };
    cases.map(sample).collect()
}

/// What a sample says of its work: outcome, changes and diff.
fn said(sample: &Value) -> Value {
    let left = &sample["workspace"];
    json!([
        sample["outcome"],
        left["left"],
        left["changes"],
        left["diff"]
    ])
}

fn check_outcomes(samples: &[(String, Value)]) {
    for (id, sample) in samples {
        let expected = if id.starts_with("not-") {
            "failed"
        } else {
            "passed"
        };
        assert_eq!(sample["outcome"], expected, "{id}: {sample:#}");
    }
}

/// Files of the run beside the journal.
fn records(project: &Project) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![project.path().join("results/latest")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(".changes.jsonl.gz") {
                let name = path.parent().unwrap().file_name().unwrap();
                found.push(name.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// What the diff has.
const IN_DIFFS: [Work; 9] = [
    work("text", "sed -i s/-/+/ add.py", "grep -q + add.py"),
    work("nothing", "true", "test \"$(cat README)\" = 'an app'"),
    work(
        "binary",
        "head -c 3000 /dev/urandom > bin; printf '\\000\\377' >> bin; sha256sum bin > sum",
        "sha256sum -c --status sum",
    ),
    work(
        "modes",
        "chmod 755 add.py; printf x > new; chmod +x new",
        "test -x add.py && test -x new && test ! -x README",
    ),
    work(
        "links",
        "rm README; ln -s add.py README; ln -s /usr/bin/env out; ln -s gone dangling",
        "test -L README && test \"$(readlink out)\" = /usr/bin/env && test \"$(readlink dangling)\" = gone",
    ),
    work(
        "deleted",
        "rm -r d add.py",
        "test ! -e d && test ! -e add.py && test -d hollow",
    ),
    work(
        "renamed",
        "mkdir x; mv add.py x/sub.py; mv d/e/f f; rmdir d/e d",
        "test -f x/sub.py && test ! -e add.py && test -f f && test ! -e d",
    ),
    work(
        "ends",
        "touch empty; printf 'no end' > open; printf 'a\\r\\nb' >> README; mkdir add.d; mv add.py add.d/; mkdir add.py; touch add.py/x",
        "test -f empty && test ! -s empty && test \"$(tail -c 1 open)\" = d && test -f add.py/x",
    ),
    work(
        "names",
        "touch 'a b' '\"q\"\\' 'é日本' \"$(printf 'new\\nline')\" \"$(printf 'raw\\377')\" ' blank ' ./-x",
        "test -f 'a b' && test -f '\"q\"\\' && test -f 'é日本' && test -f \"$(printf 'new\\nline')\" && test -f \"$(printf 'raw\\377')\" && test -f ' blank ' && test -f ./-x",
    ),
];

/// What it does not have.
const BEYOND_DIFFS: [Work; 8] = [
    work(
        "long",
        "seq 200000 > long; sed -i s/-/+/ add.py",
        "test \"$(tail -n 1 long)\" = 200000 && grep -q + add.py",
    ),
    work(
        "large",
        "head -c 3000000 /dev/urandom > large; sha256sum large > sum",
        "sha256sum -c --status sum",
    ),
    work("folder", "mkdir -p made/deep", "test -d made/deep"),
    work("emptied", "rm d/e/f", "test -d d/e && test ! -e d/e/f"),
    work("hollowed", "rmdir hollow", "test ! -e hollow"),
    work(
        "history",
        "git config user.email a@example.com; git config user.name a; git add -A; git commit -qm one",
        "test \"$(git log --format=%s)\" = one",
    ),
    work(
        "pipe",
        "mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
        "test -p pipe && test -S sock",
    ),
    work(
        "protected",
        "mkdir tests/more; echo x >> tests/test_add.py",
        "test ! -e tests/more && test \"$(cat tests/test_add.py)\" = 'from add import add' && test -f secret/answer",
    ),
];

#[test]
fn regrade_makes_each_workspace_again_as_it_was() {
    let works = || IN_DIFFS.into_iter().chain(BEYOND_DIFFS);
    let project = project(WORKSPACE, &works().collect::<Vec<_>>());
    run(&project, &[]).expect(1);
    let made = samples(&project);
    check_outcomes(&made);
    let mut beyond: Vec<String> = BEYOND_DIFFS
        .iter()
        .flat_map(|work| [work.id.to_owned(), format!("not-{}", work.id)])
        .collect();
    beyond.sort();
    assert_eq!(records(&project), beyond);
    for _ in 0..2 {
        regrade(&project).expect(1);
        let again = samples(&project);
        assert_eq!(made.len(), again.len());
        for ((id, made), (_, again)) in made.iter().zip(&again) {
            assert_eq!(said(made), said(again), "{id}: {:#}", again["reason"]);
            assert_eq!(made["reason"], again["reason"], "{id}");
        }
    }
    project.write("app/secret/answer", "43\n");
    regrade(&project).expect(1);
    for ((id, made), (_, again)) in made.iter().zip(&samples(&project)) {
        assert_eq!(said(made), said(again), "{id}: {:#}", again["reason"]);
        let reason = again["reason"].as_str().unwrap();
        assert!(
            reason.ends_with("the hidden files are not those of the run"),
            "{id}: {reason}"
        );
    }
}

#[test]
fn regrade_uses_a_kept_workspace_where_it_is_whole() {
    let large = work(
        "large",
        "for n in 1 2 3; do head -c 30000000 /dev/zero | tr '\\000' $n > f$n; done",
        "test \"$(tail -c 1 f3)\" = 3",
    );
    let keep = "{from: {dir: app}, keep: KEEP}";
    for (kept, code, cause) in [
        ("always", 1, Value::Null),
        ("never", 3, "patch_rejected".into()),
    ] {
        let works = [Work { ..large }];
        let project = project(&keep.replace("KEEP", kept), &works);
        run(&project, &[]).expect(1);
        assert_eq!(records(&project), [""; 0]);
        let made = samples(&project);
        check_outcomes(&made);
        regrade(&project).expect(code);
        for ((id, made), (_, again)) in made.iter().zip(&samples(&project)) {
            if cause.is_null() {
                assert_eq!(said(made), said(again), "{id}");
            } else {
                assert_eq!(again["cause"], cause, "{again:#}");
                let reason = again["reason"].as_str().unwrap();
                assert!(reason.contains("keep: always"), "{reason}");
            }
        }
        if kept == "always" {
            // One that was changed since is not graded.
            let folder = project.path().join("results/latest");
            let found = made[0].1["workspace"]["kept"].as_str().unwrap();
            fs::write(folder.join(found).join("f3"), "9").unwrap();
            regrade(&project).expect(1);
            let again = samples(&project);
            assert_eq!(again[0].1["cause"], "patch_rejected", "{:#}", again[0].1);
            assert_eq!(said(&again[1].1), said(&made[1].1));
        }
    }
}

#[test]
fn a_lost_or_changed_record_is_an_error() {
    let project = project(
        WORKSPACE,
        &[work("folder", "mkdir -p made/deep", "test -d made/deep")],
    );
    run(&project, &[]).expect(1);
    let made = samples(&project);
    let folder = project.path().join("results/latest");
    let record = |at: usize| folder.join(made[at].1["workspace"]["record"].as_str().unwrap());
    // That of another sample, and none.
    fs::write(
        record(0),
        gzip("{\"path\":\"other\",\"left\":\"folder\"}\n"),
    )
    .unwrap();
    fs::remove_file(record(1)).unwrap();
    regrade(&project).expect(3);
    for (id, sample) in samples(&project) {
        assert_eq!(sample["cause"], "patch_rejected", "{id}: {sample:#}");
    }
}

#[test]
fn runs_of_earlier_versions_say_why_they_are_not_graded_again() {
    let works = [work("file", "echo x > new", "test -e new")];
    let project = project("{from: {dir: app}}", &works);
    run(&project, &[]).expect(1);
    let day = fs::canonicalize(project.path().join("results/latest")).unwrap();
    let files = fs::read_dir(day)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let journal = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .max()
        .unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let left = samples(&project)[0].1["workspace"]["left"].to_string();
    let earlier = text
        .replace(&format!("\"left\":{left},"), "")
        .replace(&format!(",\"left\":{left}"), "");
    assert_ne!(text, earlier);
    fs::write(&journal, earlier).unwrap();
    regrade(&project).expect(3);
    for (id, sample) in samples(&project) {
        assert_eq!(sample["cause"], "patch_rejected", "{id}");
        let reason = sample["reason"].as_str().unwrap();
        assert!(reason.contains("an earlier version"), "{id}: {reason}");
    }
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut child = std::process::Command::new("gzip")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap().stdout
}

#[test]
fn teardown_decides_in_regrade_as_in_the_run() {
    let workspace = "{from: {dir: app}, teardown: [[sh, -c, 'test ! -e new']]}";
    let project = project(workspace, &[work("new", "touch new", "test -e new")]);
    run(&project, &[]).expect(1);
    let made = samples(&project);
    assert_eq!(made[0].1["cause"], "setup_failed");
    regrade(&project).expect(1);
    let again = samples(&project);
    for ((id, made), (_, again)) in made.iter().zip(&again) {
        for key in ["outcome", "cause", "reason"] {
            assert_eq!(made[key], again[key], "{id}");
        }
    }
}

#[test]
fn secrets_are_not_recorded() {
    let project = project(
        "{from: {dir: app}}",
        &[
            work(
                "shown",
                "mkdir made; echo a hunter2secret > key",
                "test -d made",
            ),
            work(
                "beside",
                "mkdir .git; echo a hunter2secret > .git/key",
                "test -f .git/key",
            ),
        ],
    );
    let text = fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let call = |args: &[&str]| {
        let mut command = project.command(&[args, &["--suite", "suite.yaml", "--quiet"]].concat());
        Call::of(command.env("THE_TOKEN", "hunter2secret").output().unwrap())
    };
    // Variables of the suite, and of the target alone.
    for (place, with) in [
        ("  name: Work", "  name: Work\n  env: [THE_TOKEN]"),
        ("[sh, agent.sh]}", "[sh, agent.sh], env: [THE_TOKEN]}"),
    ] {
        assert!(text.contains(place));
        project.write("suite.yaml", &text.replace(place, with));
        call(&["run"]).expect(1);
        assert_eq!(records(&project), [""; 0], "{with}");
        assert!(!files_with(&project, b"hunter2secret"), "{with}");
        call(&["regrade", "--run", "latest"]).expect(3);
        for (id, sample) in samples(&project) {
            let said = if id.ends_with("shown") {
                "a secret was redacted"
            } else {
                "did not record all"
            };
            let reason = sample["reason"].as_str().unwrap();
            assert!(reason.contains(said), "{with}: {id}: {reason}");
        }
    }
}

/// Whether a file of the results has these bytes, also in one that is compressed.
fn files_with(project: &Project, bytes: &[u8]) -> bool {
    let found = std::process::Command::new("sh")
        .current_dir(project.path().join("results"))
        .args([
            "-c",
            "find . -type f -exec sh -c 'zcat -f \"$1\"' sh {} ';'",
        ])
        .output()
        .unwrap();
    assert!(found.status.success() && !found.stdout.is_empty());
    found.stdout.windows(bytes.len()).any(|part| part == bytes)
}

/// Files above 600 KiB can't be written, as on a full disk.
fn with_full_disk(project: &Project, args: &[&str]) -> Call {
    let script = "trap '' XFSZ; ulimit -S -f 600; exec \"$0\" \"$@\"";
    let command = project.command(&[]);
    let program = command.get_program().to_owned();
    let mut limited = std::process::Command::new("bash");
    limited
        .args(["-c", script])
        .arg(program)
        .args(args)
        .current_dir(project.path())
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    Call::of(limited.output().unwrap())
}

#[test]
fn work_that_cannot_be_recorded_is_said_and_not_graded_again() {
    let large = work(
        "large",
        "mkdir hollow; head -c 2000000 /dev/urandom > bin",
        "test \"$(wc -c < bin)\" = 2000000",
    );
    let project = project("{from: {dir: app}}", &[large]);
    fs::remove_dir(project.path().join("app/hollow")).unwrap();
    let args = ["run", "--suite", "suite.yaml", "--quiet"];
    with_full_disk(&project, &args).expect(1);
    let all = samples(&project);
    check_outcomes(&all);
    for (id, sample) in all {
        let reason = sample["reason"].as_str().unwrap_or_default();
        assert!(
            reason.contains("the workspace can't be recorded in"),
            "{id}: {reason}"
        );
        assert_eq!(sample["workspace"]["record"], Value::Null, "{id}");
    }
    assert_eq!(records(&project), [""; 0]);
    regrade(&project).expect(3);
    for (id, sample) in samples(&project) {
        let reason = sample["reason"].as_str().unwrap();
        assert!(reason.contains("did not record all"), "{id}: {reason}");
    }
    // A workspace that was to be kept is missed by people, so the sample is no pass.
    let text = fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let kept = text.replace("{from: {dir: app}}", "{from: {dir: app}, keep: always}");
    project.write("suite.yaml", &kept);
    with_full_disk(&project, &args).expect(1);
    for (id, sample) in samples(&project) {
        let outcome = if id == "large" { "errored" } else { "failed" };
        assert_eq!(sample["outcome"], outcome, "{id}: {sample:#}");
        let reason = sample["reason"].as_str().unwrap();
        assert!(
            reason.contains("the workspace can't be kept at"),
            "{id}: {reason}"
        );
    }
}

// Recorded workspaces.

const FIXED: &str = "def add(a, b):\n    return a + b\n";

/// Two cases for recorded workspaces: one passes when the work was done, the other when it was not.
fn recorded() -> Project {
    let check = "grep -q + add.py && test ! -e README && test -x run.sh && test -L link && test -L tool && test -d empty && test ! -e d && \
                 test -f secret/answer && test \"$(cat tests/test_add.py)\" = 'from add import add'";
    let project = project(WORKSPACE, &[work("fix", "unused", check)]);
    let out = |path: &str| project.path().join("outputs/work").join(path);
    project.write("outputs/work/add.py", FIXED);
    project.write("outputs/work/run.sh", "#!/bin/sh\n");
    std::os::unix::fs::symlink("add.py", out("link")).unwrap();
    std::os::unix::fs::symlink("/usr/bin/env", out("tool")).unwrap();
    fs::create_dir(out("empty")).unwrap();
    fs::create_dir(out("hollow")).unwrap();
    // As if the target had found and changed them.
    project.write("outputs/work/secret/answer", "0\n");
    project.write("outputs/work/tests/test_add.py", "pass\n");
    project.write(
        "outputs/work/.git/config",
        "[core]\n\tfsmonitor = touch /tmp/escaped\n",
    );
    set_mode(&out("run.sh"), 0o4711);
    project
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn lines(project: &Project, tree: &str) {
    let line = |id: &str| json!({"case": id, "workspace": tree}).to_string();
    project.write(
        "outputs/all.jsonl",
        &[line("fix"), line("not-fix")].join("\n"),
    );
}

fn tar(project: &Project, args: &[&str]) {
    let made = std::process::Command::new("tar")
        .current_dir(project.path().join("outputs"))
        .args(args)
        .status();
    assert!(made.unwrap().success());
}

#[test]
fn recorded_folders_and_archives_are_workspaces() {
    let project = recorded();
    tar(&project, &["-cf", "work.tar", "-C", "work", "."]);
    tar(&project, &["-czf", "packed.tgz", "-C", "work", "."]);
    let mut first: Option<Value> = None;
    for tree in ["work", "./work/", "work.tar", "packed.tgz"] {
        lines(&project, tree);
        run(&project, &["--outputs", "outputs/all.jsonl"]).expect(1);
        let made = samples(&project);
        check_outcomes(&made);
        let sample = &made[0].1;
        let changes = &sample["workspace"]["changes"];
        assert_eq!(
            changes["added"],
            json!(["link", "run.sh", "secret/answer"]),
            "{tree}"
        );
        assert_eq!(
            changes["modified"],
            json!(["add.py", "tests/test_add.py"]),
            "{tree}"
        );
        assert_eq!(changes["deleted"], json!(["README", "d/e/f"]), "{tree}");
        let same = first.get_or_insert_with(|| said(sample));
        assert_eq!(*same, said(sample), "{tree}");
        regrade(&project).expect(1);
        assert_eq!(*same, said(&samples(&project)[0].1), "{tree}");
    }
    assert!(!Path::new("/tmp/escaped").exists());
}

#[test]
fn folders_of_recorded_workspaces_are_outputs() {
    let project = recorded();
    let at = |name: &str| project.path().join("outputs").join(name);
    fs::create_dir_all(at("all/fix")).unwrap();
    fs::rename(at("work"), at("all/fix/0")).unwrap();
    tar(
        &project,
        &["-czf", "all/not-fix.tar.gz", "-C", "all/fix/0", "."],
    );
    run(&project, &["--outputs", "outputs/all"]).expect(1);
    check_outcomes(&samples(&project));
    fs::create_dir(at("all/not-fix")).unwrap();
    tar(
        &project,
        &["-cf", "all/not-fix/0.tar", "-C", "all/fix/0", "."],
    );
    let twice = run(&project, &["--outputs", "outputs/all"]).expect(2);
    assert!(
        twice.stderr.contains("already recorded"),
        "{}",
        twice.stderr
    );
    fs::remove_file(at("all/not-fix.tar.gz")).unwrap();
    run(&project, &["--outputs", "outputs/all"]).expect(1);
    check_outcomes(&samples(&project));
}

#[test]
fn hostile_recorded_workspaces_are_errored() {
    let project = recorded();
    let out = |path: &str| project.path().join("outputs").join(path);
    let tree = |name: &str| {
        fs::create_dir(out(name)).unwrap();
        out(name)
    };
    std::os::unix::fs::symlink("/etc/passwd", tree("outside").join("out")).unwrap();
    std::os::unix::fs::symlink(project.path().join("app"), out("elsewhere")).unwrap();
    let pipe = tree("pipe").join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(pipe)
            .status()
            .unwrap()
            .success()
    );
    let python = |script: &str| {
        let done = std::process::Command::new("python3")
            .current_dir(out(""))
            .args(["-c", script])
            .status();
        assert!(done.unwrap().success());
    };
    let entry = |file: &str, of: &str| {
        python(&format!(
            "import io, tarfile\nout = tarfile.open('{file}', 'w')\ninfo = tarfile.TarInfo({of})\nout.addfile(info, io.BytesIO(b''))\nout.close()"
        ));
    };
    entry("up.tar", "'../escaped'");
    entry(
        "device.tar",
        "'null'); info.type = tarfile.CHRTYPE; info.devmajor = 1; (info",
    );
    python(
        "import tarfile\ninfo = tarfile.TarInfo('big')\ninfo.size = 1 << 40\nopen('huge.tar', 'wb').write(info.tobuf(tarfile.GNU_FORMAT))",
    );
    fs::write(out("text.tar"), "not a tar file, whatever its name says").unwrap();
    for (tree, reason) in [
        ("gone", "cannot be read"),
        ("..", "not inside of the recording's folder"),
        (".", "not inside of the recording's folder"),
        ("../app", "not inside of the recording's folder"),
        ("/etc", "not inside of the recording's folder"),
        ("elsewhere", "not inside of the recording's folder"),
        ("outside", "`out` is a link to `/etc/passwd`"),
        ("pipe", "`pipe` is a FIFO"),
        ("up.tar", "`../escaped` points outside of the archive"),
        ("device.tar", "is a device or a pipe"),
        ("huge.tar", "more than 1,000,000 entries or"),
        ("text.tar", "can't be used"),
    ] {
        lines(&project, tree);
        run(&project, &["--outputs", "outputs/all.jsonl"]).expect(3);
        for (_, sample) in samples(&project) {
            assert_eq!(sample["cause"], "missing_output", "{tree}: {sample:#}");
            let said = sample["reason"].as_str().unwrap();
            assert!(said.contains(reason), "{tree}: {said}");
            assert_eq!(sample["workspace"], Value::Null, "{tree}");
        }
    }
    assert!(!out("../escaped").exists());
    // More than a target may leave.
    let text = fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write(
        "suite.yaml",
        &text.replace("from: {dir: app}", "from: {dir: app}, disk_mb: 8"),
    );
    let hole = fs::File::create(tree("holes").join("hole")).unwrap();
    for (bytes, cause) in [(9 << 20, "output_limit"), (1 << 40, "missing_output")] {
        hole.set_len(bytes).unwrap();
        lines(&project, "holes");
        run(&project, &["--outputs", "outputs/all.jsonl"]);
        for (_, sample) in samples(&project) {
            assert_eq!(sample["cause"], cause, "{sample:#}");
        }
    }
}

#[test]
fn folders_of_cases_without_a_workspace_are_no_outputs() {
    let project = Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Words\n  evals: [{$ref: cases.yaml}]\n  target: {type: command, command: [cat]}\n",
        ),
        (
            "cases.yaml",
            "metadata: {id: words, name: Words}\ntest_cases:\n  - {id: a, input: x, expected: ok}\n",
        ),
        ("outputs/a/0.txt", "ok"),
        ("outputs/a/2024/notes", "of the author"),
    ]);
    run(&project, &["--outputs", "outputs"]).expect(0);
    assert_eq!(samples(&project)[0].1["output"], "ok");
}

#[test]
fn workspaces_of_private_cases_are_not_named() {
    let cases = "metadata: {id: work, name: Work}\ndataset: {path: rows.jsonl, private: true, case: {id: '{{ row.id }}', input: x, expected: ok}}\n";
    for (output, expected) in [("0.txt", "another file is sample 0"), ("1/a", "")] {
        let project = recorded();
        project.write("cases.yaml", cases);
        project.write("rows.jsonl", "{\"id\": \"hushed\"}\n");
        fs::create_dir_all(project.path().join("outputs/all/hushed")).unwrap();
        std::os::unix::fs::symlink("/etc", project.path().join("outputs/all/hushed/0")).unwrap();
        project.write(&format!("outputs/all/hushed/{output}"), "x");
        let call = run(&project, &["--outputs", "outputs/all"]);
        assert_ne!(call.code, Some(0));
        let said = format!(
            "{}{}{}",
            call.stdout,
            call.stderr,
            match expected {
                "" => project.report().to_string(),
                _ => String::new(),
            }
        );
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("hushed"), "{said}");
    }
}

#[test]
fn changes_that_a_run_recorded_are_recorded_work() {
    let script =
        "sed -i s/-/+/ add.py; mkdir -p new/empty; rm -r d; ln -s add.py link; chmod +x README";
    let check =
        "grep -q + add.py && test -d new/empty && test ! -e d && test -L link && test -x README";
    let project = project(WORKSPACE, &[work("fix", script, check)]);
    run(&project, &[]).expect(1);
    let made = samples(&project);
    check_outcomes(&made);
    let record = made[0].1["workspace"]["record"].as_str().unwrap();
    let record = fs::read(project.path().join("results/latest").join(record)).unwrap();
    fs::create_dir(project.path().join("outputs")).unwrap();
    let recorded = project.path().join("outputs/work.changes.jsonl.gz");
    fs::write(&recorded, record).unwrap();
    lines(&project, "work.changes.jsonl.gz");
    run(&project, &["--outputs", "outputs/all.jsonl"]).expect(1);
    for ((id, made), (_, again)) in made.iter().zip(&samples(&project)) {
        assert_eq!(said(made), said(again), "{id}: {:#}", again["reason"]);
    }
    for (text, why) in [
        ("{\"path\":\"../x\",\"left\":\"folder\"}\n", "`..`"),
        (
            "{\"path\":\"d\",\"left\":\"nothing\"}\n{\"path\":\"d/x\",\"left\":\"folder\"}\n",
            "",
        ),
        ("no record\n", "expected"),
    ] {
        fs::write(&recorded, gzip(text)).unwrap();
        run(&project, &["--outputs", "outputs/all.jsonl"]);
        let (_, sample) = samples(&project).remove(0);
        if why.is_empty() {
            assert_ne!(sample["outcome"], "passed", "{sample:#}");
            continue;
        }
        assert_eq!(sample["cause"], "patch_rejected", "{sample:#}");
        let reason = sample["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn a_record_says_one_thing_about_a_workspace() {
    let project = recorded();
    let record = json!({"case": "fix", "workspace": "work", "patch": ""});
    let other = json!({"case": "not-fix", "workspace": ["work"]});
    project.write("outputs/all.jsonl", &format!("{record}\n{other}\n"));
    let call = run(&project, &["--outputs", "outputs/all.jsonl"]).expect(2);
    assert!(
        call.stderr.contains("has both `patch` and `workspace`"),
        "{}",
        call.stderr
    );
    assert!(
        call.stderr.contains("`workspace` must be a text"),
        "{}",
        call.stderr
    );
    // Of a case without a workspace.
    let text = fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let text: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains(" workspace:"))
        .collect();
    project.write("suite.yaml", &text.join("\n"));
    let cases =
        "metadata: {id: work, name: Work}\ntest_cases:\n  - {id: fix, input: x, expected: ok}\n";
    project.write("cases.yaml", cases);
    project.write(
        "outputs/all.jsonl",
        &json!({"case": "fix", "output": "ok", "workspace": "work"}).to_string(),
    );
    run(&project, &["--outputs", "outputs/all.jsonl"]).expect(3);
    let (_, sample) = samples(&project).remove(0);
    assert_eq!(sample["cause"], "missing_output", "{sample:#}");
}

#[test]
fn a_changed_recorded_workspace_is_a_changed_recording() {
    let project = recorded();
    lines(&project, "work");
    let args = ["--outputs", "outputs/all.jsonl"];
    run(&project, &args).expect(1);
    let changed = |project: &Project| {
        let call = run(project, &[&args[..], &["--changed"]].concat());
        assert!(matches!(call.code, Some(0 | 1)), "{}", call.stderr);
        let made = samples(project);
        made[0].1["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(changed(&project), "passed");
    project.write("outputs/work/README", "an app");
    assert_eq!(changed(&project), "failed");
}

// References of `check`.

/// A case for each solution; an unchanged workspace fails.
fn proved(solutions: &[(&str, &str)]) -> Project {
    let project = project(
        "{from: {dir: app}, hidden: ['secret/**'], network: all, setup: [[ln, -s, /usr/bin/env, tool]]}",
        &[],
    );
    let case = |(id, solution): &(&str, &str)| {
        format!(
            "  - id: {id}\n    input: Fix add.py\n    solution: {solution}\n    grader: {{type: code, config: {{method: \
             workspace_tests, command: [sh, -ec, 'grep -q \"a + b\" add.py && test -L tool && test -f README && test -f secret/answer'], results: exit_code}}}}\n"
        )
    };
    let cases: String = solutions.iter().map(case).collect();
    project.write(
        "cases.yaml",
        &format!("metadata: {{id: work, name: Work}}\ntest_cases:\n{cases}"),
    );
    project.write("solved/add.py", FIXED);
    project.write("solved/more/notes", "why\n");
    project.write(
        "solve.sh",
        "set -e\ntest ! -e secret\ngrep -q Fix\ntest -z \"$(ls /sys/class/net | grep -v lo)\"\nsed -i s/-/+/ add.py\n",
    );
    project
}

fn check(project: &Project, args: &[&str], code: i32) -> Value {
    let args = [
        &["check", "--suite", "suite.yaml", "--format", "json"],
        args,
    ]
    .concat();
    serde_json::from_str(&project.call(&args).expect(code).stdout).unwrap()
}

const PATCH: &str = "\"diff --git a/add.py b/add.py\\n--- a/add.py\\n+++ b/add.py\\n@@ -1,2 +1,2 @@\\n def add(a, b):\\n-    return a - b\\n\
                     +    return a + b\\n\"";

#[test]
fn references_are_patches_folders_and_commands() {
    let project = proved(&[
        ("patch", PATCH),
        ("folder", "{dir: solved}"),
        ("command", "{command: [sh, solve.sh]}"),
    ]);
    let report = check(&project, &[], 0);
    assert_eq!(report["decision"], "holds", "{report:#}");
    assert_eq!(report["proved_cases"], 3, "{report:#}");
    let tallies = report["probes"].as_array().unwrap();
    let tally = |name: &str| tallies.iter().find(|row| row["name"] == name).unwrap();
    for (name, key) in [
        ("reference", "passed"),
        ("reference, second run", "passed"),
        ("unchanged workspace", "failed"),
    ] {
        assert_eq!(tally(name)[key], 3, "{report:#}");
    }
    // The stamp is of what the solutions are.
    let checked = |code: i32| {
        let line = json!({"case": "patch", "workspace": "solved"}).to_string();
        project.write("outputs.jsonl", &line);
        run(
            &project,
            &["--outputs", "outputs.jsonl", "--case", "patch", "--checked"],
        )
        .expect(code)
    };
    checked(1);
    project.write("solved/more/notes", "other\n");
    let refused = checked(2);
    assert!(
        refused.stderr.contains("no check of this content"),
        "{}",
        refused.stderr
    );
    check(&project, &[], 0);
    checked(1);
    project.write("solve.sh", "sed -i s/-/+/ add.py\n");
    checked(2);
    check(&project, &[], 0);
    checked(1);
    // And of what the workspaces are made of: its tests, for one.
    project.write("app/notes", "other\n");
    checked(2);
}

/// The template holds a file that could not be copied.
#[test]
fn references_and_recorded_patches_copy_no_template() {
    let project = proved(&[
        ("patch", PATCH),
        ("folder", "{dir: solved}"),
        ("command", "{command: [sh, solve.sh]}"),
        (
            "empty",
            "{command: [sh, -c, 'sed -i s/-/+/ add.py; mkdir empty; rm -r d']}",
        ),
    ]);
    project.write("app/large", &"0".repeat(2_000_000));
    let patch: String = serde_json::from_str(PATCH).unwrap();
    let line = json!({"case": "patch", "patch": patch}).to_string();
    project.write("outputs.jsonl", &line);
    let case = ["--outputs", "outputs.jsonl", "--case", "patch"];
    run(&project, &case).expect(0);
    let (_, sample) = samples(&project).remove(0);
    if sample["workspace"].get("copied").is_some() {
        // Without overlays, workspaces are copies.
        return;
    }
    let args = [&["run", "--suite", "suite.yaml", "--quiet"], &case[..]].concat();
    with_full_disk(&project, &args).expect(0);
    let args = ["check", "--suite", "suite.yaml", "--format", "json"];
    let call = with_full_disk(&project, &args).expect(0);
    let report: Value = serde_json::from_str(&call.stdout).unwrap();
    assert_eq!(report["proved_cases"], 4, "{report:#}");
}

#[test]
fn references_that_are_not_made_are_unknown() {
    let project = proved(&[
        ("fails", "{command: [sh, -c, 'echo no luck >&2; exit 3']}"),
        ("links", "{dir: linked}"),
        ("wrong", "{dir: other}"),
        ("right", "{dir: solved}"),
    ]);
    project.write("other/notes", "nothing\n");
    fs::create_dir(project.path().join("linked")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", project.path().join("linked/out")).unwrap();
    let report = check(&project, &[], 1);
    let findings = report["findings"].as_array().unwrap();
    let of = |case: &str| {
        let mut found = findings.iter().filter(|finding| finding["case"] == case);
        let found = found.next().unwrap_or_else(|| panic!("{case}: {report:#}"));
        let text = |key: &str| found[key].as_str().unwrap().to_owned();
        (text("kind"), text("reason"))
    };
    let (kind, reason) = of("fails");
    assert_eq!(kind, "unknown");
    assert!(reason.contains("exited with code 3: no luck"), "{reason}");
    let (kind, reason) = of("links");
    assert_eq!(kind, "unknown");
    assert!(
        reason.contains("`out` is a link to `/etc/passwd`"),
        "{reason}"
    );
    assert_eq!(of("wrong").0, "reference_fails");
    assert_eq!(
        (&report["reference_cases"], &report["proved_cases"]),
        (&4.into(), &1.into())
    );
    // Without one that fails, it is not known whether the suite holds.
    for left_out in ["--case=right", "--case=fails"] {
        let code = if left_out.ends_with("fails") { 3 } else { 0 };
        check(&project, &[left_out], code);
    }
}

#[test]
fn references_of_a_file_may_be_workspaces() {
    let project = proved(&[("a", "\"no patch\""), ("b", "{dir: solved}")]);
    check(&project, &["--case", "a"], 1);
    project.write("done/add.py", FIXED);
    project.write("done/README", "an app");
    project.write("done/tests/test_add.py", "from add import add\n");
    std::os::unix::fs::symlink("/usr/bin/env", project.path().join("done/tool")).unwrap();
    project.write(
        "oracle.jsonl",
        &json!({"case": "a", "workspace": "done"}).to_string(),
    );
    let report = check(&project, &["--oracle", "oracle.jsonl"], 0);
    assert_eq!(report["proved_cases"], 2, "{report:#}");
    fs::remove_file(project.path().join("done/README")).unwrap();
    check(&project, &["--oracle", "oracle.jsonl"], 1);
    project.write(
        "oracle.jsonl",
        &json!({"case": "a", "workspace": "gone"}).to_string(),
    );
    let call = project.call(&["check", "--suite", "suite.yaml", "--oracle", "oracle.jsonl"]);
    assert!(
        call.stderr.contains("the workspace `gone` cannot be read"),
        "{}",
        call.stderr
    );
}

#[test]
fn solutions_that_name_nothing_are_problems() {
    let project = proved(&[
        ("gone", "{dir: gone}"),
        ("file", "{dir: solve.sh}"),
        ("outside", "{dir: ../..}"),
        ("empty", "{command: []}"),
    ]);
    let call = project.call(&["validate", "suite.yaml"]).expect(2);
    let said = [call.stdout, call.stderr].concat();
    for line in [
        "gone",
        "is a file, not a folder",
        "the command has no program",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(said.matches("error").count() >= 4, "{said}");
}
