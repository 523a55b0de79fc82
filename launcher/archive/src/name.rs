//! Names of files in a stream.

use std::path::PathBuf;

/// The most folders and the file of a name.
const MAX_PARTS: usize = 8;
/// The longest name, in bytes; more does not fit into the header of tar.
const MAX_NAME: usize = 200;

/// The path of a name below a folder; `None` for a name that may leave the folder, or that a terminal or a list would not show as it is.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |it: &&str| !matches!(*it, "" | "." | "..") && !it.contains(['\\', ':']);
    let fits = parts.len() <= MAX_PARTS && name.len() <= MAX_NAME;
    let is_good = fits && parts.iter().all(is_plain) && !name.chars().any(char::is_control);
    is_good.then(|| parts.iter().collect())
}
