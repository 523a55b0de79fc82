//! The parts of a profile other than stages: how they are read, their defaults and their errors.

use super::{check_error, check_load_error, load, read, span, workload};
use crate::workload::*;

fn requests(keys: &str) -> RequestSource {
    workload(&format!("requests: {{{keys}}}")).requests
}

fn check_request_error(keys: &str, expected: &str) {
    check_error(&format!("requests: {{{keys}}}"), &format!("requests.{expected}"));
}

#[test]
fn a_data_set_may_be_rendered_with_the_models_template() {
    let set = "file: /d/a.json, row: {prompt: {form: messages}}, output: 64";
    let keys = |template: &str, rest: &str| {
        format!("api: completions\n{rest}requests: {{dataSet: {{{set}, chatTemplate: {template}}}}}")
    };
    let tokenizer = "tokenizer: /models/m\n";
    let RequestSource::DataSet(read) = workload(&keys("{arguments: {enable_thinking: false}}", tokenizer)).requests
    else {
        panic!("no data set")
    };
    let arguments = serde_json::json!({"enable_thinking": false}).as_object().unwrap().clone();
    assert_eq!((read.form(), read.chat_template), (PromptForm::TokenIds, Some(ChatRendering { arguments })));
    for (template, expected) in [("true", Some(ChatRendering::default())), ("false", None)] {
        let RequestSource::DataSet(read) = workload(&keys(template, tokenizer)).requests else { panic!("no data set") };
        assert_eq!(read.chat_template, expected);
    }
    let folder = "write in tokenizer the path of the folder with the model's tokenizer.json, tokenizer_config.json and chat_template.jinja, if they exist";
    let field = "requests.dataSet.chatTemplate";
    let needs = format!("{field}: renders prompts with the files of a model, and");
    check_error(&keys("true", ""), &format!("{needs} no tokenizer is named; {folder}"));
    let url = "tokenizer: {url: 'https://example.org/tokenizer.json'}\n";
    check_error(&keys("true", url), &format!("{needs} tokenizer is a URL, which gives only one file; {folder}"));
    for (template, problem) in [
        ("{}", ".arguments: is missing; write the variables of the template by their names, or chatTemplate: true"),
        ("{arguments: 5}", ".arguments: is 5; write the variables of the template by their names"),
        ("{arguments: {a: 1}, tools: []}", ".tools: is no known key; known are arguments"),
        ("maybe", ": is \"maybe\"; write true or false"),
    ] {
        check_error(&keys(template, tokenizer), &format!("{field}{problem}"));
    }
    let with_row = |row: &str| {
        format!("{tokenizer}requests: {{dataSet: {{file: /d/a.json, row: {row}, output: 64, chatTemplate: true}}}}")
    };
    check_error(
        &with_row("{prompt: {form: tokenIds}}"),
        &format!("{field}: renders messages or texts, but the rows hold token ids; take it out"),
    );
    check_error(
        &with_row("{conversation: {send: turns}}"),
        &format!(
            "{field}: renders a row before the load, but the turns of a session hold answers of this run; take it out, or send allButLast"
        ),
    );
}

#[test]
fn conversations_have_defaults() {
    let fixed = LengthDistribution::fixed;
    let turn = TurnLengths { input: fixed(10), output: fixed(20) };
    let expected = Conversations {
        count: None,
        turns: fixed(3),
        prefixes: Prefixes::shared(100, PrefixPlace::System),
        own_system: None,
        first_turn: None,
        turn,
        think_time: Some(TimeDistribution::fixed(span(5.0))),
        history: History::Answers,
        max_context: None,
        seed: None,
    };
    let keys =
        "turns: 3, turn: {input: 10, output: 20}, thinkTime: 5s, prefixes: {place: system, buckets: [{tokens: 100}]}";
    assert_eq!(requests(&format!("conversations: {{{keys}}}")), RequestSource::Conversations(Box::new(expected)));
}

#[test]
fn a_data_set_has_short_forms() {
    let prompt = PromptColumn { name: "question".into(), form: PromptForm::Text };
    let mut expected = DataSet::new("/d/a.csv.gz", DataSetFormat::Csv, prompt, 64, 1);
    expected.count = None;
    let keys = "file: /d/a.csv.gz, row: {prompt: question}, output: 64";
    assert_eq!(requests(&format!("dataSet: {{{keys}}}")), RequestSource::DataSet(expected));
    // Without a name, the usual columns are tried.
    let RequestSource::DataSet(set) =
        requests("dataSet: {file: /d/a.pkl, row: {prompt: {form: tokenIds}}, output: unbounded}")
    else {
        panic!("no data set")
    };
    assert_eq!((set.row, set.any_column), (RowContent::Prompt(PromptColumn::from_form(PromptForm::TokenIds)), true));
    assert_eq!(set.format, DataSetFormat::Pickle);
    check_request_error(
        "dataSet: {file: /d/a.bin, row: {prompt: question}, output: answer}",
        "dataSet.format: is missing; write json, jsonl, csv, parquet, text, pickle or npy; the name of the file does not end with one\n\
         requests.dataSet.output: is answer, but a row with a prompt has no answer of its own; write {column: ...}, {textOf: ...} or a number",
    );
    check_request_error(
        "dataSet: {file: 's3://a/b.json', row: {conversation: {send: turns}}, output: answer, filter: {minInput: 9, maxInput: 5}}",
        "dataSet.file: is \"s3://a/b.json\"; write a path, or an http or https URL without blanks\n\
         requests.dataSet.filter.minInput: is 9, above maxInput, which is 5; no row would pass",
    );
    check_request_error(
        "dataSet: {file: {url: 'ftp://a', sha256: abc}, format: json, row: {prompt: ''}, output: unbounded}",
        "dataSet.file.url: is \"ftp://a\"; write an http or https URL without blanks\n\
         requests.dataSet.file.sha256: is \"abc\"; write 64 hexadecimal digits\n\
         requests.dataSet.row.prompt: is empty; write the name of a column",
    );
}

#[test]
fn what_has_no_share_is_refused() {
    let above_0 = "write a number above 0 and at most 1000000000";
    check_request_error(
        "random: {input: 5, output: 5, prefixes: {buckets: [{tokens: 5}, {tokens: 5, weight: 0}]}}",
        &format!("random.prefixes.buckets[1].weight: is 0; {above_0}"),
    );
    check_error(
        "classes: {classes: [{name: a, weight: -1}, {name: b}, {name: b}]}",
        &format!(
            "classes.classes[0].weight: is -1; {above_0}\n\
             classes.classes[2].name: is \"b\", the name of an earlier class; choose another one"
        ),
    );
    check_error(
        "api: chat\nimages: {perRequest: 1, sizes: [{width: 64, height: 64, weight: 0}, {width: 0, height: 64}]}",
        &format!(
            "images.sizes[0].weight: is 0; {above_0}\n\
             images.sizes[1].width: is 0; write a whole number from 1 to 8192"
        ),
    );
}

#[test]
fn classes_are_adapters_or_priorities() {
    let classes = workload(
        "classes: {classes: [{name: sql, weight: 3, model: lora-sql}, {name: batch, headers: {x-p: low}, extra: {priority: 5}}]}",
    )
    .classes;
    assert_eq!(classes.assignment, Assignment::Random);
    assert_eq!((classes.classes[0].model.as_deref(), classes.classes[0].weight), (Some("lora-sql"), 3.0));
    assert_eq!((classes.classes[1].headers["x-p"].as_str(), classes.classes[1].weight), ("low", 1.0));
    check_error(
        "classes: {classes: [{name: a, headers: {authorization: b}, extra: {stream: true}}]}",
        "classes.classes[0].headers.authorization: is a credential, and a profile is not secret; put it into a Secret, and name the Secret in target.auth\n\
         classes.classes[0].extra: cannot be sent: stream is a field that the launcher writes itself; take it out",
    );
}

#[test]
fn a_session_sends_its_id_in_a_field_that_is_free() {
    let sessions = workload("sessions: {unit: session, header: x-session, keepConnection: true}").sessions;
    assert_eq!((sessions.unit, sessions.header.as_deref()), (Unit::Session, Some("x-session")));
    check_error(
        "sessions: {header: Connection}",
        "sessions.header: is \"Connection\", which is set by the launcher; take it out",
    );
}

#[test]
fn stop_rules_are_read_and_bounded() {
    let rules = workload(
        "stopRules: [{name: a, hit: failed, limit: {inARow: 3}}, \
         {name: b, hit: {status: 503}, limit: {shareWithin: {share: 0.5, within: 30s}}, scope: stage}]",
    )
    .stop_rules;
    assert_eq!((rules[0].hit, rules[0].limit, rules[0].scope), (Hit::Failed, HitLimit::InARow(3), StopScope::Load));
    assert_eq!(rules[1].limit, HitLimit::ShareWithin { share: 0.5, within: span(30.0), least: 1 });
    check_error(
        "streaming: false\nstopRules: [{name: a, hit: {ttftAbove: 5s}, limit: {shareOfLast: {share: 2, of: 0}}}]",
        "stopRules[0].hit.ttftAbove: is measured in streams only, and streaming is off; write latencyAbove\n\
         stopRules[0].limit.shareOfLast.share: is 2; write a number above 0 and at most 1\n\
         stopRules[0].limit.shareOfLast.of: is 0; write a whole number from 1 to 10000000",
    );
}

#[test]
fn a_measured_rate_names_an_earlier_stage() {
    let stages = |from: &str| {
        let rate = format!("{{measured: {{from: {from}, to: {{drain: {{stage: 0}}}}, position: 0.5}}}}");
        format!(
            "stages: [{{load: {{closed: {{concurrency: 1, count: 9}}}}}}, {{load: {{open: {{rate: {rate}, duration: 9s}}}}}}]"
        )
    };
    let load = workload(&stages("{throughput: 0}")).stages.remove(1).load;
    let Load::Open { rate: Rate::Varying(RateShape::Measured(measured)), .. } = load else { panic!("it is measured") };
    assert_eq!(measured.to, RateBound::Drain { stage: 0, percentile: 95.0 });
    check_error(
        &stages("{throughput: 1}"),
        "stages[1].load.open.rate.measured.from.throughput: is 1, and stages count from 0; write 0, the only stage before this one",
    );
    check_load_error(
        "open: {rate: {measured: {from: {rate: 1}, to: {throughput: 0}, position: 1}}, duration: 9s}",
        "open.rate.measured.to.throughput: is 0, and stages count from 0; this stage is the first one; write a stage before it",
    );
}

#[test]
fn users_need_a_time_or_a_count() {
    assert_eq!(load("users: {users: 15, rate: 0.5, turns: 20, duration: 100s}").mean_count(), 50.0);
    check_load_error(
        "users: {users: 0, rate: 1, turns: 1}",
        "users.users: is 0; write a whole number from 1 to 60000\n\
         stages[0].load.users.duration: is missing; write how long requests are sent, or their count",
    );
}

#[test]
fn prompts_of_blocks_need_a_trace_that_names_the_blocks() {
    let stages = |load: &str| format!("requests: {{traceBlocks: {{blockSize: 512}}}}\nstages: [{{load: {{{load}}}}}]");
    workload(&stages("trace: {trace: {file: {path: a.jsonl, hashesColumn: hash_ids}}}"));
    for (load, message) in [
        (
            "trace: {trace: {file: {path: a.jsonl}}}",
            "has no hashesColumn, but requests is traceBlocks; write the column that holds the hashes of blocks",
        ),
        (
            "trace: {trace: {inline: [{at: 0s}]}}",
            "is an inline trace, which holds no hashes of blocks, but requests is traceBlocks; write a file",
        ),
        (
            "burst: {count: 1}",
            "is no trace, but requests is traceBlocks, whose prompts a trace names; write a trace, or other requests",
        ),
    ] {
        check_error(&stages(load), &format!("stages[0].load: {message}"));
    }
    let hashes = "stages: [{load: {trace: {trace: {file: {path: a.jsonl, hashesColumn: hash_ids}}}}}]";
    assert_eq!(
        read(hashes).unwrap().1,
        [
            "stages[0].load.trace.trace.file.hashesColumn: is not used: only requests: {traceBlocks: ...} are made of blocks"
        ]
    );
}

#[test]
fn images_of_a_group_need_groups() {
    let images = "api: chat\nimages: {perRequest: 1, sizes: [{width: 64, height: 64}], sharedByGroup: true}";
    check_error(
        images,
        "images.sharedByGroup: is on, but the requests have no shared prefixes; take it out, or write sharedPrefix or prefixes",
    );
    let prefixes = "requests: {random: {input: 5, output: 5, prefixes: {buckets: [{tokens: 5}]}}}";
    assert!(workload(&format!("{images}\n{prefixes}")).images.is_some());
}

#[test]
fn a_skewed_length_has_a_skew() {
    let input = |shape: &str| format!("random: {{input: {{shape: {shape}, mean: 10}}, output: 1}}");
    let RequestSource::Random { input: skewed, .. } = requests(&input("{skewNormal: {skew: 4}}")) else {
        panic!("it is random")
    };
    assert_eq!(skewed.shape, Shape::SkewNormal { skew: 4.0 });
    check_request_error(
        &input("skewNormal"),
        "random.input.shape: is only the word skewNormal; write a mapping, shape: {skewNormal: ...}",
    );
    check_request_error(
        &input("{poisson: {skew: 1}}"),
        "random.input.shape: takes no settings for poisson; write shape: poisson",
    );
}

#[test]
fn a_limit_is_on_a_figure_of_its_check() {
    let rows = "requests: {dataSet: {file: /data/rows.jsonl, row: {prompt: question}, output: 64}}";
    let profile = |check: &str, figure: &str| {
        format!("{rows}\naccuracy: {{check: {check}, limits: {{atLeast: {{{figure}: 38}}}}}}")
    };
    for (check, figure, known) in [
        ("exactMatch", "rouge1", "exact_match"),
        ("number", "gsm8k", "exact_match"),
        ("rouge", "exact_match", "rouge1, rouge2, rougeL and rougeLsum"),
        ("mixtral-8x7b", "exact_match", "rouge1, rouge2, rougeL, rougeLsum and gsm8k"),
        ("llama3.1-405b", "rouge1", "rougeL and exact_match"),
        ("llama2-70b-99.9", "gsm8k", "rouge1, rouge2, rougeL and rougeLsum"),
    ] {
        let message = format!(
            "accuracy.limits.atLeast.{figure}: is a figure that the check {check} does not compute; bound one of {known}"
        );
        check_error(&profile(check, figure), &message);
    }
    for (check, figure) in [("exactMatch", "exact_match"), ("rouge", "rougeLsum"), ("mixtral-8x7b", "gsm8k")] {
        let accuracy = workload(&profile(check, figure)).accuracy.unwrap();
        assert_eq!(accuracy.limits, AccuracyLimits::AtLeast([(figure.to_owned(), 38.0)].into()));
    }
    // The message about an unknown check lists no figures.
    let error = read(&profile("bleu", "rouge1")).unwrap_err();
    assert!(error.starts_with("accuracy.check: is \"bleu\"") && !error.contains("atLeast"), "{error}");
}
