//! The output of an answer, if it is kept: the token ids and the text of the first choice. Pure.

/// What the server generated, in the first choice of its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Token ids, including the last one if it has no text; empty if the server does not send them.
    pub token_ids: Vec<u32>,
    /// How many token ids there were after the first event with output, including those of earlier events without text.
    /// If no event had output: those of the first event with token ids. For an answer in one piece: all.
    pub first: usize,
    /// The text as received, without reasoning, refusals and tool calls.
    pub text: String,
    /// The most probable first tokens with their log probabilities, in no order; empty if the server sends none.
    pub first_logprobs: Vec<(String, f64)>,
}
