//! The URL to which traces are sent, from a flag or from OpenTelemetry's environment variables.

use http::Uri;

/// The flag with the endpoint.
const FLAG: &str = "--otlp-endpoint";
/// The environment variable with the endpoint for traces.
const OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// The environment variable with the endpoint for all signals.
const OF_ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The environment variables for the protocol: one for traces, and one for all signals.
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
/// The only protocol that the operator supports.
const PROTOCOL: &str = "http/protobuf";
/// The path for traces below the endpoint of a collector.
const PATH: &str = "/v1/traces";

/// The URL to which traces are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(String);

impl Endpoint {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An invalid endpoint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The value is not a URL of a collector.
    #[error(
        "{field} is {value:?}, {problem}; write the URL of a collector that takes OTLP over HTTP, such as http://collector.observability:4318"
    )]
    Url {
        /// The flag or the environment variable.
        field: &'static str,
        /// The value that is not a valid URL.
        value: String,
        /// What is wrong with the value.
        problem: &'static str,
    },
    /// The value contains a user name or a password. It is therefore not shown.
    #[error(
        "{0} contains a user name or a password; remove it from the URL, and put credentials into OTEL_EXPORTER_OTLP_HEADERS"
    )]
    Credentials(&'static str),
    /// The protocol is not the one that the operator supports.
    #[error(
        "{field} is {value:?}, and the operator sends {PROTOCOL}; write {PROTOCOL}, and an endpoint that takes it, usually port 4318"
    )]
    Protocol {
        /// The environment variable.
        field: &'static str,
        /// The protocol in it.
        value: String,
    },
}

/// Returns the requested endpoint. `None` if none was requested. The flag takes precedence over the environment variables. If the flag is set, the
/// variables for the protocol are ignored.
///
/// # Errors
/// The first invalid value.
pub fn endpoint(
    flag: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Endpoint>, EndpointError> {
    // OpenTelemetry specifies that an empty variable is treated like an unset one.
    let variable = |name: &str| variable(name).filter(|it| !it.is_empty());
    if let Some(base) = flag {
        return below(FLAG, base).map(Some);
    }
    let found = match (variable(OF_TRACES), variable(OF_ALL)) {
        (Some(whole), _) => checked(OF_TRACES, &whole)?,
        (None, Some(base)) => below(OF_ALL, &base)?,
        (None, None) => return Ok(None),
    };
    let protocol = PROTOCOLS.into_iter().find_map(|field| Some((field, variable(field)?)));
    match protocol {
        Some((field, value)) if value != PROTOCOL => Err(EndpointError::Protocol { field, value }),
        _ => Ok(Some(found)),
    }
}

/// The URL for traces below an endpoint for all signals.
fn below(field: &'static str, base: &str) -> Result<Endpoint, EndpointError> {
    checked(field, base)?;
    if base.contains('?') {
        let problem = "which has a query, and a path is added to it";
        return Err(EndpointError::Url { field, value: base.to_owned(), problem });
    }
    Ok(Endpoint(format!("{}{PATH}", base.trim_end_matches('/'))))
}

fn checked(field: &'static str, value: &str) -> Result<Endpoint, EndpointError> {
    if value.contains('@') {
        return Err(EndpointError::Credentials(field));
    }
    match problem(value) {
        Some(problem) => Err(EndpointError::Url { field, value: value.to_owned(), problem }),
        None => Ok(Endpoint(value.to_owned())),
    }
}

fn problem(value: &str) -> Option<&'static str> {
    let Ok(url) = value.parse::<Uri>() else { return Some("which is no URL") };
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Some("which begins with neither http:// nor https://");
    }
    let Some(authority) = url.authority().filter(|it| !it.host().is_empty()) else { return Some("which has no host") };
    let has_port = authority.as_str() != authority.host();
    (has_port && authority.port_u16().is_none_or(|it| it == 0)).then_some("whose port is not from 1 to 65535")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves the endpoint from a flag and from environment variables.
    fn check(flag: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let value = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
        endpoint(flag, value).map(|it| it.map(|it| it.0)).map_err(|it| it.to_string())
    }

    #[test]
    fn the_flag_comes_before_the_variables_and_the_one_of_traces_before_the_one_of_all() {
        let (all, traces) = ((OF_ALL, "http://all:4318"), (OF_TRACES, "https://traces/in?tenant=a"));
        let found = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(check(None, &[]), Ok(None));
        assert_eq!(check(None, &[(OF_ALL, ""), (OF_TRACES, "")]), Ok(None));
        assert_eq!(check(None, &[all]), found("http://all:4318/v1/traces"));
        assert_eq!(check(None, &[all, traces]), found("https://traces/in?tenant=a"));
        assert_eq!(check(Some("http://[::1]:4318/"), &[all, traces]), found("http://[::1]:4318/v1/traces"));
        assert_eq!(check(None, &[all, (PROTOCOLS[1], "http/protobuf")]), found("http://all:4318/v1/traces"));
        assert_eq!(check(Some("http://a"), &[all, (PROTOCOLS[1], "grpc")]), found("http://a/v1/traces"));
    }

    #[test]
    fn an_endpoint_that_cannot_be_used_is_named_with_its_value_and_the_remedy() {
        for (value, problem) in [
            ("", "no URL"),
            ("collector:4318", "neither http:// nor https://"),
            ("ftp://collector", "neither http:// nor https://"),
            ("http://", "no URL"),
            ("http://collector:99999", "port is not from 1 to 65535"),
            ("http://collector:0", "port is not from 1 to 65535"),
            ("http://collector/?a=b", "has a query"),
            ("http://collec tor", "no URL"),
        ] {
            let found = check(Some(value), &[]).unwrap_err();
            assert!(found.starts_with(&format!("--otlp-endpoint is {value:?}, ")), "{found}");
            assert!(found.contains(problem) && found.contains("; write the URL of a collector"), "{value}: {found}");
        }
        let found = check(None, &[(OF_ALL, "x")]).unwrap_err();
        assert!(found.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT is \"x\", "), "{found}");
        let found = check(None, &[(OF_ALL, "http://a"), (PROTOCOLS[1], "grpc")]).unwrap_err();
        assert!(found.contains("OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\"") && found.contains("4318"), "{found}");
    }

    #[test]
    fn a_password_in_an_endpoint_is_not_shown() {
        let found = check(Some("http://me:canary@collector"), &[]).unwrap_err();
        assert!(found.contains("OTEL_EXPORTER_OTLP_HEADERS") && !found.contains("canary"), "{found}");
    }
}
