//! What the verdicts over the probes of one case say of its tests. Pure.

use super::excuses::CaseExcuses;
use super::fold::{CheckedCase, ProbeVerdict};
use super::probe::{ProbeForm, ProbeLabel, ProbeMeaning};
use crate::model::{Cause, FindingKind, Outcome, ProbeKind};

/// A finding of one case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CaseFinding {
    pub kind: FindingKind,
    /// The names of the probes that show it.
    pub probes: Vec<&'static str>,
    /// One sentence, without a full stop.
    pub reason: String,
    pub excused: Option<String>,
}

impl CaseFinding {
    pub fn new(
        kind: FindingKind,
        probes: Vec<&'static str>,
        reason: impl Into<String>,
    ) -> CaseFinding {
        CaseFinding {
            kind,
            probes,
            reason: reason.into(),
            excused: None,
        }
    }
}

/// The findings of a case; a probe without a verdict did not run.
pub(super) fn findings(
    case: &CheckedCase,
    verdicts: &[Option<ProbeVerdict>],
    excuses: &CaseExcuses,
) -> Vec<CaseFinding> {
    let view = CaseVerdicts {
        case,
        verdicts,
        excuses,
    };
    let mut found = Vec::new();
    let reference = view.reference();
    let kind = reference.as_ref().map(|found| found.kind);
    found.extend(reference);
    // Tests that never call the answer say nothing of other answers.
    if kind == Some(FindingKind::ProvesNothing) {
        return found;
    }
    found.extend(view.unearned());
    found.extend(view.unknown(kind == Some(FindingKind::Unknown)));
    found.extend(view.not_tried());
    found
}

struct CaseVerdicts<'a> {
    case: &'a CheckedCase,
    verdicts: &'a [Option<ProbeVerdict>],
    excuses: &'a CaseExcuses,
}

impl<'a> CaseVerdicts<'a> {
    fn all(&self) -> impl Iterator<Item = (&'a ProbeLabel, Option<&'a ProbeVerdict>)> + use<'a> {
        let verdicts = self.verdicts.iter().map(Option::as_ref);
        self.case.probes.iter().zip(verdicts)
    }

    fn of(&self, meaning: ProbeMeaning) -> Option<(&'a ProbeLabel, Option<&'a ProbeVerdict>)> {
        self.all().find(|(label, _)| label.meaning == meaning)
    }

    /// What is wrong with the reference.
    fn reference(&self) -> Option<CaseFinding> {
        let (label, first) = self.of(ProbeMeaning::Reference)?;
        let again = self.of(ProbeMeaning::ReferenceAgain);
        let mut names = vec![label.name];
        let mut runs = vec![first];
        if let Some((label, verdict)) = again {
            names.push(label.name);
            runs.push(verdict);
        }
        let with = |outcome: Outcome| {
            let mut known = runs.iter().copied().flatten();
            known.find(|verdict| verdict.outcome == outcome)
        };
        let (kind, why) = if let Some(verdict) = with(Outcome::Errored) {
            match verdict.never_called {
                true => (
                    FindingKind::ProvesNothing,
                    "the tests pass without calling the answer".to_owned(),
                ),
                false => (
                    FindingKind::Unknown,
                    format!("the reference could not be graded: {}", verdict.reason),
                ),
            }
        } else if runs.contains(&None) {
            let why = "the reference did not run to its end".to_owned();
            (FindingKind::Unknown, why)
        } else {
            match (with(Outcome::Passed), with(Outcome::Failed)) {
                (Some(_), Some(failed)) => (
                    FindingKind::Flaky,
                    format!("one of two runs of the reference fails: {}", failed.reason),
                ),
                (None, Some(failed)) => (
                    FindingKind::ReferenceFails,
                    format!("the reference fails: {}", failed.reason),
                ),
                (Some(_), None) => return None,
                (None, None) => {
                    let why = "the reference waits for a verdict".to_owned();
                    (FindingKind::Unknown, why)
                }
            }
        };
        // What could not be found out is no fault that somebody knows, and neither is a verdict that
        // changes.
        let excuse = self.excuses.get(label.name);
        Some(CaseFinding {
            excused: excuse
                .filter(|_| kind == FindingKind::ReferenceFails)
                .cloned(),
            ..CaseFinding::new(kind, names, why)
        })
    }

    /// What passes and must not.
    fn unearned(&self) -> Vec<CaseFinding> {
        let passed = self.all().filter(|(label, verdict)| {
            !label.meaning.kind().must_pass()
                && verdict.is_some_and(|verdict| verdict.outcome == Outcome::Passed)
        });
        let (excused, passed): (Vec<&ProbeLabel>, Vec<&ProbeLabel>) = passed
            .map(|(label, _)| label)
            .partition(|label| self.excuses.contains_key(label.name));
        let mut found = self.weaknesses(&passed);
        for label in excused {
            let kind = self.kind_of(label);
            let reason = self.excuses.get(label.name);
            let same = |old: &&mut CaseFinding| old.kind == kind && old.excused.as_ref() == reason;
            match found.iter_mut().find(same) {
                Some(old) => old.probes.push(label.name),
                None => found.push(CaseFinding {
                    excused: reason.cloned(),
                    ..CaseFinding::new(kind, vec![label.name], self.why(kind))
                }),
            }
        }
        found
    }

    /// What one probe shows that passes.
    fn kind_of(&self, label: &ProbeLabel) -> FindingKind {
        match (label.meaning.kind(), label.meaning) {
            _ if self.case.judge.is_some() => FindingKind::JudgeFooled,
            (ProbeKind::Null, _) => FindingKind::NullPasses,
            (_, ProbeMeaning::Constant) if self.case.tests == Some(1) => FindingKind::SingleTest,
            _ => FindingKind::CheatPasses,
        }
    }

    fn why(&self, kind: FindingKind) -> String {
        let why = match kind {
            FindingKind::NullPasses => "an answer without content passes",
            FindingKind::SingleTest => "there is only one test, so its expected value alone passes",
            FindingKind::JudgeFooled => {
                let judge = self.case.judge.as_deref().unwrap_or_default();
                return format!("the judge {judge} passes an answer that does not solve the task");
            }
            _ => "an answer that does not solve the task passes",
        };
        why.to_owned()
    }

    fn weaknesses(&self, passed: &[&ProbeLabel]) -> Vec<CaseFinding> {
        let names = |of: &dyn Fn(&ProbeLabel) -> bool| -> Vec<&'static str> {
            let named = passed.iter().filter(|label| of(label));
            named.map(|label| label.name).collect()
        };
        if self.case.judge.is_none()
            && let Some(why) = self.proves_nothing(passed)
        {
            let all = names(&|_| true);
            return vec![CaseFinding::new(FindingKind::ProvesNothing, all, why)];
        }
        let kinds = [
            FindingKind::JudgeFooled,
            FindingKind::NullPasses,
            FindingKind::CheatPasses,
            FindingKind::SingleTest,
        ];
        let of = |kind| {
            let probes = names(&|label| self.kind_of(label) == kind);
            (!probes.is_empty()).then(|| CaseFinding::new(kind, probes, self.why(kind)))
        };
        kinds.into_iter().filter_map(of).collect()
    }

    /// Why the tests prove nothing at all.
    fn proves_nothing(&self, passed: &[&ProbeLabel]) -> Option<&'static str> {
        let has = |meaning| passed.iter().any(|label| label.meaning == meaning);
        let every = |meaning| {
            let mut made = self.all().filter(|(label, _)| label.meaning == meaning);
            let passes = |(_, verdict): (&ProbeLabel, Option<&ProbeVerdict>)| {
                verdict.is_some_and(|verdict| verdict.outcome == Outcome::Passed)
            };
            has(meaning) && made.all(passes)
        };
        if has(ProbeMeaning::EmptyProgram) {
            return Some("the tests pass for the empty program");
        }
        if has(ProbeMeaning::Raises) {
            return Some("the tests never call the answer, or ignore what it raises");
        }
        every(ProbeMeaning::ReturnsNothing)
            .then_some("the tests assert nothing about what the answer returns")
    }

    fn reference_passed(&self) -> bool {
        let references = self
            .all()
            .filter(|(label, _)| label.meaning.kind().must_pass());
        let verdicts: Vec<_> = references.map(|(_, verdict)| verdict).collect();
        let passed = |verdict: &Option<&ProbeVerdict>| {
            verdict.is_some_and(|verdict| verdict.outcome == Outcome::Passed)
        };
        !verdicts.is_empty() && verdicts.iter().all(passed)
    }

    /// Probes whose verdict could not be found out, where that leaves something open.
    fn unknown(&self, reference_is_unknown: bool) -> Option<CaseFinding> {
        if reference_is_unknown {
            // One finding is enough.
            return None;
        }
        let has_reference = self.reference_passed();
        let open = self.all().filter(|(label, verdict)| {
            !label.meaning.kind().must_pass()
                && match verdict {
                    None => true,
                    Some(verdict) => match verdict.outcome {
                        Outcome::Passed | Outcome::Failed => false,
                        Outcome::Errored => {
                            !verdict.inconclusive && is_open(verdict, has_reference)
                        }
                        Outcome::Skipped | Outcome::Pending => true,
                    },
                }
        });
        let open: Vec<_> = open.collect();
        let (_, first) = open.first()?;
        let why = match first {
            None => "a probe did not run".to_owned(),
            Some(verdict) => format!("a probe could not be graded: {}", verdict.reason),
        };
        let names = open.iter().map(|(label, _)| label.name).collect();
        Some(CaseFinding::new(FindingKind::Unknown, names, why))
    }

    /// No function of the probes was called. One that raises would have been noticed, where there is
    /// one; others may fail before they are called. Where all probes are whole programs: none
    /// compiled.
    fn not_tried(&self) -> Option<CaseFinding> {
        let of_form = |form: ProbeForm| {
            let probes = self
                .all()
                .filter(|(label, _)| label.form == form && !label.meaning.kind().must_pass());
            probes.collect::<Vec<_>>()
        };
        let mut functions = of_form(ProbeForm::Function);
        if functions.is_empty() {
            functions = of_form(ProbeForm::Program);
        }
        let raises = |(label, _): &&(&ProbeLabel, _)| label.meaning == ProbeMeaning::Raises;
        let has_raising = functions.iter().any(|probe| raises(&probe));
        let tried = |(_, verdict): &(_, Option<&ProbeVerdict>)| {
            verdict.is_none_or(|verdict| !verdict.inconclusive)
        };
        let mut deciding = functions
            .iter()
            .filter(|probe| !has_raising || raises(probe));
        if functions.is_empty() || deciding.any(tried) {
            return None;
        }
        let names = functions.iter().map(|(label, _)| label.name).collect();
        let is_program = functions
            .iter()
            .any(|(label, _)| label.form == ProbeForm::Program);
        let why = match is_program {
            true => "no program of the probes compiles with the tests",
            false => {
                "no function of the probes was called: none compiled, or the tests call another name"
            }
        };
        Some(CaseFinding::new(FindingKind::NotTried, names, why))
    }
}

/// Whether an errored verdict over a null answer or a cheat leaves open if it passes. Where the
/// reference passes, the tests work, and tests that refuse a verdict over a cheat did not pass it.
fn is_open(verdict: &ProbeVerdict, has_reference: bool) -> bool {
    !has_reference
        || matches!(
            verdict.cause,
            Some(
                Cause::SandboxUnavailable
                    | Cause::ExecutorMissing
                    | Cause::GraderTimeout
                    | Cause::JudgeUnreachable
                    | Cause::MissingOutput
            )
        )
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
