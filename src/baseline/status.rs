//! How the baseline of a regression stands. Pure: what the suite and the store hold is handed in.

use crate::model::{BaselineOrigin, BaselinePlace, Fingerprint};

/// A word for how a baseline stands; several may hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BaselineState {
    /// Accepted, and nothing is to be said of it.
    Ok,
    /// Nothing is accepted; what was captured waits.
    New,
    /// What was captured last differs from what is accepted.
    Changed,
    /// There is nothing to compare with.
    None,
    /// Captured from another input than the eval has now.
    Stale,
    /// Written beside the eval.
    Inline,
    /// The store's file counts, and the one beside the eval does not.
    OverridesInline,
    /// No eval of the suite has this id.
    Orphaned,
    /// A file that can't be read.
    Broken,
}

impl BaselineState {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            BaselineState::Ok => "ok",
            BaselineState::New => "new",
            BaselineState::Changed => "changed",
            BaselineState::None => "none",
            BaselineState::Stale => "stale",
            BaselineState::Inline => "inline",
            BaselineState::OverridesInline => "overrides inline",
            BaselineState::Orphaned => "orphaned",
            BaselineState::Broken => "broken",
        }
    }

    /// As programs read it.
    pub fn name(self) -> &'static str {
        if self == BaselineState::OverridesInline {
            "overrides_inline"
        } else {
            self.words()
        }
    }
}

/// A file of the store, as far as its standing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFileState<'a> {
    Absent,
    Broken,
    There {
        fingerprint: Fingerprint,
        input_hash: Option<&'a str>,
    },
}

/// An eval of the suite.
#[derive(Debug, Clone, Copy)]
pub struct RegressionEval<'a> {
    /// What its case compares with; `None` when nothing.
    pub origin: Option<&'a BaselineOrigin>,
    /// Over what it gives the target now.
    pub input_hash: Fingerprint,
}

/// The standing of one eval id, the most telling word first. `eval` is `None` when the suite has no
/// such regression.
pub fn states(
    eval: Option<RegressionEval>,
    accepted: StoreFileState,
    pending: StoreFileState,
) -> Vec<BaselineState> {
    let mut states = Vec::new();
    if accepted == StoreFileState::Broken || pending == StoreFileState::Broken {
        states.push(BaselineState::Broken);
    }
    let Some(eval) = eval else {
        states.insert(0, BaselineState::Orphaned);
        return states;
    };
    let inline = eval
        .origin
        .filter(|origin| origin.place == BaselinePlace::Inline);
    let counts = match accepted {
        StoreFileState::There { fingerprint, .. } => Some(fingerprint),
        _ => inline.map(|origin| origin.fingerprint),
    };
    match (pending, counts) {
        (StoreFileState::There { .. }, None) => states.push(BaselineState::New),
        // Another input alone is waiting, too.
        (StoreFileState::There { .. }, Some(_)) => states.push(BaselineState::Changed),
        (_, None) if accepted == StoreFileState::Absent => states.push(BaselineState::None),
        _ => {}
    }
    if let StoreFileState::There {
        input_hash: Some(of),
        ..
    } = accepted
        && of != eval.input_hash.to_string()
    {
        states.push(BaselineState::Stale);
    }
    let overrides = |origin: &BaselineOrigin| {
        matches!(
            origin.place,
            BaselinePlace::Store {
                overrides_inline: true,
                ..
            }
        )
    };
    if matches!(accepted, StoreFileState::There { .. }) {
        if states.is_empty() {
            states.push(BaselineState::Ok);
        }
        if eval.origin.is_some_and(overrides) {
            states.push(BaselineState::OverridesInline);
        }
    } else if inline.is_some() && accepted == StoreFileState::Absent {
        states.push(BaselineState::Inline);
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str) -> Fingerprint {
        Fingerprint::of_bytes(text.as_bytes())
    }

    fn origin(place: BaselinePlace) -> BaselineOrigin {
        BaselineOrigin {
            place,
            captured_at: None,
            input_hash: None,
            fingerprint: print("inline"),
        }
    }

    #[test]
    fn every_standing_has_its_words() {
        let now = print("input").to_string();
        let of = |text: &str, hash| StoreFileState::There {
            fingerprint: print(text),
            input_hash: hash,
        };
        let (there, stale) = (of("a", Some(now.as_str())), of("a", Some("0123")));
        let (inline, over) = (
            origin(BaselinePlace::Inline),
            origin(BaselinePlace::Store {
                path: "x".into(),
                overrides_inline: true,
            }),
        );
        let plain = origin(BaselinePlace::Store {
            path: "x".into(),
            overrides_inline: false,
        });
        let eval = |origin| {
            Some(RegressionEval {
                origin,
                input_hash: print("input"),
            })
        };
        for (eval, accepted, pending, said) in [
            (eval(Some(&plain)), there, StoreFileState::Absent, "ok"),
            (
                eval(Some(&plain)),
                of("a", None),
                StoreFileState::Absent,
                "ok",
            ),
            (
                eval(Some(&over)),
                there,
                StoreFileState::Absent,
                "ok, overrides inline",
            ),
            (eval(Some(&plain)), stale, StoreFileState::Absent, "stale"),
            (eval(Some(&plain)), there, of("b", None), "changed"),
            (
                eval(Some(&over)),
                stale,
                of("b", None),
                "changed, stale, overrides inline",
            ),
            (eval(None), StoreFileState::Absent, of("b", None), "new"),
            (
                eval(None),
                StoreFileState::Absent,
                StoreFileState::Absent,
                "none",
            ),
            (
                eval(Some(&inline)),
                StoreFileState::Absent,
                StoreFileState::Absent,
                "inline",
            ),
            (
                eval(Some(&inline)),
                StoreFileState::Absent,
                of("b", None),
                "changed, inline",
            ),
            (None, there, StoreFileState::Absent, "orphaned"),
            (None, StoreFileState::Absent, there, "orphaned"),
            (
                None,
                StoreFileState::Broken,
                StoreFileState::Absent,
                "orphaned, broken",
            ),
            (
                eval(None),
                StoreFileState::Broken,
                StoreFileState::Absent,
                "broken",
            ),
            (eval(Some(&plain)), there, StoreFileState::Broken, "broken"),
            (
                eval(None),
                StoreFileState::Absent,
                StoreFileState::Broken,
                "broken, none",
            ),
        ] {
            let words: Vec<&str> = states(eval, accepted, pending)
                .into_iter()
                .map(BaselineState::words)
                .collect();
            assert_eq!(words.join(", "), said);
        }
    }
}
