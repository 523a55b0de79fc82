//! Decides when each stream sends next. Pure: times in, streams out.
//!
//! Token k of an answer is due at the arrival of the request + TTFT + k x ITL, even if earlier tokens were late. So a late server catches up, and its
//! pace does not drift.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use serde::{Deserialize, Serialize};

/// The speed of a server. If both times are zero, it answers immediately and in one write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Time from the arrival of a request to its first token.
    pub ttft: Duration,
    /// Time from one token to the next.
    pub itl: Duration,
}

impl Pace {
    /// Whether all tokens of an answer are sent together.
    pub fn is_instant(self) -> bool {
        self == Pace::default()
    }

    /// Returns how long an answer with `tokens` tokens takes.
    pub fn answer(self, tokens: u32) -> Duration {
        self.ttft + self.itl * tokens.saturating_sub(1)
    }
}

/// Identifies a stream of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stream {
    /// The slot of the stream's connection.
    pub(super) slot: u32,
    /// How many times the slot was used before. Distinguishes a stream whose connection was lost from a newer stream in the same slot.
    pub(super) generation: u32,
}

/// The streams of a server, ordered by due time.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    due: BinaryHeap<Reverse<(Duration, Stream)>>,
}

impl Pacer {
    /// Adds a stream that is due at `at`.
    pub(super) fn add(&mut self, at: Duration, stream: Stream) {
        self.due.push(Reverse((at, stream)));
    }

    /// Returns when the next stream is due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns the stream that has been due for the longest time, with its due time; `None` if none is due.
    pub(super) fn next_due(&mut self, now: Duration) -> Option<(Duration, Stream)> {
        if self.next()? > now {
            return None;
        }
        self.due.pop().map(|Reverse(it)| it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn stream(slot: u32) -> Stream {
        Stream { slot, generation: 0 }
    }

    #[test]
    fn streams_come_when_they_are_due_and_in_their_order() {
        let mut pacer = Pacer::default();
        assert_eq!((pacer.next(), pacer.next_due(millis(9))), (None, None));
        pacer.add(millis(30), stream(0));
        pacer.add(millis(10), stream(1));
        pacer.add(millis(20), stream(2));
        assert_eq!((pacer.next(), pacer.next_due(millis(9))), (Some(millis(10)), None));
        assert_eq!(pacer.next_due(millis(25)), Some((millis(10), stream(1))));
        assert_eq!(pacer.next_due(millis(25)), Some((millis(20), stream(2))));
        assert_eq!(pacer.next_due(millis(25)), None);
        assert_eq!(pacer.next_due(millis(30)), Some((millis(30), stream(0))));
    }

    #[test]
    fn a_server_that_is_late_keeps_its_pace() {
        let pace = Pace { ttft: millis(50), itl: millis(5) };
        let mut pacer = Pacer::default();
        pacer.add(millis(100) + pace.ttft, stream(0));
        let mut due = Vec::new();
        // The server checks only every 8 ms.
        for look in (0..200).step_by(8).map(millis) {
            while let Some((at, stream)) = pacer.next_due(look) {
                due.push(at);
                if due.len() < 4 {
                    pacer.add(at + pace.itl, stream);
                }
            }
        }
        assert_eq!(due, [150, 155, 160, 165].map(millis));
        assert_eq!(*due.last().unwrap(), millis(100) + pace.answer(4));
    }

    #[test]
    fn only_a_server_without_any_time_is_instant() {
        assert!(Pace::default().is_instant());
        assert!(!Pace { ttft: millis(1), itl: Duration::ZERO }.is_instant());
        assert_eq!(Pace { ttft: millis(50), itl: millis(5) }.answer(0), millis(50));
    }
}
