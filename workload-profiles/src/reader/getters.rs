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
    /// The default if the key is absent, else the getter's result; `None` if the key is wrong.
    pub fn or_default<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Self, &'static str) -> Option<T>,
    ) -> Option<T> {
        if self.value(key).is_none() { Some(default) } else { read(self, key) }
    }

    /// A mapping.
    pub fn section(&self, key: &'static str) -> Option<Section<'a>> {
        self.element(self.value(key)?, self.path(key))
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

    /// One of several words, as the value that it represents.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let found = self.text(key)?;
        let choice = choices.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
        if choice.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.problem(key, format!("is {}; choose one of {}", quoted(found), listed(&names)));
        }
        choice
    }

    /// A whole number in a range.
    pub fn count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let whole = as_number(value)
            .filter(|it| it.fract() == 0.0 && *it >= *range.start() as f64 && *it <= *range.end() as f64);
        if whole.is_none() {
            let wanted = format!("write a whole number from {} to {}", range.start(), range.end());
            self.problem(key, format!("is {}; {wanted}", described(value)));
        }
        // Exact: the ranges of this crate end far below 2^53, except for seeds, which are read by `seed`.
        whole.map(|it| it as u64)
    }

    /// A whole number in a range that ends below 2^32.
    pub fn count_u32(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u32> {
        self.count(key, range).and_then(|it| u32::try_from(it).ok())
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

    /// A length of time with its unit, `90s` or `250ms`, from `0s` to `most_seconds`.
    pub fn span(&self, key: &'static str, most_seconds: u64) -> Option<Span> {
        self.span_if(key, "", most_seconds, |_| true)
    }

    /// A length of time with its unit, above `0s` and at most `most_seconds`.
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

    /// One of several variants: its name as a word, or a mapping with its name as the only key. The mapping is returned so that the caller can
    /// read the value; a word has no value.
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

    /// As [`Section::variant`], where every variant needs a value.
    pub fn variant_with_value(&self, key: &'static str, names: &[&'static str]) -> Option<(&'static str, Section<'a>)> {
        let (name, holder) = self.variant(key, names)?;
        Some((name, self.with_value(key, name, holder)?))
    }

    /// The mapping with the value of a variant; adds a problem if the variant is only a word.
    pub fn with_value(&self, key: &str, name: &str, holder: Option<Section<'a>>) -> Option<Section<'a>> {
        if holder.is_none() {
            self.problem(key, format!("is only the word {name}; write a mapping, {key}: {{{name}: ...}}"));
        }
        holder
    }

    /// Checks only the type of a key that is not used. True if the key is present.
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

    /// Checks only the types of keys that are not used.
    pub fn all_ignored(&self, keys: &[(&'static str, ValueType)]) {
        for (key, value_type) in keys {
            self.ignored(key, *value_type);
        }
    }
}
