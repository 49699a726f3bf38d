//! `executors:` of a suite: languages that the program does not know by itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RefOr;

/// How programs of a language are compiled and run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorSpec {
    /// The name of the file that the program is written to, such as `main.c`.
    #[schemars(length(min = 1, max = 255))]
    pub file: String,
    /// Program and arguments that compile it; none when the language needs no such step.
    #[serde(default)]
    pub compile: Vec<String>,
    /// Program and arguments that run it, such as `[./prog]`. Arguments of a test case follow.
    #[schemars(length(min = 1))]
    pub run: Vec<String>,
    /// Languages of code fences that hold such programs. Default: the executor's name.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Seconds for the compiler. Default 30.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub compile_timeout_seconds: Option<f64>,
    /// Seconds for a program, where the grader does not say. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory of a program, where the grader does not say; the compiler gets 1024, or this if it is
    /// more. Default 256.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Environment variables of the compiler and the program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Folders outside of `/usr` that the compiler or the program need to read, such as `/opt/go`.
    /// They are visible in the sandbox, read-only.
    #[serde(default)]
    pub readable: Vec<String>,
    /// A program that must compile and end with exit code 0 where the language is whole: when it
    /// does not, failures of programs are errors. Known languages have one; an empty text is none.
    pub probe: Option<String>,
    /// How to get the language where it is missing, such as `apt install gcc`.
    pub hint: Option<String>,
}

/// A file with `executors:`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorsFile {
    /// Languages by the name that graders write after `executor:`.
    pub executors: BTreeMap<String, ExecutorSpec>,
}

/// `executors:` of a suite: the languages, or a reference to a file of them.
pub type SuiteExecutors = RefOr<BTreeMap<String, ExecutorSpec>>;
