//! Which sample is next.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::prepare::Prepared;
use crate::model::{Case, Eval, Plan};

/// One sample to run.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub eval: Arc<Eval>,
    pub case: Arc<Case>,
    pub sample: u32,
}

/// The samples of an eval that have not started.
struct Lane {
    eval: Arc<Eval>,
    waiting: VecDeque<Work>,
}

/// The samples of a plan in its order. Of an eval with `parallel: false` at most one is out at a time.
pub(super) struct Queue {
    /// Only evals with samples that wait.
    lanes: VecDeque<Lane>,
    /// Evals that are not parallel and have a sample out: never more than samples are out, so that the search for a free
    /// lane is short however many samples wait.
    busy: HashSet<String>,
}

impl Queue {
    pub fn new(plan: &Plan) -> Self {
        let lane = |eval: &Arc<Eval>| {
            let samples = eval.cases.iter().flat_map(|case| {
                (0..Prepared::samples(case)).map(move |sample| Work {
                    eval: Arc::clone(eval),
                    case: Arc::clone(case),
                    sample,
                })
            });
            Lane { eval: Arc::clone(eval), waiting: samples.collect() }
        };
        let lanes = plan.evals.iter().map(lane).filter(|lane| !lane.waiting.is_empty()).collect();
        Queue { lanes, busy: HashSet::new() }
    }

    /// The next sample that may start now, if it is one that `wanted` takes.
    fn next_if(&mut self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let free = |lane: &Lane| lane.eval.parallel || !self.busy.contains(&lane.eval.info.id);
        let at = self.lanes.iter().position(free)?;
        let lane = self.lanes.get_mut(at)?;
        let work = lane.waiting.pop_front_if(|work| wanted(work))?;
        if !lane.eval.parallel {
            self.busy.insert(lane.eval.info.id.clone());
        }
        if lane.waiting.is_empty() {
            self.lanes.remove(at);
        }
        Some(work)
    }

    /// The next samples that may start now, to be run one after the other by one task: one, or up to `most` that are all
    /// `cheap` (a task each would cost more than they do).
    pub fn next_batch(&mut self, most: usize, cheap: impl Fn(&Work) -> bool) -> Vec<Work> {
        let Some(first) = self.next_if(|_| true) else { return Vec::new() };
        let joinable = |work: &Work| work.eval.parallel && cheap(work);
        let more = if joinable(&first) { most.saturating_sub(1) } else { 0 };
        let mut batch = vec![first];
        for _ in 0..more {
            let Some(work) = self.next_if(joinable) else { break };
            batch.push(work);
        }
        batch
    }

    /// A sample is done (or given up).
    pub fn done(&mut self, work: &Work) {
        if !work.eval.parallel {
            self.busy.remove(&work.eval.info.id);
        }
    }

    /// Everything that has not started.
    pub fn drain(&mut self) -> impl Iterator<Item = Work> + '_ {
        self.lanes.drain(..).flat_map(|lane| lane.waiting)
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{
        Combine, EvalInfo, EvalType, GateSpec, Grading, Input, Reporting, Settings, SuiteInfo,
    };

    fn case(id: &str, samples: u32) -> Arc<Case> {
        Arc::new(Case {
            id: id.to_owned(),
            name: None,
            input: Input::Prompt { text: String::new(), context: None },
            grading: Grading { graders: Vec::new(), combine: Combine::All },
            extract: Vec::new(),
            samples: Some(samples),
            timeout: Duration::from_secs(1),
            retries: None,
            max_latency: None,
            target: None,
            expected: None,
            tags: Vec::new(),
            difficulty: None,
            input_hash: String::new(),
            grading_hash: String::new(),
            origin: String::new(),
        })
    }

    fn eval(id: &str, parallel: bool, cases: &[(&str, u32)]) -> Arc<Eval> {
        let info = EvalInfo {
            id: id.to_owned(),
            name: id.to_owned(),
            description: None,
            kind: EvalType::Capability,
            category: None,
            tags: Vec::new(),
            weight: 1.0,
            difficulty: None,
            criticality: None,
            pass_rate_threshold: 1.0,
            score_threshold: None,
        };
        Arc::new(Eval {
            info,
            parallel,
            cases: cases.iter().map(|(id, samples)| case(id, *samples)).collect(),
        })
    }

    fn queue(evals: Vec<Arc<Eval>>) -> Queue {
        Queue::new(&Plan {
            suite: SuiteInfo {
                name: String::new(),
                version: None,
                description: None,
                path: "s.yaml".into(),
                dir: "/".into(),
                root: "/".into(),
            },
            target_name: String::new(),
            target: None,
            evals,
            settings: Settings {
                max_workers: 4,
                ks: vec![1],
                seed: 0,
                timeout_global: None,
                retry_failed: 0,
                max_fail: None,
                allow_unsandboxed: false,
            },
            composites: Vec::new(),
            gate: GateSpec::default(),
            reporting: Reporting {
                formats: Vec::new(),
                output_dir: "/".into(),
                include_details: true,
                notify_on_failure: false,
            },
            secrets: Vec::new(),
        })
    }

    fn name(work: &Work) -> String {
        format!("{}{}{}", work.eval.info.id, work.case.id, work.sample)
    }

    fn rest(queue: &mut Queue) -> String {
        let works: Vec<Work> = std::iter::from_fn(|| queue.next_if(|_| true)).collect();
        works.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn of_an_eval_that_is_not_parallel_one_sample_is_out_and_others_pass_it() {
        let mut queue = queue(vec![
            eval("a", false, &[("x", 2), ("y", 1)]),
            eval("b", true, &[("x", 2)]),
            eval("c", false, &[("x", 1)]),
        ]);
        let first = queue.next_if(|_| true).unwrap();
        assert_eq!((name(&first), rest(&mut queue)), ("ax0".into(), "bx0 bx1 cx0".into()));
        assert!(!queue.is_empty());
        queue.done(&first);
        let second = queue.next_if(|_| true).unwrap();
        assert_eq!((name(&second), rest(&mut queue)), ("ax1".into(), String::new()));
        assert_eq!(queue.drain().map(|work| name(&work)).collect::<Vec<_>>(), ["ay0"]);
        assert!(queue.is_empty());
    }
    #[test]
    fn a_batch_holds_cheap_samples_of_parallel_evals_only() {
        let evals = || {
            vec![
                eval("a", true, &[("x", 3)]),
                eval("b", false, &[("x", 2)]),
                eval("c", true, &[("x", 1), ("y", 1)]),
            ]
        };
        let batches = |most: usize, cheap: fn(&Work) -> bool| {
            let mut queue = queue(evals());
            let mut batches = Vec::new();
            loop {
                let batch = queue.next_batch(most, cheap);
                if batch.is_empty() {
                    return batches;
                }
                batch.iter().for_each(|work| queue.done(work));
                batches.push(batch.iter().map(name).collect::<Vec<_>>().join(" "));
            }
        };
        assert_eq!(batches(32, |_| true), ["ax0 ax1 ax2", "bx0", "bx1", "cx0 cy0"]);
        assert_eq!(batches(2, |_| true), ["ax0 ax1", "ax2", "bx0", "bx1", "cx0 cy0"]);
        assert_eq!(
            batches(32, |work| work.case.id == "y"),
            ["ax0", "ax1", "ax2", "bx0", "bx1", "cx0", "cy0"]
        );
    }
}
