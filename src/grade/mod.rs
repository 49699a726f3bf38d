//! Output to grade. Knows nothing of targets.
