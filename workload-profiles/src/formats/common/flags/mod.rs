//! The flags of a command-line tool as a profile: a flat mapping of flags and values, as llm-d-benchmark writes it, or the command line
//! itself. Both become a mapping with the names and forms from the tool's table of flags.

use serde_json::{Map, Value};

use super::command_line::{self, CommandLineError};
use crate::{
    problem::{Findings, named, quoted, suggestion},
    reader::described,
};

/// llm-d-benchmark writes this value for a flag without a value.
const NO_VALUE: &str = "none";

/// Maximum number of unknown flags for which a similar name is suggested. A profile can contain very many.
const MAX_SUGGESTIONS: usize = 50;

/// The form of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::formats) enum Form {
    /// No value: the flag is on if it is present.
    Switch,
    /// One value.
    One,
    /// Words, separated by this sign or by blanks.
    Words(char),
    /// Pairs of a name and a value, with `sign` inside a pair, and `between` or blanks between pairs.
    Pairs { sign: char, between: char },
    /// Pairs of a name and a number, with a colon inside a pair, and blanks between pairs. A quoted word can contain several pairs.
    Bounds,
    /// A JSON object.
    Json,
}

/// The effect of a flag.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) enum Effect {
    /// The format reads the flag.
    Read(Form),
    /// The flag only affects the tool's own work, such as its file names.
    Ignored,
    /// The flag has no effect, for this reason. The reason becomes a notice.
    Noticed(&'static str),
    /// The load cannot be run with this flag. The text has the reason and the remedy.
    Refused(&'static str),
}

/// A flag.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) struct Flag {
    /// The names of the flag without leading dashes. The format uses the first one.
    pub names: &'static [&'static str],
    pub effect: Effect,
}

impl Flag {
    pub const fn read(form: Form, names: &'static [&'static str]) -> Flag {
        Flag { names, effect: Effect::Read(form) }
    }

    pub const fn ignored(names: &'static [&'static str]) -> Flag {
        Flag { names, effect: Effect::Ignored }
    }

    pub const fn noticed(names: &'static [&'static str], why: &'static str) -> Flag {
        Flag { names, effect: Effect::Noticed(why) }
    }

    pub const fn refused(names: &'static [&'static str], why: &'static str) -> Flag {
        Flag { names, effect: Effect::Refused(why) }
    }
}

/// A command-line tool.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) struct Tool {
    /// The name of the tool in messages.
    pub name: &'static str,
    /// All flags of the tool, in one or more tables.
    pub flags: &'static [&'static [Flag]],
    /// True: a flag with a list can be repeated, and each time adds words to its list. False: a repeated flag is a problem.
    pub lists_add: bool,
}

impl Tool {
    fn flag(&self, name: &str) -> Option<&'static Flag> {
        self.all().find(|it| it.names.contains(&name))
    }

    fn all(&self) -> impl Iterator<Item = &'static Flag> {
        self.flags.iter().copied().flatten()
    }

    /// Whether the tool has this flag. `name` is written with hyphens.
    pub fn has_flag(&self, name: &str) -> bool {
        self.flag(name).is_some()
    }

    /// The names of the flags that the format reads, as in messages.
    pub fn read_names(&self) -> impl Iterator<Item = &'static str> {
        self.all().filter(|it| matches!(it.effect, Effect::Read(_))).flat_map(|it| it.names.iter().copied())
    }
}

/// The flags of a mapping, under their canonical names and in their canonical forms. `None` means that the profile is not a mapping, and a problem
/// was reported.
pub(in crate::formats) fn from_mapping(profile: &Value, tool: Tool, findings: &Findings) -> Option<Value> {
    let Some(entries) = profile.as_object() else {
        let wanted = format!("write the flags of {} as a mapping, one line `name: value` per flag", tool.name);
        findings.problem("profile", format!("is {}; {wanted}", described(profile)));
        return None;
    };
    let mut reader = Reader { tool, findings, read: Map::new(), unknown: 0 };
    for (key, value) in entries {
        reader.add(key, value);
    }
    Some(Value::Object(reader.read))
}

/// The flags of a command line. The words before the first flag must equal one of `commands`, but the program can have a path before its name.
pub(in crate::formats) fn from_command_line(
    text: &str,
    commands: &[&[&str]],
    tool: Tool,
    findings: &Findings,
) -> Option<Value> {
    let of_text = |error: CommandLineError| findings.problem("profile", error.to_string());
    let words = command_line::words(text).map_err(of_text).ok()?;
    let flags = words.iter().position(|it| it.starts_with('-')).unwrap_or(words.len());
    let (command, flags) = words.split_at(flags);
    let names: Vec<&str> = command.iter().map(|it| command_line::file_name(it)).collect();
    if !commands.iter().any(|it| names == *it) {
        let known: Vec<String> = commands.iter().map(|it| it.join(" ")).collect();
        let message =
            format!("begins with {}; write {}, and its flags after it", quoted(&command.join(" ")), known.join(" or "));
        findings.problem("profile", message);
        return None;
    }
    let options = command_line::options(flags).map_err(of_text).ok()?;
    let mut reader = Reader { tool, findings, read: Map::new(), unknown: 0 };
    for option in options {
        let value = match option.values.as_slice() {
            [] => Value::from(NO_VALUE),
            words => Value::from(words),
        };
        reader.add(&option.name, &value);
    }
    Some(Value::Object(reader.read))
}

/// The text of a flag with one value. The text can look like a number.
pub(in crate::formats) fn word(section: &crate::reader::Section, key: &'static str) -> Option<String> {
    let text = match section.value(key)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => {
            section.text(key);
            return None;
        }
    };
    if text.is_empty() {
        section.problem(key, "is empty; write its value, or take the flag out");
        return None;
    }
    Some(text)
}

/// Flags that name the model.
const MODEL_FLAGS: [&str; 3] = ["model", "tokenizer", "served-model-name"];

/// Reads the flags one by one.
struct Reader<'a> {
    tool: Tool,
    findings: &'a Findings,
    read: Map<String, Value>,
    unknown: usize,
}

impl Reader<'_> {
    fn add(&mut self, key: &str, value: &Value) {
        let name = key.trim_start_matches('-').replace('_', "-");
        let shown = named(&name);
        let Some(flag) = self.tool.flag(&name) else {
            self.unknown += 1;
            let remedy = match self.unknown {
                ..=MAX_SUGGESTIONS => suggestion(&name, self.tool.all().flat_map(|it| it.names.iter().copied())),
                _ => "take it out".to_owned(),
            };
            return self.findings.problem(shown, format!("is no flag of {}; {remedy}", self.tool.name));
        };
        // A template leaves these flags empty if the run names no model. The server then reports its model.
        if value.is_null() && MODEL_FLAGS.contains(&flag.names[0]) {
            return;
        }
        match flag.effect {
            Effect::Ignored => {}
            _ if is_off(value) => {}
            Effect::Noticed(why) => self.findings.notice(shown, why),
            Effect::Refused(why) => self.findings.problem(shown, why),
            Effect::Read(form) => match in_form(form, value) {
                Ok(value) => self.insert(&shown, flag.names[0], value),
                Err(message) => self.findings.problem(shown, message),
            },
        }
    }

    fn insert(&mut self, shown: &str, name: &str, value: Value) {
        match (self.read.get_mut(name), value) {
            (None, value) => drop(self.read.insert(name.to_owned(), value)),
            (Some(Value::Array(words)), Value::Array(more)) if self.tool.lists_add => words.extend(more),
            (Some(Value::Object(pairs)), Value::Object(more)) if self.tool.lists_add => pairs.extend(more),
            (Some(_), _) if shown == name => self.findings.problem(shown, "is given twice; keep one"),
            (Some(_), _) => self.findings.problem(shown, format!("means the same as {name}; keep one of them")),
        }
    }
}

/// Whether the value turns a switch off.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Bool(on) => !on,
        Value::String(text) => text.eq_ignore_ascii_case("false"),
        Value::Array(items) => items.len() == 1 && is_off(&items[0]),
        Value::Null | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Converts a value to the form of its flag. `Err` describes what is wrong.
fn in_form(form: Form, value: &Value) -> Result<Value, String> {
    if value.is_null() {
        return Err("is empty; write its value, or none for a flag without one, or take the flag out".to_owned());
    }
    match form {
        Form::Switch => switch(value),
        Form::One => one(value),
        Form::Words(between) => Ok(Value::from(words(value, between)?)),
        Form::Pairs { sign, between } => pairs(value, sign, between),
        Form::Bounds => match value {
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                pairs(&Value::from(texts.join(" ")), ':', ' ')
            }
            other => pairs(other, ':', ' '),
        },
        Form::Json => json(value),
    }
}

fn switch(value: &Value) -> Result<Value, String> {
    if let Value::Array(items) = value
        && let [one] = items.as_slice()
    {
        return switch(one);
    }
    let word = value.as_str().map(str::to_ascii_lowercase);
    match (value.as_bool(), word.as_deref()) {
        (Some(true), _) | (None, Some(NO_VALUE | "true" | "yes" | "on")) => Ok(Value::Bool(true)),
        _ => Err(format!("is {}; the flag has no value, so write none, or take it out", described(value))),
    }
}

fn one(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) if text == NO_VALUE => Err("has no value; write one, or take the flag out".to_owned()),
        Value::Array(items) if items.len() > 1 => {
            Err(format!("has {} values; it takes one, so take the others out", items.len()))
        }
        Value::Array(items) => items.first().cloned().ok_or_else(|| "is an empty list; write one value".to_owned()),
        other => Ok(other.clone()),
    }
}

/// Returns the words of a text, or of a list of words. A word in a list can contain blanks. An empty text has no words. It is allowed, because a
/// template can leave a name empty.
fn words(value: &Value, between: char) -> Result<Vec<String>, String> {
    let wrong = || format!("is {}; write words with a blank between them", described(value));
    let word = |it: &Value| match it {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let texts: Vec<String> = match value {
        Value::String(text) if text == NO_VALUE => {
            return Err("has no value; write one, or take the flag out".to_owned());
        }
        Value::String(text) if between == ' ' => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(items) => items.iter().map(word).collect::<Option<_>>().ok_or_else(wrong)?,
        other => vec![word(other).ok_or_else(wrong)?],
    };
    let parts = texts.iter().flat_map(|it| it.split(|letter| between != ' ' && letter == between)).map(str::trim);
    Ok(parts.filter(|it| !it.is_empty()).map(str::to_owned).collect())
}

/// Converts words to a mapping of names and values. Messages do not contain the words, because one can be a credential.
fn pairs(value: &Value, sign: char, between: char) -> Result<Value, String> {
    if let Ok(object) = json(value) {
        return Ok(object);
    }
    let mut pairs = Map::new();
    for word in words(value, between).map_err(|_| format!("is no list of pairs; write name{sign}value"))? {
        let Some((name, value)) = word.split_once(sign) else {
            return Err(format!("holds a word without {sign}; write name{sign}value"));
        };
        let (name, value) = (name.trim(), Value::from(value.trim()));
        if pairs.insert(name.to_owned(), value).is_some() {
            return Err(format!("holds {} twice; keep one", named(name)));
        }
    }
    Ok(Value::Object(pairs))
}

fn json(value: &Value) -> Result<Value, String> {
    let read = match value {
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Array(items) if items.len() == 1 => return json(&items[0]),
        other => Some(other.clone()),
    };
    let object = read.filter(Value::is_object);
    object.ok_or_else(|| format!("is {}; write a JSON object, such as '{{\"name\": 1}}'", described(value)))
}

#[cfg(test)]
mod tests;
