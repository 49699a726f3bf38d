//! The tags of cases: few different sets, so that a case takes 4 bytes, and none while no case has
//! a tag of its own.

use std::collections::HashMap;

/// The own tags of an eval's cases, by the number of the case.
#[derive(Debug, Default)]
pub(crate) struct CaseTags {
    /// Set 0 is the empty one, and is not here.
    sets: Vec<Vec<String>>,
    numbers: HashMap<Vec<String>, u32>,
    /// Shorter than the list of cases when the last of them have no tags.
    of: Vec<u32>,
}

impl CaseTags {
    pub fn set(&mut self, case: usize, tags: &[String]) {
        if tags.is_empty() {
            if let Some(number) = self.of.get_mut(case) {
                *number = 0;
            }
            return;
        }
        let number = match self.numbers.get(tags) {
            Some(number) => *number,
            None => {
                self.sets.push(tags.to_vec());
                let number = self.sets.len() as u32;
                self.numbers.insert(tags.to_vec(), number);
                number
            }
        };
        if self.of.len() <= case {
            self.of.resize(case + 1, 0);
        }
        self.of[case] = number;
    }

    pub fn of(&self, case: usize) -> &[String] {
        let number = self.of.get(case).copied().unwrap_or(0) as usize;
        number
            .checked_sub(1)
            .and_then(|at| self.sets.get(at))
            .map_or(&[], Vec::as_slice)
    }

    /// The sets of which a case may have one, without the empty one.
    pub fn sets(&self) -> impl Iterator<Item = &[String]> {
        self.sets.iter().map(Vec::as_slice)
    }
}
