//! `benchwright accuracy` on logs of runs with the reference implementation, and on logs that cannot be scored.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn vectors(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mlperf/accuracy/tests/fixtures/accuracy-vectors").join(name)
}

/// Returns the command for a log. It writes files to `out`.
fn command(log: &Path, benchmark: &str, data_set: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright"));
    command.env_remove("PUNKT_DATA").arg("accuracy").arg(log).args(["--benchmark", benchmark]);
    command.arg("--data-set").arg(data_set).arg("--tokenizer").arg(vectors("tokenizers/tok-bytelevel"));
    command.arg("--output").arg(out);
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn assert_ends(done: &Output, code: i32, part: &str) {
    let all = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert!(done.status.code() == Some(code) && all.contains(part), "{:?} {all}", done.status);
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn figures_are_those_of_the_reference_and_a_part_has_no_verdict() {
    let results = tempfile::tempdir().unwrap();
    let log = results.path().join("Accuracy/mlperf_log_accuracy.json");
    fs::create_dir(log.parent().unwrap()).unwrap();
    fs::copy(vectors("e2e/llama3.1-8b/mlperf_log_accuracy.int32.json"), &log).unwrap();
    let out = tempfile::tempdir().unwrap();
    let data_set = vectors("e2e/llama3.1-8b/cnn_eval.json");
    let done = command(results.path(), "llama3.1-8b", &data_set, out.path()).output().unwrap();
    let figures = "'rouge1': '67.0136', 'rouge2': '44.9959', 'rougeL': '53.4181', 'gen_num': 24";
    assert_ends(&done, 2, figures);
    assert_ends(&done, 2, "- the log has answers to 24 samples, and the limits of llama3.1-8b are for 13368\n");
    assert_ends(&done, 2, "- rougeLsum is not computed: Punkt's tables, which split texts");
    let sha256 = Command::new("sha256sum").arg(&log).output().unwrap();
    let hash = text(&sha256.stdout).split(' ').next().unwrap().to_owned();
    let accuracy = fs::read_to_string(out.path().join("accuracy.txt")).unwrap();
    assert_eq!(accuracy, format!("\nResults\n\n{{{figures}}}\n\nhash={hash}\n"));
    let rouge = json(&out.path().join("rouge.json"));
    assert_eq!((&rouge["verdict"], &rouge["log_sha256"]), (&"undecided".into(), &hash.into()));
    assert_eq!((&rouge["clean_up_tokenization_spaces"], &rouge["scores"]["rouge1"]), (&true.into(), &67.0136.into()));
    let samples = fs::read_to_string(out.path().join("accuracy_samples.jsonl")).unwrap();
    let first: Value = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    assert_eq!((samples.lines().count(), &first["qsl_idx"], &first["tokens"]), (24, &1.into(), &35.into()));
}

/// Creates a run of gpt-oss-120b over its whole data set. Each question has a one-letter answer.
fn whole_run(folder: &Path, answer: &str) -> (PathBuf, PathBuf) {
    const SAMPLES: u64 = 4395;
    let vocabulary = json(&vectors("tokenizers/tok-bytelevel/tokenizer.json"));
    let id = vocabulary["model"]["vocab"][answer].as_u64().unwrap() as u32;
    let data: String = id.to_le_bytes().iter().map(|it| format!("{it:02x}")).collect();
    let line = |it| format!("{{ \"seq_id\" : {it}, \"qsl_idx\" : {it}, \"data\" : \"{data}\", \"token_count\" : 1 }}");
    let lines: Vec<String> = (0..SAMPLES).map(line).collect();
    let rows: Vec<&str> = (0..SAMPLES).map(|_| r#"{"dataset": "gpqa_diamond", "ground_truth": "A"}"#).collect();
    let (log, data_set) = (folder.join("mlperf_log_accuracy.json"), folder.join("rows.jsonl"));
    fs::write(&log, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    fs::write(&data_set, rows.join("\n")).unwrap();
    (log, data_set)
}

#[test]
fn a_whole_run_passes_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    for (answer, code, verdict, line) in [("A", 0, "Passed", "100.000"), ("B", 1, "Failed", "0.000")] {
        let (log, data_set) = whole_run(folder.path(), answer);
        let done = command(&log, "gpt-oss-120b", &data_set, folder.path()).output().unwrap();
        assert_ends(&done, code, &format!("'exact_match': {line}\n"));
        assert_ends(&done, code, &format!("\n{verdict}: gpt-oss-120b"));
        let rouge = json(&folder.path().join("rouge.json"));
        assert_eq!(rouge["verdict"], verdict.to_lowercase());
    }
}

#[test]
fn a_log_that_is_cut_has_no_verdict_and_one_cut_within_a_line_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let (log, data_set) = whole_run(folder.path(), "A");
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, whole.strip_suffix("\n]\n").unwrap()).unwrap();
    let done = command(&log, "gpt-oss-120b", &data_set, folder.path()).output().unwrap();
    assert_ends(&done, 2, "- the log ends without its closing bracket, and may lack answers");
    assert_ends(&done, 2, "'exact_match': 100.000");
    fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let done = command(&log, "gpt-oss-120b", &data_set, out.path()).output().unwrap();
    assert_ends(&done, 10, "of the accuracy log is no answer (EOF while parsing");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn ids_that_the_tokenizer_lacks_leave_the_verdict_open() {
    let folder = tempfile::tempdir().unwrap();
    let (log, data_set) = whole_run(folder.path(), "A");
    let whole = fs::read_to_string(&log).unwrap();
    let foreign = whole.replacen("\"data\" : \"", "\"data\" : \"FFFFFF0F", 2);
    fs::write(&log, foreign).unwrap();
    let done = command(&log, "gpt-oss-120b", &data_set, folder.path()).output().unwrap();
    assert_ends(&done, 2, "- 2 answers have token ids of ");
    assert_ends(&done, 2, "which the tokenizer lacks; give the model's tokenizer");
}

#[test]
fn bad_input_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (log, data_set) = whole_run(folder.path(), "A");
    let check = |log: &Path, benchmark: &str, data_set: &Path, more: &[&str], part: &str| {
        let done = command(log, benchmark, data_set, folder.path()).args(more).output().unwrap();
        assert_ends(&done, 10, part);
    };
    let none = Path::new("/none");
    let empty = tempfile::tempdir().unwrap();
    check(&log, "bert", &data_set, &[], "one of llama3.1-8b, ");
    check(
        empty.path(),
        "gpt-oss-120b",
        &data_set,
        &[],
        "has no mlperf_log_accuracy.json, and neither has its subfolder Accuracy",
    );
    check(none, "gpt-oss-120b", &data_set, &[], "cannot score /none");
    check(&log, "gpt-oss-120b", none, &[], "cannot read the data set /none");
    check(&log, "llama2-70b", &data_set, &[], "rows.jsonl, line 1: has no column output; it has dataset, ground_truth");
    check(&log, "gpt-oss-120b", &data_set, &["--elements", "int64"], "has 4 bytes, which is no multiple of 8");
    check(&log, "gpt-oss-120b", &data_set, &["--elements", "int8"], "use int32, int64 or float");
    check(&log, "gpt-oss-120b", &data_set, &["--punkt", "/none"], "cannot read Punkt's table abbrev_types.txt");
    let short = folder.path().join("short.json");
    fs::write(&short, r#"[{"output": "a"}]"#).unwrap();
    check(&log, "llama2-70b-99.9", &short, &[], "the accuracy log answers sample 1, and the data set has 1 rows");
}
