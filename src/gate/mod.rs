//! Thresholds held against a summary: the decision and the exit code.
