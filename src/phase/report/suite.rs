//! What a suite of a phase found: metrics, and every eval with a box; expected and actual of those
//! that did not pass.

use super::figures;
use crate::model::{
    CaseResult, Cause, EvalResult, EvalStepResult, EvalType, Outcome, PhaseReport, Summary,
};
use crate::report::figures as numbers;
use crate::report::limits::phase as limits;
use crate::report::page::{
    FailureEvidence, ListItem, ListMark, Page, PageBlock, PageTable, PageView, StyledText,
    TableColumn, TextTone, bold, code, dim, mark, outside, own, signed, text,
};
use crate::report::{FailureIndex, failures, run};
use eval_base::text::{group_digits, plural};

pub fn section(page: &mut Page, report: &PhaseReport, eval: &EvalStepResult, view: &PageView) {
    let summary = &eval.eval_report;
    let before = page.blocks.len();
    run::remarks(page, summary, view);
    for block in page.blocks.iter_mut().skip(before) {
        if let PageBlock::Notice(notice) = block {
            // It would name the run.
            notice.command = None;
        }
    }
    // What the phase says need not be said here.
    let known = |reason: &&String| {
        let mut said = report.gate.reasons.iter();
        !said.any(|said| said.contains(reason.as_str()))
    };
    let reasons = summary.gate.reasons.iter().filter(known);
    page.list(reasons.map(ListItem::dash));
    metrics(page, report, eval);
    page.words(own(ungraded_words(summary).unwrap_or_default()));
    let failures = failures(summary);
    if view.is_terminal() {
        let open = |eval: &&EvalResult| eval.outcome != Outcome::Passed;
        let open: Vec<&EvalResult> = summary.evals.iter().filter(open).collect();
        let listed = open.iter().take(view.limits.cases);
        page.list(listed.map(|eval| item(eval, &failures, view)));
        let more = open.len().saturating_sub(view.limits.cases);
        page.more(view, more, "eval");
        return;
    }
    for kind in [EvalType::Capability, EvalType::Regression] {
        list(page, summary, kind, &failures, view);
    }
}

fn metrics(page: &mut Page, report: &PhaseReport, eval: &EvalStepResult) {
    let summary = &eval.eval_report;
    let rows = figures::rows(eval);
    let label = numbers::interval_label(summary).replace("CI", "interval");
    let mut table = PageTable::new([
        TableColumn::left("Metric").least(12),
        TableColumn::right("Value"),
        TableColumn::left(own(label)),
        TableColumn::left("Threshold"),
        TableColumn::left("Status"),
    ]);
    for row in &rows {
        let tone = match row.status {
            "PASS" => TextTone::Good,
            "FAIL" => TextTone::Bad,
            figures::NO_THRESHOLD => TextTone::Dim,
            _ => TextTone::Warn,
        };
        table.row([
            outside(&row.name),
            own(row.value.as_str()),
            own(row.interval.as_str()),
            signed(&row.threshold),
            own(row.status).toned(tone),
        ]);
    }
    page.table(table);
    // Suites mostly say the same of their intervals.
    let notes = |eval: &EvalStepResult| numbers::interval_notes(&eval.eval_report).join(" ");
    let mut suites = report.steps.iter().filter_map(|step| step.eval.as_deref());
    let first = suites.find(|other| notes(other) == notes(eval));
    if !rows.is_empty() && first.is_some_and(|first| std::ptr::eq(first, eval)) {
        page.words(dim(outside(&notes(eval))));
    }
    for row in &rows {
        if let Some(why) = figures::undefined(summary, row) {
            page.words(text![
                outside(&row.name),
                " has no value: ",
                outside(why),
                "."
            ]);
        }
    }
}

/// Samples that no figure counts, in words; `None` when every sample has a grade.
pub fn ungraded_words(summary: &Summary) -> Option<String> {
    let samples = &summary.summary.samples;
    let counted = [
        (samples.errored, "errored"),
        (samples.skipped, "skipped"),
        (samples.pending, "pending"),
    ];
    let parts = counted.into_iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts
        .map(|(n, what)| format!("{} {what}", group_digits(n)))
        .collect();
    let of = plural(samples.total, "sample");
    let words = format!(
        "Without a grade (of {of}): {}. They count neither as passed nor as failed.",
        parts.join(", ")
    );
    (!parts.is_empty()).then_some(words)
}

fn list(
    page: &mut Page,
    summary: &Summary,
    kind: EvalType,
    failures: &FailureIndex,
    view: &PageView,
) {
    let of_kind = summary.evals.iter().filter(|eval| eval.kind == kind);
    let evals: Vec<&EvalResult> = of_kind.collect();
    if evals.is_empty() {
        return;
    }
    let ended = |evals: &[&EvalResult], outcome| {
        evals.iter().filter(|eval| eval.outcome == outcome).count()
    };
    let [passed, all] = [ended(&evals, Outcome::Passed), evals.len()].map(group_digits);
    let title = kind.title();
    page.subsection(own(format!("{title} Evals ({passed}/{all} passed)")));
    let listed = chosen(&evals, view.limits.evals);
    let mut items: Vec<ListItem> = listed
        .iter()
        .map(|eval| item(eval, failures, view))
        .collect();
    let more = numbers::URGENCY.into_iter().filter_map(|outcome| {
        let more = ended(&evals, outcome) - ended(&listed, outcome);
        (more > 0).then(|| format!("{} {outcome}", group_digits(more)))
    });
    let more: Vec<String> = more.collect();
    if !more.is_empty() {
        let evals = plural(evals.len() - listed.len(), "more eval");
        items.push(ListItem::dash(own(format!(
            "... and {evals}: {}; {}",
            more.join(", "),
            view.rest()
        ))));
    }
    page.list(items);
}

/// Those that are listed, in the suite's order: when there are too many, the most urgent.
fn chosen<'a>(evals: &[&'a EvalResult], most: usize) -> Vec<&'a EvalResult> {
    let mut order: Vec<(usize, &EvalResult)> = evals.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, eval)| numbers::urgency(eval.outcome));
    order.truncate(most);
    order.sort_unstable_by_key(|(at, _)| *at);
    order.into_iter().map(|(_, eval)| eval).collect()
}

/// `: Name`, unless it is one of the ids that stand before it.
pub fn named(name: &str, ids: &[&str]) -> StyledText {
    match name.trim().is_empty() || ids.contains(&name) {
        true => StyledText::default(),
        false => text![": ", outside(name)],
    }
}

fn item(eval: &EvalResult, failures: &FailureIndex, view: &PageView) -> ListItem {
    let passed = eval.outcome == Outcome::Passed;
    let label = format!(" ({})", eval.outcome.name().to_uppercase());
    let label = own(if passed { String::new() } else { label });
    let cases = match eval.counts.total {
        0 | 1 => String::new(),
        total => {
            let passed = group_digits(eval.counts.passed);
            format!(", {passed} of {} passed", plural(total, "case"))
        }
    };
    let label = label.toned(TextTone::of(eval.outcome));
    let name = named(&eval.name, &[&eval.id]);
    let (box_, id) = match view.is_terminal() {
        true => (ListMark::Sign(mark(eval.outcome)), bold(outside(&eval.id))),
        false => (ListMark::Box(passed), outside(&eval.id)),
    };
    let mut item = ListItem::new(box_, text![id, name, label, own(cases)]);
    if !passed {
        item.below = below(eval, failures, view);
    }
    item
}

/// The first cases that ended as their eval did.
fn below(eval: &EvalResult, failures: &FailureIndex, view: &PageView) -> Vec<PageBlock> {
    let mut page = Page::default();
    let most = if view.is_terminal() && !view.verbose {
        1
    } else {
        limits::CASES
    };
    let mut cases = eval
        .cases
        .iter()
        .filter(|case| case.outcome == eval.outcome);
    let lone = eval.counts.total <= 1;
    for case in cases.by_ref().take(most) {
        let told = of_case(eval, case, failures, view);
        if lone {
            page.blocks.extend(told);
            continue;
        }
        let cause = case.cause.map_or(case.outcome.name(), Cause::name);
        let title = text![outside(&case.id), own(format!(" ({cause})"))];
        page.list([ListItem {
            below: told,
            ..ListItem::dash(title)
        }]);
    }
    page.more(view, cases.count(), "case");
    page.blocks
}

/// The reason where it says more than the two sides, then the sides.
fn of_case(
    eval: &EvalResult,
    case: &CaseResult,
    failures: &FailureIndex,
    view: &PageView,
) -> Vec<PageBlock> {
    let mut page = Page::default();
    let Some(failure) = failures.get(&(&eval.id, &case.id, case.outcome)) else {
        // Skipped and pending ones have no entry; their cause is all there is.
        let cause = case.cause.filter(|_| eval.counts.total <= 1);
        page.facts(cause.map(|cause| ("Cause".into(), code(cause.name()))));
        return page.blocks;
    };
    let evidence = FailureEvidence::of(failure, view.limits.brief_evidence());
    let by_path = matches!(evidence, Some(FailureEvidence::ByPath(_)));
    let both = failure.expected.is_some() && failure.actual.is_some();
    let wrong = failure.cause == Some(Cause::WrongAnswer);
    let says_more = !by_path && !both || !wrong;
    if says_more && !failure.reason.trim().is_empty() {
        page.facts([("Reason".into(), outside(&failure.reason))]);
    }
    page.blocks.extend(evidence.map(PageBlock::Evidence));
    page.blocks
}
