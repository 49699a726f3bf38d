//! A shell text as simple commands, after the grammar of POSIX and bash.

use std::iter::Peekable;
use std::str::Chars;

/// A program with its arguments, without quotes and redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub words: Vec<String>,
    /// Commands of one pipe have the same number.
    pub pipeline: usize,
    /// Whether it reads what another command prints.
    pub is_piped: bool,
}

#[derive(Debug, Default)]
pub(super) struct SplitText {
    pub commands: Vec<SimpleCommand>,
    /// Texts of `$(...)` and backticks.
    pub substitutions: Vec<String>,
    /// Here-documents and here-strings.
    pub documents: Vec<String>,
    /// A word has more forms than are listed.
    pub truncated: bool,
    /// The first of the commands after a `<(`: what they print is a file for others.
    pub printing: Option<usize>,
}

pub(super) fn split(text: &str) -> SplitText {
    let mut splitter = Splitter {
        chars: text.chars().peekable(),
        found: SplitText::default(),
        command: SimpleCommand::default(),
        word: None,
        next_word: NextWord::Argument,
        awaited: Vec::new(),
        in_arithmetic: false,
    };
    splitter.run();
    splitter.found
}

/// Redirections of more than one character. `<&-` and `>&-` close.
const OPERATORS: &[&str] = &[
    "<<", "<<-", "<<<", "<&", "<&-", "<>", ">>", ">&", ">&-", ">|",
];

/// Characters that mean nothing within quotes, and what stands for them there.
const QUOTED: &[(char, char)] = &[
    ('{', '\u{f0000}'),
    ('}', '\u{f0001}'),
    (',', '\u{f0002}'),
    ('.', '\u{f0003}'),
];

/// Words that one word with braces may become.
const MOST_FORMS: usize = 1_000;

/// With the characters that were within quotes.
fn shown(word: &str) -> String {
    let plain = |c: char| {
        let found = QUOTED.iter().find(|(_, hidden)| *hidden == c);
        found.map_or(c, |(plain, _)| *plain)
    };
    word.chars().map(plain).collect()
}

/// The words that `a{b,c}` and `a{b..c}` stand for. False if there are too many.
fn expand_braces(word: &str, depth: usize, words: &mut Vec<String>) -> bool {
    let Some((before, parts, after)) = first_braces(word) else {
        words.push(word.to_owned());
        return words.len() <= MOST_FORMS;
    };
    depth < 16
        && parts
            .iter()
            .all(|part| expand_braces(&format!("{before}{part}{after}"), depth + 1, words))
}

/// The first braces that hold several parts, with what is before and after them.
fn first_braces(word: &str) -> Option<(&str, Vec<String>, &str)> {
    let starts = word.match_indices('{').map(|(at, _)| at).take(64);
    for start in starts.filter(|at| !word.get(..*at).is_some_and(|head| head.ends_with('$'))) {
        let (mut open, mut commas, mut end) = (0usize, Vec::new(), None);
        for (at, c) in word.char_indices().skip_while(|(at, _)| *at < start) {
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                ',' if open == 1 => commas.push(at),
                _ => {}
            }
            if open == 0 {
                end = Some(at);
                break;
            }
        }
        let Some(end) = end else { continue };
        let inner = word.get(start + 1..end).unwrap_or_default();
        let parts = if commas.is_empty() {
            range(inner)
        } else {
            let ends = commas.iter().copied().chain([end]);
            let mut from = start + 1;
            let parts = ends.map(|to| {
                let part = word.get(from..to).unwrap_or_default().to_owned();
                from = to + 1;
                part
            });
            Some(parts.collect())
        };
        if let Some(parts) = parts {
            let after = word.get(end + 1..).unwrap_or_default();
            return Some((word.get(..start).unwrap_or_default(), parts, after));
        }
    }
    None
}

/// The letters of `a..c`. Numbers make no name of a program.
fn range(inner: &str) -> Option<Vec<String>> {
    let (first, rest) = inner.split_once("..")?;
    let last = rest.split_once("..").map_or(rest, |(last, _)| last);
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars
            .next()
            .filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (first, last) = (letter(first)?, letter(last)?);
    let letters: Vec<String> = (first.min(last)..=first.max(last))
        .map(String::from)
        .collect();
    match first <= last {
        true => Some(letters),
        false => Some(letters.into_iter().rev().collect()),
    }
}

/// What the next word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextWord {
    Argument,
    RedirectionTarget,
    HereString,
    HereDelimiter { strips_tabs: bool },
}

struct Splitter<'t> {
    chars: Peekable<Chars<'t>>,
    found: SplitText,
    command: SimpleCommand,
    word: Option<String>,
    next_word: NextWord,
    /// Here-documents that begin with the next line: their last lines.
    awaited: Vec<(String, bool)>,
    /// Between `((` and `))`, where `<<` shifts bits.
    in_arithmetic: bool,
}

impl Splitter<'_> {
    fn run(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                '\n' => {
                    self.end_command();
                    self.read_documents();
                }
                ' ' | '\t' | '\r' => self.end_word(),
                '#' if self.word.is_none() => {
                    while self.chars.peek().is_some_and(|&c| c != '\n') {
                        self.chars.next();
                    }
                }
                '(' | ')' => {
                    if self.chars.peek() == Some(&c) {
                        self.in_arithmetic = c == '(';
                    }
                    self.end_command();
                }
                ';' => self.end_command(),
                '&' if self.chars.peek() == Some(&'>') => self.end_word(),
                '&' => self.end_command(),
                '|' => self.pipe(),
                '<' | '>' => self.redirection(c),
                '\\' => match self.chars.next() {
                    Some('\n') => {}
                    Some(c) => self.push_quoted(c),
                    None => self.push('\\'),
                },
                '\'' => self.single_quotes(),
                '"' => self.double_quotes(),
                '`' => self.backticks(),
                '$' => match self.chars.peek() {
                    Some('(') => self.substitution(),
                    Some('\'') => {
                        self.chars.next();
                        self.ansi_quotes();
                    }
                    // A translated text.
                    Some('"') => {}
                    _ => self.push('$'),
                },
                c => self.push(c),
            }
        }
        self.end_command();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn push_quoted(&mut self, c: char) {
        let hidden = QUOTED.iter().find(|(plain, _)| *plain == c);
        self.push(hidden.map_or(c, |(_, hidden)| *hidden));
    }

    fn begin_quotes(&mut self) {
        self.word.get_or_insert_default();
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next_word, NextWord::Argument) {
            NextWord::RedirectionTarget => {}
            NextWord::HereString => self.found.documents.push(shown(&word)),
            NextWord::HereDelimiter { strips_tabs } => {
                self.awaited.push((shown(&word), strips_tabs));
            }
            NextWord::Argument => {
                let mut words = Vec::new();
                self.found.truncated |= !expand_braces(&word, 0, &mut words);
                let words = words.iter().map(|word| shown(word));
                self.command.words.extend(words);
            }
        }
    }

    fn end_command(&mut self) {
        self.finish_command();
        self.command.pipeline += 1;
        self.command.is_piped = false;
    }

    fn finish_command(&mut self) {
        self.end_word();
        self.next_word = NextWord::Argument;
        let words = std::mem::take(&mut self.command.words);
        if !words.is_empty() {
            self.found.commands.push(SimpleCommand {
                words,
                ..self.command
            });
        }
    }

    fn pipe(&mut self) {
        match self.chars.peek() {
            Some('|') => {
                self.chars.next();
                self.end_command();
            }
            other => {
                if other == Some(&'&') {
                    self.chars.next();
                }
                self.finish_command();
                self.command.is_piped = true;
            }
        }
    }

    fn redirection(&mut self, first: char) {
        // The number of a descriptor, or the variable that gets one.
        let is_descriptor = |word: &String| {
            let name = word
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            let is_name = |name: &str| {
                let mut chars = name.chars();
                let first = chars.next();
                first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                    && chars.all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
            };
            word.chars().all(|c| c.is_ascii_digit()) || name.is_some_and(is_name)
        };
        if self.word.as_ref().is_some_and(is_descriptor) {
            self.word = None;
        }
        self.end_word();
        let mut operator = String::from(first);
        while let Some(&c) = self.chars.peek() {
            operator.push(c);
            if !OPERATORS.contains(&operator.as_str()) {
                operator.pop();
                break;
            }
            self.chars.next();
        }
        // `<(command)`: the parenthesis begins a command.
        if self.chars.peek() == Some(&'(') {
            self.end_command();
            let next = self.found.commands.len();
            self.found.printing.get_or_insert(next);
            return;
        }
        self.next_word = match operator.as_str() {
            "<<" | "<<-" if self.in_arithmetic => NextWord::Argument,
            "<<" => NextWord::HereDelimiter { strips_tabs: false },
            "<<-" => NextWord::HereDelimiter { strips_tabs: true },
            "<<<" => NextWord::HereString,
            // `2>&-` closes.
            closing if closing.ends_with("&-") => NextWord::Argument,
            _ => NextWord::RedirectionTarget,
        };
    }

    fn read_documents(&mut self) {
        for (delimiter, strips_tabs) in std::mem::take(&mut self.awaited) {
            let mut document = String::new();
            let mut has_end = false;
            while self.chars.peek().is_some() {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|&c| c != '\n') {
                    line.push(c);
                }
                self.chars.next();
                let bare = if strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if bare == delimiter {
                    has_end = true;
                    break;
                }
                document.push_str(bare);
                document.push('\n');
            }
            // A shell runs what is substituted in it, whatever program reads it.
            if document.contains("$(") || document.contains('`') {
                // Its own quotation marks must not end the quotes around it.
                let within = split(&format!("\"{}\"", document.replace('"', " ")));
                self.found.substitutions.extend(within.substitutions);
            }
            // What has no end may not be a document.
            if !has_end {
                self.found.substitutions.push(document.clone());
            }
            self.found.documents.push(document);
        }
    }

    fn single_quotes(&mut self) {
        self.begin_quotes();
        while let Some(c) = self.chars.next().filter(|&c| c != '\'') {
            self.push_quoted(c);
        }
    }

    fn double_quotes(&mut self) {
        self.begin_quotes();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c) => {
                        if !"$`\"\\".contains(c) {
                            self.push_quoted('\\');
                        }
                        self.push_quoted(c);
                    }
                },
                '`' => self.backticks(),
                '$' if self.chars.peek() == Some(&'(') => self.substitution(),
                c => self.push_quoted(c),
            }
        }
    }

    /// `$'...'`
    fn ansi_quotes(&mut self) {
        self.begin_quotes();
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '\\' => {
                    if let Some(c) = self.ansi_escape() {
                        self.push_quoted(c);
                    }
                }
                c => self.push_quoted(c),
            }
        }
    }

    fn ansi_escape(&mut self) -> Option<char> {
        Some(match self.chars.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'x' => self.digits(16, 2, String::new())?,
            'u' => self.digits(16, 4, String::new())?,
            'U' => self.digits(16, 8, String::new())?,
            c @ '0'..='7' => self.digits(8, 3, String::from(c))?,
            c => c,
        })
    }

    fn digits(&mut self, radix: u32, most: usize, mut text: String) -> Option<char> {
        while text.len() < most {
            let Some(digit) = self.chars.next_if(|c| c.is_digit(radix)) else {
                break;
            };
            text.push(digit);
        }
        char::from_u32(u32::from_str_radix(&text, radix).ok()?)
    }

    fn backticks(&mut self) {
        self.begin_quotes();
        let mut inner = String::new();
        while let Some(c) = self.chars.next().filter(|&c| c != '`') {
            match c {
                '\\' => match self.chars.next() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => {}
                },
                c => inner.push(c),
            }
        }
        self.found.substitutions.push(inner);
    }

    /// `$(...)`, up to the parenthesis that closes it outside of quotes.
    fn substitution(&mut self) {
        self.begin_quotes();
        self.chars.next();
        let mut inner = String::new();
        let mut open = 1usize;
        let mut quote = None;
        while let Some(c) = self.chars.next() {
            match (quote, c) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => {
                    inner.push(c);
                    inner.extend(self.chars.next());
                    continue;
                }
                (None, '\'' | '"') => quote = Some(c),
                (Some(_), _) => {}
                (None, '(') => open += 1,
                (None, ')') => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                _ => {}
            }
            inner.push(c);
        }
        self.found.substitutions.push(inner);
    }
}
