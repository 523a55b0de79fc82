use std::time::Duration;

use measurement::{output::Output, record::RequestOutcome};

use super::*;

/// Two questions on anatomy, one on astronomy and one on alchemy. The correct letters are A, B, C and D.
const DATA: &str = "subject,question,A,B,C,D,answer\nanatomy,q,1,2,3,4,A\nanatomy,q,1,2,3,4,B\n\
    astronomy,q,1,2,3,4,C\nalchemy,q,1,2,3,4,D\n";

fn questions(settings: &Value) -> (Questions, QuestionSet) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), DATA).unwrap();
    let mut source = json!({"data": file.path(), "split": "test", "shots": 0, "format": "original",
        "scoring": {"logprobs": 20}, "maxTokens": 1, "domains": "original", "details": true});
    for (name, value) in settings.as_object().into_iter().flatten() {
        source[name] = value.clone();
    }
    let workload: Workload = serde_json::from_value(json!({
        "api": "OpenAICompletions", "streaming": true, "stages": [], "requests": {"questions": source},
    }))
    .unwrap();
    let set = questions::read(&workload).unwrap().set.unwrap();
    match workload.requests {
        RequestSource::Questions(questions) => (*questions, set),
        other => panic!("{other:?}"),
    }
}

/// The answer to a question. Its text is also its likeliest token.
fn kept(stage: u32, number: u64, text: &str) -> KeptOutput {
    let first_logprobs = vec![(text.to_owned(), -0.1), (" E".to_owned(), -0.2)];
    let output = Output { text: text.to_owned(), first_logprobs, ..Output::default() };
    KeptOutput { stage, number, row: None, ended: Duration::from_secs(1), output }
}

fn record(number: u64, outcome: RequestOutcome) -> RequestRecord {
    RequestRecord {
        stage: 0,
        number,
        class: None,
        turn: None,
        scheduled: Duration::ZERO,
        sent: Some(Duration::from_millis(100)),
        permit_wait: None,
        first_token: None,
        last_token: None,
        ended: Duration::from_millis(350),
        outcome,
        requested_input_tokens: None,
        requested_output_tokens: None,
        input_tokens: Some(70),
        cached_tokens: None,
        output_tokens: Some(1),
        content_events: 1,
        replica: None,
    }
}

fn scores(settings: &Value, outputs: &[KeptOutput], outcomes: &[RequestOutcome]) -> Scores {
    let (questions, set) = questions(settings);
    let records: Vec<RequestRecord> =
        outcomes.iter().zip(0..).map(|(outcome, number)| record(number, *outcome)).collect();
    Scores::new(&questions, &set, outputs, &records)
}

fn file<'a>(files: &'a [AccuracyFile], name: &str) -> Option<&'a str> {
    files.iter().find(|it| it.name == name).map(|it| std::str::from_utf8(&it.content).unwrap())
}

const OK: RequestOutcome = RequestOutcome::Ok;

#[test]
fn a_failed_request_is_unanswered_and_one_that_was_not_sent_counts_nowhere() {
    let outcomes = [OK, OK, RequestOutcome::HttpError(503), RequestOutcome::Cancelled];
    let scores = scores(&json!({}), &[kept(0, 0, " A"), kept(0, 1, "C")], &outcomes);
    assert_eq!(scores.figures.overall, Counts { correct: 1, total: 3 });
    assert_eq!((scores.figures.unanswered, scores.failed_requests(), scores.not_asked), (1, 1, 1));
    assert_eq!(scores.failed, BTreeMap::from([("http_503".to_owned(), 1)]));
    let overall = scores.overall();
    assert_eq!((&overall["total"], &overall["questions_not_asked"]), (&json!(3), &json!(1)));
    assert_eq!(overall["failed_requests"], json!({"http_503": 1}));
    let accuracy = scores.accuracy();
    assert_eq!((accuracy.scored, accuracy.without_answer, accuracy.verdict), (2, 1, AccuracyVerdict::NotJudged));
    let names: Vec<&str> = accuracy.figures.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["overall_accuracy", "macro_subject_accuracy", "Other", "STEM"]);
    assert_eq!((accuracy.figures[0].value, accuracy.figures[0].text.as_str()), (1.0 / 3.0, "0.3333"));
    let files = scores.files().unwrap();
    let samples = file(&files, "samples.csv").unwrap();
    let lines: Vec<&str> = samples.lines().collect();
    assert_eq!(lines[0], "index,subject,domain,answer,pred,correct,latency_ms,prompt_tokens,output_tokens,output");
    assert_eq!(lines[1], "0,anatomy,Other,A,A,1,250,70,1, A");
    assert_eq!(lines[3], "2,astronomy,STEM,C,,0,,70,1,");
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_question_counts_once_with_its_first_answer() {
    let outputs = [kept(1, 0, "B"), kept(0, 0, "A"), kept(1, 1, "B")];
    let scores = scores(&json!({}), &outputs, &[OK, OK, OK, OK]);
    assert_eq!(scores.figures.by_subject["anatomy"], Counts { correct: 2, total: 2 });
}

#[test]
fn without_records_a_question_without_an_answer_failed() {
    let scores = scores(&json!({}), &[kept(0, 0, "A")], &[]);
    assert_eq!((scores.figures.overall.total, scores.failed_requests(), scores.not_asked), (4, 3, 0));
    assert_eq!((scores.answers[0].latency_ms, scores.answers[0].prompt_tokens), (None, None));
}

#[test]
fn a_server_without_log_probabilities_gives_no_figure() {
    let mut outputs: Vec<KeptOutput> = (0..4).map(|number| kept(0, number, "A")).collect();
    outputs.iter_mut().for_each(|it| it.output.first_logprobs.clear());
    let limited = json!({"minAccuracy": 0.1});
    let scores = scores(&limited, &outputs, &[OK; 4]);
    let accuracy = scores.accuracy();
    assert_eq!((accuracy.verdict, accuracy.figures.as_slice()), (AccuracyVerdict::Undecided, &[][..]));
    assert_eq!(accuracy.not_computed[0].reason, NO_LOGPROBS);
    assert_eq!(accuracy.reasons, [NO_LOGPROBS]);
    assert_eq!(
        (&scores.overall()["overall_accuracy"], &scores.overall()["remarks"][0]),
        (&Value::Null, &json!(NO_LOGPROBS))
    );
    let names: Vec<String> = scores.files().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["overall.json", "samples.csv"]);
    // The texts of the same answers contain letters, so they can be scored by text.
    let by_text = self::scores(&json!({"scoring": "text"}), &outputs, &[OK; 4]);
    assert_eq!((by_text.figures.overall.correct, by_text.lacks_logprobs), (1, false));
}

#[test]
fn a_limit_is_met_missed_or_not_decided() {
    let all: Vec<KeptOutput> = (0..4).zip(["A", "B", "C", "A"]).map(|(number, text)| kept(0, number, text)).collect();
    let verdict = |least: f64, outcomes: &[RequestOutcome], outputs: &[KeptOutput]| {
        let accuracy = scores(&json!({"minAccuracy": least}), outputs, outcomes).accuracy();
        (accuracy.verdict, accuracy.limits[0].met, accuracy.limits[0].value)
    };
    assert_eq!(verdict(0.75, &[OK; 4], &all), (AccuracyVerdict::Passed, Some(true), Some(0.75)));
    assert_eq!(verdict(0.76, &[OK; 4], &all), (AccuracyVerdict::Failed, Some(false), Some(0.75)));
    let stopped = [OK, OK, OK, RequestOutcome::Cancelled];
    assert_eq!(verdict(0.75, &stopped, &all[..3]), (AccuracyVerdict::Undecided, None, Some(1.0)));
    assert_eq!(verdict(0.75, &[RequestOutcome::Cancelled; 4], &[]), (AccuracyVerdict::Undecided, None, None));
}

#[test]
fn the_picture_has_a_bar_a_subject_the_best_first() {
    let outputs: Vec<KeptOutput> =
        (0..4).zip(["A", "C", "C", "A"]).map(|(number, text)| kept(0, number, text)).collect();
    let scores = scores(&json!({}), &outputs, &[OK; 4]);
    let ranking = scores.ranking();
    let bars: Vec<(&str, f64)> = ranking.bars.iter().map(|it| (it.name.as_str(), it.value)).collect();
    assert_eq!(bars, [("astronomy", 1.0), ("anatomy", 0.5), ("alchemy", 0.0)]);
    assert_eq!(ranking.groups, ["Humanities", "Other 33.3 %", "STEM 100.0 %", "Social Sciences"]);
    assert_eq!(ranking.bars[0].note, "100.0 %, 1 of 1");
    let files = scores.files().unwrap();
    assert!(file(&files, "plots/score_by_subject.svg").is_some_and(|it| it.contains("all questions 50.0 %")));
    let remark = "subjects without a known domain count in the domain Other: alchemy";
    assert!(scores.accuracy().method.contains(&remark.to_owned()));
}

#[test]
fn details_are_left_out_where_they_are_off() {
    let outputs = [kept(0, 0, "A")];
    let names = |details: bool| -> Vec<String> {
        let scores = scores(&json!({"details": details}), &outputs, &[OK]);
        scores.files().unwrap().into_iter().map(|it| it.name).collect()
    };
    let without = ["overall.json", "by_domain.json", "by_subject.json", "plots/score_by_subject.svg"];
    assert_eq!(names(false), without);
    let with = ["by_domain_detail.json", "by_subject_detail.json", "samples.csv"];
    assert!(with.iter().all(|it| names(true).iter().any(|name| name == it)));
}
