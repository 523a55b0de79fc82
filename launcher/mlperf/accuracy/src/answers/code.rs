//! Extracts programs from answers. They are never run. Pure.

use super::gpt_oss_final_part;
use crate::chars::{is_space, strip};

const FENCE: &str = "```";
const PYTHON: &str = "```python";

/// Returns the first Python block. Source: `parse_code` of deepseek-r1/eval_accuracy.py.
pub fn deepseek_code(text: &str) -> Option<&str> {
    blocks(strip(text), PYTHON).next()
}

/// Returns the last Python block of the final part of an answer. If there is none, returns the last block in any language. If the final part has no
/// block at all, does the same for the whole text. Source: `parse_code` of gpt-oss-120b/eval_accuracy.py.
pub fn gpt_oss_code(text: &str) -> Option<&str> {
    let last = |text| blocks(text, PYTHON).last().or_else(|| blocks(text, FENCE).last().map(without_language));
    last(gpt_oss_final_part(text)).or_else(|| last(strip(text)))
}

/// Returns the program of an answer to MBXP: the text before the first fence, with `\_` replaced by `_`. For Python, leading white space is
/// removed. Source: `postprocess_code` of mixtral-8x7b/evaluate-accuracy.py.
pub fn mbxp_code(text: &str, is_python: bool) -> String {
    let code = text.split(FENCE).next().unwrap_or(text).replace("\\_", "_");
    if is_python { code.trim_start_matches(is_space).to_owned() } else { code }
}

/// Returns the text between each `opening` and the next fence, without surrounding white space.
fn blocks<'a>(text: &'a str, opening: &'static str) -> impl Iterator<Item = &'a str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(opening)?;
        let (block, next) = after.split_once(FENCE)?;
        rest = next;
        Some(strip(block))
    })
}

/// Removes the first line if it is `python` or `py`.
fn without_language(code: &str) -> &str {
    let cut = |name: &str| {
        let rest = code.get(..name.len()).filter(|it| it.eq_ignore_ascii_case(name)).map(|_| &code[name.len()..])?;
        let space = &rest[..rest.find(|it: char| !is_space(it)).unwrap_or(rest.len())];
        Some(&rest[space.rfind('\n')? + 1..])
    };
    cut("python").or_else(|| cut("py")).unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deepseek_has_the_first_block_and_gpt_oss_the_last() {
        let text = "```python\na\n``` ```python\nb\n```";
        assert_eq!((deepseek_code(text), gpt_oss_code(text)), (Some("a"), Some("b")));
    }

    #[test]
    fn a_plain_block_loses_its_language() {
        assert_eq!(gpt_oss_code("```py\nx = 1\n```"), Some("x = 1"));
        assert_eq!(gpt_oss_code("```python3\nx\n```"), Some("3\nx"));
        assert_eq!(gpt_oss_code("``` Python \n\n  x\n```"), Some("  x"));
        assert_eq!(deepseek_code("```py\nx\n```"), None);
    }

    #[test]
    fn an_answer_to_mbxp_ends_at_its_fence() {
        assert_eq!(mbxp_code(" a\\_b\n```\nc", true), "a_b\n");
        assert_eq!(mbxp_code(" a", false), " a");
    }
}
