//! What a session counts, and its limits.

use std::collections::{BTreeMap, BTreeSet};

use eval_models::{TokenCounts, TokenPrice, cost_of};

use crate::answer_reading::AnswerUsage;
use crate::{ProxyLimits, ReachedLimit, SessionReport};

/// Sums of floats are a little off: ten times 0.005 is less than 0.05.
const DUST: f64 = 1e-9;

/// Refused hosts and paths that are listed.
const MOST_DENIED: usize = 100;

/// Names of models and kinds of faults that are listed; an agent chooses the former.
const MOST_NAMES: usize = 100;

/// Calls of models at once: what they take beyond a limit is not known before they end.
const MOST_UNDER_WAY: u64 = 8;

/// Calls that are no turns (failed ones, counts of tokens, lists of models): so many at first, and
/// for each turn. Agents make a few.
const MOST_OTHER_CALLS: u64 = 1_000;
const OTHER_CALLS_OF_A_TURN: u64 = 20;

/// How a call of a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// The model answered; also when the agent closed the connection before the end.
    Answered,
    /// There is no usable answer.
    Failed,
}

/// What a call under way is known to have used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CallSpending {
    tokens: u64,
    usd: f64,
}

impl CallSpending {
    /// What a call may take at most.
    pub fn of(tokens: TokenCounts, price: Option<&TokenPrice>) -> CallSpending {
        CallSpending {
            tokens: tokens.input.saturating_add(tokens.output),
            usd: price.map_or(0.0, |price| cost_of(price, tokens)),
        }
    }
}

/// Sums over the calls of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionLedger {
    limits: ProxyLimits,
    calls: u64,
    sent: u64,
    turns: u64,
    under_way: u64,
    /// What calls under way may take.
    reserved: CallSpending,
    usage: TokenCounts,
    reported: u64,
    usd: f64,
    /// Of calls under way, and of answers that report nothing.
    apart: CallSpending,
    turns_without_usage: u64,
    is_lower_bound: bool,
    models: BTreeSet<String>,
    unpriced: BTreeSet<String>,
    denied: BTreeSet<String>,
    unauthorized: u64,
    faults: BTreeMap<String, u64>,
    /// Of the last call of a model.
    last_fault: Option<String>,
}

/// Whether a call of a model may begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TurnAdmission {
    Admitted,
    /// As many as may be are under way, or all turns that are left: one of them may fail.
    Wait,
    Reached(ReachedLimit),
}

impl SessionLedger {
    pub fn new(limits: ProxyLimits) -> SessionLedger {
        SessionLedger {
            limits,
            ..SessionLedger::default()
        }
    }

    /// The limit that an agent reaches whose calls are mostly no turns.
    pub fn count_call(&mut self) -> Option<ReachedLimit> {
        let others = self.calls - self.turns.min(self.calls);
        let others = others.saturating_sub(self.under_way);
        let most = MOST_OTHER_CALLS + OTHER_CALLS_OF_A_TURN * self.turns;
        if others >= most {
            return Some(ReachedLimit::OtherCalls(most));
        }
        self.calls += 1;
        None
    }

    /// A request leaves for a server.
    pub fn add_sent(&mut self) {
        self.sent += 1;
    }

    /// Admits a call of a model, which [`SessionLedger::end_turn`] must end.
    /// One beside others waits when they may exceed a limit together.
    pub fn begin_turn(&mut self, most: CallSpending) -> TurnAdmission {
        if let Some(limit) = self.exhausted(true) {
            return TurnAdmission::Reached(limit);
        }
        if let Some(limit) = self.limits.turns {
            if self.turns >= limit {
                return TurnAdmission::Reached(ReachedLimit::Turns(limit));
            }
            if self.turns + self.under_way >= limit {
                return TurnAdmission::Wait;
            }
        }
        if self.under_way >= MOST_UNDER_WAY {
            return TurnAdmission::Wait;
        }
        if self.under_way > 0 && self.may_exceed(most) {
            return TurnAdmission::Wait;
        }
        self.reserved.tokens = self.reserved.tokens.saturating_add(most.tokens);
        self.reserved.usd += most.usd;
        self.under_way += 1;
        TurnAdmission::Admitted
    }

    /// Whether a further call and those under way may exceed a limit.
    fn may_exceed(&self, most: CallSpending) -> bool {
        let tokens = [
            self.usage.input,
            self.usage.output,
            self.apart.tokens,
            self.reserved.tokens,
            most.tokens,
        ];
        let tokens = tokens.into_iter().fold(0_u64, u64::saturating_add);
        let usd = self.usd + self.apart.usd + self.reserved.usd + most.usd;
        self.limits.tokens.is_some_and(|limit| tokens > limit)
            || self.limits.cost_usd.is_some_and(|limit| usd > limit + DUST)
    }

    /// What was reserved for a call that is ended next.
    pub fn release(&mut self, most: CallSpending) {
        self.reserved.tokens = self.reserved.tokens.saturating_sub(most.tokens);
        self.reserved.usd = (self.reserved.usd - most.usd).max(0.0);
    }

    /// What a call used so far takes the place of what it used before. The limit that is exceeded
    /// then, if any.
    pub fn update(
        &mut self,
        before: &mut CallSpending,
        usage: &AnswerUsage,
        price: Option<&TokenPrice>,
    ) -> Option<ReachedLimit> {
        let now = CallSpending::of(usage.tokens, price);
        self.apart.tokens = (self.apart.tokens - before.tokens).saturating_add(now.tokens);
        self.apart.usd += now.usd - before.usd;
        *before = now;
        self.exhausted(false)
    }

    /// Ends a call that was admitted: `spent` is what [`SessionLedger::update`] knew of it, `usage`
    /// what its answer reports, and `estimate` its tokens by the length of its texts.
    pub fn end_turn(
        &mut self,
        end: CallEnd,
        model: Option<&str>,
        price: Option<&TokenPrice>,
        spent: CallSpending,
        usage: Option<AnswerUsage>,
        estimate: TokenCounts,
    ) -> Option<ReachedLimit> {
        self.under_way = self.under_way.saturating_sub(1);
        self.apart.tokens = self.apart.tokens.saturating_sub(spent.tokens);
        self.apart.usd -= spent.usd;
        let is_turn = end == CallEnd::Answered;
        self.turns += u64::from(is_turn);
        if is_turn {
            self.last_fault = None;
        }
        if is_turn && let Some(model) = model {
            add_bounded(&mut self.models, model);
        }
        let is_final = usage.is_some_and(|usage| usage.is_final);
        if is_turn && !is_final {
            self.turns_without_usage += 1;
        }
        // A failed call that reports nothing is not charged.
        self.is_lower_bound |= !is_final && (is_turn || usage.is_some());
        if let Some(usage) = usage {
            self.is_lower_bound |= usage.has_extras;
            self.reported += 1;
            self.usage = sum(self.usage, usage.tokens);
            match price {
                Some(price) => self.usd += cost_of(price, usage.tokens),
                None => {
                    add_bounded(&mut self.unpriced, model.unwrap_or("an unnamed model"));
                }
            }
        }
        if is_turn && !is_final {
            // Of a report that was cut, what is missing are mostly output tokens.
            let known = usage.map(|usage| usage.tokens).unwrap_or_default();
            let missing = TokenCounts {
                input: match usage {
                    Some(_) => 0,
                    None => estimate.input,
                },
                output: estimate.output.saturating_sub(known.output),
                ..TokenCounts::default()
            };
            let tokens = missing.input.saturating_add(missing.output);
            self.apart.tokens = self.apart.tokens.saturating_add(tokens);
            self.apart.usd += price.map_or(0.0, |price| cost_of(price, missing));
        }
        self.exhausted(false)
    }

    /// The limit of tokens or dollars that leaves nothing: exceeded, or used up when there is to be
    /// a further call.
    fn exhausted(&self, is_call: bool) -> Option<ReachedLimit> {
        let tokens = self.usage.input.saturating_add(self.usage.output);
        let tokens = tokens.saturating_add(self.apart.tokens);
        if let Some(limit) = self.limits.tokens
            && (tokens > limit || is_call && tokens == limit)
        {
            return Some(ReachedLimit::Tokens(limit));
        }
        let usd = self.usd + self.apart.usd;
        if let Some(limit) = self.limits.cost_usd
            && (usd > limit + DUST || is_call && usd + DUST >= limit)
        {
            return Some(ReachedLimit::CostUsd(limit));
        }
        None
    }

    pub fn limits(&self) -> &ProxyLimits {
        &self.limits
    }

    pub fn add_fault(&mut self, kind: &str) {
        if self.faults.len() < MOST_NAMES || self.faults.contains_key(kind) {
            *self.faults.entry(kind.to_owned()).or_default() += 1;
        }
    }

    /// A fault of a call of a model.
    pub fn add_turn_fault(&mut self, kind: &str) {
        self.add_fault(kind);
        // Agents go on after a refusal that depends on the request, such as of one that is too long.
        if !matches!(kind, "400" | "404" | "413" | "422") {
            self.last_fault = Some(kind.to_owned());
        }
    }

    pub fn add_denied(&mut self, what: &str) {
        if self.denied.len() < MOST_DENIED {
            let what = eval_base::text::one_line(eval_base::text::truncate_bytes(what, 300));
            self.denied.insert(what);
        }
    }

    pub fn add_unauthorized(&mut self) {
        self.unauthorized += 1;
    }

    /// The report, without the end of the session and its exchanges.
    pub fn report(&self) -> SessionReport {
        let is_cost_known = self.unpriced.is_empty() && (self.reported > 0 || self.turns == 0);
        SessionReport {
            calls: self.calls,
            sent: self.sent,
            turns: self.turns,
            usage: self.usage,
            turns_without_usage: self.turns_without_usage,
            cost_usd: is_cost_known.then_some(self.usd),
            is_lower_bound: self.is_lower_bound,
            models: self.models.iter().cloned().collect(),
            unpriced: self.unpriced.iter().cloned().collect(),
            denied: self.denied.iter().cloned().collect(),
            unauthorized: self.unauthorized,
            upstream_faults: self.faults.clone(),
            last_fault: self.last_fault.clone(),
            ..SessionReport::default()
        }
    }
}

fn add_bounded(names: &mut BTreeSet<String>, name: &str) {
    if names.len() < MOST_NAMES {
        names.insert(eval_base::text::one_line(&eval_base::text::shortened(
            name, 200,
        )));
    }
}

fn sum(a: TokenCounts, b: TokenCounts) -> TokenCounts {
    TokenCounts {
        input: a.input.saturating_add(b.input),
        output: a.output.saturating_add(b.output),
        cached_input: a.cached_input.saturating_add(b.cached_input),
        cache_write: a.cache_write.saturating_add(b.cache_write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: TokenPrice = TokenPrice {
        input: 1.0,
        output: 10.0,
        cached_input: None,
        cache_write: None,
    };

    fn usage(input: u64, output: u64, is_final: bool) -> Option<AnswerUsage> {
        let tokens = TokenCounts {
            input,
            output,
            ..TokenCounts::default()
        };
        Some(AnswerUsage {
            tokens,
            is_final,
            has_extras: false,
        })
    }

    fn answer(ledger: &mut SessionLedger, used: Option<AnswerUsage>) -> Option<ReachedLimit> {
        assert_eq!(
            ledger.begin_turn(CallSpending::default()),
            TurnAdmission::Admitted
        );
        let estimate = TokenCounts {
            input: 50,
            output: 5,
            ..TokenCounts::default()
        };
        ledger.end_turn(
            CallEnd::Answered,
            Some("m"),
            Some(&PRICE),
            CallSpending::default(),
            used,
            estimate,
        )
    }

    #[test]
    fn turns_under_way_are_waited_for_and_failed_ones_are_not_counted() {
        let limits = ProxyLimits {
            turns: Some(2),
            ..ProxyLimits::default()
        };
        let mut ledger = SessionLedger::new(limits);
        answer(&mut ledger, usage(1, 1, true));
        assert_eq!(
            ledger.begin_turn(CallSpending::default()),
            TurnAdmission::Admitted
        );
        assert_eq!(
            ledger.begin_turn(CallSpending::default()),
            TurnAdmission::Wait
        );
        let nothing = (CallSpending::default(), TokenCounts::default());
        ledger.end_turn(CallEnd::Failed, Some("m"), None, nothing.0, None, nothing.1);
        answer(&mut ledger, usage(1, 1, true));
        assert_eq!(
            ledger.begin_turn(CallSpending::default()),
            TurnAdmission::Reached(ReachedLimit::Turns(2))
        );
        assert_eq!(ledger.report().turns, 2);
        assert!(!ledger.report().is_lower_bound);
    }

    #[test]
    fn tokens_may_be_used_up_and_not_exceeded() {
        let limits = ProxyLimits {
            tokens: Some(100),
            ..ProxyLimits::default()
        };
        let mut ledger = SessionLedger::new(limits);
        assert_eq!(answer(&mut ledger, usage(90, 10, true)), None);
        let reached = ReachedLimit::Tokens(100);
        assert_eq!(
            ledger.begin_turn(CallSpending::default()),
            TurnAdmission::Reached(reached)
        );
        let mut ledger = SessionLedger::new(limits);
        assert_eq!(answer(&mut ledger, usage(91, 10, true)), Some(reached));
        // Without a report, the estimate counts for the limit and not for the sum.
        let mut ledger = SessionLedger::new(limits);
        assert_eq!(answer(&mut ledger, None), None);
        assert_eq!(answer(&mut ledger, None), Some(reached));
        let report = ledger.report();
        assert_eq!((report.usage.input, report.turns_without_usage), (0, 2));
        assert_eq!((report.cost_usd, report.is_lower_bound), (None, true));
    }

    #[test]
    fn dollars_are_counted_in_mid_stream_once() {
        let limits = ProxyLimits {
            cost_usd: Some(0.05),
            ..ProxyLimits::default()
        };
        let mut ledger = SessionLedger::new(limits);
        for _ in 0..9 {
            answer(&mut ledger, usage(5_000, 0, true));
        }
        assert_eq!(
            ledger.begin_turn(CallSpending::default()),
            TurnAdmission::Admitted
        );
        let mut spent = CallSpending::default();
        let first = usage(4_000, 0, false).unwrap();
        assert_eq!(ledger.update(&mut spent, &first, Some(&PRICE)), None);
        let more = usage(4_000, 101, false).unwrap();
        let reached = Some(ReachedLimit::CostUsd(0.05));
        assert_eq!(ledger.update(&mut spent, &more, Some(&PRICE)), reached);
        ledger.end_turn(
            CallEnd::Answered,
            Some("m"),
            Some(&PRICE),
            spent,
            Some(more),
            TokenCounts::default(),
        );
        let cost = ledger.report().cost_usd.unwrap();
        assert!((cost - 0.05001).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn calls_that_may_exceed_a_limit_together_wait_and_one_alone_does_not() {
        let limits = ProxyLimits {
            cost_usd: Some(1.0),
            ..ProxyLimits::default()
        };
        let mut ledger = SessionLedger::new(limits);
        let tokens = TokenCounts {
            output: 60_000,
            ..TokenCounts::default()
        };
        let most = CallSpending::of(tokens, Some(&PRICE));
        assert_eq!(ledger.begin_turn(most), TurnAdmission::Admitted);
        assert_eq!(ledger.begin_turn(most), TurnAdmission::Wait);
        let end = |ledger: &mut SessionLedger| {
            ledger.release(most);
            let (spent, none) = (CallSpending::default(), TokenCounts::default());
            let used = usage(0, 50_000, true);
            ledger.end_turn(
                CallEnd::Answered,
                Some("m"),
                Some(&PRICE),
                spent,
                used,
                none,
            )
        };
        assert_eq!(end(&mut ledger), None);
        // Half a dollar is left, and the next one may take more.
        assert_eq!(ledger.begin_turn(most), TurnAdmission::Admitted);
        assert_eq!(ledger.begin_turn(most), TurnAdmission::Wait);
        assert_eq!(end(&mut ledger), None);
        let reached = TurnAdmission::Reached(ReachedLimit::CostUsd(1.0));
        assert_eq!(ledger.begin_turn(most), reached);
    }
}
