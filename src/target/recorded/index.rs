//! Where each record of a recording lies, found by slot and sample.

use std::collections::HashSet;

use super::RecordingForm;
use super::asked::RecordedCases;

/// Set in `Entry::sample` while the record's index is its place among the records of its case.
const IMPLIED: u32 = 1 << 31;

/// Set in `Entry::sample` while it is not known which index a record that can't be read has.
const UNREADABLE: u32 = 1 << 30;

/// A record that is a fault, while faults are gathered.
const DROPPED: u32 = u32::MAX;

/// Records that can be numbered.
pub(super) const MAX_RECORDS: u32 = (1 << 31) - 1;

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordSpan {
    /// Number of its line, or of the element of an array; from 1.
    pub place: u32,
    /// Of its first byte in the file.
    pub offset: u64,
    pub length: u32,
}

/// One record: 24 bytes, whatever it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub span: RecordSpan,
    pub slot: u32,
    sample: u32,
}

impl IndexEntry {
    /// `sample` is the index that the record says.
    pub fn new(span: RecordSpan, slot: u32, sample: Option<u32>) -> Self {
        IndexEntry {
            span,
            slot,
            sample: sample.map_or(IMPLIED, |n| n.min(IMPLIED - 1)),
        }
    }

    /// A record of a case whose output can't be read. Its index counts where no readable record has the same.
    pub fn unreadable(span: RecordSpan, slot: u32, sample: Option<u32>) -> Self {
        let entry = IndexEntry::new(span, slot, sample.map(|n| n.min(UNREADABLE - 1)));
        IndexEntry {
            sample: entry.sample | UNREADABLE,
            ..entry
        }
    }

    fn says_its_sample(&self) -> bool {
        self.sample & IMPLIED == 0
    }

    fn is_unreadable(&self) -> bool {
        self.sample & UNREADABLE != 0
    }
}

/// The records of a file that has no faults.
#[derive(Debug, Default)]
pub(super) struct RecordIndex {
    /// By slot and sample.
    entries: Vec<IndexEntry>,
    /// Where the entries of each slot start; one more than there are slots.
    starts: Vec<u32>,
}

/// A record that contradicts an earlier one of its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordFault {
    pub place: u32,
    first: u32,
    slot: u32,
    kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FaultKind {
    /// The sample was recorded before.
    Twice(u32),
    /// The first record of the case says its index (or doesn't), and this one doesn't (or does).
    Mixed { first_says: bool },
}

impl RecordFault {
    fn of(record: &IndexEntry, first: &IndexEntry, kind: FaultKind) -> RecordFault {
        RecordFault {
            place: record.span.place,
            first: first.span.place,
            slot: record.slot,
            kind,
        }
    }

    /// What is wrong, in words.
    pub fn words(&self, asked: &RecordedCases, form: RecordingForm) -> String {
        let case = asked.shown(asked.case_of(self.slot));
        let first = form.place(self.first);
        match self.kind {
            FaultKind::Twice(sample) => {
                format!("sample {sample} of case {case} was already recorded at {first}")
            }
            FaultKind::Mixed { first_says } => {
                let (says, other) = if first_says {
                    ("has a `sample`", "this one does not")
                } else {
                    ("has no `sample`", "this one does")
                };
                format!(
                    "{first} of case {case} {says}, but {other}: give all of them an index, or none"
                )
            }
        }
    }
}

/// Faults, of which the first ones of the file are kept.
#[derive(Debug, Default)]
pub(super) struct RecordFaults {
    pub first: Vec<RecordFault>,
    pub count: usize,
    keep: usize,
}

impl RecordFaults {
    fn push(&mut self, fault: RecordFault) {
        self.count += 1;
        self.first.push(fault);
        if self.first.len() >= 2 * self.keep.max(1) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.first.sort_unstable();
        self.first.truncate(self.keep);
    }
}

impl RecordIndex {
    /// Puts the records of a file (in its order) in order, and numbers those that say no sample. Of the faults the first
    /// `keep` are told.
    pub fn build(
        mut entries: Vec<IndexEntry>,
        slots: usize,
        keep: usize,
    ) -> Result<RecordIndex, RecordFaults> {
        let mut faults = RecordFaults {
            keep,
            ..RecordFaults::default()
        };
        // Records that lie in the order of the cases, the usual thing, are in order already.
        entries.sort_unstable_by_key(|entry| (entry.slot, entry.span.place));
        for records in entries.chunk_by_mut(|a, b| a.slot == b.slot) {
            settle(records, &mut faults);
        }
        if faults.count > 0 {
            faults.cut();
            return Err(faults);
        }
        let mut starts = Vec::with_capacity(slots + 1);
        for (at, entry) in entries.iter().enumerate() {
            // At most MAX_RECORDS of them.
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            while starts.len() <= entry.slot as usize {
                starts.push(at);
            }
        }
        starts.resize(slots + 1, u32::try_from(entries.len()).unwrap_or(u32::MAX));
        Ok(RecordIndex { entries, starts })
    }

    /// The records of a case, by sample.
    fn of_slot(&self, slot: u32) -> &[IndexEntry] {
        let slot = slot as usize;
        let (Some(from), Some(to)) = (self.starts.get(slot), self.starts.get(slot + 1)) else {
            return &[];
        };
        self.entries
            .get(*from as usize..*to as usize)
            .unwrap_or_default()
    }

    /// One more than the highest sample of a case.
    pub fn samples(&self, slot: u32) -> u32 {
        self.of_slot(slot)
            .last()
            .map_or(0, |entry| entry.sample.saturating_add(1))
    }

    /// The record of a sample, or how many others of its case there are.
    pub fn find(&self, slot: u32, sample: u32) -> Result<&IndexEntry, usize> {
        let records = self.of_slot(slot);
        // Mostly all of them from 0 on.
        if let Some(entry) = records
            .get(sample as usize)
            .filter(|entry| entry.sample == sample)
        {
            return Ok(entry);
        }
        let at = records.binary_search_by_key(&sample, |entry| entry.sample);
        at.ok().and_then(|at| records.get(at)).ok_or(records.len())
    }
}

/// Numbers the records of one case, which are in the order of the file, and sorts them by sample. A record that can't be read is
/// never a fault: what a target answered must not stop the others.
fn settle(records: &mut [IndexEntry], faults: &mut RecordFaults) {
    let readable = records.iter().find(|record| !record.is_unreadable());
    let Some(first) = readable.or(records.first()).copied() else {
        return;
    };
    let first_says = first.says_its_sample();
    let mut next = 0;
    for record in records.iter_mut() {
        if !record.is_unreadable() && record.says_its_sample() != first_says {
            faults.push(RecordFault::of(
                record,
                &first,
                FaultKind::Mixed { first_says },
            ));
            record.sample = DROPPED;
        } else if !first_says {
            record.sample = next;
            next += 1;
        }
    }
    if !first_says {
        return;
    }
    number_unreadable(records);
    records.sort_unstable_by_key(|record| (record.sample, record.span.place));
    for same in records.chunk_by(|a, b| a.sample == b.sample) {
        let Some((first, others)) = same
            .split_first()
            .filter(|(first, _)| first.sample != DROPPED)
        else {
            continue;
        };
        for record in others {
            faults.push(RecordFault::of(
                record,
                first,
                FaultKind::Twice(record.sample),
            ));
        }
    }
}

/// Gives each record that can't be read the index that it says, where no other record has it, else the next free one: so that
/// its sample is there and errored.
fn number_unreadable(records: &mut [IndexEntry]) {
    let unreadable = |record: &IndexEntry| record.sample != DROPPED && record.is_unreadable();
    if !records.iter().any(unreadable) {
        return;
    }
    let mut taken: HashSet<u32> = records
        .iter()
        .filter(|record| !unreadable(record))
        .map(|record| record.sample)
        .collect();
    for record in records
        .iter_mut()
        .filter(|record| unreadable(record) && record.says_its_sample())
    {
        let said = record.sample & !UNREADABLE;
        if taken.insert(said) {
            record.sample = said;
        }
    }
    let mut next = 0;
    for record in records.iter_mut().filter(|record| unreadable(record)) {
        while !taken.insert(next) {
            next += 1;
        }
        record.sample = next;
    }
}
