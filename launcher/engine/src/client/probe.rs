//! [I/O] Whether the target answers, and which models it serves.

use std::time::Duration;

use crds::units::Span;
use serde::Deserialize;
use workload_profiles::workload::{PromptForm, Sampling};

use super::{Client, Exchange, Target, answer::Failure, api_error::ApiError, body::BodyTemplate};
use crate::record::RequestOutcome;
use clock::Clock;

const MODELS: &str = "/v1/models";
/// A server that does not list its models in this time hangs.
const MODELS_TIMEOUT: Duration = Duration::from_secs(10);
/// The first generation of a server may compile kernels.
const GENERATE_TIMEOUT: Duration = Duration::from_secs(60);
/// A list of models that is longer is none.
const MAX_MODELS: usize = 4 << 20;

/// Why the target cannot be measured yet, or ever.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No complete answer.
    #[error("{0}")]
    NoAnswer(String),
    /// No answer in time.
    #[error("{what} did not answer within {limit}; is the server hung, asleep or still loading?")]
    Timeout {
        /// The request.
        what: &'static str,
        /// How long it was waited for.
        limit: Span,
    },
    /// An answer that says no.
    #[error("{what} was refused: {message}{}", remedy(*status))]
    Refused {
        /// The request.
        what: &'static str,
        /// The status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// An answer that no OpenAI server gives.
    #[error("{MODELS} gave no list of models; is the target the base URL of an OpenAI server?")]
    NotOpenAi,
    /// A list without an entry.
    #[error("{MODELS} lists no model; is it still loading?")]
    NoModel,
}

impl ProbeError {
    /// Whether waiting cannot mend it: the request, its token or the URL is wrong.
    pub fn is_final(&self) -> bool {
        matches!(self, ProbeError::Refused { status: 301 | 308 | 400 | 401 | 403 | 405 | 422 | 501, .. })
    }

    /// Whether the server does not know what was asked for.
    pub fn is_not_found(&self) -> bool {
        matches!(self, ProbeError::Refused { status: 404, .. })
    }
}

fn remedy(status: u16) -> &'static str {
    match status {
        401 | 403 => "; give a token that the server takes: --token-file FILE, in a cluster target.auth",
        404 => "; check the target's URL and target.model",
        405 | 501 => "; check the target's URL and target.api",
        300..=399 => "; give the URL that it leads to",
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
}

/// The ids of the models that the target lists; may be empty.
///
/// # Errors
/// The target does not answer, says no, or is no OpenAI server.
pub async fn models(target: &Target) -> Result<Vec<String>, ProbeError> {
    let client = Client::new(target.clone(), Clock::start());
    let fetched = within(MODELS, MODELS_TIMEOUT, client.fetch(&target.get(MODELS), MAX_MODELS)).await?;
    let (status, body) = fetched.map_err(|failure| ProbeError::NoAnswer(failure.message))?;
    if !(200..300).contains(&status) {
        let ApiError { text, .. } = ApiError::parse(&body);
        let message = if text.is_empty() { status.to_string() } else { format!("{status}: {text}") };
        return Err(ProbeError::Refused { what: MODELS, status, message });
    }
    let models: Models = serde_json::from_slice(&body).map_err(|_| ProbeError::NotOpenAi)?;
    Ok(models.data.into_iter().map(|it| it.id).collect())
}

/// Generates one token, as the load will.
///
/// # Errors
/// The target does not answer, says no, or breaks the answer off.
pub async fn generate(target: &Target, model: &str) -> Result<(), ProbeError> {
    const WHAT: &str = "a generation of one token";
    let client = Client::new(target.clone(), Clock::start());
    let template = BodyTemplate::new(target.api(), model, false, &Sampling::default(), PromptForm::Text);
    let body = template.body("Hello", Some(1), false);
    let mut exchange = Exchange::default();
    match within(WHAT, GENERATE_TIMEOUT, client.call(body, None, false, &mut exchange)).await? {
        Ok(_) => Ok(()),
        Err(Failure { outcome: RequestOutcome::HttpError(status), message, .. }) => {
            Err(ProbeError::Refused { what: WHAT, status, message })
        }
        Err(Failure { message, .. }) => Err(ProbeError::NoAnswer(message)),
    }
}

async fn within<T>(what: &'static str, limit: Duration, future: impl Future<Output = T>) -> Result<T, ProbeError> {
    clock::limit(limit, future).await.map_err(|_| ProbeError::Timeout { what, limit: Span(limit) })
}
