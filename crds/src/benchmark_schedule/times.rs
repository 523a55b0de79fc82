//! The times of a schedule.

use cronexpr::{Crontab, MakeTimestamp};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// Number of fields in a cron expression.
const FIELDS: usize = 5;
/// How far back [`Times::latest`] searches, in minutes. The shortest range is searched first, because finding the latest time in a range means
/// computing all earlier times in it, and the times of most schedules are close together. The longest range is four years. A schedule without a time
/// in this range counts as a schedule without times.
const LOOKS_BACK: [i64; 4] = [60, 1_440, 44_640, 2_103_840];

/// The times at which a schedule starts runs, with a resolution of one minute.
#[derive(Clone, Debug)]
pub struct Times(Crontab);

/// An invalid cron expression or time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct TimesError {
    /// The path of the invalid field in the spec.
    pub field: &'static str,
    /// What is wrong with the field, and the remedy.
    pub message: String,
}

impl Times {
    /// Parses the five fields of a cron expression with the rules of Vixie cron, and the name of a time zone. The tz database is part of this binary.
    ///
    /// # Errors
    /// A field cannot be parsed, the time zone is unknown, or the fields match no day within four years, such as 30 February.
    pub fn parse(schedule: &str, time_zone: &str) -> Result<Self, TimesError> {
        let fields: Vec<&str> = schedule.split_whitespace().collect();
        let wrong = |message: String| TimesError { field: "spec.schedule", message };
        if fields.len() != FIELDS {
            return Err(wrong(format!(
                "is {schedule:?} with {} fields; write five: minute, hour, day of month, month and day of week, such as \"0 3 * * MON-FRI\"",
                fields.len()
            )));
        }
        if TimeZone::get(time_zone).is_err() {
            return Err(TimesError {
                field: "spec.timeZone",
                message: format!(
                    "is {time_zone:?}, which is no name of the tz database; write one such as Europe/Berlin, America/New_York or UTC"
                ),
            });
        }
        let whole = format!("{} {time_zone}", fields.join(" "));
        let crontab = cronexpr::parse_crontab(&whole).map_err(|error| {
            // The library adds lines that point at the position of the error. Only the last line has the cause.
            let text = error.to_string();
            let cause = text.lines().last().unwrap_or_default().trim().trim_start_matches("^ ");
            wrong(format!("is {schedule:?}: {cause}; write five fields of cron, such as \"0 3 * * MON-FRI\""))
        })?;
        let times = Times(crontab);
        if times.next(Timestamp::UNIX_EPOCH).is_none() {
            return Err(wrong(format!(
                "is {schedule:?}, which names no day that exists; correct day of month or month"
            )));
        }
        Ok(times)
    }

    /// The first time of the schedule after `after`.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.0.find_next(MakeTimestamp(after)).ok().map(|it| it.timestamp())
    }

    /// The last time of the schedule that is after `after` and not after `until`.
    pub fn latest(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        for minutes in LOOKS_BACK {
            let begin = until.checked_sub(SignedDuration::from_mins(minutes)).unwrap_or(after).max(after);
            let times = std::iter::successors(self.next(begin), |it| self.next(*it));
            let latest = times.take_while(|it| *it <= until).last();
            if latest.is_some() || begin == after {
                return latest;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn next(schedule: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let times = Times::parse(schedule, zone).unwrap();
        let all = std::iter::successors(times.next(at(after)), |it| times.next(*it));
        all.take(count).map(|it| it.to_string()).collect()
    }

    #[test]
    fn a_time_that_the_clock_leaves_out_is_left_out_and_one_that_it_repeats_comes_twice() {
        assert_eq!(next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1), ["2026-03-30T00:30:00Z"]);
        assert_eq!(
            next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]
        );
        assert_eq!(next("30 2 * * *", "UTC", "2026-10-24T12:00:00Z", 1), ["2026-10-25T02:30:00Z"]);
    }

    #[test]
    fn the_latest_time_is_found_however_far_back_it_is() {
        let now = at("2026-11-23T08:00:30Z");
        for (schedule, expected) in [
            ("* * * * *", "2026-11-23T08:00:00Z"),
            ("0 8 * * *", "2026-11-23T08:00:00Z"),
            ("1 8 * * *", "2026-11-22T08:01:00Z"),
            ("0 0 1 * *", "2026-11-01T00:00:00Z"),
            ("0 0 29 2 *", "2024-02-29T00:00:00Z"),
        ] {
            let times = Times::parse(schedule, "UTC").unwrap();
            let found = times.latest(at("2000-01-01T00:00:00Z"), now).unwrap();
            assert_eq!(found, at(expected), "{schedule}");
            assert_eq!(times.latest(found, now), None, "{schedule}: the beginning does not count");
        }
    }

    #[test]
    fn a_schedule_that_cannot_be_read_names_field_value_and_remedy() {
        for (schedule, zone, expected) in [
            ("0 3 * *", "UTC", "spec.schedule: is \"0 3 * *\" with 4 fields; write five"),
            ("@daily", "UTC", "spec.schedule: is \"@daily\" with 1 fields; write five"),
            ("0 24 * * *", "UTC", "value must be in range 0..=23; found 24; write five fields"),
            ("0 0 30 2 *", "UTC", "spec.schedule: is \"0 0 30 2 *\", which names no day that exists"),
            ("0 3 * * *", "Berlin", "spec.timeZone: is \"Berlin\", which is no name of the tz database"),
        ] {
            let found = Times::parse(schedule, zone).unwrap_err().to_string();
            assert!(found.contains(expected), "{found:?} does not hold {expected:?}");
            assert!(!found.contains('\n'), "{found:?}");
        }
    }
}
