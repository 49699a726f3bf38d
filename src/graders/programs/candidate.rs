//! From an output to the program that is run.
//!
//! - A `solution` is a whole program and taken as it is.
//! - An answer with fenced blocks gives one block: Python's before those without a language, and
//!   among them the last one that defines what the tests ask for.
//! - A text that defines the entry point itself follows what the prompt has before that function
//!   (its imports and helpers); any other text continues the prompt, its indentation untouched.

use std::borrow::Cow;

use crate::model::OutputValue;

use super::fences::{CodeFence, fences};
use crate::graders::programs::source::code_text;

/// What the program is for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProgramContext<'a> {
    /// Text before the output's code, empty if none.
    pub prefix: &'a str,
    pub entry_point: Option<&'a str>,
    /// The tests' text: a block that defines a name which they use is the one that is meant.
    pub tests: &'a str,
}

/// The program's text, or why there is none, as a sentence.
pub(crate) fn candidate(value: &OutputValue, wanted: ProgramContext) -> Result<String, String> {
    let text = code_text(value)?;
    if matches!(value, OutputValue::Program(_)) {
        return Ok(text);
    }
    // What a program must define of `Solution.solve` is `Solution`.
    let wanted = ProgramContext {
        entry_point: wanted.entry_point.and_then(|path| path.split('.').next()),
        ..wanted
    };
    let code = code_of(&text, wanted)?;
    if code.trim().is_empty() {
        return Err("the output's code block is empty".to_owned());
    }
    Ok(assemble(&code, wanted))
}

fn code_of(text: &str, wanted: ProgramContext) -> Result<String, String> {
    let blocks = fences(text);
    let Some(first) = blocks.first() else {
        return Ok(text.to_owned());
    };
    // A completion that runs on into a lone fence: the fence closes what the prompt had opened.
    let before = text.get(..first.start).unwrap_or_default();
    if blocks.len() == 1 && !first.closed && first.language.is_empty() && !before.trim().is_empty()
    {
        return Ok(before.to_owned());
    }
    let is_wanted = |code: &str| match wanted.entry_point {
        Some(name) => defines(code, name),
        None => defined_names(code).any(|name| has_word(wanted.tests, name)),
    };
    // Code that stands before the first fence, when no block has it: an indented fence is part of
    // it (an example in a docstring), any other ends it.
    let is_body = !wanted.prefix.trim().is_empty()
        && before
            .lines()
            .find(|l| !l.trim().is_empty())
            .is_some_and(|l| l.starts_with("    ") || l.starts_with('\t'));
    if (is_wanted(before) || is_body) && !blocks.iter().any(|block| is_wanted(&block.content)) {
        let inside = text
            .get(first.start..)
            .is_some_and(|fence| fence.starts_with([' ', '\t']));
        return Ok(if inside { text } else { before }.to_owned());
    }
    let usable: Vec<&CodeFence> = blocks
        .iter()
        .filter(|b| b.language.is_empty() || b.language == "python")
        .collect();
    if usable.is_empty() {
        return Err(format!(
            "the output's code is {}, not Python",
            first.language
        ));
    }
    let defines_wanted = |block: &&&CodeFence| is_wanted(&block.content);
    let tagged = |block: &&&CodeFence| block.language == "python";
    let chosen = usable
        .iter()
        .rev()
        .filter(tagged)
        .find(defines_wanted)
        .or_else(|| usable.iter().rev().find(defines_wanted))
        .or_else(|| {
            usable
                .iter()
                .find(|b| tagged(b) && !b.content.trim().is_empty())
        })
        .or_else(|| usable.iter().find(|b| !b.content.trim().is_empty()));
    Ok(chosen
        .map(|block| block.content.clone())
        .unwrap_or_default())
}

/// Code behind a text that belongs before it whatever the code defines.
pub(crate) fn prefixed(prefix: &str, code: &str) -> String {
    if prefix.trim().is_empty() {
        return code.to_owned();
    }
    let newline = if prefix.ends_with('\n') { "" } else { "\n" };
    let (futures, code) = futures_first(code);
    format!("{futures}{prefix}{newline}{code}")
}

fn assemble(code: &str, wanted: ProgramContext) -> String {
    if wanted.prefix.trim().is_empty() {
        return code.to_owned();
    }
    let continues = code
        .lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.starts_with([' ', '\t']));
    match wanted.entry_point {
        Some(name) if !continues && defines(code, name) => {
            let mut head = head(wanted.prefix, name);
            if !head.is_empty() && !head.ends_with('\n') {
                head.push('\n');
            }
            let (futures, code) = futures_first(code);
            futures + &head + &code
        }
        _ => format!("{}{code}", wanted.prefix),
    }
}

/// The `from __future__` imports that a program begins with, and the program without them: nothing
/// may stand before them.
fn futures_first(code: &str) -> (String, Cow<'_, str>) {
    let mut futures = String::new();
    let mut before = String::new();
    let mut rest = code;
    while let Some(line) = rest.split_inclusive('\n').next() {
        let bare = line.trim();
        if line.starts_with("from __future__ import ") && !bare.ends_with(['(', '\\']) {
            futures.push_str(bare);
            futures.push('\n');
        } else if bare.is_empty() || bare.starts_with('#') {
            before.push_str(line);
        } else {
            break;
        }
        rest = rest.get(line.len()..).unwrap_or_default();
    }
    if futures.is_empty() {
        (futures, Cow::Borrowed(code))
    } else {
        (futures, Cow::Owned(before + rest))
    }
}

/// What a prompt has before the function that it asks for; only its imports when it does not begin
/// that function.
fn head(prefix: &str, entry_point: &str) -> String {
    let mut head = String::new();
    for line in prefix.split_inclusive('\n') {
        if defined_name(line) == Some(entry_point) {
            return head;
        }
        head.push_str(line);
    }
    let mut imports = String::new();
    let mut open = false;
    for line in prefix.split_inclusive('\n') {
        if open || line.starts_with("import ") || line.starts_with("from ") {
            imports.push_str(line);
            let ends_open = line.trim_end().ends_with(['(', ',', '\\']);
            open = ends_open && !line.contains(')');
        }
    }
    imports
}

/// Whether a program defines a name at its top level.
fn defines(code: &str, name: &str) -> bool {
    defined_names(code).any(|defined| defined == name)
}

fn defined_names(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(defined_name)
}

fn defined_name(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("async ")
        .map(str::trim_start)
        .unwrap_or(line)
        .strip_prefix("def ")
        .or_else(|| line.strip_prefix("class "));
    if let Some(rest) = rest {
        return word(rest.trim_start());
    }
    let name = word(line)?;
    let after = line.get(name.len()..)?.trim_start();
    (after.starts_with('=') && !after.starts_with("==")).then_some(name)
}

fn word(text: &str) -> Option<&str> {
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    text.get(..end).filter(|name| !name.is_empty())
}

fn has_word(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|t| t.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROMPT: &str = "from typing import List\n\n\ndef helper(x):\n    return x\n\n\ndef solve(n: int) -> int:\n    \"\"\"Doc\"\"\"\n";

    fn wanted() -> ProgramContext<'static> {
        ProgramContext {
            prefix: PROMPT,
            entry_point: Some("solve"),
            tests: "",
        }
    }

    fn text(text: &str) -> OutputValue {
        OutputValue::Text(text.into())
    }

    #[test]
    fn a_completion_continues_the_prompt_untouched() {
        assert_eq!(
            candidate(&text("    return n\n"), wanted()),
            Ok(format!("{PROMPT}    return n\n"))
        );
        let redefining = "    return 1\n\ndef solve(n):\n    return 2\n";
        assert_eq!(
            candidate(&text(redefining), wanted()),
            Ok(format!("{PROMPT}{redefining}"))
        );
    }

    #[test]
    fn a_whole_function_follows_the_prompts_imports_and_helpers() {
        let head = "from typing import List\n\n\ndef helper(x):\n    return x\n\n\n";
        let answer = "Sure!\n```python\ndef solve(n):\n    return n\n```\nUsage:\n```python\nprint(solve(1))\n```\n";
        assert_eq!(
            candidate(&text(answer), wanted()),
            Ok(format!("{head}def solve(n):\n    return n\n"))
        );
        assert_eq!(
            candidate(&text("def solve(n):\n    return n"), wanted()),
            Ok(format!("{head}def solve(n):\n    return n"))
        );
        let elsewhere = ProgramContext {
            prefix: "import re\nfrom a import (\n  b,\n)\nx = 1\n",
            ..wanted()
        };
        assert_eq!(
            candidate(&text("def solve(n): pass"), elsewhere),
            Ok("import re\nfrom a import (\n  b,\n)\ndef solve(n): pass".into())
        );
    }

    #[test]
    fn future_imports_stay_first() {
        let head = "from typing import List\n\n\ndef helper(x):\n    return x\n\n\n";
        let answer = "# mine\n\nfrom __future__ import annotations\nimport re\n\ndef solve(n):\n    return n\n";
        assert_eq!(
            candidate(&text(answer), wanted()),
            Ok(format!(
                "from __future__ import annotations\n{head}# mine\n\nimport re\n\ndef solve(n):\n    return n\n"
            ))
        );
    }

    #[test]
    fn a_solution_is_a_whole_program() {
        let program = OutputValue::Program("print('```')\n```\n".into());
        assert_eq!(
            candidate(&program, wanted()),
            Ok("print('```')\n```\n".into())
        );
        let marked = OutputValue::Program("\u{feff}x = 1".into());
        assert_eq!(candidate(&marked, wanted()), Ok("x = 1".into()));
    }

    #[test]
    fn the_block_that_the_tests_are_about_is_taken() {
        let answer = "```\npip install x\n```\n```python\ndef area(r):\n    return r\n```\n```python\nassert area(1) == 1\n```";
        let wanted = ProgramContext {
            tests: "assert area(2) == 2",
            ..ProgramContext::default()
        };
        assert_eq!(
            candidate(&text(answer), wanted),
            Ok("def area(r):\n    return r\n".into())
        );
        let tagged_first = "```\ndef area(r): return 1\n```\n```py\ndef area(r): return 2\n```";
        assert_eq!(
            candidate(&text(tagged_first), wanted),
            Ok("def area(r): return 2\n".into())
        );
        assert_eq!(
            candidate(&text("```\nfoo()\n```"), wanted),
            Ok("foo()\n".into())
        );
    }

    #[test]
    fn a_dotted_entry_point_is_defined_by_its_class() {
        let answer = "```python\nprint(1)\n```\n```python\nclass Solution:\n    pass\n```\n```python\nprint(2)\n```";
        let wanted = ProgramContext {
            entry_point: Some("Solution.solve"),
            ..ProgramContext::default()
        };
        assert_eq!(
            candidate(&text(answer), wanted),
            Ok("class Solution:\n    pass\n".into())
        );
    }

    #[test]
    fn a_lone_fence_after_code_closes_it() {
        assert_eq!(
            candidate(&text("    return n\n```\nThis returns n."), wanted()),
            Ok(format!("{PROMPT}    return n\n"))
        );
    }

    #[test]
    fn a_fence_in_or_after_code_is_not_the_code() {
        let body =
            "    x = n\n    \"\"\"\n    ```\n    solve(1)\n    ```\n    \"\"\"\n    return x\n";
        assert_eq!(
            candidate(&text(body), wanted()),
            Ok(format!("{PROMPT}{body}"))
        );
        let whole = format!("def solve(n):\n{body}");
        let alone = ProgramContext {
            prefix: "",
            ..wanted()
        };
        assert_eq!(candidate(&text(&whole), alone), Ok(whole.clone()));
        assert_eq!(
            candidate(
                &text(&whole),
                ProgramContext {
                    entry_point: None,
                    tests: "assert solve(1)",
                    ..alone
                }
            ),
            Ok(whole)
        );
        let explained = "    return n\n```\n\nExample:\n```python\nprint(solve(1))\n```\n";
        assert_eq!(
            candidate(&text(explained), wanted()),
            Ok(format!("{PROMPT}    return n\n"))
        );
        let fenced_body = "Sure:\n```python\n    return n\n```\n";
        assert_eq!(
            candidate(&text(fenced_body), wanted()),
            Ok(format!("{PROMPT}    return n\n"))
        );
    }

    #[test]
    fn nothing_to_run_is_told() {
        let no = |value: OutputValue| candidate(&value, wanted()).unwrap_err();
        assert_eq!(no(text(" \n\t")), "the output is empty");
        assert_eq!(
            no(OutputValue::Program(String::new())),
            "the output is empty"
        );
        assert_eq!(
            no(text("```python\n\n```")),
            "the output's code block is empty"
        );
        assert_eq!(
            no(text("```rust\nfn main() {}\n```")),
            "the output's code is rust, not Python"
        );
        assert_eq!(
            no(OutputValue::Json(json!({"a": 1}))),
            "the output is JSON, not code"
        );
    }

    #[test]
    fn names_are_whole_words() {
        assert!(!defines(
            "def solver(n): pass\n  def solve(): pass",
            "solve"
        ));
        assert!(defines("async def solve(n): pass", "solve"));
        assert!(defines("solve = lambda n: n", "solve"));
        assert!(!defines("solve == 1", "solve"));
        assert!(!has_word("resolve(1)", "solve") && has_word("x=solve(1)", "solve"));
    }
}
