//! Details.
