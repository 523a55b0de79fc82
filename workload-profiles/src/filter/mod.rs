//! Filters of recorded sessions, as inference-perf writes them: a Python lambda over a record. No code is run. A filter is parsed, and
//! only a small part of the language is known. Two shipped profiles of inference-perf, `agent_llm_traces_v2` and `weka_traces`, have one.
//!
//! Known are: `lambda NAME:` before an expression; `and`, `or`, `not` and parentheses; the comparisons `==`, `!=`, `<`, `<=`, `>`, `>=`,
//! `in` and `not in`, also in chains; `is None` and `is not None`; `len(...)`; `NAME['key']`, `NAME['key'][0]` and
//! `NAME.get('key', default)`; texts, numbers, `True`, `False`, `None`, and lists of them. They mean what they mean in Python.

mod evaluate;
mod parser;
mod tokens;

use serde_json::Value;

/// A filter of records.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    expression: Expression,
}

/// Why a text is no filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} at character {position}; {remedy}")]
pub struct FilterError {
    /// The position in the text, from 1.
    pub position: usize,
    found: String,
    remedy: String,
}

/// Why a filter cannot decide on a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A key that the record does not have.
    #[error("the record has no key {0}; use .get({0}) for records without it")]
    NoKey(String),
    /// A position behind the end of a list.
    #[error("position {0} is not in the list; check len(...) before it")]
    NoItem(i64),
    /// A comparison or a function that the types of the values do not allow.
    #[error("{operation} cannot be used with {left} and {right}")]
    Types {
        /// As in the filter.
        operation: &'static str,
        /// The type of the value on the left.
        left: &'static str,
        /// The type of the value on the right.
        right: &'static str,
    },
    /// A function or a subscript of a value that does not have it.
    #[error("{operation} cannot be used with {value}")]
    Type {
        /// As in the filter.
        operation: &'static str,
        /// The type of the value.
        value: &'static str,
    },
}

impl Filter {
    /// Parses a filter of at most 4,096 bytes.
    ///
    /// # Errors
    /// A text that is not in the known part of the language.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        parser::parse(text).map(|expression| Filter { expression })
    }

    /// Whether a record passes.
    ///
    /// # Errors
    /// A key that the record does not have, or a comparison of values that cannot be compared. Python raises an exception there.
    pub fn accepts(&self, record: &Value) -> Result<bool, RecordError> {
        evaluate::evaluate(&self.expression, record).map(|it| evaluate::is_true(&it))
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    /// The record.
    Record,
    Literal(Value),
    List(Vec<Expression>),
    Subscript(Box<Expression>, Box<Expression>),
    /// A key, and the value for records without it.
    Get(Box<Expression>, String, Box<Expression>),
    Length(Box<Expression>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    /// The first value, and each comparison with the next one.
    Comparison(Box<Expression>, Vec<(Comparison, Expression)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Below,
    AtMost,
    Above,
    AtLeast,
    In,
    NotIn,
    IsNone,
    IsNotNone,
}

#[cfg(test)]
mod tests;
