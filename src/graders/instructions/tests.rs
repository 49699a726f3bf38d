use serde_json::{Map, Value, json};

use super::*;

fn list(instructions: &[(&str, Value)]) -> InstructionList {
    let of = |(id, kwargs): &(&str, Value)| {
        let kwargs = kwargs.as_object().cloned().unwrap_or_default();
        Instruction::of(id, &kwargs).unwrap()
    };
    InstructionList {
        instructions: instructions.iter().map(of).collect(),
    }
}

fn grade(instructions: &[(&str, Value)], output: &str) -> Grade {
    let value = OutputValue::Text(output.to_owned());
    list(instructions).grade(&value, &PatternCache::default())
}

/// An instruction, a text that follows it, and one that breaks it, also by the loose rules.
fn examples() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    vec![
        (
            "keywords:existence",
            json!({"keywords": ["river", "boat"]}),
            "A Boat on the RIVER",
            "a boat",
        ),
        (
            "keywords:frequency",
            json!({"keyword": "tea", "frequency": 2, "relation": "at least"}),
            "Tea and tea",
            "tea and milk",
        ),
        (
            "keywords:forbidden_words",
            json!({"forbidden_words": ["cat"]}),
            "a category",
            "the Cat.",
        ),
        (
            "keywords:letter_frequency",
            json!({"letter": "Q", "let_frequency": 2, "let_relation": "less than"}),
            "quick",
            "Quick queue",
        ),
        (
            "language:response_language",
            json!({"language": "de"}),
            "Der Hund lief schnell über die Straße, weil er seinen Ball sehen wollte.",
            "The dog ran over the street quickly because it wanted to see its ball.",
        ),
        (
            "length_constraints:number_sentences",
            json!({"num_sentences": 3, "relation": "at least"}),
            "Dr. Lee left. Why? He was tired.",
            "Dr. Lee left at 3.5 miles. He was tired.",
        ),
        (
            "length_constraints:number_paragraphs",
            json!({"num_paragraphs": 2}),
            "one\n***\ntwo",
            "one\n\ntwo",
        ),
        (
            "length_constraints:number_words",
            json!({"num_words": 4, "relation": "less than"}),
            "it's two",
            "it's well-known",
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            json!({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Then"}),
            "First this.\n\n\"Then, that.",
            "First this.\n\nThat then.",
        ),
        (
            "detectable_content:number_placeholders",
            json!({"num_placeholders": 2}),
            "[name] of [city]",
            "[name of] city",
        ),
        (
            "detectable_content:postscript",
            json!({"postscript_marker": "P.P.S"}),
            "Bye\nP. P. S. one more",
            "Bye\nP.S. one more",
        ),
        (
            "detectable_format:number_bullet_lists",
            json!({"num_bullets": 2}),
            "* one\n  - two",
            "** one\nx - two",
        ),
        (
            "detectable_format:constrained_response",
            json!({}),
            "Well. My answer is no.",
            "No.",
        ),
        (
            "detectable_format:number_highlighted_sections",
            json!({"num_highlights": 2}),
            "*one* and **two**",
            "*one* and ** **",
        ),
        (
            "detectable_format:multiple_sections",
            json!({"section_spliter": "Section", "num_sections": 2}),
            "Section 1\na\nSection 2\nb",
            "Section A Section 2",
        ),
        (
            "detectable_format:json_format",
            json!({}),
            "```json\n{\"a\": 1}\n```",
            "{a: 1}\n",
        ),
        (
            "detectable_format:title",
            json!({}),
            "<<On Rain>> text",
            "<< >> text",
        ),
        (
            "combination:two_responses",
            json!({}),
            "one\n******\ntwo",
            "one\n******\none",
        ),
        (
            "combination:repeat_prompt",
            json!({"prompt_to_repeat": "Say hello."}),
            " say hello. Hello!",
            "Hello!",
        ),
        (
            "startend:end_checker",
            json!({"end_phrase": "That is all."}),
            "x\n\"So: that is ALL.\" ",
            "That is all. Bye.",
        ),
        ("startend:quotation", json!({}), "\"a\"", "\""),
        (
            "change_case:capital_word_frequency",
            json!({"capital_frequency": 3, "capital_relation": "at least"}),
            "DON'T stop, USA",
            "A WELL-KNOWN man",
        ),
        (
            "change_case:english_capital",
            json!({}),
            "THIS IS A SENTENCE THAT WE WROTE IN CAPITAL LETTERS, WITH 1 NUMBER.",
            "THIS IS A SENTENCE THAT WE WROTE IN CAPITAL LETTERs.",
        ),
        (
            "change_case:english_lowercase",
            json!({}),
            "this is a sentence that we wrote in small letters.",
            "das ist ein satz, den wir nur mit kleinen buchstaben geschrieben haben.",
        ),
        ("punctuation:no_comma", json!({}), "a; b", "a, b"),
    ]
}

#[test]
fn each_instruction_has_a_following_and_a_breaking_text() {
    let all = examples();
    assert_eq!(all.len(), 25);
    for (id, kwargs, following, breaking) in all {
        let one = [(id, kwargs)];
        let good = grade(&one, following);
        assert!(
            good.outcome == crate::model::Outcome::Passed,
            "{id}: {good:?}"
        );
        let bad = grade(&one, breaking);
        assert!(
            bad.outcome == crate::model::Outcome::Failed,
            "{id}: {bad:?}"
        );
        assert!(bad.reason.contains(id), "{id}: {}", bad.reason);
        assert!(bad.metrics[ALL_LOOSE] == 0.0, "{id}: {bad:?}");
    }
}

#[test]
fn an_empty_output_follows_nothing() {
    for (id, kwargs, ..) in examples() {
        let g = grade(&[(id, kwargs)], " \n");
        assert_eq!(g.score, Some(0.0), "{id}");
        assert_eq!(g.metrics[FOLLOWED_LOOSE], 0.0, "{id}");
    }
}

#[test]
fn strict_and_loose_rates_differ_by_first_line_and_asterisks() {
    let both = [
        ("punctuation:no_comma", json!({})),
        ("startend:quotation", json!({})),
    ];
    let g = grade(&both, "Sure, here it is:\n\"**a**\"");
    assert_eq!(
        (
            g.metrics[FOLLOWED],
            g.metrics[FOLLOWED_LOOSE],
            g.metrics[ALL_LOOSE]
        ),
        (0.0, 1.0, 1.0)
    );
    assert_eq!(
        (
            g.metrics[GIVEN_COUNT],
            g.metrics[FOLLOWED_COUNT],
            g.metrics[FOLLOWED_LOOSE_COUNT]
        ),
        (2.0, 0.0, 2.0)
    );
    let g = grade(&both, "a; b");
    assert_eq!(
        (g.score, g.metrics[FOLLOWED_LOOSE], g.metrics[ALL_LOOSE]),
        (Some(0.5), 0.5, 0.0)
    );
    assert_eq!(
        g.reason,
        "1 of 2 instructions is not followed: `startend:quotation`"
    );
}

#[test]
fn a_language_that_is_not_detected_is_errored() {
    let g = grade(
        &[("language:response_language", json!({"language": "sw"}))],
        "Habari ya asubuhi, rafiki yangu.",
    );
    assert_eq!(
        (g.outcome, g.cause, g.metrics.len()),
        (crate::model::Outcome::Errored, Some(Cause::Harness), 0)
    );
    assert!(g.reason.contains("`sw`"), "{}", g.reason);
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    let fault = |id: &str, kwargs: Value| {
        let kwargs: Map<String, Value> = kwargs.as_object().cloned().unwrap_or_default();
        Instruction::of(id, &kwargs).unwrap_err()
    };
    let words = "length_constraints:number_words";
    for (id, kwargs, part) in [
        ("length:words", json!({}), "unknown variant"),
        (words, json!({"relation": "at least"}), "num_words"),
        (
            words,
            json!({"num_words": 3, "relation": "at most"}),
            "at most",
        ),
        ("punctuation:no_comma", json!({"commas": 1}), "commas"),
        ("keywords:existence", json!({"keywords": []}), "empty"),
        ("keywords:existence", json!({"keywords": [" "]}), "empty"),
        ("keywords:existence", json!({"keywords": ["(a"]}), "(a"),
    ] {
        let why = fault(id, kwargs);
        assert!(why.contains(part) && why.contains(id), "{why}");
    }
    let nulls = json!({"num_words": null, "keywords": null});
    let nulls = nulls.as_object().cloned().unwrap();
    assert!(Instruction::of("punctuation:no_comma", &nulls).is_ok());
}

#[test]
fn instruction_lists_survive_a_journal() {
    let all: Vec<(&str, Value)> = examples()
        .into_iter()
        .map(|(id, kwargs, ..)| (id, kwargs))
        .collect();
    let written = list(&all);
    let read: InstructionList =
        serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
    assert_eq!(read, written);
}
