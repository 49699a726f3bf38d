//! How the baseline of a regression stands. Pure: what the suite and the store hold is handed in.

use crate::model::{BaselineOrigin, BaselinePlace, Fingerprint};

/// A word for how a baseline stands; several may hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
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

impl State {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::New => "new",
            State::Changed => "changed",
            State::None => "none",
            State::Stale => "stale",
            State::Inline => "inline",
            State::OverridesInline => "overrides inline",
            State::Orphaned => "orphaned",
            State::Broken => "broken",
        }
    }

    /// As programs read it.
    pub fn name(self) -> &'static str {
        if self == State::OverridesInline {
            "overrides_inline"
        } else {
            self.words()
        }
    }
}

/// A file of the store, as far as its standing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File<'a> {
    Absent,
    Broken,
    There {
        fingerprint: Fingerprint,
        input_hash: Option<&'a str>,
    },
}

/// An eval of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Regression<'a> {
    /// What its case compares with; `None` when nothing.
    pub origin: Option<&'a BaselineOrigin>,
    /// Over what it gives the target now.
    pub input_hash: Fingerprint,
}

/// The standing of one eval id, the most telling word first. `eval` is `None` when the suite has no
/// such regression.
pub fn states(eval: Option<Regression>, accepted: File, pending: File) -> Vec<State> {
    let mut states = Vec::new();
    if accepted == File::Broken || pending == File::Broken {
        states.push(State::Broken);
    }
    let Some(eval) = eval else {
        states.insert(0, State::Orphaned);
        return states;
    };
    let inline = eval
        .origin
        .filter(|origin| origin.place == BaselinePlace::Inline);
    let counts = match accepted {
        File::There { fingerprint, .. } => Some(fingerprint),
        _ => inline.map(|origin| origin.fingerprint),
    };
    match (pending, counts) {
        (File::There { .. }, None) => states.push(State::New),
        // Another input alone is waiting, too.
        (File::There { .. }, Some(_)) => states.push(State::Changed),
        (_, None) if accepted == File::Absent => states.push(State::None),
        _ => {}
    }
    if let File::There {
        input_hash: Some(of),
        ..
    } = accepted
        && of != eval.input_hash.to_string()
    {
        states.push(State::Stale);
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
    if matches!(accepted, File::There { .. }) {
        if states.is_empty() {
            states.push(State::Ok);
        }
        if eval.origin.is_some_and(overrides) {
            states.push(State::OverridesInline);
        }
    } else if inline.is_some() && accepted == File::Absent {
        states.push(State::Inline);
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
        let of = |text: &str, hash| File::There {
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
            Some(Regression {
                origin,
                input_hash: print("input"),
            })
        };
        for (eval, accepted, pending, said) in [
            (eval(Some(&plain)), there, File::Absent, "ok"),
            (eval(Some(&plain)), of("a", None), File::Absent, "ok"),
            (
                eval(Some(&over)),
                there,
                File::Absent,
                "ok, overrides inline",
            ),
            (eval(Some(&plain)), stale, File::Absent, "stale"),
            (eval(Some(&plain)), there, of("b", None), "changed"),
            (
                eval(Some(&over)),
                stale,
                of("b", None),
                "changed, stale, overrides inline",
            ),
            (eval(None), File::Absent, of("b", None), "new"),
            (eval(None), File::Absent, File::Absent, "none"),
            (eval(Some(&inline)), File::Absent, File::Absent, "inline"),
            (
                eval(Some(&inline)),
                File::Absent,
                of("b", None),
                "changed, inline",
            ),
            (None, there, File::Absent, "orphaned"),
            (None, File::Absent, there, "orphaned"),
            (None, File::Broken, File::Absent, "orphaned, broken"),
            (eval(None), File::Broken, File::Absent, "broken"),
            (eval(Some(&plain)), there, File::Broken, "broken"),
            (eval(None), File::Absent, File::Broken, "broken, none"),
        ] {
            let words: Vec<&str> = states(eval, accepted, pending)
                .into_iter()
                .map(State::words)
                .collect();
            assert_eq!(words.join(", "), said);
        }
    }
}
