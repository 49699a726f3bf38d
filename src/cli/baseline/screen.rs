//! The screen of `baseline review`: what it shows, as a function of what it is told, and the
//! terminal that it is shown on.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use console::{Key, Term};

use super::shown::{Line, Tone, painted};
use crate::gate::ExitCode;
use eval_base::text::{one_line, prefix_of_width, truncate_width_with, width};

/// Lines of the screen that are not the diff.
const FRAME: usize = 6;

/// One pending baseline as the screen shows it.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub id: String,
    /// Empty when nobody knows it.
    pub name: String,
    /// What is to be known of it, such as criticality, target and time of capture.
    pub facts: Vec<String>,
    pub lines: Vec<Line>,
}

/// What one picture is of.
pub(super) struct View<'a> {
    pub item: &'a Item,
    /// From 1.
    pub n: usize,
    pub of: usize,
    /// Lines of the diff above the first that is shown.
    pub scroll: usize,
    /// Why the last key did nothing.
    pub message: &'a str,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub rows: usize,
    pub columns: usize,
    pub color: bool,
    pub unicode: bool,
}

impl Look {
    /// Lines of a diff that are seen at once.
    pub fn page(self) -> usize {
        self.rows.saturating_sub(FRAME).max(1)
    }
}

/// The lines of a diff as they fit into the columns, none cut.
pub(super) fn wrapped(lines: &[Line], columns: usize) -> Vec<Line> {
    let mut all = Vec::with_capacity(lines.len());
    for line in lines {
        if width(&line.text) <= columns {
            all.push(line.clone());
            continue;
        }
        let indent = if line.tone == Tone::Plain { "" } else { "  " };
        let (mut rest, mut from, mut lead) = (line.text.as_str(), 0, "");
        while !rest.is_empty() {
            let room = columns.saturating_sub(lead.len()).max(2);
            let mut piece = prefix_of_width(rest, room);
            if piece.is_empty() {
                // A character that is wider than the screen.
                piece = rest.chars().next().map_or(rest, |c| &rest[..c.len_utf8()]);
            }
            let within = |mark: &std::ops::Range<usize>| {
                let (start, end) = (mark.start.max(from), mark.end.min(from + piece.len()));
                (start < end).then(|| start - from + lead.len()..end - from + lead.len())
            };
            let marks = line.marks.iter().filter_map(within).collect();
            all.push(Line {
                tone: line.tone,
                text: format!("{lead}{piece}"),
                marks,
            });
            from += piece.len();
            rest = &rest[piece.len()..];
            lead = indent;
        }
    }
    all
}

/// The furthest that a diff of so many lines can be scrolled.
pub(super) fn furthest(lines: usize, look: Look) -> usize {
    lines.saturating_sub(look.page())
}

/// The whole screen, at most `look.rows` lines. `lines` are the item's, wrapped.
pub(super) fn frame(view: &View, lines: &[Line], look: Look) -> Vec<String> {
    let mark = if look.unicode { "…" } else { "..." };
    let fit = |text: &str| truncate_width_with(text, look.columns, mark).into_owned();
    let bold = |text: String| {
        if look.color {
            format!("\x1b[1m{text}\x1b[0m")
        } else {
            text
        }
    };
    let dim = |text: String| {
        if look.color {
            format!("\x1b[2m{text}\x1b[0m")
        } else {
            text
        }
    };
    let rule = dim(if look.unicode { "─" } else { "-" }.repeat(look.columns));
    let place = format!("{} of {}", view.n, view.of);
    let room = look.columns.saturating_sub(width(&place) + 2);
    let title = [one_line(&view.item.id), one_line(&view.item.name)];
    let title = title
        .iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join("  ");
    let title = truncate_width_with(&title, room, mark);
    let gap = " ".repeat(look.columns.saturating_sub(width(&title) + width(&place)));
    let dot = if look.unicode { " · " } else { ", " };
    let mut screen = vec![
        bold(format!("{title}{gap}{place}")),
        fit(&view.item.facts.join(dot)),
        rule.clone(),
    ];
    let scroll = view.scroll.min(furthest(lines.len(), look));
    let page = look.page();
    screen.extend(
        lines
            .iter()
            .skip(scroll)
            .take(page)
            .map(|line| painted(line, look.color)),
    );
    while screen.len() < 3 + page {
        screen.push(String::new());
    }
    screen.push(rule);
    let seen = if lines.len() > page {
        format!(
            "lines {} to {} of {}",
            scroll + 1,
            (scroll + page).min(lines.len()),
            lines.len()
        )
    } else {
        String::new()
    };
    let note = if view.message.is_empty() {
        seen.clone()
    } else {
        one_line(view.message)
    };
    screen.push(fit(&note));
    let keys = if seen.is_empty() {
        "a accept  r reject  s skip  b back  q quit"
    } else {
        "a accept  r reject  s skip  b back  q quit  arrows, space: scroll"
    };
    screen.push(bold(fit(keys)));
    screen
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Accept,
    Reject,
    Skip,
    Back,
    Quit,
    /// Ctrl-C: quit, and say so by the exit code.
    Interrupt,
    Scroll(isize),
    Top,
    Bottom,
    Nothing,
}

pub(super) fn act(key: &Key, page: usize) -> Act {
    let page = isize::try_from(page).unwrap_or(isize::MAX);
    match key {
        Key::Char('a' | 'A') => Act::Accept,
        Key::Char('r' | 'R') => Act::Reject,
        Key::Char('s' | 'S') => Act::Skip,
        Key::Char('b' | 'B') | Key::ArrowLeft => Act::Back,
        Key::Char('q' | 'Q') | Key::Escape => Act::Quit,
        Key::CtrlC | Key::Char('\u{3}' | '\u{4}') => Act::Interrupt,
        Key::ArrowUp | Key::Char('k') => Act::Scroll(-1),
        Key::ArrowDown | Key::Char('j') => Act::Scroll(1),
        Key::PageUp => Act::Scroll(-page),
        Key::PageDown | Key::Char(' ') => Act::Scroll(page),
        Key::Home => Act::Top,
        Key::End => Act::Bottom,
        _ => Act::Nothing,
    }
}

/// The terminal while the screen is on it; what was there before comes back when this is dropped.
pub(super) struct Screen {
    term: Term,
}

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

impl Screen {
    pub fn open() -> io::Result<Screen> {
        leave_on_signals();
        let mut term = Term::stdout();
        term.write_all(ENTER.as_bytes())?;
        term.flush()?;
        Ok(Screen { term })
    }

    pub fn look(&self, color: bool, unicode: bool) -> Look {
        let (rows, columns) = self.term.size_checked().unwrap_or((24, 80));
        Look {
            rows: usize::from(rows).max(FRAME + 1),
            columns: usize::from(columns).max(20),
            color,
            unicode,
        }
    }

    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut picture = String::from("\x1b[H");
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                picture.push_str("\r\n");
            }
            picture.push_str(line);
            picture.push_str("\x1b[K");
        }
        picture.push_str("\x1b[J");
        self.term.write_all(picture.as_bytes())?;
        self.term.flush()
    }

    pub fn key(&self) -> io::Result<Key> {
        self.term.read_key_raw()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.term.write_all(LEAVE.as_bytes());
        let _ = self.term.flush();
    }
}

/// A signal from outside finds the terminal in the middle of reading a key: it gets back the
/// settings that it has now.
fn leave_on_signals() {
    use tokio::signal::unix::{SignalKind, signal};
    let stty = |args: &[&str]| {
        Command::new("stty")
            .args(args)
            .stdin(Stdio::inherit())
            .stderr(Stdio::null())
            .output()
    };
    let settings = stty(&["-g"]).ok().filter(|output| output.status.success());
    let settings = settings.and_then(|output| String::from_utf8(output.stdout).ok());
    let listen = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(async {
            let mut interrupt = signal(SignalKind::interrupt()).ok()?;
            let mut terminate = signal(SignalKind::terminate()).ok()?;
            let mut hangup = signal(SignalKind::hangup()).ok()?;
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            Some(())
        })?;
        let mut out = io::stdout();
        let _ = out.write_all(LEAVE.as_bytes());
        let _ = out.flush();
        if let Some(settings) = settings {
            let _ = stty(&[settings.trim()]);
        }
        std::process::exit(i32::from(ExitCode::Interrupted.code()));
        #[allow(unreachable_code, reason = "the thread's answer is nobody's")]
        Some(())
    };
    // Without it a signal still ends the program, only less tidily.
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen);
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a line has a list of marks"
)]
mod tests {
    use super::*;

    fn item(lines: usize) -> Item {
        let mut all = vec![
            Line {
                tone: Tone::Plain,
                text: "body.users[0].role".to_owned(),
                marks: Vec::new(),
            },
            Line {
                tone: Tone::Old,
                text: "- \"user\"".to_owned(),
                marks: Vec::new(),
            },
            Line {
                tone: Tone::New,
                text: "+ \"administrator of everything there is\"".to_owned(),
                marks: vec![3..8],
            },
        ];
        while all.len() < lines {
            all.push(Line {
                tone: Tone::Plain,
                text: format!("line {}", all.len() + 1),
                marks: Vec::new(),
            });
        }
        Item {
            id: "reg-users-001".to_owned(),
            name: "The list of users\u{1b}[31m keeps its shape".to_owned(),
            facts: vec![
                "critical".to_owned(),
                "changed in 1 place".to_owned(),
                "captured 2026-03-04".to_owned(),
            ],
            lines: all,
        }
    }

    fn picture(item: &Item, scroll: usize, message: &str, look: Look) -> String {
        let lines = wrapped(&item.lines, look.columns);
        frame(
            &View {
                item,
                n: 2,
                of: 5,
                scroll,
                message,
            },
            &lines,
            look,
        )
        .join("\n")
    }

    const LOOK: Look = Look {
        rows: 11,
        columns: 60,
        color: false,
        unicode: true,
    };

    #[test]
    fn a_short_diff_is_seen_whole() {
        insta::assert_snapshot!(picture(&item(3), 0, "", LOOK), @r#"
        reg-users-001  The list of users keeps its shape      2 of 5
        critical · changed in 1 place · captured 2026-03-04
        ────────────────────────────────────────────────────────────
        body.users[0].role
        - "user"
        + "administrator of everything there is"


        ────────────────────────────────────────────────────────────

        a accept  r reject  s skip  b back  q quit
        "#);
    }

    #[test]
    fn a_long_diff_is_scrolled_to_its_end_and_no_further() {
        insta::assert_snapshot!(picture(&item(12), 99, "", LOOK), @"
        reg-users-001  The list of users keeps its shape      2 of 5
        critical · changed in 1 place · captured 2026-03-04
        ────────────────────────────────────────────────────────────
        line 8
        line 9
        line 10
        line 11
        line 12
        ────────────────────────────────────────────────────────────
        lines 8 to 12 of 12
        a accept  r reject  s skip  b back  q quit  arrows, space: …
        ");
        let told = picture(
            &item(12),
            0,
            "it is no longer pending",
            Look {
                unicode: false,
                ..LOOK
            },
        );
        insta::assert_snapshot!(told, @r#"
        reg-users-001  The list of users keeps its shape      2 of 5
        critical, changed in 1 place, captured 2026-03-04
        ------------------------------------------------------------
        body.users[0].role
        - "user"
        + "administrator of everything there is"
        line 4
        line 5
        ------------------------------------------------------------
        it is no longer pending
        a accept  r reject  s skip  b back  q quit  arrows, space...
        "#);
    }

    #[test]
    fn no_picture_is_larger_than_the_screen_and_marks_follow_their_text() {
        for (rows, columns) in [(7, 20), (8, 21), (24, 80), (50, 200)] {
            let look = Look {
                rows,
                columns,
                color: false,
                unicode: true,
            };
            for lines in [1, 3, 30] {
                let text = picture(&item(lines), 3, "", look);
                assert_eq!(text.lines().count(), rows, "{text}");
                assert!(
                    text.lines().all(|line| width(line) <= columns),
                    "{columns}\n{text}"
                );
            }
        }
        let line = Line {
            tone: Tone::New,
            text: "+ abcdefghij".to_owned(),
            marks: vec![4..9],
        };
        let pieces = wrapped(&[line], 6);
        let marked: Vec<(&str, &[std::ops::Range<usize>])> = pieces
            .iter()
            .map(|piece| (piece.text.as_str(), piece.marks.as_slice()))
            .collect();
        assert_eq!(
            marked,
            [
                ("+ abcd", &[4..6][..]),
                ("  efgh", &[2..5][..]),
                ("  ij", &[][..])
            ]
        );
        let wide = Line {
            tone: Tone::Plain,
            text: "世界".to_owned(),
            marks: Vec::new(),
        };
        assert_eq!(wrapped(&[wide], 1).len(), 2);
    }

    #[test]
    fn keys_mean_what_the_screen_says() {
        for (key, meant) in [
            (Key::Char('a'), Act::Accept),
            (Key::Char('r'), Act::Reject),
            (Key::Char('s'), Act::Skip),
            (Key::Char('b'), Act::Back),
            (Key::Char('q'), Act::Quit),
            (Key::CtrlC, Act::Interrupt),
            (Key::ArrowDown, Act::Scroll(1)),
            (Key::Char(' '), Act::Scroll(9)),
            (Key::Enter, Act::Nothing),
            (Key::Char('x'), Act::Nothing),
        ] {
            assert_eq!(act(&key, 9), meant, "{key:?}");
        }
    }
}
