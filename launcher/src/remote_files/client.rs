//! [I/O] The client that downloads files. It refuses the addresses that targets may not have, and checks each address after a name lookup or a
//! redirect. So the client uses no proxy: a proxy would resolve the name itself.

use std::{io, net::IpAddr, time::Duration};

use crds::wording::with_causes;
use engine::client::Resolver;
use reqwest::{Client, Url, redirect::Policy};

use crate::web_client::{self, Way};

/// Maximum time between two parts of a response.
const READ: Duration = Duration::from_secs(60);
/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 5;

/// A URL that was checked and can be called.
#[derive(Debug)]
pub(super) struct Download {
    url: Url,
    resolver: Resolver,
}

/// The reason why a download failed.
pub(super) enum Problem {
    Disk(io::Error),
    /// The server or the connection failed. The text can come from the server.
    Download(Fault, String),
}

/// The kind of a failure, without text from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The address is blocked. This is found after a name lookup, possibly after a redirect.
    #[error("its host resolves to an address that may not be called")]
    RefusedAddress,
    #[error("its server redirects to a URL that may not be called, or redirects too often")]
    Redirect,
    #[error("its server did not answer in time")]
    Timeout,
    /// The lookup, the socket or TLS failed.
    #[error("the connection to its server failed")]
    NoConnection,
    #[error("its server answered with the status {0}")]
    Status(u16),
    #[error("it has more than {0} bytes, the most that is downloaded")]
    TooLong(u64),
    #[error("its server sent an incomplete answer")]
    BrokenAnswer,
    #[error("the launcher could not start the download")]
    NotStarted,
}

impl Fault {
    fn of_client(error: &reqwest::Error) -> Fault {
        match () {
            () if web_client::way(error) == Way::Refused => Fault::RefusedAddress,
            () if error.is_redirect() => Fault::Redirect,
            () if error.is_timeout() => Fault::Timeout,
            () if error.is_connect() => Fault::NoConnection,
            () => Fault::BrokenAnswer,
        }
    }
}

/// Checks a URL.
///
/// # Errors
/// A description of what is wrong with the URL.
pub(super) fn check(url: &str, resolver: &Resolver) -> Result<Download, String> {
    let url = Url::parse(url).map_err(|_| "it is no URL".to_owned())?;
    match refused(&url, resolver) {
        None => Ok(Download { url, resolver: resolver.clone() }),
        Some(problem) => Err(problem),
    }
}

/// Explains why a URL is not allowed. `None` if it is allowed.
fn refused(url: &Url, resolver: &Resolver) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Some("it begins with neither http:// nor https://".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it contains a user name or a password".into());
    }
    let ip = url.host_str().map(|it| it.trim_start_matches('[').trim_end_matches(']'));
    match ip {
        None | Some("") => Some("it has no host".into()),
        // An IP address is checked here. A name is checked when it is resolved.
        Some(host) => resolver.check(host.parse::<IpAddr>().ok()?).err().map(|it| format!("its host {it}")),
    }
}

/// Explains why a redirect is not followed. `None` if it is followed.
fn refused_redirect(from: Option<&Url>, to: &Url, resolver: &Resolver) -> Option<String> {
    let loses_tls = from.is_some_and(|it| it.scheme() == "https") && to.scheme() != "https";
    let unencrypted = || {
        "it begins with http://, while the URL before it has https://; name the URL of the redirect in the profile"
            .to_owned()
    };
    refused(to, resolver).or_else(|| loses_tls.then(unencrypted))
}

impl Download {
    /// Passes the content of the file to `write`, part by part. Reads at most `most` bytes in total.
    pub(super) fn read(&self, most: u64, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), Problem> {
        let not_started = |problem: String| Problem::Download(Fault::NotStarted, problem);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| not_started(format!("the launcher cannot start a runtime: {error}")))?;
        let client = client(&self.resolver).map_err(not_started)?;
        let of_client =
            |error: reqwest::Error| Problem::Download(Fault::of_client(&error), with_causes(&error.without_url()));
        let failed = |fault: Fault| Problem::Download(fault, fault.to_string());
        runtime.block_on(async {
            let mut response = client.get(self.url.clone()).send().await.map_err(of_client)?;
            let status = response.status();
            if !status.is_success() {
                return Err(failed(Fault::Status(status.as_u16())));
            }
            let too_long = || failed(Fault::TooLong(most));
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

fn client(resolver: &Resolver) -> Result<Client, String> {
    let of_redirects = resolver.clone();
    let check = move |from: Option<&Url>, to: &Url| refused_redirect(from, to, &of_redirects);
    let redirects = Policy::custom(move |attempt| match check(attempt.previous().last(), attempt.url()) {
        Some(problem) => attempt.error(io::Error::other(format!("it redirects to another URL, and {problem}"))),
        None if attempt.previous().len() > MAX_REDIRECTS => attempt.error(io::Error::other("it redirects too often")),
        None => attempt.follow(),
    });
    web_client::builder(resolver)?.redirect(redirects).read_timeout(READ).build().map_err(|error| error.to_string())
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
            ("https://server/a", "http://server/b", Some("the URL before it has https://")),
            ("https://server/a", "http://169.254.169.254/", Some("link-local")),
        ] {
            let [from, to] = [from, to].map(|it| Url::parse(it).unwrap());
            let found = refused_redirect(Some(&from), &to, &Resolver::default());
            assert_eq!(found.is_some(), problem.is_some(), "{to}: {found:?}");
            assert!(problem.is_none_or(|it| found.as_ref().is_some_and(|found| found.contains(it))), "{to}: {found:?}");
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
            ("http://me:secret@server/d", Some("a user name or a password")),
            ("http://169.254.169.254/latest", Some("link-local")),
            ("http://[fe80::1]/d", Some("link-local")),
            ("http://0.0.0.0/d", Some("unspecified")),
            ("http://2852039166/latest", Some("link-local")),
        ] {
            let found = check(url, &Resolver::default()).err();
            assert_eq!(found.is_some(), problem.is_some(), "{url}: {found:?}");
            assert!(
                problem.is_none_or(|it| found.as_ref().is_some_and(|found| found.contains(it))),
                "{url}: {found:?}"
            );
        }
    }
}
