//! Tests with recorded responses of real servers. Each response is parsed whole, cut at every byte, and over a real socket. The result must
//! always be what an independent reader finds.
//!
//! `SERVER_TRANSCRIPTS=DIR cargo test -p engine --test tests server_transcripts::` reads any folder of recordings instead of the project's
//! own. In both cases the tests report on stderr how much they compared. The result is checked for chats and completions. Responses of
//! other endpoints must yield the same result however they are cut, and must cause no panic.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod cases;
mod reading;
mod socket;

use std::{
    env,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::Duration,
};

use cases::Case;
use engine::client::{Failure, answer::Answer};
use measurement::record::RequestOutcome;

/// Lengths of the pieces that a body is cut into. The first cut is made at every possible offset, so that every byte is a cut.
const PIECES: [usize; 5] = [1, 2, 3, 7, 64];
/// A body up to this length, in bytes, is also cut into two pieces, at every byte.
const MAX_IN_TWO: usize = 1_500;

fn own() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/server-transcripts")
}

fn case(name: &str) -> Case {
    cases::of_json(&own().join(name)).unwrap()
}

/// Lets all bytes arrive at the same time.
fn constant(_: usize) -> Duration {
    Duration::from_secs(1)
}

/// Feeds the pieces to an answer, each as a separate read. `at` returns the time of a piece by its index.
fn feed(case: &Case, pieces: &[&[u8]], at: impl Fn(usize) -> Duration) -> (Answer, Result<RequestOutcome, Failure>) {
    feed_to(Answer::default(), case, pieces, at)
}

fn feed_to(
    mut answer: Answer,
    case: &Case,
    pieces: &[&[u8]],
    at: impl Fn(usize) -> Duration,
) -> (Answer, Result<RequestOutcome, Failure>) {
    answer.head(case.status, case.header("content-type"), case.streaming);
    for (place, piece) in pieces.iter().enumerate() {
        answer.bytes(piece, at(place), place as u64 + 1);
    }
    let end = pieces.len();
    if case.ended {
        answer.end(at(end.saturating_sub(1)), end as u64);
    } else if !answer.has_failed() && !answer.is_complete() {
        // The error of the client if the connection ends within a body.
        return (answer, Err(Failure::new(RequestOutcome::BrokenStream, "the connection broke in the answer: cut")));
    }
    let verdict = answer.conclude();
    (answer, verdict)
}

/// Returns the part of the result that does not depend on how the bytes were cut.
fn meaning((answer, verdict): &(Answer, Result<RequestOutcome, Failure>)) -> impl PartialEq + std::fmt::Debug + use<> {
    let times = (answer.first_token, answer.last_token, answer.gaps.len());
    (answer.content_events, times, answer.usage, verdict.clone())
}

fn outcome(verdict: &Result<RequestOutcome, Failure>) -> RequestOutcome {
    verdict.as_ref().map_or_else(|failure| failure.outcome, |outcome| *outcome)
}

/// Cuts a body in many ways and compares the results. Returns the number of ways.
fn assert_cuts(case: &Case) -> usize {
    let (body, name) = (case.body.as_slice(), &case.name);
    let whole = meaning(&feed(case, &[body], constant));
    assert_eq!(meaning(&feed(case, &case.pieces(), constant)), whole, "{name} in its frames");
    let mut cuts = 2;
    let mut assert_same = |pieces: &[&[u8]], how: &str, at: usize| {
        assert_eq!(meaning(&feed(case, pieces, constant)), whole, "{name} cut {how} {at}");
        cuts += 1;
    };
    for size in PIECES {
        for offset in 0..size.min(body.len()) {
            let (first, rest) = body.split_at(offset);
            let pieces: Vec<&[u8]> = [first].into_iter().chain(rest.chunks(size)).collect();
            assert_same(&pieces, &format!("into pieces of {size} from"), offset);
        }
    }
    if body.len() <= MAX_IN_TWO {
        for at in 0..=body.len() {
            let (first, rest) = body.split_at(at);
            assert_same(&[first, rest], "in two at", at);
        }
    }
    cuts
}

/// Compares the launcher's result with the result of the independent reader.
fn assert_meaning(case: &Case) {
    let expected = reading::read(case);
    let second = |place: usize| Duration::from_secs(place as u64 + 1);
    let (answer, verdict) = feed(case, &case.pieces(), second);
    let name = &case.name;
    assert_eq!(outcome(&verdict), expected.outcome, "{name}: {verdict:?} {expected:?}");
    assert_eq!(answer.content_events, expected.events, "{name}");
    let tokens = |it: Option<u32>| it.map(u64::from);
    assert_eq!((tokens(answer.usage.prompt_tokens), tokens(answer.usage.completion_tokens)), expected.usage, "{name}");
    // An event has the time of the piece that completed it.
    let time_of =
        |place: usize| second(case.frames.iter().position(|end| *end > place).unwrap_or(case.frames.len() - 1));
    let times = expected.tokens.map(|(first, last)| (time_of(first), time_of(last)));
    let found = answer.first_token.zip(answer.last_token);
    assert_eq!(found, times, "{name}: first and last token");
    assert_eq!(answer.gaps.len(), expected.events.saturating_sub(1) as usize, "{name}");
    assert!(answer.reads <= u64::from(expected.events) && answer.coalesced_reads <= answer.reads, "{name}");
    if let Err(failure) = &verdict {
        let length = failure.message.chars().count();
        assert!((3..=203).contains(&length) && !failure.message.contains('\n'), "{name}: {failure:?}");
        if let Some(words) = &expected.error {
            assert!(failure.message.contains(words), "{name}: {failure:?} does not tell {words}");
        }
    }
}

/// Compares the kept output with the independent reader's, and everything else with the result without kept output. Returns how many token
/// ids were compared.
fn assert_output(case: &Case) -> usize {
    let name = &case.name;
    let mut keeping = Answer::default();
    keeping.keep_output();
    let mut kept = feed_to(keeping, case, &case.pieces(), constant);
    assert_eq!(meaning(&kept), meaning(&feed(case, &case.pieces(), constant)), "{name}");
    let output = kept.0.take_output().unwrap();
    let expected = reading::read(case).output;
    assert_eq!(output.text, expected.text, "{name}");
    assert_eq!(output.token_ids, expected.token_ids, "{name}");
    assert_eq!(output.first, expected.first, "{name}");
    if let Some(tokens) = kept.0.usage.completion_tokens.filter(|_| !output.token_ids.is_empty()) {
        // `tokens` also counts the tokens of the other choices.
        assert!(output.token_ids.len() <= tokens as usize, "{name}");
    }
    output.token_ids.len()
}

/// Reads the response through the whole client, over loopback.
async fn assert_socket(case: &Case) {
    let expected = feed(case, &case.pieces(), constant);
    let (answer, verdict) = socket::call(case).await;
    let name = &case.name;
    assert_eq!(outcome(&verdict), outcome(&expected.1), "{name}: {verdict:?}");
    if case.ended {
        assert_eq!(verdict, expected.1, "{name}");
    }
    assert_eq!((answer.content_events, answer.usage), (expected.0.content_events, expected.0.usage), "{name}");
    assert_eq!(answer.gaps.len(), expected.0.gaps.len(), "{name}");
    let has_token = |it: &Answer| (it.first_token.is_some(), it.last_token.is_some());
    assert_eq!(has_token(&answer), has_token(&expected.0), "{name}");
    assert!(answer.first_token <= answer.last_token || answer.first_token.is_none(), "{name}");
}

#[test]
fn every_recorded_answer_means_what_it_says_however_it_arrives() {
    let given = env::var_os("SERVER_TRANSCRIPTS").map(PathBuf::from);
    // A test runs in the folder of its package, but the caller gave a path relative to the project's root.
    let above = |it: PathBuf| if it.exists() { it } else { own().ancestors().nth(5).unwrap().join(it) };
    let root = given.clone().map_or_else(own, above);
    let mut folder = cases::read(&root);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut cuts, mut read, mut replayed, mut ids) = (0, 0, 0, 0);
    let mut failed = Vec::new();
    for case in &folder.cases {
        // A failing case must not hide later cases. Its panic message shows what is wrong.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            cuts += assert_cuts(case);
            if !case.is_generation() {
                *folder.skipped.entry("only cut: another endpoint").or_default() += 1;
                return;
            }
            assert_meaning(case);
            ids += assert_output(case);
            read += 1;
            runtime.block_on(assert_socket(case));
            replayed += 1;
        }));
        failed.extend(checked.is_err().then_some(&case.name));
    }
    let (folders, cases, skipped) = (folder.folders, folder.cases.len(), &folder.skipped);
    // Print macros are not used, because their output is shown only if a test fails.
    writeln!(
        std::io::stderr(),
        "{folders} folders, {cases} cases, {cuts} cuts; {read} read another way with {ids} token ids, {replayed} over a socket; skipped: {skipped:?}"
    )
    .unwrap();
    assert!(failed.is_empty(), "{} of {cases} cases fail: {failed:#?}", failed.len());
    let least = if given.is_some() { [1, 1, 1, 0] } else { [14, 90, 60, 7] };
    let found = [folders, cases, read, ids];
    assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{found:?} in {}", root.display());
}

/// Checks a made-up response in the same ways as a recorded one.
fn assert_made_up(name: &str, kind: &str, body: &[u8], expected: RequestOutcome, events: u32) {
    let case = Case {
        name: name.to_owned(),
        path: Some("/v1/chat/completions".to_owned()),
        streaming: true,
        status: 200,
        headers: vec![("content-type".to_owned(), kind.to_owned())],
        body: body.to_vec(),
        frames: vec![body.len() / 3, body.len()],
        ended: true,
        raw: None,
    };
    let reading = reading::read(&case);
    assert_eq!((reading.outcome, reading.events), (expected, events), "{name}");
    assert_cuts(&case);
    assert_meaning(&case);
    assert_output(&case);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(assert_socket(&case));
}

#[test]
fn dialects_that_no_recording_holds_are_understood() {
    use RequestOutcome::{BrokenStream, Empty, HttpError, Ok};
    const EVENTS: &str = "text/event-stream";
    let token = |text: &str| format!("data: {{\"choices\":[{{\"index\":0,\"text\":\"{text}\"}}]}}\n\n");
    let end = |reason: &str| format!("data: {{\"choices\":[{{\"text\":\"\",\"finish_reason\":\"{reason}\"}}]}}\n\n");
    let done = "data: [DONE]\n\n";
    let stream =
        |name: &str, body: &str, expected, events| assert_made_up(name, EVENTS, body.as_bytes(), expected, events);
    stream("a keep-alive before the first event", &format!(": ping\n\n\n{}{done}", token("a")), Ok, 1);
    stream("a byte order mark", &format!("\u{feff}{}{done}", token("a")), Ok, 1);
    stream("CRLF", &format!("{}{}{done}", token("a"), token("b")).replace('\n', "\r\n"), Ok, 2);
    stream("CR", &format!("{}{}{done}", token("a"), token("b")).replace('\n', "\r"), Ok, 2);
    stream("no empty line at the end", &format!("{}data: [DONE]", token("a")), Ok, 1);
    stream("a reason to finish and no [DONE]", &(token("a") + &end("stop")), Ok, 1);
    stream("neither", &(token("a") + &token("b")), BrokenStream, 2);
    stream("the reason error", &format!("{}{}{done}", token("a"), end("error")), BrokenStream, 1);
    stream("an empty reason", &token("a").replace("}]", ",\"finish_reason\":\"\"}]"), BrokenStream, 1);
    stream("no event at all", "", BrokenStream, 0);
    stream("[DONE] alone", done, Empty, 0);
    stream("an error that is a text", "data: {\"error\":\"overloaded\"}\n\n", HttpError(500), 0);
    let coded = "data: {\"object\":\"error\",\"message\":\"m\",\"type\":\"Overloaded\",\"code\":503}\n\n";
    stream("an error of older servers", coded, HttpError(503), 0);
    let late = format!("{}data: {{\"error\":{{\"type\":\"Dead\",\"code\":500}}}}\n\n{done}", token("a"));
    stream("an error after output", &late, BrokenStream, 1);
    stream("an event that is no JSON", &format!("{}data: oops\n\n{done}", token("a")), BrokenStream, 1);
    stream("an event cut off", &format!("{}data: {{\"choices\":[{{\"te", token("a")), BrokenStream, 1);
    let usage = "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}";
    let silent = format!("data: {{\"choices\":[{{\"text\":\"\"}}],{usage}}}\n\n");
    stream("tokens without text, with a running usage", &format!("{silent}{silent}{done}"), Ok, 0);
    let broken = [token("a\u{e9}").replace('\u{e9}', "@").into_bytes(), done.as_bytes().to_vec()].concat();
    let broken: Vec<u8> = broken.into_iter().map(|it| if it == b'@' { 0xC3 } else { it }).collect();
    assert_made_up("half a letter", EVENTS, &broken, Ok, 1);
    let long = token(&"x".repeat(300_000)) + done;
    assert_made_up("a line of 300 kB", EVENTS, long.as_bytes(), Ok, 1);
    assert_made_up(
        "JSON under a stream's request",
        "application/json",
        b"\xef\xbb\xbf{\"error\":\"no\"}",
        HttpError(500),
        0,
    );
    let whole = format!("{{\"choices\":[{{\"text\":\"\",\"finish_reason\":\"length\"}}],{usage}}}");
    assert_made_up("an answer of silent tokens in one piece", "application/json", whole.as_bytes(), Ok, 0);
}

fn assert_read(name: &str, events: u32, usage: Option<(u32, u32)>, expected: Result<RequestOutcome, Failure>) {
    // The response counts as ended, because it was cut by whoever recorded it.
    let case = Case { ended: true, ..case(name) };
    let (answer, verdict) = feed(&case, &case.pieces(), constant);
    assert_eq!(verdict, expected, "{name}");
    assert_eq!(answer.content_events, events, "{name}");
    assert_eq!(answer.usage.prompt_tokens.zip(answer.usage.completion_tokens), usage, "{name}");
    assert_cuts(&case);
}

fn assert_ok(name: &str, events: u32, usage: Option<(u32, u32)>) {
    assert_read(name, events, usage, Ok(RequestOutcome::Ok));
}

fn assert_failed(name: &str, events: u32, usage: Option<(u32, u32)>, outcome: RequestOutcome, message: &str) {
    assert_read(name, events, usage, Err(Failure::new(outcome, message)));
}

#[test]
fn vllm_streams_have_their_events_and_usage() {
    assert_ok("vllm-0.32.0-default/chat-stream.json", 8, None);
    assert_ok("vllm-0.32.0-default/chat-stream-usage.json", 8, Some((15, 8)));
    assert_ok("vllm-0.32.0-default/chat-stream-one-token.json", 1, Some((15, 1)));
    assert_ok("vllm-0.32.0-default/completions-stream.json", 8, None);
    assert_ok("vllm-0.32.0-default/completions-stream-usage.json", 8, Some((5, 8)));
    assert_ok("vllm-0.16.0-default/chat-stream.json", 8, None);
    assert_ok("vllm-0.16.0-default/completions-stream-continuous-usage.json", 8, Some((5, 8)));
    assert_ok("vllm-0.32.0-full/chat-stream-continuous-only.json", 8, None);
    assert_ok("vllm-0.32.0-full/completions-stream-stop.json", 1, Some((5, 1)));
    // Each event contains four tokens.
    assert_ok("vllm-0.32.0-small/chat-stream-usage.json", 3, Some((15, 8)));
}

#[test]
fn reasoning_and_tool_calls_are_output() {
    assert_ok("vllm-0.32.0-reasoning/chat-stream-usage.json", 8, Some((15, 8)));
    assert_ok("vllm-0.32.0-full/chat-stream-tool-auto.json", 8, Some((118, 8)));
    assert_ok("vllm-0.32.0-full/chat-stream-tool-required.json", 63, Some((118, 120)));
}

#[test]
fn an_answer_whose_only_token_has_no_text_is_an_answer() {
    assert_ok("vllm-0.32.0-full/chat-stream-one-token.json", 0, Some((15, 1)));
}

#[test]
fn answers_in_one_piece_have_usage_and_no_events() {
    assert_ok("vllm-0.32.0-default/chat-nonstream.json", 0, Some((15, 8)));
    assert_ok("vllm-0.32.0-reasoning/chat-nonstream.json", 0, Some((15, 8)));
    assert_ok("llama-cpp-python-0.3.36/completions-nonstream.json", 0, Some((5, 8)));
}

#[test]
fn other_servers_are_understood() {
    assert_ok("llama-cpp-python-0.3.36/chat-stream.json", 8, None);
    // These servers send no `[DONE]`.
    assert_ok("transformers-serve-5.19.0-plain/chat-stream.json", 3, Some((15, 8)));
    assert_ok("transformers-serve-5.19.0-plain/completions-stream.json", 8, Some((5, 8)));
    assert_ok("fakellm-0.3.5/chat-stream.json", 6, None);
    // There is no content type, and the whole text is in the chunk with the role.
    assert_ok("mock-llm-npm-0.1.29/chat-stream.json", 1, None);
}

#[test]
fn answers_that_ended_early_are_broken() {
    let cut = "the stream ended before its end";
    assert_failed("llama-cpp-python-0.3.36/chat-stream-client-cut.json", 4, None, RequestOutcome::BrokenStream, cut);
    assert_failed("transformers-serve-5.19.0-cb/chat-stream.json", 0, None, RequestOutcome::BrokenStream, cut);
    assert_failed(
        "vllm-0.32.0-reasoning/chat-stream-engine-killed.json",
        122,
        Some((15, 129)),
        RequestOutcome::BrokenStream,
        "an error in the stream: InternalServerError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
    );
    // SIGTERM ended the server. It sent the finish reason `abort`, then the usage and `[DONE]` as usual.
    assert_failed(
        "vllm-0.32.0-small/chat-stream-server-sigterm-smooth.json",
        37,
        Some((15, 142)),
        RequestOutcome::BrokenStream,
        "the server aborted the answer",
    );
}

#[test]
fn errors_under_status_200_are_errors() {
    assert_failed(
        "vllm-0.16.0-default/completions-stream-default-max-tokens.json",
        0,
        None,
        RequestOutcome::HttpError(500),
        "500 in an answer with status 200: InternalServerError",
    );
    let dead = case("vllm-0.16.0-engine-dead/chat-stream.json");
    let verdict = feed(&dead, &dead.pieces(), constant).1.unwrap_err();
    assert_eq!(verdict.outcome, RequestOutcome::HttpError(500));
    assert!(verdict.message.starts_with("500 in an answer with status 200: "), "{}", verdict.message);
}

#[test]
fn every_recorded_error_has_its_status_and_a_short_message() {
    let mut seen = 0;
    for case in cases::read(&own().join("vllm-0.32.0-default")).cases {
        if !case.name.contains("/error-") {
            continue;
        }
        let verdict = feed(&case, &case.pieces(), constant).1.unwrap_err();
        assert_eq!(verdict.outcome, RequestOutcome::HttpError(case.status), "{}", case.name);
        let length = verdict.message.chars().count();
        assert!((5..=203).contains(&length) && !verdict.message.contains('\n'), "{}: {}", case.name, verdict.message);
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn several_prompts_and_choices_share_one_usage() {
    assert_ok("vllm-0.32.0-default/chat-stream-n2.json", 7, Some((15, 8)));
    assert_ok("vllm-0.32.0-full/completions-stream-two-prompts.json", 8, Some((10, 8)));
    assert_ok("vllm-0.32.0-default/completions-nonstream-two-token-prompts.json", 0, Some((5, 4)));
}
