//! The target of a run, and what evals may take from their suite's targets.

use super::Loader;
use crate::load::problem::{Code, Problem};
use crate::load::refs::lexical;
use crate::load::request::LoadRequest;
use crate::load::scope::{Desk, SuiteScope};
use crate::load::session::Session;
use crate::load::targets::{self, Targets};
use crate::load::tree::Node;
use crate::model::Target;
use crate::spec::{SuiteSpec, TargetSpec};

impl Loader<'_> {
    /// The target of the run. What evals may take from the suite's targets is put into the scope.
    pub(super) fn target(
        &mut self,
        spec: Option<&SuiteSpec>,
        node: &Node,
        scope: &mut SuiteScope,
    ) -> (String, Option<Target>) {
        let Some(spec) = spec else { return (String::new(), None) };
        let mut all = Targets::new();
        for (name, target) in &spec.targets {
            let at = node.get("targets").and_then(|n| n.get(name)).unwrap_or(node);
            all.insert(name.clone(), (target.clone(), at.clone()));
        }
        scope.skill = spec.skill.clone().zip(node.get("skill").cloned());
        let Session { sources, problems, .. } = &mut *self.session;
        if let (Some(target), Some(at)) = (&spec.target, node.get("target")) {
            let name = if all.is_empty() { kind_word(target) } else { "default" };
            if let Some((_, other)) = all.insert(name.to_owned(), (target.clone(), at.clone())) {
                problems.push(
                    Problem::error(
                        Code::BothSpellings,
                        node.key_span("/target"),
                        "`target` and `targets.default` stand side by side",
                    )
                    .related(other.span, "the other one"),
                );
            }
        }
        let mut desk = Desk { sources, problems, suite: scope, dir: &self.dir };
        // Every target is checked, also those that this run does not use.
        let overridden = self.request.overrides.outputs.is_some();
        if !overridden && desk.suite.lenient {
            for (target, at) in all.values() {
                targets::resolve(&mut desk, target, at, &self.dir);
            }
        }
        let at = node.key_span("/name");
        let chosen = targets::choose(&mut desk, &all, choice(self.request), at).unwrap_or_default();
        let offer = targets::offer(&mut desk, &all, &chosen.0, chosen.1.as_ref());
        (scope.http, scope.skill) = (offer.http, offer.skill);
        scope.asks = chosen.1.clone();
        chosen
    }
}

pub(super) fn choice(request: &LoadRequest) -> targets::Choice<'_> {
    targets::Choice {
        name: request.overrides.target.as_deref(),
        outputs: request.overrides.outputs.as_ref().map(|path| lexical(&request.cwd.join(path))),
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
    }
}
