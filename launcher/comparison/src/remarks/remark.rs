//! A remark: a difference between two runs, and its effect on the comparison.

use figures::{Figure, Value};
use serde::Serialize;

use crate::figure::compared;

/// The effect of a difference on the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The affected figures cannot be compared.
    NotComparable,
    /// The difference may explain a difference of figures.
    Note,
}

impl Severity {
    /// The severity in words.
    pub fn name(self) -> &'static str {
        match self {
            Severity::NotComparable => "not comparable",
            Severity::Note => "note",
        }
    }
}

/// A difference between two runs other than in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    pub severity: Severity,
    /// What differs, such as `clock` or `model`.
    pub label: String,
    /// The value in the base; empty if there is none.
    pub base: String,
    /// The value in the other run; empty if there is none.
    pub other: String,
    /// The names of the affected stages, as in the base; empty if the whole run is affected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<String>,
    /// The names of the affected figures; empty for all figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// What the difference means, and what to do.
    pub meaning: String,
}

impl Remark {
    /// A remark on the whole run and all figures.
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

    /// Whether this remark makes a figure incomparable in a stage. `stage` is its name in the base.
    pub(crate) fn blocks(&self, figure: Value, stage: &str) -> bool {
        let concerns = |list: &[String], name: &str| list.is_empty() || list.iter().any(|it| it == name);
        self.severity == Severity::NotComparable
            && concerns(&self.stages, stage)
            && concerns(&self.figures, &figure.name())
    }
}
