//! [I/O] Answers one sample: sends its request, and reports its first token and its complete answer.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use http::HeaderValue;
use workload_profiles::{Workload, workload::PromptReuse};

use super::{SutError, frames, frames::Sample, outbox::Outbox};
use crate::input::Input;
use clock::Clock;
use engine::{
    client::{
        Client, Exchange, Failure, Target,
        body::{BodyTemplate, Content, Streaming},
        output::FirstOutput,
        request_timeouts::RequestTimeouts,
    },
    prompt_files,
    requests::{Draft, RecordedLengths, Requests, RequestsError},
    run_id::RunId,
};
use prompts::Rows;

/// The client, and the requests for all samples. It is used by one thread.
pub(super) struct SampleAnswerer {
    pub(super) client: Client,
    pub(super) outbox: Arc<Outbox>,
    clock: Clock,
    requests: Requests,
    /// Number of samples: the rows of the data set, or the number in a LoadGen profile. 0: every index has a request.
    pub(super) samples: u64,
    template: BodyTemplate,
    timeouts: RequestTimeouts,
    streaming: bool,
    /// Whether an answer without a first token fails.
    first_tokens: bool,
    run_id: RunId,
    sent: AtomicU64,
    tally: Mutex<Tally>,
}

/// Number of answered and failed samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) answered: u64,
    pub(super) failed: u64,
    /// The error of the first failed sample.
    pub(super) first_failure: Option<String>,
}

impl SampleAnswerer {
    /// Reads the rows of the data set. This needs no target.
    pub(super) fn rows(input: &Input) -> Result<Rows, SutError> {
        let workload = &input.workload;
        if !BodyTemplate::can_hold(workload.api, workload.requests.form()) {
            return Err(RequestsError::TokenIdsInChat.into());
        }
        Ok(data_sets::read(workload, input.run.seed)?)
    }

    pub(super) fn new(input: &Input, rows: Rows, target: Target, model: &str) -> Result<SampleAnswerer, SutError> {
        let Workload { api, streaming, sampling, timeouts, .. } = &input.workload;
        let told = input.workload.loadgen.as_ref().map_or(0, |it| it.qsl.total_sample_count);
        let clock = Clock::start();
        Ok(SampleAnswerer {
            client: Client::new(target, clock).with_connect_timeout(timeouts.connect.0),
            outbox: Arc::default(),
            clock,
            samples: if rows.is_empty() { told } else { rows.len() as u64 },
            requests: Requests::new(&input.workload.requests, input.run.seed.into(), PromptReuse::Repeated)?
                .with_messages(api.has_messages())
                .with_texts(prompt_files::read(&input.workload)?.texts)
                .with_samples(Arc::new(rows)),
            template: BodyTemplate::new(*api, model, Streaming::from_workload(&input.workload), sampling),
            timeouts: RequestTimeouts::new(timeouts, *streaming),
            streaming: *streaming,
            first_tokens: false,
            run_id: RunId::random(),
            sent: AtomicU64::new(0),
            tally: Mutex::default(),
        })
    }

    pub(super) fn with_first_tokens(self, first_tokens: bool) -> SampleAnswerer {
        SampleAnswerer { first_tokens, ..self }
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        // A poisoned lock is no problem, because each change is complete before anything can panic.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the request of a sample, and reads the answer. The program gets exactly one `done` or `failed` frame for it.
    pub(super) async fn answer(self: Arc<Self>, sample: Sample) {
        match self.call(sample).await {
            Ok(()) => self.tally().answered += 1,
            Err(failure) => {
                self.outbox.add(|it| frames::failed(it, sample.id, &failure));
                let mut tally = self.tally();
                tally.failed += 1;
                tally.first_failure.get_or_insert(failure);
            }
        }
    }

    async fn call(&self, sample: Sample) -> Result<(), String> {
        if self.samples > 0 && sample.index >= self.samples {
            return Err(format!(
                "the program asks for sample {}, but there are only {} samples; make its sample count match",
                sample.index, self.samples
            ));
        }
        let mut draft = Draft::default();
        let requested = self.requests.write(0, sample.index, RecordedLengths::default(), &mut draft);
        let content = Content { token_ids: true, ..draft.content(requested.output) };
        let body = self.template.body(&content);
        drop(draft);
        let told = Arc::new(AtomicBool::new(false));
        let mut exchange = Exchange::default();
        exchange.keep_output = true;
        exchange.first_output = Some(self.first_output(sample.id, Arc::clone(&told)));
        let progress = Arc::clone(&exchange.progress);
        let call = self.client.call(body, self.request_id(), self.streaming, &mut exchange);
        let called = self.timeouts.wait(self.clock, &progress, call).await;
        let sent = exchange.sent();
        called.unwrap_or_else(Err).map_err(|Failure { message, .. }| message)?;
        let answer = &mut exchange.answer;
        let output = answer.take_output().filter(|it| !it.token_ids.is_empty()).ok_or(NO_IDS)?;
        if self.first_tokens && answer.first_token.is_none() {
            return Err(NO_FIRST.to_owned());
        }
        let end = answer.last_token.or(exchange.ended).unwrap_or_else(|| self.clock.now());
        let took = end.saturating_sub(sent.unwrap_or(end));
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.outbox.add(|it| {
            // The first tokens had no text, so no event has reported them.
            if !told.load(Ordering::Relaxed) {
                frames::first(it, sample.id, &output.token_ids[..output.first]);
            }
            frames::done(it, sample.id, took_ns, &output.token_ids);
        });
        Ok(())
    }

    fn first_output(&self, id: u64, told: Arc<AtomicBool>) -> FirstOutput {
        let outbox = Arc::clone(&self.outbox);
        FirstOutput::new(move |token_ids| {
            outbox.add(|it| frames::first(it, id, token_ids));
            told.store(true, Ordering::Relaxed);
        })
    }

    fn request_id(&self) -> Option<HeaderValue> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        self.run_id.header(number)
    }
}

const NO_FIRST: &str = "the answer came in one piece, so it has no first token; use a server that streams";
const NO_IDS: &str = "the answer has no token ids; use a server that supports return_token_ids, as vLLM does";
