//! Tests that reports of earlier releases can be read, and that all their values are written back. `golden/` has one folder per release.

use std::{fs, path::Path};

use document::ReportDocument;
use serde_json::Value;

/// Pairs of a key in earlier releases and its name in this release.
const RENAMED: [(&str, &str); 5] = [
    ("goodRequests", "goodputRequests"),
    ("goodRequestsPerSecond", "goodputRequestsPerSecond"),
    ("goodShare", "goodputShare"),
    ("queueMs", "permitWaitMs"),
    ("wholeGoodRequestsPerSecond", "wholeGoodputRequestsPerSecond"),
];

/// Finds a value in a report by the key of an earlier release.
fn value<'a>(written: &'a Value, key: &str) -> &'a Value {
    let renamed = RENAMED.iter().find(|it| it.0 == key).map(|it| &written[it.1]);
    renamed.filter(|it| !it.is_null()).unwrap_or(&written[key])
}

/// The paths of all stored values that are written back differently. Additional fields are allowed.
fn changed(path: &str, stored: &Value, written: &Value) -> Vec<String> {
    match (stored, written) {
        (Value::Object(stored), Value::Object(_)) => {
            stored.iter().flat_map(|(key, it)| changed(&format!("{path}.{key}"), it, value(written, key))).collect()
        }
        (Value::Array(stored), Value::Array(written)) if stored.len() == written.len() => {
            let both = stored.iter().zip(written).enumerate();
            both.flat_map(|(index, (stored, written))| changed(&format!("{path}[{index}]"), stored, written)).collect()
        }
        (Value::String(stored), Value::String(written)) if stored == "e2e" && written == "latency" => Vec::new(),
        _ if stored == written => Vec::new(),
        _ => vec![format!("{path}: {stored} is written as {written}")],
    }
}

#[test]
fn a_report_of_each_release_is_read_and_written_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let releases: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(releases.len() > 1, "{releases:?}");
    for release in releases {
        for name in ["load.json", "loadgen.json"] {
            let path = release.join(name);
            let text = fs::read_to_string(&path).unwrap();
            let document = ReportDocument::read(&text).unwrap();
            let mut written = Vec::new();
            document.write(&mut written).unwrap();
            let (stored, written): (Value, Value) =
                (serde_json::from_str(&text).unwrap(), serde_json::from_slice(&written).unwrap());
            assert_eq!(changed("", &stored, &written), Vec::<String>::new(), "{}", path.display());
        }
    }
}
