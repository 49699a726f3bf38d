//! What a suite may keep in files of their own: named graders, languages, thresholds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::SuiteLoader;
use super::documents::{graders_file, sets, shelf};
use crate::load::executors::ExecutorShelf;
use crate::load::kinds::detect;
use crate::load::prices::{self, PriceShelf};
use crate::load::problem::{Code, Problem};
use crate::load::reach::MissingValues;
use crate::load::refs;
use crate::load::scope::{GraderShelf, SuiteScope};
use crate::load::source::Span;
use crate::load::thresholds::{self, ResolvedDemands, WrittenSet};
use crate::load::tree::Node;
use crate::spec::{RefOr, SchemaKind, SuiteSpec, Thresholds, ThresholdsFile};

impl SuiteLoader<'_> {
    /// The named graders: written in the suite, or in the file that it refers to.
    pub(super) fn graders(
        &mut self,
        spec: &SuiteSpec,
        node: &Node,
        scope: &SuiteScope,
        missing: &mut MissingValues,
    ) -> GraderShelf {
        let read = match &spec.graders {
            None => return GraderShelf::default(),
            Some(RefOr::Inline(file)) => {
                let at = node.get("graders").unwrap_or(node).clone();
                Some((file.clone(), at, self.dir.clone()))
            }
            Some(RefOr::Ref(path)) => {
                let missing = scope.reach.is_some().then_some(missing);
                let document = self.document(path, node, SchemaKind::Graders);
                document.and_then(|(mut document, dir)| {
                    let templates = &scope.templates;
                    let file = graders_file(self.session, &mut document, templates, missing)?;
                    Some((file, document, dir))
                })
            }
        };
        match read {
            Some((file, node, dir)) => shelf(file, &node, &dir, &mut self.session.problems),
            None => GraderShelf {
                open: true,
                ..GraderShelf::default()
            },
        }
    }

    /// The languages that the suite describes, or the file that it refers to.
    pub(super) fn executors(&mut self, spec: &SuiteSpec, node: &Node) -> ExecutorShelf {
        match &spec.executors {
            None => ExecutorShelf::default(),
            Some(RefOr::Inline(all)) => {
                let at = node.get("executors").unwrap_or(node);
                ExecutorShelf::of(all.clone(), at, &self.dir, &mut self.session.problems)
            }
            Some(RefOr::Ref(path)) => self
                .document(path, node, SchemaKind::Executors)
                .and_then(|(mut document, dir)| {
                    ExecutorShelf::of_document(self.session, &mut document, &dir)
                })
                .unwrap_or_else(ExecutorShelf::unknown),
        }
    }

    /// What models cost: as the suite says, or the file that it refers to, or the file that lies
    /// where one is looked for.
    pub(super) fn prices(&mut self, spec: &SuiteSpec, node: &Node) -> PriceShelf {
        let read = match &spec.prices {
            Some(RefOr::Inline(all)) => {
                let at = node.get("prices").unwrap_or(node);
                Some(PriceShelf::of(all.clone(), at, &mut self.session.problems))
            }
            Some(RefOr::Ref(path)) => {
                let document = self.document(path, node, SchemaKind::Prices);
                document.and_then(|(mut node, _)| PriceShelf::of_document(self.session, &mut node))
            }
            None => self.default_prices(node.span.at_start()),
        };
        read.unwrap_or_default()
    }

    /// A file that only its name makes one of prices: when it is none, that matters only to who
    /// looks for a price.
    fn default_prices(&mut self, at: Span) -> Option<PriceShelf> {
        let path = prices::default_file(&self.dir)?;
        let file = refs::existing_file(&self.dir, path, &self.session.fence, at).ok()?;
        if file == self.path {
            return None;
        }
        let mut document = self.session.parse(&file, Some(at))?;
        if detect(&document) != Some(SchemaKind::Prices) {
            let message = format!("`{path}` has no `prices:`, so no price is taken from it");
            let problem = Problem::warning(Code::UnknownShape, document.span.at_start(), message)
                .hint("prices stand under `prices:`, by `provider:model`");
            return Some(PriceShelf::none_because(problem));
        }
        PriceShelf::of_document(self.session, &mut document)
    }

    /// Reads and parses the one file of a `$ref` that must be of the kind under whose name it
    /// stands in the suite; with its folder.
    fn document(&mut self, path: &str, suite: &Node, kind: SchemaKind) -> Option<(Node, PathBuf)> {
        let at = suite.locate(&format!("/{}/$ref", kind.name()));
        let file = refs::existing_file(&self.dir, path, &self.session.fence, at);
        let file = self.session.problems.take(file)?;
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
            _ => Some((node, file.parent()?.to_owned())),
        }
    }

    /// The thresholds of the suite, of the file that it refers to and of the command line.
    pub(super) fn demands(&mut self, spec: &SuiteSpec, node: &Node) -> ResolvedDemands {
        let mut presets: BTreeMap<String, WrittenSet> = BTreeMap::new();
        let mut own: WrittenSet = (Thresholds::default(), None);
        match &spec.thresholds {
            Some(RefOr::Inline(set)) => own = (set.clone(), node.get("thresholds").cloned()),
            Some(RefOr::Ref(path)) => {
                let kind = SchemaKind::Thresholds;
                if let Some((mut document, _)) = self.document(path, node, kind)
                    && let Some(file) = self.session.read::<ThresholdsFile>(kind, &mut document)
                {
                    own = (file.thresholds, document.get("thresholds").cloned());
                    presets.extend(sets(file.presets, document.get("presets")));
                }
            }
            None => {}
        }
        presets.extend(sets(spec.presets.clone(), node.get("presets")));
        let sources = thresholds::ThresholdSources {
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
}

pub(super) fn circular(text: &str, at: Span) -> Problem {
    Problem::error(
        Code::CircularRef,
        at,
        format!("`{text}` leads back to the file that it stands in"),
    )
}
