//! Where a journal ends: after its last whole line, whatever a crash left behind it.
//!
//! A killed process leaves half a line. A machine that lost its power may leave zeros or garbage
//! where a file system had already lengthened the file. Both count as torn only at the very end:
//! behind them no line is JSON.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use serde::de::IgnoredAny;

/// Bytes that are read at once, backwards.
const STEP: usize = 64 << 10;

/// True when the line is JSON of any kind, that is, when somebody wrote it to its end.
pub(super) fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// The length of the file without a torn tail: 0, or just behind the newline of the last line that
/// is JSON.
pub(super) fn sound_length(mut file: &File) -> io::Result<u64> {
    let mut end = newline_before(file, file.metadata()?.len())?;
    while end > 0 {
        let start = newline_before(file, end - 1)?;
        let mut line = vec![0; usize::try_from(end - 1 - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut line)?;
        if is_json(&line) {
            return Ok(end);
        }
        end = start;
    }
    Ok(0)
}

/// The place just behind the last newline before `end`, or 0.
fn newline_before(mut file: &File, mut end: u64) -> io::Result<u64> {
    let mut buffer = vec![0; STEP];
    while end > 0 {
        let start = end.saturating_sub(STEP as u64);
        let Some(part) = buffer.get_mut(..usize::try_from(end - start).unwrap_or(STEP)) else {
            break;
        };
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn length_of(bytes: &[u8]) -> u64 {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        sound_length(&file).unwrap()
    }

    #[test]
    fn a_journal_ends_behind_its_last_whole_line() {
        assert_eq!(length_of(b""), 0);
        assert_eq!(length_of(b"{\"a\": 1"), 0);
        assert_eq!(length_of(b"{}\n"), 3);
        assert_eq!(length_of(b"{}\n{\"a\""), 3);
        assert_eq!(length_of(b"{}\n\0\0\0\0"), 3);
        assert_eq!(length_of(b"{}\n\0\0\n\0\n\xff\xfe\n"), 3);
        assert_eq!(
            length_of(b"{}\ngarbage\n{}\n"),
            14,
            "garbage in the middle is no tail"
        );
        let long = [
            b"{}\n".as_slice(),
            &vec![b'x'; 3 * STEP],
            b"\n",
            &vec![0; STEP],
        ]
        .concat();
        assert_eq!(length_of(&long), 3);
        let long = format!("{{}}\n\"{}\"\n", "x".repeat(3 * STEP));
        assert_eq!(length_of(long.as_bytes()), long.len() as u64);
    }
}
