//! Tests of requests that are the rows of a data set file.

use std::sync::Arc;

use crds::units::Seed;
use engine::{client::Target, stop::Stop};
use measurement::{load_result::LoadResult, record::RequestOutcome};
use serde_json::json;
use workload_profiles::{
    Workload,
    loadgen::Scenario,
    workload::{
        AcrossStages, ConversationUse, DataSet, DataSetFormat, Load, Margin, OutputLength, PromptColumn, PromptForm,
        RequestSource, RowContent, Sessions, Stage, Trace, TraceFile, TraceFormat, TraceTime, Unit, UsedUp, Window,
    },
};

use super::{common::*, loadgen};

/// Number of a request, and its prompt length in tokens, as requested and as counted by the server.
type PromptLengths = (u64, Option<u32>, Option<u32>);

/// Runs a stage whose requests are the rows of a file. Row i of the `rows` rows has i + 1 words or token ids.
async fn run(stage: Stage, rows: usize, form: PromptForm) -> Result<Vec<PromptLengths>, String> {
    run_rows(workload(vec![stage], 1), rows, form).await
}

async fn run_rows(workload: Workload, rows: usize, form: PromptForm) -> Result<Vec<PromptLengths>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.json");
    let row = |it: usize| json!({"input": vec!["sea"; it + 1].join(" "), "tok_input": vec![7; it + 1]});
    std::fs::write(&path, json!((0..rows).map(row).collect::<Vec<_>>()).to_string()).unwrap();
    let prompt = PromptColumn::from_form(form);
    let set = DataSet::new(path, DataSetFormat::Json, prompt, 3, rows as u64);
    let workload = Workload { requests: RequestSource::DataSet(set), ..workload };
    let target = simulated(server(millis(2), millis(1)));
    let result = try_issue(&workload, &target, Seed(1), &Stop::default()).await?;
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
        let (sends, rows) =
            (format!("the stage {stage} sends {sends}"), "each with a row of its own, and the data set has 4 rows");
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
    let refused = run_rows(loadgen::test(loadgen::settings(Scenario::Server)), 4, PromptForm::Text).await;
    let error = "the sample library has 20 samples, and 4 rows of the data set are used; make both numbers equal";
    assert_eq!(refused, Err(error.to_owned()));
}

/// Runs stages whose requests are the rows of a file. Row i of the four rows has i + 1 words. Returns the prompt lengths of each stage.
async fn lengths(
    (used_up, across_stages): (UsedUp, AcrossStages),
    stages: Vec<Stage>,
) -> Result<(Vec<Vec<u32>>, Option<String>), String> {
    let result = issue_rows((used_up, across_stages), workload(stages, 1)).await?;
    let mut sent = vec![Vec::new(); result.recorder.stages.len()];
    for record in records(&result) {
        sent[record.stage as usize].push((record.number, record.input_tokens.unwrap()));
    }
    let in_order = |mut it: Vec<(u64, u32)>| {
        it.sort_unstable();
        it.into_iter().map(|it| it.1).collect()
    };
    let notices: Vec<String> = result.notices.into_iter().map(|it| it.message).collect();
    Ok((sent.into_iter().map(in_order).collect(), Some(notices.join("\n")).filter(|it| !it.is_empty())))
}

/// Runs a workload with the rows of the same file.
async fn issue_rows(
    (used_up, across_stages): (UsedUp, AcrossStages),
    workload: Workload,
) -> Result<LoadResult, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.txt");
    std::fs::write(&path, "sea\nsea sea\nsea sea sea\nsea sea sea sea\n").unwrap();
    let prompt = PromptColumn { name: "text".into(), form: PromptForm::Text };
    let set = DataSet { used_up, across_stages, count: None, ..DataSet::new(path, DataSetFormat::Text, prompt, 1, 1) };
    let workload = Workload { requests: RequestSource::DataSet(set), ..workload };
    let target = simulated(server(millis(2), millis(1)));
    try_issue(&workload, &target, Seed(1), &Stop::default()).await
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_used_up_repeat_and_the_report_says_it() {
    let stages = || vec![closed(1, 3), paced(100.0, 3)];
    let (sent, notice) = lengths((UsedUp::Repeat, AcrossStages::Continue), stages()).await.unwrap();
    assert_eq!(sent, [vec![1, 2, 3], vec![4, 1, 2]]);
    let notice = notice.unwrap();
    assert!(notice.starts_with("6 requests were sent with 4 distinct rows of the 4 in "), "{notice}");
    assert!(notice.contains(": 2 requests repeated a row"), "{notice}");
    let (sent, notice) = lengths((UsedUp::Refuse, AcrossStages::Restart), stages()).await.unwrap();
    assert_eq!(sent, [vec![1, 2, 3], vec![1, 2, 3]]);
    assert!(notice.unwrap().contains(": 3 requests repeated a row"));
    let (sent, notice) = lengths((UsedUp::Refuse, AcrossStages::Continue), vec![closed(1, 4)]).await.unwrap();
    assert_eq!((sent, notice), (vec![vec![1, 2, 3, 4]], None));
    let (sent, _) = lengths((UsedUp::Draw, AcrossStages::Restart), vec![closed(1, 40)]).await.unwrap();
    assert_eq!(sent[0][..4], [1, 2, 3, 4]);
    assert!((1..=4).all(|it| sent[0][4..].contains(&it)));
}

#[tokio::test(start_paused = true)]
async fn a_stage_may_end_with_the_rows() {
    let stages = vec![closed(1, 3), paced(100.0, 3), closed(2, 3)];
    let (sent, notice) = lengths((UsedUp::EndStage, AcrossStages::Continue), stages).await.unwrap();
    assert_eq!(sent, [vec![1, 2, 3], vec![4], vec![]]);
    let notices = [
        "the stage r100 ends with the row of the data set that is left for it",
        "the stage c2 sends nothing: no row of the data set is left for it",
    ];
    assert_eq!(notice, Some(notices.join("\n")));
    let timed = vec![closed_for(1, millis(50), millis(0)), closed(1, 3)];
    let (sent, notice) = lengths((UsedUp::EndStage, AcrossStages::Restart), timed.clone()).await.unwrap();
    assert_eq!(sent, [vec![1, 2, 3, 4], vec![1, 2, 3]]);
    let notice = notice.unwrap();
    assert!(notice.contains("the 4 rows of the data set that are left for it, unless its duration ends it earlier"));
    let error = lengths((UsedUp::EndStage, AcrossStages::Continue), timed).await.unwrap_err();
    assert!(error.contains("set a count for each earlier stage"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_window_of_a_stage_ends_with_the_rows() {
    let window = async |window: Window, stage: Stage| {
        let workload = Workload { window, ..workload(vec![stage], 1) };
        let result = issue_rows((UsedUp::EndStage, AcrossStages::Continue), workload).await.unwrap();
        let tally = &result.recorder.stages[0];
        (tally.span().map(|(begin, end)| end - begin), tally.outcomes.values().sum::<u64>())
    };
    // The stage would take ten seconds at 10 requests per second, but there are only four rows.
    assert_eq!(window(Window::Cut, paced(10.0, 100)).await, (Some(millis(400)), 4));
    // The cool-down excludes the last of the four requests that are sent, and not one that is never sent.
    let cool_down = |stage| Stage { cool_down: Some(Margin::Count(1)), ..stage };
    assert_eq!(window(Window::Cut, cool_down(paced(10.0, 100))).await, (Some(millis(300)), 3));
    assert_eq!(window(Window::All, cool_down(closed(1, 9))).await.1, 3);
    let (length, count) = window(Window::Cut, closed_for(1, millis(5_000), millis(0))).await;
    assert!(count == 4 && length.is_some_and(|it| it < millis(100)), "{length:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stage_goes_on_behind_one_that_time_ended() {
    let stages = vec![closed_for(1, millis(8), millis(0)), closed(1, 2)];
    let (sent, _) = lengths((UsedUp::Repeat, AcrossStages::Continue), stages).await.unwrap();
    let first = sent[0].len() as u32;
    assert_eq!(sent[1], [first % 4 + 1, (first + 1) % 4 + 1], "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_sent_as_messages_with_the_length_of_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.json");
    let turn = |from: &str, value: &str| json!({"from": from, "value": value});
    let turns = [turn("system", "be brief"), turn("human", "how far is the sea"), turn("gpt", "two miles from here")];
    std::fs::write(&path, json!([{"conversations": turns}]).to_string()).unwrap();
    let prompt = PromptColumn { name: String::new(), form: PromptForm::Text };
    let row = RowContent::Conversation { column: "conversations".into(), send: ConversationUse::AllButLast };
    let output = OutputLength::Answer;
    let set = DataSet { row, output, ..DataSet::new(path, DataSetFormat::Json, prompt, 1, 1) };
    let api = crds::benchmark_run::Api::Chat;
    let workload = Workload { api, requests: RequestSource::DataSet(set), ..workload(vec![closed(1, 1)], 1) };
    let simulator = simulator::Simulator::new(server(millis(2), millis(1)));
    let target = Target::in_process(api, move || {
        let (client, server) = tokio::io::duplex(64 << 10);
        let simulator = Arc::clone(&simulator);
        tokio::spawn(async move { simulator.serve_connection(server).await });
        client
    });
    let result = try_issue(&workload, &target, Seed(1), &Stop::default()).await.unwrap();
    assert!(all(&result, RequestOutcome::Ok));
    assert_eq!(records(&result)[0].output_tokens, Some(4));
}

#[tokio::test(start_paused = true)]
async fn prompts_of_blocks_have_the_recorded_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mooncake.jsonl");
    let line = |at: u64, input: u32, hashes: &[u64]| {
        json!({"timestamp": at, "input_length": input, "output_length": 2, "hash_ids": hashes}).to_string() + "\n"
    };
    std::fs::write(&path, line(0, 40, &[1, 2]) + &line(2_000, 44, &[1, 2, 3]) + &line(4_000, 25, &[9, 2])).unwrap();
    let file = |hashes_column: Option<&str>| TraceFile {
        file: path.clone().into(),
        format: TraceFormat::Jsonl,
        time: TraceTime::Milliseconds,
        at_column: "timestamp".into(),
        input_column: "input_length".into(),
        output_column: "output_length".into(),
        hashes_column: hashes_column.map(str::to_owned),
    };
    let replay = |hashes| {
        let trace = Trace::File(file(hashes));
        let load = Load::Trace { trace, speed: 1.0, count: None, lengths: true, max_concurrency: None };
        Workload {
            requests: RequestSource::TraceBlocks { block_size: 20 },
            ..workload(vec![Stage::new("replay", load)], 1)
        }
    };
    let target = simulated(server(millis(2), millis(1)));
    let result = try_issue(&replay(Some("hash_ids")), &target, Seed(1), &Stop::default()).await.unwrap();
    let mut sent: Vec<_> = records(&result).iter().map(|it| (it.number, it.input_tokens, it.output_tokens)).collect();
    sent.sort_unstable();
    assert_eq!(sent, [(0, Some(40), Some(2)), (1, Some(44), Some(2)), (2, Some(25), Some(2))]);
    let error = try_issue(&replay(None), &target, Seed(1), &Stop::default()).await.unwrap_err();
    assert!(error.contains("the stage replay replays no trace with hashes"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_recorded_conversation_is_sent_turn_by_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chats.jsonl");
    let turn = |from: &str, value: &str| json!({"from": from, "value": value});
    let first = [turn("human", "a b"), turn("gpt", "c d e"), turn("human", "f"), turn("gpt", "g h")];
    let second = [turn("system", "s"), turn("human", "i"), turn("gpt", "j")];
    let lines = [json!({"conversations": first}).to_string(), json!({"conversations": second}).to_string()];
    std::fs::write(&path, lines.join("\n")).unwrap();
    let prompt = PromptColumn { name: String::new(), form: PromptForm::Text };
    let row = RowContent::Conversation { column: "conversations".into(), send: ConversationUse::Turns };
    let output = OutputLength::Answer;
    let set = DataSet { row, output, ..DataSet::new(path, DataSetFormat::Jsonl, prompt, 1, 2) };
    let sessions = Sessions { unit: Unit::Session, ..Sessions::default() };
    let workload = Workload { requests: RequestSource::DataSet(set), sessions, ..workload(vec![closed(1, 2)], 1) };
    let target = simulated(server(millis(2), millis(1)));
    let result = try_issue(&workload, &target, Seed(1), &Stop::default()).await.unwrap();
    assert!(all(&result, RequestOutcome::Ok));
    let mut sent: Vec<_> =
        records(&result).iter().map(|it| (it.scheduled, it.input_tokens.unwrap(), it.output_tokens.unwrap())).collect();
    sent.sort_unstable();
    // The prompt of the second turn contains the first turn and its answer: 2 + 3 + 1 words.
    assert_eq!(sent.into_iter().map(|it| (it.1, it.2)).collect::<Vec<_>>(), [(2, 3), (6, 2), (2, 1)]);
}
