//! The usual column names in data sets, by role. The first name that a file has is used.

use super::PromptForm;

/// Prompts as token ids.
pub const TOKENS: &[&str] =
    &["tok_input", "input_token_ids", "input_tokens", "tokenized_input", "input_ids", "prompt_token_ids"];
/// Prompts as text.
pub const TEXT: &[&str] = &["input", "text_input", "prompt", "question", "text"];
/// The expected answer.
pub const EXPECTED: &[&str] = &["output", "gt_output", "ground_truth", "target", "answer", "highlights", "response"];
/// Conversations.
pub const CHAT: &[&str] = &["messages", "conversations"];
/// The length of an answer in tokens.
pub const OUTPUT_LENGTH: &[&str] = &["max_tokens", "output_len", "tok_output_length"];

/// The usual names of a prompt column in this form.
pub fn prompts(form: PromptForm) -> &'static [&'static str] {
    match form {
        PromptForm::Text => TEXT,
        PromptForm::TokenIds => TOKENS,
        PromptForm::Messages => CHAT,
    }
}
