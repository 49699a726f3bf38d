//! Which work is done in place: what is linear in the output, for outputs of a bounded size.
//!
//! The bounds keep each piece of work below about a second on a slow machine, and most of it below
//! a millisecond:
//!
//! - texts against texts, parts of texts, numbers, code blocks: outputs of up to 64 KiB;
//! - JSON against JSON without matchers, and paths that name one place: up to 16 KiB;
//! - patterns of the linear engine: compiled size times bytes searched up to 2^30 (64 KiB for small
//!   patterns, 4 KiB for those with `\w`); where all matches are looked for, times the output's
//!   bytes once more, since each match may scan all of the text;
//! - similarities: bytes of the output times those of the references up to 2^20; for
//!   `tokenizer: icu`, whose models of words take 5 microseconds a byte, at most 16 KiB of both;
//! - everything else (patterns that backtrack, JSON Schemas, structures) never.

use std::io;

use serde_json::Value;

use crate::grade::extract::names_one_place;
use crate::grade::patterns::Patterns;
use crate::model::{
    CodeGrader, Executor, Extract, OutputValue, RegexFlags, Tests, Tokenizer, Which,
};
use eval_match::is_matcher;

/// Bytes of an output that linear work is done on.
const TEXT_BYTES: usize = 64 << 10;

/// Bytes of an output that is read as JSON and compared as such.
const JSON_BYTES: usize = 16 << 10;

/// Bytes of an output times what it is compared with.
const COMPARED: usize = 16 << 20;

/// Bytes of an output times those of the references that its distance is measured to.
const MEASURED: usize = 1 << 20;

/// Bytes of an output and its references that become words by dictionaries and models.
const SEGMENTED: usize = 16 << 10;

/// Bytes of a compiled pattern times the bytes that it searches.
const SEARCHED: usize = 1 << 30;

/// Bytes of an output's lines times bytes of the tests in which the names that it defines are
/// looked for.
const LOOKED_UP: usize = 64 << 20;

/// Whether a grader that only looks does so in place.
pub(super) fn grades(grader: &CodeGrader, value: &OutputValue, patterns: &Patterns) -> bool {
    let Some(bytes) = size(value) else {
        return false;
    };
    let times = |n: usize| bytes.saturating_mul(n) <= COMPARED;
    match grader {
        CodeGrader::ExactMatch { any_of, .. } => {
            let is_text = |value: &Value| !value.is_array() && !value.is_object();
            let by_value = match value {
                OutputValue::Json(value) => !value.is_string(),
                OutputValue::Text(_) | OutputValue::Program(_) => false,
            };
            times(any_of.len())
                && (!by_value && any_of.iter().all(is_text) || compares_json(any_of, bytes))
        }
        CodeGrader::Contains {
            must_include,
            must_not_include,
            ..
        } => times(must_include.len().saturating_add(must_not_include.len())),
        CodeGrader::Regex {
            patterns: sources,
            flags,
            ..
        } => {
            let all = sources
                .iter()
                .map(|source| searched(source, *flags, patterns));
            all.sum::<Option<usize>>()
                .is_some_and(|size| size.saturating_mul(bytes) <= SEARCHED)
        }
        CodeGrader::Numeric { any_of, .. } => times(any_of.len()),
        CodeGrader::Json {
            any_of,
            schema: None,
        } => compares_json(any_of, bytes),
        CodeGrader::StructuralMatch(rule) => match (&rule.expected, value) {
            (_, OutputValue::Json(value)) if !value.is_string() => false,
            (Value::String(wanted), _) => !is_matcher(wanted),
            _ => false,
        },
        CodeGrader::Similarity(rule) => {
            let references: usize = rule.references.iter().map(|text| text.len() + 1).sum();
            let most = if rule.tokenizer == Some(Tokenizer::Icu) {
                SEGMENTED
            } else {
                usize::MAX
            };
            bytes.saturating_mul(references) <= MEASURED && bytes.saturating_add(references) <= most
        }
        CodeGrader::Json {
            schema: Some(_), ..
        }
        | CodeGrader::FunctionOutput(_)
        | CodeGrader::CodeExecution(_)
        | CodeGrader::Command(_)
        | CodeGrader::NoBaseline => false,
    }
}

/// Whether the steps of an extraction are done in place.
pub(super) fn extracts(steps: &[Extract], value: &OutputValue, patterns: &Patterns) -> bool {
    // No step makes more of what the one before it left.
    size(value).is_some_and(|bytes| steps.iter().all(|step| extracts_one(step, bytes, patterns)))
}

fn extracts_one(step: &Extract, bytes: usize, patterns: &Patterns) -> bool {
    match step {
        Extract::Trim
        | Extract::AfterLast { .. }
        | Extract::CodeBlock { .. }
        | Extract::Json { .. } => true,
        Extract::JsonPath { path } => bytes <= JSON_BYTES && names_one_place(path),
        Extract::Regex {
            pattern,
            flags,
            group,
            which,
        } => {
            let once = *which == Which::First && group == "0";
            let searched =
                searched(pattern, *flags, patterns).map(|size| size.saturating_mul(bytes));
            let searched = searched.map(|size| {
                if once {
                    size
                } else {
                    size.saturating_mul(bytes)
                }
            });
            searched.is_some_and(|work| work <= SEARCHED)
        }
    }
}

/// Whether the program in an output is looked for in place.
pub(super) fn reads_program(grader: &CodeGrader, value: &OutputValue) -> bool {
    let Some(bytes) = size(value) else {
        return false;
    };
    let tests = match grader {
        // Only these look for the names that tests use (`candidate`).
        CodeGrader::CodeExecution(execution)
            if execution.executor == Executor::Python
                && execution.entry_point.is_none()
                && !matches!(value, OutputValue::Program(_)) =>
        {
            match &execution.tests {
                Tests::Check { code } => code.len(),
                Tests::Asserts { asserts } => asserts.iter().map(|assert| assert.len() + 1).sum(),
                Tests::Stdio { .. } | Tests::Rows(_) => 0,
            }
        }
        _ => 0,
    };
    // A line that defines a name has at least seven bytes.
    (bytes / 7).saturating_mul(tests) <= LOOKED_UP
}

/// Bytes of a compiled pattern, 0 for one that does not compile; `None` when a search with it is
/// not bounded.
fn searched(source: &str, flags: RegexFlags, patterns: &Patterns) -> Option<usize> {
    patterns
        .get(source, flags)
        .map_or(Some(0), |pattern| pattern.linear_size())
}

fn compares_json(any_of: &[Value], bytes: usize) -> bool {
    bytes <= JSON_BYTES
        && bytes.saturating_mul(any_of.len()) <= COMPARED
        && !any_of.iter().any(has_matcher)
}

/// Whether some text of a value may be a matcher, which a reason would try.
fn has_matcher(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_matcher),
        Value::Object(map) => map.values().any(has_matcher),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Bytes of an output; `None` when it is too large for any work in place. No more of it is read
/// than that.
fn size(value: &OutputValue) -> Option<usize> {
    let bytes = match value {
        OutputValue::Text(text)
        | OutputValue::Program(text)
        | OutputValue::Json(Value::String(text)) => text.len(),
        OutputValue::Json(value) => {
            let mut count = Count(0);
            // It fails when it has enough.
            serde_json::to_writer(&mut count, value).ok()?;
            count.0
        }
    };
    (bytes <= TEXT_BYTES).then_some(bytes)
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > TEXT_BYTES {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{
        CodeExecution, CodeLimits, EditUnit, JsonMode, Similarity, SimilarityMetric, Structural,
    };

    fn text(bytes: usize) -> OutputValue {
        OutputValue::Text("x".repeat(bytes))
    }

    fn exact(expected: Value) -> CodeGrader {
        CodeGrader::ExactMatch {
            any_of: vec![expected],
            case_sensitive: true,
            trim_whitespace: true,
            normalize_newlines: true,
        }
    }

    fn regex(pattern: &str) -> CodeGrader {
        CodeGrader::Regex {
            patterns: vec![pattern.to_owned()],
            flags: RegexFlags::default(),
            must_match: true,
            capture_groups: Vec::new(),
        }
    }

    fn json(expected: Value, schema: Option<Value>) -> CodeGrader {
        CodeGrader::Json {
            any_of: vec![expected],
            schema,
        }
    }

    #[test]
    fn only_bounded_linear_work_is_done_in_place() {
        let structural =
            |expected: Value| CodeGrader::StructuralMatch(Structural::as_it_stands(expected));
        let similarity = |bytes: usize, tokenizer: Option<Tokenizer>| {
            CodeGrader::Similarity(Similarity {
                references: vec!["y".repeat(bytes)],
                measure: SimilarityMetric::Levenshtein,
                unit: EditUnit::Chars,
                tokenizer,
                threshold: 0.5,
                case_sensitive: true,
                trim_whitespace: true,
                normalize_newlines: true,
            })
        };
        let rows = [
            ("text", exact(json!("x")), 64 << 10, true),
            ("long text", exact(json!("x")), (64 << 10) + 1, false),
            ("json", exact(json!([1])), 16 << 10, true),
            ("long json", exact(json!([1])), (16 << 10) + 1, false),
            ("small pattern", regex("x+y"), 64 << 10, true),
            ("wide pattern", regex(r"\w+y"), 4 << 10, true),
            (
                "wide pattern, long text",
                regex(r"\w+y"),
                (4 << 10) + 1,
                false,
            ),
            ("large pattern", regex(r"\w{100}"), 10, false),
            ("look-ahead", regex("(?=x)x.*y"), 1, false),
            ("back-reference", regex(r"(x)\1"), 1, false),
            ("no pattern", regex("("), 1, true),
            ("json value", json(json!({"a": 1}), None), 10, true),
            (
                "json matcher",
                json(json!({"a": ["{{any_regex(\"(?=x)x.*y\")}}"]}), None),
                10,
                false,
            ),
            (
                "json schema",
                json(json!(1), Some(json!({"type": "array"}))),
                10,
                false,
            ),
            ("structural text", structural(json!("x")), 10, true),
            (
                "structural matcher",
                structural(json!("{{any_uuid}}")),
                10,
                false,
            ),
            ("structural", structural(json!({"a": 1})), 10, false),
            ("similarity", similarity(1023, None), 1 << 10, true),
            (
                "similarity of long texts",
                similarity(1023, None),
                (1 << 10) + 1,
                false,
            ),
            (
                "words by dictionaries",
                similarity(7, Some(Tokenizer::Icu)),
                (16 << 10) - 8,
                true,
            ),
            (
                "dictionaries, long text",
                similarity(7, Some(Tokenizer::Icu)),
                (16 << 10) - 7,
                false,
            ),
        ];
        for (name, grader, bytes, here) in rows {
            assert_eq!(
                grades(&grader, &text(bytes), &Patterns::default()),
                here,
                "{name}"
            );
        }
        let large = OutputValue::Json(json!(vec![1; 40_000]));
        assert!(!grades(&exact(json!("x")), &large, &Patterns::default()));
    }

    #[test]
    fn tests_count_only_where_their_names_are_looked_for() {
        let check = |entry_point: Option<&str>| {
            CodeGrader::CodeExecution(CodeExecution {
                in_process: false,
                executor: Executor::Python,
                prefix: String::new(),
                tests: Tests::Check {
                    code: "x".repeat(200_000),
                },
                setup: String::new(),
                entry_point: entry_point.map(str::to_owned),
                limits: CodeLimits::default(),
                sandbox: true,
                reference: None,
            })
        };
        assert!(reads_program(&check(Some("solve")), &text(64 << 10)));
        assert!(reads_program(
            &check(None),
            &OutputValue::Program("x".repeat(64 << 10))
        ));
        assert!(!reads_program(&check(None), &text(64 << 10)));
        assert!(reads_program(&check(None), &text(1 << 10)));
    }

    #[test]
    fn only_bounded_linear_steps_are_done_in_place() {
        let regex = |pattern: &str, group: &str, which| Extract::Regex {
            pattern: pattern.to_owned(),
            flags: RegexFlags::default(),
            group: group.to_owned(),
            which,
        };
        let path = |path: &str| Extract::JsonPath {
            path: path.to_owned(),
        };
        for (steps, bytes, here) in [
            (
                vec![
                    Extract::Trim,
                    Extract::Json {
                        mode: JsonMode::Any,
                    },
                ],
                64 << 10,
                true,
            ),
            (vec![Extract::Trim], (64 << 10) + 1, false),
            (vec![path("$.a[0]")], 16 << 10, true),
            (vec![path("$..a")], 10, false),
            (vec![regex("x.*y", "0", Which::First)], 64 << 10, true),
            (vec![regex("x.*y|x", "0", Which::Last)], 256, true),
            (vec![regex("x.*y|x", "0", Which::Last)], 257, false),
            (
                vec![Extract::Trim, regex("(?=x)x", "0", Which::First)],
                1,
                false,
            ),
        ] {
            assert_eq!(
                extracts(&steps, &text(bytes), &Patterns::default()),
                here,
                "{steps:?} {bytes}"
            );
        }
    }
}
