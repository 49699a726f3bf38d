//! What a run would ask of models, and about what that would cost.

use std::collections::BTreeMap;
use std::io;

use crate::base::text::{group_digits, one_line, plural};
use crate::llm::{Tokens, about_tokens, cost_of};
use crate::model::{Budget, CacheMode, Endpoint, Plan, Price, Target};
use crate::report::figures::cost;
use crate::run::Prepared;
use crate::target::question_bytes;

/// What one model would be asked.
#[derive(Debug, Clone, Default, PartialEq)]
struct Asked {
    calls: u64,
    /// Tokens of questions, about.
    questions: u64,
    /// Calls whose question can't be read now.
    unread: u64,
    /// Tokens of answers at most; `None` when some call has no limit.
    answers: Option<u64>,
    price: Option<Price>,
}

/// Calls of targets that a run would make, and how many of them at once at most. What is recorded is not called for.
pub fn calls(prepared: &Prepared) -> (u64, usize) {
    let plan = &prepared.plan;
    let (mut calls, mut others) = (0u64, 0);
    let mut lanes: BTreeMap<&str, usize> = BTreeMap::new();
    for outline in plan.evals.iter().flat_map(|eval| eval.cases.outlines()) {
        match outline.profile.target.as_ref().or(plan.target.as_ref()) {
            None | Some(Target::Recorded { .. }) => continue,
            Some(Target::Model(model)) if is_offline(plan, &model.endpoint) => continue,
            Some(Target::Model(model)) => {
                let limits = &model.endpoint.limits;
                lanes.insert(&limits.lane, limits.max_concurrency);
            }
            Some(_) => others = plan.settings.max_workers,
        }
        calls = calls.saturating_add(u64::from(Prepared::samples(outline)));
    }
    let at_once = lanes.values().fold(others, |sum, most| sum.saturating_add(*most));
    (calls, at_once.min(plan.settings.in_flight))
}

/// True when a run asks this model nothing, because all its answers are recorded, or come from the cache alone.
fn is_offline(plan: &Plan, endpoint: &Endpoint) -> bool {
    let settings = &plan.settings.models;
    settings.replay.is_some() || settings.cache == CacheMode::Only || endpoint.replay.is_some()
}

/// What models would be asked: labels with lines, to be shown one below the other.
pub fn lines(prepared: &Prepared) -> io::Result<Vec<(&'static str, String)>> {
    let asked = asked(prepared)?;
    let mut lines = told(&asked);
    if !asked.is_empty() {
        lines.extend(budget(prepared.plan.settings.models.budget).map(|words| ("budget", words)));
    }
    Ok(lines)
}

fn asked(prepared: &Prepared) -> io::Result<BTreeMap<String, Asked>> {
    let plan = &prepared.plan;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut all: BTreeMap<String, Asked> = BTreeMap::new();
    for eval in &plan.evals {
        let is_model = |target: &Option<Target>| matches!(target.as_ref().or(plan.target.as_ref()), Some(Target::Model(model)) if !is_offline(plan, &model.endpoint));
        if !eval.cases.profiles().iter().any(|profile| is_model(&profile.target)) {
            continue;
        }
        for (outline, streamed) in eval.cases.outlines().zip(eval.cases.stream(|_| true)) {
            let case = streamed.case.map_err(io::Error::other)?;
            let Some(Target::Model(model)) = case.target.as_ref().or(plan.target.as_ref()) else { continue };
            if is_offline(plan, &model.endpoint) {
                continue;
            }
            let samples = u64::from(Prepared::samples(outline));
            let entry = all.entry(model.endpoint.name()).or_insert_with(|| Asked {
                answers: Some(0),
                price: model.endpoint.price,
                ..Asked::default()
            });
            entry.calls += samples;
            match runtime.block_on(question_bytes(model, &case)) {
                Some(bytes) => {
                    entry.questions =
                        entry.questions.saturating_add(samples.saturating_mul(about_tokens(bytes)));
                }
                None => entry.unread += samples,
            }
            let most = model.sampling.max_tokens.map(|most| most.saturating_mul(samples));
            entry.answers = entry.answers.zip(most).map(|(sum, most)| sum.saturating_add(most));
        }
    }
    Ok(all)
}

fn told(all: &BTreeMap<String, Asked>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for (name, asked) in all {
        let number = |n: u64| group_digits(usize::try_from(n).unwrap_or(usize::MAX));
        let answers = match asked.answers {
            Some(most) => format!("at most {} of answers", number(most)),
            None => "no limit of answers (`max_tokens`)".to_owned(),
        };
        let unread = match asked.unread {
            0 => String::new(),
            n => format!(", and {} that can't be read now", plural(n as usize, "question")),
        };
        let calls = plural(usize::try_from(asked.calls).unwrap_or(usize::MAX), "call");
        let questions = number(asked.questions);
        let name = one_line(name);
        lines.push((
            "model",
            format!("{name}, {calls}, about {questions} tokens of questions{unread}, {answers}"),
        ));
    }
    if all.is_empty() {
        return vec![("cost", "none that is known: no model is asked".to_owned())];
    }
    lines.push(("cost", dollars(all)));
    lines
}

/// The cost of all models, as far as it is known.
fn dollars(all: &BTreeMap<String, Asked>) -> String {
    let unknown: Vec<String> =
        all.iter().filter(|(_, asked)| asked.price.is_none()).map(|(name, _)| one_line(name)).collect();
    let known = || all.values().filter_map(|asked| Some((asked, asked.price?)));
    if known().next().is_none() {
        return format!("unknown: nobody says the price of {}", unknown.join(", "));
    }
    let of = |input, output| Tokens { input, output, ..Tokens::default() };
    let questions: f64 = known().map(|(asked, price)| cost_of(&price, of(asked.questions, 0))).sum();
    let with_answers: Option<f64> = known()
        .map(|(asked, price)| match asked.answers {
            Some(most) => Some(cost_of(&price, of(asked.questions, most))),
            None if price.output == 0.0 => Some(cost_of(&price, of(asked.questions, 0))),
            None => None,
        })
        .sum();
    let mut words = format!("about {} for the questions, ", cost(questions));
    words += &match with_answers {
        Some(most) => format!("at most {} with the answers", cost(most)),
        None => "and the answers, which have no limit".to_owned(),
    };
    if !unknown.is_empty() {
        words += &format!("; and {}, whose price nobody says", unknown.join(", "));
    }
    words + "; retries come on top, what the cache answers is free"
}

fn budget(budget: Budget) -> Option<String> {
    let tokens = budget
        .tokens
        .map(|tokens| format!("{} tokens", group_digits(usize::try_from(tokens).unwrap_or(usize::MAX))));
    let parts: Vec<String> = budget.usd.map(cost).into_iter().chain(tokens).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(calls: u64, questions: u64, answers: Option<u64>, price: Option<f64>) -> Asked {
        let price =
            price.map(|input| Price { input, output: 2.0 * input, cached_input: None, cache_write: None });
        Asked { calls, questions, unread: 0, answers, price }
    }

    fn shown(all: &[(&str, Asked)]) -> String {
        let all = all.iter().map(|(name, asked)| ((*name).to_owned(), asked.clone())).collect();
        told(&all)
            .into_iter()
            .map(|(label, words)| format!("{label}: {words}"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn what_is_not_known_is_told() {
        let known = asked(40, 12_345, Some(20_000), Some(1.0));
        let unlimited = Asked { answers: None, ..known.clone() };
        let unpriced = Asked { price: None, unread: 1, ..known.clone() };
        let free = Asked { price: asked(1, 1, None, Some(0.0)).price, ..unlimited.clone() };
        insta::assert_snapshot!(shown(&[]), @"cost: none that is known: no model is asked");
        insta::assert_snapshot!(shown(&[("openai:a", known.clone())]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, at most 20,000 of answers
        cost: about $0.0123 for the questions, at most $0.0523 with the answers; retries come on top, what the cache answers is free
        ");
        insta::assert_snapshot!(shown(&[("openai:a", unlimited)]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, no limit of answers (`max_tokens`)
        cost: about $0.0123 for the questions, and the answers, which have no limit; retries come on top, what the cache answers is free
        ");
        insta::assert_snapshot!(shown(&[("openai:a", unpriced.clone())]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, and 1 question that can't be read now, at most 20,000 of answers
        cost: unknown: nobody says the price of openai:a
        ");
        insta::assert_snapshot!(shown(&[("local:b", free), ("openai:a", known), ("x:\u{1b}[2J", unpriced)]), @"
        model: local:b, 40 calls, about 12,345 tokens of questions, no limit of answers (`max_tokens`)
        model: openai:a, 40 calls, about 12,345 tokens of questions, at most 20,000 of answers
        model: x:, 40 calls, about 12,345 tokens of questions, and 1 question that can't be read now, at most 20,000 of answers
        cost: about $0.0123 for the questions, at most $0.0523 with the answers; and x:, whose price nobody says; retries come on top, what the cache answers is free
        ");
    }
}
