//! What a grader said.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::judged::{self, JudgedOnPage};
use super::sample::{LabelledFact, measured};
use super::shown::{self, ShownText};
use crate::model::Grade;
use crate::report::differences::{self, DifferenceLimits};
use crate::report::emphasis::EmphasisMarks;
use crate::report::limits::html as limits;
use crate::report::{figures, notices};
use eval_base::text;

#[derive(Debug, Serialize)]
pub struct GradeOnPage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    method: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    outcome: &'static str,
    score: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<ShownText<'a>>,
    /// True when `actual` is what the sample shows as its output (or as extracted), and therefore
    /// is not here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    actual_is_output: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<DifferenceList>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<(Cow<'a, str>, ShownText<'a>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<LabelledFact<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmeasured: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    informative: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    adjudicated: bool,
    /// The level and what it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<[&'static str; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged: Option<JudgedOnPage<'a>>,
}

/// Where two structures differ.
#[derive(Debug, Serialize)]
struct DifferenceList {
    rows: Vec<DifferencePlace>,
    more: usize,
}

#[derive(Debug, Serialize)]
struct DifferencePlace {
    path: String,
    note: String,
    expected: Option<Vec<String>>,
    actual: Option<Vec<String>>,
}

/// `graded` is what the sample shows of its output.
pub fn grade_details<'a>(
    grade: &'a Grade,
    graded: Option<&ShownText<'a>>,
    limit: usize,
) -> GradeOnPage<'a> {
    let actual = grade
        .actual
        .as_ref()
        .map(|actual| shown::of_value(actual, limit));
    let actual_is_output = actual.is_some() && actual.as_ref() == graded;
    let places = places(grade, limit);
    // What is told place by place need not be read again as data.
    let told = places.as_ref().is_some_and(|places| places.more == 0);
    let details = grade.details.iter().filter(|(key, _)| {
        let listed = [differences::LISTED, differences::COUNTED].contains(&key.as_str());
        !(told && listed)
    });
    GradeOnPage {
        kind: grade.grader_type.name(),
        method: shown::name(&grade.method, limit),
        name: grade.grader.as_deref().map(|name| shown::name(name, limit)),
        outcome: grade.outcome.name(),
        score: grade.score.map(figures::rate).unwrap_or_default(),
        cause: grade.cause.map(|cause| cause.name()),
        reason: (!grade.reason.trim().is_empty()).then(|| shown::of_text(&grade.reason, limit)),
        expected: grade
            .expected
            .as_ref()
            .map(|expected| shown::of_expected(expected, limit)),
        actual: actual.filter(|_| !actual_is_output),
        actual_is_output,
        places,
        details: details
            .take(limits::ENTRIES)
            .map(|(key, value)| detail(key, value, limit))
            .collect(),
        metrics: grade
            .metrics
            .iter()
            .take(limits::ENTRIES)
            .map(|(name, value)| measured(name, *value, limit))
            .collect(),
        unmeasured: grade
            .unmeasured
            .iter()
            .take(limits::ENTRIES)
            .map(|name| shown::name(&figures::shown_metric(name), limit).into_owned())
            .collect(),
        informative: grade.informative,
        adjudicated: grade.adjudicated,
        trust: grade
            .trust
            .map(|level| [level.name(), notices::trust_meaning(level)]),
        judged: grade
            .judged
            .as_deref()
            .map(|judged| judged::judged_details(grade, judged, limit)),
    }
}

/// A detail; the place of a test, which graders count from 0, as people count.
fn detail<'a>(key: &'a str, value: &'a Value, limit: usize) -> (Cow<'a, str>, ShownText<'a>) {
    let shown = shown::of_value(value, limit);
    match value.as_u64().filter(|_| key == "test") {
        Some(at) => {
            let text = Cow::Owned(figures::number(at.saturating_add(1)));
            (Cow::Borrowed("failed test"), ShownText { text, ..shown })
        }
        None => (shown::name(key, limit), shown),
    }
}

fn places(grade: &Grade, limit: usize) -> Option<DifferenceList> {
    let columns = limits::PLACE_SIDE.min(limit);
    let rows = differences::of_details(
        &grade.details,
        DifferenceLimits {
            rows: limits::PLACES,
            columns,
            unicode: true,
        },
    )?;
    let short = |side: differences::DifferenceSide| {
        pieces(text::truncate_bytes(&side.text, columns * 4), &side.marks)
    };
    let place = |row: differences::DifferenceRow| DifferencePlace {
        path: shown::name(&row.path, limit).into_owned(),
        note: row.note,
        expected: row.expected.map(short),
        actual: row.actual.map(short),
    };
    Some(DifferenceList {
        more: rows.more,
        rows: rows.rows.into_iter().map(place).collect(),
    })
}

/// A line in pieces; every second one is what differs.
fn pieces(line: &str, marks: &EmphasisMarks) -> Vec<String> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for mark in marks {
        let (Some(before), Some(marked)) =
            (line.get(from..mark.start), line.get(mark.start..mark.end))
        else {
            break;
        };
        pieces.extend([before.to_owned(), marked.to_owned()]);
        from = mark.end;
    }
    pieces.push(line.get(from..).unwrap_or_default().to_owned());
    pieces
}
