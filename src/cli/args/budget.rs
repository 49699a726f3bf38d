//! `--budget`.

use crate::model::RunBudget;

/// `usd=2.5`, `tokens=1000000`, or both with a comma between.
pub fn budget(text: &str) -> Result<RunBudget, String> {
    let mut budget = RunBudget::default();
    for part in text.split(',') {
        let value = |text: &str| text.trim().replace('_', "");
        match part
            .split_once('=')
            .map(|(name, text)| (name.trim(), value(text)))
        {
            Some(("usd", text)) if budget.usd.is_none() => match text.parse::<f64>() {
                Ok(usd) if usd.is_finite() && usd >= 0.0 => budget.usd = Some(usd),
                _ => {
                    return Err(
                        "`usd` is a number of dollars of at least 0, such as 2.5".to_owned()
                    );
                }
            },
            Some(("tokens", text)) if budget.tokens.is_none() => match text.parse() {
                Ok(tokens) => budget.tokens = Some(tokens),
                Err(_) => return Err("`tokens` is a whole number of at least 0".to_owned()),
            },
            _ => {
                return Err(
                    "write usd=DOLLARS, tokens=N, or both: usd=2.5,tokens=1000000".to_owned(),
                );
            }
        }
    }
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_and_what_is_none_is_told() {
        let budget = |text| budget(text).map(|b| (b.usd, b.tokens));
        assert_eq!(budget("usd=2.5"), Ok((Some(2.5), None)));
        assert_eq!(
            budget("tokens=1_000_000, usd=0"),
            Ok((Some(0.0), Some(1_000_000)))
        );
        for (text, why) in [
            (
                "",
                "write usd=DOLLARS, tokens=N, or both: usd=2.5,tokens=1000000",
            ),
            (
                "2.5",
                "write usd=DOLLARS, tokens=N, or both: usd=2.5,tokens=1000000",
            ),
            (
                "usd=1,usd=2",
                "write usd=DOLLARS, tokens=N, or both: usd=2.5,tokens=1000000",
            ),
            (
                "usd=-1",
                "`usd` is a number of dollars of at least 0, such as 2.5",
            ),
            (
                "usd=NaN",
                "`usd` is a number of dollars of at least 0, such as 2.5",
            ),
            (
                "usd=inf",
                "`usd` is a number of dollars of at least 0, such as 2.5",
            ),
            ("tokens=1.5", "`tokens` is a whole number of at least 0"),
            ("tokens=-1", "`tokens` is a whole number of at least 0"),
        ] {
            assert_eq!(budget(text), Err(why.to_owned()), "{text}");
        }
    }
}
