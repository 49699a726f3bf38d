//! LiveCodeBench: programs that read stdin, and methods of `Solution`, with public and private
//! tests.
//!
//! Its runner executes the imports of [`IMPORTS`] before the answer and ignores exit codes other
//! than 0 of a program that ended itself; here such a program fails.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::{Record, text, text_if_any};
use super::released::{ReleaseDate, ReleaseWindow};
use super::{BenchmarkFormat, BenchmarkTask, contest};
use crate::graders::CallExpectation;
use crate::model::{CodeGrader, CodeLimits, StdoutComparison};
use crate::spec::LivecodebenchTests;

/// Names that answers use without importing them.
const IMPORTS: &str = "\
from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
from builtins import *
from typing import *
import string, re, datetime, collections, heapq, bisect, copy, math, random, statistics
import itertools, functools, operator, io, sys, json
sys.setrecursionlimit(50000)
";

const DATE: &str = "contest_date";

/// Seconds for one test, and MiB for a program, by default.
pub(super) const SECONDS: f64 = 6.0;
pub(super) const MEMORY_MB: u64 = 1024;

/// Bytes of the private tests of one record, unpacked.
const LARGEST: u64 = 512 << 20;

#[derive(Debug)]
pub(super) struct LiveCodeBench {
    pub limits: CodeLimits,
    pub tests: LivecodebenchTests,
    pub released: ReleaseWindow,
}

#[derive(Debug, Deserialize)]
struct ContestTest {
    input: String,
    output: String,
    testtype: String,
}

impl BenchmarkFormat for LiveCodeBench {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = text(record, &["question_id"])?.to_owned();
        let content = text(record, &["question_content"])?;
        let starter = text_if_any(record, &["starter_code"])?.unwrap_or_default();
        let date = ReleaseDate::of(record, DATE)?;
        let tests = self.tests_of(record)?;
        let functional = match tests.first() {
            None => return Err("the record has no tests, so nothing would be tested".to_owned()),
            Some(first) => first.testtype == "functional",
        };
        if let Some(other) = tests
            .iter()
            .find(|test| test.testtype != if functional { "functional" } else { "stdin" })
        {
            return Err(format!(
                "`testtype` is `{}`, expected `stdin` or `functional`, the same for all tests",
                other.testtype
            ));
        }
        let grader = if functional {
            self.functional(record, &tests)?
        } else {
            self.stdin(tests)
        };
        Ok(BenchmarkTask {
            context: json!({ "question_id": id, "question_content": content, "starter_code": starter }),
            id,
            name: text_if_any(record, &["question_title"])?.map(str::to_owned),
            prompt: contest::prompt(content, starter),
            extract: Vec::new(),
            graders: vec![grader],
            metrics: Vec::new(),
            solution: None,
            tags: labels(record)
                .into_iter()
                .chain(date.iter().flat_map(ReleaseDate::tags))
                .collect(),
        })
    }

    fn selects(&self, record: &Record) -> Result<bool, String> {
        self.released.takes(ReleaseDate::of(record, DATE)?.as_ref())
    }
}

impl LiveCodeBench {
    fn tests_of(&self, record: &Record) -> Result<Vec<ContestTest>, String> {
        let mut tests = Vec::new();
        if self.tests != LivecodebenchTests::Private {
            let public = text(record, &["public_test_cases"])?;
            tests.extend(parsed("public_test_cases", public)?);
        }
        if self.tests != LivecodebenchTests::Public {
            let private = text(record, &["private_test_cases"])?;
            tests.extend(private_tests(private)?);
        }
        Ok(tests)
    }

    fn stdin(&self, tests: Vec<ContestTest>) -> CodeGrader {
        let tests = tests.into_iter().map(|test| (test.input, test.output));
        contest::stdin_grader(
            IMPORTS,
            tests,
            (StdoutComparison::Decimals, None),
            self.limits,
        )
    }

    fn functional(&self, record: &Record, tests: &[ContestTest]) -> Result<CodeGrader, String> {
        let metadata = text(record, &["metadata"])?;
        let metadata: Value = serde_json::from_str(metadata)
            .map_err(|error| format!("`metadata` is not JSON: {error}"))?;
        let name = metadata
            .get("func_name")
            .and_then(Value::as_str)
            .ok_or("`metadata` has no `func_name`, which functional tests need")?;
        let value = |text: &str, what: &str| -> Result<Value, String> {
            serde_json::from_str(text)
                .map_err(|error| format!("the {what} of a test is not JSON: {error}"))
        };
        let mut cases = Vec::new();
        for test in tests {
            let args = test.input.split('\n').map(|line| value(line, "input"));
            let expected = CallExpectation::Value(value(&test.output, "output")?);
            cases.push((args.collect::<Result<_, _>>()?, expected));
        }
        let name = format!("Solution.{name}");
        Ok(CodeGrader::FunctionOutput(contest::call_grader(
            IMPORTS,
            name,
            cases,
            self.limits,
        )))
    }
}

/// Where and how hard the problem is, as tags.
fn labels(record: &Record) -> Vec<String> {
    ["platform", "difficulty"]
        .iter()
        .filter_map(|key| Some(format!("{key}:{}", record.get(*key)?.as_str()?)))
        .collect()
}

fn parsed(key: &str, text: &str) -> Result<Vec<ContestTest>, String> {
    serde_json::from_str(text).map_err(|error| {
        format!(
            "`{key}` is not a JSON list of tests with `input`, `output` and `testtype`: {error}"
        )
    })
}

/// JSON, or base64 of zlib of a pickled text of JSON. Nothing is unpickled but a text.
fn private_tests(text: &str) -> Result<Vec<ContestTest>, String> {
    const KEY: &str = "private_test_cases";
    if text.trim_start().starts_with('[') {
        return parsed(KEY, text);
    }
    let packed = STANDARD
        .decode(text.trim())
        .map_err(|error| format!("`{KEY}` is neither JSON nor base64: {error}"))?;
    let mut pickled = Vec::new();
    ZlibDecoder::new(packed.as_slice())
        .take(LARGEST + 1)
        .read_to_end(&mut pickled)
        .map_err(|error| format!("`{KEY}` can't be unpacked: {error}"))?;
    if pickled.len() as u64 > LARGEST {
        return Err(format!(
            "`{KEY}` is larger than {} MiB when it is unpacked",
            LARGEST >> 20
        ));
    }
    let json = unpickled_text(&pickled).ok_or_else(|| {
        format!("`{KEY}` is a pickle of something else than one text, which is not read: it could run code")
    })?;
    parsed(KEY, json)
}

/// The text of a pickle that has one and nothing else (protocols 2 to 5).
fn unpickled_text(pickle: &[u8]) -> Option<&str> {
    const PROTO: u8 = 0x80;
    const FRAME: u8 = 0x95;
    const SHORT_BINUNICODE: u8 = 0x8c;
    const BINUNICODE: u8 = b'X';
    const BINUNICODE8: u8 = 0x8d;
    const MEMOIZE: u8 = 0x94;
    const BINPUT: u8 = b'q';
    const STOP: u8 = b'.';
    let mut rest = pickle;
    let mut text = None;
    loop {
        let (code, after) = rest.split_first()?;
        rest = after;
        let length = match *code {
            PROTO => {
                rest = rest.get(1..)?;
                continue;
            }
            FRAME => {
                rest = rest.get(8..)?;
                continue;
            }
            BINPUT if text.is_some() => {
                rest = rest.get(1..)?;
                continue;
            }
            MEMOIZE if text.is_some() => continue,
            STOP => return text.filter(|_| rest.is_empty()),
            SHORT_BINUNICODE => {
                let (length, after) = rest.split_first()?;
                rest = after;
                usize::from(*length)
            }
            BINUNICODE => number(&mut rest, 4)?,
            BINUNICODE8 => number(&mut rest, 8)?,
            _ => return None,
        };
        if text.is_some() {
            return None;
        }
        let (bytes, after) = rest.split_at_checked(length)?;
        text = Some(std::str::from_utf8(bytes).ok()?);
        rest = after;
    }
}

/// A number of so many bytes, the lowest first.
fn number(rest: &mut &[u8], bytes: usize) -> Option<usize> {
    let (head, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    let value = head
        .iter()
        .rev()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    usize::try_from(value).ok()
}
