//! Phase reports of runs that the real fold counted and the real gate decided.

mod build;

use build::*;
use insta::assert_snapshot;

use crate::model::*;

fn markdown(report: &PhaseReport) -> String {
    let mut out = Vec::new();
    super::markdown(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The seeds' suite: 13 capabilities of which one fails, 8 regressions. With 50 samples of each case, 11 evals with 47 passes, 9
/// with 45 and one with 44, pass@1 is 966/1050 = 0.92, and pass^3 the mean of their cubes, 0.77995.
fn seeds_suite() -> Vec<RunEval> {
    let capabilities = [
        "Login flow",
        "Token refresh",
        "Session timeout",
        "Logout",
        "Password reset",
        "Two-factor login",
        "Account lockout",
        "Remember me",
        "Token revocation",
        "Role checks",
        "Sign-up",
        "Email verification",
        "Single sign-on",
    ];
    let regressions = [
        "Password hashing unchanged",
        "Token format stable",
        "Cookie flags",
        "Session store",
        "Rate limits",
        "Audit log",
        "Error messages",
        "Public routes",
    ];
    let ids = |prefix: &'static str,
               names: &[&'static str],
               kind: EvalType|
     -> Vec<(String, &'static str, EvalType)> {
        names.iter().enumerate().map(|(n, name)| (format!("{prefix}-{:03}", n + 1), *name, kind)).collect()
    };
    let all = ids("cap-auth", &capabilities, EvalType::Capability).into_iter().chain(ids(
        "reg-auth",
        &regressions,
        EvalType::Regression,
    ));
    all.enumerate()
        .map(|(n, (id, name, kind))| {
            let passes = if id == "cap-auth-003" { 44 } else { [45, 47][usize::from(n >= 10)] };
            let samples = (0..50).map(|sample| match sample < 50 - passes {
                true => wrong("Session expires after 30 min", "Session persists indefinitely"),
                false => passed(),
            });
            eval(EvalInfo { pass_rate_threshold: 0.9, ..info(&id, name, kind) }, samples.collect())
        })
        .collect()
}

fn seeds_report() -> PhaseReport {
    let thresholds = vec![at_least("pass_at_1", 0.85), at_least("pass_hat_3", 0.70)];
    let run = summary(seeds_suite(), thresholds, &[1, 3]);
    report(vec![
        tests("Unit tests", 45, vec![]),
        tests("Integration tests", 12, vec![]),
        eval_step("Run capability evals", run, &["pass_at_1", "pass_hat_3"]),
    ])
}

#[test]
fn the_seeds_sample_comes_out_field_by_field() {
    assert_snapshot!(markdown(&seeds_report()), @"");
}
