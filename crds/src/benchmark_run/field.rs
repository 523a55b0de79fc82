//! What the fields of a spec have in common.

/// Whether a group has no fields set: then it is not written, and the schema has no default for it.
pub(crate) fn is_default<T: Default + PartialEq>(group: &T) -> bool {
    *group == T::default()
}

/// A text of at most `max` characters; the API server needs bounds to estimate what a rule costs.
#[cfg(feature = "kube")]
pub(crate) fn bounded_text(max: u32) -> serde_json::Value {
    serde_json::json!({"type": "string", "maxLength": max})
}
