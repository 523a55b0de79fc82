//! [I/O] Answers the samples of MLCommons' own LoadGen, which controls the load itself.
//!
//! Official MLPerf results require the official library, which is written in C++ and calls its system under test in its own process.
//! `launcher/mlperf/bridge` is this system, written in Python. It sends every sample to this command over one pipe, and receives the tokens over
//! another pipe, in the form that `frames` defines. The request for a sample is sent when its frame arrives. This command has no schedule, recorder,
//! analysis or report, because the library does this work.

mod frames;
mod outbox;
mod sample_answerer;
mod serve;

use std::{io, sync::Arc};

use crds::ExitCode;
use data_sets::DataSetError;

use crate::{
    console,
    input::{self, Input, InputError, LocalOptions, RunSource},
    remote_files,
    run::{
        Failure,
        ready::{self, Called, Secrets},
        target,
    },
};
use engine::{
    client::Resolver,
    issue::{EVENT_INTERVAL, LoadError, raise_file_limit},
    prompt_files::PromptFilesError,
    requests::RequestsError,
};
use frames::{FrameError, VERSION};
use sample_answerer::{SampleAnswerer, Tally};
use serve::Incoming;
use tracing::info;

/// Default of the maximum number of requests in flight. Each request has a connection.
const MAX_IN_FLIGHT: u32 = 4096;

/// The arguments of `benchwright sut`.
#[derive(Clone, Debug)]
pub struct SutOptions {
    /// What to run. Its target, model, API, requests, sampling and timeouts are used. Its load is ignored.
    pub source: Option<RunSource>,
    /// Arguments that modify the file.
    pub local: LocalOptions,
    /// Maximum number of requests in flight. `None` means that the limit in the profile, or 4096.
    pub max_in_flight: Option<u32>,
    /// Whether an answer without a first token fails.
    pub first_tokens: bool,
}

#[derive(Debug, thiserror::Error)]
enum SutError {
    #[error("{0} is not a pipe ({1}); this command is started by launcher/mlperf/bridge/benchwright_sut.py")]
    NoPipe(&'static str, io::Error),
    #[error(
        "the bridge uses version {0} of the frames, and this launcher version {VERSION}; use bridge and launcher of one release"
    )]
    Version(u16),
    #[error("stdin does not begin with a hello; this command is started by launcher/mlperf/bridge/benchwright_sut.py")]
    NoHello,
    #[error("stdin ended in the middle of a frame; the LoadGen program has ended early")]
    CutFrame,
    #[error(
        "streaming is false, but LoadGen judges first tokens, which only streams have; set streaming to true in the profile"
    )]
    NotStreamed,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("{0} was closed: {1}; the LoadGen program has ended early")]
    Pipe(&'static str, io::Error),
    #[error(transparent)]
    Requests(#[from] RequestsError),
    #[error(transparent)]
    DataSet(#[from] DataSetError),
    #[error(transparent)]
    Prompts(#[from] PromptFilesError),
    #[error(transparent)]
    System(#[from] LoadError),
}

impl SutError {
    fn exit(&self) -> ExitCode {
        match self {
            SutError::Pipe(..) | SutError::CutFrame | SutError::System(_) => ExitCode::Failed,
            _ => ExitCode::Configuration,
        }
    }
}

/// Answers the samples of a LoadGen program. Returns the exit code, which is 0 if all samples were answered.
pub fn run(options: &SutOptions) -> u8 {
    match try_run(options) {
        Ok(Tally { answered, failed: 0, .. }) => {
            info!(answered, "all samples were answered");
            ExitCode::Done.code()
        }
        Ok(Tally { answered, failed, first_failure }) => {
            let first = first_failure.unwrap_or_default();
            let all = answered + failed;
            console::say(format_args!(
                "benchwright: {failed} of {all} samples failed; the error of the first: {first}"
            ));
            ExitCode::Failed.code()
        }
        Err((message, exit)) => {
            console::say(format_args!("benchwright: {message}"));
            exit.code()
        }
    }
}

fn try_run(options: &SutOptions) -> Result<Tally, (String, ExitCode)> {
    let own = |error: SutError| (error.to_string(), error.exit());
    let of_run = |failure: Failure| (failure.message, failure.exit);
    let source = options.source.as_ref().ok_or_else(|| (InputError::NoRun.to_string(), ExitCode::Configuration))?;
    let input =
        input::from_source(source, &options.local).map_err(|error| (error.to_string(), ExitCode::Configuration))?;
    console::log_notices(&input.notices);
    if options.first_tokens && !input.workload.streaming {
        return Err(own(SutError::NotStreamed));
    }
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build()
        .map_err(|source| own(LoadError::System { what: "a runtime", source }.into()))?;
    let entered = runtime.enter();
    let mut incoming = Incoming::new(io::stdin()).map_err(own)?;
    let outgoing = serve::outgoing(io::stdout()).map_err(own)?;
    drop(entered);
    runtime.block_on(incoming.hello()).map_err(own)?;

    let secrets = Secrets::read(&input.run).map_err(of_run)?;
    let resolved = remote_files::resolve(input.workload);
    let input = Input { workload: resolved.map_err(|error| (error.to_string(), ExitCode::Configuration))?, ..input };
    let rows = SampleAnswerer::rows(&input).map_err(own)?;
    let (base_url, _simulator) = target::start(&input.run, input.workload.model.as_deref(), None).map_err(of_run)?;
    let called = Called { url: base_url, resolver: Resolver::default(), address: None, log: None };
    let ready = runtime.block_on(async {
        tokio::select! {
            ready = ready::until_ready(&input, &secrets, &called) => ready.map_err(of_run),
            gone = serve::reader_gone(&outgoing) => Err(own(gone)),
        }
    })?;
    let answerer = Arc::new(
        SampleAnswerer::new(&input, rows, ready.target, &ready.model)
            .map_err(own)?
            .with_first_tokens(options.first_tokens),
    );
    info!(target = called.url, model = ready.model, "the target is ready");
    answerer.outbox.add(|it| frames::ready(it, answerer.samples, &ready.model));
    let bound = input.workload.loadgen.as_ref().and_then(|it| it.max_concurrency);
    let most = options.max_in_flight.or(bound).unwrap_or(MAX_IN_FLIGHT).max(1) as usize;
    runtime.block_on(serve::serve(&answerer, incoming, outgoing, most)).map_err(own)?;
    let tally = answerer.tally().clone();
    Ok(tally)
}
