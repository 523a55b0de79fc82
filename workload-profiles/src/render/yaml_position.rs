//! Escapes a fact of the run, such as the model, for its position in the profile's YAML. Without this, a name with a quote or a colon would break the
//! YAML, and a name that looks like a number would become a number.

use std::borrow::Cow;

use serde_json::Value;

use crate::yaml;

/// The position of a tag in the YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YamlPosition {
    /// Inside single quotes, directly after the opening quote.
    SingleQuoted,
    /// Inside double quotes, directly after the opening quote.
    DoubleQuoted,
    /// A whole value without quotes.
    WholeValue,
    /// Any other part of a text.
    PartOfText,
}

impl YamlPosition {
    /// The positions that require escaping, and the name of the filter for each. A template cannot use these filters itself.
    pub const FILTERS: [(YamlPosition, &str); 3] = [
        (YamlPosition::SingleQuoted, "benchwright_single"),
        (YamlPosition::DoubleQuoted, "benchwright_double"),
        (YamlPosition::WholeValue, "benchwright_whole"),
    ];

    /// Returns the position between two texts.
    pub fn between(before: &str, after: &str) -> YamlPosition {
        let line = before.rsplit('\n').next().unwrap_or_default();
        let head = line.trim_end_matches(' ');
        let begins = head.is_empty() || head.ends_with(['[', ',', '{']) || (head != line && head.ends_with([':', '-']));
        let ends = after.is_empty() || after.starts_with(['\n', '\r', ',', ']', '}', ' ']);
        match before.chars().next_back() {
            Some('\'') => YamlPosition::SingleQuoted,
            Some('"') => YamlPosition::DoubleQuoted,
            _ if begins && ends => YamlPosition::WholeValue,
            _ => YamlPosition::PartOfText,
        }
    }

    /// Returns the filter that the position requires, if any.
    pub fn filter(self) -> Option<&'static str> {
        Self::FILTERS.iter().find(|(position, _)| *position == self).map(|(_, name)| *name)
    }

    /// Returns the text as it must be written at the position.
    pub fn escape(self, text: &str) -> Cow<'_, str> {
        let quoted = || Value::from(text).to_string();
        match self {
            YamlPosition::SingleQuoted => Cow::Owned(text.replace('\'', "''")),
            YamlPosition::DoubleQuoted => {
                let quoted = quoted();
                Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
            }
            YamlPosition::WholeValue if !is_plain(text) => Cow::Owned(quoted()),
            YamlPosition::WholeValue | YamlPosition::PartOfText => Cow::Borrowed(text),
        }
    }
}

/// Whether YAML reads the unquoted text unchanged. An empty text is accepted: YAML reads it as null, which a profile may want.
fn is_plain(text: &str) -> bool {
    let read = || yaml::read(&format!("a: {text}")).is_ok_and(|it| it["a"] == text);
    text.is_empty() || (!text.contains(['[', ']', '{', '}', ',']) && read())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(before: &str, after: &str, position: YamlPosition) {
        assert_eq!(YamlPosition::between(before, after), position, "{before:?} {after:?}");
    }

    #[test]
    fn a_place_is_known_by_what_is_around_it() {
        check("model: '", "'", YamlPosition::SingleQuoted);
        check("a: 1\nmodel: \"", "\"", YamlPosition::DoubleQuoted);
        check("a: 1\nmodel: ", "\nb: 2", YamlPosition::WholeValue);
        check("model: ", " # the one", YamlPosition::WholeValue);
        check("- ", "\n", YamlPosition::WholeValue);
        check("[a, ", "]", YamlPosition::WholeValue);
        check("url: http://", "\n", YamlPosition::PartOfText);
        check("url: ", "/v1\n", YamlPosition::PartOfText);
    }

    proptest! {
        #[test]
        fn a_fact_is_read_back_as_itself(text in "\\PC{1,12}|(true|123|~|1e3|'a|\"a\"|a: b|- a|# a|\\{\\}|a\\\\b|on|010|\\*a|x #y)") {
            for (before, after, position) in [("a: '", "'", YamlPosition::SingleQuoted), ("a: \"", "\"", YamlPosition::DoubleQuoted), ("a: ", "", YamlPosition::WholeValue)] {
                let written = format!("{before}{}{after}", position.escape(&text));
                let read = crate::yaml::read(&written).map(|it| it["a"].clone());
                prop_assert_eq!(read, Ok(Value::from(text.clone())), "{}", written);
            }
        }
    }
}
