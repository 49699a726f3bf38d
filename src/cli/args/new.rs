//! The arguments of `init` and `new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::FromRunArgs;
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness init             scaffold ./evals
  eval-harness init ../service  scaffold ../service/evals
  eval-harness init --template workspace
                                a command that edits files
  eval-harness init --template agent
                                a coding agent and its model
  eval-harness init --skill     for coding agents:
                                .agents/skills/eval-harness/SKILL.md
  eval-harness init --skill=.claude/skills")]
pub struct InitArgs {
    /// The project folder.
    #[arg(default_value = ".")]
    pub dir: PathBuf,
    /// The suite to write.
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        default_value = "assistant",
        conflicts_with = "skill"
    )]
    pub template: InitTemplate,
    /// Install the skill for coding agents instead of a suite: `eval-harness/SKILL.md` in this
    /// skills folder. Default: `.claude/skills` if `.claude` exists, otherwise `.agents/skills`.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true)]
    pub skill: Option<Option<PathBuf>>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InitTemplate {
    /// Recorded answers of a support assistant.
    Assistant,
    /// A command that edits files in a workspace, judged by hidden tests. Needs Python.
    Workspace,
    /// A coding agent, with recorded answers of its model. Needs Python and the sandbox.
    Agent,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness new capability cap-summary-001
  eval-harness new code cap-slugify           code that must pass asserts
  eval-harness new judge cap-summary-quality  a model grades by a rubric
  eval-harness new dataset cap-capitals       cases from a data file, which is
                                              written, too
  eval-harness new regression reg-users-001 --output evals/regression/users.yaml
  eval-harness new regression --from cap-users-001
                                              a case that passed in the latest
                                              run: its output must not change")]
pub struct NewArgs {
    /// The template.
    #[arg(value_enum)]
    pub kind: NewKind,
    /// The eval's id. With `--from`, the default is `reg-` and the id of the case.
    #[arg(required_unless_present = "from")]
    pub id: Option<String>,
    /// Take the input and the output of this case from a run; the output becomes the baseline. The
    /// file is added to the suite.
    #[arg(long, value_name = "CASE", add = by(NameKind::Cases))]
    pub from: Option<String>,
    #[command(flatten)]
    pub source: FromRunArgs,
    /// The file to write. Default: `evals/regression/<id>.yaml` for regressions, otherwise
    /// `evals/capability/<id>.yaml`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NewKind {
    /// A prompt and what a good answer contains.
    Capability,
    /// A known-good output that must not change.
    Regression,
    /// Code that must pass asserts.
    Code,
    /// An answer that a model grades by a rubric.
    Judge,
    /// Cases from the rows of a data file.
    Dataset,
}
