//! `/tokenize` and `/detokenize`: converts a text to synthetic ids, and ids to a text. Pure.

use serde_json::{Value, json};

use super::error::ApiError;
use super::options::SimOptions;
use super::prompt::chat_prompt;
use super::request::{check_model, json as read};
use super::text::{self, Prompt, VOCABULARY};
use super::validation::{fields, flag, python_text};

/// Returns the answer of `/tokenize` for a `prompt` or `messages`.
pub fn tokenize(body: &[u8], options: &SimOptions) -> Result<String, ApiError> {
    let body = read(body)?;
    let body = fields(&body)?;
    check_model(body, options)?;
    let with_texts = flag(body, "body", "return_token_strs")?.unwrap_or(false);
    let ids = match body.get("prompt") {
        Some(Value::String(prompt)) => text::ids(prompt),
        Some(other) => {
            let text = "Input should be a valid string";
            return Err(ApiError::schema("string_type", "body.prompt", text, &python_text(other)));
        }
        None => {
            let prompt = chat_prompt(body, Prompt::new(0, 0, true), &options.model)?;
            prompt.prompt.ids.unwrap_or_default()
        }
    };
    let texts = with_texts.then(|| text::from_ids(&ids));
    let max_model_len = options.max_model_len;
    Ok(json!({"count": ids.len(), "max_model_len": max_model_len, "tokens": ids, "token_strs": texts}).to_string())
}

/// Returns the answer of `/detokenize` for `tokens`.
pub fn detokenize(body: &[u8], options: &SimOptions) -> Result<String, ApiError> {
    let body = read(body)?;
    let body = fields(&body)?;
    check_model(body, options)?;
    let tokens = match body.get("tokens") {
        Some(Value::Array(tokens)) => tokens,
        Some(other) => {
            let text = "Input should be a valid list";
            return Err(ApiError::schema("list_type", "body.tokens", text, &python_text(other)));
        }
        None => {
            let input = format!("<dict of {} items>", body.len());
            return Err(ApiError::schema("missing", "body.tokens", "Field required", &input));
        }
    };
    let mut ids = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        let Some(id) = token.as_u64() else {
            let (loc, text) = (format!("body.tokens.{index}"), "Input should be a valid integer");
            return Err(ApiError::schema("int_type", &loc, text, &python_text(token)));
        };
        match u32::try_from(id) {
            Ok(token) if id < VOCABULARY => ids.push(token),
            _ => return Err(ApiError::bad(None, format!("Token id {id} is out of vocabulary"))),
        }
    }
    Ok(json!({"prompt": text::from_ids(&ids).concat().trim_start()}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &Value) -> Value {
        let answer = |it: Result<String, ApiError>| serde_json::from_str(&it.unwrap()).unwrap();
        let (body, options) = (body.to_string(), SimOptions::default());
        if body.contains("tokens") {
            answer(detokenize(body.as_bytes(), &options))
        } else {
            answer(tokenize(body.as_bytes(), &options))
        }
    }

    #[test]
    fn a_text_and_its_tokens_are_the_same_both_ways() {
        let there = check(&json!({"prompt": "the sea is wide t5", "return_token_strs": true}));
        assert_eq!(there["count"], 5);
        assert_eq!(there["token_strs"], json!([" the", " sea", " is", " wide", " t5"]));
        let back = check(&json!({"tokens": there["tokens"]}));
        assert_eq!(back["prompt"], "the sea is wide t5");
        let chat = check(&json!({"messages": [{"role": "user", "content": "Tell me"}]}));
        assert_eq!((chat["count"].clone(), chat["token_strs"].clone()), (json!(9), Value::Null));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let options = SimOptions::default();
        for body in [
            "",
            "[]",
            "{}",
            r#"{"prompt": 1}"#,
            r#"{"tokens": 5}"#,
            r#"{"tokens": [1, "a"]}"#,
            r#"{"tokens": [200000]}"#,
        ] {
            assert!(detokenize(body.as_bytes(), &options).is_err(), "{body}");
            assert!(tokenize(body.as_bytes(), &options).is_err(), "{body}");
        }
    }
}
