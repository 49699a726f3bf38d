//! What `check` proved, and whether a run is of that very content.
//!
//! A check that holds leaves a stamp in `checks/` of the results folder, named by the content of the
//! suite. A run that demands a check looks for the stamp of its content; what grades it must be what
//! graded the probes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::environment::harness_version;
use super::refused::RunRefusal;
use crate::model::{
    CaseFault, CodeGrader, Eval, Fingerprint, GraderKind, OutputValue, Plan, ProbeExcuse,
    SandboxState, SolutionWork, proved_by_reference,
};
use eval_base::text::hex;
use eval_workspace::{CopyRules, list_source};

/// Keys of a hash map are random in each process.
fn random_key() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// The folder of stamps in a results folder.
const FOLDER: &str = "checks";

/// Over the inputs, gradings and solutions of cases, files that commands of graders name, files that
/// workspaces are made of, and what the suite excuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedContent(Fingerprint);

impl CheckedContent {
    /// Of these evals, whatever their order.
    ///
    /// # Errors
    /// When a case can't be built.
    pub fn of(evals: &[Arc<Eval>], excuses: &[ProbeExcuse]) -> Result<CheckedContent, CaseFault> {
        let mut all: BTreeMap<(String, String), (String, Fingerprint)> = BTreeMap::new();
        let mut files: HashMap<PathBuf, Option<String>> = HashMap::new();
        let mut sources = BTreeSet::new();
        for eval in evals {
            let dependencies = eval.info.dependencies.iter();
            let of_workspaces =
                dependencies.flat_map(|all| all.found.iter().filter(|one| one.workspace));
            sources.extend(of_workspaces.map(|source| {
                // What can't be read equals nothing, itself included.
                let unknown = source.hash.is_empty().then(random_key);
                (source.name.clone(), source.hash.clone(), unknown)
            }));
            for streamed in eval.cases.stream(|_| true) {
                let case = streamed.case?;
                let solution: &Option<OutputValue> = &case.solution;
                let commands =
                    case.grading
                        .graders
                        .iter()
                        .filter_map(|grader| match &grader.kind {
                            GraderKind::Code(CodeGrader::Command(command)) => Some(command),
                            _ => None,
                        });
                let mut scripts = Vec::new();
                let commands = commands.map(|command| (&command.argv, &command.dir));
                let of_solution = match case.solution_work.as_deref() {
                    Some(SolutionWork::Command { argv, dir }) => Some((argv, dir)),
                    Some(SolutionWork::Files(tree)) => {
                        let files = list_source(&tree.path, &CopyRules::default());
                        scripts.push(match files {
                            Ok(files) => hex(&files.digest()),
                            Err(error) => error.to_string(),
                        });
                        None
                    }
                    None => None,
                };
                for (argv, dir) in commands.chain(of_solution) {
                    for word in argv {
                        let path = dir.join(word);
                        let known = files.entry(path).or_insert_with_key(|path| {
                            std::fs::read(path)
                                .ok()
                                .map(|text| Fingerprint::of_bytes(&text).to_string())
                        });
                        scripts.extend(known.clone());
                    }
                }
                all.insert(
                    (eval.info.id.clone(), case.id.clone()),
                    (
                        format!("{} {}", case.input_hash, case.grading_hash),
                        Fingerprint::of(&(solution, scripts)),
                    ),
                );
            }
        }
        let lines: Vec<String> = all
            .into_iter()
            .map(|((eval, case), (hashes, solution))| {
                format!("{eval:?} {case:?} {hashes} {solution}")
            })
            .collect();
        Ok(CheckedContent(Fingerprint::of(&(lines, sources, excuses))))
    }

    /// The file of its stamp.
    pub fn stamp(&self, results: &Path) -> PathBuf {
        results.join(FOLDER).join(format!("{self}.json"))
    }
}

impl fmt::Display for CheckedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What grades programs: a proof holds for these only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradingTools {
    /// Versions of the interpreters, by name.
    pub interpreters: BTreeMap<String, String>,
    /// Installed packages, as `numpy-1.26.4`, by the name of their interpreter.
    pub packages: BTreeMap<String, BTreeSet<String>>,
    /// The tier of the sandbox; `None` if nothing needs one.
    pub sandbox: Option<String>,
}

impl GradingTools {
    pub(super) fn new(
        interpreters: BTreeMap<String, String>,
        packages: BTreeMap<String, BTreeSet<String>>,
        sandbox: Option<&SandboxState>,
    ) -> GradingTools {
        let tier = |state: &SandboxState| match state.enforced {
            true => state.tier.clone(),
            false => format!("{} without enforced isolation", state.tier),
        };
        GradingTools {
            interpreters,
            packages,
            sandbox: sandbox.map(tier),
        }
    }

    /// With those of another run of the same check.
    pub fn join(&mut self, other: GradingTools) {
        self.interpreters.extend(other.interpreters);
        self.packages.extend(other.packages);
        self.sandbox = self.sandbox.take().or(other.sandbox);
    }
}

/// The proof that a check held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckStamp {
    pub suite: String,
    /// Time of the check (RFC 3339, UTC).
    pub checked_at: String,
    pub harness_version: String,
    pub cases: usize,
    /// Cases whose reference passed; in the others only null answers and cheats failed.
    pub proved_cases: usize,
    /// Those of `proved_cases` whose reference is the value that they expect.
    pub expected_references: usize,
    /// What graded the probes.
    pub tools: GradingTools,
    /// What is excused by name, as `eval/case: reason`.
    pub excused: Vec<String>,
}

impl CheckStamp {
    /// Refuses tools that the check did not have: with them nothing is proved.
    ///
    /// # Errors
    /// When one is missing in the check or differs.
    pub(super) fn verify(&self, now: &GradingTools) -> Result<(), RunRefusal> {
        let was = &self.tools;
        let version = |(name, version): (&String, &String)| match was.interpreters.get(name) {
            Some(checked) if checked == version => None,
            Some(checked) => Some(format!(
                "the suite was checked with {name} {checked}, and this run has {version}"
            )),
            None => Some(format!("the suite was checked without {name}")),
        };
        let mut reasons: Vec<String> = now.interpreters.iter().filter_map(version).collect();
        for (name, packages) in &now.packages {
            let Some(checked) = was.packages.get(name) else {
                continue;
            };
            let mut differing = checked.symmetric_difference(packages);
            if let Some(first) = differing.next() {
                let place = match checked.contains(first) {
                    true => "the check had, and this run has not",
                    false => "this run has, and the check had not",
                };
                reasons.push(format!(
                    "packages of {name} differ, such as {first}, which {place}"
                ));
            }
        }
        if let Some(tier) = &now.sandbox
            && was.sandbox.as_ref() != Some(tier)
        {
            reasons.push(match &was.sandbox {
                Some(checked) => format!(
                    "the suite was checked in the sandbox {checked}, and this run has {tier}"
                ),
                None => "the suite was checked without a sandbox".to_owned(),
            });
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(refusal(reasons, None))
    }

    /// Refuses a check in which some case had no reference that passed.
    ///
    /// # Errors
    /// When there is such a case.
    pub fn verify_references(&self) -> Result<(), RunRefusal> {
        if self.proved_cases >= self.cases {
            return Ok(());
        }
        let reason = format!("`--require-references`: {}", self.proved());
        let hint =
            "give the other cases a `solution` that passes, and run `eval-harness check` again";
        Err(RunRefusal {
            hint: Some(hint.to_owned()),
            ..refusal(vec![reason], None)
        })
    }

    /// How much the check proved, as a sentence without a full stop.
    pub fn proved(&self) -> String {
        proved_by_reference(self.proved_cases, self.cases, self.expected_references)
    }
}

/// The stamp of a plan's content: of its selection, else of the whole suite that it is a part of.
///
/// # Errors
/// When there is none, with the command that makes one.
pub fn demand_check(plan: &Plan, suite: &str) -> Result<CheckStamp, RunRefusal> {
    let results = &plan.reporting.output_dir;
    let unbuilt = |fault: CaseFault| refusal(vec![fault.to_string()], None);
    let mut reasons = Vec::new();
    let parts = [&plan.evals, &plan.whole];
    for evals in parts.into_iter().filter(|evals| !evals.is_empty()) {
        let path = CheckedContent::of(evals, &plan.excuses)
            .map_err(unbuilt)?
            .stamp(results);
        match std::fs::read(&path) {
            Ok(bytes) => match serde_json::from_slice::<CheckStamp>(&bytes) {
                Ok(stamp) if stamp.harness_version == harness_version() => return Ok(stamp),
                Ok(stamp) => reasons.push(format!(
                    "the suite was checked by version {} of eval-harness, and this is version {}",
                    stamp.harness_version,
                    harness_version()
                )),
                Err(error) => reasons.push(format!("cannot read {}: {error}", path.display())),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => reasons.push(format!("cannot read {}: {error}", path.display())),
        }
    }
    if reasons.is_empty() {
        reasons.push("no check of this content of the suite held".to_owned());
    }
    Err(refusal(reasons, Some(suite)))
}

fn refusal(reasons: Vec<String>, suite: Option<&str>) -> RunRefusal {
    let command = match suite {
        Some(suite) => format!("run `eval-harness check --suite {suite}` first"),
        None => "run `eval-harness check` again".to_owned(),
    };
    RunRefusal {
        what: "`--checked`".to_owned(),
        reasons,
        hint: Some(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Case, EvalCases, testing};

    fn content(change: impl FnOnce(&mut Case)) -> CheckedContent {
        let mut case = testing::case("a");
        change(&mut case);
        let eval = testing::eval("e", EvalCases::written(vec![Arc::new(case)]));
        CheckedContent::of(&[Arc::new(eval)], &[]).unwrap()
    }

    #[test]
    fn content_differs_by_input_grading_and_solution_only() {
        let same = content(|_| ());
        assert_eq!(same, content(|case| case.tags = vec!["t".into()]));
        let other = Fingerprint::of(&1);
        assert_ne!(same, content(|case| case.input_hash = other));
        assert_ne!(same, content(|case| case.grading_hash = other));
        assert_ne!(
            same,
            content(|case| case.solution = Some(OutputValue::Text("x".into())))
        );
    }

    fn stamp(tools: GradingTools) -> CheckStamp {
        CheckStamp {
            suite: "S".into(),
            checked_at: String::new(),
            harness_version: String::new(),
            cases: 3,
            proved_cases: 2,
            expected_references: 1,
            tools,
            excused: Vec::new(),
        }
    }

    fn tools(versions: &[(&str, &str)], packages: &[&str], tier: Option<&str>) -> GradingTools {
        let own = |(name, version): &(&str, &str)| ((*name).to_owned(), (*version).to_owned());
        let packages = packages.iter().map(|&name| name.to_owned()).collect();
        GradingTools {
            interpreters: versions.iter().map(own).collect(),
            packages: BTreeMap::from([("python".to_owned(), packages)]),
            sandbox: tier.map(str::to_owned),
        }
    }

    #[test]
    fn stamp_refuses_other_tools_and_accepts_fewer() {
        let pythons = [("python", "3.11.2"), ("node", "18.0.0")];
        let stamp = stamp(tools(&pythons, &["numpy-1.26.4"], Some("userns")));
        let refused = |versions: &[(&str, &str)], packages: &[&str], tier| {
            let refused = stamp.verify(&tools(versions, packages, tier));
            refused.map_or_else(|refusal| refusal.reasons.join("; "), |()| String::new())
        };
        let one = [("python", "3.11.2")];
        assert_eq!(refused(&one, &["numpy-1.26.4"], Some("userns")), "");
        assert_eq!(stamp.verify(&GradingTools::default()), Ok(()));
        assert_eq!(
            refused(&[("python", "3.12.0")], &["numpy-1.26.4"], None),
            "the suite was checked with python 3.11.2, and this run has 3.12.0"
        );
        assert_eq!(
            refused(&[("bash", "5")], &["numpy-1.26.4"], None),
            "the suite was checked without bash"
        );
        assert_eq!(
            refused(&one, &["numpy-2.0.0"], None),
            "packages of python differ, such as numpy-1.26.4, which the check had, and this run has not"
        );
        assert_eq!(
            refused(&one, &["numpy-1.26.4"], Some("landlock")),
            "the suite was checked in the sandbox userns, and this run has landlock"
        );
    }

    #[test]
    fn stamp_says_how_many_cases_a_reference_proved() {
        let mut stamp = stamp(GradingTools::default());
        assert_eq!(
            stamp.proved(),
            "a reference passed in 2 of 3 checked cases (1 by the expected value); none passed in 1"
        );
        assert!(stamp.verify_references().is_err());
        stamp.proved_cases = 3;
        assert_eq!(stamp.verify_references(), Ok(()));
    }

    #[test]
    fn excuses_are_a_part_of_the_content() {
        let excuse = ProbeExcuse {
            eval: "e".into(),
            case: None,
            probes: vec!["empty output".into()],
            reason: "nothing is right".into(),
        };
        let of = |excuses: &[ProbeExcuse]| CheckedContent::of(&[], excuses).unwrap();
        assert_ne!(of(&[]), of(&[excuse]));
    }
}
