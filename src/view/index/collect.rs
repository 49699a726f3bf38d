//! From the journal of a run to what the index keeps of it.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::rows::{CaseRow, EvalRow};
use crate::journal::RunPaths;
use crate::model::{Attempt, CasesPlanned, Event, Outcome, OutputValue, SampleFinished};
use crate::run::history::{RunTotals, whole_run};
use eval_base::text::truncate_bytes;

/// Bytes of a reason, of an output, and of a name.
const REASON: usize = 300;
const OUTPUT: usize = 600;
const NAME: usize = 200;
/// Bytes of the reasons and outputs of a run: of further cases the index has none.
const TEXTS: usize = 128 << 20;

/// What the index keeps of a run.
#[derive(Debug)]
pub struct IndexedContent {
    /// Or why the journal can't be read.
    pub totals: Result<Arc<RunTotals>, String>,
    pub evals: Vec<EvalRow>,
    pub cases: Vec<CaseRow>,
}

impl IndexedContent {
    pub fn without_cases(totals: Result<Arc<RunTotals>, String>) -> IndexedContent {
        IndexedContent {
            totals,
            evals: Vec::new(),
            cases: Vec::new(),
        }
    }
}

/// What a journal says of a case beside how it ended.
#[derive(Debug, Default)]
struct CaseTexts {
    /// Its place in the plan, from 1.
    at: u32,
    name: String,
    /// The sample that the texts are of, and how it ended.
    shown: Option<(u32, Outcome)>,
    reason: String,
    output: String,
    /// First attempts that were graded, and that passed.
    graded: u32,
    passes: u32,
}

#[derive(Debug)]
struct TextCollector {
    cases: HashMap<u64, CaseTexts>,
    has_outputs: bool,
    room: usize,
}

/// Reads a run.
pub fn index_run(paths: &RunPaths) -> IndexedContent {
    let mut texts = TextCollector {
        cases: HashMap::new(),
        has_outputs: true,
        room: TEXTS,
    };
    let (run, capture) = match whole_run(paths, |event| texts.see(event)) {
        Ok(read) => read,
        Err(why) => return IndexedContent::without_cases(Err(why)),
    };
    let (mut evals, mut cases) = (Vec::new(), Vec::new());
    for eval in &run.evals {
        evals.push(EvalRow {
            id: eval.id.to_string(),
            name: eval.name.to_string(),
            outcome: eval.outcome,
            score: eval.score,
            counts: eval.counts,
        });
        for case in eval.cases.iter().filter(|_| !eval.private) {
            let texts = texts.cases.remove(&place(&eval.id, &case.id));
            let texts = texts.unwrap_or_default();
            let is_mixed = (1..texts.graded).contains(&texts.passes);
            cases.push(CaseRow {
                at: texts.at,
                eval: eval.id.to_string(),
                id: case.id.to_string(),
                name: texts.name,
                outcome: case.outcome,
                flaky: case.flaky || is_mixed,
                score: case.score,
                cause: case.cause.map(|cause| cause.name().to_owned()),
                reason: texts.reason,
                output: texts.output,
            });
        }
    }
    if !texts.has_outputs {
        // The suite keeps them out of its reports.
        cases.iter_mut().for_each(|case| case.output.clear());
    }
    IndexedContent {
        totals: Ok(Arc::new(RunTotals::of(&run, capture))),
        evals,
        cases,
    }
}

impl TextCollector {
    fn see(&mut self, event: &Event) {
        match event {
            Event::RunStarted(session) | Event::RunResumed(session) => {
                self.has_outputs = session.config.include_details;
            }
            Event::CasesPlanned(planned) => self.plan(planned),
            Event::SampleFinished(sample) => self.finish(sample),
            _ => {}
        }
    }

    fn plan(&mut self, planned: &CasesPlanned) {
        for case in &planned.cases {
            let next = u32::try_from(self.cases.len() + 1).unwrap_or(u32::MAX);
            let texts = self
                .cases
                .entry(place(&planned.eval, &case.id))
                .or_default();
            if texts.at == 0 {
                texts.at = next;
            }
            let name = case.name.as_deref().filter(|name| *name != case.id);
            texts.name = beginning(name.unwrap_or_default(), NAME);
        }
    }

    fn finish(&mut self, sample: &SampleFinished) {
        let (Some(first), Some(last)) = (sample.attempts.first(), sample.attempts.last()) else {
            return;
        };
        let texts = self
            .cases
            .entry(place(&sample.eval, &sample.case))
            .or_default();
        match first.verdict.outcome {
            Outcome::Passed => {
                texts.graded += 1;
                texts.passes += 1;
            }
            Outcome::Failed => texts.graded += 1,
            _ => {}
        }
        let outcome = last.verdict.outcome;
        // A later line of the same sample counts, and what did not pass says more.
        let is_shown = texts.shown.is_none_or(|(number, shown)| {
            number == sample.sample || shown == Outcome::Passed && outcome != Outcome::Passed
        });
        if !is_shown || self.room == 0 {
            return;
        }
        let before = texts.reason.len() + texts.output.len();
        texts.shown = Some((sample.sample, outcome));
        texts.reason = beginning(&last.verdict.reason, REASON);
        texts.output = output_of(last);
        let now = texts.reason.len() + texts.output.len();
        self.room = (self.room + before).saturating_sub(now);
    }
}

fn output_of(attempt: &Attempt) -> String {
    if let Some(stored) = &attempt.stored {
        return beginning(&stored.head, OUTPUT);
    }
    match attempt.output.as_ref().map(|output| &output.value) {
        Some(OutputValue::Text(text) | OutputValue::Program(text)) => beginning(text, OUTPUT),
        Some(OutputValue::Json(value)) => beginning(&value.to_string(), OUTPUT),
        None => String::new(),
    }
}

fn beginning(text: &str, most: usize) -> String {
    truncate_bytes(text.trim(), most).to_owned()
}

/// A number for a case: in 64 bits, two of a run do not share one in practice.
fn place(eval: &str, case: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (eval, case).hash(&mut hasher);
    hasher.finish()
}
