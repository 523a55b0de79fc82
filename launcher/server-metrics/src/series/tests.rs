use std::time::Duration;

use crds::benchmark_run::MetricsKind;
use proptest::prelude::*;

use super::*;

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A store with one address and these scrapes as (time in seconds, text). `None` is a failed scrape. Each scrape takes 10 ms.
fn store(scrapes: &[(f64, Option<&str>)]) -> Store {
    let mut store = Store::default();
    store.add_address(None);
    for (at, text) in scrapes {
        let text = text.map(str::as_bytes);
        store.record(0, Answer { at: secs(*at), took: secs(0.01), text, edge: false }, Keep::Known);
    }
    store
}

fn figures(store: &Store, from: f64, to: f64) -> WindowFigures {
    store.figures(secs(from), secs(to), secs(1.0))
}

fn tokens(value: u64) -> String {
    format!("vllm:generation_tokens_total{{engine=\"0\",model_name=\"m\"}} {value}.0\n")
}

#[test]
fn an_increase_is_from_the_scrape_before_to_the_scrape_after() {
    let texts = [100, 110, 150, 170, 170].map(tokens);
    let scrapes: Vec<_> = texts.iter().enumerate().map(|(at, text)| (at as f64, Some(text.as_str()))).collect();
    let store = store(&scrapes);
    let found = figures(&store, 1.5, 2.5);
    assert_eq!((found.generation_tokens, found.whole), (Some(60.0), true));
    assert_eq!(found.bracket, Some((secs(1.0), secs(3.0))));
    // A scrape that is still in flight when the window begins does not count as before the window.
    assert_eq!(figures(&store, 1.005, 2.0).generation_tokens, Some(50.0));
    // There is no scrape before or after the window.
    let late = figures(&store, -0.0, 9.0);
    assert_eq!((late.generation_tokens, late.whole), (Some(70.0), false));
    assert_eq!(figures(&store, 1.5, 2.5).prompt_tokens, None);
}

#[test]
fn a_counter_that_begins_again_loses_nothing() {
    let texts = [100, 150, 20, 30].map(tokens);
    let scrapes: Vec<_> = texts.iter().enumerate().map(|(at, text)| (at as f64, Some(text.as_str()))).collect();
    let found = figures(&store(&scrapes), 0.5, 2.5);
    // The counter increased by 50 before the restart and by 30 after it.
    assert_eq!((found.generation_tokens, found.resets, found.whole), (Some(80.0), 1, false));
    assert_eq!(figures(&store(&scrapes), 2.5, 2.6).resets, 0);
}

/// Metrics of a process that started at `start`, with `value` tokens.
fn of_process(start: u64, value: u64) -> String {
    format!("process_start_time_seconds {start}\n{}vllm:num_requests_running 1\n", tokens(value))
}

fn at_each_second(texts: &[String]) -> Store {
    let scrapes: Vec<_> = texts.iter().enumerate().map(|(at, text)| (at as f64, Some(text.as_str()))).collect();
    store(&scrapes)
}

#[test]
fn servers_that_answer_in_turn_have_no_increase_and_no_sum() {
    let known = [(100, 5_000), (200, 10), (100, 5_020), (100, 5_030)].map(|(start, value)| of_process(start, value));
    let unknown = [5_000, 10, 5_020, 20, 30].map(tokens);
    for texts in [&known[..], &unknown[..]] {
        let store = at_each_second(texts);
        let found = figures(&store, 0.5, 2.5);
        assert_eq!((found.generation_tokens, found.running, found.whole), (None, None, false));
        assert!(store.addresses()[0].is_several_servers());
        assert_eq!(store.over_time(secs(0.0), secs(3.0), secs(1.0)).unwrap().generation_tokens, None);
    }
}

#[test]
fn a_process_that_is_new_to_us_counts_from_its_first_sample() {
    // Behind a Service, the connection may lead to a different server with much higher counters.
    let found = figures(
        &at_each_second(&[(100, 50), (100, 60), (200, 7_000), (200, 7_005)].map(|(start, it)| of_process(start, it))),
        0.5,
        2.5,
    );
    assert_eq!((found.generation_tokens, found.resets, found.whole), (Some(15.0), 1, false));
    assert_eq!(found.running.unwrap().mean, 1.0);
}

#[test]
fn several_exporters_of_gpus_stay_apart() {
    let text = |start: u64, gpu: &str, energy: u64| {
        format!(
            "process_start_time_seconds {start}\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{UUID=\"{gpu}\"}} {energy}\n\
             DCGM_FI_DEV_POWER_USAGE{{UUID=\"{gpu}\"}} 100\n"
        )
    };
    let texts = [text(2, "a", 1_000), text(9, "b", 500_000), text(2, "a", 3_000), text(9, "b", 501_000)];
    let found = figures(&at_each_second(&texts), 1.5, 2.5);
    assert_eq!((found.gpu_energy, found.gpu_power.map(|it| it.max)), (Some(3.0), Some(200.0)));
}

#[test]
fn energy_is_of_a_gpu_whatever_else_its_labels_say() {
    let text = |labels: &str, energy: u64| format!("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{labels}}} {energy}\n");
    // A pod begins to use the first GPU, so its labels change. The second GPU is new.
    let begin = text("UUID=\"a\",pod=\"\"", 70_000_000);
    let middle = text("UUID=\"a\",pod=\"vllm-0\"", 70_001_000) + &text("UUID=\"b\"", 90_000_000);
    let end = text("UUID=\"a\",pod=\"vllm-0\"", 70_003_000) + &text("UUID=\"b\"", 90_000_500);
    let found = figures(&at_each_second(&[begin, middle, end]), 0.5, 1.5);
    assert_eq!((found.gpu_energy, found.resets), (Some(3.5), 0));
}

#[test]
fn a_window_within_a_gap_has_no_increase() {
    let (before, after) = (tokens(10), tokens(900));
    let gap = store(&[(0.0, Some(&before)), (30.0, Some(&after))]);
    for (from, to) in [(1.0, 10.0), (10.0, 20.0), (20.0, 29.0)] {
        let found = figures(&gap, from, to);
        assert_eq!((found.generation_tokens, found.is_gap, found.whole), (None, true, false), "{from}");
    }
    let found = figures(&gap, 1.0, 29.0);
    assert_eq!((found.generation_tokens, found.is_gap, found.whole), (Some(890.0), false, true));
    // A slow server is scraped less often.
    let mut slow = Store::default();
    slow.add_address(None);
    for at in [0.0, 4.0, 8.0] {
        let text = tokens(at as u64);
        let answer = Answer { at: secs(at), took: secs(3.0), text: Some(text.as_bytes()), edge: false };
        slow.record(0, answer, Keep::Known);
    }
    assert!(figures(&slow, 6.9, 7.9).whole);
}

#[test]
fn a_gauge_is_no_restart_in_spite_of_its_name() {
    let texts = [9, 3, 7, 1].map(|it| format!("inference_pool_ready_pods 1\ninference_pool_queue_total {it}\n"));
    let store = at_each_second(&texts);
    assert_eq!((figures(&store, 0.5, 2.5).resets, figures(&store, 0.5, 2.5).whole), (0, true));
    assert!(!store.addresses()[0].is_several_servers());
}

#[test]
fn two_names_of_one_figure_count_once() {
    let both = |names: &[&str], value: u64| -> String {
        let line = |name: &&str| format!("vllm:{name}_queries_total {value}\nvllm:{name}_hits_total {}\n", value / 2);
        names.iter().map(line).collect()
    };
    let (old, new) = ("gpu_prefix_cache", "prefix_cache");
    let mut store = store(&[(0.0, Some(&both(&[old, new], 0))), (2.0, Some(&both(&[old, new], 100)))]);
    assert_eq!(figures(&store, 1.0, 1.5).prefix_queries, Some(100.0));
    // The second server has only metrics with the old names.
    let second = store.add_address(None);
    for (at, value) in [(0.0, 0), (2.0, 30)] {
        let text = both(&[old], value);
        let answer = Answer { at: secs(at), took: secs(0.01), text: Some(text.as_bytes()), edge: false };
        store.record(second, answer, Keep::Known);
    }
    let found = figures(&store, 1.0, 1.5);
    assert_eq!((found.prefix_queries, found.prefix_hits), (Some(130.0), Some(65.0)));
}

/// Adds an address with these scrapes. See [`store`] for their form.
fn add(store: &mut Store, scrapes: &[(f64, Option<String>)]) {
    let address = store.add_address(None);
    for (at, text) in scrapes {
        let text = text.as_ref().map(String::as_bytes);
        store.record(address, Answer { at: secs(*at), took: secs(0.01), text, edge: false }, Keep::Known);
    }
}

#[test]
fn a_silent_server_does_not_make_a_sum_smaller() {
    let running = |value: u32| format!("vllm:num_requests_running {value}\n");
    let mut store = Store::default();
    add(&mut store, &(0..20).map(|at| (f64::from(at), Some(running(8)))).collect::<Vec<_>>());
    // The server responds until 3 s and from 16 s on. Its value at 3 s is valid until 8 s.
    let of = |at: u32| Some(running(8)).filter(|_| at <= 3 || at >= 16);
    add(&mut store, &(0..20).map(|at| (f64::from(at), of(at))).collect::<Vec<_>>());
    let found = figures(&store, 0.0, 20.0);
    assert_eq!(found.running.unwrap(), Levels { mean: 16.0, min: 16.0, max: 16.0 });
    assert!((found.answered_share.unwrap() - 12.0 / 20.0).abs() < 1e-12, "{found:?}");
    let silent = figures(&store, 9.0, 15.0);
    assert_eq!((silent.running, silent.answered_share), (None, Some(0.0)));
    // The sum stays known if a server appears later, or disappears permanently.
    add(&mut store, &[(17.0, Some(running(1))), (18.0, Some(running(1)))]);
    assert_eq!(figures(&store, 16.0, 20.0).running.unwrap(), Levels { mean: 16.75, min: 16.0, max: 17.0 });
}

#[test]
fn addresses_of_one_server_are_found_by_its_process_and_counters() {
    let scrapes = |start: u64, values: &[(f64, u64)]| -> Vec<_> {
        values.iter().map(|(at, value)| (*at, Some(of_process(start, *value)))).collect()
    };
    let mut store = Store::default();
    add(&mut store, &scrapes(7, &[(0.0, 10), (1.0, 20), (2.0, 30)]));
    // An address of the same server, scraped between the scrapes of the first address.
    add(&mut store, &scrapes(7, &[(0.5, 15), (1.5, 20)]));
    // Two that are not the same server: a different process, and a server that started at the same time.
    add(&mut store, &scrapes(8, &[(0.5, 15), (1.5, 20)]));
    add(&mut store, &scrapes(7, &[(0.5, 5), (1.5, 500)]));
    assert_eq!(store.twins(), [(0, 1)]);
    assert_eq!(figures(&store, 0.6, 0.9).generation_tokens, Some(10.0 + 5.0 + 5.0 + 495.0));
    store.forget(1);
    assert_eq!(figures(&store, 0.6, 0.9).generation_tokens, Some(10.0 + 5.0 + 495.0));
    assert!(figures(&store, 0.6, 0.9).whole);
}

#[test]
fn a_counter_that_is_new_begins_at_zero() {
    let found = figures(&store(&[(0.0, Some("vllm:num_requests_running 0\n")), (2.0, Some(&tokens(40)))]), 1.0, 1.5);
    assert_eq!(found.generation_tokens, Some(40.0));
    // Without a scrape before the window, the increase counts from the first scrape within it.
    assert_eq!(
        figures(&store(&[(0.5, Some(&tokens(40))), (2.0, Some(&tokens(50)))]), 0.1, 1.5).generation_tokens,
        Some(10.0)
    );
}

#[test]
fn a_scrape_that_failed_is_a_gap() {
    let store = store(&[(0.0, Some(&tokens(10))), (1.0, None), (2.0, Some("<html>\n")), (3.0, Some(&tokens(40)))]);
    let ok: Vec<bool> = store.addresses()[0].scrapes().iter().map(|it| it.ok).collect();
    assert_eq!(ok, [true, false, false, true]);
    let found = figures(&store, 1.0, 2.0);
    assert_eq!((found.generation_tokens, found.whole), (Some(30.0), true));
    assert_eq!(figures(&Store::default(), 0.0, 1.0), WindowFigures::default());
}

#[test]
fn figures_of_engines_and_servers_are_added_or_averaged() {
    let text = |running: u32, usage: f64| {
        format!(
            "vllm:num_requests_running{{engine=\"0\"}} {running}\nvllm:num_requests_running{{engine=\"1\"}} 1\n\
             vllm:kv_cache_usage_perc{{engine=\"0\"}} {usage}\n"
        )
    };
    let mut store = store(&[(0.0, Some(&text(2, 0.5)))]);
    let second = store.add_address(None);
    let text = text(4, 0.1);
    store.record(
        second,
        Answer { at: secs(0.0), took: secs(0.0), text: Some(text.as_bytes()), edge: false },
        Keep::Known,
    );
    let found = figures(&store, 0.0, 2.0);
    assert_eq!(found.running.unwrap(), Levels { mean: 8.0, min: 8.0, max: 8.0 });
    let usage = found.kv_cache_usage.unwrap();
    assert!((usage.mean - 0.3).abs() < 1e-12 && (usage.min, usage.max) == (0.1, 0.5), "{usage:?}");
}

#[test]
fn histograms_have_quantiles_of_the_window_alone() {
    let text = |below: u32, all: u32, sum: f64| {
        let name = "vllm:time_to_first_token_seconds";
        format!(
            "{name}_bucket{{le=\"0.01\"}} 0\n{name}_bucket{{le=\"0.1\"}} {below}\n{name}_bucket{{le=\"1.0\"}} {all}\n{name}_bucket{{le=\"+Inf\"}} {all}\n\
             {name}_sum {sum}\n{name}_count {all}\n"
        )
    };
    // 1,000 slow requests before the window, and 10 fast ones within it.
    let found = figures(&store(&[(0.0, Some(&text(0, 1_000, 900.0))), (9.0, Some(&text(10, 1_010, 900.5)))]), 1.0, 8.0);
    let ttft = found.ttft.unwrap();
    assert_eq!((ttft.count, ttft.mean), (10.0, 0.05));
    let is = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
    assert!(is(ttft.p50, 0.055) && is(ttft.p90, 0.091), "{ttft:?}");
    assert_eq!(found.itl, None);
}

#[test]
fn an_old_name_counts_only_where_the_new_one_is_missing() {
    let histogram = |name: &str, count: u32| {
        format!(
            "vllm:{name}_bucket{{le=\"1\"}} {count}\nvllm:{name}_bucket{{le=\"+Inf\"}} {count}\nvllm:{name}_count {count}\nvllm:{name}_sum {count}\n"
        )
    };
    let both = histogram("inter_token_latency_seconds", 7) + &histogram("time_per_output_token_seconds", 7);
    let zero = "vllm:num_requests_running 0\n";
    assert_eq!(figures(&store(&[(0.0, Some(zero)), (2.0, Some(&both))]), 1.0, 1.5).itl.unwrap().count, 7.0);
    let old = histogram("time_per_output_token_seconds", 5);
    assert_eq!(figures(&store(&[(0.0, Some(zero)), (2.0, Some(&old))]), 1.0, 1.5).itl.unwrap().count, 5.0);
}

#[test]
fn prefix_hits_are_a_share_of_what_was_looked_up() {
    let vllm = "vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 25\n";
    let sglang = "sglang:prompt_tokens_total 50\nsglang:cached_tokens_total 10\n";
    for (text, share) in [(vllm, 0.25), (sglang, 0.2)] {
        let zero = "vllm:num_requests_running 0\nsglang:num_running_reqs 0\n";
        let found = figures(&store(&[(0.0, Some(zero)), (2.0, Some(text))]), 1.0, 1.5);
        assert_eq!(found.prefix_hit_share(), Some(share));
    }
}

#[test]
fn gpus_are_told_by_their_exporter() {
    let text = "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",modelName=\"H100\"} 90\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\",modelName=\"H100\"} 50\n\
                DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 600.5\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 400\n";
    let store = store(&[(0.0, Some(text))]);
    let found = figures(&store, 0.0, 1.0);
    assert!((found.gpu_utilization.unwrap().mean - 0.7).abs() < 1e-12);
    assert_eq!(found.gpu_power.unwrap().max, 1_000.5);
    assert_eq!(store.addresses()[0].engine, Some(MetricsKind::Dcgm));
}

#[test]
fn series_have_their_labels_in_order_and_others_are_not_kept() {
    let store = store(&[(
        0.0,
        Some("vllm:num_requests_running{b=\"2\",a=\"x\\\"y\"} 1\npython_info 1\nvllm:kv_cache_usage_perc{x} 1\n"),
    )]);
    assert_eq!(store.series().len(), 1);
    assert_eq!(&*store.series()[0].labels, "a=\"x\\\"y\",b=\"2\"");
    let address = &store.addresses()[0];
    assert_eq!((address.engine, address.series(), address.left_out), (Some(MetricsKind::Vllm), 1, 1));
}

#[test]
fn of_an_unknown_server_everything_is_kept_within_the_limits() {
    let text: String = (0..10).map(|it| format!("metric_{it} 1\nmetric_{it}_created 5\n")).collect();
    let mut store = Store::new(Limits { series_of_one: 6, ..Limits::default() });
    let address = store.add_address(None);
    for at in [0.0, 1.0] {
        store.record(
            address,
            Answer { at: secs(at), took: secs(0.0), text: Some(text.as_bytes()), edge: false },
            Keep::Known,
        );
    }
    let address = &store.addresses()[0];
    assert_eq!((address.engine, address.series(), address.left_out), (Some(MetricsKind::Prometheus), 6, 4));
}

#[test]
fn long_labels_use_up_the_room_for_names() {
    let label = "x".repeat(1_000);
    let text: String = (0..10).map(|it| format!("vllm:num_requests_running{{a=\"{it}{label}\"}} 1\n")).collect();
    let mut store = Store::new(Limits { text: 5_000, ..Limits::default() });
    let address = store.add_address(None);
    let answer = Answer { at: secs(0.0), took: secs(0.0), text: Some(text.as_bytes()), edge: false };
    assert!(store.record(address, answer, Keep::Known));
    assert_eq!((store.series().len(), store.addresses()[0].left_out), (4, 6));
}

#[test]
fn full_memory_forgets_every_second_scrape_and_no_increase() {
    let mut store = Store::new(Limits { samples: 100, ..Limits::default() });
    let address = store.add_address(None);
    for at in 0..1_000_u32 {
        // The counter restarts at 500.
        let text = tokens(u64::from(if at < 500 { at } else { at - 500 }));
        let edge = at == 333;
        store.record(
            address,
            Answer { at: secs(f64::from(at)), took: secs(0.0), text: Some(text.as_bytes()), edge },
            Keep::Known,
        );
    }
    let scrapes = store.addresses()[0].scrapes();
    assert!(scrapes.len() + store.series()[0].len() <= 100);
    assert!(store.halvings() > 4 && scrapes.iter().any(|it| it.number == 333), "{}", store.halvings());
    assert_eq!(scrapes.last().unwrap().number, 999);
    let found = store.figures(secs(0.0), secs(999.0), secs(1.0));
    assert_eq!((found.generation_tokens, found.resets), (Some(499.0 + 499.0), 1));
}

/// All numbers that the figures contain.
fn numbers(of: &WindowFigures) -> Vec<f64> {
    let counts = [
        of.answered_share,
        of.preemptions,
        of.prompt_tokens,
        of.generation_tokens,
        of.succeeded,
        of.prefix_queries,
        of.prefix_hits,
        of.prefix_hit_share(),
        of.gpu_energy,
    ];
    let levels = [
        of.running,
        of.waiting,
        of.kv_cache_usage,
        of.pool_ready_pods,
        of.pool_queue,
        of.pool_kv_cache_usage,
        of.gpu_utilization,
        of.gpu_power,
        of.gpu_memory,
    ];
    let latencies = [of.ttft, of.itl, of.e2e, of.queue, of.prefill, of.decode];
    let of_levels = |it: Levels| [it.mean, it.min, it.max];
    let of_latency = |it: Latency| [Some(it.count), Some(it.mean), it.p50, it.p90, it.p99];
    counts
        .into_iter()
        .chain(latencies.into_iter().flatten().flat_map(of_latency))
        .flatten()
        .chain(levels.into_iter().flatten().flat_map(of_levels))
        .collect()
}

/// A line with any metric, which a figure may need or not.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "vllm:num_requests_running",
        "vllm:kv_cache_usage_perc",
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_hits_total",
        "vllm:gpu_prefix_cache_hits_total",
        "vllm:time_to_first_token_seconds_bucket{le=\"1\"}",
        "vllm:time_to_first_token_seconds_bucket{le=\"1e308\"}",
        "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"}",
        "vllm:time_to_first_token_seconds_count",
        "vllm:time_to_first_token_seconds_sum",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{UUID=\"a\"}",
        "DCGM_FI_DEV_GPU_UTIL",
        "process_start_time_seconds",
    ]);
    (name, "(-?[0-9]{1,4}|NaN|[+-]Inf|-?1e308|1e-300|x|)").prop_map(|(name, value)| format!("{name} {value}\n"))
}

proptest! {
    #[test]
    fn any_texts_give_finite_figures(texts in prop::collection::vec(prop::collection::vec(line(), 0..12), 0..6)) {
        let texts: Vec<String> = texts.iter().map(|it| it.concat()).collect();
        let found = figures(&at_each_second(&texts), 0.5, 3.5);
        prop_assert!(numbers(&found).iter().all(|it| it.is_finite()), "{found:?}");
        prop_assert!(found.resets <= 6 && found.answered_share.is_none_or(|it| (0.0..=1.0).contains(&it)), "{found:?}");
        let counts = [found.prompt_tokens, found.generation_tokens, found.prefix_hits, found.gpu_energy];
        prop_assert!(counts.into_iter().flatten().all(|it| it >= 0.0), "{found:?}");
    }

    #[test]
    fn an_increase_is_the_sum_of_its_steps(steps in prop::collection::vec(0_u64..1_000, 1..40), again in 0_usize..40) {
        let mut value = 0;
        let mut texts = vec![tokens(0)];
        for (place, step) in steps.iter().enumerate() {
            // A restart can be detected only if the new value is smaller than the old one.
            value = if place == again && *step < value { *step } else { value + step };
            texts.push(tokens(value));
        }
        let last = texts.len() as f64;
        let found = figures(&at_each_second(&texts), 0.5, last - 1.5);
        prop_assert_eq!(found.generation_tokens, Some(steps.iter().sum::<u64>() as f64));
    }
}
