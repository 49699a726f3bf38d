//! Where a run takes place.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::{
    Endpoint, Environment, GitState, ModelTarget, Plan, RunBudget, SamplingOptions, SamplingRead,
    SandboxState, Target, UsedPrompt,
};
use eval_base::git;
use eval_base::ordered::OrderedValue;

/// This program's version.
pub fn harness_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Commit and cleanliness of the checkout that holds `dir`; `None` outside of one or without git.
pub fn git_state(dir: &Path) -> Option<GitState> {
    let git::Checkout { commit, dirty } = git::checkout(dir).ok()?;
    Some(GitState { commit, dirty })
}

/// What is known before graders are prepared.
pub(super) fn environment(plan: &Plan, git: Option<GitState>) -> Environment {
    let model = match &plan.target {
        Some(Target::Model(target)) => Some(target),
        _ => None,
    };
    let endpoint = plan.target.as_ref().and_then(Target::endpoint);
    let budget = plan.settings.models.budget;
    let set = endpoint.filter(|endpoint| endpoint.address_variable.is_some());
    Environment {
        target: plan.target_name.clone(),
        target_type: plan.target.as_ref().map_or("none", Target::kind).to_owned(),
        model: endpoint.map(Endpoint::name),
        model_address: set.map(Endpoint::shown_address),
        sampling: model.map(|target| Box::new(sampling(target))),
        budget: (budget != RunBudget::default()).then_some(budget),
        prompt: plan.prompt.as_deref().map(|name| used(name, plan)),
        git,
        sandbox: None,
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        interpreters: Default::default(),
    }
}

fn sampling(target: &ModelTarget) -> SamplingRead {
    let SamplingOptions {
        temperature,
        top_p,
        max_tokens,
        stop,
        seed,
        json_schema: _,
        options,
    } = target.sampling.clone();
    let plain = |value: &OrderedValue| serde_json::to_value(value).unwrap_or_default();
    let options = options
        .iter()
        .map(|(name, value)| (name.clone(), plain(value)));
    SamplingRead {
        temperature,
        top_p,
        max_tokens,
        stop,
        seed,
        options: options.collect(),
        training_cutoff: target.training_cutoff.clone(),
    }
}

fn used(name: &str, plan: &Plan) -> UsedPrompt {
    let mut used = UsedPrompt {
        name: name.to_owned(),
        template: None,
        evals: BTreeMap::new(),
    };
    for eval in &plan.evals {
        match eval.prompts.get(name) {
            Some(prompt) if prompt.is_of_suite => {
                used.template.get_or_insert_with(|| prompt.text.clone());
            }
            Some(prompt) => {
                used.evals.insert(eval.info.id.clone(), prompt.text.clone());
            }
            None => {}
        }
    }
    used
}

/// The sandbox of all sessions of a run: what one of them did in a weaker one, or without, stays
/// so.
pub(super) fn joined_sandbox(
    before: Option<SandboxState>,
    now: Option<SandboxState>,
) -> Option<SandboxState> {
    match (before, now) {
        (Some(before), Some(now)) => Some(now.joined(before)),
        (before, now) => now.or(before),
    }
}
