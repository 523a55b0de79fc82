//! Every BenchmarkRun of README, docs and examples means the same to kubectl and to this project's reader, and is one that the
//! definition takes. Where Go and the module of kubectl's reader are on the machine, that reader itself is asked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
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

/// Every document of a BenchmarkRun, with its place.
fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in files("docs", "md").into_iter().chain([root().join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, block) in text.split("```yaml\n").skip(1).enumerate() {
            let block = block.split("```").next().unwrap();
            if block.starts_with("apiVersion: benchwright.dev/") {
                found.push((format!("{}, block {number}", path.display()), block.to_owned()));
            }
        }
    }
    for path in files("examples", "yaml") {
        found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
    }
    assert!(found.len() >= 5, "the documents were not found: {found:?}");
    found
}

/// The lines that show a field in a comment, as in `# api: OpenAIChat  # or OpenAICompletions`, as fields.
fn uncommented(text: &str) -> Vec<String> {
    let field = |line: &&str| line.trim_start().starts_with("# ") && line.contains(": ");
    let lines = text.lines().filter(field).map(|it| it.trim_start().trim_start_matches("# ").to_owned());
    lines.filter(|it| it.starts_with(|it: char| it.is_ascii_lowercase())).collect()
}

/// Words without quotes that are booleans in one version of YAML and texts in the other.
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
        let problems = [document.problems, document.ambiguous_keys, schema::check(&document.root).problems].concat();
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

/// What kubectl's reader makes of each text; `None` where it cannot be asked.
fn ask_kubectl(texts: &[String]) -> Option<Vec<Value>> {
    let folder = std::env::temp_dir().join(format!("benchwright-yaml-{}", std::process::id()));
    fs::create_dir_all(&folder).ok()?;
    for file in ["main.go", "go.mod"] {
        fs::copy(root().join("crds/tests/reader").join(file), folder.join(file)).ok()?;
    }
    let mut command = Command::new("go");
    command.args(["run", "."]).current_dir(&folder);
    // Only what is on the machine already: a test downloads nothing.
    command.envs([("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOSUMDB", "off")]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let output = child.ok().and_then(|mut child| {
        // It may have ended for want of its module.
        let _ = child.stdin.take()?.write_all(serde_json::to_string(texts).ok()?.as_bytes());
        child.wait_with_output().ok()
    });
    fs::remove_dir_all(&folder).ok()?;
    serde_json::from_slice(&output?.stdout).ok()
}

#[test]
fn kubectls_reader_and_ours_agree() {
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
    ];
    let mut texts: Vec<String> = documents().into_iter().map(|(_, text)| text).collect();
    texts.extend(words.iter().map(|it| format!("a: {it}\n")));
    texts.push("a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}\n".into());
    texts.push("\u{feff}a: 1\r\nb:\r\n- 2\r\n".into());
    let odd = ["010", "0x10", "1_000", "08", "0o17", "0b11"];
    let of_odd: Vec<String> = odd.iter().map(|it| format!("a: {it}\n")).collect();
    let Some(answers) = ask_kubectl(&[texts.clone(), of_odd.clone()].concat()) else {
        println!("not checked: kubectl's reader needs Go and the module sigs.k8s.io/yaml v1.6.0 on this machine");
        return;
    };
    for (text, answer) in texts.iter().zip(&answers) {
        let ours = yaml::read(text).ok().flatten().filter(|it| it.problems.is_empty()).map(|it| it.root.to_json());
        let same = match (&ours, &answer["json"]) {
            // Numbers of one value in two spellings, 1 and 1.0, are the same.
            (Some(ours), json) => same(ours, json),
            (None, json) => json.is_null(),
        };
        assert!(same, "{text:?}: ours is {ours:?}, kubectl's is {answer}");
    }
    // What is refused here names kubectl's value.
    for (text, answer) in of_odd.iter().zip(&answers[texts.len()..]) {
        let message = &yaml::read(text).unwrap().unwrap().problems[0].message;
        assert!(message.contains(&format!("kubectl reads as {} ", answer["json"]["a"])), "{message}: {answer}");
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|it| same(value, it)))
        }
        (a, b) => a == b,
    }
}
