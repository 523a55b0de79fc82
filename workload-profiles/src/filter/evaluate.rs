//! Evaluates a filter for a record with the semantics of Python.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use super::{
    error::RecordError,
    expression::{Comparison, Expression},
};
use crate::problem::quoted;

/// Returns the value of an expression for a record.
///
/// # Errors
/// Returns an error for each operation for which Python raises an exception.
pub(super) fn evaluate<'a>(expression: &'a Expression, record: &'a Value) -> Result<Cow<'a, Value>, RecordError> {
    let of = |it: &'a Expression| evaluate(it, record);
    Ok(match expression {
        Expression::Record => Cow::Borrowed(record),
        Expression::Literal(value) => Cow::Borrowed(value),
        Expression::List(items) => {
            let items: Result<Vec<Value>, RecordError> = items.iter().map(|it| of(it).map(Cow::into_owned)).collect();
            Cow::Owned(Value::Array(items?))
        }
        Expression::Subscript(value, key) => subscript(of(value)?, of(key)?.as_ref())?,
        Expression::Get(value, key, default) => match entry(of(value)?, key, ".get")? {
            Some(found) => found,
            None => of(default)?,
        },
        Expression::Length(value) => Cow::Owned(length(of(value)?.as_ref())?.into()),
        Expression::Not(value) => Cow::Owned((!is_true(of(value)?.as_ref())).into()),
        Expression::And(left, right) => {
            let left = of(left)?;
            if is_true(&left) { of(right)? } else { left }
        }
        Expression::Or(left, right) => {
            let left = of(left)?;
            if is_true(&left) { left } else { of(right)? }
        }
        Expression::Comparison(first, others) => {
            let mut left = of(first)?;
            for (comparison, other) in others {
                let right = of(other)?;
                if !compare(*comparison, &left, &right)? {
                    return Ok(Cow::Owned(false.into()));
                }
                left = right;
            }
            Cow::Owned(true.into())
        }
    })
}

/// The truth value of a value in Python: empty and zero are false.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(it) => *it,
        Value::Number(it) => it.as_f64() != Some(0.0),
        Value::String(it) => !it.is_empty(),
        Value::Array(it) => !it.is_empty(),
        Value::Object(it) => !it.is_empty(),
    }
}

fn subscript<'a>(value: Cow<'a, Value>, key: &Value) -> Result<Cow<'a, Value>, RecordError> {
    if let Value::String(name) = key {
        return entry(value, name, "[]")?.ok_or_else(|| RecordError::NoKey(quoted(name)));
    }
    let (Value::Array(_), Some(index)) = (value.as_ref(), key.as_i64()) else {
        return Err(RecordError::Types { operation: "[]", left: type_of(&value), right: type_of(key) });
    };
    let item = |items: &[Value]| {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        // A negative position counts from the end.
        usize::try_from(if index < 0 { length.saturating_add(index) } else { index }).ok()
    };
    let found = match value {
        Cow::Borrowed(Value::Array(items)) => item(items).and_then(|at| items.get(at)).map(Cow::Borrowed),
        Cow::Owned(Value::Array(items)) => item(&items).and_then(|at| items.into_iter().nth(at)).map(Cow::Owned),
        _ => None,
    };
    found.ok_or(RecordError::NoItem(index))
}

fn entry<'a>(value: Cow<'a, Value>, key: &str, operation: &'static str) -> Result<Option<Cow<'a, Value>>, RecordError> {
    match value {
        Cow::Borrowed(Value::Object(entries)) => Ok(entries.get(key).map(Cow::Borrowed)),
        Cow::Owned(Value::Object(mut entries)) => Ok(entries.remove(key).map(Cow::Owned)),
        other => Err(RecordError::Type { operation, value: type_of(&other) }),
    }
}

fn length(value: &Value) -> Result<usize, RecordError> {
    match value {
        Value::String(it) => Ok(it.chars().count()),
        Value::Array(it) => Ok(it.len()),
        Value::Object(it) => Ok(it.len()),
        other => Err(RecordError::Type { operation: "len", value: type_of(other) }),
    }
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> Result<bool, RecordError> {
    match comparison {
        Comparison::Equal => Ok(equal(left, right)),
        Comparison::NotEqual => Ok(!equal(left, right)),
        Comparison::Below => order("<", left, right).map(Ordering::is_lt),
        Comparison::AtMost => order("<=", left, right).map(Ordering::is_le),
        Comparison::Above => order(">", left, right).map(Ordering::is_gt),
        Comparison::AtLeast => order(">=", left, right).map(Ordering::is_ge),
        Comparison::In => contains(left, right),
        Comparison::NotIn => contains(left, right).map(|it| !it),
        Comparison::IsNone => Ok(left.is_null()),
        Comparison::IsNotNone => Ok(!left.is_null()),
    }
}

/// The value as a number. As in Python, true and false are 1 and 0.
fn number(value: &Value) -> Option<f64> {
    value.as_bool().map(|it| f64::from(u8::from(it))).or_else(|| value.as_f64())
}

fn equal(left: &Value, right: &Value) -> bool {
    match (number(left), number(right), left, right) {
        (Some(left), Some(right), _, _) => left == right,
        (_, _, Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        _ => left == right,
    }
}

fn order(operation: &'static str, left: &Value, right: &Value) -> Result<Ordering, RecordError> {
    let numbers = number(left).zip(number(right)).and_then(|(left, right)| left.partial_cmp(&right));
    let texts = left.as_str().zip(right.as_str()).map(|(left, right)| left.cmp(right));
    let types = || RecordError::Types { operation, left: type_of(left), right: type_of(right) };
    numbers.or(texts).ok_or_else(types)
}

fn contains(item: &Value, holder: &Value) -> Result<bool, RecordError> {
    match (holder, item) {
        (Value::Array(items), _) => Ok(items.iter().any(|it| equal(it, item))),
        (Value::Object(entries), Value::String(key)) => Ok(entries.contains_key(key)),
        (Value::String(text), Value::String(part)) => Ok(text.contains(part.as_str())),
        (holder, item) => Err(RecordError::Types { operation: "in", left: type_of(item), right: type_of(holder) }),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "None",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
