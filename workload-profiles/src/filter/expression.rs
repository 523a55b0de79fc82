//! The syntax tree of a filter.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    /// The record itself, the argument of the lambda.
    Record,
    Literal(Value),
    List(Vec<Expression>),
    Subscript(Box<Expression>, Box<Expression>),
    /// `value.get('key', default)`.
    Get(Box<Expression>, String, Box<Expression>),
    Length(Box<Expression>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    /// The first operand, then each comparison operator with the operand after it.
    Comparison(Box<Expression>, Vec<(Comparison, Expression)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
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
