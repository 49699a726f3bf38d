//! The text of an XML file on its way to the parser: decoded to UTF-8 and with every long run of
//! characters cut, so that what the parser holds is bounded whatever the file holds (a test may
//! have written gigabytes to its `system-out`).

use std::io::{self, BufRead, Read};

/// Bytes of one text, CDATA section, comment or attribute that are kept.
const RUN: usize = 64 * 1024;

/// Bytes of one tag.
const TAG: usize = 4 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After `<`, or after as much of `<!--` or `<![CDATA[`.
    Open(usize),
    Tag,
    Value(u8),
    Comment,
    CData,
    /// `<? ... >`.
    Instruction,
    /// `<!DOCTYPE`.
    Declaration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big: bool },
    Latin1,
}

/// Reads XML; gives UTF-8 that is cut to a bounded size but has the same elements.
pub(super) struct XmlText<R> {
    source: R,
    chunk: Vec<u8>,
    encoding: Encoding,
    raw: Vec<u8>,
    raw_at: usize,
    /// `raw` as UTF-8.
    text: Vec<u8>,
    text_at: usize,
    /// What the parser may read.
    out: Vec<u8>,
    out_at: usize,
    state: State,
    /// Bytes of the run, and of the tag, that were kept.
    run: usize,
    tag: usize,
    /// The last two bytes, for ends of more than one.
    last: [u8; 2],
    line: usize,
    ended: bool,
    /// What is wrong behind that which the parser may still read.
    trouble: Option<io::Error>,
}

impl<R: Read> XmlText<R> {
    /// # Errors
    /// The file can't be read, or is in an encoding that is not known here.
    pub fn new(mut source: R) -> io::Result<XmlText<R>> {
        let mut raw = Vec::new();
        source.by_ref().take(1024).read_to_end(&mut raw)?;
        let (encoding, mark) = encoding(&raw)?;
        Ok(XmlText {
            source,
            chunk: vec![0; 64 * 1024],
            encoding,
            raw,
            raw_at: mark,
            text: Vec::new(),
            text_at: 0,
            out: Vec::new(),
            out_at: 0,
            state: State::Text,
            run: 0,
            tag: 0,
            last: [0; 2],
            line: 1,
            ended: false,
            trouble: None,
        })
    }

    /// The line that the parser has come to, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Reads more of the file, behind what is not decoded yet.
    fn refill(&mut self) -> io::Result<()> {
        self.raw.drain(..self.raw_at.min(self.raw.len()));
        self.raw_at = 0;
        let n = loop {
            match self.source.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.raw
            .extend_from_slice(self.chunk.get(..n).unwrap_or_default());
        self.ended = n == 0;
        Ok(())
    }

    /// Decodes what lies in `raw`, except for what waits for its second half.
    fn decoded(&mut self) -> Vec<u8> {
        let raw = self.raw.get(self.raw_at..).unwrap_or_default();
        match self.encoding {
            Encoding::Utf8 => {
                let bytes = raw.to_vec();
                self.raw_at = self.raw.len();
                bytes
            }
            Encoding::Latin1 => {
                let text: String = raw.iter().map(|byte| windows_1252(*byte)).collect();
                self.raw_at = self.raw.len();
                text.into_bytes()
            }
            Encoding::Utf16 { big } => {
                let unit = |pair: &[u8]| match pair {
                    [a, b] if big => u16::from_be_bytes([*a, *b]),
                    [a, b] => u16::from_le_bytes([*a, *b]),
                    _ => 0,
                };
                let mut whole = raw.len() / 2;
                // The first half of a pair waits for the second.
                let last = whole
                    .checked_sub(1)
                    .and_then(|n| raw.get(2 * n..2 * n + 2))
                    .map(unit);
                if !self.ended && last.is_some_and(|unit| (0xd800..0xdc00).contains(&unit)) {
                    whole -= 1;
                }
                let units = raw
                    .get(..2 * whole)
                    .unwrap_or_default()
                    .chunks_exact(2)
                    .map(unit);
                let text: String = char::decode_utf16(units)
                    .map(|c| c.unwrap_or('\u{fffd}'))
                    .collect();
                self.raw_at += 2 * whole;
                text.into_bytes()
            }
        }
    }

    /// True when the byte ends the text, value, comment or section that it stands in.
    fn ends_run(&self, byte: u8) -> bool {
        match self.state {
            State::Text => byte == b'<',
            State::Value(quote) => byte == quote,
            State::Comment => byte == b'>' && self.last == *b"--",
            State::CData => byte == b'>' && self.last == *b"]]",
            State::Open(_) | State::Tag | State::Instruction | State::Declaration => false,
        }
    }

    fn in_run(&self) -> bool {
        matches!(
            self.state,
            State::Text | State::Value(_) | State::Comment | State::CData
        )
    }

    /// Takes one byte in: follows what it means, and keeps it unless its run is too long already.
    fn pass(&mut self, byte: u8) -> io::Result<()> {
        let over = self.ends_run(byte);
        self.last = [self.last[1], byte];
        if !self.in_run() {
            self.tag += 1;
            if self.tag > TAG {
                return Err(invalid("it has a tag of more than 4 MiB"));
            }
            self.out.push(byte);
            return self.markup(byte);
        }
        if !over {
            self.run += 1;
            if self.run <= RUN {
                self.tag += 1;
                self.out.push(byte);
            } else if byte == b'\n' {
                self.line += 1;
            }
            return Ok(());
        }
        match self.state {
            State::Comment if self.run > RUN => self.out.extend_from_slice(b"-->"),
            State::CData if self.run > RUN => self.out.extend_from_slice(b"]]>"),
            _ => self.out.push(byte),
        }
        self.state = match self.state {
            State::Text => {
                self.tag = 0;
                State::Open(0)
            }
            State::Value(_) => State::Tag,
            _ => State::Text,
        };
        self.run = 0;
        Ok(())
    }

    /// Fills `out` until something is to be left out of it, so that the line is right for whatever
    /// the parser then meets.
    fn pass_on(&mut self) {
        while let Some(byte) = self.text.get(self.text_at).copied() {
            let drops = self.in_run() && self.run >= RUN && !self.ends_run(byte);
            if drops && !self.out.is_empty() {
                return;
            }
            self.text_at += 1;
            if let Err(error) = self.pass(byte) {
                self.trouble = Some(error);
                return;
            }
        }
    }

    fn markup(&mut self, byte: u8) -> io::Result<()> {
        const CDATA: &[u8] = b"![CDATA[";
        self.state = match (self.state, byte) {
            (State::Open(0), b'?') => State::Instruction,
            (State::Open(0), b'!') => State::Open(1),
            (State::Open(0), b'>') => State::Text,
            (State::Open(0), _) => State::Tag,
            (State::Open(1), b'-') => State::Open(101),
            (State::Open(101), b'-') => {
                self.last = [0; 2];
                State::Comment
            }
            (State::Open(n), byte) if CDATA.get(n) == Some(&byte) => {
                if n + 1 == CDATA.len() {
                    self.last = [0; 2];
                    State::CData
                } else {
                    State::Open(n + 1)
                }
            }
            (State::Open(_), _) => State::Declaration,
            (State::Declaration, b'[') => {
                return Err(invalid(
                    "it declares entities of its own, which are not expanded",
                ));
            }
            (State::Declaration | State::Tag | State::Instruction, b'>') => State::Text,
            (State::Tag, b'"' | b'\'') => State::Value(byte),
            (state, _) => state,
        };
        self.run = 0;
        Ok(())
    }
}

impl<R: Read> Read for XmlText<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: Read> BufRead for XmlText<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.out_at >= self.out.len() {
            self.out.clear();
            self.out_at = 0;
            while self.out.is_empty() {
                if let Some(error) = self.trouble.take() {
                    return Err(error);
                }
                self.pass_on();
                if self.text_at >= self.text.len() && self.out.is_empty() && self.trouble.is_none()
                {
                    self.text = self.decoded();
                    self.text_at = 0;
                    if self.text.is_empty() {
                        if self.ended {
                            break;
                        }
                        self.refill()?;
                    }
                }
            }
        }
        Ok(self.out.get(self.out_at..).unwrap_or_default())
    }

    fn consume(&mut self, n: usize) {
        let end = self.out.len().min(self.out_at + n);
        let passed = self.out.get(self.out_at..end).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.out_at = end;
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

/// The encoding of a file by its first bytes, and the length of its mark. The bytes win over what
/// the file declares: a declaration is text that a program may have copied.
fn encoding(start: &[u8]) -> io::Result<(Encoding, usize)> {
    match start {
        [0xef, 0xbb, 0xbf, ..] => return Ok((Encoding::Utf8, 3)),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err(invalid("its encoding is UTF-32"));
        }
        [0xff, 0xfe, ..] => return Ok((Encoding::Utf16 { big: false }, 2)),
        [0xfe, 0xff, ..] => return Ok((Encoding::Utf16 { big: true }, 2)),
        [b'<', 0, ..] => return Ok((Encoding::Utf16 { big: false }, 0)),
        [0, b'<', ..] => return Ok((Encoding::Utf16 { big: true }, 0)),
        [0x1f, 0x8b, ..] => return Err(invalid("it is compressed with gzip")),
        _ => {}
    }
    let declared = declared(start).unwrap_or_default().to_ascii_lowercase();
    match declared.as_str() {
        "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" | "iso-8859-15" | "windows-1252"
        | "cp1252" => Ok((Encoding::Latin1, 0)),
        // Encodings whose markup is not ASCII, or in which a byte of another character may look
        // like markup.
        other
            if ["iso-2022", "utf-7", "utf-32", "ebcdic", "ibm037", "cp037"]
                .iter()
                .any(|e| other.starts_with(e)) =>
        {
            Err(invalid(&format!(
                "its encoding is {other}, which can't be read; write UTF-8"
            )))
        }
        _ => Ok((Encoding::Utf8, 0)),
    }
}

/// `x` of `<?xml version="1.0" encoding="x"?>`.
fn declared(start: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(start);
    let declaration = text
        .trim_start()
        .strip_prefix("<?xml")?
        .split("?>")
        .next()?
        .to_owned();
    let value = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start()
        .to_owned();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value.get(1..)?.split(quote).next().map(str::to_owned)
}

/// Windows-1252, which is what files that say ISO-8859-1 mostly are, and the same where both have
/// letters.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH
            .get(usize::from(byte) - 0x80)
            .copied()
            .unwrap_or('\u{fffd}'),
        _ => char::from(byte),
    }
}
