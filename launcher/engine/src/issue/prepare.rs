//! Generates requests before they are due, so that a long prompt does not delay sending.

use std::{collections::VecDeque, ops::Range, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use super::{departures::Leaves, shared::Shared};
use crate::{
    client::body::{BodyTemplate, Content},
    requests::{Draft, RequestedLengths},
};

/// Maximum number of requests that a worker prepares: enough for a burst, and few enough to generate them between sends.
const MAX_AHEAD: usize = 64;
/// Maximum total size of the prepared bodies, in bytes.
const MAX_AHEAD_BYTES: usize = 8 << 20;

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) number: u64,
    /// Index of the traffic class; `None` if there are no classes.
    pub(super) class: Option<u16>,
    /// Header fields of the traffic class and, for an independent request, of its session.
    pub(super) headers: Option<Arc<HeaderMap>>,
    pub(super) body: Bytes,
    pub(super) id: Option<HeaderValue>,
    pub(super) requested: RequestedLengths,
    /// When the client disconnects; `None` if it waits for the whole answer.
    pub(super) leaves: Option<Leaves>,
    /// Whether the output is kept.
    pub(super) keep_output: bool,
    /// Time spent on building the request.
    pub(super) build: Duration,
}

/// Prepared requests, in sending order.
#[derive(Debug)]
pub(super) struct Ahead {
    maker: Maker,
    ready: VecDeque<Prepared>,
    bytes: usize,
    most: usize,
}

impl Ahead {
    /// Creates an empty queue. `most` is the maximum number of waiting requests; `None`: [`MAX_AHEAD`].
    pub(super) fn new(stage: usize, most: Option<usize>) -> Ahead {
        let maker = Maker { stage, draft: Draft::default() };
        Ahead { maker, ready: VecDeque::new(), bytes: 0, most: most.unwrap_or(MAX_AHEAD) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.ready.len() >= self.most || self.bytes >= MAX_AHEAD_BYTES
    }

    /// Returns the numbers of the waiting requests.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.ready.iter().map(|it| it.number).collect()
    }

    /// Generates a request and appends it to the queue.
    pub(super) fn prepare(&mut self, shared: &Shared, number: u64) {
        let prepared = self.maker.make(shared, number);
        self.bytes += prepared.body.len();
        self.ready.push_back(prepared);
    }

    /// Puts back a request that was taken but not sent.
    pub(super) fn put_back(&mut self, prepared: Prepared) {
        self.bytes += prepared.body.len();
        self.ready.push_front(prepared);
    }

    /// Takes the first waiting request. If there is none, generates the request whose number `number` returns.
    pub(super) fn next(&mut self, shared: &Shared, number: impl FnOnce() -> Option<u64>) -> Option<Prepared> {
        match self.ready.pop_front() {
            Some(prepared) => {
                self.bytes -= prepared.body.len();
                Some(prepared)
            }
            None => Some(self.maker.make(shared, number()?)),
        }
    }
}

/// One request that contains several samples.
#[derive(Debug)]
pub(super) struct PreparedBatch {
    /// The samples. Their own bodies are empty.
    pub(super) samples: Vec<Prepared>,
    pub(super) body: Bytes,
    pub(super) id: Option<HeaderValue>,
}

/// Generates the static batches of a stage.
#[derive(Debug)]
pub(super) struct BatchMaker(Maker);

impl BatchMaker {
    pub(super) fn new(stage: usize) -> BatchMaker {
        BatchMaker(Maker { stage, draft: Draft::default() })
    }

    /// Generates one request from these samples. It requests the longest of their output lengths, because a request can specify only one
    /// length.
    pub(super) fn make(&mut self, shared: &Shared, numbers: Range<u64>) -> PreparedBatch {
        let began = shared.clock.now();
        let BatchMaker(Maker { stage, draft }) = self;
        let planned = &shared.plan.stages[*stage];
        let (mut prompts, mut samples, mut longest) = (Vec::new(), Vec::new(), None);
        let id = shared.run_id.header(format_args!("{stage}-{}", numbers.start));
        for number in numbers {
            let recorded = planned.recorded(number);
            let mut requested = shared.plan.requests.write(*stage, planned.content(number), recorded, draft);
            requested.output = shared.plan.output_to_send(None, requested.output);
            BodyTemplate::push_prompt(&draft.content(None), &mut prompts);
            longest = longest.max(requested.output);
            samples.push(Prepared {
                number,
                class: None,
                headers: None,
                body: Bytes::new(),
                id: None,
                requested,
                leaves: None,
                keep_output: planned.outputs.keeps(number),
                build: Duration::ZERO,
            });
        }
        let body = shared.plan.template.batch_body(&prompts, longest);
        let build = shared.clock.now().saturating_sub(began) / u32::try_from(samples.len()).unwrap_or(u32::MAX).max(1);
        for it in &mut samples {
            it.requested.output = shared.plan.output_of_choices(longest);
            it.build = build;
        }
        PreparedBatch { samples, body, id }
    }
}

/// Generates the requests of one stage, in a reused buffer.
#[derive(Debug)]
struct Maker {
    stage: usize,
    draft: Draft,
}

impl Maker {
    fn make(&mut self, shared: &Shared, number: u64) -> Prepared {
        let began = shared.clock.now();
        let stage = &shared.plan.stages[self.stage];
        let recorded = stage.recorded(number);
        let mut requested = shared.plan.requests.write(self.stage, stage.content(number), recorded, &mut self.draft);
        // A chat template and images add tokens to the prompt, so its length is not exact.
        requested.is_exact &= !shared.plan.has_messages;
        let class = shared.plan.classes.get(self.stage, number);
        requested.output = shared.plan.output_to_send(class.map(|(_, it)| it), requested.output);
        let keep_output = stage.outputs.keeps(number);
        let token_ids = keep_output && shared.plan.keeps_token_ids;
        let content = Content { token_ids, ..self.draft.content(requested.output) };
        let body = class.map_or(&shared.plan.template, |(_, it)| &it.template).body(&content);
        requested.output = shared.plan.output_of_choices(requested.output);
        let id = shared.run_id.header(format_args!("{}-{number}", self.stage));
        let leaves = stage.clients.and_then(|it| it.leaves(number));
        let (class, headers) = class.map_or((None, None), |(index, it)| (Some(index), it.headers.clone()));
        let headers = self.with_session(shared, number, headers);
        let build = shared.clock.now().saturating_sub(began);
        Prepared { number, class, headers, body, id, requested, leaves, keep_output, build }
    }

    /// Adds the header with the session id of a request that forms a session of its own.
    fn with_session(&self, shared: &Shared, number: u64, headers: Option<Arc<HeaderMap>>) -> Option<Arc<HeaderMap>> {
        let Some(name) = &shared.plan.session_header else { return headers };
        let Some(id) = shared.run_id.header(format_args!("session-{}-{number}", self.stage)) else { return headers };
        let mut headers = headers.map_or_else(HeaderMap::new, Arc::unwrap_or_clone);
        headers.insert(name.clone(), id);
        Some(Arc::new(headers))
    }
}
