//! Tests with texts from real servers.

use std::time::Duration;

use crds::benchmark_run::MetricsKind;
use server_metrics::{
    identity::Identity,
    parse,
    series::{Answer, Keep, Store, WindowFigures},
};

const V0_16: &str = include_str!("data/vllm-0.16.0.txt");
const V0_32: &str = include_str!("data/vllm-0.32.0.txt");

/// A store with two scrapes: of an idle server, and of `text` 10 s later.
fn store(text: &str) -> Store {
    let mut store = Store::default();
    let address = store.add_address(None);
    for (at, text) in [(0, "vllm:num_requests_running 0\n"), (10, text)] {
        let answer = Answer {
            at: Duration::from_secs(at),
            took: Duration::from_millis(2),
            text: Some(text.as_bytes()),
            edge: false,
        };
        assert!(store.record(address, answer, Keep::Known));
    }
    store
}

fn figures(store: &Store) -> WindowFigures {
    store.figures(Duration::from_secs(1), Duration::from_secs(9), Duration::from_secs(1))
}

#[test]
fn every_line_is_read() {
    for text in [V0_16, V0_32] {
        let counts = parse::scan(text.as_bytes(), |_| true, |_| true);
        let lines = text.lines().filter(|it| !it.starts_with('#')).count();
        assert_eq!((counts.samples, counts.bad), (lines, 0));
    }
}

#[test]
fn the_figures_are_those_of_the_server() {
    let found = figures(&store(V0_16));
    assert_eq!((found.prompt_tokens, found.generation_tokens), (Some(12_775.0), Some(6_129.0)));
    assert_eq!((found.preemptions, found.succeeded), (Some(0.0), Some(692.0)));
    assert_eq!((found.prefix_queries, found.prefix_hits), (Some(475_615.0), Some(256.0)));
    let ttft = found.ttft.unwrap();
    assert_eq!(ttft.count, 821.0);
    assert!((ttft.mean - 6_943.445_499_181_747 / 821.0).abs() < 1e-9);
    assert!(ttft.p50.is_some() && ttft.p50 < ttft.p90 && ttft.p90 <= ttft.p99);
    for latency in [found.itl, found.e2e, found.queue, found.prefill, found.decode] {
        assert!(latency.unwrap().count > 600.0);
    }
    assert!(found.whole && found.kv_cache_usage.is_none(), "its one sample is after the window");
}

#[test]
fn a_server_tells_its_cache_and_few_series_are_kept() {
    let store = store(V0_32);
    let address = &store.addresses()[0];
    let identity = Identity::from_metrics(address);
    assert_eq!((identity.engine, address.left_out, address.bad_lines), (Some(MetricsKind::Vllm), 0, 0));
    assert!(identity.cache_config.contains_key("block_size") && identity.cache_config.contains_key("num_gpu_blocks"));
    assert!(!identity.cache_config.contains_key("engine") && !identity.models.is_empty());
    assert!((100..400).contains(&address.series()), "{}", address.series());
    assert!(!store.series().iter().any(|it| it.metric.ends_with("_created")));
}
