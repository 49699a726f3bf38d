//! `eval-harness export`: the outputs of a run as JSON lines.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::args::{ExportArgs, ExportFormat};
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult};
use crate::gate::ExitCode;
use crate::journal::{self, RunPaths, SampleIndex};
use crate::model::{Outcome, Output, OutputValue, SampleFinished, Usage};
use eval_agents::trajectory::Trajectory;
use eval_base::globs::IdGlobs;
use eval_base::text::sanitize;
use eval_base::whole_file::WholeFile;

pub fn export(console: &Console, args: &ExportArgs) -> CliResult {
    let (evals, cases) = (globs_of(&args.eval, "eval")?, globs_of(&args.case, "case")?);
    let dir = results_dir(
        args.place.suite.as_deref(),
        args.place.output_dir.as_deref(),
    )?;
    let paths = journal::find_run(&dir, &args.run)?;
    let private = journal::private_evals(&paths.journal()).map_err(CliFailure::wrong)?;
    let index = journal::index_samples(&paths.journal(), |eval, case| {
        evals.fit_or_empty(eval) && cases.fit_or_empty(case) && !private.contains(eval)
    })
    .map_err(CliFailure::wrong)?;
    for eval in private.iter().filter(|eval| evals.fit_or_empty(eval)) {
        console.note(&format!(
            "outputs of eval {} are not exported: its dataset is private",
            sanitize(eval)
        ));
    }
    let mut writer = OutputExporter {
        paths: &paths,
        format: args.format,
        outcomes: &args.outcome,
    };
    let done = match &args.output {
        Some(file) => to_file(file, |out| writer.write(&index, out))?,
        None => {
            let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            match writer
                .write(&index, &mut out)
                .and_then(|done| Ok(out.flush().map(|()| done)?))
            {
                // Nobody reads on.
                Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(ExitCode::Pass);
                }
                done => done?,
            }
        }
    };
    let total = done.written + done.without_output;
    if total == 0 {
        return Err(CliFailure::wrong(
            match (index.is_empty(), done.other_outcomes) {
                (true, _) => format!("no finished sample of {} matches", paths.run_id),
                (false, others) => {
                    format!(
                        "none of the {others} matching samples has an outcome that --outcome selects"
                    )
                }
            },
        ));
    }
    if let Some(file) = &args.output {
        console.note(&format!(
            "wrote {} to {}",
            counted(done.written, "output"),
            file.display()
        ));
    }
    if done.without_output > 0 {
        let samples = counted(done.without_output, "sample");
        console.note(&format!("skipped {samples} without an output to judge"));
    }
    Ok(ExitCode::Pass)
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The ids that a flag takes.
fn globs_of(patterns: &[String], flag: &str) -> Result<IdGlobs, CliFailure> {
    IdGlobs::new(patterns).map_err(|error| {
        CliFailure::wrong(format!(
            "`--{flag} {}` is not a glob: {error}",
            error.pattern
        ))
    })
}

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    #[error(
        "the output of case `{case}` (eval `{eval}`, sample {}) is JSON, but a completion must be text",
        .sample + 1
    )]
    Json {
        eval: String,
        case: String,
        sample: u32,
    },
}

impl From<ExportError> for CliFailure {
    fn from(error: ExportError) -> Self {
        match &error {
            ExportError::Write(_) => CliFailure::incomplete(error),
            ExportError::Journal(_) => CliFailure::wrong(error),
            ExportError::Json { .. } => CliFailure::wrong(error).hint(
                "use `--format outputs`, or select outputs that are text with --eval and --case",
            ),
        }
    }
}

/// A line of `--format outputs`; one of `output` and `solution` is there.
#[derive(Serialize)]
struct OutputLine<'a> {
    eval: &'a str,
    case: &'a str,
    sample: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<ExportContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// What the agent did (ATIF).
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory: Option<&'a Trajectory>,
}

enum ExportContent<'a> {
    Text(&'a str),
    Json(&'a Value),
}

impl Serialize for ExportContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ExportContent::Text(text) => text.serialize(serializer),
            ExportContent::Json(value) => value.serialize(serializer),
        }
    }
}

/// A line of `--format completions`; one of `completion` and `solution` is there.
#[derive(Serialize)]
struct CompletionLine<'a> {
    task_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// How many samples went where.
#[derive(Debug, Default)]
struct ExportCounts {
    written: usize,
    without_output: usize,
    other_outcomes: usize,
}

struct OutputExporter<'a> {
    paths: &'a RunPaths,
    format: ExportFormat,
    /// Empty: all.
    outcomes: &'a [Outcome],
}

impl OutputExporter<'_> {
    fn write(
        &mut self,
        index: &SampleIndex,
        out: &mut impl Write,
    ) -> Result<ExportCounts, ExportError> {
        let mut done = ExportCounts::default();
        for sample in index.iter() {
            let sample = sample?;
            let Some(attempt) = sample.attempts.last() else {
                done.without_output += 1;
                continue;
            };
            if !self.outcomes.is_empty() && !self.outcomes.contains(&attempt.verdict.outcome) {
                done.other_outcomes += 1;
                continue;
            }
            // Graded again, what was said before a failure could pass.
            let output = if attempt.is_answer() {
                journal::output_of(self.paths, attempt)?
            } else {
                None
            };
            let Some(mut output) = output else {
                done.without_output += 1;
                continue;
            };
            if self.format == ExportFormat::Outputs {
                journal::load_trajectory(self.paths, &mut output)?;
            }
            self.line(&sample, &output, out)?;
            done.written += 1;
        }
        Ok(done)
    }

    fn line(
        &self,
        sample: &SampleFinished,
        output: &Output,
        out: &mut impl Write,
    ) -> Result<(), ExportError> {
        let (text, json, program) = match &output.value {
            OutputValue::Text(text) => (Some(text.as_str()), None, None),
            OutputValue::Json(value) => (None, Some(value), None),
            OutputValue::Program(program) => (None, None, Some(program.as_str())),
        };
        match self.format {
            ExportFormat::Outputs => {
                let line = OutputLine {
                    eval: &sample.eval,
                    case: &sample.case,
                    sample: sample.sample,
                    output: text
                        .map(ExportContent::Text)
                        .or(json.map(ExportContent::Json)),
                    solution: program,
                    truncated: output.truncated,
                    usage: output.usage.as_ref(),
                    model: output.model.as_deref(),
                    trajectory: output
                        .trajectory
                        .as_ref()
                        .and_then(|record| record.content()),
                };
                eval_base::json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
            }
            ExportFormat::Completions => {
                if json.is_some() {
                    let (eval, case) =
                        (sanitize(&sample.eval).into(), sanitize(&sample.case).into());
                    return Err(ExportError::Json {
                        eval,
                        case,
                        sample: sample.sample,
                    });
                }
                let line = CompletionLine {
                    task_id: &sample.case,
                    completion: text,
                    solution: program,
                    truncated: output.truncated,
                };
                eval_base::json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
            }
        }
        Ok(out.write_all(b"\n")?)
    }
}

/// Writes a whole file; of nothing none is written.
fn to_file(
    path: &Path,
    write: impl FnOnce(&mut WholeFile) -> Result<ExportCounts, ExportError>,
) -> Result<ExportCounts, CliFailure> {
    let cannot = |error: io::Error| {
        CliFailure::incomplete(format!("cannot write {}: {error}", path.display()))
    };
    let mut out = WholeFile::create(path).map_err(cannot)?;
    let done = write(&mut out)?;
    if done.written > 0 {
        out.keep().map_err(cannot)?;
    }
    Ok(done)
}
