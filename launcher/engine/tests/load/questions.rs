//! Tests of multiple-choice questions with four choices, whose answers are kept.

use std::path::PathBuf;

use accuracy::mmlu::{LETTERS, from_log_probabilities, from_text};
use crds::units::Seed;
use engine::{
    issue::{LoadError, run_here},
    stop::Stop,
};
use measurement::{load_result::LoadResult, record::RequestOutcome};
use serde_json::json;
use workload_files::WorkloadFiles;
use workload_profiles::{
    Workload,
    workload::{DataSet, DataSetFormat, Load, PromptColumn, PromptForm, RequestSource, Stage},
};

use super::common::*;

fn questions(scoring: serde_json::Value, streaming: bool, stage: Stage) -> Workload {
    let data =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data-sets/tests/fixtures/dataset-fixtures/mmlu/hf_all");
    let source = json!({"questions": {"data": data, "split": "test", "shots": 5, "format": "original", "scoring": scoring,
        "maxTokens": 1, "domains": "original", "details": true}});
    let requests: RequestSource = serde_json::from_value(source).unwrap();
    Workload { requests, streaming, ..workload(vec![stage], 1) }
}

async fn run(workload: &Workload) -> LoadResult {
    let target = simulated(server(millis(2), millis(1)));
    let result = try_issue(workload, &target, Seed(1), &Stop::default()).await.unwrap();
    assert!(all(&result, RequestOutcome::Ok));
    result
}

#[tokio::test(start_paused = true)]
async fn each_question_is_asked_once_and_its_log_probabilities_are_kept() {
    for streaming in [true, false] {
        let workload = questions(json!({"logprobs": 20}), streaming, closed(4, 1_000));
        let result = run(&workload).await;
        let mut numbers: Vec<u64> = result.recorder.outputs.iter().map(|it| it.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..18).collect::<Vec<_>>());
        for kept in &result.recorder.outputs {
            let top = &kept.output.first_logprobs;
            assert!(top.len() >= 20 && kept.output.token_ids.is_empty(), "{kept:?}");
            // The simulated server answers with the most probable letter.
            let letter = from_log_probabilities(top.iter().map(|(token, it)| (token.as_str(), *it)));
            assert!(letter.is_some() && letter == from_text(&kept.output.text), "{kept:?}");
        }
        assert!(records(&result).iter().all(|it| it.output_tokens == Some(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_is_kept_alone() {
    let result = run(&questions(json!("text"), true, open(10.0, 60))).await;
    assert_eq!(result.recorder.outputs.len(), 18);
    for kept in &result.recorder.outputs {
        assert!(kept.output.first_logprobs.is_empty() && LETTERS.contains(&from_text(&kept.output.text).unwrap()));
    }
}

#[test]
fn a_workload_is_bounded_by_its_questions() {
    let count = |limit: u64| {
        let workload = questions(json!("text"), true, closed(4, limit));
        let files = WorkloadFiles::read(&workload, Seed(1)).unwrap();
        match &files.bounded(&workload).stages[0].load {
            Load::Closed { count, .. } => *count,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((count(1_000), count(5)), (Some(18), Some(5)));
}

#[tokio::test(start_paused = true)]
async fn questions_and_rows_that_were_not_read_are_refused() {
    let questions = questions(json!("text"), true, closed(1, 1));
    let set = DataSet::new("d", DataSetFormat::Json, PromptColumn::from_form(PromptForm::Text), 1, 1);
    let rows = Workload { requests: RequestSource::DataSet(set), ..workload(vec![closed(1, 1)], 1) };
    for workload in [questions, rows] {
        let target = simulated(server(millis(2), millis(1)));
        let error = run_here(&workload, "m", &target, Seed(1), &Stop::default()).await.unwrap_err();
        assert!(matches!(error, LoadError::NoPrompts), "{error}");
    }
}
