//! What the check of a suite found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dataset::private_cases;
pub use crate::spec::ProbeExcuse;
use eval_base::text::plural;

/// The proof of a suite: references pass, null answers and cheats fail. The root of
/// `check --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckReport {
    /// The version of this format: 1.
    pub format_version: u32,
    pub suite: String,
    /// The filters in words, if only a part of the suite is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The file of references that `--oracle` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<String>,
    pub decision: CheckDecision,
    /// True if the check was ended before all probes ran.
    pub interrupted: bool,
    pub evals: usize,
    /// Selected cases, also those that are not checked.
    pub cases: usize,
    /// Cases that at least one probe was made for.
    pub checked_cases: usize,
    /// Checked cases that have a reference.
    pub reference_cases: usize,
    /// Those whose reference is the value that they expect: they have no other.
    pub expected_references: usize,
    /// Checked cases whose reference passed whenever it was graded.
    pub proved_cases: usize,
    /// A case without a reference is a finding (`--require-references`).
    pub references_required: bool,
    /// One row for each probe by name, in the order in which they are first made.
    pub probes: Vec<ProbeTally>,
    /// Everything that was found, in the order of the suite.
    pub findings: Vec<CheckFinding>,
    pub without_reference: CaseNames,
    /// Checked cases with graders of trajectories: as no probe has a trajectory, only their other
    /// graders were checked.
    #[serde(default, skip_serializing_if = "CaseNames::is_empty")]
    pub without_trajectories: CaseNames,
    /// Cases that were not checked, by reason.
    pub left_out: Vec<LeftOutCases>,
    pub reference_time: Option<ReferenceShare>,
    pub reference_memory: Option<ReferenceShare>,
    /// Versions of the interpreters that ran programs, by name.
    pub interpreters: BTreeMap<String, String>,
    pub duration_seconds: f64,
    /// The file that `run --checked` looks for; written only if the suite holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

impl CheckReport {
    /// The report without cases of evals that `private` takes: their findings are counted by kind.
    pub fn without_cases(mut self, private: impl Fn(&str) -> bool) -> CheckReport {
        type Kind = (String, FindingKind, bool);
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        let kind = |finding: &CheckFinding| -> Kind {
            (
                finding.eval.clone(),
                finding.kind,
                finding.excused.is_some(),
            )
        };
        self.findings.retain_mut(|finding| {
            if !private(&finding.eval) {
                return true;
            }
            let count = counts.entry(kind(finding)).or_default();
            *count += 1;
            (finding.case, finding.probes) = (String::new(), Vec::new());
            finding.excused = finding.excused.take().map(|_| "excused".to_owned());
            *count == 1
        });
        for finding in &mut self.findings {
            if let Some(count) = counts.get(&kind(finding)) {
                finding.reason = private_cases(*count);
            }
        }
        let left_out = self.left_out.iter_mut().map(|left_out| &mut left_out.cases);
        for names in left_out.chain([&mut self.without_reference, &mut self.without_trajectories]) {
            let eval = |name: &str| name.match_indices('/').any(|(at, _)| private(&name[..at]));
            names.first.retain(|name| !eval(name));
        }
        for share in [&mut self.reference_time, &mut self.reference_memory] {
            share.take_if(|share| private(&share.eval));
        }
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckDecision {
    /// Every reference passed; every null answer and every cheat failed.
    Holds,
    /// A reference failed, a null answer or a cheat passed, or a test proves nothing.
    Fails,
    /// Something could not be found out.
    Unknown,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// The right answer.
    Reference,
    /// The right answer in a second run.
    ReferenceAgain,
    /// An answer without content.
    Null,
    /// An answer that tries to pass without a solution.
    Cheat,
    /// An answer that tries to talk a judge into a pass.
    Injection,
}

impl ProbeKind {
    /// Whether a probe of this kind must pass; the others must fail.
    pub fn must_pass(self) -> bool {
        matches!(self, ProbeKind::Reference | ProbeKind::ReferenceAgain)
    }
}

/// How the verdicts over one probe are distributed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeTally {
    pub kind: ProbeKind,
    pub name: String,
    pub passed: usize,
    pub failed: usize,
    /// Not graded, or not run.
    pub errored: usize,
    /// Failed without showing anything: the program did not compile, or the tests call a function of
    /// another name.
    pub inconclusive: usize,
}

impl ProbeTally {
    pub fn total(&self) -> usize {
        self.passed + self.failed + self.errored + self.inconclusive
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckFinding {
    pub kind: FindingKind,
    pub level: FindingLevel,
    pub eval: String,
    pub case: String,
    /// Names of the probes that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
    /// One sentence, without a full stop.
    pub reason: String,
    /// The reason why it is excused: by the suite's `check.excused`, or as a known fault of a public
    /// dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excused: Option<String>,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The reference does not pass.
    ReferenceFails,
    /// The two runs of the reference have different verdicts.
    Flaky,
    /// The tests assert nothing, never call the answer, or pass for the empty program.
    ProvesNothing,
    NullPasses,
    CheatPasses,
    /// A judge passes a null answer or an injection.
    JudgeFooled,
    /// There is only one test, so its expected value passes.
    SingleTest,
    /// There is no reference; only with `--require-references`.
    NoReference,
    /// No probe could be tried: none compiled with the tests, or the tests call a function of
    /// another name.
    NotTried,
    /// No finding needs an entry of the suite's `check.excused`.
    UnusedExcuse,
    /// A verdict could not be found out.
    Unknown,
}

/// What a finding means for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingLevel {
    /// Exit code 1.
    Fails,
    /// Exit code 3.
    Unknown,
    /// Reported only.
    Note,
}

impl FindingKind {
    pub fn level(self) -> FindingLevel {
        match self {
            FindingKind::SingleTest | FindingKind::NotTried | FindingKind::UnusedExcuse => {
                FindingLevel::Note
            }
            FindingKind::Unknown => FindingLevel::Unknown,
            _ => FindingLevel::Fails,
        }
    }

    /// The name as written in reports.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::ReferenceFails => "reference_fails",
            FindingKind::Flaky => "flaky",
            FindingKind::ProvesNothing => "proves_nothing",
            FindingKind::NullPasses => "null_passes",
            FindingKind::CheatPasses => "cheat_passes",
            FindingKind::JudgeFooled => "judge_fooled",
            FindingKind::SingleTest => "single_test",
            FindingKind::NoReference => "no_reference",
            FindingKind::NotTried => "not_tried",
            FindingKind::UnusedExcuse => "unused_excuse",
            FindingKind::Unknown => "unknown",
        }
    }
}

/// A number of cases, the first of them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseNames {
    pub count: usize,
    /// `eval/case`; at most 100.
    pub first: Vec<String>,
}

impl CaseNames {
    const NAMED: usize = 100;

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn add(&mut self, eval: &str, case: &str) {
        self.count += 1;
        if self.first.len() < CaseNames::NAMED {
            self.first.push(format!("{eval}/{case}"));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOutCases {
    pub reason: LeftOutReason,
    pub cases: CaseNames,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// A model judges them, and `--judges` is not set.
    Judges,
    /// People grade them.
    People,
    /// There is no baseline yet.
    NoBaseline,
    /// Nothing grades them.
    NoGrader,
    /// Only negated judges grade them, and there is no reference.
    NegatedJudges,
    /// Only graders of trajectories grade them, and no probe has a trajectory.
    Trajectories,
}

/// The most that a reference takes of a limit: of its time in milliseconds, or of its memory in MB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferenceShare {
    pub eval: String,
    pub case: String,
    /// Wall time; of several runs of a program, the slowest. Or the most resident memory of one
    /// process, pages of files included.
    pub used: f64,
    pub limit: f64,
    pub share: f64,
    /// Mean share over all references.
    pub mean_share: f64,
}

/// How many cases a check proved by a reference.
pub fn proved_by_reference(proved: usize, cases: usize, expected: usize) -> String {
    let of_these = match expected {
        0 => String::new(),
        expected => format!(" ({expected} by the expected value)"),
    };
    match cases - proved.min(cases) {
        _ if cases == 0 => "no case was checked".to_owned(),
        0 if cases == 1 => format!("a reference passed in the 1 checked case{of_these}"),
        0 => format!("a reference passed in all {cases} checked cases{of_these}"),
        open => format!(
            "a reference passed in {proved} of {}{of_these}; none passed in {open}",
            plural(cases, "checked case")
        ),
    }
}
