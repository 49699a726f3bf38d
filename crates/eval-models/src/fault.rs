//! Why there is no usable answer.

use std::time::Duration;

/// One try that gave no usable answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFault {
    pub kind: FaultKind,
    /// One sentence for people, without secrets and without what lies behind the host.
    pub reason: String,
    pub status: Option<u16>,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Tokens that the unusable answer says it took.
    pub tokens: Option<super::TokenCounts>,
}

impl ModelFault {
    pub fn new(kind: FaultKind, reason: impl Into<String>) -> ModelFault {
        ModelFault {
            kind,
            reason: reason.into(),
            status: None,
            retry_after: None,
            tokens: None,
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $label:literal $(, $trait:ident)*;)*) => {
        /// What kind of trouble.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultKind { $($(#[$doc])* $variant),* }

        impl FaultKind {
            pub const ALL: &'static [FaultKind] = &[$(FaultKind::$variant),*];

            /// The label in journals, reports and the progress line.
            pub fn label(self) -> &'static str {
                match self { $(FaultKind::$variant => $label),* }
            }

            /// True when another try may help.
            pub fn is_retryable(self) -> bool {
                match self { $(FaultKind::$variant => kinds!(@has retry $($trait)*)),* }
            }

            /// True when every further question would meet the same.
            pub fn is_fatal(self) -> bool {
                match self { $(FaultKind::$variant => kinds!(@has fatal $($trait)*)),* }
            }

            /// True when the server has more to do than it can: fewer calls at once may help.
            pub fn is_overload(self) -> bool {
                match self { $(FaultKind::$variant => kinds!(@has overload $($trait)*)),* }
            }
        }
    };
    (@has $wanted:ident) => { false };
    (@has retry retry $($rest:ident)*) => { true };
    (@has fatal fatal $($rest:ident)*) => { true };
    (@has overload overload $($rest:ident)*) => { true };
    (@has $wanted:ident $other:ident $($rest:ident)*) => { kinds!(@has $wanted $($rest)*) };
}

kinds! {
    /// 429: too many requests or tokens.
    RateLimited = "429", retry, overload;
    /// 503 and 529.
    Overloaded = "503", retry, overload;
    /// Other 5xx, 408 and 409.
    ServerError = "5xx", retry;
    /// No connection: refused, no such host.
    Unreachable = "unreachable", retry;
    /// The connection ended before the answer, or in it.
    Reset = "reset", retry;
    TimedOut = "timeout", retry;
    /// A certificate that is not trusted, or no TLS.
    Tls = "tls", fatal;
    /// Not what the API answers with: no JSON, broken compression, no text where one belongs.
    Unreadable = "unreadable", retry;
    /// An error inside an answer whose status says that all is well.
    ErrorBody = "error_body", retry;
    /// Nothing was said.
    Empty = "empty", retry;
    /// The answer was cut at its limit of tokens before it said anything: asked again it is cut
    /// again.
    Cut = "cut";
    /// The model reasoned and said nothing: asked again it costs as much again.
    OnlyThoughts = "only_reasoning";
    /// The answer is longer than what is read.
    TooLarge = "too_large";
    /// 401 and 403, or no key.
    Unauthorized = "unauthorized", fatal;
    /// 404: no such model, or no such API there.
    UnknownModel = "unknown_model", fatal;
    /// 402 and a quota that is used up: waiting does not help.
    NoCredit = "no_credit", fatal;
    /// Other 4xx: this question is wrong, another may not be.
    BadRequest = "bad_request";
    /// The cache or the recording that alone may answer has no answer to this question.
    NotRecorded = "not_recorded";
    /// The run may spend no more.
    BudgetSpent = "budget";
    /// Not asked, because what was asked before met the same end each time.
    GivenUp = "given_up";
    /// A setting can't be used.
    Settings = "settings", fatal;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_label_of_its_own_and_says_whether_another_try_may_help() {
        let mut told = String::new();
        for kind in FaultKind::ALL {
            let word = |yes: bool, word: &'static str| if yes { word } else { "" };
            told.push_str(&format!(
                "{}{}{}{}\n",
                kind.label(),
                word(kind.is_retryable(), " retry"),
                word(kind.is_fatal(), " fatal"),
                word(kind.is_overload(), " overload"),
            ));
        }
        let mut labels: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), FaultKind::ALL.len());
        insta::assert_snapshot!(told, @r#"
        429 retry overload
        503 retry overload
        5xx retry
        unreachable retry
        reset retry
        timeout retry
        tls fatal
        unreadable retry
        error_body retry
        empty retry
        cut
        only_reasoning
        too_large
        unauthorized fatal
        unknown_model fatal
        no_credit fatal
        bad_request
        not_recorded
        budget
        given_up
        settings fatal
        "#);
    }
}
