//! The shipped profiles, and profiles with a run's settings.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crds::{benchmark_run::Api, resolve::ResolvedRun};

use super::*;
use crate::{
    Prepared, prepare, shipped, shipped_names,
    variables::tests::{run, with},
    workload::{LengthDistribution, Load, RequestSource},
};

fn guidellm(model: &str) -> ResolvedRun {
    ResolvedRun { harness: Harness::Guidellm, ..run(model) }
}

fn prepared(template: &str, model: &str, variables: &[&str], overrides: &[(&str, &str)]) -> Result<Prepared, String> {
    let overrides = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    prepare(&guidellm(model), template, &with(model, variables).unwrap(), &overrides).map_err(|it| it.to_string())
}

/// Returns a shipped profile, rendered with variables.
fn profile(name: &str, variables: &[&str]) -> Workload {
    prepared(shipped(Harness::Guidellm, name).unwrap(), "m", variables, &[]).unwrap().workload
}

fn names_of_stages(workload: &Workload) -> Vec<&str> {
    workload.stages.iter().map(|it| it.name.as_str()).collect()
}

#[test]
fn every_shipped_profile_is_right_with_and_without_a_model() {
    for name in shipped_names(Harness::Guidellm) {
        let template = shipped(Harness::Guidellm, name).unwrap();
        let ready = prepared(template, "m", &[], &[]).unwrap();
        let notices: Vec<String> = ready.notices.iter().map(ToString::to_string).collect();
        assert!(notices.len() == 1 && notices[0].starts_with(TOKENIZER), "{name}: {notices:?}");
        assert_eq!(crate::parse(&guidellm("m"), &ready.text).unwrap().0, ready.workload, "{name}");
        assert_eq!(ready.workload.model.as_deref(), Some("m"), "{name}");
        assert_eq!(prepared(template, "", &[], &[]).unwrap().workload.model, None, "{name}");
        insta::assert_yaml_snapshot!(format!("guidellm_{name}"), ready.workload);
    }
}

#[test]
fn shipped_profiles_ask_for_the_load_that_they_are_known_for() {
    for name in ["concurrent-1k-1k", "concurrent-heavy-heterogeneous"] {
        assert_eq!(names_of_stages(&profile(name, &[])), ["c300", "c200", "c100", "c50", "c1"]);
    }
    assert_eq!(names_of_stages(&profile("summarization_synthetic", &[])), ["r1", "r2", "r4", "r8"]);
    assert_eq!(names_of_stages(&profile("summarization_synthetic", &["rates=[3, 9]"])), ["r3", "r9"]);
    assert_eq!(names_of_stages(&profile("random_concurrent", &[])), ["c1", "c2", "c4", "c8"]);
    let shared = profile("shared_prefix_synthetic", &[]);
    assert_eq!(names_of_stages(&shared), ["r2", "r5", "r8", "r10", "r12", "r15", "r20"]);
    assert_eq!(shared.stages.iter().map(|it| it.load.mean_count()).sum::<f64>(), 3_600.0);
    assert_eq!(profile("sanity_random", &[]).stages[0].load.mean_count(), 30.0);
    let talk = profile("multi-turn", &[]);
    // 320 turns are 64 conversations of 5 turns.
    let loads: Vec<Load> = talk.stages.iter().map(|it| it.load.clone()).collect();
    assert_eq!(loads, [32, 64, 128, 256, 512].map(|it| Load::closed(it, u64::from(it) * 2)));
    assert_eq!(profile("sanity_concurrent", &["api=/v1/chat/completions"]).api, Api::Chat);
    let RequestSource::Random { input, .. } = profile("concurrent-1k-1k", &["isl=7"]).requests else {
        panic!("it is random")
    };
    assert_eq!(input, LengthDistribution::fixed(7));
}

#[test]
fn overrides_reach_into_a_scenario() {
    let template = shipped(Harness::Guidellm, "sanity_concurrent").unwrap();
    let ready = prepared(template, "m", &[], &[("spec.profile.streams", "9"), ("seconds", "5")]).unwrap();
    assert_eq!(names_of_stages(&ready.workload), ["c9"]);
    assert!(ready.text.contains("seconds: 5"), "{}", ready.text);
    let error = prepared(template, "m", &[], &[("spec.profile.streams", "many")]).unwrap_err();
    assert_eq!(
        error,
        "spec.profile.streams: is \"many\"; write a whole number from 1 to 10240 (set by profile.overrides.spec.profile.streams)"
    );
}

#[test]
fn a_command_line_is_a_profile_of_a_run() {
    let line = "# ours\nguidellm run --backend target={{ endpoint }},model={{ model }} --profile kind=constant,rate={{ rate | default(value=2) }} \\\n  \
                --data kind=synthetic_text,prompt_tokens=5,output_tokens=5 --constraint kind=max_duration,seconds=9";
    let ready = prepared(line, "m", &["rate=4"], &[]).unwrap();
    assert_eq!(names_of_stages(&ready.workload), ["r4"]);
    assert_eq!(crate::parse(&guidellm("m"), &ready.text).unwrap().0, ready.workload);
    assert!(prepared(line, "m", &[], &[("streams", "4")]).is_err());
}

/// Scenarios of other projects, if the developer has them: in the folder that PEER_DATA names, or in `shared/peer-data` next to the repository.
#[test]
fn the_scenarios_of_the_other_projects_are_accepted() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer-data");
    let folder = std::env::var_os("PEER_DATA").map_or(beside, PathBuf::from);
    for (file, stages) in [
        ("llm-d-benchmark/workload/profiles/guidellm/concurrent-1k-1k.yaml.in", 5),
        ("llm-d-benchmark/workload/profiles/guidellm/multi-turn.yaml.in", 5),
        ("llm-d-benchmark/workload/profiles/guidellm/sanity_concurrent.yaml.in", 1),
        ("guidellm/src/guidellm/benchmark/scenarios/chat.json", 10),
        ("llm-d-benchmark/tests/fixtures/guidellm_report_v2.json", 2),
    ] {
        let Ok(text) = fs::read_to_string(folder.join(file)) else {
            println!("skipped: no {file} beside the project");
            continue;
        };
        let ready = prepared(&text, "m", &[], &[]).unwrap_or_else(|error| panic!("{file}\n{error}"));
        assert_eq!(ready.workload.stages.len(), stages, "{file}");
    }
}
