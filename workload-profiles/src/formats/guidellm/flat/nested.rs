//! The nested form of a scenario, to which the flat form is converted.

use serde_json::{Map, Value};

use super::origin::Origin;
use crate::{
    formats::guidellm::paths::{self},
    problem::Findings,
};

/// The nested form while it is being built.
pub(super) struct Nested<'a> {
    pub(super) spec: Value,
    pub(super) names: Vec<(String, String)>,
    pub(super) origin: Origin,
    pub(super) findings: &'a Findings,
}

impl Nested<'_> {
    /// Sets a path of `spec` to the value of a flat key.
    pub(super) fn set(&mut self, path: &str, key: &str, value: Value) {
        self.names.push((format!("spec.{path}"), self.shown(key)));
        if let Ok(parts) = paths::parse(path) {
            paths::set(&mut self.spec, &parts, value);
        }
    }

    /// Returns a flat key as its author wrote it.
    pub(super) fn shown(&self, key: &str) -> String {
        match self.origin {
            Origin::File => key.to_owned(),
            Origin::Options => format!("--{}", key.replace('_', "-")),
        }
    }

    pub(super) fn problem(&self, key: &str, message: impl Into<String>) {
        self.findings.problem(self.shown(key), message);
    }

    pub(super) fn notice(&self, key: &str, message: impl Into<String>) {
        self.findings.notice(self.shown(key), message);
    }
}

/// Whether a value is an empty mapping or list.
pub(super) fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
