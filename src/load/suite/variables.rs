//! What templates of a suite may name: its variables, those of the command line, the environment that it lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Loader;
use crate::load::template::Scope;
use crate::load::tree::Node;

impl Loader<'_> {
    /// The variables of the suite and the command line, and the environment that the suite lists.
    pub(super) fn templates(&mut self, node: &Node) -> Scope {
        let suite = node.get("eval_suite");
        let entries = suite.and_then(|s| s.get("vars")).and_then(Node::as_map).unwrap_or(&[]);
        let mut vars: BTreeMap<String, Value> =
            entries.iter().map(|(key, value)| (key.name.to_string(), value.to_json())).collect();
        for (name, text) in &self.request.overrides.vars {
            let value = like(vars.get(name), text);
            vars.insert(name.clone(), value);
        }
        let listed = suite.and_then(|s| s.get("env")).and_then(Node::as_seq).unwrap_or(&[]);
        let env_listed: BTreeSet<String> =
            listed.iter().filter_map(Node::as_text).map(str::to_owned).collect();
        let env: BTreeMap<String, String> = env_listed
            .iter()
            .filter_map(|name| self.request.env.get(name).map(|value| (name.clone(), value.clone())))
            .collect();
        // Where the user stands is no secret, and paths say what is wrong.
        let here = |value: &str| self.request.cwd.starts_with(value);
        self.session.problems.hide(env.values().filter(|value| !here(value)).cloned());
        Scope { vars, env, env_listed, open: false }
    }
}

/// A command-line text as a value of the kind that the suite gave the variable, when it reads as one.
fn like(present: Option<&Value>, text: &str) -> Value {
    let parsed = serde_json::from_str::<Value>(text).ok();
    match (present, parsed) {
        (Some(Value::Number(_)), Some(number @ Value::Number(_))) => number,
        (Some(Value::Bool(_)), Some(truth @ Value::Bool(_))) => truth,
        (Some(Value::Array(_)), Some(list @ Value::Array(_))) => list,
        (Some(Value::Object(_)), Some(map @ Value::Object(_))) => map,
        _ => Value::String(text.to_owned()),
    }
}
