//! Helpers that many fields of a spec use.

/// Whether no field of a group is set. Such a group is not serialized, and the schema has no default for it.
pub(crate) fn is_default<T: Default + PartialEq>(group: &T) -> bool {
    *group == T::default()
}

/// Schema of a string of at most `max` characters. The API server needs this bound to estimate the cost of CEL rules.
#[cfg(feature = "kube")]
pub(crate) fn bounded_text(max: u32) -> serde_json::Value {
    serde_json::json!({"type": "string", "maxLength": max})
}
