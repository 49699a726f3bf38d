//! The evals that a suite names: each file read once, fragments picked, ids unique.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::referred::circular;
use super::{HeadEvals, SuiteLoader, eval_document};
use crate::load::baselines;
use crate::load::evals::{BuiltEval, build};
use crate::load::kinds::{DocumentPart, detect, parts};
use crate::load::problem::{Code, Problem, Severity};
use crate::load::refs;
use crate::load::scope::SuiteScope;
use crate::load::session::BrokenPlaces;
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::model::Eval;
use crate::spec::SchemaKind;
use eval_base::nearest::did_you_mean;

/// An eval and the `$ref` that brought it in.
pub(super) struct GatheredEval {
    pub built: BuiltEval,
    pub by: Span,
}

impl SuiteLoader<'_> {
    pub(super) fn gather(&mut self, evals: HeadEvals, scope: &SuiteScope) -> Vec<GatheredEval> {
        let evals = match evals {
            HeadEvals::Listed(evals) => evals,
            HeadEvals::Alone(document) => {
                let by = document.span.at_start();
                let built = eval_document(self.session, document, scope, &self.dir);
                return built
                    .into_iter()
                    .map(|built| GatheredEval { built, by })
                    .collect();
            }
        };
        let mut gathered = Vec::new();
        let broken = BrokenPlaces::of(&self.session.problems);
        for mut node in evals {
            let by = node.span;
            let reference = node.get("$ref").and_then(Node::as_text).map(str::to_owned);
            match reference {
                Some(reference) => {
                    let at = node.locate("/$ref");
                    let built = self.referenced(&reference, at, scope);
                    gathered.extend(
                        built
                            .into_iter()
                            .map(|built| GatheredEval { built, by: at }),
                    );
                }
                None if node.get("$ref").is_some() => {}
                None => {
                    let shelf = baselines::fetch(self.session, scope, &mut node);
                    let mut desk = self.session.desk(scope, &self.dir);
                    let built = build(&mut desk, &mut node, &broken, shelf);
                    gathered.extend(built.into_iter().map(|built| GatheredEval { built, by }));
                }
            }
        }
        gathered
    }

    fn referenced(&mut self, text: &str, at: Span, scope: &SuiteScope) -> Vec<BuiltEval> {
        let reference = refs::resolve(&self.dir, text, &self.session.fence, at);
        let Some(reference) = self.session.problems.take(reference) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut evals_seen = false;
        for file in &reference.files {
            if *file == self.path {
                if !reference.is_glob {
                    self.session.problems.push(circular(text, at));
                }
                continue;
            }
            if let Some(built) = self.eval_file(file, at, reference.is_glob, scope) {
                evals_seen = true;
                found.extend(built);
            }
        }
        if reference.is_glob && !evals_seen {
            let message = format!("`{text}` matches no file with evals");
            self.session
                .problems
                .push(Problem::error(Code::EmptyGlob, at, message));
        }
        let Some(id) = &reference.fragment else {
            return found;
        };
        let picked: Vec<BuiltEval> = found
            .iter()
            .filter(|b| b.eval.info.id == *id)
            .cloned()
            .collect();
        // A file with faults may have lost the eval on the way.
        let faulty = self.session.problems.iter().any(|p| {
            p.severity == Severity::Error
                && p.span
                    .is_some_and(|s| found.is_empty() || found.iter().any(|b| b.at.file == s.file))
        });
        // An eval that no filter selects may lack what it takes to build it.
        let unselected = scope.reach.is_some()
            && reference
                .files
                .iter()
                .any(|file| self.unbuilt.contains(&(file.clone(), id.clone())));
        if picked.is_empty() && !faulty && !unselected {
            let ids: Vec<&str> = found.iter().map(|b| b.eval.info.id.as_str()).collect();
            let hint = match did_you_mean(id, ids.iter().copied()) {
                Some(near) => format!("did you mean `#{near}`?"),
                None => format!("the file's evals are {}", ids.join(", ")),
            };
            let message = format!("the file has no eval `{id}`");
            self.session
                .problems
                .push(Problem::error(Code::BadFragment, at, message).hint(hint));
        }
        picked
    }

    /// The evals of a file, which is read once. `None` for a file of another kind that a glob
    /// matched.
    fn eval_file(
        &mut self,
        file: &Path,
        at: Span,
        by_glob: bool,
        scope: &SuiteScope,
    ) -> Option<Vec<BuiltEval>> {
        if let Some(known) = self.files.get(file) {
            return Some(known.clone());
        }
        let Some(mut node) = self.session.parse(file, Some(at)) else {
            self.files.insert(file.to_owned(), Vec::new());
            return Some(Vec::new());
        };
        match detect(&node) {
            Some(SchemaKind::Eval) | None => {}
            Some(_) if by_glob => return None,
            Some(other) => {
                let message = format!(
                    "`{}` is a file of kind `{}`, not of evals",
                    self.session.display(file),
                    other.name()
                );
                self.session
                    .problems
                    .push(Problem::error(Code::UnknownShape, at, message));
                return Some(Vec::new());
            }
        }
        let dir = file
            .parent()
            .map_or_else(|| self.dir.clone(), Path::to_path_buf);
        let ids: Vec<String> = parts(&mut node)
            .iter()
            .filter_map(DocumentPart::id)
            .map(str::to_owned)
            .collect();
        let built = eval_document(self.session, node, scope, &dir);
        let is_built = |id: &String| built.iter().any(|built| built.eval.info.id == *id);
        let unbuilt = ids
            .into_iter()
            .filter(|id| !is_built(id))
            .map(|id| (file.to_owned(), id));
        self.unbuilt.extend(unbuilt);
        self.files.insert(file.to_owned(), built.clone());
        Some(built)
    }

    /// Refuses ids that are taken, and evals that two references bring in.
    pub(super) fn unique(&mut self, gathered: Vec<GatheredEval>) -> Vec<Arc<Eval>> {
        let mut taken: HashMap<String, (Span, Span)> = HashMap::new();
        let mut evals = Vec::new();
        for GatheredEval {
            built: BuiltEval { eval, at },
            by,
        } in gathered
        {
            let id = &eval.info.id;
            match taken.get(id) {
                Some((first, first_by)) if *first == at => {
                    let message = format!("the eval `{id}` is brought in twice");
                    self.session.problems.push(
                        Problem::error(Code::DuplicateId, by, message)
                            .hint("take it out of one of the references")
                            .related(*first_by, "the first reference"),
                    );
                }
                Some((first, _)) => {
                    let message = format!("two evals have the id `{id}`");
                    let hint =
                        format!("the first one is at {}", self.session.sources.place(*first));
                    self.session.problems.push(
                        Problem::error(Code::DuplicateId, at, message)
                            .hint(hint)
                            .related(*first, "the first one"),
                    );
                }
                None => {
                    taken.insert(id.clone(), (at, by));
                    evals.push(eval);
                }
            }
        }
        evals
    }
}
