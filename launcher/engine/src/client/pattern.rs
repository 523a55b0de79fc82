//! Recognises events that differ from an earlier event only in their text, without parsing them as JSON. Pure.
//!
//! Nearly every event of a stream is the same as the previous one, except for the text. For one event, the parser finds the position of the
//! text. Then [`Chunk`] proves that nothing else matters: the same event with an empty text must be a token without text. From then on, an
//! event with the same bytes around another plain text counts as output. All other events, and texts with a backslash, are parsed as JSON.

use memchr::{memchr2, memmem};

use super::chunk::{Choices, Chunk};

/// The keys under which servers send text.
const KEYS: [&str; 4] = ["\"content\"", "\"text\"", "\"reasoning\"", "\"reasoning_content\""];
/// Maximum length of an event from which a pattern is derived, in bytes. Longer events hold other data that changes from event to event.
const LONGEST: usize = 1_024;

/// An event without its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    around: Box<[u8]>,
    /// The offset at which the text belongs.
    at: usize,
}

impl Pattern {
    /// Derives a pattern from an event. Returns `None` if the event holds more than output, or if something other than the text decides whether it is
    /// output.
    pub(super) fn from_event(event: &[u8]) -> Option<Pattern> {
        if event.len() > LONGEST {
            return None;
        }
        let mut texts = KEYS.iter().flat_map(|key| memmem::find_iter(event, key).map(|at| at + key.len()));
        let mut texts = texts.by_ref().filter_map(|after| text(event, after));
        let (start, end) = texts.next().filter(|(start, end)| start < end)?;
        if texts.next().is_some() {
            return None;
        }
        let around: Box<[u8]> = [&event[..start], &event[end..]].concat().into();
        let (with, without) = (plain(event)?, plain(&around)?);
        let decides = with.output && !without.output && without.silent_token && with.seen == without.seen;
        decides.then_some(Pattern { around, at: start })
    }

    /// Whether an event of this pattern holds text; `None` if the event does not match the pattern.
    pub(super) fn has_text(&self, event: &[u8]) -> Option<bool> {
        let (before, after) = self.around.split_at(self.at);
        let text = event.strip_prefix(before)?.strip_suffix(after)?;
        let plain = text.iter().all(|it| *it >= b' ' && *it != b'"' && *it != b'\\');
        plain.then_some(!text.is_empty())
    }
}

/// Returns the choices of an event that has no error, usage or finish reason.
fn plain(event: &[u8]) -> Option<Choices> {
    let chunk = Chunk::parse(event).ok()?;
    (!chunk.is_error() && chunk.usage.is_none() && chunk.choices.finish.is_none()).then_some(chunk.choices)
}

/// Returns start and end of the string value whose key ends at offset `after`; `None` if the value is not a string.
fn text(event: &[u8], after: usize) -> Option<(usize, usize)> {
    let mut rest = event.get(after..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let start = event.len() - rest.len();
    loop {
        let at = memchr2(b'"', b'\\', rest)?;
        if rest[at] == b'"' {
            return Some((start, event.len() - rest.len() + at));
        }
        rest = rest.get(at + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHAT: &str =
        r#"{"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"logprobs":null,"finish_reason":null}]}"#;
    const COMPLETION: &str = r#"{"id": "a", "choices": [{"index": 0, "text": "TEXT", "finish_reason": null}]}"#;
    const REASONING: &str = r#"{"choices":[{"index":0,"delta":{"reasoning":"TEXT"},"finish_reason":null}]}"#;

    fn event(form: &str, text: &str) -> String {
        form.replace("TEXT", text)
    }

    fn pattern(form: &str) -> Pattern {
        Pattern::from_event(event(form, "word").as_bytes()).unwrap_or_else(|| panic!("{form} has no pattern"))
    }

    #[test]
    fn an_event_of_the_same_shape_is_known_by_its_text() {
        for form in [CHAT, COMPLETION, REASONING] {
            let pattern = pattern(form);
            for (text, expected) in
                [(" other", Some(true)), ("é€😀", Some(true)), ("", Some(false)), ("}]", Some(true))]
            {
                assert_eq!(pattern.has_text(event(form, text).as_bytes()), expected, "{text:?} in {form}");
            }
        }
    }

    #[test]
    fn what_may_mean_something_else_is_not_known() {
        let pattern = pattern(CHAT);
        for other in [
            event(CHAT, "a\\n"),
            event(CHAT, "a\u{1}b"),
            event(CHAT, r#"a","role":"b"#),
            event(CHAT, "a").replace("null}]", "\"stop\"}]"),
            event(CHAT, "a").replace("\"index\":0", "\"index\":1"),
            event(CHAT, "a").replace("}]}", "}],\"usage\":{\"completion_tokens\":1}}"),
            event(COMPLETION, "a"),
            String::new(),
            CHAT[..60].to_owned(),
        ] {
            assert_eq!(pattern.has_text(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn no_pattern_is_made_where_more_than_the_text_decides() {
        for event in [
            // In this order: a role chunk, a finish reason, an error, a usage, two texts, a tool call, no text, a text with another
            // meaning, no JSON.
            r#"{"choices":[{"delta":{"role":"assistant","content":"a"}}]}"#,
            r#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#,
            r#"{"error":{"message":"m"},"choices":[{"text":"a"}]}"#,
            r#"{"choices":[{"text":"a"}],"usage":{"completion_tokens":3}}"#,
            r#"{"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}]}"#,
            r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0}]}}]}"#,
            r#"{"choices":[{"delta":{"content":null}}]}"#,
            r#"{"choices":[{"delta":{},"logprobs":{"text":"a"}}]}"#,
            r#"{"choices":[{"text":"a""#,
            "[DONE]",
        ] {
            assert_eq!(Pattern::from_event(event.as_bytes()), None, "{event}");
        }
        assert_eq!(Pattern::from_event(event(CHAT, &"x".repeat(LONGEST)).as_bytes()), None);
        assert!(Pattern::from_event(event(CHAT, "say \\\"content\\\": \\\"no\\\"").as_bytes()).is_some());
    }

    proptest! {
        #[test]
        fn what_a_pattern_says_is_what_the_json_says(
            form in prop::sample::select(vec![CHAT, COMPLETION, REASONING]),
            text in "\\PC{0,12}|[\"\\\\n{}:,a-z]{0,12}",
        ) {
            let event = event(form, &text);
            if let Some(has_text) = pattern(form).has_text(event.as_bytes()) {
                let choices = plain(event.as_bytes()).unwrap();
                prop_assert_eq!((choices.output, choices.silent_token), (has_text, !has_text));
            }
        }
    }
}
