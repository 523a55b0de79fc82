//! Remarks on rates: whether the launcher reached the requested rate, and whether the server kept up with it.

use super::*;

#[test]
fn a_rate_that_was_not_reached_is_told() {
    // Requests are due 10 times per second, but sent twice per second.
    let all = [request(0, 0, 0, 1), request(0, 100, 400, 1), request(0, 200, 800, 1)];
    let analysis = check(&case(vec![open("r10", 10.0)]), all);
    assert!(analysis.judgement.remarks[0].contains("sent at 2.0000 per second; 10 were requested"), "{analysis:?}");
}

#[test]
fn a_queue_that_grows_is_told_of_open_load_alone() {
    // A load of 8 requests per second, of which the server answers `served` per second.
    let remarks = |stage: Stage, served: f64| {
        let requests = (0..480).map(|number| {
            let (record, wire) = request(0, number * 125, 0, 1);
            let ended = Some(ms(number * 125 + 100)).max(Some(Duration::from_secs_f64(number as f64 / served)));
            let ended = ended.unwrap_or_default();
            (RequestRecord { first_token: Some(ended), last_token: Some(ended), ended, ..record }, wire)
        });
        check(&case(vec![stage]), requests).judgement.remarks.join("\n")
    };
    assert_eq!(remarks(open("r8", 8.0), 8.0), "");
    let told = remarks(open("r8", 8.0), 5.4);
    assert!(told.starts_with("stage r8: the server did not keep up: ") && told.contains("lower rate"), "{told}");
    assert_eq!(remarks(closed("c8", 8), 5.4), "");
}

/// Measured with a real vLLM at three times its capacity for five seconds: when the last request was sent, 256 of 1,500 had ended.
#[test]
fn a_stage_that_is_too_short_for_its_latency_does_not_say_that_the_server_kept_up() {
    let analysis = |ended_after: u64| {
        let requests = (0..1_500_u64).map(|number| {
            let sent = number * 10 / 3;
            let (record, wire) = request(0, sent, 0, 1);
            let ended = ms(sent + ended_after + 2 * sent);
            (RequestRecord { first_token: Some(ended), last_token: Some(ended), ended, ..record }, wire)
        });
        check(&case(vec![open("r300", 300.0)]), requests)
    };
    let short = analysis(2_600);
    assert_eq!(short.stages[0].is_overloaded(), None);
    let told = short.judgement.remarks.join("\n");
    assert!(told.contains("too short to tell whether the server kept up: 12"), "{told}");
    assert!(told.contains(" of 1500 requests were in flight"), "{told}");
    let long = analysis(100);
    assert_eq!(long.stages[0].is_overloaded(), Some(true));
    let told = long.judgement.remarks.join("\n");
    assert!(told.contains("the server did not keep up"), "{told}");
}

#[test]
fn a_draw_with_a_short_first_gap_is_no_doubt_about_the_rate() {
    // A load of 2 requests per second, sent on time. The first request is due after 30 ms, and the last always at the end of 1.5 s.
    let all = [request(0, 30, 1, 1), request(0, 800, 1, 1), request(0, 1_500, 1, 1)];
    let analysis = check(&case(vec![open("r2", 2.0)]), all);
    assert!(analysis.stages[0].achieved_rate.unwrap() < 2.0 * 0.95);
    assert_eq!(analysis.judgement.remarks, [""; 0]);
}

#[test]
fn the_rate_that_earlier_stages_gave_is_the_one_that_was_asked() {
    let measured = |name| {
        let bound = RateBound::Throughput(0);
        let rate = MeasuredRate { from: bound, to: bound, position: 0.0, spacing: Spacing::Linear };
        let mut stage = open(name, 1.0);
        if let Load::Open { rate: known, .. } = &mut stage.load {
            *known = Rate::Varying(RateShape::Measured(rate));
        }
        stage
    };
    let not_measured = NotMeasured::NoSuccess { stage: "sync".into() };
    let results = [None, Some(Ok(2.5.try_into().unwrap())), Some(Err(not_measured))];
    let results = results.into_iter().map(|measured_rate| StageResult { measured_rate, ended_by: None }).collect();
    let stages = vec![open("sync", 2.0), measured("sweep-1"), measured("sweep-2")];
    let mut case = Case { results, ..case(stages) };
    let requests = || [request(0, 0, 0, 2), request(1, 400, 0, 2), request(1, 800, 0, 2)];
    let analysis = check(&case, requests());
    let rates: Vec<_> = analysis.stages.iter().map(|it| (it.asked_rate, it.achieved_rate)).collect();
    assert_eq!(rates, [(Some(2.0), None), (Some(2.5), Some(2.5)), (None, None)]);
    assert_eq!((reasons(&analysis), analysis.verdict.outcome), (vec!["StageNotRun"], Outcome::Invalid));
    let message = "stage sweep-2 was not run: its rate comes from the throughput of stage sync, of which no request succeeded; \
                   see why they failed";
    assert_eq!(analysis.verdict.headline().message, message);
    // If the run was stopped, the stop is the only reason for the missing requests.
    case.stopped = Some(StopReason::Signal);
    assert_eq!(reasons(&check(&case, requests())), ["RunSucceeded"]);
}
