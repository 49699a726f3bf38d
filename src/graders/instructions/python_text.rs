//! Texts as Python and NLTK see them: whitespace, case, words and sentences.

/// Whitespace of `str.strip` and `str.split`.
pub(super) fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

pub(super) fn python_strip(text: &str) -> &str {
    text.trim_matches(is_python_space)
}

/// The text without its first line, without its last line, and without both, each stripped.
pub(super) fn without_first_and_last(text: &str) -> [String; 3] {
    let after_first = text.split_once('\n').map_or("", |(_, rest)| rest);
    let before_last = text.rsplit_once('\n').map_or("", |(start, _)| start);
    let within = after_first.rsplit_once('\n').map_or("", |(start, _)| start);
    [after_first, before_last, within].map(|part| python_strip(part).to_owned())
}

/// Titlecase letters, which are neither upper nor lower.
fn is_title(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ' | '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}'
        | '\u{1fa8}'..='\u{1faf}' | '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}')
}

/// `str.isupper`: at least one letter with case, and all of them capital.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(|c| c.is_lowercase() || is_title(c))
}

/// `str.islower`.
pub(super) fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(|c| c.is_uppercase() || is_title(c))
}

/// Signs that NLTK makes words of their own wherever they are.
const SPLITTING: &str = "()[]{}<>;@#$%&?!\"«»“”‘’„…";

/// Endings that are words of their own.
const ENDINGS: [&str; 7] = ["n't", "'ll", "'re", "'ve", "'s", "'m", "'d"];

/// Words that NLTK takes apart, and the length of their first part.
const COMPOUNDS: [(&str, usize); 8] = [
    ("cannot", 3),
    ("gimme", 3),
    ("gonna", 3),
    ("gotta", 3),
    ("lemme", 3),
    ("wanna", 3),
    ("'tis", 2),
    ("'twas", 2),
];

/// Words in capital letters, where words are those of NLTK's `word_tokenize`: hyphens and slashes
/// don't split, contractions are two words.
pub(super) fn capital_words(text: &str) -> usize {
    text.split(is_python_space).map(capitals_of_chunk).sum()
}

fn capitals_of_chunk(chunk: &str) -> usize {
    let letters: Vec<char> = chunk.chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in letters.iter().copied().enumerate() {
        let next = letters.get(at + 1).copied();
        let before = at.checked_sub(1).and_then(|at| letters.get(at).copied());
        let splits = SPLITTING.contains(c)
            || (matches!(c, ',' | ':') && !next.is_some_and(char::is_numeric))
            || (c == '-' && (next == Some('-') || before == Some('-')))
            || (c == '.' && (next == Some('.') || before == Some('.')))
            || (c == '\'' && (next.is_none() || next == Some('\'')));
        match (splits, words.last_mut()) {
            (false, Some(word)) => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.iter().map(|word| capitals_of_word(word)).sum()
}

fn capitals_of_word(word: &str) -> usize {
    let lower = word.to_lowercase();
    let ending = ENDINGS.iter().find_map(|ending| {
        let at = word.len().checked_sub(ending.len())?;
        (at > 0 && lower.ends_with(ending))
            .then(|| word.split_at_checked(at))
            .flatten()
    });
    let compound = COMPOUNDS.iter().find_map(|(compound, at)| {
        (lower == *compound)
            .then(|| word.split_at_checked(*at))
            .flatten()
    });
    match ending.or(compound) {
        Some((start, end)) => usize::from(is_upper(start)) + usize::from(is_upper(end)),
        None => usize::from(is_upper(word)),
    }
}

/// Abbreviations after which a sentence goes on.
const ABBREVIATIONS: [&str; 50] = [
    "adm", "apr", "aug", "ave", "bros", "capt", "cf", "cmdr", "co", "col", "corp", "ct", "dec",
    "dept", "dr", "e.g", "feb", "fla", "fri", "gen", "gov", "hon", "i.e", "inc", "jan", "jr", "lt",
    "ltd", "maj", "messrs", "mr", "mrs", "ms", "mt", "nov", "oct", "ph.d", "prof", "rep", "rev",
    "sen", "sept", "sgt", "sr", "st", "ste", "u.s", "v", "va", "vs",
];

/// Signs that may follow the end of a sentence without a space.
const CLOSING: &str = ")\";}]*:@'({[";

/// Sentences of an English text. Rules: an end is `.`, `?` or `!` before whitespace or a closing
/// sign; a full stop after an abbreviation or an initial is not one, and a number's only before a
/// capital letter.
pub(super) fn sentences(text: &str) -> usize {
    let text = python_strip(text);
    if text.is_empty() {
        return 0;
    }
    let words: Vec<&str> = text
        .split(is_python_space)
        .filter(|word| !word.is_empty())
        .collect();
    let mut count = 1;
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied();
        count += ends_within(word);
        if next.is_some_and(|next| ends_sentence(word, next)) {
            count += 1;
        }
    }
    count
}

/// Ends of sentences before a sign, with a further word after it: `one.*Two`.
fn ends_within(word: &str) -> usize {
    let letters: Vec<char> = word.chars().collect();
    letters
        .windows(3)
        .filter(|three| {
            matches!(three, [a, b, c] if matches!(a, '.' | '?' | '!')
                && CLOSING.contains(*b) && c.is_alphanumeric())
        })
        .count()
}

fn ends_sentence(word: &str, next: &str) -> bool {
    let core = word.trim_end_matches(|c| CLOSING.contains(c));
    if core.ends_with(['?', '!']) {
        return true;
    }
    let Some(stem) = core.strip_suffix('.') else {
        return false;
    };
    let starts_lower = next
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .starts_with(char::is_lowercase);
    if stem.ends_with('.') {
        return !starts_lower;
    }
    let stem = stem.trim_start_matches(|c: char| !c.is_alphanumeric());
    if !stem.is_empty() && stem.chars().all(|c| c.is_numeric() || ",.-".contains(c)) {
        return !starts_lower;
    }
    let mut letters = stem.chars();
    let is_initial = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
    !is_initial && !ABBREVIATIONS.contains(&stem.to_lowercase().as_str())
}
