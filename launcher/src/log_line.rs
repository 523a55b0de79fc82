//! The lines of the log on a terminal: time of day, level, message, and the fields in brackets. A log without a terminal keeps the full
//! format of `tracing_subscriber`.

use std::fmt;

use crds::wording::one_line;
use jiff::tz::TimeZone;
use report::paint::{Paint, Style};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Formats an event as one line for a person.
#[derive(Clone, Copy, Debug)]
pub struct LogLine {
    pub paint: Paint,
}

impl<S, N> FormatEvent<S, N> for LogLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let now = clock::now().to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
        writeln!(writer, "{}", self.line(&now, *event.metadata().level(), &fields))
    }
}

impl LogLine {
    fn line(&self, now: &str, level: Level, fields: &Fields) -> String {
        let style = match level {
            Level::ERROR => Style::Red,
            Level::WARN => Style::Yellow,
            Level::INFO => Style::Green,
            _ => Style::Dim,
        };
        let (now, level) = (self.paint.apply(Style::Dim, now), self.paint.apply(style, &format!("{level:<5}")));
        let error = fields.error.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        let others: Vec<String> = fields.others.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        let message = one_line(&format!("{}{error}", fields.message));
        format!("{now} {level} {message}{}", self.paint.apply(Style::Dim, &one_line(&others)))
    }
}

/// The message and the fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    error: Option<String>,
    others: Vec<(&'static str, String)>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }
}

impl Fields {
    fn add(&mut self, name: &'static str, value: String) {
        match name {
            "message" => self.message = value,
            "error" => self.error = Some(value),
            // Omit the fields that the `log` crate adds, such as the file and the line.
            _ if name.starts_with("log.") => {}
            _ => self.others.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(paint: Paint, level: Level, fields: &[(&'static str, &str)], expected: &str) {
        let mut found = Fields::default();
        fields.iter().for_each(|(name, value)| found.add(name, (*value).to_owned()));
        assert_eq!(LogLine { paint }.line("05:50:41", level, &found), expected);
    }

    #[test]
    fn a_line_has_its_fields_at_the_end() {
        let ready = [("message", "the target is ready"), ("model", "sim-8b"), ("profile", "ramp")];
        check(Paint::OFF, Level::INFO, &ready, "05:50:41 INFO  the target is ready (model sim-8b, profile ramp)");
        let failed = [("error", "No space left"), ("message", "the table was not printed"), ("log.line", "7")];
        check(Paint::OFF, Level::WARN, &failed, "05:50:41 WARN  the table was not printed: No space left");
    }

    #[test]
    fn text_from_outside_cannot_control_the_terminal() {
        let fields = [("message", "a\u{1b}[31m\nb"), ("model", "c\rd")];
        check(Paint::OFF, Level::ERROR, &fields, "05:50:41 ERROR a [31m b (model c d)");
    }

    #[test]
    fn the_level_has_a_colour() {
        let expected = "\u{1b}[2m05:50:41\u{1b}[0m \u{1b}[33mWARN \u{1b}[0m late";
        check(Paint::new(true), Level::WARN, &[("message", "late")], expected);
    }
}
