//! Replaces the tag `generation` of transformers, which marks the text of the assistant for training. Pure.
//!
//! The tag does not change a prompt. It is replaced by a block that is always rendered, because removing the tag could change the white space around
//! it.

/// Replaces the `generation` blocks of a template by `if true` blocks.
pub(crate) fn without_tags(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        text.push_str(before);
        match replaced(tag) {
            Some((replacement, length)) => {
                text.push_str(&replacement);
                rest = &tag[length..];
            }
            None => {
                text.push_str("{%");
                rest = &tag[2..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// The text that replaces the tag at the start of `tag`, and the length of the tag. `None` if it is a different tag.
fn replaced(tag: &str) -> Option<(String, usize)> {
    let end = tag.find("%}")?;
    let inner = &tag[2..end];
    let sign = |it: char| matches!(it, '-' | '+');
    let word = inner.trim_matches(sign).trim();
    let stands = match word {
        "generation" => " if true ",
        "endgeneration" => " endif ",
        _ => return None,
    };
    let begin = if inner.starts_with(sign) { &inner[..1] } else { "" };
    let close = if inner.ends_with(sign) { &inner[inner.len() - 1..] } else { "" };
    Some((format!("{{%{begin}{stands}{close}%}}"), end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tag_is_replaced() {
        let check = |source: &str, expected: &str| assert_eq!(without_tags(source), expected, "{source}");
        check("a{%- generation %}b{% endgeneration -%}c", "a{%- if true %}b{% endif -%}c");
        check("{% if generation %}é{%generation%}{% endif %}", "{% if generation %}é{% if true %}{% endif %}");
        check("{% generation", "{% generation");
        check("{{ '{%' }}", "{{ '{%' }}");
        check("", "");
    }
}
