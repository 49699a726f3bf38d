//! What varies between two runs of the same agent: dates, ids, paths, durations, ports.
//!
//! Requests are compared after every such part was replaced by a word in angle brackets. A part is
//! replaced without regard to its value, so that two different ids compare as equal: the order of
//! the messages and everything else still has to match.

use std::sync::LazyLock;

use regex::{Captures, Regex, RegexBuilder};
use serde_json::Value;

/// What varies, for all agents. Tried in this order; what one replaces, later ones see replaced.
const EVERYWHERE: &[(&str, &str)] = &[
    // Line ends as they are in a quoted text: a letter there would be part of the next word.
    (r"\\[nrt]", "\n"),
    // Dates and times: 2026-11-28T06:55:09.123Z, 2026-11-28 06:55:09 +0000, 2026-11-28, 2026/11/28.
    (
        r"\b(?:19|20)\d\d([-/])(?:0?[1-9]|1[0-2])[-/](?:0?[1-9]|[12]\d|3[01])(?:(?:[T ]|, )\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[AaPp][Mm]|[+-]\d\d:?\d\d))?)?\b",
        "<date>",
    ),
    // 11/28/2026, as some locales write it.
    (r"\b\d{1,2}/\d{1,2}/(?:19|20)\d\d\b", "<date>"),
    // Saturday, November 28, 2026; Sat Nov 28 06:55:09 UTC 2026; 28 Nov 2026; Nov 28 06:55.
    (
        r"\b(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?(?:,? +(?:\d{1,2}(?:st|nd|rd|th)?|<date>)\b)?(?:,? +\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?)?(?:,? +(?:UTC|GMT|[A-Z]{3,4}))?(?:,? +(?:19|20)\d\d\b)(?:,? +\d{1,2}:\d\d(?::\d\d)?)?(?: +[+-]\d{4}\b)?",
        "<date>",
    ),
    (
        r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d{1,2}:\d\d(?::\d\d)?\b",
        "<date>",
    ),
    (
        r"\b(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?\b",
        "<time>",
    ),
    // Seconds and milliseconds since 1970, from 2020 to 2033.
    (
        r"(\b|_)(?:1[6-9]|20)\d{8}(?:\.\d+|\d{3}|\d{6}|\d{9})?(\b|_)",
        "${1}<time>${2}",
    ),
    // UUIDs.
    (
        r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "<uuid>",
    ),
    // Ids with a prefix: toolu_01Abc..., call_..., chatcmpl-..., msg_..., ses_..., prt_....
    (
        r"\b(toolu|srvtoolu|call|callid|chatcmpl|cmpl|msg|message|resp|rs|fc|ctc|ws|req|run|ses|session|sess|prt|part|user|usr|thread|thrd|turn|task|agent|evt|snap|per|exec)([_-])[A-Za-z0-9]*\d[A-Za-z0-9]{3,}(?:[_-][A-Za-z0-9]*\d[A-Za-z0-9]{3,})*\b",
        "${1}${2}<id>",
    ),
    // Addresses in memory.
    (r"\b0x[0-9a-fA-F]{8,16}\b", "0x<hex>"),
    // Commits where git prints them, also those that happen to have no letter: `index 1234567..7654321`,
    // `commit 1234567`, `[main 1234567]`, and lines of a short log.
    (
        r"\b[0-9a-f]{7,40}(\.\.\.?)[0-9a-f]{7,40}\b",
        "<hex>${1}<hex>",
    ),
    (
        r"\b(commit|HEAD is now at|HEAD detached at|Merge:|parent|tree|blob|revert) [0-9a-f]{7,40}\b",
        "${1} <hex>",
    ),
    (
        r"\[((?:[\w./-]+|detached HEAD)(?: \(root-commit\))?) [0-9a-f]{7,40}\]",
        "[${1} <hex>]",
    ),
    (r"(?m)^([*|/\\ ]{0,8})[0-9]{7,12} ", "${1}<hex> "),
    // Digests: hex with digits and letters.
    (r"\b[0-9a-f]{7,64}\b", "<hex-or-word>"),
    // Temporary files: the first name below /tmp.
    (
        r"(/var/tmp|/tmp|/private/tmp|/var/folders/[\w+-]+/[\w+-]+/T|/dev/shm)/[\w.+@=-]+",
        "${1}/<temp>",
    ),
    // Ports of this machine.
    (
        r"\b(127\.0\.0\.1|localhost|0\.0\.0\.0)(:|, port | port )\d{2,5}\b",
        "${1}${2}<port>",
    ),
    (r"(\[::1?\]):\d{2,5}\b", "${1}:<port>"),
    // How long ago: 2 hours ago, about a minute ago, 1 year, 2 months ago.
    (
        r"(?i)\b(?:(?:about|over|almost) )?(?:\d+|an?|one) (?:second|minute|hour|day|week|month|year)s?(?:, \d+ (?:second|minute|hour|day|week|month)s?)? ago\b",
        "<time> ago",
    ),
    // Durations with a unit: 0.12s, 3 ms, 1.2 seconds, 1m2.345s, 0:00.12elapsed.
    (
        r"\b(?:\d+(?:\.\d+)?(?:h|m) ?)?\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|milliseconds?|minutes?|mins?)\b",
        "<duration>",
    ),
    // Durations by their names: "duration_ms": 12, wall time: 0.3, elapsed=1.5.
    (
        r#"(?i)\b((?:duration|elapsed|wall[ _]?(?:time|clock)|took|runtime)(?:[ _]?(?:ms|s|secs|seconds|time))?\\?"?) ?([:=]) ?\d+(?:\.\d+)?(?:e-?\d+)?\b"#,
        "${1}${2} <duration>",
    ),
    // Files, as `stat` prints them.
    (r"\b(Inode: |Device: )[\w,/]+", "${1}<id>"),
    // What `time` prints: 0.00user 0:00.10elapsed 0%CPU (0avgtext+0avgdata 1620maxresident)k.
    (
        r"\b[\d.:]+(user|system|elapsed|%CPU|avgtext|avgdata|maxresident|inputs|outputs|major|minor|swaps)\b",
        "<count>${1}",
    ),
    // Processes.
    (
        r"(?i)\b(pid|process id|process)([ :=#]{1,3})\d{1,7}\b",
        "${1}${2}<pid>",
    ),
];

/// What of one agent's requests varies besides.
#[derive(Debug, Clone, Copy)]
struct AgentRules {
    agent: &'static str,
    /// JSON pointers of fields that are not compared; `*` is any one part.
    ignored: &'static [&'static str],
    patterns: &'static [(&'static str, &'static str)],
}

/// Fields that the APIs document as ids of a user or a cache.
const IGNORED_EVERYWHERE: &[&str] = &[
    "/metadata/user_id",
    "/prompt_cache_key",
    "/safety_identifier",
    "/user",
    "/client_metadata",
    "/stream_options",
    // Marks of what the provider caches, which move from request to request, where Anthropic's API
    // and gateways to it have them.
    "/cache_control",
    "/system/*/cache_control",
    "/tools/*/cache_control",
    "/messages/*/cache_control",
    "/messages/*/content/*/cache_control",
    "/messages/*/content/*/content/*/cache_control",
];

const BY_AGENT: &[AgentRules] = &[
    AgentRules {
        agent: "claude-code",
        ignored: &[],
        patterns: &[
            // A digest of the first message that its system prompt names.
            (r"\bcch=[0-9a-z]+", "cch=<id>"),
            (r"\bcc_version=[0-9a-z.]+", "cc_version=<version>"),
            (
                r"\b(Background (?:command|task|shell)[^:\n]{0,40}ID: ?)\w+",
                "${1}<id>",
            ),
            (r"(?m)^(OS Version: ).*$", "${1}<version>"),
        ],
    },
    AgentRules {
        agent: "codex",
        ignored: &["/metadata"],
        patterns: &[
            (r"\b(Chunk ID: )\w+", "${1}<id>"),
            (r"\b(session ID )\d+", "${1}<id>"),
            (r"\b(Original token count: )\d+", "${1}<count>"),
        ],
    },
    AgentRules {
        agent: "gemini-cli",
        ignored: &["/session_id"],
        patterns: &[
            (r"\b(Process Group PGID: )\d+", "${1}<pid>"),
            (r"\b(Background PIDs: )[\d, ]+", "${1}<pid>"),
        ],
    },
];

/// Patterns for all agents, ready to use.
static COMMON: LazyLock<Vec<Replacement>> = LazyLock::new(|| replacements(EVERYWHERE));

#[derive(Debug, Clone)]
struct Replacement {
    pattern: Regex,
    by: &'static str,
}

fn replacements(table: &[(&str, &'static str)]) -> Vec<Replacement> {
    let built = table.iter().filter_map(|(pattern, by)| {
        // Every pattern of the tables is built in a test.
        let pattern = RegexBuilder::new(pattern)
            .size_limit(32 << 20)
            .build()
            .ok()?;
        Some(Replacement { pattern, by })
    });
    built.collect()
}

/// The rules of one session.
#[derive(Debug, Clone)]
pub(crate) struct Normalization {
    /// Paths that differ between machines, the longest first, and the names that replace them.
    folders: Vec<(String, String)>,
    own: Vec<Replacement>,
    ignored: Vec<Vec<&'static str>>,
}

impl Normalization {
    /// For an agent by name; one that the table does not have gets the rules for all. `folders` are
    /// paths with names for them.
    pub fn new(agent: &str, folders: &[(String, String)]) -> Normalization {
        let rules = BY_AGENT.iter().find(|rules| rules.agent == agent);
        let ignored = rules.map_or(&[][..], |rules| rules.ignored);
        let pointers = IGNORED_EVERYWHERE.iter().chain(ignored);
        // Now, and not when the agent waits for its first answer.
        LazyLock::force(&COMMON);
        Normalization {
            folders: folder_words(folders),
            own: replacements(rules.map_or(&[], |rules| rules.patterns)),
            ignored: pointers
                .map(|pointer| pointer.split('/').skip(1).collect())
                .collect(),
        }
    }

    /// The same rules where the folders were others.
    pub fn with_folders(&self, folders: &[(String, String)]) -> Normalization {
        Normalization {
            folders: folder_words(folders),
            ..self.clone()
        }
    }

    /// A text without what varies.
    pub fn text(&self, text: &str) -> String {
        let mut current = std::borrow::Cow::Borrowed(text);
        for (path, name) in &self.folders {
            if current.contains(path.as_str()) {
                current = replace_path(&current, path, name).into();
            }
        }
        for replacement in COMMON.iter().chain(&self.own) {
            let replaced = match replacement.by {
                "<hex-or-word>" => replacement.pattern.replace_all(&current, hex_or_word),
                by => replacement.pattern.replace_all(&current, by),
            };
            if let std::borrow::Cow::Owned(replaced) = replaced {
                current = replaced.into();
            }
        }
        current.into_owned()
    }

    /// The field of a request's body without what varies; `None` when it is not compared.
    pub fn field(&self, name: &str, value: &Value) -> Option<Value> {
        let below = self.below(&self.all_ignored(), name)?;
        Some(self.value(value, &below))
    }

    /// An item of a list in a request's body.
    pub fn item(&self, list: &str, item: &Value) -> Value {
        let below = self.below(&self.all_ignored(), list).unwrap_or_default();
        let below = self.below(&below, "*").unwrap_or_default();
        self.value(item, &below)
    }

    fn all_ignored(&self) -> Vec<&[&'static str]> {
        self.ignored.iter().map(Vec::as_slice).collect()
    }

    /// The pointers that lead on below a name; `None` when one ends there.
    fn below<'a>(
        &self,
        pointers: &[&'a [&'static str]],
        name: &str,
    ) -> Option<Vec<&'a [&'static str]>> {
        let mut on = Vec::new();
        for pointer in pointers {
            match pointer.split_first() {
                Some((first, [])) if *first == name || *first == "*" => return None,
                Some((first, rest)) if *first == name || *first == "*" => on.push(rest),
                _ => {}
            }
        }
        Some(on)
    }

    fn value(&self, value: &Value, ignored: &[&[&'static str]]) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => {
                let items = items.iter().enumerate().filter_map(|(at, item)| {
                    Some(self.value(item, &self.below(ignored, &at.to_string())?))
                });
                Value::Array(items.collect())
            }
            Value::Object(fields) => {
                let fields = fields.iter().filter_map(|(name, field)| {
                    let below = self.below(ignored, name)?;
                    Some((self.text(name), self.value(field, &below)))
                });
                Value::Object(fields.collect())
            }
            other => other.clone(),
        }
    }
}

/// Paths of folders, the longest first, and what replaces them. Agents also use a path as a name,
/// with hyphens for everything that is not a letter or a digit.
fn folder_words(folders: &[(String, String)]) -> Vec<(String, String)> {
    let mut words: Vec<(String, String)> = folders
        .iter()
        .map(|(path, name)| (path.trim_end_matches('/'), format!("<{name}>")))
        .filter(|(path, _)| path.len() > 1)
        .flat_map(|(path, word)| {
            let slug = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let slug: String = path.chars().map(slug).collect();
            [(path.to_owned(), word.clone()), (slug, word)]
        })
        .collect();
    words.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    words
}

/// Replaces a path where it is whole: what follows is not part of a longer name.
fn replace_path(text: &str, path: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, found) = rest.split_at(at);
        let after = found.get(path.len()..).unwrap_or_default();
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        out.push_str(before);
        out.push_str(if goes_on { path } else { name });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Words such as `defaced` and numbers stay.
fn hex_or_word(found: &Captures<'_>) -> String {
    let text = found.get(0).map_or("", |found| found.as_str());
    let has = |kind: fn(&u8) -> bool| text.as_bytes().iter().any(kind);
    match has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
        true => "<hex>".to_owned(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rules() -> Normalization {
        let folders = [
            ("/workspace".to_owned(), "workspace".to_owned()),
            ("/home/agent/".to_owned(), "home".to_owned()),
        ];
        Normalization::new("codex", &folders)
    }

    #[test]
    fn every_pattern_of_the_tables_is_built() {
        assert_eq!(COMMON.len(), EVERYWHERE.len());
        for rules in BY_AGENT {
            assert_eq!(replacements(rules.patterns).len(), rules.patterns.len());
        }
    }

    #[test]
    fn what_varies_is_replaced_and_the_rest_stays() {
        let mut shown = String::new();
        for text in [
            "Today's date: 2026-11-28",
            "Today's date is Saturday, November 28, 2026 (formatted according to the user's locale).",
            "Sat Nov 28 06:55:09 UTC 2026",
            "Date:   Sat Nov 28 06:55:09 2026 +0000",
            "-rw-r--r-- 1 agent agent 120 Nov 28 06:55 main.py",
            "2026-11-28T06:55:09.123456Z and 2026-11-28 06:55:09 +0000 and 11/28/2026",
            "since 1795848909 or 1795848909123",
            r"nested \nSat Nov 28 06:55:09 AM UTC 2026\n2026-11-28",
            "run_shell_command_1795852308480_0 msg_0b9d1f3e-1111-4222-8333-123456789abc",
            "0.00user 0:00.10elapsed 0%CPU (0avgtext+0avgdata 1620maxresident)k",
            "id 0b9d1f3e-1111-4222-8333-123456789abc",
            "toolu_01A09q90qw90lq917835lq9 call_abc123DEF chatcmpl-9xyz8K2m msg_01XFDUDYJgAACzvnptvVoYEL",
            "tool_call call_function user_name session_start run_tests2",
            "[main 1a2b3c4] fix; commit 1a2b3c4d5e6f7081920a1b2c3d4e5f6071829304",
            "defaced 1234567 effaced facade1",
            "[main (root-commit) 1234567] one; index 1234567..7654321 100644; HEAD is now at 7654321 two",
            "1234567 (HEAD -> main) one\n* 89abcde two\n1234567890123 three",
            "<Thing object at 0x7f3a1c2b9d40>, 0xff, color 0xFF0000",
            "2 hours ago, about a minute ago, 1 year, 2 months ago, 3 days later",
            "/tmp/tmpab12cd/x.py /tmp/pytest-of-agent/1 /var/tmp/q",
            "listening on http://127.0.0.1:43817/x and localhost:8080",
            "3 passed in 0.12s; took 3 ms; real 0m1.234s; 12 seconds",
            r#"{"exit_code":0,"duration_seconds":0.1} Wall time: 0.5 \"duration_ms\": 17"#,
            "[1] 4711, pid 4711, PID: 12",
            "/workspace/src/a.py /workspaces/x /x/workspace /home/agent/.config",
            "Chunk ID: f3a9c1\nOriginal token count: 123",
            "version 1.2.3, port 8080, 10 files, 5 items, May I?",
        ] {
            shown.push_str(&rules().text(text));
            shown.push('\n');
        }
        insta::assert_snapshot!(shown, @r#"
        Today's date: <date>
        Today's date is <date> (formatted according to the user's locale).
        <date>
        Date:   <date>
        -rw-r--r-- 1 agent agent 120 <date> main.py
        <date> and <date> and <date>
        since <time> or <time>
        nested 
        <date>
        <date>
        run_shell_command_<time>_0 msg_<uuid>
        <count>user <count>elapsed <count>%CPU (<count>avgtext+<count>avgdata <count>maxresident)k
        id <uuid>
        toolu_<id> call_<id> chatcmpl-<id> msg_<id>
        tool_call call_function user_name session_start run_tests2
        [main <hex>] fix; commit <hex>
        defaced 1234567 effaced <hex>
        [main (root-commit) <hex>] one; index <hex>..<hex> 100644; HEAD is now at <hex> two
        <hex> (HEAD -> main) one
        * <hex> two
        1234567890123 three
        <Thing object at 0x<hex>>, 0xff, color 0xFF0000
        <time> ago, <time> ago, <time> ago, 3 days later
        /tmp/<temp>/x.py /tmp/<temp>/1 /var/tmp/<temp>
        listening on http://127.0.0.1:<port>/x and localhost:<port>
        3 passed in <duration>; took <duration>; real <duration>; <duration>
        {"exit_code":0,"duration_seconds": <duration>} Wall time: <duration> \"duration_ms\": <duration>
        [1] 4711, pid <pid>, PID: <pid>
        <workspace>/src/a.py /workspaces/x /x<workspace> <home>/.config
        Chunk ID: <id>
        Original token count: <count>
        version 1.2.3, port 8080, 10 files, 5 items, May I?
        "#);
    }

    #[test]
    fn fields_that_vary_are_not_compared() {
        let rules = rules();
        assert_eq!(rules.field("prompt_cache_key", &json!("x")), None);
        let metadata = Normalization::new("claude-code", &[])
            .field("metadata", &json!({"user_id": "u", "a": 1}));
        assert_eq!(metadata, Some(json!({"a": 1})));
        let mark = json!({"type": "ephemeral"});
        let call = json!({"type": "tool_use", "input": {"cache_control": mark}});
        let item = json!({"content": [{"text": "x", "cache_control": mark}, call]});
        assert_eq!(
            rules.item("messages", &item),
            json!({"content": [{"text": "x"}, call]})
        );
        let tool =
            json!({"name": "t", "cache_control": mark, "input_schema": {"cache_control": 1}});
        assert_eq!(
            rules.item("tools", &tool),
            json!({"name": "t", "input_schema": {"cache_control": 1}})
        );
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing_more(text in
            "(2026-11-28|T06:55:09Z| |, |Nov |November 28|28 |06:55|:09|toolu_01Ab9C|call_|[0-9a-f]{1,9}|-|/tmp/|/workspace|/home/agent|127\\.0\\.0\\.1:|[0-9]{1,5}|s|ms| seconds|m|duration_ms|\"|: |=|pid |\\.|<date>|<hex>|é|Sat ){0,14}"
        ) {
            let rules = rules();
            let once = rules.text(&text);
            prop_assert_eq!(rules.text(&once), once);
        }
    }
}
