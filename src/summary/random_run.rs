//! Random runs for property tests: what every sample did, and the events that a journal would hold
//! of it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fold::ListingLimits;
use super::{SummaryFold, UngatedSummary};
use crate::model::testing::{self, run_started};
use crate::model::*;

/// A run to be.
#[derive(Debug, Clone)]
pub(crate) struct RandomRun {
    pub evals: Vec<RunEval>,
    pub ks: Vec<u32>,
    pub include_details: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct RunEval {
    pub info: EvalInfo,
    pub cases: Vec<RunCase>,
}

#[derive(Debug, Clone)]
pub(crate) struct RunCase {
    pub name: Option<String>,
    pub tags: Vec<String>,
    pub graders: Vec<GraderType>,
    pub samples: Vec<RunSample>,
}

#[derive(Debug, Clone)]
pub(crate) struct RunSample {
    /// What the journal says of it, in order: the last result counts, else the last skip. Empty: it
    /// was never heard of.
    pub said: Vec<SampleRemark>,
}

#[derive(Debug, Clone)]
pub(crate) enum SampleRemark {
    Skipped(Cause),
    Finished(Vec<Attempt>),
}

impl RunSample {
    /// The attempts that count.
    pub fn attempts(&self) -> Option<&[Attempt]> {
        self.said.iter().rev().find_map(|said| match said {
            SampleRemark::Finished(attempts) => Some(attempts.as_slice()),
            SampleRemark::Skipped(_) => None,
        })
    }

    pub fn outcome(&self) -> Outcome {
        self.attempts().map_or(Outcome::Skipped, |attempts| {
            attempts.last().unwrap().verdict.outcome
        })
    }

    pub fn first(&self) -> Outcome {
        self.attempts()
            .map_or(Outcome::Skipped, |attempts| attempts[0].verdict.outcome)
    }

    pub fn cause(&self) -> Option<Cause> {
        match (self.attempts(), self.said.last()) {
            (Some(attempts), _) => attempts.last().unwrap().verdict.cause,
            (None, Some(SampleRemark::Skipped(cause))) => Some(*cause),
            _ => Some(Cause::Interrupted),
        }
    }
}

fn cause_of(outcome: Outcome) -> BoxedStrategy<Option<Cause>> {
    let causes: Vec<Cause> = Cause::ALL
        .iter()
        .copied()
        .filter(|cause| cause.outcome() == outcome)
        .collect();
    if causes.is_empty() {
        Just(None).boxed()
    } else {
        prop::sample::select(causes).prop_map(Some).boxed()
    }
}

fn grade(
    outcome: Outcome,
    trust: Option<Trust>,
    metrics: BTreeMap<String, f64>,
    text: usize,
) -> Grade {
    let mut grade =
        Grade::passed(GraderType::Code, "exact_match").with_expected(serde_json::json!("wanted"));
    grade.outcome = outcome;
    grade.trust = trust;
    grade.adjudicated = text % 5 == 1;
    // Half of the numbers that are not there should be.
    let absent = ["lint_pass", "edit_rate"]
        .into_iter()
        .filter(|name| text % 2 == 1 && !metrics.contains_key(*name));
    grade.unmeasured = absent.map(str::to_owned).collect();
    grade.metrics = metrics;
    grade.reason = "r".repeat(text);
    grade
}

fn a_call() -> impl Strategy<Value = ModelCall> {
    let usage = || {
        (0u64..50, prop::option::of(0u8..8)).prop_map(|(input_tokens, cost)| Usage {
            input_tokens,
            output_tokens: 3,
            cost_usd: cost.map(|cost| f64::from(cost) / 8.0),
        })
    };
    let faults = prop::collection::btree_map(
        prop::sample::select(vec!["429".to_owned(), "timeout".to_owned()]),
        1u32..4,
        0..3,
    );
    let sources = vec![
        AnswerSource::Network,
        AnswerSource::Network,
        AnswerSource::Cache,
        AnswerSource::Recording,
    ];
    (
        (
            prop::sample::select(vec!["openai:a", "local:b"]),
            prop::sample::select(sources),
            1u32..4,
            faults,
        ),
        (prop::option::of(0u16..1000), prop::option::of(0u16..1000)),
        (prop::option::of(usage()), prop::option::of(usage()), 1u8..9),
        prop::bool::weighted(0.2),
        prop::option::weighted(0.2, (0u64..5, 0u64..5)),
    )
        .prop_map(
            |(
                (model, source, requests, faults),
                (throttled, paused),
                (wasted, estimated, day),
                usage_is_lower_bound,
                agent,
            )| {
                let sent = source == AnswerSource::Network;
                ModelCall {
                    model: model.to_owned(),
                    source,
                    requests: if sent { requests } else { 0 },
                    faults: if sent { faults } else { BTreeMap::new() },
                    throttled_ms: throttled.map(|ms| f64::from(ms) / 8.0).filter(|_| sent),
                    backoff_ms: paused.map(|ms| f64::from(ms) / 8.0).filter(|_| sent),
                    wasted: wasted.filter(|_| sent),
                    estimated: estimated.filter(|_| sent),
                    answered_at: (!sent).then(|| format!("2026-11-0{day}T00:00:00Z")),
                    usage_is_lower_bound,
                    agent: agent.map(|(answers, without_usage)| {
                        Box::new(AgentCalls {
                            answers,
                            without_usage: without_usage.min(answers),
                            ..AgentCalls::default()
                        })
                    }),
                }
            },
        )
}

/// A grade by a panel of up to 4 votes of two judges on one of few questions; or one that nobody
/// could be asked for.
fn a_judgement() -> impl Strategy<Value = Grade> {
    let fault = prop::sample::select(ReplyFault::ALL.to_vec());
    let vote = (
        prop::sample::select(vec!["openai:judge", "local:judge"]),
        prop_oneof![
            3 => prop::sample::select(vec![0.0, 0.75, 1.0]).prop_map(Ok),
            1 => fault.clone().prop_map(Err),
        ],
        prop::option::weighted(0.3, fault),
        (
            prop::option::of(any::<bool>()),
            any::<bool>(),
            prop::collection::vec(a_call(), 0..3),
        ),
    )
        .prop_map(|(model, share, first, (said_passed, unreached, calls))| {
            let mut vote = testing::vote(model, share);
            vote.said_passed = said_passed;
            let reply = vote.replies[0].clone();
            if let Some(fault) = first {
                let repair = "say it again".to_owned();
                vote.replies.insert(
                    0,
                    JudgeReply {
                        fault: Some(fault),
                        repair,
                        ..reply
                    },
                );
            }
            if vote.outcome == Outcome::Errored && unreached {
                vote.cause = Some(Cause::JudgeUnreachable);
                vote.replies.clear();
            }
            let call = |(at, mut call): (usize, ModelCall)| {
                // As judges of other names than the targets.
                call.model = if model == "openai:judge" {
                    "openai:a".to_owned()
                } else {
                    "local:judge".to_owned()
                };
                let usage = Usage {
                    input_tokens: 7,
                    output_tokens: at as u64,
                    cost_usd: (at > 0).then_some(0.25),
                };
                let finish = if at == 1 {
                    Some(FinishReason::Refused)
                } else {
                    Some(FinishReason::Length)
                };
                let answered = at < 2 && !(at == 0 && unreached);
                JudgeCall {
                    call,
                    usage: Some(usage).filter(|_| answered && !said_passed.unwrap_or(false)),
                    answered,
                    finish,
                    latency_ms: (at != 1).then_some(8.0 * (at + 1) as f64),
                }
            };
            vote.calls = calls.into_iter().enumerate().map(call).collect();
            vote
        });
    let ids = prop::sample::select(vec![
        "0123456789abcdef00",
        "fedcba987654321000",
        "short",
        "",
    ]);
    (
        prop::collection::vec(vote, 0..5),
        ids,
        any::<[bool; 2]>(),
        any::<bool>(),
    )
        .prop_map(|(votes, id, [cut, neutralised], errored)| {
            let mut judged = testing::judged();
            judged.asked.id = id.to_owned();
            (judged.cut, judged.neutralised) = (cut, neutralised);
            let nobody = votes.is_empty();
            judged.votes = votes;
            let errored = errored || nobody;
            let outcome = if errored {
                Outcome::Errored
            } else {
                Outcome::Passed
            };
            let mut grade =
                testing::judged_grade(judged, outcome, errored.then_some(Cause::JudgeUnreachable));
            if nobody {
                grade.judged = None;
            }
            grade
        })
}

fn an_attempt() -> impl Strategy<Value = Attempt> {
    let outcome = prop::sample::select(vec![
        Outcome::Passed,
        Outcome::Passed,
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Errored,
        Outcome::Pending,
    ]);
    let usage = (0u64..50, 0u64..50, prop::option::of(0u8..8)).prop_map(
        |(input_tokens, output_tokens, cost)| Usage {
            input_tokens,
            output_tokens,
            cost_usd: cost.map(|cost| f64::from(cost) / 8.0),
        },
    );
    let metrics = prop::collection::btree_map(
        prop::sample::select(vec!["lint_pass".to_owned(), "edit_rate".to_owned()]),
        prop::sample::select(vec![0.0, 1.0, 0.25, 3.0]),
        0..3,
    );
    let trust = prop::collection::vec(
        prop::option::of(prop::sample::select(Trust::ALL.to_vec())),
        1..4,
    );
    (
        outcome.prop_flat_map(|outcome| (Just(outcome), cause_of(outcome))),
        prop::sample::select(vec![None, Some(0.25), Some(0.5), Some(0.75)]),
        (
            prop::option::of(usage),
            prop::option::of(0u32..1000),
            metrics,
            trust,
        ),
        (0usize..40, 0u32..3, prop::bool::weighted(0.2)),
        (
            prop::option::of(a_call()),
            prop::collection::vec(a_judgement(), 0..3),
            prop::option::of(prop::sample::select(vec![
                FinishReason::Stop,
                FinishReason::Length,
                FinishReason::Refused,
            ])),
        ),
    )
        .prop_map(
            |(
                (outcome, cause),
                score,
                (usage, latency, metrics, trust),
                (text, retries, apart),
                (call, judgements, finish),
            )| {
                let score = score.filter(|_| outcome.is_graded());
                let said = "o".repeat(text * 7);
                let stored = Stored {
                    thoughts: None,
                    workspace: None,
                    trajectory: None,
                    sha256: "0".repeat(64),
                    bytes: 104_857_600,
                    kind: StoredKind::Text,
                    head: said.clone(),
                    truncated: false,
                    finish,
                    usage,
                    model: None,
                };
                Attempt {
                    output: (!apart).then(|| Output {
                        usage,
                        finish,
                        ..Output::text(said)
                    }),
                    stored: apart.then_some(stored),
                    extracted: None,
                    verdict: Verdict {
                        outcome,
                        score,
                        cause,
                        reason: "w".repeat(text),
                        grades: trust
                            .into_iter()
                            .map(|t| grade(outcome, t, metrics.clone(), text))
                            .chain(judgements)
                            .collect(),
                        not_run: Vec::new(),
                    },
                    latency_ms: latency.map(|latency| f64::from(latency) / 8.0),
                    duration_ms: 3.0,
                    infrastructure_retries: retries.saturating_sub(1),
                    call: call.map(Box::new),
                    unanswered: false,
                    redacted: false,
                }
            },
        )
}

fn a_sample() -> impl Strategy<Value = RunSample> {
    let finished = prop_oneof![4 => prop::collection::vec(an_attempt(), 1..2), 1 => prop::collection::vec(an_attempt(), 2..4)];
    let skipped = prop::sample::select(vec![
        Cause::MaxFail,
        Cause::GlobalTimeout,
        Cause::Interrupted,
    ]);
    let said = (
        prop::option::weighted(0.2, skipped),
        prop::option::weighted(
            0.9,
            prop_oneof![8 => prop::collection::vec(finished.clone(), 1..2), 1 => prop::collection::vec(finished, 2..3)],
        ),
    );
    said.prop_map(|(skipped, finished)| {
        let mut said: Vec<SampleRemark> = skipped.map(SampleRemark::Skipped).into_iter().collect();
        said.extend(
            finished
                .unwrap_or_default()
                .into_iter()
                .map(SampleRemark::Finished),
        );
        RunSample { said }
    })
}

/// Up to `evals` evals; of one sample a case in a part of the runs, so that Wilson's intervals come
/// up too.
pub(crate) fn a_run(evals: usize) -> impl Strategy<Value = RandomRun> {
    let graders = prop::sample::subsequence(
        vec![GraderType::Code, GraderType::Model, GraderType::Human],
        1..=3,
    );
    let case = move |most: usize| {
        let samples = prop::collection::vec(a_sample(), 1..=most);
        let tags = prop::sample::subsequence(vec!["a".to_owned(), "c".to_owned()], 0..=2);
        (
            prop::option::weighted(0.3, Just("A name".to_owned())),
            tags,
            graders.clone(),
            samples,
        )
            .prop_map(|(name, tags, graders, samples)| RunCase {
                name,
                tags,
                graders,
                samples,
            })
    };
    let eval = move |most: usize| {
        (
            prop::collection::vec(case(most), 1..5),
            (
                any::<bool>(),
                prop::option::of(prop::sample::select(vec!["math", "code"])),
            ),
            prop::sample::subsequence(vec!["a", "b", "a"], 0..=3),
            prop::sample::select(vec![1.0, 0.5, 2.0 / 3.0]),
            prop::option::of(prop::sample::select(vec![0.25, 0.5, 0.75])),
            0u8..4,
        )
            .prop_map(
                |(
                    cases,
                    (regression, category),
                    tags,
                    pass_rate_threshold,
                    score_threshold,
                    weight,
                )| {
                    let info = EvalInfo {
                        id: String::new(),
                        name: "An eval".into(),
                        description: None,
                        kind: if regression {
                            EvalType::Regression
                        } else {
                            EvalType::Capability
                        },
                        category: category.map(str::to_owned),
                        tags: tags.into_iter().map(str::to_owned).collect(),
                        weight: f64::from(weight),
                        difficulty: None,
                        criticality: None,
                        pass_rate_threshold,
                        score_threshold,
                        source: None,
                        dependencies: None,
                        dataset: None,
                    };
                    RunEval { info, cases }
                },
            )
    };
    let evals = prop::sample::select(vec![1usize, 4])
        .prop_flat_map(move |most| prop::collection::vec(eval(most), 1..=evals));
    (evals, any::<bool>()).prop_map(|(mut evals, include_details)| {
        for (number, eval) in evals.iter_mut().enumerate() {
            eval.info.id = format!("eval {number}");
        }
        RandomRun {
            evals,
            ks: vec![1, 2, 3],
            include_details,
        }
    })
}

/// A sequence that is random but the same for one seed.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

impl RandomRun {
    pub fn started(&self, run_id: &str, shard: Option<Shard>) -> Event {
        let started = run_started();
        Event::RunStarted(Box::new(RunStarted {
            run: RunIdentity {
                run_id: run_id.into(),
                shard,
                ..started.run
            },
            config: RunConfig {
                ks: self.ks.clone(),
                include_details: self.include_details,
                ..started.config
            },
            ..started
        }))
    }

    /// The plan events of the cases that `mine` takes (by eval and position); `parts` says whether
    /// positions are told.
    pub fn plan(&self, parts: bool, mine: impl Fn(usize, usize) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        for (e, eval) in self.evals.iter().enumerate() {
            let cases: Vec<CasePlanned> = eval
                .cases
                .iter()
                .enumerate()
                .filter(|(c, _)| mine(e, *c))
                .map(|(c, case)| CasePlanned {
                    name: case.name.clone(),
                    graders: case.graders.clone(),
                    tags: case.tags.clone(),
                    position: parts.then_some(c as u32),
                    ..testing::planned_case(&format!("case {c}"), case.samples.len() as u32)
                })
                .collect();
            events.push(Event::EvalPlanned(EvalPlanned {
                eval: eval.info.clone(),
                cases: cases.len(),
            }));
            // In chunks, as journals have them.
            for chunk in cases.chunks(2) {
                let (eval, cases) = (eval.info.id.clone(), chunk.to_vec());
                events.push(Event::CasesPlanned(CasesPlanned { eval, cases }));
            }
        }
        events
    }

    /// What is said of the samples that `mine` takes, in a random order that keeps what is said of
    /// one sample in its order.
    pub fn samples(&self, dice: &mut Dice, mine: impl Fn(usize, usize) -> bool) -> Vec<Event> {
        let mut queues: Vec<Vec<Event>> = Vec::new();
        for (e, eval) in self.evals.iter().enumerate() {
            for (c, case) in eval.cases.iter().enumerate().filter(|(c, _)| mine(e, *c)) {
                for (s, sample) in case.samples.iter().enumerate() {
                    let event = |said: &SampleRemark| match said.clone() {
                        SampleRemark::Skipped(cause) => Event::SampleSkipped(SampleSkipped {
                            eval: eval.info.id.clone(),
                            case: format!("case {c}"),
                            sample: s as u32,
                            cause,
                        }),
                        SampleRemark::Finished(attempts) => {
                            Event::SampleFinished(Box::new(SampleFinished {
                                eval: eval.info.id.clone(),
                                case: format!("case {c}"),
                                sample: s as u32,
                                attempts,
                                finished_at: String::new(),
                                reused_from: None,
                            }))
                        }
                    };
                    queues.push(sample.said.iter().rev().map(event).collect());
                }
            }
        }
        let mut events = Vec::new();
        loop {
            queues.retain(|queue| !queue.is_empty());
            if queues.is_empty() {
                return events;
            }
            let at = dice.below(queues.len());
            events.extend(queues[at].pop());
        }
    }

    /// The whole run in one journal.
    pub fn whole(&self, dice: &mut Dice) -> Vec<Event> {
        let mut events = vec![self.started("whole", None)];
        events.extend(self.plan(false, |_, _| true));
        events.extend(self.samples(dice, |_, _| true));
        events.push(finished(2.0, false));
        events
    }
}

pub(crate) fn finished(duration_seconds: f64, interrupted: bool) -> Event {
    Event::RunFinished(RunFinished {
        timestamp: String::new(),
        duration_seconds,
        interrupted,
        history: Vec::new(),
        expired_graces: None,
        changed_files: Vec::new(),
    })
}

pub(super) fn report(events: &[Event], limits: ListingLimits) -> UngatedSummary {
    let mut fold = SummaryFold::within(limits);
    events.iter().for_each(|event| fold.push(event).unwrap());
    fold.finish().unwrap()
}

pub(super) fn summary(events: &[Event], limits: ListingLimits) -> Summary {
    let gate = Gate {
        decision: Decision::Pass,
        exit_code: 0,
        thresholds: vec![],
        reasons: vec![],
    };
    report(events, limits).with_gate(gate)
}
