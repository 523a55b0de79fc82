//! The fields of Gateway API objects that determine a URL. All fields have defaults, so that a missing field yields a message instead of a parse
//! error, and unknown fields of other versions are ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The API group of Gateways, HTTPRoutes and ReferenceGrants.
pub(super) const GROUP: &str = "gateway.networking.k8s.io";
/// The API group of InferencePools.
pub(super) const INFERENCE_GROUP: &str = "inference.networking.k8s.io";

/// A Gateway, `v1`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Gateway {
    pub spec: GatewaySpec,
    pub status: GatewayStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GatewaySpec {
    pub listeners: Vec<Listener>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Listener {
    pub name: String,
    pub hostname: Option<String>,
    pub port: u16,
    pub protocol: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GatewayStatus {
    pub addresses: Vec<Address>,
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Address {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: String,
}

/// An HTTPRoute, `v1`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Route {
    /// Copied from the metadata.
    #[serde(skip)]
    pub name: String,
    /// Copied from the metadata.
    #[serde(skip)]
    pub namespace: String,
    pub spec: RouteSpec,
    pub status: RouteStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RouteSpec {
    pub parent_refs: Vec<ParentRef>,
    pub hostnames: Vec<String>,
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ParentRef {
    pub group: Option<String>,
    pub kind: Option<String>,
    pub namespace: Option<String>,
    pub name: String,
    pub section_name: Option<String>,
    pub port: Option<u16>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Rule {
    pub matches: Vec<Match>,
    pub backend_refs: Vec<BackendRef>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Match {
    pub path: Option<PathMatch>,
    pub headers: Vec<serde_json::Value>,
    pub query_params: Vec<serde_json::Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PathMatch {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BackendRef {
    pub group: Option<String>,
    pub kind: Option<String>,
    pub namespace: Option<String>,
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RouteStatus {
    pub parents: Vec<RouteParent>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RouteParent {
    pub parent_ref: ParentRef,
    pub conditions: Vec<Condition>,
}

/// An InferencePool, `v1`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Pool {
    pub spec: PoolSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PoolSpec {
    pub selector: PoolSelector,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PoolSelector {
    pub match_labels: BTreeMap<String, String>,
}

impl Pool {
    /// The label selector of the pool's pods, for a list request. Empty if the pool has none.
    pub(super) fn selector(&self) -> String {
        let labels = self.spec.selector.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
        labels.collect::<Vec<_>>().join(",")
    }
}

/// A ReferenceGrant, `v1beta1`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Grant {
    pub spec: GrantSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GrantSpec {
    pub from: Vec<GrantFrom>,
    pub to: Vec<GrantTo>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GrantFrom {
    pub group: String,
    pub kind: String,
    pub namespace: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GrantTo {
    pub group: String,
    pub kind: String,
    pub name: Option<String>,
}

impl Grant {
    /// Whether the grant allows BenchmarkRuns in `namespace` to refer to a Gateway in the grant's own namespace.
    pub(super) fn allows(&self, namespace: &str, gateway: &str) -> bool {
        let from = self.spec.from.iter().any(|it| {
            it.group == crds::benchmark_run::GROUP && it.kind == crds::benchmark_run::KIND && it.namespace == namespace
        });
        let to = self.spec.to.iter().any(|it| {
            let named = it.name.as_deref().unwrap_or_default();
            it.group == GROUP && it.kind == "Gateway" && (named.is_empty() || named == gateway)
        });
        from && to
    }
}

/// Whether the condition with this type has this status.
pub(super) fn has(conditions: &[Condition], kind: &str, status: &str) -> bool {
    conditions.iter().any(|it| it.kind == kind && it.status == status)
}
