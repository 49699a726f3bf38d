//! What is known of tests before any candidate is seen: where they can run, and their compiled
//! form. Found out once.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::capture::ChannelLines;
use super::channel::pipe;
use super::error::SandboxError;
use super::messages::{object, raised, text};
use super::pool::SandboxWorker;
use super::python::{PythonJob, PythonRuntime, RunnerKind};
use super::running::{ChannelEvent, bounded};
use super::testing::Compiled;
use super::types::*;
use eval_base::json::weight;

/// Plans that are kept, the last used ones. A benchmark of thousands of tasks asks for each a few
/// times in a row.
const MOST_PLANS: usize = 512;
/// ... and what they may take together.
const MOST_BYTES: usize = 64 << 20;
/// Tests are read and compiled within this, whatever a candidate is granted.
const PLANNING_TIME: Duration = Duration::from_secs(30);
/// ... and this of it may be spent on compiling: what takes longer is computed by a judge.
const COMPILING_TIME: Duration = Duration::from_secs(5);

/// What is known of tests.
#[derive(Debug)]
pub(super) enum PlannedTests {
    /// They can't be read: not a candidate's fault.
    Broken(RaisedException),
    Plan(TestPlan),
}

#[derive(Debug)]
pub(super) struct TestPlan {
    /// Names that the tests take from the candidate.
    pub names: Vec<String>,
    /// Standard modules that the tests use without importing them.
    pub modules: Vec<String>,
    /// Names of builtins that the tests use as such.
    pub builtins: Vec<String>,
    /// Why the tests need the candidate's interpreter; empty when they don't.
    pub why: String,
    /// What they replace in modules, which code in another process does not see; empty if nothing.
    pub patched: String,
    /// What else they share with the code in one program, so that a failure may be due to the other
    /// process; empty if nothing.
    pub state: String,
    /// Packages that they import whose objects are no plain data.
    pub values: Vec<String>,
    /// For tests that only compare.
    pub compiled: Option<Compiled>,
    /// The set-up and the tests, compiled by the interpreter for a judge, in hexadecimal digits;
    /// may be empty.
    pub code: Vec<String>,
    /// About how many bytes its values take: a short test may stand for long ones.
    weight: usize,
}

impl TestPlan {
    pub fn mode(&self) -> TestMode {
        match (&self.compiled, self.why.is_empty()) {
            (_, false) => TestMode::InProcess,
            (Some(_), true) => TestMode::Compared,
            (None, true) => TestMode::Split,
        }
    }
}

/// One for each set of tests: whoever comes first makes the plan, others wait for it.
type PlanSlot = Arc<Mutex<Option<Arc<PlannedTests>>>>;
type PlanCacheKey = [u8; 32];

#[derive(Default)]
pub(super) struct PlanCache {
    held: Mutex<PlanCacheState>,
}

#[derive(Default)]
struct PlanCacheState {
    slots: HashMap<PlanCacheKey, PlanEntry>,
    clock: u64,
    bytes: usize,
}

struct PlanEntry {
    slot: PlanSlot,
    used: u64,
    bytes: usize,
}

impl PlanCache {
    /// The plan of a job's tests; the candidate's code isn't looked at.
    pub fn of(
        &self,
        worker: &mut SandboxWorker,
        cancel: BorrowedFd<'_>,
        python: &PythonRuntime,
        job: &TestJob,
    ) -> Result<Arc<PlannedTests>, SandboxError> {
        let key = key(job);
        let slot = locked(&self.held).slot(key);
        let mut planned = locked(&slot);
        if let Some(planned) = &*planned {
            return Ok(Arc::clone(planned));
        }
        // An error is no plan: the next one tries again.
        let made = Arc::new(make(worker, cancel, python, job)?);
        *planned = Some(Arc::clone(&made));
        drop(planned);
        locked(&self.held).weigh(key, size(job, &made));
        Ok(made)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PlanCacheState {
    fn slot(&mut self, key: PlanCacheKey) -> PlanSlot {
        self.clock += 1;
        let entry = self.slots.entry(key).or_insert_with(|| PlanEntry {
            slot: PlanSlot::default(),
            used: 0,
            bytes: 0,
        });
        entry.used = self.clock;
        let slot = Arc::clone(&entry.slot);
        self.forget();
        slot
    }

    fn weigh(&mut self, key: PlanCacheKey, bytes: usize) {
        // It may have been forgotten meanwhile.
        if let Some(entry) = self.slots.get_mut(&key) {
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        }
        self.forget();
    }

    /// Drops the least recently used plans until the rest fits; the last one stays, whatever its
    /// size.
    fn forget(&mut self) {
        while self.slots.len() > 1 && (self.slots.len() > MOST_PLANS || self.bytes > MOST_BYTES) {
            let oldest = self
                .slots
                .iter()
                .min_by_key(|(_, entry)| entry.used)
                .map(|(key, _)| *key);
            let Some(entry) = oldest.and_then(|key| self.slots.remove(&key)) else {
                return;
            };
            self.bytes -= entry.bytes;
        }
    }
}

/// Everything that a plan depends on, each part with its length so that no two jobs share a
/// spelling.
fn key(job: &TestJob) -> PlanCacheKey {
    let mut digest = Sha256::new();
    let mut part = |text: Option<&str>| {
        digest.update(text.map_or(u64::MAX, |t| t.len() as u64).to_le_bytes());
        digest.update(text.unwrap_or_default().as_bytes());
    };
    part(Some(&job.setup));
    part(job.entry_point.as_deref());
    part(job.check.as_deref());
    job.tests.iter().for_each(|test| part(Some(test)));
    digest.finalize().into()
}

fn size(job: &TestJob, planned: &PlannedTests) -> usize {
    let weight = match planned {
        PlannedTests::Plan(plan) => plan.weight,
        PlannedTests::Broken(_) => 0,
    };
    1024 + job.tests.iter().map(String::len).sum::<usize>() + weight
}

/// Asks a process that sees the tests only.
fn make(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    python: &PythonRuntime,
    job: &TestJob,
) -> Result<PlannedTests, SandboxError> {
    let request = json!({
        "setup": job.setup,
        "tests": job.tests,
        "entry": job.entry_point,
        "check": job.check,
        "site": python.site(),
    });
    let limits = ProgramLimits {
        wall: PLANNING_TIME,
        ..ProgramLimits::default()
    };
    let (mut running, read) = worker.start(python, cancel, &limits, || {
        let (read, write) = pipe()?;
        Ok((
            vec![PythonJob::new(RunnerKind::Planner, &request, vec![write])?],
            read,
        ))
    })?;
    let mut until = running.started + bounded(limits.wall);
    let mut lines = ChannelLines::new(read)?;
    let mut said = Vec::new();
    // What compiling costs too much is not compiled; where the tests can run is known by then.
    while let ChannelEvent::Line(line) = running.hear(&mut lines, until)? {
        said.push(line);
        until = until.min(Instant::now() + COMPILING_TIME);
    }
    let ended = running.end()?;
    match said.first().and_then(|line| object(line)) {
        Some(first) => {
            let second = said.get(1).map_or(&[][..], Vec::as_slice);
            Ok(planned(
                &first,
                object(second).as_ref(),
                second.len() + weight(second),
            ))
        }
        None => {
            let why = ended.first().map(|e| match &e.ending {
                Ok(ending) => format!(
                    "{ending}; {}",
                    String::from_utf8_lossy(&e.streams.stderr).trim()
                ),
                Err(reason) => reason.clone(),
            });
            Err(SandboxError::lost(format!(
                "the tests could not be read: {}",
                why.unwrap_or_default()
            )))
        }
    }
}

fn planned(
    first: &Map<String, Value>,
    second: Option<&Map<String, Value>>,
    weight: usize,
) -> PlannedTests {
    if let Some(error) = first.get("error") {
        return PlannedTests::Broken(raised(Some(error)));
    }
    let words = |map: Option<&Map<String, Value>>, key: &str| -> Vec<String> {
        let list = map
            .and_then(|map| map.get(key))
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        list.iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    PlannedTests::Plan(TestPlan {
        names: words(Some(first), "names"),
        modules: words(Some(first), "modules"),
        builtins: words(Some(first), "builtins"),
        why: text(first, "why"),
        patched: text(first, "patched"),
        state: text(first, "state"),
        values: words(Some(first), "values"),
        compiled: second
            .and_then(|map| map.get("compiled"))
            .and_then(Compiled::read),
        code: words(second, "code"),
        weight,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_used_last_are_kept() {
        let mut held = PlanCacheState::default();
        let key = |i: usize| {
            let mut key = [0u8; 32];
            key[..8].copy_from_slice(&(i as u64).to_le_bytes());
            key
        };
        for i in 0..MOST_PLANS + 10 {
            held.slot(key(i));
            held.slot(key(0));
        }
        assert_eq!(held.slots.len(), MOST_PLANS);
        assert!(held.slots.contains_key(&key(0)) && !held.slots.contains_key(&key(1)));
        held.weigh(key(0), MOST_BYTES + 1);
        assert_eq!(held.slots.len(), 1, "the last used one stays alone");
        held.slot(key(1));
        assert_eq!(
            (held.slots.len(), held.bytes),
            (1, 0),
            "a plan that takes it all goes first"
        );
        held.weigh(key(7), 5);
        assert_eq!(held.bytes, 0, "one that was forgotten weighs nothing");
    }

    #[test]
    fn no_two_sets_of_tests_share_a_key() {
        let job = |setup: &str, tests: &[&str], entry: Option<&str>| TestJob {
            setup: setup.to_owned(),
            tests: tests.iter().map(|t| (*t).to_owned()).collect(),
            entry_point: entry.map(str::to_owned),
            ..TestJob::default()
        };
        let all = [
            job("", &["ab"], None),
            job("", &["a", "b"], None),
            job("a", &["b"], None),
            job("", &["b"], Some("a")),
            job("", &["b"], Some("")),
            job("", &["b"], None),
        ];
        let keys: std::collections::HashSet<_> = all.iter().map(key).collect();
        assert_eq!(keys.len(), all.len());
        let code = TestJob {
            code: "x".into(),
            mode: Some(TestMode::Split),
            ..job("", &["b"], None)
        };
        assert_eq!(key(&code), key(&all[5]), "the candidate plays no part");
    }

    #[test]
    fn what_was_not_compiled_goes_to_a_judge() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let first = map(json!({"why": "", "names": ["f"], "modules": []}));
        for second in [
            None,
            Some(map(json!({"compiled": null}))),
            Some(map(json!({"compiled": {"steps": 1}}))),
        ] {
            let PlannedTests::Plan(plan) = planned(&first, second.as_ref(), 0) else {
                panic!("broken")
            };
            assert_eq!(plan.mode(), TestMode::Split);
        }
        let blamed = map(json!({"why": "because", "names": [], "modules": []}));
        let PlannedTests::Plan(plan) = planned(&blamed, None, 0) else {
            panic!("broken")
        };
        assert_eq!(plan.mode(), TestMode::InProcess);
    }
}
