//! Whether a call is made again, and when.

use std::time::Duration;

use eval_base::backoff::Backoff;
use eval_models::net::NetError;

const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(8),
};
/// A server that asks for a longer pause is not waited for: a gate hangs on the end of this.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The answer of one try: its status, and the seconds that it asks to wait; or why there is none.
pub type TryResult = Result<(u16, Option<u64>), NetError>;

/// What follows a try.
#[derive(Debug, Clone, PartialEq)]
pub enum RetryStep {
    Done,
    After(Duration),
    /// The words say why nothing more is tried.
    GiveUp(String),
}

/// What follows try number `tries` (from 1) with `retries` further ones allowed.
///
/// Of faults only those are tried again after which hardly anybody can have got the message: a
/// channel that is told twice is worse than late. Of answers: 429 and 5xx.
pub fn next(tried: &TryResult, tries: u32, retries: u32) -> RetryStep {
    let why = match tried {
        Ok((200..=299, _)) => return RetryStep::Done,
        Ok((status, _)) => answered(*status),
        Err(fault) => fault.to_string(),
    };
    let (again, asked) = match tried {
        Ok((status, retry_after)) => (matches!(status, 429 | 500..=599), *retry_after),
        Err(NetError::NoAnswer { .. }) => (true, None),
        Err(fault) => (fault.never_arrived(), None),
    };
    let asked = asked.map(Duration::from_secs);
    if !again {
        return RetryStep::GiveUp(why);
    }
    if let Some(asked) = asked.filter(|asked| *asked > LONGEST_WAIT) {
        let (asked, most) = (asked.as_secs(), LONGEST_WAIT.as_secs());
        return RetryStep::GiveUp(format!(
            "{why}, and asks to wait {asked} s; it is waited for at most {most} s"
        ));
    }
    if tries > retries {
        let times = if tries == 1 {
            "once".to_owned()
        } else {
            format!("{tries} times")
        };
        return RetryStep::GiveUp(format!("{why} (tried {times})"));
    }
    let doubled = BACKOFF.pause(tries.saturating_sub(1));
    RetryStep::After(asked.unwrap_or(doubled).max(BACKOFF.first))
}

fn answered(status: u16) -> String {
    match status {
        300..=399 => format!("the server answers {status}; redirects are not followed"),
        _ => format!("the server answers {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_models::net::TimeoutStage;

    #[test]
    fn what_may_get_through_is_tried_again_and_nothing_else() {
        let host = || "h:1".to_owned();
        let answered = |status, retry_after| TryResult::Ok((status, retry_after));
        let late = |phase| {
            TryResult::Err(NetError::TimedOut {
                host: host(),
                seconds: 10.0,
                phase,
            })
        };
        let mut told = String::new();
        for (what, tried, tries) in [
            ("200", answered(200, None), 1),
            ("204", answered(204, None), 4),
            ("302", answered(302, None), 1),
            ("400", answered(400, None), 1),
            ("404 with Retry-After", answered(404, Some(1)), 1),
            ("429", answered(429, None), 1),
            ("429, second", answered(429, None), 2),
            ("429 with Retry-After", answered(429, Some(7)), 1),
            ("429 with Retry-After 0", answered(429, Some(0)), 3),
            ("429 with a long one", answered(429, Some(3600)), 1),
            ("503 with the longest", answered(503, Some(30)), 1),
            ("500, third", answered(500, None), 3),
            ("500, last", answered(500, None), 4),
            (
                "refused",
                TryResult::Err(NetError::Refused { host: host() }),
                1,
            ),
            (
                "unknown host",
                TryResult::Err(NetError::UnknownHost { host: host() }),
                4,
            ),
            (
                "reset",
                TryResult::Err(NetError::NoAnswer { host: host() }),
                1,
            ),
            ("no connection in time", late(TimeoutStage::Connecting), 1),
            ("no answer in time", late(TimeoutStage::Waiting), 1),
            (
                "no TLS",
                TryResult::Err(NetError::NoAuthorities { host: host() }),
                1,
            ),
        ] {
            told.push_str(&format!("{what}: {:?}\n", next(&tried, tries, 3)));
        }
        insta::assert_snapshot!(told, @r#"
        200: Done
        204: Done
        302: GiveUp("the server answers 302; redirects are not followed")
        400: GiveUp("the server answers 400")
        404 with Retry-After: GiveUp("the server answers 404")
        429: After(500ms)
        429, second: After(1s)
        429 with Retry-After: After(7s)
        429 with Retry-After 0: After(500ms)
        429 with a long one: GiveUp("the server answers 429, and asks to wait 3600 s; it is waited for at most 30 s")
        503 with the longest: After(30s)
        500, third: After(2s)
        500, last: GiveUp("the server answers 500 (tried 4 times)")
        refused: After(500ms)
        unknown host: GiveUp("the host name of h:1 cannot be resolved; is it spelled right, and is there a network? (tried 4 times)")
        reset: After(500ms)
        no connection in time: After(500ms)
        no answer in time: GiveUp("h:1 did not answer within 10 s")
        no TLS: GiveUp("this machine has no certificates of authorities to know h:1 by; install them (the package is often called `ca-certificates`), or name a file of them with `ca_file` or SSL_CERT_FILE")
        "#);
    }

    #[test]
    fn pauses_have_an_end() {
        let tried = TryResult::Ok((500, None));
        assert_eq!(next(&tried, 10, 10), RetryStep::After(BACKOFF.longest));
        assert_eq!(
            next(&tried, 1, 0),
            RetryStep::GiveUp("the server answers 500 (tried once)".to_owned())
        );
    }
}
