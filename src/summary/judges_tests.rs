//! What is told of judges, against a recount that shares nothing with it, and by hand.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fold::ListingLimits;
use super::random_run::{Dice, RandomRun, RunCase, RunSample, a_run, finished, summary};
use super::tests::{asked, planned_run};
use crate::model::testing::{judged, judged_grade, vote};
use crate::model::*;

fn samples(run: &RandomRun) -> impl Iterator<Item = (&RunCase, &RunSample)> {
    let cases = run.evals.iter().flat_map(|eval| &eval.cases);
    cases.flat_map(|case| case.samples.iter().map(move |sample| (case, sample)))
}

/// The grades by judges that count for a sample.
fn judgements(sample: &RunSample) -> Vec<&Grade> {
    let last = sample.attempts().and_then(|attempts| attempts.last());
    let by_judges = |grade: &&Grade| {
        let cause = grade.cause.map(Cause::name);
        grade.judged.is_some()
            || cause == Some("judge_unreachable")
            || cause == Some("judge_unparseable")
    };
    last.into_iter()
        .flat_map(|attempt| &attempt.verdict.grades)
        .filter(by_judges)
        .collect()
}

/// Part and whole: as they are, with what is not known at its least, and at its most.
#[derive(Debug, Default, Clone, Copy)]
struct Parts {
    now: [u64; 2],
    least: [u64; 2],
    most: [u64; 2],
}

impl Parts {
    /// One that counts in the whole: `None` when that is all that is known of it.
    fn add(&mut self, counts: Option<bool>) {
        let part = u64::from(counts == Some(true));
        if counts.is_some() {
            (self.now[0], self.now[1]) = (self.now[0] + part, self.now[1] + 1);
        }
        (self.least[0], self.least[1]) = (self.least[0] + part, self.least[1] + 1);
        let most = if counts.is_none() { 1 } else { part };
        (self.most[0], self.most[1]) = (self.most[0] + most, self.most[1] + 1);
    }
}

fn share([part, whole]: [u64; 2]) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn agree(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    Some(a? == b?)
}

struct Recount {
    samples: u64,
    missing: u64,
    errored: Parts,
    faulty: Parts,
    repairs: Parts,
    disagreeing: Parts,
    agreeing: Parts,
}

fn passed(vote: &JudgeVote) -> Option<bool> {
    vote.outcome
        .is_graded()
        .then_some(vote.outcome == Outcome::Passed)
}

fn recount(run: &RandomRun) -> Recount {
    let zero = Parts::default();
    let mut all = Recount {
        samples: 0,
        missing: 0,
        errored: zero,
        faulty: zero,
        repairs: zero,
        disagreeing: zero,
        agreeing: zero,
    };
    let mut votes: Vec<(&str, &str, Option<bool>)> = Vec::new();
    for (case, sample) in samples(run) {
        let grades = judgements(sample);
        if grades.is_empty() {
            if case.graders.contains(&GraderType::Model) && !sample.outcome().is_graded() {
                all.missing += 1;
                all.errored.add(None);
            }
            continue;
        }
        all.samples += 1;
        all.errored.add(Some(
            grades.iter().any(|grade| grade.outcome == Outcome::Errored),
        ));
        for judged in grades.iter().filter_map(|grade| grade.judged.as_ref()) {
            let said: Vec<Option<bool>> = judged.votes.iter().map(passed).collect();
            let known: Vec<bool> = said.iter().flatten().copied().collect();
            let differ = known.contains(&true) && known.contains(&false);
            match known.len() {
                0 | 1 if said.len() < 2 => {}
                0 | 1 => all.disagreeing.add(None),
                _ => {
                    all.disagreeing.add(Some(differ));
                    if !differ && known.len() < said.len() {
                        all.disagreeing.most[0] += 1;
                    }
                }
            }
            for vote in &judged.votes {
                match vote.replies.first() {
                    Some(first) => {
                        all.faulty.add(Some(first.fault.is_some()));
                        all.repairs.add(Some(false));
                        let repairs = vote
                            .replies
                            .iter()
                            .filter(|reply| !reply.repair.is_empty())
                            .count() as u64;
                        for parts in [
                            &mut all.repairs.now,
                            &mut all.repairs.least,
                            &mut all.repairs.most,
                        ] {
                            parts[0] += repairs;
                        }
                    }
                    None => {
                        all.faulty.add(None);
                        all.repairs.add(None);
                        all.repairs.most[0] += 1;
                    }
                }
                if !judged.asked.id.is_empty() {
                    votes.push((&vote.model, &judged.asked.id, passed(vote)));
                }
            }
        }
    }
    for (at, (judge, question, said)) in votes.iter().enumerate() {
        for (_, _, other) in votes[..at]
            .iter()
            .filter(|(j, q, _)| (j, q) == (judge, question))
        {
            all.agreeing.add(agree(*said, *other));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_judges_did_is_what_a_recount_finds(run in a_run(4), seed in any::<u64>()) {
        let events = run.whole(&mut Dice(seed));
        let told = summary(&events, ListingLimits::default());
        let all = recount(&run);
        let has_judge = samples(&run).any(|(case, sample)| {
            case.graders.contains(&GraderType::Model) || !judgements(sample).is_empty()
        });
        prop_assert_eq!(told.judges.is_some(), has_judge);
        let Some(health) = &told.judges else {
            prop_assert!(!told.metrics.contains_key("judge_errored_rate"));
            return Ok(());
        };
        prop_assert_eq!((health.samples, health.not_judged), (all.samples, all.missing));
        prop_assert_eq!([health.errored, health.samples], all.errored.now);
        prop_assert_eq!([health.total.all_faults(), health.total.replied], all.faulty.now);
        prop_assert_eq!([health.total.repairs, health.total.replied], all.repairs.now);
        prop_assert_eq!([health.disagreeing, health.panels], all.disagreeing.now);
        prop_assert_eq!([health.total.agreeing_pairs, health.total.pairs], all.agreeing.now);
        for (name, parts, lower_is_better) in [
            ("judge_errored_rate", all.errored, true),
            ("judge_parse_failure_rate", all.faulty, true),
            ("judge_repair_rate", all.repairs, true),
            ("judge_disagreement_rate", all.disagreeing, true),
            ("judge_consistency", all.agreeing, false),
        ] {
            let estimate = &told.estimates[name];
            prop_assert_eq!(estimate.value, share(parts.now), "{}", name);
            let unknown = all.missing > 0 && name != "judge_errored_rate";
            let extremes = [parts.least, parts.most].map(|parts| share(parts).filter(|_| !unknown));
            let [best, worst] = if lower_is_better { extremes } else { [extremes[1], extremes[0]] };
            prop_assert_eq!((estimate.worst, estimate.best), (worst, best), "{}", name);
            prop_assert_eq!((estimate.ci, estimate.method.as_str()), (None, "none"));
        }
    }

    /// By judge, what a run with that judge alone would tell; all of them together, the sum.
    #[test]
    fn votes_are_told_by_judge(run in a_run(3), seed in any::<u64>()) {
        let Some(health) = summary(&run.whole(&mut Dice(seed)), ListingLimits::default()).judges else { return Ok(()) };
        let mut by_model: BTreeMap<&str, Vec<&JudgeVote>> = BTreeMap::new();
        let mut panels = Vec::new();
        for (_, sample) in samples(&run) {
            panels.extend(judgements(sample).into_iter().filter_map(|grade| grade.judged.as_deref()));
        }
        for vote in panels.iter().flat_map(|judged| &judged.votes) {
            by_model.entry(&vote.model).or_default().push(vote);
        }
        let names: Vec<&str> = health.by_model.keys().map(String::as_str).collect();
        prop_assert_eq!(names, by_model.keys().copied().collect::<Vec<_>>());
        for (name, votes) in by_model {
            let told = &health.by_model[name];
            let count = |what: &dyn Fn(&JudgeVote) -> bool| votes.iter().filter(|vote| what(vote)).count() as u64;
            prop_assert_eq!(told.votes, votes.len() as u64);
            prop_assert_eq!(told.passed, count(&|vote| passed(vote) == Some(true)));
            prop_assert_eq!(told.failed, count(&|vote| passed(vote) == Some(false)));
            for cause in Cause::ALL {
                let n = count(&|vote| passed(vote).is_none() && vote.cause == Some(*cause));
                prop_assert_eq!(told.errored.get(cause.name()).copied().unwrap_or(0), n);
            }
            for fault in ReplyFault::ALL {
                let n = count(&|vote| vote.replies.first().is_some_and(|reply| reply.fault == Some(*fault)));
                prop_assert_eq!(told.faults.get(fault.name()).copied().unwrap_or(0), n);
            }
            let otherwise = count(&|vote| vote.said_passed.is_some() && passed(vote).is_some() && vote.said_passed != passed(vote));
            prop_assert_eq!(told.said_otherwise, otherwise);
            let scores: Vec<f64> = votes.iter().filter(|vote| passed(vote).is_some()).filter_map(|vote| vote.score).collect();
            let constant = told.constant_score.is_some();
            prop_assert!(!constant || scores.len() >= 10 && scores.iter().all(|score| *score == scores[0]));
        }
        let sum = |of: fn(&JudgeVotes) -> u64| health.by_model.values().map(of).sum::<u64>();
        prop_assert_eq!(sum(|votes| votes.votes), health.total.votes);
        prop_assert_eq!(sum(|votes| votes.pairs), health.total.pairs);
        prop_assert_eq!(sum(JudgeVotes::all_errored), health.total.all_errored());
        let with = |is: fn(&Judged) -> bool| panels.iter().filter(|judged| is(judged)).count() as u64;
        prop_assert_eq!((health.cut, health.neutralised), (with(|judged| judged.cut), with(|judged| judged.neutralised)));
    }

    /// Shards are joined to what the whole run tells; a sample that is told twice counts once, as
    /// it was told last.
    #[test]
    fn shards_add_up_and_nothing_counts_twice(run in a_run(3), seed in any::<u64>()) {
        let mut events = run.whole(&mut Dice(seed));
        let whole = summary(&events, ListingLimits::default());
        let mut joined = Vec::new();
        for index in 0..2usize {
            joined.push(run.started("part", Some(Shard { index: index as u32 + 1, of: 2 })));
            joined.extend(run.plan(true, |_, c| c % 2 == index));
            joined.extend(run.samples(&mut Dice(seed), |_, c| c % 2 == index));
            joined.push(finished(1.0, false));
        }
        prop_assert_eq!(&summary(&joined, ListingLimits::default()).judges, &whole.judges);
        events.extend(run.samples(&mut Dice(!seed), |_, _| true));
        let twice = summary(&events, ListingLimits::default());
        prop_assert_eq!(&twice.judges, &whole.judges);
        for name in ["judge_errored_rate", "judge_repair_rate", "judge_consistency"] {
            prop_assert_eq!(twice.estimates.get(name), whole.estimates.get(name));
        }
    }
}

/// A run of samples with these votes each.
fn of_votes(panels: &[(&str, Vec<JudgeVote>)]) -> Summary {
    let (mut events, finish) = planned_run(panels.len() as u32);
    let call = ModelCall {
        model: "openai:m".to_owned(),
        requests: 1,
        ..ModelCall::default()
    };
    for (at, (id, votes)) in panels.iter().enumerate() {
        let mut said = judged();
        said.asked.id = (*id).to_owned();
        said.votes = votes.clone();
        let mut attempt = asked(&call, None);
        attempt
            .verdict
            .grades
            .push(judged_grade(said, Outcome::Passed, None));
        events.push(finish(at as u32, vec![attempt]));
    }
    events.push(finished(1.0, false));
    summary(&events, ListingLimits::default())
}

#[test]
fn a_judge_that_always_says_the_same_is_conspicuous() {
    let five = |id| (id, vec![vote("openai:judge", Ok(1.0)); 5]);
    let constant = |panels: &[(&str, Vec<JudgeVote>)]| {
        let health = of_votes(panels).judges.unwrap();
        (
            health.by_model["openai:judge"].constant_score,
            health.total.constant_score,
        )
    };
    assert_eq!(constant(&[five("a"), five("b")]), (Some(1.0), Some(1.0)));
    assert_eq!(
        constant(&[five("a"), five("a")]),
        (None, None),
        "of one output nothing else is to be expected"
    );
    assert_eq!(
        constant(&[five("a"), ("b", vec![vote("openai:judge", Ok(1.0)); 4])]),
        (None, None)
    );
    let mut other = five("b");
    other.1[4] = vote("openai:judge", Ok(0.75));
    assert_eq!(constant(&[five("a"), other]), (None, None));
    let mut errored = five("b");
    errored.1[4] = vote("openai:judge", Err(ReplyFault::NoJson));
    errored.1.push(vote("local:judge", Ok(0.0)));
    errored.1.push(vote("openai:judge", Ok(1.0)));
    assert_eq!(constant(&[five("a"), errored]), (Some(1.0), None));
}

#[test]
fn the_same_question_of_another_sample_is_a_repetition() {
    let pass = || vote("openai:judge", Ok(1.0));
    let fail = || vote("openai:judge", Ok(0.0));
    let told = of_votes(&[
        ("a", vec![pass(), pass()]),
        ("a", vec![fail()]),
        ("b", vec![fail(), vote("local:judge", Ok(1.0))]),
    ]);
    // Pairs of `a`: pass-pass, pass-fail, pass-fail; of `b` none, since its votes are of two
    // judges.
    assert_eq!(told.metrics["judge_consistency"], Some(1.0 / 3.0));
    assert_eq!(told.metrics["judge_disagreement_rate"], Some(0.5));
    let health = told.judges.unwrap();
    assert_eq!(
        (health.panels, health.disagreeing, health.total.pairs),
        (2, 1, 3)
    );
    let alone = of_votes(&[("a", vec![pass()]), ("b", vec![pass()])]);
    let why = |name: &str| alone.estimates[name].undefined.clone().unwrap();
    assert_eq!(
        why("judge_disagreement_rate"),
        "no verdict rests on two votes or more"
    );
    assert_eq!(
        why("judge_consistency"),
        "no judge was asked the same question twice"
    );
}
