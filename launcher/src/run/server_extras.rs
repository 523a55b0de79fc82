//! What a run needs from its managed server in addition to the server's description in the spec.

use std::path::PathBuf;

/// Asked for when the server is started.
#[derive(Default)]
pub(super) struct Extras {
    /// The folder for the traces of a profiler.
    pub(super) traces: Option<PathBuf>,
    /// Whether it is started with its sleep mode, and the endpoints of it.
    pub(super) sleep_mode: bool,
}
