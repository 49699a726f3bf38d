//! BLEU of one sentence or text against its references.
//!
//! Papineni et al. 2002, *BLEU: a Method for Automatic Evaluation of Machine Translation*: the
//! geometric mean of the shares of 1- to 4-grams that a reference has too (each counted at most as
//! often as in the reference that has it most often), times a penalty for being shorter than the
//! reference of the closest length. Without a match of some length the share is smoothed as in
//! sacrebleu's `exp` (NIST's mteval-v13a; method 3 of Chen & Cherry 2014), and texts of fewer than
//! four words use the n-grams that they have (sacrebleu's `effective_order`). Words are those of
//! sacrebleu's tokenizers `13a`, `char` and `zh`, so that the number is sacrebleu's
//! `sentence_bleu(...).score / 100`.

use std::collections::HashMap;

use super::distance::{TooLong, bounded};
use super::text::split_at_blanks;
use super::tokens::bleu_words;
use crate::options::Tokenizer;

/// Longest n-grams.
const ORDER: usize = 4;

/// Bytes of a text from which on nothing is compared: a text of signs alone has as many words, of
/// which all 4-grams are counted.
const LONGEST: usize = 2 << 20;

/// In [0, 1]; 0 without references or without a word in common.
pub fn bleu<'r>(
    text: &str,
    references: impl IntoIterator<Item = &'r str>,
    tokenizer: Tokenizer,
) -> Result<f64, TooLong> {
    let text = bleu_words(bounded(text, LONGEST)?, tokenizer);
    let mut others = Vec::new();
    for reference in references {
        others.push(bleu_words(bounded(reference, LONGEST)?, tokenizer));
    }
    let text: Vec<&str> = split_at_blanks(&text).collect();
    let others: Vec<Vec<&str>> = others
        .iter()
        .map(|other| split_at_blanks(other).collect())
        .collect();
    Ok(of_words(&text, &others))
}

fn of_words(text: &[&str], references: &[Vec<&str>]) -> f64 {
    let length = |words: &Vec<&str>| (words.len().abs_diff(text.len()), words.len());
    let Some(closest) = references.iter().min_by_key(|words| length(words)) else {
        return 0.0;
    };
    let (mut logarithms, mut order, mut smoothing) = (0.0, 0, 1.0);
    for n in 1..=ORDER.min(text.len()) {
        let (matched, total) = matches(text, references, n);
        if n == 1 && matched == 0 {
            return 0.0;
        }
        let share = if matched == 0 {
            smoothing *= 2.0;
            1.0 / (smoothing * total as f64)
        } else {
            matched as f64 / total as f64
        };
        logarithms += share.ln();
        order = n;
    }
    if order == 0 {
        return 0.0;
    }
    let brevity = (1.0 - closest.len() as f64 / text.len() as f64)
        .min(0.0)
        .exp();
    (brevity * (logarithms / order as f64).exp()).clamp(0.0, 1.0)
}

/// The n-grams of a text that references have, and all of them.
fn matches(text: &[&str], references: &[Vec<&str>], n: usize) -> (usize, usize) {
    let mut most: HashMap<&[&str], usize> = HashMap::new();
    for reference in references {
        for (gram, count) in counted(reference, n) {
            let known = most.entry(gram).or_default();
            *known = count.max(*known);
        }
    }
    let counts = counted(text, n);
    let total = counts.values().sum();
    let matched = counts
        .iter()
        .map(|(gram, count)| (*count).min(most.get(gram).copied().unwrap_or(0)))
        .sum();
    (matched, total)
}

fn counted<'w, 't>(words: &'w [&'t str], n: usize) -> HashMap<&'w [&'t str], usize> {
    let mut counts = HashMap::new();
    words
        .windows(n)
        .for_each(|gram| *counts.entry(gram).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn score(text: &str, references: &[&str]) -> f64 {
        bleu(text, references.iter().copied(), Tokenizer::ThirteenA).unwrap()
    }

    #[test]
    fn words_are_those_of_13a() {
        let words = |text: &str| {
            split_at_blanks(&bleu_words(text, Tokenizer::ThirteenA))
                .collect::<Vec<_>>()
                .join("|")
        };
        insta::assert_snapshot!(words("Hello, world! It's 3.14 (or 1,000) &amp; more-or-less 5-6."), @"Hello|,|world|!|It's|3.14|(|or|1,000|)|&|more-or-less|5|-|6|.");
        insta::assert_snapshot!(words("a [b] {c} x/y a_b \"q\" e.g.,"), @r#"a|[|b|]|{|c|}|x|/|y|a|_|b|"|q|"|e|.|g|.|,"#);
    }

    #[test]
    fn by_hand() {
        assert_eq!(
            score("the cat sat on the mat", &["the cat sat on the mat"]),
            1.0
        );
        // Papineni's example of clipping: 2 of 7 unigrams; then smoothed 1/(2*6), 1/(4*5), 1/(8*4);
        // the reference is not longer.
        let expected = (2.0 / 7.0 * (1.0 / 12.0) * (1.0 / 20.0) * (1.0 / 32.0_f64)).powf(0.25);
        assert!(
            (score("the the the the the the the", &["the cat is on the mat"]) - expected).abs()
                < 1e-12
        );
        // Two words: 1- and 2-grams only; exp(1 - 4/2) for being half as long.
        assert!((score("a b", &["a b c d"]) - (-1.0_f64).exp()).abs() < 1e-12);
        // Of two lengths that are as close, the shorter: no penalty.
        assert_eq!(score("a b c", &["a b", "a b c d"]), 1.0);
        for nothing in [
            score("", &["a"]),
            score("a", &[""]),
            score("a", &["b"]),
            score("a", &[]),
        ] {
            assert_eq!(nothing, 0.0);
        }
    }

    #[test]
    fn long_texts_are_refused() {
        let long = ".".repeat(LONGEST + 1);
        assert_eq!(
            bleu(&long, ["a"], Tokenizer::ThirteenA),
            Err(TooLong::One(LONGEST + 1))
        );
        assert_eq!(
            bleu("a", [long.as_str()], Tokenizer::ThirteenA),
            Err(TooLong::One(LONGEST + 1))
        );
    }

    /// What sacrebleu 2 says: `sentence_bleu(text, references).score / 100`.
    #[test]
    fn as_sacrebleu_computes_it() {
        let papineni = [
            "It is a guide to action that ensures that the military will forever heed Party commands",
            "It is the guiding principle which guarantees the military forces always being under the command of the Party",
            "It is the practical guide for the army always to heed the directions of the party",
        ];
        let text = "It is a guide to action which ensures that the military always obeys the commands of the party";
        let fox = "The quick brown fox jumps over the lazy dog.";
        let rotation = "Fixes 3 bugs, e.g. the log-rotation (1,000 lines).";
        for (got, expected) in [
            (score(text, &papineni), 0.5045666840058485),
            (
                score(fox, &["The fast brown fox jumped over the lazy dog."]),
                0.4671379777281999,
            ),
            (
                score(
                    rotation,
                    &["Fixes three bugs, e.g. log rotation of 1,000 lines."],
                ),
                0.3850322886878713,
            ),
            (score("a b", &["a b c d"]), 0.3678794411714425),
            (
                score("the the the the the the the", &["the cat is on the mat"]),
                0.07809849842300637,
            ),
        ] {
            assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
    }

    /// What sacrebleu 2.6.0 says of texts without blanks, with `effective_order`, under its
    /// tokenizers `13a`, `char` and `zh`.
    #[test]
    fn tokenizers_as_sacrebleu_computes_them() {
        let pairs: [(&str, &[&str], [f64; 3]); 10] = [
            (
                "猫が好きです",
                &["猫は好きです"],
                [0.0, 0.537284965911771, 0.35355339059327373],
            ),
            (
                "我喜欢吃苹果，也喜欢吃香蕉。",
                &["我爱吃苹果和香蕉。"],
                [0.0, 0.18476860420522187, 0.18476860420522187],
            ),
            // A full stop after a digit at the end stays with it under `zh`, and not under `13a`.
            (
                "今天天气很好，我们去公园玩5.",
                &[
                    "今天的天气真好，我们去公园玩3.5小时。",
                    "今天天气不错，我们到公园去玩。",
                ],
                [0.0, 0.6729864884660307, 0.6515132562023375],
            ),
            (
                "ผมชอบกินข้าวผัด",
                &["ฉันชอบกินข้าวต้ม"],
                [0.0, 0.6132167468990616, 0.0],
            ),
            (
                "iPhone 15 的价格是 5,999 元。",
                &["iPhone 15 售价为 5,999.00 元"],
                [0.21364350319811698, 0.5485292191279825, 0.11339582221952005],
            ),
            // Signs from U+2001 to U+2A6D are Chinese to it.
            (
                "“你好”…他说：①②",
                &["“您好”，他说：①③"],
                [0.0, 0.32466791547509893, 0.32466791547509893],
            ),
            // Ideographs beyond U+FFFF are not.
            (
                "𠮷野家的牛肉飯",
                &["𠮷野家的豬肉飯"],
                [0.0, 0.4889230224349009, 0.4889230224349009],
            ),
            (
                "the cat sat on the mat.",
                &["the cat is on the mat."],
                [0.4889230224349009, 0.7276817202342096, 0.4889230224349009],
            ),
            // U+001C to U+001F are white space for Python.
            ("a\u{1c}b c d e", &["a b c d e f"], [0.8187307530779823; 3]),
            (
                "コーヒーを飲む",
                &["コーヒーを飲んだ"],
                [0.0, 0.7013967267997689, 0.5503212081491042],
            ),
        ];
        for (text, references, expected) in pairs {
            let tokenizers = [Tokenizer::ThirteenA, Tokenizer::Characters, Tokenizer::Zh];
            for (tokenizer, expected) in tokenizers.into_iter().zip(expected) {
                let got = bleu(text, references.iter().copied(), tokenizer).unwrap();
                assert!(
                    (got - expected).abs() < 1e-12,
                    "{} {got} {expected} {text}",
                    tokenizer.name()
                );
            }
        }
    }

    #[test]
    fn mixed_is_zh_with_letters_of_other_scripts() {
        let by = |tokenizer, a, b| bleu(a, [b], tokenizer).unwrap();
        let (a, b) = (
            "我喜欢吃苹果，也喜欢吃3.5斤香蕉。",
            "我爱吃苹果和香蕉，3.5斤。",
        );
        assert_eq!(by(Tokenizer::Mixed, a, b), by(Tokenizer::Zh, a, b));
        let (a, b) = ("ผมชอบกินข้าวผัด", "ฉันชอบกินข้าวต้ม");
        assert_eq!(by(Tokenizer::Mixed, a, b), by(Tokenizer::Characters, a, b));
        // 我|喜欢|吃|苹果|。 against 我|喜欢|苹果|。: 4 of 5, 2 of 4, then smoothed 1/(2*3) and 1/(4*2).
        let expected = (0.8 * 0.5 / 6.0 / 8.0_f64).powf(0.25);
        assert!((by(Tokenizer::Icu, "我喜欢吃苹果。", "我喜欢苹果。") - expected).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn in_range_and_1_for_the_same(a in "[ab.,3 -]{0,20}", b in "[ab.,3 -]{0,20}") {
            prop_assert!((0.0..=1.0).contains(&score(&a, &[&b])));
            if !bleu_words(&a, Tokenizer::ThirteenA).trim().is_empty() {
                prop_assert!((score(&a, &[&a, &b]) - 1.0).abs() < 1e-12);
            }
        }
    }
}
