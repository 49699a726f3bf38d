//! A case's input and its samples.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::grade::{self, GradeOnPage};
use super::shown::{self, ShownText};
use super::trajectory::{self, TrajectoryBlock};
use crate::model::{AnswerSource, CaseResult, InputShown, ModelCall, Outcome, SampleResult, Usage};
use crate::report::figures::{self, number};
use crate::report::json::word;
use crate::report::limits::html as limits;
use eval_base::text;

/// A label and what it stands for, as it is shown.
pub type LabelledFact<'a> = (Cow<'a, str>, Cow<'a, str>);

#[derive(Debug, Serialize)]
pub struct InputOnPage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'a, str>>,
    /// Labels (roles of messages, parts of a request; empty for the one text) with texts.
    parts: Vec<(Cow<'a, str>, ShownText<'a>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<ShownText<'a>>,
    /// True when the journal's own record is not all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

pub fn input(input: &InputShown, limit: usize) -> InputOnPage<'_> {
    InputOnPage {
        kind: input.kind.name(),
        path: input.path.as_deref().map(|path| shown::name(path, limit)),
        parts: parts_of_input(&input.value, limit),
        context: input
            .context
            .as_ref()
            .map(|context| shown::of_value(context, limit)),
        truncated: input.truncated,
    }
}

/// Messages each by their role, a request by its parts, anything else whole.
pub fn parts_of_input(value: &Value, limit: usize) -> Vec<(Cow<'_, str>, ShownText<'_>)> {
    let message = |message: &'_ Value| message.get("role").and_then(Value::as_str).is_some();
    match value {
        Value::Null => Vec::new(),
        Value::Array(messages) if !messages.is_empty() && messages.iter().all(message) => {
            let told = messages.iter().take(limits::ENTRIES).map(|message| {
                let role = message
                    .get("role")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let plain = message.as_object().is_some_and(|object| object.len() == 2);
                let content = message.get("content").filter(|_| plain).unwrap_or(message);
                (shown::name(role, limit), shown::of_value(content, limit))
            });
            let mut told: Vec<_> = told.collect();
            if messages.len() > limits::ENTRIES {
                let more = text::plural(messages.len() - limits::ENTRIES, "more message");
                told.push((
                    Cow::Borrowed("..."),
                    ShownText {
                        text: Cow::Owned(more),
                        json: false,
                        cut: None,
                    },
                ));
            }
            told
        }
        Value::Object(request)
            if request.contains_key("endpoint") && request.contains_key("method") =>
        {
            let line = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
            let line = format!("{} {}", line("method"), line("endpoint"));
            let kept = shown::of_text(&line, limit);
            let first = ShownText {
                text: Cow::Owned(kept.text.into_owned()),
                json: false,
                cut: kept.cut,
            };
            let rest = request
                .iter()
                .filter(|(key, _)| !matches!(key.as_str(), "method" | "endpoint"));
            let rest = rest
                .take(limits::ENTRIES)
                .map(|(key, value)| (shown::name(key, limit), shown::of_value(value, limit)));
            std::iter::once((Cow::Borrowed("request"), first))
                .chain(rest)
                .collect()
        }
        other => vec![(Cow::Borrowed(""), shown::of_value(other, limit))],
    }
}

#[derive(Debug, Serialize)]
pub struct SampleOnPage<'a> {
    index: u32,
    outcome: &'static str,
    /// Empty when there is none.
    score: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    output_truncated: bool,
    /// What the model thought aloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    thoughts: Option<ShownText<'a>>,
    /// What changed in the workspace, in a few words, and the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<(String, ShownText<'a>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory: Option<TrajectoryBlock<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extracted: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grades: Vec<GradeOnPage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<LabelledFact<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flaky: bool,
    /// Outcome, cause and reason of the attempts before the last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<(&'static str, Option<&'static str>, ShownText<'a>)>,
    facts: Vec<LabelledFact<'a>>,
}

/// Samples in order, and how many are left out: at least so many, here or from the summary's lists.
/// Where there are too many, those that did not pass are kept.
pub fn sample_details(case: &CaseResult, limit: usize) -> (Vec<SampleOnPage<'_>>, usize) {
    let mut samples: Vec<&SampleResult> = case.samples.iter().collect();
    samples.sort_by_key(|sample| figures::urgency(sample.outcome));
    let more = samples.len().saturating_sub(limits::SAMPLES) + unlisted_passes(case);
    samples.truncate(limits::SAMPLES);
    samples.sort_by_key(|sample| sample.index);
    let told = samples.into_iter().map(|sample| one(sample, limit));
    (told.collect(), more)
}

/// Samples that passed and that the summary does not list, at least.
pub fn unlisted_passes(case: &CaseResult) -> usize {
    let listed = |flaky: bool| {
        let such =
            |sample: &&SampleResult| sample.outcome == Outcome::Passed && sample.flaky == flaky;
        case.samples.iter().filter(such).count()
    };
    let at_once = usize::try_from(case.first_passes).unwrap_or(usize::MAX);
    // How many passed later nobody counts by case, but some did where it is flaky.
    at_once.saturating_sub(listed(false)) + usize::from(case.flaky && listed(true) == 0)
}

fn one(sample: &SampleResult, limit: usize) -> SampleOnPage<'_> {
    let output = sample
        .output
        .as_ref()
        .map(|output| shown::of_value(output, limit));
    let extracted = sample
        .extracted
        .as_ref()
        .map(|extracted| shown::of_value(extracted, limit));
    let graded = extracted.as_ref().or(output.as_ref());
    let grades = sample
        .grades
        .iter()
        .take(limits::ENTRIES)
        .map(|grade| grade::grade_details(grade, graded, limit))
        .collect();
    let metrics = sample.metrics.iter().take(limits::ENTRIES);
    let earlier = sample.earlier.iter().take(limits::ENTRIES).map(|attempt| {
        let cause = attempt.cause.map(|cause| cause.name());
        (
            attempt.outcome.name(),
            cause,
            shown::of_text(&attempt.reason, limit),
        )
    });
    SampleOnPage {
        index: sample.index,
        outcome: sample.outcome.name(),
        score: sample.score.map(figures::rate).unwrap_or_default(),
        cause: sample.cause.map(|cause| cause.name()),
        reason: (!sample.reason.trim().is_empty()).then(|| shown::of_text(&sample.reason, limit)),
        grades,
        extracted,
        output,
        output_truncated: sample.output_truncated,
        thoughts: sample
            .thoughts
            .as_ref()
            .map(|thoughts| shown::of_text(thoughts, limit)),
        changes: sample.workspace.as_ref().map(|left| {
            let mut diff = shown::of_text(&left.diff.text, limit);
            if left.diff.truncated && diff.cut.is_none() {
                diff.cut = Some("The difference is longer; the rest was not kept.".to_owned());
            }
            (left.summary(), diff)
        }),
        trajectory: sample
            .trajectory
            .as_deref()
            .map(|record| trajectory::trajectory_block(record, limit)),
        metrics: metrics
            .map(|(name, value)| measured(name, *value, limit))
            .collect(),
        flaky: sample.flaky,
        earlier: earlier.collect(),
        facts: facts_of_sample(sample, limit),
    }
}

/// A number that a grader measured.
pub fn measured(name: &str, value: f64, limit: usize) -> LabelledFact<'static> {
    let label = shown::name(&figures::shown_metric(name), limit).into_owned();
    (Cow::Owned(label), Cow::Owned(figures::figure(name, value)))
}

/// What a sample took: time, attempts, tokens, how the model was called.
pub fn facts_of_sample(sample: &SampleResult, limit: usize) -> Vec<LabelledFact<'_>> {
    let mut facts: Vec<LabelledFact<'_>> = Vec::new();
    let mut fact =
        |label: &'static str, words: String| facts.push((Cow::Borrowed(label), Cow::Owned(words)));
    if let Some(latency) = sample.latency_ms {
        fact("Latency", figures::duration_ms(latency));
    }
    fact("Total time", figures::duration_ms(sample.duration_ms));
    if sample.attempts != 1 {
        fact("Attempts", text::group_digits(sample.attempts));
    }
    if sample.infrastructure_retries > 0 {
        fact(
            "Retried calls",
            number(u64::from(sample.infrastructure_retries)),
        );
    }
    if let Some(usage) = &sample.usage {
        let bound = if ModelCall::has_lower_bound(sample.call.as_deref()) {
            "at least "
        } else {
            ""
        };
        fact("Tokens", format!("{bound}{}", tokens(usage)));
        if let Some(cost) = usage.cost_usd {
            fact("Cost", format!("{bound}{}", figures::cost(cost)));
        }
    }
    if let Some(finish) = &sample.finish {
        fact("Finish", word(finish));
    }
    if let Some(call) = &sample.call {
        fact("Model", shown::name(&call.model, limit).into_owned());
        for (label, words) in call_facts(call, limit) {
            fact(label, words);
        }
    }
    facts
}

pub fn tokens(usage: &Usage) -> String {
    format!(
        "{} in, {} out",
        number(usage.input_tokens),
        number(usage.output_tokens)
    )
}

/// How a model was asked; what there is nothing to say of is left out.
pub fn call_facts(call: &ModelCall, limit: usize) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let at = call
        .answered_at
        .as_deref()
        .map(|at| format!(", first answered {}", shown::name(at, limit)));
    let at = at.unwrap_or_default();
    let source = match call.source {
        AnswerSource::Network => "from the API".to_owned(),
        AnswerSource::Cache => format!("from the cache{at}"),
        AnswerSource::Recording => format!("from a recording{at}"),
    };
    match call.agent.as_deref() {
        None => facts.push(("Answer", source)),
        Some(agent) => {
            facts.push(("Answers", format!("{} {source}", number(agent.answers))));
            if !agent.models.is_empty() {
                let names = agent.models.iter().take(limits::ENTRIES);
                let names: Vec<_> = names.map(|name| shown::name(name, limit)).collect();
                facts.push(("Other models", names.join(", ")));
            }
            if agent.not_requested > 0 {
                facts.push((
                    "Not requested of the recording",
                    number(agent.not_requested),
                ));
            }
        }
    }
    if call.requests > 1 || !call.faults.is_empty() {
        let faults = call.faults.iter().take(limits::ENTRIES);
        let faults: Vec<String> = faults
            .map(|(label, n)| format!("{}: {n}", shown::name(label, limit)))
            .collect();
        let faults = if faults.is_empty() {
            String::new()
        } else {
            format!(" ({})", faults.join(", "))
        };
        facts.push(("Requests", format!("{}{faults}", call.requests)));
    }
    let waits = [
        ("Waited for rate limits", call.throttled_ms),
        ("Waited between retries", call.backoff_ms),
    ];
    facts.extend(
        waits
            .into_iter()
            .filter_map(|(label, ms)| Some((label, figures::duration_ms(ms?)))),
    );
    for (label, usage) in [
        ("Spent without an answer", &call.wasted),
        ("Estimated usage", &call.estimated),
    ] {
        if let Some(usage) = usage {
            let cost = usage
                .cost_usd
                .map(|cost| format!(", {}", figures::cost(cost)))
                .unwrap_or_default();
            facts.push((label, format!("{}{cost}", tokens(usage))));
        }
    }
    facts
}
