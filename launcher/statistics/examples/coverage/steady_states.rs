//! Measures how the rule for steady states judges courses (ways in which values change over time) with a known state.

use statistics::{
    bins,
    steady_state::{State, Verdict, judge, verdict, window_start},
};

use crate::processes::{Course, Process, Random};

const COURSES: [Course; 14] = [
    Course::Level,
    Course::Ramp(0.05),
    Course::Ramp(0.2),
    Course::Ramp(0.5),
    Course::Ramp(-0.4),
    Course::Step(0.5, 0.25),
    Course::Step(0.5, 0.5),
    Course::Step(0.5, 0.75),
    Course::Decay(2.0, 0.05),
    Course::Decay(2.0, 0.2),
    Course::Period(0.3, 1.0),
    Course::Period(0.3, 10.0),
    Course::Stall(5.0, 0.6, 0.65),
    Course::Stall(5.0, 0.6, 0.61),
];

/// Number of draws of each course.
const DRAWS: u64 = 300;

/// Prints one row per course and number of values: the number of draws with each verdict, and the mean start of the window.
pub fn print() {
    println!("| noise | course | values | steady | drifting up | drifting down | anomaly | not found | window from |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for course in COURSES {
        for count in [1_000, 4_000, 10_000] {
            row(Process::Autoregressive(0.5), course, count);
        }
    }
    for course in COURSES {
        row(Process::Queue(0.5), course, 10_000);
    }
}

fn row(process: Process, course: Course, count: usize) {
    let mut verdicts = Vec::new();
    let mut start = 0.0;
    for draw in 0..DRAWS {
        let values = course.draw(process, count, &mut Random(draw << 20));
        let series = bins::quantiles(&values, bins::number(count).unwrap_or(0), [0.5, 0.9]);
        let figures: Vec<_> = series.iter().map(Vec::as_slice).collect();
        let from = window_start(&figures).unwrap_or(0.0);
        let states: Vec<State> = figures.iter().map(|it| judge(it, from).state).collect();
        verdicts.push(verdict(&states));
        start += from;
    }
    let share = |wanted: Verdict| {
        let count = verdicts.iter().filter(|it| **it == wanted).count();
        format!("{:.1}", 100.0 * count as f64 / DRAWS as f64)
    };
    let all = [Verdict::Steady, Verdict::DriftingUp, Verdict::DriftingDown, Verdict::Anomaly, Verdict::NotFound];
    let cells: Vec<String> = all.into_iter().map(share).collect();
    let start = 100.0 * start / DRAWS as f64;
    println!("| {} | {} | {count} | {} | {start:.0} % |", process.name(), course.name(), cells.join(" | "));
}
