//! `review`: the page on which people grade, in a real browser, and its API over plain connections.

use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use crate::browser::{Seen, Visit, look, look_well};
use crate::hostile::escaped;
use crate::served::{PageServer, asked, attempted};
use crate::support::Project;
use serde_json::{Value, json};

const RUBRIC: &str =
    "## What counts\n\n- correct\n- short\n\nSee [the guide](https://example.com/guide).";
const CODE: &str = "# adds\ndef add(a, b):\n    \"\"\"Sum.\"\"\"\n    return a + b\n";
const MARKDOWN: &str = "# Answer\n\n| a | b |\n|---|---|\n| 1 | **2** |\n\n```python\ndef f():\n    return 1\n```\n\n<img src=x onerror=alert(1)> [link](javascript:alert(1))\n";

/// An eval that people grade.
fn eval(id: &str, scale: &Value, more: &Value) -> Value {
    let mut config = json!({"rubric": RUBRIC, "rating_scale": scale});
    for (name, value) in more.as_object().into_iter().flatten() {
        config[name] = value.clone();
    }
    json!({"id": id, "prompt": format!("Write {id}."), "grader": {"type": "human", "config": config}})
}

fn likert() -> Value {
    json!({"type": "likert", "range": [1, 5], "labels": {"1": "Poor", "5": "Excellent"}})
}

fn binary() -> Value {
    json!({"type": "binary", "options": [
        {"value": true, "label": "Good enough"},
        {"value": false, "label": "Not good", "description": "Something is wrong."},
    ]})
}

/// A project with a run of these evals, whose outputs are recorded.
fn reviewed(evals: &[Value], output: impl Fn(&str) -> String) -> Project {
    let project = Project::new();
    let line = |eval: &Value| {
        let id = eval["id"].as_str().expect("an id");
        let text = output(id);
        format!("{}\n", escaped(&json!({"case": id, "output": text})))
    };
    project.write("outputs.jsonl", &evals.iter().map(line).collect::<String>());
    let suite = json!({"eval_suite": {
        "name": "Texts", "target": {"type": "recorded", "path": "outputs.jsonl"}, "evals": evals,
    }});
    project.write("suite.yaml", &escaped(&suite));
    project
        .call(&["run", "--suite", "suite.yaml", "--progress", "none", "-q"])
        .expect(4);
    project
}

/// Ten items on a scale, one of several criteria, and one that passes or fails.
fn mixed() -> Project {
    let mut evals: Vec<Value> = (0..10)
        .map(|n| eval(&format!("text-{n}"), &likert(), &json!({})))
        .collect();
    let mut several = likert();
    several["criteria"] = json!(["The text is correct", "The text is short"]);
    evals.push(eval("several", &several, &json!({"time_limit_minutes": 5})));
    evals.push(eval("yes-or-no", &binary(), &json!({})));
    reviewed(&evals, |id| match id {
        "text-0" => CODE.to_owned(),
        "text-1" => MARKDOWN.to_owned(),
        _ => format!("The text of {id}."),
    })
}

fn review(project: &Project, more: &[&str]) -> PageServer {
    let fixed = [
        "review",
        "--no-open",
        "--suite",
        "suite.yaml",
        "--as",
        "ana",
    ];
    PageServer::start(project, &[fixed.as_slice(), more].concat())
}

/// The decisions of a reviewer, in the order in which they were written.
fn decisions(project: &Project, reviewer: &str) -> Vec<Value> {
    let folder = project.path().join("reviews/Texts");
    let file = std::fs::read_to_string(folder.join(format!("{reviewer}.jsonl")));
    let lines = file.unwrap_or_default();
    let line = |line: &str| serde_json::from_str(line).expect("a line of JSON");
    lines.lines().map(line).collect()
}

fn text(seen: &Seen, at: usize) -> &str {
    let results = seen.results();
    let text = results[at].as_str();
    text.unwrap_or_else(|| panic!("{results:?}"))
}

/// The number of the item that is shown, from 1, as a condition.
fn item(number: usize) -> String {
    format!(
        "document.querySelector('#main').dataset.item === '{}'",
        number - 1
    )
}

/// Waits until the browser has drawn a picture, or has ended without it.
fn wait_for<T>(picture: &Path, looking: &ScopedJoinHandle<'_, T>) {
    while !picture.exists() && !looking.is_finished() {
        std::thread::sleep(Duration::from_millis(25));
    }
}

const SAVED: &str = "document.documentElement.dataset.unsaved === '0'";

#[test]
fn screens_are_fit_to_be_read_wide_narrow_light_and_dark() {
    let project = mixed();
    let server = review(&project, &[]);
    let pictures = std::env::var_os("EVAL_HARNESS_PICTURES").map(PathBuf::from);
    let mut visits = Vec::new();
    for (theme, width) in [
        ("light", 1280),
        ("dark", 1280),
        ("light", 400),
        ("dark", 400),
    ] {
        let mut visit = Visit::to_url(&server.url).theme(theme).size(width, 850);
        for at in 0..13 {
            if at == 12 {
                visit = visit.press("?");
            }
            visit = visit
                .step("overflow")
                .ask("axe", json!(["minor", "moderate", "serious", "critical"]))
                .ask("strangers", "served")
                .ask("count", "#main h1");
            if let Some(folder) = &pictures {
                let picture = folder.join(format!("review-{at}-{theme}-{width}.png"));
                visit = visit.ask("screenshot", json!({"to": picture, "full": true}));
            }
            if at < 11 {
                visit = visit.press("j").until(&item(at + 2));
            }
        }
        visits.push(visit);
    }
    let Some(seen) = look_well(&visits) else {
        return;
    };
    for (seen, visit) in seen.iter().zip(&visits) {
        for (at, four) in seen.results().as_chunks::<4>().0.iter().enumerate() {
            let [overflow, axe, strangers, headings] = four;
            assert_eq!(overflow["wide"], 0, "{at} {visit:?}: {overflow}");
            assert_eq!(**axe, json!([]), "{at} {visit:?}");
            assert_eq!(**strangers, json!([]), "{at} {visit:?}");
            assert_eq!(headings.to_string(), "1", "{at}");
        }
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn keys_rate_comment_skip_and_undo() {
    let evals: Vec<Value> = (0..4)
        .map(|n| eval(&format!("text-{n}"), &likert(), &json!({})))
        .collect();
    let project = reviewed(&evals, |id| format!("The text of {id}."));
    let server = review(&project, &[]);
    let visit = Visit::to_url(&server.url)
        .step("address")
        .press("4")
        .until(&item(2))
        // Keys in the comment are text.
        .press("c")
        .ask("type", json!(["#comment", "2 things, then s"]))
        .press("Escape")
        .press("1")
        .until(&item(3))
        .press("s")
        .until(&item(4))
        .press("u")
        .until(&item(3))
        .press("u")
        .until(&item(2))
        .ask("value", "#comment")
        .press("2")
        .until(&item(3))
        .press("b")
        .ask("text", "[data-place=clock]")
        .press("b")
        .press("5")
        .until(&item(4))
        .press("3")
        .until("document.querySelector('#main h1').textContent === 'Everything is reviewed'")
        .until(SAVED)
        .ask("text", "[data-place=words]")
        // After a reload nothing is left to do, and the last decision can still be taken back.
        .step("reload")
        .ask("text", "#main h1")
        .press("u")
        .until(&item(4))
        .ask("count", ".choice[aria-pressed=true]");
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    assert_eq!(text(&seen[0], 0), "/", "no token is left in the address");
    assert_eq!(text(&seen[0], 1), "2 things, then s");
    assert!(
        text(&seen[0], 2).ends_with("paused"),
        "{}",
        text(&seen[0], 2)
    );
    assert!(
        text(&seen[0], 3).starts_with("4 of 4 decided"),
        "{}",
        text(&seen[0], 3)
    );
    assert_eq!(text(&seen[0], 4), "Everything is reviewed");
    let written = decisions(&project, "ana");
    let ratings: Vec<&Value> = written.iter().map(|line| &line["rating"]).collect();
    let likert = |score: u32| json!({"type": "likert", "scores": {"": score}});
    let expected = [
        likert(4),
        likert(1),
        json!({"type": "skip"}),
        Value::Null,
        Value::Null,
        likert(2),
        likert(5),
        likert(3),
        Value::Null,
    ];
    assert_eq!(ratings, expected.iter().collect::<Vec<_>>());
    assert_eq!(written[5]["comment"], "2 things, then s");
    assert_eq!(written[5]["reviewer"], "ana");
    assert!(written[5]["seconds"].as_f64().expect("seconds") > 0.0);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn scales_with_criteria_and_pass_or_fail_have_their_keys() {
    let mut several = likert();
    several["criteria"] = json!(["The text is correct", "The text is short"]);
    let evals = [
        eval("several", &several, &json!({})),
        eval("yes-or-no", &binary(), &json!({})),
    ];
    let project = reviewed(&evals, |id| format!("The text of {id}."));
    let server = review(&project, &[]);
    let several = "document.querySelectorAll('.criterion').length === 2";
    let visit = Visit::to_url(&server.url)
        // The order is that of the reviewer's seed.
        .ask(
            "evaluate",
            format!("({several}) ? null : document.querySelector('[data-act=next]').click()"),
        )
        .until(several)
        .press("ArrowDown")
        .press("5")
        .press("2")
        .until("document.querySelector('.binary') !== null")
        .ask("text", ".binary")
        .press("f")
        .until("document.querySelector('#main h1').textContent === 'Everything is reviewed'")
        .until(SAVED);
    if look_well(&[visit]).is_none() {
        return;
    }
    let written = decisions(&project, "ana");
    let ratings: Vec<&Value> = written.iter().map(|line| &line["rating"]).collect();
    let scores = json!({"The text is correct": 2, "The text is short": 5});
    assert_eq!(*ratings[0], json!({"type": "likert", "scores": scores}));
    assert_eq!(*ratings[1], json!({"type": "binary", "value": false}));
}

#[test]
fn outputs_of_two_targets_are_ranked_by_arrows() {
    let project = Project::new();
    let scale = json!({"type": "ranking", "tie_allowed": true});
    let evals = [
        eval("one", &scale, &json!({"pass_threshold": 0.5})),
        eval("two", &scale, &json!({"pass_threshold": 0.5})),
        eval("three", &scale, &json!({"pass_threshold": 0.5})),
    ];
    let mut targets = json!({});
    for name in ["small", "large"] {
        let line = |eval: &Value| {
            format!(
                "{}\n",
                json!({"case": eval["id"], "output": format!("The {name} text.")})
            )
        };
        project.write(
            &format!("{name}.jsonl"),
            &evals.iter().map(line).collect::<String>(),
        );
        targets[name] = json!({"type": "recorded", "path": format!("{name}.jsonl")});
    }
    let suite = json!({"eval_suite": {"name": "Texts", "targets": targets, "evals": evals}});
    project.write("suite.yaml", &suite.to_string());
    let run = [
        "run",
        "--suite",
        "suite.yaml",
        "--target",
        "small",
        "--target",
        "large",
    ];
    project
        .call(&[run.as_slice(), &["--progress", "none", "-q"]].concat())
        .expect(4);
    let server = review(&project, &["--blind"]);
    let visit = Visit::to_url(&server.url)
        .ask("texts", ".output pre")
        .ask("content", "#main")
        .step("overflow")
        .ask("axe", json!(["minor", "moderate", "serious", "critical"]))
        .press("ArrowLeft")
        .until(&item(2))
        .press("ArrowRight")
        .until(&item(3))
        .press("=")
        .until("document.querySelector('#main h1').textContent === 'Everything is reviewed'")
        .until(SAVED);
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    let mut outputs: Vec<&str> = results[0]
        .as_array()
        .expect("texts")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    outputs.sort_unstable();
    assert_eq!(outputs, ["The large text.", "The small text."]);
    assert!(
        !text(&seen[0], 1).contains("Target"),
        "{}",
        text(&seen[0], 1)
    );
    assert_eq!((&results[2]["wide"], results[3]), (&json!(0), &json!([])));
    let written = decisions(&project, "ana");
    let shown = |at: usize, side: usize| written[at]["shown"][side]["output"].clone();
    let order = |at: usize| &written[at]["rating"]["order"];
    assert_eq!(*order(0), json!([[shown(0, 0)], [shown(0, 1)]]));
    assert_eq!(*order(1), json!([[shown(1, 1)], [shown(1, 0)]]));
    assert_eq!(*order(2), json!([[shown(2, 0), shown(2, 1)]]));
    assert_eq!(written[0]["blind"], true);
}

#[test]
fn outputs_are_shown_rendered_coloured_and_compared() {
    let evals = [
        eval("code", &binary(), &json!({})),
        eval("markdown", &binary(), &json!({})),
    ];
    let project = reviewed(&evals, |id| match id {
        "code" => CODE.to_owned(),
        _ => MARKDOWN.to_owned(),
    });
    let server = review(&project, &[]);
    let is_code = "document.querySelector('.output .code-keyword') !== null && !document.querySelector('.output table')";
    let visit = Visit::to_url(&server.url)
        .ask("evaluate", format!("({is_code}) ? null : document.querySelector('[data-act=next]').click()"))
        .until(is_code)
        .ask("texts", ".output pre .code-keyword")
        .ask("texts", ".output pre .code-comment")
        .ask("content", ".output pre")
        .ask("evaluate", "document.querySelector('[data-item=\"0\"] [data-act=next], [data-item=\"1\"] [data-act=previous]').click()")
        .until("document.querySelector('.output table') !== null")
        .ask("texts", ".output .rendered td")
        .ask("count", ".output a, .output img, .desk a")
        .ask("text", ".output .rendered")
        .press("v")
        .until("document.querySelector('.output .rendered') === null")
        .ask("content", ".output pre")
        .ask("text", ".desk .rendered");
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    assert_eq!(*results[0], json!(["def", "return"]));
    assert_eq!(*results[1], json!(["# adds"]));
    assert_eq!(text(&seen[0], 2), CODE, "no character is lost by colours");
    assert_eq!(*results[3], json!(["a", "b", "1", "2"]));
    assert_eq!(results[4].to_string(), "0", "nothing leads anywhere");
    assert!(
        text(&seen[0], 5).contains("<img src=x onerror=alert(1)> link (javascript:alert(1))"),
        "{}",
        text(&seen[0], 5)
    );
    assert_eq!(text(&seen[0], 6), MARKDOWN);
    assert!(
        text(&seen[0], 7).contains("(https://example.com/guide)"),
        "{}",
        text(&seen[0], 7)
    );
}

#[test]
fn hostile_outputs_are_text() {
    let payloads = crate::payloads::all();
    let evals: Vec<Value> = (0..payloads.len())
        .map(|at| eval(&format!("payload-{at:03}"), &binary(), &json!({})))
        .collect();
    let output = |id: &str| {
        let at: usize = id
            .rsplit('-')
            .next()
            .and_then(|at| at.parse().ok())
            .expect("a number");
        payloads[at].1.clone()
    };
    let project = reviewed(&evals, output);
    let server = review(&project, &[]);
    let mut visit = Visit::to_url(&server.url);
    let short = |text: &str| text.chars().take(200).collect::<String>();
    let shorts: Vec<String> = payloads.iter().map(|(_, text)| short(text)).collect();
    for at in 0..payloads.len() {
        visit = visit
            .ask(
                "evaluate",
                "document.querySelector('.output [data-view=rendered]')?.click()",
            )
            .ask("strangers", "served")
            .ask(
                "evaluate",
                "document.querySelector('.output [data-view=raw]')?.click()",
            )
            .ask("strangers", "served")
            .ask("shows", json!([".output", shorts]));
        if at + 1 < payloads.len() {
            visit = visit.press("j").until(&item(at + 2));
        }
    }
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let mut shown = vec![0; payloads.len()];
    for [rendered, raw, shows] in seen[0].results().as_chunks::<3>().0 {
        assert_eq!((*rendered, *raw), (&json!([]), &json!([])));
        for (at, count) in shows.as_array().expect("counts").iter().enumerate() {
            shown[at] += count.as_u64().expect("a count");
        }
    }
    let hidden: Vec<&str> = payloads
        .iter()
        .zip(&shown)
        .filter(|(_, count)| **count == 0)
        .map(|((name, _), _)| *name)
        .collect();
    assert!(hidden.is_empty(), "not shown: {hidden:?}");
}

#[test]
fn decisions_without_a_server_stay_in_the_page_and_in_a_file() {
    let evals: Vec<Value> = (0..3)
        .map(|n| eval(&format!("text-{n}"), &binary(), &json!({})))
        .collect();
    let project = reviewed(&evals, |id| format!("The text of {id}."));
    let mut server = review(&project, &[]);
    let stop = project.path().join("stop.png");
    let url = server.url.clone();
    let saved = "globalThis.__saved !== undefined";
    let visit = Visit::to_url(&url)
        .press("p")
        .until(&item(2))
        .until(SAVED)
        // By which the server is killed.
        .ask("screenshot", json!({"to": stop}))
        .until("fetch('/api/session').then(() => false, () => true)")
        .press("f")
        .until("!document.querySelector('[data-place=fault]').hidden")
        .ask("text", "[data-place=fault]")
        .ask("attribute", json!(["html", "data-unsaved"]))
        .ask("evaluate", "URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.__saved = text; }); return '#'; }, null")
        .click("[data-place=fault] button")
        .until(saved)
        .ask("evaluate", "globalThis.__saved");
    let looked = std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(&[visit]));
        wait_for(&stop, &looking);
        server.kill();
        looking.join().expect("looked")
    });
    let Some(seen) = looked else { return };
    // A server that is gone is a failed request on the console, and nothing else.
    let misdeeds = seen[0].misdeeds();
    assert!(
        misdeeds.iter().all(|one| one.contains("net::ERR_")),
        "{misdeeds:?}"
    );
    assert!(
        text(&seen[0], 0).starts_with("Not saved: The server does not answer."),
        "{}",
        text(&seen[0], 0)
    );
    assert_eq!(text(&seen[0], 1), "1");
    let file: Value = serde_json::from_str(text(&seen[0], 2)).expect("JSON");
    assert_eq!(file["decisions"].as_array().map(Vec::len), Some(1));
    assert_eq!(decisions(&project, "ana").len(), 1);
    project.write("unsaved.json", &file.to_string());
    let import = [
        "review",
        "--suite",
        "suite.yaml",
        "--import",
        "unsaved.json",
    ];
    let imported = project.call(&import).expect(0);
    assert!(
        imported.stdout.contains("1 decision"),
        "{}",
        imported.stdout
    );
    let written = decisions(&project, "ana");
    assert_eq!(
        written[1]["rating"],
        json!({"type": "binary", "value": false})
    );
    assert_eq!(written[1]["id"], file["decisions"][0]["id"]);
    // A second time it changes nothing.
    project.call(&import).expect(0);
    assert_eq!(decisions(&project, "ana").len(), 2);
}

#[test]
fn exported_page_reviews_without_a_server_and_comes_back() {
    let evals: Vec<Value> = (0..3)
        .map(|n| eval(&format!("text-{n}"), &likert(), &json!({})))
        .collect();
    let project = reviewed(&evals, |id| {
        format!("The text of {id}, </script><script>globalThis.__hit = 1</script>.")
    });
    let export = ["review", "--suite", "suite.yaml", "--export", "page.html"];
    project.call(&export).expect(0);
    let page = project.path().join("page.html");
    let visit = Visit::to(&page)
        .press("4")
        .until(&item(2))
        .press("c")
        .ask("type", json!(["#comment", "too long"]))
        .press("Escape")
        .press("2")
        .until(&item(3))
        .press("s")
        .until("document.querySelector('#main').dataset.item === undefined")
        .ask("text", "#main h1")
        .press("u")
        .until(&item(3))
        .press("5")
        .until("document.querySelector('#main h1').textContent === 'Everything is reviewed'")
        .ask("evaluate", "URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.__saved = text; }); return '#'; }, null")
        .ask("type", json!(["#reviewer", "Zoë / R&D"]))
        .click("[data-act=save-file]")
        .until("globalThis.__saved !== undefined")
        .ask("evaluate", "globalThis.__saved")
        .ask("axe", json!(["minor", "moderate", "serious", "critical"]))
        .step("overflow")
        .ask("strangers", "served")
        .size(400, 850);
    let Some(seen) = look_well(&[visit]) else {
        return;
    };
    let results = seen[0].results();
    assert_eq!(text(&seen[0], 0), "Nothing is left but what was skipped");
    assert_eq!(
        (results[2], &results[3]["wide"], results[4]),
        (&json!([]), &json!(0), &json!([]))
    );
    project.write("decisions.json", text(&seen[0], 1));
    let import = [
        "review",
        "--suite",
        "suite.yaml",
        "--import",
        "decisions.json",
    ];
    let imported = project.call(&import).expect(0);
    assert!(
        imported.stdout.contains("3 decisions"),
        "{}",
        imported.stdout
    );
    let folder = project.path().join("reviews/Texts");
    let files: Vec<_> = std::fs::read_dir(folder)
        .expect("reviews")
        .flatten()
        .collect();
    assert_eq!(files.len(), 1, "a name is escaped, not a path");
    let lines = std::fs::read_to_string(files[0].path()).expect("lines");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let scores: Vec<&Value> = lines
        .iter()
        .map(|line| &line["rating"]["scores"][""])
        .collect();
    assert_eq!(scores, [4, 2, 5]);
    assert_eq!(lines[1]["comment"], "too long");
    assert_eq!(lines[0]["reviewer"], "Zoë / R&D");
    // Decisions on what was not in the run are refused as a whole.
    let mut foreign: Value = serde_json::from_str(text(&seen[0], 1)).expect("JSON");
    foreign["decisions"][0]["key"] = json!("sha256:0");
    project.write("foreign.json", &foreign.to_string());
    let refused = project.call(&[
        "review",
        "--suite",
        "suite.yaml",
        "--import",
        "foreign.json",
    ]);
    let refused = refused.expect(2).stderr;
    assert!(refused.contains("1 of 3 decisions"), "{refused}");
}

#[test]
fn requests_from_elsewhere_and_wrong_bodies_record_nothing() {
    let project = reviewed(&[eval("text", &likert(), &json!({}))], |_| {
        "The text.".to_owned()
    });
    let server = review(&project, &[]);
    let (cookie, host) = (server.cookie(), server.host());
    let own = format!("Origin: http://{host}");
    let kind = "Content-Type: application/json";
    let good = json!({"rating": {"type": "likert", "scores": {"": 4}}, "seconds": 1}).to_string();
    let rate = "POST /api/items/0/rating";
    for (headers, why) in [
        (vec![own.as_str(), kind], "no token"),
        (vec![&cookie, kind], "no origin"),
        (
            vec![&cookie, kind, "Origin: http://evil.example"],
            "a foreign origin",
        ),
        (
            vec![&cookie, &own, kind, "Host: evil.example"],
            "a foreign host",
        ),
        (
            vec![&cookie, &own, kind, "Sec-Fetch-Site: cross-site"],
            "another site",
        ),
    ] {
        let refused = server.request(rate, &headers, &good);
        assert!(refused.starts_with("HTTP/1.1 403 "), "{why}: {refused}");
        assert!(refused.contains("Refused: "), "{why}: {refused}");
    }
    let rating = |rating: Value| json!({"rating": rating, "seconds": 1}).to_string();
    let all = [cookie.as_str(), &own, kind];
    for (line, headers, body, status, error) in [
        (rate, &all[..2], good.clone(), 415, "not_json"),
        (rate, &all, "{".to_owned(), 400, "invalid_decision"),
        (
            rate,
            &all,
            json!({"rating": {"type": "skip"}, "seconds": -1}).to_string(),
            400,
            "invalid_decision",
        ),
        (
            rate,
            &all,
            rating(json!({"type": "likert", "scores": {"": 6}})),
            422,
            "unfitting_rating",
        ),
        (
            rate,
            &all,
            rating(json!({"type": "likert", "scores": {"x": 4}})),
            422,
            "unfitting_rating",
        ),
        (
            rate,
            &all,
            rating(json!({"type": "binary", "value": true})),
            422,
            "unfitting_rating",
        ),
        (
            "POST /api/items/7/rating",
            &all,
            good.clone(),
            404,
            "no_item",
        ),
        ("GET /api/items/7", &all, String::new(), 404, "no_item"),
    ] {
        let refused = server.request(line, headers, &body);
        assert!(
            refused.starts_with(&format!("HTTP/1.1 {status} ")),
            "{body}: {refused}"
        );
        assert!(
            refused.contains(&format!("\"error\":\"{error}\"")),
            "{body}: {refused}"
        );
    }
    assert_eq!(decisions(&project, "ana").len(), 0);
    let recorded = server.request(rate, &all, &good);
    assert!(recorded.starts_with("HTTP/1.1 200 "), "{recorded}");
    assert_eq!(decisions(&project, "ana").len(), 1);
}

#[test]
fn decisions_that_can_not_be_written_are_sent_again() {
    let project = reviewed(&[eval("text", &binary(), &json!({}))], |_| {
        "The text.".to_owned()
    });
    let server = review(&project, &[]);
    // A file where the folder should be: no grade can be written, as on a full disk.
    let blocked = project.write("reviews", "");
    let free = project.path().join("free.png");
    let visit = Visit::to_url(&server.url)
        .press("p")
        .until("!document.querySelector('[data-place=fault]').hidden")
        .ask("text", "[data-place=fault]")
        .ask("attribute", json!(["html", "data-unsaved"]))
        // By which the file goes.
        .ask("screenshot", json!({"to": free}))
        .until(SAVED)
        .until("document.querySelector('[data-place=fault]').hidden");
    let looked = std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(&[visit]));
        wait_for(&free, &looking);
        std::fs::remove_file(&blocked).expect("removed");
        looking.join().expect("looked")
    });
    let Some(seen) = looked else { return };
    let misdeeds = seen[0].misdeeds();
    assert!(
        misdeeds.iter().all(|one| one.contains("status of 500")),
        "{misdeeds:?}"
    );
    let words = text(&seen[0], 0);
    assert!(
        words.starts_with("Not saved: the rating was not recorded: cannot write "),
        "{words}"
    );
    assert_eq!(text(&seen[0], 1), "1");
    assert_eq!(decisions(&project, "ana").len(), 1);
}

/// Sends decisions to a server until one is not acknowledged; the ids of those that were.
fn acknowledged(server: &PageServer, most: usize) -> Vec<String> {
    let headers = [server.cookie(), format!("Origin: http://{}", server.host())];
    let all = [
        headers[0].as_str(),
        &headers[1],
        "Content-Type: application/json",
    ];
    let mut ids = Vec::new();
    for number in 0..most {
        let body = json!({"rating": {"type": "binary", "value": number % 2 == 0}, "seconds": 1});
        let Some(answer) = attempted(
            server.host(),
            "POST /api/items/0/rating",
            &all,
            &body.to_string(),
        ) else {
            break;
        };
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            break;
        };
        let Ok(receipt) = serde_json::from_str::<Value>(body) else {
            break;
        };
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        ids.push(receipt["id"].as_str().expect("an id").to_owned());
    }
    ids
}

#[test]
fn killed_servers_lose_no_acknowledged_decision() {
    let project = reviewed(&[eval("text", &binary(), &json!({}))], |_| {
        "The text.".to_owned()
    });
    let mut all = Vec::new();
    for number in 0..6 {
        let server = review(&project, &[]);
        let pid = server.pid().to_string();
        let sent = std::thread::scope(|scope| {
            let sending = scope.spawn(|| acknowledged(&server, 100_000));
            std::thread::sleep(std::time::Duration::from_millis(20 + 13 * number));
            let killed = std::process::Command::new("kill")
                .args(["-KILL", &pid])
                .status();
            assert!(killed.expect("kill").success());
            sending.join().expect("sent")
        });
        all.extend(sent);
    }
    assert!(!all.is_empty());
    let file =
        std::fs::read_to_string(project.path().join("reviews/Texts/ana.jsonl")).expect("lines");
    for id in &all {
        assert!(file.contains(id.as_str()), "{id} of {} is lost", all.len());
    }
}

#[test]
fn two_servers_of_one_reviewer_write_at_once() {
    let project = reviewed(&[eval("text", &binary(), &json!({}))], |_| {
        "The text.".to_owned()
    });
    let (one, other) = (review(&project, &[]), review(&project, &[]));
    let sent: Vec<String> = std::thread::scope(|scope| {
        let sending = [&one, &other].map(|server| scope.spawn(|| acknowledged(server, 40)));
        sending
            .into_iter()
            .flat_map(|sending| sending.join().expect("sent"))
            .collect()
    });
    assert_eq!(sent.len(), 80);
    let written = decisions(&project, "ana");
    assert_eq!(written.len(), 80);
    for id in &sent {
        assert!(written.iter().any(|line| line["id"] == **id), "{id}");
    }
}

/// The API of `--serve`: its address, and the tokens of its reviewers.
fn served(project: &Project) -> (PageServer, Vec<String>) {
    let server = PageServer::start(
        project,
        &[
            "review",
            "--suite",
            "suite.yaml",
            "--serve",
            "127.0.0.1:0",
            "--reviewer",
            "ana",
            "--reviewer",
            "ben",
            "--tokens",
            "tokens.json",
        ],
    );
    let tokens = std::fs::read_to_string(project.path().join("tokens.json")).expect("tokens");
    let tokens: Value = serde_json::from_str(&tokens).expect("JSON");
    let token = |name: &str| tokens[name].as_str().expect("a token").to_owned();
    (server, vec![token("ana"), token("ben")])
}

#[test]
fn api_knows_reviewers_by_their_tokens() {
    let evals: Vec<Value> = (0..2)
        .map(|n| eval(&format!("text-{n}"), &binary(), &json!({})))
        .collect();
    let project = reviewed(&evals, |id| format!("The text of {id}."));
    let (server, tokens) = served(&project);
    let host = server.host();
    let schema = crate::review::openapi();
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let get = |path: &str, header: &str| asked(host, &format!("GET {path}"), &[header], "");
    let body = |response: &str| -> Value {
        let body = response.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str(body).unwrap_or_else(|_| panic!("{response}"))
    };
    for wrong in [
        "X: y".to_owned(),
        bearer("0"),
        format!("Authorization: Basic {}", tokens[0]),
    ] {
        let refused = get("/api/session", &wrong);
        assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
        assert_eq!(body(&refused)["error"], "unauthorized");
        fits(&schema, "ApiFailure", &body(&refused));
    }
    let foreign = asked(
        host,
        "GET /api/session",
        &[&bearer(&tokens[0]), "Host: evil.example"],
        "",
    );
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    let foreign = asked(
        host,
        "GET /api/session",
        &[&bearer(&tokens[0]), "Origin: http://evil.example"],
        "",
    );
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    for (name, token) in ["ana", "ben"].iter().zip(&tokens) {
        let session = body(&get("/api/session", &bearer(token)));
        assert_eq!(
            (&session["reviewer"], &session["items"]),
            (&json!(name), &json!(2))
        );
        fits(&schema, "ReviewOverview", &session);
        fits(
            &schema,
            "ReviewScreen",
            &body(&get("/api/items/0", &bearer(token))),
        );
        let decision =
            json!({"rating": {"type": "binary", "value": *name == "ana"}, "seconds": 2.5})
                .to_string();
        let headers = [bearer(token), "Content-Type: application/json".to_owned()];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let receipt = body(&asked(
            host,
            "POST /api/items/0/rating",
            &headers,
            &decision,
        ));
        assert_eq!(receipt["progress"]["done"], 1, "{receipt}");
        fits(&schema, "ReviewReceipt", &receipt);
        let written = decisions(&project, name);
        assert_eq!(written.len(), 1);
        assert_eq!(written[0]["rating"]["value"], *name == "ana");
        let undone = body(&asked(host, "POST /api/undo", &headers, ""));
        assert_eq!(undone["index"], 0);
        fits(&schema, "UndoneDecision", &undone);
    }
    // The page is for everyone, and has nothing without a token.
    let page = asked(host, "GET /", &[], "");
    assert!(
        page.starts_with("HTTP/1.1 200 ") && !page.contains("The text of"),
        "{page}"
    );
    let link = format!("http://{host}/#token={}", tokens[1]);
    let visit = Visit::to_url(&link)
        .until(&item(1))
        .ask("fragment", Value::Null)
        .press("p")
        .until(&item(2))
        .until(SAVED)
        .step("reload")
        .until(&item(2));
    let without = Visit::to_url(&format!("http://{host}/")).ask("text", "#main");
    let Some(seen) = look(&[visit, without]) else {
        return;
    };
    assert_eq!(seen[0].misdeeds(), Vec::<String>::new());
    assert_eq!(text(&seen[0], 0), "", "the token leaves the address");
    assert!(
        text(&seen[1], 0).contains("Open the link that you were given"),
        "{}",
        text(&seen[1], 0)
    );
    assert_eq!(decisions(&project, "ben").len(), 3);
}

fn openapi() -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/review.openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the description")).expect("JSON")
}

/// Asserts that an answer has the shape that the description of the API promises.
fn fits(openapi: &Value, schema: &str, answer: &Value) {
    let mut whole = openapi.clone();
    whole["$ref"] = json!(format!("#/components/schemas/{schema}"));
    let validator = jsonschema::draft202012::new(&whole).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(answer)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{schema}: {errors:?}\n{answer}");
}

#[test]
fn addresses_beyond_this_machine_need_a_certificate() {
    let project = reviewed(&[eval("text", &binary(), &json!({}))], |_| {
        "The text.".to_owned()
    });
    let serve = |more: &[&str]| {
        let fixed = [
            "review",
            "--suite",
            "suite.yaml",
            "--as",
            "ana",
            "--serve",
            "0.0.0.0:0",
        ];
        project
            .call(&[fixed.as_slice(), more].concat())
            .expect(2)
            .stderr
    };
    let refused = serve(&[]);
    assert!(refused.contains("requires encryption"), "{refused}");
    project.write("cert.pem", "no certificate\n");
    let refused = serve(&["--cert", "cert.pem", "--key", "cert.pem"]);
    assert!(refused.contains("cert.pem: "), "{refused}");
}
