use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::testing::endpoint;
use crate::{CallIndex, ChatMessage, SamplingOptions};

const PRICE: TokenPrice = TokenPrice {
    input: 0.15,
    output: 0.6,
    cached_input: None,
    cache_write: None,
};

fn call(text: &str, max_tokens: Option<u64>) -> ModelRequest {
    ModelRequest {
        system: None,
        messages: vec![ChatMessage::user(text)],
        sampling: SamplingOptions {
            max_tokens,
            ..SamplingOptions::default()
        },
        index: CallIndex::default(),
        timeout: Duration::from_secs(60),
    }
}

fn priced(price: Option<TokenPrice>) -> Endpoint {
    Endpoint {
        price,
        ..endpoint("m")
    }
}

fn tokens(input: u64, output: u64) -> TokenCounts {
    TokenCounts {
        input,
        output,
        ..TokenCounts::default()
    }
}

#[test]
fn a_cost_by_hand() {
    assert_eq!(cost_of(&PRICE, tokens(1_000_000, 0)), 0.15);
    assert_eq!(cost_of(&PRICE, tokens(2_000, 500)), 0.0006);
    let cached = TokenCounts {
        cached_input: 600,
        cache_write: 300,
        ..tokens(1_000, 100)
    };
    let price = TokenPrice {
        input: 3.0,
        output: 15.0,
        cached_input: Some(0.3),
        cache_write: Some(3.75),
    };
    // 100 x 3 + 600 x 0.3 + 300 x 3.75 + 100 x 15 = 3,105
    assert!((cost_of(&price, cached) - 0.003_105).abs() < 1e-15);
    assert_eq!(
        cost_of(&PRICE, cached),
        cost_of(&PRICE, tokens(1_000, 100)),
        "as all input when no more is said"
    );
    let more_parts_than_whole = TokenCounts {
        cached_input: 600,
        ..tokens(10, 0)
    };
    assert_eq!(
        cost_of(&PRICE, more_parts_than_whole),
        cost_of(&PRICE, tokens(600, 0))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn a_cost_is_that_of_exact_arithmetic(
        rest in 0u64..1 << 40, cached in 0u64..1 << 40, written in 0u64..1 << 40, output in 0u64..1 << 40,
        mills in prop::array::uniform4(0u64..10_000_000), given in any::<[bool; 2]>(),
    ) {
        let per_million = |mill: u64| mill as f64 / 1000.0;
        let price = TokenPrice {
            input: per_million(mills[0]),
            output: per_million(mills[1]),
            cached_input: given[0].then(|| per_million(mills[2])),
            cache_write: given[1].then(|| per_million(mills[3])),
        };
        let whole = TokenCounts { input: rest + cached + written, output, cached_input: cached, cache_write: written };
        // In billionths of a dollar, exactly.
        let part = |tokens: u64, mill: u64| u128::from(tokens) * u128::from(mill);
        let exact = part(rest, mills[0])
            + part(cached, if given[0] { mills[2] } else { mills[0] })
            + part(written, if given[1] { mills[3] } else { mills[0] })
            + part(output, mills[1]);
        let exact = exact as f64 / 1e9;
        let cost = cost_of(&price, whole);
        prop_assert!(cost >= 0.0);
        prop_assert!((cost - exact).abs() <= exact * 1e-14, "{cost} is not {exact}");
    }
}

#[test]
fn an_unknown_price_makes_no_cost() {
    assert_eq!(usage_of(&priced(None), tokens(10, 5)).cost_usd, None);
    assert_eq!(
        usage_of(&priced(Some(PRICE)), tokens(0, 0)).cost_usd,
        Some(0.0)
    );
}

#[tokio::test]
async fn without_a_budget_everything_is_let_through_and_counted() {
    let purse = BudgetLedger::new(
        RunBudget::default(),
        ModelSpending {
            tokens: 5,
            usd: 1.0,
        },
    );
    let model = priced(Some(PRICE));
    for _ in 0..3 {
        purse
            .admit(&model, &call("x", None))
            .await
            .expect("no budget")
            .spend(&model, tokens(1_000_000, 0));
    }
    assert_eq!(purse.spent().tokens, 3_000_005);
    assert!((purse.spent().usd - 1.45).abs() < 1e-12 && !purse.is_spent());
}

#[tokio::test]
async fn a_budget_ends_what_is_asked_and_an_earlier_session_counts() {
    let budget = RunBudget {
        usd: None,
        tokens: Some(100),
    };
    let model = priced(None);
    assert!(
        BudgetLedger::new(
            budget,
            ModelSpending {
                tokens: 100,
                usd: 0.0
            }
        )
        .is_spent()
    );
    let purse = BudgetLedger::new(
        budget,
        ModelSpending {
            tokens: 70,
            usd: 0.0,
        },
    );
    let mut asked = 0;
    while let Some(hold) = purse.admit(&model, &call("1234", Some(10))).await {
        hold.spend(&model, tokens(1, 12));
        asked += 1;
    }
    // 70 + 13 + 13 leave 4, of which one more is let through.
    assert_eq!(
        (asked, purse.spent().tokens, purse.is_spent()),
        (3, 109, true)
    );
}

#[tokio::test]
async fn a_budget_of_nothing_lets_only_what_is_free_through() {
    let budget = RunBudget {
        usd: Some(0.0),
        tokens: None,
    };
    let free = TokenPrice {
        input: 0.0,
        output: 0.0,
        cached_input: None,
        cache_write: None,
    };
    let purse = BudgetLedger::new(budget, ModelSpending::default());
    let hold = purse
        .admit(&priced(Some(free)), &call("x", None))
        .await
        .expect("it costs nothing");
    hold.spend(&priced(Some(free)), tokens(10, 10));
    assert!(!purse.is_spent());
    assert!(
        purse
            .admit(&priced(Some(PRICE)), &call("x", None))
            .await
            .is_none()
    );
    assert!(purse.is_spent());
    let none = BudgetLedger::new(
        RunBudget {
            usd: None,
            tokens: Some(0),
        },
        ModelSpending::default(),
    );
    assert!(none.is_spent());
}

#[tokio::test]
async fn a_try_that_was_dropped_or_took_nothing_gives_its_room_back() {
    let budget = RunBudget {
        usd: None,
        tokens: Some(100),
    };
    let purse = BudgetLedger::new(budget, ModelSpending::default());
    let model = priced(None);
    for _ in 0..50 {
        drop(
            purse
                .admit(&model, &call("1234", Some(60)))
                .await
                .expect("nothing was taken"),
        );
    }
    let hold = purse
        .admit(&model, &call("1234", Some(60)))
        .await
        .expect("all is left");
    let said = hold
        .spend_unsaid(&model, &call("1234", Some(60)), "an answer of 23 letters")
        .unwrap();
    assert_eq!(
        (said.input_tokens, said.output_tokens, said.cost_usd),
        (1, 6, None)
    );
    assert_eq!(purse.spent().tokens, 7);
}

/// Many calls at once: what is spent passes the budget by little, and all of it is used.
#[tokio::test(start_paused = true)]
async fn many_calls_at_once_pass_a_budget_by_little() {
    let purse = Arc::new(BudgetLedger::new(
        RunBudget {
            usd: Some(0.01),
            tokens: None,
        },
        ModelSpending::default(),
    ));
    let model = Arc::new(priced(Some(PRICE)));
    let asked = Arc::new(AtomicUsize::new(0));
    let mut all = tokio::task::JoinSet::new();
    for n in 0..2_000u64 {
        let (purse, model, asked) = (purse.clone(), model.clone(), asked.clone());
        all.spawn(async move {
            let call = call("twelve bytes", Some(200));
            let Some(hold) = purse.admit(&model, &call).await else {
                return;
            };
            asked.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(50 + n % 7)).await;
            hold.spend(&model, tokens(3, 50 + n % 100));
        });
    }
    while all.join_next().await.is_some() {}
    let spent = purse.spent().usd;
    // The dearest answer costs less than 0.0001 dollars.
    assert!(
        (0.01..0.0101).contains(&spent),
        "{spent} of 0.01 after {asked:?} calls"
    );
    assert!(purse.is_spent());
}

/// Answers are much longer than anybody said: the first ones show it, and the rest waits for that.
#[tokio::test(start_paused = true)]
async fn budget_holds_when_no_limit_of_tokens_is_set() {
    let price = TokenPrice {
        input: 0.0,
        output: 1.0,
        cached_input: None,
        cache_write: None,
    };
    for (budget, at_once) in [(0.05, 64), (0.5, 64), (0.05, 4)] {
        let purse = Arc::new(BudgetLedger::new(
            RunBudget {
                usd: Some(budget),
                tokens: None,
            },
            ModelSpending::default(),
        ));
        let model = Arc::new(priced(Some(price)));
        let turns = Arc::new(tokio::sync::Semaphore::new(at_once));
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..400 {
            let (purse, model, turns) = (purse.clone(), model.clone(), turns.clone());
            all.spawn(async move {
                let _turn = turns.acquire().await.unwrap();
                let Some(hold) = purse.admit(&model, &call("q", None)).await else {
                    return;
                };
                tokio::time::sleep(Duration::from_millis(50)).await;
                hold.spend(&model, tokens(1, 5_000));
            });
        }
        while all.join_next().await.is_some() {}
        // Ten and a hundred answers of half a cent each, and none more for sums that are a little
        // off.
        assert!(
            (purse.spent().usd / budget - 1.0).abs() < 1e-6,
            "{} of {budget}",
            purse.spent().usd
        );
    }
}

/// A longer answer than all before raises what is expected of the tries that are under way already.
#[tokio::test]
async fn longest_answer_counts_for_tries_under_way() {
    let purse = BudgetLedger::new(
        RunBudget {
            usd: None,
            tokens: Some(1_000),
        },
        ModelSpending::default(),
    );
    let model = priced(None);
    purse
        .admit(&model, &call("1234", None))
        .await
        .unwrap()
        .spend(&model, tokens(1, 99));
    let first = purse.admit(&model, &call("1234", None)).await.unwrap();
    let _second = purse.admit(&model, &call("1234", None)).await.unwrap();
    assert!(purse.state().held().tokens == 200);
    first.spend(&model, tokens(1, 400));
    assert_eq!(purse.state().held().tokens, 401);
}
