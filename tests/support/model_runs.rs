//! Suites that ask the scripted model server, and what their journals say of each sample.
//!
//! For a test: `#[path = "support/model_runs.rs"] mod model_runs;` beside `mod support;` and
//! `mod model_server;`.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::model_server::{Ask, ModelServer};
use crate::support::{Call, Project};

/// What stands in [`KEY_ENV`] of every run.
pub const KEY: &str = "sk-proof-5c1d7e9a40b2";
pub const KEY_ENV: &str = "PROOF_MODEL_KEY";

pub const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];
pub const RESUME: [&str; 5] = ["run", "--resume", "latest", "--progress", "none"];

/// A suite over one data file.
pub struct Asking<'a> {
    pub rows: usize,
    pub samples: usize,
    /// `openai:m-1` or another.
    pub model: &'a str,
    /// Further fields of the target, as `retries: 2, timeout_seconds: 3`.
    pub target: &'a str,
    /// Further fields of `config`.
    pub config: &'a str,
}

impl Default for Asking<'_> {
    fn default() -> Self {
        Asking {
            rows: 10,
            samples: 1,
            model: "openai:m-1",
            target: "max_concurrency: 8",
            config: "",
        }
    }
}

impl Asking<'_> {
    /// The prompt of a row is `case N`; a right answer begins with `right case N #`.
    pub fn project(&self, server: &ModelServer) -> Project {
        let project = Project::new();
        self.write(&project, &server.url());
        project
    }

    pub fn write(&self, project: &Project, url: &str) {
        let Asking {
            rows,
            samples,
            model,
            target,
            config,
        } = self;
        let config = if config.is_empty() {
            String::new()
        } else {
            format!(", {config}")
        };
        let suite = format!(
            "eval_suite:\n  name: Proof\n  config: {{max_workers: 4{config}}}\n  target: {{type: model, model: \"{model}\", \
             base_url: \"{url}\", api_key_env: {KEY_ENV}, {target}}}\n  evals: [{{$ref: eval.yaml}}]\n  reporting: {{format: [json, markdown]}}\n"
        );
        let eval = format!(
            "metadata: {{id: proof}}\nconfig: {{samples: {samples}}}\ndataset:\n  path: rows.jsonl\n  format: jsonl\n  case: {{id: \"c{{{{ row.n }}}}\", \
             input: \"case {{{{ row.n }}}}\", expected: {{type: contains, value: \"right case {{{{ row.n }}}} #\"}}}}\n"
        );
        let mut lines = String::new();
        for n in 0..*rows {
            let _ = writeln!(lines, "{{\"n\": {n}}}");
        }
        project.write("suite.yaml", &suite);
        project.write("eval.yaml", &eval);
        project.write("rows.jsonl", &lines);
    }
}

/// The program in a project, with a key, and a cache of its own.
pub fn command(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command
        .env("EVAL_HARNESS_CACHE_DIR", project.path().join("answers"))
        .env(KEY_ENV, KEY);
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env_remove(name);
    }
    command
}

pub fn call(project: &Project, args: &[&str]) -> Call {
    Call::of(command(project, args).output().expect("the program starts"))
}

/// The program, and nobody listens to it.
pub fn start(project: &Project, args: &[&str]) -> Child {
    command(project, args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// The last attempt of a sample, as the journal has it.
#[derive(Debug, Clone)]
pub struct Sample {
    pub case: String,
    pub sample: u64,
    pub outcome: String,
    pub cause: Option<String>,
    pub reason: String,
    pub output: Option<String>,
    pub finish: Option<String>,
    /// Input and output tokens of the output.
    pub usage: Option<(u64, u64)>,
    pub wasted: (u64, u64),
    pub requests: u64,
    pub faults: BTreeMap<String, u64>,
    pub source: String,
    pub latency_ms: Option<f64>,
    pub retries: u64,
    /// In [0, 1].
    pub score: Option<f64>,
    /// What judges said, of the first grade that has it; else `Null`.
    pub judged: Value,
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn tokens(value: &Value) -> Option<(u64, u64)> {
    value.is_object().then(|| {
        (
            number(&value["input_tokens"]),
            number(&value["output_tokens"]),
        )
    })
}

fn word(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn judged(grades: &Value) -> Value {
    let all = grades.as_array().into_iter().flatten();
    all.map(|grade| &grade["judged"])
        .find(|judged| judged.is_object())
        .cloned()
        .unwrap_or(Value::Null)
}

impl Sample {
    fn of(event: &Value) -> Sample {
        let attempts = event["attempts"].as_array().expect("attempts");
        let attempt = attempts.last().expect("an attempt");
        let (verdict, call) = (&attempt["verdict"], &attempt["call"]);
        let faults = call["faults"].as_object().cloned().unwrap_or_default();
        let reasons: Vec<&str> = verdict["grades"]
            .as_array()
            .into_iter()
            .flatten()
            .chain([verdict])
            .filter_map(|grade| grade["reason"].as_str())
            .collect();
        Sample {
            case: word(&event["case"]).expect("a case"),
            sample: number(&event["sample"]),
            outcome: word(&verdict["outcome"]).expect("an outcome"),
            cause: word(&verdict["cause"]),
            reason: reasons.join("; "),
            output: word(&attempt["output"]["value"]["text"]),
            finish: word(&attempt["output"]["finish"]),
            usage: tokens(&attempt["output"]["usage"]),
            wasted: tokens(&call["wasted"]).unwrap_or_default(),
            requests: number(&call["requests"]),
            faults: faults
                .iter()
                .map(|(name, n)| (name.clone(), number(n)))
                .collect(),
            source: word(&call["source"]).unwrap_or_default(),
            latency_ms: attempt["latency_ms"].as_f64(),
            retries: number(&attempt["infrastructure_retries"]),
            score: verdict["score"].as_f64(),
            judged: judged(&verdict["grades"]),
        }
    }
}

/// A journal, read by hand.
#[derive(Debug, Default)]
pub struct Journal {
    /// By case and sample.
    pub samples: BTreeMap<(String, u64), Sample>,
    /// Causes of samples that did not run in the last session that spoke of them.
    pub skipped: BTreeMap<(String, u64), String>,
    pub sessions: usize,
    /// True when a session came to its end by itself.
    pub finished: bool,
}

impl Journal {
    /// The latest run's; every line must be whole, and no sample told twice.
    pub fn latest(project: &Project) -> Journal {
        let path = project.result(".journal.jsonl");
        let text = std::fs::read_to_string(&path).expect("a journal");
        assert!(text.ends_with('\n'), "the last line of the journal is torn");
        Journal::of(&text)
    }

    /// The whole lines of the only journal below a project, which may be in the middle of being
    /// written.
    pub fn torn(project: &Project) -> Journal {
        let Some(path) = journals(&project.path().join("results")).pop() else {
            return Journal::default();
        };
        let text = std::fs::read_to_string(path).expect("a journal");
        Journal::of(&text[..text.rfind('\n').map_or(0, |end| end + 1)])
    }

    fn of(text: &str) -> Journal {
        let mut journal = Journal::default();
        for line in text.lines() {
            let event: Value =
                serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            let (name, event) = event
                .as_object()
                .and_then(|fields| fields.iter().next())
                .expect("an event");
            let place = || {
                (
                    word(&event["case"]).expect("a case"),
                    number(&event["sample"]),
                )
            };
            match name.as_str() {
                "run_started" | "run_resumed" => {
                    journal.sessions += 1;
                    journal.finished = false;
                }
                "sample_finished" => {
                    journal.skipped.remove(&place());
                    let earlier = journal.samples.insert(place(), Sample::of(event));
                    // One that errored is asked again by a resumed run.
                    assert!(
                        earlier.is_none_or(|known| known.outcome == "errored"),
                        "told twice: {event}"
                    );
                }
                "sample_skipped" => {
                    journal
                        .skipped
                        .insert(place(), word(&event["cause"]).expect("a cause"));
                }
                "run_finished" => journal.finished = true,
                _ => {}
            }
        }
        journal
    }

    pub fn of_case(&self, case: &str) -> Vec<&Sample> {
        self.samples
            .values()
            .filter(|sample| sample.case == case)
            .collect()
    }

    pub fn count(&self, what: impl Fn(&Sample) -> bool) -> usize {
        self.samples.values().filter(|sample| what(sample)).count()
    }

    pub fn requests(&self) -> u64 {
        self.samples.values().map(|sample| sample.requests).sum()
    }
}

fn journals(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            true => found.append(&mut journals(&path)),
            false if path.to_string_lossy().ends_with(".journal.jsonl") && !path.is_symlink() => {
                found.push(path)
            }
            false => {}
        }
    }
    found
}

/// `case N` of the prompt as the journal names the case.
pub fn case_of(ask: &Ask) -> String {
    ask.prompt.replace("case ", "c")
}
