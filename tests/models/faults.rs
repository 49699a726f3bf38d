//! Two thousand calls against a server that misbehaves at random: nothing is lost, nothing is
//! counted wrongly.
//!
//! The server's script is a function of the prompt and of how often it was asked, so that what must
//! come of each sample is computed from the server's own log by other means than the program's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::model_runs::{Asking, Journal, Sample, case_of};
use crate::model_server::{
    Act, After, Ask, End, Entry, Fate, ModelServer, Packing, Said, Step, draw, tokens_of,
};
use eval_models::FaultKind;
use serde_json::Value;

const SEED: u64 = 20_261_122;
const RETRIES: u64 = 2;

/// A share, and what is done for a number drawn at random.
type Faulty = (u64, fn(u64) -> Act);

/// Faults by their share. Those that cost seconds are rare, and one try in four goes wrong.
const FAULTS: &[Faulty] = &[
    (8, |n| {
        Act::Status(
            429,
            [After::Unsaid, After::Seconds(0), After::Millis(n % 40)][n as usize % 3],
        )
    }),
    (8, |_| Act::Status(503, After::Unsaid)),
    (6, |_| Act::Status(529, After::Millis(10))),
    (16, |n| {
        Act::Status([500, 502, 504][n as usize % 3], After::Unsaid)
    }),
    (16, |_| Act::Reset),
    (16, |_| Act::Fin),
    (16, |_| Act::Truncated),
    (16, |_| Act::BrokenChunks),
    (16, |_| Act::BrokenGzip),
    (16, |_| Act::NotJson),
    (12, |n| Act::Html([200, 502][n as usize % 2])),
    (16, |_| Act::ErrorBody),
    (20, |_| Act::Empty),
    (3, |_| Act::StallHead),
    (3, |_| Act::StallBody),
    (4, |_| Act::Huge),
    (4, |_| Act::Status(400, After::Unsaid)),
    (2, |_| Act::Status(401, After::Unsaid)),
    (2, |_| Act::Status(404, After::Unsaid)),
    (2, |_| Act::Status(402, After::Unsaid)),
];

fn fault(drawn: u64) -> Act {
    let all: u64 = FAULTS.iter().map(|(share, _)| share).sum();
    let mut left = drawn % all;
    for (share, act) in FAULTS {
        if left < *share {
            return act(drawn >> 16);
        }
        left -= share;
    }
    unreachable!("less than the sum of all shares")
}

fn good(ask: &Ask, drawn: u64) -> Act {
    let right = Said::right(ask);
    let said = match drawn % 20 {
        0 => Said {
            text: format!("wrong {} #{}", ask.prompt, ask.nth),
            ..right
        },
        1 => Said {
            text: format!("cut {}", ask.nth),
            end: End::Length,
            ..right
        },
        2 => Said {
            end: End::Length,
            ..right
        },
        3 => Said {
            text: format!("I can't #{}", ask.nth),
            end: End::Refused,
            ..right
        },
        4 => Said {
            text: String::new(),
            end: End::Refused,
            ..right
        },
        5 => Said {
            tokens: None,
            ..right
        },
        6 | 7 => Said {
            packing: Packing::Gzip,
            ..right
        },
        8 | 9 => Said {
            packing: Packing::Chunked,
            ..right
        },
        10 => Said {
            packing: Packing::Trickled,
            ..right
        },
        11 => Said {
            packing: Packing::OddType,
            ..right
        },
        _ => right,
    };
    Act::Say(said)
}

/// What the server does about the nth time that it reads a prompt. Some prompts meet the same fault
/// each time.
fn script(ask: &Ask) -> Step {
    let cursed = draw(SEED, &ask.prompt, 0);
    let drawn = draw(SEED + 1, &ask.prompt, ask.nth);
    // The first answers are good, or else three refused keys in a row would rightly end everything.
    let calm = ask.serial < 8;
    let act = match (drawn >> 40) % 4 {
        _ if cursed.is_multiple_of(45) => fault(cursed >> 8),
        0 if !calm => fault(drawn),
        _ => good(ask, drawn >> 8),
    };
    let act = if calm && !matches!(act, Act::Say(_)) {
        good(ask, drawn >> 8)
    } else {
        act
    };
    Step::after(2 + (drawn >> 48) % 12, act)
}

/// The label that the program must give; `None`: a usable answer.
fn label(entry: &Entry) -> Option<&'static str> {
    if entry.fate == Fate::Cut {
        return Some("reset");
    }
    Some(match &entry.act {
        Act::Say(_) => return None,
        Act::Status(429, _) => "429",
        Act::Status(503 | 529, _) => "503",
        Act::Status(500.., _) | Act::Html(500..) => "5xx",
        Act::Status(401 | 403, _) => "unauthorized",
        Act::Status(404, _) => "unknown_model",
        Act::Status(402, _) => "no_credit",
        Act::Status(..) => "bad_request",
        Act::Reset | Act::Fin | Act::Truncated => "reset",
        Act::StallHead | Act::StallBody => "timeout",
        Act::ErrorBody => "error_body",
        Act::Empty => "empty",
        Act::Huge => "too_large",
        Act::BrokenChunks
        | Act::BrokenGzip
        | Act::NotJson
        | Act::Html(_)
        | Act::Body(..)
        | Act::Redirect(_) => "unreadable",
    })
}

fn cause(label: &str) -> &'static str {
    match label {
        "timeout" => "target_timeout",
        "bad_request" | "error_body" | "unreadable" | "empty" | "too_large" => "target_failed",
        _ => "target_unreachable",
    }
}

fn is_retried(label: &str) -> bool {
    !matches!(
        label,
        "too_large" | "unauthorized" | "unknown_model" | "no_credit" | "bad_request"
    )
}

/// Outcome, cause and tokens that an answer must have led to.
fn graded(case: &str, said: &Said) -> (&'static str, Option<&'static str>) {
    let right = said
        .text
        .starts_with(&format!("right {} #", case.replace('c', "case ")));
    match (right, said.end) {
        (true, _) => ("passed", None),
        (false, End::Refused) => ("failed", Some("refused")),
        (false, _) => ("failed", Some("wrong_answer")),
    }
}

fn count<'a>(labels: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u64> {
    let mut counts = BTreeMap::new();
    labels.for_each(|label| *counts.entry(label).or_default() += 1);
    counts
}

/// One case with all its samples against all that the server read of its prompt.
fn check_case(case: &str, samples: &[&Sample], log: &[Entry]) {
    let told = || {
        format!(
            "{case}\n{samples:#?}\n{:#?}",
            log.iter().map(|e| (&e.act, e.fate)).collect::<Vec<_>>()
        )
    };
    // Every try that failed is counted once under its name. Those that the server never read met a
    // dead one; of them a request is one that was sent.
    let mut faults: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, n) in samples.iter().flat_map(|sample| &sample.faults) {
        *faults.entry(name).or_default() += n;
    }
    let scripted = count(log.iter().filter_map(label));
    let told_of = |name: &str| faults.get(name).copied().unwrap_or(0);
    let read = |name: &str| scripted.get(name).copied().unwrap_or(0);
    // Whether a client lost patience or its server died first is for the client to say.
    let torn = |entry: &&Entry| entry.fate == Fate::Cut && !matches!(entry.act, Act::Say(_));
    let torn = log.iter().filter(torn).count() as u64;
    for name in FaultKind::ALL
        .iter()
        .map(|kind| kind.label())
        .filter(|name| !matches!(*name, "reset" | "unreachable"))
    {
        assert!(
            (read(name)..=read(name) + torn).contains(&told_of(name)),
            "{name}: {}",
            told()
        );
    }
    let requests: u64 = samples.iter().map(|sample| sample.requests).sum();
    let named: u64 = faults.values().sum();
    let unread = (named - told_of("unreachable")).checked_sub(scripted.values().sum());
    let unread = unread.unwrap_or_else(|| panic!("a fault is not told: {}", told()));
    assert!(unread <= told_of("reset"), "{}", told());
    assert_eq!(requests, log.len() as u64 + unread, "{}", told());

    // Every good answer is the output of one sample, graded as it says, with its tokens.
    let mut answers: Vec<&Said> = log.iter().filter_map(Entry::answered).collect();
    for sample in samples {
        let tries = sample.requests + sample.faults.get("unreachable").copied().unwrap_or(0);
        let bad: u64 = sample.faults.values().sum();
        assert_eq!(sample.retries, tries - 1, "{}", told());
        if sample.outcome == "errored" {
            assert_eq!(bad, tries, "{}", told());
            assert_eq!(
                (sample.output.as_ref(), sample.usage),
                (None, None),
                "{}",
                told()
            );
            assert!(!sample.reason.is_empty(), "{}", told());
            let fatal = sample.faults.keys().any(|name| !is_retried(name));
            assert!(
                if fatal {
                    tries <= RETRIES + 1
                } else {
                    tries == RETRIES + 1
                },
                "{}",
                told()
            );
            let causes: Vec<&str> = sample.faults.keys().map(|name| cause(name)).collect();
            assert!(
                causes.contains(&sample.cause.as_deref().unwrap_or("")),
                "{}",
                told()
            );
            continue;
        }
        assert_eq!(bad + 1, tries, "{}", told());
        assert!(
            sample.faults.keys().all(|name| is_retried(name)),
            "{}",
            told()
        );
        assert!(sample.latency_ms.is_some(), "{}", told());
        let text = sample.output.clone().unwrap_or_default();
        let which = answers.iter().position(|said| {
            said.text == text && said.tokens.unwrap_or_default() == sample.usage.unwrap_or_default()
        });
        let said = answers
            .remove(which.unwrap_or_else(|| panic!("an answer that was not given: {}", told())));
        assert_eq!(said.tokens.is_some(), sample.usage.is_some(), "{}", told());
        assert_eq!(
            (sample.outcome.as_str(), sample.cause.as_deref()),
            graded(case, said),
            "{}",
            told()
        );
        if said.end == End::Length && sample.outcome == "failed" {
            assert!(
                sample.reason.contains("truncated at the token limit"),
                "{}",
                told()
            );
        }
    }
    assert!(answers.is_empty(), "an answer went nowhere: {}", told());

    // With one sample the order is known, too.
    if let ([sample], Some(last)) = (samples, log.last())
        && sample.outcome == "errored"
        && unread + torn + told_of("unreachable") == 0
    {
        assert_eq!(
            sample.cause.as_deref(),
            label(last).map(cause),
            "{}",
            told()
        );
    }
    let wasted = log
        .iter()
        .filter(|entry| entry.act == Act::Empty && entry.fate == Fate::Done);
    let wasted = wasted
        .map(|entry| tokens_of(&entry.ask))
        .fold((0, 0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
    let told_wasted = samples
        .iter()
        .fold((0, 0), |sum, s| (sum.0 + s.wasted.0, sum.1 + s.wasted.1));
    assert_eq!(told_wasted, wasted, "{}", told());
}

/// Lets the server die for a while when so many questions more have come, until told to stop; how
/// often it died.
fn die_now_and_then(server: &ModelServer, every: usize, stop: &AtomicBool) -> usize {
    let mut deaths = 0;
    let mut next = every;
    while !stop.load(Ordering::SeqCst) {
        if server.asked() >= next && deaths < 3 {
            server.down();
            std::thread::sleep(Duration::from_millis(250));
            server.up();
            deaths += 1;
            next = server.asked() + every;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    deaths
}

fn storm(model: &str, rows: usize, samples: usize) {
    let server = Arc::new(ModelServer::start(script));
    let target = format!(
        "max_concurrency: 48, retries: {RETRIES}, timeout_seconds: 4, max_answer_bytes: 1000000"
    );
    let project = Asking {
        rows,
        samples,
        model,
        target: &target,
        config: "",
    }
    .project(&server);
    let stop = Arc::new(AtomicBool::new(false));
    let deaths = std::thread::spawn({
        let (server, stop) = (Arc::clone(&server), Arc::clone(&stop));
        move || die_now_and_then(&server, rows * samples / 3, &stop)
    });
    let call = crate::model_runs::call(&project, &crate::model_runs::RUN);
    stop.store(true, Ordering::SeqCst);
    let deaths = deaths.join().expect("a server");
    assert_eq!(
        call.code,
        Some(1),
        "failed and errored: {}\n{}",
        call.stdout,
        call.stderr
    );
    assert!(deaths > 0);

    let journal = Journal::latest(&project);
    assert!(journal.finished && journal.sessions == 1 && journal.skipped.is_empty());
    assert_eq!(journal.samples.len(), rows * samples, "no sample is lost");
    let log = server.by_prompt();
    let nothing = Vec::new();
    for n in 0..rows {
        let entries = log.get(&format!("case {n}")).unwrap_or(&nothing);
        let case = format!("c{n}");
        let of_case = journal.of_case(&case);
        assert_eq!(of_case.len(), samples);
        check_case(&case, &of_case, entries);
    }
    assert!(
        server
            .settled()
            .iter()
            .all(|entry| log.contains_key(&entry.ask.prompt) && !case_of(&entry.ask).is_empty())
    );
    check_sums(&project, &journal, &server, (rows * samples) as u64);
    println!(
        "{model}: {} samples, {} requests, {deaths} deaths; {:?}",
        journal.samples.len(),
        server.asked(),
        count(
            server
                .settled()
                .iter()
                .map(|entry| label(entry).unwrap_or("usable"))
        )
    );
}

/// What the report says of the whole equals the server's log.
fn check_sums(
    project: &crate::support::Project,
    journal: &Journal,
    server: &ModelServer,
    samples: u64,
) {
    let report = project.report();
    let counted = |outcome: &str| journal.count(|sample| sample.outcome == outcome) as u64;
    let said: Vec<(u64, u64)> = server
        .settled()
        .iter()
        .filter_map(|entry| entry.answered()?.tokens)
        .collect();
    let input: u64 = said.iter().map(|tokens| tokens.0).sum();
    let output: u64 = said.iter().map(|tokens| tokens.1).sum();
    let journalled = journal.samples.values().filter_map(|sample| sample.usage);
    let journalled = journalled.fold((0, 0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
    assert_eq!(journalled, (input, output));
    assert_eq!(
        report["metrics"]["tokens"].as_f64(),
        Some((input + output) as f64),
        "{}",
        report["metrics"]
    );
    assert_eq!(
        report["metrics"]["cost_usd"],
        Value::Null,
        "nobody said what it costs"
    );
    assert_eq!(
        counted("passed") + counted("failed") + counted("errored"),
        samples
    );
}

#[test]
fn of_two_thousand_calls_with_every_fault_at_random_none_is_lost_or_counted_wrongly() {
    storm("openai:m-1", 2_000, 1);
    storm("openai:m-1", 60, 4);
    storm("anthropic:m-1", 150, 1);
}
