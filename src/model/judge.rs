//! Models as judges: what they are asked by, and how what they say becomes a grade.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fingerprint::Fingerprint;
use super::target::ModelTarget;
use crate::spec::words::PanelRule;
use eval_workspace::WorkspacePath;

/// A rubric, who judges by it, and when a grade passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judge {
    /// At least one, no two of the same name; each gives `votes` votes.
    pub models: Vec<ModelTarget>,
    /// Independent votes of each model, at least 1.
    pub votes: u32,
    /// How several votes become one verdict.
    pub panel: PanelRule,
    /// What judges read; empty when the criteria say it all.
    pub rubric: String,
    /// What is scored, each by itself; no two of the same name. Empty when a boolean verdict over
    /// the whole rubric is asked for.
    pub criteria: Vec<Criterion>,
    pub scoring: JudgeScoring,
    /// The share of the scale at which the grade passes, in (0, 1].
    pub pass_threshold: f64,
    /// Outputs with the verdicts that they deserve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<JudgeExample>,
    /// The author's own prompt; `None` is the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What a good output is: an expected value, or a regression's baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Value>,
    /// References that are as good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Value>,
    /// What the output must say, in whatever words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_include: Vec<String>,
    /// What it must not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_not_include: Vec<String>,
    /// Characters of an output, an input or a reference that the judge is shown; of longer ones the
    /// middle is left out.
    pub max_chars: usize,
    /// What the judge sees besides the output.
    #[serde(default, skip_serializing_if = "ShownParts::is_empty")]
    pub shown: ShownParts,
    /// Further requests after an answer that can't be used.
    pub repairs: u32,
    /// The provider is told the form of the answer, where it can be.
    pub structured: bool,
    /// For one try of one call, where the model does not say.
    #[serde(skip)]
    pub timeout: Duration,
}

/// Parts of a sample that a judge sees besides the output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShownParts {
    /// What the target changed, in git's unified format.
    pub diff: bool,
    /// Files as the target left them; no path twice.
    pub files: Vec<WorkspacePath>,
    /// What the agent said and did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trajectory: bool,
}

impl ShownParts {
    pub fn is_empty(&self) -> bool {
        !self.of_workspace() && !self.trajectory
    }

    /// Whether any part is of the workspace.
    pub fn of_workspace(&self) -> bool {
        self.diff || !self.files.is_empty()
    }
}

impl Judge {
    /// The most requests for repair.
    pub const REPAIRS: u32 = 2;
    /// The share of the scale that passes when nobody says.
    pub const PASS_THRESHOLD: f64 = 0.7;
    /// The scale when nobody says.
    pub const RANGE: [f64; 2] = [1.0, 5.0];
    /// Characters that are shown when nobody says.
    pub const MAX_CHARS: usize = 50_000;
    /// Seconds for one call when nobody says.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// The rubric with its criteria, for people.
    pub fn rubric_text(&self) -> String {
        let criteria = self
            .criteria
            .iter()
            .map(|criterion| match criterion.description.as_str() {
                "" => format!("- {}", criterion.name),
                description => format!("- {}: {description}", criterion.name),
            });
        let rubric = Some(self.rubric.trim_end().to_owned()).filter(|text| !text.is_empty());
        let criteria =
            Some(criteria.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty());
        [rubric, criteria]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// Stands for what judges are asked beside their settings; raised when that changes.
    const PROMPT_VERSION: u32 = 1;

    /// What tells judges apart: models with their settings, votes, prompt, rubric, scale and what
    /// they are shown. What a case expects is no part of it, and neither is the address of a model.
    pub fn fingerprint(&self) -> Fingerprint {
        let models: Vec<_> = self
            .models
            .iter()
            .map(|model| {
                let endpoint = &model.endpoint;
                let thoughts = model.keep_thoughts;
                (
                    endpoint.name(),
                    &endpoint.dialect,
                    &model.system,
                    &model.sampling,
                    thoughts,
                )
            })
            .collect();
        Fingerprint::of(&(
            Judge::PROMPT_VERSION,
            models,
            (self.votes, self.panel),
            (&self.rubric, &self.criteria, &self.scoring),
            self.pass_threshold,
            &self.examples,
            &self.prompt,
            (self.max_chars, &self.shown),
            self.structured,
        ))
    }

    /// Votes of all models together.
    pub fn all_votes(&self) -> u64 {
        u64::from(self.votes).saturating_mul(self.models.len() as u64)
    }
}

/// One thing that is scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its share of the score; those of all criteria sum to 1.
    pub weight: f64,
    /// Lowest and highest score, of numeric scoring; the first is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// What points of the scale (or categories) mean.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeScoring {
    /// Each criterion on its own scale; the score is shown on this one.
    Numeric { range: [f64; 2] },
    /// At least two, no two of the same name.
    Categorical { categories: Vec<ScoreCategory> },
    /// Each criterion (or, without any, the whole rubric) is met or not.
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreCategory {
    pub name: String,
    /// In [0, 1].
    pub score: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeExample {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    pub output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// On the scale, one of the categories, or true and false; or an object of them by criterion.
    pub score: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
}

/// A name as names of criteria and categories are told apart: without case, white space, `_`, `-`
/// and `*`.
pub fn folded_name(name: &str) -> String {
    let bare = |c: &char| !c.is_whitespace() && !matches!(c, '_' | '-' | '*');
    name.chars()
        .filter(bare)
        .flat_map(char::to_lowercase)
        .collect()
}
