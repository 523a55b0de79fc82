use crds::{benchmark_run::Harness, resolve::ResolvedRun};
use serde_json::json;

use crate::{parse, variables::tests::run};

const PROFILE: &str = "{load: {type: constant, stages: [{rate: 10, duration: 5}, {rate: 20, duration: 5}]}, \
    api: {type: completion, streaming: STREAMING}, data: {type: random, input_distribution: {mean: 10, max: 20}, \
    output_distribution: {mean: 12, max: 20}}}";

/// Returns the problems with objectives on a profile with two stages. Default values for name and limit are added to each objective.
fn problems(streaming: bool, objectives: serde_json::Value) -> String {
    let mut slo = json!({"enforcement": "Fail", "objectives": objectives});
    for objective in slo["objectives"].as_array_mut().unwrap() {
        objective["name"] = "o".into();
        objective["bound"] = json!({"max": "1s"});
    }
    let run = ResolvedRun { slo: Some(serde_json::from_value(slo).unwrap()), ..run("m") };
    let text = PROFILE.replace("STREAMING", if streaming { "true" } else { "false" });
    parse(&run, &text).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn an_objective_on_a_stage_that_the_profile_has_is_taken() {
    let ttft = |stage: serde_json::Value| json!({"metric": "ttft", "stat": "p99", "stage": stage});
    assert_eq!(
        problems(true, json!([ttft("r10".into()), ttft("r20".into()), ttft("*".into()), ttft(json!(null))])),
        ""
    );
}

#[test]
fn an_objective_on_an_unknown_stage_is_told_the_known_ones() {
    let objectives = json!([
        {"metric": "latency", "stat": "p50"},
        {"metric": "ttft", "stat": "p99", "stage": "r100"},
        {"metric": "latency", "stat": "p99", "stage": "all\u{1b}[31m"},
    ]);
    assert_eq!(
        problems(true, objectives),
        "spec.slo.objectives[1].stage: is \"r100\", and the profile has no stage of this name; did you mean r10?\n\
         spec.slo.objectives[2].stage: is \"all\\u{1b}[31m\", and the profile has no stage of this name; known are r10 and r20"
    );
}

#[test]
fn a_mistake_of_the_profile_is_told_alone() {
    let run = ResolvedRun {
        slo: Some(
            serde_json::from_value(json!({
                "enforcement": "Fail",
                "objectives": [{"name": "o", "metric": "ttft", "stat": "p50", "bound": {"max": "1s"}}],
            }))
            .unwrap(),
        ),
        ..run("m")
    };
    let error = parse(&run, &PROFILE.replace("STREAMING", "nonsense")).unwrap_err().to_string();
    assert_eq!(error, "api.streaming: is \"nonsense\"; write true or false");
}

#[test]
fn a_figure_of_streams_needs_streams_and_goodput_needs_goals() {
    for metric in ["ttft", "tpot", "itl"] {
        let objectives = json!([{"metric": metric, "stat": "mean"}]);
        assert_eq!(problems(true, objectives.clone()), "");
        let message = problems(false, objectives);
        assert!(
            message.starts_with("spec.slo.objectives[0].metric: is ") && message.contains("streaming off"),
            "{message}"
        );
    }
    for metric in ["goodputShare", "goodputRequestsPerSecond"] {
        let message = problems(true, json!([{"metric": metric}]));
        assert!(message.contains("[0].metric: is ") && message.contains("set its goodput"), "{message}");
    }
    for metric in ["latency", "ntpot", "sendLag"] {
        assert_eq!(problems(false, json!([{"metric": metric, "stat": "max"}])), "");
    }
}

#[test]
fn an_objective_on_a_warm_up_is_refused() {
    let profile = "{num-prompts: 10, num-warmups: 5, max-concurrency: 2, dataset-name: random, \
                   random-input-len: 10, random-output-len: 10}";
    let told = |stage: &str| {
        let objective =
            json!({"name": "o", "metric": "latency", "stat": "p99", "stage": stage, "bound": {"max": "1s"}});
        let slo = json!({"enforcement": "Fail", "objectives": [objective]});
        let slo = Some(serde_json::from_value(slo).unwrap());
        let run = ResolvedRun { slo, harness: Harness::VllmBenchmark, ..run("m") };
        parse(&run, profile).map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(told("*"), "");
    let refused = told("warm-up");
    assert!(
        refused.contains("spec.slo.objectives[0].stage: is \"warm-up\", which is a warm-up as a whole"),
        "{refused}"
    );
}
