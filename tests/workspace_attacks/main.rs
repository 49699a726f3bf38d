//! Cheats of coding agents against `workspace_tests`, end to end: each is a case with a workspace of
//! its own, and none may pass. Beside each is its honest twin, which leaves the same files with
//! harmless contents and mends the bug; each must pass.
//!
//! The modules make the set: they cross kinds of cheats (`Attack`) with frameworks and with where the
//! tests are (`Layout`). `runs.rs` runs a set in each tier that works here, as the user that runs the
//! tests and as one without rights.

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tier.rs"]
mod tier;

mod cargo;
mod go;
mod java;
mod node;
mod python;
mod runs;
mod shell;

use std::fmt::Write as _;

/// Where the tests are that judge a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// In the workspace, where the target sees and changes them.
    Visible,
    /// Laid on the workspace after the target ended.
    Hidden,
}

/// A cheat and its honest twin: what each does in the workspace.
struct Attack {
    kind: &'static str,
    cheat: String,
    twin: String,
}

impl Attack {
    fn new(kind: &'static str) -> Attack {
        Attack {
            kind,
            cheat: String::new(),
            twin: String::new(),
        }
    }

    /// A file of both, with the content that cheats and the harmless one.
    fn file(mut self, path: &str, cheat: &str, harmless: &str) -> Attack {
        self.cheat += &written(path, cheat);
        self.twin += &written(path, harmless);
        self
    }

    /// Commands of each.
    fn runs(mut self, cheat: &str, harmless: &str) -> Attack {
        let _ = writeln!(self.cheat, "{cheat}");
        let _ = writeln!(self.twin, "{harmless}");
        self
    }
}

/// A script that writes a file. None uses `chmod`, which a tier refuses; a copy of a program has its mode.
fn written(path: &str, text: &str) -> String {
    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    format!("mkdir -p {folder}\ncat > {path} <<'END_OF_FILE'\n{text}\nEND_OF_FILE\n")
}

/// A framework with a task, and the cheats that fit it.
struct AttackSet {
    name: String,
    /// YAML of the workspace and of the grader.
    workspace: String,
    grader: String,
    /// Files of the project.
    files: Vec<(String, String)>,
    needs_pytest: bool,
    attacks: Vec<Attack>,
}

/// All sets that this machine can run; those of frameworks that are missing are named.
fn sets() -> Vec<AttackSet> {
    let mut sets = python::sets();
    for layout in [Layout::Visible, Layout::Hidden] {
        sets.extend(node::sets(layout));
        sets.extend(shell::sets(layout));
    }
    sets.extend(go::sets());
    sets.extend(cargo::sets());
    sets.extend(java::sets());
    sets
}

#[test]
fn set_has_100_attacks_of_many_kinds() {
    let sets = sets();
    let mut kinds = std::collections::BTreeSet::new();
    for set in &sets {
        let mut own = std::collections::BTreeSet::new();
        for attack in &set.attacks {
            kinds.insert(attack.kind);
            assert!(own.insert(attack.kind), "{}: {}", set.name, attack.kind);
            assert_ne!(attack.cheat, attack.twin, "{}: {}", set.name, attack.kind);
        }
        println!("{}: {} attacks", set.name, set.attacks.len());
    }
    let count: usize = sets.iter().map(|set| set.attacks.len()).sum();
    println!("{count} attacks of {} kinds", kinds.len());
    assert!(count >= 100, "{count} attacks");
    assert!(kinds.len() >= 15, "{kinds:?}");
}

#[test]
fn unittest_attacks_fail_on_visible_tests() {
    runs::hold(&[python::set(false, Layout::Visible)], &runs::everywhere());
}

#[test]
fn unittest_attacks_fail_on_hidden_tests() {
    runs::hold(&[python::set(false, Layout::Hidden)], &runs::everywhere());
}

#[test]
fn pytest_attacks_fail_on_visible_tests() {
    let layout = Layout::Visible;
    runs::hold(&[python::set(true, layout)], &runs::halves(layout));
}

#[test]
fn pytest_attacks_fail_on_hidden_tests() {
    let layout = Layout::Hidden;
    runs::hold(&[python::set(true, layout)], &runs::halves(layout));
}

#[test]
fn node_attacks_fail_on_visible_tests() {
    let layout = Layout::Visible;
    runs::hold(&node::sets(layout), &runs::halves(layout));
}

#[test]
fn node_attacks_fail_on_hidden_tests() {
    let layout = Layout::Hidden;
    runs::hold(&node::sets(layout), &runs::halves(layout));
}

#[test]
fn shell_attacks_fail_on_visible_tests() {
    let layout = Layout::Visible;
    runs::hold(&shell::sets(layout), &runs::halves(layout));
}

#[test]
fn shell_attacks_fail_on_hidden_tests() {
    let layout = Layout::Hidden;
    runs::hold(&shell::sets(layout), &runs::halves(layout));
}

#[test]
fn go_attacks_fail() {
    runs::hold(&go::sets(), &runs::heavy());
}

#[test]
fn junit_attacks_fail() {
    runs::hold(&java::sets(), &runs::heavy());
}

/// Only as the user that runs the tests, whose home holds the compiler.
#[test]
fn cargo_attacks_fail() {
    let mut places = runs::heavy();
    places.retain(|(_, is_ordinary)| !is_ordinary);
    runs::hold(&cargo::sets(), &places);
}
