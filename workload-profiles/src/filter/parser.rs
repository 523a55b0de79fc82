//! The grammar of a filter.

use serde_json::Value;

use super::{
    error::{FilterError, KNOWN},
    expression::{Comparison, Expression},
    tokens::{Token, TokenKind, split},
};

/// Maximum length of a filter, in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum number of nested parentheses, brackets and negations. The parser recurses for each.
const MAX_DEPTH: usize = 64;

/// Parses a filter.
///
/// # Errors
/// The errors of [`super::Filter::parse`].
pub(super) fn parse(text: &str) -> Result<Expression, FilterError> {
    if text.len() > MAX_BYTES {
        let found = format!("more than {MAX_BYTES} bytes");
        return Err(FilterError { position: 1, found, remedy: "shorten it".to_owned() });
    }
    let tokens = split(text)?;
    let mut parser = Parser { tokens: &tokens, next: 0, depth: 0, end: text.chars().count() + 1, record: "" };
    if !parser.word("lambda") {
        return parser.fail("begin with `lambda x:`");
    }
    parser.record = match parser.peek() {
        Some(TokenKind::Name(name)) => name,
        _ => return parser.fail("write a name after lambda, as in `lambda x:`"),
    };
    parser.next += 1;
    parser.expect(":")?;
    let expression = parser.or()?;
    if parser.peek().is_some() { parser.fail(KNOWN) } else { Ok(expression) }
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    depth: usize,
    /// The position after the last character of the text.
    end: usize,
    /// The name of the lambda's argument, which is the record.
    record: &'a str,
}

impl<'a> Parser<'a> {
    fn or(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.and()?;
        while self.word("or") {
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.not()?;
        while self.word("and") {
            left = Expression::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, FilterError> {
        if self.word("not") {
            return self.within(Self::not).map(|it| Expression::Not(Box::new(it)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expression, FilterError> {
        let first = self.value()?;
        let mut others = Vec::new();
        while let Some(comparison) = self.sign_of_comparison()? {
            let other = match comparison {
                Comparison::IsNone | Comparison::IsNotNone => Expression::Literal(Value::Null),
                _ => self.value()?,
            };
            others.push((comparison, other));
        }
        Ok(if others.is_empty() { first } else { Expression::Comparison(Box::new(first), others) })
    }

    fn sign_of_comparison(&mut self) -> Result<Option<Comparison>, FilterError> {
        for (sign, comparison) in [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ] {
            if self.sign(sign) {
                return Ok(Some(comparison));
            }
        }
        if self.word("in") {
            return Ok(Some(Comparison::In));
        }
        if self.word("not") {
            return if self.word("in") { Ok(Some(Comparison::NotIn)) } else { self.fail("write `in` after `not`") };
        }
        if self.word("is") {
            let comparison = if self.word("not") { Comparison::IsNotNone } else { Comparison::IsNone };
            return match self.peek() {
                Some(TokenKind::Literal(Value::Null)) => {
                    self.next += 1;
                    Ok(Some(comparison))
                }
                _ => self.fail("write None after `is`, or use =="),
            };
        }
        Ok(None)
    }

    /// Parses a value with its subscripts.
    fn value(&mut self) -> Result<Expression, FilterError> {
        let mut value = self.primary()?;
        loop {
            if self.sign("[") {
                let key = self.within(Self::or)?;
                self.expect("]")?;
                value = Expression::Subscript(Box::new(value), Box::new(key));
            } else if self.sign(".") {
                value = self.get(value)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn get(&mut self, value: Expression) -> Result<Expression, FilterError> {
        if !self.word("get") {
            return self.fail(KNOWN);
        }
        self.expect("(")?;
        let key = match self.peek() {
            Some(TokenKind::Literal(Value::String(key))) => key.clone(),
            _ => return self.fail("write a key in quotes"),
        };
        self.next += 1;
        let default = if self.sign(",") { self.within(Self::or)? } else { Expression::Literal(Value::Null) };
        self.expect(")")?;
        Ok(Expression::Get(Box::new(value), key, Box::new(default)))
    }

    fn primary(&mut self) -> Result<Expression, FilterError> {
        if self.sign("(") {
            let first = self.within(Self::or)?;
            if self.sign(",") {
                return self.list(vec![first], ")");
            }
            self.expect(")")?;
            return Ok(first);
        }
        if self.sign("[") {
            return self.list(Vec::new(), "]");
        }
        if self.sign("-") {
            return match self.peek().and_then(negated) {
                Some(number) => {
                    self.next += 1;
                    Ok(Expression::Literal(number))
                }
                None => self.fail("write a number after -"),
            };
        }
        match self.peek() {
            Some(TokenKind::Literal(value)) => {
                self.next += 1;
                Ok(Expression::Literal(value.clone()))
            }
            Some(TokenKind::Name(name)) if name == self.record => {
                self.next += 1;
                Ok(Expression::Record)
            }
            Some(TokenKind::Name(name)) if name == "len" => {
                self.next += 1;
                self.expect("(")?;
                let value = self.within(Self::or)?;
                self.expect(")")?;
                Ok(Expression::Length(Box::new(value)))
            }
            _ => self.fail(KNOWN),
        }
    }

    /// Parses the rest of a list, up to its closing sign.
    fn list(&mut self, mut items: Vec<Expression>, close: &'static str) -> Result<Expression, FilterError> {
        while !self.sign(close) {
            items.push(self.within(Self::or)?);
            if !self.sign(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(Expression::List(items))
    }

    fn within(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Expression, FilterError>,
    ) -> Result<Expression, FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("nest it less deeply");
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn peek(&self) -> Option<&'a TokenKind> {
        self.tokens.get(self.next).map(|it| &it.kind)
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(TokenKind::Name(name)) if name == word);
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(TokenKind::Sign(it)) if *it == sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), FilterError> {
        if self.sign(sign) { Ok(()) } else { self.fail(&format!("write {sign} here")) }
    }

    fn fail<T>(&self, remedy: &str) -> Result<T, FilterError> {
        let token = self.tokens.get(self.next);
        let found = match token.map(|it| &it.kind) {
            None => "the end".to_owned(),
            Some(TokenKind::Sign(sign)) => format!("`{sign}`"),
            Some(TokenKind::Name(name)) => format!("`{}`", name.chars().take(32).collect::<String>()),
            Some(TokenKind::Literal(_)) => "a value".to_owned(),
        };
        let position = token.map_or(self.end, |it| it.position);
        Err(FilterError { position, found, remedy: remedy.to_owned() })
    }
}

fn negated(token: &TokenKind) -> Option<Value> {
    let TokenKind::Literal(value) = token else { return None };
    value.as_i64().map(|it| Value::from(-it)).or_else(|| value.as_f64().map(|it| Value::from(-it)))
}
