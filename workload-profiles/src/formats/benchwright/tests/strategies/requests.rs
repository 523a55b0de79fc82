//! Proptest strategies for the contents of requests.

use crds::units::Seed;
use proptest::{option, prelude::*, sample::select};

use super::some_span;
use crate::workload::*;

/// Any distribution. For some shapes the mean may lie outside the bounds.
pub(super) fn some_length() -> BoxedStrategy<LengthDistribution> {
    let shape = prop_oneof![
        select(vec![Shape::Normal, Shape::Lognormal, Shape::Poisson, Shape::Uniform, Shape::Fixed]),
        (-9.0_f64..9.0).prop_map(|skew| Shape::SkewNormal { skew }),
    ];
    (shape, 1_u32..500, 0_u32..500, 0.0_f64..1.0, 0.0_f64..300.0, option::of(1_u32..99))
        .prop_map(|(shape, min, more, part, std_dev, total_count)| {
            let within = matches!(shape, Shape::Normal | Shape::Fixed);
            let mean = if within { f64::from(min) + part * f64::from(more) } else { 0.5 + 1_000.0 * part };
            LengthDistribution { shape, min, max: min + more, mean, std_dev, total_count }
        })
        .boxed()
}

fn some_time() -> BoxedStrategy<TimeDistribution> {
    let drawn = (some_span(), some_span(), some_span(), some_span()).prop_map(|(one, other, mean, std_dev)| {
        TimeDistribution { shape: Shape::Lognormal, min: one.min(other), max: one.max(other), mean, std_dev }
    });
    prop_oneof![some_span().prop_map(TimeDistribution::fixed), drawn].boxed()
}

pub(super) fn some_file() -> BoxedStrategy<FileSource> {
    prop_oneof![
        "/[a-z]{1,9}(\\.jsonl)?".prop_map(|it| it.as_str().into()),
        ("https?://[a-z]{1,9}/[a-z]{1,9}\\?a=b", option::of("[0-9a-f]{64}"))
            .prop_map(|(url, sha256)| FileSource::Url(RemoteFile { url, sha256 })),
    ]
    .boxed()
}

fn some_prefixes() -> BoxedStrategy<Prefixes> {
    let bucket = (0.01_f64..99.0, 1_u32..99, 1_u32..9_999).prop_map(|(weight, count, tokens)| PrefixBucket {
        weight,
        count,
        tokens,
    });
    let choice = select(vec![PrefixChoice::Random, PrefixChoice::EqualShares]);
    let place = select(vec![PrefixPlace::Prompt, PrefixPlace::System]);
    let some = (prop::collection::vec(bucket, 1..4), choice, place).prop_map(|(buckets, choice, place)| Prefixes {
        buckets,
        choice,
        place,
    });
    prop_oneof![Just(Prefixes::default()), some].boxed()
}

fn some_conversations() -> BoxedStrategy<RequestSource> {
    let turn = || (some_length(), some_length()).prop_map(|(input, output)| TurnLengths { input, output });
    let history = select(vec![History::Answers, History::Nothing]);
    let texts = (some_prefixes(), option::of(some_length()), option::of(turn()), turn());
    let rest = (option::of(some_time()), history, option::of(1_u32..99_999), option::of(any::<u64>().prop_map(Seed)));
    (option::of(1_u32..999), some_length(), texts, rest)
        .prop_map(
            |(count, turns, (prefixes, own_system, first_turn, turn), (think_time, history, max_context, seed))| {
                RequestSource::Conversations(Box::new(Conversations {
                    count,
                    turns,
                    prefixes,
                    own_system,
                    first_turn,
                    turn,
                    think_time,
                    history,
                    max_context,
                    seed,
                }))
            },
        )
        .boxed()
}

fn some_data_set() -> BoxedStrategy<RequestSource> {
    let formats = DataSetFormat::ALL;
    let forms = select(vec![PromptForm::Text, PromptForm::TokenIds, PromptForm::Messages]);
    let uses = [
        ConversationUse::FirstTurn,
        ConversationUse::AllButLast,
        ConversationUse::All,
        ConversationUse::JoinedText,
        ConversationUse::Turns,
    ];
    let of_any_row = || {
        prop_oneof![
            (1_u32..9_999).prop_map(OutputLength::Fixed),
            "[a-z]{1,9}".prop_map(OutputLength::Column),
            "[a-z]{1,9}".prop_map(OutputLength::TextOf),
            Just(OutputLength::Unbounded),
        ]
    };
    let prompt = ("[a-z]{1,9}", forms, of_any_row())
        .prop_map(|(name, form, output)| (RowContent::Prompt(PromptColumn { name, form }), output, None));
    let of_conversation = prop_oneof![of_any_row(), Just(OutputLength::Answer)];
    let conversation = ("[a-z]{1,9}", select(uses.to_vec()), of_conversation, option::of(0_u32..9))
        .prop_map(|(column, send, output, min_turns)| (RowContent::Conversation { column, send }, output, min_turns));
    let filter = (option::of(0_u32..99), option::of(99_u32..999), option::of(0_u32..99), option::of(99_u32..999));
    let used_up = select(vec![UsedUp::Refuse, UsedUp::Repeat, UsedUp::Draw, UsedUp::EndStage]);
    let rest = (option::of(1_u64..999), any::<(bool, bool)>(), used_up, option::of(1_u32..999));
    (some_file(), select(formats.to_vec()), prop_oneof![prompt, conversation], filter, rest)
        .prop_map(
            |(file, format, (row, output, min_turns), filter, (count, (shuffled, goes_on), used_up, max_total))| {
                let (min_input, max_input, min_output, max_output) = filter;
                RequestSource::DataSet(DataSet {
                    file,
                    format,
                    row,
                    any_column: false,
                    chat_template: None,
                    output,
                    count,
                    filter: LengthFilter { min_input, max_input, min_output, max_output, max_total, min_turns },
                    order: if shuffled { RowOrder::Shuffled } else { RowOrder::File },
                    used_up,
                    across_stages: if goes_on { AcrossStages::Continue } else { AcrossStages::Restart },
                })
            },
        )
        .boxed()
}

fn some_recorded() -> BoxedStrategy<RequestSource> {
    let files = prop_oneof![
        "/[a-z]{1,9}".prop_map(|it| RecordedFiles::Folder(it.into())),
        prop::collection::vec(some_file(), 1..4).prop_map(RecordedFiles::Files),
    ];
    let format = prop_oneof![
        Just(RecordedFormat::OpenTelemetry),
        (1_u32..999).prop_map(|block_size| RecordedFormat::Weka { block_size }),
    ];
    let waits = select(vec![RecordedWaits::All, RecordedWaits::ThinkTime, RecordedWaits::Nothing]);
    let answers =
        select(vec![RecordedAnswers::Server, RecordedAnswers::ServerUnlessMalformed, RecordedAnswers::Recorded]);
    let times = (some_span(), option::of(some_span()), waits);
    let filter = option::of((0_u32..99).prop_map(|it| format!("lambda session: session['num_turns'] > {it}")));
    let sessions = (option::of(1_u32..999), filter, any::<[bool; 6]>());
    (files, format, times, (answers, 1_u32..999), sessions)
        .prop_map(
            |(files, format, (max_wait, max_idle, waits), (answers, default_output), (duplicate_to, filter, flags))| {
                RequestSource::Recorded(RecordedSessions {
                    files,
                    format,
                    max_wait,
                    max_idle,
                    waits,
                    answers,
                    default_output,
                    duplicate_to,
                    unique: flags[0],
                    filter,
                    include_errors: flags[1],
                    skip_invalid_files: flags[2],
                    tool_calls: RecordedToolCalls { forced: flags[3], open_ended: flags[4] },
                    across_stages: if flags[5] { AcrossStages::Continue } else { AcrossStages::Restart },
                })
            },
        )
        .boxed()
}

/// Any requests except prompts of blocks, which need a trace for each stage.
pub(super) fn some_requests() -> BoxedStrategy<RequestSource> {
    let text = prop_oneof![
        Just(PromptText::Words),
        Just(PromptText::Prose),
        (0_u32..99, 0_u32..99)
            .prop_map(|(min, more)| PromptText::TokenIds(TokenIdRange::new(min, min + more).unwrap())),
    ];
    let seed = option::of(any::<u64>().prop_map(Seed));
    let random = (some_length(), some_length(), text, some_prefixes())
        .prop_map(|(input, output, text, prefixes)| RequestSource::Random { input, output, text, prefixes });
    let shared = ((1_u32..99, 1_u32..99), some_length(), some_length(), some_length(), seed, any::<bool>()).prop_map(
        |((groups, prompts_per_group), system_prompt_len, question_len, output_len, seed, multi_turn)| {
            RequestSource::SharedPrefix {
                groups,
                prompts_per_group,
                system_prompt_len,
                question_len,
                output_len,
                seed,
                multi_turn,
            }
        },
    );
    prop_oneof![Just(RequestSource::Mock), random, shared, some_conversations(), some_data_set(), some_recorded()]
        .boxed()
}

/// Any images. `grouped`: whether the requests belong to groups, so that the requests of a group could share images.
pub(super) fn some_images(grouped: bool) -> BoxedStrategy<Images> {
    let per_request = prop_oneof![
        (0_u32..9).prop_map(LengthDistribution::fixed),
        (0_u32..9, 0_u32..9).prop_map(|(min, more)| LengthDistribution::uniform(min, min + more)),
    ];
    let size = (1_u32..8_193, 1_u32..8_193, 0.01_f64..99.0).prop_map(|(width, height, weight)| ImageSize {
        width,
        height,
        weight,
    });
    let encoding = select(vec![ImageEncoding::Png, ImageEncoding::Jpeg]);
    let place = select(vec![ImagePlace::BeforeText, ImagePlace::AfterText, ImagePlace::Random]);
    (per_request, prop::collection::vec(size, 1..4), encoding, place, any::<bool>())
        .prop_map(move |(per_request, sizes, encoding, place, shared)| {
            let shared_by_group = shared && grouped;
            Images { per_request, sizes, encoding, place, shared_by_group }
        })
        .boxed()
}
