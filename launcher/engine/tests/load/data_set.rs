//! Requests that are the rows of a file.

use crds::units::Seed;
use engine::{issue::run_here, record::RequestOutcome, stop::Stop};
use serde_json::json;
use workload_profiles::{
    Workload,
    loadgen::Qsl,
    workload::{DataSet, DataSetFormat, Load, LoadGen, PromptColumn, PromptForm, RequestSource, Stage},
};

use super::common::*;

/// Number of a request, and the length of its prompt: as the launcher knows it, and by the server's count.
type PromptLengths = (u64, Option<u32>, Option<u32>);

/// A stage of requests from a file with `rows` rows; row i has i + 1 words or ids.
async fn run(stage: Stage, rows: usize, form: PromptForm) -> Result<Vec<PromptLengths>, String> {
    run_with(None, stage, rows, form).await
}

async fn run_with(
    loadgen: Option<LoadGen>,
    stage: Stage,
    rows: usize,
    form: PromptForm,
) -> Result<Vec<PromptLengths>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.json");
    let row = |it: usize| json!({"input": vec!["sea"; it + 1].join(" "), "tok_input": vec![7; it + 1]});
    std::fs::write(&path, json!((0..rows).map(row).collect::<Vec<_>>()).to_string()).unwrap();
    let prompt = PromptColumn::from_form(form);
    let set = DataSet::new(path, DataSetFormat::Json, prompt, 3, rows as u64);
    let workload = Workload { requests: RequestSource::DataSet(set), loadgen, ..workload(vec![stage], 1) };
    let target = simulated(server(millis(2), millis(1)));
    let result = run_here(&workload, "m", &target, Seed(1), &Stop::default()).await.map_err(|it| it.to_string())?;
    assert!(all(&result, RequestOutcome::Ok));
    assert!(records(&result).iter().all(|it| it.output_tokens == Some(3)));
    Ok(records(&result).iter().map(|it| (it.number, it.requested_input_tokens, it.input_tokens)).collect())
}

#[tokio::test(start_paused = true)]
async fn request_i_is_row_i() {
    let expected = |requested: fn(u32) -> Option<u32>| {
        (0..5_u32).map(|it| (u64::from(it), requested(it + 1), Some(it + 1))).collect::<Vec<_>>()
    };
    assert_eq!(run(closed(2, 5), 5, PromptForm::TokenIds).await, Ok(expected(Some)));
    assert_eq!(run(paced(10.0, 5), 9, PromptForm::Text).await, Ok(expected(|_| None)));
}

#[tokio::test(start_paused = true)]
async fn a_load_that_goes_past_the_last_row_is_refused() {
    let error = |stage: &str, sends: &str| {
        let (sends, rows) = (format!("the stage {stage} sends {sends}"), "and the data set has 4 rows, one for each");
        Err(format!("{sends}, {rows}; set a count of at most 4"))
    };
    assert_eq!(run(closed(2, 5), 4, PromptForm::TokenIds).await, error("c2", "5 requests"));
    assert_eq!(run(paced(10.0, 5), 4, PromptForm::Text).await, error("r10", "5 requests"));
    let timed = closed_for(2, millis(50), millis(0));
    assert_eq!(run(timed, 4, PromptForm::Text).await, error("c2", "as many requests as its time allows"));
    let burst = Stage::new("burst", Load::Burst { count: 4, max_concurrency: None });
    assert_eq!(run(burst, 4, PromptForm::TokenIds).await.map(|it| it.len()), Ok(4));
}

#[tokio::test(start_paused = true)]
async fn a_sample_library_larger_than_the_data_set_is_refused() {
    let qsl = Qsl { name: "QSL".into(), total_sample_count: 5, performance_sample_count: 5 };
    let loadgen = LoadGen {
        benchmark: "b".into(),
        round: "v6.1".into(),
        sut_name: "SUT".into(),
        qsl,
        max_concurrency: None,
        tests: Vec::new(),
        auto_qps: None,
        user_conf: String::new(),
    };
    let refused = run_with(Some(loadgen), closed(1, 1), 4, PromptForm::Text).await;
    let error = "the sample library has 5 samples, and 4 rows of the data set are used; use as many";
    assert_eq!(refused, Err(error.to_owned()));
}
