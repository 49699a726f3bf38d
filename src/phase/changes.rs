//! What changed in git since a phase began.
