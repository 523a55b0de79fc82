//! The profiles that ship.

use std::collections::BTreeMap;

use crds::resolve::ResolvedRun;

use super::*;
use crate::{
    Prepared, prepare, shipped,
    variables::tests::{run, with},
    workload::{Load, RequestSource},
};

fn prepared(name: &str, model: &str, variables: &[&str]) -> Prepared {
    let run = ResolvedRun { harness: Harness::Aiperf, ..run(model) };
    let template = shipped(Harness::Aiperf, name).unwrap();
    prepare(&run, template, &with(model, variables).unwrap(), &BTreeMap::new())
        .unwrap_or_else(|error| panic!("{name}\n{error}"))
}

#[test]
fn shipped_profiles_ask_for_the_load_that_they_are_known_for() {
    let workload = prepared("synthetic", "m", &[]).workload;
    assert_eq!((workload.api, workload.streaming, workload.sampling.ignore_eos), (Api::Chat, true, true));
    assert_eq!(workload.stages[0].load, Load::closed(16, 500));
    let RequestSource::Random { input, output, .. } = workload.requests else { panic!("it is random") };
    assert_eq!((input.max, output.max), (1_000, 200));
    let stages = prepared("synthetic", "m", &["concurrency=1,2"]).workload.stages;
    assert_eq!(stages.len(), 2);
    let workload = prepared("dataset", "m", &["trace_file=/t.jsonl"]).workload;
    assert_eq!((workload.stages[0].load.count(), workload.stages[0].load.max_concurrency()), (Some(500), Some(16)));
    assert_eq!(workload.requests, RequestSource::TraceBlocks { block_size: 512 });
}

#[test]
fn shipped_profiles_render_before_the_model_is_known() {
    for name in ["dataset", "synthetic"] {
        assert_eq!(prepared(name, "", &[]).workload.model, None, "{name}");
    }
}
