use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use rusqlite::params;

use super::*;
use crate::CACHE_FILE_NAME;
use crate::{FinishReason, TokenCounts};

fn now() -> Timestamp {
    "2026-03-04T05:06:07.089Z".parse().expect("a time")
}

fn later(days: i64) -> Timestamp {
    Timestamp::from_second(now().as_second() + days * 86_400).expect("a time")
}

fn kept(text: &str) -> StoredAnswer {
    let tokens = Some(TokenCounts {
        input: 12,
        output: 3,
        cached_input: 1,
        cache_write: 0,
    });
    StoredAnswer {
        completion: Completion {
            text: text.into(),
            tool_calls: None,
            finish: FinishReason::Stop,
            tokens,
            model: Some("small-1-0304".into()),
            thoughts: None,
        },
        answered_at: "2026-03-04T05:06:07.089Z".into(),
    }
}

fn key(n: u8) -> QuestionKey {
    QuestionKey::of_byte(n)
}

async fn put(cache: &AnswerCache, n: u8, text: &str) {
    cache
        .put(&key(n), "openai:small-1", &kept(text), None)
        .await;
}

fn text(cache: &AnswerCache, n: u8) -> Option<String> {
    cache.get(&key(n)).map(|kept| kept.completion.text)
}

/// What a folder holds, without the lock.
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
    names.retain(|name| !name.ends_with(".lock"));
    names.sort();
    names
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("cache").join(CACHE_FILE_NAME);
    (dir, file)
}

fn scrubbed(warnings: &[String], file: &Path) -> String {
    warnings
        .join("\n")
        .replace(&file.display().to_string(), "FILE")
}

#[tokio::test]
async fn an_answer_comes_back_whole_in_this_run_and_in_the_next() {
    let (_dir, file) = place();
    let cache = AnswerCache::open(&file, now()).expect("open");
    assert_eq!(cache.get(&key(1)), None);
    let mut given = kept("four\u{0}\u{7}é");
    given.completion.tool_calls =
        serde_json::from_str(r#"[{"n": 1.0, "big": 123456789012345678901234567890}]"#).ok();
    cache.put(&key(1), "openai:small-1", &given, None).await;
    assert_eq!(cache.get(&key(1)), Some(given.clone()));
    assert_eq!(cache.get(&key(2)), None);
    drop(cache);
    let cache = AnswerCache::open(&file, later(1)).expect("open");
    assert_eq!(cache.get(&key(1)), Some(given));
    assert_eq!(cache.take_warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn the_first_answer_stays_unless_it_is_older_than_a_refresh() {
    let (_dir, file) = place();
    let cache = AnswerCache::open(&file, now()).expect("open");
    put(&cache, 1, "first").await;
    put(&cache, 1, "second").await;
    assert_eq!(text(&cache, 1).as_deref(), Some("first"));
    let again = StoredAnswer {
        answered_at: "2026-03-05T00:00:00.000Z".into(),
        ..kept("refreshed")
    };
    cache
        .put(&key(1), "openai:small-1", &again, Some(now()))
        .await;
    assert_eq!(
        text(&cache, 1).as_deref(),
        Some("first"),
        "given at that very moment"
    );
    cache
        .put(&key(1), "openai:small-1", &again, Some(later(1)))
        .await;
    assert_eq!(cache.get(&key(1)), Some(again));
}

#[tokio::test]
async fn nobody_else_may_read_what_was_answered() {
    let (_dir, file) = place();
    let cache = AnswerCache::open(&file, now()).expect("open");
    put(&cache, 1, "private").await;
    let folder = file.parent().expect("a folder");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    for name in names(folder) {
        assert_eq!(mode(&folder.join(&name)), 0o600, "{name}");
    }
    assert_eq!(
        names(folder),
        ["answers.sqlite", "answers.sqlite-shm", "answers.sqlite-wal"]
    );
    drop(cache);
    assert_eq!(names(folder), ["answers.sqlite"]);
}

#[tokio::test]
async fn what_is_damaged_is_set_aside_and_told_once() {
    let whole = {
        let (_dir, file) = place();
        let cache = AnswerCache::open(&file, now()).expect("open");
        for n in 0..200 {
            put(&cache, n, &"x".repeat(500)).await;
        }
        drop(cache);
        fs::read(&file).expect("a file")
    };
    let old_version = {
        let (_dir, file) = place();
        drop(AnswerCache::open(&file, now()).expect("open"));
        let connection = Connection::open(&file).expect("open");
        connection
            .pragma_update(None, "user_version", -3)
            .expect("set");
        drop(connection);
        fs::read(&file).expect("a file")
    };
    let other_table = {
        let (_dir, file) = place();
        drop(AnswerCache::open(&file, now()).expect("open"));
        let connection = Connection::open(&file).expect("open");
        connection
            .execute_batch("ALTER TABLE answers RENAME COLUMN digest TO other")
            .expect("renamed");
        drop(connection);
        fs::read(&file).expect("a file")
    };
    for (bytes, why) in [
        (
            b"this is a letter to my aunt, and no database at all".repeat(40),
            "file is not a database",
        ),
        (
            whole[..whole.len() / 2].to_vec(),
            "database disk image is malformed",
        ),
        (whole[..5000].to_vec(), "database disk image is malformed"),
        (old_version, "its tables differ from those of version 1"),
        (other_table, "its tables differ from those of version 1"),
    ] {
        let (_dir, file) = place();
        let folder = file.parent().expect("a folder");
        fs::create_dir_all(folder).expect("made");
        fs::write(&file, &bytes).expect("written");
        let error =
            AnswerCache::open_present(&file, now()).expect_err("no answer can come from there");
        assert!(matches!(&error, CacheError::Damaged { .. }), "{error}");
        assert_eq!(
            names(folder),
            ["answers.sqlite"],
            "who only reads moves nothing"
        );
        let cache = AnswerCache::open(&file, now()).expect("open");
        put(&cache, 1, "new").await;
        assert_eq!(text(&cache, 1).as_deref(), Some("new"));
        assert_eq!(
            scrubbed(&cache.take_warnings(), &file),
            format!(
                "the cache FILE was damaged ({why}): it was renamed to answers.sqlite.damaged-20260304-050607, and a new cache was created"
            )
        );
        drop(cache);
        assert_eq!(
            names(folder),
            ["answers.sqlite", "answers.sqlite.damaged-20260304-050607"]
        );
        assert_eq!(
            fs::read(folder.join("answers.sqlite.damaged-20260304-050607")).expect("kept"),
            bytes
        );
    }
}

#[test]
fn what_is_not_ours_stays_where_it_is() {
    let (_dir, file) = place();
    let folder = file.parent().expect("a folder");
    fs::create_dir_all(&file).expect("a folder in its place");
    let told = |error: CacheError| {
        error
            .to_string()
            .replace(&file.display().to_string(), "FILE")
    };
    insta::assert_snapshot!(told(AnswerCache::open(&file, now()).expect_err("a folder")), @"FILE is a folder, so it can't be the cache");
    fs::remove_dir(&file).expect("removed");
    let connection = Connection::open(&file).expect("open");
    connection
        .execute_batch("CREATE TABLE recipes(cake TEXT)")
        .expect("made");
    insta::assert_snapshot!(told(AnswerCache::open(&file, now()).expect_err("of somebody else")), @"FILE is a database of another program");
    connection
        .execute_batch("DROP TABLE recipes; PRAGMA application_id = 77")
        .expect("made");
    insta::assert_snapshot!(told(AnswerCache::open(&file, now()).expect_err("of somebody else")), @"FILE is a database of another program");
    drop(connection);
    fs::remove_file(&file).expect("removed");
    drop(AnswerCache::open(&file, now()).expect("open"));
    let connection = Connection::open(&file).expect("open");
    connection
        .pragma_update(None, "user_version", 2)
        .expect("set");
    drop(connection);
    insta::assert_snapshot!(told(AnswerCache::open(&file, now()).expect_err("later")), @"the cache FILE was written by a later version of eval-harness");
    assert_eq!(names(folder), ["answers.sqlite"]);
    fs::write(folder.join("plain"), "").expect("a file");
    let below = folder.join("plain").join(CACHE_FILE_NAME);
    assert!(matches!(
        AnswerCache::open(&below, now()),
        Err(CacheError::Unusable { .. })
    ));
    let none = AnswerCache::open_present(&folder.join("none"), now()).expect_err("missing");
    assert!(matches!(none, CacheError::Missing(_)), "{none}");
}

#[tokio::test]
async fn damage_that_is_met_in_mid_run_costs_answers_and_nothing_else() {
    let (_dir, file) = place();
    let cache = AnswerCache::open(&file, now()).expect("open");
    for n in 0..200 {
        put(&cache, n, &"x".repeat(900)).await;
    }
    drop(cache);
    let mut bytes = fs::read(&file).expect("a file");
    let pages = bytes.len() / 4096;
    // The first pages hold the tables' names and the roots.
    for byte in bytes.iter_mut().skip(4096 * pages / 2).step_by(7) {
        *byte ^= 0x5a;
    }
    fs::write(&file, &bytes).expect("written");
    let cache = AnswerCache::open(&file, now()).expect("the damage is not seen yet");
    let found = (0..200)
        .filter_map(|n| cache.get(&key(n)))
        .filter(|k| k.completion.text == "x".repeat(900))
        .count();
    let wrong = (0..200)
        .filter_map(|n| cache.get(&key(n)))
        .filter(|k| k.completion.text != "x".repeat(900))
        .count();
    assert!(found < 200, "half of the file is broken");
    assert_eq!(wrong, 0, "an answer that nobody gave");
    let warnings = cache.take_warnings();
    let warning = scrubbed(&warnings, &file);
    assert!(
        warning.starts_with("the cache FILE is damaged (") && warnings.len() == 1,
        "{warning}"
    );
    put(&cache, 250, "asked again").await;
    drop(cache);
    let folder = file.parent().expect("a folder");
    assert!(
        names(folder)
            .iter()
            .all(|name| name.starts_with("answers.sqlite.damaged-")),
        "{:?}",
        names(folder)
    );
    let cache = AnswerCache::open(&file, now()).expect("a new one");
    assert_eq!(cache.get(&key(1)), None);
}

#[tokio::test]
async fn an_answer_of_which_a_bit_fell_over_is_no_answer() {
    let (_dir, file) = place();
    let cache = AnswerCache::open(&file, now()).expect("open");
    put(&cache, 1, "the answer is 4").await;
    put(&cache, 2, "the answer is 5").await;
    put(&cache, 3, "sound").await;
    let connection = Connection::open(&file).expect("open");
    let changed = connection.execute_batch(
        "UPDATE answers SET answer = CAST(replace(CAST(answer AS TEXT), 'is 4', 'is 6') AS BLOB);
             UPDATE answers SET answer = x'7b7d' WHERE key = (SELECT key FROM answers LIMIT 1 OFFSET 1);",
    );
    changed.expect("changed");
    drop(connection);
    assert_eq!(
        [1, 2, 3].map(|n| text(&cache, n)),
        [None, None, Some("sound".into())]
    );
    put(&cache, 1, "the answer is 4, again").await;
    assert_eq!(
        text(&cache, 1).as_deref(),
        Some("the answer is 4, again"),
        "the broken one is out of the way"
    );
    drop(cache);
    assert_eq!(
        names(file.parent().expect("a folder")),
        ["answers.sqlite"],
        "one bad answer is no damaged file"
    );
}

#[tokio::test]
async fn a_cache_that_can_only_be_read_is_read() {
    let (_dir, file) = place();
    let cache = AnswerCache::open(&file, now()).expect("open");
    put(&cache, 1, "kept").await;
    drop(cache);
    let opened = open::read_only(&file, "the disk is read-only").expect("open");
    let cache = AnswerCache::of(&file, opened, later(3));
    assert_eq!(text(&cache, 1).as_deref(), Some("kept"));
    put(&cache, 2, "lost").await;
    assert_eq!(text(&cache, 2), None);
    insta::assert_snapshot!(scrubbed(&cache.take_warnings(), &file), @"the cache FILE can only be read (the disk is read-only): new answers are not stored");
}

#[tokio::test]
async fn a_full_disk_costs_answers_and_is_told_once() {
    let (_dir, file) = place();
    let opened = open::open(&file, now()).expect("open");
    opened
        .connection
        .pragma_update(None, "max_page_count", 40)
        .expect("set");
    let cache = AnswerCache::of(&file, opened, now());
    for n in 0..100 {
        put(&cache, n, &"x".repeat(3000)).await;
    }
    let found = (0..100).filter(|n| text(&cache, *n).is_some()).count();
    assert!((10..60).contains(&found), "{found}");
    insta::assert_snapshot!(scrubbed(&cache.take_warnings(), &file), @"the cache FILE can't store answers: the disk is full");
    assert_eq!(cache.take_warnings(), Vec::<String>::new());
    drop(cache);
    assert_eq!(names(file.parent().expect("a folder")), ["answers.sqlite"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_read_and_write_at_once() {
    let (_dir, file) = place();
    let cache = std::sync::Arc::new(AnswerCache::open(&file, now()).expect("open"));
    let tasks: Vec<_> = (0..64u8)
        .map(|n| {
            let cache = std::sync::Arc::clone(&cache);
            tokio::spawn(async move {
                put(&cache, n, &format!("answer {n}")).await;
                let own = text(&cache, n);
                (
                    n,
                    own,
                    text(&cache, n / 2).is_none_or(|other| other == format!("answer {}", n / 2)),
                )
            })
        })
        .collect();
    for task in tasks {
        let (n, own, other) = task.await.expect("no panic");
        assert_eq!(
            own,
            Some(format!("answer {n}")),
            "an answer that was put is there"
        );
        assert!(other);
    }
}

/// Rows of a cache that were used on the days given.
async fn used_on(file: &Path, days: &[i64]) {
    for (n, days) in days.iter().enumerate() {
        let cache = AnswerCache::open(file, later(*days)).expect("open");
        let model = if n % 2 == 0 {
            "openai:small-1"
        } else {
            "local:big"
        };
        let n = u8::try_from(n).expect("few");
        cache
            .put(&key(n), model, &kept(&"x".repeat(2000)), None)
            .await;
    }
}

#[tokio::test]
async fn what_is_there_is_counted_by_model() {
    let (_dir, file) = place();
    assert_eq!(stats(&file).expect("nothing is no error"), None);
    used_on(&file, &[0, 0, 5]).await;
    let found = stats(&file).expect("counted").expect("there");
    assert_eq!((found.entries, found.models.len()), (3, 2));
    assert!(
        found.bytes > 6000 && found.file_bytes > found.bytes,
        "{found:?}"
    );
    assert_eq!(
        found.bytes,
        found.models.iter().map(|model| model.bytes).sum::<u64>()
    );
    let told: Vec<_> = found
        .models
        .iter()
        .map(|m| (m.model.as_str(), m.entries, m.last_used.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("local:big", 1, "2026-03-04"),
            ("openai:small-1", 2, "2026-03-09")
        ]
    );
}

#[tokio::test]
async fn what_was_not_used_for_long_is_pruned() {
    let (_dir, file) = place();
    used_on(&file, &[0, 1, 2, 3]).await;
    // A use counts, and not the day of the answer.
    let cache = AnswerCache::open(&file, later(9)).expect("open");
    assert!(cache.get(&key(0)).is_some());
    drop(cache);
    let freed = prune(&file, Some(day(later(2))), None)
        .expect("pruned")
        .expect("there");
    assert_eq!((freed.entries, freed.left, freed.busy), (1, 3, false));
    let cache = AnswerCache::open(&file, later(9)).expect("open");
    assert_eq!(
        [0, 1, 2, 3].map(|n| cache.get(&key(n)).is_some()),
        [true, false, true, true]
    );
}

#[tokio::test]
async fn a_cache_is_pruned_to_a_size_and_the_file_shrinks() {
    let (_dir, file) = place();
    let days: Vec<i64> = (0..60).collect();
    used_on(&file, &days).await;
    let before = fs::metadata(&file).expect("there").len();
    let freed = prune(&file, None, Some(80_000))
        .expect("pruned")
        .expect("there");
    let after = fs::metadata(&file).expect("there").len();
    assert_eq!((freed.bytes_before, freed.bytes_after), (before, after));
    assert!(after <= 80_000 && after > 40_000, "{before} -> {after}");
    assert!(
        freed.left > 15 && freed.left + freed.entries == 60,
        "{freed:?}"
    );
    let cache = AnswerCache::open(&file, later(60)).expect("open");
    let there: Vec<bool> = (0..60).map(|n| cache.get(&key(n)).is_some()).collect();
    let gone = usize::try_from(freed.entries).expect("few");
    assert!(
        there
            .iter()
            .enumerate()
            .all(|(n, there)| *there == (n >= gone)),
        "the oldest go first: {there:?}"
    );
    drop(cache);
    let freed = prune(&file, None, Some(u64::MAX))
        .expect("pruned")
        .expect("there");
    assert_eq!(freed.entries, 0);
    let freed = prune(&file, None, Some(0)).expect("pruned").expect("there");
    assert_eq!(freed.left, 0, "{freed:?}");
}

#[test]
fn no_more_goes_than_must_when_uses_are_scattered_over_the_file() {
    let (_dir, file) = place();
    drop(AnswerCache::open(&file, now()).expect("open"));
    let mut connection = Connection::open(&file).expect("open");
    let transaction = connection.transaction().expect("begun");
    for n in 0..4000_i64 {
        let key = Sha256::digest(n.to_le_bytes()).to_vec();
        let row = params![key, n * 7919 % 100, vec![b'x'; 800]];
        let put =
            "INSERT INTO answers VALUES (?1, 'openai:small-1', '2026-03-04', ?2, 800, x'00', ?3)";
        transaction.execute(put, row).expect("put");
    }
    transaction.commit().expect("committed");
    drop(connection);
    let before = fs::metadata(&file).expect("there").len();
    let freed = prune(&file, None, Some(before - 4096))
        .expect("pruned")
        .expect("there");
    assert!(freed.bytes_after < before, "{freed:?}");
    assert!(
        freed.entries <= 4000 / 64 + 1,
        "to save a thousandth: {freed:?}"
    );
}

#[tokio::test]
async fn a_cache_is_cleared_whole_or_of_some_models() {
    let (_dir, file) = place();
    used_on(&file, &[0, 0, 0]).await;
    let freed = clear(&file, Some(&|model| model.starts_with("local:")))
        .expect("cleared")
        .expect("there");
    assert_eq!((freed.entries, freed.left), (1, 2));
    let open = AnswerCache::open(&file, now()).expect("another run has it open");
    assert!(open.get(&key(0)).is_some());
    let freed = clear(&file, None).expect("cleared").expect("there");
    assert_eq!((freed.entries, freed.left), (2, 0));
    assert_eq!(open.get(&key(0)), None);
    put(&open, 7, "goes on").await;
    assert_eq!(text(&open, 7).as_deref(), Some("goes on"));
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, String),
    Refresh(u8, String),
    Get(u8),
    Reopen,
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    use proptest::prelude::*;
    let step = prop_oneof![
        4 => (0u8..6, "[a-c]{1,3}").prop_map(|(n, text)| Step::Put(n, text)),
        1 => (0u8..6, "[a-c]{1,3}").prop_map(|(n, text)| Step::Refresh(n, text)),
        4 => (0u8..6).prop_map(Step::Get),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn a_cache_is_a_map_that_outlives_its_run(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (_dir, file) = place();
        let mut cache = AnswerCache::open(&file, now()).expect("open");
        let mut naive: HashMap<u8, String> = HashMap::new();
        for step in steps {
            match step {
                Step::Put(n, text) => {
                    runtime.block_on(put(&cache, n, &text));
                    naive.entry(n).or_insert(text);
                }
                Step::Refresh(n, text) => {
                    runtime.block_on(cache.put(&key(n), "m", &kept(&text), Some(later(1))));
                    naive.insert(n, text);
                }
                Step::Get(n) => proptest::prop_assert_eq!(text(&cache, n), naive.get(&n).cloned()),
                Step::Reopen => {
                    drop(cache);
                    cache = AnswerCache::open(&file, now()).expect("open");
                }
            }
        }
        for n in 0..6 {
            proptest::prop_assert_eq!(text(&cache, n), naive.get(&n).cloned());
        }
    }
}
