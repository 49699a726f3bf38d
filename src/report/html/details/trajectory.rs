//! What an agent did, as a timeline.

use std::borrow::Cow;

use serde::Serialize;

use super::shown::{self, ShownText};
use crate::model::{TimelineCall, TimelineStep, TrajectoryRecord};
use crate::report::figures::{self, number};
use crate::report::limits::html as limits;
use eval_base::text::{ELLIPSIS, plural};

#[derive(Debug, Serialize)]
pub struct TrajectoryBlock<'a> {
    agent: Cow<'a, str>,
    summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<Cow<'a, str>>,
    /// What the proxy refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<Cow<'a, str>>,
    /// What is left out, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<String>,
    steps: Vec<StepBlock<'a>>,
}

#[derive(Debug, Serialize)]
struct StepBlock<'a> {
    title: String,
    source: &'a str,
    /// Time since the beginning, tokens, cost.
    #[serde(skip_serializing_if = "String::is_empty")]
    facts: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallBlock<'a>>,
}

#[derive(Debug, Serialize)]
struct CallBlock<'a> {
    /// Empty for a result without a call.
    tool: Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ShownText<'a>>,
}

pub fn trajectory_block(record: &TrajectoryRecord, limit: usize) -> TrajectoryBlock<'_> {
    // With little room, short texts of few steps.
    let steps = record
        .timeline
        .len()
        .min((limit / 8).max(limits::ENTRIES.min(10)));
    let omitted = record.omitted + record.timeline.len() - steps;
    let head = steps * 2 / 3;
    let tail = record.timeline.len() - (steps - head);
    let shown = record.timeline.iter().enumerate();
    let shown = shown.filter(|(at, _)| *at < head || *at >= tail);
    TrajectoryBlock {
        agent: shown::name(&record.agent, limit),
        summary: record.summary(),
        incomplete: record
            .incomplete
            .iter()
            .map(|reason| shown::name(reason, limit))
            .collect(),
        denied: record
            .denied
            .iter()
            .map(|what| shown::name(what, limit))
            .collect(),
        omitted: (omitted > 0)
            .then(|| format!("{} of the middle are not shown.", plural(omitted, "step"))),
        steps: shown.map(|(_, step)| step_block(step, limit)).collect(),
    }
}

fn step_block(step: &TimelineStep, limit: usize) -> StepBlock<'_> {
    let subagent = step
        .subagent
        .as_deref()
        .map(|id| format!(" of subagent {}", shown::name(id, limit)));
    let mut facts = Vec::new();
    facts.extend(
        step.at_ms
            .map(|ms| format!("after {}", figures::duration_ms(ms as f64))),
    );
    if let (Some(input), Some(output)) = (step.input_tokens, step.output_tokens) {
        facts.push(format!(
            "{} tokens in, {} out",
            number(input),
            number(output)
        ));
    }
    facts.extend(step.cost_usd.map(figures::cost));
    StepBlock {
        title: format!("{}{}", step.step, subagent.unwrap_or_default()),
        source: &step.source,
        facts: facts.join(", "),
        text: some(&step.text, limit),
        reasoning: some(&step.reasoning, limit),
        calls: step
            .calls
            .iter()
            .map(|call| call_block(call, limit))
            .collect(),
    }
}

fn call_block(call: &TimelineCall, limit: usize) -> CallBlock<'_> {
    CallBlock {
        tool: shown::name(&call.tool, limit),
        failed: call.failed == Some(true),
        arguments: some(&call.arguments, limit).filter(|shown| shown.text != "{}"),
        result: some(&call.result, limit),
    }
}

fn some(text: &str, limit: usize) -> Option<ShownText<'_>> {
    let mut text = (!text.is_empty()).then(|| shown::of_text(text, limit))?;
    // Timelines are kept shortened.
    if text.cut.is_none() && text.text.ends_with(ELLIPSIS) {
        text.cut = Some("Shortened; `eval-harness show --verbose` prints all of it.".to_owned());
    }
    Some(text)
}
