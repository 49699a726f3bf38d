//! Reads which sample a broken line belongs to, in bounded memory: the line is scanned byte by byte, and only the values of
//! the keys that identify a sample are kept.
//!
//! The line may be of any length, nested to any depth, cut, or hold bytes that are not UTF-8.

use serde_json::Value;

use super::super::line::MAX_SAMPLE;

/// Bytes of the longest key that can be one of [`KEYS`], with room for escapes.
const LONGEST_KEY: usize = 64;

/// Bytes of the longest id, as it is written.
const LONGEST_ID: usize = 64 << 10;

/// The keys that identify a sample.
const KEYS: [&str; 4] = ["case", "task_id", "eval", "sample"];

/// What a broken line says of the sample that it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartialRecord {
    /// `None` when the line names no case, or when it can't be known which one it means.
    pub sample: Option<SampleName>,
    /// True when the line may hold a further record: it goes on after what should be its end.
    pub holds_more: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SampleName {
    pub case: String,
    pub eval: Option<String>,
    pub index: Option<u32>,
}

/// Where the reader is in the object of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeObject,
    /// After `{` or a comma.
    BeforeKey,
    Key {
        escaped: bool,
    },
    AfterKey,
    BeforeValue,
    Text {
        escaped: bool,
    },
    /// A number, a word, or what should be one.
    Bare,
    /// In an array or an object: how many are open.
    Nested {
        open: u64,
    },
    NestedText {
        open: u64,
        escaped: bool,
    },
    AfterValue,
    AfterObject,
    /// What comes can't be read.
    Lost,
}

/// Reads a line in pieces.
#[derive(Debug)]
pub(super) struct PartialReader {
    place: Place,
    /// The key or the value that is being read, as it is written; `None` when nothing of it is kept.
    kept: Option<Vec<u8>>,
    /// Which of [`KEYS`] the value belongs to.
    key: Option<usize>,
    found: [Found; KEYS.len()],
}

#[derive(Debug, Default)]
enum Found {
    #[default]
    Absent,
    Value(Value),
    /// There twice, too long, or not to be read.
    Unclear,
}

impl PartialReader {
    pub fn new() -> Self {
        PartialReader {
            place: Place::BeforeObject,
            kept: None,
            key: None,
            found: Default::default(),
        }
    }

    /// Reads the whole of a line.
    pub fn read(line: &[u8]) -> PartialRecord {
        let mut reader = PartialReader::new();
        reader.push(line);
        reader.finish()
    }

    /// Takes the next piece of the line, which has no line end.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.place {
                Place::Text { escaped: false } | Place::NestedText { escaped: false, .. } => {
                    // Most of a large line is in one text.
                    let plain = bytes
                        .iter()
                        .position(|b| matches!(b, b'"' | b'\\'))
                        .unwrap_or(bytes.len());
                    if plain > 0 {
                        let (text, rest) = bytes.split_at(plain);
                        self.keep(text, LONGEST_ID);
                        bytes = rest;
                        continue;
                    }
                }
                Place::Lost => return,
                _ => {}
            }
            self.step(byte);
            bytes = rest;
        }
    }

    fn step(&mut self, byte: u8) {
        let blank = byte.is_ascii_whitespace();
        self.place = match self.place {
            place @ (Place::BeforeObject
            | Place::BeforeKey
            | Place::AfterKey
            | Place::BeforeValue
            | Place::AfterValue
            | Place::AfterObject)
                if blank =>
            {
                place
            }
            Place::BeforeObject if byte == b'{' => Place::BeforeKey,
            Place::BeforeKey if byte == b'"' => {
                self.kept = Some(vec![byte]);
                Place::Key { escaped: false }
            }
            Place::BeforeKey | Place::AfterValue if byte == b'}' => Place::AfterObject,
            Place::Key { escaped } => {
                self.keep(&[byte], LONGEST_KEY);
                if byte == b'"' && !escaped {
                    self.end_key();
                    Place::AfterKey
                } else {
                    Place::Key {
                        escaped: byte == b'\\' && !escaped,
                    }
                }
            }
            Place::AfterKey if byte == b':' => Place::BeforeValue,
            Place::BeforeValue => self.begin_value(byte),
            Place::Text { escaped } => {
                self.keep(&[byte], LONGEST_ID);
                if byte == b'"' && !escaped {
                    self.end_value();
                    Place::AfterValue
                } else {
                    Place::Text {
                        escaped: byte == b'\\' && !escaped,
                    }
                }
            }
            Place::Bare if blank || matches!(byte, b',' | b'}') => {
                self.end_value();
                self.place = Place::AfterValue;
                return self.step(byte);
            }
            Place::Bare => {
                self.keep(&[byte], LONGEST_ID);
                Place::Bare
            }
            Place::Nested { open } => match byte {
                b'"' => Place::NestedText {
                    open,
                    escaped: false,
                },
                b'[' | b'{' => Place::Nested {
                    open: open.saturating_add(1),
                },
                b']' | b'}' if open == 1 => {
                    self.end_value();
                    Place::AfterValue
                }
                b']' | b'}' => Place::Nested { open: open - 1 },
                _ => Place::Nested { open },
            },
            Place::NestedText {
                open,
                escaped: false,
            } if byte == b'"' => Place::Nested { open },
            Place::NestedText { open, escaped } => Place::NestedText {
                open,
                escaped: byte == b'\\' && !escaped,
            },
            Place::AfterValue if byte == b',' => Place::BeforeKey,
            _ => Place::Lost,
        };
    }

    fn begin_value(&mut self, byte: u8) -> Place {
        let of_key = self.key.is_some();
        match byte {
            b'"' => {
                self.kept = of_key.then(|| vec![byte]);
                Place::Text { escaped: false }
            }
            b'[' | b'{' => {
                self.kept = None;
                Place::Nested { open: 1 }
            }
            b',' | b'}' | b']' | b':' => Place::Lost,
            _ => {
                self.kept = of_key.then(|| vec![byte]);
                Place::Bare
            }
        }
    }

    fn keep(&mut self, bytes: &[u8], most: usize) {
        if let Some(kept) = &mut self.kept {
            if kept.len() + bytes.len() > most {
                self.kept = None;
            } else {
                kept.extend_from_slice(bytes);
            }
        }
    }

    fn end_key(&mut self) {
        let key = self
            .kept
            .take()
            .and_then(|raw| serde_json::from_slice::<String>(&raw).ok());
        self.key = key.and_then(|key| KEYS.iter().position(|known| *known == key));
    }

    fn end_value(&mut self) {
        let kept = self.kept.take();
        let Some(found) = self.key.take().and_then(|key| self.found.get_mut(key)) else {
            return;
        };
        let value = kept.and_then(|raw| serde_json::from_slice::<Value>(&raw).ok());
        *found = match (&found, value) {
            (Found::Absent, Some(value)) => Found::Value(value),
            _ => Found::Unclear,
        };
    }

    pub fn finish(self) -> PartialRecord {
        let holds_more = self.place == Place::Lost;
        PartialRecord {
            sample: sample_name(self.found),
            holds_more,
        }
    }
}

fn sample_name([case, task, eval, sample]: [Found; 4]) -> Option<SampleName> {
    let ids = [case, task].map(|found| match found {
        Found::Absent => Ok(None),
        Found::Value(Value::String(text)) => Ok(Some(text)),
        Found::Value(Value::Number(number)) => Ok(Some(number.to_string())),
        Found::Value(_) | Found::Unclear => Err(()),
    });
    let [Ok(case), Ok(task)] = ids else {
        return None;
    };
    let case = match (case, task) {
        (Some(case), Some(task)) if case != task => return None,
        (Some(id), _) | (None, Some(id)) => id,
        (None, None) => return None,
    };
    let eval = match eval {
        Found::Absent | Found::Value(Value::Null) => None,
        Found::Value(Value::String(text)) => Some(text),
        Found::Value(_) | Found::Unclear => return None,
    };
    // A sample without a sound index is still a sample of its case.
    let index = match sample {
        Found::Value(value) => value
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n < MAX_SAMPLE),
        Found::Absent | Found::Unclear => None,
    };
    Some(SampleName { case, eval, index })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> String {
        // In one piece and byte by byte the same is found.
        let whole = PartialReader::read(line);
        let mut reader = PartialReader::new();
        line.chunks(1).for_each(|piece| reader.push(piece));
        assert_eq!(reader.finish(), whole);
        let more = if whole.holds_more { " +" } else { "" };
        match whole.sample {
            None => format!("?{more}"),
            Some(SampleName { case, eval, index }) => format!("{eval:?} {case} {index:?}{more}"),
        }
    }

    #[test]
    fn the_sample_of_a_broken_line_is_found() {
        let deep = format!(
            r#"{{"output":{},"case":"a"}}"#,
            "[".repeat(100_000) + &"]".repeat(100_000)
        );
        let lines: &[&[u8]] = &[
            br#"{"case":"a","output":"\ud83d"}"#,
            br#" { "output" : "\ud83d\"}{" , "eval" : "e" , "sample" : 2 , "case" : "a" } "#,
            br#"{"task_id":7,"completion":NaN}"#,
            br#"{"task_id":"a","case":"a","output":[{"case":"b"},"]}",-Infinity]}"#,
            b"{\"case\":\"a\",\"output\":\"\xff\0\"}",
            deep.as_bytes(),
            br#"{"c\u0061se":"\u0061","output":nul}"#,
            br#"{"case":"a","output":"cut"#,
            br#"{"case":"a","sample":1"#,
            br#"{"case":"a","outp"#,
            br#"{"case":"a","sample":-1,"eval":null,"output":}"#,
            // The case is not known.
            br#"{"output":"cut","case":"a"#,
            br#"{"output":"x","case":"\ud800"}"#,
            br#"{"case":"a","case":"a","output":"x"}"#,
            br#"{"case":"a","task_id":"b","output":NaN}"#,
            br#"{"case":["a"],"output":NaN}"#,
            br#"{"case":"a","eval":1,"output":NaN}"#,
            b"not json",
            // There may be more than one record.
            br#"{"case":"a","output":"x"}{"case":"b","output":"y"}"#,
            br#"{"case":"a","output":"cut{"case":"b","output":"y"}"#,
            br#"{"case":"a" "output":"x"}"#,
            br#"["#,
        ];
        let found: Vec<String> = lines.iter().map(|line| read(line)).collect();
        insta::assert_snapshot!(found.join("\n"), @r#"
        None a None
        Some("e") a Some(2)
        None 7 None
        None a None
        None a None
        None a None
        None a None
        None a None
        None a None
        None a None
        None a None +
        ?
        ?
        ?
        ?
        ?
        ?
        ? +
        None a None +
        None a None +
        None a None +
        ? +
        "#);
    }

    #[test]
    fn long_ids_and_keys_are_not_kept() {
        let long = "x".repeat(LONGEST_ID);
        assert_eq!(
            read(format!(r#"{{"case":"{long}","output":NaN}}"#).as_bytes()),
            "?"
        );
        assert_eq!(
            read(format!(r#"{{"{long}":"b","case":"a","output":NaN}}"#).as_bytes()),
            "None a None"
        );
    }
}
