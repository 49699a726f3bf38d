//! What a suite of a phase found: metrics, and every eval with a box; expected and actual of those
//! that did not pass.

use super::{PageOfRun, figures};
use crate::model::{
    CaseResult, Cause, EvalResult, EvalStepResult, EvalType, Outcome, PhaseReport, Summary,
};
use crate::report::figures as numbers;
use crate::report::page::{
    FailureEvidence, ListItem, ListMark, Page, PageBlock, PageMedium, PageTable, PageView,
    SpanContent, StyledText, TableColumn, TextTone, bold, code, dim, linked, mark, outside, own,
    text,
};
use crate::report::{FailureIndex, failures, percent_encoded, run};
use eval_base::text::{group_digits, plural};

/// Where a page can fold: evals that passed, and others, that are listed unfolded; and evals whose
/// failures are.
const PASSED: usize = 12;
const OPEN: usize = 60;
const UNFOLDED: usize = 3;

pub fn section(
    page: &mut Page,
    report: &PhaseReport,
    eval: &EvalStepResult,
    view: &PageView,
    page_of: &PageOfRun<'_>,
) {
    let summary = &eval.eval_report;
    let before = page.blocks.len();
    run::remarks(page, summary, view);
    for block in page.blocks.iter_mut().skip(before) {
        if let (PageBlock::Notice(notice), false) = (block, view.is_html()) {
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
    metrics(page, report, eval, view);
    page.words(own(ungraded_words(summary).unwrap_or_default()));
    let failures = failures(summary);
    if view.is_terminal() {
        let open = |eval: &&EvalResult| eval.outcome != Outcome::Passed;
        let open: Vec<&EvalResult> = summary.evals.iter().filter(open).collect();
        let listed = open.iter().take(view.limits.cases);
        page.list(listed.map(|eval| item(eval, &failures, view, None)));
        let more = open.len().saturating_sub(view.limits.cases);
        page.more(view, more, "eval");
        return;
    }
    let run_page = page_of(&eval.journal);
    for kind in [EvalType::Capability, EvalType::Regression] {
        list(page, summary, kind, &failures, view, run_page.as_deref());
    }
    if view.is_html() {
        let run = outside(&summary.metadata.run_id);
        let report = run_page.map(|address| {
            let words = linked("all cases, with outputs and grades", Some(address));
            ("HTML report".into(), words)
        });
        let journal = ("Journal".into(), outside(&eval.journal));
        page.facts(report.into_iter().chain([("Run".into(), run), journal]));
    }
}

fn metrics(page: &mut Page, report: &PhaseReport, eval: &EvalStepResult, view: &PageView) {
    let summary = &eval.eval_report;
    let rows = figures::rows(eval);
    let mut table = PageTable::new([
        TableColumn::left("Metric").least(12),
        TableColumn::right("Value"),
        TableColumn::left(own(numbers::interval_label(summary))),
        TableColumn::left("0 to 1 (dashed: threshold)"),
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
        let interval = figures::interval(summary, row).filter(|_| view.is_html());
        let drawn = interval.map(|interval| StyledText::from(SpanContent::Interval(interval)));
        table.row([
            outside(&row.name),
            own(row.value.as_str()),
            own(row.interval.as_str()),
            drawn.unwrap_or_default().toned(tone),
            own(row.threshold.as_str()),
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
    run_page: Option<&str>,
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
    let more = numbers::URGENCY.into_iter().filter_map(|outcome| {
        let more = ended(&evals, outcome) - ended(&listed, outcome);
        (more > 0).then(|| format!("{} {outcome}", group_digits(more)))
    });
    let more: Vec<String> = more.collect();
    let more = (!more.is_empty()).then(|| {
        let evals = plural(evals.len() - listed.len(), "more eval");
        ListItem::dash(own(format!(
            "... and {evals}: {}; {}",
            more.join(", "),
            view.rest()
        )))
    });
    let items = |evals: &[&EvalResult]| -> Vec<ListItem> {
        let items = evals.iter();
        let items = items.map(|eval| item(eval, failures, view, run_page));
        items.collect()
    };
    if view.is_html() {
        let is_passed = |eval: &&EvalResult| eval.outcome == Outcome::Passed;
        let (passed, open): (Vec<_>, Vec<_>) = listed.into_iter().partition(is_passed);
        folded(page, items(&open), items(&passed));
        page.list(more);
    } else {
        page.list(items(&listed).into_iter().chain(more));
    }
}

/// Evals that did not pass, then the others. Where they are many, most of them are folded.
fn folded(page: &mut Page, mut open: Vec<ListItem>, passed: Vec<ListItem>) {
    if open.len() > UNFOLDED {
        open.iter_mut().for_each(|item| item.folded = true);
    }
    let rest = open.split_off(open.len().min(OPEN));
    page.list(open);
    if !rest.is_empty() {
        let title = format!("{} that did not pass", plural(rest.len(), "more eval"));
        page.part(own(title), true, vec![PageBlock::List(rest)]);
    }
    if passed.len() > PASSED {
        let title = format!("{} passed", plural(passed.len(), "eval"));
        page.part(own(title), true, vec![PageBlock::List(passed)]);
    } else {
        page.list(passed);
    }
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

/// `run_page` is the address of the run's page, to whose cases of the eval the item leads.
fn item(
    eval: &EvalResult,
    failures: &FailureIndex,
    view: &PageView,
    run_page: Option<&str>,
) -> ListItem {
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
    let (box_, id) = match view.medium {
        PageMedium::Terminal | PageMedium::Html => {
            let cases = run_page.map(|page| {
                let id = percent_encoded(eval.id.as_bytes());
                format!("{page}#view=cases&eval={id}")
            });
            let id = linked(&eval.id, cases);
            (ListMark::Sign(mark(eval.outcome)), bold(id))
        }
        PageMedium::Markdown | PageMedium::Comment => (ListMark::Box(passed), outside(&eval.id)),
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
    let mut cases = eval
        .cases
        .iter()
        .filter(|case| case.outcome == eval.outcome);
    let lone = eval.counts.total <= 1;
    for case in cases.by_ref().take(view.limits.eval_cases) {
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

/// The reason, unless the differences by path say the same, then the two sides.
fn of_case(
    eval: &EvalResult,
    case: &CaseResult,
    failures: &FailureIndex,
    view: &PageView,
) -> Vec<PageBlock> {
    let mut page = Page::default();
    let failure = failures.get(&(&eval.id, &case.id, case.outcome));
    // Skipped and pending ones have no entry; their cause is all there is.
    let shown = failure.is_none() || view.is_html();
    let cause = case.cause.filter(|_| shown && eval.counts.total <= 1);
    let cause = cause.map(|cause| ("Cause".into(), code(cause.name())));
    let Some(failure) = failure else {
        page.facts(cause);
        return page.blocks;
    };
    let evidence = FailureEvidence::of(failure, view.brief_evidence());
    let by_path = matches!(evidence, Some(FailureEvidence::ByPath(_)));
    let says_more = !by_path || failure.cause != Some(Cause::WrongAnswer);
    let reason = Some(&failure.reason).filter(|reason| says_more && !reason.trim().is_empty());
    let reason = reason.map(|reason| ("Reason".into(), outside(reason)));
    page.facts(cause.into_iter().chain(reason));
    page.blocks.extend(evidence.map(PageBlock::Evidence));
    page.blocks
}
