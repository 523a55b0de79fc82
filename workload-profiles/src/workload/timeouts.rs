//! How long a request, and each part of it, can take.

use std::time::Duration;

use crds::units::Span;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// How long a request, and each part of it, can take. If absent, there is no limit. A request that takes longer fails.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// Maximum time to open a connection: name resolution, TCP and TLS.
    #[serde(deserialize_with = "above_zero")]
    pub connect: Span,
    /// Maximum time from sending a request to its first event with a token. The response head does not count, because servers send it immediately.
    #[serde(deserialize_with = "some_above_zero")]
    pub first_token: Option<Span>,
    /// Maximum time between two events with a token, and from the last event with a token to the end of the stream.
    #[serde(deserialize_with = "some_above_zero")]
    pub token_gap: Option<Span>,
    /// Maximum time from the scheduled time of the request to its end, including the connection.
    #[serde(deserialize_with = "some_above_zero")]
    pub request: Option<Span>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { connect: Span(Duration::from_secs(10)), first_token: None, token_gap: None, request: None }
    }
}

fn above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
    let span = Span::deserialize(deserializer)?;
    if span.0.is_zero() {
        return Err(D::Error::custom("a timeout is 0s; give it a time, or leave it out for the default"));
    }
    Ok(span)
}

fn some_above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Span>, D::Error> {
    #[derive(Deserialize)]
    struct AboveZero(#[serde(deserialize_with = "above_zero")] Span);
    Ok(Option::<AboveZero>::deserialize(deserializer)?.map(|it| it.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Result<&str, &str>) {
        let read = serde_json::from_str::<Timeouts>(json).map(|it| serde_json::to_string(&it).unwrap());
        let error = |it: serde_json::Error| it.to_string().split(" at line").next().unwrap().to_owned();
        assert_eq!(read.map_err(error), expected.map(str::to_owned).map_err(str::to_owned), "{json}");
    }

    #[test]
    fn what_is_left_out_has_no_limit_but_the_connection() {
        check("{}", Ok(r#"{"connect":"10s"}"#));
        check(r#"{"firstToken":null}"#, Ok(r#"{"connect":"10s"}"#));
        let all = r#"{"connect":"1s","firstToken":"30s","tokenGap":"500ms","request":"300s"}"#;
        check(all, Ok(all));
    }

    #[test]
    fn no_time_at_all_is_no_timeout() {
        for name in ["connect", "firstToken", "tokenGap", "request"] {
            let error = "a timeout is 0s; give it a time, or leave it out for the default";
            check(&format!(r#"{{"{name}":"0s"}}"#), Err(error));
        }
    }
}
