//! A line of the detail log.

use std::{
    borrow::Cow,
    io::{self, Write},
    panic::Location,
    time::Duration,
};

use crate::{
    logs::{messages::Level, number},
    results::figures::FigureValue,
};

#[derive(Clone, Debug)]
pub struct Entry {
    /// The key of the entry.
    pub key: Cow<'static, str>,
    /// The value of the entry, as in the line.
    pub value: String,
    /// Time since the start of the test.
    pub at: Duration,
    /// Whether it is a note, a warning or an error.
    pub level: Level,
    /// The location in the launcher's source that created the entry.
    place: &'static Location<'static>,
}

/// A value in the detail log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Count(u64),
    Signed(i64),
    /// A number, printed with six significant digits.
    Real(f64),
    /// Printed as true or false.
    Flag(bool),
    /// Printed in quotes.
    Text(&'a str),
    /// Printed in brackets, without blanks.
    List(&'a [u32]),
    /// Printed as `{}`.
    NoObject,
}

impl Value<'_> {
    fn text(self) -> String {
        match self {
            Value::Count(it) => it.to_string(),
            Value::Signed(it) => it.to_string(),
            Value::Real(it) => number::general_json(it),
            Value::Flag(it) => it.to_string(),
            Value::Text(it) => serde_json::Value::from(it).to_string(),
            Value::List(it) => {
                let items: Vec<String> = it.iter().map(u32::to_string).collect();
                format!("[{}]", items.join(","))
            }
            Value::NoObject => "{}".into(),
        }
    }
}

macro_rules! values {
    ($($type:ty => $variant:ident),*) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from(it: $type) -> Self {
                Value::$variant(it)
            }
        })*
    };
}
values!(u64 => Count, i64 => Signed, f64 => Real, bool => Flag, &'a str => Text, &'a [u32] => List);

impl<'a> From<&'a FigureValue> for Value<'a> {
    fn from(figure: &'a FigureValue) -> Self {
        match figure {
            FigureValue::Count(it) => Value::Count(*it),
            FigureValue::Signed(it) => Value::Signed(*it),
            FigureValue::Real(it) => Value::Real(*it),
            FigureValue::Flag(it) => Value::Flag(*it),
            FigureValue::Text(it) => Value::Text(it),
        }
    }
}

impl Entry {
    /// Writes the entry as one line.
    pub(super) fn write(&self, pid: u32, out: &mut impl Write) -> io::Result<()> {
        let nanos = self.at.as_nanos();
        // Only the file name is logged: the folder carries no information, and differs between builds.
        let file = self.place.file().rsplit(['/', '\\']).next().unwrap_or_default();
        writeln!(
            out,
            ":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"time_ms\": {}.{:06}, \"namespace\": \"mlperf::logging\", \
             \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": {}, \"is_warning\": {}, \"file\": \"{file}\", \
             \"line_no\": {}, \"pid\": {pid}, \"tid\": {pid}}}}}",
            self.key,
            self.value,
            nanos / 1_000_000,
            nanos % 1_000_000,
            self.level == Level::Error,
            self.level == Level::Warning,
            self.place.line(),
        )
    }
}

/// Entries in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The time that new entries get, since the start of the test. It never decreases.
    pub(super) at: Duration,
    all: Vec<Entry>,
}

impl Entries {
    /// Adds an entry at the current time.
    #[track_caller]
    pub(super) fn add<'a>(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Value<'a>>) {
        self.all.push(Entry {
            key: key.into(),
            value: value.into().text(),
            at: self.at,
            level: Level::Note,
            place: Location::caller(),
        });
    }

    pub(super) fn last(&mut self) -> Option<&mut Entry> {
        self.all.last_mut()
    }

    /// Returns all entries, in order.
    pub(super) fn into_all(self) -> Vec<Entry> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value, expected: &str) {
        assert_eq!(value.text(), expected);
    }

    #[test]
    fn values_have_the_forms_of_loadgen() {
        check(Value::from(u64::MAX), "18446744073709551615");
        check(Value::from(-5_i64), "-5");
        check(Value::from(1_234_567.0), "1.23457e+06");
        check(Value::from(true), "true");
        check(Value::from([4_u32, 1, 7].as_slice()), "[4,1,7]");
        check(Value::from([].as_slice()), "[]");
        check(Value::NoObject, "{}");
    }

    #[test]
    fn values_stay_json_where_those_of_loadgen_do_not() {
        check(Value::from(f64::INFINITY), "Infinity");
        check(Value::from(f64::NAN), "NaN");
        check(Value::from("a \"name\"\nof \\ two lines"), r#""a \"name\"\nof \\ two lines""#);
    }

    #[test]
    fn a_line_tells_time_in_milliseconds_and_its_own_place() {
        let mut entries = Entries { at: Duration::from_nanos(1_003_043_436), ..Entries::default() };
        entries.add("num_errors", 0_u64);
        let line = line!() - 1;
        let mut written = Vec::new();
        entries.into_all()[0].write(7, &mut written).unwrap();
        let expected = format!(
            ":::MLLOG {{\"key\": \"num_errors\", \"value\": 0, \"time_ms\": 1003.043436, \"namespace\": \
             \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": false, \
             \"is_warning\": false, \"file\": \"entry.rs\", \"line_no\": {line}, \"pid\": 7, \"tid\": 7}}}}\n"
        );
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
