//! What an agent did: its own report, or else its conversation with the model.

use eval_agents::messages::{ApiExchange, ConversationReader, MessageApi};
use eval_agents::trajectory::Trajectory;
use eval_proxy::{ApiProtocol, SessionReport};

/// Adds the version of the agent, of which `agent` is the name; where it prints no tool calls, but
/// made some, the conversation with its model takes the place.
pub(super) fn complete(
    printed: &mut Trajectory,
    (agent, version): (String, Option<String>),
    report: &SessionReport,
) {
    if printed.tool_calls().is_empty() && !report.exchanges.is_empty() {
        let mut reader = ConversationReader::new(&agent, "unknown");
        for (exchange, request) in report.whole_requests() {
            reader.add(&ApiExchange {
                api: match exchange.protocol {
                    ApiProtocol::AnthropicMessages => MessageApi::AnthropicMessages,
                    ApiProtocol::OpenaiChat => MessageApi::OpenaiChat,
                    ApiProtocol::OpenaiResponses => MessageApi::OpenaiResponses,
                    ApiProtocol::Gemini => MessageApi::Gemini,
                },
                at: Some(exchange.at),
                conversation: exchange.conversation,
                model: exchange.model.as_deref(),
                request: &request,
                answer: &exchange.answer,
                cost_usd: exchange.cost_usd,
            });
        }
        let made = reader.finish();
        if let Some(made) = made.filter(|made| !made.tool_calls().is_empty()) {
            *printed = made;
        }
    }
    if let Some(version) = version {
        printed.agent.version = version;
    }
}
