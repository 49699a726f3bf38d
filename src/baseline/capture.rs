//! From the outputs of a run to what a pending baseline holds. Pure: which outputs they are and
//! where they go is others' work.

use serde_json::{Map, Value};

use super::merge::{is_http, merge};
use super::redact::{RedactError, RedactionRules};
use crate::model::{CaseGrading, CodeGrader, Combine, Grader, GraderKind, StructuralOptions};
use eval_match::{each_once, makes_template};

/// How an eval's output becomes its baseline.
#[derive(Debug, Clone, Copy)]
pub struct CaptureContext<'a> {
    pub rules: &'a RedactionRules,
    /// Names of HTTP response headers that are kept besides those that the accepted baseline names,
    /// in lower case.
    pub keep_headers: &'a [String],
    /// The accepted output; `None` when there is none, or when it is to leave no trace.
    pub accepted: Option<&'a Value>,
    /// How the eval compares, when it compares structures.
    pub structural: Option<&'a StructuralOptions>,
}

impl CaptureContext<'_> {
    /// What is written for an output, from which secrets were cut or not.
    ///
    /// # Errors
    /// The first text that a rule of the suite can't be used on.
    pub fn written(&self, output: &Value, secrets_cut: bool) -> Result<Value, RedactError> {
        let output = with_headers(output, self.keep_headers, self.accepted);
        let written = self.rules.written(&output, secrets_cut)?;
        let merged = match self.accepted {
            Some(accepted) => merge(accepted, &output, &written, self.structural),
            None => written,
        };
        Ok(without_new_templates(merged, self.accepted))
    }
}

/// An HTTP output with those of its headers that are kept; any other output as it is.
fn with_headers(output: &Value, keep: &[String], accepted: Option<&Value>) -> Value {
    let mut output = output.clone();
    if !is_http(&output) {
        return output;
    }
    let named = accepted.and_then(|accepted| accepted.get("headers")?.as_object());
    let is_kept = |name: &str| {
        keep.iter().any(|kept| kept.eq_ignore_ascii_case(name))
            || named.is_some_and(|named| named.keys().any(|kept| kept.eq_ignore_ascii_case(name)))
    };
    if let Some(Value::Object(headers)) = output.get_mut("headers") {
        let kept: Map<String, Value> = std::mem::take(headers)
            .into_iter()
            .filter(|(name, _)| is_kept(name))
            .collect();
        *headers = kept;
    }
    output
}

/// The value without templates that nobody wrote: an array whose only element got a matcher, and
/// that is no template in the accepted baseline, stands for one element alone.
fn without_new_templates(written: Value, accepted: Option<&Value>) -> Value {
    let is_template = |value: &Value| matches!(value.as_array().map(Vec::as_slice), Some([one]) if makes_template(one));
    match written {
        Value::Object(fields) => {
            let below = |(key, value): (String, Value)| {
                let accepted = accepted.and_then(|old| old.get(&key));
                (key, without_new_templates(value, accepted))
            };
            Value::Object(fields.into_iter().map(below).collect())
        }
        array @ Value::Array(_) if is_template(&array) && !accepted.is_some_and(is_template) => {
            each_once(&array)
        }
        Value::Array(items) => {
            let below = |(index, value)| {
                without_new_templates(value, accepted.and_then(|old| old.get(index)))
            };
            Value::Array(items.into_iter().enumerate().map(below).collect())
        }
        other => other,
    }
}

/// Whether an eval compares with a known-good output, or would if it had one.
pub fn takes_a_baseline(grading: &CaseGrading, has_one: bool) -> bool {
    has_one
        || grading
            .graders
            .iter()
            .any(|grader| matches!(grader.kind, GraderKind::Code(CodeGrader::NoBaseline)))
}

/// How the structures are compared, if they are.
pub fn structural(grading: &CaseGrading) -> Option<&StructuralOptions> {
    grading
        .graders
        .iter()
        .find_map(|grader| match &grader.kind {
            GraderKind::Code(CodeGrader::StructuralMatch(rule)) => Some(rule),
            _ => None,
        })
}

/// The part of a grading by which a new baseline is tried on its own output: what looks at it and
/// runs nothing. `None` when nothing is left: then only a run can tell.
pub fn trial(grading: &CaseGrading) -> Option<CaseGrading> {
    let looks = |grader: &&Grader| {
        !grader.informative
            && matches!(grader.kind, GraderKind::Code(_))
            && grader.kind.only_looks()
    };
    let graders: Vec<Grader> = grading.graders.iter().filter(looks).cloned().collect();
    let all = graders.len()
        == grading
            .graders
            .iter()
            .filter(|grader| !grader.informative)
            .count();
    let combine = match grading.combine {
        // The others could still make up for one that fails.
        combine if all => combine,
        Combine::All => Combine::All,
        _ => Combine::Any,
    };
    (!graders.is_empty()).then_some(CaseGrading {
        graders,
        combine,
        demands: None,
        python: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn captured(output: &Value, accepted: Option<&Value>) -> Value {
        let rules = RedactionRules::new(&[]).unwrap();
        let keep = ["content-type".to_owned()];
        CaptureContext {
            rules: &rules,
            keep_headers: &keep,
            accepted,
            structural: None,
        }
        .written(output, false)
        .unwrap()
    }

    #[test]
    fn of_headers_only_those_stay_that_somebody_asked_for() {
        let output = json!({"status": 200, "body": 1, "headers": {"content-type": "a", "date": "b", "x-api": "c"}});
        let plain = captured(&output, None);
        insta::assert_snapshot!(plain["headers"], @r#"{"content-type":"a"}"#);
        let accepted = json!({"status": 200, "body": 1, "headers": {"X-Api": "old"}});
        insta::assert_snapshot!(captured(&output, Some(&accepted))["headers"], @r#"{"X-Api":"c","content-type":"a"}"#);
        // Not HTTP: every field is kept.
        let other = json!({"headers": {"date": "b"}});
        assert_eq!(captured(&other, None), other);
    }

    #[test]
    fn one_element_with_a_matcher_that_nobody_wrote_is_one_element() {
        let one = json!({"users": [{"id": "{{any_uuid}}"}], "plain": [1], "in": [[["{{ any_string }}"]]]});
        let once = json!({"users": [{"id": "{{any_uuid!}}"}], "plain": [1], "in": [[["{{ any_string!}}"]]]});
        assert_eq!(without_new_templates(one.clone(), None), once);
        assert_eq!(without_new_templates(once.clone(), None), once);
        assert_eq!(without_new_templates(one.clone(), Some(&one)), one);
        let two =
            json!({"users": [{"id": "{{any_uuid}}"}, {"id": "{{any_uuid}}"}], "in": one["in"]});
        assert_eq!(
            without_new_templates(one.clone(), Some(&two))["users"],
            once["users"]
        );

        let redaction = crate::model::Redaction {
            pattern: "^u-.*$".into(),
            placeholder: "{{any_string}}".into(),
        };
        let rules = RedactionRules::new(&[redaction]).unwrap();
        let capture = CaptureContext {
            rules: &rules,
            keep_headers: &[],
            accepted: None,
            structural: None,
        };
        let written = capture
            .written(&json!({"users": [{"id": "u-1"}]}), false)
            .unwrap();
        let passes = |output: Value| compare(&rule(written.clone(), false), &output).matched;
        assert!(passes(json!({"users": [{"id": "u-2"}]})));
        assert!(!passes(json!({"users": [{"id": "u-2"}, {"id": "u-3"}]})));
        assert!(!passes(json!({"users": []})));
    }

    use proptest::prelude::*;

    use eval_match::structural::compare;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z ]{0,6}",
            "\\PC{0,8}",
            prop::sample::select(vec![
                "{{any_uuid}}",
                "{{ any_regex(\"a+\") }}",
                "{{any_}}",
                "{{literal(\"x\")}}",
                "{{ literal( }}",
                "see {{any_string}} here",
                "[redacted]",
                "line\nline\n",
                "",
            ])
            .prop_map(str::to_owned),
        ]
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::sample::select(vec![
                "1.0",
                "1e400",
                "123456789012345678901234567890",
                "-0.0",
                "0.1"
            ])
            .prop_map(|digits| serde_json::from_str(digits).unwrap()),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop_oneof![
                prop::sample::select(vec![
                    "status",
                    "body",
                    "headers",
                    "content-type",
                    "a.b",
                    "*"
                ])
                .prop_map(str::to_owned),
                text(),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner.clone()), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
                (inner.clone(), inner.clone(), inner)
                    .prop_map(|(a, b, c)| json!({"status": a, "headers": {"date": b}, "body": c})),
            ]
        })
    }

    fn rule(expected: Value, strict: bool) -> StructuralOptions {
        StructuralOptions {
            allow_additional_fields: !strict,
            ..StructuralOptions::as_it_stands(expected)
        }
    }

    /// Every leaf of a value by its JSON pointer; empty containers are leaves.
    fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
        let step = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::Object(map) if !map.is_empty() => {
                map.iter()
                    .for_each(|(key, inner)| leaves(inner, step(key), found));
            }
            Value::Array(items) if !items.is_empty() => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(n, inner)| leaves(inner, step(&n.to_string()), found));
            }
            _ => found.push(at),
        }
    }

    fn changed(leaf: &Value) -> Value {
        match leaf {
            Value::Null => json!(0),
            Value::Bool(yes) => json!(!yes),
            Value::Number(_) => json!("a number no more"),
            Value::String(text) => json!(format!("{text}x")),
            Value::Array(_) | Value::Object(_) => Value::Null,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// A captured output passes against itself, whatever it holds, and with one leaf changed it
        /// does not.
        #[test]
        fn what_was_captured_passes_and_nothing_else_does(output in json(), strict: bool, pick: prop::sample::Index) {
            let written = captured(&output, None);
            let same = compare(&rule(written.clone(), strict), &output);
            prop_assert!(same.matched, "{written}\n{:?}", same.differences);
            let mut all = Vec::new();
            leaves(&output, String::new(), &mut all);
            let at = pick.get(&all);
            let left_out = is_http(&output) && at.starts_with("/headers/") && !at.starts_with("/headers/content-type");
            if !left_out {
                let mut other = output.clone();
                let leaf = other.pointer_mut(at).unwrap();
                *leaf = changed(leaf);
                prop_assert!(!compare(&rule(written.clone(), strict), &other).matched, "{at}: {written}");
            }
        }

        /// So it is when something else was accepted before, whose matchers stay where they fit.
        #[test]
        fn a_merged_baseline_passes_too(output in json(), accepted in json(), any_order: bool) {
            let rules = RedactionRules::new(&[]).unwrap();
            let mut how = rule(Value::Null, false);
            how.allow_field_reordering = any_order;
            how.ignore_fields = vec!["a".to_owned(), "b.*".to_owned(), "body.status".to_owned()];
            let capture =
                CaptureContext { rules: &rules, keep_headers: &[], accepted: Some(&accepted), structural: Some(&how) };
            how.expected = capture.written(&output, false).unwrap();
            let same = compare(&how, &output);
            prop_assert!(same.matched, "{}\n{:?}", how.expected, same.differences);
        }
    }
}
