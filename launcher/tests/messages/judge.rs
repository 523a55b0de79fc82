//! Judges whether a message contains the field, the value and a remedy, by rules that a program can check.

use serde_json::Value;

use crate::messages::mutate::Mutation;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It contains words that only programmers understand.
    Jargon,
    /// It does not name the field.
    Field,
    /// It does not show the value that was found.
    Value,
    /// It contains no remedy.
    Remedy,
    /// It repeats more than 80 characters of a value.
    Long,
}

/// Words of serde, of the YAML library and of Rust, which users do not know.
const JARGON: [&str; 22] = [
    "struct ",
    "expected",
    "invalid type",
    "invalid value",
    "invalid length",
    "missing field",
    "unknown field",
    "unknown variant",
    "u32",
    "u64",
    "i64",
    "usize",
    "Options",
    "from_str",
    "configured policy",
    "budget breached",
    "Nodes",
    "newtype",
    "-->",
    "DuplicateKey",
    "sequence",
    "data did not match",
];

/// The beginnings of remedies.
const VERBS: [&str; 34] = [
    "write",
    "choose",
    "did you mean",
    "known are",
    "take",
    "keep",
    "give",
    "use",
    "set",
    "lower",
    "raise",
    "change",
    "name",
    "put",
    "leave",
    "begin",
    "shorten",
    "sort",
    "outside",
    "merge",
    "close",
    "indent",
    "define",
    "nest",
    "this command takes",
    "it is called",
    "at most",
    "there is none",
    "save",
    "end",
    "check",
    "or ask",
    "only",
    "needs",
];

/// Judges a message about a mutation.
pub fn judge(mutation: &Mutation, error: &str) -> Result<(), Fault> {
    if JARGON.iter().any(|it| error.contains(it)) {
        return Err(Fault::Jargon);
    }
    if error.contains(&"y".repeat(90)) {
        return Err(Fault::Long);
    }
    if !error.lines().skip_while(|it| it.ends_with("cannot be run:")).all(has_remedy) {
        return Err(Fault::Remedy);
    }
    let about: Vec<&str> = error.lines().filter(|it| names(it, mutation)).collect();
    if about.is_empty() {
        return Err(Fault::Field);
    }
    about.iter().any(|it| mutation.renamed.is_some() || shows(it, &mutation.value)).then_some(()).ok_or(Fault::Value)
}

fn has_remedy(line: &str) -> bool {
    let parts = line.split("; ").skip(1).chain(line.split("? ").skip(1)).chain(line.split(", ").skip(1));
    parts.into_iter().any(|part| VERBS.iter().any(|it| part.starts_with(it)))
}

/// Whether a line is about the field: it contains the path of the field, or the path of the enclosing value together with the name of the field.
fn names(line: &str, mutation: &Mutation) -> bool {
    if let Some(old) = &mutation.renamed
        && line.contains(old.as_str())
        && ["is missing", "without"].iter().any(|it| line.contains(it))
    {
        return true;
    }
    // Messages name values for the profile by their path in the profile.
    let path = mutation.path.strip_prefix("spec.profile.").map_or(mutation.path.clone(), |it| format!("profile.{it}"));
    let path = path.as_str();
    let (parent, last) = path.rsplit_once(['.', '[']).unwrap_or(("", path));
    line.contains(path) || (line.contains(parent) && line.contains(last.trim_end_matches(']')))
        // The error is inside an object that replaced another value.
        || (mutation.value.is_object() && line.contains(&format!("{path}.")))
}

/// Whether a line shows a value as it is in the file. For lists and mappings, their type or one of their elements is enough.
fn shows(line: &str, value: &Value) -> bool {
    if !value.is_string() && line.contains(&value.to_string()) {
        return true;
    }
    match value {
        Value::Null => true,
        Value::Bool(it) => line.contains(&it.to_string()),
        Value::Number(it) => {
            line.contains(&it.to_string()) || it.as_f64().is_some_and(|it| line.contains(&it.to_string()))
        }
        Value::String(it) if it.is_empty() => ["\"\"", "is empty", "is missing"].iter().any(|it| line.contains(it)),
        Value::String(it) => {
            let start: String = it.chars().take(40).collect();
            let escaped = format!("{start:?}");
            line.contains(escaped.trim_matches('"')) || line.contains(&start)
        }
        Value::Array(items) => {
            let told = ["list", "holds 0", "holds no ", "is missing"].iter().any(|it| line.contains(it));
            told || items.iter().any(|it| shows(line, it))
        }
        Value::Object(entries) => {
            let told = ["mapping", "is missing"].iter().any(|it| line.contains(it));
            told || entries.keys().any(|it| line.contains(it.as_str()))
        }
    }
}
