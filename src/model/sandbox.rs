//! What a suite demands of the sandbox, resolved.

use std::path::PathBuf;

use super::event::SandboxState;
use super::grade::Trust;

pub use crate::spec::{MinimumTier, MinimumTrust};

/// What the sandbox must give, and what programs in it see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxDemand {
    /// The weakest tier that is accepted; `None` when the suite does not say: any that isolates.
    pub minimum: Option<MinimumTier>,
    /// `None` when the suite does not say: any.
    pub trust: Option<MinimumTrust>,
    /// The Python to use, absolute; `None`: the one in PATH.
    pub python: Option<PathBuf>,
    /// Further folders that programs may read, absolute.
    pub readable: Vec<PathBuf>,
    /// Memory of each program, in MiB, when the suite says; graders have it in their own limits.
    pub memory_mb: Option<u64>,
}

impl SandboxDemand {
    /// True when no way of running code without isolation may be taken, whatever the command line
    /// says.
    pub fn needs_isolation(&self) -> bool {
        let tier = self
            .minimum
            .is_some_and(|minimum| minimum != MinimumTier::None);
        tier || self
            .trust
            .is_some_and(|trust| trust != MinimumTrust::InProcess)
    }

    /// True when verdicts may rest on this.
    pub fn accepts(&self, trust: Trust) -> bool {
        match self.trust {
            None | Some(MinimumTrust::InProcess) => true,
            Some(MinimumTrust::Split) => trust <= Trust::Split,
            Some(MinimumTrust::Harness) => trust <= Trust::Harness,
        }
    }

    /// True when what ran in this sandbox had the isolation that is demanded now.
    pub fn admits(&self, state: &SandboxState) -> bool {
        let strong = self
            .minimum
            .is_none_or(|minimum| state.minimum() <= minimum);
        strong && (state.enforced || !self.needs_isolation())
    }
}

impl SandboxState {
    /// The tier as suites demand it; a name from elsewhere promises nothing.
    fn minimum(&self) -> MinimumTier {
        let all = [
            MinimumTier::Userns,
            MinimumTier::Rootns,
            MinimumTier::Landlock,
        ];
        all.into_iter()
            .find(|tier| tier.name() == self.tier)
            .unwrap_or(MinimumTier::None)
    }

    /// What holds for all that ran in the one or the other: the weaker tier, and only what both
    /// enforce.
    pub fn joined(self, other: SandboxState) -> SandboxState {
        let (weaker, stronger) = if other.minimum() > self.minimum() {
            (other, self)
        } else {
            (self, other)
        };
        let both = |one: Vec<String>, other: Vec<String>| {
            let mut seen = std::collections::BTreeSet::new();
            let mut notes = [one, other].concat();
            notes.retain(|note| seen.insert(note.clone()));
            notes
        };
        SandboxState {
            enforced: weaker.enforced && stronger.enforced,
            cgroup: weaker
                .cgroup
                .filter(|cgroup| Some(cgroup) == stronger.cgroup.as_ref()),
            notes: both(weaker.notes, stronger.notes),
            workspaces: both(weaker.workspaces, stronger.workspaces),
            ..weaker
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_demanded_is_the_least_that_is_accepted() {
        let demand = |trust| SandboxDemand {
            trust,
            ..SandboxDemand::default()
        };
        let accepted = |trust| Trust::ALL.map(|level| demand(trust).accepts(level));
        assert_eq!(accepted(None), [true; 4]);
        assert_eq!(accepted(Some(MinimumTrust::InProcess)), [true; 4]);
        assert_eq!(
            accepted(Some(MinimumTrust::Split)),
            [true, true, false, false]
        );
        assert_eq!(
            accepted(Some(MinimumTrust::Harness)),
            [true, false, false, false]
        );
        let isolation = |minimum| {
            SandboxDemand {
                minimum,
                ..SandboxDemand::default()
            }
            .needs_isolation()
        };
        assert!(
            !isolation(None)
                && !isolation(Some(MinimumTier::None))
                && isolation(Some(MinimumTier::Landlock))
        );
        assert!(demand(Some(MinimumTrust::Split)).needs_isolation());
    }

    fn state(tier: &str, enforced: bool, cgroup: Option<&str>) -> SandboxState {
        SandboxState {
            tier: tier.into(),
            enforced,
            notes: vec!["both".into(), format!("of {tier}")],
            workspaces: vec!["of all".into()],
            landlock_abi: (tier == "landlock").then_some(7),
            cgroup: cgroup.map(Into::into),
        }
    }

    #[test]
    fn two_sandboxes_promise_what_both_keep() {
        let (strong, weak) = (
            state("userns", true, Some("v2")),
            state("landlock", true, None),
        );
        for joined in [
            strong.clone().joined(weak.clone()),
            weak.clone().joined(strong.clone()),
        ] {
            let notes = vec!["both".into(), "of landlock".into(), "of userns".into()];
            assert_eq!(
                joined,
                SandboxState {
                    notes,
                    ..weak.clone()
                }
            );
        }
        let open = state("userns", false, Some("v2"));
        let joined = open.joined(weak);
        assert_eq!(
            (joined.tier.as_str(), joined.enforced, joined.cgroup),
            ("landlock", false, None)
        );
        assert_eq!(strong.clone().joined(strong.clone()), strong);
    }

    #[test]
    fn what_ran_in_less_than_is_demanded_is_not_admitted() {
        let demand = |minimum| SandboxDemand {
            minimum,
            ..SandboxDemand::default()
        };
        let admits = |minimum| {
            [
                ("userns", true),
                ("rootns", true),
                ("landlock", true),
                ("none", false),
                ("userns", false),
                ("new", true),
            ]
            .map(|(tier, enforced)| demand(minimum).admits(&state(tier, enforced, None)))
        };
        assert_eq!(admits(None), [true; 6]);
        assert_eq!(admits(Some(MinimumTier::None)), [true; 6]);
        assert_eq!(
            admits(Some(MinimumTier::Userns)),
            [true, false, false, false, false, false]
        );
        assert_eq!(
            admits(Some(MinimumTier::Landlock)),
            [true, true, true, false, false, false]
        );
    }
}
