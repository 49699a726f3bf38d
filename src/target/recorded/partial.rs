//! Reads which sample a broken line belongs to, in bounded memory: the line is scanned byte by byte, and only the values of
//! the keys that identify a sample are kept.
//!
//! The line may be of any length, nested to any depth, cut, or hold bytes that are not UTF-8.

use std::iter::Peekable;

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

#[derive(Debug, Default)]
enum PartialValue {
    #[default]
    Absent,
    Value(Value),
    /// There twice, too long, or not to be read.
    Unclear,
}

/// Why the reader goes no further.
enum ReaderStop {
    End,
    /// What comes can't be read.
    Lost,
}

/// A text or a value as it is written; `None` when it is too long to be kept.
type WrittenText = Option<Vec<u8>>;

fn keep(written: &mut WrittenText, byte: u8, most: usize) {
    match written {
        Some(kept) if kept.len() < most => kept.push(byte),
        _ => *written = None,
    }
}

impl PartialRecord {
    /// Reads the whole of a line, which has no line end.
    pub fn read(line: impl Iterator<Item = u8>) -> PartialRecord {
        let mut reader = PartialReader {
            bytes: line.peekable(),
            found: Default::default(),
        };
        let stop = reader.object();
        PartialRecord {
            sample: sample_name(reader.found),
            holds_more: matches!(stop, ReaderStop::Lost),
        }
    }
}

struct PartialReader<I: Iterator<Item = u8>> {
    bytes: Peekable<I>,
    /// The values of [`KEYS`].
    found: [PartialValue; KEYS.len()],
}

impl<I: Iterator<Item = u8>> PartialReader<I> {
    fn object(&mut self) -> ReaderStop {
        let members = self.mark().and_then(|mark| match mark {
            b'{' => self.members(),
            _ => Err(ReaderStop::Lost),
        });
        match members.and_then(|()| self.mark()) {
            Ok(_) => ReaderStop::Lost,
            Err(stop) => stop,
        }
    }

    /// What stands between the braces of an object, and the last brace.
    fn members(&mut self) -> Result<(), ReaderStop> {
        loop {
            match self.mark()? {
                b'"' => {}
                b'}' => return Ok(()),
                _ => return Err(ReaderStop::Lost),
            }
            let key = self.text(LONGEST_KEY)?;
            let key = key.and_then(|raw| serde_json::from_slice::<String>(&raw).ok());
            if self.mark()? != b':' {
                return Err(ReaderStop::Lost);
            }
            let value = self.value()?;
            let known = key.and_then(|key| KEYS.iter().position(|known| *known == key));
            if let Some(found) = known.and_then(|known| self.found.get_mut(known)) {
                let value = value.and_then(|raw| serde_json::from_slice(&raw).ok());
                *found = match (&found, value) {
                    (PartialValue::Absent, Some(value)) => PartialValue::Value(value),
                    _ => PartialValue::Unclear,
                };
            }
            match self.mark()? {
                b',' => {}
                b'}' => return Ok(()),
                _ => return Err(ReaderStop::Lost),
            }
        }
    }

    fn next(&mut self) -> Result<u8, ReaderStop> {
        self.bytes.next().ok_or(ReaderStop::End)
    }

    /// The next byte that is not blank.
    fn mark(&mut self) -> Result<u8, ReaderStop> {
        let mark = self.bytes.find(|byte| !byte.is_ascii_whitespace());
        mark.ok_or(ReaderStop::End)
    }

    /// A text whose first quote was read.
    fn text(&mut self, most: usize) -> Result<WrittenText, ReaderStop> {
        let (mut written, mut escaped) = (Some(vec![b'"']), false);
        loop {
            let byte = self.next()?;
            keep(&mut written, byte, most);
            if byte == b'"' && !escaped {
                return Ok(written);
            }
            escaped = byte == b'\\' && !escaped;
        }
    }

    /// Of arrays and objects nothing is kept.
    fn value(&mut self) -> Result<WrittenText, ReaderStop> {
        match self.mark()? {
            b'"' => self.text(LONGEST_ID),
            b'[' | b'{' => {
                let mut open = 1u64;
                while open > 0 {
                    match self.next()? {
                        b'"' => _ = self.text(0)?,
                        b'[' | b'{' => open += 1,
                        b']' | b'}' => open -= 1,
                        _ => {}
                    }
                }
                Ok(None)
            }
            b',' | b'}' | b']' | b':' => Err(ReaderStop::Lost),
            // A number or a word, or what should be one.
            first => {
                let is_in = |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b',' | b'}');
                let mut written = Some(vec![first]);
                while let Some(byte) = self.bytes.next_if(is_in) {
                    keep(&mut written, byte, LONGEST_ID);
                }
                match self.bytes.peek() {
                    Some(_) => Ok(written),
                    None => Err(ReaderStop::End),
                }
            }
        }
    }
}

fn sample_name([case, task, eval, sample]: [PartialValue; 4]) -> Option<SampleName> {
    let ids = [case, task].map(|found| match found {
        PartialValue::Absent => Ok(None),
        PartialValue::Value(Value::String(text)) => Ok(Some(text)),
        PartialValue::Value(Value::Number(number)) => Ok(Some(number.to_string())),
        PartialValue::Value(_) | PartialValue::Unclear => Err(()),
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
        PartialValue::Absent | PartialValue::Value(Value::Null) => None,
        PartialValue::Value(Value::String(text)) => Some(text),
        PartialValue::Value(_) | PartialValue::Unclear => return None,
    };
    // A sample without a sound index is still a sample of its case.
    let index = match sample {
        PartialValue::Value(value) => value
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n < MAX_SAMPLE),
        PartialValue::Absent | PartialValue::Unclear => None,
    };
    Some(SampleName { case, eval, index })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> String {
        let whole = PartialRecord::read(line.iter().copied());
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
