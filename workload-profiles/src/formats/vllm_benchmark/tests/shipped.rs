//! The profiles that ship.

use std::collections::BTreeMap;

use crds::resolve::ResolvedRun;

use super::*;
use crate::{
    Prepared, prepare, shipped, shipped_names,
    variables::tests::{run, with},
    workload::{Load, RequestSource},
};

fn prepared(harness: Harness, template: &str, model: &str, variables: &[&str]) -> Prepared {
    let run = ResolvedRun { harness, ..run(model) };
    let ready = prepare(&run, template, &with(model, variables).unwrap(), &BTreeMap::new());
    ready.unwrap_or_else(|error| panic!("{template}\n{error}"))
}

/// Returns the load of a shipped profile.
fn load(harness: Harness, name: &str, variables: &[&str]) -> Load {
    let ready = prepared(harness, shipped(harness, name).unwrap(), "m", variables);
    assert_eq!(ready.workload.stages.len(), 1, "{name}");
    ready.workload.stages[0].load.clone()
}

#[test]
fn every_shipped_profile_is_right_with_and_without_a_model() {
    for harness in [Harness::VllmBenchmark, Harness::Inferencemax] {
        for name in shipped_names(harness) {
            let template = shipped(harness, name).unwrap();
            assert_eq!(prepared(harness, template, "m", &[]).workload.model.as_deref(), Some("m"), "{name}");
            assert_eq!(prepared(harness, template, "", &[]).workload.model, None, "{name}");
        }
    }
}

#[test]
fn shipped_profiles_ask_for_the_load_that_they_are_known_for() {
    assert_eq!(load(Harness::VllmBenchmark, "sanity_random", &[]), Load::closed(1, 20));
    assert_eq!(
        load(Harness::VllmBenchmark, "random_concurrent", &["concurrency=8", "requests=80"]),
        Load::closed(8, 80)
    );
    assert_eq!(load(Harness::VllmBenchmark, "fixed_dataset", &[]), Load::closed(4, 2_000));
    assert_eq!(load(Harness::Inferencemax, "random_concurrent", &[]), Load::closed(1, 32));
    for name in [
        "random_100_concurrent_100-1_ISL-OSL",
        "random_1k_concurrent_10-1_ISL-OSL",
        "random_1k_concurrent_20-1_ISL-OSL",
        "random_300_concurrent_100-1_ISL-OSL",
    ] {
        assert_eq!(load(Harness::VllmBenchmark, name, &[]), Load::closed(4, 32), "{name}");
    }
    for (name, rate, count, concurrency) in [("sharegpt", 8.0, 2_000, 512), ("sonnet_concurrent", 20.0, 500, 32)] {
        let Load::Open { rate: found, count: Some(requests), max_concurrency, .. } =
            load(Harness::VllmBenchmark, name, &[])
        else {
            panic!("{name} is open")
        };
        assert_eq!((found.peak().per_second(), requests, max_concurrency), (rate, count, Some(concurrency)), "{name}");
    }
}

#[test]
fn lengths_of_the_shipped_profiles_are_variables() {
    for (harness, name) in [(Harness::VllmBenchmark, "sanity_random"), (Harness::Inferencemax, "random_concurrent")] {
        let ready = prepared(harness, shipped(harness, name).unwrap(), "m", &["isl=300", "osl=40"]);
        let RequestSource::Random { input, output, .. } = ready.workload.requests else { panic!("{name} is random") };
        assert_eq!(((input.min, input.max), (output.min, output.max)), ((300, 300), (40, 40)), "{name}");
    }
}

#[test]
fn an_override_may_add_a_flag() {
    let run = ResolvedRun { harness: Harness::VllmBenchmark, ..run("m") };
    let overrides = BTreeMap::from([("burstiness".into(), "0.5".into()), ("request-rate".into(), "4".into())]);
    let template = shipped(Harness::VllmBenchmark, "sanity_random").unwrap();
    let ready = prepare(&run, template, &with("m", &[]).unwrap(), &overrides).unwrap();
    assert!(matches!(ready.workload.stages[0].load, Load::Open { .. }));
}
