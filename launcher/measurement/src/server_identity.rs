//! The engine, release and model of a server, as the server reports them. Pure.

/// What a server reports about itself. Fields that it does not report are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The engine. In `/v1/models` it is the owner of the model: `vllm`, `sglang`, `llamacpp`. If the owner is missing, the engine is `sglang` for a
    /// server that answers at SGLang's own endpoint.
    pub engine: Option<String>,
    /// The release of the engine.
    pub version: Option<String>,
    /// The simulator and its release, if the server reports that it is simulated.
    pub simulator: Option<String>,
    /// The response header `server`, which names a web server or a gateway.
    pub server: Option<String>,
    /// The model's name in requests, if the server lists it.
    pub model: Option<String>,
    /// Where the server loaded the model from: a repository or a path.
    pub model_root: Option<String>,
    /// The revision of the model.
    pub model_revision: Option<String>,
    /// Maximum total length of prompt and answer, in tokens.
    pub max_model_len: Option<u64>,
}
