//! The cases and samples of an eval as columns, so that a million cases fit: one with one sample
//! takes about 40 bytes beside its id. What a sample said is not here but in `details`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::calls::NO_MODEL;
use super::contents::{NO_CONTENT, content, content_of, parts_of, short};
use super::judges::JudgedSample;
use super::outcomes::SampleCounts;
use super::packed::{
    ADJUDICATED, FLAKY, MORE_GRADES, OWN_SCORE, PackedSample, REUSED, USAGE, trust_mark,
};
use super::tags::CaseTags;
use crate::model::{CasePlanned, Cause, EvalInfo, GraderType, Outcome, Trust, TrustCounts, Usage};
use crate::spec::CaseContent;
use eval_base::names::InternedTexts;

/// An eval as planned, with all that is known of its samples.
#[derive(Debug)]
pub(crate) struct EvalFold {
    pub info: EvalInfo,
    ids: InternedTexts,
    names: InternedTexts,
    /// The number in `names` of a case's name; empty until a case has one.
    named: SparseColumn<u32>,
    /// Types of graders, as [`grader_bit`] has them.
    graders: Vec<u8>,
    /// Where a case's samples lie in `samples`, and how many they are.
    spans: Vec<(u32, u32)>,
    /// The places of cases in the whole eval, when this is a part of it; empty until a case has
    /// one.
    positions: SparseColumn<u32>,
    /// Fingerprints of what cases are; empty unless they are asked for.
    contents: SparseColumn<u64>,
    /// The same part by part: input, data, grading, and the case's own target or `NO_CONTENT`;
    /// empty where a journal lacks one.
    parts: SparseColumn<[u64; 4]>,
    tags: CaseTags,
    samples: SampleColumns,
}

const GRADER_TYPES: [GraderType; 3] = [GraderType::Code, GraderType::Model, GraderType::Human];
const MODEL: u8 = 1 << 1;
const NO_POSITION: u32 = u32::MAX;
const NO_NAME: u32 = u32::MAX;
/// How far a journal's word on the number of cases is believed before they are seen.
const FORETOLD: usize = 1 << 21;

/// More than the columns can number: 2^32 samples, or 4 GiB of ids, in one eval.
#[derive(Debug)]
pub(crate) struct ColumnsFull;

/// What is counted of a finished sample.
pub(crate) struct SampleFigures {
    pub packed: PackedSample,
    pub score: Option<f64>,
    pub latency_ms: Option<f64>,
    pub usage: Option<Usage>,
    pub infrastructure_retries: u32,
    /// The number of the model that gave the last output, or [`NO_MODEL`].
    pub model: u16,
    /// Grades of each level of trust, in the order of [`Trust::ALL`].
    pub trust: [u32; 4],
    pub metrics: BTreeMap<String, f64>,
    /// What judges said of it.
    pub judged: Option<JudgedSample>,
}

impl EvalFold {
    pub fn new(info: EvalInfo, cases: usize) -> Self {
        let mut eval = EvalFold {
            info,
            ids: InternedTexts::default(),
            names: InternedTexts::default(),
            named: SparseColumn::new(NO_NAME),
            graders: Vec::new(),
            spans: Vec::new(),
            positions: SparseColumn::new(NO_POSITION),
            contents: SparseColumn::new(NO_CONTENT),
            parts: SparseColumn::new([NO_CONTENT; 4]),
            tags: CaseTags::default(),
            samples: SampleColumns::default(),
        };
        eval.expect(cases);
        eval
    }

    /// Makes room for `cases` more.
    pub fn expect(&mut self, cases: usize) {
        let cases = cases.min(FORETOLD);
        self.ids.reserve(cases);
        self.graders.reserve(cases);
        self.spans.reserve(cases);
        self.samples.packed.reserve(cases);
    }

    /// How many cases are known.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn find(&self, id: &str) -> Option<usize> {
        self.ids.number(id).map(|at| at as usize)
    }

    /// The same, faster when it is case `near` or the next one.
    pub fn find_from(&self, near: usize, id: &str) -> Option<usize> {
        let next = [near, near + 1]
            .into_iter()
            .find(|at| self.ids.get(*at as u32) == Some(id));
        next.or_else(|| self.find(id))
    }

    /// Takes a case, or more samples of a known one; returns how many samples are new. A known case
    /// keeps its name and place.
    pub fn plan(&mut self, case: &CasePlanned) -> Result<usize, ColumnsFull> {
        let graders = case
            .graders
            .iter()
            .fold(0, |bits, grader| bits | grader_bit(*grader));
        let known = self.len();
        let at = self.ids.add(&case.id).ok_or(ColumnsFull)? as usize;
        self.tags.set(at, &case.tags);
        if at < known {
            self.graders[at] = graders;
            return self.grow(at, case.samples);
        }
        let start = self.samples.add(case.samples)?;
        if let Some(name) = &case.name {
            let name = self.names.add(name).ok_or(ColumnsFull)?;
            self.named.set(at, name, self.graders.capacity());
        }
        if let Some(position) = case.position {
            self.positions.set(at, position, self.graders.capacity());
        }
        self.graders.push(graders);
        self.spans.push((start, case.samples));
        Ok(case.samples as usize)
    }

    /// Remembers what a planned case is; see [`CaseView::fingerprint`].
    pub fn keep_content(&mut self, case: &CasePlanned) {
        if let Some(at) = self.find_from(self.len().saturating_sub(1), &case.id) {
            self.contents
                .set(at, content(case), self.graders.capacity());
            if let Some(parts) = parts_of(case) {
                self.parts.set(at, parts, self.graders.capacity());
            }
        }
    }

    /// Planned again with more samples: a top-up.
    fn grow(&mut self, at: usize, samples: u32) -> Result<usize, ColumnsFull> {
        let (start, known) = self.spans[at];
        if samples <= known {
            return Ok(0);
        }
        let to = self.samples.add(samples)?;
        self.samples
            .relocate(start as usize..(start + known) as usize, to as usize);
        self.spans[at] = (to, samples);
        Ok((samples - known) as usize)
    }

    /// The place of a sample in the columns; `Err` with the number of planned ones when it is not
    /// among them.
    pub fn slot(&self, case: usize, sample: u32) -> Result<usize, u32> {
        let (start, planned) = self.spans[case];
        if sample < planned {
            Ok((start + sample) as usize)
        } else {
            Err(planned)
        }
    }

    pub fn packed(&self, slot: usize) -> PackedSample {
        self.samples.packed[slot]
    }

    pub fn skip(&mut self, slot: usize, packed: PackedSample) {
        self.samples.packed[slot] = packed;
    }

    pub fn finish(&mut self, slot: usize, figures: SampleFigures) {
        self.samples.set(slot, figures);
    }

    /// What orders a case among its eval's.
    pub fn rank(&self, at: usize) -> u32 {
        match self.positions.get(at) {
            NO_POSITION => at as u32,
            position => position,
        }
    }

    /// The cases in the plan's order, when that is not the order in which they came.
    pub fn order(&self) -> Option<Vec<u32>> {
        if self.positions.values.is_empty() {
            return None;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|at| (self.rank(*at as usize), *at));
        Some(order)
    }

    /// What cases have as tags of their own.
    pub fn tags(&self) -> &CaseTags {
        &self.tags
    }

    pub fn case(&self, at: usize) -> CaseView<'_> {
        CaseView { eval: self, at }
    }

    /// True when a case has a judge, as planned or as it was graded.
    pub fn has_judges(&self) -> bool {
        !self.samples.judged.is_empty() || self.graders.iter().any(|bits| bits & MODEL != 0)
    }

    /// The names of the numbers that graders measured.
    pub fn metric_names(&self) -> impl Iterator<Item = &str> {
        self.samples.metrics.keys().map(String::as_str)
    }

    /// The numbers of one name, by slot; not a number where it was to be measured and could not be.
    pub fn metric(&self, name: &str) -> Option<&BTreeMap<u32, f64>> {
        self.samples.metrics.get(name)
    }
}

fn grader_bit(grader: GraderType) -> u8 {
    match grader {
        GraderType::Code => 1,
        GraderType::Model => MODEL,
        GraderType::Human => 4,
    }
}

/// One case, read from the columns.
#[derive(Clone, Copy)]
pub(crate) struct CaseView<'a> {
    pub eval: &'a EvalFold,
    /// Its number in order of arrival.
    pub at: usize,
}

impl<'a> CaseView<'a> {
    pub fn id(self) -> &'a str {
        self.eval.ids.get(self.at as u32).unwrap_or_default()
    }

    pub fn name(self) -> Option<&'a str> {
        self.eval.names.get(self.eval.named.get(self.at))
    }

    /// A short fingerprint of what the case is and when it passes; `None` unless contents are kept.
    pub fn fingerprint(self) -> Option<String> {
        let content = self.eval.contents.get(self.at);
        let text = format!("{content:016x} {}", self.eval.info.pass_rate_threshold);
        (content != NO_CONTENT).then(|| format!("{:016x}", short(&text)))
    }

    /// The same part by part; `None` also in journals that do not record the data.
    pub fn content(self) -> Option<CaseContent> {
        let parts = self.eval.parts.get(self.at);
        (parts != [NO_CONTENT; 4]).then(|| content_of(parts, self.eval.info.pass_rate_threshold))
    }

    /// The case's own, without those of its eval.
    pub fn tags(self) -> &'a [String] {
        self.eval.tags.of(self.at)
    }

    /// Each type once.
    pub fn graders(self) -> impl Iterator<Item = GraderType> {
        let bits = self.eval.graders[self.at];
        GRADER_TYPES
            .into_iter()
            .filter(move |grader| bits & grader_bit(*grader) != 0)
    }

    pub fn has_judge(self) -> bool {
        self.eval.graders[self.at] & MODEL != 0
    }

    /// What judges said of a sample.
    pub fn judged(self, slot: usize) -> Option<&'a JudgedSample> {
        self.eval.samples.judged.get(&(slot as u32))
    }

    /// The slots of its samples, in order.
    pub fn slots(self) -> Range<usize> {
        let (start, count) = self.eval.spans[self.at];
        start as usize..start as usize + count as usize
    }

    pub fn samples(self) -> &'a [PackedSample] {
        &self.eval.samples.packed[self.slots()]
    }

    /// True when a sample need not run again.
    pub fn is_settled(self, sample: u32) -> bool {
        let packed = self.samples().get(sample as usize);
        packed.is_some_and(|packed| packed.is_settled())
    }

    /// Samples by final outcome, with their scores.
    #[inline]
    pub fn finals(self) -> SampleCounts {
        let mut counts = SampleCounts::default();
        for slot in self.slots() {
            let packed = self.eval.packed(slot);
            counts.add(packed.outcome(), self.eval.samples.score(slot));
        }
        counts
    }

    /// Samples by the outcome of their first attempts.
    #[inline]
    pub fn firsts(self) -> SampleCounts {
        let mut counts = SampleCounts::default();
        self.samples()
            .iter()
            .for_each(|packed| counts.add(packed.first(), None));
        counts
    }

    /// True when output and grade of all its samples were taken from an earlier run.
    pub fn is_reused(self) -> bool {
        self.samples().iter().all(|packed| packed.has(REUSED))
    }

    /// True when the output of one of its samples was taken from an earlier run.
    pub fn has_earlier_outputs(self) -> bool {
        let mut samples = self.samples().iter();
        samples.any(|packed| packed.is_from_earlier_run())
    }

    /// Flaky samples that this run ran.
    pub fn newly_flaky_samples(self) -> usize {
        let samples = self.samples().iter();
        samples
            .filter(|packed| packed.has(FLAKY) && !packed.is_from_earlier_run())
            .count()
    }

    pub fn flaky_samples(self) -> usize {
        self.samples()
            .iter()
            .filter(|packed| packed.has(FLAKY))
            .count()
    }

    /// The commonest cause among the samples that ended as the case did; of equals the first in the
    /// list of causes.
    pub fn commonest_cause(self, outcome: Outcome) -> Option<Cause> {
        if outcome == Outcome::Passed {
            return None;
        }
        let mut tally: BTreeMap<Cause, usize> = BTreeMap::new();
        let such = |packed: &&PackedSample| packed.outcome() == outcome;
        for cause in self.samples().iter().filter(such).filter_map(|p| p.cause()) {
            *tally.entry(cause).or_default() += 1;
        }
        let commonest = tally
            .into_iter()
            .max_by_key(|(cause, n)| (*n, std::cmp::Reverse(*cause)));
        commonest.map(|(cause, _)| cause)
    }

    /// Of the samples whose target was timed, in their order.
    pub fn latencies_ms(self) -> impl Iterator<Item = f64> {
        self.slots().filter_map(move |slot| self.latency_ms(slot))
    }

    pub fn adjudicated_samples(self) -> usize {
        self.samples()
            .iter()
            .filter(|packed| packed.has(ADJUDICATED))
            .count()
    }

    /// Samples and grades of each level of trust, in the order of [`Trust::ALL`].
    pub fn trust(self) -> [TrustCounts; 4] {
        let mut counts = [TrustCounts::default(); 4];
        for slot in self.slots() {
            let packed = self.eval.packed(slot);
            let more = if packed.has(MORE_GRADES) {
                self.eval.samples.more_grades.get(&(slot as u32)).copied()
            } else {
                None
            };
            for (at, trust) in Trust::ALL.into_iter().enumerate() {
                if packed.has(trust_mark(trust)) {
                    counts[at].samples += 1;
                    counts[at].grades += more.map_or(1, |grades| grades[at] as usize);
                }
            }
        }
        counts
    }

    pub fn infrastructure_retries(self) -> usize {
        let Range { start, end } = self.slots();
        let retries = &self.eval.samples.infrastructure_retries;
        if retries.is_empty() {
            return 0;
        }
        retries
            .range(start as u32..end as u32)
            .map(|(_, n)| *n as usize)
            .sum()
    }

    pub fn latency_ms(self, slot: usize) -> Option<f64> {
        Some(self.eval.samples.latencies.get(slot)).filter(|latency| !latency.is_nan())
    }

    /// The number of the model that gave the last output, or [`NO_MODEL`].
    pub fn model(self, slot: usize) -> u16 {
        self.eval.samples.models.get(slot)
    }

    pub fn usage(self, slot: usize) -> Option<Usage> {
        self.eval
            .packed(slot)
            .has(USAGE)
            .then(|| self.eval.samples.usages.get(slot))
    }
}

/// The samples of an eval: what each needs, and columns that stay empty until a sample has
/// something for them.
#[derive(Debug)]
struct SampleColumns {
    packed: Vec<PackedSample>,
    /// Where a score is not what the outcome says.
    scores: SparseColumn<f64>,
    latencies: SparseColumn<f64>,
    usages: SparseColumn<Usage>,
    infrastructure_retries: BTreeMap<u32, u32>,
    models: SparseColumn<u16>,
    /// Grades of each level of trust, where a level has more than one.
    more_grades: BTreeMap<u32, [u32; 4]>,
    metrics: BTreeMap<String, BTreeMap<u32, f64>>,
    judged: BTreeMap<u32, JudgedSample>,
}

impl Default for SampleColumns {
    fn default() -> Self {
        SampleColumns {
            packed: Vec::new(),
            scores: SparseColumn::new(f64::NAN),
            latencies: SparseColumn::new(f64::NAN),
            usages: SparseColumn::new(Usage::default()),
            infrastructure_retries: BTreeMap::new(),
            models: SparseColumn::new(NO_MODEL),
            more_grades: BTreeMap::new(),
            metrics: BTreeMap::new(),
            judged: BTreeMap::new(),
        }
    }
}

impl SampleColumns {
    /// Places for `count` samples of which nothing is known; the first of them.
    fn add(&mut self, count: u32) -> Result<u32, ColumnsFull> {
        let start = u32::try_from(self.packed.len()).map_err(|_| ColumnsFull)?;
        let end = start.checked_add(count).ok_or(ColumnsFull)?;
        self.packed
            .try_reserve(count as usize)
            .map_err(|_| ColumnsFull)?;
        self.packed.resize(end as usize, PackedSample::UNKNOWN);
        Ok(start)
    }

    fn score(&self, slot: usize) -> Option<f64> {
        self.packed[slot]
            .has(OWN_SCORE)
            .then(|| self.scores.get(slot))
    }

    fn set(&mut self, slot: usize, figures: SampleFigures) {
        let SampleFigures {
            mut packed,
            score,
            latency_ms,
            usage,
            infrastructure_retries,
            model,
            trust,
            metrics,
            judged,
        } = figures;
        let at = slot as u32;
        if self.packed[slot].is_finished() {
            self.infrastructure_retries.remove(&at);
            self.more_grades.remove(&at);
            self.judged.remove(&at);
            for values in self.metrics.values_mut() {
                values.remove(&at);
            }
        }
        let total = self.packed.len();
        // Nearly all scores are the 0 or 1 of the outcome, and need no place.
        let implied = if packed.outcome() == Outcome::Passed {
            1.0f64
        } else {
            0.0
        };
        if let Some(score) = score.filter(|score| score.to_bits() != implied.to_bits()) {
            packed = packed.with(OWN_SCORE);
            self.scores.set(slot, score, total);
        }
        self.latencies
            .set(slot, latency_ms.unwrap_or(f64::NAN), total);
        if let Some(usage) = usage {
            packed = packed.with(USAGE);
            self.usages.set(slot, usage, total);
        }
        self.models.set(slot, model, total);
        if infrastructure_retries > 0 {
            self.infrastructure_retries
                .insert(at, infrastructure_retries);
        }
        for level in Trust::ALL
            .into_iter()
            .filter(|level| trust[*level as usize] > 0)
        {
            packed = packed.with(trust_mark(level));
        }
        if trust.iter().any(|grades| *grades > 1) {
            packed = packed.with(MORE_GRADES);
            self.more_grades.insert(at, trust);
        }
        if let Some(judged) = judged {
            self.judged.insert(at, judged);
        }
        for (name, value) in metrics
            .into_iter()
            .filter(|(_, value)| !value.is_infinite())
        {
            self.metrics.entry(name).or_default().insert(at, value);
        }
        self.packed[slot] = packed;
    }

    /// Moves samples to places that were added after them.
    fn relocate(&mut self, from: Range<usize>, to: usize) {
        let total = self.packed.len();
        for (slot, new) in from.zip(to..) {
            self.packed[new] = std::mem::replace(&mut self.packed[slot], PackedSample::UNKNOWN);
            self.scores.relocate(slot, new, total);
            self.latencies.relocate(slot, new, total);
            self.usages.relocate(slot, new, total);
            self.models.relocate(slot, new, total);
            if let Some(retries) = self.infrastructure_retries.remove(&(slot as u32)) {
                self.infrastructure_retries.insert(new as u32, retries);
            }
            if let Some(grades) = self.more_grades.remove(&(slot as u32)) {
                self.more_grades.insert(new as u32, grades);
            }
            if let Some(judged) = self.judged.remove(&(slot as u32)) {
                self.judged.insert(new as u32, judged);
            }
            for values in self.metrics.values_mut() {
                if let Some(value) = values.remove(&(slot as u32)) {
                    values.insert(new as u32, value);
                }
            }
        }
    }
}

/// A column that takes no memory while all its values are absent.
#[derive(Debug)]
struct SparseColumn<T> {
    values: Vec<T>,
    absent: T,
}

impl<T: Copy + BitwiseEq> SparseColumn<T> {
    fn new(absent: T) -> Self {
        SparseColumn {
            values: Vec::new(),
            absent,
        }
    }

    fn get(&self, at: usize) -> T {
        self.values.get(at).copied().unwrap_or(self.absent)
    }

    /// `total` is how many places the whole column will have, so that it grows once.
    fn set(&mut self, at: usize, value: T, total: usize) {
        if let Some(place) = self.values.get_mut(at) {
            *place = value;
        } else if !value.same(&self.absent) {
            if at >= self.values.capacity() {
                self.values
                    .reserve_exact(total.max(at + 1) - self.values.len());
            }
            self.values.resize(at + 1, self.absent);
            self.values[at] = value;
        }
    }

    fn relocate(&mut self, from: usize, to: usize, total: usize) {
        let value = self.get(from);
        self.set(from, self.absent, total);
        self.set(to, value, total);
    }
}

/// Equality by which NaN is itself.
trait BitwiseEq: PartialEq {
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl BitwiseEq for f64 {
    fn same(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl BitwiseEq for u64 {}
impl BitwiseEq for [u64; 4] {}
impl BitwiseEq for u32 {}
impl BitwiseEq for u16 {}
impl BitwiseEq for Usage {}
