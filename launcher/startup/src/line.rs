//! A line of a log, taken apart: time, process, level, message.

use std::borrow::Cow;

use crate::{
    stamp::{self, Stamp},
    startup::Process,
};

/// Where a process may stand in a line without a time stamp: behind the prefix of a container at most.
const PROCESS_WITHIN: usize = 128;
/// The longest name of a process that is kept.
const MAX_NAME: usize = 64;
/// Where the name of the source file may end, which stands before the message.
const SOURCE_WITHIN: usize = 160;

/// A line without colours.
pub(crate) struct Parts<'a> {
    pub stamp: Option<Stamp>,
    pub process: Option<Process>,
    pub is_error: bool,
    /// All of the line.
    pub text: &'a str,
    /// What the program wants to say, with its indentation.
    pub message: &'a str,
}

/// The text without the escape sequences that colour a terminal.
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
    let Some(found) = stamp::find(text) else {
        let end = text.floor_char_boundary(PROCESS_WITHIN);
        let (process, after) = bracketed(&text[..end]).unzip();
        let rest = &text[after.unwrap_or(0)..];
        let message = if process.is_some() { rest.strip_prefix(' ').unwrap_or(rest) } else { rest };
        return Parts { stamp: None, process, is_error: false, text, message };
    };
    let (before, after) = (&text[..found.from], &text[found.to..]);
    // SGLang: `[2026-02-04 11:30:29 DP0 TP1] Load weight begin.`
    if before.ends_with('[')
        && let Some((ranks, message)) = after.split_once(']')
    {
        let name = ranks.trim();
        let process = (!name.is_empty()).then(|| Process { name: cut(name, MAX_NAME).to_owned(), pid: None });
        let message = message.strip_prefix(' ').unwrap_or(message);
        return Parts { stamp: Some(found.stamp), process, is_error: message.starts_with("ERROR"), text, message };
    }
    // vLLM: `(Worker pid=7) INFO 11-21 02:09:33 [file.py:68] text`; before 0.8 `INFO 02-18 04:51:36 file.py:68] text`.
    let is_error = before.trim_end().ends_with("ERROR") || before.trim_end().ends_with("CRITICAL");
    let near = &after[..after.floor_char_boundary(SOURCE_WITHIN)];
    let source = near.find(']').filter(|it| is_source(&near[..*it]));
    let message = after[source.map_or(0, |it| it + 1)..].strip_prefix(' ').unwrap_or("");
    Parts { stamp: Some(found.stamp), process: bracketed(before).map(|it| it.0), is_error, text, message }
}

/// Whether this is ` [file.py:68` or ` file.py:68`.
fn is_source(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix('[').unwrap_or(text);
    text.rsplit_once(':').is_some_and(|(file, line)| {
        !file.is_empty() && !file.contains(char::is_whitespace) && line.bytes().all(|it| it.is_ascii_digit())
    })
}

/// The last `(Name pid=7)` of a text, and where it ends.
fn bracketed(text: &str) -> Option<(Process, usize)> {
    let pid = text.rfind("pid=")?;
    let open = text[..pid].rfind('(')?;
    let digits = text[pid + 4..].bytes().take_while(u8::is_ascii_digit).count();
    let number = text[pid + 4..pid + 4 + digits].parse().ok();
    let close = text[pid + 4 + digits..].find(')')? + pid + 4 + digits;
    let name = cut(text[open + 1..pid].trim(), MAX_NAME).to_owned();
    Some((Process { name, pid: number }, close + 1))
}

/// At most so many bytes of a text.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
