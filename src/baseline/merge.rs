//! A captured output in the spelling of the accepted one, so that a git diff shows just what
//! changed.
//!
//! What people wrote into the accepted baseline stays where it still holds: matchers, element
//! templates, values that are not compared. Everything else is as captured.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::model::StructuralOptions;
use eval_match::paths::{PathPattern, PathStep, PlaceStep};
use eval_match::{fits, is_matcher, makes_template, structural};

/// Pairs of elements that are compared to keep the order of an accepted array.
const MAX_PAIRS: usize = 2_500;

/// `written` is `output` as a baseline (see [`super::redact::RedactionRules::written`]); `rules` is how the
/// eval compares, when it compares structures.
pub fn merge(
    accepted: &Value,
    output: &Value,
    written: &Value,
    rules: Option<&StructuralOptions>,
) -> Value {
    let http = is_http(accepted) && is_http(output);
    let ignored = rules.map_or_else(Vec::new, |rules| {
        let paths = rules.ignore_fields.iter().chain(&rules.ignore_values);
        paths
            .map(|path| resolve(path, http, [accepted, output]))
            .collect()
    });
    BaselineMerge {
        rules,
        http,
        ignored,
        place: Vec::new(),
        pairs_left: MAX_PAIRS,
    }
    .value(accepted, output, written)
}

/// As the comparison knows an HTTP baseline.
pub(super) fn is_http(value: &Value) -> bool {
    value.get("status").is_some() && value.get("body").is_some()
}

/// Paths of an HTTP baseline lead into its body, where that has them.
fn resolve(path: &str, http: bool, sides: [&Value; 2]) -> PathPattern {
    let pattern = PathPattern::parse(path);
    if !http || pattern.0.is_empty() {
        return pattern;
    }
    let leads = |pattern: &PathPattern| sides.iter().any(|side| pattern.exists_in(side));
    let in_body = pattern.under("body");
    if leads(&in_body) || !leads(&pattern) {
        in_body
    } else {
        pattern
    }
}

struct BaselineMerge<'a> {
    rules: Option<&'a StructuralOptions>,
    http: bool,
    ignored: Vec<PathPattern>,
    place: Vec<PlaceStep>,
    pairs_left: usize,
}

impl BaselineMerge<'_> {
    fn value(&mut self, accepted: &Value, output: &Value, written: &Value) -> Value {
        if self.is_ignored() {
            return accepted.clone();
        }
        match (accepted, output, written) {
            (Value::Object(old), Value::Object(new), Value::Object(written)) => {
                self.object(old, new, written)
            }
            (Value::Array(old), Value::Array(new), Value::Array(written)) => {
                if self.all_elements_are_ignored() {
                    return accepted.clone();
                }
                self.array(old, new, written)
            }
            // 1 and 1.0 are one number.
            _ if (is_free(accepted) || accepted.is_number()) && fits(accepted, output) => {
                accepted.clone()
            }
            _ => written.clone(),
        }
    }

    fn below(
        &mut self,
        place: PlaceStep,
        accepted: &Value,
        output: &Value,
        written: &Value,
    ) -> Value {
        self.place.push(place);
        let merged = self.value(accepted, output, written);
        self.place.pop();
        merged
    }

    fn object(
        &mut self,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
        written: &Map<String, Value>,
    ) -> Value {
        let headers =
            self.http && matches!(self.place.as_slice(), [PlaceStep::Key(key)] if key == "headers");
        let mut merged = Map::new();
        for (key, value) in new {
            let Some(written) = written.get(key) else {
                continue;
            };
            // Names of headers differ in case without meaning anything by it.
            let known = old.get_key_value(key).or_else(|| {
                old.iter()
                    .find(|(name, _)| headers && name.eq_ignore_ascii_case(key))
            });
            match known {
                Some((name, accepted)) => {
                    let value = self.below(PlaceStep::Key(name.clone()), accepted, value, written);
                    merged.insert(name.clone(), value);
                }
                None => {
                    merged.insert(key.clone(), written.clone());
                }
            }
        }
        Value::Object(merged)
    }

    fn array(&mut self, old: &[Value], new: &[Value], written: &[Value]) -> Value {
        if let [template] = old
            && makes_template(template)
            && !new.is_empty()
        {
            let (template_alone, all) = (json!([template]), Value::from(new));
            if self.fits_here(&template_alone, &all) {
                return template_alone;
            }
            return self.elements(new.iter().map(|_| template), new, written);
        }
        let pairs = old.len().saturating_mul(new.len());
        if self.rules.is_some_and(|rules| rules.allow_field_reordering) && pairs <= self.pairs_left
        {
            self.pairs_left -= pairs;
            let (new, written) = self.in_old_order(old, new, written);
            return self.elements(old.iter(), &new, &written);
        }
        self.elements(old.iter(), new, written)
    }

    /// Element by element; what has no partner is as captured.
    fn elements<'v>(
        &mut self,
        mut old: impl Iterator<Item = &'v Value>,
        new: &[Value],
        written: &[Value],
    ) -> Value {
        let pairs = new.iter().zip(written).enumerate();
        let merged = pairs.map(|(index, (value, written))| match old.next() {
            Some(accepted) => self.below(PlaceStep::Index(index), accepted, value, written),
            None => written.clone(),
        });
        Value::Array(merged.collect())
    }

    /// The captured elements in the order of the accepted ones that they fit; the others take the
    /// free places.
    fn in_old_order(
        &mut self,
        old: &[Value],
        new: &[Value],
        written: &[Value],
    ) -> (Vec<Value>, Vec<Value>) {
        let mut places: Vec<Option<usize>> = vec![None; new.len()];
        let mut rest = Vec::new();
        let mut free: Vec<bool> = vec![true; new.len()];
        for (at, value) in new.iter().enumerate() {
            let fitting = old
                .iter()
                .enumerate()
                .take(new.len())
                .find(|(index, accepted)| {
                    let is_free = free.get(*index).copied().unwrap_or(false);
                    is_free && {
                        self.place.push(PlaceStep::Index(*index));
                        let fits = self.fits_here(accepted, value);
                        self.place.pop();
                        fits
                    }
                });
            match fitting.map(|(index, _)| index) {
                Some(index) => {
                    free[index] = false;
                    places[index] = Some(at);
                }
                None => rest.push(at),
            }
        }
        let mut rest = rest.into_iter();
        let order: Vec<usize> = places
            .into_iter()
            .filter_map(|place| place.or_else(|| rest.next()))
            .collect();
        let take = |from: &[Value]| {
            order
                .iter()
                .filter_map(|at| from.get(*at).cloned())
                .collect()
        };
        (take(new), take(written))
    }

    /// Whether the eval's comparison takes `output` for `accepted` at this place.
    fn fits_here(&self, accepted: &Value, output: &Value) -> bool {
        let mut rule = self
            .rules
            .cloned()
            .unwrap_or_else(|| StructuralOptions::as_it_stands(Value::Null));
        // Fields that the baseline lacks are to be captured: only an exact fit keeps what is there.
        // Whether a path leads anywhere is for the comparison of the whole.
        rule.allow_additional_fields = false;
        rule.require_keys = Vec::new();
        let values = std::mem::take(&mut rule.ignore_values);
        rule.ignore_fields.extend(values);
        rule.tolerance = BTreeMap::new();
        rule.likeness = None;
        rule.expected = self.wrapped(accepted);
        structural::compare(&rule, &self.wrapped(output)).matched
    }

    /// A value at this place of an otherwise empty document, so that paths mean the same.
    fn wrapped(&self, value: &Value) -> Value {
        let inner = self
            .place
            .iter()
            .rev()
            .fold(value.clone(), |value, place| match place {
                PlaceStep::Key(key) => Value::Object(Map::from_iter([(key.clone(), value)])),
                PlaceStep::Index(index) => {
                    let mut items = vec![Value::Null; *index];
                    items.push(value);
                    Value::Array(items)
                }
            });
        match inner {
            Value::Object(mut map) if self.http && !self.place.is_empty() => {
                for key in ["status", "body"] {
                    map.entry(key).or_insert(Value::Null);
                }
                Value::Object(map)
            }
            inner => inner,
        }
    }

    fn is_ignored(&self) -> bool {
        self.ignored
            .iter()
            .any(|pattern| pattern.names(&self.place))
    }

    /// Whether `*` ignores whatever an array at this place holds.
    fn all_elements_are_ignored(&self) -> bool {
        self.ignored
            .iter()
            .any(|pattern| match pattern.0.split_last() {
                Some((PathStep::Any, parent)) => PathPattern(parent.to_vec()).names(&self.place),
                _ => false,
            })
    }
}

/// A matcher that people may have written; a literal follows the output.
fn is_free(value: &Value) -> bool {
    value.as_str().is_some_and(is_matcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(ignore_fields: &[&str], any_order: bool) -> StructuralOptions {
        StructuralOptions {
            expected: Value::Null,
            allow_additional_fields: true,
            allow_field_reordering: any_order,
            ignore_fields: ignore_fields
                .iter()
                .map(|path| (*path).to_owned())
                .collect(),
            ignore_values: Vec::new(),
            require_keys: Vec::new(),
            tolerance: BTreeMap::new(),
            likeness: None,
        }
    }

    fn merged(accepted: Value, output: Value, rules: &StructuralOptions) -> String {
        merge(&accepted, &output, &output, Some(rules)).to_string()
    }

    #[test]
    fn matchers_stay_where_they_still_hold() {
        let accepted = json!({"id": "{{any_uuid}}", "n": "{{any_number}}", "name": "Ada", "gone": 1, "same": 1.0});
        let output = json!({"id": "not one", "n": 7, "name": "Bea", "new": true, "same": 1});
        insta::assert_snapshot!(merged(accepted, output, &rules(&[], false)), @r#"{"id":"not one","n":"{{any_number}}","name":"Bea","new":true,"same":1.0}"#);
    }

    #[test]
    fn a_template_stays_when_every_element_fits_it_and_else_its_matchers_do() {
        let accepted = json!({"users": [{"id": "{{any_number}}", "role": "user"}]});
        let fit = json!({"users": [{"id": 1, "role": "user"}, {"id": 2, "role": "user"}]});
        insta::assert_snapshot!(merged(accepted.clone(), fit, &rules(&[], false)), @r#"{"users":[{"id":"{{any_number}}","role":"user"}]}"#);
        let other = json!({"users": [{"id": 1, "role": "user"}, {"id": 2, "role": "admin"}]});
        insta::assert_snapshot!(merged(accepted.clone(), other, &rules(&[], false)), @r#"{"users":[{"id":"{{any_number}}","role":"user"},{"id":"{{any_number}}","role":"admin"}]}"#);
        // A field that the template lacks is news, though the comparison would allow it.
        let more = json!({"users": [{"id": 1, "role": "user", "age": 3}]});
        insta::assert_snapshot!(merged(accepted.clone(), more, &rules(&[], false)), @r#"{"users":[{"age":3,"id":"{{any_number}}","role":"user"}]}"#);
        insta::assert_snapshot!(merged(accepted, json!({"users": []}), &rules(&[], false)), @r#"{"users":[]}"#);
    }

    #[test]
    fn what_is_not_compared_keeps_its_accepted_value() {
        let accepted = json!({"status": 200, "body": {"at": "monday", "users": [{"id": 1, "n": 1}], "log": ["a"]}});
        let output = json!({"status": 200, "body": {"at": "friday", "users": [{"id": 9, "n": 2}], "log": ["b", "c"]}});
        let said = merged(
            accepted,
            output,
            &rules(&["at", "users.*.id", "log.*"], false),
        );
        insta::assert_snapshot!(said, @r#"{"body":{"at":"monday","log":["a"],"users":[{"id":1,"n":2}]},"status":200}"#);
        let gone = merged(
            json!({"at": 1, "x": 1}),
            json!({"x": 1}),
            &rules(&["at"], false),
        );
        insta::assert_snapshot!(gone, @r#"{"x":1}"#);
    }

    #[test]
    fn arrays_in_any_order_keep_the_accepted_order() {
        let accepted = json!([{"n": 1, "id": "{{any_string}}"}, {"n": 2, "id": "{{any_string}}"}, {"n": 3, "id": "x"}]);
        let output = json!([{"n": 4, "id": "x"}, {"n": 2, "id": "b"}, {"n": 1, "id": "a"}]);
        insta::assert_snapshot!(merged(accepted, output, &rules(&[], true)), @r#"[{"id":"{{any_string}}","n":1},{"id":"{{any_string}}","n":2},{"id":"x","n":4}]"#);
    }

    #[test]
    fn header_names_keep_their_accepted_spelling() {
        let accepted =
            json!({"status": 200, "headers": {"Content-Type": "{{any_string}}"}, "body": 1});
        let output = json!({"status": 200, "headers": {"content-type": "text/plain"}, "body": 1});
        insta::assert_snapshot!(merged(accepted, output, &rules(&[], false)), @r#"{"body":1,"headers":{"Content-Type":"{{any_string}}"},"status":200}"#);
    }

    #[test]
    fn a_text_that_a_new_rule_frees_is_free_although_it_is_the_accepted_one() {
        let (old, written) = (json!({"at": "2026"}), json!({"at": "{{any_string}}"}));
        assert_eq!(merge(&old, &old, &written, None), written);
        // A literal is no matcher that people wrote: it follows the output.
        let old = json!("{{literal(\"{{any_uuid}}\")}}");
        assert_eq!(merge(&old, &json!("x"), &json!("x"), None), json!("x"));
    }
}
