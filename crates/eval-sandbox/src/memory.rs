//! What the process tree below a job's first processes holds and uses: memory, processor time, and
//! time spent waiting for a processor. Read from `/proc`, so it is a look and no guard: between two
//! looks the kernel's limits count.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

/// A tree with more processes than this is cut off by RLIMIT_NPROC anyway.
const MOST_PROCESSES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryMeasure {
    /// Resident and swapped pages of no file, and page tables: cheap, but pages shared by
    /// copy-on-write count once per process.
    Resident,
    /// The same, the pages in proportion: a page that n processes share counts 1/n for each. Exact
    /// for what a tree shares within itself; of pages shared with a warm interpreter outside of the
    /// job a part counts, once. Dear.
    Proportional,
}

/// The processes of a job, at this moment. Every orphan of a job hangs below its first process, so
/// the walk is complete.
pub(super) fn processes(roots: &[OwnedFd]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    // One root may lie below another.
    let add = |found: &mut Vec<u32>, pid| {
        if !found.contains(&pid) {
            found.push(pid);
        }
    };
    roots
        .iter()
        .filter_map(process_of)
        .for_each(|pid| add(&mut found, pid));
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        children(pid)
            .into_iter()
            .for_each(|child| add(&mut found, child));
        if found.len() > MOST_PROCESSES {
            found.truncate(MOST_PROCESSES);
            break;
        }
    }
    found
}

/// The threads of the processes, which a limit of processes counts.
pub(super) fn threads(processes: &[u32]) -> u64 {
    thread_ids(processes).count() as u64
}

/// The ids of the threads of the processes.
pub(super) fn thread_ids(processes: &[u32]) -> impl Iterator<Item = u32> {
    tasks(processes).filter_map(|task| task.file_name().to_str()?.parse().ok())
}

/// The folders of the threads of the processes.
fn tasks(processes: &[u32]) -> impl Iterator<Item = fs::DirEntry> {
    let folders = processes.iter().map(|pid| format!("/proc/{pid}/task"));
    folders.flat_map(fs::read_dir).flatten().flatten()
}

/// KiB that the processes hold together. Files don't count: those are bounded elsewhere. What is
/// shared counts, since a shared mapping of `/dev/zero` is memory that no limit of the kernel's
/// knows.
pub(super) fn held_kib(processes: &[u32], measure: MemoryMeasure) -> u64 {
    let kib = |pid: &u32| match measure {
        MemoryMeasure::Resident => resident_kib(*pid),
        // A program may forbid to be looked into (PR_SET_DUMPABLE); it does not get away with it.
        MemoryMeasure::Proportional => proportional_kib(*pid).or_else(|| resident_kib(*pid)),
    };
    processes
        .iter()
        .filter_map(kib)
        .fold(0, u64::saturating_add)
}

/// User and system time of the processes and of everything that they waited for, to the clock tick
/// (10 ms).
pub(super) fn cpu(processes: &[u32]) -> Duration {
    processes.iter().filter_map(|pid| cpu_of(*pid)).sum()
}

/// Bytes on disk of open files that have no name any more.
pub(super) fn unlinked_bytes(processes: &[u32]) -> u64 {
    let mut found = std::collections::HashMap::new();
    for pid in processes {
        let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        for path in open.flatten().map(|entry| entry.path()) {
            if let Ok(file) = fs::metadata(path)
                && file.is_file()
                && file.nlink() == 0
            {
                found.insert((file.dev(), file.ino()), file.blocks().saturating_mul(512));
            }
        }
    }
    found.into_values().sum()
}

/// What running threads had of the processors (proc_pid_schedstat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ScheduledTime {
    pub cpu: Duration,
    /// Ready to run, but without a processor.
    pub delay: Duration,
}

/// The sum over all threads that live now; `None` when the kernel does not tell.
pub(super) fn scheduled(processes: &[u32]) -> Option<ScheduledTime> {
    let mut sum: Option<ScheduledTime> = None;
    for task in tasks(processes) {
        let text = fs::read_to_string(task.path().join("schedstat"));
        if let Some(one) = text.ok().and_then(|text| schedstat(&text)) {
            let sum = sum.get_or_insert_default();
            sum.cpu = sum.cpu.saturating_add(one.cpu);
            sum.delay = sum.delay.saturating_add(one.delay);
        }
    }
    sum
}

/// How long the calling thread has waited for a processor until now.
pub(super) fn own_delay() -> Duration {
    // Asked once a job: opening costs many times what reading does.
    thread_local! {
        static OWN: Option<File> = File::open("/proc/thread-self/schedstat").ok();
    }
    let mut buffer = [0u8; 96];
    let read = OWN
        .with(|own| own.as_ref()?.read_at(&mut buffer, 0).ok())
        .unwrap_or(0);
    let text = std::str::from_utf8(buffer.get(..read).unwrap_or_default()).unwrap_or_default();
    schedstat(text).unwrap_or_default().delay
}

fn schedstat(text: &str) -> Option<ScheduledTime> {
    let mut numbers = text
        .split_whitespace()
        .map(|n| n.parse().map(Duration::from_nanos));
    Some(ScheduledTime {
        cpu: numbers.next()?.ok()?,
        delay: numbers.next()?.ok()?,
    })
}

/// Time that a hypervisor took away from all processors together since the start (proc_stat(5),
/// `steal`).
pub(super) fn stolen() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    stolen_in(&text).map_or(Duration::ZERO, ticks)
}

fn stolen_in(stat: &str) -> Option<u64> {
    stat.lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .nth(7)?
        .parse()
        .ok()
}

pub(super) fn process_of(pidfd: &OwnedFd) -> Option<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok() // "-1" once it ended
}

fn resident_kib(pid: u32) -> Option<u64> {
    resident_in(&status(pid)?)
}

fn status(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

fn resident_in(status: &str) -> Option<u64> {
    sum_kib(status, &["RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"])
}

/// The sum of fields of a table of `/proc`; `None` when it lacks the first.
fn sum_kib(text: &str, names: &[&str]) -> Option<u64> {
    let field = |name: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(*name))?;
        line.trim()
            .trim_end_matches(" kB")
            .trim()
            .parse::<u64>()
            .ok()
    };
    field(names.first()?)?;
    Some(names.iter().filter_map(field).fold(0, u64::saturating_add))
}

fn proportional_kib(pid: u32) -> Option<u64> {
    let pages = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let tables = sum_kib(&status(pid)?, &["VmPTE:"]).unwrap_or(0);
    Some(sum_kib(&pages, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"])?.saturating_add(tables))
}

fn cpu_of(pid: u32) -> Option<Duration> {
    cpu_ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(ticks)
}

/// utime, stime, cutime and cstime (proc_pid_stat(5), fields 14 to 17).
fn cpu_ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold anything.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    fields
        .map(|n| n.parse::<u64>().ok())
        .try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)))
}

pub(super) fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in tasks(&[pid]) {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|p| p.parse::<u32>().ok()),
        );
    }
    found
}

fn ticks(count: u64) -> Duration {
    Duration::from_millis(count.saturating_mul(1000) / rustix::param::clock_ticks_per_second())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::super::syscalls::open_pidfd;
    use super::*;

    #[test]
    fn fields_are_found_whatever_a_process_calls_itself() {
        let stat = "12 (a) b (c 1 2) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1 0";
        assert_eq!(cpu_ticks(stat), Some(127));
        assert_eq!(cpu_ticks("12 (short) S 1 2"), Some(0));
        assert_eq!(cpu_ticks("nonsense"), None);
        let status = "Name:\tRssAnon:\nVmPTE:\t 20 kB\nVmSwap:\t 3000 kB\nRssAnon:\t    300 kB\nRssFile:\t  70 kB\nRssShmem:\t       5 kB\n";
        assert_eq!(resident_in(status), Some(3325));
        assert_eq!(
            resident_in("VmPTE:\t 20 kB\n"),
            None,
            "a thread of the kernel has no memory"
        );
        assert_eq!(sum_kib(status, &["Pss_Anon:", "Pss_Shmem:"]), None);
        assert_eq!(stolen_in("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1"), Some(88));
        assert_eq!(stolen_in(""), None);
        let told = ScheduledTime {
            cpu: Duration::from_nanos(5),
            delay: Duration::from_nanos(7),
        };
        assert_eq!(schedstat("5 7 1\n"), Some(told));
        assert_eq!(schedstat("5"), None);
    }

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A Python that has said that it is ready; its stdin holds it.
    fn python(code: &str) -> Option<(Ended, OwnedFd)> {
        use std::io::Read;
        let mut child = Command::new("python3")
            .args(["-c", code])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .inspect_err(|e| println!("SKIPPED: python3: {e}"))
            .ok()?;
        let mut ready = [0u8; 1];
        let told = child
            .stdout
            .as_mut()
            .is_some_and(|out| out.read_exact(&mut ready).is_ok());
        let pidfd = open_pidfd(child.id()).unwrap();
        assert!(told);
        Some((Ended(child), pidfd))
    }

    const MIB: u64 = 1 << 10;

    #[test]
    fn pages_that_a_tree_shares_by_copy_on_write_count_once() {
        let code = "import os,sys\nd=bytearray(os.urandom(1))*(64<<20)\n\
                    for i in range(3):\n  if os.fork()==0: sys.stdin.read(); os._exit(0)\n\
                    print('x',flush=True); sys.stdin.read()";
        let Some((_child, pidfd)) = python(code) else {
            return;
        };
        let tree = processes(&[pidfd]);
        assert!(tree.len() >= 4, "{tree:?}");
        assert!(held_kib(&tree, MemoryMeasure::Resident) > 4 * 60 * MIB);
        let exact = held_kib(&tree, MemoryMeasure::Proportional);
        assert!((64 * MIB..120 * MIB).contains(&exact), "{exact}");
    }

    #[test]
    fn who_forbids_to_be_looked_into_is_counted_all_the_same() {
        let code = "import ctypes,sys\nd=b'x'*(64<<20)\nctypes.CDLL(None).prctl(4,0,0,0,0)\n\
                    print('x',flush=True); sys.stdin.read()";
        let Some((_child, pidfd)) = python(code) else {
            return;
        };
        assert!(held_kib(&processes(&[pidfd]), MemoryMeasure::Proportional) > 64 * MIB);
    }

    #[test]
    fn page_tables_of_untouched_memory_count() {
        // One byte of each 2 MiB is read: the page is the kernel's zero page, the table that names
        // it takes 4 KiB.
        let code = "import ctypes,sys\nl=ctypes.CDLL(None)\nl.mmap.restype=ctypes.c_void_p\n\
                    l.mmap.argtypes=[ctypes.c_void_p,ctypes.c_size_t,ctypes.c_int,ctypes.c_int,ctypes.c_int,ctypes.c_long]\n\
                    n=8192; size=n<<21\np=l.mmap(None,size,1,0x4022,-1,0)\n\
                    l.madvise(ctypes.c_void_p(p),ctypes.c_size_t(size),15)\n\
                    for i in range(n): ctypes.c_char.from_address(p+(i<<21)).value\n\
                    print('x',flush=True); sys.stdin.read()";
        let Some((_child, pidfd)) = python(code) else {
            return;
        };
        let tree = processes(&[pidfd]);
        for measure in [MemoryMeasure::Resident, MemoryMeasure::Proportional] {
            assert!(
                held_kib(&tree, measure) > 32 * MIB,
                "{measure:?}: {}",
                held_kib(&tree, measure)
            );
        }
    }

    #[test]
    fn processor_time_includes_children_that_ended() {
        let code = "import os,subprocess,sys,time\n\
                    subprocess.run([sys.executable,'-c','import time\\nwhile time.process_time()<0.2: pass'])\n\
                    print('x',flush=True); sys.stdin.read()";
        let Some((_child, pidfd)) = python(code) else {
            return;
        };
        let tree = processes(&[pidfd]);
        assert!(cpu(&tree) >= Duration::from_millis(190), "{:?}", cpu(&tree));
        if let Some(living) = scheduled(&tree) {
            assert!(living.cpu < cpu(&tree), "{living:?}");
        }
    }

    #[test]
    fn a_root_below_another_counts_once() {
        let code = "import os,sys\npid=os.fork()\nif pid==0: sys.stdin.read(); os._exit(0)\nprint(pid,flush=True); sys.stdin.read()";
        let Some((child, pidfd)) = python(code) else {
            return;
        };
        let below = children(child.0.id());
        assert_eq!(below.len(), 1);
        let inner = open_pidfd(below[0]).unwrap();
        assert_eq!(processes(&[inner, pidfd]).len(), 2);
    }

    #[test]
    fn an_ended_tree_is_empty() {
        let Some((child, pidfd)) = python("print('x',flush=True); input()") else {
            return;
        };
        drop(child);
        let tree = processes(&[pidfd]);
        assert!(tree.is_empty());
        assert_eq!(
            (
                held_kib(&tree, MemoryMeasure::Proportional),
                scheduled(&tree)
            ),
            (0, None)
        );
    }
}
