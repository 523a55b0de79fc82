//! [I/O] The pods of a server, and the requests to the wrapper in each pod.

use std::{
    fs::File,
    io::Write,
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

use crds::resolve::{LOG_TOKEN, LogAddress};
use engine::client::Resolver;
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;

use crate::web_client;

/// Maximum size of a JSON response, in bytes.
const MAX_JSON: u64 = 1 << 20;
/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);

/// The pods to query.
pub(super) struct Asked<'a> {
    pub(super) address: &'a LogAddress,
    /// The addresses of the pods. `None` means that they are looked up in the cluster's DNS.
    pub(super) known: Option<&'a [IpAddr]>,
    /// The expected number of pods.
    pub(super) replicas: u32,
    /// The bearer token for the pods' logs. `None` means that no token is needed.
    pub(super) token: Option<String>,
}

/// The bearer token for the server's log, which the operator provides.
pub(super) fn token() -> Option<String> {
    std::env::var(LOG_TOKEN).ok().filter(|it| !it.is_empty())
}

/// A pod, with a client for its own address.
pub(super) struct Pod {
    pub(super) ip: IpAddr,
    base: Url,
    client: Client,
    token: Option<String>,
}

impl Asked<'_> {
    /// Returns the pods to query, sorted by address. Each pod has its own client.
    pub(super) async fn pods(&self, resolver: &Resolver) -> Result<Vec<Pod>, String> {
        let LogAddress { host, port } = self.address;
        let mut found: Vec<SocketAddr> = match self.known {
            Some(known) => known.iter().map(|it| SocketAddr::new(*it, *port)).collect(),
            None => resolver.addresses(host, *port).await.map_err(|error| format!("{host} {error}"))?,
        };
        found.sort();
        found.dedup();
        let base = Url::parse(&format!("http://{host}:{port}/")).map_err(|error| format!("{host}: {error}"))?;
        let pod = |it: SocketAddr| {
            let client = web_client::builder(resolver)?.resolve(host, it).connect_timeout(CONNECT);
            let client =
                client.redirect(reqwest::redirect::Policy::none()).build().map_err(|error| error.to_string())?;
            Ok(Pod { ip: it.ip(), base: base.clone(), client, token: self.token.clone() })
        };
        found.into_iter().map(pod).collect()
    }

    /// Returns a remark if the DNS does not contain some pods. `what` describes what was done with the pods that it contains.
    pub(super) fn missing(&self, found: usize, what: &str) -> Option<String> {
        let Asked { address, replicas, .. } = self;
        let host = &address.host;
        (found < *replicas as usize).then(|| {
            format!(
                "the DNS name {host} has addresses of only {found} of {replicas} pods, and {what}; for the logs of the other pods, use `kubectl logs` while they exist"
            )
        })
    }
}

impl Pod {
    async fn get(&self, path: &str) -> Result<Response, String> {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.clear().extend(path.split('/'));
        }
        let mut request = self.client.get(url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.map_err(in_words)?;
        response.error_for_status().map_err(in_words)
    }

    /// Reads a JSON document from the wrapper.
    ///
    /// # Errors
    /// The document is incomplete, or is not the expected one.
    pub(super) async fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        let mut body = Vec::new();
        read(self.get(path).await?, MAX_JSON, &mut body).await?;
        serde_json::from_slice(&body).map_err(|error| format!("/{path} is not as expected: {error}"))
    }

    /// Writes a response to a file. Returns its length in bytes.
    ///
    /// # Errors
    /// The response has more than `most` bytes, is incomplete, or cannot be written.
    pub(super) async fn save(&self, path: &str, to: &Path, most: u64) -> Result<u64, String> {
        let response = self.get(path).await?;
        let mut file = File::create(to).map_err(|error| error.to_string())?;
        read(response, most, &mut file).await
    }
}

async fn read(mut response: Response, most: u64, to: &mut impl Write) -> Result<u64, String> {
    let mut length = 0;
    while let Some(part) = response.chunk().await.map_err(in_words)? {
        length += part.len() as u64;
        if length > most {
            return Err(format!("it has more than {most} bytes"));
        }
        to.write_all(&part).map_err(|error| error.to_string())?;
    }
    Ok(length)
}

fn in_words(error: reqwest::Error) -> String {
    crds::wording::with_causes(&error.without_url())
}
