//! Classes of requests, which differ in the model, the header fields or the body.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Extra;

/// Classes of requests. Each request belongs to one of them, and all turns of a session to the same. The report has the figures of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrafficClasses {
    /// How a request gets its class.
    pub assignment: Assignment,
    /// The classes; empty: all requests are alike.
    pub classes: Vec<TrafficClass>,
}

impl TrafficClasses {
    /// Whether all requests are alike.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }
}

/// A class of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrafficClass {
    /// Unique in the workload, such as the name of a LoRA adapter.
    pub name: String,
    /// How often it is drawn: this weight / the sum of all weights. Above 0.
    pub weight: f64,
    /// The model that its requests name, such as a LoRA adapter; absent: that of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Header fields beside those of the workload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The most tokens of an answer; absent: those of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u32>,
    /// Fields of the body beside those of the workload.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// How a request gets its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Assignment {
    /// Drawn for each request by the weights.
    #[default]
    Random,
    /// One class after the other, whatever the weights.
    RoundRobin,
}
