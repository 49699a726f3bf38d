//! Probes as recorded outputs, one JSON object a line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::CheckError;
use super::case::CaseProbes;
use super::fold::CheckedCase;
use super::known::DatasetRecord;
use crate::model::{Case, OutputValue};

/// The file of the probes of one run, and what was written to it.
pub(super) struct ProbeFile {
    path: PathBuf,
    file: BufWriter<File>,
    cases: Vec<CheckedCase>,
}

impl ProbeFile {
    pub fn create(path: PathBuf) -> Result<ProbeFile, CheckError> {
        match File::create(&path) {
            Ok(file) => Ok(ProbeFile {
                path,
                file: BufWriter::new(file),
                cases: Vec::new(),
            }),
            Err(source) => Err(CheckError::Write { path, source }),
        }
    }

    /// Writes the probes of a case; how many there are.
    pub fn write(
        &mut self,
        eval: &str,
        case: &Case,
        made: CaseProbes,
        judge: Option<String>,
    ) -> Result<u32, CheckError> {
        let mut labels = Vec::with_capacity(made.probes.len());
        for (sample, probe) in made.probes.into_iter().enumerate() {
            let mut line = line(eval, &case.id, sample, probe.output);
            match probe.work {
                Some(work) => line["workspace"] = Value::from(work),
                None if case.workspace.is_some() => with_patch(&mut line),
                None => {}
            }
            let written = serde_json::to_writer(&mut self.file, &line).map_err(Into::into);
            let written = written.and_then(|()| self.file.write_all(b"\n"));
            written.map_err(|source| self.failure(source))?;
            labels.push(probe.label);
        }
        let count = u32::try_from(labels.len()).unwrap_or(u32::MAX);
        self.cases.push(CheckedCase {
            eval: eval.to_owned(),
            case: case.id.clone(),
            record: case.dataset_format.as_deref().map(|format| DatasetRecord {
                format: format.to_owned(),
                function: made.function,
            }),
            probes: labels,
            tests: made.tests,
            limits: made.limits,
            judge,
        });
        Ok(count)
    }

    pub fn finish(mut self) -> Result<(PathBuf, Vec<CheckedCase>), CheckError> {
        let flushed = self.file.flush();
        flushed.map_err(|source| self.failure(source))?;
        Ok((self.path, self.cases))
    }

    fn failure(&self, source: std::io::Error) -> CheckError {
        CheckError::Write {
            path: self.path.clone(),
            source,
        }
    }
}

fn line(eval: &str, case: &str, sample: usize, output: OutputValue) -> Value {
    match output {
        OutputValue::Text(text) => {
            json!({"eval": eval, "case": case, "sample": sample, "output": text})
        }
        OutputValue::Program(code) => {
            json!({"eval": eval, "case": case, "sample": sample, "solution": code})
        }
        OutputValue::Json(value) => {
            json!({"eval": eval, "case": case, "sample": sample, "output": value})
        }
    }
}

/// Of a case with a workspace: a patch is what was done, any other text was said over an unchanged
/// workspace.
fn with_patch(line: &mut Value) {
    let said = line
        .get("output")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_patch = ["diff --git ", "--- a/", "--- /dev/null"]
        .iter()
        .any(|begin| said.starts_with(begin));
    if is_patch {
        line["patch"] = line["output"].take();
        line["output"] = Value::from("");
    } else {
        line["patch"] = Value::from("");
    }
}
