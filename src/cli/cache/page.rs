//! The cache as a page for people, and for machines.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use super::answers;
use crate::report::page::{Page, PageBlock, PageTable, TableColumn, bold, dim, outside, own, text};
use eval_base::text::{byte_size, group_digits};
use eval_models::cache::{CacheCleanup, CacheStats};

pub(super) fn page(file: &Path, stats: Option<&CacheStats>) -> Page {
    let mut page = Page::default();
    page.push(PageBlock::Copy("cache", file.display().to_string()));
    let Some(stats) = stats else {
        page.words(dim(
            "no cache yet; the first run that calls a model creates it",
        ));
        return page;
    };
    let size = byte_size(stats.file_bytes);
    page.words(text![
        bold(own(answers(stats.entries))),
        own(format!(", {size} on disk"))
    ]);
    if let (Some(oldest), Some(newest)) = (&stats.oldest, &stats.newest) {
        page.words(dim(own(match (day(oldest), day(newest)) {
            (first, last) if first == last => format!("from {first}"),
            (first, last) => format!("from {first} to {last}"),
        })));
    }
    let days = ["Oldest", "Newest", "Last used"].map(|head| TableColumn::left(head).optional());
    let columns = [
        TableColumn::left("Model").least(5),
        TableColumn::right("Answers"),
        TableColumn::right("Size"),
    ];
    let mut table = PageTable::new(columns.into_iter().chain(days));
    for model in &stats.models {
        let entries = usize::try_from(model.entries).unwrap_or(usize::MAX);
        table.row([
            outside(&model.model),
            own(group_digits(entries)),
            own(byte_size(model.bytes)),
            outside(day(&model.oldest)),
            outside(day(&model.newest)),
            outside(&model.last_used),
        ]);
    }
    page.table(table);
    page
}

pub(super) fn json(file: &Path, stats: Option<&CacheStats>, out: &mut dyn Write) -> io::Result<()> {
    let stats = stats.cloned().unwrap_or_default();
    let value = json!({
        "path": file.display().to_string(),
        "entries": stats.entries,
        "bytes": stats.bytes,
        "file_bytes": stats.file_bytes,
        "oldest": stats.oldest,
        "newest": stats.newest,
        "models": stats.models,
    });
    eval_base::json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

/// What was removed, in a line.
pub(super) fn freed(freed: &CacheCleanup) -> String {
    let left = match freed.left {
        0 => "none left".to_owned(),
        left => format!(
            "{} left",
            group_digits(usize::try_from(left).unwrap_or(usize::MAX))
        ),
    };
    let saved = freed.bytes_before.saturating_sub(freed.bytes_after);
    if freed.entries == 0 && saved == 0 {
        return format!(
            "nothing to remove ({left}, {})\n",
            byte_size(freed.bytes_after)
        );
    }
    format!(
        "removed {} ({left}); freed {}, the file now has {}\n",
        answers(freed.entries),
        byte_size(saved),
        byte_size(freed.bytes_after)
    )
}

/// The day of a time as RFC 3339 writes it.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TerminalOptions;
    use crate::report::page::terminal;
    use eval_base::text::width;
    use eval_models::cache::ModelShare;

    fn stats() -> CacheStats {
        let share = |model: &str, entries, bytes, days: [&str; 2]| ModelShare {
            model: model.into(),
            entries,
            bytes,
            oldest: format!("{}T10:00:00.000Z", days[0]),
            newest: format!("{}T10:00:00.000Z", days[1]),
            last_used: "2026-03-04".into(),
        };
        CacheStats {
            entries: 12_345,
            bytes: 23_456_789,
            file_bytes: 31_000_000,
            oldest: Some("2026-01-02T10:00:00.000Z".into()),
            newest: Some("2026-03-04T10:00:00.000Z".into()),
            models: vec![
                share("anthropic:claude-x", 45, 999, ["2026-03-04", "2026-03-04"]),
                share(
                    "gateway:organisation/a-model-with-a-very-long-name-1",
                    300,
                    1_456_789,
                    ["2026-01-02", "2026-03-01"],
                ),
                share(
                    "openai:gpt-4o-mini",
                    12_000,
                    21_999_001,
                    ["2026-02-01", "2026-03-04"],
                ),
            ],
        }
    }

    fn shown(stats: Option<&CacheStats>) -> String {
        let mut out = Vec::new();
        let file = Path::new("/home/u/.cache/eval-harness/answers.sqlite");
        terminal::write(&page(file, stats), &TerminalOptions::default(), &mut out)
            .expect("written");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn one_page_at_80_columns() {
        let page = shown(Some(&stats()));
        assert!(page.lines().all(|line| width(line) <= 80), "{page}");
        insta::assert_snapshot!(page, @"
        cache    /home/u/.cache/eval-harness/answers.sqlite
          12,345 answers, 31 MB on disk
          from 2026-01-02 to 2026-03-04

          Model                      Answers    Size  Oldest      Newest      Last used
          anthropic:claude-x              45   999 B  2026-03-04  2026-03-04  2026-03-04
          gateway:organisation/a-m…      300  1.5 MB  2026-01-02  2026-03-01  2026-03-04
          openai:gpt-4o-mini          12,000   22 MB  2026-02-01  2026-03-04  2026-03-04
        ");
        insta::assert_snapshot!(shown(None), @"
        cache    /home/u/.cache/eval-harness/answers.sqlite
          no cache yet; the first run that calls a model creates it
        ");
        insta::assert_snapshot!(shown(Some(&CacheStats { file_bytes: 16_384, ..CacheStats::default() })), @"
        cache    /home/u/.cache/eval-harness/answers.sqlite
          0 answers, 16 kB on disk
        ");
    }

    #[test]
    fn what_was_freed_is_one_line() {
        let all = CacheCleanup {
            entries: 1,
            left: 0,
            bytes_before: 50_000,
            bytes_after: 16_384,
            busy: false,
        };
        insta::assert_snapshot!(freed(&all), @"removed 1 answer (none left); freed 34 kB, the file now has 16 kB");
        insta::assert_snapshot!(freed(&CacheCleanup { entries: 12_000, left: 345, ..all }), @"removed 12,000 answers (345 left); freed 34 kB, the file now has 16 kB");
        insta::assert_snapshot!(freed(&CacheCleanup { entries: 0, left: 7, bytes_before: 16_384, ..all }), @"nothing to remove (7 left, 16 kB)");
    }

    #[test]
    fn sizes_have_two_or_three_digits() {
        let sizes = [
            0,
            999,
            1000,
            1049,
            9_949,
            9_950,
            999_499,
            999_500,
            1_500_000_000,
            u64::MAX,
        ];
        assert_eq!(
            sizes.map(byte_size),
            [
                "0 B", "999 B", "1.0 kB", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB",
                "1.5 GB", "18447 PB"
            ]
        );
    }
}
