//! Graders that look at an output and run nothing.

use serde_json::{Map, Value, json};

use crate::model::{Cause, CodeGrader, Grade, GraderType, OutputValue, RegexFlags, Structural};
use eval_match::{Datum, numeric, structural, text};

use super::extract::{as_json, as_text};
use super::patterns::Patterns;
use super::show::{bounded, compared, in_reason};
use super::similarity;

/// Errors and warnings that a grade lists.
const LISTED: usize = 20;
/// Places that a grade lists in which output and baseline differ.
const PLACES: usize = 60;

/// Grades by one of the methods that need no process; `None` for the others.
pub(super) fn grade(
    grader: &CodeGrader,
    value: &OutputValue,
    patterns: &Patterns,
) -> Option<Grade> {
    let method = grader.method();
    let (judged, expected) = match grader {
        CodeGrader::ExactMatch {
            any_of,
            case_sensitive,
            trim_whitespace,
            normalize_newlines,
        } => {
            let options = text::TextOptions {
                trim_whitespace: *trim_whitespace,
                normalize_newlines: *normalize_newlines,
                case_sensitive: *case_sensitive,
            };
            (exact(any_of, value, options), one_of(any_of))
        }
        CodeGrader::Contains {
            must_include,
            must_not_include,
            case_sensitive,
        } => {
            let parts = text::contains(
                &as_text(value),
                must_include,
                must_not_include,
                *case_sensitive,
            );
            (
                if parts.matched() {
                    Judged::Passed
                } else {
                    lacking(&parts)
                },
                None,
            )
        }
        CodeGrader::Regex {
            patterns: sources,
            flags,
            must_match,
            capture_groups,
        } => (
            regex(
                sources,
                *flags,
                *must_match,
                capture_groups,
                value,
                patterns,
            ),
            None,
        ),
        CodeGrader::Numeric {
            any_of,
            absolute,
            relative,
            min,
            max,
        } => {
            let rule = numeric::Rule {
                any_of,
                absolute: *absolute,
                relative: *relative,
                min: *min,
                max: *max,
            };
            let compared = match value {
                OutputValue::Json(value) => numeric::compare_json(value, &rule),
                OutputValue::Text(text) | OutputValue::Program(text) => {
                    numeric::compare_text(text, &rule)
                }
            };
            (Judged::of(compared), one_of(any_of))
        }
        CodeGrader::Json { any_of, schema } => (
            json_value(any_of, schema.as_ref(), value, patterns),
            one_of(any_of),
        ),
        CodeGrader::StructuralMatch(rule) => {
            let expected = match &rule.expected {
                text @ Value::String(_) => eval_match::without_literals(text),
                large => bounded(large),
            };
            (structure(rule, value), Some(expected))
        }
        CodeGrader::Similarity(rule) => return Some(similarity::grade(rule, value)),
        CodeGrader::NoBaseline
        | CodeGrader::FunctionOutput(_)
        | CodeGrader::CodeExecution(_)
        | CodeGrader::Command(_) => return None,
    };
    Some(compared(judged.into_grade(method), expected, value))
}

/// The grade of a regression that has nothing to be compared with yet.
pub(super) fn no_baseline(eval: &str) -> Grade {
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let id = if !eval.is_empty() && eval.chars().all(plain) && !eval.starts_with('-') {
        eval.to_owned()
    } else {
        format!("'{}'", eval.replace('\'', r"'\''"))
    };
    let why = format!(
        "there is no baseline to compare with; `eval-harness baseline capture {id}` captures one"
    );
    Grade::errored(
        GraderType::Code,
        CodeGrader::NoBaseline.method(),
        Cause::NoBaseline,
        why,
    )
}

/// The answer of one method.
enum Judged {
    Passed,
    PassedWith(Map<String, Value>),
    Failed {
        reason: String,
        score: f64,
        details: Map<String, Value>,
    },
    /// The grader can't be applied: the author's fault.
    Broken(String),
}

impl Judged {
    fn failed(reason: impl Into<String>) -> Judged {
        Judged::Failed {
            reason: reason.into(),
            score: 0.0,
            details: Map::new(),
        }
    }

    fn of(result: Result<eval_match::Comparison, String>) -> Judged {
        match result {
            Ok(comparison) if comparison.matched => Judged::Passed,
            Ok(comparison) => Judged::failed(comparison.reason),
            Err(why) => Judged::Broken(why),
        }
    }

    fn into_grade(self, method: &str) -> Grade {
        match self {
            Judged::Passed => Grade::passed(GraderType::Code, method),
            Judged::PassedWith(details) => Grade {
                details,
                ..Grade::passed(GraderType::Code, method)
            },
            Judged::Failed {
                reason,
                score,
                details,
            } => Grade {
                details,
                ..Grade::failed(GraderType::Code, method, Cause::WrongAnswer, reason)
                    .with_score(score)
            },
            Judged::Broken(why) => Grade::errored(GraderType::Code, method, Cause::Harness, why),
        }
    }
}

/// The reason and the lists of a text's missing and forbidden parts.
fn lacking(parts: &text::Parts) -> Judged {
    let mut details = Map::new();
    for (key, list) in [("missing", &parts.missing), ("forbidden", &parts.forbidden)] {
        if !list.is_empty() {
            let listed: Vec<String> = list.iter().take(LISTED).map(|t| in_reason(t)).collect();
            details.insert(key.to_owned(), json!(listed));
        }
    }
    Judged::Failed {
        reason: parts.reason(),
        score: 0.0,
        details,
    }
}

/// What was expected, for the grade: the value itself when there is one, else all alternatives.
fn one_of(any_of: &[Value]) -> Option<Value> {
    match any_of {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(json!({ "any_of": all })),
    }
}

fn exact(any_of: &[Value], value: &OutputValue, options: text::TextOptions) -> Judged {
    if any_of.is_empty() {
        return Judged::Broken("exact_match has no expected value".to_owned());
    }
    let mut first = None;
    for expected in any_of {
        let comparison = match exact_one(expected, value, options) {
            Ok(comparison) if comparison.matched => return Judged::Passed,
            Ok(comparison) => comparison,
            Err(why) => return Judged::Broken(why),
        };
        first.get_or_insert(comparison.reason);
    }
    Judged::failed(among(any_of.len(), first.unwrap_or_default()))
}

fn exact_one(
    expected: &Value,
    value: &OutputValue,
    options: text::TextOptions,
) -> Result<eval_match::Comparison, String> {
    let by_value = match (expected, value) {
        (Value::String(_), _) | (_, OutputValue::Json(Value::String(_))) => None,
        (_, OutputValue::Json(actual)) => Some(actual.clone()),
        // A text that is to equal an object or array is read as JSON: no two programs space them
        // alike.
        (Value::Object(_) | Value::Array(_), _) => as_json(value).ok(),
        _ => None,
    };
    match (by_value, expected) {
        (Some(actual), _) => equal(expected, &actual),
        (None, Value::String(expected)) => Ok(text::exact(&as_text(value), expected, options)),
        (None, expected) => Ok(text::exact(&as_text(value), &expected.to_string(), options)),
    }
}

fn among(alternatives: usize, reason: String) -> String {
    if alternatives > 1 {
        format!("none of {alternatives} alternatives matches; the first: {reason}")
    } else {
        reason
    }
}

/// Equality of two JSON values, by value.
fn equal(expected: &Value, actual: &Value) -> Result<eval_match::Comparison, String> {
    let wanted = Datum::from_json(expected)
        .map_err(|why| format!("the expected value can't be compared: {why}"))?;
    let Ok(got) = Datum::from_json(actual) else {
        return Ok(eval_match::Comparison::differs(
            "the output is nested too deeply, or holds a number beyond all bounds",
        ));
    };
    if eval_match::equals(&got, &wanted) {
        return Ok(eval_match::Comparison::matched());
    }
    let differences =
        structural::compare(&Structural::as_it_stands(expected.clone()), actual).differences;
    let reason = match differences.as_slice() {
        [] => {
            format!(
                "expected {}, got {}",
                in_reason(&expected.to_string()),
                in_reason(&actual.to_string())
            )
        }
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", differences_word(rest.len())),
    };
    Ok(eval_match::Comparison::differs(reason))
}

fn differences_word(n: usize) -> String {
    if n == 1 {
        "1 difference".to_owned()
    } else {
        format!("{n} differences")
    }
}

fn regex(
    sources: &[String],
    flags: RegexFlags,
    must_match: bool,
    groups: &[String],
    value: &OutputValue,
    patterns: &Patterns,
) -> Judged {
    let output = as_text(value);
    for source in sources {
        let pattern = match patterns.get(source, flags) {
            Ok(pattern) => pattern,
            Err(why) => return Judged::Broken(why),
        };
        let hit = match pattern.search(&output) {
            Ok(hit) => hit,
            Err(error) => {
                return Judged::Broken(format!("the pattern `{source}` gave up: {error}"));
            }
        };
        let Some(hit) = hit else { continue };
        if !must_match {
            return Judged::failed(format!(
                "`{source}` matches {:?}, which nothing may match",
                in_reason(hit.text())
            ));
        }
        let mut details = Map::new();
        for group in groups {
            let text = hit
                .group(group)
                .map_or(Value::Null, |text| Value::String(in_reason(text)));
            details.insert(group.clone(), text);
        }
        let captured = Map::from_iter([("groups".to_owned(), Value::Object(details))]);
        return if groups.is_empty() {
            Judged::Passed
        } else {
            Judged::PassedWith(captured)
        };
    }
    match (sources, must_match) {
        ([], _) => Judged::Broken("regex has no pattern".to_owned()),
        (_, false) => Judged::Passed,
        ([one], true) => Judged::failed(format!("`{one}` does not match")),
        (all, true) => Judged::failed(format!("none of {} patterns matches", all.len())),
    }
}

fn json_value(
    any_of: &[Value],
    schema: Option<&Value>,
    value: &OutputValue,
    patterns: &Patterns,
) -> Judged {
    let actual = match as_json(value) {
        Ok(actual) => actual,
        Err(error) => return Judged::failed(format!("the output is not JSON: {error}")),
    };
    if let Some(schema) = schema {
        let validator = match patterns.schema(schema) {
            Ok(validator) => validator,
            Err(why) => return Judged::Broken(why),
        };
        let errors: Vec<String> = validator
            .iter_errors(&actual)
            .take(LISTED)
            .map(|error| {
                let place = error.instance_path().to_string();
                format!(
                    "{}: {}",
                    if place.is_empty() { "(root)" } else { &place },
                    in_reason(&error.to_string())
                )
            })
            .collect();
        if let Some(first) = errors.first() {
            let more = match errors.len() {
                1 => String::new(),
                LISTED => format!("; and at least {} more", LISTED - 1),
                n => format!("; and {} more", n - 1),
            };
            let reason = format!("does not match the schema: {first}{more}");
            let details = Map::from_iter([("schema_errors".to_owned(), json!(errors))]);
            return Judged::Failed {
                reason,
                score: 0.0,
                details,
            };
        }
    }
    let mut first = None;
    for expected in any_of {
        match equal(expected, &actual) {
            Ok(comparison) if comparison.matched => return Judged::Passed,
            Ok(comparison) => first.get_or_insert(comparison.reason),
            Err(why) => return Judged::Broken(why),
        };
    }
    first.map_or(Judged::Passed, |reason| {
        Judged::failed(among(any_of.len(), reason))
    })
}

/// A baseline that is a text is compared with the output as a text, any other with the output as
/// JSON.
fn structure(rule: &Structural, value: &OutputValue) -> Judged {
    if let Value::String(wanted) = &rule.expected
        && let Some(judged) = text_structure(rule, wanted, value)
    {
        return judged;
    }
    let parsed;
    let actual = match value {
        OutputValue::Json(actual) => actual,
        other => match as_json(other) {
            Ok(actual) => {
                parsed = actual;
                &parsed
            }
            Err(error) => return Judged::failed(format!("the output is not JSON: {error}")),
        },
    };
    structural_verdict(rule, structural::compare(rule, actual))
}

/// `None` where the output has to be read as JSON after all.
fn text_structure(rule: &Structural, wanted: &str, value: &OutputValue) -> Option<Judged> {
    let text = match value {
        OutputValue::Text(text)
        | OutputValue::Program(text)
        | OutputValue::Json(Value::String(text)) => text,
        OutputValue::Json(_) => return None,
    };
    let options = text::TextOptions::default();
    if eval_match::is_matcher(wanted) {
        let levelled = Value::String(options.apply(text).into_owned());
        let result = structural::compare(rule, &levelled);
        // In a text a number can only be written out.
        let written_out =
            matches!(value, OutputValue::Text(_)) && !result.matched && as_json(value).is_ok();
        return (!written_out).then(|| structural_verdict(rule, result));
    }
    let meant = eval_match::literal_text(wanted);
    let comparison = text::exact(text, meant.as_deref().unwrap_or(wanted), options);
    Some(if comparison.matched {
        Judged::Passed
    } else {
        Judged::failed(comparison.reason)
    })
}

fn structural_verdict(rule: &Structural, result: structural::StructuralResult) -> Judged {
    let mut details = Map::new();
    if !result.warnings.is_empty() {
        details.insert(
            "warnings".to_owned(),
            json!(result.warnings.iter().take(LISTED).collect::<Vec<_>>()),
        );
    }
    if let Some(likeness) = rule.likeness {
        let lowest = result.lowest_likeness.unwrap_or(1.0);
        details.insert(
            "similarity".to_owned(),
            json!({"metric": likeness.measure, "threshold": likeness.threshold, "lowest": lowest}),
        );
    }
    if result.matched {
        return if details.is_empty() {
            Judged::Passed
        } else {
            Judged::PassedWith(details)
        };
    }
    if let Some(why) = result.undecided {
        return Judged::Broken(why);
    }
    let listed: Vec<Value> = result
        .differences
        .iter()
        .take(PLACES)
        .map(|d| json!({"path": d.path, "kind": d.kind.name(), "expected": d.expected, "actual": d.actual}))
        .collect();
    details.insert("differences".to_owned(), Value::Array(listed));
    details.insert("difference_count".to_owned(), json!(result.total));
    let reason = match result.differences.as_slice() {
        [] => "the output differs from the baseline".to_owned(),
        [one] => one.to_string(),
        [first, ..] => format!(
            "{first}; and {} more",
            differences_word(result.total.saturating_sub(1))
        ),
    };
    Judged::Failed {
        reason,
        score: result.score.min(1.0 - f64::EPSILON),
        details,
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
