use proptest::prelude::*;

use super::*;

const HOW: ResamplingOptions = ResamplingOptions {
    resamples: 10_000,
    seed: 1,
    level: 0.95,
};

fn pairs<'a>(reference: &'a [f64], candidate: &'a [f64]) -> MetricPairs<'a> {
    MetricPairs {
        reference,
        candidate,
        weights: None,
        groups: None,
        deals: None,
        single: false,
        shares: true,
    }
}

fn shown(paired: Result<PairedResult, UndefinedReason>) -> String {
    let paired = match paired {
        Ok(paired) => paired,
        Err(why) => return why.to_string(),
    };
    let interval = paired.interval.map_or_else(
        |why| why.to_string(),
        |i| format!("[{:.4}, {:.4}] {}", i.low, i.high, i.method.name()),
    );
    let test = paired.test.unwrap();
    format!(
        "{:.4} - {:.4} = {:.4} {interval}; {} {:.4} {:.4}",
        paired.candidate,
        paired.reference,
        paired.difference,
        test.method.name(),
        test.p_lower,
        test.p_higher
    )
}

#[test]
fn single_outcomes_get_mcnemar_and_tango() {
    // The 21 children of Fagerland, Lydersen & Laake: 1 and 7 flipped, 1 and 12 did not.
    let reference: Vec<f64> = (0..21).map(|i| f64::from(u8::from(i < 8))).collect();
    let candidate: Vec<f64> = (0..21)
        .map(|i| f64::from(u8::from(i < 1 || i == 20)))
        .collect();
    let both = MetricPairs {
        single: true,
        ..pairs(&reference, &candidate)
    };
    insta::assert_snapshot!(shown(paired(&both, HOW)), @"0.0952 - 0.3810 = -0.2857 [-0.5172, -0.0260] tango; mcnemar_mid_p 0.0195 0.9805");
    let same = MetricPairs {
        single: true,
        ..pairs(&reference, &reference)
    };
    insta::assert_snapshot!(shown(paired(&same, HOW)), @"0.3810 - 0.3810 = 0.0000 [-0.1546, 0.1546] tango; mcnemar_mid_p 0.5000 0.5000");
}

#[test]
fn shares_get_sign_flips_and_a_bootstrap() {
    let reference: Vec<f64> = (0..60).map(|i| f64::from(i % 6) / 5.0).collect();
    let candidate: Vec<f64> = (0..60)
        .map(|i| f64::from((i % 6 - i % 4 / 3).max(0)) / 5.0)
        .collect();
    let groups: Vec<u32> = (0..60).map(|i| i / 5).collect();
    let grouped = MetricPairs {
        groups: Some(&groups),
        ..pairs(&reference, &candidate)
    };
    let weights: Vec<f64> = (0..60).map(|i| f64::from(i % 3)).collect();
    let weighted = MetricPairs {
        weights: Some(&weights),
        ..pairs(&reference, &candidate)
    };
    let same = pairs(&reference, &reference);
    let all = [pairs(&reference, &candidate), grouped, weighted, same]
        .map(|pairs| shown(paired(&pairs, HOW)));
    insta::assert_snapshot!(all.join("\n"), @r"
    0.4500 - 0.5000 = -0.0500 [-0.0726, -0.0274] bootstrap; sign_flip 0.0001 1.0000
    0.4500 - 0.5000 = -0.0500 [-0.0615, -0.0385] cluster_bootstrap; cluster_sign_flip 0.0002 1.0000
    0.5833 - 0.6333 = -0.0500 [-0.0793, -0.0207] bootstrap; sign_flip 0.0010 1.0000
    0.5000 - 0.5000 = 0.0000 [-0.0602, 0.0602] tango; sign_flip 1.0000 1.0000
    ");
}

#[test]
fn what_can_not_be_compared_is_refused_with_its_reason() {
    assert_eq!(paired(&pairs(&[], &[]), HOW), Err(UndefinedReason::NoData));
    assert_eq!(
        paired(&pairs(&[1.0], &[]), HOW),
        Err(UndefinedReason::Unpaired { left: 1, right: 0 })
    );
    assert_eq!(
        paired(&pairs(&[f64::NAN], &[0.0]), HOW),
        Err(UndefinedReason::NotFinite)
    );
    let weighted = |weights: &'static [f64]| {
        paired(
            &MetricPairs {
                weights: Some(weights),
                ..pairs(&[1.0, 0.0], &[0.0, 0.0])
            },
            HOW,
        )
    };
    assert_eq!(
        weighted(&[1.0]),
        Err(UndefinedReason::Unpaired { left: 2, right: 1 })
    );
    assert_eq!(weighted(&[0.0, 0.0]), Err(UndefinedReason::Weights));
    assert_eq!(weighted(&[-1.0, 2.0]), Err(UndefinedReason::Weights));
    assert_eq!(
        weighted(&[f64::INFINITY, 2.0]),
        Err(UndefinedReason::NotFinite)
    );
    // What has no sum has no p-value, either: not 0.
    for large in [1e308, -1e308] {
        let unlike = pairs(
            &[0.0, 0.0],
            if large > 0.0 {
                &[1e308, 1e308]
            } else {
                &[-1e308, -1e308]
            },
        );
        assert_eq!(
            paired(
                &MetricPairs {
                    shares: false,
                    ..unlike
                },
                HOW
            ),
            Err(UndefinedReason::NotFinite)
        );
    }
    let one = paired(&pairs(&[1.0], &[0.5]), HOW).unwrap();
    assert_eq!(
        one.interval,
        Err(UndefinedReason::TooFewUnits {
            n: 1,
            unit: "cases"
        })
    );
    assert_eq!(one.test.unwrap().p_lower, 0.5);
}

/// Sums of fifths that cancel out leave rounding in binary, whose sign is none.
#[test]
fn rounding_is_no_difference() {
    let (before, after) = ([0.4, 0.4].repeat(12), [0.6, 0.2].repeat(12));
    let groups: Vec<u32> = (0..24).map(|i| i / 2).collect();
    let sum: f64 = [0.6, 0.2]
        .iter()
        .zip([0.4, 0.4])
        .map(|(after, before)| after - before)
        .sum();
    assert!(sum < 0.0, "{sum}");
    let found = paired(
        &MetricPairs {
            groups: Some(&groups),
            ..pairs(&before, &after)
        },
        HOW,
    )
    .unwrap();
    let test = found.test.unwrap();
    assert_eq!(
        (found.difference, test.p_lower, test.p_higher),
        (0.0, 1.0, 1.0)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Groups of one case each are cases, equal weights are no weights, and the sides are each
    /// other's mirror.
    #[test]
    fn the_variants_agree_where_they_mean_the_same(
        values in prop::collection::vec((0u8..=5, 0u8..=5), 2..40), seed: u64,
    ) {
        let how = ResamplingOptions { resamples: 200, seed, level: 0.95 };
        let before: Vec<f64> = values.iter().map(|(b, _)| f64::from(*b) / 5.0).collect();
        let after: Vec<f64> = values.iter().map(|(_, a)| f64::from(*a) / 5.0).collect();
        let plain = paired(&pairs(&before, &after), how).unwrap();
        let groups: Vec<u32> = (0..values.len() as u32).collect();
        let grouped = paired(&MetricPairs { groups: Some(&groups), ..pairs(&before, &after) }, how).unwrap();
        let ends = |of: &PairedResult| of.interval.map(|i| (i.low, i.high));
        prop_assert_eq!(ends(&plain), ends(&grouped));
        let p = |of: &PairedResult| of.test.map(|t| (t.p_lower, t.p_higher));
        prop_assert_eq!(p(&plain), p(&grouped));
        let ones = vec![1.0; values.len()];
        let weighted = paired(&MetricPairs { weights: Some(&ones), ..pairs(&before, &after) }, how).unwrap();
        prop_assert_eq!(&plain, &weighted);
        let mirrored = paired(&pairs(&after, &before), how).unwrap();
        prop_assert!((plain.difference + mirrored.difference).abs() < 1e-12);
        if values.len() <= 14 {
            prop_assert_eq!(p(&plain), p(&mirrored).map(|(low, high)| (high, low)));
        }
        let interval = plain.interval.unwrap();
        prop_assert!(interval.low <= plain.difference + 1e-9 && plain.difference <= interval.high + 1e-9);
        prop_assert!(interval.low < interval.high);
    }
}
