//! LoadGen's messages in its detail log, except for figures, word for word.

use std::time::Duration;

/// Maximum number of messages kept per phase. Further messages are only counted, so that a log has at most a few megabytes.
const MOST: usize = 2_000;

/// An event in the detail log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the texts below say what the fields are")]
pub enum Event {
    /// The phase had enough queries and lasted long enough.
    EndingNaturally,
    /// All generated queries were issued before the phase could end.
    RanOut,
    TooManyOutstanding {
        thread: u64,
        issued: u64,
        outstanding: u64,
    },
    MaxQueryCount {
        thread: u64,
        issued: u64,
    },
    MaxDuration {
        thread: u64,
        duration: Duration,
    },
    NoTokens,
    OneToken,
    NegativeTokens,
    /// An error during a phase. Some of these errors exist only in this launcher.
    Runtime(String),
    /// A warning.
    Warning(String),
    /// Information.
    Note(String),
}

/// How severe an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Information only.
    Note,
    /// Counted as a warning.
    Warning,
    /// Counted as an error.
    Error,
}

impl Event {
    /// Returns how severe the event is.
    pub fn level(&self) -> Level {
        match self {
            Event::EndingNaturally | Event::Note(_) => Level::Note,
            Event::Warning(_) => Level::Warning,
            _ => Level::Error,
        }
    }

    /// Whether the message explains why no more queries were issued.
    fn is_ending(&self) -> bool {
        matches!(
            self,
            Event::EndingNaturally
                | Event::RanOut
                | Event::TooManyOutstanding { .. }
                | Event::MaxQueryCount { .. }
                | Event::MaxDuration { .. }
        )
    }

    /// Returns the key of the event in the detail log.
    pub fn key(&self) -> &'static str {
        match self {
            Event::EndingNaturally | Event::Note(_) => "generic_message",
            Event::Warning(_) => "warning_generic_message",
            _ => "error_runtime",
        }
    }

    /// Returns the text of the event.
    pub fn text(&self) -> String {
        let early = |thread: &u64| format!("IssueQueryThread {thread} Ending early: ");
        match self {
            Event::EndingNaturally => "Ending naturally: Minimum query count and test duration met.".into(),
            Event::RanOut => {
                "Ending early: Ran out of generated queries to issue before the minimum query count and test \
                              duration were reached. Please update the relevant expected latency or target qps in the \
                              TestSettings so they are more accurate."
                    .into()
            }
            Event::TooManyOutstanding { thread, issued, outstanding } => {
                early(thread) + &format!("Too many outstanding queries. issued {issued} outstanding {outstanding}")
            }
            Event::MaxQueryCount { thread, issued } => {
                early(thread) + &format!("Max query count reached. query_count {issued}")
            }
            Event::MaxDuration { thread, duration } => {
                early(thread) + &format!("Max test duration reached. duration_ns {}", duration.as_nanos())
            }
            Event::NoTokens => "n_tokens argument missing or attempted to record 0 as number of tokens".into(),
            Event::OneToken => "Number of tokens need to be greater than 1".into(),
            Event::NegativeTokens => "Attempted to record a negative number of tokens".into(),
            Event::Runtime(text) | Event::Warning(text) | Event::Note(text) => text.clone(),
        }
    }
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Time since the start of the test.
    pub at: Duration,
    pub event: Event,
}

/// The messages of a phase, in order of time. The number of kept messages is limited, but all are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    kept: Vec<Message>,
    errors: u64,
    warnings: u64,
}

impl Messages {
    /// Adds a message.
    pub fn push(&mut self, at: Duration, event: Event) {
        match event.level() {
            Level::Note => {}
            Level::Warning => self.warnings += 1,
            Level::Error => self.errors += 1,
        }
        // The message on why the phase ended is kept even if the limit is reached.
        if self.kept.len() < MOST || event.is_ending() {
            self.kept.push(Message { at, event });
        }
    }

    /// Moves all messages later by this time.
    pub(crate) fn delay(&mut self, by: Duration) {
        self.kept.iter_mut().for_each(|it| it.at += by);
    }

    /// Returns the messages that were kept.
    pub fn kept(&self) -> &[Message] {
        &self.kept
    }

    /// Returns the number of all errors.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Returns the number of all warnings.
    pub fn warnings(&self) -> u64 {
        self.warnings
    }

    /// Returns the number of errors and warnings that were not kept.
    pub fn left_out(&self) -> u64 {
        let told = self.kept.iter().filter(|it| it.event.level() != Level::Note).count() as u64;
        (self.errors + self.warnings).saturating_sub(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(event: Event, level: Level, key: &str, text: &str) {
        assert_eq!((event.level(), event.key(), event.text().as_str()), (level, key, text));
    }

    #[test]
    fn texts_are_those_of_loadgen() {
        check(
            Event::EndingNaturally,
            Level::Note,
            "generic_message",
            "Ending naturally: Minimum query count and test duration met.",
        );
        check(
            Event::TooManyOutstanding { thread: 0, issued: 6, outstanding: 6 },
            Level::Error,
            "error_runtime",
            "IssueQueryThread 0 Ending early: Too many outstanding queries. issued 6 outstanding 6",
        );
        check(
            Event::MaxDuration { thread: 0, duration: Duration::from_nanos(150_236_913) },
            Level::Error,
            "error_runtime",
            "IssueQueryThread 0 Ending early: Max test duration reached. duration_ns 150236913",
        );
        check(Event::Warning("w".into()), Level::Warning, "warning_generic_message", "w");
    }

    #[test]
    fn a_flood_is_counted_and_not_kept() {
        let mut messages = Messages::default();
        for _ in 0..MOST + 5 {
            messages.push(Duration::ZERO, Event::OneToken);
        }
        messages.push(Duration::ZERO, Event::EndingNaturally);
        assert_eq!((messages.kept().len(), messages.errors(), messages.left_out()), (MOST + 1, MOST as u64 + 5, 5));
        messages.push(Duration::ZERO, Event::RanOut);
        messages.push(Duration::ZERO, Event::MaxQueryCount { thread: 0, issued: 9 });
        assert_eq!((messages.kept().len(), messages.left_out()), (MOST + 3, 5));
    }
}
