//! What commands in this folder use: defaults of arguments, the suite, and where its models are
//! called.

use std::collections::BTreeSet;

use super::findings::{CheckGroup, CheckState, DoctorCheck};
use crate::cli::{CliFailure, defaults, suite};
use crate::load::{AskedModels, DEFAULTS_FILE_NAME};
use crate::model::Endpoint;
use eval_base::text::plural;
use eval_models::{ApiKey, KeySource};

pub(super) fn checks() -> Vec<DoctorCheck> {
    let mut checks = file_of_defaults();
    match suite::suite_path(None) {
        Ok(path) => {
            let shown = path.display().to_string();
            if let Ok(Some(plan)) = suite::listed(path) {
                checks.push(check("suite", CheckState::Ok, &shown));
                let models = AskedModels::of(&plan.evals, plan.target.as_ref()).all();
                checks.extend(addresses(&models));
            } else {
                let fix =
                    format!("it does not load: `eval-harness validate --suite {shown}` shows why");
                checks.push(check("suite", CheckState::Limited, &shown).fix(fix));
            }
        }
        Err(CliFailure { message, .. }) => {
            checks.push(check("suite", CheckState::Unused, &message));
        }
    }
    checks
}

fn check(name: &str, state: CheckState, value: &str) -> DoctorCheck {
    DoctorCheck::new(CheckGroup::Configuration, name, state, value)
}

/// The file and the values that come from it.
fn file_of_defaults() -> Vec<DoctorCheck> {
    let Some(found) = defaults::found() else {
        return vec![check(
            DEFAULTS_FILE_NAME,
            CheckState::Unused,
            "no file here or above",
        )];
    };
    let path = Some(found.loaded.path.display().to_string());
    let errors = found.loaded.problems.error_count();
    if errors > 0 {
        let broken = check(
            DEFAULTS_FILE_NAME,
            CheckState::Missing,
            &plural(errors, "problem"),
        );
        let fix = format!(
            "`eval-harness validate {}` shows them",
            found.loaded.path.display()
        );
        return vec![DoctorCheck {
            path,
            ..broken.fix(fix)
        }];
    }
    let set = found.values().count();
    let file = check(DEFAULTS_FILE_NAME, CheckState::Ok, &plural(set, "default"));
    let mut checks = vec![DoctorCheck { path, ..file }];
    checks.extend(found.values().map(|value| {
        let name = format!("{} (default)", value.key);
        check(&name, CheckState::Ok, &value.texts.join(", "))
    }));
    checks
}

/// Each model of the suite, its address and the source of its key.
fn addresses(models: &[&Endpoint]) -> Vec<DoctorCheck> {
    let mut seen = BTreeSet::new();
    let mut checks = Vec::new();
    for endpoint in models {
        let mut value = endpoint.shown_address();
        if let Some(variable) = &endpoint.address_variable {
            value.push_str(&format!(" (from {variable})"));
        }
        let mut state = CheckState::Ok;
        if let Some(key) = &endpoint.key {
            value.push_str(&format!(", key from {}", key.source));
            if let Some(missing) = missing(key) {
                state = CheckState::Limited;
                value.push_str(&format!(", which {missing}"));
            }
        }
        if seen.insert((endpoint.name(), value.clone())) {
            checks.push(check(&endpoint.name(), state, &value));
        }
    }
    checks
}

/// Why there is no key, as far as that is known without running its command.
fn missing(key: &ApiKey) -> Option<&'static str> {
    match &key.source {
        KeySource::Variable(_) => key.value.get().is_none().then_some("is not set"),
        KeySource::File(path) => (!path.is_file()).then_some("does not exist"),
        KeySource::Command { .. } => None,
    }
}
