//! Builds the responses of `/v1/completions`, in the format of vLLM's API. Pure.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    frames::{Finish, Piece},
    request::Request,
};

/// The last event of a stream.
pub(crate) const DONE: &[u8] = b"data: [DONE]\n\n";

/// Builds the response to one request from the pieces of its choices.
#[derive(Debug)]
pub(crate) struct Answer {
    id: String,
    created: i64,
    model: String,
    token_ids: bool,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug, Default)]
struct Choice {
    prompt_tokens: u32,
    tokens: usize,
    ids: Vec<u32>,
    text: String,
    finish: Option<Finish>,
}

impl Answer {
    /// Creates a response without any piece. `created`: seconds since 1970.
    pub(crate) fn new(request: &Request, id: String, created: i64) -> Answer {
        let choices = vec![Choice::default(); request.prompts.len()];
        Answer { id, created, model: request.model.clone(), token_ids: request.token_ids, choices }
    }

    /// Whether all choices have ended.
    pub(crate) fn is_complete(&self) -> bool {
        self.choices.iter().all(|it| it.finish.is_some())
    }

    /// Records a piece, and returns it as a chunk of the stream.
    pub(crate) fn chunk(&mut self, index: usize, piece: &Piece) -> Bytes {
        self.count(index, piece);
        let choice = self.choice(index, &piece.text, &piece.ids, piece.finish);
        event(&self.object(json!([choice])))
    }

    /// Records a piece of a response that is not streamed.
    pub(crate) fn keep(&mut self, index: usize, piece: Piece) {
        self.count(index, &piece);
        let choice = &mut self.choices[index];
        choice.ids.extend(piece.ids);
        choice.text.push_str(&piece.text);
    }

    fn count(&mut self, index: usize, piece: &Piece) {
        let choice = &mut self.choices[index];
        choice.tokens += piece.ids.len();
        choice.prompt_tokens = piece.prompt_tokens.max(choice.prompt_tokens);
        choice.finish = piece.finish.or(choice.finish);
    }

    /// Returns the chunk with the usage, which can end a stream.
    pub(crate) fn usage_chunk(&self) -> Bytes {
        let mut object = self.object(json!([]));
        object["usage"] = self.usage();
        event(&object)
    }

    /// Returns the complete response.
    pub(crate) fn whole(&self) -> Bytes {
        let choices =
            self.choices.iter().enumerate().map(|(index, it)| self.choice(index, &it.text, &it.ids, it.finish));
        let mut object = self.object(choices.collect());
        object["usage"] = self.usage();
        object.to_string().into()
    }

    fn object(&self, choices: Value) -> Value {
        json!({"id": self.id, "object": "text_completion", "created": self.created, "model": self.model, "choices": choices})
    }

    fn choice(&self, index: usize, text: &str, ids: &[u32], finish: Option<Finish>) -> Value {
        let mut choice =
            json!({"index": index, "text": text, "logprobs": null, "finish_reason": finish.map(Finish::name)});
        if self.token_ids {
            choice["token_ids"] = ids.into();
        }
        choice
    }

    fn usage(&self) -> Value {
        let prompt: u64 = self.choices.iter().map(|it| u64::from(it.prompt_tokens)).sum();
        let tokens: u64 = self.choices.iter().map(|it| it.tokens as u64).sum();
        json!({"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens})
    }
}

/// Returns an event that reports an error within a stream.
pub(crate) fn error_event(why: &str) -> Bytes {
    event(&error(why, 500))
}

/// Returns the body of an error response.
pub(crate) fn error(why: &str, code: u16) -> Value {
    let kind = if code < 500 { "BadRequestError" } else { "InternalServerError" };
    json!({"error": {"message": why, "type": kind, "param": null, "code": code}})
}

fn event(object: &Value) -> Bytes {
    format!("data: {object}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request;

    fn piece(ids: &[u32], text: &str, finish: Option<Finish>) -> Piece {
        Piece { ended_ns: 0, finish, prompt_tokens: 3, ids: ids.to_vec(), text: text.into() }
    }

    fn answer(body: &str) -> Answer {
        Answer::new(&request::read(body.as_bytes()).unwrap(), "cmpl-1".into(), 5)
    }

    #[test]
    fn a_stream_has_a_chunk_for_each_piece_and_counts_all_tokens() {
        let mut answer = answer(r#"{"model": "m", "prompt": [1, 2, 3], "return_token_ids": true}"#);
        let first = answer.chunk(0, &piece(&[7, 8], "a b", None));
        let expected = r#"data: {"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[{"index":0,"text":"a b","logprobs":null,"finish_reason":null,"token_ids":[7,8]}]}"#;
        assert_eq!(first, format!("{expected}\n\n"));
        assert!(!answer.is_complete());
        let last = String::from_utf8(answer.chunk(0, &piece(&[9], "", Some(Finish::Length))).to_vec()).unwrap();
        assert!(last.contains(r#""finish_reason":"length""#) && answer.is_complete(), "{last}");
        let usage = String::from_utf8(answer.usage_chunk().to_vec()).unwrap();
        let counted = r#""choices":[],"usage":{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}}"#;
        assert!(usage.contains(counted), "{usage}");
    }

    #[test]
    fn a_whole_answer_has_a_choice_for_each_prompt() {
        let mut answer = answer(r#"{"model": "m", "prompt": [[1], [2]]}"#);
        answer.keep(1, piece(&[4], "y", Some(Finish::Stop)));
        answer.keep(0, piece(&[5], "x", None));
        answer.keep(0, piece(&[6], "z", Some(Finish::Abort)));
        let whole: Value = serde_json::from_slice(&answer.whole()).unwrap();
        let choices = json!([
            {"index": 0, "text": "xz", "logprobs": null, "finish_reason": "abort"},
            {"index": 1, "text": "y", "logprobs": null, "finish_reason": "stop"}
        ]);
        assert_eq!(whole["choices"], choices);
        assert_eq!(whole["usage"]["completion_tokens"], 3);
    }
}
