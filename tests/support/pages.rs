//! Pages of the suite that comes with the program: a run, its next version compared with it, a
//! phase, two targets.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};

use crate::support::{Call, Project};

pub const SUITE: &str = "evals/eval-suite.yaml";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                std::fs::copy(entry.path(), target).expect("a copy");
            }
        }
    }
}

/// The bundled suite in a project of its own.
pub fn bundled() -> Project {
    let project = Project::new();
    for folder in ["evals", "baselines", "schemas"] {
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &project.path().join(folder),
        );
    }
    project
}

/// Runs the bundled suite; returns the page of the run.
pub fn run(project: &Project, more: &[&str], code: i32) -> PathBuf {
    let arguments = [&["run", "--suite", SUITE, "--progress", "none", "-q"], more].concat();
    project.call(&arguments).expect(code);
    rendered(project, &["--run", "latest"], code)
}

/// The page of `report` with these arguments.
pub fn rendered(project: &Project, arguments: &[&str], code: i32) -> PathBuf {
    let call = project
        .call(&[&["report", "--suite", SUITE, "--format", "html"], arguments].concat())
        .expect(code);
    kept(project, call)
}

/// A page that was written to stdout, in a file of its own.
pub fn kept(project: &Project, call: Call) -> PathBuf {
    let number = std::fs::read_dir(project.path()).expect("a folder").count();
    project.write(&format!("page-{number}.html"), &call.stdout)
}
