//! Every BenchmarkRun in README, docs and examples has the same meaning for kubectl and for this project's reader, and the CRD accepts it. The test
//! compares recorded results of kubectl's reader with ours. If the machine has Go and the module of kubectl's reader, the test also runs that reader.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crds::{
    schema,
    yaml::{self, Content, Node},
};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|it| it.extension().is_some_and(|it| it == ending)).collect();
    files.sort();
    files
}

/// Removes the indentation that the first line has from all lines of a block.
fn at_the_margin(block: &str) -> String {
    let indentation = block.len() - block.trim_start_matches(' ').len();
    block.lines().map(|it| format!("{}\n", it.get(indentation..).unwrap_or_default())).collect()
}

/// Every document of a BenchmarkRun, with its file and position.
fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let pages = ["docs", "docs/how-to", "docs/tutorial"].into_iter().flat_map(|it| files(it, "md"));
    for path in pages.chain([root().join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, block) in text.split("```yaml\n").skip(1).enumerate() {
            let block = at_the_margin(block.split("```").next().unwrap());
            if block.starts_with("apiVersion: benchwright.dev/") {
                found.push((format!("{}, block {number}", path.display()), block));
            }
        }
    }
    let folders = ["examples", "examples/gitops", "examples/gitops/kustomize", "examples/extending", "examples/how-to"];
    for path in folders.into_iter().flat_map(|it| files(it, "yaml")) {
        let text = fs::read_to_string(&path).unwrap();
        if text.lines().any(|it| it.starts_with("apiVersion: benchwright.dev/")) {
            found.push((path.display().to_string(), text));
        }
    }
    assert!(found.len() >= 5, "the documents were not found: {found:?}");
    found
}

/// Lines with a commented-out field, such as `# api: OpenAIChat  # or OpenAICompletions`, converted to fields.
fn uncommented(text: &str) -> Vec<String> {
    let field = |line: &&str| line.trim_start().starts_with("# ") && line.contains(": ");
    let lines = text.lines().filter(field).map(|it| it.trim_start().trim_start_matches("# ").to_owned());
    lines.filter(|it| it.starts_with(|it: char| it.is_ascii_lowercase())).collect()
}

/// Unquoted words that are booleans in one version of YAML and strings in the other.
fn odd_words(node: &Node, found: &mut Vec<String>) {
    match &node.content {
        Content::Scalar(Value::Bool(value), written) if *written != value.to_string() => found.push(written.clone()),
        Content::Scalar(..) => {}
        Content::List(items) => items.iter().for_each(|it| odd_words(it, found)),
        Content::Mapping(entries) => entries.iter().for_each(|it| odd_words(&it.value, found)),
    }
}

#[test]
fn every_documented_run_is_one_and_is_read_in_one_way() {
    for (place, text) in documents() {
        let document = yaml::read(&text).unwrap().unwrap();
        let mut odd = Vec::new();
        odd_words(&document.root, &mut odd);
        let check = match document.root.get("kind").and_then(|it| it.value.text()) {
            Some("BenchmarkSchedule") => schema::check_schedule,
            Some("BenchmarkSweep") => schema::check_sweep,
            _ => schema::check,
        };
        let problems = [document.problems, document.ambiguous_keys, check(&document.root).problems].concat();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(problems.is_empty() && odd.is_empty(), "{place}: {problems:?} {odd:?}");
        for line in uncommented(&text) {
            let Ok(Some(document)) = yaml::read(&line) else { continue };
            let mut odd = Vec::new();
            odd_words(&document.root, &mut odd);
            let problems = [document.problems, document.ambiguous_keys].concat();
            assert!(problems.is_empty() && odd.is_empty(), "{place}: {line}: {problems:?} {odd:?}");
        }
    }
}

/// Returns how kubectl's reader interprets each text. `Err` if the reader could not run.
fn ask_kubectl(texts: &[String]) -> Result<Vec<Value>, String> {
    let folder = std::env::temp_dir().join(format!("benchwright-yaml-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for file in ["main.go", "go.mod"] {
        fs::copy(root().join("crds/tests/reader").join(file), folder.join(file)).unwrap();
    }
    let mut command = Command::new("go");
    command.args(["run", "."]).current_dir(&folder);
    // Restricts Go to what is already on the machine: a test downloads nothing.
    command.envs([("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOSUMDB", "off")]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("go: {error}"))?;
    // The process may have exited already because its module is missing. Its output reports this later, so the write error is ignored.
    let _ = child.stdin.take().unwrap().write_all(serde_json::to_string(texts).unwrap().as_bytes());
    let output = child.wait_with_output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The file with the recorded results of kubectl's reader for the fixed texts.
const RECORDED: &str = "crds/tests/reader/answers.json";

/// Values that YAML readers interpret differently.
fn fixed_texts() -> Vec<String> {
    let words = [
        "1",
        "-1",
        "+1",
        "1.5",
        ".5",
        "1.",
        "1e3",
        "1E-2",
        "true",
        "True",
        "yes",
        "Off",
        "n",
        "~",
        "null",
        "''",
        "'off'",
        "1:30",
        "5m",
        "2026-01-02",
        "nan",
        "0b2",
        "1.2.3",
        "0",
        "-0",
        "0.0",
        "a b",
        "\"010\"",
        "18446744073709551615",
        "1e5",
        "60.0",
        "-2.0",
        "1e18",
        "1e19",
        "1e22",
    ];
    let mut texts: Vec<String> = words.iter().chain(&ODD).map(|it| format!("a: {it}\n")).collect();
    texts.push("a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}\n".into());
    texts.push("\u{feff}a: 1\r\nb:\r\n- 2\r\n".into());
    texts
}

/// Numbers that our reader refuses. The message contains the value that kubectl reads.
const ODD: [&str; 6] = ["010", "0x10", "1_000", "08", "0o17", "0b11"];

fn check_answer(text: &str, answer: &Value) {
    if ODD.iter().any(|it| text == format!("a: {it}\n")) {
        let message = &yaml::read(text).unwrap().unwrap().problems[0].message;
        return assert!(message.contains(&format!("kubectl reads as {} ", answer["json"]["a"])), "{message}: {answer}");
    }
    let ours = yaml::read(text).ok().flatten().filter(|it| it.problems.is_empty()).map(|it| it.root.to_json());
    assert_eq!(ours.unwrap_or_default(), answer["json"], "{text:?}: kubectl's reader says {answer}");
}

#[test]
fn kubectls_reader_and_ours_agree() {
    let path = root().join(RECORDED);
    let recorded: BTreeMap<String, Value> =
        serde_json::from_str(&fs::read_to_string(&path).unwrap_or_else(|_| "{}".into())).unwrap();
    let fixed = fixed_texts();
    let documents: Vec<String> = documents().into_iter().map(|(_, text)| text).collect();
    match ask_kubectl(&[fixed.clone(), documents.clone()].concat()) {
        Ok(answers) => {
            assert_eq!(answers.len(), fixed.len() + documents.len());
            documents.iter().zip(&answers[fixed.len()..]).for_each(|(text, answer)| check_answer(text, answer));
            let asked: BTreeMap<String, Value> = fixed.iter().cloned().zip(answers).collect();
            if asked != recorded {
                fs::write(&path, format!("{:#}\n", serde_json::to_value(&asked).unwrap())).unwrap();
                panic!("kubectl's reader gave other answers than {RECORDED}, which now has them: read and commit them");
            }
        }
        Err(why) => println!("kubectl's reader was not asked about the documents, and {RECORDED} holds for it: {why}"),
    }
    for text in &fixed {
        let answer =
            recorded.get(text).unwrap_or_else(|| panic!("{RECORDED} has no {text:?}; run this test where Go is"));
        check_answer(text, answer);
    }
}
