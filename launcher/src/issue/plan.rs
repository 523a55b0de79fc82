//! Plan: all that is decided before the first request. Pure.

use std::time::Duration;

use crds::{benchmark_run::Api, units::Seed};
use workload_profiles::{
    Workload,
    workload::{Goodput, Load, MAX_REQUESTS, TraceEntry},
};

use crate::{
    client::{body::BodyTemplate, patience::Patience},
    recorder::{Keep, Recorder},
    requests::{Recorded, Requests, RequestsError},
    schedule::{Schedule, schedule},
};

/// A workload with its times drawn and its requests ready to be made.
#[derive(Debug)]
pub struct Plan {
    pub(super) stages: Vec<PlannedStage>,
    pub(super) requests: Requests,
    pub(super) template: BodyTemplate,
    /// Answers to each prompt.
    pub(super) choices: u32,
    pub(super) streaming: bool,
    pub(super) patience: Patience,
    pub(super) connect_timeout: Duration,
    goodput: Goodput,
}

/// A stage as it will be issued.
#[derive(Debug)]
pub(super) struct PlannedStage {
    pub(super) load: PlannedLoad,
    pub(super) pause_after: Duration,
    /// Recorded lengths of the prompts and answers, by number; empty where the request source decides.
    pub(super) lengths: Vec<Recorded>,
}

/// When requests are due.
#[derive(Debug)]
pub(super) enum PlannedLoad {
    /// At these times.
    Open(Schedule),
    /// As slots become free.
    Closed { concurrency: u64, count: u64 },
}

impl PlannedLoad {
    pub(super) fn count(&self) -> u64 {
        match self {
            PlannedLoad::Open(schedule) => schedule.len(),
            PlannedLoad::Closed { count, .. } => *count,
        }
    }
}

impl PlannedStage {
    /// The recorded lengths of a request.
    pub(super) fn recorded(&self, number: u64) -> Recorded {
        usize::try_from(number).ok().and_then(|it| self.lengths.get(it)).copied().unwrap_or_default()
    }
}

impl Plan {
    /// Draws every time and prepares the source of the requests. `traces` holds what the stages that replay a trace have
    /// to replay, one for each stage.
    ///
    /// # Errors
    /// What the requests hold is too large, or nothing that the API takes.
    pub fn new(
        workload: &Workload,
        traces: &[Vec<TraceEntry>],
        model: &str,
        api: Api,
        seed: Seed,
    ) -> Result<Plan, RequestsError> {
        let form = workload.requests.form();
        if !BodyTemplate::can_hold(api, form) {
            return Err(RequestsError::TokenIdsInChat);
        }
        let stages = workload.stages.iter().enumerate().map(|(index, stage)| {
            let trace = traces.get(index).map_or(&[][..], Vec::as_slice);
            let seed = seed.derive(&format!("stage/{index}/arrivals"));
            PlannedStage {
                load: match (&stage.load, schedule(&stage.load, trace, seed)) {
                    (Load::Closed { concurrency, count, .. }, _) => PlannedLoad::Closed {
                        concurrency: u64::from(*concurrency),
                        count: count.unwrap_or(MAX_REQUESTS),
                    },
                    (_, schedule) => PlannedLoad::Open(schedule.unwrap_or_default()),
                },
                pause_after: stage.pause_after.0,
                lengths: match &stage.load {
                    Load::Trace { lengths: true, .. } => trace.iter().map(Recorded::of).collect(),
                    _ => Vec::new(),
                },
            }
        });
        Ok(Plan {
            stages: stages.collect(),
            requests: Requests::new(&workload.requests, seed)?,
            template: BodyTemplate::new(api, model, workload.streaming, &workload.sampling, form),
            choices: workload.sampling.choices(),
            streaming: workload.streaming,
            patience: Patience::new(&workload.timeouts, workload.streaming),
            connect_timeout: workload.timeouts.connect.0,
            goodput: workload.goodput.clone(),
        })
    }

    /// Requests of all stages.
    pub fn requests(&self) -> u64 {
        self.stages.iter().map(|it| it.load.count()).sum()
    }

    pub(super) fn recorder(&self, keep: Keep) -> Recorder {
        Recorder::new(self.stages.len(), self.goodput.clone(), keep)
    }
}
