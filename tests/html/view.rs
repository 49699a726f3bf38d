//! `view`: the local page of all runs, in a real browser and over plain connections.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::browser::{Seen, Visit, look_well};
use crate::hostile::escaped;
use crate::pages::{SUITE, bundled, run};
use crate::served::PageServer;
use crate::support::{Project, eventually};
use serde_json::{Value, json};

/// Serves the runs of a project.
fn view(project: &Project, more: &[&str]) -> PageServer {
    PageServer::start(project, &[&["view", "--no-open"], more].concat())
}

/// The ids of the runs of a project, newest first.
fn ids(project: &Project) -> Vec<String> {
    let call = project.call(&["runs", "--format", "json"]).expect(0);
    let runs: Vec<Value> = serde_json::from_str(&call.stdout).expect("JSON");
    let id = |run: &Value| run["run_id"].as_str().expect("an id").to_owned();
    runs.iter().map(id).collect()
}

fn text(seen: &Seen, at: usize) -> &str {
    let results = seen.results();
    let text = results[at].as_str();
    text.unwrap_or_else(|| panic!("{results:?}"))
}

/// Addresses wide and narrow, light and dark: nothing reaches out sideways, axe has nothing serious
/// to say, and each has one heading above all others.
fn judged(server: &PageServer, addresses: &[String]) {
    // A folder for pictures of the pages, for people to look at.
    let pictures = std::env::var_os("EVAL_HARNESS_PICTURES").map(PathBuf::from);
    let mut visits = Vec::new();
    for (theme, width) in [
        ("light", 1280),
        ("dark", 1280),
        ("light", 400),
        ("dark", 400),
    ] {
        let mut visit = Visit::to_url(&server.url).theme(theme).size(width, 850);
        for (at, address) in addresses.iter().enumerate() {
            visit = visit
                .ask("visit", address.as_str())
                .step("overflow")
                .ask("axe", json!(["serious", "critical"]))
                .ask("strangers", "served")
                .ask("count", "#main h1");
            if let Some(folder) = &pictures {
                let picture = folder.join(format!("{at}-{theme}-{width}.png"));
                visit = visit.ask("screenshot", json!({"to": picture, "full": true}));
            }
        }
        visits.push(visit);
    }
    let Some(seen) = look_well(&visits) else {
        return;
    };
    for (seen, visit) in seen.iter().zip(&visits) {
        for (four, address) in seen.results().as_chunks::<4>().0.iter().zip(addresses) {
            let [overflow, axe, strangers, headings] = four;
            assert_eq!(overflow["wide"], 0, "{address} {visit:?}: {overflow}");
            assert_eq!(**axe, json!([]), "{address} {visit:?}");
            assert_eq!(**strangers, json!([]), "{address} {visit:?}");
            assert_eq!(headings.to_string(), "1", "{address}");
        }
    }
}

#[test]
fn every_page_is_fit_to_be_read() {
    let project = bundled();
    run(&project, &[], 0);
    run(&project, &["--var", "assistant=assistant-next"], 1);
    run(&project, &["--eval", "cap-issue-*"], 1);
    let day = project.path().join("results/latest");
    std::fs::write(day.join("run-000000.journal.jsonl"), "{\"x\": 1}\n{}\n").expect("written");
    let server = view(&project, &["--suite", SUITE]);
    let ids = ids(&project);
    let [part, next, first, broken] = ids.as_slice() else {
        panic!("{ids:?}")
    };
    let list = server.settled("/");
    assert!(
        list.contains("unreadable") && list.contains("unknown variant"),
        "{list}"
    );
    let cases = server.get(&format!("/runs/{next}/cases?outcome=failed"));
    let link = cases
        .split(&format!("/runs/{next}/cases/"))
        .nth(1)
        .expect("a case");
    let failed = link.split('"').next().expect("its number");
    let addresses = [
        "/".to_owned(),
        format!("/runs/{next}"),
        format!("/runs/{next}/cases?outcome=unpassed"),
        format!("/runs/{next}/cases/{failed}"),
        "/search?q=semver".to_owned(),
        format!("/compare?run={next}&run={first}"),
        format!("/runs/{broken}"),
        format!("/runs/{part}"),
    ];
    judged(&server, &addresses);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn runs_are_found_opened_and_compared_by_hand() {
    let project = bundled();
    run(&project, &[], 0);
    run(&project, &["--var", "assistant=assistant-next"], 1);
    let server = view(&project, &["--suite", SUITE]);
    server.settled("/");
    let ids = ids(&project);
    let boxes = "tbody input[type=checkbox]";
    let visit = Visit::to_url(&server.url)
        .step("address")
        .ask("texts", "tbody th a")
        .ask("count", ".bars rect")
        // Both boxes, then the comparison.
        .ask(
            "evaluate",
            format!("document.querySelectorAll('{boxes}').forEach((box) => box.click())"),
        )
        .click("#compare button")
        .ask("wait", "#main h1")
        .step("address")
        .ask("text", "#main")
        .click("nav.around a")
        .ask("wait", "form.filters")
        // A filter that no run fits, and one that one fits.
        .type_into("form.filters input[name=q]", "nothing-like-this")
        .press("Enter")
        .until("document.body.innerText.includes('No run fits')")
        .type_into("form.filters input[name=q]", "fail")
        .press("Enter")
        .until("document.querySelectorAll('tbody tr').length === 1")
        .ask("texts", "tbody th a")
        .click("tbody th a")
        .ask("wait", "header.top .badge")
        .ask("text", "header.top .badge")
        .ask("visit", "/search?q=SEMVER%20precedence")
        .ask("count", "tbody tr")
        .click("tbody th a")
        .ask("wait", "#main h1")
        .ask("text", "#main")
        .step("address");
    // The chosen theme stays, on reports as well.
    let ground = "getComputedStyle(document.documentElement).backgroundColor";
    let themed = Visit::to_url(&server.url)
        .ask("evaluate", ground)
        .click(".theme-dark")
        .ask("evaluate", ground)
        .step("reload")
        .ask("evaluate", ground)
        .ask("visit", format!("/runs/{}", ids[0]))
        .ask("evaluate", ground);
    let Some(seen) = look_well(&[visit, themed]) else {
        return;
    };
    let results = seen[0].results();
    assert_eq!(text(&seen[0], 0), "/", "no token is left in the address");
    assert_eq!(*results[1], json!(ids));
    assert_eq!(results[2].to_string(), "2", "a bar for each run");
    let compared = text(&seen[0], 3);
    assert_eq!(compared, format!("/compare?run={}&run={}", ids[0], ids[1]));
    assert!(
        text(&seen[0], 4).contains("fell from"),
        "{}",
        text(&seen[0], 4)
    );
    assert_eq!(*results[5], json!([ids[0]]));
    assert_eq!(text(&seen[0], 6), "FAIL");
    assert_eq!(results[7].to_string(), "2", "a case in two runs");
    let case = text(&seen[0], 8);
    assert!(
        case.contains("expected") && case.contains("newer('1.0.0-alpha'"),
        "{case}"
    );
    assert!(text(&seen[0], 9).starts_with(&format!("/runs/{}/cases/", ids[0])));
    let light = text(&seen[1], 0);
    let dark: Vec<&str> = (1..4).map(|at| text(&seen[1], at)).collect();
    assert_ne!(light, dark[0]);
    assert_eq!(dark, [dark[0]; 3]);
}

/// A target that answers at once, or once the picture of the page is there.
const WAITS: &str =
    "read p; case $p in late*) while [ ! -e go.png ]; do sleep 0.1; done;; esac; echo $p";

/// Starts a run of evals, each an id, which is its prompt, and what is expected.
fn slow_run(project: &Project, evals: &[(&str, &str)]) -> Child {
    let eval =
        |(id, expected): &(&str, &str)| json!({"id": id, "prompt": id, "expected": expected});
    let evals: Vec<Value> = evals.iter().map(eval).collect();
    let suite = json!({"eval_suite": {
        "name": "Slow", "target": {"type": "command", "command": ["sh", "-c", WAITS], "timeout_seconds": 300},
        "evals": evals,
    }});
    project.write("suite.yaml", &suite.to_string());
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--progress", "none"]);
    command
        .args(["--jobs", "1", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

#[test]
fn run_that_goes_on_is_followed_to_its_end() {
    let project = Project::new();
    let evals = [
        ("early-good", "early-good"),
        ("early-bad", "<b>other</b>"),
        ("late", "late"),
    ];
    let mut running = slow_run(&project, &evals);
    let latest = project.path().join("results/latest");
    eventually("the run begins", || latest.exists());
    let server = view(&project, &["--output-dir", "results"]);
    let list = server.get("/");
    assert!(list.contains("Running now"), "{list}");
    let go = project.path().join("go.png");
    let words = "[data-live=words]";
    let visit = Visit::to_url(&server.url)
        .until("document.querySelector('[data-run]')?.textContent.startsWith('2 of 3')")
        .click("a[href^='/runs/']")
        .until(&format!(
            "document.querySelector('{words}')?.textContent === '2 of 3 samples'"
        ))
        .until("document.querySelectorAll('[data-live=newest] a').length === 2")
        .ask("texts", "[data-live=newest] a")
        .ask("text", "[data-live=unpassed]")
        .ask("texts", "[data-live=outcomes] li")
        .step("overflow")
        .ask("axe", json!(["serious", "critical"]))
        .ask("strangers", "served")
        // By which the last sample ends.
        .ask("screenshot", json!({"to": go, "full": true}))
        .until("document.querySelector('header.top .badge')?.textContent === 'FAIL'")
        .ask("visit", "/")
        .ask("count", "[data-run]");
    let looked = look_well(&[visit.size(400, 850)]);
    if looked.is_none() {
        std::fs::write(&go, "").expect("written");
    }
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    let Some(seen) = looked else { return };
    let results = seen[0].results();
    assert_eq!(
        *results[0],
        json!(["early-bad", "early-good"]),
        "newest first"
    );
    assert!(text(&seen[0], 1).contains("early-bad"));
    assert_eq!(*results[2], json!(["1 passed", "1 failed"]));
    assert_eq!(results[3]["wide"], 0);
    assert_eq!((results[4], results[5]), (&json!([]), &json!([])));
    assert_eq!(results[6].to_string(), "0", "nothing runs any more");
    if let Some(folder) = std::env::var_os("EVAL_HARNESS_PICTURES") {
        std::fs::copy(&go, Path::new(&folder).join("live-400.png")).expect("a copy");
    }
}

#[test]
fn run_that_is_killed_is_shown_as_interrupted() {
    let project = Project::new();
    let mut running = slow_run(&project, &[("early", "early"), ("late", "x")]);
    eventually("a sample ends", || {
        let day = std::fs::read_dir(project.path().join("results/latest"))
            .into_iter()
            .flatten();
        day.flatten().any(|file| {
            std::fs::read_to_string(file.path()).is_ok_and(|text| text.contains("sample_finished"))
        })
    });
    let server = view(&project, &["latest", "--suite", "suite.yaml"]);
    assert!(server.url.contains("/runs/eval-"), "{}", server.url);
    assert!(server.get("/").contains("Running now"));
    running.kill().expect("killed");
    running.wait().expect("it ends");
    std::fs::write(project.path().join("go.png"), "").expect("written");
    eventually("the run is shown as interrupted", || {
        let list = server.get("/");
        !list.contains("Running now") && list.contains("interrupted")
    });
}

#[test]
fn payloads_are_text_on_every_page() {
    let payloads = crate::payloads::all();
    let project = Project::new();
    let short = |text: &str| -> String { text.chars().take(150).collect() };
    let (mut cases, mut outputs) = (Vec::new(), String::new());
    for (at, (_, payload)) in payloads.iter().enumerate() {
        let id = format!("{at} {}", short(payload).replace(['{', '%'], "_"));
        let line = escaped(&json!({"case": id, "output": payload}));
        outputs.push_str(&format!("{line}\n"));
        cases.push(json!({
            "id": id, "input": {"type": "prompt", "content": "x"}, "expected": {"type": "exact", "value": "never"},
        }));
    }
    project.write("outputs.jsonl", &outputs);
    let eval = json!({"metadata": {"id": "hostile"}, "test_cases": cases});
    project.write("eval.json", &escaped(&eval));
    let suite = json!({"eval_suite": {
        "name": short(&payloads[0].1).replace('{', "_"), "target": {"type": "recorded", "path": "outputs.jsonl"},
        "evals": [{"$ref": "eval.json"}],
    }});
    project.write("suite.yaml", &escaped(&suite));
    let call = project.call(&["run", "--suite", "suite.yaml", "--progress", "none", "-q"]);
    assert_eq!(call.code, Some(1), "{}", call.stderr);
    // The id of a run is the name of its journal.
    let journal = project.result(".journal.jsonl");
    let odd = journal.with_file_name("run-<img src=x onerror=alert(1)>\"'.journal.jsonl");
    std::fs::copy(&journal, odd).expect("a copy");
    let server = view(&project, &["--suite", "suite.yaml"]);
    let list = server.settled("/");
    assert!(list.contains("&lt;img src=x"), "{list}");
    let ids = ids(&project);
    let id = ids.last().expect("a run");
    let mut visit = Visit::to_url(&server.url).ask("strangers", "served");
    let lists = [
        format!("/runs/{id}/cases"),
        format!("/runs/{id}/cases?q=%3Cscript%3E%22'&eval=%22%3E%3Cscript%3E"),
        "/search?q=%3C".to_owned(),
        "/?suite=%22%3E%3Cimg%20src%3Dx%3E&q=%22%3E%3Cscript%3Ealert(1)".to_owned(),
    ];
    for list in lists {
        visit = visit.ask("visit", list).ask("strangers", "served");
    }
    for (at, (_, payload)) in payloads.iter().enumerate() {
        visit = visit
            .ask("visit", format!("/runs/{id}/cases/{}", at + 1))
            .ask("strangers", "served")
            .ask("shows", json!(["#main", [short(payload)]]));
    }
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    let (lists, cases) = results.split_at(5);
    assert!(lists.iter().all(|found| **found == json!([])), "{lists:?}");
    let mut hidden = Vec::new();
    for ([strangers, shows], (name, _)) in cases.as_chunks::<2>().0.iter().zip(&payloads) {
        assert_eq!(**strangers, json!([]), "{name}");
        hidden.extend((shows[0] == 0).then_some(*name));
    }
    assert!(hidden.is_empty(), "not shown: {hidden:?}");
}

#[test]
fn folders_without_runs_say_how_to_make_one() {
    let project = Project::new();
    let server = view(&project, &["--output-dir", "missing"]);
    let page = server.get("/");
    assert!(
        page.contains("No runs yet") && page.contains("eval-harness run"),
        "{page}"
    );
    assert!(!project.path().join("missing").exists());
    assert_eq!(server.stop(), Some(0));
    std::fs::create_dir(project.path().join("empty")).expect("a folder");
    let server = view(&project, &["--output-dir", "empty"]);
    judged(&server, &["/".to_owned(), "/search".to_owned()]);
}

#[test]
fn addresses_lead_to_no_file() {
    let project = bundled();
    run(&project, &[], 0);
    let secret = project.write("results/secret.journal.jsonl", "{}\n");
    assert!(secret.is_file());
    let server = view(&project, &["--suite", SUITE]);
    let id = &ids(&project)[0];
    for address in [
        "/runs/..%2f..%2fsecret",
        "/runs/..%2fsecret.journal.jsonl",
        "/runs/%2e%2e/secret",
        "/runs/latest",
        "/results/secret.journal.jsonl",
        &format!("/runs/{id}/..%2f..%2fsecret"),
        &format!("/runs/{id}/cases/0"),
        &format!("/runs/{id}/cases/999999"),
        "/compare?base=..%2fsecret&new=latest",
    ] {
        let response = server.get(address);
        assert!(
            response.starts_with("HTTP/1.1 404 "),
            "{address}: {response}"
        );
    }
    let not_a_number = server.get(&format!("/runs/{id}/cases/x"));
    assert!(not_a_number.starts_with("HTTP/1.1 400 "), "{not_a_number}");
    let refused = project.call(&["view", "--no-open", "nope", "--output-dir", "results"]);
    let refused = refused.expect(2).stderr;
    assert!(refused.contains("no run `nope`"), "{refused}");
    let copy = project.path().join("copy.journal.jsonl");
    std::fs::copy(project.result(".journal.jsonl"), &copy).expect("a copy");
    let copied = ["view", "--no-open", "copy.journal.jsonl", "--suite", SUITE];
    let refused = project.call(&copied).expect(2).stderr;
    let why = "copy.journal.jsonl is not the journal of a run in";
    assert!(refused.contains(why), "{refused}");
    let port = server.host().rsplit(':').next().expect("a port");
    let taken = project.call(&[
        "view",
        "--no-open",
        "--output-dir",
        "results",
        "--port",
        port,
    ]);
    let taken = taken.expect(2).stderr;
    assert!(
        taken.contains(&format!("cannot listen on port {port} of 127.0.0.1")),
        "{taken}"
    );
}
