use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::model::{
    AdjudicationState, CountedRating, HumanReview, QuestionDigests, Rating, ReviewPolicy,
};
use crate::spec::{Evaluators, HumanGraderConfig, RatingKind, RatingScale};

fn line(id: &str, at: u32, reviewer: &str, rating: Option<Rating>) -> RatingLine {
    RatingLine {
        version: RATING_VERSION,
        id: id.into(),
        at: format!("2026-03-04T05:06:{at:02}.000Z"),
        reviewer: reviewer.into(),
        suite: "s".into(),
        eval: "e".into(),
        case: "c".into(),
        grader: "human".into(),
        input: "sha256:i".into(),
        output: "sha256:o".into(),
        rubric: "sha256:r".into(),
        rating,
        comment: None,
        seconds: 1.5,
        over_time: false,
        blind: false,
        repeat: false,
        adjudicates: false,
        shown: Vec::new(),
        tool: "0.1.0".into(),
        replaces: None,
    }
}

fn pass(value: bool) -> Option<Rating> {
    Some(Rating::Binary { value })
}

fn standing(dir: &Path) -> Vec<String> {
    let store = RatingStore::read(dir).unwrap();
    store.standing().map(|line| line.id.clone()).collect()
}

fn problems(dir: &Path) -> String {
    let store = RatingStore::read(dir).unwrap();
    let problems: Vec<String> = store.problems().iter().map(ToString::to_string).collect();
    problems
        .join("\n")
        .replace(&format!("{}/", dir.display()), "")
}

#[test]
fn newest_line_that_is_not_replaced_stands() {
    let dir = tempfile::tempdir().unwrap();
    let ana = RatingWriter::new(dir.path(), "ana").unwrap();
    let ben = RatingWriter::new(dir.path(), "ben").unwrap();
    ana.append(&line("a1", 1, "ana", pass(true))).unwrap();
    ben.append(&line("b1", 2, "ben", pass(true))).unwrap();
    let changed = RatingLine {
        replaces: Some("a1".into()),
        ..line("a2", 3, "ana", pass(false))
    };
    ana.append(&changed).unwrap();
    assert_eq!(standing(dir.path()), ["b1", "a2"]);
    // Another reviewer's line replaces nothing of ana's.
    let foreign = RatingLine {
        replaces: Some("a2".into()),
        output: "sha256:other".into(),
        ..line("b2", 4, "ben", pass(true))
    };
    ben.append(&foreign).unwrap();
    assert_eq!(standing(dir.path()), ["b1", "a2", "b2"]);
    let withdrawn = RatingLine {
        replaces: Some("a2".into()),
        ..line("a3", 5, "ana", None)
    };
    ana.append(&withdrawn).unwrap();
    assert_eq!(standing(dir.path()), ["b1", "b2"]);
}

#[test]
fn order_and_copies_of_lines_have_no_meaning() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        line("a1", 1, "ana", pass(true)),
        line("a2", 9, "ana", pass(false)),
        RatingLine {
            repeat: true,
            ..line("a3", 3, "ana", pass(true))
        },
    ];
    let texts: Vec<String> = lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap())
        .collect();
    for order in [[0, 1, 2, 0], [2, 1, 0, 2], [1, 1, 2, 0]] {
        let text: String = order.iter().map(|at| format!("{}\n", texts[*at])).collect();
        fs::write(dir.path().join("ana.jsonl"), text).unwrap();
        assert_eq!(
            (standing(dir.path()), problems(dir.path())),
            (vec!["a3".into(), "a2".into()], String::new())
        );
    }
}

#[test]
fn reviewer_who_ranks_an_output_twice_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let order = |digests: &[&str]| {
        let order = digests.iter().map(|digest| vec![(*digest).to_owned()]);
        Some(Rating::Ranking {
            order: order.collect(),
        })
    };
    let ana = RatingWriter::new(dir.path(), "ana").unwrap();
    ana.append(&line("a1", 1, "ana", order(&["x", "y"])))
        .unwrap();
    let of_three = RatingLine {
        output: "sha256:three".into(),
        ..line("a2", 2, "ana", order(&["y", "z", "x"]))
    };
    ana.append(&of_three).unwrap();
    let store = RatingStore::read(dir.path()).unwrap();
    let found = |output: &str| -> Vec<String> {
        let lines = store.rankings_of("sha256:i", "sha256:r", output);
        lines.iter().map(|line| line.id.clone()).collect()
    };
    assert_eq!(
        (found("x"), found("z"), found("w")),
        (vec!["a2".into()], vec!["a2".into()], vec![])
    );
}

#[test]
fn broken_lines_are_named_and_the_others_count() {
    let dir = tempfile::tempdir().unwrap();
    let whole = serde_json::to_string(&line("a1", 1, "ana", pass(true))).unwrap();
    let other = whole
        .replace("\"comment\"", "\"x\"")
        .replace("true", "false");
    let later = whole
        .replace("\"version\":1", "\"version\":2")
        .replace("a1", "a4");
    let text = format!(
        "{whole}\n<<<<<<< HEAD\n\n{other}\n{later}\n{}\n{}",
        whole.replace("2026-", "x"),
        &whole[..40]
    );
    fs::write(dir.path().join("ana.jsonl"), text).unwrap();
    assert_eq!(standing(dir.path()), ["a1"]);
    insta::assert_snapshot!(problems(dir.path()), @r"
    ana.jsonl:2: not a rating: expected value at line 1 column 1
    ana.jsonl:4: a different line has the same id a1
    ana.jsonl:5: written by a later version of eval-harness (version 2 of the format)
    ana.jsonl:6: not a rating: `at` is not a time: x03-04T05:06:01.000Z
    ana.jsonl:7: the line is incomplete, so the rating in it was never recorded; the next rating removes it
    ");
}

#[test]
fn torn_line_is_cut_off_by_the_next_one_wherever_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let writer = RatingWriter::new(dir.path(), "ana").unwrap();
    writer.append(&line("a1", 1, "ana", pass(true))).unwrap();
    let before = fs::read(writer.path()).unwrap();
    let torn = serde_json::to_vec(&line("a2", 2, "ana", pass(true))).unwrap();
    for end in 0..=torn.len() {
        let mut file = fs::File::create(writer.path()).unwrap();
        file.write_all(&before).unwrap();
        file.write_all(&torn[..end]).unwrap();
        drop(file);
        writer.append(&line("a3", 3, "ana", pass(false))).unwrap();
        let left = fs::read_to_string(writer.path()).unwrap();
        // Complete but for its line break, it is a rating.
        let lines = if end == torn.len() { 3 } else { 2 };
        assert_eq!(left.lines().count(), lines, "{end}");
        assert_eq!(
            (standing(dir.path()), problems(dir.path())),
            (vec!["a3".into()], String::new())
        );
    }
}

#[test]
fn odd_names_of_reviewers_have_files_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(5000);
    let names = [
        "../../etc",
        "a/b",
        "Zoë",
        "a b",
        ".",
        "con",
        "\u{1b}[31m\n",
        &long,
    ];
    for (at, name) in names.iter().enumerate() {
        let writer = RatingWriter::new(dir.path(), name).unwrap();
        let rated = line(&format!("id{at}"), at as u32, name, pass(true));
        writer.append(&rated).unwrap();
        assert_eq!(writer.path().parent().unwrap(), dir.path());
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), names.len());
    let store = RatingStore::read(dir.path()).unwrap();
    let read: Vec<&str> = store
        .standing()
        .map(|line| line.reviewer.as_str())
        .collect();
    assert_eq!(read, names);
    let empty = RatingWriter::new(dir.path(), "  ").unwrap_err();
    assert_eq!(empty.to_string(), "the name of the reviewer is empty");
}

#[test]
fn writers_at_once_lose_no_line() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let dir = Arc::clone(&dir);
            std::thread::spawn(move || {
                let writer = RatingWriter::new(dir.path(), "ana").unwrap();
                for at in 0..25 {
                    let rated = RatingLine {
                        output: format!("sha256:{thread}-{at}"),
                        ..line(&format!("{thread}-{at}"), at, "ana", pass(true))
                    };
                    writer.append(&rated).unwrap();
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(
        (standing(dir.path()).len(), problems(dir.path())),
        (100, String::new())
    );
}

#[test]
fn file_that_can_not_be_written_is_named_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    // A full disk: writes to the device fail, as they do on one.
    std::os::unix::fs::symlink("/dev/full", dir.path().join("ana.jsonl")).unwrap();
    let writer = RatingWriter::new(dir.path(), "ana").unwrap();
    let error = writer
        .append(&line("a1", 1, "ana", pass(true)))
        .unwrap_err();
    let said = error
        .to_string()
        .replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(said, @"the rating was not recorded: cannot write DIR/ana.jsonl: No space left on device (os error 28)");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let writer = RatingWriter::new(&file, "ana").unwrap();
    let error = writer
        .append(&line("a1", 1, "ana", pass(true)))
        .unwrap_err();
    assert!(error.to_string().contains("/file/ana.jsonl: "), "{error}");
}

fn review(
    kind: RatingKind,
    evaluators: Evaluators,
    more: impl FnOnce(&mut HumanGraderConfig),
) -> HumanReview {
    let mut config = HumanGraderConfig {
        evaluators: Some(evaluators),
        rating_scale: Some(RatingScale {
            kind,
            ..RatingScale::default()
        }),
        ..HumanGraderConfig::default()
    };
    more(&mut config);
    HumanReview::open(QuestionDigests::default(), ReviewPolicy::of(&config))
}

fn evaluators(min: u32, max: Option<u32>, agreement: Option<f64>) -> Evaluators {
    Evaluators {
        min_required: Some(min),
        max_allowed: max,
        agreement_threshold: agreement,
    }
}

fn rated(reviewer: &str, rating: Rating) -> (CountedRating, bool) {
    let line = line(reviewer, 0, reviewer, Some(rating));
    (line.counted().unwrap(), false)
}

fn points(reviewer: &str, score: i64) -> (CountedRating, bool) {
    let scores = [(String::new(), score)].into();
    rated(reviewer, Rating::Likert { scores })
}

fn binary(reviewer: &str, value: bool) -> (CountedRating, bool) {
    rated(reviewer, Rating::Binary { value })
}

fn adjudicating(rating: (CountedRating, bool)) -> (CountedRating, bool) {
    let rating = CountedRating {
        adjudicates: true,
        ..rating.0
    };
    (rating, false)
}

#[test]
fn verdict_of_people_follows_numbers_agreement_and_adjudication() {
    let two = || review(RatingKind::Binary, evaluators(2, None, None), |_| ());
    let verdict = |review: HumanReview, ratings: Vec<_>| assessed(review, ratings, "").1;
    let decided = |passed, score| PeopleVerdict::Decided {
        passed: Some(passed),
        score,
    };
    assert_eq!(
        verdict(two(), vec![binary("a", true)]),
        PeopleVerdict::Missing(1)
    );
    assert_eq!(
        verdict(two(), vec![binary("a", true), binary("b", true)]),
        decided(true, 1.0)
    );
    assert_eq!(
        verdict(two(), vec![binary("a", true), binary("b", false)]),
        PeopleVerdict::Adjudication
    );
    let third = vec![binary("a", true), binary("b", false), binary("c", false)];
    assert_eq!(verdict(two(), third), decided(false, 1.0 / 3.0));
    let judge = adjudicating(binary("c", true));
    let (review_of, by_judge) = assessed(
        two(),
        vec![binary("a", true), binary("b", false), judge.clone()],
        "",
    );
    assert_eq!(by_judge, decided(true, 1.0));
    assert_eq!(review_of.adjudication, Some(AdjudicationState::Done));
    assert_eq!(review_of.ratings.len(), 3);
    // Whoever rated does not adjudicate, and an adjudicator is not counted among the others.
    let own = adjudicating(binary("a", false));
    assert_eq!(
        verdict(two(), vec![binary("a", true), binary("b", false), own]),
        PeopleVerdict::Adjudication
    );
    assert_eq!(
        verdict(two(), vec![binary("a", true), judge.clone()]),
        PeopleVerdict::Missing(1)
    );
    assert_eq!(
        verdict(two(), vec![binary("a", false), binary("b", false), judge]),
        decided(false, 0.0)
    );
    // Repetitions do not count, nor do ratings of another scale.
    let (again, _) = binary("b", true);
    assert_eq!(
        verdict(two(), vec![binary("a", true), (again, true)]),
        PeopleVerdict::Missing(1)
    );
    assert_eq!(
        verdict(two(), vec![binary("a", true), points("b", 5)]),
        PeopleVerdict::Missing(1)
    );
}

#[test]
fn points_of_a_scale_pass_by_their_mean_and_agree_within_one_step() {
    let scale = |agreement, max| review(RatingKind::Likert, evaluators(2, max, agreement), |_| ());
    let verdict = |review: HumanReview, scores: &[i64]| {
        let names = ["a", "b", "c", "d"].iter().zip(scores);
        let ratings = names.map(|(name, score)| points(name, *score)).collect();
        let (review, verdict) = assessed(review, ratings, "");
        (review.agreement, verdict)
    };
    let decided = |passed, score| PeopleVerdict::Decided {
        passed: Some(passed),
        score,
    };
    // The mean 3.5 of 1 to 5 is 0.625 of the scale, 4 is 0.75; 0.7 passes.
    assert_eq!(
        verdict(scale(None, None), &[3, 4]),
        (Some(1.0), decided(false, 0.625))
    );
    assert_eq!(
        verdict(scale(None, None), &[4, 4]),
        (Some(1.0), decided(true, 0.75))
    );
    // 5 and 3 are two steps apart: one of three pairs differs.
    let (agreement, verdict_of) = verdict(scale(Some(0.8), None), &[5, 4, 3]);
    assert!((agreement.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(verdict_of, PeopleVerdict::Adjudication);
    assert_eq!(
        verdict(scale(Some(0.6), None), &[5, 4, 3]).1,
        decided(true, 0.75)
    );
    // Only the first two count.
    assert_eq!(
        verdict(scale(Some(0.8), Some(2)), &[5, 4, 1]),
        (Some(1.0), decided(true, 0.875))
    );
    let own = review(RatingKind::Likert, evaluators(1, None, None), |config| {
        config.pass_threshold = Some(0.5);
    });
    assert_eq!(verdict(own, &[3]).1, decided(true, 0.5));
}

#[test]
fn rankings_score_an_output_by_those_that_it_beats() {
    let order = |groups: &[&[&str]]| Rating::Ranking {
        order: groups
            .iter()
            .map(|group| group.iter().map(|one| (*one).to_owned()).collect())
            .collect(),
    };
    let ranking = |threshold| {
        review(RatingKind::Ranking, evaluators(1, None, None), |config| {
            config.pass_threshold = threshold;
        })
    };
    let verdict = |threshold, output: &str| {
        let ratings = vec![
            rated("a", order(&[&["x"], &["y", "z"]])),
            rated("b", order(&[&["y"], &["x"], &["z"]])),
        ];
        assessed(ranking(threshold), ratings, output).1
    };
    let decided = |passed, score| PeopleVerdict::Decided { passed, score };
    assert_eq!(verdict(None, "x"), decided(None, 0.75));
    assert_eq!(verdict(None, "y"), decided(None, 0.625));
    assert_eq!(verdict(Some(0.7), "x"), decided(Some(true), 0.75));
    assert_eq!(verdict(Some(0.7), "z"), decided(Some(false), 0.125));
    let policy = ranking(None).policy;
    assert_eq!(
        agree(
            &policy,
            &order(&[&["x"], &["y"]]),
            &order(&[&["x"], &["z"], &["y"]])
        ),
        1.0
    );
    assert_eq!(
        agree(&policy, &order(&[&["x", "y"]]), &order(&[&["x"], &["y"]])),
        0.0
    );
}

proptest! {
    /// The share of pairs that agree, counted pair by pair.
    #[test]
    fn agreement_is_the_share_of_equal_pairs(values in proptest::collection::vec(any::<bool>(), 2..8)) {
        let ratings = values.iter().enumerate().map(|(at, value)| binary(&format!("r{at}"), *value));
        let open = review(RatingKind::Binary, evaluators(1, None, None), |_| ());
        let (review, verdict) = assessed(open, ratings.collect(), "");
        let n = values.len() as f64;
        let passed = values.iter().filter(|value| **value).count() as f64;
        let equal = passed * (passed - 1.0) + (n - passed) * (n - passed - 1.0);
        prop_assert!((review.agreement.unwrap() - equal / (n * (n - 1.0))).abs() < 1e-12);
        let expected = match passed * 2.0 - n {
            0.0 => PeopleVerdict::Adjudication,
            lead => PeopleVerdict::Decided { passed: Some(lead > 0.0), score: passed / n },
        };
        prop_assert_eq!(verdict, expected);
    }
}
