//! The limits that this machine sets, and those that programs get.

use super::{CheckGroup, CheckState, DoctorCheck};
use eval_sandbox::{ProgramLimits, probe, probe::MachineFacts};

/// A worker needs a cell, warm interpreters, and 32 processes for its job.
const PROCESSES_OF_A_WORKER: u64 = 64;
/// A job gets 256 MB.
const ENOUGH_MEMORY_KIB: u64 = 1 << 20;
const ENOUGH_FREE_BYTES: u64 = 256 << 20;

pub fn limits(machine: &MachineFacts) -> Vec<DoctorCheck> {
    let temporary = std::env::temp_dir();
    let mut checks = of(machine);
    let free = probe::free_bytes(&temporary);
    let state = if free.is_some_and(|bytes| bytes >= ENOUGH_FREE_BYTES) {
        CheckState::Ok
    } else {
        CheckState::Limited
    };
    let told = free.map_or("unknown".to_owned(), |bytes| {
        format!("{} free", size(bytes >> 10))
    });
    checks.push(DoctorCheck::new(
        CheckGroup::Limits,
        &temporary.display().to_string(),
        state,
        told,
    ));
    checks.push(of_programs(&ProgramLimits::default()));
    checks
}

fn of(machine: &MachineFacts) -> Vec<DoctorCheck> {
    let check = |name, fine: bool, value: String| {
        DoctorCheck::new(
            CheckGroup::Limits,
            name,
            if fine {
                CheckState::Ok
            } else {
                CheckState::Limited
            },
            value,
        )
    };
    let processes = match machine.most_processes {
        None => check("processes", true, "no limit for this user".to_owned()),
        Some(most) => {
            let fine = most >= PROCESSES_OF_A_WORKER;
            let check = check(
                "processes",
                fine,
                format!("{most} for this user (RLIMIT_NPROC)"),
            );
            if fine {
                check
            } else {
                check.fix("`ulimit -u 4096`, or nproc in /etc/security/limits.conf")
            }
        }
    };
    let namespaces = match machine.max_user_namespaces {
        None => check("user namespaces", false, "the kernel has none".to_owned()),
        Some(most) => check("user namespaces", most > 0, format!("at most {most}")),
    };
    let memory = match (machine.memory_kib, machine.available_kib) {
        (Some(all), Some(free)) => check(
            "memory",
            free >= ENOUGH_MEMORY_KIB,
            format!("{}, {} available", size(all), size(free)),
        ),
        _ => check("memory", false, "unknown".to_owned()),
    };
    vec![processes, namespaces, memory]
}

fn of_programs(limits: &ProgramLimits) -> DoctorCheck {
    let value = format!(
        "{} s, {} MB, {} processes, {} kB of each stream, unless a grader says otherwise",
        limits.wall.as_secs(),
        limits.memory_mb,
        limits.processes,
        limits.output_bytes >> 10
    );
    DoctorCheck::new(CheckGroup::Limits, "a program", CheckState::Ok, value)
}

/// As `512 MB` or `23.5 GB`, in units of 1024.
fn size(kib: u64) -> String {
    match kib {
        0..1024 => format!("{kib} kB"),
        1024..1_048_576 => format!("{} MB", kib >> 10),
        _ => format!("{:.1} GB", kib as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_scarce_is_marked() {
        let scarce = MachineFacts {
            most_processes: Some(20),
            max_user_namespaces: Some(0),
            memory_kib: Some(512 << 10),
            available_kib: Some(1000),
            ..MachineFacts::default()
        };
        let told: Vec<String> = of(&scarce)
            .iter()
            .map(|c| format!("{:?} {}: {}", c.state, c.name, c.value))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        Limited processes: 20 for this user (RLIMIT_NPROC)
        Limited user namespaces: at most 0
        Limited memory: 512 MB, 1000 kB available
        ");
        insta::assert_snapshot!(of_programs(&ProgramLimits::default()).value, @"10 s, 256 MB, 32 processes, 1024 kB of each stream, unless a grader says otherwise");
    }
}
