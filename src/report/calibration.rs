//! Judges beside people, as a page for people and for programs.

use std::io::{self, Write};

use super::figures::{NO_VALUE, capitalized, number, percent, plural, rate};
use super::page::{
    ListItem, Page, PageBlock, PageTable, PageView, StyledText, TableColumn, TextTone, bold, dim,
    outside, own, text,
};
use crate::model::{
    CalibrationReport, Estimate, JudgeCalibration, JudgeFigures, LabelDifference, LabelDraw,
    LabelledOutput, LabelsNeeded, NextLabel,
};

/// Differences and next outputs that are listed, without `--verbose`.
const LISTED: usize = 10;

/// The same for programs.
pub fn json(report: &CalibrationReport, out: &mut dyn Write) -> io::Result<()> {
    eval_base::json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

pub fn page(report: &CalibrationReport, view: &PageView) -> Page {
    let mut page = Page::default();
    let of = match (&report.run, &report.file) {
        (Some(run), Some(file)) => format!("{run}, labels of {file}"),
        (Some(of), None) | (None, Some(of)) => of.clone(),
        (None, None) => String::new(),
    };
    page.title(text!["Judges beside people: ", outside(&of)]);
    for note in &report.notes {
        page.words(outside(&capitalized(note)).toned(TextTone::Warn));
    }
    for judge in &report.judges {
        of_judge(&mut page, judge, view);
    }
    page.words(dim(
        "Intervals are for 95 %. See docs/calibration.md for what the figures mean.",
    ));
    page
}

fn of_judge(page: &mut Page, judge: &JudgeCalibration, view: &PageView) {
    page.section(outside(&judge.name));
    let models = match (judge.models.is_empty(), judge.votes) {
        (false, Some(votes)) if votes > 1 => {
            format!(
                "{}, {} each",
                judge.models.join(", "),
                plural(votes.into(), "vote")
            )
        }
        (false, _) => judge.models.join(", "),
        (true, _) => String::new(),
    };
    let drawn = match judge.draw {
        LabelDraw::Random => "a random draw",
        LabelDraw::Chosen => "not known to be a random draw",
    };
    let facts = [
        models,
        format!("{} judged", plural(judge.judged, "output")),
        format!("{} labelled, {drawn}", number(judge.overall.labelled)),
    ];
    let facts = facts.iter().filter(|fact| !fact.is_empty());
    page.line(facts.map(|fact| outside(fact)));
    page.words(verdict(judge));
    if judge.undecided > 0 {
        let words = "left out, since as many people pass as fail it";
        let several = "left out, since as many people pass as fail them";
        page.words(own(format!(
            "{} {}.",
            plural(judge.undecided, "labelled output"),
            if judge.undecided == 1 { words } else { several }
        )));
    }
    if judge.overall.labelled > 0 {
        confusion(page, &judge.overall);
    }
    figures(page, judge);
    groups(page, judge);
    biases(page, judge);
    needed(page, &judge.labels_needed, judge);
    differences(page, judge, view);
    next(page, judge, view);
}

/// What the judge's pass rate is worth, in a sentence.
fn verdict(judge: &JudgeCalibration) -> StyledText {
    let Some(judged) = judge.judged_rate.value else {
        return own("No verdict of this judge has a label.").toned(TextTone::Warn);
    };
    let (judged, corrected) = (percent(judged), &judge.corrected_rate);
    match (corrected.value, corrected.ci) {
        (Some(value), Some([low, high])) => bold(own(format!(
            "The judge passes {judged} of the outputs; people would pass {} ({} to {}).",
            percent(value),
            percent(low),
            percent(high)
        ))),
        _ => {
            let why = corrected.undefined.as_deref().unwrap_or("it is unknown");
            own(format!(
                "The judge passes {judged} of the outputs. There is no corrected rate: {why}."
            ))
            .toned(TextTone::Warn)
        }
    }
}

fn confusion(page: &mut Page, figures: &JudgeFigures) {
    let mut table = PageTable::new([
        TableColumn::left("Labelled outputs"),
        TableColumn::right("People pass"),
        TableColumn::right("People fail"),
    ]);
    for (name, pass, fail) in [
        ("judge passes", figures.true_passes, figures.false_passes),
        ("judge fails", figures.false_fails, figures.true_fails),
    ] {
        table.row([own(name), own(number(pass)), own(number(fail))]);
    }
    page.table(table);
}

fn figures(page: &mut Page, judge: &JudgeCalibration) {
    let mut table = PageTable::new([
        TableColumn::left("Figure"),
        TableColumn::right("Value"),
        TableColumn::right("Interval"),
        TableColumn::right("Labels"),
        TableColumn::left("Meaning").least(10).optional(),
    ]);
    let figures = &judge.overall;
    let mut add = |name: &'static str, estimate: &Estimate, meaning: &str| {
        let (value, interval) = shown(estimate);
        let why = estimate.note.as_deref().or(estimate.undefined.as_deref());
        table.row([
            own(name),
            own(value),
            own(interval),
            own(number(estimate.n_cases as u64)),
            outside(why.unwrap_or(meaning)),
        ]);
    };
    if figures.labelled > 0 {
        add(
            "sensitivity",
            &figures.sensitivity,
            "of what people pass, the judge passes",
        );
        add(
            "specificity",
            &figures.specificity,
            "of what people fail, the judge fails",
        );
        add("agreement", &figures.agreement, "equal verdicts");
        add("AC1", &figures.ac1, "agreement beyond chance (Gwet)");
        add("kappa", &figures.kappa, "agreement beyond chance (Cohen)");
    }
    if let Some(scores) = &judge.scores {
        add("score difference", &scores.difference, "judge minus people");
        add(
            "corrected score",
            &scores.corrected_mean,
            &format!("the judge's mean is {}", rate(scores.judged_mean)),
        );
    }
    if let Some(people) = &judge.people {
        add(
            "people: agreement",
            &people.agreement,
            "equal labels of two people",
        );
        add("people: AC1", &people.ac1, "agreement beyond chance (Gwet)");
        add(
            "people: alpha",
            &people.alpha,
            "agreement beyond chance (Krippendorff)",
        );
    }
    page.table(table);
}

fn shown(estimate: &Estimate) -> (String, String) {
    let value = estimate.value.map_or_else(|| NO_VALUE.to_owned(), rate);
    let interval = estimate
        .ci
        .map(|[low, high]| format!("{}-{}", rate(low), rate(high)));
    // A dash beside a minus sign is misread.
    let interval = match estimate.ci {
        Some([low, high]) if low < 0.0 => format!("{} to {}", rate(low), rate(high)),
        _ => interval.unwrap_or_default(),
    };
    (value, interval)
}

fn groups(page: &mut Page, judge: &JudgeCalibration) {
    for by in ["criterion", "category"] {
        let mut table = PageTable::new([
            TableColumn::left(own(capitalized(by))).least(8),
            TableColumn::right("Labels"),
            TableColumn::right("False passes"),
            TableColumn::right("False fails"),
            TableColumn::right("Sensitivity"),
            TableColumn::right("Specificity"),
            TableColumn::right("AC1"),
            TableColumn::right("Kappa"),
        ]);
        for group in judge.groups.iter().filter(|group| group.by == by) {
            let figures = &group.figures;
            let share = |estimate: &Estimate| {
                let (value, interval) = shown(estimate);
                own(match interval.as_str() {
                    "" => value,
                    interval => format!("{value} ({interval})"),
                })
            };
            table.row([
                outside(&group.name),
                own(number(figures.labelled)),
                own(number(figures.false_passes)),
                own(number(figures.false_fails)),
                share(&figures.sensitivity),
                share(&figures.specificity),
                own(shown(&figures.ac1).0),
                own(shown(&figures.kappa).0),
            ]);
        }
        page.table(table);
    }
}

/// A bias in words where its interval excludes 0, and the figures of all.
fn biases(page: &mut Page, judge: &JudgeCalibration) {
    let mut table = PageTable::new([
        TableColumn::left("Leniency by"),
        TableColumn::left("Outputs").least(10),
        TableColumn::right("Labels"),
        TableColumn::right("Difference"),
        TableColumn::right("Interval"),
        TableColumn::left("Bias"),
    ]);
    for bias in &judge.biases {
        let (value, interval) = shown(&bias.leniency);
        let words = match bias.leniency.ci {
            Some([low, _]) if low > 0.0 => own("more lenient").toned(TextTone::Warn),
            Some([_, high]) if high < 0.0 => own("stricter").toned(TextTone::Warn),
            Some(_) => own("none shown"),
            None => own("too few"),
        };
        table.row([
            own(bias.by.clone()),
            outside(&bias.of),
            own(number(bias.labelled)),
            own(value),
            own(interval),
            words,
        ]);
    }
    page.table(table);
}

fn needed(page: &mut Page, needed: &LabelsNeeded, judge: &JudgeCalibration) {
    let each = [
        ("sensitivity", needed.sensitivity),
        ("specificity", needed.specificity),
        ("the corrected rate", needed.corrected_rate),
    ];
    let has = judge.overall.labelled;
    let words: Vec<String> = each
        .into_iter()
        .filter_map(|(name, labels)| {
            Some(match labels? {
                labels if labels <= has => format!("{name} has enough"),
                labels => format!("{name} needs about {} more", number(labels - has)),
            })
        })
        .collect();
    if !words.is_empty() {
        page.words(own(format!(
            "For intervals of at most {} points: {}.",
            (needed.width * 1000.0).round() / 10.0,
            words.join(", ")
        )));
    }
}

fn differences(page: &mut Page, judge: &JudgeCalibration, view: &PageView) {
    let most = if view.verbose { usize::MAX } else { LISTED };
    let item = |row: &LabelDifference| {
        let judge = if row.judge_passes { "passes" } else { "fails" };
        let people = if row.judge_passes { "fail" } else { "pass" };
        let people = match row.people {
            1 => format!("a person {people}s it"),
            all => format!("{} of {all} people {people} it", row.against),
        };
        ListItem::dash(text![
            place_of(&row.output),
            own(format!(": the judge {judge} it, {people}"))
        ])
    };
    if !judge.differences.is_empty() {
        page.subsection("Where the judge and people differ");
        page.list(judge.differences.iter().take(most).map(item));
        page.more(view, judge.differences.len().saturating_sub(most), "output");
    }
}

fn next(page: &mut Page, judge: &JudgeCalibration, view: &PageView) {
    if judge.next.is_empty() {
        return;
    }
    page.subsection("To label next, in this order");
    let item = |next: &NextLabel| {
        let mut words = place_of(&next.output);
        if next.doubt > 0.0 {
            words.push(dim(own(format!(" (doubt {})", rate(next.doubt)))));
        }
        ListItem::dash(words)
    };
    let most = if view.verbose { usize::MAX } else { LISTED };
    page.list(judge.next.iter().take(most).map(item));
    page.more(view, judge.next.len().saturating_sub(most), "output");
    page.push(PageBlock::Gap);
}

fn place_of(output: &LabelledOutput) -> StyledText {
    let mut place = match output.eval.as_str() {
        "" => outside(&output.case),
        eval => super::page::place(eval, &output.case),
    };
    if output.sample > 0 {
        place.push(own(format!(", sample {}", output.sample + 1)));
    }
    if let Some(target) = &output.target {
        place.push(text![" [", outside(target), "]"]);
    }
    place
}
