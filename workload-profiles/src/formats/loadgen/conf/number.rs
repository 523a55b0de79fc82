//! Parses numbers like C's `strtoull` and `strtod`: the longest prefix of a text that is a number, and the length of this prefix.
//!
//! Rust's own parsers do not read a prefix, do not wrap negative numbers, and do not read a leading 0 as octal.

/// Parses an integer like `strtoull` with base 0: an optional sign, `0x` for hexadecimal, a leading 0 for octal. A value that is too large becomes
/// 2^64 - 1, and a negative value wraps. The second result is the number of bytes read, 0 if there is no number.
pub(super) fn integer(text: &str) -> (u64, usize) {
    let (negative, sign) = sign(text);
    let digits = &text[sign..];
    let hexadecimal = digits.len() > 2
        && digits.is_char_boundary(2)
        && digits[..2].eq_ignore_ascii_case("0x")
        && digits.as_bytes()[2].is_ascii_hexdigit();
    let (radix, prefix) = match () {
        () if hexadecimal => (16, 2),
        () if digits.starts_with('0') => (8, 0),
        () => (10, 0),
    };
    let mut value = Some(0_u64);
    let mut length = 0;
    for digit in digits[prefix..].chars().map_while(|it| it.to_digit(radix)) {
        value = value.and_then(|it| it.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)));
        length += 1;
    }
    let read = if length == 0 { 0 } else { sign + prefix + length };
    match value {
        Some(value) if negative => (value.wrapping_neg(), read),
        Some(value) => (value, read),
        None => (u64::MAX, read),
    }
}

/// Parses a number like `strtod`: decimal or hexadecimal, with or without exponent, `inf`, `infinity` and `nan`. The second result is the number of
/// bytes read, 0 if there is no number.
pub(super) fn real(text: &str) -> (f64, usize) {
    let (negative, sign) = sign(text);
    let digits = &text[sign..];
    let (value, length) = word(digits).or_else(|| hexadecimal(digits)).unwrap_or_else(|| decimal(digits));
    (if negative { -value } else { value }, if length == 0 { 0 } else { sign + length })
}

/// Returns whether the sign is a minus, and the length of the sign in bytes (0 if there is none).
fn sign(text: &str) -> (bool, usize) {
    (text.starts_with('-'), usize::from(text.starts_with(['-', '+'])))
}

fn word(text: &str) -> Option<(f64, usize)> {
    let begins = |word: &str| text.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
    let length = ["infinity", "inf"].into_iter().find(|it| begins(it)).map(str::len);
    if let Some(length) = length {
        return Some((f64::INFINITY, length));
    }
    // Letters and digits in parentheses after nan belong to it.
    begins("nan").then(|| {
        let inside = text[3..].strip_prefix('(').map(|it| digits(it, |it| it.is_ascii_alphanumeric() || it == b'_'));
        let closed = inside.map(|it| it + 4).filter(|end| text[*end..].starts_with(')'));
        (f64::NAN, closed.map_or(3, |end| end + 1))
    })
}

/// Returns the number of leading bytes for which `is` is true.
fn digits(text: &str, is: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|it| is(*it)).count()
}

/// Returns the length in bytes, including the decimal point, and the number of digits. `None` if there is no digit.
fn mantissa(text: &str, is: impl Fn(u8) -> bool + Copy) -> Option<(usize, usize)> {
    let whole = digits(text, is);
    let fraction = text[whole..].strip_prefix('.').map(|it| digits(it, is));
    let length = whole + fraction.unwrap_or_default();
    (length > 0).then(|| (whole + fraction.map_or(0, |it| it + 1), length))
}

/// Returns the length in bytes of an exponent, and its value. The exponent begins with `letter` in upper or lower case. The value is clamped, far
/// beyond the range of a double.
fn exponent(text: &str, letter: char) -> (usize, i64) {
    let Some(rest) = text.strip_prefix([letter, letter.to_ascii_uppercase()]) else { return (0, 0) };
    let (negative, sign) = sign(rest);
    let length = digits(&rest[sign..], |it| it.is_ascii_digit());
    if length == 0 {
        return (0, 0);
    }
    let value = rest[sign..sign + length].parse().unwrap_or(i64::MAX).min(1 << 40);
    (1 + sign + length, if negative { -value } else { value })
}

fn decimal(text: &str) -> (f64, usize) {
    let Some((length, _)) = mantissa(text, |it| it.is_ascii_digit()) else { return (0.0, 0) };
    let length = length + exponent(&text[length..], 'e').0;
    // Rust and C round in the same way: to the nearest double. A number that is too large becomes infinite.
    (text[..length].parse().unwrap_or(0.0), length)
}

fn hexadecimal(text: &str) -> Option<(f64, usize)> {
    let rest = text.get(..2).filter(|it| it.eq_ignore_ascii_case("0x")).map(|_| &text[2..])?;
    let (length, _) = mantissa(rest, |it| it.is_ascii_hexdigit())?;
    let (of_exponent, exponent) = exponent(&rest[length..], 'p');
    let (mut mantissa, mut shift, mut lost, mut after_point) = (0_u64, 0_i64, false, false);
    for letter in rest[..length].chars() {
        let Some(digit) = letter.to_digit(16) else {
            after_point = true;
            continue;
        };
        // After 60 bits, it only matters whether any further digit is not 0.
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            shift -= if after_point { 4 } else { 0 };
        } else {
            lost |= digit != 0;
            shift += if after_point { 0 } else { 4 };
        }
    }
    Some((scaled(mantissa, lost, shift + exponent), 2 + length + of_exponent))
}

/// Returns the double nearest to `mantissa` * 2^`exponent`, ties to even. `lost` states whether the exact mantissa has further digits, so that it is
/// slightly larger than `mantissa`.
fn scaled(mantissa: u64, lost: bool, exponent: i64) -> f64 {
    /// The 64 bits of `mantissa`, minus the 53 bits of a double's mantissa.
    const SPARE: u32 = 11;
    if mantissa == 0 {
        return 0.0;
    }
    let up = mantissa.leading_zeros();
    // The exponent of the leading bit of the value.
    let leading = exponent - i64::from(up) + 63;
    if leading > 1_023 {
        return f64::INFINITY;
    }
    // Below 2^-1022, a double loses one bit of its mantissa for each power of two.
    let drop = i64::from(SPARE) + (-1_022 - leading).max(0);
    let wide = u128::from(mantissa << up) << 1 | u128::from(lost);
    let drop = u32::try_from(drop + 1).unwrap_or(u32::MAX).min(100);
    let (kept, half) = ((wide >> drop) as u64, 1_u128 << (drop - 1));
    let rest = wide & ((1 << drop) - 1);
    let kept = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
    // The leading bit of a normal number is not stored. Here it is part of `kept`, so it adds one to the exponent field.
    let field = u64::try_from(leading + 1_022).unwrap_or_default();
    f64::from_bits((field << 52) + kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_are_read_as_by_c() {
        for (text, expected) in [
            ("12", (12, 2)),
            ("+12", (12, 3)),
            ("12.9", (12, 2)),
            ("1e3", (1, 1)),
            ("08", (0, 1)),
            ("010", (8, 3)),
            ("0x10", (16, 4)),
            ("0XfF", (255, 4)),
            ("0x", (0, 1)),
            ("0xg", (0, 1)),
            ("0", (0, 1)),
            ("-1", (u64::MAX, 2)),
            ("-0", (0, 2)),
            ("18446744073709551615", (u64::MAX, 20)),
            ("99999999999999999999999", (u64::MAX, 23)),
            ("-99999999999999999999999", (u64::MAX, 24)),
            ("inf", (0, 0)),
            ("-", (0, 0)),
            ("", (0, 0)),
            ("ü", (0, 0)),
        ] {
            assert_eq!(integer(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_as_by_c() {
        for (text, expected) in [
            ("33.5", (33.5, 4)),
            ("-3", (-3.0, 2)),
            (".5", (0.5, 2)),
            ("5.", (5.0, 2)),
            ("1e3", (1_000.0, 3)),
            ("1E+3", (1_000.0, 4)),
            ("1e", (1.0, 1)),
            ("1e400", (f64::INFINITY, 5)),
            ("1e-400", (0.0, 6)),
            ("1e99999999999999999999", (f64::INFINITY, 22)),
            ("inf", (f64::INFINITY, 3)),
            ("-Infinity", (f64::NEG_INFINITY, 9)),
            ("infinit", (f64::INFINITY, 3)),
            ("08", (8.0, 2)),
            ("0x10", (16.0, 4)),
            ("0x1.8p3", (12.0, 7)),
            ("-0X.8P1", (-1.0, 7)),
            ("0x1p", (1.0, 3)),
            ("0x", (0.0, 1)),
            ("0x.p1", (0.0, 1)),
            ("0x1p1024", (f64::INFINITY, 8)),
            ("0x1p-1074", (5e-324, 9)),
            ("0x1p-1075", (0.0, 9)),
            ("0x1.8p-1075", (5e-324, 11)),
            ("0x1p-99999999999999999999", (0.0, 25)),
            ("0x1.fffffffffffff8p1023", (f64::INFINITY, 23)),
            // Exactly half way between two doubles, and slightly more.
            ("0x20000000000001", (9_007_199_254_740_992.0, 16)),
            ("0x20000000000001.00000000001", (9_007_199_254_740_994.0, 28)),
            ("fast", (0.0, 0)),
            (".", (0.0, 0)),
            ("+", (0.0, 0)),
            ("", (0.0, 0)),
            ("€", (0.0, 0)),
        ] {
            assert_eq!(real(text), expected, "{text}");
        }
        for (text, length) in [("nan", 3), ("-NaN(x_1)", 9), ("nan(x-1)", 3), ("nan(", 3), ("nan()", 5)] {
            let (value, read) = real(text);
            assert!(value.is_nan() && read == length, "{text}: {read}");
        }
    }

    proptest! {
        #[test]
        fn every_double_is_read_from_its_decimal_and_its_hexadecimal_digits(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let decimal = format!("{value:e}");
            prop_assert_eq!(real(&decimal), (value, decimal.len()));
            let (field, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
            let (leading, exponent) = if field == 0 { (0, -1_022) } else { (1, field as i64 - 1_023) };
            let sign = if value.is_sign_negative() { "-" } else { "" };
            let hexadecimal = format!("{sign}0x{leading}.{fraction:013x}p{exponent}");
            prop_assert_eq!(real(&hexadecimal), (value, hexadecimal.len()));
        }

        #[test]
        fn a_whole_number_is_read_from_its_digits(value: u64) {
            prop_assert_eq!(integer(&value.to_string()).0, value);
            prop_assert_eq!(integer(&format!("{value:#x}")).0, value);
            prop_assert_eq!(integer(&format!("-{value}")).0, value.wrapping_neg());
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in "\\PC{0,20}|[-+0xXpPeE.nafi()]{0,12}") {
            prop_assert!(integer(&text).1 <= text.len());
            prop_assert!(real(&text).1 <= text.len());
        }
    }
}
