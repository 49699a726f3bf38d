//! Estimators, intervals and resampling; pure functions of counts and scores.
//!
//! Nothing here guesses: what data can't answer is [`UndefinedReason`] with its reason, never a number.
//! Randomness comes from a seed that the caller hands in, through a generator whose stream is
//! fixed, so the same data and seed give the same digits.
//!
//! ```
//! use eval_stats::{UndefinedReason, pass_at_k};
//!
//! // One of three samples passed: two drawn at random hold it with a chance of 2/3.
//! assert!((pass_at_k(3, 1, 2)? - 2.0 / 3.0).abs() < 1e-12);
//! assert_eq!(pass_at_k(1, 1, 3), Err(UndefinedReason::TooFewSamples { n: 1, k: 3 }));
//! # Ok::<(), UndefinedReason>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

mod agreement;
mod binomial;
mod bisection;
mod corrected;
mod distributions;
mod draws;
mod interval;
pub mod likelihood;
mod paired;
mod parallel;
mod pass_rates;
pub mod power;
mod quantile;
mod ranking;
mod sampling;
mod thresholds;
mod values;

pub use agreement::{
    Agreement, AgreementMeasure, MIN_ITEMS, RatingDistance, RatingTable, RatingWeights,
    agreement_interval, cohen_interval, cohen_kappa,
};
pub use corrected::{
    CorrectedMean, CorrectedRate, JudgeConfusion, LabelledShare, LabelledValue, RateStratum,
    ShareEstimate, corrected_mean, difference_of_means, stratified_rate,
};
pub use interval::{Interval, IntervalMethod, normal_quantile};
pub use paired::{
    CaseDeal, DealKinds, MetricPairs, PairedResult, PairedTest, ResamplingOptions, TestMethod,
    holm, mcnemar_mid_p, paired, tested_units,
};
pub use parallel::in_parallel;
pub use pass_rates::{PassCurve, pass_at_k, pass_hat_k, pass_hat_k_unbiased};
pub use quantile::{mean, percentile, weighted_mean};
pub use ranking::{PairVerdict, PairwiseScores, ScoreEstimate, pairwise_scores};
pub use sampling::{inclusion_weights, label_order};
pub use thresholds::{reaches, stays_within};
pub use values::{KEPT_VALUES, ValueSeries};

/// Why a figure has no value. The text completes "undefined: ...".
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum UndefinedReason {
    #[error("k is 0")]
    ZeroK,
    #[error("needs {k} samples per case, but found {n}")]
    TooFewSamples { n: u64, k: u64 },
    #[error("{c} of {n} samples passed, which is impossible")]
    MorePassesThanSamples { n: u64, c: u64 },
    #[error("no data")]
    NoData,
    #[error("an interval needs at least 2 {unit}, but found {n}")]
    TooFewUnits { n: usize, unit: &'static str },
    #[error("all values are equal, so resampling can't estimate their spread")]
    NoVariation,
    #[error("a value or weight is not a finite number")]
    NotFinite,
    #[error("a weight is negative, or all weights are 0")]
    Weights,
    #[error("the confidence level must lie between 0 and 1")]
    Level,
    #[error("resampling needs at least 100 resamples")]
    TooFewResamples,
    #[error("a percentile must lie between 0 and 1")]
    Percentile,
    #[error("the two sides have {left} and {right} values, but pairs are required")]
    Unpaired { left: usize, right: usize },
    #[error("all ratings have the same single label, so chance agreement is complete")]
    OneLabel,
    #[error("needs at least {needed} items with two or more ratings, but found {n}")]
    TooFewItems { n: usize, needed: usize },
    #[error("needs at least {needed} labels, but found {n}")]
    TooFewLabels { n: usize, needed: usize },
    #[error("one rating is so rare that more than 5 % of resamples lack it")]
    TooRare,
    #[error("raters agree in one category only, which is too few for an interval")]
    AgreedCategory,
    #[error("the judge's verdicts can't be distinguished from chance")]
    LikeChance,
    #[error(
        "some never lost to the others, or were never compared with them, so no finite scores fit"
    )]
    Separated,
    #[error("a comparison needs two different players and a share between 0 and 1")]
    Pairs,
    #[error("a scale needs two or more ascending values, and ratings that are among them")]
    Scale,
}
