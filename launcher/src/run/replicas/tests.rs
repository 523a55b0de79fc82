use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
};

use crds::{
    benchmark_run::{Api, Distribution},
    resolve::Egress,
};
use engine::client::{Target, probe};

use super::*;
use crate::test_server::{answer, serve};

const ONE_MODEL: &str = r#"{"data":[{"id":"m"}]}"#;

fn asked(port: u16) -> ServerReplicas {
    ServerReplicas {
        url: format!("http://chat-pods.bench.svc:{port}"),
        count: 2,
        distribution: Distribution::LeastOutstanding,
    }
}

/// A resolver that returns these responses in order. The last response is repeated.
fn resolver(answers: &'static [&[&str]]) -> (Resolver, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_, port| {
        let number = usize::try_from(counted.fetch_add(1, Ordering::SeqCst)).unwrap();
        let ips = answers[number.min(answers.len() - 1)];
        async move {
            match ips {
                [] => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
                ips => Ok(ips.iter().map(|it| SocketAddr::new(it.parse().unwrap(), port)).collect()),
            }
        }
        .boxed()
    });
    let allowed_hosts = vec!["chat-pods.bench.svc".to_owned()];
    let rules = Egress { allowed_hosts, ..Egress::cluster_default() }.rules("egress").unwrap();
    (Resolver::in_cluster(rules).with_lookup(lookup), asked)
}

fn all_listen(_: SocketAddr) -> BoxFuture<'static, bool> {
    async { true }.boxed()
}

async fn look_up(answers: &'static [&[&str]]) -> (Result<Vec<String>, String>, u64) {
    let (resolver, lookups) = resolver(answers);
    let found = Replicas::look_up(&asked(8000), &resolver, &all_listen, Clock::from_runtime()).await;
    let addresses = found.addresses.map(|all| all.iter().map(SocketAddr::to_string).collect());
    (addresses, lookups.load(Ordering::SeqCst))
}

fn addresses(all: &[&str]) -> Result<Vec<String>, String> {
    Ok(all.iter().map(|it| (*it).to_owned()).collect())
}

#[tokio::test(start_paused = true)]
async fn the_replicas_are_those_that_the_name_has_each_once_and_in_order() {
    let found = look_up(&[&["10.0.0.7", "10.0.0.5", "10.0.0.7"]]).await;
    assert_eq!(found, (addresses(&["10.0.0.5:8000", "10.0.0.7:8000"]), 1));
    // More addresses than expected are accepted, because a user may have added replicas to a shared server.
    assert_eq!(look_up(&[&["10.0.0.1", "10.0.0.2", "10.0.0.3"]]).await.0.unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_lacks_addresses_is_looked_up_again() {
    let found = look_up(&[&[], &["10.0.0.5"], &["10.0.0.5"], &["10.0.0.5", "fd00::7"]]).await;
    assert_eq!(found, (addresses(&["10.0.0.5:8000", "[fd00::7]:8000"]), 4));
}

#[tokio::test(start_paused = true)]
async fn where_an_address_stays_missing_the_service_is_called_and_the_report_says_why() {
    for (answers, says) in [
        (
            &[&["10.0.0.5"] as &[&str]] as &'static [&[&str]],
            "chat-pods.bench.svc resolves to 1 of 2 expected addresses, after 60 seconds",
        ),
        (&[&[]], "chat-pods.bench.svc has no address: no such name, after 60 seconds"),
    ] {
        let (resolver, lookups) = resolver(answers);
        let found = Replicas::look_up(&asked(8000), &resolver, &all_listen, Clock::from_runtime()).await;
        assert!(lookups.load(Ordering::SeqCst) > 50, "it waits");
        assert!(found.called(&resolver).is_none());
        let document = found.document(&[]);
        assert_eq!((document.asked, document.called.len()), (2, 0));
        let why = document.fallback.unwrap();
        assert!(why.contains(says) && why.contains("went to the Service"), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_may_not_be_called_is_not_waited_for() {
    let egress = Egress { blocked: vec!["10.0.0.0/8".to_owned()], ..Egress::cluster_default() };
    let lookups = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&lookups);
    let blocked = Resolver::in_cluster(egress.rules("egress").unwrap()).with_lookup(Arc::new(move |_, port| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(vec![SocketAddr::from(([10, 0, 0, 5], port))]) }.boxed()
    }));
    let found = Replicas::look_up(&asked(8000), &blocked, &all_listen, Clock::from_runtime()).await;
    let why = found.addresses.unwrap_err();
    assert!(why.contains("resolves to 10.0.0.5"), "{why}");
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_address_at_which_nothing_listens_is_looked_up_again() {
    let gone = SocketAddr::from(([10, 0, 0, 4], 8000));
    let listens = |it: SocketAddr| async move { it != gone }.boxed();
    let (stale, _) = resolver(&[&["10.0.0.4", "10.0.0.5"], &["10.0.0.4", "10.0.0.5"], &["10.0.0.5", "10.0.0.6"]]);
    let found = Replicas::look_up(&asked(8000), &stale, &listens, Clock::from_runtime()).await;
    assert_eq!(found.called(&stale).unwrap()[0].address, Some(SocketAddr::from(([10, 0, 0, 5], 8000))));
    assert!(!found.by_service());

    let (stays, lookups) = resolver(&[&["10.0.0.4", "10.0.0.5"]]);
    let found = Replicas::look_up(&asked(8000), &stays, &listens, Clock::from_runtime()).await;
    assert!(found.by_service() && lookups.load(Ordering::SeqCst) > 50, "it waits");
    let why = found.addresses.unwrap_err();
    assert!(why.contains("has the address 10.0.0.4:8000, at which no server listens, after 60 seconds"), "{why}");
    assert!(why.contains("check that every pod of the server is ready"), "{why}");
}

#[tokio::test]
async fn a_closed_port_does_not_listen() {
    let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = open.local_addr().unwrap();
    assert!(listens(address).await);
    drop(open);
    assert!(!listens(address).await);
}

/// A server that counts the requests whose host is the pods' Service.
fn server(ip: &str, port: u16) -> (u16, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let address = serve((ip, port), move |head| {
        let is_of_service = head.to_ascii_lowercase().contains("host: chat-pods.bench.svc:");
        counted.fetch_add(u64::from(is_of_service), Ordering::SeqCst);
        answer("200 OK", ONE_MODEL)
    });
    (address.port(), count)
}

#[tokio::test]
async fn each_replica_is_called_at_its_own_address_by_the_name_of_the_service() {
    let (port, first) = server("127.0.0.1", 0);
    let (_, second) = server("127.0.0.2", port);
    let (resolver, _) = resolver(&[&["127.0.0.2", "127.0.0.1"]]);
    let found = Replicas::look_up(&asked(port), &resolver, &listens, Clock::start()).await;
    let called = found.called(&resolver).unwrap();
    for (Called { url, resolver, .. }, times) in called.iter().zip([1, 3]) {
        let target = Target::new(url, Api::Completions, None, None, &Default::default()).unwrap();
        let target = target.resolving_with(resolver.clone()).unwrap();
        for _ in 0..times {
            assert_eq!(probe::models(&target).await.unwrap()[0].id, "m");
        }
    }
    assert_eq!([first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)], [1, 3]);
    let document = found.document(&[7, 9]);
    let requests: Vec<_> = document.called.iter().map(|it| (it.url.clone(), it.requests)).collect();
    assert_eq!(requests, [(format!("http://127.0.0.1:{port}"), 7), (format!("http://127.0.0.2:{port}"), 9)]);
    assert_eq!(document.fallback, None);
}
