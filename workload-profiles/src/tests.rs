use std::time::Duration;

use crds::units::Span;
use proptest::prelude::*;

use super::*;
use crate::{
    shipped::tests::required,
    variables::tests::{run, with},
};

const HARNESS: Harness = Harness::InferencePerf;

fn overrides(pairs: &[&str]) -> BTreeMap<String, String> {
    pairs.iter().map(|it| it.split_once('=').unwrap()).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn prepared(template: &str, user: &[&str], pairs: &[&str]) -> Result<Prepared, String> {
    let variables = with("m", user).map_err(|it| it.to_string())?;
    prepare(&run("m"), template, &variables, &overrides(pairs)).map_err(|it| it.to_string())
}

fn check_error(template: &str, user: &[&str], pairs: &[&str], expected: &str) {
    assert_eq!(prepared(template, user, pairs).unwrap_err(), expected);
}

fn sanity() -> &'static str {
    shipped(HARNESS, "sanity_random").unwrap()
}

#[test]
fn facts_with_odd_letters_stay_the_values_that_they_are() {
    for model in ["'a", "a\"b", "a: b", "123", "{x}", "# a"] {
        let run = ResolvedRun { model: Some(model.into()), ..run("m") };
        let variables = variables(&run, &BTreeMap::new()).unwrap();
        let ready = prepare(&run, sanity(), &variables, &BTreeMap::new()).unwrap();
        assert_eq!(ready.workload.model.as_deref(), Some(model));
        let old = sanity().replace("'{{ model }}'", "REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL");
        assert!(prepare(&run, &old, &variables, &BTreeMap::new()).is_ok(), "{model}");
    }
}

#[test]
fn values_of_every_natural_type_are_variables() {
    let user = |json: serde_json::Value| {
        let values = json.as_object().unwrap().iter().map(|(name, value)| (name.clone(), AnyValue(value.clone())));
        variables(&run("m"), &values.collect()).map_err(|it| it.to_string())
    };
    let all = user(serde_json::json!({"a": 1024, "b": 0.5, "c": true, "d": "[1, 2]", "e": "x"})).unwrap();
    assert_eq!(["a", "b", "c", "d", "e"].map(|it| all.get(it).unwrap()), ["1024", "0.5", "true", "[1, 2]", "x"]);
    assert_eq!(
        user(serde_json::json!({"a": null, "b": {"c": 1}})).unwrap_err(),
        "profile.variables.a: is empty; write a text, a number, true or false; a list as a text, such as \"[1, 2, 4]\"\n\
         profile.variables.b: is a mapping with the key c; write a text, a number, true or false; a list as a text, such as \"[1, 2, 4]\""
    );
}

fn notices(prepared: &Prepared) -> Vec<String> {
    prepared.notices.iter().map(ToString::to_string).collect()
}

#[test]
fn every_shipped_profile_asks_for_the_load_that_it_is_known_for() {
    for name in shipped_names(HARNESS) {
        let ready = prepared(shipped(HARNESS, name).unwrap(), required(name), &[]).unwrap();
        let noticed: Vec<&str> = ready.notices.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(noticed, differences(name), "{name}");
        assert_eq!(parse(&run("m"), &ready.text).unwrap().0, ready.workload);
        insta::assert_yaml_snapshot!(name, ready.workload);
    }
}

/// The keys of a shipped profile that inference-perf interprets differently.
fn differences(name: &str) -> &'static [&'static str] {
    match name {
        "agentic_code_generation" => &[
            "data.conversation_replay.tool_call_latency_sec",
            "data.conversation_replay",
            "data.conversation_replay.dynamic_system_prompt_len",
        ],
        "chatbot_sharegpt" => &["data.type"],
        "interactive-chat" => &["data.conversation_replay"],
        "guide_p2p-kv-cache-sharing_1" => &["data.conversation_replay.tool_call_latency_sec"],
        _ => &[],
    }
}

#[test]
fn a_shipped_profile_without_its_data_says_where_to_get_them() {
    let template = |name: &str| shipped(HARNESS, name).unwrap();
    let ready = prepared(template("chatbot_sharegpt"), &[], &[]).unwrap();
    let notices: String = ready.notices.iter().map(ToString::to_string).collect();
    for part in
        ["data.path: ", "hf download anon8231489123/ShareGPT_Vicuna_unfiltered", "profile.variables.dataset_file"]
    {
        assert!(notices.contains(part), "{notices}");
    }
    let error = |name: &str| prepared(template(name), &[], &[]).unwrap_err();
    for name in ["otel_traces", "agent_llm_traces_v2", "weka_traces"] {
        let found = error(name);
        assert!(
            found.contains("trace_directory: is empty") && found.contains("profile.variables.dataset_dir"),
            "{found}"
        );
    }
}

#[test]
fn every_shipped_profile_of_our_own_asks_for_its_load() {
    for harness in [Harness::Benchwright, Harness::Loadgen] {
        let run = ResolvedRun { harness, ..run("m") };
        for name in shipped_names(harness) {
            let template = shipped(harness, name).unwrap();
            let ready = prepare(&run, template, &with("m", &[]).unwrap(), &BTreeMap::new()).unwrap();
            assert_eq!(ready.notices, [], "{name}");
            assert_eq!(parse(&run, &ready.text).unwrap().0, ready.workload);
            insta::assert_yaml_snapshot!(format!("{}_{name}", harness.name()), ready.workload);
        }
    }
}

#[test]
fn a_benchmark_of_mlperf_is_sent_from_its_data_set_where_one_is_named() {
    let run = ResolvedRun { harness: Harness::Loadgen, ..run("m") };
    for name in shipped_names(Harness::Loadgen).into_iter().filter(|it| *it != "sanity") {
        let template = shipped(Harness::Loadgen, name).unwrap();
        let variables = with("m", &["dataset_file=/data/samples.json", "mode=both"]).unwrap();
        let workload = prepare(&run, template, &variables, &BTreeMap::new()).unwrap().workload;
        let workload::RequestSource::DataSet(set) = &workload.requests else { panic!("{name} sends a file") };
        let loadgen = workload.loadgen.as_ref().unwrap();
        assert_eq!((set.count, loadgen.qsl.name.as_str()), (Some(loadgen.qsl.total_sample_count), "samples"), "{name}");
        assert_eq!(workload.stages.len(), 2, "{name}");
    }
}

#[test]
fn a_user_conf_survives_an_override() {
    let run = ResolvedRun { harness: Harness::Loadgen, ..run("m") };
    let conf = "# mine\n*.Server.target_qps = 3\n\n*.Server.min_duration = 0x10\n";
    let lines = conf.lines().map(|it| format!("  {it}\n")).collect::<String>();
    let profile = format!("{}user_conf: |\n{lines}", shipped(Harness::Loadgen, "llama3.1-8b-server").unwrap());
    let overrides = overrides(&["settings.accuracy_log_rng_seed=18446744073709551615", "target_qps=null"]);
    let ready = prepare(&run, &profile, &with("m", &[]).unwrap(), &overrides).unwrap();
    assert_eq!(parse(&run, &ready.text).unwrap().0, ready.workload);
    let loadgen = ready.workload.loadgen.unwrap();
    let settings = &loadgen.tests[0].settings;
    assert_eq!((loadgen.user_conf.as_str(), settings.server_target_qps, settings.min_duration_ms), (conf, 3.0, 16));
    assert_eq!(settings.accuracy_log_rng_seed, u64::MAX);
}

#[test]
fn the_sanity_test_of_loadgen_runs_in_every_scenario() {
    let run = ResolvedRun { harness: Harness::Loadgen, ..run("m") };
    for scenario in ["Server", "Offline", "Interactive", "SingleStream", "MultiStream"] {
        let variables = with("m", &[&format!("scenario={scenario}")]).unwrap();
        let ready = prepare(&run, shipped(Harness::Loadgen, "sanity").unwrap(), &variables, &BTreeMap::new()).unwrap();
        assert_eq!((ready.notices, ready.workload.stages.len()), (Vec::new(), 2), "{scenario}");
    }
}

#[test]
fn the_warm_up_of_a_shipped_profile_leaves_something_of_a_short_stage() {
    for (name, expected) in [("poisson_sweep", 0.5), ("concurrency_ramp", 1.0)] {
        let run = ResolvedRun { harness: Harness::Benchwright, ..run("m") };
        let template = shipped(Harness::Benchwright, name).unwrap();
        let ready = |user: &[&str]| prepare(&run, template, &with("m", user).unwrap(), &BTreeMap::new());
        let margin = ready(&["duration=6"]).unwrap().workload.stages[0].warm_up;
        let span = |seconds| Some(workload::Margin::Duration(Span(Duration::from_secs_f64(seconds))));
        assert_eq!(margin, span(expected), "{name}");
        let margin = ready(&["duration=6", "warm_up=3"]).unwrap().workload.stages[0].warm_up;
        assert_eq!(margin, span(3.0), "{name}");
        let error = ready(&["duration=6", "warm_up=6"]).unwrap_err().to_string();
        assert!(error.contains("stages[0].warmUp: is 6s"), "{name}: {error}");
    }
}

/// The variables of a shipped profile that are lengths of time.
fn durations(name: &str) -> &'static [&'static str] {
    match name {
        "burst" | "trace_replay" | "random_concurrent" | "sanity_random_concurrent" => &[],
        "interactive-chat"
        | "agentic_code_generation"
        | "otel_traces"
        | "weka_traces"
        | "guide_kimi-k3-h100_1"
        | "guide_p2p-kv-cache-sharing_1"
        | "guide_predicted-latency-routing_1"
        | "guide_wide-ep-lws_1" => &[],
        "guide_optimized-baseline_1"
        | "guide_precise-prefix-cache-routing_1"
        | "guide_precise-prefix-cache-routing_2"
        | "shared_prefix_synthetic_aggressive" => &["interval"],
        "guide_multimodal-serving_1" | "guide_tiered-prefix-cache_1" => &["duration", "interval"],
        "agent_llm_traces_v2" => &["timeout"],
        "diurnal" => &["period"],
        "spike" => &["duration", "at", "length"],
        "poisson_sweep" | "concurrency_ramp" => &["duration", "warm_up"],
        _ => &["duration"],
    }
}

#[test]
fn every_shipped_profile_takes_any_length_of_time() {
    for harness in [Harness::Benchwright, Harness::InferencePerf] {
        let run = ResolvedRun { harness, ..run("m") };
        for name in shipped_names(harness) {
            let template = shipped(harness, name).unwrap();
            let ready = |variables: &[String]| {
                let variables: Vec<&str> =
                    variables.iter().map(String::as_str).chain(required(name).iter().copied()).collect();
                let ready = prepare(&run, template, &with("m", &variables).unwrap(), &BTreeMap::new());
                ready.unwrap_or_else(|error| panic!("{name} with {variables:?}: {error}")).workload
            };
            let Some((first, others)) = durations(name).split_first() else { continue };
            let seconds = [7, 10, 20, 40, 50, 100].map(|it| ready(&[format!("{first}={it}")]));
            assert_eq!(ready(&[format!("{first}=10s")]), seconds[1], "{name}");
            assert_eq!(ready(&[format!("{first}=2m")]), ready(&[format!("{first}=120")]), "{name}");
            for other in others {
                let long = format!("{first}=100s");
                assert_eq!(ready(&[long.clone(), format!("{other}=10s")]), ready(&[long, format!("{other}=10")]));
            }
        }
    }
}

#[test]
fn a_length_of_time_that_is_none_names_its_variable() {
    let run = ResolvedRun { harness: Harness::Benchwright, ..run("m") };
    let template = shipped(Harness::Benchwright, "concurrency_ramp").unwrap();
    let error = |variable: &str| {
        let variables = with("m", &[variable]).unwrap();
        prepare(&run, template, &variables, &BTreeMap::new()).unwrap_err().to_string()
    };
    let found = error("duration=10 s");
    assert!(
        found.contains("\"10 s\" is not a length of time; write a number of seconds, or a number and its unit"),
        "{found}"
    );
    assert!(found.contains("profile.variables.duration is"), "{found}");
}

#[test]
fn every_shipped_profile_renders_before_the_model_is_known() {
    for name in shipped_names(HARNESS) {
        let ready =
            prepare(&run(""), shipped(HARNESS, name).unwrap(), &with("", required(name)).unwrap(), &BTreeMap::new())
                .unwrap();
        assert_eq!(ready.workload.model, None, "{name}");
    }
}

#[test]
fn the_text_that_goes_to_the_pod_reads_back_to_the_same_workload() {
    // Strings that look like another type must remain strings when the profile is written.
    let mended = ["load.stages.0.rate=2.5", "server.model_name='yes'", "api.headers={x-a: '007', x-b: 'a: b'}"];
    for pairs in [&[][..], &mended] {
        let ready = prepared(sanity(), &[], pairs).unwrap();
        assert_eq!(parse(&run("m"), &ready.text).unwrap().0, ready.workload);
    }
}

#[test]
fn variables_change_a_shipped_profile() {
    let ready = prepared(sanity(), &["isl=1000", "rate=2.5", "api=chat"], &[]).unwrap();
    let workload::RequestSource::Random { input, .. } = ready.workload.requests else { panic!("it is a random load") };
    assert_eq!((input.min, input.max), (666, 1333));
    assert_eq!(ready.workload.stages[0].name, "r2.5");
    let ready = prepared(shipped(HARNESS, "chatbot_synthetic").unwrap(), &["rates=[3, 3]"], &[]).unwrap();
    assert_eq!(ready.workload.stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["r3", "r3-2"]);
}

#[test]
fn overrides_change_a_shipped_profile() {
    let ready = prepared(sanity(), &[], &["load.stages[0].rate=4", "min=20", "total_count=200"]).unwrap();
    assert_eq!(ready.workload.stages[0].load.count(), Some(120));
    assert_eq!(notices(&ready).len(), 2);
    assert!(ready.text.contains("total_count: 200"));
}

#[test]
fn a_wrong_value_from_an_override_names_the_override() {
    check_error(
        sanity(),
        &[],
        &["load.stages[0].rate=fast", "load.interwal=3", "data.x.y=1"],
        "profile.overrides.data.x.y: data has no x; known are type, input_distribution and output_distribution\n\
         load.stages[0].rate: is \"fast\"; write a number above 0 and at most 1000000 (set by profile.overrides.load.stages[0].rate)\n\
         load.interwal: is no known key; did you mean interval? (set by profile.overrides.load.interwal)",
    );
}

#[test]
fn an_override_of_an_unknown_key_is_refused() {
    let error = "load.interwal: is no known key; did you mean interval? (set by profile.overrides.load.interwal)";
    check_error(sanity(), &[], &["load.interwal=3"], error);
    let template = sanity().replace("  request_timeout: 30\n", "  request_timeuot: 30\n");
    assert!(notices(&prepared(&template, &[], &[]).unwrap())[0].starts_with("load.request_timeuot: is no known key"));
}

#[test]
fn an_override_can_mend_what_was_left_open() {
    let template = format!("{}\ntokenizer: {{pretrained_model_name_or_path: REPLACE_ENV_FOLDER}}", sanity());
    let path = "tokenizer.pretrained_model_name_or_path";
    let error = format!("{path}: holds REPLACE_ENV_FOLDER, which has no value; set profile.variables.FOLDER");
    check_error(&template, &[], &[], &error);
    assert!(prepared(&template, &[], &[&format!("{path}=/m")]).is_ok());
    assert!(prepared(&template, &["FOLDER=/m"], &[]).is_ok());
    // A placeholder without a value is no problem under a key that has no effect.
    assert!(prepared(&format!("{}\ntokenizer: {{token: REPLACE_ENV_HF_TOKEN}}", sanity()), &[], &[]).is_ok());
}

#[test]
fn a_tokenizer_is_added_by_an_override() {
    let template = sanity();
    assert!(!template.lines().any(|it| it.starts_with("tokenizer:")));
    for given in ["tokenizer.pretrained_model_name_or_path=/m", "tokenizer={pretrained_model_name_or_path: /m}"] {
        let found = prepared(template, &[], &[given]).unwrap_or_else(|error| panic!("{given}: {error}"));
        assert!(found.text.contains("pretrained_model_name_or_path"), "{}", found.text);
    }
}

#[test]
fn a_profile_for_another_target_is_noticed() {
    let template = sanity().replace("{{ endpoint }}", "http://other:80/").replace("{{ model }}", "gpt");
    assert_eq!(
        notices(&prepared(&template, &[], &[]).unwrap()),
        [
            "server.model_name: is gpt, but target.model of the run is m, which is used",
            "server.base_url: is http://other:80, but requests are sent to the target of the run, http://server:8000",
        ]
    );
    let ready = prepared(&template, &[], &[]).unwrap();
    assert_eq!(parse(&run("m"), &ready.text).unwrap(), (ready.workload.clone(), ready.notices));
    assert_eq!(ready.workload.model.as_deref(), Some("m"));
}

#[test]
fn the_target_of_the_run_replaces_that_of_the_profile() {
    let chat = ResolvedRun { api: Some(crds::benchmark_run::Api::Chat), ..run("m") };
    let profile = "server: {model_name: gpt}\napi: {type: completion}\ndata: {type: mock}\n\
                   load: {stages: [{rate: 1, duration: 1}]}";
    let workload = parse(&chat, profile).unwrap().0;
    assert_eq!((workload.model.as_deref(), workload.api), (Some("m"), crds::benchmark_run::Api::Chat));
    let workload = parse(&run(""), profile).unwrap().0;
    assert_eq!((workload.model.as_deref(), workload.api), (Some("gpt"), crds::benchmark_run::Api::Completions));
}

/// A YAML block of the page about profiles.
fn documented(number: usize) -> &'static str {
    let page = include_str!("../../docs/profiles.md");
    page.split("```yaml\n").nth(1 + number).unwrap().split("```").next().unwrap()
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    any_value::texts(&serde_json::from_value(value.clone()).unwrap())
}

#[test]
fn the_documented_run_is_one() {
    let block = yaml::read(documented(0)).unwrap();
    let spec: crds::benchmark_run::BenchmarkRunSpec = serde_json::from_value(block["spec"].clone()).unwrap();
    let profile = &block["spec"]["profile"];
    let variables = variables(&run("m"), &serde_json::from_value(profile["variables"].clone()).unwrap()).unwrap();
    let template = shipped(HARNESS, profile["name"].as_str().unwrap()).unwrap();
    let ready = prepare(&run("m"), template, &variables, &texts(&profile["overrides"])).unwrap();
    assert_eq!(ready.workload.stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["r2", "r4", "r8"]);
    assert_eq!(ready.workload.timeouts.request, Some(Span(Duration::from_secs(60))));
    // The spec reads every field of the example.
    let again = serde_json::to_value(&spec).unwrap();
    assert_eq!(again["profile"], *profile);
}

#[test]
fn the_documented_template_and_overrides_are_taken() {
    let template = format!("{}data: {{type: mock}}\n", documented(1));
    assert_eq!(prepared(&template, &[], &[]).unwrap().workload.stages.len(), 3);
    let overrides = texts(&yaml::read(documented(2)).unwrap()["overrides"]);
    assert_eq!(overrides.len(), 4);
    let ready = prepare(&run("m"), sanity(), &with("m", &[]).unwrap(), &overrides).unwrap();
    assert_eq!(ready.workload.stages.iter().map(|it| it.load.count()).collect::<Vec<_>>(), [Some(150), Some(120)]);
    assert_eq!(ready.workload.headers["x-tenant"], "blue");
}

#[test]
fn a_chat_of_token_ids_is_refused_whoever_asks_for_the_chat() {
    let profile = |api: &str| {
        let requests = "requests: {random: {input: 5, output: 5, text: tokenIds}}";
        format!("api: {api}\n{requests}\nstages: [{{load: {{burst: {{count: 1}}}}}}]")
    };
    let requested = |api| ResolvedRun { harness: Harness::Benchwright, api, ..run("m") };
    let check = |run: &ResolvedRun, api: &str, by: &str| {
        let expected = format!(
            "requests.random.text: is tokenIds, but {by} is chat, which cannot hold token ids; \
             write words or prose, or set {by} to completions"
        );
        assert_eq!(parse(run, &profile(api)).unwrap_err().to_string(), expected);
        let prepared = prepare(run, &profile(api), &with("m", &[]).unwrap(), &BTreeMap::new());
        assert_eq!(prepared.unwrap_err().to_string(), expected);
    };
    check(&requested(None), "chat", "api");
    check(&requested(Some(Api::Chat)), "completions", "target.api of the run");
    let loadgen = ResolvedRun { harness: Harness::Loadgen, api: Some(Api::Chat), ..run("m") };
    let profile_of = |dataset: &str| format!("benchmark: llama3_1-8b\nscenario: Server\ndataset: {dataset}");
    let error = parse(&loadgen, &profile_of("{file: {path: cnn.json}}")).unwrap_err().to_string();
    assert!(error.starts_with("dataset.file.form: is tokenIds, but target.api of the run is chat"), "{error}");
    let error = parse(&loadgen, &profile_of("{synthetic: {input: 5, text: tokenIds}}")).unwrap_err().to_string();
    assert!(error.starts_with("dataset.synthetic.text: is tokenIds"), "{error}");
    // The API of the run replaces the API of the profile.
    for (api, of_profile) in [(None, "completions"), (Some(Api::Completions), "chat")] {
        assert!(parse(&requested(api), &profile(of_profile)).is_ok());
    }
}

#[test]
fn images_need_an_api_that_holds_them() {
    let profile = |api: &str| {
        let images = "images: {perRequest: 1, sizes: [{width: 64, height: 64}]}";
        format!("api: {api}\nrequests: mock\n{images}\nstages: [{{load: {{burst: {{count: 1}}}}}}]")
    };
    let requested = |api| ResolvedRun { harness: Harness::Benchwright, api, ..run("m") };
    for api in ["chat", "responses", "messages"] {
        assert!(parse(&requested(None), &profile(api)).is_ok(), "{api}");
    }
    let error = |run: &ResolvedRun, api: &str| parse(run, &profile(api)).unwrap_err().to_string();
    assert_eq!(
        error(&requested(None), "completions"),
        "images: asks for images, but api is completions, which hold none; set api to chat"
    );
    let by_run = error(&requested(Some(Api::Completions)), "chat");
    assert!(by_run.contains("but target.api of the run is completions"), "{by_run}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_message(text in "\\PC{0,80}|[-a-z0-9.:\\[\\]{}&*, \n]{0,80}") {
        let errors = [parse(&run("m"), &text).err().map(|it| it.to_string()), prepared(&text, &["x=1"], &["a.b=1"]).err()];
        prop_assert!(errors.iter().flatten().all(|it| !it.is_empty()), "{errors:?}");
    }

    #[test]
    fn no_value_in_any_place_makes_the_parser_panic(
        path in prop::sample::select(vec![
            "load", "load.type", "load.stages", "load.stages[0]", "load.stages[0].rate", "load.stages[0].duration", "load.interval",
            "load.request_timeout", "api", "api.headers", "api.streaming", "data", "data.type", "data.input_distribution",
            "data.input_distribution.min", "data.output_distribution.mean", "data.output_distribution.std_dev", "server",
            "server.model_name", "data.input_distribution.total_count", "report", "data.shared_prefix", "tokenizer", "storage",
            "data.output_distribution.variance", "load.num_workers", "report.goodput.constraints", "metrics", "circuit_breakers",
        ]),
        value in prop_oneof![
            any::<f64>().prop_map(|it| it.to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            prop::sample::select(vec![
                "1e308", "-0.0", "18446744073709551616", "[]", "{}", "[[]]", "[1]", "{a: 1}", "", "null", "x", "shared_prefix",
                "concurrent", "mock", "true", "4.9e-324", "1e-300", "{constraints: {ttft: 1e-12}}", "{goodput: {constraints: {itl: 1}}}",
                "[{rate: 1000000, duration: 604800}]", "{num_groups: 4294967296}",
            ]).prop_map(str::to_owned),
        ],
    ) {
        if let Ok(ready) = prepared(sanity(), &[], &[&format!("{path}={value}")]) {
            prop_assert_eq!(parse(&run("m"), &ready.text).unwrap().0, ready.workload);
        }
    }
}

#[test]
fn a_window_needs_a_stage_that_the_profile_has() {
    let problem = |stage: Option<&str>, text: &str| {
        let profiling = serde_json::json!({"kind": "Torch", "stage": stage, "duration": "1s"});
        let run = ResolvedRun { profiling: Some(serde_json::from_value(profiling).unwrap()), ..run("m") };
        parse(&run, text).map_or_else(|error| error.to_string(), |_| String::new())
    };
    let stages = |stages: &str| {
        format!(
            "{{load: {{type: constant, stages: [{stages}]}}, api: {{type: completion, streaming: true}}, \
                 data: {{type: random, input_distribution: {{mean: 10, max: 20}}, output_distribution: {{mean: 12, max: 20}}}}}}"
        )
    };
    let (one, two) = (stages("{rate: 10, duration: 5}"), stages("{rate: 10, duration: 5}, {rate: 20, duration: 5}"));
    assert_eq!([problem(None, &one), problem(Some("r10"), &one), problem(Some("r20"), &two)], ["", "", ""]);
    assert_eq!(
        problem(Some("r100"), &two),
        "spec.profiling.stage: is \"r100\", and the profile has no stage of this name; did you mean r10?"
    );
    assert_eq!(
        problem(None, &two),
        "spec.profiling.stage: is missing, and the profile has several stages; write one of r10 and r20"
    );
}

#[test]
fn a_window_after_the_end_of_its_stage_is_refused() {
    let problem = |start: &str, stage: &str| {
        let profiling = serde_json::json!({"kind": "Torch", "start": start, "duration": "1s"});
        let run = ResolvedRun { profiling: Some(serde_json::from_value(profiling).unwrap()), ..run("m") };
        let text =
            format!("{{stages: [{{name: a, load: {{{stage}}}}}], requests: {{random: {{input: 10, output: 12}}}}}}");
        let run = ResolvedRun { harness: Harness::Benchwright, ..run };
        parse(&run, &text).map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(problem("4s", "open: {rate: 10, duration: 5s}"), "");
    assert_eq!(
        problem("10s", "open: {rate: 10, duration: 5s}"),
        "spec.profiling.start: is 10s, and stage \"a\" sends requests for 5s only; write a time below 5s, or make the stage longer"
    );
    assert!(problem("5s", "closed: {concurrency: 2, duration: 5s}").contains("is 5s, and stage"));
    // With a concurrency limit, requests may wait in the client, so the stage may send longer than its duration.
    assert_eq!(problem("10s", "open: {rate: 10, duration: 5s, maxConcurrency: 1}"), "");
    assert_eq!(problem("10s", "closed: {concurrency: 2, count: 5}"), "");
}

#[test]
fn a_window_begins_after_a_warm_up_unless_the_run_says_otherwise() {
    let window = |start: Option<&str>| {
        let profiling = serde_json::json!({"kind": "Nsys", "start": start, "duration": "1s"});
        serde_json::from_value::<crds::resolve::ResolvedProfiling>(profiling).unwrap()
    };
    let mut stage = workload::Stage::new("c1", workload::Load::closed(1, 10));
    assert_eq!(crate::profiling_start(&window(None), &stage), Duration::ZERO);
    stage.warm_up = Some(workload::Margin::Count(3));
    assert_eq!(crate::profiling_start(&window(None), &stage), Duration::ZERO);
    stage.warm_up = Some(workload::Margin::Duration(Span(Duration::from_secs(2))));
    assert_eq!(crate::profiling_start(&window(None), &stage), Duration::from_secs(2));
    assert_eq!(crate::profiling_start(&window(Some("500ms")), &stage), Duration::from_millis(500));
}
