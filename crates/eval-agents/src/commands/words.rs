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
    /// The first of the commands after a `<(`: what they print is a file for others.
    pub printing: Option<usize>,
}

pub(super) fn split(text: &str) -> SplitText {
    let mut splitter = Splitter {
        chars: text.chars().peekable(),
        found: SplitText::default(),
        command: SimpleCommand::default(),
        word: None,
        is_quoted: false,
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
    /// Whether a part of `word` is quoted.
    is_quoted: bool,
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
        self.is_quoted = true;
        self.push(c);
    }

    fn begin_quotes(&mut self) {
        self.is_quoted = true;
        self.word.get_or_insert_default();
    }

    fn end_word(&mut self) {
        let is_quoted = std::mem::take(&mut self.is_quoted);
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next_word, NextWord::Argument) {
            NextWord::RedirectionTarget => {}
            NextWord::HereString => self.found.documents.push(word),
            NextWord::HereDelimiter { strips_tabs } => self.awaited.push((word, strips_tabs)),
            NextWord::Argument => {
                let braces = word
                    .strip_prefix('{')
                    .and_then(|rest| rest.strip_suffix('}'));
                match braces.filter(|inner| !is_quoted && inner.contains(',')) {
                    Some(inner) => self
                        .command
                        .words
                        .extend(inner.split(',').map(str::to_owned)),
                    None => self.command.words.push(word),
                }
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
        // The number of a descriptor.
        if self
            .word
            .as_ref()
            .is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()))
        {
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
            self.push(c);
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
                            self.push('\\');
                        }
                        self.push(c);
                    }
                },
                '`' => self.backticks(),
                '$' if self.chars.peek() == Some(&'(') => self.substitution(),
                c => self.push(c),
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
                        self.push(c);
                    }
                }
                c => self.push(c),
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
