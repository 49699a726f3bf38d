//! The cases of an eval: a short outline of each in memory, the whole case when it is asked for.
//!
//! A plan of a million cases is listed, filtered, counted and journalled from outlines. Whole cases
//! come out of a [`CaseSource`], in order, and nobody has to hold more of them than are in work.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::outline::{CaseOutline, CaseOutlines, CaseProfile};
use super::plan::Case;

/// Which places of a source are wanted.
pub type PlaceFilter<'a> = Box<dyn Fn(usize) -> bool + Send + Sync + 'a>;

/// Whole cases, one after the other.
pub type CaseStream<'a> = Box<dyn Iterator<Item = StreamedCase> + Send + 'a>;

/// Builds cases.
pub trait CaseSource: fmt::Debug + Send + Sync {
    /// The cases at the wanted places, from 0, in ascending order; one that can't be built is a
    /// fault. An end before the last wanted place means that the rest can't be built either.
    fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a>;

    /// The case at a place when it is in memory anyway, so that nothing needs to be built.
    fn held(&self, _at: usize) -> Option<Arc<Case>> {
        None
    }
}

/// One case out of a source.
#[derive(Debug)]
pub struct StreamedCase {
    pub at: usize,
    /// About how much memory it takes, for those who limit what they hold; 0 for cases that are
    /// held anyway.
    pub bytes: usize,
    pub case: Result<Arc<Case>, CaseFault>,
}

/// Why a case that was there when the plan was made can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseFault {
    #[error("{file} changed during the run: {what}")]
    Changed { file: String, what: String },
    #[error("{file} could be read before the run, but not now: {reason}")]
    Unreadable { file: String, reason: String },
}

/// The cases of one eval, or a selection of them.
#[derive(Clone)]
pub struct EvalCases {
    outlines: Arc<CaseOutlines>,
    /// Places of the selected outlines, ascending; `None` for all.
    kept: Option<Arc<[u32]>>,
    source: Arc<dyn CaseSource>,
}

impl EvalCases {
    /// `source` must give the cases of these outlines, in their order.
    pub fn new(outlines: CaseOutlines, source: Arc<dyn CaseSource>) -> EvalCases {
        EvalCases {
            outlines: Arc::new(outlines),
            kept: None,
            source,
        }
    }

    /// Cases that are held as they are.
    ///
    /// # Panics
    /// Never: more cases (or longer ids) than an outline can count do not fit into memory as cases.
    pub fn written(cases: Vec<Arc<Case>>) -> EvalCases {
        let mut outlines = CaseOutlines::default();
        let held: Vec<Arc<Case>> = cases
            .into_iter()
            .filter(|case| outlines.push(case).is_ok())
            .collect();
        EvalCases::new(outlines, Arc::new(MemoryCases(held)))
    }

    pub fn len(&self) -> usize {
        self.kept
            .as_ref()
            .map_or_else(|| self.outlines.len(), |kept| kept.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn outline(&self, at: usize) -> Option<CaseOutline<'_>> {
        let place = match &self.kept {
            Some(kept) => kept.get(at).map(|place| *place as usize)?,
            None => at,
        };
        self.outlines.get(place)
    }

    pub fn outlines(&self) -> impl Iterator<Item = CaseOutline<'_>> + Clone {
        (0..self.len()).filter_map(|at| self.outline(at))
    }

    /// The place of a case in the whole eval, from 0, whatever was selected; `None` past the end.
    pub fn position(&self, at: usize) -> Option<usize> {
        match &self.kept {
            Some(kept) => kept.get(at).map(|place| *place as usize),
            None => (at < self.outlines.len()).then_some(at),
        }
    }

    /// What cases have in common, each once, in the order in which cases have it.
    pub fn profiles(&self) -> Vec<&CaseProfile> {
        let all = self.outlines.profiles();
        let Some(kept) = &self.kept else {
            return all.iter().map(|profile| &**profile).collect();
        };
        let mut seen = vec![false; all.len()];
        let mut found = Vec::new();
        for index in kept
            .iter()
            .filter_map(|place| self.outlines.profile_index(*place as usize))
        {
            let (Some(seen), Some(profile)) = (seen.get_mut(index), all.get(index)) else {
                continue;
            };
            if !std::mem::replace(seen, true) {
                found.push(&**profile);
            }
        }
        found
    }

    /// The cases whose outlines `keep` takes.
    pub fn select(&self, mut keep: impl FnMut(CaseOutline<'_>) -> bool) -> EvalCases {
        let kept: Vec<u32> = (0..self.len())
            .filter(|at| self.outline(*at).is_some_and(&mut keep))
            .filter_map(|at| u32::try_from(self.position(at)?).ok())
            .collect();
        if kept.len() == self.len() {
            return self.clone();
        }
        EvalCases {
            outlines: Arc::clone(&self.outlines),
            kept: Some(kept.into()),
            source: Arc::clone(&self.source),
        }
    }

    /// Gives every case whose author named no number of samples one; at least 1.
    pub fn settle(&mut self, mut samples: impl FnMut(CaseOutline<'_>) -> u32) {
        let unsettled = |outlines: &CaseOutlines, place: usize| {
            outlines.get(place).is_some_and(|o| o.samples.is_none())
        };
        for at in 0..self.len() {
            let Some(place) = self
                .position(at)
                .filter(|place| unsettled(&self.outlines, *place))
            else {
                continue;
            };
            let Some(n) = self.outlines.get(place).map(&mut samples) else {
                continue;
            };
            // A plan alone holds its outlines, so that nothing is copied here.
            Arc::make_mut(&mut self.outlines).set_samples(place, n.max(1));
        }
    }

    /// Gives every case this number of samples, whatever its author named; at least 1. The function
    /// is called once for each case, in order.
    pub fn set_samples(&mut self, mut samples: impl FnMut(CaseOutline<'_>) -> u32) {
        for at in 0..self.len() {
            let Some(place) = self.position(at) else {
                continue;
            };
            let Some(n) = self.outlines.get(place).map(&mut samples) else {
                continue;
            };
            Arc::make_mut(&mut self.outlines).set_samples(place, n.max(1));
        }
    }

    /// Whole cases in order, those at the wanted places of this selection; each is what its outline
    /// says, or a fault.
    pub fn stream<'a>(
        &'a self,
        wanted: impl Fn(usize) -> bool + Send + Sync + 'a,
    ) -> CaseStream<'a> {
        let (kept, outlines) = (self.kept.as_deref(), self.outlines.as_ref());
        let len = self.len();
        // Places of the source to places of the selection.
        let of_selection = move |place: usize| match kept {
            Some(kept) => kept.binary_search(&u32::try_from(place).ok()?).ok(),
            None => (place < len).then_some(place),
        };
        let wanted = Arc::new(wanted);
        let asked = Arc::clone(&wanted);
        let built = self.source.stream(Box::new(move |place| {
            of_selection(place).is_some_and(|at| asked(at))
        }));
        let built = built.filter_map(move |streamed| {
            let place = streamed.at;
            let case = streamed.case.and_then(|case| outlines.check(place, case));
            Some(StreamedCase {
                at: of_selection(place)?,
                case,
                ..streamed
            })
        });
        Box::new(CompleteStream {
            built: built.peekable(),
            wanted: Box::new(move |at| wanted(at)),
            next: 0,
            len,
        })
    }

    /// One whole case.
    pub fn get(&self, at: usize) -> Option<Result<Arc<Case>, CaseFault>> {
        self.stream(move |wanted| wanted == at)
            .next()
            .map(|streamed| streamed.case)
    }

    /// All whole cases at once, where there are few.
    ///
    /// # Errors
    /// The first fault.
    pub fn all(&self) -> Result<Vec<Arc<Case>>, CaseFault> {
        self.stream(|_| true)
            .map(|streamed| streamed.case)
            .collect()
    }

    /// The same cases, those at these places held: who built them once need not build them again.
    pub fn holding(&self, built: Vec<(usize, Arc<Case>)>) -> EvalCases {
        let built = built
            .into_iter()
            .filter_map(|(at, case)| Some((self.position(at)?, case)))
            .collect();
        EvalCases {
            source: Arc::new(CachedCases {
                built,
                source: Arc::clone(&self.source),
            }),
            ..self.clone()
        }
    }

    /// The case when it is in memory anyway.
    pub fn held(&self, at: usize) -> Option<Arc<Case>> {
        self.source.held(self.position(at)?)
    }
}

impl fmt::Debug for EvalCases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cases")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl FromIterator<Arc<Case>> for EvalCases {
    fn from_iter<I: IntoIterator<Item = Arc<Case>>>(cases: I) -> EvalCases {
        EvalCases::written(cases.into_iter().collect())
    }
}

/// A stream in which every wanted place occurs, those that the source left out as faults.
struct CompleteStream<'a, I: Iterator<Item = StreamedCase>> {
    built: std::iter::Peekable<I>,
    wanted: PlaceFilter<'a>,
    next: usize,
    len: usize,
}

impl<I: Iterator<Item = StreamedCase>> Iterator for CompleteStream<'_, I> {
    type Item = StreamedCase;

    fn next(&mut self) -> Option<StreamedCase> {
        let at = (self.next..self.len).find(|at| (self.wanted)(*at))?;
        self.next = at + 1;
        let left_out = |file: &str| CaseFault::Changed {
            file: file.to_owned(),
            what: "it has become shorter".into(),
        };
        match self.built.next_if(|built| built.at == at) {
            Some(built) => Some(built),
            None => Some(StreamedCase {
                at,
                bytes: 0,
                case: Err(left_out("the data file")),
            }),
        }
    }
}

/// Cases that are in memory.
#[derive(Debug)]
pub struct MemoryCases(pub Vec<Arc<Case>>);

impl CaseSource for MemoryCases {
    fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a> {
        let cases = self.0.iter().enumerate().filter(move |(at, _)| wanted(*at));
        Box::new(cases.map(|(at, case)| StreamedCase {
            at,
            bytes: 0,
            case: Ok(Arc::clone(case)),
        }))
    }

    fn held(&self, at: usize) -> Option<Arc<Case>> {
        self.0.get(at).map(Arc::clone)
    }
}

/// Cases some of which were built before.
#[derive(Debug)]
struct CachedCases {
    built: HashMap<usize, Arc<Case>>,
    source: Arc<dyn CaseSource>,
}

impl CaseSource for CachedCases {
    fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a> {
        self.source.stream(wanted)
    }

    fn held(&self, at: usize) -> Option<Arc<Case>> {
        self.built
            .get(&at)
            .map(Arc::clone)
            .or_else(|| self.source.held(at))
    }
}

/// Cases that are written, and then those of a data file.
#[derive(Debug)]
pub struct ChainedCases {
    pub written: MemoryCases,
    pub data: Arc<dyn CaseSource>,
}

impl CaseSource for ChainedCases {
    fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a> {
        let wanted: Arc<PlaceFilter<'a>> = Arc::new(wanted);
        let (ours, theirs) = (Arc::clone(&wanted), wanted);
        let offset = self.written.0.len();
        let mut written = self.written.stream(Box::new(move |at| ours(at)));
        // The file is opened only when the written cases are through.
        let mut data = None;
        let mut theirs = Some(theirs);
        Box::new(std::iter::from_fn(move || {
            if let Some(streamed) = written.next() {
                return Some(streamed);
            }
            if let Some(wanted) = theirs.take() {
                data = Some(self.data.stream(Box::new(move |at| wanted(at + offset))));
            }
            let streamed = data.as_mut()?.next()?;
            Some(StreamedCase {
                at: streamed.at + offset,
                ..streamed
            })
        }))
    }

    fn held(&self, at: usize) -> Option<Arc<Case>> {
        self.written.held(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Fingerprint, testing};

    #[derive(Debug)]
    struct Given(Vec<(usize, Case)>);

    impl CaseSource for Given {
        fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a> {
            let given = self.0.iter().filter(move |(at, _)| wanted(*at));
            Box::new(given.map(|(at, case)| StreamedCase {
                at: *at,
                bytes: 1,
                case: Ok(Arc::new(case.clone())),
            }))
        }
    }

    fn told(cases: &EvalCases, wanted: fn(usize) -> bool) -> Vec<String> {
        let told = |streamed: StreamedCase| match streamed.case {
            Ok(case) => format!("{} {}", streamed.at, case.id),
            Err(fault) => format!("{} {fault}", streamed.at),
        };
        cases.stream(wanted).map(told).collect()
    }

    #[test]
    fn a_stream_gives_what_is_wanted_of_a_selection_and_keeps_positions() {
        let written: Vec<Arc<Case>> = ["a", "b"]
            .iter()
            .map(|id| Arc::new(testing::case(id)))
            .collect();
        let data: Vec<(usize, Case)> = ["c", "d", "e"]
            .iter()
            .map(|id| testing::case(id))
            .enumerate()
            .collect();
        let mut outlines = CaseOutlines::default();
        written.iter().for_each(|case| outlines.push(case).unwrap());
        data.iter()
            .for_each(|(_, case)| outlines.push(case).unwrap());
        let chain = ChainedCases {
            written: MemoryCases(written),
            data: Arc::new(Given(data)),
        };
        let all = EvalCases::new(outlines, Arc::new(chain));
        assert_eq!(told(&all, |_| true), ["0 a", "1 b", "2 c", "3 d", "4 e"]);
        let some = all.select(|case| "bde".contains(case.id));
        assert_eq!(told(&some, |_| true), ["0 b", "1 d", "2 e"]);
        assert_eq!(told(&some, |at| at != 1), ["0 b", "2 e"]);
        let fewer = some.select(|case| case.id != "b");
        assert_eq!(
            (
                fewer.len(),
                fewer.position(0),
                fewer.position(1),
                fewer.position(2)
            ),
            (2, Some(3), Some(4), None)
        );
        assert_eq!(
            (fewer.held(0), some.held(0).map(|case| case.id.clone())),
            (None, Some("b".into()))
        );
    }

    #[test]
    fn a_case_that_is_another_than_its_outline_says_is_a_fault() {
        let cases: Vec<Case> = ["a", "b", "c", "d"]
            .iter()
            .map(|id| testing::case(id))
            .collect();
        let mut outlines = CaseOutlines::default();
        cases.iter().for_each(|case| outlines.push(case).unwrap());
        let other = Fingerprint::of(&"other");
        let given = vec![
            (
                0,
                Case {
                    input_hash: other,
                    ..cases[0].clone()
                },
            ),
            (
                1,
                Case {
                    grading_hash: other,
                    ..cases[1].clone()
                },
            ),
            (2, cases[2].clone()),
        ];
        let cases = EvalCases::new(outlines, Arc::new(Given(given)));
        assert_eq!(
            told(&cases, |_| true),
            [
                "0 a.yaml changed during the run: a.yaml:1:1 now contains a different case",
                "1 b.yaml changed during the run: b.yaml:1:1 now contains a different case",
                "2 c",
                "3 the data file changed during the run: it has become shorter",
            ]
        );
    }

    #[test]
    fn what_was_built_before_is_held_at_its_place_in_a_selection() {
        let data: Vec<(usize, Case)> = ["a", "b", "c"]
            .iter()
            .map(|id| testing::case(id))
            .enumerate()
            .collect();
        let mut outlines = CaseOutlines::default();
        data.iter()
            .for_each(|(_, case)| outlines.push(case).unwrap());
        let some = EvalCases::new(outlines, Arc::new(Given(data))).select(|case| case.id != "a");
        let built = some.get(1).unwrap().unwrap();
        let holding = some.holding(vec![(1, built)]);
        assert_eq!(
            (holding.held(0), holding.held(1).map(|case| case.id.clone())),
            (None, Some("c".into()))
        );
        assert_eq!(told(&holding, |_| true), ["0 b", "1 c"]);
    }

    #[test]
    fn samples_are_settled_for_those_alone_that_said_nothing() {
        let said = Case {
            samples: Some(2),
            ..testing::case("a")
        };
        let mut cases: EvalCases = [said, testing::case("b"), testing::case("c")]
            .into_iter()
            .map(Arc::new)
            .collect();
        let before = cases.clone();
        cases.settle(|case| u32::from(case.id == "b") * 7);
        assert_eq!(
            cases
                .outlines()
                .map(|case| case.samples)
                .collect::<Vec<_>>(),
            [Some(2), Some(7), Some(1)]
        );
        assert_eq!(
            before
                .outlines()
                .map(|case| case.samples)
                .collect::<Vec<_>>(),
            [Some(2), None, None]
        );
    }
}
