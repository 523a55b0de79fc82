//! The duration of each step of a request. Pure.

use super::wire_tally::Steps;
use crate::{histogram::TimeHistogram, record::RequestRecord, wire::fields};

/// Durations of the steps of successful requests. The steps queue, send, first byte, first token and tokens follow each other, and their sum is the
/// latency from the scheduled time. Build and parse are additional work of the launcher: a request is built before it is due, and bytes are
/// interpreted while the next bytes are on their way.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// From the scheduled time until the first byte is handed to the socket: the wait for a permit, the send lag, and opening a connection.
    pub queue: TimeHistogram,
    /// Building the request.
    pub build: TimeHistogram,
    /// From the first to the last byte of the request.
    pub send: TimeHistogram,
    /// From the last byte of the request to the head of the response.
    pub first_byte: TimeHistogram,
    /// From the head of the response to its first token, or to its end if the answer came in one piece.
    pub first_token: TimeHistogram,
    /// From the first token to the last token.
    pub tokens: TimeHistogram,
    /// From when bytes were read from the socket until they were interpreted, summed over the response.
    pub parse: TimeHistogram,
}

impl Breakdown {
    /// Adds a successful request. If any of its times is unknown, it is omitted from all steps.
    pub(super) fn record(&mut self, request: &RequestRecord, steps: &Steps) {
        let (Some(sent), Some(written), Some(head), Some(last)) =
            (request.sent, steps.written, steps.head, request.last_token)
        else {
            return;
        };
        let first = request.first_token.unwrap_or(last).clamp(head.min(last), last);
        // A server can begin to respond before it has read the whole request.
        let written = written.clamp(sent, head.max(sent));
        for (times, time) in [
            (&mut self.queue, sent.saturating_sub(request.scheduled)),
            (&mut self.build, steps.build),
            (&mut self.send, written - sent),
            (&mut self.first_byte, head.saturating_sub(written)),
            (&mut self.first_token, first.saturating_sub(head)),
            (&mut self.tokens, last.saturating_sub(first.max(head))),
            (&mut self.parse, steps.parse),
        ] {
            times.record(time);
        }
    }

    pub(super) fn add(&mut self, other: &Breakdown) {
        self.queue.add(&other.queue);
        self.build.add(&other.build);
        self.send.add(&other.send);
        self.first_byte.add(&other.first_byte);
        self.first_token.add(&other.first_token);
        self.tokens.add(&other.tokens);
        self.parse.add(&other.parse);
    }
}

fields!(Breakdown { queue, build, send, first_byte, first_token, tokens, parse });

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::RequestOutcome;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn request() -> RequestRecord {
        RequestRecord {
            stage: 0,
            number: 0,
            class: None,
            turn: None,
            scheduled: ms(100),
            sent: Some(ms(130)),
            permit_wait: Some(ms(20)),
            first_token: Some(ms(180)),
            last_token: Some(ms(400)),
            ended: ms(401),
            outcome: RequestOutcome::Ok,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            output_tokens: Some(5),
            content_events: 5,
            replica: None,
        }
    }

    fn sums(steps: Steps) -> [u128; 7] {
        let mut breakdown = Breakdown::default();
        breakdown.record(&request(), &steps);
        let Breakdown { queue, build, send, first_byte, first_token, tokens, parse } = &breakdown;
        [queue, build, send, first_byte, first_token, tokens, parse].map(|it| it.totals().sum / 1_000_000)
    }

    #[test]
    fn the_steps_of_a_request_come_to_its_latency() {
        let steps = Steps { build: ms(7), written: Some(ms(135)), head: Some(ms(170)), parse: ms(3) };
        let found = sums(steps);
        assert_eq!(found, [30, 7, 5, 35, 10, 220, 3]);
        let [queue, _, send, first_byte, first_token, tokens, _] = found;
        assert_eq!(
            queue + send + first_byte + first_token + tokens,
            request().latency_scheduled().unwrap().as_millis()
        );
    }

    #[test]
    fn an_answer_that_begins_before_the_request_has_ended_takes_no_time_to_its_first_byte() {
        let steps = Steps { written: Some(ms(300)), head: Some(ms(170)), ..Steps::default() };
        assert_eq!(sums(steps), [30, 0, 40, 0, 10, 220, 0]);
    }

    #[test]
    fn a_request_without_all_its_times_is_in_no_step() {
        assert_eq!(sums(Steps { written: Some(ms(140)), ..Steps::default() }), [0; 7]);
        assert_eq!(sums(Steps { head: Some(ms(140)), build: ms(1), ..Steps::default() }), [0; 7]);
    }
}
