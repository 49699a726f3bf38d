//! The name that a TLS connection begins with (RFC 8446, section 4.1.2; RFC 6066, section 3).

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FirstBytes {
    /// More are needed.
    More,
    Tls {
        /// In lower case.
        name: Option<String>,
    },
    Other,
}

/// Bytes of a list whose length is in its first bytes, and the rest.
fn counted(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(width)?;
    let length = length
        .iter()
        .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}

pub(crate) fn first_bytes(mut bytes: &[u8]) -> FirstBytes {
    let mut message = Vec::new();
    loop {
        if let Some(body) = message.get(1..).and_then(|rest| counted(rest, 3)) {
            return match message.first() {
                Some(1) => FirstBytes::Tls {
                    name: server_name(body.0),
                },
                _ => FirstBytes::Other,
            };
        }
        if bytes.first().is_some_and(|kind| *kind != 22) {
            return FirstBytes::Other;
        }
        let Some((part, rest)) = bytes.get(3..).and_then(|rest| counted(rest, 2)) else {
            return FirstBytes::More;
        };
        message.extend_from_slice(part);
        bytes = rest;
    }
}

fn server_name(hello: &[u8]) -> Option<String> {
    // Version and random bytes.
    let rest = hello.get(34..)?;
    let (_, rest) = counted(rest, 1)?;
    let (_, rest) = counted(rest, 2)?;
    let (_, rest) = counted(rest, 1)?;
    let (mut extensions, _) = counted(rest, 2)?;
    while let Some((kind, rest)) = extensions.split_at_checked(2) {
        let (content, rest) = counted(rest, 2)?;
        if kind == [0, 0] {
            let (names, _) = counted(content, 2)?;
            let (name, _) = counted(names.strip_prefix(&[0])?, 2)?;
            let name = std::str::from_utf8(name).ok()?;
            return Some(name.to_ascii_lowercase());
        }
        extensions = rest;
    }
    None
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn with_length(width: usize, bytes: &[u8]) -> Vec<u8> {
        let length = (bytes.len() as u64).to_be_bytes();
        [&length[8 - width..], bytes].concat()
    }

    fn hello(name: &str) -> Vec<u8> {
        let names = with_length(2, &[&[0][..], &with_length(2, name.as_bytes())].concat());
        let other = [&[0, 43][..], &with_length(2, &[2, 3, 4])].concat();
        let own = [&[0, 0][..], &with_length(2, &names)].concat();
        let extensions = with_length(2, &[other, own].concat());
        let body = [
            &[3, 3][..],
            &[7; 32],
            &with_length(1, &[1; 32]),
            &with_length(2, &[19, 1]),
            &with_length(1, &[0]),
            &extensions,
        ];
        [&[1][..], &with_length(3, &body.concat())].concat()
    }

    #[test]
    fn name_is_read_from_one_record_or_several_and_needs_all_bytes() {
        let message = hello("A.example.com");
        let record = |part: &[u8]| [&[22, 3, 1][..], &with_length(2, part)].concat();
        let expected = FirstBytes::Tls {
            name: Some("a.example.com".to_owned()),
        };
        let (left, right) = message.split_at(50);
        for bytes in [record(&message), [record(left), record(right)].concat()] {
            assert_eq!(first_bytes(&bytes), expected);
            for length in 0..bytes.len() {
                assert_eq!(first_bytes(&bytes[..length]), FirstBytes::More, "{length}");
            }
        }
        assert_eq!(first_bytes(b"GET / HTTP/1.1"), FirstBytes::Other);
        assert_eq!(first_bytes(b"SSH-2.0"), FirstBytes::Other);
    }
}
