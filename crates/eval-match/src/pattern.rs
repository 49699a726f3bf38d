//! Regular expressions with the meaning that Python's `re` gives them.
//!
//! The `regex` crate (linear time) runs what it can; patterns with look-around, back-references,
//! possessive quantifiers or atomic groups go to `fancy-regex` under a backtracking limit. A
//! pattern that runs into the limit is an error: whether it matches is not known.
//!
//! The limit counts steps back, not characters: each step may scan the rest of the text, so a
//! search takes time by the product of both. Who searches text from outside does it where the
//! search can be ended (a grader process), or compiles the pattern with
//! [`CompiledPattern::compile_bounded`].

use std::ops::Range;

use crate::options::RegexFlags;

use super::translate::{TranslatedPattern, translate};

/// Steps of backtracking before a search is given up. Each may scan the rest of the text.
const BACKTRACK_LIMIT: usize = 2_000_000;

/// The same where nothing else ends a search; with [`BOUNDED_TEXT`] it stays below a few seconds.
const BOUNDED_BACKTRACK_LIMIT: usize = 50_000;

/// Bytes of text that a bounded pattern searches by backtracking.
const BOUNDED_TEXT: usize = 16 << 10;

/// Bytes of compiled patterns that [`CompiledPattern::linear_size`] distinguishes.
const SIZES: [usize; 2] = [16 << 10, 256 << 10];

/// The same of bounded patterns, whose texts are bounded by them.
const BOUNDED_SIZES: [usize; 4] = [16 << 10, 256 << 10, 1 << 20, 4 << 20];

/// Bytes of a bounded pattern that is compiled for the linear engine, times bytes of the text that
/// it searches.
const BOUNDED_WORK: usize = 1 << 30;

/// Bytes of the largest compiled pattern: the `regex` crate's own limit.
const LARGEST: usize = 10 << 20;

/// A pattern that can't be compiled, or a search that was given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    pub message: String,
    /// Byte offset into the pattern as the author wrote it.
    pub offset: Option<usize>,
}

impl PatternError {
    /// One that no place of the pattern is known for.
    fn plain(message: String) -> PatternError {
        PatternError {
            message,
            offset: None,
        }
    }
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct CompiledPattern {
    engine: RegexEngine,
    /// Texts of more bytes are not searched.
    longest: Option<usize>,
    /// Names by group number; group 0 is the whole match.
    names: Vec<Option<String>>,
}

#[derive(Debug, Clone)]
enum RegexEngine {
    /// `size`: the compiled pattern takes no more bytes; `None` when it is larger than all of
    /// [`SIZES`].
    Linear {
        regex: regex::Regex,
        size: Option<usize>,
    },
    Backtracking(Box<fancy_regex::Regex>),
}

/// One match. Ranges are byte offsets into the text that was searched.
#[derive(Debug, Clone)]
pub struct PatternMatch<'p, 't> {
    pub whole: Range<usize>,
    text: &'t str,
    groups: Vec<Option<Range<usize>>>,
    names: &'p [Option<String>],
}

impl<'t> PatternMatch<'_, 't> {
    /// The text of the whole match.
    pub fn text(&self) -> &'t str {
        self.text.get(self.whole.clone()).unwrap_or_default()
    }

    /// The text of a group by its name or its number (`"0"` is the whole match); `None` when there
    /// is no such group or it took no part in the match.
    pub fn group(&self, name_or_number: &str) -> Option<&'t str> {
        let index = index_of(self.names, name_or_number)?;
        self.text.get(self.groups.get(index)?.clone()?)
    }
}

fn index_of(names: &[Option<String>], name_or_number: &str) -> Option<usize> {
    names
        .iter()
        .position(|name| name.as_deref() == Some(name_or_number))
        .or_else(|| {
            name_or_number
                .parse()
                .ok()
                .filter(|index| *index < names.len())
        })
}

impl CompiledPattern {
    /// For texts that the author wrote, or where the search can be ended from outside.
    pub fn compile(pattern: &str, flags: RegexFlags) -> Result<CompiledPattern, PatternError> {
        CompiledPattern::compile_with(pattern, flags, false)
    }

    /// For texts of candidates, where nothing ends the search: what needs backtracking searches at
    /// most 16 KiB, and gives up sooner; any other searches 2^30 bytes at most, divided by the
    /// bytes that the compiled pattern takes.
    pub fn compile_bounded(
        pattern: &str,
        flags: RegexFlags,
    ) -> Result<CompiledPattern, PatternError> {
        CompiledPattern::compile_with(pattern, flags, true)
    }

    fn compile_with(
        pattern: &str,
        flags: RegexFlags,
        bounded: bool,
    ) -> Result<CompiledPattern, PatternError> {
        let sizes: &[usize] = if bounded { &BOUNDED_SIZES } else { &SIZES };
        let steps = if bounded {
            BOUNDED_BACKTRACK_LIMIT
        } else {
            BACKTRACK_LIMIT
        };
        let translated = translate(pattern, flags.verbose);
        let names = |names: &mut dyn Iterator<Item = Option<&str>>| {
            names.map(|name| name.map(str::to_owned)).collect()
        };
        let linear = if translated.possessive {
            None
        } else {
            match linear(&translated.pattern, flags, sizes) {
                Ok((regex, size)) => {
                    return Ok(CompiledPattern {
                        longest: bounded.then(|| BOUNDED_WORK / size.unwrap_or(LARGEST)),
                        names: names(&mut regex.capture_names()),
                        engine: RegexEngine::Linear { regex, size },
                    });
                }
                // What only the other engine takes is none of Python's syntax unless it is one of
                // these.
                Err(error) if !needs_backtracking(pattern) => {
                    return Err(plain_error(pattern, &translated, &error));
                }
                Err(error) => Some(error),
            }
        };
        match backtracking(&translated.pattern, flags, steps) {
            Ok(regex) => {
                no_name_twice(pattern)?;
                Ok(CompiledPattern {
                    longest: bounded.then_some(BOUNDED_TEXT),
                    names: names(&mut regex.capture_names()),
                    engine: RegexEngine::Backtracking(Box::new(regex)),
                })
            }
            Err(error) => Err(explain(pattern, &translated, linear, &error)),
        }
    }

    /// Bytes that the compiled pattern takes at most, when one search takes time by the product of
    /// them and the text's bytes. `None` for patterns that are larger, or that need backtracking.
    pub fn linear_size(&self) -> Option<usize> {
        match &self.engine {
            RegexEngine::Linear { size, .. } => *size,
            RegexEngine::Backtracking(_) => None,
        }
    }

    /// Names of the named groups, in order.
    pub fn group_names(&self) -> Vec<&str> {
        self.names.iter().flatten().map(String::as_str).collect()
    }

    /// Number of groups, the whole match not counted.
    pub fn group_count(&self) -> usize {
        self.names.len().saturating_sub(1)
    }

    /// Whether a group of this name or number exists (`"0"` is the whole match).
    pub fn has_group(&self, name_or_number: &str) -> bool {
        index_of(&self.names, name_or_number).is_some()
    }

    /// The first match anywhere in `text`, one final newline of which is left out first.
    pub fn search<'t>(&self, text: &'t str) -> Result<Option<PatternMatch<'_, 't>>, PatternError> {
        self.first(without_final_newline(text))
    }

    /// The leftmost matches in `text` that don't overlap, as `re.finditer` yields them; one final
    /// newline is left out. An error is the last.
    pub fn find_all<'p>(
        &'p self,
        text: &'p str,
    ) -> impl Iterator<Item = Result<PatternMatch<'p, 'p>, PatternError>> + use<'p> {
        let text = without_final_newline(text);
        let found: Box<dyn Iterator<Item = _>> = match (self.refuse(text), &self.engine) {
            (Err(refused), _) => Box::new(std::iter::once(Err(refused))),
            (Ok(()), RegexEngine::Linear { regex, .. }) => {
                let found = regex.captures_iter(text);
                Box::new(found.map(move |found| Ok(self.linear_match(text, found))))
            }
            (Ok(()), RegexEngine::Backtracking(regex)) => {
                let found = regex.captures_iter(text);
                Box::new(found.map(move |found| match found {
                    Ok(found) => Ok(self.backtracking_match(text, found)),
                    Err(error) => Err(given_up(&error)),
                }))
            }
        };
        let mut failed = false;
        found.take_while(move |next| !std::mem::replace(&mut failed, next.is_err()))
    }

    /// Whether there is a match anywhere in `text`, final newline included.
    pub fn is_in(&self, text: &str) -> Result<bool, PatternError> {
        self.refuse(text)?;
        match &self.engine {
            RegexEngine::Linear { regex, .. } => Ok(regex.is_match(text)),
            RegexEngine::Backtracking(regex) => {
                regex.is_match(text).map_err(|error| given_up(&error))
            }
        }
    }

    /// The first match of all of `text`, final newline included.
    pub fn matches_whole(&self, text: &str) -> Result<bool, PatternError> {
        Ok(self
            .first(text)?
            .is_some_and(|found| found.whole == (0..text.len())))
    }

    fn first<'t>(&self, text: &'t str) -> Result<Option<PatternMatch<'_, 't>>, PatternError> {
        self.refuse(text)?;
        match &self.engine {
            RegexEngine::Linear { regex, .. } => {
                let found = regex.captures(text);
                Ok(found.map(|found| self.linear_match(text, found)))
            }
            RegexEngine::Backtracking(regex) => match regex.captures(text) {
                Ok(found) => Ok(found.map(|found| self.backtracking_match(text, found))),
                Err(error) => Err(given_up(&error)),
            },
        }
    }

    /// Fails for a text that is too long to be searched here.
    fn refuse(&self, text: &str) -> Result<(), PatternError> {
        let Some(longest) = self.longest.filter(|longest| text.len() > *longest) else {
            return Ok(());
        };
        let what = match &self.engine {
            RegexEngine::Linear { .. } => "a pattern of this size searches",
            RegexEngine::Backtracking(_) => "the pattern needs backtracking, which searches",
        };
        Err(PatternError::plain(format!(
            "{what} texts of up to {longest} bytes here; this one has {}",
            text.len()
        )))
    }

    fn linear_match<'t>(&self, text: &'t str, found: regex::Captures<'t>) -> PatternMatch<'_, 't> {
        self.matched(text, |group| Some(found.get(group)?.range()))
    }

    fn backtracking_match<'t>(
        &self,
        text: &'t str,
        found: fancy_regex::Captures<'t, str>,
    ) -> PatternMatch<'_, 't> {
        self.matched(text, |group| Some(found.get(group)?.range()))
    }

    fn matched<'t>(
        &self,
        text: &'t str,
        group: impl Fn(usize) -> Option<Range<usize>>,
    ) -> PatternMatch<'_, 't> {
        PatternMatch {
            whole: group(0).unwrap_or(0..0),
            text,
            groups: (0..self.names.len()).map(group).collect(),
            names: &self.names,
        }
    }
}

/// `$` means the end to authors; in Python it also matches before a final newline.
fn without_final_newline(text: &str) -> &str {
    match text.strip_suffix('\n') {
        Some(rest) => rest.strip_suffix('\r').unwrap_or(rest),
        None => text,
    }
}

/// The pattern for the linear engine, and the first of the sizes that it does not exceed.
fn linear(
    pattern: &str,
    flags: RegexFlags,
    sizes: &[usize],
) -> Result<(regex::Regex, Option<usize>), regex::Error> {
    let mut builder = regex::RegexBuilder::new(pattern);
    builder
        .case_insensitive(flags.ignorecase)
        .multi_line(flags.multiline)
        .dot_matches_new_line(flags.dotall)
        .ignore_whitespace(flags.verbose);
    for size in sizes {
        match builder.size_limit(*size).build() {
            Ok(regex) => return Ok((regex, Some(*size))),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((builder.size_limit(LARGEST).build()?, None))
}

fn backtracking(
    pattern: &str,
    flags: RegexFlags,
    steps: usize,
) -> Result<fancy_regex::Regex, fancy_regex::Error> {
    fancy_regex::RegexBuilder::new(pattern)
        .case_insensitive(flags.ignorecase)
        .multi_line(flags.multiline)
        .dot_matches_new_line(flags.dotall)
        .ignore_whitespace(flags.verbose)
        .backtrack_limit(steps)
        .build()
}

fn given_up(error: &fancy_regex::Error) -> PatternError {
    let message = match error {
        fancy_regex::Error::RuntimeError(fancy_regex::RuntimeError::BacktrackLimitExceeded) => {
            "the pattern needs too much backtracking on this text, so it is not known whether it matches"
                .to_owned()
        }
        other => format!("the search failed: {other}"),
    };
    PatternError::plain(message)
}

/// An error of `regex` as one short message, with the place in the author's spelling where one is
/// known.
fn plain_error(source: &str, translated: &TranslatedPattern, error: &regex::Error) -> PatternError {
    match error {
        // The span hides behind a drawing.
        regex::Error::Syntax(drawing) => PatternError {
            message: drawing
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned(),
            offset: caret(drawing, &translated.pattern)
                .map(|at| translated.origin(at).min(source.len())),
        },
        other => PatternError::plain(other.to_string()),
    }
}

fn explain(
    source: &str,
    translated: &TranslatedPattern,
    linear: Option<regex::Error>,
    error: &fancy_regex::Error,
) -> PatternError {
    match (linear, error) {
        (Some(too_big @ regex::Error::CompiledTooBig(_)), _) => {
            plain_error(source, translated, &too_big)
        }
        (_, fancy_regex::Error::ParseError(at, why)) => PatternError {
            message: why.to_string(),
            offset: Some(translated.origin(*at).min(source.len())),
        },
        (_, fancy_regex::Error::CompileError(why)) => PatternError::plain(why.to_string()),
        (_, other) => PatternError::plain(other.to_string()),
    }
}

/// Python knows no two groups of one name; the backtracking engine does, and then forgets one.
fn no_name_twice(source: &str) -> Result<(), PatternError> {
    let mut seen = std::collections::BTreeSet::new();
    for (at, mark) in source.match_indices("(?P<") {
        let name = source[at + mark.len()..]
            .split('>')
            .next()
            .unwrap_or_default();
        if !source[..at].ends_with('\\') && !seen.insert(name) {
            return Err(PatternError {
                message: format!("two groups are named {name}"),
                offset: Some(at),
            });
        }
    }
    Ok(())
}

fn needs_backtracking(source: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!", "(?P=", "(?>", "(?("]
        .iter()
        .any(|mark| source.contains(mark))
        || source
            .as_bytes()
            .windows(2)
            .any(|w| w[0] == b'\\' && w[1].is_ascii_digit())
}

/// The byte offset that the drawing of a one-line pattern's syntax error points at.
fn caret(drawing: &str, pattern: &str) -> Option<usize> {
    if pattern.contains('\n') {
        return None;
    }
    let line = drawing
        .lines()
        .find(|line| line.trim_start().starts_with('^'))?;
    // The drawing is indented by four.
    let column = line.find('^')?.checked_sub(4)?;
    Some(
        pattern
            .char_indices()
            .nth(column)
            .map_or(pattern.len(), |(at, _)| at),
    )
}
