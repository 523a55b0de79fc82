//! llm-d-benchmark's template syntax: `REPLACE_ENV_NAME`, and the older `REPLACE_ENV_NAME++++default=VALUE`.
//!
//! As in llm-d-benchmark, names are replaced in the whole text, including quotes, longer texts and comments. A name without a value and without a
//! default stays in the text. In a comment it has no effect. Anywhere else it is an error. The error is found in the parsed profile, which does not
//! contain comments.

use super::yaml_position::YamlPosition;
use crate::{
    problem::Problem,
    variables::{FACTS, Variables},
    yaml::MAX_TEXT_BYTES,
};

const TOKEN: &str = "REPLACE_ENV_";
const DEFAULT: &str = "++++default=";

/// Replaces every name that has a value or a default.
///
/// # Errors
/// Returns an error if the text becomes longer than [`MAX_TEXT_BYTES`].
pub(super) fn replace(text: &str, variables: &Variables) -> Result<String, Problem> {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = next(rest) {
        output.push_str(&rest[..found.start]);
        let position = YamlPosition::between(&output, &rest[found.end..]);
        let filled = variables.filling(found.name).and_then(|name| Some((name, variables.get(name)?)));
        match filled {
            Some((name, value)) if FACTS.contains(&name) => output.push_str(&position.escape(value)),
            filled => {
                let value = filled.map(|(_, value)| value).or(found.default);
                output.push_str(value.unwrap_or(&rest[found.start..found.end]));
            }
        }
        rest = &rest[found.end..];
        if output.len() + rest.len() > MAX_TEXT_BYTES {
            return Err(super::too_long());
        }
    }
    output.push_str(rest);
    Ok(output)
}

/// Returns the names in a text.
pub(super) fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(found) = next(rest) {
        names.push(found.name);
        rest = &rest[found.end..];
    }
    names
}

struct Found<'a> {
    start: usize,
    end: usize,
    name: &'a str,
    default: Option<&'a str>,
}

fn next(text: &str) -> Option<Found<'_>> {
    let start = text.find(TOKEN)?;
    let name = leading(&text[start + TOKEN.len()..], |it| it.is_ascii_alphanumeric() || it == '_');
    let end = start + TOKEN.len() + name.len();
    let default = text[end..].strip_prefix(DEFAULT).map(|rest| {
        // A default ends where a YAML scalar can end: at white space, a quote, or a comma or bracket of a flow collection.
        leading(rest, |it| !it.is_whitespace() && !"\"',[]{}".contains(it))
    });
    Some(Found { start, end: end + default.map_or(0, |it| DEFAULT.len() + it.len()), name, default })
}

fn leading(text: &str, wanted: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|it| !wanted(it)).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::tests::with;

    fn check(text: &str, expected: &str) {
        let variables = with("m/x", &["dataset_dir=/d", "dataset_file=f.json", "PVC=claim"]).unwrap();
        assert_eq!(replace(text, &variables).unwrap(), expected);
    }

    #[test]
    fn names_are_replaced_wherever_they_stand() {
        check("model_name: REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL\n", "model_name: m/x\n");
        check("REPLACE_ENV_LLMDBENCH_RUN_DATASET_DIR/REPLACE_ENV_LLMDBENCH_RUN_DATASET_FILE", "/d/f.json");
        check("'REPLACE_ENV_PVC' # REPLACE_ENV_PVC", "'claim' # claim");
        check("REPLACE_ENV_LLMDBENCH_HARNESS_STACK_ENDPOINT_URL", "http://server:8000");
    }

    #[test]
    fn a_default_stands_in_for_a_missing_value_only() {
        check("a: REPLACE_ENV_X++++default=5 # c", "a: 5 # c");
        check("a: [REPLACE_ENV_X++++default=5, REPLACE_ENV_PVC++++default=6]", "a: [5, claim]");
        check("\"REPLACE_ENV_X++++default=http://h:1/p\"", "\"http://h:1/p\"");
        check("a: REPLACE_ENV_X++++default=", "a: ");
    }

    #[test]
    fn what_has_no_value_is_left() {
        check("# REPLACE_ENV_X", "# REPLACE_ENV_X");
        check("REPLACE_ENV_", "REPLACE_ENV_");
    }

    #[test]
    fn a_text_that_grows_too_long_is_an_error() {
        let variables = with("m", &[&format!("A={}", "x".repeat(1000))]).unwrap();
        let problem = replace(&"REPLACE_ENV_A ".repeat(1000), &variables).unwrap_err();
        assert!(problem.message.contains("more than 262144 bytes"), "{problem}");
    }
}
