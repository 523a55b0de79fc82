//! [I/O] Measures memory: per open stream, and whether it grows with the number of requests.

use rustix::process::{Resource, getrlimit};

use super::{
    setup::{Bench, millis},
    streams::counts,
};
use crate::{
    error::BenchError,
    figures::{Budget, Figures, count},
    trials,
};
use capacity::{loads, server::Pace};
use measurement::recorder::Keep;

/// Number of streams in the base load, whose memory is subtracted. With so few streams, a process needs hardly any memory for them.
const FEW: u32 = 10;
/// Number of tokens in each answer.
const TOKENS: u32 = 4;
/// Number of concurrent requests in the loads that differ in their total number of requests.
const AT_ONCE: u32 = 50;
/// Number of files that a process has open in addition to its connections.
const OTHER_FILES: u64 = 64;
/// The number of streams whose memory has a budget.
const BUDGETED: u32 = 10_000;
/// The typical difference between two measurements of the same load, in MiB.
const NOISE: f64 = 0.5;

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let base = peak_with(bench, FEW, figures)?;
    for streams in &bench.scale.open {
        let most = getrlimit(Resource::Nofile).maximum;
        if most.is_some_and(|it| it < u64::from(*streams) + OTHER_FILES) {
            figures.note(format!(
                "memory of {} open streams: not measured, {} files may be open (ulimit -Hn)",
                count((*streams).into()),
                most.unwrap_or_default()
            ));
            continue;
        }
        // Without the base load there is nothing to subtract. A note already explains this.
        let (Some(base), Some(peak)) = (base, peak_with(bench, *streams, figures)?) else { continue };
        let each = (peak - base) / 1024.0 / f64::from(streams - FEW);
        let budget = if *streams == BUDGETED { Budget::at_most(32.0, 12.0) } else { Budget::NONE };
        let title = format!("memory of each of {} open streams", count((*streams).into()));
        figures.add(&format!("memory.stream{streams}"), &title, "KiB", each, budget);
    }
    growth(bench, figures)
}

/// The largest resident set with this many open streams, in bytes. `None` if the trial is not valid, for example because a stream was not open.
fn peak_with(bench: &Bench, streams: u32, figures: &mut Figures) -> Result<Option<f64>, BenchError> {
    let pace = Pace { ttft: bench.scale.open_ttft, itl: millis(50) };
    let workload = loads::closed(streams, streams.into(), TOKENS);
    let trial = trials::engine(pace, workload, Keep::Summary, 1, bench.cores, pace.answer(TOKENS))?;
    let title = format!("memory of {} open streams", count(streams.into()));
    let most = trial.truth.most_streams;
    if !counts(&trial, &title, figures) {
        return Ok(None);
    }
    if most < streams {
        figures.note(format!("{title}: not measured, {} were open at once, at most", count(most.into())));
        return Ok(None);
    }
    Ok(Some(trial.client.peak_rss_bytes as f64))
}

fn growth(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let (few, many) = bench.scale.growth;
    let mut peaks = Vec::new();
    for requests in [few, many] {
        let workload = loads::closed(AT_ONCE, requests, TOKENS);
        // The expected duration. At a thousand requests per second, the load is light.
        let length = millis(requests);
        let trial = trials::engine(Pace::default(), workload, Keep::Summary, 1, bench.cores, length)?;
        if !counts(&trial, &format!("memory of {} requests", count(requests)), figures) {
            continue;
        }
        peaks.push(trial.client.peak_rss_bytes as f64 / f64::from(1 << 20));
    }
    let [few_peak, many_peak] = peaks[..] else { return Ok(()) };
    let title = format!("memory from {} to {} requests", count(few), count(many));
    figures.add("memory.growth", &title, "MiB", many_peak - few_peak, Budget::at_most(10.0, NOISE));
    Ok(())
}
