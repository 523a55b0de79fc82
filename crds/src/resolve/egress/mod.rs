//! Restricts where the launcher may connect: networks that the operator's settings block, and hosts that are exempt. Pure: the launcher resolves
//! names, and checks each address before it connects.

mod address;
#[cfg(test)]
mod tests;

use std::{fmt, net::IpAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::FieldError;
use crate::wording::quoted;
use address::{forms, kind};

/// Maximum number of entries per list. Each check of an address compares it with all of them.
const MAX_ENTRIES: usize = 256;
/// Maximum length of a DNS name, in bytes.
const MAX_NAME: usize = 253;

/// Addresses that the launcher may not connect to. The addresses of [`is_never_called`] are always refused in addition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Egress {
    /// Blocked networks in CIDR notation, such as `10.96.0.0/12`, or single addresses. At most 256.
    #[serde(default)]
    pub blocked: Vec<String>,
    /// Exceptions to `blocked`: a host name, `*.` with a domain suffix, an address, or a network. At most 256. An empty list means that there are no
    /// exceptions; it does not mean that no host can be called.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
}

impl Egress {
    /// Blocks the addresses that no launcher in a cluster needs: its own pod, link-local addresses, and cloud metadata services. The launcher adds
    /// the address of the API server.
    pub fn cluster_default() -> Egress {
        let blocked = address::CLUSTER_BLOCKED.iter().map(|it| (*it).to_owned()).collect();
        Egress { blocked, allowed_hosts: Vec::new() }
    }

    /// Parses both lists. `field` is the path of the lists for error messages, such as `egress`.
    ///
    /// # Errors
    /// All entries that cannot be used.
    pub fn rules(&self, field: &str) -> Result<EgressRules, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut rules = EgressRules::default();
        let lists = [("blocked", &self.blocked), ("allowedHosts", &self.allowed_hosts)];
        for (list, entries) in lists.into_iter().filter(|it| it.1.len() > MAX_ENTRIES) {
            let message = format!("has {} entries; write at most {MAX_ENTRIES}", entries.len());
            errors.push(FieldError { path: format!("{field}.{list}"), message });
        }
        for (index, entry) in self.blocked.iter().enumerate() {
            match network(entry) {
                Some(network) => rules.blocked.push(network),
                None => errors.push(FieldError {
                    path: format!("{field}.blocked[{index}]"),
                    message: format!(
                        "is {}; write a network such as 10.96.0.0/12, or an address without its port",
                        quoted(entry)
                    ),
                }),
            }
        }
        for (index, entry) in self.allowed_hosts.iter().enumerate() {
            match (network(entry), host_name(entry)) {
                (Some(network), _) => rules.allowed.push(network),
                (None, Some(name)) => rules.names.push(name),
                (None, None) => errors.push(FieldError {
                    path: format!("{field}.allowedHosts[{index}]"),
                    message: format!(
                        "is {}; write a name such as models.example.com or *.example.com, an address, or a network, without scheme and port",
                        quoted(entry)
                    ),
                }),
            }
        }
        if errors.is_empty() { Ok(rules) } else { Err(errors) }
    }
}

/// The parsed form of an [`Egress`]. The default blocks nothing.
#[derive(Clone, Debug, Default)]
pub struct EgressRules {
    blocked: Vec<IpNet>,
    allowed: Vec<IpNet>,
    names: Vec<String>,
    api_server: Option<IpAddr>,
}

impl EgressRules {
    /// Also refuses the address of the API server.
    pub fn with_api_server(self, api_server: Option<IpAddr>) -> EgressRules {
        EgressRules { api_server: api_server.map(|it| it.to_canonical()), ..self }
    }

    /// Returns why this address of a host is not allowed. `None` if it is allowed. If an IPv6 address maps to an IPv4 address, as a NAT64
    /// address does, both addresses are checked.
    pub fn refusal(&self, host: &str, ip: IpAddr) -> Option<Refusal> {
        let never = is_never_called(ip);
        if never.is_some() {
            return never;
        }
        let ip = ip.to_canonical();
        if self.is_allowed_name(host) || self.allowed.iter().any(|it| it.contains(&ip)) {
            return None;
        }
        let of = |form: IpAddr| {
            if self.api_server == Some(form) {
                return Some("the address of the API server".to_owned());
            }
            let network = self.blocked.iter().find(|it| it.contains(&form))?;
            Some(match kind(form) {
                Some(kind) => kind.to_owned(),
                None => format!("in {network}, which the operator's settings block"),
            })
        };
        forms(ip).into_iter().find_map(|form| Some(Refusal { ip, form, why: of(form)? }))
    }

    fn is_allowed_name(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.names.iter().any(|name| match name.strip_prefix('*') {
            // `end` begins with a dot, so only subdomains match.
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == *name,
        })
    }
}

/// An address that may not be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    ip: IpAddr,
    /// The IPv4 address that `ip` leads to, or `ip` itself.
    form: IpAddr,
    why: String,
}

/// Prints for example `169.254.169.254, which is link-local`.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { ip, form, why } = self;
        if form == ip {
            return write!(f, "{ip}, which is {why}");
        }
        write!(f, "{ip}, which leads to {form}, which is {why}")
    }
}

/// Returns why an address must never be called, inside or outside a cluster: it is link-local, multicast, broadcast or unspecified, or belongs to a
/// metadata service. `None` if it can be called unless an [`Egress`] blocks it.
pub fn is_never_called(ip: IpAddr) -> Option<Refusal> {
    let ip = ip.to_canonical();
    let never = |form: IpAddr| kind(form).filter(|it| *it != address::LOOPBACK && *it != address::THIS_NETWORK);
    forms(ip).into_iter().find_map(|form| Some(Refusal { ip, form, why: never(form)?.to_owned() }))
}

fn network(text: &str) -> Option<IpNet> {
    let network: IpNet = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok()?;
    // A network of IPv4-mapped IPv6 addresses is converted to a network of IPv4 addresses before the comparison.
    match network {
        IpNet::V6(six) if six.prefix_len() >= 96 && six.addr().to_ipv4_mapped().is_some() => {
            IpNet::new(six.addr().to_canonical(), six.prefix_len() - 96).ok()
        }
        _ => Some(network),
    }
}

/// Normalizes a host name: lower case, no dot at its end. `None` if it is not a valid host name.
fn host_name(text: &str) -> Option<String> {
    let name = text.trim_end_matches('.').to_ascii_lowercase();
    let labels = name.strip_prefix("*.").unwrap_or(&name);
    let is_label = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    // A numeric last label means that the text is an IPv4 address in an unusual notation.
    let is_name =
        labels.split('.').all(is_label) && labels.rsplit('.').next().is_some_and(|it| it.parse::<u32>().is_err());
    (is_name && name.len() <= MAX_NAME).then_some(name)
}
