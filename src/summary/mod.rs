//! Events to a summary: the only place that counts.
