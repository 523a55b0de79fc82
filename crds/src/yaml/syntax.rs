//! Messages for text that is not valid YAML: the offending line, and how to fix it.

use crate::wording::quoted;

/// The line of a syntax error for a message. A line with a credential is not shown, because messages appear in statuses and logs.
pub(super) fn shown_line(text: &str, line: usize) -> String {
    let shown = line.checked_sub(1).and_then(|it| text.lines().nth(it)).unwrap_or_default().trim();
    let secret = ["key", "token", "secret", "password"].iter().any(|it| shown.to_ascii_lowercase().contains(it));
    if secret || shown.is_empty() { String::new() } else { format!(", in {}", quoted(shown)) }
}

/// How to fix a text. `words` is the error message of the parser.
pub fn advice(words: &str) -> &'static str {
    let words = words.to_ascii_lowercase();
    let rules: [(&[&str], &str); 9] = [
        (&["tab"], "indent with spaces"),
        (&["anchor", "alias"], "define a value with &name before it is used with *name"),
        (&["recursion", "nest", "depth"], "nest values less deeply, at most 64 levels"),
        (
            &["mapping value", "colon"],
            "indent the line by spaces, or put a text that holds a colon and a blank into quotes",
        ),
        (
            &["eof", "unclosed", "',' or", "',' and", "mismatch", "bracket"],
            "close every bracket and quote, and separate the elements by commas",
        ),
        (
            &["indent", "expected key", "block", "simple key", "expected ':'"],
            "write `key: value` lines, and give the keys of one mapping the same indentation",
        ),
        (&["tag", "handle", "directive", "%"], "take the tag or directive out, or put the text into quotes"),
        (&["character", "escape", "surrogate", "unicode"], "put the text into quotes, and take control characters out"),
        (&["document"], "keep one document, and put a text that begins with --- or ... into quotes"),
    ];
    let fitting = rules.iter().find(|(marks, _)| marks.iter().any(|it| words.contains(it)));
    fitting.map_or("check the quotes, brackets and indentation here", |(_, advice)| advice)
}
