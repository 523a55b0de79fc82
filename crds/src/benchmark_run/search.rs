//! The search for the highest load that meets the objectives.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::AnyValue;

/// A search for the highest load at which all objectives of slo hold. It replaces the stages of the profile; the profile still defines the requests.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Search {
    /// What the search varies. Rate: requests per second of an open loop. Concurrency: users of a closed loop, each with one request in flight.
    /// Default: the kind of load of the profile's first stage.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "SearchOver"))]
    pub over: Option<SearchOver>,

    /// Time limit for all trials together. Default: 1200; 2400 with an objective on p99 or above.
    #[cfg_attr(feature = "kube", schemars(range(min = 600, max = 86_400)))]
    pub budget_seconds: Option<u32>,

    /// Maximum probability that the answer is above the server's capacity. A number from 0.001 to 0.5. Default: 0.05.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::share"))]
    pub risk: Option<AnyValue>,

    /// The load of the first trial: requests per second, or users. Default: 1.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::limit"))]
    pub first: Option<AnyValue>,

    /// The highest load to try. Default: no limit.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::limit"))]
    pub highest: Option<AnyValue>,

    /// The load that the answer must reach. With a lower answer the outcome is SLOViolated. Absent: any answer passes.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(schema_with = "crate::any_value::limit"))]
    pub at_least: Option<AnyValue>,

    /// What to require of the server after an overload. Required: the answer is a load to which the server returns from an overload. Reported: the
    /// answer is the highest confirmed load, and the report shows whether the server returns to it. Off: no overload at the end. Default: Required.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "SearchRecovery"))]
    pub recovery: Option<SearchRecovery>,
}

/// What a search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum SearchOver {
    /// Requests per second of an open loop.
    Rate,
    /// Users of a closed loop.
    Concurrency,
}

/// What a search requires of the server after an overload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum SearchRecovery {
    /// The answer is a load to which the server returns.
    #[default]
    Required,
    /// The report shows whether the server returns to the answer.
    Reported,
    /// Nothing.
    Off,
}
