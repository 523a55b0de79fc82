//! Checks the names of files in a stream.

use std::path::PathBuf;

/// Maximum number of parts in a name, which are its folders and the file.
const MAX_PARTS: usize = 8;
/// Maximum bytes of a name. A longer name does not fit into the tar header.
const MAX_NAME: usize = 200;

/// Converts a name to a relative path. `None` if the path can point outside the folder, or if a terminal or a list could not show the name unchanged.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |it: &&str| !matches!(*it, "" | "." | "..") && !it.contains(['\\', ':']);
    let fits = parts.len() <= MAX_PARTS && name.len() <= MAX_NAME;
    let is_good = fits && parts.iter().all(is_plain) && !name.chars().any(char::is_control);
    is_good.then(|| parts.iter().collect())
}
