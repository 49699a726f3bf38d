//! What tells two inputs, gradings or targets apart.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// The first 128 bits of a SHA-256; shown, and journalled, as 32 hex digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Over the JSON of a value. Maps of plans are sorted by key, so equal values have equal texts.
    pub fn of(value: &impl Serialize) -> Fingerprint {
        let mut text = Vec::with_capacity(512);
        if let Err(error) = serde_json::to_writer(&mut text, value) {
            // Plans hold nothing that can't be written as JSON; an error would at least be the same
            // error again.
            text = error.to_string().into_bytes();
        }
        Fingerprint::of_bytes(&text)
    }

    pub fn of_bytes(bytes: &[u8]) -> Fingerprint {
        Fingerprint::of_digest(&Sha256::digest(bytes))
    }

    /// The beginning of a digest.
    pub fn of_digest(digest: &[u8]) -> Fingerprint {
        let mut short = [0; 16];
        short
            .iter_mut()
            .zip(digest)
            .for_each(|(to, from)| *to = *from);
        Fingerprint(short)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
        let mut text = [0; 32];
        for (two, byte) in text.chunks_exact_mut(2).zip(self.0) {
            two.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_beginning_of_the_sha_256() {
        // `printf abc | sha256sum`
        assert_eq!(
            Fingerprint::of_bytes(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223"
        );
        assert_eq!(Fingerprint::of(&"abc"), Fingerprint::of_bytes(b"\"abc\""));
        assert_eq!(Fingerprint::default().to_string(), "0".repeat(32));
    }
}
