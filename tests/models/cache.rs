//! The cache and recordings through the program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model_runs::{Asking, Journal, KEY, KEY_ENV, RESUME, RUN};
use crate::model_server::ModelServer;
use crate::support::Project;
use eval_models::CACHE_FILE_NAME;

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// A project whose ten questions are answered and kept.
fn answered(server: &ModelServer) -> (Project, PathBuf) {
    let project = Asking::default().project(server);
    crate::model_runs::call(&project, &RUN).expect(0);
    let file = project.path().join("answers").join(CACHE_FILE_NAME);
    assert!(file.is_file(), "{:?}", names(project.path()));
    (project, file)
}

#[test]
fn a_damaged_cache_is_set_aside_and_the_run_goes_on() {
    let server = ModelServer::kind(0);
    let (project, file) = answered(&server);
    fs::write(&file, "no database ".repeat(1000)).expect("written");
    let call = crate::model_runs::call(&project, &with(&["--cache", "only"])).expect(2);
    assert!(
        call.stderr.contains("is damaged (file is not a database)"),
        "{}",
        call.stderr
    );
    assert!(!call.stderr.contains(KEY));
    let call = crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(
        call.stderr
            .matches("was damaged (file is not a database): it was renamed to")
            .count(),
        1,
        "{}",
        call.stderr
    );
    assert_eq!(server.asked(), 20);
    let call = crate::model_runs::call(&project, &RUN).expect(0);
    assert!(!call.stderr.contains("damaged"), "{}", call.stderr);
    assert_eq!(server.asked(), 20);
    let there = names(&project.path().join("answers"));
    assert!(
        there
            .iter()
            .any(|name| name.starts_with("answers.sqlite.damaged-")),
        "{there:?}"
    );
}

#[test]
fn without_a_sound_cache_only_runs_nothing() {
    let server = ModelServer::kind(0);
    let project = Asking::default().project(&server);
    let call = crate::model_runs::call(&project, &with(&["--cache", "only"])).expect(2);
    assert!(
        call.stderr.contains("no answers are stored there yet"),
        "{}",
        call.stderr
    );
    assert!(!project.path().join("answers").exists() && !project.path().join("results").exists());
    // In its place lies something else: a run that may ask does so.
    fs::create_dir_all(project.path().join("answers").join(CACHE_FILE_NAME)).expect("a folder");
    crate::model_runs::call(&project, &with(&["--cache", "only"])).expect(2);
    let call = crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(
        call.stderr.matches("this run uses no cache").count(),
        1,
        "{}",
        call.stderr
    );
    assert_eq!(server.asked(), 10);
}

#[test]
fn a_suite_says_whether_and_where_answers_are_kept() {
    let server = ModelServer::kind(0);
    let asking = Asking {
        config: "cache: {dir: kept}",
        ..Asking::default()
    };
    let project = asking.project(&server);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert!(project.path().join("kept").join(CACHE_FILE_NAME).is_file());
    assert!(!project.path().join("answers").exists());
    Asking {
        config: "cache: off",
        ..Asking::default()
    }
    .write(&project, &server.url());
    crate::model_runs::call(&project, &RUN).expect(0);
    assert!(!project.path().join("answers").exists());
    assert_eq!(server.asked(), 20);
    crate::model_runs::call(&project, &with(&["--cache", "use"])).expect(0);
    assert!(
        project
            .path()
            .join("answers")
            .join(CACHE_FILE_NAME)
            .is_file()
    );
    Asking {
        config: "cache: sometimes",
        ..Asking::default()
    }
    .write(&project, &server.url());
    let call = crate::model_runs::call(&project, &RUN).expect(2);
    assert!(
        call.stderr.contains("`refresh`") || call.stderr.contains("refresh"),
        "{}",
        call.stderr
    );
}

#[test]
fn runs_that_ask_no_model_make_no_cache() {
    let project = Project::with(&[(
        "suite.yaml",
        "eval_suite:\n  name: s\n  target: {type: echo}\n  evals:\n    - metadata: {id: e}\n      test_cases: [{id: c, input: hi, expected: {type: exact, value: hi}}]\n",
    )]);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert!(!project.path().join("answers").exists());
}

#[test]
fn recordings_are_written_without_secrets_and_found_again() {
    let server = ModelServer::kind(0);
    let project = Asking {
        rows: 3,
        samples: 2,
        ..Asking::default()
    }
    .project(&server);
    crate::model_runs::call(&project, &RUN).expect(0);
    // From the cache, without asking again.
    crate::model_runs::call(&project, &with(&["--record", "rec"])).expect(0);
    assert_eq!(server.asked(), 6);
    let folder = project.path().join("rec/openai-m-1");
    let read = || -> Vec<(String, String)> {
        let text = |name: &String| fs::read_to_string(folder.join(name)).expect("text");
        names(&folder)
            .iter()
            .map(|name| (name.clone(), text(name)))
            .collect()
    };
    let first = read();
    assert_eq!(first.len(), 6, "{:?}", names(&folder));
    assert!(
        first.iter().all(|(name, _)| name.starts_with("case-")),
        "{:?}",
        names(&folder)
    );
    assert!(
        first
            .iter()
            .all(|(_, text)| !text.contains(KEY) && !text.contains(KEY_ENV))
    );
    // The same bytes again, also from answers that were just given the same.
    crate::model_runs::call(&project, &with(&["--record", "rec"])).expect(0);
    assert_eq!(read(), first);
    let both =
        crate::model_runs::call(&project, &with(&["--record", "rec", "--replay", "rec"])).expect(2);
    assert!(
        both.stderr.contains("cannot be used with"),
        "{}",
        both.stderr
    );
    let gone = crate::model_runs::call(&project, &with(&["--replay", "none"])).expect(2);
    assert!(gone.stderr.contains("can't be read"), "{}", gone.stderr);
    // An edited answer is graded; an edited question is out.
    let (name, text) = &first[0];
    fs::write(folder.join(name), text.replace("right case", "wrong case")).expect("written");
    crate::model_runs::call(&project, &with(&["--replay", "rec"])).expect(1);
    assert_eq!(
        Journal::latest(&project).count(|sample| sample.outcome == "failed"),
        1
    );
    fs::write(
        folder.join(name),
        text.replace("\"content\": \"case", "\"content\": \"vase"),
    )
    .expect("written");
    let call = crate::model_runs::call(&project, &with(&["--replay", "rec"]));
    assert!(
        call.stderr
            .contains("its `key` does not match its request, so the file was edited"),
        "{}",
        call.stderr
    );
    assert_eq!(call.code, Some(3), "{}", call.stderr);
    assert_eq!(server.asked(), 6);
}

#[test]
fn a_recorded_run_that_goes_on_elsewhere_writes_to_the_same_folder() {
    let server = ModelServer::kind(0);
    let project = Asking {
        rows: 4,
        ..Asking::default()
    }
    .project(&server);
    fs::create_dir(project.path().join("below")).expect("a folder");
    crate::model_runs::call(&project, &with(&["--record", "rec", "--samples", "1"])).expect(0);
    fs::remove_dir_all(project.path().join("rec")).expect("removed");
    let suite = project.path().join("suite.yaml").display().to_string();
    let mut command = crate::model_runs::command(
        &project,
        &[&RESUME[..], &["--samples", "2", "--suite", &suite]].concat(),
    );
    let call = crate::support::Call::of(
        command
            .current_dir(project.path().join("below"))
            .output()
            .expect("it starts"),
    );
    let call = call.expect(0);
    assert_eq!(server.asked(), 8, "{}", call.stderr);
    assert_eq!(
        names(&project.path().join("rec/openai-m-1")).len(),
        4,
        "what was answered now"
    );
    assert!(!project.path().join("below/rec").exists());
}

#[test]
fn the_cache_is_looked_at_pruned_and_cleared() {
    let server = ModelServer::kind(0);
    let empty = Project::new();
    let call = crate::model_runs::call(&empty, &["cache", "stats"]).expect(0);
    assert!(call.stdout.contains("no cache yet"), "{}", call.stdout);
    let call = crate::model_runs::call(&empty, &["cache", "prune", "--older-than", "1d"]).expect(0);
    assert!(
        call.stdout.starts_with("there is no cache at "),
        "{}",
        call.stdout
    );
    assert!(names(empty.path()) == [".git"], "looking makes nothing");

    let (project, file) = answered(&server);
    let json = |project: &Project| -> serde_json::Value {
        let call =
            crate::model_runs::call(project, &["cache", "stats", "--format", "json"]).expect(0);
        serde_json::from_str(&call.stdout).expect("JSON")
    };
    let told = json(&project);
    assert_eq!(
        (
            told["entries"].as_u64(),
            told["models"][0]["model"].as_str()
        ),
        (Some(10), Some("openai:m-1"))
    );
    assert_eq!(
        told["path"].as_str(),
        Some(file.display().to_string().as_str())
    );
    let page = crate::model_runs::call(&project, &["cache", "stats"])
        .expect(0)
        .stdout;
    assert!(
        page.contains("10 answers, ") && page.contains("openai:m-1"),
        "{page}"
    );
    let call =
        crate::model_runs::call(&project, &["cache", "prune", "--older-than", "30d"]).expect(0);
    assert!(
        call.stdout.starts_with("nothing to remove (10 left, "),
        "{}",
        call.stdout
    );
    crate::model_runs::call(&project, &["cache", "prune"]).expect(2);
    let unasked = crate::model_runs::call(&project, &["cache", "clear"]).expect(2);
    assert!(
        unasked.stderr.contains("would remove 10 answers") && unasked.stderr.contains("--yes"),
        "{}",
        unasked.stderr
    );
    let stranger =
        crate::model_runs::call(&project, &["cache", "clear", "--model", "other:*", "--yes"])
            .expect(2);
    assert!(
        stranger.stderr.contains("openai:m-1"),
        "{}",
        stranger.stderr
    );
    assert_eq!(json(&project)["entries"], 10);
    let call = crate::model_runs::call(
        &project,
        &["cache", "clear", "--model", "openai:*", "--yes"],
    )
    .expect(0);
    assert!(
        call.stdout
            .starts_with("removed 10 answers (none left); freed "),
        "{}",
        call.stdout
    );
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 20);
    let elsewhere =
        crate::model_runs::call(&project, &["cache", "stats", "--dir", "none"]).expect(0);
    assert!(
        elsewhere.stdout.contains("no cache yet"),
        "{}",
        elsewhere.stdout
    );
}

#[test]
fn a_recorded_run_goes_on_from_its_recordings() {
    let server = ModelServer::kind(0);
    let asking = Asking {
        rows: 4,
        config: "cache: off",
        ..Asking::default()
    };
    let project = asking.project(&server);
    crate::model_runs::call(&project, &with(&["--record", "rec", "--samples", "2"])).expect(0);
    crate::model_runs::call(&project, &with(&["--record", "rec", "--samples", "1"])).expect(0);
    assert_eq!(server.asked(), 12);
    let call = crate::model_runs::call(
        &project,
        &[&RESUME[..], &["--samples", "2", "--replay", "rec"]].concat(),
    );
    let call = call.expect(0);
    assert_eq!(
        server.asked(),
        12,
        "the one that is typed now holds: {}",
        call.stderr
    );
}
