//! Calls of model APIs as trajectories: what an agent did by the requests that it made, and the tool
//! calls of one answer.
//!
//! Every request repeats the conversation. Of the first all is read, of later ones what follows the
//! model's last turn: the results of its calls, and prompts. Answers give the turns of the model,
//! with their tokens. The conversation with most calls is the trajectory; others (subagents, titles,
//! summaries) are embedded as `conversation-N`.

mod anthropic;
mod chat;
mod gemini;
mod responses;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::build::{STEP_CALLS, StepBuilder, ToolResult, text_at, usage_metrics};
use crate::trajectory::{MessageContent, StepMetrics, StepSource, Trajectory, TrajectoryAgent};

/// Conversations that are kept; what more there are is counted.
const CONVERSATIONS: usize = 256;

/// In `extra` of a step: its request is the same as the one before, whose answer the agent may not
/// have used.
pub const REPEATED: &str = "repeated_request";

/// The API that a request is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageApi {
    OpenaiChat,
    OpenaiResponses,
    AnthropicMessages,
    Gemini,
}

/// A request and its complete answer.
#[derive(Debug, Clone, Copy)]
pub struct ApiExchange<'a> {
    pub api: MessageApi,
    /// Of the request.
    pub at: Option<jiff::Timestamp>,
    /// Exchanges with the same number are of one conversation.
    pub conversation: usize,
    pub model: Option<&'a str>,
    /// The whole body.
    pub request: &'a Value,
    /// The whole body, not a stream.
    pub answer: &'a Value,
    /// US dollars, where the price is known.
    pub cost_usd: Option<f64>,
}

/// Makes a trajectory from exchanges, one after the other.
///
/// ```
/// use eval_agents::messages::{ApiExchange, ConversationReader, MessageApi};
/// use serde_json::json;
///
/// let mut reader = ConversationReader::new("my-agent", "1.0");
/// reader.add(&ApiExchange {
///     api: MessageApi::OpenaiChat,
///     at: None,
///     conversation: 0,
///     model: Some("gpt-5"),
///     request: &json!({"messages": [{"role": "user", "content": "List the files."}]}),
///     answer: &json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
///         {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\".\"}"}}]}}]}),
///     cost_usd: None,
/// });
/// let trajectory = reader.finish().unwrap();
/// assert_eq!(trajectory.tool_calls()[0].call.arguments["path"], ".");
/// ```
#[derive(Debug)]
pub struct ConversationReader {
    agent: TrajectoryAgent,
    conversations: BTreeMap<usize, Conversation>,
    left_out: u64,
    /// Answers that have no message.
    unread: u64,
    /// Answers with several messages, of which the first is read.
    with_choices: u64,
    /// Answers with more than [`STEP_CALLS`] tool calls.
    with_many_calls: u64,
    spent: usize,
}

#[derive(Debug, Default)]
struct Conversation {
    steps: StepBuilder,
    /// Of the last request.
    turns: Vec<MessageTurn>,
    calls: usize,
    model: Option<String>,
}

/// One message, or a part of one that is a step or a result.
#[derive(Debug, Clone, PartialEq)]
enum MessageTurn {
    System(MessageContent),
    User(MessageContent),
    Agent(AgentTurn),
    Result(ResultTurn),
}

/// What the model said, thought and called.
#[derive(Debug, Clone, Default, PartialEq)]
struct AgentTurn {
    texts: Vec<String>,
    thoughts: Vec<String>,
    calls: Vec<CallTurn>,
    /// Of tools that the API itself runs.
    results: Vec<ResultTurn>,
}

#[derive(Debug, Clone, PartialEq)]
struct CallTurn {
    id: Option<String>,
    name: String,
    arguments: Value,
}

#[derive(Debug, Clone, PartialEq)]
struct ResultTurn {
    id: Option<String>,
    /// Where results have no ids.
    name: Option<String>,
    content: MessageContent,
    is_error: Option<bool>,
}

impl ConversationReader {
    pub fn new(agent: &str, version: &str) -> Self {
        Self {
            agent: TrajectoryAgent {
                name: agent.to_owned(),
                version: version.to_owned(),
                ..TrajectoryAgent::default()
            },
            conversations: BTreeMap::new(),
            left_out: 0,
            unread: 0,
            with_choices: 0,
            with_many_calls: 0,
            spent: 0,
        }
    }

    pub fn add(&mut self, exchange: &ApiExchange<'_>) {
        let known = self.conversations.len();
        let is_new = !self.conversations.contains_key(&exchange.conversation);
        let mut answer = answer_turn(exchange.api, exchange.answer);
        if let Some(turn) = answer.as_mut().filter(|turn| turn.calls.len() > STEP_CALLS) {
            turn.calls.truncate(STEP_CALLS);
            self.with_many_calls += 1;
        }
        let turns = request_turns(exchange.api, exchange.request);
        if is_new && known >= CONVERSATIONS || self.spent > crate::streams::TRAJECTORY_BYTES {
            self.left_out += 1;
            return;
        }
        let conversation = self.conversations.entry(exchange.conversation).or_default();
        let is_agent = |turn: &MessageTurn| matches!(turn, MessageTurn::Agent(_));
        let is_repeated = !is_new && turns == conversation.turns;
        let old = if is_new {
            0
        } else {
            let pairs = turns.iter().zip(&conversation.turns);
            let same = pairs.take_while(|(now, before)| now == before).count();
            turns
                .iter()
                .rposition(is_agent)
                .map_or(0, |at| at + 1)
                .max(same)
        };
        let time = exchange.at.map(|at| at.to_string());
        // Turns of the model in the first of several requests are examples, or of a conversation
        // that is known: it did not do them now.
        let is_given = |turn: &MessageTurn| match turn {
            MessageTurn::Agent(_) | MessageTurn::Result(_) => is_new,
            MessageTurn::System(_) | MessageTurn::User(_) => false,
        };
        for turn in turns.iter().skip(old).filter(|turn| !is_given(turn)) {
            self.spent = self.spent.saturating_add(turn.size());
            conversation.add_turn(turn, time.as_deref());
        }
        conversation.turns = turns;
        let Some(answer) = answer else {
            self.unread += 1;
            return;
        };
        let reported = ["model", "modelVersion"]
            .iter()
            .find_map(|name| text_at(exchange.answer, name));
        let model = exchange.model.or(reported).map(str::to_owned);
        conversation.model.clone_from(&model);
        conversation.calls += 1;
        let choices = match exchange.api {
            MessageApi::OpenaiChat => chat::choices(exchange.answer),
            MessageApi::Gemini => gemini::choices(exchange.answer),
            MessageApi::OpenaiResponses | MessageApi::AnthropicMessages => 1,
        };
        // Which of them the agent used is not known.
        self.with_choices += u64::from(choices > 1);
        let turn = MessageTurn::Agent(answer);
        self.spent = self.spent.saturating_add(turn.size());
        conversation.add_turn(&turn, time.as_deref());
        let Some(step) = conversation.steps.last() else {
            return;
        };
        step.model_name = model;
        step.llm_call_count = Some(u64::try_from(choices.max(1)).unwrap_or(u64::MAX));
        if is_repeated {
            step.add_extra(REPEATED, json!(true));
        }
        step.metrics = metrics_of(exchange.answer);
        if exchange.cost_usd.is_some() {
            step.metrics.get_or_insert_default().cost_usd = exchange.cost_usd;
        }
    }

    /// `None` without a step.
    pub fn finish(self) -> Option<Trajectory> {
        // Of two with as many calls, the first.
        let main = self
            .conversations
            .iter()
            .rev()
            .max_by_key(|(_, one)| one.calls)
            .map(|(n, _)| *n)?;
        let mut trajectory = Trajectory::new(self.agent);
        for (number, conversation) in self.conversations {
            if conversation.steps.steps.is_empty() {
                continue;
            }
            if number == main {
                trajectory.agent.model_name = conversation.model;
                trajectory.steps = conversation.steps.steps;
                continue;
            }
            let mut other = Trajectory::new(TrajectoryAgent {
                model_name: conversation.model,
                tool_definitions: Vec::new(),
                ..trajectory.agent.clone()
            });
            other.trajectory_id = Some(format!("conversation-{number}"));
            other.steps = conversation.steps.steps;
            trajectory.subagent_trajectories.push(other);
        }
        let reasons = [
            (self.left_out, "are left out for their size"),
            (self.unread, "have an answer without a message"),
            (self.with_choices, "have an answer with several choices"),
            (
                self.with_many_calls,
                "have an answer with too many tool calls",
            ),
        ];
        let reasons = reasons.iter().filter(|(count, _)| *count > 0);
        let reasons: Vec<_> = reasons
            .map(|(count, why)| format!("{count} calls of the model {why}"))
            .collect();
        if !reasons.is_empty() {
            let extra = trajectory.extra.get_or_insert_default();
            extra.insert("incomplete".to_owned(), json!(reasons));
        }
        (!trajectory.steps.is_empty()).then_some(trajectory)
    }
}

impl Conversation {
    fn add_turn(&mut self, turn: &MessageTurn, time: Option<&str>) {
        let time = time.map(str::to_owned);
        match turn {
            MessageTurn::System(content) => {
                self.steps.begin(StepSource::System, time).message = content.clone();
            }
            MessageTurn::User(content) => {
                self.steps.begin(StepSource::User, time).message = content.clone();
            }
            MessageTurn::Result(result) => self.add_result(result, time),
            MessageTurn::Agent(turn) => {
                let step = self.steps.begin(StepSource::Agent, time.clone());
                step.message = turn.texts.join("\n\n").into();
                for thought in &turn.thoughts {
                    step.think(thought);
                }
                for call in &turn.calls {
                    step.call(call.id.as_deref(), &call.name, &call.arguments);
                }
                for result in &turn.results {
                    self.add_result(result, time.clone());
                }
            }
        }
    }

    fn add_result(&mut self, result: &ResultTurn, time: Option<String>) {
        let found = result
            .name
            .as_deref()
            .and_then(|name| self.unanswered(name));
        let id = result.id.clone().or(found);
        let result = ToolResult {
            content: result.content.clone(),
            is_error: result.is_error,
            exit_code: None,
        };
        self.steps.result(id.as_deref(), result, time);
    }

    /// The first call of a tool in the model's last turn that has no result.
    fn unanswered(&self, name: &str) -> Option<String> {
        let mut agents = self.steps.steps.iter().rev();
        let step = agents.find(|step| step.source == StepSource::Agent)?;
        let mut calls = step
            .tool_calls
            .iter()
            .filter(|call| call.function_name == name);
        let free = calls.find(|call| step.results_of(&call.tool_call_id).next().is_none());
        free.map(|call| call.tool_call_id.clone())
    }
}

impl MessageTurn {
    /// About how many bytes it takes.
    fn size(&self) -> usize {
        let call = |call: &CallTurn| call.name.len() + call.arguments.to_string().len();
        let result = |result: &ResultTurn| result.content.text().len();
        let content = match self {
            Self::System(content) | Self::User(content) => content.text().len(),
            Self::Result(one) => result(one),
            Self::Agent(turn) => {
                let texts = turn.texts.iter().chain(&turn.thoughts).map(String::len);
                texts
                    .chain(turn.calls.iter().map(call))
                    .chain(turn.results.iter().map(result))
                    .sum()
            }
        };
        content.saturating_add(512)
    }
}

fn request_turns(api: MessageApi, request: &Value) -> Vec<MessageTurn> {
    match api {
        MessageApi::OpenaiChat => chat::request_turns(request),
        MessageApi::OpenaiResponses => responses::request_turns(request),
        MessageApi::AnthropicMessages => anthropic::request_turns(request),
        MessageApi::Gemini => gemini::request_turns(request),
    }
}

fn answer_turn(api: MessageApi, answer: &Value) -> Option<AgentTurn> {
    match api {
        MessageApi::OpenaiChat => chat::answer_turn(answer),
        MessageApi::OpenaiResponses => responses::answer_turn(answer),
        MessageApi::AnthropicMessages => anthropic::answer_turn(answer),
        MessageApi::Gemini => gemini::answer_turn(answer),
    }
}

fn metrics_of(answer: &Value) -> Option<StepMetrics> {
    usage_metrics(
        answer
            .get("usage")
            .or_else(|| answer.get("usageMetadata"))?,
    )
}
