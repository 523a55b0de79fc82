use proptest::prelude::*;

use super::*;

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A store of one address with these scrapes; `None`: a scrape that failed. Each takes 10 ms.
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
    // A scrape that had not ended when the window began does not count as one before it.
    assert_eq!(figures(&store, 1.005, 2.0).generation_tokens, Some(50.0));
    // No scrape before or after the window.
    let late = figures(&store, -0.0, 9.0);
    assert_eq!((late.generation_tokens, late.whole), (Some(70.0), false));
    assert_eq!(figures(&store, 1.5, 2.5).prompt_tokens, None);
}

#[test]
fn a_counter_that_begins_again_loses_nothing() {
    let texts = [100, 150, 20, 30, 5].map(tokens);
    let scrapes: Vec<_> = texts.iter().enumerate().map(|(at, text)| (at as f64, Some(text.as_str()))).collect();
    let found = figures(&store(&scrapes), 0.5, 3.5);
    // 50 before the first restart, 30 after it, 5 after the second.
    assert_eq!((found.generation_tokens, found.resets, found.whole), (Some(85.0), 2, false));
    assert_eq!(figures(&store(&scrapes), 2.5, 2.6).resets, 0);
}

#[test]
fn a_counter_that_is_new_begins_at_zero() {
    let found = figures(&store(&[(0.0, Some("vllm:num_requests_running 0\n")), (2.0, Some(&tokens(40)))]), 1.0, 1.5);
    assert_eq!(found.generation_tokens, Some(40.0));
    // Without a scrape before the window, the increase counts from the first scrape in it.
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
    // 1,000 slow requests before the window, 10 fast ones within.
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
    assert_eq!(store.addresses()[0].engine, Some(Engine::Dcgm));
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
    assert_eq!((address.engine, address.series(), address.left_out), (Some(Engine::Vllm), 1, 1));
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
    assert_eq!((address.engine, address.series(), address.left_out), (Some(Engine::Prometheus), 6, 4));
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
        // It begins again at 500.
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

proptest! {
    #[test]
    fn any_texts_give_finite_figures(texts in proptest::collection::vec("(vllm:(num_requests_running|generation_tokens_total|time_to_first_token_seconds_(bucket\\{le=\"(1|\\+Inf)\"\\}|count|sum))? (-?[0-9]{1,4}|NaN|\\+Inf|x)?\n){0,6}", 0..6)) {
        let scrapes: Vec<_> = texts.iter().enumerate().map(|(at, text)| (at as f64, Some(text.as_str()))).collect();
        let found = figures(&store(&scrapes), 0.5, 3.5);
        prop_assert!(found.resets <= 6);
        if let Some(increase) = found.generation_tokens {
            prop_assert!(increase >= 0.0);
        }
    }

    #[test]
    fn an_increase_is_the_sum_of_its_steps(steps in proptest::collection::vec((0_u64..1_000, any::<bool>()), 1..40)) {
        let (mut value, mut all) = (0, 0);
        let mut texts = vec![tokens(0)];
        for (step, again) in steps {
            // A restart shows where the value is smaller than before.
            value = if again && step < value { step } else { value + step };
            all += step;
            texts.push(tokens(value));
        }
        let last = texts.len() as f64;
        let scrapes: Vec<_> = texts.iter().enumerate().map(|(at, text)| (at as f64, Some(text.as_str()))).collect();
        prop_assert_eq!(figures(&store(&scrapes), 0.5, last - 1.5).generation_tokens, Some(all as f64));
    }
}
