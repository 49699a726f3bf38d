//! Markdown that must fit into a number of bytes: cut at a line, with what is open closed.

/// Room for what closes a cut text and says so.
const CLOSING: usize = 400;

/// The text, or as many whole lines of it as fit into `room` bytes with a last line that says how many are left out. Fences and
/// `<details>` that are open there are closed. `rest` says where the whole text is.
pub fn cut(markdown: &str, room: usize, rest: &str) -> String {
    if markdown.len() <= room {
        return markdown.to_owned();
    }
    let room = room.saturating_sub(CLOSING + rest.len());
    let mut open = Open::default();
    let mut kept = 0;
    let mut lines = 0;
    for line in markdown.split_inclusive('\n') {
        if kept + line.len() > room {
            break;
        }
        open.read(line);
        kept += line.len();
        lines += 1;
    }
    let left = markdown.lines().count() - lines;
    let mut out = markdown.get(..kept).unwrap_or_default().to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    open.close(&mut out);
    let lines = crate::base::text::plural(left, "more line");
    out.push_str(&format!("\n**Cut here: {lines} did not fit.** {rest}\n"));
    out
}

/// What is open after some lines.
#[derive(Default)]
struct Open {
    /// The backticks of the fence.
    fence: Option<String>,
    details: usize,
}

impl Open {
    fn read(&mut self, line: &str) {
        let line = line.trim_end();
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &self.fence {
            Some(fence) if ticks.len() >= fence.len() && ticks.len() == line.len() => self.fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => self.fence = Some(ticks),
            None => {
                self.details += line.matches("<details").count();
                self.details = self.details.saturating_sub(line.matches("</details>").count());
            }
        }
    }

    fn close(&self, out: &mut String) {
        if let Some(fence) = &self.fence {
            out.push_str(fence);
            out.push('\n');
        }
        for _ in 0..self.details {
            out.push_str("\n</details>\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_open_is_closed() {
        let inside = format!("# A\n\n<details><summary>B</summary>\n\n````text\n```\n{}", "x\n".repeat(500));
        let whole = format!("{inside}````\n\n</details>\n");
        assert_eq!(cut(&whole, whole.len(), "See C."), whole);
        insta::assert_snapshot!(cut(&whole, 460, "See C."), @"
        # A

        <details><summary>B</summary>

        ````text
        ```
        x
        x
        ````

        </details>

        **Cut here: 501 more lines did not fit.** See C.
        ");
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_and_is_balanced(
            lines in prop::collection::vec("(```|````|text|<details>|</details>|[a-zé]{0,40})", 0..120),
            room in 500usize..3000,
        ) {
            let whole = lines.join("\n");
            let cut = cut(&whole, room, "See the report.");
            prop_assert!(cut.len() <= room);
            if whole.len() > room {
                let mut open = Open::default();
                cut.split_inclusive('\n').for_each(|line| open.read(line));
                prop_assert!(open.fence.is_none());
            }
        }
    }
}
