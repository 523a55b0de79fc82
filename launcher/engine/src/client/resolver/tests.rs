use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crds::{benchmark_run::Api, resolve::Egress};

use super::*;
use crate::client::{Target, probe};

/// Starts a server with one model, which counts its connections. It runs until the test process ends.
fn server(ip: &str, port: u16, answer: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((ip, port)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            counted.fetch_add(1, Ordering::SeqCst);
            // The client may disconnect early.
            let _ = stream.read(&mut [0; 4_096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, count)
}

const ONE_MODEL: &str = "HTTP/1.1 200 OK\r\ncontent-length: 21\r\nconnection: close\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";

/// Resolves names to fixed addresses. Numbers in other notations go to the system resolver, which needs no network for them.
fn lookup(names: &[(&str, &[&str])]) -> Lookup {
    let names: BTreeMap<String, Vec<IpAddr>> = names
        .iter()
        .map(|(name, ips)| ((*name).to_owned(), ips.iter().map(|it| it.parse().unwrap()).collect()))
        .collect();
    Arc::new(move |host: String, port| {
        let known = names.get(&host.to_ascii_lowercase()).cloned();
        async move {
            match known {
                Some(ips) => Ok(ips.into_iter().map(|it| SocketAddr::new(it, port)).collect()),
                None if host.starts_with(|it: char| it.is_ascii_digit()) => {
                    Ok(tokio::net::lookup_host((host, port)).await?.collect())
                }
                None if host.starts_with("fe80::1%") => Ok(vec![SocketAddr::new("fe80::1".parse().unwrap(), port)]),
                None => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
            }
        }
        .boxed()
    })
}

fn in_cluster(allowed: &[&str]) -> Resolver {
    let allowed_hosts = allowed.iter().map(|it| (*it).to_owned()).collect();
    let egress = Egress { allowed_hosts, ..Egress::cluster_default() };
    let rules = egress.rules("egress").unwrap();
    Resolver::in_cluster(rules.with_api_server("10.96.0.1".parse().ok()))
}

fn target(url: &str, resolver: &Resolver) -> Result<Target, String> {
    let target = Target::new(url, Api::Completions, None, None, &BTreeMap::new()).map_err(|error| error.to_string())?;
    target.resolving_with(resolver.clone()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn no_url_leads_a_launcher_in_a_cluster_to_a_blocked_address() {
    let (port, connections) = server("127.0.0.1", 0, ONE_MODEL);
    let names: &[(&str, &[&str])] = &[
        ("localhost", &["127.0.0.1", "::1"]),
        ("localhost.", &["127.0.0.1"]),
        ("127.0.0.1.", &["127.0.0.1"]),
        ("metadata.google.internal", &["169.254.169.254"]),
        ("localtest.example", &["127.0.0.1"]),
        ("kubernetes.default.svc", &["10.96.0.1"]),
        ("mixed.example", &["10.0.0.1", "127.0.0.1"]),
        ("mapped.example", &["::ffff:127.0.0.1"]),
        ("nat64.example", &["64:ff9b::a9fe:a9fe"]),
        ("6to4.example", &["2002:a9fe:a9fe::1"]),
    ];
    let resolver = in_cluster(&[]).with_lookup(lookup(names));
    let urls = [
        "http://127.0.0.1:PORT",
        "http://127.1:PORT",
        "http://127.0.1:PORT",
        "http://2130706433:PORT",
        "http://0x7f000001:PORT",
        "http://0x7f.0.0.1:PORT",
        "http://0177.0.0.1:PORT",
        "http://017700000001:PORT",
        "http://0.0.0.0:PORT",
        "http://0:PORT",
        "http://0.0.0.1:PORT",
        "http://127.0.0.1.:PORT",
        "http://localhost:PORT",
        "http://LOCALHOST:PORT",
        "http://localhost.:PORT",
        "http://localtest.example:PORT",
        "http://mixed.example:PORT",
        "http://mapped.example:PORT",
        "http://[::1]:PORT",
        "http://[::]:PORT",
        "http://[::ffff:127.0.0.1]:PORT",
        "http://[::ffff:7f00:1]:PORT",
        "http://[::127.0.0.1]:PORT",
        "http://[64:ff9b::127.0.0.1]:PORT",
        "http://[2002:7f00:1::]:PORT",
        "http://[fe80::1%25eth0]:PORT",
        "http://[fe80::1%eth0]:PORT",
        "http://me:pw@127.0.0.1:PORT",
        "http://models.example@127.0.0.1:PORT",
        "http://127.0.0.1:PORT@models.example",
        "http://%31%32%37.0.0.1:PORT",
        "http://localhost%2e:PORT",
        "http://①②⑦.0.0.1:PORT",
        "https://127.0.0.1:PORT",
        "http://169.254.169.254",
        "http://2852039166",
        "http://0xa9fea9fe",
        "http://0251.0376.0251.0376",
        "http://[::ffff:169.254.169.254]",
        "http://metadata.google.internal",
        "http://nat64.example",
        "http://6to4.example",
        "http://100.100.100.200",
        "http://[fd00:ec2::254]",
        "http://kubernetes.default.svc",
        "https://10.96.0.1",
        "unix:/run/containerd/containerd.sock",
        "unix:///var/run/docker.sock",
        "file:///etc/passwd",
        "gopher://127.0.0.1:PORT",
    ];
    let all = urls.len();
    let (mut by_address, mut by_form) = (0, 0);
    for url in urls.map(|it| it.replace("PORT", &port.to_string())) {
        // A URL that `Target` rejects is never looked up.
        let Ok(target) = target(&url, &resolver) else {
            by_form += 1;
            continue;
        };
        let checked = target.check_addresses().await.unwrap_err();
        by_address += usize::from(checked.is_refusal());
        let called = probe::models(&target).await.unwrap_err().to_string();
        assert!(checked.is_refusal() || called.contains("cannot connect"), "{url}: {checked}: {called}");
    }
    // The remaining hosts are names that do not exist.
    assert!(by_address >= 25 && by_address + by_form + 3 >= all, "{by_address} {by_form}");
    println!(
        "figure 22: all {all} URLs lead to no connection, {by_address} by their address and {by_form} by their form"
    );
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_is_not_blocked_is_called() {
    let (port, connections) = server("127.0.0.1", 0, ONE_MODEL);
    let names: &[(&str, &[&str])] = &[("models.example", &["127.0.0.1"]), ("a.models.example", &["127.0.0.1"])];
    let excepted = in_cluster(&["models.example", "*.models.example"]).with_lookup(lookup(names));
    let outside = Resolver::default().with_lookup(lookup(names));
    let by_address = in_cluster(&["127.0.0.0/24"]).with_lookup(lookup(names));
    let calls = [
        (&excepted, "http://models.example"),
        (&excepted, "http://a.MODELS.example"),
        (&outside, "http://models.example"),
        (&outside, "http://127.0.0.1"),
        (&outside, "http://2130706433"),
        (&by_address, "http://127.0.0.1"),
        (&by_address, "http://models.example"),
    ];
    for (resolver, url) in calls {
        let target = target(&format!("{url}:{port}"), resolver).unwrap();
        assert_eq!(probe::models(&target).await.unwrap()[0].id, "m", "{url}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), calls.len());
    // Addresses of cluster pods and of the internet are allowed.
    for host in ["10.0.0.1", "192.168.1.1", "8.8.8.8", "2001:db8::1"] {
        assert_eq!(in_cluster(&[]).addresses(host, 80).await.unwrap().len(), 1, "{host}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_answer_does_not_lead_to_a_blocked_address() {
    let (port, allowed) = server("127.0.0.1", 0, ONE_MODEL);
    let (_, forbidden) = server("127.0.0.2", port, ONE_MODEL);
    let asked = AtomicUsize::new(0);
    let changing: Lookup = Arc::new(move |_, port| {
        let ip = if asked.fetch_add(1, Ordering::SeqCst) == 0 { [127, 0, 0, 1] } else { [127, 0, 0, 2] };
        async move { Ok(vec![SocketAddr::from((ip, port))]) }.boxed()
    });
    let resolver = in_cluster(&["127.0.0.1"]).with_lookup(changing);
    let target = target(&format!("http://models.example:{port}"), &resolver).unwrap();
    assert_eq!(probe::models(&target).await.unwrap().len(), 1);
    for _ in 0..3 {
        let error = probe::models(&target).await.unwrap_err().to_string();
        assert!(error.contains("resolves to 127.0.0.2, which is loopback"), "{error}");
    }
    assert_eq!((allowed.load(Ordering::SeqCst), forbidden.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn a_redirect_of_the_target_is_not_followed() {
    const AWAY: &str = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.2/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (port, allowed) = server("127.0.0.1", 0, AWAY);
    let (_, forbidden) = server("127.0.0.2", port, ONE_MODEL);
    let target = target(&format!("http://127.0.0.1:{port}"), &in_cluster(&["127.0.0.1"])).unwrap();
    let error = probe::models(&target).await.unwrap_err().to_string();
    assert!(error.contains("307") && error.contains("give the URL that it redirects to"), "{error}");
    assert_eq!((allowed.load(Ordering::SeqCst), forbidden.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn outside_of_a_cluster_link_local_addresses_of_a_name_are_left_out() {
    let names: &[(&str, &[&str])] = &[("host.local", &["fe80::1", "192.168.1.7"]), ("alone.local", &["169.254.1.1"])];
    let resolver = Resolver::default().with_lookup(lookup(names));
    let found = resolver.addresses("host.local", 80).await.unwrap();
    assert_eq!(found, [SocketAddr::from(([192, 168, 1, 7], 80))]);
    let error = resolver.addresses("alone.local", 80).await.unwrap_err().to_string();
    assert_eq!(error, "resolves to 169.254.1.1, which is link-local");
}
