//! What must be alike in two elements before they can fit, as one number: so that in long arrays in
//! any order only elements that have a chance are compared.
//!
//! A mask is what of an expected element can be told without trying: its plain values, not its
//! matchers, tolerances and ignored places. Elements whose masked values differ can't fit; those
//! whose are alike still have to be compared.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use super::patterns::CursorStep;
use super::{MAX_DEPTH, StructuralWalk};
use crate::matcher::{self, makes_template};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ValueMask<'v> {
    /// Nothing can be told.
    Any,
    /// Null, a boolean, a number by its value, a text.
    Scalar,
    /// By key, in order; only what tells something.
    Object(Vec<(&'v str, ValueMask<'v>)>),
    Ordered(Vec<ValueMask<'v>>),
    /// In any order, all of them masked alike.
    Unordered(Box<ValueMask<'v>>),
}

impl<'v> StructuralWalk<'_, 'v> {
    /// The mask of an expected value at the place where the walk is.
    pub(super) fn mask(&mut self, expected: &'v Value) -> ValueMask<'v> {
        if self.is_ignored() || self.cursor.depth() > MAX_DEPTH {
            return ValueMask::Any;
        }
        match expected {
            Value::String(text) if matcher::is_matcher(text) || self.rules.likeness().is_some() => {
                ValueMask::Any
            }
            Value::Number(_) if self.cursor.tolerance().is_some() => ValueMask::Any,
            Value::Object(_) if self.is_headers() => ValueMask::Any,
            Value::Object(map) => {
                let mut fields: Vec<(&str, ValueMask)> = Vec::new();
                for (key, inner) in map {
                    let mask = self.below(CursorStep::Key(key), |walk| walk.mask(inner));
                    if mask != ValueMask::Any {
                        fields.push((key, mask));
                    }
                }
                fields.sort_unstable_by_key(|(key, _)| *key);
                ValueMask::Object(fields)
            }
            Value::Array(items) => self.array_mask(items),
            _ => ValueMask::Scalar,
        }
    }

    /// The mask of an element of the array where the walk is.
    pub(super) fn element_mask(&mut self, expected: &'v Value) -> ValueMask<'v> {
        self.below(CursorStep::Index(0), |walk| walk.mask(expected))
    }

    fn array_mask(&mut self, items: &'v [Value]) -> ValueMask<'v> {
        let patterns = &self.rules.patterns;
        let template = matches!(items, [template] if makes_template(template));
        if template || self.cursor.ignores_all_elements(patterns) {
            return ValueMask::Any;
        }
        let mut masks = Vec::new();
        if !self.rules.any_order() {
            for (index, item) in items.iter().enumerate() {
                masks.push(self.below(CursorStep::Index(index), |walk| walk.mask(item)));
            }
            return ValueMask::Ordered(masks);
        }
        if self.cursor.tells_elements_apart(patterns) {
            return ValueMask::Any;
        }
        for item in items {
            let mask = self.below(CursorStep::Index(0), |walk| walk.mask(item));
            if masks.first().is_some_and(|first| *first != mask) {
                return ValueMask::Unordered(Box::new(ValueMask::Any));
            }
            masks.push(mask);
        }
        ValueMask::Unordered(Box::new(masks.pop().unwrap_or(ValueMask::Any)))
    }

    fn below<T>(&mut self, step: CursorStep<'v>, f: impl FnOnce(&mut Self) -> T) -> T {
        self.push(step);
        let found = f(self);
        self.pop();
        found
    }
}

/// Which side a value is of: in a baseline a literal means another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSide {
    Expected,
    Actual,
}

/// What a value is under a mask; `None` when nothing under this mask fits it.
pub(super) fn key(mask: &ValueMask, value: &Value, of: ValueSide) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    write(mask, value, of, &mut hasher)?;
    Some(hasher.finish())
}

fn write(mask: &ValueMask, value: &Value, of: ValueSide, out: &mut DefaultHasher) -> Option<()> {
    match (mask, value) {
        (ValueMask::Any, _) => {}
        (ValueMask::Scalar, Value::Null) => 0u8.hash(out),
        (ValueMask::Scalar, Value::Bool(b)) => (1u8, b).hash(out),
        // Numbers that are the same have the same nearest float; 0 and -0 are.
        (ValueMask::Scalar, Value::Number(n)) => {
            let float = n.as_str().parse::<f64>().ok()? + 0.0;
            (2u8, float.to_bits()).hash(out);
        }
        (ValueMask::Scalar, Value::String(text)) => {
            let meant = if of == ValueSide::Expected {
                matcher::literal_text(text)
            } else {
                None
            };
            (3u8, meant.as_deref().unwrap_or(text)).hash(out);
        }
        (ValueMask::Object(fields), Value::Object(map)) => {
            for (name, mask) in fields {
                write(mask, map.get(*name)?, of, out)?;
            }
        }
        (ValueMask::Ordered(masks), Value::Array(items)) => {
            if masks.len() != items.len() {
                return None;
            }
            for (mask, item) in masks.iter().zip(items) {
                write(mask, item, of, out)?;
            }
        }
        (ValueMask::Unordered(mask), Value::Array(items)) => {
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
