//! The distributions of a stage or a run. They are exact if the records of all requests were kept; otherwise they come from histograms.

use std::time::Duration;

use workload_profiles::Workload;

use super::{distribution::Distribution, figures::LatencyOrigin};
use measurement::{
    histogram::TimeHistogram,
    record::RequestRecord,
    recorder::{InFigures, Recorder, Records, StageTally},
};

/// Distributions of times and lengths with one value per request. [`super::Figures`] explains them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Timings {
    /// Whether the distributions come from records instead of histograms.
    pub(super) exact: bool,
    pub(super) ttft: Option<Distribution<Duration>>,
    pub(super) latency: Option<Distribution<Duration>>,
    pub(super) ttft_scheduled: Option<Distribution<Duration>>,
    pub(super) ttft_sent: Option<Distribution<Duration>>,
    pub(super) latency_scheduled: Option<Distribution<Duration>>,
    pub(super) latency_sent: Option<Distribution<Duration>>,
    pub(super) tpot: Option<Distribution<Duration>>,
    pub(super) ntpot: Option<Distribution<Duration>>,
    pub(super) ntpot_of_llmd: Option<Distribution<Duration>>,
    pub(super) send_lag: Option<Distribution<Duration>>,
    pub(super) permit_wait: Option<Distribution<Duration>>,
    pub(super) isl: Option<Distribution<f64>>,
    pub(super) osl: Option<Distribution<f64>>,
}

impl Timings {
    /// The timings of each stage, and of all stages together.
    pub(super) fn of_run(recorder: &Recorder, workload: &Workload) -> (Vec<Timings>, Timings) {
        let origins: Vec<LatencyOrigin> = workload.stages.iter().map(|it| LatencyOrigin::from_load(&it.load)).collect();
        match recorder.every_record() {
            Some(records) => of_records(records, &origins),
            None => of_tallies(&recorder.stages, &origins),
        }
    }

    /// From histograms, for requests without records.
    pub(super) fn of_tally(tally: &StageTally, origin: LatencyOrigin) -> Timings {
        let (ttft, latency) = headline(tally, origin);
        Timings::of_histograms(tally, ttft, latency)
    }

    fn of_histograms(tally: &StageTally, ttft: &TimeHistogram, latency: &TimeHistogram) -> Timings {
        Timings {
            exact: false,
            ttft: Distribution::of_times(ttft),
            latency: Distribution::of_times(latency),
            ttft_scheduled: Distribution::of_times(&tally.ttft_scheduled),
            ttft_sent: Distribution::of_times(&tally.ttft_sent),
            latency_scheduled: Distribution::of_times(&tally.latency_scheduled),
            latency_sent: Distribution::of_times(&tally.latency_sent),
            tpot: Distribution::of_times(&tally.tpot),
            ntpot: Distribution::of_times(&tally.ntpot),
            ntpot_of_llmd: Distribution::of_times(&tally.ntpot_of_llmd),
            send_lag: Distribution::of_times(&tally.send_lag),
            permit_wait: Distribution::of_times(&tally.permit_wait),
            isl: Distribution::of_lengths(&tally.input_tokens),
            osl: Distribution::of_lengths(&tally.output_tokens),
        }
    }
}

/// TTFT and latency by the latency origin of the stage.
pub(super) fn headline(tally: &StageTally, origin: LatencyOrigin) -> (&TimeHistogram, &TimeHistogram) {
    match origin {
        LatencyOrigin::Scheduled => (&tally.ttft_scheduled, &tally.latency_scheduled),
        LatencyOrigin::Sent => (&tally.ttft_sent, &tally.latency_sent),
    }
}

fn of_tallies(tallies: &[StageTally], origins: &[LatencyOrigin]) -> (Vec<Timings>, Timings) {
    let (mut ttft, mut latency) = (TimeHistogram::default(), TimeHistogram::default());
    let stages = tallies.iter().zip(origins).map(|(tally, origin)| {
        let (of_ttft, of_latency) = headline(tally, *origin);
        ttft.add(of_ttft);
        latency.add(of_latency);
        Timings::of_tally(tally, *origin)
    });
    let stages = stages.collect();
    (stages, Timings::of_histograms(&StageTally::sum(tallies), &ttft, &latency))
}

/// The distribution of one figure for each stage, and for all stages together.
pub(super) struct Column {
    stages: Vec<Option<Distribution<f64>>>,
    all: Option<Distribution<f64>>,
}

impl Column {
    pub(super) fn from_records(
        records: &Records,
        stages: usize,
        mut value: impl FnMut(&RequestRecord, InFigures) -> Option<u64>,
    ) -> Column {
        let mut by_stage = vec![Vec::new(); stages];
        for (record, used) in records.with_figures() {
            if let (Some(values), Some(value)) = (by_stage.get_mut(record.stage as usize), value(record, used)) {
                values.push(value);
            }
        }
        let sorted = |values: &mut Vec<u64>| {
            values.sort_unstable();
            Distribution::of_sorted(values)
        };
        let of_stages: Vec<_> = by_stage.iter_mut().map(sorted).collect();
        let all = match of_stages.as_slice() {
            [only] => *only,
            _ => {
                let mut all = by_stage.concat();
                // The stable sort merges the parts, which are already sorted.
                all.sort();
                Distribution::of_sorted(&all)
            }
        };
        Column { stages: of_stages, all }
    }

    fn get(&self, stage: Option<usize>) -> Option<Distribution<f64>> {
        stage.map_or(self.all, |it| self.stages.get(it).copied().flatten())
    }

    pub(super) fn times(&self, stage: Option<usize>) -> Option<Distribution<Duration>> {
        self.get(stage).map(Distribution::into_times)
    }
}

/// Reads a time from the record of a request. `None` if the record does not have it.
type Time = fn(&RequestRecord) -> Option<Duration>;

/// Computes one figure after another, so that memory holds the values of only one figure at a time.
fn of_records(records: &Records, origins: &[LatencyOrigin]) -> (Vec<Timings>, Timings) {
    let answer =
        |of: Time| Column::from_records(records, origins.len(), |it, used| of(it).filter(|_| used.answer).map(nanos));
    let send =
        |of: Time| Column::from_records(records, origins.len(), |it, used| of(it).filter(|_| used.send).map(nanos));
    let ttft = [answer(RequestRecord::ttft_scheduled), answer(RequestRecord::ttft_sent)];
    let latency = [answer(RequestRecord::latency_scheduled), answer(RequestRecord::latency_sent)];
    let (tpot, ntpot) = (answer(RequestRecord::tpot), answer(RequestRecord::ntpot));
    let ntpot_of_llmd = answer(RequestRecord::ntpot_of_llmd);
    let (send_lag, permit_wait) =
        (send(RequestRecord::send_lag), send(|it| it.permit_wait.filter(|_| it.sent.is_some())));
    let isl =
        Column::from_records(records, origins.len(), |it, used| it.input_tokens.filter(|_| used.answer).map(u64::from));
    let osl = Column::from_records(records, origins.len(), |it, used| used.answer.then(|| u64::from(it.osl())));
    let timings = |stage: Option<usize>, origin: LatencyOrigin| {
        let by_origin = |[scheduled, sent]: &[Column; 2]| match origin {
            LatencyOrigin::Scheduled => scheduled.times(stage),
            LatencyOrigin::Sent => sent.times(stage),
        };
        Timings {
            exact: true,
            ttft: by_origin(&ttft),
            latency: by_origin(&latency),
            ttft_scheduled: ttft[0].times(stage),
            ttft_sent: ttft[1].times(stage),
            latency_scheduled: latency[0].times(stage),
            latency_sent: latency[1].times(stage),
            tpot: tpot.times(stage),
            ntpot: ntpot.times(stage),
            ntpot_of_llmd: ntpot_of_llmd.times(stage),
            send_lag: send_lag.times(stage),
            permit_wait: permit_wait.times(stage),
            isl: isl.get(stage),
            osl: osl.get(stage),
        }
    };
    let stages = origins.iter().enumerate().map(|(stage, origin)| timings(Some(stage), *origin)).collect();
    let mut all = timings(None, origins.first().copied().unwrap_or(LatencyOrigin::Scheduled));
    if origins.iter().any(|it| Some(it) != origins.first()) {
        // Stages with different origins are combined: each request counts from the origin of its stage.
        let pooled = |of: fn(&RequestRecord, LatencyOrigin) -> Option<Duration>| {
            let time = |it: &RequestRecord| of(it, *origins.get(it.stage as usize)?);
            Column::from_records(records, origins.len(), |it, used| time(it).filter(|_| used.answer).map(nanos))
                .times(None)
        };
        all.ttft = pooled(RequestRecord::ttft);
        all.latency = pooled(RequestRecord::latency);
    }
    (stages, all)
}

pub(super) fn nanos(time: Duration) -> u64 {
    // Nanoseconds in a `u64` are enough for hundreds of years.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measurement::{
        record::RequestOutcome,
        recorder::{Keep, RecordBudget, WireTally},
    };
    use workload_profiles::workload::Goodput;

    const ORIGINS: [LatencyOrigin; 2] = [LatencyOrigin::Scheduled, LatencyOrigin::Sent];

    /// Request `number` of a load with two stages. It is sent `7 * number` microseconds after it was due. Its first token arrives `1,000,003 + 11 *
    /// number` microseconds later.
    fn request(number: u64) -> RequestRecord {
        let sent = Duration::from_micros(7 * number);
        let first = sent + Duration::from_micros(1_000_003 + 11 * number);
        RequestRecord {
            stage: u32::from(number % 2 == 1),
            number,
            turn: None,
            scheduled: Duration::ZERO,
            sent: Some(sent),
            permit_wait: Some(Duration::from_micros(number)),
            first_token: Some(first),
            last_token: Some(first + Duration::from_millis(90)),
            ended: first + Duration::from_millis(91),
            outcome: if number == 6 { RequestOutcome::Empty } else { RequestOutcome::Ok },
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: Some(10_001),
            cached_tokens: None,
            class: None,
            output_tokens: Some(10),
            content_events: 10,
            replica: None,
        }
    }

    fn recorder(requests: u64, budget: RecordBudget) -> Recorder {
        let mut recorder = Recorder::new(2, Goodput::default(), Keep::Records).with_record_budget(budget);
        (0..requests).for_each(|it| recorder.record(request(it), &WireTally::default()));
        recorder
    }

    #[test]
    fn of_records_every_percentile_is_a_value() {
        let recorder = recorder(9, RecordBudget::default());
        let (stages, all) = of_records(recorder.records.as_ref().unwrap(), &ORIGINS);
        let micros = Duration::from_micros;
        // Request 6 had an empty answer. So this stage has requests 0, 2, 4 and 8, and the other stage has 1, 3, 5 and 7.
        let even = stages[0].ttft_scheduled.unwrap();
        assert_eq!((even.count, even.min, even.max), (4, micros(1_000_003), micros(1_000_003 + 18 * 8)));
        assert_eq!((even.p50, even.p75), (micros(1_000_003 + 18 * 2), micros(1_000_003 + 18 * 4)));
        assert_eq!((even.mean, stages[0].ttft), (micros(1_000_003 + 63), Some(even)));
        let odd = stages[1].ttft.unwrap();
        assert_eq!((odd.count, odd.p25, odd.max), (4, micros(1_000_003 + 11), micros(1_000_003 + 11 * 7)));
        // Each request counts from the origin of its stage.
        let pooled = all.ttft.unwrap();
        assert_eq!((pooled.count, pooled.p50, pooled.max), (8, micros(1_000_003 + 18 * 2), even.max));
        assert_eq!(pooled.p75, odd.max.min(micros(1_000_003 + 18 * 4)));
        assert_eq!(all.ttft_sent.unwrap().max, micros(1_000_003 + 11 * 8));
        // The failed request was sent too. Request `number` waited `number` microseconds because the maximum number of requests was in flight.
        assert_eq!((all.send_lag.unwrap().count, all.permit_wait.unwrap().max), (9, micros(8)));
        assert_eq!((all.isl.unwrap().p50, all.osl.unwrap().p99), (10_001.0, 10.0));
        assert_eq!(all.tpot.unwrap().min, micros(10_000));
    }

    #[test]
    fn records_and_histograms_tell_the_same() {
        let recorder = recorder(1_000, RecordBudget::default());
        let exact = of_records(recorder.records.as_ref().unwrap(), &ORIGINS);
        let binned = of_tallies(&recorder.stages, &ORIGINS);
        let pairs = exact.0.iter().zip(&binned.0).chain([(&exact.1, &binned.1)]);
        for (exact, binned) in pairs {
            let times = |it: &Timings| {
                [
                    it.ttft,
                    it.latency,
                    it.ttft_scheduled,
                    it.ttft_sent,
                    it.latency_scheduled,
                    it.latency_sent,
                    it.tpot,
                    it.ntpot,
                    it.ntpot_of_llmd,
                    it.send_lag,
                    it.permit_wait,
                ]
            };
            for (exact, binned) in times(exact).into_iter().zip(times(binned)) {
                let (exact, binned) = (exact.unwrap(), binned.unwrap());
                assert_eq!((exact.count, exact.min, exact.max), (binned.count, binned.min, binned.max));
                assert_eq!(exact.mean, binned.mean);
                let error = exact.p90.abs_diff(binned.p90);
                assert!(error <= exact.p90.mul_f64(0.000_51) + Duration::from_nanos(1), "{exact:?} {binned:?}");
            }
            assert_eq!(exact.osl, binned.osl);
        }
    }

    #[test]
    fn records_that_were_left_out_make_no_percentile() {
        use workload_profiles::workload::{Load, Stage};
        let load = Load::closed(1, 9);
        let stages = vec![Stage::new("a", load.clone()), Stage::new("b", load)];
        let workload = Workload { stages, ..super::super::tests::workload(Vec::new()) };
        let exact = |requests: u64, blocks: u64| {
            let recorder = recorder(requests, RecordBudget::for_records(blocks * 4_096_u64));
            let (stages, all) = Timings::of_run(&recorder, &workload);
            assert_eq!((stages.len(), all.ttft.unwrap().count), (2, requests - 1));
            all.exact
        };
        assert_eq!([exact(4_096, 1), exact(4_097, 1), exact(9, 0)], [true, false, false]);
    }
}
