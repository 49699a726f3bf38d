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

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::cases::UniqueCases;
use super::evals::EvalHeader;
use super::problem::{Code, Problem};
use super::refs::existing_file;
use super::scope::{SuiteDesk, SuiteScope};
use super::source::{SourceFiles, Span};
use super::template::TemplateScope;
use super::tree::Node;
use crate::model::Case;
use crate::spec::DatasetSpec;
use intake::RowIntake;
use records::RecordLayout;
use source::DataFile;

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
    /// `row` is a JSON object.
    fn case(&mut self, row: Value, line: usize) -> Result<Case, RowMisfit>;
}

/// What is wrong with a row, and where in the template, if there.
#[derive(Debug)]
struct RowMisfit {
    at: Option<Span>,
    message: String,
    hint: Option<String>,
}

impl RowMisfit {
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

/// Adds the cases of a `dataset:` block; the number of rows that were read, good or bad.
pub(super) fn load(
    desk: &mut SuiteDesk,
    node: &mut Node,
    header: &EvalHeader,
    cases: &mut UniqueCases,
) -> usize {
    let spec: DatasetSpec = match serde_json::from_value(node.to_json()) {
        Ok(spec) => spec,
        Err(error) => {
            desk.push(Problem::error(Code::BadShape, node.span, error.to_string()));
            return 0;
        }
    };
    let (path, limit, layout) = match &spec {
        DatasetSpec::Jsonl(rows) => (&rows.path, rows.limit, RecordLayout::Lines),
        DatasetSpec::Json(rows) => (&rows.path, rows.limit, RecordLayout::Array),
        DatasetSpec::Csv(rows) => (&rows.path, rows.limit, RecordLayout::Csv),
        DatasetSpec::Humaneval(b) => (&b.path, b.limit, RecordLayout::Lines),
        DatasetSpec::Mbpp(b) => (&b.path, b.limit, RecordLayout::LinesOrArray),
    };
    let at = node.locate("/path");
    let file = existing_file(desk.dir, path, &desk.suite.fence, at);
    let Some(file) = desk.problems.take(file) else {
        return 0;
    };
    if !file.is_file() {
        let message = format!("`{path}` is no regular file: data is read twice");
        desk.push(Problem::error(Code::DatasetUnreadable, at, message));
        return 0;
    }
    let setting = DatasetSetting {
        file: path.clone(),
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
        DatasetSpec::Humaneval(b) => benchmarks::recipe(desk, node, b, false, setting),
        DatasetSpec::Mbpp(b) => benchmarks::recipe(desk, node, b, true, setting),
    };
    // A broken template is told once, and not that the eval has no cases, too.
    let Some(recipe) = recipe else { return 1 };
    let mut data = DataFile {
        name: path.clone(),
        path: file,
        layout,
        limit,
        rows: 0,
        recipe,
        nowhere: SourceFiles::new(),
    };
    let before = cases.outlines.len();
    let rows = RowIntake::new(path.clone(), at, cases).read(desk, &data);
    data.rows = cases.outlines.len() - before;
    cases.data = Some(Arc::new(data));
    rows
}
