//! The server in a URL: its host and port, in a canonical form that can be compared.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

/// The host and the port of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The host in lower case, without a dot at its end. An IPv6 address has no brackets.
    pub host: String,
    /// The port of the URL, or the default port of its scheme.
    pub port: u16,
}

impl Server {
    /// Parses a URL. `None` if the text is not an HTTP URL, such as the name of a simulator or the path of a socket.
    pub fn parse(url: &str) -> Option<Self> {
        let url: Uri = url.parse().ok()?;
        let port = match url.scheme_str()? {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let written = url.authority()?.as_str().rsplit('@').next()?;
        let host = url.host()?;
        let port = match url.port_u16() {
            Some(port) => port,
            None if written.len() == host.len() => port,
            // The text after the colon is not a port.
            None => return None,
        };
        let host = match host.strip_prefix('[') {
            Some(address) => address.strip_suffix(']').filter(|it| it.parse::<Ipv6Addr>().is_ok())?,
            None => host.trim_end_matches('.'),
        };
        (!host.is_empty()).then(|| Server { host: host.to_ascii_lowercase(), port })
    }

    /// The IP address, if the host is one. An IPv4-mapped IPv6 address is converted to its IPv4 address.
    pub fn address(&self) -> Option<IpAddr> {
        let six = || self.host.parse::<Ipv6Addr>().ok().map(|it| IpAddr::V6(it).to_canonical());
        self.host.parse::<Ipv4Addr>().ok().map(IpAddr::V4).or_else(six)
    }
}

#[cfg(test)]
mod tests {
    use super::Server;

    #[test]
    fn a_server_has_one_form_whatever_its_url_looks_like() {
        for (url, host, port) in [
            ("http://Model.bench.svc./v1", "model.bench.svc", 80),
            ("https://h", "h", 443),
            ("HTTP://h:8000/a?b#c", "h", 8000),
            ("http://u:p@h:81", "h", 81),
            ("http://[::FFFF:1.2.3.4]:8000/", "::ffff:1.2.3.4", 8000),
            ("http://10.0.0.1", "10.0.0.1", 80),
        ] {
            assert_eq!(Server::parse(url), Some(Server { host: host.into(), port }), "{url}");
        }
        let address = |url: &str| Server::parse(url).and_then(|it| it.address()).map(|it| it.to_string());
        assert_eq!(address("http://[::ffff:1.2.3.4]").as_deref(), Some("1.2.3.4"));
        assert_eq!(address("http://[2001:db8::1]").as_deref(), Some("2001:db8::1"));
        assert_eq!(address("http://model"), None);
    }

    #[test]
    fn what_is_no_url_of_a_server_has_none() {
        for url in [
            "",
            "simulator",
            "h:80",
            "ftp://h",
            "unix:/run/s",
            "http://",
            "http:///v1",
            "http://h:99999",
            "http://a\\.b",
            "http://a b",
        ] {
            assert_eq!(Server::parse(url), None, "{url}");
        }
    }
}
