//! Texts and their numbers: a million ids in one piece of memory, found by what they are.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Distinct texts, numbered from 0 in the order in which they came. Two texts are told apart by
/// their bytes, never by a hash alone.
#[derive(Debug, Clone, Default)]
pub struct Names {
    text: String,
    /// Where each text ends in `text`.
    ends: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// The number of a text, new or known; `None` when there are more texts than numbers (2^32), or
    /// more than 4 GiB of text.
    pub fn add(&mut self, name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        let Names {
            text,
            ends,
            numbers,
            hasher,
        } = self;
        if let Some(known) = numbers.find(hash, |n| text_of(text, ends, *n) == Some(name)) {
            return Some(*known);
        }
        let number = u32::try_from(ends.len()).ok().filter(|n| *n < u32::MAX)?;
        let end = u32::try_from(text.len() + name.len()).ok()?;
        text.push_str(name);
        ends.push(end);
        numbers.insert_unique(hash, number, |n| {
            hasher.hash_one(text_of(text, ends, *n).unwrap_or_default())
        });
        Some(number)
    }

    /// Makes room for `count` more.
    pub fn reserve(&mut self, count: usize) {
        let Names {
            text,
            ends,
            numbers,
            hasher,
        } = self;
        ends.reserve(count);
        numbers.reserve(count, |n| {
            hasher.hash_one(text_of(text, ends, *n).unwrap_or_default())
        });
    }

    pub fn number(&self, name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.numbers
            .find(hash, |n| self.get(*n) == Some(name))
            .copied()
    }

    /// As [`Names::number`], without a search when the text is the one with this number.
    pub fn number_near(&self, name: &str, guess: u32) -> Option<u32> {
        if self.get(guess) == Some(name) {
            Some(guess)
        } else {
            self.number(name)
        }
    }

    pub fn get(&self, number: u32) -> Option<&str> {
        text_of(&self.text, &self.ends, number)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|n| self.get(n))
    }
}

fn text_of<'a>(text: &'a str, ends: &[u32], number: u32) -> Option<&'a str> {
    let number = number as usize;
    let end = *ends.get(number)?;
    let start = number
        .checked_sub(1)
        .map_or(Some(0), |before| ends.get(before).copied())?;
    text.get(start as usize..end as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    proptest::proptest! {
        #[test]
        fn texts_are_numbered_as_a_map_would(texts in proptest::collection::vec("[ab]{0,3}|é", 0..60), asked in "[abc]{0,3}") {
            let (mut names, mut naive) = (Names::default(), HashMap::new());
            for text in &texts {
                let next = naive.len() as u32;
                let number = *naive.entry(text.clone()).or_insert(next);
                proptest::prop_assert_eq!(names.add(text), Some(number));
            }
            proptest::prop_assert_eq!(names.len(), naive.len());
            proptest::prop_assert_eq!(names.number(&asked), naive.get(&asked).copied());
            for (guess, (text, number)) in naive.iter().enumerate() {
                proptest::prop_assert_eq!(names.get(*number), Some(text.as_str()));
                proptest::prop_assert_eq!(names.number_near(text, guess as u32), Some(*number));
            }
            proptest::prop_assert_eq!(names.iter().count(), naive.len());
        }
    }
}
