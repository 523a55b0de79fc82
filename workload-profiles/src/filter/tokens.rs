//! Splits a filter into words, signs and literals.

use serde_json::Value;

use super::error::{FilterError, KNOWN};

/// A word, a sign or a literal, and its position in characters from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub position: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    Literal(Value),
    Sign(&'static str),
}

/// Longer signs come first, so that `<=` is not read as `<`.
const SIGNS: [&str; 14] = ["==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", ":", ".", "-"];

/// Splits a text into tokens.
///
/// # Errors
/// Returns an error for a character that begins no known word, sign or literal, and for a literal without an end.
pub(super) fn split(text: &str) -> Result<Vec<Token>, FilterError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = characters.get(at) {
        let rest = &characters[at..];
        let (kind, length) = match first {
            it if it.is_whitespace() => {
                at += 1;
                continue;
            }
            '\'' | '"' => quoted(rest, at)?,
            it if it.is_ascii_digit() => number(rest, at)?,
            it if it.is_alphabetic() || *it == '_' => name(rest),
            _ => sign(rest, at)?,
        };
        tokens.push(Token { kind, position: at + 1 });
        at += length;
    }
    Ok(tokens)
}

fn error(at: usize, found: String, remedy: &str) -> FilterError {
    FilterError { position: at + 1, found, remedy: remedy.to_owned() }
}

fn quoted(rest: &[char], at: usize) -> Result<(TokenKind, usize), FilterError> {
    let mut text = String::new();
    let mut characters = rest.iter().enumerate().skip(1);
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, escaped @ ('\\' | '\'' | '"'))) => text.push(*escaped),
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                _ => {
                    return Err(error(
                        at + index,
                        "an unknown escape".to_owned(),
                        r#"known are \\, \', \", \n and \t"#,
                    ));
                }
            },
            it if *it == rest[0] => return Ok((TokenKind::Literal(text.into()), index + 1)),
            it => text.push(*it),
        }
    }
    Err(error(at, "a text without an end".to_owned(), "close its quotes"))
}

fn number(rest: &[char], at: usize) -> Result<(TokenKind, usize), FilterError> {
    let part_of = |(index, it): (usize, &char)| {
        it.is_ascii_alphanumeric()
            || "._".contains(*it)
            || ("+-".contains(*it) && matches!(rest.get(index.wrapping_sub(1)), Some('e' | 'E')))
    };
    let length = rest.iter().enumerate().take_while(|it| part_of(*it)).count();
    let text: String = rest[..length].iter().filter(|it| **it != '_').collect();
    let whole = text.parse::<i64>().ok().map(Value::from);
    let value = whole.or_else(|| crate::yaml::decimal(&text).map(Value::from));
    let literal = value.map(|it| (TokenKind::Literal(it), length));
    literal.ok_or_else(|| error(at, format!("{text:?}"), "write a decimal number"))
}

fn name(rest: &[char]) -> (TokenKind, usize) {
    let word: String = rest.iter().take_while(|it| it.is_alphanumeric() || **it == '_').collect();
    let length = word.chars().count();
    let kind = match word.as_str() {
        "True" => TokenKind::Literal(true.into()),
        "False" => TokenKind::Literal(false.into()),
        "None" => TokenKind::Literal(Value::Null),
        _ => TokenKind::Name(word),
    };
    (kind, length)
}

fn sign(rest: &[char], at: usize) -> Result<(TokenKind, usize), FilterError> {
    let begins = |sign: &str| sign.chars().enumerate().all(|(index, it)| rest.get(index) == Some(&it));
    match SIGNS.into_iter().find(|it| begins(it)) {
        Some(sign) => Ok((TokenKind::Sign(sign), sign.len())),
        None => Err(error(at, format!("{:?}", rest[0]), KNOWN)),
    }
}
