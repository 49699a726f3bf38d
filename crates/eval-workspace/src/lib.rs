//! Folders that a program worked in, judged by their files.
//!
//! [`copy_tree`] makes a private copy of a template. A program then works in a copy of that, or in an
//! overlay above it; [`WorkspaceEdits::read`] finds what is different afterwards. The edits become
//! lists of paths and a diff in git's format ([`WorkspaceEdits::compare`]), and the protected files
//! that have to be put back before tests run ([`WorkspaceEdits::restore_plan`]). [`apply_patch`] is
//! the way back: it lays such a diff on a folder. What a diff cannot hold (empty folders, `.git`, pipes)
//! is in [`LeftEntry`]s. These, and a patch that [`patch_template`] reads, can also be put in the upper
//! folder of an overlay ([`LeftEntry::put_in_layer`]), without a copy of the template.
//!
//! What a program leaves is hostile: links to anywhere, FIFOs, files without rights, trees of any
//! depth, names that are not UTF-8. No link below a folder is followed here, and nothing is run: no
//! git, no filter, no hook. Programs that write to a workspace have ended before it is read.
//!
//! ```
//! use eval_workspace::{AfterView, CompareBounds, CopyRules, PathGlobs, TemplateView, WorkspaceEdits};
//! use eval_workspace::{apply_patch, copy_tree};
//! use std::fs;
//!
//! # let place = tempfile::tempdir().unwrap();
//! let [source, template, work, again] = ["source", "template", "work", "again"].map(|name| place.path().join(name));
//! fs::create_dir(&source).unwrap();
//! fs::write(source.join("add.py"), "def add(a, b):\n    return a - b\n").unwrap();
//!
//! let listing = copy_tree(&source, &template, &CopyRules::default()).unwrap();
//! copy_tree(&template, &work, &CopyRules::default()).unwrap();
//! fs::write(work.join("add.py"), "def add(a, b):\n    return a + b\n").unwrap();
//!
//! let template_view = TemplateView::new(&template, listing).unwrap();
//! let edits = WorkspaceEdits::read(&template_view, &AfterView::Tree { root: &work, copied_at: None }).unwrap();
//! let (changes, diff) = edits.compare(&PathGlobs::default(), &CompareBounds::default()).unwrap();
//! assert_eq!(changes.modified[0].to_string(), "add.py");
//! assert!(diff.text.ends_with("-    return a - b\n+    return a + b\n"));
//!
//! copy_tree(&template, &again, &CopyRules::default()).unwrap();
//! apply_patch(&again, &diff.text).unwrap();
//! assert_eq!(fs::read(again.join("add.py")).unwrap(), fs::read(work.join("add.py")).unwrap());
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

mod base85;
mod changes;
mod copy;
mod edits;
mod error;
mod folder;
mod layer;
mod left;
mod listing;
mod look;
mod patch;
mod path;
mod restore;
mod sections;
mod template;
#[cfg(test)]
mod tests;
mod write;

pub use changes::{
    ChangeKind, ChangedContent, CompareBounds, DiffText, FileChange, FileMode, WorkspaceChanges,
};
pub use copy::{CopyRules, copy_tree, remove_results};
pub use edits::{AfterView, OverlayAttributes, WorkspaceEdits};
pub use error::TreeError;
pub use left::LeftEntry;
pub use listing::{Listing, TreeEntry, list_source, list_tree};
pub use look::EntryNow;
pub use patch::{PatchError, apply_patch, patch_template};
pub use path::{PathError, PathGlobs, WorkspacePath};
pub use restore::RestorePlan;
pub use template::TemplateView;
pub use write::{move_files, remove_below, remove_tree, write_file};
