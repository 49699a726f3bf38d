//! Channels that are told of a gate: webhooks and commands. What goes wrong there never changes a gate.
