//! The syntax tree of a filter.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
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
    /// The first operand, and each comparison with the next operand.
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
