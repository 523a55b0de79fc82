//! [I/O] Results of an earlier attempt of the same run, on the claim or in the bucket. If the folder of that attempt is complete, its results are
//! reported again, without a load.

use std::{io, path::Path};

use crds::{Envelope, resolve::RunIdentity};
use report::earlier_attempt;
use tracing::{info, warn};

use super::{RunOptions, store, upload};
use crate::input::Input;

/// Returns the termination message of this attempt, if an earlier attempt has finished. It contains the figures of the earlier attempt and the name
/// of its folder. `None` if no attempt has finished, or if no results are stored. Only attempts that the operator names are considered, because other
/// users can write to the claim. A series is always measured again, because otherwise each of its runs would have to be checked.
pub(super) fn find(input: &Input, options: &RunOptions) -> Option<Envelope> {
    let run = &input.run;
    if !options.in_pod() || options.now || !run.store_results || options.no_results || run.repeat > 1 {
        return None;
    }
    let root = options.results();
    let finished = |it: &RunIdentity| run.finished_attempts.contains(&it.attempt);
    let mut envelope = store::earlier_attempts(&run.run).filter(finished).find_map(|it| {
        upload::fetch_earlier(run, options, &it);
        let found = read(&root, &it, &input.profile_text);
        upload::forget_earlier(run, options, &it);
        found
    })?;
    let core = &mut envelope.core;
    let folder = core.folder.as_deref().unwrap_or_default();
    let told = format!(
        "attempt {} had finished, and its pod was lost: these are its figures from the folder {folder}, and no load was sent again",
        core.attempt
    );
    info!("{told}");
    core.message = if core.message.is_empty() { told } else { format!("{told}; {}", core.message) };
    core.attempt = run.run.attempt;
    Some(envelope)
}

fn read(root: &Path, earlier: &RunIdentity, profile_text: &str) -> Option<Envelope> {
    match earlier_attempt::read(root, earlier, profile_text) {
        Ok(envelope) => Some(envelope),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            warn!(folder = earlier.attempt_name(), %error, "the folder of an earlier attempt cannot be used; the load is sent again");
            None
        }
    }
}
