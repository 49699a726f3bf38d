//! Which samples of a plan are still to run.

/// The samples that a run still wants: all of them, or those that its earlier sessions did not
/// finish.
#[derive(Debug, Clone, Default)]
pub struct RemainingSamples {
    /// One for each eval of the plan, in its order; `None` when everything is wanted.
    evals: Option<Vec<DoneSamples>>,
}

/// What is done of one eval: a bit for each sample, case after case.
#[derive(Debug, Clone, Default)]
struct DoneSamples {
    /// Where the bits of each case begin; one more at the end.
    starts: Vec<u64>,
    bits: Vec<u64>,
}

impl RemainingSamples {
    /// Every sample.
    pub fn all() -> Self {
        RemainingSamples::default()
    }

    /// Nothing yet: evals and cases follow in the plan's order.
    pub(super) fn none() -> Self {
        RemainingSamples {
            evals: Some(Vec::new()),
        }
    }

    pub(super) fn add_eval(&mut self) {
        self.evals.get_or_insert_default().push(DoneSamples {
            starts: vec![0],
            bits: Vec::new(),
        });
    }

    /// The next case of the eval that was added last.
    pub(super) fn add_case(&mut self, samples: u32, done: impl Fn(u32) -> bool) {
        let Some(eval) = self.evals.get_or_insert_default().last_mut() else {
            return;
        };
        let start = eval.starts.last().copied().unwrap_or(0);
        let end = start + u64::from(samples);
        eval.starts.push(end);
        eval.bits.resize(word(end) + 1, 0);
        for sample in (0..samples).filter(|sample| done(*sample)) {
            let at = start + u64::from(sample);
            if let Some(word) = eval.bits.get_mut(word(at)) {
                *word |= 1 << (at % 64);
            }
        }
    }

    /// Whether a sample of the plan is still to run; `case` counts the cases that the plan selects
    /// of the eval, from 0.
    pub fn wants(&self, eval: usize, case: usize, sample: u32) -> bool {
        let Some(evals) = &self.evals else {
            return true;
        };
        let done = || {
            let eval = evals.get(eval)?;
            let at = eval.starts.get(case)? + u64::from(sample);
            let within = at < *eval.starts.get(case + 1)?;
            Some(within && eval.bits.get(word(at))? >> (at % 64) & 1 == 1)
        };
        !done().unwrap_or(false)
    }
}

fn word(bit: u64) -> usize {
    usize::try_from(bit / 64).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_done_is_not_wanted(evals in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<bool>(), 0..150), 0..5), 0..4))
        {
            let mut remaining = RemainingSamples::none();
            for eval in &evals {
                remaining.add_eval();
                for case in eval {
                    remaining.add_case(case.len() as u32, |sample| case[sample as usize]);
                }
            }
            for (e, eval) in evals.iter().enumerate() {
                for (c, case) in eval.iter().enumerate() {
                    for (s, done) in case.iter().enumerate() {
                        prop_assert_eq!(remaining.wants(e, c, s as u32), !done);
                        prop_assert!(RemainingSamples::all().wants(e, c, s as u32));
                    }
                }
            }
        }
    }
}
