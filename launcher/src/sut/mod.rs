//! [I/O] The engine as the system under test of a program that drives the load itself: MLCommons' own LoadGen.
//!
//! Official MLPerf results need the official library, which is C++ and calls its system under test in its own process.
//! `launcher/bridge` is that system in Python: it hands every sample to this command by a pipe and gets its tokens by another
//! one (`frames`). A request goes out when its frame arrives. Deliberately absent: schedule, recorder, analysis, report; the
//! library does all of these.

mod frames;
mod outbox;
mod sample_answerer;
mod serve;

use std::{io, path::PathBuf, sync::Arc};

use crds::ExitCode;

use crate::{
    console,
    input::{self, LocalOptions},
    run::{Failure, ready, ready::Secrets, target},
};
use crds::ExitCode;
use engine::{
    data_set::DataSetError,
    issue::{EVENT_INTERVAL, LoadError, raise_file_limit},
    requests::RequestsError,
};
use frames::{FrameError, VERSION};
use sample_answerer::{SampleAnswerer, Tally};
use serve::Incoming;
use tracing::{info, warn};

/// The most requests under way at once where nothing else is said: each has a connection, and fewer never kept a server busy.
const MAX_IN_FLIGHT: u32 = 4096;

/// What the command line says.
#[derive(Clone, Debug)]
pub struct SutOptions {
    /// A BenchmarkRun file: target, model, API, requests, sampling and timeouts are taken from it, its load is not.
    pub file: PathBuf,
    /// What the command line adds to the file.
    pub local: LocalOptions,
    /// The most requests under way at once; absent: as the profile bounds them, or 4096.
    pub max_in_flight: Option<u32>,
    /// First tokens are judged: an answer without one fails.
    pub first_tokens: bool,
}

/// Why the samples cannot be answered.
#[derive(Debug, thiserror::Error)]
enum SutError {
    #[error("{0} is no pipe ({1}); this command is started by launcher/bridge/benchwright_sut.py")]
    NoPipe(&'static str, io::Error),
    #[error(
        "the bridge speaks version {0} of the frames, and this launcher version {VERSION}; use both of one release"
    )]
    Version(u16),
    #[error("no hello came on stdin; this command is started by launcher/bridge/benchwright_sut.py")]
    NoHello,
    #[error("stdin ended in the middle of a frame; the LoadGen program has ended early")]
    CutFrame,
    #[error(
        "streaming is off, and LoadGen judges first tokens, which streams alone have; set streaming to true in the profile"
    )]
    NotStreamed,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("{0} broke: {1}; the LoadGen program has ended early")]
    Pipe(&'static str, io::Error),
    #[error(transparent)]
    Requests(#[from] RequestsError),
    #[error(transparent)]
    DataSet(#[from] DataSetError),
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

/// Answers the samples of a LoadGen program and returns the exit status: 0 when all of them were answered.
pub fn run(options: &SutOptions) -> u8 {
    match try_run(options) {
        Ok(Tally { answered, failed: 0, .. }) => {
            info!(answered, "all samples were answered");
            ExitCode::Done.code()
        }
        Ok(Tally { answered, failed, first_failure }) => {
            let first = first_failure.unwrap_or_default();
            let all = answered + failed;
            console::say(format_args!("benchwright: {failed} of {all} samples failed, the first because: {first}"));
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
    let input = input::from_file(&options.file, &options.local)
        .map_err(|error| (error.to_string(), ExitCode::Configuration))?;
    for notice in &input.notices {
        warn!(path = notice.path, "{}", notice.message);
    }
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
    let rows = SampleAnswerer::rows(&input.workload).map_err(own)?;
    let (base_url, _simulator) = target::start(&input.run, input.workload.model.as_deref()).map_err(of_run)?;
    let ready = runtime.block_on(async {
        tokio::select! {
            ready = ready::until_ready(&input, &secrets, &base_url) => ready.map_err(of_run),
            gone = serve::reader_gone(&outgoing) => Err(own(gone)),
        }
    })?;
    let answerer = Arc::new(
        SampleAnswerer::new(&input, rows, ready.target, &ready.model)
            .map_err(own)?
            .with_first_tokens(options.first_tokens),
    );
    info!(target = base_url, model = ready.model, "the target is ready");
    answerer.outbox.add(|it| frames::ready(it, answerer.samples, &ready.model));
    let bound = input.workload.loadgen.as_ref().and_then(|it| it.max_concurrency);
    let most = options.max_in_flight.or(bound).unwrap_or(MAX_IN_FLIGHT).max(1) as usize;
    runtime.block_on(serve::serve(&answerer, incoming, outgoing, most)).map_err(own)?;
    let tally = answerer.tally().clone();
    Ok(tally)
}
