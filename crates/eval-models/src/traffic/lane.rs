//! One allowance, and the calls that wait for their turn in it: the older call first.
//!
//! Nobody serves the queue: the call at its head looks for itself, sleeps until the time when it
//! may go or until a call ends, and wakes the next when it goes. A call that finds nobody before it
//! and room takes its turn without waiting at all.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::TrafficNow;
use super::concurrency::ConcurrencyLimit;
use super::fatal::FailureStreak;
use super::guess::{TokenEstimate, TokenHistory};
use super::outage::Outage;
use super::pause::{Jitter, LONGEST};
use super::window::LimitWindow;
use crate::providers::ToldLimits;
use crate::{FaultKind, LaneLimits, ModelFault, TokenCounts};
use eval_base::sync::lock;

/// What is shared by all models of a lane.
#[derive(Debug)]
pub(super) struct TrafficLane {
    epoch: Instant,
    state: Mutex<LaneState>,
}

#[derive(Debug)]
struct LaneState {
    calls: ConcurrencyLimit,
    in_flight: usize,
    requests: Option<LimitWindow>,
    tokens: Option<LimitWindow>,
    /// The server asked to wait until then.
    held_until: Duration,
    /// Since when it says 429, does not say until when, and answers nobody.
    silent_since: Option<Duration>,
    /// It answers nobody, and is left alone until then.
    away_until: Duration,
    outage: Outage,
    /// By age.
    queue: BTreeMap<u64, Arc<Notify>>,
    next: u64,
    seen: TokenHistory,
    doors: HashMap<String, FailureStreak>,
    throttled: ThrottleTimer,
}

/// Time in which a rate limit, and nothing else, kept the head of the queue from going.
#[derive(Debug, Default)]
struct ThrottleTimer {
    before: Duration,
    since: Option<Duration>,
}

impl ThrottleTimer {
    fn set(&mut self, now: Duration, on: bool) {
        if !on && let Some(since) = self.since.take() {
            self.before += now.saturating_sub(since);
        } else if on && self.since.is_none() {
            self.since = Some(now);
        }
    }

    fn total(&self, now: Duration) -> Duration {
        self.before
            + self
                .since
                .map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }
}

/// What a call asks a turn for.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnRequest<'a> {
    /// The call's age, from [`TrafficLane::ticket`]: its further tries go before younger calls.
    pub ticket: u64,
    /// The model, where and with which key it is asked: these are given up together.
    pub door: &'a str,
    /// [`super::guess::of_text`] of the question.
    pub text: u64,
    pub max_tokens: Option<u64>,
}

impl TrafficLane {
    pub fn new(limits: &LaneLimits) -> TrafficLane {
        let state = LaneState {
            calls: ConcurrencyLimit::new(limits.max_concurrency),
            in_flight: 0,
            requests: limits.requests_per_minute.map(LimitWindow::new),
            tokens: limits.tokens_per_minute.map(LimitWindow::new),
            held_until: Duration::ZERO,
            silent_since: None,
            away_until: Duration::ZERO,
            outage: Outage::default(),
            queue: BTreeMap::new(),
            next: 0,
            seen: TokenHistory::default(),
            doors: HashMap::new(),
            throttled: ThrottleTimer::default(),
        };
        TrafficLane {
            epoch: Instant::now(),
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LaneState> {
        lock(&self.state)
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    pub fn ticket(&self) -> u64 {
        let mut state = self.lock();
        state.next += 1;
        state.next
    }

    /// Adds what the lane does now.
    pub fn add_to(&self, now: &mut TrafficNow) {
        let state = self.lock();
        now.waiting += state.queue.len();
        now.in_flight += state.in_flight;
        now.allowed += state.calls.allowed();
        now.throttled |= state.throttled.since.is_some();
    }

    /// Waits until the call may be made; also says how long rate limits alone made it wait. `stop`
    /// is looked at before each look at the lane: a fault ends the wait.
    pub async fn turn(
        &self,
        wanted: TurnRequest<'_>,
        stop: impl Fn() -> Option<ModelFault>,
    ) -> Result<(LaneTurn<'_>, Duration), ModelFault> {
        let mut place: Option<QueuePlace<'_>> = None;
        loop {
            if let Some(fault) = stop() {
                return Err(fault);
            }
            let (until, woken) = {
                let mut state = self.lock();
                if let Some(fault) = state
                    .doors
                    .get(wanted.door)
                    .and_then(FailureStreak::given_up)
                {
                    return Err(fault);
                }
                let now = self.now();
                let Err(until) = state.gate(now, wanted) else {
                    let turn = state.take(self, now, wanted);
                    let before = place.as_ref().map(|place| place.throttled);
                    let total = state.throttled.total(now);
                    return Ok((turn, total.saturating_sub(before.unwrap_or(total))));
                };
                let place = place.get_or_insert_with(|| {
                    let woken = Arc::new(Notify::new());
                    state.queue.insert(wanted.ticket, Arc::clone(&woken));
                    QueuePlace {
                        lane: self,
                        ticket: wanted.ticket,
                        woken,
                        throttled: state.throttled.total(now),
                    }
                });
                (until, Arc::clone(&place.woken))
            };
            match until {
                Some(at) => {
                    let at = self
                        .epoch
                        .checked_add(at)
                        .unwrap_or_else(|| Instant::now() + LONGEST);
                    _ = tokio::time::timeout_at(at, woken.notified()).await;
                }
                None => woken.notified().await,
            }
        }
    }

    /// Wakes all that wait, to look whether there is still a reason to.
    pub fn wake_all(&self) {
        self.lock()
            .queue
            .values()
            .for_each(|woken| woken.notify_one());
    }
}

impl LaneState {
    /// Whether the call may go now; else until when it waits at the longest. It is woken when a call
    /// ends.
    fn gate(&mut self, now: Duration, wanted: TurnRequest<'_>) -> Result<(), Option<Duration>> {
        if self
            .queue
            .first_key_value()
            .is_some_and(|(oldest, _)| *oldest < wanted.ticket)
        {
            return Err(None);
        }
        let guess = self.seen.guess(wanted.text, wanted.max_tokens);
        let held = Some(self.held_until).filter(|at| *at > now);
        let requests = self
            .requests
            .as_mut()
            .and_then(|window| window.opens(now, 1));
        let tokens = self
            .tokens
            .as_mut()
            .and_then(|window| window.opens(now, guess.most));
        let limited = held.max(requests).max(tokens);
        let until = limited.max(Some(self.away_until).filter(|at| *at > now));
        let allowed = if self.outage.probes() {
            1
        } else {
            self.calls.allowed()
        };
        let full = self.in_flight >= allowed;
        self.throttled.set(now, limited.is_some() && !full);
        match until {
            _ if full => Err(None),
            None => Ok(()),
            until => Err(until),
        }
    }

    fn take<'a>(
        &mut self,
        lane: &'a TrafficLane,
        began: Duration,
        wanted: TurnRequest<'_>,
    ) -> LaneTurn<'a> {
        let guess = self.seen.guess(wanted.text, wanted.max_tokens);
        self.in_flight += 1;
        let request = self
            .requests
            .as_mut()
            .map(|window| window.take(began, 1, 1.0));
        let tokens = self
            .tokens
            .as_mut()
            .map(|window| window.take(began, guess.most, guess.expected));
        // The next may go as well; if nothing keeps it but time it sleeps.
        self.queue.remove(&wanted.ticket);
        self.wake_first();
        LaneTurn {
            lane,
            began,
            guess,
            text: wanted.text,
            request,
            tokens,
            sent: false,
            took: None,
        }
    }

    fn wake_first(&self) {
        if let Some((_, woken)) = self.queue.first_key_value() {
            woken.notify_one();
        }
    }
}

/// A place in the queue, left in any case.
struct QueuePlace<'a> {
    lane: &'a TrafficLane,
    ticket: u64,
    woken: Arc<Notify>,
    /// What the lane had been throttled when the place was taken.
    throttled: Duration,
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let mut state = self.lane.lock();
        // Not there when the turn came.
        if state.queue.remove(&self.ticket).is_some() {
            if state.queue.is_empty() {
                let now = self.lane.now();
                state.throttled.set(now, false);
            }
            state.wake_first();
        }
    }
}

/// A try that gave no answer that can be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailedTry<'a> {
    pub fault: &'a ModelFault,
    pub fatal: bool,
    /// False when no server can have got the request.
    pub sent: bool,
    pub told: &'a ToldLimits,
}

/// The right to make one request. Dropped, it gives back its slot and what it is known not to have
/// taken.
#[derive(Debug)]
pub(super) struct LaneTurn<'a> {
    lane: &'a TrafficLane,
    began: Duration,
    guess: TokenEstimate,
    text: u64,
    /// Numbers of what was taken of each window.
    request: Option<u64>,
    tokens: Option<u64>,
    sent: bool,
    /// What the server is known to have counted.
    took: Option<u64>,
}

impl LaneTurn<'_> {
    /// From here on the server may count it.
    pub fn sent(&mut self) {
        self.sent = true;
    }

    /// There is an answer that can be used.
    pub fn answered(mut self, door: &str, tokens: Option<TokenCounts>, told: &ToldLimits) {
        let mut state = self.lane.lock();
        let now = self.lane.now();
        let in_flight = state.in_flight;
        state.calls.answered(in_flight);
        state.outage.answered(now);
        state.silent_since = None;
        state.doors.entry(door.to_owned()).or_default().answered();
        state.obey(now, told);
        self.took = Some(match tokens {
            Some(tokens) => {
                state.seen.settled(self.guess, self.text, tokens);
                tokens.input.saturating_add(tokens.output)
            }
            None => self.guess.most,
        });
    }

    /// There is none. `fatal` says that another question would meet the same. Gives for how long
    /// the lane has said 429 without saying until when, and answered nobody.
    pub fn failed(
        mut self,
        door: &str,
        failed: FailedTry<'_>,
        jitter: &Jitter,
    ) -> Option<Duration> {
        let FailedTry {
            fault,
            fatal,
            sent,
            told,
        } = failed;
        let mut state = self.lane.lock();
        let now = self.lane.now();
        self.sent = sent;
        // With one call at once the server has as little to do as can be. Who is to come again much
        // later need not be looked for.
        let is_there = fault.kind.is_overload();
        let away = match fault.kind {
            _ if fatal => false,
            FaultKind::Unreachable => true,
            // Of one that is being looked for it is no answer either.
            FaultKind::Reset => state.outage.probes(),
            _ => is_there && state.calls.allowed() == 1,
        };
        if fault.kind.is_overload() {
            let in_flight = state.in_flight;
            state.calls.overloaded(self.began, now, in_flight);
        }
        if away {
            let pause = state
                .outage
                .missed(self.began, now, is_there, |trips| jitter.pause(trips));
            state.away_until = state.away_until.max(now + pause);
        } else if !fault.kind.is_overload()
            && (fault.status.is_some() || fault.kind == FaultKind::TimedOut)
        {
            state.outage.met(self.began, now);
        }
        if fault.kind == FaultKind::RateLimited {
            state.hold(now, fault.retry_after.unwrap_or_default());
            if fault.retry_after.is_none() {
                state.silent_since.get_or_insert(now);
            }
        }
        state.obey(now, told);
        // What the server turns away it does not count; what ended in any other way may have been
        // answered in full.
        let turned_away = fault.status.is_some_and(|status| status >= 400);
        self.took = match fault.tokens {
            Some(tokens) => Some(tokens.input.saturating_add(tokens.output)),
            None if turned_away || !sent => Some(0),
            None => Some(self.guess.input),
        };
        let in_flight = state.in_flight;
        let row = state.doors.entry(door.to_owned()).or_default();
        // Other refusals (413, 422) are about one question.
        let given_up = match fault.kind {
            FaultKind::BadRequest if fault.status == Some(400) => row.refused(fault, in_flight),
            _ => {
                row.ended_otherwise();
                fatal && row.failed(fault)
            }
        };
        if given_up {
            state.queue.values().for_each(|woken| woken.notify_one());
        }
        state.silent_since.map(|since| now.saturating_sub(since))
    }
}

impl LaneState {
    /// A time that is too long to wait for holds nobody: whoever asks is told the same, and soon
    /// nobody asks any more.
    fn hold(&mut self, now: Duration, time: Duration) {
        if time <= LONGEST {
            self.held_until = self.held_until.max(now + time);
        }
    }

    /// A server that has nothing left says when it has.
    fn obey(&mut self, now: Duration, told: &ToldLimits) {
        for told in [told.requests, told.tokens] {
            if let (Some(0), Some(reset)) = (told.remaining, told.reset) {
                self.hold(now, reset);
            }
        }
    }
}

impl Drop for LaneTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.lane.lock();
        state.in_flight = state.in_flight.saturating_sub(1);
        if let (Some(window), Some(taking)) = (&mut state.requests, self.request)
            && !self.sent
        {
            window.settle(taking, 0);
        }
        if let (Some(window), Some(taking)) = (&mut state.tokens, self.tokens) {
            let unknown = if self.sent { self.guess.input } else { 0 };
            window.settle(taking, self.took.unwrap_or(unknown));
        }
        state.wake_first();
    }
}
