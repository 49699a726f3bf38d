//! The `.env` file beside a suite: `NAME=value` lines, of which a suite reads the names that it
//! lists.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use super::problem::{Code, Problem};
use super::session::LoadSession;
use super::source::{Span, decode};
use crate::model::EnvFile;
use eval_base::files::open_file;

/// The most that a `.env` file may hold, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The variables that a suite may read: those of the process, then those of `.env`.
#[derive(Debug, Clone, Default)]
pub(super) struct SuiteEnvironment {
    pub process: Arc<BTreeMap<String, String>>,
    pub file: EnvFile,
}

impl SuiteEnvironment {
    /// The process environment and the `.env` file in `dir`, if there is one. What is wrong with
    /// the file is reported.
    pub fn read(
        process: &BTreeMap<String, String>,
        dir: &Path,
        session: &mut LoadSession,
    ) -> SuiteEnvironment {
        SuiteEnvironment {
            process: Arc::new(process.clone()),
            file: read(&dir.join(".env"), session).unwrap_or_default(),
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let own = self.process.get(name).map(String::as_str);
        own.or_else(|| self.file.get(name))
    }
}

fn read(path: &Path, session: &mut LoadSession) -> Option<EnvFile> {
    session.fence.note(path);
    // Other programs have folders of this name.
    if !path.is_file() {
        return None;
    }
    let display = session.display(path);
    let text = session.problems.take(text_of(path, &display))?;
    let (variables, faults) = parse(&text);
    if !faults.is_empty() {
        let file = session.sources.add(display, without_values(&text, &faults));
        for fault in faults {
            let lines = session.sources.line_range(file, fault.line + 1);
            let start = lines.map_or(0, |line| line.start) + fault.column;
            let at = Span::new(file, start, start + 1);
            let hint = "write `NAME=value`; quote a value that contains `#`, spaces at its ends or line breaks";
            session
                .problems
                .push(Problem::error(Code::BadEnvFile, at, fault.message).hint(hint));
        }
    }
    Some(EnvFile::new(variables))
}

fn text_of(path: &Path, display: &str) -> Result<String, Problem> {
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read `{display}`: {error}");
        Problem::of_file(Code::Unreadable, display, message)
    };
    let mut bytes = Vec::new();
    let file = open_file(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("`{display}` is larger than {} MiB", MAX_BYTES >> 20);
        return Err(Problem::of_file(Code::TooLarge, display, message));
    }
    match bytes.trim_ascii().is_empty() {
        true => Ok(String::new()),
        false => decode(bytes, display),
    }
}

/// A line that is not a variable.
#[derive(Debug, PartialEq, Eq)]
struct LineFault {
    /// From 0.
    line: usize,
    /// In bytes, as shown by [`without_values`].
    column: usize,
    /// The beginning of the line that contains no value.
    shown: String,
    message: &'static str,
}

/// The variables of a text, the last one of a name, and what is wrong with its lines.
fn parse(text: &str) -> (BTreeMap<String, String>, Vec<LineFault>) {
    let (mut variables, mut faults) = (BTreeMap::new(), Vec::new());
    let (mut rest, mut line) = (text, 0);
    while !rest.is_empty() {
        let first = rest.lines().next().unwrap_or_default();
        let mut used = line_length(rest);
        if !matches!(first.trim_start().chars().next(), None | Some('#')) {
            match variable(rest) {
                Ok((name, value, length)) => {
                    variables.insert(name, value);
                    used = length;
                }
                Err((shown, message)) => faults.push(LineFault {
                    line,
                    column: shown.len(),
                    shown,
                    message,
                }),
            }
        }
        let (taken, after) = rest.split_at(used);
        line += taken.matches('\n').count();
        rest = after;
    }
    (variables, faults)
}

/// The bytes of the first line, with its line break.
fn line_length(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |at| at + 1)
}

/// The variable at the beginning of a text, and the bytes of its lines; else the part of the line
/// that contains no value, and what is wrong after it.
fn variable(text: &str) -> Result<(String, String, usize), (String, &'static str)> {
    let line = text.lines().next().unwrap_or_default();
    let nowhere = || line.chars().take_while(|c| c.is_whitespace()).collect();
    let Some((before, value)) = line.split_once('=') else {
        return Err((nowhere(), "the line has no `=`"));
    };
    let name = before.trim();
    let name = name
        .strip_prefix("export")
        .filter(|rest| rest.starts_with(char::is_whitespace))
        .map_or(name, str::trim_start);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(is_name)
    {
        let message = "the text before `=` is not the name of a variable (letters, digits and `_`)";
        return Err((nowhere(), message));
    }
    let start = text.len()
        - text
            .split_at(before.len() + 1)
            .1
            .trim_start_matches([' ', '\t'])
            .len();
    let (shown, quoted) = text.split_at(start);
    let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\''));
    let Some(quote) = quote else {
        let comment = value
            .match_indices('#')
            .find(|(at, _)| *at > 0 && value.get(..*at).is_some_and(|v| v.ends_with([' ', '\t'])));
        let value = comment.map_or(value, |(at, _)| value.split_at(at).0);
        return Ok((name.to_owned(), value.trim().to_owned(), line_length(text)));
    };
    let Some((value, length)) = unquoted(quoted, quote) else {
        return Err((shown.to_owned(), "the quote is not closed"));
    };
    let end = start + length;
    let after = text.split_at(end).1;
    let tail = after.lines().next().unwrap_or_default().trim();
    if !(tail.is_empty() || tail.starts_with('#')) {
        return Err((shown.to_owned(), "the line goes on after the closing quote"));
    }
    Ok((name.to_owned(), value, end + line_length(after)))
}

/// The value of a text that begins with a quote, and the bytes up to the closing quote, included.
/// In double quotes, `\n`, `\r`, `\t`, `\"`, `\\` and `\$` stand for what they name.
fn unquoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            _ if c == quote => return Some((value, at + 1)),
            '\\' if quote == '"' => match characters.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                escaped @ ('"' | '\\' | '$') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            _ => value.push(c),
        }
    }
    None
}

/// The text as messages show it: of each faulty line the part without a value, of others nothing.
fn without_values(text: &str, faults: &[LineFault]) -> String {
    let shown = |line: usize| match faults.iter().find(|fault| fault.line == line) {
        Some(fault) => format!("{}…\n", fault.shown),
        None => "\n".to_owned(),
    };
    (0..text.lines().count()).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_file_are_read_as_shells_and_dotenv_do() {
        let text = "# keys\n\
            PLAIN=a b  # comment\r\n\
            export  EXPORTED = x\n\
            \n\
            EMPTY=\n\
            HASH=a#b\n\
            NONE= # nothing\n\
            SINGLE='a # \"b\" \\n $X' # comment\n\
            DOUBLE=\"a\\n\\\"b\\\" \\d\"\n\
            KEY=\"-----BEGIN\n  two\n-----END\"\n\
            EQUALS=a=b==\n\
            exported=no\n\
            PLAIN=last";
        let (variables, faults) = parse(text);
        assert_eq!(faults, []);
        let shown: Vec<String> = variables
            .iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        DOUBLE="a\n\"b\" \\d"
        EMPTY=""
        EQUALS="a=b=="
        EXPORTED="x"
        HASH="a#b"
        KEY="-----BEGIN\n  two\n-----END"
        NONE=""
        PLAIN="last"
        SINGLE="a # \"b\" \\n $X"
        exported="no"
        "#);
    }

    #[test]
    fn faulty_lines_are_placed_without_their_values() {
        let text = "A=1\nSECRET\n  2X=secret\nB=\"sec\" ret\nC='open\nsecret\n";
        let (variables, faults) = parse(text);
        assert_eq!(variables.keys().collect::<Vec<_>>(), ["A"]);
        let shown: Vec<String> = faults
            .iter()
            .map(|f| format!("{}:{} {}", f.line + 1, f.column + 1, f.message))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        2:1 the line has no `=`
        3:3 the text before `=` is not the name of a variable (letters, digits and `_`)
        4:3 the line goes on after the closing quote
        5:3 the quote is not closed
        6:1 the line has no `=`
        ");
        let shown = without_values(text, &faults);
        assert!(!shown.to_lowercase().contains("sec"), "{shown}");
        assert_eq!(shown.lines().count(), text.lines().count());
    }
}
