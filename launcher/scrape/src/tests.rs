use std::sync::Arc;

use engine::{client::Lookup, stop::StopReason};
use futures::FutureExt as _;

use super::*;

fn order(resolver: Resolver) -> Order {
    let url = "http://vllm.llm-d/metrics".to_owned();
    let sources = vec![Source { url, engine: None, is_guess: false, gets_token: false }];
    Order { sources, token: None, authorities: None, interval: INTERVAL, timeout: TIMEOUT, resolver }
}

#[test]
fn a_lookup_that_hangs_does_not_hold_up_the_end() {
    let (begun, begins) = mpsc::sync_channel(1);
    let (release, released) = mpsc::sync_channel::<()>(1);
    let released = Arc::new(std::sync::Mutex::new(released));
    let lookup: Lookup = Arc::new(move |_, _| {
        let (begun, released) = (begun.clone(), Arc::clone(&released));
        let hang = move || {
            // The test waits for this message until the lookup has begun.
            let _ = begun.try_send(());
            let _ = released.lock().unwrap().recv();
            Ok(Vec::new())
        };
        tokio::task::spawn_blocking(hang).map(|it| it.unwrap()).boxed()
    });
    let scraper = Scraper::start(order(Resolver::default().with_lookup(lookup))).unwrap();
    begins.recv().unwrap();
    let scraped = scraper.end().unwrap();
    assert!(scraped.addresses.is_empty());
    // Only now can the lookup return.
    drop(release);
}

#[test]
fn a_stop_shortens_the_wait() {
    assert_eq!(patience(StopState::Run), Duration::from_secs(7));
    assert_eq!(patience(StopState::Drain(StopReason::Signal)), Duration::from_secs(1));
    assert_eq!(patience(StopState::Abort(StopReason::Signal)), Duration::ZERO);
}

#[test]
fn after_an_abort_nothing_is_waited_for() {
    let (done, waiting) = mpsc::sync_channel(1);
    let stop = Stop::default();
    stop.abort(StopReason::Deadline);
    assert!(!is_done(&waiting, &stop));
    done.send(()).unwrap();
    assert!(is_done(&waiting, &stop));
    drop(done);
    assert!(!is_done(&waiting, &Stop::default()));
}
