//! Warm-up, cool-down, window and grace.

use super::{check_error, stage, workload};
use crate::workload::Margin;

#[test]
fn margins_of_the_run_are_those_of_its_first_and_last_stage() {
    let stages = "stages: [{load: {burst: {count: 9}}}, {load: {burst: {count: 9}}}, {load: {burst: {count: 9}}}]";
    let stages = workload(&format!("warmUp: {{count: 2}}\ncoolDown: {{count: 3}}\n{stages}")).stages;
    let margins: Vec<_> = stages.iter().map(|it| (it.warm_up, it.cool_down)).collect();
    let (two, three) = (Some(Margin::Count(2)), Some(Margin::Count(3)));
    assert_eq!(margins, [(two, None), (None, None), (None, three)]);
    assert_eq!(stages.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["burst9", "burst9-2", "burst9-3"]);
    assert_eq!(stage("load: {burst: {count: 9}}, warmUp: all").warm_up, Some(Margin::All));
    check_error(
        "warmUp: {count: 2}\nstages: [{load: {burst: {count: 9}}, warmUp: {count: 1}}]",
        "stages[0].warmUp: is set, and so is warmUp of the run; keep one of them",
    );
}

#[test]
fn a_window_needs_to_know_when_its_stage_ends() {
    let closed = |window: &str, keys: &str, more: &str| {
        format!("window: {window}\nstages: [{{load: {{closed: {{concurrency: 1, {keys}}}}}{more}}}]")
    };
    let ends = "a closed loop without a duration ends with its last request, at a time that is not known in advance";
    check_error(
        &closed("cut", "count: 5", ""),
        &format!("stages[0].load: has no end for the window, because {ends}; set a duration, or write window: all"),
    );
    check_error(
        &closed("all", "count: 5", ", coolDown: {duration: 1s}, grace: 3s"),
        &format!(
            "stages[0].coolDown: is a length of time, but {ends}; write a count, or set a duration\n\
             stages[0].grace: needs the end of the stage, but {ends}; set a duration, or take it out"
        ),
    );
    check_error(
        &closed("all", "duration: 5s", ", coolDown: {count: 1}"),
        "stages[0].coolDown: is a count, but it is not known in advance how many requests a closed loop sends in its duration; write a duration",
    );
    check_error(
        &closed("trimmed", "duration: 5s, count: 9", ", warmUp: {count: 1}"),
        "stages[0].load: is a closed loop, where a number of requests gives no time at which a window begins or ends; write warmUp and coolDown as durations",
    );
    check_error(
        "window: cut\nstages: [{load: {burst: {count: 5}}}]",
        "stages[0].load: is a burst, whose requests are all due at its start, so it has no window; write window: all",
    );
    // A stage that consists of warm-up has no window.
    workload(&closed("cut", "count: 5", ", warmUp: all"));
    workload(&closed("cut", "duration: 5s", ", warmUp: {duration: 1s}, grace: 2s"));
}

#[test]
fn margins_that_leave_nothing_are_refused() {
    let check = |load: &str, margins: &str, expected: &str| {
        check_error(&format!("stages: [{{load: {{{load}}}, {margins}}}]"), &format!("stages[0].{expected}"));
    };
    let ten = "open: {rate: 5, duration: 10s}";
    let nothing = "which leaves nothing of a stage of 10s; shorten it";
    check(ten, "warmUp: {duration: 10s}", &format!("warmUp: is 10s, {nothing}"));
    check(ten, "coolDown: {duration: 11s}", &format!("coolDown: is 11s, {nothing}"));
    let both = "warmUp: {duration: 4s}, coolDown: {duration: 6s}";
    check(ten, both, &format!("warmUp: is 10s together with the coolDown, {nothing}"));
    check(
        "closed: {concurrency: 2, duration: 10s}",
        both,
        &format!("warmUp: is 10s together with the coolDown, {nothing}"),
    );
    stage(&format!("load: {{{ten}}}, warmUp: {{duration: 9s}}"));
    let nothing = "which leaves nothing of a stage of 5 requests; lower it";
    let inline = "trace: {trace: {inline: [{at: 0s}, {at: 1s}, {at: 2s}, {at: 3s}, {at: 4s}]}}";
    for load in ["open: {rate: 5, count: 5}", "burst: {count: 5}", "closed: {concurrency: 2, count: 5}", inline] {
        check(load, "warmUp: {count: 5}", &format!("warmUp: is 5, {nothing}"));
        check(load, "coolDown: {count: 6}", &format!("coolDown: is 6, {nothing}"));
        let both = "warmUp: {count: 2}, coolDown: {count: 3}";
        check(load, both, &format!("warmUp: is 5 together with the coolDown, {nothing}"));
        stage(&format!("load: {{{load}}}, warmUp: {{count: 2}}, coolDown: {{count: 2}}"));
    }
    let moment = "but all requests of a burst are due at its start, so none would be left to measure; write a count";
    check("burst: {count: 5}", "warmUp: {duration: 1s}", &format!("warmUp: is 1s, {moment}"));
    check("burst: {count: 5}", "coolDown: {duration: 1s}", &format!("coolDown: is 1s, {moment}"));
    stage("load: {burst: {count: 5}}, coolDown: {duration: 0s}");
}
