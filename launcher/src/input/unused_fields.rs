//! Finds the fields of a BenchmarkRun that have no effect outside a cluster, to warn the user. Pure.

use crds::benchmark_run::{BenchmarkRunSpec, Cleanup, Launcher, Retry, Scheduling, Server};
use workload_profiles::Notice;

use super::LocalOptions;

/// Returns a notice for each field that is set but has no effect.
pub(super) fn notices(spec: &BenchmarkRunSpec, options: &LocalOptions) -> Vec<Notice> {
    let plain = spec.target.url.as_ref().is_none_or(|it| !it.starts_with("https://"));
    let deadlines = &spec.execution.deadlines;
    let other_deadlines =
        [deadlines.prepare_seconds, deadlines.start_seconds, deadlines.collect_seconds].iter().any(Option::is_some);
    [
        ("spec.suspend", spec.suspend, "is true, which suspends runs only in a cluster; this run starts"),
        ("spec.cancel", spec.cancel.is_some(), "cancels runs only in a cluster; this run starts, and Ctrl-C ends it"),
        (
            "spec.storage.pvc",
            spec.storage.pvc.is_some(),
            "is not used outside of a cluster; results go to the folder of --results",
        ),
        (
            "spec.storage.s3",
            spec.storage.s3.is_some(),
            "is not used outside of a cluster; results go to the folder of --results, from which `aws s3 cp --recursive` copies them",
        ),
        (
            "spec.profile.files",
            !spec.profile.files.is_empty(),
            "is not used outside of a cluster; files that the profile names are looked for beside it, or at their absolute paths",
        ),
        (
            "spec.launcher",
            spec.launcher != Launcher::default(),
            "is not used outside of a cluster; this process issues the load",
        ),
        (
            "spec.target.server",
            spec.target.server.as_ref().is_some_and(has_fields_of_a_cluster),
            "is used outside of a cluster, except image, hubToken, resources, scheduling and serviceAccountName; the server is a process, and inherits HF_TOKEN",
        ),
        (
            "spec.execution.retry",
            spec.execution.retry != Retry::default(),
            "is not used outside of a cluster; a run has one attempt",
        ),
        (
            "spec.execution.deadlines",
            other_deadlines,
            "is not used outside of a cluster, except runSeconds; the operator uses the other deadlines",
        ),
        (
            "spec.queueName",
            spec.queue_name.is_some(),
            "is not used outside of a cluster; the run starts at once",
        ),
        (
            "spec.cleanup",
            spec.cleanup != Cleanup::default(),
            "is not used outside of a cluster; results stay until you delete them",
        ),
        (
            "--ca-file",
            options.ca_file.is_some() && plain,
            "is not used, because the target URL has no TLS; leave it out, or write https:// in spec.target.url",
        ),
    ]
    .into_iter()
    .filter(|(_, applies, _)| *applies)
    .map(|(path, _, message)| Notice { path: path.into(), message: message.into() })
    .collect()
}

/// Whether a server has fields that only apply to a pod.
fn has_fields_of_a_cluster(server: &Server) -> bool {
    server.image.is_some()
        || server.hub_token.is_some()
        || server.resources.is_some()
        || server.scheduling != Scheduling::default()
        || server.service_account_name.is_some()
}
