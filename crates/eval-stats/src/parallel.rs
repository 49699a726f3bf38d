//! Work on every processor, also where no thread may be started. rayon's global pool panics there.

use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// What `work` makes of each item, in the order of the items: on every processor, or on this thread
/// where no other can be started.
pub fn in_parallel<I, T, R>(items: I, work: impl Fn(T) -> R + Send + Sync) -> Vec<R>
where
    I: IntoIterator<Item = T>
        + IntoParallelIterator<Item = T, Iter: IndexedParallelIterator>
        + Send,
    T: Send,
    R: Send,
{
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    if rayon::current_thread_index().is_some() {
        return items.into_par_iter().map(work).collect();
    }
    match POOL.get_or_init(|| ThreadPoolBuilder::new().build().ok()) {
        Some(pool) => pool.install(|| items.into_par_iter().map(work).collect()),
        None => items.into_iter().map(work).collect(),
    }
}
