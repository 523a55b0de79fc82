//! Tests how courses (ways in which values change over time) with a known state are judged, over some draws each. `make statistics-coverage` prints
//! the whole table.

use statistics::{
    bins,
    steady_state::{State, Verdict, judge, verdict, window_start},
};

use crate::processes::{Course, Process, Random};

const DRAWS: u64 = 200;

/// The share of draws with one of these verdicts, and the mean start of the window.
fn judged(course: Course, count: usize, wanted: &[Verdict]) -> (f64, f64) {
    let (mut right, mut start) = (0, 0.0);
    for draw in 0..DRAWS {
        let values = course.draw(Process::Autoregressive(0.5), count, &mut Random(draw << 20));
        let series = bins::quantiles(&values, bins::number(count).unwrap(), [0.5, 0.9]);
        let figures: Vec<_> = series.iter().map(Vec::as_slice).collect();
        let from = window_start(&figures).unwrap();
        let states: Vec<State> = figures.iter().map(|it| judge(it, from).state).collect();
        right += u64::from(wanted.contains(&verdict(&states)));
        start += from / DRAWS as f64;
    }
    (right as f64 / DRAWS as f64, start)
}

fn check(course: Course, wanted: &[Verdict], share: f64) -> f64 {
    let (right, start) = judged(course, 5_000, wanted);
    assert!(right >= share, "{course:?}: {right} are {wanted:?}, from {start}");
    start
}

#[test]
fn a_level_is_steady_from_its_begin() {
    let start = check(Course::Level, &[Verdict::Steady], 0.85);
    assert!(start < 0.05, "{start}");
}

#[test]
fn a_ramp_drifts() {
    check(Course::Ramp(0.5), &[Verdict::DriftingUp], 0.85);
    let (wrongly, _) = judged(Course::Ramp(0.5), 5_000, &[Verdict::Steady]);
    assert!(wrongly < 0.05, "{wrongly}");
    check(Course::Ramp(-0.4), &[Verdict::DriftingDown], 0.85);
}

#[test]
fn what_follows_a_warm_up_is_steady() {
    let start = check(Course::Decay(2.0, 0.05), &[Verdict::Steady], 0.8);
    assert!((0.05..0.35).contains(&start), "{start}");
}

#[test]
fn a_step_is_a_warm_up_or_no_steady_state() {
    let start = check(Course::Step(0.5, 0.25), &[Verdict::Steady], 0.8);
    assert!((0.2..0.35).contains(&start), "{start}");
    let (wrongly, _) = judged(Course::Step(0.5, 0.75), 5_000, &[Verdict::Steady]);
    assert!(wrongly < 0.1, "{wrongly}");
}

#[test]
fn a_stall_is_an_anomaly() {
    check(Course::Stall(5.0, 0.6, 0.65), &[Verdict::Anomaly], 0.9);
}

#[test]
fn figures_that_do_not_agree_are_judged_by_the_worse() {
    use State::{Anomaly, DriftingDown, DriftingUp, Plateau, Unclear};
    for (states, expected) in [
        (&[Plateau, Plateau][..], Verdict::Steady),
        (&[Plateau, Unclear], Verdict::NotFound),
        (&[Unclear, Anomaly], Verdict::Anomaly),
        (&[Anomaly, DriftingDown], Verdict::DriftingDown),
        (&[DriftingDown, DriftingUp, Plateau], Verdict::DriftingUp),
        (&[], Verdict::NotFound),
    ] {
        assert_eq!(verdict(states), expected, "{states:?}");
    }
}
