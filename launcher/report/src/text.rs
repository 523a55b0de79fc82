//! Figures of a document as text, shared by the Markdown report, the comment and the terminal's table.

use analysis::{LatencyOrigin, SEVERAL_TOKENS};
use crds::{
    resolve::{ResolvedRun, ValidityBounds},
    units::Span,
    wording::{one_line, percent},
};
use document::{CostDocument, HardwareDocument, JudgementDocument, ReportDocument, Statistics};
use figures::{Figure, Unit, text::LARGEST};
use measurement::window::WindowPart;

pub(super) use figures::text::{
    percentile,
    plain::{NOTHING, money, number, optional, time as millis},
    signed_percent,
};

/// Explains the mark on percentiles, for the foot of a page.
pub(super) const LARGEST_MEANS: &str =
    "this percentile is the largest value: p90 needs 10 values or more, p95 20, p99 100, p99.9 1000";
/// If a smaller share of requests than this met the goodput bounds, a passed run gets a note.
const FEW_GOOD: f64 = 0.5;

/// Whether a text contains a percentile with a mark.
pub(super) fn has_marks(text: &str) -> bool {
    text.contains(LARGEST)
}

/// p50 of a distribution of times, with a mark if it is the largest value.
pub(super) fn p50(of: Option<&Statistics>) -> String {
    optional(of, |it| percentile(millis(it.p50), 500, it.count))
}

/// p90 of a distribution of times, with a mark if it is the largest value.
pub(super) fn p90(of: Option<&Statistics>) -> String {
    optional(of, |it| percentile(millis(it.p90), 900, it.count))
}

/// p99 of a distribution of times, with a mark if it is the largest value.
pub(super) fn p99(of: Option<&Statistics>) -> String {
    optional(of, |it| percentile(millis(it.p99), 990, it.count))
}

/// Maximum length of a stage name within a line, in characters. Longer names are cut.
const MAX_NAME: usize = 16;

/// A name of a stage on one line, cut so that it fits beside other text.
pub fn shortened(name: &str) -> String {
    let name = one_line(name);
    if name.chars().count() <= MAX_NAME { name } else { name.chars().take(MAX_NAME - 1).chain(['\u{2026}']).collect() }
}

/// The name of the profile for people. An inline profile has the name of its BenchmarkRun.
pub fn profile(run: &ResolvedRun) -> String {
    if run.profile_source == "inline" { format!("{} (inline)", run.run.name) } else { run.profile_source.clone() }
}

/// How many requests met the goodput bounds, which is not part of the verdict. `None` if the load has no such bounds.
pub(super) struct Goals {
    /// The share as text; for several stages, the minimum and the maximum.
    pub text: String,
    /// Whether so few requests met the bounds that a passed run gets a note.
    pub are_few: bool,
}

pub(super) fn goals(document: &ReportDocument) -> Option<Goals> {
    let shares = document.stages.iter().filter_map(|it| it.figures.goodput.as_ref()?.goodput_share);
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

/// One row of a table of distributions.
pub(super) struct Row<'a> {
    pub figure: Figure,
    pub name: String,
    pub figures: &'a Statistics,
}

/// The measured latencies for a table, in milliseconds. Latencies with the clock of the headline figures come first.
pub(super) fn latencies(document: &ReportDocument) -> Vec<Row<'_>> {
    let all = &document.figures;
    let probes = document.probes.as_ref();
    let clock = &document.labels.clock;
    let open = clock.contains(LatencyOrigin::Scheduled.name());
    let several = all.tokens_per_event.is_some_and(|it| it > SEVERAL_TOKENS);
    let from_clock = |figure: Figure| (figure, format!("{} from {clock}", figure.label()), all.statistics(figure));
    let of_all = |figure: Figure| (figure, figure.label(), all.statistics(figure));
    let of_probes =
        |figure: Figure| (figure, format!("{} of probes", figure.label()), probes.and_then(|it| it.statistics(figure)));
    let only = |shown: bool, (figure, name, figures): (_, _, Option<_>)| (figure, name, figures.filter(|_| shown));
    let rows = [
        from_clock(Figure::Ttft),
        only(open, of_all(Figure::TtftSent)),
        from_clock(Figure::Latency),
        only(open, of_all(Figure::LatencySent)),
        of_all(Figure::Itl),
        only(several, of_all(Figure::EventGap)),
        of_all(Figure::Tpot),
        of_all(Figure::Ntpot),
        of_all(Figure::SendLag),
        of_all(Figure::PermitWait),
        of_probes(Figure::Ttft),
        of_probes(Figure::Latency),
    ];
    rows.into_iter().filter_map(|(figure, name, figures)| Some(Row { figure, name, figures: figures? })).collect()
}

/// The lengths for a table, in tokens.
pub(super) fn lengths(document: &ReportDocument) -> Vec<Row<'_>> {
    let row = |figure: Figure| {
        let name = format!("{}, {}", figure.label(), figure.row().unit.symbol());
        Some(Row { figure, name, figures: document.figures.statistics(figure)? })
    };
    [Figure::Isl, Figure::Osl].into_iter().filter_map(row).collect()
}

/// Requests that all figures exclude, by reason.
pub(super) fn excluded(document: &ReportDocument) -> Vec<(&'static str, u64)> {
    let named = WindowPart::ALL.into_iter().filter_map(|part| {
        let outcomes = document.figures.aside.get(part.name())?;
        let name = match part {
            WindowPart::Counted => "counted",
            WindowPart::WarmUp => "warm-up (excluded)",
            WindowPart::CoolDown => "cool-down, or after the window (excluded)",
            WindowPart::Late => "ended after the window (excluded)",
        };
        Some((name, outcomes.values().fold(0, |sum: u64, it| sum.saturating_add(*it))))
    });
    named.collect()
}

/// Pairs (name of a rate, value).
pub(super) fn rates(document: &ReportDocument) -> Vec<(String, String)> {
    let all = &document.figures;
    let Some(rates) = &all.throughput else { return Vec::new() };
    let measured = |figure: Figure| Some((figure.label(), of_unit(figure, all.number(figure)?)));
    let mut rows = Vec::from_iter(measured(Figure::RequestsPerSecond));
    if let [only] = &document.stages[..] {
        rows.extend(only.asked_requests_per_second.map(|it| ("  asked".to_owned(), number(it))));
        rows.extend(only.achieved_requests_per_second.map(|it| ("  sent".to_owned(), number(it))));
    }
    let whole = all.whole_throughput.as_ref().filter(|it| *it != rates);
    let with_fill = |rate| ("  with fill and drain".to_owned(), number(rate));
    rows.extend(whole.map(|it| with_fill(it.requests_per_second)));
    rows.extend(measured(Figure::OutputTokensPerSecond));
    rows.extend(whole.map(|it| with_fill(it.output_tokens_per_second)));
    rows.extend(measured(Figure::InputTokensPerSecond));
    rows.extend(measured(Figure::TotalTokensPerSecond));
    rows.extend(all.tokens_per_event.map(|it| ("tokens per event".to_owned(), number(it))));
    rows.extend(measured(Figure::CachedShare));
    rows.extend(measured(Figure::GoodputRequestsPerSecond));
    rows.extend(measured(Figure::GoodputShare).map(|(name, share)| match all.abandoned == 0 && all.incomplete == 0 {
        true => (name, share),
        false => (format!("{name}, without abandoned and incomplete requests"), share),
    }));
    rows
}

/// A value with the unit of its figure.
fn of_unit(figure: Figure, value: f64) -> String {
    if figure.row().unit == Unit::Share { percent(value) } else { number(value) }
}

/// Pairs (name, value): rates per accelerator, and cost per token.
pub(super) fn cost(hardware: &HardwareDocument, figures: &CostDocument) -> Vec<(String, Option<f64>)> {
    let per_accelerator = format!("output tokens/s per accelerator (of {})", hardware.accelerators);
    let mut rows = vec![(per_accelerator, figures.output_tokens_per_second_per_accelerator)];
    if let Some(currency) = &hardware.currency {
        rows.push((format!("{currency} per million output tokens"), figures.cost_per_million_output_tokens));
        rows.push((format!("{currency} per million tokens"), figures.cost_per_million_total_tokens));
    }
    rows
}

/// A result of the launcher's self-measurement.
pub(super) struct Trust {
    pub name: &'static str,
    /// The measured value; `None` if it was not measured.
    value: Option<f64>,
    show: fn(f64) -> String,
    /// The largest value that is allowed in a valid run, in the unit of `value`; `None` if there is no limit.
    bound: Option<fn(&ValidityBounds) -> f64>,
}

impl Trust {
    /// The value as text; `None` if it was not measured.
    pub(super) fn found(&self) -> Option<String> {
        self.value.map(self.show)
    }

    /// The largest value that is allowed in a valid run, as text; `None` if there is no limit.
    pub(super) fn bound(&self, bounds: &ValidityBounds) -> Option<String> {
        self.bound.map(|it| (self.show)(it(bounds)))
    }

    /// Whether the value makes the run invalid.
    pub(super) fn is_exceeded(&self, bounds: &ValidityBounds) -> bool {
        self.value.zip(self.bound).is_some_and(|(value, bound)| value > bound(bounds))
    }
}

/// The results of the launcher's self-measurement.
pub(super) fn trust(it: &JudgementDocument) -> Vec<Trust> {
    let time = |name, value, bound: fn(&ValidityBounds) -> f64| Trust { name, value, show: millis, bound: Some(bound) };
    let share =
        |name, value, bound: fn(&ValidityBounds) -> f64| Trust { name, value, show: percent, bound: Some(bound) };
    let told = |name, value, show| Trust { name, value, show, bound: None };
    let delay = it.receive_delay_ms.as_ref().map(|it| it.p99);
    let step = it.largest_clock_step_ms.map(|step| step.max(it.slept_ms.unwrap_or(0.0)));
    vec![
        time(SEND_LAG, it.send_lag_p99_ms, |it| in_millis(it.max_send_lag_p99)),
        time("receive delay p99", delay, |it| in_millis(it.max_receive_delay_p99)),
        told("reads with several events", it.coalesced_share, percent),
        share("late reads with several events", it.late_share, |it| it.max_coalesced_read_share),
        share(BUSIEST_THREAD, it.busiest_share, |it| it.max_cpu_share),
        told("load threads, CPU share", it.cpu_share, percent),
        told("load threads, cores", it.cores, number),
        told("process, CPU time", it.process_cpu_ms, millis),
        share("periods at the CPU limit", it.throttled_share, |it| it.max_throttled_share),
        share("CPU time stolen", it.steal_share, |it| it.max_steal_share),
        share("time in stalls", it.stalled_share, |it| it.max_stalled_share),
        told("longest stall", it.longest_stall_ms, millis),
        time("clock step", step, |it| in_millis(it.max_clock_step)),
        Trust { name: "dropped values", value: Some(it.dropped as f64), show: number, bound: Some(|_| 0.0) },
    ]
}

/// The name of the row on how late requests were sent.
pub(super) const SEND_LAG: &str = "send lag p99";
/// The name of the row on the CPU share of the busiest load thread.
pub(super) const BUSIEST_THREAD: &str = "busiest load thread";

fn in_millis(time: Span) -> f64 {
    time.0.as_secs_f64() * 1e3
}
