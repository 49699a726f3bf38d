//! Many short texts in one, so that none has an allocation of its own.

/// More than the columns can number: 2^32 samples, or 4 GiB of ids, in one eval.
#[derive(Debug)]
pub(crate) struct Full;

/// Texts one after the other.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Makes room for `count` more.
    pub fn reserve(&mut self, count: usize) {
        self.ends.reserve(count);
    }

    /// Empty for what was never pushed.
    pub fn get(&self, at: usize) -> &str {
        let start = if at == 0 {
            0
        } else {
            self.ends.get(at - 1).copied().unwrap_or(0)
        };
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.bytes.get(start as usize..end as usize).unwrap_or("")
    }

    pub fn push(&mut self, text: &str) -> Result<(), Full> {
        let end = u32::try_from(self.bytes.len() + text.len()).map_err(|_| Full)?;
        self.bytes.push_str(text);
        self.ends.push(end);
        Ok(())
    }

    /// Empty texts until there are `count`.
    pub fn pad_to(&mut self, count: usize) {
        let end = self.ends.last().copied().unwrap_or(0);
        if self.ends.len() < count {
            self.ends.resize(count, end);
        }
    }
}
