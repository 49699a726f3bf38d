//! `{{ name }}` in what authors wrote for the time of a call. Names only: what is put in is data
//! and is not looked at again.

/// The text with every placeholder that `known` knows replaced; `None` when it holds none.
pub fn fill(text: &str, mut known: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find("{{") {
        let (before, after) = rest.split_at(start);
        let inner = after.get(2..).unwrap_or_default();
        let Some(end) = inner.find("}}") else { break };
        out.push_str(before);
        match known(inner.get(..end).unwrap_or_default().trim()) {
            Some(value) => {
                found = true;
                out.push_str(&value);
            }
            None => out.push_str(after.get(..end + 4).unwrap_or_default()),
        }
        rest = inner.get(end + 2..).unwrap_or_default();
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The name of a text that is one placeholder and nothing else.
pub fn lone(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then(|| inner.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_filled_wherever_it_stands() {
        let fill =
            |word, path: &str| fill(word, |name| (name == "input_file").then(|| path.to_owned()));
        assert_eq!(
            fill("--in={{ input_file }}", "/t/i.json").as_deref(),
            Some("--in=/t/i.json")
        );
        assert_eq!(
            fill("{{input_file}}:{{  input_file}}", "/t").as_deref(),
            Some("/t:/t")
        );
        assert_eq!(
            fill("{{ other }} {{ input_file }}", "/t").as_deref(),
            Some("{{ other }} /t")
        );
        assert_eq!(
            fill("{{ input_file }}", "{{ input_file }}").as_deref(),
            Some("{{ input_file }}")
        );
        for untouched in [
            "plain",
            "{{ input_files }}",
            "{{ input_file",
            "input_file",
            "{{",
            "é{{é",
        ] {
            assert_eq!(fill(untouched, "/t"), None, "{untouched}");
        }
        assert_eq!(lone(" {{ a }} "), Some("a"));
        assert_eq!(lone("{{ a }}{{ b }}"), None);
        assert_eq!(lone("x{{ a }}"), None);
    }
}
