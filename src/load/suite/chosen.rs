//! The target of a run, and what evals may take from their suite's targets.

use std::sync::Arc;

use super::SuiteLoader;
use crate::load::models;
use crate::load::problem::{Code, Problem, Problems};
use crate::load::refs::lexical;
use crate::load::request::LoadRequest;
use crate::load::scope::SuiteScope;
use crate::load::targets::{self, ChosenTarget, WrittenTargets};
use crate::load::tree::Node;
use crate::model::Eval;
use crate::spec::{SuiteSpec, TargetSpec};

impl SuiteLoader<'_> {
    /// The target of the run. What evals may take from the suite's targets is put into the scope.
    pub(super) fn target(
        &mut self,
        spec: &SuiteSpec,
        node: &Node,
        scope: &mut SuiteScope,
    ) -> ChosenTarget {
        let mut all = WrittenTargets::new();
        for (name, target) in &spec.targets {
            let at = node
                .get("targets")
                .and_then(|n| n.get(name))
                .unwrap_or(node);
            all.insert(name.clone(), (target.clone(), at.clone()));
        }
        let providers = spec.providers.iter().map(|(name, provider)| {
            let at = node
                .get("providers")
                .and_then(|n| n.get(name))
                .unwrap_or(node);
            (name.clone(), (provider.clone(), at.clone()))
        });
        scope.providers = Arc::new(providers.collect());
        scope.skill = spec.skill.clone().zip(node.get("skill").cloned());
        if let (Some(target), Some(at)) = (&spec.target, node.get("target")) {
            let name = if all.is_empty() {
                kind_word(target)
            } else {
                "default"
            };
            if let Some((_, other)) = all.insert(name.to_owned(), (target.clone(), at.clone())) {
                self.session.problems.push(
                    Problem::error(
                        Code::BothSpellings,
                        node.key_span("/target"),
                        "use `target` or `targets.default`, not both",
                    )
                    .related(other.span, "the other one"),
                );
            }
        }
        let mut found = Problems::new();
        let mut desk = self.session.desk(scope, &self.dir);
        models::check_providers(&mut desk.aside(&mut found));
        desk.problems.keep_faults(found);
        // Every target is checked, also those that this run does not use.
        let overridden = self.request.overrides.outputs.is_some();
        if !overridden && desk.suite.lenient {
            for (target, at) in all.values() {
                targets::resolve(&mut desk, target, at, &self.dir);
            }
        }
        let at = node.key_span(if all.is_empty() { "/name" } else { "/targets" });
        let chosen = targets::choose(&mut desk, &all, choice(self.request), at);
        let offer = targets::offer(&mut desk, &all, &chosen.name, chosen.target.as_ref());
        Arc::make_mut(&mut scope.missing).extend(offer.missing);
        (scope.http, scope.model, scope.skill) = (offer.http, offer.model, offer.skill);
        scope.asks = chosen.target.clone();
        chosen
    }

    /// A suite whose cases all have targets of their own needs none.
    pub(super) fn lacks_target(&mut self, lack: Option<Problem>, evals: &[Arc<Eval>]) {
        let needed = |eval: &Arc<Eval>| {
            eval.cases
                .profiles()
                .iter()
                .any(|profile| profile.target.is_none())
        };
        if let Some(problem) = lack.filter(|_| evals.iter().any(needed)) {
            let lenient = self.session.lenient();
            self.session.problems.push(problem.maybe_warning(lenient));
        }
    }
}

pub(super) fn choice(request: &LoadRequest) -> targets::TargetChoice<'_> {
    targets::TargetChoice {
        name: request.overrides.target.as_deref(),
        outputs: request
            .overrides
            .outputs
            .as_ref()
            .map(|path| lexical(&request.cwd.join(path))),
    }
}

fn kind_word(target: &TargetSpec) -> &'static str {
    match target {
        TargetSpec::Recorded(_) => "recorded",
        TargetSpec::Command(_) => "command",
        TargetSpec::Echo(_) => "echo",
        TargetSpec::Model(_) => "model",
        TargetSpec::Http(_) => "http",
        TargetSpec::Skill(_) => "skill",
        TargetSpec::Agent(_) => "agent",
    }
}
