//! The examples in docs/profiles.md are read as that page describes.

use crds::benchmark_run::Harness;

use super::{Target, load, span, workload};
use crate::{
    parse_text,
    workload::{Load, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime, Workload},
};

/// The page about profiles, from the heading of this format to the end.
fn page() -> &'static str {
    include_str!("../../../../../docs/profiles.md").split_once("## Our own format").unwrap().1
}

#[test]
fn the_documented_profile_is_one_and_holds_the_defaults() {
    let block = page().split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let (documented, _) = parse_text(Harness::Benchwright, Target::default(), block).unwrap();
    let defaults = workload("");
    // Compares every key that has a default.
    let documented = Workload { requests: defaults.requests.clone(), stages: defaults.stages.clone(), ..documented };
    assert_eq!(documented, defaults);
}

#[test]
fn the_documented_trace_is_one_in_either_form() {
    let section = page().split_once("\n### Traces\n").unwrap().1;
    let block = section.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let trace_of = |lines: &mut dyn Iterator<Item = String>| {
        let lines: Vec<String> = lines.map(|it| format!("    {it}")).collect();
        match workload(&format!("stages:\n  -\n{}", lines.join("\n"))).stages.remove(0).load {
            Load::Trace { trace, speed, count, lengths: true, .. } => (trace, speed, count),
            other => panic!("{other:?}"),
        }
    };
    let inline = trace_of(&mut block.lines().map(str::to_owned));
    let entry = |at, input, output| TraceEntry { at: span(at), input, output };
    let entries = vec![entry(0.0, Some(374), Some(44)), entry(4.3, None, None)];
    assert_eq!(inline, (Trace::Inline(entries), 1.0, None));
    // The same example, but its commented-out lines are used instead of the lines with the inline entries.
    let entries = |line: &&str| line.trim_start().starts_with("inline:") || line.trim_start().starts_with("- {");
    let commented = block
        .lines()
        .filter(|it| !entries(it))
        .map(|it| it.replacen("# ", "", usize::from(it.trim_start().starts_with("# "))));
    let file = trace_of(&mut commented.collect::<Vec<_>>().into_iter());
    let expected = TraceFile {
        file: "/data/trace.csv".into(),
        hashes_column: Some("hash_ids".into()),
        format: TraceFormat::Csv,
        time: TraceTime::Milliseconds,
        at_column: "timestamp".into(),
        input_column: "input_length".into(),
        output_column: "output_length".into(),
    };
    assert_eq!(file, (Trace::File(expected), 1.0, Some(1_000)));
}

/// Returns the first and the last column of the table below a heading.
fn examples(heading: &str) -> Vec<(&'static str, &'static str)> {
    let table = page().split_once(heading).unwrap().1.split("\n### ").next().unwrap();
    let rows = table.lines().filter(|it| it.starts_with("| `") && !it.contains("| example |"));
    let columns = |row: &'static str| {
        let cells: Vec<&str> = row.trim_start_matches("| ").trim_end_matches(" |").split(" | ").collect();
        let name = cells[0].split('`').nth(1).unwrap();
        (name, cells[cells.len() - 1].trim_matches('`'))
    };
    rows.map(columns).collect()
}

#[test]
fn the_documented_loads_and_rates_are_read() {
    let (loads, rates) = (examples("\n### Loads\n"), examples("\n### Rates\n"));
    assert_eq!((loads.len(), rates.len()), (5, 7));
    for (_, example) in loads {
        load(example);
    }
    for (_, example) in rates {
        let end = if example.contains("rampUp") { "count: 100" } else { "duration: 100s" };
        let stage = format!("{{load: {{open: {{rate: {example}, {end}}}}}}}");
        workload(&format!("stages: [{{load: {{burst: {{count: 1}}}}}}, {stage}]"));
    }
}

#[test]
fn the_documented_requests_and_lengths_are_read() {
    let (requests, lengths) = (examples("\n### Requests\n"), examples("\n### Lengths\n"));
    assert_eq!((requests.len(), lengths.len()), (10, 6));
    let file = "trace: {trace: {file: {path: a.jsonl, hashesColumn: hash_ids}}}";
    for (name, example) in requests {
        let stages = if name == "traceBlocks" { format!("\nstages: [{{load: {{{file}}}}}]") } else { String::new() };
        let tokenizer = if example.contains("chatTemplate") { "\ntokenizer: /models/m" } else { "" };
        workload(&format!("requests: {example}{stages}{tokenizer}"));
    }
    for (_, example) in lengths {
        workload(&format!("requests: {{random: {{input: {example}, output: 1}}}}"));
    }
}

#[test]
fn the_documented_parts_are_read() {
    let parts = examples("\n### Classes, sessions, images, stop rules, accuracy\n");
    assert_eq!(parts.len(), 7);
    for (key, example) in parts {
        // Only answers to the rows of a data set can be scored.
        let rows = "\nrequests: {dataSet: {file: a.jsonl, row: {prompt: question}, output: 64}}";
        let requests = if key == "accuracy" { rows } else { "" };
        let read = serde_json::to_value(workload(&format!("api: chat\n{key}: {example}{requests}"))).unwrap();
        assert!(read.get(key).is_some(), "{key}");
    }
}
