//! Comparisons as Markdown for a pull request: the verdict in the first line, long lists folded.

use std::io::Write;

use super::words::{self, Headline, Kind, Leaning, Row};
use crate::model::{CaseChanges, ComparedSide, Comparison, Comparisons};
use crate::report::annotations::without_commands;
use crate::report::markdown::escape::{inline, sentence};
use crate::report::markdown::{decision_sign, table};
use crate::report::{ReportError, comment as comments, cut, figures};
use crate::spec::words::FailOn;
use eval_base::text;

/// How much of each list is written.
#[derive(Clone, Copy)]
struct Limits {
    cases: usize,
    groups: usize,
    notes: usize,
    /// Metrics beside those that the verdict rests on.
    metrics: usize,
}

const PAGE: Limits = Limits {
    cases: 200,
    groups: 100,
    notes: 50,
    metrics: 100,
};
const COMMENT: Limits = Limits {
    cases: 50,
    groups: 30,
    notes: 10,
    metrics: 30,
};
/// In the report of a run, and in the comment on it.
const BRIEF: Limits = Limits {
    cases: 30,
    groups: 30,
    notes: 10,
    metrics: 30,
};

const SHORT: Limits = Limits {
    cases: 20,
    groups: 10,
    notes: 5,
    metrics: 12,
};

pub fn render(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    page(comparisons, PAGE, out)
}

pub fn comment(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    let suite = comparisons
        .candidates
        .first()
        .map(|one| one.candidate.suite.as_str())
        .unwrap_or_default();
    let mut targets: Vec<&str> = comparisons
        .candidates
        .iter()
        .map(|one| one.candidate.target.as_str())
        .collect();
    targets.dedup();
    // Not the runs: who posts it replaces the comment of the last ones.
    let about = format!("{suite} {}", targets.join(" "));
    let about = text::truncate_bytes(about.trim_end(), 1_000);
    let mut whole = comments::marker("eval-harness comparison", about).into_bytes();
    page(comparisons, COMMENT, &mut whole)?;
    let whole = without_commands(&String::from_utf8_lossy(&whole));
    Ok(out.write_all(cut::cut(&whole, comments::LARGEST, "See the comparison.").as_bytes())?)
}

fn page(comparisons: &Comparisons, limits: Limits, out: &mut dyn Write) -> Result<(), ReportError> {
    match comparisons.candidates.as_slice() {
        [one] => {
            let headline = Headline::of(one);
            let sides = format!(
                "{} against {}",
                words::label(&one.candidate),
                words::label(&one.reference)
            );
            let suite = words::suite(one);
            writeln!(
                out,
                "# {} {}: {}\n",
                sign(headline),
                headline.title(),
                inline(&format!("{suite}, {sides}"))
            )?;
            said(one, limits, out)?;
            gate(comparisons, out)?;
            sides_of(&[one], out)?;
            figures_of(one, limits, out)?;
        }
        several => {
            many_title(several, out)?;
            gate(comparisons, out)?;
            let all: Vec<&Comparison> = several.iter().collect();
            sides_of(&all, out)?;
            many_figures(several, limits, out)?;
            for one in several {
                let headline = Headline::of(one);
                let label = inline(&words::label(&one.candidate));
                writeln!(out, "## {} {label}: {}\n", sign(headline), headline.words())?;
                said(one, limits, out)?;
                groups(one, limits, out)?;
                cases(&one.cases, limits, out)?;
            }
        }
    }
    if let Some(first) = comparisons.candidates.first() {
        writeln!(out, "<sub>{}</sub>", inline(&words::method(first)))?;
    }
    Ok(())
}

/// The section of a run's report; `fail_on` as the run was started with.
pub(crate) fn section(
    comparison: &Comparison,
    fail_on: Option<FailOn>,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    part(comparison, fail_on, BRIEF, out)
}

/// The section of a comment on a run: the figures folded.
pub(crate) fn brief(
    comparison: &Comparison,
    fail_on: Option<FailOn>,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    part(comparison, fail_on, SHORT, out)
}

fn part(
    comparison: &Comparison,
    fail_on: Option<FailOn>,
    limits: Limits,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let headline = Headline::of(comparison);
    let reference = inline(&words::label(&comparison.reference));
    writeln!(
        out,
        "## Compared with {reference}\n\n{} **{}**\n",
        sign(headline),
        headline.title()
    )?;
    said(comparison, limits, out)?;
    writeln!(
        out,
        "Reference: {}.\n",
        inline(&words::facts(&comparison.reference).join(", "))
    )?;
    figures_of(comparison, limits, out)?;
    writeln!(out, "{}\n", words::bearing(fail_on))?;
    Ok(())
}

fn sign(headline: Headline) -> &'static str {
    match headline {
        Headline::Regression => "❌",
        Headline::Improvement => "✅",
        Headline::NoEvidence => "⚪",
        Headline::Undecided | Headline::Untested => "⚠️",
    }
}

fn said(comparison: &Comparison, limits: Limits, out: &mut dyn Write) -> Result<(), ReportError> {
    if let Some(why) = words::undecided(comparison) {
        writeln!(out, "> [!WARNING]\n> Undecided: {}\n", sentence(&why))?;
    }
    let first = words::first_sentence(comparison);
    if !first.is_empty() {
        writeln!(out, "**{}**\n", sentence(&first))?;
    }
    let further: Vec<String> = words::further_sentences(comparison)
        .map(|words| sentence(&words))
        .collect();
    if !further.is_empty() {
        writeln!(out, "{}\n", further.join(" "))?;
    }
    for note in comparison.notes.iter().take(limits.notes) {
        writeln!(out, "- ⚠️ {}", sentence(note))?;
    }
    let more = comparison.notes.len().saturating_sub(limits.notes);
    if more > 0 {
        writeln!(out, "- ... and {}", text::plural(more, "more note"))?;
    }
    if !comparison.notes.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn gate(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = comparisons.decision;
    let label = figures::decision_label(decision);
    let word = comparisons.fail_on;
    writeln!(
        out,
        "Gate: {} **{label}** (`--fail-on {}`: {})\n",
        decision_sign(decision),
        word.name(),
        words::what_fails(word)
    )?;
    for reason in &comparisons.reasons {
        writeln!(out, "- {}", sentence(reason))?;
    }
    if !comparisons.reasons.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn sides_of(comparisons: &[&Comparison], out: &mut dyn Write) -> Result<(), ReportError> {
    let row = |role: &str, side: &ComparedSide| {
        vec![
            role.to_owned(),
            inline(&words::label(side)),
            inline(&words::facts(side).join(", ")),
        ]
    };
    let mut rows: Vec<Vec<String>> = comparisons
        .first()
        .map(|one| row("Reference", &one.reference))
        .into_iter()
        .collect();
    rows.extend(
        comparisons
            .iter()
            .map(|one| row("Candidate", &one.candidate)),
    );
    table(
        out,
        &["", "Name", "What it is"],
        &[false, false, false],
        &rows,
    )
}

fn figures_of(
    comparison: &Comparison,
    limits: Limits,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    metrics(comparison, limits, out)?;
    groups(comparison, limits, out)?;
    cases(&comparison.cases, limits, out)
}

const METRIC_HEAD: [&str; 7] = [
    "Metric",
    "Reference",
    "Candidate",
    "Difference",
    "95 % interval",
    "p",
    "Paired",
];
const RIGHT: [bool; 7] = [false, true, true, true, false, true, true];

fn metrics(
    comparison: &Comparison,
    limits: Limits,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let rows = words::rows(comparison);
    if rows.is_empty() {
        return Ok(());
    }
    let cells: Vec<Vec<String>> = rows.iter().take(limits.metrics).map(metric_cells).collect();
    table(out, &METRIC_HEAD, &RIGHT, &cells)?;
    let more = rows.len().saturating_sub(limits.metrics);
    if more > 0 {
        writeln!(out, "... and {}\n", text::plural(more, "more metric"))?;
    }
    let legend = inline_legend(comparison);
    if !legend.is_empty() {
        writeln!(out, "{legend}\n")?;
    }
    for row in rows.iter().filter(|row| !row.range.is_empty()) {
        writeln!(
            out,
            "- {} {} if all without a grade had gone against, or for, the candidate",
            inline(&row.name),
            row.range
        )?;
    }
    if rows.iter().any(|row| !row.range.is_empty()) {
        writeln!(out)?;
    }
    Ok(())
}

fn inline_legend(comparison: &Comparison) -> String {
    sentence(&words::legend(comparison, ["▼", "▲"]))
}

fn metric_cells(row: &Row) -> Vec<String> {
    let name = inline(&row.name);
    let name = if row.decides {
        format!("**{name}** \\*")
    } else {
        name
    };
    let difference = match row.undefined.is_empty() {
        true => marked(row),
        false => format!("undefined: {}", inline(&row.undefined)),
    };
    vec![
        name,
        row.reference.clone(),
        row.candidate.clone(),
        difference,
        row.interval.clone(),
        // A table's cell is no place for markup.
        inline(&row.p),
        inline(&row.n),
    ]
}

/// A difference with a sign where it is more than chance.
fn marked(row: &Row) -> String {
    match (row.moved, row.leaning) {
        (true, Leaning::Worse) => format!("▼ {}", row.difference),
        (true, Leaning::Better) => format!("▲ {}", row.difference),
        _ => row.difference.clone(),
    }
}

fn groups(comparison: &Comparison, limits: Limits, out: &mut dyn Write) -> Result<(), ReportError> {
    for kind in words::groups(comparison, false) {
        let count = kind.shown.len();
        let Some(first) = kind.shown.first() else {
            continue;
        };
        let metric = html(&figures::metric_name(&first.metric.name));
        let groups = text::plural(count, "group");
        let title = match (kind.decides, count) {
            (true, _) => format!("By {}: {metric} of {groups}", kind.by.name()),
            (false, 1) => format!(
                "By {}: {groups} differs by more than chance in {metric}",
                kind.by.name()
            ),
            (false, _) => format!(
                "By {}: {groups} differ by more than chance in {metric}",
                kind.by.name()
            ),
        };
        writeln!(out, "<details><summary>{title}</summary>\n")?;
        let rows: Vec<Vec<String>> = kind
            .shown
            .iter()
            .take(limits.groups)
            .map(|group| {
                let row = words::row(&group.metric, comparison);
                let mut cells = metric_cells(&Row {
                    decides: false,
                    name: group.group.clone(),
                    ..row
                });
                cells.push(text::group_digits(group.broken));
                cells.push(text::group_digits(group.fixed));
                cells
            })
            .collect();
        let mut head = METRIC_HEAD.to_vec();
        head[0] = "Group";
        head.extend(["Broken", "Fixed"]);
        let mut right = RIGHT.to_vec();
        right.extend([true, true]);
        table(out, &head, &right, &rows)?;
        let cut = count.saturating_sub(limits.groups);
        if cut > 0 {
            writeln!(out, "... and {}\n", text::plural(cut, "more group"))?;
        }
        if kind.others > 0 {
            let than = if kind.decides {
                "without a difference"
            } else {
                "that may differ by chance"
            };
            writeln!(out, "{} {than}.\n", text::plural(kind.others, "more group"))?;
        }
        writeln!(out, "</details>\n")?;
    }
    Ok(())
}

fn html(raw: &str) -> String {
    comments::html(raw)
}

fn cases(cases: &CaseChanges, limits: Limits, out: &mut dyn Write) -> Result<(), ReportError> {
    for sentence_ in words::case_sentences(cases) {
        writeln!(out, "- {}", sentence(&sentence_))?;
    }
    writeln!(out)?;
    for kind in Kind::ALL {
        let list = kind.of(cases);
        if list.count == 0 {
            continue;
        }
        let count = text::group_digits(list.count);
        writeln!(
            out,
            "<details><summary>{} {} ({count})</summary>\n",
            case_sign(kind),
            kind.title(list)
        )?;
        let listed = words::critical_first(list);
        for case in listed.iter().take(limits.cases) {
            let critical = if words::is_critical(case) {
                " **critical**"
            } else {
                ""
            };
            writeln!(
                out,
                "- {} ({}){critical}",
                inline(&words::case_name(case)),
                words::passes(case, "→")
            )?;
        }
        let hidden = list.count - listed.len().min(limits.cases).min(list.count);
        if hidden > 0 {
            let more = text::plural(hidden, "more case");
            writeln!(
                out,
                "- ... and {more} (`eval-harness compare --format json` lists all)"
            )?;
        }
        writeln!(out, "\n</details>\n")?;
    }
    Ok(())
}

fn case_sign(kind: Kind) -> &'static str {
    match kind {
        Kind::Broken | Kind::StillFailing => "❌",
        Kind::Fixed => "✅",
        Kind::Ungraded => "⚠️",
        Kind::Changed | Kind::New | Kind::Gone => "➖",
    }
}

fn many_title(candidates: &[Comparison], out: &mut dyn Write) -> Result<(), ReportError> {
    let headlines: Vec<Headline> = candidates.iter().map(Headline::of).collect();
    let order = [
        Headline::Regression,
        Headline::Undecided,
        Headline::Untested,
        Headline::Improvement,
        Headline::NoEvidence,
    ];
    let worst = order
        .into_iter()
        .find(|headline| headlines.contains(headline));
    let worst = worst.unwrap_or(Headline::NoEvidence);
    let first = candidates.first();
    let suite = first.map(words::suite).unwrap_or_default();
    let reference = first
        .map(|one| words::label(&one.reference))
        .unwrap_or_default();
    let number = text::plural(candidates.len(), "candidate");
    let about = inline(&format!("{suite}, {number} against {reference}"));
    writeln!(out, "# {} {}: {about}\n", sign(worst), worst.title())?;
    Ok(())
}

/// A column for each candidate.
fn many_figures(
    candidates: &[Comparison],
    limits: Limits,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let rows: Vec<Vec<Row>> = candidates.iter().map(words::rows).collect();
    let mut names: Vec<(&str, bool)> = Vec::new();
    for row in rows.iter().flatten() {
        if !names.iter().any(|(name, _)| *name == row.name) {
            names.push((&row.name, row.decides));
        }
    }
    let line = |name: &str, cell: &dyn Fn(usize) -> String| -> Vec<String> {
        std::iter::once(name.to_owned())
            .chain((0..candidates.len()).map(cell))
            .collect()
    };
    let verdict = |at: usize| {
        let headline = candidates
            .get(at)
            .map(Headline::of)
            .unwrap_or(Headline::Undecided);
        format!("{} {}", sign(headline), headline.words())
    };
    let mut lines = vec![line("verdict", &verdict)];
    for (name, decides) in names.iter().take(limits.metrics) {
        let label = if *decides {
            format!("**{}** \\*", inline(name))
        } else {
            inline(name)
        };
        let cell = |at: usize| match rows
            .get(at)
            .and_then(|rows| rows.iter().find(|row| row.name == *name))
        {
            Some(row) if row.undefined.is_empty() => {
                let interval = if row.interval.is_empty() {
                    String::new()
                } else {
                    format!(" {}", row.interval)
                };
                let p = if row.p.is_empty() {
                    String::new()
                } else {
                    format!(", p {}", inline(&row.p))
                };
                format!(
                    "{} → {}<br>{}{interval}{p}",
                    row.reference,
                    row.candidate,
                    marked(row)
                )
            }
            _ => figures::NO_VALUE.to_owned(),
        };
        lines.push(line(&label, &cell));
    }
    let count = |of: &dyn Fn(&Comparison) -> usize| {
        let counts: Vec<String> = candidates
            .iter()
            .map(|one| text::group_digits(of(one)))
            .collect();
        move |at: usize| counts.get(at).cloned().unwrap_or_default()
    };
    lines.push(line("cases compared", &count(&|one| one.cases.compared)));
    lines.push(line("broken", &count(&|one| one.cases.broken.count)));
    lines.push(line("fixed", &count(&|one| one.cases.fixed.count)));
    let labels: Vec<String> = candidates
        .iter()
        .map(|one| inline(&words::label(&one.candidate)))
        .collect();
    let head: Vec<&str> = std::iter::once("")
        .chain(labels.iter().map(String::as_str))
        .collect();
    table(out, &head, &vec![false; head.len()], &lines)?;
    let legend = candidates.first().map(inline_legend).unwrap_or_default();
    writeln!(out, "{legend}\n")?;
    Ok(())
}
