//! Checks of URLs of the form `http://host:port/path`.

use std::net::Ipv6Addr;

/// Returns what is wrong with the URL of a target outside of a cluster, where sockets are allowed as well.
pub(super) fn local_url_problem(url: &str) -> Option<&'static str> {
    match ["http://", "https://"].iter().any(|it| url.starts_with(it)) {
        true => url_problem(url),
        false => Some("write a URL that begins with http:// or https://, or unix: and the path of a socket"),
    }
}

/// Returns what is wrong with the URL of a server, and the remedy.
pub fn url_problem(url: &str) -> Option<&'static str> {
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return Some("write a URL that begins with http:// or https://");
    };
    if rest.chars().any(|it| it.is_control()) {
        return Some("take out the control characters");
    }
    if rest.contains('@') {
        return Some("take the user name and password out; use target.auth for a token");
    }
    if rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
        return Some("take out blanks, the query and the fragment");
    }
    if !rest.is_ascii() {
        return Some("write it in ASCII: a host as xn--..., other letters of the path as %C3%B6");
    }
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path_letter = |it: char| it.is_ascii_alphanumeric() || "/-._~%!$&()*+;=:".contains(it);
    authority_problem(authority)
        .or_else(|| path.trim_end_matches('/').ends_with("/v1").then_some("take out /v1; it is added to every request"))
        .or_else(|| {
            (!path.chars().all(path_letter)).then_some("write a path of letters, digits and -._~/, others as %27")
        })
}

fn authority_problem(authority: &str) -> Option<&'static str> {
    const BRACKETS: &str = "write one host and one port, an IPv6 address in brackets, such as http://[::1]:8000";
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if host.parse::<Ipv6Addr>().is_ok() => ("", port),
            _ => return Some(BRACKETS),
        },
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let bracketed = authority.starts_with('[');
    if port.matches(':').count() > 1 {
        return Some(BRACKETS);
    }
    if host.is_empty() && !bracketed {
        return Some("name a host after the scheme, such as http://gateway.llm-d:80");
    }
    if !host.chars().all(|it| it.is_ascii_alphanumeric() || "-._".contains(it)) {
        return Some("write a host of letters, digits, dots and dashes, such as http://gateway.llm-d:80");
    }
    let digits = port.strip_prefix(':').filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
    let valid = port.is_empty() || digits.and_then(|it| it.parse::<u16>().ok()).is_some_and(|it| it > 0);
    (!valid).then_some("write a port from 1 to 65535 after the host, or none, such as http://gateway.llm-d:80")
}
