//! Quantities with a unit or a bound: how each is parsed, printed and checked.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// A value that is outside the bounds of its unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not {wanted}")]
pub struct UnitError {
    /// The text that was found.
    pub found: String,
    /// What would be accepted.
    pub wanted: &'static str,
}

/// Requests per second: finite, above zero and at most [`RequestRate::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct RequestRate(f64);

impl RequestRate {
    /// Maximum rate. No machine issues more, so a higher number is a typing error.
    pub const MAX: f64 = 1_000_000.0;

    /// Returns the rate in requests per second.
    pub fn per_second(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for RequestRate {
    type Error = UnitError;

    fn try_from(rate: f64) -> Result<Self, UnitError> {
        if rate.is_finite() && rate > 0.0 && rate <= Self::MAX {
            return Ok(Self(rate));
        }
        Err(UnitError { found: rate.to_string(), wanted: "a rate above 0 and at most 1000000 requests per second" })
    }
}

impl From<RequestRate> for f64 {
    fn from(rate: RequestRate) -> f64 {
        rate.0
    }
}

impl fmt::Display for RequestRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The seed of a stream of random draws. Each kind of randomness has its own seed, which [`Seed::derive`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The default seed of a run. It is derived from the run's UID, so that it differs between runs, and is below 2^32, so that people can write it
    /// down.
    pub fn drawn(uid: &str) -> Seed {
        Seed(Seed(0).derive(uid).0 >> 32)
    }

    /// The seed of a repeat, counted from 1. The first repeat uses `self`; the seeds of the others are below 2^32.
    pub fn of_repeat(self, number: u32) -> Seed {
        match number {
            0 | 1 => self,
            _ => Seed(self.derive(&format!("repeat/{number}")).0 >> 32),
        }
    }

    /// The seed for one purpose, such as `arrivals` or `stage/2/lengths`. Different names yield unrelated streams, and the same name always yields
    /// the same stream. Computed as FNV-1a over the name, mixed with `self` by SplitMix64.
    pub fn derive(self, purpose: &str) -> Seed {
        let name = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut mixed = (self.0 ^ name).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Seed(mixed ^ (mixed >> 31))
    }
}

/// A duration, written as a number and a unit: `90s`, `1.5s`, `250ms`, `80us`, `5m`, `2h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl Span {
    const WANTED: &'static str = "a duration such as 90s, 1.5s, 250ms or 5m";
    /// Maximum number of decimals that are accepted. Programs print fewer, even if the decimals have no end, as for a third of a second.
    const MAX_DECIMALS: usize = 64;

    /// Returns the duration, rounded to four significant digits for display in a status or a table.
    pub fn rounded(self) -> Span {
        let nanos = self.0.as_nanos();
        let digits = nanos.checked_ilog10().map_or(0, |log| log + 1);
        let unit = 10_u128.pow(digits.saturating_sub(4));
        let rounded = (nanos + unit / 2) / unit * unit;
        Span(Duration::from_nanos(u64::try_from(rounded).unwrap_or(u64::MAX)))
    }

    /// The duration in milliseconds, with fraction.
    pub fn as_millis_f64(self) -> f64 {
        self.0.as_secs_f64() * 1_000.0
    }

    /// A duration of this many milliseconds, rounded to nanoseconds. `None` if the number is negative or NaN, or if its nanoseconds exceed a `u64`.
    pub fn from_millis_f64(millis: f64) -> Option<Span> {
        let nanos = (millis * 1e6).round();
        (0.0..=u64::MAX as f64).contains(&nanos).then(|| Span(Duration::from_nanos(nanos as u64)))
    }
}

impl From<Duration> for Span {
    fn from(length: Duration) -> Self {
        Span(length)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (unit, name, digits) = match nanos {
            0 => return write!(f, "0s"),
            1..1_000 => (1, "ns", 0),
            1_000..1_000_000 => (1_000, "us", 3),
            1_000_000..1_000_000_000 => (1_000_000, "ms", 6),
            _ => (1_000_000_000, "s", 9),
        };
        let fraction = format!("{:0digits$}", nanos % unit);
        let fraction = if digits == 0 { "" } else { fraction.trim_end_matches('0') };
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{}{point}{fraction}{name}", nanos / unit)
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError { found: format!("{text:?}"), wanted: Self::WANTED };
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = text.split_at(split);
        let nanos_per_unit: u64 = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(wrong()),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') || fraction.len() > Self::MAX_DECIMALS {
            return Err(wrong());
        }
        // Even for a unit of one hour, further decimals are less than a nanosecond.
        let fraction = &fraction[..fraction.len().min(18)];
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let fraction_nanos = match fraction {
            "" if number.contains('.') => return Err(wrong()),
            "" => 0,
            digits => {
                let scaled = digits.parse::<u64>().map_err(|_| wrong())?;
                let denominator = 10_u128.pow(u32::try_from(digits.len()).map_err(|_| wrong())?);
                u64::try_from(u128::from(scaled) * u128::from(nanos_per_unit) / denominator).map_err(|_| wrong())?
            }
        };
        let nanos =
            whole.checked_mul(nanos_per_unit).and_then(|it| it.checked_add(fraction_nanos)).ok_or_else(wrong)?;
        Ok(Span(Duration::from_nanos(nanos)))
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, nanos: u64) {
        assert_eq!(text.parse::<Span>(), Ok(Span(Duration::from_nanos(nanos))), "{text}");
    }

    #[test]
    fn a_span_reads_every_unit() {
        check("90s", 90_000_000_000);
        check("1.5s", 1_500_000_000);
        check("250ms", 250_000_000);
        check("80us", 80_000);
        check("7ns", 7);
        check("5m", 300_000_000_000);
        check("0.000000001h", 3_600);
        check("1.6666666666666667s", 1_666_666_666);
        check("0.000000000000000000000000001h", 0);
        check(&format!("1.{}s", "3".repeat(64)), 1_333_333_333);
        check("0s", 0);
    }

    #[test]
    fn a_span_refuses_what_is_no_duration() {
        for text in ["", "90", "s", "-1s", "1.s", ".5s", "1 s", "1d", "1e3s", "99999999999999h", "1.2.3s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert!(format!("1.{}s", "3".repeat(65)).parse::<Span>().is_err());
    }

    #[test]
    fn rounding_keeps_four_digits() {
        assert_eq!(Span(Duration::from_nanos(81_234_567)).rounded().to_string(), "81.23ms");
        assert_eq!(Span(Duration::from_nanos(3_104_999_999)).rounded().to_string(), "3.105s");
        assert_eq!(Span(Duration::from_nanos(812)).rounded().to_string(), "812ns");
        assert_eq!(Span(Duration::ZERO).rounded().to_string(), "0s");
    }

    #[test]
    fn milliseconds_are_read_to_the_nanosecond() {
        assert_eq!(Span::from_millis_f64(402.123456), Some(Span(Duration::from_nanos(402_123_456))));
        assert_eq!(Span::from_millis_f64(0.0), Some(Span::default()));
        for millis in [-1.0, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(Span::from_millis_f64(millis), None, "{millis}");
        }
    }

    #[test]
    fn a_rate_is_finite_and_above_zero() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(RequestRate::try_from(rate).is_err(), "{rate}");
        }
        assert_eq!(RequestRate::try_from(12.5).map(RequestRate::per_second), Ok(12.5));
    }

    #[test]
    fn purposes_have_unrelated_seeds() {
        assert_ne!(Seed(42).derive("arrivals"), Seed(42).derive("lengths"));
        assert_ne!(Seed(42).derive("arrivals"), Seed(43).derive("arrivals"));
        assert_eq!(Seed(42).derive("arrivals"), Seed(42).derive("arrivals"));
    }

    proptest! {
        #[test]
        fn a_span_reads_what_it_prints(nanos in any::<u64>()) {
            let span = Span(Duration::from_nanos(nanos));
            prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }
    }
}
