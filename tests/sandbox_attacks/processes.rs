//! The processes below another, by the kernel's own lists.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;

/// Orphans shall come to this process, where they are seen, and not to the machine's init.
pub fn adopt_orphans() {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Every process below `pid`, itself not.
pub fn below(pid: u32) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let mut waiting = vec![pid];
    while let Some(pid) = waiting.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = text
                .split_whitespace()
                .filter_map(|p| p.parse::<u32>().ok());
            for child in children {
                found.push(child);
                waiting.push(child);
            }
        }
    }
    found
}

/// A field of `/proc/<pid>/status`.
pub fn field(pid: &str, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Number, state and command of each process, in words.
pub fn told(pids: &[u32]) -> String {
    let line = |pid: &u32| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command: String = command.replace('\0', " ").chars().take(60).collect();
        format!("{pid} {} {command:?}", field(&pid.to_string(), "State:"))
    };
    pids.iter().map(line).collect::<Vec<_>>().join("; ")
}
