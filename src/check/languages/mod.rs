//! Null answers and cheats as programs, one file for each language.

mod bash;
mod node;
mod others;
mod python;

use serde_json::Value;

use super::probe::Probe;
use crate::model::Executor;

/// What is known of the program that a case wants.
#[derive(Debug, Default)]
pub(super) struct CodeForm<'a> {
    /// The function that tests call; `Class.method` for a method.
    pub function: Option<&'a str>,
    /// The expected value of the first test, as an expression of the language.
    pub constant: Option<String>,
    /// What a whole program must print in its first test.
    pub printed: Option<&'a str>,
    /// The answer continues a text of the case.
    pub has_prefix: bool,
    /// Where the answer is a function in a program of tests: the text that opens the function.
    pub opening: Option<String>,
}

/// Null answers and cheats of a language.
pub(super) fn probes(executor: &Executor, form: &CodeForm<'_>) -> Vec<Probe> {
    match executor {
        Executor::Python => python::probes(form),
        Executor::Javascript | Executor::Typescript => node::probes(form),
        Executor::Bash => bash::probes(form),
        Executor::Sql => others::sql(),
        Executor::Configured(_) => {
            let mut names = vec![executor.name()];
            names.extend(executor.fences());
            others::named(&names, form)
        }
    }
}

/// A JSON value as an expression of a language; `None` where that is not known.
pub(super) fn literal(executor: &Executor, value: &Value) -> Option<String> {
    match executor {
        Executor::Python => Some(python::literal(value)),
        Executor::Javascript | Executor::Typescript => Some(value.to_string()),
        _ => None,
    }
}

/// A text in double quotes, with the escapes of JSON, which the languages here share.
fn json_text(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
