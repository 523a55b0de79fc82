//! Writes percentages as text.

/// A percentage with its sign and one decimal place.
pub(crate) fn tenths(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if matches!(text.as_str(), "+0.0" | "-0.0") { "0.0".to_owned() } else { text }
}

/// A percentage above 0, rounded up to one decimal place.
pub(crate) fn rounded_up(it: f64) -> String {
    format!("{:.1} %", (it * 10.0).ceil() / 10.0)
}

/// If an end of an interval is further from 0 than this, in percent, its number has no information: a time cannot decrease by more than 100 %.
const WIDEST_SHOWN: f64 = 100.0;

/// An interval that contains 0, as text: `-1.5 to +3.3 %`, or `possibly over 100 %` if it reaches beyond -100 % or +100 %. An interval that excludes
/// 0 is always shown with its ends, because the figure can be several times as large.
pub(crate) fn interval([low, high]: [f64; 2]) -> String {
    let is_around_zero = low <= 0.0 && high >= 0.0;
    match is_around_zero && (low < -WIDEST_SHOWN || high > WIDEST_SHOWN) {
        true => format!("possibly over {WIDEST_SHOWN} %"),
        false => format!("{} to {} %", tenths(low), tenths(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_useless_interval_are_not_shown() {
        assert_eq!(interval([-1.46, 3.34]), "-1.5 to +3.3 %");
        assert_eq!(interval([-100.0, 100.0]), "-100.0 to +100.0 %");
        for wide in [[-340.0, 12.0], [-99.0, 9_000.0], [-1e9, 1e9]] {
            assert_eq!(interval(wide), "possibly over 100 %", "{wide:?}");
        }
        assert_eq!(interval([190.0, 230.0]), "+190.0 to +230.0 %");
    }
}
