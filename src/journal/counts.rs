//! Lines of a journal without what samples said, for who only counts: texts are passed over, not
//! kept.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::{
    AnswerSource, Attempt, CasesPlanned, Cause, EvalPlanned, Event, Grade, GraderType,
    JudgeQuestion, JudgeReply, JudgeVote, Judged, JudgedCriterion, ModelCall, Outcome, Output,
    ReplyFault, RunFinished, RunStarted, SampleFinished, SampleSkipped, Usage, Verdict,
};

/// The same names as [`Event`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    RunStarted(Box<RunStarted>),
    RunResumed(Box<RunStarted>),
    EvalPlanned(EvalPlanned),
    CasesPlanned(CasesPlanned),
    SampleFinished(Sample),
    SampleSkipped(SampleSkipped),
    RunFinished(RunFinished),
}

#[derive(Deserialize)]
struct Sample {
    eval: String,
    case: String,
    sample: u32,
    attempts: Vec<Try>,
}

#[derive(Deserialize)]
struct Try {
    output: Option<Used>,
    stored: Option<Used>,
    verdict: Ended,
    latency_ms: Option<f64>,
    #[serde(default)]
    infrastructure_retries: u32,
    call: Option<Called>,
}

/// Whether there could be a latency.
#[derive(Deserialize)]
struct Called {
    #[serde(default)]
    source: AnswerSource,
}

#[derive(Deserialize)]
struct Used {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Ended {
    outcome: Outcome,
    score: Option<f64>,
    cause: Option<Cause>,
    #[serde(default)]
    grades: Vec<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    outcome: Outcome,
    score: Option<f64>,
    cause: Option<Cause>,
    #[serde(default)]
    informative: bool,
    #[serde(default)]
    negated: bool,
    #[serde(default)]
    metrics: BTreeMap<String, f64>,
    #[serde(default)]
    unmeasured: Vec<String>,
    judged: Option<Box<Panel>>,
}

/// A verdict of judges.
#[derive(Deserialize)]
struct Panel {
    #[serde(default)]
    votes: Vec<Vote>,
    #[serde(default)]
    criteria: Vec<JudgedCriterion>,
    #[serde(default)]
    pass_threshold: f64,
    asked: Question,
}

#[derive(Deserialize)]
struct Question {
    id: String,
}

#[derive(Deserialize)]
struct Vote {
    model: String,
    outcome: Outcome,
    cause: Option<Cause>,
    score: Option<f64>,
    said_passed: Option<bool>,
    #[serde(default)]
    replies: Vec<Reply>,
}

#[derive(Deserialize)]
struct Reply {
    fault: Option<ReplyFault>,
    /// There only when something was asked next.
    repair: Option<IgnoredAny>,
}

/// One line.
pub(super) fn parse(line: &[u8]) -> serde_json::Result<Event> {
    Ok(match serde_json::from_slice(line)? {
        Line::RunStarted(said) => Event::RunStarted(alone(said)),
        Line::RunResumed(said) => Event::RunResumed(alone(said)),
        Line::EvalPlanned(planned) => Event::EvalPlanned(planned),
        Line::CasesPlanned(mut planned) => {
            planned.cases.iter_mut().for_each(|case| case.input = None);
            Event::CasesPlanned(planned)
        }
        Line::SampleSkipped(skipped) => Event::SampleSkipped(skipped),
        Line::RunFinished(finished) => Event::RunFinished(finished),
        Line::SampleFinished(sample) => Event::SampleFinished(Box::new(SampleFinished {
            eval: sample.eval,
            case: sample.case,
            sample: sample.sample,
            attempts: sample.attempts.into_iter().map(attempt).collect(),
            finished_at: String::new(),
        })),
    })
}

/// Without the scores of another run: they are as large as all cases together.
fn alone(mut said: Box<RunStarted>) -> Box<RunStarted> {
    said.score_baseline = None;
    said.compared_run = None;
    said
}

fn attempt(said: Try) -> Attempt {
    // That there is an output tells, too: one without usage makes the sum a part.
    let output = said.output.or(said.stored).map(|used| Output {
        usage: used.usage,
        ..Output::text("")
    });
    let call = said
        .call
        .filter(|call| call.source != AnswerSource::Network);
    let measured = said.verdict.grades.into_iter();
    // All of those that may contradict a verdict; without them, those that count.
    let plain = |said: &Measured| {
        said.outcome == Outcome::Passed && said.score == Some(1.0) && said.cause.is_none()
    };
    let is_plain = said.verdict.score == Some(1.0) && measured.as_slice().iter().all(plain);
    let all = said.verdict.outcome == Outcome::Passed && !is_plain;
    let grades = measured.filter(|said| {
        all || !said.metrics.is_empty()
            || !said.unmeasured.is_empty()
            || said.judged.is_some()
            || matches!(
                said.cause,
                Some(Cause::JudgeUnreachable | Cause::JudgeUnparseable)
            )
    });
    Attempt {
        output,
        stored: None,
        extracted: None,
        verdict: Verdict {
            outcome: said.verdict.outcome,
            score: said.verdict.score,
            cause: said.verdict.cause,
            reason: String::new(),
            grades: grades.map(grade).collect(),
        },
        latency_ms: said.latency_ms,
        duration_ms: 0.0,
        infrastructure_retries: said.infrastructure_retries,
        call: call.map(|call| {
            Box::new(ModelCall {
                source: call.source,
                ..ModelCall::default()
            })
        }),
        unanswered: false,
        redacted: false,
    }
}

fn grade(said: Measured) -> Grade {
    let mut grade = Grade::passed(GraderType::Code, "");
    (grade.outcome, grade.cause) = (said.outcome, said.cause);
    (grade.score, grade.informative, grade.negated) = (said.score, said.informative, said.negated);
    grade.judged = said.judged.map(|panel| Box::new(judged(*panel)));
    grade.metrics = said.metrics;
    grade.unmeasured = said.unmeasured;
    grade
}

fn judged(said: Panel) -> Judged {
    let reply = |said: Reply| JudgeReply {
        text: String::new(),
        finish: None,
        fault: said.fault,
        why: String::new(),
        repair: said.repair.map_or(String::new(), |_| "asked".to_owned()),
    };
    let vote = |said: Vote| JudgeVote {
        model: said.model,
        index: 0,
        outcome: said.outcome,
        cause: said.cause,
        reason: String::new(),
        score: said.score,
        scores: BTreeMap::new(),
        said_passed: said.said_passed,
        said_score: None,
        justification: String::new(),
        unknown: Vec::new(),
        replies: said.replies.into_iter().map(reply).collect(),
        calls: Vec::new(),
    };
    Judged {
        votes: said.votes.into_iter().map(vote).collect(),
        criteria: said.criteria,
        pass_threshold: said.pass_threshold,
        asked: JudgeQuestion {
            id: said.asked.id,
            ..JudgeQuestion::default()
        },
        ..Judged::default()
    }
}
