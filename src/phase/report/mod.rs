//! The Phase Completion Report: a [`PhaseReport`](crate::model::PhaseReport) as Markdown, JSON, and for the terminal.
