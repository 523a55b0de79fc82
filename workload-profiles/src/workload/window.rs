//! Which requests the figures include.

use serde::{Deserialize, Serialize};

/// Which requests of a stage are included in its figures. The window of a stage begins after its warm-up and ends before its cool-down. Requests in
/// the warm-up and the cool-down are never included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Window {
    /// Every request that was due within the window, even if the request ended later.
    #[default]
    All,
    /// Requests that were due and ended within the window.
    Trimmed,
    /// Everything that happened within the window, including parts of requests. A request that has not ended by the end of the window counts as
    /// incomplete.
    Cut,
}
