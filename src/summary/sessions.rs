//! Who ran, when and how often: resumed runs and joined shards.

use crate::model::{PastRate, RunFinished, RunIdentity, RunStarted, Shard};

/// The runs that a fold was made of: one, or the shards of a suite. Each has one session or, when
/// it was resumed, several.
#[derive(Debug, Default)]
pub(crate) struct FoldedSessions {
    parts: Vec<FoldedShard>,
}

#[derive(Debug)]
struct FoldedShard {
    run_id: String,
    timestamp: String,
    shard: Option<Shard>,
    /// Sum over the sessions that came to their end.
    duration_seconds: f64,
    /// Whether the last session was ended early; `None` while it goes on, or when it broke off.
    interrupted: Option<bool>,
    /// What the last session that came to its end found of earlier runs.
    history: Vec<PastRate>,
}

impl FoldedSessions {
    /// A run begins: the first, or another shard that is joined to it.
    pub fn started(&mut self, started: &RunStarted) {
        self.parts.push(FoldedShard {
            run_id: started.run.run_id.clone(),
            timestamp: started.run.timestamp.clone(),
            shard: started.run.shard,
            duration_seconds: 0.0,
            interrupted: None,
            history: Vec::new(),
        });
    }

    pub fn resumed(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.interrupted = None;
        }
    }

    pub fn finished(&mut self, finished: &RunFinished) {
        if let Some(part) = self.parts.last_mut() {
            part.duration_seconds += finished.duration_seconds;
            part.interrupted = Some(finished.interrupted);
            part.history.clone_from(&finished.history);
        }
    }

    /// True while the events are those of the run that gave the summary its identity.
    pub fn is_first(&self) -> bool {
        self.parts.len() <= 1
    }

    /// The longest of the shards: they run side by side.
    pub fn duration_seconds(&self) -> f64 {
        self.parts
            .iter()
            .map(|part| part.duration_seconds)
            .fold(0.0, f64::max)
    }

    /// True when any part was ended early or broke off.
    pub fn interrupted(&self) -> bool {
        self.parts.is_empty()
            || self
                .parts
                .iter()
                .any(|part| part.interrupted != Some(false))
    }

    /// The identity of all parts together: the earliest start, and a shard only while others are
    /// missing.
    pub fn identity(&self, started: &RunStarted) -> RunIdentity {
        let mut run = started.run.clone();
        // All timestamps have one form, in which the order of texts is that of times.
        if let Some(first) = self.parts.iter().map(|part| &part.timestamp).min() {
            run.timestamp.clone_from(first);
        }
        run.shard = run.shard.filter(|_| !self.lone_shards().is_empty());
        run
    }

    /// The runs before the first of them.
    pub fn history(&self) -> &[PastRate] {
        self.parts.first().map_or(&[], |part| &part.history)
    }

    /// The other runs that were joined to the first.
    pub fn joined(&self) -> Vec<String> {
        self.parts
            .iter()
            .skip(1)
            .map(|part| part.run_id.clone())
            .collect()
    }

    /// The shards that were run, ascending, when they are not all of them; empty for a whole suite.
    pub fn lone_shards(&self) -> Vec<Shard> {
        let mut shards: Vec<Shard> = self.parts.iter().filter_map(|part| part.shard).collect();
        if shards.len() < self.parts.len() {
            return Vec::new();
        }
        shards.sort_by_key(|shard| shard.index);
        shards.dedup();
        match shards.first() {
            Some(first) if shards.len() < first.of as usize => shards,
            _ => Vec::new(),
        }
    }
}
