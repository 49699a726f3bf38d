//! How much memory the process tree below a pidfd holds.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};

/// A tree with more processes than this is cut off by RLIMIT_NPROC anyway.
const MOST_PROCESSES: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Resident private pages: cheap, but pages shared by copy-on-write count once per process.
    Resident,
    /// Proportional anonymous memory: exact and dear.
    Proportional,
}

/// KiB held by the trees below `roots`. Every orphan of a job hangs below its minder, so the walk is complete.
pub(super) fn held_kib(roots: &[OwnedFd], measure: Measure) -> u64 {
    let mut waiting: Vec<u32> = roots.iter().filter_map(process_of).collect();
    let mut sum = 0;
    let mut seen = 0;
    while let Some(pid) = waiting.pop() {
        seen += 1;
        if seen > MOST_PROCESSES {
            break;
        }
        sum += match measure {
            Measure::Resident => resident_kib(pid),
            Measure::Proportional => proportional_kib(pid),
        }
        .unwrap_or(0);
        waiting.extend(children(pid));
    }
    sum
}

fn process_of(pidfd: &OwnedFd) -> Option<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok() // "-1" once it ended
}

fn resident_kib(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = text.split_whitespace().skip(1).map(|n| n.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * 4)
}

fn proportional_kib(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:"))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().filter_map(|p| p.parse().ok()).collect::<Vec<u32>>())
        .collect()
}
