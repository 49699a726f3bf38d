//! A real browser that opens pages the program wrote: `tests/browser/look.mjs` drives it, this
//! hands it jobs and reads what it saw.
//!
//! Where node, Chromium or the packages are missing a test says so by name; where `CI` or
//! `EVAL_HARNESS_DEMAND_BROWSER` is set (`scripts/test` sets it) it fails.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// One browser at once in a process: tests that share one would else compete for two cores.
static ONE: Mutex<()> = Mutex::new(());

/// What a browser needs, or what is missing of it.
struct Parts {
    chromium: PathBuf,
    modules: PathBuf,
}

fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| {
        folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    })
}

fn parts() -> Result<Parts, String> {
    if in_path(&["node"]).is_none() {
        return Err("node is missing".to_owned());
    }
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let chromium = named
        .or_else(|| in_path(&["chromium", "chromium-browser", "google-chrome"]))
        .ok_or(
            "chromium is missing (the Debian package of that name; or CHROMIUM names the program)",
        )?;
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/browser");
    for package in ["playwright-core", "axe-core"] {
        if !modules.join("node_modules").join(package).is_dir() {
            return Err(format!(
                "{package} is missing in target/browser (scripts/test installs it)"
            ));
        }
    }
    Ok(Parts { chromium, modules })
}

/// One opening of a page: what to do on it, and what to ask it.
#[derive(Debug, Clone)]
pub struct Visit {
    wish: Value,
}

impl Visit {
    pub fn to(page: &Path) -> Visit {
        Visit {
            wish: json!({ "page": page, "steps": [] }),
        }
    }

    /// To a page of a local server.
    pub fn to_url(url: &str) -> Visit {
        Visit {
            wish: json!({ "page": url, "steps": [] }),
        }
    }

    fn with(mut self, name: &str, value: Value) -> Visit {
        self.wish[name] = value;
        self
    }

    /// The address within the page, with its `#`.
    pub fn at(self, fragment: &str) -> Visit {
        self.with("fragment", fragment.into())
    }

    pub fn size(self, width: u32, height: u32) -> Visit {
        self.with("width", width.into())
            .with("height", height.into())
    }

    pub fn theme(self, theme: &str) -> Visit {
        self.with("theme", theme.into())
    }

    pub fn without_scripts(self) -> Visit {
        self.with("scripts", false.into())
    }

    /// Does not wait until the page says that it can be used.
    pub fn unready(self) -> Visit {
        self.with("unready", true.into())
    }

    pub fn on_paper(self) -> Visit {
        self.with("media", "print".into())
    }

    /// Visits of one name share a profile, as windows of one browser do.
    pub fn remembering(self, name: &str) -> Visit {
        self.with("remember", name.into())
    }

    /// A step of `tests/browser/steps.mjs` that wants nothing more.
    pub fn step(self, name: &str) -> Visit {
        self.ask(name, Value::Null)
    }

    pub fn ask(mut self, name: &str, wanted: impl Into<Value>) -> Visit {
        let mut step = serde_json::Map::new();
        step.insert(name.to_owned(), wanted.into());
        self.wish["steps"]
            .as_array_mut()
            .expect("steps")
            .push(step.into());
        self
    }

    pub fn click(self, selector: &str) -> Visit {
        self.ask("click", selector)
    }

    pub fn press(self, key: &str) -> Visit {
        self.ask("press", key)
    }

    pub fn type_into(self, selector: &str, text: &str) -> Visit {
        self.ask("type", json!([selector, text]))
    }

    /// Waits until an expression holds in the page.
    pub fn until(self, expression: &str) -> Visit {
        self.ask("until", expression)
    }
}

/// What came of a visit.
#[derive(Debug)]
pub struct Seen {
    told: Value,
}

impl Seen {
    /// The result of every step that gives one.
    pub fn results(&self) -> Vec<&Value> {
        let results = self.told["results"].as_array().expect("results");
        results.iter().filter(|result| !result.is_null()).collect()
    }

    fn list(&self, name: &str) -> Vec<&str> {
        self.told[name]
            .as_array()
            .into_iter()
            .flatten()
            .map(|text| text.as_str().unwrap_or("?"))
            .collect()
    }

    /// Everything that a page must not do: say something on the console, break its policy, ask for
    /// anything, open anything, run what it was told. Empty when it did not.
    pub fn misdeeds(&self) -> Vec<String> {
        let mut all = Vec::new();
        for name in [
            "console",
            "errors",
            "violations",
            "dialogs",
            "windows",
            "requests",
        ] {
            all.extend(
                self.list(name)
                    .into_iter()
                    .map(|text| format!("{name}: {text}")),
            );
        }
        let hit = self.told["hit"].as_str().unwrap_or_default();
        all.extend((!hit.is_empty()).then(|| format!("a payload ran: {hit}")));
        all.extend(
            self.told["failed"]
                .as_str()
                .map(|text| format!("failed: {text}")),
        );
        all
    }

    pub fn number(&self, name: &str) -> f64 {
        self.told[name].as_f64().unwrap_or(f64::NAN)
    }
}

/// Makes visits in one browser. Nothing when there is no browser here and none is demanded.
pub fn look(visits: &[Visit]) -> Option<Vec<Seen>> {
    let parts = match parts() {
        Ok(parts) => parts,
        Err(missing) => {
            let demanded = ["CI", "EVAL_HARNESS_DEMAND_BROWSER"]
                .iter()
                .any(|name| std::env::var_os(name).is_some());
            assert!(!demanded, "no browser to look at pages with: {missing}");
            eprintln!("skipped: {missing}");
            return None;
        }
    };
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let wishes: Vec<&Value> = visits.iter().map(|visit| &visit.wish).collect();
    let job = json!({ "modules": parts.modules, "chromium": parts.chromium, "visits": wishes });
    let mut child = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/look.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node starts");
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all(job.to_string().as_bytes())
        .expect("the job is read");
    let done = child.wait_with_output().expect("node ends");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "looking failed: {said}");
    let told: Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let seen = told["visits"].as_array().expect("visits").iter();
    Some(seen.map(|told| Seen { told: told.clone() }).collect())
}

/// The same, where no visit may do anything that a page must not do.
pub fn look_well(visits: &[Visit]) -> Option<Vec<Seen>> {
    let seen = look(visits)?;
    for (visit, seen) in visits.iter().zip(&seen) {
        let misdeeds = seen.misdeeds();
        assert!(
            misdeeds.is_empty(),
            "{}\nat {}",
            misdeeds.join("\n"),
            visit.wish
        );
    }
    Some(seen)
}
