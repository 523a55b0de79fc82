//! Names of files in a stream.

use std::path::PathBuf;

/// Maximum number of parts in a name: the folders and the file.
const MAX_PARTS: usize = 8;
/// Maximum length of a name in bytes; a longer name does not fit into the tar header.
const MAX_NAME: usize = 200;

/// The path of a name below a folder; `None` if the name may leave the folder, or if a terminal or list would not show it unchanged.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |it: &&str| !matches!(*it, "" | "." | "..") && !it.contains(['\\', ':']);
    let fits = parts.len() <= MAX_PARTS && name.len() <= MAX_NAME;
    let is_good = fits && parts.iter().all(is_plain) && !name.chars().any(char::is_control);
    is_good.then(|| parts.iter().collect())
}
