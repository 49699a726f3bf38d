//! Why a tier does not work, and what helps. Pure.

use std::path::Path;

use super::{CheckGroup, CheckState, DoctorCheck};
use eval_sandbox::probe::MachineFacts;
use eval_sandbox::{NoCgroup, Tier};

/// A tier in which a trial job ran.
pub fn works(tier: Tier, chosen: bool) -> DoctorCheck {
    let what = match tier {
        Tier::Userns => "namespaces of its own, a read-only root, a system call filter",
        Tier::Rootns => "as userns, by the rights of root",
        Tier::Landlock => "Landlock and a system call filter on your own file system",
        Tier::None => "limits and a clean environment only",
    };
    let state = if tier == Tier::None {
        CheckState::Limited
    } else {
        CheckState::Ok
    };
    let value = if chosen {
        format!("chosen: {what}")
    } else {
        format!("works too: {what}")
    };
    DoctorCheck::new(CheckGroup::Isolation, tier.name(), state, value)
}

/// A tier in which no job runs; `covered`: a stronger one works.
pub fn fails(
    tier: Tier,
    reason: &str,
    machine: &MachineFacts,
    program: &Path,
    covered: bool,
) -> DoctorCheck {
    let state = if covered {
        CheckState::Unused
    } else {
        CheckState::Missing
    };
    let check = DoctorCheck::new(CheckGroup::Isolation, tier.name(), state, reason);
    match remedy(tier, reason, machine, program) {
        Some(fix) if !covered => check.fix(fix),
        _ => check,
    }
}

fn remedy(tier: Tier, reason: &str, machine: &MachineFacts, program: &Path) -> Option<String> {
    let refused = ["not permitted", "ermission denied", "refused"]
        .iter()
        .any(|word| reason.contains(word));
    if reason.contains("not implemented") {
        return Some(format!(
            "Linux 5.12 or newer is needed; this is {}",
            machine.kernel
        ));
    }
    let fix = match tier {
        Tier::Userns if machine.max_user_namespaces == Some(0) || reason.contains("No space left") => {
            "user namespaces are switched off: `sudo sysctl user.max_user_namespaces=15000`".to_owned()
        }
        Tier::Userns if machine.clone_forbidden && !machine.root => {
            "user namespaces are for root only: `sudo sysctl kernel.unprivileged_userns_clone=1`".to_owned()
        }
        Tier::Userns if machine.apparmor_restricts && !machine.root => apparmor(program),
        Tier::Userns | Tier::Rootns if refused && (machine.container || machine.filtered) => {
            "the container's system call filter forbids it: for Docker `--security-opt seccomp=unconfined \
             --security-opt apparmor=unconfined`, or `--cap-add SYS_ADMIN` for the rootns tier"
                .to_owned()
        }
        Tier::Rootns if !machine.root => {
            "only needed where userns can't be had: run as root or with CAP_SYS_ADMIN".to_owned()
        }
        Tier::Rootns if reason.contains("setresgid") => {
            "needs a user beside root: this is the root of a user namespace that maps no other".to_owned()
        }
        Tier::Landlock if machine.landlock_abi == 0 => no_landlock(machine),
        Tier::Landlock if machine.landlock_abi < 3 => {
            format!("Landlock ABI 3 (Linux 6.2) is needed; this kernel has {}", machine.landlock_abi)
        }
        _ => return None,
    };
    Some(fix)
}

/// Ubuntu from 23.10 on.
fn apparmor(program: &Path) -> String {
    format!(
        "AppArmor restricts user namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` for every \
         program, or for this one alone write `abi <abi/4.0>, profile eval-harness {} flags=(unconfined) {{ userns, }}` \
         to /etc/apparmor.d/eval-harness and load it with `sudo apparmor_parser -r /etc/apparmor.d/eval-harness`",
        program.display()
    )
}

fn no_landlock(machine: &MachineFacts) -> String {
    let listed = machine.lsm.split(',').any(|module| module == "landlock");
    if machine.lsm.is_empty() || listed {
        "needs Linux 6.2 or newer, built with CONFIG_SECURITY_LANDLOCK".to_owned()
    } else {
        format!(
            "if the kernel has it, boot with `lsm=landlock,{}`",
            machine.lsm
        )
    }
}

/// The kernel's Landlock, whether or not a tier needs it.
pub fn landlock(machine: &MachineFacts) -> DoctorCheck {
    let check = |state, value: String| {
        DoctorCheck::new(CheckGroup::Isolation, "landlock abi", state, value)
    };
    match machine.landlock_abi {
        0 => check(CheckState::Unused, "the kernel has no Landlock".to_owned())
            .fix(no_landlock(machine)),
        abi if abi < 3 => check(
            CheckState::Limited,
            format!("{abi}; the landlock tier needs 3 (Linux 6.2)"),
        ),
        abi => check(CheckState::Ok, abi.to_string()),
    }
}

pub fn cgroup(found: Result<String, NoCgroup>) -> DoctorCheck {
    match found {
        Ok(groups) => DoctorCheck::new(
            CheckGroup::Isolation,
            "cgroup",
            CheckState::Ok,
            format!("{groups}: memory is bounded"),
        ),
        Err(NoCgroup { reason, remedy }) => {
            let value = format!("memory is watched every 25 ms, not bounded: {reason}");
            DoctorCheck::new(CheckGroup::Isolation, "cgroup", CheckState::Limited, value)
                .fix(remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(tier: Tier, reason: &str, machine: MachineFacts) -> String {
        fails(
            tier,
            reason,
            &machine,
            Path::new("/opt/eval-harness"),
            false,
        )
        .fix
        .unwrap_or_default()
    }

    #[test]
    fn each_reason_has_its_fix() {
        let user = MachineFacts {
            kernel: "5.4.0".into(),
            max_user_namespaces: Some(100),
            ..MachineFacts::default()
        };
        let root = MachineFacts {
            root: true,
            ..user.clone()
        };
        let off = "unshare: No space left on device (os error 28)";
        insta::assert_snapshot!(fix(Tier::Userns, off, user.clone()), @"user namespaces are switched off: `sudo sysctl user.max_user_namespaces=15000`");
        insta::assert_snapshot!(fix(Tier::Userns, "uid_map: refused", MachineFacts { apparmor_restricts: true, ..user.clone() }), @"AppArmor restricts user namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` for every program, or for this one alone write `abi <abi/4.0>, profile eval-harness /opt/eval-harness flags=(unconfined) { userns, }` to /etc/apparmor.d/eval-harness and load it with `sudo apparmor_parser -r /etc/apparmor.d/eval-harness`");
        insta::assert_snapshot!(fix(Tier::Userns, "unshare: Operation not permitted", MachineFacts { clone_forbidden: true, ..user.clone() }), @"user namespaces are for root only: `sudo sysctl kernel.unprivileged_userns_clone=1`");
        insta::assert_snapshot!(fix(Tier::Userns, "unshare: Operation not permitted", MachineFacts { container: true, ..root.clone() }), @"the container's system call filter forbids it: for Docker `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or `--cap-add SYS_ADMIN` for the rootns tier");
        insta::assert_snapshot!(fix(Tier::Userns, "open_tree /usr: Function not implemented", root), @"Linux 5.12 or newer is needed; this is 5.4.0");
        insta::assert_snapshot!(fix(Tier::Rootns, "unshare: Operation not permitted", user.clone()), @"only needed where userns can't be had: run as root or with CAP_SYS_ADMIN");
        insta::assert_snapshot!(fix(Tier::Landlock, "x", MachineFacts { landlock_abi: 2, ..user.clone() }), @"Landlock ABI 3 (Linux 6.2) is needed; this kernel has 2");
        insta::assert_snapshot!(fix(Tier::Landlock, "x", MachineFacts { lsm: "lockdown,yama".into(), ..user.clone() }), @"if the kernel has it, boot with `lsm=landlock,lockdown,yama`");
        assert_eq!(
            fix(Tier::Userns, "something new", user),
            "",
            "no advice rather than a wrong one"
        );
    }

    #[test]
    fn what_a_stronger_tier_covers_needs_no_fix() {
        let check = fails(
            Tier::Rootns,
            "not permitted",
            &MachineFacts::default(),
            Path::new("x"),
            true,
        );
        assert_eq!((check.state, check.fix), (CheckState::Unused, None));
    }
}
