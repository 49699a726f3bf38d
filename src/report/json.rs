//! Reports as JSON: what they are made of, under a root.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::report::ReportError;
use eval_base::json;

/// Writes `{"root": report}`, indented by two blanks, with a line end.
pub fn rooted(root: &str, report: &impl Serialize, out: &mut dyn Write) -> Result<(), ReportError> {
    write(&BTreeMap::from([(root, report)]), out)
}

/// Writes a value, indented by two blanks, with a line end.
pub fn write(value: &impl Serialize, out: &mut dyn Write) -> Result<(), ReportError> {
    json::to_writer_pretty(&mut *out, value).map_err(|e| match e.is_io() {
        true => ReportError::Io(e.into()),
        false => ReportError::Json(e),
    })?;
    Ok(out.write_all(b"\n")?)
}

/// A word of a closed list as it is written in files and on the command line.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
