//! Describes how a container of a server ended: exit code or signal, memory, and the last lines of its output.

use crds::secrets::redact;

use super::ServerPod;
use crate::plan::{Ended, status::truncate};

/// Maximum length of the output in a message, in bytes. The end of the output is kept, because it is the most informative part.
const MAX_WORDS: usize = 700;
/// The exit code of a process that was ended by a signal is this number plus the number of the signal.
pub(in crate::plan) const SIGNALS: i32 = 128;
/// The kubelet's reason for a container that exceeded its memory limit.
const OOM: &str = "OOMKilled";

/// Describes the end of a container in one sentence, followed by the end of its output.
pub(super) fn describe(pod: &ServerPod, ended: &Ended) -> String {
    let how = match (ended.reason.as_str(), ended.exit_code) {
        (OOM, _) => {
            "exceeded its memory limit (OOMKilled); raise spec.target.server.resources.limits.memory, or make the server use less".to_owned()
        }
        (_, code) if code > SIGNALS => format!("was ended by {}", signal(code - SIGNALS)),
        (_, code) if code >= 0 => format!("ended with exit code {code}"),
        _ => "ended without an exit code".to_owned(),
    };
    let disrupted = ended.disrupted.as_ref().map(|it| format!("; its pod was disrupted: {it}")).unwrap_or_default();
    let words = last_words(&ended.message);
    let words = if words.is_empty() { String::new() } else { format!("; its last output:\n{words}") };
    format!("the server in pod {} {how}{disrupted}{words}", pod.name())
}

pub(in crate::plan) fn signal(number: i32) -> String {
    match number {
        4 => "signal 4 (SIGILL)".into(),
        6 => "signal 6 (SIGABRT)".into(),
        7 => "signal 7 (SIGBUS)".into(),
        8 => "signal 8 (SIGFPE)".into(),
        9 => "signal 9 (SIGKILL)".into(),
        11 => "signal 11 (SIGSEGV)".into(),
        15 => "signal 15 (SIGTERM)".into(),
        other => format!("signal {other}"),
    }
}

/// The end of the output, without text that looks like a secret and without control characters for terminals.
fn last_words(text: &str) -> String {
    // Secrets are removed before the text is cut. Otherwise a part of a secret could remain that is not recognized as one.
    let text = redact(text);
    let text: String = text.trim().chars().filter(|it| *it == '\n' || !it.is_control()).collect();
    if text.len() <= MAX_WORDS {
        return text;
    }
    let mut start = text.len() - MAX_WORDS;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("…{}", &text[start..])
}

/// The message, cut to the maximum length in a server's status.
pub(super) fn bounded(message: &str) -> String {
    truncate(message, crds::server_status::MAX_SERVER_FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PodState;

    fn assert_described(ended: Ended, expected: &str) {
        let state = PodState { name: Some("s-0".into()), ..PodState::default() };
        assert_eq!(describe(&ServerPod { state, ..ServerPod::default() }, &ended), expected);
    }

    #[test]
    fn each_end_says_what_happened_and_repeats_the_last_words_without_secrets() {
        let ended = |exit_code, reason: &str, message: &str| Ended {
            exit_code,
            reason: reason.into(),
            message: message.into(),
            disrupted: None,
        };
        assert_described(ended(1, "Error", ""), "the server in pod s-0 ended with exit code 1");
        assert_described(ended(0, "Completed", ""), "the server in pod s-0 ended with exit code 0");
        assert_described(ended(139, "Error", ""), "the server in pod s-0 was ended by signal 11 (SIGSEGV)");
        assert_described(ended(-1, "", ""), "the server in pod s-0 ended without an exit code");
        assert_described(
            ended(137, "OOMKilled", ""),
            "the server in pod s-0 exceeded its memory limit (OOMKilled); raise spec.target.server.resources.limits.memory, or make the server use less",
        );
        assert_described(
            ended(1, "Error", "\n\u{1b}[31mno access with HF_TOKEN=abcdef123456\nValueError: x\n"),
            "the server in pod s-0 ended with exit code 1; its last output:\nno access with HF_TOKEN=<redacted>\nValueError: x",
        );
    }

    #[test]
    fn of_long_last_words_the_end_is_kept() {
        let long = format!("{}é the end", "é".repeat(2_000));
        let kept = last_words(&long);
        assert!(kept.starts_with("…é") && kept.ends_with("é the end") && kept.len() <= MAX_WORDS + '…'.len_utf8());
    }
}
