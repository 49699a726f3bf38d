//! Dates of records: when a task was published, so that a model's training may be older.

use jiff::civil::Date;

use super::fields::{Record, text};
use crate::model::{MONTH_TAG, RELEASED_TAG};
use crate::spec::ReleasedSpec;

/// The day on which a task was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReleaseDate(Date);

impl ReleaseDate {
    /// Of a field that begins with an ISO date; `None` if the record does not have it.
    pub fn of(record: &Record, key: &str) -> Result<Option<ReleaseDate>, String> {
        if !record.contains_key(key) {
            return Ok(None);
        }
        let written = text(record, &[key])?;
        // A time of the day may follow.
        let day = written.split(['T', ' ']).next().unwrap_or_default();
        let date = day
            .parse::<Date>()
            .map_err(|_| format!("`{key}` is `{written}`, expected a date such as 2024-03-02"))?;
        Ok(Some(ReleaseDate(date)))
    }

    /// `month:2024-03` and `released:2024-03-02`: groups of reports are by tag.
    pub fn tags(&self) -> [String; 2] {
        let ReleaseDate(day) = self;
        [
            format!("{MONTH_TAG}{}", day.strftime("%Y-%m")),
            format!("{RELEASED_TAG}{day}"),
        ]
    }
}

/// Which dates are selected.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReleaseWindow {
    /// The first day.
    after: Option<Date>,
    /// The day after the last.
    before: Option<Date>,
}

impl ReleaseWindow {
    /// An error says which date is wrong.
    pub fn of(spec: Option<&ReleasedSpec>) -> Result<ReleaseWindow, String> {
        let read = |date: &Option<String>| -> Result<Option<Date>, String> {
            date.as_ref()
                .map(|written| {
                    written
                        .parse::<Date>()
                        .map_err(|_| format!("`{written}` is not a date such as 2024-09-01"))
                })
                .transpose()
        };
        let Some(spec) = spec else {
            return Ok(ReleaseWindow::default());
        };
        let window = ReleaseWindow {
            after: read(&spec.after)?,
            before: read(&spec.before)?,
        };
        match (window.after, window.before) {
            (Some(first), Some(end)) if first >= end => Err(format!(
                "`after` ({first}) must be earlier than `before` ({end})"
            )),
            _ => Ok(window),
        }
    }

    /// Whether a record with this date is selected; one without a date can't be judged.
    pub fn takes(&self, date: Option<&ReleaseDate>) -> Result<bool, String> {
        if self.after.is_none() && self.before.is_none() {
            return Ok(true);
        }
        let Some(ReleaseDate(date)) = date else {
            return Err("the record has no date, which `released` needs".to_owned());
        };
        Ok(self.after.is_none_or(|first| *date >= first)
            && self.before.is_none_or(|end| *date < end))
    }
}
