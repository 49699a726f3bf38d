//! Rules of the source: what may use what, how values are read, words.

mod deserialize_rules;
mod module_order;
mod source;
