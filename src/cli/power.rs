//! `eval-harness power`.
use super::args::PowerArgs;
use super::console::Console;
use super::{Exit, Failure};

pub fn power(_: &Console, _: &PowerArgs) -> Exit {
    Err(Failure::wrong("not yet"))
}
