//! What graders of tool calls look at: a sample's output together with its trajectory, as one JSON
//! value, so that the work on it is done wherever work on outputs is done and can be ended.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::GradedSample;
use crate::model::{OutputValue, TrajectoryRecord};
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
        let trajectory = record.and_then(TrajectoryRecord::content);
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
