//! What an agent is started with: its settings, and a command that fills its home folder.

use serde_json::Value;

use super::PROMPT_FILE;
use crate::model::{AgentPrompt, AgentStream};

/// Settings of an agent with those of the suite's file on top, whose text is kept where it is not
/// JSON.
pub(super) fn settings(mut usual: Value, written: Option<Vec<u8>>) -> Vec<u8> {
    if let Some(text) = written {
        match serde_json::from_slice(&text) {
            Ok(own) => lay(&mut usual, own),
            Err(_) => return text,
        }
    }
    usual.to_string().into_bytes()
}

fn lay(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                lay(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

/// Words before the agent's own command.
pub(super) const WRAPPER_WORDS: usize = 5;

/// A command that fills the home folder before it starts the agent: agents change their files there,
/// so that these are copies.
pub(super) fn wrapped(
    argv: Vec<String>,
    own: &str,
    form: AgentPrompt,
    stream: AgentStream,
) -> Vec<String> {
    let mut script =
        "own=$1; shift; [ ! -d \"$own/home\" ] || cp -R \"$own/home/.\" \"$HOME/\" || exit; "
            .to_owned();
    if let AgentPrompt::Word(option) = form {
        script += &format!("set -- \"$@\" {option} \"$(cat \"$own/{PROMPT_FILE}\")\"; ");
    }
    script += &match stream {
        AgentStream::Own => "exec \"$@\"".to_owned(),
        AgentStream::File(name) => format!(
            // One that was ended by a signal, for lack of memory for one, ends this, too.
            "\"$@\" >&2; code=$?; [ ! -f \"$HOME/{name}\" ] || cat \"$HOME/{name}\"; \
             [ $code -le 128 ] || kill -$((code - 128)) $$ 2>/dev/null; exit $code"
        ),
    };
    let shell: [&str; WRAPPER_WORDS] = ["/bin/sh", "-c", &script, "agent", own];
    shell
        .iter()
        .map(|word| (*word).to_owned())
        .chain(argv)
        .collect()
}
