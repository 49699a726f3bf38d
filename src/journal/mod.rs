//! The run on disk: an append-only file of events, read back by everything that looks at a run.
