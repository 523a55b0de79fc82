//! Tests of the nested form. Other files test the other forms.

mod command_line;
mod data;
mod flat;
mod hostile;
mod load;
mod shipped;

use crds::benchmark_run::Harness;

use super::*;
use crate::{parse_text, problem::ProfileError, workload::Workload};

/// The beginning of a notice that every synthetic load causes. One test checks this notice; the other tests ignore it.
const TOKENIZER: &str = "spec.tokenizer: is the tokenizer of the model";

fn read(text: &str) -> Result<(Workload, Vec<String>), ProfileError> {
    let target = Target { url: Some("http://server:8000"), model: Some("m") };
    let (workload, notices) = parse_text(Harness::Guidellm, target, text)?;
    let notices = notices.iter().map(ToString::to_string).filter(|it| !it.starts_with(TOKENIZER));
    Ok((workload, notices.collect()))
}

/// A nested profile: the keys from the test, and defaults for the other keys.
fn nested(spec: &str) -> String {
    let mut text = spec.to_owned();
    for (key, default) in [
        ("profile", "profile: {kind: concurrent, streams: 4}"),
        ("data", "data: [{kind: synthetic_text, prompt_tokens: 64, output_tokens: 16}]"),
        ("constraints", "constraints: [{kind: max_duration, seconds: 30}]"),
    ] {
        if !text.lines().any(|it| it.starts_with(&format!("{key}:"))) {
            text.push_str(&format!("\n{default}"));
        }
    }
    let lines: Vec<String> = text.lines().map(|it| format!("  {it}\n")).collect();
    format!("spec:\n{}", lines.concat())
}

fn workload(spec: &str) -> Workload {
    read(&nested(spec)).unwrap_or_else(|error| panic!("{spec}\n{error}")).0
}

fn notices(spec: &str) -> Vec<String> {
    read(&nested(spec)).unwrap_or_else(|error| panic!("{spec}\n{error}")).1
}

fn check_error(spec: &str, expected: &str) {
    assert_eq!(read(&nested(spec)).map(|it| it.1).unwrap_err().to_string(), expected, "{spec}");
}

/// Checks that there is exactly one notice, and that it begins with `expected`.
fn check_notice(spec: &str, expected: &str) {
    let found = notices(spec);
    assert!(found.len() == 1 && found[0].starts_with(expected), "{spec}\n{found:?}");
}
