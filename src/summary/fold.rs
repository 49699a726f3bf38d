//! Gathers events by eval, case and sample.

use std::collections::HashMap;

use super::{DETAILED_SAMPLES, SummaryError};
use crate::model::{
    Attempt, CasePlanned, CasesPlanned, Cause, EvalInfo, Event, Outcome, Output, OutputValue, RunFinished,
    RunStarted, SampleFinished, SampleResult, SampleSkipped, Trust, Usage,
};

/// What is known of a run so far.
#[derive(Debug, Default)]
pub struct Fold {
    pub(super) started: Option<RunStarted>,
    pub(super) finished: Option<RunFinished>,
    pub(super) evals: Vec<EvalFold>,
    index: HashMap<String, usize>,
    pub(super) planned_samples: usize,
}

#[derive(Debug)]
pub(super) struct EvalFold {
    pub info: EvalInfo,
    pub cases: Vec<CaseFold>,
    index: HashMap<String, usize>,
}

#[derive(Debug)]
pub(super) struct CaseFold {
    pub planned: CasePlanned,
    /// One place for each planned sample.
    pub samples: Vec<SampleFold>,
}

#[derive(Debug, Clone)]
pub(super) enum SampleFold {
    /// Nothing is known of it: the run was cut off.
    Unknown,
    Skipped(Cause),
    Finished(Box<FinishedSample>),
}

#[derive(Debug, Clone)]
pub(super) struct FinishedSample {
    pub result: SampleResult,
    /// Outcome of the first attempt: what pass@k and pass^k count.
    pub first: Outcome,
    /// Some grade shared an interpreter with the candidate's code; kept here because grades may be dropped.
    pub in_process: bool,
}

impl SampleFold {
    /// The sample's final outcome.
    pub fn outcome(&self) -> Outcome {
        match self {
            SampleFold::Unknown | SampleFold::Skipped(_) => Outcome::Skipped,
            SampleFold::Finished(finished) => finished.result.outcome,
        }
    }

    pub fn first(&self) -> Outcome {
        match self {
            SampleFold::Finished(finished) => finished.first,
            other => other.outcome(),
        }
    }

    pub fn cause(&self) -> Option<Cause> {
        match self {
            SampleFold::Unknown => Some(Cause::Interrupted),
            SampleFold::Skipped(cause) => Some(*cause),
            SampleFold::Finished(finished) => finished.result.cause,
        }
    }

    pub fn finished(&self) -> Option<&FinishedSample> {
        match self {
            SampleFold::Finished(finished) => Some(finished),
            _ => None,
        }
    }
}

impl Fold {
    pub fn new() -> Self {
        Fold::default()
    }

    /// Takes one event. A later event of a sample takes the place of an earlier one.
    pub fn push(&mut self, event: &Event) -> Result<(), SummaryError> {
        match event {
            Event::RunStarted(started) => {
                if self.started.is_none() {
                    self.started = Some((**started).clone());
                }
                self.finished = None;
            }
            Event::RunResumed(resumed) => {
                if let Some(first) = &mut self.started {
                    let (run_id, timestamp) = (first.run_id.clone(), first.timestamp.clone());
                    *first = RunStarted { run_id, timestamp, ..(**resumed).clone() };
                }
                self.finished = None;
            }
            Event::EvalPlanned(planned) => self.plan_eval(planned.eval.clone()),
            Event::CasesPlanned(planned) => self.plan_cases(planned)?,
            Event::SampleFinished(sample) => self.finish_sample(sample)?,
            Event::SampleSkipped(sample) => self.skip_sample(sample)?,
            Event::RunFinished(finished) => self.finished = Some(finished.clone()),
        }
        Ok(())
    }

    fn plan_eval(&mut self, info: EvalInfo) {
        if !self.index.contains_key(&info.id) {
            self.index.insert(info.id.clone(), self.evals.len());
            self.evals.push(EvalFold { info, cases: Vec::new(), index: HashMap::new() });
        }
    }

    fn plan_cases(&mut self, planned: &CasesPlanned) -> Result<(), SummaryError> {
        let at =
            *self.index.get(&planned.eval).ok_or_else(|| SummaryError::UnknownEval(planned.eval.clone()))?;
        let eval = &mut self.evals[at];
        for case in &planned.cases {
            let samples = case.samples as usize;
            match eval.index.get(&case.id) {
                // Planned again with more samples: a top-up.
                Some(at) => {
                    let known = &mut eval.cases[*at];
                    if samples > known.samples.len() {
                        self.planned_samples += samples - known.samples.len();
                        known.samples.resize(samples, SampleFold::Unknown);
                    }
                    known.planned = case.clone();
                    known.planned.samples = known.samples.len() as u32;
                }
                None => {
                    eval.index.insert(case.id.clone(), eval.cases.len());
                    self.planned_samples += samples;
                    let samples = vec![SampleFold::Unknown; samples];
                    eval.cases.push(CaseFold { planned: case.clone(), samples });
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, eval: &str, case: &str, sample: u32) -> Result<&mut SampleFold, SummaryError> {
        let at = *self.index.get(eval).ok_or_else(|| SummaryError::UnknownEval(eval.to_owned()))?;
        let eval_fold = &mut self.evals[at];
        let unknown = || SummaryError::UnknownCase { eval: eval.to_owned(), case: case.to_owned() };
        let at = *eval_fold.index.get(case).ok_or_else(unknown)?;
        let case_fold = &mut eval_fold.cases[at];
        let planned = case_fold.planned.samples;
        case_fold.samples.get_mut(sample as usize).ok_or_else(|| SummaryError::UnknownSample {
            eval: eval.to_owned(),
            case: case.to_owned(),
            sample,
            planned,
        })
    }

    fn skip_sample(&mut self, skipped: &SampleSkipped) -> Result<(), SummaryError> {
        let place = self.place(&skipped.eval, &skipped.case, skipped.sample)?;
        if place.finished().is_none() {
            *place = SampleFold::Skipped(skipped.cause);
        }
        Ok(())
    }

    fn finish_sample(&mut self, sample: &SampleFinished) -> Result<(), SummaryError> {
        let keep_all = self.planned_samples <= DETAILED_SAMPLES;
        let place = self.place(&sample.eval, &sample.case, sample.sample)?;
        let (Some(first), Some(last)) = (sample.attempts.first(), sample.attempts.last()) else {
            return Err(SummaryError::NoAttempt {
                eval: sample.eval.clone(),
                case: sample.case.clone(),
                sample: sample.sample,
            });
        };
        let detailed = keep_all || last.verdict.outcome != Outcome::Passed;
        let result = sample_result(sample, last, detailed);
        let in_process = last.verdict.grades.iter().any(|grade| grade.trust == Trust::InProcess);
        let first = first.verdict.outcome;
        *place = SampleFold::Finished(Box::new(FinishedSample { result, first, in_process }));
        Ok(())
    }
}

fn sample_result(sample: &SampleFinished, last: &Attempt, detailed: bool) -> SampleResult {
    let verdict = &last.verdict;
    let retried_failure =
        sample.attempts[..sample.attempts.len() - 1].iter().any(|a| a.verdict.outcome == Outcome::Failed);
    let outputs = sample.attempts.iter().filter_map(|attempt| attempt.output.as_ref());
    SampleResult {
        index: sample.sample,
        outcome: verdict.outcome,
        score: verdict.score,
        cause: verdict.cause,
        reason: verdict.reason.clone(),
        output: last.output.as_ref().filter(|_| detailed).map(output_json),
        extracted: last.extracted.clone().filter(|_| detailed),
        grades: if detailed { verdict.grades.clone() } else { Vec::new() },
        attempts: sample.attempts.len(),
        infrastructure_retries: sample
            .attempts
            .iter()
            .map(|attempt| attempt.infrastructure_retries)
            .fold(0, u32::saturating_add),
        flaky: verdict.outcome == Outcome::Passed && retried_failure,
        latency_ms: last.latency_ms,
        duration_ms: sample.attempts.iter().map(|attempt| attempt.duration_ms).sum(),
        usage: outputs.filter_map(|output| output.usage).reduce(add_usage),
    }
}

fn output_json(output: &Output) -> serde_json::Value {
    match &output.value {
        OutputValue::Text(text) | OutputValue::Program(text) => text.clone().into(),
        OutputValue::Json(value) => value.clone(),
    }
}

fn add_usage(a: Usage, b: Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens.saturating_add(b.input_tokens),
        output_tokens: a.output_tokens.saturating_add(b.output_tokens),
        cost_usd: match (a.cost_usd, b.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (one, other) => one.or(other),
        },
    }
}
