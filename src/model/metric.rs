//! The names of metrics: what thresholds may demand and reports show.

use std::fmt;
use std::str::FromStr;

use crate::spec::words::Bound;

/// A metric of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Chance that at least one of k samples passes.
    PassAt(u32),
    /// Chance that all of k samples pass, as (c/n)^k.
    PassHat(u32),
    /// The same without the bias of (c/n)^k: C(c,k)/C(n,k).
    PassHatUnbiased(u32),
    /// Share of graded evals that passed.
    PassRate,
    CapabilityPassRate,
    RegressionPassRate,
    /// Share of graded cases that passed.
    CasePassRate,
    /// Mean score of graded cases.
    Score,
    /// Weighted mean score of graded evals.
    WeightedScore,
    LatencyMeanMs,
    LatencyP50Ms,
    LatencyP95Ms,
    TokensInput,
    TokensOutput,
    Tokens,
    CostUsd,
    /// Samples that failed.
    FailedSamples,
    /// Samples that errored.
    ErroredSamples,
    /// Samples that passed only on a later attempt.
    FlakySamples,
}

/// Metrics whose name has no k.
pub const PLAIN_METRICS: [(Metric, &str); 16] = [
    (Metric::PassRate, "pass_rate"),
    (Metric::CapabilityPassRate, "capability_pass_rate"),
    (Metric::RegressionPassRate, "regression_pass_rate"),
    (Metric::CasePassRate, "case_pass_rate"),
    (Metric::Score, "score"),
    (Metric::WeightedScore, "weighted_score"),
    (Metric::LatencyMeanMs, "latency_mean_ms"),
    (Metric::LatencyP50Ms, "latency_p50_ms"),
    (Metric::LatencyP95Ms, "latency_p95_ms"),
    (Metric::TokensInput, "tokens_input"),
    (Metric::TokensOutput, "tokens_output"),
    (Metric::Tokens, "tokens"),
    (Metric::CostUsd, "cost_usd"),
    (Metric::FailedSamples, "failed_samples"),
    (Metric::ErroredSamples, "errored_samples"),
    (Metric::FlakySamples, "flaky_samples"),
];

impl Metric {
    /// What a bare number demands of it: more of a good thing, less of a bad one.
    pub fn bound(self) -> Bound {
        use Metric::*;
        match self {
            LatencyMeanMs | LatencyP50Ms | LatencyP95Ms | TokensInput | TokensOutput | Tokens | CostUsd
            | FailedSamples | ErroredSamples | FlakySamples => Bound::Max,
            _ => Bound::Min,
        }
    }

    /// True when its values lie in [0, 1].
    pub fn is_share(self) -> bool {
        self.bound() == Bound::Min
    }

    /// Samples of each case that it needs.
    pub fn k(self) -> Option<u32> {
        match self {
            Metric::PassAt(k) | Metric::PassHat(k) | Metric::PassHatUnbiased(k) => Some(k),
            _ => None,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::PassAt(k) => write!(f, "pass_at_{k}"),
            Metric::PassHat(k) => write!(f, "pass_hat_{k}"),
            Metric::PassHatUnbiased(k) => write!(f, "pass_hat_{k}_unbiased"),
            plain => {
                let name =
                    PLAIN_METRICS.iter().find(|(metric, _)| metric == plain).map_or("", |(_, name)| name);
                f.write_str(name)
            }
        }
    }
}

/// The text names no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric")]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    /// Takes the canonical names and `pass@K`, `pass^K`.
    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        if let Some((metric, _)) = PLAIN_METRICS.iter().find(|(_, name)| *name == text) {
            return Ok(*metric);
        }
        let k = |digits: &str| match digits.parse::<u32>() {
            Ok(k) if k > 0 && !digits.starts_with(['+', '0']) => Ok(k),
            _ => Err(UnknownMetric(text.to_owned())),
        };
        if let Some(rest) = text.strip_prefix("pass_at_").or_else(|| text.strip_prefix("pass@")) {
            return k(rest).map(Metric::PassAt);
        }
        if let Some(rest) = text.strip_prefix("pass_hat_").or_else(|| text.strip_prefix("pass^")) {
            return match rest.strip_suffix("_unbiased") {
                Some(rest) => k(rest).map(Metric::PassHatUnbiased),
                None => k(rest).map(Metric::PassHat),
            };
        }
        Err(UnknownMetric(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_other_spellings_mean_the_same() {
        let mut all: Vec<Metric> = PLAIN_METRICS.iter().map(|(metric, _)| *metric).collect();
        all.extend([Metric::PassAt(1), Metric::PassHat(3), Metric::PassHatUnbiased(10)]);
        for metric in all {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
        assert_eq!("pass@5".parse(), Ok(Metric::PassAt(5)));
        assert_eq!("pass^3".parse(), Ok(Metric::PassHat(3)));
        for wrong in ["pass@0", "pass@", "pass@01", "pass@-1", "pass_at_k", "latency", ""] {
            assert_eq!(wrong.parse::<Metric>(), Err(UnknownMetric(wrong.into())));
        }
    }
}
