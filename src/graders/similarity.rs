//! The code grader `similarity`: how alike the output is to a reference text, and how much of it had
//! to be edited to become one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::output::{SmallOutput, as_text};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete, wanted};
use super::show::compared;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::{Cause, Grade, GraderType, NumberKind, OutputValue};
use eval_match::similarity::{self, has_words};
use eval_match::{
    DistanceBudget, EditUnit, SimilarityMetric, Tokenizer, TooLong, bleu, text, tokenizer_for,
};
use eval_stats::{reaches, stays_within};

const METHOD: &str = "similarity";

/// The likeness that passes by default.
pub(crate) const LEAST_LIKENESS: f64 = 0.8;
const MOST_EDITED: f64 = 0.2;

/// Bytes of an output times those of the references that it is compared with in place.
const MEASURED: usize = 1 << 20;

/// Bytes of an output and its references that become words by dictionaries and models in place.
const SEGMENTED: usize = 16 << 10;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimilaritySpec {
    /// The reference, when the case has no `expected`; `expected.alternatives` are further
    /// references.
    pub value: Option<String>,
    #[serde(default)]
    pub metric: SimilarityMetric,
    /// The least likeness that passes, default 0.8; for `edit_rate` the highest rate that passes,
    /// default 0.2.
    #[schemars(range(min = 0.0))]
    pub threshold: Option<f64>,
    /// What `edit_rate` counts. Default `chars`.
    pub unit: Option<EditUnit>,
    /// How texts become words, for `token_f1`, `rouge_l` and `bleu` (`13a` and `zh` for `bleu`
    /// alone). Default `words`, or `mixed` where the output or a reference has letters of a script
    /// that is written without blanks.
    pub tokenizer: Option<Tokenizer>,
    /// Default true; for `token_f1` and `rouge_l` false.
    pub case_sensitive: Option<bool>,
    /// Default true.
    pub trim_whitespace: Option<bool>,
    /// Default true.
    pub normalize_newlines: Option<bool>,
}

/// How alike the output is to the closest of its references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// At least one.
    pub references: Vec<String>,
    pub measure: SimilarityMetric,
    /// Of `edit_rate` alone.
    pub unit: EditUnit,
    /// As written; else the texts decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Tokenizer>,
    /// The least likeness that passes, in (0, 1]; for `edit_rate` the highest rate that passes, at
    /// least 0.
    pub threshold: f64,
    pub case_sensitive: bool,
    pub trim_whitespace: bool,
    pub normalize_newlines: bool,
}

impl MethodSettings for SimilaritySpec {
    const OWN_KEYS: &'static [&'static str] = &["metric"];

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let own = self.value.as_deref().map(Value::from);
        let references: Vec<String> = wanted(desk, METHOD, own.as_ref(), node, case)?
            .into_iter()
            .map(|value| match value {
                Value::String(text) => text,
                other => other.to_string(),
            })
            .collect();
        let measure = self.metric;
        let at = case.span_or(node);
        if references.is_empty() {
            let hint = "add `expected: {type: exact, value: ...}`";
            return desk.refuse(incomplete(
                node.span,
                "`similarity` has no reference text to compare with",
                hint,
            ));
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
            return desk.refuse(incomplete(
                at,
                &message,
                "`metric: levenshtein` compares any text",
            ));
        }
        self.check_tokenizer(desk, node)?;
        let threshold = self.threshold(desk, node)?;
        if self.unit.is_some() && measure != SimilarityMetric::EditRate {
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
        Some(vec![CodeGrader::Similarity(Similarity {
            references,
            measure,
            unit: self.unit.unwrap_or_default(),
            tokenizer: self.tokenizer,
            threshold,
            case_sensitive: self.case_sensitive.unwrap_or(by_case),
            trim_whitespace: self.trim_whitespace.unwrap_or(true),
            normalize_newlines: self.normalize_newlines.unwrap_or(true),
        })])
    }

    fn needs_expectation(&self) -> bool {
        self.value.is_none()
    }
}

impl SimilaritySpec {
    /// A tokenizer that the measure does not have is an error: the number would not be the one that it
    /// names.
    fn check_tokenizer(&self, desk: &mut SuiteDesk, node: &Node) -> Option<()> {
        let (measure, known) = (self.metric, self.metric.tokenizers());
        let written = self.tokenizer.filter(|written| !known.contains(written));
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
        desk.refuse(Problem::error(Code::GraderConflict, at, message).hint(hint))
    }

    fn threshold(&self, desk: &mut SuiteDesk, node: &Node) -> Option<f64> {
        let at = node.locate("/threshold");
        match (self.metric, self.threshold) {
            (SimilarityMetric::EditRate, written) => Some(written.unwrap_or(MOST_EDITED)),
            (_, None) => Some(LEAST_LIKENESS),
            (_, Some(threshold)) if threshold <= 0.0 => {
                let message = "`threshold: 0` passes whatever the output says";
                desk.refuse(Problem::error(Code::SuspiciousValue, at, message).hint(
                    "a threshold above 0; for a grader that only measures, `informative: true` beside its type",
                ))
            }
            (_, Some(threshold)) if threshold > 1.0 => {
                let message =
                    format!("a likeness is between 0 and 1, so that none reaches {threshold}");
                let percent = (threshold <= 100.0)
                    .then(|| format!("{} for {threshold} %", threshold / 100.0));
                desk.refuse(Problem::error(Code::OutOfRange, at, message).maybe_hint(percent))
            }
            (_, Some(threshold)) => Some(threshold),
        }
    }
}

impl OutputCheck for Similarity {
    /// The number is recorded as a metric under the measure's own name.
    fn grade(&self, value: &OutputValue, _patterns: &PatternCache) -> Grade {
        let name = self.measure.name();
        let SimilarityValue {
            number,
            closest,
            tokenizer,
        } = match self.measured(&as_text(value)) {
            Ok(Some(found)) => found,
            Ok(None) => return errored("similarity has no reference text"),
            Err(too_long) => return errored(too_long.to_string()),
        };
        let lower_is_better = self.measure == SimilarityMetric::EditRate;
        let (passed, score, side) = if lower_is_better {
            (
                stays_within(number, self.threshold),
                (1.0 - number).max(0.0),
                "above",
            )
        } else {
            (reaches(number, self.threshold), number, "below")
        };
        let mut grade = if passed {
            Grade::passed(GraderType::Code, METHOD)
        } else {
            let among = match self.references.len() {
                1 => String::new(),
                n => format!(" (the best of {n} references)"),
            };
            let (number, threshold) = apart(number, self.threshold);
            let by = match tokenizer {
                None | Some(Tokenizer::Words | Tokenizer::ThirteenA) => String::new(),
                Some(other) => format!(" by the tokenizer `{}`", other.name()),
            };
            let reason = format!("{name} is {number}{by}{among}, which is {side} {threshold}");
            Grade::failed(GraderType::Code, METHOD, Cause::Threshold, reason)
        };
        grade.score = Some(score);
        grade.metrics.insert(name.to_owned(), number);
        if let Some(tokenizer) = tokenizer {
            grade
                .details
                .insert("tokenizer".to_owned(), Value::from(tokenizer.name()));
        }
        let expected = match closest.and_then(|at| self.references.get(at)) {
            Some(text) => Value::String(text.clone()),
            None => json!({ "any_of": self.references }),
        };
        compared(grade, Some(expected), value)
    }

    fn is_quick(&self, output: &SmallOutput, _patterns: &PatternCache) -> bool {
        let references: usize = self.references.iter().map(|text| text.len() + 1).sum();
        let most = if self.tokenizer == Some(Tokenizer::Icu) {
            SEGMENTED
        } else {
            usize::MAX
        };
        output.bytes.saturating_mul(references) <= MEASURED
            && output.bytes.saturating_add(references) <= most
    }

    fn number(&self) -> Option<(&'static str, NumberKind)> {
        let kind = match self.measure {
            SimilarityMetric::EditRate => NumberKind::Rate,
            _ => NumberKind::Score,
        };
        Some((self.measure.name(), kind))
    }
}

impl Similarity {
    /// The best number over the references; BLEU looks at all of them together.
    fn measured(&self, output: &str) -> Result<Option<SimilarityValue>, TooLong> {
        let options = text::TextOptions {
            trim_whitespace: self.trim_whitespace,
            normalize_newlines: self.normalize_newlines,
            case_sensitive: self.case_sensitive,
        };
        let output = options.apply(output);
        let references: Vec<_> = self
            .references
            .iter()
            .map(|text| options.apply(text))
            .collect();
        if references.is_empty() {
            return Ok(None);
        }
        let texts = references.iter().chain([&output]).map(AsRef::as_ref);
        let tokenizer = tokenizer_for(self.measure, self.tokenizer, texts);
        let words = tokenizer.unwrap_or_default();
        let mut budget = DistanceBudget::FULL;
        let lower_is_better = self.measure == SimilarityMetric::EditRate;
        let mut best: Option<(f64, usize)> = None;
        for (at, reference) in references.iter().enumerate() {
            let number = match self.measure {
                SimilarityMetric::Levenshtein => {
                    similarity::ratio(&output, reference, &mut budget)?
                }
                SimilarityMetric::TokenF1 => similarity::token_f1(&output, reference, words)?,
                SimilarityMetric::RougeL => {
                    similarity::rouge_l(&output, reference, words, &mut budget)?
                }
                SimilarityMetric::EditRate => {
                    similarity::edit_rate(&output, reference, self.unit, &mut budget)?
                }
                SimilarityMetric::Bleu => {
                    let number = bleu(&output, references.iter().map(AsRef::as_ref), words)?;
                    let closest = (references.len() == 1).then_some(0);
                    return Ok(Some(SimilarityValue {
                        number,
                        closest,
                        tokenizer,
                    }));
                }
            };
            let better = best.is_none_or(|(known, _)| {
                if lower_is_better {
                    number < known
                } else {
                    number > known
                }
            });
            if better {
                best = Some((number, at));
            }
        }
        Ok(best.map(|(number, at)| SimilarityValue {
            number,
            closest: Some(at),
            tokenizer,
        }))
    }
}

fn errored(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

/// How alike an output is to its references.
struct SimilarityValue {
    number: f64,
    /// The reference that the number is of; `None` when it is of several together.
    closest: Option<usize>,
    /// Of measures that compare words.
    tokenizer: Option<Tokenizer>,
}

/// Two numbers that differ, with 4 decimals or as many as tell them apart.
fn apart(a: f64, b: f64) -> (String, String) {
    let short = |number: f64| ((number * 1e4).round() / 1e4).to_string();
    if short(a) == short(b) {
        (a.to_string(), b.to_string())
    } else {
        (short(a), short(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Outcome;

    fn rule(measure: SimilarityMetric, threshold: f64, references: &[&str]) -> Similarity {
        Similarity {
            references: references.iter().map(|text| (*text).to_owned()).collect(),
            measure,
            unit: EditUnit::Chars,
            tokenizer: None,
            threshold,
            case_sensitive: true,
            trim_whitespace: true,
            normalize_newlines: true,
        }
    }

    fn grade(rule: &Similarity, value: &OutputValue) -> Grade {
        rule.grade(value, &PatternCache::default())
    }

    fn told(rule: &Similarity, output: &str) -> String {
        let g = grade(rule, &OutputValue::Text(output.to_owned()));
        let score = g.score.map_or("-".into(), |s| format!("{s:.4}"));
        format!(
            "{} {score} {} {:?} {} [{}]",
            g.outcome,
            g.cause.map_or("-", Cause::name),
            g.metrics,
            g.reason,
            g.expected.unwrap_or_default()
        )
    }

    #[test]
    fn grades_read_well() {
        use SimilarityMetric::{Bleu, EditRate, Levenshtein, RougeL, TokenF1};
        let lines = [
            told(&rule(Levenshtein, 0.75, &["abcd"]), " abcX\r\n"),
            told(&rule(Levenshtein, 0.8, &["zzzz", "abcd"]), "abcX"),
            told(&rule(Levenshtein, 0.7500001, &["abcd"]), "abcX"),
            told(
                &rule(TokenF1, 0.5, &["red green blue"]),
                "green red red car",
            ),
            told(
                &rule(RougeL, 0.8, &["police killed the gunman"]),
                "the gunman kill police",
            ),
            told(&rule(Bleu, 0.9, &["a b", "a b c d"]), "a b c"),
            told(&rule(EditRate, 0.2, &["abcd"]), "abcX"),
            told(&rule(EditRate, 0.2, &["a much longer text"]), "abcX"),
            told(&rule(EditRate, 0.0, &["x", "abcd"]), "abcd"),
            told(&rule(Levenshtein, 0.8, &[]), "abcX"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r##"
        passed 0.7500 - {"levenshtein": 0.75}  ["abcd"]
        failed 0.7500 threshold {"levenshtein": 0.75} levenshtein is 0.75 (the best of 2 references), which is below 0.8 ["abcd"]
        failed 0.7500 threshold {"levenshtein": 0.75} levenshtein is 0.75, which is below 0.7500001 ["abcd"]
        passed 0.5714 - {"token_f1": 0.5714285714285714}  ["red green blue"]
        failed 0.5000 threshold {"rouge_l": 0.5} rouge_l is 0.5, which is below 0.8 ["police killed the gunman"]
        passed 1.0000 - {"bleu": 1.0}  [{"any_of":["a b","a b c d"]}]
        failed 0.7500 threshold {"edit_rate": 0.25} edit_rate is 0.25, which is above 0.2 ["abcd"]
        failed 0.0000 threshold {"edit_rate": 4.0} edit_rate is 4, which is above 0.2 ["a much longer text"]
        passed 1.0000 - {"edit_rate": 0.0}  ["abcd"]
        errored - harness {} similarity has no reference text [null]
        "##);
        let json = grade(
            &rule(Levenshtein, 1.0, &["[1,2]"]),
            &OutputValue::Json(serde_json::json!([1, 2])),
        );
        assert_eq!(json.outcome, Outcome::Passed);
    }

    #[test]
    fn details_name_the_tokenizer_that_was_used() {
        use SimilarityMetric::{Bleu, EditRate, Levenshtein, RougeL, TokenF1};
        let used = |measure, tokenizer, reference: &str, output: &str| {
            let rule = Similarity {
                tokenizer,
                ..rule(measure, 0.5, &[reference])
            };
            let g = grade(&rule, &OutputValue::Text(output.to_owned()));
            g.details.get("tokenizer").map_or("-".to_owned(), |name| {
                name.as_str().unwrap_or("?").to_owned()
            })
        };
        assert_eq!(used(TokenF1, None, "a b", "a c"), "words");
        assert_eq!(used(Bleu, Some(Tokenizer::Words), "a b", "a c"), "13a");
        assert_eq!(used(Bleu, None, "猫が好きです", "a c"), "mixed");
        assert_eq!(used(RougeL, None, "a b", "猫"), "mixed");
        assert_eq!(
            used(RougeL, Some(Tokenizer::Words), "猫が好き", "猫"),
            "words"
        );
        assert_eq!(used(Bleu, Some(Tokenizer::Zh), "我喜欢", "我"), "zh");
        assert_eq!(used(Levenshtein, None, "猫", "猫"), "-");
        assert_eq!(used(EditRate, None, "猫", "猫"), "-");
        let g = grade(
            &rule(RougeL, 0.5, &["猫は好きです"]),
            &OutputValue::Text("猫が好きです".to_owned()),
        );
        assert!(
            (g.score.unwrap() - 5.0 / 6.0).abs() < 1e-12,
            "{:?}",
            g.score
        );
    }

    #[test]
    fn texts_that_are_too_long_are_errored_not_wrong() {
        let long = "a".repeat(similarity::LONGEST + 1);
        let g = grade(
            &rule(SimilarityMetric::Levenshtein, 0.8, &["b"]),
            &OutputValue::Text(long),
        );
        assert_eq!(
            (g.outcome, g.cause, g.metrics.len()),
            (Outcome::Errored, Some(Cause::Harness), 0)
        );
        // 200,000 by 200,000 characters without a common end.
        let (a, b) = ("a".repeat(200_000), "b".repeat(200_000));
        let g = grade(
            &rule(SimilarityMetric::Levenshtein, 0.8, &[&b]),
            &OutputValue::Text(a),
        );
        assert_eq!(
            g.reason,
            "the texts are too long to be compared: 200000 by 200000 characters, words or lines that differ"
        );
    }
}
