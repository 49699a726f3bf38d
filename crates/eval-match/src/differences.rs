//! Places where two JSON values differ: what such a place is, how its two sides are told, and a
//! plain walk that finds all of them.

use serde_json::{Map, Value};

use super::decimal::same_number;
use super::diff::{DiffOp, DiffTag, diff};
use super::paths::{PlaceStep, ShownPath};

/// Characters of a value that a difference shows.
const SHOWN: usize = 200;
/// Characters before the first difference of two long values that are shown.
const LEAD: usize = 60;
/// Differences that [`differences`] lists.
const MAX_LISTED: usize = 1_000;
/// Elements of two arrays, beyond what they begin and end with alike, that are aligned; longer ones
/// are paired as they stand.
const MAX_ALIGNED: usize = 4_000;

/// One place where output and baseline differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// As `body.users[0].email`; `(root)` for the whole.
    pub path: String,
    pub kind: DifferenceKind,
    /// JSON or words, shortened; empty when unexpected.
    pub expected: String,
    /// JSON, shortened; empty when missing.
    pub actual: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DifferenceKind {
    Missing,
    Unexpected,
    Type,
    Value,
    Matcher,
    Order,
    Tolerance,
    /// A text that is not alike enough.
    Similarity,
}

impl DifferenceKind {
    pub fn name(self) -> &'static str {
        match self {
            DifferenceKind::Missing => "missing",
            DifferenceKind::Unexpected => "unexpected",
            DifferenceKind::Type => "type",
            DifferenceKind::Value => "value",
            DifferenceKind::Matcher => "matcher",
            DifferenceKind::Order => "order",
            DifferenceKind::Tolerance => "tolerance",
            DifferenceKind::Similarity => "similarity",
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Difference {
            path,
            expected,
            actual,
            ..
        } = self;
        match self.kind {
            DifferenceKind::Missing => write!(f, "{path} is missing (expected {expected})"),
            DifferenceKind::Unexpected => write!(f, "{path} is not expected (got {actual})"),
            _ => write!(f, "{path}: expected {expected}, got {actual}"),
        }
    }
}

/// What differs between two values as they stand: numbers by value, matchers as texts, arrays
/// aligned so that one inserted element is one difference. Of elements that only one side has, the
/// path holds that side's index; of the others, the actual one's. At most 1,000 are listed.
pub fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    counted_differences(expected, actual).0
}

/// [`differences`], and how many there are with those that are not listed.
pub fn counted_differences(expected: &Value, actual: &Value) -> (Vec<Difference>, usize) {
    let mut walk = DifferenceWalk {
        place: Vec::new(),
        found: Vec::new(),
        all: 0,
    };
    walk.value(expected, actual);
    (walk.found, walk.all)
}

struct DifferenceWalk {
    place: Vec<PlaceStep>,
    found: Vec<Difference>,
    all: usize,
}

impl DifferenceWalk {
    fn add(&mut self, kind: DifferenceKind, told: impl FnOnce() -> (String, String)) {
        self.all += 1;
        if self.found.len() < MAX_LISTED {
            let path = ShownPath(&self.place).to_string();
            let (expected, actual) = told();
            self.found.push(Difference {
                path,
                kind,
                expected,
                actual,
            });
        }
    }

    fn at(&mut self, place: PlaceStep, expected: Option<&Value>, actual: Option<&Value>) {
        self.place.push(place);
        match (expected, actual) {
            (Some(expected), Some(actual)) => self.value(expected, actual),
            (Some(expected), None) => {
                self.add(DifferenceKind::Missing, || (json(expected), String::new()))
            }
            (None, Some(actual)) => {
                self.add(DifferenceKind::Unexpected, || (String::new(), json(actual)))
            }
            (None, None) => {}
        }
        self.place.pop();
    }

    fn value(&mut self, expected: &Value, actual: &Value) {
        match (expected, actual) {
            (Value::Object(wanted), Value::Object(map)) => self.object(wanted, map),
            (Value::Array(wanted), Value::Array(items)) => self.array(wanted, items),
            (Value::Number(a), Value::Number(b)) if same_number(a, b) => {}
            (Value::Null, Value::Null) => {}
            (Value::Bool(a), Value::Bool(b)) if a == b => {}
            (Value::String(a), Value::String(b)) if a == b => {}
            _ => {
                let same_type = std::mem::discriminant(expected) == std::mem::discriminant(actual);
                let kind = if same_type {
                    DifferenceKind::Value
                } else {
                    DifferenceKind::Type
                };
                self.add(kind, || apart(expected, actual));
            }
        }
    }

    fn object(&mut self, wanted: &Map<String, Value>, map: &Map<String, Value>) {
        for (key, expected) in wanted {
            self.at(PlaceStep::Key(key.clone()), Some(expected), map.get(key));
        }
        for (key, actual) in map
            .iter()
            .filter(|(key, _)| !wanted.contains_key(key.as_str()))
        {
            self.at(PlaceStep::Key(key.clone()), None, Some(actual));
        }
    }

    fn array(&mut self, wanted: &[Value], items: &[Value]) {
        for (old, new) in aligned(wanted, items) {
            let index = new.or(old).unwrap_or_default();
            let (old, new) = (
                old.and_then(|at| wanted.get(at)),
                new.and_then(|at| items.get(at)),
            );
            self.at(PlaceStep::Index(index), old, new);
        }
    }
}

/// Which elements of two arrays stand for each other where they are not spelled alike, by index;
/// `None` where the other side has none.
pub(super) fn aligned(wanted: &[Value], items: &[Value]) -> Vec<(Option<usize>, Option<usize>)> {
    let spelled =
        |values: &[Value]| -> Vec<String> { values.iter().map(Value::to_string).collect() };
    let (old, new) = (spelled(wanted), spelled(items));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let ops = if old.len().max(new.len()) <= MAX_ALIGNED {
        diff(old, new)
    } else {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old.len(),
            new_index: 0,
            new_len: new.len(),
        }]
    };
    let mut pairs = Vec::new();
    for op in ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
        let (mut old, mut new) = (op.old_range(), op.new_range());
        loop {
            match (old.next(), new.next()) {
                (None, None) => break,
                (a, b) => pairs.push((a.map(|at| at + start), b.map(|at| at + start))),
            }
        }
    }
    pairs
}

pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value as JSON, shortened: of a large one no more is written than is shown.
pub(super) fn json(value: &Value) -> String {
    excerpt(value, 0)
}

/// Two values as JSON, each shortened around the first place where they part.
pub(super) fn apart(expected: &Value, actual: &Value) -> (String, String) {
    let (Value::String(a), Value::String(b)) = (expected, actual) else {
        return (json(expected), json(actual));
    };
    // In characters of the JSON: the quote, then what each character is written as.
    let same: usize = 1 + a
        .chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            _ => 1,
        })
        .sum::<usize>();
    let longest = a.len().max(b.len());
    let from = if longest <= SHOWN - 2 || same <= SHOWN / 2 {
        0
    } else {
        same - LEAD
    };
    (excerpt(expected, from), excerpt(actual, from))
}

/// The JSON of a value from one of its characters on.
fn excerpt(value: &Value, from: usize) -> String {
    let mut out = TextWindow {
        skip: from,
        left: SHOWN,
        text: String::new(),
        cut: false,
    };
    // The writer fails when it is full, which is no failure here.
    let _ = serde_json::to_writer(&mut out, value);
    format!(
        "{}{}{}",
        if from > 0 { "…" } else { "" },
        out.text,
        if out.cut { "…" } else { "" }
    )
}

/// Takes a number of characters and then refuses. The writer of JSON never parts a character.
struct TextWindow {
    skip: usize,
    left: usize,
    text: String,
    cut: bool,
}

impl std::io::Write for TextWindow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for c in String::from_utf8_lossy(bytes).chars() {
            if self.skip > 0 {
                self.skip -= 1;
            } else if self.left > 0 {
                self.left -= 1;
                self.text.push(c);
            } else {
                self.cut = true;
                return Err(std::io::ErrorKind::StorageFull.into());
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn told(expected: Value, actual: Value) -> String {
        let lines: Vec<String> = differences(&expected, &actual)
            .iter()
            .map(|d| format!("{}: {d}", d.kind.name()))
            .collect();
        lines.join("\n")
    }

    #[test]
    fn all_kinds_are_found_where_they_are() {
        let old =
            json!({"a": 1, "b": [1, 2.0, 3], "c": {"d": null, "e": "{{any_uuid}}"}, "f.g": true});
        let new = json!({"a": "1", "b": [1, 2, 4], "c": {"e": "x", "h": []}, "f.g": false});
        assert_snapshot!(told(old.clone(), new), @r#"
        type: a: expected 1, got "1"
        value: b[2]: expected 3, got 4
        missing: c.d is missing (expected null)
        value: c.e: expected "{{any_uuid}}", got "x"
        unexpected: c.h is not expected (got [])
        value: ["f.g"]: expected true, got false
        "#);
        assert_snapshot!(told(json!([]), json!({})), @"type: (root): expected [], got {}");
    }

    #[test]
    fn an_inserted_element_is_one_difference() {
        let user = |n: usize| json!({"id": n, "name": format!("n{n}")});
        let old: Vec<Value> = (0..20).map(user).collect();
        let mut new = old.clone();
        new.insert(3, user(99));
        assert_snapshot!(told(json!(old), json!(new)), @r#"unexpected: [3] is not expected (got {"id":99,"name":"n99"})"#);
        assert_snapshot!(told(json!(new), json!(old)), @r#"missing: [3] is missing (expected {"id":99,"name":"n99"})"#);
        new[10]["name"] = json!("other");
        assert_snapshot!(told(json!(old), json!(new)), @r#"
        unexpected: [3] is not expected (got {"id":99,"name":"n99"})
        value: [10].name: expected "n9", got "other"
        "#);
    }

    #[test]
    fn long_texts_are_shown_where_they_part() {
        let long = |end: &str| json!(format!("{}\n{end}{}", "x".repeat(5_000), "y".repeat(5_000)));
        let found = differences(&long("a"), &long("b"));
        assert_eq!(found.len(), 1);
        let side = |end: &str| format!("…{}\\n{end}{}…", "x".repeat(58), "y".repeat(139));
        assert_eq!(
            (found[0].expected.clone(), found[0].actual.clone()),
            (side("a"), side("b"))
        );
        let (a, b) = apart(&json!("é".repeat(300)), &json!("é".repeat(299)));
        assert_eq!(
            (a, b),
            (
                format!("…{}\"", "é".repeat(61)),
                format!("…{}\"", "é".repeat(60))
            )
        );
        assert_eq!(
            json(&json!("z".repeat(300))),
            format!("\"{}…", "z".repeat(199))
        );
    }

    #[test]
    fn arrays_that_are_too_long_to_be_aligned_are_paired_as_they_stand() {
        let old: Vec<Value> = (0..MAX_ALIGNED + 9).map(Value::from).collect();
        let new: Vec<Value> = (0..MAX_ALIGNED + 9).map(|n| json!(n + 1)).collect();
        let (listed, all) = counted_differences(&json!(old), &json!(new));
        assert_eq!((listed.len(), all), (MAX_LISTED, MAX_ALIGNED + 9));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn none_exactly_when_equal(a in prop::collection::vec(0..4u8, 0..8), b in prop::collection::vec(0..4u8, 0..8)) {
            let (old, new) = (json!({"k": a}), json!({"k": b}));
            let found = differences(&old, &new);
            prop_assert_eq!(found.is_empty(), a == b);
            let count = |kind| found.iter().filter(|d| d.kind == kind).count();
            // What is taken away and what is added make up for the difference in length.
            prop_assert_eq!(a.len() + count(DifferenceKind::Unexpected), b.len() + count(DifferenceKind::Missing));
        }
    }
}
