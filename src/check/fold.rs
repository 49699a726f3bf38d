//! From the events of a run of probes to what they say of each case. Pure.

use std::collections::{BTreeSet, HashMap};

use super::excuses::ExcuseBook;
use super::findings::findings;
use super::known::DatasetRecord;
use super::probe::{ProbeForm, ProbeLabel};
use crate::graders::code_execution::{NEVER_CALLED, SLOWEST};
use crate::model::{
    Cause, CheckFinding, CodeLimits, Event, FindingLevel, Outcome, ProbeTally, ReferenceShare,
    SampleFinished,
};

/// A case and the probes that are made of it; the number of a probe is that of its sample.
#[derive(Debug, Clone, Default)]
pub struct CheckedCase {
    pub eval: String,
    pub case: String,
    /// The record of a public dataset that it is made of.
    pub record: Option<DatasetRecord>,
    pub probes: Vec<ProbeLabel>,
    pub tests: Option<usize>,
    pub limits: Option<CodeLimits>,
    /// The judge that is called alone.
    pub judge: Option<String>,
}

/// How a probe was graded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProbeVerdict {
    pub outcome: Outcome,
    pub cause: Option<Cause>,
    /// Kept where it is of use: not of a probe that failed as it should.
    pub reason: String,
    /// The tests passed without a call of the answer.
    pub never_called: bool,
    /// It did not pass, and that shows nothing.
    pub inconclusive: bool,
    pub time_ms: f64,
    /// Of the largest process; absent if unknown.
    pub peak_mb: Option<f64>,
}

/// Verdicts by case.
#[derive(Debug, Default)]
pub struct CheckFold {
    cases: Vec<CheckedCase>,
    places: HashMap<(String, String), usize>,
    verdicts: Vec<Vec<Option<ProbeVerdict>>>,
    pub interrupted: bool,
}

/// What the fold of one run of probes adds to a report.
#[derive(Debug, Default)]
pub struct CheckedPart {
    pub findings: Vec<CheckFinding>,
    pub tallies: Vec<ProbeTally>,
    pub reference_time: Option<ReferenceShare>,
    pub reference_memory: Option<ReferenceShare>,
    /// Cases whose reference did not pass whenever it was graded, by eval and case.
    pub unproved: BTreeSet<(String, String)>,
    pub interrupted: bool,
}

impl CheckFold {
    pub fn new(cases: Vec<CheckedCase>) -> CheckFold {
        let place =
            |(at, case): (usize, &CheckedCase)| ((case.eval.clone(), case.case.clone()), at);
        CheckFold {
            places: cases.iter().enumerate().map(place).collect(),
            verdicts: cases
                .iter()
                .map(|case| vec![None; case.probes.len()])
                .collect(),
            cases,
            ..CheckFold::default()
        }
    }

    pub fn push(&mut self, event: &Event) {
        match event {
            Event::SampleFinished(sample) => self.finished(sample),
            Event::RunFinished(finished) => self.interrupted |= finished.interrupted,
            _ => {}
        }
    }

    fn finished(&mut self, sample: &SampleFinished) {
        let key = (sample.eval.clone(), sample.case.clone());
        let Some(at) = self.places.get(&key).copied() else {
            return;
        };
        let probe = sample.sample as usize;
        let label = self.cases.get(at).and_then(|case| case.probes.get(probe));
        let (Some(attempt), Some(label)) = (sample.attempts.last(), label) else {
            return;
        };
        let verdict = &attempt.verdict;
        let detail = |key: &str| {
            let mut grades = verdict.grades.iter();
            grades.find_map(|grade| grade.details.get(key))
        };
        let must_pass = label.meaning.kind().must_pass();
        let keeps_reason = must_pass || verdict.outcome == Outcome::Errored;
        let peaks = verdict.grades.iter().filter_map(|grade| grade.peak_mb);
        let slowest = detail(SLOWEST).and_then(serde_json::Value::as_f64);
        // A file that the workspace has already was not put there.
        let refused = !must_pass && verdict.cause == Some(Cause::PatchRejected);
        let made = ProbeVerdict {
            outcome: match refused {
                true => Outcome::Failed,
                false => verdict.outcome,
            },
            cause: verdict.cause,
            reason: match keeps_reason {
                true => verdict.reason.clone(),
                false => String::new(),
            },
            never_called: detail(NEVER_CALLED).is_some(),
            inconclusive: refused
                || !must_pass && is_inconclusive(label.form, verdict.cause, &verdict.reason),
            time_ms: slowest.unwrap_or(attempt.duration_ms),
            peak_mb: peaks.max_by(f64::total_cmp),
        };
        let place = self.verdicts.get_mut(at).and_then(|all| all.get_mut(probe));
        if let Some(place) = place {
            *place = Some(made);
        }
    }

    /// What the verdicts say.
    pub(super) fn finish(self, excuses: &mut ExcuseBook) -> CheckedPart {
        let mut part = CheckedPart {
            interrupted: self.interrupted,
            ..CheckedPart::default()
        };
        let (mut times, mut peaks) = (Vec::new(), Vec::new());
        for (case, verdicts) in self.cases.iter().zip(&self.verdicts) {
            let proves = |(label, verdict): (&ProbeLabel, &Option<ProbeVerdict>)| {
                let passed = |verdict: &ProbeVerdict| verdict.outcome == Outcome::Passed;
                !label.meaning.kind().must_pass() || verdict.as_ref().is_some_and(passed)
            };
            if !case.probes.iter().zip(verdicts).all(proves) {
                part.unproved.insert((case.eval.clone(), case.case.clone()));
            }
            let of_case = excuses.of(case);
            for found in findings(case, verdicts, &of_case) {
                if found.excused.is_some() {
                    excuses.used(case, &found.probes);
                }
                part.findings.push(CheckFinding {
                    kind: found.kind,
                    level: found.kind.level(),
                    eval: case.eval.clone(),
                    case: case.case.clone(),
                    probes: found.probes.into_iter().map(str::to_owned).collect(),
                    reason: found.reason,
                    excused: found.excused,
                });
            }
            tally(&mut part.tallies, case, verdicts);
            if let Some(limits) = case.limits {
                let passed = || passed_references(case, verdicts);
                let times_ms = passed().map(|verdict| verdict.time_ms);
                let peaks_mb = passed().filter_map(|verdict| verdict.peak_mb);
                times.extend(share(case, times_ms, limits.wall.as_secs_f64() * 1e3));
                peaks.extend(share(case, peaks_mb, limits.memory_mb as f64));
            }
        }
        part.reference_time = largest(times);
        part.reference_memory = largest(peaks);
        part
    }
}

/// Whether a program that did not pass shows nothing: a compiler refused it, or tests called a
/// function that it does not have. Which one they call is guessed where nothing names it.
fn is_inconclusive(form: ProbeForm, cause: Option<Cause>, reason: &str) -> bool {
    const UNDEFINED: [&str; 5] = [
        " is not defined",
        " is not a function",
        " has no attribute ",
        ": command not found",
        ": not found",
    ];
    let undefined = || UNDEFINED.iter().any(|words| reason.contains(words));
    match form {
        ProbeForm::Text => false,
        ProbeForm::Program => cause == Some(Cause::SyntaxError),
        ProbeForm::Function => cause == Some(Cause::SyntaxError) || undefined(),
    }
}

fn tally(tallies: &mut Vec<ProbeTally>, case: &CheckedCase, verdicts: &[Option<ProbeVerdict>]) {
    for (label, verdict) in case.probes.iter().zip(verdicts) {
        let (kind, name) = (label.meaning.kind(), label.name);
        let known = tallies
            .iter()
            .position(|row| row.kind == kind && row.name == name);
        let at = known.unwrap_or_else(|| {
            tallies.push(ProbeTally {
                kind,
                name: name.to_owned(),
                passed: 0,
                failed: 0,
                errored: 0,
                inconclusive: 0,
            });
            tallies.len() - 1
        });
        let Some(row) = tallies.get_mut(at) else {
            continue;
        };
        match verdict.as_ref().map(|verdict| verdict.outcome) {
            Some(Outcome::Passed) => row.passed += 1,
            _ if verdict.as_ref().is_some_and(|verdict| verdict.inconclusive) => {
                row.inconclusive += 1;
            }
            Some(Outcome::Failed) => row.failed += 1,
            _ => row.errored += 1,
        }
    }
}

fn passed_references<'v>(
    case: &'v CheckedCase,
    verdicts: &'v [Option<ProbeVerdict>],
) -> impl Iterator<Item = &'v ProbeVerdict> {
    let both = case.probes.iter().zip(verdicts);
    let references = both.filter(|(label, _)| label.meaning.kind().must_pass());
    references
        .filter_map(|(_, verdict)| verdict.as_ref())
        .filter(|verdict| verdict.outcome == Outcome::Passed)
}

/// An upper bound of what a reference that passed took, by the run of it that took less: the time
/// of grading contains waiting, and pages of files count as memory, but what passes ended within its
/// limits.
fn share(
    case: &CheckedCase,
    used: impl Iterator<Item = f64>,
    limit: f64,
) -> Option<ReferenceShare> {
    let used = used.min_by(f64::total_cmp)?.min(limit);
    (limit > 0.0).then(|| ReferenceShare {
        eval: case.eval.clone(),
        case: case.case.clone(),
        used,
        limit,
        share: used / limit,
        mean_share: 0.0,
    })
}

fn largest(shares: Vec<ReferenceShare>) -> Option<ReferenceShare> {
    let sum: f64 = shares.iter().map(|one| one.share).sum();
    let mean_share = sum / shares.len().max(1) as f64;
    let most = shares
        .into_iter()
        .max_by(|a, b| a.share.total_cmp(&b.share))?;
    Some(ReferenceShare { mean_share, ..most })
}

/// True when a finding counts.
pub(super) fn counts(finding: &CheckFinding, level: FindingLevel) -> bool {
    finding.level == level && finding.excused.is_none()
}
