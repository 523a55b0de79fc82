//! Which stages count. The figures of other stages stand in brackets, and are never drawn.

use crds::Outcome;
use document::{ReportDocument, StageDocument};

/// Why a chart is missing.
pub(crate) const NOT_DRAWN: &str = "The measurement is not valid: its figures are not drawn.";

/// Whether the figures of a stage count. An invalid run whose stages are all without a reason counts in none of them.
pub(crate) fn counts(document: &ReportDocument, stage: &StageDocument) -> bool {
    match document.outcome {
        Outcome::Invalid | Outcome::Error => stage.invalid.is_empty() && has_bad_stage(document),
        _ => stage.invalid.is_empty(),
    }
}

/// Whether any figure of the run counts.
pub(crate) fn any_counts(document: &ReportDocument) -> bool {
    document.stages.iter().any(|it| counts(document, it))
}

fn has_bad_stage(document: &ReportDocument) -> bool {
    document.stages.iter().any(|it| !it.invalid.is_empty())
}
