//! What becomes of each rule, and the grade of all of them.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{METHOD, TrajectoryRules};
use crate::graders::patterns::PatternCache;
use crate::graders::show::in_reason;
use crate::model::limits;
use crate::model::{Cause, Grade, GraderType};
use eval_agents::trajectory::{PerformedCall, Trajectory};

/// A trajectory with what graders need of it more than once.
pub(crate) struct SeenTrajectory<'t> {
    pub trajectory: &'t Trajectory,
    /// In the order in which they were made, as far as that is known.
    pub calls: Vec<PerformedCall<'t>>,
    /// Why the order of the calls is not known in full.
    pub disorder: Option<String>,
    /// Why it does not have all that the agent did.
    pub gaps: Vec<String>,
    pub seconds: Option<f64>,
}

/// Whether a rule holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleState {
    Met,
    Broken,
    /// It can't be known, for this reason. Never counted as met.
    Unknown(String),
}

/// One line of the grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleFinding {
    /// The setting.
    pub rule: &'static str,
    pub expected: String,
    pub actual: String,
    pub state: RuleState,
    /// Steps where it was seen.
    pub steps: Vec<String>,
}

impl<'t> SeenTrajectory<'t> {
    pub fn of(trajectory: &'t Trajectory, seconds: Option<f64>) -> SeenTrajectory<'t> {
        let mut gaps = Vec::new();
        add_gaps(trajectory, &[], &mut gaps);
        let mut calls = trajectory.tool_calls();
        let disorder = sort_by_time(trajectory, &mut calls);
        SeenTrajectory {
            trajectory,
            calls,
            disorder,
            gaps,
            seconds,
        }
    }

    /// Calls that may fulfil a rule: not those that the agent alone reports.
    pub fn supported(&self) -> impl Iterator<Item = &PerformedCall<'t>> {
        self.calls.iter().filter(|made| !made.call.is_unsupported())
    }

    /// Of a rule over the order of the calls.
    pub fn in_order(&self, state: RuleState) -> RuleState {
        match &self.disorder {
            Some(why) => RuleState::Unknown(why.clone()),
            None => state,
        }
    }

    /// Of a rule that further steps can only fulfil.
    pub fn at_least(&self, is_met: bool) -> RuleState {
        match (is_met, self.gaps.first()) {
            (true, _) => RuleState::Met,
            (false, Some(gap)) => RuleState::Unknown(gap.clone()),
            (false, None) => RuleState::Broken,
        }
    }

    /// Of a rule that further steps can only break.
    pub fn at_most(&self, is_met: bool) -> RuleState {
        match (is_met, self.gaps.first()) {
            (false, _) => RuleState::Broken,
            (true, Some(gap)) => RuleState::Unknown(gap.clone()),
            (true, None) => RuleState::Met,
        }
    }

    /// Of a rule over everything that was done.
    pub fn exactly(&self, is_met: bool) -> RuleState {
        match (is_met, self.gaps.first()) {
            (_, Some(gap)) => RuleState::Unknown(gap.clone()),
            (true, None) => RuleState::Met,
            (false, None) => RuleState::Broken,
        }
    }

    /// The step of a call: its number, after the id of the subagent.
    pub fn step_of(&self, call: &PerformedCall<'_>) -> String {
        match call.trajectory_id {
            Some(id) if self.trajectory.trajectory_id.as_deref() != Some(id) => {
                format!("{id}/{}", call.step.step_id)
            }
            _ => call.step.step_id.to_string(),
        }
    }

    /// The names of the tools in the order of their calls.
    pub fn tools_called(&self) -> String {
        let names = self
            .calls
            .iter()
            .map(|made| made.call.function_name.clone());
        listed(names.collect())
    }
}

/// Brings calls of several conversations into the order of their times. Without times, or with calls
/// that only the conversation with the model has, it is not known.
fn sort_by_time(trajectory: &Trajectory, calls: &mut [PerformedCall<'_>]) -> Option<String> {
    let steps = trajectory
        .subagent_trajectories
        .iter()
        .flat_map(|one| &one.steps);
    let results = trajectory
        .steps
        .iter()
        .chain(steps)
        .flat_map(|step| step.results());
    let references = results.flat_map(|result| &result.subagent_trajectory_ref);
    let referred: HashSet<&str> = references
        .filter_map(|one| one.trajectory_id.as_deref())
        .collect();
    // The place of a subagent is that of the call that started it.
    let is_apart = |made: &PerformedCall<'_>| {
        made.step.is_unprinted()
            || made.trajectory_id.is_some_and(|id| {
                trajectory.trajectory_id.as_deref() != Some(id) && !referred.contains(id)
            })
    };
    if calls.len() < 2 || !calls.iter().any(is_apart) {
        return None;
    }
    if calls.iter().all(|made| made.step.time().is_some()) {
        calls.sort_by_key(|made| made.step.time());
        return None;
    }
    Some(
        "the order of the calls is unknown: they are from several conversations, and some have no time"
            .to_owned(),
    )
}

/// A few of the words, and how many more there are.
pub(super) fn listed(words: Vec<String>) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    let shown = words.iter().map(|word| in_reason(word));
    eval_base::text::listed(shown, limits::GRADE_ENTRIES, words.len(), ", ")
}

/// Why a trajectory does not have all that the agent did, if so.
pub(crate) fn trajectory_gap(trajectory: &Trajectory) -> Option<String> {
    SeenTrajectory::of(trajectory, None).gaps.into_iter().next()
}

/// `outer`: the trajectories around it. Subagents of subagents may be embedded in any of them.
fn add_gaps<'t>(trajectory: &'t Trajectory, outer: &[&'t Trajectory], gaps: &mut Vec<String>) {
    let mut around = outer.to_vec();
    around.push(trajectory);
    gaps.extend(
        trajectory
            .incomplete()
            .into_iter()
            .map(|why| format!("the trajectory is incomplete: {why}")),
    );
    if let Some(file) = &trajectory.continued_trajectory_ref {
        gaps.push(format!(
            "the trajectory continues in `{}`, which is not embedded",
            in_reason(file)
        ));
    }
    if let Some(step) = trajectory.steps.iter().find(|step| step.is_copied()) {
        gaps.push(format!(
            "step {} is copied from another trajectory, which is not embedded",
            step.step_id
        ));
    }
    let results = || trajectory.steps.iter().flat_map(|step| step.results());
    let mut lost = results().filter_map(|one| one.extra.as_ref()?.get("unknown_call_id"));
    if let Some(id) = lost.next() {
        gaps.push(format!(
            "the tool call of the result {} is missing from the trajectory",
            in_reason(&id.to_string())
        ));
    }
    for reference in results().flat_map(|result| &result.subagent_trajectory_ref) {
        let is_here = around
            .iter()
            .flat_map(|one| &one.subagent_trajectories)
            .any(|one| one.trajectory_id.is_some() && one.trajectory_id == reference.trajectory_id);
        if !is_here {
            gaps.push("the steps of a subagent are missing from the trajectory".to_owned());
        }
    }
    for subagent in &trajectory.subagent_trajectories {
        add_gaps(subagent, &around, gaps);
    }
}

impl RuleFinding {
    fn sentence(&self) -> String {
        let seen = match self.steps.first() {
            Some(step) => format!(" (step {step})"),
            None => String::new(),
        };
        match &self.state {
            RuleState::Unknown(why) => format!(
                "`{}`: expected {}, but the result is unknown: {why}",
                self.rule, self.expected
            ),
            _ => format!(
                "`{}`: expected {}, got {}{seen}",
                self.rule, self.expected, self.actual
            ),
        }
    }

    fn entry(&self) -> Value {
        let outcome = match &self.state {
            RuleState::Met => "passed",
            RuleState::Broken => "failed",
            RuleState::Unknown(_) => "errored",
        };
        let mut entry = Map::new();
        entry.insert("rule".to_owned(), Value::from(self.rule));
        entry.insert("outcome".to_owned(), Value::from(outcome));
        entry.insert(
            "expected".to_owned(),
            Value::from(in_reason(&self.expected)),
        );
        entry.insert("actual".to_owned(), Value::from(in_reason(&self.actual)));
        if !self.steps.is_empty() {
            let steps: Vec<&String> = self.steps.iter().take(limits::GRADE_ENTRIES).collect();
            entry.insert("steps".to_owned(), json!(steps));
        }
        if let RuleState::Unknown(why) = &self.state {
            entry.insert("reason".to_owned(), Value::from(in_reason(why)));
        }
        Value::Object(entry)
    }
}

impl TrajectoryRules {
    pub(super) fn judge(&self, seen: &SeenTrajectory<'_>, patterns: &PatternCache) -> Grade {
        let findings = match self.findings(seen, patterns) {
            Ok(findings) => findings,
            Err(why) => return Grade::errored(GraderType::Code, METHOD, Cause::Harness, why),
        };
        let broken: Vec<&RuleFinding> = findings
            .iter()
            .filter(|one| one.state == RuleState::Broken)
            .collect();
        let unknown: Vec<&RuleFinding> = findings
            .iter()
            .filter(|one| matches!(one.state, RuleState::Unknown(_)))
            .collect();
        let mut grade = match (broken.as_slice(), unknown.first()) {
            ([], None) => Grade::passed(GraderType::Code, METHOD),
            ([], Some(one)) => Grade::errored(
                GraderType::Code,
                METHOD,
                Cause::MissingOutput,
                one.sentence(),
            ),
            ([first, rest @ ..], _) => {
                let named = |label: &str, rules: Vec<&str>| match rules.len() {
                    0 => String::new(),
                    _ => format!("; {label} `{}`", rules.join("`, `")),
                };
                let more = named("also broken:", rest.iter().map(|one| one.rule).collect());
                let open = named("not known:", unknown.iter().map(|one| one.rule).collect());
                let reason = format!("{}{more}{open}", first.sentence());
                Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, reason)
            }
        };
        self.add_numbers(seen, &mut grade);
        // Those that did not hold first: not all of them are kept.
        let mut ordered: Vec<&RuleFinding> = findings.iter().collect();
        ordered.sort_by_key(|one| match one.state {
            RuleState::Broken => 0,
            RuleState::Unknown(_) => 1,
            RuleState::Met => 2,
        });
        let shown: Vec<&RuleFinding> = match ordered
            .iter()
            .filter(|one| one.state != RuleState::Met)
            .count()
        {
            0 => ordered.clone(),
            n => ordered.iter().take(n).copied().collect(),
        };
        let side = |text: fn(&RuleFinding) -> &str| {
            let lines = shown.iter().take(limits::GRADE_ENTRIES);
            json!(
                lines
                    .map(|one| format!("{}: {}", one.rule, in_reason(text(one))))
                    .collect::<Vec<_>>()
            )
        };
        let entries: Vec<Value> = ordered
            .iter()
            .take(limits::GRADE_ENTRIES)
            .map(|one| one.entry())
            .collect();
        grade
            .with_expected(side(|one| &one.expected))
            .with_actual(side(|one| match one.state {
                RuleState::Unknown(_) => "not known",
                _ => &one.actual,
            }))
            .with_detail("rules", entries)
    }

    fn findings(
        &self,
        seen: &SeenTrajectory<'_>,
        patterns: &PatternCache,
    ) -> Result<Vec<RuleFinding>, String> {
        let mut findings = Vec::new();
        for count in &self.used {
            findings.push(count.of_tools(seen));
        }
        for name in &self.not_used {
            findings.push(super::calls::not_used(name, seen));
        }
        findings.extend(self.order.as_ref().map(|order| order.finding(seen)));
        for rule in &self.arguments {
            findings.push(rule.finding(seen));
        }
        findings.extend(self.budgets.findings(seen));
        if self.recovers_from_errors {
            findings.push(super::budgets::recovery(seen));
        }
        findings.extend(super::commands::findings(
            &self.denied_commands,
            seen,
            patterns,
        )?);
        findings.extend(super::skills::findings(
            &self.skill_used,
            &self.skill_not_used,
            seen,
        ));
        Ok(findings)
    }
}
