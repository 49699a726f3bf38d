//! Pages of many cases, and of cases with odd ids. Nothing here depends on how fast a machine is:
//! bytes and rows are counted. `scripts/bench/html` measures times.

use std::fmt::Write as _;

use crate::browser::{Visit, look_well};
use crate::support::Project;
use serde_json::{Value, json};

/// Rows that a table may have drawn at once, on a screen of 900 pixels.
const ROWS: u64 = 120;

fn suite() -> String {
    let target = json!({"type": "recorded", "path": "outputs.jsonl"});
    json!({"eval_suite": {"name": "Many", "target": target, "evals": [{"$ref": "eval.json"}], "reporting": {"format": ["html"]}}})
        .to_string()
}

/// A run of cases with these ids, of which every seventh fails; the long ones say a lot.
fn run(ids: &[String], long: usize) -> (Project, std::path::PathBuf) {
    let (mut rows, mut outputs) = (String::new(), String::new());
    for (at, id) in ids.iter().enumerate() {
        let output = if at % 7 == 0 {
            "no ".repeat(long.max(1))
        } else {
            format!("yes {}", "and so on ".repeat(long))
        };
        let _ = writeln!(rows, "{}", json!({"id": id}));
        let _ = writeln!(outputs, "{}", json!({"case": id, "output": output}));
    }
    let case = json!({"id": "{{ row.id }}", "input": "Say yes", "expected": {"type": "contains", "value": "yes"}});
    let eval = json!({"metadata": {"id": "many"}, "dataset": {"path": "rows.jsonl", "format": "jsonl", "case": case}});
    let project = Project::with(&[
        ("suite.yaml", &suite()),
        ("eval.json", &eval.to_string()),
        ("rows.jsonl", &rows),
        ("outputs.jsonl", &outputs),
    ]);
    project
        .call(&["run", "--suite", "suite.yaml", "--progress", "none", "-q"])
        .expect(1);
    let page = project.result(".html");
    (project, page)
}

#[test]
fn ten_thousand_cases_are_all_there_and_few_are_drawn() {
    let ids: Vec<String> = (0..10_000).map(|n| format!("case-{n:05}")).collect();
    let (_project, page) = run(&ids, 400);
    let size = page.metadata().expect("a page").len();
    assert!(size < 20_000_000, "{size}");
    let visit = Visit::to(&page)
        .at("#view=cases")
        .ask("text", "#cases-count")
        .ask("count", "[data-row]")
        .ask("focus", "[role=grid]")
        .press("End")
        .step("settle")
        .ask("count", "[data-row]")
        .ask("texts", "[data-row]")
        .press("Enter")
        .ask("wait", ".case-page")
        .step("fragment")
        .ask("go", "#view=cases&outcome=failed")
        .ask("text", "#cases-count")
        .ask("go", "#view=cases")
        .type_into("#search", "case-07777")
        .step("settle")
        .ask("texts", "[data-row]")
        // One in the middle, by its address.
        .ask("open", json!(["many", "case-04999"]))
        .ask("text", "#main h1")
        .ask("evaluate", "document.querySelectorAll('*').length");
    let narrow = Visit::to(&page)
        .size(400, 850)
        .at("#view=cases")
        .step("overflow")
        .ask("count", "[data-row]");
    let Some(seen) = look_well(&[visit, narrow]) else {
        return;
    };
    let results = seen[0].results();
    let number = |value: &Value| value.as_u64().expect("a number");
    assert!(results[0].to_string().contains("10,000"), "{results:?}");
    assert!(
        (1..ROWS).contains(&number(results[1])) && (1..ROWS).contains(&number(results[2])),
        "{results:?}"
    );
    assert!(
        results[3].to_string().contains("case-09999"),
        "{}",
        results[3]
    );
    assert_eq!(results[4], "#case=many/case-09999");
    assert!(
        results[5].to_string().contains("1,429 of 10,000"),
        "{}",
        results[5]
    );
    assert!(
        results[6].as_array().is_some_and(|rows| rows.len() == 1),
        "{}",
        results[6]
    );
    assert!(
        results[7].to_string().contains("case-04999"),
        "{}",
        results[7]
    );
    assert!(number(results[8]) < 5_000, "{}", results[8]);
    let narrow = seen[1].results();
    assert_eq!(narrow[0]["wide"].to_string(), "0", "{}", narrow[0]);
    assert!((1..ROWS).contains(&number(narrow[1])), "{narrow:?}");
}

#[test]
fn of_more_cases_all_failures_and_some_passes_are_there_and_the_page_says_so() {
    let ids: Vec<String> = (0..12_000).map(|n| format!("case-{n:05}")).collect();
    let (_project, page) = run(&ids, 1);
    let visit = Visit::to(&page)
        .at("#view=cases")
        .ask("text", "#main")
        .ask("go", "#view=cases&outcome=failed")
        .ask("text", "#cases-count")
        .ask("go", "#view=overview")
        .ask("text", "#main");
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    assert!(
        results[0].to_string().contains("12,000"),
        "the table says how many there are: {}",
        results[0]
    );
    assert!(
        results[1].to_string().contains("1,715 of"),
        "{}",
        results[1]
    );
    assert!(results[2].to_string().contains("12,000"));
}

#[test]
fn links_lead_to_cases_whatever_their_ids_are() {
    let mut ids: Vec<String> = [
        "a/b",
        "%",
        "%41",
        "a%2Fb",
        "#",
        "&",
        "x&y=z",
        "?q=1",
        "+",
        "a b",
        " edge ",
        "日本語",
        "é",
        "e\u{301}",
        "🏳️‍🌈",
        "__proto__",
        "constructor",
        "toString",
        "0",
        "-1",
        "null",
        "true",
        "..",
        "/",
        "//",
        "\\",
        "'\"",
        "<b>",
        "view=cases",
        "#case=many/a%2Fb",
        "[0]",
        "*",
        "{{x}}",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("long ".repeat(39));
    let (_project, page) = run(&ids, 1);
    let mut visit = Visit::to(&page);
    for id in &ids {
        visit = visit
            .ask("open", json!(["many", id]))
            .ask("shows", json!(["#main h1", [id]]))
            .ask("content", ".case-page .command code");
    }
    // The table's own links lead to the same place.
    visit = visit
        .ask("go", "#view=cases&q=a%2Fb")
        .click("[data-row]")
        .ask("wait", ".case-page")
        .step("fragment");
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    for (pair, id) in results.as_chunks::<2>().0.iter().zip(&ids) {
        assert!(
            pair[0][0].as_u64() >= Some(1),
            "{id:?} is not shown: {}",
            pair[0]
        );
        assert!(
            pair[1].as_str().is_some_and(|said| said.contains("--case")),
            "{id:?}: {}",
            pair[1]
        );
    }
    let last = results.last().expect("an address").as_str().expect("text");
    assert!(last.starts_with("#case=many/a%2"), "{last}");
}
