//! The output of an answer, if it is kept: the token ids and the text of the first choice. Pure.

use crate::wire::{Reader, Wire, WireError, Writer};

/// The generated output, of the first choice in the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Token ids, including the last one even if it has no text; empty if the server does not send ids.
    pub token_ids: Vec<u32>,
    /// Number of token ids up to the end of the first event with output, including ids in earlier events without text. If no event has
    /// output: the number of ids in the first event that has some. For an answer in one piece: the number of all ids.
    pub first: usize,
    /// The text as received, without reasoning, refusals and tool calls.
    pub text: String,
    /// The most probable first tokens with their log probabilities, unordered; empty if the server sends none.
    pub first_logprobs: Vec<(String, f64)>,
}

impl Wire for Output {
    fn write(&self, to: &mut Writer) {
        let Output { token_ids, first, text, first_logprobs } = self;
        token_ids.write(to);
        first.write(to);
        text.write(to);
        first_logprobs.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Output, WireError> {
        let (token_ids, first) = <(Vec<u32>, usize)>::read(from)?;
        if first > token_ids.len() {
            return Err(WireError::Value { what: "number of first tokens" });
        }
        Ok(Output { token_ids, first, text: Wire::read(from)?, first_logprobs: Wire::read(from)? })
    }
}
