//! Compares `stages.csv` with `report.json`.

use std::{fs, path::Path};

use report::stages_csv;
use serde_json::Value;

use crate::{
    corners,
    fixture::{Analysed, Fixture},
    json_of_report, servers,
};

/// The rows of the file as texts, the header first; and `report.json`.
fn rows(fixture: &Fixture, analysed: &Analysed) -> (Vec<Vec<String>>, Value) {
    let server = servers::server(analysed, 260, None);
    let analysed = servers::with(analysed, &server);
    let report = fixture.report(&analysed);
    let mut bytes = Vec::new();
    stages_csv::write(&report.document().unwrap(), &mut bytes).unwrap();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
    let rows = reader.records().map(|it| it.unwrap().iter().map(str::to_owned).collect()).collect();
    (rows, json_of_report(&report))
}

#[test]
fn each_stage_is_a_row_with_the_figures_of_report_json() {
    let fixture = Fixture::with_all_told();
    let (rows, json) = rows(&fixture, &fixture.analyse());
    assert_eq!(rows.len(), 3);
    for (index, row) in rows[1..].iter().enumerate() {
        let of = |name: &str| row[rows[0].iter().position(|it| it == name).unwrap()].as_str();
        let stage = &json["stages"][index];
        assert_eq!((of("stage"), of("clock")), (stage["name"].as_str().unwrap(), stage["clock"].as_str().unwrap()));
        for (name, expected) in [
            ("requests", &stage["figures"]["requests"]),
            ("durationMs", &stage["figures"]["durationMs"]),
            ("outputTokensPerSecond", &stage["figures"]["throughput"]["outputTokensPerSecond"]),
            ("goodputShare", &stage["figures"]["goodput"]["goodputShare"]),
            ("ttftMs.p99", &stage["figures"]["ttftMs"]["p99"]),
            ("latencyMs.max", &stage["figures"]["latencyMs"]["max"]),
            ("runningRequests.max", &json["serverMetrics"]["stages"][index]["figures"]["runningRequests"]["max"]),
            ("costPerMillionOutputTokens", &json["hardware"]["stages"][index]["figures"]["costPerMillionOutputTokens"]),
        ] {
            assert_eq!(of(name), expected.to_string(), "{name} of stage {index}");
        }
        assert_eq!((of("currency"), of("accelerators")), ("USD", "8"));
    }
    let of_second = |name: &str| rows[2][rows[0].iter().position(|it| it == name).unwrap()].as_str();
    assert_eq!((of_second("maxConcurrency"), of_second("askedRequestsPerSecond")), ("2", ""));
}

#[test]
fn every_row_has_every_column_and_every_column_is_documented() {
    let page =
        |name: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap();
    let documentation = page("metrics.md") + &page("results-folder.md");
    for (name, fixture) in corners() {
        let (rows, json) = rows(&fixture, &fixture.analyse());
        assert_eq!(rows.len(), 1 + json["stages"].as_array().unwrap().len(), "{name}");
        assert!(rows.iter().all(|it| it.len() == rows[0].len()), "{name}");
        let mut unknown = rows[0].iter().filter(|column| {
            let key = column.split('.').next().unwrap();
            !documentation.contains(&format!("`{key}`"))
        });
        assert_eq!(unknown.next(), None, "{name}");
    }
}

#[test]
fn a_hostile_name_is_one_cell_and_no_formula() {
    let mut fixture = Fixture::of_one_stage();
    fixture.workload.stages[0].name = "=cmd|' /C calc'!A0\",\n;x".into();
    let (rows, _) = rows(&fixture, &fixture.analyse());
    let stage = rows[0].iter().position(|it| it == "stage").unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1][stage], "'=cmd|' /C calc'!A0\", ;x");
}

#[test]
fn each_column_is_in_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = ["results-folder.md", "metrics.md"].map(|it| fs::read_to_string(docs.join(it)).unwrap()).concat();
    let fixture = Fixture::with_all_told();
    let (rows, _) = rows(&fixture, &fixture.analyse());
    for name in &rows[0] {
        let base = name.split('.').next().unwrap();
        assert!(pages.contains(&format!("`{base}`")), "{name}");
    }
}
