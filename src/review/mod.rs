//! Human grading of what is pending.
