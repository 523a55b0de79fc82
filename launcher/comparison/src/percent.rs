//! Percentages as text.

/// A percentage with its sign and one decimal.
pub(crate) fn tenths(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_owned() } else { text }
}

/// A percentage above 0, rounded up to one decimal.
pub(crate) fn rounded_up(it: f64) -> String {
    format!("{:.1} %", (it * 10.0).ceil() / 10.0)
}
