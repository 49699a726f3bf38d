//! The tries of one call.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use super::Traffic;
use super::guess::of_text;
use super::lane::{FailedTry, TurnRequest};
use super::pause::LONGEST;
use crate::budget::{BudgetLedger, usage_of};
use crate::providers::{ToldLimits, TryOutcome};
use crate::{Completion, Endpoint, FaultKind, ModelAnswer, ModelCall, ModelFault, ModelRequest};

/// Makes one try.
pub(crate) trait TrySender: Sync {
    fn once(
        &self,
        endpoint: &Endpoint,
        call: &ModelRequest,
    ) -> impl Future<Output = TryOutcome> + Send;
}

/// Limits are most often those of a minute. A server that turns calls away and does not say for how
/// long is asked for that time, and some more, however few tries are allowed, unless none is; and
/// for longer while it answers others.
const WHOLE_WINDOW: Duration = Duration::from_secs(65);

/// A try that takes so much longer than its time is ended from here: whoever makes it should have.
const GRACE: Duration = Duration::from_secs(5);

/// Asks until there is an answer that can be used, or another try is not allowed or would not help.
pub(crate) async fn fetch<O: TrySender>(
    traffic: &Traffic,
    purse: &BudgetLedger,
    once: &O,
    endpoint: &Endpoint,
    call: &ModelRequest,
) -> ModelAnswer {
    traffic.count(|now| now.calls += 1);
    let mut tries = CallTries {
        traffic,
        purse,
        endpoint,
        call,
        made: ModelCall::of(endpoint),
        throttled: Duration::ZERO,
        paused: Duration::ZERO,
        latency: None,
    };
    let result = tries.run(once).await;
    let made = ModelCall {
        throttled_ms: milliseconds(tries.throttled),
        backoff_ms: milliseconds(tries.paused),
        ..tries.made
    };
    ModelAnswer::new(endpoint, result, made, tries.latency)
}

/// The tries of a call, and what they took.
struct CallTries<'a> {
    traffic: &'a Traffic,
    purse: &'a BudgetLedger,
    endpoint: &'a Endpoint,
    call: &'a ModelRequest,
    made: ModelCall,
    throttled: Duration,
    paused: Duration,
    /// Of the last try; `None` when nothing was sent.
    latency: Option<Duration>,
}

impl CallTries<'_> {
    async fn run<O: TrySender>(&mut self, once: &O) -> Result<Completion, ModelFault> {
        let (traffic, purse, endpoint, call) = (self.traffic, self.purse, self.endpoint, self.call);
        let lane = traffic.lane(&endpoint.limits);
        let door = door(endpoint);
        let wanted = TurnRequest {
            ticket: lane.ticket(),
            door: &door,
            text: of_text(call),
            max_tokens: call.sampling.max_tokens,
        };
        let time = endpoint.patience.total.unwrap_or(call.timeout);
        let (mut failed, mut waited) = (0, 0);
        let mut silenced: Option<Instant> = None;
        let mut last: Option<ModelFault> = None;
        loop {
            let stop = || purse.is_spent().then(budget_spent);
            // Room in the budget first: who waits for it must not keep others from their turn.
            let Some(hold) = purse.admit(endpoint, call).await else {
                traffic.wake_all();
                return Err(unpaid(last));
            };
            let (mut turn, throttled) = match lane.turn(wanted, stop).await {
                Ok(turn) => turn,
                Err(fault) if fault.kind == FaultKind::BudgetSpent => return Err(unpaid(last)),
                Err(fault) => return Err(fault),
            };
            self.throttled += throttled;
            turn.sent();
            traffic.count(|now| now.retries += u64::from(failed > 0));
            let TryOutcome {
                result,
                latency,
                sent,
                limits,
            } = in_time(time, once.once(endpoint, call)).await;
            self.latency = sent.then_some(latency);
            self.made.requests += u32::from(sent);
            traffic.count(|now| now.requests += u64::from(sent));
            let mut fault = match result {
                Ok(completion) => {
                    turn.answered(&door, completion.tokens, &limits);
                    traffic.count(|now| now.answers += 1);
                    match completion.tokens {
                        Some(tokens) => hold.spend(endpoint, tokens),
                        None => {
                            let text = &completion.text;
                            self.made.estimated = hold.spend_unsaid(endpoint, call, text);
                        }
                    }
                    release(traffic, purse);
                    return Ok(completion);
                }
                Err(fault) => fault,
            };
            // What is not asked again need not wait.
            let too_long = fault
                .retry_after
                .filter(|time| *time > LONGEST && fault.kind.is_retryable());
            let failed_so = FailedTry {
                fault: &fault,
                fatal: fault.kind.is_fatal() || too_long.is_some(),
                sent,
                told: &limits,
            };
            let lane_silent = turn.failed(&door, failed_so, &traffic.jitter);
            traffic.count(|now| now.faults += 1);
            *self
                .made
                .faults
                .entry(fault.kind.label().to_owned())
                .or_default() += 1;
            match fault.tokens {
                Some(tokens) => {
                    hold.spend(endpoint, tokens);
                    let usage = usage_of(endpoint, tokens);
                    self.made.wasted =
                        Some(self.made.wasted.map_or(usage, |wasted| wasted + usage));
                    release(traffic, purse);
                }
                // Nobody holds room in the budget while it pauses.
                None => drop(hold),
            }
            if let Some(time) = too_long {
                let (time, most) = (in_words(time), in_words(LONGEST));
                fault.reason = format!(
                    "{}; it requests a wait of {time}, but the longest wait is {most}",
                    fault.reason
                );
                return Err(fault);
            }
            let retries = endpoint.patience.retries;
            let is_silent = fault.kind == FaultKind::RateLimited && fault.retry_after.is_none();
            let since = is_silent.then(|| silenced.get_or_insert_with(Instant::now).elapsed());
            let in_window = retries > 0
                && since.is_some_and(|time| time < LONGEST)
                && lane_silent.is_none_or(|time| time < WHOLE_WINDOW);
            if !fault.kind.is_retryable() || (failed - waited >= retries && !in_window) {
                return Err(fault);
            }
            self.pause(&fault, failed).await;
            failed += 1;
            // A window that is waited out uses no retry up.
            waited += u32::from(in_window);
            last = Some(fault);
        }
    }

    /// What the server asks for, and some more, so that not all come back at that moment.
    async fn pause(&mut self, fault: &ModelFault, failed: u32) {
        let asked = fault.retry_after.unwrap_or_default();
        let jitter = self.traffic.jitter.pause(failed);
        let began = Instant::now();
        tokio::time::sleep(asked + jitter).await;
        let slept = began.elapsed();
        // That of a 429 is a rate limit.
        let throttled = if fault.kind == FaultKind::RateLimited {
            asked.min(slept)
        } else {
            Duration::ZERO
        };
        self.throttled += throttled;
        self.paused += slept - throttled;
    }
}

async fn in_time(time: Duration, tried: impl Future<Output = TryOutcome>) -> TryOutcome {
    let began = Instant::now();
    match tokio::time::timeout(time.saturating_add(GRACE), tried).await {
        Ok(tried) => tried,
        Err(_) => TryOutcome {
            result: Err(ModelFault::new(
                FaultKind::TimedOut,
                format!("no answer within {}", in_words(time)),
            )),
            latency: began.elapsed(),
            sent: true,
            limits: ToldLimits::default(),
        },
    }
}

fn budget_spent() -> ModelFault {
    ModelFault::new(
        FaultKind::BudgetSpent,
        "not called: the budget of the run is spent",
    )
}

/// A call that was made in vain before the budget ended was not left out: it ends as its last try
/// did, so that what its tries took is told.
fn unpaid(last: Option<ModelFault>) -> ModelFault {
    match last {
        None => budget_spent(),
        Some(fault) => ModelFault {
            reason: format!(
                "{}; not called again: the budget of the run is spent",
                fault.reason
            ),
            ..fault
        },
    }
}

/// What a fatal answer speaks of: a model, where it is asked, and with which key.
fn door(endpoint: &Endpoint) -> String {
    let key = endpoint.key.as_ref().map(|key| &key.source);
    format!("{} {} {key:?}", endpoint.name(), endpoint.base_url)
}

/// Who waits for a turn need not wait for it any longer once nothing more may be spent.
fn release(traffic: &Traffic, purse: &BudgetLedger) {
    if purse.is_spent() {
        traffic.wake_all();
    }
}

/// To the microsecond; `None` for no time at all.
fn milliseconds(time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| (time.as_secs_f64() * 1e6).round() / 1e3)
}

/// `24 h`, `5 min`, `1.5 s`: rounded up to what people say.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..120.0 => format!("{} s", (seconds * 10.0).ceil() / 10.0),
        ..7200.0 => format!("{:.0} min", (seconds / 60.0).ceil()),
        _ => format!("{:.0} h", (seconds / 3600.0).ceil()),
    }
}
