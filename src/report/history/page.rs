//! A history as a page: how each suite did against each target, or run by run of one eval.

use std::collections::BTreeMap;

use super::{HistoryFilter, cause, commit, day};
use crate::model::private_cases;
use crate::model::{Counts, EvalType, Outcome};
use crate::report::limits;
use crate::report::page::{
    Page, PageBlock, PageTable, PageView, StyledText, Symbol, TableColumn, TableRow, TextTone,
    bold, dim, mark, outside, own, place, span, text,
};
use crate::report::{figures, run};
use crate::run::history::{EvalHistory, HistoryGroup, PastRun, RunHistory};
use eval_base::text::{group_digits, plural};

/// Every suite and target; of a single selected eval, each of its runs.
pub fn page(history: &RunHistory, shown: HistoryFilter<'_>, view: &PageView) -> Page {
    let mut page = Page::default();
    for group in &history.groups {
        let evals = shown.evals(group);
        match (shown.evals, evals.values().next()) {
            (_, None) => continue,
            (Some(_), Some(eval)) if evals.len() == 1 => {
                header(&mut page, group);
                one_eval(&mut page, group, eval, view);
            }
            _ => {
                header(&mut page, group);
                trend(&mut page, group);
                all_evals(&mut page, &evals, view);
                flaky(&mut page, group, |id| shown.takes(id), view);
                slowest(&mut page, group, shown, view);
            }
        }
        let dirty = |run: &PastRun| run.environment.git.as_ref().is_some_and(|git| git.dirty);
        if group.runs.iter().any(dirty) {
            page.words(dim("* the checkout had uncommitted changes"));
        }
    }
    left_out(&mut page, history);
    page
}

/// Suite, target and period.
fn header(page: &mut Page, group: &HistoryGroup) {
    page.title(outside(&group.suite));
    let mut facts: Vec<StyledText> = run::target(&group.target, &group.target_type)
        .into_iter()
        .collect();
    if let (Some(first), Some(last)) = (group.runs.first(), group.runs.last()) {
        let (from, to) = (day(&first.timestamp), day(&last.timestamp));
        let runs = plural(group.runs.len(), "run");
        facts.push(own(match from == to {
            true => format!("{runs} on {from}"),
            false => format!("{runs} from {from} to {to}"),
        }));
    }
    page.line(facts);
}

fn trend(page: &mut Page, group: &HistoryGroup) {
    page.push(PageBlock::Gap);
    pass_rates(page, group);
    if let Some(run) = group.runs.last() {
        last_run(page, run);
    }
}

/// The pass rates of the runs of a group as bars.
pub fn pass_rates(page: &mut Page, group: &HistoryGroup) {
    let trend = group.trend();
    if !trend.rates.is_empty() {
        page.push(PageBlock::Bars(bold("Pass rate"), trend.rates.clone()));
        let rates = [
            ("first", trend.first),
            ("last", trend.last),
            ("lowest", trend.lowest),
            ("highest", trend.highest),
        ];
        let rates = rates.map(|(word, rate)| format!("{word} {}", figures::percent_or_none(rate)));
        page.words(own(rates.join(", ")));
    }
    let mut notes = format!("of evals, over {}", plural(trend.rates.len(), "whole run"));
    if trend.left_out > 0 {
        let verb = if trend.left_out == 1 { "is" } else { "are" };
        let runs = plural(trend.left_out, "partial run");
        notes.push_str(&format!(
            "; {runs} (filtered, interrupted or a shard) {verb} omitted"
        ));
    }
    page.words(dim(own(notes)));
}

fn last_run(page: &mut Page, run: &PastRun) {
    let evals = own(format!(
        "{} of {} evals passed",
        run.counts.passed, run.counts.total
    ));
    let commit = Some(commit(run)).filter(|commit| !commit.is_empty());
    let mut facts = vec![outside(&run.run_id)];
    facts.extend(commit.map(|commit| dim(own(commit))));
    facts.push(evals);
    facts.extend(
        run.gate
            .map(|gate| text!["gate ", own(gate.name())].toned(TextTone::of_decision(gate))),
    );
    page.facts([(bold("Last run"), StyledText::joined(facts, "  "))]);
    if let Some(by) = run.regraded_by.last() {
        let words = text![
            "regraded by ",
            outside(by),
            "; the outcomes of the regrade are used"
        ];
        page.words(dim(words));
    }
}

// Evals and cases over time.

const PASSED: Symbol = Symbol {
    unicode: "●",
    ascii: "+",
    emoji: "●",
};
const SKIPPED: Symbol = Symbol {
    unicode: "·",
    ascii: "-",
    emoji: "·",
};

/// The sign of an outcome in a row of many.
fn dot(outcome: Outcome) -> StyledText {
    let symbol = match outcome {
        Outcome::Passed => PASSED,
        Outcome::Skipped => SKIPPED,
        outcome => Symbol::of(outcome),
    };
    StyledText::from(symbol).toned(TextTone::of(outcome))
}

fn over_time(what: &'static str) -> PageTable {
    let marks = TableColumn {
        keeps_end: true,
        ..TableColumn::right("Last runs").least(8)
    };
    PageTable::new([
        TableColumn::left(what).least(12),
        marks,
        TableColumn::right("Rate"),
        TableColumn::left("Last passed").optional(),
        TableColumn::right("Fails"),
    ])
}

/// One line: outcomes are oldest first.
fn row(id: &str, outcomes: &[Outcome], rate: Option<f64>, passed: Option<&PastRun>) -> TableRow {
    let failures = outcomes
        .iter()
        .filter(|outcome| **outcome == Outcome::Failed)
        .count();
    let id = outside(id);
    let last = outcomes
        .get(
            outcomes
                .len()
                .saturating_sub(limits::terminal::HISTORY_RUNS)..,
        )
        .unwrap_or_default();
    let mut marks = StyledText::default();
    last.iter().for_each(|outcome| marks.push(dot(*outcome)));
    let passed = match passed {
        Some(run) => own(format!("{} {}", day(&run.timestamp), commit(run))),
        None => span(TextTone::Warn, "never").into(),
    };
    let tone = if failures > 0 {
        TextTone::Bad
    } else {
        TextTone::Dim
    };
    TableRow {
        cells: vec![
            if outcomes.last() == Some(&Outcome::Passed) {
                id
            } else {
                bold(id)
            },
            marks,
            own(figures::percent_or_none(rate)),
            passed,
            span(tone, group_digits(failures)).into(),
        ],
        note: StyledText::default(),
    }
}

/// What the marks mean.
fn legend(page: &mut Page) {
    let words = Outcome::ALL.map(|outcome| text![dot(outcome), " ", own(outcome.name())]);
    page.words(dim(StyledText::joined(words, "   ")));
}

/// Regressions first, the most critical of them first; then the broken before the sound, and those
/// that pass least.
fn order(eval: &EvalHistory) -> impl Ord {
    let latest = eval.latest;
    let last = eval.runs.last();
    let sound = last.is_some_and(|(_, eval)| eval.outcome == Outcome::Passed);
    let rate = eval.counts.pass_rate.map_or(0, |rate| (rate * 1e9) as u64);
    (
        latest.kind != EvalType::Regression,
        std::cmp::Reverse(latest.criticality),
        sound,
        rate,
        latest.id.to_string(),
    )
}

/// What a part of the table is called.
fn heading(eval: &EvalHistory) -> String {
    match (eval.latest.kind, eval.latest.criticality) {
        (EvalType::Capability, _) => "Capabilities".to_owned(),
        (EvalType::Regression, None) => "Regressions".to_owned(),
        (EvalType::Regression, Some(criticality)) => {
            format!("Regressions, {}", criticality.name())
        }
    }
}

fn all_evals(page: &mut Page, evals: &BTreeMap<&str, EvalHistory>, view: &PageView) {
    let most = view.limits.evals;
    let mut rows: Vec<&EvalHistory> = evals.values().collect();
    rows.sort_by_key(|eval| order(eval));
    if evals.len() > most {
        rows.retain(|eval| eval.counts.passed < eval.counts.total || eval.runs.is_empty());
        rows.truncate(most);
    }
    let mut table = over_time("");
    let mut under = String::new();
    for eval in &rows {
        let heading = heading(eval);
        if heading != under {
            table.row([own(heading.as_str())]);
            under = heading;
        }
        let outcomes: Vec<Outcome> = eval.runs.iter().map(|(_, eval)| eval.outcome).collect();
        let id = eval.latest.id.as_ref();
        if outcomes.is_empty() {
            let runs = plural(eval.partial, "run");
            let mut cells = vec![outside(id)];
            cells.resize(5, StyledText::default());
            let note = own(format!("in {runs}, never with all of its cases"));
            table.rows.push(TableRow { cells, note });
        } else {
            let last = eval.last(Outcome::Passed);
            table
                .rows
                .push(row(id, &outcomes, eval.counts.pass_rate, last));
        }
    }
    page.table(table);
    page.more(view, evals.len() - rows.len(), "eval");
    legend(page);
}

fn flaky(page: &mut Page, group: &HistoryGroup, takes: impl Fn(&str) -> bool, view: &PageView) {
    let (mut flaky, mut unproved) = group.flaky();
    unproved.retain(|case| takes(&case.eval_id));
    flaky.retain(|case| takes(&case.eval));
    if !flaky.is_empty() {
        page.section("Flaky");
        let counts = ["Passed", "Failed"].map(TableColumn::right);
        let [passed, failed] = counts;
        let case = TableColumn::left("Case").least(12);
        let mut table = PageTable::new([case, passed, failed, TableColumn::left("At commit")]);
        for case in flaky.iter().take(view.limits.cases) {
            let Some(worst) = case.commits.first() else {
                continue;
            };
            let more = match case.commits.len() - 1 {
                0 => String::new(),
                n => format!(", and at {} more", plural(n, "commit")),
            };
            let commit = worst.commit.get(..7).unwrap_or(&worst.commit);
            table.row([
                place(&case.eval, &case.case),
                own(worst.passed.to_string()),
                own(worst.failed.to_string()),
                text![outside(commit), own(more)],
            ]);
        }
        page.table(table);
        let cases = plural(flaky.len(), "case");
        page.words(dim(own(format!(
            "{cases} both passed and failed at one commit, with the same input and grading"
        ))));
        page.more(view, flaky.len().saturating_sub(view.limits.cases), "case");
    }
    if !unproved.is_empty() {
        let cases = plural(unproved.len(), "case");
        page.push(PageBlock::Gap);
        page.words(dim(own(format!(
            "{cases} both passed and failed in checkouts with uncommitted changes, or without git: the changes may be the \
             cause"
        ))));
    }
}

fn slowest(page: &mut Page, group: &HistoryGroup, shown: HistoryFilter<'_>, view: &PageView) {
    let mut slow = group.slowest();
    slow.retain(|case| shown.takes(&case.eval));
    if slow.is_empty() {
        return;
    }
    page.section("Slowest");
    let figures_of = ["Median latency", "Samples"].map(TableColumn::right);
    let mut table = PageTable::new(
        [TableColumn::left("Case").least(12)]
            .into_iter()
            .chain(figures_of),
    );
    for case in slow.iter().take(view.limits.cases) {
        table.row([
            place(&case.eval, &case.case),
            own(figures::duration_ms(case.median_ms)),
            own(group_digits(case.samples)),
        ]);
    }
    page.table(table);
}

// One eval, run by run.

fn one_eval(page: &mut Page, group: &HistoryGroup, eval: &EvalHistory, view: &PageView) {
    let latest = eval.latest;
    let name = (latest.name != latest.id).then(|| text!["  ", outside(&latest.name)]);
    page.section(text![outside(&latest.id), name.unwrap_or_default()]);
    facts(page, eval);
    runs(page, group, eval, view);
    cases(page, group, eval, view);
    flaky(page, group, |id| id == &*eval.latest.id, view);
}

fn facts(page: &mut Page, eval: &EvalHistory) {
    let counts = &eval.counts;
    let kind = eval.latest.kind.name();
    let criticality = eval
        .latest
        .criticality
        .map(|level| format!(", {}", level.name()));
    let outcomes = Outcome::ALL.map(|outcome| (outcome, figures::count_of(counts, outcome)));
    let parts = outcomes.iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> = parts
        .map(|(outcome, n)| format!("{} {outcome}", group_digits(*n)))
        .collect();
    let runs = plural(counts.total, "run");
    let rate = figures::percent_or_none(counts.pass_rate);
    page.words(dim(own(format!(
        "{kind}{}; {runs}: {}, pass rate {rate}",
        criticality.unwrap_or_default(),
        parts.join(", ")
    ))));
    let last = [
        ("last passed", Outcome::Passed),
        ("last failed", Outcome::Failed),
    ];
    page.facts(last.map(|(label, outcome)| {
        let when = eval.last(outcome).map_or_else(|| "never".to_owned(), when);
        (label.into(), own(when))
    }));
    if eval.partial > 0 {
        let runs = plural(eval.partial, "run");
        page.words(dim(own(format!(
            "{runs} had only some of its cases: listed but not counted"
        ))));
    }
}

/// Day, time and commit of a run.
fn when(run: &PastRun) -> String {
    let time = run.timestamp.get(11..19).unwrap_or_default();
    let time = eval_base::text::one_line(time);
    format!("{} {time}  {}", day(&run.timestamp), commit(run))
        .trim_end()
        .to_owned()
}

fn runs(page: &mut Page, group: &HistoryGroup, eval: &EvalHistory, view: &PageView) {
    let mut table = PageTable::new([
        TableColumn::left("Run").least(10),
        TableColumn::left("Commit").optional(),
        TableColumn::left("Outcome").least(9),
        TableColumn::right("Cases"),
        TableColumn::right("Score"),
        TableColumn::right("Latency"),
    ]);
    let most = view.limits.evals;
    let mut all = 0;
    for run in group.runs.iter().rev() {
        let of_run = run.evals.iter();
        for eval in of_run.filter(|of_run| of_run.id == eval.latest.id) {
            all += 1;
            if all > most {
                continue;
            }
            let word = cause(eval).map_or(eval.outcome.name(), |cause| cause.name());
            let part = if eval.partial { " (part)" } else { "" };
            let word = own(format!("{word}{part}")).toned(TextTone::of(eval.outcome));
            let latency = eval.median_latency_ms();
            let or_none = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
            table.row([
                outside(&run.run_id),
                dim(own(commit(run))),
                text![mark(eval.outcome), " ", word],
                own(format!("{}/{}", eval.counts.passed, eval.counts.total)),
                own(or_none(eval.score.map(figures::rate))),
                dim(own(or_none(latency.map(figures::duration_ms)))),
            ]);
        }
    }
    page.table(table);
    page.more(view, all.saturating_sub(most), "run");
}

/// Its cases, when it has several.
fn cases(page: &mut Page, group: &HistoryGroup, eval: &EvalHistory, view: &PageView) {
    if eval.latest.private {
        let cases = private_cases(eval.latest.counts.total);
        page.words(dim(own(format!("{cases} not listed"))));
        return;
    }
    let mut by_id: BTreeMap<&str, Vec<(&PastRun, Outcome)>> = BTreeMap::new();
    for run in &group.runs {
        let evals = run
            .evals
            .iter()
            .filter(|of_run| of_run.id == eval.latest.id);
        for case in evals.flat_map(|eval| &eval.cases) {
            by_id.entry(&case.id).or_default().push((run, case.outcome));
        }
    }
    if by_id.len() < 2 {
        return;
    }
    let most = view.limits.evals;
    let many = by_id.len() > most;
    let passed = |(_, outcome): &&(&PastRun, Outcome)| *outcome == Outcome::Passed;
    let listed = by_id
        .iter()
        .filter(|(_, tries)| !many || !tries.iter().all(|one| passed(&one)));
    let mut table = over_time("Case");
    for (id, tries) in listed.take(most) {
        let outcomes: Vec<Outcome> = tries.iter().map(|(_, outcome)| *outcome).collect();
        let mut counts = Counts::default();
        outcomes.iter().for_each(|outcome| counts.add(*outcome));
        let last = tries.iter().rev().find(passed).map(|(run, _)| *run);
        table.rows.push(row(id, &outcomes, counts.pass_rate, last));
    }
    let more = by_id.len() - table.rows.len();
    page.table(table);
    page.more(view, more, "case");
    legend(page);
}

/// Runs that the request leaves out.
fn left_out(page: &mut Page, history: &RunHistory) {
    let left = &history.left_out;
    let of = |groups: &BTreeMap<String, usize>, what: &str, rest: &'static str| {
        let mut names: Vec<StyledText> = groups.keys().take(5).map(StyledText::from).collect();
        if groups.len() > names.len() {
            names.push(own(format!("{} more", groups.len() - names.len())));
        }
        let runs = plural(groups.values().sum(), "run");
        let names = StyledText::joined(names, ", ");
        (!groups.is_empty()).then(|| text![own(format!("{runs} {what} (")), names, ")", rest])
    };
    let many = |n: usize, what: &str| {
        let runs = plural(n, "run");
        (n > 0).then(|| own(format!("{runs} {what}")))
    };
    let all = [
        of(
            &left.other_suites,
            "of other suites",
            "; --all-suites shows them",
        ),
        of(&left.other_targets, "against other targets", ""),
        many(left.earlier, "before the requested ones"),
        many(left.captures, "made to capture baselines"),
    ];
    for (at, words) in all.into_iter().flatten().enumerate() {
        if at == 0 {
            page.push(PageBlock::Gap);
        }
        page.words(dim(text!["not shown: ", words]));
    }
}
