//! [I/O] `storage.pvc.retention`: deletes old results from a shared claim after a run has written its results.

use crds::resolve::ResolvedRun;
use report::{
    Stored,
    prune::{Limits, prune},
};
use tracing::{info, warn};

use super::RunOptions;

/// Deletes old folders next to the folder that was written, and returns their names. Does nothing if the run stored no results. If a folder cannot be
/// deleted, there is only a warning, because the results of this run are complete.
pub(super) fn apply(run: &ResolvedRun, options: &RunOptions, stored: Option<&Stored>) -> Vec<String> {
    let (Some(retention), Some(stored)) = (&run.retention, stored) else { return Vec::new() };
    if !options.in_pod() {
        return Vec::new();
    }
    let limits = Limits { keep_runs: retention.keep_runs, keep_days: retention.keep_days };
    let root = options.results();
    match prune(&root, limits, &[&stored.name], clock::now().into(), false) {
        Ok(pruned) => {
            for (folder, error) in &pruned.failed {
                warn!(folder, %error, "storage.pvc.retention: a folder cannot be deleted");
            }
            for folder in &pruned.deleted {
                info!(folder, "storage.pvc.retention: an old folder was deleted");
            }
            pruned.deleted
        }
        Err(error) => {
            warn!(root = %root.display(), %error, "storage.pvc.retention: nothing was deleted");
            Vec::new()
        }
    }
}

/// Returns the line that the command prints about deleted folders.
pub(super) fn line(deleted: &[String]) -> String {
    /// Maximum number of names in the line.
    const MOST: usize = 20;
    if deleted.is_empty() {
        return String::new();
    }
    let named = deleted.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = deleted.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("deleted by storage.pvc.retention: {named}{more}\n")
}
