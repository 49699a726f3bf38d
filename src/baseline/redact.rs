//! From an output to what is written of it: texts that vary become matchers, all other texts mean
//! just themselves.

use serde_json::{Map, Value};

use crate::model::{Redaction, RegexFlags};
use eval_base::redact::REDACTED;
use eval_match::paths::{PlaceStep, ShownPath};
use eval_match::{CompiledPattern, fits, literal};

/// What a cut-out secret may have been: anything.
const ANYTHING: &str = r"[\s\S]+";

/// A rule that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedactError {
    #[error("the pattern `{pattern}` of `baselines.redact` does not compile: {reason}")]
    Pattern { pattern: String, reason: String },
    #[error("{path}: `{pattern}` gave up on this text: {reason}")]
    GaveUp {
        path: String,
        pattern: String,
        reason: String,
    },
    #[error("{path}: `{pattern}` asks for {placeholder} here, which does not accept the text")]
    Placeholder {
        path: String,
        pattern: String,
        placeholder: String,
    },
    #[error("{path}: the text and what was cut from it make no pattern that accepts it: {reason}")]
    Unusable { path: String, reason: String },
    #[error(
        "{path}: a secret was cut out of a key, for which no matcher can stand; leave the field out of the output"
    )]
    Key { path: String },
}

/// The rules of a suite, compiled.
#[derive(Debug)]
pub struct RedactionRules {
    rules: Vec<RedactionRule>,
}

#[derive(Debug)]
struct RedactionRule {
    part: CompiledPattern,
    whole: CompiledPattern,
    redaction: Redaction,
}

impl RedactionRules {
    pub fn new(redactions: &[Redaction]) -> Result<RedactionRules, RedactError> {
        let compile = |redaction: &Redaction| {
            let flags = RegexFlags::default();
            let one = |pattern: &str| {
                CompiledPattern::compile(pattern, flags).map_err(|error| RedactError::Pattern {
                    pattern: redaction.pattern.clone(),
                    reason: error.to_string(),
                })
            };
            let part = one(&redaction.pattern)?;
            Ok(RedactionRule {
                part,
                whole: one(&whole(&redaction.pattern))?,
                redaction: redaction.clone(),
            })
        };
        redactions
            .iter()
            .map(compile)
            .collect::<Result<_, _>>()
            .map(|rules| RedactionRules { rules })
    }

    /// The value as a baseline that accepts it: by the rules, with what was cut out as a secret
    /// (`secrets_cut`) free, and with texts that look like matchers written as literals. Keys stay
    /// as they are.
    ///
    /// # Errors
    /// The first text that a rule can't be used on, with its path.
    pub fn written(&self, value: &Value, secrets_cut: bool) -> Result<Value, RedactError> {
        RedactionWalk {
            rules: self,
            secrets_cut,
            place: Vec::new(),
        }
        .value(value)
    }
}

fn whole(pattern: &str) -> String {
    format!(r"\A(?:{pattern})\Z")
}

struct RedactionWalk<'a> {
    rules: &'a RedactionRules,
    secrets_cut: bool,
    place: Vec<PlaceStep>,
}

/// A stretch of a text.
enum TemplateSegment<'t> {
    /// It stands as it is.
    Fixed(&'t str),
    /// What matches this expression may stand there.
    Free(&'t str),
}

impl RedactionWalk<'_> {
    fn value(&mut self, value: &Value) -> Result<Value, RedactError> {
        match value {
            Value::String(text) => self.text(text).map(Value::String),
            Value::Array(items) => {
                let mut written = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    written.push(self.below(PlaceStep::Index(index), item)?);
                }
                Ok(Value::Array(written))
            }
            Value::Object(map) => {
                let mut written = Map::new();
                for (key, item) in map {
                    if self.secrets_cut && key.contains(REDACTED) {
                        self.place.push(PlaceStep::Key(key.clone()));
                        return Err(RedactError::Key { path: self.path() });
                    }
                    written.insert(key.clone(), self.below(PlaceStep::Key(key.clone()), item)?);
                }
                Ok(Value::Object(written))
            }
            other => Ok(other.clone()),
        }
    }

    fn below(&mut self, place: PlaceStep, value: &Value) -> Result<Value, RedactError> {
        self.place.push(place);
        let written = self.value(value)?;
        self.place.pop();
        Ok(written)
    }

    fn path(&self) -> String {
        ShownPath(&self.place).to_string()
    }

    fn text(&self, text: &str) -> Result<String, RedactError> {
        let mut stretches = vec![TemplateSegment::Fixed(text)];
        for rule in &self.rules.rules {
            if matches!(stretches.as_slice(), [TemplateSegment::Fixed(_)])
                && self.is_whole(rule, text)?
            {
                return self.placeholder(rule, text);
            }
            let mut cut = Vec::new();
            for stretch in stretches {
                match stretch {
                    TemplateSegment::Fixed(fixed) => self.cut(rule, fixed, &mut cut)?,
                    free => cut.push(free),
                }
            }
            stretches = cut;
        }
        if self.secrets_cut {
            stretches = stretches.into_iter().flat_map(without_secrets).collect();
        }
        if stretches
            .iter()
            .all(|stretch| matches!(stretch, TemplateSegment::Fixed(_)))
        {
            return Ok(literal(text));
        }
        self.pattern(text, &stretches)
    }

    fn is_whole(&self, rule: &RedactionRule, text: &str) -> Result<bool, RedactError> {
        rule.whole
            .matches_whole(text)
            .map_err(|error| self.gave_up(rule, &error.to_string()))
    }

    fn placeholder(&self, rule: &RedactionRule, text: &str) -> Result<String, RedactError> {
        let placeholder = &rule.redaction.placeholder;
        if fits(&Value::from(placeholder.as_str()), &Value::from(text)) {
            return Ok(placeholder.clone());
        }
        let pattern = rule.redaction.pattern.clone();
        Err(RedactError::Placeholder {
            path: self.path(),
            pattern,
            placeholder: placeholder.clone(),
        })
    }

    /// What a rule finds in a stretch, and what lies between.
    fn cut<'t>(
        &self,
        rule: &'t RedactionRule,
        fixed: &'t str,
        into: &mut Vec<TemplateSegment<'t>>,
    ) -> Result<(), RedactError> {
        let mut from = 0;
        for found in rule.part.find_all(fixed) {
            let range = found
                .map_err(|error| self.gave_up(rule, &error.to_string()))?
                .whole;
            // An empty match is no part of a text.
            let Some(before) = fixed.get(from..range.start).filter(|_| !range.is_empty()) else {
                continue;
            };
            if !before.is_empty() {
                into.push(TemplateSegment::Fixed(before));
            }
            into.push(TemplateSegment::Free(&rule.redaction.pattern));
            from = range.end;
        }
        if let Some(rest) = fixed.get(from..).filter(|rest| !rest.is_empty()) {
            into.push(TemplateSegment::Fixed(rest));
        }
        Ok(())
    }

    fn gave_up(&self, rule: &RedactionRule, reason: &str) -> RedactError {
        let pattern = rule.redaction.pattern.clone();
        RedactError::GaveUp {
            path: self.path(),
            pattern,
            reason: reason.to_owned(),
        }
    }

    /// One matcher of all stretches.
    fn pattern(&self, text: &str, stretches: &[TemplateSegment]) -> Result<String, RedactError> {
        let pattern: String = stretches
            .iter()
            .map(|stretch| match stretch {
                TemplateSegment::Fixed(fixed) => regex::escape(fixed),
                TemplateSegment::Free(pattern) => format!("(?:{pattern})"),
            })
            .collect();
        let matcher = format!("{{{{any_regex(\"{}\")}}}}", pattern.replace('"', "\\\""));
        if fits(&Value::from(matcher.as_str()), &Value::from(text)) {
            return Ok(matcher);
        }
        let reason = match CompiledPattern::compile(&whole(&pattern), RegexFlags::default()) {
            Err(error) => error.to_string(),
            Ok(_) => "its parts match alone, but not together".to_owned(),
        };
        Err(RedactError::Unusable {
            path: self.path(),
            reason,
        })
    }
}

fn without_secrets(stretch: TemplateSegment<'_>) -> Vec<TemplateSegment<'_>> {
    let TemplateSegment::Fixed(text) = stretch else {
        return vec![stretch];
    };
    let mut parts = Vec::new();
    for (index, fixed) in text.split(REDACTED).enumerate() {
        if index > 0 {
            parts.push(TemplateSegment::Free(ANYTHING));
        }
        if !fixed.is_empty() {
            parts.push(TemplateSegment::Fixed(fixed));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    fn rules(rules: &[(&str, &str)]) -> RedactionRules {
        let rules: Vec<Redaction> = rules
            .iter()
            .map(|(pattern, placeholder)| Redaction {
                pattern: (*pattern).to_owned(),
                placeholder: (*placeholder).to_owned(),
            })
            .collect();
        RedactionRules::new(&rules).unwrap()
    }

    #[test]
    fn a_rule_replaces_a_whole_text_or_matches_its_part() {
        let rules = rules(&[
            (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "{{any_iso_datetime}}"),
            (r#"req-[a-z"]+"#, "{{any_string}}"),
            (r"\d+ ms", "{{any_string}}"),
        ]);
        let value = json!({
            "at": "2026-01-02T03:04:05Z",
            "text": "at 2026-01-02T03:04:05Z (req-a\"b) in 12 ms.\n",
            "12 ms": ["5 ms", "quiet", 7, null],
        });
        let written = rules.written(&value, false).unwrap();
        assert_snapshot!(format!("{written:#}"), @r#"
        {
          "12 ms": [
            "{{any_string}}",
            "quiet",
            7,
            null
          ],
          "at": "{{any_iso_datetime}}",
          "text": "{{any_regex(\"at (?:\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z) \\((?:req-[a-z\\\"]+)\\) in (?:\\d+ ms)\\.\n\")}}"
        }
        "#);
        assert!(fits(&written["text"], &value["text"]));
        assert!(fits(
            &written["text"],
            &json!("at 2027-01-02T03:04:05Z (req-\") in 1 ms.\n")
        ));
        assert!(!fits(
            &written["text"],
            &json!("at 2027-01-02T03:04:05Z (req-\") in 1 ms!\n")
        ));
    }

    #[test]
    fn what_was_cut_out_as_a_secret_may_be_anything() {
        let none = rules(&[]);
        let value = json!({"greeting": "hello [redacted]!", "own": "[redacted]"});
        let written = none.written(&value, true).unwrap();
        assert_snapshot!(written.to_string(), @r#"{"greeting":"{{any_regex(\"hello (?:[\\s\\S]+)!\")}}","own":"{{any_regex(\"(?:[\\s\\S]+)\")}}"}"#);
        assert!(fits(&written["own"], &json!("tok-12\n34")));
        assert_eq!(none.written(&value, false).unwrap(), value);
        let key = none
            .written(&json!({"a": {"x[redacted]": 1}}), true)
            .unwrap_err();
        assert_snapshot!(key, @r#"a["x[redacted]"]: a secret was cut out of a key, for which no matcher can stand; leave the field out of the output"#);
    }

    #[test]
    fn what_looks_like_a_matcher_is_written_as_a_literal() {
        let none = rules(&[]);
        let written = none
            .written(
                &json!(["{{any_uuid}}", "{{vars.x}}", "{{literal(\"x\")}}"]),
                false,
            )
            .unwrap();
        assert_snapshot!(written.to_string(), @r#"["{{literal(\"{{any_uuid}}\")}}","{{vars.x}}","{{literal(\"{{literal(\\\"x\\\")}}\")}}"]"#);
    }

    #[test]
    fn a_rule_that_cannot_be_used_is_told() {
        let why = |pattern: &str, placeholder: &str, text: &str| {
            rules(&[(pattern, placeholder)])
                .written(&json!({"a": [text]}), false)
                .unwrap_err()
                .to_string()
        };
        assert_snapshot!(why("v.*", "{{any_uuid}}", "v12"), @"a[0]: `v.*` asks for {{any_uuid}} here, which does not accept the text");
        assert_snapshot!(why("(?P<n>b)(?P=n)", "{{any_string}}", "bb1bb"), @"a[0]: the text and what was cut from it make no pattern that accepts it: Invalid group name in back reference: n");
        let broken = [Redaction {
            pattern: "a(".to_owned(),
            placeholder: String::new(),
        }];
        assert_snapshot!(RedactionRules::new(&broken).unwrap_err(), @"the pattern `a(` of `baselines.redact` does not compile: unclosed group");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(256))]
        /// Whatever the text, a rule that cuts parts out of it leaves a matcher that accepts it and
        /// not another rest.
        #[test]
        fn a_text_with_free_parts_accepts_itself(parts in proptest::collection::vec("[ -~\n\\\\\"(){}\\[\\]äß]{0,6}", 1..5)) {
            let text = parts.join("12");
            let rules = rules(&[(r"\d+", "{{any_string}}")]);
            let written = rules.written(&json!(text), false).unwrap();
            proptest::prop_assert!(fits(&written, &json!(text)), "{written}");
            let other = format!("{text}x");
            let is_free = matches!(&written, Value::String(all) if all == "{{any_string}}");
            proptest::prop_assert!(is_free || !fits(&written, &json!(other)), "{written}");
        }
    }
}
