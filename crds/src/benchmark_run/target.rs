//! The target of a BenchmarkRun: the server to measure, and how to reach it.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{GatewayRef, Hardware, KeyRef, Server, ServiceRef, field::is_default};
use crate::server_engine::MetricsKind;

/// The serving stack under test.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("[has(self.url), has(self.serviceRef), has(self.gatewayRef), has(self.simulator), has(self.server)].filter(it, it).size() == 1")
        .message("set exactly one of url, serviceRef, gatewayRef, simulator and server"))
)]
pub struct Target {
    /// Base URL of the server, http or https, without `/v1`, such as `http://gateway.llm-d:80`. Outside of a cluster also
    /// `unix:` and the path of a socket, such as `unix:/run/vllm.sock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(
            length(max = 2048),
            regex(pattern = r"^https?://(\[[0-9a-fA-F:.]+\]|[-._a-zA-Z0-9]+)(:[0-9]{1,5})?(/[^\s?#@]*)?$")
        )
    )]
    pub url: Option<String>,

    /// A Service in the namespace of the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ServiceRef"))]
    pub service_ref: Option<ServiceRef>,

    /// A Gateway of the Gateway API. The URL is derived from its address, listener and route.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "GatewayRef"))]
    pub gateway_ref: Option<GatewayRef>,

    /// The embedded simulated vLLM, inside the launcher: for a first run, for tests, and for measuring the launcher itself.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Simulator"))]
    pub simulator: Option<Simulator>,

    /// A model server that is started for the run and ended with it.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Server"))]
    pub server: Option<Server>,

    /// The API to call. Default: the profile's API.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Api"))]
    pub api: Option<Api>,

    /// The version of HTTP. Default: Auto.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "HttpVersion"))]
    pub http_version: Option<HttpVersion>,

    /// The model to request. Default: the profile's model, else the model that the server serves; a server with several models requires this field.
    #[cfg_attr(feature = "kube", schemars(length(max = 256)))]
    pub model: Option<String>,

    /// The bearer token.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Auth"))]
    pub auth: Option<Auth>,

    /// Private certificate authorities.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Tls"))]
    pub tls: Option<Tls>,

    /// The check that the server is ready to be measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub readiness: Readiness,

    /// True: no other exclusive run uses the target at the same time. Exclusive runs on the same host and port wait for each other, and
    /// namespaces alternate. False: the run shares the target. For a host outside the cluster, only runs of the same namespace wait for each
    /// other, unless the field is explicitly true. Not used outside of a cluster. Default: true.
    pub exclusive: Option<bool>,

    /// The accelerators behind the target, for rates per accelerator and costs in the report. If absent, neither is reported.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Hardware"))]
    pub hardware: Option<Hardware>,

    /// The sources of the server's metrics, which are read while the load runs. Default: `/metrics` of the target, if it has metrics. With an
    /// empty list, metrics are not read.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "Vec<MetricsSource>", length(max = 32)))]
    pub metrics: Option<Vec<MetricsSource>>,
}

/// A source of metrics as Prometheus text. Set exactly one of url and serviceRef. All addresses of a host name are read; the addresses of a headless
/// Service are its pods.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("has(self.url) != has(self.serviceRef)").message("set exactly one of url and serviceRef"))
)]
pub struct MetricsSource {
    /// The complete URL, http or https, such as `http://epp.llm-d:9090/metrics`. If the URL has no path, `/metrics` is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "kube",
        schemars(
            length(max = 2048),
            regex(pattern = r"^https?://(\[[0-9a-fA-F:.]+\]|[-._a-zA-Z0-9]+)(:[0-9]{1,5})?(/[^\s?#@]*)?$")
        )
    )]
    pub url: Option<String>,
    /// A Service in the run's namespace. Here path is the path of the metrics. Default: `/metrics`.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ServiceRef"))]
    pub service_ref: Option<ServiceRef>,
    /// The kind of server that has these metrics. Default: Auto, detected from the metric names.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "MetricsKind"))]
    pub kind: Option<MetricsKind>,
}

/// The embedded simulated vLLM. Its speed is fixed by a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Simulator {
    /// The kind of server to simulate. Default: GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "kube", schemars(with = "SimulatorPreset"))]
    pub preset: Option<SimulatorPreset>,
}

/// The speed of the simulated server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum SimulatorPreset {
    /// An 8B model on one data-centre GPU, roughly: tens of milliseconds to the first token, 10 ms between tokens.
    #[serde(rename = "GPU")]
    Gpu,
    /// A tiny model on a CPU: a few milliseconds between tokens.
    Tiny,
    /// Answers immediately: the run measures the launcher.
    Instant,
}

/// Which endpoint is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Api {
    /// `/v1/chat/completions`
    #[serde(rename = "OpenAIChat")]
    Chat,
    /// `/v1/completions`
    #[serde(rename = "OpenAICompletions")]
    Completions,
    /// `/v1/responses`
    #[serde(rename = "OpenAIResponses")]
    Responses,
    /// `/v1/messages`
    #[serde(rename = "AnthropicMessages")]
    Messages,
}

impl Api {
    /// Whether a request of this API contains messages instead of a plain prompt.
    pub fn has_messages(self) -> bool {
        self != Api::Completions
    }
}

/// The version of HTTP for requests to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum HttpVersion {
    /// Over TLS: HTTP/2 if the server offers it, else HTTP/1.1. Without TLS: HTTP/1.1.
    Auto,
    /// HTTP/1.1, with one connection per request in flight.
    #[serde(rename = "HTTP1")]
    Http1,
    /// HTTP/2, with up to 100 requests in flight per connection. Without TLS, the server must accept HTTP/2 with prior knowledge.
    #[serde(rename = "HTTP2")]
    Http2,
}

/// The bearer token, mounted as a file; it never appears in arguments, environment, status or logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Auth {
    /// The Secret with the token, in the run's namespace.
    pub secret_key_ref: KeyRef,
}

/// Private certificate authorities, trusted beside the public ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Tls {
    /// The ConfigMap or Secret with the PEM-encoded certificates.
    pub ca: CaSource,
}

/// The object with the certificate authorities. Exactly one of configMapRef and secretKeyRef.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
#[cfg_attr(
    feature = "kube",
    x_kube(validation = Rule::new("has(self.configMapRef) != has(self.secretKeyRef)")
        .message("set exactly one of configMapRef and secretKeyRef"))
)]
pub struct CaSource {
    /// A key of a ConfigMap in the namespace of the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "KeyRef"))]
    pub config_map_ref: Option<KeyRef>,

    /// A key of a Secret in the namespace of the run.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "KeyRef"))]
    pub secret_key_ref: Option<KeyRef>,
}

/// The check that the server is ready to be measured.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct Readiness {
    /// Generate: a real generation of one token must succeed, because a server lists its models before it can answer. Models: a request to
    /// `/v1/models` must succeed. Default: Generate; with harness nop Models, because nop's own request must be the first.
    #[serde(default)]
    #[cfg_attr(feature = "kube", schemars(with = "ReadinessProbe"))]
    pub probe: Option<ReadinessProbe>,
    /// How long to wait until the server is ready, in seconds. Default: 900; outside of a cluster 60, unless the run starts a server.
    #[cfg_attr(feature = "kube", schemars(range(min = 1, max = 86400)))]
    pub timeout_seconds: Option<u32>,
}

/// The check that decides whether the server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum ReadinessProbe {
    /// A generation of one token succeeds.
    Generate,
    /// `/v1/models` answers.
    Models,
}
