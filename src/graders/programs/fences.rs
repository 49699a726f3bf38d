//! Markdown code fences, read the way models write them.

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeFence {
    /// The first word of the info string in one spelling (`python` for `py`); empty when there is
    /// none.
    pub language: String,
    pub content: String,
    /// Byte offset of the opening fence's line.
    pub start: usize,
    /// False when the text ended first: the content then reaches to its end.
    pub closed: bool,
}

/// A fence that is indented this much deeper than the one that opened its block belongs to what the
/// block holds, such as a docstring (CommonMark 4.5: a closing fence may be indented by up to three
/// columns).
const FOREIGN: usize = 4;

struct OpenFence {
    mark: char,
    length: usize,
    indent: usize,
    columns: usize,
    fence: CodeFence,
}

/// All blocks of a text, in order. Fences may be indented (as in lists): their content then loses
/// as much indentation.
pub(crate) fn fences(text: &str) -> Vec<CodeFence> {
    let mut found = Vec::new();
    let mut open: Option<OpenFence> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        let indent = bare.len() - bare.trim_start_matches([' ', '\t']).len();
        let after_indent = bare.get(indent..).unwrap_or_default();
        let mark = after_indent
            .chars()
            .next()
            .filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| {
            after_indent.chars().take_while(|c| *c == mark).count()
        });
        let info = after_indent.get(length..).unwrap_or_default().trim();
        match (&mut open, mark) {
            (Some(block), Some(mark))
                if mark == block.mark
                    && length >= block.length
                    && info.is_empty()
                    && columns(bare, indent) < block.columns + FOREIGN =>
            {
                block.fence.closed = true;
                found.extend(open.take().map(|block| block.fence));
            }
            (Some(block), _) => block
                .fence
                .content
                .push_str(without_indent(line, block.indent)),
            (None, Some(mark)) if length >= 3 && !(mark == '`' && info.contains('`')) => {
                let fence = CodeFence {
                    language: language(info),
                    content: String::new(),
                    start,
                    closed: false,
                };
                open = Some(OpenFence {
                    mark,
                    length,
                    indent,
                    columns: columns(bare, indent),
                    fence,
                });
            }
            (None, _) => {}
        }
    }
    found.extend(open.map(|block| block.fence));
    found
}

/// The width of a line's indentation of `indent` bytes.
fn columns(line: &str, indent: usize) -> usize {
    line.bytes().take(indent).fold(0, |column, byte| {
        if byte == b'\t' {
            column / 4 * 4 + 4
        } else {
            column + 1
        }
    })
}

fn without_indent(line: &str, indent: usize) -> &str {
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(blank.min(indent)..).unwrap_or(line)
}

fn language(info: &str) -> String {
    let word = info.split([' ', '\t', ',', ':']).next().unwrap_or_default();
    canonical(word.trim_matches(['{', '}', '.']))
}

/// One spelling for the names that a language goes by.
pub(crate) fn canonical(name: &str) -> String {
    let name = name.to_lowercase();
    // `python3.12`, and HackMD's `python=1`.
    let version = name
        .strip_prefix("python")
        .or_else(|| name.strip_prefix("py"));
    if version.is_some_and(|rest| {
        rest.chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | '='))
    }) {
        return "python".to_owned();
    }
    match name.as_str() {
        "ipython" | "python-repl" => "python",
        "js" | "node" | "mjs" => "javascript",
        "ts" => "typescript",
        "sh" | "shell" | "zsh" | "console" => "bash",
        "yml" => "yaml",
        "rs" => "rust",
        "c++" | "cxx" => "cpp",
        "golang" => "go",
        "jsonc" | "json5" => "json",
        "md" => "markdown",
        _ => return name,
    }
    .to_owned()
}

/// The blocks that may be meant by `wanted`: those of that language, else those that name none;
/// never another language's.
pub(crate) fn of_language<'a>(blocks: &'a [CodeFence], wanted: Option<&str>) -> Vec<&'a CodeFence> {
    let Some(wanted) = wanted.map(canonical) else {
        return blocks.iter().collect();
    };
    let exact: Vec<&CodeFence> = blocks.iter().filter(|b| b.language == wanted).collect();
    if exact.is_empty() {
        blocks.iter().filter(|b| b.language.is_empty()).collect()
    } else {
        exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(text: &str) -> Vec<(String, String, bool)> {
        fences(text)
            .into_iter()
            .map(|f| (f.language, f.content, f.closed))
            .collect()
    }

    #[test]
    fn fences_are_found_as_models_write_them() {
        let text = "Hi\n```Py title=x\na = 1\n```\n~~~\n```\nb\n~~~~\n  1. list\n     ```json\n     {}\n       x\n     ```\n````\n```\n````\n";
        assert_eq!(
            short(text),
            [
                ("python".into(), "a = 1\n".into(), true),
                (String::new(), "```\nb\n".into(), true),
                ("json".into(), "{}\n  x\n".into(), true),
                (String::new(), "```\n".into(), true),
            ]
        );
    }

    #[test]
    fn a_fence_that_never_closes_reaches_to_the_end() {
        assert_eq!(
            short("x\n```python\r\na\r\nb"),
            [("python".into(), "a\r\nb".into(), false)]
        );
        assert_eq!(short("```"), [(String::new(), String::new(), false)]);
    }

    #[test]
    fn a_fence_inside_a_docstring_closes_nothing() {
        for indent in ["    ", "\t"] {
            let code = format!(
                "def f():\n{indent}\"\"\"\n{indent}```\n{indent}f()\n{indent}```\n{indent}\"\"\"\n"
            );
            assert_eq!(
                short(&format!("```python\n{code}```\nDone.")),
                [("python".into(), code.clone(), true)],
                "{indent:?}"
            );
        }
        assert_eq!(
            short("```\na\n   ```\n"),
            [(String::new(), "a\n".into(), true)]
        );
    }

    #[test]
    fn python_goes_by_many_names() {
        for name in [
            "py",
            "Python",
            "python3",
            "py3",
            "python2",
            "python3.12",
            "python=",
            "{.python}",
        ] {
            assert_eq!(
                short(&format!("```{name}\nx\n```"))[0].0,
                "python",
                "{name}"
            );
        }
        for name in ["pytb", "pyx", "python-traceback", "cython"] {
            assert_ne!(
                short(&format!("```{name}\nx\n```"))[0].0,
                "python",
                "{name}"
            );
        }
    }

    #[test]
    fn inline_code_opens_nothing() {
        assert_eq!(short("``` inline ``` text\n``not\n`no`"), []);
    }

    #[test]
    fn another_languages_block_is_never_taken() {
        let blocks = fences("```bash\nls\n```\n```\nplain\n```\n");
        let taken: Vec<&str> = of_language(&blocks, Some("py"))
            .iter()
            .map(|b| b.content.as_str())
            .collect();
        assert_eq!(taken, ["plain\n"]);
        assert_eq!(
            of_language(&fences("```bash\nls\n```"), Some("python")),
            Vec::<&CodeFence>::new()
        );
    }
}
