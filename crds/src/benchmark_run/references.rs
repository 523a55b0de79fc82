//! References to other Kubernetes objects.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A Service in the namespace of the run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ServiceRef {
    /// Name of the Service.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Port of the Service. Default: 80.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 65535)))]
    pub port: Option<u16>,
    /// HTTP or HTTPS. Default: HTTP.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Scheme"))]
    pub scheme: Option<Scheme>,
    /// The prefix of every request's path, before `/v1`. Default: /.
    #[cfg_attr(feature = "kube", schemars(length(max = 1024), regex(pattern = r"^/[^\s?#]*$")))]
    pub path: Option<String>,
}

/// The protocol of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

/// A Gateway of the Gateway API, with the names of its parentRef. A Gateway in another namespace needs a ReferenceGrant in that namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct GatewayRef {
    /// Name of the Gateway.
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Namespace of the Gateway. If absent, the run's namespace is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub namespace: Option<String>,
    /// Name of a listener. If absent, the listener with the given port is used, else the only listener for HTTP or HTTPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub section_name: Option<String>,
    /// Port of the listener. If absent, any port matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 65535)))]
    pub port: Option<u16>,
    /// Name of the HTTPRoute that routes to the model server, in the namespace of the run or of the Gateway. If absent, the only HTTPRoute that
    /// is attached to the Gateway in these namespaces is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"))
    )]
    pub http_route: Option<String>,
}

/// One key of a Secret or ConfigMap in the run's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct KeyRef {
    /// Name of the object.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// Key in the object's data.
    #[cfg_attr(feature = "kube", schemars(length(min = 1, max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$")))]
    pub key: String,
}
