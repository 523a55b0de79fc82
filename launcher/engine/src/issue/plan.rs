//! The plan of a load: all decisions before the first request. Pure.

use std::{sync::Arc, time::Duration};

use crds::{
    benchmark_run::Api,
    units::{RequestRate, Span},
};
use http::HeaderName;
use workload_profiles::{
    Notice, Workload,
    workload::{
        AcrossStages, Goodput, LengthField, Load, Margin, OutputLength, Probes, PromptForm, RequestSource, Stage,
        StopRule, TraceEntry, UsedUp, Window,
    },
};

use super::{
    LoadError,
    classes::{Class, Classes},
    departures::Clients,
    measured_rate::MeasuredLoad,
    outputs::KeepOutputs,
    phases::{PlannedPhase, planned_phases},
    timeline::{PlannedTime, Timeline},
};
use crate::{
    client::{body::BodyTemplate, request_timeouts::RequestTimeouts},
    data_set::Rows,
    recorded,
    recorder::{Keep, RecordBudget, Recorder},
    requests::{RecordedLengths, Requests, RequestsError, RowChoice, Seeds, TextSeed, Texts, words_of},
    schedule::{Schedule, schedule, users::UserTurns},
    sessions::{PlannedSessions, session_header},
    trace::Blocks,
    window::StageWindow,
};
use clock::Clock;

/// A workload whose times are drawn and whose requests can be made.
#[derive(Debug)]
pub struct LoadPlan {
    pub(super) stages: Vec<PlannedStage>,
    pub(super) requests: Requests,
    /// `None`: each request stands alone.
    pub(super) sessions: Option<PlannedSessions>,
    /// The field with the id of its session in a request that stands alone.
    pub(super) session_header: Option<HeaderName>,
    pub(super) probes: ProbeRequests,
    pub(super) template: BodyTemplate,
    pub(super) classes: Classes,
    class_count: usize,
    /// Whether requests have messages, to which a chat template adds tokens.
    pub(super) has_messages: bool,
    /// Answers for each prompt.
    choices: u32,
    pub(super) streaming: bool,
    /// Whether requests hold the output length that they ask for.
    sends_lengths: bool,
    /// The requested output length is only an upper bound: the model decides where an answer ends.
    bounds_answers: bool,
    pub(super) timeouts: RequestTimeouts,
    pub(super) connect_timeout: Duration,
    pub(super) stop_rules: Vec<StopRule>,
    goodput: Goodput,
    /// How many records may be kept.
    records: RecordBudget,
    /// Which stages send less than the workload says.
    notices: Vec<Notice>,
}

/// A stage as it will be issued.
#[derive(Debug)]
pub(super) struct PlannedStage {
    pub(super) name: String,
    pub(super) load: PlannedLoad,
    pub(super) pause_after: Duration,
    /// Recorded lengths of prompts and answers by request number; empty where the request source decides.
    pub(super) lengths: Vec<RecordedLengths>,
    /// The most requests under way at once; `None` where the load has no such bound, or has slots.
    pub(super) max_concurrency: Option<u32>,
    /// For a load of users: which turn each request is.
    pub(super) users: Option<UserTurns>,
    /// For a LoadGen phase: what it issues, and when it ends.
    pub(super) phase: Option<Arc<PlannedPhase>>,
    /// Clients that disconnect early; `None` if all of them wait.
    pub(super) clients: Option<Clients>,
    /// The requests whose output is kept.
    pub(super) outputs: KeepOutputs,
    /// The window, if the times are known before the run.
    pub(super) window: StageWindow,
    pub(super) grace: Option<Duration>,
}

/// When the requests of a stage are due.
#[derive(Debug)]
pub(super) enum PlannedLoad {
    /// At these times.
    Open(Schedule),
    /// At times that are drawn when the stage begins.
    Measured(Box<MeasuredLoad>),
    /// When a slot becomes free.
    Closed(Slots),
    /// Query by query: a query is due when the one before it is complete.
    Stream(Arc<PlannedPhase>),
}

/// The slots of a closed loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    pub(super) concurrency: u64,
    /// Requests of all slots; `None`: until the duration is over.
    pub(super) count: Option<u64>,
    /// How long requests are sent; `None`: until there were `count` of them.
    pub(super) duration: Option<Duration>,
    /// The slots are opened one after the other, evenly within this time.
    pub(super) ramp_up: Duration,
    /// The most requests of all slots that start in a second; `None`: no limit.
    pub(super) start_rate: Option<RequestRate>,
}

/// The content of probes.
#[derive(Debug)]
pub(super) struct ProbeRequests {
    probes: Option<Probes>,
    texts: TextSeed,
}

impl ProbeRequests {
    /// The rate and the lengths of probes; `None` if there are none.
    pub(super) fn rate(&self) -> Option<Probes> {
        self.probes
    }

    /// Appends the prompt of a probe beside a stage to `text`.
    pub(super) fn write(&self, stage: usize, number: u64, text: &mut String) {
        let words = self.probes.map_or(1, |it| it.input);
        words_of(self.texts, stage, number, words, text);
    }
}

impl PlannedLoad {
    /// Number of requests, or 0 if it is not known before the load.
    pub(super) fn count(&self) -> u64 {
        match self {
            PlannedLoad::Open(schedule) => schedule.len(),
            PlannedLoad::Measured(load) => load.count().unwrap_or_default(),
            PlannedLoad::Closed(slots) => slots.count.filter(|_| slots.duration.is_none()).unwrap_or_default(),
            // The rules end the phase before its queries are used up.
            PlannedLoad::Stream(phase) => {
                if phase.rules.is_some() {
                    0
                } else {
                    phase.queries.sample_count() as u64
                }
            }
        }
    }
}

impl PlannedLoad {
    /// Number of requests; `None` if it is not known before the load.
    pub(super) fn known(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Closed(slots) => slots.count.filter(|_| slots.duration.is_none()),
            PlannedLoad::Measured(_) | PlannedLoad::Stream(_) => None,
        }
    }

    /// The most requests; `None` where only time or rules end them.
    pub(super) fn most(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Closed(slots) => slots.count,
            PlannedLoad::Measured(load) => load.count(),
            PlannedLoad::Stream(_) => None,
        }
    }

    /// Leaves out all requests but the first `most`.
    fn truncate(&mut self, most: u64) {
        match self {
            PlannedLoad::Open(schedule) => schedule.truncate(most),
            PlannedLoad::Closed(slots) => slots.count = Some(slots.count.map_or(most, |it| it.min(most))),
            PlannedLoad::Measured(_) | PlannedLoad::Stream(_) => {}
        }
    }
}

impl PlannedStage {
    /// Leaves out all requests but the first `most`, also from the window. Returns whether the stage would have sent more.
    fn end_after(&mut self, most: u64, stage: &Stage, window: Window) -> bool {
        if self.load.most().is_some_and(|it| it <= most) {
            return false;
        }
        let mut shorter = stage.clone();
        match (&self.load, &mut shorter.load) {
            // It is over when the first request that is left out would have been due.
            (PlannedLoad::Open(schedule), Load::Open { duration: Some(length), .. })
            | (PlannedLoad::Open(schedule), Load::Users { duration: Some(length), .. })
                if most > 0 =>
            {
                *length = schedule.get(most).map_or(*length, Span);
            }
            (PlannedLoad::Open(_), Load::Open { duration, .. } | Load::Users { duration, .. }) => *duration = None,
            // Its last request ends it, unless its duration ends earlier. A cool-down of a length counts from a known time.
            (_, Load::Closed { count, duration, .. }) => {
                *count = Some(most);
                *duration = duration.filter(|_| matches!(stage.cool_down, Some(Margin::Duration(_))));
            }
            _ => {}
        }
        self.load.truncate(most);
        let schedule = match &self.load {
            PlannedLoad::Open(schedule) => Some(schedule),
            PlannedLoad::Measured(_) | PlannedLoad::Closed(_) | PlannedLoad::Stream(_) => None,
        };
        self.window = StageWindow::new(&shorter, window, schedule);
        true
    }

    /// The index in the request source: the request's own number, or the sample that a LoadGen phase issues at this
    /// number.
    pub(super) fn content(&self, number: u64) -> u64 {
        self.phase.as_ref().map_or(number, |it| it.sample(number))
    }

    /// The recorded lengths of a request.
    pub(super) fn recorded(&self, number: u64) -> RecordedLengths {
        usize::try_from(number).ok().and_then(|it| self.lengths.get(it)).copied().unwrap_or_default()
    }
}

impl LoadPlan {
    /// Draws every time and prepares the source of the requests. `traces` holds one entry for each stage, with what
    /// that stage replays.
    ///
    /// # Errors
    /// The requests are too large, or of a form that the API does not accept; or a LoadGen phase has no queries.
    pub fn new(
        workload: &Workload,
        traces: &[Vec<TraceEntry>],
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
        let phases = planned_phases(workload)?;
        let stages = workload.stages.iter().zip(phases).enumerate().map(|(index, (stage, phase))| {
            let trace = traces.get(index).map_or(&[][..], Vec::as_slice);
            let seed = |purpose| seeds.run.derive(&format!("stage/{index}/{purpose}"));
            let schedule = match &phase {
                Some(phase) => phase.schedule(),
                None => schedule(&stage.load, trace, seed("arrivals")),
            };
            let measured = MeasuredLoad::new(stage, workload.window, seed("arrivals"));
            PlannedStage {
                name: stage.name.clone(),
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
                max_concurrency: match &stage.load {
                    Load::Closed { .. } => None,
                    Load::LoadGen { .. } => workload.loadgen.as_ref().and_then(|it| it.max_concurrency),
                    open => open.max_concurrency(),
                },
                users: UserTurns::from_load(&stage.load),
                clients: workload.abandonment.map(|it| Clients::new(it, seed("abandonment"))),
                outputs: phase.as_ref().map(|it| it.outputs()).unwrap_or_default(),
                phase,
                grace: stage.grace.map(|it| it.0),
            }
        });
        let stages: Vec<PlannedStage> = stages.collect();
        let mut requests =
            Requests::new(&workload.requests, seeds, workload.prompts)?.with_messages(api.has_messages());
        let sessions = PlannedSessions::new(workload, seeds)?;
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
            template: BodyTemplate::new(api, model, workload.streaming, &workload.sampling),
            classes: Classes::new(workload, api, model, |it| seeds.run.derive(&format!("stage/{it}/classes")))
                .map_err(LoadError::Headers)?,
            class_count: workload.classes.classes.len(),
            choices: workload.sampling.choices(),
            streaming: workload.streaming,
            sends_lengths: workload.sampling.length_field != LengthField::NotSent,
            bounds_answers: workload.loadgen.is_some() && !workload.sampling.ignore_eos,
            timeouts: RequestTimeouts::new(&workload.timeouts, workload.streaming),
            connect_timeout: workload.timeouts.connect.0,
            stop_rules: workload.stop_rules.clone(),
            goodput: workload.goodput.clone(),
            records: RecordBudget::default(),
            notices: Vec::new(),
        })
    }

    /// The same plan with the rows of the workload's data set, if it has one. A stage that ends with its rows gets no more requests
    /// than there are rows.
    ///
    /// # Errors
    /// The load may need more rows than there are, and is to be refused then.
    pub fn with_rows(
        mut self,
        workload: &Workload,
        rows: Arc<Rows>,
        seeds: Seeds<'_>,
    ) -> Result<LoadPlan, RequestsError> {
        let RequestSource::DataSet(set) = &workload.requests else { return Ok(self) };
        let most = rows.len() as u64;
        if let Some(loadgen) = &workload.loadgen
            && loadgen.qsl.total_sample_count > most
        {
            return Err(RequestsError::TooFewSamples { samples: loadgen.qsl.total_sample_count, rows: most });
        }
        let mut begin = Some(0);
        for (stage, planned) in workload.stages.iter().zip(&mut self.stages) {
            // The requests are samples, or are dealt to sessions: each may be sent several times.
            if planned.phase.is_some() || self.sessions.as_ref().is_some_and(PlannedSessions::are_dealt_requests) {
                continue;
            }
            let name = || stage.name.clone();
            if set.across_stages == AcrossStages::Restart {
                begin = Some(0);
            }
            // The times of a measured stage are drawn when it begins, too late to leave some out.
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

    /// The same plan with the hashes of the traces' blocks, one entry for each stage.
    ///
    /// # Errors
    /// The requests are made of blocks, and a stage has no hashes.
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

    /// The same plan with the recorded sessions of the workload, if it has any. Each stage sends a session at most once. After a stage
    /// whose number of sessions is not known before the load, the next one may send some of its sessions again.
    ///
    /// # Errors
    /// A stage asks for more sessions than are left, or none is left.
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
                PlannedLoad::Open(_) | PlannedLoad::Measured(_) | PlannedLoad::Stream(_) => 1,
            };
            if wanted > left {
                return Err(RequestsError::TooFewSessions { stage: planned.name.clone(), wanted, left });
            }
            planned.load.truncate(left);
            left = left.saturating_sub(planned.load.known().unwrap_or_default());
        }
        Ok(self)
    }

    /// The same plan with what makes texts.
    pub fn with_texts(mut self, texts: Texts) -> LoadPlan {
        self.sessions = self.sessions.map(|it| it.with_texts(texts.clone()));
        self.requests = self.requests.with_texts(texts);
        self
    }

    /// What the report says of stages that end with the rows of a data set, and of rows or sessions that were sent more than once.
    /// LoadGen's tests send their samples again by their own rules. `begun`: the sessions of each stage that were sent.
    pub(super) fn notices(&self, issued: u64, begun: &[u64]) -> Vec<Notice> {
        let repeats = match &self.sessions {
            Some(sessions) => sessions.repeats(begun),
            None => self.requests.repeats(issued).filter(|_| self.stages.iter().all(|it| it.phase.is_none())),
        };
        self.notices.iter().cloned().chain(repeats).collect()
    }

    /// The output length that a request holds, where its source asks for `asked`; `None`: it holds none.
    pub(super) fn output_to_send(&self, class: Option<&Class>, asked: Option<u32>) -> Option<u32> {
        class.and_then(|it| it.output).or(asked).filter(|_| self.sends_lengths)
    }

    /// The output length that a server's usage should say of a request that holds the length `sent`; `None`: the server decides.
    pub(super) fn output_of_choices(&self, sent: Option<u32>) -> Option<u32> {
        // A server's usage counts the tokens of all choices together.
        sent.map(|it| it.saturating_mul(self.choices)).filter(|_| !self.bounds_answers)
    }

    /// Begins a stage, after `issued` requests of those before it. Call it before the first request of the stage is made, and after
    /// the last one of those before has ended.
    pub(super) fn begin_stage(&self, stage: usize, issued: u64) {
        let sessions = self.sessions.as_ref().filter(|it| !it.are_dealt_requests());
        // A session is one row, whatever the number of its turns.
        let begun = sessions.map_or(issued, |it| it.begin_stage(stage));
        self.requests.begin_stage(stage, begun);
    }

    pub fn with_record_budget(self, records: RecordBudget) -> LoadPlan {
        LoadPlan { records, ..self }
    }

    /// Requests of all stages.
    pub fn requests(&self) -> u64 {
        self.stages.iter().map(|it| self.requests_of(it)).sum()
    }

    /// Requests of a stage, or 0 if their number is not known before the load.
    fn requests_of(&self, stage: &PlannedStage) -> u64 {
        let count = stage.load.count();
        match self.sessions.as_ref().filter(|it| !it.are_dealt_requests()) {
            Some(sessions) => sessions.turns_of_first(count).unwrap_or_default(),
            None => count,
        }
    }

    /// Whether a later stage has a rate that is measured in this one.
    pub(super) fn gives_rates(&self, stage: usize) -> bool {
        self.measured_after(stage).any(|(load, stage)| load.needs(stage))
    }

    /// Whether a later stage needs the numbers of requests under way in this one.
    pub(super) fn gives_drain_rates(&self, stage: usize) -> bool {
        self.measured_after(stage).any(|(load, stage)| load.needs_samples(stage))
    }

    fn measured_after(&self, stage: usize) -> impl Iterator<Item = (&MeasuredLoad, u32)> {
        let index = u32::try_from(stage).unwrap_or(u32::MAX);
        self.stages.iter().skip(stage + 1).filter_map(move |it| match &it.load {
            PlannedLoad::Measured(load) => Some((&**load, index)),
            PlannedLoad::Open(_) | PlannedLoad::Closed(_) | PlannedLoad::Stream(_) => None,
        })
    }

    /// How long the load should take.
    pub(super) fn timeline(&self, clock: Clock) -> Timeline {
        let of_stage = |stage: &PlannedStage| PlannedTime {
            length: match &stage.load {
                // The rules of a test end it, or the end of its schedule.
                PlannedLoad::Open(_) if stage.phase.as_ref().is_some_and(|it| it.ends_by_queries()) => None,
                PlannedLoad::Open(schedule) => schedule.len().checked_sub(1).and_then(|it| schedule.get(it)),
                PlannedLoad::Measured(load) => load.duration(),
                PlannedLoad::Closed(slots) => slots.duration,
                PlannedLoad::Stream(_) => None,
            }
            .filter(|it| !it.is_zero()),
            requests: Some(self.requests_of(stage)).filter(|it| *it > 0),
            pause_after: stage.pause_after,
        };
        Timeline { clock, stages: self.stages.iter().map(of_stage).collect() }
    }

    pub(super) fn recorder(&self, keep: Keep) -> Recorder {
        let recorder = Recorder::new(self.stages.len(), self.goodput.clone(), keep)
            .with_classes(self.class_count)
            .with_windows(self.stages.iter().map(|it| it.window))
            .with_record_budget(self.records.clone());
        let recorder = if self.probes.rate().is_some() { recorder.with_probes() } else { recorder };
        if self.sessions.is_some() { recorder.with_sessions() } else { recorder }
    }
}

/// The notice of a stage that ends with the rows of the data set.
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

/// Whether a source leaves the length of an answer to the server.
fn decides_no_length(source: &RequestSource) -> bool {
    match source {
        RequestSource::Mock => true,
        RequestSource::DataSet(set) => set.output == OutputLength::Unbounded,
        RequestSource::Random { .. }
        | RequestSource::SharedPrefix { .. }
        | RequestSource::Conversations(_)
        | RequestSource::TraceBlocks { .. }
        | RequestSource::Recorded(_) => false,
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
        let plan = LoadPlan::new(&workload, &[], "m", api, Seed(1).into());
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
