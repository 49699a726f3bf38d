//! Phase gates: steps, triggers and the phase report.
