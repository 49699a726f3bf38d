//! Binomial draws in constant time, for resampling a histogram.

use super::draws::IndexDraws;

/// The number of successes among `n` trials of chance `p`.
///
/// Exact in distribution: by transformed rejection (algorithm BTRS of W. Hörmann, "The generation
/// of binomial random variates", J. Stat. Comput. Simul. 46, 1993) where about 10 or more are
/// expected, else by inversion (Kachitvichyanukul & Schmeiser, "Binomial random variate
/// generation", Commun. ACM 31, 1988, algorithm BINV).
pub(super) fn binomial(draws: &mut IndexDraws, n: u64, p: f64) -> u64 {
    if n == 0 || p <= 0.0 {
        0
    } else if p >= 1.0 {
        n
    } else if p > 0.5 {
        n - binomial(draws, n, 1.0 - p)
    } else if n as f64 * p < 10.0 {
        by_inversion(draws, n, p)
    } else {
        by_rejection(draws, n, p)
    }
}

fn by_inversion(draws: &mut IndexDraws, n: u64, p: f64) -> u64 {
    let odds = p / (1.0 - p);
    let step = (n as f64 + 1.0) * odds;
    let mut chance = if n < 256 {
        (1.0 - p).powi(n as i32)
    } else {
        (n as f64 * (-p).ln_1p()).exp()
    };
    let mut left = draws.unit();
    let mut k = 0;
    while left > chance && k < n {
        left -= chance;
        k += 1;
        chance *= step / k as f64 - odds;
    }
    k
}

fn by_rejection(draws: &mut IndexDraws, n: u64, p: f64) -> u64 {
    let trials = n as f64;
    let deviation = (trials * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let centre = trials * p + 0.5;
    let quick = 0.92 - 4.2 / b;
    let odds = p / (1.0 - p);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((trials + 1.0) * p).floor();
    loop {
        let u = draws.unit() - 0.5;
        let v = draws.unit();
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + centre).floor();
        if !(0.0..=trials).contains(&k) {
            continue;
        }
        if edge >= 0.07 && v <= quick {
            return k as u64;
        }
        let v = (v * alpha / (a / (edge * edge) + b)).ln();
        let bound = (mode + 0.5) * ((mode + 1.0) / (odds * (trials - mode + 1.0))).ln()
            + (trials + 1.0) * ((trials - mode + 1.0) / (trials - k + 1.0)).ln()
            + (k + 0.5) * (odds * (trials - k + 1.0) / (k + 1.0)).ln()
            + stirling_rest(mode)
            + stirling_rest(trials - mode)
            - stirling_rest(k)
            - stirling_rest(trials - k);
        if v <= bound {
            return k as u64;
        }
    }
}

/// ln(k!) minus Stirling's formula for it, ln(sqrt(2 pi)) + (k + 1/2) ln(k + 1) - (k + 1).
fn stirling_rest(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.08106146679532726,
        0.04134069595540929,
        0.02767792568499834,
        0.02079067210376509,
        0.01664469118982119,
        0.01387612882307075,
        0.01189670994589177,
        0.01041126526197209,
        0.009255462182712733,
        0.00833056343336287,
    ];
    match SMALL.get(k as usize) {
        Some(rest) => *rest,
        None => {
            let square = (k + 1.0) * (k + 1.0);
            (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X = k) for all k, by the recurrence from the definition.
    fn chances(n: u64, p: f64) -> Vec<f64> {
        let mut chance = (n as f64 * (1.0 - p).ln()).exp();
        (0..=n)
            .map(|k| {
                let this = chance;
                chance *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
                this
            })
            .collect()
    }

    #[test]
    fn draws_follow_the_definition() {
        let mut draws = IndexDraws::new(11);
        const DRAWN: usize = 40_000;
        for (n, p) in [
            (20, 0.1),
            (50, 0.3),
            (200, 0.06),
            (400, 0.5),
            (90, 0.8),
            (1_000, 0.02),
            (12, 0.95),
            (20, 0.5),
            (100_000, 1e-4),
            (9, 0.5),
        ] {
            let mut seen = vec![0usize; n as usize + 1];
            for _ in 0..DRAWN {
                seen[binomial(&mut draws, n, p) as usize] += 1;
            }
            // Chi-squared over cells of at least 10 expected; its mean is the number of cells, its
            // deviation sqrt(2 x cells).
            let (mut chi, mut cells, mut expected, mut observed) = (0.0, 0.0, 0.0, 0.0);
            for (chance, seen) in chances(n, p).iter().zip(&seen) {
                expected += chance * DRAWN as f64;
                observed += *seen as f64;
                if expected >= 10.0 {
                    chi += (observed - expected).powi(2) / expected;
                    cells += 1.0;
                    (expected, observed) = (0.0, 0.0);
                }
            }
            assert!(
                chi < cells + 4.0 * (2.0f64 * cells).sqrt(),
                "n={n} p={p}: {chi} over {cells} cells"
            );
        }
    }

    #[test]
    fn the_moments_hold_for_many_trials() {
        let mut draws = IndexDraws::new(5);
        let (n, p, drawn) = (1_000_000u64, 0.37, 20_000);
        let values: Vec<f64> = (0..drawn)
            .map(|_| binomial(&mut draws, n, p) as f64)
            .collect();
        let mean = values.iter().sum::<f64>() / f64::from(drawn);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(drawn);
        let exact = n as f64 * p * (1.0 - p);
        assert!(
            (mean - n as f64 * p).abs() < 4.0 * (exact / f64::from(drawn)).sqrt(),
            "{mean}"
        );
        assert!((variance / exact - 1.0).abs() < 0.04, "{variance} {exact}");
        assert_eq!(binomial(&mut draws, 7, 1.0), 7);
        assert_eq!(binomial(&mut draws, 7, 0.0), 0);
        assert_eq!(binomial(&mut draws, 0, 0.5), 0);
    }
}
