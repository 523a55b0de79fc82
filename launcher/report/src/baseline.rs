//! Reads the report of an earlier run with which objectives compare figures (the baseline).

use document::{ReadError, ReportDocument};

/// Maximum size of a `report.json` that is read, in bytes. Enough for thousands of stages.
pub const MAX_BASELINE_BYTES: u64 = 64 << 20;

/// The reason why a text cannot serve as a baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The text is not a report that this release can read.
    #[error("{0}; give the report.json of an earlier run, or its results folder")]
    NoReport(#[from] ReadError),
    /// The run was invalid or incomplete.
    #[error("is of a run that is {0}, so its figures do not count; give a valid and complete run")]
    NotValid(String),
}

/// Reads the report of an earlier run.
///
/// # Errors
/// The text is not a report, has another format version, or contains figures that are not valid.
pub fn parse(text: &str) -> Result<ReportDocument, BaselineError> {
    let report = ReportDocument::read(text)?;
    if !report.outcome.has_valid_figures() {
        return Err(BaselineError::NotValid(report.outcome.name().to_owned()));
    }
    if report.partial {
        return Err(BaselineError::NotValid("partial".into()));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use document::FORMAT;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_text_that_is_no_valid_run_says_what_to_give() {
        let told = |change: fn(&mut Value)| {
            let mut report: Value = serde_json::from_str(include_str!("../../page/fixtures/report.json")).unwrap();
            change(&mut report);
            parse(&report.to_string()).map(|it| it.model).map_err(|it| it.to_string())
        };
        assert_eq!(told(|it| it["ofAnotherRelease"] = 1.into()), Ok("org/model-8b".to_owned()));
        assert_eq!(told(|it| it["outcome"] = "SLOViolated".into()), Ok("org/model-8b".to_owned()));
        for (message, part) in [
            (told(|it| it["format"] = "benchwright.dev/report/v9".into()), "format is benchwright.dev/report/v9"),
            (told(|it| it["outcome"] = "Invalid".into()), "of a run that is Invalid"),
            (told(|it| it["partial"] = true.into()), "of a run that is partial"),
            (told(|it| it["figures"] = 1.into()), "figures: invalid type"),
            (parse("[]").map(|it| it.model).map_err(|it| it.to_string()), "give the report.json of an earlier run"),
        ] {
            assert!(message.as_ref().unwrap_err().contains(part), "{message:?}");
        }
        assert!(told(|it| it["format"] = "x".into()).unwrap_err().contains(FORMAT));
    }
}
