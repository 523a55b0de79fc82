use jiff::{civil::date, tz::TimeZone};

use crate::stamp;

/// Asserts the time of a line if the reference is the date `at` in the time zone `zone`.
fn assert_time(line: &str, zone: &str, at: (i16, i8, i8), expected: Option<&str>) {
    let reference = date(at.0, at.1, at.2).to_zoned(TimeZone::get(zone).unwrap()).unwrap();
    let found = stamp::find(line).and_then(|it| it.stamp.time(&reference)).map(|it| it.to_string());
    assert_eq!(found.as_deref(), expected, "{line}");
}

#[test]
fn a_stamp_without_a_year_is_of_the_latest_year_that_is_not_after_the_reference() {
    assert_time("INFO 11-21 02:08:51 [a.py:1] b", "UTC", (2026, 11, 21), Some("2026-11-21T02:08:51Z"));
    assert_time("INFO 12-31 23:59:58 [a.py:1] b", "UTC", (2027, 1, 1), Some("2026-12-31T23:59:58Z"));
    assert_time("INFO 01-01 00:00:02 [a.py:1] b", "UTC", (2027, 1, 1), Some("2027-01-01T00:00:02Z"));
    // The stamp is later than the reference: the server's clock is slightly ahead, or its time zone differs.
    assert_time("INFO 01-01 09:00:00 [a.py:1] b", "UTC", (2026, 12, 31), None.or(Some("2026-01-01T09:00:00Z")));
    assert_time("INFO 01-01 00:00:00 [a.py:1] b", "UTC", (2026, 12, 31), Some("2027-01-01T00:00:00Z"));
    assert_time("INFO 02-29 01:00:00 [a.py:1] b", "UTC", (2026, 3, 1), Some("2024-02-29T01:00:00Z"));
}

#[test]
fn a_stamp_is_of_the_zone_of_the_reference() {
    assert_time("INFO 07-01 12:00:00 x", "Europe/Vienna", (2026, 8, 1), Some("2026-07-01T10:00:00Z"));
    assert_time("[2025-02-04 12:00:00 TP0] x", "America/New_York", (2026, 8, 1), Some("2025-02-04T17:00:00Z"));
}

#[test]
fn fractions_of_seconds_count() {
    assert_time("INFO 11-21 02:08:51.250 x", "UTC", (2026, 12, 1), Some("2026-11-21T02:08:51.25Z"));
    assert_time("INFO 11-21 02:08:51,5 x", "UTC", (2026, 12, 1), Some("2026-11-21T02:08:51.5Z"));
    assert_time("2026-11-21 02:08:51.123456789Z", "UTC", (2026, 12, 1), Some("2026-11-21T02:08:51.123456789Z"));
}

#[test]
fn what_only_looks_like_a_stamp_is_none() {
    for line in [
        "INFO 13-21 02:08:51",
        "INFO 11-31 02:08:51",
        "11-21 24:00:00",
        "11-21T02:08:51",
        "1:2",
        ":",
        "",
        "911-21 02:08:51",
    ] {
        assert_time(line, "UTC", (2026, 12, 1), None);
    }
    // Docker's own time stamp precedes that of the engine.
    assert_time("2026-11-21T02:08:52Z INFO 11-21 02:08:51 x", "UTC", (2026, 12, 1), Some("2026-11-21T02:08:51Z"));
}
