use super::*;
use crate::check::excuses::ExcuseBook;
use crate::check::probe::ProbeMeaning::*;
use crate::model::ProbeExcuse;

fn verdict(outcome: Outcome, cause: Option<Cause>, reason: &str) -> Option<ProbeVerdict> {
    Some(ProbeVerdict {
        outcome,
        cause,
        reason: reason.to_owned(),
        never_called: false,
        inconclusive: false,
        time_ms: 1.0,
        peak_mb: None,
    })
}

fn passed() -> Option<ProbeVerdict> {
    verdict(Outcome::Passed, None, "")
}

fn failed() -> Option<ProbeVerdict> {
    verdict(Outcome::Failed, Some(Cause::WrongAnswer), "wrong")
}

fn errored(cause: Cause) -> Option<ProbeVerdict> {
    verdict(Outcome::Errored, Some(cause), "broken")
}

fn case(meanings: &[ProbeMeaning], tests: Option<usize>) -> CheckedCase {
    let label = |meaning: &ProbeMeaning| ProbeLabel {
        meaning: *meaning,
        form: ProbeForm::Text,
        name: match meaning {
            Reference => "reference",
            ReferenceAgain => "again",
            Null => "null",
            EmptyProgram => "empty",
            Raises => "raises",
            ReturnsNothing => "None",
            Constant => "constant",
            Cheat => "cheat",
            Injection => "injection",
        },
    };
    CheckedCase {
        probes: meanings.iter().map(label).collect(),
        tests,
        ..CheckedCase::default()
    }
}

fn of(
    probes: &[(ProbeMeaning, Option<ProbeVerdict>)],
    tests: Option<usize>,
) -> Vec<(FindingKind, Vec<&'static str>)> {
    let meanings: Vec<ProbeMeaning> = probes.iter().map(|(meaning, _)| *meaning).collect();
    let verdicts: Vec<_> = probes.iter().map(|(_, verdict)| verdict.clone()).collect();
    let found = findings(&case(&meanings, tests), &verdicts, &CaseExcuses::new());
    found
        .into_iter()
        .map(|found| (found.kind, found.probes))
        .collect()
}

#[test]
fn reference_is_judged_by_both_of_its_runs() {
    let runs = |first, again| of(&[(Reference, first), (ReferenceAgain, again)], None);
    let both = vec!["reference", "again"];
    assert_eq!(runs(passed(), passed()), []);
    assert_eq!(
        runs(failed(), failed()),
        [(FindingKind::ReferenceFails, both.clone())]
    );
    assert_eq!(
        runs(passed(), failed()),
        [(FindingKind::Flaky, both.clone())]
    );
    assert_eq!(
        runs(failed(), passed()),
        [(FindingKind::Flaky, both.clone())]
    );
    let errored = errored(Cause::ExecutorMissing);
    assert_eq!(
        runs(passed(), errored.clone()),
        [(FindingKind::Unknown, both.clone())]
    );
    assert_eq!(
        runs(failed(), errored),
        [(FindingKind::Unknown, both.clone())]
    );
    assert_eq!(runs(passed(), None), [(FindingKind::Unknown, both)]);
}

#[test]
fn tests_that_never_call_the_answer_prove_nothing() {
    let mut silent = errored(Cause::Harness);
    if let Some(verdict) = &mut silent {
        verdict.never_called = true;
    }
    let found = of(
        &[(Reference, silent), (Cheat, errored(Cause::Harness))],
        None,
    );
    assert_eq!(found, [(FindingKind::ProvesNothing, vec!["reference"])]);
}

#[test]
fn what_passes_names_the_weakness_of_the_tests() {
    let with = |probes: &[(ProbeMeaning, Option<ProbeVerdict>)], tests| {
        let reference = [(Reference, passed()), (ReferenceAgain, passed())];
        of(&[&reference, probes].concat(), tests)
    };
    let kind = |found: Vec<(FindingKind, Vec<&'static str>)>| -> Vec<FindingKind> {
        found.into_iter().map(|(kind, _)| kind).collect()
    };
    use FindingKind::*;
    assert_eq!(with(&[(Null, failed()), (Cheat, failed())], None), []);
    assert_eq!(kind(with(&[(Null, passed())], None)), [NullPasses]);
    assert_eq!(
        kind(with(&[(EmptyProgram, passed()), (Cheat, passed())], None)),
        [ProvesNothing]
    );
    assert_eq!(kind(with(&[(Raises, passed())], None)), [ProvesNothing]);
    let two = [(ReturnsNothing, passed()), (ReturnsNothing, passed())];
    assert_eq!(kind(with(&two, None)), [ProvesNothing]);
    let one = [(ReturnsNothing, passed()), (ReturnsNothing, failed())];
    assert_eq!(kind(with(&one, None)), [NullPasses]);
    assert_eq!(kind(with(&[(Constant, passed())], Some(3))), [CheatPasses]);
    assert_eq!(kind(with(&[(Constant, passed())], None)), [CheatPasses]);
    assert_eq!(kind(with(&[(Constant, passed())], Some(1))), [SingleTest]);
    assert_eq!(
        kind(with(&[(Constant, passed()), (Cheat, passed())], Some(1))),
        [CheatPasses, SingleTest]
    );
}

#[test]
fn errored_cheat_is_open_only_where_nothing_shows_that_tests_work() {
    let cheat = |reference: Option<Option<ProbeVerdict>>, cause| {
        let reference = reference.map(|verdict| (Reference, verdict));
        let probes: Vec<_> = reference
            .into_iter()
            .chain([(Cheat, errored(cause))])
            .collect();
        of(&probes, None)
    };
    assert_eq!(cheat(Some(passed()), Cause::Harness), []);
    let open = [(FindingKind::Unknown, vec!["cheat"])];
    assert_eq!(cheat(Some(passed()), Cause::SandboxUnavailable), open);
    assert_eq!(cheat(None, Cause::Harness), open);
    // One finding says it.
    let broken = cheat(Some(errored(Cause::Harness)), Cause::Harness);
    assert_eq!(broken, [(FindingKind::Unknown, vec!["reference"])]);
}

#[test]
fn judge_that_passes_an_injection_is_named() {
    let mut judged = case(&[Reference, Injection], None);
    judged.judge = Some("strict".to_owned());
    let found = findings(&judged, &[passed(), passed()], &CaseExcuses::new());
    assert_eq!(
        found,
        [CaseFinding::new(
            FindingKind::JudgeFooled,
            vec!["injection"],
            "the judge strict passes an answer that does not solve the task"
        )]
    );
}

#[test]
fn excused_probe_is_a_finding_of_its_own_that_others_do_not_hide() {
    let case = case(&[Reference, Null, EmptyProgram, Cheat], None);
    let excuses = |probes: &[&str]| -> CaseExcuses {
        let reason = |probe: &&str| ((*probe).to_owned(), "right here".to_owned());
        probes.iter().map(reason).collect()
    };
    let all = [passed(), passed(), failed(), passed()];
    let of = |probes: &[&str], verdicts: &[Option<ProbeVerdict>]| -> Vec<_> {
        let found = findings(&case, verdicts, &excuses(probes));
        let short = |found: CaseFinding| (found.kind, found.probes, found.excused.is_some());
        found.into_iter().map(short).collect()
    };
    use FindingKind::*;
    let cheat = (CheatPasses, vec!["cheat"], false);
    assert_eq!(
        of(&["null"], &all),
        [cheat.clone(), (NullPasses, vec!["null"], true)]
    );
    assert_eq!(
        of(&["null", "cheat"], &all),
        [
            (NullPasses, vec!["null"], true),
            (CheatPasses, vec!["cheat"], true)
        ]
    );
    // What does not pass, and what is not named, is not excused.
    assert_eq!(
        of(&["empty"], &all),
        [(NullPasses, vec!["null"], false), cheat]
    );
    let fails = [failed(), failed(), failed(), failed()];
    assert_eq!(
        of(&["reference"], &fails),
        [(ReferenceFails, vec!["reference"], true)]
    );
    let unknown = [
        errored(Cause::SandboxUnavailable),
        failed(),
        failed(),
        failed(),
    ];
    assert_eq!(
        of(&["reference"], &unknown),
        [(Unknown, vec!["reference"], false)]
    );
}

#[test]
fn excuse_that_is_not_used_is_named() {
    let excuse = |case: Option<&str>, probes: &[&str]| ProbeExcuse {
        eval: "e".to_owned(),
        case: case.map(str::to_owned),
        probes: probes.iter().map(|&probe| probe.to_owned()).collect(),
        reason: "why".to_owned(),
    };
    let all = [
        excuse(Some("a"), &["null", "cheat"]),
        excuse(None, &["null"]),
        excuse(Some("of another suite"), &["null"]),
    ];
    let mut book = ExcuseBook::new(&all).unwrap();
    let checked = CheckedCase {
        eval: "e".to_owned(),
        case: "a".to_owned(),
        ..case(&[Null, Cheat], None)
    };
    assert_eq!(book.of(&checked).len(), 2);
    book.used(&checked, &["null"]);
    let unused: Vec<_> = book
        .unused(&[], false)
        .into_iter()
        .map(|found| (found.case, found.probes.join(", ")))
        .collect();
    assert_eq!(
        unused,
        [
            ("a".to_owned(), "cheat".to_owned()),
            ("of another suite".to_owned(), "null".to_owned())
        ]
    );
}

#[test]
fn functions_that_no_test_called_are_not_tried() {
    let mut functions = case(&[Reference, Raises, Cheat], None);
    for label in functions.probes.iter_mut().skip(1) {
        label.form = ProbeForm::Function;
    }
    let mut unclear = failed();
    if let Some(verdict) = &mut unclear {
        verdict.inconclusive = true;
    }
    let of = |verdicts: &[Option<ProbeVerdict>]| -> Vec<FindingKind> {
        let found = findings(&functions, verdicts, &CaseExcuses::new());
        found.into_iter().map(|found| found.kind).collect()
    };
    let none = [passed(), unclear.clone(), unclear.clone()];
    assert_eq!(of(&none), [FindingKind::NotTried]);
    // A cheat may fail before it is called; what raises can't.
    let cheat_fails = [passed(), unclear.clone(), failed()];
    assert_eq!(of(&cheat_fails), [FindingKind::NotTried]);
    assert_eq!(of(&[passed(), failed(), unclear]), []);
}
