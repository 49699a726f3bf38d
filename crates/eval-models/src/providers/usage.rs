//! Tokens as APIs report them, also of those that only agents call.

use serde_json::Value;

use super::{anthropic, count, count_or_none, openai, tokens};
use crate::TokenCounts;

/// The form of a usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageForm {
    /// `usage` of Anthropic Messages.
    AnthropicMessages,
    /// `usage` of OpenAI Chat Completions.
    OpenaiChat,
    /// `usage` of OpenAI Responses.
    OpenaiResponses,
    /// `usageMetadata` of Gemini.
    Gemini,
}

impl UsageForm {
    /// The counts of a report; `None` when one is missing, or when they cannot be true together.
    pub fn counts(self, report: &Value) -> Option<TokenCounts> {
        match self {
            UsageForm::AnthropicMessages => anthropic::usage(report),
            UsageForm::OpenaiChat => openai::usage(report),
            UsageForm::OpenaiResponses => {
                let details = report.get("input_tokens_details");
                let cached =
                    count_or_none(details.and_then(|details| details.get("cached_tokens")))?;
                let input = count(report.get("input_tokens"))?;
                tokens(input, count(report.get("output_tokens"))?, cached, 0)
            }
            // Prompt tokens include cached ones; results of the API's own tools and thoughts are apart.
            UsageForm::Gemini => {
                let part = |name| count_or_none(report.get(name));
                let input = count(report.get("promptTokenCount"))?
                    .checked_add(part("toolUsePromptTokenCount")?)?;
                let output =
                    part("candidatesTokenCount")?.checked_add(part("thoughtsTokenCount")?)?;
                tokens(input, output, part("cachedContentTokenCount")?, 0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_of_every_form_are_counted_with_their_caches() {
        let of = |form: UsageForm, report: Value| {
            form.counts(&report).map(|counts| {
                [
                    counts.input,
                    counts.output,
                    counts.cached_input,
                    counts.cache_write,
                ]
            })
        };
        let anthropic = json!({"input_tokens": 3, "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20, "output_tokens": 7});
        assert_eq!(
            of(UsageForm::AnthropicMessages, anthropic),
            Some([123, 7, 100, 20])
        );
        let chat = json!({"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55,
            "prompt_tokens_details": {"cached_tokens": 40}});
        assert_eq!(of(UsageForm::OpenaiChat, chat), Some([50, 5, 40, 0]));
        let responses = json!({"input_tokens": 50, "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 40},
            "output_tokens_details": {"reasoning_tokens": 4}});
        assert_eq!(
            of(UsageForm::OpenaiResponses, responses),
            Some([50, 5, 40, 0])
        );
        let gemini = json!({"promptTokenCount": 50, "cachedContentTokenCount": 40,
            "candidatesTokenCount": 5, "thoughtsTokenCount": 6, "toolUsePromptTokenCount": 2,
            "totalTokenCount": 63});
        assert_eq!(of(UsageForm::Gemini, gemini), Some([52, 11, 40, 0]));
        assert_eq!(of(UsageForm::Gemini, json!({"totalTokenCount": 3})), None);
        assert_eq!(
            of(UsageForm::OpenaiResponses, json!({"input_tokens": 3})),
            None
        );
    }
}
