//! JUnit files, as surefire, pytest, nextest, jest-junit, gotestsum, vitest, GoogleTest, CTest,
//! Jenkins and others write them.
//!
//! Numbers are counted from the test cases, never taken from the attributes `tests=` and
//! `failures=`. Where these claim more than the file holds (it was cut, or a suite failed as a
//! whole), that is said and the result is no pass.

use std::borrow::Cow;
use std::io::Read;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::TestTally;
use eval_base::text::{one_line, plural, quoted, truncate_bytes};

/// Elements within each other.
const DEEPEST: usize = 200;

/// Bytes of a file. A larger one is an error: a part of it would be a part of its results.
const MAX_BYTES: u64 = 256 << 20;

/// Labels of encodings that no table knows start with one of these.
const UNREADABLE: [&str; 6] = ["iso-2022", "utf-7", "utf-32", "ebcdic", "ibm037", "cp037"];

/// Bytes of a message that are looked at.
const MESSAGE: usize = 8 * 1024;

/// Bytes of the name of a test case, and of its class.
const NAME: usize = 4 * 1024;

/// Why a file can't be read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunitError {
    /// From 1; 0 when it is the file as a whole.
    pub line: usize,
    pub why: String,
}

/// A test case of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunitTest {
    /// The attribute `classname`, else the name of the suite.
    pub suite: String,
    pub name: String,
    pub verdict: JunitVerdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JunitVerdict {
    Passed,
    Skipped,
    /// With a message, which may be empty.
    Failed(String),
}

/// What the tests of a file came to, and why it could not be read to its end if so; what came
/// before that is reported.
pub fn read(source: impl Read) -> (TestTally, Option<JunitError>) {
    read_each(source, &mut |_| {})
}

/// As [`read`]; `each` is called with every test case.
pub fn read_each(
    source: impl Read,
    each: &mut dyn FnMut(JunitTest),
) -> (TestTally, Option<JunitError>) {
    let text = match decoded(source) {
        Ok(text) => text,
        Err(why) => return (TestTally::default(), Some(JunitError { line: 0, why })),
    };
    let mut reading = JunitReader {
        tally: TestTally::default(),
        open: Vec::new(),
        rooted: false,
        flaky: 0,
        each,
    };
    let mut reader = Reader::from_str(&text);
    reader.config_mut().allow_dangling_amp = true;
    let why = loop {
        let step = match reader.read_event() {
            Ok(Event::Eof) => break reading.end(),
            Ok(event) => reading.event(event),
            Err(error) => Err(format!("it is not well-formed XML: {error}")),
        };
        if let Err(why) = step {
            break Err(why);
        }
    };
    let broken = why.err().map(|why| {
        let read = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let read = text.as_bytes().get(..read).unwrap_or(text.as_bytes());
        let line = 1 + read.iter().filter(|byte| **byte == b'\n').count();
        JunitError { line, why }
    });
    reading.close_flaky();
    (reading.tally, broken)
}

/// The text of a file. Its first bytes win over the encoding that it declares: a declaration is
/// text that a program may have copied.
fn decoded(source: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    let read = read.map_err(|error| error.to_string())? as u64;
    let encoding = match bytes.as_slice() {
        _ if read > MAX_BYTES => {
            return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
        }
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err("its encoding is UTF-32".to_owned());
        }
        [0x1f, 0x8b, ..] => return Err("it is compressed with gzip".to_owned()),
        [b'<', 0, ..] => UTF_16LE,
        [0, b'<', ..] => UTF_16BE,
        _ => declared_encoding(&bytes)?,
    };
    // A byte order mark is dropped, and decides.
    Ok(encoding.decode(&bytes).0.into_owned())
}

/// Of `<?xml version="1.0" encoding="x"?>`; UTF-8 when nothing is declared, or UTF-16 is in a text
/// of single bytes.
fn declared_encoding(bytes: &[u8]) -> Result<&'static Encoding, String> {
    let start = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes));
    let declaration = start
        .trim_start()
        .strip_prefix("<?xml")
        .and_then(|s| s.split("?>").next());
    let value = declaration.and_then(|d| Some(d.split_once("encoding")?.1.trim_start()));
    let Some(value) = value.and_then(|value| value.strip_prefix('=')) else {
        return Ok(UTF_8);
    };
    let label = value.trim().split(['"', '\'']).nth(1).unwrap_or_default();
    let label = label.trim().to_ascii_lowercase();
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Ok(UTF_8),
        Some(encoding) => Ok(encoding),
        None if label == "latin-1" => Ok(WINDOWS_1252),
        // Encodings whose markup is not ASCII.
        None if UNREADABLE.iter().any(|start| label.starts_with(start)) => Err(format!(
            "its encoding is {}, which can't be read; write UTF-8",
            one_line(&label)
        )),
        None => Ok(UTF_8),
    }
}

/// An element that is open.
#[derive(Debug)]
enum OpenElement {
    Suite(JunitSuite),
    Case(Box<JunitCase>),
    /// In a case or, of a suite that failed as a whole, in a suite.
    Failure(JunitFailure),
    /// What a program wrote, and properties: what stands in there is no result.
    Output,
    Other,
}

#[derive(Debug, Default)]
struct JunitSuite {
    name: String,
    claimed_tests: usize,
    claimed_failures: usize,
    /// Cases of it and of suites in it.
    cases: usize,
    /// Failures and errors that were reported.
    failures: usize,
    /// Attempts that were reported beside the last one of a case; some writers count each of them.
    reruns: usize,
    /// That something is missing was said of a suite in it.
    explained: bool,
}

#[derive(Debug, Default)]
struct JunitCase {
    suite: String,
    name: String,
    /// The message of the first failure.
    failed: Option<String>,
    failures: usize,
    /// An attribute says so; an element may not.
    marked_failed: bool,
    skipped: bool,
    flaky: usize,
    reruns: usize,
}

#[derive(Debug, Default)]
struct JunitFailure {
    /// The attributes.
    message: String,
    kind: String,
    text: String,
}

impl JunitFailure {
    /// What tells most: the attribute `message`, else a line of the text, else the attribute
    /// `type`. Of a panic, the line that says what was wrong: the one before it holds the number of
    /// a process, which no two runs share. Of go, not the name of the test once more.
    fn line(&self) -> &str {
        let is_head = |line: &str| {
            let of_go = [
                "=== RUN ",
                "=== PAUSE ",
                "=== CONT ",
                "=== NAME ",
                "--- FAIL: ",
            ];
            line.starts_with("thread '") && line.contains(" panicked at ")
                || of_go.iter().any(|w| line.starts_with(w))
        };
        let message = self.message.trim();
        if !message.is_empty() && message != "Failed" && !is_head(message) {
            return message;
        }
        let mut of_text = self
            .text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        match of_text.find(|line| !is_head(line)) {
            Some(line) => line,
            None if message.is_empty() => &self.kind,
            None => message,
        }
    }
}

struct JunitReader<'e> {
    tally: TestTally,
    open: Vec<OpenElement>,
    rooted: bool,
    flaky: usize,
    each: &'e mut dyn FnMut(JunitTest),
}

impl JunitReader<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(tag) => self.begins(&tag),
            Event::Empty(tag) => {
                self.begins(&tag)?;
                self.ends();
                Ok(())
            }
            Event::End(_) => {
                self.ends();
                Ok(())
            }
            Event::Text(text) => self.text(&text, true),
            Event::CData(text) => self.text(&text, false),
            Event::GeneralRef(name) => {
                let name = String::from_utf8_lossy(&name).into_owned();
                self.text(format!("&{name};").as_bytes(), true)
            }
            Event::DocType(declared) if declared.windows(8).any(|word| word == b"<!ENTITY") => {
                Err("it declares custom entities, which are not expanded".to_owned())
            }
            Event::DocType(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::Eof => {
                Ok(())
            }
        }
    }

    fn begins(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        let name = tag.local_name();
        let name = String::from_utf8_lossy(name.as_ref()).into_owned();
        if self.open.is_empty() {
            if self.rooted {
                return Err("it contains more than one document".to_owned());
            }
            if !matches!(name.as_str(), "testsuites" | "testsuite") {
                let name = one_line(&name);
                return Err(format!(
                    "it is not a JUnit file: its root is <{name}>, not <testsuites> or <testsuite>"
                ));
            }
            self.rooted = true;
        }
        if self.open.len() >= DEEPEST {
            return Err(format!("its elements are nested deeper than {DEEPEST}"));
        }
        let opened = match (name.as_str(), self.open.last()) {
            ("testsuites" | "testsuite", None | Some(OpenElement::Suite(_))) => {
                OpenElement::Suite(suite(tag)?)
            }
            ("testcase", Some(OpenElement::Suite(parent))) => {
                let suite = parent.name.clone();
                OpenElement::Case(Box::new(case(tag, suite)?))
            }
            (_, Some(OpenElement::Output)) | ("system-out" | "system-err" | "properties", _) => {
                OpenElement::Output
            }
            // At any depth: some writers put groups or steps around what failed.
            ("failure" | "error", _) => OpenElement::Failure(message(tag)?),
            (other, Some(OpenElement::Case(_))) => {
                let is_message = self.of_case(other);
                if is_message {
                    OpenElement::Failure(message(tag)?)
                } else {
                    OpenElement::Other
                }
            }
            _ => OpenElement::Other,
        };
        self.open.push(opened);
        Ok(())
    }

    /// What an element says of the case that it stands in. `true` when it is an attempt that
    /// failed, with a message.
    fn of_case(&mut self, element: &str) -> bool {
        let Some(OpenElement::Case(case)) = self.open.last_mut() else {
            return false;
        };
        match element {
            "skipped" | "ignored" | "disabled" | "pending" => case.skipped = true,
            "flakyFailure" | "flakyError" => {
                (case.flaky, case.reruns) = (case.flaky + 1, case.reruns + 1)
            }
            "rerunFailure" | "rerunError" => {
                case.reruns += 1;
                return true;
            }
            _ => {}
        }
        false
    }

    fn text(&mut self, bytes: &[u8], escaped: bool) -> Result<(), String> {
        if let Some(OpenElement::Failure(message)) = self.open.last_mut()
            && message.text.len() < MESSAGE
        {
            let text = String::from_utf8_lossy(bytes.get(..MESSAGE).unwrap_or(bytes));
            message.text.push_str(&if escaped {
                unescaped(&text).into_owned()
            } else {
                text.into_owned()
            });
        }
        Ok(())
    }

    fn ends(&mut self) {
        match self.open.pop() {
            Some(OpenElement::Suite(suite)) => self.suite_ends(suite),
            Some(OpenElement::Case(case)) => self.case_ends(*case),
            Some(OpenElement::Failure(message)) => match self.holder() {
                Some(OpenElement::Case(case)) => {
                    case.failures += 1;
                    case.failed.get_or_insert_with(|| message.line().to_owned());
                }
                Some(OpenElement::Suite(suite)) => {
                    suite.failures += 1;
                    let (name, line) = (suite.name.clone(), message.line().to_owned());
                    let detail = if line.is_empty() {
                        String::new()
                    } else {
                        format!(": {line}")
                    };
                    let detail = super::short(&detail);
                    super::say_each(
                        &mut self.tally.broken,
                        [format!(
                            "the suite {} failed as a whole{detail}",
                            quoted(&name)
                        )],
                    );
                }
                _ => {}
            },
            Some(OpenElement::Other | OpenElement::Output) | None => {}
        }
    }

    /// The case or, outside of any, the suite that is open.
    fn holder(&mut self) -> Option<&mut OpenElement> {
        self.open
            .iter_mut()
            .rev()
            .find(|open| matches!(open, OpenElement::Case(_) | OpenElement::Suite(_)))
    }

    fn case_ends(&mut self, case: JunitCase) {
        let JunitCase {
            suite,
            name,
            failed,
            failures,
            marked_failed,
            skipped,
            flaky,
            reruns,
        } = case;
        let verdict = match failed.or_else(|| marked_failed.then(String::new)) {
            Some(message) => {
                self.tally.failed += 1;
                self.tally.list(&suite, &name, &message);
                JunitVerdict::Failed(message)
            }
            None if skipped => {
                self.tally.skipped += 1;
                JunitVerdict::Skipped
            }
            None => {
                self.tally.passed += 1;
                self.flaky += usize::from(flaky > 0);
                JunitVerdict::Passed
            }
        };
        (self.each)(JunitTest {
            suite,
            name,
            verdict,
        });
        if let Some(OpenElement::Suite(suite)) = self.open.last_mut() {
            suite.cases += 1;
            suite.failures += failures.max(usize::from(marked_failed));
            suite.reruns += reruns;
        }
    }

    fn suite_ends(&mut self, mut suite: JunitSuite) {
        let name = if suite.name.is_empty() {
            "a suite".to_owned()
        } else {
            format!("the suite {}", quoted(&suite.name))
        };
        if !suite.explained && suite.claimed_failures > suite.failures + suite.reruns {
            suite.explained = true;
            let (claimed, found) = (plural(suite.claimed_failures, "failure"), suite.failures);
            let sentence = format!("{name} claims {claimed}, but its test cases have {found}");
            super::say_each(&mut self.tally.broken, [sentence]);
        }
        if !suite.explained && suite.claimed_tests > suite.cases + suite.reruns {
            suite.explained = true;
            let (claimed, there) = (plural(suite.claimed_tests, "test"), suite.cases);
            super::say_each(
                &mut self.tally.doubts,
                [format!("{name} claims {claimed}, but contains {there}")],
            );
        }
        if let Some(OpenElement::Suite(parent)) = self.open.last_mut() {
            parent.cases += suite.cases;
            parent.failures += suite.failures;
            parent.reruns += suite.reruns;
            parent.explained |= suite.explained;
        }
    }

    fn end(&self) -> Result<(), String> {
        match (self.open.last(), self.rooted) {
            (Some(_), _) => Err("it is truncated: elements are still open".to_owned()),
            (None, false) => Err("it contains no XML element".to_owned()),
            (None, true) => Ok(()),
        }
    }

    fn close_flaky(&mut self) {
        if self.flaky > 0 {
            let n = plural(self.flaky, "test");
            self.tally
                .notes
                .push(format!("{n} passed only when run again"));
        }
    }
}

fn suite(tag: &BytesStart<'_>) -> Result<JunitSuite, String> {
    let mut suite = JunitSuite::default();
    let mut of_catch2 = false;
    for (key, value) in attributes(tag)? {
        let number = || value.trim().parse::<usize>().unwrap_or(0);
        match key.as_str() {
            "name" => suite.name = super::short(&value),
            "tests" => suite.claimed_tests = number(),
            "failures" | "errors" => {
                suite.claimed_failures = suite.claimed_failures.saturating_add(number())
            }
            "hostname" => of_catch2 = value == "tbd",
            _ => {}
        }
    }
    if of_catch2 {
        // Catch2 counts assertions in both.
        suite.claimed_tests = 0;
        suite.claimed_failures = suite.claimed_failures.min(1);
    }
    Ok(suite)
}

fn case(tag: &BytesStart<'_>, suite: String) -> Result<JunitCase, String> {
    let mut case = JunitCase {
        suite,
        ..JunitCase::default()
    };
    for (key, value) in attributes(tag)? {
        match key.as_str() {
            "name" => case.name = truncate_bytes(&value, NAME).to_owned(),
            "classname" if !value.trim().is_empty() => {
                case.suite = truncate_bytes(&value, NAME).to_owned();
            }
            // GoogleTest, CTest and others say it here, some of them only here.
            "status" | "result" => match value.trim().to_ascii_lowercase().as_str() {
                "notrun" | "skipped" | "suppressed" | "disabled" | "ignored" | "pending" => {
                    case.skipped = true
                }
                "fail" | "failed" | "failure" | "error" | "errored" | "broken" | "timeout"
                | "timedout" | "timed out" | "crash" | "crashed" | "aborted" => {
                    case.marked_failed = true
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(case)
}

fn message(tag: &BytesStart<'_>) -> Result<JunitFailure, String> {
    let mut message = JunitFailure::default();
    for (key, value) in attributes(tag)? {
        match key.as_str() {
            "message" => message.message = value,
            "type" => message.kind = value,
            _ => {}
        }
    }
    Ok(message)
}

/// Local names and values.
fn attributes(tag: &BytesStart<'_>) -> Result<Vec<(String, String)>, String> {
    let mut all = Vec::new();
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| format!("it is not well-formed XML: {error}"))?;
        let key = String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned();
        let value = unescaped(&String::from_utf8_lossy(&attribute.value)).into_owned();
        all.push((key, value));
    }
    Ok(all)
}

/// The text with the references that XML defines resolved. No others are: what a file declares
/// itself is refused.
fn unescaped(text: &str) -> Cow<'_, str> {
    quick_xml::escape::unescape(text).unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests;
