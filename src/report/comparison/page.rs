//! Comparisons as pages: the verdict, what it rests on, then which cases flipped. A terminal shows
//! what the caller's exit code says last, a document first.

use super::words::{
    self, ComparisonHeadline, ComparisonRow as MetricRow, FlipKind, MetricLeaning, ShownGroups,
};
use crate::model::{
    CaseChanges, ComparedSide, Comparison, ComparisonVerdict, Comparisons, private_cases,
};
use crate::report::figures;
use crate::report::page::{
    ARROW, BETTER, DOT, ERRORED, FAILED, ListItem, ListMark, NarrowLayout, PASSED, Page, PageBlock,
    PageMedium, PageNotice, PageSection, PageTable, PageView, SKIPPED, StyledText, Symbol,
    TableColumn, TableRow, TextTone, UNKNOWN, WORSE, bold, code, dim, outside, own, place, signed,
    span, text,
};
use crate::spec::words::FailOn;
use eval_base::text::{group_digits, plural};

/// Columns that names keep however narrow a terminal is.
const NAME: usize = 10;

pub fn page(comparisons: &Comparisons, view: &PageView) -> Page {
    let mut page = Page::default();
    let all = comparisons.candidates.as_slice();
    let document = !view.is_terminal();
    title(&mut page, all, view);
    if let ([one], true) = (all, document) {
        add_verdict_notice(&mut page, one, view);
    }
    if document {
        gate(&mut page, comparisons, view);
    }
    sides(&mut page, all);
    match all {
        [one] => {
            if !document {
                page.push(PageBlock::Gap);
                verdict(&mut page, one, view);
            }
            metrics(&mut page, one, view);
            groups(&mut page, one, view);
            cases(&mut page, &one.cases, view, true);
        }
        several if document => {
            columns(&mut page, several, view);
            several
                .iter()
                .for_each(|one| candidate(&mut page, one, view));
        }
        several => {
            several
                .iter()
                .for_each(|one| candidate(&mut page, one, view));
            columns(&mut page, several, view);
        }
    }
    if let Some(first) = all.first().filter(|_| document || view.verbose) {
        page.push(PageBlock::Gap);
        page.words(dim(outside(&words::method(first))));
    }
    if !document {
        page.push(PageBlock::Gap);
        gate(&mut page, comparisons, view);
    }
    page
}

/// The section of a run's report; `fail_on` as the run was started with.
pub fn section(page: &mut Page, comparison: &Comparison, fail_on: Option<FailOn>, view: &PageView) {
    let mut section = Page::default();
    let reference = words::label(&comparison.reference);
    section.section(text!["Compared with ", outside(&reference)]);
    section.facts([fact("reference", &comparison.reference)]);
    verdict(&mut section, comparison, view);
    metrics(&mut section, comparison, view);
    groups(&mut section, comparison, view);
    cases(&mut section, &comparison.cases, view, false);
    match view.medium {
        // The failures need room, too.
        PageMedium::Comment => page.push(PageBlock::Bounded(section.blocks)),
        PageMedium::Terminal | PageMedium::Markdown | PageMedium::Html => {
            page.blocks.extend(section.blocks);
        }
    }
    page.push(PageBlock::Gap);
    page.words(dim(own(words::bearing(fail_on))));
}

fn title(page: &mut Page, all: &[Comparison], view: &PageView) {
    let Some(first) = all.first() else { return };
    let candidates = match all {
        [one] => outside(&words::label(&one.candidate)),
        several => own(plural(several.len(), "candidate")),
    };
    let reference = outside(&words::label(&first.reference));
    let about = text![candidates, " against ", reference];
    let suite = outside(&words::suite(first));
    page.title(match view.is_terminal() {
        true => text![suite, ": ", about],
        false => {
            let worst = all
                .iter()
                .map(ComparisonHeadline::of)
                .min_by_key(|headline| rank(*headline));
            let worst = worst.unwrap_or(ComparisonHeadline::NoEvidence);
            text![
                symbol(worst),
                " ",
                own(worst.title()),
                ": ",
                suite,
                ", ",
                about
            ]
        }
    });
}

/// The worst first.
fn rank(headline: ComparisonHeadline) -> u8 {
    match headline {
        ComparisonHeadline::Regression => 0,
        ComparisonHeadline::Undecided => 1,
        ComparisonHeadline::Untested => 2,
        ComparisonHeadline::Improvement => 3,
        ComparisonHeadline::NoEvidence => 4,
    }
}

fn symbol(headline: ComparisonHeadline) -> Symbol {
    match headline {
        ComparisonHeadline::Regression => Symbol {
            emoji: "❌",
            ..WORSE
        },
        ComparisonHeadline::Improvement => Symbol {
            emoji: "✅",
            ..BETTER
        },
        ComparisonHeadline::NoEvidence => UNKNOWN,
        ComparisonHeadline::Undecided | ComparisonHeadline::Untested => ERRORED,
    }
}

fn fact(role: &'static str, side: &ComparedSide) -> (StyledText, StyledText) {
    let facts = std::iter::once(words::label(side)).chain(words::facts(side));
    let facts = facts.map(|fact| outside(&fact));
    (role.into(), dim(StyledText::joined(facts, DOT)))
}

fn sides(page: &mut Page, all: &[Comparison]) {
    let reference = all.first().map(|one| fact("reference", &one.reference));
    let candidates = all.iter().map(|one| fact("candidate", &one.candidate));
    page.facts(reference.into_iter().chain(candidates));
}

/// The loudest line, and what it rests on.
fn verdict(page: &mut Page, comparison: &Comparison, view: &PageView) {
    let headline = ComparisonHeadline::of(comparison);
    let tone = match headline {
        ComparisonHeadline::Regression => TextTone::BadMark,
        ComparisonHeadline::Improvement => TextTone::GoodMark,
        ComparisonHeadline::NoEvidence => TextTone::Bold,
        ComparisonHeadline::Undecided | ComparisonHeadline::Untested => TextTone::Warn,
    };
    let words = own(headline.words().to_uppercase());
    page.lead(text![symbol(headline), " ", words].toned(tone));
    add_verdict_notice(page, comparison, view);
}

fn add_verdict_notice(page: &mut Page, comparison: &Comparison, view: &PageView) {
    match words::undecided(comparison) {
        Some(why) if view.is_terminal() => page.words(span(TextTone::Warn, why)),
        Some(why) => page.push(PageBlock::Notice(PageNotice {
            loud: true,
            ..PageNotice::quiet(format!("Undecided: {why}"))
        })),
        None => {}
    }
    page.words(bold(outside(&words::first_sentence(comparison))));
    for sentence in words::further_sentences(comparison) {
        page.words(outside(&sentence));
    }
    let notes = comparison.notes.iter().take(view.limits.notes);
    page.list(notes.map(|note| {
        let mark = ListMark::Sign(StyledText::from(ERRORED).toned(TextTone::Warn));
        ListItem::new(mark, outside(note).toned(TextTone::Warn))
    }));
    page.more(
        view,
        comparison.notes.len().saturating_sub(view.limits.notes),
        "note",
    );
}

/// What the caller's exit code says.
fn gate(page: &mut Page, comparisons: &Comparisons, view: &PageView) {
    let (decision, word) = (comparisons.decision, comparisons.fail_on);
    let label = figures::decision_label(decision);
    let label = match view.is_terminal() {
        true => StyledText::from(span(
            TextTone::of_decision(decision),
            format!("GATE {label}"),
        )),
        false => text![
            "Gate: ",
            Symbol::of_decision(decision),
            " ",
            bold(own(label))
        ],
    };
    let flag = code(&format!("--fail-on {}", word.name()));
    page.lead(text![label, " (", flag, ": ", words::what_fails(word), ")"]);
    page.list(comparisons.reasons.iter().map(ListItem::dash));
}

/// One of several candidates.
fn candidate(page: &mut Page, one: &Comparison, view: &PageView) {
    let label = outside(&words::label(&one.candidate));
    if view.is_terminal() {
        page.section(label);
        verdict(page, one, view);
    } else {
        let headline = ComparisonHeadline::of(one);
        page.section(text![symbol(headline), " ", label, ": ", headline.words()]);
        add_verdict_notice(page, one, view);
    }
    let whole = view.verbose || !view.is_terminal();
    if view.verbose {
        metrics(page, one, view);
    }
    // Groups that the verdicts rest on.
    if whole || !one.settings.by.is_empty() {
        groups(page, one, view);
    }
    if whole {
        cases(page, &one.cases, view, true);
    }
}

// Metrics.

/// A difference with its sign where it is more than chance.
fn difference(row: &MetricRow) -> StyledText {
    leant(row.leaning.filter(|_| row.moved), &row.difference)
}

fn leant(leaning: Option<MetricLeaning>, difference: &str) -> StyledText {
    let difference = own(difference);
    match leaning {
        Some(MetricLeaning::Worse) => text![WORSE, " ", difference].toned(TextTone::Bad),
        Some(MetricLeaning::Better) => text![BETTER, " ", difference].toned(TextTone::Good),
        None => difference,
    }
}

/// The metric's name, marked when the verdict rests on it.
fn named(row: &MetricRow) -> StyledText {
    let name = outside(&row.name);
    if row.decides {
        text![bold(name), " *"]
    } else {
        name
    }
}

fn metric_columns(first: &'static str) -> [TableColumn; 6] {
    [
        TableColumn::left(first).least(NAME),
        TableColumn::right("From"),
        TableColumn::right("To"),
        TableColumn::right("Difference"),
        TableColumn::left("95 % interval"),
        TableColumn::right("p"),
    ]
}

fn metric_cells(name: StyledText, difference: StyledText, row: &MetricRow) -> Vec<StyledText> {
    let figures = [&row.reference, &row.candidate].map(|figure| own(figure.as_str()));
    let [from, to] = figures;
    let p = outside(&row.p);
    vec![name, from, to, difference, own(row.interval.as_str()), p]
}

fn metrics(page: &mut Page, comparison: &Comparison, view: &PageView) {
    let rows = words::rows(comparison);
    if rows.is_empty() {
        return;
    }
    let most = view.limits.metrics;
    let defined = || rows.iter().filter(|row| row.undefined.is_empty());
    let document = !view.is_terminal();
    let paired = document.then(|| TableColumn::left("Paired"));
    let mut table = PageTable::new(metric_columns("Metric").into_iter().chain(paired));
    for row in rows.iter().take(most) {
        let mut cells = metric_cells(named(row), difference(row), row);
        if !row.undefined.is_empty() {
            cells.truncate(1);
            cells.push(span(TextTone::Warn, figures::NO_VALUE).into());
            cells.resize(6, StyledText::default());
        }
        if document {
            cells.push(outside(&row.n));
        }
        let note = outside(&row.undefined);
        table.rows.push(TableRow { cells, note });
    }
    page.table(table);
    page.more(view, rows.len().saturating_sub(most), "metric");
    // Over how many pairs, where that is not the same for all.
    let usual = defined()
        .next()
        .map(|row| row.n.as_str())
        .unwrap_or_default();
    let others = defined().filter(|row| row.n != usual);
    let others = others.map(|row| text![outside(&row.name), " ", outside(&row.n)]);
    let paired = std::iter::once(outside(usual)).chain(others);
    if !usual.is_empty() && !document {
        page.words(dim(text!["paired: ", StyledText::joined(paired, ", ")]));
    }
    let loud = |row: &&MetricRow| row.decides || view.verbose || document;
    for row in rows.iter().filter(|row| !row.range.is_empty()).filter(loud) {
        let words = " if all samples without a grade had counted against, or for, the candidate";
        let range = own(format!(" {}{words}", row.range));
        page.words(text![outside(&row.name), range].toned(TextTone::Warn));
    }
    legend(page, comparison);
}

fn legend(page: &mut Page, comparison: &Comparison) {
    page.words(dim(signed(&words::legend(comparison, ["▼", "▲"]))));
}

// Groups.

fn groups(page: &mut Page, comparison: &Comparison, view: &PageView) {
    let kinds = words::groups(comparison, view.verbose);
    for kind in kinds.iter().filter(|kind| !kind.shown.is_empty()) {
        let part = group(kind, comparison, view);
        page.push(part);
    }
    let silent = kinds.iter().filter(|kind| kind.shown.is_empty());
    let silent: Vec<&str> = silent.map(|kind| kind.by.name()).collect();
    if !silent.is_empty() && view.is_terminal() {
        let by = silent.join(", ");
        let rest = view.rest();
        page.push(PageBlock::Gap);
        page.words(dim(own(format!(
            "by {by}: no group differs by more than chance; {rest}"
        ))));
    }
}

fn group(kind: &ShownGroups, comparison: &Comparison, view: &PageView) -> PageBlock {
    let most = view.limits.groups;
    let metric = kind
        .shown
        .first()
        .map(|group| figures::shown_metric(&group.metric.name));
    let differ = kind.shown.iter();
    let differ = differ.filter(|group| group.verdict != ComparisonVerdict::None);
    let finding = match differ.count() {
        _ if view.is_terminal() => String::new(),
        0 => ", no group differs by more than chance".to_owned(),
        1 => ", 1 group differs by more than chance".to_owned(),
        n => format!(", {n} groups differ by more than chance"),
    };
    let title = text![
        own(format!("By {}: ", kind.by.name())),
        outside(&metric.unwrap_or_default()),
        if kind.decides { " *" } else { "" },
        own(finding),
    ];
    let [name, from, to, by, interval, p] = metric_columns("Group");
    let cases = TableColumn::right("Cases").optional();
    let flips = TableColumn::left("Flips");
    let mut table = PageTable::new([name, from, to, by, interval, p, flips, cases]);
    for group in kind.shown.iter().take(most) {
        let row = words::row(&group.metric, comparison);
        let leaning = match group.verdict {
            ComparisonVerdict::None => None,
            ComparisonVerdict::Regression => Some(MetricLeaning::Worse),
            ComparisonVerdict::Improvement => Some(MetricLeaning::Better),
        };
        let difference = leant(leaning, &row.difference);
        let mut cells = metric_cells(outside(&group.group), difference, &row);
        cells.push(flips_of(group.broken, group.fixed));
        cells.push(own(group_digits(group.metric.n)));
        table.row(cells);
    }
    let mut body = Page::default();
    body.table(table);
    body.more(view, kind.shown.len().saturating_sub(most), "group");
    if kind.others > 0 {
        let groups = plural(kind.others, "more group");
        let how = match kind.decides {
            true => "without a difference",
            false => "that may differ by chance",
        };
        let rest = view.rest();
        body.words(dim(own(format!("{groups} {how}; {rest}"))));
    }
    PageBlock::Part(PageSection {
        title,
        folded: true,
        blocks: body.blocks,
    })
}

/// How many cases broke, and how many were fixed.
fn flips_of(broken: usize, fixed: usize) -> StyledText {
    let flips = [
        (FAILED, TextTone::Bad, broken),
        (PASSED, TextTone::Good, fixed),
    ];
    let flips = flips.into_iter().filter(|(.., count)| *count > 0);
    let flips =
        flips.map(|(symbol, tone, count)| text![symbol, own(group_digits(count))].toned(tone));
    StyledText::joined(flips, " ")
}

// Cases.

/// What became of cases. In the report of a run a terminal shows only the kinds of flips that matter
/// most; with `whole`, all.
fn cases(page: &mut Page, cases: &CaseChanges, view: &PageView, whole: bool) {
    page.push(PageBlock::Gap);
    for (at, sentence) in words::case_sentences(cases).into_iter().enumerate() {
        let sentence = own(sentence);
        page.words(if at == 0 { bold(sentence) } else { sentence });
    }
    for kind in FlipKind::ALL {
        let list = kind.of(cases);
        let brief = view.is_terminal() && !view.verbose;
        let loud = matches!(kind, FlipKind::Broken | FlipKind::Fixed | FlipKind::Changed);
        if list.count == 0 || brief && (kind == FlipKind::StillFailing || !whole && !loud) {
            continue;
        }
        let (symbol, tone) = flip(kind);
        let mut table = PageTable::new([
            TableColumn::left("Case").least(12),
            TableColumn::left("Passed"),
        ]);
        let listed = words::critical_first(list);
        for case in listed.iter().take(view.limits.cases) {
            let mut name = text![
                StyledText::from(symbol).toned(tone),
                " ",
                place(&case.eval_id, &case.case_id)
            ];
            if words::is_critical(case) {
                name.push(text![" (", bold("critical"), ")"]);
            }
            table.row([name, signed(&words::passes(case, "→"))]);
        }
        let shown = table.rows.len().min(list.count);
        let mut body = Page::default();
        body.table(table);
        body.more(view, list.count - list.private - shown, "case");
        if list.private > 0 {
            let private = private_cases(list.private);
            body.words(dim(own(format!("{private} not listed"))));
        }
        let count = group_digits(list.count);
        let title = own(format!("{} ({count})", kind.title(list)));
        page.part(title, true, body.blocks);
    }
}

fn flip(kind: FlipKind) -> (Symbol, TextTone) {
    let own = |sign: &'static str| Symbol {
        unicode: sign,
        ascii: sign,
        emoji: SKIPPED.emoji,
    };
    match kind {
        FlipKind::Broken => (FAILED, TextTone::Bad),
        FlipKind::Fixed => (PASSED, TextTone::Good),
        FlipKind::StillFailing => (FAILED, TextTone::Dim),
        FlipKind::Ungraded => (ERRORED, TextTone::Warn),
        FlipKind::Changed => (own("~"), TextTone::Plain),
        FlipKind::New => (own("+"), TextTone::Plain),
        FlipKind::Gone => (SKIPPED, TextTone::Plain),
    }
}

// Several candidates.

/// A column for each candidate.
fn columns(page: &mut Page, candidates: &[Comparison], view: &PageView) {
    let labels = candidates.iter().map(|one| TableColumn {
        keeps_end: true,
        ..TableColumn::left(bold(outside(&words::label(&one.candidate))))
    });
    let mut table = PageTable::new(std::iter::once(TableColumn::left("").least(17)).chain(labels));
    table.narrow = NarrowLayout::Split;
    let mut line = |name: StyledText, cell: &dyn Fn(&Comparison) -> StyledText| {
        table.row(std::iter::once(name).chain(candidates.iter().map(cell)));
    };
    line("verdict".into(), &|one| {
        let headline = ComparisonHeadline::of(one);
        let words = match headline {
            ComparisonHeadline::NoEvidence => "no evidence",
            ComparisonHeadline::Untested => "not tested",
            headline => headline.words(),
        };
        text![symbol(headline), " ", words]
    });
    let rows: Vec<Vec<MetricRow>> = candidates.iter().map(words::rows).collect();
    let mut names: Vec<&MetricRow> = Vec::new();
    for row in rows.iter().flatten() {
        if !names.iter().any(|known| known.name == row.name) {
            names.push(row);
        }
    }
    for name in names.iter().take(view.limits.metrics) {
        let of = |one: &Comparison| {
            let rows = words::rows(one);
            rows.into_iter()
                .find(|row| row.name == name.name)
                .filter(|row| row.undefined.is_empty())
        };
        line(named(name), &|one| match of(one) {
            None => dim(own(figures::NO_VALUE)),
            Some(row) => {
                let p = match row.p.is_empty() {
                    true => StyledText::default(),
                    false => text!["p ", outside(&row.p)],
                };
                let lines = [
                    text![
                        own(row.reference.as_str()),
                        ARROW,
                        own(row.candidate.as_str())
                    ],
                    difference(&row),
                    dim(own(row.interval.as_str())),
                    dim(p),
                ];
                StyledText::joined(
                    lines.into_iter().filter(|line| !line.is_empty()),
                    StyledText::line_break(),
                )
            }
        });
    }
    let mut count =
        |name: &'static str, tone: TextTone, of: &dyn Fn(&Comparison) -> usize, always: bool| {
            if always || candidates.iter().any(|one| of(one) > 0) {
                line(name.into(), &|one| {
                    let tone = if of(one) == 0 { TextTone::Dim } else { tone };
                    span(tone, group_digits(of(one))).into()
                });
            }
        };
    count(
        "cases compared",
        TextTone::Plain,
        &|one| one.cases.compared,
        true,
    );
    for (kind, tone) in [
        (FlipKind::Broken, TextTone::Bad),
        (FlipKind::Fixed, TextTone::Good),
        (FlipKind::StillFailing, TextTone::Plain),
        (FlipKind::Ungraded, TextTone::Warn),
        (FlipKind::Changed, TextTone::Plain),
        (FlipKind::New, TextTone::Plain),
        (FlipKind::Gone, TextTone::Plain),
    ] {
        count(kind.name(), tone, &|one| kind.of(&one.cases).count, false);
    }
    let drop = |one: &Comparison| {
        let found = one.detectable.as_ref();
        found
            .and_then(|d| Some(words::size(&d.metric, d.drop?)))
            .unwrap_or_default()
    };
    if candidates.iter().any(|one| !drop(one).is_empty()) {
        line("could have found".into(), &|one| dim(own(drop(one))));
    }
    if view.is_terminal() {
        page.push(PageBlock::Gap);
    }
    page.table(table);
    if let Some(first) = candidates.first() {
        legend(page, first);
    }
}
