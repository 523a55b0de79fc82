//! Shipped profiles with cuts, changes and typing errors. The parser must neither panic nor take long for them.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{
    formats::hostile,
    shipped,
    shipped::tests::required,
    shipped_names,
    variables::tests::{run, with},
    workload::MAX_REQUESTS,
};

/// A shipped profile with its variables filled in.
fn rendered(index: usize) -> String {
    let names = shipped_names(Harness::InferencePerf);
    let name = names[index % names.len()];
    let template = shipped(Harness::InferencePerf, name).unwrap();
    crate::prepare(&run("m"), template, &with("m", required(name)).unwrap(), &Default::default()).unwrap().text
}

/// Checks that an accepted text becomes a workload within the bounds of a run, and that the report's workload is a valid profile in our own format.
fn check_bounds(text: &str) {
    if let Ok((workload, _)) = parse_text(Harness::InferencePerf, Target::default(), text) {
        assert!(!workload.stages.is_empty() && workload.stages.len() <= 1000, "{text}");
        let requests: u64 = workload.stages.iter().filter_map(|it| it.load.count()).sum();
        assert!(requests <= MAX_REQUESTS, "{text}");
        hostile::check_round_trip(&workload);
    }
}

/// Returns the value at place `left` of a tree, counted in the order in which the tree is walked.
fn nth_mut<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Object(entries) => entries.values_mut().find_map(|it| nth_mut(it, left)),
        Value::Array(items) => items.iter_mut().find_map(|it| nth_mut(it, left)),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_profile_that_is_cut_off_is_no_surprise(index in 0_usize..27, part in 0.0_f64..1.0) {
        let text = rendered(index);
        let at = (text.len() as f64 * part) as usize;
        check_bounds(text.get(..at).unwrap_or(&text));
    }

    #[test]
    fn a_profile_with_odd_letters_is_no_surprise(index in 0_usize..27, at in 0.0_f64..1.0, letters in "[ \\t\\n:{}\\[\\],'\"#&*!|>%@`$0-9a-zé-]{1,6}") {
        let mut text = rendered(index);
        let at = (text.len() as f64 * at) as usize;
        let at = (0..=at).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
        text.insert_str(at, &letters);
        check_bounds(&text);
    }

    #[test]
    fn a_profile_with_a_value_of_another_type_is_no_surprise(
        index in 0_usize..27,
        place in 0_usize..60,
        value in prop::sample::select(vec![
            "null", "true", "-1", "0", "1e308", "1.5", "18446744073709551615", "\"\"", "\"x\"", "\"1e9\"", "[]", "[[]]", "[null]", "[1]",
            "{}", "{\"type\": \"lognormal\"}", "{\"min\": 5, \"max\": 4}", "{\"mean\": 0}", "\"shareGPT\"", "\"sweep\"",
            "\"trace_session_replay\"", "[{\"name\": \"a\", \"split\": 1}]", "{\"type\": \"geometric\", \"num_stages\": 999}",
        ]),
    ) {
        let mut tree = yaml::read(&rendered(index)).unwrap();
        let mut left = place;
        if let Some(found) = nth_mut(&mut tree, &mut left) {
            *found = serde_json::from_str(value).unwrap();
        }
        check_bounds(&yaml::write(&tree));
    }

    #[test]
    fn a_key_with_any_value_is_no_surprise(
        index in 0_usize..27,
        section in prop::sample::select(vec!["load", "data", "api", "tokenizer", "server", "report"]),
        key in prop::sample::select(vec![
            "sweep", "lora_traffic_split", "circuit_breakers", "type", "multimodal", "shared_prefix", "conversation_replay", "path", "trace",
            "otel_trace_replay", "weka_trace_replay", "stages", "interval", "headers", "session_id_header_key", "data", "corpus_file_path",
        ]),
        value in "(\\[|\\{)?(count|type|min|name|split|a|image)?:? ?(-?[0-9]{1,12}|linear|poisson|4k|\\[\\]|\\{\\})?(\\]|\\})?",
    ) {
        let mut tree = yaml::read(&rendered(index)).unwrap();
        let value = yaml::read(&value).unwrap_or(Value::String(value));
        if let Some(entries) = tree.get_mut(section).and_then(Value::as_object_mut) {
            entries.insert(key.to_owned(), value);
        }
        check_bounds(&yaml::write(&tree));
    }
}
