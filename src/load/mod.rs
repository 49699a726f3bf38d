//! Files to a plan: YAML with positions, `$ref`, schema checks, lints, datasets.
//!
//! The way of a file: [`source`] reads it, [`tree`] makes a tree in which every key and value has
//! its place, `kinds` tells what it is, `short` makes short forms long, `infer` completes graders,
//! [`normalise`] gives each key its one spelling, `template` fills variables in, [`schema`] checks the shape; `evals`, `regressions`
//! and `dataset` make cases of it, `suite` a plan. What goes wrong on the way is a
//! [`problem::Problem`]; [`render`] shows problems to people and machines.

#[cfg(test)]
mod agreement_tests;
mod baselines;
mod calibrations;
mod cases;
mod check;
mod contents;
mod dataset;
mod defaults;
mod demands;
mod depends;
mod edit;
mod enclosing;
mod env_file;
mod evals;
mod executors;
mod graders;
#[cfg(test)]
mod hashes_tests;
mod infer;
mod inputs;
mod kinds;
mod languages;
mod literal;
mod metrics;
mod models;
mod names;
pub mod normalise;
mod notify;
mod parts;
mod phases;
mod prices;
#[cfg(test)]
mod prices_tests;
pub mod problem;
mod prompts;
mod reach;
mod refs;
mod regressions;
#[cfg(test)]
mod regressions_tests;
pub mod render;
mod render_pass;
mod request;
pub mod scalar;
pub mod schema;
mod scope;
mod scores;
mod select;
mod session;
mod short;
pub mod source;
pub mod stored;
mod suite;
mod targets;
mod template;
mod thresholds;
pub mod tree;
mod workspace;
pub mod yaml;

pub use calibrations::{parse_calibration, write_calibration};
pub use check::check_files;
pub use dataset::table_rows;
pub use defaults::{DEFAULTS_FILE_NAME, LoadedDefaults, defaults};
pub use depends::files_changed_since_load;
pub(crate) use executors::{ChosenExecutor, choose as choose_executor};
pub(crate) use languages::{DescribedLanguage, described_languages, language_of_executor};
pub use literal::{
    LiteralEdit, WrittenEval, accepted_literal, added_reference, not_rendered, written_grading,
};
pub(crate) use models::AskedModels;
pub use models::cache_folder;
pub use names::{SuiteNames, suite_names};
pub use parts::{PartFilter, part_of_plan};
pub(crate) use phases::absolute_glob;
pub use phases::{AFTER_TESTS_PASS, LoadedPhase, PhaseFileName, PhaseRequest, StepSuite, phase};
pub use problem::{Code, Problem, Problems, Severity};
pub use refs::ReadFiles;
pub(crate) use refs::{lexical, project_root};
pub use request::{
    CaseFilters, CheckRequest, LoadOverrides, LoadRequest, LoadedOverview, LoadedPlan,
    ModelOverrides, PlanPurpose, SuiteOverview,
};
pub(crate) use scope::{SuiteDesk, seconds};
pub use scores::{BrokenDocument, parse_scores, scores_file_name};
pub use source::SourceFiles;
pub(crate) use source::Span;
pub use suite::{load, overview};
pub(crate) use targets::{check_program, check_words};
pub(crate) use template::{environment, to_jinja};
pub use thresholds::too_few_evals;
pub(crate) use tree::{Node, NodeValue};

use crate::spec::SchemaKind;

/// The schema of a kind of file as editors are given it: every spelling is accepted.
pub fn published_schema(kind: SchemaKind) -> serde_json::Value {
    schema::published(&crate::spec::canonical(kind))
}
