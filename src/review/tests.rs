use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::queue::{ReviewedRun, questions};
use super::*;
use crate::journal::{JournalWriter, RunPaths};
use crate::model::{
    Attempt, CasePlanned, CasesPlanned, Event, Grade, GraderType, HumanReview, InputKind,
    InputShown, Output, OutputValue, QuestionDigests, Rating, ReviewPolicy, SampleFinished,
    Verdict, output_digest, rubric_digest, testing,
};
use crate::ratings::{RatingLine, RatingStore};
use crate::spec::{Evaluators, HumanGraderConfig, RatingKind, RatingScale};
use eval_base::clock::FixedClock;
use eval_base::redact::Redactor;

/// A project with runs and reviews.
struct Project {
    dir: tempfile::TempDir,
    config: HumanGraderConfig,
}

impl Project {
    fn new(kind: RatingKind) -> Project {
        let config = HumanGraderConfig {
            rating_scale: Some(RatingScale {
                kind,
                ..RatingScale::default()
            }),
            ..HumanGraderConfig::default()
        };
        let dir = tempfile::tempdir().unwrap();
        Project { dir, config }
    }

    fn evaluated(mut self, min: u32, agreement: Option<f64>) -> Project {
        self.config.evaluators = Some(Evaluators {
            min_required: Some(min),
            max_allowed: None,
            agreement_threshold: agreement,
        });
        self
    }

    fn results(&self) -> std::path::PathBuf {
        self.dir.path().join("results")
    }

    fn store(&self) -> std::path::PathBuf {
        self.dir.path().join("reviews/Suite")
    }

    /// A run of cases `c0`, `c1`, ... on a target, whose outputs a person is to review.
    fn run(&self, target: &str, cases: usize, siblings: &[String]) -> String {
        let grade = |output: &OutputValue| self.human_grade(output);
        self.run_graded(target, cases, siblings, grade)
    }

    fn human_grade(&self, output: &OutputValue) -> Vec<Grade> {
        let policy = ReviewPolicy::of(&self.config);
        let digests = QuestionDigests {
            input: "sha256:input".into(),
            output: output_digest(output, None),
            rubric: rubric_digest("Is it right?", &policy.scale, None),
        };
        let mut grade = Grade::pending(GraderType::Human, "human", "waits for a review");
        grade.review = Some(Box::new(HumanReview {
            rubric: "Is it right?".into(),
            ..HumanReview::open(digests, policy)
        }));
        vec![grade]
    }

    fn run_graded(
        &self,
        target: &str,
        cases: usize,
        siblings: &[String],
        grades: impl Fn(&OutputValue) -> Vec<Grade>,
    ) -> String {
        let at = "2026-03-04T05:06:07Z".parse().unwrap();
        let paths = RunPaths::create(&self.results(), at).unwrap();
        let mut journal = JournalWriter::open(&paths.journal(), Redactor::default()).unwrap();
        let mut started = testing::run_started();
        started.run.run_id = paths.run_id.clone();
        started.run.environment.target = target.into();
        started.siblings = siblings.to_vec();
        journal
            .append(Event::RunStarted(Box::new(started)))
            .unwrap();
        let planned = (0..cases).map(|case| CasePlanned {
            input: Some(Box::new(InputShown::bounded(
                InputKind::Prompt,
                format!("question {case}").into(),
                None,
                None,
            ))),
            ..testing::planned_case(&format!("c{case}"), 1)
        });
        let planned = CasesPlanned {
            eval: "e".into(),
            cases: planned.collect(),
        };
        journal.append(Event::CasesPlanned(planned)).unwrap();
        for case in 0..cases {
            let output = Output::text(format!("{target} says {case}"));
            let grades = grades(&output.value);
            let verdict = Verdict {
                outcome: grades.iter().map(|grade| grade.outcome).max().unwrap(),
                score: None,
                cause: None,
                reason: String::new(),
                grades,
                not_run: Vec::new(),
            };
            let attempt = Attempt {
                output: Some(output),
                ..testing::attempt(verdict)
            };
            let finished = SampleFinished {
                eval: "e".into(),
                case: format!("c{case}"),
                sample: 0,
                attempts: vec![attempt],
                finished_at: String::new(),
                reused_from: None,
            };
            journal
                .append(Event::SampleFinished(Box::new(finished)))
                .unwrap();
        }
        paths.run_id
    }

    fn options(&self, reviewer: &str, queue: ReviewQueue) -> SessionOptions {
        SessionOptions {
            results: self.results(),
            run: "latest".into(),
            beside: Vec::new(),
            store: self.store(),
            reviewer: reviewer.into(),
            queue,
            blind: None,
            seed: 7,
            repeats: 0.0,
            clock: Arc::new(FixedClock("2026-03-04T06:00:00Z".parse().unwrap())),
            tool: "0.1.0".into(),
        }
    }

    fn open(&self, reviewer: &str, queue: ReviewQueue) -> ReviewSession {
        ReviewSession::open(self.options(reviewer, queue)).unwrap()
    }

    fn lines(&self) -> Vec<RatingLine> {
        RatingStore::read(&self.store())
            .unwrap()
            .standing()
            .cloned()
            .collect()
    }
}

fn decision(rating: Rating) -> Decision {
    Decision {
        rating,
        comment: None,
        seconds: 2.0,
    }
}

fn binary(value: bool) -> Decision {
    decision(Rating::Binary { value })
}

/// Rates every item of a queue by its case.
fn rate_all(session: &mut ReviewSession, rating: impl Fn(&ReviewItem) -> Rating) {
    for at in 0..session.len() {
        let item = session.item(at).unwrap();
        session.decide(at, decision(rating(&item))).unwrap();
    }
}

#[test]
fn session_shows_items_and_goes_on_where_it_was_left() {
    let project = Project::new(RatingKind::Binary);
    project.run("small", 5, &[]);
    let mut session = project.open("ana", ReviewQueue::Pending);
    assert_eq!((session.len(), session.position()), (5, Some(0)));
    let item = session.item(0).unwrap();
    let number = item.case.trim_start_matches('c').to_owned();
    assert_eq!(item.input, format!("question {number}"));
    assert_eq!(item.outputs[0].text, format!("small says {number}"));
    assert_eq!((item.rubric.as_str(), item.blind), ("Is it right?", false));
    assert_eq!(item.context.unwrap().target, "small");
    session.decide(0, binary(true)).unwrap();
    session.decide(1, decision(Rating::Skip)).unwrap();
    let recorded = session.decide(2, binary(false)).unwrap();
    assert_eq!((recorded.progress.done, recorded.progress.skipped), (3, 1));
    assert_eq!(session.position(), Some(3));
    let order: Vec<String> = (0..5).map(|at| session.item(at).unwrap().case).collect();
    // As after a kill: what was skipped is open again.
    let again = project.open("ana", ReviewQueue::Pending);
    assert_eq!(again.position(), Some(1));
    assert_eq!(
        again.item(2).unwrap().decided,
        Some(Rating::Binary { value: false })
    );
    let same: Vec<String> = (0..5).map(|at| again.item(at).unwrap().case).collect();
    assert_eq!(same, order);
    // Another reviewer has another order, and what ana decided is not left to do.
    assert_eq!(project.open("ben", ReviewQueue::Pending).len(), 3);
}

#[test]
fn undo_and_change_append_lines_that_replace_earlier_ones() {
    let project = Project::new(RatingKind::Binary);
    project.run("small", 3, &[]);
    let mut session = project.open("ana", ReviewQueue::Pending);
    session.decide(0, binary(true)).unwrap();
    session.decide(0, binary(false)).unwrap();
    let standing = project.lines();
    assert_eq!(standing.len(), 1);
    assert_eq!(standing[0].rating, Some(Rating::Binary { value: false }));
    session.decide(1, binary(true)).unwrap();
    assert_eq!(session.undo().unwrap(), Some(1));
    assert_eq!(session.undo().unwrap(), Some(0));
    assert_eq!(session.undo().unwrap(), None);
    assert_eq!((project.lines().len(), session.position()), (0, Some(0)));
    // Nothing is ever removed from the file.
    let text = std::fs::read_to_string(session.file()).unwrap();
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn rating_that_does_not_fit_the_scale_is_refused() {
    let mut project = Project::new(RatingKind::Likert);
    let scale = project.config.rating_scale.as_mut().unwrap();
    scale.criteria = vec!["clear".into(), "right".into()];
    project.run("small", 1, &[]);
    let mut session = project.open("ana", ReviewQueue::Pending);
    let mut refused = |scores: &[(&str, i64)]| {
        let scores = scores
            .iter()
            .map(|(name, score)| ((*name).to_owned(), *score));
        let scores: BTreeMap<String, i64> = scores.collect();
        match session.decide(0, decision(Rating::Likert { scores })) {
            Ok(_) => "recorded".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let said = [
        refused(&[("clear", 3)]),
        refused(&[("clear", 3), ("right", 6)]),
        refused(&[("clear", 3), ("right", 5), ("short", 1)]),
        refused(&[("clear", 3), ("right", 5)]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    a score for `right` is missing
    6 for `right` is not between 1 and 5
    the scale has no criterion `short`
    recorded
    ");
    let error = session.decide(0, binary(true)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the scale is `likert`, but the rating is not"
    );
    assert_eq!(
        session.decide(9, binary(true)).unwrap_err().to_string(),
        "there is no item 9: the queue has 1"
    );
    assert_eq!(project.lines().len(), 1);
}

#[test]
fn reviewers_who_differ_are_adjudicated_by_a_third() {
    let project = Project::new(RatingKind::Binary).evaluated(2, Some(0.8));
    project.run("small", 4, &[]);
    let says = |case: &str, of: &str| case == of;
    rate_all(&mut project.open("ana", ReviewQueue::Pending), |_| {
        Rating::Binary { value: true }
    });
    let mut ben = project.open("ben", ReviewQueue::Pending);
    for at in 0..ben.len() {
        let value = !says(&ben.item(at).unwrap().case, "c2");
        let comment = (!value).then(|| "wrong unit".to_owned());
        let rated = Decision {
            comment,
            ..binary(value)
        };
        ben.decide(at, rated).unwrap();
    }
    assert_eq!(project.open("cem", ReviewQueue::Pending).len(), 0);
    let mut cem = project.open("cem", ReviewQueue::Disagreements);
    assert_eq!(cem.len(), 1);
    let item = cem.item(0).unwrap();
    assert_eq!((item.case.as_str(), item.adjudication), ("c2", true));
    let mut others: Vec<String> = item
        .others
        .iter()
        .map(|other| {
            format!(
                "{} {}",
                other.reviewer,
                other.comment.as_deref().unwrap_or("-")
            )
        })
        .collect();
    others.sort();
    assert_eq!(others, ["ana -", "ben wrong unit"]);
    // Blind, the others have no names.
    let options = SessionOptions {
        blind: Some(true),
        ..project.options("dora", ReviewQueue::Disagreements)
    };
    let dora = ReviewSession::open(options).unwrap();
    let item = dora.item(0).unwrap();
    assert_eq!(
        (item.others[0].reviewer.as_str(), item.context),
        ("reviewer A", None)
    );
    cem.decide(0, binary(false)).unwrap();
    let line = project
        .lines()
        .into_iter()
        .find(|line| line.reviewer == "cem")
        .unwrap();
    assert!(line.adjudicates);
    // Who rated before does not decide.
    assert!(
        !project
            .open("ben", ReviewQueue::All)
            .item(0)
            .unwrap()
            .adjudication
    );
}

#[test]
fn repeated_items_come_later_and_do_not_count() {
    let project = Project::new(RatingKind::Binary);
    project.run("small", 20, &[]);
    let options = SessionOptions {
        repeats: 0.2,
        ..project.options("ana", ReviewQueue::Pending)
    };
    let mut session = ReviewSession::open(options).unwrap();
    assert_eq!(session.len(), 24);
    let keys: Vec<String> = (0..24).map(|at| session.item(at).unwrap().key).collect();
    for (at, key) in keys.iter().enumerate() {
        let first = keys.iter().position(|other| other == key).unwrap();
        assert!(first == at || at >= 10, "{first} {at}");
    }
    rate_all(&mut session, |_| Rating::Binary { value: true });
    let lines = project.lines();
    assert_eq!(lines.iter().filter(|line| line.repeat).count(), 4);
    assert_eq!(lines.len(), 24);
}

#[test]
fn outputs_of_several_targets_are_ranked_blindly() {
    let mut project = Project::new(RatingKind::Ranking);
    project.config.blind_evaluation = Some(true);
    let first = project.run("small", 12, &[]);
    let second = project.run("large", 12, std::slice::from_ref(&first));
    project.run("huge", 12, &[first.clone(), second]);
    let mut sides = std::collections::BTreeSet::new();
    // The first run of the command finds the later ones, too.
    let options = SessionOptions {
        run: first,
        ..project.options("ana", ReviewQueue::Pending)
    };
    let mut session = ReviewSession::open(options).unwrap();
    assert_eq!(session.len(), 12);
    for at in 0..session.len() {
        let item = session.item(at).unwrap();
        let labels: Vec<&str> = item
            .outputs
            .iter()
            .map(|output| output.label.as_str())
            .collect();
        assert_eq!(labels, ["A", "B", "C"]);
        assert!(item.outputs.iter().all(|output| output.target.is_none()));
        sides.insert(item.outputs[0].text.split(' ').next().unwrap().to_owned());
    }
    assert_eq!(sides.len(), 3, "sides are random");
    let shown: Vec<String> = session
        .item(0)
        .unwrap()
        .outputs
        .into_iter()
        .map(|output| output.digest)
        .collect();
    let refused = |session: &mut ReviewSession, order: Vec<Vec<String>>| {
        session
            .decide(0, decision(Rating::Ranking { order }))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&mut session, vec![vec![shown[0].clone()]]),
        "a ranking must contain each output once"
    );
    assert_eq!(
        refused(&mut session, vec![shown.clone()]),
        "this ranking allows no ties"
    );
    let order = shown
        .iter()
        .rev()
        .map(|digest| vec![digest.clone()])
        .collect();
    session
        .decide(0, decision(Rating::Ranking { order }))
        .unwrap();
    let line = &project.lines()[0];
    let kept: Vec<String> = line.shown.iter().map(|side| side.output.clone()).collect();
    assert_eq!((&kept, line.blind), (&shown, true));
    assert!(line.shown.iter().any(|side| side.target == "huge"));
    let again = project.open("ana", ReviewQueue::Pending);
    assert_eq!(again.progress().done, 1);
}

/// A judge that passed.
fn judged(score: f64) -> Grade {
    let mut judged = testing::judged();
    judged.rubric = "Is it clear?".into();
    judged.score = Some(score);
    judged.scale = Some([0.0, 1.0]);
    judged.pass_threshold = 0.7;
    let mut grade = match score >= 0.7 {
        true => Grade::passed(GraderType::Model, "model"),
        false => Grade::failed(
            GraderType::Model,
            "model",
            crate::model::Cause::Threshold,
            "low",
        ),
    };
    grade.score = Some(score);
    grade.judged = Some(Box::new(judged));
    grade
}

#[test]
fn judged_outputs_are_offered_and_disagreements_found() {
    let project = Project::new(RatingKind::Binary);
    let score = |output: &OutputValue| match output {
        OutputValue::Text(text) if text.ends_with('3') => vec![judged(0.72)],
        _ => vec![judged(1.0)],
    };
    project.run_graded("small", 6, &[], score);
    let error = ReviewSession::open(project.options("ana", ReviewQueue::Pending))
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("no case has a human grader"),
        "{error}"
    );
    let mut session = project.open("ana", ReviewQueue::All);
    assert_eq!(session.len(), 6);
    let item = session.item(0).unwrap();
    assert_eq!(
        (item.rubric.as_str(), item.scale.kind),
        ("Is it clear?", RatingKind::Binary)
    );
    assert_eq!(item.context.unwrap().verdicts[0].outcome, "passed");
    assert_eq!(project.open("ana", ReviewQueue::Disagreements).len(), 0);
    rate_all(&mut session, |item| Rating::Binary {
        value: item.case != "c4",
    });
    let differ = project.open("ben", ReviewQueue::Disagreements);
    assert_eq!(
        (differ.len(), differ.item(0).unwrap().case.as_str()),
        (1, "c4")
    );
    assert_eq!(project.open("ben", ReviewQueue::Uncertain).len(), 6);
    let sample = project.open("ben", ReviewQueue::Sample(2));
    let cases = |session: &ReviewSession| {
        let cases = (0..session.len()).map(|at| session.item(at).unwrap().case);
        cases.collect::<std::collections::BTreeSet<String>>()
    };
    assert_eq!(
        cases(&sample),
        cases(&project.open("cem", ReviewQueue::Sample(2)))
    );
}

#[test]
fn uncertain_outputs_come_first_more_often() {
    let project = Project::new(RatingKind::Binary);
    let score = |output: &OutputValue| match output {
        OutputValue::Text(text) if text.ends_with("says 3") => vec![judged(0.7)],
        _ => vec![judged(1.0)],
    };
    project.run_graded("small", 10, &[], score);
    let first = |seed| {
        let options = SessionOptions {
            seed,
            ..project.options("ana", ReviewQueue::Uncertain)
        };
        ReviewSession::open(options).unwrap().item(0).unwrap().case
    };
    let doubtful = (0..40).filter(|seed| first(*seed) == "c3").count();
    assert!(doubtful > 12, "{doubtful}");
}

#[test]
fn queues_are_read_from_words() {
    let read = |text: &str| {
        text.parse::<ReviewQueue>()
            .map_err(|error| error.to_string())
    };
    assert_eq!(read("sample=30"), Ok(ReviewQueue::Sample(30)));
    assert_eq!(read("disagreements"), Ok(ReviewQueue::Disagreements));
    assert_eq!(
        read("sample=0"),
        Err("`sample=0` is not a queue: all, pending, disagreements, uncertain or sample=N".into())
    );
}

#[test]
fn changed_output_or_rubric_voids_a_rating() {
    let mut project = Project::new(RatingKind::Binary);
    project.run("small", 2, &[]);
    rate_all(&mut project.open("ana", ReviewQueue::Pending), |_| {
        Rating::Binary { value: true }
    });
    // The same outputs again, in a later run.
    project.run("small", 2, &[]);
    assert_eq!(project.open("ana", ReviewQueue::Pending).progress().done, 2);
    project.run("other", 2, &[]);
    assert_eq!(project.open("ana", ReviewQueue::Pending).progress().done, 0);
    project.config.rating_scale.as_mut().unwrap().description = Some("Be strict.".into());
    project.run("small", 2, &[]);
    assert_eq!(project.open("ana", ReviewQueue::Pending).progress().done, 0);
}

#[test]
fn broken_lines_of_reviews_do_not_stop_a_session() {
    let project = Project::new(RatingKind::Binary);
    project.run("small", 2, &[]);
    std::fs::create_dir_all(project.store()).unwrap();
    std::fs::write(project.store().join("ben.jsonl"), "{\"version\":1\n").unwrap();
    let session = project.open("ana", ReviewQueue::Pending);
    assert_eq!((session.len(), session.problems().len()), (2, 1));
}

fn count_questions(results: &Path, judged: bool) -> usize {
    let paths = crate::journal::find_run(results, "latest").unwrap();
    questions(&[ReviewedRun::open(paths).unwrap()], judged)
        .unwrap()
        .questions
        .len()
}

#[test]
fn equal_outputs_are_one_question() {
    let project = Project::new(RatingKind::Binary);
    let constant = |_: &OutputValue| project.human_grade(&OutputValue::Text("same".into()));
    project.run_graded("small", 3, &[], constant);
    assert_eq!(count_questions(&project.results(), false), 1);
}
