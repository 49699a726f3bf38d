//! The finished samples of a journal in the plan's order, in bounded memory: where each one's line
//! lies is found in a first pass, and its line is read when it is asked for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{JournalError, JournalReader};
use crate::model::{AnswerSource, Attempt, Cause, Event, ModelCall, Outcome, SampleFinished};
use eval_base::blocks::FileBlocks;
use eval_base::names::InternedTexts;

/// Where one sample's line lies.
#[derive(Debug, Clone, Copy)]
struct SampleEntry {
    /// The case's place in the plan.
    rank: u32,
    sample: u32,
    line: u32,
    length: u32,
    offset: u64,
    ending: SampleEnding,
}

/// How a sample ended, and what its outputs can still be used for.
#[derive(Debug, Clone, Copy)]
pub struct SampleEnding {
    pub outcome: Outcome,
    /// The last attempt has an output that graders may judge.
    pub answered: bool,
    /// A secret was redacted in an output that graders would judge.
    pub redacted: bool,
    /// The target's answer came from a recording of model calls, and whether a judge's did.
    pub replayed: [bool; 2],
}

impl SampleEnding {
    /// `None` without an attempt, which no run records.
    fn of(sample: &SampleFinished) -> Option<SampleEnding> {
        let last = sample.attempts.last()?;
        let is_recorded = |call: &ModelCall| call.source == AnswerSource::Recording;
        let mut attempts = sample.attempts.iter();
        // A workspace that could not be made again can't be the next time, either.
        let is_lost = last.verdict.outcome == Outcome::Errored
            && last.verdict.cause == Some(Cause::PatchRejected);
        let has_output = last.output.is_some() || last.stored.is_some();
        Some(SampleEnding {
            outcome: last.verdict.outcome,
            answered: last.is_answer() && has_output && !is_lost,
            redacted: attempts.any(|attempt| attempt.is_answer() && attempt.redacted),
            replayed: [
                sample
                    .attempts
                    .iter()
                    .any(|attempt| attempt.call.as_deref().is_some_and(is_recorded)),
                sample
                    .attempts
                    .iter()
                    .flat_map(Attempt::judge_calls)
                    .any(|asked| is_recorded(&asked.call)),
            ],
        })
    }
}

/// Where the finished samples of a journal lie.
#[derive(Debug)]
pub struct SampleIndex {
    path: PathBuf,
    blocks: FileBlocks,
    entries: Vec<SampleEntry>,
    ranks: CaseRanks,
}

/// The cases of a journal and their places in the plan.
#[derive(Debug, Default)]
struct CaseRanks {
    evals: InternedTexts,
    cases: InternedTexts,
    /// By numbers of eval and case.
    ranks: HashMap<(u32, u32), u32>,
}

impl CaseRanks {
    fn of(&mut self, eval: &str, case: &str) -> Option<u32> {
        let key = (self.evals.add(eval)?, self.cases.add(case)?);
        let next = u32::try_from(self.ranks.len()).ok()?;
        Some(*self.ranks.entry(key).or_insert(next))
    }

    fn known(&self, eval: &str, case: &str) -> Option<u32> {
        let key = (self.evals.number(eval)?, self.cases.number(case)?);
        self.ranks.get(&key).copied()
    }
}

/// Finds the finished samples that `wanted` (by ids of eval and case) takes. Of a sample that is
/// there twice the later one counts. A torn tail is left out, as everywhere.
pub fn index_samples(
    path: &Path,
    wanted: impl Fn(&str, &str) -> bool,
) -> Result<SampleIndex, JournalError> {
    let mut journal = JournalReader::without_details(path)?;
    let (mut ranks, mut entries) = (CaseRanks::default(), Vec::new());
    while let Some(event) = journal.next() {
        let event = event?;
        let place = journal.place();
        let too_much = || JournalError::Line {
            path: path.to_owned(),
            line: place.line,
            message: "there are more samples than this version can index".to_owned(),
        };
        match event {
            Event::CasesPlanned(planned) => {
                for case in &planned.cases {
                    ranks.of(&planned.eval, &case.id).ok_or_else(too_much)?;
                }
            }
            Event::SampleFinished(sample) if wanted(&sample.eval, &sample.case) => {
                let Some(ending) = SampleEnding::of(&sample) else {
                    continue;
                };
                entries.push(SampleEntry {
                    ending,
                    rank: ranks.of(&sample.eval, &sample.case).ok_or_else(too_much)?,
                    sample: sample.sample,
                    line: u32::try_from(place.line).map_err(|_| too_much())?,
                    length: u32::try_from(place.length).map_err(|_| too_much())?,
                    offset: place.offset,
                });
            }
            _ => {}
        }
    }
    entries.sort_unstable_by_key(|entry| (entry.rank, entry.sample, std::cmp::Reverse(entry.line)));
    entries.dedup_by_key(|entry| (entry.rank, entry.sample));
    Ok(SampleIndex {
        path: path.to_owned(),
        blocks: journal.into_blocks()?,
        entries,
        ranks,
    })
}

impl SampleIndex {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The samples, by the plan's order of cases and then by sample, in whatever order they ended.
    pub fn iter(&self) -> impl Iterator<Item = Result<SampleFinished, JournalError>> {
        self.entries.iter().map(|entry| self.read(entry))
    }

    /// How a sample ended; `None` when it did not finish.
    pub fn ending(&self, eval: &str, case: &str, sample: u32) -> Option<SampleEnding> {
        self.find(eval, case, sample).map(|entry| entry.ending)
    }

    /// One sample; `None` when it did not finish.
    pub fn get(
        &self,
        eval: &str,
        case: &str,
        sample: u32,
    ) -> Option<Result<SampleFinished, JournalError>> {
        self.find(eval, case, sample).map(|entry| self.read(entry))
    }

    fn find(&self, eval: &str, case: &str, sample: u32) -> Option<&SampleEntry> {
        let key = (self.ranks.known(eval, case)?, sample);
        let at = self
            .entries
            .binary_search_by_key(&key, |entry| (entry.rank, entry.sample));
        self.entries.get(at.ok()?)
    }

    fn read(&self, entry: &SampleEntry) -> Result<SampleFinished, JournalError> {
        let wrong = |message: String| JournalError::Line {
            path: self.path.clone(),
            line: entry.line as usize,
            message,
        };
        let piece = self
            .blocks
            .read(entry.offset, entry.length as usize)
            .map_err(|error| wrong(format!("it could be read before, but now: {error}")))?;
        match serde_json::from_slice(piece.bytes()) {
            Ok(Event::SampleFinished(sample)) => Ok(*sample),
            Ok(_) => Err(wrong(
                "it was a finished sample, but is a different event now".to_owned(),
            )),
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Attempt, CasesPlanned, Cause, Output, SampleSkipped, Verdict, testing};

    fn planned(eval: &str, ids: &[&str]) -> Event {
        let case = |id: &&str| testing::planned_case(id, 2);
        Event::CasesPlanned(CasesPlanned {
            eval: eval.to_owned(),
            cases: ids.iter().map(case).collect(),
        })
    }

    fn finished(eval: &str, case: &str, sample: u32, output: &str) -> Event {
        let attempt = Attempt {
            output: Some(Output::text(output)),
            ..testing::attempt(Verdict::without_grades(Cause::WrongAnswer, ""))
        };
        Event::SampleFinished(Box::new(SampleFinished {
            eval: eval.to_owned(),
            case: case.to_owned(),
            sample,
            attempts: vec![attempt],
            finished_at: String::new(),
            reused_from: None,
        }))
    }

    fn journal(dir: &Path, events: &[Event], tail: &[u8]) -> PathBuf {
        let path = dir.join("run-1.journal.jsonl");
        let mut bytes = Vec::new();
        for event in events {
            serde_json::to_writer(&mut bytes, event).unwrap();
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(tail);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn told(path: &Path, wanted: impl Fn(&str, &str) -> bool) -> String {
        let index = index_samples(path, wanted).unwrap();
        let sample = |sample: Result<SampleFinished, JournalError>| {
            let sample = sample.unwrap();
            let output = sample.attempts[0].output.clone().unwrap().value;
            format!(
                "{}/{}/{} {output:?}",
                sample.eval, sample.case, sample.sample
            )
        };
        index.iter().map(sample).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn samples_come_in_the_order_of_the_plan_and_the_last_of_each_counts() {
        let dir = tempfile::tempdir().unwrap();
        let skipped = SampleSkipped {
            eval: "e2".into(),
            case: "a".into(),
            sample: 1,
            cause: Cause::Interrupted,
        };
        let events = [
            planned("e2", &["b", "a"]),
            planned("e1", &["a"]),
            finished("e1", "a", 1, "late"),
            finished("e2", "a", 0, "first"),
            finished("e2", "b", 1, "x"),
            Event::SampleSkipped(skipped),
            finished("e2", "b", 0, "y"),
            finished("e2", "a", 0, "second"),
            finished("e1", "a", 0, "z"),
        ];
        for tail in [
            &b""[..],
            b"{\"sample_fin",
            b"\0\0\0\n\0",
            b"garbage\nmore\n",
        ] {
            let path = journal(dir.path(), &events, tail);
            insta::allow_duplicates! {
                insta::assert_snapshot!(told(&path, |_, _| true), @r#"
                e2/b/0 Text("y")
                e2/b/1 Text("x")
                e2/a/0 Text("second")
                e1/a/0 Text("z")
                e1/a/1 Text("late")
                "#);
            }
        }
        let path = journal(dir.path(), &events, b"");
        assert_eq!(told(&path, |eval, case| eval == "e1" && case == "b"), "");
        assert_eq!(told(&path, |_, case| case == "b").lines().count(), 2);
    }

    #[test]
    fn workspace_that_could_not_be_made_again_is_no_answer() {
        for (cause, answered) in [(Cause::PatchRejected, false), (Cause::Harness, true)] {
            let Event::SampleFinished(mut sample) = finished("e", "a", 0, "x") else {
                unreachable!("it is a sample");
            };
            sample.attempts[0].verdict = Verdict::without_grades(cause, "");
            let ending = SampleEnding::of(&sample).unwrap();
            assert_eq!(
                (ending.outcome, ending.answered),
                (Outcome::Errored, answered)
            );
        }
    }

    #[test]
    fn a_journal_that_is_broken_inside_is_refused_with_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let events = [planned("e", &["a"]), finished("e", "a", 0, "x")];
        let refused = |tail: &[u8]| {
            let error =
                index_samples(&journal(dir.path(), &events, tail), |_, _| true).unwrap_err();
            error
                .to_string()
                .replace(&format!("{}/", dir.path().display()), "")
        };
        let said = [refused(b"garbage\n{}\n"), refused(b"{\"what\": 1}\n")];
        insta::assert_snapshot!(said.join("\n"), @r"
        run-1.journal.jsonl:3: not a journal line: expected value at line 1 column 1
        run-1.journal.jsonl:3: not a journal line: unknown variant `what`, expected one of `run_started`, `run_resumed`, `eval_planned`, `cases_planned`, `sample_finished`, `sample_skipped`, `run_finished` at line 1 column 7
        ");
        std::fs::write(dir.path().join("empty"), "").unwrap();
        let empty = index_samples(&dir.path().join("empty"), |_, _| true).unwrap_err();
        assert!(matches!(empty, JournalError::Empty { .. }));
    }
}
