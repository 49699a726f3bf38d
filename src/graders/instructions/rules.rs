//! The instructions with their arguments, and when a text follows each of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::language::is_in_language;
use super::python_text::{
    capital_words, is_lower, is_python_space, is_upper, python_strip, sentences,
};
use crate::graders::patterns::PatternCache;
use crate::model::RegexFlags;

const FOLD: RegexFlags = RegexFlags {
    ignorecase: true,
    multiline: false,
    dotall: false,
    verbose: false,
};
const EXACT: RegexFlags = RegexFlags {
    ignorecase: false,
    ..FOLD
};
const LINES: RegexFlags = RegexFlags {
    multiline: true,
    ..EXACT
};

const ANSWERS: [&str; 3] = [
    "My answer is yes.",
    "My answer is no.",
    "My answer is maybe.",
];

/// How a count is compared with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountRelation {
    #[serde(rename = "at least")]
    AtLeast,
    #[serde(rename = "less than")]
    LessThan,
}

/// An instruction by its id in IFEval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Instruction {
    #[serde(rename = "keywords:existence")]
    Keywords { keywords: Vec<String> },
    #[serde(rename = "keywords:frequency")]
    KeywordFrequency {
        keyword: String,
        frequency: u64,
        relation: CountRelation,
    },
    #[serde(rename = "keywords:forbidden_words")]
    ForbiddenWords { forbidden_words: Vec<String> },
    #[serde(rename = "keywords:letter_frequency")]
    LetterFrequency {
        letter: char,
        let_frequency: u64,
        let_relation: CountRelation,
    },
    #[serde(rename = "language:response_language")]
    Language { language: String },
    #[serde(rename = "length_constraints:number_sentences")]
    Sentences {
        num_sentences: u64,
        relation: CountRelation,
    },
    #[serde(rename = "length_constraints:number_paragraphs")]
    Paragraphs { num_paragraphs: u64 },
    #[serde(rename = "length_constraints:number_words")]
    Words {
        num_words: u64,
        relation: CountRelation,
    },
    #[serde(rename = "length_constraints:nth_paragraph_first_word")]
    FirstWord {
        num_paragraphs: u64,
        /// From 1.
        nth_paragraph: u64,
        first_word: String,
    },
    #[serde(rename = "detectable_content:number_placeholders")]
    Placeholders { num_placeholders: u64 },
    #[serde(rename = "detectable_content:postscript")]
    Postscript { postscript_marker: String },
    #[serde(rename = "detectable_format:number_bullet_lists")]
    Bullets { num_bullets: u64 },
    #[serde(rename = "detectable_format:constrained_response")]
    ConstrainedResponse {},
    #[serde(rename = "detectable_format:number_highlighted_sections")]
    Highlights { num_highlights: u64 },
    #[serde(rename = "detectable_format:multiple_sections")]
    Sections {
        section_spliter: String,
        num_sections: u64,
    },
    #[serde(rename = "detectable_format:json_format")]
    JsonFormat {},
    #[serde(rename = "detectable_format:title")]
    Title {},
    #[serde(rename = "combination:two_responses")]
    TwoResponses {},
    #[serde(rename = "combination:repeat_prompt")]
    RepeatPrompt { prompt_to_repeat: String },
    #[serde(rename = "startend:end_checker")]
    EndPhrase { end_phrase: String },
    #[serde(rename = "startend:quotation")]
    Quotation {},
    #[serde(rename = "change_case:capital_word_frequency")]
    CapitalWords {
        capital_frequency: u64,
        capital_relation: CountRelation,
    },
    #[serde(rename = "change_case:english_capital")]
    EnglishCapital {},
    #[serde(rename = "change_case:english_lowercase")]
    EnglishLowercase {},
    #[serde(rename = "punctuation:no_comma")]
    NoComma {},
}

/// What an instruction finds in a text.
pub(super) enum RuleFinding {
    /// A text of whitespace follows nothing.
    Empty,
    Holds(bool),
    Count {
        found: u64,
        required: u64,
        relation: &'static str,
        followed: bool,
    },
}

impl RuleFinding {
    pub(super) fn followed(&self) -> bool {
        match self {
            RuleFinding::Empty => false,
            RuleFinding::Holds(followed) | RuleFinding::Count { followed, .. } => *followed,
        }
    }

    /// What completes the sentence on an instruction that is not followed.
    pub(super) fn note(&self) -> String {
        match self {
            RuleFinding::Empty => " (the output is empty)".to_owned(),
            RuleFinding::Holds(_) => String::new(),
            RuleFinding::Count {
                found,
                required,
                relation,
                ..
            } => format!(" ({found} found, required: {relation} {required})"),
        }
    }

    fn counted(found: usize, relation: CountRelation, required: u64) -> RuleFinding {
        let found = found as u64;
        let (relation, followed) = match relation {
            CountRelation::AtLeast => ("at least", found >= required),
            CountRelation::LessThan => ("less than", found < required),
        };
        RuleFinding::Count {
            found,
            required,
            relation,
            followed,
        }
    }

    fn at_least(found: usize, required: u64) -> RuleFinding {
        RuleFinding::counted(found, CountRelation::AtLeast, required)
    }

    fn exactly(found: usize, required: u64) -> RuleFinding {
        RuleFinding::Count {
            found: found as u64,
            required,
            relation: "exactly",
            followed: found as u64 == required,
        }
    }
}

impl Instruction {
    /// An instruction of its id and arguments; an error is a sentence on them.
    pub(crate) fn of(id: &str, kwargs: &Map<String, Value>) -> Result<Instruction, String> {
        let kwargs: Map<String, Value> = kwargs
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let instruction: Instruction = serde_json::from_value(json!({ id: kwargs }))
            .map_err(|error| format!("the instruction `{id}` is not valid: {error}"))?;
        match instruction.fault() {
            Some(why) => Err(format!("the instruction `{id}` is not valid: {why}")),
            None => Ok(instruction),
        }
    }

    pub(super) fn id(&self) -> String {
        let written = serde_json::to_value(self).ok();
        let id = written
            .as_ref()
            .and_then(|written| written.as_object()?.keys().next());
        id.cloned().unwrap_or_default()
    }

    /// What would make it meaningless.
    fn fault(&self) -> Option<String> {
        let texts: Vec<&String> = match self {
            Instruction::Keywords { keywords: texts }
            | Instruction::ForbiddenWords {
                forbidden_words: texts,
            } => {
                if texts.is_empty() {
                    return Some("its list of words is empty".to_owned());
                }
                texts.iter().collect()
            }
            Instruction::KeywordFrequency { keyword: text, .. }
            | Instruction::FirstWord {
                first_word: text, ..
            }
            | Instruction::Postscript {
                postscript_marker: text,
            }
            | Instruction::Sections {
                section_spliter: text,
                ..
            }
            | Instruction::RepeatPrompt {
                prompt_to_repeat: text,
            }
            | Instruction::EndPhrase { end_phrase: text } => vec![text],
            _ => Vec::new(),
        };
        if texts.iter().any(|text| python_strip(text).is_empty()) {
            return Some("a text in `kwargs` is empty".to_owned());
        }
        if let Instruction::FirstWord {
            num_paragraphs,
            nth_paragraph,
            ..
        } = self
            && !(1..=*num_paragraphs).contains(nth_paragraph)
        {
            return Some(format!(
                "`nth_paragraph` is {nth_paragraph}, expected 1 to {num_paragraphs}"
            ));
        }
        let patterns = PatternCache::default();
        self.patterns()
            .into_iter()
            .find_map(|(source, flags)| patterns.get(&source, flags).err())
    }

    /// The patterns that it searches for, in Python's syntax.
    pub(super) fn patterns(&self) -> Vec<(String, RegexFlags)> {
        let one = |source: &str, flags| vec![(source.to_owned(), flags)];
        match self {
            Instruction::Keywords { keywords } => {
                keywords.iter().map(|word| (word.clone(), FOLD)).collect()
            }
            Instruction::KeywordFrequency { keyword, .. } => one(python_strip(keyword), FOLD),
            Instruction::ForbiddenWords { forbidden_words } => forbidden_words
                .iter()
                .map(|word| (format!(r"\b{word}\b"), FOLD))
                .collect(),
            Instruction::Placeholders { .. } => one(r"\[.*?\]", EXACT),
            Instruction::Bullets { .. } => [r"^\s*\*[^\*].*$", r"^\s*-.*$"]
                .map(|source| (source.to_owned(), LINES))
                .into(),
            Instruction::Highlights { .. } => [r"\*[^\n\*]*\*", r"\*\*[^\n\*]*\*\*"]
                .map(|source| (source.to_owned(), EXACT))
                .into(),
            Instruction::Sections {
                section_spliter, ..
            } => {
                let word = python_strip(section_spliter);
                one(&format!(r"\s?{word}\s?\d+\s?"), EXACT)
            }
            Instruction::Paragraphs { .. } => one(r"\s?\*\*\*\s?", EXACT),
            Instruction::Title {} => one(r"<<[^\n]+>>", EXACT),
            Instruction::Postscript { postscript_marker } => {
                match python_strip(postscript_marker) {
                    "P.P.S" => one(r"\s*p\.\s?p\.\s?s.*$", LINES),
                    "P.S." => one(r"\s*p\.\s?s\..*$", LINES),
                    other => one(&format!(r"\s*{}.*$", other.to_lowercase()), LINES),
                }
            }
            _ => Vec::new(),
        }
    }

    /// An error says why it can't be found out.
    pub(super) fn finding(
        &self,
        text: &str,
        patterns: &PatternCache,
    ) -> Result<RuleFinding, String> {
        let search = PatternSearch {
            sources: self.patterns(),
            patterns,
        };
        let found = match self {
            Instruction::Keywords { keywords } => {
                RuleFinding::Holds(search.how_many_occur(text)? == keywords.len())
            }
            Instruction::ForbiddenWords { .. } => {
                RuleFinding::Holds(search.how_many_occur(text)? == 0)
            }
            Instruction::KeywordFrequency {
                frequency,
                relation,
                ..
            } => RuleFinding::counted(search.matches(text)?.len(), *relation, *frequency),
            Instruction::LetterFrequency {
                letter,
                let_frequency,
                let_relation,
            } => {
                let letter: String = letter.to_lowercase().collect();
                let count = text.to_lowercase().matches(&letter).count();
                RuleFinding::counted(count, *let_relation, *let_frequency)
            }
            Instruction::Language { language } => {
                RuleFinding::Holds(is_in_language(text, language)?)
            }
            Instruction::Sentences {
                num_sentences,
                relation,
            } => RuleFinding::counted(sentences(text), *relation, *num_sentences),
            Instruction::Paragraphs { num_paragraphs } => {
                let count = paragraphs(&search.split(text)?);
                count.map_or(RuleFinding::Holds(false), |count| {
                    RuleFinding::exactly(count, *num_paragraphs)
                })
            }
            Instruction::Words {
                num_words,
                relation,
            } => RuleFinding::counted(words(text)?, *relation, *num_words),
            Instruction::FirstWord {
                num_paragraphs,
                nth_paragraph,
                first_word,
            } => RuleFinding::Holds(has_first_word(
                text,
                *num_paragraphs,
                *nth_paragraph,
                &first_word.to_lowercase(),
            )),
            Instruction::Placeholders { num_placeholders } => {
                RuleFinding::at_least(search.matches(text)?.len(), *num_placeholders)
            }
            Instruction::Postscript { .. } => {
                RuleFinding::Holds(!search.matches(&text.to_lowercase())?.is_empty())
            }
            Instruction::Bullets { num_bullets } => {
                RuleFinding::exactly(search.matches(text)?.len(), *num_bullets)
            }
            Instruction::ConstrainedResponse {} => {
                RuleFinding::Holds(ANSWERS.iter().any(|answer| text.contains(answer)))
            }
            Instruction::Highlights { num_highlights } => {
                let matches = search.matches(text)?;
                let marked = matches
                    .iter()
                    .filter(|found| !python_strip(found.trim_matches('*')).is_empty());
                RuleFinding::at_least(marked.count(), *num_highlights)
            }
            Instruction::Sections { num_sections, .. } => {
                RuleFinding::at_least(search.matches(text)?.len(), *num_sections)
            }
            Instruction::JsonFormat {} => RuleFinding::Holds(is_json(text)),
            Instruction::Title {} => {
                RuleFinding::Holds(search.matches(text)?.iter().any(|title| {
                    let title = title.trim_start_matches('<').trim_end_matches('>');
                    !python_strip(title).is_empty()
                }))
            }
            Instruction::TwoResponses {} => RuleFinding::Holds(has_two_responses(text)),
            Instruction::RepeatPrompt { prompt_to_repeat } => {
                let start = python_strip(prompt_to_repeat).to_lowercase();
                RuleFinding::Holds(python_strip(text).to_lowercase().starts_with(&start))
            }
            Instruction::EndPhrase { end_phrase } => {
                let text = python_strip(text).trim_matches('"').to_lowercase();
                RuleFinding::Holds(text.ends_with(&python_strip(end_phrase).to_lowercase()))
            }
            Instruction::Quotation {} => {
                let text = python_strip(text);
                RuleFinding::Holds(text.len() > 1 && text.starts_with('"') && text.ends_with('"'))
            }
            Instruction::CapitalWords {
                capital_frequency,
                capital_relation,
            } => RuleFinding::counted(capital_words(text), *capital_relation, *capital_frequency),
            Instruction::EnglishCapital {} => {
                RuleFinding::Holds(is_upper(text) && is_in_language(text, "en")?)
            }
            Instruction::EnglishLowercase {} => {
                RuleFinding::Holds(is_lower(text) && is_in_language(text, "en")?)
            }
            Instruction::NoComma {} => RuleFinding::Holds(!text.contains(',')),
        };
        Ok(found)
    }
}

/// Patterns of an instruction in a text.
struct PatternSearch<'a> {
    sources: Vec<(String, RegexFlags)>,
    patterns: &'a PatternCache,
}

impl PatternSearch<'_> {
    /// How many of the patterns occur.
    fn how_many_occur(&self, text: &str) -> Result<usize, String> {
        let mut count = 0;
        for (source, flags) in &self.sources {
            let pattern = self.patterns.get(source, *flags)?;
            if pattern.is_in(text).map_err(|error| error.to_string())? {
                count += 1;
            }
        }
        Ok(count)
    }

    /// All matches of all patterns.
    fn matches(&self, text: &str) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        // The search leaves out one final newline.
        let whole = format!("{text}\n");
        for (source, flags) in &self.sources {
            let pattern = self.patterns.get(source, *flags)?;
            for found in pattern.find_all(&whole) {
                let found = found.map_err(|error| error.to_string())?;
                all.push(found.text().to_owned());
            }
        }
        Ok(all)
    }

    /// The parts between the matches.
    fn split(&self, text: &str) -> Result<Vec<String>, String> {
        let mut parts = Vec::new();
        let mut start = 0;
        let whole = format!("{text}\n");
        for (source, flags) in &self.sources {
            let pattern = self.patterns.get(source, *flags)?;
            for found in pattern.find_all(&whole) {
                let found = found.map_err(|error| error.to_string())?.whole;
                parts.push(text.get(start..found.start).unwrap_or_default().to_owned());
                start = found.end;
            }
        }
        parts.push(text.get(start..).unwrap_or_default().to_owned());
        Ok(parts)
    }
}

/// Runs of letters, digits and `_`; marks of scripts such as Devanagari end a word, as in Python.
fn words(text: &str) -> Result<usize, String> {
    static WORD: std::sync::OnceLock<Option<regex::Regex>> = std::sync::OnceLock::new();
    WORD.get_or_init(|| regex::Regex::new(r"[\p{L}\p{N}_]+").ok())
        .as_ref()
        .map(|word| word.find_iter(text).count())
        .ok_or_else(|| "the pattern of words does not compile".to_owned())
}

/// `None` if one within is empty.
fn paragraphs(parts: &[String]) -> Option<usize> {
    let mut count = parts.len();
    for (at, part) in parts.iter().enumerate() {
        if python_strip(part).is_empty() {
            if at != 0 && at + 1 != parts.len() {
                return None;
            }
            count = count.saturating_sub(1);
        }
    }
    Some(count)
}

/// Paragraphs are separated by an empty line here.
fn has_first_word(text: &str, required: u64, nth: u64, first_word: &str) -> bool {
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    let filled = paragraphs
        .iter()
        .filter(|paragraph| !python_strip(paragraph).is_empty())
        .count() as u64;
    let place = usize::try_from(nth).ok().and_then(|nth| nth.checked_sub(1));
    let paragraph = place.and_then(|place| paragraphs.get(place).copied());
    let Some(word) = paragraph.and_then(|paragraph| {
        let mut words = paragraph.split(is_python_space);
        words.find(|word| !word.is_empty())
    }) else {
        return false;
    };
    let word: String = word
        .trim_start_matches('\'')
        .trim_start_matches('"')
        .chars()
        .take_while(|c| !".,?!'\"".contains(*c))
        .flat_map(char::to_lowercase)
        .collect();
    nth <= filled && filled == required && word == first_word
}

fn is_json(text: &str) -> bool {
    let mut text = python_strip(text);
    for fence in ["```json", "```Json", "```JSON", "```"] {
        text = text.strip_prefix(fence).unwrap_or(text);
    }
    let text = python_strip(text.strip_suffix("```").unwrap_or(text));
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn has_two_responses(text: &str) -> bool {
    let parts: Vec<&str> = text.split("******").map(python_strip).collect();
    let last = parts.len().saturating_sub(1);
    let inner_empty = parts
        .iter()
        .enumerate()
        .any(|(at, part)| part.is_empty() && at != 0 && at != last);
    let filled: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    !inner_empty && matches!(filled.as_slice(), [one, other] if one != other)
}
