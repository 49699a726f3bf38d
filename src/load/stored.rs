//! Baseline files: found in their folder or at a revision, read with positions, and judged.
//!
//! A file that is fine is parsed once and never meets the schema; only what is broken is explained
//! by it.

mod folder;
mod judge;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde_json::Value;

use super::problem::{Code, Problem, Problems};
use super::session::read_or_explain;
use super::source::{FileId, SourceFiles, Span, decode};
use super::tree::{self, Node};
use crate::model::{BaselineStage, Fingerprint, baseline_file_name};
use crate::spec::{BASELINE_VERSION, BaselineFile, SchemaKind};

pub use folder::{BaselineFolder, RevisionFolder};
pub(super) use judge::{conflict, unknown_version};

/// A baseline as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptBaseline {
    /// What the file says; its `output` was moved to the field beside.
    pub file: BaselineFile,
    /// The known-good output, from the file or from the one beside it.
    pub output: Value,
    /// Over `output`.
    pub fingerprint: Fingerprint,
    /// Of the baseline file.
    pub path: PathBuf,
}

/// What came of looking for a baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineLookup {
    Nothing,
    /// What is wrong stands among the problems.
    Broken,
    Kept(Box<KeptBaseline>),
}

/// One reading of baseline files: where they lie, and where texts and problems go.
pub struct BaselineReader<'a> {
    pub folder: &'a BaselineFolder,
    pub sources: &'a mut SourceFiles,
    pub problems: &'a mut Problems,
    /// Messages show paths relative to it. Absolute.
    pub cwd: &'a std::path::Path,
}

impl BaselineReader<'_> {
    /// The baseline of an eval.
    pub fn of_eval(&mut self, id: &str, standing: BaselineStage) -> BaselineLookup {
        self.named(&baseline_file_name(id, standing), Some(id))
    }

    /// The baseline in the file of this name, of whatever eval it says to be.
    pub fn of_file(&mut self, name: &str) -> BaselineLookup {
        self.named(name, None)
    }

    fn named(&mut self, name: &str, id: Option<&str>) -> BaselineLookup {
        let shown = self.folder.display(name, self.cwd);
        let text = match self.folder.read(name, super::source::MAX_AUTHORING_BYTES) {
            Ok(None) => return BaselineLookup::Nothing,
            Ok(Some(bytes)) => decode(bytes, &shown).map_err(|problem| match problem.code {
                Code::EmptyFile => problem.hint(format!(
                    "restore it: {}",
                    self.folder.restore(name, self.cwd)
                )),
                _ => problem,
            }),
            Err(why) => Err(unreadable(&shown, &why)),
        };
        let text = match text {
            Ok(text) => text,
            Err(problem) => return self.broken(problem),
        };
        let before = self.problems.len();
        let file = self.sources.add(shown, text);
        let found = self.document(file, name, id);
        if self.problems.len() == before {
            // Nobody will ask for a place in it.
            self.sources.forget(file);
        }
        found
    }

    /// A file whose text is there.
    fn document(&mut self, file: FileId, name: &str, id: Option<&str>) -> BaselineLookup {
        if let Some(mut problem) = judge::conflict(self.sources, file) {
            if matches!(self.folder, BaselineFolder::Revision(_)) {
                problem.hint = Some("it was committed so: use another revision".to_owned());
            }
            return self.broken(problem);
        }
        if self
            .sources
            .text(file)
            .starts_with("version https://git-lfs.github.com/")
        {
            let problem = Problem::error(
                Code::BadBaseline,
                Span::new(file, 0, 0),
                "this is a pointer of Git LFS, not the baseline",
            );
            return self.broken(
                problem.hint("`git lfs pull` fetches the file; better keep baselines out of LFS"),
            );
        }
        let Some(node) = tree::parse(self.sources, file, self.problems) else {
            return BaselineLookup::Broken;
        };
        if let Some(problem) = judge::unknown_version(&node, "", BASELINE_VERSION) {
            return self
                .broken(problem.or_hint(format!("write `format_version: {BASELINE_VERSION}`")));
        }
        let errors = self.problems.error_count();
        let Some(spec) = self.spec(&node) else {
            return BaselineLookup::Broken;
        };
        let name_of = judge::BaselineFileName { name, id };
        judge::header(&spec, &node, &name_of, self.problems);
        let Some((spec, output)) = self.output(spec, &node, name) else {
            return BaselineLookup::Broken;
        };
        if self.problems.error_count() > errors {
            return BaselineLookup::Broken;
        }
        let fingerprint = Fingerprint::of(&output);
        BaselineLookup::Kept(Box::new(KeptBaseline {
            file: spec,
            output,
            fingerprint,
            path: self.folder.path(name),
        }))
    }

    fn spec(&mut self, node: &Node) -> Option<BaselineFile> {
        // The output may be large and needs no second look.
        let header = node.as_map().map(|entries| {
            let entries = entries.iter().filter(|(key, _)| &*key.name != "output");
            entries
                .map(|(key, value)| (key.name.to_string(), value.to_json()))
                .collect()
        });
        let json = header.map_or(Value::Null, Value::Object);
        let spec: BaselineFile = read_or_explain(SchemaKind::Baseline, json, node, self.problems)?;
        Some(BaselineFile {
            output: node.get("output").map(Node::to_json),
            ..spec
        })
    }

    /// The output, from wherever it is, with its matchers judged.
    fn output(
        &mut self,
        mut spec: BaselineFile,
        node: &Node,
        name: &str,
    ) -> Option<(BaselineFile, Value)> {
        let before = self.problems.error_count();
        let output = match (spec.output.take(), &spec.output_file) {
            (Some(output), None) => {
                if let Some(at) = node.get("output") {
                    judge::matchers(self.sources, self.problems, at);
                }
                Some(output)
            }
            (None, Some(_)) => self.output_beside(&spec, node, name),
            (Some(_), Some(_)) => {
                let message = "`output` and `output_file` stand side by side";
                let problem =
                    Problem::error(Code::BothSpellings, node.key_span("/output_file"), message)
                        .hint("keep the one that is meant")
                        .related(node.key_span("/output"), "the other one");
                self.problems.push(problem);
                None
            }
            (None, None) => {
                let message = "the baseline has no output to compare with";
                let problem = Problem::error(Code::MissingKey, node.span.at_start(), message).hint(
                    "write `output: ...`, or capture it anew with `eval-harness baseline capture`",
                );
                self.problems.push(problem);
                None
            }
        };
        let output = output.filter(|_| self.problems.error_count() == before)?;
        Some((spec, output))
    }

    /// The output in the file beside, whose value must have the fingerprint that the baseline says.
    fn output_beside(&mut self, spec: &BaselineFile, node: &Node, name: &str) -> Option<Value> {
        let beside = spec.output_file.as_ref()?;
        let at = node.locate("/output_file/name");
        if let Err(problem) = judge::output_name(&beside.name, judge::standing_of(name), at) {
            self.problems.push(problem);
            return None;
        }
        let shown = self.folder.display(&beside.name, self.cwd);
        let restore = format!(
            "an accept that was cut off is finished by accepting again; else restore it: {}",
            self.folder.restore(&beside.name, self.cwd)
        );
        let wrong =
            |message: String| Problem::error(Code::OutputFile, at, message).hint(restore.clone());
        let bytes = match self.folder.read(&beside.name, folder::MAX_OUTPUT_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.problems.push(wrong(format!(
                    "the output of this baseline is missing: there is no `{shown}`"
                )));
                return None;
            }
            Err(why) => {
                self.problems.push(wrong(format!(
                    "the output of this baseline cannot be read: `{shown}`: {why}"
                )));
                return None;
            }
        };
        let output = match serde_json::from_slice::<Value>(judge::without_mark(&bytes)) {
            Ok(output) => output,
            Err(error) => {
                let problem = self.not_json(&shown, &bytes);
                let message =
                    format!("the output of this baseline is not JSON: `{shown}`: {error}");
                self.problems
                    .push(problem.unwrap_or_else(|| wrong(message)));
                return None;
            }
        };
        let fingerprint = Fingerprint::of(&output).to_string();
        if fingerprint != beside.fingerprint {
            let message = format!("`{shown}` holds another output than this baseline says");
            let at = node.locate("/output_file/fingerprint");
            self.problems.push(Problem {
                span: Some(at),
                ..wrong(message)
            });
            return None;
        }
        if judge::suspicious(&output) {
            // Read again, this time with places, since one of them has to be shown.
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let file = self.sources.add(shown, text);
            let node = tree::parse(self.sources, file, self.problems)?;
            judge::matchers(self.sources, self.problems, &node);
        }
        Some(output)
    }

    /// Conflict markers in an output file: the one fault of it that has a place worth showing.
    fn not_json(&mut self, shown: &str, bytes: &[u8]) -> Option<Problem> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let file = self.sources.add(shown, text);
        judge::conflict(self.sources, file)
    }

    fn broken(&mut self, problem: Problem) -> BaselineLookup {
        self.problems.push(problem);
        BaselineLookup::Broken
    }
}

fn unreadable(shown: &str, why: &str) -> Problem {
    Problem::of_file(
        Code::Unreadable,
        shown,
        format!("cannot read the baseline `{shown}`: {why}"),
    )
}

/// Judges a baseline file that is checked by itself, with what lies beside it.
pub(super) fn check(
    path: &std::path::Path,
    cwd: &std::path::Path,
    sources: &mut SourceFiles,
    problems: &mut Problems,
) {
    let (Some(dir), Some(name)) = (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) else {
        return;
    };
    let folder = BaselineFolder::Disk(dir.to_owned());
    BaselineReader {
        folder: &folder,
        sources,
        problems,
        cwd,
    }
    .of_file(name);
}
