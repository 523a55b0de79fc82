//! [I/O] The state that all runs of a process share. A signal ends all runs. The runs use one status port, one after the other. Files are read once
//! for all runs, because a pipe can be read only once.

use std::cell::OnceCell;

use engine::{client::Resolver, issue, stop::Stop};
use workload_files::WorkloadFiles;

use super::{Failure, RunOptions, egress, managed::Servers, ready::Secrets, signals, signals::Ended};
use crate::{
    console,
    input::Input,
    remote_files,
    scoring::Scoring,
    status_server::{self, RunStatus},
};

/// The state that all runs of a process share.
pub(super) struct Process {
    pub(super) stop: Stop,
    pub(super) run_status: RunStatus,
    /// Resolves and checks all hosts that the run names.
    pub(super) resolver: Resolver,
    /// The server that is started for the runs.
    pub(super) servers: Servers,
    sources: OnceCell<Sources>,
}

/// Everything that is read from files before the first load.
pub(super) struct Sources {
    /// The files of the workload.
    pub(super) files: WorkloadFiles,
    /// The data for scoring answers. `None` means that answers are not scored.
    pub(super) scoring: Option<Scoring>,
    pub(super) secrets: Secrets,
}

impl Process {
    /// Listens for signals and opens the status port.
    pub(super) fn start(input: &Input, options: &RunOptions) -> Result<Process, Failure> {
        // The simulator and the status port also need open files.
        issue::raise_file_limit();
        let resolver = egress::resolver(&input.run)?;
        let stop = Stop::default();
        signals::listen(&stop, input.run.grace_period.0, Ended::Run)?;
        let run_status = RunStatus::new(options.commit);
        if let Some(port) = options.status_port() {
            status_server::serve(port, run_status.clone()).map_err(|source| Failure::status_port(port, source))?;
        }
        Ok(Process { stop, run_status, resolver, servers: Servers::default(), sources: OnceCell::new() })
    }

    /// Returns the files of the workload, and the credentials. The first run reads them.
    pub(super) fn sources(&self, input: &Input, options: &RunOptions) -> Result<&Sources, Failure> {
        if let Some(sources) = self.sources.get() {
            return Ok(sources);
        }
        let (workload, run) = (input.workload.clone(), input.run.clone());
        let cache = remote_files::folder(options.in_pod().then(|| options.results()));
        let resolver = self.resolver.clone();
        let read = move || {
            let (workload, downloaded) = remote_files::download(workload, &cache, &resolver)
                .map_err(|error| Failure::configuration(error.to_string()).shown_as(error.status_message()))?;
            let mut files = WorkloadFiles::read(&workload, run.seed).map_err(|error| {
                let names = downloaded.iter().map(|it| (it.path.display().to_string(), it.url.as_str()));
                names.fold(Failure::unusable(&error), |failure, (path, url)| failure.renamed(&path, url))
            })?;
            downloaded.iter().for_each(|it| files.rename(&it.path, &it.url));
            let scoring = Scoring::read(&workload).map_err(|error| {
                // The error can contain text from a file, so the status shows another message.
                Failure::configuration(format!("the answers cannot be scored: {error:#}"))
                    .shown_as("the answers cannot be scored; the launcher's log says why".to_owned())
            })?;
            Ok::<_, Failure>(Sources { files, scoring, secrets: Secrets::read(&run)? })
        };
        let sources = signals::until_stopped(&self.stop, read)??;
        console::log_notices(sources.files.notices());
        Ok(self.sources.get_or_init(|| sources))
    }
}
