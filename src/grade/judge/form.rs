//! The form of an answer: in words for the prompt, as a JSON Schema for APIs that can be told, and
//! what is asked for in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::quote::harmless;
use crate::model::{Criterion, Judge, JudgeScoring};
use eval_base::ordered::OrderedValue;

/// One text that the output must say, or must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextCheck {
    /// In answers.
    pub key: String,
    pub text: String,
    /// False: it must not be said.
    pub wanted: bool,
}

pub(super) fn checks(judge: &Judge) -> Vec<TextCheck> {
    let of = |texts: &[String], name: &str, wanted| -> Vec<TextCheck> {
        let check = |(at, text): (usize, &String)| TextCheck {
            key: format!("{name}_{}", at + 1),
            text: text.clone(),
            wanted,
        };
        texts.iter().enumerate().map(check).collect()
    };
    let mut all = of(&judge.must_include, "include", true);
    all.extend(of(&judge.must_not_include, "exclude", false));
    all
}

/// What is scored; empty when the verdict is over the whole.
pub(super) fn criteria(judge: &Judge) -> Cow<'_, [Criterion]> {
    let scale = match (&judge.scoring, judge.criteria.is_empty()) {
        (_, false) | (JudgeScoring::Boolean, true) => return Cow::Borrowed(&judge.criteria),
        (JudgeScoring::Numeric { range }, true) => Some(*range),
        (JudgeScoring::Categorical { .. }, true) => None,
    };
    Cow::Owned(vec![Criterion {
        name: "overall".to_owned(),
        description: String::new(),
        weight: 1.0,
        scale,
        levels: BTreeMap::new(),
    }])
}

/// Lowest and highest score of a criterion under numeric scoring.
pub(super) fn scale_of(judge: &Judge, criterion: &Criterion) -> Option<[f64; 2]> {
    match &judge.scoring {
        JudgeScoring::Numeric { range } => Some(criterion.scale.unwrap_or(*range)),
        JudgeScoring::Categorical { .. } | JudgeScoring::Boolean => None,
    }
}

/// A number without more digits than it takes.
pub(super) fn short(number: f64) -> String {
    let rounded = (number * 1e4).round() / 1e4;
    // No minus before a zero.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// The last part of every prompt, and of every request for repair.
pub(super) fn format(judge: &Judge, token: &str) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let criteria = criteria(judge);
    let mut lines = vec![
        format!("  \"token\": \"{token}\""),
        "  \"justification\": \"<brief explanation>\"".to_owned(),
        "  \"specific_feedback\": [\"<point 1>\", \"<point 2>\"]".to_owned(),
    ];
    let checks = checks(judge);
    if !checks.is_empty() {
        let each = checks
            .iter()
            .map(|check| format!("    \"{}\": <true/false>", check.key));
        lines.push(format!(
            "  \"checks\": {{\n{}\n  }}",
            each.collect::<Vec<_>>().join(",\n")
        ));
    }
    if !criteria.is_empty() {
        let each = criteria.iter().map(|criterion| {
            format!(
                "    {}: <{}>",
                text(&criterion.name),
                wanted(judge, criterion)
            )
        });
        lines.push(format!(
            "  \"scores\": {{\n{}\n  }}",
            each.collect::<Vec<_>>().join(",\n")
        ));
        if matches!(judge.scoring, JudgeScoring::Numeric { .. }) {
            lines.push("  \"overall_score\": <weighted average>".to_owned());
        }
    }
    lines.push("  \"passed\": <true/false>".to_owned());
    let mut out = format!(
        "## Response Format\nRespond with one JSON object and nothing after it:\n```json\n{{\n{}\n}}\n```\n",
        lines.join(",\n")
    );
    let _ = write!(
        out,
        "`token` must be \"{token}\" exactly: the word shows that the answer is yours and is no copy of something that was quoted."
    );
    if !criteria.is_empty() {
        out.push_str(" Every criterion of `scores` is needed, under its own name");
        out.push_str(match judge.scoring {
            JudgeScoring::Numeric { .. } => ", as a number and not as a text.",
            JudgeScoring::Categorical { .. } => ", as one of the categories.",
            JudgeScoring::Boolean => ", as true or false.",
        });
    }
    if !checks.is_empty() {
        out.push_str(
            "\nIn `checks`, true means that the system output says it, in whatever words; false that it does not:",
        );
        for check in &checks {
            // It may come from a row of data, and is told as the output is: what is made harmless
            // there is not found otherwise.
            let _ = write!(
                out,
                "\n- `{}`: {}",
                check.key,
                text(&harmless(&check.text, usize::MAX).text)
            );
        }
    }
    out
}

/// What a score may be, in words.
fn wanted(judge: &Judge, criterion: &Criterion) -> String {
    match (&judge.scoring, scale_of(judge, criterion)) {
        (_, Some([low, high])) => format!("number from {} to {}", short(low), short(high)),
        (JudgeScoring::Categorical { categories }, _) => {
            let names = categories
                .iter()
                .map(|category| Value::from(category.name.as_str()).to_string());
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "true/false".to_owned(),
    }
}

/// The form as a schema that the strictest of APIs takes: everything is required, and nothing else
/// is there. Models write fields in the schema's order, so that a verdict comes behind what it
/// rests on.
pub(super) fn schema(judge: &Judge) -> OrderedValue {
    let kind = |kind: &str| OrderedValue::map([("type", kind.into())]);
    let texts = OrderedValue::map([("type", "array".into()), ("items", kind("string"))]);
    let mut fields = vec![
        ("token".to_owned(), kind("string")),
        ("justification".to_owned(), kind("string")),
        ("specific_feedback".to_owned(), texts),
    ];
    let checks = checks(judge);
    if !checks.is_empty() {
        let each = checks.into_iter().map(|check| (check.key, kind("boolean")));
        fields.push(("checks".to_owned(), object(each.collect())));
    }
    let criteria = criteria(judge);
    if !criteria.is_empty() {
        let score = match &judge.scoring {
            JudgeScoring::Numeric { .. } => kind("number"),
            JudgeScoring::Categorical { categories } => {
                let names: Vec<&str> = categories
                    .iter()
                    .map(|category| category.name.as_str())
                    .collect();
                OrderedValue::map([("type", "string".into()), ("enum", json!(names).into())])
            }
            JudgeScoring::Boolean => kind("boolean"),
        };
        let each = criteria
            .iter()
            .map(|criterion| (criterion.name.clone(), score.clone()));
        fields.push(("scores".to_owned(), object(each.collect())));
        if matches!(judge.scoring, JudgeScoring::Numeric { .. }) {
            fields.push(("overall_score".to_owned(), kind("number")));
        }
    }
    fields.push(("passed".to_owned(), kind("boolean")));
    object(fields)
}

/// An object of these fields, all of them required.
fn object(fields: Vec<(String, OrderedValue)>) -> OrderedValue {
    let mut required: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    // The order of this list means nothing, and tells kept answers apart.
    required.sort_unstable();
    let required = json!(required).into();
    OrderedValue::map([
        ("type", "object".into()),
        ("properties", OrderedValue::Map(fields)),
        ("required", required),
        ("additionalProperties", OrderedValue::Plain(false.into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ScoreCategory, testing};

    fn criterion(name: &str) -> Criterion {
        Criterion {
            name: name.into(),
            description: String::new(),
            weight: 0.5,
            scale: None,
            levels: BTreeMap::new(),
        }
    }

    #[test]
    fn the_form_says_what_is_needed() {
        let judge = Judge {
            criteria: vec![
                criterion("Correctness"),
                Criterion {
                    scale: Some([0.0, 0.5]),
                    ..criterion("Said \"so\"")
                },
            ],
            must_include: vec![
                "PostgreSQL 14+".into(),
                "<|im_end|>\u{200b}<<<<<<< HEAD".into(),
            ],
            must_not_include: vec!["legacy\n\"code\"".into()],
            ..testing::judge()
        };
        insta::assert_snapshot!(format(&judge, "00ff"), @r#"
        ## Response Format
        Respond with one JSON object and nothing after it:
        ```json
        {
          "token": "00ff",
          "justification": "<brief explanation>",
          "specific_feedback": ["<point 1>", "<point 2>"],
          "checks": {
            "include_1": <true/false>,
            "include_2": <true/false>,
            "exclude_1": <true/false>
          },
          "scores": {
            "Correctness": <number from 1 to 5>,
            "Said \"so\"": <number from 0 to 0.5>
          },
          "overall_score": <weighted average>,
          "passed": <true/false>
        }
        ```
        `token` must be "00ff" exactly: the word shows that the answer is yours and is no copy of something that was quoted. Every criterion of `scores` is needed, under its own name, as a number and not as a text.
        In `checks`, true means that the system output says it, in whatever words; false that it does not:
        - `include_1`: "PostgreSQL 14+"
        - `include_2`: "(|im_end|)⟨U+200B⟩((((((( HEAD"
        - `exclude_1`: "legacy\n\"code\""
        "#);
        insta::assert_snapshot!(schema(&judge).to_value(), @r#"{"additionalProperties":false,"properties":{"checks":{"additionalProperties":false,"properties":{"exclude_1":{"type":"boolean"},"include_1":{"type":"boolean"},"include_2":{"type":"boolean"}},"required":["exclude_1","include_1","include_2"],"type":"object"},"justification":{"type":"string"},"overall_score":{"type":"number"},"passed":{"type":"boolean"},"scores":{"additionalProperties":false,"properties":{"Correctness":{"type":"number"},"Said \"so\"":{"type":"number"}},"required":["Correctness","Said \"so\""],"type":"object"},"specific_feedback":{"items":{"type":"string"},"type":"array"},"token":{"type":"string"}},"required":["checks","justification","overall_score","passed","scores","specific_feedback","token"],"type":"object"}"#);
    }

    #[test]
    fn schema_asks_for_reasons_before_scores_and_verdict() {
        let judge = Judge {
            criteria: vec![criterion("Style"), criterion("Accuracy")],
            must_include: vec!["a".into()],
            ..testing::judge()
        };
        let written = schema(&judge).to_string();
        let at = |name: &str| written.find(&format!("\"{name}\":{{")).unwrap();
        let names = [
            "token",
            "justification",
            "specific_feedback",
            "checks",
            "include_1",
            "scores",
            "Style",
            "Accuracy",
        ];
        let names = [&names[..], &["overall_score", "passed"]].concat();
        assert!(names.is_sorted_by_key(|name| at(name)), "{written}");
    }

    #[test]
    fn every_way_of_scoring_has_its_own_form() {
        let category = |name: &str, score| ScoreCategory {
            name: name.into(),
            score,
            description: String::new(),
        };
        let categories = vec![category("good", 1.0), category("bad", 0.0)];
        let categorical = Judge {
            criteria: vec![],
            scoring: JudgeScoring::Categorical { categories },
            ..testing::judge()
        };
        assert!(format(&categorical, "t").contains("    \"overall\": <\"good\" or \"bad\">\n"));
        assert_eq!(
            schema(&categorical).to_value()["properties"]["scores"]["properties"]["overall"]["enum"],
            json!(["good", "bad"])
        );
        let boolean = Judge {
            criteria: vec![],
            scoring: JudgeScoring::Boolean,
            ..testing::judge()
        };
        assert!(!format(&boolean, "t").contains("score"));
        assert_eq!(
            schema(&boolean).to_value()["required"],
            json!(["justification", "passed", "specific_feedback", "token"])
        );
        let by_criteria = Judge {
            scoring: JudgeScoring::Boolean,
            ..testing::judge()
        };
        assert!(format(&by_criteria, "t").contains("    \"clarity\": <true/false>\n"));
        assert!(!format(&by_criteria, "t").contains("overall_score"));
    }
}
