//! Tests with random recorders: splitting, sending and merging must yield what a single recorder would have, and no bytes may make the
//! reader panic.

pub(crate) mod random;

use std::time::Duration;

use proptest::prelude::*;

use self::random::{Draws, Load};
use super::{
    VERSION, WireError,
    envelope::{HEADER, seal},
};
use crate::{
    inter_token_times::InterTokenTimes,
    latency_origin::LatencyOrigin,
    record::RequestRecord,
    recorder::{InFigures, Keep, MergeError, Recorder},
    vitals::{
        Throttling, Vitals,
        clocks::ClockSteps,
        stalls::Stalls,
        worker::{StageVitals, WorkerVitals},
    },
};

/// More memory than any recorder in these tests takes, in bytes.
const MEMORY: usize = 1 << 30;
const RECORDER: u8 = 1;

type Kept = (RequestRecord, InFigures, Option<InterTokenTimes>);

/// Returns the form of a recorder without its records, and the records sorted by when they ended. Outputs are sorted in the same way.
fn sorted(mut recorder: Recorder) -> (Vec<u8>, Vec<Kept>) {
    let gaps = recorder.gaps();
    let records = recorder.records.take();
    recorder.tape = None;
    recorder.outputs.sort_by_key(|it| (it.ended, it.stage, it.number));
    let mut gaps = gaps.into_iter().flatten();
    let mut kept: Vec<Kept> =
        records.iter().flat_map(|it| it.with_figures()).map(|(it, used)| (it.clone(), used, gaps.next())).collect();
    kept.sort_by_key(|(it, ..)| (it.ended, it.stage, it.number));
    (recorder.to_bytes(), kept)
}

/// Returns the form of a recorder with some requests, and the content of that form.
fn form(seed: u64) -> (Vec<u8>, Vec<u8>) {
    let mut draws = Draws(seed);
    let load = Load::new(&mut draws);
    let mut recorder = load.recorder();
    for number in 0..draws.below(20) {
        load.event(&mut draws, number).record(&mut recorder);
    }
    let bytes = recorder.to_bytes();
    let content = bytes[HEADER..bytes.len() - 4].to_vec();
    (bytes, content)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn recorders_that_are_sent_and_merged_equal_one_recorder(seed: u64, count in 1_usize..5, events in 0_u64..120) {
        let mut draws = Draws(seed);
        let load = Load::new(&mut draws);
        let (mut one, mut several) = (load.recorder(), vec![load.recorder(); count]);
        for number in 0..events {
            let event = load.event(&mut draws, number);
            event.record(&mut one);
            event.record(&mut several[draws.below(count as u64) as usize]);
        }
        let stopped = draws.below(200);
        for recorder in several.iter_mut().chain([&mut one]).filter(|_| stopped < 100) {
            recorder.stop_early(0, Duration::from_secs(stopped), true);
        }
        let mut sent = several.iter().map(|it| Recorder::from_bytes(&it.to_bytes(), MEMORY).unwrap());
        let mut merged = sent.next().unwrap();
        sent.for_each(|it| merged.merge(it).unwrap());
        prop_assert_eq!(merged.dropped(), one.dropped());
        let ((merged, merged_records), (one, records)) = (sorted(merged), sorted(one));
        prop_assert_eq!(merged_records, records);
        prop_assert!(merged == one);
    }

    #[test]
    fn a_recorder_that_was_read_has_the_same_form(seed: u64) {
        let (bytes, _) = form(seed);
        prop_assert!(Recorder::from_bytes(&bytes, MEMORY).unwrap().to_bytes() == bytes);
    }

    #[test]
    fn a_part_of_a_form_is_an_error(seed: u64, part in 0.0..1.0) {
        let (bytes, content) = form(seed);
        let cut = |all: &[u8]| (all.len() as f64 * part) as usize;
        prop_assert!(Recorder::from_bytes(&bytes[..cut(&bytes)], MEMORY).is_err());
        // The cut content is also refused with a matching header and checksum.
        prop_assert!(Recorder::from_bytes(&seal(RECORDER, &content[..cut(&content)]), MEMORY).is_err());
    }

    /// With a matching checksum, a changed byte may yield another valid recorder. Its form must then be exactly these bytes.
    #[test]
    fn a_changed_byte_is_an_error_or_another_recorder(seed: u64, places in prop::collection::vec((0.0..1.0, 1_u8..), 1..8)) {
        let (bytes, content) = form(seed);
        for (place, change) in places {
            let changed = |all: &[u8]| {
                let mut all = all.to_vec();
                let place = (all.len() as f64 * place) as usize;
                all[place] ^= change;
                all
            };
            prop_assert!(Recorder::from_bytes(&changed(&bytes), MEMORY).is_err());
            let sealed = seal(RECORDER, &changed(&content));
            if let Ok(other) = Recorder::from_bytes(&sealed, MEMORY) {
                prop_assert!(other.to_bytes() == sealed);
            }
        }
    }

    #[test]
    fn random_bytes_are_no_recorder(content in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let sealed = seal(RECORDER, &content);
        if let Ok(other) = Recorder::from_bytes(&sealed, MEMORY) {
            prop_assert!(other.to_bytes() == sealed);
        }
        prop_assert!(Recorder::from_bytes(&content, MEMORY).is_err());
    }

    #[test]
    fn a_recorder_that_needs_more_memory_is_refused(seed: u64, memory in 0_usize..1 << 22) {
        let (bytes, _) = form(seed);
        let refused = WireError::Memory { memory };
        let error = Recorder::from_bytes(&bytes, memory).err();
        prop_assert!(error.is_none_or(|it| it == refused));
    }
}

#[test]
fn what_is_no_recorder_of_this_version_has_a_message() {
    let (bytes, content) = form(1);
    let error = |bytes: &[u8]| Recorder::from_bytes(bytes, MEMORY).unwrap_err();
    for other in [&b""[..], b"BWM", b"BWMS", b"{\"a\": 1}"] {
        assert_eq!(error(other), WireError::NoMeasurement, "{other:?}");
    }
    let newer = [&bytes[..4], &(VERSION + 1).to_le_bytes(), &bytes[6..]].concat();
    assert_eq!(error(&newer), WireError::Version { found: VERSION + 1, reads: VERSION });
    assert!(error(&newer).to_string().contains("version 3"), "{}", error(&newer));
    assert_eq!(error(&bytes[..9]), WireError::Truncated { found: 9, wanted: HEADER as u64 });
    let whole = bytes.len() as u64;
    assert_eq!(error(&bytes[..100]), WireError::Truncated { found: 100, wanted: whole });
    assert_eq!(error(&[&bytes[..], &[0]].concat()), WireError::Trailing);
    assert_eq!(error(&seal(9, &content)), WireError::Kind { wanted: "recorder" });
    assert_eq!(error(&seal(RECORDER, &[&content[..], &[0]].concat())), WireError::Value { what: "end" });
    // A list with 2^60 stages.
    let huge = seal(RECORDER, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
    assert_eq!(error(&huge), WireError::Value { what: "length" });
    assert_eq!(Recorder::from_bytes(&bytes, 1_000).unwrap_err(), WireError::Memory { memory: 1_000 });
    assert_eq!(Vitals::from_bytes(&bytes, MEMORY).unwrap_err(), WireError::Kind { wanted: "set of vitals" });
}

#[test]
fn a_form_of_version_2_stays_as_it_is() {
    let (_, content) = form(3);
    // If this fails because the format has changed, raise the version.
    assert_eq!((VERSION, content.len(), crc32fast::hash(&content)), (2, 7_686, 3_374_209_926));
}

#[test]
fn recorders_of_other_workloads_are_not_merged() {
    let mut draws = Draws(5);
    let load = Load::new(&mut draws);
    let mut mine = load.recorder();
    let stages = load.stages() + 1;
    let other = || Recorder::new(stages, load.goodput.clone(), load.keep);
    let count = MergeError::Count { what: "stages", mine: load.stages(), theirs: stages };
    assert_eq!(mine.merge(other()).unwrap_err(), count);
    let mut plain = other();
    let other_keep = if load.keep == Keep::Summary { Keep::Records } else { Keep::Summary };
    assert!(matches!(plain.merge(other().with_probes()), Err(MergeError::Count { what: "stages with probes", .. })));
    assert!(matches!(plain.merge(other().with_classes(3)), Err(MergeError::Count { what: "traffic classes", .. })));
    let sent = other().with_latency_origins([LatencyOrigin::Sent]);
    assert_eq!(plain.merge(sent), Err(MergeError::LatencyOrigin));
    assert_eq!(
        plain.merge(Recorder::new(stages, load.goodput.clone(), other_keep)),
        Err(MergeError::Keep { what: "records" })
    );
    let form = sorted(mine.clone());
    mine.merge(load.recorder()).unwrap();
    assert!(sorted(mine) == form, "an empty recorder adds nothing");
}

#[test]
fn vitals_have_a_form() {
    let mut stalls = Stalls::default();
    stalls.beat(Duration::from_secs(3), Duration::from_millis(7));
    let vitals = Vitals {
        process_cpu: Some(Duration::MAX),
        stalls: Some(stalls),
        throttling: Some(Throttling { periods: 3, throttled: 2, time: Duration::from_nanos(1) }),
        steal_share: Some(0.1),
        clock_steps: Some(ClockSteps { count: 1, largest: Duration::from_secs(1), slept: Duration::ZERO }),
    };
    let bytes = vitals.to_bytes();
    let read = Vitals::from_bytes(&bytes, MEMORY).unwrap();
    assert_eq!(
        (read.process_cpu, read.steal_share, read.clock_steps),
        (vitals.process_cpu, Some(0.1), vitals.clock_steps)
    );
    assert_eq!(
        (read.stalls.map(|it| it.times), read.throttling),
        (vitals.stalls.map(|it| it.times), vitals.throttling)
    );
    assert!(Vitals::from_bytes(&bytes, MEMORY).unwrap().to_bytes() == bytes);
    let stage = StageVitals { cpu: Duration::from_millis(5), wall: Duration::from_secs(2), ..StageVitals::default() };
    let worker = WorkerVitals { stages: vec![stage], coarse_timer: true };
    let read = WorkerVitals::from_bytes(&worker.to_bytes(), MEMORY).unwrap();
    assert_eq!((read.coarse_timer, read.whole().cpu, read.stages.len()), (true, Duration::from_millis(5), 1));
}
