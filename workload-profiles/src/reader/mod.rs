//! Reads a parsed profile key by key. After a problem it reads on, so that the author sees all problems together.
//!
//! A getter returns `None` for an absent (or null) key as well as for a wrong value. The caller then continues with a default. A wrong value also
//! adds a problem to the findings, so the profile never runs with this default. [`Section::finish`] reports keys that no getter has read.

mod getters;
mod values;

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Map, Value};

use crate::{
    problem::{Findings, suggestion},
    yaml::child,
};
pub(crate) use values::{ValueType, described};

/// A mapping in a profile. It records which of its keys were read.
pub(crate) struct Section<'a> {
    path: String,
    entries: &'a Map<String, Value>,
    looked_up: RefCell<BTreeSet<&'static str>>,
    /// The keys at the root of the profile. Messages use them to suggest where a misplaced key belongs.
    root_keys: &'static [&'static str],
    pub findings: &'a Findings,
}

impl<'a> Section<'a> {
    /// The whole profile, in a format with these root keys. If it is not a mapping, adds a problem and returns `None`.
    pub fn root(value: &'a Value, root_keys: &'static [&'static str], findings: &'a Findings) -> Option<Self> {
        Self::new(value, String::new(), root_keys, findings)
    }

    fn new(value: &'a Value, path: String, root_keys: &'static [&'static str], findings: &'a Findings) -> Option<Self> {
        let Some(entries) = value.as_object() else {
            let place = if path.is_empty() { "profile" } else { &path };
            findings.problem(place, format!("is {}; write a mapping, one line `key: value` per key", described(value)));
            return None;
        };
        Some(Section { path, entries, looked_up: RefCell::default(), root_keys, findings })
    }

    /// A mapping inside this one: one of its values, or an element of one of its lists.
    pub fn element(&self, value: &'a Value, path: String) -> Option<Section<'a>> {
        Section::new(value, path, self.root_keys, self.findings)
    }

    /// Returns the path of a key.
    pub fn path(&self, key: &str) -> String {
        child(&self.path, key)
    }

    /// Returns all keys and values, for a mapping whose keys the user chooses.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the value of a key, whatever its type is. `None` if it is absent or null.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.looked_up.borrow_mut().insert(key);
        self.entries.get(key).filter(|it| !it.is_null())
    }

    /// Adds a problem about a key.
    pub fn problem(&self, key: &str, message: impl Into<String>) {
        self.findings.problem(self.path(key), message);
    }

    /// Adds a problem about the whole section.
    pub fn problem_of_all(&self, message: impl Into<String>) {
        self.findings.problem(&self.path, message);
    }

    /// Adds a notice about a key.
    pub fn notice(&self, key: &str, message: impl Into<String>) {
        self.findings.notice(self.path(key), message);
    }

    /// Adds a problem if a required key is absent.
    pub fn require(&self, key: &'static str, remedy: &str) {
        if self.value(key).is_none() {
            let found = if self.entries.contains_key(key) { "is empty" } else { "is missing" };
            self.problem(key, format!("{found}; {remedy}"));
        }
    }

    /// Reports keys that belong to `owner`, an enclosing section, but were written into this section.
    pub fn misplaced(&self, keys: &[&'static str], owner: &Section) {
        for key in keys.iter().filter(|key| !self.looked_up.borrow().contains(*key) && self.entries.contains_key(**key))
        {
            let (here, there) = (&self.path, &owner.path);
            self.problem(key, format!("is not a key of {here}, but of {there}; move it there, beside load"));
        }
        self.looked_up.borrow_mut().extend(keys);
    }

    /// Returns the keys that have a value but have not been read yet.
    pub fn unread(&self) -> Vec<&'a str> {
        let looked_up = self.looked_up.borrow();
        let unread = |(key, value): &(&'a str, &'a Value)| !value.is_null() && !looked_up.contains(key);
        self.entries().filter(unread).map(|(key, _)| key).collect()
    }

    /// Reports every key that was not read. For a key of the root, the message says where it belongs.
    pub fn finish(self) {
        let looked_up = self.looked_up.borrow();
        for key in self.entries.keys().filter(|key| !looked_up.contains(key.as_str())) {
            let path = child(&self.path, key);
            if !self.path.is_empty() && self.root_keys.contains(&key.as_str()) {
                let here = &self.path;
                let message = format!("is not a key of {here}, but of the root of the profile; remove its indentation");
                self.findings.problem(path, message);
            } else {
                // Comparing a key with all known keys is slow if there are thousands of unknown keys.
                let suggestion = match self.findings.is_full() {
                    true => "take it out".to_owned(),
                    false => suggestion(key, looked_up.iter().copied()),
                };
                self.findings.unknown_key(path, format!("is no known key; {suggestion}"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
