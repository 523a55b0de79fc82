//! `contamination` in `report.json`: whether the server could have had the prompts in its cache.

use analysis::{Contamination, WarmUp};
use serde::{Deserialize, Serialize};

/// What is known about the prompts and the server's prefix cache.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContaminationDocument {
    pub exposure: String,
    pub why: String,
    pub prompts: String,
    pub own_salt: Option<bool>,
    pub warm_up: Option<WarmUpDocument>,
    pub data_set: Option<DataSetUseDocument>,
    pub cached_tokens: Option<u64>,
    pub cached_share: Option<f64>,
    pub requests_with_cached_tokens: Option<u64>,
    pub server_cached_share: Option<f64>,
}

/// The requests before the measurement windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarmUpDocument {
    pub stages: Vec<String>,
    pub requests: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<String>,
}

/// How the rows of a data set were used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataSetUseDocument {
    pub rows: u64,
    pub sent: u64,
    pub distinct: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<f64>,
}

impl ContaminationDocument {
    pub(super) fn new(it: &Contamination) -> Self {
        let data_set = it.data_set.map(|rows| DataSetUseDocument {
            rows: rows.rows,
            sent: rows.begun,
            distinct: rows.distinct,
            passes: rows.passes(),
        });
        ContaminationDocument {
            exposure: it.exposure.name().to_owned(),
            why: it.why.clone(),
            prompts: it.prompts.to_owned(),
            own_salt: it.own_salt,
            warm_up: it.warm_up.as_ref().map(WarmUpDocument::new),
            data_set,
            cached_tokens: it.cached.map(|it| it.tokens),
            cached_share: it.cached.map(|it| it.share),
            requests_with_cached_tokens: it.cached.map(|it| it.requests),
            server_cached_share: it.server_share,
        }
    }
}

impl WarmUpDocument {
    fn new(warm_up: &WarmUp) -> Self {
        let WarmUp { stages, requests, prompts } = warm_up;
        let prompts = prompts.map(|it| it.name().to_owned());
        WarmUpDocument { stages: stages.clone(), requests: *requests, prompts }
    }
}
