//! The names of metrics: what thresholds may demand and reports show; and metrics that are made of
//! others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::part::split_part;
use crate::spec::words::Bound;
use eval_base::text;

/// A metric of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Share of judged samples of which a judge gave no verdict.
    JudgeErroredRate,
    /// Share of votes with a reply whose first reply could not be used.
    JudgeParseFailureRate,
    /// Requests for repair over votes with a reply.
    JudgeRepairRate,
    /// Share of panels of several votes whose votes do not all agree.
    JudgeDisagreementRate,
    /// Share of pairs of votes of one model on one question that agree.
    JudgeConsistency,
    /// The pass rate that people would give, by the calibrations of the judges.
    CorrectedPassRate,
    CorrectedCasePassRate,
    CorrectedPassAt1,
    /// Share of what people pass that the judge passes; of several judges, the lowest.
    JudgeSensitivity,
    /// Share of what people fail that the judge fails; of several judges, the lowest.
    JudgeSpecificity,
    /// What graders measure, or the suite computes, under a name of the author's.
    Named(String),
}

/// What is known of a number that graders measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumberKind {
    /// A score in [0, 1], 1 the best.
    Score,
    /// At least 0, and better the lower: an edit rate.
    Rate,
    /// Any finite number; nobody said which way is better.
    Number,
}

/// The longest name of a metric.
const LONGEST_NAME: usize = 64;

/// What is wrong with a name that an author gives a metric; it completes "`name` ...".
pub fn name_fault(name: &str) -> Option<String> {
    if !has_form_of_name(name) {
        Some(
            "is not a metric name: use lower-case letters, digits and `_`, beginning with a letter"
                .to_owned(),
        )
    } else if name.len() > LONGEST_NAME {
        Some(format!("is longer than {LONGEST_NAME} characters"))
    } else if !matches!(name.parse(), Ok(Metric::Named(_))) {
        Some("is the name of a built-in metric".to_owned())
    } else {
        None
    }
}

/// Metrics whose name has no k.
pub const PLAIN_METRICS: [(Metric, &str); 26] = [
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
    (Metric::JudgeErroredRate, "judge_errored_rate"),
    (Metric::JudgeParseFailureRate, "judge_parse_failure_rate"),
    (Metric::JudgeRepairRate, "judge_repair_rate"),
    (Metric::JudgeDisagreementRate, "judge_disagreement_rate"),
    (Metric::JudgeConsistency, "judge_consistency"),
    (Metric::CorrectedPassRate, "corrected_pass_rate"),
    (Metric::CorrectedCasePassRate, "corrected_case_pass_rate"),
    (Metric::CorrectedPassAt1, "corrected_pass_at_1"),
    (Metric::JudgeSensitivity, "judge_sensitivity"),
    (Metric::JudgeSpecificity, "judge_specificity"),
];

fn has_form_of_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

impl Metric {
    /// What a bare number demands of it: more of a good thing, less of a bad one.
    pub fn bound(&self) -> Bound {
        use Metric::*;
        match self {
            LatencyMeanMs
            | LatencyP50Ms
            | LatencyP95Ms
            | TokensInput
            | TokensOutput
            | Tokens
            | CostUsd
            | FailedSamples
            | ErroredSamples
            | FlakySamples
            | JudgeErroredRate
            | JudgeParseFailureRate
            | JudgeRepairRate
            | JudgeDisagreementRate => Bound::Max,
            _ => Bound::Min,
        }
    }

    /// True when its values are known to lie in [0, 1].
    pub fn is_share(&self) -> bool {
        use Metric::*;
        match self {
            Named(_) => false,
            // Several repairs may be asked for of one vote.
            JudgeErroredRate | JudgeParseFailureRate | JudgeDisagreementRate => true,
            metric => metric.bound() == Bound::Min,
        }
    }

    /// True for the pass@1 of a part of the tests, such as `pass_at_1_base`.
    pub fn is_pass_of_tests(&self) -> bool {
        matches!(self, Metric::Named(name) if name.starts_with("pass_at_"))
    }

    /// True for what measures judges and not the target.
    pub fn is_of_judges(&self) -> bool {
        use Metric::*;
        matches!(
            self,
            JudgeErroredRate
                | JudgeParseFailureRate
                | JudgeRepairRate
                | JudgeDisagreementRate
                | JudgeConsistency
                | JudgeSensitivity
                | JudgeSpecificity
        )
    }

    /// True for what rests on calibrations of judges.
    pub fn is_of_calibrations(&self) -> bool {
        use Metric::*;
        matches!(self, JudgeSensitivity | JudgeSpecificity) || self.uncorrected().is_some()
    }

    /// The metric with the verdicts of people instead of those of calibrated judges.
    pub fn corrected(&self) -> Option<Metric> {
        match self {
            Metric::PassRate => Some(Metric::CorrectedPassRate),
            Metric::CasePassRate => Some(Metric::CorrectedCasePassRate),
            Metric::PassAt(1) => Some(Metric::CorrectedPassAt1),
            _ => None,
        }
    }

    /// The metric with the verdicts of judges, of one that is corrected.
    pub fn uncorrected(&self) -> Option<Metric> {
        match self {
            Metric::CorrectedPassRate => Some(Metric::PassRate),
            Metric::CorrectedCasePassRate => Some(Metric::CasePassRate),
            Metric::CorrectedPassAt1 => Some(Metric::PassAt(1)),
            _ => None,
        }
    }

    /// True when its estimates may carry an interval. What judges did is observed, like latencies:
    /// votes on one question are no independent figures.
    pub fn may_have_interval(&self) -> bool {
        matches!(self, Metric::Named(_))
            || self.is_of_calibrations()
            || self.is_share() && !self.is_of_judges()
    }

    /// Samples of each case that it needs.
    pub fn k(&self) -> Option<u32> {
        match self {
            Metric::PassAt(k) | Metric::PassHat(k) | Metric::PassHatUnbiased(k) => Some(*k),
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
            Metric::Named(name) => f.write_str(name),
            plain => {
                let name = PLAIN_METRICS
                    .iter()
                    .find(|(metric, _)| metric == plain)
                    .map_or("", |(_, name)| name);
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

    /// Takes the canonical names, `pass@K`, `pass^K`, and any other text that has the form of a
    /// metric's name: whether something measures that is not known here.
    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        if let Some((metric, _)) = PLAIN_METRICS.iter().find(|(_, name)| *name == text) {
            return Ok(metric.clone());
        }
        let k = |digits: &str| match digits.parse::<u32>() {
            Ok(k) if k > 0 && !digits.starts_with(['+', '0']) => Ok(k),
            _ => Err(UnknownMetric(text.to_owned())),
        };
        if let Some(rest) = text
            .strip_prefix("pass_at_")
            .or_else(|| text.strip_prefix("pass@"))
        {
            // One of a part of the tests, which graders measure: `pass_at_1_base`.
            return match rest.split_once('_') {
                Some((digits, part)) if has_form_of_name(part) => {
                    let k = k(digits)?;
                    Ok(Metric::Named(format!("pass_at_{k}_{part}")))
                }
                _ => k(rest).map(Metric::PassAt),
            };
        }
        if let Some(rest) = text
            .strip_prefix("pass_hat_")
            .or_else(|| text.strip_prefix("pass^"))
        {
            return match rest.strip_suffix("_unbiased") {
                Some(rest) => k(rest).map(Metric::PassHatUnbiased),
                None => k(rest).map(Metric::PassHat),
            };
        }
        if has_form_of_name(text) && text.len() <= LONGEST_NAME {
            Ok(Metric::Named(text.to_owned()))
        } else {
            Err(UnknownMetric(text.to_owned()))
        }
    }
}

/// A metric that is the weighted mean of others, each scaled to 0 (bad) to 1 (good).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Composite {
    pub name: String,
    /// The parts, at least one; at least one weight is above 0.
    pub components: Vec<Component>,
}

/// One part of a composite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Component {
    /// A metric's canonical name.
    pub metric: String,
    /// Finite and at least 0.
    pub weight: f64,
    /// True when lower values are better.
    pub invert: bool,
    /// The values that score 0 and 1, the lower first; values outside score 0 or 1.
    pub range: [f64; 2],
}

impl Component {
    /// A value of its metric as a share in [0, 1], 1 the best.
    pub fn share(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        if self.invert { 1.0 - share } else { share }
    }
}

/// A metric's name as files spell it and reports show it: `pass_at_3` is `pass@3`, `pass_hat_3` is
/// `pass^3`; others stay.
pub fn spelled_metric(metric: &str) -> String {
    let signs = [("pass_at_", "pass@"), ("pass_hat_", "pass^")];
    let spelled =
        |(prefix, sign): (&str, &str)| Some(format!("{sign}{}", metric.strip_prefix(prefix)?));
    let spelled = signs.into_iter().find_map(spelled);
    spelled.unwrap_or_else(|| metric.to_owned())
}

/// A metric's name as reports show it: `pass_at_3` is `pass@3`, `pass_hat_3` is `pass^3`; a
/// part of the run in brackets, `pass@3 [tag=critical]`.
pub fn shown_metric(metric: &str) -> String {
    if metric == "cost_usd_per_sample" {
        return "cost per sample".to_owned();
    }
    if let (metric, Some(part)) = split_part(metric) {
        return format!("{} [{}]", shown_metric(metric), text::one_line(part));
    }
    if let Some(raw) = metric.strip_prefix("corrected_") {
        return format!("corrected {}", shown_metric(raw));
    }
    for (prefix, sign) in [("pass_at_", '@'), ("pass_hat_", '^')] {
        let Some(rest) = metric.strip_prefix(prefix) else {
            continue;
        };
        let (k, variant) = rest.split_once('_').unwrap_or((rest, ""));
        if k.is_empty() || !k.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let name = format!("pass{sign}{k}");
        return if variant.is_empty() {
            name
        } else {
            format!("{name} ({})", variant.replace('_', " "))
        };
    }
    let name = ["_ms", "_usd", "_seconds"]
        .iter()
        .find_map(|unit| metric.strip_suffix(unit))
        .unwrap_or(metric);
    text::one_line(&name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_other_spellings_mean_the_same() {
        let mut all: Vec<Metric> = PLAIN_METRICS
            .iter()
            .map(|(metric, _)| metric.clone())
            .collect();
        all.extend([
            Metric::PassAt(1),
            Metric::PassHat(3),
            Metric::PassHatUnbiased(10),
        ]);
        for metric in all {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
        assert_eq!("pass@5".parse(), Ok(Metric::PassAt(5)));
        assert_eq!("pass^3".parse(), Ok(Metric::PassHat(3)));
        for wrong in [
            "pass@0",
            "pass@",
            "pass@01",
            "pass@-1",
            "pass_at_0",
            "pass_hat_x",
            "Latency",
            "a-b",
            "_a",
            "",
        ] {
            assert_eq!(wrong.parse::<Metric>(), Err(UnknownMetric(wrong.into())));
        }
        let base = Metric::Named("pass_at_1_base".into());
        assert!(base.is_pass_of_tests());
        assert_eq!("pass@1_base".parse(), Ok(base));
        assert_eq!(shown_metric("pass_at_1_base"), "pass@1 (base)");
        assert_eq!("edit_rate".parse(), Ok(Metric::Named("edit_rate".into())));
        assert_eq!(Metric::Named("edit_rate".into()).to_string(), "edit_rate");
    }

    #[test]
    fn authors_names_are_of_one_form_and_take_nothing_away() {
        let fault = |name: &str| name_fault(name).unwrap_or_default();
        for good in ["edit_rate", "f1", "a", &"x".repeat(64)] {
            assert_eq!(fault(good), "", "{good}");
        }
        for bad in ["", "F1", "1f", "_a", "a-b", "a b", "é"] {
            assert!(fault(bad).starts_with("is not a metric name: use"), "{bad}");
        }
        for taken in [
            "pass_rate",
            "pass_at_1",
            "pass_hat_3",
            "pass_hat_2_unbiased",
            "pass_at_x",
            "latency_p95_ms",
        ] {
            assert_eq!(fault(taken), "is the name of a built-in metric", "{taken}");
        }
        assert_eq!(fault(&"x".repeat(65)), "is longer than 64 characters");
    }

    #[test]
    fn components_are_shares_within_their_range() {
        let component = |invert, range| Component {
            metric: "m".into(),
            weight: 1.0,
            invert,
            range,
        };
        let latency = component(true, [0.0, 2000.0]);
        assert_eq!(
            [500.0, 0.0, 2000.0, 9e9, -1.0].map(|ms| latency.share(ms)),
            [0.75, 1.0, 0.0, 0.0, 1.0]
        );
        let rating = component(false, [1.0, 5.0]);
        assert_eq!(
            [1.0, 4.0, 7.0].map(|value| rating.share(value)),
            [0.0, 0.75, 1.0]
        );
    }
}
