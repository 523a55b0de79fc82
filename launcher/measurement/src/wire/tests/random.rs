//! Random loads, and random inputs for their recorders.

use std::time::Duration;

use crds::units::Span;
use workload_profiles::workload::{self, Goodput, Margin, Stage, Window};

use crate::{
    latency_origin::LatencyOrigin,
    output::Output,
    record::{Cause, Limit, ListIndex, RequestOutcome, RequestRecord, Turn},
    recorder::{Keep, KeptOutput, Recorder, SessionEnd, Steps, WireTally},
    window::StageWindow,
};

/// The random generator SplitMix64.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Draws) -> T) -> Option<T> {
        self.flip().then(|| value(self))
    }

    /// Returns a time of up to 2^44 ns, nearly five hours, but usually less than 17 s. A few are equal.
    fn time(&mut self) -> Duration {
        let bits = if self.below(64) == 0 { 44 } else { 20 + self.below(15) };
        let nanos = self.below(1 << bits);
        Duration::from_nanos(if self.below(4) == 0 { nanos & !0xf_ffff } else { nanos })
    }

    fn tokens(&mut self) -> u32 {
        let bits = self.below(20);
        self.below(1 << bits) as u32
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn text(&mut self) -> String {
        format!("message {}", self.below(5))
    }
}

/// The parts of a workload that recorders depend on.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) goodput: Goodput,
    pub(crate) keep: Keep,
    pub(crate) kind: Window,
    pub(crate) stages: Vec<Stage>,
    windows: Vec<(StageWindow, Duration)>,
    origins: Vec<LatencyOrigin>,
    classes: usize,
    has_probes: bool,
    has_sessions: bool,
}

impl Load {
    pub(crate) fn new(draws: &mut Draws) -> Load {
        let span = |draws: &mut Draws| Span(draws.time());
        let goodput = Goodput { ttft: draws.maybe(span), itl: draws.maybe(span), ..Goodput::default() };
        let kind = draws.one_of(&[Window::All, Window::Trimmed, Window::Cut]);
        let window = |draws: &mut Draws| {
            let length = draws.maybe(|it| Span(Duration::from_secs(20 + it.below(200))));
            let load = workload::Load::Closed {
                concurrency: 1,
                count: length.is_none().then_some(50),
                duration: length,
                ramp_up: Span::default(),
                start_rate: None,
            };
            let margin = |draws: &mut Draws| match draws.flip() {
                true => Margin::Count(draws.below(9)),
                false => Margin::Duration(Span(Duration::from_secs(draws.below(9)))),
            };
            let stage = Stage { warm_up: draws.maybe(margin), cool_down: draws.maybe(margin), ..Stage::new("s", load) };
            let window = (StageWindow::new(&stage, kind, None), Duration::from_millis(draws.below(9_000)));
            (stage, window)
        };
        let (stages, windows): (Vec<_>, Vec<_>) = (0..=draws.below(3)).map(|_| window(draws)).unzip();
        Load {
            goodput,
            keep: draws.one_of(&[Keep::Summary, Keep::Records, Keep::RecordsAndGaps]),
            origins: windows.iter().map(|_| draws.one_of(&[LatencyOrigin::Scheduled, LatencyOrigin::Sent])).collect(),
            kind,
            stages,
            windows,
            classes: draws.below(3) as usize,
            has_probes: draws.flip(),
            has_sessions: draws.flip(),
        }
    }

    pub(crate) fn with_keep(self, keep: Keep) -> Load {
        Load { keep, ..self }
    }

    pub(crate) fn stages(&self) -> usize {
        self.windows.len()
    }

    /// Returns the same load with other margins that its stages may have after the run.
    pub(crate) fn with_other_margins(&self, draws: &mut Draws) -> Load {
        let mut load = self.clone();
        let of_stages = load.stages.iter_mut().zip(&mut load.windows);
        for (stage, (window, _)) in of_stages {
            if draws.below(4) == 0 {
                continue;
            }
            let has_count = stage.load.count().is_some();
            let margin = |draws: &mut Draws, by_count: bool| match by_count {
                true => Margin::Count(draws.below(9)),
                false => Margin::Duration(Span(Duration::from_secs(draws.below(9)))),
            };
            let by_count = self.kind == Window::All && draws.flip();
            stage.warm_up = draws.maybe(|it| margin(it, by_count));
            let is_possible = self.kind == Window::All || !has_count;
            stage.cool_down = draws.maybe(|it| margin(it, has_count)).filter(|_| is_possible);
            *window = StageWindow::new(stage, self.kind, None);
        }
        load
    }

    pub(crate) fn recorder(&self) -> Recorder {
        let mut recorder = Recorder::new(self.stages(), self.goodput.clone(), self.keep)
            .with_latency_origins(self.origins.iter().copied())
            .with_classes(self.classes);
        if self.has_probes {
            recorder = recorder.with_probes();
        }
        if self.has_sessions {
            recorder = recorder.with_sessions();
        }
        for (stage, (window, start)) in self.windows.iter().enumerate() {
            recorder.open(stage, *window, *start);
        }
        recorder
    }

    /// Returns a random event. No two events have the same number.
    pub(crate) fn event(&self, draws: &mut Draws, number: u64) -> Event {
        // The stage may be one that the load does not have. Requests in such a stage have no tally.
        let stage = match draws.below(20) {
            0 => self.stages(),
            _ => draws.below(self.stages() as u64) as usize,
        };
        match draws.below(12) {
            0 => {
                let (request, wire) = request(draws, stage, number);
                Event::Probe(request, wire)
            }
            1 => Event::Session(session(draws, stage, number), draws.flip()),
            2 => Event::Hold { stage, number, due: draws.time(), held: draws.time() },
            3 => Event::Unissued { stage, number, due: draws.maybe(Draws::time) },
            4 => Event::Output(output(draws, stage, number)),
            _ => {
                let (request, wire) = request(draws, stage, number);
                Event::Request(request, wire)
            }
        }
    }
}

/// An input of a recorder.
pub(crate) enum Event {
    Request(RequestRecord, WireTally),
    Probe(RequestRecord, WireTally),
    Session(SessionEnd, bool),
    Hold { stage: usize, number: u64, due: Duration, held: Duration },
    Unissued { stage: usize, number: u64, due: Option<Duration> },
    Output(KeptOutput),
}

impl Event {
    pub(crate) fn request(self) -> Option<(RequestRecord, WireTally)> {
        if let Event::Request(request, wire) = self { Some((request, wire)) } else { None }
    }

    pub(crate) fn record(&self, recorder: &mut Recorder) {
        match self {
            Event::Request(request, wire) => recorder.record(request.clone(), wire),
            Event::Probe(request, wire) => recorder.record_probe(request, wire),
            Event::Session(session, has_all) => recorder.record_session(session, *has_all),
            Event::Hold { stage, number, due, held } => recorder.record_hold(*stage, *number, *due, *held),
            Event::Unissued { stage, number, due } => {
                recorder.count_unissued(*stage, [(*number, *due)], RequestOutcome::Incomplete);
            }
            Event::Output(output) => recorder.keep_output(output.clone()),
        }
    }
}

fn request(draws: &mut Draws, stage: usize, number: u64) -> (RequestRecord, WireTally) {
    let wire = wire(draws);
    let scheduled = draws.time();
    let sent = draws.below(8).checked_sub(1).map(|_| scheduled + draws.time());
    let first = sent.filter(|_| draws.below(8) > 0).map(|it| it + draws.time());
    // No token may arrive after the end of the request, so `ended` is at least this time.
    let last = first.map(|it| it + wire.gaps.iter().sum::<Duration>());
    let outcomes = [
        RequestOutcome::Ok,
        RequestOutcome::Ok,
        RequestOutcome::Ok,
        RequestOutcome::Empty,
        RequestOutcome::HttpError(503),
        RequestOutcome::HttpError(404),
        RequestOutcome::BrokenStream,
        RequestOutcome::Timeout,
        RequestOutcome::ConnectError,
        RequestOutcome::ClientError,
        RequestOutcome::Cancelled,
        RequestOutcome::Abandoned,
        RequestOutcome::Skipped,
    ];
    let turn = |draws: &mut Draws| Turn {
        session: draws.tokens(),
        number: (1 + draws.below(20) as u32).try_into().expect("above 0"),
    };
    let record = RequestRecord {
        stage: stage as u32,
        number,
        class: draws.maybe(|it| ListIndex::new(it.below(3) as usize)).flatten(),
        turn: draws.maybe(turn),
        replica: draws.maybe(|it| ListIndex::new(it.below(9) as usize)).flatten(),
        scheduled,
        sent,
        permit_wait: draws.maybe(Draws::time),
        first_token: first,
        last_token: last,
        ended: last.or(sent).unwrap_or(scheduled) + draws.time(),
        outcome: draws.one_of(&outcomes),
        requested_input_tokens: draws.maybe(Draws::tokens),
        requested_output_tokens: draws.maybe(Draws::tokens),
        input_tokens: draws.maybe(Draws::tokens),
        cached_tokens: draws.maybe(Draws::tokens),
        output_tokens: draws.maybe(Draws::tokens),
        content_events: draws.below(9) as u32,
    };
    (record, wire)
}

fn wire(draws: &mut Draws) -> WireTally {
    let steps = Steps {
        build: draws.time(),
        written: draws.maybe(Draws::time),
        head: draws.maybe(Draws::time),
        parse: draws.time(),
    };
    WireTally {
        gaps: (0..draws.below(9)).map(|_| Duration::from_micros(draws.below(200_000))).collect(),
        reads: draws.below(9),
        coalesced_reads: draws.below(9),
        late_reads: draws.below(9),
        error: draws.maybe(Draws::text),
        timeout: draws.maybe(|it| it.one_of(&[Limit::Connect, Limit::FirstToken, Limit::TokenGap, Limit::Request])),
        cause: draws.maybe(|it| it.one_of(&[Cause::Refused, Cause::Reset, Cause::Files, Cause::Other])),
        retried: draws.flip(),
        own_connection: draws.flip(),
        has_exact_prompt: draws.flip(),
        silent_events: draws.below(3) as u32,
        silent_length_ends: draws.below(2) as u32,
        first_event_tokens: draws.maybe(|it| it.below(3) as u32),
        set_aside: draws.maybe(Draws::tokens),
        in_one_piece: draws.flip(),
        steps,
    }
}

fn session(draws: &mut Draws, stage: usize, number: u64) -> SessionEnd {
    let mut session = SessionEnd::new(stage, number);
    session.is_partial = draws.below(4) == 0;
    for _ in 0..draws.below(4) {
        let due = draws.time();
        session.begin_turn(due, draws.flip());
        let outcome = draws.one_of(&[RequestOutcome::Ok, RequestOutcome::Timeout, RequestOutcome::Cancelled]);
        session.end_turn(outcome, due + draws.time(), draws.maybe(Draws::tokens), draws.tokens());
    }
    session
}

fn output(draws: &mut Draws, stage: usize, number: u64) -> KeptOutput {
    let token_ids: Vec<u32> = (0..draws.below(5)).map(|_| draws.tokens()).collect();
    let output = Output {
        first: token_ids.len().min(1),
        token_ids,
        text: draws.text(),
        first_logprobs: draws.maybe(|it| (it.text(), -0.1)).into_iter().collect(),
    };
    KeptOutput { stage: stage as u32, number, row: draws.maybe(|it| it.below(9)), ended: draws.time(), output }
}
