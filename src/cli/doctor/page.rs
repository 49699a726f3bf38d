//! The findings as one page for people.

use std::io::{self, Write};

use super::findings::{CheckGroup, CheckState, DoctorCheck, DoctorFindings};
use crate::model::Outcome;
use crate::report::TerminalOptions;
use crate::report::page::{
    self, Page, PageBlock, StyledText, Symbol, TextTone, dim, mark, outside, own, span, text,
};
use eval_base::text::plural;

pub fn write(
    findings: &DoctorFindings,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    // What is to be done must be readable to its end.
    let options = TerminalOptions {
        verbose: true,
        ..*options
    };
    page::terminal::write(&page(findings), &options, out)
}

fn page(findings: &DoctorFindings) -> Page {
    let mut page = Page::default();
    let kernel = match findings.kernel.as_str() {
        "" => String::new(),
        kernel => format!(", kernel {kernel}"),
    };
    let processors = plural(findings.cpus, "processor");
    let machine = format!("  {}{kernel}, {processors}", findings.system);
    page.title(text![
        own(format!("eval-harness {}", findings.version)),
        dim(own(machine))
    ]);
    for group in CheckGroup::ALL {
        let checks = findings.checks.iter().filter(|check| check.group == group);
        let facts: Vec<(StyledText, StyledText)> = checks.flat_map(lines).collect();
        if !facts.is_empty() {
            page.section(group.title());
            page.facts(facts);
        }
    }
    page.push(PageBlock::Gap);
    match &findings.tier {
        Some(tier) => {
            let text = format!("Model-written code is isolated ({tier}).");
            page.lead(span(TextTone::Good, text));
        }
        None => page.lead(span(
            TextTone::Bad,
            "Model-written code can't be isolated here and will not run, unless --allow-unsandboxed lets it run \
                 with your permissions.",
        )),
    }
    page
}

/// What was found, where it is, and what to do about it.
fn lines(check: &DoctorCheck) -> Vec<(StyledText, StyledText)> {
    let (outcome, tone) = match check.state {
        CheckState::Ok => (Outcome::Passed, TextTone::Plain),
        CheckState::Limited => (Outcome::Errored, TextTone::Plain),
        CheckState::Missing => (Outcome::Failed, TextTone::Plain),
        CheckState::Unused => (Outcome::Skipped, TextTone::Dim),
    };
    let label = text![mark(outcome), " ", span(TextTone::Plain, &*check.name)];
    let mut lines = vec![(label, outside(&check.value).toned(tone))];
    let path = check.path.as_ref().map(|path| dim(outside(path)));
    let real = check.real_path.as_ref();
    let real = real.map(|real| dim(text![FOLLOWED, outside(real)]));
    let fix = check.fix.as_ref();
    let fix = fix.map(|fix| text![span(TextTone::Wait, "fix: "), outside(fix)]);
    let more = [path, real, fix].into_iter().flatten();
    lines.extend(more.map(|text| (StyledText::default(), text)));
    lines
}

/// Before the file that a link leads to.
const FOLLOWED: Symbol = Symbol {
    unicode: "→ ",
    ascii: "-> ",
    emoji: "→ ",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> DoctorFindings {
        let check = DoctorCheck::new;
        let mut python = check(
            CheckGroup::Languages,
            "python",
            CheckState::Ok,
            "3.11.7, warm (each program runs in a fork)",
        );
        python.path = Some("/home/u/.pyenv/shims/python3".into());
        python.real_path = Some("/home/u/.pyenv/versions/3.11.7/bin/python3.11".into());
        python.version = Some("3.11.7".into());
        DoctorFindings {
            version: "0.1.0".into(),
            system: "linux x86_64".into(),
            kernel: "6.8.0-31-generic".into(),
            cpus: 8,
            tier: Some("rootns".into()),
            notes: Vec::new(),
            checks: vec![
                check(CheckGroup::Isolation, "userns", CheckState::Missing, "uid_map: the kernel refused the write").fix(
                    "AppArmor restricts user namespaces: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` \
                     for every program, or a profile for this one",
                ),
                check(CheckGroup::Isolation, "rootns", CheckState::Ok, "chosen: like userns, with root privileges"),
                check(CheckGroup::Isolation, "landlock abi", CheckState::Unused, "the kernel has no Landlock"),
                check(
                    CheckGroup::Isolation,
                    "cgroup",
                    CheckState::Limited,
                    "memory is checked every 25 ms, but not limited: other processes share the control group /sys/fs/cgroup/x with eval-harness",
                )
                .fix("`systemd-run --user --scope -p Delegate=yes eval-harness ...` gives eval-harness a separate group"),
                check(CheckGroup::Limits, "user namespaces", CheckState::Ok, "at most 96365"),
                python,
                check(CheckGroup::Tools, "git", CheckState::Ok, "2.39.5"),
            ],
        }
    }

    fn shown(findings: &DoctorFindings, options: TerminalOptions) -> String {
        let mut bytes = Vec::new();
        write(findings, &options, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn one_page_at_80_columns() {
        insta::assert_snapshot!(shown(&findings(), TerminalOptions::default()), @"
        eval-harness 0.1.0  linux x86_64, kernel 6.8.0-31-generic, 8 processors

        Isolation
          ✗ userns        uid_map: the kernel refused the write
                          fix: AppArmor restricts user namespaces: `sudo sysctl
                          kernel.apparmor_restrict_unprivileged_userns=0` for every
                          program, or a profile for this one
          ✓ rootns        chosen: like userns, with root privileges
          – landlock abi  the kernel has no Landlock
          ! cgroup        memory is checked every 25 ms, but not limited: other
                          processes share the control group /sys/fs/cgroup/x with
                          eval-harness
                          fix: `systemd-run --user --scope -p Delegate=yes eval-harness
                          ...` gives eval-harness a separate group

        Limits
          ✓ user namespaces  at most 96365

        Languages
          ✓ python  3.11.7, warm (each program runs in a fork)
                    /home/u/.pyenv/shims/python3
                    → /home/u/.pyenv/versions/3.11.7/bin/python3.11

        Tools
          ✓ git  2.39.5

        Model-written code is isolated (rootns).
        ");
    }

    #[test]
    fn without_isolation_the_last_word_says_so() {
        let none = DoctorFindings {
            tier: None,
            checks: Vec::new(),
            ..findings()
        };
        let ascii = TerminalOptions {
            unicode: false,
            ..TerminalOptions::default()
        };
        insta::assert_snapshot!(shown(&none, ascii), @"
        eval-harness 0.1.0  linux x86_64, kernel 6.8.0-31-generic, 8 processors

        Model-written code can't be isolated here and will not run, unless
          --allow-unsandboxed lets it run with your permissions.
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
