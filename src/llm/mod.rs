//! Talking to model APIs. Used by model targets and by judges.
