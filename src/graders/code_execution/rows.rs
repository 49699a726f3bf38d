//! SQL: the rows that the candidate's statements give, on a database of their own.

use serde_json::{Value, json};

use crate::model::limits;
use crate::model::{Cause, CodeExecution, Grade, GraderType, RowsTest, Trust, WantedRows};
use eval_match::rows::rows as same_rows;
use eval_match::{Datum, MatchResult};
use eval_sandbox::{QueryFailure, QueryJob, QueryReport, QueryStep, QueryTable, Sandbox};

use super::METHOD;
use crate::graders::programs::{ending_of, milliseconds, not_run, sandbox_limits};
use crate::graders::show::{bounded, in_reason};

pub(crate) async fn grade(
    grader: &CodeExecution,
    test: &RowsTest,
    sql: String,
    sandbox: &Sandbox,
) -> Grade {
    let run = |sql: String| {
        let job = QueryJob {
            setup: grader.setup.clone(),
            sql,
            check: test.check.clone(),
            limits: sandbox_limits(&grader.limits),
        };
        sandbox.run_query(job)
    };
    // The author's first: a reference that can't be run says nothing about the candidate.
    let wanted = match &test.wanted {
        WantedRows::Rows(rows) => QueryTable {
            columns: test.columns.clone().unwrap_or_default(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(cell).collect())
                .collect(),
        },
        WantedRows::Reference(reference) => match run(reference.clone()).await {
            Ok(QueryReport {
                outcome: Ok(table), ..
            }) => table,
            Ok(QueryReport {
                outcome: Err(failure),
                ..
            }) => {
                let (_, why) = cause_and_reason(&failure, grader);
                return errored(format!("the reference can't be run: {why}"));
            }
            Err(error) => return not_run(METHOD, &error),
        },
    };
    let report = match run(sql).await {
        Ok(report) => report,
        Err(error) => return not_run(METHOD, &error),
    };
    let grade = match &report.outcome {
        Ok(table) => judge(test, table, &wanted),
        // The set-up is the author's, and so is a check that nobody could read.
        Err(
            failure @ QueryFailure::Error {
                step: QueryStep::Setup,
                ..
            },
        )
        | Err(
            failure @ QueryFailure::Error {
                step: QueryStep::Check,
                syntax: true,
                ..
            },
        ) => {
            let (_, why) = cause_and_reason(failure, grader);
            errored(why)
        }
        Err(failure) => {
            let (cause, why) = cause_and_reason(failure, grader);
            Grade::failed(GraderType::Code, METHOD, cause, why)
        }
    };
    let grade = grade.with_adjudicated(report.adjudicated);
    let grade = match &report.outcome {
        Ok(table) => grade.with_actual(shown(table)),
        Err(_) => grade,
    };
    let ms = milliseconds(report.wall);
    grade
        .with_trust(Trust::Harness)
        .with_expected(shown(&wanted))
        .with_detail("ms", ms)
}

fn errored(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

/// What an author wrote, as SQLite has it: `true` and `false` are 1 and 0.
fn cell(value: &Value) -> Value {
    match value {
        Value::Bool(b) => json!(u8::from(*b)),
        other => other.clone(),
    }
}

fn cause_and_reason(failure: &QueryFailure, grader: &CodeExecution) -> (Cause, String) {
    let of = |step: &QueryStep| match step {
        QueryStep::Setup => "the setup",
        QueryStep::Statements => "the SQL",
        QueryStep::Check => "after the SQL, the check",
    };
    match failure {
        QueryFailure::Error {
            step,
            syntax: true,
            message,
        } => (
            Cause::SyntaxError,
            format!("{} does not parse: {}", of(step), in_reason(message)),
        ),
        QueryFailure::Error { step, message, .. } => (
            Cause::Exception,
            format!("{} failed: {}", of(step), in_reason(message)),
        ),
        QueryFailure::Denied { step, message } => (
            Cause::SandboxViolation,
            format!(
                "{} tried a forbidden operation: {}",
                of(step),
                in_reason(message)
            ),
        ),
        QueryFailure::Ended(ending) => {
            ending_of(ending, grader.limits.wall, grader.limits.memory_mb)
        }
    }
}

fn judge(test: &RowsTest, actual: &QueryTable, wanted: &QueryTable) -> Grade {
    match compared(test, actual, wanted) {
        Ok(comparison) if comparison.matched => Grade::passed(GraderType::Code, METHOD),
        Ok(comparison) => Grade::failed(
            GraderType::Code,
            METHOD,
            Cause::WrongAnswer,
            comparison.reason,
        ),
        Err(why) => errored(why),
    }
}

fn compared(
    test: &RowsTest,
    actual: &QueryTable,
    wanted: &QueryTable,
) -> Result<MatchResult, String> {
    if let Some(columns) = &test.columns {
        let lower = |names: &[String]| names.iter().map(|n| n.to_lowercase()).collect::<Vec<_>>();
        if lower(columns) != lower(&actual.columns) {
            let have = in_reason(&actual.columns.join(", "));
            let reason = format!("expected the columns {}, got {have}", columns.join(", "));
            return Ok(MatchResult::differs(reason));
        }
    }
    // A table without rows still has columns. Rows that an author wrote tell theirs only by their
    // width.
    let width = |table: &QueryTable| table.rows.first().map_or(table.columns.len(), Vec::len);
    if actual.columns.is_empty()
        && !(wanted.columns.is_empty() && matches!(test.wanted, WantedRows::Reference(_)))
    {
        return Ok(MatchResult::differs("no statement of the SQL returns rows"));
    }
    let (a, e) = (width(actual), width(wanted));
    if a != e && e != 0 {
        return Ok(MatchResult::differs(format!(
            "expected {e} columns, got {a}"
        )));
    }
    let read = |table: &QueryTable| -> Result<Vec<Vec<Datum>>, String> {
        let row = |row: &Vec<Value>| {
            row.iter()
                .map(Datum::from_tagged)
                .collect::<Result<Vec<_>, _>>()
        };
        table
            .rows
            .iter()
            .map(row)
            .collect::<Result<_, _>>()
            .map_err(|why| why.to_string())
    };
    let (have, want) = (read(actual)?, read(wanted)?);
    Ok(same_rows(
        &have,
        &want,
        test.ordered,
        test.tolerance.as_ref(),
    ))
}

fn shown(table: &QueryTable) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .take(limits::GRADE_ENTRIES)
        .map(|row| json!(row))
        .collect();
    let more = table.rows.len().saturating_sub(limits::GRADE_ENTRIES);
    let mut all = json!({"columns": table.columns, "rows": rows});
    if let Some(map) = all.as_object_mut().filter(|_| more > 0) {
        map.insert("more_rows".to_owned(), json!(more));
    }
    bounded(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(columns: Option<&[&str]>, ordered: bool) -> RowsTest {
        RowsTest {
            wanted: WantedRows::Rows(Vec::new()),
            columns: columns.map(|c| c.iter().map(|c| (*c).to_owned()).collect()),
            check: None,
            ordered,
            tolerance: None,
        }
    }

    fn table(columns: &[&str], rows: Value) -> QueryTable {
        let rows = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r.as_array().unwrap().clone())
            .collect();
        QueryTable {
            columns: columns.iter().map(|c| (*c).to_owned()).collect(),
            rows,
        }
    }

    #[test]
    fn rows_and_columns_are_compared_as_sqlite_has_them() {
        let compared = |test: RowsTest, actual: &QueryTable, wanted: &QueryTable| {
            let grade = judge(&test, actual, wanted);
            format!("{} {}", grade.outcome, grade.reason)
        };
        let two = table(&["a", "b"], json!([[1, "x"], [2.5, null]]));
        let turned = table(&["n", "m"], json!([[2.5, null], [1.0, "x"]]));
        let blob = table(&["z"], json!([[{"$bytes": "00ff"}]]));
        let lines = [
            compared(test(None, false), &two, &turned),
            compared(test(None, true), &two, &turned),
            compared(test(Some(&["A", "B"]), false), &two, &turned),
            compared(test(Some(&["a", "c"]), false), &two, &turned),
            compared(test(None, false), &two, &blob),
            compared(test(None, false), &blob, &blob),
            compared(test(None, false), &table(&["z"], json!([])), &blob),
            compared(
                test(None, false),
                &table(&[], json!([])),
                &table(&[], json!([])),
            ),
            compared(
                test(None, false),
                &table(&["z"], json!([])),
                &table(&[], json!([])),
            ),
            compared(
                test(None, false),
                &table(&["z"], json!([])),
                &table(&["z", "y"], json!([])),
            ),
            compared(
                test(None, false),
                &table(&["z"], json!([["1"]])),
                &table(&["z"], json!([[1]])),
            ),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        passed 
        failed row 1: expected (2.5, None), got (1, 'x')
        passed 
        failed expected the columns a, c, got a, b
        failed expected 1 columns, got 2
        passed 
        failed the row (b'\x00\xff',) is missing
        failed no statement of the SQL returns rows
        passed 
        failed expected 2 columns, got 1
        failed the row (1,) is missing, found ('1',) instead
        ");
    }
}
