//! The questions of a run: what there is to review, and what of it a queue offers to a reviewer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr;

use super::ReviewError;
use crate::calibration::judge_doubt;
use crate::grade::input_digest;
pub(super) use crate::journal::graded_value;
use crate::journal::{self, JournalError, RunPaths, SampleIndex};
use crate::model::{
    Event, Grade, GraderType, HumanReview, InputShown, Judge, Outcome, QuestionDigests, Rating,
    ReviewPolicy, RunStarted, SampleFinished, output_digest, ranked_digest, rubric_digest,
};
use crate::ratings::{PeopleVerdict, RatingLine, RatingStore, assessed, rating_share};
pub(super) use crate::ratings::{question_key, rank};
use eval_stats::{label_order, reaches};

/// Which questions are offered, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewQueue {
    /// All outputs, also those that only judges graded.
    All,
    /// Outputs that lack reviewers.
    Pending,
    /// Outputs about which reviewers, or people and a judge, differ.
    Disagreements,
    /// Judged outputs, those first whose verdict is the least certain.
    Uncertain,
    /// A random sample of all outputs, the same for every reviewer.
    Sample(usize),
}

impl FromStr for ReviewQueue {
    type Err = ReviewError;

    fn from_str(text: &str) -> Result<ReviewQueue, ReviewError> {
        let sample = || text.strip_prefix("sample=")?.parse().ok();
        match text {
            "all" => Ok(ReviewQueue::All),
            "pending" => Ok(ReviewQueue::Pending),
            "disagreements" => Ok(ReviewQueue::Disagreements),
            "uncertain" => Ok(ReviewQueue::Uncertain),
            _ => match sample() {
                Some(size) if size > 0 => Ok(ReviewQueue::Sample(size)),
                _ => Err(ReviewError::NoQueue {
                    text: text.to_owned(),
                }),
            },
        }
    }
}

/// The share of a draw of uncertain items that ignores how uncertain they are.
const AT_RANDOM: f64 = 0.5;

/// A run whose outputs are reviewed.
pub(super) struct ReviewedRun {
    pub paths: RunPaths,
    pub started: RunStarted,
    pub samples: SampleIndex,
    pub inputs: HashMap<(String, String), Box<InputShown>>,
}

impl ReviewedRun {
    pub fn open(paths: RunPaths) -> Result<ReviewedRun, JournalError> {
        let journal = paths.journal();
        Ok(ReviewedRun {
            started: journal::started(&journal)?,
            samples: journal::index_samples(&journal, |_, _| true)?,
            inputs: journal::planned_inputs(&journal)?,
            paths,
        })
    }
}

/// Where an output is.
#[derive(Debug, Clone)]
pub(super) struct OutputPlace {
    /// The number of the run.
    pub run: usize,
    pub sample: u32,
    pub digest: String,
}

/// A question about an output, or about several.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub digests: QuestionDigests,
    pub policy: ReviewPolicy,
    pub eval: String,
    pub case: String,
    /// The grader's name, or its method.
    pub grader: String,
    pub outputs: Vec<OutputPlace>,
    /// Whether a judge passes the output, before it is negated.
    pub judge: Option<bool>,
    /// How uncertain the judge is, in [0, 1].
    pub doubt: f64,
}

impl Question {
    /// What ratings mean together, those of one reviewer excepted.
    pub fn verdict(
        &self,
        store: &RatingStore,
        without: Option<&str>,
    ) -> (HumanReview, PeopleVerdict) {
        let lines = store.of_question(&self.digests).into_iter();
        let lines = lines.filter(|line| without != Some(line.reviewer.as_str()));
        let lines = lines.filter_map(|line| Some((line.counted()?, line.repeat)));
        let open = HumanReview::open(self.digests.clone(), self.policy.clone());
        let first = self
            .outputs
            .first()
            .map_or("", |output| output.digest.as_str());
        assessed(open, lines.collect(), first)
    }

    /// The reviewer's own standing line.
    pub fn own<'s>(
        &self,
        store: &'s RatingStore,
        reviewer: &str,
        repeat: bool,
    ) -> Option<&'s RatingLine> {
        let mut lines = store.of_question(&self.digests).into_iter();
        lines.find(|line| line.reviewer == reviewer && line.repeat == repeat)
    }
}

/// The questions of runs, and what is left out of them.
#[derive(Default)]
pub(super) struct RunQuestions {
    pub questions: Vec<Question>,
    /// Samples of private datasets.
    pub private: usize,
    /// Human grades without a question: by an earlier version.
    pub old: usize,
}

/// Reads the questions of runs, each once. With `judged`, outputs that only judges graded are among
/// them.
pub(super) fn questions(runs: &[ReviewedRun], judged: bool) -> Result<RunQuestions, ReviewError> {
    let mut found = every_question(runs, judged)?;
    let mut seen = HashSet::new();
    let mut ranked = JoinedRankings::default();
    for question in std::mem::take(&mut found.questions) {
        if question.policy.is_ranking() {
            ranked.add(question);
        } else if seen.insert(question.digests.clone()) {
            found.questions.push(question);
        }
    }
    let ranked = ranked.questions.into_iter().filter_map(whole_ranking);
    found.questions.extend(ranked);
    Ok(found)
}

/// The questions of every sample, by run, eval, case and sample. A ranking has its own output only.
fn every_question(runs: &[ReviewedRun], judged: bool) -> Result<RunQuestions, ReviewError> {
    let mut found = RunQuestions::default();
    // Of a sample that is there twice the later one counts.
    let mut by_sample: BTreeMap<(usize, String, String, u32), Vec<Question>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let journal = run.paths.journal();
        let private = journal::private_evals(&journal)?;
        let mut planned: HashMap<(String, String), String> = HashMap::new();
        let mut look = |event: Event| -> Result<(), ReviewError> {
            match event {
                Event::CasesPlanned(cases) => planned.extend(cases.cases.into_iter().map(|case| {
                    let input = input_digest(&case.input_hash);
                    ((cases.eval.clone(), case.id), input)
                })),
                Event::SampleFinished(sample) if private.contains(&sample.eval) => {
                    found.private += 1;
                }
                Event::SampleFinished(sample) => {
                    let input = planned.get(&(sample.eval.clone(), sample.case.clone()));
                    let input = input.cloned().unwrap_or_default();
                    let of_sample = of_sample((at, run), &sample, &input, judged, &mut found.old)?;
                    let key = (at, sample.eval.clone(), sample.case.clone(), sample.sample);
                    by_sample.insert(key, of_sample);
                }
                _ => {}
            }
            Ok(())
        };
        if judged {
            for event in journal::read(&journal)? {
                look(event?)?;
            }
        } else {
            for event in journal::read_counts(&journal)? {
                look(event?)?;
            }
        }
    }
    found.questions = by_sample.into_values().flatten().collect();
    Ok(found)
}

/// Rankings under way, found by case, grader, and digests of input and rubric.
#[derive(Default)]
struct JoinedRankings {
    questions: Vec<Question>,
    places: HashMap<[String; 5], usize>,
}

impl JoinedRankings {
    /// Adds the outputs of a question to those of the same case of other runs.
    fn add(&mut self, question: Question) {
        let digests = &question.digests;
        let key = [
            &question.eval,
            &question.case,
            &question.grader,
            &digests.input,
            &digests.rubric,
        ];
        let next = self.questions.len();
        let at = *self.places.entry(key.map(String::clone)).or_insert(next);
        let Some(same) = self.questions.get_mut(at) else {
            self.questions.push(question);
            return;
        };
        for output in question.outputs {
            // Of each target one output, and no two that are equal.
            let is_known =
                |known: &OutputPlace| known.run == output.run || known.digest == output.digest;
            if !same.outputs.iter().any(is_known) {
                same.outputs.push(output);
            }
        }
    }
}

/// A ranking with the digest of all its outputs; `None` if they are too few.
fn whole_ranking(mut question: Question) -> Option<Question> {
    let [least, most] = question.policy.ranked();
    if question.outputs.len() < least {
        return None;
    }
    // The same ones for every reviewer.
    question
        .outputs
        .sort_by_cached_key(|output| rank(0, &["ranked", &question.digests.input, &output.digest]));
    question.outputs.truncate(most);
    let digests: Vec<String> = question
        .outputs
        .iter()
        .map(|output| output.digest.clone())
        .collect();
    question.digests.output = ranked_digest(&digests);
    Some(question)
}

fn of_sample(
    (at, run): (usize, &ReviewedRun),
    sample: &SampleFinished,
    input: &str,
    judged: bool,
    old: &mut usize,
) -> Result<Vec<Question>, ReviewError> {
    let Some(attempt) = sample.attempts.last().filter(|attempt| attempt.is_answer()) else {
        return Ok(Vec::new());
    };
    let grades = &attempt.verdict.grades;
    let judge = grades
        .iter()
        .find_map(|grade| Some((grade, grade.judged.as_deref()?)));
    let doubt = judge.map_or(0.0, |(_, judged)| judge_doubt(judged));
    let opinion = judge.and_then(|(grade, _)| {
        let passed = grade.outcome == Outcome::Passed;
        grade.outcome.is_graded().then_some(passed != grade.negated)
    });
    let question = |grader: String, digests: QuestionDigests, policy: ReviewPolicy| Question {
        outputs: vec![OutputPlace {
            run: at,
            sample: sample.sample,
            digest: digests.output.clone(),
        }],
        digests,
        policy,
        eval: sample.eval.clone(),
        case: sample.case.clone(),
        grader,
        judge: opinion,
        doubt,
    };
    let mut questions = Vec::new();
    for grade in grades
        .iter()
        .filter(|grade| grade.grader_type == GraderType::Human)
    {
        match grade.review.as_deref() {
            Some(review) => {
                questions.push(question(
                    review.grader.clone(),
                    review.digests.clone(),
                    review.policy.clone(),
                ));
            }
            None if grade.outcome == Outcome::Errored => {}
            None => *old += 1,
        }
    }
    if !judged || !questions.is_empty() {
        return Ok(questions);
    }
    let Some((grade, judged)) = judge.filter(|(grade, _)| grade.outcome.is_graded()) else {
        return Ok(questions);
    };
    let Some(value) = graded_value(&run.paths, attempt)? else {
        return Ok(questions);
    };
    let left = attempt.output.as_ref().map(|output| &output.workspace);
    let left = left.or(attempt.stored.as_ref().map(|stored| &stored.workspace));
    let left = left.and_then(Option::as_ref).map(|left| left.left.as_str());
    let policy = judged_policy();
    let digests = QuestionDigests {
        input: input.to_owned(),
        output: output_digest(&value, left),
        rubric: rubric_digest(&judged.rubric, &policy.scale, None),
    };
    Ok(vec![question(shown_name(grade), digests, policy)])
}

/// Of outputs that only judges graded: pass or fail, by one person.
fn judged_policy() -> ReviewPolicy {
    ReviewPolicy::of(&crate::spec::HumanGraderConfig::default())
}

/// The grader's name, or its method.
pub(super) fn shown_name(grade: &Grade) -> String {
    grade.grader.clone().unwrap_or_else(|| grade.method.clone())
}

/// The questions of a queue for a reviewer, in the order in which they are asked.
pub(super) fn queued(
    mut questions: Vec<Question>,
    queue: ReviewQueue,
    store: &RatingStore,
    reviewer: &str,
    seed: u64,
) -> Vec<Question> {
    let key = |question: &Question| question_key(&question.digests);
    let open = |question: &Question| {
        let (review, verdict) = question.verdict(store, Some(reviewer));
        let most = question
            .policy
            .max_allowed
            .and_then(|most| usize::try_from(most).ok());
        verdict == PeopleVerdict::Adjudication
            || most.is_none_or(|most| review.ratings.len() < most)
    };
    match queue {
        ReviewQueue::All => questions.retain(open),
        ReviewQueue::Pending => questions.retain(|question| {
            matches!(
                question.verdict(store, Some(reviewer)).1,
                PeopleVerdict::Missing(_)
            )
        }),
        ReviewQueue::Disagreements => {
            questions.retain(|question| differs(question, store, reviewer) > 0)
        }
        ReviewQueue::Sample(size) => {
            questions.sort_by_cached_key(|question| rank(seed, &["sample", &key(question)]));
            questions.truncate(size);
            questions.retain(open);
        }
        ReviewQueue::Uncertain => {
            questions.retain(|question| question.judge.is_some() && !question.policy.is_ranking());
            // The draw must not depend on the order of the journal.
            questions.sort_by_cached_key(key);
            let doubts: Vec<f64> = questions.iter().map(|question| question.doubt).collect();
            let order = label_order(&doubts, AT_RANDOM, seed).unwrap_or_default();
            let mut slots: Vec<Option<Question>> = questions.into_iter().map(Some).collect();
            let in_order = order.into_iter().filter_map(|at| slots.get_mut(at)?.take());
            return in_order.filter(open).collect();
        }
    }
    questions.sort_by_cached_key(|question| {
        let first = match queue {
            ReviewQueue::Disagreements => 2 - differs(question, store, reviewer),
            _ => 0,
        };
        (first, rank(seed, &["order", reviewer, &key(question)]))
    });
    questions
}

/// 2 where reviewers differ so that a further one must decide, 1 where they or a judge differ at
/// all.
fn differs(question: &Question, store: &RatingStore, reviewer: &str) -> u8 {
    let (review, verdict) = question.verdict(store, Some(reviewer));
    if verdict == PeopleVerdict::Adjudication {
        return 2;
    }
    let ratings = review.ratings.iter();
    let passes = ratings.filter_map(|counted| passes(&question.policy, &counted.rating));
    let mut passes: Vec<bool> = passes.collect();
    if !passes.is_empty() {
        passes.extend(question.judge);
    }
    let split = passes.contains(&true) && passes.contains(&false);
    let unequal = review.agreement.is_some_and(|share| share < 1.0);
    u8::from(split || unequal)
}

/// Whether a rating alone passes the output; `None` for a ranking and a skipped item.
fn passes(policy: &ReviewPolicy, rating: &Rating) -> Option<bool> {
    let least = match rating {
        Rating::Binary { .. } => 0.5,
        Rating::Likert { .. } => policy.pass_threshold.unwrap_or(Judge::PASS_THRESHOLD),
        Rating::Ranking { .. } | Rating::Skip => return None,
    };
    Some(reaches(rating_share(policy, rating)?, least))
}
