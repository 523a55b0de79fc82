use super::*;
use crate::workload::{
    Conversations, FileSource, ImageEncoding, LengthDistribution, Load, OutputLength, PrefixPlace, PromptText,
    RemoteFile, RequestSource, RowOrder, Shape, Trace, TraceTime, Unit, UsedUp,
};

fn conversations(flags: &str) -> Conversations {
    match workload(flags).requests {
        RequestSource::Conversations(conversations) => *conversations,
        other => panic!("{other:?}"),
    }
}

#[test]
fn prompts_are_prose_of_drawn_lengths() {
    let RequestSource::Random { input, output, text, prefixes } =
        workload("isl: 1000\nisl-stddev: 50\nosl: 200").requests
    else {
        panic!("it is random")
    };
    assert_eq!((input.shape, input.mean, input.std_dev, input.min), (Shape::Normal, 1_000.0, 50.0, 1));
    assert_eq!((output, text, prefixes.is_empty()), (LengthDistribution::fixed(200), PromptText::Prose, true));
    let RequestSource::Random { input, .. } = workload("model: m").requests else { panic!("it is random") };
    assert_eq!(input, LengthDistribution::fixed(550));
    check_notice("osl-stddev: 5", "osl-stddev: is not used: it needs osl");
}

#[test]
fn prompts_may_share_their_beginning() {
    let prefixes = |flags: &str| match workload(flags).requests {
        RequestSource::Random { prefixes, .. } => prefixes,
        other => panic!("{other:?}"),
    };
    let pool = prefixes("num-prefix-prompts: 3\nprefix-prompt-length: 40");
    assert_eq!((pool.buckets[0].count, pool.buckets[0].tokens, pool.place), (3, 40, PrefixPlace::Prompt));
    let system = prefixes("shared-system-prompt-length: 70");
    assert_eq!((system.buckets[0].count, system.buckets[0].tokens, system.place), (1, 70, PrefixPlace::System));
    assert!(prefixes("prefix-prompt-length: 40").is_empty());
}

/// `num-dataset-entries` limits the number of distinct prompts. Its default is the number of conversations or requests.
#[test]
fn prompts_repeat_where_the_data_set_is_smaller() {
    assert_eq!(conversations("num-dataset-entries: 5\nrequest-count: 12").count, Some(5));
    assert_eq!(conversations("benchmark-duration: 60").count, Some(100));
    check_notice(
        "num-dataset-entries: 5\nrequest-count: 12",
        "num-dataset-entries: gives 5 distinct prompts or conversations, which are sent again in the same order when they are used up; AIPerf shuffles them",
    );
    for flags in ["request-count: 5000", "conversation-num: 7", "num-dataset-entries: 50\nrequest-count: 50"] {
        assert!(matches!(workload(flags).requests, RequestSource::Random { .. }), "{flags}");
    }
}

#[test]
fn conversations_have_turns_and_think_times() {
    let flags = "conversation-num: 8\nsession-turns-mean: 4\nsession-turn-delay-mean: 500\nsession-delay-ratio: 2\nconcurrency: 3\nisl: 100\nosl: 10";
    let found = conversations(flags);
    assert_eq!((found.count, found.turns), (None, LengthDistribution::fixed(4)));
    assert_eq!(found.think_time.unwrap().mean.to_string(), "1s");
    let workload = workload(flags);
    assert_eq!((workload.sessions.unit, &workload.stages[0].load), (Unit::Session, &Load::closed(3, 8)));
    let requests = "request-count: 10\nconversation-turn-mean: 4";
    check_notice(requests, "request-count: is 10, and whole conversations are sent here: 3 of about 4 turns");
    assert_eq!(super::workload(requests).stages[0].load.count(), Some(3));
    check_error(
        "request-rate: 5\nconversation-turn-mean: 4",
        "conversation-turn-mean: gives sessions of several turns, which request-rate cannot start here; set concurrency, or user-centric-rate and num-users",
    );
}

#[test]
fn users_send_conversations() {
    let flags = "user-centric-rate: 2\nnum-users: 15\nsession-turns-mean: 20\nbenchmark-duration: 60\nconversation-turn-delay-mean: 5";
    let workload = workload(flags);
    assert_eq!(workload.sessions.unit, Unit::Request);
    assert_eq!(conversations(flags).think_time, None);
}

#[test]
fn images_have_the_mean_size() {
    let images = workload("image-width-mean: 512\nimage-height-mean: 256\nimage-batch-size: 2\nimage-format: jpeg")
        .images
        .unwrap();
    assert_eq!((images.sizes[0].width, images.sizes[0].height, images.per_request.max), (512, 256, 2));
    assert_eq!(images.encoding, ImageEncoding::Jpeg);
    assert_eq!(workload("image-width-mean: 512").images, None);
    check_error(
        "image-width-mean: 512\nimage-height-mean: 256\nimage-width-stddev: 5",
        "image-width-stddev: is not supported: all images have the mean size; take it out",
    );
}

#[test]
fn a_file_of_single_turns_is_a_data_set() {
    let set = |flags: &str| match workload(&format!("input-file: a.jsonl\ncustom-dataset-type: single_turn\n{flags}"))
        .requests
    {
        RequestSource::DataSet(set) => set,
        other => panic!("{other:?}"),
    };
    let found = set("");
    assert_eq!((found.order, found.used_up, found.output), (RowOrder::File, UsedUp::Repeat, OutputLength::Unbounded));
    assert_eq!(set("osl: 70").output, OutputLength::Fixed(70));
    assert_eq!(set("dataset-sampling-strategy: random").used_up, UsedUp::Draw);
    check_notice(
        "input-file: a.jsonl\ncustom-dataset-type: single_turn\ndataset-sampling-strategy: random",
        "dataset-sampling-strategy: is random: each row is sent once, in random order, before further rows are drawn; AIPerf draws from all \
         rows for each request",
    );
    let url = "https://host/rows.jsonl";
    let RequestSource::DataSet(found) =
        workload(&format!("input-file: {url}\ncustom-dataset-type: single_turn")).requests
    else {
        panic!("it is a file")
    };
    assert_eq!(found.file, FileSource::Url(RemoteFile { url: url.into(), sha256: None }));
    check_error(
        "input-file: s3://host/rows.jsonl\ncustom-dataset-type: single_turn",
        "input-file: is \"s3://host/rows.jsonl\"; write a path, or an http or https URL without blanks",
    );
    check_error(
        "input-file: a.jsonl",
        "custom-dataset-type: is missing; write the type of input-file, one of single_turn, mooncake_trace and burst_gpt_trace",
    );
    check_error(
        "custom-dataset-type: single_turn",
        "custom-dataset-type: is the type of input-file, which is missing; write the path of the file",
    );
    check_error(
        "input-file: a\ncustom-dataset-type: multi_turn",
        "custom-dataset-type: is multi_turn, whose turns have no roles and cannot be sent; write role and content into each turn, and send the file \
         with a profile of benchwright: {dataSet: {row: {conversation: {column: turns, send: turns}}}}",
    );
    check_error(
        "input-file: a\ncustom-dataset-type: random_pool",
        "custom-dataset-type: is \"random_pool\", which cannot be sent; choose one of single_turn, mooncake_trace and burst_gpt_trace, and give the file that form",
    );
}

#[test]
fn a_trace_is_a_fixed_schedule() {
    let trace = |flags: &str| match workload(flags).stages.pop().unwrap().load {
        Load::Trace { trace: Trace::File(file), speed, count, lengths: true, max_concurrency } => {
            (file, speed, count, max_concurrency)
        }
        other => panic!("{other:?}"),
    };
    let mooncake = "input-file: t.jsonl\ncustom-dataset-type: mooncake_trace\nconcurrency: 16\nrequest-count: 500";
    let (file, speed, count, limit) = trace(mooncake);
    assert_eq!((file.time, file.hashes_column.as_deref(), speed), (TraceTime::Milliseconds, Some("hash_ids"), 1.0));
    assert_eq!((count, limit), (Some(500), Some(16)));
    assert_eq!(workload(mooncake).requests, RequestSource::TraceBlocks { block_size: 512 });
    let burst =
        "input-file: b.csv\ncustom-dataset-type: burst_gpt_trace\nfixed-schedule: none\nsynthesis-speedup-ratio: 2";
    let (file, speed, count, _) = trace(burst);
    assert_eq!(
        (file.at_column.as_str(), file.input_column.as_str(), speed, count),
        ("Timestamp", "Request tokens", 2.0, None)
    );
    assert!(matches!(workload(burst).requests, RequestSource::Random { text: PromptText::Prose, .. }));
    check_error(
        &format!("{mooncake}\nno-fixed-schedule: none"),
        "no-fixed-schedule: sends the prompts of a trace at other times, which is not supported; take it out to send them at the recorded times",
    );
    check_error(&format!("{mooncake}\nrequest-rate: 5"), "request-rate: belongs to another kind of load; take it out");
    check_error(
        "fixed-schedule: none",
        "fixed-schedule: needs a trace; set custom-dataset-type to mooncake_trace or burst_gpt_trace, and input-file to the trace",
    );
}
