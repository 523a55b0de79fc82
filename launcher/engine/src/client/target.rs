//! The target: where requests go, and what all requests have in common.

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;
use crds::{
    benchmark_run::{Api, HttpVersion},
    resolve::unix_socket,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING, USER_AGENT},
    uri::Scheme,
};
use tokio::io::DuplexStream;

use super::{
    resolver::{AddressError, Resolver},
    socket::Connector,
    spread::Spread,
    tls::{Tls, TlsError},
};

/// The reason why requests cannot be sent to a target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The URL has a form that requests cannot be sent to.
    #[error(
        "the target is {url:?}; write http:// or https://, a host, and at most a port and a path; or unix: and the path of a socket"
    )]
    Url { url: String },
    /// HTTP does not allow a header field.
    #[error("header field {name:?} cannot be sent: {problem}")]
    Header {
        name: String,
        /// What is wrong, and how to correct it.
        problem: &'static str,
    },
    /// The token contains characters that a header field cannot hold.
    #[error("the bearer token holds characters that no header field can; write the token alone into its file")]
    Token,
    /// The certificate authorities cannot be read.
    #[error(transparent)]
    Tls(TlsError),
}

/// A server, and how to send requests to it. Cheap to clone. `Debug` omits the token.
#[derive(Clone)]
pub struct Target(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    base_url: String,
    api: Api,
    /// The path of the base URL, without a trailing slash.
    prefix: String,
    generate: Uri,
    headers: HeaderMap,
    connector: Connector,
    /// Additional servers of the same kind, and how requests are spread over all servers. `None` if there is only one server.
    replicas: Option<(Vec<Target>, Arc<Spread>)>,
}

impl From<TlsError> for TargetError {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Host(host) => TargetError::Url { url: format!("https://{host}") },
            TlsError::Authorities(_) => TargetError::Tls(error),
        }
    }
}

impl Target {
    /// Creates a target from a base URL without `/v1`, or from `unix:` and the path of a socket. Trusts the certificate authorities in
    /// `authorities` in addition to the system's and the public ones.
    ///
    /// # Errors
    /// Returns which argument cannot be used.
    pub fn new(
        base_url: &str,
        api: Api,
        token: Option<&str>,
        authorities: Option<&str>,
        headers: &BTreeMap<String, String>,
    ) -> Result<Target, TargetError> {
        if let Some(path) = unix_socket(base_url) {
            let connector = Connector::Unix { path: path.into(), http2: false };
            return Target::with(base_url, "", "localhost", api, token, headers, connector);
        }
        let base_url = base_url.trim_end_matches('/');
        let wrong = || TargetError::Url { url: base_url.to_owned() };
        let uri: Uri = base_url.parse().map_err(|_| wrong())?;
        let authority = uri.authority().filter(|it| !it.as_str().contains('@')).ok_or_else(wrong)?;
        if uri.query().is_some() || authority.host().is_empty() {
            return Err(wrong());
        }
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => None,
            Some(scheme) if *scheme == Scheme::HTTPS => Some(Tls::new(authority.host(), authorities)?),
            _ => return Err(wrong()),
        };
        let port = match (&authority.as_str()[authority.host().len()..], &tls) {
            ("", None) => 80,
            ("", Some(_)) => 443,
            (port, _) => port.strip_prefix(':').and_then(|it| it.parse().ok()).ok_or_else(wrong)?,
        };
        // An IPv6 address has brackets only within a URL.
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let mut connector = Connector::Network { host, port, tls, http2: false, resolver: Resolver::default() };
        connector.speak(HttpVersion::Auto);
        Target::with(base_url, uri.path(), authority.as_str(), api, token, headers, connector)
    }

    /// Sets the HTTP version. The default is the server's choice.
    pub fn speaking(mut self, version: HttpVersion) -> Target {
        Arc::make_mut(&mut self.0).connector.speak(version);
        self
    }

    /// Sets the resolver that finds and checks the target's addresses. The default refuses only addresses that are always forbidden.
    ///
    /// # Errors
    /// The target is a Unix socket, and the resolver forbids Unix sockets.
    pub fn resolving_with(mut self, resolver: Resolver) -> Result<Target, AddressError> {
        Arc::make_mut(&mut self.0).connector.resolve_with(resolver)?;
        Ok(self)
    }

    /// Adds more servers of the same kind. Generation requests are spread over all servers. Requests for information about the server go
    /// only to the first one.
    pub fn with_replicas(mut self, others: Vec<Target>, spread: Arc<Spread>) -> Target {
        Arc::make_mut(&mut self.0).replicas = Some((others, spread));
        self
    }

    pub(super) fn others(&self) -> &[Target] {
        self.0.replicas.as_ref().map_or(&[], |it| &it.0)
    }

    pub(super) fn spread(&self) -> Option<&Spread> {
        self.0.replicas.as_ref().map(|it| &*it.1)
    }

    /// Resolves and checks the target's current addresses. A server in this process and a Unix socket have none.
    ///
    /// # Errors
    /// The host has no address, or is not allowed.
    pub async fn check_addresses(&self) -> Result<(), AddressError> {
        self.0.connector.resolve().await.map(|_| ())
    }

    /// Creates a target for a server in this process. Each call of `connect` returns the client's end of a new connection.
    pub fn in_process(api: Api, connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Target {
        let connector = Connector::InProcess(Arc::new(connect));
        Target::with("in-process", "", "in-process", api, None, &BTreeMap::new(), connector)
            .expect("none of these can be refused")
    }

    fn with(
        base_url: &str,
        prefix: &str,
        authority: &str,
        api: Api,
        token: Option<&str>,
        headers: &BTreeMap<String, String>,
        connector: Connector,
    ) -> Result<Target, TargetError> {
        let wrong = |_| TargetError::Url { url: base_url.to_owned() };
        let prefix = prefix.trim_end_matches('/').to_owned();
        let path = match api {
            Api::Chat => "/v1/chat/completions",
            Api::Completions => "/v1/completions",
            Api::Responses => "/v1/responses",
            Api::Messages => "/v1/messages",
        };
        let mut all = HeaderMap::new();
        all.insert(HOST, HeaderValue::from_str(authority).map_err(|_| TargetError::Url { url: base_url.to_owned() })?);
        all.insert(USER_AGENT, HeaderValue::from_static(concat!("benchwright/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in headers {
            let (name, value) = header(name, value)?;
            all.insert(name, value);
        }
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| TargetError::Token)?;
            value.set_sensitive(true);
            all.insert(AUTHORIZATION, value);
        }
        Ok(Target(Arc::new(Inner {
            base_url: base_url.to_owned(),
            api,
            generate: format!("{prefix}{path}").parse().map_err(wrong)?,
            prefix,
            headers: all,
            connector,
            replicas: None,
        })))
    }

    /// The base URL without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.0.base_url
    }

    pub fn api(&self) -> Api {
        self.0.api
    }

    pub(super) fn connector(&self) -> &Connector {
        &self.0.connector
    }

    pub(super) fn generate(&self, body: Bytes, id: Option<HeaderValue>) -> Request<Bytes> {
        let mut request = self.request(Method::POST, self.0.generate.clone(), body);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(id) = id {
            request.headers_mut().insert(HeaderName::from_static("x-request-id"), id);
        }
        request
    }

    /// Builds a GET request for information about the server, such as `/v1/models`.
    pub(super) fn get(&self, path: &'static str) -> Request<Bytes> {
        let uri = format!("{}{path}", self.0.prefix)
            .parse()
            .expect("the prefix was part of a URI, and the path is a constant");
        self.request(Method::GET, uri, Bytes::new())
    }

    fn request(&self, method: Method, uri: Uri, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.0.headers.clone();
        request
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("base_url", &self.0.base_url).field("api", &self.0.api).finish_non_exhaustive()
    }
}

/// Converts header fields for use in requests.
///
/// # Errors
/// HTTP does not allow a name or a value.
pub fn header_fields(fields: &BTreeMap<String, String>) -> Result<HeaderMap, TargetError> {
    fields.iter().map(|(name, value)| header(name, value)).collect()
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), TargetError> {
    let wrong = |problem| TargetError::Header { name: name.to_owned(), problem };
    let parsed: HeaderName =
        name.parse().map_err(|_| wrong("it is no name of a header field; use letters, digits and dashes"))?;
    if [CONTENT_LENGTH, TRANSFER_ENCODING, CONTENT_TYPE].contains(&parsed) {
        return Err(wrong("it is set for each request; take it out"));
    }
    let value = HeaderValue::from_str(value)
        .map_err(|_| wrong("its value holds characters that are not allowed; use visible ASCII"))?;
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str) -> Result<Target, String> {
        Target::new(url, Api::Completions, Some("s3cret"), None, &BTreeMap::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_of_the_base_url_comes_before_every_path() {
        for (url, path, host) in [
            ("http://server:8000", "/v1/completions", "server:8000"),
            ("http://server/", "/v1/completions", "server"),
            ("http://gateway/llm/", "/llm/v1/completions", "gateway"),
            ("https://[::1]:8443/a/b", "/a/b/v1/completions", "[::1]:8443"),
        ] {
            let request = check(url).unwrap().generate(Bytes::new(), Some(HeaderValue::from_static("x-1")));
            assert_eq!(request.uri().path(), path, "{url}");
            assert_eq!(request.headers()[HOST], host, "{url}");
            assert_eq!(request.headers()["x-request-id"], "x-1");
            assert_eq!(request.headers()[AUTHORIZATION], "Bearer s3cret");
        }
        assert_eq!(check("http://gateway/llm").unwrap().get("/v1/models").uri().path(), "/llm/v1/models");
    }

    #[test]
    fn what_cannot_be_called_is_named() {
        for url in [
            "",
            "server:80",
            "ftp://server",
            "http://me:pw@server",
            "http://server/?a=b",
            "http://:80",
            "http://server:99999",
            "http://server:a",
        ] {
            assert!(check(url).unwrap_err().contains("http://"), "{url}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let target = check("http://server").unwrap();
        let request = target.generate(Bytes::new(), None);
        assert!(!format!("{target:?} {request:?}").contains("s3cret"));
        let error = Target::new("http://server", Api::Chat, Some("a\nb"), None, &BTreeMap::new()).unwrap_err();
        assert!(matches!(error, TargetError::Token));
    }

    #[test]
    fn header_fields_are_checked() {
        let with = |name: &str, value: &str| {
            let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            Target::new("http://server", Api::Chat, None, None, &headers).map_err(|error| error.to_string())
        };
        assert_eq!(with("X-Tenant", "a").unwrap().get("/v1/models").headers()["x-tenant"], "a");
        assert!(with("X Tenant", "a").unwrap_err().contains("no name"));
        assert!(with("x-tenant", "a\nb").unwrap_err().contains("value"));
        assert!(with("Content-Length", "7").unwrap_err().contains("take it out"));
    }
}
