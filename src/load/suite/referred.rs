//! What a suite may keep in files of their own: named graders, languages, thresholds.

use std::collections::BTreeMap;
use std::path::Path;

use super::Loader;
use super::documents::{graders_file, sets, shelf};
use crate::load::executors::ExecutorShelf;
use crate::load::kinds::detect;
use crate::load::prices::{self, PriceShelf};
use crate::load::problem::{Code, Problem};
use crate::load::reach::MissingValues;
use crate::load::refs::{self, lexical};
use crate::load::scope::{GraderShelf, SuiteScope};
use crate::load::source::Span;
use crate::load::thresholds::{self, Resolved, WrittenSet};
use crate::load::tree::Node;
use crate::spec::{RefOr, SchemaKind, SuiteSpec, Thresholds, ThresholdsFile};

impl Loader<'_> {
    /// The named graders: written in the suite, or in the file that it refers to.
    pub(super) fn graders(
        &mut self,
        spec: Option<&SuiteSpec>,
        node: &Node,
        scope: &SuiteScope,
        missing: &mut MissingValues,
    ) -> GraderShelf {
        let mut dir = self.dir.clone();
        let (file, node) = match spec.and_then(|s| s.graders.as_ref()) {
            None => return GraderShelf::default(),
            Some(RefOr::Inline(file)) => (
                file.clone(),
                node.get("graders").cloned().unwrap_or_else(|| node.clone()),
            ),
            Some(RefOr::Ref(path)) => {
                let at = node.locate("/graders/$ref");
                let Some(mut document) = self.document(path, at, SchemaKind::Graders) else {
                    return GraderShelf {
                        open: true,
                        ..GraderShelf::default()
                    };
                };
                let missing = scope.reach.is_some().then_some(missing);
                let file = graders_file(self.session, &mut document, &scope.templates, missing);
                let Some(file) = file else {
                    return GraderShelf {
                        open: true,
                        ..GraderShelf::default()
                    };
                };
                dir = lexical(&self.dir.join(path))
                    .parent()
                    .map_or(dir, Path::to_path_buf);
                (file, document)
            }
        };
        shelf(file, &node, &dir, &mut self.session.problems)
    }

    /// The languages that the suite describes, or the file that it refers to.
    pub(super) fn executors(&mut self, spec: Option<&SuiteSpec>, node: &Node) -> ExecutorShelf {
        let broken = ExecutorShelf::unknown();
        match spec.and_then(|s| s.executors.as_ref()) {
            None => ExecutorShelf::default(),
            Some(RefOr::Inline(all)) => {
                let at = node.get("executors").unwrap_or(node);
                ExecutorShelf::of(all.clone(), at, &self.dir, &mut self.session.problems)
            }
            Some(RefOr::Ref(path)) => {
                let at = node.locate("/executors/$ref");
                let Some(mut document) = self.document(path, at, SchemaKind::Executors) else {
                    return broken;
                };
                let dir = lexical(&self.dir.join(path))
                    .parent()
                    .map_or_else(|| self.dir.clone(), Path::to_path_buf);
                ExecutorShelf::of_document(self.session, &mut document, &dir).unwrap_or(broken)
            }
        }
    }

    /// What models cost: as the suite says, or the file that it refers to, or the file that lies
    /// where one is looked for.
    pub(super) fn prices(&mut self, spec: Option<&SuiteSpec>, node: &Node) -> PriceShelf {
        let nothing = PriceShelf::default();
        let (path, at) = match spec.map(|s| s.prices.as_ref()) {
            Some(Some(RefOr::Inline(all))) => {
                let at = node.get("prices").unwrap_or(node);
                return PriceShelf::of(all.clone(), at, &mut self.session.problems);
            }
            Some(Some(RefOr::Ref(path))) => (path.as_str(), node.locate("/prices/$ref")),
            None | Some(None) => {
                let Some(path) = prices::default_file(&self.dir) else {
                    return nothing;
                };
                return self.default_prices(path, node.span.at_start());
            }
        };
        let Some(mut document) = self.document(path, at, SchemaKind::Prices) else {
            return nothing;
        };
        PriceShelf::of_document(self.session, &mut document).unwrap_or_default()
    }

    /// A file that only its name makes one of prices: when it is none, that matters only to who
    /// looks for a price.
    fn default_prices(&mut self, path: &str, at: Span) -> PriceShelf {
        let Ok(file) = refs::existing_file(&self.dir, path, &self.session.fence, at) else {
            return PriceShelf::default();
        };
        if file == self.path {
            return PriceShelf::default();
        }
        let Some(mut document) = self.session.parse(&file, Some(at)) else {
            return PriceShelf::default();
        };
        if detect(&document) != Some(SchemaKind::Prices) {
            let message = format!("`{path}` has no `prices:`, so no price is taken from it");
            let problem = Problem::warning(Code::UnknownShape, document.span.at_start(), message)
                .hint("prices stand under `prices:`, by `provider:model`");
            return PriceShelf::none_because(problem);
        }
        PriceShelf::of_document(self.session, &mut document).unwrap_or_default()
    }

    /// Reads and parses the one file of a `$ref` that must be of a kind.
    fn document(&mut self, path: &str, at: Span, kind: SchemaKind) -> Option<Node> {
        let file = match refs::existing_file(&self.dir, path, &self.session.fence, at) {
            Ok(file) => file,
            Err(problem) => {
                self.session.problems.push(problem);
                return None;
            }
        };
        if file == self.path {
            self.session.problems.push(circular(path, at));
            return None;
        }
        let node = self.session.parse(&file, Some(at))?;
        match detect(&node) {
            Some(found) if found != kind => {
                let message = format!(
                    "`{path}` is a file of kind `{}`, not of kind `{}`",
                    found.name(),
                    kind.name()
                );
                self.session
                    .problems
                    .push(Problem::error(Code::UnknownShape, at, message));
                None
            }
            _ => Some(node),
        }
    }

    /// The thresholds of the suite, of the file that it refers to and of the command line.
    pub(super) fn demands(&mut self, spec: Option<&SuiteSpec>, node: &Node) -> Resolved {
        let Some(spec) = spec else {
            return Resolved::default();
        };
        let mut presets: BTreeMap<String, WrittenSet> = BTreeMap::new();
        let mut own: WrittenSet = (Thresholds::default(), None);
        match &spec.thresholds {
            Some(RefOr::Inline(set)) => own = (set.clone(), node.get("thresholds").cloned()),
            Some(RefOr::Ref(path)) => {
                let at = node.locate("/thresholds/$ref");
                if let Some(mut document) = self.document(path, at, SchemaKind::Thresholds)
                    && let Some(file) = self.thresholds_file(&mut document)
                {
                    own = (file.thresholds, document.get("thresholds").cloned());
                    presets.extend(sets(file.presets, document.get("presets")));
                }
            }
            None => {}
        }
        presets.extend(sets(spec.presets.clone(), node.get("presets")));
        let sources = thresholds::Sources {
            own,
            presets,
            preset: spec
                .preset
                .clone()
                .map(|name| (name, node.locate("/preset"))),
            chosen: self.request.overrides.preset.as_deref(),
            asked: &self.request.overrides.asked,
            overrides: &self.request.overrides.thresholds,
            ks: &spec.config.k.0,
        };
        thresholds::resolve(&sources, &mut self.session.problems)
    }

    fn thresholds_file(&mut self, document: &mut Node) -> Option<ThresholdsFile> {
        let json = self.session.check(SchemaKind::Thresholds, document)?;
        serde_json::from_value(json).ok()
    }
}

pub(super) fn circular(text: &str, at: Span) -> Problem {
    Problem::error(
        Code::CircularRef,
        at,
        format!("`{text}` leads back to the file that it stands in"),
    )
}
