//! How the judges of a run did, as words: the same in every format. Nothing here is escaped.

use std::collections::BTreeMap;

use crate::model::{JudgeHealth, JudgeVotes};
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
