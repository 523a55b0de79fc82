use crds::resolve::{Egress, LogAddress};
use engine::client::Lookup;
use futures::future::FutureExt as _;

use super::*;
use crate::test_server::{answer, path, serve};

const HOST: &str = "chat-pods.bench.svc";
const START: &str = r#"{"host":"p","pid":7,"started":"2026-01-02T03:04:05Z","readyMs":70000,"starts":2,
    "now":"2026-01-02T03:05:05Z","utcOffsetSeconds":0,"log":{"bytes":3,"bytesLeftOut":0,"redactedLines":0}}"#;

/// Starts a pod with these responses, and 500 for everything else. Returns its port.
fn pod(ip: &str, port: u16, answers: &'static [(&str, &str)]) -> u16 {
    let address = serve((ip, port), |head| {
        let found = answers.iter().find(|it| it.0 == path(head));
        found.map_or_else(|| answer("500 Broken", ""), |it| answer("200 OK", it.1))
    });
    address.port()
}

/// A resolver that returns these addresses for every name.
fn resolver(ips: &'static [&str]) -> Resolver {
    let lookup: Lookup = std::sync::Arc::new(move |_, port| {
        async move { Ok(ips.iter().map(|it| SocketAddr::new(it.parse().unwrap(), port)).collect()) }.boxed()
    });
    let rules = Egress { allowed_hosts: vec![HOST.to_owned()], ..Egress::cluster_default() };
    Resolver::in_cluster(rules.rules("egress").unwrap()).with_lookup(lookup)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_pod_that_gives_nothing_keeps_its_place() {
    let port = pod("127.0.0.1", 0, &[]);
    pod("127.0.0.2", port, &[("/start", START), ("/log", "log")]);
    let folder = tempfile::tempdir().unwrap();
    let address = LogAddress { host: HOST.into(), port };
    // The DNS no longer contains the second address.
    let known = [ip("127.0.0.1"), ip("127.0.0.2")];
    let asked = Asked { address: &address, known: Some(&known), replicas: 2, token: None };
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let limit = Duration::from_secs(60);
    read_logs(asked, &resolver(&["127.0.0.1"]), folder.path(), limit, &mut found, &mut notes).await.unwrap();
    let [it] = found.as_slice() else { panic!("{notes:?}") };
    assert_eq!((it.place, it.ip, it.start.ready_ms), (1, ip("127.0.0.2"), Some(70_000)));
    assert_eq!(fs::read(&it.log).unwrap(), b"log");
    assert!(notes.len() == 1 && notes[0].contains("pod at 127.0.0.1 was not read"), "{notes:?}");
    let cycles = |level| vec![SleepCycle { level, ..SleepCycle::default() }];
    let mut by_replica =
        ByReplica { addresses: Some(known.to_vec()), requests: &[5, 6], sleep_cycles: vec![cycles(1), cycles(2)] };
    assert_eq!((by_replica.requests(it), by_replica.slept(it, false)), (Some(6), cycles(2)));
    // The measurements of the pod without a log are kept.
    let elsewhere = by_replica.slept_elsewhere(&found);
    assert_eq!((elsewhere.len(), &elsewhere[0].sleep_cycles, &elsewhere[0].log), (1, &cycles(1), &None));
    by_replica.addresses = None;
    assert_eq!((by_replica.requests(it), by_replica.slept(it, false)), (None, Vec::new()));
}

#[tokio::test]
async fn the_traces_of_one_pod_do_not_fail_with_those_of_another() {
    const GROWN: &[(&str, &str)] = &[("/traces", r#"[{"name":"a/t.json","bytes":2}]"#), ("/traces/a/t.json", "longer")];
    let port = pod("127.0.0.1", 0, &[]);
    pod("127.0.0.2", port, GROWN);
    pod("127.0.0.3", port, &[("/traces", r#"[{"name":"a/t.json","bytes":5}]"#), ("/traces/a/t.json", "whole")]);
    let folder = tempfile::tempdir().unwrap();
    let address = LogAddress { host: HOST.into(), port };
    let asked = Asked { address: &address, known: None, replicas: 4, token: None };
    let mut remarks = Vec::new();
    let pods = resolver(&["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    traces::copy(asked, &pods, folder.path(), Duration::from_secs(60), &mut remarks).await.unwrap();
    let text = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    assert_eq!((text("127.0.0.2/a/t.json"), text("127.0.0.3/a/t.json")), ("longer".to_owned(), "whole".to_owned()));
    let expected = ["3 of 4 pods", "the pod at 127.0.0.1 were not collected", "a/t.json grew from 2 to 6 bytes"];
    assert_eq!(remarks.len(), expected.len(), "{remarks:?}");
    for (remark, expected) in remarks.iter().zip(expected) {
        assert!(remark.contains(expected), "{remark}");
    }
}
