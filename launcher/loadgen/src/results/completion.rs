//! Completion: what a completed sample adds to the figures when tokens are counted.

use crate::logs::messages::Event;

/// The tokens of a completed sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFigures {
    /// As they are counted: 0 where there were too few.
    pub tokens: i64,
    /// Nanoseconds an output token after the first; negative where there were too few.
    pub per_token_ns: i64,
    /// What LoadGen logs of it.
    pub error: Option<Event>,
}

impl TokenFigures {
    /// The figures of a sample with this latency and first-token latency, both from its scheduled time. Offline there are no
    /// first tokens, and the time is not used.
    pub fn of(latency_ns: i64, first_token_ns: Option<i64>, tokens: i64) -> TokenFigures {
        let (counted, error) = match tokens {
            0 => (0, Some(Event::NoTokens)),
            1 => (0, Some(Event::OneToken)),
            ..0 => (0, Some(Event::NegativeTokens)),
            2.. => (tokens, None),
        };
        // Without tokens the divisor is -1, which makes the time negative; LoadGen does so too.
        let after_first = latency_ns.saturating_sub(first_token_ns.unwrap_or_default());
        TokenFigures { tokens: counted, per_token_ns: after_first.saturating_div(counted - 1), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(latency: i64, first: i64, tokens: i64, expected: (i64, i64), error: Option<Event>) {
        let found = TokenFigures::of(latency, Some(first), tokens);
        assert_eq!(found, TokenFigures { tokens: expected.0, per_token_ns: expected.1, error });
    }

    #[test]
    fn the_time_is_that_between_tokens_cut_to_nanoseconds() {
        check(1_000, 100, 10, (10, 100), None);
        check(1_000, 100, 8, (8, 128), None);
        check(1_000, 100, 2, (2, 900), None);
    }

    #[test]
    fn too_few_tokens_are_an_error_and_a_negative_time() {
        check(1_000, 100, 1, (0, -900), Some(Event::OneToken));
        check(1_000, 100, 0, (0, -900), Some(Event::NoTokens));
        check(1_000, 100, -5, (0, -900), Some(Event::NegativeTokens));
        check(i64::MIN, 1, 0, (0, i64::MAX), Some(Event::NoTokens));
    }
}
