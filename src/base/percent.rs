//! Percent-encoding (RFC 3986, section 2.1).

/// A text as a part of a path or of a query: all but unreserved characters (section 2.3) as `%XX`.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// What is no `%XX` stays as it is; bytes that are no UTF-8 are replaced.
pub fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|two| *first == b'%' && two.iter().all(u8::is_ascii_hexdigit));
        let code = code.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_encoded_whole_and_comes_back() {
        assert_eq!(encode("a b&c=d/é~"), "a%20b%26c%3Dd%2F%C3%A9~");
        assert_eq!(decode("a%20b%26c%3Dd%2f%C3%A9~"), "a b&c=d/é~");
        for untouched in ["%", "%4", "%+1", "%zz", "a+b"] {
            assert_eq!(decode(untouched), untouched);
        }
    }
}
