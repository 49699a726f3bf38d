//! The commands in a shell text, for rules about what an agent ran.
//!
//! The text is read, not run: quotes and escapes are removed, substitutions, wrappers such as `sudo`
//! and shells such as `bash -c` are entered. What only running shows (variables, globs, decoded
//! texts, scripts in files) is not found. Where it is not clear whether a word is a command, it
//! counts as one.

mod words;

use words::{SimpleCommand, split};

/// Levels of shells within shells.
const MAX_DEPTH: usize = 12;

/// Commands and bytes of one reading.
const MAX_COMMANDS: usize = 20_000;
const MAX_BYTES: usize = 8 << 20;

/// Programs whose arguments hold a command: every word after them may begin it.
const WRAPPERS: &[&str] = &[
    "ash",
    "bash",
    "builtin",
    "bunx",
    "busybox",
    "chpst",
    "chroot",
    "chrt",
    "command",
    "conda",
    "coproc",
    "csh",
    "dash",
    "doas",
    "docker",
    "env",
    "eval",
    "exec",
    "fakeroot",
    "find",
    "firejail",
    "fish",
    "flock",
    "gosu",
    "ionice",
    "ksh",
    "mamba",
    "micromamba",
    "mksh",
    "nice",
    "nix-shell",
    "nohup",
    "npx",
    "nsenter",
    "parallel",
    "pdm",
    "pipenv",
    "pipx",
    "pkexec",
    "podman",
    "poetry",
    "proot",
    "prlimit",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "sh",
    "source",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tcsh",
    "time",
    "timeout",
    "toybox",
    "trap",
    "unbuffer",
    "unshare",
    "uv",
    "uvx",
    "watch",
    "xargs",
    "zsh",
];

/// Of them, those that read their arguments or their input as shell text.
const SHELLS: &[&str] = &[
    ".",
    "ash",
    "bash",
    "csh",
    "dash",
    "eval",
    "fish",
    "flock",
    "ksh",
    "mksh",
    "nix-shell",
    "parallel",
    "runuser",
    "script",
    "sg",
    "sh",
    "source",
    "ssh",
    "su",
    "tcsh",
    "trap",
    "watch",
    "zsh",
];

/// Words of the shell's grammar before a command.
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "then", "else", "elif", "if", "do", "while", "until", "function", "[[",
];

/// What was found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellReading {
    /// Commands with their arguments, joined by single spaces: without quotes, and the program
    /// without its path.
    pub commands: Vec<String>,
    /// True if the text is too long or too deep to be read in full.
    pub truncated: bool,
    bytes: usize,
}

impl ShellReading {
    /// Of a text that a shell runs.
    pub fn of_text(text: &str) -> ShellReading {
        let mut reading = ShellReading::default();
        reading.read(text, 0);
        reading
    }

    /// Of a program with its arguments.
    pub fn of_arguments(words: &[String]) -> ShellReading {
        let mut reading = ShellReading::default();
        reading.command(words, 0);
        reading
    }

    fn read(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH || self.bytes > MAX_BYTES || self.commands.len() > MAX_COMMANDS {
            self.truncated = true;
            return;
        }
        self.bytes += text.len();
        let split = split(text);
        self.truncated |= split.truncated;
        let mut feeds_shell = false;
        for command in &split.commands {
            self.bytes += command.words.iter().map(String::len).sum::<usize>();
            let runs_shell = self.command(&command.words, depth);
            feeds_shell |= runs_shell;
            if runs_shell && command.is_piped {
                self.input_of_shell(&split.commands, command, depth);
            }
        }
        for inner in &split.substitutions {
            self.read(inner, depth + 1);
        }
        if feeds_shell {
            for document in &split.documents {
                self.read(document, depth + 1);
            }
            let first = split.printing.unwrap_or(split.commands.len());
            for printing in split.commands.iter().skip(first) {
                self.texts(printing.words.get(1..).unwrap_or_default(), depth);
            }
        }
    }

    /// What the commands before it in a pipe print may be their arguments.
    fn input_of_shell(&mut self, all: &[SimpleCommand], shell: &SimpleCommand, depth: usize) {
        let before = all
            .iter()
            .take_while(|other| !std::ptr::eq(*other, shell))
            .filter(|other| other.pipeline == shell.pipeline);
        for other in before {
            let arguments = other.words.get(1..).unwrap_or_default();
            self.texts(arguments, depth);
        }
    }

    /// Words that are shell text, each alone and all together.
    fn texts(&mut self, words: &[String], depth: usize) {
        for word in words {
            self.read(word, depth + 1);
        }
        if words.len() > 1 {
            self.read(&words.join(" "), depth + 1);
        }
    }

    /// True if the command starts a shell.
    fn command(&mut self, words: &[String], depth: usize) -> bool {
        let mut words = words;
        let mut runs_shell = false;
        let mut within_wrapper = false;
        let mut sources = false;
        while let Some((first, rest)) = words.split_first() {
            if is_assignment(first) || KEYWORDS.contains(&first.as_str()) {
                words = rest;
                continue;
            }
            if self.bytes > MAX_BYTES || self.commands.len() > MAX_COMMANDS {
                self.truncated = true;
                return runs_shell;
            }
            let name = program_name(first);
            self.add(name, rest);
            // `.` is a folder where it is an argument.
            let may_source = !within_wrapper || sources;
            let is_shell = SHELLS.contains(&name) && (name != "." || (first == "." && may_source));
            sources = matches!(name, "builtin" | "command");
            if is_shell {
                runs_shell = true;
                self.texts(rest, depth);
            }
            match name {
                "env" => self.split_by_env(rest, depth),
                "git" => self.aliases_of_git(rest, depth),
                _ => {}
            }
            within_wrapper |= is_shell || WRAPPERS.contains(&name);
            if !within_wrapper {
                break;
            }
            words = rest;
        }
        runs_shell
    }

    /// `env -S TEXT` splits a text into the words of a command.
    fn split_by_env(&mut self, words: &[String], depth: usize) {
        for (at, word) in words.iter().enumerate() {
            let attached = match word.strip_prefix("--split-string") {
                Some(attached) => Some(attached.trim_start_matches('=')),
                None if word.starts_with("--") || !word.starts_with('-') => None,
                None => word.split_once('S').map(|(_, attached)| attached),
            };
            if let Some(attached) = attached {
                let rest = words.get(at + 1..).unwrap_or_default().join(" ");
                self.read(&format!("{attached} {rest}"), depth + 1);
            }
        }
    }

    /// `git -c alias.NAME='!TEXT' NAME ARGUMENTS` and `git config alias.NAME '!TEXT'` run a text.
    fn aliases_of_git(&mut self, words: &[String], depth: usize) {
        for (at, word) in words.iter().enumerate() {
            let text = word
                .strip_prefix('!')
                .or_else(|| word.split_once("=!").map(|(_, text)| text));
            if let Some(text) = text {
                let arguments = words.get(at + 2..).unwrap_or_default().join(" ");
                self.read(text, depth + 1);
                self.read(&format!("{text} {arguments}"), depth + 1);
            }
        }
    }

    fn add(&mut self, name: &str, rest: &[String]) {
        let mut line = name.to_owned();
        for word in rest {
            line.push(' ');
            line.push_str(word);
        }
        self.bytes += line.len();
        self.commands.push(line);
    }
}

/// The text that a shell runs in the end, where a command is nothing but shells around it:
/// `bash -lc TEXT`.
pub fn innermost_text(command: &str) -> String {
    let mut text = command.trim().to_owned();
    for _ in 0..MAX_DEPTH {
        let split = split(&text);
        let inner = match split.commands.as_slice() {
            [one] if split.documents.is_empty() => script_of(&one.words),
            _ => None,
        };
        match inner {
            Some(inner) => text = inner.trim().to_owned(),
            None => break,
        }
    }
    text
}

/// The text in `bash -lc TEXT`.
pub fn script_of(words: &[String]) -> Option<&str> {
    match words {
        [shell, option, text]
            if SHELLS.contains(&program_name(shell))
                && option.starts_with('-')
                && option.ends_with('c') =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// The last part of a path; on Windows, too.
fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    if name.is_empty() { word } else { name }
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        ShellReading::of_text(text).commands
    }

    /// Whether some command of the text is exactly this one.
    fn runs(text: &str, command: &str) -> bool {
        lines(text).iter().any(|line| line == command)
    }

    #[test]
    fn hidden_commands_are_found() {
        for text in [
            "rm -rf x",
            "  /bin/rm   -rf\tx",
            r"r\m -rf x",
            r"\rm -rf x",
            "'r'm -r\"f\" x",
            "$'\\x72m' -rf x",
            "cd y && rm -rf x",
            "cd y;rm -rf x",
            "false || rm -rf x &",
            "ls | rm -rf x",
            "(cd y; rm -rf x)",
            "{ rm -rf x; }",
            "if true; then rm -rf x; fi",
            "for f in a; do rm -rf x; done",
            "case a in a) rm -rf x;; esac",
            "f() { rm -rf x; }; f",
            "echo $(rm -rf x)",
            "echo \"a $(rm -rf x) b\"",
            "echo `rm -rf x`",
            "echo \"${y:-$(rm -rf x)}\"",
            "diff <(rm -rf x) y",
            "A=1 B='2 3' rm -rf x",
            "sudo -u root rm -rf x",
            "env -i A=1 rm -rf x",
            "xargs -n 1 rm -rf x",
            "find . -name y -exec rm -rf x",
            "timeout -k 5 10 nice -n 3 rm -rf x",
            "bash -lc 'rm -rf x'",
            "bash -lc \"cd y && rm -rf x\"",
            "sudo /usr/bin/env bash -c \"sh -c 'rm -rf x'\"",
            "eval rm -rf x",
            "eval 'rm -rf x'",
            "echo 'rm -rf x' | sh",
            "echo rm -rf x | sudo bash -s",
            "bash <<EOF\nrm -rf x\nEOF",
            "bash <<-'EOF'\n\trm -rf x\n\tEOF\n",
            "bash <<< 'rm -rf x'",
            "rm \\\n  -rf x",
            "{rm,-rf,x}",
            "r{m..m} -rf x",
            "2>/dev/null rm -rf x",
            "{fd}>o rm -rf x",
            "{fd}<&1 rm -rf x",
            "rm -rf x >log 2>&1",
            "! rm -rf x",
            "ls # nothing\nrm -rf x",
            "ssh host 'rm -rf x'",
            "cat <<EOF\n\\\"'$(rm -rf x)'\nEOF",
            "((y=1<<2))\nrm -rf x",
            "((y=1<<2))\nrm -rf x\n2",
            "let y=1<<2\nrm -rf x",
            "cat <<EOF\nrm -rf x",
            "echo hi 2>&-&& rm -rf x",
            "ls <&-|rm -rf x",
            "ls >&-; rm -rf x",
            "ls 2>|y|rm -rf x",
            "source <(echo 'rm -rf x')",
            ". /dev/stdin <<< 'rm -rf x'",
            "bash <(echo rm -rf x)",
            "poetry run rm -rf x",
            "pipenv run rm -rf x",
            "conda run -n y rm -rf x",
            "uvx rm -rf x",
            "env -S 'rm -rf x'",
            "env -iS 'rm -rf x'",
            "env -S'rm -rf' x",
            "env --split-string='rm -rf x'",
            "git -c alias.z='!rm -rf x' z",
            "git -c alias.z='!rm' z -rf x",
            "git config --global alias.z '!rm -rf x'",
        ] {
            assert!(runs(text, "rm -rf x"), "{text}: {:?}", lines(text));
        }
    }

    #[test]
    fn words_that_are_not_commands_are_not_found() {
        for text in [
            "echo rm -rf x",
            "echo 'rm -rf x'",
            "git rm -rf x",
            "cat <<EOF > f\nrm -rf x\nEOF",
            "grep -n 'rm -rf x' f",
            "ls # rm -rf x",
            "rm -rf xy",
            "echo a > 'rm -rf x'",
            "echo 'rm -rf x' | docker build .",
        ] {
            assert!(!runs(text, "rm -rf x"), "{text}: {:?}", lines(text));
        }
    }

    #[test]
    fn braces_outside_of_quotes_are_several_words() {
        for (text, command) in [
            ("r{m,} -rf x", "rm r -rf x"),
            ("a{b,c{d,e}}f", "abf acdf acef"),
            ("echo {a..c} {c..a..1}", "echo a b c c b a"),
            (
                "echo '{a,b}' {'a',b} \\{a,b} ${a,b} {a} {1..2}",
                "echo {a,b} a b {a,b} ${a,b} {a} {1..2}",
            ),
        ] {
            assert_eq!(lines(text), [command], "{text}");
        }
        assert!(ShellReading::of_text(&"{a,b}".repeat(12)).truncated);
    }

    #[test]
    fn arguments_are_words_already() {
        let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let found = |all: &[&str]| ShellReading::of_arguments(&words(all)).commands;
        assert_eq!(found(&["/bin/rm", "a b"]), ["rm a b"]);
        assert!(found(&["bash", "-lc", "rm -rf x"]).contains(&"rm -rf x".to_owned()));
        assert_eq!(found(&["echo", "; rm -rf x"]), ["echo ; rm -rf x"]);
    }

    #[test]
    fn innermost_text_is_what_the_last_shell_runs() {
        for (command, text) in [
            ("ls", "ls"),
            ("bash -lc 'a b; c'", "a b; c"),
            (r#"/bin/sh -lc "echo 'x' > \$HOME/f""#, "echo 'x' > $HOME/f"),
            ("sh -c \"bash -lc 'a b'\" ", "a b"),
            ("bash -lc a && b", "bash -lc a && b"),
            ("bash -lc a b", "bash -lc a b"),
        ] {
            assert_eq!(innermost_text(command), text, "{command}");
        }
    }

    #[test]
    fn texts_without_end_are_reported_as_truncated() {
        let deep = format!("{}rm{}", "$(".repeat(40), ")".repeat(40));
        assert!(ShellReading::of_text(&deep).truncated);
        assert!(ShellReading::of_text(&"a;".repeat(30_000)).truncated);
        assert!(ShellReading::of_text(&format!("sudo {}", "aaaaaaa ".repeat(9_000))).truncated);
        assert!(!ShellReading::of_text("a; b").truncated);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-z$(){}`'\"\\\\<>|&;# \n]{0,60}") {
            let _ = ShellReading::of_text(&text);
        }

        /// However the words are quoted, the command is the same.
        #[test]
        fn quotes_do_not_hide_words(
            words in prop::collection::vec("[a-z]{1,5}", 1..4),
            styles in prop::collection::vec(0..4usize, 4),
        ) {
            prop_assume!(!KEYWORDS.contains(&words[0].as_str()) && !WRAPPERS.contains(&words[0].as_str()));
            let quoted = words.iter().zip(&styles).map(|(word, style)| match style {
                0 => word.clone(),
                1 => format!("'{word}'"),
                2 => format!("\"{word}\""),
                _ => word.chars().map(|c| format!("\\{c}")).collect(),
            });
            let text = quoted.collect::<Vec<_>>().join(" ");
            prop_assert_eq!(lines(&text), vec![words.join(" ")]);
        }
    }
}
