//! Arguments of MBPP+ as Python has them. JSON has no tuples, sets and complex numbers, and the
//! records don't mark them: which argument is one depends on the task (`mbpp_deserialize_inputs` in
//! `evalplus/data/mbpp.py` of evalplus 0.3.1).

use eval_match::Datum;

/// The arguments of one call of a task. An error completes "input 3 can't be used: ".
pub(super) fn mbpp_arguments(task: u32, args: Vec<Datum>) -> Result<Vec<Datum>, String> {
    match task {
        2 | 116 | 132 | 143 | 222 | 261 | 273 | 394 | 399 | 421 | 424 | 429 | 470 | 560 | 579
        | 596 | 616 | 630 | 726 | 740 | 744 | 809 => each(args, tuple),
        63 | 64 | 70 | 94 | 120 | 237 | 272 | 299 | 400 | 409 | 417 | 438 | 473 | 614 | 780 => {
            each(args, tuples)
        }
        75 | 413 | 444 | 753 => at(args, 0, tuples),
        106 | 750 => at(args, 1, tuple),
        115 => at(args, 0, |list| within(list, set_or_dict)),
        124 => at(at(args, 0, float)?, 1, complex),
        250 | 405 | 446 | 617 | 720 | 763 | 808 | 307 => at(args, 0, tuple),
        252 => at(args, 0, complex),
        259 | 401 | 445 => each(args, |list| tuple(tuples(list)?)),
        278 => each(args, |list| {
            tuple(within(list, |item| Ok(list_as_tuple(item)))?)
        }),
        580 | 615 | 791 => Ok(args.into_iter().map(all_tuples).collect()),
        722 => at(args, 0, |dict| match dict {
            Datum::Dict(entries) => {
                let entry = |(key, value)| Ok((key, tuple(value)?));
                let entries: Result<Vec<(Datum, Datum)>, String> =
                    entries.into_iter().map(entry).collect();
                Ok(Datum::Dict(entries?))
            }
            other => Err(format!("an argument is {}, not dict", other.type_name())),
        }),
        _ => Ok(args),
    }
}

type Converted = Result<Datum, String>;

fn each(args: Vec<Datum>, convert: impl Fn(Datum) -> Converted) -> Result<Vec<Datum>, String> {
    args.into_iter().map(convert).collect()
}

/// Converts one argument.
fn at(
    mut args: Vec<Datum>,
    index: usize,
    convert: impl Fn(Datum) -> Converted,
) -> Result<Vec<Datum>, String> {
    let missing = || format!("it has {} arguments", args.len());
    let place = match args.get(index) {
        Some(_) => args.remove(index),
        None => return Err(missing()),
    };
    args.insert(index, convert(place)?);
    Ok(args)
}

/// `tuple(value)`.
fn tuple(value: Datum) -> Converted {
    match value {
        Datum::List(items) => Ok(Datum::Tuple(items)),
        Datum::Text(text) => Ok(Datum::Tuple(
            text.chars().map(|c| Datum::Text(c.into())).collect(),
        )),
        Datum::Tuple(items) => Ok(Datum::Tuple(items)),
        other => Err(format!("an argument is {}, not list", other.type_name())),
    }
}

/// Converts the elements of a list.
fn within(value: Datum, convert: impl Fn(Datum) -> Converted) -> Converted {
    match value {
        Datum::List(items) => {
            let items: Result<Vec<Datum>, String> = items.into_iter().map(convert).collect();
            Ok(Datum::List(items?))
        }
        other => Err(format!("an argument is {}, not list", other.type_name())),
    }
}

fn tuples(value: Datum) -> Converted {
    within(value, tuple)
}

fn list_as_tuple(value: Datum) -> Datum {
    match value {
        Datum::List(items) => Datum::Tuple(items),
        other => other,
    }
}

fn all_tuples(value: Datum) -> Datum {
    match value {
        Datum::List(items) => Datum::Tuple(items.into_iter().map(all_tuples).collect()),
        other => other,
    }
}

/// A list is a set, unless it is empty; all else is an empty dict.
fn set_or_dict(value: Datum) -> Converted {
    Ok(match value {
        Datum::List(items) if !items.is_empty() => Datum::Set(items),
        _ => Datum::Dict(Vec::new()),
    })
}

fn float(value: Datum) -> Converted {
    let read = match &value {
        Datum::Float(f) => Some(*f),
        Datum::Int(i) => i.to_string().parse().ok(),
        Datum::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    read.map(Datum::Float)
        .ok_or_else(|| format!("an argument is {}, not a number", value.type_name()))
}

/// `complex(value)` of a number, or of a text such as `(1+2j)`.
fn complex(value: Datum) -> Converted {
    let bad = || "an argument is not a complex number".to_owned();
    let Datum::Text(text) = &value else {
        return match float(value)? {
            Datum::Float(re) => Ok(Datum::Complex(re, 0.0)),
            _ => Err(bad()),
        };
    };
    let text = text.trim();
    let inner = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
        .unwrap_or(text)
        .trim();
    let Some(body) = inner.strip_suffix(['j', 'J']) else {
        let re = inner.parse().map_err(|_| bad())?;
        return Ok(Datum::Complex(re, 0.0));
    };
    // The sign between both parts: the last one that is not of an exponent.
    let split = body
        .char_indices()
        .rev()
        .find(|(i, c)| {
            matches!(c, '+' | '-')
                && *i > 0
                && !body.get(..*i).is_some_and(|b| b.ends_with(['e', 'E']))
        })
        .map_or(0, |(i, _)| i);
    let (re, im) = body.split_at_checked(split).ok_or_else(bad)?;
    let part = |text: &str| match text {
        "+" | "" => Ok(1.0),
        "-" => Ok(-1.0),
        text => text.parse::<f64>().map_err(|_| bad()),
    };
    let re = if re.is_empty() {
        0.0
    } else {
        re.parse().map_err(|_| bad())?
    };
    Ok(Datum::Complex(re, part(im)?))
}

#[cfg(test)]
#[path = "mbpp_inputs_tests.rs"]
mod tests;
