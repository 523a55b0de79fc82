//! A completed sample, with the values that LoadGen's figures need.

use std::time::Duration;

use crate::logs::messages::Event;
use measurement::record::RequestRecord;

/// A completed sample. Times are in nanoseconds, from the scheduled time of its query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedSample {
    pub latency_ns: i64,
    /// `None` if the response was not streamed, as in Offline, or if no first token arrived.
    pub first_token_ns: Option<i64>,
    pub output_tokens: i64,
}

impl CompletedSample {
    /// Returns the completed sample of a request; `None` if the request failed. As in LoadGen, latency is the time from the scheduled time to the end
    /// of the response.
    pub fn from_record(record: &RequestRecord) -> Option<CompletedSample> {
        record.outcome.is_complete().then(|| CompletedSample {
            latency_ns: nanos(record.ended.saturating_sub(record.scheduled)),
            first_token_ns: record.first_token.map(|it| nanos(it.saturating_sub(record.scheduled))),
            output_tokens: i64::from(record.osl()),
        })
    }

    pub fn counted_tokens(&self) -> i64 {
        counted_tokens(self.output_tokens)
    }

    /// Returns the time per output token after the first, in nanoseconds. As in LoadGen, it is negative for fewer than two tokens: these count as 0,
    /// so the divisor is -1. Not used in Offline, which has no first token.
    pub fn per_token_ns(&self) -> i64 {
        let after_first = self.latency_ns.saturating_sub(self.first_token_ns.unwrap_or_default());
        after_first.saturating_div(self.counted_tokens() - 1)
    }

    /// Returns the error that LoadGen logs if the number of tokens is too small.
    pub fn error(&self) -> Option<Event> {
        match self.output_tokens {
            0 => Some(Event::NoTokens),
            1 => Some(Event::OneToken),
            ..0 => Some(Event::NegativeTokens),
            2.. => None,
        }
    }
}

/// Converts to signed nanoseconds, as LoadGen uses them.
pub fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the number of tokens that LoadGen counts: 0 if the response has fewer than two.
pub fn counted_tokens(output_tokens: i64) -> i64 {
    if output_tokens < 2 { 0 } else { output_tokens }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(latency: i64, first: i64, tokens: i64, expected: (i64, i64), error: Option<Event>) {
        let sample = CompletedSample { latency_ns: latency, first_token_ns: Some(first), output_tokens: tokens };
        assert_eq!((sample.counted_tokens(), sample.per_token_ns()), expected);
        assert_eq!(sample.error(), error);
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
