use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn answers(value: &str) -> ExpectedAnswers {
    Arc::new(vec![ExpectedAnswer {
        value: value.into(),
        seconds: 0.25,
    }])
}

async fn asked(values: &ExpectedValues, content: &str, made: &AtomicUsize) -> String {
    let make = async || {
        made.fetch_add(1, Ordering::Relaxed);
        Ok(answers(content))
    };
    let answers = values.get(&content, make).await.unwrap();
    assert_eq!(answers[0].wall(), Duration::from_millis(250));
    answers[0].value.to_string()
}

#[tokio::test]
async fn answers_are_made_once_by_content_and_kept_between_runs() {
    let (dir, made) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
    for _ in 0..2 {
        let values = ExpectedValues::new(Some(dir.path()));
        for content in ["a", "b", "a"] {
            assert_eq!(asked(&values, content, &made).await, content);
        }
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }
    let nowhere = ExpectedValues::new(None);
    asked(&nowhere, "a", &made).await;
    asked(&nowhere, "a", &made).await;
    assert_eq!(made.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn damaged_file_is_made_again() {
    let (dir, made) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
    asked(&ExpectedValues::new(Some(dir.path())), "a", &made).await;
    let file = fs::read_dir(dir.path().join("expected")).unwrap().next();
    let file = file.unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let values = ExpectedValues::new(Some(dir.path()));
    assert_eq!(asked(&values, "a", &made).await, "a");
    assert_eq!(made.load(Ordering::Relaxed), 2);
    assert_eq!(fs::read(&file).unwrap(), whole);
}
