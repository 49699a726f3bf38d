//! Runs that ask judges: how wide they go, what a kill costs, panels, budgets, recordings, and
//! grading again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::judge::{Asked, say};
use crate::model_runs::{Journal, KEY, KEY_ENV, RESUME, RUN};
use crate::model_server::{Act, After, Ask, ModelServer, Said, Step};
use crate::support::{Project, eventually};
use serde_json::{Value, json};

const RUBRIC: &str = "Is it right?\n1. **Truth** (weight: 0.5)\n   - 5: true\n   - 1: false\n2. **Style** (weight: 0.5)\n   - 5: fine\n   - 1: poor\n";

/// How many cases, and what judges them.
struct Judging {
    rows: usize,
    config: Value,
    settings: Value,
}

impl Judging {
    fn new(rows: usize, server: &ModelServer) -> Judging {
        let config = json!({
            "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV, "rubric": RUBRIC, "max_concurrency": 16,
        });
        Judging {
            rows,
            config,
            settings: json!({"max_workers": 2}),
        }
    }

    fn with(mut self, more: Value) -> Judging {
        for (name, value) in more.as_object().expect("an object") {
            self.config[name] = value.clone();
            if value.is_null() {
                self.config.as_object_mut().expect("an object").remove(name);
            }
        }
        self
    }

    fn settings(self, settings: Value) -> Judging {
        Judging { settings, ..self }
    }

    /// Outputs are recorded: `output N`.
    fn project(&self) -> Project {
        let project = Project::new();
        let mut outputs = String::new();
        for n in 0..self.rows {
            let _ = writeln!(
                outputs,
                "{}",
                json!({"case": format!("c{n}"), "output": format!("output {n}")})
            );
        }
        project.write("outputs.jsonl", &outputs);
        self.write(
            &project,
            json!({"type": "recorded", "path": "outputs.jsonl"}),
        );
        project
    }

    fn write(&self, project: &Project, target: Value) {
        let case = json!({
            "id": "c{{ row.n }}", "input": "case {{ row.n }}", "grader": {"type": "model", "config": self.config},
        });
        let eval = json!({"metadata": {"id": "judged"}, "dataset": {"path": "rows.jsonl", "format": "jsonl", "case": case}});
        let suite = json!({"eval_suite": {
            "name": "Judged", "config": self.settings, "target": target, "evals": [{"$ref": "eval.yaml"}],
            "reporting": {"format": ["json", "markdown"]},
        }});
        let rows: String = (0..self.rows)
            .map(|n| format!("{{\"n\": {n}}}\n"))
            .collect();
        project.write("suite.yaml", &suite.to_string());
        project.write("eval.yaml", &eval.to_string());
        project.write("rows.jsonl", &rows);
    }
}

/// A judge that finds everything good, after so many milliseconds.
fn kind(ms: u64) -> ModelServer {
    ModelServer::start(move |ask: &Ask| {
        Step::after(ms, say(ask, Asked::of(ask).best().to_string()))
    })
}

fn by_output(server: &ModelServer) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in server.settled() {
        *counts
            .entry(Asked::of(&entry.ask).output().to_owned())
            .or_default() += 1;
    }
    counts
}

fn votes(judged: &Value) -> Vec<String> {
    let word = |vote: &Value, name: &str| vote[name].as_str().unwrap_or("-").to_owned();
    let votes = judged["votes"].as_array().expect("votes");
    votes
        .iter()
        .map(|vote| {
            format!(
                "{} {} {}",
                word(vote, "model"),
                vote["index"],
                word(vote, "outcome")
            )
        })
        .collect()
}

#[test]
fn who_waits_for_a_judge_holds_no_worker() {
    let server = kind(60);
    let project = Judging::new(60, &server).project();
    crate::model_runs::call(&project, &RUN).expect(0);
    assert!(
        (9..=16).contains(&server.peak()),
        "{} at once with 2 workers and 16 calls",
        server.peak()
    );
    assert_eq!(server.asked(), 60);

    let server = kind(5);
    let project = Judging::new(12, &server).project();
    crate::model_runs::call(&project, &[&RUN[..], &["--jobs", "1"]].concat()).expect(0);
    assert_eq!(server.peak(), 1, "one sample at a time");
}

/// Many samples are under way, and no more programs than workers.
#[test]
fn programs_wait_for_a_worker_while_judges_are_waited_for() {
    let server = kind(20);
    let judging = Judging::new(24, &server);
    let project = judging.project();
    let program = "echo + >> programs.log; sleep 0.03; echo - >> programs.log";
    let case = json!({
        "id": "c{{ row.n }}", "input": "case {{ row.n }}", "graders": [
            {"type": "model", "config": judging.config},
            {"type": "code", "config": {"method": "command", "command": ["sh", "-c", program]}},
        ],
    });
    let eval = json!({"metadata": {"id": "judged"}, "dataset": {"path": "rows.jsonl", "format": "jsonl", "case": case}});
    project.write("eval.yaml", &eval.to_string());
    crate::model_runs::call(&project, &RUN).expect(0);
    let log = std::fs::read_to_string(project.path().join("programs.log")).expect("a log");
    let (mut now, mut most, mut all) = (0, 0, 0);
    for line in log.lines() {
        now += if line == "+" { 1 } else { -1 };
        all += i32::from(line == "+");
        most = most.max(now);
    }
    assert_eq!((all, now, most), (24, 0, 2), "{log}");
    assert!(server.peak() > 2, "{}", server.peak());
}

/// A judge that never answers does not keep a run from ending.
#[test]
fn calls_of_judges_end_with_the_run() {
    let server = ModelServer::start(|_: &Ask| Act::StallHead);
    let project = Judging::new(8, &server)
        .with(json!({"structured": false}))
        .project();
    let mut child = crate::model_runs::start(&project, &RUN);
    eventually("the judge is asked", || server.asked() >= 4);
    let interrupt = || {
        let told = std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(told.expect("a shell's kill").success());
    };
    interrupt();
    eventually("it is heard", || Journal::torn(&project).sessions == 1);
    std::thread::sleep(std::time::Duration::from_millis(200));
    interrupt();
    assert_eq!(child.wait().expect("a child of ours").code(), Some(130));
    let journal = Journal::latest(&project);
    assert!(
        journal.finished && journal.samples.is_empty(),
        "nothing was found out"
    );
}

#[test]
fn a_killed_run_asks_no_judge_again_that_has_answered() {
    const IN_FLIGHT: usize = 8;
    let server = kind(30);
    let judging = Judging::new(160, &server).with(json!({"max_concurrency": IN_FLIGHT}));
    let project = judging.project();
    let mut child = crate::model_runs::start(&project, &RUN);
    eventually("the judge is asked", || server.asked() >= 70);
    child.kill().expect("a child of ours");
    assert_eq!(
        child.wait().expect("a child of ours").code(),
        None,
        "it was alive"
    );
    let (before, asked) = (Journal::torn(&project), by_output(&server));
    assert!(!before.samples.is_empty() && before.samples.len() < 160);
    crate::model_runs::call(&project, &RESUME).expect(0);
    let journal = Journal::latest(&project);
    assert_eq!((journal.samples.len(), journal.sessions), (160, 2));
    assert!(
        journal
            .samples
            .values()
            .all(|sample| sample.outcome == "passed")
    );
    // Those in flight, and those whose answer was on its way into the cache.
    let again = server.asked() - 160;
    assert!(again <= 2 * IN_FLIGHT, "{again} asked again");
    let now = by_output(&server);
    for (case, _) in before.samples.keys() {
        let output = case.replace('c', "output ");
        assert_eq!(
            now[&output], asked[&output],
            "{case} was in the journal and was judged again"
        );
    }
}

/// Two judges with three votes each, of which one wavers.
fn panel(server: &ModelServer, more: Value) -> Judging {
    let models = json!([
        {"model": "openai:firm", "base_url": server.url(), "api_key_env": KEY_ENV},
        {"model": "anthropic:wavering", "base_url": server.url(), "api_key_env": KEY_ENV},
    ]);
    let config =
        json!({"model": null, "base_url": null, "api_key_env": null, "models": models, "votes": 3});
    Judging::new(8, server).with(config).with(more)
}

/// `firm` gives 4 each time; `wavering` gives 5, 3 and 1 in whatever order it is asked.
fn wavering() -> ModelServer {
    ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        let score = match ask.body["model"].as_str() {
            Some("firm") => 4,
            _ => [5, 3, 1][ask.nth % 3],
        };
        say(
            ask,
            asked
                .verdict(|_, _| json!(score), |_| true, true)
                .to_string(),
        )
    })
}

#[test]
fn panels_count_every_vote_and_each_has_an_answer_of_its_own() {
    // Prompts of both APIs are the same, so that the server counts them together: a server each.
    let (firm, wavers) = (wavering(), wavering());
    // By the criterion the votes are 4 4 4 and 5 3 1.
    for (rule, outcome, share) in [
        // The lower of the middle ones of 1 3 4 4 4 5 is 4.
        ("median", "passed", 0.75),
        // 21/6 = 3.5.
        ("mean", "failed", 0.625),
        // 4 of 6 pass at 0.7: 4 4 4 5.
        ("majority", "passed", 0.75),
    ] {
        let mut judging = panel(&firm, json!({"panel": rule}));
        judging.config["models"][1]["base_url"] = json!(wavers.url());
        let project = judging.project();
        let asked = (firm.asked(), wavers.asked());
        let call = crate::model_runs::call(&project, &RUN);
        assert_eq!(
            call.code,
            Some(i32::from(outcome == "failed")),
            "{}\n{}",
            call.stdout,
            call.stderr
        );
        let journal = Journal::latest(&project);
        for sample in journal.samples.values() {
            assert_eq!(
                (sample.outcome.as_str(), sample.score),
                (outcome, Some(share)),
                "{rule}: {sample:#?}"
            );
            let votes = votes(&sample.judged);
            assert_eq!(votes.len(), 6);
            assert!(
                votes[..3]
                    .iter()
                    .all(|vote| vote.starts_with("openai:firm") && vote.ends_with("passed")),
                "{votes:?}"
            );
            let passed = votes[3..]
                .iter()
                .filter(|vote| vote.ends_with("passed"))
                .count();
            assert!(
                votes[3..]
                    .iter()
                    .all(|vote| vote.starts_with("anthropic:wavering"))
                    && passed == 1,
                "{votes:?}"
            );
            let spread = &sample.judged["criteria"][0]["spread"];
            assert_eq!(
                (spread[0].as_f64(), spread[1].as_f64()),
                (Some(1.0), Some(5.0)),
                "{}",
                sample.judged
            );
        }
        assert_eq!(
            (firm.asked() - asked.0, wavers.asked() - asked.1),
            (24, 24),
            "{rule}"
        );
    }
}

#[test]
fn a_form_that_the_api_refuses_is_refused_once() {
    let server = ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        match asked.structured {
            true => Step::from(Act::Status(400, After::Unsaid)),
            false => Step::after(10, say(ask, asked.best().to_string())),
        }
    });
    let project = Judging::new(40, &server).project();
    crate::model_runs::call(&project, &RUN).expect(0);
    let refused = server
        .settled()
        .iter()
        .filter(|entry| matches!(entry.act, Act::Status(400, _)))
        .count();
    assert_eq!((refused, server.asked()), (1, 41));
}

#[test]
fn outputs_are_judged_again_by_another_rubric_and_another_judge_without_the_target() {
    let (target, judges) = (ModelServer::kind(1), kind(1));
    let judging = Judging::new(10, &judges);
    let project = Project::new();
    let model = json!({"type": "model", "model": "openai:m", "base_url": target.url(), "api_key_env": KEY_ENV});
    judging.write(&project, model.clone());
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!((target.asked(), judges.asked()), (10, 10));

    // Nothing changed: what judges said is known.
    crate::model_runs::call(&project, &["regrade", "--progress", "none"]).expect(0);
    assert_eq!((target.asked(), judges.asked()), (10, 10));

    let other = ModelServer::start(|ask: &Ask| say(ask, Asked::of(ask).worst().to_string()));
    let changed = Judging::new(10, &other)
        .with(json!({"model": "anthropic:strict", "rubric": "Is it poetry?"}));
    changed.write(&project, model);
    let call = crate::model_runs::call(&project, &["regrade", "--progress", "plain"]).expect(1);
    assert!(
        call.stderr.contains("tokens"),
        "traffic is told: {}",
        call.stderr
    );
    assert_eq!(
        (target.asked(), judges.asked(), other.asked()),
        (10, 10, 10)
    );
    let journal = Journal::latest(&project);
    assert!(
        journal
            .samples
            .values()
            .all(|sample| sample.outcome == "failed" && sample.score == Some(0.0))
    );
    let report = project.report();
    assert!(report["metadata"]["regrade_of"].is_string());
    assert_eq!(
        report["models"]["judges"]["anthropic:strict"]["requests"], 10,
        "{}",
        report["models"]
    );
}

/// A key of a target that is not asked is not needed, one of a judge is.
#[test]
fn a_regrade_needs_the_keys_of_judges_alone() {
    let (target, judges) = (ModelServer::kind(1), kind(1));
    let project = Project::new();
    let model = json!({"type": "model", "model": "openai:m", "base_url": target.url(), "api_key_env": "TARGET_KEY"});
    Judging::new(3, &judges).write(&project, model);
    let run = |args: &[&str], judge_key: bool, target_key: bool| {
        let mut command = crate::model_runs::command(&project, args);
        if !judge_key {
            command.env_remove(KEY_ENV);
        }
        if target_key {
            command.env("TARGET_KEY", "sk-target-0123456789");
        }
        crate::support::Call::of(command.output().expect("the program starts"))
    };
    run(&RUN, true, true).expect(0);
    run(
        &["regrade", "--cache", "refresh", "--progress", "none"],
        true,
        false,
    )
    .expect(0);
    assert_eq!((target.asked(), judges.asked()), (3, 6));
    let call = run(&["regrade", "--progress", "none"], false, false).expect(2);
    assert!(
        call.stderr.contains(KEY_ENV) && !call.stderr.contains("TARGET_KEY"),
        "{}",
        call.stderr
    );
    // Whoever only looks at the plan asks nobody.
    run(&["run", "--suite", "suite.yaml", "--dry-run"], false, false).expect(0);
}

#[test]
fn every_case_is_judged_by_the_default_judge_when_the_command_line_says_so() {
    let server = kind(1);
    let project = Project::new();
    let judge = json!({"type": "model", "config": {
        "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV, "rubric": "Is it kind?",
    }});
    let suite = json!({"eval_suite": {
        "name": "Judged", "target": {"type": "echo"}, "graders": {"graders": {"kindness": judge}, "defaults": {"model": "kindness"}},
        "evals": [{"id": "e", "input": "hello", "expected": {"type": "exact", "value": "bye"}}],
    }});
    project.write("suite.yaml", &suite.to_string());
    crate::model_runs::call(&project, &RUN).expect(1);
    assert_eq!(server.asked(), 0);
    crate::model_runs::call(&project, &[&RUN[..], &["--grader-type", "model"]].concat()).expect(0);
    assert_eq!(server.asked(), 1);
    // What is there is graded again in that way, too.
    crate::model_runs::call(
        &project,
        &[
            "regrade",
            "--grader-type",
            "model",
            "--cache",
            "off",
            "--progress",
            "none",
        ],
    )
    .expect(0);
    assert_eq!(server.asked(), 2);
}

/// The texts of all files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![std::fs::read_to_string(&path).expect("a file")],
        })
        .collect()
}

#[test]
fn recorded_judges_need_neither_network_nor_key() {
    let server = wavering();
    let judging = Judging::new(6, &server).with(json!({"votes": 3, "model": "openai:wavering"}));
    let project = judging.project();
    crate::model_runs::call(
        &project,
        &[&RUN[..], &["--record", "recorded", "--cache", "off"]].concat(),
    )
    .expect(1);
    let asked = server.asked();
    assert_eq!(asked, 18);
    let before = Journal::latest(&project);
    drop(server);
    for args in [
        &RUN[..],
        &["regrade", "--run", "latest", "--progress", "none"],
    ] {
        let args = [args, &["--replay", "recorded", "--cache", "off"]].concat();
        let mut command = crate::model_runs::command(&project, &args);
        command.env_remove(KEY_ENV);
        crate::support::Call::of(command.output().expect("the program starts")).expect(1);
        let now = Journal::latest(&project);
        for (place, sample) in &before.samples {
            let again = &now.samples[place];
            assert_eq!(
                (again.score, votes(&again.judged)),
                (sample.score, votes(&sample.judged))
            );
            assert_eq!(
                again.judged["votes"][0]["calls"][0]["call"]["source"],
                "recording"
            );
        }
    }
    for text in files(&project.path().join("recorded")) {
        assert!(text.contains("\"answer\"") && !text.contains(KEY), "{text}");
    }
}

#[test]
fn what_the_budget_does_not_allow_to_judge_is_skipped_and_never_failed() {
    let server = kind(1);
    let judging = Judging::new(30, &server).settings(json!({"max_workers": 1}));
    let project = judging.with(json!({"max_concurrency": 1})).project();
    let args = [&RUN[..], &["--budget", "tokens=6000"]].concat();
    let call = crate::model_runs::call(&project, &args).expect(3);
    let journal = Journal::latest(&project);
    let judged = journal.samples.len();
    let notice = format!("BUDGET SPENT: {} samples did not run", 30 - judged);
    assert!(call.stdout.contains(&notice), "{}", call.stdout);
    assert!((1..30).contains(&judged), "{judged} judged");
    assert!(
        journal
            .samples
            .values()
            .all(|sample| sample.outcome == "passed"),
        "{:#?}",
        journal.samples
    );
    assert_eq!(journal.skipped.len(), 30 - judged);
    assert!(journal.skipped.values().all(|cause| cause == "budget"));
    assert_eq!(server.asked(), judged);

    // On resume what judges took before counts; with more to spend it goes on.
    crate::model_runs::call(&project, &RESUME).expect(3);
    assert_eq!(server.asked(), judged, "nothing is left to spend");
    crate::model_runs::call(
        &project,
        &[&RESUME[..], &["--budget", "tokens=1000000"]].concat(),
    )
    .expect(0);
    assert_eq!(Journal::latest(&project).samples.len(), 30);
    assert_eq!(server.asked(), 30);

    // A regrade has a budget of its own, and spends nothing on what is known.
    crate::model_runs::call(
        &project,
        &["regrade", "--budget", "tokens=1", "--progress", "none"],
    )
    .expect(0);
    assert_eq!(server.asked(), 30);
    let again = [
        "regrade",
        "--budget",
        "tokens=6000",
        "--cache",
        "off",
        "--progress",
        "none",
    ];
    crate::model_runs::call(&project, &again).expect(3);
    let journal = Journal::latest(&project);
    assert!(
        (1..30).contains(&journal.samples.len())
            && journal.samples.len() + journal.skipped.len() == 30
    );
    assert!(journal.skipped.values().all(|cause| cause == "budget"));
}

/// An output that was paid for is not thrown away because its judge can't be: that sample is
/// errored.
#[test]
fn an_output_that_cost_something_is_kept_when_its_judge_is_beyond_the_budget() {
    let (target, judges) = (ModelServer::kind(1), kind(1));
    let project = Project::new();
    let model = json!({"type": "model", "model": "openai:m", "base_url": target.url(), "api_key_env": KEY_ENV, "max_concurrency": 1});
    Judging::new(1, &judges)
        .settings(json!({"max_workers": 1}))
        .write(&project, model);
    // All that the budget allows is the first question.
    crate::model_runs::call(&project, &[&RUN[..], &["--budget", "tokens=2"]].concat()).expect(3);
    assert_eq!((target.asked(), judges.asked()), (1, 0));
    let journal = Journal::latest(&project);
    let sample = journal.samples.values().next().expect("a sample");
    assert_eq!(
        (sample.outcome.as_str(), sample.cause.as_deref()),
        ("errored", Some("judge_unreachable"))
    );
    assert!(
        sample.output.is_some() && sample.reason.contains("budget"),
        "{sample:#?}"
    );
    // With more to spend the same output is judged.
    crate::model_runs::call(
        &project,
        &[&RESUME[..], &["--budget", "tokens=100000"]].concat(),
    )
    .expect(0);
    assert_eq!((target.asked(), judges.asked()), (1, 1));
}

/// A further output that is there and may not be judged could have passed.
#[test]
fn a_sample_is_not_failed_for_an_attempt_that_the_budget_left_unjudged() {
    let target =
        ModelServer::start(|ask: &Ask| Act::Say(Said::new(format!("answer {}", ask.nth), (1, 1))));
    let judges = ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        let verdict = if asked.output() == "answer 0" {
            asked.worst()
        } else {
            asked.best()
        };
        say(ask, verdict.to_string())
    });
    let project = Project::new();
    let model = json!({"type": "model", "model": "openai:m", "base_url": target.url(), "api_key_env": KEY_ENV});
    let settings = json!({"max_workers": 1, "retry_failed": true, "retry_count": 1});
    Judging::new(1, &judges)
        .settings(settings)
        .write(&project, model);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!((target.asked(), judges.asked()), (2, 2));
    // All that the budget allows is the first question.
    let again = [
        "regrade",
        "--run",
        "latest",
        "--budget",
        "tokens=2",
        "--cache",
        "off",
        "--progress",
        "none",
    ];
    crate::model_runs::call(&project, &again).expect(3);
    assert_eq!((target.asked(), judges.asked()), (2, 3));
    let journal = Journal::latest(&project);
    let sample = journal.samples.values().next().expect("a sample");
    assert_eq!(
        (sample.outcome.as_str(), sample.cause.as_deref()),
        ("errored", Some("judge_unreachable"))
    );
    assert_eq!(
        project.report()["models"]["judges"]["openai:judge"]["requests"],
        1
    );
}

/// The judge repeats whatever it can see, its own request included.
#[test]
fn a_key_that_a_judge_repeats_is_told_nowhere() {
    let server = ModelServer::start(|ask: &Ask| {
        let mut verdict = Asked::of(ask).best();
        verdict["justification"] = json!(format!("with {}", ask.key.clone().unwrap_or_default()));
        say(ask, verdict.to_string())
    });
    let project = Judging::new(2, &server).project();
    let call = crate::model_runs::call(&project, &[&RUN[..], &["--verbose"]].concat()).expect(0);
    assert_eq!(server.log()[0].ask.key.as_deref(), Some(KEY));
    assert!(!call.stdout.contains(KEY) && !call.stderr.contains(KEY));
    for ending in [".journal.jsonl", ".json", ".md"] {
        let text = std::fs::read_to_string(project.result(ending)).expect("a file");
        assert!(!text.contains(KEY), "the key is in *{ending}");
    }
}

/// A judge that answered nonsense once is asked again: by a new run, by `--resume` and by
/// `--failed-in`.
#[test]
fn unusable_answer_of_a_judge_is_asked_for_again() {
    let sane = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_sane = std::sync::Arc::clone(&sane);
    let server = ModelServer::start(move |ask: &Ask| {
        match is_sane.load(std::sync::atomic::Ordering::SeqCst) {
            true => say(ask, Asked::of(ask).best().to_string()),
            false => say(ask, "fine, I guess"),
        }
    });
    let project = Judging::new(2, &server).project();
    crate::model_runs::call(&project, &RUN).expect(3);
    assert_eq!(server.asked(), 6, "two requests for repair each");
    let reason = "the judge's answers could not be used (no_json: there is no JSON object in the reply), after 2 repair \
                  requests; it is not cached: `run --resume` or another run calls the judge again";
    assert_eq!(
        Journal::latest(&project).count(|sample| sample.reason.contains(reason)),
        2
    );
    // Nothing of it is kept, so that the judge is asked by whatever runs next.
    crate::model_runs::call(&project, &RUN).expect(3);
    crate::model_runs::call(&project, &[&RUN[..], &["--failed-in", "latest"]].concat()).expect(3);
    assert_eq!(server.asked(), 18);
    sane.store(true, std::sync::atomic::Ordering::SeqCst);
    crate::model_runs::call(&project, &RESUME).expect(0);
    assert_eq!(server.asked(), 20);
    // And what can be used is kept.
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 20);
}

#[test]
fn template_of_a_judge_grades_as_it_is() {
    let server = kind(0);
    let project = Project::with(&[
        ("outputs.jsonl", "{\"case\": \"j\", \"output\": \"A table of buckets.\"}\n"),
        (
            "suite.yaml",
            &json!({"eval_suite": {
                "name": "New", "target": {"type": "recorded", "path": "outputs.jsonl"}, "evals": [{"$ref": "judge.yaml"}],
                "providers": {"openai": {"base_url": server.url(), "api_key_env": KEY_ENV}},
            }})
            .to_string(),
        ),
    ]);
    project
        .call(&["new", "judge", "j", "--output", "judge.yaml"])
        .expect(0);
    project.call(&["validate", "judge.yaml"]).expect(0);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 1);
    let criteria = Asked::of(&server.log()[0].ask).criteria;
    let names: Vec<&str> = criteria.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Accuracy", "Clarity"]);
}

/// Answers that could only be used after a request for repair are kept together.
#[test]
fn repaired_exchange_is_kept_whole() {
    let server = ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        match asked.repairs() {
            0 => say(ask, "fine, I guess"),
            _ => say(ask, asked.best().to_string()),
        }
    });
    let project = Judging::new(2, &server).project();
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 4);
    crate::model_runs::call(&project, &[&RUN[..], &["--cache", "only"]].concat()).expect(0);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 4);
}
