use serde_json::json;

use super::*;

fn file(format: TraceFormat, time: TraceTime, columns: [&str; 3]) -> TraceFile {
    let [at, input, output] = columns.map(str::to_owned);
    TraceFile {
        file: "t".into(),
        format,
        time,
        at_column: at,
        input_column: input,
        output_column: output,
        hashes_column: None,
    }
}

fn azure() -> TraceFile {
    file(TraceFormat::Csv, TraceTime::DateTime, ["TIMESTAMP", "ContextTokens", "GeneratedTokens"])
}

fn mooncake() -> TraceFile {
    file(TraceFormat::Jsonl, TraceTime::Milliseconds, ["timestamp", "input_length", "output_length"])
}

type Entry = (u64, Option<u32>, Option<u32>);

/// Compares the entries, each as milliseconds and lengths, or compares the error message.
fn check(file: &TraceFile, text: &str, expected: Result<&[Entry], &str>) {
    let found = read_lines(file, 1.0, text.as_bytes())
        .map(|it| it.entries.iter().map(|it| (it.at.0.as_millis() as u64, it.input, it.output)).collect::<Vec<_>>())
        .map_err(|error| error.to_string());
    assert_eq!(found, expected.map(<[Entry]>::to_vec).map_err(str::to_owned), "{text}");
}

#[test]
fn a_trace_of_azure_counts_from_its_first_row() {
    check(
        &azure(),
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
        Ok(&[(0, Some(374), Some(44)), (4_314, Some(396), Some(109))]),
    );
}

#[test]
fn a_trace_of_mooncake_is_a_json_object_a_line() {
    check(
        &mooncake(),
        "{\"timestamp\": 27000, \"input_length\": 6955, \"output_length\": 0, \"hash_ids\": [46, 47]}\n\n\
         {\"timestamp\": 27000, \"input_length\": 6472}\n{\"timestamp\": 30500.5}\n",
        Ok(&[(0, Some(6_955), Some(1)), (0, Some(6_472), None), (3_500, None, None)]),
    );
}

#[test]
fn other_columns_are_overlooked_and_lengths_may_be_missing() {
    let file = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    check(&file, "model, t ,in\n\"a,b\",5,7\nc,6.25,\n", Ok(&[(0, Some(7), None), (1_250, None, None)]));
}

#[test]
fn the_bound_of_a_week_is_that_of_the_replay() {
    // The times are milliseconds but are read as seconds, as in a scenario of GuideLLM.
    let text = "t\n0\n3600000\n";
    let seconds = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    assert_eq!(read_lines(&seconds, 1_000.0, text.as_bytes()).unwrap().entries.len(), 2);
    let slow = read_lines(&seconds, 0.5, "t\n0\n400000\n".as_bytes()).unwrap_err().to_string();
    assert_eq!(
        slow,
        "the trace t, line 3: is sent more than 604800 seconds after the first line; cut the trace off before this line"
    );
}

#[test]
fn a_line_that_is_no_request_is_named_and_not_repeated() {
    let check = |file: &TraceFile, text: &str, expected: &str| check(file, text, Err(expected));
    let seconds = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    check(&seconds, "t,in\n1,2\nsecret,3\n", "the trace t, line 3: t is not a number that is not negative");
    check(&seconds, "t,in\n-1,2\n", "the trace t, line 2: t is not a number that is not negative");
    check(&seconds, "t\n5\n4\n", "the trace t, line 3: t is earlier than in a line above; sort the lines by time");
    check(&seconds, "t,in\n5,secret\n", "the trace t, line 2: in is no whole number of tokens from 0 to 2000000");
    check(&seconds, "secret\n5\n", "the trace t, line 1: names no column t; set atColumn to the column with the times");
    check(
        &seconds,
        "t\n0\n700000\n",
        "the trace t, line 3: is sent more than 604800 seconds after the first line; cut the trace off before this line",
    );
    check(&seconds, "t\n", "the trace t holds no request; write one per line");
    check(&mooncake(), "{\"timestamp\": 0}\nsecret\n", "the trace t, line 2: is no JSON object; write one per line");
    check(
        &mooncake(),
        "{\"input_length\": 5}\n",
        "the trace t, line 1: has no key timestamp; set atColumn to the column with the times",
    );
    check(
        &azure(),
        "TIMESTAMP\nyesterday\n",
        "the trace t, line 2: TIMESTAMP is not a date and a time of day such as 2023-11-16 18:17:03.97; set time to seconds, milliseconds or microseconds where it is a number",
    );
}

#[test]
fn times_of_another_unit_are_refused_with_theirs() {
    let seconds = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    let millis = TraceFile { time: TraceTime::Milliseconds, ..seconds.clone() };
    let refused = |file: &TraceFile, first: &str, unit: &str, taken: &str| {
        let remedy = format!("set time: {unit}, or make the times begin at 0");
        let what = format!("t is a time of day in {unit} since 1970, and time is {taken}; {remedy}");
        check(file, &format!("t\n{first}\n"), Err(&format!("the trace t, line 2: {what}")));
    };
    refused(&millis, "1735689600.5", "seconds", "milliseconds");
    refused(&seconds, "1735689600500", "milliseconds", "seconds");
    refused(&millis, "1735689600500000", "microseconds", "milliseconds");
    check(&seconds, "t\n1735689600.5\n1735689601\n", Ok(&[(0, None, None), (500, None, None)]));
    let date = "the trace t, line 2: t is a date and a time of day, and time is seconds; set time: dateTime";
    check(&seconds, "t\n2023-11-16T18:17:03Z\n", Err(date));
}

#[test]
fn what_is_replayed_otherwise_than_recorded_is_told() {
    let millis = file(TraceFormat::Csv, TraceTime::Milliseconds, ["t", "in", "out"]);
    let told = |text: &str| {
        let notices = read_lines(&millis, 1.0, text.as_bytes()).unwrap().notices;
        notices.into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    assert_eq!(told("t,in,out\n0,5,6\n1000,7,8\n"), [""; 0]);
    assert_eq!(
        told("t,in,out\n0,0,6\n500,,0\n1000,7,0\n"),
        [
            "t has 1 rows of 3 with in 0, which is sent as 1",
            "t has 1 rows of 3 without in: there the prompt has the length that `requests` sets",
            "t has 2 rows of 3 with out 0, which is sent as 1",
        ]
    );
    let fast = told("t,in,out\n0.00,1,1\n0.02,1,1\n0.10,1,1\n");
    assert!(fast[0].contains("30000 per second, if its times are in milliseconds; set time if"), "{fast:?}");
}

#[test]
fn a_row_without_an_end_is_not_read_to_the_end_of_the_file() {
    let file = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    for text in [format!("t\n{}", "1".repeat(99_999)), format!("t\n\"{}", "1\n".repeat(99_999)), "t".repeat(99_999)] {
        let error = read_lines(&file, 1.0, text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("has more than 65536 bytes; leave out columns"), "{error}");
    }
    let many = format!("t,in,out\n{}", "1,2,3\n".repeat(50_000));
    assert_eq!(read_lines(&file, 1.0, many.as_bytes()).unwrap().entries.len(), 50_000);
    let object = format!("{{\"timestamp\": 1, \"x\": \"{}\"}}\n", "a".repeat(99_999));
    let error = read_lines(&mooncake(), 1.0, object.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 1: has more than 65536 bytes"), "{error}");
}

#[test]
fn the_hashes_of_blocks_are_read_where_the_profile_names_them() {
    let check = |file: &TraceFile, text: &str, expected: Result<[&[u64]; 2], &str>| {
        let found = read_lines(file, 1.0, text.as_bytes()).map_err(|error| error.to_string());
        match expected {
            Ok(expected) => {
                let blocks = found.unwrap().blocks;
                assert_eq!([blocks.hashes(0), blocks.hashes(1)], expected);
            }
            Err(expected) => assert_eq!(found.unwrap_err(), expected),
        }
    };
    let jsonl = TraceFile { hashes_column: Some("hash_ids".into()), ..mooncake() };
    let lines =
        "{\"timestamp\": 1, \"input_length\": 700, \"hash_ids\": [46, 47]}\n{\"timestamp\": 2, \"hash_ids\": [46]}\n";
    check(&jsonl, lines, Ok([&[46, 47], &[46]]));
    check(&mooncake(), lines, Ok([&[], &[]]));
    let missing = "the trace t, line 1: has no hash_ids; set hashesColumn to the column with the hashes of the blocks";
    check(&jsonl, "{\"timestamp\": 1}\n", Err(missing));
    let wrong = "the trace t, line 1: hash_ids is no list of whole numbers or of texts";
    check(&jsonl, "{\"timestamp\": 1, \"hash_ids\": [0.5]}\n", Err(wrong));
    let columns = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    let csv = TraceFile { hashes_column: Some("h".into()), ..columns };
    check(&csv, "t,in,h\n1,5,\"[3, 4]\"\n2,5,[]\n", Ok([&[3, 4], &[]]));
    let long = format!("{{\"timestamp\": 1, \"hash_ids\": [{}1]}}\n", "100000, ".repeat(20_000));
    assert_eq!(read_lines(&jsonl, 1.0, long.as_bytes()).unwrap().blocks.hashes(0).len(), 20_001);
}

#[test]
fn a_file_above_the_bound_is_refused_and_not_cut() {
    let file = file(TraceFormat::Csv, TraceTime::Seconds, ["t", "in", "out"]);
    let text = "t\n1\n2\n";
    let read =
        |most| read_within(&file, 1.0, text.as_bytes(), most).map(|it| it.entries.len()).map_err(|it| it.to_string());
    assert_eq!(read(6), Ok(2));
    let error = "the trace t has more than 5 bytes; cut it, or leave out columns that are not replayed";
    assert_eq!(read(5), Err(error.to_owned()));
}

#[test]
fn what_was_recorded_counts_towards_the_requests_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "timestamp\n0\n1\n").unwrap();
    let run = |count: Option<u64>| {
        let file = json!({"path": path, "format": "csv", "time": "seconds", "atColumn": "timestamp",
            "inputColumn": "in", "outputColumn": "out"});
        let trace = json!({"trace": {"file": file}, "speed": 1.0, "count": count, "lengths": true});
        let stage = |load| json!({"name": "s", "load": load, "pauseAfter": "0s"});
        let stages = [stage(json!({"burst": {"count": MAX_REQUESTS - 1}})), stage(json!({"trace": trace}))];
        let workload = json!({"api": "OpenAIChat", "streaming": true, "requests": "mock", "stages": stages});
        let workload = serde_json::from_value(workload).unwrap();
        read(&workload).map(|it| it.entries[1].len()).map_err(|it| it.to_string())
    };
    assert_eq!(run(Some(1)), Ok(2));
    let error = "stages: have 10000001 requests in all, with those of their traces; at most 10000000 are sent in a run, so set a count";
    assert_eq!(run(None), Err(error.to_owned()));
}

#[test]
fn a_file_that_is_not_there_says_what_to_do() {
    let error = Traces::default().add_file(&TraceFile { file: "/nowhere/t.csv".into(), ..azure() }, 1.0).unwrap_err();
    assert!(error.to_string().ends_with("in a cluster, name the file in spec.profile.files"), "{error}");
}
