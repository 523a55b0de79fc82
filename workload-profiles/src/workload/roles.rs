//! The usual column names in data sets, by role. The first name that the file contains is used.

use super::PromptForm;

/// Columns with prompts as token ids.
pub const TOKENS: &[&str] =
    &["tok_input", "input_token_ids", "input_tokens", "tokenized_input", "input_ids", "prompt_token_ids"];
/// Columns with prompts as text.
pub const TEXT: &[&str] = &["input", "text_input", "prompt", "question", "text"];
/// Columns with the expected answer.
pub const EXPECTED: &[&str] = &["output", "gt_output", "ground_truth", "target", "answer", "highlights", "response"];
/// Columns with conversations.
pub const CHAT: &[&str] = &["messages", "conversations"];
/// Columns with the length of the answer, in tokens.
pub const OUTPUT_LENGTH: &[&str] = &["max_tokens", "output_len", "tok_output_length"];

/// Returns the usual names of a column with prompts in this form.
pub fn prompts(form: PromptForm) -> &'static [&'static str] {
    match form {
        PromptForm::Text => TEXT,
        PromptForm::TokenIds => TOKENS,
        PromptForm::Messages => CHAT,
    }
}
