//! How alike two texts are, as one number: Levenshtein ratio, F1 over words, ROUGE-L, and how much
//! of a text was edited.
//!
//! All of these are in [0, 1], 1 for what is alike, but for the edit rate. BLEU has a file of its
//! own.

use std::collections::HashMap;

use super::bleu::bleu;
use super::distance::{self, DistanceBudget, TooLong, common_subsequence, levenshtein};
use super::text::{TextOptions, split_at_blanks, trim};
use super::tokens::{f1_words, rouge_words, tokenizer_for};
use crate::options::{EditUnit, SimilarityMetric, Tokenizer};

/// Bytes of a text from which on nothing is compared.
pub const LONGEST: usize = 16 << 20;

/// 1 - d / max(|a|, |b|), d the Levenshtein distance and both lengths in Unicode scalar values; 1
/// for two empty texts.
pub fn ratio(a: &str, b: &str, budget: &mut DistanceBudget) -> Result<f64, TooLong> {
    let (a, b) = (scalars(a)?, scalars(b)?);
    let longest = a.len().max(b.len());
    let distance = levenshtein(&a, &b, budget)?;
    Ok(if longest == 0 {
        1.0
    } else {
        1.0 - distance as f64 / longest as f64
    })
}

/// d / |suggestion|, d the Levenshtein distance between the suggestion and what became of it, both
/// in the given unit. It may be more than 1. An empty suggestion counts as one unit long: all that
/// was written in its place had to be written.
pub fn edit_rate(
    suggestion: &str,
    became: &str,
    unit: EditUnit,
    budget: &mut DistanceBudget,
) -> Result<f64, TooLong> {
    let rate = |distance: usize, length: usize| distance as f64 / length.max(1) as f64;
    let mut by = |cut: fn(&str) -> Vec<&str>| {
        let (a, b) = (cut(bounded(suggestion)?), cut(bounded(became)?));
        Ok(rate(levenshtein(&a, &b, &mut *budget)?, a.len()))
    };
    match unit {
        EditUnit::Tokens => by(code_tokens),
        EditUnit::Lines => by(|text| text.lines().collect()),
        EditUnit::Chars => {
            let (a, b) = (scalars(suggestion)?, scalars(became)?);
            Ok(rate(levenshtein(&a, &b, budget)?, a.len()))
        }
    }
}

/// F1 of the words that two texts share, counted as often as both have them: SQuAD's (Rajpurkar et
/// al. 2016, arXiv:1606.05250), without its steps that lower the case (the caller's choice) and
/// drop English articles. 1 for equal texts; 0 when one of them has no words.
pub fn token_f1(a: &str, b: &str, tokenizer: Tokenizer) -> Result<f64, TooLong> {
    let (a, b) = (bounded(a)?, bounded(b)?);
    if trim(a) == trim(b) {
        return Ok(1.0);
    }
    let (mine, theirs) = (f1_words(a, tokenizer), f1_words(b, tokenizer));
    let (mine, theirs): (Vec<&str>, Vec<&str>) = (
        split_at_blanks(&mine).collect(),
        split_at_blanks(&theirs).collect(),
    );
    let mut left: HashMap<&str, usize> = HashMap::new();
    theirs
        .iter()
        .for_each(|word| *left.entry(word).or_default() += 1);
    let mut shared = 0;
    for word in &mine {
        if let Some(count) = left.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    Ok(f1(shared, mine.len(), theirs.len()))
}

/// ROUGE-L's F1 (Lin 2004, *ROUGE: A Package for Automatic Evaluation of Summaries*, with beta =
/// 1): the longest common subsequence of words against both lengths. Words are runs of letters and
/// digits. 1 for equal texts.
pub fn rouge_l(
    a: &str,
    b: &str,
    tokenizer: Tokenizer,
    budget: &mut DistanceBudget,
) -> Result<f64, TooLong> {
    let (a, b) = (bounded(a)?, bounded(b)?);
    if trim(a) == trim(b) {
        return Ok(1.0);
    }
    let (mine, theirs) = (rouge_words(a, tokenizer), rouge_words(b, tokenizer));
    let (mine, theirs): (Vec<&str>, Vec<&str>) = (
        split_at_blanks(&mine).collect(),
        split_at_blanks(&theirs).collect(),
    );
    let shared = common_subsequence(&mine, &theirs, budget)?;
    Ok(f1(shared, mine.len(), theirs.len()))
}

/// How alike two texts are by one of the measures, 1 for equal ones: blanks at the ends and line
/// ends don't count, and where words are compared neither does case. Words are those of the texts'
/// scripts. Of `edit_rate` less is better, and it is by characters.
pub fn likeness(
    measure: SimilarityMetric,
    output: &str,
    reference: &str,
    budget: &mut DistanceBudget,
) -> Result<f64, TooLong> {
    let by_words = matches!(
        measure,
        SimilarityMetric::TokenF1 | SimilarityMetric::RougeL
    );
    let options = TextOptions {
        case_sensitive: !by_words,
        ..TextOptions::default()
    };
    let (output, reference) = (options.apply(output), options.apply(reference));
    let tokenizer =
        tokenizer_for(measure, None, [reference.as_ref(), output.as_ref()]).unwrap_or_default();
    match measure {
        SimilarityMetric::Levenshtein => ratio(&output, &reference, budget),
        SimilarityMetric::TokenF1 => token_f1(&output, &reference, tokenizer),
        SimilarityMetric::RougeL => rouge_l(&output, &reference, tokenizer, budget),
        SimilarityMetric::EditRate => edit_rate(&output, &reference, EditUnit::Chars, budget),
        SimilarityMetric::Bleu => bleu(&output, std::iter::once(reference.as_ref()), tokenizer),
    }
}

/// True when a text has a word that [`token_f1`] and [`rouge_l`] could find.
pub fn has_words(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// The harmonic mean of shared / a and shared / b.
fn f1(shared: usize, a: usize, b: usize) -> f64 {
    if shared == 0 {
        0.0
    } else {
        2.0 * shared as f64 / (a + b) as f64
    }
}

/// What an editor would call a token: a run of letters, digits and underscores, or one other
/// character; white space parts.
fn code_tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        if !first.is_whitespace() {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

fn scalars(text: &str) -> Result<Vec<char>, TooLong> {
    Ok(bounded(text)?.chars().collect())
}

fn bounded(text: &str) -> Result<&str, TooLong> {
    distance::bounded(text, LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tokens::bleu_words;
    use super::*;

    fn full() -> DistanceBudget {
        DistanceBudget::FULL
    }

    #[test]
    fn levenshtein_ratios() {
        // 3 edits, 7 characters.
        assert_eq!(ratio("kitten", "sitting", &mut full()), Ok(1.0 - 3.0 / 7.0));
        assert_eq!(ratio("", "", &mut full()), Ok(1.0));
        assert_eq!(ratio("", "a", &mut full()), Ok(0.0));
        // Scalar values: a composed letter is one of them, a flag is two.
        assert_eq!(ratio("é", "e", &mut full()), Ok(0.0));
        assert_eq!(ratio("e\u{301}", "e", &mut full()), Ok(0.5));
        assert_eq!(ratio("🇫🇷", "🇩🇪", &mut full()), Ok(0.0));
    }

    #[test]
    fn token_f1_is_that_of_squad() {
        // 2 of 3 words of the one are 2 of 4 of the other: 2 * 2 / 7.
        assert_eq!(
            token_f1("red green blue", "green red red car", Tokenizer::Words),
            Ok(4.0 / 7.0)
        );
        assert_eq!(
            token_f1("red green blue", "green RED car", Tokenizer::Words),
            Ok(2.0 / 6.0)
        );
        assert_eq!(token_f1("it's 42.", "its 42", Tokenizer::Words), Ok(1.0));
        assert_eq!(token_f1("", "word", Tokenizer::Words), Ok(0.0));
        // Without words nothing is shared, unless the texts are the same.
        assert_eq!(token_f1("!!!", "???", Tokenizer::Words), Ok(0.0));
        assert_eq!(token_f1("!!!", " !!! ", Tokenizer::Words), Ok(1.0));
    }

    #[test]
    fn separators_of_ascii_are_white_space_as_in_python() {
        // SQuAD's normalisation splits by `str.split()`, for which U+001C to U+001F are white
        // space.
        for separator in ['\u{1c}', '\u{1d}', '\u{1e}', '\u{1f}', '\u{85}', '\u{3000}'] {
            let text = format!("red{separator}green");
            assert_eq!(
                token_f1(&text, "green red", Tokenizer::Words),
                Ok(1.0),
                "{separator:?}"
            );
            assert_eq!(
                token_f1(&format!("{separator}!"), "!", Tokenizer::Words),
                Ok(1.0),
                "{separator:?}"
            );
        }
    }

    #[test]
    fn texts_without_blanks_have_words_in_every_measure() {
        use SimilarityMetric::{Bleu, RougeL, TokenF1};
        let pairs = [
            ("猫が好きです", "猫は好きです"),
            ("我喜欢吃苹果。", "我爱吃苹果"),
            ("ผมชอบกินข้าวผัด", "ฉันชอบกินข้าวต้ม"),
            ("ខ្ញុំស្រលាញ់កម្ពុជា", "ខ្ញុំស្រលាញ់"),
            ("ຂ້ອຍມັກເຂົ້າ", "ຂ້ອຍມັກເຂົ້າຫຼາຍ"),
            ("ကျွန်တော်ချစ်တယ်", "ကျွန်တော်မချစ်ဘူး"),
        ];
        for (output, reference) in pairs {
            for measure in [TokenF1, RougeL, Bleu] {
                let number = likeness(measure, output, reference, &mut full()).unwrap();
                assert!(
                    (0.2..1.0).contains(&number),
                    "{measure:?} {number} {output}"
                );
                assert_eq!(
                    tokenizer_for(measure, None, [reference]),
                    Some(Tokenizer::Mixed)
                );
            }
        }
        // Other scripts keep their words, and their numbers.
        for text in ["Über 3 Дома", "한국어를 좋아해요", "हिन्दी में", "العربية"]
        {
            assert_eq!(
                tokenizer_for(TokenF1, None, [text]),
                Some(Tokenizer::Words),
                "{text}"
            );
            assert_eq!(
                tokenizer_for(Bleu, None, [text]),
                Some(Tokenizer::ThirteenA),
                "{text}"
            );
        }
        assert_eq!(
            tokenizer_for(SimilarityMetric::Levenshtein, None, ["猫"]),
            None
        );
    }

    #[test]
    fn tokenizers_part_texts_into_these_words() {
        let text = "「iPhone 15」は高い、don't! コーヒーを飲む";
        let words = |tokenizer| {
            [
                f1_words(text, tokenizer),
                rouge_words(text, tokenizer),
                bleu_words(text, tokenizer),
            ]
            .map(|words| split_at_blanks(&words).collect::<Vec<_>>().join("|"))
            .join("\n")
        };
        let all = [
            Tokenizer::Words,
            Tokenizer::Mixed,
            Tokenizer::Characters,
            Tokenizer::Icu,
            Tokenizer::Zh,
        ];
        let all: Vec<String> = all
            .map(|one| format!("{}\n{}", one.name(), words(one)))
            .into();
        insta::assert_snapshot!(all.join("\n"), @r"
        words
        「iPhone|15」は高い、dont|コーヒーを飲む
        iPhone|15|は高い|don|t|コーヒーを飲む
        「iPhone|15」は高い、don't|!|コーヒーを飲む
        mixed
        iPhone|15|は|高|い|dont|コ|ー|ヒ|ー|を|飲|む
        iPhone|15|は|高|い|don|t|コ|ー|ヒ|ー|を|飲|む
        「|iPhone|15|」|は|高|い|、|don't|!|コ|ー|ヒ|ー|を|飲|む
        characters
        i|P|h|o|n|e|1|5|は|高|い|d|o|n|t|コ|ー|ヒ|ー|を|飲|む
        i|P|h|o|n|e|1|5|は|高|い|d|o|n|t|コ|ー|ヒ|ー|を|飲|む
        「|i|P|h|o|n|e|1|5|」|は|高|い|、|d|o|n|'|t|!|コ|ー|ヒ|ー|を|飲|む
        icu
        iPhone|15|は|高い|don't|コーヒー|を|飲む
        iPhone|15|は|高い|don't|コーヒー|を|飲む
        「|iPhone|15|」|は|高い|、|don't|!|コーヒー|を|飲む
        zh
        「iPhone|15」は高い、dont|コーヒーを飲む
        iPhone|15|は高い|don|t|コーヒーを飲む
        「|iPhone|15|」|は|高|い|、|don't|!|コーヒーを|飲|む
        ");
    }

    #[test]
    fn one_foreign_letter_does_not_move_the_words_of_a_text() {
        let (a, b) = ("the quick brown fox of 王", "a slow red dog of 王");
        assert_eq!(
            token_f1(a, b, Tokenizer::Mixed),
            token_f1(a, b, Tokenizer::Words)
        );
        assert_eq!(token_f1(a, b, Tokenizer::Mixed), Ok(2.0 * 2.0 / 12.0));
    }

    #[test]
    fn rouge_l_of_lins_example() {
        // Lin 2004, section 3.1: the common subsequence "police the gunman" is shorter than "police
        // killed the gunman".
        let reference = "police killed the gunman";
        assert_eq!(
            rouge_l(
                "police kill the gunman",
                reference,
                Tokenizer::Words,
                &mut full()
            ),
            Ok(0.75)
        );
        assert_eq!(
            rouge_l(
                "the gunman kill police",
                reference,
                Tokenizer::Words,
                &mut full()
            ),
            Ok(0.5)
        );
        assert_eq!(
            rouge_l("---", "words", Tokenizer::Words, &mut full()),
            Ok(0.0)
        );
    }

    /// What the packages rouge-score 0.1.2 (without its stemmer) and rapidfuzz 3 say of the same
    /// pairs.
    #[test]
    fn as_other_programs_compute_it() {
        let pairs = [
            (
                "The quick brown fox jumps over the lazy dog.",
                "The fast brown fox jumped over the lazy dog.",
                0.7777777777777778,
                0.8409090909090909,
            ),
            (
                "It is a guide to action which ensures that the military always obeys the commands of the party",
                "It is a guide to action that ensures that the military will forever heed Party commands",
                0.6470588235294118,
                0.6382978723404256,
            ),
            (
                "Fixes 3 bugs, e.g. the log-rotation (1,000 lines).",
                "Fixes three bugs, e.g. log rotation of 1,000 lines.",
                0.8181818181818182,
                0.7254901960784313,
            ),
        ];
        for (a, b, rouge, levenshtein) in pairs {
            let got = rouge_l(
                &a.to_lowercase(),
                &b.to_lowercase(),
                Tokenizer::Words,
                &mut full(),
            )
            .unwrap();
            assert!((got - rouge).abs() < 1e-12, "{got} {a}");
            let got = ratio(a, b, &mut full()).unwrap();
            assert!((got - levenshtein).abs() < 1e-12, "{got} {a}");
        }
    }

    #[test]
    fn edit_rates_are_by_the_suggestions_length() {
        let rate = |a: &str, b: &str, unit| edit_rate(a, b, unit, &mut full()).unwrap();
        assert_eq!(rate("abcd", "abXd", EditUnit::Chars), 0.25);
        assert_eq!(rate("ab", "abcdef", EditUnit::Chars), 2.0);
        assert_eq!(rate("", "abc", EditUnit::Chars), 3.0);
        assert_eq!(rate("", "", EditUnit::Chars), 0.0);
        // def add ( a , b ) : return a + b: 12 tokens, of which two are renamed.
        assert_eq!(
            rate(
                "def add(a, b): return a + b",
                "def add(a, c): return a + c",
                EditUnit::Tokens
            ),
            2.0 / 12.0
        );
        assert_eq!(rate("a\nb\nc\n", "a\nc\n", EditUnit::Lines), 1.0 / 3.0);
    }

    #[test]
    fn long_texts_are_refused() {
        let long = "a".repeat(LONGEST + 1);
        assert!(ratio(&long, "a", &mut full()).is_err());
        assert!(token_f1(&long, "a", Tokenizer::Words).is_err());
        assert!(edit_rate("a", &long, EditUnit::Lines, &mut full()).is_err());
        assert!(rouge_l("a", &long, Tokenizer::Words, &mut full()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn symmetric_in_range_and_1_for_the_same(a in "[ab .!É]{0,12}", b in "[ab .!É]{0,12}") {
            let all = |a: &str, b: &str| {
                [
                    ratio(a, b, &mut full()).unwrap(),
                    token_f1(a, b, Tokenizer::Words).unwrap(),
                    rouge_l(a, b, Tokenizer::Words, &mut full()).unwrap(),
                ]
            };
            prop_assert_eq!(all(&a, &b), all(&b, &a));
            prop_assert!(all(&a, &b).iter().all(|value| (0.0..=1.0).contains(value)));
            prop_assert_eq!(all(&a, &a), [1.0; 3]);
            prop_assert_eq!(ratio(&a, &b, &mut full()).unwrap() == 1.0, a == b);
            for unit in [EditUnit::Chars, EditUnit::Tokens, EditUnit::Lines] {
                prop_assert!(edit_rate(&a, &b, unit, &mut full()).unwrap() >= 0.0);
                prop_assert_eq!(edit_rate(&a, &a, unit, &mut full()).unwrap(), 0.0);
            }
        }

        /// By every way to pair words off, not by counting.
        #[test]
        fn f1_pairs_words_off(a in prop::collection::vec("[abc]", 1..7), b in prop::collection::vec("[abc]", 1..7)) {
            let mut left = b.clone();
            let mut shared = 0usize;
            for word in &a {
                if let Some(at) = left.iter().position(|other| other == word) {
                    left.remove(at);
                    shared += 1;
                }
            }
            let (precision, recall) = (shared as f64 / a.len() as f64, shared as f64 / b.len() as f64);
            let expected = if shared == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
            let got = token_f1(&a.join(" "), &b.join(" "), Tokenizer::Words).unwrap();
            prop_assert!((got - expected).abs() < 1e-12);
        }
    }
}
