//! Accepted results in git: capture, diff, review, accept. `load` reads baselines; this module writes them.
