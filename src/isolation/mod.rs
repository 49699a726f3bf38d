//! Opens a sandbox that is at least what a suite demands, or says why it can't be had.

mod commands;
mod private_folder;

use std::path::PathBuf;

use eval_sandbox::{
    Isolation, Sandbox, SandboxConfig, SandboxError, SandboxReport, Tier, WorkspaceSettings,
};

use crate::model::{MinimumTier, NamedPython, SandboxDemand, SandboxState};

pub use commands::{CommandSandbox, PRIVATE_FOLDER, tree_output};
pub use private_folder::PrivateFolder;

/// What a run wants of a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxRequest {
    /// The executable that serves as the sandbox's helper (see [`eval_sandbox::cell_main`]).
    pub helper: PathBuf,
    /// Programs that may run at once, at least 1.
    pub workers: usize,
    /// The user accepts that code runs without isolation.
    pub allow_unsandboxed: bool,
    pub demand: SandboxDemand,
    /// Host folders that programs may read beside those of the demand.
    pub readable: Vec<PathBuf>,
    /// Interpreters of single evals.
    pub pythons: Vec<NamedPython>,
}

/// What is wanted can't be had here; nothing has run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SandboxRefusal {
    pub reason: String,
    /// What a user can do about it; may be empty.
    pub remedy: String,
    pub error: SandboxError,
}

impl SandboxRequest {
    /// The settings of the sandbox, with no more tiers than the demand accepts.
    pub fn config(&self) -> SandboxConfig {
        let usual = SandboxConfig::new(self.helper.clone());
        let weakest = self.demand.minimum.map_or(Tier::Landlock, tier);
        let open = self.allow_unsandboxed && !self.demand.needs_isolation();
        SandboxConfig {
            isolation: if open {
                Isolation::AllowNone
            } else {
                Isolation::Required
            },
            workers: self.workers.max(1),
            tiers: usual
                .tiers
                .iter()
                .copied()
                .filter(|tier| *tier <= weakest && *tier != Tier::None)
                .collect(),
            python: self.demand.python.clone(),
            pythons: self
                .pythons
                .iter()
                .map(|named| named.path.clone())
                .collect(),
            readable: [self.demand.readable.as_slice(), &self.readable].concat(),
            ..usual
        }
    }

    pub async fn open(&self) -> Result<Sandbox, SandboxRefusal> {
        let sandbox = match Sandbox::open(self.config()).await {
            Ok(sandbox) => sandbox,
            Err(error) => return Err(self.refused(error).await),
        };
        for named in &self.pythons {
            if let Err(error) = sandbox.with_python(&named.path) {
                return Err(SandboxRefusal {
                    reason: format!(
                        "an eval requires the Python `{}`, which can't be used: {error}",
                        named.name
                    ),
                    remedy: "change `python` under `config: {sandbox: ...}` in the eval".to_owned(),
                    error,
                });
            }
        }
        match (&self.demand.python, sandbox.python()) {
            // A Python that is not named may be missing: what needs it says so.
            (Some(path), Err(error)) => Err(SandboxRefusal {
                reason: format!(
                    "the suite requires the Python {}, which can't be used: {error}",
                    path.display()
                ),
                remedy: "change `python` under `sandbox:` in the suite".to_owned(),
                error,
            }),
            _ => Ok(sandbox),
        }
    }

    /// As [`SandboxRequest::open`], for programs in workspaces.
    pub async fn open_for_workspaces(
        &self,
        workspaces: WorkspaceSettings,
    ) -> Result<Sandbox, SandboxRefusal> {
        let config = SandboxConfig {
            // Without isolation there are no cells for them.
            isolation: Isolation::Required,
            workspaces: Some(workspaces),
            ..self.config()
        };
        match Sandbox::open(config).await {
            Ok(sandbox) => Ok(sandbox),
            Err(error) => Err(self.refused(error).await),
        }
    }

    async fn refused(&self, error: SandboxError) -> SandboxRefusal {
        let unavailable = match &error {
            SandboxError::Unavailable { remedy, .. } => Some(remedy.as_str()),
            _ => None,
        };
        let remedy = match unavailable {
            Some(remedy) if self.demand.needs_isolation() => remedy,
            other => {
                return SandboxRefusal {
                    reason: format!("untrusted code can't be run: {error}"),
                    remedy: other.unwrap_or("run `eval-harness doctor`").to_owned(),
                    error,
                };
            }
        };
        let mut demanded = Vec::new();
        if let Some(minimum) = self.demand.minimum {
            demanded.push(format!("`minimum: {}`", minimum.name()));
        }
        if let Some(trust) = self.demand.trust {
            demanded.push(format!("`trust: {}`", trust.name()));
        }
        let demanded = demanded.join(" and ");
        let weaker = self.weaker().await.map_or_else(String::new, |tier| {
            format!("; this machine provides only `{tier}`")
        });
        // Going without isolation is not what would help here.
        let fix = remedy
            .split("; or run code without")
            .next()
            .unwrap_or_default();
        SandboxRefusal {
            reason: format!("the suite requires {demanded} for the sandbox{weaker}. {error}"),
            remedy: format!("{fix}; or require less under `sandbox:` in the suite"),
            error,
        }
    }

    /// The tier that this machine gives when less is demanded.
    async fn weaker(&self) -> Option<Tier> {
        let usual = SandboxConfig::new(self.helper.clone());
        let tried = self.config().tiers;
        let tiers: Vec<Tier> = usual
            .tiers
            .iter()
            .copied()
            .filter(|tier| !tried.contains(tier))
            .collect();
        if tiers.is_empty() {
            return None;
        }
        Some(
            Sandbox::open(SandboxConfig { tiers, ..usual })
                .await
                .ok()?
                .state()
                .tier,
        )
    }
}

fn tier(minimum: MinimumTier) -> Tier {
    match minimum {
        MinimumTier::Userns => Tier::Userns,
        MinimumTier::Rootns => Tier::Rootns,
        MinimumTier::Landlock => Tier::Landlock,
        MinimumTier::None => Tier::None,
    }
}

impl From<&SandboxReport> for SandboxState {
    fn from(report: &SandboxReport) -> Self {
        SandboxState {
            tier: report.tier.name().to_owned(),
            enforced: report.enforced,
            notes: report.notes.clone(),
            landlock_abi: report.landlock_abi,
            cgroup: report.cgroup.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(demand: SandboxDemand, allow_unsandboxed: bool) -> SandboxRequest {
        let (helper, readable) = ("/no/helper".into(), vec!["/b".into()]);
        SandboxRequest {
            helper,
            workers: 0,
            allow_unsandboxed,
            demand,
            readable,
            pythons: Vec::new(),
        }
    }

    #[test]
    fn no_tier_below_the_minimum_is_tried_and_the_flag_does_not_lower_it() {
        let of = |minimum| SandboxDemand {
            minimum,
            readable: vec!["/a".into()],
            ..SandboxDemand::default()
        };
        let tried = |minimum| wanted(of(minimum), true).config();
        assert_eq!(tried(Some(MinimumTier::Userns)).tiers, [Tier::Userns]);
        assert_eq!(
            tried(Some(MinimumTier::Rootns)).tiers,
            [Tier::Userns, Tier::Rootns]
        );
        let usual = SandboxConfig::new("/no/helper".into()).tiers;
        for minimum in [Some(MinimumTier::Landlock), Some(MinimumTier::None), None] {
            assert_eq!(tried(minimum).tiers, usual);
        }
        for (minimum, isolation) in [
            (None, Isolation::AllowNone),
            (Some(MinimumTier::None), Isolation::AllowNone),
            (Some(MinimumTier::Landlock), Isolation::Required),
            (Some(MinimumTier::Userns), Isolation::Required),
        ] {
            assert_eq!(tried(minimum).isolation, isolation, "{minimum:?}");
            assert_eq!(
                wanted(of(minimum), false).config().isolation,
                Isolation::Required
            );
        }
        let config = tried(None);
        assert_eq!(
            (config.workers, config.readable),
            (1, vec!["/a".into(), "/b".into()])
        );
    }

    #[tokio::test]
    async fn what_can_not_be_had_is_told_with_what_was_demanded() {
        let demand = SandboxDemand {
            minimum: Some(MinimumTier::Userns),
            ..SandboxDemand::default()
        };
        let refused = wanted(demand, true).open().await.err().unwrap();
        assert!(
            refused
                .reason
                .starts_with("the suite requires `minimum: userns` for the sandbox"),
            "{refused}"
        );
        assert!(
            refused
                .remedy
                .ends_with("; or require less under `sandbox:` in the suite"),
            "{}",
            refused.remedy
        );
        assert!(!refused.remedy.contains("--allow-unsandboxed"));
        let refused = wanted(SandboxDemand::default(), false)
            .open()
            .await
            .err()
            .unwrap();
        assert!(
            refused
                .reason
                .starts_with("untrusted code can't be run: no isolation is available: "),
            "{refused}"
        );
        assert!(
            refused.remedy.ends_with("--allow-unsandboxed"),
            "{}",
            refused.remedy
        );
    }
}
