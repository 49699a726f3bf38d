//! From grades to one verdict, in three values.
//!
//! An errored, pending or unasked grade may still have been a pass or a failure. The verdict is
//! passed or failed only if it would be the same whatever those had said.

use crate::model::{CaseGrading, Cause, Combine, Grade, Grader, GraderType, Outcome, Verdict};
use eval_stats::reaches;

/// What is certain of a list of grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CombineDecision {
    Passed,
    Failed,
    Open,
}

/// A grader's weight and its grade; `None` for one that was not asked.
pub(super) type WeightedGrade<'a> = (f64, Option<&'a Grade>);

/// Decides by what is known.
pub(super) fn decide(combine: Combine, grades: &[WeightedGrade]) -> CombineDecision {
    let count = |outcome: Outcome| {
        grades
            .iter()
            .filter(|(_, g)| g.is_some_and(|g| g.outcome == outcome))
            .count()
    };
    let (passed, failed) = (count(Outcome::Passed), count(Outcome::Failed));
    let open = grades.len() - passed - failed;
    let at_least = |n: usize| {
        if passed >= n {
            CombineDecision::Passed
        } else if passed + open < n {
            CombineDecision::Failed
        } else {
            CombineDecision::Open
        }
    };
    match combine {
        Combine::All => at_least(grades.len().max(1)),
        Combine::Any => at_least(1),
        Combine::AtLeast { n } => at_least(n.max(1)),
        Combine::Weighted { pass_threshold } => {
            let (lowest, highest) = weighted_bounds(grades);
            if reaches(lowest, pass_threshold) {
                CombineDecision::Passed
            } else if !reaches(highest, pass_threshold) {
                CombineDecision::Failed
            } else {
                CombineDecision::Open
            }
        }
    }
}

/// The weighted mean if all that is not known had scored 0, and if it had scored 1.
fn weighted_bounds(grades: &[WeightedGrade]) -> (f64, f64) {
    let total: f64 = grades.iter().map(|(weight, _)| weight).sum();
    if total <= 0.0 {
        return (0.0, 1.0);
    }
    let with = |unknown: f64| {
        let sum: f64 = grades
            .iter()
            .map(|(w, g)| w * g.and_then(known_score).unwrap_or(unknown))
            .sum();
        (sum / total).clamp(0.0, 1.0)
    };
    (with(0.0), with(1.0))
}

/// The score over all grades.
pub(super) fn combined_score(combine: Combine, grades: &[WeightedGrade]) -> f64 {
    let known = || {
        grades
            .iter()
            .filter_map(|(_, grade)| grade.and_then(known_score))
    };
    match combine {
        Combine::All => known().fold(1.0, f64::min),
        Combine::Any => known().fold(0.0, f64::max),
        Combine::Weighted { .. } | Combine::AtLeast { .. } => weighted_bounds(grades).0,
    }
}

fn known_score(grade: &Grade) -> Option<f64> {
    grade
        .outcome
        .is_graded()
        .then(|| grade.score.unwrap_or(0.0))
}

/// The verdict over all grades, in the order written.
///
/// Scores: the lowest for `all`, the highest for `any`, the weighted mean otherwise, in which what
/// is not known counts 0.
pub(super) fn combine(combine: Combine, weights: &[f64], grades: Vec<Option<Grade>>) -> Verdict {
    let paired: Vec<WeightedGrade> = grades
        .iter()
        .enumerate()
        .map(|(i, g)| (weights.get(i).copied().unwrap_or(1.0), g.as_ref()))
        .collect();
    let decision = decide(combine, &paired);
    let score = combined_score(combine, &paired);
    let first = |outcome: Outcome| grades.iter().flatten().find(|g| g.outcome == outcome);
    let (outcome, cause, reason) = match decision {
        CombineDecision::Passed => {
            let reason = match grades.as_slice() {
                [Some(only)] => only.reason.clone(),
                _ => String::new(),
            };
            (Outcome::Passed, None, reason)
        }
        CombineDecision::Failed => {
            let decisive = first(Outcome::Failed);
            let cause = match combine {
                Combine::Weighted { .. } if grades.len() > 1 => Some(Cause::Threshold),
                // Without a failed grade: what passed has too low a score, or there are fewer
                // graders than must pass.
                _ => decisive.and_then(|g| g.cause).or(Some(Cause::Threshold)),
            };
            (
                Outcome::Failed,
                cause,
                failure_reason(combine, &paired, decisive),
            )
        }
        CombineDecision::Open => match first(Outcome::Errored).or(first(Outcome::Pending)) {
            Some(grade) => (
                grade.outcome,
                grade.cause,
                named_reason(grade, grades.len()),
            ),
            None => (
                Outcome::Errored,
                Some(Cause::Harness),
                "the weights of the graders can't decide the verdict".to_owned(),
            ),
        },
    };
    let score = outcome.is_graded().then_some(score);
    Verdict {
        outcome,
        score,
        cause,
        reason,
        grades: grades.into_iter().flatten().collect(),
        not_run: Vec::new(),
    }
}

fn failure_reason(combine: Combine, grades: &[WeightedGrade], decisive: Option<&Grade>) -> String {
    let why = decisive
        .map(|g| named_reason(g, grades.len()))
        .unwrap_or_default();
    let then_why = if why.is_empty() {
        String::new()
    } else {
        format!("; {why}")
    };
    let passed = grades
        .iter()
        .filter(|(_, g)| g.is_some_and(|g| g.outcome == Outcome::Passed))
        .count();
    match combine {
        _ if grades.len() == 1 && decisive.is_some() => why,
        Combine::All => why,
        Combine::Any => format!("none of {} graders passed{then_why}", grades.len()),
        Combine::AtLeast { n } => {
            format!(
                "{passed} of {} graders passed, {n} needed{then_why}",
                grades.len()
            )
        }
        Combine::Weighted { pass_threshold } => {
            let (_, highest) = weighted_bounds(grades);
            format!(
                "the weighted score {} is below {pass_threshold}{then_why}",
                (highest * 1e4).round() / 1e4
            )
        }
    }
}

fn named_reason(grade: &Grade, graders: usize) -> String {
    if graders == 1 {
        return grade.reason.clone();
    }
    format!(
        "{}: {}",
        grade.grader.as_deref().unwrap_or(&grade.method),
        grade.reason
    )
}

/// Passed and failed change places, the score with them; what is not known stays unknown. A failure
/// that says nothing of what was asked (no code, an exception, a time-out, a forged verdict) stays
/// a failure: the opposite of it was not shown either.
pub(super) fn negate(grade: Grade) -> Grade {
    let judged = |cause: &Cause| matches!(cause, Cause::WrongAnswer | Cause::Threshold);
    if grade.outcome == Outcome::Failed && !grade.cause.as_ref().is_some_and(judged) {
        return Grade {
            reason: format!("{} (negating it does not make it pass)", grade.reason),
            ..grade
        };
    }
    let score = grade.score.map(|s| 1.0 - s);
    match grade.outcome {
        Outcome::Passed => Grade {
            outcome: Outcome::Failed,
            score,
            negated: true,
            cause: Some(Cause::WrongAnswer),
            reason: "negated: the output passes a check that it must fail".to_owned(),
            ..grade
        },
        Outcome::Failed => Grade {
            outcome: Outcome::Passed,
            score,
            negated: true,
            cause: None,
            reason: format!("negated: {}", grade.reason),
            ..grade
        },
        _ => grade,
    }
}

/// The graders whose verdicts count, with their places.
fn deciding(grading: &CaseGrading) -> impl Iterator<Item = (usize, &Grader)> {
    grading
        .graders
        .iter()
        .enumerate()
        .filter(|(_, grader)| !grader.informative)
}

/// Whether the verdict is decided, whatever the graders say that have not run. People are not
/// counted: where a model and a person grade an output, both do.
pub(super) fn stands(grading: &CaseGrading, grades: &[Option<Grade>]) -> bool {
    let known: Vec<(f64, Option<&Grade>)> = deciding(grading)
        .map(|(index, grader)| {
            let grade = grades.get(index).and_then(Option::as_ref);
            let grade = grade.filter(|grade| grade.grader_type != GraderType::Human);
            (grader.weight, grade)
        })
        .collect();
    matches!(grading.combine, Combine::All | Combine::Any)
        && decide(grading.combine, &known) != CombineDecision::Open
}

/// The verdict over the grades of a case's graders, in their order; `None` for those that did not
/// run.
pub(super) fn joined(grading: &CaseGrading, grades: Vec<Option<Grade>>) -> Verdict {
    let weights: Vec<f64> = deciding(grading).map(|(_, grader)| grader.weight).collect();
    let known = deciding(grading)
        .map(|(index, _)| grades.get(index).cloned().flatten())
        .collect();
    let verdict = combine(grading.combine, &weights, known);
    let left_out = grading.graders.iter().zip(&grades);
    let left_out = left_out.filter(|(_, grade)| grade.is_none());
    let not_run = left_out.map(|(grader, _)| grader.shown_name().to_owned());
    Verdict {
        not_run: not_run.collect(),
        grades: grades.into_iter().flatten().collect(),
        ..verdict
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed() -> Grade {
        Grade::passed(GraderType::Code, "exact_match")
    }

    fn failed(reason: &str) -> Grade {
        Grade::failed(GraderType::Code, "contains", Cause::WrongAnswer, reason)
    }

    fn errored() -> Grade {
        Grade::errored(
            GraderType::Model,
            "model",
            Cause::JudgeUnreachable,
            "no judge",
        )
    }

    fn pending() -> Grade {
        Grade::pending(GraderType::Human, "human", "waits for a person")
    }

    fn told(how: Combine, weights: &[f64], grades: &[Grade]) -> String {
        let v = combine(how, weights, grades.iter().cloned().map(Some).collect());
        let score = v.score.map_or("-".into(), |s| s.to_string());
        format!(
            "{} {score} {} {}",
            v.outcome,
            v.cause.map_or("-", Cause::name),
            v.reason
        )
        .trim_end()
        .to_owned()
    }

    #[test]
    fn verdicts_read_well() {
        let at_least = Combine::AtLeast { n: 2 };
        let weighted = Combine::Weighted {
            pass_threshold: 0.7,
        };
        let one = [1.0; 3];
        let lines = [
            told(Combine::All, &one, &[passed()]),
            told(Combine::All, &one, &[failed("no")]),
            told(Combine::All, &one, &[passed(), failed("no"), errored()]),
            told(Combine::All, &one, &[passed(), errored(), pending()]),
            told(Combine::All, &one, &[passed(), pending()]),
            told(Combine::Any, &one, &[errored(), passed()]),
            told(Combine::Any, &one, &[failed("a"), failed("b")]),
            told(Combine::Any, &one, &[failed("a"), pending()]),
            told(at_least, &one, &[passed(), failed("a"), failed("b")]),
            told(at_least, &one, &[passed(), passed(), errored()]),
            told(weighted, &[7.0, 3.0], &[passed(), failed("a")]),
            told(
                weighted,
                &[0.7, 0.1, 0.2],
                &[passed(), errored(), failed("x")],
            ),
            told(weighted, &[6.0, 4.0], &[passed(), failed("a")]),
            told(weighted, &[0.0, 0.0], &[passed(), failed("a")]),
            told(weighted, &[1.0], &[passed().with_score(0.3)]),
            told(at_least, &[1.0], &[passed()]),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r##"
        passed 1 -
        failed 0 wrong_answer no
        failed 0 wrong_answer contains: no
        errored - judge_unreachable model: no judge
        pending - - human: waits for a person
        passed 1 -
        failed 0 wrong_answer none of 2 graders passed; contains: a
        pending - - human: waits for a person
        failed 0.3333333333333333 wrong_answer 1 of 3 graders passed, 2 needed; contains: a
        passed 0.6666666666666666 -
        passed 0.7 -
        passed 0.7 -
        failed 0.6 threshold the weighted score 0.6 is below 0.7; contains: a
        errored - harness the weights of the graders can't decide the verdict
        failed 0.3 threshold the weighted score 0.3 is below 0.7
        failed 1 threshold 1 of 1 graders passed, 2 needed
        "##);
    }

    #[test]
    fn negation_swaps_what_is_known() {
        let n = negate(passed());
        assert_eq!(
            (n.outcome, n.score, n.cause),
            (Outcome::Failed, Some(0.0), Some(Cause::WrongAnswer))
        );
        let n = negate(failed("x").with_score(0.25));
        assert_eq!(
            (n.outcome, n.score, n.cause),
            (Outcome::Passed, Some(0.75), None)
        );
        assert_eq!(n.reason, "negated: x");
        assert_eq!(negate(errored()), errored());
        assert_eq!(negate(pending()), pending());
    }

    #[test]
    fn what_was_not_judged_does_not_pass_by_negation() {
        for cause in [
            Cause::NoCode,
            Cause::Forged,
            Cause::SandboxViolation,
            Cause::SyntaxError,
            Cause::Exited,
        ] {
            let n = negate(Grade::failed(
                GraderType::Code,
                "code_execution",
                cause,
                "why",
            ));
            assert_eq!(
                (n.outcome, n.score, n.cause),
                (Outcome::Failed, Some(0.0), Some(cause))
            );
            assert_eq!(n.reason, "why (negating it does not make it pass)");
        }
    }

    fn any_combine() -> impl Strategy<Value = Combine> {
        prop_oneof![
            Just(Combine::All),
            Just(Combine::Any),
            (0..6usize).prop_map(|n| Combine::AtLeast { n }),
            (0..=20u32).prop_map(|t| Combine::Weighted {
                pass_threshold: f64::from(t) / 20.0
            }),
        ]
    }

    /// The verdict when everything is known, by the definitions and nothing else.
    fn naive(how: Combine, weights: &[f64], passes: &[bool]) -> bool {
        let n_passed = passes.iter().filter(|p| **p).count();
        match how {
            Combine::All => passes.iter().all(|p| *p),
            Combine::Any => passes.iter().any(|p| *p),
            Combine::AtLeast { n } => n_passed >= n.max(1),
            Combine::Weighted { pass_threshold } => {
                let total: f64 = weights.iter().sum();
                let sum: f64 = weights
                    .iter()
                    .zip(passes)
                    .map(|(w, p)| if *p { *w } else { 0.0 })
                    .sum();
                sum / total >= pass_threshold - 1e-9
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn decided_exactly_when_all_completions_agree(
            how in any_combine(),
            parts in prop::collection::vec((1..5u32, 0..5u8), 1..7),
        ) {
            let weights: Vec<f64> = parts.iter().map(|(w, _)| f64::from(*w)).collect();
            let grades: Vec<Option<Grade>> = parts
                .iter()
                .map(|(_, kind)| match kind {
                    0 => Some(passed()),
                    1 => Some(failed("f")),
                    2 => Some(errored()),
                    3 => Some(pending()),
                    _ => None,
                })
                .collect();
            let unknown: Vec<usize> = (0..parts.len()).filter(|i| parts[*i].1 > 1).collect();
            let completions: Vec<bool> = (0..1u32 << unknown.len())
                .map(|bits| {
                    let passes: Vec<bool> = (0..parts.len())
                        .map(|i| match unknown.iter().position(|u| *u == i) {
                            Some(at) => bits >> at & 1 == 1,
                            None => parts[i].1 == 0,
                        })
                        .collect();
                    naive(how, &weights, &passes)
                })
                .collect();
            let verdict = combine(how, &weights, grades.clone());
            let expected = match (completions.contains(&true), completions.contains(&false)) {
                (true, false) => Some(Outcome::Passed),
                (false, true) => Some(Outcome::Failed),
                _ => None,
            };
            match expected {
                Some(outcome) => {
                    prop_assert_eq!(verdict.outcome, outcome);
                    let score = verdict.score.unwrap();
                    prop_assert!((0.0..=1.0).contains(&score));
                }
                None => {
                    prop_assert!(!verdict.outcome.is_graded());
                    prop_assert_eq!(verdict.score, None);
                }
            }
            let not_passed = matches!(verdict.outcome, Outcome::Failed | Outcome::Errored);
            prop_assert_eq!(verdict.cause.is_some(), not_passed);
        }
    }
}
