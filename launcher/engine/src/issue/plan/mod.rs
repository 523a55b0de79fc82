//! The plan of a load: all decisions made before the first request. Pure.

mod probe_requests;
mod sources;
mod stage;

use std::{sync::Arc, time::Duration};

use crds::benchmark_run::Api;
use http::HeaderName;
use workload_profiles::{
    Notice, Workload,
    workload::{Goodput, LengthField, Load, OutputLength, PromptForm, RequestSource, StopRule, TraceEntry},
};

use super::{
    classes::{Class, Classes},
    departures::Clients,
    load_error::LoadError,
    measured_rate::MeasuredLoad,
    outputs::KeepOutputs,
    timeline::{PlannedTime, Timeline},
};
use crate::{
    client::{
        body::{BodyTemplate, Streaming},
        request_timeouts::RequestTimeouts,
    },
    requests::{RecordedLengths, Requests, RequestsError, Seeds, TextSeed},
    schedule::{schedule, users::UserTurns},
    sessions::{PlannedSessions, session_header},
};
use clock::Clock;
use measurement::{
    latency_origin::LatencyOrigin,
    phase::Phase,
    recorder::{Keep, RecordBudget, Recorder},
    window::StageWindow,
};
use probe_requests::ProbeRequests;
pub(super) use stage::{PlannedLoad, PlannedStage, Slots, Surge};

/// A workload with drawn request times, from which requests can be generated.
#[derive(Debug)]
pub struct LoadPlan {
    pub(in crate::issue) stages: Vec<PlannedStage>,
    pub(in crate::issue) requests: Requests,
    /// The sessions to which requests belong; `None` if each request is independent.
    pub(in crate::issue) sessions: Option<PlannedSessions>,
    /// The header field for the session id of independent requests.
    pub(in crate::issue) session_header: Option<HeaderName>,
    pub(in crate::issue) probes: ProbeRequests,
    pub(in crate::issue) template: BodyTemplate,
    pub(in crate::issue) classes: Classes,
    class_count: usize,
    /// Whether requests contain chat messages, to which a chat template adds tokens.
    pub(in crate::issue) has_messages: bool,
    /// Number of answers requested per prompt.
    pub(in crate::issue) choices: u32,
    pub(in crate::issue) streaming: bool,
    /// Whether requests whose output is kept also request token ids.
    pub(in crate::issue) keeps_token_ids: bool,
    /// Whether requests specify their output length.
    sends_lengths: bool,
    /// Whether the requested output length is only an upper bound, because the model can end an answer earlier.
    bounds_answers: bool,
    pub(in crate::issue) timeouts: RequestTimeouts,
    pub(in crate::issue) connect_timeout: Duration,
    pub(in crate::issue) stop_rules: Vec<StopRule>,
    goodput: Goodput,
    /// Maximum number of records to keep.
    records: RecordBudget,
    /// Notices for the report: stages that send less than the workload specifies.
    notices: Vec<Notice>,
}
impl LoadPlan {
    /// Draws all request times and prepares the source of the requests. `traces` contains one entry per stage: the trace that the stage
    /// replays. `phases` contains the phase of each stage that is a LoadGen phase.
    ///
    /// # Errors
    /// The requests are too large, or have a form that the API does not accept; or a stage is a phase without queries.
    pub fn new(
        workload: &Workload,
        traces: &[Vec<TraceEntry>],
        phases: &[Option<Arc<dyn Phase>>],
        model: &str,
        api: Api,
        seeds: Seeds<'_>,
    ) -> Result<LoadPlan, LoadError> {
        let form = workload.requests.form();
        if !BodyTemplate::can_hold(api, form) {
            return Err(RequestsError::TokenIdsInChat.into());
        }
        if api == Api::Messages && decides_no_length(&workload.requests) {
            return Err(RequestsError::NoOutputLength.into());
        }
        let phase_of = |index: usize| phases.get(index).cloned().flatten();
        let mut stages = workload.stages.iter().enumerate();
        if let Some((_, stage)) =
            stages.find(|(index, stage)| matches!(stage.load, Load::LoadGen { .. }) && phase_of(*index).is_none())
        {
            return Err(LoadError::NoQueries { stage: stage.name.clone() });
        }
        let stages = workload.stages.iter().enumerate().map(|(index, stage)| {
            let phase = phase_of(index);
            let trace = traces.get(index).map_or(&[][..], Vec::as_slice);
            let seed = |purpose| seeds.run.derive(&format!("stage/{index}/{purpose}"));
            let schedule = match &phase {
                Some(phase) => phase.schedule(),
                None => schedule(&stage.load, trace, seed("arrivals")),
            };
            let measured = MeasuredLoad::new(stage, workload.window, seed("arrivals"));
            PlannedStage {
                name: stage.name.clone(),
                latency_origin: LatencyOrigin::from_load(&stage.load),
                window: StageWindow::new(stage, workload.window, schedule.as_ref()),
                load: match (&stage.load, &phase) {
                    (_, Some(phase)) if schedule.is_none() => PlannedLoad::Stream(Arc::clone(phase)),
                    (Load::Closed { concurrency, count, duration, ramp_up, start_rate }, _) => {
                        PlannedLoad::Closed(Slots {
                            concurrency: u64::from(*concurrency),
                            count: *count,
                            duration: duration.map(|it| it.0),
                            ramp_up: ramp_up.0,
                            start_rate: *start_rate,
                            surge: None,
                        })
                    }
                    _ => match measured {
                        Some(load) => PlannedLoad::Measured(Box::new(load)),
                        None => PlannedLoad::Open(schedule.unwrap_or_default()),
                    },
                },
                pause_after: stage.pause_after.0,
                lengths: match &stage.load {
                    Load::Trace { lengths: true, .. } => trace.iter().map(RecordedLengths::from_entry).collect(),
                    _ => Vec::new(),
                },
                max_concurrency: match (&phase, &stage.load) {
                    (Some(phase), _) => phase.max_concurrency(),
                    (None, Load::Closed { .. }) => None,
                    (None, open) => open.max_concurrency(),
                },
                users: UserTurns::from_load(&stage.load),
                clients: workload.abandonment.map(|it| Clients::new(it, seed("abandonment"))),
                batch: phase.as_ref().and_then(|it| it.batch_size()),
                outputs: match &phase {
                    Some(phase) => KeepOutputs::of_phase(&**phase),
                    None if workload.accuracy.is_some() => KeepOutputs::All,
                    None => KeepOutputs::None,
                },
                phase,
                grace: stage.grace.map(|it| it.0),
            }
        });
        let stages: Vec<PlannedStage> = stages.collect();
        let mut requests =
            Requests::new(&workload.requests, seeds, workload.prompts)?.with_messages(api.has_messages());
        let has_phases = stages.iter().any(|it| it.phase.is_some());
        let sessions = PlannedSessions::new(workload, has_phases, seeds)?;
        if let Some(images) = &workload.images {
            if !api.has_messages() || form != PromptForm::Text || sessions.is_some() {
                return Err(RequestsError::ImagesOutsideOfChat.into());
            }
            let counts: Vec<u64> = stages.iter().map(|it| it.load.count()).collect();
            requests = requests.with_images(images, seeds, workload.prompts, &counts)?;
        }
        Ok(LoadPlan {
            stages,
            probes: ProbeRequests {
                probes: workload.probes,
                texts: TextSeed::new("probes/texts", seeds, workload.prompts),
            },
            requests,
            session_header: session_header(&workload.sessions)?.filter(|_| sessions.is_none()),
            sessions,
            has_messages: api.has_messages(),
            template: BodyTemplate::new(api, model, Streaming::from_workload(workload), &workload.sampling),
            classes: Classes::new(workload, api, model, |it| seeds.run.derive(&format!("stage/{it}/classes")))
                .map_err(LoadError::Headers)?,
            class_count: workload.classes.classes.len(),
            choices: workload.sampling.choices(),
            keeps_token_ids: true,
            streaming: workload.streaming,
            sends_lengths: workload.sampling.length_field != LengthField::NotSent,
            bounds_answers: has_phases && !workload.sampling.ignore_eos,
            timeouts: RequestTimeouts::new(&workload.timeouts, workload.streaming),
            connect_timeout: workload.timeouts.connect.0,
            stop_rules: workload.stop_rules.clone(),
            goodput: workload.goodput.clone(),
            records: RecordBudget::default(),
            notices: Vec::new(),
        })
    }

    /// Returns the output length to put into a request. `asked` is the length that the request source specifies. `None` means that the request
    /// contains no length.
    pub(in crate::issue) fn output_to_send(&self, class: Option<&Class>, asked: Option<u32>) -> Option<u32> {
        class.and_then(|it| it.output).or(asked).filter(|_| self.sends_lengths)
    }

    /// Returns the output length that the server's usage should report for a request with length `sent`; `None` if the server decides.
    pub(in crate::issue) fn output_of_choices(&self, sent: Option<u32>) -> Option<u32> {
        // A server's usage counts the tokens of all choices together.
        sent.map(|it| it.saturating_mul(self.choices)).filter(|_| !self.bounds_answers)
    }

    /// Returns the index of the data set row that a request sends, from 0; `None` if the requests have another source.
    pub(in crate::issue) fn row(&self, stage: usize, number: u64) -> Option<u64> {
        let content = self.stages.get(stage)?.content(number);
        self.requests.row_number(stage, content)
    }

    /// Prepares a stage after `issued` requests of earlier stages. Call it before the stage's first request is generated, and after the
    /// last request of the earlier stages has ended.
    pub(in crate::issue) fn begin_stage(&self, stage: usize, issued: u64) {
        let sessions = self.sessions.as_ref().filter(|it| !it.are_dealt_requests());
        // A session uses one row, regardless of its number of turns.
        let begun = sessions.map_or(issued, |it| it.begin_stage(stage));
        self.requests.begin_stage(stage, begun);
    }

    /// Turns every stage into a trial. The requests of a trial are aborted when it ends.
    pub(in crate::issue) fn with_trials(mut self, seeds: Seeds<'_>) -> LoadPlan {
        for (index, stage) in self.stages.iter_mut().enumerate() {
            stage.load = PlannedLoad::Trial(seeds.run.derive(&format!("stage/{index}/arrivals")));
            stage.grace = Some(Duration::ZERO);
        }
        self
    }

    pub fn with_record_budget(self, records: RecordBudget) -> LoadPlan {
        LoadPlan { records, ..self }
    }

    /// Whether any stage is a phase.
    pub(in crate::issue) fn has_phases(&self) -> bool {
        self.stages.iter().any(|it| it.phase.is_some())
    }

    /// Returns the total number of requests in the stages whose number is known before the load.
    pub fn requests(&self) -> u64 {
        self.stages.iter().map(|it| self.requests_of(it)).sum()
    }

    /// Returns the number of stages whose number of requests depends on answers, on time, or on earlier stages.
    pub(in crate::issue) fn undecided_stages(&self) -> u64 {
        // The rules of a phase can end it before all of its queries are sent.
        let by_rules = |it: &PlannedStage| it.phase.as_ref().is_some_and(|it| it.has_rules());
        let undecided = self.stages.iter().filter(|it| by_rules(it) || self.decided_requests_of(it).is_none());
        undecided.count() as u64
    }

    /// Returns the number of requests in a stage, or 0 if it is unknown before the load.
    fn requests_of(&self, stage: &PlannedStage) -> u64 {
        self.decided_requests_of(stage).unwrap_or_default()
    }

    fn decided_requests_of(&self, stage: &PlannedStage) -> Option<u64> {
        let count = stage.load.decided()?;
        match self.sessions.as_ref().filter(|it| !it.are_dealt_requests()) {
            Some(sessions) => sessions.turns_of_first(count),
            None => Some(count),
        }
    }

    /// Whether a later stage has a rate that depends on measurements in this stage.
    pub(in crate::issue) fn gives_rates(&self, stage: usize) -> bool {
        self.measured_after(stage).any(|(load, stage)| load.needs(stage))
    }

    /// Whether a later stage has a rate that depends on the number of requests in flight in this stage.
    pub(in crate::issue) fn gives_drain_rates(&self, stage: usize) -> bool {
        self.measured_after(stage).any(|(load, stage)| load.needs_samples(stage))
    }

    fn measured_after(&self, stage: usize) -> impl Iterator<Item = (&MeasuredLoad, u32)> {
        let index = u32::try_from(stage).unwrap_or(u32::MAX);
        self.stages.iter().skip(stage + 1).filter_map(move |it| match &it.load {
            PlannedLoad::Measured(load) => Some((&**load, index)),
            PlannedLoad::Open(_) | PlannedLoad::Closed(_) | PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => None,
        })
    }

    /// Returns the expected times of the stages.
    pub(in crate::issue) fn timeline(&self, clock: Clock) -> Timeline {
        let of_stage = |stage: &PlannedStage| PlannedTime {
            length: match &stage.load {
                // The rules of the test can end the stage before its schedule ends.
                PlannedLoad::Open(_) if stage.phase.as_ref().is_some_and(|it| it.may_end_before_schedule()) => None,
                PlannedLoad::Open(schedule) => schedule.len().checked_sub(1).and_then(|it| schedule.get(it)),
                PlannedLoad::Measured(load) => load.duration(),
                PlannedLoad::Closed(slots) => slots.duration,
                PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => None,
            }
            .filter(|it| !it.is_zero()),
            requests: Some(self.requests_of(stage)).filter(|it| *it > 0),
            pause_after: stage.pause_after,
        };
        Timeline { clock, stages: self.stages.iter().map(of_stage).collect() }
    }

    pub(in crate::issue) fn recorder(&self, keep: Keep) -> Recorder {
        let recorder = Recorder::new(self.stages.len(), self.goodput.clone(), keep)
            .with_classes(self.class_count)
            .with_windows(self.stages.iter().map(|it| it.window))
            .with_latency_origins(self.stages.iter().map(|it| it.latency_origin))
            .with_record_budget(self.records.clone());
        let recorder = if self.probes.rate().is_some() { recorder.with_probes() } else { recorder };
        if self.sessions.is_some() { recorder.with_sessions() } else { recorder }
    }
}

/// Whether the source lets the server decide the output length.
fn decides_no_length(source: &RequestSource) -> bool {
    match source {
        RequestSource::Mock => true,
        RequestSource::DataSet(set) => set.output == OutputLength::Unbounded,
        RequestSource::Random { .. }
        | RequestSource::SharedPrefix { .. }
        | RequestSource::Conversations(_)
        | RequestSource::TraceBlocks { .. }
        | RequestSource::Recorded(_)
        | RequestSource::Questions(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crds::units::Seed;
    use workload_profiles::workload::{
        ImageEncoding, ImagePlace, ImageSize, Images, LengthDistribution, PromptText, TokenIdRange,
    };

    use super::*;

    fn check(api: Api, source: RequestSource, images: bool, expected: Option<&str>) {
        let mut workload = Workload::new(api, source, Vec::new());
        workload.images = images.then(|| Images {
            per_request: LengthDistribution::fixed(1),
            sizes: vec![ImageSize { width: 8, height: 8, weight: 1.0 }],
            encoding: ImageEncoding::Png,
            place: ImagePlace::BeforeText,
            shared_by_group: false,
        });
        let plan = LoadPlan::new(&workload, &[], &[], "m", api, Seed(1).into());
        let error = plan.err().map(|it| it.to_string());
        assert!(error.as_deref().unwrap_or_default().contains(expected.unwrap_or_default()), "{api:?}: {error:?}");
        assert_eq!(error.is_some(), expected.is_some(), "{api:?}: {error:?}");
    }

    fn random(text: PromptText) -> RequestSource {
        RequestSource::random(LengthDistribution::fixed(9), LengthDistribution::fixed(3), text)
    }

    #[test]
    fn what_an_api_cannot_hold_is_refused() {
        for api in [Api::Chat, Api::Responses, Api::Messages] {
            check(api, random(PromptText::Words), true, None);
            check(api, random(PromptText::TokenIds(TokenIdRange::default())), false, Some("token ids"));
        }
        check(Api::Completions, random(PromptText::Words), true, Some("there are images"));
        check(Api::Completions, random(PromptText::TokenIds(TokenIdRange::default())), false, None);
        check(Api::Chat, RequestSource::Mock, false, None);
        check(Api::Messages, RequestSource::Mock, false, Some("requires max_tokens"));
    }

    #[test]
    fn images_beside_sessions_are_refused() {
        let users = RequestSource::SharedPrefix {
            groups: 1,
            prompts_per_group: 2,
            system_prompt_len: LengthDistribution::fixed(5),
            question_len: LengthDistribution::fixed(5),
            output_len: LengthDistribution::fixed(5),
            seed: None,
            multi_turn: true,
        };
        check(Api::Chat, users, true, Some("there are images"));
    }
}
