//! What a program left at the paths that are different, all of it: enough to make the workspace again
//! from its template.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{FileType, Mode, mknodat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::copy::SpecialKind;
use crate::edits::{AfterContent, AfterEntry, WorkspaceEdits};
use crate::error::TreeError;
use crate::folder::{Folder, Sha256Digest, sha256};
use crate::listing::TreeEntry;
use crate::path::{PathGlobs, WorkspacePath};
use crate::restore::{folder_for, make_real_folder};
use crate::write::{remove_below, write_file};

/// What is at a path of a workspace that was different there in its template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftEntry {
    /// What was there is gone.
    Nothing,
    Folder,
    File {
        executable: bool,
        #[serde(with = "base64_text")]
        content: Vec<u8>,
    },
    Link {
        #[serde(with = "base64_text")]
        target: Vec<u8>,
    },
    Fifo,
    Socket,
}

/// Bytes as a text.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(Error::custom)
    }
}

impl LeftEntry {
    /// Makes this of a path below the folder `top`; whatever else is there, links included, makes room
    /// for it. `owner` as in [`CopyRules`](crate::CopyRules).
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn put(
        &self,
        top: &Path,
        path: &WorkspacePath,
        owner: Option<(u32, u32)>,
    ) -> Result<(), TreeError> {
        match self {
            LeftEntry::Nothing => remove_below(top, path),
            LeftEntry::File {
                executable,
                content,
            } => write_file(top, path, content, *executable, owner),
            LeftEntry::Folder => in_place(top, path, owner, |folder| {
                make_real_folder(folder, path.name(), owner).map(drop)
            }),
            LeftEntry::Link { target } => in_place(top, path, owner, |folder| {
                folder.remove(path.name())?;
                folder.make_link(path.name(), target)
            }),
            LeftEntry::Fifo => put_special(top, path, owner, FileType::Fifo),
            LeftEntry::Socket => put_special(top, path, owner, FileType::Socket),
        }
    }
}

/// Makes an entry in the folder of `path`.
fn in_place(
    top: &Path,
    path: &WorkspacePath,
    owner: Option<(u32, u32)>,
    make: impl FnOnce(&Folder) -> io::Result<()>,
) -> Result<(), TreeError> {
    let made = || {
        let folder = folder_for(&Folder::open(top)?, path, owner)?;
        make(&folder)?;
        folder.own(path.name(), owner)
    };
    made().map_err(TreeError::at(path.as_bytes()))
}

fn put_special(
    top: &Path,
    path: &WorkspacePath,
    owner: Option<(u32, u32)>,
    kind: FileType,
) -> Result<(), TreeError> {
    in_place(top, path, owner, |folder| {
        folder.remove(path.name())?;
        let mode = Mode::from_raw_mode(0o644);
        Ok(mknodat(folder, path.name(), kind, mode, 0)?)
    })
}

impl WorkspaceEdits<'_> {
    /// Every path that is different, with what is there. Put on a copy of the template in this order,
    /// they make the workspace again, except for times, owners and the bits of modes that do not count.
    /// Each error is of one path.
    pub fn left(&self) -> impl Iterator<Item = Result<(WorkspacePath, LeftEntry), TreeError>> {
        let gone = self.iter().filter(|(_, now)| now.is_none());
        let gone = gone.map(|(path, _)| Ok((path.clone(), LeftEntry::Nothing)));
        let there = self
            .iter()
            .filter_map(|(path, now)| Some((path, now?)))
            .map(|(path, now)| {
                let entry = match now {
                    AfterEntry::Folder => LeftEntry::Folder,
                    AfterEntry::Link { target } => LeftEntry::Link {
                        target: target.clone(),
                    },
                    AfterEntry::File {
                        executable,
                        content,
                        ..
                    } => {
                        let mut bytes = Vec::new();
                        let file = self.open(path, content);
                        file.and_then(|mut file| file.read_to_end(&mut bytes))
                            .map_err(TreeError::at(path.as_bytes()))?;
                        LeftEntry::File {
                            executable: *executable,
                            content: bytes,
                        }
                    }
                };
                Ok((path.clone(), entry))
            });
        let special = self.special().iter().map(|(path, kind)| {
            let entry = match kind {
                SpecialKind::Fifo => LeftEntry::Fifo,
                SpecialKind::Socket => LeftEntry::Socket,
                SpecialKind::Device => {
                    let (path, kind) = (path.to_string(), kind.words());
                    return Err(TreeError::Special { path, kind });
                }
            };
            Ok((path.clone(), entry))
        });
        gone.chain(there).chain(special)
    }

    /// Puts all that is different on a copy of the template; at paths that `leave_out` fits is nothing
    /// then.
    ///
    /// # Errors
    /// A device, and what the file system refuses.
    pub fn put_on(
        &self,
        top: &Path,
        leave_out: &PathGlobs,
        owner: Option<(u32, u32)>,
    ) -> Result<(), TreeError> {
        let stays = |path: &WorkspacePath| !leave_out.fit(path);
        for (path, now) in self.iter() {
            if now.is_none() || !stays(path) {
                remove_below(top, path)?;
            }
        }
        for (path, now) in self.iter().filter(|(path, _)| stays(path)) {
            match now {
                None => {}
                Some(AfterEntry::File {
                    executable,
                    content,
                    ..
                }) => in_place(top, path, owner, |folder| {
                    folder.remove(path.name())?;
                    let mut copy = folder.create(path.name(), *executable)?;
                    io::copy(&mut self.open(path, content)?, &mut copy).map(drop)
                })?,
                Some(AfterEntry::Folder) => LeftEntry::Folder.put(top, path, owner)?,
                Some(AfterEntry::Link { target }) => {
                    let target = target.clone();
                    LeftEntry::Link { target }.put(top, path, owner)?;
                }
            }
        }
        for (path, kind) in self.special().iter().filter(|(path, _)| stays(path)) {
            match kind {
                SpecialKind::Fifo => put_special(top, path, owner, FileType::Fifo),
                SpecialKind::Socket => put_special(top, path, owner, FileType::Socket),
                SpecialKind::Device => {
                    let (path, kind) = (path.to_string(), kind.words());
                    Err(TreeError::Special { path, kind })
                }
            }?;
        }
        Ok(())
    }

    /// SHA-256 over the paths that are different and what is there: workspaces above equal templates
    /// have equal digests if they are equal, except for times, owners and the bits of modes that do not
    /// count.
    ///
    /// # Errors
    /// A file that cannot be read; edits that are incomplete.
    pub fn digest(&self) -> Result<Sha256Digest, TreeError> {
        if let Some(path) = self.unread() {
            let path = path.to_string();
            return Err(TreeError::TooDeep { path });
        }
        let mut digest = Sha256::new();
        // Neither a path nor a link's target holds a zero byte.
        let mut part = |kind: &str, path: &WorkspacePath, content: &[u8]| {
            for part in [
                kind.as_bytes(),
                b"\0",
                path.as_bytes(),
                b"\0",
                content,
                b"\0",
            ] {
                digest.update(part);
            }
        };
        for (path, now) in self.iter() {
            match now {
                None => part("nothing", path, b""),
                Some(AfterEntry::Folder) => part("folder", path, b""),
                Some(AfterEntry::Link { target }) => part("link", path, target),
                Some(AfterEntry::File {
                    executable,
                    content,
                    ..
                }) => {
                    let kind = if *executable { "program" } else { "file" };
                    part(kind, path, &self.content_digest(path, content)?);
                }
            }
        }
        for (path, kind) in self.special() {
            part(kind.words(), path, b"");
        }
        Ok(digest.finalize().into())
    }

    fn content_digest(
        &self,
        path: &WorkspacePath,
        content: &AfterContent,
    ) -> Result<Sha256Digest, TreeError> {
        if let AfterContent::Template(from) = content
            && let Some(TreeEntry::File { sha256, .. }) = self.template().get(from)
        {
            return Ok(*sha256);
        }
        let digest = self.open(path, content).and_then(sha256);
        digest.map_err(TreeError::at(path.as_bytes()))
    }

    /// Whether a complete diff, without the paths that `ignore` fits, says all that is different: only
    /// files and links are, and folders as `git apply` makes and removes them with their files. True for
    /// no others; there may be some of which it is false.
    pub fn fit_in_a_diff(&self, ignore: &PathGlobs) -> bool {
        let template = self.template();
        let is_file = |entry: &TreeEntry| *entry != TreeEntry::Folder;
        let known: RefCell<HashMap<WorkspacePath, bool>> = RefCell::default();
        let holds_files = |folder: &WorkspacePath| {
            if let Some(known) = known.borrow().get(folder) {
                return *known;
            }
            let new = self.below(folder).any(|(_, now)| {
                matches!(now, Some(AfterEntry::File { .. } | AfterEntry::Link { .. }))
            });
            let old = || {
                let mut old = template.below(folder);
                old.any(|(path, entry)| is_file(entry) && self.edit(path).is_none())
            };
            let holds = new || old();
            known.borrow_mut().insert(folder.clone(), holds);
            holds
        };
        let is_there = |folder: &WorkspacePath| {
            matches!(self.edit(folder), None | Some(Some(AfterEntry::Folder)))
        };
        let said = |(path, now): (&WorkspacePath, Option<&AfterEntry>)| {
            if ignore.fit(path) {
                return false;
            }
            match now {
                Some(AfterEntry::Folder) => holds_files(path),
                Some(_) => true,
                None => {
                    // Folders go with the last of their files, and never without.
                    let held = || template.below(path).any(|(_, entry)| is_file(entry));
                    let goes = template.get(path).is_some_and(is_file) || held();
                    let stays = path.parent().filter(|parent| is_there(parent));
                    goes && stays.is_none_or(|parent| holds_files(&parent))
                }
            }
        };
        self.special().is_empty() && self.iter().all(said)
    }
}
