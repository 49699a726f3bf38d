//! Words of texts, for the measures that compare words: by blanks, letter by letter, or by
//! dictionaries.
//!
//! Each measure has its own words: [`f1_words`] drops punctuation, [`rouge_words`] all but letters
//! and digits, and [`bleu_words`] keeps both. All give a text in which blanks separate the words.

use std::sync::OnceLock;

use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use regex::{Captures, Regex};

use super::text::{is_blank, trim};
use crate::options::{SimilarityMetric, Tokenizer};

/// Scripts whose words are not separated by blanks.
const UNSPACED: [Script; 20] = [
    Script::Han,
    Script::Hiragana,
    Script::Katakana,
    Script::Bopomofo,
    Script::Yi,
    Script::Thai,
    Script::Lao,
    Script::Khmer,
    Script::Myanmar,
    Script::Tibetan,
    Script::Balinese,
    Script::Javanese,
    Script::TaiLe,
    Script::NewTaiLue,
    Script::TaiTham,
    Script::TaiViet,
    Script::Ahom,
    Script::Tangut,
    Script::Nushu,
    Script::KhitanSmallScript,
];

/// No letter of these scripts comes before.
const FIRST_UNSPACED: char = '\u{e01}';

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPT: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

/// The tokenizer by which texts are compared: the written one, else words, in which each letter of
/// a script without blanks is a word where a text has such letters. `None` for measures that
/// compare no words.
pub fn tokenizer_for<'t>(
    measure: SimilarityMetric,
    written: Option<Tokenizer>,
    texts: impl IntoIterator<Item = &'t str>,
) -> Option<Tokenizer> {
    let words = *measure.tokenizers().first()?;
    Some(match written {
        Some(Tokenizer::Words) => words,
        Some(written) => written,
        None if texts.into_iter().any(|text| text.chars().any(is_unspaced)) => Tokenizer::Mixed,
        None => words,
    })
}

/// SQuAD's words: ASCII punctuation (Python's `string.punctuation`) is dropped, so that `don't` is
/// `dont`. The other tokenizers drop all punctuation, of which scripts without blanks have their
/// own.
pub(super) fn f1_words(text: &str, tokenizer: Tokenizer) -> String {
    match tokenizer {
        Tokenizer::Mixed => placed(text, |c| match c {
            c if is_unspaced(c) => CharacterRole::Alone,
            c if c.is_ascii_punctuation() => CharacterRole::Dropped,
            c if is_in(c, GeneralCategoryGroup::Punctuation) => CharacterRole::Blank,
            _ => CharacterRole::Kept,
        }),
        Tokenizer::Characters => placed(text, |c| {
            let is_dropped =
                c.is_ascii_punctuation() || is_in(c, GeneralCategoryGroup::Punctuation);
            if is_dropped {
                CharacterRole::Dropped
            } else {
                CharacterRole::Alone
            }
        }),
        Tokenizer::Icu => segments(text, true),
        Tokenizer::Words | Tokenizer::ThirteenA | Tokenizer::Zh => {
            text.chars().filter(|c| !c.is_ascii_punctuation()).collect()
        }
    }
}

/// Runs of letters and digits.
pub(super) fn rouge_words(text: &str, tokenizer: Tokenizer) -> String {
    match tokenizer {
        Tokenizer::Characters => placed(text, |c| {
            let is_kept = c.is_alphanumeric() || is_in(c, GeneralCategoryGroup::Mark);
            if is_kept {
                CharacterRole::Alone
            } else {
                CharacterRole::Blank
            }
        }),
        Tokenizer::Icu => segments(text, true),
        Tokenizer::Mixed => placed(text, |c| match c {
            c if is_unspaced(c) => CharacterRole::Alone,
            c if c.is_alphanumeric() => CharacterRole::Kept,
            _ => CharacterRole::Blank,
        }),
        Tokenizer::Words | Tokenizer::ThirteenA | Tokenizer::Zh => placed(text, |c| {
            if c.is_alphanumeric() {
                CharacterRole::Kept
            } else {
                CharacterRole::Blank
            }
        }),
    }
}

/// Words and signs: of sacrebleu's tokenizers `13a`, `char` and `zh`, or by dictionaries. `mixed`
/// is `zh` in which letters of other scripts without blanks are words, too.
pub(super) fn bleu_words(text: &str, tokenizer: Tokenizer) -> String {
    match tokenizer {
        Tokenizer::Words | Tokenizer::ThirteenA => thirteen_a(text),
        Tokenizer::Zh => zh(text, is_chinese),
        Tokenizer::Mixed => zh(text, |c| is_chinese(c) || is_unspaced(c)),
        Tokenizer::Characters => placed(text, |_| CharacterRole::Alone),
        Tokenizer::Icu => segments(text, false),
    }
}

/// True for letters, and marks upon them, of scripts that are written without blanks.
fn is_unspaced(c: char) -> bool {
    if c < FIRST_UNSPACED {
        return false;
    }
    let is_letter = is_in(c, GeneralCategoryGroup::Letter)
        || is_in(c, GeneralCategoryGroup::Mark)
        || CATEGORY.get(c) == GeneralCategory::LetterNumber;
    let script = SCRIPT.get(c);
    // The sign of a long vowel belongs to both kinds of kana.
    let is_shared = || {
        matches!(script, Script::Common | Script::Inherited)
            && ScriptWithExtensions::new().has_script(c, Script::Katakana)
    };
    is_letter && (UNSPACED.contains(&script) || is_shared())
}

fn is_in(c: char, group: GeneralCategoryGroup) -> bool {
    group.contains(CATEGORY.get(c))
}

/// What becomes of a character.
enum CharacterRole {
    Kept,
    /// A word of its own.
    Alone,
    /// The end of a word.
    Blank,
    Dropped,
}

fn placed(text: &str, place: impl Fn(char) -> CharacterRole) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match place(c) {
            CharacterRole::Kept => out.push(c),
            CharacterRole::Alone => {
                out.push(' ');
                out.push(c);
                out.push(' ');
            }
            CharacterRole::Blank => out.push(' '),
            CharacterRole::Dropped => {}
        }
    }
    out
}

/// Words by Unicode's rules (UAX 29), and by dictionaries and models in scripts without blanks.
/// `words_only` leaves out punctuation and other signs.
fn segments(text: &str, words_only: bool) -> String {
    static SEGMENTER: OnceLock<WordSegmenterBorrowed<'static>> = OnceLock::new();
    let segmenter =
        SEGMENTER.get_or_init(|| WordSegmenter::new_auto(WordBreakInvariantOptions::default()));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (to, kind) in segmenter.segment_str(text).iter_with_word_type() {
        if let Some(segment) = text
            .get(from..to)
            .filter(|_| !words_only || kind.is_word_like())
        {
            out.push_str(segment);
        }
        out.push(' ');
        from = to;
    }
    out
}

/// The tokenizer `13a`: blanks around most punctuation; full stops, commas and hyphens stay inside
/// of numbers.
fn thirteen_a(text: &str) -> String {
    let text = text.trim_end_matches(is_blank);
    let mut text = text
        .replace("<skipped>", "")
        .replace("-\n", "")
        .replace('\n', " ");
    if text.contains('&') {
        for (entity, sign) in [
            ("&quot;", "\""),
            ("&amp;", "&"),
            ("&lt;", "<"),
            ("&gt;", ">"),
        ] {
            text = text.replace(entity, sign);
        }
    }
    with_signs_apart(format!(" {text} "))
}

/// The tokenizer `zh`: letters that `is_alone` are words, and the rest is as in `13a`.
fn zh(text: &str, is_alone: impl Fn(char) -> bool) -> String {
    let place = |c| {
        if is_alone(c) {
            CharacterRole::Alone
        } else {
            CharacterRole::Kept
        }
    };
    with_signs_apart(placed(trim(text), place))
}

/// What `13a` and `zh` have in common.
fn with_signs_apart(mut text: String) -> String {
    static RULES: OnceLock<Option<[Regex; 4]>> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        Some([
            Regex::new(r"([\{-~\[-` -\&\(-\+:-@/])").ok()?,
            Regex::new(r"([^0-9])([\.,])").ok()?,
            Regex::new(r"([\.,])([^0-9])").ok()?,
            Regex::new(r"([0-9])(-)").ok()?,
        ])
    });
    let Some([signs, before, after, hyphen]) = rules else {
        return text;
    };
    text = signs
        .replace_all(&text, |found: &Captures| format!(" {} ", &found[1]))
        .into_owned();
    text = before.replace_all(&text, "$1 $2 ").into_owned();
    text = after.replace_all(&text, " $1 $2").into_owned();
    hyphen.replace_all(&text, "$1 $2 ").into_owned()
}

/// What sacrebleu 2 takes for a Chinese character. Its two ranges beyond U+FFFF are written with
/// four digits and one more character, so that they mean U+2001 to U+2A6D and U+2F81 to U+2FA1: we
/// follow what it computes.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{2001}'..='\u{2a6d}' | '\u{2e80}'..='\u{2fdf}' | '\u{2ff0}'..='\u{303f}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ef}' | '\u{3200}'..='\u{4db5}' | '\u{4e00}'..='\u{9fbb}' | '\u{f900}'..='\u{fa2d}'
        | '\u{fa30}'..='\u{fa6a}' | '\u{fa70}'..='\u{fad9}' | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}'
    )
}
