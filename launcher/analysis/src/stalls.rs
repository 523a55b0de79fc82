//! The effect of the launcher's stalls on the latencies that it measured.
//!
//! In a closed loop, a latency counts from sending. So a stalled launcher shows no send lag: the stall is hidden in the latency. This module finds
//! the requests that were in flight during each stall. A latency minus the stalls within it is the shortest time that the server can have taken. The
//! effect of stalls on a percentile is the measured percentile minus the same percentile of these shortest times.

use std::time::Duration;

use measurement::{
    latency_origin::LatencyOrigin,
    record::RequestRecord,
    recorder::{Recorder, Records},
    vitals::stalls::{Stall, Stalls},
};

use crate::{
    distribution::Distribution,
    figures::Figures,
    stage::StageAnalysis,
    timings::{Column, nanos},
};

/// The effect of stalls on the 99th percentile of one latency of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StallEffect {
    pub stage: String,
    /// `TTFT`, `TPOT` or `latency`.
    pub figure: &'static str,
    /// The percentile of the measured latency.
    pub measured: Duration,
    /// The maximum time that stalls can have added to the percentile.
    pub added: Duration,
    /// The share of requests that were in flight during a stall.
    pub touched_share: f64,
}

impl StallEffect {
    /// [`StallEffect::added`], as a share of the measured percentile.
    pub fn added_share(&self) -> f64 {
        self.added.as_secs_f64() / self.measured.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Minimum number of values for an effect. With fewer, the 99th percentile would be the largest value.
const FEWEST: u64 = 100;

/// (start, end, divisor) of a latency. The divisor is the number of gaps for TPOT, and 1 otherwise.
type Timed = (Duration, Duration, u32);

/// A latency that stalls can increase.
struct Latency {
    name: &'static str,
    /// The distribution as measured.
    measured: fn(&Figures) -> Option<Distribution<Duration>>,
    time: fn(&RequestRecord, LatencyOrigin) -> Option<Timed>,
}

const LATENCIES: [Latency; 3] = [
    Latency { name: "TTFT", measured: |it| it.ttft, time: |it, origin| Some((it.start(origin), it.first_token?, 1)) },
    Latency { name: "TPOT", measured: |it| it.tpot, time: |it, _| Some((it.first_token?, it.last_token?, it.gaps()?)) },
    Latency {
        name: "latency",
        measured: |it| it.latency,
        time: |it, origin| Some((it.start(origin), it.last_token?, 1)),
    },
];

/// The effects of stalls on the figures of each stage, in descending order of their share of the percentile. Figures that no stall changed are
/// omitted. Empty if the records of some requests are missing.
pub(super) fn effects(recorder: &Recorder, stages: &[StageAnalysis], stalls: Option<&Stalls>) -> Vec<StallEffect> {
    let Some((records, stalls)) = recorder.every_record().zip(stalls.filter(|it| !it.times.is_empty())) else {
        return Vec::new();
    };
    let stalls = Times::new(&stalls.times);
    let mut found: Vec<_> = LATENCIES.iter().flat_map(|it| effects_on(it, records, stages, &stalls)).collect();
    found.sort_by(|one, other| other.added_share().total_cmp(&one.added_share()));
    found
}

fn effects_on(latency: &Latency, records: &Records, stages: &[StageAnalysis], stalls: &Times<'_>) -> Vec<StallEffect> {
    let mut touched = vec![0_u64; stages.len()];
    let least = Column::from_records(records, stages.len(), |record, used| {
        let stage = record.stage as usize;
        let origin = stages.get(stage).filter(|_| used.answer)?.latency_origin;
        let (from, to, parts) = (latency.time)(record, origin)?;
        let stalled = stalls.within(from, to);
        touched[stage] += u64::from(!stalled.is_zero());
        Some(nanos(to.saturating_sub(from).saturating_sub(stalled) / parts))
    });
    let effect = |(index, stage): (usize, &StageAnalysis)| {
        let measured = (latency.measured)(&stage.figures).filter(|it| it.count >= FEWEST)?;
        let added = measured.p99.saturating_sub(least.times(Some(index))?.p99);
        (!added.is_zero()).then(|| StallEffect {
            stage: stage.stage.name.clone(),
            figure: latency.name,
            measured: measured.p99,
            added,
            touched_share: touched[index] as f64 / measured.count as f64,
        })
    };
    stages.iter().enumerate().filter_map(effect).collect()
}

/// Stalls in time order. `before[i]`: the total stalled time before stall i.
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

    /// The stalled time from the start of the run to `at`.
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
    use measurement::recorder::{Keep, WireTally};
    use workload_profiles::workload::{Load, Stage};

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
    fn time_in_stalls_adds_up_over_parts() {
        let stalls = stalls(&[(100, 20), (300, 100)]);
        let times = Times::new(&stalls.times);
        let within = |from: u64, to: u64| times.within(ms(from), ms(to)).as_millis();
        assert_eq!([within(0, 80), within(0, 90), within(0, 500), within(85, 95)], [0, 10, 120, 10]);
        assert_eq!([within(100, 200), within(150, 250), within(250, 1_000), within(300, 900)], [0, 50, 50, 0]);
    }

    /// The effects of these stalls on one slot that sends these requests one after another.
    fn effects_of(requests: Vec<RequestRecord>, stalls: Option<Stalls>) -> Vec<StallEffect> {
        let mut case = crate::tests::case(vec![Stage::new("c1", Load::closed(1, requests.len() as u64))]);
        case.vitals.stalls = stalls;
        let requests = requests.into_iter().map(|it| (it, WireTally::default()));
        crate::tests::check_keeping(Keep::Records, &case, requests).judgement.stall_effects
    }

    /// 400 requests. Each has its first token after 40 ms and four more tokens 5 ms apart. Every 4 s, a stall of 100 ms delays the first token of one
    /// request.
    fn run(with_stalls: bool) -> Vec<StallEffect> {
        let (mut times, mut requests) = (Vec::new(), Vec::new());
        let mut at = Duration::ZERO;
        for number in 0..400_u64 {
            let (record, _) = crate::tests::request(0, 0, 0, 5);
            let held = if with_stalls && number % 60 == 30 { ms(100) } else { Duration::ZERO };
            let first = at + ms(40) + held;
            if !held.is_zero() {
                times.push((first.as_millis() as u64, 100));
            }
            let record = RequestRecord { number, scheduled: at, sent: Some(at), first_token: Some(first), ..record };
            at = first + ms(20);
            requests.push(RequestRecord { last_token: Some(at), ended: at, ..record });
        }
        effects_of(requests, Some(stalls(&times)))
    }

    #[test]
    fn a_stall_in_a_closed_loop_is_reported_with_its_part_of_a_percentile() {
        assert_eq!(run(false), []);
        let found = run(true);
        // Stalls hit 7 of 400 requests, so p99 shows the effect. No stall hit the tokens after the first.
        let effects: Vec<_> = found.iter().map(|it| (it.figure, it.measured, it.added)).collect();
        assert_eq!(effects, [("TTFT", ms(140), ms(100)), ("latency", ms(160), ms(100))]);
        assert!((found[0].touched_share - 7.0 / 400.0).abs() < 1e-9);
        assert!((found[0].added_share() - 100.0 / 140.0).abs() < 1e-9);
    }

    #[test]
    fn stalls_in_less_than_a_hundredth_of_the_requests_do_not_change_p99() {
        let requests = || {
            let request = |number: u64| RequestRecord { number, ..crate::tests::request(0, number * 200, 0, 5).0 };
            (0..400).map(request).collect::<Vec<_>>()
        };
        let three = stalls(&[(90, 50), (20_090, 50), (40_090, 50)]);
        assert_eq!(effects_of(requests(), Some(three)), []);
        assert_eq!(effects_of(requests(), None), []);
    }
}
