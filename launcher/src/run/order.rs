//! [I/O] One load: issues it on the target, analyses it, and writes and uploads the results folder.

use std::sync::Arc;

use jiff::Timestamp;
use tracing::warn;
use workload_profiles::workload::{RequestSource, Work};

use super::{
    Failure, RunOptions,
    load::{Loaded, Setup},
    loadgen::Issued,
    managed,
    measured::Measurement,
    process::Process,
    replicas::Replicas,
    server_metrics, signals,
    store::{Place, Store},
    target,
    termination_message::{self, leave_message},
    upload::{self, Destination},
};
use crate::{console, input::Input, scoring::mmlu};
use analysis::{Evidence, Measured, loadgen::judged::LoadGenTests, objectives::Source};
use document::{Parts, ReportDocument};
use engine::stop::StopState;
use measurement::{
    kept_run::{Findings, KeptRun},
    recorder::Keep,
};
use report::{Attachments, earlier_attempt::MESSAGE_FILE_NAME, repeats::StartTimes};

/// A load and the criteria for judging it.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) input: &'a Input,
    pub(super) baseline: Option<&'a ReportDocument>,
    pub(super) options: &'a RunOptions,
}

impl Order<'_> {
    /// Runs the load once. `place` is the location of its results; `None` means that they are not stored.
    pub(super) fn measure(
        &self,
        process: &Process,
        place: Option<Place>,
        now: Timestamp,
    ) -> Result<Measurement, Failure> {
        let Order { input, baseline, options } = *self;
        let store = Store::prepare(input, place, now)?;
        let keep = store.keep(input);
        // Both LoadGen's figures and the results of MMLU questions need the record of every request: the figures are computed from all samples, and
        // the results contain the latency of each question.
        let with_records = input.run.search.is_some()
            || input.workload.loadgen.is_some()
            || matches!(input.workload.requests, RequestSource::Questions(_));
        let needed = if with_records && keep == Keep::Summary { Keep::RecordsAlone } else { keep };
        let Loaded {
            ready,
            server,
            issued,
            files,
            scoring,
            scraped,
            requests_by_replica,
            replicas,
            profiling,
            sleep_cycles,
        } = match (Setup { input, options, process, store: &store, keep: needed }).run() {
            Ok(loaded) => loaded,
            Err(failure) => {
                store.discard();
                process.servers.end();
                return Err(process.servers.explain(failure));
            }
        };
        // If the start of a server is measured, each run needs a new server.
        let measures_start = input.workload.work == Work::Startup;
        let is_last = measures_start
            || input.run.run.repeat_number.is_none_or(|it| it >= input.run.repeat)
            || process.stop.state() != StopState::Run;
        let death = process.servers.death();
        let mut managed = process.servers.describe(is_last, store.is_open(), sleep_cycles.clone(), measures_start);
        if let Some(managed) = &mut managed {
            managed.document.count_requests(&requests_by_replica);
        } else if store.is_open() {
            let limit = signals::time_to_collect(&process.stop, input.run.grace_period.0);
            let addresses = replicas.as_ref().and_then(Replicas::addresses);
            let by_replica = managed::ByReplica { addresses, requests: &requests_by_replica, sleep_cycles };
            managed = managed::describe_pods(&input.run, &process.resolver, limit, by_replica);
        }
        let replicas = replicas.map(|it| it.document(&requests_by_replica));
        let Issued { workload, load, tests, trials, search } = issued;
        let scored = scoring.map(|it| match it.score(&workload, &load, &tests) {
            Ok(scored) => scored,
            Err(error) => {
                warn!("the answers were not scored: {error:#}");
                it.unscored()
            }
        });
        let scored = scored.or_else(|| mmlu::score(&workload, files.questions(), &load));
        // The report describes the workload as issued, for example with the rate that a search found.
        console::log_notices(&load.notices);
        let notices = input.notices.iter().chain(files.notices()).chain(&load.notices).cloned().collect();
        let input = &Input { workload, notices, ..input.clone() };
        let loadgen = input.workload.loadgen.is_some().then(|| LoadGenTests::from_tests(tests, trials));
        let shared = options.in_pod().then(|| target::shared_remark(&input.spec, &input.run)).flatten();
        let fallback = replicas.as_ref().and_then(|it| it.fallback.clone());
        let findings = Findings {
            // The remark is only for pods. Outside a cluster, other runs may always share the target, and `target.exclusive` has no effect.
            doubts: server.remark().into_iter().chain(fallback).chain(shared).collect(),
            lost_target: death.map(|it| it.headline()),
        };
        let analysis = analysis::analyse(&Evidence {
            doubts: findings.doubts.clone(),
            lost_target: findings.lost_target.clone(),
            loadgen: loadgen.as_ref(),
            search: search.as_ref(),
            accuracy: scored.as_ref().map(|it| it.accuracy.clone()),
            profiling,
            scraped: scraped.map(Arc::new),
            baseline: baseline.map(|it| it as &dyn Source),
            ..Evidence::new(Measured::from(&load), &input.workload, &input.run, &ready.model)
        });
        server_metrics::log(analysis.servers.as_ref());
        let kept = if keep == Keep::Summary { None } else { KeptRun::new(load, findings) };
        let parts = Parts {
            commit: options.commit,
            analysis: &analysis,
            server: Some(&server),
            run: &input.run,
            workload: &input.workload,
            profile_text: &input.profile_text,
            files: files.digests(),
            notices: &input.notices,
            loadgen: loadgen.as_ref(),
            startups: managed.as_ref().map_or(&[], |it| &it.starts),
            managed_server: managed.as_ref().map(|it| &it.document),
            server_replicas: replicas.as_ref(),
        };
        let attachments = Attachments {
            accuracy_files: scored.as_ref().map_or(&[], |it| &it.files),
            server_logs: managed.as_ref().map_or(&[], |it| &it.logs),
            records: kept.as_ref().map(KeptRun::records),
            kept: kept.as_ref().filter(|it| it.is_whole()),
        };
        let document = parts.document().map_err(|error| Failure::storage(error.to_string()))?;
        let start = managed.as_ref().map(|it| StartTimes::new(&it.document, &it.starts)).unwrap_or_default();
        let stored = store.write(&parts, &document, attachments, &input.inputs());
        let measurement =
            Measurement { analysis, document, start, stored: None, uploaded_to: None, deleted_folders: Vec::new() };
        match stored {
            Ok(stored) => {
                // If there is a results folder, it has copies of the logs, so the originals can be deleted.
                managed.iter().filter(|_| stored.is_some()).for_each(|it| it.forget_logs());
                Ok(Measurement { stored, ..measurement })
            }
            Err(error) => Err(Failure::storage_of(error.to_string(), measurement)),
        }
    }

    /// Uploads the folder of a measurement, if it goes to a bucket.
    pub(super) fn upload(&self, destination: &Destination, measured: Measurement) -> Result<Measurement, Failure> {
        let Order { input, options, .. } = *self;
        let Some(bucket) = destination.bucket() else { return Ok(measured) };
        let Measurement { stored: Some(stored), .. } = &measured else { return Ok(measured) };
        let stored = stored.clone();
        let without_folder = Measurement { stored: None, ..measured };
        // Write the message before the upload, because a launcher whose upload takes too long is killed.
        let required = input.run.storage_required;
        let early = match required {
            true => Err(Failure::storage_of(upload::unfinished(bucket, &stored.name), without_folder)),
            false => Ok(without_folder),
        };
        leave_message(options, || termination_message::envelope(input, &early));
        let without_folder = match early {
            Ok(measurement) => measurement,
            Err(mut failure) => failure.take_measured().ok_or(failure)?,
        };
        match upload::keep(bucket, &stored, MESSAGE_FILE_NAME) {
            Ok(uri) => Ok(Measurement { stored: Some(stored), uploaded_to: Some(uri), ..without_folder }),
            Err(error) if required => Err(Failure::storage_of(error.to_string(), without_folder)),
            Err(error) => {
                warn!(%error, "the results are not kept; the figures still count, because storage.required is false");
                Ok(without_folder)
            }
        }
    }
}
