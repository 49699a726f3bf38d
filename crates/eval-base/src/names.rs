//! Many short texts in one piece of memory, and texts that are found by what they are.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Texts one after the other, numbered from 0: at most 2^32 of them, and 4 GiB in all.
#[derive(Debug, Clone, Default)]
pub struct TextArena {
    text: String,
    /// Where each text ends in `text`.
    ends: Vec<u32>,
}

/// A text that has no room in a [`TextArena`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are more texts, or longer ones, than can be numbered")]
pub struct ArenaFull;

impl TextArena {
    /// The number of the new text.
    ///
    /// # Errors
    /// When it has no room; nothing is added then.
    pub fn push(&mut self, text: &str) -> Result<u32, ArenaFull> {
        let number = u32::try_from(self.ends.len()).map_err(|_| ArenaFull)?;
        let end = u32::try_from(self.text.len() + text.len()).map_err(|_| ArenaFull)?;
        self.text.push_str(text);
        self.ends.push(end);
        Ok(number)
    }

    pub fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)?;
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(start as usize..end as usize)
    }

    /// Makes room for `count` more texts.
    pub fn reserve(&mut self, count: usize) {
        self.ends.reserve(count);
    }

    /// Gives back the room that no text takes.
    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

/// Distinct texts, numbered from 0 in the order in which they came. Two texts are told apart by
/// their bytes, never by a hash alone.
#[derive(Debug, Clone, Default)]
pub struct InternedTexts {
    texts: TextArena,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl InternedTexts {
    /// The number of a text, new or known; `None` when there is no room for a new one.
    pub fn add(&mut self, name: &str) -> Option<u32> {
        let InternedTexts {
            texts,
            numbers,
            hasher,
        } = self;
        let hash = hasher.hash_one(name);
        if let Some(known) = numbers.find(hash, |n| texts.get(*n as usize) == Some(name)) {
            return Some(*known);
        }
        let number = texts.push(name).ok()?;
        numbers.insert_unique(hash, number, |n| {
            hasher.hash_one(texts.get(*n as usize).unwrap_or_default())
        });
        Some(number)
    }

    /// Makes room for `count` more.
    pub fn reserve(&mut self, count: usize) {
        let InternedTexts {
            texts,
            numbers,
            hasher,
        } = self;
        texts.reserve(count);
        numbers.reserve(count, |n| {
            hasher.hash_one(texts.get(*n as usize).unwrap_or_default())
        });
    }

    pub fn number(&self, name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.numbers
            .find(hash, |n| self.get(*n) == Some(name))
            .copied()
    }

    /// As [`InternedTexts::number`], without a search when the text is the one with this number.
    pub fn number_near(&self, name: &str, guess: u32) -> Option<u32> {
        if self.get(guess) == Some(name) {
            Some(guess)
        } else {
            self.number(name)
        }
    }

    pub fn get(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize)
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|n| self.get(n))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    proptest::proptest! {
        #[test]
        fn texts_are_numbered_as_a_map_would(texts in proptest::collection::vec("[ab]{0,3}|é", 0..60), asked in "[abc]{0,3}") {
            let (mut names, mut naive) = (InternedTexts::default(), HashMap::new());
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
