//! Data and the backend.

use std::time::Duration;

use crds::{benchmark_run::Api, units::Span};

use super::*;
use crate::workload::{
    AfterFailure, DataSetFormat, FileSource, ImageEncoding, LengthDistribution, LengthField, Load, OutputLength,
    PrefixPlace, PromptColumn, PromptForm, PromptReuse, RecordedFormat, RequestSource, RowContent, RowOrder, Shape,
    Trace, TraceTime, Unit, UsedUp,
};

fn synthetic(keys: &str) -> String {
    format!("data: [{{kind: synthetic_text, output_tokens: 16, {keys}}}]")
}

fn prompt(keys: &str) -> LengthDistribution {
    match workload(&synthetic(keys)).requests {
        RequestSource::Random { input, .. } => input,
        other => panic!("{other:?}"),
    }
}

fn check_length(keys: &str, shape: Shape, min: u32, max: u32, mean: f64) {
    let found = prompt(keys);
    assert_eq!((found.shape, found.min, found.max, found.mean), (shape, min, max, mean), "{keys}");
}

#[test]
fn lengths_are_drawn_as_in_the_original() {
    check_length("prompt_tokens: 64", Shape::Fixed, 64, 64, 64.0);
    check_length("prompt_tokens: 64, prompt_tokens_stdev: 10", Shape::Normal, 14, 114, 64.0);
    check_length("prompt_tokens: 64, prompt_tokens_stdev: 20", Shape::Normal, 1, 164, 64.0);
    check_length("prompt_tokens: 64, prompt_tokens_stdev: 20, prompt_tokens_max: 70", Shape::Normal, 1, 70, 64.0);
    // Without a standard deviation the distribution is uniform, and an absent bound equals the mean.
    check_length("prompt_tokens: 64, prompt_tokens_min: 10, prompt_tokens_max: 90", Shape::Uniform, 10, 90, 50.0);
    check_length("prompt_tokens: 64, prompt_tokens_min: 10", Shape::Uniform, 10, 64, 37.0);
    check_length("prompt_tokens: 64, prompt_tokens_min: 9, prompt_tokens_max: 9", Shape::Fixed, 9, 9, 9.0);
    check_error(
        &synthetic("prompt_tokens: 64, prompt_tokens_min: 70"),
        "spec.data[0].prompt_tokens_min: leaves no length: the bounds are 70 and 64, where prompt_tokens replaces a missing bound; lower prompt_tokens_min, or raise prompt_tokens_max",
    );
    check_error(
        &synthetic("prompt_tokens: 64, first_prompt_tokens_max: 3"),
        "spec.data[0].first_prompt_tokens_max: needs first_prompt_tokens, the mean; write it too",
    );
}

#[test]
fn texts_differ_from_strategy_to_strategy_and_repeat_from_run_to_run() {
    assert_eq!(workload("").prompts, PromptReuse::PerStage);
    let text = notices_of_tokenizer("");
    assert!(
        text.starts_with(
            "spec.tokenizer: is the tokenizer of the model, which GuideLLM downloads; here a prompt of n tokens has n words"
        ),
        "{text}"
    );
    let text = notices_of_tokenizer("tokenizer: {kind: hf_auto, model: gpt2}");
    assert!(text.starts_with("spec.tokenizer: is gpt2, a name of the Hugging Face Hub"), "{text}");
    for (model, expected) in [("/m/tokenizer.json", "/m/tokenizer.json"), ("/models/x/", "/models/x/tokenizer.json")] {
        let spec = format!("tokenizer: {{kind: huggingface_auto, model: {model}}}");
        assert_eq!(workload(&spec).tokenizer, Some(FileSource::from(expected)));
    }
}

fn notices_of_tokenizer(spec: &str) -> String {
    let (_, notices) = parse_text(Harness::Guidellm, Target::default(), &nested(spec)).unwrap();
    notices.first().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn conversations_are_sessions() {
    let spec = synthetic(
        "prompt_tokens: 8, turns: 5, first_prompt_tokens: 99, delay: 2, delay_stdev: 1, prefix_count: 7, prefix_tokens: 50",
    );
    let workload = workload(&format!("{spec}\nconstraints: [{{kind: max_requests, count: 20}}]"));
    assert_eq!((workload.sessions.unit, workload.sessions.after_failure), (Unit::Session, AfterFailure::End));
    // 20 requests are 4 conversations of 5 turns.
    assert_eq!(workload.stages[0].load, Load::closed(4, 4));
    let RequestSource::Conversations(talk) = workload.requests else { panic!("it has conversations") };
    assert_eq!((talk.count, talk.turns.clone()), (None, LengthDistribution::fixed(5)));
    assert_eq!(talk.turn.input, LengthDistribution::fixed(8));
    let first = talk.first_turn.unwrap();
    assert_eq!((first.input, first.output), (LengthDistribution::fixed(99), LengthDistribution::fixed(16)));
    let think = talk.think_time.unwrap();
    assert_eq!((think.shape, think.min, think.max), (Shape::Normal, Span::default(), Span(Duration::from_secs(7))));
    assert_eq!(talk.prefixes.place, PrefixPlace::System);
    assert_eq!((talk.prefixes.buckets[0].count, talk.prefixes.buckets[0].tokens), (7, 50));
    check_notice(
        &synthetic("prompt_tokens: 8, turns: 2, delay: 2, delay_max: 5"),
        "spec.data[0].delay: is drawn for each turn; GuideLLM draws it once",
    );
    let odd = format!("{}\nconstraints: [{{kind: max_requests, count: 9}}]", synthetic("prompt_tokens: 8, turns: 2"));
    check_notice(
        &odd,
        "spec.profile.kind: sends whole conversations of 2 turns: for 9 requests it sends 5 conversations",
    );
    let rated = format!("{}\nprofile: {{kind: constant, rate: 4}}", synthetic("prompt_tokens: 8, turns: 2"));
    check_notice(&rated, "spec.profile.rate: counts turns: conversations of 2 turns start at rate / 2");
    assert_eq!(self::workload(&rated).stages[0].load.mean_count(), 60.0);
    assert_eq!(self::workload(&rated).stages[0].name, "r4");
    let swept = format!("{}\nprofile: {{kind: sweep}}", synthetic("prompt_tokens: 8, turns: 2"));
    check_error(
        &swept,
        "spec.profile.kind: is sweep, and the data has conversations, whose rate a sweep cannot set; write turns: 1, or another profile",
    );
}

#[test]
fn prefixes_come_in_buckets() {
    let spec =
        synthetic("prompt_tokens: 8, prefix_buckets: [{prefix_tokens: 100, prefix_count: 3}, {bucket_weight: 50}]");
    let RequestSource::Random { prefixes, .. } = workload(&spec).requests else { panic!("it is random") };
    let found: Vec<_> = prefixes.buckets.iter().map(|it| (it.weight, it.count, it.tokens)).collect();
    assert_eq!(found, [(100.0, 3, 100), (50.0, 1, 0)]);
    let none = workload(&synthetic("prompt_tokens: 8, prefix_buckets: [{prefix_tokens: 0}]")).requests;
    assert!(matches!(none, RequestSource::Random { prefixes, .. } if prefixes.is_empty()));
    check_error(
        &synthetic("prompt_tokens: 8, prefix_tokens: 5, prefix_buckets: [{prefix_tokens: 5}]"),
        "spec.data[0].prefix_buckets: is written, and so is prefix_tokens or prefix_count; keep one of both forms",
    );
}

#[test]
fn what_only_the_original_sends_is_refused() {
    for (keys, path) in [
        ("branches: [{at_turn: 0, turns: 2}], turns: 3", "branches"),
        ("tool_call_turns: 1", "tool_call_turns"),
        ("tool_call_turns: [0]", "tool_call_turns"),
        ("server_tool_call_turns: -1", "server_tool_call_turns"),
    ] {
        let error = read(&nested(&synthetic(&format!("prompt_tokens: 8, {keys}")))).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("spec.data[0].{path}: is ")) && error.contains("this engine does not"),
            "{error}"
        );
    }
    assert!(
        notices(&synthetic("prompt_tokens: 8, tool_call_turns: [], server_tool_call_turns: 0, branches: []"))
            .is_empty()
    );
    for kind in ["synthetic_video", "arrow_file", "db_file", "in_memory_dict_list"] {
        let error = read(&nested(&format!("data: [{{kind: {kind}, path: x, data: []}}]"))).unwrap_err().to_string();
        assert!(error.starts_with(&format!("spec.data[0].kind: is {kind}, which GuideLLM supports")), "{error}");
    }
}

#[test]
fn an_answer_has_exactly_the_requested_length() {
    let sampling = workload("").sampling;
    assert_eq!((sampling.ignore_eos, sampling.length_field), (true, LengthField::MaxCompletionTokens));
    let spec =
        "backend: {kind: openai_http, max_completion_tokens: 50}\ndata: [{kind: synthetic_text, prompt_tokens: 8}]";
    let workload = workload(spec);
    assert!(!workload.sampling.ignore_eos);
    assert!(
        matches!(workload.requests, RequestSource::Random { output, .. } if output == LengthDistribution::fixed(50))
    );
    let error = read(&nested("data: [{kind: synthetic_text, prompt_tokens: 8}]")).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "spec.data[0].output_tokens: is missing; write the length of answers, or set backend.max_tokens"
        ),
        "{error}"
    );
}

#[test]
fn the_backend_says_how_requests_are_made() {
    let spec = "backend: {target: 'http://server:8000/v1/', model: m, request_format: /v1/completions, timeout: 40, timeout_connect: null, stream: true, \
                extras: {headers: {x-a: b}, body: {temperature: 0.5, ignore_eos: false, min_tokens: 3}}, verify: false, http2: true, api_routes: {/health: health}}";
    let (workload, notices) = read(&nested(spec)).unwrap();
    assert_eq!(notices, [""; 0]);
    assert_eq!((workload.api, workload.model.as_deref()), (Api::Completions, Some("m")));
    assert_eq!(workload.headers["x-a"], "b");
    assert_eq!((workload.sampling.ignore_eos, workload.sampling.min_tokens), (false, Some(3)));
    assert_eq!(workload.sampling.extra.iter().map(|it| it.0).collect::<Vec<_>>(), ["temperature"]);
    let silence = Some(Span(Duration::from_secs(40)));
    assert_eq!(
        (workload.timeouts.first_token, workload.timeouts.token_gap, workload.timeouts.request),
        (silence, silence, None)
    );
    assert_eq!(self::workload("").timeouts.connect, Span(Duration::from_secs(5)));
    assert_eq!(self::workload("").api, Api::Chat);
    assert_eq!(self::workload("backend: {request_format: /v1/responses}").api, Api::Responses);
}

#[test]
fn backends_that_cannot_be_called_are_refused() {
    for (backend, expected) in [
        ("kind: vllm_python", "kind: is vllm_python, which GuideLLM supports"),
        ("request_format: /v1/embeddings", "request_format: is /v1/embeddings, which GuideLLM supports"),
        ("server_history: true", "server_history: is true, which GuideLLM supports"),
        ("multiturn_reasoning: '<t>{reasoning}</t>'", "multiturn_reasoning: is on, which GuideLLM supports"),
        (
            "api_routes: {/v1/chat/completions: /other}",
            "api_routes./v1/chat/completions: is \"/other\"; requests are sent to",
        ),
        ("extras: {params: {a: 1}}", "extras.params: is not supported"),
        (
            "extras: {body: {stream: true}}",
            "extras.body: cannot be sent: stream is a field that the launcher writes itself",
        ),
        ("extras: {headers: {Authorization: x}}", "extras.headers.Authorization: is a credential"),
        ("timout: 5", "timout: is no known key; did you mean timeout?"),
    ] {
        let error = read(&nested(&format!("backend: {{{backend}}}"))).unwrap_err().to_string();
        assert!(error.starts_with(&format!("spec.backend.{expected}")), "{error}");
    }
    check_notice("backend: {api_key: sk-secret}", "spec.backend.api_key: is not sent; put the token into a Secret");
    assert!(!notices("backend: {api_key: sk-secret}")[0].contains("sk-secret"));
}

#[test]
fn certificates_are_checked_here_and_a_notice_says_it() {
    let target = Target { url: Some("https://server"), model: None };
    let found = |backend: &str| {
        let (_, notices) = parse_text(Harness::Guidellm, target, &nested(backend)).unwrap();
        notices.iter().any(|it| {
            it.to_string().starts_with("spec.backend.verify: is off, so that GuideLLM takes every certificate")
        })
    };
    assert!(found("backend: {target: 'https://server'}"));
    assert!(!found("backend: {verify: true}"));
    check_notice(
        "backend: {target: 'http://other'}",
        "spec.backend.target: is http://other, but requests are sent to the target of the run",
    );
}

#[test]
fn rows_are_used_once_for_each_strategy() {
    let spec = "data: [{kind: json_file, path: /d/rows.jsonl}]\ndata_loader: {samples: 5, shuffle: true}\nconstraints: []\n\
                data_column_mapper: {column_mappings: {text_column: question, output_tokens_count_column: [len]}}";
    let workload = workload(spec);
    assert_eq!(
        workload.stages[0].load,
        Load::Closed { concurrency: 4, count: None, duration: None, ramp_up: Span::default(), start_rate: None }
    );
    assert!(workload.sampling.ignore_eos);
    let RequestSource::DataSet(set) = workload.requests else { panic!("it is a file") };
    assert_eq!(
        (set.used_up, set.count, set.order, set.format),
        (UsedUp::EndStage, Some(5), RowOrder::Shuffled, DataSetFormat::Jsonl)
    );
    assert_eq!(set.row, RowContent::Prompt(PromptColumn { name: "question".into(), form: PromptForm::Text }));
    assert_eq!(set.output, OutputLength::Column("len".into()));
}

#[test]
fn the_column_of_the_prompts_has_a_default_and_a_notice() {
    let found = notices("data: [{kind: csv_file, path: a.csv}]");
    assert!(found[0].starts_with("spec.data[0].kind: has its prompts in the column prompt; GuideLLM also takes the first of instruction, question"), "{found:?}");
    assert!(found[1].starts_with("spec.data[0].kind: may have a column output_tokens_count"), "{found:?}");
    let set = |spec: &str| match workload(spec).requests {
        RequestSource::DataSet(set) => set,
        other => panic!("{other:?}"),
    };
    let text = set("data: [{kind: text_file, path: a.txt}]\nbackend: {max_tokens: 7}");
    assert_eq!(
        (text.format, text.form(), text.output),
        (DataSetFormat::Text, PromptForm::Text, OutputLength::Fixed(7))
    );
    assert!(notices("data: [{kind: text_file, path: a.txt}]").is_empty());
    let messages = set(
        "data: [{kind: parquet_file, path: a.parquet}]\ndata_column_mapper: {column_mappings: {raw_messages_column: messages}}",
    );
    assert_eq!(messages.form(), PromptForm::Messages);
    check_error(
        "data: [{kind: csv_file, path: a.csv}]\ndata_column_mapper: {column_mappings: {image_column: i}}",
        "spec.data_column_mapper.column_mappings.image_column: is not supported by this engine; take it out, and the column is not sent\n\
         spec.data[0].kind: needs the name of its column of prompts; write it as text_column under spec.data_column_mapper.column_mappings",
    );
}

#[test]
fn a_data_set_of_the_hub_says_where_to_get_it() {
    check_error(
        "data: [{kind: hf, source: wikimedia/structured-wikipedia}]",
        "spec.data[0].source: is \"wikimedia/structured-wikipedia\", a data set of the Hugging Face Hub, which is not downloaded; fetch it with `hf download --repo-type dataset NAME --local-dir DIR`, and name one of its files, as {kind: parquet_file, path: DIR/data/train.parquet}",
    );
    let RequestSource::DataSet(set) = workload("data: [{kind: huggingface, path: ./rows.json}]").requests else {
        panic!("it is a file")
    };
    assert_eq!(set.format, DataSetFormat::Json);
    check_error(
        "data: [{kind: csv_file, path: a.csv, load_kwargs: {delimiter: ';'}}]",
        "spec.data[0].load_kwargs.delimiter: is an argument of GuideLLM's data set library, which this engine does not read; take it out, and prepare the rows in the file",
    );
}

#[test]
fn images_stand_beside_texts() {
    let spec = |image: &str| {
        format!(
            "data: [{{kind: synthetic_text, prompt_tokens: 8, output_tokens: 9}}, {{kind: synthetic_image, content: noise, {image}}}]"
        )
    };
    let images = workload(&spec("resolution: 360p, images_per_request: 2, format: png")).images.unwrap();
    assert_eq!((images.sizes[0].width, images.sizes[0].height, images.encoding), (640, 360, ImageEncoding::Png));
    assert_eq!(images.per_request, LengthDistribution::fixed(2));
    for (image, width, height) in [
        ("width: 33, height: 21", 32, 20),
        ("height: 90, aspect_ratio: '16:9'", 160, 90),
        ("width: 160, aspect_ratio: 16/9", 160, 90),
        ("resolution: 720p, aspect_ratio: '1:1'", 720, 720),
    ] {
        let size = workload(&spec(image)).images.unwrap().sizes[0];
        assert_eq!((size.width, size.height), (width, height), "{image}");
    }
    check_notice(
        &spec("width: 8, height: 8").replace("noise", "solid"),
        "spec.data[1].content: is solid; here images have random pixels",
    );
    check_error(
        &spec("width: 1, height: 9"),
        "spec.data[1].width: gives no size of 2 to 8192 pixels each way; write width and height, or a resolution such as 720p",
    );
    let error =
        read(&nested(&format!("backend: {{request_format: /v1/completions}}\n{}", spec("width: 8, height: 8"))))
            .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("spec.backend.request_format: is /v1/completions, and a completion cannot hold the images"),
        "{error}"
    );
}

#[test]
fn traces_are_replayed() {
    let spec = |data: &str| format!("profile: {{kind: replay, time_scale: 2}}\nconstraints: []\ndata: [{data}]");
    let trace = workload(
        &spec("{kind: trace_synthetic, source: {kind: json_file, path: t.jsonl}, input_length: x}")
            .replace(", input_length: x", ", prompt_tokens_column: in"),
    );
    let Load::Trace { trace: Trace::File(file), speed, lengths, .. } = &trace.stages[0].load else {
        panic!("it is a trace")
    };
    assert_eq!((*speed, *lengths, file.input_column.as_str(), file.at_column.as_str()), (0.5, true, "in", "timestamp"));
    let mooncake = workload(&spec("{kind: mooncake, path: t.jsonl, time_scale: 0.001}"));
    assert_eq!(mooncake.requests, RequestSource::TraceBlocks { block_size: 512 });
    let Load::Trace { trace: Trace::File(file), speed, .. } = &mooncake.stages[0].load else { panic!("it is a trace") };
    assert_eq!((*speed, file.time, file.hashes_column.as_deref()), (0.5, TraceTime::Milliseconds, Some("hash_ids")));
    let scaled = workload(&spec("{kind: mooncake, path: t.jsonl, time_scale: 0.01}"));
    let Load::Trace { trace: Trace::File(file), speed, .. } = &scaled.stages[0].load else { panic!("it is a trace") };
    assert_eq!((*speed, file.time), (50.0, TraceTime::Seconds));
    check_notice(
        &spec("{kind: mooncake, path: t.jsonl}"),
        "spec.data[0].time_scale: is 1, so that times are seconds, as with GuideLLM; the traces that Mooncake published have milliseconds, for which you must write 0.001",
    );
    let weka = "profile: {kind: concurrent, streams: 3}\ndata: [{kind: weka, source: {kind: json_file, path: w.jsonl}, max_wait: 9}]";
    let RequestSource::Recorded(recorded) = workload(weka).requests else { panic!("it is recorded") };
    assert_eq!(
        (recorded.format, recorded.max_wait),
        (RecordedFormat::Weka { block_size: 64 }, Span(Duration::from_secs(9)))
    );
    check_error(
        "profile: {kind: replay}",
        "spec.profile.kind: is replay, and the data has no recorded times; write a source of kind trace_synthetic, mooncake or weka",
    );
    let error =
        read(&nested("data: [{kind: mooncake, path: t.jsonl, min_concurrent_sessions: 4}]")).unwrap_err().to_string();
    assert!(
        error.contains("min_concurrent_sessions: is a bound between sessions")
            && error.contains("kind: is sent by the profile replay only"),
        "{error}"
    );
}

#[test]
fn objectives_bound_good_requests() {
    let goodput =
        workload("metrics: {kind: generative, slo: {ttft_ms: 2000, tpot_ms: 100, e2el_ms: 9000}, sample_size: 5}")
            .goodput;
    let millis = |it| Some(Span(Duration::from_millis(it)));
    assert_eq!((goodput.ttft, goodput.tpot, goodput.latency), (millis(2000), millis(100), millis(9000)));
}
