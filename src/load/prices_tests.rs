use std::collections::BTreeMap;
use std::fs;

use super::{LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, load};
use crate::model::{RunBudget, Target, TokenPrice};

/// A suite with one model, `more` at its top, files beside it.
fn loaded(model: &str, more: &str, files: &[(&str, &str)], overrides: LoadOverrides) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::create_dir(cwd.join("config")).expect("made");
    for (name, text) in files {
        fs::write(cwd.join(name), text).expect("written");
    }
    let text = format!(
        "eval_suite:\n  name: s\n{more}  target: {{type: model, model: {model}, base_url: 'http://127.0.0.1:9/v1'}}\n  evals:\n    - {{id: e, input: {{type: prompt, content: hi}}, expected: {{type: exact, value: hi}}, grader: {{type: code, config: {{method: exact_match}}}}}}\n"
    );
    fs::write(cwd.join("suite.yaml"), text).expect("written");
    load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose: PlanPurpose::Run,
        overrides,
        env: BTreeMap::from([("OPENAI_API_KEY".to_owned(), "a-key-of-tests".to_owned())]),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

/// What a model costs, or what is wrong.
fn told(loaded: &LoadedPlan) -> String {
    let place = |p: &super::Problem| {
        p.span
            .map_or("-".to_owned(), |span| loaded.sources.place(span))
    };
    let tell = |p: &super::Problem| {
        let hint = p
            .hint
            .as_ref()
            .map_or(String::new(), |hint| format!(" | {hint}"));
        format!(
            "{} {} {}: {}{hint}",
            place(p),
            p.severity.name(),
            p.code.slug(),
            p.message
        )
    };
    let mut lines: Vec<String> = loaded.problems.sorted().into_iter().map(tell).collect();
    if let Some(plan) = &loaded.plan {
        let Some(Target::Model(model)) = &plan.target else {
            panic!("another target")
        };
        let price = model
            .endpoint
            .price
            .map(|TokenPrice { input, output, .. }| format!("{input} and {output}"));
        lines.push(price.unwrap_or_else(|| "unknown".to_owned()));
    }
    lines.join("\n")
}

fn priced(model: &str, more: &str) -> String {
    told(&loaded(model, more, &[], LoadOverrides::default()))
}

const TWO: &str = "  prices:\n    openai:gpt-4o-mini: {input_per_million: 0.15, output_per_million: 0.6}\n    'openai:gpt-4o*': {input_per_million: 2.5, output_per_million: 10}\n    'openai:*': {input_per_million: 7, output_per_million: 8}\n";

#[test]
fn the_most_exact_price_counts() {
    for (model, price) in [
        ("openai:gpt-4o-mini", "0.15 and 0.6"),
        ("openai:gpt-4o", "2.5 and 10"),
        ("openai:gpt-4o-mini-2", "2.5 and 10"),
        ("openai:gpt-5", "7 and 8"),
    ] {
        assert_eq!(priced(model, TWO), price, "{model}");
    }
    assert_eq!(priced("openai:x", ""), "unknown");
}

#[test]
fn alternatives_and_classes_say_no_more_of_a_name_than_fits_it() {
    let two = |first: &str, second: &str| {
        format!(
            "  prices:\n    '{first}': {{input_per_million: 1, output_per_million: 2}}\n    '{second}': {{input_per_million: 3, output_per_million: 4}}\n"
        )
    };
    for (first, second, price) in [
        (
            "openai:{gpt-4o,gpt-4o-mini,gpt-4o-audio}*",
            "openai:gpt-4o-mini-2*",
            "3 and 4",
        ),
        ("openai:[abcdefghijklmnopq]*", "openai:gpt-4o*", "3 and 4"),
        (
            "openai:{x,gpt-4o-mini-24}",
            "openai:gpt-4o-mini*",
            "1 and 2",
        ),
        ("openai:{x,{y,gpt-4o}-mini}-24", "openai:gpt*", "1 and 2"),
    ] {
        assert_eq!(
            priced("openai:gpt-4o-mini-24", &two(first, second)),
            price,
            "{first} {second}"
        );
    }
    let many = format!("openai:{}", "{a,b}".repeat(9));
    assert!(
        priced("openai:m", &two(&many, "x:y")).contains("it expands to more than 256 patterns")
    );
    insta::assert_snapshot!(priced("openai:m", &two("openai:{a", "x:y")), @"suite.yaml:4:5 error bad-glob: `openai:{a` is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
}

#[test]
fn equally_exact_globs_are_an_error_unless_they_say_the_same() {
    let two = |second: &str| {
        format!(
            "  prices:\n    'openai:a*': {{input_per_million: 1, output_per_million: 2}}\n    'openai:*b': {{input_per_million: 1, output_per_million: {second}}}\n"
        )
    };
    assert_eq!(priced("openai:ab", &two("2")), "1 and 2");
    assert_eq!(priced("openai:ac", &two("3")), "1 and 2");
    insta::assert_snapshot!(priced("openai:ab", &two("3")), @"suite.yaml:4:5 error ambiguous-price: two prices match `openai:ab` equally well: `openai:*b` and `openai:a*` | add a price under `openai:ab` itself");
}

#[test]
fn a_price_of_the_target_itself_wins() {
    let own = "openai:gpt-4o-mini, price: {input_per_million: 0, output_per_million: 0}";
    assert_eq!(priced(own, TWO), "0 and 0");
    // A doubtful one is marked itself, not the whole target.
    let own = "openai:m, price: {input_per_million: 20000, output_per_million: 1}";
    insta::assert_snapshot!(priced(own, TWO), @"
    suite.yaml:7:69 warning suspicious-value: 20000 dollars per million tokens is unusually high
    20000 and 1
    ");
}

#[test]
fn prices_that_can_not_be_or_are_hardly_meant() {
    let with = |fields: &str| {
        priced(
            "openai:m",
            &format!("  prices:\n    openai:m: {{{fields}}}\n"),
        )
    };
    insta::assert_snapshot!(with("input_per_million: -1, output_per_million: 1"), @r"suite.yaml:4:35 error out-of-range: `input_per_million` must be at least 0.0, found `-1`");
    insta::assert_snapshot!(with("input_per_million: .nan, output_per_million: 1"), @r"suite.yaml:4:35 error wrong-type: `input_per_million`: expected a number, found `nan`, which is not finite");
    insta::assert_snapshot!(with("input_per_million: 1"), @r"suite.yaml:4:5 error missing-key: `openai:m` lacks the key `output_per_million` | add `output_per_million`: a number");
    insta::assert_snapshot!(with("input_per_million: 1, output_per_million: .inf"), @r"suite.yaml:4:58 error wrong-type: `output_per_million`: expected a number, found `inf`, which is not finite");
    insta::assert_snapshot!(with("input_per_million: 20000, output_per_million: 0.00000015"), @r"
    suite.yaml:4:35 warning suspicious-value: 20000 dollars per million tokens is unusually high
    suite.yaml:4:62 warning suspicious-value: 0.00000015 dollars per million tokens is unusually low: is it the price per token?
    20000 and 0.00000015
    ");
    insta::assert_snapshot!(priced("openai:m", "  prices: {m: {input_per_million: 1, output_per_million: 2}}\n"), @r"
    suite.yaml:3:12 warning suspicious-value: `m` matches no model: prices are keyed by `provider:model` | for example `openai:m`
    unknown
    ");
    insta::assert_snapshot!(priced("openai:m", "  prices: {'openai:[': {input_per_million: 1, output_per_million: 2}}\n"), @r"suite.yaml:3:12 error bad-glob: `openai:[` is not a glob: unclosed character class; missing ']'");
}

const FILE: &str = "prices:\n  openai:m: {input_per_million: 3, output_per_million: 4}\n";

#[test]
fn prices_of_a_file() {
    let with = |more: &str, files: &[(&str, &str)]| {
        told(&loaded("openai:m", more, files, LoadOverrides::default()))
    };
    assert_eq!(with("", &[("prices.yaml", FILE)]), "3 and 4");
    let other = FILE.replace('3', "5");
    assert_eq!(
        with("", &[("prices.yaml", FILE), ("config/prices.yaml", &other)]),
        "5 and 4"
    );
    assert_eq!(
        with(
            "  prices: {$ref: p.yaml}\n",
            &[("p.yaml", &other), ("prices.yaml", FILE)]
        ),
        "5 and 4"
    );
    assert_eq!(with("  prices: {}\n", &[("prices.yaml", FILE)]), "unknown");
    insta::assert_snapshot!(with("  prices: {$ref: p.yaml}\n", &[]), @r"suite.yaml:3:18 error missing-ref: the file `p.yaml` does not exist | paths are relative to the file that contains them");
    insta::assert_snapshot!(with("", &[("prices.yaml", "price:\n  openai:m: 3\n")]), @r"
    prices.yaml:1:1 warning unknown-shape: `prices.yaml` has no `prices:`, so no price is taken from it | list prices under `prices:`, keyed by `provider:model`
    unknown
    ");
    insta::assert_snapshot!(with("", &[("prices.yaml", "prices:\n  openai:m: 3\n")]), @r"prices.yaml:2:13 error wrong-type: `openai:m`: expected a map, found the number `3`");
}

#[test]
fn a_budget_in_dollars_needs_prices() {
    let with = |more: &str, overrides: LoadOverrides| loaded("openai:m", more, &[], overrides);
    let usd = "  config: {budget: {usd: 2.5}}\n";
    insta::assert_snapshot!(told(&with(usd, LoadOverrides::default())), @r"- error unknown-price: the budget is in dollars, but `openai:m` has no price | add it under `prices:` in dollars per million tokens (0 for a model that you host), or set a budget in `tokens`");
    let priced =
        format!("{usd}  prices: {{'openai:*': {{input_per_million: 0, output_per_million: 0}}}}\n");
    let budget = |loaded: &LoadedPlan| loaded.plan.as_ref().map(|plan| plan.settings.models.budget);
    let of_suite = with(&priced, LoadOverrides::default());
    assert_eq!(
        budget(&of_suite),
        Some(RunBudget {
            usd: Some(2.5),
            tokens: None
        })
    );
    let typed = RunBudget {
        usd: None,
        tokens: Some(9),
    };
    let of_line = with(
        usd,
        LoadOverrides {
            budget: Some(typed),
            ..LoadOverrides::default()
        },
    );
    assert_eq!(
        budget(&of_line),
        Some(typed),
        "what is typed takes the place of the suite's"
    );
}
