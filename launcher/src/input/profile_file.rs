//! [I/O] The profile that a command line names: a file, or a shipped profile.

use std::path::{Path, PathBuf};

use crds::benchmark_run::Harness;

use super::{InputError, user_files::read};

/// A profile file.
pub(super) struct ProfileFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The harness that defines the format, if it can be recognised from the text.
    pub(super) harness: Option<Harness>,
}

impl ProfileFile {
    /// Returns the file with this name. `None` if there is no such file, but the name can mean a shipped profile.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn find(name: &str, harness: Option<Harness>) -> Result<Option<ProfileFile>, InputError> {
        let path = Path::new(name);
        let ships = |it: &Harness| workload_profiles::shipped(*it, name).is_ok();
        let is_shipped = harness.map_or_else(|| Harness::ALL.iter().any(ships), |it| ships(&it));
        if is_shipped && !name.contains('/') && !path.is_file() {
            return Ok(None);
        }
        // If there is no such file and the name has neither slash nor dot, assume that it means a shipped profile. The later error then lists the
        // shipped profiles, which helps more than an error about a missing file.
        if !name.contains(['/', '.']) && !path.exists() {
            return Ok(None);
        }
        let text = read(path)?;
        let harness = workload_profiles::recognise(&text);
        Ok(Some(ProfileFile { path: path.to_owned(), text, harness }))
    }
}
