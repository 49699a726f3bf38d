//! What graders of tool calls look at: a sample's output together with its trajectory, as one JSON
//! value, so that the work on it is done wherever work on outputs is done and can be ended.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::GradedSample;
use crate::model::{OutputValue, TrajectoryRecord, USAGE_IS_LOWER_BOUND, Usage};
use eval_agents::trajectory::Trajectory;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SampleView {
    /// After extraction.
    pub output: OutputValue,
    pub trajectory: Option<Trajectory>,
    /// Wall time of the target's call, where it is known.
    pub seconds: Option<f64>,
}

impl SampleView {
    pub fn encode(sample: &GradedSample<'_>) -> OutputValue {
        let record = sample.output.trajectory.as_deref();
        let mut trajectory = record.and_then(TrajectoryRecord::content).cloned();
        if let (Some(trajectory), Some(usage)) = (&mut trajectory, &sample.output.usage) {
            raise(trajectory, usage);
        }
        OutputValue::Json(json!({
            "output": sample.value,
            "trajectory": trajectory,
            "seconds": sample.latency.map(|time| time.as_secs_f64()),
        }))
    }

    /// # Errors
    /// Why the value is not a view, in words.
    pub fn decode(value: &OutputValue) -> Result<SampleView, String> {
        let OutputValue::Json(view) = value else {
            return Err("the sample can't be read".to_owned());
        };
        SampleView::deserialize(view).map_err(|error| format!("the sample can't be read: {error}"))
    }
}

/// Gives a trajectory the sums that were counted, where its own are smaller or unknown: an agent may
/// report less than its model used.
fn raise(trajectory: &mut Trajectory, usage: &Usage) {
    let own = trajectory.totals();
    let is_lower_bound = trajectory
        .extra
        .as_ref()
        .is_some_and(|extra| extra.contains_key(USAGE_IS_LOWER_BOUND));
    let tokens = own.prompt_tokens.zip(own.completion_tokens);
    // 0 is what stands for no report.
    let counted = usage.tokens();
    let is_more = match tokens {
        Some((input, output)) => counted > input.saturating_add(output),
        None => counted > 0 && !is_lower_bound,
    };
    if is_more {
        let sums = trajectory.final_metrics.get_or_insert_default();
        sums.total_prompt_tokens = Some(usage.input_tokens);
        sums.total_completion_tokens = Some(usage.output_tokens);
    }
    let is_dearer = |cost: f64| match own.cost_usd {
        Some(own) => cost > own,
        None => !is_lower_bound,
    };
    if let Some(cost) = usage.cost_usd.filter(|cost| is_dearer(*cost)) {
        let sums = trajectory.final_metrics.get_or_insert_default();
        sums.total_cost_usd = Some(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens and dollars after an agent that reports `own` used what was counted.
    fn sums(
        own: Option<(u64, f64)>,
        counted: (u64, Option<f64>),
        bound: bool,
    ) -> (Option<u64>, Option<f64>) {
        let (tokens, cost) = own.unzip();
        let mut trajectory = Trajectory::from_value(json!({
            "agent": {"name": "a", "version": "1"},
            "steps": [{"step_id": 1, "source": "agent", "message": ""}],
            "final_metrics": {"total_prompt_tokens": tokens, "total_completion_tokens": tokens.map(|_| 0), "total_cost_usd": cost},
        }))
        .unwrap();
        if bound {
            let extra = trajectory.extra.get_or_insert_default();
            extra.insert(USAGE_IS_LOWER_BOUND.to_owned(), json!(true));
        }
        let usage = Usage {
            input_tokens: counted.0,
            output_tokens: 0,
            cost_usd: counted.1,
        };
        raise(&mut trajectory, &usage);
        let sums = trajectory.totals();
        let tokens = sums.prompt_tokens.zip(sums.completion_tokens);
        (tokens.map(|(input, output)| input + output), sums.cost_usd)
    }

    #[test]
    fn greater_of_what_was_counted_and_reported_counts() {
        let own = Some((10, 0.5));
        assert_eq!(sums(own, (90, Some(2.0)), false), (Some(90), Some(2.0)));
        assert_eq!(sums(own, (9, Some(0.1)), false), (Some(10), Some(0.5)));
        assert_eq!(sums(None, (90, Some(2.0)), false), (Some(90), Some(2.0)));
        assert_eq!(sums(None, (0, None), false), (None, None));
        // A lower bound says nothing of what is unknown.
        assert_eq!(sums(None, (90, Some(2.0)), true), (None, None));
        assert_eq!(sums(own, (90, Some(2.0)), true), (Some(90), Some(2.0)));
    }
}
