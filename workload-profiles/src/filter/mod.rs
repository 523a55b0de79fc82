//! Filters of recorded sessions, as inference-perf writes them: a Python lambda over a record. No code is run. The filter is parsed, and only a small
//! part of Python is supported. Two shipped profiles of inference-perf, `agent_llm_traces_v2` and `weka_traces`, contain filters.
//!
//! The supported syntax is: `lambda NAME:` before an expression; `and`, `or`, `not` and parentheses; the comparisons `==`, `!=`, `<`, `<=`, `>`,
//! `>=`, `in` and `not in`, also in chains; `is None` and `is not None`; `len(...)`; `NAME['key']`, `NAME['key'][0]` and `NAME.get('key', default)`;
//! texts, numbers, `True`, `False`, `None`, and lists of them. All have the same meaning as in Python.

mod error;
mod evaluate;
mod expression;
mod parser;
mod tokens;

use serde_json::Value;

pub use error::{FilterError, RecordError};
use expression::Expression;

/// A filter of records.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    expression: Expression,
}

impl Filter {
    /// Parses a filter of at most 4,096 bytes.
    ///
    /// # Errors
    /// Returns an error for text outside the supported syntax.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        parser::parse(text).map(|expression| Filter { expression })
    }

    /// Returns whether the filter accepts a record.
    ///
    /// # Errors
    /// Returns an error for a key that the record does not have, or for values that cannot be compared. Python raises an exception in these cases.
    pub fn accepts(&self, record: &Value) -> Result<bool, RecordError> {
        evaluate::evaluate(&self.expression, record).map(|it| evaluate::is_true(&it))
    }
}

#[cfg(test)]
mod tests;
