//! [I/O] The client that downloads files. It calls no address that the launcher may not call for a target either, also behind a name
//! and after a redirect. Therefore it uses no proxy: a proxy would find the address in its place.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use engine::client::{is_allowed, tls_config};
use reqwest::{
    Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};

/// The longest time for a connection, and between two parts of the file.
const CONNECT: Duration = Duration::from_secs(30);
const READ: Duration = Duration::from_secs(60);
/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// A URL that may be called.
#[derive(Debug)]
pub(super) struct Download(Url);

/// Why a download ended early.
pub(super) enum Problem {
    Disk(io::Error),
    /// The server, or the way to it.
    Download(String),
}

/// Checks a URL.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(url: &str) -> Result<Download, &'static str> {
    let url = Url::parse(url).map_err(|_| "it is no URL")?;
    refused(&url).map_or(Ok(Download(url)), Err)
}

/// Why a URL may not be called.
fn refused(url: &Url) -> Option<&'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        return Some("it begins with neither http:// nor https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it holds the name of a user");
    }
    let ip = url.host_str().map(|it| it.trim_start_matches('[').trim_end_matches(']'));
    match ip {
        None | Some("") => Some("it has no host"),
        Some(host) if host.parse::<IpAddr>().is_ok_and(|it| !is_allowed(it)) => Some(NOT_ALLOWED),
        Some(_) => None,
    }
}

/// Why a redirect is not followed.
fn refused_redirect(from: Option<&Url>, to: &Url) -> Option<&'static str> {
    let loses_tls = from.is_some_and(|it| it.scheme() == "https") && to.scheme() != "https";
    refused(to).or_else(|| loses_tls.then_some("the way to it is not encrypted; name that URL in the profile"))
}

const NOT_ALLOWED: &str = "its address is link-local, of a metadata service, multicast or unspecified";

impl Download {
    /// Passes the parts of the file, of at most `most` bytes in all, to `write`.
    pub(super) fn read(&self, most: u64, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), Problem> {
        let failed = |problem: String| Problem::Download(problem);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(format!("the launcher cannot start a runtime: {error}")))?;
        let client = client().map_err(failed)?;
        let of_client = |error: reqwest::Error| failed(crate::console::with_causes(&error.without_url()));
        runtime.block_on(async {
            let mut response = client.get(self.0.clone()).send().await.map_err(of_client)?;
            let status = response.status();
            if !status.is_success() {
                return Err(failed(format!("the server answered {status}")));
            }
            let too_long = || failed(format!("it has more than {most} bytes, the most that is downloaded"));
            if response.content_length().is_some_and(|it| it > most) {
                return Err(too_long());
            }
            let mut left = most;
            while let Some(chunk) = response.chunk().await.map_err(of_client)? {
                left = left.checked_sub(chunk.len() as u64).ok_or_else(too_long)?;
                write(&chunk).map_err(Problem::Disk)?;
            }
            Ok(())
        })
    }
}

fn client() -> Result<Client, String> {
    let tls = tls_config(None).map_err(|error| error.to_string())?;
    let redirects = Policy::custom(|attempt| match refused_redirect(attempt.previous().last(), attempt.url()) {
        Some(problem) => attempt.error(io::Error::other(format!("it leads to another URL, and {problem}"))),
        None if attempt.previous().len() > MAX_REDIRECTS => attempt.error(io::Error::other("it leads on too often")),
        None => attempt.follow(),
    });
    Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(AllowedAddresses))
        .redirect(redirects)
        .connect_timeout(CONNECT)
        .read_timeout(READ)
        .user_agent(concat!("benchwright/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}

/// Finds the addresses of a name, without those that may not be called.
struct AllowedAddresses;

impl Resolve for AllowedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<_> = found.filter(|it| is_allowed(it.ip())).collect();
            if allowed.is_empty() {
                return Err(io::Error::other(NOT_ALLOWED).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_keeps_the_encryption() {
        for (from, to, problem) in [
            ("https://server/a", "https://other/b", None),
            ("http://server/a", "http://other/b", None),
            ("http://server/a", "https://other/b", None),
            ("https://server/a", "http://server/b", Some("not encrypted")),
            ("https://server/a", "http://169.254.169.254/", Some("link-local")),
        ] {
            let [from, to] = [from, to].map(|it| Url::parse(it).unwrap());
            let found = refused_redirect(Some(&from), &to);
            assert_eq!(found.is_some(), problem.is_some(), "{to}: {found:?}");
            assert!(problem.is_none_or(|it| found.is_some_and(|found| found.contains(it))), "{to}: {found:?}");
        }
    }

    #[test]
    fn what_may_not_be_called_is_refused() {
        for (url, problem) in [
            ("https://server/d.json?x=1", None),
            ("http://127.0.0.1:8000/d.json", None),
            ("http://[::1]/d.json", None),
            ("d.json", Some("no URL")),
            ("file:///etc/passwd", Some("neither http:// nor https://")),
            ("http://me:secret@server/d", Some("the name of a user")),
            ("http://169.254.169.254/latest", Some("link-local")),
            ("http://[fe80::1]/d", Some("link-local")),
            ("http://0.0.0.0/d", Some("unspecified")),
            ("http://2852039166/latest", Some("link-local")),
        ] {
            let found = check(url).err();
            assert_eq!(found.is_some(), problem.is_some(), "{url}: {found:?}");
            assert!(problem.is_none_or(|it| found.is_some_and(|found| found.contains(it))), "{url}: {found:?}");
        }
    }
}
