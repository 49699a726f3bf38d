//! SQL, run by the harness' own SQLite inside a job.
//!
//! Nothing is executed: the forked child becomes SQLite, behind every protection that a program
//! has. A request comes on stdin, lines of JSON go to stdout: `{"columns": [..]}`, `{"row": [..]}`
//! for each row and `{"done": true}`, or `{"failed": step, "kind": .., "message": ..}`. Only SQL is
//! the candidate's here, and it can't write to stdout.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;

use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::SandboxError;

use super::launch::{ProcessLaunch, process_limits};
use super::pool::SandboxWorker;
use super::programs::only;
use super::protocol::BuiltIn;
use super::types::{ProgramEnding, QueryFailure, QueryJob, QueryReport, QueryStep, QueryTable};

#[derive(Debug, Serialize, Deserialize)]
struct SqlRequest {
    setup: String,
    sql: String,
    check: Option<String>,
    /// Bytes of rows that are told.
    most_bytes: u64,
    /// Bytes of SQLite's own memory.
    heap: u64,
}

/// Runs one statement after the other on a new database.
pub(super) fn run_query(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    job: &QueryJob,
) -> Result<QueryReport, SandboxError> {
    let request = SqlRequest {
        setup: job.setup.clone(),
        sql: job.sql.clone(),
        check: job.check.clone(),
        most_bytes: job.limits.output_bytes,
        heap: job.limits.memory_mb.saturating_mul(3 << 18),
    };
    let mut launch = ProcessLaunch::new(Vec::new(), &[], process_limits(&job.limits));
    launch.spec.built_in = Some(BuiltIn::Sql);
    launch.stdin = serde_json::to_vec(&request)?;
    // Room for the lines beside the rows: what is too much is told by SQLite's side.
    let mut limits = job.limits.clone();
    limits.output_bytes = limits
        .output_bytes
        .saturating_mul(2)
        .saturating_add(1 << 16);
    let running = worker.run(cancel, vec![launch], &limits)?;
    let started = running.started;
    let ended = only(running.finish()?)?;
    let ending = ended.ending.map_err(|reason| SandboxError::CannotStart {
        program: "SQLite".to_owned(),
        reason,
    })?;
    let outcome = match ending {
        ProgramEnding::Exited(0) => answer(&ended.streams.stdout),
        ProgramEnding::Exited(code) => {
            return Err(SandboxError::lost(format!("SQLite ended with {code}")));
        }
        other => Err(QueryFailure::Ended(other)),
    };
    Ok(QueryReport {
        outcome,
        wall: started.elapsed(),
        cpu: ended.cpu,
        adjudicated: false,
    })
}

/// What the other side said; nonsense can only come of a crash.
fn answer(stdout: &[u8]) -> Result<QueryTable, QueryFailure> {
    let mut table = QueryTable::default();
    for line in stdout
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
    {
        let Ok(Value::Object(mut map)) = serde_json::from_slice::<Value>(line) else {
            break;
        };
        if let Some(Value::Array(row)) = map.remove("row") {
            table.rows.push(row);
        } else if let Some(Value::Array(columns)) = map.remove("columns") {
            table.columns = columns
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
        } else if map.contains_key("done") {
            return Ok(table);
        } else {
            let text = |key: &str| {
                map.get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let step = match text("failed").as_str() {
                "setup" => QueryStep::Setup,
                "check" => QueryStep::Check,
                _ => QueryStep::Statements,
            };
            return Err(match text("kind").as_str() {
                "memory" => QueryFailure::Ended(ProgramEnding::MemoryLimit),
                "output" => QueryFailure::Ended(ProgramEnding::OutputLimit),
                "denied" => QueryFailure::Denied {
                    step,
                    message: text("message"),
                },
                kind => QueryFailure::Error {
                    step,
                    syntax: kind == "syntax",
                    message: text("message"),
                },
            });
        }
    }
    Err(QueryFailure::Ended(ProgramEnding::Signaled(libc::SIGABRT)))
}

/// What a job does that is SQLite: the exit code.
pub(super) fn serve() -> i32 {
    let mut request = Vec::new();
    let Ok(_) = io::stdin().read_to_end(&mut request) else {
        return 3;
    };
    let Ok(request) = serde_json::from_slice::<SqlRequest>(&request) else {
        return 3;
    };
    let text = match steps(&request) {
        Ok(text) => text,
        Err(failure) => {
            let SqlFailure {
                step,
                kind,
                message,
            } = failure;
            format!(
                "{}\n",
                json!({"failed": step, "kind": kind, "message": message})
            )
        }
    };
    let mut stdout = io::stdout();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => 0,
        Err(_) => 3,
    }
}

struct SqlFailure {
    step: &'static str,
    kind: &'static str,
    message: String,
}

impl SqlFailure {
    fn of(step: &'static str, error: rusqlite::Error) -> SqlFailure {
        let code = error.sqlite_error_code();
        let message = match &error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
            // With its place in the text, which may be long.
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        let unread = ["syntax error", "incomplete input", "unrecognized token"];
        let kind = match code {
            Some(ErrorCode::OutOfMemory) => "memory",
            Some(ErrorCode::AuthorizationForStatementDenied) => "denied",
            _ if unread.iter().any(|words| message.contains(words)) => "syntax",
            _ => "error",
        };
        SqlFailure {
            step,
            kind,
            message,
        }
    }
}

fn steps(request: &SqlRequest) -> Result<String, SqlFailure> {
    let mut connection = open(request).map_err(|e| SqlFailure::of("setup", e))?;
    run(&connection, &request.setup, "setup", request.most_bytes)?;
    let case_counts = case_counts(&connection).map_err(|e| SqlFailure::of("setup", e))?;
    connection
        .authorizer(Some(authorize))
        .map_err(|e| SqlFailure::of("setup", e))?;
    let rows = run(&connection, &request.sql, "sql", request.most_bytes)?;
    let Some(check) = &request.check else {
        return Ok(rows);
    };
    drop_temporaries(&connection).map_err(|e| SqlFailure::of("check", e))?;
    // The check is the author's: its own pragmas are allowed, and LIKE means what it meant before.
    connection
        .authorizer(Some(authorize_check))
        .map_err(|e| SqlFailure::of("check", e))?;
    let pragma = format!("PRAGMA case_sensitive_like={}", u8::from(case_counts));
    connection
        .execute_batch(&pragma)
        .map_err(|e| SqlFailure::of("check", e))?;
    run(&connection, check, "check", request.most_bytes)
}

fn open(request: &SqlRequest) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!(
        "PRAGMA temp_store=2; PRAGMA hard_heap_limit={}",
        request.heap
    ))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let longest = i32::try_from(request.heap / 2)
        .unwrap_or(i32::MAX)
        .min(1_000_000_000);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest)?;
    Ok(connection)
}

/// Pragmas that only tell, or that change how a statement is meant.
const PRAGMAS: [&str; 13] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "foreign_keys",
    "defer_foreign_keys",
    "recursive_triggers",
    "case_sensitive_like",
    "user_version",
];

/// What the candidate's SQL may do: anything to its own tables, nothing beside them.
fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, .. }
            if !PRAGMAS.contains(&pragma_name.to_lowercase().as_str()) =>
        {
            Authorization::Deny
        }
        AuthAction::Function { function_name }
            if function_name.eq_ignore_ascii_case("load_extension") =>
        {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    }
}

/// What the author's check may do; names in it may be those of the candidate's views.
fn authorize_check(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Pragma { .. } if context.accessor.is_none() => Authorization::Allow,
        _ => authorize(context),
    }
}

/// Whether LIKE tells capitals from small letters: SQLite does not tell the setting.
fn case_counts(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT ('a' LIKE 'A')", [], |row| row.get(0))
}

/// A temporary table would stand before the one of the same name that the check asks for.
fn drop_temporaries(connection: &Connection) -> rusqlite::Result<()> {
    let kinds = ["trigger", "view", "table"];
    for kind in kinds {
        let mut statement = connection.prepare(
            "SELECT name FROM temp.sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
        )?;
        let names: Vec<String> = statement
            .query_map([kind], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for name in names {
            let quoted = name.replace('"', "\"\"");
            connection.execute_batch(&format!("DROP {kind} IF EXISTS temp.\"{quoted}\""))?;
        }
    }
    Ok(())
}

/// Runs every statement; the rows of the last that has columns, as lines.
fn run(
    connection: &Connection,
    sql: &str,
    step: &'static str,
    most: u64,
) -> Result<String, SqlFailure> {
    let mut told = "{\"columns\":[]}\n".to_owned();
    let mut batch = Batch::new(connection, sql);
    let failed = |e| SqlFailure::of(step, e);
    while let Some(mut statement) = batch.next().map_err(failed)? {
        let columns = statement.column_count();
        if columns == 0 {
            statement.raw_execute().map_err(failed)?;
            continue;
        }
        told = format!(
            "{}\n",
            json!({"columns": statement.column_names().collect::<Vec<_>>()})
        );
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            told.push_str("{\"row\":[");
            for i in 0..columns {
                if i > 0 {
                    told.push(',');
                }
                cell(row.get_ref(i).map_err(failed)?, &mut told);
            }
            told.push_str("]}\n");
            if told.len() as u64 > most {
                return Err(SqlFailure {
                    step,
                    kind: "output",
                    message: String::new(),
                });
            }
        }
    }
    told.push_str("{\"done\":true}\n");
    Ok(told)
}

/// A value as tagged JSON.
fn cell(value: ValueRef<'_>, out: &mut String) {
    let _ = match value {
        ValueRef::Null => write!(out, "null"),
        ValueRef::Integer(i) => write!(out, "{i}"),
        ValueRef::Real(x) if x.is_finite() => write!(out, "{x:?}"),
        ValueRef::Real(x) => write!(
            out,
            "{{\"$float\":\"{}\"}}",
            if x > 0.0 { "inf" } else { "-inf" }
        ),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => write!(out, "{}", Value::from(text)),
            // Equal to no text that a suite can hold.
            Err(_) => tagged("$wtf8", bytes, out),
        },
        ValueRef::Blob(bytes) => tagged("$bytes", bytes, out),
    };
}

/// Bytes in hexadecimal under a tag.
fn tagged(tag: &str, bytes: &[u8], out: &mut String) -> std::fmt::Result {
    write!(out, "{{\"{tag}\":\"")?;
    bytes.iter().try_for_each(|b| write!(out, "{b:02x}"))?;
    out.write_str("\"}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(setup: &str, sql: &str, check: Option<&str>) -> String {
        let request = SqlRequest {
            setup: setup.into(),
            sql: sql.into(),
            check: check.map(str::to_owned),
            most_bytes: 4096,
            heap: 64 << 20,
        };
        match steps(&request) {
            Ok(text) => {
                let table = answer(text.as_bytes()).unwrap();
                format!("{} {}", json!(table.columns), json!(table.rows))
            }
            Err(f) => format!("{} {} {}", f.step, f.kind, f.message),
        }
    }

    const SETUP: &str =
        "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL);";

    #[test]
    fn rows_of_the_last_statement_that_has_any_are_told() {
        let lines = [
            told(SETUP, "SELECT * FROM t ORDER BY a", None),
            told(
                SETUP,
                "SELECT 1.0 AS x, 9e999, -1e300, x'00ff', 9007199254740993, 'a\"\n'",
                None,
            ),
            told(SETUP, "SELECT 1; UPDATE t SET a = a + 1; -- the end", None),
            told(SETUP, "SELECT a FROM t WHERE a > 5", None),
            told(
                SETUP,
                "DELETE FROM t WHERE a = 1",
                Some("SELECT count(*) AS n FROM t"),
            ),
            told(
                SETUP,
                "BEGIN; DELETE FROM t",
                Some("SELECT count(*) AS n FROM t"),
            ),
            told(SETUP, "INSERT INTO t VALUES (3, 'y') RETURNING a", None),
            told("", "SELECT CAST(x'61ff' AS TEXT) AS t", None),
            told("", "", None),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        ["a","b"] [[1,"x"],[2,null]]
        ["x","9e999","-1e300","x'00ff'","9007199254740993","'a\"\n'"] [[1.0,{"$float":"inf"},-1e+300,{"$bytes":"00ff"},9007199254740993,"a\"\n"]]
        ["1"] [[1]]
        ["a"] []
        ["n"] [[1]]
        ["n"] [[0]]
        ["a"] [[3]]
        ["t"] [[{"$wtf8":"61ff"}]]
        [] []
        "#);
    }

    #[test]
    fn failures_name_their_step_and_kind() {
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        let lines = [
            told("CREATE TABLE", "", None),
            told(SETUP, "SELEC 1", None),
            told(SETUP, "SELECT (1", None),
            told(SETUP, "SELECT c FROM t", None),
            told(SETUP, "SELECT 1", Some("SELECT * FROM missing")),
            told(SETUP, endless, None),
            told(SETUP, "SELECT zeroblob(2000000000)", None),
            told(
                SETUP,
                "CREATE TABLE big AS SELECT zeroblob(30000000) AS z UNION ALL SELECT zeroblob(30000000) UNION ALL SELECT zeroblob(30000000)",
                None,
            ),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        setup syntax incomplete input
        sql syntax near "SELEC": syntax error
        sql syntax incomplete input
        sql error no such column: c
        check error no such table: missing
        sql output 
        sql error string or blob too big
        sql memory out of memory
        "#);
    }

    #[test]
    fn nothing_beside_the_database_can_be_reached() {
        let forbidden = [
            "ATTACH 'file.db' AS f",
            "VACUUM INTO 'copy.db'",
            "SELECT load_extension('x.so')",
            "PRAGMA writable_schema=ON",
            "PRAGMA hard_heap_limit=0",
            "PRAGMA temp_store_directory='/tmp'",
            "DETACH main",
        ];
        for sql in forbidden {
            let said = told(SETUP, sql, None);
            assert!(
                said.starts_with("sql denied") || said.contains("not authorized"),
                "{sql}: {said}"
            );
        }
        for sql in [
            "SELECT readfile('/etc/passwd')",
            "SELECT writefile('x', 'y')",
            "SELECT edit('x')",
        ] {
            assert!(
                told(SETUP, sql, None).starts_with("sql error no such function"),
                "{sql}"
            );
        }
        assert_eq!(
            told(SETUP, "PRAGMA table_info(t)", None)
                .matches("INTEGER")
                .count(),
            1
        );
    }

    #[test]
    fn temporary_tables_do_not_stand_before_what_the_check_asks_for() {
        let sql = "CREATE TEMP TABLE t(a, b); INSERT INTO temp.t VALUES (7, 'z'); CREATE TEMP VIEW v AS SELECT 7 AS a";
        let setup = format!("{SETUP} CREATE TABLE v(a); INSERT INTO v VALUES (1)");
        assert_eq!(
            told(&setup, sql, Some("SELECT t.a, v.a FROM t, v WHERE t.a = 1")),
            r#"["a","a"] [[1,1]]"#
        );
    }

    #[test]
    fn what_the_candidate_sets_does_not_change_what_the_check_means() {
        let setup = "CREATE TABLE t(a TEXT); INSERT INTO t VALUES ('Smith')";
        let check = Some("SELECT count(*) AS n FROM t WHERE a LIKE 'smith'");
        let sensitive = format!("PRAGMA case_sensitive_like=ON; {setup}");
        let lines = [
            told(setup, "PRAGMA case_sensitive_like=ON", check),
            told(&sensitive, "PRAGMA case_sensitive_like=OFF", check),
            told(setup, "SELECT 1", Some("PRAGMA integrity_check")),
            told(
                setup,
                "DROP TABLE t; CREATE VIEW t AS SELECT load_extension('x') AS a",
                check,
            ),
            told(setup, "CREATE VIRTUAL TABLE temp.f USING fts5(a)", check),
            told(setup, "SELECT 1\0; DROP TABLE t", check),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        ["n"] [[1]]
        ["n"] [[0]]
        ["integrity_check"] [["ok"]]
        check error unsafe use of load_extension()
        ["n"] [[1]]
        ["n"] [[1]]
        "#);
    }
}
