//! [I/O] Measures paced streams: runs the engine and the bare client in turn with the same load. Compares the times of both with those that the
//! server recorded.

use super::{
    percentiles::{PERCENTILES, of_times_ms},
    setup::{Bench, StreamLoad, millis},
};
use crate::{
    error::BenchError,
    figures::{Bound, Budget, Figures, count},
    trials::{self, cpu_per_token},
};
use capacity::{loads, matching::seconds, server::Pace, trial::Trial};
use measurement::{histogram::TimeHistogram, recorder::Keep};

/// The number of streams in the load to which most budgets apply.
const MANY: u32 = 1_000;
/// The number of streams in the load that leaves the client enough time for each token.
const FEW: u32 = 50;

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    for load in &bench.scale.streams {
        let pace = Pace { ttft: bench.scale.ttft, itl: load.itl };
        let tokens = bench.scale.tokens;
        let requests = u64::from(load.streams) * u64::from(load.rounds);
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..if load.compared { bench.repeats } else { 1 } {
            let workload = loads::closed(load.streams, requests, tokens);
            let length = pace.answer(tokens) * load.rounds;
            ours.push(trials::engine(pace, workload, Keep::RecordsAndGaps, 1, bench.cores, length)?);
            bare.push(trials::bare(pace, load.streams, load.rounds, tokens, bench.cores)?);
        }
        let streams = PacedStreams { load, pace, asked: requests * u64::from(tokens) };
        let faulty = ours.iter().chain(&bare).filter(|it| !counts(it, &streams.name(), figures)).count();
        if faulty > 0 {
            continue;
        }
        streams.cost(&ours, &bare, figures);
        streams.errors(&ours, &bare, figures);
        streams.memory(&ours, &bare, figures);
    }
    Ok(())
}

pub(super) fn wave(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let wave = bench.scale.wave;
    let pace = Pace { ttft: bench.scale.ttft, itl: millis(5) };
    let tokens = bench.scale.tokens.min(32);
    let workload = loads::closed(wave, wave.into(), tokens);
    let trial = trials::engine(pace, workload, Keep::RecordsAndGaps, 1, bench.cores, pace.answer(tokens))?;
    let title = format!("{} requests at once", count(wave.into()));
    if !counts(&trial, &title, figures) {
        return Ok(());
    }
    let matched = &trial.matched;
    let name = |what: &str| format!("wave{wave}.{what}");
    let spread = seconds(matched.sent) * 1e3;
    figures.add(&name("sendSpreadMs"), &format!("{title}: first to last send"), "ms", spread, Budget::NONE);
    for (figure, pick) in PERCENTILES {
        let error = of_times_ms(&matched.ttft_error, pick);
        figures.add(
            &name(&format!("ttftError.{figure}")),
            &format!("{title}: TTFT error {figure}"),
            "ms",
            error,
            Budget::NONE,
        );
    }
    Ok(())
}

/// Whether a trial produced valid figures. Adds a note if it did not, or if there is a restriction that readers must know.
pub(super) fn counts(trial: &Trial, of: &str, figures: &mut Figures) -> bool {
    if let Some(fault) = trials::fault(trial) {
        figures.note(format!("{of}: not measured, {fault}"));
        return false;
    }
    if trial.truth.stalled > 0 {
        figures.note(format!(
            "{of}: the client left {} sends of the server waiting; their truth is when the server had them ready",
            trial.truth.stalled
        ));
    }
    true
}

/// The load with paced streams whose figures are added.
struct PacedStreams<'a> {
    load: &'a StreamLoad,
    pace: Pace,
    /// Number of tokens that one trial requests.
    asked: u64,
}

impl PacedStreams<'_> {
    fn name(&self) -> String {
        format!("{} streams at {} ms", count(self.load.streams.into()), self.load.itl.as_millis())
    }

    fn add(&self, figures: &mut Figures, name: &str, title: &str, unit: &'static str, value: f64, budget: Budget) {
        let name = format!("streams{}.{name}", self.load.streams);
        figures.add(&name, &format!("{}: {title}", self.name()), unit, value, budget);
    }

    fn cost(&self, ours: &[Trial], bare: &[Trial], figures: &mut Figures) {
        let many = self.load.streams == MANY;
        let (our_cpu, bare_cpu) = (mean(ours, cpu_per_token), mean(bare, cpu_per_token));
        let budget = match self.load.streams {
            FEW => Budget::at_most(2.0, 1.4),
            MANY => Budget::at_most(1.35, 1.15),
            _ => Budget::NONE,
        };
        if self.load.compared {
            self.add(figures, "cpuRatio", "CPU per token, against the bare client", "", our_cpu / bare_cpu, budget);
        }
        self.add(figures, "cpuUs", "CPU per token", "us", our_cpu, Budget::NONE);
        self.add(figures, "bareCpuUs", "CPU per token of the bare client", "us", bare_cpu, Budget::NONE);
        // The time in seconds that the tokens would take if there were no pauses between requests.
        let ideal = self.pace.answer(self.tokens()).as_secs_f64() * f64::from(self.load.rounds);
        let took =
            |it: &Trial| it.matched.sent.map_or(f64::NAN, |(first, _)| (it.matched.last_seen - first) as f64 / 1e9);
        let held = |it: &Trial| it.matched.tokens as f64 / self.asked as f64 * ideal / took(it);
        let budget = Budget { floor: Some(Bound::AtLeast(0.99)), aim: None };
        let budget = if many { budget } else { Budget::NONE };
        self.add(figures, "asked", "tokens/s asked", "tokens/s", self.asked as f64 / ideal, Budget::NONE);
        self.add(figures, "held", "share of them held", "%", mean(ours, held) * 100.0, percent(budget));
        self.add(figures, "bareHeld", "share held by the bare client", "%", mean(bare, held) * 100.0, Budget::NONE);
        let cores = |it: &Trial| it.client.cpu_ns as f64 / it.client.wall_ns.max(1) as f64;
        let budget = Budget { floor: None, aim: Some(Bound::AtMost(0.75)) };
        self.add(figures, "cores", "cores used", "cores", mean(ours, cores), if many { budget } else { Budget::NONE });
        let server = |it: &Trial| it.truth.cpu_ns as f64 / it.client.wall_ns.max(1) as f64;
        self.add(figures, "serverCores", "cores used by the server", "cores", mean(ours, server), Budget::NONE);
        let late = |it: &Trial| it.truth.lateness_p99_ns as f64 / 1e6;
        self.add(figures, "serverLate", "server behind its pace, p99", "ms", mean(ours, late), Budget::NONE);
    }

    fn memory(&self, ours: &[Trial], bare: &[Trial], figures: &mut Figures) {
        let peak = |it: &Trial| it.client.peak_rss_bytes as f64 / f64::from(1 << 20);
        let title = "memory, records and gaps included";
        self.add(figures, "memory", title, "MiB", mean(ours, peak), Budget::NONE);
        self.add(figures, "bareMemory", "memory of the bare client", "MiB", mean(bare, peak), Budget::NONE);
    }

    fn tokens(&self) -> u32 {
        let requests = u64::from(self.load.streams) * u64::from(self.load.rounds);
        u32::try_from(self.asked / requests.max(1)).unwrap_or(u32::MAX)
    }

    fn errors(&self, ours: &[Trial], bare: &[Trial], figures: &mut Figures) {
        let many = self.load.streams == MANY;
        let only_many = |floor, aim| if many { Budget::at_most(floor, aim) } else { Budget::NONE };
        let budgets = [((0.3, 0.2), (0.1, 0.05)), ((10.0, 2.0), (5.0, 1.0))];
        for ((figure, pick), (ttft, itl)) in PERCENTILES.into_iter().zip(budgets) {
            let of =
                |trials: &[Trial], times: fn(&Trial) -> &TimeHistogram| mean(trials, |it| of_times_ms(times(it), pick));
            let (ttft_budget, itl_budget) = (only_many(ttft.0, ttft.1), only_many(itl.0, itl.1));
            for (name, title, times, budget) in [
                ("ttftError", "TTFT error", (|it| &it.matched.ttft_error) as fn(&Trial) -> &TimeHistogram, ttft_budget),
                ("latencyError", "latency error", |it| &it.matched.latency_error, Budget::NONE),
                ("itlError", "ITL error", |it| &it.matched.itl_error, itl_budget),
            ] {
                self.add(
                    figures,
                    &format!("{name}.{figure}"),
                    &format!("{title} {figure}"),
                    "ms",
                    of(ours, times),
                    budget,
                );
                let title = format!("{title} {figure} of the bare client");
                self.add(figures, &format!("{name}.bare.{figure}"), &title, "ms", of(bare, times), Budget::NONE);
            }
        }
    }
}

/// Converts a budget for a fraction to percent.
fn percent(budget: Budget) -> Budget {
    let percent = |bound| match bound {
        Bound::AtMost(it) => Bound::AtMost(it * 100.0),
        Bound::AtLeast(it) => Bound::AtLeast(it * 100.0),
    };
    Budget { floor: budget.floor.map(percent), aim: budget.aim.map(percent) }
}

fn mean(trials: &[Trial], of: impl Fn(&Trial) -> f64) -> f64 {
    trials.iter().map(of).sum::<f64>() / trials.len() as f64
}
