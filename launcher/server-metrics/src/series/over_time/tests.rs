use super::*;
use crate::series::{Answer, Keep};

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Adds an address with these scrapes as (time in seconds, text). `None` is a failed scrape.
fn add(store: &mut Store, scrapes: &[(f64, Option<String>)]) {
    let address = store.add_address(None);
    for (at, text) in scrapes {
        let text = text.as_ref().map(String::as_bytes);
        store.record(address, Answer { at: secs(*at), took: secs(0.01), text, edge: false }, Keep::Known);
    }
}

fn store(scrapes: &[(f64, Option<String>)]) -> Store {
    let mut store = Store::default();
    add(&mut store, scrapes);
    store
}

fn over_time(store: &Store, from: f64, to: f64) -> OverTime {
    store.over_time(secs(from), secs(to), secs(1.0)).unwrap()
}

fn tokens(value: u64) -> Option<String> {
    Some(format!("vllm:generation_tokens_total {value}\n"))
}

fn running(value: u64) -> Option<String> {
    Some(format!("vllm:num_requests_running {value}\n"))
}

#[test]
fn a_level_is_averaged_over_each_bin() {
    let found = over_time(&store(&[(10.0, running(2)), (11.5, running(6)), (12.0, running(0))]), 10.0, 12.5);
    assert_eq!(found.bin_width, secs(1.0));
    // In the second bin, the value is 2 in the first half and 6 in the second half. The third bin has only half the width.
    assert_eq!(found.running, Some(vec![Some(2.0), Some(4.0), Some(0.0)]));
    assert_eq!((found.waiting, found.generation_tokens, found.prefix_hit_share), (None, None, None));
}

#[test]
fn a_bin_without_a_scrape_is_not_known() {
    // A gauge is valid for five intervals. There is no rate between scrapes that are further apart than that.
    let text = |value: u64| Some(format!("{}{}", running(value).unwrap(), tokens(100 * value).unwrap()));
    let found = over_time(&store(&[(0.0, text(1)), (1.0, text(2)), (8.0, text(3)), (9.0, text(3))]), 0.0, 10.0);
    let of = |known: [f64; 10]| Some(known.map(|it| Some(it).filter(|it| *it >= 0.0)).to_vec());
    assert_eq!(found.running, of([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, -1.0, -1.0, 3.0, 3.0]));
    assert_eq!(found.generation_tokens, of([100.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 0.0, -1.0]));
}

#[test]
fn the_rates_of_a_counter_add_up_to_its_increase() {
    let at = [0.0, 0.7, 2.1, 3.0, 5.5, 6.0];
    // The counter restarts before the fourth scrape.
    let values = [0, 70, 490, 40, 290, 300];
    let scrapes: Vec<_> = at.iter().zip(values).map(|(at, value)| (*at, tokens(value))).collect();
    let found = over_time(&store(&scrapes), 0.0, 6.0).generation_tokens.unwrap();
    let sum: f64 = found.iter().map(|it| it.unwrap()).sum();
    assert!((sum - (490.0 + 300.0)).abs() < 1e-9, "{found:?}");
    // The rate is 100 per second up to 0.7 s, and then 300 per second up to 2.1 s.
    assert!((found[0].unwrap() - 160.0).abs() < 1e-9 && (found[1].unwrap() - 300.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn what_happened_outside_of_the_window_is_left_out() {
    let scrapes = [(0.0, tokens(0)), (1.0, tokens(1_000)), (2.0, tokens(1_010)), (3.0, None), (4.0, tokens(1_030))];
    let found = over_time(&store(&scrapes), 1.5, 3.5);
    assert_eq!(found.generation_tokens, Some(vec![Some(10.0), Some(10.0)]));
    assert_eq!(found.failed_scrapes, [0, 1]);
}

#[test]
fn servers_are_added_or_averaged() {
    let text = |running: u64, usage: f64, tokens: u64| {
        Some(format!(
            "vllm:num_requests_running {running}\nvllm:kv_cache_usage_perc {usage}\nvllm:prompt_tokens_total {tokens}\n"
        ))
    };
    let mut store = store(&[(0.0, text(2, 0.5, 0)), (2.0, text(2, 0.5, 200))]);
    add(&mut store, &[(0.5, text(3, 0.1, 50)), (1.5, text(3, 0.1, 100))]);
    let found = over_time(&store, 0.0, 2.0);
    // The second server's gauge is known from 0.5 s on, and its counter from 0.5 s to 1.5 s.
    assert_eq!(found.running, Some(vec![Some(3.5), Some(5.0)]));
    assert_eq!(found.prompt_tokens, Some(vec![Some(125.0), Some(125.0)]));
    let usage = found.kv_cache_usage.unwrap();
    assert!((usage[1].unwrap() - 0.3).abs() < 1e-12, "{usage:?}");
}

#[test]
fn prefix_hits_are_a_share_of_what_was_looked_up_in_the_bin() {
    let vllm = |queries: u64, hits: u64| {
        Some(format!("vllm:prefix_cache_queries_total {queries}\nvllm:prefix_cache_hits_total {hits}\n"))
    };
    let found = over_time(&store(&[(0.0, vllm(0, 0)), (1.0, vllm(100, 25)), (2.0, vllm(100, 25))]), 0.0, 2.0);
    assert_eq!(found.prefix_hit_share, Some(vec![Some(0.25), None]));
    assert_eq!(found.cached_prompt_tokens, Some(vec![Some(25.0), Some(0.0)]));
    let sglang =
        |all: u64, hits: u64| Some(format!("sglang:prompt_tokens_total {all}\nsglang:cached_tokens_total {hits}\n"));
    let found = over_time(&store(&[(0.0, sglang(0, 0)), (1.0, sglang(50, 10))]), 0.0, 1.0);
    assert_eq!(found.prefix_hit_share, Some(vec![Some(0.2)]));
}

#[test]
fn gpus_have_a_share_of_time_and_watts() {
    let text = "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 90\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 50\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 600\n\
                DCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 400\n";
    let found = over_time(&store(&[(0.0, Some(text.to_owned()))]), 0.0, 1.0);
    assert!((found.gpu_utilization.unwrap()[0].unwrap() - 0.7).abs() < 1e-12);
    assert_eq!(found.gpu_power, Some(vec![Some(1_000.0)]));
}

#[test]
fn bins_are_intervals_or_wider_by_powers_of_two() {
    let widths = |length: f64, interval: f64| {
        let found = Store::default().over_time(secs(5.0), secs(5.0 + length), secs(interval)).unwrap();
        (found.bin_width.as_secs_f64(), found.failed_scrapes.len())
    };
    assert_eq!((widths(240.0, 1.0), widths(240.5, 1.0)), ((1.0, 240), (2.0, 121)));
    assert_eq!((widths(86_400.0, 1.0), widths(0.3, 1.0)), ((512.0, 169), (1.0, 1)));
    assert_eq!(widths(1.0, 0.0), (0.008, 125));
    assert_eq!(Store::default().over_time(secs(5.0), secs(5.0), secs(1.0)), None);
}
