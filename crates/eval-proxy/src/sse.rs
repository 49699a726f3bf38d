//! Server-sent events (WHATWG HTML, section 9.2), split from bytes as they arrive.

/// Bytes of one event. A longer one is dropped.
const LONGEST_EVENT: usize = 16 << 20;

/// What a blank line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseBlock {
    /// Empty where the stream names none.
    pub name: String,
    /// `None` for comments, and for an event that is too long.
    pub data: Option<String>,
    /// Where it ends in the bytes that were pushed.
    pub end: usize,
}

impl SseBlock {
    /// The event as text, without the blank line behind it; `None` without data.
    pub fn text(&self) -> Option<String> {
        let mut text = match self.name.as_str() {
            "" => String::new(),
            name => format!("event: {name}\n"),
        };
        for (number, line) in self.data.as_deref()?.split('\n').enumerate() {
            if number > 0 {
                text.push('\n');
            }
            text.push_str("data: ");
            text.push_str(line);
        }
        Some(text)
    }

    /// An event from such a text.
    pub fn of_text(text: &str) -> SseBlock {
        let mut splitter = SseSplitter::default();
        let mut block = None;
        splitter.push(text.as_bytes(), |found| block = Some(found));
        block.or_else(|| splitter.finish()).unwrap_or(SseBlock {
            name: String::new(),
            data: None,
            end: 0,
        })
    }
}

/// Finds the events of a stream, however its bytes are cut. Keeps no more than the current event.
#[derive(Debug, Default)]
pub(crate) struct SseSplitter {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return, which a line feed may follow.
    after_return: bool,
    /// Bytes after the first line were seen, so that no byte order mark is expected.
    began: bool,
    too_long: bool,
}

impl SseSplitter {
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(SseBlock)) {
        let mut at = 0;
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            if bytes.first() == Some(&b'\n') {
                at = 1;
            }
        }
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(length) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.extend_line(rest);
                return;
            };
            self.extend_line(rest.get(..length).unwrap_or_default());
            at += length + 1;
            if rest.get(length) == Some(&b'\r') {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            if let Some(block) = self.end_line(at) {
                each(block);
            }
        }
    }

    /// An event without a blank line at the end of the stream: some servers leave it out.
    pub fn finish(&mut self) -> Option<SseBlock> {
        if !self.line.is_empty() {
            self.end_line(0);
        }
        let block = self.end_line(0)?;
        block.data.is_some().then_some(block)
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        let kept = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if kept + bytes.len() > LONGEST_EVENT {
            self.too_long = true;
            self.line.clear();
            // The line is not blank, and is in no event.
            self.line.push(b':');
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, end: usize) -> Option<SseBlock> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.began, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let data = self.data.take().filter(|_| !self.too_long);
            self.too_long = false;
            let name = std::mem::take(&mut self.name);
            return Some(SseBlock {
                name: String::from_utf8_lossy(&name).into_owned(),
                data: data.map(|data| String::from_utf8_lossy(&data).into_owned()),
                end,
            });
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => line.split_at(colon),
            None => (line.as_slice(), &b":"[..]),
        };
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, Option<String>)> {
        let mut splitter = SseSplitter::default();
        let mut found = Vec::new();
        for piece in pieces {
            splitter.push(piece, |block| found.push((block.name, block.data)));
        }
        found.extend(splitter.finish().map(|block| (block.name, block.data)));
        found
    }

    /// The whole text by the words of the standard.
    fn naive(text: &str) -> Vec<(String, Option<String>)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let (mut found, mut name, mut data) = (Vec::new(), String::new(), None::<Vec<&str>>);
        for line in lines.iter().chain(&[""]) {
            if line.is_empty() {
                let joined = data.take().map(|data| data.join("\n"));
                found.push((std::mem::take(&mut name), joined));
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => name = value.to_owned(),
                "data" => data.get_or_insert_default().push(value),
                _ => {}
            }
        }
        // What the end of the stream ends counts only with data.
        if found.last().is_some_and(|(_, data)| data.is_none()) {
            found.pop();
        }
        found
    }

    #[test]
    fn events_survive_as_text() {
        for (name, data) in [
            ("", "[DONE]"),
            ("ping", "{}"),
            ("a", "one\ntwo\n"),
            ("", ""),
        ] {
            let block = SseBlock {
                name: name.to_owned(),
                data: Some(data.to_owned()),
                end: 0,
            };
            let text = block.text().unwrap();
            let again = SseBlock::of_text(&text);
            assert_eq!(
                (again.name.as_str(), again.data.as_deref()),
                (name, Some(data))
            );
        }
    }

    #[test]
    fn event_too_long_is_dropped_and_the_next_is_read() {
        let long = vec![b'x'; LONGEST_EVENT];
        let found = events(&[b"data: a", &long, b"\n\ndata: b\n\n"]);
        assert_eq!(
            found,
            [(String::new(), None), (String::new(), Some("b".to_owned()))]
        );
    }

    proptest! {
        #[test]
        fn splitting_anywhere_gives_the_events_of_the_standard(
            text in "\u{feff}?(data|event|id|:| |x|é|\n|\n\n|\r\n|\r|data: \\{\\}){0,40}",
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), naive(&text));
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(events(&single), naive(&text));
        }
    }
}
