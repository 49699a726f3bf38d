//! How judges did: what is kept of a judged sample, and the figures over them. Words that judges
//! said are not here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::columns::CaseView;
use super::metrics::{CountedEval, blank, undefined_because};
use super::outcomes::OutcomeReading;
use crate::calibration::{CalibratedJudge, JudgedCounts};
use crate::model::{
    Bound, Cause, Combine, CombineRule, Estimate, Fingerprint, Grade, Judge, JudgeHealth,
    JudgeVote, JudgeVotes, JudgeWorth, Metric, Outcome, ReplyFault, RunStarted,
};

/// Usable votes from which on a judge that never gave but one score is conspicuous.
const CONSTANT: u64 = 10;

/// The names of judges, each with a number that stands for it in samples.
#[derive(Debug, Default)]
pub(super) struct JudgeNames {
    numbers: BTreeMap<String, u32>,
    /// Judges as they are configured: names and fingerprints.
    panels: Vec<(String, String)>,
    /// Their numbers by fingerprint, or by name after a space.
    panel_numbers: HashMap<String, u32>,
}

/// What is kept of a sample with grades by judges, and what decides its verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JudgedSample(Box<[FoldedVerdict]>, SampleDecider);

/// What decides the verdict of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleDecider {
    /// Code or people, whatever a judge says.
    Others,
    /// One judge alone.
    Judge,
    /// Judges together with others.
    Several,
}

impl SampleDecider {
    fn of(grades: &[Grade], rule: Option<&CombineRule>) -> SampleDecider {
        let counted = || grades.iter().filter(|grade| !grade.informative);
        let others = || counted().filter(|grade| !is_judged(grade));
        let judges = counted().filter(|grade| is_judged(grade)).count();
        let ended = |outcome| others().any(|grade| grade.outcome == outcome);
        match (judges, rule.map(|rule| rule.how)) {
            (0, _) => SampleDecider::Others,
            (1, _) if others().next().is_none() => SampleDecider::Judge,
            (1, None | Some(Combine::All)) if ended(Outcome::Failed) => SampleDecider::Others,
            (1, Some(Combine::Any)) if ended(Outcome::Passed) => SampleDecider::Others,
            (1, None | Some(Combine::All | Combine::Any)) => SampleDecider::Judge,
            _ => SampleDecider::Several,
        }
    }
}

impl JudgedSample {
    pub(super) fn decider(&self) -> SampleDecider {
        self.1
    }

    /// The judge that decides, as it is configured, and its verdict.
    pub(super) fn deciding(&self) -> Option<(u32, bool)> {
        let mut counted = self.0.iter().filter(|verdict| !verdict.informative);
        let verdict = counted.next()?;
        Some((verdict.panel, verdict.passed?))
    }
}

/// One verdict of a panel.
#[derive(Debug, Clone, PartialEq)]
struct FoldedVerdict {
    /// Why there is none.
    errored: Option<Cause>,
    /// Stands for the question; `None` when it has no name.
    question: Option<u64>,
    /// The judge as it is configured, and its verdict before a negation, if it gave one.
    panel: u32,
    passed: Option<bool>,
    informative: bool,
    cut: bool,
    neutralised: bool,
    votes: Box<[FoldedVote]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct FoldedVote {
    judge: u32,
    /// `Err`: it could not be used.
    passed: Result<bool, Cause>,
    /// Of a usable one, in [0, 1].
    score: f64,
    replied: bool,
    /// Of the first reply.
    fault: Option<ReplyFault>,
    repairs: u32,
    said_otherwise: bool,
}

/// True for a grade by judges, also for one that nobody could be asked for.
fn is_judged(grade: &Grade) -> bool {
    grade.judged.is_some()
        || matches!(
            grade.cause,
            Some(Cause::JudgeUnreachable | Cause::JudgeUnparseable)
        )
}

impl JudgeNames {
    /// True when a judge graded a sample.
    pub fn are_known(&self) -> bool {
        !self.panels.is_empty()
    }

    /// What is kept of the grades of a sample of an eval, which `rule` combines; `None` when no
    /// judge was asked.
    pub fn see(
        &mut self,
        eval: &str,
        grades: &[Grade],
        rule: Option<&CombineRule>,
    ) -> Option<JudgedSample> {
        if !grades.iter().any(is_judged) {
            return None;
        }
        let judged = grades.iter().filter(|grade| is_judged(grade));
        Some(JudgedSample(
            judged.map(|grade| self.verdict(eval, grade)).collect(),
            SampleDecider::of(grades, rule),
        ))
    }

    /// The number of a judge as it is configured.
    fn panel(&mut self, eval: &str, grade: &Grade) -> u32 {
        let name = grade.grader.as_deref().unwrap_or(eval);
        let judged = grade.judged.as_deref();
        let fingerprint = judged.map_or("", |judged| judged.fingerprint.as_str());
        let unknown;
        let key = match fingerprint {
            "" => {
                unknown = format!(" {name}");
                unknown.as_str()
            }
            fingerprint => fingerprint,
        };
        if let Some(number) = self.panel_numbers.get(key) {
            return *number;
        }
        let number = self.panels.len() as u32;
        self.panels.push((name.to_owned(), fingerprint.to_owned()));
        self.panel_numbers.insert(key.to_owned(), number);
        number
    }

    fn verdict(&mut self, eval: &str, grade: &Grade) -> FoldedVerdict {
        let judged = grade.judged.as_deref();
        let errored =
            (grade.outcome == Outcome::Errored).then(|| grade.cause.unwrap_or(Cause::Harness));
        let question = judged
            .map(|judged| judged.asked.id.as_str())
            .filter(|id| !id.is_empty());
        let votes = judged.map_or(&[][..], |judged| &judged.votes);
        FoldedVerdict {
            errored,
            question: question.map(short),
            panel: self.panel(eval, grade),
            passed: match grade.outcome {
                Outcome::Passed => Some(!grade.negated),
                Outcome::Failed => Some(grade.negated),
                _ => None,
            },
            informative: grade.informative,
            cut: judged.is_some_and(|judged| judged.cut),
            neutralised: judged.is_some_and(|judged| judged.neutralised),
            votes: votes.iter().map(|vote| self.vote(vote)).collect(),
        }
    }

    fn vote(&mut self, vote: &JudgeVote) -> FoldedVote {
        let next = self.numbers.len() as u32;
        let judge = match self.numbers.get(&vote.model) {
            Some(number) => *number,
            None => *self.numbers.entry(vote.model.clone()).or_insert(next),
        };
        let passed = match vote.outcome {
            Outcome::Passed => Ok(true),
            Outcome::Failed => Ok(false),
            _ => Err(vote.cause.unwrap_or(Cause::JudgeUnparseable)),
        };
        let repairs = vote
            .replies
            .iter()
            .filter(|reply| !reply.repair.is_empty())
            .count();
        FoldedVote {
            judge,
            passed,
            score: vote
                .score
                .unwrap_or(if passed == Ok(true) { 1.0 } else { 0.0 }),
            replied: !vote.replies.is_empty(),
            fault: vote.replies.first().and_then(|reply| reply.fault),
            repairs: u32::try_from(repairs).unwrap_or(u32::MAX),
            said_otherwise: passed
                .is_ok_and(|passed| vote.said_passed.is_some_and(|said| said != passed)),
        }
    }

    /// What a report says of judges; `counts` is of the same fold.
    pub fn health(&self, counts: &JudgeCounts) -> JudgeHealth {
        let of = |number: &u32| counts.by_judge.get(number).map(JudgeSums::told);
        let by_model = self
            .numbers
            .iter()
            .filter_map(|(name, number)| Some((name.clone(), of(number)?)))
            .collect();
        let JudgeCounts {
            samples,
            errored,
            missing,
            panels,
            disagreeing,
            cut,
            neutralised,
            ..
        } = *counts;
        JudgeHealth {
            samples,
            errored,
            errored_by_cause: by_name(&counts.errored_by, Cause::name),
            not_judged: missing,
            panels,
            disagreeing,
            cut,
            neutralised,
            total: counts.total.told(),
            by_model,
            worth: Vec::new(),
        }
    }

    /// The calibrations of the judges of a run, by number.
    pub fn calibrated<'a>(
        &'a self,
        counts: &'a JudgeCounts,
        started: &'a RunStarted,
    ) -> impl Iterator<Item = PanelWorth<'a>> {
        let (files, run) = (&started.config.calibrations, &started.run.run_id);
        counts.by_panel.iter().filter_map(move |(number, counts)| {
            let (name, fingerprint) = self.panels.get(*number as usize)?;
            Some(PanelWorth {
                number: *number,
                name,
                fingerprint,
                counts: *counts,
                judge: CalibratedJudge::find(files, (name, fingerprint), run, *counts),
            })
        })
    }
}

/// A judge as it is configured, with its verdicts and what they are worth.
pub(super) struct PanelWorth<'a> {
    pub number: u32,
    pub name: &'a str,
    fingerprint: &'a str,
    pub counts: JudgedCounts,
    pub judge: CalibratedJudge<'a>,
}

impl PanelWorth<'_> {
    /// For reports.
    pub fn told(&self) -> JudgeWorth {
        let file = self.judge.file;
        let [sensitivity, specificity] = self.judge.shares();
        let [judged_rate, corrected_rate] = self.judge.rates(self.counts);
        let labels = file.map_or(0, |file| file.confusion.iter().map(|row| row.count).sum());
        JudgeWorth {
            judge: self.name.to_owned(),
            fingerprint: self.fingerprint.to_owned(),
            status: self.judge.status,
            calibrated_at: file.map(|file| file.calibrated_at.clone()),
            labels_of: file.and_then(|file| file.labels.run.clone().or(file.labels.file.clone())),
            labels,
            judged: self.counts.judged,
            judged_passed: self.counts.passed,
            sensitivity,
            specificity,
            judged_rate,
            corrected_rate,
        }
    }
}

fn by_name<K: Copy + Ord>(
    counts: &BTreeMap<K, u64>,
    name: fn(K) -> &'static str,
) -> BTreeMap<String, u64> {
    counts
        .iter()
        .map(|(key, n)| (name(*key).to_owned(), *n))
        .collect()
}

/// The beginning of a fingerprint, which an id is itself when it was written by this program.
fn short(id: &str) -> u64 {
    let of = |digits: &str| {
        digits
            .get(..16)
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
    };
    of(id)
        .or_else(|| of(&Fingerprint::of_bytes(id.as_bytes()).to_string()))
        .unwrap_or_default()
}

/// Counts over the judged samples of a run or a part of it.
#[derive(Debug, Default)]
pub(super) struct JudgeCounts {
    samples: u64,
    errored: u64,
    errored_by: BTreeMap<Cause, u64>,
    /// Samples of cases with a judge that have no grade, and about which no judge was asked.
    missing: u64,
    panels: u64,
    disagreeing: u64,
    /// Verdicts with several votes that might disagree, if those that errored were known: such that
    /// are no panel without these, and such that are.
    open_beside: u64,
    open_within: u64,
    cut: u64,
    neutralised: u64,
    total: JudgeSums,
    by_judge: BTreeMap<u32, JudgeSums>,
    /// Verdicts of judges as they are configured.
    by_panel: BTreeMap<u32, JudgedCounts>,
    /// Pairs with a vote that could not be used.
    open_pairs: u64,
}

/// What is summed of one judge, or of all.
#[derive(Debug, Default)]
struct JudgeSums {
    votes: u64,
    passed: u64,
    failed: u64,
    errored: BTreeMap<Cause, u64>,
    replied: u64,
    faults: BTreeMap<ReplyFault, u64>,
    repairs: u64,
    said_otherwise: u64,
    pairs: u64,
    agreeing: u64,
    /// Questions with a usable vote.
    questions: u64,
    scores: ScoreSpread,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum ScoreSpread {
    #[default]
    None,
    Same(f64),
    Several,
}

/// Votes of one judge on one question.
#[derive(Debug, Default, Clone, Copy)]
struct RepeatedVotes {
    passed: u64,
    failed: u64,
    errored: u64,
}

fn pairs(n: u64) -> u64 {
    n.saturating_mul(n.saturating_sub(1)) / 2
}

impl JudgeSums {
    fn add(&mut self, vote: &FoldedVote) {
        self.votes += 1;
        match vote.passed {
            Ok(true) => self.passed += 1,
            Ok(false) => self.failed += 1,
            Err(cause) => *self.errored.entry(cause).or_default() += 1,
        }
        self.replied += u64::from(vote.replied);
        self.repairs += u64::from(vote.repairs);
        self.said_otherwise += u64::from(vote.said_otherwise);
        if let Some(fault) = vote.fault {
            *self.faults.entry(fault).or_default() += 1;
        }
        if vote.passed.is_ok() {
            self.scores = match self.scores {
                ScoreSpread::None => ScoreSpread::Same(vote.score),
                ScoreSpread::Same(score) if score.to_bits() == vote.score.to_bits() => self.scores,
                _ => ScoreSpread::Several,
            };
        }
    }

    fn compare(&mut self, repeated: &RepeatedVotes) {
        let RepeatedVotes { passed, failed, .. } = *repeated;
        self.pairs += pairs(passed + failed);
        self.agreeing += pairs(passed) + pairs(failed);
        self.questions += u64::from(passed + failed > 0);
    }

    fn faulty(&self) -> u64 {
        self.faults.values().sum()
    }

    fn told(&self) -> JudgeVotes {
        let constant = self.passed + self.failed >= CONSTANT && self.questions > 1;
        JudgeVotes {
            votes: self.votes,
            passed: self.passed,
            failed: self.failed,
            errored: by_name(&self.errored, Cause::name),
            replied: self.replied,
            faults: by_name(&self.faults, ReplyFault::name),
            repairs: self.repairs,
            pairs: self.pairs,
            agreeing_pairs: self.agreeing,
            said_otherwise: self.said_otherwise,
            constant_score: match self.scores {
                ScoreSpread::Same(score) if constant => Some(score),
                _ => None,
            },
        }
    }
}

impl JudgeCounts {
    /// `None` when no case has a judge.
    pub fn new(evals: &[CountedEval<'_>]) -> Option<JudgeCounts> {
        if !evals.iter().any(|eval| eval.fold.has_judges()) {
            return None;
        }
        let mut counts = JudgeCounts::default();
        let mut repeated: HashMap<(u32, u64), RepeatedVotes> = HashMap::new();
        let mut cases = 0u64;
        for eval in evals.iter().filter(|eval| eval.fold.has_judges()) {
            for case in eval.cases() {
                cases += u64::from(counts.add(case, &mut repeated));
            }
        }
        for ((judge, _), repeated) in &repeated {
            counts.total.compare(repeated);
            let all = repeated.passed + repeated.failed + repeated.errored;
            counts.open_pairs += pairs(all) - pairs(repeated.passed + repeated.failed);
            if let Some(sums) = counts.by_judge.get_mut(judge) {
                sums.compare(repeated);
            }
        }
        (cases > 0).then_some(counts)
    }

    /// Counts a case; false when it has no judge.
    fn add(
        &mut self,
        case: CaseView<'_>,
        repeated: &mut HashMap<(u32, u64), RepeatedVotes>,
    ) -> bool {
        let mut any = case.has_judge();
        let mut panels = BTreeSet::new();
        for slot in case.slots() {
            match case.judged(slot) {
                Some(sample) => {
                    any = true;
                    self.sample(sample, repeated);
                    let judged = sample.0.iter().filter(|verdict| verdict.passed.is_some());
                    panels.extend(judged.map(|verdict| verdict.panel));
                }
                None if case.has_judge() => {
                    self.missing += u64::from(!case.eval.packed(slot).outcome().is_graded());
                }
                None => {}
            }
        }
        for panel in panels {
            self.by_panel.entry(panel).or_default().cases += 1;
        }
        any
    }

    fn sample(&mut self, sample: &JudgedSample, repeated: &mut HashMap<(u32, u64), RepeatedVotes>) {
        self.samples += 1;
        self.errored += u64::from(sample.0.iter().any(|verdict| verdict.errored.is_some()));
        for verdict in &sample.0 {
            if let Some(cause) = verdict.errored {
                *self.errored_by.entry(cause).or_default() += 1;
            }
            self.cut += u64::from(verdict.cut);
            self.neutralised += u64::from(verdict.neutralised);
            if let Some(passed) = verdict.passed {
                let counts = self.by_panel.entry(verdict.panel).or_default();
                counts.judged += 1;
                counts.passed += u64::from(passed);
            }
            self.panel(&verdict.votes);
            for vote in &verdict.votes {
                self.total.add(vote);
                self.by_judge.entry(vote.judge).or_default().add(vote);
                let Some(question) = verdict.question else {
                    continue;
                };
                let votes = repeated.entry((vote.judge, question)).or_default();
                match vote.passed {
                    Ok(true) => votes.passed += 1,
                    Ok(false) => votes.failed += 1,
                    Err(_) => votes.errored += 1,
                }
            }
        }
    }

    fn panel(&mut self, votes: &[FoldedVote]) {
        let passed = votes.iter().filter(|vote| vote.passed == Ok(true)).count();
        let usable = votes.iter().filter(|vote| vote.passed.is_ok()).count();
        let agree = passed == 0 || passed == usable;
        if usable >= 2 {
            self.panels += 1;
            self.disagreeing += u64::from(!agree);
            self.open_within += u64::from(agree && usable < votes.len());
        } else if votes.len() >= 2 {
            self.open_beside += 1;
        }
    }

    /// True when what is not known could change a figure.
    pub fn is_open(&self) -> bool {
        let unread = self.total.votes - self.total.replied;
        self.missing + unread + self.open_beside + self.open_within + self.open_pairs > 0
    }

    pub fn estimates(&self, reading: OutcomeReading) -> Vec<(Metric, Estimate)> {
        let JudgeSums {
            replied,
            repairs,
            pairs,
            agreeing,
            ..
        } = self.total;
        let unread = self.total.votes - replied;
        // Of each: what counts, of how many; those that are not known, and the most that one of
        // them may count.
        let figures = [
            (
                Metric::JudgeErroredRate,
                self.errored,
                self.samples,
                [self.missing; 2],
            ),
            (
                Metric::JudgeParseFailureRate,
                self.total.faulty(),
                replied,
                [unread; 2],
            ),
            (
                Metric::JudgeRepairRate,
                repairs,
                replied,
                [unread, unread * u64::from(Judge::REPAIRS)],
            ),
            (
                Metric::JudgeDisagreementRate,
                self.disagreeing,
                self.panels,
                [self.open_beside, self.open_beside + self.open_within],
            ),
            (
                Metric::JudgeConsistency,
                agreeing,
                pairs,
                [self.open_pairs; 2],
            ),
        ];
        figures
            .into_iter()
            .map(|(metric, part, whole, [beside, most])| {
                let open = reading != OutcomeReading::Graded;
                let highest = (reading == OutcomeReading::Worst) == (metric.bound() == Bound::Max);
                let (part, whole) = match open {
                    true => (part + if highest { most } else { 0 }, whole + beside),
                    false => (part, whole),
                };
                // How many votes a sample would have had that was never judged is not known.
                let unbounded = open && self.missing > 0 && metric != Metric::JudgeErroredRate;
                let estimate = match whole {
                    _ if unbounded => undefined_because(self.unknown()),
                    0 => undefined_because(nothing(&metric).to_owned()),
                    whole => Estimate {
                        value: Some(part as f64 / whole as f64),
                        n_cases: usize::try_from(self.samples).unwrap_or(usize::MAX),
                        ..blank()
                    },
                };
                (metric, estimate)
            })
            .collect()
    }

    fn unknown(&self) -> String {
        format!(
            "{} of {} samples were not judged",
            self.missing,
            self.missing + self.samples
        )
    }
}

/// Why a figure has nothing to divide by.
fn nothing(metric: &Metric) -> &'static str {
    match metric {
        Metric::JudgeErroredRate => "no judge was called",
        Metric::JudgeParseFailureRate | Metric::JudgeRepairRate => "no judge replied",
        Metric::JudgeDisagreementRate => "no verdict is based on two or more votes",
        _ => "no judge was asked the same question twice",
    }
}
