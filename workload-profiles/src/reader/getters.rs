//! The typed getters of a [`Section`].

use std::{ops::RangeInclusive, time::Duration};

use crds::units::Span;
use serde_json::Value;

use super::{
    Section, ValueType, described,
    values::{as_bool, as_number, type_name},
};
use crate::problem::{listed, quoted, suggestion};

impl<'a> Section<'a> {
    /// Returns the default if the key is absent, else the getter's result. `None` if the value is wrong.
    pub fn or_default<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Self, &'static str) -> Option<T>,
    ) -> Option<T> {
        if self.value(key).is_none() { Some(default) } else { read(self, key) }
    }

    /// Reads a mapping.
    pub fn section(&self, key: &'static str) -> Option<Section<'a>> {
        self.element(self.value(key)?, self.path(key))
    }

    /// Reads a list. Returns each element with its path.
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

    /// Reads a boolean: true or false, or YAML's yes, no, on and off.
    pub fn bool(&self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        let read = as_bool(value);
        if read.is_none() {
            self.problem(key, format!("is {}; write true or false", described(value)));
        }
        read
    }

    /// Reads a text.
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

    /// Reads one of several words. Returns the value that belongs to the word.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let found = self.text(key)?;
        let choice = choices.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
        if choice.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.problem(key, format!("is {}; choose one of {}", quoted(found), listed(&names)));
        }
        choice
    }

    /// Reads a whole number in a range.
    pub fn count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let whole = as_number(value)
            .filter(|it| it.fract() == 0.0 && *it >= *range.start() as f64 && *it <= *range.end() as f64);
        if whole.is_none() {
            let wanted = format!("write a whole number from {} to {}", range.start(), range.end());
            self.problem(key, format!("is {}; {wanted}", described(value)));
        }
        // The cast is exact: the ranges in this crate end far below 2^53. Only seeds are larger, and `seed` reads them.
        whole.map(|it| it as u64)
    }

    /// Reads a whole number in a range that ends below 2^32.
    pub fn count_u32(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u32> {
        self.count(key, range).and_then(|it| u32::try_from(it).ok())
    }

    /// Reads a whole number with up to 64 bits.
    pub fn seed(&self, key: &'static str) -> Option<u64> {
        let value = self.value(key)?;
        let seed = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        if seed.is_none() {
            self.problem(key, format!("is {}; write a whole number from 0 to {}", described(value), u64::MAX));
        }
        seed
    }

    /// Reads a number in a range.
    pub fn number(&self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.number_if(key, &format!("a number from {} to {}", range.start(), range.end()), |it| range.contains(&it))
    }

    /// Reads a number above zero and at most `most`.
    pub fn positive_number(&self, key: &'static str, most: f64) -> Option<f64> {
        self.number_if(key, &format!("a number above 0 and at most {most}"), |it| it > 0.0 && it <= most)
    }

    fn number_if(&self, key: &'static str, wanted: &str, accepted: impl Fn(f64) -> bool) -> Option<f64> {
        let value = self.value(key)?;
        let number = as_number(value).filter(|it| accepted(*it));
        if number.is_none() {
            self.problem(key, format!("is {}; write {wanted}", described(value)));
        }
        number
    }

    /// Reads a time with its unit, such as `90s` or `250ms`, from `0s` to `most_seconds`.
    pub fn span(&self, key: &'static str, most_seconds: u64) -> Option<Span> {
        self.span_if(key, "", most_seconds, |_| true)
    }

    /// Reads a time with its unit, above `0s` and at most `most_seconds`.
    pub fn positive_span(&self, key: &'static str, most_seconds: u64) -> Option<Span> {
        self.span_if(key, " above 0s and", most_seconds, |it| !it.0.is_zero())
    }

    fn span_if(
        &self,
        key: &'static str,
        least: &str,
        most_seconds: u64,
        accepted: impl Fn(&Span) -> bool,
    ) -> Option<Span> {
        let value = self.value(key)?;
        let span = value.as_str().and_then(|it| it.trim().parse::<Span>().ok());
        let span = span.filter(|it| accepted(it) && it.0 <= Duration::from_secs(most_seconds));
        if span.is_none() {
            let wanted = format!("write a length of time such as 90s, 1.5s or 250ms,{least} at most {most_seconds}s");
            self.problem(key, format!("is {}; {wanted}", described(value)));
        }
        span
    }

    /// Reads one of several variants. A variant is written as a word (its name), or as a mapping whose only key is the name. Returns the name, and
    /// the mapping from which the caller can read the value. A word has no mapping.
    pub fn variant(&self, key: &'static str, names: &[&'static str]) -> Option<(&'static str, Option<Section<'a>>)> {
        let value = self.value(key)?;
        if value.is_string() {
            let choices: Vec<(&str, &'static str)> = names.iter().map(|it| (*it, *it)).collect();
            return self.choice(key, &choices).map(|it| (it, None));
        }
        let holder = self.section(key)?;
        let found: Vec<&'static str> = names.iter().copied().filter(|it| holder.value(it).is_some()).collect();
        for name in holder.entries.keys().filter(|it| !names.contains(&it.as_str())) {
            holder.problem(name, format!("is no known key; {}", suggestion(name, names.iter().copied())));
        }
        match found.as_slice() {
            [one] => Some((one, Some(holder))),
            [] => {
                if holder.entries.keys().all(|it| names.contains(&it.as_str())) {
                    self.problem(key, format!("is {}; write one of {}", described(value), listed(names)));
                }
                None
            }
            several => {
                self.problem(key, format!("holds {}; keep one of them", listed(several)));
                None
            }
        }
    }

    /// Reads a variant like [`Section::variant`], but every variant needs a value.
    pub fn variant_with_value(&self, key: &'static str, names: &[&'static str]) -> Option<(&'static str, Section<'a>)> {
        let (name, holder) = self.variant(key, names)?;
        Some((name, self.with_value(key, name, holder)?))
    }

    /// Returns the mapping that contains the value of a variant. Adds a problem if the variant was written as a word.
    pub fn with_value(&self, key: &str, name: &str, holder: Option<Section<'a>>) -> Option<Section<'a>> {
        if holder.is_none() {
            self.problem(key, format!("is only the word {name}; write a mapping, {key}: {{{name}: ...}}"));
        }
        holder
    }

    /// Checks the type of a key that has no effect. Returns whether the key is present.
    pub fn ignored(&self, key: &'static str, value_type: ValueType) -> bool {
        let Some(value) = self.value(key) else { return false };
        self.findings.unused(self.path(key));
        if !value_type.fits(value) {
            let secret = ["key", "token", "secret", "password"].iter().any(|it| key.contains(it));
            let found = if secret { type_name(value).to_owned() } else { described(value) };
            self.problem(key, format!("is {found}; write {}", value_type.name()));
        }
        true
    }

    /// Checks the types of keys that have no effect.
    pub fn all_ignored(&self, keys: &[(&'static str, ValueType)]) {
        for (key, value_type) in keys {
            self.ignored(key, *value_type);
        }
    }
}
