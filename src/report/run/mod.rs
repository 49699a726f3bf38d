//! The report of a run: its sections, each built once, in the order of the medium. A terminal shows
//! the gate last, a document first.

mod evals;
mod failures;
mod figures;
mod judged;
mod models;
mod people;

use crate::model::{Decision, Gate, Summary};
use crate::report::limits;
use crate::report::page::{
    ListItem, ListMark, Page, PageBlock, PageMedium, PageNotice, PageView, StyledText, Symbol,
    TextTone, WITHIN, bold, code, dim, outside, own, span, text,
};
use crate::report::{commands, comparison, notices};
use eval_base::text::{plural, short_commit};

use figures::thresholds;

pub(super) use failures::details;
pub(super) use judged::verdicts;

use super::figures::{decision_label, duration_seconds};

/// The whole report. `written` are the paths of reports, in the order to show them.
pub fn page(summary: &Summary, view: &PageView, written: &[String]) -> Page {
    let mut page = Page::default();
    title(&mut page, summary, view);
    match view.medium {
        PageMedium::Terminal => {
            page.line(facts(summary, view));
            remarks(&mut page, summary, view);
            evals::section(&mut page, summary, view);
            judged::section(&mut page, summary, view);
            figures::counts(&mut page, summary, view);
            figures::metrics(&mut page, summary, view);
            people::section(&mut page, summary, view);
            models::section(&mut page, summary, view);
            if view.verbose {
                models::disclosed(&mut page, summary, view);
            }
            compared(&mut page, summary, view);
            thresholds(&mut page, summary, view);
            // What passed needs no advice on a short page.
            if view.verbose || summary.gate.decision != Decision::Pass {
                recommendations(&mut page, &summary.recommendations);
            }
            if view.verbose {
                failures::flaky(&mut page, summary, view);
            }
            failures::tolerated(&mut page, summary, view);
            failures::section(&mut page, summary, view);
            let Gate {
                decision, reasons, ..
            } = &summary.gate;
            verdict(
                &mut page,
                *decision,
                reasons,
                notices::is_unsandboxed(summary),
            );
            next(&mut page, summary, view, written);
        }
        // Runs have an interactive page of their own in the browser.
        PageMedium::Markdown | PageMedium::Html => {
            remarks(&mut page, summary, view);
            page.line(facts(summary, view));
            gate(&mut page, summary, view);
            figures::counts(&mut page, summary, view);
            compared(&mut page, summary, view);
            recommendations(&mut page, &summary.recommendations);
            failures::section(&mut page, summary, view);
            failures::tolerated(&mut page, summary, view);
            failures::flaky(&mut page, summary, view);
            evals::section(&mut page, summary, view);
            figures::groups(&mut page, summary, view);
            figures::metrics(&mut page, summary, view);
            judged::section(&mut page, summary, view);
            people::section(&mut page, summary, view);
            models::section(&mut page, summary, view);
            models::disclosed(&mut page, summary, view);
        }
        PageMedium::Comment => {
            remarks(&mut page, summary, view);
            reasons(&mut page, &summary.gate.reasons, view);
            thresholds(&mut page, summary, view);
            figures::counts(&mut page, summary, view);
            compared(&mut page, summary, view);
            failures::section(&mut page, summary, view);
            failures::tolerated(&mut page, summary, view);
            let command = commands::run_failed_again(summary);
            if let Some(command) =
                command.filter(|command| command.len() < limits::comment::COMMAND)
            {
                page.push(PageBlock::Copy("Run these again", command));
            }
            page.line(facts(summary, view));
        }
    }
    page
}

fn title(page: &mut Page, summary: &Summary, view: &PageView) {
    let metadata = &summary.metadata;
    let decision = summary.gate.decision;
    let mut title = StyledText::default();
    if !view.is_terminal() {
        title.push(decided(decision));
        title.push(": ");
    }
    title.push(outside(&metadata.suite_name));
    if let Some(version) = &metadata.suite_version {
        title.push(text![" ", dim(outside(version))]);
    }
    if !view.is_terminal() && notices::is_unsandboxed(summary) {
        title.push(own(format!(" ({})", notices::NOT_SANDBOXED)));
    }
    page.title(title);
}

/// The sign of a decision and its word.
pub fn decided(decision: Decision) -> StyledText {
    let label = own(decision_label(decision));
    text![Symbol::of_decision(decision), " ", label].toned(TextTone::of_decision(decision))
}

/// What ran, where and when.
fn facts(summary: &Summary, view: &PageView) -> Vec<StyledText> {
    let metadata = &summary.metadata;
    let environment = &metadata.environment;
    let mut facts = Vec::new();
    let (comment, document) = (view.medium == PageMedium::Comment, !view.is_terminal());
    if !comment {
        facts.extend(target(&environment.target, &environment.target_type));
        let model = environment.model.as_deref();
        let address = environment.model_address.as_deref();
        let at = address.map_or_else(StyledText::default, |address| text![" at ", code(address)]);
        facts.extend(model.map(|model| text!["model ", code(model), at]));
    }
    facts.push(text!["run ", code(&metadata.run_id)]);
    if !comment {
        facts.push(own(duration_seconds(metadata.duration_seconds)));
    }
    match environment.sandbox.as_ref().filter(|_| !comment) {
        Some(sandbox) if sandbox.enforced => {
            facts.push(text!["sandbox ", outside(&sandbox.tier)]);
        }
        Some(sandbox) if document => facts.push(text![
            "sandbox ",
            outside(&sandbox.tier),
            " (",
            bold("not enforced"),
            ")"
        ]),
        _ => {}
    }
    if document {
        facts.extend((!comment).then(|| outside(&metadata.timestamp)));
        facts.extend(environment.git.as_ref().map(|git| {
            let dirty = if git.dirty {
                " (with uncommitted changes)"
            } else {
                ""
            };
            text!["commit ", code(short_commit(&git.commit)), dirty]
        }));
        facts.push(text!["eval-harness ", outside(&metadata.harness_version)]);
        let system = text![outside(&environment.os), "/", outside(&environment.arch)];
        facts.extend((!comment).then_some(system));
    }
    facts
}

/// A target with its type; `None` where there is no target.
pub fn target(target: &str, kind: &str) -> Option<StyledText> {
    let kind = match kind.is_empty() || kind == target {
        true => StyledText::default(),
        false => text![" (", outside(kind), ")"],
    };
    (!target.is_empty()).then(|| text!["target ", code(target), kind])
}

/// Remarks on the run as a whole; a comment has only those that must not be missed.
pub fn remarks(page: &mut Page, summary: &Summary, view: &PageView) {
    for notice in notices::notices(summary) {
        if view.medium != PageMedium::Comment {
            page.push(PageBlock::Notice(notice));
        } else if notice.loud {
            page.push(PageBlock::Notice(PageNotice::loud(notice.headline)));
        }
    }
}

/// The gate of a document: what was decided, why, and what was required.
fn gate(page: &mut Page, summary: &Summary, view: &PageView) {
    let gate = &summary.gate;
    page.section("Gate");
    let label = bold(own(decision_label(gate.decision)));
    page.words(text![
        label,
        own(format!(" (exit code {})", gate.exit_code))
    ]);
    reasons(page, &gate.reasons, view);
    if gate.thresholds.is_empty() {
        page.words("No thresholds are set: the gate passes when every eval passes.");
    }
    thresholds(page, summary, view);
}

pub fn reasons(page: &mut Page, reasons: &[String], view: &PageView) {
    let most = match view.medium {
        PageMedium::Comment => view.limits.notes,
        _ => usize::MAX,
    };
    page.list(reasons.iter().take(most).map(ListItem::dash));
    page.more(view, reasons.len().saturating_sub(most), "reason");
}

/// The decision with its reasons, as a terminal shows it: the last thing that people read.
pub fn verdict(page: &mut Page, decision: Decision, reasons: &[String], unsandboxed: bool) {
    let reasons = reasons.iter().map(ListItem::dash).collect();
    verdict_of(page, decision, reasons, unsandboxed);
}

/// The same with reasons that may have others below them.
pub fn verdict_of(page: &mut Page, decision: Decision, reasons: Vec<ListItem>, unsandboxed: bool) {
    page.push(PageBlock::Gap);
    if unsandboxed {
        let alarm = format!("!! {}", notices::NOT_SANDBOXED);
        page.lead(span(TextTone::Alarm, alarm));
    }
    let tone = TextTone::of_decision(decision);
    let label = span(tone, format!("GATE {}", decision_label(decision)));
    match reasons.as_slice() {
        [] => page.lead(label),
        [reason] if reason.below.is_empty() => {
            page.lead(text![label, span(tone, ": "), reason.text.clone()]);
        }
        all => {
            let number = plural(all.len(), "reason");
            page.lead(text![label, span(tone, format!(": {number}"))]);
            page.list(reasons);
        }
    }
}

pub fn recommendations(page: &mut Page, recommendations: &[String]) {
    if !recommendations.is_empty() {
        page.section("Recommendations");
        let text = |advice: &String| {
            let parts = advice.split(WITHIN.unicode);
            StyledText::joined(parts.map(outside), WITHIN)
        };
        let advice = recommendations.iter().map(text);
        page.list(advice.map(|advice| ListItem::new(ListMark::Number, advice)));
    }
}

/// The run beside an earlier one.
fn compared(page: &mut Page, summary: &Summary, view: &PageView) {
    if let Some(comparison) = &summary.comparison {
        comparison::section(page, comparison, summary.fail_on, view);
    }
}

/// Commands, and where reports are.
fn next(page: &mut Page, summary: &Summary, view: &PageView, written: &[String]) {
    for (label, command) in [
        ("resume", commands::resume(summary)),
        ("rerun", commands::run_failed_again(summary)),
        (
            "more",
            commands::whole_report(summary).filter(|_| !view.verbose),
        ),
    ] {
        if let Some(command) = command {
            page.push(PageBlock::Copy(label, command));
        }
    }
    paths(page, written);
}

/// The paths of reports.
pub fn paths(page: &mut Page, written: &[String]) {
    for (at, path) in written.iter().enumerate() {
        let label = if at == 0 { "reports" } else { "" };
        page.push(PageBlock::Copy(label, path.clone()));
    }
}
