//! Cases from data files, row by row: our own rows through a `case:` template, and benchmarks of known layout.

mod benchmarks;
mod records;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::evals::{Cases, Header};
use super::problem::{Code, Problem};
use super::refs::existing_file;
use super::scope::Desk;
use super::source::Span;
use super::tree::Node;
use crate::model::Case;
use crate::spec::DatasetSpec;
use records::Layout;

/// Broken rows that are told one by one; the rest is counted.
const SHOWN: usize = 20;

/// Adds the cases of a `dataset:` block; the number of rows that were read, good or bad.
pub(super) fn load(desk: &mut Desk, node: &mut Node, header: &Header, cases: &mut Cases) -> usize {
    let spec: DatasetSpec = match serde_json::from_value(node.to_json()) {
        Ok(spec) => spec,
        Err(error) => {
            desk.push(Problem::error(Code::BadShape, node.span, error.to_string()));
            return 0;
        }
    };
    let (path, limit, layout) = match &spec {
        DatasetSpec::Jsonl(rows) => (&rows.path, rows.limit, Layout::Lines),
        DatasetSpec::Json(rows) => (&rows.path, rows.limit, Layout::Array),
        DatasetSpec::Csv(rows) => (&rows.path, rows.limit, Layout::Csv),
        DatasetSpec::Humaneval(b) => (&b.path, b.limit, Layout::Lines),
        DatasetSpec::Mbpp(b) => (&b.path, b.limit, Layout::LinesOrArray),
    };
    let at = node.locate("/path");
    let file = match existing_file(desk.dir, path, &desk.suite.fence, at) {
        Ok(file) => file,
        Err(problem) => {
            desk.push(problem);
            return 0;
        }
    };
    let mut intake = Intake { file: path.clone(), at, bad: 0, rows: 0, first_lines: HashMap::new(), cases };
    match &spec {
        DatasetSpec::Jsonl(_) | DatasetSpec::Json(_) | DatasetSpec::Csv(_) => {
            rows::load(desk, node, &file, layout, limit, header, &mut intake);
        }
        DatasetSpec::Humaneval(b) | DatasetSpec::Mbpp(b) => {
            let mbpp = matches!(spec, DatasetSpec::Mbpp(_));
            benchmarks::load(desk, node, &file, layout, b, mbpp, header, &mut intake);
        }
    }
    intake.close(desk)
}

/// Takes the rows of one data file in.
pub(super) struct Intake<'a> {
    /// As written, for messages.
    file: String,
    at: Span,
    bad: usize,
    rows: usize,
    first_lines: HashMap<String, usize>,
    cases: &'a mut Cases,
}

impl Intake<'_> {
    /// `file:line:1`, as the origin of a case.
    fn origin(&self, line: usize) -> String {
        format!("{}:{line}:1", self.file)
    }

    /// Tells of a row that does not fit; `at` is the place of the template that it does not fit, if there is one.
    fn refuse(
        &mut self,
        desk: &mut Desk,
        line: usize,
        at: Option<Span>,
        message: &str,
        hint: Option<String>,
    ) {
        self.bad += 1;
        if self.bad <= SHOWN {
            let message = format!("{}:{line}: {message}", self.file);
            desk.push(Problem::error(Code::DatasetRow, at.unwrap_or(self.at), message).maybe_hint(hint));
        }
    }

    /// Notes the id of a row; a second row (or a written case) of the same id is refused.
    fn claim(&mut self, desk: &mut Desk, id: &str, line: usize) -> bool {
        if let Some(first) = self.first_lines.get(id) {
            let message = format!("the id `{id}` is taken by line {first}");
            self.refuse(desk, line, None, &message, Some("ids are unique in an eval".to_owned()));
            return false;
        }
        if let Some(span) = self.cases.written_at(id) {
            let message =
                format!("the id `{id}` is taken by a case on line {}", desk.sources.position(span).line);
            self.refuse(desk, line, None, &message, Some("ids are unique in an eval".to_owned()));
            return false;
        }
        self.first_lines.insert(id.to_owned(), line);
        true
    }

    fn add(&mut self, case: Case) {
        self.cases.list.push(Arc::new(case));
    }

    fn close(self, desk: &mut Desk) -> usize {
        if self.bad > SHOWN {
            let message = format!("{}: {} more rows do not fit", self.file, self.bad - SHOWN);
            desk.push(Problem::error(Code::DatasetRow, self.at, message));
        }
        if self.rows == 0 && self.bad == 0 {
            let message = format!("`{}` holds no rows, so the eval would pass without a test", self.file);
            desk.push(Problem::error(Code::EmptyCases, self.at, message));
            return 1;
        }
        self.rows
    }
}
