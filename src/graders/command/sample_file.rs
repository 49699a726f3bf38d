//! The sample as one JSON object, which programs read from a file.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::CommandGrader;
use crate::graders::GradedSample;
use crate::input::{RenderedInput, request_shown};
use crate::model::{CaseInput, Difficulty, OutputValue, TrajectoryRecord, WorkspaceOutput};
use eval_agents::trajectory::Trajectory;
use eval_models::Usage;

/// What [`of`] writes. Nothing in it depends on whether the output was graded when it was made or
/// afterwards.
#[derive(Serialize)]
struct SampleFile<'a> {
    case: &'a str,
    metadata: CaseMetadata<'a>,
    /// As `{{ input_file }}` has it, without what authorises a request.
    input: Value,
    /// After extraction.
    output: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a Value>,
    /// As it is recorded, with the whole diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<WorkspaceOutput>,
    /// In ATIF.
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory: Option<&'a Trajectory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
}

#[derive(Serialize)]
struct CaseMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difficulty: Option<Difficulty>,
    tags: &'a [String],
}

/// The file's content; else, in words, why there is none.
pub(super) async fn of(
    grader: &CommandGrader,
    sample: &GradedSample<'_>,
) -> Result<Vec<u8>, String> {
    let case = sample.case;
    let workspace = sample.output.workspace.as_deref().map(|left| {
        let mut left = left.clone();
        // Known only after the graders.
        (left.kept, left.record, left.hidden) = (None, None, None);
        if let (true, Some(finished)) = (left.diff.truncated, sample.workspace) {
            left.diff = finished.diff().clone();
        }
        left
    });
    let file = SampleFile {
        case: &case.id,
        metadata: CaseMetadata {
            name: case.name.as_deref(),
            difficulty: case.difficulty,
            tags: &case.tags,
        },
        input: input(&case.input).await?,
        output: match sample.value {
            OutputValue::Text(text) | OutputValue::Program(text) => {
                Cow::Owned(Value::from(text.as_str()))
            }
            OutputValue::Json(value) => Cow::Borrowed(value),
        },
        // Code of a workspace could read the file.
        expected: grader
            .expected
            .as_ref()
            .filter(|_| grader.workspace.is_none()),
        workspace,
        trajectory: sample
            .output
            .trajectory
            .as_deref()
            .and_then(TrajectoryRecord::content),
        usage: sample.output.usage,
        // As it is recorded: to the microsecond.
        latency_ms: sample.latency.map(|time| time.as_micros() as f64 / 1e3),
    };
    serde_json::to_vec(&file).map_err(|error| format!("the sample is not JSON: {error}"))
}

async fn input(input: &CaseInput) -> Result<Value, String> {
    if let CaseInput::ApiCall {
        method,
        endpoint,
        headers,
        body,
    } = input
    {
        let mut shown = request_shown(method, endpoint, headers, body);
        if let Some(request) = shown.as_object_mut() {
            request.insert("type".to_owned(), Value::from("api_call"));
        }
        return Ok(shown);
    }
    let rendered = RenderedInput::of(input).await;
    Ok(rendered.map_err(|error| error.to_string())?.whole)
}
