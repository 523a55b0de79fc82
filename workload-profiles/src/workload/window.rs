//! Which requests the figures include.

use serde::{Deserialize, Serialize};

/// Which requests of a stage its figures include. The window of a stage begins after its warm-up and ends before its cool-down. Requests of
/// warm-up and cool-down are never included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Window {
    /// Every request that was due within the window, whenever it ended.
    #[default]
    All,
    /// Requests that were due and ended within the window.
    Trimmed,
    /// Everything that happened within the window, whichever request it belongs to; a request that had not ended by then
    /// counts as incomplete.
    Cut,
}
