//! Reads numbers from the log texts of an engine.

/// Larger numbers are ignored: 1e9 seconds are 32 years, and 1e9 GiB exceed the memory of any machine.
const MOST: f64 = 1e9;

/// Returns the first number that follows `after`, which can be empty. A number can have commas between groups of three digits. `None` if the number
/// is negative or above [`MOST`].
pub(crate) fn number(text: &str, after: &str) -> Option<f64> {
    let text = &text[text.find(after)? + after.len()..];
    let from = text.find(|it: char| it.is_ascii_digit())?;
    if text[..from].ends_with('-') {
        return None;
    }
    let bytes = &text.as_bytes()[from..];
    let mut digits = String::new();
    let mut at = 0;
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    while at < bytes.len() {
        match bytes[at] {
            it @ b'0'..=b'9' => digits.push(char::from(it)),
            b'.' if is_digit(at + 1) && !digits.contains('.') => digits.push('.'),
            b',' if (1..=3).all(|it| is_digit(at + it)) && !is_digit(at + 4) && !digits.contains('.') => {}
            _ => break,
        }
        at += 1;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = bytes[at + 1 + sign..].iter().take_while(|it| it.is_ascii_digit()).count();
        if (1..=3).contains(&exponent) {
            digits.push('e');
            digits.extend(bytes[at + 1..at + 1 + sign + exponent].iter().map(|it| char::from(*it)));
        }
    }
    digits.parse().ok().filter(|it: &f64| *it <= MOST)
}
