use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use engine::client::Lookup;
use futures::future;

use super::*;
use crate::{Source, TIMEOUT, client};

const TEXT: &str = "vllm:generation_tokens_total 5\nvllm:num_requests_running 0\n";

fn source(url: &str, is_guess: bool) -> Source {
    Source { url: url.into(), engine: None, is_guess, gets_token: false }
}

fn worker(sources: Vec<Source>, resolver: Resolver) -> Worker {
    let interval = Duration::from_secs(1);
    let order = Order { sources, token: None, authorities: None, interval, timeout: TIMEOUT, resolver };
    let (_, commands) = tokio::sync::mpsc::channel(1);
    Worker::new(order, client::tls(false, None).unwrap(), commands, tokio::sync::watch::Sender::new(None))
}

fn named(is_guess: bool) -> Worker {
    worker(vec![source("http://one/metrics", is_guess), source("http://two/metrics", is_guess)], Resolver::default())
}

fn v4(number: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 0, u8::from(number > 250), number), 80).into()
}

fn answered(worker: &mut Worker, place: usize, text: &str) {
    let (at, took) = (Duration::from_secs(1), Duration::from_millis(1));
    worker.take_scrape(place, at, took, false, Ok(text.as_bytes().to_vec()));
}

#[test]
fn addresses_left_out_are_those_of_all_sources() {
    let mut worker = named(false);
    let many = (0..2).flat_map(|it| (0..=255).map(move |last| SocketAddr::from(([10, 1, it, last], 80)))).take(300);
    worker.take_lookup(0, Ok(many.collect()));
    worker.take_lookup(1, Ok(vec![v4(1), v4(2)]));
    assert_eq!(worker.into_scraped().left_out, 300 - MAX_ADDRESSES + 2);
}

#[test]
fn an_address_of_a_guess_comes_back_unless_it_has_no_metrics() {
    let mut worker = named(true);
    worker.take_lookup(0, Ok(vec![v4(1), v4(2)]));
    answered(&mut worker, 0, TEXT);
    answered(&mut worker, 1, "no\n");
    worker.take_lookup(0, Ok(vec![v4(3)]));
    assert_eq!(worker.live(), [2]);
    worker.take_lookup(0, Ok(vec![v4(1), v4(2), v4(3)]));
    assert_eq!(worker.live(), [0, 2]);
}

#[test]
fn of_a_server_with_addresses_of_two_families_one_is_asked() {
    let mut worker = named(false);
    let [four, six] = [SocketAddr::from((Ipv4Addr::LOCALHOST, 80)), SocketAddr::from((Ipv6Addr::LOCALHOST, 80))];
    worker.take_lookup(0, Ok(vec![four, six]));
    // Scrapes of both addresses are in flight.
    answered(&mut worker, 1, TEXT);
    answered(&mut worker, 0, TEXT);
    assert_eq!(worker.live(), [1]);
    worker.take_lookup(0, Ok(vec![four, six]));
    assert_eq!(worker.live(), [1]);
    let scraped = worker.into_scraped();
    let addresses: Vec<_> = scraped.addresses.iter().map(|it| it.address).collect();
    assert_eq!((addresses, scraped.store.addresses()[0].scrapes().len()), (vec![Some(six)], 0));
}

#[tokio::test]
async fn a_name_is_not_looked_up_while_a_lookup_goes_on() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let hangs: Lookup = Arc::new(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        future::pending().boxed()
    });
    let mut worker = worker(vec![source("http://one/metrics", false)], Resolver::default().with_lookup(hangs));
    worker.look_up(0);
    tokio::task::yield_now().await;
    worker.look_up(0);
    tokio::task::yield_now().await;
    assert_eq!((asked.load(Ordering::SeqCst), worker.under_way.len()), (1, 1));
}

#[test]
fn the_requests_of_all_servers_are_known_once_each_has_reported_them() {
    let mut worker = named(false);
    let depth = worker.depth.subscribe();
    worker.take_lookup(0, Ok(vec![v4(1), v4(2)]));
    let text = |running: u32, waiting: u32| {
        format!(
            "vllm:num_requests_running{{model_name=\"m\"}} {running}\nvllm:num_requests_waiting{{model_name=\"m\"}} {waiting}\n"
        )
    };
    answered(&mut worker, 0, &text(2, 1));
    assert_eq!(*depth.borrow(), None);
    answered(&mut worker, 1, &text(4, 0));
    assert_eq!(*depth.borrow(), Some(Depth { at: Duration::from_secs(1), requests: 7.0 }));
    answered(&mut worker, 0, &text(0, 0));
    assert_eq!(depth.borrow().map(|it| it.requests), Some(4.0));
    let (at, took) = (Duration::from_secs(2), Duration::from_millis(1));
    worker.take_scrape(1, at, took, false, Err("timeout".to_owned()));
    assert_eq!(*depth.borrow(), None);
}
