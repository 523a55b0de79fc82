//! The termination message of the launcher: two JSON lines, the only way from the launcher into the status.
//!
//! The first line is the core: the figures, and the data that identify the run. If the message is cut, only the second line is damaged, and only rows
//! of stages and objectives and the last artifacts are lost. The kubelet keeps 4,096 bytes of a container's message, but only 2,048 if a pod has six
//! containers. The message contains no prompts, outputs, response bodies or headers.

use jiff::Timestamp;
#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    accuracy::AccuracyStatus,
    hex,
    objective::{Met, ObjectiveCounts, ObjectiveStatus},
    outcome::Outcome,
    reason::{LauncherReason, Reported},
    search_status::SearchStatus,
    summary::{RunSummary, StageSummary},
};

/// Maximum length of the core line, in bytes, including its line break.
pub const MAX_CORE_BYTES: usize = 1_536;
/// Maximum length of the whole message, in bytes.
pub const MAX_BYTES: usize = 4_096;
/// Maximum number of stage rows in a status.
pub const MAX_STAGES: usize = 24;
/// Maximum number of objectives in a status.
pub const MAX_OBJECTIVES: usize = crate::benchmark_run::MAX_OBJECTIVES;
/// Maximum number of files in a status.
pub const MAX_ARTIFACTS: usize = 16;
const VERSION: u32 = 1;
const MAX_MESSAGE_CHARS: usize = 300;

/// The message from the launcher to the operator, sent when the launcher ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The figures, and the data that identify the run and the attempt.
    pub core: Core,
    /// The first stages, as many as fit.
    pub stages: Vec<StageSummary>,
    /// Whether rows of stages are missing.
    pub stages_truncated: bool,
    /// The objectives, as many as fit. If not all fit, missed and undecided objectives come first.
    pub objectives: Vec<ObjectiveStatus>,
    /// The accuracy of the answers, if they were scored.
    pub accuracy: Option<AccuracyStatus>,
}

/// The first line of the message.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Core {
    /// UID of the BenchmarkRun. The operator ignores a message with the UID of another run.
    pub run_uid: String,
    /// The attempt that the message describes.
    pub attempt: u32,
    /// The result of the run.
    pub outcome: Outcome,
    /// The reason, in one word: `RunSucceeded`, or what went wrong.
    pub reason: Reported<LauncherReason>,
    /// The reason as a sentence, with the remedy. At most 300 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The model that was measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// When the load began: time zero of the figures.
    pub load_start_time: Option<Timestamp>,
    /// The results folder below the mounted volume. It is absent if nothing was stored.
    pub folder: Option<String>,
    /// Whether the run was stopped before all its requests were issued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The figures, if there are any.
    pub summary: Option<RunSummary>,
    /// The result of the search; absent if the run was none.
    pub search: Option<Box<SearchStatus>>,
    /// Number of objectives per result; absent without objectives.
    pub objectives: Option<ObjectiveCounts>,
    /// How many folders of earlier runs `storage.pvc.retention` deleted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deleted_folders: u32,
    /// The files of the results folder, as many as fit. Files that do not fit into the first line follow in the second line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactRef>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// One file of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct ArtifactRef {
    /// The unique name of the file in the results folder.
    #[cfg_attr(feature = "kube", schemars(length(max = 128)))]
    pub name: String,
    /// The URI of the file, such as `pvc://workload-pvc/chat-r42-2db482-a1/report.json`. The launcher, which does not know the claim, leaves it out;
    /// the operator fills it in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 1024)))]
    pub uri: String,
    /// The size of the file.
    pub bytes: u64,
    /// SHA-256 of the file's content, in hex.
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub sha256: String,
}

/// The reason why a text is not a valid envelope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The launcher wrote no envelope: it was killed, or another program wrote the text.
    #[error("the termination message was not written by the launcher")]
    Missing,
    /// The message was cut or changed after it was written.
    #[error("the termination message is damaged: {0}")]
    Damaged(String),
    /// The message was written by another release.
    #[error(
        "the termination message has version {0}, and this operator reads version {VERSION}; give operator and launcher the same release"
    )]
    Version(u32),
    /// The checksum is correct, but the message has a value that this release does not know.
    #[error("the termination message cannot be read: {0}; give operator and launcher the same release")]
    Unreadable(String),
}

#[derive(Serialize, Deserialize)]
struct CoreLine<T> {
    benchwright: u32,
    sum: String,
    core: T,
}

#[derive(Serialize, Deserialize)]
struct SecondLine {
    stages: Vec<StageSummary>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    objectives: Vec<ObjectiveStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accuracy: Option<AccuracyStatus>,
    /// The artifacts that did not fit into the core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
}

impl Envelope {
    /// Returns the text of the termination message: at most [`MAX_BYTES`], its first line at most [`MAX_CORE_BYTES`]. If the core is too long, its
    /// last artifacts move to the second line. If the core is still too long, the sentence in `message` is shortened. If the second line is too long,
    /// entries are dropped from the end of its lists: first artifacts, then stage rows, then objectives. Of the objectives, those that are met are
    /// dropped first. The accuracy is never dropped. If stage rows are dropped, `stages_truncated` is set.
    pub fn to_text(&self) -> String {
        let mut core = self.core.clone();
        core.message = core.message.chars().take(MAX_MESSAGE_CHARS).collect();
        core.artifacts.truncate(MAX_ARTIFACTS);
        let mut artifacts = core.artifacts.clone();
        let mut first = core_line(&core);
        while first.len() + 1 > MAX_CORE_BYTES {
            if core.artifacts.pop().is_none() {
                if core.message.is_empty() {
                    break;
                }
                let keep = core.message.chars().count() * 2 / 3;
                core.message = core.message.chars().take(keep).collect();
            }
            first = core_line(&core);
        }
        artifacts.drain(..core.artifacts.len());
        let room = MAX_BYTES.saturating_sub(first.len() + 1);
        let mut stages = self.stages.clone();
        stages.truncate(MAX_STAGES);
        let mut objectives = self.objectives.clone();
        loop {
            let truncated = self.stages_truncated || stages.len() < self.stages.len();
            let second = json(&SecondLine {
                stages: stages.clone(),
                truncated,
                objectives: objectives.clone(),
                accuracy: self.accuracy.clone(),
                artifacts: artifacts.clone(),
            });
            if second.len() < room {
                return format!("{first}\n{second}\n");
            }
            // Objectives decide the outcome, so they are dropped last.
            if artifacts.pop().is_none() && stages.pop().is_none() && drop_objective(&mut objectives).is_none() {
                return format!("{first}\n{second}\n");
            }
        }
    }

    /// Parses a termination message. A damaged second line yields an envelope without stages, and with the artifacts of the first line only.
    pub fn parse(text: &str) -> Result<Envelope, EnvelopeError> {
        let (first, second) = text.split_once('\n').unwrap_or((text, ""));
        if !first.starts_with("{\"benchwright\":") {
            return Err(EnvelopeError::Missing);
        }
        let damaged = |error: serde_json::Error| EnvelopeError::Damaged(error.to_string());
        let line: CoreLine<serde_json::Value> = serde_json::from_str(first).map_err(damaged)?;
        if line.benchwright != VERSION {
            return Err(EnvelopeError::Version(line.benchwright));
        }
        if checksum(&json(&line.core)) != line.sum {
            return Err(EnvelopeError::Damaged("its checksum does not match".into()));
        }
        let core = serde_json::from_value(line.core);
        let mut core: Core = core.map_err(|error| EnvelopeError::Unreadable(error.to_string()))?;
        let Ok(line) = serde_json::from_str::<SecondLine>(second.trim_end()) else {
            return Ok(Envelope {
                core,
                stages: Vec::new(),
                stages_truncated: true,
                objectives: Vec::new(),
                accuracy: None,
            });
        };
        core.artifacts.extend(line.artifacts);
        let SecondLine { stages, truncated, objectives, accuracy, .. } = line;
        Ok(Envelope { core, stages, stages_truncated: truncated, objectives, accuracy })
    }
}

/// Removes the last met objective from the list. If none is met, removes the last objective.
fn drop_objective(objectives: &mut Vec<ObjectiveStatus>) -> Option<ObjectiveStatus> {
    let last_met = objectives.iter().rposition(|it| it.met == Met::True);
    last_met.map(|it| objectives.remove(it)).or_else(|| objectives.pop())
}

fn core_line(core: &Core) -> String {
    let sum = checksum(&json(core));
    json(&CoreLine { benchwright: VERSION, sum, core })
}

/// The first eight hex digits of the SHA-256. They detect damage, but do not protect against forgery.
fn checksum(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..4])
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("text keys and finite numbers always serialize")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{SearchEdge, SearchEnd, benchmark_run::SearchOver, summary::Quantiles};

    fn largest() -> Envelope {
        let quantiles = Some(Quantiles {
            p50_microseconds: 123_456.into(),
            p90_microseconds: 1_234_567.into(),
            p99_microseconds: 12_345_678.into(),
        });
        let stage = |n: u32| StageSummary {
            name: format!("r{n}000.125"),
            requests: 10_000_000,
            failed: 1_000_000,
            cancelled: 1_000_000,
            ttft_p99_microseconds: Some(12_345_678.into()),
            itl_p99_microseconds: Some(12_345_678.into()),
            output_tokens_per_second_milli: Some(1_234_567_000.into()),
        };
        let artifact = |n: u32| ArtifactRef {
            name: format!("benchmark_report_v0.2-stage-{n}.yaml"),
            uri: String::new(),
            bytes: 123_456_789,
            sha256: "0123456789abcdef".repeat(4),
        };
        Envelope {
            core: Core {
                run_uid: "2f9c4e0a-9d1b-4e57-8d8c-0a2f6f3f9b11".into(),
                attempt: 11,
                outcome: Outcome::Invalid,
                reason: "SendLagTooLarge".into(),
                message: "m".repeat(1_000),
                model: "meta-llama/Llama-3.1-8B-Instruct".into(),
                load_start_time: Some("2026-01-02T03:04:05Z".parse().unwrap()),
                folder: Some("a-run-with-a-name-of-forty-six-characters-long-2db482-a11".into()),
                partial: true,
                summary: Some(RunSummary {
                    requests: 10_000_000,
                    failed: 1_000_000,
                    cancelled: 1_000_000,
                    duration_microseconds: 604_800_000_000.into(),
                    send_lag_p99_microseconds: Some(12_345.into()),
                    receive_delay_p99_microseconds: Some(12_345.into()),
                    cpu_share_milli: Some(988.into()),
                    ttft: quantiles,
                    itl: quantiles,
                    tpot: quantiles,
                    latency: quantiles,
                    requests_per_second_milli: Some(12_345_000.into()),
                    output_tokens_per_second_milli: Some(1_234_567_000.into()),
                    total_tokens_per_second_milli: Some(12_345_678_000.into()),
                    mean_of_runs: Some(30),
                }),
                search: Some(Box::new(SearchStatus {
                    over: SearchOver::Concurrency,
                    answer_milli: Some(1_000_000_000.into()),
                    from_calm_milli: Some(1_000_000_000.into()),
                    risk_milli: Some(500.into()),
                    edge: Some(SearchEdge {
                        estimate_milli: 1_000_000_000.into(),
                        low_milli: 1_000_000_000.into(),
                        high_milli: 1_000_000_000.into(),
                    }),
                    stopped: SearchEnd::HighestLoadPasses.into(),
                    trials: 64,
                    resumed_trials: 60,
                    budget_seconds: 86_400,
                    used_seconds: 86_400,
                })),
                objectives: Some(ObjectiveCounts { met: 10, missed: 11, inconclusive: 11 }),
                deleted_folders: 10_000,
                artifacts: (0..16).map(artifact).collect(),
            },
            stages: (0..64).map(stage).collect(),
            stages_truncated: false,
            objectives: Vec::new(),
            accuracy: None,
        }
    }

    #[test]
    fn the_largest_envelope_fits_and_keeps_its_figures() {
        let text = largest().to_text();
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        assert!(text.find('\n').is_some_and(|core| core < MAX_CORE_BYTES));
        let read = Envelope::parse(&text).unwrap();
        assert_eq!(read.core.summary, largest().core.summary);
        assert_eq!(read.core.search, largest().core.search);
        assert!(read.stages_truncated && read.stages.len() >= 12, "{}", read.stages.len());
        let core = text.find('\n').map_or(0, |it| it + 1);
        println!(
            "figure 9: the largest message has {} of at most {MAX_BYTES} bytes, its core {core} of {MAX_CORE_BYTES}",
            text.len()
        );
    }

    fn objective(n: usize, met: Met) -> ObjectiveStatus {
        ObjectiveStatus {
            name: format!("{n:02}{}", "o".repeat(38)),
            met,
            observed: "12.345678901s".into(),
            limit: "1234567890".into(),
            run: "r30".into(),
        }
    }

    #[test]
    fn objectives_that_are_not_met_are_kept_longest() {
        let mut envelope = largest();
        let met = |n: usize| if n == 30 { Met::False } else { Met::True };
        envelope.objectives = (0..32).map(|n| objective(n, met(n))).collect();
        let text = envelope.to_text();
        assert!(text.len() <= MAX_BYTES && text.find('\n').is_some_and(|core| core < MAX_CORE_BYTES));
        let read = Envelope::parse(&text).unwrap();
        assert_eq!(read.core.objectives, envelope.core.objectives);
        assert!(read.objectives.len() >= 16, "{}", read.objectives.len());
        assert!(read.objectives.contains(&envelope.objectives[30]));
        assert_eq!(read.objectives[..3], envelope.objectives[..3], "their order stays");
    }

    #[test]
    fn a_small_envelope_survives_whole() {
        let mut envelope = largest();
        envelope.core.message = "one sentence".into();
        envelope.core.artifacts.truncate(2);
        envelope.stages.truncate(3);
        envelope.objectives = vec![objective(0, Met::Inconclusive), objective(1, Met::True)];
        assert_eq!(Envelope::parse(&envelope.to_text()), Ok(envelope));
    }

    #[test]
    fn what_a_loadgen_test_leaves_is_listed_whole_beside_the_longest_core() {
        let mut envelope = largest();
        let logs = ["summary.txt", "detail.txt", "accuracy.json"].map(|it| format!("mlperf_log_{it}"));
        let logs = ["Accuracy", "Performance"].map(|it| logs.clone().map(|log| format!("{it}/{log}"))).concat();
        let reports = ["accuracy", "performance"].map(|it| format!("benchmark_report_v0.2-{it}.yaml"));
        let others = ["run.yaml", "profile.yaml", "report.json", "report.md", "config.json", "summary.json"];
        let names = others.into_iter().map(str::to_owned).chain(logs).chain(reports).chain(["requests.parquet".into()]);
        envelope.core.artifacts.truncate(names.clone().count());
        for (artifact, name) in envelope.core.artifacts.iter_mut().zip(names) {
            artifact.name = name;
        }
        envelope.stages.truncate(2);
        envelope.core.search = None;
        let read = Envelope::parse(&envelope.to_text()).unwrap();
        assert_eq!(read.core.artifacts.len(), 15);
        assert_eq!((read.core.artifacts, read.stages), (envelope.core.artifacts, envelope.stages));
    }

    #[test]
    fn a_cut_anywhere_keeps_the_core_or_is_an_error() {
        let text = largest().to_text();
        let core_end = text.find('\n').unwrap();
        for cut in 0..text.len() {
            match Envelope::parse(&text[..cut]) {
                Ok(read) => assert!(cut >= core_end && read.core.summary == largest().core.summary, "{cut}"),
                Err(_) => assert!(cut < core_end, "{cut}"),
            }
        }
        println!("figure 9: cut at any of {} bytes, it keeps its core or is refused", text.len());
    }

    #[test]
    fn another_text_is_no_envelope() {
        assert_eq!(Envelope::parse("exec format error"), Err(EnvelopeError::Missing));
        assert_eq!(Envelope::parse(""), Err(EnvelopeError::Missing));
        let other = largest().to_text().replacen("\"benchwright\":1", "\"benchwright\":2", 1);
        assert_eq!(Envelope::parse(&other), Err(EnvelopeError::Version(2)));
        let mut newer = serde_json::to_value(largest().core).unwrap();
        newer["outcome"] = "Superseded".into();
        let line = CoreLine { benchwright: VERSION, sum: checksum(&json(&newer)), core: newer };
        let error = Envelope::parse(&json(&line)).unwrap_err().to_string();
        assert!(error.contains("`Superseded`") && error.ends_with("the same release"), "{error}");
        let changed = largest().to_text().replacen("\"requests\":10000000", "\"requests\":20000000", 1);
        assert!(matches!(Envelope::parse(&changed), Err(EnvelopeError::Damaged(_))));
    }

    proptest! {
        #[test]
        fn a_text_that_no_launcher_wrote_is_refused(text in "\\PC{0,200}") {
            prop_assert!(Envelope::parse(&text).is_err());
            let begun = format!("{{\"benchwright\":{text}");
            prop_assert!(Envelope::parse(&begun).is_err());
        }
    }
}
