//! What is shared while one suite (or one list of files) is loaded: texts, problems, compiled
//! schemas.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::problem::{Code, Problem, Problems, Severity};
use super::refs::PathFence;
use super::request::PlanPurpose;
use super::schema::SchemaValidator;
use super::scope::{SuiteDesk, SuiteScope};
use super::source::{FileId, SourceFiles, Span};
use super::stored::conflict;
use super::tree::{self, Node, NodeValue};
use crate::spec::{CaseSpec, SchemaKind, canonical, schema_of};

#[derive(Debug, Default)]
pub(super) struct LoadSession {
    pub sources: SourceFiles,
    pub problems: Problems,
    /// The variables that suites define.
    pub vars: BTreeSet<String>,
    /// The files of the suite that is being loaded.
    pub files: BTreeSet<FileId>,
    pub purpose: PlanPurpose,
    pub cwd: PathBuf,
    pub fence: PathFence,
}

impl LoadSession {
    /// Reads and parses a file; what is wrong is noted, at `at` when the file was named by another.
    pub fn parse(&mut self, path: &Path, at: Option<Span>) -> Option<Node> {
        self.fence.note(path);
        let display = self.display(path);
        let file = match self.sources.read(path, display) {
            Ok(file) => file,
            Err(problem) => {
                let problem = match at {
                    Some(span) => problem.at(span),
                    None => problem,
                };
                self.problems.push(problem);
                return None;
            }
        };
        self.files.insert(file);
        if let Some(problem) = conflict(&self.sources, file) {
            self.problems.push(problem);
            return None;
        }
        tree::parse(&self.sources, file, &mut self.problems)
    }

    /// Checks the shape of a document; its JSON when it fits.
    pub fn check(&mut self, kind: SchemaKind, document: &mut Node) -> Option<Value> {
        validator(kind)?.check(&self.sources, document, &mut self.problems)
    }

    /// A document of a kind as its type.
    pub fn read<T: DeserializeOwned>(
        &mut self,
        kind: SchemaKind,
        document: &mut Node,
    ) -> Option<T> {
        let json = self.check(kind, document)?;
        let read = serde_json::from_value(json);
        read.map_err(|error| {
            let at = document.span.at_start();
            self.problems
                .push(Problem::error(Code::BadShape, at, error.to_string()));
        })
        .ok()
    }

    /// What judges a part of a file in the folder `dir`.
    pub fn desk<'a>(&'a mut self, suite: &'a SuiteScope, dir: &'a Path) -> SuiteDesk<'a> {
        SuiteDesk {
            sources: &self.sources,
            problems: &mut self.problems,
            suite,
            dir,
        }
    }

    /// A path as messages show it: relative to where the user stands, when it lies there.
    pub fn display(&self, path: &Path) -> String {
        let shown = path
            .strip_prefix(&self.cwd)
            .ok()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(path);
        shown.display().to_string()
    }

    /// True when a lack of a target or a variable only warns.
    pub fn lenient(&self) -> bool {
        self.purpose != PlanPurpose::Run
    }
}

/// The compiled schema of a kind; `None` only by a defect of the program, which a test excludes.
pub(super) fn validator(kind: SchemaKind) -> Option<&'static SchemaValidator> {
    static ALL: [OnceLock<Option<SchemaValidator>>; SchemaKind::ALL.len()] =
        [const { OnceLock::new() }; SchemaKind::ALL.len()];
    let at = SchemaKind::ALL.iter().position(|k| *k == kind)?;
    ALL.get(at)?
        .get_or_init(|| SchemaValidator::new(&canonical(kind)).ok())
        .as_ref()
}

/// The compiled schema of one case.
pub(super) fn case_validator() -> Option<&'static SchemaValidator> {
    static CASE: OnceLock<Option<SchemaValidator>> = OnceLock::new();
    CASE.get_or_init(|| SchemaValidator::new(&schema_of::<CaseSpec>()).ok())
        .as_ref()
}

/// A document that needs no schema while it is right: its schema says what is wrong with one that
/// is not.
pub(super) fn read_or_explain<T: DeserializeOwned>(
    kind: SchemaKind,
    json: Value,
    node: &Node,
    problems: &mut Problems,
) -> Option<T> {
    let error = match serde_json::from_value(json) {
        Ok(read) => return Some(read),
        Err(error) => error,
    };
    let before = problems.error_count();
    if let Some(validator) = validator(kind) {
        validator.validate(node, problems);
    }
    if problems.error_count() == before {
        let at = node.span.at_start();
        problems.push(Problem::error(Code::BadShape, at, error.to_string()));
    }
    None
}

/// Where errors of a file stand, to leave out the parts that are known to be broken.
#[derive(Debug, Default)]
pub(super) struct BrokenPlaces {
    starts: BTreeSet<(FileId, u32)>,
}

impl BrokenPlaces {
    pub fn of(problems: &Problems) -> BrokenPlaces {
        let errors = problems.iter().filter(|p| p.severity == Severity::Error);
        let starts = errors
            .filter_map(|p| Some((p.span?, p.part)))
            .flat_map(|(span, part)| {
                let part = part.map(|from_1| (span.file, from_1.get() - 1));
                std::iter::once((span.file, span.start)).chain(part)
            });
        BrokenPlaces {
            starts: starts.collect(),
        }
    }

    /// True when an error stands at or below the node. What came through an anchor lies elsewhere
    /// in the file, so every place below is looked at.
    pub fn holds(&self, node: &Node) -> bool {
        !self.starts.is_empty() && self.holds_below(node)
    }

    fn holds_below(&self, node: &Node) -> bool {
        match &node.value {
            NodeValue::Seq(items) => {
                self.at(node.span) || items.iter().any(|item| self.holds_below(item))
            }
            NodeValue::Map(entries) => {
                self.at(node.span)
                    || entries
                        .iter()
                        .any(|(k, v)| self.at(k.span) || self.holds_below(v))
            }
            _ => {
                let from = (node.span.file, node.span.start);
                let to = (node.span.file, node.span.end.max(node.span.start));
                self.starts.range(from..=to).next().is_some()
            }
        }
    }

    fn at(&self, span: Span) -> bool {
        self.starts.contains(&(span.file, span.start))
    }
}

/// A part of a file as one of our types; `None` when it is broken, which is then in `problems`.
pub(super) fn read<T: DeserializeOwned>(
    node: &Node,
    broken: &BrokenPlaces,
    problems: &mut Problems,
) -> Option<T> {
    if broken.holds(node) {
        return None;
    }
    match serde_json::from_value(node.to_json()) {
        Ok(value) => Some(value),
        Err(error) => {
            problems.push(Problem::error(Code::BadShape, node.span, error.to_string()));
            None
        }
    }
}
