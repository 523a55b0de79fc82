//! A bounded sample of the requests of a run, as `report.json` has it: `requestSample`.

use serde::{Deserialize, Serialize};

use super::time_series::Column;

/// Requests in the order of the time at which they were due. Times count from the start of the run. A moment that did not
/// happen is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestSampleDocument {
    /// The number of requests that the sample was drawn from.
    pub of: u64,
    /// Index of the stage in `stages`.
    pub stage: Column<u32>,
    /// Number of the request within its stage.
    pub number: Column<u64>,
    /// A name of `outcomes`.
    pub outcome: Column<String>,
    pub due_ms: Column<f64>,
    pub sent_ms: Column<Option<f64>>,
    pub first_token_ms: Column<Option<f64>>,
    pub ended_ms: Column<f64>,
}
