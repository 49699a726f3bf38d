//! Whole cases for those who ask in almost the plan's order, as a journal does: samples finish a
//! little out of turn, and those of a later session begin from the front again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::model::{Case, CaseFault, CaseStream, EvalCases, StreamedCase};

/// Cases of one eval that are held after they were passed.
const HELD: usize = 512;

/// Bytes of cases that are held, about.
const HELD_BYTES: usize = 16 << 20;

/// Evals whose data files are open at once.
const OPEN: usize = 4;

/// One window into the cases of each eval that is asked for; of few evals at once.
#[derive(Default)]
pub(super) struct CaseWindows<'a> {
    open: VecDeque<(usize, CaseWindow<'a>)>,
}

struct CaseWindow<'a> {
    stream: CaseStream<'a>,
    /// The first case that the stream has not given.
    next: usize,
    held: HashMap<usize, (Result<Arc<Case>, CaseFault>, usize)>,
    order: VecDeque<usize>,
    bytes: usize,
}

impl<'a> CaseWindows<'a> {
    /// The case at a place of the eval with this number.
    pub fn case(
        &mut self,
        cases: &'a EvalCases,
        eval: usize,
        at: usize,
    ) -> Result<Arc<Case>, CaseFault> {
        if let Some(case) = cases.held(at) {
            return Ok(case);
        }
        let open = self
            .open
            .iter_mut()
            .find(|(of, _)| *of == eval)
            .map(|(_, window)| window);
        if let Some(window) = open {
            if let Some(case) = window.find(at) {
                return case;
            }
            self.open.retain(|(of, _)| *of != eval);
        }
        if self.open.len() >= OPEN {
            self.open.pop_front();
        }
        let mut window = CaseWindow::from(cases, at);
        let case = window.find(at);
        self.open.push_back((eval, window));
        case.unwrap_or_else(|| {
            Err(CaseFault::Changed {
                file: "the data file".to_owned(),
                what: "it ended early".to_owned(),
            })
        })
    }
}

impl<'a> CaseWindow<'a> {
    fn from(cases: &'a EvalCases, at: usize) -> CaseWindow<'a> {
        let stream = cases.stream(move |place| place >= at);
        CaseWindow {
            stream,
            next: at,
            held: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The case at a place; `None` when it was passed long ago.
    fn find(&mut self, at: usize) -> Option<Result<Arc<Case>, CaseFault>> {
        if let Some((case, _)) = self.held.get(&at) {
            return Some(case.clone());
        }
        while self.next <= at {
            let StreamedCase {
                at: place,
                bytes,
                case,
            } = self.stream.next()?;
            self.next = place + 1;
            self.hold(place, case.clone(), bytes);
            if place == at {
                return Some(case);
            }
        }
        None
    }

    fn hold(&mut self, at: usize, case: Result<Arc<Case>, CaseFault>, bytes: usize) {
        self.held.insert(at, (case, bytes));
        self.order.push_back(at);
        self.bytes += bytes;
        while self.order.len() > 1 && (self.order.len() > HELD || self.bytes > HELD_BYTES) {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.bytes -= self.held.remove(&oldest).map_or(0, |(_, bytes)| bytes);
        }
    }
}
