//! Compares Kubernetes quantities.

/// Converts a quantity, such as `500m`, `2`, `1e3` or `8Gi`, to billionths of its unit. `None` if the text is not a quantity. A value that is too
/// large for the type becomes the largest value.
pub(super) fn nano(text: &str) -> Option<u128> {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let (factor, exponent) = scale(suffix)?;
    let mut value = digits_of(whole)?.saturating_mul(1_000_000_000);
    // Decimals after the ninth are ignored.
    let part: String = part.chars().take(9).collect();
    value = value.saturating_add(digits_of(&format!("{part:0<9}"))?);
    value = value.saturating_mul(factor);
    Some(match exponent {
        0.. => value.saturating_mul(10_u128.saturating_pow(exponent.unsigned_abs())),
        _ => value / 10_u128.saturating_pow(exponent.unsigned_abs()),
    })
}

fn digits_of(text: &str) -> Option<u128> {
    if text.is_empty() {
        return Some(0);
    }
    // A number that is too large for the type exceeds any limit, so the largest value represents it.
    text.bytes().all(|it| it.is_ascii_digit()).then(|| text.parse().unwrap_or(u128::MAX))
}

/// The factor of a suffix, as a number and a power of ten to multiply it with.
fn scale(suffix: &str) -> Option<(u128, i32)> {
    const KIBI: u128 = 1024;
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (KIBI, 0),
        "Mi" => (KIBI.pow(2), 0),
        "Gi" => (KIBI.pow(3), 0),
        "Ti" => (KIBI.pow(4), 0),
        "Pi" => (KIBI.pow(5), 0),
        "Ei" => (KIBI.pow(6), 0),
        _ => (1, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::nano;

    #[test]
    fn quantities_are_compared_by_their_value() {
        let one = Some(1_000_000_000);
        for text in ["1", "1.0", "1000m", "1e0", "0.001k", "1000000u"] {
            assert_eq!(nano(text), one, "{text}");
        }
        assert_eq!(nano("1Gi"), nano("1024Mi"));
        assert_eq!(nano("1E"), nano("1e18"));
        assert!(nano("1G") < nano("1Gi"));
        assert!(nano("1e-9") == Some(1) && nano("1e-12") == Some(0));
        assert_eq!(nano(&"9".repeat(60)), Some(u128::MAX));
        for text in ["", ".", "1GB", "-1", "e3", "1e"] {
            assert_eq!(nano(text), None, "{text}");
        }
    }
}
