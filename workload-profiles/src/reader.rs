//! Reads a parsed profile key by key and goes on after a problem, so that its author sees all of them at once.
//!
//! A getter answers `None` both for a key that is absent (or null) and for one that is wrong; the wrong one leaves a problem
//! behind, so that the value which the caller puts in its place is never run. Keys that nobody looked up are reported when
//! the section is finished.

use std::{cell::RefCell, collections::BTreeSet, ops::RangeInclusive, time::Duration};

use crds::units::Span;
use serde_json::{Map, Value};

use crate::{
    problem::{Findings, listed, named, quoted, suggestion},
    yaml::{child, decimal},
};

/// A mapping of a profile, and which of its keys were looked up.
pub(crate) struct Section<'a> {
    path: String,
    entries: &'a Map<String, Value>,
    looked_up: RefCell<BTreeSet<&'static str>>,
    findings: &'a Findings,
}

/// A type of value, for keys of which only the type is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueType {
    Bool,
    Number,
    Text,
    List,
    Mapping,
}

impl<'a> Section<'a> {
    /// The whole profile; `None` and a problem when it is no mapping.
    pub fn root(value: &'a Value, findings: &'a Findings) -> Option<Self> {
        Self::new(value, String::new(), findings)
    }

    /// A mapping at a path; `None` and a problem when it is something else.
    pub fn new(value: &'a Value, path: String, findings: &'a Findings) -> Option<Self> {
        let Some(entries) = value.as_object() else {
            let place = if path.is_empty() { "profile" } else { &path };
            findings
                .problem(place, format!("is {}; write a mapping, a line `key: value` for each key", described(value)));
            return None;
        };
        Some(Section { path, entries, looked_up: RefCell::default(), findings })
    }

    /// The path of one of the keys.
    pub fn path(&self, key: &str) -> String {
        child(&self.path, key)
    }

    /// The keys and values that are there, for a mapping whose keys are free.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key, whatever its type; `None` when it is absent or null.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.looked_up.borrow_mut().insert(key);
        self.entries.get(key).filter(|it| !it.is_null())
    }

    /// Leaves a problem with a key.
    pub fn problem(&self, key: &str, message: impl Into<String>) {
        self.findings.problem(self.path(key), message);
    }

    /// Leaves a problem with the section as a whole.
    pub fn problem_of_all(&self, message: impl Into<String>) {
        self.findings.problem(&self.path, message);
    }

    /// Reports the keys of `owner`, a section around this one, that stand in this one.
    pub fn misplaced(&self, keys: &[&'static str], owner: &Section) {
        for key in keys.iter().filter(|key| !self.looked_up.borrow().contains(*key) && self.entries.contains_key(**key))
        {
            let (here, there) = (&self.path, &owner.path);
            self.problem(key, format!("is no part of {here}, it belongs to {there}; write it there, beside its load"));
        }
        self.looked_up.borrow_mut().extend(keys);
    }

    /// Leaves a notice about a key.
    pub fn notice(&self, key: &str, message: impl Into<String>) {
        self.findings.notice(self.path(key), message);
    }

    /// Leaves a problem with a key that has to be there and is not.
    pub fn missing(&self, key: &'static str, remedy: &str) {
        if self.value(key).is_none() {
            let found = if self.entries.contains_key(key) { "is empty" } else { "is missing" };
            self.problem(key, format!("{found}; {remedy}"));
        }
    }

    /// A mapping.
    pub fn section(&self, key: &'static str) -> Option<Section<'a>> {
        Section::new(self.value(key)?, self.path(key), self.findings)
    }

    /// A mapping inside one of the lists.
    pub fn element(&self, value: &'a Value, path: String) -> Option<Section<'a>> {
        Section::new(value, path, self.findings)
    }

    /// A list, each element with its path.
    pub fn list(&self, key: &'static str) -> Option<Vec<(String, &'a Value)>> {
        let path = self.path(key);
        match self.value(key)? {
            Value::Array(items) => {
                Some(items.iter().enumerate().map(|(at, it)| (format!("{path}[{at}]"), it)).collect())
            }
            other => {
                self.problem(key, format!("is {}; write a list", described(other)));
                None
            }
        }
    }

    /// True or false; YAML's yes, no, on and off as well.
    pub fn bool(&self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        let read = as_bool(value);
        if read.is_none() {
            self.problem(key, format!("is {}; write true or false", described(value)));
        }
        read
    }

    /// A text.
    pub fn text(&self, key: &'static str) -> Option<&'a str> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            other => {
                self.problem(
                    key,
                    format!("is {}; write a text, in quotes if it looks like a number", described(other)),
                );
                None
            }
        }
    }

    /// One of some words.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let found = self.text(key)?;
        let choice = choices.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
        if choice.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.problem(key, format!("is {}; choose one of {}", quoted(found), listed(&names)));
        }
        choice
    }

    /// A whole number from a range.
    pub fn count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let whole = as_number(value)
            .filter(|it| it.fract() == 0.0 && *it >= *range.start() as f64 && *it <= *range.end() as f64);
        if whole.is_none() {
            let wanted = format!("write a whole number from {} to {}", range.start(), range.end());
            self.problem(key, format!("is {}; {wanted}", described(value)));
        }
        // Exact: the ranges of this crate end far below 2^53, but for seeds, which are read by `seed`.
        whole.map(|it| it as u64)
    }

    /// A whole number of 64 bits.
    pub fn seed(&self, key: &'static str) -> Option<u64> {
        let value = self.value(key)?;
        let seed = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        if seed.is_none() {
            self.problem(key, format!("is {}; write a whole number from 0 to {}", described(value), u64::MAX));
        }
        seed
    }

    /// A number in a range.
    pub fn number(&self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.number_if(key, &format!("a number from {} to {}", range.start(), range.end()), |it| range.contains(&it))
    }

    /// A number above zero.
    pub fn positive(&self, key: &'static str, most: f64) -> Option<f64> {
        self.number_if(key, &format!("a number above 0 and at most {most}"), |it| it > 0.0 && it <= most)
    }

    /// A length of time with its unit, `90s` or `250ms`, up to so many seconds; `zero` says whether it may be nothing.
    pub fn span(&self, key: &'static str, zero: bool, most_seconds: u64) -> Option<Span> {
        let value = self.value(key)?;
        let span = value.as_str().and_then(|it| it.trim().parse::<Span>().ok());
        let span = span.filter(|it| (zero || !it.0.is_zero()) && it.0 <= Duration::from_secs(most_seconds));
        if span.is_none() {
            let least = if zero { "" } else { " above 0s and" };
            let wanted = format!("write a length of time such as 90s, 1.5s or 250ms,{least} at most {most_seconds}s");
            self.problem(key, format!("is {}; {wanted}", described(value)));
        }
        span
    }

    /// One of some kinds: a word, or a mapping with one of the words as its only key. The mapping is for the caller to read
    /// on; the word alone has none.
    pub fn variant(&self, key: &'static str, kinds: &[&'static str]) -> Option<(&'static str, Option<Section<'a>>)> {
        let value = self.value(key)?;
        if value.is_string() {
            let choices: Vec<(&str, &'static str)> = kinds.iter().map(|it| (*it, *it)).collect();
            return self.choice(key, &choices).map(|it| (it, None));
        }
        let section = self.section(key)?;
        let found: Vec<&'static str> = kinds.iter().copied().filter(|it| section.value(it).is_some()).collect();
        for name in section.entries.keys().filter(|it| !kinds.contains(&it.as_str())) {
            section.problem(name, format!("is no known key; {}", suggestion(name, kinds.iter().copied())));
        }
        match found.as_slice() {
            [one] => Some((one, Some(section))),
            [] => {
                if section.entries.keys().all(|it| kinds.contains(&it.as_str())) {
                    self.problem(key, format!("is {}; write one of {}", described(value), listed(kinds)));
                }
                None
            }
            several => {
                self.problem(key, format!("holds {}; keep one of them", listed(several)));
                None
            }
        }
    }

    fn number_if(&self, key: &'static str, wanted: &str, accepted: impl Fn(f64) -> bool) -> Option<f64> {
        let value = self.value(key)?;
        let number = as_number(value).filter(|it| accepted(*it));
        if number.is_none() {
            self.problem(key, format!("is {}; write {wanted}", described(value)));
        }
        number
    }

    /// Checks the type of a key that has no meaning here. True when it is there.
    pub fn ignored(&self, key: &'static str, value_type: ValueType) -> bool {
        let Some(value) = self.value(key) else { return false };
        let fits = match value_type {
            ValueType::Bool => as_bool(value).is_some(),
            ValueType::Number => as_number(value).is_some(),
            ValueType::Text => value.is_string(),
            ValueType::List => value.is_array(),
            ValueType::Mapping => value.is_object(),
        };
        if !fits {
            let wanted = match value_type {
                ValueType::Bool => "true or false",
                ValueType::Number => "a number",
                ValueType::Text => "a text",
                ValueType::List => "a list",
                ValueType::Mapping => "a mapping",
            };
            let secret = ["key", "token", "secret", "password"].iter().any(|it| key.contains(it));
            let found = if secret { type_name(value).to_owned() } else { described(value) };
            self.problem(key, format!("is {found}; write {wanted}"));
        }
        true
    }

    /// Checks the types of keys that have no meaning here.
    pub fn all_ignored(&self, keys: &[(&'static str, ValueType)]) {
        for (key, value_type) in keys {
            self.ignored(key, *value_type);
        }
    }

    /// Reports every key that was not looked up, and where it belongs if it is one of the `sections` of the root.
    pub fn finish(self, sections: &[&str]) {
        let looked_up = self.looked_up.borrow();
        for key in self.entries.keys().filter(|key| !looked_up.contains(key.as_str())) {
            let message = if !self.path.is_empty() && sections.contains(&key.as_str()) {
                format!(
                    "{key} is no part of {}, it belongs to the root of the profile; take its indentation out",
                    self.path
                )
            } else {
                format!("is no known key; {}", suggestion(key, looked_up.iter().copied()))
            };
            self.findings.problem(child(&self.path, key), message);
        }
    }
}

/// A value as a message shows it.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => it.to_string(),
        Value::String(it) => quoted(it),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(entries) => {
            let keys: Vec<String> = entries.keys().take(3).map(|it| named(it)).collect();
            format!("a mapping of {}{}", keys.join(", "), if entries.len() > 3 { ", ..." } else { "" })
        }
    }
}

/// The type of a value.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(it) => Some(*it),
        // YAML 1.1, which the Python tools read, has more words for it.
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A finite number; also one in quotes, which the Python tools read as a number too.
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(it) => it.as_f64().filter(|it| it.is_finite()),
        Value::String(text) => decimal(text.trim()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    /// Reads `a` by a getter; the value or the problem as a line.
    fn check<T: PartialEq + std::fmt::Debug>(
        text: &str,
        get: impl Fn(&Section) -> Option<T>,
        expected: Result<T, &str>,
    ) {
        let value = yaml::read(text).unwrap();
        let findings = Findings::default();
        let read = Section::root(&value, &findings).and_then(|section| {
            let read = get(&section);
            section.finish(&["load", "data"]);
            read
        });
        let result = findings.into_result().map_err(|it| it.to_string());
        assert_eq!(result.map(|_| read), expected.map(Some).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_shown_with_its_path() {
        check("a: 5", |it| it.count("a", 1..=9), Ok(5));
        check("a: '5'", |it| it.count("a", 1..=9), Ok(5));
        check("a: 5.5", |it| it.count("a", 1..=9), Err("a: is 5.5; write a whole number from 1 to 9"));
        check("a: -1", |it| it.count("a", 1..=9), Err("a: is -1; write a whole number from 1 to 9"));
        check("a: {x: 1}", |it| it.count("a", 1..=9), Err("a: is a mapping of x; write a whole number from 1 to 9"));
        check("a: 0", |it| it.positive("a", 9.0), Err("a: is 0; write a number above 0 and at most 9"));
        check("a: off", |it| it.bool("a"), Ok(false));
        check("a: 1", |it| it.bool("a"), Err("a: is 1; write true or false"));
        check("a: 1", |it| it.text("a").map(drop), Err("a: is 1; write a text, in quotes if it looks like a number"));
        check(
            "a: [1]",
            |it| it.section("a").map(drop),
            Err("a: is a list of 1; write a mapping, a line `key: value` for each key"),
        );
        check("a: 1.5s", |it| it.span("a", false, 9).map(|it| it.to_string()), Ok("1.5s".to_owned()));
        let wanted = "write a length of time such as 90s, 1.5s or 250ms, above 0s and at most 9s";
        for (text, found) in [("0s", "\"0s\""), ("10s", "\"10s\""), ("5", "5"), ("soon", "\"soon\"")] {
            check(&format!("a: {text}"), |it| it.span("a", false, 9), Err(&format!("a: is {found}; {wanted}")));
        }
        check("a: {b: 1}", |it| it.variant("a", &["b", "d"]).map(|it| it.0), Ok("b"));
        check("a: d", |it| it.variant("a", &["b", "d"]).map(|it| it.0), Ok("d"));
        check(
            "a: {b: 1, d: 2}",
            |it| it.variant("a", &["b", "d"]).map(drop),
            Err("a: holds b and d; keep one of them"),
        );
        check("a: {}", |it| it.variant("a", &["b", "d"]).map(drop), Err("a: is a mapping of ; write one of b and d"));
        check("a: {bb: 1}", |it| it.variant("a", &["b", "d"]).map(drop), Err("a.bb: is no known key; did you mean b?"));
        check("a: c", |it| it.choice("a", &[("b", 1), ("d", 2)]), Err("a: is \"c\"; choose one of b and d"));
        check("a: 5", |it| it.ignored("a", ValueType::Text).then_some(()), Err("a: is 5; write a text"));
        check(
            "a_key: 5",
            |it| it.ignored("a_key", ValueType::Text).then_some(()),
            Err("a_key: is a number; write a text"),
        );
        check("a: -3", |it| it.seed("a"), Err("a: is -3; write a whole number from 0 to 18446744073709551615"));
        check(
            "- a",
            |it| it.text("a").map(drop),
            Err("profile: is a list of 1; write a mapping, a line `key: value` for each key"),
        );
    }

    #[test]
    fn a_key_that_nobody_asked_for_is_reported() {
        let get = |it: &Section| it.count("rate", 1..=9);
        check("rate: 1\nratee: 2", get, Err("ratee: is no known key; did you mean rate?"));
        let value = yaml::read("x: {data: {}}").unwrap();
        let findings = Findings::default();
        Section::root(&value, &findings).unwrap().section("x").unwrap().finish(&["load", "data"]);
        assert_eq!(
            findings.into_result().unwrap_err().to_string(),
            "x.data: data is no part of x, it belongs to the root of the profile; take its indentation out"
        );
    }
}
