//! The interactivity in `report.json`: how fast tokens reach one user.

use analysis::Interactivity;
use serde::{Deserialize, Serialize};

/// Output tokens per second per user, by three definitions.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InteractivityDocument {
    pub inverse_of_tpot_p90: Option<f64>,
    pub median_of_inverse_tpot: Option<f64>,
    pub inverse_of_ntpot_p90: Option<f64>,
}

impl From<Interactivity> for InteractivityDocument {
    fn from(it: Interactivity) -> Self {
        let Interactivity { inverse_of_tpot_p90, median_of_inverse_tpot, inverse_of_ntpot_p90 } = it;
        InteractivityDocument { inverse_of_tpot_p90, median_of_inverse_tpot, inverse_of_ntpot_p90 }
    }
}
