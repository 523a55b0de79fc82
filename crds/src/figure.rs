//! Figures as integers, for the status and the termination message. Kubernetes objects should contain no floating-point numbers, and a rule or an
//! alert cannot compare a text such as `46.65ms`. The name of each field ends with its unit: `Microseconds`, or `Milli` for thousandths of the unit
//! that precedes it, such as `requestsPerSecondMilli`.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::units::Span;

/// The largest integer that the API server stores.
const MAX: u64 = i64::MAX as u64;

/// A length of time in whole microseconds, at most `i64::MAX`. `Display` prints it for people: `46.65ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Microseconds(u64);

impl From<u64> for Microseconds {
    fn from(microseconds: u64) -> Self {
        Microseconds(microseconds.min(MAX))
    }
}

impl From<Microseconds> for u64 {
    fn from(time: Microseconds) -> u64 {
        time.0
    }
}

impl From<Duration> for Microseconds {
    /// Rounds to the nearest microsecond.
    fn from(time: Duration) -> Self {
        let rounded = time.as_nanos().saturating_add(500) / 1_000;
        Microseconds(u64::try_from(rounded).unwrap_or(MAX).min(MAX))
    }
}

impl fmt::Display for Microseconds {
    /// Prints four significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(Duration::from_micros(self.0)).rounded().fmt(f)
    }
}

/// A rate or a share in whole thousandths, at most `i64::MAX`. `Display` prints it for people: 503649 as `503.6`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Milli(u64);

impl From<u64> for Milli {
    fn from(thousandths: u64) -> Self {
        Milli(thousandths.min(MAX))
    }
}

impl From<Milli> for u64 {
    fn from(figure: Milli) -> u64 {
        figure.0
    }
}

impl From<f64> for Milli {
    /// Rounds to the nearest thousandth. NaN and values below zero become zero.
    fn from(figure: f64) -> Self {
        // The cast saturates, and turns NaN into 0.
        Milli(((figure * 1_000.0).round() as u64).min(MAX))
    }
}

impl fmt::Display for Milli {
    /// Prints four significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rate_text(self.0 as f64 / 1_000.0))
    }
}

#[cfg(feature = "kube")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::{Microseconds, Milli};

    impl JsonSchema for Microseconds {
        fn schema_name() -> Cow<'static, str> {
            "Microseconds".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            integer()
        }
    }

    impl JsonSchema for Milli {
        fn schema_name() -> Cow<'static, str> {
            "Milli".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            integer()
        }
    }

    fn integer() -> Schema {
        schemars::json_schema!({"type": "integer", "format": "int64", "minimum": 0})
    }
}

/// A rate as text: four significant digits, no exponent.
pub fn rate_text(rate: f64) -> String {
    if !rate.is_finite() || rate <= 0.0 {
        return "0".into();
    }
    let digits = rate.log10().floor() as i32;
    let decimals = usize::try_from((3 - digits).clamp(0, 9)).unwrap_or(0);
    let text = format!("{rate:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_to_microseconds_and_displays_four_digits() {
        for (nanos, microseconds, text) in [
            (0, 0, "0s"),
            (499, 0, "0s"),
            (500, 1, "1us"),
            (46_651_499, 46_651, "46.65ms"),
            (604_800_000_000_000, 604_800_000_000, "604800s"),
        ] {
            let time = Microseconds::from(Duration::from_nanos(nanos));
            assert_eq!((u64::from(time), time.to_string().as_str()), (microseconds, text));
        }
        assert_eq!(u64::from(Microseconds::from(Duration::MAX)), MAX);
    }

    #[test]
    fn a_rate_is_rounded_to_thousandths_and_displays_four_digits() {
        for (rate, thousandths, text) in [
            (10_233.4, 10_233_400, "10233"),
            (503.649_2, 503_649, "503.6"),
            (1.0, 1_000, "1"),
            (0.012_345, 12, "0.012"),
            (-1.0, 0, "0"),
            (f64::NAN, 0, "0"),
        ] {
            let figure = Milli::from(rate);
            assert_eq!((u64::from(figure), figure.to_string().as_str()), (thousandths, text));
        }
        assert_eq!(u64::from(Milli::from(f64::INFINITY)), MAX);
    }

    #[test]
    fn a_number_that_the_api_server_cannot_store_is_read_as_the_largest_one() {
        let text = u64::MAX.to_string();
        assert_eq!(serde_json::from_str::<Milli>(&text).unwrap(), Milli::from(MAX));
        assert_eq!(serde_json::from_str::<Microseconds>(&text).unwrap(), Microseconds::from(MAX));
    }

    #[test]
    fn a_rate_keeps_four_digits_and_no_exponent() {
        for (rate, text) in
            [(10_233.4, "10233"), (503.649, "503.6"), (1.0, "1"), (0.012_345, "0.01235"), (0.0, "0"), (f64::NAN, "0")]
        {
            assert_eq!(rate_text(rate), text);
        }
    }
}
