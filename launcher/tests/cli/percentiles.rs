//! Recomputes the figures of a report from `requests.parquet`.

use std::fs::File;

use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::{Field, Row},
};

use crate::common::{Folder, profile, simulated};

/// Returns a column of a row. `None` for null.
fn number(row: &Row, name: &str) -> Option<i64> {
    match row.get_column_iter().find(|(column, _)| *column == name).map(|(_, it)| it) {
        Some(Field::Long(it)) => Some(*it),
        Some(Field::Null) => None,
        other => panic!("{name} is {other:?}"),
    }
}

/// Returns the value with rank ceil(n p / 100) in a sorted list. numpy calls this method `inverted_cdf`.
fn nearest_rank(values: &[i64], permille: usize) -> i64 {
    values[(values.len() * permille).div_ceil(1_000).max(1) - 1]
}

#[test]
fn every_percentile_is_that_of_the_records() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(60, 3)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let report = folder.report();
    let file = File::open(folder.path("results/latest/requests.parquet")).unwrap();
    let rows: Vec<Row> =
        SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 180);
    type Value<'a> = &'a dyn Fn(&Row) -> Option<i64>;
    let of = |row: &Row, name: &str| number(row, name);
    let since = |row: &Row, to: &str, from: &str| Some(of(row, to)? - of(row, from)?);
    let figures: [(&str, Value<'_>); 8] = [
        ("ttftScheduledMs", &|it| since(it, "first_token_ns", "scheduled_ns")),
        ("ttftSentMs", &|it| since(it, "first_token_ns", "sent_ns")),
        ("ttftMs", &|it| since(it, "first_token_ns", "scheduled_ns")),
        ("latencyScheduledMs", &|it| since(it, "last_token_ns", "scheduled_ns")),
        ("latencySentMs", &|it| since(it, "last_token_ns", "sent_ns")),
        ("tpotMs", &|it| of(it, "tpot_ns")),
        ("ntpotMs", &|it| Some(since(it, "last_token_ns", "sent_ns")? / of(it, "output_tokens")?)),
        ("sendLagMs", &|it| since(it, "sent_ns", "scheduled_ns")),
    ];
    for (name, value) in figures {
        let mut values: Vec<i64> = rows.iter().filter_map(value).collect();
        values.sort_unstable();
        for told in [&report["figures"], &report["stages"][0]["figures"]].map(|it| &it[name]) {
            assert_eq!(told["count"].as_u64(), Some(values.len() as u64), "{name}: {told}");
            let names =
                [("min", 0), ("p1", 10), ("p50", 500), ("p90", 900), ("p99", 990), ("p99p9", 999), ("max", 1_000)];
            for (percentile, permille) in names {
                let expected = nearest_rank(&values, permille) as f64 / 1e6;
                assert_eq!(told[percentile].as_f64(), Some(expected), "{name} {percentile}");
            }
            let mean = values.iter().sum::<i64>() as f64 / values.len() as f64 / 1e6;
            assert!((told["mean"].as_f64().unwrap() - mean).abs() < 1e-6, "{name}: {told} and not {mean}");
        }
    }
    assert_eq!(report["labels"]["percentiles"], "exact");
}
