//! Time as a thing that is handed in, so that tests own it.

use jiff::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that stands still.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// RFC 3339 in UTC with milliseconds, as all journals and reports write it.
pub fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// `(YYYY-MM-DD, YYYYMMDD, HHMMSS)` in UTC.
pub fn calendar(at: Timestamp) -> (String, String, String) {
    (
        at.strftime("%Y-%m-%d").to_string(),
        at.strftime("%Y%m%d").to_string(),
        at.strftime("%H%M%S").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        let at: Timestamp = "2026-03-04T05:06:07.089+02:00".parse().unwrap();
        assert_eq!(rfc3339(at), "2026-03-04T03:06:07.089Z");
        assert_eq!(
            calendar(at),
            ("2026-03-04".into(), "20260304".into(), "030607".into())
        );
    }
}
