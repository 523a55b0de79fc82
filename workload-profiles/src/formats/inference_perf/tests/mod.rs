mod circuit_breakers;
mod conversations;
mod data_sets;
mod images;
mod loads;
mod malformed;
mod recorded;
mod robustness;

use std::time::Duration;

use crds::{
    benchmark_run::{Api, Harness},
    units::Span,
};

use super::*;
use crate::{
    parse_text,
    problem::ProfileError,
    workload::{
        Arrivals, LengthDistribution, Load, PromptText, Rate, RequestSource, Shape, Trace, TraceTime, Workload,
    },
    yaml,
};

/// A valid profile. Required sections that are not in `sections` have default values.
fn profile(sections: &str) -> String {
    let mut text = sections.to_owned();
    for (name, default) in [
        ("load", "load: {stages: [{rate: 1, duration: 30}]}"),
        ("data", "data: {type: mock}"),
        ("api", "api: {streaming: true}"),
    ] {
        if !sections.lines().any(|it| it.starts_with(name)) {
            text.push_str(&format!("\n{default}"));
        }
    }
    text
}

fn read(sections: &str) -> Result<(Workload, Vec<String>), ProfileError> {
    let (workload, notices) = parse_text(Harness::InferencePerf, Target::default(), &profile(sections))?;
    Ok((workload, notices.iter().map(ToString::to_string).collect()))
}

fn workload(sections: &str) -> Workload {
    read(sections).unwrap_or_else(|error| panic!("{sections}\n{error}")).0
}

fn check_error(sections: &str, expected: &str) {
    assert_eq!(read(sections).map(|it| it.1).unwrap_err().to_string(), expected, "{sections}");
}

fn check_notice(sections: &str, expected: &str) {
    assert_eq!(read(sections).unwrap().1, [expected], "{sections}");
}

/// Checks that the notices contain `expected`.
fn check_one_notice(sections: &str, expected: &str) {
    let notices = read(sections).unwrap().1;
    assert!(notices.iter().any(|it| it == expected), "{sections}\n{notices:#?}\nlacks {expected}");
}

fn check_fine(sections: &str) {
    assert_eq!(read(sections).unwrap().1, [""; 0], "{sections}");
}

fn input(distribution: &str) -> String {
    format!("data: {{type: random, output_distribution: {{}}, input_distribution: {{{distribution}}}}}")
}

fn input_lengths(distribution: &str) -> LengthDistribution {
    match workload(&input(distribution)).requests {
        RequestSource::Random { input, .. } => input,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_constant_load_is_a_poisson_process_with_a_fixed_count() {
    let loads = |kind: &str| workload(&format!("load: {{type: {kind}, stages: [{{rate: 2.5, duration: 3}}]}}")).stages;
    let open = |arrivals| Load::Open {
        arrivals,
        rate: Rate::Steady(2.5.try_into().unwrap()),
        duration: Some(Span(Duration::from_secs(3))),
        count: Some(7),
        max_concurrency: None,
    };
    assert_eq!(loads("constant")[0].load, open(Arrivals::ConditionedPoisson));
    assert_eq!(loads("poisson")[0].load, open(Arrivals::PoissonPerSecond));
}

#[test]
fn a_chat_of_random_prompts_has_a_notice() {
    let told = |api: &str| {
        let (_, notices) = read(&format!("{}\napi: {{type: {api}, streaming: true}}", input("mean: 512"))).unwrap();
        notices.iter().any(|it| it.starts_with("data.type: is random, which inference-perf sends as completions only"))
    };
    assert!(told("chat") && !told("completion"));
}

#[test]
fn a_concurrent_load_is_a_closed_loop() {
    let stages = workload("load: {type: concurrent, stages: [{num_requests: 64, concurrency_level: 8}]}").stages;
    let load = Load::closed(8, 64);
    assert_eq!(stages[0].load, load);
    assert_eq!(stages[0].name, "c8");
}

#[test]
fn stages_pause_but_for_the_last() {
    let pauses = |more: &str| -> Vec<String> {
        let text = format!("load: {{{more}stages: [{{rate: 1, duration: 1}}, {{rate: 1, duration: 1}}]}}");
        workload(&text).stages.iter().map(|it| it.pause_after.to_string()).collect()
    };
    assert_eq!(pauses(""), ["1s", "0s"]);
    assert_eq!(pauses("interval: 30.0, "), ["30s", "0s"]);
}

#[test]
fn what_is_left_out_is_what_the_original_takes() {
    let workload = workload("api: {}");
    assert_eq!((workload.api, workload.streaming, workload.sampling.ignore_eos), (Api::Completions, false, true));
    assert_eq!(workload.timeouts.request, Some(Span(Duration::from_secs(300))));
    let lengths = input_lengths("");
    assert_eq!(
        (lengths.shape, lengths.min, lengths.max, lengths.mean, lengths.std_dev),
        (Shape::Normal, 10, 1024, 512.0, 200.0)
    );
    let text = "data: {type: shared_prefix, shared_prefix: {}}";
    let RequestSource::SharedPrefix { groups, prompts_per_group, system_prompt_len, .. } =
        self::workload(text).requests
    else {
        panic!("it is a shared prefix")
    };
    assert_eq!((groups, prompts_per_group, system_prompt_len), (10, 10, LengthDistribution::fixed(100)));
}

#[test]
fn lengths_have_the_shape_that_they_ask_for() {
    assert_eq!(input_lengths("type: uniform, min: 5, max: 9").shape, Shape::Uniform);
    assert_eq!(input_lengths("type: fixed, mean: 50").std_dev, 0.0);
    assert_eq!(input_lengths("type: lognormal, mean: 5000, max: 9000, std_dev: 7000").mean, 5000.0);
    assert_eq!(input_lengths("variance: 16, std_dev: 0").std_dev, 4.0);
    // inference-perf raises `total_count` to the size of the largest stage, and never uses a length twice, so the value has no effect.
    assert_eq!(input_lengths("total_count: 100").total_count, None);
    assert_eq!(input_lengths("type: fixed, mean: 5000"), LengthDistribution::fixed(5000));
    assert_eq!(input_lengths("type: fixed, mean: 10.7"), LengthDistribution::fixed(10));
    assert_eq!(input_lengths("type: skew_normal, skew: 4").shape, Shape::SkewNormal { skew: 4.0 });
    assert_eq!(input_lengths("type: poisson").shape, Shape::Poisson);
}

#[test]
fn every_known_key_without_a_meaning_is_accepted() {
    check_fine(
        "load: {stages: [{rate: 1, duration: 30}], num_workers: 1, worker_max_tcp_connections: 10, circuit_breakers: []}\n\
         server: {type: sglang, model_name: '', base_url: 'http://x', ignore_eos: false}\n\
         storage: {local_storage: {path: reports, report_file_prefix: a}}\n\
         metrics: {type: default}\ntokenizer:\ncircuit_breakers: []\n\
         report: {request_lifecycle: {summary: true, per_request: yes}, prometheus: {per_stage: false}, session_lifecycle: {}}",
    );
}

#[test]
fn a_key_whose_meaning_is_lost_is_noticed() {
    check_notice(
        "api: {}",
        "api.streaming: is off, so that TTFT, TPOT and ITL cannot be measured; set it to true for them",
    );
    check_notice(
        "load: {stages: [{rate: 1, duration: 30}], worker_max_concurrency: 10}",
        "load.worker_max_concurrency: is not used: the number of requests in flight does not slow an open loop",
    );
    check_notice(
        "server: {api_key: secret}",
        "server.api_key: is not sent; put the token into a Secret, and name the Secret in target.auth",
    );
    check_notice(
        "tokenizer: {pretrained_model_name_or_path: m}",
        "tokenizer.pretrained_model_name_or_path: is \"m\", a name of Hugging Face, which is not downloaded: prompts are made of words and \
         have about the requested length; write the path of its tokenizer.json for exact lengths",
    );
    check_notice(
        &input("std: 5"),
        "data.input_distribution.std: is read as std_dev, 5; inference-perf ignores it and uses 200",
    );
    check_notice(
        "data: {type: mock, input_distribution: {}}",
        "data.input_distribution: is not used: it does not belong to this data.type",
    );
    check_notice(
        "storage: {google_cloud_storage: {bucket_name: b}}",
        "storage.google_cloud_storage: is not used: results stay in the storage of the run, nothing is uploaded",
    );
}

#[test]
fn goodput_comes_from_the_report_and_from_headers() {
    let goodput = workload(
        "api: {streaming: true, headers: {X-SLO-TTFT-ms: 250, x-slo-tpot-ms: '20'}}\n\
         report: {goodput: {constraints: {ttft: 0.5, request_latency: 10}}}",
    )
    .goodput;
    let text = |it: Option<Span>| it.map(|it| it.to_string());
    assert_eq!(text(goodput.ttft).as_deref(), Some("500ms"));
    assert_eq!(text(goodput.tpot).as_deref(), Some("20ms"));
    assert_eq!(text(goodput.latency).as_deref(), Some("10s"));
    assert_eq!((goodput.itl, goodput.ntpot), (None, None));
}

#[test]
fn headers_go_along() {
    let headers = workload("api: {streaming: true, headers: {x-tenant: a, x-priority: 3}}").headers;
    assert_eq!(headers["x-tenant"], "a");
    assert_eq!(headers["x-priority"], "3");
}

#[test]
fn a_chat_carries_its_response_format() {
    let extra = |format: &str| {
        let text = format!("api: {{type: chat, streaming: true, response_format: {format}}}");
        serde_json::to_string(&workload(&text).sampling.extra).unwrap()
    };
    assert_eq!(extra("{type: json_object}"), r#"{"response_format":{"type":"json_object"}}"#);
    assert_eq!(
        extra("{json_schema: {type: object, required: [a]}}"),
        r#"{"response_format":{"type":"json_schema","json_schema":{"name":"structured_output","schema":{"type":"object","required":["a"]}}}}"#
    );
    check_notice(
        "api: {streaming: true, response_format: {type: json_object}}",
        "api.response_format: is not sent: inference-perf sends it only with chats",
    );
    check_error(
        "api: {type: chat, streaming: true, response_format: {name: answer}}",
        "api.response_format.json_schema: is missing; write the JSON schema that answers must follow, or type: json_object",
    );
}

#[test]
fn prose_is_a_kind_of_random_prompt() {
    let text = "data: {type: synthetic, input_distribution: {}, output_distribution: {}}";
    assert!(matches!(workload(text).requests, RequestSource::Random { text: PromptText::Prose, .. }));
}

#[test]
fn a_trace_is_replayed_with_its_lengths_where_the_data_want_them() {
    let text = |data: &str| {
        format!(
            "load: {{type: trace_replay, trace: {{file: /d/t.csv, format: AzurePublicDataset}}, stages: [{{rate: 2, duration: 30}}]}}\n{data}"
        )
    };
    let lengths_of = |text: &str| match &workload(text).stages[0].load {
        Load::Trace { trace: Trace::File(file), count, lengths, speed: 1.0, .. } => {
            // If the trace contains the lengths, inference-perf sends one request per row.
            assert_eq!(*count, if *lengths { None } else { Some(60) });
            assert_eq!(
                (file.file.as_path().to_str(), file.time, file.at_column.as_str()),
                (Some("/d/t.csv"), TraceTime::DateTime, "TIMESTAMP")
            );
            *lengths
        }
        other => panic!("{other:?}"),
    };
    assert!(!lengths_of(&text("")));
    assert!(lengths_of(&text("data: {type: random, trace: {file: /d/t.csv}}")));
    check_one_notice(
        &text("data: {type: random, trace: {file: /d/t.csv}}"),
        "load.stages[0].rate: is not used, nor is duration: as in inference-perf, all rows of data.trace are sent",
    );
    check_notice(
        &text(""),
        "load.trace: is replayed at the exact times; inference-perf shortens them to hundredths of a second up to version 0.6.1",
    );
    check_error(
        &text("data: {type: random, trace: {file: /d/other.csv}}"),
        "load.trace: is another file than data.trace; write the same file in both, because each request has its time and its lengths from one row",
    );
    check_error(
        "data: {type: random, trace: {file: t}}",
        "load.type: is not trace_replay, and data.trace is supported only with trace_replay; take data.trace out",
    );
    check_error(
        "load: {type: poisson, trace: {file: t}, stages: [{rate: 1, duration: 1}]}",
        "load.trace: belongs to a load of type trace_replay; take it out, or change load.type",
    );
    check_error(
        "load: {type: trace_replay, trace: {file: t, format: Other}, stages: [{rate: 1, duration: 1}]}",
        "load.trace.format: is Other, which inference-perf supports and this engine does not yet; choose one of AzurePublicDataset",
    );
}

#[test]
fn mock_prompts_are_never_sent_unasked() {
    let error = |text: &str| {
        let value = yaml::read(text).unwrap();
        let findings = Findings::default();
        assert_eq!(parse(&value, Target::default(), &findings), None);
        findings.into_result().unwrap_err().to_string()
    };
    assert_eq!(
        error("load: {stages: [{rate: 1, duration: 1}]}"),
        "data: is missing; write what to send, or data: {type: mock} for the mock prompts that inference-perf sends without it"
    );
    assert_eq!(
        error("load: {stages: [{rate: 1, duration: 1}]}\ntokenizer: {data: {type: random, path: '${FILE}'}}"),
        "data: is missing; move tokenizer.data to the root of the profile; in its present place inference-perf would ignore it and send mock prompts without a warning\n\
         tokenizer.data: is not a key of tokenizer, but of the root of the profile; remove its indentation"
    );
    check_error(
        "data: {}",
        "data.type: is missing; write one of random, synthetic and shared_prefix, or mock for the mock prompts that inference-perf sends without a type",
    );
}

#[test]
fn lengths_that_contradict_each_other_are_refused() {
    check_error(
        &input("min: 2000, max: 4000"),
        "data.input_distribution.mean: is 512 (the default), which is not between min and max, 2000 and 4000; change one of them",
    );
    check_error(
        &input("min: 2000"),
        "data.input_distribution.min: is 2000, above max, which is 1024 (the default); lower it, or raise max",
    );
    check_error(
        &input("variance: 16"),
        "data.input_distribution.variance: is 16, but std_dev is not 0 (it is 200 when left out); \
         write std_dev: 4 instead, or std_dev: 0 as well",
    );
    check_error(&input("std: 1, std_dev: 2"), "data.input_distribution.std: is set, and so is std_dev; keep std_dev");
}

#[test]
fn a_run_has_at_most_ten_million_requests() {
    check_error(
        "load: {stages: [{rate: 6000, duration: 1000}, {rate: 6000, duration: 1000}]}",
        "load.stages: ask for 12000000 requests in all; a run sends at most 10000000, so lower a rate or shorten a stage",
    );
}

#[test]
fn every_mistake_of_a_profile_is_reported_at_once() {
    let text = include_str!("../../../../tests/fixtures/all_wrong.yaml");
    let error = parse_text(Harness::InferencePerf, Target::default(), text).unwrap_err();
    insta::assert_snapshot!(error);
}
