//! Runs untrusted programs: isolation, limits, and results that the program cannot forge.

pub mod process_tree;
