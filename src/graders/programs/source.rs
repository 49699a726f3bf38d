//! From an output to the program of a language other than Python.

use crate::model::{Executor, OutputValue};

use super::fences::{CodeFence, canonical, fences};
use crate::graders::output::as_text;

/// The program's text, or why there is none, as a sentence. Of fenced blocks those of the language
/// come before those that name none; among them the last that defines `entry`, else the first (of
/// SQL the last: queries follow their tables).
pub(crate) fn source(
    value: &OutputValue,
    executor: &Executor,
    prefix: &str,
    entry: Option<&str>,
) -> Result<String, String> {
    let text = code_text(value)?;
    let code = match value {
        OutputValue::Program(_) => return Ok(text),
        _ => block(&text, executor, entry)?,
    };
    if code.trim().is_empty() {
        return Err("the output's code block is empty".to_owned());
    }
    let newline = if prefix.is_empty() || prefix.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Ok(format!("{prefix}{newline}{code}"))
}

/// The text of an output without the byte order mark that files keep, or why it is no code.
pub(super) fn code_text(value: &OutputValue) -> Result<String, String> {
    if let OutputValue::Json(json) = value
        && !json.is_string()
    {
        return Err("the output is JSON, not code".to_owned());
    }
    let text = as_text(value);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Err("the output is empty".to_owned());
    }
    Ok(text.to_owned())
}

fn block(text: &str, executor: &Executor, entry: Option<&str>) -> Result<String, String> {
    let blocks = fences(text);
    let Some(first) = blocks.first() else {
        return Ok(text.to_owned());
    };
    let mut groups: Vec<Vec<&CodeFence>> = Vec::new();
    for language in executor
        .fences()
        .into_iter()
        .map(canonical)
        .chain([String::new()])
    {
        groups.push(
            blocks
                .iter()
                .filter(|block| block.language == language)
                .collect(),
        );
    }
    if groups.iter().all(Vec::is_empty) {
        return Err(format!(
            "the output's code is {}, not {}",
            first.language,
            executor.language()
        ));
    }
    let head = entry.and_then(|path| path.split('.').next());
    let defining = groups.iter().find_map(|group| {
        group
            .iter()
            .rev()
            .find(|block| head.is_some_and(|name| defines(&block.content, name)))
    });
    let filled = |block: &&&CodeFence| !block.content.trim().is_empty();
    let any = || {
        groups.iter().find_map(|group| match executor {
            Executor::Sql => group.iter().rev().find(filled),
            _ => group.iter().find(filled),
        })
    };
    Ok(defining
        .or_else(any)
        .map(|block| block.content.clone())
        .unwrap_or_default())
}

/// Whether some line begins to define a name, in JavaScript's or bash' ways.
fn defines(code: &str, name: &str) -> bool {
    code.lines().any(|line| {
        let mut rest = line.trim_start();
        for word in [
            "export ", "default ", "async ", "function", "class ", "const ", "let ", "var ", "*",
        ] {
            rest = rest.strip_prefix(word).unwrap_or(rest).trim_start();
        }
        let rest = ["module.exports.", "exports."]
            .iter()
            .find_map(|p| rest.strip_prefix(p))
            .unwrap_or(rest);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let shortened = rest.len() < line.trim_start().len();
        rest.strip_prefix(name).is_some_and(|after| {
            !after.starts_with(is_word)
                && (shortened
                    || after.trim_start().starts_with('=')
                    || after.trim_start().starts_with("()"))
                && !after.trim_start().starts_with("==")
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ConfiguredExecutor;

    fn taken(text: &str, executor: &Executor, entry: Option<&str>) -> Result<String, String> {
        source(&OutputValue::Text(text.into()), executor, "", entry)
    }

    #[test]
    fn the_block_of_the_language_is_taken() {
        let answer = "Run:\n```bash\nnpm i\n```\n```js\nconst area = (r) => r\n```\nUsage:\n```js\narea(1)\n```\n```\nplain\n```";
        let js = |entry| taken(answer, &Executor::Javascript, entry);
        assert_eq!(js(Some("area")), Ok("const area = (r) => r\n".into()));
        assert_eq!(js(None), Ok("const area = (r) => r\n".into()));
        assert_eq!(taken(answer, &Executor::Bash, None), Ok("npm i\n".into()));
        assert_eq!(taken(answer, &Executor::Sql, None), Ok("plain\n".into()));
        assert_eq!(
            taken("SELECT 1", &Executor::Sql, None),
            Ok("SELECT 1".into())
        );
        let tables = "```sql\nCREATE TABLE t(a)\n```\n```sql\nSELECT a FROM t\n```";
        assert_eq!(
            taken(tables, &Executor::Sql, None),
            Ok("SELECT a FROM t\n".into())
        );
        let own = ConfiguredExecutor {
            name: "c".into(),
            languages: vec!["C".into(), "c++".into()],
            ..ConfiguredExecutor::default()
        };
        let own = Executor::Configured(Box::new(own));
        assert_eq!(
            taken("```cpp\nint main(){}\n```", &own, None),
            Ok("int main(){}\n".into())
        );
        assert_eq!(
            taken("```c\nint main(){}\n```\n```cpp\nx\n```", &own, None),
            Ok("int main(){}\n".into())
        );
    }

    #[test]
    fn nothing_to_run_is_told_with_the_languages_name() {
        let no = |text: &str, executor: &Executor| taken(text, executor, None).unwrap_err();
        assert_eq!(
            no("```rust\nfn main() {}\n```", &Executor::Javascript),
            "the output's code is rust, not JavaScript"
        );
        assert_eq!(
            no("```py\nx\n```", &Executor::Sql),
            "the output's code is python, not SQL"
        );
        assert_eq!(
            no("```js\n\n```", &Executor::Javascript),
            "the output's code block is empty"
        );
        assert_eq!(no(" \n", &Executor::Bash), "the output is empty");
        let json = OutputValue::Json(json!([1]));
        assert_eq!(
            source(&json, &Executor::Bash, "", None).unwrap_err(),
            "the output is JSON, not code"
        );
    }

    #[test]
    fn a_solution_is_a_whole_program_and_a_prefix_stands_before_code() {
        let program = OutputValue::Program("echo '```'".into());
        assert_eq!(
            source(&program, &Executor::Bash, "x=1", None),
            Ok("echo '```'".into())
        );
        let text = OutputValue::Text("echo $x".into());
        assert_eq!(
            source(&text, &Executor::Bash, "x=1", None),
            Ok("x=1\necho $x".into())
        );
    }

    #[test]
    fn definitions_are_known_in_all_their_forms() {
        let lines = [
            "function solve(n) {",
            "async function solve() {",
            "function* solve() {",
            "export default function solve(a) {}",
            "const solve = (a) => a",
            "let solve",
            "class solve {",
            "module.exports.solve = 1",
            "exports.solve = f",
            "solve = function() {}",
            "solve() {",
            "export const solve=1",
        ];
        for line in lines {
            assert!(defines(line, "solve"), "{line}");
        }
        for line in [
            "solver = 1",
            "solve(1)",
            "solve == 1",
            "const x = solve",
            "function solveAll() {}",
            "return solve",
        ] {
            assert!(!defines(line, "solve"), "{line}");
        }
    }
}
