//! Filters of recorded sessions, as inference-perf writes them: a Python lambda over a record. No code is run. A filter is parsed, and
//! only a small part of the language is known. Two shipped profiles of inference-perf, `agent_llm_traces_v2` and `weka_traces`, have one.
//!
//! Known are: `lambda NAME:` before an expression; `and`, `or`, `not` and parentheses; the comparisons `==`, `!=`, `<`, `<=`, `>`, `>=`,
//! `in` and `not in`, also in chains; `is None` and `is not None`; `len(...)`; `NAME['key']`, `NAME['key'][0]` and
//! `NAME.get('key', default)`; texts, numbers, `True`, `False`, `None`, and lists of them. They mean what they mean in Python.

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

#[cfg(test)]
mod tests;
