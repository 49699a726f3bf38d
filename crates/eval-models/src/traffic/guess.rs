//! How many tokens a call may take, guessed before it is made, and better the more answers there
//! were.

use crate::{ModelRequest, TokenCounts};

/// Bytes of text that a token has at least, where nothing better is known. English has four, code
/// and figures three; of other scripts a letter has two or three bytes and is about a token.
const BYTES: u64 = 3;

/// Tokens around a message, and around all of them.
const AROUND: u64 = 8;

/// What an answer may take when nobody says and none was seen.
const UNKNOWN_OUTPUT: u64 = 1024;

/// Answers after which what was seen is gone by.
const ENOUGH: u32 = 16;

/// What is added to the most that was seen.
const MARGIN: f64 = 1.25;

/// What is guessed of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TokenEstimate {
    /// More is not likely: what is reserved.
    pub most: u64,
    /// Of it the question's part.
    pub input: u64,
    /// What is likely.
    pub expected: f64,
}

/// What a lane has seen of tokens.
#[derive(Debug)]
pub(super) struct TokenHistory {
    answers: u32,
    /// The highest tokens of a question for one that was guessed.
    input_ratio: f64,
    output: u64,
    /// Tokens that answers took of those that were reserved, of late.
    share: f64,
}

impl Default for TokenHistory {
    fn default() -> Self {
        TokenHistory {
            answers: 0,
            input_ratio: 0.0,
            output: 0,
            share: 1.0,
        }
    }
}

/// Tokens of the question by its length alone.
pub(super) fn of_text(call: &ModelRequest) -> u64 {
    let texts = call.messages.iter().map(|message| match &message.content {
        serde_json::Value::String(text) => text.len(),
        other => length(other),
    });
    let schema = call
        .sampling
        .json_schema
        .as_ref()
        .map_or(0, |schema| length(&schema.to_value()));
    let options: usize = call
        .sampling
        .options
        .values()
        .map(|option| length(&option.to_value()))
        .sum();
    let bytes =
        texts.sum::<usize>() + call.system.as_ref().map_or(0, String::len) + schema + options;
    (bytes as u64) / BYTES + AROUND * (call.messages.len() as u64 + 2)
}

/// Bytes of the strings in a value, and some for what else there is.
fn length(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len(),
        serde_json::Value::Array(all) => all.iter().map(|one| length(one) + 2).sum(),
        serde_json::Value::Object(all) => all
            .iter()
            .map(|(name, one)| name.len() + length(one) + 4)
            .sum(),
        _ => 4,
    }
}

impl TokenHistory {
    /// `text` is [`of_text`] of the call.
    pub fn guess(&self, text: u64, max_tokens: Option<u64>) -> TokenEstimate {
        let knows = self.answers >= ENOUGH;
        let ratio = match knows {
            true => self.input_ratio * MARGIN,
            // An answer that took more than was guessed shows that the next may, too.
            false => self.input_ratio.max(1.0),
        };
        let input = scaled(text, ratio).max(1);
        let most = max_tokens.unwrap_or(u64::MAX);
        let output = match knows {
            true => scaled(self.output, MARGIN).min(most),
            false => max_tokens.unwrap_or(UNKNOWN_OUTPUT.max(self.output)),
        };
        let all = input.saturating_add(output);
        TokenEstimate {
            most: all,
            input,
            expected: (all as f64 * self.share).max(1.0),
        }
    }

    /// What a call took of which this was guessed.
    pub fn settled(&mut self, guess: TokenEstimate, text: u64, tokens: TokenCounts) {
        self.answers = self.answers.saturating_add(1);
        self.input_ratio = self
            .input_ratio
            .max(tokens.input as f64 / text.max(1) as f64);
        self.output = self.output.max(tokens.output);
        let took = tokens.input.saturating_add(tokens.output) as f64 / guess.most.max(1) as f64;
        // The first answers count as much as each other, later ones a sixteenth.
        let weight = 1.0 / f64::from(self.answers.min(ENOUGH));
        self.share = (self.share + (took - self.share) * weight).clamp(0.001, 4.0);
    }
}

/// Saturates, as casts do.
fn scaled(tokens: u64, by: f64) -> u64 {
    (tokens as f64 * by).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_question_is_guessed_by_its_bytes() {
        assert_eq!(of_text(&testing::call("")), 24);
        assert_eq!(of_text(&testing::call(&"x".repeat(300))), 124);
        assert_eq!(of_text(&testing::call(&"語".repeat(300))), 324);
        let mut call = testing::call("abc");
        call.system = Some("y".repeat(30));
        call.messages[0].content = serde_json::json!([{"type": "text", "text": "z".repeat(60)}]);
        assert_eq!(of_text(&call), (30 + 60 + 2 + 4 + 4 + 4 + 4 + 4) / 3 + 24);
    }

    #[test]
    fn guesses_begin_with_what_is_asked_for_and_follow_what_was_seen() {
        let mut seen = TokenHistory::default();
        assert_eq!(
            seen.guess(100, Some(50)),
            TokenEstimate {
                most: 150,
                input: 100,
                expected: 150.0
            }
        );
        assert_eq!(seen.guess(100, None).most, 100 + UNKNOWN_OUTPUT);
        let took = TokenCounts {
            input: 40,
            output: 20,
            ..TokenCounts::default()
        };
        (0..ENOUGH).for_each(|_| seen.settled(seen.guess(100, Some(4096)), 100, took));
        assert_eq!(
            (seen.guess(100, Some(4096)).most, seen.guess(100, None).most),
            (50 + 25, 50 + 25)
        );
        assert_eq!(seen.guess(100, Some(10)).most, 50 + 10);
        (0..200).for_each(|_| seen.settled(seen.guess(100, None), 100, took));
        let guess = seen.guess(100, None);
        assert!((guess.expected - 60.0).abs() < 1.0, "{guess:?}");
        // Longer than everything before: the next guess holds it.
        seen.settled(
            guess,
            100,
            TokenCounts {
                input: 400,
                output: 1000,
                ..TokenCounts::default()
            },
        );
        assert_eq!(seen.guess(100, None).most, 500 + 1250);
    }
}
