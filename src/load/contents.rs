//! The bytes of files and folders that settings name, read once for all cases.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::problem::{Code, Problem};
use super::refs::{existing_file, existing_folder};
use super::scope::SuiteDesk;
use super::source::Span;
use eval_base::files::open_file;
use eval_base::text::one_line;

/// Files and folders of a folder that is read.
const MOST_ENTRIES: usize = 100_000;

/// Contents by path, shared by everything that reads a suite.
#[derive(Debug, Clone, Default)]
pub(super) struct FileContents(Arc<Mutex<BTreeMap<PathBuf, Arc<Vec<u8>>>>>);

impl FileContents {
    fn read(&self, path: &Path, most: u64) -> Result<Arc<Vec<u8>>, String> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let too_large = || format!("it is larger than {} MiB", most.div_ceil(1 << 20));
        let known = lock().get(path).cloned();
        if let Some(content) = known {
            let fits = content.len() as u64 <= most;
            return if fits { Ok(content) } else { Err(too_large()) };
        }
        let mut content = Vec::new();
        let file = open_file(path).map_err(|error| error.to_string())?;
        let read = file.take(most + 1).read_to_end(&mut content);
        read.map_err(|error| error.to_string())?;
        if content.len() as u64 > most {
            return Err(too_large());
        }
        let content = Arc::new(content);
        lock().insert(path.to_owned(), Arc::clone(&content));
        Ok(content)
    }
}

impl SuiteDesk<'_> {
    /// The content of a file of the project, of at most `most` bytes; `None` after reporting why it
    /// can't be read.
    pub fn file_content(&mut self, text: &str, most: u64, at: Span) -> Option<Arc<Vec<u8>>> {
        self.content_in(self.dir, text, most, at)
    }

    /// The same, by a path that is relative to the suite's folder.
    pub fn suite_file_content(&mut self, text: &str, most: u64, at: Span) -> Option<Arc<Vec<u8>>> {
        self.content_in(&self.suite.dir, text, most, at)
    }

    fn content_in(&mut self, dir: &Path, text: &str, most: u64, at: Span) -> Option<Arc<Vec<u8>>> {
        let path = existing_file(dir, text, &self.suite.fence, at);
        let path = self.problems.take(path)?;
        let content = self.suite.contents.read(&path, most);
        self.read_or_refused(text, content, at)
    }

    /// The contents of the files of a folder of the project, by their relative path, of at most
    /// `most` bytes in total. Folders of git and of Python's caches are left out.
    pub fn folder_content(
        &mut self,
        text: &str,
        most: u64,
        at: Span,
    ) -> Option<Vec<(String, Arc<Vec<u8>>)>> {
        let folder = existing_folder(self.dir, text, &self.suite.fence, at);
        let folder = self.problems.take(folder)?;
        let mut walk = FolderWalk {
            contents: &self.suite.contents,
            left: most,
            entries: 0,
            files: BTreeMap::new(),
        };
        let walked = walk.enter(&folder, "");
        for path in walk.files.keys() {
            self.suite.fence.note(&folder.join(path));
        }
        let files = walked.map(|()| walk.files.into_iter().collect());
        self.read_or_refused(text, files, at)
    }

    fn read_or_refused<T>(&mut self, text: &str, read: Result<T, String>, at: Span) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(why) => {
                let message = format!("`{text}` can't be read: {why}");
                self.refuse(Problem::error(Code::BadPath, at, message))
            }
        }
    }
}

struct FolderWalk<'w> {
    contents: &'w FileContents,
    /// Bytes that may still be read.
    left: u64,
    entries: usize,
    files: BTreeMap<String, Arc<Vec<u8>>>,
}

impl FolderWalk<'_> {
    fn enter(&mut self, folder: &Path, below: &str) -> Result<(), String> {
        let shown = |name: &str| one_line(&format!("{below}{name}"));
        let entries = folder.read_dir().map_err(|error| error.to_string())?;
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(format!(
                    "it contains more than {MOST_ENTRIES} files and folders"
                ));
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(format!(
                    "the name `{}` is not UTF-8",
                    shown(&name.to_string_lossy())
                ));
            };
            let kind = entry.file_type().map_err(|error| error.to_string())?;
            let path = format!("{below}{name}");
            if kind.is_dir() {
                if name != ".git" && name != "__pycache__" {
                    self.enter(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() {
                let content = self.contents.read(&entry.path(), self.left);
                let content = content.map_err(|why| format!("`{}`: {why}", shown(name)))?;
                self.left -= content.len() as u64;
                self.files.insert(path, content);
            } else {
                return Err(format!("`{}` is not a regular file", shown(name)));
            }
        }
        Ok(())
    }
}
