//! Describes briefly why the limit of an objective is invalid. The caller's message adds the invalid text and the remedy.

use crate::wording::named;

/// Units of a duration that [`crate::units::Span`] accepts.
const UNITS: [&str; 7] = ["ns", "us", "\u{b5}s", "ms", "s", "m", "h"];

/// Returns what is wrong with `text`. `None` if there is no specific description; the message then names only the remedy.
pub(crate) fn limit_fault(text: &str) -> Option<String> {
    let text = text.trim();
    let unsigned = text.trim_start_matches(['-', '+']);
    let word = unsigned.trim_start_matches('.').to_ascii_lowercase();
    match word.as_str() {
        "nan" => return Some("that is not a number".to_owned()),
        "inf" | "infinity" => return Some("that is infinite".to_owned()),
        _ => {}
    }
    let end = unsigned.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(unsigned.len());
    let (number, unit) = unsigned.split_at(end);
    number.parse::<f64>().ok()?;
    if text.starts_with('-') {
        return Some("that is negative".to_owned());
    }
    let is_unit = !unit.is_empty() && !unit.chars().any(|it| it.is_ascii_digit());
    (is_unit && !UNITS.contains(&unit.trim())).then(|| format!("the unit {} is not known", named(unit.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_limit_says_why() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(limit_fault(text).as_deref(), expected, "{text:?}");
        for text in ["-1s", "-1", "-0.5ms"] {
            check(text, Some("that is negative"));
        }
        for text in ["NaN", ".nan", "-nan"] {
            check(text, Some("that is not a number"));
        }
        for text in ["inf", "-inf", ".inf", "Infinity"] {
            check(text, Some("that is infinite"));
        }
        check("5 parsecs", Some("the unit parsecs is not known"));
        check("5d", Some("the unit d is not known"));
        check("99%", Some("the unit \"%\" is not known"));
        for text in ["", "fast", "500", "0s", "169h", "5 00ms", "1e400", "0x10", "1.2.3s", "1,000", "5 s", "500ms"] {
            check(text, None);
        }
    }
}
