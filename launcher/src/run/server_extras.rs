//! Settings that a run adds to its managed server. The server's description in the spec does not contain them.

use std::path::PathBuf;

/// Settings that are added when the server is started.
#[derive(Default)]
pub(super) struct Extras {
    /// The folder for profiler traces.
    pub(super) traces: Option<PathBuf>,
    /// Whether the server is started with sleep mode and the endpoints for it.
    pub(super) sleep_mode: bool,
}
