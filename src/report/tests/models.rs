//! What reports say of models.

use insta::assert_snapshot;

use super::*;
use crate::model::{Answers, Latencies, ModelUsed, ModelsUsed, SpentOn};

/// A model with something of everything.
pub(super) fn busy() -> ModelUsed {
    ModelUsed {
        answers: Answers {
            network: 28,
            cache: 12,
            recording: 0,
        },
        unanswered: 1,
        requests: 33,
        retries: 4,
        faults: BTreeMap::from([("429".to_owned(), 3), ("timeout".to_owned(), 2)]),
        throttled_ms: 12_300.0,
        backoff_ms: 4_000.0,
        latency_ms: Some(Latencies {
            n: 28,
            p50: 1_200.0,
            p95: 3_400.0,
            p99: 4_100.0,
        }),
        tokens_input: 12_345,
        tokens_output: 4_567,
        cost_usd: Some(0.012_3),
        spent: SpentOn {
            tokens: 11_900,
            wasted_tokens: 120,
            usd: Some(0.008_6),
            ..SpentOn::default()
        },
        cut: 2,
        refused: 1,
        oldest_answer: Some("2026-11-02T10:11:12Z".to_owned()),
        ..ModelUsed::default()
    }
}

/// One whose price nobody says, and that does not tell all tokens.
fn quiet() -> ModelUsed {
    ModelUsed {
        answers: Answers {
            network: 5,
            ..Answers::default()
        },
        requests: 5,
        tokens_input: 50,
        tokens_output: 20,
        untold: 2,
        unpriced: 5,
        spent: SpentOn {
            tokens: 70,
            unpriced: 5,
            ..SpentOn::default()
        },
        ..ModelUsed::default()
    }
}

fn with(models: &[(&str, ModelUsed)]) -> Summary {
    let total = models
        .first()
        .map(|(_, used)| used.clone())
        .unwrap_or_default();
    let by_model = models
        .iter()
        .map(|(name, used)| ((*name).to_owned(), used.clone()))
        .collect();
    Summary {
        models: Some(ModelsUsed {
            by_model,
            judges: BTreeMap::new(),
            total,
        }),
        ..green(1)
    }
}

/// The part of a page between two marks.
fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let start = page.find(from).expect("the part is there");
    let rest = &page[start..];
    &rest[..rest.find(to).unwrap_or(rest.len())]
}

fn on_terminal(summary: &Summary) -> String {
    let options = TerminalOptions {
        verbose: true,
        ..TerminalOptions::default()
    };
    let page = terminal_text(summary, &options);
    part(&page, "Models\n", "\nGATE").trim_end().to_owned()
}

#[test]
fn the_terminal_tells_what_a_model_took() {
    assert_snapshot!(on_terminal(&with(&[("openai:gpt-4o-mini", busy())])), @"
    Models
      - openai:gpt-4o-mini
        answers  40: 28 from the API, 12 from the cache (oldest 2026-11-02)
        retries  4 of 33 requests (429: 3, timeout: 2)
        waited   12.3 s for rate limits, 4.00 s between retries (all calls together)
        latency  p50 1.20 s, p95 3.40 s, p99 4.10 s
        tokens   12,345 in, 4,567 out
        cost     $0.0123
        spent    $0.0086 in this run (11,900 tokens, 120 of them wasted)
        ! 1 call ended without an answer
        ! 2 answers truncated at the token limit
        ! 1 answer refused
    ");
}

#[test]
fn what_is_not_known_is_not_told_as_nothing() {
    assert_snapshot!(on_terminal(&with(&[("local:llama | `x`\u{1b}[2J", quiet()), ("openai:a", busy())])), @"
    Models
      - local:llama | `x`
        answers  5: all from the API
        tokens   50 in, 20 out (2 answers have no usage)
        cost     unknown price
      - openai:a
        answers  40: 28 from the API, 12 from the cache (oldest 2026-11-02)
        retries  4 of 33 requests (429: 3, timeout: 2)
        waited   12.3 s for rate limits, 4.00 s between retries (all calls together)
        latency  p50 1.20 s, p95 3.40 s, p99 4.10 s
        tokens   12,345 in, 4,567 out
        cost     $0.0123
        spent    $0.0086 in this run (11,900 tokens, 120 of them wasted)
        ! 1 call ended without an answer
        ! 2 answers truncated at the token limit
        ! 1 answer refused
      - all models
        answers  5: all from the API
        tokens   50 in, 20 out (2 answers have no usage)
        cost     unknown price
    ");
    let untold = ModelUsed {
        untold: 5,
        tokens_input: 0,
        tokens_output: 0,
        ..quiet()
    };
    assert_snapshot!(on_terminal(&with(&[("local:llama", untold)])), @"
    Models
      - local:llama
        answers  5: all from the API
        tokens   unknown: the answers do not report them
        cost     unknown: the answers do not report their tokens
        spent    unknown price in this run (70 tokens)
    ");
    let in_part = ModelUsed {
        cost_usd: Some(0.5),
        unpriced: 1,
        ..quiet()
    };
    assert_snapshot!(on_terminal(&with(&[("local:llama", in_part)])), @"
    Models
      - local:llama
        answers  5: all from the API
        tokens   50 in, 20 out (2 answers have no usage)
        cost     at least $0.5000 (1 answer with unknown cost)
    ");
    let bounded = ModelUsed {
        lower_bounds: 2,
        ..busy()
    };
    let bounded = with(&[("anthropic:a", bounded)]);
    assert_snapshot!(on_terminal(&bounded), @"
    Models
      - anthropic:a
        answers  40: 28 from the API, 12 from the cache (oldest 2026-11-02)
        retries  4 of 33 requests (429: 3, timeout: 2)
        waited   12.3 s for rate limits, 4.00 s between retries (all calls together)
        latency  p50 1.20 s, p95 3.40 s, p99 4.10 s
        tokens   at least 12,345 in, 4,567 out
        cost     at least $0.0123
        spent    at least $0.0086 in this run (11,900 tokens, 120 of them wasted)
        ! 1 call ended without an answer
        ! the usage of 2 samples is known only in part
        ! 2 answers truncated at the token limit
        ! 1 answer refused
    ");
    let junit = rendered(ReportFormat::Junit, &bounded);
    assert!(
        junit.contains(r#"name="models.cost_usd" value="unknown""#),
        "{junit}"
    );
    assert!(
        junit.contains(r#"name="models.spent.usd" value="unknown""#),
        "{junit}"
    );
    let nobody = ModelUsed {
        answers: Answers::default(),
        unanswered: 3,
        requests: 3,
        ..ModelUsed::default()
    };
    assert_snapshot!(on_terminal(&with(&[("local:llama", nobody)])), @"
    Models
      - local:llama
        answers  none
        ! 3 calls ended without an answer
    ");
}

#[test]
fn answers_that_are_not_from_now_are_told_at_the_top() {
    let top = |answers: Answers, oldest: &str| {
        let used = ModelUsed {
            answers,
            oldest_answer: Some(oldest.to_owned()),
            ..busy()
        };
        let page = terminal_text(&with(&[("openai:a", used)]), &TerminalOptions::default());
        page.lines()
            .find(|line| line.starts_with("!"))
            .unwrap_or("nothing")
            .to_owned()
    };
    let some = Answers {
        network: 28,
        cache: 12,
        recording: 0,
    };
    let all = Answers {
        network: 0,
        cache: 0,
        recording: 3,
    };
    let both = Answers {
        network: 1,
        cache: 1,
        recording: 1,
    };
    assert_snapshot!(top(some, "2026-11-02T10:11:12Z"), @"!  12 of 40 model answers came from the cache (oldest 2026-11-02)");
    assert_snapshot!(top(all, "\u{1b}[2J GATE PASS"), @"!  All 3 model answers came from recordings (oldest unknown)");
    assert_snapshot!(top(both, "2026-11-02"), @"!  2 of 3 model answers came from the cache or from recordings (oldest");
    assert_eq!(
        top(
            Answers {
                network: 9,
                ..Answers::default()
            },
            ""
        ),
        "nothing"
    );
}

#[test]
fn markdown_and_junit_tell_it_too() {
    let summary = with(&[
        ("local:llama | `x`", quiet()),
        ("openai:gpt-4o-mini", busy()),
    ]);
    let page = rendered(ReportFormat::Markdown, &summary);
    assert_snapshot!(part(&page, "## Models", "\n## "), @r"
    ## Models

    - **local:llama &#124; \`x\`**
      - answers: 5: all from the API
      - tokens: 50 in, 20 out (2 answers have no usage)
      - cost: unknown price
    - **openai:gpt-4o-mini**
      - answers: 40: 28 from the API, 12 from the cache (oldest 2026-11-02)
      - retries: 4 of 33 requests (429: 3, timeout: 2)
      - waited: 12.3 s for rate limits, 4.00 s between retries (all calls together)
      - latency: p50 1.20 s, p95 3.40 s, p99 4.10 s
      - tokens: 12,345 in, 4,567 out
      - cost: \$0.0123
      - spent: \$0.0086 in this run (11,900 tokens, 120 of them wasted)
      - ⚠️ 1 call ended without an answer
      - ⚠️ 2 answers truncated at the token limit
      - ⚠️ 1 answer refused
    - **all models**
      - answers: 5: all from the API
      - tokens: 50 in, 20 out (2 answers have no usage)
      - cost: unknown price
    ");
    let page = rendered(ReportFormat::Junit, &summary);
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("\"models."))
        .map(str::trim)
        .collect();
    assert_snapshot!(lines.join("\n"), @r#"
    <property name="models.answers" value="5"/>
    <property name="models.answers.cache" value="0"/>
    <property name="models.answers.recording" value="0"/>
    <property name="models.unanswered" value="0"/>
    <property name="models.requests" value="5"/>
    <property name="models.retries" value="0"/>
    <property name="models.spent.tokens" value="70"/>
    <property name="models.cost_usd" value="unknown"/>
    <property name="models.spent.usd" value="unknown"/>
    "#);
}

#[test]
fn a_judge_is_told_beside_the_target_of_the_same_name() {
    let mut summary = with(&[("openai:a", quiet())]);
    let models = summary.models.as_mut().expect("a model was asked");
    models.judges.insert(
        "openai:a".to_owned(),
        ModelUsed {
            cut: 1,
            untold: 0,
            ..quiet()
        },
    );
    assert_snapshot!(on_terminal(&summary), @"
    Models
      - openai:a
        answers  5: all from the API
        tokens   50 in, 20 out (2 answers have no usage)
        cost     unknown price
      - openai:a (judge)
        answers  5: all from the API
        tokens   50 in, 20 out
        cost     unknown price
        ! 1 answer truncated at the token limit
      - all models (targets and judges)
        answers  5: all from the API
        tokens   50 in, 20 out (2 answers have no usage)
        cost     unknown price
    ");
    let page = rendered(ReportFormat::Markdown, &summary);
    assert_snapshot!(part(&page, "## Models", "\n## "), @"
    ## Models

    - **openai:a**
      - answers: 5: all from the API
      - tokens: 50 in, 20 out (2 answers have no usage)
      - cost: unknown price
    - **openai:a** (judge)
      - answers: 5: all from the API
      - tokens: 50 in, 20 out
      - cost: unknown price
      - ⚠️ 1 answer truncated at the token limit
    - **all models** (targets and judges)
      - answers: 5: all from the API
      - tokens: 50 in, 20 out (2 answers have no usage)
      - cost: unknown price
    ");
}

#[test]
fn notice_of_a_spent_budget_names_the_run() {
    let mut summary = green(1);
    summary.summary.by_cause.insert("budget".to_owned(), 2);
    let page = terminal_text(&summary, &TerminalOptions::default());
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let id = &summary.metadata.run_id;
    assert!(page.contains(&format!("run --resume {id}")), "{page}");
    summary.metadata.joined = vec!["another".to_owned()];
    let page = terminal_text(&summary, &TerminalOptions::default());
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("run --resume RUN --budget"), "{page}");
}
