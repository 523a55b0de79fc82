//! The section on how to repeat the run, and how to decide stages that are undecided.

use crds::{Met, benchmark_run::Harness};
use document::{LabelsDocument, ReportDocument, StageDocument};
use serde::Serialize;
use workload_profiles::workload::Load;

use super::{head::Fact, tables};
use crate::{
    panels::LoadNames,
    table::{Table, lines},
    text,
};

/// The content of the section: commands, and everything that identifies the run.
#[derive(Serialize)]
pub(super) struct Again {
    /// Sentences about the prompts of a repeated run.
    prompts: Vec<String>,
    decide: Option<Decide>,
    labels: Vec<Fact>,
    identity: Vec<Table>,
}

/// A longer run that may decide the stages that are undecided in this run.
#[derive(Serialize)]
struct Decide {
    title: String,
    /// The command; empty if the profile has no duration that can be lengthened.
    command: String,
    words: String,
}

/// Maximum number of stages that one command lengthens.
const MOST_DECIDED: usize = 8;
/// Factor for the duration of undecided stages. Four times the duration gives four times as many answers, which halve the width of intervals.
const LONGER: f64 = 4.0;

impl Again {
    pub(super) fn new(document: &ReportDocument, loads: &LoadNames) -> Again {
        Again {
            prompts: prompts(document),
            decide: decide(document, loads),
            labels: labels(&document.labels),
            identity: vec![tables::identity(document)],
        }
    }
}

/// The run that may decide the undecided stages; `None` if there are none, or too many.
fn decide(document: &ReportDocument, loads: &LoadNames) -> Option<Decide> {
    let verdicts = document.verdicts();
    let undecided = |it: &StageDocument| {
        !it.profiled && document.counts(it) && verdicts.get(it.name.as_str()) == Some(&Met::Inconclusive)
    };
    let stages: Vec<usize> =
        document.stages.iter().enumerate().filter(|(_, it)| undecided(it)).map(|it| it.0).collect();
    if stages.is_empty() || stages.len() > MOST_DECIDED {
        return None;
    }
    let names: Vec<String> = stages.iter().map(|it| loads.names[*it].clone()).collect();
    let title = format!("Decide {} {}", loads.title.to_lowercase(), text::listed(&names));
    let longer: Option<Vec<String>> = stages.iter().map(|it| longer(document, *it)).collect();
    let closer = "Four times as many answers make intervals about half as wide.";
    Some(match longer {
        None => {
            Decide { title, command: String::new(), words: format!("Run these stages four times as long. {closer}") }
        }
        Some(longer) => {
            let all = document.stages.iter().enumerate().map(|(index, it)| match stages.contains(&index) {
                true => LONGER * seconds(it),
                false => seconds(it),
            });
            Decide {
                title,
                command: format!("benchwright run -f benchmarkrun.yaml -o {}", longer.join(",")),
                words: format!("Takes about {}. {closer}", text::length(all.sum::<f64>() * 1e3)),
            }
        }
    })
}

/// An override that makes a stage four times as long, in the format of its profile. `None` if the stage has no duration.
fn longer(document: &ReportDocument, index: usize) -> Option<String> {
    let stage = &document.stages[index];
    let (kind, duration) = match stage.load {
        Load::Open { duration, .. } => ("open", duration?),
        Load::Closed { duration, .. } => ("closed", duration?),
        _ => return None,
    };
    let seconds = (LONGER * duration.0.as_secs_f64()).round().max(1.0);
    match document.resolved_run.harness {
        Harness::Benchwright => Some(format!("stages.{index}.load.{kind}.duration={seconds}s")),
        Harness::InferencePerf => Some(format!("load.stages.{index}.duration={seconds}")),
        _ => None,
    }
}

fn seconds(stage: &StageDocument) -> f64 {
    match stage.load {
        Load::Open { duration: Some(it), .. } | Load::Closed { duration: Some(it), .. } => it.0.as_secs_f64(),
        _ => stage.figures.duration_ms / 1e3,
    }
}

/// The labels that must be equal in two runs so that they can be compared.
fn labels(labels: &LabelsDocument) -> Vec<Fact> {
    labels.named().map(|(name, value)| Fact::new(name, value)).collect()
}

fn prompts(document: &ReportDocument) -> Vec<String> {
    let salt = &document.seeds.prompt_salt;
    let seed = document.seeds.run.0;
    let prompts = match document.labels.prompts.as_str() {
        "fresh" | "shared" => Some(format!(
            "It sends the prompts of this run again, because it sets profile.promptSalt {salt}. For new prompts, remove promptSalt."
        )),
        "replayed" | "repeated" => Some(format!(
            "It sends the prompts of this run again, because it has seed {seed}: a server may have them in its cache. For new prompts, set another spec.seed."
        )),
        _ => None,
    };
    lines(prompts)
}
