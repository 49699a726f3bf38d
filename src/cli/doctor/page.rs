//! The findings as one page for people.

use std::io::{self, Write};

use super::findings::{Check, Findings, Group, State};
use crate::report::TerminalOptions;
use crate::report::terminal::page::{Page, Span, Tone, pad_right, plain, span};
use eval_base::text::{plural, width};

/// Lines that a text may take.
const MOST_LINES: usize = 12;

pub fn write(
    findings: &Findings,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, options);
    let kernel = match findings.kernel.as_str() {
        "" => String::new(),
        kernel => format!(", kernel {kernel}"),
    };
    page.line(&[
        span(Tone::Bold, format!("eval-harness {}", findings.version)),
        span(
            Tone::Dim,
            format!(
                "  {}{kernel}, {}",
                findings.system,
                plural(findings.cpus, "processor")
            ),
        ),
    ])?;
    let column = findings
        .checks
        .iter()
        .map(|check| width(&check.name))
        .max()
        .unwrap_or(0)
        .min(20)
        + 2;
    for group in Group::ALL {
        let mut checks = findings
            .checks
            .iter()
            .filter(|check| check.group == group)
            .peekable();
        if checks.peek().is_none() {
            continue;
        }
        page.blank()?;
        page.line(&[span(Tone::Bold, group.title())])?;
        for check in checks {
            write_check(&mut page, check, column)?;
        }
    }
    page.blank()?;
    verdict(&mut page, findings)
}

fn write_check(page: &mut Page, check: &Check, column: usize) -> io::Result<()> {
    let (mark, tone) = match check.state {
        State::Ok => (page.pick("✓", "+"), Tone::Good),
        State::Limited => ("!", Tone::Warn),
        State::Missing => (page.pick("✗", "x"), Tone::Bad),
        State::Unused => (page.pick("–", "-"), Tone::Dim),
    };
    let text_tone = if check.state == State::Unused {
        Tone::Dim
    } else {
        Tone::Plain
    };
    let first = [
        plain("  "),
        span(tone, mark),
        plain(" "),
        plain(pad_right(&check.name, column)),
    ];
    page.wrapped(&first, text_tone, &check.value, MOST_LINES)?;
    let margin = " ".repeat(4 + column);
    if let Some(path) = &check.path {
        page.wrapped(&[plain(margin.as_str())], Tone::Dim, path, MOST_LINES)?;
    }
    if let Some(real) = &check.real_path {
        let arrow = page.pick("→ ", "-> ");
        page.wrapped(
            &[plain(margin.as_str()), span(Tone::Dim, arrow)],
            Tone::Dim,
            real,
            MOST_LINES,
        )?;
    }
    if let Some(fix) = &check.fix {
        let label: [Span; 2] = [plain(margin.as_str()), span(Tone::Wait, "fix: ")];
        page.wrapped(&label, Tone::Plain, fix, MOST_LINES)?;
    }
    Ok(())
}

fn verdict(page: &mut Page, findings: &Findings) -> io::Result<()> {
    match &findings.tier {
        Some(tier) => {
            let text = format!("Model-written code is isolated ({tier}).");
            page.wrapped(&[], Tone::Good, &text, MOST_LINES)
        }
        None => page.wrapped(
            &[],
            Tone::Bad,
            "Model-written code can't be isolated here and will not be run, unless --allow-unsandboxed accepts that it \
             runs with your rights.",
            MOST_LINES,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Findings {
        let check = Check::new;
        let mut python = check(
            Group::Languages,
            "python",
            State::Ok,
            "3.11.7, warm: a fork for each program",
        );
        python.path = Some("/home/u/.pyenv/shims/python3".into());
        python.real_path = Some("/home/u/.pyenv/versions/3.11.7/bin/python3.11".into());
        python.version = Some("3.11.7".into());
        Findings {
            version: "0.1.0".into(),
            system: "linux x86_64".into(),
            kernel: "6.8.0-31-generic".into(),
            cpus: 8,
            tier: Some("rootns".into()),
            notes: Vec::new(),
            checks: vec![
                check(Group::Isolation, "userns", State::Missing, "uid_map: writing it was refused").fix(
                    "AppArmor restricts user namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` \
                     for every program, or a profile for this one",
                ),
                check(Group::Isolation, "rootns", State::Ok, "chosen: as userns, by the rights of root"),
                check(Group::Isolation, "landlock abi", State::Unused, "the kernel has no Landlock"),
                check(
                    Group::Isolation,
                    "cgroup",
                    State::Limited,
                    "memory is watched every 25 ms, not bounded: other processes share our control group /sys/fs/cgroup/x",
                )
                .fix("`systemd-run --user --scope -p Delegate=yes eval-harness ...` gives the harness a group of its own"),
                check(Group::Limits, "user namespaces", State::Ok, "at most 96365"),
                python,
                check(Group::Tools, "git", State::Ok, "2.39.5"),
            ],
        }
    }

    fn shown(findings: &Findings, options: TerminalOptions) -> String {
        let mut bytes = Vec::new();
        write(findings, &options, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn one_page_at_80_columns() {
        insta::assert_snapshot!(shown(&findings(), TerminalOptions::default()), @r"
        eval-harness 0.1.0  linux x86_64, kernel 6.8.0-31-generic, 8 processors

        Isolation
          ✗ userns           uid_map: writing it was refused
                             fix: AppArmor restricts user namespaces: `sudo sysctl
                                  kernel.apparmor_restrict_unprivileged_userns=0` for
                                  every program, or a profile for this one
          ✓ rootns           chosen: as userns, by the rights of root
          – landlock abi     the kernel has no Landlock
          ! cgroup           memory is watched every 25 ms, not bounded: other processes
                             share our control group /sys/fs/cgroup/x
                             fix: `systemd-run --user --scope -p Delegate=yes
                                  eval-harness ...` gives the harness a group of its own

        Limits
          ✓ user namespaces  at most 96365

        Languages
          ✓ python           3.11.7, warm: a fork for each program
                             /home/u/.pyenv/shims/python3
                             → /home/u/.pyenv/versions/3.11.7/bin/python3.11

        Tools
          ✓ git              2.39.5

        Model-written code is isolated (rootns).
        ");
    }

    #[test]
    fn without_isolation_the_last_word_says_so() {
        let none = Findings {
            tier: None,
            checks: Vec::new(),
            ..findings()
        };
        let ascii = TerminalOptions {
            unicode: false,
            ..TerminalOptions::default()
        };
        insta::assert_snapshot!(shown(&none, ascii), @r"
        eval-harness 0.1.0  linux x86_64, kernel 6.8.0-31-generic, 8 processors

        Model-written code can't be isolated here and will not be run, unless
        --allow-unsandboxed accepts that it runs with your rights.
        ");
    }

    #[test]
    fn colours_only_when_asked() {
        let plain = shown(&findings(), TerminalOptions::default());
        assert!(!plain.contains('\x1b'));
        let colored = shown(
            &findings(),
            TerminalOptions {
                color: true,
                ..TerminalOptions::default()
            },
        );
        assert!(
            colored.contains("\x1b[32m✓\x1b[0m") && colored.contains("\x1b[31m✗\x1b[0m"),
            "{colored}"
        );
    }

    #[test]
    fn machines_read_the_same() {
        let json = findings().as_json();
        assert_eq!(json["sandbox"]["tier"], "rootns");
        assert_eq!(json["isolation"]["userns"]["state"], "missing");
        assert!(
            json["isolation"]["cgroup"]["fix"]
                .as_str()
                .unwrap()
                .contains("systemd-run")
        );
        assert_eq!(json["languages"]["python"]["version"], "3.11.7");
        assert_eq!(json["tools"]["git"]["value"], "2.39.5");
        assert!(json["limits"]["user namespaces"].get("group").is_none());
    }
}
