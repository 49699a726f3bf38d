//! The code grader that a regression's `comparison:` means.

use serde_json::Value;

use super::super::problem::{Code, Problem};
use super::super::scope::SuiteDesk;
use super::super::source::Span;
use crate::graders::LEAST_LIKENESS;
use crate::graders::structural_match::{check_tolerances, only_numbers, warn_of_vacuous};
use crate::model::{CodeGrader, Similarity, SimilarityBound, StructuralOptions};
use crate::spec::{ComparisonSpec, ComparisonTolerance, ComparisonType, StructuralSpec};
use eval_match::similarity::has_words;
use eval_match::{EditUnit, SimilarityMetric};
use eval_match::{is_matcher, without_literals};

/// Where `semantic` looks for it.
const LIKENESS_KEYS: [&str; 2] = ["similarity", "threshold"];

/// The code grader that a `comparison:` means; `None` after saying why there is none.
pub(in crate::load) fn from_comparison(
    desk: &mut SuiteDesk,
    comparison: &ComparisonSpec,
    baseline: &Value,
    at: Span,
) -> Option<CodeGrader> {
    let semantic = comparison.kind == ComparisonType::Semantic;
    if !semantic
        && comparison
            .tolerance
            .as_ref()
            .is_some_and(|t| t.metric.is_some())
    {
        let message =
            "`tolerance.metric` says how likeness is measured, and only `semantic` measures it";
        return desk.refuse(
            Problem::error(Code::GraderConflict, at, message).hint("`type: semantic`, or drop it"),
        );
    }
    let mut structural = structural(comparison, baseline);
    match comparison.kind {
        ComparisonType::Exact | ComparisonType::Structural => {
            if !check_tolerances(desk, &structural, at) {
                return None;
            }
        }
        ComparisonType::Numeric => {
            if !check_tolerances(desk, &structural, at) {
                return None;
            }
            only_numbers(&mut structural);
            if structural.expected.is_null() {
                let message =
                    "`comparison: numeric` finds no number in the baseline where it looks";
                return desk.refuse(Problem::error(Code::GraderIncomplete, at, message));
            }
        }
        ComparisonType::Semantic => return semantic_grader(desk, comparison, structural, at),
    }
    warn_of_vacuous(desk, &structural, at);
    Some(CodeGrader::StructuralMatch(structural))
}

fn structural(comparison: &ComparisonSpec, baseline: &Value) -> StructuralOptions {
    use ComparisonType::{Exact, Semantic};
    let written = comparison
        .options
        .as_ref()
        .and_then(|options| options.strict);
    let spec = StructuralSpec {
        strict: written.unwrap_or(matches!(comparison.kind, Exact | Semantic)),
        ..with_paths(comparison, StructuralSpec::default())
    };
    spec.against(baseline.clone())
}

/// A text is compared whole; of JSON the structure is compared as it stands, and every text by its
/// likeness.
fn semantic_grader(
    desk: &mut SuiteDesk,
    comparison: &ComparisonSpec,
    structural: StructuralOptions,
    at: Span,
) -> Option<CodeGrader> {
    let allowed = comparison.tolerance.clone().unwrap_or_default();
    let likeness = likeness(desk, &allowed, at)?;
    if !words_in(&structural.expected) {
        let message = "`comparison: semantic` compares words, and the baseline has none";
        return desk.refuse(
            Problem::error(Code::GraderIncomplete, at, message)
                .hint("`type: exact` or `type: structural` compares any output"),
        );
    }
    match &structural.expected {
        Value::String(text) if !is_matcher(text) => {
            let by_words = matches!(
                likeness.measure,
                SimilarityMetric::TokenF1 | SimilarityMetric::RougeL
            );
            Some(CodeGrader::Similarity(Similarity {
                references: without_literals(&structural.expected)
                    .as_str()
                    .map(str::to_owned)
                    .into_iter()
                    .collect(),
                measure: likeness.measure,
                unit: EditUnit::default(),
                tokenizer: None,
                threshold: likeness.threshold,
                case_sensitive: !by_words,
                trim_whitespace: true,
                normalize_newlines: true,
            }))
        }
        _ => {
            warn_of_vacuous(desk, &structural, at);
            Some(CodeGrader::StructuralMatch(StructuralOptions {
                tolerance: Default::default(),
                likeness: Some(likeness),
                ..structural
            }))
        }
    }
}

fn words_in(value: &Value) -> bool {
    match value {
        Value::String(text) => !is_matcher(text) && has_words(text),
        Value::Array(items) => items.iter().any(words_in),
        Value::Object(map) => map.values().any(words_in),
        _ => false,
    }
}

fn likeness(
    desk: &mut SuiteDesk,
    allowed: &ComparisonTolerance,
    at: Span,
) -> Option<SimilarityBound> {
    let measure = allowed.metric.unwrap_or(SimilarityMetric::TokenF1);
    let mut refuse = |message: String, hint: &str| {
        desk.refuse(Problem::error(Code::GraderConflict, at, message).hint(hint))
    };
    let hint = "`tolerance: {similarity: 0.8, metric: token_f1}`";
    if measure == SimilarityMetric::EditRate {
        let message =
            "`edit_rate` measures how unlike texts are; `semantic` wants a measure of likeness"
                .to_owned();
        return refuse(message, "token_f1, rouge_l, levenshtein or bleu");
    }
    if let Some(path) = allowed
        .by_path
        .keys()
        .find(|path| !LIKENESS_KEYS.contains(&path.as_str()))
    {
        return refuse(
            format!("`semantic` compares texts, and `tolerance.{path}` is of numbers"),
            hint,
        );
    }
    let mut threshold = LEAST_LIKENESS;
    match (
        allowed.by_path.get(LIKENESS_KEYS[0]),
        allowed.by_path.get(LIKENESS_KEYS[1]),
    ) {
        (Some(_), Some(_)) => {
            return refuse(
                "`similarity` and `threshold` are the same setting".to_owned(),
                hint,
            );
        }
        (Some(written), None) | (None, Some(written)) => match (written.absolute, written.relative)
        {
            (Some(least), None) if written.min_delta.is_none() && written.max_delta.is_none() => {
                threshold = least
            }
            _ => return refuse("the least likeness is one number".to_owned(), hint),
        },
        (None, None) => {}
    }
    if threshold <= 0.0 {
        return refuse(
            "`similarity: 0` passes whatever the output says".to_owned(),
            "a likeness above 0, at most 1",
        );
    }
    if threshold > 1.0 {
        let message = format!("a likeness is between 0 and 1, so that none reaches {threshold}");
        return refuse(message, "1 is for equal texts");
    }
    Some(SimilarityBound { measure, threshold })
}

/// The settings of a `structural_match` grader and of a `comparison:` beside it, as one.
pub(in crate::load) fn merged(
    comparison: &ComparisonSpec,
    spec: &StructuralSpec,
) -> StructuralSpec {
    let mut all = with_paths(comparison, spec.clone());
    all.strict |= comparison
        .options
        .as_ref()
        .and_then(|options| options.strict)
        == Some(true);
    if comparison.kind == ComparisonType::Exact {
        all.allow_additional_fields = all.allow_additional_fields.or(Some(false));
    }
    all
}

/// Adds the paths of a comparison, and what it allows where the settings leave that open.
fn with_paths(comparison: &ComparisonSpec, mut all: StructuralSpec) -> StructuralSpec {
    let options = comparison.options.clone().unwrap_or_default();
    let allowed = comparison.tolerance.clone().unwrap_or_default();
    all.ignore_fields
        .extend([&*comparison.ignore_fields, &options.ignore_fields].concat());
    all.ignore_values
        .extend([&*comparison.ignore_values, &options.ignore_values].concat());
    all.require_keys
        .extend([&*comparison.require_keys, &options.require_keys].concat());
    all.allow_additional_fields = all
        .allow_additional_fields
        .or(allowed.allow_additional_fields)
        .or(options.allow_additional_fields);
    all.allow_field_reordering = all
        .allow_field_reordering
        .or(allowed.allow_field_reordering)
        .or(options.allow_field_reordering);
    for (path, tolerance) in allowed.by_path {
        all.tolerance.entry(path).or_insert(tolerance);
    }
    all
}
