//! A source and how its addresses are found. If its host is a name, every address of the name is used.

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
};

use crds::resolve::unix_socket;
use engine::client::Resolver;
use reqwest::Url;

use super::Source;

/// How the addresses of a source are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The URL contains an address, which is used directly.
    Fixed,
    /// The path of a Unix socket.
    Socket(String),
    /// A name, which is resolved repeatedly.
    Name { host: String, port: u16 },
}

/// A source and its URL.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) source: Source,
    pub(super) url: Url,
    pub(super) place: Place,
    /// The reason why the name has no address; `None` if it has one, or was not looked up yet.
    pub(super) problem: Option<String>,
    /// Whether only IPv4 (true) or only IPv6 (false) addresses are scraped. `None` means both, because no address has responded yet.
    pub(super) is_v4: Option<bool>,
    /// Number of addresses of the name that are not scraped, because the name has too many.
    pub(super) left_out: usize,
}

impl Known {
    /// Parses and checks the URL of a source.
    ///
    /// # Errors
    /// The URL is not allowed.
    pub(super) fn new(source: Source, resolver: &Resolver) -> Result<Known, String> {
        if let Some(path) = unix_socket(&source.url) {
            resolver.check_socket(Path::new(path)).map_err(|error| error.to_string())?;
            let place = Place::Socket(path.to_owned());
            let url = Url::parse("http://localhost/metrics").map_err(|error| error.to_string())?;
            return Ok(Known { source, url, place, problem: None, is_v4: None, left_out: 0 });
        }
        let url = Url::parse(&source.url).map_err(|error| format!("it is no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
            return Err("it is no URL of http or https without a user's name".into());
        }
        let host = url.host_str().map(|it| it.trim_start_matches('[').trim_end_matches(']').to_owned());
        let host = host.ok_or("it has no host")?;
        let place = match host.parse::<IpAddr>() {
            Ok(ip) => {
                resolver.check(ip).map_err(|error| error.to_string())?;
                Place::Fixed
            }
            Err(_) => Place::Name { port: url.port_or_known_default().unwrap_or(80), host },
        };
        Ok(Known { source, url, place, problem: None, is_v4: None, left_out: 0 })
    }

    /// Returns the addresses of a lookup that should be scraped. They are of one IP family, because the same server can have an address in both. If
    /// the name no longer has an address of that family, all its addresses are scraped again.
    pub(super) fn of_one_family(&mut self, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let known = self.is_v4.filter(|is_v4| found.iter().any(|it| it.is_ipv4() == *is_v4));
        self.is_v4 = known;
        found.into_iter().filter(|it| known.is_none_or(|is_v4| it.is_ipv4() == is_v4)).collect()
    }

    /// Returns the URL with another path instead of the metrics path, such as `/version` instead of `/metrics`.
    pub(super) fn beside(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/');
        let base = base.strip_suffix("/metrics").unwrap_or_default().to_owned();
        url.set_path(&format!("{base}{path}"));
        url
    }
}

/// Compares the addresses from a lookup with the known ones. Returns the new addresses, and those that have disappeared.
pub(super) fn changes(known: &[SocketAddr], found: &[SocketAddr]) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
    let without =
        |all: &[SocketAddr], some: &[SocketAddr]| all.iter().copied().filter(|it| !some.contains(it)).collect();
    (without(found, known), without(known, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(url: &str) -> Result<Known, String> {
        let source = Source { url: url.into(), engine: None, is_guess: false, gets_token: false };
        Known::new(source, &Resolver::default())
    }

    #[test]
    fn names_are_looked_up_and_addresses_are_not() {
        let name = |host: &str, port| Place::Name { host: host.into(), port };
        for (url, place) in [
            ("http://vllm.llm-d:8000/metrics", name("vllm.llm-d", 8_000)),
            ("https://vllm/metrics", name("vllm", 443)),
            ("http://127.0.0.1:8000/metrics", Place::Fixed),
            ("http://[::1]/metrics", Place::Fixed),
            ("unix:/run/vllm.sock", Place::Socket("/run/vllm.sock".into())),
        ] {
            assert_eq!(known(url).unwrap().place, place, "{url}");
        }
    }

    #[test]
    fn what_may_not_be_called_is_refused() {
        for url in [
            "http://169.254.169.254/metrics",
            "http://[fe80::1]/metrics",
            "http://a:b@vllm/metrics",
            "ftp://vllm",
            "vllm",
        ] {
            assert!(known(url).is_err(), "{url}");
        }
    }

    #[test]
    fn other_paths_stand_beside_the_metrics() {
        let beside = |url: &str| known(url).unwrap().beside("/version").path().to_owned();
        assert_eq!(beside("http://vllm/metrics"), "/version");
        assert_eq!(beside("http://gateway/llm/metrics"), "/llm/version");
        assert_eq!(beside("http://vllm/custom"), "/version");
    }

    #[test]
    fn the_addresses_of_a_name_are_of_one_family() {
        let mut name = known("http://vllm/metrics").unwrap();
        let (four, six) =
            (SocketAddr::from(([10, 0, 0, 1], 80)), SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, 1], 80)));
        assert_eq!(name.of_one_family(vec![four, six]), [four, six]);
        name.is_v4 = Some(false);
        assert_eq!(name.of_one_family(vec![four, six]), [six]);
        assert_eq!((name.of_one_family(vec![four]), name.is_v4), (vec![four], None));
    }

    #[test]
    fn a_lookup_brings_and_takes_addresses() {
        let [one, two, three] = [1, 2, 3].map(|it| SocketAddr::from(([127, 0, 0, it], 80)));
        assert_eq!(changes(&[one, two], &[two, three]), (vec![three], vec![one]));
    }
}
