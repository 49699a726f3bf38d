//! `executors:` of a suite: languages that are not built in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RefOr;

/// Commands and limits to compile and run programs of a language.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorSpec {
    /// Name of the file that the program is written to, such as `main.c`.
    #[schemars(length(min = 1, max = 255))]
    pub file: String,
    /// Program and arguments that compile the file; omit it if the language needs no such step.
    #[serde(default)]
    pub compile: Vec<String>,
    /// Program and arguments that run the program, such as `[./prog]`. Arguments of a test case are
    /// appended. `{heap_mb}` is replaced by three quarters of the memory limit, for the heap of a
    /// JVM.
    #[schemars(length(min = 1))]
    pub run: Vec<String>,
    /// Languages of the code fences that contain such programs. Default: the executor's name.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Time limit in seconds for the compiler. Default 30.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub compile_timeout_seconds: Option<f64>,
    /// Time limit in seconds for a program, unless the grader sets it. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for a program, unless the grader sets it. Default 256. The limit
    /// of the compiler is 1024, or this if it is higher.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Environment variables for the compiler and the program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Folders outside `/usr` that the compiler or the program reads, such as `/opt/go`. The
    /// sandbox shows them read-only.
    #[serde(default)]
    pub readable: Vec<String>,
    /// A program that compiles and ends with exit code 0 if the language is installed correctly. If
    /// it fails, failed programs count as errors. Known languages have one; an empty text disables
    /// it.
    pub probe: Option<String>,
    /// Installation hint if the language is missing, such as `apt install gcc`.
    pub hint: Option<String>,
}

/// A file with `executors:`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorsFile {
    /// Languages, by the name that graders use in `executor:`.
    pub executors: BTreeMap<String, ExecutorSpec>,
}

/// `executors:` of a suite: the languages, or a reference to a file of them.
pub type SuiteExecutors = RefOr<BTreeMap<String, ExecutorSpec>>;
