use super::*;
use crate::testing::call;
use crate::{CallIndex, key};
use eval_base::clock::FixedClock;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn endpoint() -> Endpoint {
    key::tests::endpoint()
}

fn said(text: &str, finish: FinishReason) -> Completion {
    Completion::new(text, finish)
}

/// A run at an hour of one day, with these settings.
fn run(settings: &ModelSettings, hour: u32) -> KeptAnswers {
    let now = at(&format!("2026-03-04T{hour:02}:00:00Z"));
    KeptAnswers::new(
        settings.clone(),
        Redactor::default(),
        Arc::new(FixedClock(now)),
    )
}

fn settings(dir: &Path, cache: CacheMode) -> ModelSettings {
    ModelSettings {
        cache,
        cache_file: Some(dir.join("cache/answers.sqlite")),
        ..ModelSettings::default()
    }
}

/// What is known of a question: the answer and where it is from, or what is done instead.
async fn looked(kept: &KeptAnswers, call: &ModelRequest) -> String {
    match kept.look(&endpoint(), call, true).await {
        Ok(AnswerLookup::Found(kept, source, _)) => {
            format!(
                "{} ({source:?}, {})",
                kept.completion.text, kept.answered_at
            )
        }
        Err(fault) => format!("{:?}: {}", fault.kind, fault.reason),
        Ok(AnswerLookup::Ask(_)) => "ask".to_owned(),
    }
}

/// Asks when it must, and keeps the answer.
async fn answered(kept: &KeptAnswers, call: &ModelRequest, completion: Completion) {
    if let Ok(AnswerLookup::Ask(asked)) = kept.look(&endpoint(), call, true).await {
        kept.keep(&asked, &endpoint(), &completion).await;
    }
}

#[tokio::test]
async fn each_mode_does_what_its_name_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let of = |mode| settings(dir.path(), mode);
    let only = run(&of(CacheMode::Only), 1);
    let error = only
        .prepare(&endpoint())
        .expect_err("nothing was kept yet")
        .to_string();
    insta::assert_snapshot!(error.replace(&dir.path().display().to_string(), "DIR"), @"there is no cache at DIR/cache/answers.sqlite: no answers are stored there yet; `--cache only` reads every answer from the cache");
    assert!(
        !dir.path().join("cache").exists(),
        "who only reads makes nothing"
    );

    let first = run(&of(CacheMode::Use), 2);
    first.prepare(&endpoint()).expect("made");
    assert_eq!(looked(&first, &call("a")).await, "ask");
    answered(&first, &call("a"), said("one", FinishReason::Stop)).await;
    assert_eq!(
        looked(&first, &call("a")).await,
        "one (Cache, 2026-03-04T02:00:00.000Z)"
    );
    drop(first);

    let off = run(&of(CacheMode::Off), 3);
    answered(&off, &call("b"), said("unseen", FinishReason::Stop)).await;
    assert_eq!(
        [
            looked(&off, &call("a")).await,
            looked(&off, &call("b")).await
        ],
        ["ask", "ask"]
    );
    drop(off);

    let refresh = run(&of(CacheMode::Refresh), 4);
    assert_eq!(looked(&refresh, &call("a")).await, "ask");
    answered(&refresh, &call("a"), said("two", FinishReason::Stop)).await;
    assert_eq!(
        looked(&refresh, &call("a")).await,
        "two (Cache, 2026-03-04T04:00:00.000Z)",
        "asked once in this run"
    );
    drop(refresh);

    let only = run(&of(CacheMode::Only), 5);
    only.prepare(&endpoint()).expect("there");
    assert_eq!(
        looked(&only, &call("a")).await,
        "two (Cache, 2026-03-04T04:00:00.000Z)"
    );
    insta::assert_snapshot!(looked(&only, &call("b")).await, @"NotRecorded: the cache has no answer of openai:small-1 to this request, and `--cache only` calls no model; run it once with `--cache use`");
    assert_eq!(only.take_warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn a_refresh_that_goes_on_keeps_what_it_was_answered_before() {
    let dir = tempfile::tempdir().expect("a folder");
    answered(
        &run(&settings(dir.path(), CacheMode::Use), 1),
        &call("a"),
        said("old", FinishReason::Stop),
    )
    .await;
    let of = settings(dir.path(), CacheMode::Refresh);
    answered(&run(&of, 2), &call("b"), said("new", FinishReason::Stop)).await;
    // The run began at 2 o'clock; this is its second session.
    let clock = Arc::new(FixedClock(at("2026-03-04T03:00:00Z")));
    let second = KeptAnswers::new(of, Redactor::default(), clock);
    second.resumes(at("2026-03-04T02:00:00Z"));
    assert_eq!(looked(&second, &call("a")).await, "ask");
    assert_eq!(
        looked(&second, &call("b")).await,
        "new (Cache, 2026-03-04T02:00:00.000Z)"
    );
}

#[tokio::test]
async fn answers_that_say_nothing_are_asked_for_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let kept = run(&settings(dir.path(), CacheMode::Use), 1);
    let tools = Completion {
        tool_calls: Some(serde_json::json!([{"name": "f"}])),
        ..said("", FinishReason::ToolCalls)
    };
    let mut known = Vec::new();
    for (n, completion) in [
        said("", FinishReason::Refused),
        said(" \n", FinishReason::Stop),
        said("I won't.", FinishReason::Refused),
        said("cut", FinishReason::Length),
        said("", FinishReason::Length),
        tools,
    ]
    .into_iter()
    .enumerate()
    {
        let call = call(&n.to_string());
        answered(&kept, &call, completion).await;
        known.push(looked(&kept, &call).await != "ask");
    }
    assert_eq!(known, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn samples_and_attempts_never_share_an_answer() {
    let dir = tempfile::tempdir().expect("a folder");
    let kept = run(&settings(dir.path(), CacheMode::Use), 1);
    let indexed = |sample, attempt| ModelRequest {
        index: CallIndex {
            sample,
            attempt,
            vote: 0,
        },
        ..call("a")
    };
    answered(&kept, &indexed(0, 0), said("first", FinishReason::Stop)).await;
    assert_eq!(looked(&kept, &indexed(1, 0)).await, "ask");
    assert_eq!(looked(&kept, &indexed(0, 1)).await, "ask");
}

#[tokio::test]
async fn what_was_recorded_answers_without_network_and_cache() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("recordings");
    let base = settings(dir.path(), CacheMode::Use);
    answered(
        &run(&base, 1),
        &call("a"),
        said("cached", FinishReason::Stop),
    )
    .await;
    let recording = ModelSettings {
        record: Some(folder.clone()),
        ..base.clone()
    };
    let kept = run(&recording, 2);
    kept.prepare(&endpoint()).expect("made");
    assert_eq!(
        looked(&kept, &call("a")).await,
        "cached (Cache, 2026-03-04T01:00:00.000Z)"
    );
    answered(&kept, &call("b"), said("asked", FinishReason::Stop)).await;
    answered(&kept, &call("c"), said("", FinishReason::Refused)).await;
    drop(kept);

    let replay = ModelSettings {
        replay: Some(folder.clone()),
        cache_file: None,
        ..ModelSettings::default()
    };
    let kept = run(&replay, 3);
    kept.prepare(&endpoint()).expect("there");
    assert_eq!(
        looked(&kept, &call("a")).await,
        "cached (Recording, 2026-03-04T01:00:00.000Z)"
    );
    assert_eq!(
        looked(&kept, &call("b")).await,
        "asked (Recording, 2026-03-04T02:00:00.000Z)"
    );
    assert_eq!(
        looked(&kept, &call("c")).await,
        " (Recording, 2026-03-04T02:00:00.000Z)",
        "a refusal is an answer"
    );
    assert!(
        looked(&kept, &call("d"))
            .await
            .contains(" has no recorded answer to this request (")
    );
    assert_eq!(kept.take_warnings(), Vec::<String>::new());

    // A target's own folder, in a run that asks for others.
    let own = Endpoint {
        replay: Some(folder),
        ..endpoint()
    };
    let kept = run(&base, 4);
    assert!(matches!(
        kept.look(&own, &call("b"), true).await,
        Ok(AnswerLookup::Found(_, AnswerSource::Recording, _))
    ));
    let Err(missing) = kept.look(&own, &call("d"), true).await else {
        panic!("nobody recorded it")
    };
    assert!(
        missing.reason.ends_with(
            "record it with --record; first remove `replay` from the target (or judge), because it prevents model calls"
        ),
        "{missing:?}"
    );
    let gone = Endpoint {
        replay: Some(dir.path().join("none")),
        ..endpoint()
    };
    assert!(matches!(kept.prepare(&gone), Err(KeptError::Recordings(_))));
}

#[tokio::test]
async fn a_run_without_a_place_for_a_cache_asks_and_says_so_once() {
    let nowhere = ModelSettings::default();
    let kept = run(&nowhere, 1);
    kept.prepare(&endpoint()).expect("no error");
    answered(&kept, &call("a"), said("one", FinishReason::Stop)).await;
    assert_eq!(looked(&kept, &call("a")).await, "ask");
    assert_eq!(
        kept.take_warnings(),
        ["answers are not cached: neither EVAL_HARNESS_CACHE_DIR nor HOME is set"]
    );
    assert_eq!(kept.take_warnings(), Vec::<String>::new());
    let only = run(
        &ModelSettings {
            cache: CacheMode::Only,
            ..nowhere
        },
        1,
    );
    assert!(matches!(only.prepare(&endpoint()), Err(KeptError::NoPlace)));

    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(dir.path().join("cache/answers.sqlite"))
        .expect("a folder in its place");
    let kept = run(&settings(dir.path(), CacheMode::Use), 1);
    kept.prepare(&endpoint()).expect("no error");
    assert_eq!(looked(&kept, &call("a")).await, "ask");
    let warnings = kept
        .take_warnings()
        .join("\n")
        .replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(warnings, @"DIR/cache/answers.sqlite is a folder, so it can't be the cache; this run uses no cache");
    assert!(matches!(
        run(&settings(dir.path(), CacheMode::Only), 1).prepare(&endpoint()),
        Err(KeptError::Cache(_))
    ));
}

#[tokio::test]
async fn nothing_is_made_before_a_model_needs_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = ModelSettings {
        record: Some(dir.path().join("rec")),
        ..settings(dir.path(), CacheMode::Use)
    };
    drop(run(&settings, 1));
    assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
}
