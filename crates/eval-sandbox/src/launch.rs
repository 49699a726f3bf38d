//! From what is asked for to a process specification: environment, limits, files.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use super::error::SandboxError;
use super::protocol::{ProcessLimits, ProcessSpec};
use super::running::bounded;
use super::types::ProgramLimits;

/// All that a program sees unless more is asked for. `/tmp` stands for the private folder.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("TZ", "UTC"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    // A thread per core would use up the limit of processes on a large machine.
    ("OPENBLAS_NUM_THREADS", "1"),
];

pub(super) fn process_limits(limits: &ProgramLimits) -> ProcessLimits {
    ProcessLimits {
        cpu_seconds: cpu_seconds(limits),
        data_bytes: limits.memory_mb.saturating_mul(1 << 20),
        address_bytes: address_bytes(limits.memory_mb),
        file_bytes: limits.file_mb.saturating_mul(1 << 20),
        processes: limits.processes,
        open_files: limits.open_files,
    }
}

/// Bytes of memory that a page of page tables maps, over the bytes of that page: a byte read in
/// each 2 MiB takes 4 KiB.
const MAPPED_PER_TABLE_BYTE: u64 = 512;
/// Runtimes reserve far more than they use: node 10 GB for each WebAssembly memory, Java 9 GB.
const LEAST_ADDRESS_MB: u64 = 64 << 10;

/// The address space of one process: so large that its page tables, which no other limit of a
/// process counts, can fill the limit of its memory and no more.
fn address_bytes(memory_mb: u64) -> u64 {
    memory_mb
        .saturating_mul(MAPPED_PER_TABLE_BYTE)
        .max(LEAST_ADDRESS_MB)
        .saturating_mul(1 << 20)
}

/// The processor time of one process, in the whole seconds that the kernel counts. Unless asked for
/// otherwise wall time is what counts, and this ends what several threads burn meanwhile.
pub(super) fn cpu_seconds(limits: &ProgramLimits) -> u64 {
    match limits.cpu {
        Some(cpu) => {
            let cpu = bounded(cpu);
            (cpu.as_secs() + u64::from(cpu.subsec_nanos() > 0)).max(1)
        }
        None => bounded(limits.wall).as_secs() + 2,
    }
}

/// A process to start in a cell.
pub(super) struct ProcessLaunch {
    pub spec: ProcessSpec,
    /// Contents of `spec.files`.
    pub contents: Vec<Vec<u8>>,
    pub stdin: Vec<u8>,
    /// Becomes descriptors 3, 4, ...
    pub extra: Vec<OwnedFd>,
}

impl ProcessLaunch {
    /// Of a program without files and input, with `env` added to the usual environment.
    pub fn new(
        argv: Vec<String>,
        env: &[(String, String)],
        limits: ProcessLimits,
    ) -> ProcessLaunch {
        let added = |name: &str| env.iter().any(|(n, _)| n == name);
        let usual = ENVIRONMENT.iter().filter(|(name, _)| !added(name));
        let usual = usual.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let spec = ProcessSpec {
            argv,
            env: usual.chain(env.iter().cloned()).collect(),
            files: Vec::new(),
            dir: None,
            limits,
            executables: Vec::new(),
            built_in: None,
            collect: false,
            observed: false,
            stage: None,
        };
        ProcessLaunch {
            spec,
            contents: Vec::new(),
            stdin: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Puts a file in the working folder.
    pub fn add_file(&mut self, path: String, content: Vec<u8>) {
        self.spec.files.push((path, content.len()));
        self.contents.push(content);
    }
}

/// Refuses files that would lie outside the working folder.
pub(super) fn check_files(files: &[(String, Vec<u8>)]) -> Result<(), SandboxError> {
    for (path, _) in files {
        let inside = Path::new(path)
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if path.is_empty() || !inside || path.contains('\0') {
            let message = format!("the file {path:?} is not in the working folder");
            return Err(SandboxError::BadRequest(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_the_working_folder_are_refused() {
        let file = |p: &str| [(p.to_owned(), Vec::new())];
        for good in ["a", "a/b.txt", "a/..b"] {
            assert_eq!(check_files(&file(good)), Ok(()));
        }
        for bad in ["", "/etc/passwd", "../a", "a/../../b", "./a", "a\0b"] {
            assert!(
                matches!(check_files(&file(bad)), Err(SandboxError::BadRequest(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn address_space_page_tables_fit_the_memory_limit() {
        for memory_mb in [1, 128, 256, 4096] {
            let tables_mb = (address_bytes(memory_mb) >> 20) / MAPPED_PER_TABLE_BYTE;
            assert_eq!(tables_mb, memory_mb.max(128));
        }
        assert_eq!(address_bytes(u64::MAX), u64::MAX);
    }

    #[test]
    fn what_is_asked_for_replaces_the_default_environment() {
        let limits = process_limits(&ProgramLimits::default());
        let added = [("TZ".into(), "Asia/Tokyo".into())];
        let spec = ProcessLaunch::new(Vec::new(), &added, limits).spec;
        let zones: Vec<_> = spec
            .env
            .iter()
            .filter(|(n, _)| n == "TZ")
            .map(|(_, v)| v.as_str())
            .collect();
        assert_eq!(zones, ["Asia/Tokyo"]);
        assert!(
            spec.env
                .iter()
                .any(|(n, v)| n == "PYTHONHASHSEED" && v == "0")
        );
    }
}
