//! Which requests are in the figures.

use serde::{Deserialize, Serialize};

/// Which requests of a stage are in its figures. The window of a stage begins after its warm-up and ends before its cool-down;
/// the requests of these two are never in the figures.
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
