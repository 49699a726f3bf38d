//! What reports, thresholds and dry runs tell of judges, from end to end.

use crate::judge::{Asked, say};
use crate::model_runs::{KEY_ENV, RUN};
use crate::model_server::{Ask, ModelServer};
use crate::support::Project;
use serde_json::{Value, json};

const RUBRIC: &str = "Is it right?\n1. **Truth** (weight: 0.6)\n   - 5: true\n   - 1: false\n2. **Style** (weight: 0.4)\n   - 5: fine\n   - 1: poor\n";

/// Good and bad outputs; one that no answer is to be had about, and one whose first answers need
/// repair.
fn scripted() -> ModelServer {
    ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        let text = match asked.output() {
            "bad" => {
                let mut verdict = asked.worst();
                verdict["justification"] = json!("It says <b>nothing</b> that is true.");
                verdict["passed"] = json!(true);
                verdict.to_string()
            }
            "lost" => "I'd rather not | say".to_owned(),
            "mended" if asked.repairs() == 0 => "It is fine.".to_owned(),
            _ => asked.best().to_string(),
        };
        say(ask, text)
    })
}

fn project(server: &ModelServer, outputs: &[&str], reporting: Value, thresholds: Value) -> Project {
    let project = Project::new();
    let grader = json!({"type": "model", "config": {
        "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV, "rubric": RUBRIC, "votes": 2, "repairs": 1,
    }});
    let evals: Vec<Value> = outputs
        .iter()
        .map(|output| json!({"id": output, "input": "Say what is true.", "grader": grader}))
        .collect();
    let recorded: String = outputs
        .iter()
        .map(|output| format!("{}\n", json!({"case": output, "output": output})))
        .collect();
    let suite = json!({"eval_suite": {
        "name": "Judged", "target": {"type": "recorded", "path": "outputs.jsonl"}, "evals": evals,
        "reporting": reporting, "thresholds": thresholds,
    }});
    project.write("suite.yaml", &suite.to_string());
    project.write("outputs.jsonl", &recorded);
    project
}

fn whole(server: &ModelServer) -> Project {
    project(
        server,
        &["good", "bad", "lost", "mended"],
        json!({"format": ["json", "markdown"]}),
        json!({}),
    )
}

#[test]
fn every_case_has_its_table_and_a_report_is_rendered_again_to_the_same_bytes() {
    let server = scripted();
    let project = whole(&server);
    let call = crate::model_runs::call(&project, &RUN).expect(1);
    let read = |ending: &str| std::fs::read_to_string(project.result(ending)).expect("a report");
    let (json, markdown) = (read(".json"), read(".md"));
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let report = &report["eval_report"];
    let judges = &report["judges"];
    assert_eq!(
        (&judges["samples"], &judges["errored"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(judges["errored_by_cause"], json!({"judge_unparseable": 1}));
    let votes = &judges["by_model"]["openai:judge"];
    assert_eq!(votes, &judges["total"]);
    assert_eq!(
        (&votes["votes"], &votes["passed"], &votes["failed"]),
        (&json!(8), &json!(4), &json!(2))
    );
    assert_eq!(
        (&votes["faults"], &votes["repairs"]),
        (&json!({"no_json": 4}), &json!(4))
    );
    assert_eq!(
        (
            &votes["pairs"],
            &votes["agreeing_pairs"],
            &votes["said_otherwise"]
        ),
        (&json!(3), &json!(3), &json!(2))
    );
    let metric = |name: &str| report["metrics"][name].as_f64();
    assert_eq!(metric("judge_errored_rate"), Some(0.25));
    assert_eq!(metric("judge_parse_failure_rate"), Some(0.5));
    assert_eq!(metric("judge_repair_rate"), Some(0.5));
    assert_eq!(metric("judge_disagreement_rate"), Some(0.0));
    assert_eq!(metric("judge_consistency"), Some(1.0));
    let used = &report["models"];
    assert_eq!(used["by_model"], json!({}));
    assert_eq!(
        used["judges"]["openai:judge"]["answers"]["network"],
        json!(12)
    );
    assert_eq!(
        used["judges"]["openai:judge"]["spent"]["tokens"],
        used["total"]["spent"]["tokens"]
    );
    assert_eq!(used["judges"]["openai:judge"]["latency_ms"]["n"], json!(12));

    for row in [
        "| Truth | 60.0 % | 5 | 1-5 | 1.000 |",
        "| Truth | 60.0 % | 1 | 1-5 | 0.000 |",
    ] {
        assert!(markdown.contains(row), "{markdown}");
    }
    assert!(
        markdown.contains("- Why: It says &lt;b&gt;nothing&lt;/b&gt; that is true."),
        "{markdown}"
    );
    assert!(markdown.contains("I'd rather not | say\n"), "{markdown}");
    assert!(
        call.stdout
            .contains("Why       It says <b>nothing</b> that is true."),
        "{}",
        call.stdout
    );

    for (format, before) in [("json", json), ("markdown", markdown)] {
        let again =
            crate::model_runs::call(&project, &["report", "--run", "latest", "--format", format])
                .expect(1);
        assert_eq!(again.stdout, before);
    }
    assert_eq!(server.asked(), 12, "nobody is asked for a report");
}

#[test]
fn without_details_nothing_that_judges_said_is_told() {
    let server = scripted();
    let reporting = json!({"format": ["json", "markdown"], "include_details": false});
    let project = project(&server, &["good", "bad"], reporting, json!({}));
    crate::model_runs::call(&project, &RUN).expect(1);
    for ending in [".json", ".md"] {
        let text = std::fs::read_to_string(project.result(ending)).expect("a report");
        assert!(
            !text.contains("nothing</b>") && !text.contains("Judged by"),
            "{text}"
        );
        assert!(
            text.to_lowercase().contains("judges"),
            "how they did is told all the same"
        );
    }
}

#[test]
fn what_judges_did_can_be_demanded() {
    let server = scripted();
    let gate = |outputs: &[&str], thresholds: Value, code: i32| {
        let project = project(&server, outputs, json!({"format": ["json"]}), thresholds);
        let call = crate::model_runs::call(&project, &RUN).expect(code);
        let lines = call
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("GATE"));
        lines
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let all = json!({"judge_errored_rate": 0, "judge_consistency": 1, "judge_disagreement_rate": 0, "judge_repair_rate": 0.4});
    gate(
        &["good", "mended"],
        json!({"judge_parse_failure_rate": 0.5}),
        0,
    );
    gate(&["good"], all.clone(), 0);
    let missed = gate(&["good", "mended"], all, 1);
    assert!(missed.contains("judge repair rate is 0.5"), "{missed}");
    let errored = gate(&["good", "lost"], json!({"judge_errored_rate": 0.4}), 1);
    assert!(
        errored.contains("judge errored rate is 0.500, but at most 0.4 is required"),
        "{errored}"
    );
    // Votes that were lost might have differed.
    let open = gate(
        &["good", "lost"],
        json!({"judge_disagreement_rate": 0.1}),
        3,
    );
    assert!(open.contains("judge disagreement rate"), "{open}");
}

#[test]
fn what_no_judge_can_do_can_not_be_demanded() {
    let server = scripted();
    let project = project(
        &server,
        &["good"],
        json!({}),
        json!({"judge_errored_rate": 0.1}),
    );
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).expect("a suite");
    let mut suite: Value = serde_json::from_str(&suite).expect("JSON");
    let single = |suite: &mut Value, thresholds: Value| {
        suite["eval_suite"]["thresholds"] = thresholds;
        project.write("suite.yaml", &suite.to_string());
        let told = crate::model_runs::call(&project, &RUN).expect(2).stderr;
        told.split_whitespace()
            .filter(|word| *word != "│")
            .collect::<Vec<_>>()
            .join(" ")
    };
    suite["eval_suite"]["evals"][0]["grader"]["config"]["votes"] = json!(1);
    let told = single(&mut suite, json!({"judge_disagreement_rate": 0.1}));
    assert!(
        told.contains("each of its judges gives a single vote"),
        "{told}"
    );
    let told = single(
        &mut suite,
        json!({"judge_errored_rate": {"max": 0.1, "bound": "upper"}}),
    );
    assert!(
        told.contains("has no interval, so `bound` is not allowed"),
        "{told}"
    );
    suite["eval_suite"]["evals"][0]["grader"] =
        json!({"type": "code", "config": {"method": "exact_match"}});
    suite["eval_suite"]["evals"][0]["expected"] = json!({"type": "exact", "value": "good"});
    let told = single(&mut suite, json!({"judge_errored_rate": 0.1}));
    assert!(
        told.contains("none of its cases has a grader of type `model`"),
        "{told}"
    );
    assert_eq!(server.asked(), 0);
}

#[test]
fn a_dry_run_tells_of_judges_apart_from_targets() {
    let server = scripted();
    let project = whole(&server);
    let told = |more: &[&str]| {
        let shown = crate::model_runs::call(&project, &[&RUN[..], &["--dry-run"], more].concat())
            .expect(0)
            .stdout;
        let known = ["samples ", "judged ", "model ", "judge ", "cost "];
        let lines = shown
            .lines()
            .map(str::trim_start)
            .filter(|line| known.iter().any(|word| line.starts_with(word)));
        let number = regex::Regex::new(r"about [0-9,]+ tokens").expect("a pattern");
        number
            .replace_all(&lines.collect::<Vec<_>>().join("\n"), "about N tokens")
            .into_owned()
    };
    insta::assert_snapshot!(told(&[]), @"
    samples  4 (no calls of the target)
    judged   up to 8 calls of judges, at most 8 at once
    judge    openai:judge, 8 calls, about N tokens of questions without the
    cost     unknown: there is no price for openai:judge
    ");
    insta::assert_snapshot!(told(&["--cache", "only"]), @"
    samples  4 (no calls of the target)
    cost     none is known: no model is called
    ");
    assert_eq!(server.asked(), 0);
}
