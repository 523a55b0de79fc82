//! The values that a field accepts according to its schema: the check of one value, and the text of the remedy.

use regex::Regex;
use serde_json::Value;

use crate::{
    objective::limit_fault,
    patterns,
    wording::{MAX_QUOTED, listed, nearest},
    yaml::{Content, Node},
};

/// A description of each pattern for users. A test compares this list with the schema.
pub(super) const PATTERNS: [(&str, &str); 18] = [
    (r"^[-._a-zA-Z0-9]+$", "write a key of letters, digits, dashes, dots and underscores, such as token"),
    (
        r"^[a-z]([-a-z0-9]*[a-z0-9])?$",
        "write a name of letters a-z, digits and dashes that begins with a letter, such as gateway",
    ),
    (r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", "write a name of letters a-z, digits, dashes and dots, such as workload-pvc"),
    (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "write a name of letters a-z, digits and dashes, such as llm-d"),
    (
        r"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$",
        "write the name of a results folder, which is the name of the Job that wrote it, such as chat-2db482-a1",
    ),
    (r"^/[^\s?#]*$", "write a path that begins with a slash and has no blank, query or fragment, such as /llm"),
    (
        r"^[a-z0-9][-.a-z0-9]*[a-z0-9]$",
        "write the name of a bucket, of letters a-z, digits, dots and dashes, such as bench",
    ),
    (
        r"^[-._a-zA-Z0-9]+(/[-._a-zA-Z0-9]+)*$",
        "write names of letters, digits, dots, dashes and underscores with slashes between them, such as team-a/runs",
    ),
    (URL, "write a URL such as http://gateway.llm-d:80"),
    (r"^(Equal|Exists)$", "choose one of Equal and Exists"),
    (r"^(NoSchedule|PreferNoSchedule|NoExecute)$", "choose one of NoSchedule, PreferNoSchedule and NoExecute"),
    (patterns::SHARE, "write a number from 0 to 1, such as 0.01"),
    (patterns::LIMIT, "write a duration such as 500ms for a time, or a number such as 900 for a rate"),
    (patterns::AUTO_OR_COUNT, "write Auto, or a whole number from 1 to 1024"),
    (patterns::PRICE, "write a price such as 2.50"),
    (r"^[0-9]{1,6}(\.[0-9]{1,6})?(ms|s|m|h)$", "write a duration with its unit, such as 5s or 500ms"),
    (r"^[A-Z]{3}$", "write three capital letters of ISO 4217, such as USD"),
    (
        patterns::QUANTITY,
        "write a quantity such as 2, 0.5, 500m, 20Gi or 1e3, with an exponent of at most three digits",
    ),
];

/// The pattern of a target's URL in a cluster. It is not in [`PATTERNS`], because sockets are allowed outside of a cluster, and because
/// [`crate::resolve`] describes errors in a URL more precisely, without printing its password.
const URL: &str = r"^https?://(\[[0-9a-fA-F:.]+\]|[-._a-zA-Z0-9]+)(:[0-9]{1,5})?(/[^\s?#@]*)?$";

/// Whether the field accepts this value. The type of the value was checked before.
pub(super) fn accepts(schema: &Value, value: &Value) -> bool {
    let number = value.as_f64();
    let least = schema["minimum"].as_f64();
    let most = schema["maximum"].as_f64();
    let within = number.is_none_or(|it| least.is_none_or(|least| it >= least) && most.is_none_or(|most| it <= most));
    let excluded = schema["not"]["enum"].as_array().is_some_and(|it| it.contains(value));
    within && !excluded && value.as_str().is_none_or(|text| accepts_text(schema, text))
}

fn accepts_text(schema: &Value, text: &str) -> bool {
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let listed = schema["enum"].as_array().is_none_or(|it| it.iter().any(|it| it == text));
    let least = schema["minLength"].as_u64().is_none_or(|it| length >= it);
    let most = schema["maxLength"].as_u64().is_none_or(|it| length <= it);
    let pattern = schema["pattern"].as_str().filter(|it| *it != URL).and_then(|it| Regex::new(it).ok());
    listed && least && most && pattern.is_none_or(|it| it.is_match(text))
}

/// Returns what to write instead, as a text that begins with a verb.
pub(super) fn remedy(schema: &Value, node: &Node) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        return choice(choices, node);
    }
    let pattern = schema["pattern"].as_str();
    if let Some((_, words)) = PATTERNS.iter().find(|(it, _)| Some(*it) == pattern) {
        let most = schema["maxLength"].as_u64().map(|it| format!(", of at most {it} characters"));
        let long = node.text().is_some_and(|it| it.len() > MAX_QUOTED);
        let fault = match &node.content {
            Content::Scalar(_, written) if pattern == Some(patterns::LIMIT) => limit_fault(written),
            _ => None,
        };
        let fault = fault.map_or_else(String::new, |it| format!("{it}; "));
        return format!("{fault}{words}{}", most.filter(|_| long).unwrap_or_default());
    }
    match schema["type"].as_str() {
        Some("boolean") => "write true or false".to_owned(),
        Some("integer") => whole_number(schema),
        Some("number") => "write a number such as 0.5".to_owned(),
        Some("array") => {
            format!("write a list, one line `- value` per value; for each value, {}", remedy(&schema["items"], node))
        }
        Some("object") => mapping(schema),
        _ if schema["maxItems"] == 0 => single(schema, node),
        _ => text(schema, node),
    }
}

/// What to write for a string, a number or a boolean.
fn single(schema: &Value, node: &Node) -> String {
    let what = match &node.content {
        Content::Scalar(..) => return text(schema, node),
        Content::List(_) => "list",
        Content::Mapping(_) => "mapping",
    };
    let written = crate::wording::cut(&node.to_json().to_string());
    format!("write a text, a number, true or false; a {what} is written as a text, here '{written}' in quotes")
}

fn choice(choices: &[Value], node: &Node) -> String {
    let names: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    let all = format!("choose one of {}", listed(&names));
    let found = match &node.content {
        Content::Scalar(_, written) => written.as_str(),
        Content::List(_) | Content::Mapping(_) => "",
    };
    // In earlier releases this value was called `Off`, which YAML might have read as a boolean. The message names its new name, `None`.
    let renamed = (found.eq_ignore_ascii_case("off") && names.contains(&"None")).then_some("None");
    match renamed.or_else(|| nearest(found, names.iter().copied()).filter(|_| !found.is_empty())) {
        Some(name) => format!("did you mean {name}? {all}"),
        None => all,
    }
}

fn whole_number(schema: &Value) -> String {
    let bound = |it: &Value| it.as_u64().or_else(|| it.as_f64().filter(|it| *it >= 0.0).map(|it| it as u64));
    match (bound(&schema["minimum"]).unwrap_or(0), bound(&schema["maximum"])) {
        (least, Some(most)) => format!("write a whole number from {least} to {most}"),
        (least, None) => format!("write a whole number of at least {least}"),
    }
}

fn mapping(schema: &Value) -> String {
    let keys: Vec<&str> = schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    match keys.as_slice() {
        [] if schema["additionalProperties"].is_object() => {
            "write a mapping, one line `name: value` per value, such as {team: serving}".to_owned()
        }
        [] => "write an empty mapping, {}".to_owned(),
        keys => format!("write a mapping, one line `key: value` for each of {}", listed(keys)),
    }
}

fn text(schema: &Value, node: &Node) -> String {
    let most = schema["maxLength"].as_u64();
    let least = schema["minLength"].as_u64().filter(|it| *it > 0);
    let length = match (least, most) {
        (Some(least), Some(most)) => format!(" of {least} to {most} characters"),
        (None, Some(most)) => format!(" of at most {most} characters"),
        _ => String::new(),
    };
    match &node.content {
        Content::Scalar(Value::Number(_) | Value::Bool(_), written) => {
            format!("write a text{length}, here \"{}\" in quotes", crate::wording::cut(written))
        }
        _ => format!("write a text{length}, such as \"example\""),
    }
}
