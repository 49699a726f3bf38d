//! How `list` shows judges: who judges, what by, and when it passes.

use serde::Serialize;

use crate::model::{Criterion, Judge, JudgeScoring, PanelRule};
use eval_base::text::{one_line, plural};

/// A judge in the JSON of `list`. The fields are in the order of their names.
#[derive(Serialize)]
pub struct ListedJudge<'a> {
    /// Empty for a verdict over the whole rubric.
    criteria: Vec<ListedCriterion<'a>>,
    models: Vec<String>,
    must_include: &'a [String],
    must_not_include: &'a [String],
    panel: PanelRule,
    /// Share of the scale, in (0, 1].
    pass_threshold: f64,
    /// `numeric`, `categorical` or `boolean`.
    scoring: &'static str,
    /// Of each model.
    votes: u32,
}

#[derive(Serialize)]
struct ListedCriterion<'a> {
    name: &'a str,
    /// Of numeric scoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<[f64; 2]>,
    /// Its share of the score, in [0, 1].
    weight: f64,
}

pub fn listed<'a>(judge: &'a Judge) -> ListedJudge<'a> {
    let criterion = |c: &'a Criterion| ListedCriterion {
        name: &c.name,
        scale: c.scale,
        weight: c.weight,
    };
    ListedJudge {
        criteria: judge.criteria.iter().map(criterion).collect(),
        models: judge
            .models
            .iter()
            .map(|model| model.endpoint.name())
            .collect(),
        must_include: &judge.must_include,
        must_not_include: &judge.must_not_include,
        panel: judge.panel,
        pass_threshold: judge.pass_threshold,
        scoring: kind(&judge.scoring),
        votes: judge.votes,
    }
}

fn kind(scoring: &JudgeScoring) -> &'static str {
    match scoring {
        JudgeScoring::Numeric { .. } => "numeric",
        JudgeScoring::Categorical { .. } => "categorical",
        JudgeScoring::Boolean => "boolean",
    }
}

/// In a line, such as
/// `openai:gpt-4o, 3 votes (median): Clarity 40%, Depth 60%, from 1 to 5; passes at 70%`.
pub fn words(judge: &Judge) -> String {
    let models: Vec<String> = judge
        .models
        .iter()
        .map(|model| one_line(&model.endpoint.name()))
        .collect();
    let mut words = models.join(", ");
    if judge.all_votes() > 1 {
        let rule = match judge.panel {
            PanelRule::Median => "median",
            PanelRule::Mean => "mean",
            PanelRule::Majority => "majority",
        };
        let each = if judge.models.len() > 1 { " each" } else { "" };
        words.push_str(&format!(
            ", {}{each} ({rule})",
            plural(judge.votes as usize, "vote")
        ));
    }
    let mut asked: Vec<String> = match judge.criteria.as_slice() {
        [] => vec!["yes or no".to_owned()],
        [only] => vec![one_line(&only.name)],
        several => several
            .iter()
            .map(|c| format!("{} {}", one_line(&c.name), percent(c.weight)))
            .collect(),
    };
    if let JudgeScoring::Numeric { range: [low, high] } = judge.scoring {
        asked.push(format!("from {low} to {high}"));
    }
    let items = judge.must_include.len() + judge.must_not_include.len();
    if items > 0 {
        asked.push(plural(items, "check"));
    }
    words.push_str(&format!(": {}", asked.join(", ")));
    if !judge.criteria.is_empty() {
        words.push_str(&format!("; passes at {}", percent(judge.pass_threshold)));
    }
    words
}

/// To a tenth of a percent, without a zero behind the point.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1000.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    #[test]
    fn a_judge_is_told_in_a_line_and_listed_whole() {
        let one = testing::judge();
        let mut several = Judge {
            votes: 3,
            panel: PanelRule::Mean,
            must_include: vec!["x".to_owned()],
            ..one.clone()
        };
        several.models.push(several.models[0].clone());
        several.criteria = [("A", 1.0 / 3.0), ("B", 2.0 / 3.0)]
            .map(|(name, weight)| Criterion {
                name: name.to_owned(),
                weight,
                ..one.criteria[0].clone()
            })
            .to_vec();
        let verdict = Judge {
            criteria: Vec::new(),
            scoring: JudgeScoring::Boolean,
            pass_threshold: 1.0,
            ..one.clone()
        };
        insta::assert_snapshot!([&one, &several, &verdict].map(words).join("\n"), @"
        openai:m: clarity, from 1 to 5; passes at 70%
        openai:m, openai:m, 3 votes each (mean): A 33.3%, B 66.7%, from 1 to 5, 1 check; passes at 70%
        openai:m: yes or no
        ");
        insta::assert_snapshot!(serde_json::to_string(&listed(&several)).unwrap(), @r#"{"criteria":[{"name":"A","scale":[1.0,5.0],"weight":0.3333333333333333},{"name":"B","scale":[1.0,5.0],"weight":0.6666666666666666}],"models":["openai:m","openai:m"],"must_include":["x"],"must_not_include":[],"panel":"mean","pass_threshold":0.7,"scoring":"numeric","votes":3}"#);
    }
}
