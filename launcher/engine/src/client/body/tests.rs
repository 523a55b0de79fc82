use serde_json::{Value, json};

use super::*;

const ALL: [Api; 4] = [Api::Completions, Api::Chat, Api::Responses, Api::Messages];

fn template(api: Api, streaming: bool, sampling: &str) -> BodyTemplate {
    let streaming = if streaming { Streaming::On } else { Streaming::Off };
    BodyTemplate::new(api, "m", streaming, &serde_json::from_str(sampling).unwrap())
}

fn text(prompt: &str, max_tokens: Option<u32>) -> Content<'_> {
    Content::new(Prompt::Text(prompt), max_tokens)
}

fn check(template: &BodyTemplate, prompt: &str, max_tokens: Option<u32>, expected: &str) {
    let body = template.body(&text(prompt, max_tokens));
    assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
    let parsed: Value = serde_json::from_slice(&body).unwrap();
    let found = parsed.get("prompt").or_else(|| parsed.pointer("/messages/0/content")).unwrap();
    assert_eq!(found, prompt);
}

/// Compares the body of a request to each API, as JSON.
fn check_all(content: &Content<'_>, expected: [Value; 4]) {
    for (api, mut expected) in ALL.into_iter().zip(expected) {
        let body = template(api, false, "{}").body(content);
        expected["model"] = "m".into();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected, "{api:?}");
    }
}

#[test]
fn several_prompts_are_one_list() {
    let template = BodyTemplate::new(Api::Completions, "m", Streaming::Off, &Sampling::default());
    let body = |prompts: &[Prompt<'_>]| -> serde_json::Value {
        let mut list = Vec::new();
        prompts.iter().for_each(|it| BodyTemplate::push_prompt(&Content::new(*it, None), &mut list));
        serde_json::from_slice(&template.batch_body(&list, Some(7))).unwrap()
    };
    let found = body(&[Prompt::TokenIds("[1,2]"), Prompt::TokenIds("[3]")]);
    assert_eq!(found["prompt"], serde_json::json!([[1, 2], [3]]));
    assert_eq!((&found["max_tokens"], &found["return_token_ids"]), (&7.into(), &true.into()));
    assert_eq!(body(&[Prompt::Text("a \"b\""), Prompt::Text("é")])["prompt"], serde_json::json!(["a \"b\"", "é"]));
    assert_eq!(body(&[])["prompt"], serde_json::json!([]));
}

#[test]
fn a_completion_asks_for_what_was_asked() {
    let template = template(Api::Completions, true, r#"{"ignoreEos":true}"#);
    let expected = r#"{"model":"m","prompt":"a b","max_tokens":7,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}"#;
    check(&template, "a b", Some(7), expected);
}

#[test]
fn a_chat_has_one_message_and_leaves_out_what_was_not_asked() {
    let template = BodyTemplate::new(Api::Chat, "org/\"m\"", Streaming::Off, &Sampling::default());
    let expected = r#"{"model":"org/\"m\"","messages":[{"role":"user","content":"a\n\"b\"\\"}]}"#;
    check(&template, "a\n\"b\"\\", None, expected);
}

#[test]
fn each_api_has_its_fields_of_prompt_and_length() {
    check_all(
        &text("a \"b\"", Some(7)),
        [
            json!({"prompt": "a \"b\"", "max_tokens": 7}),
            json!({"messages": [{"role": "user", "content": "a \"b\""}], "max_tokens": 7}),
            json!({"input": "a \"b\"", "max_output_tokens": 7}),
            json!({"messages": [{"role": "user", "content": "a \"b\""}], "max_tokens": 7}),
        ],
    );
}

#[test]
fn a_system_message_stands_before_the_prompt() {
    let user = json!({"role": "user", "content": "a"});
    let system = json!({"role": "system", "content": "s\n"});
    check_all(
        &Content { system: "s\n", ..text("a", None) },
        [
            json!({"prompt": "s\n a"}),
            json!({"messages": [system, user]}),
            json!({"input": [system, user]}),
            json!({"system": "s\n", "messages": [user]}),
        ],
    );
}

#[test]
fn messages_are_sent_as_they_are_written() {
    let messages = r#"[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]"#;
    let list: Value = serde_json::from_str(messages).unwrap();
    let others = json!([list[1], list[2]]);
    let content = Content::new(Prompt::Messages(messages), None);
    check_all(
        &content,
        [
            json!({"prompt": "s a b"}),
            json!({"messages": list}),
            json!({"input": list}),
            json!({"system": "s", "messages": others}),
        ],
    );
    let before = json!({"role": "system", "content": "t"});
    let all = json!([before, list[0], list[1], list[2]]);
    check_all(
        &Content { system: "t", ..content },
        [
            json!({"prompt": "t s a b"}),
            json!({"messages": all}),
            json!({"input": all}),
            json!({"system": "t s", "messages": others}),
        ],
    );
    let none = Content { system: "t", ..Content::new(Prompt::Messages("[]"), None) };
    check_all(
        &none,
        [
            json!({"prompt": "t "}),
            json!({"messages": [before]}),
            json!({"input": [before]}),
            json!({"system": "t", "messages": []}),
        ],
    );
}

#[test]
fn images_are_parts_of_the_message() {
    let image = Arc::new(Image { media_type: "image/png", base64: "QUJD".into() });
    let images = [Arc::clone(&image), image];
    for images_last in [false, true] {
        let content = Content { images: &images, images_last, ..text("a", None) };
        let parts = |image: Value, kind: &str| {
            let text = json!({"type": kind, "text": "a"});
            let parts = if images_last { json!([text, image, image]) } else { json!([image, image, text]) };
            json!([{"role": "user", "content": parts}])
        };
        let url = "data:image/png;base64,QUJD";
        let source = json!({"type": "base64", "media_type": "image/png", "data": "QUJD"});
        check_all(
            &content,
            [
                json!({"prompt": "a"}),
                json!({"messages": parts(json!({"type": "image_url", "image_url": {"url": url}}), "text")}),
                json!({"input": parts(json!({"type": "input_image", "image_url": url}), "input_text")}),
                json!({"messages": parts(json!({"type": "image", "source": source}), "text")}),
            ],
        );
    }
}

#[test]
fn a_stream_asks_for_the_usage_where_it_has_to() {
    for api in ALL {
        let body = template(api, true, "{}").body(&text("a", None));
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["stream"], true);
        let asks = matches!(api, Api::Completions | Api::Chat);
        assert_eq!(body.get("stream_options").is_some(), asks, "{api:?}");
    }
}

#[test]
fn token_ids_are_a_list() {
    let body = template(Api::Completions, false, "{}").body(&Content::new(Prompt::TokenIds("[5,6,7]"), Some(2)));
    assert_eq!(body, r#"{"model":"m","prompt":[5,6,7],"max_tokens":2}"#);
    for api in ALL {
        assert_eq!(BodyTemplate::can_hold(api, PromptForm::TokenIds), api == Api::Completions, "{api:?}");
    }
}

#[test]
fn token_ids_of_the_output_are_asked_for_once_and_only_where_they_are_wanted() {
    let sampling = r#"{"extra":{"return_token_ids":false,"top_k":1}}"#;
    let template = template(Api::Completions, true, sampling);
    let end = r#""stream":true,"stream_options":{"include_usage":true}}"#;
    let body = template.body(&Content { token_ids: true, ..text("a", Some(2)) });
    let expected = format!(r#"{{"model":"m","prompt":"a","max_tokens":2,"top_k":1,"return_token_ids":true,{end}"#);
    assert_eq!(body, expected);
    let body = template.body(&text("a", Some(2)));
    let expected = format!(r#"{{"model":"m","prompt":"a","max_tokens":2,"return_token_ids":false,"top_k":1,{end}"#);
    assert_eq!(body, expected);
}

#[test]
fn a_chat_may_use_the_later_name_of_the_length() {
    let sampling = r#"{"lengthField":"maxCompletionTokens"}"#;
    let chat = template(Api::Chat, false, sampling);
    let expected = r#"{"model":"m","messages":[{"role":"user","content":"a"}],"max_completion_tokens":7}"#;
    check(&chat, "a", Some(7), expected);
    let completion = template(Api::Completions, false, sampling);
    check(&completion, "a", Some(7), r#"{"model":"m","prompt":"a","max_tokens":7}"#);
}

#[test]
fn further_fields_go_along_as_they_are() {
    let sampling =
        r#"{"minTokens":5,"ignoreEos":true,"extra":{"top_p":0.9,"stop":["a\"b"],"temperature":0,"x \"y\"":null}}"#;
    let template = template(Api::Completions, true, sampling);
    let expected = |min| {
        format!(
            r#""min_tokens":{min},"ignore_eos":true,"stop":["a\"b"],"temperature":0,"top_p":0.9,"x \"y\"":null,"stream":true,"stream_options":{{"include_usage":true}}}}"#
        )
    };
    check(&template, "a", Some(7), &format!(r#"{{"model":"m","prompt":"a","max_tokens":7,{}"#, expected(5)));
    // `min_tokens` is never above the requested maximum.
    check(&template, "a", Some(3), &format!(r#"{{"model":"m","prompt":"a","max_tokens":3,{}"#, expected(3)));
    check(&template, "a", None, &format!(r#"{{"model":"m","prompt":"a",{}"#, expected(5)));
}

#[test]
fn a_class_has_its_model_and_its_fields_and_a_request_may_add_some() {
    let class = |json: &str| serde_json::from_str::<TrafficClass>(json).unwrap();
    let sampling: Sampling = serde_json::from_str(r#"{"extra":{"top_k":1,"priority":0}}"#).unwrap();
    let of = |class| BodyTemplate::of_class(Api::Completions, "m", Streaming::Off, &sampling, &class);
    let adapter = of(class(r#"{"name":"a","weight":1,"model":"lora","extra":{"priority":9}}"#));
    let content = Content { fields: r#""tools":[]"#, ..text("x", Some(2)) };
    let expected = r#"{"model":"lora","prompt":"x","max_tokens":2,"tools":[],"top_k":1,"priority":9}"#;
    assert_eq!(adapter.body(&content), expected);
    let plain = of(class(r#"{"name":"b","weight":1}"#));
    assert_eq!(plain.body(&text("x", None)), r#"{"model":"m","prompt":"x","priority":0,"top_k":1}"#);
}

#[test]
fn each_event_has_the_usage_where_tokens_are_counted_as_they_come() {
    for (api, asks) in [(Api::Completions, true), (Api::Chat, true), (Api::Responses, false)] {
        let template = BodyTemplate::new(api, "m", Streaming::WithRunningUsage, &Sampling::default());
        let body: serde_json::Value = serde_json::from_slice(&template.body(&text("a", Some(2)))).unwrap();
        let expected = serde_json::json!({"include_usage": true, "continuous_usage_stats": true});
        assert_eq!(body.get("stream_options"), asks.then_some(&expected), "{api:?}");
    }
}
