//! A conversation with a candidate's process: one question at a time, each sent when the answer
//! before it has arrived.
//!
//! Until then the question exists in the harness only, so that a candidate can learn neither the
//! arguments of later calls nor their number. That no more questions follow is signalled after the
//! last answer, by closing our direction of the socket.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::capture::ChannelLines;
use super::channel::Outbox;
use super::ending::EndedProcess;
use super::error::SandboxError;
use super::messages::{
    MOST_WEIGHT, forged, load_failure, number, object, object_within, silent_end, text,
};
use super::programs::only;
use super::running::{ChannelEvent, RunningJob, bounded};
use super::types::*;
use eval_base::json::weight;

/// What the answers of a job may cost the harness.
pub(super) struct AnswerBudget {
    /// Bytes that may still come, of 256 MiB or two of the largest answers at first. Each answer is
    /// judged and dropped when it arrives; this bounds the time that the harness spends on reading
    /// them.
    bytes: usize,
    /// Bytes that all answers could take together.
    whole: usize,
    /// Time that the harness took between an answer and the next question, which is not the
    /// candidate's.
    pub judging: Duration,
}

impl AnswerBudget {
    pub fn of(limits: &ProgramLimits) -> AnswerBudget {
        let whole = (2 * longest_answer(limits)).max(256 << 20);
        AnswerBudget {
            bytes: whole,
            whole,
            judging: Duration::ZERO,
        }
    }
}

/// Bytes of the line of an answer: what was returned, and what changed in place, with what stands
/// around it.
pub(super) fn longest_answer(limits: &ProgramLimits) -> usize {
    const AROUND: u64 = 1 << 20;
    usize::try_from(limits.return_bytes.saturating_add(AROUND))
        .unwrap_or(usize::MAX / 4)
        .min(usize::MAX / 4)
}

/// Bytes of memory that the values of an answer may take in the harness: a list of short numbers
/// takes a multiple of its text.
pub(super) fn most_weight(limits: &ProgramLimits) -> usize {
    usize::try_from(limits.return_bytes.saturating_mul(4))
        .unwrap_or(usize::MAX)
        .max(MOST_WEIGHT)
}

/// Why a conversation ended before the last answer.
#[derive(Debug)]
pub(super) enum ConversationEnd {
    /// What the candidate sent is a failure.
    Failed(RunFailure),
    /// Something other than a line arrived.
    Silent(ChannelEvent),
    Lost(SandboxError),
}

pub(super) struct Conversation<'c> {
    running: RunningJob<'c>,
    lines: ChannelLines,
    outbox: Outbox,
    /// When the process has used up its time.
    pub deadline: Instant,
    /// When the last answer arrived.
    heard: Instant,
    budget: &'c mut AnswerBudget,
    /// Bytes of memory that the values of one answer may take.
    most_weight: usize,
}

impl<'c> Conversation<'c> {
    /// `ours`: the harness's end of the candidate's channel.
    pub fn new(
        running: RunningJob<'c>,
        ours: OwnedFd,
        limits: &ProgramLimits,
        budget: &'c mut AnswerBudget,
    ) -> Result<Self, SandboxError> {
        let lines = ChannelLines::up_to(ours, longest_answer(limits))?;
        let most_weight = most_weight(limits);
        let deadline = running.started + bounded(limits.wall);
        let heard = Instant::now();
        Ok(Conversation {
            running,
            lines,
            outbox: Outbox::default(),
            deadline,
            heard,
            budget,
            most_weight,
        })
    }

    /// When the candidate's process was started.
    pub fn started(&self) -> Instant {
        self.running.started
    }

    /// Where the next question is written; it is sent with the next [`Conversation::answer`] or
    /// [`Conversation::greeting`]. The time since the last answer is added to the candidate's.
    pub fn question(&mut self) -> &mut Vec<u8> {
        self.leave_out_judging();
        &mut self.outbox.bytes
    }

    fn leave_out_judging(&mut self) {
        let judging = self.heard.elapsed();
        self.heard += judging;
        self.deadline += judging;
        self.running.extend(judging);
        self.budget.judging += judging;
    }

    /// Waits until the candidate's program is loaded.
    pub fn greeting(&mut self) -> Result<(), ConversationEnd> {
        let greeting = self.line(self.deadline)?;
        match object(&greeting) {
            Some(map) if map.get("ready") == Some(&Value::Bool(true)) => Ok(()),
            Some(map) if map.contains_key("load") => {
                let error = map.get("e");
                let line = error.and_then(|e| e.get("line")).and_then(Value::as_u64);
                Err(ConversationEnd::Failed(load_failure(
                    &text(&map, "load"),
                    error,
                    line,
                )))
            }
            _ => Err(ConversationEnd::Failed(forged("a false greeting"))),
        }
    }

    /// The answer to the question with this index, and about how many bytes of memory its values
    /// take.
    pub fn answer(
        &mut self,
        index: u64,
        until: Instant,
    ) -> Result<(Map<String, Value>, usize), ConversationEnd> {
        let line = self.line(until)?;
        self.heard = Instant::now();
        self.budget.bytes = match self.budget.bytes.checked_sub(line.len()) {
            Some(left) => left,
            None => {
                let most_mb = (self.budget.whole >> 20) as u64;
                return Err(ConversationEnd::Failed(RunFailure::ReturnTotal { most_mb }));
            }
        };
        let answer =
            object_within(&line, self.most_weight).filter(|map| number(map, "i") == Some(index));
        let answer = answer
            .ok_or_else(|| ConversationEnd::Failed(forged("an answer to another question")))?;
        Ok((answer, line.len() + weight(&line)))
    }

    /// Signals that no question follows and waits, at most for [`RunningJob::grace`], until the
    /// candidate ends, so that what it printed is kept. Returns how it ended, and a failure when it
    /// sent an answer without a question or exceeded a limit.
    pub fn part(mut self) -> Result<(EndedProcess, Option<RunFailure>), SandboxError> {
        self.leave_out_judging();
        self.outbox.then_close = true;
        match self.line(Instant::now() + self.running.grace()) {
            Ok(_)
            | Err(ConversationEnd::Silent(ChannelEvent::TooLong | ChannelEvent::End(true))) => {
                Ok((self.end()?, Some(forged("an answer without a question"))))
            }
            Err(ConversationEnd::Silent(ChannelEvent::Stopped)) => {
                let (failure, ended) = self.silence(ChannelEvent::Stopped)?;
                Ok((ended, Some(failure)))
            }
            Err(ConversationEnd::Silent(ChannelEvent::Late)) => {
                self.running.count_expired_grace();
                Ok((self.end()?, None))
            }
            Err(ConversationEnd::Lost(error)) => Err(error),
            Err(_) => Ok((self.let_end()?, None)),
        }
    }

    fn line(&mut self, until: Instant) -> Result<Vec<u8>, ConversationEnd> {
        match self
            .running
            .converse(&mut self.lines, &mut self.outbox, until)
        {
            Ok(ChannelEvent::Line(line)) => Ok(line),
            Ok(other) => Err(ConversationEnd::Silent(other)),
            Err(error) => Err(ConversationEnd::Lost(error)),
        }
    }

    /// Waits until the candidate ends, at most for [`RunningJob::grace`], so that its last output is
    /// kept.
    fn let_end(mut self) -> Result<EndedProcess, SandboxError> {
        self.lines.close();
        self.running.let_end()?;
        self.end()
    }

    /// Ends the candidate now.
    pub fn end(self) -> Result<EndedProcess, SandboxError> {
        only(self.running.end()?)
    }

    /// How a candidate failed that did not answer, and how its process ended.
    pub fn stop(self, stop: ConversationEnd) -> Result<(RunFailure, EndedProcess), SandboxError> {
        match stop {
            ConversationEnd::Silent(heard) => self.silence(heard),
            ConversationEnd::Lost(error) => Err(error),
            ConversationEnd::Failed(failure @ RunFailure::Forged { .. }) => {
                Ok((failure, self.end()?))
            }
            ConversationEnd::Failed(failure) => Ok((failure, self.let_end()?)),
        }
    }

    fn silence(self, heard: ChannelEvent) -> Result<(RunFailure, EndedProcess), SandboxError> {
        Ok(match heard {
            ChannelEvent::TooLong => (forged("an answer without end"), self.end()?),
            ChannelEvent::Late => (
                RunFailure::Ended(ProgramEnding::TimedOut),
                only(self.running.end_late()?)?,
            ),
            ChannelEvent::Stopped => {
                let ended = only(self.running.finish()?)?;
                (silent_end(&ended)?, ended)
            }
            ChannelEvent::End(_) | ChannelEvent::Line(_) => {
                let ended = self.let_end()?;
                (silent_end(&ended)?, ended)
            }
        })
    }
}
