//! Classifies an IP address, and finds the IPv4 addresses that an IPv6 address is translated or tunnelled to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks that a launcher in a cluster must not connect to.
pub(super) const CLUSTER_BLOCKED: [&str; 14] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "fe80::/10",
    "ff00::/8",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
];

/// Cloud metadata services without a link-local address: Alibaba, Azure and Oracle, and the IPv6 addresses of Amazon's and Google's services.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

pub(super) const LOOPBACK: &str = "loopback, the launcher's own pod";
/// Description of 0.0.0.0/8. Linux treats these addresses as its own.
pub(super) const THIS_NETWORK: &str = "in 0.0.0.0/8, which leads to the launcher's own pod";

/// Describes a special address, as text that follows "which is". `None` for an ordinary address.
pub(super) fn kind(ip: IpAddr) -> Option<&'static str> {
    if METADATA.contains(&ip) {
        return Some("a metadata service of a cloud");
    }
    let (loopback, link_local) = match ip {
        IpAddr::V4(ip) if ip.is_broadcast() => return Some("broadcast"),
        IpAddr::V4(ip) if ip.octets()[0] == 0 && !ip.is_unspecified() => return Some(THIS_NETWORK),
        IpAddr::V4(ip) => (ip.is_loopback(), ip.is_link_local()),
        IpAddr::V6(ip) => (ip.is_loopback(), ip.is_unicast_link_local()),
    };
    match () {
        () if loopback => Some(LOOPBACK),
        () if link_local => Some("link-local"),
        () if ip.is_multicast() => Some("multicast"),
        () if ip.is_unspecified() => Some("unspecified"),
        () => None,
    }
}

/// The address itself, and the IPv4 addresses to which gateways or tunnels would send its packets.
pub(super) fn forms(ip: IpAddr) -> Vec<IpAddr> {
    let mut all = vec![ip];
    if let IpAddr::V6(six) = ip {
        all.extend(embedded(six).into_iter().flatten().map(IpAddr::V4));
    }
    all
}

fn embedded(ip: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let four = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        // NAT64, RFC 6052.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [four(high, low), None],
        // Local-use NAT64, RFC 8215, with a prefix of 48 or of 96 bits. If one reading yields 0.0.0.0, the prefix has the other length.
        [0x64, 0xff9b, 1, high48, low48, next48, high, low] => {
            let ([_, c], [d, _]) = (low48.to_be_bytes(), next48.to_be_bytes());
            let forms = [four(high48, u16::from_be_bytes([c, d])), four(high, low)];
            forms.map(|it| it.filter(|it| !it.is_unspecified()))
        }
        // 6to4, RFC 3056.
        [0x2002, high, low, ..] => [four(high, low), None],
        // Teredo, RFC 4380: the address of the server, and the address of the client with its bits inverted.
        [0x2001, 0, server_high, server_low, _, _, high, low] => [four(server_high, server_low), four(!high, !low)],
        // ISATAP, RFC 5214.
        [.., 0 | 0x200, 0x5efe, high, low] => [four(high, low), None],
        // IPv4-compatible IPv6 addresses, RFC 4291.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => [four(high, low), None],
        _ => [None, None],
    }
}
