//! `benchwright plot`.

use std::fs;

use predicates::prelude::*;

use crate::common::{Folder, profile, simulated};

#[test]
fn the_figures_of_a_run_become_files() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(50, 2)));
    folder.benchwright(&["run", "-f", "run.yaml", "--no-server-metrics"]).assert().success();
    let told =
        predicate::str::contains("cdf-ttft.svg, cdf-ttft.png").and(predicate::str::contains("KV cache: no figure."));
    folder.benchwright(&["plot", "results/latest"]).assert().success().stdout(told);
    let plots = folder.path("results/latest/plots");
    let svg = fs::read_to_string(plots.join("cdf-ttft.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("TTFT"), "{svg:.200}");
    assert_eq!(fs::read(plots.join("cdf-ttft.png")).unwrap()[..8], *b"\x89PNG\r\n\x1a\n");
    let pictures = fs::read_dir(&plots).unwrap().count();
    assert!(pictures >= 20 && pictures.is_multiple_of(2), "{pictures} files");

    let report = ["plot", "results/latest/report.json", "--format", "csv", "-o", "values"];
    folder.benchwright(&report).assert().success();
    let csv = fs::read_to_string(folder.path("values/cdf-ttft.csv")).unwrap();
    assert!(csv.starts_with("series,") && csv.lines().count() > 10, "{csv:.200}");
    assert!(!folder.path("values/cdf-ttft.svg").exists());
}

#[test]
fn a_folder_without_a_report_or_without_room_is_said() {
    let folder = Folder::new();
    let missing = predicate::str::contains("results/none").and(predicate::str::contains("give a results folder"));
    folder.benchwright(&["plot", "results/none"]).assert().code(10).stderr(missing);
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    folder.write("file", "");
    let taken = predicate::str::contains("cannot write file").and(predicate::str::contains("--output"));
    folder.benchwright(&["plot", "results/latest", "-o", "file"]).assert().code(12).stderr(taken);
}
