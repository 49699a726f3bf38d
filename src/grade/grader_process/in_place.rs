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

use crate::grade::extract::names_one_place;
use crate::graders::output::{JSON_BYTES, SmallOutput, compiled_size};
use crate::graders::patterns::PatternCache;
use crate::model::{CodeGrader, ExtractMethod, OutputValue, Which};

/// Bytes of an output's lines times bytes of the tests in which the names that it defines are
/// looked for.
const LOOKED_UP: usize = 64 << 20;

/// Whether a grader that only looks does so in place.
pub(super) fn grades(grader: &CodeGrader, value: &OutputValue, patterns: &PatternCache) -> bool {
    let check = grader.as_method().check();
    let small = SmallOutput::of(value);
    check
        .zip(small)
        .is_some_and(|(check, output)| check.is_quick(&output, patterns))
}

/// Whether the steps of an extraction are done in place.
pub(super) fn extracts(
    steps: &[ExtractMethod],
    value: &OutputValue,
    patterns: &PatternCache,
) -> bool {
    // No step makes more of what the one before it left.
    SmallOutput::of(value).is_some_and(|output| {
        steps
            .iter()
            .all(|step| extracts_one(step, &output, patterns))
    })
}

fn extracts_one(step: &ExtractMethod, output: &SmallOutput, patterns: &PatternCache) -> bool {
    match step {
        ExtractMethod::Trim
        | ExtractMethod::AfterLast { .. }
        | ExtractMethod::CodeBlock { .. }
        | ExtractMethod::Json { .. } => true,
        ExtractMethod::JsonPath { path } => output.bytes <= JSON_BYTES && names_one_place(path),
        ExtractMethod::Regex {
            pattern,
            flags,
            group,
            which,
        } => {
            let once = *which == Which::First && group == "0";
            let rounds = if once { 1 } else { output.bytes };
            let size = compiled_size(pattern, *flags, patterns);
            output.is_searched_by(size.map(|size| size.saturating_mul(rounds)))
        }
    }
}

/// Whether the program in an output is looked for in place.
pub(super) fn reads_program(grader: &CodeGrader, value: &OutputValue) -> bool {
    let Some(output) = SmallOutput::of(value) else {
        return false;
    };
    let tests = match (grader.as_method().candidate_code(), value) {
        (None, _) | (_, OutputValue::Program(_)) => 0,
        (Some(code), _) => code.searched_tests(),
    };
    // A line that defines a name has at least seven bytes.
    (output.bytes / 7).saturating_mul(tests) <= LOOKED_UP
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::graders::RegexMatch;
    use crate::model::{
        CodeExecution, CodeLimits, CodeTests, EditUnit, ExactMatch, Executor, JsonMatch, JsonMode,
        RegexFlags, Similarity, SimilarityMetric, StructuralOptions, Tokenizer,
    };

    fn text(bytes: usize) -> OutputValue {
        OutputValue::Text("x".repeat(bytes))
    }

    fn exact(expected: Value) -> CodeGrader {
        CodeGrader::ExactMatch(ExactMatch {
            any_of: vec![expected],
            case_sensitive: true,
            trim_whitespace: true,
            normalize_newlines: true,
        })
    }

    fn regex(pattern: &str) -> CodeGrader {
        CodeGrader::Regex(RegexMatch {
            patterns: vec![pattern.to_owned()],
            flags: RegexFlags::default(),
            must_match: true,
            capture_groups: Vec::new(),
        })
    }

    fn json(expected: Value, schema: Option<Value>) -> CodeGrader {
        CodeGrader::Json(JsonMatch {
            any_of: vec![expected],
            schema,
        })
    }

    #[test]
    fn only_bounded_linear_work_is_done_in_place() {
        let structural = |expected: Value| {
            CodeGrader::StructuralMatch(StructuralOptions::as_it_stands(expected))
        };
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
                grades(&grader, &text(bytes), &PatternCache::default()),
                here,
                "{name}"
            );
        }
        let large = OutputValue::Json(json!(vec![1; 40_000]));
        assert!(!grades(
            &exact(json!("x")),
            &large,
            &PatternCache::default()
        ));
    }

    #[test]
    fn tests_count_only_where_their_names_are_looked_for() {
        let check = |entry_point: Option<&str>| {
            CodeGrader::CodeExecution(CodeExecution {
                in_process: false,
                executor: Executor::Python,
                prefix: String::new(),
                tests: CodeTests::Check {
                    code: "x".repeat(200_000),
                },
                setup: String::new(),
                suffix: String::new(),
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
        let regex = |pattern: &str, group: &str, which| ExtractMethod::Regex {
            pattern: pattern.to_owned(),
            flags: RegexFlags::default(),
            group: group.to_owned(),
            which,
        };
        let path = |path: &str| ExtractMethod::JsonPath {
            path: path.to_owned(),
        };
        for (steps, bytes, here) in [
            (
                vec![
                    ExtractMethod::Trim,
                    ExtractMethod::Json {
                        mode: JsonMode::Any,
                    },
                ],
                64 << 10,
                true,
            ),
            (vec![ExtractMethod::Trim], (64 << 10) + 1, false),
            (vec![path("$.a[0]")], 16 << 10, true),
            (vec![path("$..a")], 10, false),
            (vec![regex("x.*y", "0", Which::First)], 64 << 10, true),
            (vec![regex("x.*y|x", "0", Which::Last)], 256, true),
            (vec![regex("x.*y|x", "0", Which::Last)], 257, false),
            (
                vec![ExtractMethod::Trim, regex("(?=x)x", "0", Which::First)],
                1,
                false,
            ),
        ] {
            assert_eq!(
                extracts(&steps, &text(bytes), &PatternCache::default()),
                here,
                "{steps:?} {bytes}"
            );
        }
    }
}
