use std::io::{self, BufReader, Read as _};

use serde_json::json;

use super::{read, reference};
use crate::{
    Outcome, StepName,
    line::{take_apart, without_colours},
    lines::{Lines, MAX_LINE},
    number::number,
    python,
};

fn assert_parts(line: &str, process: &str, message: &str) {
    let parts = take_apart(line);
    assert_eq!(parts.message(), message, "{line}");
    assert_eq!(parts.process.map(|it| it.text()).unwrap_or_default(), process, "{line}");
}

#[test]
fn a_line_is_taken_apart() {
    assert_parts("(Worker pid=7) INFO 11-21 02:09:33 [a/b.py:68]   text", "Worker pid=7", "  text");
    assert_parts("(VllmWorker rank=1 pid=7) INFO 11-21 02:09:33 [b.py:6] text", "VllmWorker rank=1 pid=7", "text");
    assert_parts(
        "vllm_0  | (EngineCore pid=122) INFO 06-04 00:38:39 [core.py:299] a [b] c",
        "EngineCore pid=122",
        "a [b] c",
    );
    assert_parts("(RayWorker pid=9, ip=10.0.0.1) INFO 06-04 00:38:39 [c.py:2] a", "RayWorker pid=9", "a");
    assert_parts("INFO 02-18 04:51:36 model_runner.py:1110] Starting", "", "Starting");
    assert_parts("(APIServer pid=1) ValueError: no", "APIServer pid=1", "ValueError: no");
    assert_parts("INFO 06-04 00:38:39 [c.py:2] process (pid=9) ended", "", "process (pid=9) ended");
    assert_parts("[2025-03-12 08:52:39 DP0 TP1] text", "DP0 TP1", "text");
    assert_parts("[2025-03-12 08:52:39] text", "", "text");
    assert_parts("INFO 06-04 00:38:39", "", "");
    assert_parts("INFO 06-04 00:38:39[c.py:2]", "", "");
}

#[test]
fn colours_are_no_part_of_a_line() {
    let line = "\u{1b}[0;36m(Worker pid=7)\u{1b}[0;0m \u{1b}[32mINFO\u{1b}[0m 11-21 02:09:33 [b.py:68] text";
    assert_parts(&without_colours(line), "Worker pid=7", "text");
    assert_eq!(without_colours("a\u{1b}[1;2"), "a");
}

#[test]
fn numbers_stand_behind_words() {
    for (text, after, expected) in [
        ("took 12.5 s", "", Some(12.5)),
        ("shape 8 takes 3.20 s", " takes ", Some(3.2)),
        (" 1,048,576 tokens, 4", "", Some(1_048_576.0)),
        (" (1, 2048) took 0.5 s", "", Some(1.0)),
        (" 1.5e-3 s", "", Some(0.0015)),
        (" -0.02GiB", "", None),
        (" none", "", None),
        (" 4", "took", None),
        (" 1e999", "", None),
        (" 1e308", "", None),
        (" 1e9", "", Some(1e9)),
    ] {
        assert_eq!(number(text, after), expected, "{text}");
    }
}

#[test]
fn literals_of_python_become_values() {
    let text = r#"{'a': 1, 'b': [True, None, -2.5, 'it\'s'], 'c': Cfg(x='(', y=Inner(1)), 'd': (1,), 'e': torch.float16, "f": {'g': <E.A: 'a'>}, 'h': {1, 2}}"#;
    let expected = json!({"a": 1, "b": [true, null, -2.5, "it's"], "c": {"Cfg": "x='(', y=Inner(1)"}, "d": [1], "e": "torch.float16",
                          "f": {"g": "<E.A: 'a'>"}, "h": [1, 2]});
    assert_eq!(python::map(text).map(serde_json::Value::from), Some(expected));
    let deep = "[".repeat(100_000);
    for broken in ["", "{", "{'a'", "{'a': }", "{'a': 1} x", "[1]", "{'a': 'b}", "{'a': C(}", &format!("{{'a': {deep}")]
    {
        assert_eq!(python::map(broken), None, "{broken:.20}");
    }
    assert_eq!(python::call("S(a=1, b='x')").map(serde_json::Value::from), Some(json!({"a": 1, "b": "x"})));
    assert_eq!(python::call("S(a=1, b").map(serde_json::Value::from), None);
}

#[test]
fn a_line_of_any_length_costs_a_bounded_amount_of_memory() {
    let long = io::repeat(b'x').take(1 << 26);
    let log = "INFO 11-21 02:00:00 [a.py:1] non-default args: {}\n".as_bytes().chain(long);
    let log = log.chain("\nINFO 11-21 02:00:09 [a.py:1] Available routes are:\n".as_bytes());
    let mut lines = Lines::new(BufReader::new(log));
    let mut lengths = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        lengths.push((line.number, line.text.len(), line.is_cut));
    }
    assert_eq!(lengths, [(1, 49, false), (2, MAX_LINE, true), (3, 50, false)]);
}

#[test]
fn what_follows_a_long_line_is_read() {
    let log = format!(
        "INFO 11-21 02:00:00 [a.py:1] non-default args: {{}}\n{}\nINFO 11-21 02:00:09 [a.py:1] Available routes are:",
        "x".repeat(MAX_LINE + 1)
    );
    let found = read(&log);
    assert_eq!((found.ready_seconds, found.log.cut_lines, found.log.lines), (Some(9.0), 1, 3));
    let cut = read(&format!("INFO 11-21 02:00:00 [a.py:1] non-default args: {{'a': '{}'}}", "x".repeat(MAX_LINE)));
    assert_eq!(cut.args, None);
    assert_eq!(cut.log.notices, ["the arguments of the engine, in line 1, could not be read"]);
}

#[test]
fn a_log_without_a_start_has_no_values() {
    let found = read("hello\nworld\n");
    assert_eq!(found.outcome, Outcome::Unfinished);
    assert_eq!(found.failure.unwrap().last_line, "world");
    assert!(found.figures.is_empty() && found.steps.is_empty() && found.started.is_none());
    let empty = crate::read_bytes(b"", &reference());
    assert_eq!((empty.failure, empty.log.lines), (None, 0));
}

#[test]
fn a_bound_without_a_time_has_that_of_the_next_line_of_its_process() {
    let log = "(W pid=1) Starting to load model a\n(X pid=2) INFO 11-21 02:00:01 [a.py:1] b\n(W pid=1) INFO 11-21 02:00:05 [a.py:1] b\n\
               (W pid=1) INFO 11-21 02:00:09 [a.py:1] Model loading took 1.5 GiB and 3.5 seconds";
    assert_eq!(read(log).step(StepName::ModelLoading).unwrap().seconds, 4.0);
}

#[test]
fn a_step_that_another_process_ends_names_both() {
    let log = "(E pid=1) INFO 11-21 02:00:01 [a.py:1] Waiting for init message\n(W pid=2) INFO 11-21 02:00:05 [a.py:1] Starting to load model a";
    let step = read(log).steps.remove(0);
    assert_eq!(
        (step.process.unwrap().text(), step.ended_by.unwrap().text(), step.seconds),
        ("E pid=1".into(), "W pid=2".into(), 4.0)
    );
}

#[test]
fn a_step_whose_end_comes_before_its_start_is_absent() {
    let log = "INFO 11-21 02:00:01 [a.py:1] Model loading took 1 GiB and 2 seconds\nINFO 11-21 02:00:05 [a.py:1] Starting to load model a";
    assert_eq!(read(log).steps, []);
}

#[test]
fn more_processes_than_a_server_has_are_left_out() {
    let lines = (0..1000).map(|it| format!("(W pid={it}) INFO 11-21 02:00:01 [a.py:1] Starting to load model a\n"));
    let found = read(&lines.collect::<String>());
    assert_eq!(found.log.notices, ["the steps of more than 256 processes are left out"]);
}
