//! Markdown that must fit into a number of bytes: cut at a line, with what is open closed.

/// Room for what closes a cut text and says so.
const CLOSING: usize = 400;

/// The text, or as many whole lines of it as fit into `room` bytes with a last line that says how
/// many are left out. Fences and `<details>` that are open there are closed. `rest` says where the
/// whole text is.
pub fn cut(markdown: &str, room: usize, rest: &str) -> String {
    if markdown.len() <= room {
        return markdown.to_owned();
    }
    let room = room.saturating_sub(CLOSING + rest.len());
    let mut open = OpenMarkup::default();
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
    let lines = eval_base::text::plural(left, "more line");
    out.push_str(&format!("\n**Cut here: {lines} did not fit.** {rest}\n"));
    out
}

/// What is open after some lines.
#[derive(Default)]
struct OpenMarkup {
    /// The backticks of the fence, with the blanks before them: in a list item it is indented.
    fence: Option<String>,
    details: usize,
}

impl OpenMarkup {
    fn read(&mut self, line: &str) {
        let line = line.trim_end();
        let text = line.trim_start_matches(' ');
        let (indent, after) = (line.len() - text.len(), text.trim_start_matches('`'));
        let ticks = text.len() - after.len();
        match &self.fence {
            Some(fence) if after.is_empty() && ticks >= fence.trim_start_matches(' ').len() => {
                self.fence = None
            }
            // What somebody else said.
            Some(_) => {}
            None if ticks >= 3 && !after.contains('`') => {
                self.fence = line.get(..indent + ticks).map(str::to_owned);
            }
            None => {
                self.details += line.matches("<details").count();
                self.details = self
                    .details
                    .saturating_sub(line.matches("</details>").count());
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
        let inside = format!(
            "# A\n\n<details><summary>B</summary>\n\n````text\n```\n{}",
            "x\n".repeat(500)
        );
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

    #[test]
    fn in_a_list_nothing_within_a_fence_counts() {
        let said = "    <details><summary>x\n".repeat(500);
        let whole = format!("- Actual:\n    ````text\n    ```\n{said}    ````\n- [x] b\n");
        insta::assert_snapshot!(cut(&whole, 500, "See C."), @r"
        - Actual:
            ````text
            ```
            <details><summary>x
            <details><summary>x
            ````

        **Cut here: 500 more lines did not fit.** See C.
        ");
        let ended = format!(
            "{}{}",
            "- Actual:\n    ```text\n    <details>\n    ```\n",
            "- [x] b\n".repeat(200)
        );
        assert!(!cut(&ended, 600, "See C.").contains("</details>"));
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_and_is_balanced(
            lines in prop::collection::vec("( {0,4}```| {0,4}````|text|<details>|</details>|[a-zé]{0,40})", 0..120),
            room in 500usize..3000,
        ) {
            let whole = lines.join("\n");
            let cut = cut(&whole, room, "See the report.");
            prop_assert!(cut.len() <= room);
            if whole.len() > room {
                let mut open = OpenMarkup::default();
                cut.split_inclusive('\n').for_each(|line| open.read(line));
                prop_assert!(open.fence.is_none());
            }
        }
    }
}
