//! `view`: pages of all runs of a results folder, served on this machine.
//!
//! [`folder`] knows the runs, [`index`] what lists and searches need of them, [`live`] what goes on;
//! [`pages`] are documents of blocks, or the pages that `report` and `compare` write. Whatever an
//! address names is looked up among the runs that are there, and never becomes a path.

mod folder;
mod index;
mod live;
mod pages;
mod shell;

pub use folder::RunFolder;
pub use index::remove_index;
pub use pages::routes;
