//! One difference, and its effect on the comparison.

use figures::{Figure, Value};
use serde::Serialize;

use crate::figure::compared;

/// The effect of a difference on the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The figures it concerns cannot be decided.
    NotComparable,
    /// It may explain a difference.
    Note,
}

impl Severity {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Severity::NotComparable => "not comparable",
            Severity::Note => "note",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    pub severity: Severity,
    /// The subject of the difference: `clock`, `model`.
    pub label: String,
    /// The value of the base; empty if there is none.
    pub base: String,
    /// The value of the other run.
    pub other: String,
    /// The stages of the base that it concerns; empty: the whole run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<String>,
    /// The figures that it concerns, by name; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// What it means, and what to do.
    pub meaning: String,
}

impl Remark {
    /// For the whole run, and for all figures.
    pub(super) fn new(
        severity: Severity,
        label: &str,
        base: impl Into<String>,
        other: impl Into<String>,
        meaning: &str,
    ) -> Remark {
        Remark {
            severity,
            label: label.to_owned(),
            base: base.into(),
            other: other.into(),
            stages: Vec::new(),
            figures: Vec::new(),
            meaning: meaning.to_owned(),
        }
    }

    pub(super) fn about(mut self, figures: impl Fn(Figure) -> bool) -> Remark {
        self.figures = compared().into_iter().filter(|it| figures(it.figure)).map(Value::name).collect();
        self
    }

    /// Whether it makes this figure incomparable in this stage of the base.
    pub(crate) fn blocks(&self, figure: Value, stage: &str) -> bool {
        let concerns = |list: &[String], name: &str| list.is_empty() || list.iter().any(|it| it == name);
        self.severity == Severity::NotComparable
            && concerns(&self.stages, stage)
            && concerns(&self.figures, &figure.name())
    }
}
