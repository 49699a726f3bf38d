//! Projects whose runs are of chosen quality: recorded outputs say which samples of which cases
//! pass.
//!
//! For a test: `#[path = "support/compared.rs"] mod compared;` beside `mod support;`.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Call, Project};

/// A suite of `evals` evals with `cases` cases each, ids `e0`, `e1`, ... and `c0`, `c1`, ... . A
/// sample passes when its output is `ok`.
pub struct Desk {
    pub project: Project,
    evals: usize,
    cases: usize,
}

/// How a sample of a case goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Pass,
    Fail,
    /// No line in the recording, so that nobody knows.
    Lost,
}

impl Desk {
    pub fn new(evals: usize, cases: usize) -> Desk {
        Desk::named("Desk", evals, cases)
    }

    pub fn named(suite: &str, evals: usize, cases: usize) -> Desk {
        let desk = Desk {
            project: Project::new(),
            evals,
            cases,
        };
        desk.write_suite(suite, |_, _| "ok".to_owned());
        desk
    }

    /// Writes the suite; `expected` is what each case of each eval expects. The evals are of two
    /// categories and three tags, and the first one is critical.
    pub fn write_suite(&self, name: &str, expected: impl Fn(usize, usize) -> String) {
        let refs: String = (0..self.evals)
            .map(|e| format!("    - $ref: e{e}.yaml\n"))
            .collect();
        self.project.write(
            "eval-suite.yaml",
            &format!("eval_suite:\n  name: {name}\n  version: \"1.0\"\n  target: {{type: recorded, path: none.jsonl}}\n  evals:\n{refs}"),
        );
        for e in 0..self.evals {
            let criticality = if e == 0 {
                ", criticality: critical"
            } else {
                ""
            };
            let category = if e % 2 == 0 { "even" } else { "odd" };
            let mut text = format!(
                "metadata: {{id: e{e}, name: E{e}, category: {category}, tags: [t{}]{criticality}}}\ntest_cases:\n",
                e % 3
            );
            for c in 0..self.cases {
                let value = expected(e, c);
                text.push_str(&format!(
                    "  - {{id: c{c}, input: question {c}, expected: {{type: exact, value: {value}}}}}\n"
                ));
            }
            self.project.write(&format!("e{e}.yaml"), &text);
        }
    }

    /// Puts a text in the place of another, wherever a file of the project has it.
    pub fn edit(&self, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.project.path().join(file)).expect("a file");
        assert!(text.contains(from), "{file} has no `{from}`");
        self.project.write(file, &text.replace(from, to));
    }

    /// Writes a recording: `way` says how a sample (the third number) of a case goes.
    pub fn record(&self, file: &str, samples: usize, way: impl Fn(usize, usize, usize) -> Way) {
        let mut lines = String::new();
        for e in 0..self.evals {
            for c in 0..self.cases {
                for s in 0..samples {
                    let output = match way(e, c, s) {
                        Way::Pass => "ok",
                        Way::Fail => "no",
                        Way::Lost => continue,
                    };
                    lines.push_str(&format!(
                        "{{\"eval\": \"e{e}\", \"case\": \"c{c}\", \"sample\": {s}, \"output\": \"{output}\"}}\n"
                    ));
                }
            }
        }
        self.project.write(file, &lines);
    }

    /// Records and runs; gives the run's id. `more` are further arguments.
    pub fn run(
        &self,
        samples: usize,
        way: impl Fn(usize, usize, usize) -> Way,
        more: &[&str],
    ) -> String {
        self.record("outputs.jsonl", samples, way);
        let count = samples.to_string();
        let mut args = vec![
            "run",
            "--outputs",
            "outputs.jsonl",
            "--samples",
            &count,
            "--progress",
            "none",
            "-q",
        ];
        args.extend(more);
        let call = self.project.call(&args);
        assert!(
            matches!(call.code, Some(0 | 1 | 3)),
            "{}{}",
            call.stdout,
            call.stderr
        );
        self.latest()
    }

    /// The id of the latest run.
    pub fn latest(&self) -> String {
        let text = std::fs::read_to_string(self.journal()).expect("a journal");
        let first: Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        first["run_started"]["run"]["run_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// The latest run's journal.
    pub fn journal(&self) -> PathBuf {
        self.project.result(".journal.jsonl")
    }

    /// The path of a copy of a run's journal, outside of the results.
    pub fn copy(&self, run: &str) -> String {
        let days = std::fs::read_dir(self.project.path().join("results")).expect("results");
        let files = days.flat_map(|day| {
            std::fs::read_dir(day.expect("a day").path())
                .into_iter()
                .flatten()
        });
        let mut journals = files.map(|file| file.expect("a file").path());
        let says = |path: &PathBuf| {
            path.to_string_lossy().ends_with(".journal.jsonl")
                && std::fs::read_to_string(path)
                    .is_ok_and(|text| text.contains(&format!("{run}\"")))
        };
        let journal = journals.find(says).expect("the run's journal");
        let copy = format!("copy-of-{run}.journal.jsonl");
        std::fs::copy(journal, self.project.path().join(&copy)).expect("a copy");
        copy
    }

    pub fn compare(&self, args: &[&str]) -> Call {
        self.project.call(&[&["compare"], args].concat())
    }

    /// `compare --format json`, which must end with `code`.
    pub fn compared(&self, args: &[&str], code: i32) -> Value {
        let call = self
            .compare(&[args, &["--format", "json"]].concat())
            .expect(code);
        serde_json::from_str(&call.stdout).expect("JSON")
    }

    /// The summary's comparison of the latest run.
    pub fn reported(&self) -> Value {
        self.project.report()["comparison"].take()
    }
}

/// The case number `e * cases + c` below `good` passes, in all of its samples.
pub fn first(good: usize, cases: usize) -> impl Fn(usize, usize, usize) -> Way {
    move |e, c, _| {
        if e * cases + c < good {
            Way::Pass
        } else {
            Way::Fail
        }
    }
}

/// Number of a JSON value of any spelling.
pub fn number(value: &Value) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}
