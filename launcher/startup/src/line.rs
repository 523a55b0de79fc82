//! Splits a log line into time, process, level and message.

use std::borrow::Cow;

use crate::{
    stamp::{self, Stamp},
    startup::Process,
};

/// In a line without a time stamp, the process must be within this many bytes from the start. A container may put a prefix before it.
const PROCESS_WITHIN: usize = 128;
/// Maximum bytes of a process name.
const MAX_NAME: usize = 64;
/// The name of the source file comes before the message. It must end within this many bytes after the time stamp.
const SOURCE_WITHIN: usize = 160;

/// A log line without colour codes, split into its parts.
pub(crate) struct Parts<'a> {
    pub stamp: Option<Stamp>,
    pub process: Option<Process>,
    pub is_error: bool,
    /// The whole line.
    pub text: &'a str,
    /// The position in `text` at which the message begins. If the message is indented, that is before its indentation.
    pub message_at: usize,
}

impl<'a> Parts<'a> {
    pub fn message(&self) -> &'a str {
        &self.text[self.message_at..]
    }
}

/// The text without terminal colour codes.
pub(crate) fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        clean.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.find(|it: char| !(it.is_ascii_digit() || it == ';')).unwrap_or(sequence.len());
        let last = sequence[end..].chars().next().map_or(0, char::len_utf8);
        rest = &sequence[end + last..];
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

pub(crate) fn take_apart(text: &str) -> Parts<'_> {
    // One space after the prefix is not part of the message.
    let behind = |at: usize| at + usize::from(text[at..].starts_with(' '));
    let Some(found) = stamp::find(text) else {
        let end = text.floor_char_boundary(PROCESS_WITHIN);
        let (process, after) = bracketed(&text[..end]).unzip();
        return Parts { stamp: None, process, is_error: false, text, message_at: after.map_or(0, behind) };
    };
    let (before, after) = (&text[..found.from], &text[found.to..]);
    // SGLang: `[2026-02-04 11:30:29 DP0 TP1] Load weight begin.`
    if before.ends_with('[')
        && let Some(end) = after.find(']')
    {
        let name = after[..end].trim();
        let process = (!name.is_empty()).then(|| Process { name: cut(name, MAX_NAME).to_owned(), pid: None });
        let message_at = behind(found.to + end + 1);
        let is_error = text[message_at..].starts_with("ERROR");
        return Parts { stamp: Some(found.stamp), process, is_error, text, message_at };
    }
    // vLLM: `(Worker pid=7) INFO 11-21 02:09:33 [file.py:68] text`; before 0.8 `INFO 02-18 04:51:36 file.py:68] text`.
    let is_error = before.trim_end().ends_with("ERROR") || before.trim_end().ends_with("CRITICAL");
    let near = &after[..after.floor_char_boundary(SOURCE_WITHIN)];
    let source = near.find(']').filter(|it| is_source(&near[..*it]));
    let message_at = behind(found.to + source.map_or(0, |it| it + 1));
    Parts { stamp: Some(found.stamp), process: bracketed(before).map(|it| it.0), is_error, text, message_at }
}

/// Whether a text is the name of a source file with a line number: ` [file.py:68` or ` file.py:68`.
fn is_source(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix('[').unwrap_or(text);
    text.rsplit_once(':').is_some_and(|(file, line)| {
        !file.is_empty() && !file.contains(char::is_whitespace) && line.bytes().all(|it| it.is_ascii_digit())
    })
}

/// The last `(Name pid=7)` in a text, and the position after it.
fn bracketed(text: &str) -> Option<(Process, usize)> {
    let pid = text.rfind("pid=")?;
    let open = text[..pid].rfind('(')?;
    let digits = text[pid + 4..].bytes().take_while(u8::is_ascii_digit).count();
    let number = text[pid + 4..pid + 4 + digits].parse().ok();
    let close = text[pid + 4 + digits..].find(')')? + pid + 4 + digits;
    let name = cut(text[open + 1..pid].trim(), MAX_NAME).to_owned();
    Some((Process { name, pid: number }, close + 1))
}

/// The first `most` bytes of a text. Cuts earlier if a character would otherwise be split.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
