//! Several turns: shared prefixes and conversation replay.

use super::*;
use crate::workload::{Conversations, History, PrefixPlace, Unit};

fn conversations(keys: &str, load: &str) -> (Conversations, Vec<String>) {
    let text = format!("data: {{type: conversation_replay, conversation_replay: {{{keys}}}}}\nload: {load}");
    let (workload, notices) = read(&text).unwrap_or_else(|error| panic!("{error}"));
    match workload.requests {
        RequestSource::Conversations(it) => (*it, notices),
        other => panic!("{other:?}"),
    }
}

const LOAD: &str = "{type: concurrent, stages: [{concurrency_level: 2, num_requests: 10}]}";

#[test]
fn what_a_conversation_leaves_out_is_what_the_original_takes() {
    let (found, notices) = conversations("", LOAD);
    assert_eq!(notices, [""; 0]);
    assert_eq!(
        (found.count, found.turns, found.seed),
        (Some(200), LengthDistribution::fixed(10), Some(crds::units::Seed(42)))
    );
    assert_eq!((found.turn.input, found.turn.output), (LengthDistribution::fixed(512), LengthDistribution::fixed(256)));
    assert_eq!((found.prefixes.buckets[0].tokens, found.prefixes.place), (8359, PrefixPlace::System));
    assert_eq!((found.own_system, found.think_time), (None, None));
    // inference-perf leaves 200 tokens of the context unused.
    assert_eq!((found.max_context, found.history), (Some(224_800), History::Answers));
}

#[test]
fn a_conversation_has_the_lengths_and_times_that_it_asks_for() {
    let (found, notices) = conversations(
        "seed: 7, num_conversations: 3, shared_system_prompt_len: 0, dynamic_system_prompt_len: {type: uniform, min: 0, max: 50}, \
         turns_per_conversation: {type: normal, mean: 6, std_dev: 3.5, min: 2, max: 20}, max_model_len: 1000, \
         input_tokens_per_turn: {type: fixed, mean: 10}, output_tokens_per_turn: {type: fixed, mean: 20}, \
         tool_call_latency_sec: {type: lognormal, mean: 1.5, std_dev: 1, min: 1, max: 2}",
        LOAD,
    );
    let own = found.own_system.unwrap();
    assert_eq!((own.shape, own.min, own.max), (Shape::Uniform, 0, 50));
    assert_eq!((found.turns.min, found.turns.max, found.turns.std_dev), (2, 20, 3.5));
    assert!(found.prefixes.is_empty());
    let time = found.think_time.unwrap();
    assert_eq!(
        (time.mean.to_string(), time.max.to_string(), time.shape),
        ("1.5s".into(), "2s".into(), Shape::Lognormal)
    );
    assert_eq!(
        notices,
        [
            "data.conversation_replay.tool_call_latency_sec: is part of no latency, because it delays the next turn; inference-perf adds it to the latency of the turn before"
        ]
    );
    let (none, _) = conversations("tool_call_latency_sec: {type: normal, mean: 0, std_dev: 0, min: 0, max: 0}", LOAD);
    assert_eq!(none.think_time, None);
}

#[test]
fn a_system_prompt_leaves_room_for_a_turn() {
    let (found, notices) = conversations(
        "shared_system_prompt_len: 100, max_model_len: 10200, dynamic_system_prompt_len: {type: uniform, min: 9500, max: 50000}",
        LOAD,
    );
    let own = found.own_system.unwrap();
    assert_eq!((own.min, own.max), (9132, 9132));
    assert!(
        notices[0].starts_with("data.conversation_replay.dynamic_system_prompt_len: is at most 9132 tokens"),
        "{notices:?}"
    );
    check_error(
        &format!(
            "data: {{type: conversation_replay, conversation_replay: {{shared_system_prompt_len: 900, max_model_len: 1000}}}}\nload: {LOAD}"
        ),
        "data.conversation_replay.shared_system_prompt_len: is 900, and max_model_len is 1000, of which 200 tokens stay free; \
         lower it, or raise max_model_len",
    );
}

#[test]
fn later_stages_of_conversations_are_labelled() {
    let several = "{type: concurrent, stages: [{concurrency_level: 2, num_requests: 10}, {concurrency_level: 4, num_requests: 10}]}";
    let (_, notices) = conversations("", several);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("without system prompt and history"), "{notices:?}");
}

#[test]
fn users_of_shared_prefixes_may_have_several_turns() {
    let multi_turn = |text: &str| match workload(text).requests {
        RequestSource::SharedPrefix { multi_turn, .. } => multi_turn,
        other => panic!("{other:?}"),
    };
    assert!(multi_turn("data: {type: shared_prefix, shared_prefix: {enable_multi_turn_chat: true}}"));
    assert!(!multi_turn("data: {type: shared_prefix, shared_prefix: {enable_multi_turn_chat: false}}"));
}

#[test]
fn the_older_distribution_of_a_shared_prefix_replaces_a_number() {
    let shared = |keys: &str| format!("data: {{type: shared_prefix, shared_prefix: {{{keys}}}}}");
    let mean = |text: &str| match workload(text).requests {
        RequestSource::SharedPrefix { question_len, output_len, .. } => (question_len.mean, output_len.mean),
        other => panic!("{other:?}"),
    };
    let distribution = "{min: 1, max: 90, mean: 40, std_dev: 5}";
    let both = shared(&format!("question_len: 20, question_distribution: {distribution}, output_len: 30"));
    assert_eq!(mean(&both), (40.0, 30.0));
    check_notice(
        &both,
        "data.shared_prefix.question_len: is 20, which question_distribution replaces, as in inference-perf",
    );
    let output = shared(&format!("output_len: 20, output_distribution: {distribution}"));
    assert_eq!(mean(&output), (50.0, 40.0));
    check_error(
        &shared(&format!("output_len: {distribution}, output_distribution: {distribution}")),
        "data.shared_prefix.output_distribution: is set, and output_len is a distribution too; keep output_len",
    );
}

#[test]
fn sessions_have_the_header_that_the_api_names() {
    let api = "api: {streaming: true, session_id_header_key: x-session-id}";
    let multi_turn = "data: {type: shared_prefix, shared_prefix: {enable_multi_turn_chat: true}}";
    let sessions = workload(&format!("{api}\n{multi_turn}")).sessions;
    assert_eq!((sessions.header.as_deref(), sessions.unit), (Some("x-session-id"), Unit::Request));
    check_notice(
        api,
        "api: has session_id_header_key, which is not sent: the requests of this load do not belong to sessions",
    );
    check_error(
        &format!("api: {{streaming: true, session_token_header_key: x-token}}\n{multi_turn}"),
        "api: has session_token_header_key, and tokens of answers are not sent back; take it out, or route by session_id_header_key",
    );
}

#[test]
fn a_chat_of_data_that_the_original_sends_otherwise_has_a_notice() {
    check_notice(
        "api: {type: chat, streaming: true}\ndata: {type: shared_prefix, shared_prefix: {}}",
        "data.type: is sent in chats, as api.type says; inference-perf always sends shared prefixes without images as completions",
    );
    check_notice(
        &format!(
            "api: {{type: chat, streaming: true}}\ndata: {{type: conversation_replay, conversation_replay: {{}}}}\nload: {LOAD}"
        ),
        "data.type: is conversation_replay, which inference-perf sends as completions only; here each prompt is sent as a user message",
    );
    assert_eq!(workload("api: {type: anthropic_messages, streaming: true}").api, Api::Messages);
    check_error(
        "api: {type: embeddings}",
        "api.type: is embeddings, which inference-perf supports and this engine does not yet; choose one of completion, chat and anthropic_messages",
    );
}
