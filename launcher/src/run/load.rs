//! [I/O] The load of a run. Reads its files, waits for the target, and issues every trial and test on the target.

use std::{cell::OnceCell, iter, path::PathBuf, sync::Arc};

use ::loadgen::{
    phases::{self, PlannedPhases},
    plan,
};
use ::server_metrics::scraped::Scraped;
use crds::resolve::{Endpoint, ResolvedRun};
use tracing::{info, warn};
use workload_profiles::Workload;

use super::{
    Failure, RunOptions, identity, last_offline,
    loadgen::{self, Issued, OneLoad, ShowForecast},
    process::{Process, Sources},
    profiler::{self, Profiler},
    progress::Watcher,
    ready::{self, AllReady, Ready},
    replicas::Replicas,
    search::{Drain, Search, Searcher},
    server_extras::Extras,
    server_metrics::ServerMetrics,
    signals::Deadline,
    sleep::{self, Sleeper},
    store::Store,
    target::{self, RunningSimulator},
};
use crate::{console, input::Input, scoring::Scoring};
use analysis::{Profiling, TargetIdentity};
use document::SleepCycle;
use engine::{
    client::Spread,
    issue::{self, LoadError, LoadOrder, PreparedLoad, Progress, Trials},
    requests::Seeds,
};
use measurement::{load_result::LoadResult, phase::Phase, recorder::Keep};
use workload_files::WorkloadFiles;

/// The input of a run, before the run has a target.
pub(super) struct Setup<'a, 's> {
    pub(super) input: &'a Input,
    pub(super) options: &'a RunOptions,
    pub(super) process: &'a Process,
    pub(super) store: &'s Store,
    pub(super) keep: Keep,
}

/// A load that is ready to begin.
pub(super) struct Prepared {
    pub(super) model: String,
    /// The number of requests, and the number of stages whose number of requests is unknown. `None` for LoadGen tests.
    pub(super) requests: Option<(u64, u64)>,
}

/// A load that was issued, with its target and files.
pub(super) struct Loaded<'a> {
    pub(super) ready: Ready,
    pub(super) server: TargetIdentity,
    pub(super) issued: Issued,
    pub(super) files: &'a WorkloadFiles,
    /// The data for scoring answers. `None` means that answers are not scored.
    pub(super) scoring: Option<&'a Scoring>,
    /// The server's metrics. `None` means that nothing was read.
    pub(super) scraped: Option<Scraped>,
    /// The number of requests per replica of a managed server. Empty if there is one target.
    pub(super) requests_by_replica: Vec<u64>,
    /// The replicas that the operator started. `None` if there are none.
    pub(super) replicas: Option<Replicas>,
    /// The result of profiling. `None` if it was not requested.
    pub(super) profiling: Option<Profiling>,
    /// The sleep measurements of each server, in the order of the servers. Empty if nothing was measured.
    pub(super) sleep_cycles: Vec<Vec<SleepCycle>>,
}

impl<'a> Setup<'a, '_> {
    /// Waits for the target and issues the load.
    pub(super) fn run(&self) -> Result<Loaded<'a>, Failure> {
        let Setup { input, options, process, .. } = *self;
        let Process { stop, run_status, .. } = process;
        // Compare the plan with the deadline before waiting for the target. A plan that fails here is ignored: planning fails again when the load is
        // issued, and reports the error.
        let plan = input.workload.loadgen.as_ref().and_then(|it| plan::plan(it, 0).ok());
        if let Some(message) = plan.and_then(|it| it.past(input.run.run_deadline.0)) {
            warn!("{}: {message}", plan::DEADLINE);
        }
        // Files are read before the wait for the target, because the wait can take an hour.
        let Sources { files, scoring, secrets } = process.sources(input, options)?;
        let traces = profiler::folder(input, self.store.path())?;
        let (base_urls, _simulator) = self.start_target(traces.clone())?;
        let replicas = Replicas::find(&input.run, &process.resolver, stop)?;
        let by_service = replicas.as_ref().is_some_and(Replicas::by_service);
        let called = replicas.as_ref().and_then(|it| it.called(&process.resolver));
        let AllReady { first: mut ready, others, at } = match called {
            Some(called) => ready::wait_each(input, secrets, &called, stop)?,
            None => ready::wait(
                input,
                secrets,
                &base_urls,
                &process.resolver,
                stop,
                process.servers.log_folder().as_deref(),
            )?,
        };
        process.servers.ready(&at, stop)?;
        let servers = iter::once(&ready.target).chain(&others).cloned().collect();
        let model = ready.model.clone();
        let sleeper = Sleeper::check(input, servers, &model, stop, by_service)?;
        let spread = spread(&input.run, others.len());
        if let Some(spread) = &spread {
            ready.target = ready.target.with_replicas(others, Arc::clone(spread));
        }
        profiler::check(input, &ready)?;
        info!(
            target = base_urls.join(" "),
            model = ready.model,
            profile = report::profile(&input.run),
            "the target is ready"
        );
        let server = identity::before(&ready, stop);
        let metrics = ServerMetrics::start(&input.run, &base_urls, secrets, &process.resolver);
        run_status.set_measuring(true);
        let deadline = Deadline::start(stop, input.run.run_deadline.0, input.run.grace_period.0);
        let last_offline =
            || last_offline::samples_per_second(&options.results(), input.run.endpoint.name(), &ready.model);
        let profiled = OnceCell::new();
        let one = |load: &OneLoad<'_>| {
            metrics.before_load(stop);
            let load = self.issue(&ready, files, load, by_service, &profiled);
            metrics.after_load(stop);
            load.map(|mut load| {
                scoring.iter().for_each(|it| it.add_ids(&mut load.recorder));
                load
            })
        };
        let workload = files.bounded(&input.workload);
        let issued = match &input.run.search {
            Some(search) => {
                let drain = Drain::new(ready.target.clone(), &ready.model, metrics.depth());
                Search::prepare(&input.run, search, &workload, options, self.store.path(), drain).and_then(|search| {
                    let load = OneLoad {
                        workload: &search.workload,
                        phases: &[],
                        show_forecast: ShowForecast::No,
                        search: Some(search.searcher()),
                    };
                    let mut load = one(&load)?;
                    let (workload, found) = search.end(&mut load);
                    Ok(Issued { workload, load, tests: Vec::new(), trials: Vec::new(), search: Some(found) })
                })
            }
            None => loadgen::issue(&workload, last_offline, one),
        };
        let sleep_cycles = if issued.is_ok() { sleeper.measure()? } else { Vec::new() };
        deadline.end();
        run_status.set_measuring(false);
        let scraped = metrics.end();
        let issued = issued?;
        let server = identity::after(server, &ready, stop);
        let requests_by_replica = spread.map_or_else(Vec::new, |it| it.requests());
        let collected = |it| profiler::collected(it, &input.run, &process.resolver, traces.as_deref(), stop);
        let profiling = profiled.into_inner().map(collected);
        Ok(Loaded {
            ready,
            server,
            issued,
            files,
            scoring: scoring.as_ref(),
            scraped,
            requests_by_replica,
            replicas,
            profiling,
            sleep_cycles,
        })
    }

    /// Issues one load. `by_service` states whether different requests can reach different servers.
    fn issue(
        &self,
        ready: &Ready,
        files: &WorkloadFiles,
        load: &OneLoad<'_>,
        by_service: bool,
        profiled: &OnceCell<Profiling>,
    ) -> Result<LoadResult, Failure> {
        let Setup { input, options, process, .. } = *self;
        let OneLoad { workload, phases, show_forecast, ref search } = *load;
        let progress = Arc::new(Progress::default());
        process.run_status.begin_load(Arc::clone(&progress), &workload.stages);
        let plain = options.plain || options.in_pod() || !console::has_terminal();
        let phases_to_issue = phases::to_issue(phases);
        let prepared = self.planned(ready, files, (workload, &phases_to_issue), &progress, search.clone())?;
        let profiler = Profiler::start(input, workload, ready, by_service, &progress, &process.stop)?;
        let forecast = match show_forecast {
            ShowForecast::Yes => phases.to_vec(),
            ShowForecast::No => PlannedPhases::new(),
        };
        let watcher = Watcher::start(progress, workload.clone(), forecast, search.clone(), plain);
        let load = prepared.run();
        watcher.end();
        if let Some(found) = profiler.and_then(Profiler::end) {
            // Only a run with a single load is profiled, so nothing has been stored in the cell before.
            let _ = profiled.set(found);
        }
        load.map_err(not_issued)
    }
}

impl<'a> Setup<'a, '_> {
    /// Does everything before the load: reads the files, waits for the target, and plans the requests. Only the readiness probe sends requests.
    pub(super) fn prepare(&self) -> Result<Prepared, Failure> {
        let Setup { input, options, process, .. } = *self;
        let Sources { files, secrets, .. } = process.sources(input, options)?;
        let traces = profiler::folder(input, self.store.path())?;
        let (base_urls, _simulator) = self.start_target(traces)?;
        let ready = ready::wait(
            input,
            secrets,
            &base_urls,
            &process.resolver,
            &process.stop,
            process.servers.log_folder().as_deref(),
        )?
        .first;
        profiler::check(input, &ready)?;
        // LoadGen tests may first have to find their rate, on which the plan depends.
        let planned = match &input.workload.loadgen {
            Some(_) => None,
            None => Some(self.planned(&ready, files, (&input.workload, &[]), &Arc::default(), None)?),
        };
        let requests = planned.map(|it| (it.requests(), it.undecided_stages()));
        Ok(Prepared { model: ready.model, requests })
    }

    /// Returns the base URLs of the target. Starts a managed server or the embedded simulator, which is not ready yet.
    fn start_target(&self, traces: Option<PathBuf>) -> Result<(Vec<String>, Option<RunningSimulator>), Failure> {
        let Setup { input, process, .. } = *self;
        sleep::check(input)?;
        let extras = Extras { traces: traces.clone(), sleep_mode: !sleep::levels(input).is_empty() };
        if let Some(urls) = process.servers.urls(&input.run, &extras, &process.stop)? {
            return Ok((urls, None));
        }
        let (url, simulator) = target::start(&input.run, input.workload.model.as_deref(), traces)?;
        Ok((vec![url], simulator))
    }

    fn planned<'l>(
        &'l self,
        ready: &'l Ready,
        files: &'l WorkloadFiles,
        (workload, phases): (&'l Workload, &'l [Option<Arc<dyn Phase>>]),
        progress: &Arc<Progress>,
        search: Option<Arc<Searcher>>,
    ) -> Result<PreparedLoad<'l>, Failure> {
        let Setup { input, options, process, store, keep } = *self;
        let seed = search.as_ref().map_or(input.run.seed, |it| it.seed(input.run.seed));
        let prepared = issue::prepare(LoadOrder {
            workload,
            files: &files.to_send,
            phases,
            model: &ready.model,
            target: &ready.target,
            seeds: Seeds { run: seed, prompt_salt: &input.run.prompt_salt },
            keep,
            threads: options.threads(&input.run.endpoint),
            stop: &process.stop,
            progress: Arc::clone(progress),
            trials: search.map(|it| it as Arc<dyn Trials>),
        });
        let prepared = prepared.map_err(not_issued)?;
        store.check_rows(input, workload, prepared.requests(), prepared.undecided_stages())?;
        Ok(prepared)
    }
}

/// How requests are distributed over the replicas of a managed server. `None` if there is only one replica.
fn spread(run: &ResolvedRun, others: usize) -> Option<Arc<Spread>> {
    let distribution = match (&run.endpoint, &run.server_replicas) {
        (Endpoint::Server(server), _) => server.distribution,
        (_, Some(replicas)) => replicas.distribution,
        _ => return None,
    };
    (others > 0).then(|| Arc::new(Spread::new(distribution, others + 1)))
}

fn not_issued(error: LoadError) -> Failure {
    match error {
        LoadError::NoQueries { .. } | LoadError::NoPrompts | LoadError::System { .. } | LoadError::Panic { .. } => {
            Failure::system(&error)
        }
        LoadError::Requests(_)
        | LoadError::Headers(_)
        | LoadError::Trace(_)
        | LoadError::Prompts(_)
        | LoadError::Recorded(_) => Failure::unusable(&error.into()),
    }
}
