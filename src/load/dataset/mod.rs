//! Cases from data files, row by row: our own rows through a `case:` template, and benchmarks of
//! known layout.
//!
//! A data file is read twice. When the suite is loaded every row is read, filled in and checked,
//! and only an outline of its case is kept; when the case is wanted ([`source`]) the row is read
//! and filled in again.

mod benchmarks;
mod cells;
mod direct;
mod intake;
mod quotes;
mod records;
mod rows;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::cases::UniqueCases;
use super::evals::EvalHeader;
use super::inputs::file_digest;
use super::problem::{Code, Problem};
use super::refs::existing_file;
use super::scope::{SuiteDesk, SuiteScope};
use super::source::{SourceFiles, Span};
use super::template::TemplateScope;
use super::tree::Node;
use super::workspace;
use crate::model::{Case, CaseSource, CodeGrader, DatasetRead, GraderKind, ProgramLimits};
use crate::spec::{DatasetPin, DatasetSpec};
use intake::RowIntake;
use records::{RecordLayout, RecordStream, RowPlace};
use source::DataFile;

/// A row with the line that it begins on, from 1.
pub type PlacedRow = (usize, Map<String, Value>);

/// The rows of a file of CSV (`.csv`) or JSON lines, each with the line that it begins on.
///
/// # Errors
/// What is wrong with the file or with its first row that is not a record, with the line.
pub fn table_rows(path: &Path) -> Result<Vec<PlacedRow>, String> {
    let is_csv = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let layout = match is_csv {
        true => RecordLayout::Csv,
        false => RecordLayout::LinesOrArray,
    };
    let mut rows = Vec::new();
    for batch in RecordStream::open(path, layout, None).map_err(|error| error.to_string())? {
        let mut batch = batch.map_err(|error| error.to_string())?;
        for at in 0..batch.len() {
            let line = batch.line(at);
            let row = batch.take(at);
            rows.push((line, row.map_err(|why| format!("line {line}: {why}"))?));
        }
    }
    Ok(rows)
}

/// How rows become cases. It owns all it needs, so that it outlives the loading of its suite.
trait CaseRecipe: fmt::Debug + Send + Sync {
    /// `checked`: rows are held against the schema; they need not be when they were before.
    fn open<'a>(
        &'a self,
        sources: &'a SourceFiles,
        checked: bool,
    ) -> Option<Box<dyn CaseMaker + 'a>>;
}

/// Makes one case after the other.
trait CaseMaker: Send {
    /// Whether the dataset's settings select a row, of which no case is made otherwise.
    fn selects(&self, _row: &Map<String, Value>) -> Result<bool, RowMisfit> {
        Ok(true)
    }

    /// `row` is a JSON object.
    fn case(&mut self, row: Value, place: RowPlace) -> Result<Case, RowMisfit>;
}

/// What is wrong with a row, and where in the template, if there.
#[derive(Debug)]
struct RowMisfit {
    at: Option<Span>,
    message: String,
    hint: Option<String>,
}

impl RowMisfit {
    /// Without anything of the row.
    fn hidden(self) -> RowMisfit {
        RowMisfit {
            at: self.at,
            ..RowMisfit::plain(
                "no valid case can be made from the row; its dataset is private, so the reason is not shown",
            )
        }
    }

    fn plain(message: impl Into<String>) -> RowMisfit {
        RowMisfit {
            at: None,
            message: message.into(),
            hint: None,
        }
    }
}

/// What all rows of a data file share.
#[derive(Debug)]
struct DatasetSetting {
    /// The data file as written, for messages.
    file: String,
    /// Its suite, without the variables, which the recipe holds in its own form.
    suite: SuiteScope,
    /// The folder of the eval file.
    dir: PathBuf,
    header: EvalHeader,
}

impl DatasetSetting {
    /// `file:line:1`, as the origin of a case.
    fn origin(&self, line: usize) -> String {
        format!("{}:{line}:1", self.file)
    }
}

/// Settings that are not reported: the file is reported apart, and templates may be long.
const UNREPORTED: [&str; 4] = ["path", "format", "case", "prompt"];

/// A `dataset:` block that was read.
pub(super) struct LoadedDataset {
    /// Rows that were read, good or bad.
    pub rows: usize,
    /// `None` after reporting what is wrong.
    pub read: Option<DatasetRead>,
}

impl LoadedDataset {
    fn broken(rows: usize) -> LoadedDataset {
        LoadedDataset { rows, read: None }
    }
}

/// Adds the cases of a `dataset:` block.
pub(super) fn load(
    desk: &mut SuiteDesk,
    node: &mut Node,
    header: &EvalHeader,
    cases: &mut UniqueCases,
) -> LoadedDataset {
    let mut written = node.to_json();
    let pin = DatasetPin::take(&mut written);
    let format = written.get("format").and_then(Value::as_str);
    let format = format.unwrap_or_default().to_owned();
    let settings = written.as_object().into_iter().flatten();
    let settings: BTreeMap<String, Value> = settings
        .filter(|(key, value)| !UNREPORTED.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let spec: DatasetSpec = match serde_json::from_value(written) {
        Ok(spec) => spec,
        Err(error) => {
            desk.push(Problem::error(Code::BadShape, node.span, error.to_string()));
            return LoadedDataset::broken(0);
        }
    };
    let (path, limit) = spec.file();
    let layout = match &spec {
        DatasetSpec::Mmlu(own) if own.path.ends_with(".csv") => {
            RecordLayout::CsvRows(&benchmarks::mmlu::COLUMNS)
        }
        DatasetSpec::Jsonl(_) => RecordLayout::Lines,
        DatasetSpec::Evalplus(_) => RecordLayout::PythonLines,
        DatasetSpec::Json(_) => RecordLayout::Array,
        DatasetSpec::Csv(_) => RecordLayout::Csv,
        DatasetSpec::Humaneval(_)
        | DatasetSpec::Mbpp(_)
        | DatasetSpec::Bigcodebench(_)
        | DatasetSpec::Livecodebench(_)
        | DatasetSpec::MultiplE(_)
        | DatasetSpec::HumanevalPack(_)
        | DatasetSpec::Ds1000(_)
        | DatasetSpec::CodeContests(_)
        | DatasetSpec::Apps(_)
        | DatasetSpec::Gsm8k(_)
        | DatasetSpec::Mmlu(_)
        | DatasetSpec::Ifeval(_) => RecordLayout::LinesOrArray,
    };
    let at = node.locate("/path");
    let file = existing_file(desk.dir, path, &desk.suite.fence, at);
    let Some(file) = desk.problems.take(file) else {
        return LoadedDataset::broken(0);
    };
    if !file.is_file() {
        let message = format!("`{path}` is not a regular file, so it can't be read twice");
        desk.push(Problem::error(Code::DatasetUnreadable, at, message));
        return LoadedDataset::broken(0);
    }
    let Some(sha256) = checked_hash(desk, &file, path, &pin, node) else {
        return LoadedDataset::broken(1);
    };
    // Of the rows' own workspaces, too: their target is the suite's.
    let workspace = match node
        .get("case")
        .filter(|case| case.get("workspace").is_some())
    {
        Some(case) => Some(case.key_span("/workspace"))
            .filter(|_| case.get("workspace").is_some_and(|own| !own.is_null())),
        None => header.workspace.as_ref().map(|workspace| workspace.at),
    };
    if workspace::check_target(desk, workspace, None, node.span).is_none() {
        return LoadedDataset::broken(1);
    }
    let setting = DatasetSetting {
        file: path.to_owned(),
        suite: SuiteScope {
            templates: TemplateScope::default(),
            ..desk.suite.clone()
        },
        dir: desk.dir.to_path_buf(),
        header: header.clone(),
    };
    let recipe = match &spec {
        DatasetSpec::Jsonl(_) | DatasetSpec::Json(_) | DatasetSpec::Csv(_) => {
            rows::recipe(desk, node, setting)
        }
        _ => benchmarks::recipe(desk, node, &spec, setting),
    };
    // A broken template is told once, and not that the eval has no cases, too.
    let Some(recipe) = recipe else {
        return LoadedDataset::broken(1);
    };
    let mut data = DataFile {
        name: path.to_owned(),
        path: file,
        layout,
        limit,
        rows: 0,
        unselected: Vec::new(),
        recipe,
        nowhere: SourceFiles::new(),
        private: pin.private.unwrap_or_default(),
    };
    let before = cases.outlines.len();
    let (rows, unselected) =
        RowIntake::new(path.to_owned(), at, data.private, cases).read(desk, &data);
    data.rows = cases.outlines.len() - before;
    data.unselected = unselected;
    let first = {
        let mut cases = data.stream(Box::new(|at| at == 0));
        cases.next().and_then(|streamed| streamed.case.ok())
    };
    let read = DatasetRead {
        file: path.to_owned(),
        format,
        version: pin.version,
        sha256,
        records_read: rows,
        records_selected: data.rows,
        private: pin.private.unwrap_or_default(),
        settings,
        call_seconds: first.as_ref().map(|case| case.timeout.as_secs_f64()),
        program: first.as_ref().and_then(|case| program_limits(case)),
    };
    cases.data = Some(Arc::new(data));
    LoadedDataset {
        rows,
        read: Some(read),
    }
}

/// The SHA-256 of a data file, if a run or `sha256` needs it; `None` after reporting that it cannot
/// be read or is not the one that is set.
fn checked_hash(
    desk: &mut SuiteDesk,
    file: &Path,
    path: &str,
    pin: &DatasetPin,
    node: &Node,
) -> Option<Option<String>> {
    if desk.suite.lenient && pin.sha256.is_none() {
        return Some(None);
    }
    let digest = match file_digest(file) {
        Ok(digest) => digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>(),
        Err(error) => {
            let message = format!("`{path}` cannot be read: {error}");
            let at = node.locate("/path");
            return desk.refuse(Problem::error(Code::DatasetUnreadable, at, message));
        }
    };
    match pin.sha256.as_deref() {
        Some(set) if !set.eq_ignore_ascii_case(&digest) => {
            let message = format!("`{path}` has the SHA-256 {digest}, but `sha256` is {set}");
            let problem = Problem::error(Code::DatasetUnreadable, node.locate("/sha256"), message);
            desk.refuse(
                problem.hint(
                    "restore the file, or set `sha256` to the hash of the file that you mean",
                ),
            )
        }
        _ => Some(Some(digest)),
    }
}

/// The limits of the first grader that runs a program.
fn program_limits(case: &Case) -> Option<ProgramLimits> {
    case.grading
        .graders
        .iter()
        .find_map(|grader| match &grader.kind {
            GraderKind::Code(CodeGrader::CodeExecution(code)) => Some(ProgramLimits {
                seconds: code.limits.wall.as_secs_f64(),
                memory_mb: code.limits.memory_mb,
            }),
            _ => None,
        })
}
