//! Steps as they come in: ids, order, results that find their calls, and bounds of texts.

use serde_json::{Map, Value, json};

use crate::trajectory::{
    ContentPart, ExtraFields, MediaSource, MessageContent, ObservationResult, StepMetrics,
    StepSource, ToolCall, TrajectoryStep,
};
use eval_base::json::is_deeper;
use eval_base::text::truncate_bytes;

/// Bytes of one result's text that are kept; the rest is counted in `extra.omitted_bytes`.
pub(crate) const RESULT_BYTES: usize = 256 << 10;

/// Levels of arguments and metadata, so that the document can be read back: parsers stop at 128.
const LEVELS: usize = 64;

/// Calls of one step; the next is of a new step.
pub(crate) const STEP_CALLS: usize = 512;

/// Steps among which the call of a result is looked for: a hostile stream has results without any.
const RECENT_STEPS: usize = 512;

/// The same for their calls.
const RECENT_CALLS: usize = 4096;

/// Steps of one trajectory under construction.
#[derive(Debug, Default)]
pub(crate) struct StepBuilder {
    pub steps: Vec<TrajectoryStep>,
}

/// What came back from a tool.
#[derive(Debug, Default)]
pub(crate) struct ToolResult {
    pub content: MessageContent,
    pub is_error: Option<bool>,
    pub exit_code: Option<i64>,
}

impl StepBuilder {
    pub fn begin(&mut self, source: StepSource, timestamp: Option<String>) -> &mut TrajectoryStep {
        let id = u64::try_from(self.steps.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let mut step = TrajectoryStep::new(id, source);
        step.timestamp = timestamp;
        self.steps.push_mut(step)
    }

    pub fn last(&mut self) -> Option<&mut TrajectoryStep> {
        self.steps.last_mut()
    }

    /// The last step if it is the agent's and `accepts` it, else a new one.
    pub fn agent_step(
        &mut self,
        timestamp: Option<String>,
        accepts: impl FnOnce(&TrajectoryStep) -> bool,
    ) -> &mut TrajectoryStep {
        match self.steps.pop() {
            Some(step)
                if step.source == StepSource::Agent
                    && step.tool_calls.len() < STEP_CALLS
                    && accepts(&step) =>
            {
                self.steps.push_mut(step)
            }
            last => {
                self.steps.extend(last);
                self.begin(StepSource::Agent, timestamp)
            }
        }
    }

    /// The last step that made the call `id`, if it is not long ago.
    pub fn step_with_call(&mut self, id: &str) -> Option<&mut TrajectoryStep> {
        self.steps
            .iter_mut()
            .rev()
            .take(RECENT_STEPS)
            .scan(RECENT_CALLS, |room, step| {
                let has_room = *room > 0;
                *room = room.saturating_sub(step.tool_calls.len());
                has_room.then_some(step)
            })
            .find(|step| step.has_call(id))
    }

    /// Adds a result to the last step that called `id`; without such a call it is a system step's.
    pub fn result(&mut self, id: Option<&str>, result: ToolResult, timestamp: Option<String>) {
        let mut kept = result.observation();
        if let Some(id) = id
            && let Some(step) = self.step_with_call(id)
        {
            kept.source_call_id = Some(id.to_owned());
            step.observation.get_or_insert_default().results.push(kept);
            return;
        }
        if let Some(id) = id {
            let extra = kept.extra.get_or_insert_default();
            extra.insert("unknown_call_id".to_owned(), json!(id));
        }
        let step = self.begin(StepSource::System, timestamp);
        step.observation.get_or_insert_default().results.push(kept);
    }
}

impl ToolResult {
    fn observation(self) -> ObservationResult {
        let mut extra = ExtraFields::new();
        if let Some(is_error) = self.is_error {
            extra.insert("is_error".to_owned(), json!(is_error));
        }
        if let Some(code) = self.exit_code {
            extra.insert("exit_code".to_owned(), json!(code));
        }
        let (content, omitted) = bounded(self.content);
        if omitted > 0 {
            extra.insert("omitted_bytes".to_owned(), json!(omitted));
        }
        ObservationResult {
            content: (!content.is_empty()).then_some(content),
            extra: (!extra.is_empty()).then_some(extra),
            ..ObservationResult::default()
        }
    }
}

/// Texts up to [`RESULT_BYTES`] together, and the bytes that were left out.
fn bounded(content: MessageContent) -> (MessageContent, usize) {
    let mut left = RESULT_BYTES;
    let mut omitted = 0;
    let mut cut = |text: &mut String| {
        let kept = truncate_bytes(text, left).len();
        omitted += text.len() - kept;
        left -= kept;
        text.truncate(kept);
    };
    let content = match content {
        MessageContent::Text(mut text) => {
            cut(&mut text);
            MessageContent::Text(text)
        }
        MessageContent::Parts(mut parts) => {
            for part in &mut parts {
                if let ContentPart::Text { text } = part {
                    cut(text);
                }
            }
            MessageContent::Parts(parts)
        }
    };
    (content, omitted)
}

impl TrajectoryStep {
    /// Appends to the message, after `between` if there is one already.
    pub(crate) fn say(&mut self, between: &str, text: &str) {
        match &mut self.message {
            MessageContent::Text(before) => append(before, between, text),
            MessageContent::Parts(parts) => {
                parts.push(ContentPart::Text {
                    text: text.to_owned(),
                });
            }
        }
    }

    pub(crate) fn think(&mut self, text: &str) {
        append(self.reasoning_content.get_or_insert_default(), "\n\n", text);
    }

    /// Adds a call. Arguments are an object, or JSON text of one; anything else is kept as it is in
    /// `extra.raw_arguments`. An id that the step has already gets a number.
    pub(crate) fn call(&mut self, id: Option<&str>, name: &str, arguments: &Value) {
        let (arguments, raw) = arguments_of(arguments);
        let wanted = match id {
            Some(id) if !id.is_empty() => id.to_owned(),
            _ => format!("call_{}", self.tool_calls.len() + 1),
        };
        let taken = |id: &str| self.tool_calls.iter().any(|call| call.tool_call_id == id);
        let tool_call_id = if taken(&wanted) {
            let free = (2..).map(|n| format!("{wanted}#{n}")).find(|id| !taken(id));
            free.unwrap_or_default()
        } else {
            wanted
        };
        self.tool_calls.push(ToolCall {
            tool_call_id,
            function_name: name.to_owned(),
            arguments,
            extra: raw.map(|raw| ExtraFields::from_iter([("raw_arguments".to_owned(), raw)])),
        });
    }

    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.call_with(id).is_some()
    }

    pub(crate) fn call_with(&self, id: &str) -> Option<&ToolCall> {
        self.tool_calls.iter().find(|call| call.tool_call_id == id)
    }

    pub(crate) fn has_results(&self) -> bool {
        self.results().next().is_some()
    }

    pub(crate) fn add_extra(&mut self, name: &str, value: Value) {
        if !is_deeper(&value, LEVELS) {
            self.extra
                .get_or_insert_default()
                .insert(name.to_owned(), value);
        }
    }
}

fn append(before: &mut String, between: &str, text: &str) {
    if !before.is_empty() {
        before.push_str(between);
    }
    before.push_str(text);
}

fn arguments_of(given: &Value) -> (Map<String, Value>, Option<Value>) {
    let parsed = match given {
        Value::String(text) if text.trim().is_empty() => return (Map::new(), None),
        Value::Null => return (Map::new(), None),
        Value::String(text) if !eval_base::json::is_heavier(text.as_bytes(), 16 << 20) => {
            serde_json::from_str(text).ok()
        }
        Value::String(_) => None,
        other => Some(other.clone()),
    };
    match parsed {
        Some(Value::Object(object)) if !object.values().any(|value| is_deeper(value, LEVELS)) => {
            (object, None)
        }
        _ => {
            let raw = match given {
                Value::String(_) => given.clone(),
                other if is_deeper(other, LEVELS) => Value::String(other.to_string()),
                other => other.clone(),
            };
            (Map::new(), Some(raw))
        }
    }
}

/// Whether a block of Anthropic's API is the result of a tool that failed: `is_error` is left out
/// where it is false, and tools of the server report an error as their content.
pub(crate) fn is_block_error(block: &Value) -> bool {
    let in_content = || {
        block
            .pointer("/content/type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.ends_with("_error"))
    };
    block
        .get("is_error")
        .and_then(Value::as_bool)
        .unwrap_or_else(in_content)
}

/// Content in the shapes that APIs and agents have: a text, or blocks with texts and images. Bytes
/// of media are left out.
pub(crate) fn content_of(content: &Value) -> MessageContent {
    match content {
        Value::Null => MessageContent::default(),
        Value::String(text) => MessageContent::Text(text.clone()),
        Value::Array(blocks) => {
            let parts: Vec<_> = blocks.iter().map(part_of).collect();
            let is_text = |part: &ContentPart| matches!(part, ContentPart::Text { .. });
            if !parts.is_empty() && parts.iter().all(is_text) {
                MessageContent::Text(MessageContent::Parts(parts).text().into_owned())
            } else {
                MessageContent::Parts(parts)
            }
        }
        other => MessageContent::Text(other.to_string()),
    }
}

fn part_of(block: &Value) -> ContentPart {
    let text = |text: &str| ContentPart::Text {
        text: text.to_owned(),
    };
    if let Some(given) = block
        .as_str()
        .or_else(|| block.get("text").and_then(Value::as_str))
    {
        return text(given);
    }
    if let Some(given) = block.get("refusal").and_then(Value::as_str) {
        return text(given);
    }
    let source = block.get("source").unwrap_or(block);
    let address = [
        "/url",
        "/image_url/url",
        "/image_url",
        "/fileData/fileUri",
        "/path",
    ]
    .iter()
    .find_map(|path| source.pointer(path)?.as_str());
    let media_type = ["media_type", "mimeType", "mime_type"]
        .iter()
        .find_map(|name| source.get(*name)?.as_str())
        .or_else(|| source.pointer("/inlineData/mimeType")?.as_str())
        .or_else(|| address?.strip_prefix("data:")?.split([';', ',']).next());
    match (media_type, address) {
        (Some(media_type), Some(address))
            if media_type.starts_with("image/") && !address.starts_with("data:") =>
        {
            ContentPart::Image {
                source: MediaSource {
                    media_type: media_type.to_owned(),
                    path: address.to_owned(),
                    duration_sec: None,
                },
            }
        }
        (Some(media_type), _) => text(&format!("[{media_type}, not kept]")),
        (None, Some(address)) if !address.starts_with("data:") => {
            text(&format!("[image: {address}]"))
        }
        _ => text(&block.to_string()),
    }
}

/// A time as ATIF has it, if it is one.
pub(crate) fn time_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => text
            .parse::<jiff::Timestamp>()
            .ok()
            .map(|time| time.to_string()),
        number => {
            let number = number.as_f64()?;
            // Milliseconds, unless these would be of 1970.
            let millis = if number > 1e11 {
                number
            } else {
                number * 1000.0
            };
            #[expect(
                clippy::cast_possible_truncation,
                reason = "saturates; no time is beyond"
            )]
            let time = jiff::Timestamp::from_millisecond(millis as i64);
            time.ok().map(|time| time.to_string())
        }
    }
}

pub(crate) fn text_at<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

pub(crate) fn number_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer)?.as_u64()
}

/// An amount of dollars; `None` for a negative one.
pub(crate) fn dollars_at(value: &Value, pointer: &str) -> Option<f64> {
    value
        .pointer(pointer)?
        .as_f64()
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
}

/// Tokens of the four APIs, whichever names are there. Anthropic counts cached input beside the
/// rest, the others within it; Gemini counts reasoning beside the output, the others within it.
pub(crate) fn usage_metrics(usage: &Value) -> Option<StepMetrics> {
    let at = |pointer: &str| number_at(usage, pointer);
    let sum =
        |parts: [Option<u64>; 3]| parts.into_iter().flatten().try_fold(0u64, u64::checked_add);
    let mut metrics = StepMetrics::default();
    let mut written = None;
    if let Some(input) = at("/promptTokenCount") {
        metrics.prompt_tokens = sum([Some(input), at("/toolUsePromptTokenCount"), None]);
        metrics.cached_tokens = at("/cachedContentTokenCount");
        metrics.completion_tokens =
            sum([at("/candidatesTokenCount"), at("/thoughtsTokenCount"), None]);
    } else if let Some(input) = at("/prompt_tokens") {
        metrics.prompt_tokens = Some(input);
        metrics.cached_tokens = at("/prompt_tokens_details/cached_tokens");
        metrics.completion_tokens = at("/completion_tokens");
    } else if let Some(input) = at("/input_tokens") {
        let (read, write) = (
            at("/cache_read_input_tokens"),
            at("/cache_creation_input_tokens"),
        );
        metrics.completion_tokens = at("/output_tokens");
        if read.is_some() || write.is_some() {
            metrics.prompt_tokens = sum([Some(input), read, write]);
            metrics.cached_tokens = read;
            written = write;
        } else {
            metrics.prompt_tokens = Some(input);
            metrics.cached_tokens =
                at("/input_tokens_details/cached_tokens").or_else(|| at("/cached_input_tokens"));
            written = at("/cache_write_input_tokens");
        }
    }
    if let Some(written) = written.filter(|tokens| *tokens > 0) {
        let extra = metrics.extra.get_or_insert_default();
        extra.insert("cache_write_tokens".to_owned(), json!(written));
    }
    (metrics != StepMetrics::default()).then_some(metrics)
}
