//! The verdict in words.

use super::detectable::{DetectableContext, EffectSource, MoreSamples};
use super::draft::{ComparisonDraft, TestSubject};
use super::figures::{
    difference, number, p_value, pairs, signed, speaks_about, spoken, test, two_values,
};
use super::values::PairedMeasure;
use super::verdict::{AdjustedTest, of_group};
use super::{ALPHA, POWER};
use crate::model::{CaseRecord, ComparisonVerdict, Detectable, IntervalScope, MetricDifference};
use eval_base::text::{group_digits, plural};
use eval_stats::power::MANY;

/// What the verdict rests on.
pub(super) struct VerdictBasis<'a> {
    /// As graded, at worst and at best.
    pub verdicts: [ComparisonVerdict; 3],
    /// As graded.
    pub tests: &'a [AdjustedTest],
    /// How many tests of all candidates share the level.
    pub family: usize,
    pub detectable: Option<&'a (Detectable, DetectableContext)>,
}

/// The first sentence says the verdict, the others what it rests on.
pub(super) fn sentences(draft: &ComparisonDraft<'_>, deciding: &VerdictBasis<'_>) -> Vec<String> {
    let mut sentences = vec![verdict(draft, deciding)];
    sentences.extend(changed_with_it(draft));
    sentences.extend(at_the_edge(draft, deciding));
    if deciding.verdicts[0] == ComparisonVerdict::None && !deciding.tests.is_empty() {
        sentences.push(match deciding.detectable {
            Some((detectable, about)) => could_have_found(draft, detectable, *about),
            None => "How small a drop could have been found is unknown.".to_owned(),
        });
    }
    sentences.extend(readings(draft, deciding));
    sentences.extend(informing_group(draft, deciding));
    sentences
}

/// The words of a verdict.
pub(super) fn name(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Regression => "regression",
        ComparisonVerdict::Improvement => "improvement",
        ComparisonVerdict::None => "no evidence of a difference",
    }
}

fn verdict(draft: &ComparisonDraft<'_>, deciding: &VerdictBasis<'_>) -> String {
    let verdict = deciding.verdicts[0];
    let p = |test: &&AdjustedTest| match verdict {
        ComparisonVerdict::Improvement => test.p_better,
        _ => test.p_worse,
    };
    let first = deciding.tests.first();
    let lead = match verdict {
        ComparisonVerdict::None => first,
        _ => deciding.tests.iter().min_by(|a, b| p(a).total_cmp(&p(b))),
    };
    let Some(lead) = lead else {
        return nothing_to_test(draft);
    };
    let (row, place) = match lead.of {
        TestSubject::Metric(at) => (draft.rows.get(at), None),
        TestSubject::Group(at) => match draft.groups.get(at) {
            Some((group, row)) => (
                Some(row),
                Some(format!(" in {} {}", group.by.name(), group.name)),
            ),
            None => (None, None),
        },
    };
    let measure = match lead.of {
        TestSubject::Metric(at) => draft.measures.get(at),
        TestSubject::Group(_) => draft.measures.first(),
    };
    let (Some(row), Some(measure)) = (row, measure) else {
        return nothing_to_test(draft);
    };
    let place = place.unwrap_or_default();
    let moved = moved(measure, &row.difference);
    let how = how(
        &row.difference,
        p(&lead),
        deciding,
        verdict,
        draft.pairing.scope(),
    );
    format!("{}{place}: {moved}, {how}", name(verdict))
}

fn nothing_to_test(draft: &ComparisonDraft<'_>) -> String {
    let changes = &draft.pairing.changes;
    let why = match draft.rows.first().map(|row| &row.difference) {
        Some(_) if draft.pairing.pairs.is_empty() && changes.changed.count > 0 => {
            let all = if changes.changed.count == 1 {
                "the one case of both"
            } else {
                "every case of both"
            };
            if changes.changed.only_input_or_grading() {
                format!(
                    "{all} changed in input or grading, and the recorded fingerprints do not show which; run or accept the side of \
                     the earlier version again, or pass `--allow-changed`"
                )
            } else {
                format!(
                    "{all} changed in data or grading; `--allow-changed` compares them all the same"
                )
            }
        }
        Some(_) if draft.pairing.pairs.is_empty() => "no case is the same on both sides".to_owned(),
        _ if !any_graded(draft) => "no case was graded on both sides".to_owned(),
        Some(MetricDifference {
            undefined: Some(reason),
            name,
            ..
        }) => {
            let name = draft.measures.first().map_or_else(|| name.clone(), spoken);
            format!("{name} is undefined: {reason}")
        }
        _ => "nothing could be tested".to_owned(),
    };
    format!("no verdict: {why}")
}

/// What changed in what is compared: that, and not chance, may be the reason of a difference.
fn changed_with_it(draft: &ComparisonDraft<'_>) -> Option<String> {
    let pairing = &draft.pairing;
    let (changes, all) = (&pairing.changes, pairing.pairs.len());
    let of = |n: usize| match (n == all, all) {
        (true, 1) => "the case".to_owned(),
        (true, 2) => "both cases".to_owned(),
        (true, _) => format!("all {} cases", group_digits(n)),
        (false, _) => format!("{} of {} cases", group_digits(n), group_digits(all)),
    };
    let part = |n: usize, what: &str| (n > 0).then(|| format!("{what} of {}", of(n)));
    let (a, b) = (&pairing.reference.side, &pairing.candidate.side);
    let same_name = (&a.target, &a.target_type, &a.model) == (&b.target, &b.target_type, &b.model);
    let settings = same_name
        && a.target_hash.is_some()
        && b.target_hash.is_some()
        && a.target_hash != b.target_hash;
    let parts = [
        part(changes.changed_input, "the input"),
        settings.then(|| "the target's settings".to_owned()),
        part(changes.changed_target, "the target"),
        part(changes.allowed, "the data or grading")
            .map(|part| format!("{part} (--allow-changed)")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty() && all > 0)
        .then(|| format!("Changed since the reference: {}.", parts.join(", ")))
}

/// True when both sides have a grade of a case.
fn any_graded(draft: &ComparisonDraft<'_>) -> bool {
    draft
        .pairing
        .pairs
        .iter()
        .any(|pair| pair.reference.n > 0 && pair.candidate.n > 0)
}

/// `pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9]`
fn moved(measure: &PairedMeasure, row: &MetricDifference) -> String {
    let (Some(before), Some(now), Some(delta)) = (row.reference, row.candidate, row.difference)
    else {
        return format!("{} has no value", spoken(measure));
    };
    let interval = row
        .ci
        .map(|[low, high]| format!(" [{}, {}]", number(measure, low), number(measure, high)))
        .unwrap_or_default();
    let (from, to) = two_values(measure, before, now);
    let name = spoken(measure);
    if delta == 0.0 {
        return format!(
            "{name} is {to} on both sides, {}{interval}",
            difference(measure, 0.0)
        );
    }
    let verb = if delta < 0.0 { "fell" } else { "rose" };
    format!(
        "{name} {verb} from {from} to {to}, {}{interval}",
        signed(measure, delta)
    )
}

/// `p = 0.0004 (one-sided, McNemar with mid-p, 400 cases)`
fn how(
    row: &MetricDifference,
    p: f64,
    deciding: &VerdictBasis<'_>,
    verdict: ComparisonVerdict,
    asked: IntervalScope,
) -> String {
    let method = row.test.as_ref().map_or("", |found| test(&found.method));
    let holm = if deciding.family > 1 {
        format!(" after Holm over {} tests", deciding.family)
    } else {
        String::new()
    };
    let side = match verdict {
        ComparisonVerdict::None => "one-sided: is it worse?",
        _ => "one-sided",
    };
    format!(
        "p{}{holm} ({side}, {method}, {})",
        p_value(p, ALPHA),
        pairs(row, asked)
    )
}

/// A one-sided test at 5 % and a two-sided interval at 95 % ask different questions, so that they
/// may seem to disagree.
fn at_the_edge(draft: &ComparisonDraft<'_>, deciding: &VerdictBasis<'_>) -> Option<String> {
    let row = &draft.rows.first()?.difference;
    let ([low, high], higher) = (row.ci?, row.higher_is_better?);
    let found = row.test.as_ref().filter(|found| found.decides)?;
    let (worse, better) = if higher {
        (high < 0.0, low > 0.0)
    } else {
        (low > 0.0, high < 0.0)
    };
    let below = |p: Option<f64>| p.is_some_and(|p| p < ALPHA);
    let (is_worse, is_better) = (
        below(found.p_worse_adjusted),
        below(found.p_better_adjusted),
    );
    if (is_worse && !worse) || (is_better && !better) {
        let (question, p) = if is_worse {
            ("worse", found.p_worse)
        } else {
            ("better", found.p_better)
        };
        let about = speaks_about(&draft.rows.first()?.difference, draft.pairing.scope());
        return Some(if p >= ALPHA / 2.0 {
            format!(
                "The interval reaches 0 because it allows 2.5 % on either side; the test asks only whether the candidate is {question}, at \
                 5 %."
            )
        } else if about == IntervalScope::TheseCases {
            "The interval reaches 0 because it speaks about cases like these; the test asks only about these."
                .to_owned()
        } else {
            "The interval reaches 0, but the test reaches 5 %: they are made in different ways, and the test decides.".to_owned()
        });
    }
    if (worse && !is_worse) || (better && !is_better) {
        return Some(if deciding.family > 1 {
            format!(
                "The interval leaves 0 out, but it stands alone; the verdict allows 5 % to all {} tests together.",
                deciding.family
            )
        } else {
            "The interval leaves 0 out, but the test does not reach 5 %: they are made in different ways, and the test decides."
                .to_owned()
        });
    }
    None
}

/// What the comparison could have found, and what it would take to find less.
fn could_have_found(
    draft: &ComparisonDraft<'_>,
    found: &Detectable,
    about: DetectableContext,
) -> String {
    let Some(measure) = draft.measures.first() else {
        return String::new();
    };
    let n = draft.rows.first().map_or(0, |row| row.difference.n);
    let unit = measure.unit.name();
    let drop = if measure.higher_is_better == Some(false) {
        "rise"
    } else {
        "drop"
    };
    let size = |value: f64| difference(measure, value);
    let percent = POWER * 100.0;
    let Some(least) = found.drop else {
        let begin = format!(
            "No {drop} could be found with {percent:.0} % chance by this test of these {unit}s"
        );
        let nothing_to_lose = draft.rows.first().is_some_and(|row| {
            measure.share
                && row.difference.reference == Some(0.0)
                && row.difference.candidate == Some(0.0)
        });
        return match found.cases {
            Some(cases) if found.effect.is_some() => {
                format!(
                    "{begin}; it takes about {} {unit}s like these.",
                    group_digits(cases as usize)
                )
            }
            _ if nothing_to_lose => format!("{begin}: nothing is left to lose."),
            _ => format!("{begin}: add {unit}s."),
        };
    };
    let begin = format!(
        "A true {drop} of {} would have been found with {percent:.0} % chance",
        size(least)
    );
    let Some(sought) = found.effect else {
        return format!("{begin}.");
    };
    let effect = match about.of {
        EffectSource::Asked => format!("for the required {}", size(sought)),
        EffectSource::Observed => format!("for the observed {}", size(sought)),
        EffectSource::Half => format!("for half of that, {},", size(sought)),
    };
    if sought >= least {
        let are = if n == 1 { "is" } else { "are" };
        return format!(
            "{begin}; {effect} the {} here {are} enough.",
            plural(n, unit)
        );
    }
    let cases = match found.cases {
        Some(cases) => format!(
            "about {} {unit}s like these would be needed",
            group_digits(cases as usize)
        ),
        None => format!(
            "up to {} million {unit}s like these would not be enough",
            MANY / 1_000_000
        ),
    };
    let samples = match (about.samples, found.samples) {
        (MoreSamples::Known, Some(samples)) => {
            let samples = plural(samples as usize, "sample");
            match found.cases {
                Some(_) => format!(", or {samples} of each"),
                None => format!("; {samples} of each of these would be"),
            }
        }
        (MoreSamples::Futile, _) => {
            "; more samples of the same cases would not be enough".to_owned()
        }
        _ => String::new(),
    };
    format!("{begin}; {effect} {cases}{samples}.")
}

/// What samples without a grade leave open.
fn readings(draft: &ComparisonDraft<'_>, deciding: &VerdictBasis<'_>) -> Option<String> {
    if !draft.open {
        return None;
    }
    let [graded, worst, best] = deciding.verdicts;
    let open =
        |case: &CaseRecord| case.planned().saturating_sub(case.n).max(case.ungraded) as usize;
    let (mut before, mut now) = (0, 0);
    for pair in &draft.pairing.pairs {
        before += open(pair.reference);
        now += open(pair.candidate);
    }
    let have = if before + now == 1 { "has" } else { "have" };
    let count = format!(
        "{} of the compared cases {have} no grade ({before} of the reference, {now} of the candidate)",
        plural(before + now, "sample")
    );
    Some(if worst == graded && best == graded {
        format!("{count}; the verdict is the same whichever way they had gone.")
    } else {
        format!(
            "{count}: had they gone against the candidate, the verdict would be `{}`, and had they gone for it, `{}`.",
            name(worst),
            name(best)
        )
    })
}

/// A group that only informs, where the whole shows nothing.
fn informing_group(draft: &ComparisonDraft<'_>, deciding: &VerdictBasis<'_>) -> Option<String> {
    if deciding.verdicts[0] != ComparisonVerdict::None {
        return None;
    }
    let measure = draft.measures.first()?;
    let worse = draft.groups.iter().filter_map(|(group, row)| {
        let test = row.difference.test.as_ref().filter(|test| !test.decides)?;
        let p = test
            .p_worse_adjusted
            .filter(|_| of_group(test) == ComparisonVerdict::Regression)?;
        Some((group, row, p))
    });
    let (group, row, p) = worse.min_by(|a, b| a.2.total_cmp(&b.2))?;
    let tests = draft
        .groups
        .iter()
        .filter(|(other, row)| other.by == group.by && row.difference.test.is_some())
        .count();
    let holm = if tests > 1 {
        format!(" after Holm over {tests} groups")
    } else {
        String::new()
    };
    Some(format!(
        "Alone, {} {} is worse: {}, p{}{holm}. It decides nothing here; `--by {}` lets such groups decide.",
        group.by.name(),
        group.name,
        moved(measure, &row.difference),
        p_value(p, ALPHA),
        group.by.name(),
    ))
}
