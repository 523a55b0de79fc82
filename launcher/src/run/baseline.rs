//! [I/O] The earlier run that objectives are compared with. It is read before the load, so that a wrong path is found before any time is spent.

use std::path::Path;

use crds::{
    hex,
    resolve::{ResolvedBaseline, ResolvedRun},
};
use document::ReportDocument;
use files::user_file;
use report::{
    REPORT_FILE_NAME,
    baseline::{self, MAX_BASELINE_BYTES},
};

use sha2::{Digest as _, Sha256};

use crate::input::InputError;

/// Reads the report of the earlier run, which the command line names, or in a pod the operator. Records the earlier run in `run`. `None` if nothing
/// is compared.
///
/// # Errors
/// The file does not exist, was changed after its run, or is not a report of a valid run; or the run has no objectives.
pub fn read(run: &mut ResolvedRun, given: Option<&Path>) -> Result<Option<ReportDocument>, InputError> {
    let slo = match (&mut run.slo, given) {
        (Some(slo), _) => slo,
        (None, Some(_)) => return Err(InputError::NoObjectives),
        (None, None) => return Ok(None),
    };
    if let Some(path) = given {
        slo.baseline.get_or_insert_with(ResolvedBaseline::default).report = Some(path.to_owned());
    }
    let Some(baseline) = &mut slo.baseline else { return Ok(None) };
    let mut path = baseline.report.clone().ok_or(InputError::NoBaseline)?;
    let is_folder = path.is_dir();
    if is_folder {
        path.push(REPORT_FILE_NAME);
    }
    // Only a path from the command line can be a pipe. Other users can write to the claim of a cluster run.
    let text = match given.is_some() && !is_folder {
        true => user_file::read_text(&path, MAX_BASELINE_BYTES),
        false => user_file::read_regular_text(&path, MAX_BASELINE_BYTES),
    };
    let text = match text {
        Ok(text) => text,
        Err(cause) => return Err(InputError::BaselineFile { path, cause }),
    };
    // Verify the digest, because other users can write to the results claim.
    if let Some(recorded) = &baseline.sha256
        && given.is_none()
        && *recorded != hex(&Sha256::digest(text.as_bytes()))
    {
        return Err(InputError::BaselineChanged { path });
    }
    let report = baseline::parse(&text).map_err(|cause| InputError::Baseline { path: path.clone(), cause })?;
    baseline.report = Some(path);
    Ok(Some(report))
}
