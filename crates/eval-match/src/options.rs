//! How things are compared, as graders are configured. Hashes of grading are over these, by the
//! names of their fields.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparator {
    #[default]
    Equals,
    NotEquals,
    /// Numbers within a tolerance (1e-9 relative unless said), at any depth.
    Approx,
    Contains,
    Regex,
    /// Lists as multisets.
    Unordered,
}

/// How the likeness of two texts is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SimilarityMetric {
    /// 1 - Levenshtein distance / length of the longer text, in characters.
    #[default]
    Levenshtein,
    /// F1 of the words that both texts have.
    TokenF1,
    /// F1 of the longest common subsequence of words.
    RougeL,
    /// N-grams of one to four words that a reference has too.
    Bleu,
    /// Levenshtein distance / length of the output: how much of it had to be changed. Lower is
    /// better.
    EditRate,
}

impl SimilarityMetric {
    /// The metric that it is recorded as, unless the grader says another.
    pub fn name(self) -> &'static str {
        match self {
            SimilarityMetric::Levenshtein => "levenshtein",
            SimilarityMetric::TokenF1 => "token_f1",
            SimilarityMetric::RougeL => "rouge_l",
            SimilarityMetric::Bleu => "bleu",
            SimilarityMetric::EditRate => "edit_rate",
        }
    }
}

impl SimilarityMetric {
    /// The tokenizers that the measure has, its words by blanks first; none where it compares no
    /// words.
    pub fn tokenizers(self) -> &'static [Tokenizer] {
        use Tokenizer::{Characters, Icu, Mixed, ThirteenA, Words, Zh};
        match self {
            SimilarityMetric::TokenF1 | SimilarityMetric::RougeL => {
                &[Words, Mixed, Characters, Icu]
            }
            SimilarityMetric::Bleu => &[ThirteenA, Words, Mixed, Characters, Icu, Zh],
            SimilarityMetric::Levenshtein | SimilarityMetric::EditRate => &[],
        }
    }
}

/// How texts become words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tokenizer {
    /// Words between blanks and signs; for `bleu` sacrebleu's `13a`.
    #[default]
    Words,
    /// sacrebleu's name of the words of `bleu`.
    #[serde(rename = "13a")]
    ThirteenA,
    /// Words, and each letter of a script that is written without blanks.
    Mixed,
    /// Each character; for `bleu` sacrebleu's `char`.
    Characters,
    /// Words by Unicode's rules, and by dictionaries and models where no blanks are written.
    Icu,
    /// sacrebleu's tokenizer for Chinese, of `bleu` alone.
    Zh,
}

impl Tokenizer {
    pub fn name(self) -> &'static str {
        match self {
            Tokenizer::Words => "words",
            Tokenizer::ThirteenA => "13a",
            Tokenizer::Mixed => "mixed",
            Tokenizer::Characters => "characters",
            Tokenizer::Icu => "icu",
            Tokenizer::Zh => "zh",
        }
    }
}

/// What `edit_rate` counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditUnit {
    #[default]
    Chars,
    /// Words and single signs, as an editor sees code; white space does not count.
    Tokens,
    Lines,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegexFlags {
    pub ignorecase: bool,
    pub multiline: bool,
    pub dotall: bool,
    pub verbose: bool,
}

/// How far a number may be from the expected one; the bounds are inclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    pub absolute: Option<f64>,
    /// Share of the expected value's magnitude.
    pub relative: Option<f64>,
    /// Lowest allowed `actual - expected`.
    pub min_delta: Option<f64>,
    /// Highest allowed `actual - expected`.
    pub max_delta: Option<f64>,
}

/// How alike a text must be to the known-good one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SimilarityBound {
    /// Not `edit_rate`, of which less is better.
    pub measure: SimilarityMetric,
    /// The least that passes, in (0, 1].
    pub threshold: f64,
}

/// Comparison of a JSON output with a known-good one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructuralOptions {
    /// Texts of the form `{{any_uuid}}` are matchers.
    pub expected: Value,
    pub allow_additional_fields: bool,
    pub allow_field_reordering: bool,
    /// Paths such as `users.*.id` that are left out; they may be absent.
    pub ignore_fields: Vec<String>,
    /// Paths that must exist and may hold anything.
    pub ignore_values: Vec<String>,
    /// Paths that must exist.
    pub require_keys: Vec<String>,
    /// Allowed deviation of numbers, by path (`""` for all).
    pub tolerance: BTreeMap<String, Tolerance>,
    /// Texts need not be equal but alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<SimilarityBound>,
}

impl StructuralOptions {
    /// Everything counts, and matchers are matchers.
    pub fn as_it_stands(expected: Value) -> StructuralOptions {
        StructuralOptions {
            expected,
            allow_additional_fields: false,
            allow_field_reordering: false,
            ignore_fields: Vec::new(),
            ignore_values: Vec::new(),
            require_keys: Vec::new(),
            tolerance: BTreeMap::new(),
            likeness: None,
        }
    }
}
