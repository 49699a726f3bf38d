//! One answer that a case is checked with, and what its verdict means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::OutputValue;
pub use crate::model::ProbeKind;

/// What it means when a probe passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProbeMeaning {
    Reference,
    ReferenceAgain,
    /// An answer without content.
    Null,
    /// A program that defines nothing and does nothing.
    EmptyProgram,
    /// A function that raises whenever it is called.
    Raises,
    /// A function that returns nothing of use.
    ReturnsNothing,
    /// The expected value of the first test, whatever the input is.
    Constant,
    Cheat,
    Injection,
}

impl ProbeMeaning {
    pub fn kind(self) -> ProbeKind {
        match self {
            ProbeMeaning::Reference => ProbeKind::Reference,
            ProbeMeaning::ReferenceAgain => ProbeKind::ReferenceAgain,
            ProbeMeaning::Null
            | ProbeMeaning::EmptyProgram
            | ProbeMeaning::Raises
            | ProbeMeaning::ReturnsNothing => ProbeKind::Null,
            ProbeMeaning::Constant | ProbeMeaning::Cheat => ProbeKind::Cheat,
            ProbeMeaning::Injection => ProbeKind::Injection,
        }
    }
}

/// What a probe is, which decides what a failure of it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeForm {
    Text,
    /// It shows something only if it compiles.
    Program,
    /// It shows something only if it compiles and the tests call its function.
    Function,
}

/// What the fold knows of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeLabel {
    pub meaning: ProbeMeaning,
    pub form: ProbeForm,
    /// The name in reports, such as `sys.exit(0) at import`.
    pub name: &'static str,
}

/// A probe with its output.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub label: ProbeLabel,
    pub output: OutputValue,
    /// The file or folder of the work that goes with it, relative to the file of probes.
    pub work: Option<String>,
}

impl Probe {
    pub fn new(meaning: ProbeMeaning, name: &'static str, output: OutputValue) -> Probe {
        Probe {
            label: ProbeLabel {
                meaning,
                form: ProbeForm::Text,
                name,
            },
            output,
            work: None,
        }
    }

    pub fn text(meaning: ProbeMeaning, name: &'static str, text: impl Into<String>) -> Probe {
        Probe::new(meaning, name, OutputValue::Text(text.into()))
    }

    /// A whole program.
    pub fn program(meaning: ProbeMeaning, name: &'static str, code: impl Into<String>) -> Probe {
        let probe = Probe::new(meaning, name, OutputValue::Program(code.into()));
        match meaning {
            // That tests need more than nothing is a result, whatever the compiler says.
            ProbeMeaning::EmptyProgram => probe,
            _ => probe.formed(ProbeForm::Program),
        }
    }

    /// A program that defines the function which tests call.
    pub fn function(meaning: ProbeMeaning, name: &'static str, code: impl Into<String>) -> Probe {
        Probe::new(meaning, name, OutputValue::Program(code.into())).formed(ProbeForm::Function)
    }

    pub fn formed(mut self, form: ProbeForm) -> Probe {
        self.label.form = form;
        self
    }
}
