use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::{
    CaseResult, Cause, EvalResult, EvalType, Grade, GraderType, InputKind, InputShown, Outcome,
    SampleResult, Trust, Usage,
};

fn sample(outcome: Outcome, output: Value) -> SampleResult {
    SampleResult {
        reused_from: None,
        index: 0,
        outcome,
        score: Some(0.0),
        cause: None,
        reason: String::new(),
        output: Some(output),
        output_truncated: false,
        thoughts: None,
        workspace: None,
        trajectory: None,
        extracted: None,
        grades: Vec::new(),
        metrics: Default::default(),
        attempts: 1,
        earlier: Vec::new(),
        flaky: false,
        infrastructure_retries: 0,
        latency_ms: None,
        duration_ms: 3.0,
        usage: None,
        finish: None,
        call: None,
        not_run: Vec::new(),
    }
}

fn case(id: &str, outcome: Outcome, output: Value) -> CaseResult {
    CaseResult {
        id: id.to_owned(),
        name: None,
        outcome,
        score: None,
        cause: None,
        flaky: false,
        first_passes: 0,
        first_graded: 1,
        tags: Vec::new(),
        input: None,
        samples: vec![sample(outcome, output)],
    }
}

fn eval(cases: Vec<CaseResult>) -> EvalResult {
    EvalResult {
        private: false,
        id: "e".to_owned(),
        name: "e".to_owned(),
        kind: EvalType::Capability,
        category: None,
        tags: Vec::new(),
        weight: 1.0,
        difficulty: None,
        criticality: None,
        source: None,
        outcome: Outcome::Failed,
        score: None,
        counts: Default::default(),
        cases,
    }
}

fn all(eval: &EvalResult) -> Vec<PlacedCase<'_>> {
    eval.cases
        .iter()
        .map(|case| PlacedCase {
            eval_at: 0,
            eval,
            case,
        })
        .collect()
}

/// What a page reads of a case.
fn read(eval: &EvalResult, budget: usize) -> Vec<Value> {
    let told = details(&all(eval), budget).expect("details");
    told.iter()
        .map(|json| serde_json::from_slice(json).expect("JSON"))
        .collect()
}

fn rich() -> CaseResult {
    let expected = json!({"id": 7, "price": serde_json::from_str::<Value>("1.10").unwrap()});
    let actual = json!({"id": 7, "price": serde_json::from_str::<Value>("1.1000000000000000000001").unwrap()});
    let mut grade = Grade::failed(GraderType::Code, "exact_match", Cause::WrongAnswer, "another price")
        .with_expected(expected)
        .with_actual(actual.clone())
        .with_trust(Trust::Split)
        .with_detail("stderr", "line 1\nline 2")
        .with_detail("differences", json!([{"path": "price", "kind": "value", "expected": "1.10", "actual": "1.1000000000000000000001"}]));
    grade.informative = true;
    grade.unmeasured = vec!["lint_pass".to_owned()];
    let mut case = case("</script><!--", Outcome::Failed, actual);
    case.input = Some(Box::new(InputShown {
        kind: InputKind::Messages,
        value: json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How much?", "name": "x"}]),
        path: None,
        context: Some(json!({"a": 1})),
        truncated: false,
    }));
    let sample = &mut case.samples[0];
    sample.grades = vec![grade];
    sample.reason = "another price".to_owned();
    sample.usage = Some(Usage {
        input_tokens: 12_345,
        output_tokens: 6,
        cost_usd: Some(0.5),
    });
    sample.metrics.insert("latency_ms".to_owned(), 1_234.0);
    case.samples
        .insert(0, self::sample(Outcome::Passed, json!("fine")));
    case
}

#[test]
fn what_a_page_knows_of_a_case() {
    let eval = eval(vec![rich()]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&read(&eval, limits::DETAILS)[0]).unwrap(), @r###"
    {
      "input": {
        "context": {
          "json": true,
          "text": "{\n  \"a\": 1\n}"
        },
        "parts": [
          [
            "system",
            {
              "text": "Be brief."
            }
          ],
          [
            "user",
            {
              "json": true,
              "text": "{\n  \"content\": \"How much?\",\n  \"name\": \"x\",\n  \"role\": \"user\"\n}"
            }
          ]
        ],
        "type": "messages"
      },
      "rerun": "--eval e --case '</script><!--'",
      "samples": [
        {
          "facts": [
            [
              "Total time",
              "3.0 ms"
            ],
            [
              "Tokens",
              "12,345 in, 6 out"
            ],
            [
              "Cost",
              "$0.5000"
            ]
          ],
          "grades": [
            {
              "actual_is_output": true,
              "cause": "wrong_answer",
              "details": [
                [
                  "stderr",
                  {
                    "text": "line 1\nline 2"
                  }
                ]
              ],
              "expected": {
                "json": true,
                "text": "{\n  \"id\": 7,\n  \"price\": 1.10\n}"
              },
              "informative": true,
              "method": "exact_match",
              "outcome": "failed",
              "places": {
                "more": 0,
                "rows": [
                  {
                    "actual": [
                      "1.1000000000000000000001"
                    ],
                    "expected": [
                      "1.10"
                    ],
                    "note": "",
                    "path": "price"
                  }
                ]
              },
              "reason": {
                "text": "another price"
              },
              "score": "0.000",
              "trust": [
                "split",
                "the tests ran in a process without the candidate's code"
              ],
              "type": "code",
              "unmeasured": [
                "lint pass"
              ]
            }
          ],
          "index": 0,
          "metrics": [
            [
              "latency",
              "1.23 s"
            ]
          ],
          "outcome": "failed",
          "output": {
            "json": true,
            "text": "{\n  \"id\": 7,\n  \"price\": 1.1000000000000000000001\n}"
          },
          "reason": {
            "text": "another price"
          },
          "score": "0.000"
        },
        {
          "facts": [
            [
              "Total time",
              "3.0 ms"
            ]
          ],
          "index": 0,
          "outcome": "passed",
          "output": {
            "text": "fine"
          },
          "score": "0.000"
        }
      ]
    }
    "###);
}

#[test]
fn nothing_that_is_said_ends_a_block() {
    let mut hostile = rich();
    hostile.samples[0].output = Some(json!({"</script><script>alert(1)</script>": "<!--\u{2028}"}));
    let eval = eval(vec![hostile]);
    let mut out = Vec::new();
    write(&all(&eval), limits::DETAILS, &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let json = page
        .strip_prefix(r#"<script type="application/json" id="details-0">"#)
        .unwrap();
    let json = json.strip_suffix("</script>\n").unwrap();
    assert!(!json.contains(['<', '>', '&', '\u{2028}']));
    let read: Value = serde_json::from_str(json).unwrap();
    // The failed sample comes first.
    assert_eq!(
        read[0]["samples"][1]["output"]["text"],
        "{\n  \"</script><script>alert(1)</script>\": \"<!--\u{2028}\"\n}"
    );
}

#[test]
fn one_large_case_does_not_shorten_the_others() {
    let long = "word ".repeat(2_000);
    let mut large = case("large", Outcome::Failed, json!(long));
    large.samples = vec![large.samples[0].clone(); 400];
    let eval = eval(vec![large, case("small", Outcome::Failed, json!(long))]);
    let read = read(&eval, 2 << 20);
    assert_eq!(
        read[1]["samples"][0]["output"]["text"]
            .as_str()
            .unwrap()
            .len(),
        long.len()
    );
    assert_eq!(
        (
            read[0]["samples"].as_array().unwrap().len(),
            &read[0]["more"]
        ),
        (100, &json!(300))
    );
}

#[test]
fn a_cut_says_how_much_is_there() {
    let eval = eval(vec![case("a", Outcome::Passed, json!("é".repeat(30_000)))]);
    let output = &read(&eval, limits::DETAILS)[0]["samples"][0]["output"];
    assert_eq!(output["text"].as_str().unwrap().len(), 32 << 10);
    assert_eq!(
        output["cut"],
        "Truncated: 32,768 of 60,000 bytes are shown; the journal has all of them."
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Never above the budget; where something is left out or cut, the passes are before the rest;
    /// always the same bytes.
    #[test]
    fn details_keep_to_their_budget(
        cases in prop::collection::vec((any::<bool>(), "[a-z<&é\u{2028}\u{1F600}]{0,40}", 1usize..400), 1..40),
        budget in 500usize..200_000,
    ) {
        let cases = cases.iter().enumerate().map(|(n, (passed, text, times))| {
            let outcome = if *passed { Outcome::Passed } else { Outcome::Failed };
            case(&n.to_string(), outcome, json!(text.repeat(*times)))
        });
        let eval = eval(cases.collect());
        let held = all(&eval);
        let told = details(&held, budget).expect("details");
        prop_assert_eq!(told.len(), held.len());
        let taken: usize = told.iter().map(|json| embed::length(json) + COMMA).sum();
        prop_assert!(taken <= budget, "{taken} of {budget}");
        for json in &told {
            let read: Value = serde_json::from_slice(json).expect("JSON");
            prop_assert!(read.is_null() || read["samples"].is_array());
        }
        let missing = |matters: bool| told.iter().zip(&held).filter(|(json, held)| held.matters() == matters && json.as_slice() == NOTHING).count();
        // As long as where room does not matter; one that is too large by itself is cut there, too.
        let longest = |held: &PlacedCase<'_>| one(held, 0, &|held, limit| serde_json::to_vec(&CaseShown::of(held, limit))).expect("JSON");
        let whole = |matters: bool| told.iter().zip(&held).all(|(json, held)| {
            held.matters() != matters || *json == longest(held)
        });
        if missing(true) > 0 {
            prop_assert!(taken > 0);
        } else if missing(false) == 0 && !whole(true) {
            // Texts of what matters were cut for want of room only.
            let full: usize = held.iter().filter(|held| held.matters()).map(|held| embed::length(&longest(held))).sum();
            prop_assert!(full > budget / 2, "{full} of {budget}");
        }
        prop_assert_eq!(details(&held, budget).expect("details"), told);
    }
}
