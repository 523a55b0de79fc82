use super::*;

/// The egress rules of a cluster with its API server at 10.96.0.1.
fn cluster(blocked: &[&str], allowed: &[&str]) -> EgressRules {
    let mut egress = Egress::cluster_default();
    egress.blocked.extend(blocked.iter().map(|it| (*it).to_owned()));
    egress.allowed_hosts.extend(allowed.iter().map(|it| (*it).to_owned()));
    egress.rules("egress").unwrap().with_api_server("10.96.0.1".parse().ok())
}

fn refusal(rules: &EgressRules, host: &str, ip: &str) -> Option<String> {
    rules.refusal(host, ip.parse().unwrap()).map(|it| it.to_string())
}

#[test]
fn special_addresses_are_refused_in_a_cluster_in_every_form() {
    let rules = cluster(&["10.0.0.0/24", "fd12::/16"], &[]);
    for (ip, why) in [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("::1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "own pod"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("fd20:ce::254", "metadata"),
        ("::ffff:169.254.169.254", "169.254.169.254, which is link-local"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::127.0.0.1", "leads to 127.0.0.1, which is loopback"),
        ("64:ff9b::169.254.169.254", "leads to 169.254.169.254"),
        ("64:ff9b:1:a9fe:a9:fe00::", "leads to 169.254.169.254"),
        ("64:ff9b:1::169.254.169.254", "leads to 169.254.169.254"),
        ("2002:a9fe:a9fe::1", "leads to 169.254.169.254"),
        ("2002:7f00:1::", "leads to 127.0.0.1"),
        ("2001:0:5ef5:79fb:0:0:5601:5601", "leads to 169.254.169.254"),
        ("2001:db8::5efe:169.254.169.254", "leads to 169.254.169.254"),
        ("10.96.0.1", "the address of the API server"),
        ("64:ff9b::10.96.0.1", "leads to 10.96.0.1, which is the address of the API server"),
        ("10.0.0.7", "in 10.0.0.0/24, which the operator's settings block"),
        ("::ffff:10.0.0.7", "in 10.0.0.0/24"),
        ("2002:a00:7::", "leads to 10.0.0.7, which is in 10.0.0.0/24"),
        ("fd12::7", "in fd12::/16"),
    ] {
        let refused = refusal(&rules, "server", ip);
        assert!(refused.as_ref().is_some_and(|it| it.contains(why)), "{ip}: {refused:?}");
    }
    for ip in ["10.0.1.7", "8.8.8.8", "192.168.0.1", "2001:db8::1", "fd00::1", "64:ff9b::8.8.8.8"] {
        assert_eq!(refusal(&rules, "server", ip), None, "{ip}");
    }
}

#[test]
fn outside_of_a_cluster_loopback_is_called_and_metadata_services_are_not() {
    for (ip, called) in [
        ("127.0.0.1", true),
        ("::1", true),
        ("10.96.0.1", true),
        ("2001:db8::1", true),
        ("169.254.169.254", false),
        ("100.100.100.200", false),
        ("fd00:ec2::254", false),
        ("0.0.0.0", false),
        ("::", false),
        ("224.0.0.1", false),
        ("255.255.255.255", false),
        ("fe80::1", false),
        ("ff02::1", false),
        ("::ffff:169.254.169.254", false),
        ("64:ff9b::169.254.169.254", false),
    ] {
        assert_eq!(is_never_called(ip.parse().unwrap()).is_none(), called, "{ip}");
        assert_eq!(EgressRules::default().refusal("server", ip.parse().unwrap()).is_none(), called, "{ip}");
    }
}

#[test]
fn an_excepted_host_is_called_and_a_metadata_service_never_is() {
    let rules = cluster(&["10.0.0.0/8"], &["Proxy.Example.com.", "*.models.svc", "10.0.7.0/24", "127.0.0.1"]);
    for (host, ip, called) in [
        ("proxy.example.com", "10.0.0.1", true),
        ("PROXY.example.com.", "10.0.0.1", true),
        ("other.example.com", "10.0.0.1", false),
        ("evilproxy.example.com", "10.0.0.1", false),
        ("a.models.svc", "10.0.0.1", true),
        ("models.svc", "10.0.0.1", false),
        ("amodels.svc", "10.0.0.1", false),
        ("server", "10.0.7.9", true),
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.2", "127.0.0.2", false),
        ("proxy.example.com", "169.254.169.254", false),
    ] {
        assert_eq!(refusal(&rules, host, ip).is_none(), called, "{host} {ip}");
    }
}

#[test]
fn every_entry_that_cannot_be_used_is_named() {
    let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let egress = Egress {
        blocked: texts(&["10.0.0.0/8", "10.0.0.0/33", "host", "::1", "::ffff:10.0.0.0/104"]),
        allowed_hosts: texts(&["ok.example", "http://x", "a:80", "", "*", "0x7f000001.1"]),
    };
    let errors: Vec<String> = egress.rules("egress").unwrap_err().iter().map(ToString::to_string).collect();
    let fields: Vec<&str> = errors.iter().filter_map(|it| it.split(':').next()).collect();
    let wanted = [
        "egress.blocked[1]",
        "egress.blocked[2]",
        "egress.allowedHosts[1]",
        "egress.allowedHosts[2]",
        "egress.allowedHosts[3]",
        "egress.allowedHosts[4]",
        "egress.allowedHosts[5]",
    ];
    assert_eq!(fields, wanted, "{errors:?}");
    assert!(errors[0].contains("10.0.0.0/33") && errors[0].contains("write a network"), "{errors:?}");
    let many = Egress { blocked: vec!["10.0.0.1".into(); 257], ..Egress::default() };
    assert!(many.rules("egress").unwrap_err()[0].to_string().contains("at most 256"));
}

#[test]
fn a_network_of_mapped_addresses_blocks_ipv4_addresses() {
    let egress = Egress { blocked: vec!["::ffff:10.0.0.0/104".into()], ..Egress::default() };
    let rules = egress.rules("egress").unwrap();
    assert!(refusal(&rules, "server", "10.1.2.3").is_some());
    assert_eq!(refusal(&rules, "server", "11.1.2.3"), None);
}
