//! The engine, release and model of a server, as the server reports them. Pure.

/// What a server reports about itself. A field that it does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The engine. `/v1/models` names it as the owner of the model: `vllm`, `sglang`, `llamacpp`. If the owner does not name it: `sglang` for
    /// a server that answers SGLang's own endpoint.
    pub engine: Option<String>,
    /// The release of the engine.
    pub version: Option<String>,
    /// The simulator and its release, for a server that reports that it is simulated.
    pub simulator: Option<String>,
    /// The header field `server` of its answers: a web server or a gateway.
    pub server: Option<String>,
    /// The name under which the model is requested, if the server lists it.
    pub model: Option<String>,
    /// The source that the server loaded for that name: a repository or a path.
    pub model_root: Option<String>,
    /// The revision of the model.
    pub model_revision: Option<String>,
    /// Maximum total length of prompt and answer, in tokens.
    pub max_model_len: Option<u64>,
}
