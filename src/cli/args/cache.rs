//! The arguments of `cache` and its verbs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ListFormat;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness cache stats                     the stored answers, by model
  eval-harness cache prune --older-than 30d    remove answers that were not used
                                               for 30 days
  eval-harness cache clear --model 'openai:*'  remove the answers of some models

The cache is one file for all projects: answers.sqlite in EVAL_HARNESS_CACHE_DIR, in \
XDG_CACHE_HOME/eval-harness, or in ~/.cache/eval-harness. See docs/caching.md for what counts as \
the same request.")]
pub struct CacheArgs {
    #[command(subcommand)]
    pub verb: CacheVerb,
}

#[derive(Debug, Subcommand)]
pub enum CacheVerb {
    /// Show the stored answers by model: number, sizes, days.
    Stats(CacheStatsArgs),
    /// Remove the answers that were not used for some time, or shrink the cache to a size.
    Prune(CachePruneArgs),
    /// Remove all answers, or those of some models.
    Clear(CacheClearArgs),
}

/// The cache to use.
#[derive(Debug, Args)]
pub struct CachePlaceArgs {
    /// The cache folder, such as the `config.cache.dir` of a suite. Default: the user's cache
    /// folder.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness cache stats
  eval-harness cache stats --format json | jq .file_bytes")]
pub struct CacheStatsArgs {
    #[command(flatten)]
    pub place: CachePlaceArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness cache prune --older-than 30d
  eval-harness cache prune --max-size 1GB  the least recently used answers are
                                           removed first
  eval-harness cache prune --older-than 90d --max-size 500MB")]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["older_than", "max_size"])))]
pub struct CachePruneArgs {
    /// Remove answers that were not used for this time: `12h`, `30d`, `8w`. The last use is stored
    /// as a day (UTC).
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub older_than: Option<CacheAge>,
    /// Remove answers until the file is not larger than this: `500MB`, `1GB`, `2GiB`.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_size: Option<u64>,
    #[command(flatten)]
    pub place: CachePlaceArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness cache clear  asks before it removes anything
  eval-harness cache clear --yes
  eval-harness cache clear --model 'openai:gpt-4*' --yes")]
pub struct CacheClearArgs {
    /// Remove only answers of these models, as `cache stats` names them; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB")]
    pub model: Vec<String>,
    /// Skip the confirmation prompt.
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub place: CachePlaceArgs,
}

/// A span of time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheAge(pub i64);

pub(super) fn age(text: &str) -> Result<CacheAge, String> {
    let wrong = || "write a time such as 12h, 30d or 8w".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(at);
    let unit = match unit.trim() {
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(wrong()),
    };
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    let seconds = number
        .checked_mul(unit)
        .filter(|seconds| *seconds < 100_000_000_000);
    seconds
        .map(CacheAge)
        .ok_or_else(|| "the time is longer than supported".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || "write a size such as 500MB, 1GB or 2GiB".to_owned();
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let unit: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    // Below 2^53 a float counts bytes exactly.
    let bytes = number * unit;
    if bytes.is_finite() && (0.0..9e15).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(
            ["12h", "30d", "2 w"].map(age),
            [43_200, 2_592_000, 1_209_600].map(|s| Ok(CacheAge(s)))
        );
        for wrong in ["", "30", "d", "30y", "-1d", "1.5d", "99999999999999999999d"] {
            assert_eq!(
                age(wrong),
                Err("write a time such as 12h, 30d or 8w".to_owned()),
                "{wrong}"
            );
        }
        assert!(age("999999999999w").unwrap_err().contains("longer than"));
        let sizes = ["0", "500MB", "1.5 gb", "2GiB", "7k"].map(size);
        assert_eq!(
            sizes,
            [0, 500_000_000, 1_500_000_000, 2_147_483_648, 7_000].map(Ok)
        );
        for wrong in ["", "GB", "1.2.3GB", "-1GB", "1XB", "99999TB"] {
            assert_eq!(
                size(wrong),
                Err("write a size such as 500MB, 1GB or 2GiB".to_owned()),
                "{wrong}"
            );
        }
    }
}
