//! What agent programs write into the conversation with their model: exit codes of commands, and
//! commands that the model calls in its text.

use super::StreamFormat;

/// What a command of mini-swe-agent prints first to end the session.
pub const SUBMIT_WORD: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// The exit code in the result of a shell tool, as the agent program puts it there: before what the
/// command printed, or after it. What the command itself printed is not taken for it, unless it
/// reports a failure.
pub fn exit_code_in(format: StreamFormat, tool: &str, result: &str) -> Option<i64> {
    match format {
        StreamFormat::MiniSweAgent => {
            let text = result.trim_start();
            let json = text
                .strip_prefix('{')
                .and_then(|text| text.trim_start().strip_prefix("\"returncode\":"));
            let tag = || text.strip_prefix("<returncode>");
            leading_number(json.or_else(tag)?)
        }
        StreamFormat::GeminiCli if tool == "run_shell_command" => {
            let lines = result.lines();
            let mut codes = lines.clone().filter_map(|line| {
                let code = line.trim_start().strip_prefix("Exit Code:")?;
                leading_number(code)
            });
            // It leaves out the exit code 0.
            let has_line = |head: &str| lines.clone().any(|line| line.starts_with(head));
            let ended = || has_line("Output:") && !has_line("Signal:");
            codes
                .find(|code| *code != 0)
                .or_else(|| ended().then_some(0))
        }
        _ => None,
    }
}

fn leading_number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let is_end = |c: char| !c.is_ascii_digit() && c != '-';
    text.get(..text.find(is_end).unwrap_or(text.len()))?
        .parse()
        .ok()
}

/// The command in a text of the model, for agents that are called so.
pub fn written_command(format: StreamFormat, text: &str) -> Option<&str> {
    const FENCE: &str = "```mswea_bash_command";
    if format != StreamFormat::MiniSweAgent {
        return None;
    }
    let mut blocks = text.split(FENCE).skip(1);
    let block = blocks.next()?;
    // With several it runs none of them.
    if blocks.next().is_some() {
        return None;
    }
    let (command, _) = block.split_once("\n```")?;
    Some(command.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_is_the_programs_own_line() {
        let mini = |text| exit_code_in(StreamFormat::MiniSweAgent, "bash", text);
        assert_eq!(
            mini("{\n  \"returncode\": 3,\n  \"output\": \"\"}"),
            Some(3)
        );
        let printed = r#"{"returncode": -1, "output": "\"returncode\": 0"}"#;
        assert_eq!(mini(printed), Some(-1));
        assert_eq!(mini("<returncode>2</returncode>\n<output>"), Some(2));
        assert_eq!(mini("a \"returncode\": 0"), None);
        let gemini = |text| exit_code_in(StreamFormat::GeminiCli, "run_shell_command", text);
        let none =
            "<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 27\n</untrusted_context>";
        assert_eq!(gemini(none), Some(0));
        assert_eq!(
            gemini("Output: Exit Code: 0\nExit Code: 0\nExit Code: 3\n"),
            Some(3)
        );
        assert_eq!(gemini("Output: a\nSignal: 9"), None);
        assert_eq!(gemini("Command was cancelled."), None);
        let read = exit_code_in(StreamFormat::GeminiCli, "read_file", "Output: a");
        assert_eq!(read, None);
    }

    #[test]
    fn command_in_a_text_is_the_only_block_of_its_kind() {
        let written = |text| written_command(StreamFormat::MiniSweAgent, text);
        let block = "```mswea_bash_command\nrm -rf x\n```";
        let (one, two) = (format!("Now:\n{block}\nDone."), format!("{block}\n{block}"));
        assert_eq!(written(&one), Some("rm -rf x"));
        assert_eq!(written(&two), None);
        assert_eq!(written("```bash\nrm -rf x\n```"), None);
        assert_eq!(written_command(StreamFormat::Codex, block), None);
    }
}
