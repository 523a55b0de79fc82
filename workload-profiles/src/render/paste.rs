//! Puts a fact of the run, such as the model, into the text of a profile so that it stays the one value that it is: a name
//! with a quote, a colon or the looks of a number neither ends its place nor changes its type.

use std::borrow::Cow;

use serde_json::Value;

use crate::yaml;

/// What a tag stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Between single quotes, right behind the first one.
    Single,
    /// Between double quotes, right behind the first one.
    Double,
    /// It is a whole value.
    Whole,
    /// A part of a longer text.
    Part,
}

impl Place {
    /// All that need an escape, with the name of the filter that does it. No template can name these filters.
    pub const FILTERS: [(Place, &str); 3] = [
        (Place::Single, "benchwright_single"),
        (Place::Double, "benchwright_double"),
        (Place::Whole, "benchwright_whole"),
    ];

    /// The place between two texts.
    pub fn between(before: &str, after: &str) -> Place {
        let line = before.rsplit('\n').next().unwrap_or_default();
        let head = line.trim_end_matches(' ');
        let begins = head.is_empty() || head.ends_with(['[', ',', '{']) || (head != line && head.ends_with([':', '-']));
        let ends = after.is_empty() || after.starts_with(['\n', '\r', ',', ']', '}', ' ']);
        match before.chars().next_back() {
            Some('\'') => Place::Single,
            Some('"') => Place::Double,
            _ if begins && ends => Place::Whole,
            _ => Place::Part,
        }
    }

    /// The filter, where the place needs one.
    pub fn filter(self) -> Option<&'static str> {
        Self::FILTERS.iter().find(|(place, _)| *place == self).map(|(_, name)| *name)
    }

    /// The text as it has to be written there.
    pub fn escape(self, text: &str) -> Cow<'_, str> {
        let quoted = || Value::from(text).to_string();
        match self {
            Place::Single => Cow::Owned(text.replace('\'', "''")),
            Place::Double => {
                let quoted = quoted();
                Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
            }
            Place::Whole if !is_plain(text) => Cow::Owned(quoted()),
            Place::Whole | Place::Part => Cow::Borrowed(text),
        }
    }
}

/// Whether YAML reads a text without quotes as that text. An empty one is read as nothing, which a profile may want.
fn is_plain(text: &str) -> bool {
    let read = || yaml::read(&format!("a: {text}")).is_ok_and(|it| it["a"] == text);
    text.is_empty() || (!text.contains(['[', ']', '{', '}', ',']) && read())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(before: &str, after: &str, place: Place) {
        assert_eq!(Place::between(before, after), place, "{before:?} {after:?}");
    }

    #[test]
    fn a_place_is_known_by_what_is_around_it() {
        check("model: '", "'", Place::Single);
        check("a: 1\nmodel: \"", "\"", Place::Double);
        check("a: 1\nmodel: ", "\nb: 2", Place::Whole);
        check("model: ", " # the one", Place::Whole);
        check("- ", "\n", Place::Whole);
        check("[a, ", "]", Place::Whole);
        check("url: http://", "\n", Place::Part);
        check("url: ", "/v1\n", Place::Part);
    }

    proptest! {
        #[test]
        fn a_fact_is_read_back_as_itself(text in "\\PC{1,12}|(true|123|~|1e3|'a|\"a\"|a: b|- a|# a|\\{\\}|a\\\\b|on|010|\\*a|x #y)") {
            for (before, after, place) in [("a: '", "'", Place::Single), ("a: \"", "\"", Place::Double), ("a: ", "", Place::Whole)] {
                let written = format!("{before}{}{after}", place.escape(&text));
                let read = crate::yaml::read(&written).map(|it| it["a"].clone());
                prop_assert_eq!(read, Ok(Value::from(text.clone())), "{}", written);
            }
        }
    }
}
