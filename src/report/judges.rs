//! How the judges of a run did, as words: the same in every format. Nothing here is escaped.

use std::collections::BTreeMap;

use crate::model::{CalibrationStatus, JudgeHealth, JudgeVotes, JudgeWorth};
use crate::report::figures::{self, number, plural};
use eval_base::text;

/// What is told of all judges together, or of one: labels with words, and what should make people
/// look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgeOverview {
    pub lines: Vec<(&'static str, String)>,
    pub remarks: Vec<String>,
}

/// What concerns verdicts and not single judges.
pub fn of_all(health: &JudgeHealth) -> JudgeOverview {
    let mut told = JudgeOverview::default();
    let errored = match health.errored {
        0 => String::new(),
        n => format!(
            ", {} without a verdict{}",
            number(n),
            in_parentheses(&health.errored_by_cause)
        ),
    };
    told.lines.push((
        "verdicts",
        format!("{} judged{errored}", plural(health.samples, "sample")),
    ));
    if health.panels > 0 {
        let words = match health.disagreeing {
            0 => format!("{} with several votes: all agree", number(health.panels)),
            n => format!(
                "{} with several votes: in {} ({}) the votes disagree on whether it passes",
                number(health.panels),
                number(n),
                share(n, health.panels)
            ),
        };
        told.lines.push(("panels", words));
    }
    if health.not_judged > 0 {
        let words = "was not judged, though its case has a judge";
        let many = "were not judged, though their cases have a judge";
        let n = health.not_judged;
        told.remarks.push(format!(
            "{} {}",
            plural(n, "sample"),
            if n == 1 { words } else { many }
        ));
    }
    if health.neutralised > 0 {
        let verdicts = plural(health.neutralised, "verdict");
        told.remarks.push(format!(
            "{verdicts} on texts with prompt markers or hidden characters, which were made harmless"
        ));
    }
    if health.cut > 0 {
        told.remarks.push(format!(
            "{} on texts that were truncated in the middle",
            plural(health.cut, "verdict")
        ));
    }
    told
}

/// What one judge did.
pub fn of_judge(votes: &JudgeVotes) -> JudgeOverview {
    let mut told = JudgeOverview::default();
    let errored = match votes.all_errored() {
        0 => String::new(),
        n => format!(
            ", {} not usable{}",
            number(n),
            in_parentheses(&votes.errored)
        ),
    };
    let words = format!(
        "{}: {} pass, {} fail{errored}",
        number(votes.votes),
        number(votes.passed),
        number(votes.failed)
    );
    told.lines.push(("votes", words));
    if votes.all_faults() > 0 || votes.repairs > 0 {
        let faults = format!(
            "{} of {} first replies not usable{}",
            number(votes.all_faults()),
            number(votes.replied),
            in_parentheses(&votes.faults)
        );
        let repairs = match votes.repairs {
            0 => String::new(),
            n => format!("; {}", plural(n, "repair request")),
        };
        told.lines.push(("replies", format!("{faults}{repairs}")));
    }
    if votes.pairs > 0 {
        let words = format!(
            "{} of {} of votes on the same question agree ({})",
            number(votes.agreeing_pairs),
            plural(votes.pairs, "pair"),
            share(votes.agreeing_pairs, votes.pairs)
        );
        told.lines.push(("repeats", words));
    }
    if votes.said_otherwise > 0 {
        let n = votes.said_otherwise;
        told.remarks.push(format!(
            "{} stated a verdict that differs from the result of {} scores; the scores count",
            plural(n, "vote"),
            if n == 1 { "its" } else { "their" }
        ));
    }
    if let Some(score) = votes.constant_score {
        told.remarks.push(format!(
            "all {} usable votes gave the same score ({} of the scale): check that the judge can distinguish good outputs from bad ones",
            number(votes.passed + votes.failed),
            figures::rate(score)
        ));
    }
    told
}

/// What the verdicts of a judge are worth, by labels of people.
pub fn of_worth(worth: &JudgeWorth) -> JudgeOverview {
    let mut told = JudgeOverview::default();
    let judged = figures::percent_or_none(worth.judged_rate.value);
    let (rate, judge) = (&worth.corrected_rate, text::one_line(&worth.judge));
    match (rate.value, rate.ci) {
        (Some(value), Some([low, high])) => told.lines.push((
            "people",
            format!(
                "would pass {} ({} to {}) of the outputs of which the judge passes {judged}",
                figures::percent(value),
                figures::percent(low),
                figures::percent(high)
            ),
        )),
        _ => {
            let why = rate.undefined.as_deref().unwrap_or("it is unknown");
            told.remarks.push(match worth.status {
                CalibrationStatus::Void => format!(
                    "judge `{judge}` differs from the one that is calibrated under this name (models, votes, prompt or \
                     rubric): the calibration is not used"
                ),
                CalibrationStatus::Missing => format!("judge `{judge}` is not calibrated"),
                _ => format!("judge `{judge}` passes {judged}; there is no corrected rate: {why}"),
            });
        }
    }
    let labels = plural(worth.labels, "label");
    let of = worth.labels_of.as_deref().map(text::one_line);
    let of = of.map(|of| format!(" ({of})")).unwrap_or_default();
    match worth.status {
        CalibrationStatus::ThisRun => {
            told.lines
                .push(("labels", format!("{labels}, a random draw of this run")));
        }
        CalibrationStatus::AnotherRun => {
            told.lines
                .push(("labels", format!("{labels}, calibrated on another run{of}")));
        }
        CalibrationStatus::Chosen => {
            told.lines.push((
                "labels",
                format!("{labels}, not known to be a random draw{of}"),
            ));
        }
        CalibrationStatus::Void | CalibrationStatus::Missing => {}
    }
    for (name, estimate) in [
        ("sensitivity", &worth.sensitivity),
        ("specificity", &worth.specificity),
    ] {
        if let (Some(value), Some([low, high])) = (estimate.value, estimate.ci) {
            let [value, low, high] = [value, low, high].map(figures::rate);
            told.lines
                .push((name, format!("{value} ({low} to {high})")));
        }
    }
    told
}

fn share(part: u64, whole: u64) -> String {
    figures::percent(part as f64 / whole as f64)
}

/// ` (no_json: 3, cut: 1)`, the commonest first; empty when there is nothing.
fn in_parentheses(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
    counts.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), *name));
    let named: Vec<String> = counts
        .into_iter()
        .map(|(name, n)| format!("{}: {}", text::one_line(name), number(*n)))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        format!(" ({})", named.join(", "))
    }
}
