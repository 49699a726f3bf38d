//! What samples said, for the pages of cases: in blocks of some cases each, which a page reads when one of them is opened.

use std::io::Write;

use super::embed;
use crate::model::{CaseResult, EvalResult};
use crate::report::ReportError;

/// Cases in a block.
const CHUNK: usize = 100;

pub(super) fn write(cases: &[(&EvalResult, &CaseResult)], out: &mut dyn Write) -> Result<(), ReportError> {
    for (at, chunk) in cases.chunks(CHUNK).enumerate() {
        let samples: Vec<_> = chunk.iter().map(|(_, case)| &case.samples).collect();
        embed::block(&format!("details-{at}"), &samples, out)?;
    }
    Ok(())
}
