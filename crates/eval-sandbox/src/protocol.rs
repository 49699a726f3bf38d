//! What the harness and a cell say to each other.
//!
//! Messages on the control socket are short; what can be long (a cell's settings, a process with
//! its files) travels in a sealed memory file beside the message, and a process' file is opened
//! only by the child that becomes that process.
//!
//! - harness -> cell, first message: a descriptor with [`CellConfig`] as JSON; the answer is
//!   `O<notes>`, with the listener of its system calls where it has one, or `E<reason>`.
//! - harness -> cell, per job: one byte per process, its count of descriptors: specification,
//!   stdin, stdout, stderr, status, and whatever the program gets as 3, 4, ...
//! - cell -> harness: `S` with one pidfd per process, then for each that ended
//!   `X<index> <status> <cpu us> <peak KiB>`.
//! - harness -> cell, [`START_SERVER`]: the descriptors of one process that becomes a fork server;
//!   the answer is `V` with its pidfd. What a fork server is asked and answers stands at the head
//!   of `python/server.py`.
//! - harness -> cell, [`OPEN_PORTS`]: one end of a connection on which a fork of the cell answers
//!   (`ports.rs`).
//! - status pipe: `S<wait status>` of the program itself, or `F<reason>` when it could not be
//!   started.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

use super::Tier;
use super::confinement::Confinement;
use super::ending::ProcessExit;
use super::filter::{FilterPart, FilterScope};
use super::settings::{WorkspaceNetwork, WorkspaceSettings};

/// Descriptors of a process before the extra ones: specification, stdin, stdout, stderr, status.
pub(super) const FIXED_FDS: usize = 5;

/// The message that asks for a fork server. No process has as many descriptors.
pub(super) const START_SERVER: &[u8] = b"V";

/// The message that asks for connections to ports. No process has as many descriptors either.
pub(super) const OPEN_PORTS: &[u8] = b"W";

/// What a cell or a fork server says of a job.
#[derive(Debug)]
pub(super) enum CellMessage {
    /// Processes run, here are their pidfds. A cell tells of all at once, a fork server of each.
    Started {
        pidfds: Vec<OwnedFd>,
        all: bool,
    },
    Ended {
        index: usize,
        exit: ProcessExit,
    },
    /// A process could not be shut in, and nothing of it ran.
    Failed(String),
    /// It ended, or talks nonsense.
    Gone,
}

/// Reads a message of a cell or a fork server.
pub(super) fn told(message: &[u8], fds: Vec<OwnedFd>) -> CellMessage {
    let text = String::from_utf8_lossy(message);
    if text.starts_with('S') && !fds.is_empty() {
        return CellMessage::Started {
            pidfds: fds,
            all: text.len() == 1,
        };
    }
    if let Some(failure) = text.strip_prefix('F') {
        return CellMessage::Failed(
            failure
                .split_once(' ')
                .map_or(failure, |(_, reason)| reason)
                .to_owned(),
        );
    }
    let mut numbers = text
        .strip_prefix('X')
        .unwrap_or_default()
        .split(' ')
        .map(str::parse::<i64>);
    let mut next = || numbers.next()?.ok();
    match (next(), next(), next(), next()) {
        (Some(index), Some(status), Some(cpu_us), Some(peak_kib)) => CellMessage::Ended {
            index: usize::try_from(index).unwrap_or(usize::MAX),
            exit: ProcessExit {
                status: status as i32,
                cpu: Duration::from_micros(cpu_us.try_into().unwrap_or(0)),
                peak_kib: peak_kib.try_into().unwrap_or(0),
            },
        },
        _ => CellMessage::Gone,
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CellConfig {
    pub tier: Tier,
    /// Host paths that jobs see, read-only, at the same place.
    pub binds: Vec<String>,
    pub tmp_mb: u64,
    pub tmp_inodes: u64,
    /// Jobs are observed, so that the cell has no listener: there can be one only.
    pub observed: bool,
    /// The folder below which jobs get theirs, in the tiers that share the host's file system; the
    /// keeper makes it.
    pub scratch: String,
    /// Its jobs run in workspaces, with other rules for system calls.
    #[serde(default)]
    pub workspaces: Option<WorkspaceSettings>,
    /// What the cell of the landlock tier found out about itself.
    #[serde(skip)]
    pub confinement: Confinement,
    /// What the programs of jobs decide: not all where the cell has a listener.
    #[serde(skip)]
    pub part: FilterPart,
}

impl CellConfig {
    /// What a cell in separate namespaces keeps, and its minders have. Programs get none of it.
    pub fn capabilities(&self) -> CapabilitySet {
        if self.workspaces.is_some() {
            // An overlay works with the rights of who mounts it, in folders of mode 0. Whether a
            // program may do what it wants is checked before.
            CapabilitySet::SYS_ADMIN | CapabilitySet::DAC_OVERRIDE
        } else {
            CapabilitySet::SYS_ADMIN
        }
    }

    /// The rules for system calls of a job in separate namespaces.
    pub fn namespace_scope(&self) -> FilterScope {
        match &self.workspaces {
            Some(workspaces) => FilterScope::Workspace {
                host_network: workspaces.network == WorkspaceNetwork::All,
            },
            None => FilterScope::Namespaces,
        }
    }
}

/// The limits that the kernel keeps for each process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProcessLimits {
    pub cpu_seconds: u64,
    pub data_bytes: u64,
    pub address_bytes: u64,
    pub file_bytes: u64,
    pub processes: u64,
    pub open_files: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProcessSpec {
    /// Empty: nothing is executed, the process ends with 0 once every protection is in place.
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    /// (path below the working folder, length of its content)
    pub files: Vec<(String, usize)>,
    /// Where the program runs; `None`: the working folder, where the files lie. A NUL in `argv`
    /// stands for that one.
    pub dir: Option<String>,
    pub limits: ProcessLimits,
    /// Those of `files` that may be executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executables: Vec<String>,
    /// A part of this program that runs in place of `argv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<BuiltIn>,
    /// Once the program ended well, the files of its folder are written to the last of the extra
    /// descriptors, which it does not get itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collect: bool,
    /// Every system call is notified; the first of the extra descriptors is the socket that the
    /// listener leaves by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// Only in a cell for workspaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageSpec>,
}

/// What a job in a workspace sees besides the cell's root. Paths to mount are relative to
/// [`super::stage::SOURCES`]; in the tiers that share the host's file system they are the host's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StageSpec {
    pub root: StageRoot,
    pub read_only: Vec<StageBind>,
    /// Size of `/tmp`, and of the home folder.
    pub tmp_mb: u64,
    /// Name of a file for a verdict in the folder of results: nothing else in it is collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

/// What is at `/workspace`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum StageRoot {
    Overlay {
        /// The topmost first.
        lowers: Vec<String>,
        upper: String,
        /// Each job makes a folder in it.
        work: String,
    },
    Folder(String),
    /// The last of the extra descriptors is an overlay that the harness has mounted nowhere.
    Mounted,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StageBind {
    pub from: String,
    /// Absolute, inside.
    pub at: String,
}

/// What a process may run without an `execve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum BuiltIn {
    /// SQLite: a request on stdin, rows on stdout.
    Sql,
    /// Tries what a workspace's file system can do (`workspace.rs`).
    WorkspaceProbe,
}

/// A specification as it travels: the length of the JSON in decimal, a newline, the JSON, the
/// files' contents.
pub(super) fn encode_spec(spec: &ProcessSpec, contents: &[Vec<u8>]) -> serde_json::Result<Vec<u8>> {
    let json = serde_json::to_vec(spec)?;
    let mut bytes = format!("{}\n", json.len()).into_bytes();
    bytes.extend(json);
    for content in contents {
        bytes.extend_from_slice(content);
    }
    Ok(bytes)
}

/// A file of a job: its path below the working folder and its content.
pub(super) type JobInputFile<'a> = (String, &'a [u8]);

/// The reverse of [`encode_spec`]; `None` when the bytes are no specification.
pub(super) fn decode_spec(bytes: &[u8]) -> Option<(ProcessSpec, Vec<JobInputFile<'_>>)> {
    let newline = bytes.iter().position(|b| *b == b'\n')?;
    let length: usize = std::str::from_utf8(bytes.get(..newline)?)
        .ok()?
        .parse()
        .ok()?;
    let rest = bytes.get(newline + 1..)?;
    let spec: ProcessSpec = serde_json::from_slice(rest.get(..length)?).ok()?;
    let mut contents = rest.get(length..)?;
    let mut files = Vec::new();
    for (path, length) in &spec.files {
        files.push((path.clone(), contents.get(..*length)?));
        contents = contents.get(*length..)?;
    }
    Some((spec, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_survives_the_way() {
        let limits = ProcessLimits {
            cpu_seconds: 1,
            data_bytes: u64::MAX,
            address_bytes: u64::MAX,
            file_bytes: 3,
            processes: 4,
            open_files: 5,
        };
        let spec = ProcessSpec {
            argv: vec!["/bin/echo".into(), "a\nb".into()],
            env: vec![("K".into(), "ü".into())],
            files: vec![("a".into(), 3), ("b/c".into(), 0), ("d".into(), 2)],
            dir: Some("/suite".into()),
            limits,
            executables: vec!["d".into()],
            built_in: None,
            collect: false,
            observed: false,
            stage: None,
        };
        let bytes =
            encode_spec(&spec, &[b"\0\n\xff".to_vec(), Vec::new(), b"xy".to_vec()]).unwrap();
        let (back, files) = decode_spec(&bytes).unwrap();
        assert_eq!(back.argv, spec.argv);
        assert_eq!(back.limits.data_bytes, u64::MAX);
        let want: Vec<JobInputFile<'_>> = vec![
            ("a".into(), b"\0\n\xff"),
            ("b/c".into(), b""),
            ("d".into(), b"xy"),
        ];
        assert_eq!(files, want);
        assert!(
            decode_spec(&bytes[..bytes.len() - 1]).is_none(),
            "a cut-off file"
        );
        assert!(decode_spec(b"9999\n{}").is_none());
        assert!(decode_spec(b"").is_none());
    }
}
