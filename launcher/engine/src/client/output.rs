//! The output of an answer, if it is kept: the token ids and the text of the first choice. Pure.

use std::fmt;

use measurement::output::Output;

use super::chunk::FirstChoice;

/// Maximum number of token ids kept per answer: twice the longest answer that a profile may request.
const MAX_IDS: usize = 4_000_000;
/// Maximum length of a kept text, in bytes.
const MAX_TEXT: usize = 64 << 20;

/// A callback that is called once, when an answer's first output arrives, with the token ids received so far.
pub struct FirstOutput(Box<Tell>);

type Tell = dyn FnOnce(&[u32]) + Send;

impl FirstOutput {
    pub fn new(tell: impl FnOnce(&[u32]) + Send + 'static) -> FirstOutput {
        FirstOutput(Box::new(tell))
    }
}

impl fmt::Debug for FirstOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FirstOutput")
    }
}

/// The reason why an output cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OutputError {
    #[error("the token_ids of an event are no list of whole numbers below 2^32")]
    NoIds,
    #[error("the answer has more than {MAX_IDS} token ids; ask for shorter ones")]
    TooManyIds,
    #[error("the text of the answer is longer than {MAX_TEXT} bytes; ask for shorter ones")]
    TooLong,
}

/// The output received so far.
#[derive(Debug, Default)]
pub(super) struct Kept {
    output: Output,
    /// Whether any event had output.
    has_begun: bool,
    pub(super) first: Option<FirstOutput>,
}

impl Kept {
    /// Returns the output of one choice, when one response holds the answers to several prompts.
    pub(super) fn of_choice(token_ids: Vec<u32>, text: String) -> Kept {
        Kept {
            output: Output { first: token_ids.len(), token_ids, text, first_logprobs: Vec::new() },
            has_begun: true,
            first: None,
        }
    }

    /// Adds an event. `output` states whether [`Chunk`](super::chunk::Chunk) found output in it.
    pub(super) fn add(&mut self, event: &[u8], output: bool) -> Result<(), OutputError> {
        let Some(choice) = FirstChoice::read(event, output).map_err(|_| OutputError::NoIds)? else { return Ok(()) };
        let Output { token_ids, first, text, first_logprobs } = &mut self.output;
        if token_ids.len() + choice.token_ids.len() > MAX_IDS {
            return Err(OutputError::TooManyIds);
        }
        if text.len() + choice.text.len() > MAX_TEXT {
            return Err(OutputError::TooLong);
        }
        token_ids.extend(choice.token_ids);
        text.push_str(&choice.text);
        if first_logprobs.is_empty() {
            *first_logprobs = choice.first_logprobs;
        }
        if !self.has_begun && (output || *first == 0) {
            *first = token_ids.len();
        }
        self.has_begun |= output;
        if output && let Some(FirstOutput(tell)) = self.first.take() {
            tell(&token_ids[..*first]);
        }
        Ok(())
    }

    /// Returns the number of token ids that had arrived with the first event with output; `None` if there were none by then.
    pub(super) fn first_ids(&self) -> Option<u32> {
        let first = u32::try_from(self.output.first).ok()?;
        Some(first).filter(|it| *it > 0 && self.has_begun)
    }

    pub(super) fn into_output(self) -> Output {
        self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str, ids: &[u32]) -> String {
        format!(r#"{{"choices":[{{"text":"{text}","token_ids":{ids:?}}}]}}"#)
    }

    /// Adds events and checks the kept output. Events with text count as output.
    fn check(events: &[(&str, &[u32])], first: usize) {
        let mut kept = Kept::default();
        for (text, ids) in events {
            kept.add(event(text, ids).as_bytes(), !text.is_empty()).unwrap();
        }
        let token_ids = events.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let text = events.iter().map(|(text, _)| *text).collect();
        assert_eq!(kept.into_output(), Output { token_ids, first, text, ..Output::default() }, "{events:?}");
    }

    #[test]
    fn the_first_ids_are_those_that_came_with_the_first_output() {
        check(&[("a", &[1]), ("b", &[2])], 1);
        check(&[("ab", &[1, 2, 3]), ("c", &[4])], 3);
        check(&[("", &[1]), ("", &[2]), ("a", &[3, 4]), ("", &[5])], 4);
        check(&[("", &[1, 2]), ("", &[3])], 2);
        check(&[("a", &[]), ("b", &[])], 0);
        check(&[("a", &[]), ("b", &[1])], 0);
        check(&[], 0);
    }

    #[test]
    fn the_log_probabilities_are_those_of_the_first_token() {
        let event = |logprobs: &str| format!(r#"{{"choices":[{{"text":"a","logprobs":{logprobs}}}]}}"#);
        let mut kept = Kept::default();
        for logprobs in ["null", r#"{"top_logprobs":[{"A":-1,"B":-2.5}]}"#, r#"{"top_logprobs":[{"C":-1}]}"#] {
            kept.add(event(logprobs).as_bytes(), true).unwrap();
        }
        assert_eq!(kept.into_output().first_logprobs, [("A".to_owned(), -1.0), ("B".to_owned(), -2.5)]);
    }

    #[test]
    fn the_first_output_is_told_once() {
        let (sender, told) = std::sync::mpsc::channel();
        let tell = move |ids: &[u32]| sender.send(ids.to_vec()).unwrap();
        let mut kept = Kept { first: Some(FirstOutput::new(tell)), ..Kept::default() };
        kept.add(event("", &[1]).as_bytes(), false).unwrap();
        assert!(told.try_recv().is_err());
        kept.add(event("a", &[2, 3]).as_bytes(), true).unwrap();
        kept.add(event("b", &[4]).as_bytes(), true).unwrap();
        assert_eq!(told.into_iter().collect::<Vec<_>>(), [[1, 2, 3]]);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut kept = Kept::default();
        kept.output.token_ids = vec![7; MAX_IDS - 1];
        assert_eq!(kept.add(event("a", &[1]).as_bytes(), true), Ok(()));
        assert_eq!(kept.add(event("a", &[1]).as_bytes(), true), Err(OutputError::TooManyIds));
        let mut kept = Kept::default();
        kept.output.text = "x".repeat(MAX_TEXT);
        assert_eq!(kept.add(event("", &[1]).as_bytes(), false), Ok(()));
        assert_eq!(kept.add(event("a", &[1]).as_bytes(), true), Err(OutputError::TooLong));
        assert_eq!(kept.add(br#"{"choices":[{"token_ids":[-1]}]}"#, false), Err(OutputError::NoIds));
    }
}
