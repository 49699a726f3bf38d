//! How alike the output is to a reference text, and how much of it had to be edited to become one.

use serde_json::{Value, json};

use crate::model::{
    Cause, Grade, GraderType, OutputValue, Similarity, SimilarityMetric, Tokenizer,
};
use eval_match::{Budget, TooLong, bleu, similarity, text, tokenizer_for};
use eval_stats::{reaches, stays_within};

use super::extract::as_text;
use super::show::compared;

const METHOD: &str = "similarity";

/// The number is recorded as a metric under the measure's own name.
pub(super) fn grade(rule: &Similarity, value: &OutputValue) -> Grade {
    let name = rule.measure.name();
    let Measurement {
        number,
        closest,
        tokenizer,
    } = match measured(rule, &as_text(value)) {
        Ok(Some(found)) => found,
        Ok(None) => return errored("similarity has no reference text"),
        Err(too_long) => return errored(too_long.to_string()),
    };
    let lower_is_better = rule.measure == SimilarityMetric::EditRate;
    let (passed, score, side) = if lower_is_better {
        (
            stays_within(number, rule.threshold),
            (1.0 - number).max(0.0),
            "above",
        )
    } else {
        (reaches(number, rule.threshold), number, "below")
    };
    let mut grade = if passed {
        Grade::passed(GraderType::Code, METHOD)
    } else {
        let among = match rule.references.len() {
            1 => String::new(),
            n => format!(" (the best of {n} references)"),
        };
        let (number, threshold) = apart(number, rule.threshold);
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
    let expected = match closest.and_then(|at| rule.references.get(at)) {
        Some(text) => Value::String(text.clone()),
        None => json!({ "any_of": rule.references }),
    };
    compared(grade, Some(expected), value)
}

fn errored(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

/// How alike an output is to its references.
struct Measurement {
    number: f64,
    /// The reference that the number is of; `None` when it is of several together.
    closest: Option<usize>,
    /// Of measures that compare words.
    tokenizer: Option<Tokenizer>,
}

/// The best number over the references; BLEU looks at all of them together.
fn measured(rule: &Similarity, output: &str) -> Result<Option<Measurement>, TooLong> {
    let options = text::TextOptions {
        trim_whitespace: rule.trim_whitespace,
        normalize_newlines: rule.normalize_newlines,
        case_sensitive: rule.case_sensitive,
    };
    let output = options.apply(output);
    let references: Vec<_> = rule
        .references
        .iter()
        .map(|text| options.apply(text))
        .collect();
    if references.is_empty() {
        return Ok(None);
    }
    let texts = references.iter().chain([&output]).map(AsRef::as_ref);
    let tokenizer = tokenizer_for(rule.measure, rule.tokenizer, texts);
    let words = tokenizer.unwrap_or_default();
    let mut budget = Budget::FULL;
    let lower_is_better = rule.measure == SimilarityMetric::EditRate;
    let mut best: Option<(f64, usize)> = None;
    for (at, reference) in references.iter().enumerate() {
        let number = match rule.measure {
            SimilarityMetric::Levenshtein => similarity::ratio(&output, reference, &mut budget)?,
            SimilarityMetric::TokenF1 => similarity::token_f1(&output, reference, words)?,
            SimilarityMetric::RougeL => {
                similarity::rouge_l(&output, reference, words, &mut budget)?
            }
            SimilarityMetric::EditRate => {
                similarity::edit_rate(&output, reference, rule.unit, &mut budget)?
            }
            SimilarityMetric::Bleu => {
                let number = bleu(&output, references.iter().map(AsRef::as_ref), words)?;
                let closest = (references.len() == 1).then_some(0);
                return Ok(Some(Measurement {
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
    Ok(best.map(|(number, at)| Measurement {
        number,
        closest: Some(at),
        tokenizer,
    }))
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
    use crate::model::{EditUnit, Outcome};

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
