//! Writes the prompt of a turn: messages for a chat, or one text for a completion. Pure.

use std::{collections::VecDeque, fmt::Write as _};

use crds::benchmark_run::Api;
use workload_profiles::workload::PromptForm;

use super::turn::{Opening, PastTurn};

/// The format of session prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptStyle {
    /// A JSON list of chat messages.
    Messages,
    /// All texts joined with spaces.
    Joined,
}

impl PromptStyle {
    pub(crate) fn new(api: Api) -> PromptStyle {
        if api.has_messages() { PromptStyle::Messages } else { PromptStyle::Joined }
    }

    /// Returns the form of such a prompt.
    pub(crate) fn form(self) -> PromptForm {
        match self {
            PromptStyle::Messages => PromptForm::Messages,
            PromptStyle::Joined => PromptForm::Text,
        }
    }

    /// Appends the prompt of a turn.
    pub(super) fn write(self, opening: &Opening, past: &VecDeque<PastTurn>, user: &str, text: &mut String) {
        let said = past.iter().map(PastTurn::bytes).sum::<usize>();
        text.reserve(opening.system.len() + opening.prefix.len() + said + user.len() + 64 * (past.len() + 2));
        match self {
            PromptStyle::Joined => {
                join(&opening.system, text);
                join(&opening.prefix, text);
                for turn in past {
                    join(&turn.user, text);
                    join(&turn.answer, text);
                }
                join(user, text);
            }
            PromptStyle::Messages => {
                text.push('[');
                if !opening.system.is_empty() {
                    message("system", ["", &opening.system], text);
                }
                let mut prefix = &*opening.prefix;
                for turn in past {
                    message("user", [prefix, &turn.user], text);
                    message("assistant", ["", &turn.answer], text);
                    prefix = "";
                }
                message("user", [prefix, user], text);
                text.push(']');
            }
        }
    }
}

/// Appends a text. A space separates it from the text before, unless there already is white space.
fn join(more: &str, text: &mut String) {
    let touches = |letter: Option<char>| letter.is_none_or(char::is_whitespace);
    if !more.is_empty() && !touches(text.chars().next_back()) && !touches(more.chars().next()) {
        text.push(' ');
    }
    text.push_str(more);
}

/// Appends a chat message whose content is the two parts joined. A comma precedes it unless it is the first message.
pub(crate) fn message(role: &str, [before, content]: [&str; 2], text: &mut String) {
    if !text.ends_with('[') {
        text.push(',');
    }
    text.push_str("{\"role\":\"");
    text.push_str(role);
    text.push_str("\",\"content\":\"");
    escape(before, text);
    if !before.is_empty() && !content.is_empty() {
        text.push(' ');
    }
    escape(content, text);
    text.push_str("\"}");
}

/// Appends a text, escaped for a JSON string.
fn escape(mut more: &str, text: &mut String) {
    while let Some(place) = more.bytes().position(|it| it < b' ' || it == b'"' || it == b'\\') {
        text.push_str(&more[..place]);
        match more.as_bytes()[place] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            control => write!(text, "\\u{control:04x}").expect("a String takes everything"),
        }
        more = &more[place + 1..];
    }
    text.push_str(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(style: PromptStyle, system: &str, prefix: &str, past: &[(&str, &str)], user: &str, expected: &str) {
        let opening = Opening { system: system.into(), prefix: prefix.into(), tokens: 0 };
        let past = past.iter().map(|(user, answer)| PastTurn::new((*user).into(), (*answer).into(), 0)).collect();
        let mut text = String::new();
        style.write(&opening, &past, user, &mut text);
        assert_eq!(text, expected);
        if style == PromptStyle::Messages {
            assert!(serde_json::from_str::<Vec<serde_json::Value>>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_chat_has_a_message_for_each_text() {
        let expected = r#"[{"role":"system","content":"s"},{"role":"user","content":"p a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]"#;
        check(PromptStyle::Messages, "s", "p", &[("a", "b")], "c", expected);
        check(PromptStyle::Messages, "", "p", &[], "c", r#"[{"role":"user","content":"p c"}]"#);
        let odd = "\"\\\n\t\u{1}é";
        let mut text = String::new();
        message("user", ["", odd], &mut text);
        let read: serde_json::Value = serde_json::from_str(text.trim_start_matches(',')).unwrap();
        assert_eq!(read["content"], odd);
    }

    #[test]
    fn a_completion_joins_the_texts_with_one_space() {
        check(PromptStyle::Joined, "s", "p", &[("a", " b")], "c", "s p a b c");
        check(PromptStyle::Joined, "", "", &[("a", ""), ("b", "x\n")], "c", "a b x\nc");
    }
}
