//! Defaults from `.eval-harness.yaml`, and suites that are found above the working folder.

use crate::support::{Call, Project};

const SUITE: &str = "eval_suite:\n  name: s\n  targets:\n    default: {type: echo}\n    other: {type: echo}\n  \
                     evals:\n    - {id: e, prompt: x, expected: x}\n";

/// A call of the program in a folder of the project.
fn call_in(project: &Project, folder: &str, args: &[&str]) -> Call {
    let dir = project.path().join(folder);
    std::fs::create_dir_all(&dir).expect("a folder");
    let mut command = project.command(args);
    Call::of(
        command
            .current_dir(dir)
            .output()
            .expect("the program starts"),
    )
}

/// The files of the only day of results in a folder, by their ending.
fn endings(project: &Project, results: &str) -> Vec<String> {
    let day = project.path().join(results).join("latest");
    let files = std::fs::read_dir(day).expect("results");
    let mut endings: Vec<String> = files
        .map(|file| {
            file.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| !name.contains("journal"))
        .filter_map(|name| Some(name.rsplit_once('.')?.1.to_owned()))
        .collect();
    endings.sort();
    endings
}

#[test]
fn suite_is_found_above_up_to_the_project_root() {
    let project = Project::with(&[("evals/eval-suite.yaml", SUITE)]);
    let run = call_in(&project, "src/deep", &["run", "--progress", "none"]).expect(0);
    assert!(
        run.stderr.contains("suite: ../../evals/eval-suite.yaml\n"),
        "{}",
        run.stderr
    );
    assert!(project.path().join("results/latest").exists());
    assert!(!project.path().join("src/deep/results").exists());
    for args in [&["validate"][..], &["list"]] {
        let call = call_in(&project, "src/deep", args).expect(0);
        assert!(
            call.stderr.contains("suite: ../../evals/eval-suite.yaml"),
            "{}",
            call.stderr
        );
    }
    for args in [&["report"][..], &["show", "e"], &["runs"], &["history"]] {
        call_in(&project, "src/deep", args).expect(0);
    }
    // In the folder of the suite no note is printed.
    let here = project.call(&["run", "--progress", "none"]).expect(0);
    assert!(!here.stderr.contains("suite:"), "{}", here.stderr);
    let quiet = call_in(&project, "src/deep", &["run", "--quiet"]).expect(0);
    assert!(!quiet.stderr.contains("suite:"), "{}", quiet.stderr);
}

#[test]
fn suite_above_the_project_root_is_not_used() {
    let project = Project::with(&[("evals/eval-suite.yaml", SUITE)]);
    std::fs::create_dir_all(project.path().join("inner/.git")).expect("a folder");
    let call = call_in(&project, "inner/src", &["run"]).expect(2);
    assert!(
        call.stderr
            .contains("in a folder above, up to the project root"),
        "{}",
        call.stderr
    );
}

#[test]
fn run_that_was_started_below_goes_on_from_elsewhere() {
    let project = Project::with(&[("evals/eval-suite.yaml", SUITE)]);
    call_in(&project, "src/deep", &["run", "--progress", "none"]).expect(0);
    let args = [
        "run",
        "--resume",
        "latest",
        "--samples",
        "2",
        "--progress",
        "none",
    ];
    call_in(&project, "other", &args).expect(0);
    let report = project.report();
    assert_eq!(
        report["evals"][0]["cases"][0]["samples"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn defaults_are_overridden_by_the_command_line() {
    let project = Project::with(&[
        ("tests/llm/suite.yaml", SUITE),
        (
            ".eval-harness.yaml",
            "suite: tests/llm/suite.yaml\noutput_dir: build/evals\nformat: [json, junit]\njobs: 2\nprogress: plain\n",
        ),
    ]);
    let run = call_in(&project, "src", &["run"]).expect(0);
    assert!(
        run.stderr.contains("suite: ../tests/llm/suite.yaml"),
        "{}",
        run.stderr
    );
    assert_eq!(endings(&project, "build/evals"), ["json", "xml"]);
    // Other verbs use the same suite and folder.
    for args in [
        &["report"][..],
        &["show", "e"],
        &["runs"],
        &["history"],
        &["list"],
        &["validate"],
    ] {
        call_in(&project, "src", args).expect(0);
    }
    let args = ["run", "--output-dir", "mine", "--format", "markdown"];
    call_in(&project, "src", &args).expect(0);
    assert_eq!(endings(&project, "src/mine"), ["md"]);
}

#[test]
fn defaults_apply_to_each_run_of_several() {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        (".eval-harness.yaml", "output_dir: out\nformat: [junit]\n"),
    ]);
    let args = [
        "run",
        "--target",
        "default",
        "--target",
        "other",
        "--progress",
        "none",
    ];
    call_in(&project, "src", &args).expect(0);
    // The report on both of them is JSON and Markdown.
    assert_eq!(endings(&project, "out"), ["json", "md", "xml", "xml"]);
    assert!(!project.path().join("results").exists());
}

#[test]
fn defaults_are_not_recorded_when_a_run_is_resumed() {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        (".eval-harness.yaml", "output_dir: out\n"),
    ]);
    call_in(&project, ".", &["run", "--quiet"]).expect(0);
    // The suite is that of the run, whatever the default is now.
    project.write(".eval-harness.yaml", "output_dir: out\nsuite: none.yaml\n");
    for (folder, samples) in [("other", "2"), (".", "3")] {
        let args = ["run", "--resume", "latest", "--samples", samples, "--quiet"];
        call_in(&project, folder, &args).expect(0);
    }
    let day = project.path().join("out/latest");
    let files = std::fs::read_dir(day).expect("results");
    let mut journals = files
        .map(|file| file.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".journal.jsonl"));
    let journal = std::fs::read_to_string(journals.next().expect("a journal")).expect("a journal");
    assert!(journal.contains("\"--suite\""), "{journal}");
    assert!(!journal.contains("--output-dir"), "{journal}");
}

#[test]
fn runs_of_a_given_suite_are_not_those_of_the_default_folder() {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        (".eval-harness.yaml", "output_dir: out\n"),
    ]);
    for _ in 0..2 {
        project.call(&["run", "--quiet"]).expect(0);
    }
    let suite = ["--suite", "evals/eval-suite.yaml"];
    let _ = project.call(&[&["runs", "prune", "--keep", "1"], &suite[..]].concat());
    let count = |more: &[&str]| {
        let args = [&["runs", "--all", "--format", "json"], more].concat();
        let listed = project.call(&args).expect(0).stdout;
        let listed: Vec<serde_json::Value> = serde_json::from_str(&listed).expect("JSON");
        listed.len()
    };
    assert_eq!((count(&[]), count(&suite)), (2, 0));
}

#[test]
fn nearest_file_of_defaults_counts_alone() {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        (".eval-harness.yaml", "output_dir: far\nformat: [json]\n"),
        ("a/.eval-harness.yaml", "# nothing yet\noutput_dir: near\n"),
        ("b/.eval-harness.yaml", "# nothing yet\n"),
    ]);
    call_in(&project, "a/src", &["run", "--progress", "none"]).expect(0);
    assert!(project.path().join("a/near/latest").exists());
    call_in(&project, "b", &["run", "--progress", "none"]).expect(0);
    assert!(project.path().join("results/latest").exists());
    assert!(!project.path().join("far").exists());
}

#[test]
fn wrong_file_of_defaults_is_refused_with_its_places() {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        (
            ".eval-harness.yaml",
            "job: 3\nthresholds: {pass@1: 1}\ncolor: blue\n",
        ),
    ]);
    let refused = project.call(&["run"]).expect(2);
    insta::assert_snapshot!(refused.stderr, @"
    error[EH0201]: unknown key `job`
     --> .eval-harness.yaml:1:1
      |
    1 | job: 3
      | ^^^
      |
      = help: did you mean `jobs`?

    error[EH0201]: unknown key `thresholds`
     --> .eval-harness.yaml:2:1
      |
    1 | job: 3
    2 | thresholds: {pass@1: 1}
      | ^^^^^^^^^^
      |
      = help: valid keys: `ci`, `color`, `format`, `jobs`, `output_dir`, `progress`, `suite`

    error[EH0204]: `blue` is not a valid value of `color`: expected one of `auto`, `always`, `never`
     --> .eval-harness.yaml:3:8
      |
    2 | thresholds: {pass@1: 1}
    3 | color: blue
      |        ^^^^

    3 errors
    error: 3 problems in .eval-harness.yaml; nothing ran
    ");
    // `validate` checks it like other files; help and `doctor` work without it.
    project.call(&["validate", ".eval-harness.yaml"]).expect(2);
    project.call(&["run", "--help"]).expect(0);
    project.call(&["doctor"]);
}

#[test]
fn no_color_of_the_environment_overrides_the_file() {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        (".eval-harness.yaml", "color: always\n"),
    ]);
    let plain = project.call(&["list"]).expect(0);
    assert!(!plain.stdout.contains('\x1b'), "NO_COLOR is set");
    let mut command = project.command(&["doctor"]);
    let colored = Call::of(command.env_remove("NO_COLOR").output().expect("it starts"));
    assert!(colored.stdout.contains('\x1b'), "{}", colored.stdout);
    let typed = project.call(&["doctor", "--color", "always"]);
    assert!(typed.stdout.contains('\x1b'), "{}", typed.stdout);
}

#[test]
fn doctor_shows_what_applies_here() {
    let suite = SUITE.replace(
        "default: {type: echo}",
        "default: {type: model, model: 'openai:m'}",
    );
    let project = Project::with(&[
        ("evals/eval-suite.yaml", &suite),
        ("evals/.env", "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n"),
        (".eval-harness.yaml", "output_dir: out\njobs: 3\n"),
    ]);
    let dir = project.path().join("src");
    std::fs::create_dir(&dir).expect("a folder");
    let mut command = project.command(&["doctor"]);
    command.env_remove("OPENAI_API_KEY");
    let call = Call::of(command.current_dir(dir).output().expect("it starts"));
    let (_, shown) = call
        .stdout
        .split_once("Configuration\n")
        .expect("a section");
    let shown = shown
        .split_once("\n\n")
        .map_or(shown, |(section, _)| section);
    let root = project.path().canonicalize().expect("a path");
    let shown = shown.replace(&root.display().to_string(), "ROOT");
    insta::assert_snapshot!(shown, @"
    ✓ .eval-harness.yaml    2 defaults
                            ROOT/.eval-harness.yaml
    ✓ jobs (default)        3
    ✓ output_dir (default)  ROOT/out
    ✓ suite                 ../evals/eval-suite.yaml
    ! openai:m              http://127.0.0.1:9/v1 (from OPENAI_BASE_URL), key from
                            the variable OPENAI_API_KEY, which is not set
    ");
}
