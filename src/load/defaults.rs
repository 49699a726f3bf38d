//! `.eval-harness.yaml`: found upwards from the working folder, and read.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::problem::{Code, Problems};
use super::session::LoadSession;
use super::source::SourceFiles;
use crate::spec::{DefaultsFile, SchemaKind};

/// The name of a file of defaults.
pub const DEFAULTS_FILE_NAME: &str = ".eval-harness.yaml";

/// A file of defaults.
#[derive(Debug, Default)]
pub struct LoadedDefaults {
    /// Absolute.
    pub path: PathBuf,
    /// `None` when there are errors.
    pub file: Option<DefaultsFile>,
    pub problems: Problems,
    pub sources: SourceFiles,
}

/// The nearest file of defaults: in the working folder or above it, up to the root of the
/// repository, if there is one.
pub fn defaults(cwd: &Path) -> Option<LoadedDefaults> {
    let path = find(cwd)?;
    let mut session = LoadSession {
        cwd: cwd.to_owned(),
        ..LoadSession::default()
    };
    let document = session.parse(&path, None);
    let mut file = document.and_then(|mut node| session.read(SchemaKind::Defaults, &mut node));
    // One that sets nothing yet is no mistake.
    if session
        .problems
        .iter()
        .all(|problem| problem.code == Code::EmptyFile)
    {
        file.get_or_insert_default();
        session.problems = Problems::new();
    }
    Some(LoadedDefaults {
        path,
        file: file.filter(|_| !session.problems.has_errors()),
        problems: session.problems,
        sources: session.sources,
    })
}

fn find(cwd: &Path) -> Option<PathBuf> {
    // A file that another user left in a shared folder, such as /tmp, must not choose the suite.
    let owner = cwd.metadata().ok()?.uid();
    let is_trusted = |path: &Path| {
        let file = path.metadata().ok().filter(std::fs::Metadata::is_file);
        file.is_some_and(|file| [owner, 0].contains(&file.uid()))
    };
    let root = cwd.ancestors().find(|dir| dir.join(".git").exists());
    let mut folders = cwd
        .ancestors()
        .take_while(|dir| root.is_none_or(|root| dir.starts_with(root)));
    folders.find_map(|dir| Some(dir.join(DEFAULTS_FILE_NAME)).filter(|path| is_trusted(path)))
}
