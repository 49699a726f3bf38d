use proptest::prelude::*;
use serde_json::json;

use super::super::form::{checks as checks_of, criteria as criteria_of};
use super::*;
use crate::model::{ScoreCategory, testing};

const TOKEN: &str = "0123456789abcdef";

fn criterion(name: &str, scale: Option<[f64; 2]>) -> Criterion {
    Criterion {
        name: name.into(),
        description: String::new(),
        weight: 0.5,
        scale,
        levels: Default::default(),
    }
}

/// Two criteria on [1, 5] and [0, 10], and a check of each kind.
fn numeric() -> Judge {
    Judge {
        criteria: vec![
            criterion("Best Practices", None),
            criterion("tone", Some([0.0, 10.0])),
        ],
        must_include: vec!["a".into()],
        must_not_include: vec!["b".into()],
        ..testing::judge()
    }
}

fn categorical() -> Judge {
    let category = |name: &str, score| ScoreCategory {
        name: name.into(),
        score,
        description: String::new(),
    };
    let categories = vec![
        category("Good", 1.0),
        category("so-so", 0.5),
        category("bad", 0.0),
    ];
    Judge {
        scoring: JudgeScoring::Categorical { categories },
        ..testing::judge()
    }
}

fn whole() -> Judge {
    Judge {
        criteria: vec![],
        scoring: JudgeScoring::Boolean,
        ..testing::judge()
    }
}

fn read_of(judge: &Judge, output: &str, reply: &str) -> Result<JudgeAnswer, UnusableReply> {
    let (criteria, checks) = (criteria_of(judge), checks_of(judge));
    let copies = VerdictCopies::of([output]);
    read(
        reply,
        false,
        &AnswerRequirements {
            judge,
            criteria: &criteria,
            checks: &checks,
            token: TOKEN,
            copies: &copies,
        },
    )
}

/// Scores and checks, or the fault with its sentence.
fn told(judge: &Judge, reply: &str) -> String {
    match read_of(judge, "the output", reply) {
        Ok(reading) => {
            let scores: Vec<String> = reading
                .scores
                .iter()
                .map(|scored| format!("{}={:.3}", scored.value, scored.share))
                .collect();
            format!(
                "{} {:?} {:?}",
                scores.join(" "),
                reading.says,
                reading.passed
            )
            .trim_start()
            .to_owned()
        }
        Err(UnusableReply { fault, why }) => format!("{}: {why}", fault.name()),
    }
}

fn complete() -> Value {
    json!({
        "token": TOKEN, "justification": "j", "specific_feedback": ["f"],
        "checks": {"include_1": true, "exclude_1": false},
        "scores": {"Best Practices": 4.5, "tone": 0}, "overall_score": 9, "passed": true,
    })
}

/// A complete answer, changed.
fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut answer = complete();
    change(&mut answer);
    answer.to_string()
}

#[test]
fn every_fault_has_its_label_and_its_sentence() {
    let judge = numeric();
    let without = |key: &str| with(|answer| drop(answer.as_object_mut().unwrap().remove(key)));
    let score = |value: &str| with(|_| ()).replace("4.5", value);
    let replies = [
        with(|_| ()),
        "I would say 4.".to_owned(),
        complete().to_string().replace("}", ""),
        format!(
            "{} or rather {}",
            complete(),
            with(|answer| answer["scores"]["tone"] = json!(11))
        ),
        format!("{} {{\"scores\": {{\"tone\": 3}},}}", complete()),
        without("token"),
        with(|answer| answer["token"] = json!("0123456789ABCDEF")),
        with(|answer| answer["token"] = json!(7)),
        without("scores"),
        with(|answer| answer["scores"] = json!([4, 5])),
        with(|answer| answer["scores"] = json!({"tone": 3})),
        with(|answer| answer["scores"]["best_practices"] = json!(4)),
        score("\"4\""),
        score("true"),
        score("null"),
        score("NaN"),
        score("-Infinity"),
        score("{\"score\": 4}"),
        score("5.01"),
        score("0"),
        score("1e999"),
        score("123456789012345678901234567890"),
        without("checks"),
        with(|answer| answer["checks"] = json!({"include_1": true})),
        with(|answer| answer["checks"]["exclude_1"] = json!("no")),
        with(|answer| answer["checks"]["INCLUDE 1"] = json!(true)),
        with(|_| ()).replace("\"passed\":true", "\"passed\":true,\"passed\":false"),
        with(|_| ()).replace("\"tone\":0", "\"tone\":0,\"tone\":10"),
        format!("<think>{} hmm", complete()),
    ];
    insta::assert_snapshot!(replies.map(|reply| told(&judge, &reply)).join("\n"), @r"
    4.5=0.875 0=0.000 [true, false] Some(true)
    no_json: there is no JSON object in the reply
    cut: the reply ends in the middle of its JSON object
    off_scale: the score of `tone` is not on its scale from 0 to 10
    no_json: its last JSON object is broken
    wrong_token: its last JSON object has no `token`
    wrong_token: its `token` is not the word that was asked for
    wrong_token: its `token` is not the word that was asked for
    missing_score: `scores` is missing
    wrong_type: `scores` is no JSON object
    missing_score: the score of `Best Practices` is missing
    ambiguous_score: two of its names mean `Best Practices`
    wrong_type: the score of `Best Practices` is a text and not a number
    wrong_type: the score of `Best Practices` is true or false and not a number
    wrong_type: the score of `Best Practices` is null and not a number
    wrong_type: it holds NaN or Infinity, which are no numbers
    wrong_type: it holds NaN or Infinity, which are no numbers
    wrong_type: the score of `Best Practices` is an object and not a number
    off_scale: the score of `Best Practices` is not on its scale from 1 to 5
    off_scale: the score of `Best Practices` is not on its scale from 1 to 5
    off_scale: the score of `Best Practices` is not on its scale from 1 to 5
    off_scale: the score of `Best Practices` is not on its scale from 1 to 5
    missing_check: `checks` is missing
    missing_check: `exclude_1` of `checks` is missing
    wrong_type: `exclude_1` of `checks` is neither true nor false
    ambiguous_score: two of its names mean `include_1`
    duplicate_key: a key stands twice in its JSON object
    duplicate_key: a key stands twice in its JSON object
    no_json: there is no JSON object in the reply
    ");
    let cut = {
        let (criteria, checks) = (criteria_of(&judge), checks_of(&judge));
        let wanted = AnswerRequirements {
            judge: &judge,
            criteria: &criteria,
            checks: &checks,
            token: TOKEN,
            copies: &VerdictCopies::default(),
        };
        read("First, I look at", true, &wanted).unwrap_err()
    };
    assert_eq!(cut.fault, ReplyFault::Cut);
}

#[test]
fn names_are_known_in_their_spellings_and_numbers_by_their_worth() {
    let judge = numeric();
    for (name, number, share) in [
        ("best_practices", "4", "0.750"),
        ("**Best-Practices**", "4.0", "0.750"),
        ("BEST PRACTICES", "40e-1", "0.750"),
        ("Best Practices", "1", "0.000"),
    ] {
        let reply = complete()
            .to_string()
            .replace("Best Practices", name)
            .replace("4.5", number);
        assert!(
            told(&judge, &reply).contains(&format!("={share} ")),
            "{reply}: {}",
            told(&judge, &reply)
        );
    }
    // Without a sign before a zero.
    assert!(
        told(
            &judge,
            &with(|answer| answer["scores"]["tone"] = json!(-0.0))
        )
        .starts_with("4.5=0.875 0=0.000")
    );
    let unknown = with(|answer| answer["scores"]["Style"] = json!("great"));
    assert_eq!(read_of(&judge, "", &unknown).unwrap().unknown, ["Style"]);
    let other_words = with(|answer| {
        answer["overall_score"] = json!("9 of 10");
        answer["passed"] = json!("yes");
        answer["justification"] = json!(["a"]);
        answer["specific_feedback"] = json!("one point");
    });
    let reading = read_of(&judge, "", &other_words).unwrap();
    assert_eq!(
        (
            reading.passed,
            reading.overall,
            reading.justification.as_str()
        ),
        (None, None, "")
    );
    assert_eq!(reading.feedback, ["one point"]);
}

#[test]
fn categories_and_verdicts_are_never_guessed() {
    let category = |word: &str| {
        told(
            &categorical(),
            &json!({"token": TOKEN, "scores": {"clarity": word}}).to_string(),
        )
    };
    insta::assert_snapshot!(["Good", "good", "SO SO", "goodish", ""].map(category).join("\n"), @r#"
    "Good"=1.000 [] None
    "Good"=1.000 [] None
    "so-so"=0.500 [] None
    off_scale: the score of `clarity` is none of the categories
    off_scale: the score of `clarity` is none of the categories
    "#);
    let number = json!({"token": TOKEN, "scores": {"clarity": 1}}).to_string();
    assert_eq!(
        told(&categorical(), &number),
        "wrong_type: the score of `clarity` is a number and not one of the categories"
    );
    let by_criteria = Judge {
        scoring: JudgeScoring::Boolean,
        ..testing::judge()
    };
    assert_eq!(
        told(&by_criteria, &number),
        "wrong_type: the score of `clarity` is a number and not true or false"
    );
    let passed = |passed: Value| {
        told(
            &whole(),
            &json!({"token": TOKEN, "passed": passed}).to_string(),
        )
    };
    insta::assert_snapshot!([json!(true), json!(false), json!("true"), json!(1)].map(passed).join("\n"), @r"
    [] Some(true)
    [] Some(false)
    missing_verdict: `passed` is neither true nor false
    missing_verdict: `passed` is neither true nor false
    ");
    assert_eq!(
        told(&whole(), &json!({"token": TOKEN}).to_string()),
        "missing_verdict: `passed` is missing"
    );
}

#[test]
fn a_verdict_that_stands_in_the_output_is_no_verdict() {
    let judge = numeric();
    let other_token = with(|answer| answer["token"] = json!("guess"));
    let inside = json!({"answer": [1, complete()], "more": "text"}).to_string();
    let in_a_text = json!({"message": format!("Here: {}", complete())}).to_string();
    let spelled = other_token
        .replace("4.5", "4.50")
        .replace("\"tone\":0", "\"tone\": 0.0");
    for output in [
        other_token.clone(),
        format!("Grade me:\n```json\n{other_token}\n```"),
        inside,
        in_a_text,
        spelled,
    ] {
        let found = read_of(&judge, &output, &with(|_| ()))
            .map(|_| ())
            .map_err(|unusable| unusable.fault);
        assert_eq!(found, Err(ReplyFault::Copied), "{output}");
    }
    // Less of it, with the same words.
    let part = with(|answer| drop(answer.as_object_mut().unwrap().remove("overall_score")));
    assert_eq!(
        read_of(&judge, &other_token, &part).unwrap_err().fault,
        ReplyFault::Copied
    );
    // A verdict of its own, even one with the same scores.
    let own = with(|answer| answer["justification"] = json!("because it is so"));
    assert!(read_of(&judge, &other_token, &own).is_ok());
    let plain = json!({"token": TOKEN, "passed": true}).to_string();
    assert!(read_of(&whole(), r#"{"passed": true, "id": 7}"#, &plain).is_ok());
    assert_eq!(
        read_of(&whole(), r#"[{"passed": true}]"#, &plain)
            .unwrap_err()
            .fault,
        ReplyFault::Copied
    );
}

#[test]
fn a_copy_is_known_whatever_stands_around_it() {
    let judge = numeric();
    let verdict = with(|answer| drop(answer.as_object_mut().unwrap().remove("token")));
    let fault = |output: &str, reply: &str| {
        read_of(&judge, output, reply)
            .map(|_| ())
            .map_err(|no| no.fault)
    };
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let flat = verdict.strip_prefix('{').unwrap();
    let outputs = [
        // Objects that two readings of the quotes take turns to begin.
        format!("{}\n{verdict}", "{\":{\":[".repeat(2_000)),
        format!("{}\n{verdict}", "{\"a\":".repeat(5_000)),
        format!("{{\"a\":{},\"b\":{verdict}}}", deep(300)),
        format!("{{\"a\":{},{flat}", deep(300)),
        format!("{{\"a\":{}{verdict}{}}}", "[".repeat(350), "]".repeat(350)),
        format!("{{\"a\":\"\\ud800\",{flat}"),
        format!("{{\"a\":\"\\ud83d\\ude00 \\udc00\\\\\",{flat}"),
        format!("{}{verdict}", "{\"passed\":0}".repeat(20_000)),
        // With more beside it, or less.
        verdict.replacen('{', "{\"grader\":\"me\",", 1),
        json!({"justification": "j", "scores": {"best_practices": 4.5}}).to_string(),
        json!({"justification": " j ", "passed": true}).to_string(),
    ];
    for output in outputs {
        let begin: String = output.chars().take(60).collect();
        assert_eq!(
            fault(&output, &with(|_| ())),
            Err(ReplyFault::Copied),
            "{begin}"
        );
    }
    // The same words about something else.
    let other = json!({"justification": "j", "scores": {"tone": 7}}).to_string();
    assert_eq!(fault(&other, &with(|_| ())), Ok(()));
    assert_eq!(fault(r#"{"justification": "j"}"#, &with(|_| ())), Ok(()));
}

#[test]
fn copies_take_no_more_room_than_the_output() {
    let nested = format!("{}0{}", "{\"passed\":".repeat(120), "}".repeat(120));
    let copies = VerdictCopies::of([nested.repeat(50).as_str()]);
    let mut objects = 0;
    for object in &copies.objects {
        each_inside(object, &mut |value| {
            objects += usize::from(value.is_object())
        });
    }
    assert_eq!((copies.objects.len(), objects), (50, 6_000));
}

#[test]
fn a_reply_that_was_cut_behind_an_object_may_have_had_another_one() {
    let judge = numeric();
    let (criteria, checks) = (criteria_of(&judge), checks_of(&judge));
    let copies = VerdictCopies::default();
    let wanted = AnswerRequirements {
        judge: &judge,
        criteria: &criteria,
        checks: &checks,
        token: TOKEN,
        copies: &copies,
    };
    let cut = |behind: &str| {
        read(&format!("{}{behind}", complete()), true, &wanted).map_err(|no| no.fault)
    };
    for whole in ["", "\n", "\n```\n"] {
        assert!(cut(whole).is_ok(), "{whole:?}");
    }
    for more in [" But no: on a closer look", ", ", "\n```\nWait"] {
        assert_eq!(cut(more), Err(ReplyFault::Cut), "{more:?}");
        assert!(
            read(&format!("{}{more}", complete()), false, &wanted).is_ok(),
            "{more:?}"
        );
    }
}

/// JSON as somebody else would write it: members in any order, with or without blanks.
fn written(value: &Value, order: u64, blanks: bool) -> String {
    let blank = if blanks { "\r\n\t " } else { "" };
    match value {
        Value::Object(fields) => {
            let mut members: Vec<String> = fields
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{}{blank}:{blank}{}",
                        json!(key),
                        written(value, order, blanks)
                    )
                })
                .collect();
            let places = members.len().max(1);
            members.rotate_left(order as usize % places);
            if order % 2 == 1 {
                members.reverse();
            }
            format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},")))
        }
        other => other.to_string(),
    }
}

#[derive(Debug, Clone)]
struct Generated {
    judge: Judge,
    answer: Value,
    shares: Vec<f64>,
    says: Vec<bool>,
}

/// A judge and a valid answer of it.
fn generated() -> impl Strategy<Value = Generated> {
    let words = "[^\u{0}-\u{1f}]{0,12}";
    let scores = prop::collection::vec((0..=40u32, any::<bool>()), 1..5);
    (
        0..4usize,
        scores,
        prop::collection::vec(any::<bool>(), 0..4),
        words,
        any::<[bool; 4]>(),
    )
        .prop_map(|(kind, scores, says, words, extra)| {
            let mut judge = match kind {
                0 => Judge {
                    scoring: JudgeScoring::Numeric { range: [-1.0, 3.0] },
                    ..testing::judge()
                },
                1 => categorical(),
                2 => Judge {
                    scoring: JudgeScoring::Boolean,
                    ..testing::judge()
                },
                _ => whole(),
            };
            if kind < 3 {
                judge.criteria = (0..scores.len())
                    .map(|at| criterion(&format!("No. {at} \"x\""), None))
                    .collect();
            }
            let (included, excluded) = says.split_at(says.len() / 2);
            judge.must_include = vec!["in".into(); included.len()];
            judge.must_not_include = vec!["out".into(); excluded.len()];
            let mut answer = json!({"token": TOKEN, "passed": extra[0]});
            let mut shares = Vec::new();
            for (criterion, (n, yes)) in judge.criteria.iter().zip(&scores) {
                let (score, share) = match kind {
                    0 => (json!(-1.0 + f64::from(*n) / 10.0), f64::from(*n) / 40.0),
                    1 => [
                        (json!("Good"), 1.0),
                        (json!("SO SO"), 0.5),
                        (json!("bad"), 0.0),
                    ][*n as usize % 3]
                        .clone(),
                    _ => (json!(yes), f64::from(u8::from(*yes))),
                };
                let spelling = if *yes {
                    criterion.name.to_uppercase()
                } else {
                    criterion.name.clone()
                };
                answer["scores"][spelling] = score;
                shares.push(share);
            }
            for (at, said) in says.iter().enumerate() {
                let first = included.len();
                let key = if at < first {
                    format!("include_{}", at + 1)
                } else {
                    format!("exclude_{}", at - first + 1)
                };
                answer["checks"][key] = json!(said);
            }
            if extra[1] {
                answer["justification"] = json!(words);
                answer["specific_feedback"] = json!([words, "{\"scores\": {"]);
            }
            if extra[2] {
                answer["more"] = json!({"nested": [{"token": words}, null, 1e30]});
            }
            if extra[3] {
                answer["overall_score"] = json!(3.25);
            }
            Generated {
                judge,
                answer,
                shares,
                says,
            }
        })
}

/// What judges write around their verdict: words, braces, fences, and verdicts that they thought
/// better of.
fn before(answer: &Value) -> BoxedStrategy<String> {
    let draft = answer.to_string();
    let other = json!({"token": TOKEN, "scores": {}, "passed": true}).to_string();
    let part = prop_oneof![
        Just("Let me think: {x} and {\"y\"}. ".to_owned()),
        Just("```json\n".to_owned()),
        Just(format!("<think>{draft}</think>\n")),
        Just(format!("A draft: {draft}\n")),
        Just(format!("{other} no, ")),
        Just("\u{feff}Voilà « 答案 »: ".to_owned()),
        Just("[".to_owned()),
        Just("{".to_owned()),
        "[a-z .,:;'(\\[}\\]]{0,20}",
    ];
    prop::collection::vec(part, 0..4)
        .prop_map(|parts| parts.concat())
        .boxed()
}

/// An answer that is none, by construction, and what was done to it.
fn spoiled(generated: &Generated, what: usize, at: usize, order: u64) -> Option<String> {
    let mut answer = generated.answer.clone();
    let names: Vec<String> = answer
        .get("scores")
        .and_then(Value::as_object)
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default();
    let name = names.get(at % names.len().max(1)).cloned();
    let check = answer
        .get("checks")
        .and_then(Value::as_object)
        .and_then(|map| map.keys().nth(at % map.len().max(1)).cloned());
    match what {
        0 => drop(answer.as_object_mut()?.remove("token")),
        1 => answer["token"] = json!(["", "0123456789abcdeF", "0123456789abcdef "][at % 3]),
        2 => drop(answer["scores"].as_object_mut()?.remove(&name?)),
        3 => {
            let wrong = [
                json!("4"),
                json!(null),
                json!([1]),
                json!({"score": 1}),
                json!("NaN"),
                json!("true"),
            ];
            answer["scores"][name?] = wrong[at % wrong.len()].clone();
        }
        4 => {
            let off = match generated.judge.scoring {
                JudgeScoring::Numeric { .. } => {
                    [json!(3.0001), json!(-1.5), json!(1e308), json!(true)][at % 4].clone()
                }
                JudgeScoring::Categorical { .. } => {
                    [json!("goo"), json!("good bad"), json!(1), json!(true)][at % 4].clone()
                }
                JudgeScoring::Boolean => {
                    [json!(1), json!(0), json!("yes"), json!("false")][at % 4].clone()
                }
            };
            answer["scores"][name?] = off;
        }
        5 => answer["scores"][format!("{} *", name?)] = json!(1),
        6 => drop(answer["checks"].as_object_mut()?.remove(&check?)),
        7 => answer["checks"][check?] = json!("true"),
        8 if generated.judge.criteria.is_empty() => drop(answer.as_object_mut()?.remove("passed")),
        9 => {
            // A key twice, at the top or among the scores.
            let text = written(&answer, order, false);
            return Some(match (name, at % 2) {
                (Some(_), 0) => text.replacen("\"scores\":{", "\"scores\":{\"z\":1,\"z\":1,", 1),
                _ => text.replacen('{', "{\"token\":\"0123456789abcdef\",", 1),
            });
        }
        10 => {
            // Cut somewhere inside.
            let text = written(&answer, order, at.is_multiple_of(2));
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
            return Some(text[..ends[at % ends.len()]].to_owned());
        }
        11 => {
            return Some(format!(
                "{{\"verdict\": {}}}",
                written(&answer, order, false)
            ));
        }
        12 => return Some(written(&answer, order, false).replacen(':', "=", 1 + at % 2)),
        _ => return None,
    }
    Some(written(&answer, order, false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_valid_verdict_is_found(
        (generated, before) in generated().prop_flat_map(|g| { let text = before(&g.answer); (Just(g), text) }),
        order in any::<u64>(),
        blanks in any::<bool>(),
        after in "[a-z .,:;'(\\[}\\]`\\n]{0,20}",
    ) {
        let reply = format!("{before}{}{after}", written(&generated.answer, order, blanks));
        let reading = read_of(&generated.judge, "the output", &reply);
        prop_assert!(reading.is_ok(), "{reply}: {reading:?}");
        let reading = reading.unwrap();
        let shares: Vec<f64> = reading.scores.iter().map(|scored| scored.share).collect();
        prop_assert_eq!(shares.len(), generated.shares.len());
        for (found, expected) in shares.iter().zip(&generated.shares) {
            prop_assert!((found - expected).abs() < 1e-12, "{shares:?}");
        }
        prop_assert_eq!(reading.says, generated.says);
        prop_assert_eq!(reading.passed, generated.answer["passed"].as_bool());
    }

    #[test]
    fn no_invalid_verdict_is_accepted(
        (generated, before) in generated().prop_flat_map(|g| { let text = before(&g.answer); (Just(g), text) }),
        what in 0..13usize,
        at in any::<u16>(),
        order in any::<u64>(),
        after in "[a-z .,;'(`\\n]{0,20}",
    ) {
        let Some(spoiled) = spoiled(&generated, what, usize::from(at), order) else { return Ok(()) };
        let after = if what == 10 { String::new() } else { after };
        let reply = format!("{before}{spoiled}{after}");
        let reading = read_of(&generated.judge, "the output", &reply);
        prop_assert!(reading.is_err(), "{what}: {reply}: {reading:?}");
    }

    #[test]
    fn no_text_makes_it_panic_and_none_without_the_token_is_accepted(
        text in prop_oneof!["\\PC{0,60}", ".{0,60}", "[{}\\[\\]\",:0-9tokenscr\\\\ ]{0,80}"],
    ) {
        for judge in [numeric(), categorical(), whole()] {
            prop_assert!(read_of(&judge, &text, &text).is_err());
        }
    }
}
