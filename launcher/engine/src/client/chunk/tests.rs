use super::*;

fn check(json: &str, output: bool, silent_token: bool, finish: Option<Finish>) {
    let chunk = Chunk::parse(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"));
    let found = (chunk.choices.output, chunk.choices.silent_token, chunk.choices.finish);
    assert_eq!(found, (output, silent_token, finish), "{json}");
    assert!(!chunk.is_error(), "{json}");
}

#[test]
fn visible_output_is_text_reasoning_or_a_tool_call() {
    check(r#"{"choices":[{"index":0,"text":" a","finish_reason":null}]}"#, true, false, None);
    check(r#"{"choices":[{"delta":{"content":"\u00e9\n"}}]}"#, true, false, None);
    check(r#"{"choices":[{"delta":{"reasoning":"so"}}]}"#, true, false, None);
    check(r#"{"choices":[{"delta":{"content":null,"reasoning_content":"so"}}]}"#, true, false, None);
    check(r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0}]}}]}"#, true, false, None);
    check(r#"{"choices":[{"message":{"role":"assistant","content":"whole"}}]}"#, true, false, None);
    check(r#"{"choices":[{"delta":{"content":null,"refusal":"no"}}]}"#, true, false, None);
    check(r#"{"choices":[{"delta":{"function_call":{"name":"f"}}}]}"#, true, false, None);
}

#[test]
fn role_usage_and_finish_chunks_hold_no_output() {
    check(r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#, false, false, None);
    check(r#"{"choices":[{"delta":{"role":"assistant"}}]}"#, false, false, None);
    check(r#"{"choices":[],"usage":null}"#, false, false, None);
    check(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, false, true, Some(Finish::Complete));
    check(r#"{"choices":[{"delta":{"content":null,"tool_calls":[]}}]}"#, false, false, None);
    check(r#"{"choices":null}"#, false, false, None);
    check("{}", false, false, None);
}

#[test]
fn an_empty_text_without_a_role_may_be_a_token() {
    check(r#"{"choices":[{"delta":{"content":""}}]}"#, false, true, None);
    check(r#"{"choices":[{"text":"","finish_reason":"length"}]}"#, false, true, Some(Finish::Length));
}

#[test]
fn one_choice_that_failed_is_enough() {
    let both = r#"{"choices":[{"text":"a","finish_reason":"abort"},{"text":"","finish_reason":"stop"}]}"#;
    check(both, true, true, Some(Finish::Failed));
    check(r#"{"choices":[{"text":"","finish_reason":"error"}]}"#, false, true, Some(Finish::Failed));
}

#[test]
fn an_empty_reason_to_finish_is_none() {
    check(r#"{"choices":[{"text":"a","finish_reason":""}]}"#, true, false, None);
}

#[test]
fn choices_are_told_apart_by_their_index() {
    let choices = |json: &str| Chunk::parse(json.as_bytes()).unwrap().choices;
    let both = choices(r#"{"choices":[{"index":0,"text":"a","finish_reason":"stop"},{"index":1,"text":"b"}]}"#);
    assert!(!both.seen.are_all_in(both.finished));
    let second = choices(r#"{"choices":[{"index":1,"text":"b","finish_reason":"stop"}]}"#);
    assert!(both.seen.are_all_in(both.finished.and(second.finished)));
    let far = choices(r#"{"choices":[{"index":70,"text":"b"},{"index":4294967295,"text":"c"}]}"#);
    assert!(far.seen.are_all_in(far.seen) && !far.seen.are_all_in(far.finished));
    let odd = choices(r#"{"choices":[{"index":-1,"text":"b","finish_reason":"stop"},{"index":1.0,"text":"c"}]}"#);
    assert!(!odd.seen.are_all_in(odd.finished));
    // A choice without an index counts as choice 0. If no choice was seen, none has finished.
    let one = choices(r#"{"choices":[{"text":"b","finish_reason":"stop"}]}"#);
    assert!(one.seen.are_all_in(one.finished) && !Indices::default().are_all_in(one.finished));
}

#[test]
fn text_that_is_no_valid_unicode_is_still_text() {
    let parse = |json: &[u8]| Chunk::parse(json).unwrap_or_else(|error| panic!("{json:?}: {error}")).choices;
    for text in [&b"\xc3"[..], b"a\xff\xfeb", b"\\ud83d", b"\\ude00x", b"\\\\\\ud83d\\n", b"\\ud83d\\u0041"] {
        let json = [b"{\"choices\":[{\"delta\":{\"content\":\"", text, b"\"},\"finish_reason\":\"stop\"}]}"].concat();
        let choices = parse(&json);
        assert!(choices.output && choices.finish == Some(Finish::Complete), "{text:?}");
    }
    assert!(parse(b"\xef\xbb\xbf{\"choices\":[{\"text\":\"a\"}]}").output);
}

#[test]
fn known_keys_of_other_types_are_passed_over() {
    for odd in ["0", "-1", "1.5", "true", "[1]", "{\"type\":\"stop\"}", "null"] {
        check(&format!(r#"{{"object":{odd},"choices":[{{"text":"a","finish_reason":{odd}}}]}}"#), true, false, None);
    }
    for (count, expected) in
        [("12", Some(12)), ("12.0", Some(12)), ("\"12\"", None), ("-3", None), ("[]", None), ("1e99", None)]
    {
        let chunk = Chunk::parse(format!(r#"{{"usage":{{"completion_tokens":{count}}}}}"#).as_bytes()).unwrap();
        assert_eq!(chunk.usage.unwrap().completion_tokens, expected, "{count}");
    }
}

#[test]
fn keys_and_types_that_are_not_known_are_passed_over() {
    let odd = r#"{"id": 7, "choices": [ {"logprobs": {"content": [1, {"a": [null]}]}, "delta": {"content": [{"type":"text"}]}} ]}"#;
    check(odd, true, false, None);
}

#[test]
fn usage_may_be_missing_null_or_odd() {
    let usage = |json: &str| Chunk::parse(json.as_bytes()).unwrap().usage;
    let counts =
        |prompt, completion| Some(Usage { prompt_tokens: prompt, completion_tokens: completion, cached_tokens: None });
    assert_eq!(usage("{}"), None);
    assert_eq!(usage(r#"{"usage":null}"#), None);
    assert_eq!(
        usage(r#"{"usage":{"prompt_tokens":4,"total_tokens":9,"completion_tokens":5}}"#),
        counts(Some(4), Some(5))
    );
    assert_eq!(usage(r#"{"usage":{"prompt_tokens":4.0,"completion_tokens":null}}"#), counts(Some(4), None));
    assert_eq!(usage(r#"{"usage":{"completion_tokens":-1}}"#), counts(None, None));
}

#[test]
fn an_error_object_is_an_error_wherever_it_stands() {
    assert!(Chunk::parse(br#"{"object":"error","message":"m"}"#).unwrap().is_error());
    assert!(Chunk::parse(br#"{"error": {"message": "m"}}"#).unwrap().is_error());
    assert!(!Chunk::parse(br#"{"error":null,"object":"chat.completion"}"#).unwrap().is_error());
}

#[test]
fn what_is_no_object_is_no_chunk() {
    for text in ["", "[1]", "{\"choices\":", "hello", "{} {}", r#"{"choices":7}"#] {
        assert!(Chunk::parse(text.as_bytes()).is_err(), "{text}");
    }
}
