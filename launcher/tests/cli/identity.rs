//! The identity of the measured server and its costs, in the report of a run.

use crate::common::{Folder, Sim, at, profile, simulated};

#[test]
fn a_report_tells_the_server_and_what_follows_from_the_hardware() {
    let sim = Sim::start(&["--preset", "tiny", "--model", "org/m", "--max-model-len", "2048"]);
    let folder = Folder::new();
    let hardware = "hardware: {accelerator: H100, accelerators: 4, pricePerAcceleratorHour: '2.50', currency: USD}";
    let file = at(&sim.url, 20, &profile(20, 2)).replace("readiness:", &format!("{hardware}, readiness:"));
    folder.write("run.yaml", &file);
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let report = folder.report();
    let server = &report["server"];
    assert_eq!(server["before"], server["after"]);
    assert_eq!((&server["before"]["engine"], &server["before"]["model"]), (&"vllm".into(), &"org/m".into()));
    assert_eq!(server["before"]["maxModelLen"], 2_048);
    assert!(server["before"]["simulator"].as_str().unwrap().starts_with("benchwright "), "{server}");

    let rate = report["figures"]["throughput"]["outputTokensPerSecond"].as_f64().unwrap();
    let figures = &report["hardware"]["figures"];
    let near = |found: &serde_json::Value, expected: f64| {
        let found = found.as_f64().unwrap();
        assert!((found - expected).abs() <= expected * 1e-9, "{found} and not {expected}");
    };
    near(&figures["outputTokensPerSecondPerAccelerator"], rate / 4.0);
    near(&figures["costPerMillionOutputTokens"], 10.0 / (rate * 3_600.0) * 1e6);

    assert_eq!(report["contamination"]["exposure"], "unlikely");
    assert_eq!(report["contamination"]["ownSalt"], true);
    let text = std::fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
    for part in [
        "vllm 0.32.0, simulated by benchwright",
        "4 x H100, 2.5 USD",
        "USD per million output tokens",
        "can hardly have had",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn without_hardware_there_is_no_cost() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let report = folder.report();
    assert_eq!(report.get("hardware"), None);
    assert!(report["figures"]["interactivity"]["inverseOfTpotP90"].as_f64().unwrap() > 0.0);
}
