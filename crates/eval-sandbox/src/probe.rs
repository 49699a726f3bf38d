//! What the kernel and the machine offer, for those who explain it: nothing here decides anything.

use std::path::Path;

use super::settings::NoCgroup;

/// Facts about this machine. Text that a kernel does not have is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// As `6.18.44`.
    pub kernel: String,
    pub root: bool,
    /// A container's marks were found.
    pub container: bool,
    /// A system call filter is in force already.
    pub filtered: bool,
    /// `/proc/sys/user/max_user_namespaces`
    pub max_user_namespaces: Option<u64>,
    /// `/proc/sys/kernel/apparmor_restrict_unprivileged_userns` is 1.
    pub apparmor_restricts: bool,
    /// `/proc/sys/kernel/unprivileged_userns_clone` is 0.
    pub clone_forbidden: bool,
    /// The Linux security modules at work, as `lockdown,capability,landlock,yama`.
    pub lsm: String,
    /// The version of Landlock's interface; 0: the kernel has none, or it is switched off.
    pub landlock_abi: u32,
    /// Processes and threads that this user may have; `None`: no limit.
    pub most_processes: Option<u64>,
    /// KiB of memory, and of that what is free to use.
    pub memory_kib: Option<u64>,
    pub available_kib: Option<u64>,
}

/// Looks at this machine.
pub fn machine() -> MachineFacts {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let number = |path: &str| read(path).trim().parse::<u64>().ok();
    let status = read("/proc/self/status");
    let meminfo = read("/proc/meminfo");
    MachineFacts {
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        root: field(&status, "Uid:")
            .is_some_and(|uids| uids.split_whitespace().nth(1) == Some("0")),
        container: Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists(),
        filtered: field(&status, "Seccomp:").is_some_and(|mode| mode.trim() == "2"),
        max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
        apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
            == Some(1),
        clone_forbidden: number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0),
        lsm: read("/sys/kernel/security/lsm").trim().to_owned(),
        landlock_abi: landlock_abi(),
        most_processes: most_processes(&read("/proc/self/limits")),
        memory_kib: kib(&meminfo, "MemTotal:"),
        available_kib: kib(&meminfo, "MemAvailable:"),
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

fn kib(meminfo: &str, name: &str) -> Option<u64> {
    field(meminfo, name)?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The soft limit in the table of `/proc/self/limits`.
fn most_processes(limits: &str) -> Option<u64> {
    field(limits, "Max processes")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(target_os = "linux")]
fn landlock_abi() -> u32 {
    super::landlock::abi().unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn landlock_abi() -> u32 {
    0
}

/// Whether cells can have control groups: `v1 memory, pids`, or why not. Groups are made for a
/// moment to find out.
#[cfg(target_os = "linux")]
pub fn cgroup(helper: &Path) -> Result<String, NoCgroup> {
    super::cgroup::CellGroups::prepare(helper).map(|groups| groups.to_string())
}

#[cfg(not(target_os = "linux"))]
pub fn cgroup(_: &Path) -> Result<String, NoCgroup> {
    let remedy = "run on Linux, for example in a container or a virtual machine".to_owned();
    Err(NoCgroup {
        reason: "control groups are a thing of Linux".to_owned(),
        remedy,
    })
}

/// Bytes that are free in the folder's file system for who is not root.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             96365                unlimited            processes \n";
        assert_eq!(most_processes(limits), Some(96365));
        assert_eq!(
            most_processes(&limits.replace("96365    ", "unlimited")),
            None
        );
        assert_eq!(
            kib("MemTotal:       24683520 kB\nMemFree: 1 kB\n", "MemTotal:"),
            Some(24_683_520)
        );
        assert_eq!(kib("", "MemTotal:"), None);
    }

    #[test]
    fn this_machine_is_looked_at() {
        assert!(free_bytes(Path::new("/")).is_some());
        assert_eq!(free_bytes(Path::new("/no/such/folder")), None);
        #[cfg(target_os = "linux")]
        assert!(machine().kernel.contains('.'));
    }
}
