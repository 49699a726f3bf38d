//! Which tier works here: found out by building a real cell and running one job in it.

use std::os::fd::AsFd;
use std::time::Duration;

use super::channel::pipe;
use super::error::SandboxError;
use super::filter;
use super::host::{CellSettings, SandboxCell, request};
use super::landlock;
use super::launch::{ProcessLaunch, process_limits};
use super::running::{RunningJob, begin};
use super::same_core::SameCore;
use super::settings::{Isolation, SandboxConfig, SandboxReport, WorkspaceNetwork};
use super::types::{ProgramEnding, ProgramLimits, Tier};

/// The first tier that works, and what is to be said about it.
pub(super) fn detect(
    config: &SandboxConfig,
    interpreter_binds: &[String],
) -> Result<(CellSettings, SandboxReport), SandboxError> {
    let mut reasons = Vec::new();
    let last = (config.isolation == Isolation::AllowNone).then_some(Tier::None);
    for tier in config.tiers.iter().copied().chain(last) {
        match try_tier(config, tier, interpreter_binds) {
            Ok((settings, notes)) => {
                let refused = reasons.iter().map(|(tier, why)| format!("{tier}: {why}"));
                let notes = Some(notes).filter(|notes| !notes.is_empty());
                let report = SandboxReport {
                    tier,
                    enforced: tier != Tier::None,
                    notes: refused.chain(notes).collect(),
                    landlock_abi: landlock::abi().ok().filter(|_| tier == Tier::Landlock),
                    cgroup: None,
                };
                return Ok((settings, report));
            }
            Err(reason) => reasons.push((tier, reason)),
        }
    }
    let remedy = remedy(&reasons);
    Err(SandboxError::Unavailable { reasons, remedy })
}

/// The settings of the tier and its notes, or why it does not work.
fn try_tier(
    config: &SandboxConfig,
    tier: Tier,
    interpreter_binds: &[String],
) -> Result<(CellSettings, String), String> {
    if tier != Tier::None && !filter::SUPPORTED {
        return Err("only x86_64 and aarch64 are supported".to_owned());
    }
    let workspaces = config.workspaces.as_ref();
    if tier == Tier::Landlock
        && workspaces.is_some_and(|workspaces| workspaces.network == WorkspaceNetwork::All)
    {
        return Err("programs in workspaces can't have a network".to_owned());
    }
    let settings = CellSettings::new(config, tier, interpreter_binds);
    let mut cell = SandboxCell::open(&settings).map_err(|e| e.to_string())?;
    let notes = cell.notes.clone();
    let limits = ProgramLimits {
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    };
    let trial = ProcessLaunch::new(Vec::new(), &[], process_limits(&limits));
    let (keep, cancel) = pipe().map_err(|e| e.to_string())?;
    let ended = begin(&mut cell.link, &limits, |link| request(link, vec![trial]))
        .and_then(|started| {
            RunningJob::new(
                &mut cell.link,
                keep.as_fd(),
                started,
                &limits,
                SameCore::default(),
            )?
            .finish()
        })
        .map_err(|e| e.to_string())?;
    drop(cancel);
    match ended.into_iter().next().map(|e| e.ending) {
        Some(Ok(ProgramEnding::Exited(0))) => Ok((settings, notes)),
        Some(Ok(other)) => Err(format!("a trial job failed: {other}")),
        Some(Err(reason)) => Err(reason),
        None => Err("a trial job did not end".to_owned()),
    }
}

/// What helps against the reasons, as far as we can tell.
fn remedy(reasons: &[(Tier, String)]) -> String {
    let reason = |of: Tier| {
        let reason = reasons.iter().find(|(tier, _)| *tier == of);
        reason.map_or("", |(_, reason)| reason)
    };
    let userns = reason(Tier::Userns);
    let setting =
        |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
    let hint = if !filter::SUPPORTED {
        "run on an x86_64 or aarch64 machine"
    } else if userns.contains("unshare") && userns.contains("No space left") {
        "user namespaces are switched off: `sudo sysctl user.max_user_namespaces=15000`"
    } else if setting("kernel/apparmor_restrict_unprivileged_userns").trim() == "1" {
        "AppArmor restricts user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or add a \
             profile that allows them for this program"
    } else if setting("kernel/unprivileged_userns_clone").trim() == "0" {
        "only root may create user namespaces: `sysctl kernel.unprivileged_userns_clone=1`"
    } else if userns.contains("unshare") {
        "in a container, allow user namespaces (for Docker: `--security-opt seccomp=unconfined`) or give it CAP_SYS_ADMIN"
    } else {
        "allow user namespaces, or run with CAP_SYS_ADMIN"
    };
    let weaker = if reason(Tier::Landlock).contains("switched off") {
        "; or boot with `landlock` in the list of `lsm=`, for weaker isolation"
    } else {
        ""
    };
    format!("{hint}{weaker}; or run code without isolation with --allow-unsandboxed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_fits_the_reason() {
        let reasons = vec![(
            Tier::Userns,
            "unshare: No space left on device (os error 28)".to_owned(),
        )];
        assert!(
            remedy(&reasons).contains("max_user_namespaces"),
            "{}",
            remedy(&reasons)
        );
        assert!(remedy(&[]).ends_with("--allow-unsandboxed"));
        let off = vec![(
            Tier::Landlock,
            "Landlock is switched off in this kernel (boot parameter `lsm=`)".to_owned(),
        )];
        assert!(
            remedy(&off).contains("; or boot with `landlock`"),
            "{}",
            remedy(&off)
        );
        assert!(!remedy(&reasons).contains("landlock"));
    }
}
