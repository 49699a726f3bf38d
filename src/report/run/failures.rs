//! What did not pass: cause, reason, verdicts, and where expected and actual differ.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::judged as of_judges;
use crate::model::{CaseResult, Failure, Outcome, Summary, private_unpassed};
use crate::report::differences;
use crate::report::page::{
    FailureEvidence, Page, PageBlock, PageMedium, PageSection, PageTable, PageView, StyledText,
    TableColumn, TextTone, bold, dim, mark, outside, own, place, text,
};
use crate::report::{commands, flaky, judged, limits, notices, values};
use eval_base::text::{group_digits, plural};

/// The failures of a run by what became of their cases.
struct SortedFailures<'a> {
    summary: &'a Summary,
    cases: HashMap<(&'a str, &'a str), &'a CaseResult>,
    /// Of cases that did not pass.
    unpassed: Vec<&'a Failure>,
    /// Of cases that passed although these samples did not.
    tolerated: Vec<&'a Failure>,
}

impl<'a> SortedFailures<'a> {
    fn of(summary: &'a Summary) -> SortedFailures<'a> {
        let cases = summary.evals.iter().flat_map(|eval| {
            let cases = eval.cases.iter();
            cases.map(|case| ((eval.id.as_str(), case.id.as_str()), case))
        });
        let cases: HashMap<_, _> = cases.collect();
        let passed = |failure: &&Failure| {
            let case = cases.get(&(failure.eval_id.as_str(), failure.case_id.as_str()));
            case.is_some_and(|case| case.outcome == Outcome::Passed)
        };
        let (tolerated, unpassed) = summary.failures.iter().partition(passed);
        SortedFailures {
            summary,
            cases,
            unpassed,
            tolerated,
        }
    }

    /// `1 of 3 samples`, where a case has several.
    fn samples(&self, failure: &Failure) -> Option<String> {
        let case = self
            .cases
            .get(&(failure.eval_id.as_str(), failure.case_id.as_str()));
        let total = case.map_or(0, |case| case.samples.len());
        // Of a large run not every sample is listed.
        match failure.samples {
            n if total > 1 && n <= total && !self.summary.truncated => {
                Some(format!("{n} of {}", plural(total, "sample")))
            }
            0 | 1 => None,
            n => Some(plural(n, "sample")),
        }
    }
}

/// The cases that did not pass.
pub fn section(page: &mut Page, summary: &Summary, view: &PageView) {
    let sorted = SortedFailures::of(summary);
    let listed_cases = notices::cases_of(sorted.unpassed.iter().copied());
    let total = notices::unpassed_cases(summary, listed_cases);
    if total == 0 {
        return;
    }
    page.section(own(format!("Not passed ({})", group_digits(total))));
    if view.medium == PageMedium::Markdown
        && let Some(command) = commands::run_failed_again(summary)
    {
        page.push(PageBlock::Copy("Run these again", command));
    }
    let unlisted = total.saturating_sub(listed_cases);
    let private = summary.private_unpassed().min(unlisted);
    if private > 0 {
        page.words(dim(own(private_unpassed(private))));
    }
    let unlisted = unlisted - private;
    listed(page, &sorted, &by_case(&sorted.unpassed), unlisted, view);
}

/// The cases that passed although a sample of them did not.
pub fn tolerated(page: &mut Page, summary: &Summary, view: &PageView) {
    let sorted = SortedFailures::of(summary);
    let all = &sorted.tolerated;
    if all.is_empty() {
        return;
    }
    let cases = by_case(all);
    let title = own(format!(
        "Passed with failed samples ({})",
        group_digits(cases.len())
    ));
    if view.medium == PageMedium::Markdown || view.verbose {
        page.section(title);
        listed(page, &sorted, &cases, 0, view);
        return;
    }
    let named = cases.iter().take(limits::TOLERATED_CASES);
    let names = named.filter_map(|case| case.first());
    let names = names.map(|failure| place(&failure.eval_id, &failure.case_id));
    let more = cases.len().saturating_sub(limits::TOLERATED_CASES);
    let more = (more > 0).then(|| own(format!("{} more", group_digits(more))));
    page.push(PageBlock::Gap);
    page.words(text![
        bold(title),
        ": ",
        StyledText::joined(names.chain(more), ", ")
    ]);
}

/// The failures of each case, in the order of the first ones: a case with failed and with errored
/// samples has two.
fn by_case<'a>(failures: &[&'a Failure]) -> Vec<Vec<&'a Failure>> {
    let mut places = HashMap::new();
    let mut cases: Vec<Vec<&Failure>> = Vec::new();
    for failure in failures {
        let place = (&failure.eval_id, &failure.case_id);
        let at = *places.entry(place).or_insert(cases.len());
        match cases.get_mut(at) {
            Some(case) => case.push(failure),
            None => cases.push(vec![failure]),
        }
    }
    cases
}

/// Cases in full, and further ones by name.
fn listed(
    page: &mut Page,
    sorted: &SortedFailures<'_>,
    all: &[Vec<&Failure>],
    unlisted: usize,
    view: &PageView,
) {
    let (full, rest) = all.split_at(all.len().min(view.limits.failures));
    let parts: Vec<PageBlock> = full
        .iter()
        .filter_map(|case| part(sorted, case, view))
        .collect();
    if matches!(view.medium, PageMedium::Comment | PageMedium::Terminal) {
        let more = rest.len() + unlisted;
        page.push(PageBlock::Fill(parts, more, "case"));
        return;
    }
    page.blocks.extend(parts);
    let mut named = PageTable::new(["Eval", "Case", "Cause"].map(TableColumn::left));
    for failures in rest.iter().take(view.limits.named) {
        let Some(first) = failures.first() else {
            continue;
        };
        let causes: Vec<&str> = failures.iter().copied().map(cause).collect();
        let [eval, case] = [&first.eval_id, &first.case_id].map(|id| outside(id));
        named.row([eval, case, own(causes.join(", "))]);
    }
    if !named.rows.is_empty() {
        page.subsection("More cases");
    }
    let more = rest.len().saturating_sub(named.rows.len()) + unlisted;
    page.table(named);
    if more > 0 {
        page.push(PageBlock::Gap);
    }
    page.more(view, more, "case");
}

fn cause(failure: &Failure) -> &'static str {
    let cause = failure.cause.map(|cause| cause.name());
    cause.unwrap_or(failure.outcome.name())
}

/// Which case, and its cause.
fn headline(sorted: &SortedFailures<'_>, failure: &Failure) -> StyledText {
    let times = sorted.samples(failure).map(|times| format!(" ({times})"));
    text![
        mark(failure.outcome),
        " ",
        bold(place(&failure.eval_id, &failure.case_id)),
        "  ",
        own(cause(failure)).toned(TextTone::of(failure.outcome)),
        dim(own(times.unwrap_or_default())),
    ]
}

/// A case with its first failure, and the others in it.
fn part(sorted: &SortedFailures<'_>, failures: &[&Failure], view: &PageView) -> Option<PageBlock> {
    let (failure, others) = failures.split_first()?;
    let summary = sorted.summary;
    let mut body = Page::default();
    let comment = view.medium == PageMedium::Comment;
    if !comment && let Some(name) = own_name(summary, failure) {
        body.words(dim(outside(name)));
    }
    body.prose(&failure.reason, view);
    if !comment && let Some(sample) = judged::of_failure(summary, failure) {
        of_judges::verdicts(&mut body, sample, view);
        body.push(PageBlock::Gap);
    }
    // The reason names the rules of a trajectory; `--verbose` shows them side by side.
    let is_said = view.is_terminal() && !view.verbose && failure.details.contains_key("rules");
    let evidence = FailureEvidence::of(failure, view.limits.evidence).filter(|_| !is_said);
    let whole = match &evidence {
        Some(FailureEvidence::ByPath(rows)) => rows.more == 0 || view.is_terminal(),
        _ => false,
    };
    body.blocks.extend(evidence.map(PageBlock::Evidence));
    if view.medium == PageMedium::Markdown || view.verbose {
        details(&mut body, &failure.details, whole, view);
    }
    body.blocks.extend(part(sorted, others, view));
    Some(PageBlock::Part(PageSection {
        title: headline(sorted, failure),
        folded: comment,
        blocks: body.blocks,
    }))
}

/// What a grader says beside its verdict. What was shown path by path need not be read again.
pub fn details(page: &mut Page, details: &Map<String, Value>, by_path: bool, view: &PageView) {
    let shown = [differences::LISTED, differences::COUNTED];
    let mut lines = Page::default();
    let mut texts = Vec::new();
    let mut facts = Vec::new();
    for (key, value) in details {
        if by_path && shown.contains(&key.as_str()) {
            continue;
        }
        let value = values::whole(value, view.limits.evidence.bytes);
        if value.contains('\n') {
            texts.push((key, value));
        } else {
            facts.push((outside(key), outside(&value)));
        }
    }
    lines.facts(facts);
    for (key, text) in texts {
        lines.push(PageBlock::Code {
            label: outside(key),
            language: "text",
            text,
        });
    }
    match view.medium {
        _ if lines.blocks.is_empty() => {}
        PageMedium::Terminal => page.blocks.extend(lines.blocks),
        PageMedium::Markdown | PageMedium::Comment | PageMedium::Html => {
            page.part("Details", true, lines.blocks)
        }
    }
}

/// The case's name, where it differs from its id and the eval's name.
fn own_name<'a>(summary: &Summary, failure: &'a Failure) -> Option<&'a str> {
    let eval = summary.evals.iter().find(|eval| eval.id == failure.eval_id);
    let of_eval = eval.map_or("", |eval| eval.name.as_str());
    let name = failure.name.as_str();
    let rest = name.strip_prefix(of_eval);
    let rest = rest.map_or(name, |rest| rest.trim_start_matches(": "));
    let known = rest == failure.eval_id || rest == failure.case_id;
    (!known && !rest.trim().is_empty()).then_some(rest)
}

/// Samples that passed on a later attempt only.
pub fn flaky(page: &mut Page, summary: &Summary, view: &PageView) {
    let mut all = flaky::flaky(summary).peekable();
    if all.peek().is_none() {
        return;
    }
    page.section("Flaky");
    if !view.is_terminal() {
        page.words("These passed on a later attempt only; pass@k and pass^k count first attempts.");
    }
    let mut table = PageTable::new([
        TableColumn::left("Case").least(16),
        TableColumn::right("Sample"),
        TableColumn::right("Attempts"),
        TableColumn::left("First attempt").least(13).optional(),
    ]);
    for flaky in all.by_ref().take(view.limits.cases.min(1_000)) {
        let (index, attempts) = flaky.sample.unzip();
        let first = flaky.first.map(|first| outside(&first.reason));
        let number = |n: Option<String>| own(n.unwrap_or_default());
        table.row([
            place(flaky.eval, flaky.case),
            number(index.map(|index| index.to_string())),
            number(attempts.map(|attempts| attempts.to_string())),
            first.unwrap_or_default(),
        ]);
    }
    page.table(table);
    page.more(view, all.count(), "sample");
}
