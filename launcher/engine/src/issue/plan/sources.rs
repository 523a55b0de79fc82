//! Adds the content of files to a plan: rows, block hashes, recordings, and the material for texts.

use std::sync::Arc;

use workload_profiles::{
    Notice, Workload,
    workload::{AcrossStages, Load, RequestSource, Stage, UsedUp},
};

use super::{LoadPlan, PlannedLoad};
use crate::{
    issue::outputs::KeepOutputs,
    recorded,
    requests::{RequestsError, RowChoice, Seeds, Texts},
    sessions::PlannedSessions,
    trace::Blocks,
};
use measurement::rows_used::RowsUsed;
use prompts::{Rows, source::PromptSource};

impl LoadPlan {
    /// Returns the plan with the rows of the workload's data set, if it has one. A stage that ends with its rows gets at most one request
    /// per row.
    ///
    /// # Errors
    /// The load can need more rows than there are, and the workload does not allow rows to be repeated.
    pub fn with_rows(
        mut self,
        workload: &Workload,
        rows: Arc<Rows>,
        seeds: Seeds<'_>,
    ) -> Result<LoadPlan, RequestsError> {
        let RequestSource::DataSet(set) = &workload.requests else { return Ok(self) };
        let most = rows.len() as u64;
        let wanted = self.stages.iter().filter_map(|it| it.phase.as_ref()).map(|it| it.row_count()).max();
        if let Some(samples) = wanted.filter(|it| *it > most) {
            return Err(RequestsError::TooFewSamples { samples, rows: most });
        }
        let mut begin = Some(0);
        for (stage, planned) in workload.stages.iter().zip(&mut self.stages) {
            // The requests are LoadGen samples, or belong to sessions, so each row can be sent several times.
            if planned.phase.is_some() || self.sessions.as_ref().is_some_and(PlannedSessions::are_dealt_requests) {
                continue;
            }
            let name = || stage.name.clone();
            if set.across_stages == AcrossStages::Restart {
                begin = Some(0);
            }
            // The request times of a measured stage are drawn when it begins, which is too late to omit some.
            let is_refused = set.used_up == UsedUp::EndStage && matches!(planned.load, PlannedLoad::Measured(_));
            match set.used_up {
                UsedUp::Repeat | UsedUp::Draw => {}
                used_up if used_up == UsedUp::Refuse || is_refused => {
                    let wanted = planned.load.most();
                    if begin.zip(wanted).is_none_or(|(begin, wanted)| begin + wanted > most) {
                        let wanted = wanted.map_or_else(
                            || "as many requests as its time allows".into(),
                            |it| format!("{it} requests"),
                        );
                        let rows = most.saturating_sub(begin.unwrap_or_default());
                        return Err(RequestsError::TooFewRows { stage: name(), wanted, rows });
                    }
                }
                UsedUp::Refuse | UsedUp::EndStage => {
                    let begin = begin.ok_or_else(|| RequestsError::UnknownFirstRow { stage: name() })?;
                    let left = most.saturating_sub(begin);
                    if planned.end_after(left, stage, workload.window) {
                        self.notices.push(ends_with_rows(stage, left));
                    }
                }
            }
            begin = begin.zip(planned.load.known()).map(|(begin, requests)| begin + requests);
        }
        let requests: Vec<_> = self.stages.iter().map(|it| it.load.known()).collect();
        let choice = Arc::new(RowChoice::new(most, (set.used_up, set.across_stages), seeds.run, &requests));
        self.sessions = self.sessions.map(|it| it.with_rows(&rows, &choice));
        self.requests = self.requests.with_rows(rows, choice);
        Ok(self)
    }

    /// Returns the plan with the generated prompts of the workload. Each stage sends every prompt once, from the first to the last.
    ///
    /// # Errors
    /// The number of requests in a stage depends on earlier stages.
    pub(crate) fn with_prompts(
        mut self,
        workload: &Workload,
        prompts: &Arc<dyn PromptSource>,
    ) -> Result<LoadPlan, RequestsError> {
        for (stage, planned) in workload.stages.iter().zip(&mut self.stages) {
            // The request times of a measured stage are drawn when it begins, which is too late to omit some.
            if matches!(planned.load, PlannedLoad::Measured(_)) {
                let wanted = "as many requests as its time allows".into();
                return Err(RequestsError::TooFewRows { stage: stage.name.clone(), wanted, rows: prompts.count() });
            }
            planned.end_after(prompts.count(), stage, workload.window);
            planned.outputs = KeepOutputs::All;
        }
        self.requests = self.requests.with_prompts(Arc::clone(prompts));
        self.keeps_token_ids = false;
        self.bounds_answers = !workload.sampling.ignore_eos;
        Ok(self)
    }

    /// Returns the plan with the block hashes of the traces, one entry per stage.
    ///
    /// # Errors
    /// The requests are built from blocks, and a stage has no hashes.
    pub fn with_blocks(mut self, workload: &Workload, blocks: &[Arc<Blocks>]) -> Result<LoadPlan, RequestsError> {
        if matches!(workload.requests, RequestSource::TraceBlocks { .. }) {
            let has_hashes = |stage: usize| blocks.get(stage).is_some_and(|it| it.has_hashes());
            let mut stages = workload.stages.iter().enumerate();
            if let Some((_, stage)) = stages.find(|(place, _)| !has_hashes(*place)) {
                return Err(RequestsError::NoHashes { stage: stage.name.clone() });
            }
            self.requests = self.requests.with_blocks(blocks.to_vec());
        }
        Ok(self)
    }

    /// Returns the plan with the recorded sessions of the workload, if it has any. Each stage sends a session at most once. If the number of sessions
    /// that a stage sends is unknown before the load, the next stage can send some of them again.
    ///
    /// # Errors
    /// A stage needs more sessions than remain, or no session remains.
    pub(crate) fn with_recordings(
        mut self,
        workload: &Workload,
        recordings: Arc<Vec<recorded::Session>>,
    ) -> Result<LoadPlan, RequestsError> {
        let RequestSource::Recorded(recorded) = &workload.requests else { return Ok(self) };
        self.sessions = self.sessions.map(|it| it.with_recordings(recordings));
        let all = self.sessions.as_ref().and_then(|it| it.count).unwrap_or_default();
        let mut left = all;
        for planned in &mut self.stages {
            if recorded.across_stages == AcrossStages::Restart {
                left = all;
            }
            let wanted = match &planned.load {
                PlannedLoad::Closed(slots) => slots.count.unwrap_or(1),
                PlannedLoad::Open(_) | PlannedLoad::Measured(_) | PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => 1,
            };
            if wanted > left {
                return Err(RequestsError::TooFewSessions { stage: planned.name.clone(), wanted, left });
            }
            planned.load.truncate(left);
            left = left.saturating_sub(planned.load.known().unwrap_or_default());
        }
        Ok(self)
    }

    /// Returns the plan with the material for texts.
    pub fn with_texts(mut self, texts: Texts) -> LoadPlan {
        self.sessions = self.sessions.map(|it| it.with_texts(texts.clone()));
        self.requests = self.requests.with_texts(texts);
        self
    }

    /// Returns how the rows of the data set were used; `None` for another source. `begun` is the number of sessions that each stage sent.
    pub(in crate::issue) fn rows_used(&self, issued: u64, begun: &[u64]) -> Option<RowsUsed> {
        match &self.sessions {
            Some(sessions) => sessions.rows_used(begun),
            None => self.requests.rows_used(issued),
        }
    }

    /// Returns notices for the report: stages that ended with the rows of a data set, and rows or sessions that were sent more than once. Phases are
    /// excluded, because LoadGen's rules decide how often they send a sample. `begun` is the number of sessions that each stage sent.
    pub(in crate::issue) fn notices(&self, issued: u64, begun: &[u64]) -> Vec<Notice> {
        let repeats = match &self.sessions {
            Some(sessions) => sessions.repeats(begun),
            None => self.requests.repeats(issued).filter(|_| !self.has_phases()),
        };
        self.notices.iter().cloned().chain(repeats).collect()
    }
}

/// The notice for a stage that ends with the rows of the data set.
fn ends_with_rows(stage: &Stage, left: u64) -> Notice {
    let Stage { name, load, .. } = stage;
    let unless = match load {
        Load::Closed { duration: Some(_), .. } => ", unless its duration ends it earlier",
        _ => "",
    };
    let message = match left {
        0 => format!("the stage {name} sends nothing: no row of the data set is left for it"),
        1 => format!("the stage {name} ends with the row of the data set that is left for it{unless}"),
        left => format!("the stage {name} ends with the {left} rows of the data set that are left for it{unless}"),
    };
    Notice { path: "data set".into(), message }
}
