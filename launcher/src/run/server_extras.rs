//! What a run needs from its managed server in addition to the server's description in the spec.

use std::path::PathBuf;

/// Requested when the server is started.
#[derive(Default)]
pub(super) struct Extras {
    /// The folder for profiler traces.
    pub(super) traces: Option<PathBuf>,
    /// Whether it is started with sleep mode and its endpoints.
    pub(super) sleep_mode: bool,
}
