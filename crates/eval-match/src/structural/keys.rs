//! What must be alike in two elements before they can fit, as one number: so that in long arrays in
//! any order only elements that have a chance are compared.
//!
//! A mask is what of an expected element can be told without trying: its plain values, not its
//! matchers, tolerances and ignored places. Elements whose masked values differ can't fit; those
//! whose are alike still have to be compared.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use super::patterns::At;
use super::{MAX_DEPTH, Walk};
use crate::matcher::{self, makes_template};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Mask<'v> {
    /// Nothing can be told.
    Any,
    /// Null, a boolean, a number by its value, a text.
    Scalar,
    /// By key, in order; only what tells something.
    Object(Vec<(&'v str, Mask<'v>)>),
    Ordered(Vec<Mask<'v>>),
    /// In any order, all of them masked alike.
    Unordered(Box<Mask<'v>>),
}

impl<'v> Walk<'_, 'v> {
    /// The mask of an expected value at the place where the walk is.
    pub(super) fn mask(&mut self, expected: &'v Value) -> Mask<'v> {
        if self.is_ignored() || self.cursor.depth() > MAX_DEPTH {
            return Mask::Any;
        }
        match expected {
            Value::String(text) if matcher::is_matcher(text) || self.rules.likeness().is_some() => {
                Mask::Any
            }
            Value::Number(_) if self.cursor.tolerance().is_some() => Mask::Any,
            Value::Object(_) if self.is_headers() => Mask::Any,
            Value::Object(map) => {
                let mut fields: Vec<(&str, Mask)> = Vec::new();
                for (key, inner) in map {
                    let mask = self.below(At::Key(key), |walk| walk.mask(inner));
                    if mask != Mask::Any {
                        fields.push((key, mask));
                    }
                }
                fields.sort_unstable_by_key(|(key, _)| *key);
                Mask::Object(fields)
            }
            Value::Array(items) => self.array_mask(items),
            _ => Mask::Scalar,
        }
    }

    /// The mask of an element of the array where the walk is.
    pub(super) fn element_mask(&mut self, expected: &'v Value) -> Mask<'v> {
        self.below(At::Index(0), |walk| walk.mask(expected))
    }

    fn array_mask(&mut self, items: &'v [Value]) -> Mask<'v> {
        let patterns = &self.rules.patterns;
        let template = matches!(items, [template] if makes_template(template));
        if template || self.cursor.ignores_all_elements(patterns) {
            return Mask::Any;
        }
        let mut masks = Vec::new();
        if !self.rules.any_order() {
            for (index, item) in items.iter().enumerate() {
                masks.push(self.below(At::Index(index), |walk| walk.mask(item)));
            }
            return Mask::Ordered(masks);
        }
        if self.cursor.tells_elements_apart(patterns) {
            return Mask::Any;
        }
        for item in items {
            let mask = self.below(At::Index(0), |walk| walk.mask(item));
            if masks.first().is_some_and(|first| *first != mask) {
                return Mask::Unordered(Box::new(Mask::Any));
            }
            masks.push(mask);
        }
        Mask::Unordered(Box::new(masks.pop().unwrap_or(Mask::Any)))
    }

    fn below<T>(&mut self, step: At<'v>, f: impl FnOnce(&mut Self) -> T) -> T {
        self.push(step);
        let found = f(self);
        self.pop();
        found
    }
}

/// Which side a value is of: in a baseline a literal means another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Expected,
    Actual,
}

/// What a value is under a mask; `None` when nothing under this mask fits it.
pub(super) fn key(mask: &Mask, value: &Value, of: Of) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    write(mask, value, of, &mut hasher)?;
    Some(hasher.finish())
}

fn write(mask: &Mask, value: &Value, of: Of, out: &mut DefaultHasher) -> Option<()> {
    match (mask, value) {
        (Mask::Any, _) => {}
        (Mask::Scalar, Value::Null) => 0u8.hash(out),
        (Mask::Scalar, Value::Bool(b)) => (1u8, b).hash(out),
        // Numbers that are the same have the same nearest float; 0 and -0 are.
        (Mask::Scalar, Value::Number(n)) => {
            let float = n.as_str().parse::<f64>().ok()? + 0.0;
            (2u8, float.to_bits()).hash(out);
        }
        (Mask::Scalar, Value::String(text)) => {
            let meant = if of == Of::Expected {
                matcher::literal_text(text)
            } else {
                None
            };
            (3u8, meant.as_deref().unwrap_or(text)).hash(out);
        }
        (Mask::Object(fields), Value::Object(map)) => {
            for (name, mask) in fields {
                write(mask, map.get(*name)?, of, out)?;
            }
        }
        (Mask::Ordered(masks), Value::Array(items)) => {
            if masks.len() != items.len() {
                return None;
            }
            for (mask, item) in masks.iter().zip(items) {
                write(mask, item, of, out)?;
            }
        }
        (Mask::Unordered(mask), Value::Array(items)) => {
            let mut sum = 0u64;
            for item in items {
                sum = sum.wrapping_add(key(mask, item, of)?);
            }
            (items.len(), sum).hash(out);
        }
        _ => return None,
    }
    Some(())
}
