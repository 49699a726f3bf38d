//! Reading of ATIF documents: strict about what is understood, tolerant about other fields.
//!
//! ATIF forbids fields that it does not define. Documents have them all the same, so they are moved
//! to `extra` where an object has one, and dropped from the few that don't; what is written is valid.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{SCHEMA_VERSION, StepSource, Trajectory, TrajectoryStep};

/// The newest minor version that can be read.
const NEWEST_MINOR: u32 = 8;

/// Why a document is not a trajectory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrajectoryError {
    #[error("not JSON: {0}")]
    Json(String),
    /// The path is one like `steps[3].tool_calls[0].arguments`; `.` is the document.
    #[error("`{path}`: {message}")]
    Field { path: String, message: String },
}

impl TrajectoryError {
    fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Field {
            path: path.into(),
            message: message.into(),
        }
    }
}

/// `null` is the same as no field.
pub(super) fn null_or<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Trajectory {
    /// Reads a document.
    pub fn from_json(json: &[u8]) -> Result<Self, TrajectoryError> {
        let value = serde_json::from_slice(json)
            .map_err(|error| TrajectoryError::Json(error.to_string()))?;
        Self::from_value(value)
    }

    /// Reads a document that is parsed already.
    pub fn from_value(mut value: Value) -> Result<Self, TrajectoryError> {
        check_version(&value)?;
        keep_other_fields(&mut value, &TRAJECTORY);
        let mut trajectory: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            TrajectoryError::at(error.path().to_string(), error.inner().to_string())
        })?;
        trajectory.check("")?;
        Ok(trajectory)
    }

    /// What types do not say. `prefix` is the path of an embedded trajectory, with its dot.
    fn check(&mut self, prefix: &str) -> Result<(), TrajectoryError> {
        if !self.schema_version.starts_with("ATIF-v1.") {
            return Err(TrajectoryError::at(
                format!("{prefix}schema_version"),
                "not an ATIF version",
            ));
        }
        SCHEMA_VERSION.clone_into(&mut self.schema_version);
        if self.steps.is_empty() {
            return Err(TrajectoryError::at(
                format!("{prefix}steps"),
                "a trajectory requires at least one step",
            ));
        }
        for (at, step) in self.steps.iter_mut().enumerate() {
            step.check(at, &format!("{prefix}steps[{at}]"))?;
        }
        let costs = self
            .final_metrics
            .iter()
            .filter_map(|all| all.total_cost_usd);
        check_costs(costs, &format!("{prefix}final_metrics.total_cost_usd"))?;
        let mut ids = HashSet::new();
        for (at, subagent) in self.subagent_trajectories.iter_mut().enumerate() {
            let path = format!("{prefix}subagent_trajectories[{at}]");
            match &subagent.trajectory_id {
                None => {
                    return Err(TrajectoryError::at(
                        format!("{path}.trajectory_id"),
                        "an embedded trajectory requires an id",
                    ));
                }
                Some(id) if !ids.insert(id.clone()) => {
                    return Err(TrajectoryError::at(
                        format!("{path}.trajectory_id"),
                        format!("duplicate id `{id}` of an embedded trajectory"),
                    ));
                }
                Some(_) => subagent.check(&format!("{path}."))?,
            }
        }
        Ok(())
    }
}

impl TrajectoryStep {
    fn check(&mut self, at: usize, path: &str) -> Result<(), TrajectoryError> {
        let expected = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
        if self.step_id != expected {
            return Err(TrajectoryError::at(
                format!("{path}.step_id"),
                format!(
                    "{}, but steps count from 1 without gaps: expected {expected}",
                    self.step_id
                ),
            ));
        }
        if let Some(time) = &self.timestamp
            && time.parse::<jiff::Timestamp>().is_err()
            && time.parse::<jiff::civil::DateTime>().is_err()
        {
            return Err(TrajectoryError::at(
                format!("{path}.timestamp"),
                "not a time like `2026-01-31T12:00:00Z`",
            ));
        }
        if let Some(effort) = &self.reasoning_effort
            && !(effort.is_string() || effort.is_number())
        {
            return Err(TrajectoryError::at(
                format!("{path}.reasoning_effort"),
                "expected a word or a number",
            ));
        }
        if self.source != StepSource::Agent {
            let agents = [
                ("model_name", self.model_name.is_some()),
                ("reasoning_effort", self.reasoning_effort.is_some()),
                ("reasoning_content", self.reasoning_content.is_some()),
                ("tool_calls", !self.tool_calls.is_empty()),
                ("metrics", self.metrics.is_some()),
            ];
            if let Some((name, _)) = agents.iter().find(|(_, is_set)| *is_set) {
                return Err(TrajectoryError::at(
                    format!("{path}.{name}"),
                    "only steps with `source: agent` have this field",
                ));
            }
        } else if self.llm_call_count == Some(0)
            && (self.metrics.is_some() || self.reasoning_content.is_some())
        {
            return Err(TrajectoryError::at(
                format!("{path}.llm_call_count"),
                "0, but the step has `metrics` or `reasoning_content` of a model",
            ));
        }
        let cost = self.metrics.iter().filter_map(|metrics| metrics.cost_usd);
        check_costs(cost, &format!("{path}.metrics.cost_usd"))?;
        self.check_results(path)
    }

    /// Results belong to calls of the same step; calls have ids of their own.
    fn check_results(&mut self, path: &str) -> Result<(), TrajectoryError> {
        let mut ids = HashSet::new();
        for (at, call) in self.tool_calls.iter().enumerate() {
            if !ids.insert(call.tool_call_id.as_str()) {
                return Err(TrajectoryError::at(
                    format!("{path}.tool_calls[{at}].tool_call_id"),
                    format!(
                        "duplicate tool call id `{}` in this step",
                        call.tool_call_id
                    ),
                ));
            }
        }
        let results = self
            .observation
            .iter_mut()
            .flat_map(|observation| &mut observation.results);
        for (at, result) in results.enumerate() {
            if let Some(id) = &result.source_call_id
                && !ids.contains(id.as_str())
            {
                return Err(TrajectoryError::at(
                    format!("{path}.observation.results[{at}].source_call_id"),
                    format!("`{id}` is not the id of a tool call of this step"),
                ));
            }
            // Before 1.7 a reference could name a session alone.
            for reference in &mut result.subagent_trajectory_ref {
                if reference.trajectory_id.is_none() && reference.trajectory_path.is_none() {
                    reference.trajectory_id.clone_from(&reference.session_id);
                }
            }
        }
        Ok(())
    }
}

fn check_costs(mut costs: impl Iterator<Item = f64>, path: &str) -> Result<(), TrajectoryError> {
    match costs.find(|cost| *cost < 0.0 || !cost.is_finite()) {
        Some(cost) => Err(TrajectoryError::at(
            path,
            format!("{cost} is not an amount of dollars"),
        )),
        None => Ok(()),
    }
}

fn check_version(document: &Value) -> Result<(), TrajectoryError> {
    // Harbor reads a document without a version as the newest one.
    let Some(version) = document
        .get("schema_version")
        .filter(|value| !value.is_null())
    else {
        return Ok(());
    };
    let minor = version
        .as_str()
        .and_then(|text| text.strip_prefix("ATIF-v1."));
    match minor.and_then(|text| text.parse::<u32>().ok()) {
        Some(minor) if minor <= NEWEST_MINOR => Ok(()),
        _ => Err(TrajectoryError::at(
            "schema_version",
            format!("{version} cannot be read; ATIF-v1.0 to {SCHEMA_VERSION} can"),
        )),
    }
}

/// The fields of one kind of object, and the objects below it.
struct ObjectFields {
    names: &'static [&'static str],
    below: &'static [(&'static str, &'static ObjectFields)],
    /// Whether the object has an `extra`.
    extra: bool,
}

static TRAJECTORY: ObjectFields = ObjectFields {
    names: &[
        "schema_version",
        "session_id",
        "trajectory_id",
        "notes",
        "continued_trajectory_ref",
    ],
    below: &[
        ("agent", &AGENT),
        ("steps", &STEP),
        ("final_metrics", &FINAL_METRICS),
        ("subagent_trajectories", &TRAJECTORY),
    ],
    extra: true,
};
static AGENT: ObjectFields = ObjectFields {
    names: &["name", "version", "model_name", "tool_definitions"],
    below: &[],
    extra: true,
};
static STEP: ObjectFields = ObjectFields {
    names: &[
        "step_id",
        "timestamp",
        "source",
        "model_name",
        "reasoning_effort",
        "message",
        "reasoning_content",
        "is_copied_context",
        "llm_call_count",
    ],
    below: &[
        ("tool_calls", &TOOL_CALL),
        ("observation", &OBSERVATION),
        ("metrics", &METRICS),
    ],
    extra: true,
};
static TOOL_CALL: ObjectFields = ObjectFields {
    names: &["tool_call_id", "function_name", "arguments"],
    below: &[],
    extra: true,
};
static OBSERVATION: ObjectFields = ObjectFields {
    names: &[],
    below: &[("results", &RESULT)],
    extra: false,
};
static RESULT: ObjectFields = ObjectFields {
    names: &["source_call_id", "content"],
    below: &[("subagent_trajectory_ref", &SUBAGENT_REFERENCE)],
    extra: true,
};
static SUBAGENT_REFERENCE: ObjectFields = ObjectFields {
    names: &["trajectory_id", "session_id", "trajectory_path"],
    below: &[],
    extra: true,
};
static METRICS: ObjectFields = ObjectFields {
    names: &[
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "cost_usd",
        "prompt_token_ids",
        "completion_token_ids",
        "logprobs",
    ],
    below: &[],
    extra: true,
};
static FINAL_METRICS: ObjectFields = ObjectFields {
    names: &[
        "total_prompt_tokens",
        "total_completion_tokens",
        "total_cached_tokens",
        "total_cost_usd",
        "total_steps",
    ],
    below: &[],
    extra: true,
};

/// Moves fields that are not of ATIF to `extra`; a field of the same name there has precedence.
fn keep_other_fields(value: &mut Value, fields: &ObjectFields) {
    match value {
        Value::Array(items) => {
            for item in items {
                keep_other_fields(item, fields);
            }
        }
        Value::Object(object) => {
            let is_known = |name: &str| {
                name == "extra" && fields.extra
                    || fields.names.contains(&name)
                    || fields.below.iter().any(|(below, _)| *below == name)
            };
            let others: Vec<_> = object
                .keys()
                .filter(|name| !is_known(name))
                .cloned()
                .collect();
            let moved: Vec<_> = others
                .iter()
                .filter_map(|name| object.remove_entry(name))
                .collect();
            for (name, below) in fields.below {
                if let Some(value) = object.get_mut(*name) {
                    keep_other_fields(value, below);
                }
            }
            if fields.extra && !moved.is_empty() {
                let extra = object.entry("extra").or_insert(Value::Null);
                if extra.is_null() {
                    *extra = Value::Object(Map::new());
                }
                // Anything else in its place is an error that the types report.
                if let Value::Object(extra) = extra {
                    for (name, value) in moved {
                        extra.entry(name).or_insert(value);
                    }
                }
            }
        }
        _ => {}
    }
}
