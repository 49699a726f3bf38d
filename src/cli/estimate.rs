//! What a run would ask of models, and about what that would cost.

use std::collections::BTreeMap;
use std::io;

use crate::grade::judge_question_bytes;
use crate::model::{
    CacheMode, CaseOutline, Endpoint, ModelTarget, Plan, RunBudget, Target, TokenPrice,
};
use crate::report::figures::cost;
use crate::run::{ChangeOutline, PreparedRun, SamplesToDo};
use crate::target::question_bytes;
use eval_base::text::{group_digits, one_line, plural};
use eval_models::{TokenCounts, about_tokens, cost_of, longest_answer};

/// What one model would be asked.
#[derive(Debug, Clone, Default, PartialEq)]
struct ModelEstimate {
    calls: u64,
    /// Tokens of questions, about.
    questions: u64,
    /// Calls whose question can't be read now.
    unread: u64,
    /// Tokens of answers at most; `None` when some call has no limit.
    answers: Option<u64>,
    price: Option<TokenPrice>,
}

/// The samples of a run, as far as it calls anything for them.
pub struct PlannedWork<'a> {
    prepared: &'a PreparedRun,
    changed: Option<&'a ChangeOutline>,
}

impl<'a> PlannedWork<'a> {
    /// `changed` has what is reused.
    pub fn of(prepared: &'a PreparedRun, changed: Option<&'a ChangeOutline>) -> PlannedWork<'a> {
        PlannedWork { prepared, changed }
    }

    /// Samples of a case that the target is called for, and those that are graded.
    fn samples(&self, (eval, at): (usize, usize), case: CaseOutline<'_>) -> (u64, u64) {
        match self.changed {
            None => {
                let all = u64::from(PreparedRun::samples(case));
                (all, all)
            }
            Some(changed) => {
                let SamplesToDo { run, graded_again } = changed.case(eval, at);
                let run = u64::from(run);
                (run, run + u64::from(graded_again))
            }
        }
    }

    /// Every case with the numbers of [`PlannedWork::samples`].
    fn cases(&self) -> impl Iterator<Item = (CaseOutline<'a>, (u64, u64))> {
        let evals = self.prepared.plan.evals.iter().enumerate();
        evals.flat_map(move |(number, eval)| {
            let cases = eval.cases.outlines().enumerate();
            cases.map(move |(at, case)| (case, self.samples((number, at), case)))
        })
    }
}

/// Calls of targets that a run would make, and how many of them at once at most. What is recorded
/// is not called for.
pub fn calls(work: &PlannedWork<'_>) -> (u64, usize) {
    let plan = &work.prepared.plan;
    let (mut calls, mut others) = (0u64, 0);
    let mut lanes: BTreeMap<&str, usize> = BTreeMap::new();
    for (outline, (samples, _)) in work.cases().filter(|(_, (samples, _))| *samples > 0) {
        match outline.profile.target.as_ref().or(plan.target.as_ref()) {
            None | Some(Target::Recorded { .. }) => continue,
            Some(Target::Model(model)) if is_offline(plan, &model.endpoint) => continue,
            Some(Target::Model(model)) => {
                let limits = &model.endpoint.limits;
                lanes.insert(&limits.lane, limits.max_concurrency);
            }
            Some(_) => others = plan.settings.max_workers,
        }
        calls = calls.saturating_add(samples);
    }
    let at_once = lanes
        .values()
        .fold(others, |sum, most| sum.saturating_add(*most));
    (calls, at_once.min(plan.settings.in_flight))
}

/// True when a run asks this model nothing, because all its answers are recorded, or come from the
/// cache alone.
fn is_offline(plan: &Plan, endpoint: &Endpoint) -> bool {
    let settings = &plan.settings.models;
    settings.replay.is_some() || settings.cache == CacheMode::Only || endpoint.replay.is_some()
}

/// What models would be asked: labels with lines, to be shown one below the other.
pub fn lines(work: &PlannedWork<'_>) -> io::Result<Vec<(&'static str, String)>> {
    let asked = estimate_by_model(work)?;
    let mut lines: Vec<(&'static str, String)> = judged(work)
        .map(|words| ("judged", words))
        .into_iter()
        .collect();
    let agents = agents(work);
    let calls_agents = !agents.is_empty();
    lines.extend(agents.into_iter().map(|words| ("agent", words)));
    if !asked.is_empty() || !calls_agents {
        lines.extend(estimate_lines(&asked));
    }
    if !asked.is_empty() || calls_agents {
        lines.extend(
            budget(work.prepared.plan.settings.models.budget).map(|words| ("budget", words)),
        );
    }
    Ok(lines)
}

/// The samples of agents that call a model, and what each of them may spend: how many calls an agent
/// makes is not known.
fn agents(work: &PlannedWork<'_>) -> Vec<String> {
    let plan = &work.prepared.plan;
    let mut all: BTreeMap<(&str, String), (u64, Option<f64>)> = BTreeMap::new();
    for (outline, (samples, _)) in work.cases().filter(|(_, (samples, _))| *samples > 0) {
        let target = outline.profile.target.as_ref().or(plan.target.as_ref());
        let Some(Target::Agent(agent)) = target else {
            continue;
        };
        let Some(endpoint) = agent
            .endpoint
            .as_ref()
            .filter(|model| !is_offline(plan, model))
        else {
            continue;
        };
        let most = agent.limits.cost_usd.map(|most| most * samples as f64);
        let sum = all
            .entry((agent.name(), endpoint.name()))
            .or_insert((0, Some(0.0)));
        *sum = (
            sum.0 + samples,
            sum.1.zip(most).map(|(sum, most)| sum + most),
        );
    }
    let line = |((agent, model), (samples, most)): ((&str, String), (u64, Option<f64>))| {
        let samples = plural(usize::try_from(samples).unwrap_or(usize::MAX), "sample");
        let most = match most {
            Some(most) => format!("at most {} in all", cost(most)),
            None => "no limit of dollars (`limits: {cost_usd: ...}`)".to_owned(),
        };
        format!(
            "{} with {}, {samples}, {most}",
            one_line(agent),
            one_line(&model)
        )
    };
    all.into_iter().map(line).collect()
}

/// The calls of judges, and how many of them at once at most; `None` when none would be asked.
fn judged(work: &PlannedWork<'_>) -> Option<String> {
    let plan = &work.prepared.plan;
    let (mut calls, mut widest) = (0u64, 0u64);
    let mut lanes: BTreeMap<&str, usize> = BTreeMap::new();
    for (outline, (_, samples)) in work.cases().filter(|(_, (_, samples))| *samples > 0) {
        let mut votes = 0u64;
        for panel in outline
            .profile
            .graders
            .iter()
            .filter_map(|grader| grader.panel.as_ref())
        {
            for model in panel
                .models
                .iter()
                .filter(|model| !is_offline(plan, &model.endpoint))
            {
                let limits = &model.endpoint.limits;
                lanes.insert(&limits.lane, limits.max_concurrency);
                votes += u64::from(panel.votes);
            }
        }
        calls = calls.saturating_add(votes.saturating_mul(samples));
        widest = widest.max(votes);
    }
    let lanes = lanes
        .values()
        .fold(0usize, |sum, most| sum.saturating_add(*most)) as u64;
    // All votes on one output may be asked for at once.
    let at_once = lanes
        .min((plan.settings.in_flight as u64).saturating_mul(widest))
        .min(calls);
    let number = |n: u64| group_digits(usize::try_from(n).unwrap_or(usize::MAX));
    match calls {
        0 => None,
        1 => Some("1 call of a judge".to_owned()),
        calls => Some(format!(
            "up to {} calls of judges, at most {} at once",
            number(calls),
            number(at_once)
        )),
    }
}

/// A model as what it is asked: its name, and whether it judges.
type ModelRole = (String, bool);

fn estimate_by_model(work: &PlannedWork<'_>) -> io::Result<BTreeMap<ModelRole, ModelEstimate>> {
    let plan = &work.prepared.plan;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut all: BTreeMap<ModelRole, ModelEstimate> = BTreeMap::new();
    for (number, eval) in plan.evals.iter().enumerate() {
        let is_model = |target: &Option<Target>| matches!(target.as_ref().or(plan.target.as_ref()), Some(Target::Model(model)) if !is_offline(plan, &model.endpoint));
        let profiles = eval.cases.profiles();
        let judged = profiles
            .iter()
            .any(|profile| profile.graders.iter().any(|grader| grader.panel.is_some()));
        if !judged && !profiles.iter().any(|profile| is_model(&profile.target)) {
            continue;
        }
        for (outline, streamed) in eval.cases.outlines().zip(eval.cases.stream(|_| true)) {
            let (samples, graded) = work.samples((number, streamed.at), outline);
            if graded == 0 {
                continue;
            }
            let case = streamed.case.map_err(io::Error::other)?;
            let target = case.target.as_ref().or(plan.target.as_ref());
            if let Some(Target::Model(model)) =
                target.filter(|_| samples > 0 && is_model(&case.target))
            {
                let bytes = runtime.block_on(async {
                    let asked = work.prepared.targets.prompted(eval, &case).await.ok()?;
                    question_bytes(model, &asked).await
                });
                of_role(&mut all, model, false).add(samples, bytes, model);
            }
            for judge in case
                .grading
                .graders
                .iter()
                .filter_map(|grader| grader.kind.judge())
            {
                let mut bytes = None;
                for model in judge
                    .models
                    .iter()
                    .filter(|model| !is_offline(plan, &model.endpoint))
                {
                    // What is asked is the same for all models.
                    let shared = *bytes.get_or_insert_with(|| {
                        runtime.block_on(judge_question_bytes(judge, &case))
                    });
                    let own = model.system.as_ref().map_or(0, String::len);
                    let calls = graded.saturating_mul(u64::from(judge.votes));
                    of_role(&mut all, model, true).add(
                        calls,
                        shared.map(|bytes| bytes + own),
                        model,
                    );
                }
            }
        }
    }
    Ok(all)
}

fn of_role<'a>(
    all: &'a mut BTreeMap<ModelRole, ModelEstimate>,
    model: &ModelTarget,
    judges: bool,
) -> &'a mut ModelEstimate {
    all.entry((model.endpoint.name(), judges))
        .or_insert_with(|| ModelEstimate {
            answers: Some(0),
            price: model.endpoint.price,
            ..ModelEstimate::default()
        })
}

impl ModelEstimate {
    /// So many calls with a question of so many bytes; `None` when it can't be read now.
    fn add(&mut self, calls: u64, bytes: Option<usize>, model: &ModelTarget) {
        self.calls = self.calls.saturating_add(calls);
        match bytes {
            Some(bytes) => {
                self.questions = self
                    .questions
                    .saturating_add(calls.saturating_mul(about_tokens(bytes)));
            }
            None => self.unread = self.unread.saturating_add(calls),
        }
        let longest = longest_answer(&model.endpoint, &model.sampling);
        let most = longest.map(|most| most.saturating_mul(calls));
        self.answers = self
            .answers
            .zip(most)
            .map(|(sum, most)| sum.saturating_add(most));
    }
}

fn estimate_lines(all: &BTreeMap<ModelRole, ModelEstimate>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for ((name, judges), asked) in all {
        let number = |n: u64| group_digits(usize::try_from(n).unwrap_or(usize::MAX));
        let answers = match asked.answers {
            Some(most) => format!("at most {} of answers", number(most)),
            None => "no limit of answers (`max_tokens`)".to_owned(),
        };
        let unread = match asked.unread {
            0 => String::new(),
            n => format!(
                ", and {} that can't be read now",
                plural(n as usize, "question")
            ),
        };
        let calls = plural(usize::try_from(asked.calls).unwrap_or(usize::MAX), "call");
        let questions = number(asked.questions);
        let name = one_line(name);
        let (label, but) = if *judges {
            ("judge", " without the outputs")
        } else {
            ("model", "")
        };
        let words = format!(
            "{name}, {calls}, about {questions} tokens of questions{but}{unread}, {answers}"
        );
        lines.push((label, words));
    }
    if all.is_empty() {
        return vec![("cost", "none is known: no model is called".to_owned())];
    }
    lines.push(("cost", dollars(all)));
    lines
}

/// The cost of all models, as far as it is known.
fn dollars(all: &BTreeMap<ModelRole, ModelEstimate>) -> String {
    let unknown: Vec<String> = all
        .iter()
        .filter(|(_, asked)| asked.price.is_none())
        .map(|((name, _), _)| one_line(name))
        .collect();
    let known = || all.values().filter_map(|asked| Some((asked, asked.price?)));
    if known().next().is_none() {
        return format!("unknown: there is no price for {}", unknown.join(", "));
    }
    let of = |input, output| TokenCounts {
        input,
        output,
        ..TokenCounts::default()
    };
    let questions: f64 = known()
        .map(|(asked, price)| cost_of(&price, of(asked.questions, 0)))
        .sum();
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
        words += &format!("; and {}, which has no price", unknown.join(", "));
    }
    let more = match all.keys().any(|(_, judges)| *judges) {
        true => "retries, repairs and the outputs that judges read come on top",
        false => "retries come on top",
    };
    format!("{words}; {more}, what the cache answers is free")
}

/// The budget, and what may come on top of it (docs/cost.md).
fn budget(budget: RunBudget) -> Option<String> {
    let tokens = |n: u64| {
        format!(
            "{} tokens",
            group_digits(usize::try_from(n).unwrap_or(usize::MAX))
        )
    };
    let parts: Vec<String> = budget
        .usd
        .map(cost)
        .into_iter()
        .chain(budget.tokens.map(tokens))
        .collect();
    let beyond = "calls in flight may exceed it; `max_tokens` limits by how much";
    (!parts.is_empty()).then(|| format!("{}; {beyond}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model_estimate(
        calls: u64,
        questions: u64,
        answers: Option<u64>,
        price: Option<f64>,
    ) -> ModelEstimate {
        let price = price.map(|input| TokenPrice {
            input,
            output: 2.0 * input,
            cached_input: None,
            cache_write: None,
        });
        ModelEstimate {
            calls,
            questions,
            unread: 0,
            answers,
            price,
        }
    }

    fn shown(all: &[(&str, ModelEstimate)]) -> String {
        let all = all
            .iter()
            .map(|(name, asked)| match name.strip_prefix("judge ") {
                Some(name) => ((name.to_owned(), true), asked.clone()),
                None => (((*name).to_owned(), false), asked.clone()),
            });
        estimate_lines(&all.collect())
            .into_iter()
            .map(|(label, words)| format!("{label}: {words}"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn budget_is_shown_with_what_calls_in_flight_may_add() {
        assert_eq!(budget(RunBudget::default()), None);
        let line = budget(RunBudget {
            usd: Some(2.5),
            tokens: Some(9_000),
        })
        .unwrap();
        insta::assert_snapshot!(line, @"$2.50, 9,000 tokens; calls in flight may exceed it; `max_tokens` limits by how much");
    }

    #[test]
    fn what_is_not_known_is_told() {
        let known = model_estimate(40, 12_345, Some(20_000), Some(1.0));
        let unlimited = ModelEstimate {
            answers: None,
            ..known.clone()
        };
        let unpriced = ModelEstimate {
            price: None,
            unread: 1,
            ..known.clone()
        };
        let free = ModelEstimate {
            price: model_estimate(1, 1, None, Some(0.0)).price,
            ..unlimited.clone()
        };
        insta::assert_snapshot!(shown(&[]), @"cost: none is known: no model is called");
        insta::assert_snapshot!(shown(&[("openai:a", known.clone())]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, at most 20,000 of answers
        cost: about $0.0123 for the questions, at most $0.0523 with the answers; retries come on top, what the cache answers is free
        ");
        insta::assert_snapshot!(shown(&[("openai:a", known.clone()), ("judge openai:a", known.clone())]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, at most 20,000 of answers
        judge: openai:a, 40 calls, about 12,345 tokens of questions without the outputs, at most 20,000 of answers
        cost: about $0.0247 for the questions, at most $0.1047 with the answers; retries, repairs and the outputs that judges read come on top, what the cache answers is free
        ");
        insta::assert_snapshot!(shown(&[("openai:a", unlimited)]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, no limit of answers (`max_tokens`)
        cost: about $0.0123 for the questions, and the answers, which have no limit; retries come on top, what the cache answers is free
        ");
        insta::assert_snapshot!(shown(&[("openai:a", unpriced.clone())]), @"
        model: openai:a, 40 calls, about 12,345 tokens of questions, and 1 question that can't be read now, at most 20,000 of answers
        cost: unknown: there is no price for openai:a
        ");
        insta::assert_snapshot!(shown(&[("local:b", free), ("openai:a", known), ("x:\u{1b}[2J", unpriced)]), @"
        model: local:b, 40 calls, about 12,345 tokens of questions, no limit of answers (`max_tokens`)
        model: openai:a, 40 calls, about 12,345 tokens of questions, at most 20,000 of answers
        model: x:, 40 calls, about 12,345 tokens of questions, and 1 question that can't be read now, at most 20,000 of answers
        cost: about $0.0123 for the questions, at most $0.0523 with the answers; and x:, which has no price; retries come on top, what the cache answers is free
        ");
    }
}
