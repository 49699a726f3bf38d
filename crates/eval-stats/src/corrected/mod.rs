//! What a judge's verdicts are worth against people's labels, and the rates and means that people
//! would have given to all items.
//!
//! Labels are drawn with known chances from a set of items that a judge has judged too. Labels of
//! the items of the figure itself need no assumption about the judge: they measure how often people
//! pass what the judge passes, and what it fails (J. Tenenbein, JASA 65:1350-1361, 1970). Labels of
//! other items measure sensitivity and specificity, which are assumed to hold here too (W. J. Rogan
//! & B. Gladen, American Journal of Epidemiology 107:71-76, 1978).

mod confusion;
mod mean;
mod rate;
#[cfg(test)]
mod tests;

pub use confusion::{JudgeConfusion, LabelledShare, ShareEstimate};
pub use mean::{CorrectedMean, LabelledValue, corrected_mean, difference_of_means};
pub use rate::{CorrectedRate, RateStratum, stratified_rate};
