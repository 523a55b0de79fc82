//! Measures how often a difference is found between two draws of one process, and between draws of a process and of the same process with higher
//! values.

use statistics::{
    batch_means,
    difference::{ERROR_95, Estimated, Method, difference},
    enough, order_statistics,
};

use crate::processes::{Process, QUANTILES, Random};

const DRAWS: u64 = 1_000;
/// The error probability for all figures of a pair together, as in `benchwright compare`.
const TOGETHER: f64 = 0.01;
/// Number of figure families that share this error.
const FAMILIES: f64 = 4.0;

/// Mean, p50, p90 and p99. A figure is `None` if it has no interval.
type Figures = [Option<Estimated>; 4];

/// Prints one row per process and number of values. The row shows how often each figure differs by its own 95 % interval, how often any figure
/// differs by the joint intervals, and how often the joint intervals find a higher mean.
pub fn print() {
    println!(
        "| process | values | mean | p50 | p90 | p99 | one of the four, as one family of four | mean +10 % | mean +30 % |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for process in [
        Process::Exponential,
        Process::Autoregressive(0.5),
        Process::Autoregressive(0.9),
        Process::Queue(0.5),
        Process::Queue(0.8),
        Process::Queue(0.9),
    ] {
        for count in [300, 1_000, 3_000, 10_000] {
            row(process, count);
        }
    }
}

fn row(process: Process, count: usize) {
    let mut alone = [Tally::default(); 4];
    let mut together = Tally::default();
    let mut higher = [Tally::default(); 2];
    for draw in 0..DRAWS {
        let [one, two] = [0, 1].map(|it| process.draw(count, &mut Random((2 * draw + it) << 20)));
        let (base, other) = (figures(&one), figures(&two));
        let pairs: Vec<(Estimated, Estimated)> = (0..4).filter_map(|it| base[it].zip(other[it])).collect();
        for (place, tally) in alone.iter_mut().enumerate() {
            if let Some((base, other)) = base[place].zip(other[place]) {
                tally.add(differs(&base, &other, ERROR_95));
            }
        }
        let error = TOGETHER / FAMILIES;
        if !pairs.is_empty() {
            together.add(pairs.iter().any(|(base, other)| differs(base, other, error)));
        }
        for (tally, factor) in higher.iter_mut().zip([1.1, 1.3]) {
            let raised: Vec<f64> = two.iter().map(|it| it * factor).collect();
            if let Some((base, other)) = base[0].zip(figures(&raised)[0]) {
                tally.add(differs(&base, &other, error));
            }
        }
    }
    let cells: Vec<String> = alone.iter().chain([&together]).chain(&higher).map(Tally::text).collect();
    println!("| {} | {count} | {} |", process.name(), cells.join(" | "));
}

fn differs(base: &Estimated, other: &Estimated, error: f64) -> bool {
    !difference(base, other, error).contains(0.0)
}

fn figures(values: &[f64]) -> Figures {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(mean) = batch_means::mean_with_interval(values) else { return [None; 4] };
    let worth = mean.effective_values;
    let estimated =
        |it: statistics::Estimate, method: Method| Some(Estimated { value: it.value?, interval: it.interval?, method });
    let quantile = |place: usize| {
        let found = order_statistics::quantile(values, &sorted, QUANTILES[place].0, worth)?;
        let method = if worth < enough::FOR_AN_INTERVAL {
            Method::QuantileOfFew { effective_values: worth }
        } else {
            Method::Quantile
        };
        estimated(found, method)
    };
    [estimated(mean, Method::Mean { effective_values: worth }), quantile(0), quantile(1), quantile(2)]
}

/// Number of pairs that have intervals, and number of these pairs that differ.
#[derive(Clone, Copy, Default)]
struct Tally {
    found: u64,
    pairs: u64,
}

impl Tally {
    fn add(&mut self, found: bool) {
        self.pairs += 1;
        self.found += u64::from(found);
    }

    /// The percentage of differing pairs, among pairs with intervals. In brackets, the percentage of pairs that have intervals.
    fn text(&self) -> String {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all as f64;
        match self.pairs {
            0 => "-".into(),
            DRAWS => format!("{:.1}", share(self.found, DRAWS)),
            pairs => format!("{:.1} ({:.1})", share(self.found, pairs), share(pairs, DRAWS)),
        }
    }
}
