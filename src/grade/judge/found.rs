//! The JSON objects of a text that is no JSON as a whole: a judge's reply, or the output that is
//! judged. Pure.
//!
//! One walk from left to right. An object that does not hold is given up together with those that
//! are open inside it, so that no place is walked twice for the same reason; steps are counted all
//! the same, and beyond the limit nothing was found.

use std::collections::HashSet;
use std::ops::Range;

/// Steps for each byte of a text.
const STEPS: usize = 16;

/// Nesting that a parser follows.
const PARSED_DEPTH: usize = 100;

/// What a reply says last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LastObject<'t> {
    /// A whole object. `odd` when a word stands in it that looks like a number and is none of
    /// JSON's (`NaN`, `Infinity`).
    Whole { text: &'t str, odd: bool },
    /// The text ends inside an object.
    Cut,
    /// The last object is none: what is wrong with it, and at which byte.
    Broken { at: usize },
    /// Nothing that begins like an object.
    Nothing,
    /// It takes too long to read.
    TooMuch,
}

/// The last whole object of a text, if nothing that began as an object comes after it or goes on
/// around it.
pub(super) fn last_object(text: &str) -> LastObject<'_> {
    let mut last: Option<(Range<usize>, bool)> = None;
    let mut broken: Option<(Range<usize>, bool)> = None;
    let done = walk(text, &mut |seen| match seen {
        FoundObject::Whole { at, odd } => last = Some((at, odd)),
        // A brace in prose is no object that failed.
        FoundObject::Broken { at, ended } => {
            if broken.as_ref().is_none_or(|(known, _)| at.end >= known.end) {
                broken = Some((at, ended));
            }
        }
    });
    if !done {
        return LastObject::TooMuch;
    }
    match (last, broken) {
        (Some((at, _)), Some((around, ended))) if around.end >= at.start => {
            of_broken(&around, ended)
        }
        (None, Some((around, ended))) => of_broken(&around, ended),
        (Some((at, odd)), _) => match text.get(at) {
            Some(text) => LastObject::Whole { text, odd },
            None => LastObject::Nothing,
        },
        (None, None) => LastObject::Nothing,
    }
}

fn of_broken<'t>(around: &Range<usize>, ended: bool) -> LastObject<'t> {
    if ended {
        LastObject::Cut
    } else {
        LastObject::Broken { at: around.end }
    }
}

/// The outermost whole objects of a text, in order; what can't be read within bounds is left out.
pub(super) fn objects(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    walk(text, &mut |seen| {
        if let FoundObject::Whole { at, .. } = seen {
            found.extend(text.get(at));
        }
    });
    found
}

/// A whole object as a parser takes it: without halves of surrogate pairs, and without what is
/// nested too deeply, which is given back apart.
pub(super) fn parsable(object: &str) -> (String, Vec<&str>) {
    let bytes = object.as_bytes();
    let piece = |range: Range<usize>| object.get(range).unwrap_or_default();
    let half = |at: usize| match bytes.get(at..at + 4) {
        Some([b'\\', b'u', b'd' | b'D', digit]) => match digit {
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(true),
            b'c'..=b'f' | b'C'..=b'F' => Some(false),
            _ => None,
        },
        _ => None,
    };
    let (mut out, mut deeper) = (String::with_capacity(object.len()), Vec::new());
    let (mut at, mut kept, mut depth, mut in_text) = (0, 0, 0_usize, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => in_text = !in_text,
            b'\\' => {
                match half(at) {
                    Some(true) if half(at + 6) == Some(false) => at += 10,
                    Some(_) if depth <= PARSED_DEPTH => {
                        out.push_str(piece(kept..at));
                        out.push(char::REPLACEMENT_CHARACTER);
                        at += 4;
                        kept = at + 2;
                    }
                    _ => {}
                }
                at += 1;
            }
            b'{' | b'[' if !in_text => {
                depth += 1;
                if depth == PARSED_DEPTH + 1 {
                    out.push_str(piece(kept..at));
                    kept = at;
                }
            }
            b'}' | b']' if !in_text => {
                if depth == PARSED_DEPTH + 1 {
                    deeper.push(piece(kept..at + 1));
                    out.push_str("null");
                    kept = at + 1;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(piece(kept..bytes.len()));
    (out, deeper)
}

enum FoundObject {
    Whole {
        at: Range<usize>,
        odd: bool,
    },
    /// Got beyond its first key, or to the end of the text, or begins as an answer does; it failed
    /// where the range ends.
    Broken {
        at: Range<usize>,
        /// Because the text ended.
        ended: bool,
    },
}

/// True when the whole text was walked.
fn walk(text: &str, tell: &mut dyn FnMut(FoundObject)) -> bool {
    let bytes = text.as_bytes();
    let mut steps = bytes.len().saturating_mul(STEPS).saturating_add(1 << 12);
    let mut at = 0;
    // Places of objects that were open when one around them failed: they fail likewise. All are
    // kept: what is a text to one reading is an object to another, and the two take turns.
    let mut doomed: HashSet<usize> = HashSet::new();
    while let Some(ahead) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'{'))
    {
        let start = at + ahead;
        at = start + 1;
        if doomed.contains(&start) {
            continue;
        }
        let mut attempt = ObjectParser {
            bytes,
            at: start,
            open: Vec::new(),
            keyed: false,
            odd: false,
            steps,
        };
        match attempt.object() {
            Ok(()) => {
                tell(FoundObject::Whole {
                    at: start..attempt.at,
                    odd: attempt.odd,
                });
                at = attempt.at;
            }
            Err(ObjectFault::TooMuch) => return false,
            Err(stop) => {
                let ended = matches!(stop, ObjectFault::Ended);
                if attempt.keyed || ended || names_a_field(bytes.get(at..).unwrap_or_default()) {
                    tell(FoundObject::Broken {
                        at: start..attempt.at,
                        ended,
                    });
                }
                doomed.extend(attempt.open.iter().filter_map(|open| open.object));
            }
        }
        steps = attempt.steps;
    }
    true
}

/// Keys of an answer.
const FIELDS: [&str; 7] = [
    "token",
    "justification",
    "specific_feedback",
    "checks",
    "scores",
    "overall_score",
    "passed",
];

/// True when what follows a brace is a key of an answer, in quotes of whatever kind or in none: it
/// was meant as one.
fn names_a_field(after: &[u8]) -> bool {
    let quotes =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'*');
    let start = after
        .iter()
        .take(64)
        .take_while(|byte| quotes(byte))
        .count();
    let rest = after.get(start..).unwrap_or_default();
    FIELDS
        .iter()
        .any(|field| rest.starts_with(field.as_bytes()))
}

enum ObjectFault {
    /// Not JSON here.
    Wrong,
    Ended,
    TooMuch,
}

struct OpenContainer {
    /// Where it begins; `None` for an array.
    object: Option<usize>,
}

/// One reading of an object, by the grammar of RFC 8259 and the words that some write for numbers.
struct ObjectParser<'t> {
    bytes: &'t [u8],
    at: usize,
    open: Vec<OpenContainer>,
    /// A key with its colon was read in the outermost object.
    keyed: bool,
    odd: bool,
    steps: usize,
}

/// What may come next.
#[derive(Clone, Copy)]
enum ExpectedToken {
    Value,
    /// The first member of a container, or its end.
    First,
    Member,
    /// A comma, or the end of a container.
    After,
}

impl ObjectParser<'_> {
    /// From the bracket that opens to the one that closes.
    fn object(&mut self) -> Result<(), ObjectFault> {
        let mut expected = ExpectedToken::Value;
        loop {
            let next = self.seen()?;
            let in_object = self.open.last().is_some_and(|open| open.object.is_some());
            expected = match (expected, next) {
                (ExpectedToken::First | ExpectedToken::After, b'}') if in_object => self.leave()?,
                (ExpectedToken::First | ExpectedToken::After, b']') if !in_object => {
                    self.leave()?
                }
                (ExpectedToken::After, b',') => {
                    self.step()?;
                    ExpectedToken::Member
                }
                (ExpectedToken::After, _) => return Err(ObjectFault::Wrong),
                (ExpectedToken::First | ExpectedToken::Member, b'"') if in_object => self.key()?,
                (ExpectedToken::First | ExpectedToken::Member, _) if in_object => {
                    return Err(ObjectFault::Wrong);
                }
                (_, b'{' | b'[') => self.enter()?,
                (_, start) => self.scalar(start)?,
            };
            if self.open.is_empty() {
                return Ok(());
            }
        }
    }

    fn enter(&mut self) -> Result<ExpectedToken, ObjectFault> {
        let object = (self.byte()? == b'{').then_some(self.at);
        self.open.push(OpenContainer { object });
        self.step()?;
        Ok(ExpectedToken::First)
    }

    fn leave(&mut self) -> Result<ExpectedToken, ObjectFault> {
        self.open.pop();
        self.step()?;
        Ok(ExpectedToken::After)
    }

    fn key(&mut self) -> Result<ExpectedToken, ObjectFault> {
        self.text()?;
        if self.seen()? != b':' {
            return Err(ObjectFault::Wrong);
        }
        self.step()?;
        self.keyed |= self.open.len() == 1;
        Ok(ExpectedToken::Value)
    }

    fn scalar(&mut self, start: u8) -> Result<ExpectedToken, ObjectFault> {
        match start {
            b'"' => self.text(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'N' => self.odd_word("NaN"),
            b'I' => self.odd_word("Infinity"),
            _ => Err(ObjectFault::Wrong),
        }?;
        Ok(ExpectedToken::After)
    }

    fn byte(&self) -> Result<u8, ObjectFault> {
        self.bytes.get(self.at).copied().ok_or(ObjectFault::Ended)
    }

    fn step(&mut self) -> Result<(), ObjectFault> {
        self.at += 1;
        self.steps = self.steps.checked_sub(1).ok_or(ObjectFault::TooMuch)?;
        Ok(())
    }

    /// The next byte that is no white space.
    fn seen(&mut self) -> Result<u8, ObjectFault> {
        while matches!(self.byte()?, b' ' | b'\t' | b'\n' | b'\r') {
            self.step()?;
        }
        self.byte()
    }

    fn text(&mut self) -> Result<(), ObjectFault> {
        self.step()?;
        loop {
            match self.byte()? {
                b'"' => return self.step(),
                b'\\' => {
                    self.step()?;
                    match self.byte()? {
                        b'u' => {
                            self.step()?;
                            for _ in 0..4 {
                                if !self.byte()?.is_ascii_hexdigit() {
                                    return Err(ObjectFault::Wrong);
                                }
                                self.step()?;
                            }
                        }
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.step()?,
                        _ => return Err(ObjectFault::Wrong),
                    }
                }
                0..0x20 => return Err(ObjectFault::Wrong),
                _ => self.step()?,
            }
        }
    }

    fn number(&mut self) -> Result<(), ObjectFault> {
        if self.byte()? == b'-' {
            self.step()?;
            if self.byte()? == b'I' {
                return self.odd_word("Infinity");
            }
        }
        match self.byte()? {
            b'0' => self.step()?,
            b'1'..=b'9' => self.digits()?,
            _ => return Err(ObjectFault::Wrong),
        }
        if self.byte()? == b'.' {
            self.step()?;
            self.digits()?;
        }
        if matches!(self.byte()?, b'e' | b'E') {
            self.step()?;
            if matches!(self.byte()?, b'+' | b'-') {
                self.step()?;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ObjectFault> {
        if !self.byte()?.is_ascii_digit() {
            return Err(ObjectFault::Wrong);
        }
        while self.byte()?.is_ascii_digit() {
            self.step()?;
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), ObjectFault> {
        for expected in word.bytes() {
            if self.byte()? != expected {
                return Err(ObjectFault::Wrong);
            }
            self.step()?;
        }
        Ok(())
    }

    fn odd_word(&mut self, word: &str) -> Result<(), ObjectFault> {
        self.odd = true;
        self.word(word)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn told(text: &str) -> String {
        match last_object(text) {
            LastObject::Whole { text, odd } => format!("{text}{}", if odd { " odd" } else { "" }),
            LastObject::Cut => "cut".to_owned(),
            LastObject::Broken { at } => format!("broken at {at}"),
            LastObject::Nothing => "nothing".to_owned(),
            LastObject::TooMuch => "too much".to_owned(),
        }
    }

    #[test]
    fn the_last_whole_object_is_the_answer() {
        for (text, expected) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (
                r#"{"a": 1} then {"b": {"c": [2]}} end."#,
                r#"{"b": {"c": [2]}}"#,
            ),
            (
                r#"I thought of {x} and {"y"}: {"a": "}{"} so {there}"#,
                r#"{"a": "}{"}"#,
            ),
            (
                "\u{feff}```json\r\n{\r\n\"a\": -1.5e+3\r\n}\r\n```",
                "{\r\n\"a\": -1.5e+3\r\n}",
            ),
            (r#"[{"a": 1}, {"a": 2}]"#, r#"{"a": 2}"#),
            (
                r#"{} {"a": [], "b": {}, "c": [[{}], 1]}"#,
                r#"{"a": [], "b": {}, "c": [[{}], 1]}"#,
            ),
            (
                r#"{"a": NaN, "b": -Infinity}"#,
                r#"{"a": NaN, "b": -Infinity} odd"#,
            ),
            (r#"{"note: {"a": 1}"#, r#"{"a": 1}"#),
            ("no braces", "nothing"),
            ("{{{{ {x} }}", "nothing"),
            ("", "nothing"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn an_object_that_fails_later_hides_those_before_and_inside() {
        for (text, expected) in [
            (r#"{"a": 1} {"b": {"c": 2}, "d": "#, "cut"),
            (r#"{"a": 1} {"b": {"c": 2},}"#, "broken at 24"),
            (
                r#"{"a": 1, "scores": {"x": 5}, passed: true}"#,
                "broken at 29",
            ),
            (r#"{"a": 1}, {"b": 01}"#, "broken at 17"),
            (
                r#"{"a": "line
break"}"#,
                "broken at 11",
            ),
            (r#"{"a": tru}"#, "broken at 9"),
            (
                r#"{"a": 1} no: {'token': 'x', 'passed': False}"#,
                "broken at 14",
            ),
            (r#"{"a": 1} no: { scores: 1 }"#, "broken at 15"),
            (r#"{"a": 1} no: {"#, "cut"),
            (r#"{"a": 1} no: {"to"#, "cut"),
            (r#"{"a": "\x"}"#, "broken at 8"),
            // What failed before is over.
            (r#"{"a": x} {"b": 1}"#, r#"{"b": 1}"#),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn the_work_is_bounded_by_the_length() {
        let n = 1 << 18;
        for part in [
            "{",
            "{\"a\":[",
            "{\"",
            "{\"a\":{\"b\":",
            "{\"a\":1,",
            "{\":\":\"{\",",
            "[{\"a\":[{},",
            "\"{\\\"",
            "{\":{\":[",
            "{\":{\":[{},",
            "{\"{\":{\"}\":[",
        ] {
            let text = part.repeat(n / part.len());
            // Limits would stop it; within them it must come to an end by itself.
            let found = told(&text);
            assert!(
                ["nothing", "cut"].contains(&found.as_str()) || found.starts_with("broken"),
                "{part}"
            );
            assert!(
                !objects(&text).iter().any(|found| found.len() > 2),
                "{part}"
            );
        }
        let deep = format!("{}{}", "{\"a\":".repeat(500), "}".repeat(500));
        assert_eq!(told(&deep), "broken at 2500");
        let deep = format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500));
        assert_eq!(told(&deep), deep);
    }

    #[test]
    fn what_a_parser_refuses_is_made_parsable() {
        let deep = |n: usize, inside: &str| format!("{}{inside}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(
            parsable(r#"{"a": ["x", {}]}"#),
            (r#"{"a": ["x", {}]}"#.to_owned(), vec![])
        );
        let halves = r#"{"\ud83d\uDE00": "\ud800\\\udfff\"{", "b": "\\ud800"}"#;
        let (text, _) = parsable(halves);
        assert_eq!(
            text,
            "{\"\\ud83d\\uDE00\": \"\u{fffd}\\\\\u{fffd}\\\"{\", \"b\": \"\\\\ud800\"}"
        );
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        let object = format!("{{\"a\":{},\"b\":1}}", deep(101, "7, {\"c\": 2}"));
        let (text, deeper) = parsable(&object);
        assert_eq!(text, format!("{{\"a\":{},\"b\":1}}", deep(99, "null")));
        assert_eq!(deeper, [deep(2, "7, {\"c\": 2}")]);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            "[{}\\[\\]\",:\\\\ ]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c{\"]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// By trying every place, with serde's own parser.
    fn naive(text: &str) -> Vec<String> {
        let (mut at, mut found) = (0, Vec::new());
        while let Some(ahead) = text[at..].find('{') {
            let start = at + ahead;
            let mut stream = serde_json::Deserializer::from_str(&text[start..])
                .into_iter::<serde::de::IgnoredAny>();
            if let Some(Ok(_)) = stream.next() {
                at = start + stream.byte_offset();
                found.push(text[start..at].to_owned());
            } else {
                at = start + 1;
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn objects_are_those_that_a_parser_finds(
            parts in prop::collection::vec(
                prop_oneof![
                    any_json().prop_map(|json| json.to_string()),
                    any_json().prop_map(|json| serde_json::to_string_pretty(&json).unwrap()),
                    "[{}\\[\\]\",:a1 \\\\]{0,12}",
                    "\\PC{0,8}",
                ],
                0..6,
            ),
            cut in 0..2usize,
        ) {
            let mut text = parts.join(" ");
            if cut == 1 {
                text.pop();
            }
            let found: Vec<String> = objects(&text).into_iter().map(str::to_owned).collect();
            prop_assert_eq!(&found, &naive(&text));
            if let LastObject::Whole { text, .. } = last_object(&text) {
                prop_assert_eq!(Some(text), found.last().map(String::as_str));
            }
        }
    }
}
