//! Overrides and variables from a command line. Pure.

use std::collections::BTreeMap;

use crds::{AnyValue, any_value};

use super::InputError;

/// Returns the spec's overrides with those of the command line. If both set the same key, the command line's value is used.
///
/// # Errors
/// An override from the command line has no equals sign.
pub(super) fn with(
    of_spec: &BTreeMap<String, AnyValue>,
    of_command: &[String],
) -> Result<BTreeMap<String, String>, InputError> {
    let mut all = any_value::texts(of_spec);
    for each in of_command.iter().flat_map(|it| split(it)) {
        let (key, value) = pair(each).ok_or_else(|| InputError::Override { found: each.to_owned() })?;
        all.insert(key.to_owned(), value.to_owned());
    }
    Ok(all)
}

/// Sets the variables from a command line.
///
/// # Errors
/// A variable has no equals sign.
pub(super) fn set_variables(
    variables: &mut BTreeMap<String, AnyValue>,
    of_command: &[String],
) -> Result<(), InputError> {
    for each in of_command {
        let (name, value) = pair(each).ok_or_else(|| InputError::Variable { found: each.clone() })?;
        variables.insert(name.to_owned(), AnyValue(value.into()));
    }
    Ok(())
}

fn pair(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(key, _)| !key.is_empty())
}

/// Splits one argument into overrides. As in llm-d-benchmark, commas separate them. A comma that is not followed by `key=`, or that is in brackets,
/// braces or quotes, belongs to the value.
fn split(argument: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_u32, None);
    for (at, letter) in argument.char_indices() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(letter),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 && begins_with_key(&argument[at + 1..]) => {
                parts.push(argument[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    // A quote that is never closed is an ordinary character of the value.
    if quote.is_some() && parts.is_empty() {
        return vec![argument];
    }
    parts.push(argument[start..].trim());
    parts
}

fn begins_with_key(text: &str) -> bool {
    let is_key = |key: &str| {
        let letters = |it: char| it.is_alphanumeric() || "_-.[]".contains(it);
        !key.is_empty() && key.chars().all(letters)
    };
    text.split_once('=').is_some_and(|(key, _)| is_key(key.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argument: &str, expected: &[(&str, &str)]) {
        let found = with(&BTreeMap::new(), &[argument.to_owned()]).unwrap();
        let expected = expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(found, expected, "{argument}");
    }

    #[test]
    fn a_comma_separates_two_overrides() {
        check("min=20,total_count=200", &[("min", "20"), ("total_count", "200")]);
        check("load.stages.0.rate=5, data.type=random", &[("load.stages.0.rate", "5"), ("data.type", "random")]);
        check("a[0].b=1,c=", &[("a[0].b", "1"), ("c", "")]);
    }

    #[test]
    fn a_comma_of_a_value_stays() {
        check("percentiles=1,2,3", &[("percentiles", "1,2,3")]);
        check("rates=[1, 2],b={c: 1, d=2}", &[("rates", "[1, 2]"), ("b", "{c: 1, d=2}")]);
        check("text=\"a,b=c\",d=1", &[("text", "\"a,b=c\""), ("d", "1")]);
        check("text=it's,so", &[("text", "it's,so")]);
    }

    #[test]
    fn what_has_no_equals_sign_is_refused() {
        assert!(matches!(with(&BTreeMap::new(), &["a".into()]), Err(InputError::Override { .. })));
        assert!(matches!(set_variables(&mut BTreeMap::new(), &["=1".into()]), Err(InputError::Variable { .. })));
        let mut variables = BTreeMap::new();
        set_variables(&mut variables, &["isl=5".into()]).unwrap();
        assert_eq!(any_value::texts(&variables)["isl"], "5");
    }
}
