//! HTML reports in a real browser, as people use them: they open, are read, sifted, linked to,
//! printed, by mouse and by keyboard, light and dark, wide and narrow. Pages are made by the
//! program from the suite that comes with it.

use std::path::Path;

use crate::browser::{Seen, Visit, look_well};
use serde_json::{Value, json};

/// A case of the next version that fails, as an address names it.
const FAILS: &str = "#case=cap-code-semver-precedence/cap-code-semver-precedence";

fn text(seen: &Seen, at: usize) -> &str {
    seen.results()[at]
        .as_str()
        .unwrap_or_else(|| panic!("{:?}", seen.results()))
}

/// Opens what is folded.
const UNFOLD: &str =
    "void document.querySelectorAll('#main details.fold').forEach((fold) => { fold.open = true; })";

/// A view wide and narrow, light and dark: reaches nowhere sideways, and axe has nothing serious to
/// say.
fn judged(page: &Path, fragments: &[&str]) {
    let mut visits = Vec::new();
    for (theme, width) in [
        ("light", 1280),
        ("dark", 1280),
        ("light", 400),
        ("dark", 400),
    ] {
        let mut visit = Visit::to(page).theme(theme).size(width, 850);
        for fragment in fragments {
            visit = visit
                .ask("go", *fragment)
                .ask("evaluate", UNFOLD)
                .step("overflow")
                .ask("axe", json!(["serious", "critical"]))
                .step("strangers")
                .ask("count", "#main h1");
        }
        visits.push(visit);
    }
    let Some(seen) = look_well(&visits) else {
        return;
    };
    for (seen, visit) in seen.iter().zip(&visits) {
        for (four, fragment) in seen.results().as_chunks::<4>().0.iter().zip(fragments) {
            let [overflow, axe, strangers, headings] = four;
            assert_eq!(
                overflow["wide"].to_string(),
                "0",
                "{fragment} {visit:?}: {overflow}"
            );
            assert_eq!(**axe, json!([]), "{fragment} {visit:?}");
            assert_eq!(**strangers, json!([]), "{fragment} {visit:?}");
            assert_eq!(
                headings.to_string(),
                "1",
                "{fragment} has one heading above all others"
            );
        }
    }
}

#[test]
fn every_view_of_a_run_is_fit_to_be_read() {
    let project = crate::pages::bundled();
    crate::pages::run(&project, &[], 0);
    let next = crate::pages::run(
        &project,
        &[
            "--var",
            "assistant=assistant-next",
            "--compare-to",
            "latest",
        ],
        1,
    );
    judged(
        &next,
        &[
            "#view=overview",
            "#view=cases",
            "#view=cases&outcome=failed",
            FAILS,
            "#view=comparison",
        ],
    );
}

#[test]
fn pages_of_comparisons_phases_and_several_targets_are_fit_to_be_read() {
    let project = crate::pages::bundled();
    let recorded =
        |name: &str| format!("{name}: {{type: recorded, path: recordings/{name}.jsonl}}");
    let suite =
        std::fs::read_to_string(project.path().join(crate::pages::SUITE)).expect("the suite");
    let old = "  target:\n    type: recorded\n    path: \"recordings/{{ assistant }}.jsonl\"\n";
    assert!(suite.contains(old));
    let targets = format!(
        "  targets:\n    {}\n    {}\n",
        recorded("assistant"),
        recorded("assistant-next")
    );
    let format = suite
        .lines()
        .find(|line| line.trim_start().starts_with("format:"))
        .expect("formats");
    let suite = suite
        .replace(old, &targets)
        .replace(format, "    format: [json, html]");
    project.write("evals/two.yaml", &suite);
    let both = ["--target", "assistant", "--target", "assistant-next"];
    let run = [
        "run",
        "--suite",
        "evals/two.yaml",
        "--progress",
        "none",
        "-q",
    ];
    project.call(&[&run[..], &both].concat()).expect(1);
    let sides = project.result(".side-by-side.html");
    judged(&sides, &[""]);
    rows_open(
        Visit::to(&sides).ask("attribute", json!(["a[href$='.html']", "href"])),
        ".side-row",
        ["assistant", "assistant-next"],
        sides.parent().expect("a folder"),
    );

    let next = ["--var", "assistant=assistant-next"];
    crate::pages::run(&project, &[], 0);
    crate::pages::run(&project, &next, 1);
    let comparison = project.path().join("out/comparison.html");
    std::fs::create_dir_all(project.path().join("out")).expect("a folder");
    project
        .call(&[
            "compare",
            "previous",
            "--suite",
            crate::pages::SUITE,
            "--format",
            "html",
            "--output",
            "out/comparison.html",
        ])
        .expect(1);
    judged(&comparison, &["", "#view=comparison&kind=broken"]);
    rows_open(
        Visit::to(&comparison).ask("attribute", json!(["a[href$='.html']", "href"])),
        ".flip",
        ["previous", "latest"],
        &project.path().join("out"),
    );
    // Written to stdout it lies nobody knows where, and links to no file.
    let printed = ["compare", "previous", "--suite", crate::pages::SUITE];
    let printed = project.call(&[&printed[..], &["--format", "html"]].concat());
    let printed = crate::pages::kept(&project, printed.expect(1));
    let visit = Visit::to(&printed).ask("count", "a[href$='.html']");
    if let Some(seen) = look_well(&[visit]) {
        assert_eq!(seen[0].results()[0].to_string(), "0");
    }

    project
        .call(&[
            "phase",
            "--plan",
            "evals/phases/plan.yaml",
            "--progress",
            "none",
            "-q",
        ])
        .expect(0);
    let phase = project
        .path()
        .join("results/phases/phase-semver-precedence.html");
    judged(&phase, &[""]);

    // It links to the pages of its runs.
    let links = Visit::to(&phase)
        .ask("attribute", json!(["#main dd a", "href"]))
        .ask("attribute", json!(["#main li a", "href"]))
        .step("strangers");
    if let Some(seen) = look_well(&[links]) {
        let folder = phase.parent().expect("a folder");
        assert!(folder.join(text(&seen[0], 0)).is_file(), "{:?}", seen[0]);
        let cases = text(&seen[0], 1);
        assert!(cases.contains(".html#view=cases&eval="), "{cases}");
        assert_eq!(seen[0].results()[2], &json!([]));
    }
    // Its theme is a choice without a script.
    let ground = "getComputedStyle(document.documentElement).backgroundColor";
    let choose = |theme: &str| {
        Visit::to(&phase)
            .theme(theme)
            .ask("evaluate", ground)
            .click(".theme-dark")
            .ask("evaluate", ground)
            .click(".theme-light")
            .ask("evaluate", ground)
    };
    if let Some(seen) = look_well(&[choose("light"), choose("dark")]) {
        let [light, dark] = [&seen[0], &seen[1]].map(|seen| text(seen, 0));
        assert_ne!(light, dark);
        for seen in &seen {
            assert_eq!([text(seen, 1), text(seen, 2)], [dark, light]);
        }
    }

    // It needs no script, on the screen or on paper.
    let folded = "#main details:not([open]) > .below";
    let screen = Visit::to(&phase)
        .without_scripts()
        .ask("text", "main")
        .ask("visible", folded)
        .click("#main details > summary")
        .ask("text", "#main details[open]");
    let paper = Visit::to(&phase).on_paper().ask("visible", folded);
    let Some(seen) = look_well(&[screen, paper]) else {
        return;
    };
    let page = text(&seen[0], 0);
    for words in ["PASS", "The hard case", "pass@1", "Expected", "Journal"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(seen[0].results()[1], &json!(false));
    assert!(text(&seen[0], 2).contains("cap-"), "{}", text(&seen[0], 2));
    assert_eq!(seen[1].results()[0], &json!(true));
}

/// The first row opens into what was given, what came back on both sides and why, and leads to the
/// pages of the runs. The visit begins with the address of such a page.
fn rows_open(visit: Visit, row: &str, sides: [&str; 2], folder: &Path) {
    let opened = format!("{row} .opened");
    let visit = visit
        .ask("count", opened.as_str())
        .click(&format!("{row} summary"))
        // A row is drawn after the event of its opening.
        .until(&format!("document.querySelector('{opened} h4') !== null"))
        .ask("text", opened.as_str())
        .ask("texts", format!("{opened} h4"))
        .ask("count", format!("{opened} .reason-box"))
        .ask("attribute", json!([format!("{opened} a"), "href"]))
        .step("strangers")
        .ask("axe", json!(["serious", "critical"]));
    let narrow = visit.clone().size(400, 850).theme("dark").step("overflow");
    let Some(seen) = look_well(&[visit, narrow]) else {
        return;
    };
    for seen in &seen {
        let results = seen.results();
        assert!(folder.join(text(seen, 0)).is_file(), "{results:?}");
        assert_ne!(results[1].to_string(), "0");
        assert!(text(seen, 2).contains("Input"), "{results:?}");
        assert_eq!(*results[3], json!(sides));
        assert!(results[4].as_u64() >= Some(1), "{results:?}");
        let case = text(seen, 5);
        let (file, case) = case.split_once('#').expect("a place in the page");
        assert!(
            folder.join(file).is_file() && case.starts_with("case="),
            "{results:?}"
        );
        assert_eq!([results[6], results[7]], [&json!([]), &json!([])]);
    }
    assert_eq!(seen[1].results()[8]["wide"].to_string(), "0");
}

#[test]
fn overview_answers_on_one_screen_and_nothing_important_is_cut() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &[], 0);
    let folds = "[...document.querySelectorAll('#main details.fold')]";
    let visit = Visit::to(&page)
        .size(1280, 800)
        .ask(
            "evaluate",
            format!("{folds}[0].getBoundingClientRect().top <= 800"),
        )
        .ask("evaluate", format!("{folds}.every((fold) => !fold.open)"))
        .ask("texts", ".failure")
        .ask("text", ".fold summary")
        .click(".fold summary")
        .ask("count", ".fold[open] .failure");
    let mut narrow = Visit::to(&page).size(400, 850);
    for cut in ["th:last-child", "tbody tr:last-child td:last-child"] {
        narrow = narrow
            .ask("uncut", format!(".gate {cut}"))
            .ask("uncut", format!("[aria-label='Counts by outcome'] {cut}"));
    }
    let Some(seen) = look_well(&[visit, narrow]) else {
        return;
    };
    let results = seen[0].results();
    assert_eq!([results[0], results[1]], [&json!(true), &json!(true)]);
    // What is listed first failed; what passed all the same is apart.
    let listed = results[2].as_array().expect("a list");
    let failed = listed.iter().take(2);
    assert!(
        failed.clone().all(|one| one.to_string().contains("failed")),
        "{listed:?}"
    );
    let title = text(&seen[0], 3);
    assert!(
        title.contains("Passed with failed samples") && title.contains("9 cases"),
        "{title}"
    );
    assert_eq!(results[4].to_string(), "9");
    let cut = seen[1].results();
    assert!(cut.iter().all(|whole| **whole == json!(true)), "{cut:?}");
}

#[test]
fn cases_begin_with_failures_and_show_outputs() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &["--var", "assistant=assistant-next"], 1);
    let outcomes =
        "[...document.querySelectorAll('[data-row] .cell-outcome')].map((cell) => cell.innerText)";
    let visit = Visit::to(&page)
        .at("#view=cases")
        .ask("evaluate", outcomes)
        .ask("texts", "[data-row] .cell-output")
        .click("[data-outcome=mixed]")
        .step("fragment")
        .ask("texts", "[data-row] .cell-samples")
        .ask("choose", json!(["select[name=sort]", "plan"]))
        .step("fragment")
        .ask("go", "#view=cases&sort=plan")
        .ask("evaluate", outcomes);
    let narrow = Visit::to(&page)
        .size(400, 850)
        .at("#view=cases")
        .ask("evaluate", "[...document.querySelectorAll('[data-row]')].every((row) => [...row.children].filter((cell) => cell.checkVisibility() && cell.offsetTop > 20 && cell.innerText.trim()).length > 0)");
    let Some(seen) = look_well(&[visit, narrow]) else {
        return;
    };
    let results = seen[0].results();
    let failed = |list: &Value| {
        let list = list.as_array().expect("a list");
        list.iter()
            .take_while(|one| one.to_string().contains("failed"))
            .count()
    };
    assert_eq!(failed(results[0]), 10, "{}", results[0]);
    let outputs = results[1].as_array().expect("a list");
    assert!(
        outputs
            .iter()
            .any(|one| one == "feature\nexpected breaking"),
        "{outputs:?}"
    );
    assert_eq!(results[2], "#view=cases&mixed=1");
    let samples = results[3].as_array().expect("a list");
    assert!(
        !samples.is_empty() && samples.iter().all(|one| one == "1/3" || one == "2/3"),
        "{samples:?}"
    );
    assert!(
        results
            .iter()
            .any(|one| **one == json!("#view=cases&mixed=1&sort=plan")),
        "{results:?}"
    );
    assert_eq!(failed(results.last().expect("outcomes")), 0);
    assert_eq!(
        seen[1].results(),
        [&json!(true)],
        "no row has an empty half"
    );
}

#[test]
fn cases_are_sifted_searched_and_sorted_and_the_address_says_how() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &["--var", "assistant=assistant-next"], 1);
    let count = |outcome: &str| format!("[data-outcome={outcome}]");
    let visit = Visit::to(&page)
        .click("nav a[data-view=cases]")
        .ask("text", "#cases-count")
        .click(&count("failed"))
        .ask("text", "#cases-count")
        .step("fragment")
        .type_into("#search", "semver PRECEDENCE")
        .step("settle")
        .ask("text", "#cases-count")
        .ask("texts", "[data-row]")
        .step("fragment")
        .type_into("#search", "no case has this")
        .step("settle")
        .ask("count", "[data-row]")
        .ask("text", "#main")
        // The link that was shared opens the same.
        .ask("go", "#view=overview")
        .ask("go", "#view=cases&outcome=failed&q=semver%20precedence")
        .ask("value", "#search")
        .ask("count", "[data-row]");
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let seen = &seen[0];
    let all = text(seen, 0);
    assert!(all.contains("cases"), "{all}");
    let failed = text(seen, 1);
    assert!(failed.contains("of") && failed != all, "{failed}");
    assert!(
        text(seen, 2).contains("outcome=failed"),
        "{}",
        text(seen, 2)
    );
    let found = seen.results()[4].as_array().expect("rows");
    assert!(
        !found.is_empty() && found.iter().all(|row| row.to_string().contains("semver")),
        "{found:?}"
    );
    let address = text(seen, 5);
    assert!(
        address.contains("outcome=failed") && address.contains("q=semver"),
        "{address}"
    );
    assert_eq!(seen.results()[6].to_string(), "0");
    assert!(
        text(seen, 7).to_lowercase().contains("clear"),
        "{}",
        text(seen, 7)
    );
    assert_eq!(text(seen, 8), "semver precedence");
    assert_eq!(seen.results()[9].to_string(), found.len().to_string());
}

#[test]
fn a_case_is_opened_by_mouse_by_keyboard_and_by_a_link_and_left_again() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &["--var", "assistant=assistant-next"], 1);
    let clicked = Visit::to(&page)
        .at("#view=cases&outcome=failed")
        .click("[data-row]")
        .ask("wait", ".case-page")
        .step("fragment")
        .ask("text", "#main h1")
        .step("back")
        .ask("wait", "#search")
        .step("fragment");
    let typed = Visit::to(&page)
        .at("#view=cases&outcome=failed")
        .press("/")
        .ask("evaluate", "document.activeElement.id")
        .type_into("#search", "semver")
        .press("ArrowDown")
        .press("Enter")
        .ask("wait", ".case-page")
        .step("fragment");
    let linked = Visit::to(&page)
        .at(FAILS)
        .ask("wait", ".case-page")
        .ask("text", "#main h1")
        .ask("count", ".sample");
    let Some(seen) = look_well(&[clicked, typed, linked]) else {
        return;
    };
    assert!(
        text(&seen[0], 0).starts_with("#case="),
        "{}",
        text(&seen[0], 0)
    );
    assert!(!text(&seen[0], 1).is_empty());
    assert_eq!(text(&seen[0], 2), "#view=cases&outcome=failed");
    assert_eq!(text(&seen[1], 0), "search");
    assert!(
        text(&seen[1], 1).starts_with("#case="),
        "{}",
        text(&seen[1], 1)
    );
    assert!(
        text(&seen[2], 0).contains("Orders versions"),
        "{}",
        text(&seen[2], 0)
    );
    assert_eq!(
        seen[2].results()[1].to_string(),
        "3",
        "every sample is there"
    );
}

#[test]
fn the_theme_is_the_readers_and_is_remembered() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &[], 0);
    let ground = "getComputedStyle(document.documentElement).backgroundColor";
    let visits = [
        Visit::to(&page).theme("dark").ask("evaluate", ground),
        Visit::to(&page)
            .theme("light")
            .remembering("one")
            .ask("evaluate", ground)
            .click("#theme")
            .ask("evaluate", ground)
            .ask("attribute", json!(["#theme", "aria-label"]))
            .step("reload")
            .ask("evaluate", ground),
        Visit::to(&page)
            .remembering("one")
            .ask("evaluate", ground)
            .click("#theme")
            .ask("evaluate", ground),
    ];
    let Some(seen) = look_well(&visits) else {
        return;
    };
    let (dark, light) = (text(&seen[0], 0), text(&seen[1], 0));
    assert_ne!(dark, light);
    assert_eq!(
        (text(&seen[1], 1), text(&seen[1], 2)),
        (dark, "Light theme")
    );
    assert_eq!(
        text(&seen[1], 3),
        dark,
        "remembered when it is opened again"
    );
    assert_eq!((text(&seen[2], 0), text(&seen[2], 1)), (dark, light));
}

#[test]
fn a_report_is_printed_black_on_white_and_whole() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &["--var", "assistant=assistant-next"], 1);
    let ask = |visit: Visit| {
        visit
            .ask("evaluate", "getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).color")
            .ask("visible", "#theme")
            .ask("visible", "header.top nav")
            .step("overflow")
    };
    let visits = [
        ask(Visit::to(&page).theme("dark").on_paper().size(700, 1000)),
        Visit::to(&page).theme("dark").ask("pdf", json!({})),
        Visit::to(&page).at(FAILS).ask("pdf", json!({})),
        // What is folded is open while it is printed, and folded again after.
        Visit::to(&page)
            .at(FAILS)
            .ask("evaluate", "(dispatchEvent(new Event('beforeprint')), document.querySelectorAll('#main .sample[open] .grade').length)")
            .ask("evaluate", "(dispatchEvent(new Event('afterprint')), document.querySelectorAll('#main .sample[open]').length)"),
        Visit::to(&page)
            .at("#view=cases")
            .ask("evaluate", "(dispatchEvent(new Event('beforeprint')), document.querySelectorAll('[data-row]').length)"),
    ];
    let Some(seen) = look_well(&visits) else {
        return;
    };
    assert_eq!(text(&seen[0], 0), "rgb(255, 255, 255)rgb(0, 0, 0)");
    let results = seen[0].results();
    assert_eq!(
        (results[1], results[2]),
        (&json!(false), &json!(false)),
        "paper has no buttons"
    );
    assert_eq!(results[3]["wide"].to_string(), "0", "{}", results[3]);
    let pdf = |at: usize| seen[at].results()[0];
    assert_eq!(pdf(1)["begins"], "%PDF-");
    assert!(pdf(1)["pages"].as_u64() > Some(1), "{}", pdf(1));
    assert_eq!(seen[3].results(), [&json!(3), &json!(1)]);
    assert_eq!(seen[4].results(), [&json!(40)], "all rows are printed");
    assert!(
        pdf(2)["pages"].as_u64() >= Some(1) && pdf(2)["bytes"].as_u64() > Some(10_000),
        "{}",
        pdf(2)
    );
}

#[test]
fn without_scripts_the_decision_is_told_all_the_same() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &["--var", "assistant=assistant-next"], 1);
    let Some(seen) = look_well(&[Visit::to(&page).without_scripts().ask("text", "body")]) else {
        return;
    };
    let body = text(&seen[0], 0);
    assert!(body.contains("Harbor release desk: FAIL (eval-"), "{body}");
    assert!(
        body.contains("pass@1 is 0.733, but at least 0.8 is required"),
        "{body}"
    );
    assert!(body.contains("JavaScript"), "{body}");
}

#[test]
fn commands_are_copied() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &["--var", "assistant=assistant-next"], 1);
    let copied = |visit: Visit| {
        visit
            .ask("grant", json!(["clipboard-read", "clipboard-write"]))
            .ask("text", ".command code")
            .click(".command .copy")
            .ask(
                "until",
                "document.querySelector('.command .copy').textContent === 'Copied'",
            )
            .step("clipboard")
            .ask("text", "#announcer")
    };
    let Some(seen) = look_well(&[copied(Visit::to(&page)), copied(Visit::to(&page).at(FAILS))])
    else {
        return;
    };
    for seen in &seen {
        let (shown, copied) = (text(seen, 0), text(seen, 1));
        assert!(copied.starts_with("eval-harness "), "{copied}");
        assert_eq!(shown, copied);
        assert_eq!(text(seen, 2), "Copied");
    }
}

#[test]
fn the_keyboard_reaches_everything_and_shows_where_it_is() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &[], 0);
    let mut visit = Visit::to(&page)
        .press("Tab")
        .step("focused")
        .press("Enter")
        .step("focused");
    visit = visit
        .ask("go", "#view=cases")
        .ask("evaluate", "document.activeElement.localName");
    for _ in 0..4 {
        visit = visit.press("Tab").ask(
            "evaluate",
            "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'; })()",
        );
    }
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    assert!(
        text(&seen[0], 0).contains("Skip to the content"),
        "{results:?}"
    );
    assert!(text(&seen[0], 1).starts_with("main#main"), "{results:?}");
    assert_eq!(text(&seen[0], 2), "h1", "who listens hears where they are");
    assert!(
        results[3..].iter().all(|shown| **shown == json!(true)),
        "{results:?}"
    );
}

#[test]
fn the_same_journal_gives_the_same_bytes_and_the_file_is_whole_in_itself() {
    let project = crate::pages::bundled();
    let first = std::fs::read_to_string(crate::pages::run(&project, &[], 0)).expect("a page");
    let again = std::fs::read_to_string(crate::pages::rendered(&project, &["--run", "latest"], 0))
        .expect("a page");
    assert!(first == again, "rendered again to other bytes");
    for address in ["http://", "https://", "url(", "src=", "@import"] {
        let before_data = first.split("<div id=\"app\">").next().expect("a head");
        let uses: Vec<&str> = before_data
            .match_indices(address)
            .map(|(at, _)| &before_data[at..(at + 40).min(before_data.len())])
            .collect();
        assert!(uses.is_empty(), "{uses:?}");
    }
    assert!(first.len() < 2_000_000, "{}", first.len());
}

/// The lines of an outline; what depends on how fast this machine is has no figures.
fn scrubbed(outline: &Value) -> String {
    let lines = outline
        .as_array()
        .expect("an outline")
        .iter()
        .map(|line| line.as_str().expect("a line"));
    let timeless = |line: &str| match line.split_once(':') {
        Some((figure, _)) if figure.contains("Latency") => format!("{figure}: ...\n"),
        _ => format!("{line}\n"),
    };
    lines.map(timeless).collect()
}

#[test]
fn what_a_run_of_the_bundled_suite_is_made_of() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &[], 0);
    let visit = Visit::to(&page)
        .ask("evaluate", UNFOLD)
        .step("outline")
        .ask("go", "#view=cases")
        .step("outline")
        .ask("go", FAILS)
        .step("outline");
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    let outline: Vec<String> = results.iter().map(|outline| scrubbed(outline)).collect();
    insta::assert_snapshot!(outline.join("---\n"), @r"
    nav Overview
    nav Cases40
    # Harbor release desk 1.4.0
    ## Gate: ✓ PASS
    table Threshold | Value | 95 % CI | Needs | Status (4 rows)
    ## Outcomes
    figure Cases by outcome: 38 passed, 2 failed
    table What | Total | Passed | Failed | Pass rate (3 rows)
    ## Not passed
    ## Recommendations
    ## Passed with failed samples
    ## Evals
    table Outcome | Eval | Cases | Score | Type | Category | Criticality | Source (23 rows)
    ## Metrics
    figure capability pass rate, 0.882 [0.646, 0.980]
    figure pass@k and pass^k over k. pass@k: 0.875 [0.755, 0.939]; 0.950 [0.831, 0.993]. pass^k: 0.875 [0.755, 0.939]; 0.792 [0.656, 0.892]. pass^k (unbiased): 0.875 [0.755, 0.939]; 0.725 [0.565, 0.857]
    table Other figures | Value | 95 % CI | Cases (8 rows)
    ## Pass rates
    figure capability, 88.2 % [64.6 %, 98.0 %], 15 of 17 passed
    figure code, 94.4 % [81.8 %, 99.1 %], 34 of 36 passed
    figure classification, 66.7 % [12.6 %, 98.1 %], 2 of 3 passed
    figure commits, 0 % [0 %, 94.5 %], 0 of 1 passed
    ## Distributions
    figure Scores of cases: 40 in 12 bins; the fullest, 1, has 23
    figure Latency of the target: ...
    ## Causes
    figure wrong_answer: 13
    ## Trust in verdicts on code
    table What the verdicts rest on | Name | Samples | Grades (1 rows)
    ## Tokens and cost
    figure cap-code-tasks: 1,800 + 387
    ## Models
    ### openai:gpt-4o-mini
    ### anthropic:claude-3-5-sonnet (judge)
    ### all models (targets and judges)
    ## Judges
    ### anthropic:claude-3-5-sonnet
    ## Disclosure
    ### cap-code-tasks
    ### cap-commit-class
    ### cap-issue-triage
    ## Environment
    ---
    nav Overview
    nav Cases40
    # Cases
    table Outcome | Case | Output | Cause and reason | Score | Samples | Latency | Tokens (27 rows)
    ## Run again: cases that did not pass
    ---
    nav Overview
    nav Cases40
    nav Cases
    nav Orders versions with pre-releases (hard, fails)
    nav ← Previous
    nav Next →
    # Orders versions with pre-releases (hard, fails)
    ## Input prompt
    ### Context
    ## Sample 1 of 3
    ### Output
    ### Grades
    ### Details
    ## Sample 2 of 3
    ## Sample 3 of 3
    ## Run again
    ### This case
    ### Its eval
    ### All cases that did not pass
    ");
}

/// Nobody is to take an empty page for a run without failures.
#[test]
fn a_page_that_cannot_be_drawn_says_so() {
    let project = crate::pages::bundled();
    let page = crate::pages::run(&project, &[], 0);
    let whole = std::fs::read_to_string(&page).expect("a page");
    let begins = "id=\"cases\">{\"evals\":";
    assert!(whole.contains(begins));
    let broken = project.write(
        "broken.html",
        &whole.replace(begins, "id=\"cases\">{\"evils\":"),
    );
    let Some(seen) = crate::browser::look(&[Visit::to(&broken).unready().ask("text", "h1")]) else {
        return;
    };
    assert_eq!(text(&seen[0], 0), "This page could not be drawn");
}
