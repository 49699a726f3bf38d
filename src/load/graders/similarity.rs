//! The code grader `similarity`.

use serde_json::Value;

use super::super::problem::{Code, Problem};
use super::super::scope::Desk;
use super::super::tree::Node;
use super::Expected;
use super::code::{lacks, wanted};
use crate::model::{CodeGrader, Similarity, SimilarityMetric};
use crate::spec::SimilaritySpec;
use eval_match::similarity::has_words;

/// What passes when nobody says: this much alike, or at most this much edited.
const LEAST_LIKENESS: f64 = 0.8;
const MOST_EDITED: f64 = 0.2;

pub(super) fn resolve(
    desk: &mut Desk,
    spec: &SimilaritySpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    let own = spec.value.as_deref().map(Value::from);
    let references: Vec<String> =
        wanted(desk, "similarity", own.as_ref(), node, expected, baseline)?
            .into_iter()
            .map(|value| match value {
                Value::String(text) => text,
                other => other.to_string(),
            })
            .collect();
    let measure = spec.metric;
    let at = expected.map_or(node.span, |e| e.span);
    if references.is_empty() {
        let hint = "add `expected: {type: exact, value: ...}`";
        lacks(
            desk,
            node.span,
            "`similarity` has no reference text to compare with",
            hint,
        );
        return None;
    }
    let by_words = matches!(
        measure,
        SimilarityMetric::TokenF1 | SimilarityMetric::RougeL | SimilarityMetric::Bleu
    );
    if by_words && let Some(empty) = references.iter().find(|text| !has_words(text)) {
        let message = format!(
            "`{}` compares words, and the reference {empty:?} has none",
            measure.name()
        );
        lacks(
            desk,
            at,
            &message,
            "`metric: levenshtein` compares any text",
        );
        return None;
    }
    check_tokenizer(desk, spec, node)?;
    let threshold = threshold(desk, spec, node)?;
    if spec.unit.is_some() && measure != SimilarityMetric::EditRate {
        let message = format!(
            "`unit` says what `edit_rate` counts; `{}` has no use for it",
            measure.name()
        );
        desk.push(Problem::warning(
            Code::GraderConflict,
            node.key_span("/unit"),
            message,
        ));
    }
    let by_case = !matches!(
        measure,
        SimilarityMetric::TokenF1 | SimilarityMetric::RougeL
    );
    Some(CodeGrader::Similarity(Similarity {
        references,
        measure,
        unit: spec.unit.unwrap_or_default(),
        tokenizer: spec.tokenizer,
        threshold,
        case_sensitive: spec.case_sensitive.unwrap_or(by_case),
        trim_whitespace: spec.trim_whitespace.unwrap_or(true),
        normalize_newlines: spec.normalize_newlines.unwrap_or(true),
    }))
}

/// A tokenizer that the measure does not have is an error: the number would not be the one that it
/// names.
fn check_tokenizer(desk: &mut Desk, spec: &SimilaritySpec, node: &Node) -> Option<()> {
    let (measure, known) = (spec.metric, spec.metric.tokenizers());
    let written = spec.tokenizer.filter(|written| !known.contains(written));
    let Some(written) = written else {
        return Some(());
    };
    let (name, at) = (measure.name(), node.key_span("/tokenizer"));
    let (message, hint) = if known.is_empty() {
        let message =
            format!("`tokenizer` says how texts become words, and `{name}` compares none");
        (
            message,
            "drop it, or choose `metric: token_f1`, `rouge_l` or `bleu`".to_owned(),
        )
    } else {
        let names: Vec<&str> = known.iter().map(|tokenizer| tokenizer.name()).collect();
        let message = format!(
            "the tokenizer `{}` is one of `bleu`, and `{name}` does not have it",
            written.name()
        );
        (message, format!("`{name}` has {}", names.join(", ")))
    };
    desk.push(Problem::error(Code::GraderConflict, at, message).hint(hint));
    None
}

fn threshold(desk: &mut Desk, spec: &SimilaritySpec, node: &Node) -> Option<f64> {
    let at = node.locate("/threshold");
    match (spec.metric, spec.threshold) {
        (SimilarityMetric::EditRate, written) => Some(written.unwrap_or(MOST_EDITED)),
        (_, None) => Some(LEAST_LIKENESS),
        (_, Some(threshold)) if threshold <= 0.0 => {
            let message = "`threshold: 0` passes whatever the output says";
            desk.push(Problem::error(Code::SuspiciousValue, at, message).hint(
                "a threshold above 0; for a grader that only measures, `informative: true` beside its type",
            ));
            None
        }
        (_, Some(threshold)) if threshold > 1.0 => {
            let message =
                format!("a likeness is between 0 and 1, so that none reaches {threshold}");
            let percent =
                (threshold <= 100.0).then(|| format!("{} for {threshold} %", threshold / 100.0));
            desk.push(Problem::error(Code::OutOfRange, at, message).maybe_hint(percent));
            None
        }
        (_, Some(threshold)) => Some(threshold),
    }
}
