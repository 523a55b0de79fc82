//! `benchwright dataset` on files of several formats, and on files that are no data set.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data-sets/tests/fixtures/dataset-fixtures").join(name)
}

fn dataset(file: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_benchwright")).arg("dataset").arg(file).args(more).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn assert_says(file: &Path, parts: &[&str]) -> String {
    let done = dataset(file, &[]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    for part in parts {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    said.to_owned()
}

#[test]
fn a_pickle_is_described_with_what_sends_it() {
    let file = fixture("pickle/filtered.pandas22_numpy1.p5.pkl");
    let said = assert_says(
        &file,
        &[
            ": pickle, 4 rows\n",
            "note: rows are identified by labels (numbers) instead of their positions\n",
            "prompts as token ids",
            "expected answers",
            "It has the columns of MLPerf's data set for llama3.1-8b (13368 rows), llama3.1-8b-edge (5000 rows), llama2-70b (24576 rows)",
            "column: tok_input, form: tokenIds",
        ],
    );
    // The launcher must be able to read the profile that the command prints.
    let yaml = said.split("(harness benchwright) sends it with:\n\n").nth(1).unwrap();
    let profile = format!("{yaml}stages: [{{load: {{closed: {{concurrency: 1, count: 4}}}}}}]\n");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("profile.yaml"), &profile).unwrap();
    let run = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: a}\nspec:\n  harness: benchwright\n  target: {url: 'http://localhost:1', model: m}\n";
    fs::write(folder.path().join("run.yaml"), run).unwrap();
    let rendered = Command::new(env!("CARGO_BIN_EXE_benchwright"))
        .args(["render", "--workload", "-f", "run.yaml", "--profile", "profile.yaml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(rendered.status.success(), "{}\n{profile}", text(&rendered.stderr));
}

#[test]
fn json_has_the_same_and_conversations_have_turns() {
    let done = dataset(&fixture("json/sharegpt.json"), &["--json"]);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["format"], &report["text_lengths_in"]), (&json!("json"), &json!("words")));
    let column = report["columns"].as_array().unwrap().iter().find(|it| it["name"] == "conversations").unwrap();
    assert_eq!(column["role"], "chat");
    assert!(column["turns"]["max"].as_u64().unwrap() >= 2, "{column}");
    let requests = report["requests"].as_str().unwrap();
    assert!(
        requests.contains("{conversation: {column: conversations, send: allButLast}}\n    output: answer"),
        "{requests}"
    );
    assert_eq!(report["fits"], json!([]));
}

#[test]
fn the_format_is_that_of_the_content() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orca.json");
    fs::copy(fixture("pickle/small.pandas22_numpy1.p5.pkl"), &file).unwrap();
    let note = "note: it is declared as JSON, but is read as a pickle, because that is its content\n";
    assert_says(&file, &[": pickle, 7 rows", note, "    format: pickle\n"]);
    let rows: Vec<Value> =
        (0..4388).map(|_| json!({"tok_input": [1], "ground_truth": "A", "dataset": "gpqa"})).collect();
    fs::write(&file, Value::from(rows).to_string()).unwrap();
    assert_says(&file, &["Its columns and number of rows are those of MLPerf's data set for deepseek-r1.\n"]);
    assert_says(&fixture("npy"), &["input_ids", ": npy, 5 rows"]);
}

#[test]
fn what_is_no_data_set_is_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let check = |file: &Path, part: &str| {
        let done = dataset(file, &[]);
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(10) && said.contains(part), "{:?} {said}", done.status);
    };
    check(Path::new("/none"), "cannot read the data set /none");
    check(folder.path(), "it is a folder without a data set, and without input_ids_padded.npy; give a file");
    check(&fixture("hostile-pickle/os_system_proto0.pkl"), "names os.system, which is not among the names");
    check(&fixture("hostile-pickle/os_system_proto0.pkl"), "pandas.read_pickle('os_system_proto0.pkl').to_parquet(");
    check(&fixture("hostile-pickle/memo_bomb.pkl"), "repeats its values too often");
    check(&fixture("parquet/bad_truncated.parquet"), "it is damaged, or no Parquet file");
    check(&fixture("npy/bad_huge_shape.npy"), "which is too large");
    check(&fixture("json/bad_truncated.json"), "is no JSON in UTF-8 from here on");
}
