//! [I/O] Measures open-loop load on a server that answers immediately: how late requests are sent, and whether the rate is reached.

use std::time::Duration;

use crds::units::RequestRate;
use workload_profiles::{Workload, workload::Arrivals};

use super::{
    percentiles::{PERCENTILES, of_times_ms},
    setup::Bench,
    streams::counts,
};
use crate::{
    error::BenchError,
    figures::{Budget, Figures, count},
    trials,
};
use capacity::{loads, server::Pace, trial::Trial};
use measurement::recorder::Keep;

/// The arrival processes, with their names in figures. Trials with only one process use the first of them.
const ARRIVALS: [(&str, Arrivals); 2] = [("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)];
/// Number of tokens in each answer. It is small, so that the measured cost is that of requests.
const TOKENS: u32 = 4;
/// The typical relative difference in p99 between two measurements of the same load.
const NOISE: f64 = 0.1;
/// Number of concurrent conversations.
const SESSIONS: u32 = 1_000;
/// The rate at which the achieved percentage has a budget.
const BUDGETED: f64 = 5_000.0;

pub(super) fn run(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    for rate in &bench.scale.rates {
        for (process, arrivals) in ARRIVALS {
            let requests = (rate * bench.scale.rate_length.as_secs_f64()) as u64;
            let trial = issue(bench, arrivals, *rate, requests)?;
            let title = format!("{} rps {process}", count(*rate as u64));
            if !counts(&trial, &title, figures) {
                continue;
            }
            let name = |what: &str| format!("rate{rate}.{process}.{what}");
            let budgets = [Budget::at_most(0.2, 0.05), Budget::at_most(2.0, 0.5)];
            for ((figure, pick), budget) in PERCENTILES.into_iter().zip(budgets) {
                let lag = of_times_ms(&trial.matched.lag, pick);
                figures.add(
                    &name(&format!("lag.{figure}")),
                    &format!("{title}: sent - scheduled {figure}"),
                    "ms",
                    lag,
                    budget,
                );
                let lag = of_times_ms(&trial.matched.arrival_lag, pick);
                let title_of_figure = format!("{title}: arrived - scheduled {figure}");
                figures.add(&name(&format!("arrivalLag.{figure}")), &title_of_figure, "ms", lag, Budget::NONE);
            }
            let budget = if *rate == BUDGETED { Budget::at_least(99.0, 99.9) } else { Budget::NONE };
            figures.add(&name("achieved"), &format!("{title}: rate kept"), "%", kept(&trial), budget);
        }
    }
    fast(bench, figures)?;
    planned(bench, figures)?;
    conversations(bench, figures)
}

/// Compares the lag of turns of sessions with the lag of single requests. The lag of turns must not be much larger.
fn conversations(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let (rate, ..) = bench.scale.planned;
    let requests = (rate * bench.scale.rate_length.as_secs_f64()) as u64;
    // Each session has at least two turns, so that some turns follow others.
    let sessions = u32::try_from(requests / 2).unwrap_or(SESSIONS).min(SESSIONS);
    let alone = issue(bench, ARRIVALS[0].1, rate, requests)?;
    let of_sessions = send(bench, loads::conversations(requests_per_second(rate)?, requests, TOKENS, sessions), rate)?;
    let title = format!("{} rps, {} sessions", count(rate as u64), count(sessions.into()));
    if !counts(&alone, &title, figures) || !counts(&of_sessions, &title, figures) {
        return Ok(());
    }
    let lags = [&alone, &of_sessions].map(|it| of_times_ms(&it.matched.lag, |it| it.p99));
    figures.add("conversations.lag.p99", &format!("{title}: sent - scheduled p99"), "ms", lags[1], Budget::NONE);
    let title = format!("{title}: lag p99, of that without sessions");
    figures.add("conversations.lagRatio", &title, "", lags[1] / lags[0], Budget::at_most(2.0, 1.0 + NOISE));
    Ok(())
}

fn fast(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let rate = bench.scale.fast_rate;
    let trial = issue(bench, ARRIVALS[0].1, rate, (rate * bench.scale.rate_length.as_secs_f64()) as u64)?;
    let title = format!("{} rps", count(rate as u64));
    if !counts(&trial, &title, figures) {
        return Ok(());
    }
    let budget = Budget { aim: Budget::at_least(99.0, 99.9).aim, floor: None };
    figures.add(&format!("rate{rate}.achieved"), &format!("{title}: rate kept"), "%", kept(&trial), budget);
    let lag = of_times_ms(&trial.matched.lag, |it| it.p99);
    figures.add(&format!("rate{rate}.lag.p99"), &format!("{title}: sent - scheduled p99"), "ms", lag, Budget::NONE);
    Ok(())
}

/// Compares the lag with few and with many planned requests. The lag must not grow with their number.
fn planned(bench: &Bench, figures: &mut Figures) -> Result<(), BenchError> {
    let (rate, few, many) = bench.scale.planned;
    let mut lags = Vec::new();
    for requests in [few, many] {
        let trial = issue(bench, ARRIVALS[0].1, rate, requests)?;
        let title = format!("{} rps, {} planned", count(rate as u64), count(requests));
        if !counts(&trial, &title, figures) {
            continue;
        }
        let lag = of_times_ms(&trial.matched.lag, |it| it.p99);
        let title_of_figure = format!("{title}: sent - scheduled p99");
        figures.add(&format!("planned{requests}.lag.p99"), &title_of_figure, "ms", lag, Budget::NONE);
        lags.push(lag);
    }
    let [few_lag, many_lag] = lags[..] else { return Ok(()) };
    let title = format!("lag p99 with {} planned, of that with {}", count(many), count(few));
    figures.add("planned.lagRatio", &title, "", many_lag / few_lag, Budget::at_most(1.5, 1.0 + NOISE));
    Ok(())
}

fn issue(bench: &Bench, arrivals: Arrivals, rate: f64, requests: u64) -> Result<Trial, BenchError> {
    send(bench, loads::open(arrivals, requests_per_second(rate)?, requests, TOKENS), rate)
}

fn requests_per_second(rate: f64) -> Result<RequestRate, BenchError> {
    RequestRate::try_from(rate).map_err(|error| BenchError::Program(error.to_string()))
}

/// Sends an open-loop load with one stage.
fn send(bench: &Bench, workload: Workload, rate: f64) -> Result<Trial, BenchError> {
    let requests = workload.stages.iter().filter_map(|it| it.load.count()).sum::<u64>();
    let length = Duration::from_secs_f64(requests as f64 / rate);
    trials::engine(Pace::default(), workload, Keep::Records, 1, bench.cores, length)
}

/// The achieved rate in percent of the requested rate.
fn kept(trial: &Trial) -> f64 {
    trial.achieved().map_or(f64::NAN, |it| it * 100.0)
}
