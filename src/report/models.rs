//! What is said of the models of a run: the same words in every format.

use crate::model::{ModelUsed, ModelsUsed, Summary};
use crate::report::figures::{self, number, plural};
use eval_base::text;

/// What one model took, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOverview {
    /// Not escaped.
    pub name: String,
    /// What it was asked as, where that is not as the target; else empty.
    pub role: &'static str,
    /// Labels and words; what there is nothing to say of is empty.
    pub lines: [(&'static str, String); 7],
    pub remarks: Vec<String>,
}

impl ModelOverview {
    /// The role as it follows the name.
    pub fn role_words(&self) -> String {
        if self.role.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.role)
        }
    }
}

/// Every target's model, then every judge's, and where there are several all of them together last.
pub fn model_overviews(models: &ModelsUsed) -> Vec<ModelOverview> {
    let judges = models
        .judges
        .iter()
        .map(|(name, used)| one(name, JUDGE, used));
    let mut all: Vec<ModelOverview> = models
        .by_model
        .iter()
        .map(|(name, used)| one(name, "", used))
        .chain(judges)
        .collect();
    if all.len() > 1 {
        let both = !models.by_model.is_empty() && !models.judges.is_empty();
        all.push(one(
            "all models",
            if both { "targets and judges" } else { "" },
            &models.total,
        ));
    }
    all
}

const JUDGE: &str = "judge";

fn one(name: &str, role: &'static str, used: &ModelUsed) -> ModelOverview {
    ModelOverview {
        name: name.to_owned(),
        role,
        lines: [
            ("answers", answers(used)),
            ("retries", retries(used)),
            ("waited", waited(used)),
            ("latency", latency(used)),
            ("tokens", tokens(used)),
            ("cost", cost(used)),
            ("spent", spent(used)),
        ],
        remarks: remarks(used),
    }
}

fn latency(used: &ModelUsed) -> String {
    used.latency_ms.map_or(String::new(), |latency| {
        let [p50, p95, p99] = [latency.p50, latency.p95, latency.p99].map(figures::duration_ms);
        format!("p50 {p50}, p95 {p95}, p99 {p99}")
    })
}

fn answers(used: &ModelUsed) -> String {
    let from = [
        (used.answers.network, "from the API"),
        (used.answers.cache, "from the cache"),
        (used.answers.recording, "from recordings"),
    ];
    let all = used.all_answers();
    let parts: Vec<String> = from
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, words)| {
            if n == all {
                format!("all {words}")
            } else {
                format!("{} {words}", number(n))
            }
        })
        .collect();
    let oldest = used
        .oldest_answer
        .as_deref()
        .map_or(String::new(), |at| format!(" (oldest {})", day(at)));
    if parts.is_empty() {
        "none".to_owned()
    } else {
        format!("{}: {}{oldest}", number(all), parts.join(", "))
    }
}

/// The day of a time, of which only what looks like one is believed.
fn day(at: &str) -> String {
    let day: String = at.chars().take(10).collect();
    if day.chars().all(|c| c.is_ascii_digit() || c == '-') {
        day
    } else {
        "unknown".to_owned()
    }
}

fn retries(used: &ModelUsed) -> String {
    if used.retries == 0 && used.faults.is_empty() {
        return String::new();
    }
    let of = format!(
        "{} of {}",
        number(used.retries),
        plural(used.requests, "request")
    );
    let faults: Vec<String> = used
        .faults
        .iter()
        .map(|(label, n)| format!("{}: {}", text::one_line(label), number(*n)))
        .collect();
    if faults.is_empty() {
        of
    } else if used.retries == 0 {
        // An agent repeats its requests itself.
        let of = plural(used.requests, "request");
        format!("none; failed: {} (of {of})", faults.join(", "))
    } else {
        format!("{of} ({})", faults.join(", "))
    }
}

fn waited(used: &ModelUsed) -> String {
    let waited: Vec<String> = [
        (used.throttled_ms, "for rate limits"),
        (used.backoff_ms, "between retries"),
    ]
    .into_iter()
    .filter(|(ms, _)| *ms > 0.0)
    .map(|(ms, what)| format!("{} {what}", figures::duration_ms(ms)))
    .collect();
    if waited.is_empty() {
        String::new()
    } else {
        format!("{} (all calls together)", waited.join(", "))
    }
}

/// Before a sum that so many lower bounds are part of.
fn at_least(lower_bounds: u64) -> &'static str {
    if lower_bounds > 0 { "at least " } else { "" }
}

fn tokens(used: &ModelUsed) -> String {
    if used.all_answers() == 0 {
        return String::new();
    }
    if used.untold == used.all_answers() {
        return "unknown: the answers do not report them".to_owned();
    }
    let usage = format!(
        "{}{} in, {} out",
        at_least(used.lower_bounds),
        number(used.tokens_input),
        number(used.tokens_output)
    );
    match used.untold {
        0 => usage,
        1 => format!("{usage} (1 answer has no usage)"),
        n => format!("{usage} ({} have no usage)", plural(n, "answer")),
    }
}

fn cost(used: &ModelUsed) -> String {
    match used.cost_usd {
        _ if used.all_answers() == 0 => String::new(),
        Some(usd) if used.unpriced == 0 => {
            format!("{}{}", at_least(used.lower_bounds), figures::cost(usd))
        }
        Some(usd) => {
            format!(
                "at least {} ({} with unknown cost)",
                figures::cost(usd),
                plural(used.unpriced, "answer")
            )
        }
        None if used.untold == used.all_answers() => {
            "unknown: the answers do not report their tokens".to_owned()
        }
        None => "unknown price".to_owned(),
    }
}

fn spent(used: &ModelUsed) -> String {
    let spent = &used.spent;
    let of_answers = used.tokens_input.saturating_add(used.tokens_output);
    if spent.tokens == of_answers && spent.wasted_tokens == 0 && spent.estimated_tokens == 0 {
        return String::new();
    }
    let usd = match spent.usd {
        Some(usd) if spent.unpriced == 0 => {
            format!("{}{}", at_least(used.lower_bounds), figures::cost(usd))
        }
        Some(usd) => format!("at least {}", figures::cost(usd)),
        None => "unknown price".to_owned(),
    };
    let mut notes = vec![plural(spent.tokens, "token")];
    if spent.wasted_tokens > 0 {
        notes.push(format!("{} of them wasted", number(spent.wasted_tokens)));
    }
    if spent.estimated_tokens > 0 {
        notes.push(format!(
            "about {} estimated",
            number(spent.estimated_tokens)
        ));
    }
    format!("{usd} in this run ({})", notes.join(", "))
}

fn remarks(used: &ModelUsed) -> Vec<String> {
    let mut all = Vec::new();
    if used.unanswered > 0 {
        all.push(format!(
            "{} ended without an answer",
            plural(used.unanswered, "call")
        ));
    }
    if used.lower_bounds > 0 {
        all.push(format!(
            "the usage of {} is known only in part",
            plural(used.lower_bounds, "sample")
        ));
    }
    if used.cut > 0 {
        all.push(format!(
            "{} truncated at the token limit",
            plural(used.cut, "answer")
        ));
    }
    if used.refused > 0 {
        all.push(format!("{} refused", plural(used.refused, "answer")));
    }
    all
}

/// What everybody should know who reads the figures: that answers are not from now.
pub fn kept(summary: &Summary) -> Option<String> {
    let total = &summary.models.as_ref()?.total;
    let of = |n: u64| match total.all_answers() {
        all if n == all => format!("All {} came", plural(all, "model answer")),
        all => format!("{} of {} came", number(n), plural(all, "model answer")),
    };
    let (cache, recording) = (total.answers.cache, total.answers.recording);
    let words = match (cache, recording) {
        (0, 0) => return None,
        (n, 0) => format!("{} from the cache", of(n)),
        (0, n) => format!("{} from recordings", of(n)),
        (n, m) => format!("{} from the cache or from recordings", of(n + m)),
    };
    Some(match total.oldest_answer.as_deref() {
        Some(at) => format!("{words} (oldest {})", day(at)),
        None => words,
    })
}
