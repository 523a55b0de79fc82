//! Measures how often intervals contain the true value, and how steady states are judged, for synthetic processes with known figures. Prints the
//! tables of `docs/statistics.md`. With the argument `differences`, prints only the table of differences.

mod block_bootstrap;
mod differences;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/statistics/processes.rs"]
mod processes;
mod steady_states;

use processes::{Process, QUANTILES, Random};
use statistics::{Interval, batch_means, order_statistics, student::NORMAL_95};

/// Number of draws of each process.
const DRAWS: u64 = 1_000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("differences") {
        return differences::print();
    }
    println!("| process | values | mean | p50 | p90 | p99 | mean, as if independent |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let processes = [
        Process::Exponential,
        Process::Autoregressive(0.5),
        Process::Autoregressive(0.9),
        Process::Queue(0.5),
        Process::Queue(0.8),
        Process::Queue(0.9),
    ];
    for process in processes {
        for count in [100, 300, 1_000, 3_000, 10_000] {
            row(process, count, &coverage(process, count));
        }
    }
    println!("\n| process, by block bootstrap | values | p50 | p90 | p99 |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for process in processes {
        for count in [300, 1_000] {
            row(process, count, &coverage_of_bootstrap(process, count));
        }
    }
    println!();
    differences::print();
    println!();
    steady_states::print();
}

fn row(process: Process, count: usize, counts: &[Count]) {
    let cells: Vec<String> = counts.iter().map(Count::text).collect();
    println!("| {} | {count} | {} |", process.name(), cells.join(" | "));
}

/// Number of intervals, and number of intervals that contain the true value.
#[derive(Clone, Copy, Default)]
struct Count {
    held: u64,
    given: u64,
}

impl Count {
    fn add(&mut self, interval: Option<Interval>, truth: f64) {
        self.given += u64::from(interval.is_some());
        self.held += u64::from(interval.is_some_and(|it| it.contains(truth)));
    }

    /// The percentage of intervals that contain the true value. In brackets, the percentage of draws that have an interval.
    fn text(&self) -> String {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all as f64;
        match self.given {
            0 => "-".into(),
            DRAWS => format!("{:.1}", share(self.held, DRAWS)),
            given => format!("{:.1} ({:.1})", share(self.held, given), share(given, DRAWS)),
        }
    }
}

fn coverage(process: Process, count: usize) -> [Count; 5] {
    let mut counts = [Count::default(); 5];
    each_draw(process, count, |values, sorted, _| {
        let Some(mean) = batch_means::mean_with_interval(values) else { return };
        counts[0].add(mean.interval, process.mean());
        for (place, (p, normal)) in QUANTILES.into_iter().enumerate() {
            let estimate = order_statistics::quantile(values, sorted, p, mean.effective_values);
            counts[1 + place].add(estimate.and_then(|it| it.interval), process.quantile(p, normal));
        }
        counts[4].add(independent(values), process.mean());
    });
    counts
}

fn coverage_of_bootstrap(process: Process, count: usize) -> [Count; 3] {
    let mut counts = [Count::default(); 3];
    each_draw(process, count, |values, sorted, random| {
        for (place, (p, normal)) in QUANTILES.into_iter().enumerate() {
            let interval = block_bootstrap::quantile(values, sorted, p, random);
            counts[place].add(Some(interval), process.quantile(p, normal));
        }
    });
    counts
}

fn each_draw(process: Process, count: usize, mut look: impl FnMut(&[f64], &[f64], &mut Random)) {
    for draw in 0..DRAWS {
        let mut random = Random(draw << 20);
        let values = process.draw(count, &mut random);
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        look(&values, &sorted, &mut random);
    }
}

/// The interval of a mean on the assumption that all values are independent.
fn independent(values: &[f64]) -> Option<Interval> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = NORMAL_95 * (variance / count).sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}
