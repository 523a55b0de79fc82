//! Extracts answers from a model's text, and compares them with the expected answers, as MLPerf's accuracy scripts do. Pure.
//!
//! The sources are the scripts of mlcommons/inference at commit b66003e1. Each function names its script. Programs that a model wrote are
//! extracted but never run.

mod code;
mod exact_match;
mod letters;
mod numbers;

pub use code::{deepseek_code, gpt_oss_code, mbxp_code};
pub use exact_match::{niah_em, qa_em};
pub use letters::{LastLetter, deepseek_letter, first_capital, gpt_oss_letter};
pub use numbers::{aime_answer, boxed, gsm8k_is_correct, gsm8k_number, same_integer, same_math};

use crate::chars::strip;

/// Returns the final part of a gpt-oss answer, which is what a user sees. It is the text after `<|channel|>final` and `<|message|>`, without any `<`
/// between these two, up to `<|return|>` or the end. Surrounding white space is removed. Without such a part, returns the whole text. Source:
/// `extract_final_section` of gpt-oss-120b/eval_accuracy.py.
pub fn gpt_oss_final_part(text: &str) -> &str {
    const CHANNEL: &str = "<|channel|>final";
    let text = strip(text);
    let part = text.match_indices(CHANNEL).find_map(|(at, _)| {
        let rest = &text[at + CHANNEL.len()..];
        rest[rest.find('<')?..].strip_prefix("<|message|>")
    });
    part.map_or(text, |it| strip(it.split("<|return|>").next().unwrap_or(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_final_part_ends_at_its_marks() {
        let check = |text: &str, expected: &str| assert_eq!(gpt_oss_final_part(text), expected);
        check("<|channel|>analysis<|message|>x<|channel|>final 7<|message|> B <|return|>tail", "B");
        check("<|channel|>final<|start|><|message|>x", "<|channel|>final<|start|><|message|>x");
        check(" plain\n", "plain");
    }
}
