use super::*;

const EVENTS: Option<&str> = Some("text/event-stream; charset=utf-8");
const JSON: Option<&str> = Some("application/json");

/// Feeds pieces at intervals of 10 ms, the first at 10 ms, each in its own read.
fn check(head: (u16, Option<&str>), pieces: &[&str]) -> (Answer, Result<RequestOutcome, Failure>) {
    let mut answer = Answer::default();
    answer.head(head.0, head.1, true);
    let mut at = Duration::ZERO;
    for (read, piece) in pieces.iter().enumerate() {
        at += Duration::from_millis(10);
        answer.bytes(piece.as_bytes(), at, read as u64 + 1);
    }
    answer.end(at + Duration::from_millis(10), pieces.len() as u64 + 1);
    let verdict = answer.conclude();
    (answer, verdict)
}

fn token(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"text\":\"{text}\",\"finish_reason\":null}}]}}\n\n")
}

const LAST: &str = "data: {\"choices\":[{\"text\":\"z\",\"finish_reason\":\"length\"}]}\n\n";
const ROLE: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn failed(outcome: RequestOutcome, message: &str) -> Result<RequestOutcome, Failure> {
    Err(Failure::new(outcome, message))
}

/// Prompt tokens, output tokens and text of an answer; or the failure.
type Told = Result<(Option<u32>, Option<u32>, String), String>;

/// Reads a body with the answers to three prompts.
fn several(body: &str) -> Vec<Told> {
    let mut answer = Answer::default();
    answer.keep_choices();
    answer.head(200, JSON, false);
    answer.bytes(body.as_bytes(), Duration::from_millis(10), 1);
    answer.end(Duration::from_millis(20), 2);
    assert_eq!(answer.conclude(), Ok(RequestOutcome::Ok));
    let read = |it: Result<Answer, Failure>| {
        let mut it = it.map_err(|it| it.message)?;
        assert_eq!(it.last_token, Some(Duration::from_millis(10)));
        let (told, prompt) = (it.told_tokens(None).unwrap(), it.usage.prompt_tokens);
        Ok((prompt, told, it.take_output().unwrap().text))
    };
    answer.take_answers(3, 1).into_iter().map(read).collect()
}

#[test]
fn several_prompts_have_an_answer_each() {
    let ok = |prompt, tokens, text: &str| Ok((Some(prompt), Some(tokens), text.to_owned()));
    let found = several(
        r#"{"choices":[{"index":2,"text":"c","token_ids":[1],"prompt_token_ids":[1,2,3,4]},{"index":0,"text":"a b","token_ids":[1,2],
        "prompt_token_ids":[1]},{"index":1,"text":"x","finish_reason":"abort"}],"usage":{"prompt_tokens":99,"completion_tokens":99}}"#,
    );
    assert_eq!(found, [ok(1, 2, "a b"), Err("the server aborted the answer".to_owned()), ok(4, 1, "c")]);
    // Without token ids the tokens of the usage are divided between the answers, and their sum is unchanged.
    let found = several(
        r#"{"choices":[{"text":"a"},{"text":"b"},{"text":"c"}],"usage":{"prompt_tokens":10,"completion_tokens":8}}"#,
    );
    assert_eq!(found, [ok(4, 3, "a"), ok(3, 3, "b"), ok(3, 2, "c")]);
}

#[test]
fn a_stream_has_the_times_of_its_output() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n";
    let (answer, verdict) =
        check((200, EVENTS), &[ROLE, &token("a"), ": keep-alive\n\n", &token("b"), LAST, usage, DONE]);
    let millis = Duration::from_millis;
    assert_eq!(verdict, Ok(RequestOutcome::Ok));
    assert_eq!((answer.first_token, answer.last_token), (Some(millis(20)), Some(millis(50))));
    assert!(answer.gaps.iter().eq([millis(20), millis(10)]));
    assert_eq!((answer.content_events, answer.reads, answer.coalesced_reads), (3, 3, 0));
    assert_eq!(answer.usage, Usage { prompt_tokens: Some(9), completion_tokens: Some(3), ..Usage::default() });
}

#[test]
fn several_events_in_one_read_are_told() {
    let two = token("a") + &token("b");
    let three = token("c") + &token("d") + LAST;
    let (answer, verdict) = check((200, EVENTS), &[&two, &three, DONE]);
    assert_eq!(verdict, Ok(RequestOutcome::Ok));
    assert_eq!((answer.content_events, answer.reads, answer.coalesced_reads), (5, 2, 2));
    let millis = Duration::from_millis;
    assert!(answer.gaps.iter().eq([millis(0), millis(10), millis(0), millis(0)]));
}

#[test]
fn the_end_is_either_done_or_a_reason_to_finish() {
    assert_eq!(check((200, EVENTS), &[&token("a"), DONE]).1, Ok(RequestOutcome::Ok));
    assert_eq!(check((200, EVENTS), &[&token("a"), LAST]).1, Ok(RequestOutcome::Ok));
    let cut = failed(RequestOutcome::BrokenStream, "the stream ended before its end");
    assert_eq!(check((200, EVENTS), &[&token("a")]).1, cut);
    assert_eq!(check((200, EVENTS), &[]).1, cut);
}

#[test]
fn each_choice_must_have_finished_where_there_is_no_done() {
    let choice = |index: u32, finish: &str| {
        format!("data: {{\"choices\":[{{\"index\":{index},\"text\":\"a\",\"finish_reason\":{finish}}}]}}\n\n")
    };
    let (running, done) = ("null", "\"stop\"");
    let both = [choice(0, running), choice(1, running), choice(1, done), choice(0, done)];
    let pieces: Vec<&str> = both.iter().map(String::as_str).collect();
    let (answer, verdict) = check((200, EVENTS), &pieces);
    assert_eq!((verdict, answer.content_events), (Ok(RequestOutcome::Ok), 4));
    let cut = failed(RequestOutcome::BrokenStream, "the stream ended before its end");
    assert_eq!(check((200, EVENTS), &pieces[..3]).1, cut);
    assert_eq!(check((200, EVENTS), &[pieces[0], pieces[1], DONE]).1, Ok(RequestOutcome::Ok));
    // If the server gave up one choice, the answer stays failed even when another choice ends normally.
    let abort = choice(0, "\"abort\"");
    let gave_up = failed(RequestOutcome::BrokenStream, "the server aborted the answer");
    assert_eq!(check((200, EVENTS), &[&abort, pieces[1], pieces[2], DONE]).1, gave_up);
}

#[test]
fn an_answer_without_output_is_empty() {
    assert_eq!(check((200, EVENTS), &[ROLE, DONE]).1, Ok(RequestOutcome::Empty));
    assert_eq!(check((200, JSON), &[r#"{"choices":[{"text":""}]}"#]).1, Ok(RequestOutcome::Empty));
    assert_eq!(check((200, JSON), &[r#"{"choices":[]}"#]).1, Ok(RequestOutcome::Empty));
}

#[test]
fn tokens_without_text_count_by_the_usage() {
    let usage = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":2}}\n\n";
    let (answer, verdict) = check((200, EVENTS), &[ROLE, &token(""), &token(""), usage, DONE]);
    assert_eq!(verdict, Ok(RequestOutcome::Ok));
    let millis = Duration::from_millis;
    assert_eq!((answer.first_token, answer.last_token), (Some(millis(20)), Some(millis(30))));
    assert_eq!(answer.content_events, 0);
}

#[test]
fn a_server_that_gives_up_is_no_success() {
    let abort = "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"abort\"}]}\n\n";
    let (_, verdict) = check((200, EVENTS), &[&token("a"), abort, DONE]);
    assert_eq!(verdict, failed(RequestOutcome::BrokenStream, "the server aborted the answer"));
}

#[test]
fn an_error_after_output_breaks_the_stream_and_before_it_is_an_http_error() {
    let error =
        "data: {\"error\": {\"message\": \"engine dead\", \"type\": \"InternalServerError\", \"code\": 500}}\n\n";
    let (_, verdict) = check((200, EVENTS), &[&token("a"), error, DONE]);
    let message = "an error in the stream: InternalServerError: engine dead";
    assert_eq!(verdict, failed(RequestOutcome::BrokenStream, message));
    let (_, verdict) = check((200, EVENTS), &[error, DONE]);
    let message = "500 in an answer with status 200: InternalServerError: engine dead";
    assert_eq!(verdict, failed(RequestOutcome::HttpError(500), message));
    let body = r#"{"error":{"message":"engine dead","type":"InternalServerError","code":503}}"#;
    let message = "503 in an answer with status 200: InternalServerError: engine dead";
    assert_eq!(check((200, JSON), &[body]).1, failed(RequestOutcome::HttpError(503), message));
}

#[test]
fn a_status_is_an_error_with_or_without_a_body() {
    let body = ["{\"error\":{\"message\":\"too", " long\",\"type\":\"BadRequestError\"}}"];
    let message = "400: BadRequestError: too long";
    assert_eq!(check((400, JSON), &body).1, failed(RequestOutcome::HttpError(400), message));
    assert_eq!(check((502, None), &["<html>"]).1, failed(RequestOutcome::HttpError(502), "502"));
    let message = "307: redirects are not followed";
    assert_eq!(check((307, None), &[]).1, failed(RequestOutcome::HttpError(307), message));
    let words = "w ".repeat(200_000);
    let long = format!(r#"{{"error":{{"message":"too long: {words}","type":"invalid_request"}}}}"#);
    let verdict = check((500, JSON), &[&long]).1.unwrap_err();
    assert!(verdict.message.starts_with("500: invalid_request: too long: w w "), "{}", verdict.message);
    let long = "x".repeat(MAX_ERROR_BODY + 1);
    assert_eq!(check((500, None), &[&long, &long]).1, failed(RequestOutcome::HttpError(500), "500"));
}

#[test]
fn what_is_no_json_breaks_the_answer() {
    let (_, verdict) = check((200, EVENTS), &["data: {\"choices\n\n"]);
    assert_eq!(verdict, failed(RequestOutcome::BrokenStream, "an event is no JSON, or of another form than OpenAI's"));
    let (_, verdict) = check((200, JSON), &["hello"]);
    assert_eq!(verdict, failed(RequestOutcome::BrokenStream, "the answer is no JSON"));
}

#[test]
fn nothing_after_done_moves_a_time_or_an_outcome() {
    let usage = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\n";
    let done = format!("{DONE}data: <html>\n\n");
    let error = "data: {\"error\":{\"message\":\"late\"}}\n\n";
    for after in [&[DONE, &token("b"), usage][..], &[&done], &[DONE, error], &[DONE, "<html>"]] {
        let first = token("a");
        let pieces: Vec<&str> = [first.as_str()].into_iter().chain(after.iter().copied()).collect();
        let (answer, verdict) = check((200, EVENTS), &pieces);
        assert_eq!(verdict, Ok(RequestOutcome::Ok), "{after:?}");
        assert_eq!((answer.last_token, answer.content_events), (Some(Duration::from_millis(10)), 1), "{after:?}");
        assert_eq!(answer.usage, Usage::default(), "{after:?}");
    }
}

#[test]
fn a_body_that_is_no_stream_is_told_by_its_type() {
    let utf16: String = "data: x\n\n".chars().flat_map(|it| [it, '\0']).collect();
    for (head, coding, body, words) in [
        ((200, Some("text/html")), None, "<html>log in</html>", "the body is text/html and no event stream"),
        ((200, EVENTS), Some("gzip"), "\u{1f}...", "coded as gzip"),
        ((200, JSON), Some("gzip"), "\u{1f}...", "coded as gzip"),
        ((200, EVENTS), None, utf16.as_str(), "holds no event of a stream; is it in UTF-8?"),
        ((204, None), None, "", "status 204: the answer has no body"),
        ((200, EVENTS), Some("identity"), "", "the stream ended before its end"),
    ] {
        let mut answer = Answer::default();
        answer.head(head.0, head.1, true);
        coding.into_iter().for_each(|it| answer.coded(it));
        answer.bytes(body.as_bytes(), Duration::ZERO, 1);
        answer.end(Duration::ZERO, 2);
        let failure = answer.conclude().unwrap_err();
        assert_eq!(failure.outcome, RequestOutcome::BrokenStream);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[test]
fn a_usage_that_cannot_be_is_not_believed() {
    let told = |tokens: u64, requested: Option<u32>, text: &str| {
        let usage = format!("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{tokens}}}}}\n\n");
        check((200, EVENTS), &[&token(text), LAST, &usage, DONE]).0.told_tokens(requested)
    };
    assert_eq!(told(4, Some(4), "a"), Ok(Some(4)));
    assert_eq!(told(5, Some(4), "a"), Ok(Some(5)));
    assert_eq!(told(6, Some(4), "a"), Err(6));
    assert_eq!(told(99_999_999, None, "a"), Err(99_999_999));
    assert_eq!(told(100, None, "a"), Ok(Some(100)));
    assert_eq!(told(0, None, "a"), Err(0));
    assert_eq!(check((200, EVENTS), &[&token("a"), DONE]).0.told_tokens(Some(4)), Ok(None));
}

#[test]
fn tokens_without_text_at_the_ends_are_told_apart() {
    let silent = |pieces: &[&str]| check((200, EVENTS), pieces).0.silent_outside().all;
    let (empty, text) = (token(""), token("a"));
    let end = "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(silent(&[&text, &text, DONE]), 0);
    assert_eq!(silent(&[&empty, &text, &empty, &empty, &text, end, DONE]), 2);
    assert_eq!(silent(&[&text, &text, &empty, end, DONE]), 2);
    assert_eq!(silent(&[ROLE, &text, DONE]), 0);
    // An event that ends a choice by length is also counted in `length_ends`. If output of another choice follows, the event no longer counts as
    // outside.
    let end = "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n";
    let both = |pieces: &[&str]| check((200, EVENTS), pieces).0.silent_outside();
    assert_eq!(both(&[&text, &empty, end, DONE]), SilentEvents { all: 2, length_ends: 1 });
    assert_eq!(both(&[&text, end, &text, DONE]), SilentEvents::default());
}

#[test]
fn the_tokens_so_far_are_those_of_the_usage_in_the_events() {
    let of = |pieces: &[&str]| check((200, EVENTS), pieces).0.tokens_so_far();
    assert_eq!((of(&[ROLE]), of(&[ROLE, &token("a"), &token("b")])), (0, 2));
    let told = r#"{"choices":[{"text":"a b c"}],"usage":{"completion_tokens":20}}"#;
    assert_eq!(of(&[&format!("data: {told}\n\n")]), 20);
}

#[test]
fn the_tokens_of_the_first_event_are_those_that_the_server_tells() {
    let of = |pieces: &[&str]| check((200, EVENTS), pieces).0.first_event_tokens();
    let told = |text: &str, tokens: u32| {
        format!("data: {{\"choices\":[{{\"text\":\"{text}\"}}],\"usage\":{{\"completion_tokens\":{tokens}}}}}\n\n")
    };
    assert_eq!(of(&[&told("a b c", 3), &told("d", 4), DONE]), Some(3));
    // The first event had no text.
    assert_eq!(of(&[&told("", 1), &told("b c", 3), DONE]), Some(2));
    assert_eq!(of(&[&told("a", 0), DONE]), Some(1));
    assert_eq!(of(&[&token("a"), &told("b", 2), DONE]), None);
    let mut answer = Answer::default();
    answer.keep_output();
    answer.head(200, EVENTS, true);
    assert_eq!(answer.first_event_tokens(), None);
    let ids = "data: {\"choices\":[{\"text\":\"a b\",\"token_ids\":[7,8]}]}\n\n";
    answer.bytes(ids.repeat(2).as_bytes(), Duration::ZERO, 1);
    assert_eq!(answer.first_event_tokens(), Some(2));
}

#[test]
fn an_answer_in_one_piece_to_a_request_for_a_stream_is_told() {
    let whole = r#"{"choices":[{"text":"a"}]}"#;
    assert!(check((200, JSON), &[whole]).0.in_one_piece);
    assert!(!check((200, EVENTS), &[&token("a"), DONE]).0.in_one_piece);
    let mut answer = Answer::default();
    answer.head(200, JSON, false);
    assert!(!answer.in_one_piece);
}

#[test]
fn an_answer_in_one_piece_has_an_end_and_no_first_token() {
    let body = [
        r#"{"choices":[{"message":{"content":"a b c"},"finish_reason":"stop"}],"#,
        r#""usage":{"completion_tokens":3}}"#,
    ];
    let (answer, verdict) = check((200, JSON), &body);
    assert_eq!(verdict, Ok(RequestOutcome::Ok));
    assert_eq!((answer.first_token, answer.last_token), (None, Some(Duration::from_millis(20))));
    assert_eq!((answer.content_events, answer.usage.completion_tokens), (0, Some(3)));
}

/// The output of an answer that arrives in pieces, one after the other.
fn kept(head: (u16, Option<&str>), pieces: &[&str]) -> (Option<Output>, Result<RequestOutcome, Failure>) {
    let mut answer = Answer::default();
    answer.keep_output();
    answer.head(head.0, head.1, true);
    for (read, piece) in pieces.iter().enumerate() {
        answer.bytes(piece.as_bytes(), Duration::ZERO, read as u64 + 1);
    }
    answer.end(Duration::ZERO, pieces.len() as u64 + 1);
    let verdict = answer.conclude();
    (answer.take_output(), verdict)
}

#[test]
fn an_output_is_kept_where_it_is_asked_for_and_nowhere_else() {
    let word = |text: &str, ids: &str| {
        format!("data: {{\"choices\":[{{\"text\":\"{text}\",\"finish_reason\":null,\"token_ids\":{ids}}}]}}\n\n")
    };
    // The events have the same shape, so that a pattern would recognise them.
    let stream = [word("a", "[1]"), word("b", "[1]"), word("", "[2]"), word("c", "[3,4]"), DONE.to_owned()].concat();
    let output = Output { token_ids: vec![1, 1, 2, 3, 4], first: 1, text: "abc".into(), ..Output::default() };
    assert_eq!(kept((200, EVENTS), &[&stream]), (Some(output), Ok(RequestOutcome::Ok)));
    let (mut answer, verdict) = check((200, EVENTS), &[&stream]);
    assert_eq!((answer.take_output(), verdict, answer.content_events), (None, Ok(RequestOutcome::Ok), 3));
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"a b"},"token_ids":[8,9]}]}"#;
    let output = Output { token_ids: vec![8, 9], first: 2, text: "a b".into(), ..Output::default() };
    assert_eq!(kept((200, JSON), &[whole]), (Some(output), Ok(RequestOutcome::Ok)));
    // A server without token_ids.
    let output = Output { text: "az".into(), ..Output::default() };
    assert_eq!(kept((200, EVENTS), &[&token("a"), LAST]), (Some(output), Ok(RequestOutcome::Ok)));
}

#[test]
fn ids_that_are_none_break_an_answer_whose_output_is_kept() {
    let wrong = "data: {\"choices\":[{\"text\":\"a\",\"token_ids\":[-1]}]}\n\n";
    let message = "the token_ids of an event are no list of whole numbers below 2^32";
    assert_eq!(kept((200, EVENTS), &[wrong, DONE]).1, failed(RequestOutcome::BrokenStream, message));
    assert_eq!(check((200, EVENTS), &[wrong, DONE]).1, Ok(RequestOutcome::Ok));
    let whole = wrong.trim_start_matches("data: ");
    assert_eq!(kept((200, JSON), &[whole]).1, failed(RequestOutcome::BrokenStream, message));
}
