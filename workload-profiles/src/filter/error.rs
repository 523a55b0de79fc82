//! Errors: a text is not a valid filter, or a filter cannot be evaluated for a record.

/// The remedy in messages about unknown syntax.
pub(super) const KNOWN: &str = "known are comparisons, in, and, or, not, len(...), x['key'], x.get('key', default), texts, numbers and lists; \
                                a filter is read, never run as code";

/// The reason why a text is not a valid filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} at character {position}; {remedy}")]
pub struct FilterError {
    /// The position in the text, in characters from 1.
    pub position: usize,
    pub(super) found: String,
    pub(super) remedy: String,
}

/// The reason why a filter cannot be evaluated for a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A key that the record does not have.
    #[error("the record has no key {0}; use .get({0}) for records without it")]
    NoKey(String),
    /// An index beyond the end of a list.
    #[error("position {0} is not in the list; check len(...) before it")]
    NoItem(i64),
    /// A comparison or a function that the types of the values do not allow.
    #[error("{operation} cannot be used with {left} and {right}")]
    Types {
        /// The operation, as written in the filter.
        operation: &'static str,
        /// The type of the left operand.
        left: &'static str,
        /// The type of the right operand.
        right: &'static str,
    },
    /// A function or a subscript of a value whose type does not support it.
    #[error("{operation} cannot be used with {value}")]
    Type {
        /// The operation, as written in the filter.
        operation: &'static str,
        /// The type of the value.
        value: &'static str,
    },
}
