//! The programs of `tests/sandbox/attacks` and what their heads say.
//!
//! The head is lines of the form `# key: value` (`// key: value` in JavaScript): `about` (what is
//! tried and why the label is right), `mode` (`script`, `fn`, `split`, `compared`, `inproc`,
//! `check`), `expect` (labels, joined by `|`), `expect-<tier>` where a tier differs, `wall`
//! (seconds), and `memory` (MiB that the harness may grow by, where that is more than usual).
//! `@BAIT@` stands for a file of the host that no job may touch.

use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_sandbox::{ProgramLimits, Tier};

/// Where the programs lie, for a run that can't reach the project.
pub const FOLDER: &str = "SANDBOX_TEST_ATTACKS";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    Python,
    JavaScript,
    Bash,
}

pub struct Attack {
    pub name: String,
    pub language: Language,
    pub mode: String,
    pub about: String,
    expected: String,
    expected_in: Vec<(Tier, String)>,
    pub limits: ProgramLimits,
    /// MiB that the harness may grow by meanwhile.
    pub growth: u64,
    pub source: String,
}

impl Attack {
    /// The labels that are right in a tier.
    pub fn expected(&self, tier: Tier) -> Vec<&str> {
        let special = self
            .expected_in
            .iter()
            .find(|(t, _)| *t == tier)
            .map(|(_, labels)| labels);
        special.unwrap_or(&self.expected).split('|').collect()
    }

    pub fn with_bait(&self, bait: &Path) -> String {
        self.source.replace("@BAIT@", &bait.to_string_lossy())
    }
}

pub fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/attacks");
    std::env::var_os(FOLDER).map_or(own, PathBuf::from)
}

pub fn attacks() -> Vec<Attack> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| read_attack(path)).collect()
}

fn read_attack(path: &Path) -> Attack {
    let source = std::fs::read_to_string(path).unwrap();
    let (language, mark) = match path.extension().and_then(|e| e.to_str()) {
        Some("js") => (Language::JavaScript, "//"),
        Some("sh") => (Language::Bash, "#"),
        _ => (Language::Python, "#"),
    };
    let head = |key: &str| {
        let prefix = format!("{mark} {key}: ");
        source
            .lines()
            .find_map(|line| line.strip_prefix(&prefix))
            .map(|value| value.trim().to_owned())
    };
    // Programs that end by themselves get time enough for the busiest machine.
    let wall = head("wall").map_or(30, |w| w.parse().unwrap());
    let tiers = [Tier::Userns, Tier::Rootns, Tier::Landlock, Tier::None];
    Attack {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        language,
        mode: head("mode").unwrap_or_else(|| "script".to_owned()),
        about: head("about").unwrap_or_default(),
        expected: head("expect").expect("an expectation"),
        expected_in: tiers
            .iter()
            .filter_map(|t| Some((*t, head(&format!("expect-{t}"))?)))
            .collect(),
        growth: head("memory").map_or(128, |m| m.parse().unwrap()),
        limits: ProgramLimits {
            wall: Duration::from_secs(wall),
            ..ProgramLimits::default()
        },
        source,
    }
}
