//! Tests that the reader accepts what was written, and nothing else.

use std::time::Duration;

use jiff::Timestamp;
use workload_profiles::{Notice, workload::Goodput};

use super::{Findings, KeptRun};
use crate::{
    load_result::{LoadResult, NotMeasured, RuleEnd, StageResult},
    phase::{IssuedPhase, PhaseEnd, StopReason},
    recorder::{Keep, Recorder},
    rows_used::RowsUsed,
    vitals::Vitals,
    wire::tests::random::{Draws, Load},
};

const MEMORY: usize = 1 << 30;

fn load(requests: u64) -> LoadResult {
    let mut draws = Draws(7);
    let load = Load::new(&mut draws).with_keep(Keep::RecordsAndGaps);
    let mut recorder = load.recorder();
    let mut worker = load.recorder();
    for number in 0..requests {
        let event = load.event(&mut draws, number);
        event.record(if number % 3 == 0 { &mut worker } else { &mut recorder });
    }
    recorder.add(worker);
    let stage = StageResult {
        measured_rate: Some(Err(NotMeasured::TooFewFalls { stage: "s".into(), falls: 1 })),
        ended_by: Some(RuleEnd { rule: 1, at: Duration::from_secs(3) }),
    };
    let end = Some(PhaseEnd::TooManyOutstanding { issued: 4, outstanding: 3 });
    LoadResult {
        recorder,
        zero: Duration::from_secs(9),
        started: Timestamp::from_millisecond(1_700_000_000_123).unwrap(),
        phases: vec![None, Some(IssuedPhase { began: None, end })],
        stages: vec![stage, StageResult { measured_rate: Some(Ok(2.5.try_into().unwrap())), ended_by: None }],
        stopped: Some(StopReason::Deadline),
        unissued: 3,
        issued: requests,
        rows: Some(RowsUsed { rows: 5, begun: 4, distinct: 3 }),
        own_cpu: Duration::from_millis(7),
        workers: Vec::new(),
        vitals: Vitals::default(),
        wall: Duration::from_secs(60),
        notices: vec![Notice { path: "a.b".into(), message: "c".into() }],
    }
}

fn findings() -> Findings {
    Findings { doubts: vec!["a doubt".into()], lost_target: Some("it is gone".into()) }
}

fn bytes(requests: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    KeptRun::new(load(requests), findings()).unwrap().write(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_written_is_read_again() {
    for requests in [0, 5, 6_000] {
        let bytes = bytes(requests);
        let (read, found) = KeptRun::read(&mut &bytes[..], MEMORY).unwrap().into_load();
        assert_eq!(found, findings());
        let mut expected = load(requests);
        // Outputs are not part of a kept run. If the run stores them, they are in other files.
        expected.recorder.outputs.clear();
        assert!(read.to_bytes() == expected.to_bytes(), "{requests}");
    }
}

#[test]
fn what_is_cut_or_changed_or_too_large_is_refused() {
    let bytes = bytes(300);
    let refused = |bytes: &[u8], memory| KeptRun::read(&mut &bytes[..], memory).unwrap_err().to_string();
    for length in [0, 4, 14, 100, bytes.len() - 1] {
        refused(&bytes[..length], MEMORY);
    }
    for place in (0..bytes.len()).step_by(997) {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        refused(&changed, MEMORY);
    }
    assert!(refused(&[&bytes[..], &[0]].concat(), MEMORY).contains("follow the end"));
    assert!(refused(&bytes, 10_000).contains("raise the limit"));
    assert!(refused(b"something else that is longer than a header", MEMORY).contains("no measurement"));
}

#[test]
fn a_load_without_records_is_not_kept() {
    let recorder = Recorder::new(1, Goodput::default(), Keep::Summary);
    assert!(KeptRun::new(LoadResult { recorder, ..load(0) }, Findings::default()).is_none());
}
