//! Whether a recorded verdict follows from its own grades: a journal is trusted, and may have been
//! changed by hand.

use super::combine::{CombineDecision, WeightedGrade, combined_score, decide};
use crate::model::{Combine, CombineRule, Grade, Outcome, Verdict};
use eval_stats::reaches;

/// What is wrong with a verdict that says `passed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// It names a cause, which only a failure has.
    Cause,
    /// A grade that passed names a cause.
    GradeCause,
    /// A single judge's score is below the threshold of its grade.
    BelowThreshold,
    /// The grades, combined as the case says, do not pass.
    Grades,
    /// The grades, combined as the case says, have a different score.
    Score,
}

impl Contradiction {
    /// Continues "the sample passed, but ".
    pub fn words(self) -> &'static str {
        match self {
            Contradiction::Cause => "its verdict has a failure cause",
            Contradiction::GradeCause => "a grade that passed has a failure cause",
            Contradiction::BelowThreshold => "a grade that passed has a score below its threshold",
            Contradiction::Grades => "its grades do not pass",
            Contradiction::Score => "its score does not match its grades",
        }
    }
}

/// Decides again by the rules that made the verdict. Verdicts other than `passed` are not checked:
/// nothing is gained by them. Without a `rule` all grades must pass.
pub fn contradiction(verdict: &Verdict, rule: Option<&CombineRule>) -> Option<Contradiction> {
    if verdict.outcome != Outcome::Passed {
        return None;
    }
    if verdict.cause.is_some() {
        return Some(Contradiction::Cause);
    }
    if rule.is_none() && is_single_pass(verdict) {
        return None;
    }
    let deciding: Vec<&Grade> = verdict
        .grades
        .iter()
        .filter(|grade| !grade.informative)
        .collect();
    let passed = || {
        deciding
            .iter()
            .filter(|grade| grade.outcome == Outcome::Passed)
    };
    if passed().any(|grade| grade.cause.is_some()) {
        return Some(Contradiction::GradeCause);
    }
    let (how, weights) = rule.map_or((Combine::All, &[][..]), |rule| {
        (rule.how, rule.weights.as_slice())
    });
    if passed().any(|grade| is_below_threshold(grade)) {
        return Some(Contradiction::BelowThreshold);
    }
    // With `all` and `any` grades that were not needed are absent, and weights mean nothing.
    // Otherwise a part of the grades decides nothing.
    let all_there = weights.len() == deciding.len();
    if deciding.is_empty() || !all_there && !matches!(how, Combine::All | Combine::Any) {
        return None;
    }
    let weight = |at: usize| weights.get(at).copied().unwrap_or(1.0);
    let graded: Vec<WeightedGrade> = deciding
        .iter()
        .enumerate()
        .map(|(at, grade)| (weight(at), Some(*grade)))
        .collect();
    if decide(how, &graded) != CombineDecision::Passed {
        return Some(Contradiction::Grades);
    }
    let score = combined_score(how, &graded);
    let differs = verdict
        .score
        .is_some_and(|said| (said - score).abs() > 1e-6);
    differs.then_some(Contradiction::Score)
}

/// Nearly all verdicts that pass: no more has to be looked at.
fn is_single_pass(verdict: &Verdict) -> bool {
    let [grade] = verdict.grades.as_slice() else {
        return false;
    };
    let is_plain = grade.outcome == Outcome::Passed && grade.cause.is_none() && !grade.informative;
    is_plain && grade.score == Some(1.0) && verdict.score == Some(1.0)
}

/// Of one vote the score is what decides. A grade that was negated has the opposite score.
fn is_below_threshold(grade: &Grade) -> bool {
    let Some(judged) = grade
        .judged
        .as_deref()
        .filter(|judged| judged.votes.len() == 1)
    else {
        return false;
    };
    // Without criteria nothing but the vote itself counts, and journals of counts hold no
    // thresholds.
    let counts = judged.pass_threshold > 0.0 && !judged.criteria.is_empty();
    counts
        && !grade.negated
        && grade
            .score
            .is_some_and(|score| !reaches(score, judged.pass_threshold))
}

#[cfg(test)]
mod tests {
    use super::super::combine::combine;
    use super::*;
    use crate::model::testing::judged;
    use crate::model::{Cause, GraderType, Judged};

    fn passed() -> Grade {
        Grade::passed(GraderType::Code, "exact_match")
    }

    fn failed() -> Grade {
        Grade::failed(GraderType::Code, "contains", Cause::WrongAnswer, "no")
    }

    fn errored() -> Grade {
        Grade::errored(
            GraderType::Model,
            "model",
            Cause::JudgeUnreachable,
            "no judge",
        )
    }

    fn rules() -> Vec<CombineRule> {
        [
            Combine::All,
            Combine::Any,
            Combine::AtLeast { n: 2 },
            Combine::Weighted {
                pass_threshold: 0.6,
            },
        ]
        .map(|how| CombineRule {
            how,
            weights: vec![1.0, 2.0, 3.0],
        })
        .to_vec()
    }

    #[test]
    fn verdicts_as_they_are_made_contradict_nothing() {
        let grades = [passed(), failed(), errored(), passed().with_score(0.7)];
        for rule in rules() {
            for code in 0..grades.len().pow(3) {
                let picked = [code % 4, code / 4 % 4, code / 16].map(|at| grades[at].clone());
                let verdict = combine(
                    rule.how,
                    &rule.weights,
                    picked.into_iter().map(Some).collect(),
                );
                assert_eq!(
                    contradiction(&verdict, Some(&rule)),
                    None,
                    "{rule:?} {verdict:?}"
                );
            }
        }
    }

    #[test]
    fn a_failure_that_was_made_a_pass_contradicts_its_grades() {
        for rule in rules() {
            let grades = vec![
                Some(failed()),
                Some(failed()),
                Some(failed().with_score(0.5)),
            ];
            let verdict = combine(rule.how, &rule.weights, grades);
            let changed = Verdict {
                outcome: Outcome::Passed,
                ..verdict.clone()
            };
            assert_eq!(
                contradiction(&changed, Some(&rule)),
                Some(Contradiction::Cause)
            );
            let changed = Verdict {
                cause: None,
                ..changed
            };
            assert_eq!(
                contradiction(&changed, Some(&rule)),
                Some(Contradiction::Grades)
            );
            let mut changed = changed;
            changed
                .grades
                .iter_mut()
                .for_each(|grade| grade.outcome = Outcome::Passed);
            assert_eq!(
                contradiction(&changed, Some(&rule)),
                Some(Contradiction::GradeCause)
            );
            changed.score = Some(0.9);
            changed
                .grades
                .iter_mut()
                .for_each(|grade| grade.cause = None);
            let weighted = matches!(rule.how, Combine::Weighted { .. });
            let expected = if weighted {
                Contradiction::Grades
            } else {
                Contradiction::Score
            };
            assert_eq!(
                contradiction(&changed, Some(&rule)),
                Some(expected),
                "{rule:?}"
            );
        }
    }

    #[test]
    fn informative_grades_and_grades_that_were_not_needed_decide_nothing() {
        let shown = Grade {
            informative: true,
            ..failed()
        };
        let verdict = Verdict {
            outcome: Outcome::Passed,
            score: Some(1.0),
            cause: None,
            reason: String::new(),
            grades: vec![shown, passed()],
            not_run: Vec::new(),
        };
        let any = CombineRule {
            how: Combine::Any,
            weights: vec![1.0; 3],
        };
        assert_eq!(contradiction(&verdict, Some(&any)), None);
        assert_eq!(contradiction(&verdict, None), None);
        let two = CombineRule {
            how: Combine::AtLeast { n: 2 },
            weights: vec![1.0; 3],
        };
        assert_eq!(contradiction(&verdict, Some(&two)), None);
        assert_eq!(
            contradiction(
                &Verdict {
                    grades: Vec::new(),
                    ..verdict
                },
                Some(&two)
            ),
            None
        );
    }

    #[test]
    fn without_a_rule_all_grades_must_pass() {
        let grades = vec![failed(), passed()];
        let verdict = Verdict {
            outcome: Outcome::Passed,
            score: Some(1.0),
            cause: None,
            reason: String::new(),
            grades,
            not_run: Vec::new(),
        };
        assert_eq!(contradiction(&verdict, None), Some(Contradiction::Grades));
        let named = Verdict {
            cause: Some(Cause::WrongAnswer),
            ..verdict
        };
        assert_eq!(contradiction(&named, None), Some(Contradiction::Cause));
    }

    #[test]
    fn a_negated_judge_below_its_threshold_contradicts_nothing() {
        let judged = Judged {
            pass_threshold: 0.7,
            ..judged()
        };
        let mut grade = passed().with_score(0.4);
        grade.judged = Some(Box::new(judged));
        let verdict = |grade: &Grade| Verdict {
            outcome: Outcome::Passed,
            score: Some(0.4),
            cause: None,
            reason: String::new(),
            grades: vec![grade.clone()],
            not_run: Vec::new(),
        };
        assert_eq!(
            contradiction(&verdict(&grade), None),
            Some(Contradiction::BelowThreshold)
        );
        grade.reason = "negated: said by hand".to_owned();
        assert_eq!(
            contradiction(&verdict(&grade), None),
            Some(Contradiction::BelowThreshold)
        );
        // The reason is left out where the output holds a secret.
        grade.reason = "left out".to_owned();
        grade.negated = true;
        assert_eq!(contradiction(&verdict(&grade), None), None);
    }
}
