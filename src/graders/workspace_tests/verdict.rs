//! The rules by which reported tests become a grade.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reports::{ReportedTests, ResultsSource, TestStatus};
use super::selection::{TestPatterns, TestsById, by_id, status_of};
use super::{METHOD, WorkspaceTests};
use crate::graders::programs::ending_of;
use crate::graders::show::in_reason;
use crate::model::limits;
use crate::model::{Cause, Grade, GraderType};
use crate::workspace::WorkspaceTestRun;
use eval_base::text::plural;
use eval_sandbox::ProgramEnding;

/// Tests that a reason names.
const NAMED: usize = 5;

/// A test that has to pass, with its result.
struct SelectedTest<'t> {
    id: &'t str,
    status: TestStatus,
    message: String,
    /// Not reported at all, neither now nor before the target ran: perhaps the list is wrong.
    is_unheard_of: bool,
}

/// The grade of a case whose listed tests are not, before the target ran, as the case says; `None`
/// if they are.
pub(super) fn broken_task(
    tests: &WorkspaceTests,
    before: &ReportedTests,
    ending: &ProgramEnding,
) -> Option<Grade> {
    if let Some(what) = &before.missing {
        let why = format!("`{what}` is not installed where the tests run");
        return Some(Grade::errored(
            GraderType::Code,
            METHOD,
            Cause::ExecutorMissing,
            why,
        ));
    }
    let known = by_id(&before.tests);
    let ids: BTreeSet<&str> = known.keys().copied().collect();
    let listed = |patterns| TestPatterns::new(patterns).selected(&ids);
    let mut wrong = Vec::new();
    for id in listed(&tests.fail_to_pass) {
        if status_of(id, &known).0 == TestStatus::Passed {
            wrong.push(format!("`{}` passes already", in_reason(id)));
        }
    }
    for id in listed(&tests.pass_to_pass) {
        let (status, message) = status_of(id, &known);
        if status != TestStatus::Passed {
            let message = match message.as_str() {
                "" => status.name(),
                message => message,
            };
            wrong.push(format!(
                "`{}` does not pass ({})",
                in_reason(id),
                in_reason(message)
            ));
        }
    }
    if wrong.is_empty() {
        return None;
    }
    let ended = match (ending, before.doubts.first()) {
        (ProgramEnding::Exited(_), Some((_, why))) => format!(" ({})", in_reason(why)),
        (ProgramEnding::Exited(_), None) => String::new(),
        (other, _) => format!(" (the command {other})"),
    };
    let more = match wrong.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    wrong.truncate(NAMED);
    let why = format!("before the target runs{ended}: {}{more}", wrong.join("; "));
    Some(Grade::errored(
        GraderType::Code,
        METHOD,
        Cause::BrokenTask,
        why,
    ))
}

/// What tests have to show that were there before the target ran; `None` if there were none. `known`:
/// those that were reported then, where single tests are.
pub(super) fn without_new_tests(
    tests: &WorkspaceTests,
    known: Option<&ReportedTests>,
) -> Option<WorkspaceTests> {
    let Some(known) = known else {
        return Some(tests.clone());
    };
    if known.tests.is_empty() && known.broken.is_empty() {
        return None;
    }
    let ids: BTreeSet<&str> = known.tests.iter().map(|test| test.id.as_str()).collect();
    let is_old = |pattern: &String| {
        let patterns = std::slice::from_ref(pattern);
        let found = TestPatterns::new(patterns).selected(&ids);
        // A file that could not be loaded may have had it.
        !known.broken.is_empty() || found.iter().any(|id| ids.contains(id))
    };
    let old = |patterns: &[String]| patterns.iter().filter(|p| is_old(p)).cloned().collect();
    let narrowed = WorkspaceTests {
        fail_to_pass: old(&tests.fail_to_pass),
        pass_to_pass: old(&tests.pass_to_pass),
        ..tests.clone()
    };
    let demands = narrowed.all_pass || !narrowed.lists_nothing() || tests.lists_nothing();
    demands.then_some(narrowed)
}

/// The grade of a workspace; `before`: what the tests reported before the target ran, where that is
/// known.
pub(super) fn grade(
    tests: &WorkspaceTests,
    reported: &ReportedTests,
    run: &WorkspaceTestRun,
    before: Option<&ReportedTests>,
) -> Grade {
    let known = by_id(&reported.tests);
    let selected = selected(tests, reported, &known, before);
    let judged = VerdictRules {
        tests,
        reported,
        run,
        known: &known,
        selected: &selected,
    };
    let grade = judged.grade();
    judged.with_details(grade)
}

/// The tests that have to pass: those that are listed, and all where all have to.
fn selected<'t>(
    tests: &'t WorkspaceTests,
    reported: &'t ReportedTests,
    known: &TestsById<'t>,
    before: Option<&'t ReportedTests>,
) -> Vec<SelectedTest<'t>> {
    let mut ids: BTreeSet<&str> = known.keys().copied().collect();
    let mut chosen = BTreeSet::new();
    let earlier = before.into_iter().flat_map(|before| &before.tests);
    let earlier: BTreeSet<&str> = earlier.map(|test| test.id.as_str()).collect();
    // Tests that the target added would make a share as large as it likes.
    let is_share_of_known = tests.pass_share.is_some() && !earlier.is_empty();
    if tests.all_pass && !is_share_of_known {
        chosen.extend(ids.iter().copied());
    }
    // A test that vanished has not passed, whether it is listed, fits a glob, or all have to pass.
    if tests.all_pass && (is_share_of_known || !tests.allow_weakened_tests) {
        chosen.extend(earlier.iter().copied());
    }
    ids.extend(&earlier);
    for patterns in [&tests.fail_to_pass, &tests.pass_to_pass] {
        chosen.extend(TestPatterns::new(patterns).selected(&ids));
    }
    let mut selected: Vec<SelectedTest> = chosen
        .into_iter()
        .map(|id| {
            let (status, message) = status_of(id, known);
            let is_unheard_of =
                before.is_some() && status == TestStatus::Missing && !earlier.contains(id);
            SelectedTest {
                id,
                status,
                message: match is_unheard_of {
                    true => format!("{message}, also not before the target ran"),
                    false => message,
                },
                is_unheard_of,
            }
        })
        .collect();
    if tests.all_pass || tests.lists_nothing() {
        selected.extend(reported.broken.iter().map(|(id, message)| SelectedTest {
            id,
            status: TestStatus::Failed,
            message: message.clone(),
            is_unheard_of: false,
        }));
    }
    selected
}

impl WorkspaceTests {
    fn lists_nothing(&self) -> bool {
        self.fail_to_pass.is_empty() && self.pass_to_pass.is_empty()
    }
}

struct VerdictRules<'v> {
    tests: &'v WorkspaceTests,
    reported: &'v ReportedTests,
    run: &'v WorkspaceTestRun,
    known: &'v TestsById<'v>,
    selected: &'v [SelectedTest<'v>],
}

impl VerdictRules<'_> {
    fn grade(&self) -> Grade {
        let fail = |cause, why: String| Grade::failed(GraderType::Code, METHOD, cause, why);
        if let Some(why) = &self.reported.forged {
            return fail(Cause::Forged, format!("the results were forged: {why}"));
        }
        if !matches!(self.run.ending, ProgramEnding::Exited(_)) {
            let (cause, why) =
                ending_of(&self.run.ending, self.tests.timeout, self.tests.memory_mb);
            return fail(cause, why.replacen("the program", "the test command", 1));
        }
        if let Some((cause, why)) = self.reported.doubts.first() {
            let why = match self.first_failures() {
                Some(failures) => format!("{why}; {failures}"),
                None => why.clone(),
            };
            return fail(*cause, why);
        }
        if self.selected.is_empty() || (self.known.is_empty() && self.reported.broken.is_empty()) {
            return fail(Cause::Exited, "no tests ran".to_owned());
        }
        let share = self.share();
        let passes = share >= self.tests.pass_share.unwrap_or(1.0);
        let graded = match self.first_failures() {
            Some(failures) if !passes => fail(Cause::WrongAnswer, failures),
            Some(failures) => Grade {
                reason: failures,
                ..Grade::passed(GraderType::Code, METHOD)
            },
            None => match self.unexplained_exit() {
                Some(why) => return fail(Cause::Exited, why),
                None => Grade::passed(GraderType::Code, METHOD),
            },
        };
        match self.tests.pass_share {
            Some(_) => graded.with_score(share),
            None => graded,
        }
    }

    fn passed(&self) -> usize {
        let is_passed = |test: &&SelectedTest| test.status == TestStatus::Passed;
        self.selected.iter().filter(is_passed).count()
    }

    fn share(&self) -> f64 {
        self.passed() as f64 / self.selected.len().max(1) as f64
    }

    /// In words, which of the selected tests did not pass; `None` if all did.
    fn first_failures(&self) -> Option<String> {
        let failed: Vec<&SelectedTest> = self
            .selected
            .iter()
            .filter(|test| test.status != TestStatus::Passed)
            .collect();
        if failed.is_empty() {
            return None;
        }
        if self.reported.source == ResultsSource::ExitCode {
            let message = failed.first().map_or("", |test| test.message.as_str());
            return Some(format!("the test command {message}"));
        }
        let named = failed.iter().take(NAMED).map(|test| {
            let what = match (test.status, test.message.as_str()) {
                (TestStatus::Failed, "") => String::new(),
                (TestStatus::Failed | TestStatus::Missing, message) => {
                    format!(" ({})", in_reason(message))
                }
                (status, "") => format!(" ({})", status.name()),
                (status, message) => format!(" ({}: {})", status.name(), in_reason(message)),
            };
            format!("`{}`{what}", in_reason(test.id))
        });
        let named: Vec<String> = named.collect();
        let more = match failed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let all = plural(self.selected.len(), "test");
        let advice = match failed.iter().any(|test| test.is_unheard_of) {
            true => self.reported_ids(),
            false => String::new(),
        };
        Some(format!(
            "{} of {all} did not pass: {}{more}{advice}",
            failed.len(),
            named.join(", ")
        ))
    }

    /// The tests that were reported, for who listed one that was not. The target may have had to add
    /// it, or what it is in could not be loaded; so this is a failure all the same.
    fn reported_ids(&self) -> String {
        let named = self.known.keys().take(NAMED);
        let named: Vec<String> = named.map(|id| format!("`{}`", in_reason(id))).collect();
        let more = match self.known.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match named.is_empty() {
            true => String::new(),
            false => format!(
                "; reported tests: {}{more}; if the list is wrong, correct `fail_to_pass`",
                named.join(", ")
            ),
        }
    }

    /// Why the exit code contradicts that all selected tests passed; `None` if it does not.
    fn unexplained_exit(&self) -> Option<String> {
        let ProgramEnding::Exited(code) = self.run.ending else {
            return None;
        };
        let chosen: BTreeSet<&str> = self.selected.iter().map(|test| test.id).collect();
        let fails_outside = !self.tests.all_pass
            && (!self.reported.broken.is_empty()
                || self.known.values().any(|test| {
                    test.status == TestStatus::Failed && !chosen.contains(test.id.as_str())
                }));
        (code != 0 && !fails_outside)
            .then(|| format!("all tests passed, but the test command ended with exit code {code}"))
    }

    fn with_details(&self, mut grade: Grade) -> Grade {
        let count = |status| {
            self.known
                .values()
                .filter(|test| test.status == status)
                .count()
        };
        let counts = json!({
            "passed": count(TestStatus::Passed),
            "failed": count(TestStatus::Failed) + self.reported.broken.len(),
            "skipped": count(TestStatus::Skipped),
            "selected": self.selected.len(),
            "selected_passed": self.passed(),
        });
        let failures = self
            .selected
            .iter()
            .filter(|test| test.status != TestStatus::Passed);
        let failures: Vec<Value> = failures
            .take(limits::GRADE_ENTRIES)
            .map(|test| {
                json!({
                    "test": in_reason(test.id),
                    "status": test.status.name(),
                    "message": in_reason(&test.message),
                })
            })
            .collect();
        if !failures.is_empty() {
            grade = grade.with_detail("failures", failures);
        }
        if let Some(framework) = &self.reported.framework {
            grade = grade.with_detail("framework", in_reason(framework));
        }
        grade
            .with_detail("results", self.reported.source.name())
            .with_detail("tests", counts)
    }
}
