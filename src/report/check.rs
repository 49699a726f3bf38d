//! What the check of a suite found, as a page for people and for programs.

use std::io::{self, Write};

use super::figures;
use super::limits::CHECK_NAMES;
use super::page::{
    ListItem, ListMark, Page, PageBlock, PageTable, PageView, StyledText, TableColumn, TextTone,
    bold, dim, mark, outside, own, place, span, text,
};
use crate::model::{
    CaseNames, CheckDecision, CheckFinding, CheckReport, FindingKind, FindingLevel, LeftOutReason,
    Outcome, ProbeKind, ProbeTally, proved_by_reference,
};
use eval_base::text::{listed, plural};

/// The same for programs.
pub fn json(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    eval_base::json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

pub fn page(report: &CheckReport, view: &PageView) -> Page {
    let mut page = Page::default();
    page.title(text![
        outside(&report.suite),
        ": right answers pass, others fail"
    ]);
    let probes: usize = report.probes.iter().map(ProbeTally::total).sum();
    let facts = [
        format!(
            "{} in {}",
            plural(report.cases, "case"),
            plural(report.evals, "eval")
        ),
        plural(probes, "probe"),
        figures::duration_seconds(report.duration_seconds),
    ];
    let more = report.oracle.iter().map(|path| format!("oracle {path}"));
    let more = more.chain(report.filters.iter().cloned());
    let facts = facts.map(own).into_iter();
    page.line(facts.chain(more.map(|fact| outside(&fact))));
    page.push(PageBlock::Gap);
    table(&mut page, report, view);
    for (level, title) in [
        (FindingLevel::Note, "Notes"),
        (FindingLevel::Unknown, "Not found out"),
        (FindingLevel::Fails, "Findings"),
    ] {
        let of = |finding: &&CheckFinding| finding.level == level && finding.excused.is_none();
        findings(
            &mut page,
            title,
            report.findings.iter().filter(of).collect(),
            view,
        );
    }
    let excused = report
        .findings
        .iter()
        .filter(|finding| finding.excused.is_some());
    findings(&mut page, "Excused", excused.collect(), view);
    page.push(PageBlock::Gap);
    remarks(&mut page, report);
    page.push(PageBlock::Gap);
    page.lead(decision(report));
    page
}

/// Verdicts by kind of probe; with `--verbose` by probe.
fn table(page: &mut Page, report: &CheckReport, view: &PageView) {
    let columns = [
        TableColumn::left("Probes"),
        TableColumn::right("Passed"),
        TableColumn::right("Failed"),
        TableColumn::right("Errored"),
        TableColumn::right("Unclear"),
        TableColumn::left("Must"),
    ];
    let mut table = PageTable::new(columns);
    let kinds = [
        (ProbeKind::Reference, "Reference"),
        (ProbeKind::ReferenceAgain, "Reference, second run"),
        (ProbeKind::Null, "Null answers"),
        (ProbeKind::Cheat, "Cheats"),
        (ProbeKind::Injection, "Injections"),
    ];
    for (kind, title) in kinds {
        let rows = || report.probes.iter().filter(move |row| row.kind == kind);
        if rows().next().is_none() {
            continue;
        }
        let of = |row: &ProbeTally| [row.passed, row.failed, row.errored, row.inconclusive];
        let sum = rows().map(of).fold([0; 4], |sum, row| {
            std::array::from_fn(|at| sum.get(at).unwrap_or(&0) + row.get(at).unwrap_or(&0))
        });
        table.row(cells(own(title), kind, sum));
        if view.verbose && !kind.must_pass() {
            for row in rows() {
                let name = dim(text!["  ", outside(&row.name)]);
                table.row(cells(name, kind, of(row)));
            }
        }
    }
    page.table(table);
}

fn cells(
    name: StyledText,
    kind: ProbeKind,
    [passed, failed, errored, inconclusive]: [usize; 4],
) -> [StyledText; 6] {
    let tone = |is_wrong: bool| match is_wrong {
        true => TextTone::Bad,
        false => TextTone::Plain,
    };
    let wants_pass = kind.must_pass();
    let number = |n: usize, is_wrong: bool| own(n.to_string()).toned(tone(is_wrong && n > 0));
    let must = if wants_pass { "pass" } else { "fail" };
    [
        name,
        number(passed, !wants_pass),
        number(failed, wants_pass),
        number(errored, wants_pass),
        number(inconclusive, false),
        dim(own(must)),
    ]
}

fn findings(page: &mut Page, title: &str, all: Vec<&CheckFinding>, view: &PageView) {
    if all.is_empty() {
        return;
    }
    page.section(own(format!("{title} ({})", all.len())));
    let most = match view.verbose || !view.is_terminal() {
        true => usize::MAX,
        false => view.limits.failures.max(view.limits.named),
    };
    page.list(all.iter().take(most).map(|finding| item(finding)));
    page.more(view, all.len().saturating_sub(most), "finding");
}

fn item(finding: &CheckFinding) -> ListItem {
    let outcome = match (finding.level, &finding.excused) {
        (_, Some(_)) => Outcome::Skipped,
        (FindingLevel::Fails, None) => Outcome::Failed,
        (FindingLevel::Unknown, None) => Outcome::Errored,
        (FindingLevel::Note, None) => Outcome::Pending,
    };
    let kind = span(TextTone::of(outcome), finding.kind.name());
    let head = text![
        bold(named(&finding.eval, &finding.case)),
        "  ",
        StyledText::from(kind),
    ];
    let mut item = ListItem::new(ListMark::Sign(mark(outcome)), head);
    let mut below = Page::default();
    let names = match finding.kind {
        FindingKind::ReferenceFails | FindingKind::Flaky | FindingKind::NoReference => "",
        _ => &*listed(&finding.probes, CHECK_NAMES, finding.probes.len(), "; "),
    };
    below.words(outside(&finding.reason));
    if !names.is_empty() {
        below.words(dim(outside(&format!("Probes: {names}"))));
    }
    if let Some(reason) = &finding.excused {
        below.words(dim(outside(reason)));
    }
    item.below = below.blocks;
    item
}

/// An eval with its case, if there is one to name.
fn named(eval: &str, case: &str) -> StyledText {
    match case {
        "" => outside(eval),
        case => place(eval, case),
    }
}

fn cases(names: &CaseNames) -> String {
    format!(
        "{}: {}",
        plural(names.count, "case"),
        listed(&names.first, CHECK_NAMES, names.count, ", ")
    )
}

/// What the reference takes, and what was not checked.
fn remarks(page: &mut Page, report: &CheckReport) {
    let mut facts: Vec<(StyledText, StyledText)> = Vec::new();
    let (proved, checked) = (report.proved_cases, report.checked_cases);
    let words = proved_by_reference(proved, checked, report.expected_references);
    facts.push(("Proved".into(), own(words)));
    let shares = [
        (
            "Reference time",
            &report.reference_time,
            figures::duration_ms as fn(f64) -> String,
        ),
        ("Reference memory", &report.reference_memory, |mb| {
            format!("{mb:.0} MB")
        }),
    ];
    for (name, share, shown) in shares {
        let Some(share) = share else { continue };
        let words = format!(
            "at most {} of the limit ({} of {}), {} on average",
            figures::percent(share.share),
            shown(share.used),
            shown(share.limit),
            figures::percent(share.mean_share),
        );
        let words = text![own(words), ": ", named(&share.eval, &share.case)];
        facts.push((name.into(), words));
    }
    if report.without_reference.count > 0 {
        facts.push((
            "No reference".into(),
            outside(&cases(&report.without_reference)),
        ));
    }
    if report.without_trajectories.count > 0 {
        let words = text![
            "trajectory graders, because probes have no trajectory; the other graders of these cases were checked; ",
            outside(&cases(&report.without_trajectories))
        ];
        facts.push(("Not checked".into(), words));
    }
    for left_out in &report.left_out {
        let why = match left_out.reason {
            LeftOutReason::Judges => "judged by models; --judges checks them",
            LeftOutReason::People => "graded by people",
            LeftOutReason::NoBaseline => "no baseline yet",
            LeftOutReason::NoGrader => "nothing grades them",
            LeftOutReason::Trajectories => "only trajectories are graded, and probes have none",
            LeftOutReason::NegatedJudges => "only negated judges, which require a reference",
        };
        let words = text![own(format!("{why}; ")), outside(&cases(&left_out.cases))];
        facts.push(("Left out".into(), words));
    }
    if let Some(stamp) = &report.stamp {
        facts.push(("Stamp".into(), outside(stamp)));
    }
    page.facts(facts);
}

fn decision(report: &CheckReport) -> StyledText {
    let count = |level| {
        let counted = |finding: &&CheckFinding| finding.level == level && finding.excused.is_none();
        report.findings.iter().filter(counted).count()
    };
    match report.decision {
        CheckDecision::Holds => span(TextTone::Good, "CHECK HOLDS").into(),
        CheckDecision::Fails => {
            let found = plural(count(FindingLevel::Fails), "finding");
            span(TextTone::Bad, format!("CHECK FAILS: {found}")).into()
        }
        CheckDecision::Unknown => {
            let why = match (report.interrupted, count(FindingLevel::Unknown)) {
                (true, _) => "it was interrupted".to_owned(),
                (false, 0) => "no case has a reference".to_owned(),
                (false, open) => format!("{} not found out", plural(open, "verdict")),
            };
            span(TextTone::Warn, format!("CHECK INCOMPLETE: {why}")).into()
        }
    }
}
