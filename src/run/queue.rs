//! Which sample is next.
//!
//! Only outlines wait here. Whole cases are built a little ahead of their turn, by a thread beside
//! those that grade.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::feed::CaseFeed;
use super::prepare::PreparedRun;
use super::remaining::RemainingSamples;
use crate::model::{Case, CaseFault, CaseOutline, Eval, Plan};

/// Data files that are open at once.
const FEEDS: usize = 4;

/// One sample to run.
#[derive(Debug, Clone)]
pub(super) struct SampleWork {
    pub eval: Arc<Eval>,
    /// The eval's place in the plan, and the case's among the eval's cases.
    pub place: (usize, usize),
    pub sample: u32,
    pub case: Result<Arc<Case>, CaseFault>,
}

/// One sample that did not start; its case was never built.
#[derive(Debug)]
pub(super) struct UnstartedSample {
    pub eval: Arc<Eval>,
    pub place: (usize, usize),
    pub sample: u32,
}

impl SampleWork {
    pub fn case_id(&self) -> &str {
        id_of(&self.eval, self.place)
    }
}

impl UnstartedSample {
    pub fn case_id(&self) -> &str {
        id_of(&self.eval, self.place)
    }
}

fn id_of(eval: &Eval, (_, case): (usize, usize)) -> &str {
    eval.cases.outline(case).map_or("", |case| case.id)
}

/// The samples of an eval that have not started: at least one.
struct EvalLane {
    eval: Arc<Eval>,
    index: usize,
    /// Case and sample that are next.
    next: (usize, u32),
    /// The case that came last, for its further samples.
    case: Option<(usize, Result<Arc<Case>, CaseFault>)>,
    feed: Option<CaseFeed>,
}

/// The samples of a plan in its order. Of an eval with `parallel: false` at most one is out at a
/// time.
pub(super) struct SampleQueue {
    /// By the place of their eval: only evals with samples that wait.
    lanes: BTreeMap<usize, EvalLane>,
    /// Lanes whose next sample may start as it is. An eval that is not parallel and has a sample
    /// out is in neither set, so that no lane that has to wait is looked at.
    ready: BTreeSet<usize>,
    /// Lanes whose next sample may start once a data file is opened.
    shut: BTreeSet<usize>,
    feeds: usize,
    remaining: Arc<RemainingSamples>,
}

impl SampleQueue {
    pub fn new(plan: &Plan, remaining: RemainingSamples) -> Self {
        let lane = |(index, eval): (usize, &Arc<Eval>)| {
            let next = next_wanted(eval, index, (0, 0), &remaining)?;
            Some((
                index,
                EvalLane {
                    eval: Arc::clone(eval),
                    index,
                    next,
                    case: None,
                    feed: None,
                },
            ))
        };
        let lanes: BTreeMap<usize, EvalLane> =
            plan.evals.iter().enumerate().filter_map(lane).collect();
        let (ready, shut) = (BTreeSet::new(), BTreeSet::new());
        let mut queue = SampleQueue {
            lanes,
            ready,
            shut,
            feeds: 0,
            remaining: Arc::new(remaining),
        };
        (0..plan.evals.len()).for_each(|at| queue.offer(at));
        queue
    }

    /// Notes that the next sample of a lane may start.
    fn offer(&mut self, at: usize) {
        let Some(lane) = self.lanes.get(&at) else {
            return;
        };
        let set = if lane.needs_file() {
            &mut self.shut
        } else {
            &mut self.ready
        };
        set.insert(at);
    }

    /// The next sample that may start now, if it is of a case that `wanted` takes.
    fn next_if(&mut self, wanted: impl Fn(&Eval, CaseOutline<'_>) -> bool) -> Option<SampleWork> {
        let shut = if self.feeds < FEEDS {
            self.shut.first()
        } else {
            None
        };
        let at = *self.ready.first().into_iter().chain(shut).min()?;
        let lane = self.lanes.get_mut(&at)?;
        if !lane
            .eval
            .cases
            .outline(lane.next.0)
            .is_some_and(|case| wanted(&lane.eval, case))
        {
            return None;
        }
        let fed = lane.feed.is_some();
        let case = lane.case(&self.remaining);
        self.feeds += usize::from(!fed && lane.feed.is_some());
        let (place, sample) = ((lane.index, lane.next.0), lane.next.1);
        let work = SampleWork {
            eval: Arc::clone(&lane.eval),
            place,
            sample,
            case,
        };
        self.ready.remove(&at);
        self.shut.remove(&at);
        match next_wanted(
            &lane.eval,
            lane.index,
            (lane.next.0, sample + 1),
            &self.remaining,
        ) {
            Some(next) => {
                lane.next = next;
                if lane.eval.parallel {
                    self.offer(at);
                }
            }
            None => {
                self.feeds -= usize::from(lane.feed.is_some());
                self.lanes.remove(&at);
            }
        }
        Some(work)
    }

    /// The next samples that may start now, to be run one after the other by one task: one, or up
    /// to `most` that are all `cheap` (a task each would cost more than they do).
    pub fn next_batch(
        &mut self,
        most: usize,
        cheap: impl Fn(CaseOutline<'_>) -> bool,
    ) -> Vec<SampleWork> {
        let Some(first) = self.next_if(|_, _| true) else {
            return Vec::new();
        };
        let joinable = |eval: &Eval, case: CaseOutline<'_>| eval.parallel && cheap(case);
        let joins = first
            .eval
            .cases
            .outline(first.place.1)
            .is_some_and(|case| joinable(&first.eval, case));
        let more = if joins { most.saturating_sub(1) } else { 0 };
        let mut batch = Vec::with_capacity(more + 1);
        batch.push(first);
        for _ in 0..more {
            let Some(work) = self.next_if(joinable) else {
                break;
            };
            batch.push(work);
        }
        batch
    }

    /// A sample is done (or given up).
    pub fn done(&mut self, work: &SampleWork) {
        if !work.eval.parallel {
            self.offer(work.place.0);
        }
    }

    /// Everything that has not started. No case is built for it.
    pub fn drain(&mut self) -> impl Iterator<Item = UnstartedSample> + '_ {
        let remaining = Arc::clone(&self.remaining);
        self.feeds = 0;
        self.ready.clear();
        self.shut.clear();
        std::mem::take(&mut self.lanes)
            .into_values()
            .flat_map(move |lane| {
                let (remaining, index) = (Arc::clone(&remaining), lane.index);
                let mut next = Some(lane.next);
                std::iter::from_fn(move || {
                    let (case, sample) = next?;
                    next = next_wanted(&lane.eval, index, (case, sample + 1), &remaining);
                    Some(UnstartedSample {
                        eval: Arc::clone(&lane.eval),
                        place: (index, case),
                        sample,
                    })
                })
            })
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }
}

impl EvalLane {
    /// True when the next sample can't start before a data file is opened.
    fn needs_file(&self) -> bool {
        let at = self.next.0;
        self.feed.is_none()
            && self.case.as_ref().is_none_or(|(last, _)| *last != at)
            && self.eval.cases.held(at).is_none()
    }

    /// The whole case whose sample is next.
    fn case(&mut self, remaining: &Arc<RemainingSamples>) -> Result<Arc<Case>, CaseFault> {
        let at = self.next.0;
        if let Some((last, case)) = &self.case
            && *last == at
        {
            return case.clone();
        }
        let case = match self.eval.cases.held(at) {
            Some(case) => Ok(case),
            None => {
                let (eval, index) = (&self.eval, self.index);
                self.feed
                    .get_or_insert_with(|| {
                        CaseFeed::open(Arc::clone(eval), index, at, Arc::clone(remaining))
                    })
                    .next(at)
            }
        };
        if self.eval.cases.outline(at).map(PreparedRun::samples) != Some(1) {
            self.case = Some((at, case.clone()));
        }
        case
    }
}

/// The first sample from this case and sample on that is still to be run.
fn next_wanted(
    eval: &Eval,
    index: usize,
    from: (usize, u32),
    remaining: &RemainingSamples,
) -> Option<(usize, u32)> {
    let (case, sample) = from;
    let mut first = sample;
    for at in case..eval.cases.len() {
        let samples = eval.cases.outline(at).map_or(0, PreparedRun::samples);
        if let Some(sample) = (first..samples).find(|sample| remaining.wants(index, at, *sample)) {
            return Some((at, sample));
        }
        first = 0;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::model::{
        CaseOutlines, CaseSource, CaseStream, EvalCases, PlaceFilter, StreamedCase, testing,
    };

    fn case(id: &str, samples: u32) -> Arc<Case> {
        Arc::new(Case {
            samples: Some(samples),
            ..testing::case(id)
        })
    }

    fn eval(id: &str, parallel: bool, cases: &[(&str, u32)]) -> Arc<Eval> {
        let cases = cases
            .iter()
            .map(|(id, samples)| case(id, *samples))
            .collect();
        Arc::new(Eval {
            parallel,
            ..testing::eval(id, cases)
        })
    }

    fn queue(evals: Vec<Arc<Eval>>) -> SampleQueue {
        SampleQueue::new(&testing::plan(evals), RemainingSamples::all())
    }

    fn name(work: &SampleWork) -> String {
        format!("{}{}{}", work.eval.info.id, work.case_id(), work.sample)
    }

    fn rest(queue: &mut SampleQueue) -> String {
        let works: Vec<SampleWork> = std::iter::from_fn(|| queue.next_if(|_, _| true)).collect();
        works.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn drained(queue: &mut SampleQueue) -> String {
        let name = |left: UnstartedSample| {
            format!("{}{}{}", left.eval.info.id, left.case_id(), left.sample)
        };
        queue.drain().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn of_an_eval_that_is_not_parallel_one_sample_is_out_and_others_pass_it() {
        let mut queue = queue(vec![
            eval("a", false, &[("x", 2), ("y", 1)]),
            eval("b", true, &[("x", 2)]),
            eval("c", false, &[("x", 1)]),
        ]);
        let first = queue.next_if(|_, _| true).unwrap();
        assert_eq!(
            (name(&first), rest(&mut queue)),
            ("ax0".into(), "bx0 bx1 cx0".into())
        );
        assert!(!queue.is_empty());
        queue.done(&first);
        let second = queue.next_if(|_, _| true).unwrap();
        assert_eq!(
            (name(&second), rest(&mut queue)),
            ("ax1".into(), String::new())
        );
        assert_eq!(drained(&mut queue), "ay0");
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
        let batches = |most: usize, cheap: fn(CaseOutline<'_>) -> bool| {
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
        assert_eq!(
            batches(32, |_| true),
            ["ax0 ax1 ax2", "bx0", "bx1", "cx0 cy0"]
        );
        assert_eq!(
            batches(2, |_| true),
            ["ax0 ax1", "ax2", "bx0", "bx1", "cx0 cy0"]
        );
        assert_eq!(
            batches(32, |case| case.id == "y"),
            ["ax0", "ax1", "ax2", "bx0", "bx1", "cx0", "cy0"]
        );
    }

    #[test]
    fn what_is_finished_is_passed_over() {
        let evals = vec![
            eval("a", true, &[("x", 3), ("y", 1)]),
            eval("b", true, &[("x", 1)]),
            eval("c", true, &[("x", 2)]),
        ];
        let mut remaining = RemainingSamples::none();
        let done: [&[&[bool]]; 3] = [
            &[&[false, true, false], &[true]],
            &[&[true]],
            &[&[true, false]],
        ];
        for eval in done {
            remaining.add_eval();
            eval.iter().for_each(|case| {
                remaining.add_case(case.len() as u32, |sample| case[sample as usize])
            });
        }
        let mut queue = SampleQueue::new(&testing::plan(evals), remaining);
        assert_eq!(name(&queue.next_if(|_, _| true).unwrap()), "ax0");
        assert_eq!(drained(&mut queue), "ax2 cx1");
    }

    /// A source that has to build its cases, and counts.
    #[derive(Debug)]
    struct Counting {
        cases: usize,
        built: Arc<AtomicUsize>,
        /// From this place on its file is broken.
        broken: usize,
    }

    impl CaseSource for Counting {
        fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a> {
            Box::new((0..self.cases).filter(move |at| wanted(*at)).map(|at| {
                self.built.fetch_add(1, Ordering::SeqCst);
                let gone = CaseFault::Changed {
                    file: "rows".into(),
                    what: "gone".into(),
                };
                let case = if at < self.broken {
                    Ok(case(&at.to_string(), 1))
                } else {
                    Err(gone)
                };
                StreamedCase {
                    at,
                    bytes: 100,
                    case,
                }
            }))
        }
    }

    fn counting(
        id: &str,
        parallel: bool,
        cases: usize,
        broken: usize,
    ) -> (Arc<Eval>, Arc<AtomicUsize>) {
        let built = Arc::new(AtomicUsize::new(0));
        let mut outlines = CaseOutlines::default();
        (0..cases).for_each(|at| outlines.push(&case(&at.to_string(), 1)).unwrap());
        let cases = EvalCases::new(
            outlines,
            Arc::new(Counting {
                cases,
                built: Arc::clone(&built),
                broken,
            }),
        );
        (
            Arc::new(Eval {
                parallel,
                ..testing::eval(id, cases)
            }),
            built,
        )
    }

    #[test]
    fn no_more_cases_are_built_than_a_little_ahead_and_none_to_be_left_out() {
        let (eval, built) = counting("a", true, 20_000, 20_000);
        let mut queue = queue(vec![eval]);
        assert_eq!(built.load(Ordering::SeqCst), 0);
        for taken in 1..=5_000 {
            let work = queue.next_if(|_, _| true).unwrap();
            assert_eq!(
                work.case.unwrap().id,
                work.eval.cases.outline(taken - 1).unwrap().id
            );
            let ahead = built.load(Ordering::SeqCst) - taken;
            assert!(ahead <= 1_024, "{ahead} cases ahead of {taken}");
        }
        assert_eq!(queue.drain().count(), 15_000);
        assert!(built.load(Ordering::SeqCst) <= 5_000 + 1_024);
    }

    #[test]
    fn a_case_that_cannot_be_built_any_more_is_a_fault_and_the_others_run() {
        let (eval, _) = counting("a", true, 3, 2);
        let mut queue = queue(vec![eval]);
        let cases: Vec<Result<String, String>> = std::iter::from_fn(|| queue.next_if(|_, _| true))
            .map(|work| {
                work.case
                    .map(|case| case.id.clone())
                    .map_err(|fault| fault.to_string())
            })
            .collect();
        let gone = "rows changed while the run was going on: gone".to_owned();
        assert_eq!(cases, [Ok("0".into()), Ok("1".into()), Err(gone)]);
    }

    #[test]
    fn only_a_few_data_files_are_open_at_once() {
        let evals: Vec<Arc<Eval>> = (0..9)
            .map(|at| counting(&format!("e{at}-"), false, 2, 2).0)
            .collect();
        let mut queue = queue(evals);
        let first: Vec<SampleWork> = std::iter::from_fn(|| queue.next_if(|_, _| true)).collect();
        assert_eq!(
            first.iter().map(name).collect::<Vec<_>>().join(" "),
            "e0-00 e1-00 e2-00 e3-00"
        );
        first.iter().for_each(|work| queue.done(work));
        let more: Vec<SampleWork> = std::iter::from_fn(|| queue.next_if(|_, _| true)).collect();
        let names = more.iter().map(name).collect::<Vec<_>>().join(" ");
        assert_eq!(names, "e0-10 e1-10 e2-10 e3-10 e4-00 e5-00 e6-00 e7-00");
    }
}
