//! The element types of numpy arrays.

use std::borrow::Cow;

use crate::{Cell, Problem, problem::shown};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    /// UTF-32, padded with zeros.
    Text,
    /// Bytes, padded with zeros.
    Bytes,
    /// A time since 1970 in UTC. The number is the length of its unit in nanoseconds.
    Time(i64),
    /// A Python object.
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) kind: Kind,
    /// Size of an element in bytes.
    pub(crate) size: usize,
    /// Whether the byte order is big-endian.
    pub(crate) big: bool,
}

impl Dtype {
    /// Parses a type from its code, such as `i4`. `unit` is the unit of a time, such as `ns` or `25s`.
    pub(crate) fn parse(code: &str, big: bool, unit: Option<&str>) -> Result<Dtype, Problem> {
        let refused = || Problem::new(format!("holds elements of the type {}, which is not read", shown(code)));
        let mut rest = code.chars();
        let letter = rest.next().ok_or_else(refused)?;
        let number = rest.as_str();
        let size: usize = if number.is_empty() { 0 } else { number.parse().map_err(|_| refused())? };
        let (kind, size) = match (letter, size) {
            ('b', 1) | ('?', 0) => (Kind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Int, size),
            ('u', 1 | 2 | 4 | 8) => (Kind::UInt, size),
            ('f', 2 | 4 | 8) => (Kind::Float, size),
            ('U', _) => (Kind::Text, size.checked_mul(4).ok_or_else(refused)?),
            ('S', _) => (Kind::Bytes, size),
            ('M', 8) => (Kind::Time(nanoseconds(unit.unwrap_or_default()).ok_or_else(refused)?), 8),
            ('O', _) => (Kind::Object, 8),
            _ => return Err(refused()),
        };
        Ok(Dtype { kind, size, big })
    }

    /// The name of the type as numpy prints it, such as `int32`.
    pub(crate) fn name(&self) -> String {
        let bits = self.size * 8;
        match self.kind {
            Kind::Bool => "bool".into(),
            Kind::Int => format!("int{bits}"),
            Kind::UInt => format!("uint{bits}"),
            Kind::Float => format!("float{bits}"),
            Kind::Text => format!("<U{}", self.size / 4),
            Kind::Bytes => format!("|S{}", self.size),
            Kind::Time(_) => "datetime64".into(),
            Kind::Object => "object".into(),
        }
    }

    /// Whether every sequence of bytes of the right length is a valid element.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Bool | Kind::Int | Kind::UInt | Kind::Float)
    }

    /// Reads an element from its [`Dtype::size`] bytes.
    pub(crate) fn element(&self, bytes: &[u8]) -> Result<Cell<'static>, Problem> {
        let bits = || {
            let mut whole = [0; 8];
            let length = bytes.len().min(8);
            for (to, place) in whole.iter_mut().zip(0..length) {
                *to = bytes[if self.big { length - 1 - place } else { place }];
            }
            u64::from_le_bytes(whole)
        };
        let signed = || {
            let shift = 64 - 8 * self.size.clamp(1, 8) as u32;
            (bits() << shift) as i64 >> shift
        };
        Ok(match self.kind {
            Kind::Bool => Cell::Bool(bits() != 0),
            Kind::Int => Cell::Int(signed()),
            Kind::UInt => i64::try_from(bits()).map_or_else(|_| Cell::UInt(bits()), Cell::Int),
            Kind::Float => Cell::Float(match self.size {
                2 => half(bits() as u16),
                4 => f32::from_bits(bits() as u32).into(),
                _ => f64::from_bits(bits()),
            }),
            Kind::Text => Cell::Text(Cow::Owned(self.text(bytes)?)),
            Kind::Bytes => {
                let end = bytes.iter().rposition(|it| *it != 0).map_or(0, |it| it + 1);
                Cell::Bytes(Cow::Owned(bytes.get(..end).unwrap_or_default().to_vec()))
            }
            // Numpy's value for "no time" is the lowest number.
            Kind::Time(_) if signed() == i64::MIN => Cell::Null,
            Kind::Time(unit) => {
                let time = signed().checked_mul(unit);
                Cell::Time(time.ok_or_else(|| Problem::new("holds a time outside the years 1678 to 2262"))?)
            }
            Kind::Object => return Err(Problem::new("holds objects where numbers belong")),
        })
    }

    fn text(&self, bytes: &[u8]) -> Result<String, Problem> {
        let (words, _) = bytes.as_chunks::<4>();
        let words = words.iter().map(|it| if self.big { u32::from_be_bytes(*it) } else { u32::from_le_bytes(*it) });
        let text: Option<String> = words.map(char::from_u32).collect();
        let text = text.ok_or_else(|| Problem::new("holds a text that is no Unicode"))?;
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

/// The length of a unit such as `ns` or `25s` in nanoseconds. `None` for months and years, which have no fixed length.
fn nanoseconds(unit: &str) -> Option<i64> {
    let letters = unit.trim_start_matches(|it: char| it.is_ascii_digit());
    let digits = unit.strip_suffix(letters)?;
    let number: i64 = if digits.is_empty() { 1 } else { digits.parse().ok()? };
    let one: i64 = match letters {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "D" => 86_400_000_000_000,
        _ => return None,
    };
    one.checked_mul(number)
}

/// Converts the bits of a 16-bit floating-point number of IEEE 754.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let value = match exponent {
        0 => fraction * 2_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    };
    if bits & 0x8000 == 0 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, big: bool, bytes: &[u8], expected: &str) {
        let cell = Dtype::parse(code, big, Some("s")).unwrap().element(bytes).unwrap();
        assert_eq!(cell.to_json().to_string(), expected, "{code}");
    }

    #[test]
    fn elements_are_those_of_numpy() {
        check("i1", false, &[0x80], "-128");
        check("i2", true, &[0xff, 0xfe], "-2");
        check("i8", false, &[0, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775808");
        check("u8", false, &[0xff; 8], "18446744073709551615");
        check("f2", false, &[0, 0xc0], "-2.0");
        check("f2", false, &[1, 0], "5.960464477539063e-8");
        check("f4", true, &[0x3f, 0, 0, 0], "0.5");
        check("f8", false, &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f], "null");
        check("?", false, &[1], "true");
        check("U2", false, &[0xfc, 0, 0, 0, 0, 0, 0, 0], "\"ü\"");
        check("S3", false, b"a\0\0", "\"a\"");
        check("M8", false, &2_i64.to_le_bytes(), "2000000000");
        check("M8", false, &i64::MIN.to_le_bytes(), "null");
    }

    #[test]
    fn other_types_are_refused_by_name() {
        for code in ["V8", "c16", "m8", "i3", "f16", "", "ü", "U99999999999999999999"] {
            let error = Dtype::parse(code, false, None).unwrap_err().to_string();
            assert!(error.contains("which is not read"), "{error}");
        }
        assert!(Dtype::parse("M8", false, Some("Y")).is_err());
    }
}
