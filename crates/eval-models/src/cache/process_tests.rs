use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;
use crate::CACHE_FILE_NAME;
use crate::key::KeyedQuestion;
use crate::testing::{call, completion, endpoint};

const WORK: &str = "CACHE_TEST_WORK";

fn key(n: usize) -> QuestionKey {
    KeyedQuestion::of(&endpoint("m-1"), &call(&format!("question {n}"))).key()
}

fn kept(text: String) -> StoredAnswer {
    StoredAnswer {
        completion: completion(&text, None),
        answered_at: "2026-03-04T05:06:07.089Z".into(),
    }
}

fn open(file: &Path) -> AnswerCache {
    AnswerCache::open(file, "2026-03-04T05:06:07Z".parse().expect("a time")).expect("a cache")
}

/// This test again as a process of its own, which finds in the variable what it is to do.
fn worker(test: &str, work: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    let (_, module) = module_path!().split_once("::").expect("a module");
    let test = format!("{module}::{test}");
    command
        .args(["--exact", &test, "--nocapture"])
        .env(WORK, work);
    command.stdout(Stdio::piped()).spawn().expect("a process")
}

#[test]
fn two_processes_write_and_read_one_file_at_once() {
    const EACH: usize = 2000;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    if let Ok(work) = std::env::var(WORK) {
        let (who, file) = work.split_once(' ').expect("who and where");
        let cache = open(Path::new(file));
        // Half of the questions are those of the other one, too.
        let first = if who == "one" { 0 } else { EACH / 2 };
        runtime.block_on(async {
            for n in first..first + EACH {
                cache
                    .put(&key(n), "openai:m-1", &kept(format!("{n} of {who}")), None)
                    .await;
                let text = cache
                    .get(&key(n))
                    .expect("what was put is there")
                    .completion
                    .text;
                assert!(text.starts_with(&format!("{n} of ")), "{text}");
            }
        });
        assert_eq!(cache.take_warnings(), Vec::<String>::new());
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("new").join(CACHE_FILE_NAME);
    let test = "two_processes_write_and_read_one_file_at_once";
    let children = ["one", "two"].map(|who| worker(test, &format!("{who} {}", file.display())));
    for child in children {
        let output = child.wait_with_output().expect("a child of ours");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let found = stats(&file).expect("sound").expect("there");
    assert_eq!(found.entries, (EACH + EACH / 2) as u64);
    let cache = open(&file);
    for n in 0..EACH + EACH / 2 {
        let text = cache.get(&key(n)).expect("there").completion.text;
        let whose = match n {
            n if n < EACH / 2 => text == format!("{n} of one"),
            n if n >= EACH => text == format!("{n} of two"),
            n => text == format!("{n} of one") || text == format!("{n} of two"),
        };
        assert!(whose, "{n}: {text}");
    }
    assert_eq!(cache.take_warnings(), Vec::<String>::new());
}

#[test]
fn what_was_put_survives_the_end_of_the_process() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    if let Ok(file) = std::env::var(WORK) {
        let cache = open(Path::new(&file));
        runtime.block_on(async {
            for n in 0.. {
                cache
                    .put(&key(n), "openai:m-1", &kept(format!("answer {n}")), None)
                    .await;
                println!("put {n}");
            }
        });
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join(CACHE_FILE_NAME);
    let mut child = worker(
        "what_was_put_survives_the_end_of_the_process",
        &file.display().to_string(),
    );
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut last = None;
    for line in lines.map_while(Result::ok) {
        last = line
            .strip_prefix("put ")
            .and_then(|n| n.parse::<usize>().ok())
            .or(last);
        if last == Some(300) {
            child.kill().expect("a child of ours");
        }
    }
    child.wait().expect("a child of ours");
    let last = last.expect("it came that far");
    let cache = open(&file);
    for n in 0..=last {
        let found = cache.get(&key(n)).map(|kept| kept.completion.text);
        assert_eq!(
            found,
            Some(format!("answer {n}")),
            "{n} of {last} was put before the process was killed"
        );
    }
    assert_eq!(cache.take_warnings(), Vec::<String>::new());
}
