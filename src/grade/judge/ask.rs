//! Asks one model for one vote: the question, and at most so many requests for repair.

use super::answer::{AnswerRequirements, JudgeAnswer, UnusableReply, read};
use super::form::schema;
use super::prompt::JudgePrompt;
use super::quote::{PromptMarks, harmless};
use super::structured::{SchemaEndpoints, ask};
use super::vote::{VoteAgenda, by_name};
use crate::grade::SampleAttempt;
use crate::model::limits;
use crate::model::{
    AnswerSource, Cause, FinishReason, Judge, JudgeCall, JudgeReply, JudgeVote, ModelTarget,
    Outcome, ReplyFault,
};
use eval_base::text::truncate_bytes;
use eval_models::{
    CallIndex, ChatMessage, Completion, ModelFault, ModelRequest, QuestionKey, RunModels, places_of,
};

/// Characters of a reply that its judge is shown again.
const SHOWN_AGAIN: usize = 4_000;

/// All that the votes of a panel share.
pub(super) struct VoteContext<'a> {
    pub judge: &'a Judge,
    pub question: &'a JudgePrompt,
    pub wanted: &'a AnswerRequirements<'a>,
    pub agenda: &'a VoteAgenda<'a>,
    pub asked: SampleAttempt,
    pub models: &'a RunModels,
    pub structured: &'a SchemaEndpoints,
}

/// A vote as it is told, and what it says when it says something.
pub(super) type VoteResult = (JudgeVote, Option<JudgeAnswer>);

/// The questions of one vote.
#[derive(Debug, Default)]
pub(super) struct VoteCalls {
    pub calls: Vec<JudgeCall>,
    /// Of the answers that the cache has now.
    pub keys: Vec<QuestionKey>,
}

impl VoteContext<'_> {
    /// One vote of a model. Errored when no answer came, or none that can be used: never a guess.
    /// Answers of a vote that can't be used leave the cache; when all of them came from there, the
    /// model is asked.
    pub async fn vote(&self, model: &ModelTarget, index: u32) -> VoteResult {
        let (vote, keys) = self.exchange(model, index).await;
        if vote.0.cause != Some(Cause::JudgeUnparseable) || keys.is_empty() {
            return vote;
        }
        self.models.forget(&keys).await;
        if vote
            .0
            .calls
            .iter()
            .any(|asked| asked.call.source != AnswerSource::Cache)
        {
            return vote;
        }
        let (vote, keys) = self.exchange(model, index).await;
        if vote.0.cause == Some(Cause::JudgeUnparseable) {
            self.models.forget(&keys).await;
        }
        vote
    }

    /// The vote, and the keys of its answers in the cache.
    async fn exchange(&self, model: &ModelTarget, index: u32) -> (VoteResult, Vec<QuestionKey>) {
        let mut asked = VoteCalls::default();
        let (vote, reading) = self.replies(model, index, &mut asked).await;
        let VoteCalls { calls, keys } = asked;
        ((JudgeVote { calls, ..vote }, reading), keys)
    }

    /// The question, and requests for repair until an answer can be used.
    async fn replies(&self, model: &ModelTarget, index: u32, asked: &mut VoteCalls) -> VoteResult {
        let mut vote = JudgeVote {
            model: model.endpoint.name(),
            index,
            outcome: Outcome::Errored,
            cause: None,
            reason: String::new(),
            score: None,
            scores: Default::default(),
            said_passed: None,
            said_score: None,
            justification: String::new(),
            unknown: Vec::new(),
            replies: Vec::new(),
            calls: Vec::new(),
        };
        let mut messages = vec![ChatMessage::user(self.question.prompt.as_str())];
        for repairs_left in (0..=self.judge.repairs.min(Judge::REPAIRS)).rev() {
            let completion = match self.put(model, index, &messages, asked).await {
                Ok(completion) => completion,
                Err(fault) => return (unreachable(vote, &fault), None),
            };
            let refused = completion.finish == FinishReason::Refused;
            // A filter that declines may step in halfway.
            let cut = refused || completion.finish == FinishReason::Length;
            let unusable = match read(&completion.text, cut, self.wanted) {
                Ok(reading) => {
                    vote.replies.push(reply(&completion));
                    return (self.counted(vote, &reading), Some(reading));
                }
                Err(_) if refused => UnusableReply {
                    fault: ReplyFault::Refused,
                    why: "the judge declined to answer".to_owned(),
                },
                Err(unusable) => unusable,
            };
            let again = repairs_left > 0 && !refused;
            let repair = if again {
                self.repair(&unusable)
            } else {
                String::new()
            };
            let JudgeReply { text, finish, .. } = reply(&completion);
            let UnusableReply { fault, why } = unusable;
            if again {
                messages.push(shown_again(&completion.text));
                messages.push(ChatMessage::user(repair.as_str()));
            } else {
                vote.cause = Some(Cause::JudgeUnparseable);
                vote.reason = format!("{}: {why}", fault.name());
            }
            vote.replies.push(JudgeReply {
                text,
                finish,
                fault: Some(fault),
                why,
                repair,
            });
            if !again {
                break;
            }
        }
        (vote, None)
    }

    fn counted(&self, vote: JudgeVote, reading: &JudgeAnswer) -> JudgeVote {
        let (share, passed) = self.agenda.vote(reading);
        JudgeVote {
            outcome: if passed {
                Outcome::Passed
            } else {
                Outcome::Failed
            },
            score: Some(share),
            scores: by_name(self.agenda.criteria, &reading.scores),
            said_passed: reading.passed,
            said_score: reading.overall,
            justification: reading.justification.clone(),
            unknown: reading.unknown.clone(),
            ..vote
        }
    }

    /// In our own words: nothing of the reply, of the output or of a server stands in it.
    fn repair(&self, unusable: &UnusableReply) -> String {
        let shorter = match unusable.fault {
            ReplyFault::Cut => " Be brief, so that the whole object fits.",
            _ => "",
        };
        format!(
            "Your answer can't be used: {}. Grade the same system output again, by the same rubric.{shorter}\n\n{}",
            unusable.why, self.question.format
        )
    }

    /// Puts a question, with the form of the answer where the API can be told it.
    async fn put(
        &self,
        model: &ModelTarget,
        vote: u32,
        messages: &[ChatMessage],
        asked: &mut VoteCalls,
    ) -> Result<Completion, ModelFault> {
        let SampleAttempt {
            sample, attempt, ..
        } = self.asked;
        let mut call = heard(
            model,
            &self.question.marks,
            ModelRequest {
                system: Some(self.question.system_after(model.system.as_deref())),
                messages: messages.to_vec(),
                sampling: model.sampling.clone(),
                index: CallIndex {
                    sample,
                    attempt,
                    vote,
                },
                timeout: self.judge.timeout,
            },
        );
        if !self.judge.structured || !places_of(&model.endpoint).schema {
            return ask(self.models, &model.endpoint, &call, asked).await;
        }
        let schema = schema(self.judge);
        self.structured
            .ask(&model.endpoint, &mut call, schema, self.models, asked)
            .await
    }
}

/// The question in the form that the endpoint has places for: what it has no place for goes into
/// its one prompt.
fn heard(model: &ModelTarget, marks: &PromptMarks, mut call: ModelRequest) -> ModelRequest {
    let places = places_of(&model.endpoint);
    if places.turns {
        return call;
    }
    let mut text = String::new();
    if !places.system
        && let Some(system) = call.system.take()
    {
        text.push_str(&system);
        text.push_str("\n\n");
    }
    for (at, message) in call.messages.iter().enumerate() {
        let content = message.content.as_str().unwrap_or_default();
        match (at, message.role.as_str()) {
            (0, _) => text.push_str(content),
            (_, "user") => text.push_str(&format!("\n\n## What is asked now\n{content}")),
            // What it repeats of the output must not stand outside of a quote.
            _ => text.push_str(&format!(
                "\n\n## Your earlier answer\n{}",
                marks.around("ANSWER", content)
            )),
        }
    }
    call.messages = vec![ChatMessage::user(text)];
    call
}

/// A reply as its own judge is shown it: what was quoted in it must not come back as anything else.
fn shown_again(text: &str) -> ChatMessage {
    let shown = harmless(text, SHOWN_AGAIN).text;
    // Some APIs take no turn without a text.
    let shown = if shown.trim().is_empty() {
        "(no text)".to_owned()
    } else {
        shown
    };
    ChatMessage {
        role: "assistant".to_owned(),
        content: shown.into(),
    }
}

fn reply(completion: &Completion) -> JudgeReply {
    let text = truncate_bytes(&completion.text, limits::JUDGE_REPLY);
    let text = match completion.text.len() - text.len() {
        0 => text.to_owned(),
        more => format!("{text}\n[... {more} bytes more ...]"),
    };
    JudgeReply {
        text,
        finish: Some(completion.finish),
        fault: None,
        why: String::new(),
        repair: String::new(),
    }
}

fn unreachable(vote: JudgeVote, fault: &ModelFault) -> JudgeVote {
    let reason = match vote.replies.last().and_then(|reply| reply.fault) {
        Some(unusable) => format!(
            "its answer could not be used ({}), and it could not be called again: {}",
            unusable.name(),
            fault.reason
        ),
        None => fault.reason.clone(),
    };
    JudgeVote {
        cause: Some(Cause::JudgeUnreachable),
        reason,
        ..vote
    }
}
