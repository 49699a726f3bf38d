//! What a suite demands of the sandbox, resolved.

use std::path::PathBuf;

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
    /// True when no way of running code without isolation may be taken, whatever the command line says.
    pub fn needs_isolation(&self) -> bool {
        let tier = self.minimum.is_some_and(|minimum| minimum != MinimumTier::None);
        tier || self.trust.is_some_and(|trust| trust != MinimumTrust::InProcess)
    }

    /// True when verdicts may rest on this.
    pub fn accepts(&self, trust: Trust) -> bool {
        match self.trust {
            None | Some(MinimumTrust::InProcess) => true,
            Some(MinimumTrust::Split) => trust <= Trust::Split,
            Some(MinimumTrust::Harness) => trust <= Trust::Harness,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_demanded_is_the_least_that_is_accepted() {
        let demand = |trust| SandboxDemand { trust, ..SandboxDemand::default() };
        let accepted = |trust| Trust::ALL.map(|level| demand(trust).accepts(level));
        assert_eq!(accepted(None), [true; 4]);
        assert_eq!(accepted(Some(MinimumTrust::InProcess)), [true; 4]);
        assert_eq!(accepted(Some(MinimumTrust::Split)), [true, true, false, false]);
        assert_eq!(accepted(Some(MinimumTrust::Harness)), [true, false, false, false]);
        let isolation = |minimum| SandboxDemand { minimum, ..SandboxDemand::default() }.needs_isolation();
        assert!(
            !isolation(None) && !isolation(Some(MinimumTier::None)) && isolation(Some(MinimumTier::Landlock))
        );
        assert!(demand(Some(MinimumTrust::Split)).needs_isolation());
    }
}
