//! Methods of Python's strings that templates call but `minijinja_contrib::pycompat` lacks; and Python's text form of a float. Pure.

use minijinja::{
    Error, ErrorKind, State, Value,
    value::{ValueKind, from_args},
};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::charge;

/// Calls a method of a value.
pub(crate) fn method(state: &mut State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str().filter(|_| value.kind() == ValueKind::String) {
        let pieces = |state: &State<'_, '_>, pieces: Vec<&str>| -> Result<Value, Error> {
            charge(state, text.len() + 64 * pieces.len())?;
            Ok(Value::from_iter(pieces.into_iter().map(Value::from)))
        };
        match name {
            "removeprefix" => {
                let (prefix,): (&str,) = from_args(args)?;
                return Ok(Value::from(text.strip_prefix(prefix).unwrap_or(text)));
            }
            "removesuffix" => {
                let (suffix,): (&str,) = from_args(args)?;
                return Ok(Value::from(text.strip_suffix(suffix).unwrap_or(text)));
            }
            "partition" | "rpartition" => {
                let (separator,): (&str,) = from_args(args)?;
                let separator = filled(separator)?;
                let is_last = name == "rpartition";
                let found = if is_last { text.rsplit_once(separator) } else { text.split_once(separator) };
                let three = match found {
                    Some((before, after)) => [before, separator, after],
                    None if is_last => ["", "", text],
                    None => [text, "", ""],
                };
                return pieces(state, three.to_vec());
            }
            "rsplit" => {
                let (separator, most): (Option<&str>, Option<i64>) = from_args(args)?;
                // A negative number means no limit. Without a separator, the text is split at white space. `rsplit` differs from `split` only if
                // there is both a separator and a limit.
                let bound = most.and_then(|it| usize::try_from(it).ok());
                if let (Some(separator), Some(bound)) = (separator, bound) {
                    let mut found: Vec<&str> = text.rsplitn(bound.saturating_add(1), filled(separator)?).collect();
                    found.reverse();
                    return pieces(state, found);
                }
                if bound.is_none() {
                    return unknown_method_callback(state, value, "split", &args[..args.len().min(1)]);
                }
            }
            _ => {}
        }
    }
    unknown_method_callback(state, value, name, args)
}

fn filled(separator: &str) -> Result<&str, Error> {
    if separator.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "empty separator"));
    }
    Ok(separator)
}

/// Python's `repr` of a finite float: the fewest digits that parse to the same number, with an exponent from 1e16 upward and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') { plain } else { plain + ".0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let check = |number: f64, text: &str| assert_eq!(float(number), text);
        check(1.0, "1.0");
        check(-0.0, "-0.0");
        check(0.1, "0.1");
        check(1e16, "1e+16");
        check(123_456_789_012_345_680.0, "1.2345678901234568e+17");
        check(9_999_999_999_999_998.0, "9999999999999998.0");
        check(1e-4, "0.0001");
        check(1.5e-5, "1.5e-05");
        check(1e300, "1e+300");
    }
}
