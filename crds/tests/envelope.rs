//! The accuracy of a run is never left out of the termination message.

use crds::{
    AccuracyFigureStatus, AccuracyStatus, AccuracyVerdict, Met, ObjectiveStatus, Outcome, StageSummary,
    accuracy::MAX_FIGURES,
    envelope::{Core, Envelope, MAX_BYTES},
};

#[test]
fn the_largest_accuracy_survives_beside_many_objectives_and_stages() {
    let figure = |number: usize| AccuracyFigureStatus {
        name: format!("{number}{}", "n".repeat(39)),
        value: "9".repeat(32),
        limit: "l".repeat(64),
        met: Some(Met::Inconclusive),
    };
    let accuracy = AccuracyStatus {
        check: "c".repeat(40),
        verdict: AccuracyVerdict::Undecided,
        scored: u64::MAX,
        figures: (0..MAX_FIGURES).map(figure).collect(),
    };
    let objective = |number: usize| ObjectiveStatus {
        name: format!("{number:02}{}", "o".repeat(38)),
        met: Met::False,
        observed: "12.345678901s".into(),
        limit: "1234567890".into(),
        run: "r30".into(),
    };
    let stage = |number: usize| StageSummary {
        name: format!("r{number}000.125"),
        requests: 10_000_000,
        failed: 1_000_000,
        cancelled: 0,
        ttft_p99_microseconds: None,
        itl_p99_microseconds: None,
        output_tokens_per_second_milli: None,
    };
    let envelope = Envelope {
        core: Core {
            run_uid: "2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11".into(),
            attempt: 1,
            outcome: Outcome::Invalid,
            reason: "AccuracyUndecided".into(),
            message: "m".repeat(1_000),
            model: "meta-llama/Llama-3.1-8B-Instruct".into(),
            load_start_time: None,
            folder: None,
            partial: false,
            summary: None,
            search: None,
            objectives: None,
            deleted_folders: 0,
            artifacts: Vec::new(),
        },
        stages: (0..24).map(stage).collect(),
        stages_truncated: false,
        objectives: (0..32).map(objective).collect(),
        accuracy: Some(accuracy.clone()),
    };
    let text = envelope.to_text();
    assert!(text.len() <= MAX_BYTES, "{}", text.len());
    let read = Envelope::parse(&text).unwrap();
    assert_eq!(read.accuracy, Some(accuracy));
    assert!(read.stages_truncated && !read.objectives.is_empty(), "{} objectives", read.objectives.len());
}
