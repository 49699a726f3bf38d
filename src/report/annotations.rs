//! What did not pass as annotations of files, and these as the workflow commands that GitHub's
//! runner reads.
//!
//! The commands are lines such as `::error file=evals/a.yaml,line=3,title=...::message`; the runner
//! undoes the escaping of [`escape_data`] and [`escape_property`], as `@actions/core` writes it.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::model::{
    CaseFlip, CaseResult, Comparison, Decision, EvalResult, Failure, Outcome, Place, Summary,
};
use crate::report::comparison::words;
use crate::report::limits::annotations as limits;
use crate::report::{FailureIndex, figures};
use crate::spec::words::FailOn;
use eval_base::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationLevel {
    Error,
    Warning,
}

/// A remark on a line of a file, or on the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub level: AnnotationLevel,
    pub place: Option<Place>,
    pub title: String,
    /// May have several lines.
    pub message: String,
}

impl Annotation {
    /// `title` and `message` may be hostile: they are sanitised and bounded.
    pub fn new(
        level: AnnotationLevel,
        place: Option<Place>,
        title: &str,
        message: &str,
    ) -> Annotation {
        let cut =
            |raw: &str, columns| text::truncate_width(&text::one_line(raw), columns).into_owned();
        let mut lines = message.lines();
        let kept = lines.by_ref().take(limits::LINES);
        let mut message: Vec<String> = kept.map(|line| cut(line, limits::LINE)).collect();
        let more = lines.count();
        if more > 0 {
            let more = text::plural(more, "more line");
            message.push(format!("... and {more}; the report contains everything"));
        }
        Annotation {
            level,
            place,
            title: cut(title, limits::TITLE),
            message: message.join("\n"),
        }
    }
}

/// What a run is to be looked at for: missed thresholds, then evals that did not pass, each at its
/// definition. Errors are what failed a gate; what leaves it open, or was forgiven, is a warning.
pub fn of_run(summary: &Summary) -> Vec<Annotation> {
    let mut all = Vec::new();
    let suite = &summary.metadata.suite_name;
    for threshold in &summary.gate.thresholds {
        let (level, missed) = match threshold.status {
            Decision::Fail => (AnnotationLevel::Error, "missed"),
            Decision::Pass => continue,
            _ => (AnnotationLevel::Warning, "undecided"),
        };
        let row = figures::threshold_row(threshold);
        let title = format!("{suite}: threshold on {} {missed}", row.metric);
        all.push(Annotation::new(
            level,
            None,
            &title,
            &format!("{} ({})", row.value, row.needs),
        ));
    }
    all.extend(
        summary
            .comparison
            .iter()
            .filter_map(|comparison| of_verdict(summary, comparison)),
    );
    let failures = super::failures(summary);
    for eval in summary
        .evals
        .iter()
        .filter(|eval| eval.outcome != Outcome::Passed)
    {
        let fails = eval.outcome == Outcome::Failed && summary.gate.decision == Decision::Fail;
        let level = if fails {
            AnnotationLevel::Error
        } else {
            AnnotationLevel::Warning
        };
        all.push(of_eval(eval, &failures, level));
    }
    if let Some(comparison) = &summary.comparison {
        all.extend(of_broken(summary, comparison));
    }
    let told = all
        .iter()
        .any(|annotation| annotation.level == AnnotationLevel::Error);
    if summary.gate.decision == Decision::Fail && !told {
        let title = format!("{suite}: the gate failed");
        all.insert(
            0,
            Annotation::new(
                AnnotationLevel::Error,
                None,
                &title,
                &summary.gate.reasons.join("\n"),
            ),
        );
    }
    all
}

/// A regression, which the annotations of single evals must not crowd out.
fn of_verdict(summary: &Summary, comparison: &Comparison) -> Option<Annotation> {
    if words::ComparisonHeadline::of(comparison) != words::ComparisonHeadline::Regression {
        return None;
    }
    let reference = words::label(&comparison.reference);
    let title = format!(
        "{}: regression against {reference}",
        summary.metadata.suite_name
    );
    let level = level_of(summary, summary.fail_on == Some(FailOn::Significant));
    Some(Annotation::new(
        level,
        None,
        &title,
        &words::first_sentence(comparison),
    ))
}

/// What fails the gate is an error.
fn level_of(summary: &Summary, fails: bool) -> AnnotationLevel {
    if fails && summary.gate.decision == Decision::Fail {
        AnnotationLevel::Error
    } else {
        AnnotationLevel::Warning
    }
}

/// The evals with cases that were broken, each at its definition.
fn of_broken(summary: &Summary, comparison: &Comparison) -> Vec<Annotation> {
    let reference = words::label(&comparison.reference);
    let mut all = Vec::new();
    let mut of_evals: Vec<(&str, Vec<&CaseFlip>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let broken = &comparison.cases.broken;
    // A run lists the first of them.
    let is_cut = broken.unlisted() > 0;
    for case in &broken.cases {
        let at = *places.entry(case.eval_id.as_str()).or_insert_with(|| {
            of_evals.push((&case.eval_id, Vec::new()));
            of_evals.len() - 1
        });
        if let Some((_, cases)) = of_evals.get_mut(at) {
            cases.push(case);
        }
    }
    for (eval, cases) in of_evals {
        let fails = match summary.fail_on {
            Some(FailOn::Any) => true,
            Some(FailOn::Critical) => cases.iter().any(|case| words::is_critical(case)),
            _ => false,
        };
        let source = summary
            .evals
            .iter()
            .find(|found| found.id == eval)
            .and_then(|found| found.source.clone());
        let number = text::plural(cases.len(), "case");
        let at_least = if is_cut { "at least " } else { "" };
        let title = format!("{eval}: {at_least}{number} broken since {reference}");
        let line = |case: &CaseFlip| {
            format!(
                "{} {}",
                text::one_line(&case.case_id),
                words::passes(case, "->")
            )
        };
        let mut message: Vec<String> = cases
            .iter()
            .take(limits::CASES)
            .map(|case| line(case))
            .collect();
        let more = cases.len().saturating_sub(limits::CASES);
        message.extend((more > 0).then(|| more_cases(more)));
        all.push(Annotation::new(
            level_of(summary, fails),
            source,
            &title,
            &message.join("\n"),
        ));
    }
    all
}

fn of_eval(eval: &EvalResult, failures: &FailureIndex<'_>, level: AnnotationLevel) -> Annotation {
    let mut message = match eval.counts.total {
        0 | 1 => String::new(),
        total => {
            let passed = text::group_digits(eval.counts.passed);
            format!("{passed} of {} passed\n", text::plural(total, "case"))
        }
    };
    let is_told = |case: &&CaseResult| matches!(case.outcome, Outcome::Failed | Outcome::Errored);
    let mut told = 0;
    for case in eval.cases.iter().filter(is_told).take(limits::CASES) {
        let _ = match failures.get(&(eval.id.as_str(), case.id.as_str(), case.outcome)) {
            Some(failure) => writeln!(message, "{}", of_failure(failure)),
            None => writeln!(message, "{} {}", case.id, case.outcome),
        };
        told += 1;
    }
    let more = (eval.counts.failed + eval.counts.errored).saturating_sub(told);
    // Of a large run not every case is listed.
    if more > 0 && told > 0 {
        let _ = writeln!(message, "{}", more_cases(more));
    }
    if message.is_empty() {
        message = eval.outcome.name().to_owned();
    }
    let title = format!("{} {}", eval.id, eval.outcome);
    Annotation::new(level, eval.source.clone(), &title, &message)
}

fn more_cases(more: usize) -> String {
    let more = text::plural(more, "more case");
    format!("... and {more}; the report lists all")
}

fn of_failure(failure: &Failure) -> String {
    let cause = failure
        .cause
        .map_or(failure.outcome.name(), |cause| cause.name());
    let reason = text::one_line(&failure.reason);
    let said = if reason.is_empty() {
        cause.to_owned()
    } else {
        format!("{cause}: {reason}")
    };
    match failure.case_id == failure.eval_id {
        true => said,
        false => format!("{} {said}", failure.case_id),
    }
}

/// The lines that GitHub's runner reads: at most [`limits::SHOWN`] of each level, of which the last says
/// how many more there are.
pub fn as_commands(annotations: &[Annotation]) -> String {
    let mut out = String::new();
    for (level, word) in [
        (AnnotationLevel::Error, "error"),
        (AnnotationLevel::Warning, "warning"),
    ] {
        let all: Vec<&Annotation> = annotations
            .iter()
            .filter(|found| found.level == level)
            .collect();
        let shown = if all.len() > limits::SHOWN {
            limits::SHOWN - 1
        } else {
            limits::SHOWN
        };
        for annotation in all.iter().take(shown) {
            command(word, annotation, &mut out);
        }
        let more = all.len().saturating_sub(shown);
        if more > 0 {
            let title = format!("{} more", text::group_digits(more));
            let message = "GitHub shows ten annotations per level; the report lists them all.";
            command(
                word,
                &Annotation::new(level, None, &title, message),
                &mut out,
            );
        }
    }
    out
}

fn command(word: &str, annotation: &Annotation, out: &mut String) {
    let mut properties = Vec::new();
    if let Some(place) = &annotation.place {
        properties.push(format!("file={}", escape_property(&place.file)));
        properties.push(format!("line={}", place.line));
    }
    properties.push(format!("title={}", escape_property(&annotation.title)));
    let _ = writeln!(
        out,
        "::{word} {}::{}",
        properties.join(","),
        escape_data(&annotation.message)
    );
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A page for the log of a step in which no line is a command to the runner, whatever a model said:
/// `::set-output ...::` at the beginning of a line (GitHub, after white space), or `##[...]`
/// (GitHub, Azure) and `##vso[...]` (Azure) anywhere. A blank breaks them.
pub fn without_commands(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for line in page.split_inclusive(['\n', '\r']) {
        let body = line
            .trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}');
        let indent = line.len() - body.len();
        let rest = match body.strip_prefix("::") {
            Some(rest) => {
                out.push_str(line.get(..indent).unwrap_or_default());
                out.push_str(": :");
                rest
            }
            None => line,
        };
        match rest.contains("##") {
            true => out.push_str(&rest.replace("##[", "# #[").replace("##vso[", "# #vso[")),
            false => out.push_str(rest),
        }
    }
    out
}
