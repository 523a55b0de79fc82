//! Measures the quality of messages about wrong inputs. If a mutation of a valid BenchmarkRun or a valid profile is refused, the message must contain
//! the field, the value that was found, and a remedy, in words for users.
//!
//! The mutations are enumerated, so that each run of the test checks the same ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod base;
mod judge;
mod mutate;

use std::{collections::BTreeMap, fs, path::PathBuf};

use judge::{Fault, judge};
use launcher::input::{LocalOptions, from_file};
use mutate::{Mutation, mutations};
use serde_json::{Value, json};

/// A temporary folder for the file that is read.
struct Reader {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Reader { path: folder.path().join("run.yaml"), _folder: folder }
    }

    fn error(&self, text: &str) -> Option<String> {
        fs::write(&self.path, text).unwrap();
        from_file(&self.path, &LocalOptions::default()).err().map(|it| it.to_string())
    }
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap()
}

#[derive(Default)]
struct Count {
    accepted: usize,
    refused: usize,
    poor: BTreeMap<Fault, Vec<String>>,
}

impl Count {
    fn add(&mut self, mutation: &Mutation, error: Option<String>) {
        let Some(error) = error else {
            self.accepted += 1;
            return;
        };
        self.refused += 1;
        if let Err(fault) = judge(mutation, &error) {
            let told = format!(
                "{} = {}\n    {}",
                mutation.path,
                cut(&mutation.value.to_string()),
                cut(&error).replace('\n', "\n    ")
            );
            self.poor.entry(fault).or_default().push(told);
        }
    }

    fn check(&self, what: &str, least: usize) {
        let poor = self.tell(what);
        assert!(self.refused >= least, "{what}: only {} mutations were refused", self.refused);
        assert_eq!(poor, 0, "{what}: {poor} of {} messages are poor", self.refused);
    }

    /// Prints the counts and the poor messages. Returns the number of poor messages.
    fn tell(&self, what: &str) -> usize {
        let poor: usize = self.poor.values().map(Vec::len).sum();
        println!("{what}: {} accepted, {} refused, of these {poor} poorly told", self.accepted, self.refused);
        for (fault, messages) in &self.poor {
            println!("  {fault:?}: {}", messages.len());
            messages.iter().take(25).for_each(|it| println!("   {it}"));
        }
        poor
    }
}

fn cut(text: &str) -> String {
    text.chars().take(400).collect()
}

#[test]
fn every_mutation_of_a_run_is_told_well() {
    let reader = Reader::new();
    let base = base::run();
    assert_eq!(reader.error(&yaml(&base)), None);
    let mut count = Count::default();
    for mutation in mutations(&base) {
        count.add(&mutation, reader.error(&yaml(&mutation.document)));
    }
    count.check("BenchmarkRun", 900);
}

#[test]
fn every_mutation_of_a_profile_is_told_well() {
    let reader = Reader::new();
    let mut counts = Vec::new();
    for (harness, profile, least) in
        [("benchwright", base::benchwright(), 500), ("inference-perf", base::inference_perf(), 300)]
    {
        let run = |profile: &Value| {
            let mut run = base::smallest();
            run["spec"]["harness"] = harness.into();
            run["spec"]["profile"] = json!({"inline": yaml(profile)});
            yaml(&run)
        };
        assert_eq!(reader.error(&run(&profile)), None, "{harness}");
        let mut count = Count::default();
        for mutation in mutations(&profile) {
            count.add(&mutation, reader.error(&run(&mutation.document)));
        }
        count.tell(harness);
        counts.push((harness, least, count));
    }
    counts.into_iter().for_each(|(harness, least, count)| count.check(harness, least));
}

#[test]
fn every_broken_text_is_told_well() {
    let reader = Reader::new();
    let mut count = Count::default();
    for (text, field, value) in base::broken_texts() {
        let mutation = Mutation {
            path: field.into(),
            value: if value.is_empty() { Value::Null } else { value.into() },
            renamed: None,
            document: Value::Null,
        };
        let error = reader.error(&text);
        assert!(error.is_some(), "{text}");
        count.add(&mutation, error);
    }
    count.check("texts", 30);
}
