use super::*;
use crate::model::testing::{case, compared_side, eval, plan};
use crate::model::{CaseRecord, EvalCases, EvalRecord, Outcome, PartSelector};

fn planned(cases: usize, samples: u32) -> Plan {
    let of = |at: usize| {
        Arc::new(crate::model::Case {
            samples: Some(samples),
            ..case(&format!("c{at}"))
        })
    };
    plan(vec![Arc::new(eval(
        "e",
        EvalCases::written((0..cases).map(of).collect()),
    ))])
}

fn asked(effect: f64) -> PowerRequest<'static> {
    PowerRequest {
        filters: Vec::new(),
        effect,
        power: 0.8,
        rate: None,
        samples: Vec::new(),
        run: None,
    }
}

fn run(cases: &[(u32, u32)], suite: &str) -> RunScores {
    let case = |(at, (n, c)): (usize, &(u32, u32))| CaseRecord {
        id: format!("c{at}"),
        outcome: Some(Outcome::Passed),
        samples: *n,
        n: *n,
        c: *c,
        ..CaseRecord::default()
    };
    let cases = cases.iter().enumerate().map(case).collect();
    let eval = EvalRecord {
        private: false,
        id: "e".into(),
        outcome: Outcome::Passed,
        score: None,
        kind: None,
        category: None,
        tags: Vec::new(),
        difficulty: None,
        criticality: None,
        weight: None,
        score_threshold: None,
        cases,
    };
    let side = crate::model::ComparedSide {
        suite: suite.into(),
        run_id: "eval-1".into(),
        ..compared_side("r")
    };
    RunScores {
        side,
        ks: vec![1],
        interval_scope: crate::model::IntervalScope::default(),
        score_metrics: Vec::new(),
        evals: vec![eval],
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6, "{a} is not {b}");
}

/// The chance that McNemar's test finds a drop of 400 cases of one sample, whose chances follow
/// Beta(0.8, 0.2).
fn exactly(drop: f64) -> f64 {
    let (n, rate, squares, left) = (400u32, 0.8, 0.72, 1.0 - drop / 0.8);
    let (lose, gain): (f64, f64) = (rate - left * squares, left * (rate - squares));
    let ln_factorial: Vec<f64> = std::iter::once(0.0)
        .chain((1..=n).scan(0.0, |sum, i| {
            *sum += f64::from(i).ln();
            Some(*sum)
        }))
        .collect();
    let mut found = 0.0;
    for lost in 0..150 {
        for gained in 0..100 {
            if eval_stats::mcnemar_mid_p(u64::from(lost), u64::from(gained)).p_lower < 0.05 {
                let rest = n - lost - gained;
                let of = |k: u32| ln_factorial[k as usize];
                let ways = of(n) - of(lost) - of(gained) - of(rest);
                let ln = f64::from(lost) * lose.ln() + f64::from(gained) * gain.ln();
                found += (ways + ln + f64::from(rest) * (1.0 - lose - gain).ln()).exp();
            }
        }
    }
    found
}

/// Of many cases the normal approximation holds: (1.6448536 + 0.8416212) standard errors, of 0.16 a
/// case for one sample; half of 0.8 x 0.2 lies within cases, on either side.
#[test]
fn large_suites_have_the_figures_of_the_normal_approximation() {
    let report = power(&planned(400, 1), &asked(0.05)).unwrap();
    let [only] = report.plans.as_slice() else {
        panic!("{report:?}")
    };
    let reach = 1.644_853_626_951_472 + 0.841_621_233_572_914;
    let drop = only.detectable.unwrap();
    // The claim holds within 3 points by exact sums over losses and gains.
    assert!(
        (exactly(drop) - 0.8).abs() < 0.03,
        "{drop} {}",
        exactly(drop)
    );
    assert!(
        (only.chance - exactly(0.05)).abs() < 0.03,
        "{}",
        only.chance
    );
    let cases = only.cases_needed.unwrap();
    assert!((390..=530).contains(&cases), "{cases}");
    assert_eq!(
        (report.cases, report.samples, report.basis.measured),
        (400, 1, false)
    );
    // Samples of each case do as cases do.
    let more = PowerRequest {
        samples: vec![4, 1, 4],
        ..asked(0.02)
    };
    let report = power(&planned(400, 1), &more).unwrap();
    let [one, four] = report.plans.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!((one.samples, four.samples), (1, 4));
    let ratio = one.detectable.unwrap() / four.detectable.unwrap();
    assert!((1.8..2.3).contains(&ratio), "{ratio}");
    let normal = 0.16 / (400.0 * (0.02 / reach) * (0.02 / reach));
    assert!(
        (f64::from(report.samples_needed.unwrap()) / normal - 1.0).abs() < 0.2,
        "{report:?} {normal}"
    );
}

#[test]
fn too_few_evals_find_no_drop_and_no_advice_would_help() {
    let mut plan = planned(10, 3);
    plan.settings.interval_scope = crate::model::IntervalScope::SimilarEvals;
    let eval = plan.evals[0].clone();
    plan.evals = vec![eval.clone(); 6];
    // Signs of six evals reach 1/64, which all but one of them failing does not.
    let report = power(&plan, &asked(0.05)).unwrap();
    assert!(report.plans[0].chance < 0.6, "{report:?}");
    // Four evals can't be tested as evals; their cases are.
    plan.evals = vec![eval; 4];
    let report = power(&plan, &asked(0.05)).unwrap();
    assert!(report.plans[0].detectable.is_some(), "{report:?}");
    // One case of one sample can lose no more than one flip, of p = 0.25.
    let report = power(&planned(1, 1), &asked(0.05)).unwrap();
    assert_eq!(
        (report.plans[0].detectable, report.plans[0].chance),
        (None, 0.0)
    );
}

#[test]
fn what_a_run_measured_takes_the_place_of_what_is_assumed() {
    // Shares 1, 1/2 and 0 of four samples: p (1 - p) without bias is 0, 4/3 x 1/4 and 0.
    let plan = planned(3, 4);
    let suite = plan.suite.name.clone();
    let measured = run(&[(4, 4), (4, 2), (4, 0)], &suite);
    let report = power(
        &plan,
        &PowerRequest {
            run: Some(&measured),
            ..asked(0.05)
        },
    )
    .unwrap();
    near(report.basis.rate, 0.5);
    near(report.basis.within, 1.0 / 9.0);
    assert!(report.basis.measured);
    assert_eq!(report.sentences.len(), 2, "nothing is assumed");
    // Of one sample each nobody knows how samples of a case differ.
    let single = run(&[(1, 1), (1, 1), (1, 0)], &suite);
    let report = power(
        &plan,
        &PowerRequest {
            run: Some(&single),
            ..asked(0.05)
        },
    )
    .unwrap();
    near(report.basis.rate, 2.0 / 3.0);
    near(report.basis.within, 1.0 / 9.0);
    assert!(!report.basis.measured);
    // Cases without a grade measure nothing.
    let said = |run: &RunScores| {
        power(
            &plan,
            &PowerRequest {
                run: Some(run),
                ..asked(0.05)
            },
        )
        .unwrap_err()
        .to_string()
    };
    assert_eq!(
        said(&run(&[(0, 0)], &suite)),
        "run eval-1 has no graded samples of the selected cases"
    );
    assert_eq!(
        said(&run(&[(1, 1)], "Other")),
        format!("run eval-1 belongs to suite `Other`, not `{suite}`")
    );
    assert_eq!(power(&planned(0, 1), &asked(0.05)), Err(PowerError::NoCase));
}

/// A run in which no sample ever differs from another of its case.
#[test]
fn few_certain_cases_need_many_samples() {
    let plan = planned(2, 2);
    let certain = run(&[(2, 2), (2, 0)], &plan.suite.name);
    let report = power(
        &plan,
        &PowerRequest {
            run: Some(&certain),
            ..asked(0.05)
        },
    )
    .unwrap();
    // Of two cases of which about one ever passes a small drop is hardly found, however many
    // samples they have.
    assert!(report.plans[0].chance < 0.2, "{report:?}");
    assert!(
        report.samples_needed.is_none_or(|samples| samples > 10),
        "{report:?}"
    );
}

#[test]
fn thresholds_on_ends_of_intervals_have_chances_where_they_can_be_known() {
    let threshold = |metric: &str, bound, on, value| Threshold {
        metric: metric.into(),
        bound,
        value,
        on,
    };
    let mut plan = planned(100, 1);
    plan.gate.thresholds = vec![
        threshold("pass_at_1", Bound::Min, Figure::CiLower, 0.9),
        threshold("pass_at_1", Bound::Min, Figure::Value, 0.9),
        threshold("pass_rate", Bound::Min, Figure::CiLower, 0.1),
        threshold("case_pass_rate", Bound::Min, Figure::CiLower, 0.7),
        threshold(
            &format!("pass_at_1[{}]", PartSelector::Tag("none".into())),
            Bound::Min,
            Figure::CiLower,
            0.7,
        ),
    ];
    let report = power(
        &plan,
        &PowerRequest {
            rate: Some(0.95),
            ..asked(0.05)
        },
    )
    .unwrap();
    let told: Vec<String> = report
        .thresholds
        .iter()
        .map(|t| {
            format!(
                "{} {} over {}: {:?} {:?}",
                t.metric,
                t.value,
                t.n,
                t.chance.map(|c| (c * 1e4).round() / 1e4),
                t.needed
            )
        })
        .collect();
    // 96 of 100 have a lower end of 0.9016, 95 one of 0.8882: the chance is that of 96 passes or
    // more, 1 - P(X <= 95) = 0.4360.
    insta::assert_snapshot!(told.join("\n"), @r"
    pass_at_1 0.9 over 100: Some(0.436) Some(254)
    pass_rate 0.1 over 1: None None
    case_pass_rate 0.7 over 100: Some(1.0) Some(21)
    pass_at_1[tag=none] 0.7 over 0: None None
    ");
    // How alike cases of one eval are is unknown before a run, which evals like these need.
    let cases = || {
        EvalCases::written(
            (0..10)
                .map(|at| Arc::new(case(&format!("c{at}"))))
                .collect(),
        )
    };
    let evals = |n: usize| {
        (0..n)
            .map(|at| Arc::new(eval(&format!("e{at}"), cases())))
            .collect()
    };
    let of = |n: crate::model::IntervalScope| {
        let mut plan = crate::model::testing::plan(evals(6));
        plan.settings.interval_scope = n;
        plan.gate.thresholds = vec![threshold("pass_at_1", Bound::Min, Figure::CiLower, 0.9)];
        let told = power(
            &plan,
            &PowerRequest {
                rate: Some(0.95),
                ..asked(0.05)
            },
        )
        .unwrap();
        (
            told.thresholds[0].chance.is_some(),
            told.thresholds[0].needed.is_some(),
        )
    };
    use crate::model::IntervalScope::{SimilarCases, SimilarEvals};
    assert_eq!(
        (of(SimilarCases), of(SimilarEvals)),
        ((true, true), (false, false))
    );
    // Of several samples the mean is about normal, and more of them make it likelier.
    let chance = |samples: u32| {
        let mut plan = planned(100, samples);
        plan.gate.thresholds = vec![threshold("pass_at_1", Bound::Min, Figure::CiLower, 0.9)];
        power(
            &plan,
            &PowerRequest {
                rate: Some(0.95),
                ..asked(0.05)
            },
        )
        .unwrap()
        .thresholds[0]
            .chance
            .unwrap()
    };
    assert!(
        chance(2) > 0.3 && chance(2) < chance(10),
        "{} {}",
        chance(2),
        chance(10)
    );
}
