//! Errors for refused requests, with the statuses and bodies of vLLM 0.32.

use std::fmt::Display;

use http::StatusCode;
use serde_json::json;

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The status of the answer.
    pub status: StatusCode,
    /// `error.message`
    pub message: String,
    /// `error.type`
    pub kind: &'static str,
    /// `error.param`
    pub param: Option<String>,
}

impl ApiError {
    /// A bad request whose message does not name the parameter.
    pub fn bad(param: Option<&str>, message: impl Into<String>) -> Self {
        let (message, param) = (message.into(), param.map(Into::into));
        ApiError { status: StatusCode::BAD_REQUEST, message, kind: "BadRequestError", param }
    }

    /// A parameter that is not allowed.
    pub fn parameter(param: &str, message: impl Display) -> Self {
        ApiError::bad(Some(param), format!("{message} (parameter={param})"))
    }

    /// A parameter with a bad value.
    pub fn value(param: &str, value: impl Display, message: impl Display) -> Self {
        ApiError::bad(Some(param), format!("{message} (parameter={param}, value={value})"))
    }

    /// A violation of the schema. `loc` is the place in the body, and begins with `body`.
    pub fn schema(kind: &str, loc: &str, message: &str, input: &str) -> Self {
        ApiError {
            param: Some(loc.into()),
            ..ApiError::validation(format!(
                "{{'type': '{kind}', 'loc': '{loc}', 'msg': '{message}', 'input': '{input}'}}"
            ))
        }
    }

    /// An error with the text of one validation error.
    pub fn validation(text: impl Display) -> Self {
        let message = format!("1 validation error:\n  {text}");
        ApiError { status: StatusCode::BAD_REQUEST, message, kind: "Bad Request", param: None }
    }

    /// A model that is not served.
    pub fn unknown_model(asked: &str, served: &str) -> Self {
        ApiError {
            status: StatusCode::NOT_FOUND,
            message: format!("The model `{asked}` does not exist. Valid aliases: {served}."),
            kind: "NotFoundError",
            param: Some("model".into()),
        }
    }

    /// The answer to a request that a fault affects.
    pub fn fault(status: StatusCode) -> Self {
        let kind = match status.as_u16() {
            404 => "NotFoundError",
            503 => "Service Unavailable",
            500.. => "InternalServerError",
            _ => "BadRequestError",
        };
        ApiError { status, message: "The simulator was told to fail this request.".into(), kind, param: None }
    }

    /// The body of the answer.
    pub fn body(&self) -> String {
        let ApiError { status, message, kind, param } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": status.as_u16()}}).to_string()
    }
}
