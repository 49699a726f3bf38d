//! Keys: the environment variables that hold them, and whether a run has those that it needs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::load::problem::{Code, Problem, Problems};
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::model::{ApiKey, Endpoint, Eval, Target, judge_models};

/// Where each variable was named first, for who finds that it is missing.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct KeyPlaces(Arc<Mutex<BTreeMap<String, Span>>>);

impl KeyPlaces {
    fn note(&self, env: &str, at: Span) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(env.to_owned())
            .or_insert(at);
    }

    fn of(&self, env: &str) -> Option<Span> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(env)
            .copied()
    }
}

/// The key that a variable holds. White space around it, such as the line break at the end of a
/// file, is no part of it.
pub(super) fn read(desk: &mut SuiteDesk, env: &str, at: Span) -> Option<ApiKey> {
    let first = env
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !env.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        // Perhaps it is the key itself, so it is not shown.
        let message = "`api_key_env` is no name of an environment variable";
        return desk.refuse(Problem::error(Code::BadFormat, at, message).hint(
            "write the variable's name, such as `OPENAI_API_KEY`; the key itself belongs into the environment, not into a file",
        ));
    }
    let suite = desk.suite;
    suite.key_places.note(env, at);
    let value = suite
        .environment
        .get(env)
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty());
    if let Some(value) = &value {
        if value.chars().any(|c| c.is_control() || !c.is_ascii()) {
            let message = format!(
                "the key in `{env}` can't be sent: it holds a line break, or a character that no key has"
            );
            desk.push_lenient(Problem::error(Code::BadRequest, at, message));
            return None;
        }
        suite.secrets.add([value.clone()]);
    }
    Some(ApiKey {
        env: env.to_owned(),
        value,
    })
}

/// Refuses a run that would need a key which is not there. Recorded answers need none.
pub(in crate::load) fn check_keys(
    asked: &[&Endpoint],
    places: &KeyPlaces,
    problems: &mut Problems,
) {
    for endpoint in asked {
        let Some(ApiKey { env, value: None }) = &endpoint.key else {
            continue;
        };
        if endpoint.replay.is_some() {
            continue;
        }
        let message = format!(
            "{} needs a key, and the environment variable `{env}` is not set",
            endpoint.name()
        );
        let problem = Problem::error(Code::NoApiKey, places.of(env), message);
        problems.push(problem.hint(format!(
            "set `{env}`, or answer without the network: `--replay DIR` with recordings, `--cache only` with a cache"
        )));
    }
}

/// Every model that may be asked: those that give outputs to the cases of these evals, and those
/// that judge them.
pub(in crate::load) struct AskedModels<'a> {
    pub targets: Vec<&'a Endpoint>,
    pub judges: Vec<&'a Endpoint>,
}

impl<'a> AskedModels<'a> {
    pub fn of(evals: &'a [Arc<Eval>], target: Option<&'a Target>) -> AskedModels<'a> {
        let profiles = || evals.iter().flat_map(|eval| eval.cases.profiles());
        let main = target.filter(|_| profiles().any(|profile| profile.target.is_none()));
        let own = profiles().filter_map(|profile| profile.target.as_ref());
        let targets = main
            .into_iter()
            .chain(own)
            .filter_map(|target| match target {
                Target::Model(model) => Some(&model.endpoint),
                _ => None,
            });
        let judges = judge_models(evals).into_iter().map(|model| &model.endpoint);
        AskedModels {
            targets: targets.collect(),
            judges: judges.collect(),
        }
    }

    /// Both, the targets first.
    pub fn all(&self) -> Vec<&'a Endpoint> {
        self.targets.iter().chain(&self.judges).copied().collect()
    }

    /// The most calls that one of them may have in flight; `None` when nobody is asked.
    pub fn most_at_once(&self) -> Option<usize> {
        self.all()
            .iter()
            .map(|endpoint| endpoint.limits.max_concurrency)
            .max()
    }
}
