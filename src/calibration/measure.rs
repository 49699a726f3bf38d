//! From verdicts and labels to figures. Pure.

use std::collections::BTreeSet;

use super::{JudgedOutput, JudgedOutputs};
use crate::model::{
    BiasFigure, Estimate, FigureGroup, JudgeCalibration, JudgeFigures, LabelDifference, LabelDraw,
    LabelsNeeded, NextLabel, PeopleFigures, ScoreFigures,
};
use crate::ratings::rank;
use crate::spec::{CALIBRATION_VERSION, CalibrationFile, ConfusionRow, LabelOrigin};
use eval_base::text::group_digits;
use eval_stats::{
    AgreementMeasure, Interval, JudgeConfusion, LabelledValue, RatingDistance, RatingTable,
    ShareEstimate, UndefinedReason, agreement_interval, cohen_interval, cohen_kappa,
    corrected_mean, difference_of_means, inclusion_weights, label_order, mean,
};

/// Confidence of all intervals.
const LEVEL: f64 = 0.95;
/// Differences that are listed.
const MOST_DIFFERENCES: usize = 50;
/// The share of the labelling order that ignores doubts, so that any output may be drawn.
const AT_RANDOM: f64 = 0.5;
/// Labels that follow the order by accident with a smaller chance than this are taken as drawn by it.
const ACCIDENT: f64 = 1e-4;
/// Why a figure of labels that were chosen is not given.
pub(super) const CHOSEN: &str = "the labelled outputs are not known to be a random draw";

/// How to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasureOptions {
    /// Of the bootstrap and of the labelling order.
    pub seed: u64,
    /// The labelled outputs were drawn at random, as their author says.
    pub is_random: bool,
    /// The width of intervals that numbers of labels are given for.
    pub width: f64,
    /// Outputs to label next.
    pub next: usize,
}

/// The labels that count, and what each weighs.
struct DrawnLabels<'a> {
    draw: LabelDraw,
    labels: Vec<DrawnLabel<'a>>,
    /// The order in which outputs should be labelled.
    order: Vec<usize>,
    /// Labelled outputs that were not drawn, beside some that were.
    left_out: usize,
}

#[derive(Clone, Copy)]
struct DrawnLabel<'a> {
    output: &'a JudgedOutput,
    judged: bool,
    people: bool,
    weight: f64,
}

/// The figures of a judge, the calibration that they make (for a judge that is known), and remarks.
pub fn calibrate(
    judged: &JudgedOutputs,
    origin: &LabelOrigin,
    calibrated_at: &str,
    options: &MeasureOptions,
) -> (JudgeCalibration, Option<CalibrationFile>, Vec<String>) {
    let whole: Vec<&JudgedOutput> = judged
        .outputs
        .iter()
        .filter(|output| output.criterion.is_none() && output.passed.is_some())
        .collect();
    let passed = |output: &&&JudgedOutput| output.passed == Some(true);
    let judged_passed = whole.iter().filter(passed).count() as u64;
    let drawn = drawn(&whole, options);
    let confusion = confusion(&drawn.labels);
    let n = whole.len() as u64;
    let mut notes = Vec::new();
    if drawn.left_out > 0 {
        notes.push(format!(
            "{}: {} labelled outputs are left out, since they were not drawn like the others",
            judged.judge,
            group_digits(drawn.left_out)
        ));
    }
    let corrected_rate = match drawn.draw {
        LabelDraw::Random => corrected(&confusion, judged_passed, n),
        LabelDraw::Chosen => unknown(CHOSEN),
    };
    let undecided = whole
        .iter()
        .filter(|output| output.people() != [0, 0] && output.people_pass().is_none())
        .count() as u64;
    let identity = judged.identity.as_ref();
    let measured = JudgeCalibration {
        name: judged.judge.clone(),
        fingerprint: identity.map(|judge| judge.fingerprint.clone()),
        models: identity.map_or_else(Vec::new, |judge| judge.models.clone()),
        votes: identity.map(|judge| judge.votes),
        judged: n,
        judged_passed,
        draw: drawn.draw,
        undecided,
        overall: figures(&drawn.labels, options.seed),
        judged_rate: match n {
            0 => unknown("no verdict of the judge has a label"),
            n => known(judged_passed as f64 / n as f64, n as usize),
        },
        corrected_rate,
        scores: scores(judged, &drawn),
        people: people(judged, options.seed),
        groups: groups(judged, &drawn.labels, options.seed),
        biases: biases(&drawn.labels),
        differences: differences(&whole),
        labels_needed: needed(&confusion, &drawn, (judged_passed, n), options.width),
        next: next(&whole, &drawn.order, options.next),
    };
    let file = identity
        .filter(|_| !drawn.labels.is_empty())
        .map(|judge| CalibrationFile {
            format_version: CALIBRATION_VERSION,
            judge: judged.judge.clone(),
            fingerprint: judge.fingerprint.clone(),
            models: judge.models.clone(),
            votes: judge.votes,
            calibrated_at: calibrated_at.to_owned(),
            labels: LabelOrigin {
                draw: drawn.draw,
                judged: n,
                judged_passed,
                reviewers: reviewers(&whole),
                ..origin.clone()
            },
            confusion: rows(&drawn.labels),
        });
    (measured, file, notes)
}

fn reviewers(outputs: &[&JudgedOutput]) -> Vec<String> {
    let names: BTreeSet<&str> = outputs
        .iter()
        .flat_map(|output| &output.labels)
        .map(|label| label.reviewer.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Which labels count: all of them where they are a draw as a whole, else those that follow the
/// labelling order from its beginning, else all of them as chosen ones.
fn drawn<'a>(whole: &[&'a JudgedOutput], options: &MeasureOptions) -> DrawnLabels<'a> {
    // As queues of reviews draw, whatever the order of the journal.
    let mut by_key: Vec<usize> = (0..whole.len()).collect();
    let key = |at: &usize| whole.get(*at).map_or("", |output| output.key.as_str());
    by_key.sort_by(|a, b| key(a).cmp(key(b)));
    let sorted = by_key.iter().filter_map(|at| whole.get(*at));
    let doubts: Vec<f64> = sorted.map(|output| output.doubt).collect();
    let places = |order: Vec<usize>| -> Vec<usize> {
        let places = order.iter().filter_map(|at| by_key.get(*at).copied());
        places.collect()
    };
    let drawn = label_order(&doubts, AT_RANDOM, options.seed);
    let by_doubt = places(drawn.unwrap_or_default());
    let mut evenly = by_key.clone();
    if whole.iter().any(|output| output.key.is_empty()) {
        let drawn = label_order(&vec![0.0; whole.len()], 1.0, options.seed);
        evenly = places(drawn.unwrap_or_default());
    } else {
        evenly.sort_by_cached_key(|at| rank(options.seed, &["sample", key(at)]));
    }
    let is_labelled = |at: &usize| {
        let output = whole.get(*at);
        output.is_some_and(|output| output.people() != [0, 0])
    };
    let all = (0..whole.len()).filter(is_labelled).count();
    let follows = |order: &[usize]| order.iter().take_while(|at| is_labelled(at)).count();
    let (doubtful, even) = (follows(&by_doubt), follows(&evenly));
    let count = doubtful.max(even);
    // A choice of as many outputs that begins the order by accident.
    let accident: f64 = (0..count)
        .map(|at| (all - at) as f64 / (whole.len() - at) as f64)
        .product();
    let label = |at: usize, weight: f64| {
        let output = *whole.get(at)?;
        Some(DrawnLabel {
            output,
            judged: output.passed?,
            people: output.people_pass()?,
            weight,
        })
    };
    let alike = |draw| DrawnLabels {
        draw,
        labels: (0..whole.len()).filter_map(|at| label(at, 1.0)).collect(),
        order: by_doubt.clone(),
        left_out: 0,
    };
    if options.is_random || all == whole.len() {
        return alike(LabelDraw::Random);
    }
    if count == 0 || accident > ACCIDENT {
        return alike(LabelDraw::Chosen);
    }
    let (order, weights) = match doubtful >= even {
        true => {
            // Back to the order of the outputs.
            let sorted = inclusion_weights(&doubts, AT_RANDOM, count);
            let weights = sorted.map(|sorted| {
                let mut weights = vec![1.0; whole.len()];
                for (at, weight) in by_key.iter().zip(sorted) {
                    if let Some(place) = weights.get_mut(*at) {
                        *place = weight;
                    }
                }
                weights
            });
            (&by_doubt, weights)
        }
        false => (&evenly, Ok(vec![1.0; whole.len()])),
    };
    let Ok(weights) = weights else {
        return alike(LabelDraw::Chosen);
    };
    // Equal chances are a plain draw.
    let equal = weights.windows(2).all(|pair| pair.first() == pair.last());
    let weight = |at: &usize| match weights.get(*at) {
        Some(weight) if !equal => *weight,
        _ => 1.0,
    };
    let labels = order.iter().take(count);
    DrawnLabels {
        draw: LabelDraw::Random,
        labels: labels.filter_map(|at| label(*at, weight(at))).collect(),
        order: order.clone(),
        left_out: all - count,
    }
}

fn confusion(labels: &[DrawnLabel<'_>]) -> JudgeConfusion {
    confusion_of_rows(&rows(labels))
}

/// The counts of a calibration for the statistics. Weights were checked when they were read.
pub(super) fn confusion_of_rows(rows: &[ConfusionRow]) -> JudgeConfusion {
    let mut confusion = JudgeConfusion::default();
    for row in rows {
        let _ = confusion.push_many(row.judge_passes, row.people_pass, row.weight, row.count);
    }
    confusion
}

fn rows(labels: &[DrawnLabel<'_>]) -> Vec<ConfusionRow> {
    let mut rows: Vec<ConfusionRow> = Vec::new();
    for label in labels {
        let same = |row: &&mut ConfusionRow| {
            (row.judge_passes, row.people_pass, row.weight)
                == (label.judged, label.people, label.weight)
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.count += 1,
            None => rows.push(ConfusionRow {
                judge_passes: label.judged,
                people_pass: label.people,
                weight: label.weight,
                count: 1,
            }),
        }
    }
    rows.sort_by(|a, b| {
        let key = |row: &ConfusionRow| (!row.judge_passes, row.judge_passes != row.people_pass);
        key(a).cmp(&key(b)).then(a.weight.total_cmp(&b.weight))
    });
    rows
}

pub(super) fn corrected(confusion: &JudgeConfusion, passed: u64, n: u64) -> Estimate {
    let labels = confusion.labels() as usize;
    match confusion.corrected_by_draw(passed, n, LEVEL) {
        Ok(rate) => with_interval(rate.value, Ok(rate.interval), labels),
        Err(reason) => unknown(reason),
    }
}

fn figures(labels: &[DrawnLabel<'_>], seed: u64) -> JudgeFigures {
    let confusion = confusion(labels);
    let mut table = RatingTable::binary();
    for label in labels {
        // Both are numbers of categories of the table.
        let _ = table.push(&[usize::from(label.judged), usize::from(label.people)]);
    }
    let pairs: Vec<(bool, bool)> = labels
        .iter()
        .map(|label| (label.judged, label.people))
        .collect();
    let share = |share: Result<eval_stats::LabelledShare, UndefinedReason>, people: bool| {
        let n = labels.iter().filter(|label| label.people == people).count();
        match share {
            Ok(share) => with_interval(share.value(), share.interval(LEVEL), n),
            Err(reason) => unknown(reason),
        }
    };
    let kappa = match cohen_kappa(&pairs) {
        Ok(kappa) => {
            let interval = cohen_interval(&pairs, seed, LEVEL);
            with_interval(kappa.coefficient, interval, pairs.len())
        }
        Err(reason) => unknown(reason),
    };
    JudgeFigures {
        labelled: confusion.labels(),
        true_passes: confusion.count(true, true),
        false_passes: confusion.count(true, false),
        true_fails: confusion.count(false, false),
        false_fails: confusion.count(false, true),
        sensitivity: share(confusion.sensitivity(), true),
        specificity: share(confusion.specificity(), false),
        agreement: agreement(&table, AgreementMeasure::Percent, seed),
        ac1: agreement(&table, AgreementMeasure::GwetAc1, seed),
        kappa,
    }
}

fn agreement(table: &RatingTable, measure: AgreementMeasure, seed: u64) -> Estimate {
    match table.agreement(measure) {
        Ok(agreement) => with_interval(
            agreement.coefficient,
            agreement_interval(table, measure, seed, LEVEL),
            table.pairable(),
        ),
        Err(reason) => unknown(reason),
    }
}

fn people(judged: &JudgedOutputs, seed: u64) -> Option<PeopleFigures> {
    let mut table = RatingTable::binary();
    for output in &judged.outputs {
        let ratings: Vec<usize> = output
            .labels
            .iter()
            .filter_map(|label| label.passed.map(usize::from))
            .collect();
        let _ = table.push(&ratings);
    }
    let alpha = AgreementMeasure::KrippendorffAlpha(RatingDistance::Nominal);
    (table.pairable() > 0).then(|| PeopleFigures {
        outputs: table.pairable() as u64,
        agreement: agreement(&table, AgreementMeasure::Percent, seed),
        ac1: agreement(&table, AgreementMeasure::GwetAc1, seed),
        alpha: agreement(&table, alpha, seed),
    })
}

fn scores(judged: &JudgedOutputs, drawn: &DrawnLabels<'_>) -> Option<ScoreFigures> {
    let whole = || {
        let outputs = judged.outputs.iter();
        outputs.filter(|output| output.criterion.is_none())
    };
    let all: Vec<f64> = whole().filter_map(|output| output.score).collect();
    let weight = |output: &JudgedOutput| {
        let mut labels = drawn.labels.iter();
        labels.find(|label| std::ptr::eq(label.output, output))
    };
    let has_verdicts = !drawn.labels.is_empty();
    let items: Vec<LabelledValue> = whole()
        .filter_map(|output| {
            let weight = match (has_verdicts, weight(output)) {
                (true, label) => label?.weight,
                (false, _) => 1.0,
            };
            Some(LabelledValue {
                judged: output.score?,
                labelled: output.people_score()?,
                weight,
            })
        })
        .collect();
    if items.is_empty() {
        return None;
    }
    let mean_of = |items: &[LabelledValue], all: &[f64]| match corrected_mean(items, all, LEVEL) {
        Ok(mean) => with_interval(mean.value, Ok(mean.interval), items.len()),
        Err(reason) => unknown(reason),
    };
    let differences: Vec<LabelledValue> = items
        .iter()
        .map(|item| LabelledValue {
            judged: 0.0,
            labelled: item.judged - item.labelled,
            ..*item
        })
        .collect();
    Some(ScoreFigures {
        labelled: items.len() as u64,
        difference: mean_of(&differences, &vec![0.0; all.len()]),
        judged_mean: mean(&all).ok()?,
        corrected_mean: match drawn.draw {
            // With every output labelled, or a draw that is known.
            LabelDraw::Random if has_verdicts || items.len() == all.len() => mean_of(&items, &all),
            _ => unknown(CHOSEN),
        },
    })
}

fn groups(judged: &JudgedOutputs, labels: &[DrawnLabel<'_>], seed: u64) -> Vec<FigureGroup> {
    let mut groups = Vec::new();
    let of_criterion: BTreeSet<&str> = judged
        .outputs
        .iter()
        .filter_map(|output| output.criterion.as_deref())
        .collect();
    for name in of_criterion {
        let outputs = judged.outputs.iter();
        let labels: Vec<DrawnLabel<'_>> = outputs
            .filter(|output| output.criterion.as_deref() == Some(name))
            .filter_map(|output| {
                Some(DrawnLabel {
                    output,
                    judged: output.passed?,
                    people: output.people_pass()?,
                    weight: 1.0,
                })
            })
            .collect();
        groups.push(("criterion", name, labels));
    }
    let category = |label: &&DrawnLabel<'_>| label.output.category.clone();
    let categories: BTreeSet<String> = labels.iter().filter_map(|label| category(&label)).collect();
    for name in categories.iter().filter(|_| categories.len() > 1) {
        let of = labels.iter();
        let labels = of
            .filter(|label| label.output.category.as_ref() == Some(name))
            .copied()
            .collect();
        groups.push(("category", name.as_str(), labels));
    }
    groups
        .into_iter()
        .map(|(by, name, labels)| FigureGroup {
            by: by.to_owned(),
            name: name.to_owned(),
            figures: figures(&labels, seed),
        })
        .collect()
}

/// How much more lenient the judge is for some outputs than for the others: by length (above the
/// median), by position and by target.
fn biases(labels: &[DrawnLabel<'_>]) -> Vec<BiasFigure> {
    let mut biases = Vec::new();
    let mut add = |by: &str, of: String, is_of: &dyn Fn(&JudgedOutput) -> Option<bool>| {
        let gaps = |wanted: bool| -> Vec<f64> {
            let of = labels
                .iter()
                .filter(|label| is_of(label.output) == Some(wanted));
            of.map(|label| f64::from(u8::from(label.judged)) - f64::from(u8::from(label.people)))
                .collect()
        };
        let (these, others) = (gaps(true), gaps(false));
        if these.is_empty() || others.is_empty() {
            return;
        }
        let leniency = match difference_of_means(&these, &others, LEVEL) {
            Ok(ShareEstimate { value, interval }) => {
                with_interval(value, Ok(interval), these.len() + others.len())
            }
            Err(reason) => unknown(reason),
        };
        biases.push(BiasFigure {
            by: by.to_owned(),
            of,
            labelled: these.len() as u64,
            leniency,
        });
    };
    let mut lengths: Vec<f64> = labels
        .iter()
        .filter_map(|label| label.output.length)
        .collect();
    lengths.sort_by(f64::total_cmp);
    if let Some(median) = lengths.get(lengths.len().saturating_sub(1) / 2).copied() {
        let of = format!("more than {} characters", group_digits(median as usize));
        add("length", of, &|output| Some(output.length? > median));
    }
    type Kind<'k> = (&'k str, fn(&JudgedOutput) -> Option<&String>);
    let kinds: [Kind<'_>; 2] = [
        ("position", |output| output.position.as_ref()),
        ("target", |output| output.output.target.as_ref()),
    ];
    for (by, kind) in kinds {
        let values: BTreeSet<&String> = labels
            .iter()
            .filter_map(|label| kind(label.output))
            .collect();
        // Of two values one row says all.
        let rows = if values.len() == 2 { 1 } else { values.len() };
        for value in values.into_iter().take(rows) {
            add(by, value.clone(), &|output| Some(kind(output)? == value));
        }
    }
    biases
}

fn differences(whole: &[&JudgedOutput]) -> Vec<LabelDifference> {
    let mut differences: Vec<LabelDifference> = whole
        .iter()
        .filter_map(|output| {
            let judge_passes = output.passed?;
            let [passed, failed] = output.people();
            let against = if judge_passes { failed } else { passed };
            (output.people_pass()? != judge_passes).then(|| LabelDifference {
                output: output.output.clone(),
                judge_passes,
                against,
                people: passed + failed,
            })
        })
        .collect();
    let share = |row: &LabelDifference| row.against as f64 / row.people as f64;
    differences.sort_by(|a, b| {
        share(b)
            .total_cmp(&share(a))
            .then(b.people.cmp(&a.people))
            .then_with(|| a.output.cmp(&b.output))
    });
    differences.truncate(MOST_DIFFERENCES);
    differences
}

fn needed(
    confusion: &JudgeConfusion,
    drawn: &DrawnLabels<'_>,
    (passed, n): (u64, u64),
    width: f64,
) -> LabelsNeeded {
    let weight = |of: Option<bool>| -> f64 {
        let labels = drawn.labels.iter();
        let labels = labels.filter(|label| of.is_none_or(|people| label.people == people));
        labels.map(|label| label.weight).sum()
    };
    let all = |share: Result<eval_stats::LabelledShare, UndefinedReason>, people: bool| {
        let labels = share.ok()?.needed(width, LEVEL).ok()??;
        Some((labels as f64 * weight(None) / weight(Some(people))).ceil() as u64)
    };
    LabelsNeeded {
        width,
        sensitivity: all(confusion.sensitivity(), true),
        specificity: all(confusion.specificity(), false),
        corrected_rate: match drawn.draw {
            LabelDraw::Random => confusion
                .labels_needed(passed, n, width, LEVEL)
                .unwrap_or_default(),
            LabelDraw::Chosen => None,
        },
    }
}

fn next(whole: &[&JudgedOutput], order: &[usize], most: usize) -> Vec<NextLabel> {
    order
        .iter()
        .filter_map(|at| whole.get(*at))
        .filter(|output| output.people() == [0, 0])
        .take(most)
        .map(|output| NextLabel {
            output: output.output.clone(),
            doubt: output.doubt,
        })
        .collect()
}

pub(super) fn known(value: f64, n: usize) -> Estimate {
    Estimate {
        value: Some(value),
        ci: None,
        level: LEVEL,
        method: "none".to_owned(),
        n_cases: n,
        worst: None,
        best: None,
        undefined: None,
        note: None,
    }
}

pub(super) fn unknown(reason: impl std::fmt::Display) -> Estimate {
    Estimate {
        value: None,
        undefined: Some(reason.to_string()),
        ..known(0.0, 0)
    }
}

pub(super) fn with_interval(
    value: f64,
    interval: Result<Interval, UndefinedReason>,
    n: usize,
) -> Estimate {
    match interval {
        Ok(interval) => Estimate {
            ci: Some([interval.low, interval.high]),
            method: interval.method.name().to_owned(),
            ..known(value, n)
        },
        Err(reason) => Estimate {
            note: Some(reason.to_string()),
            ..known(value, n)
        },
    }
}
