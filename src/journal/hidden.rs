//! Events without the cases of private datasets, for those who show events as they come.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{ComparisonReference, EvalInfo, Event, RunStarted, without_details};

/// Hides the cases of private evals, which it learns of from the events.
#[derive(Debug, Default)]
pub struct PrivateCases {
    evals: BTreeMap<String, EvalInfo>,
}

impl PrivateCases {
    /// The event; of a case of a private eval only numbers are left. Which evals are private is not
    /// known when a run starts, so the cases of what it is compared with, and those that its
    /// arguments name, are always left out. `None` if the event can't be hidden.
    pub fn hidden<'a>(&mut self, event: &'a Event) -> Option<Cow<'a, Event>> {
        let eval = match event {
            Event::RunStarted(started) => {
                return Some(Cow::Owned(Event::RunStarted(without_cases(started))));
            }
            Event::RunResumed(resumed) => {
                return Some(Cow::Owned(Event::RunResumed(without_cases(resumed))));
            }
            Event::EvalPlanned(planned) if planned.eval.is_private() => {
                let info = planned.eval.clone();
                self.evals.insert(info.id.clone(), info);
                return Some(Cow::Borrowed(event));
            }
            Event::CasesPlanned(planned) => &planned.eval,
            Event::SampleFinished(sample) => &sample.eval,
            Event::SampleSkipped(sample) => &sample.eval,
            _ => return Some(Cow::Borrowed(event)),
        };
        let Some(info) = self.evals.get(eval) else {
            return Some(Cow::Borrowed(event));
        };
        // The texts are those that counting does without.
        let counted = serde_json::to_vec(event)
            .and_then(|line| without_details(|| serde_json::from_slice(&line)));
        let mut counted = counted.ok()?;
        let hide = |id: &mut String| *id = info.case_id(id).into_owned();
        match &mut counted {
            Event::CasesPlanned(planned) => {
                for case in &mut planned.cases {
                    hide(&mut case.id);
                    (case.name, case.input) = (None, None);
                }
            }
            Event::SampleFinished(sample) => {
                hide(&mut sample.case);
                for attempt in &mut sample.attempts {
                    for grade in &mut attempt.verdict.grades {
                        (grade.judged, grade.review) = (None, None);
                    }
                }
            }
            Event::SampleSkipped(sample) => hide(&mut sample.case),
            _ => {}
        }
        Some(Cow::Owned(counted))
    }
}

fn without_cases(started: &RunStarted) -> Box<RunStarted> {
    let mut started = Box::new(started.clone());
    match &mut started.config.comparison.reference {
        Some(ComparisonReference::Run(run)) => run.evals.clear(),
        Some(ComparisonReference::ScoreBaseline(read)) => read.file.evals.clear(),
        None => {}
    }
    let mut is_case = false;
    for argument in &mut started.arguments {
        if is_case || argument.starts_with("--case=") {
            *argument = "--case=(not shown)".to_owned();
        }
        is_case = argument == "--case";
    }
    started
}
