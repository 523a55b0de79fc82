//! What stalls of the launcher added to the latencies that it measured.
//!
//! The latency of a closed loop counts from when a request was sent, so that a launcher that stands still delays no send that it could be
//! judged by: its stalls hide in the latencies. Therefore each stall is intersected with the requests that it touched. A time without its
//! stalls is the least that the server can have taken; how far a percentile of these lies below the measured one is what stalls can have
//! added to it.

use std::time::Duration;

use engine::{
    latency_origin::LatencyOrigin,
    record::RequestRecord,
    recorder::Recorder,
    vitals::stalls::{Stall, Stalls},
};
use workload_profiles::Workload;

/// What stalls can have added to the 99th percentile of a latency of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StallEffect {
    pub stage: String,
    /// `TTFT`, `TPOT` or `latency`.
    pub figure: &'static str,
    /// The percentile as measured.
    pub measured: Duration,
    /// How much of it stalls can have added.
    pub added: Duration,
    /// Of the values of the figure, how many a stall touched.
    pub touched_share: f64,
}

impl StallEffect {
    /// What stalls added, as a part of the measured percentile.
    pub fn added_share(&self) -> f64 {
        self.added.as_secs_f64() / self.measured.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// The fewest values whose 99th percentile is not their largest one.
const FEWEST: usize = 100;

/// The time that a request took from one moment to another, by the number of parts that it is divided by.
type Measure = fn(&RequestRecord, LatencyOrigin) -> Option<(Duration, Duration, u32)>;

const FIGURES: [(&str, Measure); 3] = [
    ("TTFT", |it, origin| Some((begin(it, origin)?, it.first_token?, 1))),
    ("TPOT", |it, _| Some((it.first_token?, it.last_token?, it.osl().checked_sub(1).filter(|gaps| *gaps > 0)?))),
    ("latency", |it, origin| Some((begin(it, origin)?, it.last_token?, 1))),
];

fn begin(record: &RequestRecord, origin: LatencyOrigin) -> Option<Duration> {
    match origin {
        LatencyOrigin::Scheduled => Some(record.scheduled),
        LatencyOrigin::Sent => record.sent,
    }
}

/// What stalls added to the figures of each stage, where they added anything: the largest part first. Empty without the records of all
/// requests.
pub(super) fn effects(recorder: &Recorder, workload: &Workload, stalls: Option<&Stalls>) -> Vec<StallEffect> {
    let Some((records, stalls)) = recorder.every_record().zip(stalls.filter(|it| !it.times.is_empty())) else {
        return Vec::new();
    };
    let stalls = Times::new(&stalls.times);
    let mut found = Vec::new();
    for (index, stage) in workload.stages.iter().enumerate() {
        let origin = LatencyOrigin::from_load(&stage.load);
        let answers = || {
            let of_stage = records.with_figures().filter(move |(it, used)| used.answer && it.stage as usize == index);
            of_stage.map(|(it, _)| it)
        };
        for (figure, measure) in FIGURES {
            if figure != "latency" && !workload.streaming {
                continue;
            }
            let values = answers().filter_map(|it| measure(it, origin));
            found.extend(effect(&stage.name, figure, values, &stalls));
        }
    }
    found.sort_by(|one, other| other.added_share().total_cmp(&one.added_share()));
    found
}

fn effect(
    stage: &str,
    figure: &'static str,
    values: impl Iterator<Item = (Duration, Duration, u32)>,
    stalls: &Times,
) -> Option<StallEffect> {
    let (mut measured, mut without, mut touched) = (Vec::new(), Vec::new(), 0_usize);
    for (from, to, parts) in values {
        let whole = to.saturating_sub(from);
        let stalled = stalls.within(from, to);
        touched += usize::from(!stalled.is_zero());
        measured.push(whole / parts);
        without.push(whole.saturating_sub(stalled) / parts);
    }
    if touched == 0 || measured.len() < FEWEST {
        return None;
    }
    let touched_share = touched as f64 / measured.len() as f64;
    let (measured, without) = (p99(measured), p99(without));
    let added = measured.saturating_sub(without);
    (!added.is_zero()).then(|| StallEffect { stage: stage.to_owned(), figure, measured, added, touched_share })
}

/// By nearest rank, as every percentile of records.
fn p99(mut values: Vec<Duration>) -> Duration {
    values.sort_unstable();
    let rank = (values.len() * 99).div_ceil(100);
    values[rank.max(1) - 1]
}

/// Stalls in order, and the time in all stalls before each.
struct Times<'a> {
    stalls: &'a [Stall],
    before: Vec<Duration>,
}

impl Times<'_> {
    fn new(stalls: &[Stall]) -> Times<'_> {
        let mut sum = Duration::ZERO;
        let before = stalls.iter().map(|it| {
            let before = sum;
            sum += it.to.saturating_sub(it.from);
            before
        });
        Times { before: before.collect(), stalls }
    }

    /// The time in stalls from the start of the run to a moment.
    fn until(&self, at: Duration) -> Duration {
        let begun = self.stalls.partition_point(|it| it.from < at);
        let Some(last) = begun.checked_sub(1) else { return Duration::ZERO };
        self.before[last] + at.min(self.stalls[last].to).saturating_sub(self.stalls[last].from)
    }

    fn within(&self, from: Duration, to: Duration) -> Duration {
        self.until(to).saturating_sub(self.until(from))
    }
}

#[cfg(test)]
mod tests {
    use engine::recorder::{Keep, WireTally};
    use workload_profiles::workload::{Goodput, Load, Stage};

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn stalls(times: &[(u64, u64)]) -> Stalls {
        let mut stalls = Stalls::default();
        times.iter().for_each(|(at, late)| stalls.beat(ms(*at), ms(*late)));
        stalls
    }

    #[test]
    fn time_in_stalls_is_that_of_each_part() {
        let stalls = stalls(&[(100, 20), (300, 100)]);
        let times = Times::new(&stalls.times);
        let within = |from: u64, to: u64| times.within(ms(from), ms(to)).as_millis();
        assert_eq!([within(0, 80), within(0, 90), within(0, 500), within(85, 95)], [0, 10, 120, 10]);
        assert_eq!([within(100, 200), within(150, 250), within(250, 1_000), within(300, 900)], [0, 50, 50, 0]);
    }

    /// 400 requests of one slot, one after the other, each with a first token after 40 ms and four more 5 ms apart. A stall of 100 ms in
    /// each 4 s holds the first token of the request that it meets.
    fn run(with_stalls: bool) -> Vec<StallEffect> {
        let stage = Stage::new("c1", Load::closed(1, 400));
        let workload = crate::tests::workload(vec![stage]);
        let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records);
        let mut times = Vec::new();
        let mut at = Duration::ZERO;
        for number in 0..400_u64 {
            let (mut record, wire) = crate::tests::request(0, 0, 0, 5);
            let held = if with_stalls && number % 60 == 30 { ms(100) } else { Duration::ZERO };
            let first = at + ms(40) + held;
            if !held.is_zero() {
                times.push((first.as_millis() as u64, 100));
            }
            record = RequestRecord { number, scheduled: at, sent: Some(at), first_token: Some(first), ..record };
            at = first + ms(20);
            recorder.record(RequestRecord { last_token: Some(at), ended: at, ..record }, &WireTally { ..wire });
        }
        let stalls = stalls(&times);
        effects(&recorder, &workload, Some(&stalls))
    }

    #[test]
    fn a_stall_of_a_closed_loop_is_told_by_what_it_adds_to_a_percentile() {
        assert_eq!(run(false), []);
        let found = run(true);
        // 7 of 400 requests: p99 is one of theirs. TPOT was not touched.
        let told: Vec<_> = found.iter().map(|it| (it.figure, it.measured, it.added)).collect();
        assert_eq!(told, [("TTFT", ms(140), ms(100)), ("latency", ms(160), ms(100))]);
        assert!((found[0].touched_share - 7.0 / 400.0).abs() < 1e-9);
        assert!((found[0].added_share() - 100.0 / 140.0).abs() < 1e-9);
    }

    #[test]
    fn stalls_of_less_than_a_hundredth_of_the_requests_move_no_p99() {
        // As before, with three stalls.
        let mut recorder = Recorder::new(1, Goodput::default(), Keep::Records);
        for number in 0..400_u64 {
            let (record, wire) = crate::tests::request(0, number * 200, 0, 5);
            recorder.record(RequestRecord { number, ..record }, &wire);
        }
        let workload = crate::tests::workload(vec![Stage::new("c1", Load::closed(1, 400))]);
        let three = stalls(&[(90, 50), (20_090, 50), (40_090, 50)]);
        assert_eq!(effects(&recorder, &workload, Some(&three)), []);
        assert_eq!(effects(&recorder, &workload, None), []);
    }
}
