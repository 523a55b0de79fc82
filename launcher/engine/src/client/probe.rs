//! [I/O] Checks whether the target answers, and which models it serves.

use std::time::Duration;

use crds::units::Span;
use serde::Deserialize;
use serde_json::Value;
use workload_profiles::workload::Sampling;

use super::{
    Client, Exchange, Failure, Target,
    api_error::ApiError,
    body::{BodyTemplate, Content, Prompt, Streaming},
    exchange::Fetched,
};
use clock::Clock;
use measurement::record::RequestOutcome;

pub(super) const MODELS: &str = "/v1/models";
/// Timeout for the list of models. A server that takes longer hangs.
const MODELS_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the first generation, for which a server can have to compile kernels.
const GENERATE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of the list of models, in bytes.
const MAX_MODELS: usize = 4 << 20;

/// The reason why the target cannot be measured, now or ever.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The response is missing or incomplete.
    #[error("{message}")]
    NoAnswer {
        message: String,
        /// The kind of failure as reports name it: its cause or its outcome.
        kind: String,
    },
    /// The response did not come in time.
    #[error("{what} did not answer within {limit}; is the server hung, asleep or still loading?")]
    Timeout {
        what: &'static str,
        /// How long the probe waited.
        limit: Span,
    },
    /// The target refused the request.
    #[error("{what} was refused: {message}{}", remedy(*status))]
    Refused { what: &'static str, status: u16, message: String },
    /// The response does not come from an OpenAI-compatible server.
    #[error("{MODELS} gave no list of models; is the target the base URL of an OpenAI server?")]
    NotOpenAi,
    /// The list of models is empty.
    #[error("{MODELS} lists no model; is it still loading?")]
    NoModel,
}

impl ProbeError {
    /// Whether retrying is useless, because the request, its token or the URL is wrong.
    pub fn is_final(&self) -> bool {
        matches!(self, ProbeError::Refused { status: 301 | 308 | 400 | 401 | 403 | 405 | 422 | 501, .. })
    }

    /// Describes the error without text from the server, because a message can repeat the server's error text or certificate.
    pub fn without_words(&self) -> String {
        match self {
            ProbeError::NoAnswer { kind, .. } => format!("there was no answer ({kind})"),
            ProbeError::Refused { what, status, .. } => format!("{what} was refused: {status}{}", remedy(*status)),
            ProbeError::Timeout { .. } | ProbeError::NotOpenAi | ProbeError::NoModel => self.to_string(),
        }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, ProbeError::Refused { status: 404, .. })
    }
}

fn remedy(status: u16) -> &'static str {
    match status {
        401 | 403 => "; give a token that the server takes: --token-file FILE, in a cluster target.auth",
        404 => "; check the target's URL and target.model",
        405 | 501 => "; check the target's URL and target.api",
        300..=399 => "; give the URL that it redirects to",
        _ => "",
    }
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    #[serde(default)]
    parent: Value,
}

/// A model in the target's list of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedModel {
    pub id: String,
    /// Whether the model is a LoRA adapter of another model.
    pub is_adapter: bool,
}

/// Requests the list of models, which can be empty.
///
/// # Errors
/// The target does not respond, refuses the request, or is not an OpenAI-compatible server.
pub async fn models(target: &Target) -> Result<Vec<ServedModel>, ProbeError> {
    let client = Client::new(target.clone(), Clock::start());
    let fetched = within(MODELS, MODELS_TIMEOUT, client.fetch(&target.get(MODELS), MAX_MODELS)).await?;
    let Fetched { status, body, .. } = fetched.map_err(no_answer)?;
    if !(200..300).contains(&status) {
        let ApiError { text, .. } = ApiError::parse(&body);
        let message = if text.is_empty() { status.to_string() } else { format!("{status}: {text}") };
        return Err(ProbeError::Refused { what: MODELS, status, message });
    }
    let models: Models = serde_json::from_slice(&body).map_err(|_| ProbeError::NotOpenAi)?;
    let served = |Model { id, parent }| ServedModel { id, is_adapter: parent.is_string() };
    Ok(models.data.into_iter().map(served).collect())
}

/// Generates one token with the API that the load will use.
///
/// # Errors
/// The target does not respond, refuses the request, or breaks the answer off.
pub async fn generate(target: &Target, model: &str) -> Result<(), ProbeError> {
    const WHAT: &str = "a generation of one token";
    let client = Client::new(target.clone(), Clock::start());
    let template = BodyTemplate::new(target.api(), model, Streaming::Off, &Sampling::default());
    let body = template.body(&Content::new(Prompt::Text("Hello"), Some(1)));
    let mut exchange = Exchange::default();
    match within(WHAT, GENERATE_TIMEOUT, client.call(body, None, false, &mut exchange)).await? {
        Ok(_) => Ok(()),
        Err(Failure { outcome: RequestOutcome::HttpError(status), message, .. }) => {
            Err(ProbeError::Refused { what: WHAT, status, message })
        }
        Err(failure) => Err(no_answer(failure)),
    }
}

fn no_answer(Failure { outcome, message, cause, .. }: Failure) -> ProbeError {
    let kind = cause.map_or_else(|| outcome.name(), |it| it.name().to_owned());
    ProbeError::NoAnswer { message, kind }
}

async fn within<T>(what: &'static str, limit: Duration, future: impl Future<Output = T>) -> Result<T, ProbeError> {
    clock::limit(limit, future).await.map_err(|_| ProbeError::Timeout { what, limit: Span(limit) })
}
