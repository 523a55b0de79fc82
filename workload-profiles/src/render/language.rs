//! The subset of Tera's language that templates can use. Constructs that can run without a bound are refused, and the steps of loops are counted.
//!
//! Tera does not give access to its syntax tree, so this module finds the tags itself, with Tera's rules: a tag begins with `{{`, `{%` or `{#`, and
//! ends at the first matching end outside a quoted text. In a quoted text a backslash escapes the next character.

use std::collections::BTreeSet;

use super::yaml_position::YamlPosition;
use crate::{
    problem::{Findings, ProfileError, listed, named, suggestion},
    variables::FACTS,
};

/// Maximum bytes of code in a template. Code is the text inside its tags.
pub(crate) const MAX_CODE_BYTES: usize = 8 * 1024;
/// The filter that counts the steps of loops. The list of every `for` passes through it. A template cannot use it itself, because it is not in
/// [`FILTERS`].
pub(super) const COUNTED: &str = "benchwright_counted";

/// The tags that a template can use.
const TAGS: [&str; 8] = ["if", "elif", "else", "endif", "for", "endfor", "break", "continue"];
/// Filters whose result is at most a few bytes longer than their input.
const FILTERS: [&str; 12] =
    ["abs", "default", "first", "float", "int", "last", "length", "lower", "round", "seconds", "trim", "upper"];
/// Functions that a template can use. `range` is our own.
const FUNCTIONS: [&str; 2] = ["range", "throw"];
/// Tests that can follow `is`.
const TESTS: [&str; 13] = [
    "defined",
    "undefined",
    "string",
    "number",
    "integer",
    "float",
    "bool",
    "array",
    "none",
    "odd",
    "even",
    "divisible_by",
    "containing",
];

/// A template that was checked and can be rendered.
#[derive(Debug)]
pub(super) struct Checked {
    /// The template, with its loops passed through [`COUNTED`].
    pub text: String,
    /// Variables that can have no value: they have a default, or are tested with `is defined`.
    pub optional: BTreeSet<String>,
}

/// Checks a template.
///
/// # Errors
/// Returns all refused constructs, with their lines.
pub(super) fn check(template: &str) -> Result<Checked, ProfileError> {
    let findings = Findings::default();
    let mut checked = Checked { text: String::with_capacity(template.len()), optional: BTreeSet::new() };
    let mut code_bytes = 0;
    let mut line = 1;
    let mut rest = template;
    while let Some(start) = tag_start(rest) {
        line += line_breaks(&rest[..start]);
        let location = format!("template, line {line}");
        checked.text.push_str(&rest[..start]);
        rest = &rest[start..];
        let before = &template[..template.len() - rest.len()];
        let Some(tag) = Tag::read(rest) else {
            findings.problem(
                &location,
                format!("the tag that begins with {} has no end; close it with }}}}, %}} or #}}", &rest[..2]),
            );
            break;
        };
        line += line_breaks(&rest[..tag.length]);
        rest = &rest[tag.length..];
        code_bytes += tag.code.len();
        if code_bytes > MAX_CODE_BYTES {
            let message = format!("has more than {MAX_CODE_BYTES} bytes of code in its tags; shorten it");
            findings.problem(&location, message);
            break;
        }
        // The position is only computed for facts: it needs all text before the tag in the line, which is slow for a line with thousands of tags.
        let filter = tag.is_fact().then(|| YamlPosition::between(before, rest).filter()).flatten();
        match tag.checked(&mut checked.optional, filter) {
            Ok(text) => checked.text.push_str(&text),
            Err(messages) => messages.into_iter().for_each(|it| findings.problem(&location, it)),
        }
    }
    checked.text.push_str(rest);
    findings.into_result().map(|_| checked)
}

fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|it| *it == b'\n').count()
}

fn tag_start(text: &str) -> Option<usize> {
    text.as_bytes().windows(2).position(|it| matches!(it, b"{{" | b"{%" | b"{#"))
}

/// A tag in the text: `open code close`. `open` and `close` include the dash that trims whitespace.
struct Tag<'a> {
    open: &'a str,
    code: &'a str,
    close: &'a str,
    length: usize,
}

impl<'a> Tag<'a> {
    /// Reads the tag at the start of the text. `None` if the tag has no end.
    fn read(text: &'a str) -> Option<Self> {
        let open = if text.as_bytes().get(2) == Some(&b'-') { 3 } else { 2 };
        let body = &text[open..];
        let (end, is_comment) = match &text[..2] {
            "{{" => (code_end(body, "}}")?, false),
            "{%" => (code_end(body, "%}")?, false),
            _ => (body.find("#}")?, true),
        };
        let code = if is_comment { "" } else { body[..end].strip_suffix('-').unwrap_or(&body[..end]) };
        let length = open + end + 2;
        let close = if is_comment { &text[open..length] } else { &text[open + code.len()..length] };
        Some(Tag { open: &text[..open], code, close, length })
    }

    /// Whether the tag only inserts a fact of the run.
    fn is_fact(&self) -> bool {
        self.open.starts_with("{{") && FACTS.contains(&self.code.trim())
    }

    /// Returns the tag for Tera, or the problems with it.
    fn checked(&self, optional: &mut BTreeSet<String>, filter: Option<&str>) -> Result<String, Vec<String>> {
        let Tag { open, code, close, .. } = *self;
        if open.starts_with("{#") {
            return Ok(format!("{open}{close}"));
        }
        let tokens = tokens(code);
        let (keyword, expression) = match tokens.split_first() {
            Some((Token { kind: TokenKind::Name(name), .. }, rest)) if open.starts_with("{%") => (Some(*name), rest),
            _ if open.starts_with("{%") => (Some(""), tokens.as_slice()),
            _ => (None, tokens.as_slice()),
        };
        if let Some(keyword) = keyword.filter(|it| !TAGS.contains(it)) {
            let tags = listed(&TAGS);
            return Err(vec![format!("the tag {} is not available in a profile; there are {tags}", named(keyword))]);
        }
        let mut messages = Vec::new();
        for index in 0..expression.len() {
            messages.extend(refusal(expression, index).err());
            optional.extend(optional_name(&expression[index..]).map(str::to_owned));
        }
        let counted = if keyword == Some("for") { count_loop(code, expression) } else { Ok(code.to_owned()) };
        match counted {
            Ok(code) if messages.is_empty() => {
                let filter = filter.map(|it| format!(" | {it} ")).unwrap_or_default();
                Ok(format!("{open}{code}{filter}{close}"))
            }
            Ok(_) => Err(messages),
            Err(message) => Err([messages, vec![message]].concat()),
        }
    }
}

/// Returns the position of `close` outside quoted texts.
fn code_end(code: &str, close: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"' | b'`') => at = quoted_end(bytes, at, quote)?,
            _ if bytes[at..].starts_with(close.as_bytes()) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Returns the position after the quoted text that begins at `start`.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            it if it == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum TokenKind<'a> {
    Name(&'a str),
    Quoted,
    Other(char),
}

#[derive(Clone, Copy)]
struct Token<'a> {
    kind: TokenKind<'a>,
    /// The position after the token.
    end: usize,
}

/// Returns the words, the quoted texts and all other single characters in code. Digits are skipped, because no check needs them.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(sign) = code[at..].chars().next() {
        let word = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let kind = match sign {
            '\'' | '"' | '`' => {
                // The quoted text always has an end. A tag with an unclosed quote has no end itself, and was refused before.
                at = quoted_end(code.as_bytes(), at, sign as u8).unwrap_or(code.len());
                TokenKind::Quoted
            }
            _ if word(sign) => {
                let start = at;
                at += code[at..].find(|it| !word(it)).unwrap_or(code.len() - at);
                // Tera reads `5x` as a number followed by a name.
                TokenKind::Name(code[start..at].trim_start_matches(|it: char| it.is_ascii_digit()))
            }
            _ => {
                at += sign.len_utf8();
                TokenKind::Other(sign)
            }
        };
        let space = matches!(kind, TokenKind::Other(it) if it.is_whitespace()) || kind == TokenKind::Name("");
        if !space {
            tokens.push(Token { kind, end: at });
        }
    }
    tokens
}

/// Returns an error if the token at `index` is not allowed there.
fn refusal(tokens: &[Token], index: usize) -> Result<(), String> {
    let kind = |offset: usize| tokens.get(index + offset).map(|it| it.kind);
    let before = index.checked_sub(1).and_then(|it| tokens.get(it)).map(|it| it.kind);
    match tokens[index].kind {
        TokenKind::Other('~') => {
            Err("the operator ~ is not available; write the parts side by side, {{ a }}{{ b }}".into())
        }
        TokenKind::Other('|') => match kind(1) {
            Some(TokenKind::Name(name)) => allowed("filter", name, &FILTERS),
            _ => Ok(()),
        },
        TokenKind::Name("for") => Err("a list comprehension is not available; write a for tag".into()),
        TokenKind::Name("is") => match (kind(1), kind(2)) {
            (Some(TokenKind::Name("not")), Some(TokenKind::Name(name))) | (Some(TokenKind::Name(name)), _) => {
                allowed("test", name, &TESTS)
            }
            _ => Ok(()),
        },
        TokenKind::Name(name) if kind(1) == Some(TokenKind::Other('(')) => match before {
            Some(TokenKind::Other('|') | TokenKind::Name("is" | "not")) => Ok(()),
            _ if ["and", "or", "not", "in", "if", "else"].contains(&name) => Ok(()),
            _ => allowed("function", name, &FUNCTIONS),
        },
        _ => Ok(()),
    }
}

fn allowed(what: &str, name: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&name) {
        return Ok(());
    }
    Err(format!(
        "the {what} {} is not available in a profile; {}",
        named(name),
        suggestion(name, known.iter().copied())
    ))
}

/// Returns the variable at the start of the tokens, if the code allows that it has no value.
fn optional_name<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let kinds: Vec<TokenKind> = tokens.iter().take(4).map(|it| it.kind).collect();
    match kinds.as_slice() {
        [TokenKind::Name(name), TokenKind::Other('|'), TokenKind::Name("default"), ..]
        | [TokenKind::Name(name), TokenKind::Name("is"), TokenKind::Name("defined" | "undefined"), ..]
        | [
            TokenKind::Name(name),
            TokenKind::Name("is"),
            TokenKind::Name("not"),
            TokenKind::Name("defined" | "undefined"),
        ] => Some(name),
        _ => None,
    }
}

/// Converts `for x in LIST` so that LIST passes through the counting filter. LIST is put into brackets for this, so the brackets inside LIST must be
/// balanced.
fn count_loop(code: &str, tokens: &[Token]) -> Result<String, String> {
    let kinds: Vec<TokenKind> = tokens.iter().take(4).map(|it| it.kind).collect();
    let head = match kinds.as_slice() {
        [TokenKind::Name(_), TokenKind::Name("in"), ..] => 2,
        [TokenKind::Name(_), TokenKind::Other(','), TokenKind::Name(_), TokenKind::Name("in")] => 4,
        _ => return Err("a loop is written {% for x in [1, 2, 4] %} or {% for x in range(end=4) %}".into()),
    };
    let mut depth = 0_usize;
    for token in &tokens[head..] {
        let next = match token.kind {
            TokenKind::Other('(') => depth.checked_add(1),
            TokenKind::Other(')') => depth.checked_sub(1),
            _ => Some(depth),
        };
        depth = next.ok_or("the list of the loop closes a bracket that is not open")?;
    }
    if depth > 0 {
        return Err("the list of the loop has a bracket that is not closed".into());
    }
    let (head, list) = code.split_at(tokens[head - 1].end);
    Ok(format!("{head} ({}) | {COUNTED} ", list.trim()))
}
