//! Git's binary patches: deflated bytes in base 85, 52 to a line.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LINE_BYTES: usize = 52;

/// The lines of a `literal` hunk, without the line that has the size.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = deflated.write_all(bytes).and_then(|()| deflated.finish());
    // Writing to memory does not fail.
    let deflated = written.unwrap_or_default();
    let mut text = String::with_capacity(deflated.len() * 5 / 4 + deflated.len() / 20 + 8);
    for line in deflated.chunks(LINE_BYTES) {
        // `A` to `Z` are 1 to 26, `a` to `z` 27 to 52.
        let length = line.len() as u8;
        let letter = if length <= 26 {
            b'A' + length - 1
        } else {
            b'a' + length - 27
        };
        text.push(char::from(letter));
        for group in line.chunks(4) {
            let mut padded = [0; 4];
            padded[..group.len()].copy_from_slice(group);
            let mut value = u32::from_be_bytes(padded);
            let mut digits = [0; 5];
            for digit in digits.iter_mut().rev() {
                *digit = ALPHABET[(value % 85) as usize];
                value /= 85;
            }
            text.extend(digits.map(char::from));
        }
        text.push('\n');
    }
    text
}

/// Adds the bytes of a line to `deflated`; `None` for what is not such a line.
pub(crate) fn decode_line(line: &str, deflated: &mut Vec<u8>) -> Option<()> {
    let (letter, digits) = line.as_bytes().split_first()?;
    let length = match letter {
        b'A'..=b'Z' => letter - b'A' + 1,
        b'a'..=b'z' => letter - b'a' + 27,
        _ => return None,
    };
    let length = usize::from(length);
    if digits.len() != length.div_ceil(4) * 5 {
        return None;
    }
    let mut bytes = Vec::with_capacity(LINE_BYTES);
    for group in digits.chunks(5) {
        let mut value = 0u32;
        for digit in group {
            let digit = ALPHABET.iter().position(|letter| letter == digit)?;
            value = value.checked_mul(85)?.checked_add(digit as u32)?;
        }
        bytes.extend(value.to_be_bytes());
    }
    deflated.extend(&bytes[..length]);
    Some(())
}

/// The bytes of a hunk of `size` bytes; `None` when it holds another number of bytes.
pub(crate) fn inflate(deflated: &[u8], size: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut inflated = ZlibDecoder::new(deflated).take(size.saturating_add(1));
    inflated.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_survive(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut deflated = Vec::new();
            for line in encode(&bytes).lines() {
                decode_line(line, &mut deflated).unwrap();
            }
            prop_assert_eq!(inflate(&deflated, bytes.len() as u64).unwrap(), &bytes[..]);
            prop_assert!(inflate(&deflated, bytes.len() as u64 + 1).is_none());
        }

        #[test]
        fn other_lines_are_refused_without_a_panic(line in "[A-Za-z]?[!-~é]{0,70}", size in 0u64..100) {
            let mut deflated = Vec::new();
            if decode_line(&line, &mut deflated).is_some() {
                inflate(&deflated, size);
            }
        }
    }
}
