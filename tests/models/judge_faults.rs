//! A thousand judged samples before a judge of whose answers one in five goes wrong: outcomes,
//! scores, causes, repairs and tokens are those that were scripted.
//!
//! The script is a function of the judged output, of how often the judge was asked to repair its
//! answer, and of the try; what must come of each sample is computed from it here, by other means
//! than the program's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use crate::judge::Asked;
use crate::model_runs::{Journal, KEY, KEY_ENV, RUN, Sample};
use crate::model_server::{Act, After, Ask, End, ModelServer, Said, Step, draw};
use crate::support::Project;
use serde_json::{Value, json};

const SEED: u64 = 8_000_005;
const RETRIES: usize = 2;
const REPAIRS: usize = 2;

const RUBRIC: &str = "Judge the answer.\n1. **Depth** (weight: 0.75)\n   - 5: deep\n   - 1: flat\n2. **Tone** (weight: 0.25)\n   - 5: calm\n   - 1: shrill\n";

/// What goes wrong with one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Status(u16),
    Reset,
    Truncated,
    NotJson,
    ErrorBody,
    Empty,
    Stall,
}

impl Trouble {
    fn label(self) -> &'static str {
        match self {
            Trouble::Status(429) => "429",
            Trouble::Status(503) => "503",
            Trouble::Status(_) => "5xx",
            Trouble::Reset | Trouble::Truncated => "reset",
            Trouble::NotJson => "unreadable",
            Trouble::ErrorBody => "error_body",
            Trouble::Empty => "empty",
            Trouble::Stall => "timeout",
        }
    }

    fn act(self) -> Act {
        match self {
            Trouble::Status(status) => Act::Status(
                status,
                if status == 429 {
                    After::Millis(20)
                } else {
                    After::Unsaid
                },
            ),
            Trouble::Reset => Act::Reset,
            Trouble::Truncated => Act::Truncated,
            Trouble::NotJson => Act::NotJson,
            Trouble::ErrorBody => Act::ErrorBody,
            Trouble::Empty => Act::Empty,
            Trouble::Stall => Act::StallHead,
        }
    }
}

/// What is odd about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    // Those that can be used all the same.
    InProse,
    Fenced,
    AfterADraft,
    UnknownCriterion,
    OtherSpelling,
    Fractions,
    // Those that can't.
    NoJson,
    Cut,
    Missing,
    OffScale,
    Text,
    Truth,
    NotANumber,
    Null,
    Huge,
    Duplicate,
    WrongToken,
    NoToken,
    BrokenAfterADraft,
    OtherShape,
    Refusal,
}

const HARMLESS: &[Oddity] = &[
    Oddity::InProse,
    Oddity::Fenced,
    Oddity::AfterADraft,
    Oddity::UnknownCriterion,
    Oddity::OtherSpelling,
    Oddity::Fractions,
];

const FAULTS: &[Oddity] = &[
    Oddity::NoJson,
    Oddity::Cut,
    Oddity::Missing,
    Oddity::OffScale,
    Oddity::Text,
    Oddity::Truth,
    Oddity::NotANumber,
    Oddity::Null,
    Oddity::Huge,
    Oddity::Duplicate,
    Oddity::WrongToken,
    Oddity::NoToken,
    Oddity::BrokenAfterADraft,
    Oddity::OtherShape,
    Oddity::Refusal,
];

/// What is done about one try of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Trouble(Trouble),
    Reply(Option<Oddity>),
}

fn pick<T: Copy>(all: &[T], drawn: u64) -> T {
    all[(drawn % all.len() as u64) as usize]
}

fn fault(drawn: u64) -> Turn {
    match drawn % 3 {
        0 => Turn::Trouble(pick(
            &[
                Trouble::Status(429),
                Trouble::Status(503),
                Trouble::Status(500),
                Trouble::Reset,
                Trouble::Truncated,
                Trouble::NotJson,
                Trouble::ErrorBody,
                Trouble::Empty,
            ],
            drawn >> 8,
        )),
        _ => Turn::Reply(Some(pick(FAULTS, drawn >> 8))),
    }
}

/// The script.
fn turn(output: &str, repairs: usize, nth: usize) -> Turn {
    let cursed = draw(SEED, output, 999);
    let drawn = draw(SEED + 1 + repairs as u64, output, nth);
    match cursed % 100 {
        // Some never succeed, in one way or in another; and a few stall once.
        0 => {
            return Turn::Trouble(pick(
                &[Trouble::Status(503), Trouble::Reset, Trouble::Empty],
                cursed >> 8,
            ));
        }
        1..=3 => return Turn::Reply(Some(pick(FAULTS, drawn >> 8))),
        4 if (cursed >> 8).is_multiple_of(3) && (repairs, nth) == (0, 0) => {
            return Turn::Trouble(Trouble::Stall);
        }
        _ => {}
    }
    match drawn % 20 {
        0..=3 => fault(drawn >> 5),
        4..=7 => Turn::Reply(Some(pick(HARMLESS, drawn >> 5))),
        _ => Turn::Reply(None),
    }
}

/// The scores that an output deserves.
fn deserved(output: &str) -> (u64, u64) {
    let drawn = draw(SEED + 7, output, 0);
    (1 + drawn % 5, 1 + (drawn >> 8) % 5)
}

fn tokens(output: &str, repairs: usize, nth: usize) -> (u64, u64) {
    let drawn = draw(SEED + 9, output, 10 * repairs + nth);
    (100 + drawn % 900, 10 + (drawn >> 32) % 90)
}

fn scored(asked: &Asked, (depth, tone): (Value, Value)) -> Value {
    asked.verdict(
        |name, _| {
            if name == "Depth" {
                depth.clone()
            } else {
                tone.clone()
            }
        },
        |_| true,
        true,
    )
}

/// The words of an answer.
fn reply(asked: &Asked, odd: Option<Oddity>) -> String {
    let (depth, tone) = deserved(asked.output());
    let good = scored(asked, (json!(depth), json!(tone)));
    let with = |depth: Value| scored(asked, (depth, json!(tone))).to_string();
    let Some(odd) = odd else {
        return good.to_string();
    };
    let mut changed = good.clone();
    match odd {
        Oddity::InProse => format!("Let me see {{ that is }}.\n{good}\nI hope {{this}} helps."),
        Oddity::Fenced => format!(
            "```json\n{}\n```\n",
            serde_json::to_string_pretty(&good).expect("JSON")
        ),
        Oddity::AfterADraft => {
            format!(
                "Draft: {}\nBut no. Finally:\n{good}",
                scored(asked, (json!(6 - depth), json!(6 - tone)))
            )
        }
        Oddity::UnknownCriterion => {
            changed["scores"]["Charm"] = json!(5);
            changed.to_string()
        }
        Oddity::OtherSpelling => good
            .to_string()
            .replace("\"Depth\"", "\"**depth**\"")
            .replace("\"Tone\"", "\"tone\""),
        Oddity::Fractions => good.to_string().replace(
            &format!("\"Depth\":{depth}"),
            &format!("\"Depth\":{depth}.0"),
        ),
        Oddity::NoJson => "It is quite good, I would say 4 of 5.".to_owned(),
        Oddity::Cut => {
            let text = good.to_string();
            text[..text.len() * 2 / 3].to_owned()
        }
        Oddity::Missing => {
            changed["scores"]
                .as_object_mut()
                .expect("an object")
                .remove("Tone");
            changed.to_string()
        }
        Oddity::OffScale => with(json!(6)),
        Oddity::Text => with(json!("4")),
        Oddity::Truth => with(json!(true)),
        Oddity::NotANumber => good
            .to_string()
            .replace(&format!("\"Depth\":{depth}"), "\"Depth\":NaN"),
        Oddity::Null => with(Value::Null),
        Oddity::Huge => good
            .to_string()
            .replace(&format!("\"Depth\":{depth}"), "\"Depth\":1e999"),
        Oddity::Duplicate => good.to_string().replace(
            &format!("\"Depth\":{depth}"),
            &format!("\"Depth\":5,\"Depth\":{depth}"),
        ),
        Oddity::WrongToken => {
            changed["token"] = json!("0123456789abcdef");
            changed.to_string()
        }
        Oddity::NoToken => {
            changed.as_object_mut().expect("an object").remove("token");
            changed.to_string()
        }
        // The first one must not be taken because the last one is of no use.
        Oddity::BrokenAfterADraft => format!("{good}\n{}", with(json!(-1))),
        Oddity::OtherShape => {
            json!({"token": asked.token, "scores": 4, "passed": true}).to_string()
        }
        Oddity::Refusal => "I can't help with that.".to_owned(),
    }
}

/// The labels that fit; `None`: the answer can be used.
fn labels(odd: Option<Oddity>) -> Option<&'static [&'static str]> {
    Some(match odd? {
        odd if HARMLESS.contains(&odd) => return None,
        Oddity::NoJson => &["no_json"],
        Oddity::Cut => &["cut"],
        Oddity::Missing => &["missing_score"],
        Oddity::OffScale | Oddity::BrokenAfterADraft => &["off_scale"],
        Oddity::Text | Oddity::Truth | Oddity::Null => &["wrong_type"],
        // No JSON number, so that nothing of it is JSON.
        Oddity::NotANumber => &["no_json", "wrong_type"],
        Oddity::Huge => &["off_scale", "wrong_type", "no_json"],
        Oddity::Duplicate => &["duplicate_key"],
        Oddity::WrongToken | Oddity::NoToken => &["wrong_token"],
        Oddity::OtherShape => &["missing_score", "wrong_type"],
        Oddity::Refusal => &["refused"],
        _ => return None,
    })
}

/// How often each turn was asked for, by output and repairs.
type Counted = Arc<Mutex<BTreeMap<(String, usize), usize>>>;

fn act(ask: &Ask, counted: &Counted) -> Step {
    let asked = Asked::of(ask);
    let (output, repairs) = (asked.output().to_owned(), asked.repairs());
    let nth = {
        let mut counted = counted.lock().expect("nobody panics");
        let count = counted.entry((output.clone(), repairs)).or_default();
        *count += 1;
        *count - 1
    };
    let said = |text: String, end| {
        Act::Say(Said {
            end,
            ..Said::new(text, tokens(&output, repairs, nth))
        })
    };
    let act = match turn(&output, repairs, nth) {
        Turn::Trouble(trouble) => trouble.act(),
        Turn::Reply(Some(Oddity::Refusal)) => {
            said(reply(&asked, Some(Oddity::Refusal)), End::Refused)
        }
        Turn::Reply(Some(Oddity::Cut)) => said(reply(&asked, Some(Oddity::Cut)), End::Length),
        Turn::Reply(odd) => said(reply(&asked, odd), End::Stop),
    };
    Step::after(2 + draw(SEED, &output, nth) % 15, act)
}

/// What must come of a sample.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    outcome: &'static str,
    cause: Option<&'static str>,
    /// Weighted by hand.
    share: Option<f64>,
    /// Of each answer that could not be used, the labels that fit.
    faults: Vec<&'static [&'static str]>,
    answers: usize,
    requests: u64,
    tokens: (u64, u64),
    troubles: BTreeMap<&'static str, u64>,
    /// Tries whose answer said nothing and told tokens.
    empty: u64,
}

fn expected(output: &str) -> Expected {
    let mut it = Expected {
        outcome: "errored",
        ..Expected::default()
    };
    for repairs in 0..=REPAIRS {
        let mut replied = None;
        for nth in 0..=RETRIES {
            it.requests += 1;
            match turn(output, repairs, nth) {
                Turn::Trouble(trouble) => {
                    *it.troubles.entry(trouble.label()).or_default() += 1;
                    it.empty += u64::from(trouble == Trouble::Empty);
                }
                Turn::Reply(odd) => {
                    let (input, output) = tokens(output, repairs, nth);
                    it.tokens = (it.tokens.0 + input, it.tokens.1 + output);
                    it.answers += 1;
                    replied = Some(odd);
                    break;
                }
            }
        }
        let Some(odd) = replied else {
            it.cause = Some("judge_unreachable");
            return it;
        };
        match labels(odd) {
            None => {
                let (depth, tone) = deserved(output);
                let share = 0.75 * ((depth - 1) as f64 / 4.0) + 0.25 * ((tone - 1) as f64 / 4.0);
                it.share = Some(share);
                (it.outcome, it.cause) = if share >= 0.7 {
                    ("passed", None)
                } else {
                    ("failed", Some("threshold"))
                };
                return it;
            }
            Some(labels) => it.faults.push(labels),
        }
        if odd == Some(Oddity::Refusal) {
            break;
        }
    }
    it.cause = Some("judge_unparseable");
    it
}

fn project(server: &ModelServer, provider: &str, cases: usize) -> Project {
    let project = Project::new();
    let (mut rows, mut outputs) = (String::new(), String::new());
    for n in 0..cases {
        let _ = writeln!(rows, "{}", json!({"n": n}));
        for sample in 0..2 {
            let _ = writeln!(
                outputs,
                "{}",
                json!({"case": format!("c{n}"), "output": output(n, sample)})
            );
        }
    }
    let config = json!({
        "model": format!("{provider}:judge"), "base_url": server.url(), "api_key_env": KEY_ENV, "rubric": RUBRIC, "retries": RETRIES,
        "timeout_seconds": 5, "max_concurrency": 32,
    });
    let case = json!({"id": "c{{ row.n }}", "input": "case {{ row.n }}", "grader": {"type": "model", "config": config}});
    let eval = json!({"metadata": {"id": "judged"}, "dataset": {"path": "rows.jsonl", "format": "jsonl", "case": case}});
    let suite = json!({"eval_suite": {
        "name": "Judged", "config": {"max_workers": 4, "samples": 2}, "target": {"type": "recorded", "path": "outputs.jsonl"},
        "evals": [{"$ref": "eval.yaml"}], "reporting": {"format": ["json", "markdown"]},
    }});
    project.write("suite.yaml", &suite.to_string());
    project.write("eval.yaml", &eval.to_string());
    project.write("rows.jsonl", &rows);
    project.write("outputs.jsonl", &outputs);
    project
}

fn output(n: usize, sample: u64) -> String {
    format!("Answer {n}.{sample} of the assistant.")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn check(sample: &Sample, expected: &Expected) {
    let told = || format!("{expected:#?}\n{sample:#?}");
    assert_eq!(
        (sample.outcome.as_str(), sample.cause.as_deref()),
        (expected.outcome, expected.cause),
        "{}",
        told()
    );
    match (sample.score, expected.share) {
        (Some(score), Some(share)) => assert!((score - share).abs() < 1e-9, "{}", told()),
        (score, share) => assert_eq!(score, share, "{}", told()),
    }
    let votes = sample.judged["votes"].as_array().expect("votes");
    let [vote] = votes.as_slice() else {
        panic!("one vote: {}", told())
    };
    let replies = vote["replies"].as_array().cloned().unwrap_or_default();
    assert_eq!(replies.len(), expected.answers, "{}", told());
    let faults: Vec<&str> = replies
        .iter()
        .filter_map(|reply| reply["fault"].as_str())
        .collect();
    assert_eq!(faults.len(), expected.faults.len(), "{}", told());
    for (fault, fits) in faults.iter().zip(&expected.faults) {
        assert!(fits.contains(fault), "{fault}: {}", told());
    }
    let calls = vote["calls"].as_array().expect("calls");
    assert_eq!(
        calls.iter().filter(|call| call["answered"] == true).count(),
        expected.answers,
        "{}",
        told()
    );
    let (mut requests, mut tokens, mut troubles) = (0, (0, 0), BTreeMap::new());
    for call in calls {
        requests += number(&call["call"]["requests"]);
        tokens.0 += number(&call["usage"]["input_tokens"]);
        tokens.1 += number(&call["usage"]["output_tokens"]);
        for (name, n) in call["call"]["faults"].as_object().into_iter().flatten() {
            *troubles.entry(name.as_str()).or_default() += number(n);
        }
    }
    assert_eq!(
        (requests, tokens),
        (expected.requests, expected.tokens),
        "{}",
        told()
    );
    assert_eq!(troubles, expected.troubles, "{}", told());
}

/// Runs so many cases of two samples each.
fn storm(provider: &str, cases: usize) {
    let counted = Counted::default();
    let server = ModelServer::start({
        let counted = Arc::clone(&counted);
        move |ask| act(ask, &counted)
    });
    let project = project(&server, provider, cases);
    let call = crate::model_runs::call(&project, &RUN);
    assert_eq!(
        call.code,
        Some(1),
        "failed and errored: {}\n{}",
        call.stdout,
        call.stderr
    );
    let journal = Journal::latest(&project);
    assert_eq!(journal.samples.len(), 2 * cases);
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let (mut repaired, mut repairs, mut requests, mut spent) = (0, 0, 0, 0);
    for n in 0..cases {
        for at in 0..2 {
            let (sample, expected) = (
                &journal.samples[&(format!("c{n}"), at)],
                expected(&output(n, at)),
            );
            check(sample, &expected);
            *outcomes
                .entry(format!(
                    "{} {}",
                    expected.outcome,
                    expected.cause.unwrap_or("-")
                ))
                .or_default() += 1;
            repaired += usize::from(!expected.faults.is_empty() && expected.share.is_some());
            repairs += expected.answers.saturating_sub(1);
            requests += expected.requests;
            spent += expected.tokens.0 + expected.tokens.1;
        }
    }
    assert_eq!(server.asked() as u64, requests, "the server's own count");
    // The script is what it claims to be: of enough samples every end is among them.
    if cases >= 500 {
        assert!(
            outcomes.len() == 4 && outcomes.values().all(|n| *n >= 5),
            "{outcomes:?}"
        );
        assert!(
            repaired >= 80 && repairs > repaired,
            "{repaired} of {repairs}"
        );
    }
    // Judges' tokens are told, and are none of the target's.
    let report = project.report();
    assert_eq!(
        report["metrics"]["tokens"],
        Value::Null,
        "{}",
        report["metrics"]
    );
    let told = &report["models"]["judges"][format!("{provider}:judge")];
    let sum = number(&told["tokens_input"]) + number(&told["tokens_output"]);
    assert_eq!(
        (sum, number(&told["requests"])),
        (spent, requests),
        "{}",
        report["models"]
    );
    for ending in [".journal.jsonl", ".json", ".md"] {
        let text = std::fs::read_to_string(project.result(ending)).expect("a file");
        assert!(!text.contains(KEY), "the key is in *{ending}");
    }
    println!("{provider}: {outcomes:?}, {requests} requests, {repairs} repairs");
}

#[test]
fn of_a_thousand_judged_samples_each_ends_as_scripted() {
    storm("openai", 500);
    storm("anthropic", 60);
}
