//! `sandbox:` of a suite: paths made absolute, an interpreter that is there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::problem::{Code, Problem};
use super::refs::{existing_folder, lexical};
use super::scope::{SuiteDesk, seconds};
use super::source::Span;
use super::targets::find_program;
use super::tree::Node;
use crate::model::{
    CaseGrading, CodeLimits, Executor, Grader, MinimumTrust, NamedPython, SandboxDemand,
};
use crate::spec::{EvalSandbox, SandboxSpec};

/// What a suite demands, and what follows for its graders.
#[derive(Debug, Clone, Default)]
pub(crate) struct SuiteDemands {
    pub sandbox: SandboxDemand,
    /// Limits of programs whose graders do not say.
    pub limits: CodeLimits,
    /// Wall time of programs whose graders do not say, when the suite says.
    pub timeout: Option<Duration>,
    /// Megabytes that what one call returns may take, when the suite says.
    pub return_mb: Option<u64>,
    /// What of the demands can change a verdict, as written, so that it is the same on every
    /// machine.
    mark: Option<String>,
}

impl SuiteDemands {
    /// Joins what tells gradings apart when one of the graders runs a program in the sandbox.
    pub fn mark(&self, graders: &[Grader]) -> Option<String> {
        let command = graders
            .iter()
            .any(|grader| grader.kind.is_sandboxed_command());
        let mark = self
            .mark
            .clone()
            .filter(|_| command || graders.iter().any(|g| g.kind.sandbox().is_some()));
        // Programs have their memory in the limits of their graders.
        match self.sandbox.memory_mb.filter(|_| command) {
            Some(memory) => Some(serde_json::json!([mark, memory]).to_string()),
            None => mark,
        }
    }
}

/// Folders that no program may be shown: the sandbox has its own, or they hold what is nobody's to
/// see.
const NEVER: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// The demands of a suite; `node` is the suite's.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: Option<&SandboxSpec>,
    node: &Node,
) -> SuiteDemands {
    let (Some(spec), Some(node)) = (spec, node.get("sandbox")) else {
        return SuiteDemands::default();
    };
    let usual = CodeLimits::default();
    let mut readable = Vec::new();
    for (at, text) in spec.readable.iter().enumerate() {
        readable.extend(folder(desk, text, node.locate(&format!("/readable/{at}"))));
    }
    let dir = desk.suite.dir.clone();
    let python = spec
        .python
        .as_deref()
        .and_then(|text| python(desk, text, (&dir, "suite"), node.locate("/python")));
    let trust = spec.trust.filter(|trust| *trust != MinimumTrust::InProcess);
    let marks = trust.is_some() || spec.python.is_some() || !spec.readable.is_empty();
    SuiteDemands {
        sandbox: SandboxDemand {
            minimum: spec.minimum,
            trust: spec.trust,
            python,
            readable,
            memory_mb: spec.memory_mb,
        },
        timeout: spec.timeout_seconds.map(seconds),
        return_mb: spec.max_return_mb,
        limits: CodeLimits {
            wall: spec.timeout_seconds.map_or(usual.wall, seconds),
            memory_mb: spec.memory_mb.unwrap_or(usual.memory_mb),
            ..usual
        },
        mark: marks.then(|| serde_json::json!([trust, spec.python, spec.readable]).to_string()),
    }
}

fn folder(desk: &mut SuiteDesk, text: &str, at: Span) -> Option<PathBuf> {
    let path = existing_folder(&desk.suite.dir, text, &desk.suite.fence, at);
    let path = desk.problems.take(path)?;
    let refused = path == Path::new("/") || NEVER.iter().any(|never| path.starts_with(never));
    if refused || path == Path::new("/tmp") {
        let message = format!(
            "`{}` can't be made visible inside the sandbox",
            path.display()
        );
        return desk.refuse(
            Problem::error(Code::BadPath, at, message)
                .hint("list only the folder in it that the programs need"),
        );
    }
    Some(path)
}

/// The interpreter that an eval sets for its code.
#[derive(Debug, Clone)]
pub(super) struct EvalPython {
    written: String,
    found: NamedPython,
}

impl EvalPython {
    /// `None` where the eval sets none, and after reporting that it can't be found. `node` is the
    /// eval's.
    pub fn resolve(
        desk: &mut SuiteDesk,
        spec: Option<&EvalSandbox>,
        node: &Node,
    ) -> Option<EvalPython> {
        let written = spec?.python.clone()?;
        let at = node.locate("/config/sandbox/python");
        let dir = desk.dir.to_path_buf();
        let path = python(desk, &written, (&dir, "file"), at)?;
        let name = if written.contains('/') {
            let shown = lexical(&path);
            let below = shown.strip_prefix(lexical(&desk.suite.dir));
            below.unwrap_or(&shown).display().to_string()
        } else {
            written.clone()
        };
        Some(EvalPython {
            written,
            found: NamedPython { name, path },
        })
    }

    /// Lets it run the programs of a grading that are in Python.
    pub fn apply(&self, grading: &mut CaseGrading) {
        let runs_python = |grader: &Grader| grader.kind.executor() == Some(&Executor::Python);
        if grading.graders.iter().any(runs_python) {
            let suite = grading.demands.take();
            let written = serde_json::json!({ "suite": suite, "python": self.written });
            grading.demands = Some(written.to_string());
            grading.python = Some(self.found.clone());
        }
    }
}

/// An interpreter is a program like those of commands: it may lie anywhere.
/// `base` is the folder that paths are relative to, and whose it is.
fn python(
    desk: &mut SuiteDesk,
    text: &str,
    (dir, base): (&Path, &str),
    at: Span,
) -> Option<PathBuf> {
    let program = match text.contains('/') {
        true => dir.join(text).display().to_string(),
        false => text.to_owned(),
    };
    // An empty folder in PATH is the one that a program is started in, which differs.
    let found = find_program(desk.suite, &program, |path| {
        path.parent() != Some(Path::new(""))
    });
    // Without `lexical`: a virtualenv's folder may be a link, and `..` behind it means another
    // place.
    if found.is_none() {
        let message = format!("the Python `{text}` cannot be found");
        let hint = match text.strip_prefix("~/") {
            Some(_) => "`~` is not expanded: write the whole path".to_owned(),
            None if text.contains('/') => {
                format!("a path with a slash is relative to the {base}'s folder")
            }
            None => "install it, or give its path".to_owned(),
        };
        desk.push_lenient(Problem::error(Code::BadCommand, at, message).hint(hint));
    }
    found
}
