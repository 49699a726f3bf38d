//! Traffic on a clock that tests move.
