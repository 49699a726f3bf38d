//! A map while it is read: equal keys are noticed, merge keys are collected.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::load::source::Span;

use super::{MappingKey, Node, NodeValue};

/// Maps with more keys look for equal keys by hash.
const SMALL_MAP: usize = 16;

#[derive(Default)]
pub(super) struct MapInProgress {
    pub(super) entries: Vec<(MappingKey, Node)>,
    /// The key whose value comes next.
    pub(super) pending: Option<PendingKey>,
    /// Where the keys of `entries` stand, once they are many.
    names: HashMap<Arc<str>, Span>,
    /// What merge keys bring, and before which entry it stands.
    merged: Vec<(MappingKey, Node)>,
    merged_names: HashSet<Arc<str>>,
    pub(super) merge: Option<(Span, usize)>,
}

pub(super) enum PendingKey {
    Key(MappingKey),
    Merge,
    /// A key that was reported as wrong: its value is read and dropped.
    Dropped,
}

impl MapInProgress {
    /// Notes a key; the place of an equal one that was there before.
    pub(super) fn remember(&mut self, key: &MappingKey) -> Option<Span> {
        if self.entries.len() < SMALL_MAP {
            return self
                .entries
                .iter()
                .find(|(k, _)| k.name == key.name)
                .map(|(k, _)| k.span);
        }
        if self.names.is_empty() {
            self.names = self
                .entries
                .iter()
                .map(|(k, _)| (k.name.clone(), k.span))
                .collect();
        }
        match self.names.entry(key.name.clone()) {
            Entry::Occupied(there) => Some(*there.get()),
            Entry::Vacant(free) => {
                free.insert(key.span);
                None
            }
        }
    }

    /// Takes the value of a merge key; the place of what is no map, if something is not.
    pub(super) fn merge_in(&mut self, node: Node) -> Result<(), Span> {
        match node.value {
            NodeValue::Map(entries) => {
                for (key, value) in entries {
                    if self.merged_names.insert(key.name.clone()) {
                        self.merged.push((key, value));
                    }
                }
                Ok(())
            }
            NodeValue::Seq(maps) => maps.into_iter().try_for_each(|map| match map.value {
                NodeValue::Map(_) => self.merge_in(map),
                _ => Err(map.span),
            }),
            _ => Err(node.span),
        }
    }

    /// The entries, with what was merged and is not overridden at the place of the merge key.
    pub(super) fn finish(mut self) -> Vec<(MappingKey, Node)> {
        let Some((_, at)) = self.merge else {
            return self.entries;
        };
        let merged = std::mem::take(&mut self.merged);
        let own: HashSet<Arc<str>> = self.entries.iter().map(|(k, _)| k.name.clone()).collect();
        let new: Vec<_> = merged
            .into_iter()
            .filter(|(k, _)| !own.contains(&k.name))
            .collect();
        let at = at.min(self.entries.len());
        self.entries.splice(at..at, new);
        self.entries
    }
}
