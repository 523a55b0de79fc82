//! Figures as words: what the Markdown report and the terminal's table have in common.

use std::time::Duration;

use crds::{
    FigureValue,
    figure::rate_text,
    resolve::{Hardware, ResolvedRun, ValidityBounds},
    units::Span,
    wording::percent,
};

use analysis::{
    Analysis, CostFigures, Distribution, Figures, LatencyOrigin, ObjectiveResult, Objectives, SelfJudgement,
    objectives::BaselineLimit,
};
use measurement::window::WindowPart;

/// Behind a percentile that is the largest of too few values.
const LARGEST: &str = "*";
/// What the mark means, for the foot of a page.
pub(super) const LARGEST_MEANS: &str = "the largest value: p90 needs 10 values or more, p95 20, p99 100, p99.9 1000";
/// Below this share of requests that met the goals a run that passed says what that does not mean.
const FEW_GOOD: f64 = 0.5;

/// What stands where nothing was measured.
pub(super) const NOTHING: &str = "-";

/// A time to four digits, such as `81.23ms`.
pub(super) fn time(time: Duration) -> String {
    Span(time).rounded().to_string()
}

/// A count or rate to four digits.
pub(super) fn number(number: f64) -> String {
    rate_text(number)
}

pub(super) fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NOTHING.into(), show)
}

/// A percentile, given in permille, of `count` values: with a mark where they are so few that it is the largest.
pub(super) fn percentile(text: String, permille: u64, count: u64) -> String {
    let is_largest = (u128::from(count) * u128::from(permille)).div_ceil(1_000) >= u128::from(count);
    if is_largest { text + LARGEST } else { text }
}

/// Whether a text has a percentile with a mark.
pub(super) fn has_marks(text: &str) -> bool {
    text.contains(LARGEST)
}

/// How a person finds the profile: a text within the BenchmarkRun by the name of that.
pub fn profile(run: &ResolvedRun) -> String {
    if run.profile_source == "inline" { format!("{} (inline)", run.run.name) } else { run.profile_source.clone() }
}

/// What the verdict does not tell: how many requests met the goals. `None` where the load has none.
pub(super) struct Goals {
    /// Of stages, the least and the most.
    pub text: String,
    /// They are so few that a run that passed needs a word.
    pub are_few: bool,
}

pub(super) fn goals(analysis: &Analysis) -> Option<Goals> {
    let shares = analysis.stages.iter().filter_map(|it| it.figures.goodput?.share);
    let (least, most) = shares.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    if least > 1.0 {
        return None;
    }
    let text = match percent(least) == percent(most) {
        true => format!("{} of the requests met the goals", percent(least)),
        false => format!("{} to {} of the requests of a stage met the goals", percent(least), percent(most)),
    };
    Some(Goals { text, are_few: least < FEW_GOOD })
}

/// The figure of an objective in words, such as `p99 of ttft in every stage`.
pub(super) fn objective_figure(result: &ObjectiveResult) -> String {
    result.objective.figure_in_place()
}

/// The limit of an objective in the spec with its side, such as `max 500ms`. It is the same in every run of the spec.
pub(super) fn objective_limit(result: &ObjectiveResult) -> String {
    result.objective.bound.described()
}

/// The value of the baseline, and the limit that follows from it, such as `max 422ms`.
pub(super) fn objective_baseline(result: &ObjectiveResult) -> [String; 2] {
    let side = result.objective.bound.name();
    let of = |show: fn(BaselineLimit) -> FigureValue| optional(result.baseline, |it| show(it).to_string());
    [of(|it| it.value), optional(result.baseline, |it| format!("{side} {}", it.limit))]
}

/// Which earlier run objectives are compared with, and how; `None` where none is.
pub(super) fn baseline(objectives: &Objectives) -> Option<String> {
    let baseline = objectives.baseline.as_ref()?;
    let name = baseline.report.as_ref().map_or_else(|| "an earlier run".to_owned(), |it| it.display().to_string());
    let percent = baseline.max_regression_percent;
    Some(format!("{name}; a figure may be up to {percent} % worse than there"))
}

/// What was measured for an objective, as it stands beside its limit.
pub(super) fn objective_observed(result: &ObjectiveResult) -> String {
    optional(result.observed.as_ref(), |it| it.value.beside(result.limit()))
}

/// One row of latencies.
pub(super) struct Row<T> {
    pub name: String,
    pub figures: Distribution<T>,
}

/// The latencies that a table shows, those that were measured: the headline clock first.
pub(super) fn latencies(analysis: &Analysis) -> Vec<Row<Duration>> {
    let all = &analysis.all;
    let probes = analysis.probes.as_ref();
    let clock = &analysis.labels.clock;
    let open = clock.contains(LatencyOrigin::Scheduled.name());
    let several = all.has_several_tokens_an_event() == Some(true);
    [
        (format!("TTFT from {clock}"), all.ttft),
        ("TTFT from sent".into(), all.ttft_sent.filter(|_| open)),
        (format!("latency from {clock}"), all.latency),
        ("latency from sent".into(), all.latency_sent.filter(|_| open)),
        ("ITL".into(), all.itl),
        ("gap between events".into(), all.event_gap.filter(|_| several)),
        ("TPOT".into(), all.tpot),
        ("NTPOT".into(), all.ntpot),
        ("send lag".into(), all.send_lag),
        ("wait for a permit".into(), all.permit_wait),
        ("TTFT of probes".into(), probes.and_then(|it| it.ttft)),
        ("latency of probes".into(), probes.and_then(|it| it.latency)),
    ]
    .into_iter()
    .filter_map(|(name, figures): (String, _)| Some(Row { name, figures: figures? }))
    .collect()
}

/// The lengths that a table shows.
pub(super) fn lengths(analysis: &Analysis) -> Vec<Row<f64>> {
    [("ISL, tokens", analysis.all.isl), ("OSL, tokens", analysis.all.osl)]
        .into_iter()
        .filter_map(|(name, figures)| Some(Row { name: name.into(), figures: figures? }))
        .collect()
}

/// Requests that are in no figure, where there are such.
pub(super) fn excluded(analysis: &Analysis) -> Vec<(&'static str, u64)> {
    let named = analysis.all.excluded.iter().map(|(part, outcomes)| {
        let name = match part {
            WindowPart::Counted => "counted",
            WindowPart::WarmUp => "in the warm-up, in no figure",
            WindowPart::CoolDown => "in the cool-down or after the window, in no figure",
            WindowPart::Late => "ended after the window, in no figure",
        };
        (name, outcomes.values().sum())
    });
    named.collect()
}

/// Rates and what they are called.
pub(super) fn rates(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let Some(rates) = analysis.all.throughput else { return Vec::new() };
    let mut rows = vec![("requests/s", number(rates.requests))];
    if let [only] = &analysis.stages[..] {
        rows.extend(only.asked_rate.map(|it| ("  asked", number(it))));
        rows.extend(only.achieved_rate.map(|it| ("  sent", number(it))));
    }
    let whole = analysis.all.whole_throughput.filter(|it| *it != rates);
    rows.extend(whole.map(|it| ("  with fill and drain", number(it.requests))));
    rows.push(("output tokens/s", number(rates.output_tokens)));
    rows.extend(whole.map(|it| ("  with fill and drain", number(it.output_tokens))));
    rows.extend(rates.input_tokens.map(|it| ("input tokens/s", number(it))));
    rows.extend(rates.total_tokens.map(|it| ("total tokens/s", number(it))));
    rows.extend(analysis.all.tokens_per_event.map(|it| ("tokens per event", number(it))));
    rows.extend(analysis.all.cached.map(|it| ("prompt tokens from the prefix cache", percent(it.share))));
    if let Some(goodput) = analysis.all.goodput {
        rows.extend(goodput.per_second.map(|it| ("goodput, requests/s", number(it))));
        let all_ended = analysis.all.abandoned + analysis.all.incomplete == 0;
        let name = if all_ended { "good share" } else { "good share, less abandoned and incomplete" };
        rows.extend(goodput.share.map(|it| (name, percent(it))));
    }
    rows
}

/// Rates per accelerator and money per token, and what they are called.
pub(super) fn cost(figures: &Figures, hardware: &Hardware) -> Vec<(String, Option<f64>)> {
    let cost = CostFigures::new(figures, hardware);
    let per_accelerator = format!("output tokens/s per accelerator (of {})", hardware.accelerators);
    let mut rows = vec![(per_accelerator, cost.output_tokens_per_second_per_accelerator)];
    if let Some(price) = &hardware.price {
        rows.push((format!("{} per million output tokens", price.currency), cost.cost_per_million_output_tokens));
        rows.push((format!("{} per million tokens", price.currency), cost.cost_per_million_total_tokens));
    }
    rows
}

/// One thing that the launcher says of its own measurement.
pub(super) struct Trust {
    pub name: &'static str,
    /// `None` where it was not measured.
    pub found: Option<String>,
    /// `None` where there is no bound on it.
    pub bound: Option<fn(&ValidityBounds) -> String>,
}

/// What the launcher says of its own measurement.
pub(super) fn trust(judgement: &SelfJudgement) -> Vec<Trust> {
    let bounded = |name, found, bound: fn(&ValidityBounds) -> String| Trust { name, found, bound: Some(bound) };
    let told = |name, found| Trust { name, found, bound: None };
    let it = judgement;
    let delay = it.receive_delay.map(|it| time(it.p99));
    let busiest = it.busiest.as_ref().map(|it| percent(it.share));
    let stalled = it.stalls.and_then(|it| it.share).map(percent);
    vec![
        bounded("send lag, p99", it.send_lag_p99.map(time), |it| it.max_send_lag_p99.to_string()),
        bounded("receive delay, p99", delay, |it| it.max_receive_delay_p99.to_string()),
        told("reads of several events", it.coalesced_share.map(percent)),
        bounded("late reads of several events", it.late_share.map(percent), |it| percent(it.max_coalesced_read_share)),
        bounded("busiest load thread", busiest, |it| percent(it.max_cpu_share)),
        told("load threads, CPU share", it.cpu_share.map(percent)),
        told("load threads, cores", it.cores.map(number)),
        told("process, CPU time", it.process_cpu.map(time)),
        bounded("periods at the CPU limit", it.throttled_share().map(percent), |it| percent(it.max_throttled_share)),
        bounded("CPU time stolen", it.steal_share.map(percent), |it| percent(it.max_steal_share)),
        bounded("time in stalls", stalled, |it| percent(it.max_stalled_share)),
        told("longest stall", it.stalls.map(|it| time(it.longest))),
        bounded("clock step", it.largest_step().map(time), |it| it.max_clock_step.to_string()),
        bounded("dropped values", Some(it.dropped.to_string()), |_| "0".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_too_few_values_is_marked() {
        let check = |permille, count, marked| {
            let text = percentile("1s".into(), permille, count);
            assert_eq!((has_marks(&text), text.trim_end_matches('*')), (marked, "1s"), "{permille} of {count}");
        };
        for (permille, enough) in [(900, 10), (950, 20), (990, 100), (999, 1_000)] {
            check(permille, enough - 1, true);
            check(permille, enough, false);
        }
        check(500, 1, true);
        check(500, 2, false);
    }
}
