use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::cache::StoredAnswer;
use crate::key::KeyedQuestion;
use crate::{
    CallIndex, ChatMessage, Completion, Endpoint, FinishReason, ModelRequest, SamplingOptions,
    TokenCounts,
};
use eval_base::redact::Redactor;

fn endpoint() -> Endpoint {
    let mut endpoint = crate::key::tests::endpoint();
    endpoint
        .headers
        .insert("Authorization".into(), "Bearer hidden-token".into());
    endpoint
}

fn call(prompt: &str) -> ModelRequest {
    ModelRequest {
        system: Some("Be brief.".into()),
        messages: vec![ChatMessage::user(prompt)],
        sampling: SamplingOptions {
            temperature: Some(0.0),
            ..SamplingOptions::default()
        },
        index: CallIndex::default(),
        timeout: Duration::from_secs(60),
    }
}

fn kept(text: &str) -> StoredAnswer {
    StoredAnswer {
        completion: Completion {
            text: text.into(),
            tool_calls: None,
            finish: FinishReason::Stop,
            tokens: Some(TokenCounts {
                input: 12,
                output: 3,
                ..TokenCounts::default()
            }),
            model: Some("small-1-0304".into()),
            thoughts: None,
        },
        answered_at: "2026-03-04T05:06:07.089Z".into(),
    }
}

/// A folder, and what is recorded in it.
struct Place {
    dir: tempfile::TempDir,
    secrets: Vec<String>,
}

impl Place {
    fn new() -> Place {
        Place {
            dir: tempfile::tempdir().expect("a folder"),
            secrets: Vec::new(),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn recorder(&self) -> ExchangeRecorder {
        ExchangeRecorder::open(self.path(), Redactor::new(self.secrets.clone())).expect("open")
    }

    /// Records in a run of its own.
    fn record(&self, call: &ModelRequest, kept: &StoredAnswer) {
        self.record_of(&endpoint(), call, kept);
    }

    fn record_of(&self, endpoint: &Endpoint, call: &ModelRequest, kept: &StoredAnswer) {
        let recorder = self.recorder();
        let question = KeyedQuestion::of(endpoint, call);
        recorder.keep(endpoint, &question, &question.key(), kept);
        assert_eq!(recorder.take_warning(), None);
    }

    fn open(&self) -> RecordingIndex {
        RecordingIndex::open(self.path()).expect("open").0
    }

    fn find(&self, call: &ModelRequest) -> Result<StoredAnswer, String> {
        let question = KeyedQuestion::of(&endpoint(), call);
        let redactor = Redactor::new(self.secrets.clone());
        self.open()
            .find(&question.key(), &question, &redactor)
            .map_err(|why| self.scrubbed(&why))
    }

    fn warnings(&self) -> String {
        let (_, warnings) = RecordingIndex::open(self.path()).expect("open");
        self.scrubbed(&warnings.join("\n"))
    }

    fn scrubbed(&self, text: &str) -> String {
        text.replace(&self.path().display().to_string(), "DIR")
    }

    /// Paths of all recordings, relative to the folder.
    fn files(&self) -> Vec<String> {
        fn below(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    below(&path, found)
                } else {
                    found.push(path)
                }
            }
        }
        let mut found = Vec::new();
        below(self.path(), &mut found);
        found.sort();
        let relative = |path: &PathBuf| {
            path.strip_prefix(self.path())
                .expect("below")
                .display()
                .to_string()
        };
        found.iter().map(relative).collect()
    }

    fn only(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        self.path().join(&files[0])
    }

    fn change(&self, from: &str, to: &str) {
        let (path, text) = (self.only(), fs::read_to_string(self.only()).expect("text"));
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).expect("written");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
}

#[test]
fn a_recording_is_a_file_that_people_can_read() {
    let place = Place::new();
    let long = "What is 2 + 2?\nThink, then answer\u{1b}[31m with the number and nothing else.";
    place.record(&call(long), &kept("4"));
    insta::assert_snapshot!(place.files().join("\n"), @"openai-small-1/what-is-2-2-think-then-answer-with-the-n-1e0674e2a572.json");
    insta::assert_snapshot!(fs::read_to_string(place.only()).expect("text"), @r#"
    {
      "format_version": 1,
      "key": "1e0674e2a57226c07ba6b37004c8767d6cbb50114d3cc9df6bc901135b465421",
      "request": {
        "api": "openai",
        "base_url": "https://api.example.org/v1",
        "model": "small-1",
        "headers": {
          "x-team": "evals"
        },
        "system": "Be brief.",
        "messages": [
          {
            "role": "user",
            "content": "What is 2 + 2?\nThink, then answer\u001b[31m with the number and nothing else."
          }
        ],
        "sampling": {
          "temperature": 0.0
        }
      },
      "answer": {
        "text": "4",
        "finish": "stop",
        "tokens": {
          "input": 12,
          "output": 3,
          "cached_input": 0,
          "cache_write": 0
        },
        "model": "small-1-0304"
      },
      "answered_at": "2026-03-04T05:06:07.089Z"
    }
    "#);
    assert_eq!(place.find(&call(long)), Ok(kept("4")));
}

#[test]
fn a_question_that_was_not_recorded_is_told_by_its_beginning() {
    let place = Place::new();
    place.record(&call("What is 2 + 2?"), &kept("4"));
    let long = format!("What is the {} answer?", "very ".repeat(40));
    insta::assert_snapshot!(place.find(&call(&long)).unwrap_err(), @r#"DIR has no recorded answer to this request ("What is the very very very very very very very …"); record it with --record"#);
    let second = ModelRequest {
        index: CallIndex {
            sample: 3,
            attempt: 1,
            vote: 0,
        },
        ..call("What is 2 + 2?")
    };
    insta::assert_snapshot!(place.find(&second).unwrap_err(), @r#"DIR has no recorded answer to this request ("What is 2 + 2?", sample 3, attempt 1); record it with --record"#);
    assert_eq!(place.open().answers.len(), 1);
    let gone = RecordingIndex::open(&place.path().join("none")).expect_err("no folder");
    assert!(matches!(gone, RecordingsError::Unreadable { .. }), "{gone}");
}

#[test]
fn what_is_recorded_again_with_the_same_answer_stays_as_it_is() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    let first = fs::read(place.only()).expect("bytes");
    place.record(
        &call("a"),
        &StoredAnswer {
            answered_at: "2027-01-01T00:00:00.000Z".into(),
            ..kept("4")
        },
    );
    assert_eq!(fs::read(place.only()).expect("bytes"), first);
    let other = StoredAnswer {
        answered_at: "2027-01-01T00:00:00.000Z".into(),
        ..kept("5")
    };
    place.record(&call("a"), &other);
    assert_eq!(place.find(&call("a")), Ok(other));
    // Renamed by people, or of a provider that the suite names otherwise by now: the same file.
    fs::create_dir(place.path().join("mine")).expect("made");
    fs::rename(place.only(), place.path().join("mine/sums.json")).expect("renamed");
    place.record_of(
        &Endpoint {
            provider: "gateway".into(),
            ..endpoint()
        },
        &call("a"),
        &kept("6"),
    );
    assert_eq!(place.find(&call("a")), Ok(kept("6")));
    assert!(
        place.files().contains(&"mine/sums.json".to_owned()) && place.files().len() == 1,
        "{:?}",
        place.files()
    );
}

#[test]
fn in_one_run_the_first_answer_to_a_question_stays() {
    let place = Place::new();
    let (recorder, question) = (place.recorder(), KeyedQuestion::of(&endpoint(), &call("a")));
    for text in ["first", "second"] {
        recorder.keep(&endpoint(), &question, &question.key(), &kept(text));
    }
    assert_eq!(place.find(&call("a")), Ok(kept("first")));
    // One that could not be used gives way.
    recorder.forget(&question.key());
    recorder.keep(&endpoint(), &question, &question.key(), &kept("third"));
    assert_eq!(place.find(&call("a")), Ok(kept("third")));
}

#[test]
fn secrets_are_cut_and_an_answer_that_held_one_is_not_used() {
    let mut place = Place::new();
    place.secrets = vec!["hunter2hunter2".into()];
    let asked = call("My password is hunter2hunter2, is it strong?");
    place.record(&asked, &kept("No."));
    let text = fs::read_to_string(place.only()).expect("text");
    assert!(
        !text.contains("hunter2") && !text.contains("hidden-token"),
        "{text}"
    );
    assert!(
        text.contains("My password is [redacted], is it strong?"),
        "{text}"
    );
    assert!(!place.only().display().to_string().contains("hunter2"));
    // Found by the key of what was asked, which nobody can compute from the file.
    assert_eq!(place.find(&asked), Ok(kept("No.")));
    assert_eq!(place.warnings(), "");
    place.record(&asked, &kept("hunter2hunter2 is weak"));
    let text = fs::read_to_string(place.only()).expect("text");
    assert!(
        text.contains("[redacted] is weak") && !text.contains("hunter2"),
        "{text}"
    );
    insta::assert_snapshot!(place.find(&asked).unwrap_err(), @"the recorded answer DIR/openai-small-1/my-password-is-redacted-is-it-strong-aebabafff33f.json contained a secret that was redacted, so the graded text is unknown; record it again with --record once its answers contain no secret");
    // Only cut in the answer: the request is checked as ever.
    let place = Place {
        secrets: vec!["hunter2hunter2".into()],
        ..Place::new()
    };
    place.record(&call("a"), &kept("hunter2hunter2"));
    assert!(
        place
            .find(&call("a"))
            .unwrap_err()
            .contains("contained a secret")
    );
    place.change("Be brief.", "Be long.");
    assert!(
        place
            .warnings()
            .contains("its `key` does not match its request"),
        "{}",
        place.warnings()
    );
}

#[test]
fn half_of_a_secret_is_not_told_either() {
    let secret = "sk-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789";
    let place = Place {
        secrets: vec![secret.into()],
        ..Place::new()
    };
    // The beginning that is told would end within the secret.
    let why = place
        .find(&call(&format!("Log in with {secret} and say hello")))
        .unwrap_err();
    assert!(!why.contains("sk-0123"), "{why}");
    assert!(
        why.contains("(\"Log in with [redacted] and say hello\")"),
        "{why}"
    );
    let endpoint = Endpoint {
        model: format!("tuned-{secret}"),
        ..endpoint()
    };
    place.record_of(&endpoint, &call("a"), &kept("4"));
    assert!(
        place.files().iter().all(|file| !file.contains(secret)),
        "{:?}",
        place.files()
    );
}

#[test]
fn an_answer_without_a_word_and_without_a_call_is_none_however_it_is_written() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    let text = fs::read_to_string(place.only()).expect("text");
    let sound: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for answer in [
        json!(""),
        json!({"text": "", "tool_calls": []}),
        json!({"text": " ", "tool_calls": null}),
        json!({"text": "", "tool_calls": {}, "finish": "tool_calls"}),
        json!({"text": "", "finish": "tool_calls"}),
    ] {
        let mut file = sound.clone();
        file["answer"] = answer.clone();
        fs::write(place.only(), file.to_string()).expect("written");
        assert!(
            place.warnings().contains("its answer is empty"),
            "{answer}: {}",
            place.warnings()
        );
        assert!(place.find(&call("a")).is_err(), "{answer}");
    }
    let mut file = sound.clone();
    file["answer"] = json!({"text": "four", "tool_calls": []});
    fs::write(place.only(), file.to_string()).expect("written");
    let completion = place.find(&call("a")).expect("found").completion;
    assert_eq!(
        (completion.tool_calls, completion.finish),
        (None, FinishReason::Stop)
    );
}

#[test]
fn when_it_was_answered_is_a_time() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    place.change("2026-03-04T05:06:07.089Z", "2026-03-04T01:00:00+02:00");
    assert_eq!(
        place.find(&call("a")).expect("found").answered_at,
        "2026-03-03T23:00:00.000Z"
    );
    place.change("2026-03-04T01:00:00+02:00", "2026-03-04");
    assert_eq!(
        place.find(&call("a")).expect("found").answered_at,
        "2026-03-04T00:00:00.000Z"
    );
    place.change("\"2026-03-04\"", "\"0 days ago\"");
    assert!(
        place
            .warnings()
            .contains("its `answered_at` is not a time such as "),
        "{}",
        place.warnings()
    );
}

#[test]
fn a_pipe_among_recordings_holds_nobody_up() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    let pipe = place.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo");
    assert!(made.success());
    assert_eq!(
        place.warnings(),
        "DIR/pipe.json: it is not a regular file; it is not used"
    );
    assert_eq!(place.find(&call("a")), Ok(kept("4")));
}

#[test]
fn an_answer_may_be_edited_and_a_request_may_not() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    place.change("\"text\": \"4\"", "\"text\": \"four\"");
    assert_eq!(place.find(&call("a")), Ok(kept("four")));
    place.change("\"content\": \"a\"", "\"content\": \"b\"");
    insta::assert_snapshot!(place.warnings(), @"DIR/openai-small-1/a-bb2e1134dedf.json: its `key` does not match its request, so the file was edited; remove `key` to use the request; it is not used");
    assert!(place.find(&call("a")).is_err() && place.find(&call("b")).is_err());
}

#[test]
fn people_write_recordings_with_a_request_and_an_answer() {
    let place = Place::new();
    let request = json!({
        "api": "openai", "base_url": "https://api.example.org/v1", "model": "small-1",
        "headers": {"x-team": "evals"}, "system": "Be brief.",
        "messages": [{"role": "user", "content": "a"}], "sampling": {"temperature": 0},
    });
    place.write(
        "a.json",
        &json!({"request": request, "answer": "by hand"}).to_string(),
    );
    let by_hand = Completion {
        tokens: None,
        model: None,
        ..kept("by hand").completion
    };
    let found = place.find(&call("a")).expect("found");
    assert_eq!(
        (&found.completion, found.answered_at.as_str()),
        (&by_hand, "")
    );
    let cut = json!({"text": "by hand", "finish": "length"});
    place.write(
        "a.json",
        &json!({"request": request, "answer": cut}).to_string(),
    );
    assert_eq!(
        place.find(&call("a")).expect("found").completion.finish,
        FinishReason::Length
    );
}

#[test]
fn two_answers_to_one_question_are_an_error_and_the_same_one_twice_is_none() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    let copy = place.path().join("zcopy.json");
    fs::copy(place.only(), &copy).expect("copied");
    assert_eq!(place.find(&call("a")), Ok(kept("4")));
    let text = fs::read_to_string(&copy).expect("text");
    fs::write(&copy, text.replace("\"text\": \"4\"", "\"text\": \"5\"")).expect("written");
    let error = RecordingIndex::open(place.path())
        .expect_err("two answers")
        .to_string();
    insta::assert_snapshot!(place.scrubbed(&error), @"DIR/openai-small-1/a-bb2e1134dedf.json and DIR/zcopy.json contain different answers to the same request; remove one of them");
}

#[test]
fn a_file_that_is_no_recording_is_out_and_told() {
    let place = Place::new();
    place.record(&call("a"), &kept("4"));
    let sound = fs::read_to_string(place.only()).expect("text");
    place.write("b/broken.json", &sound[..sound.len() - 40]);
    place.write("b/empty.json", "");
    place.write(
        "b/later.json",
        &sound.replace("\"format_version\": 1", "\"format_version\": 2"),
    );
    place.write("b/list.json", "[1, 2]");
    place.write("b/key.json", &sound.replace("\"key\": \"", "\"key\": \"x"));
    place.write(
        "b/nothing.json",
        &sound.replace("\"text\": \"4\"", "\"text\": \" \""),
    );
    place.write("b/odd.json", &sound.replace("\"system\"", "\"sytsem\""));
    place.write("b/readme.md", "not looked at");
    std::os::unix::fs::symlink("..", place.path().join("b/up")).expect("a link");
    std::os::unix::fs::symlink("gone", place.path().join("b/gone.json")).expect("a link");
    insta::assert_snapshot!(place.warnings(), @"
    DIR/b/broken.json: EOF while parsing a string at line 33 column 6; it is not used
    DIR/b/empty.json: EOF while parsing a value at line 1 column 0; it is not used
    DIR/b/gone.json: No such file or directory (os error 2); it is not used
    DIR/b/key.json: its key is not 64 hex digits; it is not used
    DIR/b/later.json: `format_version` 2 is not supported; this version reads 1; it is not used
    DIR/b/list.json: invalid type: integer `2`, expected a string at line 1 column 5; it is not used
    DIR/b/nothing.json: its answer is empty; it is not used
    DIR/b/odd.json: unknown field `sytsem`, expected one of `api`, `base_url`, `model`, `headers`, `dialect`, `system`, `messages`, `sampling`, `sample`, `attempt`, `vote` at line 11 column 12; it is not used
    ");
    assert_eq!(place.find(&call("a")), Ok(kept("4")));
    for n in 0..30 {
        place.write(&format!("c/{n:02}.json"), "{");
    }
    let warnings = place.warnings();
    assert_eq!(warnings.lines().count(), 11);
    assert_eq!(
        warnings.lines().last(),
        Some("28 recordings more in DIR can't be used")
    );
}

#[test]
fn what_can_not_be_written_is_told() {
    let place = Place::new();
    place.write("file", "");
    assert!(ExchangeRecorder::open(&place.path().join("file"), Redactor::default()).is_err());
    let recorder = place.recorder();
    let question = KeyedQuestion::of(&endpoint(), &call("a"));
    // A file in the place of the model's folder.
    place.write("openai-small-1", "");
    recorder.keep(&endpoint(), &question, &question.key(), &kept("4"));
    let warning = recorder.take_warning().expect("told");
    assert!(
        warning.starts_with("a model call can't be recorded: "),
        "{warning}"
    );
    assert_eq!(recorder.take_warning(), None);
}

#[test]
fn models_of_hostile_names_stay_in_the_folder() {
    let place = Place::new();
    let endpoint = Endpoint {
        model: "../../etc/x y".into(),
        provider: "..".into(),
        ..endpoint()
    };
    place.record_of(&endpoint, &call("../../a/b"), &kept("4"));
    place.record_of(&endpoint, &call("日本語"), &kept("5"));
    insta::assert_snapshot!(place.files().join("\n"), @"
    %2E.-..%2F..%2Fetc%2Fx%20y/a-b-1489fd54e8b2.json
    %2E.-..%2F..%2Fetc%2Fx%20y/cf75d3559f42.json
    ");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]
    #[test]
    fn what_is_recorded_is_found(prompt in "\\PC{0,30}", text in "\\PC{1,30}", sample in 0u32..3, stop in "[a\\n\"]{0,3}") {
        proptest::prop_assume!(!text.trim().is_empty());
        let place = Place::new();
        let mut asked = call(&prompt);
        asked.index.sample = sample;
        asked.sampling.stop = vec![stop];
        place.record(&asked, &kept(&text));
        proptest::prop_assert_eq!(place.find(&asked), Ok(kept(&text)));
        asked.index.sample += 1;
        proptest::prop_assert!(place.find(&asked).is_err());
    }
}
